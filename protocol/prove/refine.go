package prove

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// A Clause is one of the demands of refinement.
type Clause string

// The clauses.
const (
	Outputs   Clause = "outputs"   // the agent does nothing that the other protocol does not let it do
	Inputs    Clause = "inputs"    // whatever the other protocol lets others do is borne
	Quiet     Clause = "quiet"     // after more than that, nothing is called that cannot be undone or needs an approval
	Ends      Clause = "ends"      // what ends, ends there in the same way
	Stuck     Clause = "stuck"     // it does not stop where the other goes on
	Effects   Clause = "effects"   // no tool is said to do less
	Approvals Clause = "approvals" // no approval is easier to get, or lasts longer
	Budgets   Clause = "budgets"   // no limit is higher, no reserve lower
	Policies  Clause = "policies"  // nothing that is not recognized passes that did not
	Registers Clause = "registers" // captures, timers and instances are the same
)

// A Counterexample shows that one protocol, the child, does not refine another, the
// parent.
type Counterexample struct {
	Clause  Clause
	Message string
	Child   protocol.State  // where the child is before what is wrong
	Parent  protocol.State  // where the parent is
	Trace   Trace           // a shortest run; of Inputs one of the parent that the child refuses, else one of the child
	Allowed []protocol.Move // what the parent lets the agent do there; of other clauses than Outputs, what it lets anybody do
}

// Error makes an error of it.
func (x *Counterexample) Error() string {
	if len(x.Trace) == 0 {
		return fmt.Sprintf("%s: %s", x.Clause, x.Message)
	}
	return fmt.Sprintf("%s: %s, after %s", x.Clause, x.Message, x.Trace)
}

// MarshalJSON writes it for programs.
func (x *Counterexample) MarshalJSON() ([]byte, error) {
	type move struct {
		By protocol.Role  `json:"by"`
		On protocol.Label `json:"on"`
	}
	allowed := []move{}
	for _, m := range x.Allowed {
		allowed = append(allowed, move(m))
	}
	return json.Marshal(struct {
		Clause  Clause         `json:"clause"`
		Message string         `json:"message"`
		Child   protocol.State `json:"child,omitempty"`
		Parent  protocol.State `json:"parent,omitempty"`
		Trace   Trace          `json:"trace"`
		Allowed []move         `json:"allowed"`
	}{x.Clause, x.Message, x.Child, x.Parent, x.Trace, allowed})
}

// Refines reports whether a protocol may stand in for another, its parent: nil if it
// does, or a shortest counterexample. An agent that is held to the child is held to the
// parent, as long as others do what the parent lets them do. In protocols with roles, all
// of them are agents. What the child asks and hears about approvals that the parent does
// not have is its own affair; approvals that have one name have to be one.
func Refines(child, parent *protocol.Compiled) *Counterexample {
	r := &refiner{child: child, parent: parent, index: map[pair]int{}, grave: map[protocol.Label]bool{}}
	for _, c := range []*protocol.Compiled{child, parent} {
		if t := c.Automaton().Terms; t != nil {
			for name, tool := range t.Tools {
				if tool.Effect == protocol.Irreversible || tool.Approval != "" {
					r.grave[protocol.Label("call:"+name)] = true
				}
			}
		}
	}
	r.own = ownApprovals(child, parent)
	r.captured = map[protocol.Label]bool{}
	if t := parent.Automaton().Terms; t != nil {
		for _, c := range t.Captures {
			r.captured[c.On] = true
		}
	}
	for _, t := range parent.Automaton().Transitions {
		if m := (protocol.Move{By: t.By, On: t.On}); !bears(m) && !child.Knows(t.On) && !slices.Contains(r.unknown, m) {
			r.unknown = append(r.unknown, m)
		}
	}
	if x := r.run(); x != nil {
		return x
	}
	if x := r.counted(); x != nil {
		return x
	}
	return refineTerms(child, parent)
}

// ownApprovals returns the child's moves about approvals that the parent has nothing to
// do with. That somebody has to agree first makes a protocol stricter; what is asked and
// answered about it is no part of the parent's conversation.
func ownApprovals(child, parent *protocol.Compiled) map[protocol.Move]bool {
	known := map[string]bool{}
	for _, t := range parent.Automaton().Transitions {
		known[approvalOf(t.On)] = true
	}
	own := map[protocol.Move]bool{}
	for _, t := range child.Automaton().Transitions {
		if name := approvalOf(t.On); name != "" && !known[name] {
			own[protocol.Move{By: t.By, On: t.On}] = true
		}
	}
	return own
}

// approvalOf returns the approval that a label is about, or "".
func approvalOf(l protocol.Label) string {
	switch kind, name, _ := strings.Cut(string(l), ":"); kind {
	case "ask", "grant", "deny", "expire":
		return name
	}
	return ""
}

// Equivalent reports whether each of two protocols may stand in for the other: nil and
// nil, or why a does not refine b, and b not a.
func Equivalent(a, b *protocol.Compiled) (ab, ba *Counterexample) {
	return Refines(a, b), Refines(b, a)
}

// A pair is a state of the child and one of the parent. Detached is what the child does
// after something that the parent does not know, while the parent waits.
type pair struct {
	child, parent int
	detached      bool
}

// A fault is why a pair is not related, if that is seen from the pair alone.
type fault struct {
	clause  Clause
	message string
	last    *arc // nil: it lies in the states
}

func (f *fault) cost() int {
	if f.last == nil {
		return 0
	}
	return 1
}

// A node is a pair and what follows from it.
type node struct {
	pair
	from  int // the first that led here, -1 at the beginning
	by    arc
	fault *fault
	twin  int // of a detached pair, the pair that is not
	next  []link
	bad   bool
}

type link struct {
	arc arc
	to  int
}

type refiner struct {
	child, parent *protocol.Compiled
	grave         map[protocol.Label]bool // calls that must not follow what the parent does not know
	nodes         []node
	index         map[pair]int
	own           map[protocol.Move]bool  // of approvals that only the child has: it goes on, and the parent waits
	captured      map[protocol.Label]bool // events from which the parent takes a value
	unknown       []protocol.Move         // what agents may do in the parent, and the child does not know
	near          int                     // the first pair whose states have a fault, or -1
	detached      bool                    // there are such pairs
}

// run searches the pairs that follow from the initial one. Without detached ones the
// first fault is the nearest. Otherwise a detached pair is bad only if the pair itself
// is bad, too: a child that has come back to what the parent allows is fine.
func (r *refiner) run() *Counterexample {
	r.near = -1
	r.add(pair{child: r.child.Initial(), parent: r.parent.Initial()}, -1, arc{})
	for i := 0; i < len(r.nodes); i++ {
		before := r.detached
		switch {
		case r.nodes[i].detached:
			r.drift(i)
		case r.nodes[i].fault == nil:
			r.expand(i)
		}
		if r.detached && !before {
			// What follows from the pairs so far was not kept: it seldom matters.
			r.nodes, r.near, i = r.nodes[:0], -1, -1
			clear(r.index)
			r.add(pair{child: r.child.Initial(), parent: r.parent.Initial()}, -1, arc{})
			continue
		}
		bad := r.near
		if bad < 0 && r.nodes[i].fault != nil {
			bad = i
		}
		if bad >= 0 && !r.detached {
			return r.counterexample(r.back(bad), r.nodes[bad].fault, r.nodes[bad].pair)
		}
	}
	if !r.detached {
		return nil
	}
	return r.solve()
}

// back returns how a node was met first.
func (r *refiner) back(i int) (way []arc) {
	for ; r.nodes[i].from >= 0; i = r.nodes[i].from {
		way = append(way, r.nodes[i].by)
	}
	slices.Reverse(way)
	return way
}

// add returns the number of a pair. What is wrong with its states is seen here, so that
// it comes before what is wrong with later events.
func (r *refiner) add(p pair, from int, by arc) int {
	if i, known := r.index[p]; known {
		return i
	}
	n := node{pair: p, from: from, by: by, twin: -1}
	if p.detached {
		r.detached = true // and stays so
	} else {
		n.fault = r.states(p)
	}
	i := len(r.nodes)
	if n.fault != nil && r.near < 0 {
		r.near = i
	}
	r.index[p] = i
	r.nodes = append(r.nodes, n)
	return i
}

// states compares two states without what follows.
func (r *refiner) states(p pair) *fault {
	mine, theirs := r.child.End(p.child), r.parent.End(p.parent)
	c, q := r.child.State(p.child), r.parent.State(p.parent)
	switch {
	case mine != "" && mine != theirs && theirs == "":
		return &fault{Ends, fmt.Sprintf("%s ends in %s, and %s of the parent is no end", c, mine, q), nil}
	case mine != "" && mine != theirs:
		return &fault{Ends, fmt.Sprintf("%s ends in %s, and %s of the parent in %s", c, mine, q, theirs), nil}
	case mine == "" && theirs == "" && len(r.child.Moves(p.child)) == 0 && len(r.parent.Moves(p.parent)) > 0:
		return &fault{Stuck, fmt.Sprintf("nothing can happen in %s, and %s of the parent goes on", c, q), nil}
	}
	if b, limited := r.parent.Automaton().Budgets[r.parent.Automaton().Whole(q)]; limited {
		if name, ok := within(limits(r.child.Automaton().Budgets[r.child.Automaton().Whole(c)]), limits(b)); !ok {
			return &fault{Budgets, fmt.Sprintf("the state %s may use more %s than %s of the parent", c, name, q), nil}
		}
	}
	return nil
}

// expand compares what follows from two states.
func (r *refiner) expand(i int) {
	p := r.nodes[i].pair
	fail := func(clause Clause, a arc, format string, args ...any) {
		// Of several, a call shows best what is wrong.
		if f := r.nodes[i].fault; f == nil || toolOf(f.last.move.On) == "" && toolOf(a.move.On) != "" {
			r.nodes[i].fault = &fault{clause, fmt.Sprintf(format, args...), &a}
		}
	}
	moves := slices.Clip(r.child.Moves(p.child))
	for _, m := range r.unknown {
		if r.child.Passes(p.child, m) {
			moves = append(moves, m)
		}
	}
	for _, m := range r.parent.Moves(p.parent) {
		if bears(m) && r.child.Passes(p.child, m) {
			moves = append(moves, m)
		}
	}
	for _, m := range moves {
		if r.own[m] {
			if r.captured[m.On] {
				fail(Registers, arc{p.child, -1, m, nil}, "in %s a value is taken from %s, of which the parent knows nothing", r.child.State(p.child), m.On)
				continue
			}
			r.child.Decision(p.child, m).Cases(func(to int, when protocol.Condition) bool {
				if to >= 0 {
					r.link(i, arc{p.child, to, m, when}, pair{to, p.parent, false})
				}
				return true
			})
			continue
		}
		protocol.Both(r.child.Does(p.child, m), r.parent.Does(p.parent, m), func(to, follow int, when protocol.Condition) bool {
			a := arc{p.child, to, m, when}
			switch {
			case to < 0 || !possible(when):
			case follow >= 0:
				r.link(i, a, pair{to, follow, false})
			case !bears(m):
				fail(Outputs, a, "in %s the agent may do %s%s, in %s of the parent it may not", r.child.State(p.child), m.On, where(when), r.parent.State(p.parent))
			case r.captured[m.On]:
				fail(Registers, a, "in %s a value is taken from %s, which %s of the parent does not expect", r.child.State(p.child), m.On, r.parent.State(p.parent))
			default:
				r.link(i, a, pair{to, p.parent, true})
			}
			return true
		})
	}
	for _, m := range r.parent.Moves(p.parent) {
		if !bears(m) {
			continue
		}
		protocol.Both(r.child.Does(p.child, m), r.parent.Decision(p.parent, m), func(to, follow int, when protocol.Condition) bool {
			if to < 0 && follow >= 0 && possible(when) {
				fail(Inputs, arc{p.child, -1, m, when}, "in %s nobody expects %s%s, in %s of the parent it may happen", r.child.State(p.child), m.On, where(when), r.parent.State(p.parent))
				return false
			}
			return true
		})
	}
}

// bears reports whether a move happens to whoever is held to the protocol. In a protocol
// with roles, all of them are.
func bears(m protocol.Move) bool { return m.By == protocol.Environment || m.By == protocol.Clock }

func where(when protocol.Condition) string {
	if len(when) == 0 {
		return ""
	}
	return " where " + when.String()
}

func (r *refiner) link(i int, a arc, p pair) {
	if to := r.add(p, i, a); r.detached {
		r.nodes[i].next = append(r.nodes[i].next, link{a, to})
	}
}

// drift follows the child while the parent waits.
func (r *refiner) drift(i int) {
	p := r.nodes[i].pair
	r.nodes[i].twin = r.add(pair{p.child, p.parent, false}, i, r.nodes[i].by)
	for _, m := range r.child.Moves(p.child) {
		r.child.Decision(p.child, m).Cases(func(to int, when protocol.Condition) bool {
			if to < 0 {
				return true
			}
			a := arc{p.child, to, m, when}
			if !bears(m) && r.grave[m.On] && r.nodes[i].fault == nil {
				r.nodes[i].fault = &fault{Quiet, fmt.Sprintf("in %s the agent may do %s, after something that %s of the parent does not expect", r.child.State(p.child), m.On, r.parent.State(p.parent)), &a}
			}
			r.link(i, a, pair{to, p.parent, true})
			return true
		})
	}
}

// solve finds the bad pairs and a shortest way from the first of them to a fault.
func (r *refiner) solve() *Counterexample {
	before := make([][]int, len(r.nodes))
	for i, n := range r.nodes {
		for _, l := range n.next {
			before[l.to] = append(before[l.to], i)
		}
		if n.detached {
			before[n.twin] = append(before[n.twin], i)
		}
	}
	var queue []int
	mark := func(i int) {
		n := &r.nodes[i]
		if n.bad || n.detached && !r.nodes[n.twin].bad {
			return
		}
		if n.fault != nil || slices.ContainsFunc(n.next, func(l link) bool { return r.nodes[l.to].bad }) {
			n.bad = true
			queue = append(queue, i)
		}
	}
	for i := range r.nodes {
		mark(i)
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range before[i] {
			mark(j)
		}
	}
	if !r.nodes[0].bad {
		return nil
	}
	way, i := r.nearest()
	return r.counterexample(way, r.nodes[i].fault, r.nodes[i].pair)
}

// nearest returns a shortest way through bad nodes to a fault, and the node with it.
func (r *refiner) nearest() ([]arc, int) {
	type step struct{ from, link int }
	seen := map[int]step{0: {from: -1}}
	level := []int{0}
	best := -1 // a fault in an event of this level's
	for {
		var next []int
		for _, i := range level {
			if f := r.nodes[i].fault; f != nil && f.cost() == 0 {
				best = i
				break
			}
		}
		for _, i := range level {
			if best >= 0 {
				break
			}
			if r.nodes[i].fault != nil {
				best = i
			}
		}
		if best >= 0 {
			var way []arc
			for i := best; seen[i].from >= 0; i = seen[i].from {
				way = append(way, r.nodes[seen[i].from].next[seen[i].link].arc)
			}
			slices.Reverse(way)
			return way, best
		}
		for _, i := range level {
			for k, l := range r.nodes[i].next {
				if _, known := seen[l.to]; !known && r.nodes[l.to].bad {
					seen[l.to] = step{i, k}
					next = append(next, l.to)
				}
			}
		}
		level = next
	}
}

func (r *refiner) counterexample(way []arc, f *fault, p pair) *Counterexample {
	if f.last != nil {
		way = append(way, *f.last)
	}
	x := &Counterexample{Clause: f.clause, Message: f.message, Child: r.child.State(p.child), Parent: r.parent.State(p.parent), Trace: trace(r.child, way)}
	for _, m := range r.parent.Moves(p.parent) {
		if !bears(m) || f.clause != Outputs {
			x.Allowed = append(x.Allowed, m)
		}
	}
	return x
}

// Verify replays a counterexample about the order of events, and reports whether it
// is one: the child and the parent say what it says they do. Of other clauses there is
// nothing to replay.
func (x *Counterexample) Verify(child, parent *protocol.Compiled) error {
	mine, myEnd, err := Replay(child, x.Trace)
	if err != nil {
		return fmt.Errorf("replaying a counterexample: %w", err)
	}
	own := ownApprovals(child, parent)
	shared := slices.DeleteFunc(slices.Clone(x.Trace), func(s Step) bool { return own[s.Move] })
	theirs, theirEnd, err := Replay(parent, shared)
	if err != nil {
		return fmt.Errorf("replaying a counterexample: %w", err)
	}
	a, b := firstRefused(mine), firstRefused(theirs)
	ok := true
	switch x.Clause {
	case Outputs:
		ok = a < 0 && b == len(shared)-1
	case Quiet:
		ok = a < 0 && b >= 0
	case Inputs:
		ok = b < 0 && a == len(x.Trace)-1
	case Ends:
		ok = a < 0 && b < 0 && myEnd != theirEnd
	case Stuck:
		ok = a < 0 && b < 0 && theirEnd == ""
	}
	if !ok {
		return fmt.Errorf("replaying a counterexample: the child refuses event %d, the parent event %d of %s", a+1, b+1, x.Trace)
	}
	return nil
}

func firstRefused(list []protocol.Verdict) int {
	return slices.IndexFunc(list, func(v protocol.Verdict) bool { return v.Kind != protocol.Ok })
}

// A Difference is a run that one protocol has and another has not.
type Difference struct {
	Trace Trace          `json:"trace"`
	State protocol.State `json:"state"` // where the other refuses the last event, or has another end
}

// Diff returns a shortest run of a that b does not have, and one of b that a does not
// have, whoever causes its events; nil if there is none. A run that ends otherwise
// counts.
func Diff(a, b *protocol.Compiled) (onlyA, onlyB *Difference) {
	return lacks(a, b), lacks(b, a)
}

// lacks returns a shortest run of a that b lacks.
func lacks(a, b *protocol.Compiled) *Difference {
	r := &refiner{child: a, parent: b, index: map[pair]int{}}
	r.add(pair{child: a.Initial(), parent: b.Initial()}, -1, arc{})
	for i := 0; i < len(r.nodes); i++ {
		p := r.nodes[i].pair
		if end := a.End(p.child); end != "" && end != b.End(p.parent) {
			return &Difference{trace(a, r.back(i)), b.State(p.parent)}
		}
		var found *Difference
		for _, m := range a.Moves(p.child) {
			if !protocol.Both(a.Decision(p.child, m), b.Does(p.parent, m), func(to, follow int, when protocol.Condition) bool {
				if to < 0 || !possible(when) {
					return true
				}
				if follow < 0 {
					found = &Difference{trace(a, append(r.back(i), arc{p.child, to, m, when})), b.State(p.parent)}
					return false
				}
				r.link(i, arc{p.child, to, m, when}, pair{to, follow, false})
				return true
			}) {
				return found
			}
		}
	}
	return nil
}

// Labels writes moves for people, as traces are written.
func Labels(list []protocol.Move) string {
	var all []string
	for _, m := range list {
		all = append(all, spell(m))
	}
	if all == nil {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
