package relay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// appends returns a function that appends a value as an agent.
func (w *world) appends(as string, v wire.Value) func() error {
	return func() error { _, err := w.Append(w.ctx, w.agent(as), v); return err }
}

func content(t *testing.T, s string) wire.Value {
	t.Helper()
	v, err := wire.Encode(wire.M{"text": s})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAppendIsRefused(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob")
	w.active("other", "alice", "bob")
	w.reserve("pending", "alice", "bob")
	w.reserve("declined", "alice", "bob", "carol")
	w.join("declined", "carol")
	if err := w.Decline(w.ctx, "bob", "declined"); err != nil {
		t.Fatal(err)
	}
	w.say("s", "alice")
	first := w.say("s", "bob")
	w.pass(5 * time.Minute)
	message := func(edit func(*wire.Envelope)) wire.Value {
		e := w.envelope("s", "alice")
		edit(&e)
		return w.sign(e).Value()
	}
	enclosure := w.enclosure("s", "alice", "e1", content(t, "draft")).Value()
	for _, tt := range []struct {
		name string
		as   string
		code relay.Code
		rule *wire.Rule
		v    wire.Value
	}{
		{"no message", "alice", relay.CodeRejected, wire.RuleEnvelope, content(t, "x")},
		{"no object", "alice", relay.CodeRejected, wire.RuleEnvelope, wire.Text("x")},
		{"nothing", "alice", relay.CodeRejected, wire.RuleEnvelope, wire.Value{}},
		{"another's message", "bob", relay.CodeRejected, wire.RuleUnknownKey, message(func(*wire.Envelope) {})},
		{"bytes that were not signed", "alice", relay.CodeRejected, wire.RuleSignature, message(func(*wire.Envelope) {}).With("x", wire.Text("y"))},
		{"no such session", "alice", relay.CodeNotFound, nil, message(func(e *wire.Envelope) { e.Session = "none" })},
		{"another session's tip", "alice", relay.CodeChainConflict, wire.RulePrevHash, message(func(e *wire.Envelope) { e.Session = "other" })},
		{"an old tip", "alice", relay.CodeChainConflict, wire.RulePrevHash, message(func(e *wire.Envelope) { e.PrevHash = first.PrevHash })},
		{"no tip", "alice", relay.CodeChainConflict, wire.RulePrevHash, message(func(e *wire.Envelope) { e.PrevHash = wire.Hash{} })},
		{"121 seconds ahead", "alice", relay.CodeRejected, wire.RuleFuture, message(func(e *wire.Envelope) { e.Time = e.Time.Add(121 * time.Second) })},
		{"121 seconds behind", "alice", relay.CodeRejected, wire.RuleBackdated, message(func(e *wire.Envelope) { e.Time = e.Time.Add(-121 * time.Second) })},
		{"a ttl that has passed", "alice", relay.CodeRejected, wire.RuleMessageTTL, message(func(e *wire.Envelope) { e.Time, e.TTL = e.Time.Add(-time.Minute), time.Minute })},
		{"an id that is in use", "alice", relay.CodeIDConflict, nil, message(func(e *wire.Envelope) { e.ID = first.ID })},
		{"nobody has joined", "alice", relay.CodeNotActive, nil, message(func(e *wire.Envelope) { e.Session, e.PrevHash = "pending", wire.Hash{} })},
		{"not joined", "bob", relay.CodeNotFound, nil, message(func(e *wire.Envelope) { e.Session, e.From, e.PrevHash = "pending", "bob", wire.Hash{} })},
		{"declined", "bob", relay.CodeNotFound, nil, message(func(e *wire.Envelope) { e.Session, e.From, e.PrevHash = "declined", "bob", wire.Hash{} })},
		{"another's enclosure", "bob", relay.CodeRejected, wire.RuleUnknownKey, enclosure},
		{"an enclosure with an id that is in use", "alice", relay.CodeIDConflict, nil, w.enclosure("s", "alice", string(first.ID), content(t, "x")).Value()},
		{"an enclosure that was not signed", "alice", relay.CodeRejected, relay.RuleEnclosureSignature, enclosure.With("kind", wire.Text("approval"))},
		{"an enclosure without kind", "alice", relay.CodeRejected, relay.RuleEnclosure, enclosure.Without("kind")},
		{"an enclosure that nobody reads", "alice", relay.CodeNotActive, nil, w.enclosure("pending", "alice", "e1", content(t, "x")).Value()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.TB = t
			e := w.refuses(tt.code, tt.name, w.appends(tt.as, tt.v))
			if tt.rule != nil && !errors.Is(e, tt.rule) {
				t.Errorf("refused for %v, want %v", e.Violation, tt.rule)
			}
			if tt.code == relay.CodeChainConflict {
				want := uint64(2)
				if strings.HasPrefix(tt.name, "another") {
					want = 0
				}
				if e.Tip == nil || e.Tip.Tip != w.tips[map[bool]wire.SessionID{true: "s", false: "other"}[want == 2]] || e.Tip.Len != int(want) || e.Length != want {
					t.Errorf("told %v of %d", e.Tip, e.Length)
				}
			}
		})
	}
	w.TB = t
	for name, edit := range map[string]func(*wire.Envelope){
		"120 seconds ahead":  func(e *wire.Envelope) { e.Time = e.Time.Add(120 * time.Second) },
		"120 seconds behind": func(e *wire.Envelope) { e.Time = e.Time.Add(-120 * time.Second) },
		"a ttl that has not": func(e *wire.Envelope) { e.Time, e.TTL = e.Time.Add(-time.Minute), 61*time.Second },
	} {
		e := w.envelope("other", "alice")
		w.tips["other"] = wire.Hash{}
		w.logs["fresh "+e.Session] = true
		session := wire.SessionID("fresh-" + string(e.ID))
		w.active(session, "alice", "bob")
		e.Session = session
		edit(&e)
		if _, err := w.send(w.sign(e)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The same entry has the same answer: at once, after others, after the end, reopened.
func TestAppendAgain(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob")
	m := w.sign(w.envelope("s", "alice"))
	done, err := w.send(m)
	if err != nil || done != (relay.Appended{Number: 1, Hash: m.Hash()}) {
		t.Fatalf("Append = %v, %v", done, err)
	}
	e := w.enclosure("s", "bob", "e", content(t, "draft"))
	enclosed, err := w.enclose(e)
	if err != nil || enclosed != (relay.Appended{Number: 2, Hash: e.Hash()}) {
		t.Fatalf("Append = %v, %v", enclosed, err)
	}
	again := func(when string) {
		t.Helper()
		w.quiet(when, func() error {
			got, err := w.Append(w.ctx, w.agent("alice"), m.Value())
			if got != done {
				t.Errorf("%s: %v, want %v", when, got, done)
			}
			return err
		})
		w.quiet(when, func() error {
			got, err := w.enclose(e)
			if got != enclosed {
				t.Errorf("%s: %v, want %v", when, got, enclosed)
			}
			return err
		})
	}
	again("at once")
	w.say("s", "bob")
	w.say("s", "alice")
	again("after others")
	w.pass(time.Hour)
	again("when its time is no longer admissible")
	if err := w.Close(w.ctx, "bob", "s"); err != nil {
		t.Fatal(err)
	}
	again("after the end")
	w.open()
	again("reopened")

	// An enclosure has no place in the chain, but its id is one of the session's.
	w.active("s2", "alice", "bob")
	if _, err := w.enclose(w.enclosure("s2", "alice", "x", content(t, "1"))); err != nil {
		t.Fatal(err)
	}
	w.refuses(relay.CodeIDConflict, "the id with other content", w.appends("alice", w.enclosure("s2", "alice", "x", content(t, "2")).Value()))
	w.refuses(relay.CodeIDConflict, "the id of another", w.appends("bob", w.enclosure("s2", "bob", "x", content(t, "1")).Value()))
	env := w.envelope("s2", "alice")
	env.ID = "x"
	w.refuses(relay.CodeIDConflict, "the id for a message", w.appends("alice", w.sign(env).Value()))
	w.say("s2", "alice")
}

func (w *world) read(name string, session wire.SessionID, from uint64, most, size int) (list []relay.UnverifiedEntry) {
	w.Helper()
	list, err := w.Read(w.ctx, wire.AgentID(name), session, from, most, size)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func TestRead(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.reserve("s", "alice", "bob", "carol")
	w.join("s", "bob")
	var want []string
	for i := range 6 {
		w.pass(time.Second + 3)
		from := []string{"alice", "bob"}[i%2]
		if i == 3 {
			e := w.enclosure("s", from, "e", content(t, strings.Repeat("x", 2000)))
			if _, err := w.enclose(e); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%d e %s %s %s", i+1, from, w.clock(), e.Value()))
			continue
		}
		m := w.say("s", from)
		want = append(want, fmt.Sprintf("%d m %s %s %s", i+1, from, w.clock(), m.Value()))
	}
	w.active("s2", "alice", "bob")
	w.join("s", "carol") // late: it reads from 1
	for _, name := range []string{"alice", "bob", "carol"} {
		var got []string
		for _, e := range w.read(name, "s", 1, 100, 1<<20) {
			got = append(got, fmt.Sprintf("%d %c %s %s %s", e.Number, e.Kind, e.Sender, e.Appended, e.Text))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s reads\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	sizes := 0
	for _, e := range w.read("bob", "s", 1, 2, 1<<20) {
		sizes += len(e.Text)
	}
	for _, tt := range []struct {
		from       uint64
		most, size int
		first, n   uint64
	}{
		{0, 100, 1 << 20, 1, 6}, {3, 100, 1 << 20, 3, 4}, {6, 100, 1 << 20, 6, 1}, {7, 100, 1 << 20, 0, 0}, {1 << 63, 100, 1 << 20, 0, 0}, {^uint64(0), 1, 1, 0, 0},
		{1, 2, 1 << 20, 1, 2}, {1, 1, 1 << 20, 1, 1}, {1, 0, 1 << 20, 0, 0}, {1, -1, 1 << 20, 0, 0},
		{1, 100, sizes, 1, 2}, {1, 100, sizes - 1, 1, 1}, {1, 100, 0, 1, 1}, {1, 100, -1, 1, 1}, {4, 100, 1, 4, 1},
	} {
		list := w.read("bob", "s", tt.from, tt.most, tt.size)
		if uint64(len(list)) != tt.n || tt.n > 0 && list[0].Number != tt.first {
			t.Errorf("%d from %d in %d bytes: %d entries, want %d from %d", tt.most, tt.from, tt.size, len(list), tt.n, tt.first)
		}
	}
}

func TestAck(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob", "carol")
	undelivered := func(name string, of ...string) (n uint64) {
		return number(w.dump()["u"+strings.Join(append([]string{name}, of...), "\x00")])
	}
	want := func(when string, all, ofAlice, ofBob uint64) {
		t.Helper()
		if a, b, c := undelivered("carol"), undelivered("carol", "alice"), undelivered("carol", "bob"); a != all || b != ofAlice || c != ofBob {
			t.Errorf("%s: %d undelivered, %d of alice, %d of bob; want %d, %d, %d", when, a, b, c, all, ofAlice, ofBob)
		}
	}
	for _, from := range []string{"alice", "bob", "carol", "alice", "alice", "bob", "carol", "bob"} {
		w.say("s", from)
	}
	want("unread", 6, 3, 3)
	ack := func(n uint64) {
		t.Helper()
		if err := w.Ack(w.ctx, "carol", "s", n); err != nil {
			t.Fatal(err)
		}
	}
	ack(1)
	want("after 1", 5, 2, 3)
	ack(4) // from the front and from the end
	want("after 4", 3, 1, 2)
	for _, n := range []uint64{4, 3, 1, 0} {
		w.quiet(fmt.Sprint("back to ", n), func() error { return w.Ack(w.ctx, "carol", "s", n) })
	}
	ack(7)
	want("after 7", 1, 0, 1)
	w.refuses(relay.CodeBadRequest, "beyond the log", func() error { return w.Ack(w.ctx, "carol", "s", 9) })
	w.refuses(relay.CodeBadRequest, "far beyond the log", func() error { return w.Ack(w.ctx, "carol", "s", ^uint64(0)) })
	ack(8)
	want("after all", 0, 0, 0)
	if info := w.session("carol", "s"); info.Cursor != 8 || info.Length != 8 {
		t.Errorf("%+v", info)
	}
	if info := w.session("bob", "s"); info.Cursor != 0 {
		t.Errorf("another's cursor: %d", info.Cursor)
	}
}

// What was there when an agent joined does not count against those who wrote it, nor
// against others.
func TestLateJoiner(t *testing.T) {
	w := newWorld(t, relay.Limits{Undelivered: 3, UndeliveredSender: 2})
	w.reserve("s", "alice", "bob", "carol")
	w.join("s", "bob")
	for range 5 {
		w.say("s", "alice")
		w.say("s", "bob")
		if w.Ack(w.ctx, "alice", "s", 100) == nil || w.Ack(w.ctx, "alice", "s", w.session("alice", "s").Length) != nil ||
			w.Ack(w.ctx, "bob", "s", w.session("bob", "s").Length) != nil {
			t.Fatal("ack")
		}
	}
	w.join("s", "carol")
	undelivered := func() string {
		d := w.dump()
		return fmt.Sprint(number(d["ucarol"]), number(d["ucarol\x00alice"]), number(d["ucarol\x00bob"]))
	}
	if got := undelivered(); got != "0 0 0" {
		t.Errorf("after joining: %s", got)
	}
	w.say("s", "alice") // 11
	w.say("s", "bob")   // 12
	w.say("s", "bob")   // 13
	if got := undelivered(); got != "3 1 2" {
		t.Errorf("after three: %s", got)
	}
	e := w.refuses(relay.CodeQuota, "a fourth", func() error { _, err := w.send(w.sign(w.envelope("s", "alice"))); return err })
	if e.Limit != "undelivered_per_mailbox" {
		t.Errorf("limit %s", e.Limit)
	}
	for n, want := range map[uint64]string{7: "3 1 2", 10: "3 1 2"} {
		if err := w.Ack(w.ctx, "carol", "s", n); err != nil && n == 10 {
			t.Fatal(err)
		}
		if got := undelivered(); got != want {
			t.Errorf("after %d: %s", n, got)
		}
	}
	for n, want := range []string{"2 0 2", "1 0 1", "0 0 0"} {
		if err := w.Ack(w.ctx, "carol", "s", uint64(11+n)); err != nil {
			t.Fatal(err)
		}
		if got := undelivered(); got != want {
			t.Errorf("after %d: %s, want %s", 11+n, got, want)
		}
	}
}

// One sender's unread mail keeps nobody else out: not the same agents in another
// session, and not another sender here.
func TestShares(t *testing.T) {
	w := newWorld(t, relay.Limits{Undelivered: 10, UndeliveredSender: 3})
	w.active("s", "mallory", "alice", "bob")
	w.active("s2", "mallory", "alice")
	for i := range 3 {
		w.say([]wire.SessionID{"s", "s2", "s"}[i], "mallory")
	}
	for _, session := range []wire.SessionID{"s", "s2"} { // all sessions together
		e := w.refuses(relay.CodeQuota, "a fourth", func() error { _, err := w.send(w.sign(w.envelope(session, "mallory"))); return err })
		if e.Limit != "undelivered_per_sender" {
			t.Errorf("limit %s", e.Limit)
		}
	}
	w.say("s", "bob")
	w.say("s2", "alice")
	if err := w.Ack(w.ctx, "alice", "s2", 2); err != nil {
		t.Fatal(err)
	}
	w.say("s2", "mallory") // bob's unread mail is no matter here
	w.refuses(relay.CodeQuota, "bob has not read", func() error { _, err := w.send(w.sign(w.envelope("s", "mallory"))); return err })
}
