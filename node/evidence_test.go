package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// sold has one party sell to another, and returns the receipt.
func (w *world) sold(seller, buyer *party, body wire.Value) (wire.SessionID, wire.Value) {
	w.Helper()
	id := w.begin(node.Opening{Body: body}, seller, buyer)
	seller.move(id, wire.TypeOffer, price(900))
	buyer.has(id, 3)
	buyer.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	buyer.settled(id)
	return id, must[[]wire.Value](w)(seller.Receipts(w.ctx, id))[0]
}

// stranger verifies what it is shown and knows keys of did:key ids alone.
func (w *world) stranger() attest.Verifier {
	return attest.Verifier{Keys: wire.DIDKeys{}, Now: w.now()}
}

func (w *world) score(p *party, of string) node.Standing {
	w.Helper()
	s := must[node.Standing](w)(p.Score(w.ctx, node.Question{Subject: agent(of)}))
	s.At = time.Time{}
	return s
}

func has(v wire.Value, name string) bool { _, ok := v.Get(name); return ok }

func set(v wire.Value, x any, path ...string) wire.Value {
	member := encoded(x)
	if len(path) > 1 {
		inner, _ := v.Get(path[0])
		member = set(inner, x, path[1:]...)
	}
	return v.With(path[0], member)
}

// A receipt is evidence for whoever it is shown to, once, across a restart, and gives the
// same score everywhere.
func TestEvidence(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	if s := w.score(seller, "seller"); s.Overall != 0 || !slices.Equal(s.Flags, []reputation.Flag{reputation.NoData, reputation.NewAgent}) {
		t.Errorf("before any deal: %+v", s)
	}
	_, receipt := w.sold(seller, buyer, camera(wire.M{"value_range": "500-1000_EUR"}))
	own := w.score(seller, "seller")
	if own.Overall <= 0 || own.Figures.Agreements != 1 || own.Figures.Counterparties != 1 {
		t.Errorf("after a deal, at the seller: %+v", own)
	}
	if s := w.score(other, "seller"); s.Overall != 0 {
		t.Errorf("before anything was shown: %+v", s)
	}
	for _, want := range []node.IngestStatus{node.IngestNew, node.IngestKnown} {
		in := must[node.Ingested](w)(other.Ingest(w.ctx, receipt))
		if in.Status != want || in.ID == "" || in.Session == "" || in.Kept != 1 || len(in.Checks) == 0 {
			t.Errorf("ingested %+v, want %s", in, want)
		}
	}
	equal := func(s node.Standing) bool {
		return s.Overall == own.Overall && s.Confidence == own.Confidence && s.Figures.Attestations == 1 && s.Context.Equal(own.Context)
	}
	if s := w.score(other, "seller"); !equal(s) {
		t.Errorf("at another: %+v, want %+v", s, own)
	}
	other.restart()
	seller.restart()
	for _, p := range []*party{other, seller} {
		if s := w.score(p, "seller"); !equal(s) {
			t.Errorf("after a restart: %+v, want %+v", s, own)
		}
	}
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, receipt)); in.Status != node.IngestKnown || in.Kept != 1 {
		t.Errorf("after a restart: %+v", in)
	}

	q := node.Question{Subject: agent("seller"), Category: "goods", Range: "500-1000_EUR", Role: attest.RoleInitiator}
	s := must[node.Standing](w)(other.Score(w.ctx, q))
	answer := must[wire.Value](w)(other.Answer(w.ctx, q))
	read, report := reputation.VerifyResponse(w.stranger(), answer, nil)
	if report.Err() != nil || read.Service != agent("other") || read.Overall != own.Overall {
		t.Errorf("the answer: %v, %+v", report.Err(), read)
	}
	if context, _ := answer.Get("context_specific"); !context.Equal(s.Context) || !has(context, "category_score") || !has(context, "role_score") {
		t.Errorf("context %s, want %s", context, s.Context)
	}
	if _, report := reputation.VerifyResponse(w.stranger(), set(answer, 0.9, "summary", "overall_score"), nil); report.Err() == nil {
		t.Error("an answer that was changed verifies")
	}
	for name, q := range map[string]node.Question{
		"no subject": {}, "no category": {Subject: agent("seller"), Category: "Goods!"}, "no range": {Subject: agent("seller"), Range: "cheap"},
	} {
		if _, err := other.Score(w.ctx, q); code(err) != node.CodeRule {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := other.Answer(w.ctx, q); code(err) != node.CodeRule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is not signed by all, was changed, or is revoked is no evidence.
func TestIngestRefuses(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", revokedBy("court"))
	_, receipt := w.sold(seller, buyer, wire.Value{})
	signatures, _ := receipt.Get("countersignatures")
	unknown := parsed(strings.ReplaceAll(receipt.Canonical(), string(agent("buyer")), "agent_nobody_knows"))
	ownWords := func() wire.Value { // all of it is the seller's
		v := attest.Countersigned(receipt)
		v = set(v, "rejected", "outcome", "status")
		v = must[wire.Value](w)(attest.Countersign(v, agent("seller"), key("seller")))
		return v
	}()
	fulfilled := must[wire.Value](w)(w.issuer("seller").Fulfillment(encoded(wire.M{
		"agreement_attestation_id": "att_1", "fulfillment": wire.M{"status": "fulfilled_clean"}, "meta": wire.M{"mediator_invoked": false},
	})))
	for _, test := range []struct {
		name   string
		v      wire.Value
		checks []string // that did not pass
	}{
		{"the outcome was changed", set(receipt, "rejected", "outcome", "status"), []string{"outcome-binding"}},
		{"the fulfillment is the own word", set(receipt, wire.M{"status": "fulfilled", "confirmed_by": agent("seller")}, "fulfillment"), nil},
		{"half signed", receipt.With("countersignatures", signatures.Without(string(agent("buyer")))), []string{"outcome-binding"}},
		{"own words only", ownWords, []string{"party-signatures", "outcome-binding"}},
		{"signed by nobody", attest.Countersigned(receipt), []string{"party-signatures", "outcome-binding"}},
		{"an unknown party", unknown, nil},
		{"a fulfillment that was changed", set(fulfilled, "failed", "fulfillment", "status"), []string{"signature"}},
		{"no shape", encoded(wire.M{"concordia_attestation": "0.5.0"}), nil},
	} {
		in := must[node.Ingested](w)(other.Ingest(w.ctx, test.v))
		if in.Status != node.IngestRefused || in.Kept != 0 {
			t.Errorf("%s: %+v", test.name, in)
		}
		for _, want := range test.checks {
			if !slices.ContainsFunc(in.Checks, func(c node.CheckView) bool { return c.Check == want && c.Outcome != "pass" }) {
				t.Errorf("%s: %+v, want %s not to pass", test.name, in.Checks, want)
			}
		}
	}
	for name, v := range map[string]wire.Value{
		"another kind": encoded(wire.M{"mandate_id": "m"}), "no object": encoded("x"), "a bundle": encoded(wire.M{"concordia_receipt_bundle": "0.1.0"}),
	} {
		if _, err := other.Ingest(w.ctx, v); code(err) != node.CodeBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := w.score(other, "seller"); s.Figures.Attestations != 0 {
		t.Errorf("what was refused counts: %+v", s)
	}
	w.must(other.Approve(w.ctx, w.revokes("court", receipt)))
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, receipt)); in.Status != node.IngestRefused || in.Kept != 0 {
		t.Errorf("revoked: %+v", in)
	}
}

func revokedBy(name string) func(*node.Options) {
	return func(o *node.Options) { o.Policy.Revokers = []wire.AgentID{agent(name)} }
}

// revokes has somebody revoke a receipt.
func (w *world) revokes(name string, receipt wire.Value) wire.Value {
	w.Helper()
	id, _ := receipt.Get("attestation_id")
	return must[wire.Value](w)(w.issuer(name).Revocation(encoded(wire.M{
		"revoked_artifact_id": attest.AttestationURN(id.Text()), "revoked_artifact_type": "attestation", "reason": "it was a mistake",
	})))
}

// Evidence follows what is heard later: of a revocation, of the fulfillment, and of whom
// the owner knows.
func TestEvidenceChanges(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", revokedBy("court"))
	_, first := w.sold(seller, buyer, wire.Value{})
	_, second := w.sold(seller, buyer, wire.Value{})
	for _, r := range []wire.Value{first, second} {
		must[node.Ingested](w)(other.Ingest(w.ctx, r))
	}
	before := w.score(other, "seller")
	id, _ := first.Get("attestation_id")
	said := must[wire.Value](w)(w.issuer("buyer").Fulfillment(encoded(wire.M{
		"agreement_attestation_id": attest.AttestationURN(id.Text()), "fulfillment": wire.M{"status": "fulfilled_clean"}, "meta": wire.M{"mediator_invoked": false},
	})))
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, said)); in.Status != node.IngestNew || in.Kept != 3 {
		t.Errorf("the fulfillment: %+v", in)
	}
	after := w.score(other, "seller")
	if after.Overall <= before.Overall || after.Figures.FulfillmentRate != 1 {
		t.Errorf("before the fulfillment %+v, after it %+v", before, after)
	}
	w.must(other.Approve(w.ctx, w.revokes("court", second)))
	revoked := w.score(other, "seller")
	if !slices.Contains(revoked.Flags, reputation.RevokedReceipts) || revoked.Figures.Negotiations != 1 {
		t.Errorf("revoked: %+v", revoked)
	}
	other.restart()
	if s := w.score(other, "seller"); s.Overall != revoked.Overall || !slices.Equal(s.Flags, revoked.Flags) {
		t.Errorf("after a restart %+v, want %+v", s, revoked)
	}
	// Neither a party alone nor a stranger revokes what all parties made.
	for _, by := range []string{"buyer", "stranger"} {
		w.must(other.Approve(w.ctx, w.revokes(by, first)))
		if s := w.score(other, "seller"); s.Overall != revoked.Overall || !slices.Equal(s.Flags, revoked.Flags) {
			t.Errorf("after a revocation by the %s: %+v", by, s)
		}
	}
}

// A word on the fulfillment that its signer takes back does not count, before a restart and
// after it.
func TestEvidenceIsTakenBack(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	_, receipt := w.sold(seller, buyer, wire.Value{})
	must[node.Ingested](w)(other.Ingest(w.ctx, receipt))
	before := w.score(other, "seller")
	said := must[wire.Value](w)(w.issuer("buyer").Fulfillment(encoded(wire.M{
		"agreement_attestation_id": attest.AttestationURN(idOf(receipt)), "fulfillment": wire.M{"status": "failed"}, "meta": wire.M{"mediator_invoked": false},
	})))
	must[node.Ingested](w)(other.Ingest(w.ctx, said))
	if s := w.score(other, "seller"); s.Overall >= before.Overall {
		t.Errorf("before the word %+v, after it %+v", before, s)
	}
	id, _ := said.Get("id")
	w.must(other.Approve(w.ctx, must[wire.Value](w)(w.issuer("buyer").Revocation(encoded(wire.M{
		"revoked_artifact_id": id.Text(), "revoked_artifact_type": "attestation", "reason": "it came after all",
	})))))
	for _, when := range []string{"taken back", "after a restart"} {
		if s := w.score(other, "seller"); s.Overall != before.Overall || s.Figures.FulfillmentRate != before.Figures.FulfillmentRate {
			t.Errorf("%s: %+v, want %+v", when, s, before)
		}
		other.restart()
	}
}

// Keys that count down when they are asked for one agent, and do something at zero.
type hookedKeys struct {
	wire.Keys
	of    wire.AgentID
	after *int
	do    *func()
}

func (k hookedKeys) Key(a wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if a == k.of && *k.do != nil {
		if *k.after--; *k.after == 0 {
			do := *k.do
			*k.do = nil
			do()
		}
	}
	return k.Keys.Key(a, at)
}

// All evidence is verified again when other keys count, and not when a contact gets another
// name.
func TestEvidenceIsReadForKeys(t *testing.T) {
	w := newWorld(t)
	asked, do := 0, func() {}
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	other := w.party("other", func(o *node.Options) { o.Keys = hookedKeys{wire.DIDKeys{}, agent("buyer"), &asked, &do} })
	_, receipt := w.sold(seller, buyer, wire.Value{})
	must[node.Ingested](w)(other.Ingest(w.ctx, receipt))
	asks := func(c node.Contact) int {
		w.must(other.SetContact(w.ctx, c))
		before := asked
		w.score(other, "seller")
		return before - asked
	}
	with := []node.ContactKey{{Key: key("dora").Public().String()}}
	for _, test := range []struct {
		name  string
		c     node.Contact
		reads bool
	}{
		{"no keys", node.Contact{Agent: "did:web:dora"}, false},
		{"another name", node.Contact{Agent: "did:web:dora", Name: "Dora"}, false},
		{"a key", node.Contact{Agent: "did:web:dora", Keys: with}, true},
		{"the same key", node.Contact{Agent: "did:web:dora", Name: "D", Keys: with}, false},
		{"none again", node.Contact{Agent: "did:web:dora"}, true},
	} {
		if n := asks(test.c); (n > 0) != test.reads {
			t.Errorf("%s: the key of a party is asked for %d times", test.name, n)
		}
	}
}

// What is revoked, or of somebody whom the owner forgets, just while it is verified does
// not count.
func TestEvidenceRaces(t *testing.T) {
	w := newWorld(t)
	keys := wire.KeyMap{"did:web:seller": key("seller").Public(), "did:web:buyer": key("buyer").Public()}
	as := func(id wire.AgentID) func(*node.Options) {
		return func(o *node.Options) { o.Agent, o.Keys = id, keys }
	}
	var do func()
	var after int
	seller, buyer := w.party("seller", as("did:web:seller")), w.party("buyer", as("did:web:buyer"))
	other := w.party("other", func(o *node.Options) {
		o.Policy.Revokers = []wire.AgentID{agent("court")}
		o.Keys = hookedKeys{wire.AnyKeys{wire.KeyMap{"did:web:buyer": key("buyer").Public()}, wire.DIDKeys{}}, "did:web:buyer", &after, &do}
	})
	ask := func() node.Standing {
		return must[node.Standing](w)(other.Score(w.ctx, node.Question{Subject: "did:web:buyer"}))
	}
	contact := node.Contact{Agent: "did:web:seller", Keys: []node.ContactKey{{Key: key("seller").Public().String()}}}
	for _, test := range []struct {
		name    string
		happens func(receipt wire.Value)
	}{
		{"revoked", func(r wire.Value) { w.must(other.Approve(w.ctx, w.revokes("court", r))) }},
		{"forgotten", func(wire.Value) { w.must(other.RemoveContact(w.ctx, "did:web:seller")) }},
	} {
		w.must(other.SetContact(w.ctx, contact))
		_, receipt := w.sold(seller, buyer, wire.Value{})
		asked, counted := 1<<30, func() {}
		f := attest.Verifier{Keys: hookedKeys{keys, "did:web:buyer", &asked, &counted}, Now: w.now()}
		if _, report := reputation.VerifyReceipt(f, receipt); report.Err() != nil {
			t.Fatal(report.Err())
		}
		before := ask()
		after, do = 1<<30-asked, func() { // the last time that it is asked in verifying it
			test.happens(receipt)
			ask()
		}
		must[node.Ingested](w)(other.Ingest(w.ctx, receipt))
		if do != nil {
			t.Fatal("it did not happen")
		}
		if s := ask(); s.Figures.Negotiations != before.Figures.Negotiations {
			t.Errorf("%s: %+v", test.name, s)
		}
	}
}

// There is no more evidence of others than a node keeps; own receipts come in beyond.
func TestEvidenceIsBounded(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	_, first := w.sold(seller, buyer, wire.Value{})
	_, second := w.sold(seller, buyer, wire.Value{})
	node.KeepEvidence(other.Node, 1)
	for _, want := range []node.IngestStatus{node.IngestNew, node.IngestKnown} {
		if in := must[node.Ingested](w)(other.Ingest(w.ctx, first)); in.Status != want {
			t.Errorf("the first: %+v, want %s", in, want)
		}
	}
	if _, err := other.Ingest(w.ctx, second); code(err) != node.CodeRefused {
		t.Errorf("one too many: %v", err)
	}
	w.sold(other, buyer, wire.Value{})
	if s := w.score(other, "other"); s.Figures.Agreements != 1 {
		t.Errorf("the own receipt: %+v", s)
	}
	if s := w.score(other, "seller"); s.Figures.Agreements != 1 {
		t.Errorf("what was refused counts: %+v", s)
	}
}

// What others hand in is bounded in bytes; a receipt of as many parties as there can be fits.
func TestEvidenceSize(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	_, receipt := w.sold(seller, buyer, wire.Value{})
	sign := func(v wire.Value, names ...string) wire.Value {
		for _, name := range names {
			v = must[wire.Value](w)(attest.Countersign(v, agent(name), key(name)))
		}
		return v
	}
	parties, _ := receipt.Get("parties")
	witness, _ := parties.At("1")
	names := []string{"seller", "buyer"}
	var list []wire.Value
	for _, p := range parties.Elems() {
		list = append(list, p)
	}
	for i := len(names); i < attest.MaxParties; i++ {
		names = append(names, fmt.Sprint("w", i))
		list = append(list, witness.With("agent_id", wire.Text(string(agent(names[i])))).With("role", wire.Text("witness")))
	}
	crowd := sign(attest.Countersigned(receipt.With("parties", encoded(list))), names...)
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, crowd)); in.Status != node.IngestNew {
		t.Errorf("of %d parties, %d bytes: %+v", len(names), len(crowd.Canonical()), in)
	}
	var references []wire.M
	for i := range 30 {
		references = append(references, wire.M{"type": "receipt", "id": fmt.Sprintf("%d_%s", i, strings.Repeat("x", 200)), "relationship": "references", "extensions": wire.M{"x": strings.Repeat("y", 3000)}})
	}
	large := sign(attest.Countersigned(receipt.With("references", encoded(references))), "seller", "buyer")
	if _, err := other.Ingest(w.ctx, large); code(err) != node.CodeRefused {
		t.Errorf("of %d bytes: %v", len(large.Canonical()), err)
	}
}

// Receipts of agents whose keys are those of contacts count as long as they are.
func TestEvidenceOfContacts(t *testing.T) {
	w := newWorld(t)
	named := func(p *party, names ...string) {
		for _, name := range names {
			w.must(p.SetContact(w.ctx, node.Contact{Agent: wire.AgentID("did:web:" + name), Keys: []node.ContactKey{{Key: key(name).Public().String()}}}))
		}
	}
	as := func(id wire.AgentID) func(*node.Options) {
		return func(o *node.Options) {
			o.Agent, o.Keys = id, wire.KeyMap{"did:web:seller": key("seller").Public(), "did:web:buyer": key("buyer").Public()}
		}
	}
	seller, buyer, other := w.party("seller", as("did:web:seller")), w.party("buyer", as("did:web:buyer")), w.party("other", nil)
	_, receipt := w.sold(seller, buyer, wire.Value{})
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, receipt)); in.Status != node.IngestRefused {
		t.Errorf("of agents that are not known: %+v", in)
	}
	named(other, "seller", "buyer")
	if in := must[node.Ingested](w)(other.Ingest(w.ctx, receipt)); in.Status != node.IngestNew {
		t.Errorf("of contacts: %+v", in)
	}
	ask := func() node.Standing {
		return must[node.Standing](w)(other.Score(w.ctx, node.Question{Subject: "did:web:seller"}))
	}
	if s := ask(); s.Figures.Agreements != 1 {
		t.Errorf("of contacts: %+v", s)
	}
	w.must(other.RemoveContact(w.ctx, "did:web:buyer"))
	if s := ask(); s.Figures.Agreements != 0 {
		t.Errorf("without one of them: %+v", s)
	}
	named(other, "buyer")
	if s := ask(); s.Figures.Agreements != 1 {
		t.Errorf("with it again: %+v", s)
	}
	// An envelope of an agent that is no key names its key as its owner does.
	id, _ := receipt.Get("session_id")
	of := wire.SessionID(id.Text())
	made := must[node.Issued](w)(seller.Envelope(w.ctx, node.Enveloping{Session: of, KeyID: "#key-7"}))
	f := attest.Verifier{Keys: wire.KeyMap{"did:web:seller#key-7": key("seller").Public()}, Now: w.now()}
	if e, report := f.VerifyEnvelope(made.Artifact); report.Err() != nil || e.Provider != "did:web:seller" {
		t.Errorf("envelope: %v", report.Err())
	}
	for _, kid := range []string{"did:web:buyer#key-1", "a b"} {
		if _, err := seller.Envelope(w.ctx, node.Enveloping{Session: of, KeyID: kid}); code(err) != node.CodeBadRequest {
			t.Errorf("key %q: %v", kid, err)
		}
	}
}

// A node that is asked while it reads its evidence knows in the end what came meanwhile.
func TestEvidenceComesWhileRead(t *testing.T) {
	w := newWorld(t)
	seller, buyer, other := w.party("seller", nil), w.party("buyer", nil), w.party("other", nil)
	var receipts []wire.Value
	for range 4 {
		_, r := w.sold(seller, buyer, wire.Value{})
		receipts = append(receipts, r)
	}
	done := make(chan error)
	for _, r := range receipts {
		go func() {
			_, err := other.Score(w.ctx, node.Question{Subject: agent("seller")})
			done <- err
		}()
		go func() {
			_, err := other.Ingest(w.ctx, r)
			done <- err
		}()
		go func() { done <- other.SetContact(w.ctx, node.Contact{Agent: agent("seller"), Name: "Lena"}) }()
	}
	for range 3 * len(receipts) {
		w.must(<-done)
	}
	if s := w.score(other, "seller"); s.Figures.Agreements != len(receipts) {
		t.Errorf("%+v", s)
	}
	gone, cancel := context.WithCancel(w.ctx)
	cancel()
	other.restart()
	if _, err := other.Score(gone, node.Question{Subject: agent("seller")}); err == nil {
		// It may have been read by then.
		t.Log("the evidence was read at once")
	}
}
