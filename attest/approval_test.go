package attest_test

import (
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

const offerText = `{"offer_id":"off_1","terms":{"price":{"value":4800,"currency":"EUR"}},"complete":true}`

// approval is a sound approval receipt of the offer in offerText by did:web:cfo.
func approval(tb testing.TB) wire.Value {
	return signBlock(tb, parse(tb, `{
		"artifact_type":"ApprovalReceipt","id":"urn:concordia:receipt:1",
		"issued_at":"2026-09-14T09:30:00Z","expires_at":"2026-09-14T10:30:00Z",
		"approver":{"identity":"did:web:cfo","role":"cfo"},
		"scope":{"decision":"approve","offer_hash":"`+parse(tb, offerText).Hash().String()+`","amount":"4800.00 EUR","threshold_crossed":"2500.00 EUR"},
		"references":[
			{"type":"negotiation_session","id":"urn:concordia:session:ses_1","relationship":"approves"},
			{"type":"mandate","id":"urn:concordia:mandate:1","relationship":"fulfills"}],
		"signature":{"alg":"Ed25519","value":"x"}}`), "did:web:cfo")
}

func approvalSpecimen(tb testing.TB) specimen {
	f, offer := verifier(tb, "did:web:cfo"), parse(tb, offerText)
	return specimen{
		name: "approval", value: approval(tb),
		sign: func(tb testing.TB, v wire.Value) wire.Value { return signBlock(tb, v, "did:web:cfo") },
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyApproval(v, offer, "urn:concordia:session:ses_1")
			return report
		},
		tolerated: map[string]string{"drop /approver/role": "optional"},
	}
}

func TestApproval(t *testing.T) {
	const cfo = "did:web:cfo"
	session := "urn:concordia:session:ses_1"
	for _, test := range []struct {
		rule string // broken rule and pointer, "" if none
		path []string
		text string // replaces the value at path
		at   time.Duration
	}{
		{"", nil, "", 0},
		{"", []string{"scope", "decision"}, `"deny"`, 0},
		{"", []string{"note"}, `"what the schema does not name is kept"`, 0},
		{"approval at /scope/decision", []string{"scope", "decision"}, `"perhaps"`, 0},
		{"approval at /issued_at", []string{"issued_at"}, `"2026-09-14 09:30:00Z"`, 0},
		{"approval at /approver/identity", []string{"approver", "identity"}, `"did:web:c fo"`, 0},
		{"approves-reference at /references", []string{"references", "0", "relationship"}, `"fulfills"`, 0},
		{"approves-reference at /references", []string{"references", "0", "type"}, `"session"`, 0},
		{"approval-session at /references", []string{"references", "0", "id"}, `"urn:concordia:session:ses_2"`, 0},
		{"offer-hash at /scope/offer_hash", []string{"scope", "offer_hash"}, `"` + wire.HashOf("other").String() + `"`, 0},
		{"", nil, "", 30 * time.Minute}, // expires_at is the last moment
		{"approval-expired at /expires_at", nil, "", 30*time.Minute + time.Second},
		{"", []string{"issued_at"}, `"2026-09-14T10:02:00Z"`, 0}, // the skew
		{"not-yet-valid at /issued_at", []string{"issued_at"}, `"2026-09-14T10:02:01Z"`, 0},
		{"", []string{"issued_at"}, `"2026-06-16T10:00:00Z"`, 0}, // 90 days
		{"age at /issued_at", []string{"issued_at"}, `"2026-06-16T09:59:59Z"`, 0},
	} {
		v := approval(t)
		if test.path != nil {
			v = signBlock(t, edit(t, v, test.text, test.path...), cfo)
		}
		f := verifier(t, cfo)
		f.Now = f.Now.Add(test.at)
		a, report := f.VerifyApproval(v, parse(t, offerText), session)
		got := verdict(report)
		if got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
		if got == "" && a.ID != "urn:concordia:receipt:1" {
			t.Errorf("read %+v", a)
		}
	}
}

// A signature counts under the key of the approver alone, and without the offer
// nothing is approved.
func TestApprovalSignature(t *testing.T) {
	f := verifier(t, "did:web:cfo", "did:web:other")
	forged := signBlock(t, approval(t), "did:web:other")
	if _, report := f.VerifyApproval(forged, parse(t, offerText), ""); broke(report.Err()) != "approval-signature at /signature/value" {
		t.Error(report.Err())
	}
	if _, report := f.VerifyApproval(approval(t), wire.Value{}, ""); report.Outcome() != wire.NotChecked {
		t.Error(report.Outcome(), report.Err())
	}
	if _, report := verifier(t).VerifyApproval(approval(t), parse(t, offerText), ""); report.Outcome() != wire.NotChecked {
		t.Error(report.Outcome(), report.Err())
	}
}
