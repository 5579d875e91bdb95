package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeReceiptBundle judges a receipt bundle. The context says nothing.
func judgeReceiptBundle(s Subject) wire.Report {
	_, report := attest.Verifier{Keys: s.Keys, Now: s.Now}.VerifyBundle(s.Artifact)
	return report
}
