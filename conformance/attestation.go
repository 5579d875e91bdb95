package conformance

import (
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// unclear is the report of a case that requires what is not understood here.
var unclear = wire.Report{wire.Find("context", false, &wire.Unchecked{Why: "the case requires something that this version does not know"})}

// judgeAttestation judges a reputation attestation. The context may require an
// outcome or a fulfillment to be bound, and set the longest validity.
func judgeAttestation(s Subject) wire.Report {
	var more []wire.Check[*attest.AttestationSubject]
	required, ok := s.Context.Get("require")
	if ok && required.Kind() != wire.Array && required.Kind() != wire.Null {
		return unclear
	}
	for _, name := range required.Elems() {
		switch name.Text() {
		case "outcome_bound":
			more = append(more, attest.OutcomeBound())
		case "fulfillment_bound":
			more = append(more, attest.FulfillmentBound())
		} // others name checks: see Subject.require
	}
	f := s.Verifier()
	if v, ok := s.Context.At("policy", "max_lifetime_seconds"); ok {
		seconds, ok := v.Int()
		if !ok || seconds < 1 || seconds > 1<<32 {
			return unclear
		}
		f.Policy.MaxLifetime = time.Duration(seconds) * time.Second
	}
	_, report := f.VerifyAttestation(s.Artifact, more...)
	return report
}
