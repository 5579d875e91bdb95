package prove_test

import (
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
)

// TestRefinesTogether has what is demanded of states and events together: each child
// does something that the parent refuses, or bears less.
func TestRefinesTogether(t *testing.T) {
	reads := map[string]protocol.Tool{"look": {Effect: protocol.Reads}}
	for _, test := range []struct {
		name          string
		child, parent string
		both          *protocol.Terms                         // terms of both
		edit          func(child, parent *protocol.Automaton) // what else
		clause        prove.Clause
	}{
		{
			name: "a budget shared out", child: "a !x b\n b !x a\n b !y done", parent: "a !x a\n a !y done",
			edit: func(c, p *protocol.Automaton) {
				c.Budgets = map[protocol.State]protocol.Budget{"a": {Calls: 2}, "b": {Calls: 2}}
				p.Budgets = map[protocol.State]protocol.Budget{"a": {Calls: 3}}
			},
			clause: prove.Budgets,
		},
		{
			name: "a budget shared out and kept", child: "a !x b\n b !x a\n b !y done", parent: "a !x a\n a !y done",
			edit: func(c, p *protocol.Automaton) {
				c.Budgets = map[protocol.State]protocol.Budget{"a": {Calls: 2}, "b": {Calls: 1}}
				p.Budgets = map[protocol.State]protocol.Budget{"a": {Calls: 3}}
			},
		},
		{
			name: "time begins again", child: "a !x b\n b !x a\n b !y done", parent: "a !x a\n a !y done",
			edit: func(c, p *protocol.Automaton) {
				c.Budgets = map[protocol.State]protocol.Budget{"a": {Wall: 1}, "b": {Wall: 1}}
				p.Budgets = map[protocol.State]protocol.Budget{"a": {Wall: 2}}
			},
			clause: prove.Budgets,
		},
		{
			name: "a timer begins again", child: "a !x b\n b !x a\n a @timer:late failed\n b @timer:late failed", parent: "a !x a\n a @timer:late failed",
			edit: func(c, p *protocol.Automaton) {
				c.Terms = &protocol.Terms{Timers: map[string]protocol.Timer{"late": {After: 5, In: "b"}}}
				p.Terms = &protocol.Terms{Timers: map[string]protocol.Timer{"late": {After: 5, In: "a"}}}
			},
			clause: prove.Registers,
		},
		{
			name: "a timer that is not declared", child: "a !x a\n a @timer:late failed", parent: "a !x a\n a @timer:late failed",
			edit: func(c, p *protocol.Automaton) {
				p.Terms = &protocol.Terms{Timers: map[string]protocol.Timer{"late": {After: 5, In: "a"}}}
			},
			clause: prove.Registers,
		},
		{
			name: "it passes because it is forgotten", child: "a !x done", parent: "a !x done\n a !call:pay nowhere",
			both: &protocol.Terms{Unrecognized: protocol.Pass}, clause: prove.Outputs,
		},
		{
			name: "it passes, and moves the parent", child: "a !x a\n a !y done", parent: "a !x a\n a !y done\n a ?hear:no b\n b !y done",
			both: &protocol.Terms{Unrecognized: protocol.Pass}, clause: prove.Outputs,
		},
		{
			name: "it passes in both", child: "a !x done", parent: "a !x done",
			both: &protocol.Terms{Unrecognized: protocol.Pass},
		},
		{
			name: "a result that the parent lets pass", child: "a !call:look a\n a ?ret:look:ok b\n b !say done", parent: "a !call:look a",
			both: &protocol.Terms{Tools: reads}, clause: prove.Outputs,
		},
		{
			name: "a value taken from more", child: "a ?quote b\n b ?quote b\n b !x done 0", parent: "a ?quote b\n b !x done 0",
			both: &protocol.Terms{Captures: map[string]protocol.Capture{"q": {On: "quote", At: "/price"}}}, clause: prove.Registers,
		},
		{
			name: "instances of one conversation", child: "a !x done", parent: "a !x done",
			edit:   func(c, p *protocol.Automaton) { c.Terms = &protocol.Terms{Instance: &protocol.Instance{Key: "/id"}} },
			clause: prove.Registers,
		},
		{
			name: "an approval by rules", child: "a !ask:ok b\n b ?grant:ok done", parent: "a !ask:ok b\n b ?grant:ok done",
			edit: func(c, p *protocol.Automaton) {
				c.Terms = &protocol.Terms{Approvals: map[string]protocol.Approval{"ok": {}}}
				p.Terms = &protocol.Terms{Approvals: map[string]protocol.Approval{"ok": {By: []string{"boss"}}}}
			},
			clause: prove.Approvals,
		},
		{
			name: "fewer currencies", child: "a !x done", parent: "a !x done",
			edit: func(c, p *protocol.Automaton) {
				c.Terms = &protocol.Terms{Budget: protocol.Budget{Money: map[string]string{"EUR": "1"}}}
				p.Terms = &protocol.Terms{Budget: protocol.Budget{Money: map[string]string{"EUR": "1.0", "USD": "5"}}}
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			equals := protocol.Condition{{At: "/price", Capture: "q"}}
			a, b := machine(t, test.child, equals), machine(t, test.parent, equals)
			if test.both != nil {
				a.Terms, b.Terms = test.both, test.both
			}
			if test.edit != nil {
				test.edit(a, b)
			}
			child, parent := compiled(t, a), compiled(t, b)
			got := prove.Clause("")
			if x := prove.Refines(child, parent); x != nil {
				got = x.Clause
				if err := x.Verify(child, parent); got == prove.Outputs && err != nil {
					t.Error(err)
				}
			}
			if got != test.clause {
				t.Errorf("Refines() = %q, want %q", got, test.clause)
			}
			if x := prove.Refines(parent, parent); x != nil {
				t.Errorf("the parent does not refine itself: %v", x)
			}
		})
	}
}
