package protocol

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/concordia-node/concordia/wire"
)

func monitor(tb testing.TB, a *Automaton, opts MonitorOptions) *Monitor {
	tb.Helper()
	m, err := NewMonitor(compiled(tb, a), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// act makes an event of "!label" or "?label", or of "@label" by the clock.
func act(move string) Event {
	by := map[byte]Role{'!': Agent, '?': Environment, '@': Clock}[move[0]]
	return Event{Move: Move{by, Label(move[1:])}}
}

// chainOf is the automaton of moves one after the other; the last state is an end.
func chainOf(moves ...string) *Automaton {
	a := &Automaton{Name: "line", Initial: "0", States: []State{"0"}, Ends: map[State]End{}}
	for i, move := range moves {
		from, to := State(fmt.Sprint(i)), State(fmt.Sprint(i+1))
		e := act(move)
		a.States = append(a.States, to)
		a.Transitions = append(a.Transitions, Transition{From: from, On: e.On, By: e.By, To: to})
	}
	a.Ends[a.States[len(moves)]] = Success
	return a
}

// Each move and what is said about it, in one mode.
func TestModes(t *testing.T) {
	pingPong := chainOf("!Ping", "?Pong")
	ask := &Automaton{
		Name: "ask", Initial: "s", States: []State{"s", "asked", "yes"}, Ends: map[State]End{"yes": Success},
		Transitions: []Transition{
			{From: "s", On: "Ask", By: Agent, To: "asked"},
			{From: "asked", On: "Yes", By: Environment, To: "yes"},
			{From: "asked", On: UnrecognizedLabel, By: Environment, To: "s"},
		},
	}
	for _, test := range []struct {
		name  string
		a     *Automaton
		mode  Mode
		moves string
		want  string
	}{
		{"a protocol that is kept", pingPong, Halt, "!Ping ?Pong", "ok ok"},
		{"a violation halts", pingPong, Halt, "!Ping !Pong !Anything ?Pong", "ok violation blocked:halted blocked:halted"},
		{"in halt mode nothing is unknown", pingPong, Halt, "!Anything ?Pong", "violation blocked:halted"},
		{"what nobody could classify does not halt", pingPong, Halt, "!Ping ?Unrecognized ?Pong", "ok unrecognized ok"},
		{"nothing is legal after the end", pingPong, Halt, "!Ping ?Pong !Ping", "ok ok blocked:ended"},
		{"a violation is refused and the next counts", pingPong, Enforce, "!Ping !Ping !Pong ?Pong", "ok violation violation ok"},
		{"what the protocol does not know", pingPong, Enforce, "!Anything !Ping ?Other ?Pong", "unrecognized ok unrecognized ok"},
		{"observing goes on", pingPong, Observe, "?Pong !Ping !Ping ?Pong", "violation ok violation ok"},
		{"a branch for what nobody could classify", ask, Halt, "!Ask ?Unrecognized !Ask ?Yes", "ok ok ok ok"},
		{"no such branch here", ask, Halt, "?Unrecognized !Ask ?Yes", "unrecognized ok ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := monitor(t, test.a, MonitorOptions{Mode: test.mode})
			var got []string
			for i, move := range strings.Fields(test.moves) {
				before := m.State()
				v := m.Step(act(move))
				text := string(v.Kind)
				if v.Reason != "" {
					text += ":" + string(v.Reason)
				}
				got = append(got, text)
				if v.Seq != i+1 || v.From != before || v.To != m.State() || v.Kind != Ok && v.To != v.From {
					t.Errorf("%s: %+v from %s, now %s", move, v, before, m.State())
				}
				if (v.Refusal == nil) != (v.Kind == Ok) {
					t.Errorf("%s: refusal %+v", move, v.Refusal)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: got %s, want %s", test.moves, strings.Join(got, " "), test.want)
			}
		})
	}
	if _, err := NewMonitor(compiled(t, pingPong), MonitorOptions{Mode: "strict"}); err == nil {
		t.Error("there is a mode strict")
	}
}

func TestLoop(t *testing.T) {
	a := chainOf("!Ping", "?Pong")
	a.Transitions[1].To, a.Ends, a.States = "0", nil, a.States[:2]
	m := monitor(t, a, MonitorOptions{})
	for i := range 1000 {
		if v := m.Step(act([]string{"!Ping", "?Pong"}[i%2])); v.Kind != Ok {
			t.Fatal(v)
		}
	}
}

// booking is a protocol as a document makes it.
func booking() *Automaton {
	return &Automaton{
		Name: "booking", Initial: "start", States: []State{"start", "start·search", "found", "found·book", "booked", "lost"},
		Part:     map[State]State{"start·search": "start", "found·book": "found"},
		Ends:     map[State]End{"booked": Success, "lost": Failure},
		Guidance: map[State]string{"start": "Search first."},
		Transitions: []Transition{
			{From: "start", On: "call:search", By: Agent, To: "start·search"},
			{From: "start·search", On: "ret:search:ok", By: Environment, To: "found"},
			{From: "start·search", On: "ret:search:error", By: Environment, To: "start"},
			{From: "found", On: "call:book", By: Agent, When: Condition{{At: "/arguments/flight", Capture: "flight"}}, To: "found·book"},
			{From: "found", On: "hear:no", By: Environment, To: "start"},
			{From: "found", On: "timer:idle", By: Clock, To: "lost"},
			{From: "found·book", On: "ret:book:ok", By: Environment, To: "booked"},
			{From: "found·book", On: "ret:book:error", By: Environment, To: "found"},
		},
		Terms: &Terms{
			Tools:    map[string]Tool{"search": {Effect: Writes}, "book": {Effect: Irreversible}, "look": {Effect: Reads}},
			Captures: map[string]Capture{"flight": {On: "ret:search:ok", At: "/flight"}},
			Timers:   map[string]Timer{"idle": {After: time.Minute, In: "found"}},
		},
	}
}

func TestRefusal(t *testing.T) {
	m := monitor(t, booking(), MonitorOptions{})
	v := m.Step(act("!call:book"))
	want := &Refusal{
		Allowed: []Move{{Agent, "call:search"}}, Unlock: []Move{{Agent, "call:search"}, {Environment, "ret:search:ok"}, {Agent, "call:book"}},
		Guidance: "Search first.", Strikes: 1,
	}
	if diff := cmp.Diff(want, v.Refusal); v.Kind != Violation || diff != "" {
		t.Errorf("%s: %s", v.Kind, diff)
	}
	if got, want := v.Error(), "violation: call:book in start; allowed: call:search; first: call:search, ret:search:ok"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 3 {
		m.Step(act("!call:search"))
		m.Step(act("?ret:search:error"))
	}
	m.Step(act("!call:search"))
	v = m.Step(act("!call:search"))
	if v.Kind != Blocked || v.Reason != Busy || len(v.Refusal.Allowed) != 0 || v.Refusal.Strikes != 1 {
		t.Errorf("while a call waits: %+v, %+v", v, v.Refusal)
	}
	if n := len(v.Refusal.Tail); n != tailLen || v.Refusal.Tail[n-1] != (Past{Move{Agent, "call:search"}, Ok}) || v.Refusal.Tail[n-2] != (Past{Move{Environment, "ret:search:error"}, Ok}) {
		t.Errorf("the tail is %v", v.Refusal.Tail)
	}
	if v := m.Step(act("?hear:no")); v.Kind != Violation || v.Refusal.Strikes != 1 {
		t.Errorf("the environment's fault is no strike: %+v, %+v", v, v.Refusal)
	}
	// The path of what is legal, were the arguments others, is the act itself.
	m.Step(Event{Move: Move{Environment, "ret:search:ok"}, Doc: value(t, `{"flight":"A1"}`)})
	v = m.Step(Event{Move: Move{Agent, "call:book"}, Doc: value(t, `{"arguments":{"flight":"B2"}}`)})
	if diff := cmp.Diff([]Move{{Agent, "call:book"}}, v.Refusal.Unlock); v.Kind != Violation || diff != "" {
		t.Errorf("another flight: %s %s", v.Kind, diff)
	}
	if v := m.Step(Event{Move: Move{Agent, "call:book"}, Doc: value(t, `{"arguments":{"flight":"A1"}}`)}); v.Kind != Ok {
		t.Error(v)
	}
	if v := m.Step(act("?ret:book:ok")); v.Kind != Ok || m.End() != Success {
		t.Errorf("%v, end %q", v, m.End())
	}
	if v := m.Step(act("!call:search")); v.Reason != Ended || v.Refusal.Unlock != nil {
		t.Errorf("after the end: %+v, %+v", v, v.Refusal)
	}
}

// A step inside a state is busy although something may be done in it.
func TestBusyInside(t *testing.T) {
	a := booking()
	a.Transitions = append(a.Transitions, Transition{From: "start·search", On: "call:look", By: Agent, To: "start·search"})
	m := monitor(t, a, MonitorOptions{})
	m.Step(act("!call:search"))
	if v := m.Step(act("!call:look")); v.Kind != Ok {
		t.Error(v)
	}
	if v := m.Step(act("!call:search")); v.Reason != Busy || v.Refusal.Strikes != 0 || len(v.Refusal.Allowed) != 1 {
		t.Errorf("got %+v", v)
	}
	// Where a state as a whole waits, but something may be done, nothing is busy.
	a.Part = nil
	if v := monitor(t, a, MonitorOptions{}).Step(act("!call:book")); v.Kind != Violation {
		t.Error(v)
	}
	m = monitor(t, a, MonitorOptions{})
	m.Step(act("!call:search"))
	if v := m.Step(act("!call:search")); v.Kind != Violation {
		t.Error(v)
	}
}

func TestStrikes(t *testing.T) {
	a := booking()
	a.Terms.Budget.Strikes = 2
	for mode, want := range map[Mode]string{Enforce: "violation violation blocked", Observe: "violation violation ok"} {
		m := monitor(t, a, MonitorOptions{Mode: mode})
		var got []string
		for _, move := range []string{"!call:book", "!call:book", "!call:search"} {
			got = append(got, string(m.Step(act(move)).Kind))
		}
		if strings.Join(got, " ") != want || (m.State() == "start") != (mode == Enforce) {
			t.Errorf("%s: got %v, in %s", mode, got, m.State())
		}
	}
}

// What the protocol does not know is let through or not; results of what only reads
// arrive whenever they do.
func TestUnrecognizedPolicies(t *testing.T) {
	for policy, want := range map[Policy]string{
		"": "unrecognized unrecognized unrecognized ok unrecognized", Block: "unrecognized unrecognized unrecognized ok unrecognized",
		Pass: "ok ok ok ok unrecognized", PassIfRead: "ok unrecognized ok ok unrecognized",
	} {
		a := booking()
		a.Terms.Unrecognized = policy
		m := monitor(t, a, MonitorOptions{})
		var got []string
		for _, move := range []string{"!call:look", "!call:delete", "?hear:well", "?ret:look:ok", "?Unrecognized"} {
			v := m.Step(act(move))
			if got = append(got, string(v.Kind)); v.To != "start" {
				t.Errorf("%s moves to %s", move, v.To)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", policy, got, want)
		}
		if policy == Pass {
			m.Step(act("!call:search"))
			m.Step(Event{Move: Move{Environment, "ret:search:ok"}, Doc: value(t, `{"flight":1}`)})
			m.Step(Event{Move: Move{Agent, "call:book"}, Doc: value(t, `{"arguments":{"flight":1}}`)})
			m.Step(act("?ret:book:ok"))
			if v := m.Step(act("!call:delete")); v.Kind == Ok {
				t.Error("what is unknown passes after the end")
			}
		}
	}
}

func TestHooks(t *testing.T) {
	a := chainOf("!a", "!b")
	a.Transitions[0].If = "it is so"
	if _, err := NewMonitor(compiled(t, a), MonitorOptions{}); err == nil {
		t.Error("nobody answers the guard")
	}
	so := false
	var seen []string
	m := monitor(t, a, MonitorOptions{
		Guards: map[Guard]func(Event) bool{"it is so": func(e Event) bool { return so && e.On == "a" }},
		After:  func(e Event, v Verdict) { seen = append(seen, fmt.Sprint(v.Seq, e.On, v.Kind)) },
	})
	m.Step(act("!a"))
	so = true
	m.Step(act("!a"))
	m.Step(act("!b"))
	if diff := cmp.Diff([]string{"1a violation", "2a ok", "3b ok"}, seen, cmpopts.AcyclicTransformer("space", func(s string) string { return strings.ReplaceAll(s, " ", "") })); diff != "" {
		t.Error(diff)
	}
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestTimers(t *testing.T) {
	a := booking()
	a.Terms.Timers["remind"] = Timer{After: 20 * time.Second, In: "found"}
	a.Terms.Timers["session"] = Timer{After: time.Hour}
	a.Transitions = append(a.Transitions,
		Transition{From: "found", On: "timer:remind", By: Clock, To: "found"},
		Transition{From: "start", On: "timer:session", By: Clock, To: "lost"},
		Transition{From: "found", On: "timer:session", By: Clock, To: "found"})
	var fired []string
	m := monitor(t, a, MonitorOptions{After: func(e Event, v Verdict) {
		if e.By == Clock {
			fired = append(fired, fmt.Sprintf("%s %s %s", strings.TrimPrefix(string(e.On), "timer:"), e.Time.Sub(noon), v.Kind))
		}
	}})
	at := func(move string, after time.Duration) Verdict {
		e := act(move)
		e.Time = noon.Add(after)
		if move == "?ret:search:ok" {
			e.Doc = value(t, `{"flight":1}`)
		}
		return m.Step(e)
	}
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, fired); diff != "" {
			t.Error(diff)
		}
		fired = nil
	}
	m.Advance(noon.Add(-time.Hour)) // nothing has begun
	at("!call:search", 0)
	at("?ret:search:ok", 10*time.Second) // found
	at("!call:search", 69*time.Second)   // refused, but its time counts
	expect("remind 30s ok", "remind 50s ok")
	// A call that waits is inside the state: the time goes on, and the timer is late.
	e := Event{Move: Move{Agent, "call:book"}, Doc: value(t, `{"arguments":{"flight":1}}`), Time: noon.Add(69 * time.Second)}
	if v := m.Step(e); v.Kind != Ok {
		t.Fatal(v)
	}
	m.Advance(noon.Add(80 * time.Second))
	expect()
	at("?ret:book:error", 81*time.Second)
	if v := at("!call:search", 82*time.Second); v.Reason != Ended || m.State() != "lost" {
		t.Errorf("got %v in %s", v, m.State())
	}
	expect("idle 1m10s ok")
}

// Timers that are due at once fire in the order of their names.
func TestTimersAtOnce(t *testing.T) {
	for range 20 { // maps have another order each time
		a := chainOf("!a", "!b")
		a.Terms = &Terms{Timers: map[string]Timer{"x": {After: time.Minute}, "y": {After: time.Minute}, "z": {After: time.Minute}}}
		for name := range a.Terms.Timers {
			a.Transitions = append(a.Transitions, Transition{From: "1", On: Label("timer:" + name), By: Clock, To: "1"})
		}
		m := monitor(t, a, MonitorOptions{})
		e := act("!a")
		e.Time = noon
		m.Step(e)
		order := ""
		for _, v := range m.Advance(noon.Add(time.Hour)) {
			order += strings.TrimPrefix(string(v.Move.On), "timer:")
		}
		if order != "xyz" {
			t.Fatalf("fired in the order %s", order)
		}
	}
}

func TestTimerOfTheConversationFiresOnce(t *testing.T) {
	a := chainOf("!a", "!b")
	a.Terms = &Terms{Timers: map[string]Timer{"note": {After: time.Minute}}}
	a.Transitions = append(a.Transitions, Transition{From: "1", On: "timer:note", By: Clock, To: "1"})
	m := monitor(t, a, MonitorOptions{})
	e := act("!a")
	e.Time = noon
	m.Step(e)
	if n := len(m.Advance(noon.Add(time.Hour))); n != 1 {
		t.Errorf("it fired %d times", n)
	}
	if n := len(m.Advance(noon.Add(2 * time.Hour))); n != 0 {
		t.Errorf("it fired %d times more", n)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	a := chainOf("!Ping", "?Pong")
	a.Transitions[1].To, a.Ends, a.States = "0", nil, a.States[:2]
	for name, terms := range map[string]*Terms{"no terms": nil, "terms": booking().Terms} {
		a.Terms = terms
		if terms != nil {
			terms.Timers = nil
		}
		m := monitor(t, a, MonitorOptions{})
		ping, pong := act("!Ping"), act("?Pong")
		ping.Time, pong.Time = noon, noon
		if n := testing.AllocsPerRun(1000, func() {
			if m.Step(ping).Kind != Ok || m.Step(pong).Kind != Ok {
				panic("refused")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	a := chainOf("!Ping", "?Pong")
	a.Transitions[1].To, a.Ends, a.States = "0", nil, a.States[:2]
	m := monitor(b, a, MonitorOptions{})
	events := []Event{act("!Ping"), act("?Pong")}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if m.Step(events[i%2]).Kind != Ok {
			b.Fatal("refused")
		}
	}
}

// randomEvents are events of booking and around it.
func randomEvent(tb testing.TB, random *rand.Rand, now *time.Time) Event {
	moves := []string{
		"!call:search", "?ret:search:ok", "?ret:search:error", "!call:book", "!call:book", "?ret:book:error", "?hear:no", "!call:look", "?Unrecognized", "!what",
	}
	e := act(moves[random.IntN(len(moves))])
	e.Doc = value(tb, fmt.Sprintf(`{"flight":%d,"arguments":{"flight":%d}}`, random.IntN(2), random.IntN(2)))
	*now = now.Add(time.Duration(random.IntN(int(20 * time.Second))))
	e.Time = *now
	if random.IntN(3) == 0 {
		e.Used = Used{Bytes: int64(random.IntN(50)), Tokens: int64(random.IntN(10)), Money: []string{"", "0.10", "1.5"}[random.IntN(3)], Currency: []string{"EUR", "USD"}[random.IntN(2)]}
	}
	return e
}

// budgeted is booking with budgets of all kinds.
func budgeted() *Automaton {
	a := booking()
	a.Terms.Unrecognized = PassIfRead
	a.Terms.Budget = Budget{Calls: 25, Bytes: 700, Tokens: 150, Money: map[string]string{"EUR": "6.00"}, Strikes: 20, Wall: 6 * time.Minute}
	a.Terms.Reserve, a.Terms.ReserveFor = Budget{Calls: 2, Money: map[string]string{"EUR": "1"}}, []string{"look"}
	a.Budgets = map[State]Budget{"found": {Calls: 5, Tokens: 30}}
	a.Terms.Timers["idle"] = Timer{After: 40 * time.Second, In: "found"}
	a.Transitions[5].To = "start"
	a.Terms.Timers["note"] = Timer{After: 50 * time.Second}
	for _, s := range []State{"start", "found"} {
		a.Transitions = append(a.Transitions, Transition{From: s, On: "timer:note", By: Clock, To: s})
	}
	return a
}

// From a snapshot at any point, a monitor goes on as the one that was not interrupted,
// to the same state.
func TestRecovery(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	c := compiled(t, budgeted())
	random := rand.New(rand.NewPCG(9, 10))
	kinds := map[Kind]int{}
	for range 40 {
		mode := []Mode{Enforce, Observe, Halt}[random.IntN(3)]
		opts := MonitorOptions{Mode: mode}
		live, err := NewMonitor(c, opts)
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		var restored []*Monitor
		for range 40 {
			snapshot, err := live.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			m, err := Restore(c, opts, snapshot)
			if err != nil {
				t.Fatalf("%v: %s", err, snapshot)
			}
			restored = append(restored, m)
			e := randomEvent(t, random, &now)
			want := live.Step(e)
			kinds[want.Kind]++
			for _, m := range restored {
				if diff := cmp.Diff(want, m.Step(e)); diff != "" {
					t.Fatal(diff)
				}
			}
		}
		want, err := live.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range restored {
			if got, err := m.Snapshot(); err != nil || !got.Equal(want) {
				t.Fatalf("%v: got\n%s, want\n%s", err, got, want)
			}
		}
	}
	for _, kind := range []Kind{Ok, Violation, Blocked, Unrecognized} {
		if kinds[kind] < 20 {
			t.Errorf("%d are %s", kinds[kind], kind)
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	c := compiled(t, booking())
	m := monitor(t, booking(), MonitorOptions{})
	m.Step(act("!call:search"))
	good, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(c, MonitorOptions{}, good); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(c, MonitorOptions{Mode: Observe}, good); err == nil {
		t.Error("restored in another mode")
	}
	other := booking()
	other.Ends["lost"] = Abandoned
	if _, err := Restore(compiled(t, other), MonitorOptions{}, good); err == nil {
		t.Error("restored another protocol")
	}
	common, _ := good.Get("common")
	ledger, _ := good.Get("ledger")
	number := func(i int) wire.Value { return value(t, fmt.Sprint(i)) }
	for what, bad := range map[string]wire.Value{
		"no object":            number(1),
		"nothing":              {},
		"an unknown member":    good.With("x", number(1)),
		"an unknown state":     good.With("common", common.With("state", wire.Text("x"))),
		"another length":       good.With("common", common.With("seq", number(2))),
		"a negative number":    good.With("common", common.With("seq", number(-1))),
		"a budget that is bad": good.With("ledger", ledger.With("used", value(t, `{"calls":"1e9"}`))),
		"a timer of none":      good.With("common", common.With("fired", value(t, `{"x":"2026-01-01T00:00:00Z"}`))),
		"instances":            good.With("instances", value(t, "{}").With("k", common)),
	} {
		if _, err := Restore(c, MonitorOptions{}, bad); err == nil {
			t.Errorf("restored from %s", what)
		}
	}
}
