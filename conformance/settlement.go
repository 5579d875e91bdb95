package conformance

import (
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// judgeFulfillment judges a standalone fulfillment attestation, of the agreement
// context.agreement_attestation_id if that is given.
func judgeFulfillment(s Subject) wire.Report {
	agreement, ok := s.contextText("agreement_attestation_id")
	if !ok {
		return unclear
	}
	_, report := s.Verifier().VerifyFulfillment(s.Artifact, agreement)
	return report
}

// judgeCosign judges a cosigned receipt that context.publisher_did presents.
func judgeCosign(s Subject) wire.Report {
	publisher, ok := s.contextText("publisher_did")
	if !ok {
		return unclear
	}
	_, report := s.plain().VerifyCosigned(s.Artifact, wire.AgentID(publisher))
	return report
}

// judgeEnvelope judges a trust-evidence envelope. Where its kid is a bare name, a
// case may name the key so, too: it has no other provider to be confused with.
func judgeEnvelope(s Subject) wire.Report {
	keys := s.Keys
	if kid, _ := s.Artifact.At("provider", "kid"); s.Told && !strings.HasPrefix(kid.Text(), "did:") {
		keys = wire.AnyKeys{keys, alias{s.Keys, wire.AgentID(kid.Text())}}
	}
	f := s.plain()
	f.Keys = keys
	_, report := f.VerifyEnvelope(s.Artifact)
	return report
}

// An alias answers for one name, whoever is asked for.
type alias struct {
	keys wire.Keys
	name wire.AgentID
}

// Key implements wire.Keys.
func (k alias) Key(_ wire.AgentID, at time.Time) (wire.PublicKey, error) {
	return k.keys.Key(k.name, at)
}
