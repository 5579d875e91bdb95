package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
)

// door is the smallest automaton with a role, a guard and two outcomes.
func door() *protocol.Automaton {
	return &protocol.Automaton{
		Name: "door", Initial: "shut", States: []protocol.State{"shut", "open", "gone"},
		Transitions: []protocol.Transition{
			{From: "shut", On: "push", By: "anyone", If: "unlocked", To: "open"},
			{From: "shut", On: "push", By: "anyone", To: "shut"},
			{From: "shut", On: "knock", By: "anyone", To: "shut"},
			{From: "open", On: "pull", By: "owner", To: "shut"},
			{From: "open", On: "burn", By: "anyone", To: "gone"},
		},
	}
}

func TestStep(t *testing.T) {
	d := door()
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from  protocol.State
		on    protocol.Label
		role  protocol.Role
		guard protocol.Guard
		want  protocol.State
		ok    bool
	}{
		{"shut", "push", "anyone", "unlocked", "open", true},
		{"shut", "push", "anyone", "", "shut", true},
		{"shut", "push", "nobody", "unlocked", "", false},
		{"shut", "pull", "owner", "", "", false},
		{"open", "pull", "owner", "", "shut", true},
		{"open", "pull", "anyone", "", "", false},
		{"gone", "push", "anyone", "unlocked", "", false},
	} {
		got, ok := d.Step(test.from, test.on, func(r protocol.Role, g protocol.Guard) bool {
			return r == test.role && (g == "" || g == test.guard)
		})
		if got != test.want || ok != test.ok {
			t.Errorf("Step(%s, %s, %s, %q) = %q, %t, want %q, %t", test.from, test.on, test.role, test.guard, got, ok, test.want, test.ok)
		}
	}
}

func TestAllows(t *testing.T) {
	if door().Allows("open", "pull", "anyone") || !door().Allows("open", "pull", "owner") {
		t.Error("Allows does not tell roles apart")
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*protocol.Automaton)
		want  string
	}{
		{"repeated state", func(a *protocol.Automaton) { a.States = append(a.States, "open") }, "listed twice"},
		{"unreachable state", func(a *protocol.Automaton) { a.States = append(a.States, "moon") }, "moon cannot be reached"},
		{"unknown state", func(a *protocol.Automaton) { a.Transitions[0].To = "mars" }, "not listed"},
		{"hidden by the same guard", func(a *protocol.Automaton) { a.Transitions[1].If = "unlocked" }, "hidden"},
		{"hidden by no guard", func(a *protocol.Automaton) { a.Transitions[0].If = "" }, "hidden"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := door()
			test.spoil(a)
			if err := a.Validate(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Validate() = %v, want something with %q", err, test.want)
			}
		})
	}
}

func ExampleAutomaton_Table() {
	fmt.Print(door().Table())
	// Output:
	// | From | On | By | If | To |
	// |------|----|----|----|----|
	// | shut | `push` | anyone | unlocked | open |
	// | shut | `push`, `knock` | anyone |  | shut |
	// | open | `pull` | owner |  | shut |
	// | open | `burn` | anyone |  | gone |
}

func ExampleAutomaton_DOT() {
	fmt.Print(door().DOT())
	// Output:
	// digraph "door" {
	// 	rankdir=LR;
	// 	node [shape=box, style=rounded];
	// 	"shut" [shape=point];
	// 	"open";
	// 	"gone";
	// 	"shut" -> "open" [label="anyone\npush\n[unlocked]"];
	// 	"shut" -> "shut" [label="anyone\npush\nknock"];
	// 	"open" -> "shut" [label="owner\npull"];
	// 	"open" -> "gone" [label="anyone\nburn"];
	// }
}
