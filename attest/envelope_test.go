package attest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	evidence    = "did:web:evidence"
	evidenceKey = evidence + "#k1"
)

// envelope is a sound trust-evidence envelope of did:web:evidence.
func envelope(tb testing.TB) wire.Value {
	return signEnvelope(tb, parse(tb, `{
		"envelope_version":"1.0.0","envelope_id":"urn:uuid:ee5f5205-b5c0-4482-a789-4d4be0942cf0",
		"issued_at":"2026-09-14T09:30:00Z","expires_at":"2026-09-21T09:30:00Z",
		"refresh_hint":{"strategy":"event_driven","events":["session_completed"],"max_age_seconds":604800},
		"validity_temporal":{"mode":"sequence","sequence_key":"ses_1","baseline":null,"aliasing_risk":null},
		"provider":{"did":"`+evidence+`","category":"transactional","kid":"`+evidenceKey+`","name":"Concordia"},
		"subject":{"did":"did:web:shop"},"category":"transactional","visibility":"public",
		"references":[
			{"kind":"source_session","urn":"urn:concordia:session:ses_1","verified_at":"2026-09-14T09:30:00Z","verifier_did":"did:web:evidence","hash":"`+wire.HashOf("head").String()+`"},
			{"kind":"mandate_proof","urn":"urn:ap2:mandate:m-1"}],
		"payload":{"session_id":"ses_1","session_protocol":"concordia","session_protocol_version":"0.10.0","outcome":"ACCEPTED",
			"counterparty_did":"agent_greenhouse","completion_timestamp":"2026-09-14T09:00:00Z","rounds_to_completion":3,
			"quality_signals":{"concession_magnitude":0.0778,"reasoning_quality":true,"response_latency_p50_ms":12.5},
			"commitment":{"committed":true,"commitment_hash":"`+wire.HashOf("transcript").String()+`","honored":null,"honored_verified_at":null},
			"privacy_guarantees":{"deal_terms_disclosed":false,"counterparty_identity_disclosed":true,"zk_proof_available":false}},
		"signature":{"alg":"EdDSA","kid":"`+evidenceKey+`","value":"x"}}`))
}

func signEnvelope(tb testing.TB, v wire.Value) wire.Value { return signBlock(tb, v, evidenceKey) }

func envelopeSpecimen(tb testing.TB) specimen {
	f := verifier(tb, evidenceKey)
	tolerated := map[string]string{
		"mistype /validity_temporal/baseline":                 "always null",
		"mistype /validity_temporal/aliasing_risk":            "always null",
		"drop /refresh_hint":                                  "a hint",
		"drop /payload/commitment/honored":                    "optional",
		"drop /payload/commitment/honored_verified_at":        "optional",
		"drop /payload/quality_signals/reasoning_quality":     "optional",
		"drop /payload/privacy_guarantees/zk_proof_available": "optional",
	}
	for _, member := range []string{
		"/validity_temporal/baseline", "/validity_temporal/aliasing_risk", "/provider/category", "/provider/name",
		"/references/0/verified_at", "/references/0/verifier_did", "/references/0/hash",
		"/refresh_hint/strategy", "/refresh_hint/events", "/refresh_hint/max_age_seconds",
		"/payload/quality_signals/concession_magnitude", "/payload/quality_signals/response_latency_p50_ms",
		"/payload/privacy_guarantees/deal_terms_disclosed", "/payload/privacy_guarantees/counterparty_identity_disclosed",
	} {
		tolerated["drop "+member] = "optional"
	}
	return specimen{
		name: "envelope", value: envelope(tb), sign: signEnvelope, tolerated: tolerated,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyEnvelope(v)
			return report
		},
	}
}

func TestEnvelope(t *testing.T) {
	at := func(d time.Duration) string { return `"` + wire.FormatTime(judged.Add(d)) + `"` }
	for _, test := range []struct {
		rule string
		path []string
		text string
		late time.Duration // than judged
	}{
		{"", []string{"visibility"}, `"private"`, 0},
		{"", []string{"note"}, `"what the schema does not name is signed"`, 0},
		{"", []string{"references"}, `[]`, 0},
		{"", []string{"payload", "counterparty_did"}, `null`, 0},
		{"", []string{"payload", "commitment", "honored"}, `false`, 0},
		{"", []string{"payload", "quality_signals", "concession_magnitude"}, `1.5`, 0}, // the reference makes such
		{"", []string{"references", "1", "urn"}, `"https://example.org/m-1"`, 0},       // a warning
		{"", []string{"references", "1", "verified_at"}, `null`, 0},
		{"envelope at /envelope_version", []string{"envelope_version"}, `"2.0.0"`, 0},
		{"envelope at /envelope_id", []string{"envelope_id"}, `"urn:uuid:1"`, 0},
		{"envelope at /visibility", []string{"visibility"}, `"secret"`, 0},
		{"envelope at /validity_temporal/mode", []string{"validity_temporal", "mode"}, `"windowed"`, 0},
		{"envelope at /payload/outcome", []string{"payload", "outcome"}, `"agreed"`, 0},
		{"envelope at /payload/rounds_to_completion", []string{"payload", "rounds_to_completion"}, `-1`, 0},
		{"envelope at /payload/commitment/commitment_hash", []string{"payload", "commitment", "commitment_hash"}, `"sha256:AB"`, 0},
		{"envelope at /payload/privacy_guarantees/more", []string{"payload", "privacy_guarantees", "more"}, `1`, 0},
		{"envelope at /provider/did", []string{"provider", "did"}, `"evidence"`, 0},
		{"envelope at /subject/did", []string{"subject", "did"}, `"did:web:sh op"`, 0},
		{"envelope at /expires_at", []string{"expires_at"}, `"2026-09-14T09:29:59Z"`, 0},
		{"envelope at /signature/alg", []string{"signature", "alg"}, `"Ed25519"`, 0},
		{"envelope at /signature", []string{"signature", "jwk"}, `{}`, 0},
		{"envelope-reference at /references/1/urn", []string{"references", "1", "urn"}, "", 0},
		{"envelope-reference at /references/1/kind", []string{"references", "1", "kind"}, `""`, 0},
		{"envelope-reference at /references/1/urn", []string{"references", "1", "urn"}, `"urn:a b"`, 0},
		{"envelope-reference at /references/0/verified_at", []string{"references", "0", "verified_at"}, `"today"`, 0},
		{"envelope-reference at /references/0", []string{"references"}, `["urn:ap2:mandate:m-1"]`, 0},
		{"envelope-key at /signature/kid", []string{"signature", "kid"}, `"did:web:evidence#k2"`, 0},
		{"envelope-provider at /provider/kid", []string{"provider", "did"}, `"did:web:evidenc"`, 0},
		{"envelope-provider at /provider/kid", []string{"provider", "did"}, `"did:web:other"`, 0},
		{"envelope-signature at /signature/value", []string{"signature", "alg"}, `"ES256"`, 0},
		{"envelope-session at /validity_temporal/sequence_key", []string{"validity_temporal", "sequence_key"}, `"ses_2"`, 0},
		{"envelope-session at /references", []string{"references", "0", "urn"}, `"urn:concordia:session:ses_2"`, 0},
		{"envelope-commitment at /payload/commitment/committed", []string{"payload", "outcome"}, `"REJECTED"`, 0},
		{"envelope-commitment at /payload/commitment/committed", []string{"payload", "commitment", "committed"}, `false`, 0},
		{"deal-terms at /payload/quality_signals/note", []string{"payload", "quality_signals", "note"}, `"4800 EUR"`, 0},
		{"", []string{"expires_at"}, at(0), 0}, // expires_at is the last moment
		{"envelope-expired at /expires_at", []string{"expires_at"}, at(0), time.Second},
		{"", []string{"issued_at"}, at(2 * time.Minute), 0},
		{"not-yet-valid at /issued_at", []string{"issued_at"}, at(2*time.Minute + time.Second), 0},
		{"", []string{"expires_at"}, `"2026-12-13T09:30:00Z"`, 0}, // 90 days
		{"lifetime at /expires_at", []string{"expires_at"}, `"2026-12-13T09:30:01Z"`, 0},
		{"", []string{"payload", "completion_timestamp"}, at(2 * time.Minute), 0},
		{"not-yet-valid at /payload/completion_timestamp", []string{"payload", "completion_timestamp"}, at(2*time.Minute + time.Second), 0},
		{"", []string{"references", "0", "verified_at"}, at(2 * time.Minute), 0},
		{"not-yet-valid at /references/0/verified_at", []string{"references", "0", "verified_at"}, at(2*time.Minute + time.Second), 0},
	} {
		v := signEnvelope(t, edit(t, envelope(t), test.text, test.path...))
		f := verifier(t, evidenceKey)
		f.Now = f.Now.Add(test.late)
		if _, report := f.VerifyEnvelope(v); verdict(report) != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, verdict(report), test.rule)
		}
	}
}

// A urn that is no URN is a warning.
func TestEnvelopeURN(t *testing.T) {
	v := signEnvelope(t, edit(t, envelope(t), `"https://example.org/m-1"`, "references", "1", "urn"))
	_, report := verifier(t, evidenceKey).VerifyEnvelope(v)
	if last := report[len(report)-1]; last.Check != "urns" || broke(last.Err) != "envelope-urn at /references/1/urn" || report.Outcome() != wire.Passed {
		t.Errorf("%v, %v", last, report.Err())
	}
}

// An envelope whose own bound is far away still gets old.
func TestEnvelopeAge(t *testing.T) {
	f := verifier(t, evidenceKey)
	f.Policy.MaxLifetime = 200 * 24 * time.Hour
	v := signEnvelope(t, edit(t, envelope(t), `"2027-01-01T00:00:00Z"`, "expires_at"))
	f.Now = time.Date(2026, 12, 13, 9, 30, 0, 0, time.UTC)
	if _, report := f.VerifyEnvelope(v); report.Err() != nil {
		t.Error(report.Err())
	}
	f.Now = f.Now.Add(time.Second)
	if _, report := f.VerifyEnvelope(v); verdict(report) != "age at /issued_at" {
		t.Error(report.Err())
	}
}

func TestEnvelopeRead(t *testing.T) {
	e, report := verifier(t, evidenceKey).VerifyEnvelope(envelope(t))
	if report.Err() != nil {
		t.Fatal(report.Err())
	}
	if e.Provider != evidence || e.KeyID != evidenceKey || e.Subject != "did:web:shop" || e.Visibility != "public" ||
		len(e.References) != 2 || e.References[0].Verifier != evidence || e.References[1].Hash != "" ||
		e.Payload.Session != "ses_1" || e.Payload.Outcome != attest.OutcomeAccepted || !e.Payload.Committed ||
		e.Payload.Commitment != wire.HashOf("transcript") || e.Payload.Counterparty != "agent_greenhouse" || e.Payload.Rounds != 3 {
		t.Errorf("read %+v", e)
	}
}

// A kid is a DID URL of the provider, the provider's DID, or the bare name of one
// of its keys; never a name that somebody else's key has.
func TestEnvelopeKey(t *testing.T) {
	for _, test := range []struct{ kid, signer, want string }{
		{evidenceKey, evidenceKey, ""},
		{evidence, evidence, ""},
		{"k1", evidenceKey, ""},
		{"#k1", evidenceKey, ""},
		{"k1", "k1", "SPEC §9.1 key-unknown"},
		{"did:web:other#k1", "did:web:other#k1", "envelope-provider at /provider/kid"},
		{"did:web:evidence.example#k1", "did:web:evidence.example#k1", "envelope-provider at /provider/kid"},
		{evidenceKey, "did:web:other", "SPEC §9.1 key-unknown"},
	} {
		kid := wire.Text(test.kid).Canonical()
		v := edit(t, edit(t, envelope(t), kid, "provider", "kid"), kid, "signature", "kid")
		v = signBlock(t, v, test.signer)
		_, report := verifier(t, test.signer).VerifyEnvelope(v)
		got := verdict(report)
		if report.Outcome() == wire.NotChecked {
			got = "SPEC §9.1 key-unknown"
		}
		if got != test.want {
			t.Errorf("%s signed by %s: got %q, want %q", test.kid, test.signer, got, test.want)
		}
	}
	forged := signBlock(t, envelope(t), "did:web:other")
	if _, report := verifier(t, evidenceKey, "did:web:other").VerifyEnvelope(forged); verdict(report) != "envelope-signature at /signature/value" {
		t.Error(report.Err())
	}
}

// ES256 is read, with the low S only, under a key of that algorithm.
func TestEnvelopeES256(t *testing.T) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := secret.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public, err := wire.ParsePublicKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	unsigned := edit(t, envelope(t), `"ES256"`, "signature", "alg")
	digest := sha256.Sum256([]byte(unsigned.Without("signature").Canonical()))
	r, s, err := ecdsa.Sign(rand.Reader, secret, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	order := elliptic.P256().Params().N
	if s.Cmp(new(big.Int).Rsh(order, 1)) > 0 {
		s.Sub(order, s)
	}
	signed := func(alg string, s *big.Int) wire.Value {
		der, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
		if err != nil {
			t.Fatal(err)
		}
		text := wire.Text(base64.URLEncoding.EncodeToString(der)).Canonical()
		return edit(t, edit(t, unsigned, text, "signature", "value"), `"`+alg+`"`, "signature", "alg")
	}
	for _, test := range []struct {
		name string
		v    wire.Value
		keys wire.Keys
		want string
	}{
		{"low S", signed("ES256", s), wire.KeyMap{evidenceKey: public}, ""},
		{"high S", signed("ES256", new(big.Int).Sub(order, s)), wire.KeyMap{evidenceKey: public}, "envelope-signature at /signature/value"},
		{"another label", signed("EdDSA", s), wire.KeyMap{evidenceKey: public}, "envelope-signature at /signature/value"},
		{"another kind of key", signed("ES256", s), wire.KeyMap{evidenceKey: key(t, evidenceKey).Public()}, "envelope-signature at /signature/value"},
	} {
		if _, report := (attest.Verifier{Keys: test.keys, Now: judged}).VerifyEnvelope(test.v); verdict(report) != test.want {
			t.Errorf("%s: got %q, want %q", test.name, verdict(report), test.want)
		}
	}
}
