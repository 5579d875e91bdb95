package prove_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	"github.com/concordia-node/concordia/wire"
)

// machine makes an automaton of lines FROM !LABEL TO: ! is the agent, ? the environment,
// @ the clock. A state done is success, failed is failure; nowhere refuses. After TO may
// stand "if GUARD" or the number of a condition.
func machine(tb testing.TB, text string, when ...protocol.Condition) *protocol.Automaton {
	tb.Helper()
	a := &protocol.Automaton{Name: "test", Ends: map[protocol.State]protocol.End{}, Terms: &protocol.Terms{}}
	add := func(s protocol.State) {
		if s != protocol.Nowhere && !slices.Contains(a.States, s) {
			a.States = append(a.States, s)
		}
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			for _, s := range f {
				add(protocol.State(s))
			}
			continue
		}
		t := protocol.Transition{From: protocol.State(f[0]), On: protocol.Label(f[1][1:]), To: protocol.State(f[2])}
		t.By = map[byte]protocol.Role{'!': protocol.Agent, '?': protocol.Environment, '@': protocol.Clock}[f[1][0]]
		if t.To == "nowhere" {
			t.To = protocol.Nowhere
		}
		switch {
		case len(f) == 5:
			t.If = protocol.Guard(f[4])
		case len(f) == 4:
			var i int
			if _, err := fmt.Sscan(f[3], &i); err != nil {
				tb.Fatal(err)
			}
			t.When = when[i]
		}
		add(t.From)
		add(t.To)
		a.Transitions = append(a.Transitions, t)
	}
	a.Initial = a.States[0]
	for s, e := range map[protocol.State]protocol.End{"done": protocol.Success, "failed": protocol.Failure} {
		if slices.Contains(a.States, s) {
			a.Ends[s] = e
		}
	}
	return a
}

func compiled(tb testing.TB, a *protocol.Automaton) *protocol.Compiled {
	tb.Helper()
	c, err := protocol.Compile(a)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func value(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func is(tb testing.TB, at protocol.Pointer, text string) protocol.Condition {
	return protocol.Condition{{At: at, In: protocol.Values(value(tb, text))}}
}

// replays fails unless a monitor goes where a trace says, and refuses what it says is
// refused.
func replays(tb testing.TB, c *protocol.Compiled, t prove.Trace) {
	tb.Helper()
	verdicts, _, err := prove.Replay(c, t)
	if err != nil {
		tb.Fatal(err)
	}
	for i, v := range verdicts {
		if (v.Kind == protocol.Ok) != (t[i].To != protocol.Nowhere) || v.Kind == protocol.Ok && v.To != t[i].To {
			tb.Fatalf("step %d of %s: the monitor says %s, to %s", i, t, v.Kind, v.To)
		}
	}
}

// refund is a protocol without a fault: quote, ask, refund once.
const refund = `
	gathering !call:quote gathering·quote
	gathering·quote ?ret:quote:ok offered
	gathering·quote ?ret:quote:error gathering
	gathering !say:sorry failed
	offered !ask:refund offered·ask
	offered·ask ?grant:refund offered·go
	offered·ask ?deny:refund gathering
	offered·go !call:issue offered·issue
	offered·go @expire:refund offered
	offered·issue ?ret:issue:ok done
	offered·issue ?ret:issue:error offered
	offered·issue ?ret:issue:unknown offered·issue
`

func refundTerms() *protocol.Terms {
	return &protocol.Terms{
		Tools: map[string]protocol.Tool{
			"quote": {Effect: protocol.Reads},
			"issue": {Effect: protocol.Irreversible, Approval: "refund", Idempotency: "/arguments/id", Probe: "quote"},
		},
		Approvals: map[string]protocol.Approval{"refund": {}},
		Invariants: []protocol.Invariant{
			{Precedes: &protocol.Precedes{First: "grant:refund", Then: "call:issue", Each: true}},
			{Requires: &protocol.Requires{Label: "call:quote"}},
			{NeverAfter: &protocol.NeverAfter{Label: "call:issue", After: "ret:issue:ok"}},
			{Between: &protocol.Between{Label: "call:issue", From: "grant:refund", To: "expire:refund"}},
			{AtMost: &protocol.AtMost{Label: "ret:issue:ok", N: 1}},
		},
		Budget: protocol.Budget{Calls: 2}, Reserve: protocol.Budget{Calls: 1}, ReserveFor: []string{"issue"},
	}
}

func TestCheckFaultless(t *testing.T) {
	a := machine(t, refund)
	a.Terms = refundTerms()
	if found := prove.Check(compiled(t, a), nil); len(found) != 0 {
		t.Errorf("Check() = %v", found)
	}
}

// Each fault has its code, and the shortest run that shows it.
func TestCheck(t *testing.T) {
	one, two, more := is(t, "/x", "1"), is(t, "/x", "2"), protocol.Condition{{At: "/x", In: protocol.Above(0, false)}}
	never := protocol.Condition{{At: "/x", In: protocol.Above(2, false)}, {At: "/x", In: protocol.Below(1, false)}}
	long := protocol.Condition{{At: "/y", In: protocol.Lengths(2, -1)}}
	no := false
	tests := []struct {
		name  string
		code  prove.Code
		text  string
		when  []protocol.Condition
		terms func(*protocol.Terms)
		edit  func(*protocol.Automaton)
		opts  *prove.Options
		want  string // the trace, with documents
	}{
		{name: "unreachable", code: prove.Unreachable, text: "a !go done\n island !go done"},
		{name: "unreachable but for a condition that never holds", code: prove.Unreachable, text: "a !go b 0\n a !on done\n b !on done", when: []protocol.Condition{never}},
		{name: "dead end", code: prove.DeadEnd, text: "a !go b\n b ?on c\n a !on done", want: "!go, ?on"},
		{name: "dead end by a shorter way", code: prove.DeadEnd, text: "a !go b\n b ?on c\n a !x c 0\n a !on done", when: []protocol.Condition{one}, want: `!x {"x":1}`},
		{name: "trap", code: prove.Trap, text: "a !go b\n b ?on c\n c ?on b\n a !on done", want: "!go"},
		{name: "no end", code: prove.NoEnd, text: "a !go a"},
		{name: "unused tool", code: prove.UnusedTool, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {}, "u": {}}
		}},
		{name: "undeclared tool", code: prove.Undeclared, text: "a !call:t b\n b !call:u done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {}}
		}},
		{name: "unused approval", code: prove.UnusedApproval, text: "a !go done", terms: func(t *protocol.Terms) {
			t.Approvals = map[string]protocol.Approval{"x": {}}
		}},
		{name: "unknown approval", code: prove.UnknownName, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Approval: "x"}}
		}},
		{name: "unknown probe", code: prove.UnknownName, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Probe: "x"}}
		}},
		{name: "unknown timer", code: prove.UnknownName, text: "a @timer:late done\n a !go done"},
		{name: "unknown capture", code: prove.UnknownName, text: "a !go done 0\n a !on done", when: []protocol.Condition{{{At: "/x", Capture: "c"}}}},
		{name: "a reserve for an unknown tool", code: prove.UnknownName, text: "a !go done", terms: func(t *protocol.Terms) { t.ReserveFor = []string{"x"} }},
		{name: "unsatisfiable", code: prove.Unsatisfiable, text: "a !go b\n b !go done 0\n b !go a\n b !on done", when: []protocol.Condition{never}, want: "!go"},
		{name: "an approval for no call", code: prove.Unsatisfiable, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Approval: "x"}}
			t.Approvals = map[string]protocol.Approval{"x": {When: never}}
		}},
		{name: "shadowed", code: prove.Shadowed, text: "a !go done 0\n a !go b 1\n a !on b\n b !on done", when: []protocol.Condition{more, two}},
		{name: "shadowed by two together", code: prove.Shadowed, text: "a !go done 0\n a !go b 1\n a !go c 2\n a !on c\n b !on done\n c !on done", when: []protocol.Condition{
			{{At: "/x", In: protocol.Above(1, true)}}, {{At: "/x", In: protocol.Below(1, true)}}, two,
		}},
		{name: "overlap", code: prove.Overlap, text: "a !go done 0\n a !go b 1\n b !on done", when: []protocol.Condition{one, long}, want: `!go {"x":1,"y":[null,null]}`},
		{name: "missing else", code: prove.MissingElse, text: "a !call:t b\n b ?ret:t:ok done 0", when: []protocol.Condition{one}, want: `!call:t {"tool":"t"}, ?ret:t:ok {} (refused)`},
		{name: "a call without approval", code: prove.Unapproved, text: "a !ask:x b\n b ?grant:x c\n b ?deny:x c\n c !call:t done", terms: approvedTool, want: "!ask:x {}, ?deny:x, !call:t {\"tool\":\"t\"}"},
		{name: "a second call with one approval", code: prove.Unapproved, text: "a !ask:x b\n b ?grant:x c\n c !call:t d\n d ?ret:t:error c\n d ?ret:t:ok done", terms: approvedTool,
			want: `!ask:x {}, ?grant:x, !call:t {"tool":"t"}, ?ret:t:error, !call:t {"tool":"t"}`},
		{name: "a call after the approval is over", code: prove.Unapproved, text: "a ?grant:x c\n c @expire:x c\n c !call:t done", terms: approvedTool, want: `?grant:x, @expire:x, !call:t {"tool":"t"}`},
		{name: "a call that was granted for another tool", code: prove.Unapproved, text: "a !ask:x b 0\n b ?grant:x c\n c !call:t done", when: []protocol.Condition{is(t, "/tool", `"u"`)}, terms: approvedTool,
			want: `!ask:x {"tool":"u"}, ?grant:x, !call:t {"tool":"t"}`},
		{name: "a call above the threshold", code: prove.Unapproved, text: "a !call:t done 0\n a ?grant:x b\n b !call:t done", when: []protocol.Condition{{{At: "/arguments/amount", In: protocol.Below(200, false)}}},
			terms: func(t *protocol.Terms) {
				approvedTool(t)
				t.Approvals = map[string]protocol.Approval{"x": {When: protocol.Condition{{At: "/arguments/amount", In: protocol.Above(100, true)}}}}
			}, want: `!call:t {"arguments":{"amount":100},"tool":"t"}`},
		{name: "no approval", code: prove.Unguarded, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Effect: protocol.Irreversible, Idempotency: "/id"}}
		}},
		{name: "in doubt", code: prove.InDoubt, text: "a ?grant:x b\n b !call:t done", terms: approvedTool},
		{name: "precedes", code: prove.BreaksPrecedes, text: "a !first b\n a !skip b\n b !then done", terms: invariant(protocol.Invariant{Precedes: &protocol.Precedes{First: "first", Then: "then"}}), want: "!skip, !then"},
		{name: "precedes each", code: prove.BreaksPrecedes, text: "a !first b\n b !then b\n b !skip done", terms: invariant(protocol.Invariant{Precedes: &protocol.Precedes{First: "first", Then: "then", Each: true}}), want: "!first, !then, !then"},
		{name: "at most", code: prove.BreaksAtMost, text: "a !x a\n a !go done", terms: invariant(protocol.Invariant{AtMost: &protocol.AtMost{Label: "x", N: 2}}), want: "!x, !x, !x"},
		{name: "never after", code: prove.BreaksAfter, text: "a !x b\n b !y c\n c !x done\n a !y c 0", when: []protocol.Condition{one}, terms: invariant(protocol.Invariant{NeverAfter: &protocol.NeverAfter{Label: "x", After: "y"}}), want: `!y {"x":1}, !x`},
		{name: "requires", code: prove.BreaksRequires, text: "a !x done\n a !y done\n a ?z failed", terms: invariant(protocol.Invariant{Requires: &protocol.Requires{Label: "x"}}), want: "!y"},
		{name: "between", code: prove.BreaksBetween, text: "a !open b\n b !x b\n b !close c\n c !x done\n b !go done", terms: invariant(protocol.Invariant{Between: &protocol.Between{Label: "x", From: "open", To: "close"}}), want: "!open, !close, !x"},
		{name: "vacuous", code: prove.Vacuous, text: "a !x done", terms: invariant(protocol.Invariant{AtMost: &protocol.AtMost{Label: "X", N: 2}})},
		{name: "too large", code: prove.TooLarge, text: "a !x a\n a !go done", terms: invariant(protocol.Invariant{AtMost: &protocol.AtMost{Label: "x", N: 1 << 30}})},
		{name: "budget too small", code: prove.BudgetTooSmall, text: "a !call:t b\n b !call:t c\n c !call:t done\n a !go failed", terms: func(t *protocol.Terms) { t.Budget.Calls = 2 }, want: `!call:t {"tool":"t"}, !call:t {"tool":"t"}, !call:t {"tool":"t"} (refused)`},
		{name: "budget too small but for the reserve", code: prove.BudgetTooSmall, text: "a !call:t b\n b !call:t c\n c !call:u done", terms: func(t *protocol.Terms) {
			t.Budget.Calls, t.Reserve.Calls, t.ReserveFor = 3, 2, []string{"u"}
		}, want: `!call:t {"tool":"t"}, !call:t {"tool":"t"} (refused)`},
		{name: "reserve over budget", code: prove.ReserveTooBig, text: "a !go done", terms: func(t *protocol.Terms) {
			t.Budget.Money, t.Reserve.Money = map[string]string{"EUR": "9.99"}, map[string]string{"EUR": "10"}
		}},
		{name: "reserve of what has no limit", code: prove.ReserveTooBig, text: "a !go done", terms: func(t *protocol.Terms) { t.Reserve.Calls = 1 }},
		{name: "state over budget", code: prove.StateOver, text: "a !go done", terms: func(t *protocol.Terms) { t.Budget.Tokens = 10 }, edit: func(a *protocol.Automaton) {
			a.Budgets = map[protocol.State]protocol.Budget{"a": {Tokens: 11}}
		}},
		{name: "opaque proof", code: prove.Opaque, text: "a !x b if g\n a !go done\n b !then done", terms: invariant(protocol.Invariant{Precedes: &protocol.Precedes{First: "go", Then: "then"}}), want: "!x [g], !then"},
		{name: "opaque end", code: prove.Opaque, text: "a !x b 0\n b ?y done 1\n b ?n a", when: []protocol.Condition{is(t, "/v", "7"), {{At: "/w", Capture: "v"}, {At: "/t", Matches: "^yes"}}}, terms: func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"v": {On: "x", At: "/v"}}
		}, want: `!x {"v":7}, ?y {"t":"yes","w":7} [/w is what was captured as v and /t matches ^yes]`},
		{name: "what is not captured again", code: prove.Opaque, text: "a !x b\n b ?y done 0", when: []protocol.Condition{{protocol.Test{At: "/w", Capture: "v"}.Not(), {At: "/w", In: protocol.Values(value(t, "1"), value(t, "2"))}}}, terms: func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"v": {On: "x", At: "/v"}}
		}, want: `!x, ?y {"w":1} [not: /w is what was captured as v]`},
		{name: "captured is one thing, needed another", code: prove.Opaque, text: "a !x b 0\n b ?y done 1", when: []protocol.Condition{is(t, "/v", "1"), {protocol.Test{At: "/w", Capture: "v"}.Not(), {At: "/w", In: protocol.Values(value(t, "1"), value(t, "2"))}}}, terms: func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"v": {On: "x", At: "/v"}}
		}, want: `!x {"v":1}, ?y {"w":2} [not: /w is what was captured as v]`},
		{name: "captured is what is needed later", code: prove.Opaque, text: "a !x b\n b ?y done 0", when: []protocol.Condition{{{At: "/w", Capture: "v"}, {At: "/w", In: protocol.Above(6, false)}}}, terms: func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"v": {On: "x", At: "/v"}}
		}, want: `!x {"v":7}, ?y {"w":7} [/w is what was captured as v]`},
		{name: "one of what is captured", code: prove.Opaque, text: "a !x b\n b ?y done 0", when: []protocol.Condition{{{At: "/w", Capture: "v", Among: true}}}, terms: func(t *protocol.Terms) {
			t.Captures = map[string]protocol.Capture{"v": {On: "x", At: "/v"}}
		}, want: `!x {"v":["text"]}, ?y {"w":"text"} [/w is among what was captured as v]`},
		{name: "a reading tool that writes", code: prove.NotReadOnly, text: "a !call:t done", terms: func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Effect: protocol.Reads}}
		}, opts: &prove.Options{Annotations: map[string]prove.Annotations{"t": {ReadOnly: &no}}}},
	}
	seen := map[prove.Code]bool{}
	for _, test := range tests {
		seen[test.code] = true
		t.Run(test.name, func(t *testing.T) {
			a := machine(t, test.text, test.when...)
			if test.terms != nil {
				test.terms(a.Terms)
			}
			if test.edit != nil {
				test.edit(a)
			}
			c := compiled(t, a)
			found := prove.Check(c, test.opts)
			hit := false
			if n := len(slices.DeleteFunc(slices.Clone(found), func(f prove.Finding) bool { return f.Code != prove.Shadowed })); test.code == prove.Unsatisfiable && n > 0 {
				t.Error("what cannot hold is called shadowed")
			}
			for _, f := range found {
				replays(t, c, f.Trace)
				if f.Code == test.code {
					hit = true
					if got := f.Trace.String(); test.want != "" && got != test.want {
						t.Errorf("trace of %s\n got %s\nwant %s", f, got, test.want)
					}
				}
			}
			if !hit {
				t.Errorf("Check() = %v, want %s", found, test.code)
			}
		})
	}
	for _, code := range []prove.Code{
		prove.Unreachable, prove.DeadEnd, prove.Trap, prove.NoEnd, prove.UnusedTool, prove.UnusedApproval, prove.UnknownName, prove.Undeclared,
		prove.Unsatisfiable, prove.Shadowed, prove.Overlap, prove.MissingElse, prove.Unapproved, prove.Unguarded, prove.InDoubt, prove.BreaksPrecedes,
		prove.BreaksAtMost, prove.BreaksAfter, prove.BreaksRequires, prove.BreaksBetween, prove.Vacuous, prove.BudgetTooSmall, prove.ReserveTooBig,
		prove.StateOver, prove.Opaque, prove.NotReadOnly, prove.TooLarge, // NoRefinement: TestFastRefund
	} {
		if !seen[code] {
			t.Errorf("no test for %s", code)
		}
	}
}

func approvedTool(t *protocol.Terms) {
	t.Tools = map[string]protocol.Tool{"t": {Effect: protocol.Irreversible, Approval: "x"}}
	t.Approvals = map[string]protocol.Approval{"x": {}}
}

func invariant(i protocol.Invariant) func(*protocol.Terms) {
	return func(t *protocol.Terms) { t.Invariants = []protocol.Invariant{i} }
}

// What is no fault is not found.
func TestCheckNoFault(t *testing.T) {
	low, high := protocol.Condition{{At: "/x", In: protocol.Below(1, false)}}, protocol.Condition{{At: "/x", In: protocol.Above(1, true)}}
	for _, test := range []struct {
		name  string
		text  string
		when  []protocol.Condition
		terms func(*protocol.Terms)
	}{
		{"conditions that do not overlap", "a !go done 0\n a !go failed 1", []protocol.Condition{low, high}, nil},
		{"a special case first", "a !go done 0\n a !go failed 1", []protocol.Condition{{{At: "/x", In: protocol.Below(0, false)}}, low}, nil},
		{"a test that can be avoided", "a !go done 0\n a !go done 1", []protocol.Condition{append(is(t, "/x", "1"), protocol.Holds("g")), is(t, "/x", "2")}, nil},
		{"an else", "a !go done 0\n a !go failed", []protocol.Condition{low}, nil},
		{"a refusal first", "a !go nowhere 0\n a !go done", []protocol.Condition{low}, nil},
		{"a tool that only probes", "a !call:t done", nil, func(t *protocol.Terms) { t.Tools = map[string]protocol.Tool{"t": {Probe: "u"}, "u": {}} }},
		{"a denied tool", "a !call:t nowhere\n a !go done", nil, func(t *protocol.Terms) { t.Tools = map[string]protocol.Tool{"t": {}} }},
		{"calls below the threshold", "a !call:t done 0\n a ?grant:x b\n b !call:t done", []protocol.Condition{{{At: "/x", In: protocol.Below(1, false)}}}, func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Approval: "x"}}
			t.Approvals = map[string]protocol.Approval{"x": {When: high}}
		}},
		{"two uses of one approval", "a ?grant:x b\n b !call:t c\n c !call:t done", nil, func(t *protocol.Terms) {
			t.Tools = map[string]protocol.Tool{"t": {Approval: "x"}}
			t.Approvals = map[string]protocol.Approval{"x": {Uses: 2}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := machine(t, test.text, test.when...)
			if test.terms != nil {
				test.terms(a.Terms)
			}
			if found := prove.Check(compiled(t, a), nil); len(found) > 0 {
				t.Errorf("Check() = %v", found)
			}
		})
	}
}

// What is proven is said, and what is not, with the run that shows it.
func TestProve(t *testing.T) {
	a := machine(t, refund)
	a.Terms = refundTerms()
	claims := prove.Prove(compiled(t, a))
	if len(claims) != 3+1+5+1 {
		t.Errorf("%d claims", len(claims))
	}
	for _, c := range claims {
		if len(c.Failed) > 0 {
			t.Errorf("%s: %v", c.Text, c.Failed)
		}
	}
	a = machine(t, refund+"offered !call:issue offered·issue")
	a.Terms = refundTerms()
	var failed []string
	for _, c := range prove.Prove(compiled(t, a)) {
		if len(c.Failed) > 0 {
			failed = append(failed, c.Text)
		}
	}
	want := []string{
		"every call of issue that needs it has a fresh approval refund", "before each call:issue there is a grant:refund of its own",
		"call:issue happens only after grant:refund and before expire:refund",
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
}

// A protocol that skips the confirmation is no refinement of one that demands it.
func TestFastRefund(t *testing.T) {
	parent := machine(t, refund)
	parent.Terms = refundTerms()
	fast := machine(t, refund+"offered !call:issue offered·issue")
	fast.Terms = refundTerms()
	cp, cf := compiled(t, parent), compiled(t, fast)
	found := prove.Extends(cf, cp)
	if len(found) != 1 || found[0].Code != prove.NoRefinement {
		t.Fatalf("Extends() = %v", found)
	}
	const want = `!call:quote {"tool":"quote"}, ?ret:quote:ok, !call:issue {"tool":"issue"}`
	if got := found[0].Trace.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	replays(t, cf, found[0].Trace)
	if err := prove.Refines(cf, cp).Verify(cf, cp); err != nil {
		t.Error(err)
	}
	if x := prove.Refines(cp, cf); x != nil {
		t.Errorf("the parent does not refine the child: %v", x)
	}
}
