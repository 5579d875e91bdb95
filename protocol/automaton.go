package protocol

import (
	"errors"
	"fmt"
	"slices"
)

// The vocabulary of an automaton.
type (
	State string // a node
	Label string // an event: a message type, or a clock
	Role  string // who causes an event
	Guard string // a named condition; empty always holds
)

// A Transition is one edge. Of several edges with one state and label, the first
// whose role and guard hold is taken.
type Transition struct {
	From State `json:"from"`
	On   Label `json:"on"`
	By   Role  `json:"by"`
	If   Guard `json:"if,omitempty"`
	To   State `json:"to"`
}

// An Automaton is a protocol with a finite number of states.
type Automaton struct {
	Name        string       `json:"name"`
	Initial     State        `json:"initial"`
	States      []State      `json:"states"` // the initial state, then in reading order
	Transitions []Transition `json:"transitions"`
}

// Step returns the state that follows from. The caller says whether a role and a
// guard hold. It reports false if no transition fits.
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
			return true
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
		if !slices.Contains(a.States, t.From) || !slices.Contains(a.States, t.To) {
			faults = append(faults, fmt.Errorf("transition %d (%s on %s) names a state that is not listed", i, t.From, t.On))
		}
		if slices.ContainsFunc(a.Transitions[:i], func(u Transition) bool {
			return u.From == t.From && u.On == t.On && u.By == t.By && (u.If == "" || u.If == t.If)
		}) {
			faults = append(faults, fmt.Errorf("transition %d (%s on %s) is hidden by an earlier one", i, t.From, t.On))
		}
	}
	return errors.Join(faults...)
}
