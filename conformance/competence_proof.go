package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeCompetenceProof judges a competence proof. The context may require that its
// claims are verified.
func judgeCompetenceProof(s Subject) wire.Report {
	var more []wire.Check[*attest.CompetenceSubject]
	if v, ok := s.Context.Get("require_aggregate"); ok && v.Kind() != wire.Null {
		if v.Kind() != wire.Bool {
			return unclear
		}
		if v.Bool() {
			more = append(more, attest.AggregateVerified())
		}
	}
	_, report := s.Verifier().VerifyCompetence(s.Artifact, more...)
	return report
}
