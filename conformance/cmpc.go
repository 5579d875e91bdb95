package conformance

import (
	"errors"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

// chainSession returns the chain session of the context, nil if there is none.
func (s Subject) chainSession() (*cmpc.ChainSession, error) {
	v, ok := s.Context.Get("chain_session")
	if !ok || v.Kind() == wire.Null {
		return nil, nil
	}
	return cmpc.ReadChainSession(v)
}

// ofSession judges an artifact that may have to belong to a chain session.
func ofSession[A any](s Subject, verify func(attest.Verifier, wire.Value, *cmpc.ChainSession) (A, wire.Report)) wire.Report {
	session, err := s.chainSession()
	if err != nil {
		return wire.Report{wire.Find("context", false, err)}
	}
	_, report := verify(s.Verifier(), s.Artifact, session)
	return report
}

func judgeCommitment(s Subject) wire.Report      { return ofSession(s, cmpc.VerifyCommitment) }
func judgeActivationProof(s Subject) wire.Report { return ofSession(s, cmpc.VerifyActivation) }
func judgeUnwind(s Subject) wire.Report          { return ofSession(s, cmpc.VerifyUnwind) }

// judgeChainSession judges whether a session may pass to another state at
// transition_now.
func judgeChainSession(s Subject) wire.Report {
	if _, moves := s.Artifact.Get("initial_session"); !moves {
		_, report := cmpc.VerifyChainSession(s.Verifier(), s.Artifact, "")
		return report
	}
	r := wire.Read(s.Artifact, "", ruleCase)
	f := s.Verifier()
	f.Now = r.Time("transition_now")
	session, to := r.Object("initial_session").Whole(), r.Text("attempt_transition")
	if err := r.Err(); err != nil {
		return wire.Report{wire.Find("read", false, err)}
	}
	if to == "" {
		return wire.Report{wire.Find("read", false, cmpc.RuleTransition.At("/attempt_transition"))}
	}
	_, report := cmpc.VerifyChainSession(f, session, cmpc.State(to))
	return report
}

var errBoth = errors.New("a predicate has a condition or parameters")

// judgeClosurePredicate judges a closure predicate by itself, signature included.
func judgeClosurePredicate(s Subject) wire.Report {
	session, err := s.chainSession()
	if err != nil {
		return wire.Report{wire.Find("context", false, err)}
	}
	_, report := cmpc.VerifyClosurePredicate(s.Verifier(), s.Artifact, session, cmpc.ClosureSigned())
	return report
}

// judgeClosure judges whether commitments satisfy a predicate: its type and
// parameters, or a whole closure predicate artifact, which then has to be in force.
func judgeClosure(s Subject) wire.Report {
	r := wire.Read(s.Artifact, "", ruleCase)
	predicate := r.Object("predicate")
	var commitments []wire.Value
	for _, v := range r.Array("commitments").Elems() {
		commitments = append(commitments, v)
	}
	id, profile := predicate.Text("predicate_id"), predicate.Text("type")
	if err := r.Err(); err != nil {
		return wire.Report{wire.Find("read", false, err)}
	}
	var session *cmpc.ChainSession
	var report wire.Report
	if v, ok := s.Artifact.Get("chain_session"); ok {
		var err error
		session, err = cmpc.ReadChainSession(v)
		report = append(report, wire.Find("chain-session", false, err))
		if err == nil {
			report = append(report, wire.Find("session", false, session.CheckClosesBy(id)))
		}
	}
	parameters, ok := predicate.Whole().Get("parameters")
	if predicate.Has("condition") {
		if ok { // an open member must not speak in place of what the issuer signed as the condition
			return append(report, wire.Find("parameters", false, ruleCase.Because("/predicate/parameters", errBoth)))
		}
		p, signed := cmpc.VerifyClosurePredicate(s.Verifier(), predicate.Whole(), session)
		report = append(report, signed...)
		if p == nil {
			return report
		}
		parameters = p.Condition
	}
	report = append(report, wire.Find("commitments", true, &wire.Unchecked{Why: "the commitments are taken as they are: verify each by itself"}))
	return append(report, wire.Find("closure", false, cmpc.Evaluate(profile, parameters, commitments, s.Now).Err()))
}
