package conformance

import (
	"errors"
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

var receiptBundle = artifactKind(input(attest.ReadReceiptBundle),
	func(q Question, b *attest.ReceiptBundle) (*attest.BundleSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &attest.BundleSubject{Verifier: f, Bundle: b}, err
	}, attest.BundleChecks(),
	map[string]func(Question, *attest.ReceiptBundle) error{
		"digest": digest[*attest.ReceiptBundle](func(v wire.Value) wire.Value {
			return v.Without("agent_signature").Without("concordia_receipt_bundle")
		}),
	})

var competenceProof = artifactKind(input(attest.ReadCompetenceProof),
	func(q Question, p *attest.CompetenceProof) (*attest.CompetenceSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &attest.CompetenceSubject{Verifier: f, Proof: p}, err
	}, attest.CompetenceChecks(),
	map[string]func(Question, *attest.CompetenceProof) error{
		"digest": digest[*attest.CompetenceProof](func(v wire.Value) wire.Value {
			return v.Without("agent_signature").Without("concordia_competence_proof")
		}),
	})

var agentProfile = artifactKind(input(attest.ReadAgentProfile),
	func(q Question, p *attest.AgentProfile) (*attest.ProfileSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), false)
		return &attest.ProfileSubject{Verifier: f, Profile: p}, err
	}, attest.ProfileChecks(),
	map[string]func(Question, *attest.AgentProfile) error{
		"canonical-fields": canonicalFields,
		"digest": func(q Question, p *attest.AgentProfile) error {
			return q.expectDigest(p.Signed(), "canonical_sha256")
		},
	})

// signedFields are the members of a profile that are signed, as a context names them.
var signedFields = []string{
	"type", "version", "agent_id", "name", "description", "capabilities", "negotiation_profile", "trust_signals",
	"endpoints", "location", "ttl", "updated_at",
}

var errFields = errors.New("want the twelve signed members of a profile, in their order")

// canonicalFields checks that the context means the profile that is known here.
func canonicalFields(q Question, _ *attest.AgentProfile) error {
	fields, _ := q.Context.Get("canonical_fields")
	var got []string
	for _, name := range fields.Elems() {
		got = append(got, name.Text())
	}
	if !slices.Equal(got, signedFields) {
		return ruleContext.Because("/context/canonical_fields", errFields)
	}
	return nil
}
