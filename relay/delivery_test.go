package relay_test

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// entry returns the number of a pushed entry of a session, and skips what else is
// pushed.
func (l *line) entry(session string) uint64 {
	l.Helper()
	for {
		v := l.push()
		if text(v, "push") != "entry" || text(v, "session_id") != session {
			continue
		}
		n, _ := v.Get("number")
		i, _ := n.Int()
		return uint64(i)
	}
}

// takes reads entries of a session from number from to number to, and acknowledges
// them in fifties.
func (l *line) takes(session string, from, to uint64) {
	l.Helper()
	for n := from; n <= to; n++ {
		if got := l.entry(session); got != n {
			l.Fatalf("%s: entry %d after %d", l.id, got, n-1)
		}
		if n%50 == 0 || n == to {
			l.ack(session, n)
		}
	}
}

// ack acknowledges and does not wait for the answer, which is read and dropped later.
func (l *line) ack(session string, n uint64) {
	l.Helper()
	v := l.value(wire.M{"op": "ack", "ref": "ack", "session_id": session, "number": n})
	if err := l.ws.WriteMessage(websocket.TextMessage, []byte(v.Canonical())); err != nil {
		l.Fatal(err)
	}
}

// roomy are limits that a test of delivery does not want to cross.
func roomy() relay.Limits {
	return relay.Limits{
		Undelivered: 1e6, UndeliveredSender: 1e6, Parties: 100, ConnectionsPlace: 1000, AppendBurst: 1e6, AppendsPerSecond: 1e6,
		CallBurst: 1e6, CallsPerSecond: 1e6,
	}
}

// TestPausedReader has one client read nothing while 64 others read 1.2 MB each: its
// memory is bounded, nobody waits for it, and when it goes on it misses nothing.
func TestPausedReader(t *testing.T) {
	const healthy, messages = 64, 150
	s := listen(t, setting{limits: roomy(), options: relay.ServerOptions{WriteTimeout: time.Minute}})
	seller := s.person("seller")
	var readers []*person
	for i := range healthy + 1 {
		readers = append(readers, s.person(fmt.Sprintf("buyer%d", i)))
	}
	seller.meet("ses_1", readers...)
	chain := seller.chain("ses_1", messages, wire.M{"signal": strings.Repeat("x", 8000)})
	paused := readers[0].dial()
	var all sync.WaitGroup
	for _, r := range readers[1:] {
		l := r.dial()
		all.Go(func() { l.takes("ses_1", 1, messages) })
	}
	before := heap()
	for _, m := range chain {
		seller.do("append", wire.M{"entry": m.Value()})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	paused.takes("ses_1", 1, messages)
}

// TestPausedReaderIsCut shows that a client that takes nothing is cut off after the
// write timeout, and gets everything when it comes back.
func TestPausedReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s := serve(t, p, setting{limits: roomy()})
		seller, buyer := s.person("seller"), s.person("buyer")
		seller.meet("ses_1", buyer)
		paused := buyer.dial()
		synctest.Wait()
		for _, m := range seller.chain("ses_1", 20, wire.M{"signal": "hello"}) {
			seller.do("append", wire.M{"entry": m.Value()})
		}
		time.Sleep(relay.DefaultWriteTimeout - time.Second)
		synctest.Wait()
		if _, metrics := s.send("", "GET", "/metrics", ""); strings.Contains(metrics, "cut_total 1") {
			t.Error("cut before the time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, _, err := paused.ws.ReadMessage(); err == nil {
			t.Error("it is connected still")
		}
		if n := s.server.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
		buyer.dial().takes("ses_1", 1, 20)
	})
}

// TestWindow shows how much goes out unacknowledged: 256 entries, or a mebibyte.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name             string
		size, want, more int
		small            int // what still fits
	}{{"many", 10, 256, 300, 0}, {"large", 100_000, 10, 13, 1}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, newPipes(), setting{limits: roomy()})
				seller, buyer := s.person("seller"), s.person("buyer")
				seller.meet("ses_1", buyer)
				seller.meet("ses_2", buyer)
				for _, m := range seller.chain("ses_1", c.more, wire.M{"signal": strings.Repeat("x", c.size)}) {
					seller.do("append", wire.M{"entry": m.Value()})
				}
				l := buyer.dial()
				frames := make(chan wire.Value, 10_000)
				go func() {
					for {
						_, b, err := l.ws.ReadMessage()
						if err != nil {
							close(frames)
							return
						}
						v, err := wire.Parse(b, wire.DocumentLimits)
						if err != nil {
							t.Error(err)
						}
						if text(v, "push") == "entry" {
							frames <- v
						}
					}
				}()
				synctest.Wait()
				if n := len(frames); n != c.want {
					t.Errorf("%d entries came, want %d", n, c.want)
				}
				// That of another session has to wait, unless it fits.
				seller.do("append", wire.M{"entry": seller.chain("ses_2", 1, wire.M{"signal": "two"})[0].Value()})
				synctest.Wait()
				if n := len(frames); n != c.want+c.small {
					t.Errorf("%d entries came beyond the window, want %d", n-c.want, c.small)
				}
				// An acknowledgement on another way frees the window, too.
				buyer.do("ack", wire.M{"session_id": "ses_1", "number": c.want})
				synctest.Wait()
				if n := len(frames); n != c.more+1 {
					t.Errorf("%d entries came in all, want %d", n, c.more+1)
				}
				l.ws.Close()
			})
		})
	}
}

// TestTurns shows that a long log does not keep a short one waiting.
func TestTurns(t *testing.T) {
	s := listen(t, setting{limits: roomy()})
	seller, buyer := s.person("seller"), s.person("buyer")
	for _, session := range []string{"ses_long", "ses_short"} {
		seller.meet(session, buyer)
	}
	for _, m := range seller.chain("ses_long", 200, wire.M{"signal": "x"}) {
		seller.do("append", wire.M{"entry": m.Value()})
	}
	seller.do("append", wire.M{"entry": seller.chain("ses_short", 1, wire.M{"signal": "x"})[0].Value()})
	l := buyer.dial()
	before := 0
	for {
		v := l.push()
		if text(v, "push") != "entry" {
			continue
		}
		if text(v, "session_id") == "ses_short" {
			break
		}
		before++
	}
	if before > 32 {
		t.Errorf("%d entries came before that of another session", before)
	}
}

// TestResume shows that a place that the client keeps itself goes before the cursor, and
// that nothing of the old place comes after the answer.
func TestResume(t *testing.T) {
	s := listen(t, setting{limits: roomy()})
	seller, buyer := s.person("seller"), s.person("buyer")
	seller.meet("ses_1", buyer)
	for _, m := range seller.chain("ses_1", 600, wire.M{"signal": "x"}) {
		seller.do("append", wire.M{"entry": m.Value()})
	}
	l := buyer.dial()
	times := uint64(200)
	if testing.Short() {
		times = 40
	}
	for i := range times { // while the delivery is in the middle of something
		n := i * 37 % 500
		if v := l.call("resume", wire.M{"session_id": "ses_1", "number": n}); v.Canonical() != "{}" {
			t.Fatalf("resume: %v", v)
		}
		l.pushed = nil
		if got := l.entry("ses_1"); got != n+1 {
			t.Fatalf("resume behind %d: entry %d", n, got)
		}
	}
	for _, n := range []uint64{0, 100, 50, 344, 600, 1} {
		if v := l.call("resume", wire.M{"session_id": "ses_1", "number": n}); v.Canonical() != "{}" {
			t.Fatalf("resume: %v", v)
		}
		l.pushed = nil
		for i := range uint64(256) {
			if n+i+1 > 600 {
				break
			}
			if got := l.entry("ses_1"); got != n+i+1 {
				t.Fatalf("resume behind %d: entry %d after %d", n, got, n+i)
			}
		}
	}
}

// TestAllConnectionsOfAnAgent get all entries, whichever acknowledges.
func TestAllConnectionsOfAnAgent(t *testing.T) {
	s := listen(t, setting{limits: roomy()})
	seller, buyer := s.person("seller"), s.person("buyer")
	seller.meet("ses_1", buyer)
	first, second := buyer.dial(), buyer.dial()
	if v := second.call("sessions", wire.M{}); v.Kind() != wire.Object {
		t.Fatal(v) // it has looked for what there is
	}
	for _, m := range seller.chain("ses_1", 300, wire.M{"signal": "x"}) {
		seller.do("append", wire.M{"entry": m.Value()})
	}
	first.takes("ses_1", 1, 300)
	for n := uint64(1); n <= 300; n++ {
		if got := second.entry("ses_1"); got != n {
			t.Fatalf("entry %d after %d", got, n-1)
		}
	}
}

// TestDeniedSenderLearnsNothing, and who denied it is not bothered.
func TestDeniedSenderLearnsNothing(t *testing.T) {
	s := listen(t, setting{})
	seller, buyer, friend := s.person("seller"), s.person("buyer"), s.person("friend")
	l, other := buyer.dial(), friend.dial()
	buyer.do("consent", wire.M{"agent_id": "seller", "consent": "denied"})
	shown := seller.do("create", wire.M{"session_id": "ses_1", "to": []string{"friend"}})
	hidden := seller.do("create", wire.M{"session_id": "ses_2", "to": []string{"buyer"}})
	same := strings.NewReplacer("ses_1", "ses_2", "friend", "buyer").Replace(shown.Canonical())
	if same != hidden.Canonical() {
		t.Errorf("a denied sender is answered %v, others %v", hidden, shown)
	}
	seller.do("close", wire.M{"session_id": "ses_2"})
	if v := other.push(); text(v, "push") != "invitation" {
		t.Errorf("%v", v)
	}
	friend.do("create", wire.M{"session_id": "ses_3", "to": []string{"buyer"}})
	if v := l.push(); text(v, "session_id") != "ses_3" {
		t.Errorf("who has denied is told %v", v)
	}
}

// TestPing shows that a client that does not answer pings is closed, and one that does
// is not.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, newPipes(), setting{})
		dead, alive := s.person("dead").dial(), s.person("alive").dial()
		go func() {
			for {
				if _, _, err := alive.ws.ReadMessage(); err != nil { // which answers pings
					return
				}
			}
		}()
		pings := 0
		dead.ws.SetPingHandler(func(string) error { pings++; return nil })
		go func() {
			for {
				if _, _, err := dead.ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := s.server.Connections(); n != 1 || pings == 0 {
			t.Errorf("%d connections after %d pings, want 1", n, pings)
		}
		time.Sleep(10 * time.Minute)
		if n := s.server.Connections(); n != 1 {
			t.Errorf("%d connections later, want 1", n)
		}
	})
}

// TestLostHints shows that what no hint told of is found with the next ping.
func TestLostHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, newPipes(), setting{driver: func(d relay.Driver) relay.Driver { return deaf{d} }})
		seller, buyer := s.person("seller"), s.person("buyer")
		l := buyer.dial()
		seller.meet("ses_1", buyer)
		seller.do("append", wire.M{"entry": seller.chain("ses_1", 1, wire.M{"signal": "hello"})[0].Value()})
		start := time.Now()
		if n := l.entry("ses_1"); n != 1 || time.Since(start) > relay.DefaultPingEvery {
			t.Errorf("entry %d after %v", n, time.Since(start))
		}
	})
}

// deaf loses all hints.
type deaf struct{ relay.Driver }

func (deaf) Wake(string, string) {}

// TestEntriesAtOnce shows that nothing waits for a ping when entries are appended at the
// same time, in whatever order those who append them get to remember and to tell of it.
func TestEntriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, newPipes(), setting{limits: roomy(), driver: func(d relay.Driver) relay.Driver {
			return &disordered{Driver: d, wait: time.Sleep, random: mathrand.New(mathrand.NewPCG(7, 1))}
		}})
		seller, buyer := s.person("seller"), s.person("buyer")
		seller.meet("ses_1", buyer)
		enclosure := func(p *person, id int) wire.M {
			e, err := relay.Enclosure{
				ID: wire.MessageID(fmt.Sprint("enc_", id)), Session: "ses_1", From: p.id, Time: p.now(), Kind: "note", Content: encoded(wire.M{"n": id}),
			}.Sign(p.key)
			if err != nil {
				t.Fatal(err)
			}
			return wire.M{"entry": e.Value()}
		}
		const rounds, atOnce = 200, 4
		lines := []*line{seller.dial(), buyer.dial(), buyer.dial()}
		came := make(chan struct{}, len(lines)*atOnce)
		seller.do("append", enclosure(seller, rounds*atOnce))
		for _, l := range lines {
			if n := l.entry("ses_1"); n != 1 { // each is told of what comes from then on
				t.Fatalf("entry %d", n)
			}
		}
		for i, l := range lines {
			go func() {
				for n := uint64(2); n <= 1+rounds*atOnce; n++ {
					if got := l.entry("ses_1"); got != n {
						t.Errorf("%s: entry %d after %d", l.id, got, n-1)
					}
					if i < 2 { // for the third, too: it is the buyer's other connection
						l.ack("ses_1", n)
					}
					came <- struct{}{}
				}
				for { // nothing waits for it to read
					if _, _, err := l.ws.NextReader(); err != nil {
						return
					}
				}
			}()
		}
		for n := range rounds {
			start := time.Now()
			var said sync.WaitGroup
			for i, p := range []*person{seller, buyer, seller, buyer} {
				e := enclosure(p, n*atOnce+i)
				said.Go(func() {
					if i < 3 {
						p.do("append", e)
						return
					}
					e["op"], e["ref"] = "append", "append"
					if err := lines[2].ws.WriteMessage(websocket.TextMessage, []byte(s.value(e).Canonical())); err != nil {
						t.Error(err)
					}
				})
			}
			for range len(lines) * atOnce {
				<-came
			}
			said.Wait()
			if waited := time.Since(start); waited > time.Second {
				t.Fatalf("entries of round %d took %s", n, waited)
			}
		}
		for _, l := range lines {
			l.ws.Close()
		}
	})
}

// A disordered driver answers transactions in another order than it has made them.
type disordered struct {
	relay.Driver
	wait   func(time.Duration)
	mu     sync.Mutex // guards random
	random *mathrand.Rand
}

func (d *disordered) Update(ctx context.Context, f func(relay.Tx) error) error {
	err := d.Driver.Update(ctx, f)
	d.mu.Lock()
	after := time.Duration(d.random.IntN(4)) * time.Millisecond
	d.mu.Unlock()
	d.wait(after)
	return err
}

// TestManyWaitForTheWindow shows that an acknowledgement makes the relay look at as many of
// the sessions that wait as there is room for, and not at all of them.
func TestManyWaitForTheWindow(t *testing.T) {
	const sessions, messages = 180, 3
	var views *counting
	limits := roomy()
	limits.LivePerInitiator = sessions
	s := listen(t, setting{limits: limits, driver: func(d relay.Driver) relay.Driver {
		views = &counting{Driver: d}
		return views
	}})
	seller, buyer := s.person("seller"), s.person("buyer")
	for i := range sessions {
		id := fmt.Sprint("ses_", i)
		seller.meet(id, buyer)
		for _, m := range seller.chain(id, messages, wire.M{"signal": "x"}) {
			seller.do("append", wire.M{"entry": m.Value()})
		}
	}
	l := buyer.dial()
	before := views.n.Load()
	for range sessions * messages {
		v := l.push()
		for text(v, "push") != "entry" {
			v = l.push()
		}
		n, _ := v.Get("number")
		number, _ := n.Int()
		l.ack(text(v, "session_id"), uint64(number))
	}
	if looked := views.n.Load() - before; looked > 3*sessions*messages {
		t.Errorf("the relay looked %d times for %d entries", looked, sessions*messages)
	}
}

// A counting driver counts the transactions that read.
type counting struct {
	relay.Driver
	n atomic.Int64
}

func (c *counting) View(ctx context.Context, f func(relay.Reader) error) error {
	c.n.Add(1)
	return c.Driver.View(ctx, f)
}

// TestRevocation shows which websockets end with which token.
func TestRevocation(t *testing.T) {
	s := listen(t, setting{})
	seller := s.person("seller")
	first := seller.dial()
	old := seller.token
	seller.token = seller.register()
	second := seller.dial()

	// The connection that asks goes on with the new token, others do not.
	third := seller.dial()
	fresh := third.call("rotate", wire.M{})
	second.ended(websocket.ClosePolicyViolation)
	if v := third.call("sessions", wire.M{}); v.Canonical() != `{"sessions":[]}` {
		t.Errorf("after rotate: %v", v)
	}
	seller.refused("unauthenticated", "sessions", wire.M{})
	seller.token = text(fresh, "token")
	seller.do("sessions", wire.M{})

	// One token.
	seller.token = old
	seller.do("revoke", wire.M{"all": false})
	first.ended(websocket.ClosePolicyViolation)

	// All; who asks is answered first.
	if v := third.call("revoke", wire.M{"all": true}); v.Canonical() != "{}" {
		t.Errorf("revoke: %v", v)
	}
	third.ended(websocket.ClosePolicyViolation)
	seller.token = text(fresh, "token")
	seller.refused("unauthenticated", "sessions", wire.M{})
}

// ended reads until the relay closes, which it must do with a code.
func (l *line) ended(code int) {
	l.Helper()
	_ = l.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		if _, _, err := l.ws.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, code) {
				l.Errorf("%s: %v, want close %d", l.id, err, code)
			}
			return
		}
	}
}

// TestEvictedToken shows that a token that made room for others closes its websockets
// with the next ping.
func TestEvictedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, newPipes(), setting{limits: relay.Limits{Tokens: 1}})
		seller := s.person("seller")
		l := seller.dial()
		seller.register()
		go func() {
			for {
				if _, _, err := l.ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		time.Sleep(relay.DefaultPingEvery + 2*time.Second)
		synctest.Wait()
		if n := s.server.Connections(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestDrain shows that what is under way is answered when the relay stops, and what
// comes is refused.
func TestDrain(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := listen(t, setting{mail: relay.Options{Admit: func(context.Context, *relay.Before, *wire.Message) error {
		once.Do(func() { close(reached) })
		<-release
		return nil
	}}})
	seller, buyer := s.person("seller"), s.person("buyer")
	seller.meet("ses_1", buyer)
	l, waiting := seller.dial(), buyer.dial()
	done := make(chan wire.Value)
	m := seller.chain("ses_1", 1, wire.M{"signal": "hello"})[0]
	go func() { done <- l.call("append", wire.M{"entry": m.Value()}) }()
	<-reached
	stopped := make(chan error)
	go func() { stopped <- s.server.Shutdown(context.Background()) }()
	for {
		if v := waiting.push(); text(v, "push") == "closing" {
			if text(v, "retry_after") != "5" {
				t.Errorf("%v", v)
			}
			break
		}
	}
	buyer.refused("unavailable", "sessions", wire.M{})
	if v := waiting.call("sessions", wire.M{}); text(v, "code") != "unavailable" || text(v, "retry_after") != "5" {
		t.Errorf("%v", v)
	}
	if code, _ := s.send("", "GET", "/readyz", ""); code != 503 {
		t.Errorf("readyz: %d", code)
	}
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown did not wait: %v", err)
	default:
	}
	close(release)
	if v := <-done; text(v, "number") != "1" {
		t.Errorf("what was under way: %v", v)
	}
	var all sync.WaitGroup
	all.Go(func() { waiting.ended(websocket.CloseGoingAway) })
	l.ended(websocket.CloseGoingAway)
	all.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
