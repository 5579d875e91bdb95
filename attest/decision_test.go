package attest_test

import (
	"testing"

	"github.com/concordia-node/concordia/wire"
)

const gateway = "did:web:gateway#verifier"

// decision is a sound cascade decision of the gateway.
func decision(tb testing.TB) wire.Value {
	return signDecision(tb, parse(tb, `{
		"capability_digest":"sha256:aa","request_digest":"sha256:bb","boundary_id":"urn:concordia:boundary:1","decision":"deny",
		"verifier":"`+gateway+`","policy_version":"policy-1",
		"ancestor_reads":[{"element_digest":"sha256:cc","status":"revoked","source_digest":"sha256:dd","coordinate":48211}],
		"approval_receipt_ref":"urn:concordia:receipt:1","revocation_record_ref":"urn:concordia:revocation:1",
		"decision_id":"x","signature":{"alg":"EdDSA","value":"x"}}`))
}

// signDecision makes id and signature of v anew, where it has them.
func signDecision(tb testing.TB, v wire.Value) wire.Value {
	preimage := v.Without("decision_id").Without("signature")
	if id, _ := v.Get("decision_id"); id.Kind() == wire.String {
		v = v.With("decision_id", wire.Text(preimage.Hash().Hex()))
	}
	return signDecisionOnly(tb, v)
}

func signDecisionOnly(tb testing.TB, v wire.Value) wire.Value {
	if text, _ := v.At("signature", "value"); text.Kind() != wire.String {
		return v
	}
	block, _ := v.Get("signature")
	return v.With("signature", block.With("value", signature(tb, v.Without("decision_id").Without("signature"), gateway)))
}

func decisionSpecimen(tb testing.TB) specimen {
	f := verifier(tb, gateway)
	return specimen{
		name: "decision", value: decision(tb), sign: signDecision,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyDecision(v, "")
			return report
		},
		tolerated: map[string]string{"drop /approval_receipt_ref": "optional", "drop /revocation_record_ref": "optional"},
	}
}

func TestDecision(t *testing.T) {
	for _, test := range []struct {
		rule string
		path []string
		text string
	}{
		{"", []string{"policy_version"}, `"policy-2"`},
		{"", []string{"ancestor_reads", "0", "coordinate"}, `0`},
		{"", []string{"ancestor_reads", "0", "coordinate"}, `9007199254740991`},
		{"", []string{"ancestor_reads", "0", "status"}, `"active"`}, // what a status means is policy
		{"", []string{"approval_receipt_ref"}, ""},
		{"cascade-decision at /decision", []string{"decision"}, `"allow"`},
		{"cascade-decision at ", []string{"note"}, `"no other members"`},
		{"cascade-decision at /ancestor_reads/0", []string{"ancestor_reads", "0", "deal_terms"}, `{}`},
		{"cascade-decision at /signature", []string{"signature", "kid"}, `"k1"`},
		{"cascade-decision at /signature/alg", []string{"signature", "alg"}, `"Ed25519"`},
		{"cascade-decision at /ancestor_reads", []string{"ancestor_reads"}, `[]`},
		{"cascade-decision at /ancestor_reads/0/coordinate", []string{"ancestor_reads", "0", "coordinate"}, `-1`},
		{"cascade-decision at /ancestor_reads/0/coordinate", []string{"ancestor_reads", "0", "coordinate"}, `1.5`},
		{"cascade-decision at /ancestor_reads/0/coordinate", []string{"ancestor_reads", "0", "coordinate"}, `1e21`},
		{"cascade-decision at /capability_digest", []string{"capability_digest"}, `""`},
		{"cascade-decision at /verifier", []string{"verifier"}, `"did:web:gate way"`},
		{"cascade-decision at /approval_receipt_ref", []string{"approval_receipt_ref"}, `null`},
	} {
		v := signDecision(t, edit(t, decision(t), test.text, test.path...))
		if _, report := verifier(t, gateway).VerifyDecision(v, ""); verdict(report) != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, verdict(report), test.rule)
		}
	}
}

// The id is the one spelling of the hash of everything but id and signature; the
// signature is over the same.
func TestDecisionID(t *testing.T) {
	sound := decision(t)
	id, _ := sound.Get("decision_id")
	changed := edit(t, sound, `"urn:concordia:receipt:2"`, "approval_receipt_ref")
	renamed := changed.With("decision_id", wire.Text(changed.Without("decision_id").Without("signature").Hash().Hex()))
	// A careless verifier that hashes what it signs: the id inside the preimage.
	within := sound.With("signature", parse(t, `{"alg":"EdDSA"}`).With("value", signature(t, sound.Without("signature"), gateway)))
	for _, test := range []struct {
		name     string
		v        wire.Value
		expected string
		want     string
	}{
		{"sound", sound, "", ""},
		{"expected", sound, "sha256:" + id.Text(), ""},
		{"not expected", sound, wire.HashOf("other").String(), "decision-expected at /decision_id"},
		{"expected without prefix", sound, id.Text(), "decision-expected at /decision_id"},
		{"changed", changed, "", "decision-id at /decision_id"},
		{"changed and signed", signDecisionOnly(t, changed), "", "decision-id at /decision_id"},
		{"changed and renamed", renamed, "", "decision-signature at /signature/value"},
		{"id with prefix", sound.With("decision_id", wire.Text("sha256:"+id.Text())), "", "decision-id at /decision_id"},
		{"id signed", within, "", "decision-signature at /signature/value"},
	} {
		d, report := verifier(t, gateway).VerifyDecision(test.v, test.expected)
		if got := verdict(report); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if test.name == "sound" && (d.ID != id.Text() || d.Verifier != gateway || len(d.Reads) != 1 || d.Reads[0].Coordinate != 48211 ||
			d.Approval != "urn:concordia:receipt:1" || d.Revocation != "urn:concordia:revocation:1") {
			t.Errorf("read %+v", d)
		}
	}
	if _, report := verifier(t).VerifyDecision(sound, ""); report.Outcome() != wire.NotChecked {
		t.Error(report.Err())
	}
}

// A record that nests too deep is refused before anything walks it.
func TestDecisionDepth(t *testing.T) {
	deep := "1"
	for range wire.MaxDepth {
		deep = `{"a":` + deep + `}`
	}
	v := decision(t).With("note", parse(t, deep))
	if _, report := verifier(t, gateway).VerifyDecision(v, ""); verdict(report) != "json-depth at " {
		t.Error(report.Err())
	}
}
