package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A fault is what happens to a connection in a bad network.
type fault int

const (
	faultCut      fault = iota // it ends
	faultHalfOpen              // nothing passes any more, and nobody is told
	faultDeaf                  // what the relay says, acknowledgements among it, is lost
	faultMute                  // what the client says is lost
	faultStalled               // what is said waits until more is said
	faultPieces                // everything passes in pieces of a few bytes
	allFaults     int   = iota
)

// A network lies between clients and a relay. After some bytes something happens to
// each connection.
type network struct {
	testing.TB
	l      net.Listener
	target string
	work   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	chance *rand.Rand
	broken bool // else nothing happens
	counts [allFaults]int
	conns  map[net.Conn]struct{}
}

// badNetwork returns one, and the URL of the relay behind it.
func badNetwork(t testing.TB, url string, seed uint64) (*network, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{
		TB: t, l: l, target: strings.TrimPrefix(url, "http://"), chance: rand.New(rand.NewPCG(seed, 0)), broken: true, conns: map[net.Conn]struct{}{},
	}
	n.work.Go(n.accept)
	t.Cleanup(func() {
		l.Close()
		n.mu.Lock()
		for c := range n.conns {
			c.Close()
		}
		n.mu.Unlock()
		n.work.Wait()
	})
	return n, "http://" + l.Addr().String()
}

// repair lets everything pass that comes from here on.
func (n *network) repair() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = false
}

func (n *network) accept() {
	for {
		client, err := n.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", n.target)
		if err != nil {
			client.Close()
			continue
		}
		c := &cable{n: n, client: client, server: server}
		n.mu.Lock()
		n.conns[client], n.conns[server] = struct{}{}, struct{}{}
		c.left = 2<<10 + n.chance.IntN(60<<10)
		n.mu.Unlock()
		n.work.Go(func() { c.carry(client, server, toRelay) })
		n.work.Go(func() { c.carry(server, client, toClient) })
	}
}

// A cable is one connection.
type cable struct {
	n              *network
	client, server net.Conn

	mu     sync.Mutex
	left   int // bytes, until something happens
	pieces bool
	to     [2]struct { // the client, the relay
		lost    bool
		stalled int // how many times more it is not passed on
	}
}

// Directions of a cable.
const (
	toClient = iota
	toRelay
)

// carry passes bytes on in one direction.
func (c *cable) carry(from, to net.Conn, direction int) {
	defer func() {
		c.client.Close()
		c.server.Close()
		c.n.mu.Lock()
		delete(c.n.conns, from)
		c.n.mu.Unlock()
	}()
	var said []byte // and not passed on
	buf := make([]byte, 16<<10)
	for {
		size, err := from.Read(buf)
		if err != nil {
			return
		}
		said = append(said, buf[:size]...)
		switch c.strike(size, direction) {
		case passes:
			if _, err := to.Write(said); err != nil {
				return
			}
		case passesInPieces:
			for piece := range slices.Chunk(said, 7) {
				if _, err := to.Write(piece); err != nil {
					return
				}
			}
		case waits:
			continue
		case ends:
			return
		}
		said = said[:0]
	}
}

// What becomes of some bytes.
type fate int

const (
	passes fate = iota
	passesInPieces
	waits
	isLost
	ends
)

// strike decides what happens to some bytes.
func (c *cable) strike(size, direction int) fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left -= size; c.left < 0 {
		c.n.mu.Lock()
		broken, f := c.n.broken, fault(c.n.chance.IntN(allFaults))
		c.left = 4<<10 + c.n.chance.IntN(100<<10)
		if broken {
			c.n.counts[f]++
		}
		c.n.mu.Unlock()
		switch {
		case !broken:
		case f == faultCut:
			return ends
		case f == faultHalfOpen:
			c.to[toClient].lost, c.to[toRelay].lost = true, true
		case f == faultDeaf:
			c.to[toClient].lost = true
		case f == faultMute:
			c.to[toRelay].lost = true
		case f == faultStalled:
			c.to[toClient].stalled, c.to[toRelay].stalled = 2, 2
		case f == faultPieces:
			c.pieces = true
		}
	}
	at := &c.to[direction]
	switch {
	case at.lost:
		return isLost
	case at.stalled > 0:
		at.stalled--
		return waits
	case c.pieces:
		return passesInPieces
	}
	return passes
}

// TestNetworkFaults: whatever the network does, each message is handed over to each
// agent exactly once and in the order of the chain, and none that was acknowledged is
// lost.
func TestNetworkFaults(t *testing.T) { faultyNetwork(t, 1000) }

func faultyNetwork(t *testing.T, messages int) {
	noLeaks(t)
	const sessions = 5
	s := startRelay(t, nil)
	n, url := badNetwork(t, s.url, 1)
	hasty := func(o *relay.ClientOptions) {
		o.Timing = relay.Timing{
			Call: 150 * time.Millisecond, Ping: 30 * time.Millisecond, Silence: 150 * time.Millisecond,
			Retry: time.Millisecond, MaxRetry: 10 * time.Millisecond, Ack: time.Millisecond,
		}
	}
	a, b := newEndpoint(t, url, "a", hasty), newEndpoint(t, url, "b", hasty)
	acknowledged := make([][]wire.MessageID, sessions)
	var mu sync.Mutex
	var writers sync.WaitGroup
	for i := range sessions {
		session := wire.SessionID(fmt.Sprintf("ses_%d", i))
		open(a, b, session)
		for _, e := range []*endpoint{a, b} {
			writers.Go(func() {
				for k := range messages / sessions / 2 {
					id, err := e.insert(t.Context(), session, k)
					if err != nil {
						t.Errorf("%s: %v", session, err)
						return
					}
					mu.Lock()
					acknowledged[i] = append(acknowledged[i], id)
					mu.Unlock()
				}
			})
		}
	}
	writers.Wait()
	n.repair()
	for i := range sessions {
		session := wire.SessionID(fmt.Sprintf("ses_%d", i))
		want := messages / sessions / 2 * 2
		log, err := s.mail.Read(context.Background(), a.id, session, 1, 1<<20, 1<<30)
		if err != nil || len(log) != want || len(acknowledged[i]) != want {
			t.Fatalf("%s: the log has %d entries, %d are acknowledged, want %d; %v", session, len(log), len(acknowledged[i]), want, err)
		}
		for _, e := range []*endpoint{a, b} {
			e.receives(session, want)
			e.mu.Lock()
			times, tip := map[wire.MessageID]int{}, wire.Hash{}
			for k, d := range e.got[session] {
				times[d.ID()]++
				if d.Number != uint64(k+1) || d.Message == nil || d.Message.PrevHash != tip {
					t.Fatalf("%s: entry %d is in place %d, or not in the chain", session, d.Number, k+1)
				}
				tip = d.Message.Hash()
				if d.Message.Value().Canonical() != string(log[k].Text) {
					t.Fatalf("%s: entry %d is not that of the log", session, d.Number)
				}
			}
			for _, id := range acknowledged[i] {
				if times[id] != 1 {
					t.Errorf("%s: %s was handed over %d times", session, id, times[id])
				}
			}
			if len(e.got[session]) != want {
				t.Errorf("%s: %d entries were handed over, want %d", session, len(e.got[session]), want)
			}
			e.mu.Unlock()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t.Logf("cut %d, half-open %d, deaf %d, mute %d, stalled %d, in pieces %d", n.counts[faultCut], n.counts[faultHalfOpen], n.counts[faultDeaf], n.counts[faultMute], n.counts[faultStalled], n.counts[faultPieces])
	for f, count := range n.counts {
		if count == 0 {
			t.Errorf("fault %d did not happen", f)
		}
	}
}

// insert appends a message of an agent behind whatever is there: if it comes second,
// the agent looks at what came first and signs anew.
func (e *endpoint) insert(ctx context.Context, session wire.SessionID, k int) (wire.MessageID, error) {
	for try := 0; ; try++ {
		e.mu.Lock()
		var at relay.Position
		if n := len(e.got[session]); n > 0 {
			at = e.got[session][n-1].Position
		}
		e.mu.Unlock()
		m := e.message(session, k*1000+try, at.Tip.Hash)
		done, err := e.Append(ctx, m)
		behind := done.Number
		if refused, ok := errors.AsType[*relay.Error](err); ok && refused.Code == relay.CodeChainConflict {
			behind = refused.Length
		} else if err != nil {
			return "", err
		}
		if reached := e.reaches(ctx, session, behind); reached != nil {
			return "", reached
		}
		if err == nil {
			return m.ID, nil
		}
	}
}

// reaches waits until an entry was handed over.
func (e *endpoint) reaches(ctx context.Context, session wire.SessionID, number uint64) error {
	for {
		e.mu.Lock()
		n, accused := uint64(len(e.got[session])), e.accused
		heard := e.heard()
		e.mu.Unlock()
		switch {
		case n >= number:
			return nil
		case len(accused) > 0:
			return accused[0]
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
