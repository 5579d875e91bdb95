package node_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// issuer signs artifacts of an agent that is no node: a person with a key.
func (w *world) issuer(name string) attest.Issuer {
	return attest.Issuer{Agent: agent(name), Key: key(name), Now: w.now().UTC().Truncate(time.Second), Random: rand.Reader, Keys: wire.DIDKeys{}}
}

func bossThreshold(needs node.Requirement) func(*node.Options) {
	return func(o *node.Options) {
		o.Policy.Thresholds = []node.Threshold{{
			Name: "large", Category: "goods", Term: "price", Amount: 1000, Currency: "EUR", Needs: needs, By: []wire.AgentID{agent("boss")},
		}}
	}
}

// An accept beyond the threshold needs an approval receipt of one of those named, for
// exactly this offer.
func TestApproval(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedApproval))
	id := w.begin(node.Opening{}, seller, buyer)
	seller.move(id, wire.TypeOffer, price(1500))
	buyer.has(id, 3)
	accept := node.Move{Session: id, Type: wire.TypeAccept}
	needed := func(want string) node.Need {
		t.Helper()
		_, err := buyer.Move(w.ctx, accept)
		e, ok := errors.AsType[*node.Error](err)
		if !ok || e.Code != node.CodeNeeds || len(e.Needs) != 1 || !strings.Contains(e.Needs[0].Why, want) {
			t.Fatalf("accept: %v, %+v; want a need because %s", err, e, want)
		}
		return e.Needs[0]
	}
	need := needed("nobody has approved")
	if need.Threshold != "large" || need.Amount != "1500 EUR" || need.OfferHash != need.Offer.Hash() {
		t.Errorf("need %+v", need)
	}
	if list := must[[]node.Need](w)(buyer.Needs(w.ctx, accept)); len(list) != 1 {
		t.Errorf("needs %v", list)
	}
	// Of somebody else, and for another offer.
	stranger := must[wire.Value](w)(w.issuer("stranger").Approval(need.Draft))
	w.must(buyer.Approve(w.ctx, stranger))
	needed("nobody has approved")
	scope, _ := need.Draft.Get("scope")
	other := must[wire.Value](w)(w.issuer("boss").Approval(need.Draft.With("scope", scope.With("offer_hash", wire.Text(wire.HashOf("x").String())))))
	w.must(buyer.Approve(w.ctx, other))
	needed("nobody has approved")
	// Somebody changed it.
	good := must[wire.Value](w)(w.issuer("boss").Approval(need.Draft))
	if err := buyer.Approve(w.ctx, good.With("id", wire.Text("urn:concordia:approval_receipt:x"))); code(err) != node.CodeRule {
		t.Errorf("an altered approval: %v", err)
	}
	needed("nobody has approved")
	w.must(buyer.Approve(w.ctx, good))
	// It does not stand for ever, nor when it was revoked.
	w.forward(25 * time.Hour)
	_, err := buyer.Move(w.ctx, accept)
	if code(err) != node.CodeRule && code(err) != node.CodeNeeds {
		t.Errorf("long after: %v", err)
	}
	w.forward(-25 * time.Hour)
	buyer.restart()
	if v := must[node.View](w)(buyer.Move(w.ctx, accept)); v.State != session.Agreed {
		t.Errorf("state %s", v.State)
	}
}

// A denial counts whatever others say, and so does a revocation.
func TestApprovalTakenBack(t *testing.T) {
	for _, how := range []string{"denied", "revoked"} {
		w := newWorld(t)
		seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedApproval))
		id := w.begin(node.Opening{}, seller, buyer)
		seller.move(id, wire.TypeOffer, price(1500))
		buyer.has(id, 3)
		accept := node.Move{Session: id, Type: wire.TypeAccept}
		need := must[[]node.Need](w)(buyer.Needs(w.ctx, accept))[0]
		good := must[wire.Value](w)(w.issuer("boss").Approval(need.Draft))
		w.must(buyer.Approve(w.ctx, good))
		if list := must[[]node.Need](w)(buyer.Needs(w.ctx, accept)); len(list) != 0 {
			t.Fatalf("needs %v", list)
		}
		if how == "denied" {
			scope, _ := need.Draft.Get("scope")
			w.must(buyer.Approve(w.ctx, must[wire.Value](w)(w.issuer("boss").Approval(need.Draft.With("scope", scope.With("decision", wire.Text("deny")))))))
		} else {
			name, _ := good.Get("id")
			w.must(buyer.Approve(w.ctx, must[wire.Value](w)(w.issuer("boss").Revocation(encoded(wire.M{
				"revoked_artifact_id": name.Text(), "revoked_artifact_type": "approval_receipt", "reason": "explicit_revocation",
			})))))
		}
		if _, err := buyer.Move(w.ctx, accept); code(err) != node.CodeNeeds {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// Where an offer leaves the accept a choice, an approval is for the amount that it names.
func TestApprovalOfOneBranch(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedApproval))
	open := camera(wire.M{"terms": wire.M{"price": wire.M{"type": "numeric", "currency": "EUR", "min": 1, "max": 100_000}, "lens": wire.M{}}})
	for _, test := range []struct{ name, offer, cheap, dear string }{
		{
			"bundles", `{"bundles":[{"bundle_id":"a","terms":{"price":{"value":1500,"currency":"EUR"},"lens":{"value":"50mm"}}},{"bundle_id":"b","terms":{"price":{"value":90000,"currency":"EUR"},"lens":{"value":"85mm"}}}]}`,
			`{"bundle_id":"a"}`, `{"bundle_id":"b"}`,
		},
		{
			"a partial offer", `{"terms":{"lens":{"value":"50mm"}},"open_terms":["price"]}`,
			`{"accepted_terms":{"price":{"value":1500,"currency":"EUR"}}}`, `{"accepted_terms":{"price":{"value":90000,"currency":"EUR"}}}`,
		},
	} {
		id := w.begin(node.Opening{Body: open}, seller, buyer)
		seller.move(id, wire.TypeOffer, parsed(test.offer))
		buyer.has(id, 3)
		cheap, dear := node.Move{Session: id, Type: wire.TypeAccept, Body: parsed(test.cheap)}, node.Move{Session: id, Type: wire.TypeAccept, Body: parsed(test.dear)}
		need := must[[]node.Need](w)(buyer.Needs(w.ctx, cheap))
		if len(need) != 1 || need[0].Amount != "1500 EUR" {
			t.Fatalf("%s: needs %+v", test.name, need)
		}
		w.must(buyer.Approve(w.ctx, must[wire.Value](w)(w.issuer("boss").Approval(need[0].Draft))))
		if _, err := buyer.Move(w.ctx, dear); code(err) != node.CodeNeeds {
			t.Errorf("%s: the approval of the cheap one lets through the dear one: %v", test.name, err)
		}
		if v, err := buyer.Move(w.ctx, cheap); err != nil || v.State != session.Agreed {
			t.Errorf("%s: %s, %v", test.name, v.State, err)
		}
	}
}

// What crosses a threshold, by the offers that this node would accept or make.
func TestThresholds(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedApproval))
	body := camera(wire.M{"terms": wire.M{"price": wire.M{"type": "numeric"}, "lens": wire.M{}}})
	goods := w.begin(node.Opening{Body: body}, seller, buyer)
	services := w.begin(node.Opening{Body: body.With("category", wire.Text("goodsandmore"))}, seller, buyer)
	unsaid := w.begin(node.Opening{Body: body.Without("category")}, seller, buyer)
	for _, test := range []struct {
		name    string
		id      wire.SessionID
		terms   string
		crosses bool
	}{
		{"below", goods, `{"price":{"value":999.99,"currency":"EUR"},"lens":{"value":"50mm"}}`, false},
		{"at it", goods, `{"price":{"value":1000,"currency":"EUR"},"lens":{"value":"50mm"}}`, true},
		{"another currency", goods, `{"price":{"value":1,"currency":"USD"},"lens":{"value":"50mm"}}`, true},
		{"no currency", goods, `{"price":{"value":1},"lens":{"value":"50mm"}}`, true},
		{"no price yet", goods, `{"lens":{"value":"50mm"}}`, true},
		{"below zero", goods, `{"price":{"value":-5000,"currency":"EUR"},"lens":{"value":"50mm"}}`, true},
		{"the currency in small letters", goods, `{"price":{"value":1,"currency":"eur"},"lens":{"value":"50mm"}}`, true},
		{"an exponent", goods, `{"price":{"value":1e3,"currency":"EUR"},"lens":{"value":"50mm"}}`, true},
		{"a category that nobody names", unsaid, `{"price":{"value":1000,"currency":"EUR"},"lens":{"value":"50mm"}}`, true},
		{"another category", services, `{"price":{"value":1000,"currency":"EUR"},"lens":{"value":"50mm"}}`, false},
	} {
		offer := node.Move{Session: test.id, Type: wire.TypeOffer, Body: encoded(wire.M{"terms": parsed(test.terms)})}
		if needs := must[[]node.Need](w)(buyer.Needs(w.ctx, offer)); len(needs) > 0 != test.crosses {
			t.Errorf("%s: needs %v", test.name, needs)
		}
		if _, err := buyer.Move(w.ctx, offer); (code(err) == node.CodeNeeds) != test.crosses {
			t.Errorf("%s: the offer itself: %v", test.name, err)
		}
	}
}

func (w *world) mandate(of, for_ string, most int) wire.Value {
	w.Helper()
	return must[wire.Value](w)(w.issuer(of).Mandate(encoded(wire.M{
		"subject":     agent(for_),
		"validity":    wire.M{"mode": "windowed", "not_before": wire.FormatTime(w.now().Add(-time.Hour)), "not_after": wire.FormatTime(w.now().Add(48 * time.Hour))},
		"constraints": wire.M{"type": "object", "properties": wire.M{"max_spend": wire.M{"maximum": most}}, "required": []string{"max_spend"}},
	})))
}

// An accept beyond the threshold needs a mandate that allows it.
func TestMandateNeeded(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedMandate))
	id := w.begin(node.Opening{}, seller, buyer)
	seller.move(id, wire.TypeOffer, price(1500))
	buyer.has(id, 3)
	accept := node.Move{Session: id, Type: wire.TypeAccept}
	for _, m := range []wire.Value{w.mandate("boss", "buyer", 1499), w.mandate("boss", "seller", 2000), w.mandate("stranger", "buyer", 2000)} {
		w.must(buyer.Approve(w.ctx, m))
		if _, err := buyer.Move(w.ctx, accept); code(err) != node.CodeNeeds {
			t.Errorf("accept: %v", err)
		}
	}
	w.must(buyer.Approve(w.ctx, w.mandate("boss", "buyer", 1500)))
	buyer.move(id, wire.TypeAccept, wire.Value{})
}

// A mandate that may be used once lets one deal through, whoever shows it around; a session
// without an agreement gives it back.
func TestMandateUses(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", bossThreshold(node.NeedMandate))
	once := must[wire.Value](w)(w.issuer("boss").Mandate(encoded(wire.M{
		"mandate_id": "urn:concordia:mandate:00000000-0000-4000-8000-000000000001", "subject": agent("buyer"),
		"validity":    wire.M{"mode": "windowed", "not_before": wire.FormatTime(w.now().Add(-time.Hour)), "not_after": wire.FormatTime(w.now().Add(48 * time.Hour)), "max_uses": 1},
		"constraints": wire.M{"type": "object"},
	})))
	w.must(buyer.Approve(w.ctx, once))
	offered := func(o node.Opening) wire.SessionID {
		t.Helper()
		id := w.begin(o, seller, buyer)
		at := seller.move(id, wire.TypeOffer, price(1500))
		buyer.has(id, at.Len)
		return id
	}
	// The seller has one of the same id for itself, and shows the buyer's.
	forged := must[wire.Value](w)(w.issuer("seller").Mandate(encoded(wire.M{
		"mandate_id": "urn:concordia:mandate:00000000-0000-4000-8000-000000000001", "subject": agent("seller"), "constraints": wire.M{"type": "object"},
		"validity": wire.M{"mode": "windowed", "not_before": wire.FormatTime(w.now().Add(-time.Hour)), "not_after": wire.FormatTime(w.now().Add(48 * time.Hour))},
	})))
	burnt := w.begin(node.Opening{Mandate: forged}, seller, buyer)
	at := seller.move(burnt, wire.TypeOffer, price(5))
	buyer.has(burnt, at.Len)
	if v := buyer.move(burnt, wire.TypeAccept, wire.Value{}); v.State != session.Agreed || len(v.Mandates) != 1 {
		t.Fatalf("%+v", v)
	}
	left := offered(node.Opening{})
	buyer.move(left, wire.TypeCounter, price(1400))
	first, second := offered(node.Opening{}), offered(node.Opening{})
	if _, err := buyer.Move(w.ctx, node.Move{Session: first, Type: wire.TypeAccept}); code(err) != node.CodeNeeds {
		t.Errorf("while another session relies on it: %v", err)
	}
	buyer.move(left, wire.TypeWithdraw, wire.Value{})
	buyer.in(left, session.Rejected)
	buyer.move(first, wire.TypeAccept, wire.Value{})
	for range 2 {
		if _, err := buyer.Move(w.ctx, node.Move{Session: second, Type: wire.TypeAccept}); code(err) != node.CodeNeeds {
			t.Errorf("a second use: %v", err)
		}
		buyer.restart()
	}
}

// A mandate that is presented is held against what its subject does.
func TestMandatePresented(t *testing.T) {
	for _, test := range []struct {
		name     string
		reaction node.Reaction
		blocked  bool
	}{{"block", "", true}, {"tell", node.Tell, false}} {
		w := newWorld(t)
		seller := w.party("seller", nil)
		buyer := w.party("buyer", func(o *node.Options) { o.Policy.BrokenMandate = test.reaction })
		id := w.begin(node.Opening{Mandate: w.mandate("boss", "seller", 1000)}, seller, buyer)
		seller.move(id, wire.TypeOffer, price(1000))
		v := buyer.has(id, 3)
		if len(v.Mandates) != 1 || v.Mandates[0].Issuer != agent("boss") || v.Mandates[0].Broken != "" {
			t.Fatalf("mandates %+v", v.Mandates)
		}
		seller.move(id, wire.TypeOffer, price(1001))
		if v = buyer.has(id, 4); v.Mandates[0].Broken != "action" || v.Mandates[0].Message != 4 {
			t.Errorf("mandates %+v", v.Mandates)
		}
		if n := buyer.sees(node.MandateBroken); n.Agent != agent("seller") || n.Session != id {
			t.Errorf("notice %+v", n)
		}
		buyer.restart()
		if _, err := buyer.Move(w.ctx, node.Move{Session: id, Type: wire.TypeAccept}); (code(err) == node.CodePolicy) != test.blocked {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A mandate that is presented is held against the offer that stands already.
func TestMandatePresentedLate(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	seller.move(id, wire.TypeOffer, price(1001))
	w.must(seller.Present(w.ctx, id, w.mandate("boss", "seller", 1000)))
	v := buyer.reach(id, "the mandate", func(v node.View) bool { return len(v.Mandates) == 1 })
	if v.Mandates[0].Broken != "action" || v.Mandates[0].Message != 3 {
		t.Errorf("mandates %+v", v.Mandates)
	}
	if _, err := buyer.Move(w.ctx, node.Move{Session: id, Type: wire.TypeAccept}); code(err) != node.CodePolicy {
		t.Errorf("accept: %v", err)
	}
}

// Strangers wait, are joined, or are refused, and who is denied does not learn it.
func TestUnknownCallers(t *testing.T) {
	w := newWorld(t)
	seller := w.party("seller", nil)
	open := func(to string) wire.SessionID {
		t.Helper()
		return must[node.View](w)(seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent(to)}, Body: camera(nil)})).Session
	}
	ask := w.party("ask", nil)
	if i := ask.invitation(open("ask")); i.Known {
		t.Error("a stranger is known")
	}
	w.must(ask.SetContact(w.ctx, node.Contact{Agent: agent("seller"), Name: "Seller"}))
	if i := ask.invitation(open("ask")); !i.Known {
		t.Error("a contact is not known")
	}
	w.must(ask.SetContact(w.ctx, node.Contact{Agent: agent("seller"), Consent: node.Denied}))
	open("ask")
	accept := w.party("accept", func(o *node.Options) { o.Policy.Unknown = node.Accept })
	accept.has2(open("accept"))
	refuse := w.party("refuse", func(o *node.Options) { o.Policy.Unknown = node.Refuse })
	open("refuse")
	seller.sees(node.Declined)
	for _, p := range []*party{ask, refuse} {
		want := map[*party]int{ask: 2, refuse: 0}[p]
		if n := p.count(node.InvitationCame); n != want {
			t.Errorf("%d invitations, want %d", n, want)
		}
	}
}

// has2 waits until a session that the node joins by itself is here.
func (p *party) has2(id wire.SessionID) {
	p.w.Helper()
	for p.sees(node.MessageCame).Session != id {
		p.w.Fatal("the message is of another session")
	}
	p.has(id, 1)
}

// Who opens sessions, takes offers and leaves again and again is flagged.
func TestFlagging(t *testing.T) {
	w := newWorld(t)
	prober, seller := w.party("prober", nil), w.party("seller", func(o *node.Options) { o.Policy.FlagAfter = 2 })
	for i := range 3 {
		v := must[node.View](w)(prober.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("seller")}, Body: camera(nil)}))
		id := v.Session
		if flags := seller.invitation(id).Flags; len(flags) > 0 != (i == 2) {
			t.Errorf("invitation %d has flags %q", i, flags)
		}
		must[node.View](w)(seller.Join(w.ctx, id))
		seller.move(id, wire.TypeAcceptSession, wire.Value{})
		seller.move(id, wire.TypeOffer, price(100))
		prober.has(id, 3)
		prober.move(id, wire.TypeWithdraw, wire.Value{})
		seller.in(id, session.Rejected)
	}
	if n := seller.count(node.Flagged); n != 1 {
		t.Errorf("%d notices", n)
	}
	if n := prober.count(node.Flagged); n != 0 {
		t.Errorf("the other side has %d", n)
	}
}

func TestPolicyRefuses(t *testing.T) {
	w := newWorld(t)
	for _, p := range []node.Policy{
		{Unknown: "perhaps"}, {BrokenMandate: "cry"},
		{Thresholds: []node.Threshold{{Needs: "luck", By: []wire.AgentID{"x"}}}},
		{Thresholds: []node.Threshold{{Needs: node.NeedApproval}}},
		{Thresholds: []node.Threshold{{Needs: node.NeedApproval, By: []wire.AgentID{"x"}, Amount: 5}}},
	} {
		if n, err := node.New(node.Options{Dir: t.TempDir(), Key: key("x"), Policy: p}); err == nil {
			t.Errorf("%+v is taken", p)
			w.must(n.Close())
		}
	}
}
