package protocol

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// within fails a test that takes far longer than it should: what grows with the square
// of a size takes minutes here.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("it takes longer than %s", limit)
	}
}

func TestManyRulesAboutOnePlace(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	within(t, 30*time.Second, func() {
		var rules []Condition
		for i := range 2000 {
			rules = append(rules, Condition{{At: "/k", In: Values(wire.Text(fmt.Sprint("x", i)))}})
		}
		d, err := Decide(rules...)
		if err != nil {
			t.Error(err)
			return
		}
		doc, err := wire.Encode(wire.M{"k": "x1321"})
		if err != nil {
			t.Error(err)
			return
		}
		if got := d.of(doc, nil); got != 1321 {
			t.Errorf("the rule is %d", got)
		}
		for i := range 6000 {
			rules = append(rules, Condition{{At: "/k", In: Values(wire.Text(fmt.Sprint("y", i)))}})
		}
		if _, err := Decide(rules...); err == nil {
			t.Error("thousands of rules are taken")
		}
	})
}

func TestManyRulesAboutManyPlaces(t *testing.T) {
	var rules []Condition
	for i := range 200 {
		rules = append(rules, Condition{{At: Pointer(fmt.Sprintf("/k%03d", i)), In: Values(wire.Text("x"))}})
	}
	d, err := Decide(rules...)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.of(value(t, `{"k007":"y","k100":"x","k101":"x"}`), nil); got != 100 {
		t.Errorf("the rule is %d", got)
	}
}

func TestConditionOnTheDocument(t *testing.T) {
	d, err := Decide(Condition{{At: "", In: one(value(t, "{}"))}})
	if err != nil {
		t.Fatal(err)
	}
	if d.of(value(t, `{"a":1}`), nil) != 0 || d.of(value(t, "[]"), nil) != -1 {
		t.Error("a condition on the whole document does not decide")
	}
}

func TestLongProtocolHasADigest(t *testing.T) {
	within(t, time.Minute, func() {
		a := &Automaton{Name: "long", Initial: "0", Ends: map[State]End{"20000": Success}}
		for i := range 20001 {
			a.States = append(a.States, State(fmt.Sprint(i)))
			if i < 20000 {
				a.Transitions = append(a.Transitions, Transition{From: State(fmt.Sprint(i)), On: "a", By: Agent, To: State(fmt.Sprint(i + 1))})
			}
		}
		if _, n := compiled(t, a).minimize(); n != 20001 {
			t.Errorf("of 20001 states %d are told apart", n)
		}
	})
}

// TestMinimizeAsMoore compares the blocks with those of the simple way: all states are
// compared until nothing changes.
func TestMinimizeAsMoore(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for range 2000 {
		c := compiled(t, randomAutomaton(t, random))
		got, n := c.minimize()
		block := make([]int, c.Len())
		for s, r := range c.Reachable() {
			if block[s] = -1; r.Is {
				block[s] = len(c.End(s))
			}
		}
		for m := 0; ; {
			known, next := map[string]int{}, make([]int, len(block))
			for s := range block {
				if next[s] = -1; block[s] < 0 {
					continue
				}
				key := fmt.Sprint(block[s], c.signature(s, block))
				if _, ok := known[key]; !ok {
					known[key] = len(known)
				}
				next[s] = known[key]
			}
			if block = next; len(known) == m {
				break
			}
			m = len(known)
		}
		number := map[[2]int]bool{}
		most := 0
		for s := range block {
			number[[2]int{got[s], block[s]}] = true
			most = max(most, block[s]+1)
		}
		delete(number, [2]int{-1, -1})
		if n != most || len(number) != n {
			t.Fatalf("%d blocks, and by comparison %d: %v %v", n, most, got, block)
		}
	}
}

func TestDigestTellsWhatMonitorsTell(t *testing.T) {
	// Of each pair, one lets an event through that the other refuses, or counts it as a
	// strike.
	pass := &Terms{Unrecognized: Pass}
	one := func(moves ...Transition) *Automaton {
		return &Automaton{Name: "test", Initial: "a", States: []State{"a", "b"}, Terms: pass, Transitions: append([]Transition{{From: "a", On: "x", By: Agent, To: "b"}}, moves...)}
	}
	refuse := one(Transition{From: "a", On: "call:pay", By: Agent, To: Nowhere})
	if digest(t, compiled(t, one())) == digest(t, compiled(t, refuse)) {
		t.Error("what is refused and what passes have one digest")
	}
	island := one(Transition{From: "c", On: "call:pay", By: Agent, To: "a"})
	island.States = append(island.States, "c")
	if digest(t, compiled(t, one())) != digest(t, compiled(t, island)) {
		t.Error("a state that cannot be reached changes the digest")
	}
	for _, a := range []*Automaton{one(), island} {
		if v := monitor(t, a, MonitorOptions{}).Step(act("!call:pay")); v.Kind != Ok {
			t.Errorf("with the digest of what passes, it is %s", v.Kind)
		}
	}
	waits := []Transition{{From: "b", On: "ret:t:ok", By: Environment, To: "a"}, {From: "b", On: "call:r", By: Agent, To: "b"}}
	step := one(waits...)
	step.Part = map[State]State{"b": "a"}
	if digest(t, compiled(t, one(waits...))) == digest(t, compiled(t, step)) {
		t.Error("a state that waits has the digest of one that does not")
	}
}

func TestDigestOfEqualTerms(t *testing.T) {
	with := func(terms *Terms) *Compiled {
		return compiled(t, &Automaton{Name: "test", Initial: "a", States: []State{"a"}, Terms: terms})
	}
	first := &Terms{
		Tools:     map[string]Tool{"t": {Approval: "x"}},
		Approvals: map[string]Approval{"x": {By: []string{"b", "a"}, Bind: []string{"state", "instance", "state"}}},
		Budget:    Budget{Money: map[string]string{"EUR": "010.50", "USD": "0.0"}}, Reserve: Budget{Calls: 1}, ReserveFor: []string{"t", "r"},
		Instance: &Instance{Key: "/id", Scope: []string{"t", "r", "t"}}, Unrecognized: Block,
		Invariants: []Invariant{{AtMost: &AtMost{Label: "call:t", N: 1, Per: "instance"}}},
	}
	second := &Terms{
		Tools:     map[string]Tool{"t": {Approval: "x", Effect: Writes}},
		Approvals: map[string]Approval{"x": {By: []string{"a", "b", "b"}, Bind: []string{"instance", "state"}, Uses: 1}},
		Budget:    Budget{Money: map[string]string{"EUR": "10.5", "USD": "0"}}, Reserve: Budget{Calls: 1}, ReserveFor: []string{"r", "t"},
		Instance:   &Instance{Key: "/id", Scope: []string{"r", "t"}},
		Invariants: []Invariant{{AtMost: &AtMost{Label: "call:t", N: 1}}},
	}
	if digest(t, with(first)) != digest(t, with(second)) {
		t.Error("terms that say the same have two digests")
	}
	if first.Approvals["x"].By[0] != "b" {
		t.Error("making a digest changes the automaton")
	}
}

func TestOneGrantIsForOneConversation(t *testing.T) {
	a := &Automaton{
		Name: "two", Initial: "a", States: []State{"a", "own", "all", "paid", "sent"}, Ends: map[State]End{"paid": Success, "sent": Success},
		Transitions: []Transition{
			{From: "a", On: "ask:x", By: Agent, When: Condition{{At: "/tool", In: Values(wire.Text("pay"))}}, To: "own"},
			{From: "a", On: "ask:x", By: Agent, To: "all"},
			{From: "own", On: "grant:x", By: Environment, To: "paid"},
			{From: "all", On: "grant:x", By: Environment, To: "sent"},
		},
		Terms: &Terms{Instance: &Instance{Key: "/arguments/id", Scope: []string{"pay"}}},
	}
	m, err := NewMonitors(compiled(t, a), MonitorOptions{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(doc string) Event { return Event{Move: Move{Agent, "ask:x"}, Doc: value(t, doc)} }
	for _, e := range []Event{ask(`{"tool":"pay","arguments":{"id":"1"}}`), ask(`{"tool":"send"}`)} {
		if v := m.Step(e); v.Kind != Ok {
			t.Fatal(v)
		}
	}
	if v := m.Step(act("?grant:x")); v.Kind != Unrecognized {
		t.Errorf("a grant that says not whose it is, is %s, and there are %s and %s", v.Kind, m.Common().State(), m.Instance(`"1"`).State())
	}
	e := act("?grant:x")
	e.Instance = `"1"`
	if v := m.Step(e); v.Kind != Ok || m.Common().State() != "all" {
		t.Errorf("the grant of an instance is %v, and the common conversation in %s", v, m.Common().State())
	}
}

func TestLateTimerFiresNow(t *testing.T) {
	a := chainOf("!go", "!on")
	a.States = append(a.States, "late", "later")
	s := a.States
	a.Transitions = append(a.Transitions,
		Transition{From: s[1], On: "timer:all", By: Clock, To: "late"},
		Transition{From: "late", On: "timer:here", By: Clock, To: "later"})
	a.Terms = &Terms{Timers: map[string]Timer{"all": {After: time.Second}, "here": {After: time.Minute, In: "late"}}}
	a.Transitions = append(a.Transitions, Transition{From: s[0], On: "wait", By: Agent, To: s[0]})
	m := monitor(t, a, MonitorOptions{})
	for i, move := range []string{"!wait", "!go"} {
		e := act(move)
		e.Time = noon.Add(time.Duration(i) * time.Hour)
		if v := m.Step(e); v.Kind != Ok {
			t.Fatal(v)
		}
	}
	m.Advance(noon.Add(time.Hour + 59*time.Second))
	if m.State() != "late" {
		t.Errorf("after a timer that was due before, the state is %s", m.State())
	}
}

func TestSnapshotOfDeepAndLargeValues(t *testing.T) {
	a := chainOf("!a", "!b")
	a.Terms = &Terms{Captures: map[string]Capture{"deep": {On: "a", At: "/x"}, "large": {On: "b", At: "/x"}}}
	m := monitor(t, a, MonitorOptions{})
	deep := act("!a")
	deep.Doc = value(t, `{"x":`+strings.Repeat("[", 78)+strings.Repeat("]", 78)+"}")
	large := act("!b")
	large.Doc = value(t, `{"x":"`+strings.Repeat("x", 1<<18)+`"}`)
	for _, e := range []Event{deep, large} {
		if v := m.Step(e); v.Kind != Ok {
			t.Fatal(v)
		}
		s, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Canonical()) > 1<<12 {
			t.Error("a snapshot has everything that was captured, however large")
		}
		if _, err := Restore(m.Compiled(), MonitorOptions{}, s); err != nil {
			t.Error(err)
		}
	}
}

func TestUnlockHopesForTheBest(t *testing.T) {
	a := chainOf("!call:a", "?ret:a:ok", "!call:b")
	for _, outcome := range []Label{"ret:a:cancelled", "ret:a:error"} {
		a.Transitions = append(a.Transitions, Transition{From: a.States[1], On: outcome, By: Environment, To: a.States[2]})
	}
	m := monitor(t, a, MonitorOptions{})
	m.Step(act("!call:a"))
	v := m.Step(act("!call:b"))
	if r := v.Refusal; r == nil || len(r.Unlock) != 2 || r.Unlock[0].On != "ret:a:ok" {
		t.Errorf("got %v", v)
	}
}
