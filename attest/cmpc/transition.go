package cmpc

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A State is a state of a chain session as it is spelled on the wire.
type State string

// The states of SPEC §9.11.4. The last three are final.
const (
	Proposed  State = "PROPOSED"
	Open      State = "OPEN"
	Activated State = "ACTIVATED"
	Dissolved State = "DISSOLVED"
	Expired   State = "EXPIRED"
)

// The rules of transitions.
var (
	RuleTransition       = &wire.Rule{Section: "9.11.4", Name: "chain-transition", Class: wire.ClassTransition, Text: "a chain session passes to another state only as the table says"}
	RuleOpening          = &wire.Rule{Section: "9.11.4", Name: "chain-opening", Class: wire.ClassTransition, Text: "a session opens with one commitment for each participant"}
	RuleActivating       = &wire.Rule{Section: "9.11.4", Name: "chain-activating", Class: wire.ClassTransition, Text: "a session is activated with an activation proof"}
	RuleActivatingInTime = &wire.Rule{Section: "9.11.4", Name: "chain-activating-in-time", Class: wire.ClassTransition, Text: "a session is activated before its activation deadline"}
	RuleDissolving       = &wire.Rule{Section: "9.11.4", Name: "chain-dissolving", Class: wire.ClassTransition, Text: "a session is dissolved with an unwind record"}
	RuleExpiring         = &wire.Rule{Section: "9.11.4", Name: "chain-expiring", Class: wire.ClassTransition, Text: "a session expires from its activation deadline on"}
	RuleExpiringUnproved = &wire.Rule{Section: "9.11.4", Name: "chain-expiring-unproved", Class: wire.ClassTransition, Text: "a session with an activation proof does not expire"}
	RuleTransitionRecord = &wire.Rule{Section: "9.11.4", Name: "transition-record", Class: wire.ClassSchema, Text: "a transition record has its six members and no others"}
	RuleTransitionChain  = &wire.Rule{Section: "9.11.4", Name: "transition-chain", Class: wire.ClassDigest, Text: "each transition record has its own hash and that of the one before, and the last one leads to the session's state"}
)

var transitionRules = []*wire.Rule{
	RuleTransition, RuleOpening, RuleActivating, RuleActivatingInTime, RuleDissolving, RuleExpiring, RuleExpiringUnproved,
	RuleTransitionRecord, RuleTransitionChain,
}

// A precondition is what a transition needs: rule is broken, at that member, where
// met is false.
type precondition struct {
	rule *wire.Rule
	at   string
	met  func(s *ChainSession, now time.Time) bool
}

// transitions are all there are (SPEC §9.11.4). What is not here is not legal.
var transitions = []struct {
	from, to State
	needs    []precondition
}{
	{Proposed, Open, []precondition{
		{RuleOpening, "/commitments", func(s *ChainSession, _ time.Time) bool { return len(s.Commitments) == len(s.Participants) }},
	}},
	{Open, Activated, []precondition{
		{RuleActivating, "/activation_proof_id", func(s *ChainSession, _ time.Time) bool { return s.Activation != "" }},
		{RuleActivatingInTime, "/activation_deadline", func(s *ChainSession, now time.Time) bool { return now.Before(s.Deadline) }},
	}},
	{Open, Dissolved, []precondition{
		{RuleDissolving, "/unwind_record_id", func(s *ChainSession, _ time.Time) bool { return s.Unwind != "" }},
	}},
	{Open, Expired, []precondition{
		{RuleExpiring, "/activation_deadline", func(s *ChainSession, now time.Time) bool { return !s.Deadline.IsZero() && !now.Before(s.Deadline) }},
		{RuleExpiringUnproved, "/activation_proof_id", func(s *ChainSession, _ time.Time) bool { return s.Activation == "" }},
	}},
}

// Next returns the states to which a session in this one may pass, if the
// preconditions are met.
func (s State) Next() []State {
	var next []State
	for _, t := range transitions {
		if t.from == s {
			next = append(next, t.to)
		}
	}
	return next
}

func (s State) known() bool {
	switch s {
	case Proposed, Open, Activated, Dissolved, Expired:
		return true
	}
	return false
}

// An IllegalTransition says what a session could do instead. It is the cause of a
// Violation of RuleTransition.
type IllegalTransition struct {
	From  State
	Legal []State
}

func (e *IllegalTransition) Error() string {
	if len(e.Legal) == 0 {
		return fmt.Sprintf("%s is final", e.From)
	}
	names := make([]string, len(e.Legal))
	for i, s := range e.Legal {
		names[i] = string(s)
	}
	return fmt.Sprintf("from %s only to %s", e.From, strings.Join(names, ", "))
}

// CheckTransition reports whether the session may pass to another state at now. It
// fails with RuleTransition, caused by an *IllegalTransition, or with the rule of
// the first precondition that is not met. (SPEC §9.11.4)
func (s *ChainSession) CheckTransition(to State, now time.Time) error {
	for _, t := range transitions {
		if t.from != s.State || t.to != to {
			continue
		}
		for _, p := range t.needs {
			if !p.met(s, now) {
				return p.rule.At(p.at)
			}
		}
		return nil
	}
	return RuleTransition.Because("/state", &IllegalTransition{From: s.State, Legal: s.State.Next()})
}

// VerifyTransitions checks the records of the transitions of one session, a JSON
// array: each has the shape of one, is legal, starts in the state where the one
// before ended, and has its own hash and that of the one before. It returns the
// state to which the last one leads, "" if there are none. (SPEC §9.11.4)
//
// The hashes only show that nobody changed a record without those after it; they
// are not signed.
func VerifyTransitions(records wire.Value) (State, error) { return verifyRecords(records, "") }

func verifyRecords(records wire.Value, at string) (State, error) {
	if records.Kind() != wire.Array {
		return "", RuleTransitionRecord.Because(at, errors.New("want an array"))
	}
	var state State
	hash := ""
	for i, v := range records.Elems() {
		at := fmt.Sprintf("%s/%d", at, i)
		to, own, err := verifyRecord(v, state, hash, at)
		if err != nil {
			return "", err
		}
		state, hash = to, own
	}
	return state, nil
}

// verifyRecord checks one record after one that led to state and has hash.
func verifyRecord(v wire.Value, state State, hash, at string) (State, string, error) {
	r := wire.Read(v, at, RuleTransitionRecord)
	r.Closed("from_state", "to_state", "transitioned_at", "evidence", "prev_transition_hash", "transition_hash")
	from, to := readState(r, "from_state"), readState(r, "to_state")
	r.Time("transitioned_at")
	if e := r.Value("evidence"); e.Kind() != wire.Object && e.Kind() != wire.Null && e.Kind() != wire.Absent {
		r.Fail("evidence", errors.New("want an object or null"))
	}
	before, own := r.Value("prev_transition_hash"), r.Text("transition_hash")
	if err := r.Err(); err != nil {
		return "", "", err
	}
	first := state == ""
	switch {
	case first && before.Kind() != wire.Null || !first && (before.Kind() != wire.String || before.Text() != hash):
		return "", "", RuleTransitionChain.At(at + "/prev_transition_hash")
	case recordHash(v) != own:
		return "", "", RuleTransitionChain.At(at + "/transition_hash")
	case !first && from != state:
		return "", "", RuleTransition.Because(at+"/from_state", fmt.Errorf("the session was in %s", state))
	}
	for _, t := range transitions {
		if t.from == from && t.to == to {
			return to, own, nil
		}
	}
	return "", "", RuleTransition.Because(at+"/to_state", &IllegalTransition{From: from, Legal: from.Next()})
}

func readState(r wire.Reader, name string) State {
	s := State(r.Text(name))
	if !s.known() {
		r.Fail(name, errors.New("want a state of a chain session"))
	}
	return s
}

// recordHash returns the hash of a record, bare hex: of its canonical JSON without
// the hash itself, with the time spelled as in Python, whose reference computes it
// before it knows how the time will be written.
func recordHash(record wire.Value) string {
	t, _ := record.Get("transitioned_at")
	return record.Without("transition_hash").With("transitioned_at", wire.Text(pythonTime(t.Text()))).Hash().Hex()
}

// pythonTime returns a timestamp of SPEC §4.1 as Python's isoformat spells it: a
// numeric offset, as it was given, and microseconds unless they are zero.
func pythonTime(text string) string {
	const seconds = len("2006-01-02T15:04:05")
	if len(text) <= seconds {
		return text
	}
	whole, rest := text[:seconds], text[seconds:]
	digits := ""
	if rest[0] == '.' {
		end := strings.IndexAny(rest, "Z+-")
		digits, rest = rest[1:end], rest[end:]
	}
	if rest == "Z" || rest == "-00:00" {
		rest = "+00:00"
	}
	if digits = (digits + "000000")[:6]; digits != "000000" {
		whole += "." + digits
	}
	return whole + rest
}
