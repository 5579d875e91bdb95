package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Monitors follow the instances of a protocol: each value of the key that
// [Terms.Instance] names, such as a booking, has a conversation of its own, so that
// what was approved or confirmed for one of them unlocks nothing for another. They
// have one budget; budgets of states are of each of them by itself.
//
// An event that says no instance is common to all: it moves what they have in common,
// and each instance where it is legal. What the agent does of that kind has to be legal
// in the common conversation. What comes from the environment has to be legal somewhere;
// if it would take two instances to other states, nobody can tell which of them is
// meant, and it is Unrecognized and moves none. So is a grant for which an instance waits
// and the common conversation elsewhere.
//
// An instance begins where the common conversation is at its first legal event, and is
// never forgotten: what may happen once may not happen again because much happened
// between.
//
// A protocol without instances has the common conversation only. Monitors are not for
// several goroutines at once.
type Monitors struct {
	common *Monitor
	each   map[string]*Monitor
	most   int
}

// DefaultInstances is how many instances are kept if nobody says.
const DefaultInstances = 1000

// maxKey bounds the canonical text of a key.
const maxKey = 256

// NewMonitors returns monitors at the beginning. They keep at most most instances; zero
// means DefaultInstances. Events of more are Blocked.
func NewMonitors(c *Compiled, opts MonitorOptions, most int) (*Monitors, error) {
	m, err := NewMonitor(c, opts)
	if err != nil {
		return nil, err
	}
	if most <= 0 {
		most = DefaultInstances
	}
	return &Monitors{common: m, each: map[string]*Monitor{}, most: most}, nil
}

// Common returns the monitor of what all instances have in common.
func (s *Monitors) Common() *Monitor { return s.common }

// Instance returns the monitor of an instance, or nil if it has not begun.
func (s *Monitors) Instance(key string) *Monitor { return s.each[key] }

// Instances returns the keys of the instances that have begun, in order.
func (s *Monitors) Instances() []string { return slices.Sorted(maps.Keys(s.each)) }

// Key returns the instance that an event belongs to: what the event says, or the
// canonical text of its key, if it is the call of a tool in scope, or asks for one. It
// reports false if the event ought to have a key and has none, or one that is neither
// a text nor a number nor short.
func (s *Monitors) Key(e *Event) (string, bool) {
	t := s.common.c.automaton.Terms
	if t == nil || t.Instance == nil {
		return "", true
	}
	if e.Instance != "" {
		return e.Instance, len(e.Instance) <= maxKey
	}
	kind, tool, _ := strings.Cut(string(e.On), ":")
	switch kind {
	case "call":
	case "ask":
		named, _ := e.Doc.Get("tool")
		tool = named.Text()
	case "ret":
		if i := strings.LastIndexByte(tool, ':'); i >= 0 {
			tool = tool[:i]
		}
	default:
		return "", true
	}
	if !slices.Contains(t.Instance.Scope, tool) {
		return "", true
	}
	v := t.Instance.Key.Look(e.Doc)
	if kind == "ret" || v.Kind() != wire.String && v.Kind() != wire.Number {
		return "", false
	}
	key := v.Canonical()
	return key, len(key) <= maxKey
}

// Step judges an event as [Monitor.Step] does, for the instance it belongs to.
func (s *Monitors) Step(e Event) Verdict {
	s.Advance(e.Time)
	key, ok := s.Key(&e)
	switch {
	case !ok:
		return s.unclear(&e)
	case key == "":
		return s.share(e)
	}
	m, begun := s.each[key]
	if !begun {
		m = s.common.fork()
		if len(s.each) >= s.most {
			v := Verdict{From: m.State(), To: m.State(), Move: e.Move, Instance: key}
			return s.common.record(&e, s.common.refuse(v, Blocked, TooMany))
		}
	}
	m.key = key
	v := m.Step(e)
	if !begun && v.Kind == Ok {
		s.each[key] = m
	}
	return v
}

// unclear judges an event of which nobody can tell which instance it belongs to.
func (s *Monitors) unclear(e *Event) Verdict {
	v := Verdict{From: s.common.State(), To: s.common.State(), Move: e.Move}
	return s.common.record(e, s.common.refuse(v, Unrecognized, ""))
}

// share judges an event that is common to all.
func (s *Monitors) share(e Event) Verdict {
	var legal []*Monitor
	moved := 0
	for _, key := range s.Instances() {
		m := s.each[key]
		if to := m.leads(&e); to >= 0 {
			legal = append(legal, m)
			if to != m.state {
				moved++
			}
		}
	}
	first := s.common
	if e.By == Environment && (moved > 1 || moved == 1 && s.apart(&e, legal)) {
		return s.unclear(&e)
	}
	if e.By == Environment && first.leads(&e) < 0 && len(legal) > 0 {
		first, legal = legal[0], legal[1:]
	}
	v := first.Step(e)
	if v.Kind == Ok {
		for _, m := range legal {
			m.follow(&e)
		}
	}
	return v
}

// apart reports whether an event is a grant that would move the common conversation from
// another state than the instance that it moves: one of them asked for it.
func (s *Monitors) apart(e *Event, legal []*Monitor) bool {
	if !strings.HasPrefix(string(e.On), "grant:") {
		return false
	}
	if to := s.common.leads(e); to < 0 || to == s.common.state {
		return false
	}
	return slices.ContainsFunc(legal, func(m *Monitor) bool { return m.state != s.common.state && m.leads(e) != m.state })
}

// Advance fires the timers that are due, of all conversations.
func (s *Monitors) Advance(now time.Time) (fired []Verdict) {
	fired = s.common.Advance(now)
	for _, key := range s.Instances() {
		fired = append(fired, s.each[key].Advance(now)...)
	}
	return fired
}

// Snapshot returns the state of all conversations, for [RestoreMonitors].
func (s *Monitors) Snapshot() (wire.Value, error) {
	h, err := s.common.c.Digest()
	if err != nil {
		return wire.Value{}, err
	}
	doc := snapshot{Protocol: h, Mode: s.common.opts.Mode, Ledger: s.common.ledger.keep(), Common: s.common.keep(), Each: map[string]kept{}}
	for key, m := range s.each {
		doc.Each[key] = m.keep()
	}
	return toValue(doc)
}

// RestoreMonitors is [Restore] for instances.
func RestoreMonitors(c *Compiled, opts MonitorOptions, most int, snapshot wire.Value) (*Monitors, error) {
	doc, ledger, common, err := readSnapshot(c, opts, snapshot)
	if err != nil {
		return nil, err
	}
	s, err := NewMonitors(c, opts, most)
	if err != nil {
		return nil, err
	}
	s.common = common
	for key, k := range doc.Each {
		m, err := k.monitor(c, opts, ledger)
		if err != nil || key == "" || len(key) > maxKey || len(s.each) >= s.most {
			return nil, fmt.Errorf("restoring a monitor: instance %q: %w", key, errors.Join(err, errSnapshot))
		}
		m.key = key
		s.each[key] = m
	}
	return s, nil
}

// leads returns the state to which an event leads, or -1 if it is not legal.
func (m *Monitor) leads(e *Event) int {
	d := m.c.next[m.state][e.Move]
	if d == nil || m.ledger.halted {
		return -1
	}
	return d.of(e.Doc, func(t Test) bool { return m.tell(t, e) })
}

// fork returns a monitor that goes on from here by itself, with the same budget.
func (m *Monitor) fork() *Monitor {
	f := *m
	f.captured, f.fired, f.spent = maps.Clone(m.captured), maps.Clone(m.fired), nil
	return &f
}

// follow moves by an event that is legal and was counted by another monitor.
func (m *Monitor) follow(e *Event) {
	to := m.leads(e)
	if to < 0 {
		return
	}
	m.capture(e)
	m.move(to, e.Time)
	m.tail[m.seq%tailLen] = Past{e.Move, Ok}
	m.seq++
}
