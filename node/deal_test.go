package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// The camera deal, by relay and direct, with both sides as they are and stopped and started
// again before every step: one transcript, and the same receipt on both sides.
func TestDeal(t *testing.T) {
	for _, test := range []struct {
		name     string
		direct   bool
		restarts bool
	}{
		{"by relay", false, false}, {"direct", true, false}, {"by relay, with restarts", false, true}, {"direct, with restarts", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			var seller, buyer *party
			if test.direct {
				seller, buyer = w.public("seller", nil), w.public("buyer", nil)
				w.must(seller.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), URL: buyer.opts.Public}))
			} else {
				seller, buyer = w.party("seller", nil), w.party("buyer", nil)
			}
			again := func() {
				if test.restarts {
					seller.restart()
					buyer.restart()
				}
			}
			v := must[node.View](w)(seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(nil)}))
			id := v.Session
			again()
			i := buyer.invitation(id)
			if i.From != agent("seller") || i.Signed != test.direct || i.Category != "goods.cameras" {
				t.Errorf("invitation %+v", i)
			}
			again()
			must[node.View](w)(buyer.Join(w.ctx, id))
			again()
			buyer.move(id, wire.TypeAcceptSession, wire.Value{})
			again()
			seller.in(id, session.Active)
			seller.move(id, wire.TypeOffer, price(900))
			again()
			buyer.has(id, 3)
			buyer.move(id, wire.TypeCounter, price(800))
			again()
			if v := seller.has(id, 4); v.Offer == nil || v.Offer.From != agent("buyer") || v.Offer.Own || !v.Offer.Complete || !slices.Contains(v.Moves, wire.TypeAccept) {
				t.Errorf("the seller sees %+v", v)
			}
			v = seller.move(id, "accept", wire.Value{})
			if v.State != session.Agreed {
				t.Fatalf("state %s", v.State)
			}
			again()
			one, other := seller.settled(id), buyer.settled(id)
			again()
			if one.Hash != other.Hash || one.Hash == (wire.Hash{}) || !one.Deal.Equal(other.Deal) {
				t.Errorf("two agreements: %s and %s", one.Hash, other.Hash)
			}
			w.same(id, seller, buyer)
			for _, p := range []*party{seller, buyer} {
				if receipts := must[[]wire.Value](w)(p.Receipts(w.ctx, id)); len(receipts) != 1 {
					t.Errorf("%d receipts", len(receipts))
				}
				if n := p.count(node.ReceiptCompleted); n != 1 {
					t.Errorf("%d notices of the receipt", n)
				}
				if n := p.count(node.Concluded); n != 1 {
					t.Errorf("%d notices of the end", n)
				}
				must[wire.Value](w)(p.Export(w.ctx, id, session.FormatJSON))
			}
		})
	}
}

// count returns how many notices of a kind there are.
func (p *party) count(kind node.Kind) (count int) {
	p.w.Helper()
	for _, n := range p.all() {
		if n.Kind == kind {
			count++
		}
	}
	return count
}

// all returns all notices.
func (p *party) all() (list []node.Notice) {
	p.w.Helper()
	ctx, cancel := context.WithCancel(p.w.ctx)
	cancel()
	for after := uint64(0); ; after = list[len(list)-1].Number {
		some, err := p.Notices(ctx, after, 0)
		p.w.must(err)
		if len(some) == 0 {
			return list
		}
		list = append(list, some...)
	}
}

func TestThreeParties(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.party("a", nil), w.party("b", nil), w.party("c", nil)
	id := w.begin(node.Opening{}, a, b, c)
	a.move(id, wire.TypeOffer, price(10))
	b.has(id, 4)
	b.move(id, wire.TypeAccept, wire.Value{})
	if v := c.has(id, 5); v.State != session.Active {
		t.Errorf("agreed without the third: %s", v.State)
	}
	c.move(id, wire.TypeAccept, wire.Value{})
	for _, p := range []*party{a, b, c} {
		p.settled(id)
	}
	w.same(id, a, b, c)
}

// Both sides move at the same instant, again and again: there is one chain, and whoever
// came second was told what it missed and said nothing.
func TestSimultaneousMoves(t *testing.T) {
	for _, direct := range []bool{false, true} {
		t.Run(map[bool]string{false: "by relay", true: "direct"}[direct], func(t *testing.T) {
			w := newWorld(t)
			var seller, buyer *party
			if direct {
				seller, buyer = w.public("seller", nil), w.public("buyer", nil)
				w.must(seller.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), URL: buyer.opts.Public}))
			} else {
				seller, buyer = w.party("seller", nil), w.party("buyer", nil)
			}
			id := w.begin(node.Opening{}, seller, buyer)
			said, conflicts := 2, 0
			for range simultaneous {
				var errs [2]error
				var both sync.WaitGroup
				start := make(chan struct{})
				for i, p := range []*party{seller, buyer} {
					both.Go(func() {
						<-start
						_, errs[i] = p.Move(w.ctx, node.Move{Session: id, Type: wire.TypeInquire, Body: parsed(`{"term_ids":["price"]}`)})
					})
				}
				close(start)
				both.Wait()
				for _, err := range errs {
					e, ok := errors.AsType[*node.Error](err)
					switch {
					case err == nil:
						said++
					case !ok || e.Code != node.CodeConflict || len(e.Missed) == 0:
						t.Fatalf("a move that came second: %v", err)
					default:
						conflicts++
					}
				}
			}
			if seller.has(id, said).Len != said || buyer.has(id, said).Len != said {
				t.Errorf("%d messages were said, and the seller has %d, the buyer %d", said, seller.has(id, 0).Len, buyer.has(id, 0).Len)
			}
			if conflicts == 0 {
				t.Error("nobody ever came second")
			}
			t.Logf("%d messages, %d conflicts", said, conflicts)
			w.same(id, seller, buyer)
		})
	}
}

// A move that is refused reaches nobody.
func TestRefusedMoves(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	buyer.move(id, wire.TypeOffer, price(3))
	seller.has(id, 3)
	for _, test := range []struct {
		name string
		move node.Move
		code node.Code
		rule string
	}{
		{"own offer", node.Move{Type: wire.TypeAccept}, node.CodeRule, "own-offer"},
		{"a body that is none", node.Move{Type: wire.TypeOffer, Body: parsed(`{"terms":{"price":{"value":"many"}}}`)}, node.CodeRule, "term-type"},
		{"open again", node.Move{Type: wire.TypeOpen, Body: camera(nil)}, node.CodeBadRequest, ""},
		{"another session", node.Move{Session: "ses_other", Type: wire.TypeReject}, node.CodeNotFound, ""},
		{"no such type", node.Move{Type: "negotiate.sing"}, node.CodeRule, "message-type"},
		{"an old tip", node.Move{Type: wire.TypeWithdraw, Tip: wire.HashOf("x")}, node.CodeConflict, ""},
	} {
		m := test.move
		if m.Session == "" {
			m.Session = id
		}
		_, err := buyer.Move(w.ctx, m)
		e, ok := errors.AsType[*node.Error](err)
		if !ok || e.Code != test.code || test.rule != "" && (e.Rule == nil || e.Rule.Name != test.rule) {
			t.Errorf("%s: %v, %+v", test.name, err, e)
		}
	}
	w.same(id, seller, buyer)
	if v := must[node.View](w)(seller.Session(w.ctx, id)); v.Len != 3 {
		t.Errorf("%d messages", v.Len)
	}
}

// The same move under the same id is made once, also across a restart.
func TestMoveOnce(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	m := node.Move{Session: id, Type: wire.TypeOffer, Body: price(5), ID: "msg_once"}
	must[node.View](w)(buyer.Move(w.ctx, m))
	buyer.restart()
	if v := must[node.View](w)(buyer.Move(w.ctx, m)); v.Len != 3 {
		t.Errorf("%d messages", v.Len)
	}
	m.Tip = wire.HashOf("what the caller knew when it made the move")
	if v := must[node.View](w)(buyer.Move(w.ctx, m)); v.Len != 3 {
		t.Errorf("%d messages", v.Len)
	}
	m.Tip = wire.Hash{}
	for _, other := range []node.Move{
		{Session: id, Type: m.Type, ID: m.ID, Body: price(6)}, {Session: id, Type: m.Type, ID: m.ID, Body: m.Body, Reasoning: "so"},
	} {
		if _, err := buyer.Move(w.ctx, other); code(err) != node.CodeRule {
			t.Errorf("another body under the id: %v", err)
		}
	}
	m.Type = wire.TypeCounter
	if _, err := buyer.Move(w.ctx, m); code(err) != node.CodeRule {
		t.Errorf("another move under the id: %v", err)
	}
}

// What a node has signed and not sent when it is stopped it sends when it starts again.
func TestPendingMove(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	node.BeforeSending(buyer.Node, func() { buyer.StopNow() })
	if _, err := buyer.Move(w.ctx, node.Move{Session: id, Type: wire.TypeOffer, Body: price(7)}); code(err) != node.CodeClosed {
		t.Fatalf("a move of a node that stops: %v", err)
	}
	if v := must[node.View](w)(seller.Session(w.ctx, id)); v.Len != 2 {
		t.Fatalf("%d messages", v.Len)
	}
	buyer.restart()
	seller.has(id, 3)
	buyer.has(id, 3)
	w.same(id, seller, buyer)
}

// A session expires when its deadline and the clock skew have passed, also if the node
// did not run then; and the receipt says so.
func TestDeadline(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld(t)
		seller, buyer := w.party("seller", nil), w.party("buyer", nil)
		id := w.begin(node.Opening{Body: camera(wire.M{"timing": wire.M{"session_ttl": 3600}})}, seller, buyer)
		w.forward(time.Hour + wire.DefaultSkew - time.Minute)
		if v := must[node.View](w)(buyer.Session(w.ctx, id)); v.State != session.Active {
			t.Errorf("before the clock skew has passed it is %s", v.State)
		}
		if _, err := buyer.Move(w.ctx, node.Move{Session: id, Type: wire.TypeOffer, Body: price(5)}); code(err) != node.CodeRule {
			t.Errorf("a move after the deadline: %v", err)
		}
		w.forward(2 * time.Minute)
		for _, p := range []*party{seller, buyer} {
			if restart {
				p.restart()
			} else {
				node.ClockMoved(p.Node)
			}
		}
		for _, p := range []*party{seller, buyer} {
			p.in(id, session.Expired)
			p.settled(id)
			if n := p.count(node.SessionExpired); n != 1 {
				t.Errorf("%d notices", n)
			}
		}
		w.same(id, seller, buyer)
	}
}

// A dormant session comes back with an offer, and its second receipt supersedes the first.
func TestDormant(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	id := w.begin(node.Opening{}, seller, buyer)
	buyer.move(id, wire.TypeWithdraw, parsed(`{"reactivatable":true}`))
	seller.in(id, session.Dormant)
	seller.settled(id)
	buyer.settled(id)
	seller.move(id, wire.TypeOffer, price(4))
	buyer.in(id, session.Active)
	if n := buyer.count(node.CameBack); n != 1 {
		t.Errorf("%d notices that the session came back", n)
	}
	buyer.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	buyer.settled(id)
	receipts := must[[]wire.Value](w)(buyer.Receipts(w.ctx, id))
	if len(receipts) != 2 {
		t.Fatalf("%d receipts", len(receipts))
	}
	first, _ := receipts[0].Get("attestation_id")
	if superseded, _ := receipts[1].Get("references"); !contains(superseded, first.Text()) {
		t.Errorf("the second receipt does not supersede the first: %v", superseded)
	}
	w.same(id, seller, buyer)
}

func contains(list wire.Value, id string) bool {
	for _, v := range list.Elems() {
		if got, _ := v.Get("id"); got.Text() == id {
			return true
		}
	}
	return false
}

func TestDecline(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.party("seller", nil), w.party("buyer", nil)
	v := must[node.View](w)(seller.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Body: camera(nil)}))
	if diff := cmp.Diff([]wire.AgentID{agent("buyer")}, v.Coming); v.State != session.Start || diff != "" {
		t.Errorf("state %s, coming %v", v.State, v.Coming)
	}
	buyer.invitation(v.Session)
	w.must(buyer.Decline(w.ctx, v.Session))
	seller.sees(node.Declined)
	if list := must[[]node.Invitation](w)(buyer.Invitations(w.ctx)); len(list) != 0 {
		t.Errorf("invitations %v", list)
	}
	if _, err := buyer.Join(w.ctx, v.Session); code(err) != node.CodeNotFound {
		t.Errorf("joining what was declined: %v", err)
	}
}

// sees waits for a notice.
func (p *party) sees(kind node.Kind) node.Notice {
	p.w.Helper()
	ctx, cancel := context.WithTimeout(p.w.ctx, time.Minute)
	defer cancel()
	for after := uint64(0); ; {
		list, err := p.Notices(ctx, after, 0)
		p.w.must(err)
		if len(list) == 0 {
			p.w.Fatalf("no notice of %s\n%s", kind, p.w.logs)
		}
		for _, n := range list {
			if n.Kind == kind {
				return n
			}
		}
		after = list[len(list)-1].Number
	}
}

func TestOpenRefuses(t *testing.T) {
	w := newWorld(t)
	seller := w.party("seller", nil)
	buyer := []wire.AgentID{agent("buyer")}
	for _, test := range []struct {
		name string
		o    node.Opening
		code node.Code
	}{
		{"for nobody", node.Opening{Body: camera(nil)}, node.CodeBadRequest},
		{"for some and for whoever comes", node.Opening{To: buyer, Places: 1, Body: camera(nil)}, node.CodeBadRequest},
		{"without terms", node.Opening{To: buyer, Body: parsed(`{}`)}, node.CodeRule},
		{"with somebody whose key nobody knows", node.Opening{To: []wire.AgentID{"byer"}, Body: camera(nil)}, node.CodeBadRequest},
		{"with itself", node.Opening{To: []wire.AgentID{agent("seller")}, Body: camera(nil)}, node.CodeRule},
		{"direct, without an address", node.Opening{To: buyer, Way: node.Direct, Body: camera(nil)}, node.CodeBadRequest},
		{"another way", node.Opening{To: buyer, Way: "pigeon", Body: camera(nil)}, node.CodeBadRequest},
		{"an id that is none", node.Opening{To: buyer, Session: "a b", Body: camera(nil)}, node.CodeBadRequest},
	} {
		if _, err := seller.Open(w.ctx, test.o); code(err) != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if list := must[[]node.Summary](w)(seller.Sessions(w.ctx, node.Filter{})); len(list) != 0 {
		t.Errorf("sessions %v", list)
	}
	// The same again is the same session.
	o := node.Opening{To: buyer, Session: "ses_mine", Body: camera(nil)}
	must[node.View](w)(seller.Open(w.ctx, o))
	must[node.View](w)(seller.Open(w.ctx, o))
	different := []node.Opening{
		{To: []wire.AgentID{agent("third")}, Session: o.Session, Body: o.Body},
		{To: buyer, Session: o.Session, Body: camera(wire.M{"timing": wire.M{"session_ttl": 60}})},
		{To: buyer, Session: o.Session, Body: o.Body, Reasoning: "so"},
	}
	refused := func() {
		t.Helper()
		for i, o := range different {
			if _, err := seller.Open(w.ctx, o); code(err) != node.CodeBadRequest {
				t.Errorf("another opening %d under the same id: %v", i, err)
			}
		}
	}
	refused()
	must[relay.SessionInfo](w)(w.bare("buyer").Join(w.ctx, o.Session))
	seller.has(o.Session, 1)
	must[node.View](w)(seller.Open(w.ctx, o))
	refused()
	if list := must[[]node.Summary](w)(seller.Sessions(w.ctx, node.Filter{Live: true, With: agent("buyer")})); len(list) != 1 {
		t.Errorf("sessions %v", list)
	}
}
