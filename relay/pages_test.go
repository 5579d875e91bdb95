package relay_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Clients that ask for many pages of a log and take none of the answers cost the relay
// bounded memory, and another client reads the log meanwhile.
func TestUntakenPages(t *testing.T) {
	const connections, size = 20, 200 << 10
	s := serve(t, newPipes(), setting{
		limits:  relay.Limits{ConnectionsAgent: connections, CallBurst: 10_000, UndeliveredSender: 100},
		options: relay.ServerOptions{WriteTimeout: time.Minute},
	})
	p, q := s.person("p"), s.person("q")
	p.meet("s", q)
	for _, m := range p.chain("s", 6, wire.M{"text": strings.Repeat("x", size)}) {
		p.do("append", wire.M{"entry": m.Value()})
	}
	before := heap()
	var asking sync.WaitGroup
	var lines []*line
	for range connections {
		line := q.dial()
		lines = append(lines, line)
		asking.Go(func() {
			for i := range 16 {
				if err := line.ws.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(`{"op":"read","ref":"%d","session_id":"s","from":1}`, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	for _, line := range lines { // an answer is under way when it has begun
		if _, err := line.ws.NetConn().Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	most := int64(0)
	for range 20 {
		most = max(most, heap()-before)
	}
	// One answer of each connection, and what it is made of.
	if most > connections*4<<20 {
		t.Errorf("%d bytes for %d connections", most, connections)
	}
	n := 0
	for n < 6 {
		v := p.do("read", wire.M{"session_id": "s", "from": n + 1})
		entries, _ := v.Get("entries")
		if entries.Len() == 0 {
			t.Fatal("read: no entries")
		}
		n += entries.Len()
	}
	s.http.Close() // nobody takes the answers
}

// The more pages are under way, the shorter is the next.
func TestPages(t *testing.T) {
	var p relay.Pages
	total, shortest := 0, 1<<20
	var give []func()
	for range 1000 {
		size, g := p.Take()
		total, shortest, give = total+size, min(shortest, size), append(give, g)
	}
	if total > 90<<20 || shortest > 16<<10 || shortest < 1 {
		t.Errorf("1000 pages have %d bytes, the shortest %d", total, shortest)
	}
	for _, g := range give {
		g()
	}
	if size, _ := p.Take(); size != 1<<20 {
		t.Errorf("when all are taken the next has %d bytes", size)
	}
}
