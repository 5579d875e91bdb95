package relay

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/concordia-node/concordia/wire"
)

// A Server serves mailboxes over HTTP and websocket (RFC 0001). It is an
// [http.Handler]; [Server.HTTPServer] returns what should carry it. The routes are
//
//	POST /v1/NAME                      an operation
//	GET  /v1/socket                    a websocket
//	GET  /.well-known/concordia-relay  who this is, and the limits
//	GET  /openapi.json                 all of this for programs
//	GET  /healthz, /readyz, /metrics   for the operator only
type Server struct {
	mail     *Mailboxes
	opts     ServerOptions
	ops      map[string]*operation
	upgrader websocket.Upgrader
	sockets  *sockets
	appends  *rates // of agents
	acks     *rates // of agents, as many as appends
	calls    *rates // of agents, other than these
	visits   *rates // of addresses, without a token that counts
	workers  *workers
	pages    pages
	metrics  *metrics
	scrape   http.Handler
	health   health
	api      []byte // openapi.json

	mu       sync.Mutex // guards what follows
	stopping bool
	underway sync.WaitGroup // calls; none is added when stopping is set
}

// ServerOptions are options of [NewServer].
type ServerOptions struct {
	Log     *slog.Logger         // operations, without anything that agents say; nil: none
	Metrics *prometheus.Registry // nil: one of its own, at /metrics all the same

	// Origins are those that a browser may send requests from; all others are refused.
	Origins []string

	// Address says where a request came from, if a proxy stands before the relay; nil:
	// from the other end of the connection.
	Address func(*http.Request) netip.Addr

	// Services are what the relay does beside RFC 0001, such as a market.
	Services []Service

	// Operator says whether a request for health and metrics is the operator's; nil: if
	// it comes from this machine and through no proxy.
	Operator func(*http.Request) bool

	CompactEvery time.Duration // how often [Server.Run] compacts the mail, and sooner if much was removed; 0: never
	SweepEvery   time.Duration // how often [Server.Run] sweeps; 0: DefaultSweepEvery
	PingEvery    time.Duration // how often websockets are pinged; they have twice as long to answer; 0: DefaultPingEvery
	WriteTimeout time.Duration // how long a client may leave a frame untaken; 0: DefaultWriteTimeout
}

// Defaults of ServerOptions.
const (
	DefaultSweepEvery   = time.Minute
	DefaultPingEvery    = 30 * time.Second
	DefaultWriteTimeout = 10 * time.Second
)

// retryAfter is when whoever came to a relay that stops may try again.
const retryAfter = 5 * time.Second

// overhead is what a request may have beside the largest message.
const overhead = 4096

//go:embed openapi.json
var openAPI []byte

// NewServer returns a server of mailboxes. [Server.Run] sweeps them.
func NewServer(m *Mailboxes, opts *ServerOptions) *Server {
	s := &Server{mail: m, ops: map[string]*operation{}}
	if opts != nil {
		s.opts = *opts
	}
	for _, op := range operations {
		s.ops[op.name] = op
	}
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Metrics == nil {
		s.opts.Metrics = prometheus.NewRegistry()
	}
	if s.opts.Operator == nil {
		s.opts.Operator = fromHere
	}
	orDefault(&s.opts.SweepEvery, DefaultSweepEvery)
	orDefault(&s.opts.PingEvery, DefaultPingEvery)
	orDefault(&s.opts.WriteTimeout, DefaultWriteTimeout)
	l := m.Limits()
	s.appends, s.calls = newRates(l.AppendsPerSecond, l.AppendBurst), newRates(l.CallsPerSecond, l.CallBurst)
	s.acks = newRates(l.AppendsPerSecond, l.AppendBurst)
	s.visits = newRates(l.CallsPerSecond, l.CallBurst)
	s.sockets = newSockets(&l)
	s.workers = newWorkers()
	s.metrics = newMetrics(s.opts.Metrics, s)
	s.useServices()
	s.scrape = promhttp.HandlerFor(s.opts.Metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
	s.upgrader = websocket.Upgrader{
		HandshakeTimeout: s.opts.WriteTimeout, ReadBufferSize: 2 << 10, WriteBufferPool: new(sync.Pool), Subprotocols: []string{subprotocol},
		CheckOrigin: func(*http.Request) bool { return true }, // ServeHTTP has
	}
	return s
}

func orDefault(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

// HTTPServer returns an HTTP server that carries s: with bounds on what can be kept
// waiting by sending and taking slowly, on headers, and on connections that say
// nothing. It speaks HTTP/1.1 only, which websockets need.
func (s *Server) HTTPServer() *http.Server {
	l := s.mail.Limits()
	each := 2 * l.ConnectionsPlace
	if s.opts.Address != nil {
		each = 0 // they all come from the proxy
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10, Protocols: protocols,
		ConnState: newGate(2*l.Connections, each).watch,
		ErrorLog:  slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelDebug),
	}
}

// Run sweeps until ctx is done. A sweep that fails is logged, shows in /healthz, and is
// tried again.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(s.opts.SweepEvery)
	defer tick.Stop()
	c := compaction{at: s.mail.now()}
	for {
		done, err := s.mail.Sweep(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, s.sweepServices(ctx))
		s.health.swept(s.mail.now(), done, err)
		s.metrics.swept(done, err)
		if err != nil {
			s.opts.Log.Error("sweep failed", "error", err)
		} else if done.Bad > 0 {
			s.opts.Log.Warn("sweep found records that cannot be read", "bad", done.Bad)
		}
		s.compact(ctx, &c, done.Freed)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// A compaction is when the mail was compacted, and what was removed since then.
type compaction struct {
	at    time.Time
	freed int64 // bytes of entries
}

// worthCompacting is how many bytes have to be removed before a compaction that is not
// due, and they have to be half of the file.
const worthCompacting = 64 << 20

// compact compacts the mail if it is time. A compaction that fails is tried again when
// the next is due: the mail is as it was.
func (s *Server) compact(ctx context.Context, c *compaction, freed int64) {
	c.freed += freed
	before, _ := s.mail.Size()
	due := s.mail.now().Sub(c.at) >= s.opts.CompactEvery
	much := c.freed >= worthCompacting && c.freed >= before/2
	if s.opts.CompactEvery <= 0 || !due && !much {
		return
	}
	*c = compaction{at: s.mail.now()}
	start := time.Now()
	if err := s.mail.Compact(ctx); err != nil {
		s.metrics.compactions.WithLabelValues("failed").Inc()
		s.opts.Log.Error("compaction failed", "error", err)
		return
	}
	s.metrics.compactions.WithLabelValues("ok").Inc()
	s.opts.Log.Info("compacted", "bytes_before", before, "took", time.Since(start))
}

// Shutdown refuses new requests, tells the websockets, waits until what is under way
// is done, and closes them. It does not wait for longer than ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.workers.stop()
	var told sync.WaitGroup
	s.sockets.each(func(c *socket) { told.Go(c.sayClosing) })
	done := make(chan struct{})
	go func() {
		s.underway.Wait()
		told.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for requests under way: %w", ctx.Err())
	}
	s.sockets.each(func(c *socket) { go c.close(websocket.CloseGoingAway, "the relay is stopping") })
	return errors.Join(err, s.sockets.wait(ctx))
}

var errStopping = &Error{Code: CodeUnavailable, Message: "the relay is stopping", RetryAfter: retryAfter}

// begin counts a call as under way until its answer is written, unless the server is
// stopping.
func (s *Server) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return errStopping
	}
	s.underway.Add(1)
	return nil
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	name, isOperation := strings.CutPrefix(r.URL.Path, "/v1/")
	want := http.MethodGet
	if isOperation && name != "socket" {
		want = http.MethodPost
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !slices.Contains(s.opts.Origins, origins[0]) {
		s.refuse(w, refuse(CodeBadRequest, "the operator has not listed this Origin"))
		return
	}
	if r.Header.Get("Origin") != "" && (isOperation || r.URL.Path == wellKnown) {
		allowOrigin(h, r.Header.Get("Origin"), want)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") == want {
			w.WriteHeader(http.StatusNoContent) // a browser asks whether it may ask
			return
		}
	}
	if r.Method != want {
		h.Set("Allow", want)
		s.refuse(w, refuse(CodeBadRequest, "use "+want))
		return
	}
	switch {
	case isOperation && name == "socket":
		s.serveSocket(w, r)
	case isOperation:
		s.serveOperation(w, r, name)
	case r.URL.Path == wellKnown:
		s.serveInfo(w, r)
	case r.URL.Path == "/openapi.json":
		if err := s.visits.take(s.place(r), s.mail.now()); err != nil {
			s.refuse(w, err)
			return
		}
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(s.api)
	case r.URL.Path == "/healthz" && s.opts.Operator(r):
		s.serveHealth(w, r)
	case r.URL.Path == "/readyz" && s.opts.Operator(r):
		if s.isStopping() {
			s.refuse(w, errStopping)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	case r.URL.Path == "/metrics" && s.opts.Operator(r):
		s.scrape.ServeHTTP(w, r)
	default:
		s.refuse(w, refuse(CodeNotFound, "there is nothing here"))
	}
}

// wellKnown is where a relay says what it is.
const wellKnown = "/.well-known/concordia-relay"

// allowOrigin tells a browser that the pages of an origin may send a request and read
// the answer. It is never told that of what is for the operator.
func allowOrigin(h http.Header, origin, method string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", method)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	h.Set("Access-Control-Expose-Headers", "Retry-After")
	h.Set("Access-Control-Max-Age", "600")
	h.Set("Vary", "Origin")
}

// fromHere reports whether a request comes from this machine, and through no proxy.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return remoteAddress(r.RemoteAddr).IsLoopback()
}

// place returns what counts as the address of a request.
func (s *Server) place(r *http.Request) string {
	if s.opts.Address != nil {
		return placeOf(s.opts.Address(r))
	}
	return placeOf(remoteAddress(r.RemoteAddr))
}

// refuse answers with a refusal.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	e := refusal(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(e.RetryAfter), 10))
	}
	if e.Code == CodeUnauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="concordia relay"`)
	}
	w.WriteHeader(status[e.Code])
	_, _ = w.Write(append(appendError([]byte{'{'}, e), '}'))
}

// serveInfo tells a stranger what the relay is.
func (s *Server) serveInfo(w http.ResponseWriter, r *http.Request) {
	if err := s.visits.take(s.place(r), s.mail.now()); err != nil {
		s.refuse(w, err)
		return
	}
	info := map[string]any{
		"protocol": protocol, "relay": s.mail.ID(), "time": wire.FormatTime(s.mail.now()), "limits": s.mail.Limits(),
	}
	if len(s.opts.Services) > 0 {
		info["services"] = s.serviceLimits()
	}
	text, err := json.Marshal(info)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// protocol names the version of RFC 0001 that this package speaks.
const protocol = "concordia-relay/1"

// authenticate returns whose token is in a request. Who has none that counts is
// counted by address.
func (s *Server) authenticate(r *http.Request) (agent Agent, token string, err error) {
	values := r.Header.Values("Authorization")
	switch {
	case len(values) == 1 && len(values[0]) > len("Bearer ") && strings.EqualFold(values[0][:len("Bearer ")], "Bearer "):
		token = values[0][len("Bearer "):]
	case len(values) == 0:
		for _, p := range websocket.Subprotocols(r) {
			if t, ok := strings.CutPrefix(p, "bearer."); ok {
				token = t
			}
		}
	}
	if token == "" {
		err = refuse(CodeUnauthenticated, "a token is needed: register for one")
	} else {
		agent, err = s.mail.Authenticate(r.Context(), token)
	}
	if CodeOf(err) == CodeUnauthenticated {
		if slow := s.visits.take(s.place(r), s.mail.now()); slow != nil {
			err = slow
		}
	}
	return agent, token, err
}

// serveOperation serves one operation over HTTP.
func (s *Server) serveOperation(w http.ResponseWriter, r *http.Request, name string) {
	op := s.ops[name]
	if op == nil || op.socket {
		s.refuse(w, refuse(CodeBadRequest, "there is no such operation here"))
		return
	}
	c := &call{server: s, place: s.place(r)}
	err := s.parseHTTP(w, r, op, c)
	if err == nil {
		err = s.begin()
	}
	if err != nil {
		s.turnedAway(op, c, err)
		s.refuse(w, err)
		return
	}
	defer s.underway.Done()
	w.Header().Set("Content-Type", "application/json")
	if op.stream != nil {
		s.stream(w, r, op, c)
		return
	}
	answer, err := s.dispatch(r.Context(), op, c, nil)
	if c.answered != nil {
		defer c.answered()
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	_, _ = w.Write(answer)
}

// parseHTTP reads whose request it is, and what for. Nothing of the body is read
// before there is somebody to count it for.
func (s *Server) parseHTTP(w http.ResponseWriter, r *http.Request, op *operation, c *call) (err error) {
	if s.isStopping() {
		return errStopping
	}
	if !op.open {
		if c.agent, c.token, err = s.authenticate(r); err != nil {
			return err
		}
	}
	if err := s.slow(op, c); err != nil {
		return err
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(CodeBadRequest, "Content-Type is not application/json")
	}
	lim := s.requestLimits()
	if r.ContentLength > int64(lim.Size) {
		return refuse(CodeBadRequest, "the request is too large")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(lim.Size)))
	if err != nil {
		return refuse(CodeBadRequest, "the request is too large, or ends too soon")
	}
	v, err := wire.Parse(body, lim)
	if err != nil {
		return bad(err)
	}
	c.r = wire.Read(v, "", ruleRequest)
	c.r.Closed(op.names()...)
	return bad(c.r.Err())
}

// requestLimits are those of requests.
func (s *Server) requestLimits() wire.Limits {
	return wire.Limits{Size: int(s.mail.opts.Limits.MessageSize) + overhead, Depth: wire.MaxDepth + wire.WrapperDepth}
}

// slow takes a token for a call from whoever it is counted for.
func (s *Server) slow(op *operation, c *call) error {
	now := s.mail.now()
	switch {
	case op.open:
		return s.visits.take(c.place, now)
	case op.name == "append":
		return s.appends.take(string(c.agent.ID), now)
	case op.name == "ack":
		return s.acks.take(string(c.agent.ID), now)
	}
	return s.calls.take(string(c.agent.ID), now)
}

// turnedAway counts and logs a request that was not carried out.
func (s *Server) turnedAway(op *operation, c *call, err error) {
	code := refusal(err).Code
	s.metrics.refused(op, err)
	if code == CodeInternal {
		s.opts.Log.Error("operation failed", "op", op.name, "agent", c.agent.ID, "error", err)
	}
	s.opts.Log.Debug("operation", "op", op.name, "agent", c.agent.ID, "code", code)
}

// dispatch carries out a call that was parsed, and appends the answer to dst.
func (s *Server) dispatch(ctx context.Context, op *operation, c *call, dst []byte) (answer []byte, err error) {
	err = s.carryOut(op, c, func() error {
		var err error
		answer, err = op.do(ctx, c, dst)
		return err
	})
	return answer, err
}

// carryOut counts, times and logs what is done for a call.
func (s *Server) carryOut(op *operation, c *call, do func() error) (err error) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			s.opts.Log.Error("operation panicked", "op", op.name, "stack", string(debug.Stack()))
			err = errPanic
		} else if p != nil {
			panic(p)
		}
		took := time.Since(start)
		s.metrics.called(op, err, took)
		code := Code("ok")
		if err != nil {
			code = refusal(err).Code
		}
		if code == CodeInternal && err != errPanic {
			s.opts.Log.Error("operation failed", "op", op.name, "agent", c.agent.ID, "error", err)
		}
		s.opts.Log.Debug("operation", "op", op.name, "agent", c.agent.ID, "code", code, "took", took)
	}()
	return do()
}

var errPanic = errors.New("panicked")

// stream carries out a call whose answer may be large. When the answer has begun, an
// error can only break it off.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, op *operation, c *call) {
	out := &patient{w: w, control: http.NewResponseController(w), timeout: s.opts.WriteTimeout}
	err := s.carryOut(op, c, func() error {
		err := op.stream(r.Context(), c, out)
		if err == nil {
			err = out.flush()
		}
		return err
	})
	switch {
	case err == nil:
	case out.begun:
		panic(http.ErrAbortHandler)
	default:
		s.refuse(w, err)
	}
}

// A patient writer gives the client time for each piece, not for the whole.
type patient struct {
	w       io.Writer
	control *http.ResponseController
	timeout time.Duration
	held    bytes.Buffer
	begun   bool
}

const pieceSize = 64 << 10

func (p *patient) Write(b []byte) (int, error) {
	p.held.Write(b)
	if p.held.Len() < pieceSize {
		return len(b), nil
	}
	return len(b), p.flush()
}

func (p *patient) flush() error {
	p.begun = true
	if err := p.control.SetWriteDeadline(time.Now().Add(p.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err := p.held.WriteTo(p.w)
	return err
}
