package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// idsIn lists the ids of the receipts in a member.
func idsIn(v wire.Value, member string) (ids []string) {
	list, _ := v.Get(member)
	for _, r := range list.Elems() {
		id, _ := r.Get("attestation_id")
		ids = append(ids, id.Text())
	}
	return ids
}

func idOf(receipt wire.Value) string {
	id, _ := receipt.Get("attestation_id")
	return id.Text()
}

// A bundle has the own receipts that are meant, stands for itself, and is kept.
func TestBundle(t *testing.T) {
	w := newWorld(t)
	seller := w.party("seller", revokedBy("court"))
	buyer, other := w.party("buyer", nil), w.party("other", nil)
	if _, err := seller.Bundle(w.ctx, node.ReceiptFilter{}); code(err) != node.CodeNotFound {
		t.Errorf("without a receipt: %v", err)
	}
	_, cameras := w.sold(seller, buyer, wire.Value{})
	w.forward(time.Hour)
	_, lens := w.sold(seller, other, camera(wire.M{"category": "goods.lenses"}))
	w.forward(time.Hour)
	// One session that ends twice has two receipts, of which the last counts.
	id := w.begin(node.Opening{}, seller, buyer)
	buyer.move(id, wire.TypeWithdraw, parsed(`{"reactivatable":true}`))
	seller.in(id, session.Dormant)
	seller.settled(id)
	buyer.settled(id)
	ended := w.now()
	w.forward(time.Hour)
	seller.move(id, wire.TypeOffer, price(4))
	buyer.in(id, session.Active)
	if _, err := seller.Envelope(w.ctx, node.Enveloping{Session: id}); code(err) != node.CodeNotAgreed {
		t.Errorf("an envelope of a session that goes on: %v", err)
	}
	buyer.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	twice := must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[1]
	// What others did is none of the own receipts.
	_, theirs := w.sold(buyer, other, wire.Value{})
	must[node.Ingested](w)(seller.Ingest(w.ctx, theirs))

	after, _ := cameras.Get("timestamp")
	first := must[time.Time](w)(wire.ParseTime(after.Text()))
	for _, test := range []struct {
		name   string
		filter node.ReceiptFilter
		want   []wire.Value
	}{
		{"all", node.ReceiptFilter{}, []wire.Value{cameras, lens, twice}},
		{"one category", node.ReceiptFilter{Category: "goods.cameras"}, []wire.Value{cameras, twice}},
		{"those below it", node.ReceiptFilter{Category: "goods"}, []wire.Value{cameras, lens, twice}},
		{"another that begins so", node.ReceiptFilter{Category: "good"}, nil},
		{"with one agent", node.ReceiptFilter{With: agent("other")}, []wire.Value{lens}},
		{"with nobody", node.ReceiptFilter{With: agent("nobody")}, nil},
		{"after the first", node.ReceiptFilter{After: first.Add(time.Second)}, []wire.Value{lens, twice}},
		{"from the first on", node.ReceiptFilter{After: first}, []wire.Value{cameras, lens, twice}},
		{"before the second", node.ReceiptFilter{Before: first.Add(30 * time.Minute)}, []wire.Value{cameras}},
		{"before the first", node.ReceiptFilter{Before: first}, nil},
		{"before a session ended again", node.ReceiptFilter{Before: ended.Add(time.Minute)}, []wire.Value{cameras, lens}},
		{"one session", node.ReceiptFilter{Session: id}, []wire.Value{twice}},
	} {
		w.forward(time.Second) // they are listed by it
		made, err := seller.Bundle(w.ctx, test.filter)
		if test.want == nil {
			if code(err) != node.CodeNotFound {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		w.must(err)
		var want []string
		for _, r := range test.want {
			want = append(want, idOf(r))
		}
		if got := idsIn(made.Artifact, "attestations"); !slices.Equal(got, want) || made.Receipts != len(want) || made.LeftOut != 0 {
			t.Errorf("%s: %v, want %v; %+v", test.name, got, want, made)
		}
		b, report := w.stranger().VerifyBundle(made.Artifact)
		if report.Err() != nil || b.Agent != agent("seller") || b.Credit.Bound != len(want) {
			t.Errorf("%s: it does not verify: %v", test.name, report.Err())
		}
	}
	if _, err := seller.Bundle(w.ctx, node.ReceiptFilter{Category: "Goods!"}); code(err) != node.CodeBadRequest {
		t.Errorf("no category: %v", err)
	}

	list := must[[]node.Issued](w)(seller.Bundles(w.ctx))
	if len(list) != 9 || list[0].Artifact.Kind() != wire.Absent || list[0].Receipts != 1 || !has(list[0].Summary, "unique_counterparties") {
		t.Errorf("%d bundles, the last %+v", len(list), list[0])
	}
	seller.restart()
	kept := must[wire.Value](w)(seller.Artifact(w.ctx, list[0].ID))
	if _, report := w.stranger().VerifyBundle(kept); report.Err() != nil || !slices.Equal(idsIn(kept, "attestations"), []string{idOf(twice)}) {
		t.Errorf("after a restart: %v", report.Err())
	}
	for _, id := range []string{"bundle_nothing", idOf(cameras)} {
		if _, err := seller.Artifact(w.ctx, id); code(err) != node.CodeNotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	// One that is revoked is not shown any more.
	w.must(seller.Approve(w.ctx, w.revokes("court", lens)))
	if made := must[node.Issued](w)(seller.Bundle(w.ctx, node.ReceiptFilter{})); made.Receipts != 2 {
		t.Errorf("with one revoked: %+v", made)
	}
}

// Of what was issued the last hundred of a kind are kept.
func TestIssuedIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id, _ := w.sold(seller, buyer, wire.Value{})
	envelope := must[node.Issued](w)(seller.Envelope(w.ctx, node.Enveloping{Session: id}))
	var all []node.Issued
	for range node.MaxIssued + 2 {
		w.forward(time.Second)
		all = append(all, must[node.Issued](w)(seller.Bundle(w.ctx, node.ReceiptFilter{})))
		if len(all) > node.MaxIssued {
			if list := must[[]node.Issued](w)(seller.Bundles(w.ctx)); len(list) != node.MaxIssued {
				t.Errorf("after %d there are %d bundles", len(all), len(list))
			}
		}
	}
	list := must[[]node.Issued](w)(seller.Bundles(w.ctx))
	if len(list) != node.MaxIssued || list[0].ID != all[len(all)-1].ID || list[len(list)-1].ID != all[2].ID {
		t.Errorf("%d bundles from %s to %s", len(list), list[len(list)-1].ID, list[0].ID)
	}
	if _, err := seller.Artifact(w.ctx, all[1].ID); code(err) != node.CodeNotFound {
		t.Errorf("the second bundle: %v", err)
	}
	must[wire.Value](w)(seller.Artifact(w.ctx, envelope.ID)) // of another kind
}

// A proof says no time: the one that was made first goes, whatever its hash.
func TestProofsAreBounded(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	w.sold(seller, buyer, wire.Value{})
	const over = 20
	var all []node.Issued
	for range node.MaxIssued + over {
		all = append(all, must[node.Issued](w)(seller.Competence(w.ctx, 0)))
	}
	for i, made := range all {
		if _, err := seller.Artifact(w.ctx, made.ID); (err != nil) != (i < over) {
			t.Errorf("proof %d of %d: %v", i, len(all), err)
		}
	}
}

// Others add fulfillments and witnesses to a receipt, or what looks like it: a bundle has
// what the counterparty signed of that deal, and else the receipt as it was made.
func TestBundleHasTheOwnVersion(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	_, receipt := w.sold(seller, buyer, wire.Value{})
	_, other := w.sold(seller, buyer, wire.Value{})
	witnessed := receipt
	for _, name := range []string{"w1", "w2", "w3"} {
		witnessed = must[wire.Value](w)(attest.Witness(witnessed, agent(name), key(name)))
	}
	confirm := func(by string, of wire.Value, status string) wire.Value {
		return must[wire.Value](w)(w.issuer(by).Confirm(of, encoded(wire.M{"status": status})))
	}
	fulfillment := func(v wire.Value) wire.Value {
		f, _ := v.Get("fulfillment")
		return f
	}
	honored := confirm("buyer", receipt, "fulfilled")
	relabeled := fulfillment(honored).With("status", wire.Text("disputed")).With("disputes", parsed(`[{"term_id":"lens","complainant_agent_id":"x","description":"a fraud"}]`))
	denied := confirm("buyer", receipt, "disputed")
	for _, step := range []struct {
		name   string
		ingest wire.Value
		want   wire.Value
	}{
		{"with witnesses", witnessed, receipt},
		{"with the own word", confirm("seller", receipt, "fulfilled"), receipt},
		{"with a word on another deal", receipt.With("fulfillment", fulfillment(confirm("buyer", other, "fulfilled"))), receipt},
		{"with a word that a stranger relabeled", witnessed.With("fulfillment", relabeled), receipt},
		{"with the word of the counterparty", honored, honored},
		{"with its word and witnesses", witnessed.With("fulfillment", fulfillment(honored)), honored},
		{"with a worse one", denied, denied},
		{"with a better one again", confirm("buyer", receipt, "fulfilled_with_mediation"), denied},
	} {
		w.forward(time.Second)
		if in := must[node.Ingested](w)(seller.Ingest(w.ctx, step.ingest)); in.Status != node.IngestNew {
			t.Errorf("%s: %+v", step.name, in)
		}
		made := must[node.Issued](w)(seller.Bundle(w.ctx, node.ReceiptFilter{}))
		list, _ := made.Artifact.Get("attestations")
		if made.Receipts != 2 || !strings.Contains(list.Canonical(), step.want.Canonical()) {
			t.Errorf("%s: the bundle has\n%s\nwant\n%s", step.name, list, step.want)
		}
	}
}

// A competence proof reveals as many of the newest as is said, and proves its figures if
// it reveals all.
func TestCompetence(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	if _, err := seller.Competence(w.ctx, 0); code(err) != node.CodeNotFound {
		t.Errorf("without a receipt: %v", err)
	}
	var ids []string
	for _, p := range []*party{buyer, other, buyer} {
		_, r := w.sold(seller, p, wire.Value{})
		ids = append(ids, idOf(r))
		w.forward(time.Minute)
	}
	for reveal, want := range map[int][]string{0: nil, 1: ids[2:], 2: ids[1:], 3: ids, 100: ids} {
		made := must[node.Issued](w)(seller.Competence(w.ctx, reveal))
		p, report := w.stranger().VerifyCompetence(made.Artifact)
		if report.Err() != nil || p.Count != 3 || made.Receipts != 3 || made.Revealed != len(want) || !slices.Equal(idsIn(made.Artifact, "revealed_attestations"), want) {
			t.Errorf("%d revealed: %v, %+v", reveal, report.Err(), made)
		}
		_, report = w.stranger().VerifyCompetence(made.Artifact, attest.AggregateVerified())
		if proven := report.Err() == nil; proven != (len(want) == 3) {
			t.Errorf("%d revealed: the figures are proven: %v", reveal, proven)
		}
		kept := must[wire.Value](w)(seller.Artifact(w.ctx, made.ID))
		if !kept.Equal(made.Artifact) {
			t.Errorf("%d revealed: it is kept otherwise", reveal)
		}
	}
	if _, err := seller.Competence(w.ctx, -1); code(err) != node.CodeBadRequest {
		t.Errorf("less than none: %v", err)
	}
}

// An envelope says who signs it, and nobody else: not whom the caller names.
func TestEnvelope(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id, _ := w.sold(seller, buyer, wire.Value{})
	own := string(agent("buyer"))
	kid := own + "#" + own[len("did:key:"):]
	referral := node.Referral{Kind: "mandate", URN: "urn:concordia:mandate:1"}
	for _, test := range []struct {
		name string
		e    node.Enveloping
		want node.Code
	}{
		{"as it is", node.Enveloping{}, ""},
		{"all of it", node.Enveloping{
			Provider: agent("buyer"), KeyID: kid, Subject: agent("buyer"), Algorithm: wire.EdDSA, Visibility: "restricted", References: []node.Referral{referral},
		}, ""},
		{"the key as a fragment", node.Enveloping{KeyID: kid[len(own):]}, ""},
		{"the key without its sign", node.Enveloping{KeyID: own[len("did:key:"):]}, ""},
		{"another provider", node.Enveloping{Provider: agent("seller")}, node.CodeBadRequest},
		{"a provider that is free", node.Enveloping{Provider: "did:web:verascore.example"}, node.CodeBadRequest},
		{"another key", node.Enveloping{KeyID: own + "#key-1"}, node.CodeBadRequest},
		{"a key of another provider", node.Enveloping{KeyID: string(agent("seller")) + "#" + string(agent("seller"))[len("did:key:"):]}, node.CodeBadRequest},
		{"another algorithm", node.Enveloping{Algorithm: wire.ES256}, node.CodeBadRequest},
		{"about somebody else", node.Enveloping{Subject: agent("stranger")}, node.CodeBadRequest},
		{"seen by whom", node.Enveloping{Visibility: "everybody"}, node.CodeRule},
		{"another source", node.Enveloping{References: []node.Referral{{Kind: "source_session", URN: "urn:concordia:session:ses_other"}}}, node.CodeBadRequest},
		{"a reference to nothing", node.Enveloping{References: []node.Referral{{Kind: "mandate"}}}, node.CodeRule},
		{"too many references", node.Enveloping{References: slices.Repeat([]node.Referral{referral}, 33)}, node.CodeBadRequest},
	} {
		test.e.Session = id
		made, err := buyer.Envelope(w.ctx, test.e)
		if code(err) != test.want {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if err != nil {
			continue
		}
		e, report := w.stranger().VerifyEnvelope(made.Artifact)
		if report.Err() != nil || e.Provider != agent("buyer") || string(e.Signer()) != kid || e.Payload.Session != string(id) || e.ID != made.ID {
			t.Errorf("%s: %v, %+v", test.name, report.Err(), e)
		}
		if want := len(test.e.References) + 1; len(e.References) != want || !e.References[want-1].VerifiedAt.IsZero() && want > 1 {
			t.Errorf("%s: references %+v", test.name, e.References)
		}
	}
	if _, err := buyer.Envelope(w.ctx, node.Enveloping{Session: "ses_nothing"}); code(err) != node.CodeNotFound {
		t.Errorf("of no session: %v", err)
	}
	open := w.begin(node.Opening{}, seller, buyer)
	if _, err := buyer.Envelope(w.ctx, node.Enveloping{Session: open}); code(err) != node.CodeNotAgreed {
		t.Errorf("of a session that is not over: %v", err)
	}
}
