package protocol

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Mode is what a monitor does about what is not legal.
type Mode string

// The modes.
const (
	Enforce Mode = "enforce" // refuse it, stay, and count a strike
	Observe Mode = "observe" // say so, stay, and count nothing
	Halt    Mode = "halt"    // refuse it and everything after it
)

// MonitorOptions are how a monitor judges.
type MonitorOptions struct {
	Mode Mode // empty: Enforce

	// Guards answer the guards of the automaton; each needs one. They are not analyzed,
	// see the event before it counts, and must not change anything.
	Guards map[Guard]func(Event) bool

	// After is called with each verdict, for what is to be done then; nil is nothing.
	After func(Event, Verdict)
}

// A Monitor follows one conversation. It is not for several goroutines at once: who
// has several takes a lock around Step and what depends on its verdict.
type Monitor struct {
	c      *Compiled
	opts   MonitorOptions
	ledger *ledger
	key    string // of the instance

	state    int
	seq      int
	captured map[string]wire.Value
	spent    map[int]amounts // in each state that has a budget
	entered  time.Time
	fired    map[string]time.Time // when timers fired that moved nothing
	tail     [tailLen]Past
}

// tailLen is how much of what was last a refusal tells.
const tailLen = 8

// NewMonitor returns a monitor in the initial state.
func NewMonitor(c *Compiled, opts MonitorOptions) (*Monitor, error) {
	switch opts.Mode {
	case "":
		opts.Mode = Enforce
	case Enforce, Observe, Halt:
	default:
		return nil, fmt.Errorf("monitoring %s: there is no mode %q", c.automaton.Name, opts.Mode)
	}
	for _, t := range c.opaque() {
		if t.Guard != "" && opts.Guards[t.Guard] == nil {
			return nil, fmt.Errorf("monitoring %s: nobody answers the guard %q", c.automaton.Name, t.Guard)
		}
	}
	return &Monitor{c: c, opts: opts, ledger: &ledger{}, state: c.Initial()}, nil
}

// opaque returns the opaque tests of an automaton.
func (c *Compiled) opaque() (list []Test) {
	for _, t := range c.automaton.Transitions {
		for _, test := range t.Condition() {
			if test.IsOpaque() {
				list = append(list, test)
			}
		}
	}
	return list
}

// State returns the state of the conversation.
func (m *Monitor) State() State { return m.c.states[m.state] }

// End returns how the conversation has ended, or "".
func (m *Monitor) End() End { return m.c.End(m.state) }

// Compiled returns the protocol.
func (m *Monitor) Compiled() *Compiled { return m.c }

// Allowed returns what a role can do now, if documents and guards allow.
func (m *Monitor) Allowed(by Role) (list []Move) {
	if m.ledger.halted {
		return nil
	}
	for _, move := range m.c.moves[m.state] {
		if move.By == by {
			list = append(list, move)
		}
	}
	return list
}

// UnrecognizedLabel is the label of an event that nobody could tell what it is. A protocol
// may have it as any other.
const UnrecognizedLabel Label = "Unrecognized"

// Step judges an event and, if it is legal, moves. Timers that are due fire before it.
func (m *Monitor) Step(e Event) Verdict {
	m.Advance(e.Time)
	return m.record(&e, m.judge(&e))
}

// record counts an event that was judged.
func (m *Monitor) record(e *Event, v Verdict) Verdict {
	m.tail[m.seq%tailLen] = Past{v.Move, v.Kind}
	m.seq++
	v.Seq = m.seq
	if m.opts.After != nil {
		m.opts.After(*e, v)
	}
	return v
}

func (m *Monitor) judge(e *Event) Verdict {
	from := m.c.states[m.state]
	v := Verdict{From: from, To: from, Move: e.Move, Instance: m.key}
	if m.ledger.halted {
		return m.refuse(v, Blocked, Halted)
	}
	to := -1
	if d := m.c.next[m.state][e.Move]; d != nil {
		if to = d.outcome; !d.isLeaf() {
			to = d.of(e.Doc, func(t Test) bool { return m.tell(t, e) })
		}
	} else if m.c.Passes(m.state, e.Move) {
		to = m.state
	}
	if to < 0 {
		return m.illegal(v)
	}
	if name := m.lacks(e); name != "" {
		v.Budget = name
		return m.refuse(v, Blocked, OverSpent)
	}
	m.spend(e)
	m.capture(e)
	m.move(to, e.Time)
	v.Kind, v.To = Ok, m.c.states[to]
	return v
}

// move goes to a state. An event without a time happens when the one before it did.
func (m *Monitor) move(to int, now time.Time) {
	if m.ledger.began.IsZero() {
		m.ledger.began = now
	}
	if now.IsZero() {
		now = m.entered
	}
	if m.entered.IsZero() || m.c.whole[to] != m.c.whole[m.state] {
		m.entered = now
		for name := range m.fired {
			if m.c.automaton.Terms.Timers[name].In != "" {
				delete(m.fired, name)
			}
		}
	}
	m.state = to
}

// illegal says what kind of refusal an event gets that has no transition.
func (m *Monitor) illegal(v Verdict) Verdict {
	switch known := m.c.labels[v.Move.On]; {
	case v.Move.On == UnrecognizedLabel || !known && m.opts.Mode != Halt:
		return m.refuse(v, Unrecognized, "")
	case len(m.c.moves[m.state]) == 0:
		return m.refuse(v, Blocked, Ended)
	case v.Move.By == Agent && m.c.Awaits(m.state):
		return m.refuse(v, Blocked, Busy)
	}
	v = m.refuse(v, Violation, "")
	switch {
	case m.opts.Mode == Halt:
		m.ledger.halted = true
	case m.opts.Mode == Enforce && v.Move.By == Agent:
		m.ledger.strikes++
		v.Refusal.Strikes = m.ledger.strikes
		if t := m.c.automaton.Terms; t != nil && t.Budget.Strikes > 0 && m.ledger.strikes >= t.Budget.Strikes {
			m.ledger.halted = true
		}
	}
	return v
}

// Awaits reports whether a call waits for its result in a state, or an approval for its
// answer: the state is a step inside another that ends with that, or there is nothing
// else for the agent to do.
func (c *Compiled) Awaits(state int) bool {
	result, acts := false, false
	for _, m := range c.moves[state] {
		acts = acts || m.By == Agent
		result = result || m.By == Environment && (strings.HasPrefix(string(m.On), "ret:") || strings.HasPrefix(string(m.On), "grant:"))
	}
	return result && (!acts || c.whole[state] != state)
}

func (m *Monitor) refuse(v Verdict, kind Kind, reason Reason) Verdict {
	v.Kind, v.Reason = kind, reason
	r := &Refusal{Allowed: m.Allowed(v.Move.By), Guidance: m.c.automaton.Guidance[m.c.states[m.state]], Strikes: m.ledger.strikes}
	if !m.ledger.halted {
		r.Unlock = m.c.Unlock(m.state, v.Move)
	}
	for i := max(0, m.seq-tailLen); i < m.seq; i++ {
		r.Tail = append(r.Tail, m.tail[i%tailLen])
	}
	v.Refusal = r
	return v
}

// tell answers an opaque test.
func (m *Monitor) tell(t Test, e *Event) bool {
	switch {
	case t.Guard != "":
		return m.opts.Guards[t.Guard](*e)
	case t.Capture != "":
		known, ok := m.captured[t.Capture]
		if t.Among {
			v := t.At.Look(e.Doc)
			for _, one := range known.Elems() {
				if one.Equal(v) {
					return true
				}
			}
			return false
		}
		return ok && known.Kind() != wire.Absent && t.At.Look(e.Doc).Equal(known)
	}
	v := t.At.Look(e.Doc)
	return v.Kind() == wire.String && m.c.regexps[t.Matches].MatchString(v.Text())
}

// capture keeps what an event brings.
func (m *Monitor) capture(e *Event) {
	t := m.c.automaton.Terms
	if t == nil {
		return
	}
	for name, c := range t.Captures {
		if c.On != e.On {
			continue
		}
		if m.captured == nil {
			m.captured = map[string]wire.Value{}
		}
		v := m.c.taken(&c, e.Doc)
		if len(v.Canonical()) > maxCaptured {
			v = wire.Value{}
		}
		m.captured[name] = v
	}
}

// maxTaken bounds the list of a capture, and maxCaptured the text of a value that is
// kept, since snapshots have it. What is longer is as if it was not there.
const (
	maxTaken    = 10000
	maxCaptured = 1 << 17
)

// taken returns what a capture takes out of a document.
func (c *Compiled) taken(from *Capture, doc wire.Value) wire.Value {
	v := from.At.Look(doc)
	if from.Each == "" {
		return v
	}
	list := []string{}
	for _, match := range c.regexps[from.Each].FindAllStringSubmatch(v.Text(), maxTaken) {
		list = append(list, match[1])
	}
	all, err := wire.Encode(list)
	if err != nil {
		return wire.Value{} // it is no text of a document that was parsed
	}
	return all
}

// Advance fires the timers that are due at a time, in order, and returns the verdicts.
// A timer of the whole conversation fires once; one of a state each time its period is
// over while the conversation is there.
func (m *Monitor) Advance(now time.Time) (fired []Verdict) {
	t := m.c.automaton.Terms
	if t == nil || len(t.Timers) == 0 || now.IsZero() {
		return nil
	}
	for len(fired) < maxFired && !m.ledger.halted {
		name, due := m.nextTimer()
		if name == "" || due.After(now) {
			break
		}
		e := Event{Move: Move{Clock, Label("timer:" + name)}, Time: due}
		if m.fired == nil {
			m.fired = map[string]time.Time{}
		}
		m.fired[name] = due
		fired = append(fired, m.record(&e, m.judge(&e)))
	}
	return fired
}

// maxFired bounds how many timers fire at once, when nobody looked for long.
const maxFired = 1000

// nextTimer returns the timer that is due first of those that do something here.
func (m *Monitor) nextTimer() (next string, due time.Time) {
	for name, timer := range m.c.automaton.Terms.Timers {
		from, last := m.ledger.began, m.fired[name]
		if timer.In != "" {
			if timer.In != m.c.states[m.c.whole[m.state]] {
				continue
			}
			if from = m.entered; last.After(from) {
				from = last
			}
		} else if !last.IsZero() {
			continue
		}
		if from.IsZero() || timer.After <= 0 || m.c.next[m.state][Move{Clock, Label("timer:" + name)}] == nil {
			continue
		}
		at := from.Add(timer.After)
		if at.Before(m.entered) {
			at = m.entered // it was due where nothing listened: it fires now, not before what happened since
		}
		if next == "" || at.Before(due) || at.Equal(due) && name < next {
			next, due = name, at
		}
	}
	return next, due
}

// wellFirst returns moves with those at the end that say that something did not go well:
// of ways that are equally short nobody wants to be told to wait for an error.
func wellFirst(list []Move) []Move {
	bad := func(m Move) int {
		kind, _, _ := strings.Cut(string(m.On), ":")
		if kind == "deny" || kind == "expire" || kind == "ret" && !strings.HasSuffix(string(m.On), ":ok") {
			return 1
		}
		return 0
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Move) int { return bad(a) - bad(b) })
	return list
}

// Unlock returns a shortest way from a state to one where a move is possible, with the
// move at its end, whatever documents and guards say; nil if there is none.
func (c *Compiled) Unlock(state int, want Move) []Move {
	type step struct {
		from int
		move Move
	}
	seen := map[int]step{state: {from: -1}}
	queue := []int{state}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if c.next[s][want] != nil {
			path := []Move{want}
			for seen[s].from >= 0 {
				path = append(path, seen[s].move)
				s = seen[s].from
			}
			slices.Reverse(path)
			return path
		}
		for _, m := range wellFirst(c.moves[s]) {
			if m.By == Clock {
				continue
			}
			c.next[s][m].Cases(func(to int, _ Condition) bool {
				if _, known := seen[to]; to >= 0 && !known {
					seen[to] = step{s, m}
					queue = append(queue, to)
				}
				return true
			})
		}
	}
	return nil
}
