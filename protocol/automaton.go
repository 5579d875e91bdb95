package protocol

import (
	"errors"
	"fmt"
	"slices"
)

// The vocabulary of an automaton.
type (
	State string // a node
	Label string // an event: a message type, a tool call, a result, a clock
	Role  string // who causes an event
	Guard string // a named condition that the program answers; empty always holds
)

// The roles of a protocol that is seen from one side, and the clock, which is nobody's.
const (
	Agent       Role = "agent"       // who is held to the protocol; "!" in the text form
	Environment Role = "environment" // everybody else; "?"
	Clock       Role = "clock"
)

// A Transition is one edge. Of several edges with one state and label, the first
// whose role, guard and condition hold is taken. If that leads to [Nowhere], the event
// is refused as if there were no edge.
type Transition struct {
	From State     `json:"from"`
	On   Label     `json:"on"`
	By   Role      `json:"by"`
	If   Guard     `json:"if,omitempty"`
	When Condition `json:"when,omitempty"`
	To   State     `json:"to"`
}

// Nowhere is the target of a transition that refuses its event.
const Nowhere State = ""

// Condition is everything that a transition demands, its guard included.
func (t *Transition) Condition() Condition {
	if t.If == "" {
		return t.When
	}
	return append(Condition{Holds(t.If)}, t.When...)
}

// An End is how a conversation has ended in a state.
type End string

// The ends. A state without one is no end.
const (
	Success   End = "success"
	Failure   End = "failure"
	Abandoned End = "abandoned"
)

// An Automaton is a protocol with a finite number of states. It is data: [Compile]
// makes something of it that runs.
type Automaton struct {
	Name        string       `json:"name"`
	Initial     State        `json:"initial"`
	States      []State      `json:"states"` // the initial state, then in reading order
	Transitions []Transition `json:"transitions"`

	// Part says of a state that it is one of the steps inside another, as it was written:
	// a call that waits for its result is inside the state that allows it. What is used
	// of a budget and how long a timer of a state runs counts for all its parts together.
	// By default a state is a part of itself.
	Part map[State]State `json:"part,omitempty"`

	Public   map[State]string `json:"public,omitempty"` // what a state is called outside; by default nothing
	Ends     map[State]End    `json:"ends,omitempty"`
	Guidance map[State]string `json:"guidance,omitempty"` // what to tell an agent that is refused; no part of the digest
	Budgets  map[State]Budget `json:"budgets,omitempty"`  // of what is done in a state and its parts, all visits together
	Terms    *Terms           `json:"terms,omitempty"`
	Places   map[State]Place  `json:"-"` // where a state was written, for findings
}

// Whole returns the state that a state is a part of.
func (a *Automaton) Whole(s State) State {
	if whole, ok := a.Part[s]; ok {
		return whole
	}
	return s
}

// A Place is a line and a column of a text, from 1.
type Place struct{ Line, Column int }

// Step returns the state that follows from. The caller says whether a role and a
// guard hold. It reports false if no transition fits. It is for automata whose
// transitions have no conditions on documents.
func (a *Automaton) Step(from State, on Label, holds func(Role, Guard) bool) (State, bool) {
	for i := range a.Transitions {
		t := &a.Transitions[i]
		if t.From == from && t.On == on && holds(t.By, t.If) {
			return t.To, true
		}
	}
	return "", false
}

// Allows reports whether some guard lets the role cause the event in the state.
func (a *Automaton) Allows(from State, on Label, by Role) bool {
	for i := range a.Transitions {
		if t := &a.Transitions[i]; t.From == from && t.On == on && t.By == by {
			return t.To != Nowhere
		}
	}
	return false
}

// Validate reports what is wrong with the automaton as it is written: unknown or
// repeated states, a transition that an earlier one always hides, a state that
// cannot be reached.
func (a *Automaton) Validate() error {
	var faults []error
	for i, s := range a.States {
		if slices.Contains(a.States[:i], s) {
			faults = append(faults, fmt.Errorf("state %s is listed twice", s))
		}
	}
	reached := []State{a.Initial}
	for i := 0; i < len(reached); i++ {
		for _, t := range a.Transitions {
			if t.From == reached[i] && !slices.Contains(reached, t.To) {
				reached = append(reached, t.To)
			}
		}
	}
	for _, s := range a.States {
		if !slices.Contains(reached, s) {
			faults = append(faults, fmt.Errorf("state %s cannot be reached from %s", s, a.Initial))
		}
	}
	for i, t := range a.Transitions {
		if !slices.Contains(a.States, t.From) || t.To != Nowhere && !slices.Contains(a.States, t.To) {
			faults = append(faults, fmt.Errorf("transition %d (%s on %s) names a state that is not listed", i, t.From, t.On))
		}
		if slices.ContainsFunc(a.Transitions[:i], func(u Transition) bool {
			return u.From == t.From && u.On == t.On && u.By == t.By && (u.If == "" || u.If == t.If) && len(u.When) == 0
		}) {
			faults = append(faults, fmt.Errorf("transition %d (%s on %s) is hidden by an earlier one", i, t.From, t.On))
		}
	}
	return errors.Join(faults...)
}
