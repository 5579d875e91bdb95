package conformance

import "github.com/concordia-node/concordia/wire"

// judgeReceiptBundle judges a receipt bundle. The context says nothing.
func judgeReceiptBundle(s Subject) wire.Report {
	_, report := s.Verifier().VerifyBundle(s.Artifact)
	return report
}
