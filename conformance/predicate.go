package conformance

import "github.com/concordia-node/concordia/wire"

// judgePredicate judges a predicate.
func judgePredicate(s Subject) wire.Report {
	f, report := s.verifier()
	if report != nil {
		return report
	}
	_, report = f.VerifyPredicate(s.Artifact)
	return report
}
