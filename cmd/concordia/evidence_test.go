package main

import (
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A fulfillment attestation may have members of its own, those of another kind among
// them. What is verified as one kind must not be kept as another: who signed that,
// nobody has looked at.
func TestKindOfEvidence(t *testing.T) {
	kept := map[string]string{"receipt": "attestation", "fulfillment": "fulfillment", "bundle": "receipt_bundle"}
	for _, test := range []struct{ text, want string }{
		{`{"concordia_attestation":"0.5.0"}`, "receipt"},
		{`{"concordia_receipt_bundle":"0.1.0","attestations":[]}`, "bundle"},
		{`{"attestation_type":"FulfillmentAttestation"}`, "fulfillment"},
		{`{"attestation_type":"FulfillmentAttestation","artifact_type":"ApprovalReceipt","approver":{"identity":"victim"}}`, ""},
		{`{"attestation_type":"FulfillmentAttestation","merkle_proofs":[],"revealed_attestations":[]}`, ""},
		{`{"attestation_type":"Other","mandate_id":"urn:concordia:mandate:1","issuer":"victim"}`, ""},
		{`{"messages":[]}`, ""},
		{`[]`, ""},
	} {
		v, err := wire.Parse([]byte(test.text), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		got := kindOfEvidence(v)
		if got != test.want || got != "" && conformance.KindOf(v) != kept[got] {
			t.Errorf("kindOfEvidence(%s) = %q, want %q; it is kept as %q", test.text, got, test.want, conformance.KindOf(v))
		}
	}
}

// Who is named on the command line is named in either spelling of a did:key: a revoker
// who writes the other one still revokes.
func TestAmong(t *testing.T) {
	k, err := dealer("a")
	if err != nil {
		t.Fatal(err)
	}
	plain, reference := wire.DIDKey(k.Public()), wire.ReferenceDIDKey(k.Public())
	for _, test := range []struct {
		ids   []string
		agent wire.AgentID
		want  bool
	}{
		{nil, "a", false}, {[]string{"b", "a"}, "a", true}, {[]string{"b"}, "a", false},
		{[]string{string(plain)}, reference, true}, {[]string{string(reference)}, plain, true}, {[]string{string(plain)}, plain + "x", false},
	} {
		if got := among(test.ids, test.agent); got != test.want {
			t.Errorf("among(%v, %s) = %v, want %v", test.ids, test.agent, got, test.want)
		}
	}
}
