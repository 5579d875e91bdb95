package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Used, held and free are together what there was, whatever happens; what is kept back
// and what is free never go below nothing by what the agent does.
func TestEscrow(t *testing.T) {
	a := budgeted()
	a.Terms.Budget.Strikes = 0
	c := compiled(t, a)
	random := rand.New(rand.NewPCG(11, 12))
	handed, refused := 0, 0
	for range 60 {
		m, err := NewMonitor(c, MonitorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		var out []Budget
		for range 60 {
			before := m.Balances()
			switch random.IntN(8) {
			case 0:
				part := Budget{Calls: int64(random.IntN(8)), Money: map[string]string{"EUR": []string{"0.5", "2", "3"}[random.IntN(3)]}}
				if err := m.HandOff(part); err != nil {
					refused++
					if diff := cmp.Diff(fmt.Sprint(before), fmt.Sprint(m.Balances())); diff != "" {
						t.Fatal(diff)
					}
					break
				}
				handed++
				out = append(out, part)
				for name, x := range c.reserve {
					if m.Balances()[name].Free.Cmp(x) < 0 {
						t.Fatalf("the reserve of %s was handed off", name)
					}
				}
			case 1:
				if len(out) == 0 {
					break
				}
				i := random.IntN(len(out))
				used := Budget{Calls: int64(random.IntN(int(out[i].Calls) + 1)), Money: map[string]string{"EUR": []string{"0.4", "0.5"}[random.IntN(2)]}}
				if err := m.Settle(out[i], Budget{Calls: out[i].Calls + 1}); err == nil {
					t.Fatal("more was settled than handed off")
				}
				if err := m.Settle(out[i], used); err != nil {
					t.Fatal(err)
				}
				out = slices.Delete(out, i, i+1)
			default:
				e := randomEvent(t, random, &now)
				v := m.Step(e)
				if v.Kind == Ok && e.By == Agent {
					for name, b := range m.Balances() {
						if b.Used.Cmp(before[name].Used) > 0 && b.Free.Sign() < 0 {
							t.Fatalf("%s is overspent by %v", name, e)
						}
					}
				}
			}
			for name, b := range m.Balances() {
				sum := b.Used.Add(b.Used, b.Held)
				if sum.Add(sum, b.Free).Cmp(b.Total) != 0 || b.Held.Sign() < 0 {
					t.Fatalf("%s: %v", name, b)
				}
			}
		}
	}
	if handed < 50 || refused < 50 {
		t.Errorf("%d handed, %d refused", handed, refused)
	}
	m := monitor(t, a, MonitorOptions{})
	for what, part := range map[string]Budget{"another currency": {Money: map[string]string{"USD": "1"}}, "no number": {Money: map[string]string{"EUR": "-1"}}} {
		if err := m.HandOff(part); err == nil {
			t.Errorf("handed off %s", what)
		}
	}
	if err := m.Settle(Budget{Calls: 1}, Budget{}); err == nil {
		t.Error("settled what was not handed off")
	}
}

func TestBudgets(t *testing.T) {
	loop := func(spoil func(*Automaton)) *Automaton {
		a := &Automaton{
			Name: "loop", Initial: "s", States: []State{"s", "s·t"}, Part: map[State]State{"s·t": "s"},
			Transitions: []Transition{
				{From: "s", On: "call:t", By: Agent, To: "s·t"}, {From: "s·t", On: "ret:t:ok", By: Environment, To: "s"},
				{From: "s", On: "call:close", By: Agent, To: "s"}, {From: "s·t", On: "call:close", By: Agent, To: "s"},
				{From: "s", On: "say:x", By: Agent, To: "s"},
			},
			Terms: &Terms{},
		}
		spoil(a)
		return a
	}
	call := func(tool string, used Used) Event {
		return Event{Move: Move{Agent, Label("call:" + tool)}, Used: used, Time: noon}
	}
	done := Event{Move: Move{Environment, "ret:t:ok"}, Time: noon}
	for _, test := range []struct {
		name   string
		spoil  func(*Automaton)
		events []Event
		want   string // of the last, all others are legal
	}{
		{"calls", func(a *Automaton) { a.Terms.Budget.Calls = 2 }, []Event{call("t", Used{}), done, call("t", Used{}), done, call("t", Used{})}, "calls"},
		{"calls are not what is said", func(a *Automaton) { a.Terms.Budget.Calls = 1 }, []Event{call("t", Used{}), done, act("!say:x")}, ""},
		{"calls of a state, its parts together", func(a *Automaton) { a.Budgets = map[State]Budget{"s": {Calls: 2}} }, []Event{call("t", Used{}), call("close", Used{}), call("t", Used{})}, "calls in s"},
		{"tokens of a state", func(a *Automaton) { a.Budgets = map[State]Budget{"s": {Tokens: 5}} }, []Event{call("t", Used{Tokens: 6})}, "tokens in s"},
		{"wall of a state", func(a *Automaton) { a.Budgets = map[State]Budget{"s": {Wall: time.Minute}} }, []Event{call("t", Used{}), done, {Move: Move{Agent, "say:x"}, Time: noon.Add(time.Minute)}}, "wall in s"},
		{"bytes of results", func(a *Automaton) { a.Terms.Budget.Bytes = 10 }, []Event{call("t", Used{}), {Move: done.Move, Used: Used{Bytes: 11}}, call("t", Used{})}, "bytes"},
		{"what needs nothing of what is overspent", func(a *Automaton) { a.Terms.Budget.Bytes = 10 }, []Event{call("t", Used{}), {Move: done.Move, Used: Used{Bytes: 11}}, act("!say:x")}, ""},
		{"tokens", func(a *Automaton) { a.Terms.Budget.Tokens = 10 }, []Event{call("t", Used{Tokens: 10}), done, {Move: Move{Agent, "say:x"}, Used: Used{Tokens: 1}}}, "tokens"},
		{"wall", func(a *Automaton) { a.Terms.Budget.Wall = time.Minute }, []Event{call("t", Used{}), {Move: done.Move, Time: noon.Add(time.Minute)}, {Move: Move{Agent, "call:t"}, Time: noon.Add(time.Minute)}}, "wall"},
		{"money", func(a *Automaton) { a.Terms.Budget.Money = map[string]string{"EUR": "1.00"} }, []Event{call("t", Used{Money: "0.99", Currency: "EUR"}), done, call("t", Used{Money: "0.02", Currency: "EUR"})}, "money EUR"},
		{"money to the cent", func(a *Automaton) { a.Terms.Budget.Money = map[string]string{"EUR": "0.30"} }, []Event{call("t", Used{Money: "0.10", Currency: "EUR"}), done, call("t", Used{Money: "0.20", Currency: "EUR"})}, ""},
		{"another currency", func(a *Automaton) { a.Terms.Budget.Money = map[string]string{"EUR": "1.00"} }, []Event{call("t", Used{Money: "0.01", Currency: "USD"})}, "money USD"},
		{"an amount that is none", func(a *Automaton) { a.Terms.Budget.Money = map[string]string{"EUR": "1.00"} }, []Event{call("t", Used{Money: "-1", Currency: "EUR"})}, "money EUR"},
		{"what is kept back", func(a *Automaton) {
			a.Terms.Budget.Calls, a.Terms.Reserve.Calls, a.Terms.ReserveFor = 2, 1, []string{"close"}
		}, []Event{call("t", Used{}), done, call("t", Used{})}, "calls"},
		{"what it is kept back for", func(a *Automaton) {
			a.Terms.Budget.Calls, a.Terms.Reserve.Calls, a.Terms.ReserveFor = 2, 1, []string{"close"}
		}, []Event{call("t", Used{}), done, call("close", Used{})}, ""},
		{"no budgets", func(a *Automaton) { a.Terms = nil }, []Event{call("t", Used{Tokens: 1 << 40, Money: "x"}), done}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := monitor(t, loop(test.spoil), MonitorOptions{})
			for i, e := range test.events {
				v := m.Step(e)
				if last := i == len(test.events)-1; !last && v.Kind != Ok || last && (v.Budget != test.want || (v.Kind == Ok) != (test.want == "")) {
					t.Errorf("event %d: %v, budget %q, want %q", i, v, v.Budget, test.want)
				}
				if v.Budget != "" && v.Reason != OverSpent {
					t.Errorf("the reason is %q", v.Reason)
				}
			}
		})
	}
	if _, err := Compile(loop(func(a *Automaton) { a.Terms.Budget.Money = map[string]string{"EUR": "1,00"} })); err == nil {
		t.Error("1,00 is an amount")
	}
}
