package prove_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
)

// large makes a protocol of n states in a ring with chords, with conditions, approvals
// and invariants, in which every state leads to an end.
func large(tb testing.TB, n int) *protocol.Compiled {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	a := &protocol.Automaton{Name: "large", Initial: "s0", Ends: map[protocol.State]protocol.End{}, Terms: &protocol.Terms{
		Tools:     map[string]protocol.Tool{"t": {Effect: protocol.Irreversible, Approval: "a", Idempotency: "/id"}, "u": {Effect: protocol.Reads}},
		Approvals: map[string]protocol.Approval{"a": {}},
		Invariants: []protocol.Invariant{
			{Precedes: &protocol.Precedes{First: "grant:a", Then: "call:t", Each: true}},
			{Between: &protocol.Between{Label: "call:t", From: "grant:a", To: "deny:a"}},
			{NeverAfter: &protocol.NeverAfter{Label: "call:u", After: "hear:stop"}},
		},
		Budget: protocol.Budget{Calls: int64(2 * n)},
	}}
	state := func(i int) protocol.State { return protocol.State(fmt.Sprint("s", i%n)) }
	for i := range n {
		a.States = append(a.States, state(i))
		add := func(by protocol.Role, on protocol.Label, to int, when protocol.Condition) {
			a.Transitions = append(a.Transitions, protocol.Transition{From: state(i), By: by, On: on, When: when, To: state(to)})
		}
		low := protocol.Condition{{At: "/result/status", In: protocol.Above(float64(r.IntN(5)), true)}, {At: "/arguments/amount", In: protocol.Below(float64(r.IntN(100)), false)}}
		add(protocol.Agent, "call:u", i+1, nil)
		add(protocol.Environment, "hear:more", r.IntN(n), low)
		add(protocol.Environment, "hear:more", i+1, nil)
		add(protocol.Agent, "say:hello", r.IntN(n), low)
		add(protocol.Environment, "answer:x", r.IntN(n), nil)
	}
	a.Ends[state(n-1)] = protocol.Success
	c, err := protocol.Compile(a)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func BenchmarkCheck200(b *testing.B) {
	c := large(b, 200)
	for b.Loop() {
		prove.Check(c, nil)
	}
}

// A protocol of 500 states against one that is the same twice over is the worst there
// is of what refines: all pairs that can be reached are visited.
func BenchmarkRefines500(b *testing.B) {
	c := large(b, 500)
	for b.Loop() {
		if x := prove.Refines(c, c); x != nil {
			b.Fatal(x)
		}
	}
}

// unrelated relates every state of one protocol with every state of another.
func BenchmarkRefines500AllPairs(b *testing.B) {
	ring := func(n int) *protocol.Compiled {
		a := &protocol.Automaton{Name: "ring", Initial: "s0"}
		for i := range n {
			s, next := protocol.State(fmt.Sprint("s", i)), protocol.State(fmt.Sprint("s", (i+1)%n))
			a.States = append(a.States, s)
			a.Transitions = append(a.Transitions, protocol.Transition{From: s, By: protocol.Agent, On: "x", To: next}, protocol.Transition{From: s, By: protocol.Environment, On: "y", To: next})
		}
		c, err := protocol.Compile(a)
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	x, y := ring(500), ring(499) // 249,500 pairs
	for b.Loop() {
		if x := prove.Refines(x, y); x != nil {
			b.Fatal(x)
		}
	}
}
