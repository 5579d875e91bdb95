package conformance

import (
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
		"signed-parties":   func(_ Question, a *attest.Attestation) error { return signedParties(a, "") },
		"verified-parties": verifiedParties,
		"digest":           digest[*attest.Attestation](attest.Countersigned),
		"countersigners":   countersigners,
	})

func attestationSubject(q Question, a *attest.Attestation) (*attest.AttestationSubject, error) {
	f, err := q.verifier(q.namedKeys("public_keys_b64url"), false)
	return &attest.AttestationSubject{Verifier: f, Attestation: a}, err
}

// signedParties refuses a party's record without a signature for its shape: a
// receipt that nobody has signed yet has that shape, a vector has not.
func signedParties(a *attest.Attestation, at string) error {
	parties, _ := a.Value().Get("parties")
	for i, p := range parties.Elems() {
		if s, ok := p.Get("signature"); !ok || s.Kind() != wire.String {
			return attest.RuleShape.Because(fmt.Sprintf("%s/parties/%d/signature", at, i), errMissing)
		}
	}
	return nil
}

var ruleVerified = &wire.Rule{Section: "12.5", Name: "expected-parties", Class: wire.ClassBinding, Text: "the parties are those that the context expects"}

// verifiedParties compares the parties, all of which have verified, with those
// that the context expects.
func verifiedParties(q Question, a *attest.Attestation) error {
	expected, ok := q.Context.Get("expected_verified_parties")
	if !ok {
		return nil
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
	if expected.Kind() != wire.Array || !slices.Equal(got, want) {
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
	agents, _ := q.Context.Get("countersigners")
	if agents.Len() == 0 {
		return ruleContext.Because("/context/countersigners", errMissing)
	}
	for _, agent := range agents.Elems() {
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
