package attest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const certifier = "did:web:certifier"

// predicate is a sound predicate of the certifier, with every member there is.
func predicate(tb testing.TB) wire.Value {
	return signPredicate(tb, parse(tb, `{
		"predicate_id":"urn:concordia:predicate:lot-77","type":"urn:concordia:predicate-type:procurement_eligibility:v1",
		"authority":"urn:concordia:authority:organic","issuer":"did:web:certifier","subject":"agent buyer's lot",
		"condition":{"result":"satisfied","operation":"purchase","limit":{"amount":5000}},
		"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T10:30:00Z",
		"references":[{"type":"receipt","id":"urn:concordia:attestation:att_1","relationship":"extends","version":"1",
			"signed_at":"2026-09-14T08:00:00Z","signer_did":"did:web:seller","extensions":{"x":1},"note":"open"}],
		"algorithm":"EdDSA","status":"active","signature":"x",
		"validity":{"mode":"windowed","not_before":"2026-09-14T09:30:00Z","not_after":"2026-09-14T10:15:00Z"},
		"constraints":{"type":"object"},"delegation_chain":[{"signature":"a placeholder"}],
		"revocation_endpoint":"https://certifier.example/revoked",
		"metadata":{"issuer_public_key_b64":"`+key(tb, certifier).Public().String()+`","expected_subject":"agent buyer's lot"}}`))
}

func signPredicate(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	if text, _ := v.Get("signature"); text.Kind() != wire.String {
		return v
	}
	return v.With("signature", signature(tb, v.Without("signature"), certifier))
}

func predicateSpecimen(tb testing.TB) specimen {
	f := verifier(tb, certifier)
	const optional, free = "optional", "not judged"
	return specimen{
		name: "predicate", value: predicate(tb), sign: signPredicate,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyPredicate(v)
			return report
		},
		tolerated: map[string]string{
			"drop /condition/result":                "a condition may state no result",
			"drop /condition/operation":             optional,
			"drop /condition/limit":                 optional,
			"drop /condition/limit/amount":          free,
			"mistype /condition/limit/amount":       free,
			"drop /references/0/version":            optional,
			"drop /references/0/signed_at":          optional,
			"drop /references/0/signer_did":         optional,
			"drop /references/0/extensions":         optional,
			"drop /references/0/extensions/x":       free,
			"mistype /references/0/extensions/x":    free,
			"drop /references/0/note":               "references are open",
			"mistype /references/0/note":            "references are open",
			"drop /validity":                        optional,
			"drop /validity/not_before":             optional,
			"drop /validity/not_after":              optional,
			"mistype /validity/mode":                free,
			"drop /constraints":                     optional,
			"drop /constraints/type":                free,
			"mistype /constraints/type":             free,
			"drop /delegation_chain":                optional,
			"drop /delegation_chain/0/signature":    free,
			"mistype /delegation_chain/0/signature": free,
			"drop /revocation_endpoint":             optional,
			"drop /metadata":                        optional,
			"drop /metadata/issuer_public_key_b64":  optional,
			"drop /metadata/expected_subject":       optional,
		},
	}
}

func TestPredicate(t *testing.T) {
	const typed = "urn:concordia:predicate-type:"
	for _, test := range []struct {
		rule string
		path []string
		text string
		at   time.Duration
	}{
		{"", nil, "", 0},
		{"", []string{"references"}, `[]`, 0},
		{"predicate at /predicate_id", []string{"predicate_id"}, `"urn:concordia:predicate:"`, 0},
		{"predicate at /issuer", []string{"issuer"}, `"did:web:c ertifier"`, 0},
		{"predicate at /subject", []string{"subject"}, `""`, 0},
		{"predicate at /condition", []string{"condition"}, `{}`, 0},
		{"predicate at /validity", []string{"validity"}, `{}`, 0},
		{"predicate at /algorithm", []string{"algorithm"}, `"Ed25519"`, 0},
		{"predicate at /expires_at", []string{"expires_at"}, `"2026-09-14T10:30Z"`, 0},
		{"predicate at ", []string{"note"}, `"closed"`, 0},
		{"predicate at /predicate_type", []string{"predicate_type"}, `"` + typed + `authority_gate:v1"`, 0},
		{"predicate at /references/0/relationship", []string{"references", "0", "relationship"}, `""`, 0},
		{"predicate-reference at /references/0/id", []string{"references", "0", "id"}, `"a b"`, 0},
		{"predicate-reference at /references/0/id", []string{"references", "0", "id"}, `"a\u00a0b"`, 0},
		{"predicate-reference at /references/0/type", []string{"references", "0", "type"}, `"a\u000b"`, 0},
		{"predicate-reference at /references/0/signer_did", []string{"references", "0", "signer_did"}, `"\u0085x"`, 0},
		{"predicate-reference at /references/0/relationship", []string{"references", "0", "relationship"}, `"x\u2028"`, 0},
		{"predicate-reference at /references/0/version", []string{"references", "0", "version"}, `"\ufeff1"`, 0},
		{"predicate-reference at /references/0/extensions", []string{"references", "0", "extensions"}, `{"x":"` + strings.Repeat("y", 2048) + `"}`, 0},
		{"predicate-signature at /signature", []string{"signature"}, `"AAAA"`, 0}, // not signed again
		{"predicate-signature at /signature", []string{"algorithm"}, `"ES256"`, 0},
		{"predicate-key at /metadata/issuer_public_key_b64", []string{"metadata", "issuer_public_key_b64"}, `"` + key(t, "seller").Public().String() + `"`, 0},
		{"predicate-key at /metadata/issuer_public_key_b64", []string{"metadata", "issuer_public_key_b64"}, `null`, 0},
		{"predicate-status at /status", []string{"status"}, `"expired"`, 0},
		{"predicate-status at /status", []string{"status"}, `"revoked"`, 0},
		{"predicate-status at /status", []string{"status"}, `"suspended"`, 0},
		{"predicate-revoked at /revoked_at", []string{"revoked_at"}, `"2026-09-14T09:00:00Z"`, 0},
		{"predicate-revoked at /revoked_at", []string{"revoked_at"}, `"2026-09-15T09:00:00Z"`, 0},
		{"predicate at /revoked_at", []string{"revoked_at"}, `null`, 0},
		{"", []string{"expires_at"}, `"2026-09-14T10:00:00Z"`, 0}, // the last moment
		{"predicate-expired at /expires_at", []string{"expires_at"}, `"2026-09-14T10:00:00Z"`, time.Second},
		{"", []string{"issued_at"}, `"2026-09-14T10:02:00Z"`, 0}, // the skew
		{"not-yet-valid at /issued_at", []string{"issued_at"}, `"2026-09-14T10:02:01Z"`, 0},
		{"", []string{"issued_at"}, `"2020-01-01T00:00:00Z"`, 0},
		{"", nil, "", 15 * time.Minute},
		{"predicate-window at /validity/not_after", nil, "", 15*time.Minute + time.Second},
		{"", nil, "", -30 * time.Minute},
		{"predicate-window at /validity/not_before", nil, "", -30*time.Minute - time.Second},
		{"predicate-window at /validity/not_after", []string{"validity", "not_after"}, `"tomorrow"`, 0},
		{"", []string{"validity"}, `{"mode":"sequence","sequence_key":"x"}`, 0},
		{"predicate-type at /type", []string{"type"}, `"` + typed + `mine:v1"`, 0},
		{"predicate-type at /type", []string{"type"}, `"` + typed + `authority_gate:v2"`, 0},
		{"predicate-type at /type", []string{"type"}, `"authority_gate"`, 0},
		{"", []string{"type"}, `"` + typed + `authority_gate:v1"`, 0},
		{"", []string{"type"}, `"` + typed + `approval_gate:v1"`, 0},
		{"", []string{"type"}, `"` + typed + `jcs_edge:v1"`, 0},
		{"", []string{"type"}, `"` + typed + `policy_gate:v1"`, 0},
		{"predicate-type at /condition/result", []string{"type"}, `"` + typed + `non_deterministic_test:v1"`, 0},
		{"", []string{"condition"}, `{"result":"denied"}`, 0},
		{"", []string{"condition"}, `{"operation":7}`, 0}, // the profile judges what states a result
		{"predicate-type at /condition/result", []string{"condition", "result"}, `"perhaps"`, 0},
		{"predicate-type at /condition/result", []string{"condition", "result"}, `true`, 0},
		{"predicate-type at /condition/operation", []string{"condition", "operation"}, `["purchase"]`, 0},
		{"predicate-type at /condition/limit", []string{"condition", "limit"}, `5000`, 0},
		{"predicate-subject at /metadata/expected_subject", []string{"metadata", "expected_subject"}, `"agent seller's lot"`, 0},
	} {
		v := predicate(t)
		if test.path != nil {
			v = edit(t, v, test.text, test.path...)
			if test.path[0] != "signature" {
				v = signPredicate(t, v)
			}
		}
		f := verifier(t, certifier)
		f.Now = f.Now.Add(test.at)
		p, report := f.VerifyPredicate(v)
		got := verdict(report)
		if got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
		if got == "" && (p.ID != "urn:concordia:predicate:lot-77" || p.Links != nil && p.Links[0].Relationship != "extends" || !p.Value().Equal(v)) {
			t.Errorf("read %+v", p)
		}
	}
}

func TestPredicateProfiles(t *testing.T) {
	for _, test := range []struct{ kind, condition, rule string }{
		{"policy_gate", `{"result":"denied","all":[],"any":[]}`, ""},
		{"policy_gate", `{"result":"denied","all":{}}`, "predicate-type at /condition/all"},
		{"policy_gate", `{"result":"denied","any":"x"}`, "predicate-type at /condition/any"},
		{"authority_gate", `{"result":"denied","any":"x","limit":1e-7}`, ""},
		{"jcs_edge", `{"level1":{"result":"perhaps"}}`, ""},
		{"non_deterministic_test", `{"opinion":"good"}`, ""},
		{"non_deterministic_test", `{"result":"satisfied"}`, "predicate-type at /condition/result"},
	} {
		v := edit(t, predicate(t), `"urn:concordia:predicate-type:`+test.kind+`:v1"`, "type")
		v = signPredicate(t, edit(t, v, test.condition, "condition"))
		if _, report := verifier(t, certifier).VerifyPredicate(v); verdict(report) != test.rule {
			t.Errorf("%s %s: %v", test.kind, test.condition, report.Err())
		}
	}
}

// The alias is read where there is no type, under the signature of either
// spelling; to the letter of the schema it is none.
func TestPredicateAlias(t *testing.T) {
	f := verifier(t, certifier)
	v := predicate(t)
	kind := mustAt(t, v, "type")
	renamed := v.Without("type").With("predicate_type", kind) // signed with type
	resigned := signPredicate(t, renamed)
	for _, alias := range []wire.Value{renamed, resigned} {
		p, report := f.VerifyPredicate(alias)
		if report.Outcome() != wire.Passed || p.Type != kind.Text() || !p.Value().Equal(alias) {
			t.Errorf("%v: %+v", report.Err(), p)
		}
		if _, report = f.VerifyPredicate(alias, attest.Spelled()); verdict(report) != "predicate-spelling at /predicate_type" {
			t.Error(report.Err())
		}
		other := edit(t, alias, `"urn:concordia:predicate-type:policy_gate:v1"`, "predicate_type")
		if _, report = f.VerifyPredicate(other); verdict(report) != "predicate-signature at /signature" {
			t.Error(report.Err())
		}
		if _, report = f.VerifyPredicate(edit(t, alias, `7`, "predicate_type")); verdict(report) != "predicate at /type" {
			t.Error(report.Err())
		}
	}
	if _, report := f.VerifyPredicate(v, attest.Spelled()); report.Outcome() != wire.Passed {
		t.Error(report.Err())
	}
}

// Whoever embeds a key is not thereby the issuer.
func TestPredicateKey(t *testing.T) {
	own := edit(t, predicate(t), `"`+key(t, "forger").Public().String()+`"`, "metadata", "issuer_public_key_b64")
	own = own.With("signature", signature(t, own.Without("signature"), "forger"))
	if _, report := verifier(t, certifier).VerifyPredicate(own); verdict(report) != "predicate-signature at /signature" {
		t.Error(report.Err())
	}
	if _, report := verifier(t).VerifyPredicate(own); report.Outcome() != wire.NotChecked {
		t.Error(report.Outcome(), report.Err())
	}
}

func TestPredicateES256(t *testing.T) {
	private, public := p256(t, "certifier")
	f := attest.Verifier{Keys: wire.KeyMap{certifier: public}, Now: judged}
	v := edit(t, predicate(t), `"ES256"`, "algorithm").Without("signature")
	v = edit(t, v, `"`+public.String()+`"`, "metadata", "issuer_public_key_b64")
	for _, high := range []bool{false, true} {
		_, report := f.VerifyPredicate(v.With("signature", es256(t, private, v, high)))
		if (report.Outcome() == wire.Passed) == high {
			t.Errorf("high S %v: %v", high, report.Err())
		}
	}
}

func TestPredicateRevocation(t *testing.T) {
	f := verifier(t, certifier)
	for _, test := range []struct{ id, rule string }{
		{"urn:concordia:predicate:lot-77", "revoked at "},
		{"urn:concordia:attestation:att_1", "revoked at /references/0"},
		{"urn:concordia:attestation:att_2", ""},
	} {
		record := signBlock(t, parse(t, `{
			"revocation_id":"urn:concordia:revocation:1","revoked_artifact_id":"`+test.id+`","revoked_artifact_type":"predicate",
			"revocation_scope":"cascade_to_dependents","issuer_did":"did:web:certifier","issued_at":"2026-09-14T09:30:00Z",
			"effective_at":"2026-09-14T09:30:00Z","reason":"wrong","cascade_depth":1,
			"references":[{"id":"`+test.id+`","type":"predicate","relationship":"revokes"}],"signature":{"alg":"EdDSA","value":"x"}}`), certifier)
		f.Revocations, _ = f.ReadRevocations([]wire.Value{record}, nil)
		if _, report := f.VerifyPredicate(predicate(t)); verdict(report) != test.rule {
			t.Errorf("%s: %v", test.id, report.Err())
		}
	}
}

func TestPredicateCheckNames(t *testing.T) {
	f := verifier(t, certifier)
	_, report := f.VerifyPredicate(predicate(t))
	wantFindings(t, report, "shape pass", "signature pass", "embedded-key pass", "status pass", "revoked-at pass", "expiry pass",
		"freshness pass", "bounds pass", "type pass", "subject pass", "revocation moot", "revocation-endpoint moot", "delegation not checked")
	bare := signPredicate(t, predicate(t).Without("metadata").Without("validity").Without("delegation_chain"))
	_, report = f.VerifyPredicate(bare)
	wantFindings(t, report, "shape pass", "signature pass", "embedded-key moot", "status pass", "revoked-at pass", "expiry pass",
		"freshness pass", "bounds moot", "type pass", "subject moot", "revocation moot", "revocation-endpoint moot", "delegation moot")
}
