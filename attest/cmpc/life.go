package cmpc

import (
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// Propose returns a new chain session, which closes by the predicate of that id and
// cannot be activated from the deadline on (SPEC §9.11.4).
func Propose(id, predicate string, participants []wire.AgentID, deadline, now time.Time) (*ChainSession, error) {
	v, err := wire.Encode(wire.M{
		"chain_session_id": id, "participants": participants, "closure_predicate_ref": predicate, "state": Proposed,
		"created_at": wire.FormatTime(now), "activation_deadline": wire.FormatTime(deadline), "activated_at": nil, "dissolved_at": nil,
		"commitments": []string{}, "unwind_record_id": nil, "activation_proof_id": nil,
	})
	if err != nil {
		return nil, fmt.Errorf("proposing a chain session: %w", err)
	}
	s, report := VerifyChainSession(attest.Verifier{Now: now}, v, "")
	if err := report.Err(); err != nil {
		return nil, fmt.Errorf("proposing a chain session: %w", err)
	}
	return s, nil
}

// Opened returns the session with the commitments that the verifier has found to be
// its own, one of each participant.
func (s *ChainSession) Opened(f attest.Verifier, commitments []wire.Value) (*ChainSession, error) {
	ids := make([]string, len(commitments))
	by := make(map[wire.AgentID]bool, len(commitments))
	for n, v := range commitments {
		c, report := VerifyCommitment(f, v, s)
		if err := report.Err(); err != nil {
			return nil, fmt.Errorf("opening a chain session: commitment %d: %w", n, err)
		}
		if who := wire.PlainDIDKey(c.Committer); by[who] {
			return nil, fmt.Errorf("opening a chain session: commitment %d: %w", n, RuleChainLists.Because("/committer_did", errTwice))
		}
		ids[n], by[wire.PlainDIDKey(c.Committer)] = c.ID, true
	}
	return s.pass(Open, f.Now, wire.M{"commitments": ids})
}

// Activated returns the session as a proof that the verifier accepts activates it.
func (s *ChainSession) Activated(f attest.Verifier, proof wire.Value) (*ChainSession, error) {
	p, report := VerifyActivation(f, proof, s)
	if err := report.Err(); err != nil {
		return nil, fmt.Errorf("activating a chain session: %w", err)
	}
	return s.pass(Activated, f.Now, wire.M{"activation_proof_id": p.ID, "activated_at": wire.FormatTime(p.ActivatedAt)})
}

// Dissolved returns the session as an unwind record that the verifier accepts
// dissolves it.
func (s *ChainSession) Dissolved(f attest.Verifier, unwind wire.Value) (*ChainSession, error) {
	u, report := VerifyUnwind(f, unwind, s)
	if err := report.Err(); err != nil {
		return nil, fmt.Errorf("dissolving a chain session: %w", err)
	}
	return s.pass(Dissolved, f.Now, wire.M{"unwind_record_id": u.ID, "dissolved_at": wire.FormatTime(u.IssuedAt)})
}

// Lapsed returns the session as expired.
func (s *ChainSession) Lapsed(now time.Time) (*ChainSession, error) {
	return s.pass(Expired, now, wire.M{"dissolved_at": wire.FormatTime(now)})
}

// pass returns the session in another state. The preconditions are those of the state
// with what is set; the members of the state itself come after.
func (s *ChainSession) pass(to State, now time.Time, set wire.M) (*ChainSession, error) {
	v := s.value
	for name, x := range set {
		m, err := wire.Encode(x)
		if err != nil {
			return nil, fmt.Errorf("passing to %s: %w", to, err)
		}
		v = v.With(name, m)
	}
	ready, err := ReadChainSession(v)
	if err == nil {
		err = ready.CheckTransition(to, now)
	}
	if err != nil {
		return nil, fmt.Errorf("passing to %s: %w", to, err)
	}
	return ReadChainSession(v.With("state", wire.Text(string(to))))
}
