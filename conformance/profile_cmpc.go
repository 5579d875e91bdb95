package conformance

import (
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

var conditionalCommitment = artifactKind(input(cmpc.ReadConditionalCommitment),
	func(q Question, c *cmpc.ConditionalCommitment) (*cmpc.CommitmentSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &cmpc.CommitmentSubject{Verifier: f, Commitment: c}, err
	}, cmpc.CommitmentChecks(),
	map[string]func(Question, *cmpc.ConditionalCommitment) error{"digest": digest[*cmpc.ConditionalCommitment](unsigned)})

var activationProof = artifactKind(input(cmpc.ReadAtomicActivationProof),
	func(q Question, p *cmpc.AtomicActivationProof) (*cmpc.ActivationSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &cmpc.ActivationSubject{Verifier: f, Proof: p}, err
	}, cmpc.ActivationChecks(),
	map[string]func(Question, *cmpc.AtomicActivationProof) error{"digest": digest[*cmpc.AtomicActivationProof](unsigned)})

var unwindRecord = artifactKind(input(cmpc.ReadUnwindRecord),
	func(q Question, r *cmpc.UnwindRecord) (*cmpc.UnwindSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &cmpc.UnwindSubject{Verifier: f, Record: r}, err
	}, cmpc.UnwindChecks(),
	map[string]func(Question, *cmpc.UnwindRecord) error{"digest": digest[*cmpc.UnwindRecord](unsigned)})

// closurePredicate's signature is nobody's in the contract.
var closurePredicate = artifactKind(input(cmpc.ReadClosurePredicate),
	func(q Question, p *cmpc.ClosurePredicate) (*cmpc.ClosureSubject, error) {
		return &cmpc.ClosureSubject{Predicate: p}, nil
	}, cmpc.ClosureChecks(),
	map[string]func(Question, *cmpc.ClosurePredicate) error{
		"digest": digest[*cmpc.ClosurePredicate](unsigned),
		"bindings": func(q Question, _ *cmpc.ClosurePredicate) error {
			checks, _, err := q.list("digest_checks")
			if err != nil {
				return err
			}
			return q.bindings(checks, "jcs-sha256-pointer")
		},
	})

var chainSession = artifactKind(input(cmpc.ReadChainSession),
	func(q Question, s *cmpc.ChainSession) (*cmpc.SessionSubject, error) {
		return &cmpc.SessionSubject{Session: s}, nil
	}, append(cmpc.SessionChecks(), cmpc.Published()),
	map[string]func(Question, *cmpc.ChainSession) error{
		"digest": digest[*cmpc.ChainSession](func(v wire.Value) wire.Value { return v }),
	})

// chainTransition is a chain session and the state it is to pass to.
var chainTransition = artifactKind(
	func(q Question) (*cmpc.ChainSession, error) {
		session, _ := q.Input.Get("initial_session")
		return cmpc.ReadChainSession(session)
	},
	func(q Question, s *cmpc.ChainSession) (*cmpc.SessionSubject, error) {
		to, _ := q.Input.Get("attempt_transition")
		subject := &cmpc.SessionSubject{Session: s, To: cmpc.State(to.Text())}
		if subject.To == "" {
			return nil, ruleContext.Because("/attempt_transition", errMissing)
		}
		text, _ := q.Input.Get("transition_now")
		now, err := wire.ParseTime(text.Text())
		if err != nil {
			return nil, ruleContext.Because("/transition_now", err)
		}
		subject.Now = now
		return subject, nil
	}, append(cmpc.SessionChecks(), cmpc.Published()), nil)
