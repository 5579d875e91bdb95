package prove

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concordia-node/concordia/protocol"
)

// A Code names what is wrong. Codes are interface: they are added, never changed.
type Code string

// The codes. Those that say "warning" are warnings, the others errors.
const (
	Unreachable    Code = "unreachable"         // nothing leads to a state
	DeadEnd        Code = "dead-end"            // nothing can happen in a state that is no end
	Trap           Code = "trap"                // no end can be reached from a state
	NoEnd          Code = "no-end"              // warning: the protocol has no end at all
	UnusedTool     Code = "unused-tool"         // a tool that no state allows or denies
	UnusedApproval Code = "unused-approval"     // an approval that no tool needs
	UnknownName    Code = "unknown-name"        // an approval, tool, timer or capture that is not declared
	Undeclared     Code = "undeclared-tool"     // warning: a call of a tool of which nothing is known
	Unsatisfiable  Code = "unsatisfiable"       // a condition that no document satisfies
	Shadowed       Code = "shadowed"            // warning: a transition that earlier ones always hide
	Overlap        Code = "overlap"             // warning: documents for which only the order of two transitions decides
	MissingElse    Code = "missing-else"        // results for which no transition is
	Unapproved     Code = "unapproved"          // a call without an approval since the last use
	Unguarded      Code = "no-approval"         // warning: an irreversible tool that needs no approval
	InDoubt        Code = "in-doubt"            // warning: an irreversible tool of which nobody can tell whether a lost call happened
	BreaksPrecedes Code = "precedes"            // an invariant that some run breaks
	BreaksAtMost   Code = "at-most"             // likewise
	BreaksAfter    Code = "never-after"         // likewise
	BreaksRequires Code = "requires"            // likewise
	BreaksBetween  Code = "between"             // likewise
	Vacuous        Code = "vacuous"             // warning: an invariant about a label that no transition has
	BudgetTooSmall Code = "budget-too-small"    // no run within the budget reaches an end
	ReserveTooBig  Code = "reserve-over-budget" // more is kept back than there is
	StateOver      Code = "state-over-budget"   // a state may use more than the whole conversation
	Opaque         Code = "opaque"              // warning: what is said here depends on a test that only the running protocol can make
	NotReadOnly    Code = "not-read-only"       // warning: a tool that reads, by the protocol, and writes, by its own word
	TooLarge       Code = "too-large"           // it was not proven, since there are too many cases
	NoRefinement   Code = "no-refinement"       // the protocol that it extends allows less, or bears more
)

// A Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

var warnings = []Code{NoEnd, Undeclared, Shadowed, Overlap, Unguarded, InDoubt, Vacuous, Opaque, NotReadOnly}

// A Finding is something wrong with a protocol.
type Finding struct {
	Code     Code
	Severity Severity
	State    protocol.State // where; empty: nowhere in particular
	Place    protocol.Place // where it was written; zero: not known
	Move     protocol.Move  // which event; zero: none in particular
	Message  string
	Trace    Trace // a shortest run that shows it; the last event may be refused
}

// String writes the finding for people, without its trace.
func (f Finding) String() string {
	where := ""
	if f.Place.Line > 0 {
		where = fmt.Sprintf("%d:%d: ", f.Place.Line, f.Place.Column)
	}
	if f.State != "" {
		where += fmt.Sprintf("state %s: ", f.State)
	}
	return fmt.Sprintf("%s%s: %s (%s)", where, f.Severity, f.Message, f.Code)
}

// MarshalJSON writes the finding for programs.
func (f Finding) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code     Code           `json:"code"`
		Severity Severity       `json:"severity"`
		State    protocol.State `json:"state,omitempty"`
		Line     int            `json:"line,omitempty"`
		Column   int            `json:"column,omitempty"`
		By       protocol.Role  `json:"by,omitempty"`
		On       protocol.Label `json:"on,omitempty"`
		Message  string         `json:"message"`
		Trace    Trace          `json:"trace,omitempty"`
	}{f.Code, f.Severity, f.State, f.Place.Line, f.Place.Column, f.Move.By, f.Move.On, f.Message, f.Trace})
}

// Annotations are what a tool says of itself. They are not to be trusted: they can only
// add a finding.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
}

// Options are what Check knows beside the protocol.
type Options struct {
	Annotations map[string]Annotations // by tool
}

// Check returns what is wrong with a protocol: errors first, each kind in the order of
// states. No error means that what the protocol demands holds of every run.
func Check(c *protocol.Compiled, opts *Options) []Finding {
	found, _ := check(c, opts)
	return found
}

// A Claim is something that was to be proven of every run.
type Claim struct {
	Text   string    `json:"claim"`
	Failed []Finding `json:"failed,omitempty"` // why it is not so; none: it is proven
}

// Prove returns what holds of every run of a protocol, and what does not.
func Prove(c *protocol.Compiled) []Claim {
	_, claims := check(c, nil)
	return claims
}

func check(c *protocol.Compiled, opts *Options) ([]Finding, []Claim) {
	k := &checker{c: c, a: c.Automaton(), arcs: arcs(c)}
	k.reached = reach(c, k.arcs)
	if k.terms = k.a.Terms; k.terms == nil {
		k.terms = &protocol.Terms{}
	}
	k.claim("every state can be reached and left, and leads to an end", k.states)
	k.claim("every condition can hold, and every result has a transition", k.transitions)
	k.claim("every name is declared and used", k.names)
	k.tools(opts)
	k.approvals()
	k.invariants()
	k.claim("the budgets suffice for an end", k.budgets)
	k.leanings()
	slices.SortStableFunc(k.found, func(f, g Finding) int { return cmp.Compare(f.Severity, g.Severity) })
	return k.found, k.claims
}

// claim makes a check, and keeps the errors that it finds.
func (k *checker) claim(text string, check func()) {
	n := len(k.found)
	check()
	claim := Claim{Text: text}
	for _, f := range k.found[n:] {
		if f.Severity == Error {
			claim.Failed = append(claim.Failed, f)
		}
	}
	k.claims = append(k.claims, claim)
}

// Extends returns why a protocol does not refine the one that it extends, if so.
func Extends(child, parent *protocol.Compiled) []Finding {
	x := Refines(child, parent)
	if x == nil {
		return nil
	}
	f := Finding{Code: NoRefinement, Severity: Error, State: x.Child, Place: child.Automaton().Places[x.Child], Trace: x.Trace}
	f.Message = fmt.Sprintf("it does not refine %s (%s): %s", parent.Automaton().Name, x.Clause, x.Message)
	if len(x.Trace) > 0 {
		f.Move = x.Trace[len(x.Trace)-1].Move
	}
	return []Finding{f}
}

// HasErrors reports whether one of the findings is an error.
func HasErrors(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Severity == Error })
}

type checker struct {
	c       *protocol.Compiled
	a       *protocol.Automaton
	terms   *protocol.Terms
	arcs    [][]arc
	reached []protocol.Reached
	found   []Finding
	claims  []Claim

	searched searched
}

func (k *checker) report(code Code, state protocol.State, move protocol.Move, t Trace, format string, args ...any) {
	severity := Error
	if slices.Contains(warnings, code) {
		severity = Warning
	}
	k.found = append(k.found, Finding{code, severity, state, k.a.Places[state], move, fmt.Sprintf(format, args...), t})
}

// way returns a shortest way to a state, or nil.
func (k *checker) way(state int) (way []arc) {
	for s := state; k.reached[s].From >= 0; s = k.reached[s].From {
		r := k.reached[s]
		way = append(way, arc{r.From, s, r.Move, r.When})
	}
	slices.Reverse(way)
	return way
}

// maxTraces bounds the findings that come with a trace, and maxCompared the transitions on
// one event in one state that are compared with each other.
const (
	maxTraces   = 200
	maxCompared = 200
)

// trace finds documents for a way, unless there are findings enough with a trace.
func (k *checker) trace(way []arc) Trace {
	if len(k.found) >= maxTraces {
		return nil
	}
	return trace(k.c, way)
}

// to returns a shortest trace to a state.
func (k *checker) to(state int) Trace { return k.trace(k.way(state)) }

// states finds states that cannot be reached, left, or ended from.
func (k *checker) states() {
	n := k.c.Len()
	ends := false
	saved := make([]bool, n) // an end can be reached
	before := make([][]int, n)
	var queue []int
	for s := range n {
		for _, a := range k.arcs[s] {
			before[a.to] = append(before[a.to], s)
		}
		if k.c.End(s) != "" {
			ends = true
			saved[s] = true
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, p := range before[s] {
			if !saved[p] {
				saved[p] = true
				queue = append(queue, p)
			}
		}
	}
	if !ends {
		k.report(NoEnd, "", protocol.Move{}, nil, "no state is an end")
	}
	for s := range n {
		switch r := k.reached[s]; {
		case !r.Is:
			k.report(Unreachable, k.c.State(s), protocol.Move{}, nil, "nothing leads here")
		case len(k.arcs[s]) == 0 && k.c.End(s) == "":
			k.report(DeadEnd, k.c.State(s), protocol.Move{}, k.to(s), "nothing can happen here, and it is no end")
		case ends && !saved[s] && (r.From < 0 || saved[r.From]):
			k.report(Trap, k.c.State(s), protocol.Move{}, k.to(s), "no end can be reached from here")
		}
	}
}

// transitions finds conditions that never decide, and results that none covers.
func (k *checker) transitions() {
	type place struct {
		from protocol.State
		move protocol.Move
	}
	groups := map[place][]protocol.Transition{}
	var order []place
	for _, t := range k.a.Transitions {
		p := place{t.From, protocol.Move{By: t.By, On: t.On}}
		if groups[p] == nil {
			order = append(order, p)
		}
		groups[p] = append(groups[p], t)
	}
	for _, p := range order {
		list := groups[p]
		possible := make([]bool, len(list))
		conditions := make([]protocol.Condition, len(list))
		for i, t := range list {
			conditions[i] = t.Condition()
			possible[i] = satisfiable(conditions[i])
			if !possible[i] {
				k.report(Unsatisfiable, p.from, p.move, k.to(k.c.Index(p.from)), "no document satisfies the condition of %s: %s", p.move.On, conditions[i])
			}
		}
		if len(list) > 1 {
			k.order(p.from, p.move, list, conditions, possible)
		}
		if d := k.c.Decision(k.c.Index(p.from), p.move); d != nil && hasPrefix(p.move.On, "ret:") && k.reached[k.c.Index(p.from)].Is {
			k.exhaustive(k.c.Index(p.from), p.move, d)
		}
	}
}

// satisfiable reports whether some document satisfies a condition.
func satisfiable(c protocol.Condition) bool {
	d, err := protocol.Decide(c)
	return err != nil || !d.Cases(func(i int, _ protocol.Condition) bool { return i < 0 })
}

// order finds transitions that are hidden, and pairs that only their order tells apart.
func (k *checker) order(from protocol.State, m protocol.Move, list []protocol.Transition, conditions []protocol.Condition, possible []bool) {
	d, err := protocol.Decide(conditions...)
	if err != nil {
		return // it would not have compiled
	}
	taken := make([]bool, len(list))
	d.Cases(func(i int, _ protocol.Condition) bool {
		if i >= 0 {
			taken[i] = true
		}
		return true
	})
	for i := range list {
		if possible[i] && !taken[i] {
			k.report(Shadowed, from, m, k.to(k.c.Index(from)), "the transition to %s on %s is never taken: those before it take all its documents", target(list[i]), m.On)
		}
	}
	if len(list) > maxCompared {
		k.report(TooLarge, from, m, nil, "there are too many transitions on %s to compare them", m.On)
		return
	}
	for i, t := range list {
		for j := i + 1; j < len(list); j++ {
			u := list[j]
			if t.To == u.To || t.To == protocol.Nowhere || u.To == protocol.Nowhere || !taken[i] || !taken[j] {
				continue
			}
			if when, ok := overlap(conditions[i], conditions[j]); ok {
				k.report(Overlap, from, m, k.with(from, m, when), "the transitions to %s and to %s on %s overlap, and only their order decides", t.To, u.To, m.On)
			}
		}
	}
}

func target(t protocol.Transition) string {
	if t.To == protocol.Nowhere {
		return "nowhere"
	}
	return string(t.To)
}

// overlap returns a case in which two conditions hold, if the first is no special case of
// the second.
func overlap(a, b protocol.Condition) (when protocol.Condition, ok bool) {
	da, errA := protocol.Decide(a)
	db, errB := protocol.Decide(b)
	if errA != nil || errB != nil {
		return nil, false
	}
	var onlyA, both bool
	protocol.Both(da, db, func(x, y int, c protocol.Condition) bool {
		onlyA = onlyA || x == 0 && y < 0
		if x == 0 && y == 0 && !both {
			both, when = true, c
		}
		return true
	})
	return when, onlyA && both
}

// with returns a trace to a state and one event there, as the automaton takes it.
func (k *checker) with(from protocol.State, m protocol.Move, when protocol.Condition) Trace {
	s := k.c.Index(from)
	if !k.reached[s].Is {
		return nil
	}
	to := -1
	own, err := protocol.Decide(when)
	if err != nil {
		return nil
	}
	protocol.Both(k.c.Decision(s, m), own, func(x, y int, c protocol.Condition) bool {
		if y == 0 {
			to, when = x, c
		}
		return y != 0
	})
	return k.trace(append(k.way(s), arc{s, to, m, when}))
}

// exhaustive finds results that no transition is for.
func (k *checker) exhaustive(s int, m protocol.Move, d *protocol.Decision) {
	d.Cases(func(to int, when protocol.Condition) bool {
		if to >= 0 {
			return true
		}
		k.report(MissingElse, k.c.State(s), m, k.trace(append(k.way(s), arc{s, -1, m, when})),
			"no transition on %s is for a result where %s: say what is done else", m.On, when)
		return false
	})
}

// leanings says which findings depend on opaque tests, and whether an end does.
func (k *checker) leanings() {
	for _, f := range k.found {
		if assumed := f.Trace.assumed(); assumed != "" && f.Severity == Error {
			k.report(Opaque, f.State, f.Move, f.Trace, "whether this is so (%s) depends on what only the running protocol can tell: %s", f.Code, assumed)
		}
	}
	good := protocol.End("")
	for s := range k.c.Len() {
		if k.reached[s].Is && k.c.End(s) == protocol.Success {
			good = protocol.Success
		}
	}
	wanted := func(s int) bool {
		e := k.c.End(s)
		return e != "" && (good == "" || e == good)
	}
	if _, ok, _ := shortest(&k.searched, k.c.Initial(), k.next(false), wanted); ok {
		return
	}
	if way, ok, _ := shortest(&k.searched, k.c.Initial(), k.next(true), wanted); ok {
		t := trace(k.c, way)
		k.report(Opaque, t[len(t)-1].To, protocol.Move{}, t, "that an end can be reached depends on what only the running protocol can tell: %s", t.assumed())
	}
}
