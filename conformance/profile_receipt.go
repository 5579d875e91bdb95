package conformance

import (
	"errors"
	"fmt"
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

var approvalReceipt = artifactKind(input(attest.ReadApprovalReceipt),
	func(q Question, a *attest.ApprovalReceipt) (*attest.ApprovalSubject, error) {
		f, err := q.verifier(q.oneKey("public_keys_b64url", "issuer"), true)
		offer, _ := q.Context.Get("offer")
		return &attest.ApprovalSubject{Verifier: f, Receipt: a, Offer: offer}, err
	}, attest.ApprovalChecks(), nil)

var revocationRecord = artifactKind(input(attest.ReadRevocationRecord),
	func(q Question, r *attest.RevocationRecord) (*attest.RevocationSubject, error) {
		f, err := q.verifier(q.oneKey("public_keys_b64url", "issuer"), false)
		return &attest.RevocationSubject{Verifier: f, Record: r}, err
	}, attest.RevocationChecks(), nil)

var attestation = artifactKind(input(attest.ReadAttestation), attestationSubject, attest.AttestationChecks(),
	map[string]func(Question, *attest.Attestation) error{
		"deal-terms":       dealTerms[*attest.Attestation],
		"published":        func(_ Question, a *attest.Attestation) error { return published(a, "") },
		"verified-parties": verifiedParties,
		"digest":           digest[*attest.Attestation](attest.Countersigned),
		"countersigners":   countersigners,
	})

func attestationSubject(q Question, a *attest.Attestation) (*attest.AttestationSubject, error) {
	f, err := q.verifier(q.namedKeys("public_keys_b64url"), false)
	return &attest.AttestationSubject{Verifier: f, Attestation: a}, err
}

// published refuses what the published schema does and this implementation does not:
// a party's record without a signature, which a receipt has that nobody signed yet,
// and extensions of a reference outside a list of nine, which contradicts the text
// around that schema (SPEC §11.5.8 of the reference keeps what is unknown).
func published(a *attest.Attestation, at string) error {
	parties, _ := a.Value().Get("parties")
	for i, p := range parties.Elems() {
		if s, ok := p.Get("signature"); !ok || s.Kind() != wire.String {
			return attest.RuleShape.Because(fmt.Sprintf("%s/parties/%d/signature", at, i), errMissing)
		}
	}
	references, _ := a.Value().Get("references")
	for i, r := range references.Elems() {
		extensions, _ := r.Get("extensions")
		for name, v := range extensions.Members() {
			if !publishedExtension(name, v) {
				return attest.RuleReference.Because(fmt.Sprintf("%s/references/%d/extensions%s", at, i, wire.Pointer(name)), errUnpublished)
			}
		}
	}
	return nil
}

var errUnpublished = errors.New("the published schema does not have this extension")

func publishedExtension(name string, v wire.Value) bool {
	switch name {
	case "profile", "custom_key", "future_field", "future_v0x_field", "tl_leaf_canonical_hash", "verified_signing_key_hex", "tl_url":
		return v.Kind() == wire.String
	case "another_extension":
		nested, ok := v.Get("nested")
		return v.Kind() == wire.Object && v.Len() == 0 || ok && v.Len() == 1 && nested.Kind() == wire.Bool
	case "leaf_index":
		n, ok := v.Int()
		return ok && n >= 0
	}
	return false
}

var ruleVerified = &wire.Rule{Section: "12.5", Name: "expected-parties", Class: wire.ClassBinding, Text: "the parties are those that the context expects"}

// verifiedParties compares the parties, all of which have verified, with those
// that the context expects.
func verifiedParties(q Question, a *attest.Attestation) error {
	expected, given, err := q.list("expected_verified_parties")
	if err != nil || !given {
		return err
	}
	var want, got []string
	for _, e := range expected.Elems() {
		want = append(want, e.Text())
	}
	for _, p := range a.Parties {
		got = append(got, string(p.Agent))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return ruleVerified.At("/parties")
	}
	return nil
}

// countersigners verifies the countersignature of each agent that the context
// names.
func countersigners(q Question, a *attest.Attestation) error {
	f, err := q.verifier(q.namedKeys("public_keys_b64url"), false)
	if err != nil {
		return err
	}
	agents, _, err := q.list("countersigners")
	if err != nil {
		return err
	}
	if agents.Len() == 0 {
		return ruleContext.Because("/context/countersigners", errMissing)
	}
	for _, agent := range agents.Elems() {
		if agent.Kind() != wire.String {
			return ruleContext.Because("/context/countersigners", errNoText)
		}
		text, _ := q.Input.At("countersignatures", agent.Text())
		if err := f.CheckSignature(attest.Claim{
			Rule: ruleCountersignature, Signer: wire.AgentID(agent.Text()), Algorithm: wire.EdDSA, Signed: a.Time,
			Preimage: attest.Countersigned(q.Input), Text: text, At: "/countersignatures" + wire.Pointer(agent.Text()),
		}); err != nil {
			return err
		}
	}
	return nil
}

// ruleCountersignature is attest.RuleOutcome for the agents that a context names.
var ruleCountersignature = &wire.Rule{Section: "12.5", Name: "countersignature", Class: wire.ClassSignature, Text: "each countersigner that the context names signed the whole"}
