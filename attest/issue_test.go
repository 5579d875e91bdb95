package attest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// issuerOf makes artifacts as an agent, with ids drawn from a fixed stream.
func issuerOf(tb testing.TB, who string) attest.Issuer {
	return attest.Issuer{
		Agent: wire.AgentID(who), Key: key(tb, who), Now: judged,
		Random: strings.NewReader(strings.Repeat("0123456789abcdef", 64)),
		Keys:   verifier(tb, "seller", "buyer", "museum", "school", "chapel").Keys,
	}
}

const authority = "did:web:authority"

func curveKey(tb testing.TB) wire.PrivateKey {
	k, err := wire.NewP256Key(key(tb, authority).Seed())
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// Each kind from the shortest draft there is, and how anybody verifies it.
var kindsIssued = []struct {
	name   string
	draft  string
	curve  bool // can be signed with a P-256 key
	issue  func(testing.TB, attest.Issuer, wire.Value) (wire.Value, error)
	verify func(testing.TB, attest.Verifier, wire.Value) wire.Report
}{
	{
		name: "approval",
		draft: `{"session_id":"ses_1","scope":{"decision":"approve","amount":"2050 USD","threshold_crossed":"over_1000",
			"offer_hash":"` + wire.HashOf(`{"price":2050}`).String() + `"}}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Approval(v) },
		verify: func(tb testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyApproval(v, parse(tb, `{"price":2050}`), "urn:concordia:session:ses_1")
			return r
		},
	},
	{
		name:  "fulfillment",
		draft: `{"agreement_attestation_id":"urn:concordia:attestation:att_1","fulfillment":{"status":"fulfilled_clean"}}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Fulfillment(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyFulfillment(v, "urn:concordia:attestation:att_1")
			return r
		},
	},
	{
		name:  "revocation",
		draft: `{"revoked_artifact_id":"urn:concordia:mandate:1","revoked_artifact_type":"mandate","reason":"the key was lost"}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Revocation(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyRevocation(v)
			return r
		},
	},
	{
		name: "decision",
		draft: `{"capability_digest":"a","request_digest":"b","boundary_id":"c","policy_version":"1",
			"ancestor_reads":[{"element_digest":"d","status":"revoked","source_digest":"e","coordinate":0}]}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Decision(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyDecision(v, "")
			return r
		},
	},
	{
		name: "mandate", curve: true,
		draft: `{"subject":"did:web:agent","validity":{"mode":"windowed","not_before":"2026-09-14T00:00:00Z","not_after":"2026-09-15T00:00:00Z"},
			"constraints":{"type":"object","required":["price"]}}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Mandate(v) },
		verify: func(tb testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyMandate(v, attest.Use{Action: parse(tb, `{"price":1}`)})
			return r
		},
	},
	{
		name: "predicate", curve: true,
		draft: `{"type":"authority_gate","subject":"did:web:agent","condition":{"result":"satisfied"},"expires_at":"2026-09-15T00:00:00Z"}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Predicate(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyPredicate(v)
			return r
		},
	},
	{
		name: "profile", draft: `{}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Profile(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyProfile(v)
			return r
		},
	},
	{
		name: "envelope", curve: true, draft: `{}`,
		issue: func(tb testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) {
			return i.Envelope(receiptOf(tb, 0), v)
		},
		verify: func(tb testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			known := f.Keys.(wire.KeyMap)
			known[authority+"#key-1"] = known[authority]
			_, r := f.VerifyEnvelope(v)
			return r
		},
	},
	{
		name: "record", curve: true, draft: `{"anything":[1,{"signature":"inside"}]}`,
		issue: func(_ testing.TB, i attest.Issuer, v wire.Value) (wire.Value, error) { return i.Record(v) },
		verify: func(_ testing.TB, f attest.Verifier, v wire.Value) wire.Report {
			_, r := f.VerifyRecord(v, authority)
			return r
		},
	},
}

// What an issuer makes of the shortest draft verifies for everybody who knows its
// public key, is the same each time, and shows no private key.
func TestIssue(t *testing.T) {
	for _, test := range kindsIssued {
		for _, curve := range []bool{false, true} {
			i := issuerOf(t, authority)
			f := attest.Verifier{Keys: wire.KeyMap{authority: i.Key.Public()}, Now: judged}
			if curve {
				i.Key = curveKey(t)
				f.Keys = wire.KeyMap{authority: i.Key.Public()}
			}
			v, err := test.issue(t, i, parse(t, test.draft))
			if curve && !test.curve {
				if !errors.Is(err, attest.ErrAlgorithm) {
					t.Errorf("%s with a P-256 key: %v", test.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if report := test.verify(t, f, v); report.Outcome() != wire.Passed {
				t.Errorf("%s, P-256 %v: %v\n%s", test.name, curve, report.Err(), v)
			}
			again, err := test.issue(t, i, v)
			if err != nil || !again.Equal(v) {
				t.Errorf("%s issued again as it is: %v\n%s\n%s", test.name, err, v, again)
			}
			i.Random = iotest.ErrReader(errors.New("no chance left"))
			if _, err := test.issue(t, i, parse(t, test.draft)); (err == nil) != (test.name == "profile" || test.name == "record" || test.name == "decision") {
				t.Errorf("%s without random numbers: %v", test.name, err)
			}
		}
	}
}

// An issuer speaks for nobody else.
func TestIssueAsAnother(t *testing.T) {
	member := map[string][]string{
		"approval": {"approver", "identity"}, "revocation": {"issuer_did"}, "decision": {"verifier"}, "mandate": {"issuer"},
		"predicate": {"issuer"}, "profile": {"agent_id"}, "envelope": {"provider", "did"},
	}
	for _, test := range kindsIssued {
		path, ok := member[test.name]
		if !ok {
			continue // signer_did of a fulfillment is written over; a record names nobody
		}
		draft := parse(t, test.draft)
		if len(path) == 2 {
			draft = draft.With(path[0], encode(t, wire.M{path[1]: "did:web:victim"}))
		} else {
			draft = draft.With(path[0], wire.Text("did:web:victim"))
		}
		if _, err := test.issue(t, issuerOf(t, authority), draft); !errors.Is(err, attest.ErrOtherIssuer) {
			t.Errorf("%s in the name of a victim: %v", test.name, err)
		}
	}
}

// Whom the issuer's Keys do not know stays unknown, also if the id is a key: they may know
// that it was lost.
func TestIssuerKeys(t *testing.T) {
	did := wire.DIDKey(key(t, "lost").Public())
	i := issuerOf(t, authority)
	if k, err := i.Verifier().Keys.Key(did, judged); !errors.Is(err, wire.RuleUnknownKey) {
		t.Errorf("Keys without it: %v, %v, want %v", k, err, wire.RuleUnknownKey)
	}
	i.Keys = nil
	if k, err := i.Verifier().Keys.Key(did, judged); err != nil || k != key(t, "lost").Public() {
		t.Errorf("no Keys: %v, %v, want the key", k, err)
	}
}

// A profile leaves nothing for a reader to fill in: some sign and verify a form in which
// all of these members are.
func TestIssueProfileComplete(t *testing.T) {
	for _, draft := range []string{`{}`, `{"trust_signals":{"sovereignty":{"L1":"Full"}},"capabilities":{"languages":["de"]}}`} {
		v, err := issuerOf(t, authority).Profile(parse(t, draft))
		if err != nil {
			t.Fatal(err)
		}
		for at, members := range map[string]string{
			"":                          "type version agent_id name description capabilities negotiation_profile trust_signals endpoints location ttl updated_at",
			"capabilities":              "categories offer_types resolution_methods max_concurrent_sessions languages currencies",
			"negotiation_profile":       "style avg_rounds_to_agreement agreement_rate avg_session_duration_seconds concession_pattern",
			"trust_signals":             "sovereignty concordia_sessions_completed attestation_count concordia_preferred",
			"trust_signals.sovereignty": "L1 L2 L3 L4",
			"location":                  "regions jurisdictions",
		} {
			for _, member := range strings.Fields(members) {
				path := append(strings.FieldsFunc(at, func(r rune) bool { return r == '.' }), member)
				if x, ok := v.At(path...); !ok || x.Kind() == wire.Null {
					t.Errorf("the profile made of %s says nothing at %v", draft, path)
				}
			}
		}
	}
}

// A draft that its own verifier would refuse is not signed.
func TestIssueRefuses(t *testing.T) {
	text := func(name string) string {
		for _, test := range kindsIssued {
			if test.name == name {
				return test.draft
			}
		}
		return ""
	}
	for _, test := range []struct{ name, draft, want string }{
		{"approval", `{}`, "approval at "},
		{"approval", strings.Replace(text("approval"), `"ses_1"`, `""`, 1), "approval at "},
		{"approval", strings.Replace(text("approval"), `{"session_id"`, `{"expires_at":"2026-09-14T09:00:00Z","session_id"`, 1), "approval-expired at /expires_at"},
		{"approval", strings.Replace(text("approval"), `{"session_id"`, `{"issued_at":"2026-09-15","session_id"`, 1), "approval at "},
		{"fulfillment", strings.Replace(text("fulfillment"), "clean", "with_mediation", 1), "mediated at /meta/mediator_invoked"},
		{"fulfillment", strings.Replace(text("fulfillment"), `{"agreement`, `{"note":"price: 40 USD","agreement`, 1), "deal-terms at /note"},
		{"revocation", strings.Replace(text("revocation"), `{"revoked`, `{"cascade_depth":9,"revoked`, 1), "revocation at /cascade_depth"},
		{"revocation", strings.Replace(text("revocation"), `{"revoked`, `{"references":[{"id":"urn:concordia:mandate:2","type":"mandate","relationship":"revokes"}],"revoked`, 1), "revocation-target at /references"},
		{"decision", strings.Replace(text("decision"), `{"cap`, `{"decision":"allow","cap`, 1), "cascade-decision at /decision"},
		{"mandate", strings.Replace(text("mandate"), `"not_before"`, `"not_Before"`, 1), "mandate at /validity"},
		{"mandate", strings.Replace(text("mandate"), `{"type":"object",`, `{"$ref":"https://victim.example/schema",`, 1), "constraints at /constraints/$ref"},
		{"mandate", strings.Replace(text("mandate"), `{"subject"`, `{"status":"revoked","subject"`, 1), "mandate-status at /status"},
		{"mandate", strings.Replace(text("mandate"), `{"subject"`, `{"revocation_endpoint":"http://issuer.example/revoked","subject"`, 1), "mandate at /revocation_endpoint"},
		{"mandate", strings.Replace(text("mandate"), `{"subject"`, `{"revocation_endpoint":"https:revoked","subject"`, 1), "mandate at /revocation_endpoint"},
		{"predicate", strings.Replace(text("predicate"), "authority_gate", "gate_of_mine", 1), "predicate-type at /type"},
		{"predicate", strings.Replace(text("predicate"), "satisfied", "perhaps", 1), "predicate-type at /condition/result"},
		{"predicate", strings.Replace(text("predicate"), `{"type"`, `{"predicate_type":"x","type"`, 1), "predicate at /predicate_type"},
		{"predicate", strings.Replace(text("predicate"), `{"type"`, `{"metadata":{"issuer_public_key_b64":"AAAA"},"type"`, 1), "predicate-key at /metadata/issuer_public_key_b64"},
		{"profile", `{"endorsed_by":"me"}`, "profile at "},
		{"profile", `{"negotiation_profile":{"agreement_rate":1.5}}`, "profile-values at /negotiation_profile/agreement_rate"},
		{"envelope", `{"provider":{"kid":"did:web:other#key-1"}}`, "envelope-provider at /provider/kid"},
		{"envelope", `{"visibility":"secret"}`, "envelope at /visibility"},
		{"envelope", `{"references":[{"kind":"x"}]}`, "envelope-reference at /references/1/urn"},
		{"envelope", `{"expires_at":"2027-09-14T09:00:00Z"}`, "lifetime at /expires_at"},
	} {
		for _, kind := range kindsIssued {
			if kind.name != test.name {
				continue
			}
			v, err := kind.issue(t, issuerOf(t, authority), parse(t, test.draft))
			if err == nil || v.Kind() != wire.Absent || broke(err) != test.want {
				t.Errorf("%s of %s: %q, want %q: %v", test.name, test.draft, broke(err), test.want, err)
			}
		}
	}
	for _, kind := range kindsIssued {
		if _, err := kind.issue(t, issuerOf(t, authority), parse(t, `[]`)); err == nil {
			t.Errorf("%s was made of an array", kind.name)
		}
	}
}

// Where an artifact is open, a draft may not make it an artifact of another kind as well:
// its one signature would fit both. Whoever asks for a note to be signed gets no message,
// no approval and no delegation.
func TestIssueOneKind(t *testing.T) {
	others := map[string]string{
		"message":     `{"concordia":"0.1.0","type":"negotiate.accept","id":"msg_1","session_id":"ses_1","timestamp":"2026-09-14T09:00:00Z","from":{"agent_id":"` + authority + `"},"prev_hash":"sha256:00","body":{}}`,
		"approval":    `{"artifact_type":"ApprovalReceipt","approver":{"identity":"` + authority + `"}}`,
		"fulfillment": `{"attestation_type":"FulfillmentAttestation","fulfillment":{"status":"failed"}}`,
		"delegation":  `{"delegator":"` + authority + `","delegate":"did:web:thief"}`,
		"envelope":    `{"envelope_version":"1.0.0"}`,
		"cosign":      `{"counterparty_did":"did:key:z7Q"}`,
		"predicate":   `{"predicate_id":"urn:concordia:predicate:1"}`,
		"bundle":      `{"bundle_id":"bundle_1"}`,
		"competence":  `{"proof_id":"proof_1"}`,
		"response":    `{"service_id":"` + authority + `"}`,
		"record":      `{"verification_material":{}}`,
	}
	open := map[string]bool{"approval": true, "fulfillment": true, "envelope": true, "record": true, "closure": true}
	for _, kind := range kindsIssued {
		for other, members := range others {
			if !open[kind.name] || kind.name == other {
				continue
			}
			draft := parse(t, kind.draft)
			for name, v := range parse(t, members).Members() {
				if _, said := draft.Get(name); !said {
					draft = draft.With(name, v)
				}
			}
			if _, err := kind.issue(t, issuerOf(t, authority), draft); !errors.Is(err, attest.ErrTwoKinds) {
				t.Errorf("%s that is a %s: %v, want ErrTwoKinds", kind.name, other, err)
			}
		}
	}
	// A publisher writes all of what its counterparty signs.
	presented := cosigned(t).With("artifact_type", wire.Text("ApprovalReceipt"))
	if _, err := issuerOf(t, "cosigner").Cosign(presented, wire.AgentID(didOf(t, "publisher"))); !errors.Is(err, attest.ErrTwoKinds) {
		t.Errorf("cosigning what is an approval, too: %v, want ErrTwoKinds", err)
	}
}

// A mandate goes on through links that each delegator signs, and that the issuer takes
// into it.
func TestDelegate(t *testing.T) {
	issuer, agent := issuerOf(t, authority), issuerOf(t, "buyer")
	mandate, err := issuer.Mandate(parse(t, `{"subject":"buyer","validity":{"mode":"sequence","sequence_key":"trip"},"constraints":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	link := func(from attest.Issuer, to wire.AgentID, restriction string) wire.Value {
		t.Helper()
		var r wire.Value
		if restriction != "" {
			r = parse(t, restriction)
		}
		v, err := from.Link(to, r)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// From the issuer to the agent it mandated, and on with less.
	passed, err := issuer.Delegate(mandate, link(issuer, "buyer", ""), link(agent, "museum", `{"max_spend":100}`))
	if err != nil {
		t.Fatal(err)
	}
	f := verifier(t, authority, "buyer", "museum")
	for _, test := range []struct{ action, want string }{
		{`{"max_spend":100}`, ""},
		{`{"max_spend":101}`, "delegated-action at /delegation_chain/1/scope_restriction"},
		{`{}`, "delegated-action at /delegation_chain/1/scope_restriction"},
	} {
		m, report := f.VerifyMandate(passed, attest.Use{Action: parse(t, test.action), SequenceKey: "trip"}, attest.Delegated())
		if verdict(report) != test.want || m.Subject != "museum" {
			t.Errorf("action %s: %q, want %q", test.action, verdict(report), test.want)
		}
	}
	// Later still: the chain that is there goes on.
	further, err := issuer.Delegate(passed, link(issuerOf(t, "museum"), "school", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, report := f.VerifyMandate(further, attest.Use{Action: parse(t, `{"max_spend":1}`), SequenceKey: "trip"}); verdict(report) != "" {
		t.Error(report.Err())
	}
	for _, test := range []struct {
		want  string
		links []wire.Value
	}{
		{"delegated at /delegation_chain", nil},
		{"delegation-root at /delegation_chain/0/delegator", []wire.Value{link(agent, "museum", "")}},
		{"delegation-continuity at /delegation_chain/1/delegator", []wire.Value{link(issuer, "school", ""), link(agent, "museum", "")}},
		{"delegation-signature at /delegation_chain/0/signature", []wire.Value{link(issuer, "buyer", "").With("delegate", wire.Text("chapel"))}},
	} {
		if _, err := issuer.Delegate(mandate, test.links...); broke(err) != test.want {
			t.Errorf("delegated by %v: %q, want %q", test.links, broke(err), test.want)
		}
	}
	// What the issuer did not sign it does not pass on, whoever is said to have issued it.
	for what, v := range map[string]wire.Value{
		"mandate-signature at /signature": mandate.With("constraints", parse(t, `{"not":{"required":["nothing"]}}`)),
		"mandate at ":                     mandate.Without("algorithm").Without("signature"),
	} {
		if _, err := issuer.Delegate(v, link(issuer, "buyer", "")); broke(err) != what {
			t.Errorf("passing on what was not issued: %q, want %q", broke(err), what)
		}
	}
	for _, restriction := range []string{`{"max_spend":"a lot"}`, `{"budget":7}`, `{"pattern":"(a+)+$"}`} {
		if _, err := issuer.Link("buyer", parse(t, restriction)); !errors.Is(err, attest.RuleRestriction) {
			t.Errorf("a link restricted by %s: %v", restriction, err)
		}
	}
	if _, err := issuer.Delegate(mandate, link(issuer, "buyer", "").With("restriction", parse(t, `{"max_spend":1}`))); err == nil {
		t.Error("a link with a misspelt restriction was taken in")
	}
}

// A bundle shows its holder's receipts with their sum; a competence proof reveals some
// of them.
func TestIssueHistory(t *testing.T) {
	i := issuerOf(t, holder)
	receipts := receiptsOf(t, 5)
	f := verifier(t, holder, "buyer", "museum", "school", "chapel")
	bundle, err := i.Bundle(receipts)
	if err != nil {
		t.Fatal(err)
	}
	if b, report := f.VerifyBundle(bundle); verdict(report) != "" || b.Credit.Bound != 5 {
		t.Errorf("the bundle: %v, %+v", report.Err(), b)
	}
	for _, revealed := range [][]string{nil, {"att_3"}, {"att_4", "att_0", "att_1", "att_2", "att_3"}} {
		proof, err := i.Competence(receipts, revealed...)
		if err != nil {
			t.Errorf("revealing %v: %v", revealed, err)
			continue
		}
		var more []wire.Check[*attest.CompetenceSubject]
		if len(revealed) == 5 {
			more = append(more, attest.AggregateVerified())
		}
		if _, report := f.VerifyCompetence(proof, more...); verdict(report) != "" {
			t.Errorf("revealing %v: %v", revealed, report.Err())
		}
	}
	if _, err := i.Competence(receipts, "att_9"); err == nil {
		t.Error("a receipt was revealed that is not there")
	}
	if _, err := i.Bundle(nil); err != nil {
		t.Errorf("an empty bundle that claims nothing: %v", err)
	}
	for _, test := range []struct {
		what     string
		receipts []wire.Value
	}{
		{"a receipt twice", append(receiptsOf(t, 1), receipts[0])},
		{"a receipt that its parties did not sign", []wire.Value{receipts[0].With("session_id", wire.Text("ses_x"))}},
		{"a receipt of others", []wire.Value{signAll(t, func() wire.Value {
			d := receiptDraft(0)
			d.Parties[0].Agent = "chapel"
			return encodeDraft(t, d)
		}())}},
		{"no receipt", []wire.Value{parse(t, `{}`)}},
	} {
		if _, err := i.Bundle(test.receipts); err == nil {
			t.Errorf("%s went into a bundle", test.what)
		}
		if _, err := i.Competence(test.receipts, "att_0"); err == nil {
			t.Errorf("%s went into a proof", test.what)
		}
	}
}

func encodeDraft(tb testing.TB, d attest.Draft) wire.Value {
	v, err := d.Value()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// A party confirms, or denies, what became of the agreement, inside the receipt.
func TestConfirm(t *testing.T) {
	receipt := receiptOf(t, 0)
	f := verifier(t, holder, "buyer", "museum")
	for _, test := range []struct {
		by, draft, want string
	}{
		{"buyer", `{"status":"fulfilled"}`, ""},
		{"buyer", `{"status":"unfulfilled"}`, ""},
		{"buyer", `{"status":"fulfilled","counterparty_attestation":{"confirms_fulfillment":false}}`, "fulfillment-bound at /fulfillment/counterparty_attestation/confirms_fulfillment"},
		{"buyer", `{"status":"fulfilled","counterparty_attestation":{"notes":"paid $ 40"}}`, "deal-terms at /fulfillment/counterparty_attestation/notes"},
		{"buyer", `{"status":"lost"}`, "attestation at /fulfillment/status"},
		{"museum", `{"status":"fulfilled"}`, "fulfillment-bound at /fulfillment/counterparty_attestation/agent_id"},
	} {
		v, err := issuerOf(t, test.by).Confirm(receipt, parse(t, test.draft))
		if got := broke(err); got != test.want && (err != nil || test.want != "") {
			t.Errorf("%s says %s: %q, want %q: %v", test.by, test.draft, broke(err), test.want, err)
		}
		if err != nil {
			continue
		}
		if _, report := f.VerifyAttestation(v, attest.OutcomeBound(), attest.FulfillmentBound()); verdict(report) != "" {
			t.Errorf("%s says %s: %v", test.by, test.draft, report.Err())
		}
	}
	// Of an old version nobody signed more than its own record, which fits any receipt.
	old := receipt.Without("countersignatures").With("concordia_attestation", wire.Text("0.1.0")).With("attestation_id", wire.Text("att_other"))
	if _, err := issuerOf(t, "buyer").Confirm(old, parse(t, `{"status":"fulfilled"}`)); broke(err) != "outcome-binding at /concordia_attestation" {
		t.Errorf("confirmed what it did not countersign: %q", broke(err))
	}
}

// The publisher presents a receipt of an attestation, and the counterparty cosigns it.
func TestCosign(t *testing.T) {
	a, err := attest.ReadAttestation(receiptOf(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	buyer := issuerOf(t, "buyer")
	v, err := attest.Cosigned(a, holder, buyer.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if _, report := verifier(t).VerifyCosigned(v, holder); report.Outcome() != wire.Failed {
		t.Error("nobody has signed it yet, and it passes")
	}
	signed, err := buyer.Cosign(v, holder)
	if err != nil {
		t.Fatal(err)
	}
	if _, report := verifier(t).VerifyCosigned(signed, holder); verdict(report) != "" {
		t.Error(report.Err())
	}
	for _, test := range []struct {
		what, by, publisher string
		v                   wire.Value
	}{
		{"another agent", "museum", holder, v},
		{"the publisher itself", "buyer", string(wire.DIDKey(buyer.Key.Public())), v},
		{"terms inside", "buyer", holder, v.With("fulfillment", parse(t, `{"status":"paid 40 USD"}`))},
		{"nobody listed", "buyer", holder, v.With("parties", parse(t, `[{"agent_id":"seller","role":"initiator","behavior":{}}]`))},
	} {
		if _, err := issuerOf(t, test.by).Cosign(test.v, wire.AgentID(test.publisher)); err == nil {
			t.Errorf("%s: cosigned", test.what)
		}
	}
	if _, err := attest.Cosigned(a, "chapel", buyer.Key.Public()); err == nil {
		t.Error("a receipt of a session that the publisher took no part in")
	}
}

// An envelope tells the truth about its subject: from a receipt that verifies, with
// the subject's own figures, and a fulfillment only if it is confirmed.
func TestEnvelopeTells(t *testing.T) {
	receipt := receiptOf(t, 0)
	fulfilled, err := issuerOf(t, "buyer").Confirm(receipt, parse(t, `{"status":"fulfilled"}`))
	if err != nil {
		t.Fatal(err)
	}
	unconfirmed := receipt.With("fulfillment", parse(t, `{"status":"fulfilled","settled_at":"2026-09-14T09:00:00Z"}`))
	confirmed := func(by, text string) wire.Value {
		v, err := issuerOf(t, by).Confirm(receipt, parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	relabeled, _ := fulfilled.Get("fulfillment")
	relabeled = fulfilled.With("fulfillment", relabeled.With("status", wire.Text("disputed")))
	for _, test := range []struct {
		what, draft string
		receipt     wire.Value
		path        []string
		want        string
	}{
		{"the first party", `{}`, receipt, []string{"quality_signals", "reasoning_quality"}, "true"},
		{"the second party", `{"subject":{"did":"buyer"}}`, receipt, []string{"quality_signals", "reasoning_quality"}, "false"},
		{"its counterparty", `{"subject":{"did":"buyer"}}`, receipt, []string{"counterparty_did"}, `"seller"`},
		{"no fulfillment", `{}`, receipt, []string{"commitment", "honored"}, "null"},
		{"an unconfirmed one", `{}`, unconfirmed, []string{"commitment", "honored"}, "null"},
		{"a confirmed one", `{}`, fulfilled, []string{"commitment", "honored"}, "true"},
		{"a confirmed one with another status beside it", `{}`, relabeled, []string{"commitment", "honored"}, "true"},
		{"a denied one", `{}`, confirmed("buyer", `{"status":"disputed"}`), []string{"commitment", "honored"}, "false"},
		{"the subject's own word", `{}`, confirmed("seller", `{"status":"fulfilled"}`), []string{"commitment", "honored"}, "null"},
		{"the word of somebody else than the subject", `{"subject":{"did":"buyer"}}`, confirmed("seller", `{"status":"fulfilled"}`), []string{"commitment", "honored"}, "true"},
		{"a word that names another deal", `{}`, confirmed("buyer", `{"status":"fulfilled","counterparty_attestation":{"notes":"att_other"}}`), []string{"commitment", "honored"}, "null"},
	} {
		v, err := issuerOf(t, authority).Envelope(test.receipt, parse(t, test.draft))
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if got, _ := v.At(append([]string{"payload"}, test.path...)...); got.Canonical() != test.want {
			t.Errorf("%s: %s is %s, want %s", test.what, test.path, got, test.want)
		}
	}
	stranger := issuerOf(t, authority)
	stranger.Keys = nil
	if _, err := stranger.Envelope(receipt, parse(t, `{}`)); !errors.Is(err, wire.RuleUnknownKey) {
		t.Errorf("an envelope about a receipt that was not verified: %v", err)
	}
}

// Who denies because of a revocation shows by which way it came.
func TestDenials(t *testing.T) {
	i := issuerOf(t, authority)
	record, err := i.Revocation(parse(t, `{"revoked_artifact_id":"urn:concordia:mandate:1","revoked_artifact_type":"mandate","reason":"lost","revocation_scope":"cascade_to_dependents"}`))
	if err != nil {
		t.Fatal(err)
	}
	link := func(id string) []attest.Link {
		return []attest.Link{{ID: id, Type: "mandate", Relationship: "extends"}}
	}
	among := attest.IndexDependents([]attest.Dependent{
		{ID: "urn:concordia:mandate:1", Issuer: authority}, {ID: "b", Links: link("urn:concordia:mandate:1")}, {ID: "c", Links: link("b")},
	})
	f := verifier(t, authority)
	reached, report := f.Cascade(record, nil, among)
	if verdict(report) != "" || len(reached) != 3 {
		t.Fatalf("%v: %v", report.Err(), reached)
	}
	for n, draft := range attest.Denials(record, reached) {
		draft = draft.With("request_digest", wire.Text("r")).With("boundary_id", wire.Text("b")).With("policy_version", wire.Text("1"))
		v, err := i.Decision(draft)
		if err != nil {
			t.Fatal(err)
		}
		d, report := f.VerifyDecision(v, "")
		if verdict(report) != "" || len(d.Reads) != n+1 || d.Capability != wire.HashOf(reached[n].ID).String() {
			t.Fatalf("denial %d: %v %+v", n, report.Err(), d)
		}
		for step, read := range d.Reads {
			if read.Element != wire.HashOf([]string{"urn:concordia:mandate:1", "b", "c"}[step]).String() || read.Coordinate != int64(step) || read.Source != record.Hash().String() {
				t.Errorf("denial %d reads %+v at step %d", n, read, step)
			}
		}
	}
}

// The map to CTEF says what the predicate does, and null where it says nothing.
func TestCTEF(t *testing.T) {
	for _, test := range []struct{ condition, want string }{{`{"result":"denied"}`, `"denied"`}, {`{"limit":1}`, "null"}} {
		v, err := issuerOf(t, authority).Predicate(parse(t, `{"type":"authority_gate","subject":"s","condition":`+test.condition+`,"expires_at":"2026-09-15T00:00:00Z"}`))
		if err != nil {
			t.Fatal(err)
		}
		p, report := verifier(t, authority).VerifyPredicate(v)
		if verdict(report) != "" {
			t.Fatal(report.Err())
		}
		want := parse(t, `{"claim_type":"authority","claim_subtype":"predicate_evaluation","artifact_ref":"`+p.ID+`","issuer":"did:web:authority","subject":"s",
			"authority":"did:web:authority","verified_at":"2026-09-14T10:00:00Z","result":`+test.want+`}`)
		if got := p.CTEF(judged); !got.Equal(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
