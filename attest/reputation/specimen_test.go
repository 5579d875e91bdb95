package reputation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

var now = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

func keyOf(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// everybody knows the key of each name that was made by keyOf.
type everybody struct{ testing.TB }

func (e everybody) Key(id wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if strings.HasPrefix(string(id), "did:key:") {
		return wire.DIDKeys{}.Key(id, at)
	}
	name, _, _ := strings.Cut(string(id), "/") // "ann/shop" is another name of ann
	return keyOf(e.TB, name).Public(), nil
}

func verifier(tb testing.TB) attest.Verifier { return attest.Verifier{Keys: everybody{tb}, Now: now} }

func encode(tb testing.TB, x any) wire.Value {
	tb.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// A deal is a receipt between two agents, changed by what follows.
type change func(*attest.Draft)

func deal(tb testing.TB, id, a, b string, changes ...change) wire.Value {
	tb.Helper()
	d := attest.Draft{
		ID: "att_" + id, Session: wire.SessionID("ses_" + id), Time: now,
		Outcome: attest.Outcome{Status: attest.StatusAgreed, Rounds: 3, Duration: 2 * time.Second, Mechanism: attest.MechanismDirect},
		Parties: []attest.Party{
			{Agent: wire.AgentID(a), Role: attest.RoleInitiator, Behavior: attest.Behavior{OffersMade: 2, ConcessionMagnitude: 0.25, ReasoningProvided: true}},
			{Agent: wire.AgentID(b), Role: attest.RoleResponder, Behavior: attest.Behavior{OffersMade: 1, ConcessionMagnitude: 0.1}},
		},
		Meta:           attest.Meta{Category: "goods.cameras", ValueRange: "100-500_EUR"},
		TranscriptHash: wire.HashOf("transcript" + id), ChainHead: wire.HashOf("head" + id), MessageCount: 5,
	}
	for _, change := range changes {
		change(&d)
	}
	v, err := d.Value()
	if err != nil {
		tb.Fatal(err)
	}
	return countersign(tb, v)
}

func countersign(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	parties, _ := v.Get("parties")
	for _, p := range parties.Elems() {
		id, _ := p.Get("agent_id")
		name, _, _ := strings.Cut(id.Text(), "/")
		var err error
		if v, err = attest.Countersign(v, wire.AgentID(id.Text()), keyOf(tb, name)); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

func ago(d time.Duration) change { return func(a *attest.Draft) { a.Time = now.Add(-d) } }

func ended(as attest.Status) change {
	return func(d *attest.Draft) { d.Outcome.Status, d.Outcome.Mechanism = as, attest.MechanismNone }
}

func session(id string) change {
	return func(d *attest.Draft) { d.Session = wire.SessionID(id) }
}

func category(name string) change { return func(d *attest.Draft) { d.Meta.Category = name } }

func violation(party int) change {
	return func(d *attest.Draft) { d.Parties[party].Behavior.ConstraintsViolated = 1 }
}

func supersedes(tb testing.TB, id string) change {
	return func(d *attest.Draft) {
		d.References = append(d.References, encode(tb, wire.M{"type": "receipt", "id": id, "relationship": "supersedes"}))
	}
}

// confirm puts somebody's word of the fulfillment into a receipt.
func confirm(tb testing.TB, receipt wire.Value, by string, yes bool, notes string) wire.Value {
	tb.Helper()
	words := wire.M{"agent_id": by, "confirms_fulfillment": yes}
	if notes != "" {
		words["notes"] = notes
	}
	v := encode(tb, words)
	sig, err := keyOf(tb, by).SignText([]byte(v.Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	status := "fulfilled"
	if !yes {
		status = "disputed"
	}
	return receipt.With("fulfillment", encode(tb, wire.M{
		"status": status, "settled_at": wire.FormatTime(now.Add(-time.Minute)), "counterparty_attestation": v.With("signature", wire.Text(sig)),
	}))
}

// settle says in an attestation of its own what became of a deal.
func settle(tb testing.TB, agreement, by string, status attest.SettlementStatus, at time.Time) wire.Value {
	tb.Helper()
	meta := wire.M{}
	if status == attest.FulfilledWithMediation {
		meta["mediator_invoked"] = true
	}
	v := encode(tb, wire.M{
		"attestation_type": "FulfillmentAttestation", "id": "urn:concordia:fulfillment:" + agreement + by, "agreement_attestation_id": agreement,
		"issued_at": wire.FormatTime(at), "fulfillment": wire.M{"status": status}, "meta": meta,
		"references": []wire.M{{"type": "receipt", "id": agreement, "relationship": "fulfills"}},
	})
	sig, err := keyOf(tb, by).SignText([]byte(v.Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	return v.With("signature", encode(tb, wire.M{"alg": "Ed25519", "value": sig, "signer_did": by}))
}

// verified returns what verifies as evidence, and fails if something does not.
func verified(tb testing.TB, artifacts ...wire.Value) []*reputation.Evidence {
	tb.Helper()
	var list []*reputation.Evidence
	for _, v := range artifacts {
		e, report := reputation.VerifyReceipt(verifier(tb), v)
		if _, ok := v.Get("attestation_type"); ok {
			e, report = reputation.VerifyFulfillment(verifier(tb), v)
		}
		if err := report.Err(); err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func ledgerOf(tb testing.TB, artifacts ...wire.Value) *reputation.Ledger {
	tb.Helper()
	l := new(reputation.Ledger)
	for _, e := range verified(tb, artifacts...) {
		l.Add(e)
	}
	return l
}

func score(tb testing.TB, l *reputation.Ledger, name string) *reputation.Score {
	tb.Helper()
	s := l.Score(keyOf(tb, name).Public(), now)
	var sum reputation.Micro
	before := ""
	for _, c := range s.Contributions() {
		sum += c.Contribution
		if place := c.Time + " " + c.Attestation; place < before {
			tb.Errorf("%s: %s comes after %s", name, place, before)
		} else {
			before = place
		}
	}
	if sum != s.Overall {
		tb.Errorf("%s: contributions add up to %s, the score is %s", name, sum, s.Overall)
	}
	if s.Overall > s.Confidence || s.Confidence >= 1_000_000 || s.Overall < 0 {
		tb.Errorf("%s: score %s, confidence %s", name, s.Overall, s.Confidence)
	}
	return s
}

func flagged(s *reputation.Score, f reputation.Flag) bool { return slices.Contains(s.Flags, f) }

// revoking returns a verifier that knows an artifact to be revoked.
func revoking(tb testing.TB, urn string) attest.Verifier {
	tb.Helper()
	court := keyOf(tb, "court")
	issuer := attest.Issuer{Agent: wire.DIDKey(court.Public()), Key: court, Now: now, Random: strings.NewReader(strings.Repeat("chance", 9))}
	record, err := issuer.Revocation(encode(tb, wire.M{"revoked_artifact_id": urn, "revoked_artifact_type": "attestation", "reason": "forced"}))
	if err != nil {
		tb.Fatal(err)
	}
	f := verifier(tb)
	f.Revocations, _ = f.ReadRevocations([]wire.Value{record}, func(wire.AgentID) bool { return true })
	return f
}
