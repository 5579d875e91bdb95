package conformance_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

const cascadeTarget = "urn:concordia:mandate:1"

func cascadeKey(t *testing.T, name string) wire.PrivateKey {
	t.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// cascadeRecord is a revocation of cascadeTarget by did:web:treasury, signed by who.
func cascadeRecord(t *testing.T, who string) string {
	t.Helper()
	text := `{"revocation_id":"urn:concordia:revocation:1","revoked_artifact_id":"` + cascadeTarget + `","revoked_artifact_type":"mandate",
		"revocation_scope":"cascade_to_dependents","issuer_did":"did:web:treasury","issued_at":"2026-09-14T09:40:00Z","effective_at":"2026-09-14T09:45:00Z",
		"reason":"key lost","cascade_depth":1,"references":[{"id":"` + cascadeTarget + `","type":"mandate","relationship":"revokes"}]}`
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := cascadeKey(t, who).Sign([]byte(v.Canonical()))
	if err != nil {
		t.Fatal(err)
	}
	block, err := wire.Encode(wire.M{"alg": "EdDSA", "value": sig})
	if err != nil {
		t.Fatal(err)
	}
	return v.With("signature", block).Canonical()
}

// judge reads and judges a case of that kind at ten o'clock, with the key of the
// treasury if it is known.
func judge(t *testing.T, kind, input, context string, known bool) wire.Report {
	t.Helper()
	keys := `{}`
	if known {
		keys = `{"did:web:treasury":"` + cascadeKey(t, "treasury").Public().String() + `"}`
	}
	c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"` + kind + `","public_keys":` + keys +
		`,"now":"2026-09-14T10:00:00Z","input":` + input + `,"context":` + context + `}`))
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Judge()
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A record that does not count revokes nothing; one that cannot be checked leaves
// the question open.
func TestTraversal(t *testing.T) {
	record := cascadeRecord(t, "treasury")
	const artifacts = `[{"artifact_id":"a","references":[{"id":"` + cascadeTarget + `","relationship":"fulfills"}]},
		{"artifact_id":"b","artifact_type":"predicate","references":[{"id":"a","type":"x","relationship":"fulfills"}]},{"artifact_id":"c"}]`
	for _, test := range []struct {
		name, record, artifacts, target string
		known                           bool
		want                            string
	}{
		{"a dependent", record, artifacts, "a", true, "reject"},
		{"itself", record, artifacts, cascadeTarget, true, "reject"},
		{"too far away", record, artifacts, "b", true, "accept"},
		{"without references", record, artifacts, "c", true, "accept"},
		{"not listed", record, artifacts, "d", true, "accept"},
		{"forged", cascadeRecord(t, "somebody"), artifacts, "a", true, "accept"},
		{"not a record", `{}`, artifacts, "a", true, "accept"},
		{"key unknown", record, artifacts, "a", false, "reject"},
		{"key unknown, not listed", record, artifacts, "d", false, "reject"},
		{"no ids", record, `[{}]`, "a", true, "reject"},
		{"no list", record, `{}`, "a", true, "reject"},
	} {
		input := `{"revocation":` + test.record + `,"artifacts":` + test.artifacts + `,"target":"` + test.target + `"}`
		report := judge(t, "cascade_traversal", input, `{}`, test.known)
		if got := conformance.Verdict(report); got != test.want {
			t.Errorf("%s: %s, want %s: %v", test.name, got, test.want, report.Err())
		}
	}
}

// What a case says of its context is understood, or the case is not judged.
func TestContext(t *testing.T) {
	record := cascadeRecord(t, "treasury")
	for _, test := range []struct {
		kind, context string
		clear         bool
	}{
		{"approval_receipt", `{"session_urn":"urn:concordia:session:1","revocation_records":[` + record + `]}`, true},
		{"approval_receipt", `{"session_urn":null,"revocation_records":null}`, true},
		{"approval_receipt", `{"session_urn":7}`, false},
		{"approval_receipt", `{"revocation_records":{}}`, false},
		{"fulfillment", `{}`, true},
		{"fulfillment", `{"revocation_records":"none"}`, false},
		{"fulfillment", `{"agreement_attestation_id":"urn:concordia:attestation:att_1"}`, true},
		{"fulfillment", `{"agreement_attestation_id":7}`, false},
		{"cascade", `{"expected_decision_id":"sha256:00"}`, true},
		{"cascade", `{"expected_decision_id":[]}`, false},
		{"cosign", `{"publisher_did":"did:web:a"}`, true},
		{"cosign", `{"publisher_did":{}}`, false},
		{"envelope", `{}`, true},
		{"revocation", `{}`, true},
	} {
		report := judge(t, test.kind, `{}`, test.context, true)
		if (report[0].Check != "context") != test.clear || conformance.Verdict(report) != "reject" {
			t.Errorf("%s in %s: %v", test.kind, test.context, report)
		}
	}
	if report := judge(t, "revocation", record, `{}`, true); conformance.Verdict(report) != "accept" {
		t.Error(report.Err())
	}
}
