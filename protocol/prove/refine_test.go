package prove_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	"github.com/concordia-node/concordia/wire"
)

func TestRefines(t *testing.T) {
	big, huge := protocol.Condition{{At: "/x", In: protocol.Above(10, true)}}, protocol.Condition{{At: "/x", In: protocol.Above(100, true)}}
	within := protocol.Condition{{At: "/x/y", In: protocol.Above(0, true)}}
	for _, test := range []struct {
		name          string
		child, parent string
		when          []protocol.Condition
		clause        prove.Clause // "": it refines
		want          string
	}{
		{name: "itself", child: refund, parent: refund},
		{name: "less output", child: "a !x done", parent: "a !x done\n a !y done"},
		{name: "more output", child: "a !x done\n a !y done", parent: "a !x done", clause: prove.Outputs, want: "!y"},
		{name: "output later", child: "a !x b\n b !x b\n b !y done", parent: "a !x b\n b !x c\n c !x c\n c !x done\n b !y done", clause: prove.Outputs, want: "!x, !x, !y"},
		{name: "a narrower condition", child: "a !x done 1", parent: "a !x done 0", when: []protocol.Condition{big, huge}},
		{name: "a wider condition", child: "a !x done 0", parent: "a !x done 1", when: []protocol.Condition{big, huge}, clause: prove.Outputs, want: `!x {"x":10}`},
		{name: "conditions that exclude each other", child: "a !x done 0", parent: "a !x b 1\n a !x done\n b !y done", when: []protocol.Condition{big, within}},
		{name: "inputs that exclude each other", child: "a ?x done 0", parent: "a ?x done 1", when: []protocol.Condition{{{At: "/x", In: protocol.Below(10, true).Complement()}}, within}},
		{name: "less input", child: "a ?x done", parent: "a ?x done\n a ?y failed", clause: prove.Inputs, want: "?y (refused)"},
		{name: "results told apart otherwise", child: "a ?x done 0\n a ?x done", parent: "a ?x done 1\n a ?x done", when: []protocol.Condition{big, huge}},
		{name: "less results", child: "a ?x done 0", parent: "a ?x done 1\n a ?x done", when: []protocol.Condition{big, huge}, clause: prove.Inputs, want: `?x {} (refused)`},
		{name: "more input", child: "a ?x done\n a ?y b\n b !say a", parent: "a ?x done"},
		{name: "more input, then something grave", child: "a ?x done\n a ?y b\n b ?z b\n b !say b\n b !call:t c\n c ?w done", parent: "a ?x done", clause: prove.Quiet, want: `?y, !call:t {"tool":"t"}`},
		{name: "more input, then back, then something grave", child: "a ?y b\n b !say a\n a !call:t done\n b ?x b", parent: "a !call:t done"},
		{name: "more input to a copy", child: "a ?y b\n b ?y a\n a !call:t done\n b !call:t done", parent: "a !call:t done"},
		{name: "more input to a copy that does more", child: "a ?y b\n b ?y a\n a !call:t done\n b !call:t done\n b !call:u done", parent: "a !call:t done", clause: prove.Quiet, want: `?y, !call:t {"tool":"t"}`},
		{name: "another end", child: "a !x done", parent: "a !x failed", clause: prove.Ends, want: "!x"},
		{name: "an end too early", child: "a !x done\n done !y done", parent: "a !x b\n b !y done", clause: prove.Ends, want: "!x"},
		{name: "no end", child: "a !x b\n b ?y b", parent: "a !x done"},
		{name: "it stops", child: "a !x b", parent: "a !x b\n b !y done", clause: prove.Stuck, want: "!x"},
		{name: "a guard more", child: "a !x done if g", parent: "a !x done"},
		{name: "a guard less", child: "a !x done", parent: "a !x done if g", clause: prove.Outputs, want: "!x [not: g]"},
		{name: "an approval more", child: "a !ask:x b\n b ?grant:x c\n b ?deny:x a\n c @expire:x a\n c !call:t done", parent: "a !call:t done"},
		{name: "an approval more, and something else", child: "a !ask:x b\n b ?grant:x c\n b !say b\n c !call:t done", parent: "a !call:t done", clause: prove.Outputs, want: `!ask:x {}, !say`},
		{name: "deaf while it asks", child: "a !ask:x b\n b ?grant:x c\n a ?stop failed\n c !call:t done\n c ?stop failed", parent: "a !call:t done\n a ?stop failed", clause: prove.Inputs, want: `!ask:x {}, ?stop (refused)`},
		{name: "an approval less", child: "a !call:t done", parent: "a !ask:x b\n b ?grant:x c\n c !call:t done", clause: prove.Outputs, want: `!call:t {"tool":"t"}`},
		{name: "the clock is an input", child: "a ?x done", parent: "a ?x done\n a @timer:late failed", clause: prove.Inputs, want: "@timer:late (refused)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := machine(t, test.child, test.when...), machine(t, test.parent, test.when...)
			grave := &protocol.Terms{Tools: map[string]protocol.Tool{"t": {Effect: protocol.Irreversible}, "u": {Effect: protocol.Irreversible}}}
			a.Terms, b.Terms = grave, grave
			child, parent := compiled(t, a), compiled(t, b)
			x := prove.Refines(child, parent)
			if x == nil {
				if test.clause != "" {
					t.Fatalf("Refines() holds, want %s", test.clause)
				}
				return
			}
			if x.Clause != test.clause || x.Trace.String() != test.want {
				t.Errorf("Refines() = %v\nwant %s, %s", x, test.clause, test.want)
			}
			if err := x.Verify(child, parent); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each term may be made stricter, and not laxer.
func TestRefinesTerms(t *testing.T) {
	below := protocol.Condition{{At: "/arguments/amount", In: protocol.Below(100, true)}}
	parent := func() *protocol.Terms {
		return &protocol.Terms{
			Tools: map[string]protocol.Tool{"t": {Effect: protocol.Irreversible, Approval: "x", Idempotency: "/id"}, "r": {}},
			Approvals: map[string]protocol.Approval{"x": {
				By: []string{"a", "b"}, TTL: 60, Uses: 2, Amount: "/arguments/total", Assurance: "client", Bind: []string{"instance"}, When: below,
			}},
			Budget: protocol.Budget{Calls: 5, Money: map[string]string{"EUR": "10.00"}}, Reserve: protocol.Budget{Calls: 1}, ReserveFor: []string{"t"},
			Captures: map[string]protocol.Capture{"c": {On: "call:t", At: "/x"}}, Timers: map[string]protocol.Timer{"late": {After: 5}},
			Instance: &protocol.Instance{Key: "/id", Scope: []string{"t", "elsewhere"}}, Unrecognized: protocol.PassIfRead,
		}
	}
	approval := func(t *protocol.Terms, f func(*protocol.Approval)) {
		a := t.Approvals["x"]
		f(&a)
		t.Approvals["x"] = a
	}
	for _, test := range []struct {
		name   string
		edit   func(*protocol.Terms)
		clause prove.Clause
	}{
		{"the same", func(*protocol.Terms) {}, ""},
		{"stricter", func(t *protocol.Terms) {
			approval(t, func(a *protocol.Approval) {
				*a = protocol.Approval{By: []string{"b"}, Amount: "/arguments/total", TTL: 59, Uses: 1, Assurance: "key", Bind: []string{"state", "instance"}}
			})
			t.Budget = protocol.Budget{Calls: 4, Bytes: 7, Money: map[string]string{"EUR": "9"}}
			t.Reserve.Calls, t.Unrecognized = 2, protocol.Block
		}, ""},
		{"a lower effect", func(t *protocol.Terms) { t.Tools["t"] = protocol.Tool{Approval: "x", Idempotency: "/id"} }, prove.Effects},
		{"no approval", func(t *protocol.Terms) {
			t.Tools["t"] = protocol.Tool{Effect: protocol.Irreversible, Idempotency: "/id"}
		}, prove.Approvals},
		{"anybody", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.By = nil }) }, prove.Approvals},
		{"somebody else", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.By = []string{"c"} }) }, prove.Approvals},
		{"longer", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.TTL = 61 }) }, prove.Approvals},
		{"for ever", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.TTL = 0 }) }, prove.Approvals},
		{"more uses", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.Uses = 3 }) }, prove.Approvals},
		{"less assurance", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.Assurance = "" }) }, prove.Approvals},
		{"bound to less", func(t *protocol.Terms) { approval(t, func(a *protocol.Approval) { a.Bind = nil }) }, prove.Approvals},
		{"for fewer calls", func(t *protocol.Terms) {
			approval(t, func(a *protocol.Approval) {
				a.When = protocol.Condition{{At: "/arguments/amount", In: protocol.Below(99, true)}}
			})
		}, prove.Approvals},
		{"more calls", func(t *protocol.Terms) { t.Budget.Calls = 6 }, prove.Budgets},
		{"no limit", func(t *protocol.Terms) { t.Budget.Calls = 0 }, prove.Budgets},
		{"more money", func(t *protocol.Terms) { t.Budget.Money = map[string]string{"EUR": "10.01"} }, prove.Budgets},
		{"less reserve", func(t *protocol.Terms) { t.Reserve.Calls = 0 }, prove.Budgets},
		{"reserve for more", func(t *protocol.Terms) { t.ReserveFor = []string{"t", "r"} }, prove.Budgets},
		{"what is not recognized", func(t *protocol.Terms) { t.Unrecognized = protocol.Pass }, prove.Policies},
		{"a capture of something else", func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"c": {On: "call:t", At: "/y"}}
		}, prove.Registers},
		{"another timer", func(t *protocol.Terms) { t.Timers = map[string]protocol.Timer{"late": {After: 6}} }, prove.Registers},
		{"no instances", func(t *protocol.Terms) { t.Instance = nil }, prove.Registers},
		{"instances of fewer tools", func(t *protocol.Terms) { t.Instance = &protocol.Instance{Key: "/id"} }, prove.Registers},
		{"another currency", func(t *protocol.Terms) { t.Budget.Money = map[string]string{"EUR": "10.00", "USD": "1"} }, prove.Budgets},
		{"a currency called calls", func(t *protocol.Terms) {
			t.Budget.Calls, t.Budget.Money = 0, map[string]string{"EUR": "10.00", "calls": "5"}
		}, prove.Budgets},
		{"another amount is shown", func(t *protocol.Terms) {
			approval(t, func(a *protocol.Approval) { a.Amount = "/arguments/tip" })
		}, prove.Approvals},
		{"repeated calls are new ones", func(t *protocol.Terms) {
			t.Tools["t"] = protocol.Tool{Effect: protocol.Irreversible, Approval: "x"}
		}, prove.Effects},
		{"what reads passes", func(t *protocol.Terms) { t.Tools["w"] = protocol.Tool{Effect: protocol.Reads} }, prove.Policies},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := machine(t, "a !call:t done\n a !call:r done"), machine(t, "a !call:t done\n a !call:r done")
			a.Terms, b.Terms = parent(), parent()
			test.edit(a.Terms)
			got := prove.Clause("")
			if x := prove.Refines(compiled(t, a), compiled(t, b)); x != nil {
				got = x.Clause
			}
			if got != test.clause {
				t.Errorf("Refines() = %q, want %q", got, test.clause)
			}
		})
	}
	a, b := machine(t, "a !x b\n b !y done"), machine(t, "a !x b\n b !y done")
	a.Budgets, b.Budgets = map[protocol.State]protocol.Budget{"b": {Calls: 3}}, map[protocol.State]protocol.Budget{"b": {Calls: 2}}
	if x := prove.Refines(compiled(t, a), compiled(t, b)); x == nil || x.Clause != prove.Budgets || x.Child != "b" {
		t.Errorf("Refines() = %v, want %s in b", x, prove.Budgets)
	}
}

// random makes an automaton of n states with a few labels, and conditions.
func random(r *rand.Rand, n, edges int) *protocol.Automaton {
	a := &protocol.Automaton{Name: "random", Initial: "s0", Ends: map[protocol.State]protocol.End{}, Terms: &protocol.Terms{
		Tools: map[string]protocol.Tool{"t": {Effect: protocol.Irreversible}},
	}}
	for i := range n {
		s := protocol.State(fmt.Sprint("s", i))
		a.States = append(a.States, s)
		if r.IntN(5) == 0 {
			a.Ends[s] = protocol.Success
		}
	}
	for range edges {
		a.Transitions = append(a.Transitions, randomTransition(r, a))
	}
	return a
}

func randomTransition(r *rand.Rand, a *protocol.Automaton) protocol.Transition {
	n := len(a.States)
	t := protocol.Transition{
		From: a.States[r.IntN(n)], To: a.States[r.IntN(n)],
		By: []protocol.Role{protocol.Agent, protocol.Environment, protocol.Environment}[r.IntN(3)], On: randomLabel(r),
	}
	if r.IntN(3) == 0 {
		at := []protocol.Pointer{"/v", "/w"}[r.IntN(2)]
		t.When = protocol.Condition{{At: at, In: protocol.Above(float64(r.IntN(3)), true)}}
	}
	if r.IntN(12) == 0 {
		t.If = "g"
	}
	return t
}

func randomLabel(r *rand.Rand) protocol.Label {
	return []protocol.Label{"x", "y", "call:t"}[r.IntN(3)]
}

// changed returns an automaton that differs a little, so that it often refines.
func changed(r *rand.Rand, a *protocol.Automaton) *protocol.Automaton {
	b := *a
	b.Transitions = slices.Clone(a.Transitions)
	if r.IntN(6) == 0 { // an approval more: nothing is done at once in some state
		waits, then := protocol.State(fmt.Sprint("wait", len(b.States))), b.States[r.IntN(len(b.States))]
		b.States = append(slices.Clone(b.States), waits)
		for _, t := range a.Transitions {
			if t.From == then && t.By != protocol.Agent {
				t.From = waits
				b.Transitions = append(b.Transitions, t)
			}
		}
		b.Transitions = append(b.Transitions,
			protocol.Transition{From: then, By: protocol.Agent, On: protocol.Label("ask:" + waits), To: waits},
			protocol.Transition{From: waits, By: protocol.Environment, On: protocol.Label("grant:" + waits), To: then})
	}
	for range 1 + r.IntN(2) {
		n := len(b.Transitions)
		if i := r.IntN(n + 1); i < n && (b.Transitions[i].By == protocol.Agent || r.IntN(4) == 0) {
			b.Transitions = slices.Delete(b.Transitions, i, i+1)
		} else if t := randomTransition(r, &b); t.By != protocol.Agent {
			b.Transitions = append(b.Transitions, t)
		}
	}
	return &b
}

// Refinement is reflexive and transitive; if it fails, the counterexample is one; if it
// holds, no random run with the parent's inputs is refused.
func TestRefinesRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	r := rand.New(rand.NewPCG(5, 6))
	held, failed, chains := 0, map[prove.Clause]int{}, 0
	for range 1500 {
		n := 1 + r.IntN(5)
		a := random(r, n, r.IntN(4*n))
		b := changed(r, a)
		c := changed(r, b)
		ca, cb, cc := compiled(t, a), compiled(t, b), compiled(t, c)
		if x := prove.Refines(ca, ca); x != nil {
			t.Fatalf("%s\ndoes not refine itself: %v", a.Table(), x)
		}
		ba, cbx, cax := prove.Refines(cb, ca), prove.Refines(cc, cb), prove.Refines(cc, ca)
		if ba == nil && cbx == nil {
			chains++
			if cax != nil {
				t.Fatalf("%s\n refines\n%s\n refines\n%s\nand not the last: %v", c.Table(), b.Table(), a.Table(), cax)
			}
		}
		if ba == nil {
			held++
			sound(t, r, cb, ca)
			continue
		}
		failed[ba.Clause]++
		if err := ba.Verify(cb, ca); err != nil {
			t.Fatalf("%s\n against\n%s\n %s: %v", b.Table(), a.Table(), ba.Clause, err)
		}
	}
	t.Logf("%d refine, %v do not, %d chains", held, failed, chains)
	for _, clause := range []prove.Clause{prove.Outputs, prove.Inputs, prove.Quiet, prove.Ends, prove.Stuck} {
		if failed[clause] == 0 && clause != prove.Outputs && clause != prove.Ends {
			t.Errorf("no counterexample of %s", clause)
		}
	}
	if held < 100 || chains < 30 {
		t.Errorf("only %d refine, %d chains", held, chains)
	}
}

// sound runs child and parent side by side.
func sound(t *testing.T, r *rand.Rand, child, parent *protocol.Compiled) {
	t.Helper()
	g := false
	guards := map[protocol.Guard]func(protocol.Event) bool{"g": func(protocol.Event) bool { return g }}
	for range 10 {
		a, errA := protocol.NewMonitor(child, protocol.MonitorOptions{Guards: guards})
		b, errB := protocol.NewMonitor(parent, protocol.MonitorOptions{Guards: guards})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for range 12 {
			e := protocol.Event{Move: protocol.Move{
				By: []protocol.Role{protocol.Agent, protocol.Environment}[r.IntN(2)], On: randomLabel(r),
			}}
			doc, err := wire.Encode(wire.M{"v": r.IntN(4), "w": r.IntN(4)})
			if err != nil {
				t.Fatal(err)
			}
			e.Doc, g = doc, r.IntN(2) == 0
			for _, m := range append(a.Allowed(protocol.Agent), a.Allowed(protocol.Environment)...) {
				if strings.Contains(string(m.On), ":wait") && r.IntN(3) == 0 && !slices.ContainsFunc(parent.Automaton().Transitions, func(t protocol.Transition) bool { return t.On == m.On }) {
					a.Step(protocol.Event{Move: m, Doc: doc}) // the child's own affair
					break
				}
			}
			if e.By == protocol.Environment { // the parent's others do what the parent expects
				if v := b.Step(e); v.Kind != protocol.Ok {
					continue
				}
				if v := a.Step(e); v.Kind != protocol.Ok {
					t.Fatalf("%s\nrefines\n%s\nand refuses %s %s", child.Automaton().Table(), parent.Automaton().Table(), e.On, doc)
				}
				continue
			}
			if v := a.Step(e); v.Kind != protocol.Ok {
				continue
			}
			if v := b.Step(e); v.Kind != protocol.Ok {
				t.Fatalf("%s\nrefines\n%s\nwhich refuses %s %s", child.Automaton().Table(), parent.Automaton().Table(), e.On, doc)
			}
			if a.End() != "" && a.End() != b.End() {
				t.Fatalf("the ends differ: %q, %q", a.End(), b.End())
			}
		}
	}
}

// What differs does not refine both ways, and the difference is one.
func TestDiffRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	same := 0
	for range 600 {
		a := random(r, 1+r.IntN(4), r.IntN(10))
		b := changed(r, a)
		ca, cb := compiled(t, a), compiled(t, b)
		onlyA, onlyB := prove.Diff(ca, cb)
		ab, ba := prove.Equivalent(ca, cb)
		if onlyA == nil && onlyB == nil {
			same++
			if ab != nil && ab.Clause != prove.Stuck || ba != nil && ba.Clause != prove.Stuck {
				t.Fatalf("no difference between\n%s\nand\n%s, but %v, %v", a.Table(), b.Table(), ab, ba)
			}
			continue
		}
		for _, d := range []struct {
			d         *prove.Difference
			has, lack *protocol.Compiled
		}{{onlyA, ca, cb}, {onlyB, cb, ca}} {
			if d.d == nil {
				continue
			}
			replays(t, d.has, d.d.Trace)
			verdicts, end, err := prove.Replay(d.lack, d.d.Trace)
			if err != nil {
				t.Fatal(err)
			}
			_, own, err := prove.Replay(d.has, d.d.Trace)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(verdicts, func(v protocol.Verdict) bool { return v.Kind != protocol.Ok }) && end == own {
				t.Fatalf("%s is no difference", d.d.Trace)
			}
		}
	}
	if same < 20 {
		t.Errorf("only %d are the same", same)
	}
}

// The other side of the other side is the protocol, and a protocol is compatible with
// its other side.
func TestDual(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		a := random(r, 1+r.IntN(5), r.IntN(15))
		a.Terms = nil
		ca := compiled(t, a)
		twice := compiled(t, prove.Dual(prove.Dual(a)))
		if ab, ba := prove.Equivalent(ca, twice); ab != nil || ba != nil {
			t.Fatalf("Dual(Dual()) differs: %v, %v", ab, ba)
		}
		if x, err := prove.Compatible(ca, compiled(t, prove.Dual(a))); x != nil || err != nil {
			t.Fatalf("Compatible() = %v, %v", x, err)
		}
	}
}

func TestProject(t *testing.T) {
	global := machine(t, "a !offer b\n b !accept done\n b !offer b\n b @timer:late failed")
	for i, role := range []protocol.Role{"buyer", "seller", "either", protocol.Clock} {
		global.Transitions[i].By = role
	}
	groups := prove.Groups{"either": {"buyer", "seller"}}
	if got := prove.Roles(global, groups); !slices.Equal(got, []protocol.Role{"buyer", "seller"}) {
		t.Errorf("Roles() = %v", got)
	}
	buyer := prove.Project(global, "buyer", groups)
	want := "a !offer b\n b ?accept done\n b !offer b\n b ?offer b\n b @timer:late failed"
	if ab, ba := prove.Equivalent(compiled(t, buyer), compiled(t, machine(t, want))); ab != nil || ba != nil {
		t.Errorf("%s\n%v\n%v", buyer.Table(), ab, ba)
	}
	x, err := prove.Compatible(compiled(t, buyer), compiled(t, prove.Project(global, "seller", groups)))
	if x != nil || err != nil {
		t.Errorf("Compatible() = %v, %v", x, err)
	}
	x, err = prove.Compatible(compiled(t, buyer), compiled(t, buyer))
	if err != nil || x == nil || x.Clause != prove.Outputs {
		t.Errorf("Compatible() with oneself = %v, %v", x, err)
	}
}
