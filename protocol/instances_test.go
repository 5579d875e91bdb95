package protocol

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cancelling is a protocol with an instance for each order: a cancellation is shown,
// confirmed and done.
func cancelling() *Automaton {
	return &Automaton{
		Name: "cancelling", Initial: "talk", States: []State{"talk", "shown", "sure", "sure·cancel", "done"}, Ends: map[State]End{"done": Success},
		Part: map[State]State{"sure·cancel": "sure"},
		Transitions: []Transition{
			{From: "talk", On: "call:find", By: Agent, To: "talk"},
			{From: "talk", On: "call:show", By: Agent, To: "shown"},
			{From: "shown", On: "hear:yes", By: Environment, To: "sure"},
			{From: "talk", On: "signal:stop", By: Environment, To: "done"},
			{From: "shown", On: "signal:stop", By: Environment, To: "done"},
			{From: "shown", On: "hear:other", By: Environment, To: "shown"},
			{From: "sure", On: "call:cancel", By: Agent, To: "sure·cancel"},
			{From: "sure·cancel", On: "ret:cancel:ok", By: Environment, To: "done"},
		},
		Terms: &Terms{
			Tools:    map[string]Tool{"find": {Effect: Reads}, "show": {}, "cancel": {Effect: Irreversible}},
			Instance: &Instance{Key: "/arguments/order", Scope: []string{"show", "cancel"}},
			Budget:   Budget{Calls: 20, Strikes: 6},
		},
	}
}

func TestInstances(t *testing.T) {
	c := compiled(t, cancelling())
	for _, test := range []struct{ name, events, want string }{
		{"one", "!call:show/A ?hear:yes !call:cancel/A ?ret:cancel:ok/A", `"A" ok, "A" ok, "A" ok, "A" ok`},
		{"what is confirmed for one unlocks nothing for another", "!call:show/A ?hear:yes !call:show/B !call:cancel/B !call:cancel/A", `"A" ok, "A" ok, "B" ok, "B" violation, "A" ok`},
		{"which one is meant, nobody can tell", "!call:show/A !call:show/B ?hear:yes !call:cancel/A", `"A" ok, "B" ok,  unrecognized, "A" violation`},
		{"which one is meant, the event says", "!call:show/A !call:show/B ?hear:yes/B !call:cancel/A !call:cancel/B", `"A" ok, "B" ok, "B" ok, "A" violation, "B" ok`},
		{"what moves none is for all", "!call:show/A !call:show/B ?hear:other !call:find", `"A" ok, "B" ok, "A" ok,  ok`},
		{"what is for all, moves all", "!call:show/A ?signal:stop !call:show/A !call:find", `"A" ok,  ok, "A" blocked ended,  blocked ended`},
		{"what happened once does not happen again", "!call:show/A ?hear:yes !call:cancel/A ?ret:cancel:ok/A !call:show/A !call:cancel/A", `"A" ok, "A" ok, "A" ok, "A" ok, "A" blocked ended, "A" blocked ended`},
		{"a call without its key", "!call:show !call:show/A", ` unrecognized, "A" ok`},
		{"a key that is no scalar", "!call:show/[1] !call:show/" + strings.Repeat("x", 300), ` unrecognized,  unrecognized`},
		{"a refused call begins nothing", "!call:cancel/A !call:cancel/B !call:cancel/C !call:show/D", `"A" violation, "B" violation, "C" violation, "D" ok`},
		{"too many", "!call:show/A !call:show/B !call:show/C !call:show/D !call:find", `"A" ok, "B" ok, "C" ok, "D" blocked instances,  ok`},
		{"one budget of strikes", "!call:cancel/A !call:cancel/A !call:cancel/A !call:cancel/B !call:cancel/B !call:cancel/B !call:show/C", `"A" violation, "A" violation, "A" violation, "B" violation, "B" violation, "B" violation, "C" blocked halted`},
		{"what is common and illegal", "!call:show/A ?ret:cancel:ok !hear:yes", `"A" ok,  unrecognized,  violation`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var after []string
			s, err := NewMonitors(c, MonitorOptions{After: func(_ Event, v Verdict) { after = append(after, v.Instance) }}, 3)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, text := range strings.Fields(test.events) {
				v := s.Step(keyed(t, text))
				got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s %s", v.Instance, v.Kind, v.Reason), " "))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
			if len(after) != len(got) {
				t.Errorf("%d verdicts were told, want %d", len(after), len(got))
			}
		})
	}
}

// keyed makes an event of a move and a key after a slash.
func keyed(tb testing.TB, text string) Event {
	move, key, has := strings.Cut(text, "/")
	e := act(move)
	if !has {
		return e
	}
	if !strings.HasPrefix(key, "[") {
		key = fmt.Sprintf("%q", key)
	}
	if e.By == Environment {
		e.Instance = key
	} else {
		e.Doc = value(tb, `{"arguments":{"order":`+key+`}}`)
	}
	return e
}

func TestInstancesOfNone(t *testing.T) {
	a := cancelling()
	a.Terms.Instance = nil
	s, err := NewMonitors(compiled(t, a), MonitorOptions{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if v := s.Step(keyed(t, "!call:show/A")); v.Kind != Ok || v.Instance != "" || s.Common().State() != "shown" || len(s.Instances()) != 0 {
		t.Errorf("got %+v in %s", v, s.Common().State())
	}
}

// Restored instances go on as those that were not interrupted.
func TestInstancesRecover(t *testing.T) {
	c := compiled(t, cancelling())
	random := rand.New(rand.NewPCG(13, 14))
	moves := []string{"!call:find", "!call:show/A", "!call:show/B", "!call:show/C", "?hear:yes/A", "?hear:yes", "!call:cancel/A", "?ret:cancel:ok/A", "?hear:other", "?hear:yes/B", "!call:cancel/B", "!what"}
	for range 50 {
		live, err := NewMonitors(c, MonitorOptions{}, 3)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			snapshot, err := live.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			again, err := RestoreMonitors(c, MonitorOptions{}, 3, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			e := keyed(t, moves[random.IntN(len(moves))])
			if diff := cmp.Diff(live.Step(e), again.Step(e)); diff != "" {
				t.Fatal(diff)
			}
			one, _ := live.Snapshot()
			two, _ := again.Snapshot()
			if !one.Equal(two) || one.Len() == 0 {
				t.Fatalf("got\n%s, want\n%s", two, one)
			}
		}
	}
	s, err := NewMonitors(c, MonitorOptions{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	s.Step(keyed(t, "!call:show/A"))
	s.Step(keyed(t, "!call:show/B"))
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreMonitors(c, MonitorOptions{}, 1, snapshot); err == nil {
		t.Error("restored more instances than are kept")
	}
	if _, err := Restore(c, MonitorOptions{}, snapshot); err == nil {
		t.Error("restored one monitor from instances")
	}
}
