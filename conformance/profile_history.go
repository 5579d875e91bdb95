package conformance

import (
	"errors"
	"fmt"
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/merkle"
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

// The contract looks at competence proofs and agent profiles less closely than the
// product: at the members, their nesting and what ties them together, not at their
// types. A foreign suite may hold anything there that the contract allows.

var competenceProof = ownKind(map[string]func(Question) error{
	"members":    Question.competenceMembers,
	"count":      Question.competenceCount,
	"membership": Question.competenceMembership,
	"digest":     func(q Question) error { return q.expectDigest(q.competencePreimage(), "canonical_sha256") },
	"signature": func(q Question) error {
		return q.signedBy(attest.RuleCompetenceSignature, q.competencePreimage(), "agent_signature")
	},
})

func (q Question) competencePreimage() wire.Value {
	return q.Input.Without("agent_signature").Without("concordia_competence_proof")
}

// signedBy verifies a signature of the input under the one key of the context.
func (q Question) signedBy(rule *wire.Rule, preimage wire.Value, member string) error {
	f, err := q.verifier(q.oneKey("public_key_b64url"), false)
	if err != nil {
		return err
	}
	text, _ := q.Input.Get(member)
	return f.CheckSignature(attest.Claim{Rule: rule, Algorithm: wire.EdDSA, Preimage: preimage, Text: text, At: "/" + member})
}

func (q Question) competenceMembers() error {
	r := wire.Read(q.Input, "", attest.RuleCompetence)
	for _, name := range []string{"proof_id", "agent_id", "created_at", "attestation_count", "agent_signature"} {
		r.Value(name)
	}
	r.Object("claims")
	r.Text("attestation_merkle_root")
	for _, p := range r.Objects("merkle_proofs") {
		p.Text("attestation_id")
	}
	for _, a := range r.Objects("revealed_attestations") {
		a.Text("attestation_id")
	}
	return r.Err()
}

func (q Question) competenceCount() error {
	count, _ := q.Input.Get("attestation_count")
	if total, _ := q.Input.At("claims", "total_negotiations"); !total.Equal(count) {
		return attest.RuleCompetenceCount.At("/attestation_count")
	}
	return nil
}

// competenceMembership folds the proof of each revealed receipt, the last of those
// that name it, up to the root.
func (q Question) competenceMembership() error {
	root, _ := q.Input.Get("attestation_merkle_root")
	proofs, _ := q.Input.Get("merkle_proofs")
	byID := make(map[string]wire.Value)
	for _, p := range proofs.Elems() {
		id, _ := p.Get("attestation_id")
		byID[id.Text()] = p
	}
	revealed, _ := q.Input.Get("revealed_attestations")
	for i, a := range revealed.Elems() {
		id, _ := a.Get("attestation_id")
		at := fmt.Sprintf("/revealed_attestations/%d", i)
		p, ok := byID[id.Text()]
		if !ok {
			return attest.RuleMembership.Because(at, errMissing)
		}
		r := wire.Read(p, "/merkle_proofs", attest.RuleCompetence)
		index := r.OptInt("index", 0, wire.MaxSafeInteger, 0)
		var siblings []string
		if r.Has("proof") {
			siblings = r.Strings("proof")
		}
		if err := r.Err(); err != nil {
			return err
		}
		if root.Text() == "" || merkle.Fold(id.Text(), index, siblings) != root.Text() {
			return attest.RuleMembership.At(at)
		}
	}
	return nil
}

var agentProfile = ownKind(map[string]func(Question) error{
	"canonical-fields": Question.canonicalFields,
	"members":          Question.profileMembers,
	"digest":           func(q Question) error { return q.expectDigest(attest.SignedProfile(q.Input), "canonical_sha256") },
	"signature": func(q Question) error {
		return q.signedBy(attest.RuleProfileSignature, attest.SignedProfile(q.Input), "signature")
	},
})

// signedFields are the members of a profile that are signed, as a context names them.
var signedFields = []string{
	"type", "version", "agent_id", "name", "description", "capabilities", "negotiation_profile", "trust_signals",
	"endpoints", "location", "ttl", "updated_at",
}

// profileObjects are the closed objects of a profile and what they may have.
var profileObjects = map[string][]string{
	"capabilities":        {"categories", "offer_types", "resolution_methods", "max_concurrent_sessions", "languages", "currencies"},
	"negotiation_profile": {"style", "avg_rounds_to_agreement", "agreement_rate", "avg_session_duration_seconds", "concession_pattern"},
	"endpoints":           {"negotiate", "a2a_card", "mcp_manifest"},
	"location":            {"regions", "jurisdictions"},
}

var errFields = errors.New("want the twelve signed members of a profile, in their order")

// canonicalFields checks that the context means the profile that is known here.
func (q Question) canonicalFields() error {
	fields, _, err := q.list("canonical_fields")
	if err != nil {
		return err
	}
	var got []string
	for _, name := range fields.Elems() {
		got = append(got, name.Text())
	}
	if !slices.Equal(got, signedFields) {
		return ruleContext.Because("/context/canonical_fields", errFields)
	}
	return nil
}

func (q Question) profileMembers() error {
	r := wire.Read(q.Input, "", attest.RuleProfile)
	r.Closed(append([]string{"signature", "verified"}, signedFields...)...)
	for _, name := range signedFields {
		r.Value(name)
	}
	for name, members := range profileObjects {
		r.Object(name).Closed(members...)
	}
	trust := r.Object("trust_signals").WithoutNulls()
	if s, ok := trust.OptObject("sovereignty"); ok {
		s.Closed("L1", "L2", "L3", "L4")
	}
	if trust.Has("reputation") {
		for _, a := range trust.Objects("reputation") {
			a.Value("provider")
		}
	}
	return r.Err()
}
