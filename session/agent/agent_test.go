package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// A clock that all agents of a test share and that moves a second a reading.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

func key(tb testing.TB, name string) wire.PrivateKey {
	tb.Helper()
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func openStore(tb testing.TB, path string) *transcript.Store {
	tb.Helper()
	s, err := transcript.Open(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

type fixture struct {
	clock  *clock
	agents []*agent.Agent
	stores []*transcript.Store
	dirs   []string
}

func newFixture(tb testing.TB, names ...string) *fixture {
	tb.Helper()
	f := &fixture{clock: newClock()}
	for _, name := range names {
		dir := tb.TempDir()
		store := openStore(tb, filepath.Join(dir, "t.db"))
		f.dirs = append(f.dirs, dir)
		f.stores = append(f.stores, store)
		f.agents = append(f.agents, agent.New(key(tb, name), wire.DIDKeys{}, store, &agent.Options{Now: f.clock.Now}))
	}
	agent.Connect(f.agents...)
	return f
}

var ctx = context.Background()

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func price(n int) wire.M { return wire.M{"price": wire.M{"value": n}} }

// begin opens a session of all agents, which all accept.
func (f *fixture) begin(tb testing.TB) []*agent.Negotiation {
	tb.Helper()
	var others []wire.AgentID
	for _, a := range f.agents[1:] {
		others = append(others, a.ID())
	}
	first, err := f.agents[0].Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, others...)
	must(tb, err)
	sides := []*agent.Negotiation{first}
	for _, a := range f.agents[1:] {
		n, err := a.Negotiation(ctx, first.ID())
		must(tb, err)
		must(tb, n.AcceptSession(ctx))
		sides = append(sides, n)
	}
	return sides
}

// same checks that all sides have the same transcript.
func same(tb testing.TB, sides ...*agent.Negotiation) {
	tb.Helper()
	for _, n := range sides[1:] {
		if a, b := sides[0].Session(), n.Session(); a.Tip() != b.Tip() || a.Len() != b.Len() || a.State() != b.State() {
			tb.Fatalf("one side has %d messages and is %s, another %d and %s", a.Len(), a.State(), b.Len(), b.State())
		}
	}
}

func TestTwoParties(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	sale, purchase := sides[0], sides[1]
	must(t, sale.Offer(ctx, price(10), "Why not."))
	must(t, purchase.Counter(ctx, price(8), ""))
	if _, err := sale.Receipt(ctx); !errors.Is(err, session.ErrNotConcluded) {
		t.Errorf("a receipt of a running session: %v", err)
	}
	must(t, sale.Accept(ctx, nil, ""))
	same(t, sides...)
	receipt, err := purchase.Receipt(ctx)
	must(t, err)
	again, err := sale.Receipt(ctx)
	must(t, err)
	if !receipt.Equal(again) {
		t.Error("the two sides ask for the receipt and get different bytes")
	}
	for _, s := range f.stores {
		stored, err := s.Receipts(sale.ID())
		must(t, err)
		if len(stored) != 1 || !stored[0].Equal(receipt) {
			t.Errorf("a store has %d receipts", len(stored))
		}
	}
}

func TestThreeParties(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	sides := f.begin(t)
	must(t, sides[1].Offer(ctx, price(10), ""))
	same(t, sides...)
	must(t, sides[2].Accept(ctx, nil, ""))
	must(t, sides[0].Accept(ctx, nil, ""))
	same(t, sides...)
	if s := sides[2].Session().State(); s != session.Agreed {
		t.Fatalf("state %s", s)
	}
	receipt, err := sides[2].Receipt(ctx)
	must(t, err)
	for i, s := range f.stores {
		stored, err := s.Receipts(sides[0].ID())
		must(t, err)
		if len(stored) != 1 || !stored[0].Equal(receipt) {
			t.Errorf("store %d has receipts %v", i, stored)
		}
	}
}

// A move that is refused reaches nobody.
func TestRefusedMoves(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	before := sides[0].Session().Len()
	err := sides[0].Accept(ctx, nil, "")
	if !errors.Is(err, session.RuleNoOffer) {
		t.Errorf("accept without offer: %v", err)
	}
	if r, ok := errors.AsType[*session.Refusal](err); !ok || len(r.Moves) == 0 {
		t.Errorf("the refusal says no legal moves: %v", err)
	}
	must(t, sides[1].Offer(ctx, price(3), ""))
	if err := sides[1].Accept(ctx, nil, ""); !errors.Is(err, session.RuleOwnOffer) {
		t.Errorf("own offer: %v", err)
	}
	same(t, sides...)
	if n := sides[0].Session().Len(); n != before+1 {
		t.Errorf("%d messages, want %d", n, before+1)
	}
}

func TestDeliverRefuses(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	must(t, sides[0].Offer(ctx, price(3), ""))
	messages, err := sides[0].Messages()
	must(t, err)
	last := messages[len(messages)-1].Canonical()
	buyer := f.agents[1].From(f.agents[0].ID())
	if err := buyer.Deliver(ctx, []byte(last)); err != nil {
		t.Errorf("the same message again: %v", err)
	}
	if err := buyer.Deliver(ctx, []byte(strings.Replace(last, `"value":3`, `"value":4`, 1))); !errors.Is(err, wire.RuleSignature) {
		t.Errorf("an altered message: %v", err)
	}
	if err := buyer.Deliver(ctx, []byte(`{`)); !errors.Is(err, wire.RuleSyntax) {
		t.Errorf("no message: %v", err)
	}
	stray, err := wire.Sign(wire.Envelope{
		Type: wire.TypeInquire, ID: "m", Session: "ses_other", Time: f.clock.Now(), From: f.agents[0].ID(),
		Body: messages[0],
	}, key(t, "seller"))
	must(t, err)
	if err := buyer.Deliver(ctx, []byte(stray.Value().Canonical())); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("a message of an unknown session: %v", err)
	}
	if _, err := buyer.Countersign(ctx, []byte(`{"session_id":"ses_other"}`)); !errors.Is(err, agent.ErrNoSession) {
		t.Errorf("a receipt of an unknown session: %v", err)
	}
}

// A receipt that is not the one of the transcript is not signed.
func TestCountersignRefuses(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	must(t, sides[0].Offer(ctx, price(3), ""))
	must(t, sides[1].Accept(ctx, nil, ""))
	receipt, err := sides[0].Receipt(ctx)
	must(t, err)
	for _, change := range []struct{ old, new string }{
		{`"rounds":1`, `"rounds":2`}, {`"status":"agreed"`, `"status":"rejected"`}, {`"message_count":4`, `"message_count":5`},
	} {
		text := strings.Replace(receipt.Canonical(), change.old, change.new, 1)
		if text == receipt.Canonical() {
			t.Fatalf("%s is not in the receipt", change.old)
		}
		if _, err := f.agents[1].From(f.agents[0].ID()).Countersign(ctx, []byte(text)); !errors.Is(err, agent.ErrOtherReceipt) {
			t.Errorf("%s: %v", change.new, err)
		}
	}
}

// An agent that starts again with its store goes on where it was.
func TestResume(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	start := func(name string) (*agent.Agent, *transcript.Store) {
		store, err := transcript.Open(filepath.Join(dir, name), nil)
		must(t, err)
		return agent.New(key(t, name), wire.DIDKeys{}, store, &agent.Options{Now: clock.Now}), store
	}
	var id wire.SessionID
	steps := []func(seller, buyer *agent.Negotiation) error{
		func(_, buyer *agent.Negotiation) error { return buyer.AcceptSession(ctx) },
		func(seller, _ *agent.Negotiation) error { return seller.Offer(ctx, price(9), "") },
		func(_, buyer *agent.Negotiation) error { return buyer.Counter(ctx, price(8), "") },
		func(seller, _ *agent.Negotiation) error { return seller.Accept(ctx, nil, "") },
		func(seller, _ *agent.Negotiation) error { _, err := seller.Receipt(ctx); return err },
		func(_, buyer *agent.Negotiation) error { _, err := buyer.Receipt(ctx); return err },
	}
	for i := range len(steps) + 1 {
		seller, sellerStore := start("seller")
		buyer, buyerStore := start("buyer")
		agent.Connect(seller, buyer)
		if i == 0 {
			sale, err := seller.Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, buyer.ID())
			must(t, err)
			id = sale.ID()
		} else {
			sale, err := seller.Negotiation(ctx, id)
			must(t, err)
			purchase, err := buyer.Negotiation(ctx, id)
			must(t, err)
			must(t, steps[i-1](sale, purchase))
			same(t, sale, purchase)
		}
		must(t, sellerStore.Close())
		must(t, buyerStore.Close())
	}
}

// flaky fails deliveries while it is down.
type flaky struct {
	agent.Peer
	down bool
}

var errDown = errors.New("down")

func (f *flaky) Deliver(ctx context.Context, m []byte) error {
	if f.down {
		return errDown
	}
	return f.Peer.Deliver(ctx, m)
}

// What a peer missed it gets, in order, with the next message or on Resend.
func TestUndelivered(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	link := &flaky{Peer: f.agents[1].From(f.agents[0].ID())}
	f.agents[0].Reach(f.agents[1].ID(), link)

	link.down = true
	err := sides[0].Offer(ctx, price(9), "")
	if u, ok := errors.AsType[*agent.Undelivered](err); !ok || u.To != f.agents[1].ID() || !errors.Is(err, errDown) {
		t.Fatalf("Offer = %v, want Undelivered", err)
	}
	if sides[0].Session().Len() != 3 || sides[1].Session().Len() != 2 {
		t.Fatal("an undelivered message exists for its sender and nobody else")
	}
	// The buyer's move does not fit: it is told what it missed.
	err = sides[1].Offer(ctx, price(1), "")
	if tip, ok := errors.AsType[*wire.TipError](err); !ok || tip.Len != 3 {
		t.Errorf("the buyer is told %v", err)
	}
	link.down = false
	must(t, sides[0].Resend(ctx))
	same(t, sides...)
	must(t, sides[1].Counter(ctx, price(8), ""))

	link.down = true
	_ = sides[0].Counter(ctx, price(7), "")
	_ = sides[0].Counter(ctx, price(6), "")
	link.down = false
	must(t, sides[0].Counter(ctx, price(5), ""))
	same(t, sides...)
}

// Both sides move at the same moment, often: there is one chain, and whoever
// loses is told.
func TestSimultaneousMoves(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	sides := f.begin(t)
	for round := range 50 {
		var group sync.WaitGroup
		errs := make([]error, len(sides))
		for i, n := range sides {
			group.Go(func() {
				errs[i] = n.Send(ctx, wire.TypeInquire, wire.M{"term_ids": []string{fmt.Sprint(round, i)}}, "")
			})
		}
		group.Wait()
		for i, err := range errs {
			_, lost := errors.AsType[*wire.TipError](err)
			_, undelivered := errors.AsType[*agent.Undelivered](err)
			if err != nil && !lost && !undelivered && !errors.Is(err, wire.RulePrevHash) {
				t.Fatalf("side %d: %v", i, err)
			}
		}
		must(t, sides[0].Resend(ctx))
		same(t, sides...)
	}
}

// Who does not order the session does not judge when a message came: after an hour
// offline it takes what it missed.
func TestOfflineResponder(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	link := &flaky{Peer: f.agents[1].From(f.agents[0].ID()), down: true}
	f.agents[0].Reach(f.agents[1].ID(), link)
	_ = sides[0].Offer(ctx, price(9), "")
	f.clock.now = f.clock.now.Add(time.Hour / 2)
	link.down = false
	must(t, sides[0].Resend(ctx))
	same(t, sides...)
}

// deaf takes messages and loses the answer.
type deaf struct {
	agent.Peer
	deaf bool
}

func (d *deaf) Deliver(ctx context.Context, m []byte) error {
	err := d.Peer.Deliver(ctx, m)
	if d.deaf {
		return errDown
	}
	return err
}

// A move whose answer was lost is found again.
func TestLostAnswer(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	must(t, sides[0].Offer(ctx, price(9), ""))
	link := &deaf{Peer: f.agents[0].From(f.agents[1].ID()), deaf: true}
	f.agents[1].Reach(f.agents[0].ID(), link)
	if err := sides[1].Accept(ctx, nil, ""); !errors.Is(err, errDown) {
		t.Fatalf("Accept = %v", err)
	}
	link.deaf = false
	must(t, sides[0].Resend(ctx))
	same(t, sides...)
	if _, err := sides[1].Receipt(ctx); err != nil {
		t.Error(err)
	}
}

// One party out of reach keeps nobody else from moving.
func TestUnreachableThird(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	sides := f.begin(t)
	link := &flaky{Peer: f.agents[2].From(f.agents[0].ID()), down: true}
	f.agents[0].Reach(f.agents[2].ID(), link)
	must(t, sides[1].Offer(ctx, price(9), ""))
	must(t, sides[1].Counter(ctx, price(8), ""))
	same(t, sides[:2]...)
	link.down = false
	must(t, sides[0].Resend(ctx))
	same(t, sides...)
}

// A party hands its message to another behind the sequencer's back.
func TestBehindTheSequencer(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	sides := f.begin(t)
	body, _ := wire.Encode(wire.M{"term_ids": []string{"price"}})
	m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: "m", Session: sides[0].ID(), Time: f.clock.Now(),
		From: f.agents[1].ID(), PrevHash: sides[0].Session().Tip(), Body: body}, key(t, "b"))
	must(t, err)
	if err := f.agents[2].From(f.agents[1].ID()).Deliver(ctx, []byte(m.Value().Canonical())); !errors.Is(err, agent.ErrNotSequencer) {
		t.Errorf("Deliver = %v", err)
	}
	must(t, sides[0].Offer(ctx, price(1), ""))
	same(t, sides...)
}

// A session whose responder is out of reach is open, and can be resent.
func TestOpenUndelivered(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	f.agents[0].Reach(f.agents[1].ID(), &flaky{down: true})
	n, err := f.agents[0].Open(ctx, wire.M{"price": wire.M{}}, nil, f.agents[1].ID())
	if _, ok := errors.AsType[*agent.Undelivered](err); !ok || n == nil {
		t.Fatalf("Open = %v, %v", n, err)
	}
	agent.Connect(f.agents...)
	must(t, n.Resend(ctx))
	_, err = f.agents[1].Negotiation(ctx, n.ID())
	must(t, err)
}

// Expiry is certain, and attested, only after the deadline and the clock skew.
func TestExpiredReceipt(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	f.clock.now = sides[0].Session().Deadline().Add(time.Second)
	if _, err := sides[0].Receipt(ctx); !errors.Is(err, session.ErrNotConcluded) {
		t.Errorf("a second after the deadline: %v", err)
	}
	f.clock.now = sides[0].Session().Deadline().Add(wire.DefaultSkew)
	receipt, err := sides[0].Receipt(ctx)
	must(t, err)
	if status, _ := receipt.At("outcome", "status"); status.Text() != "expired" {
		t.Errorf("status %s", status)
	}
}

// After the receipt nothing is committed; after a second end it is superseded.
func TestOneReceipt(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	must(t, sides[0].Offer(ctx, price(9), ""))
	must(t, sides[1].Send(ctx, wire.TypeWithdraw, wire.M{"reactivatable": true}, ""))
	first, err := sides[1].Receipt(ctx)
	must(t, err)
	must(t, sides[0].Offer(ctx, price(8), ""))
	must(t, sides[1].Accept(ctx, nil, ""))
	must(t, sides[0].Send(ctx, wire.TypeCommit, nil, ""))
	second, err := sides[0].Receipt(ctx)
	must(t, err)
	id, _ := first.Get("attestation_id")
	if got, _ := second.At("references", "0", "id"); got.Text() != id.Text() {
		t.Errorf("the second receipt has references %v", got)
	}
	for i, n := range sides {
		if err := n.Send(ctx, wire.TypeCommit, nil, ""); !errors.Is(err, agent.ErrReceiptSigned) && !errors.Is(err, session.RuleTwice) {
			t.Errorf("side %d commits after the receipt: %v", i, err)
		}
	}
	again, err := sides[1].Receipt(ctx)
	must(t, err)
	if !again.Equal(second) {
		t.Error("asked again, the receipt is another")
	}
}

// A witness may sign before the parties have.
func TestWitnessFirst(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	must(t, sides[0].Offer(ctx, price(9), ""))
	must(t, sides[1].Accept(ctx, nil, ""))
	receipt, err := sides[0].Receipt(ctx)
	must(t, err)
	bare, err := attest.Witness(receipt.StripSignatures().Without("countersignatures"), "notary", key(t, "notary"))
	must(t, err)
	text, err := f.agents[1].From(f.agents[0].ID()).Countersign(ctx, []byte(bare.Canonical()))
	must(t, err)
	v, err := wire.Parse(text, wire.DocumentLimits)
	must(t, err)
	if signatures, _ := v.Get("countersignatures"); signatures.Len() != 2 {
		t.Errorf("signed by %v", signatures)
	}
}

func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	sellerStore, _ := transcript.Open(filepath.Join(dir, "seller.db"), nil)
	defer sellerStore.Close()
	buyerStore, _ := transcript.Open(filepath.Join(dir, "buyer.db"), nil)
	defer buyerStore.Close()
	sellerKey, _ := wire.NewPrivateKey([]byte("seller.........................."))
	buyerKey, _ := wire.NewPrivateKey([]byte("buyer..........................."))

	seller := agent.New(sellerKey, wire.DIDKeys{}, sellerStore, nil)
	buyer := agent.New(buyerKey, wire.DIDKeys{}, buyerStore, nil)
	agent.Connect(seller, buyer)

	sale, _ := seller.Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, buyer.ID())
	purchase, _ := buyer.Negotiation(ctx, sale.ID())
	_ = purchase.AcceptSession(ctx)
	_ = sale.Offer(ctx, wire.M{"price": wire.M{"value": 2050, "currency": "USD"}}, "As good as new.")
	_ = purchase.Accept(ctx, nil, "Agreed.")
	receipt, err := sale.Receipt(ctx)

	outcome, _ := receipt.Get("outcome")
	status, _ := outcome.Get("status")
	fmt.Println(purchase.Session().State(), purchase.Session().Deal().Value(), status, err)
	// Output: AGREED {"price":{"currency":"USD","value":2050}} "agreed" <nil>
}
