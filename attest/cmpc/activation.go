package cmpc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// An AtomicActivationProof says that the closure predicate of a chain session
// held and that all commitments took effect at one moment (SPEC §9.11.2).
type AtomicActivationProof struct {
	ID          string
	Session     string // of the chain session
	Predicate   string // of the closure predicate
	Commitments []string
	ActivatedAt time.Time
	Issuer      wire.AgentID

	value    wire.Value
	misdated error // a timestamp that is no instant
}

// The rules of activation proofs.
var (
	RuleActivation            = &wire.Rule{Section: "9.11.2", Name: "activation", Class: wire.ClassSchema, Text: "an activation proof has the members of its schema and no others"}
	RuleActivationSignature   = &wire.Rule{Section: "9.11.2", Name: "activation-signature", Class: wire.ClassSignature, Text: "the issuer signed the activation proof"}
	RuleActivationEvaluation  = &wire.Rule{Section: "9.11.2", Name: "activation-evaluation", Class: wire.ClassBinding, Text: "an activation proof does not say that its predicate was unsatisfied"}
	RuleActivationCommitments = &wire.Rule{Section: "9.11.2", Name: "activation-commitments", Class: wire.ClassSchema, Text: "an activation proof lists each commitment once"}
	RuleActivationSession     = &wire.Rule{Section: "9.11.2", Name: "activation-session", Class: wire.ClassBinding, Text: "the chain session at hand, its predicate and its commitments are those that the proof activates, before the deadline"}
	RuleActivationState       = &wire.Rule{Section: "9.11.2", Name: "activation-state", Class: wire.ClassTransition, Text: "the chain session at hand is open and names no other proof, or was activated by this one"}
)

var activationRules = []*wire.Rule{
	RuleActivation, RuleActivationSignature, RuleActivationEvaluation, RuleActivationCommitments, RuleActivationSession, RuleActivationState,
}

// ReadAtomicActivationProof checks the shape of an activation proof. It verifies
// nothing.
func ReadAtomicActivationProof(v wire.Value) (*AtomicActivationProof, error) {
	r, err := attest.Shape(v, "atomic_activation_proof", RuleActivation)
	if err != nil {
		return nil, err
	}
	var at instants
	p := &AtomicActivationProof{
		ID: r.Text("activation_proof_id"), Session: r.Text("chain_session_id"), Predicate: r.Text("closure_predicate_id"),
		Commitments: r.Strings("commitment_ids"), ActivatedAt: at.read(r, "activated_at"),
		Issuer: wire.ReadID[wire.AgentID](r, "issuer_did"), value: v,
	}
	p.misdated = at.misfit
	r.Object("predicate_evaluation").Open("result")
	return p, r.Err()
}

// Value returns the proof as it was received.
func (p *AtomicActivationProof) Value() wire.Value { return p.value }

// An ActivationSubject is an activation proof with what it is verified by.
type ActivationSubject struct {
	attest.Verifier
	Proof   *AtomicActivationProof
	Session *ChainSession // which it has to activate; nil if any
	Trusted wire.AgentID  // may issue it as well as a participant; "" if nobody
}

// ActivationChecks are the checks of an activation proof in order (SPEC §9.11.2).
// A proof does not get old: what took effect stays so.
func ActivationChecks() []wire.Check[*ActivationSubject] {
	return []wire.Check[*ActivationSubject]{
		{Name: "id", Run: func(s *ActivationSubject) error {
			return attest.CheckNamed(RuleActivation, s.Proof.value, "activation_proof_id", "chain_session_id", "closure_predicate_id", "commitment_ids", "issuer_did")
		}},
		{Name: "signature", Run: (*ActivationSubject).checkSignature},
		{Name: "instants", Run: func(s *ActivationSubject) error { return s.Proof.misdated }},
		{Name: "evaluation", Run: (*ActivationSubject).checkEvaluation},
		{Name: "commitments", Run: (*ActivationSubject).checkCommitments},
		{Name: "freshness", Run: func(s *ActivationSubject) error { return s.CheckAnchor(s.Proof.ActivatedAt, "/activated_at") }},
		{Name: "session", Run: (*ActivationSubject).checkSession},
		{Name: "state", Run: (*ActivationSubject).checkState},
		{Name: "issuer", Run: func(s *ActivationSubject) error { return s.Session.checkIssuer(s.Proof.Issuer, s.Trusted) }},
	}
}

// VerifyActivation checks an activation proof, and that it activates a chain
// session unless that is nil.
func VerifyActivation(f attest.Verifier, v wire.Value, of *ChainSession) (*AtomicActivationProof, wire.Report) {
	return attest.Judge(v, ReadAtomicActivationProof, func(p *AtomicActivationProof) *ActivationSubject {
		return &ActivationSubject{Verifier: f, Proof: p, Session: of}
	}, ActivationChecks())
}

func (s *ActivationSubject) checkSignature() error {
	p := s.Proof
	return s.CheckSignature(signed(RuleActivationSignature, p.value, p.Issuer, p.ActivatedAt))
}

// checkEvaluation refuses a proof that contradicts itself. What else is in
// predicate_evaluation is the issuer's own account and proves nothing.
func (s *ActivationSubject) checkEvaluation() error {
	if v, ok := s.Proof.value.At("predicate_evaluation", "result"); ok && v.Text() != "satisfied" {
		return RuleActivationEvaluation.At("/predicate_evaluation/result")
	}
	return nil
}

func (s *ActivationSubject) checkCommitments() error {
	if i := twice(s.Proof.Commitments); i >= 0 {
		return RuleActivationCommitments.Because(fmt.Sprintf("/commitment_ids/%d", i), errTwice)
	}
	return nil
}

func (s *ActivationSubject) checkSession() error {
	switch p := s.Proof; {
	case s.Session == nil:
		return noSession()
	case p.Session != s.Session.ID:
		return RuleActivationSession.Because("/chain_session_id", errElsewhere)
	case p.Predicate != s.Session.Predicate:
		return RuleActivationSession.Because("/closure_predicate_id", errors.New("the chain session closes by another predicate"))
	case !slices.Equal(slices.Sorted(slices.Values(p.Commitments)), slices.Sorted(slices.Values(s.Session.Commitments))):
		return RuleActivationSession.Because("/commitment_ids", errors.New("the chain session has other commitments"))
	case !p.ActivatedAt.Before(s.Session.Deadline):
		return RuleActivationSession.Because("/activated_at", errors.New("the activation deadline had passed"))
	}
	return nil
}

func (s *ActivationSubject) checkState() error {
	if s.Session == nil {
		return noSession()
	}
	if !s.Session.allows(Activated, s.Session.Activation, s.Proof.ID) {
		return RuleActivationState.Because("/activation_proof_id", fmt.Errorf("the chain session is %s", s.Session.State))
	}
	return nil
}

// Activate issues the proof that the commitments of an open session satisfy its
// predicate now. It verifies each of them with the issuer's Keys, and the predicate,
// and proves nothing if anything is missing. (SPEC §9.11.2)
func Activate(i attest.Issuer, of *ChainSession, predicate wire.Value, commitments []wire.Value) (wire.Value, error) {
	const issuing = "issuing an activation proof: %w"
	f := i.Verifier()
	p, report := VerifyClosurePredicate(f, predicate, of, ClosureSigned())
	if err := report.Err(); err != nil {
		return wire.Value{}, fmt.Errorf(issuing, err)
	}
	ids := make([]string, len(commitments))
	for n, v := range commitments {
		c, report := VerifyCommitment(f, v, of)
		if err := report.Err(); err != nil {
			return wire.Value{}, fmt.Errorf(issuing, fmt.Errorf("commitment %d: %w", n, err))
		}
		ids[n] = c.ID
	}
	if err := p.Evaluate(commitments, i.Now).Err(); err != nil {
		return wire.Value{}, fmt.Errorf(issuing, err)
	}
	draft, err := wire.Encode(wire.M{
		"chain_session_id": of.ID, "closure_predicate_id": p.ID, "commitment_ids": ids,
		"predicate_evaluation": wire.M{"result": "satisfied"},
	})
	if err != nil {
		return draft, fmt.Errorf(issuing, err)
	}
	return i.Make(attest.Form{
		Kind: "an activation proof", ID: "activation_proof_id", Prefix: "urn:concordia:activation-proof:", Signer: "issuer_did",
		Issued: "activated_at",
		Verifies: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := VerifyActivation(f, v, of)
			return report
		},
	}, draft)
}
