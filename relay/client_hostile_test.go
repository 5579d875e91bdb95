package relay_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// An attack is what a relay does to one agent in session ses_1, in which agent a says
// five messages and encloses one thing.
type attack struct {
	name   string
	victim string // a sends, b receives
	lie    func(*crime) *tamper
	act    func(*testing.T, *crime) // more than that, with a victim who runs
	kind   relay.MisconductKind
}

// A crime is an attack that is under way.
type crime struct {
	a, b   *endpoint
	victim *endpoint
	mu     sync.Mutex
	kept   []wire.Value // whatever the attack keeps
}

// keep remembers frames, and returns all there are.
func (c *crime) keep(v wire.Value) []wire.Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, v)
	return c.kept
}

// relayedSigned returns a message of an agent that the relay has no business with.
func relayedSigned(name string, session wire.SessionID, prev wire.Hash) wire.Value {
	key := keyOf(name)
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeSignal, ID: "msg_other", Session: session, Time: time.Now(), From: wire.DIDKey(key.Public()), PrevHash: prev, Body: encoded(wire.M{}),
	}, key)
	if err != nil {
		panic(err)
	}
	return m.Value()
}

func at(v wire.Value, path ...string) wire.Value {
	found, _ := v.At(path...)
	return found
}

func numberOf(frame wire.Value) int64 {
	n, _ := at(frame, "number").Int()
	return n
}

func withNumber(frame wire.Value, n int64) wire.Value { return frame.With("number", encoded(n)) }

func prevOf(frame wire.Value) wire.Hash {
	h, err := wire.ParseHash(at(frame, "entry", "prev_hash").Text())
	if err != nil {
		panic(err)
	}
	return h
}

// pushing makes a tamper of a change of one entry that is pushed, and read.
func pushing(n int64, change func(frame wire.Value) wire.Value) *tamper {
	return entries(func(frame wire.Value) []wire.Value {
		if numberOf(frame) == n {
			frame = change(frame)
		}
		return []wire.Value{frame}
	})
}

// entries makes a tamper of a change of the log.
func entries(change func(frame wire.Value) []wire.Value) *tamper {
	return &tamper{
		push: func(_ wire.AgentID, frame wire.Value) (texts []string) {
			for _, f := range change(frame) {
				texts = append(texts, f.Canonical())
			}
			return texts
		},
		answer: func(_ wire.AgentID, op string, _, answer wire.Value) []string {
			if op == "read" {
				var list []wire.Value
				for _, e := range at(answer, "entries").Elems() {
					list = append(list, change(e)...)
				}
				answer = answer.With("entries", encoded(append([]wire.Value{}, list...)))
			}
			return []string{answer.Canonical()}
		},
	}
}

// answering makes a tamper of a change of the answers to an operation.
func answering(name string, change func(request, answer wire.Value) wire.Value) *tamper {
	return &tamper{answer: func(_ wire.AgentID, op string, request, answer wire.Value) []string {
		if op == name {
			answer = change(request, answer)
		}
		return []string{answer.Canonical()}
	}}
}

// framing makes a tamper that says another thing in answer to an operation.
func framing(name string, frame func(ref string) []string) *tamper {
	return &tamper{frame: func(_ wire.AgentID, op, ref, answer string) []string {
		if op == name {
			return frame(ref)
		}
		return []string{answer}
	}}
}

func ignore[T any](T) {}

var attacks = []attack{
	{name: "alters a message", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			return f.With("entry", at(f, "entry").With("body", encoded(wire.M{"price": 1})))
		})
	}},
	{name: "alters a signature", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			return f.With("entry", at(f, "entry").With("signature", wire.Text(keyOf("c").Public().String())))
		})
	}},
	{name: "signs itself", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			e := at(f, "entry").Without("signature")
			sig, err := keyOf("relay").Sign([]byte(e.Canonical()))
			if err != nil {
				panic(err)
			}
			return f.With("entry", e.With("signature", wire.Text(sig.String())))
		})
	}},
	{name: "alters an enclosure", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(6, func(f wire.Value) wire.Value {
			return f.With("entry", at(f, "entry").With("kind", wire.Text("approval")))
		})
	}},
	{name: "shows what is no entry", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value { return f.With("entry", encoded(wire.M{})) })
	}},
	{name: "shows no entry", victim: "b", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value { return f.Without("entry") })
	}},
	{name: "drops an entry", victim: "b", kind: relay.Missing, lie: func(*crime) *tamper {
		return entries(func(f wire.Value) []wire.Value {
			if numberOf(f) == 2 {
				return nil
			}
			return []wire.Value{f}
		})
	}},
	{name: "drops an entry and counts anew", victim: "b", kind: relay.Missing, lie: func(*crime) *tamper {
		return entries(func(f wire.Value) []wire.Value {
			switch n := numberOf(f); {
			case n == 2:
				return nil
			case n > 2:
				return []wire.Value{withNumber(f, n-1)}
			}
			return []wire.Value{f}
		})
	}},
	{name: "shows entries beyond what there is", victim: "b", kind: relay.Missing, lie: func(*crime) *tamper {
		return &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			return []string{withNumber(f, 1<<50).Canonical()}
		}}
	}},
	{name: "skips an entry, which can be read", victim: "b", kind: relay.Reordered, lie: func(*crime) *tamper {
		return &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			if numberOf(f) == 3 {
				return nil
			}
			return []string{f.Canonical()}
		}}
	}},
	{name: "begins with a later entry", victim: "b", kind: relay.Reordered, lie: func(c *crime) *tamper {
		return &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			if kept := c.keep(f); len(kept) == 2 {
				return []string{kept[1].Canonical(), kept[0].Canonical()}
			} else if len(kept) < 2 {
				return nil
			}
			return []string{f.Canonical()}
		}}
	}},
	{name: "exchanges two entries and their numbers", victim: "b", kind: relay.Reordered, lie: func(c *crime) *tamper {
		t := &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			if n := numberOf(f); n < 2 {
				return []string{f.Canonical()}
			}
			if kept := c.keep(f); len(kept) == 2 {
				return []string{withNumber(kept[1], 2).Canonical(), withNumber(kept[0], 3).Canonical()}
			}
			return nil
		}}
		t.answer = func(_ wire.AgentID, op string, request, answer wire.Value) []string {
			if from, _ := at(request, "from").Int(); op == "read" && from == 3 {
				c.mu.Lock()
				answer = encoded(wire.M{"length": 3, "entries": []wire.Value{withNumber(c.kept[0], 3).Without("push")}})
				c.mu.Unlock()
			}
			return []string{answer.Canonical()}
		}
		return t
	}},
	{name: "shows another entry with the number", victim: "b", kind: relay.Forked, lie: func(*crime) *tamper {
		return &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			if numberOf(f) != 2 {
				return []string{f.Canonical()}
			}
			other := f.With("entry", relayedSigned("a", "ses_1", prevOf(f)))
			return []string{f.Canonical(), other.Canonical()}
		}}
	}},
	{name: "shows two messages behind one", victim: "b", kind: relay.Forked, lie: func(c *crime) *tamper {
		return entries(func(f wire.Value) []wire.Value {
			c.keep(f)
			if numberOf(f) == 3 {
				f = f.With("entry", relayedSigned("a", "ses_1", prevOf(c.kept[1])))
			}
			return []wire.Value{f}
		})
	}},
	{name: "shows a second beginning", victim: "b", kind: relay.Forked, lie: func(*crime) *tamper {
		return pushing(3, func(f wire.Value) wire.Value { return f.With("entry", relayedSigned("a", "ses_1", wire.Hash{})) })
	}},
	{name: "refuses because of another log", victim: "a", kind: relay.Forked, lie: func(*crime) *tamper {
		return framing("append", func(ref string) []string {
			return []string{`{"ref":` + ref + `,"error":{"code":"chain_conflict","message":"no","messages":5,"length":6,"tip":"` + wire.HashOf("another").String() + `"}}`}
		})
	}},
	{name: "refuses once because of a log that does not come", victim: "a", kind: relay.Forked, lie: func(c *crime) *tamper {
		return &tamper{frame: func(_ wire.AgentID, op, ref, answer string) []string {
			if op == "append" && len(c.keep(wire.Text(answer))) == 1 {
				return []string{`{"ref":` + ref + `,"error":{"code":"chain_conflict","message":"no","messages":4,"length":4,"tip":"` + wire.HashOf("another").String() + `"}}`}
			}
			return []string{answer}
		}}
	}},
	{name: "replays an entry of another session", victim: "b", kind: relay.Replayed, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value { return f.With("entry", relayedSigned("a", "ses_2", prevOf(f))) })
	}},
	{name: "replays a message", victim: "b", kind: relay.Replayed, lie: func(c *crime) *tamper {
		return entries(func(f wire.Value) []wire.Value {
			c.keep(f)
			if numberOf(f) == 3 {
				f = withNumber(c.kept[0], 3)
			}
			return []wire.Value{f}
		})
	}},
	{name: "replays an enclosure", victim: "b", kind: relay.Replayed, lie: func(*crime) *tamper {
		return entries(func(f wire.Value) []wire.Value {
			if numberOf(f) == 6 {
				return []wire.Value{f, withNumber(f, 7)}
			}
			return []wire.Value{f}
		})
	}},
	{name: "shows another entry in an own place", victim: "a", kind: relay.Withheld, lie: func(*crime) *tamper {
		return pushing(1, func(f wire.Value) wire.Value {
			return f.Without("own").With("entry", relayedSigned("b", "ses_1", wire.Hash{})).With("from", wire.Text(string(wire.DIDKey(keyOf("b").Public()))))
		})
	}},
	{name: "confirms an own entry that is not there", victim: "a", kind: relay.Withheld, lie: func(*crime) *tamper {
		t := answering("append", func(_, answer wire.Value) wire.Value { return answer.With("number", encoded(9)) })
		t.push = func(wire.AgentID, wire.Value) []string { return nil }
		return t
	}, act: func(t *testing.T, c *crime) { _, err := c.a.Session(t.Context(), "ses_1"); ignore(err) }},
	{name: "gives one number to two own entries", victim: "a", kind: relay.Withheld, lie: func(*crime) *tamper {
		t := answering("append", func(_, answer wire.Value) wire.Value { return answer.With("number", encoded(1)) })
		t.push = func(wire.AgentID, wire.Value) []string { return nil }
		return t
	}},
	{name: "says that an own entry has another hash", victim: "a", kind: relay.Altered, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			return f.With("own", at(f, "own").With("hash", encoded(wire.HashOf("another"))))
		})
	}},
	{name: "confirms an own entry with another hash", victim: "a", kind: relay.Altered, lie: func(*crime) *tamper {
		return answering("append", func(_, answer wire.Value) wire.Value { return answer.With("hash", encoded(wire.HashOf("another"))) })
	}},
	{name: "confirms one own entry for another", victim: "a", kind: relay.Altered, lie: func(c *crime) *tamper {
		return answering("append", func(_, answer wire.Value) wire.Value {
			return c.keep(answer)[0]
		})
	}},
	{name: "answers the wrong request", victim: "a", kind: relay.Altered, lie: func(c *crime) *tamper {
		return &tamper{frame: func(_ wire.AgentID, op, ref, answer string) []string {
			if op != "append" {
				return []string{answer}
			}
			kept := c.keep(encoded(wire.M{"ref": ref, "answer": answer}))
			if len(kept) != 2 {
				return nil
			}
			first, firstRef := at(kept[0], "answer").Text(), at(kept[0], "ref").Text()
			return []string{strings.Replace(first, firstRef, ref, 1), strings.Replace(answer, ref, firstRef, 1)}
		}}
	}},
	{name: "says that an own entry has another number", victim: "a", kind: relay.CursorLie, lie: func(*crime) *tamper {
		return answering("append", func(_, answer wire.Value) wire.Value {
			n, _ := at(answer, "number").Int()
			return answer.With("number", encoded(n+100))
		})
	}},
	{name: "says so when the entry has come", victim: "a", kind: relay.CursorLie, lie: func(c *crime) *tamper {
		return answering("append", func(_, answer wire.Value) wire.Value {
			n, _ := at(answer, "number").Int()
			c.a.receives("ses_1", int(n))
			return answer.With("number", encoded(n+100))
		})
	}},
	{name: "a log becomes shorter", victim: "b", kind: relay.CursorLie, lie: func(*crime) *tamper {
		return answering("session", func(_, answer wire.Value) wire.Value {
			return answer.With("length", encoded(3)).With("cursor", encoded(0))
		})
	}, act: askSession},
	{name: "a cursor is beyond the log", victim: "b", kind: relay.CursorLie, lie: func(*crime) *tamper {
		return answering("session", func(_, answer wire.Value) wire.Value { return answer.With("cursor", encoded(100)) })
	}, act: askSession},
	{name: "a cursor goes back", victim: "b", kind: relay.CursorLie, lie: func(c *crime) *tamper {
		return answering("session", func(_, answer wire.Value) wire.Value { return answer.With("cursor", encoded(0)) })
	}, act: func(t *testing.T, c *crime) {
		c.b.receives("ses_1", 6)
		for acked := false; !acked && t.Context().Err() == nil; { // until it has been moved
			_, err := c.b.Session(t.Context(), "ses_1")
			_, acked = errors.AsType[*relay.Misconduct](err)
		}
	}},
	{name: "a page says that the log is shorter", victim: "b", kind: relay.CursorLie, lie: func(*crime) *tamper {
		return answering("read", func(_, answer wire.Value) wire.Value { return answer.With("length", encoded(2)) })
	}, act: func(t *testing.T, c *crime) {
		c.b.receives("ses_1", 6)
		_, _, err := c.b.Read(t.Context(), "ses_1", 1, 2)
		ignore(err)
	}},
	{name: "does not know what it delivered", victim: "b", kind: relay.CursorLie, lie: func(*crime) *tamper {
		return framing("ack", func(ref string) []string {
			return []string{`{"ref":` + ref + `,"error":{"code":"bad_request","message":"the log is not that long"}}`}
		})
	}},
	{name: "refuses because of a shorter log", victim: "a", kind: relay.CursorLie, lie: func(c *crime) *tamper {
		return &tamper{frame: func(_ wire.AgentID, op, ref, answer string) []string {
			if op == "append" && len(c.keep(wire.Text(answer))) > 6 {
				return []string{`{"ref":` + ref + `,"error":{"code":"chain_conflict","message":"no","messages":1,"length":1,"tip":"` + wire.HashOf("another").String() + `"}}`}
			}
			return []string{answer}
		}}
	}, act: func(t *testing.T, c *crime) {
		c.a.receives("ses_1", 6)
		_, err := c.a.Append(t.Context(), c.a.message("ses_1", 6, c.a.delivered("ses_1")[5].Position.Tip.Hash))
		ignore(err)
	}},
	{name: "shows an entry under another name", victim: "b", kind: relay.Foreign, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			return f.With("from", wire.Text(string(wire.DIDKey(keyOf("c").Public()))))
		})
	}},
	{name: "shows an entry of a stranger", victim: "b", kind: relay.Foreign, lie: func(*crime) *tamper {
		return pushing(2, func(f wire.Value) wire.Value {
			return f.With("entry", relayedSigned("c", "ses_1", prevOf(f))).With("from", wire.Text(string(wire.DIDKey(keyOf("c").Public()))))
		})
	}},
	{name: "shows an entry of another as an own one", victim: "b", kind: relay.Foreign, lie: func(*crime) *tamper {
		return &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
			if numberOf(f) == 2 {
				e := at(f, "entry")
				f = f.Without("entry").With("own", encoded(wire.M{"id": at(e, "id"), "hash": e.Hash()}))
			}
			return []string{f.Canonical()}
		}}
	}},
}

func askSession(t *testing.T, c *crime) {
	c.b.receives("ses_1", 6)
	_, err := c.b.Session(t.Context(), "ses_1")
	ignore(err)
}

// only makes a tamper harm one agent, in session ses_1.
func (lie *tamper) only(victim wire.AgentID) *tamper {
	of := func(v wire.Value) bool {
		id := at(v, "session_id").Text()
		if e := at(v, "entry", "session_id"); id == "" {
			id = e.Text()
		}
		return id == "ses_1"
	}
	t := new(tamper)
	t.push = func(agent wire.AgentID, frame wire.Value) []string {
		if agent == victim && lie.push != nil && of(frame) {
			return lie.push(agent, frame)
		}
		return []string{frame.Canonical()}
	}
	var about sync.Map // ref: it is about ses_1
	t.answer = func(agent wire.AgentID, op string, request, answer wire.Value) []string {
		if agent == victim && of(request) {
			about.Store(at(request, "ref").Canonical(), true)
			if lie.answer != nil {
				return lie.answer(agent, op, request, answer)
			}
		}
		return []string{answer.Canonical()}
	}
	t.frame = func(agent wire.AgentID, op, ref, answer string) []string {
		if _, ok := about.LoadAndDelete(ref); ok && lie.frame != nil && agent == victim {
			return lie.frame(agent, op, ref, answer)
		}
		return []string{answer}
	}
	return t
}

// TestHostileRelay: a client finds out everything that a relay does but delay, says
// what it was, hands over nothing more of that session, and goes on with the others.
func TestHostileRelay(t *testing.T) {
	for _, test := range attacks {
		t.Run(test.name, func(t *testing.T) {
			noLeaks(t)
			c := new(crime)
			victim := wire.DIDKey(keyOf(test.victim).Public())
			s := startRelay(t, test.lie(c).only(victim))
			party := func(o *relay.ClientOptions) {
				o.Party = func(_ wire.SessionID, agent wire.AgentID) bool { return agent != wire.DIDKey(keyOf("c").Public()) }
			}
			c.a, c.b = newEndpoint(t, s.url, "a", party), newEndpoint(t, s.url, "b", party)
			c.victim = map[string]*endpoint{"a": c.a, "b": c.b}[test.victim]
			open(c.a, c.b, "ses_1")
			open(c.a, c.b, "ses_2")
			said := make(chan struct{})
			ctx, stop := context.WithCancel(t.Context())
			go func() {
				defer close(said)
				tip := wire.Hash{}
				for n := 1; n <= 5 && ctx.Err() == nil; n++ {
					m := c.a.message("ses_1", n, tip)
					if test.name == "answers the wrong request" {
						go func() { _, err := c.a.Enclose(ctx, c.a.enclosure("ses_1", 2)); ignore(err) }()
					}
					_, err := c.a.Append(ctx, m)
					ignore(err)
					tip = m.Hash()
				}
				_, err := c.a.Enclose(ctx, c.a.enclosure("ses_1", 1))
				ignore(err)
			}()
			if test.act != nil {
				<-said
				test.act(t, c)
			}
			c.victim.wait("the accusation", func() bool { return len(c.victim.accused) > 0 })
			stop()
			<-said
			m := c.victim.accusations()[0]
			if m.Kind != test.kind || m.Session != "ses_1" {
				t.Fatalf("it is %v, want %s in ses_1", m, test.kind)
			}
			for _, d := range c.victim.delivered("ses_1") {
				if d.Number > m.After.Number+1 { // one may have been under way
					t.Errorf("entry %d (%s) was handed over, after misconduct behind %d: %v", d.Number, d.ID(), m.After.Number, m)
				}
				if d.Message != nil && d.ID() == "msg_other" && m.Kind != relay.Withheld { // which of two came first is for the relay to say
					t.Errorf("entry %d, which is not of the log, was handed over", d.Number)
				}
			}
			c.a.say("ses_2", 1, 2, wire.Hash{})
			c.victim.wait("the other session", func() bool { return len(c.victim.got["ses_2"]) == 2 })
			if test.victim == "a" {
				if _, err := c.a.Append(t.Context(), c.a.message("ses_1", 77, wire.Hash{})); !errors.As(err, new(*relay.Misconduct)) {
					t.Errorf("Append to the session = %v", err)
				}
			}
			if len(c.victim.accusations()) != 1 {
				t.Errorf("it was told %d times", len(c.victim.accusations()))
			}
		})
	}
}

// TestHostileFrames: what is no frame ends the connection and is told; then the client
// connects again.
func TestHostileFrames(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	for _, test := range []struct{ name, frame string }{
		{"no JSON", "hello"},
		{"nothing", ""},
		{"two values", "{}{}"},
		{"a member twice", `{"push":"entry","push":"session"}`},
		{"no object", "[]"},
		{"neither push nor answer", "{}"},
		{"a push that is no text", `{"push":1}`},
		{"an entry without number", `{"push":"entry","session_id":"ses_1"}`},
		{"a number that is none", `{"push":"entry","session_id":"ses_1","number":-1}`},
		{"a session without state", `{"push":"session","session_id":"ses_1"}`},
		{"an invitation of nobody", `{"push":"invitation","session_id":"ses_1"}`},
		{"an answer to nothing", `{"ref":"4711","ok":{}}`},
		{"an answer to another's request", `{"ref":"abc","ok":{}}`},
		{"deep", deep},
		{"deep arrays", strings.Repeat("[", 1<<20)},
		{"huge", `{"push":"` + strings.Repeat("a", 5<<20) + `"}`},
		{"many values", `{"push":[` + strings.Repeat("1,", 1<<20) + `1]}`},
		{"not UTF-8", "{\"push\":\"\xff\"}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var once sync.Once
			s := startRelay(t, &tamper{push: func(agent wire.AgentID, f wire.Value) (texts []string) {
				if agent == wire.DIDKey(keyOf("b").Public()) {
					once.Do(func() { texts = append(texts, test.frame) })
				}
				return append(texts, f.Canonical())
			}})
			a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
			open(a, b, "ses_1")
			a.say("ses_1", 1, 3, wire.Hash{})
			b.wait("everything", func() bool { return len(b.got["ses_1"]) == 3 })
			b.wait("the accusation", func() bool { return len(b.accused) > 0 })
			if m := b.accusations()[0]; m.Kind != relay.Garbled || m.Session != "" {
				t.Errorf("it is %v", m)
			}
		})
	}
}

// TestSilentRelay: a relay that does not answer, or only late, is not accused; a call
// ends with its context, and goes on when the relay does.
func TestSilentRelay(t *testing.T) {
	var silent sync.Mutex
	n := 0
	s := startRelay(t, &tamper{frame: func(_ wire.AgentID, op, _, answer string) []string {
		silent.Lock()
		defer silent.Unlock()
		if n++; op == "append" && n < 8 {
			return nil
		}
		return []string{answer}
	}})
	impatient := func(o *relay.ClientOptions) { o.Timing.Call = 50 * time.Millisecond }
	a, b := newEndpoint(t, s.url, "a", impatient), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	a.wait("nothing", func() bool { return true })
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	m := a.message("ses_1", 1, wire.Hash{})
	if _, err := a.Append(ctx, m); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Append = %v", err)
	}
	if done, err := a.Append(t.Context(), m); err != nil || done.Number != 1 {
		t.Errorf("Append = %+v, %v", done, err)
	}
	a.receives("ses_1", 1)
	b.receives("ses_1", 1)
}
