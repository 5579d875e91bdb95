package conformance

import "github.com/concordia-node/concordia/wire"

// judgeApproval judges an approval receipt of context.offer in the session
// context.session_urn, if that is given.
func judgeApproval(s Subject) wire.Report {
	session, ok := s.contextText("session_urn")
	if !ok {
		return unclear
	}
	offer, _ := s.Context.Get("offer")
	_, report := s.Verifier().VerifyApproval(s.Artifact, offer, session)
	return report
}

// judgeRevocation judges a revocation record by itself.
func judgeRevocation(s Subject) wire.Report {
	_, report := s.Verifier().VerifyRevocation(s.Artifact)
	return report
}
