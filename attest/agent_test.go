package attest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// spellings returns the two names of one did:key.
func spellings(tb testing.TB, who string) (plain, reference wire.AgentID) {
	k := key(tb, who).Public()
	return wire.DIDKey(k), wire.ReferenceDIDKey(k)
}

// between is receipt i between two agents, each an id and who signs for it.
func between(tb testing.TB, i int, a, b [2]string) wire.Value {
	tb.Helper()
	d := receiptDraft(i)
	d.Outcome.Duration = d.Outcome.Duration + fiveSeconds
	d.Parties[0].Agent, d.Parties[1].Agent = wire.AgentID(a[0]), wire.AgentID(b[0])
	v, err := d.Value()
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range [][2]string{a, b} {
		if v, err = attest.Countersign(v, wire.AgentID(p[0]), key(tb, p[1])); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

const fiveSeconds = 5e9

// Two names of one did:key are one agent: it is no two parties, and no witness to
// itself.
func TestTwoSpellingsOfAParty(t *testing.T) {
	plain, reference := spellings(t, "alice")
	f := attest.Verifier{Keys: wire.AnyKeys{wire.DIDKeys{}, wire.KeyMap{"did:web:alice": key(t, "alice").Public(), "bob": key(t, "bob").Public()}}, Now: judged}
	for _, ids := range [][2]wire.AgentID{{plain, reference}, {reference, plain}, {plain, plain}} {
		v := between(t, 0, [2]string{string(plain), "alice"}, [2]string{"bob", "bob"})
		v = edit(t, edit(t, v, fmt.Sprintf("%q", ids[0]), "parties", "0", "agent_id"), fmt.Sprintf("%q", ids[1]), "parties", "1", "agent_id")
		if _, report := f.VerifyAttestation(v); verdict(report) != "attestation-parties at /parties/1/agent_id" {
			t.Errorf("%v: %v", ids, report.Err())
		}
	}
	v := between(t, 0, [2]string{string(plain), "alice"}, [2]string{"bob", "bob"})
	if _, err := attest.Witness(v, reference, key(t, "alice")); !errors.Is(err, attest.ErrIsAParty) {
		t.Errorf("Witness = %v, want ErrIsAParty", err)
	}
	for id, want := range map[string]wire.Outcome{string(reference): wire.Failed, "did:web:alice": wire.Failed} {
		w := v.With("countersignatures", mustAt(t, v, "countersignatures").With(id, signature(t, attest.Countersigned(v), "alice")))
		if _, report := f.VerifyAttestation(w); report.Err() != nil || outcomeOf(report, "witnesses") != want {
			t.Errorf("witness %s: %v, want %v", id, outcomeOf(report, "witnesses"), want)
		}
	}
}

// What is credited counts agents, not names.
func TestCreditCountsAgents(t *testing.T) {
	bob, bob2 := spellings(t, "bob")
	holderDID, _ := spellings(t, holder)
	f := everybody(t)
	known := f.Keys.(wire.KeyMap)
	known["did:web:bob"], known["did:web:seller"] = key(t, "bob").Public(), key(t, holder).Public()
	f.Keys = wire.AnyKeys{wire.DIDKeys{}, known}
	show := func(with ...[2]string) *attest.ReceiptBundle {
		t.Helper()
		var list []wire.Value
		for i, w := range with {
			list = append(list, between(t, i, [2]string{holder, holder}, w))
		}
		b, report := f.VerifyBundle(bundle(t, list...))
		if report.Outcome() != wire.Passed {
			t.Fatal(report.Err())
		}
		return b
	}
	for _, test := range []struct {
		with []([2]string)
		want string // counterparties and patterns
	}{
		{[][2]string{{"buyer", "buyer"}, {string(bob), "bob"}}, fmt.Sprintf("[buyer %s] []", bob)},
		{[][2]string{{string(bob), "bob"}, {string(bob2), "bob"}}, fmt.Sprintf("[%s] []", min(bob, bob2))},
		{[][2]string{{string(bob), "bob"}, {"did:web:bob", "bob"}, {string(bob2), "bob"}, {"did:web:bob", "bob"}},
			fmt.Sprintf("[%s] [low_counterparty_diversity]", min(bob, bob2))},
		{[][2]string{{"buyer", "buyer"}, {"did:web:seller", holder}}, "[buyer] [self_dealing]"},
		{[][2]string{{"buyer", "buyer"}, {string(holderDID), holder}}, "[buyer] [self_dealing]"},
	} {
		c := show(test.with...).Credit
		if got := fmt.Sprint(c.Counterparties, c.Patterns); got != test.want || c.Bound != len(test.with) {
			t.Errorf("%v: %d bound, %s, want %s", test.with, c.Bound, got, test.want)
		}
	}
}

// Whoever signed under one name does not escape the revocation that it made under
// another: the name beside a signature is signed by nobody.
func TestRevokedUnderAnotherName(t *testing.T) {
	plain, reference := spellings(t, carrier)
	v := settlement(t)
	id := mustAt(t, v, "id").Text()
	record := func(issuer wire.AgentID) wire.Value {
		r := edit(t, edit(t, revocation(t), fmt.Sprintf("%q", id), "revoked_artifact_id"), fmt.Sprintf("%q", issuer), "issuer_did")
		return signBlock(t, edit(t, r, fmt.Sprintf("%q", id), "references", "0", "id"), carrier)
	}
	f := verifier(t, carrier)
	f.Keys = wire.AnyKeys{wire.DIDKeys{}, f.Keys, wire.KeyMap{"did:web:other": key(t, "buyer").Public()}}
	for _, issuer := range []wire.AgentID{plain, reference, carrier} {
		var reports []wire.Report
		f.Revocations, reports = f.ReadRevocations([]wire.Value{record(issuer)}, nil)
		if reports[0].Outcome() != wire.Passed {
			t.Fatal(reports[0].Err())
		}
		for _, signer := range []wire.AgentID{plain, reference, carrier} {
			w := edit(t, v, fmt.Sprintf("%q", signer), "signature", "signer_did")
			if _, report := f.VerifyFulfillment(w, ""); verdict(report) != "revoked at " {
				t.Errorf("revoked as %s, signed as %s: %v", issuer, signer, report.Err())
			}
			_, report := f.Cascade(record(issuer), nil, attest.IndexDependents([]attest.Dependent{{ID: id, Issuer: signer}}))
			if report.Outcome() != wire.Passed {
				t.Errorf("cascade as %s of %s: %v", issuer, signer, report.Err())
			}
		}
		if err := f.CheckRevoked(id, "did:web:other"); err != nil {
			t.Errorf("another agent's artifact: %v", err)
		}
		if err := f.CheckRevoked(id, "did:web:unknown"); err != nil {
			t.Errorf("an unknown agent's artifact: %v", err)
		}
		_, report := f.Cascade(record(issuer), nil, attest.IndexDependents([]attest.Dependent{{ID: id}, {ID: id, Issuer: "did:web:other"}}))
		if report.Outcome() == wire.Passed {
			t.Error("a stranger's record cascades")
		}
	}
}

// A publisher is not the counterparty by another name, and nobody is listed by two.
func TestCosignedTwoSpellings(t *testing.T) {
	plain, reference := spellings(t, "cosigner")
	for _, test := range []struct {
		publisher wire.AgentID
		want      string
	}{
		{plain, "cosign-publisher at /counterparty_did"},
		{reference, "cosign-publisher at /counterparty_did"},
		{"did:web:cosigner", "cosign-publisher at /counterparty_did"},
		{wire.AgentID(didOf(t, "publisher")), ""},
	} {
		f := attest.Verifier{Now: judged, Keys: wire.KeyMap{"did:web:cosigner": key(t, "cosigner").Public()}}
		if _, report := f.VerifyCosigned(cosigned(t), test.publisher); verdict(report) != test.want {
			t.Errorf("%s: %v", test.publisher, report.Err())
		}
	}
	publisher, _ := spellings(t, "publisher")
	list := append(elems(mustAt(t, cosigned(t), "parties")), parse(t, fmt.Sprintf(`{"agent_id":%q,"role":"witness","behavior":{}}`, publisher)))
	v := cosign(t, cosigned(t).With("parties", encode(t, list)))
	if _, report := (attest.Verifier{Now: judged}).VerifyCosigned(v, wire.AgentID(didOf(t, "publisher"))); verdict(report) != "cosign-parties at /parties/2/agent_id" {
		t.Error(report.Err())
	}
}

// A verifier without keys knows nobody, and says so.
func TestNoKeys(t *testing.T) {
	f := attest.Verifier{Now: judged}
	for name, report := range map[string]wire.Report{
		"attestation": second(f.VerifyAttestation(receiptOf(t, 0), attest.OutcomeBound())),
		"approval":    second(f.VerifyApproval(approvalSpecimen(t).value, wire.Value{}, "")),
		"revocation":  second(f.VerifyRevocation(revocation(t))),
		"settlement":  second(f.VerifyFulfillment(settlement(t), "")),
		"bundle":      second(f.VerifyBundle(bundle(t, receiptsOf(t, 2)...))),
		"competence":  second(f.VerifyCompetence(competence(t, receiptsOf(t, 2), 0, 1))),
		"profile":     second(f.VerifyProfile(profileSpecimen(t).value)),
		"decision":    second(f.VerifyDecision(decisionSpecimen(t).value, "")),
		"envelope":    second(f.VerifyEnvelope(envelopeSpecimen(t).value)),
		"mandate":     second(f.VerifyMandate(mandateSpecimen(t).value, attest.Use{})),
		"predicate":   second(f.VerifyPredicate(predicateSpecimen(t).value)),
	} {
		if report.Outcome() != wire.NotChecked || !errors.Is(report.Err(), wire.RuleUnknownKey) {
			t.Errorf("%s: %v, %v", name, report.Outcome(), report.Err())
		}
	}
	var reports []wire.Report
	if f.Revocations, reports = f.ReadRevocations([]wire.Value{revocation(t)}, believed); reports[0].Outcome() != wire.NotChecked {
		t.Error(reports[0].Err())
	}
	if err := f.CheckRevoked("urn:concordia:mandate:1", "did:web:treasury"); err != nil {
		t.Error(err)
	}
}

func second[A any](_ A, report wire.Report) wire.Report { return report }
