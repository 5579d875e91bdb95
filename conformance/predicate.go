package conformance

import "github.com/concordia-node/concordia/wire"

// judgePredicate judges a predicate.
func judgePredicate(s Subject) wire.Report {
	_, report := s.Verifier().VerifyPredicate(s.Artifact)
	return report
}
