package prove

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// A Trace is a run of a protocol from its beginning.
type Trace []Step

// A Step is one event of a trace.
type Step struct {
	Move protocol.Move
	Doc  wire.Value     // an example of a document with which it happens; Absent: none is looked at
	From protocol.State // where it happens
	To   protocol.State // Nowhere: it is refused

	// Assumes are the opaque tests that have to come out as they stand here.
	Assumes protocol.Condition

	when protocol.Condition
}

// Event returns what a monitor is told.
func (s Step) Event() protocol.Event { return protocol.Event{Move: s.Move, Doc: s.Doc} }

// String writes the trace for people, on one line.
func (t Trace) String() string {
	var all []string
	for _, s := range t {
		text := spell(s.Move)
		if s.Doc.Kind() != wire.Absent {
			text += " " + s.Doc.Canonical()
		}
		if len(s.Assumes) > 0 {
			text += " [" + s.Assumes.String() + "]"
		}
		if s.To == protocol.Nowhere {
			text += " (refused)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// spell writes a move as the text form of protocols does: ! the agent, ? the others, and
// @ the clock.
func spell(m protocol.Move) string {
	label := string(m.On)
	if label == "" || strings.ContainsAny(label, " \"") {
		label = strconv.Quote(label)
	}
	switch m.By {
	case protocol.Agent:
		return "!" + label
	case protocol.Environment:
		return "?" + label
	case protocol.Clock:
		return "@" + label
	}
	return string(m.By) + ": " + label
}

// MarshalJSON writes the step as an event of a script.
func (s Step) MarshalJSON() ([]byte, error) {
	type step struct {
		By      protocol.Role  `json:"by"`
		On      protocol.Label `json:"on"`
		Doc     *wire.Value    `json:"doc,omitempty"`
		From    protocol.State `json:"from,omitempty"`
		To      protocol.State `json:"to,omitempty"`
		Assumes []string       `json:"assumes,omitempty"`
	}
	out := step{By: s.Move.By, On: s.Move.On, From: s.From, To: s.To}
	if s.Doc.Kind() != wire.Absent {
		out.Doc = &s.Doc
	}
	for _, t := range s.Assumes {
		out.Assumes = append(out.Assumes, t.String())
	}
	return json.Marshal(out)
}

// Replay runs a trace through a monitor of the protocol, guards answering what the
// trace assumes, and returns the verdicts. The monitor only observes, so that an event
// that is refused does not hinder the next.
func Replay(c *protocol.Compiled, t Trace) ([]protocol.Verdict, protocol.End, error) {
	var now Step
	guards := map[protocol.Guard]func(protocol.Event) bool{}
	for _, transition := range c.Automaton().Transitions {
		for _, test := range transition.Condition() {
			if g := test.Guard; g != "" {
				guards[g] = func(protocol.Event) bool {
					return slices.ContainsFunc(now.Assumes, func(t protocol.Test) bool { return t.Guard == g && !t.IsNegated() })
				}
			}
		}
	}
	m, err := protocol.NewMonitor(c, protocol.MonitorOptions{Mode: protocol.Observe, Guards: guards})
	if err != nil {
		return nil, "", err
	}
	var verdicts []protocol.Verdict
	for _, now = range t {
		verdicts = append(verdicts, m.Step(now.Event()))
	}
	return verdicts, m.End(), nil
}

// An arc is a step that documents were not looked for yet.
type arc struct {
	from, to int
	move     protocol.Move
	when     protocol.Condition
}

// trace finds documents for a way through an automaton.
func trace(c *protocol.Compiled, way []arc) Trace {
	t := make(Trace, len(way))
	for i, a := range way {
		t[i] = Step{Move: a.move, From: c.State(a.from), when: a.when}
		if a.to >= 0 {
			t[i].To = c.State(a.to)
		}
		for _, test := range a.when {
			if test.IsOpaque() {
				t[i].Assumes = append(t[i].Assumes, test)
			}
		}
		t[i].document()
	}
	if terms := c.Automaton().Terms; terms != nil {
		t.settle(terms.Captures)
	}
	return t
}

// document finds a document of a step. Calls and results always have one.
func (s *Step) document() {
	kind, name, _ := strings.Cut(string(s.Move.On), ":")
	s.Doc = wire.Value{}
	looks := slices.ContainsFunc(s.when, func(t protocol.Test) bool { return t.Guard == "" })
	if !looks && kind != "call" && kind != "ask" {
		return
	}
	v, ok := s.when.Example()
	if !ok {
		v, ok = plain(s.when).Example() // no text was found for an expression
	}
	if ok {
		s.Doc = v
		if _, has := v.Get("tool"); kind == "call" && v.Kind() == wire.Object && !has && s.lets("/tool", wire.Text(name)) {
			s.Doc = v.With("tool", wire.Text(name))
		}
	}
}

// lets reports whether a condition takes a value at a pointer.
func (s *Step) lets(at protocol.Pointer, v wire.Value) bool {
	return !slices.ContainsFunc(s.when, func(t protocol.Test) bool { return !t.IsOpaque() && t.At == at && !t.In.Has(v) })
}

// at returns what a condition takes at a pointer.
func (s *Step) at(p protocol.Pointer) protocol.Set {
	in := protocol.AllValues()
	for _, t := range s.when {
		if !t.IsOpaque() && t.At == p {
			in = in.Intersect(t.In)
		}
	}
	return in
}

// settle makes documents in which what is assumed to be captured is, where it can.
func (t Trace) settle(captures map[string]protocol.Capture) {
	for i := range t {
		for _, test := range t[i].Assumes {
			c, known := captures[test.Capture]
			if !known {
				continue
			}
			j := i - 1
			for j >= 0 && t[j].Move.On != c.On {
				j--
			}
			if j < 0 {
				continue
			}
			here, there := t[i].at(test.At), t[j].at(c.At).Minus(protocol.Absence())
			var v wire.Value
			if test.Among {
				if v, known = here.Minus(protocol.Absence()).Example(); known && !test.IsNegated() {
					t[j].demand(c.At+"/0", protocol.Values(v))
					t[i].demand(test.At, protocol.Values(v))
				}
				continue
			}
			if test.IsNegated() {
				if v = c.At.Look(t[j].Doc); v.Kind() == wire.Absent {
					continue // nothing is what was captured
				}
				t[i].demand(test.At, here.Minus(protocol.Values(v)))
				continue
			}
			v, ok := here.Intersect(there).Example()
			if !ok {
				continue
			}
			t[j].demand(c.At, protocol.Values(v))
			t[i].demand(test.At, protocol.Values(v))
		}
	}
}

func (s *Step) demand(at protocol.Pointer, in protocol.Set) {
	s.when = append(s.when[:len(s.when):len(s.when)], protocol.Test{At: at, In: in})
	s.document()
}

// assumed returns the opaque tests that a trace leans on, for people.
func (t Trace) assumed() string {
	var all []string
	for _, s := range t {
		if len(s.Assumes) > 0 {
			all = append(all, fmt.Sprintf("%s at %s", s.Assumes, s.Move.On))
		}
	}
	return strings.Join(all, "; ")
}

// plain returns a condition without its opaque tests.
func plain(c protocol.Condition) protocol.Condition {
	return slices.DeleteFunc(slices.Clone(c), protocol.Test.IsOpaque)
}

// possible reports whether a condition that was put together from two protocols can
// hold: one may ask for a value in which the other looks for a member.
func possible(c protocol.Condition) bool {
	c = plain(c)
	for i, t := range c {
		for j, u := range c {
			if at := string(t.At); i != j && (strings.HasPrefix(string(u.At), at+"/") || strings.HasPrefix(string(u.At), at+"#")) {
				_, ok := c.Example()
				return ok
			}
		}
	}
	return true
}
