package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

// randomAutomaton has states s0, s1, …, some of them ends.
func randomAutomaton(tb testing.TB, random *rand.Rand) *Automaton {
	a := &Automaton{Name: "random", Initial: "s0", Ends: map[State]End{}}
	n := 2 + random.IntN(7)
	for i := range n {
		s := State(fmt.Sprint("s", i))
		a.States = append(a.States, s)
		if random.IntN(4) == 0 {
			a.Ends[s] = Success
		}
	}
	for range random.IntN(3 * n) {
		t := Transition{
			From: a.States[random.IntN(n)], To: a.States[random.IntN(n)],
			By: []Role{Agent, Environment}[random.IntN(2)], On: Label([]string{"a", "b", "c"}[random.IntN(3)]),
		}
		if random.IntN(3) == 0 {
			t.When = Condition{{At: "/x", In: randomSet(tb, random)}}
		}
		if random.IntN(8) == 0 {
			t.If = "g"
		}
		if random.IntN(10) == 0 {
			t.To = Nowhere
		}
		a.Transitions = append(a.Transitions, t)
	}
	return a
}

// disguised returns an automaton that does the same: states renamed and in another
// order, one of them doubled, transitions of different moves in another order.
func disguised(random *rand.Rand, a *Automaton) *Automaton {
	b := &Automaton{Name: "other", Ends: map[State]End{}}
	twin := a.States[random.IntN(len(a.States))]
	name := func(s State, copy int) State {
		switch {
		case s == Nowhere:
			return s
		case s == twin:
			return State(fmt.Sprintf("twin %d", copy))
		}
		return "renamed " + s
	}
	b.Initial = name(a.Initial, 0)
	for _, i := range random.Perm(len(a.States)) {
		s := a.States[i]
		for copy := range 2 {
			if copy == 1 && s != twin {
				break
			}
			b.States = append(b.States, name(s, copy))
			if end := a.Ends[s]; end != "" {
				b.Ends[name(s, copy)] = end
			}
		}
	}
	groups := map[string][]Transition{}
	var keys []string
	for _, t := range a.Transitions {
		for copy := range 2 {
			if copy == 1 && t.From != twin {
				break
			}
			u := t
			u.From, u.To = name(t.From, copy), name(t.To, random.IntN(2))
			k := fmt.Sprintf("%q %q %q", u.From, u.By, u.On)
			if groups[k] == nil {
				keys = append(keys, k)
			}
			groups[k] = append(groups[k], u)
		}
	}
	for _, i := range random.Perm(len(keys)) {
		b.Transitions = append(b.Transitions, groups[keys[i]]...)
	}
	b.States = append(b.States, "island")
	b.Transitions = append(b.Transitions, Transition{From: "island", On: "a", By: Agent, To: b.Initial})
	return b
}

func compiled(tb testing.TB, a *Automaton) *Compiled {
	tb.Helper()
	c, err := Compile(a)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func digest(tb testing.TB, c *Compiled) wire.Hash {
	tb.Helper()
	h, err := c.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// follow runs random events through two automata and reports where they first differ
// in what they allow or where they end.
func differ(tb testing.TB, random *rand.Rand, a, b *Compiled) bool {
	docs := samples(tb)
	for range 40 {
		s, u := a.Initial(), b.Initial()
		for range 12 {
			if a.End(s) != b.End(u) {
				return true
			}
			m := Move{[]Role{Agent, Environment}[random.IntN(2)], Label([]string{"a", "b", "c"}[random.IntN(3)])}
			doc := value(tb, "{}")
			if x := docs[random.IntN(len(docs))]; x.Kind() != wire.Absent {
				doc = doc.With("x", x)
			}
			g := random.IntN(2) == 0
			step := func(c *Compiled, s int) int {
				d := c.Decision(s, m)
				if d == nil {
					return -1
				}
				return d.of(doc, func(Test) bool { return g })
			}
			s2, u2 := step(a, s), step(b, u)
			if (s2 < 0) != (u2 < 0) {
				return true
			}
			if s2 >= 0 {
				s, u = s2, u2
			}
		}
	}
	return false
}

// A digest is the same for whatever does the same, and another for what does not.
func TestDigest(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	others, told := 0, 0
	for range 150 {
		a := randomAutomaton(t, random)
		c := compiled(t, a)
		want := digest(t, c)
		if got := digest(t, compiled(t, disguised(random, a))); got != want {
			first, _ := c.Canonical()
			t.Fatalf("disguised, another digest: %+v\n%s", a, first)
		}
		b := randomAutomaton(t, random)
		if len(b.Transitions) > 0 && random.IntN(2) == 0 { // a with one target changed
			b = disguised(random, a)
			if i := random.IntN(len(b.Transitions)); len(b.Transitions) > 0 {
				b.Transitions[i].To = b.States[random.IntN(len(b.States))]
			}
		}
		d := compiled(t, b)
		same := digest(t, d) == want
		switch differs := differ(t, random, c, d); {
		case differs && same:
			t.Fatalf("one digest of two: %+v\n%+v", a, b)
		case differs:
			others++
			told++
		case !same:
			others++ // they may differ where the runs did not go
		}
	}
	if told < 50 {
		t.Errorf("only %d of %d that differ were found by runs", told, others)
	}
}

// What the digest is of.
func TestCanonical(t *testing.T) {
	a := &Automaton{
		Name: "door", Initial: "shut", States: []State{"shut", "open", "gone"}, Ends: map[State]End{"gone": Failure},
		Transitions: []Transition{
			{From: "shut", On: "push", By: Agent, When: Condition{{At: "/force", In: Above(3, true)}}, To: "open"},
			{From: "shut", On: "push", By: Agent, To: "shut"},
			{From: "open", On: "burn", By: Environment, To: "gone"},
		},
		Terms: &Terms{Timers: map[string]Timer{"dusk": {After: 1, In: "open"}}},
	}
	v, err := compiled(t, a).Canonical()
	const want = `{"concordia_protocol":"automaton/1","states":[` +
		`{"moves":[{"by":"agent","on":"push","then":{"at":"/force","cases":[["absent or null or false or true or object or number < 3 or array or string",0],["number >= 3",1]]}}]},` +
		`{"moves":[{"by":"environment","on":"burn","then":2}]},{"end":"failure"}],"terms":{"timers":{"dusk":{"after_ns":1,"in":1}}}}`
	if err != nil || v.Canonical() != want {
		t.Errorf("%v:\n%s, want\n%s", err, v, want)
	}
	a.Terms.Timers["dusk"] = Timer{After: 2, In: "open"}
	if w, _ := compiled(t, a).Canonical(); w.Equal(v) {
		t.Error("a timer is no part of it")
	}
}

// What is counted in a state tells it apart from others of which the same can be said,
// and parts of it are counted together.
func TestDigestOfParts(t *testing.T) {
	parts := func(part map[State]State, budgets map[State]Budget) wire.Hash {
		return digest(t, compiled(t, &Automaton{
			Name: "parts", Initial: "a", States: []State{"a", "b", "c"}, Part: part, Budgets: budgets,
			Transitions: []Transition{
				{From: "a", On: "x", By: Agent, To: "b"}, {From: "b", On: "x", By: Agent, To: "c"}, {From: "c", On: "x", By: Agent, To: "a"},
			},
		}))
	}
	one := Budget{Calls: 1}
	seen := map[wire.Hash]string{}
	for name, h := range map[string]wire.Hash{
		"nothing counts":           parts(nil, nil),
		"in one":                   parts(nil, map[State]Budget{"a": one}),
		"in each by itself":        parts(nil, map[State]Budget{"a": one, "b": one, "c": one}),
		"in two together":          parts(map[State]State{"b": "a"}, map[State]Budget{"a": one}),
		"in all together":          parts(map[State]State{"b": "a", "c": "a"}, map[State]Budget{"a": one}),
		"in two together, and one": parts(map[State]State{"b": "a"}, map[State]Budget{"a": one, "c": one}),
	} {
		if other, twice := seen[h]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[h] = name
	}
	if parts(map[State]State{"b": "a"}, nil) != parts(nil, nil) {
		t.Error("parts mean something where nothing counts")
	}
	if parts(map[State]State{"a": "b"}, map[State]Budget{"b": one}) != parts(map[State]State{"b": "a"}, map[State]Budget{"a": one}) {
		t.Error("which of two is part of the other means something")
	}
}

func TestCompileRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*Automaton){
		"a state twice":      func(a *Automaton) { a.States = append(a.States, "s0") },
		"a state of no name": func(a *Automaton) { a.States = append(a.States, "") },
		"no initial state":   func(a *Automaton) { a.Initial = "x" },
		"an unknown target":  func(a *Automaton) { a.Transitions[0].To = "x" },
		"an unknown source":  func(a *Automaton) { a.Transitions[0].From = "x" },
		"dependent pointers": func(a *Automaton) { a.Transitions[0].When = Condition{{At: "/a"}, {At: "/a/b"}} },
	} {
		a := &Automaton{Name: "a", Initial: "s0", States: []State{"s0"}, Transitions: []Transition{{From: "s0", On: "x", By: Agent, To: "s0"}}}
		spoil(a)
		if _, err := Compile(a); err == nil {
			t.Errorf("compiled with %s", what)
		}
	}
}
