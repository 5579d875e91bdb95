package attest_test

import (
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const carrier = "did:web:carrier#depot"

// settlement is a sound fulfillment attestation by the carrier.
func settlement(tb testing.TB) wire.Value {
	return signSettlement(tb, parse(tb, `{
		"attestation_type":"FulfillmentAttestation","id":"urn:concordia:fulfillment:1","issued_at":"2026-09-14T09:30:00Z",
		"agreement_attestation_id":"urn:concordia:attestation:att_1",
		"fulfillment":{"status":"fulfilled_with_mediation","settled_at":"2026-09-14T09:20:00Z"},
		"references":[
			{"id":"urn:concordia:session:ses_1","type":"negotiation_session","relationship":"references"},
			{"id":"urn:concordia:attestation:att_1","type":"attestation","relationship":"fulfills","signer_did":"did:web:shop",
			 "signed_at":"2026-09-14T09:00:00Z","version":"0.5.0","extensions":{}}],
		"meta":{"mediator_invoked":true,"resolver_did":"did:web:ombud","resolution_outcome":"partial_refund",
			"resolution_timestamp":"2026-09-14T09:10:00Z","fulfillment_evidence":["urn:x402:payment:0xcad5"]},
		"charge_ref":"tx-cad5",
		"signature":{"alg":"Ed25519","value":"x","signer_did":"`+carrier+`"}}`))
}

func signSettlement(tb testing.TB, v wire.Value) wire.Value { return signBlock(tb, v, carrier) }

func settlementSpecimen(tb testing.TB) specimen {
	f := verifier(tb, carrier)
	const link, meta = "/references/1/", "/meta/"
	return specimen{
		name: "settlement", value: settlement(tb), sign: signSettlement,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyFulfillment(v, "")
			return report
		},
		tolerated: map[string]string{
			"drop /fulfillment/settled_at": "optional",
			"drop " + link + "signer_did":  "optional", "drop " + link + "signed_at": "optional",
			"drop " + link + "version": "optional", "drop " + link + "extensions": "optional",
			"drop " + meta + "resolver_did": "optional", "drop " + meta + "resolution_outcome": "optional",
			"drop " + meta + "resolution_timestamp": "optional", "drop " + meta + "fulfillment_evidence": "optional",
			"drop /charge_ref": "not of the schema", "mistype /charge_ref": "not of the schema",
		},
	}
}

func TestSettlement(t *testing.T) {
	at := func(d time.Duration) string { return `"` + wire.FormatTime(judged.Add(d)) + `"` }
	for _, test := range []struct {
		rule string
		path []string
		text string // "" removes the member
	}{
		{"", []string{"id"}, `"urn:concordia:fulfillment:1"`},
		{"", []string{"fulfillment", "status"}, `"failed"`},
		{"", []string{"fulfillment", "status"}, `"disputed_unresolved"`},
		{"", []string{"meta", "behavioral_signals"}, `{"on_time":true,"disputes_raised":0}`},
		{"settlement at /fulfillment/status", []string{"fulfillment", "status"}, `"fulfilled"`},
		{"settlement at /issued_at", []string{"issued_at"}, `"yesterday"`},
		{"settlement at /fulfillment/settled_at", []string{"fulfillment", "settled_at"}, `"2026-09-14"`},
		{"settlement at /fulfillment/settled_at", []string{"fulfillment", "settled_at"}, `null`},
		{"settlement at /meta/resolution_timestamp", []string{"meta", "resolution_timestamp"}, `"2026-09-14T09:10:00"`},
		{"settlement at /references/1/signed_at", []string{"references", "1", "signed_at"}, `"soon"`},
		{"settlement at /references", []string{"references"}, `[]`},
		{"settlement at /signature", []string{"signature", "kid"}, `"k1"`},
		{"settlement at /signature/alg", []string{"signature", "alg"}, `"EdDSA"`},
		{"fulfills-reference at /references", []string{"references", "1", "relationship"}, `"references"`},
		{"fulfills-agreement at /references", []string{"references", "1", "id"}, `"urn:concordia:attestation:att_2"`},
		{"mediated at /meta/mediator_invoked", []string{"meta", "mediator_invoked"}, `false`},
		{"mediated at /meta/mediator_invoked", []string{"meta", "mediator_invoked"}, ""},
		{"mediated at /meta/mediator_invoked", []string{"meta"}, ""},
		{"unmediated at /meta/mediator_invoked", []string{"fulfillment", "status"}, `"fulfilled_clean"`},
		{"", []string{"issued_at"}, at(2 * time.Minute)},
		{"not-yet-valid at /issued_at", []string{"issued_at"}, at(2*time.Minute + time.Second)},
		{"", []string{"issued_at"}, at(-attest.DefaultMaxAge)},
		{"age at /issued_at", []string{"issued_at"}, at(-attest.DefaultMaxAge - time.Second)},
		{"", []string{"fulfillment", "settled_at"}, at(2 * time.Minute)},
		{"not-yet-valid at /fulfillment/settled_at", []string{"fulfillment", "settled_at"}, at(2*time.Minute + time.Second)},
		{"", []string{"meta", "resolution_timestamp"}, at(2 * time.Minute)},
		{"not-yet-valid at /meta/resolution_timestamp", []string{"meta", "resolution_timestamp"}, at(2*time.Minute + time.Second)},
		{"deal-terms at /meta/resolution_outcome", []string{"meta", "resolution_outcome"}, `"refund of 200 EUR"`},
		{"deal-terms at /meta/fulfillment_evidence/0", []string{"meta", "fulfillment_evidence"}, `["urn:x: 3 units"]`},
		{"deal-terms at /fulfillment/notes/a/0", []string{"fulfillment", "notes"}, `{"a":["price: low"]}`},
		{"deal-terms at /fulfillment/EUR 5", []string{"fulfillment", "EUR 5"}, `true`},
		{"deal-terms at /references/0/note", []string{"references", "0", "note"}, `"$5"`},
		{"deal-terms at /note", []string{"note"}, `"qty 7"`},
	} {
		v := signSettlement(t, edit(t, settlement(t), test.text, test.path...))
		_, report := verifier(t, carrier).VerifyFulfillment(v, "urn:concordia:attestation:att_1")
		if got := verdict(report); got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
	}
}

func TestSettlementRead(t *testing.T) {
	a, report := verifier(t, carrier).VerifyFulfillment(settlement(t), "")
	if report.Err() != nil {
		t.Fatal(report.Err())
	}
	if a.Agreement != "urn:concordia:attestation:att_1" || a.Status != attest.FulfilledWithMediation || !a.MediatorInvoked ||
		a.Resolver != "did:web:ombud" || a.Resolution != "partial_refund" || len(a.Evidence) != 1 || a.Signer != carrier ||
		!a.SettledAt.Equal(issued.Add(20*time.Minute)) || !a.ResolvedAt.Equal(issued.Add(10*time.Minute)) || len(a.Links) != 2 ||
		!a.Value().Equal(settlement(t)) {
		t.Errorf("read %+v", a)
	}

	// What is optional is optional: no meta, no time of settlement.
	v := edit(t, edit(t, settlement(t), "", "meta"), `{"status":"fulfilled_clean"}`, "fulfillment")
	if a, report = verifier(t, carrier).VerifyFulfillment(signSettlement(t, v), ""); report.Err() != nil || !a.SettledAt.IsZero() {
		t.Errorf("the least of one: %v, %+v", report.Err(), a)
	}
}

// A signature counts under the key of signer_did alone. Without one the signer is
// not known, unless the keys answer for nobody in particular.
func TestSettlementSigner(t *testing.T) {
	f := verifier(t, carrier, "did:web:other")
	const at = "settlement-signature at /signature/value"
	if _, report := f.VerifyFulfillment(signBlock(t, settlement(t), "did:web:other"), ""); verdict(report) != at {
		t.Error(report.Err())
	}
	if _, report := f.VerifyFulfillment(edit(t, settlement(t), `"did:web:other"`, "signature", "signer_did"), ""); verdict(report) != at {
		t.Error(report.Err())
	}
	if _, report := verifier(t).VerifyFulfillment(settlement(t), ""); report.Outcome() != wire.NotChecked {
		t.Error(report.Err())
	}
	unnamed := edit(t, settlement(t), "", "signature", "signer_did")
	if _, report := f.VerifyFulfillment(unnamed, ""); report.Outcome() != wire.NotChecked {
		t.Error(report.Err())
	}
	f.Keys = anyone{key(t, carrier).Public()}
	if _, report := f.VerifyFulfillment(unnamed, ""); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
}

// anyone is a conformance context that has one key and does not say whose.
type anyone struct{ key wire.PublicKey }

func (a anyone) Key(wire.AgentID, time.Time) (wire.PublicKey, error) { return a.key, nil }

func TestSettledAgreement(t *testing.T) {
	f := verifier(t, carrier)
	if _, report := f.VerifyFulfillment(settlement(t), "att_1"); verdict(report) != "settled-agreement at /agreement_attestation_id" {
		t.Error(report.Err())
	}
}

// The settlement of a revoked agreement, and a revoked settlement, do not stand.
func TestSettlementRevoked(t *testing.T) {
	const treasury = "did:web:treasury"
	for id, want := range map[string]string{
		"urn:concordia:attestation:att_1": "revoked at /references/1",
		"urn:concordia:fulfillment:1":     "revoked at ",
		"urn:concordia:session:ses_1":     "", // only referred to
	} {
		record := edit(t, edit(t, revocation(t), `"`+id+`"`, "revoked_artifact_id"), `"`+id+`"`, "references", "0", "id")
		f := verifier(t, carrier, treasury)
		f.Revocations, _ = f.ReadRevocations([]wire.Value{signBlock(t, record, treasury)}, func(wire.AgentID) bool { return true })
		if _, report := f.VerifyFulfillment(settlement(t), ""); verdict(report) != want {
			t.Errorf("%s: %v, want %q", id, report.Err(), want)
		}
	}
}
