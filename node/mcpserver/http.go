package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol/menu"
)

// Path is where a [Handler] answers.
const Path = "/mcp"

// HTTPOptions say how a node is served over HTTP. Zero fields mean the defaults below.
type HTTPOptions struct {
	Server Options

	Tokens  []string // one of them is what a request has to bear: at least one, of MinToken bytes or more
	Hosts   []string // names by which a request may ask for the server, besides those of loopback
	Origins []string // pages that a browser may send requests from; nil: none

	Connections int           // how many connections and clients are remembered at once
	Calls       int           // how many requests may be under way at once
	Size        int64         // bytes of a request
	Idle        time.Duration // after how long what asks nothing is forgotten
}

// Defaults of HTTPOptions.
const (
	DefaultConnections = 64
	DefaultCalls       = 256
	DefaultSize        = 4 << 20
	DefaultIdle        = time.Hour
)

// Bounds of how long a request may take to arrive, and a piece of an answer to be taken.
const (
	readTime  = 30 * time.Second
	writeTime = 30 * time.Second
)

// stateless is the first revision of MCP in which a client makes no connection.
const stateless = "2026-07-28"

// Headers of MCP over HTTP.
const (
	revisionHeader = "MCP-Protocol-Version"
	sessionHeader  = "Mcp-Session-Id"
)

// A Handler serves a node to agents over streamable HTTP, at [Path]. Who may ask is
// decided by admit.go.
//
// Up to revision 2025-11-25 a client makes a connection by initializing; it is one
// [Server], and lasts until the client ends it or has asked nothing for a while. Since
// 2026-07-28 there are no connections: each request stands for itself. What a connection
// would remember, the offers that the agent was shown and the last notice, is then kept
// for the bearer of a token and the name and version of its client.
type Handler struct {
	api    node.API
	opts   HTTPOptions
	kit    *kit
	tokens []tokenSum

	connected, separate *mcp.StreamableHTTPHandler // requests of connections, and since 2026-07-28

	readTime, writeTime time.Duration // as the constants; tests have less

	life context.Context // of what lasts: streams and what watches the node
	end  context.CancelFunc

	mu       sync.Mutex // guards what follows
	agents   map[agentKey]*remembered
	calls    int           // requests that get an answer
	streams  int           // requests that last
	ending   int           // connections that are followed, or being ended
	less     chan struct{} // closed, and another made, when one of these becomes less
	draining bool
}

// BUG(mcp): Since 2026-07-28 two clients of one name and version that bear the same token
// are one: an acceptance that names no offer may be about an offer that the other one was
// shown. Give each a token of its own, or name the offer.

// An agentKey says whose state it is: a connection's, or that of a client since 2026-07-28.
type agentKey struct {
	token      int // which one is borne
	connection string
	client     clientName
}

// remembered is the state of an agent, guarded by the handler's mutex but for the server.
type remembered struct {
	*Server
	key  agentKey
	stop func() // ends what start began

	busy    int // requests under way
	used    time.Time
	idle    *time.Timer
	listens bool // it could hear that its list has changed
	gone    bool
}

// NewHandler makes a handler. It has to be shut down.
func NewHandler(api node.API, opts HTTPOptions) (*Handler, error) {
	if opts.Server.Clients == nil {
		opts.Server.Clients = new(Clients)
	}
	opts.Connections, opts.Calls = cmp.Or(opts.Connections, DefaultConnections), cmp.Or(opts.Calls, DefaultCalls)
	opts.Size, opts.Idle = cmp.Or(opts.Size, DefaultSize), cmp.Or(opts.Idle, DefaultIdle)
	if opts.Server.Log == nil {
		opts.Server.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{api: api, opts: opts, agents: map[agentKey]*remembered{}, less: make(chan struct{}), readTime: readTime, writeTime: writeTime}
	var err error
	if h.tokens, err = sums(opts.Tokens); err != nil {
		return nil, err
	}
	if h.kit, err = newKit(opts.Server.Groups); err != nil {
		return nil, err
	}
	h.life, h.end = context.WithCancel(context.Background())
	server := func(r *http.Request) *mcp.Server {
		a, _ := r.Context().Value(agentContext{}).(*remembered)
		if a == nil {
			return nil
		}
		return a.mcp
	}
	// Hosts are checked by admit, and idle connections end here.
	h.connected = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{DisableLocalhostProtection: true, MaxRequestBodyBytes: opts.Size})
	h.separate = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: opts.Size,
	})
	return h, nil
}

// agentContext is the key of the *remembered in the context of a request.
type agentContext struct{}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	// The server reads what is left of a request that is refused, too.
	control := http.NewResponseController(w)
	w = &patient{w, control, h.writeTime}
	defer func() { _ = control.SetWriteDeadline(time.Now().Add(h.writeTime)) }() // for what is left
	_ = control.SetReadDeadline(time.Now().Add(h.readTime))                      // not every writer has one
	if r.URL.Path != Path {
		http.NotFound(w, r)
		return
	}
	token, ok := h.admit(w, r)
	if !ok {
		return
	}
	if !h.enter() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests are under way, or the node is stopping", http.StatusServiceUnavailable)
		return
	}
	lasts, asked := false, (*asking)(nil)
	defer func() { asked.after(func() { h.leave(lasts) }) }()
	q := question{}
	if r.Method == http.MethodPost {
		if q, ok = h.read(w, r); !ok {
			return
		}
	}
	_ = control.SetReadDeadline(time.Time{})
	if lasts = r.Method == http.MethodGet || q.method == "subscriptions/listen"; lasts {
		h.last()
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		defer context.AfterFunc(h.life, stop)()
		r = r.WithContext(ctx)
	}
	if max(r.Header.Get(revisionHeader), q.revision) >= stateless || q.method == "server/discover" {
		if r.Method != http.MethodPost { // it takes no place of another client
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "since "+stateless+" there is POST alone", http.StatusMethodNotAllowed)
			return
		}
		asked = h.serve(w, r, h.separate, agentKey{token: token, client: q.client}, true)
		return
	}
	id, begins := r.Header.Get(sessionHeader), q.method == "initialize"
	switch {
	case begins:
		id = rand.Text()
		r.Header.Del(sessionHeader)
	case id == "" && r.Method != http.MethodOptions:
		http.Error(w, sessionHeader+" is missing: a client begins with initialize", http.StatusBadRequest)
		return
	}
	asked = h.serve(w, r, h.connected, agentKey{token: token, connection: id}, begins)
}

// A patient writer gives up a client that does not take its answer. Time counts while
// there is something to take, however long the answer lasts.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	defer p.begin()()
	return p.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController calls.
func (p *patient) FlushError() error {
	defer p.begin()()
	return p.control.Flush()
}

func (p *patient) begin() (done func()) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.time)) // not every writer has one
	return func() { _ = p.control.SetWriteDeadline(time.Time{}) }
}

// Unwrap is what http.ResponseController calls.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// serve lets the state of an agent answer a request. It is made if makes says so.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, by http.Handler, key agentKey, makes bool) (asked *asking) {
	a, err := h.take(key, makes)
	if err != nil {
		h.opts.Server.Log.Debug("refusing a request of MCP", "error", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the node cannot serve another client now", http.StatusServiceUnavailable)
		return nil
	}
	if a == nil { // a client begins anew when it hears that
		http.Error(w, "there is no such session", http.StatusNotFound)
		return nil
	}
	defer h.release(a)
	switch r.Method {
	case http.MethodGet:
		h.mu.Lock()
		a.listens = true
		h.mu.Unlock()
	case http.MethodPost:
		asked = a.asks(r)
		defer a.answers(r)
	}
	by.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), agentContext{}, a)))
	if makes && key.connection != "" {
		h.follow(a)
	}
	return asked
}

// read reads the body of a request, and puts it back.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (q question, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.Size))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return q, false
	}
	if err != nil {
		http.Error(w, "the request did not arrive whole", http.StatusBadRequest)
		return q, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if q, err = readQuestion(body); err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(refused(err)) // who does not hear it has gone
		return q, false
	}
	return q, true
}

// enter lets a request in, unless there are too many.
func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining || h.calls+h.streams >= h.opts.Calls {
		return false
	}
	h.calls++
	return true
}

// last notes that a request that was let in lasts.
func (h *Handler) last() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls--
	h.streams++
	h.lessen()
}

func (h *Handler) leave(lasts bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if lasts {
		h.streams--
	} else {
		h.calls--
	}
	h.lessen()
}

// lessen tells who waits that something has become less. The caller holds the mutex.
func (h *Handler) lessen() {
	close(h.less)
	h.less = make(chan struct{})
}

// work does something by itself that has to end before the handler has. The caller holds
// the mutex.
func (h *Handler) work(do func()) {
	h.ending++
	go func() {
		do()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ending--
		h.lessen()
	}()
}

var (
	errCrowded  = errors.New("as many connections as there may be are in use")
	errStopping = errors.New("the node is stopping")
)

// take returns the state of an agent for one request, nil if there is none and none is to
// be made. To make room it forgets whoever has asked nothing for the longest time.
func (h *Handler) take(key agentKey, makes bool) (*remembered, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.agents[key]
	switch {
	case a != nil:
	case !makes:
		return nil, nil
	case h.draining: // what is forgotten by then stays so
		return nil, errStopping
	default:
		if len(h.agents) >= h.opts.Connections {
			var oldest *remembered
			for _, other := range h.agents {
				if other.busy == 0 && (oldest == nil || other.used.Before(oldest.used)) {
					oldest = other
				}
			}
			if oldest == nil {
				return nil, errCrowded
			}
			h.forget(oldest)
		}
		var err error
		if a, err = h.begin(key); err != nil {
			return nil, err
		}
		h.agents[key] = a
	}
	a.busy++
	a.idle.Stop()
	return a, nil
}

// begin makes the state of an agent.
func (h *Handler) begin(key agentKey) (*remembered, error) {
	s := newServer(h.api, h.opts.Server, h.kit, func() string { return key.connection })
	s.client = menu.Client{Stateless: key.connection == ""}
	stop, err := s.start(h.life)
	if err != nil {
		return nil, err
	}
	a := &remembered{Server: s, key: key, stop: stop}
	a.idle = time.AfterFunc(h.opts.Idle, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if a.busy == 0 {
			h.forget(a)
		}
	})
	return a, nil
}

// release notes that a request has been answered.
func (h *Handler) release(a *remembered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.busy--
	a.used = time.Now()
	if a.busy == 0 && !a.gone {
		a.idle.Reset(h.opts.Idle)
	}
}

// follow forgets a connection when it ends, at once if it has not come about.
func (h *Handler) follow(a *remembered) {
	connections := slices.Collect(a.mcp.Sessions())
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(connections) == 0 {
		h.forget(a)
		return
	}
	h.work(func() {
		_ = connections[0].Wait() // how it ended is nothing to anybody
		h.mu.Lock()
		defer h.mu.Unlock()
		h.forget(a)
	})
}

// forget ends the state of an agent, once. The caller holds the mutex.
func (h *Handler) forget(a *remembered) {
	if a.gone {
		return
	}
	a.gone = true
	a.idle.Stop()
	delete(h.agents, a.key)
	a.learn(a.listens)
	a.Server.leave()
	h.work(func() {
		a.stop()
		for c := range a.mcp.Sessions() {
			_ = c.Close()
		}
	})
}

// Shutdown takes no more requests, and ends waits and streams. It returns when the calls
// that are under way are answered, for at most two seconds, and everything has ended, or
// ctx is done.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.draining = true
	for _, a := range h.agents {
		a.Server.leave()
	}
	h.mu.Unlock()
	soon, enough := context.WithTimeout(ctx, lastPatience)
	defer enough()
	_ = h.settle(soon, func() int { return h.calls }) // what is not answered by now is not waited for
	h.end()
	h.mu.Lock()
	for _, a := range h.agents {
		h.forget(a)
	}
	h.mu.Unlock()
	return h.settle(ctx, func() int { return h.calls + h.streams + h.ending })
}

// settle waits until nothing is left, or ctx is done.
func (h *Handler) settle(ctx context.Context, left func() int) error {
	for {
		h.mu.Lock()
		n, less := left(), h.less
		h.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-less:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
