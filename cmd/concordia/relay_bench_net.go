package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
)

// A benchNet is a relay on this machine, and clients that do as little as clients can:
// they write requests that are ready and compare what comes with what has to come.
type benchNet struct {
	bench   *bench
	server  *relay.Server
	http    *http.Server
	clients []*benchClient
	byID    map[string]*benchLog
	work    sync.WaitGroup
	closing atomic.Bool

	ackEvery int

	mu    sync.Mutex // guards what follows
	left  int        // messages of this round that were not acknowledged or not delivered, twice each
	ready chan struct{}
	fault error
}

// A benchClient is one agent's websocket.
type benchClient struct {
	net        *benchNet
	agent      int
	ws         *websocket.Conn
	acks       []time.Duration
	deliveries []time.Duration
}

// ackEvery is how many entries of a session a client takes before it acknowledges: at
// most a quarter of what the relay has under way on a connection, which is 256 entries
// or 1 MiB of all its sessions.
func (b *bench) ackEvery() int {
	each := (2*b.sessions + b.connections - 1) / b.connections // sessions of a connection
	return max(1, min(64/each, (256<<10)/(b.size+512)/each))
}

// connect runs a relay, and opens a websocket for each agent.
func (b *bench) connect(ctx context.Context, m *benchMail) (*benchNet, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &benchNet{bench: b, server: relay.NewServer(m.boxes, nil), byID: map[string]*benchLog{}, ackEvery: b.ackEvery()}
	n.http = n.server.HTTPServer()
	n.work.Go(func() { _ = n.http.Serve(l) })
	for _, l := range b.logs {
		n.byID[string(l.id)] = l
	}
	dialer := websocket.Dialer{Subprotocols: []string{"concordia.relay.v1"}, ReadBufferSize: 4 << 10, WriteBufferSize: 2 << 10}
	for i := range b.connections {
		ws, answer, err := dialer.DialContext(ctx, "ws://"+l.Addr().String()+"/v1/socket", http.Header{"Authorization": {"Bearer " + m.tokens[i]}})
		if err != nil {
			n.close()
			return nil, fmt.Errorf("opening websocket %d: %w", i, err)
		}
		answer.Body.Close()
		c := &benchClient{net: n, agent: i, ws: ws}
		ws.SetPingHandler(func(data string) error { // the usual one leaves a deadline behind
			pong := textFrame(data)
			pong[0] = 0x8a
			c.write(pong)
			return nil
		})
		n.clients = append(n.clients, c)
		n.work.Go(c.read)
	}
	return n, nil
}

func (n *benchNet) close() {
	n.closing.Store(true)
	for _, c := range n.clients {
		c.ws.Close()
	}
	n.http.Close()
	n.work.Wait()
}

// carry sends the messages of a round and returns when all were acknowledged, and have
// come to both parties.
func (n *benchNet) carry(ctx context.Context, round int) error {
	ready := make(chan struct{})
	n.mu.Lock()
	n.ready, n.left = ready, 0
	for _, l := range n.bench.logs {
		from := len(l.frames) * round / rounds
		l.until = len(l.frames) * (round + 1) / rounds
		n.left += 3 * (l.until - from)
	}
	n.mu.Unlock()
	for i, l := range n.bench.logs {
		n.clients[l.from].next(i)
	}
	quiet := time.NewTicker(10 * time.Second)
	defer quiet.Stop()
	for before := int64(-1); ; {
		select {
		case <-ready:
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.fault
		case <-ctx.Done():
			return ctx.Err()
		case <-quiet.C:
			if now := n.bench.done.Load(); now == before {
				return errors.New("nothing was acknowledged for ten seconds: a message was lost, or this machine does something else")
			} else {
				before = now
			}
		}
	}
}

// count notes that something of this round is done.
func (n *benchNet) count() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left--; n.left == 0 {
		close(n.ready)
	}
}

// fail ends the round.
func (n *benchNet) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fault == nil && !n.closing.Load() {
		n.fault = err
		if n.ready != nil && n.left > 0 {
			n.left = -1 // nobody gets there
			close(n.ready)
		}
	}
}

// check reports what is not as it has to be in the end.
func (n *benchNet) check() error {
	for _, l := range n.bench.logs {
		if all := int64(len(l.frames)); l.answered.Load() != all || l.owned.Load() != all || l.got.Load() != all {
			return fmt.Errorf("session %s: of %d messages %d were acknowledged, %d came back and %d came to the other", l.id, all, l.answered.Load(), l.owned.Load(), l.got.Load())
		}
	}
	return nil
}

func (n *benchNet) latencies() (acks, deliveries []time.Duration) {
	for _, c := range n.clients {
		acks, deliveries = slices.Concat(acks, c.acks), slices.Concat(deliveries, c.deliveries)
	}
	return acks, deliveries
}

// next sends the next message of a session, if there is one in this round.
func (c *benchClient) next(session int) {
	l := c.net.bench.logs[session]
	n := int(l.answered.Load())
	if n >= l.until {
		return
	}
	l.sent[n].Store(time.Now().UnixNano())
	c.write(l.frames[n])
}

// write writes a whole frame, which no other comes in between.
func (c *benchClient) write(frame []byte) {
	if _, err := c.ws.NetConn().Write(frame); err != nil {
		c.net.fail(fmt.Errorf("sending: %w", err))
	}
}

// textFrame makes a frame of a client (RFC 6455, Section 5.2). Its mask is zero, which
// hides nothing and costs nothing.
func textFrame(text string) []byte {
	frame := []byte{0x81} // text, the last of its message
	switch n := len(text); {
	case n < 126:
		frame = append(frame, 0x80|byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 0x80|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 0x80|127), uint64(n))
	}
	return append(append(frame, 0, 0, 0, 0), text...)
}

// read takes what the relay sends, until the connection ends.
func (c *benchClient) read() {
	var buffer bytes.Buffer
	for {
		_, r, err := c.ws.NextReader()
		if err == nil {
			buffer.Reset()
			_, err = buffer.ReadFrom(r)
		}
		if err == nil {
			err = c.take(buffer.Bytes())
		}
		if err != nil {
			c.net.fail(fmt.Errorf("receiving: %w", err))
			return
		}
	}
}

var (
	entryHead  = []byte(`{"push":"entry","session_id":"`)
	refHead    = []byte(`{"ref":"`)
	numberHead = []byte(`,"number":`)
	ownHead    = []byte(`,"own":{"id":"`)
	bodyHead   = []byte(`,"entry":`)
)

// take takes a frame.
func (c *benchClient) take(frame []byte) error {
	if rest, ok := bytes.CutPrefix(frame, entryHead); ok {
		return c.entry(frame, rest)
	}
	rest, ok := bytes.CutPrefix(frame, refHead)
	if !ok {
		return nil // what has become of a session
	}
	ref, rest, _ := bytes.Cut(rest, []byte{'"'})
	if !bytes.HasPrefix(rest, []byte(`,"ok":`)) {
		return fmt.Errorf("the relay answers %.300s", frame)
	}
	if len(ref) > 0 && ref[0] == 'a' {
		return nil // to an acknowledgement
	}
	i, err := strconv.Atoi(string(ref))
	if err != nil || i >= len(c.net.bench.logs) {
		return fmt.Errorf("the relay answers what nobody asked: %.300s", frame)
	}
	l := c.net.bench.logs[i]
	n := int(l.answered.Load())
	c.acks = append(c.acks, time.Duration(time.Now().UnixNano()-l.sent[n].Load()))
	l.answered.Add(1)
	c.net.bench.done.Add(1)
	c.next(i)
	c.net.count()
	return nil
}

// entry takes an entry of a log: it has to be the next, and what was sent.
func (c *benchClient) entry(frame, rest []byte) error {
	id, rest, _ := bytes.Cut(rest, []byte{'"'})
	l := c.net.byID[string(id)]
	rest, ok := bytes.CutPrefix(rest, numberHead)
	digits, rest, found := bytes.Cut(rest, []byte{','})
	number, err := strconv.Atoi(string(digits))
	if l == nil || !ok || !found || err != nil {
		return fmt.Errorf("the relay sends %.300s", frame)
	}
	had := &l.got
	if c.agent == l.from {
		had = &l.owned
	}
	if want := int(had.Load()) + 1; number != want || number > len(l.frames) {
		return fmt.Errorf("the relay sends entry %d, and not %d", number, want)
	}
	same := false
	if c.agent == l.from {
		i := bytes.Index(rest, ownHead)
		same = i >= 0 && bytes.HasPrefix(rest[i+len(ownHead):], []byte(l.ids[number-1]+`"`))
	} else {
		i := bytes.Index(rest, bodyHead)
		same = i >= 0 && bytes.HasPrefix(rest[i+len(bodyHead):], l.entry(number-1)) && len(rest) == i+len(bodyHead)+len(l.entry(number-1))+1
		c.deliveries = append(c.deliveries, time.Duration(time.Now().UnixNano()-l.sent[number-1].Load()))
	}
	if !same {
		return fmt.Errorf("entry %d of session %s is not what was sent: %.300s", number, l.id, frame)
	}
	had.Add(1)
	if number%c.net.ackEvery == 0 {
		c.write(textFrame(fmt.Sprintf(`{"op":"ack","ref":"a","session_id":"%s","number":%d}`, l.id, number)))
	}
	c.net.count()
	return nil
}
