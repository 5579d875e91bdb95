package conformance

import (
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeAttestation judges a reputation attestation. The context may require an
// outcome or a fulfillment to be bound, and set the longest validity.
func judgeAttestation(s Subject) wire.Report {
	var more []wire.Check[*attest.AttestationSubject]
	required, _ := s.Context.Get("require")
	for _, name := range required.Elems() {
		switch name.Text() {
		case "outcome_bound":
			more = append(more, attest.OutcomeBound())
		case "fulfillment_bound":
			more = append(more, attest.FulfillmentBound())
		default:
			return wire.Report{wire.Find("context", false, &wire.Unchecked{Why: "the case requires something unknown"})}
		}
	}
	var policy attest.Policy
	if v, ok := s.Context.At("policy", "max_lifetime_seconds"); ok {
		seconds, _ := v.Int()
		policy.MaxLifetime = time.Duration(seconds) * time.Second
	}
	_, report := attest.VerifyAttestation(s.Artifact, s.Keys, s.Now, &policy, more...)
	return report
}
