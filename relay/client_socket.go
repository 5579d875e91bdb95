package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/wire"
)

// A link is one websocket to the relay.
type link struct {
	c      *Client
	conn   *websocket.Conn
	later  atomic.Int64 // for how long the relay, which is closing, wants to be left alone
	useful atomic.Bool  // it has answered
	news   chan tidings // for the callbacks

	writing sync.Mutex // held while a frame is written

	mu    sync.Mutex // guards what follows
	last  uint64     // ref
	waits map[string]chan<- wire.Value
	err   error // why it is closed
	done  chan struct{}
}

// tidings are invitations and sessions that the relay tells of, unasked.
type tidings struct {
	invitation *Invitation
	session    *SessionInfo
	hint       wire.Value // absent: none
	kind       string     // of the hint
}

// maxNews bounds the news that wait for their callback. An agent has at most 100
// invitations by default; what does not fit is dropped, as the relay sends it again.
const maxNews = 1024

// connect opens a websocket. A token that does not count is replaced.
func (c *Client) connect(ctx context.Context) (*link, error) {
	token, err := c.authenticate(ctx, "")
	if err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx, token)
	if CodeOf(err) == CodeUnauthenticated {
		if token, err = c.authenticate(ctx, token); err != nil {
			return nil, err
		}
		conn, err = c.dial(ctx, token)
	}
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxFrame)
	return &link{c: c, conn: conn, news: make(chan tidings, maxNews), waits: map[string]chan<- wire.Value{}, done: make(chan struct{})}, nil
}

func (c *Client) dial(ctx context.Context, token string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timing.Call, errNoAnswer)
	defer cancel()
	u := *c.url.JoinPath("v1", "socket")
	u.Scheme = map[string]string{"https": "wss", "http": "ws"}[u.Scheme]
	conn, res, err := c.dialer.DialContext(ctx, u.String(), http.Header{"Authorization": {"Bearer " + token}})
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && res != nil:
		if _, err := readResponse(ctx, "socket", res, maxFrame); err != nil { // the first KB of it are there
			return nil, err
		}
		return nil, fmt.Errorf("connecting to the relay: %w", err)
	case err != nil:
		return nil, fmt.Errorf("connecting to the relay: %w", err)
	case conn.Subprotocol() != socketProtocol:
		conn.Close()
		return nil, fmt.Errorf("connecting to the relay: it speaks the subprotocol %q", clip(conn.Subprotocol()))
	}
	return conn, nil
}

// serve uses the connection until it breaks, and returns why.
func (l *link) serve(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() { l.close(context.Cause(ctx)) })()
	l.alive()
	l.conn.SetPongHandler(func(string) error { l.alive(); return nil })
	answer := l.conn.PingHandler()
	l.conn.SetPingHandler(func(data string) error { l.alive(); return answer(data) })
	for _, r := range l.c.setLink(l) {
		r.reconnected()
	}
	for _, part := range []func(context.Context){l.ping, l.tell, l.acknowledge, l.catchUp} {
		parts.Go(func() { part(ctx) })
	}
	if l.c.opts.Up != nil {
		parts.Go(func() { l.c.opts.Up(ctx) })
	}
	err := l.read()
	l.c.setLink(nil)
	l.close(err)
	return l.err
}

// alive puts off the moment from which the connection is dead.
func (l *link) alive() { _ = l.conn.SetReadDeadline(time.Now().Add(l.c.opts.Timing.Silence)) }

// close ends the connection, and all calls on it, because of err.
func (l *link) close(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.done)
	l.conn.Close()
}

// setLink makes l the connection that calls use, and returns the logs.
func (c *Client) setLink(l *link) (logs []*logReader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link = l
	if l == nil {
		return nil
	}
	close(c.up)
	c.up = make(chan struct{})
	for _, r := range c.logs {
		logs = append(logs, r)
	}
	return logs
}

// ping asks for a sign of life again and again.
func (l *link) ping(context.Context) {
	tick := time.NewTicker(l.c.opts.Timing.Ping)
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-tick.C:
			if err := l.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(l.c.opts.Timing.Call)); err != nil {
				l.close(fmt.Errorf("asking for a sign of life: %w", err))
				return
			}
		}
	}
}

// call sends a request and waits for the answer. If there is none in time, the
// connection is given up.
func (l *link) call(ctx context.Context, op string, body wire.M) (wire.Value, error) {
	answer := make(chan wire.Value, 1)
	l.mu.Lock()
	l.last++
	ref := strconv.FormatUint(l.last, 10)
	l.waits[ref] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waits, ref)
		l.mu.Unlock()
	}()
	body = maps.Clone(body) // another attempt may go over HTTP
	body["op"], body["ref"] = op, ref
	frame, err := wire.Encode(body)
	if err != nil {
		return frame, fmt.Errorf("calling %s: %w: %w", op, errUnsayable, err)
	}
	if err := l.write(frame); err != nil {
		return wire.Value{}, fmt.Errorf("calling %s: %w", op, err)
	}
	timer := time.NewTimer(l.c.opts.Timing.Call)
	defer timer.Stop()
	select {
	case v := <-answer:
		l.useful.Store(true)
		if refused, ok := v.Get("error"); ok {
			return wire.Value{}, readRefusal(refused)
		}
		r := wire.Read(v, "", RuleAnswer)
		ok := r.Object("ok").Whole()
		if err := r.Err(); err != nil {
			return wire.Value{}, fmt.Errorf("calling %s: %w", op, err)
		}
		return ok, nil
	case <-ctx.Done():
		return wire.Value{}, fmt.Errorf("calling %s: %w", op, context.Cause(ctx))
	case <-timer.C:
		l.close(errNoAnswer)
	case <-l.done:
	}
	return wire.Value{}, fmt.Errorf("calling %s: %w", op, l.err)
}

func (l *link) write(frame wire.Value) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(l.c.opts.Timing.Call))
	err := l.conn.WriteMessage(websocket.TextMessage, []byte(frame.Canonical()))
	if err != nil {
		l.close(fmt.Errorf("writing to the relay: %w", err))
	}
	return err
}

// read takes frames until one is none.
func (l *link) read() error {
	for {
		kind, data, err := l.conn.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			return l.garbled(wire.Value{}, wire.RuleSize.At(""))
		case err != nil:
			return fmt.Errorf("reading from the relay: %w", err)
		case kind != websocket.TextMessage:
			return l.garbled(wire.Value{}, errors.New("it is no text frame"))
		}
		l.alive()
		v, err := wire.Parse(data, frameLimits(maxFrame))
		if err == nil {
			err = l.take(v, len(data))
		}
		if err != nil {
			return l.garbled(v, err)
		}
	}
}

func (l *link) garbled(frame wire.Value, err error) error {
	m := &Misconduct{Kind: Garbled, Shown: frame, Err: err}
	l.close(m)
	l.c.accuse(m)
	return m
}

// take passes a frame on. It does not block.
func (l *link) take(v wire.Value, size int) error {
	r := wire.Read(v, "", RuleAnswer)
	if r.Has("ref") {
		return l.answered(r)
	}
	switch push := r.Text("push"); push {
	case "entry":
		session, number := wire.ReadID[wire.SessionID](r, "session_id"), r.Int("number", 1, wire.MaxSafeInteger)
		if err := r.Err(); err != nil {
			return err
		}
		log, err := l.c.log(session)
		if err != nil {
			return err
		}
		log.pushed(uint64(number), v, size)
	case "invitation":
		i := readInvitation(r)
		if err := r.Err(); err != nil {
			return err
		}
		l.inform(tidings{invitation: &i})
	case "session":
		info := readSessionInfo(r)
		if err := r.Err(); err != nil {
			return err
		}
		l.inform(tidings{session: &info})
	case "closing":
		wait := time.Duration(r.Int("retry_after", 0, 1<<30)) * time.Second
		l.later.Store(int64(min(wait, maxRetryAfter)))
	default:
		if l.c.opts.Told != nil {
			l.inform(tidings{hint: v, kind: push})
		}
	}
	return r.Err()
}

// answered passes an answer to whoever waits for it. Nobody may wait any more.
func (l *link) answered(r wire.Reader) error {
	ref := r.Text("ref")
	n, err := strconv.ParseUint(ref, 10, 64)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || n == 0 || n > l.last || strconv.FormatUint(n, 10) != ref {
		return RuleAnswer.Because("/ref", errors.New("it is an answer to nothing"))
	}
	if wait := l.waits[ref]; wait != nil {
		wait <- r.Whole() // has room for one
		delete(l.waits, ref)
	}
	return nil
}

func (l *link) inform(n tidings) {
	select {
	case l.news <- n:
	default:
		l.c.opts.Logger.Warn("dropping news of the relay: too many")
	}
}

// tell calls the callbacks.
func (l *link) tell(ctx context.Context) {
	for {
		select {
		case <-l.done:
			return
		case n := <-l.news:
			switch {
			case n.invitation != nil && l.c.opts.Invited != nil:
				l.c.opts.Invited(ctx, *n.invitation)
			case n.session != nil && l.c.opts.Changed != nil:
				l.c.opts.Changed(ctx, *n.session)
			case n.kind != "":
				l.c.opts.Told(ctx, n.kind, n.hint)
			}
		}
	}
}

// acknowledge moves the relay's cursors to where the application is, those that have
// moved within a while together.
func (l *link) acknowledge(ctx context.Context) {
	for n := 0; ; {
		select {
		case <-l.done:
			return
		case <-l.c.toAck:
		}
		timer := time.NewTimer(l.c.opts.Timing.Ack)
		select {
		case <-l.done:
			timer.Stop()
			return
		case <-timer.C:
		case <-l.c.ackNow:
			timer.Stop()
		}
		if err := l.acknowledgeAll(ctx); err == nil {
			n = 0
		} else if n++; l.c.pause(ctx, n, putOff(err), false) != nil {
			return
		}
	}
}

// maxAcks bounds the acks that are under way.
const maxAcks = 32

func (l *link) acknowledgeAll(ctx context.Context) (failed error) {
	var mu sync.Mutex
	var underWay sync.WaitGroup
	room := make(chan struct{}, maxAcks)
	for _, r := range l.c.dueAcks() {
		room <- struct{}{}
		underWay.Go(func() {
			if err := r.acknowledge(ctx, l); err != nil {
				l.c.ackLater(r, 0)
				mu.Lock()
				failed = err
				mu.Unlock()
			}
			<-room
		})
	}
	underWay.Wait()
	return failed
}

// catchUp compares the sessions of the relay with the positions of the application.
func (l *link) catchUp(ctx context.Context) {
	for after, n := wire.SessionID(""), 0; ; {
		list, err := l.c.Sessions(ctx, after)
		if err != nil {
			l.c.opts.Logger.Warn("listing sessions at the relay", "why", err)
			if n++; l.c.pause(ctx, n, putOff(err), false) != nil {
				return
			}
			continue
		}
		for i := range list {
			if r, err := l.c.log(list[i].Session); err == nil {
				r.owes(&list[i])
			}
			after = list[i].Session
		}
		if len(list) == 0 {
			return
		}
		n = 0
	}
}
