package cmpc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

var states = []cmpc.State{cmpc.Proposed, cmpc.Open, cmpc.Activated, cmpc.Dissolved, cmpc.Expired}

var deadline = time.Date(2026, 9, 14, 12, 0, 0, 0, time.UTC)

// in returns a session in a state, with or without what a transition may need.
func in(t *testing.T, state cmpc.State, commitments int, activation, unwind bool) *cmpc.ChainSession {
	s := session(t)
	s.State = state
	s.Commitments = s.Commitments[:commitments]
	if s.Activation = ""; activation {
		s.Activation = "urn:concordia:activation-proof:1"
	}
	if unwind {
		s.Unwind = "urn:concordia:unwind:1"
	}
	return s
}

// transitionFaults are the edges of the preconditions.
func transitionFaults(t *testing.T, seen map[string]int) {
	for _, test := range []struct {
		session *cmpc.ChainSession
		to      cmpc.State
		now     time.Time
		rule    string
	}{
		{in(t, cmpc.Proposed, 2, false, false), cmpc.Open, judged, ""},
		{in(t, cmpc.Proposed, 1, false, false), cmpc.Open, judged, "chain-opening at /commitments"},
		{in(t, cmpc.Open, 2, true, false), cmpc.Activated, deadline.Add(-time.Second), ""},
		{in(t, cmpc.Open, 2, true, false), cmpc.Activated, deadline, "chain-activating-in-time at /activation_deadline"},
		{in(t, cmpc.Open, 2, false, false), cmpc.Activated, judged, "chain-activating at /activation_proof_id"},
		{in(t, cmpc.Open, 2, false, true), cmpc.Dissolved, deadline.Add(time.Hour), ""},
		{in(t, cmpc.Open, 2, false, false), cmpc.Dissolved, judged, "chain-dissolving at /unwind_record_id"},
		{in(t, cmpc.Open, 2, false, false), cmpc.Expired, deadline, ""},
		{in(t, cmpc.Open, 2, false, false), cmpc.Expired, deadline.Add(-time.Second), "chain-expiring at /activation_deadline"},
		{in(t, cmpc.Open, 2, true, false), cmpc.Expired, deadline, "chain-expiring-unproved at /activation_proof_id"},
		{in(t, cmpc.Proposed, 2, true, true), cmpc.Activated, judged, "chain-transition at /state"},
	} {
		got := broke(test.session.CheckTransition(test.to, test.now))
		if got != test.rule {
			t.Errorf("%s to %s at %v: got %q, want %q", test.session.State, test.to, test.now, got, test.rule)
		}
		seen[strings.Split(test.rule, " ")[0]]++
	}
}

// Of all pairs of states four are legal, and a refusal says what would be.
func TestTransitionTable(t *testing.T) {
	legal := map[string]bool{"PROPOSED OPEN": true, "OPEN ACTIVATED": true, "OPEN DISSOLVED": true, "OPEN EXPIRED": true}
	for _, from := range states {
		for _, to := range append(states, "", "CLOSED", "open") {
			now := judged
			if to == cmpc.Expired {
				now = deadline
			}
			s := in(t, from, 2, to == cmpc.Activated, to == cmpc.Dissolved)
			err := s.CheckTransition(to, now)
			if want := legal[fmt.Sprint(from, " ", to)]; (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if illegal, ok := errors.AsType[*cmpc.IllegalTransition](err); ok && (illegal.From != from || !slices.Equal(illegal.Legal, from.Next())) {
				t.Errorf("%s to %s: %+v", from, to, illegal)
			}
		}
	}
	if next := cmpc.Open.Next(); !slices.Equal(next, []cmpc.State{cmpc.Activated, cmpc.Dissolved, cmpc.Expired}) {
		t.Error(next)
	}
	if err := in(t, cmpc.Expired, 2, false, false).CheckTransition(cmpc.Open, judged); !strings.Contains(err.Error(), "EXPIRED is final") {
		t.Error(err)
	}
}

// Two transitions as the reference SDK records them (0.10.0, with a fraction and
// an offset of two hours), written once as Python does and once with Z.
const (
	recordsText = `[
		{"from_state":"PROPOSED","to_state":"OPEN","transitioned_at":"2026-09-19T15:01:00.250000+02:00","evidence":{"why":["x",1.5]},
			"prev_transition_hash":null,"transition_hash":"HASH0"},
		{"from_state":"OPEN","to_state":"EXPIRED","transitioned_at":"2026-09-19T19:00:00.250000+02:00","evidence":null,
			"prev_transition_hash":"HASH0","transition_hash":"HASH1"}]`
)

// records returns recordsText with the hashes of its two records, changed by
// edits of a pointer and a text, with the hashes made after the changes if anew.
func records(t *testing.T, anew bool, edits ...string) wire.Value {
	v := parse(t, recordsText)
	change := func() {
		for i := 0; i < len(edits); i += 2 {
			v = edit(t, v, edits[i+1], strings.Split(edits[i], "/")[1:]...)
		}
	}
	seal := func() {
		hash := ""
		for i, r := range v.Elems() {
			if i > 0 {
				r = r.With("prev_transition_hash", wire.Text(hash))
			}
			hash = r.Without("transition_hash").Hash().Hex()
			v = v.WithElem(i, r.With("transition_hash", wire.Text(hash)))
		}
	}
	if anew {
		change()
		seal()
	} else {
		seal()
		change()
	}
	return v
}

func recordFaults(t *testing.T, seen map[string]int) {
	for _, test := range []struct {
		records wire.Value
		rule    string
	}{
		{records(t, false), ""},
		{parse(t, `[]`), ""},
		{parse(t, `{}`), "transition-record at "},
		{parse(t, `[7]`), "transition-record at /0"},
		{records(t, true, "/0/note", `1`), "transition-record at /0/note"},
		{records(t, true, "/0/to_state", `"CLOSED"`), "transition-record at /0/to_state"},
		{records(t, true, "/0/evidence", `"x"`), "transition-record at /0/evidence"},
		{records(t, true, "/0/transitioned_at", `"2026-09-19 15:01:00+02:00"`), "transition-record at /0/transitioned_at"},
		{records(t, false, "/0/evidence", `null`), "transition-chain at /0/transition_hash"},
		{records(t, false, "/0/transitioned_at", `"2026-09-19T15:01:01.250000+02:00"`), "transition-chain at /0/transition_hash"},
		{records(t, false, "/0/prev_transition_hash", `""`), "transition-chain at /0/prev_transition_hash"},
		{records(t, false, "/1/prev_transition_hash", `null`), "transition-chain at /1/prev_transition_hash"},
		{records(t, true, "/0/from_state", `"EXPIRED"`, "/0/to_state", `"OPEN"`), "chain-transition at /0/to_state"},
		{records(t, true, "/1/from_state", `"PROPOSED"`, "/1/to_state", `"OPEN"`), "chain-transition at /1/from_state"},
	} {
		state, err := cmpc.VerifyTransitions(test.records)
		if got := broke(err); got != test.rule {
			t.Errorf("%v: got %q, want %q", test.records, got, test.rule)
		}
		if test.records.Len() == 2 && err == nil && state != cmpc.Expired {
			t.Errorf("they lead to %q", state)
		}
		seen[strings.Split(test.rule, " ")[0]]++
	}

	// A session that brings its transitions is read, but is not the published form.
	s := parse(t, sessionText)
	open := s.With("transitions", parse(t, "["+elem(records(t, false), 0)+"]"))
	if _, report := cmpc.VerifyChainSession(verifier(t), open, cmpc.Activated); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
	if got := broke(toActivated(verifier(t), open, nil).Err()); got != "chain-published at /transitions" {
		t.Error(got)
	}
	seen["chain-published"]++
	other := s.With("transitions", records(t, false))
	if _, report := cmpc.VerifyChainSession(verifier(t), other, ""); broke(report.Err()) != "transition-chain at /transitions" {
		t.Errorf("records that end elsewhere: %v", report.Err())
	}
}

func elem(v wire.Value, i int) string {
	for j, e := range v.Elems() {
		if i == j {
			return e.Canonical()
		}
	}
	return ""
}

// The hash of a record is of Python's spelling of its time, however it is written.
func TestRecordTime(t *testing.T) {
	for _, test := range []struct{ python, written string }{
		{"2026-09-19T15:01:00+00:00", "2026-09-19T15:01:00Z"},
		{"2026-09-19T15:01:00+00:00", "2026-09-19T15:01:00.000Z"},
		{"2026-09-19T15:01:00+00:00", "2026-09-19T15:01:00-00:00"},
		{"2026-09-19T15:01:00.250000+00:00", "2026-09-19T15:01:00.25Z"},
		{"2026-09-19T15:01:00.123456-03:30", "2026-09-19T15:01:00.123456789-03:30"},
	} {
		v := records(t, true, "/0/transitioned_at", `"`+test.python+`"`)
		v = edit(t, v, `"`+test.written+`"`, "0", "transitioned_at")
		if _, err := cmpc.VerifyTransitions(v); err != nil {
			t.Errorf("%s written %s: %v", test.python, test.written, err)
		}
	}
}
