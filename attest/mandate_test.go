package attest_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	board = "did:web:board"
	lead  = "agent_lead"
	buyer = "agent_buyer"
)

const actionText = `{"amount":1200,"currency":"EUR","max_spend":1500}`

// mandate is a sound mandate of the board, through the lead, for the buyer.
func mandate(tb testing.TB) wire.Value {
	return signMandate(tb, parse(tb, `{
		"mandate_id":"urn:concordia:mandate:1","issuer":"did:web:board","subject":"agent_buyer",
		"issued_at":"2026-09-14T09:00:00Z","algorithm":"EdDSA","status":"active",
		"validity":{"mode":"windowed","not_before":"2026-09-14T09:00:00Z","not_after":"2026-09-14T10:30:00Z","max_uses":3},
		"constraints":{"type":"object","properties":{"amount":{"type":"number","maximum":5000}},"required":["amount"]},
		"delegation_chain":[
			{"delegator":"did:web:board","delegate":"agent_lead","delegated_at":"2026-09-14T08:00:00Z","algorithm":"EdDSA","signature":"x",
			 "scope_restriction":{"properties":{"amount":{"maximum":2500}}}},
			{"delegator":"agent_lead","delegate":"agent_buyer","delegated_at":"2026-09-14T08:30:00Z","algorithm":"EdDSA","signature":"x",
			 "scope_restriction":{"max_spend":2000}}],
		"revocation_endpoint":"https://board.example/revoked","metadata":{"purpose":"autumn lots"},"signature":"x"}`))
}

// signMandate signs each link as its delegator and then the whole as its issuer.
func signMandate(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	if chain, _ := v.Get("delegation_chain"); chain.Kind() == wire.Array {
		for i, link := range chain.Elems() {
			chain = chain.WithElem(i, signAs(tb, link, "delegator"))
		}
		v = v.With("delegation_chain", chain)
	}
	return signAs(tb, v, "issuer")
}

// signAs puts the signature of whom the member names into v, if there is one to
// replace.
func signAs(tb testing.TB, v wire.Value, member string) wire.Value {
	tb.Helper()
	who, _ := v.Get(member)
	if text, _ := v.Get("signature"); text.Kind() != wire.String || who.Text() == "" {
		return v
	}
	return v.With("signature", signature(tb, v.Without("signature"), who.Text()))
}

// use asks for the action that every mandate here allows, for the first time.
func use(tb testing.TB) attest.Use {
	return attest.Use{Action: parse(tb, actionText), Uses: new(int64)}
}

func mandateSpecimen(tb testing.TB) specimen {
	f, u := verifier(tb, board, lead, buyer), use(tb)
	const optional, wider = "optional", "allows more"
	return specimen{
		name: "mandate", value: mandate(tb), sign: signMandate,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyMandate(v, u)
			return report
		},
		tolerated: map[string]string{
			"drop /status":                                                         "absent is active",
			"drop /validity/max_uses":                                              wider,
			"drop /constraints/type":                                               wider,
			"drop /constraints/required":                                           wider,
			"drop /constraints/properties":                                         wider,
			"drop /constraints/properties/amount":                                  wider,
			"drop /constraints/properties/amount/type":                             wider,
			"drop /constraints/properties/amount/maximum":                          wider,
			"drop /delegation_chain":                                               "a mandate without delegation",
			"drop /delegation_chain/0/scope_restriction":                           wider,
			"drop /delegation_chain/0/scope_restriction/properties/amount":         wider,
			"drop /delegation_chain/0/scope_restriction/properties/amount/maximum": wider,
			"drop /delegation_chain/1/scope_restriction":                           wider,
			"drop /revocation_endpoint":                                            optional,
			"drop /metadata":                                                       optional,
			"drop /metadata/purpose":                                               "open",
			"mistype /metadata/purpose":                                            "open",
		},
	}
}

func TestMandate(t *testing.T) {
	for _, test := range []struct {
		rule string
		path []string
		text string
		at   time.Duration
	}{
		{"", nil, "", 0},
		{"", []string{"delegation_chain"}, `[]`, 0},
		{"mandate at /mandate_id", []string{"mandate_id"}, `"urn:concordia:mandate:"`, 0},
		{"mandate at /mandate_id", []string{"mandate_id"}, `"urn:concordia:receipt:1"`, 0},
		{"mandate at /subject", []string{"subject"}, `"agent buyer"`, 0},
		{"mandate at /issuer", []string{"issuer"}, `""`, 0},
		{"mandate at ", []string{"note"}, `"closed"`, 0},
		{"mandate at /issued_at", []string{"issued_at"}, `"2026-09-14"`, 0},
		{"mandate at /algorithm", []string{"algorithm"}, `"Ed25519"`, 0},
		{"mandate at /status", []string{"status"}, `"valid"`, 0},
		{"mandate at /status", []string{"status"}, `null`, 0},
		{"mandate at /constraints", []string{"constraints"}, `{}`, 0},
		{"mandate at /validity", []string{"validity"}, `{"mode":"windowed","not_after":"2026-09-14T10:30:00Z"}`, 0},
		{"mandate at /validity", []string{"validity"}, `{"mode":"sequence"}`, 0},
		{"mandate at /validity", []string{"validity"}, `{"mode":"state_bound"}`, 0},
		{"mandate at /validity/mode", []string{"validity", "mode"}, `"forever"`, 0},
		{"mandate at /validity/not_after", []string{"validity", "not_after"}, `"2026-09-14T10:30:00"`, 0},
		{"mandate at /validity/max_uses", []string{"validity", "max_uses"}, `0`, 0},
		{"mandate at /validity/max_uses", []string{"validity", "max_uses"}, `1.5`, 0},
		{"mandate at /validity/max_uses", []string{"validity", "max_uses"}, `1e21`, 0},
		{"mandate-signature at /signature", []string{"signature"}, `""`, 0}, // not signed again
		{"mandate-signature at /signature", []string{"algorithm"}, `"ES256"`, 0},
		{"mandate-status at /status", []string{"status"}, `"expired"`, 0},
		{"mandate-status at /status", []string{"status"}, `"revoked"`, 0},
		{"mandate-status at /status", []string{"status"}, `"suspended"`, 0},
		{"", []string{"revoked_at"}, `"2026-09-14T10:00:01Z"`, 0},
		{"mandate-revoked at /revoked_at", []string{"revoked_at"}, `"2026-09-14T10:00:00Z"`, 0},
		{"mandate at /revoked_at", []string{"revoked_at"}, `"soon"`, 0},
		{"", nil, "", 30 * time.Minute},
		{"mandate-window at /validity/not_after", nil, "", 30*time.Minute + time.Second},
		{"", []string{"validity", "not_before"}, `"2026-09-14T10:00:00Z"`, 0},
		{"mandate-window at /validity/not_before", []string{"validity", "not_before"}, `"2026-09-14T10:00:01Z"`, 0},
		{"", []string{"validity"}, `{"mode":"windowed","not_before":"2026-09-14T11:00:00.5+01:00","not_after":"2026-09-14T11:00:00.5+01:00"}`, 500 * time.Millisecond},
		{"mandate-window at /validity/not_after", []string{"validity"}, `{"mode":"windowed","not_before":"2026-09-14T11:00:00+01:00","not_after":"2026-09-14T11:00:00.4+01:00"}`, 500 * time.Millisecond},
		{"", []string{"issued_at"}, `"2026-09-14T10:02:00Z"`, 0}, // the skew
		{"not-yet-valid at /issued_at", []string{"issued_at"}, `"2026-09-14T10:02:01Z"`, 0},
		{"", []string{"issued_at"}, `"2020-01-01T00:00:00Z"`, 0}, // a mandate does not get old
		{"", []string{"validity", "max_uses"}, `1`, 0},
		{"constraints at /constraints/type", []string{"constraints", "type"}, `"thing"`, 0},
		{"action at /constraints", []string{"constraints", "properties", "amount", "maximum"}, `1199`, 0},
		{"", []string{"constraints", "properties", "amount", "maximum"}, `1200`, 0},
		{"action at /constraints", []string{"constraints", "required"}, `["amount","category"]`, 0},
	} {
		v := mandate(t)
		if test.path != nil {
			v = edit(t, v, test.text, test.path...)
			if test.path[0] != "signature" {
				v = signMandate(t, v)
			}
		}
		f := verifier(t, board, lead, buyer)
		f.Now = f.Now.Add(test.at)
		m, report := f.VerifyMandate(v, use(t))
		got := verdict(report)
		if got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
		if got == "" && (m.Issuer != board || m.Subject != buyer || m.Status != attest.LifecycleActive || !m.Value().Equal(v)) {
			t.Errorf("read %+v", m)
		}
	}
}

// What a mandate turns on and the verifier does not know is not checked, and then
// nothing is allowed.
func TestMandateUse(t *testing.T) {
	yes, no := true, false
	uses := func(n int64) *int64 { return &n }
	const (
		window = `{"mode":"windowed","not_before":"2026-09-14T09:00:00Z","not_after":"2026-09-14T10:30:00Z"}`
		seq    = `{"mode":"sequence","sequence_key":"tour"}`
		state  = `{"mode":"state_bound","state_condition":"open"}`
	)
	for _, test := range []struct {
		validity string
		use      attest.Use
		outcome  wire.Outcome
		rule     string
	}{
		{window, attest.Use{}, wire.Passed, ""},
		{seq, attest.Use{SequenceKey: "tour"}, wire.Passed, ""},
		{seq, attest.Use{}, wire.NotChecked, ""},
		{seq, attest.Use{SequenceKey: "Tour"}, wire.Failed, "mandate-sequence at /validity/sequence_key"},
		{`{"mode":"sequence","sequence_key":""}`, attest.Use{}, wire.NotChecked, ""},
		{state, attest.Use{StateActive: &yes}, wire.Passed, ""},
		{state, attest.Use{}, wire.NotChecked, ""},
		{state, attest.Use{StateActive: &no}, wire.Failed, "mandate-state at /validity/state_condition"},
		{`{"mode":"windowed","not_before":"2026-09-14T09:00:00Z","not_after":"2026-09-14T10:30:00Z","max_uses":3}`, attest.Use{}, wire.NotChecked, ""},
		{`{"mode":"sequence","sequence_key":"tour","max_uses":3}`, attest.Use{SequenceKey: "tour", Uses: uses(2)}, wire.Passed, ""},
		{`{"mode":"sequence","sequence_key":"tour","max_uses":3}`, attest.Use{SequenceKey: "tour", Uses: uses(3)}, wire.Failed, "mandate-uses at /validity/max_uses"},
		{`{"mode":"sequence","sequence_key":"tour","not_after":"2026-09-14T10:00:00Z"}`, attest.Use{SequenceKey: "tour"}, wire.Passed, ""},
		{`{"mode":"sequence","sequence_key":"tour","not_after":"2026-09-14T09:59:59Z"}`, attest.Use{SequenceKey: "tour"}, wire.Failed, "mandate-window at /validity/not_after"},
		{`{"mode":"state_bound","state_condition":"open","not_before":"2026-09-14T10:00:01Z"}`, attest.Use{StateActive: &yes}, wire.Failed, "mandate-window at /validity/not_before"},
	} {
		v := signMandate(t, edit(t, mandate(t), test.validity, "validity"))
		test.use.Action = parse(t, actionText)
		_, report := verifier(t, board, lead).VerifyMandate(v, test.use)
		if report.Outcome() != test.outcome || test.outcome != wire.NotChecked && verdict(report) != test.rule {
			t.Errorf("%s: %v, %v", test.validity, report.Outcome(), report.Err())
		}
	}
}

func TestMandateAction(t *testing.T) {
	f := verifier(t, board, lead)
	for _, test := range []struct {
		action string
		rule   string
	}{
		{actionText, ""},
		{`{"amount":1200.5,"max_spend":0}`, ""},
		{`{"amount":"1200","max_spend":0}`, "action at /constraints"},
		{`{"max_spend":0}`, "action at /constraints"},
		{`{"amount":5000.01,"max_spend":0}`, "action at /constraints"},
		{`{"amount":2600,"max_spend":0}`, "delegated-action at /delegation_chain/0/scope_restriction"},
		{`{"amount":1200,"max_spend":2000}`, ""},
		{`{"amount":1200,"max_spend":2000.01}`, "delegated-action at /delegation_chain/1/scope_restriction"},
		{`{"amount":1200,"max_spend":"0"}`, "delegated-action at /delegation_chain/1/scope_restriction"},
		{`{"amount":1200}`, "delegated-action at /delegation_chain/1/scope_restriction"},
		{`[]`, "action at /constraints"},
		{`null`, "action at /constraints"},
	} {
		u := use(t)
		u.Action = parse(t, test.action)
		if _, report := f.VerifyMandate(mandate(t), u); verdict(report) != test.rule {
			t.Errorf("%s: %q, want %q", test.action, verdict(report), test.rule)
		}
	}
	u := use(t)
	u.Action = wire.Value{}
	if _, report := f.VerifyMandate(mandate(t), u); report.Outcome() != wire.NotChecked {
		t.Errorf("no action: %v, %v", report.Outcome(), report.Err())
	}
	// An action that no schema would judge is refused all the same.
	loose := signMandate(t, edit(t, mandate(t).Without("delegation_chain"), `{"properties":{"amount":{"maximum":1}}}`, "constraints"))
	u.Action = wire.Text("anything")
	if _, report := f.VerifyMandate(loose, u); verdict(report) != "action at /constraints" {
		t.Error(report.Err())
	}
}

// Each schema is a document of its own: a reference inside the constraints of a mandate
// or a link leads to the definitions beside it, whatever they are combined with.
func TestMandateDefinitions(t *testing.T) {
	const schema = `{"$defs":{"sum":{"maximum":%d}},"properties":{"amount":{"$ref":"#/$defs/sum"}}}`
	v := edit(t, mandate(t), fmt.Sprintf(schema, 1300), "constraints")
	v = signMandate(t, edit(t, v, fmt.Sprintf(schema, 1250), "delegation_chain", "0", "scope_restriction"))
	for amount, want := range map[int]string{
		1250: "", 1251: "delegated-action at /delegation_chain/0/scope_restriction", 1301: "action at /constraints",
	} {
		u := use(t)
		u.Action = parse(t, fmt.Sprintf(`{"amount":%d,"max_spend":0}`, amount))
		if _, report := verifier(t, board, lead).VerifyMandate(v, u); verdict(report) != want {
			t.Errorf("%d: %v, want %q", amount, report.Err(), want)
		}
	}
}

func TestMandateKeys(t *testing.T) {
	forged := mandate(t)
	forged = forged.With("signature", signature(t, forged.Without("signature"), lead))
	if _, report := verifier(t, board, lead).VerifyMandate(forged, use(t)); verdict(report) != "mandate-signature at /signature" {
		t.Error(report.Err())
	}
	if _, report := verifier(t, board, lead).VerifyMandate(mandate(t).Without("signature"), use(t)); verdict(report) != "mandate-signature at /signature" {
		t.Error(report.Err())
	}
	for _, known := range []string{board, lead} { // one key is missing
		if _, report := verifier(t, known).VerifyMandate(mandate(t), use(t)); report.Outcome() != wire.NotChecked {
			t.Errorf("only the key of %s: %v, %v", known, report.Outcome(), report.Err())
		}
	}
}

func TestMandateRevocation(t *testing.T) {
	f := verifier(t, board, lead, buyer)
	record := func(issuer, effective string) wire.Value {
		return signBlock(t, parse(t, `{
			"revocation_id":"urn:concordia:revocation:1","revoked_artifact_id":"urn:concordia:mandate:1","revoked_artifact_type":"mandate",
			"revocation_scope":"single_artifact","issuer_did":"`+issuer+`","issued_at":"2026-09-14T09:30:00Z","effective_at":"`+effective+`",
			"reason":"rotated","cascade_depth":0,"references":[{"id":"urn:concordia:mandate:1","type":"mandate","relationship":"revokes"}],
			"signature":{"alg":"EdDSA","value":"x"}}`), issuer)
	}
	for _, test := range []struct {
		issuer, effective, rule string
	}{
		{board, "2026-09-14T10:00:00Z", "revoked at "},
		{board, "2026-09-14T10:00:01Z", ""},
		{"did:web:other", "2026-09-14T09:00:00Z", ""},
	} {
		known := verifier(t, board, "did:web:other")
		f.Revocations, _ = known.ReadRevocations([]wire.Value{record(test.issuer, test.effective)}, nil)
		if _, report := f.VerifyMandate(mandate(t), use(t)); verdict(report) != test.rule {
			t.Errorf("%s from %s: %v", test.issuer, test.effective, report.Err())
		}
	}
}

// A mandate and a link may be signed with ES256, each with its own algorithm.
func TestMandateES256(t *testing.T) {
	private, public := p256(t, "board")
	f := verifier(t, board, lead)
	f.Keys.(wire.KeyMap)[board] = public

	v := edit(t, mandate(t), `"ES256"`, "algorithm")
	v = edit(t, v, `"ES256"`, "delegation_chain", "0", "algorithm")
	link := mustAt(t, v, "delegation_chain", "0")
	link = link.With("signature", es256(t, private, link.Without("signature"), false))
	unsigned := withLink(t, v, 0, link).Without("signature")

	for _, test := range []struct {
		what string
		v    wire.Value
		rule string
	}{
		{"low S", unsigned.With("signature", es256(t, private, unsigned, false)), ""},
		{"high S", unsigned.With("signature", es256(t, private, unsigned, true)), "mandate-signature at /signature"},
		{"EdDSA text", unsigned.With("signature", signature(t, unsigned, board)), "mandate-signature at /signature"},
	} {
		if _, report := f.VerifyMandate(test.v, use(t)); verdict(report) != test.rule {
			t.Errorf("%s: %v", test.what, report.Err())
		}
	}
	// The same key under the other name.
	named := edit(t, unsigned, `"EdDSA"`, "algorithm")
	named = named.With("signature", es256(t, private, named, false))
	if _, report := f.VerifyMandate(named, use(t)); verdict(report) != "mandate-signature at /signature" {
		t.Error(report.Err())
	}
}

func p256(tb testing.TB, name string) (*ecdsa.PrivateKey, wire.PublicKey) {
	tb.Helper()
	seed := sha256.Sum256([]byte(name))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := private.PublicKey.Bytes()
	if err != nil {
		tb.Fatal(err)
	}
	public, err := wire.ParsePublicKey(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return private, public
}

// es256 returns the text of a signature of v, with the S that is asked for.
func es256(tb testing.TB, private *ecdsa.PrivateKey, v wire.Value, high bool) wire.Value {
	tb.Helper()
	digest := sha256.Sum256([]byte(v.Canonical()))
	der, err := private.Sign(nil, digest[:], crypto.SHA256) // RFC 6979: the same each time
	if err != nil {
		tb.Fatal(err)
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		tb.Fatal(err)
	}
	order := elliptic.P256().Params().N
	if (pair.S.Cmp(new(big.Int).Rsh(order, 1)) > 0) != high {
		pair.S.Sub(order, pair.S)
	}
	if der, err = asn1.Marshal(pair); err != nil {
		tb.Fatal(err)
	}
	return wire.Text(base64.URLEncoding.EncodeToString(der))
}

// found returns the outcome of one check of a report, and what it says.
func found(t *testing.T, report wire.Report, check string) (wire.Outcome, string) {
	t.Helper()
	for _, f := range report {
		if f.Check == check {
			return f.Outcome, verdict(wire.Report{f})
		}
	}
	t.Fatalf("no check %s", check)
	return 0, ""
}

// Each check stands by itself: a profile may have any of them without the others.
func TestMandateChecksAlone(t *testing.T) {
	f := verifier(t, board, lead, buyer)
	wrong := signMandate(t, edit(t, mandate(t), `"thing"`, "constraints", "type"))
	wrongLink := signMandate(t, edit(t, mandate(t), `{"max_amount":1}`, "delegation_chain", "1", "scope_restriction"))
	for _, test := range []struct {
		v     wire.Value
		use   attest.Use
		check string
		want  string
	}{
		{wrong, attest.Use{}, "constraints", "constraints at /constraints/type"},
		{wrong, use(t), "action", "constraints at /constraints/type"},
		{wrongLink, attest.Use{}, "restrictions", "scope-restriction at /delegation_chain/1/scope_restriction"},
		{wrongLink, use(t), "delegated-action", "scope-restriction at /delegation_chain/1/scope_restriction"},
	} {
		_, report := f.VerifyMandate(test.v, test.use)
		if outcome, got := found(t, report, test.check); outcome != wire.Failed || got != test.want {
			t.Errorf("%s: %v, %q, want %q", test.check, outcome, got, test.want)
		}
	}
	// Nothing is evaluated that the issuer did not sign.
	forged := mandate(t)
	forged = forged.With("signature", signature(t, forged.Without("signature"), lead))
	_, report := f.VerifyMandate(forged, use(t))
	for _, check := range []string{"action", "delegated-action"} {
		for _, finding := range report {
			if finding.Check == check && (finding.Outcome != wire.NotChecked || finding.Optional) {
				t.Errorf("%s of a forged mandate: %+v", check, finding)
			}
		}
	}
}

// The names of the checks are API: profiles and reports use them.
// A refusal repeats names of an action as far as a person reads them, and no values.
func TestActionErrors(t *testing.T) {
	long := strings.Repeat("é", 5000)
	deep := strings.Repeat(`{"`+long+`":`, 20) + `"sekrit"` + strings.Repeat("}", 20)
	m := edit(t, mandate(t), `{"additionalProperties":{"type":"number"},"type":"object"}`, "constraints")
	nested := edit(t, mandate(t), `{"$defs":{"n":{"anyOf":[{"type":"number"},{"additionalProperties":{"type":"number"},"type":"object"}]}},"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"additionalProperties":{"type":"number"}}}}}}}}},"type":"object"}`, "constraints")
	for _, v := range []wire.Value{m, nested} {
		u := use(t)
		u.Action = parse(t, deep)
		_, report := verifier(t, board, lead).VerifyMandate(signMandate(t, v), u)
		for _, f := range report {
			if f.Check != "action" {
				continue
			}
			text := f.Err.Error()
			if f.Outcome != wire.Failed || len(text) > 2000 || strings.Contains(text, "sekrit") || strings.Contains(text, strings.Repeat("é", 65)) || !strings.Contains(text, strings.Repeat("é", 64)+"...") {
				t.Errorf("%v: %d bytes: %.300s", f.Outcome, len(text), text)
			}
		}
	}
}

func TestMandateCheckNames(t *testing.T) {
	_, report := verifier(t, board, lead).VerifyMandate(mandate(t), use(t))
	wantFindings(t, report, "shape pass", "id pass", "signature pass", "status pass", "revoked-at pass", "validity pass", "bounds moot", "uses pass",
		"freshness pass", "delegation-root pass", "delegation-tail pass", "delegation-continuity pass", "delegation-signatures pass",
		"delegation-order pass", "constraints pass", "restrictions pass", "action pass", "delegated-action pass",
		"revocation moot", "revocation-endpoint moot")
	direct := signMandate(t, mandate(t).Without("delegation_chain").Without("revocation_endpoint"))
	_, report = verifier(t, board, lead).VerifyMandate(direct, use(t))
	wantFindings(t, report, "shape pass", "id pass", "signature pass", "status pass", "revoked-at pass", "validity pass", "bounds moot", "uses pass",
		"freshness pass", "delegation-root moot", "delegation-tail moot", "delegation-continuity moot", "delegation-signatures moot",
		"delegation-order moot", "constraints pass", "restrictions moot", "action pass", "delegated-action moot",
		"revocation moot", "revocation-endpoint moot")
}

// wantFindings compares the names and outcomes of a report.
func wantFindings(t *testing.T, report wire.Report, want ...string) {
	t.Helper()
	var got []string
	for _, f := range report {
		outcome := f.Outcome.String()
		if u, ok := errors.AsType[*wire.Unchecked](f.Err); ok && u.Moot && f.Optional {
			outcome = "moot"
		}
		got = append(got, f.Check+" "+outcome)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
