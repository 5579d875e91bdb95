package attest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// revocation is a sound revocation of urn:concordia:mandate:1 by did:web:treasury.
func revocation(tb testing.TB) wire.Value {
	return signBlock(tb, parse(tb, `{
		"revocation_id":"urn:concordia:revocation:1","revoked_artifact_id":"urn:concordia:mandate:1","revoked_artifact_type":"mandate",
		"revocation_scope":"cascade_to_dependents","issuer_did":"did:web:treasury",
		"issued_at":"2026-09-14T09:40:00Z","effective_at":"2026-09-14T09:45:00Z","reason":"key lost","cascade_depth":2,
		"references":[{"id":"urn:concordia:mandate:1","type":"mandate","relationship":"revokes"}],
		"supersedes":"urn:concordia:revocation:0","extensions":{},
		"signature":{"alg":"EdDSA","value":"x"}}`), "did:web:treasury")
}

func revocationSpecimen(tb testing.TB) specimen {
	f := verifier(tb, "did:web:treasury")
	return specimen{
		name: "revocation", value: revocation(tb),
		sign: func(tb testing.TB, v wire.Value) wire.Value { return signBlock(tb, v, "did:web:treasury") },
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyRevocation(v)
			return report
		},
		tolerated: map[string]string{"drop /supersedes": "optional", "drop /extensions": "optional"},
	}
}

func TestRevocation(t *testing.T) {
	for _, test := range []struct {
		rule string
		path []string
		text string
	}{
		{"", nil, ""},
		{"", []string{"cascade_depth"}, `8`},
		{"revocation at /revocation_id", []string{"revocation_id"}, `"urn:concordia:revocation:"`},
		{"revocation at /supersedes", []string{"supersedes"}, `"urn:concordia:revocation:"`},
		{"revocation at /issuer_did", []string{"issuer_did"}, `"did:"`},
		{"revocation at /cascade_depth", []string{"cascade_depth"}, `9`},
		{"revocation at /cascade_depth", []string{"cascade_depth"}, `-1`},
		{"revocation at ", []string{"note"}, `"no other members"`},
		{"revocation at /revocation_scope", []string{"revocation_scope"}, `"all"`},
		{"revokes-reference at /references", []string{"references", "0", "relationship"}, `"extends"`},
		{"revocation-target at /references", []string{"references", "0", "id"}, `"urn:concordia:mandate:2"`},
		{"", []string{"issued_at"}, `"2026-09-14T10:02:00Z"`},
		{"not-yet-valid at /issued_at", []string{"issued_at"}, `"2026-09-14T10:02:01Z"`},
		{"", []string{"issued_at"}, `"2020-01-01T00:00:00Z"`}, // a revocation does not get old
	} {
		v := revocation(t)
		if test.path != nil {
			v = signBlock(t, edit(t, v, test.text, test.path...), "did:web:treasury")
		}
		_, report := verifier(t, "did:web:treasury").VerifyRevocation(v)
		if got := verdict(report); got != test.rule {
			t.Errorf("%v %s: got %q, want %q", test.path, test.text, got, test.rule)
		}
	}
}

// A record counts from effective_at on, if the artifact's issuer or a trusted
// revoker made it, against the artifact and what depends on it.
func TestRevoked(t *testing.T) {
	const cfo, treasury = "did:web:cfo", "did:web:treasury"
	anyone := func(wire.AgentID) bool { return true }
	record := func(text string, path ...string) wire.Value {
		return signBlock(t, edit(t, revocation(t), text, path...), treasury)
	}
	of := func(id string) wire.Value {
		v := edit(t, revocation(t), `"`+id+`"`, "revoked_artifact_id")
		return signBlock(t, edit(t, v, `"`+id+`"`, "references", "0", "id"), treasury)
	}
	effective := time.Date(2026, 9, 14, 9, 45, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		record  wire.Value
		trusted func(wire.AgentID) bool
		now     time.Time
		rule    string
	}{
		{"what it fulfills", revocation(t), anyone, judged, "revoked at /references/1"},
		{"itself", of("urn:concordia:receipt:1"), anyone, judged, "revoked at "},
		{"what it approves", of("urn:concordia:session:ses_1"), anyone, judged, "revoked at /references/0"},
		{"something else", of("urn:concordia:mandate:2"), anyone, judged, ""},
		{"at that moment", revocation(t), anyone, effective, "revoked at /references/1"},
		{"a second before", revocation(t), anyone, effective.Add(-time.Second), ""},
		{"a stranger's", revocation(t), nil, judged, ""},
		{"of the mandate alone", record(`"single_artifact"`, "revocation_scope"), anyone, judged, ""},
		{"of no depth", record(`0`, "cascade_depth"), anyone, judged, ""},
		{"not its issuer's signature", edit(t, revocation(t), `"other"`, "reason"), anyone, judged, ""},
	} {
		f := verifier(t, cfo, treasury)
		f.Now = test.now
		records, _ := f.ReadRevocations([]wire.Value{test.record}, test.trusted)
		f.Revocations = records
		_, report := f.VerifyApproval(approval(t), parse(t, offerText), "")
		if got := verdict(report); got != test.rule {
			t.Errorf("%s: got %q, want %q", test.name, got, test.rule)
		}
	}

	// "references" and "supersedes" do not carry a revocation on.
	f := verifier(t, cfo, treasury)
	f.Revocations, _ = f.ReadRevocations([]wire.Value{revocation(t)}, anyone)
	weak := signBlock(t, edit(t, approval(t), `"references"`, "references", "1", "relationship"), cfo)
	if _, report := f.VerifyApproval(weak, parse(t, offerText), ""); verdict(report) != "" {
		t.Error(report.Err())
	}
}

// Of a record without any reference to what it revokes it is said that it has none,
// and not besides that it points elsewhere.
func TestNoReference(t *testing.T) {
	check := func(report wire.Report, none, elsewhere string) {
		t.Helper()
		for _, f := range report {
			if want := map[string]wire.Outcome{none: wire.Failed, elsewhere: wire.Passed}; f.Check == none || f.Check == elsewhere {
				if f.Outcome != want[f.Check] {
					t.Errorf("%s: %v", f.Check, f.Outcome)
				}
			}
		}
	}
	_, report := verifier(t, "did:web:treasury").VerifyRevocation(edit(t, revocation(t), `"references"`, "references", "0", "relationship"))
	check(report, "revokes-reference", "revocation-target")
	_, report = verifier(t, carrier).VerifyFulfillment(edit(t, settlement(t), `"references"`, "references", "1", "relationship"), "")
	check(report, "fulfills-reference", "fulfills-agreement")
}

// An attestation is named by a URN of its id. No party can take back what all made.
func TestRevokedAttestation(t *testing.T) {
	const treasury = "did:web:treasury"
	record := edit(t, revocation(t), `"urn:concordia:attestation:att_1"`, "revoked_artifact_id")
	record = signBlock(t, edit(t, record, `"urn:concordia:attestation:att_1"`, "references", "0", "id"), treasury)
	f := verifier(t, "seller", "buyer", treasury)
	receipt := sign(t, unsigned(t))
	for _, test := range []struct {
		trusted func(wire.AgentID) bool
		rule    string
	}{
		{func(wire.AgentID) bool { return true }, "revoked at "},
		{nil, ""},
	} {
		f.Revocations, _ = f.ReadRevocations([]wire.Value{record}, test.trusted)
		if _, report := f.VerifyAttestation(receipt); verdict(report) != test.rule {
			t.Errorf("got %q, want %q", verdict(report), test.rule)
		}
	}
}

// Records of strangers against an id that many artifacts have or depend on cost next to
// nothing for each of those; the issuer's own counts under every spelling of its did:key.
func TestRevocationsOfStrangers(t *testing.T) {
	const id, many = "urn:concordia:mandate:1", 200
	own := wire.DIDKey(key(t, "owner").Public())
	made := func(who string) []wire.Value {
		k := key(t, who)
		i := attest.Issuer{Agent: wire.DIDKey(k.Public()), Key: k, Now: judged, Random: strings.NewReader(strings.Repeat("0123456789abcdef", many))}
		records := make([]wire.Value, many)
		for n := range records {
			v, err := i.Revocation(encode(t, wire.M{"revoked_artifact_id": id, "revoked_artifact_type": "mandate", "reason": fmt.Sprint(n)}))
			if err != nil {
				t.Fatal(err)
			}
			records[n] = v
		}
		return records
	}
	f := attest.Verifier{Keys: wire.DIDKeys{}, Now: judged}
	f.Revocations, _ = f.ReadRevocations(made("stranger"), nil)
	if cost := testing.AllocsPerRun(10, func() {
		if err := f.CheckRevoked(id, own); err != nil {
			t.Error(err)
		}
	}); cost > many/4 {
		t.Errorf("%v allocations for %d records", cost, many)
	}
	f.Revocations, _ = f.ReadRevocations(made("owner")[:1], nil)
	reference := wire.ReferenceDIDKey(key(t, "owner").Public())
	for _, issuer := range []wire.AgentID{own, reference, own + "#" + own[len("did:key:"):], reference + "#" + reference[len("did:key:"):]} {
		if err := f.CheckRevoked(id, issuer); !errors.Is(err, attest.RuleRevoked) {
			t.Errorf("as %s: %v, want %v", issuer, err, attest.RuleRevoked)
		}
	}
	if err := f.CheckRevoked(id, wire.DIDKey(key(t, "another").Public())); err != nil {
		t.Error(err)
	}
}
