package protocol

import (
	"errors"
	"fmt"
	"regexp"
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

// A Monitor follows one conversation. It is not for several goroutines at once.
type Monitor struct {
	c       *Compiled
	opts    MonitorOptions
	regexps map[string]*regexp.Regexp

	state    int
	seq      int
	halted   bool
	strikes  int64
	captured map[string]wire.Value
	ledger   ledger
	began    time.Time
	entered  time.Time
	tail     [tailLen]Past
}

// tailLen is how much of what was last a refusal tells.
const tailLen = 8

// NewMonitor returns a monitor in the initial state.
func NewMonitor(c *Compiled, opts MonitorOptions) (*Monitor, error) {
	if opts.Mode == "" {
		opts.Mode = Enforce
	}
	m := &Monitor{c: c, opts: opts, state: c.Initial(), regexps: map[string]*regexp.Regexp{}}
	for _, t := range c.opaque() {
		switch {
		case t.Guard != "" && opts.Guards[t.Guard] == nil:
			return nil, fmt.Errorf("monitoring %s: nobody answers the guard %q", c.automaton.Name, t.Guard)
		case t.Matches != "":
			re, err := regexp.Compile(t.Matches)
			if err != nil {
				return nil, fmt.Errorf("monitoring %s: %w", c.automaton.Name, err)
			}
			m.regexps[t.Matches] = re
		}
	}
	return m, nil
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
	if m.halted {
		return nil
	}
	for _, move := range m.c.moves[m.state] {
		if move.By == by {
			list = append(list, move)
		}
	}
	return list
}

// Unrecognized is the label of an event that nobody could tell what it is. A protocol
// may have it as any other.
const UnrecognizedLabel Label = "Unrecognized"

// Step judges an event and, if it is legal, moves. Timers that are due fire before it.
func (m *Monitor) Step(e Event) Verdict {
	m.Advance(e.Time)
	v := m.judge(&e)
	m.tail[m.seq%tailLen] = Past{e.Move, v.Kind}
	m.seq++
	v.Seq = m.seq
	if m.opts.After != nil {
		m.opts.After(e, v)
	}
	return v
}

func (m *Monitor) judge(e *Event) Verdict {
	from := m.c.states[m.state]
	v := Verdict{From: from, To: from, Move: e.Move}
	if m.halted {
		return m.refuse(v, Blocked, Halted)
	}
	to := -1
	if d := m.c.next[m.state][e.Move]; d != nil {
		if to = d.outcome; !d.isLeaf() {
			to = d.of(e.Doc, func(t Test) bool { return m.tell(t, e) })
		}
	}
	if to < 0 {
		return m.illegal(v)
	}
	if m.overdue(e.Time) && e.By == Agent {
		v.Budget = "wall"
		return m.refuse(v, Blocked, OverSpent)
	}
	if name := m.ledger.lacks(m.c, m.state, e); name != "" {
		v.Budget = name
		return m.refuse(v, Blocked, OverSpent)
	}
	if e.Time.IsZero() {
		e.Time = m.entered
	}
	m.ledger.spend(m.c, m.state, e)
	m.capture(e)
	m.move(to, e.Time)
	v.Kind, v.To = Ok, m.c.states[to]
	return v
}

func (m *Monitor) move(to int, now time.Time) {
	if m.began.IsZero() {
		m.began = now
	}
	if to != m.state {
		m.entered = now
	}
	m.state = to
}

// illegal says what kind of refusal an event gets that has no transition.
func (m *Monitor) illegal(v Verdict) Verdict {
	known := m.c.knows(v.Move)
	switch {
	case v.Move.On == UnrecognizedLabel || !known:
		if m.passes(v.Move) {
			v.Kind = Ok
			return v
		}
		return m.refuse(v, Unrecognized, "")
	case len(m.c.moves[m.state]) == 0:
		return m.refuse(v, Blocked, Ended)
	case v.Move.By == Agent && m.c.awaits(m.state):
		return m.refuse(v, Blocked, Busy)
	}
	v = m.refuse(v, Violation, "")
	switch m.opts.Mode {
	case Halt:
		m.halted = true
	case Enforce:
		m.strikes++
		v.Refusal.Strikes = m.strikes
		if t := m.c.automaton.Terms; t != nil && t.Budget.Strikes > 0 && m.strikes >= t.Budget.Strikes {
			m.halted = true
		}
	}
	return v
}

// passes reports whether the policy lets an event through that no label fits.
func (m *Monitor) passes(move Move) bool {
	t := m.c.automaton.Terms
	if t == nil || move.On == UnrecognizedLabel {
		return false
	}
	switch t.Unrecognized {
	case Pass:
		return true
	case PassIfRead:
		tool, isCall := strings.CutPrefix(string(move.On), "call:")
		return !isCall || t.Tools[tool].Effect == Reads
	}
	return false
}

// knows reports whether a move is anywhere in the protocol.
func (c *Compiled) knows(m Move) bool {
	for _, of := range c.next {
		if of[m] != nil {
			return true
		}
	}
	return slices.ContainsFunc(c.automaton.Transitions, func(t Transition) bool { return t.By == m.By && t.On == m.On })
}

// awaits reports whether a call waits for its result in a state: all that the agent can
// do is wait.
func (c *Compiled) awaits(state int) bool {
	result := false
	for _, m := range c.moves[state] {
		if m.By == Agent {
			return false
		}
		result = result || strings.HasPrefix(string(m.On), "ret:")
	}
	return result
}

func (m *Monitor) refuse(v Verdict, kind Kind, reason Reason) Verdict {
	v.Kind, v.Reason = kind, reason
	r := &Refusal{Allowed: m.Allowed(v.Move.By), Guidance: m.c.automaton.Guidance[m.c.states[m.state]], Strikes: m.strikes}
	if !m.halted {
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
		return ok && known.Kind() != wire.Absent && t.At.Look(e.Doc).Equal(known)
	}
	v := t.At.Look(e.Doc)
	return v.Kind() == wire.String && m.regexps[t.Matches].MatchString(v.Text())
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
		m.captured[name] = c.At.Look(e.Doc)
	}
}

// Advance fires the timers that are due at a time, in order, and returns the verdicts.
func (m *Monitor) Advance(now time.Time) (fired []Verdict) {
	t := m.c.automaton.Terms
	if t == nil || now.IsZero() || m.halted {
		return nil
	}
	for len(fired) <= len(t.Timers) {
		var next string
		var due time.Time
		for name, timer := range t.Timers {
			from := m.began
			if timer.In != "" {
				if from = m.entered; timer.In != m.State() {
					continue
				}
			}
			at := from.Add(timer.After)
			d := m.c.next[m.state][Move{Clock, Label("timer:" + name)}]
			if from.IsZero() || d == nil || at.After(now) || next != "" && (at.After(due) || at.Equal(due) && name > next) {
				continue
			}
			next, due = name, at
		}
		if next == "" {
			return fired
		}
		v := m.judge(&Event{Move: Move{Clock, Label("timer:" + next)}, Time: due})
		m.tail[m.seq%tailLen] = Past{v.Move, v.Kind}
		m.seq++
		v.Seq = m.seq
		fired = append(fired, v)
		if v.Kind != Ok || v.From == v.To {
			return fired
		}
	}
	return fired
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
		for _, m := range c.moves[s] {
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

// Snapshot returns the state of the conversation, for [Restore].
func (m *Monitor) Snapshot() (wire.Value, error) {
	h, err := m.c.Digest()
	if err != nil {
		return wire.Value{}, err
	}
	captured := wire.M{}
	for name, v := range m.captured {
		if v.Kind() != wire.Absent {
			captured[name] = v
		}
	}
	tail := []any{}
	for i := max(0, m.seq-tailLen); i < m.seq; i++ {
		p := m.tail[i%tailLen]
		tail = append(tail, []any{string(p.Move.By), string(p.Move.On), string(p.Kind)})
	}
	doc := wire.M{
		"protocol": h, "mode": string(m.opts.Mode), "state": string(m.State()), "seq": int64(m.seq), "halted": m.halted, "strikes": m.strikes,
		"captured": captured, "spent": m.ledger.encode(), "tail": tail,
	}
	for name, t := range map[string]time.Time{"began": m.began, "entered": m.entered} {
		if !t.IsZero() {
			doc[name] = t.UTC().Format(time.RFC3339Nano)
		}
	}
	return wire.Encode(doc)
}

var errSnapshot = errors.New("it is no snapshot of this protocol")

// ruleSnapshot names the shape of a snapshot. It is a rule of a file format, not of the
// protocol.
var ruleSnapshot = &wire.Rule{Section: "5.2", Name: "snapshot", Class: wire.ClassSchema, Text: "a snapshot has the members of one"}

// Restore returns a monitor that goes on where a snapshot was made. The protocol has to
// be the same, by its digest, and the states have to have the same names.
func Restore(c *Compiled, opts MonitorOptions, snapshot wire.Value) (*Monitor, error) {
	m, err := NewMonitor(c, opts)
	if err != nil {
		return nil, err
	}
	h, err := c.Digest()
	if err != nil {
		return nil, err
	}
	r := wire.Read(snapshot, "", ruleSnapshot)
	same := r.Hash("protocol") == h
	r.OneOf("mode", string(m.opts.Mode))
	m.state = c.Index(State(r.Text("state")))
	m.seq, m.halted, m.strikes = int(r.Int("seq", 0, 1<<53)), r.Bool("halted"), r.Int("strikes", 0, 1<<53)
	for name, v := range r.Object("captured").Whole().Members() {
		if m.captured == nil {
			m.captured = map[string]wire.Value{}
		}
		m.captured[name] = v
	}
	if r.Has("began") {
		m.began = r.Time("began")
	}
	if r.Has("entered") {
		m.entered = r.Time("entered")
	}
	if err := m.ledger.decode(r.Object("spent")); err != nil {
		return nil, err
	}
	tail := r.Array("tail")
	for i, p := range tail.Elems() {
		var text [3]string
		for j, e := range p.Elems() {
			if j < len(text) {
				text[j] = e.Text()
			}
		}
		if i < tailLen {
			m.tail[(max(0, m.seq-tailLen)+i)%tailLen] = Past{Move{Role(text[0]), Label(text[1])}, Kind(text[2])}
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("restoring a monitor: %w", err)
	}
	if !same || m.state < 0 || tail.Len() != min(tailLen, m.seq) {
		return nil, fmt.Errorf("restoring a monitor: %w", errSnapshot)
	}
	return m, nil
}
