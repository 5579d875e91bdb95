package node_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// load has two nodes carry on many sessions at the same time, of so many messages each,
// to a receipt, and returns what a message takes, and how many bytes a session in memory.
func load(t *testing.T, sessions, messages int) (each time.Duration, bytes int64) {
	w := newWorld(t)
	as := func(o *node.Options) {
		o.Policy.Allow, o.Policy.JoinKnown, o.Timing = []wire.AgentID{agent("seller")}, true, relay.DefaultTiming()
	}
	seller, buyer := w.party("seller", as), w.party("buyer", as)
	before := heap()
	begin := time.Now()
	ids := make([]wire.SessionID, sessions)
	inParallel(sessions, func(i int) {
		v, err := seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(nil)})
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		ids[i] = v.Session
	})
	if t.Failed() {
		t.FailNow()
	}
	come(t, w, buyer, ids)
	inParallel(sessions, func(i int) { carryOn(t, w, seller, buyer, ids[i], messages) })
	each = time.Since(begin) / time.Duration(sessions*messages)
	bytes = (heap() - before) / int64(2*sessions)
	if t.Failed() {
		t.FailNow()
	}
	for _, id := range ids[:min(sessions, 20)] {
		w.same(id, seller, buyer)
	}
	return each, bytes
}

// come waits until a party that joins by itself has the open messages of sessions.
func come(t *testing.T, w *world, p *party, ids []wire.SessionID) {
	missing := map[wire.SessionID]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	for after := uint64(0); len(missing) > 0; {
		list, err := p.Notices(w.ctx, after, 0)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d sessions did not come: %v", len(missing), err)
		}
		for _, n := range list {
			if n.Kind == node.MessageCame {
				delete(missing, n.Session)
			}
		}
		after = list[len(list)-1].Number
	}
}

// inParallel runs do(0) to do(n-1) at the same time.
func inParallel(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// carryOn has both sides speak in turns until the session has its messages and is settled.
func carryOn(t *testing.T, w *world, seller, buyer *party, id wire.SessionID, messages int) {
	for n := 1; n < messages; n++ {
		who, m := buyer, node.Move{Session: id, Type: wire.TypeInquire, Body: parsed(`{"term_ids":["price"]}`)}
		if n%2 == 0 {
			who = seller
		}
		switch n {
		case 1:
			m.Type, m.Body = wire.TypeAcceptSession, wire.Value{}
		case messages - 2:
			m.Type, m.Body = wire.TypeOffer, price(n)
		case messages - 1:
			m.Type, m.Body = wire.TypeAccept, wire.Value{}
		}
		for v, err := who.Session(w.ctx, id); v.Len < n; v, err = who.Wait(w.ctx, id, v.Version) {
			if err != nil {
				t.Errorf("message %d: waiting: %v", n, err)
				return
			}
		}
		if _, err := who.Move(w.ctx, m); err != nil {
			t.Errorf("message %d: %v", n, err)
			return
		}
	}
	for _, p := range []*party{seller, buyer} {
		for v, err := p.Session(w.ctx, id); v.Receipt != node.ReceiptDone; v, err = p.Wait(w.ctx, id, v.Version) {
			if err != nil {
				t.Errorf("waiting for the receipt: %v", err)
				return
			}
		}
	}
	if v, err := buyer.Session(w.ctx, id); err != nil || v.State != session.Agreed || v.Len != messages {
		t.Errorf("a session ended %s with %d messages, %v", v.State, v.Len, err)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// verifyRate returns what the verification of one message takes by itself.
func verifyRate(t *testing.T) time.Duration {
	t.Helper()
	m, err := wire.Sign(wire.Envelope{Type: wire.TypeOffer, ID: "m", Session: "s", Time: time.Now(), From: agent("seller"), Body: price(1)}, key("seller"))
	if err != nil {
		t.Fatal(err)
	}
	const times = 500
	begin := time.Now()
	for range times {
		u, err := wire.ReadMessage(m.Value())
		if err == nil {
			_, err = u.Verify(wire.DIDKeys{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(begin) / times
}

// Many sessions at once: a message takes no longer than with few, and a session in memory
// has a bound.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	bare := verifyRate(t)
	few, _ := load(t, loadFew, loadMessages)
	many, bytes := load(t, loadMany, loadMessages)
	t.Logf("%d sessions: %v a message; %d sessions: %v a message, %d bytes a session in memory; verifying one message: %v, %s",
		loadFew, few, loadMany, many, bytes, bare, fmt.Sprintf("%.0f times less", float64(many)/float64(bare)))
	if many > 2*few {
		t.Errorf("a message takes %v with %d sessions, and %v with %d", many, loadMany, few, loadFew)
	}
	if bytes > 64<<10 {
		t.Errorf("a session takes %d bytes of memory", bytes)
	}
}
