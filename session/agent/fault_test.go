package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/wire"
)

// A way is a Peer whose deliveries and answers a test may delay or lose.
type way struct {
	agent.Peer
	deliver func(next func() error) error
	sign    func(next func() ([]byte, error)) ([]byte, error)
}

func (w way) Deliver(ctx context.Context, message []byte) error {
	if w.deliver == nil {
		return w.Peer.Deliver(ctx, message)
	}
	return w.deliver(func() error { return w.Peer.Deliver(ctx, message) })
}

func (w way) Countersign(ctx context.Context, receipt []byte) ([]byte, error) {
	if w.sign == nil {
		return w.Peer.Countersign(ctx, receipt)
	}
	return w.sign(func() ([]byte, error) { return w.Peer.Countersign(ctx, receipt) })
}

var errLost = errors.New("lost")

// A responder that waits for the sequencer takes what another's move brings: two
// of them that move at once do not wait for one another.
func TestMoveWhileDelivered(t *testing.T) {
	f := newFixture(t, "seller", "buyer", "broker")
	sides := f.begin(t)
	seller, buyer, broker := f.agents[0], f.agents[1], f.agents[2]
	must(t, sides[0].Resend(ctx))

	// The buyer's move is on its way while the broker's exists and comes to the buyer.
	once := sync.OnceValue(func() error { return sides[2].Send(ctx, wire.TypeSignal, nil, "") })
	buyer.Reach(seller.ID(), way{Peer: seller.From(buyer.ID()), deliver: func(next func() error) error {
		must(t, once())
		return next()
	}})
	if err := sides[1].Send(ctx, wire.TypeSignal, nil, ""); !errors.Is(err, wire.RulePrevHash) {
		t.Errorf("a move that came second: %v", err)
	}
	must(t, sides[1].Send(ctx, wire.TypeSignal, nil, ""))

	// Its own move comes back before the answer.
	broker.Reach(seller.ID(), way{Peer: seller.From(broker.ID()), deliver: func(next func() error) error {
		if err := next(); err != nil {
			return err
		}
		messages, err := sides[0].Messages()
		must(t, err)
		return broker.From(seller.ID()).Deliver(ctx, []byte(messages[len(messages)-1].Canonical()))
	}})
	must(t, sides[2].Send(ctx, wire.TypeSignal, nil, ""))
	must(t, sides[0].Resend(ctx))
	same(t, sides...)
}

// An open message that is delivered many times at once begins one session.
func TestOpenDeliveredTogether(t *testing.T) {
	for range 20 {
		f := newFixture(t, "seller", "buyer")
		seller, buyer := f.agents[0], f.agents[1]
		seller.Reach(buyer.ID(), way{Peer: buyer.From(seller.ID()), deliver: func(next func() error) error {
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { _ = next() })
			}
			all.Wait()
			return next()
		}})
		sale, err := seller.Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, buyer.ID())
		must(t, err)
		purchase, err := buyer.Negotiation(ctx, sale.ID())
		must(t, err)
		same(t, sale, purchase)
	}
}

// An answer that is lost leaves only one side with the receipt of the first end.
// That does not keep them from the receipt of the second.
func TestReceiptAfterLostAnswer(t *testing.T) {
	for _, lost := range []string{"request", "answer"} {
		f := newFixture(t, "seller", "buyer")
		sides := f.begin(t)
		seller, buyer := f.agents[0], f.agents[1]
		must(t, sides[0].Send(ctx, wire.TypeWithdraw, wire.M{"reactivatable": true}, ""))
		seller.Reach(buyer.ID(), way{Peer: buyer.From(seller.ID()), sign: func(next func() ([]byte, error)) ([]byte, error) {
			if lost == "answer" {
				_, err := next()
				must(t, err)
			}
			return nil, errLost
		}})
		if _, err := sides[0].Receipt(ctx); !errors.Is(err, errLost) {
			t.Fatalf("%s lost: %v", lost, err)
		}
		agent.Connect(seller, buyer)
		must(t, sides[1].Offer(ctx, price(3), ""))
		must(t, sides[0].Accept(ctx, nil, ""))
		one, err := sides[0].Receipt(ctx)
		must(t, err)
		other, err := sides[1].Receipt(ctx)
		must(t, err)
		if !one.Equal(other) {
			t.Errorf("%s lost: two receipts", lost)
		}
	}
}

// Who has signed a receipt commits to nothing more, not after a restart either.
func TestSignedBeforeRestart(t *testing.T) {
	f := newFixture(t, "seller", "buyer")
	sides := f.begin(t)
	seller, buyer := f.agents[0], f.agents[1]
	must(t, sides[0].Offer(ctx, price(9), ""))
	must(t, sides[1].Accept(ctx, nil, ""))
	seller.Reach(buyer.ID(), way{Peer: buyer.From(seller.ID()), sign: func(func() ([]byte, error)) ([]byte, error) { return nil, errLost }})
	if _, err := sides[0].Receipt(ctx); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	must(t, f.stores[0].Close())
	store := openStore(t, filepath.Join(f.dirs[0], "t.db"))
	again := agent.New(key(t, "seller"), wire.DIDKeys{}, store, &agent.Options{Now: f.clock.Now})
	sale, err := again.Negotiation(ctx, sides[0].ID())
	must(t, err)
	if err := sale.Send(ctx, wire.TypeCommit, nil, ""); !errors.Is(err, agent.ErrReceiptSigned) {
		t.Errorf("a commit after the restart: %v", err)
	}
}
