package relay

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/wire"
)

// subprotocol is what a websocket of RFC 0001 speaks.
const subprotocol = "concordia.relay.v1"

// callsAtOnce bounds the requests of one websocket that are under way; the next frame
// is not read before one of them is answered.
const callsAtOnce = 16

// maxRef bounds what a client calls a request, in characters.
const maxRef = 64

// A socket is one websocket of an agent. One goroutine reads; one more delivers, but
// only while there is something to deliver, so that an idle connection is cheap.
type socket struct {
	server   *Server
	ws       *websocket.Conn
	conn     *corked // below ws
	agent    Agent
	place    string
	ctx      context.Context // of its calls; done when the socket is gone
	cancel   context.CancelFunc
	slots    chan struct{}
	writing  sync.Mutex // one frame at a time
	closing  atomic.Bool
	last     atomic.Bool // close when the answer under way is written
	warned   atomic.Bool // that the relay stops
	renewing sync.Mutex  // held while token is replaced, and while it is looked at
	token    atomic.Pointer[string]
	reading  sync.Mutex // held from reading a page until it is written
	delivery delivery
	hints    hints
	pinger   *time.Timer
	unlisten func()
}

// serveSocket opens a websocket.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	agent, token, err := s.authenticate(r)
	if err == nil {
		err = s.calls.take(string(agent.ID), s.mail.now())
	}
	if err == nil {
		err = s.begin()
	}
	if err != nil {
		if CodeOf(err) == CodeInternal {
			s.opts.Log.Error("opening a websocket failed", "error", err)
		}
		s.refuse(w, err)
		return
	}
	defer s.underway.Done()
	if !websocket.IsWebSocketUpgrade(r) {
		s.refuse(w, refuse(CodeBadRequest, "this is no request for a websocket"))
		return
	}
	c := &socket{server: s, agent: agent, place: s.place(r), slots: make(chan struct{}, callsAtOnce)}
	c.token.Store(&token)
	if err := s.sockets.reserve(c); err != nil {
		s.refuse(w, err)
		return
	}
	c.conn = new(corked)
	ws, err := s.upgrader.Upgrade(&hijacking{w, c.conn}, r, nil) // which answers if it fails
	if err != nil {
		s.sockets.release(c)
		return
	}
	c.ws = ws
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	s.sockets.add(c)
	c.delivery.scan = true
	c.unlisten = s.mail.driver.Listen(string(agent.ID), func(session string) { c.wake(wire.SessionID(session)) })
	c.pinger = time.AfterFunc(s.opts.PingEvery, c.ping)
	c.checkToken() // it may have been revoked while nobody knew of this websocket
	if s.isStopping() {
		c.sayClosing() // nor knew of it who said so to the others
	}
	go c.read() // the goroutine of the HTTP server and what it holds can go
	c.deliverSoon()
}

var frames = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxFrameKept bounds the buffers that are used again.
const maxFrameKept = 64 << 10

func giveBack(b *bytes.Buffer) {
	if b.Cap() <= maxFrameKept {
		b.Reset()
		frames.Put(b)
	}
}

// read reads requests until the connection ends. What is no text frame ends it.
func (c *socket) read() {
	defer c.gone()
	alive := func(string) error {
		if c.closing.Load() {
			return nil
		}
		return c.ws.SetReadDeadline(time.Now().Add(2 * c.server.opts.PingEvery))
	}
	c.ws.SetReadLimit(int64(c.server.requestLimits().Size))
	c.ws.SetPongHandler(alive)
	_ = alive("")
	for {
		kind, r, err := c.ws.NextReader()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			c.close(websocket.CloseUnsupportedData, "text frames only")
			return
		}
		frame := frames.Get().(*bytes.Buffer)
		if _, err := frame.ReadFrom(r); err != nil {
			return
		}
		c.server.metrics.received.Add(float64(frame.Len()))
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			return
		}
		if c.closing.Load() {
			<-c.slots
			continue // until the other end closes, too
		}
		_ = alive("")
		c.server.workers.do(func() { c.answer(frame) })
	}
}

// gone takes a connection that has ended out of everything.
func (c *socket) gone() {
	c.closing.Store(true)
	c.cancel()
	c.pinger.Stop()
	c.unlisten()
	_ = c.ws.Close()
	c.server.sockets.remove(c)
}

// answer carries out the request in a frame. A frame that cannot be answered, because it
// is no JSON or does not say how it is called, ends the connection.
func (c *socket) answer(frame *bytes.Buffer) {
	defer func() { <-c.slots }()
	v, err := wire.Parse(frame.Bytes(), c.server.requestLimits())
	isText := err == nil || utf8.Valid(frame.Bytes())
	giveBack(frame)
	switch {
	case !isText:
		c.close(websocket.CloseInvalidFramePayloadData, "not UTF-8")
		return
	case err != nil:
		c.close(websocket.ClosePolicyViolation, "not the JSON of RFC 0001")
		return
	}
	r := wire.Read(v, "", ruleRequest)
	ref, name := r.Text("ref"), r.Text("op")
	if r.Err() != nil || utf8.RuneCountInString(ref) > maxRef {
		c.close(websocket.ClosePolicyViolation, "a request has op and ref")
		return
	}
	if err := c.reply(ref, name, r); CodeOf(err) == CodeRate {
		c.calm(refusal(err).RetryAfter)
	}
}

// reply carries out a request and writes the answer.
func (c *socket) reply(ref, name string, r wire.Reader) error {
	head := appendText([]byte(`{"ref":`), ref)
	if err := c.server.begin(); err != nil {
		c.write(append(appendError(append(head, ','), refusal(err)), '}'))
		return err
	}
	defer c.server.underway.Done()
	call := &call{server: c.server, agent: c.agent, token: *c.token.Load(), place: c.place, r: r, socket: c}
	answer, err := c.carryOut(name, call, append(head, `,"ok":`...))
	if err != nil {
		answer = append(appendError(append(head, ','), refusal(err)), '}')
	} else {
		answer = append(answer, '}')
	}
	c.conn.cork()
	c.write(answer)
	if call.answered != nil {
		call.answered()
	}
	c.uncork()
	if c.last.Load() {
		c.close(websocket.ClosePolicyViolation, "the token was revoked")
	}
	return err
}

func (c *socket) carryOut(name string, call *call, dst []byte) ([]byte, error) {
	op := c.server.ops[name]
	if op == nil || op.stream != nil {
		return dst, refuse(CodeBadRequest, "there is no such operation here")
	}
	err := c.server.slow(op, call)
	if err == nil {
		call.r.Closed(append(op.names(), "op", "ref")...)
		err = bad(call.r.Err())
	}
	if err != nil {
		c.server.turnedAway(op, call, err)
		return dst, err
	}
	return c.server.dispatch(c.ctx, op, call, dst)
}

// calm keeps the place of a request that came too fast for a while, so that whoever goes
// on like that is read more slowly.
func (c *socket) calm(wait time.Duration) {
	t := time.NewTimer(min(wait, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
}

// write sends a frame. A client that does not take it in time is cut off; what it did
// not acknowledge it gets again.
func (c *socket) write(frame []byte) bool {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(c.server.opts.WriteTimeout))
	if err := c.ws.WriteMessage(websocket.TextMessage, frame); err != nil {
		if !c.closing.Swap(true) {
			c.server.metrics.cut.Inc()
		}
		_ = c.ws.Close()
		return false
	}
	c.server.metrics.sent.Add(float64(len(frame)))
	return true
}

// uncork sends what was written since cork. It is cut off as in write.
func (c *socket) uncork() {
	if err := c.conn.uncork(); err != nil && !c.closing.Swap(true) {
		c.server.metrics.cut.Inc()
		_ = c.ws.Close()
	}
}

// close says goodbye, and gives the other end a moment to do so.
func (c *socket) close(code int, why string) {
	if c.closing.Swap(true) {
		return
	}
	const moment = time.Second
	if err := c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(moment)); err != nil {
		_ = c.ws.Close()
		return
	}
	_ = c.ws.SetReadDeadline(time.Now().Add(moment))
}

// sayClosing tells the client that the relay is about to stop, once.
func (c *socket) sayClosing() {
	if c.warned.Swap(true) {
		return
	}
	frame, err := appendObject(nil, wire.M{"push": "closing", "retry_after": seconds(retryAfter)})
	if err == nil {
		c.write(frame)
	}
}

// ping asks whether the other end is there, whether its token still counts, and
// whether there is news that no hint told of.
func (c *socket) ping() {
	if c.closing.Load() {
		return
	}
	if err := c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.server.opts.WriteTimeout)); err != nil {
		_ = c.ws.Close()
		return
	}
	if !c.checkToken() {
		return
	}
	c.rescan()
	c.pinger.Reset(c.server.opts.PingEvery)
}

// checkToken closes the connection, and reports false, if its token counts no more.
func (c *socket) checkToken() bool {
	c.renewing.Lock()
	_, err := c.server.mail.Authenticate(c.ctx, *c.token.Load())
	c.renewing.Unlock()
	if CodeOf(err) == CodeUnauthenticated {
		c.close(websocket.ClosePolicyViolation, "the token was revoked")
		return false
	}
	return true
}

// sockets are the open websockets of a server.
type sockets struct {
	limits *Limits
	mu     sync.Mutex
	total  int64
	agents map[wire.AgentID][]*socket
	counts map[wire.AgentID]int64
	places map[string]int64
	left   sync.WaitGroup
}

func newSockets(l *Limits) *sockets {
	return &sockets{limits: l, agents: map[wire.AgentID][]*socket{}, counts: map[wire.AgentID]int64{}, places: map[string]int64{}}
}

// reserve takes a place for a socket, if there is one.
func (s *sockets) reserve(c *socket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch l := s.limits; {
	case s.total >= l.Connections:
		return quota("connections", "the relay has as many connections as it takes")
	case s.counts[c.agent.ID] >= l.ConnectionsAgent:
		return quota("connections_per_agent", "you have as many connections as you may")
	case s.places[c.place] >= l.ConnectionsPlace:
		return quota("connections_per_address", "your address has as many connections as it may")
	}
	s.total++
	s.counts[c.agent.ID]++
	s.places[c.place]++
	s.left.Add(1)
	return nil
}

// release gives the place of a socket back.
func (s *sockets) release(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.counts[c.agent.ID]--; s.counts[c.agent.ID] == 0 {
		delete(s.counts, c.agent.ID)
	}
	if s.places[c.place]--; s.places[c.place] == 0 {
		delete(s.places, c.place)
	}
	s.left.Done()
}

func (s *sockets) add(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[c.agent.ID] = append(s.agents[c.agent.ID], c)
}

func (s *sockets) remove(c *socket) {
	s.mu.Lock()
	id := c.agent.ID
	if s.agents[id] = slices.DeleteFunc(s.agents[id], func(o *socket) bool { return o == c }); len(s.agents[id]) == 0 {
		delete(s.agents, id)
	}
	s.mu.Unlock()
	s.release(c)
}

// of returns the sockets of an agent.
func (s *sockets) of(agent wire.AgentID) []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.agents[agent])
}

// each calls f, which must not block, for every socket.
func (s *sockets) each(f func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.agents {
		for _, c := range list {
			f(c)
		}
	}
}

func (s *sockets) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// wait waits until all sockets are gone.
func (s *sockets) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.left.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acked frees the window of an agent's sockets, whichever way the acknowledgement came.
func (s *sockets) acked(agent wire.AgentID, session wire.SessionID, number uint64) {
	for _, c := range s.of(agent) {
		c.acked(session, number)
	}
}

// revoked closes the sockets that a token opened, or all of an agent's. The one that
// asked for it gets its answer first.
func (s *sockets) revoked(agent wire.AgentID, token string, all bool, asked *socket) {
	for _, c := range s.of(agent) {
		switch {
		case !all && *c.token.Load() != token:
		case c == asked:
			c.last.Store(true)
		default:
			go c.close(websocket.ClosePolicyViolation, "the token was revoked")
		}
	}
}

// replaced closes the sockets that a token opened, but for the one that asked for
// another in its place: it goes on with that.
func (s *sockets) replaced(agent wire.AgentID, token, fresh string, asked *socket) {
	if asked != nil {
		asked.token.Store(&fresh)
	}
	s.revoked(agent, token, false, nil)
}

// Connections returns how many websockets are open.
func (s *Server) Connections() int { return int(s.sockets.count()) }
