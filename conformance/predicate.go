package conformance

import "github.com/concordia-node/concordia/wire"

// judgePredicate judges a predicate.
func judgePredicate(s Subject) wire.Report {
	_, report := s.verifier().VerifyPredicate(s.Artifact)
	return report
}
