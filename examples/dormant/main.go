// Command dormant shows a negotiation that ends without a deal and comes back.
//
// A gallery buys a wardrobe. The seller's last price is beyond its budget, so it
// withdraws, says what would bring it back, and leaves the session dormant. Three
// weeks later the seller meets the condition with a new offer in the same session,
// and the receipt covers all of it.
//
//	go run ./examples/dormant
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

func main() {
	dir, err := os.MkdirTemp("", "dormant-")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()

	// Time is ours, so that three weeks pass in a moment.
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	seller := newAgent(dir, "seller", clock)
	gallery := newAgent(dir, "gallery", clock)
	agent.Connect(seller, gallery)

	sale, err := seller.Open(ctx, wire.M{
		"wardrobe": wire.M{"type": "text", "value": "Oak wardrobe, 1890"},
		"price":    wire.M{"type": "numeric", "unit": "EUR", "min": 500, "max": 3000},
		"delivery": wire.M{"type": "boolean", "label": "Delivered to the gallery"},
	}, wire.M{"timing": wire.M{"session_ttl": 2 * 24 * 3600}, "category": "furniture.antique"}, gallery.ID())
	check(err)
	purchase, err := gallery.Negotiation(ctx, sale.ID())
	check(err)

	euros := func(n int, delivered bool) wire.M {
		return wire.M{"price": wire.M{"value": n, "currency": "EUR"}, "delivery": wire.M{"value": delivered}}
	}
	step := func(what string, err error) {
		check(err)
		fmt.Printf("%s  %-9s %s\n", now.Format(time.DateTime), sale.Session().State(), what)
		now = now.Add(10 * time.Minute)
	}
	step("the gallery is willing to talk", purchase.AcceptSession(ctx))
	step("2200, delivered", sale.Offer(ctx, euros(2200, true), "It took a year to restore."))
	step("1500, we fetch it", purchase.Counter(ctx, euros(1500, false), ""))
	step("1900, delivered", sale.Counter(ctx, euros(1900, true), ""))
	step("the gallery leaves, and says what would bring it back", purchase.Send(ctx, wire.TypeWithdraw, wire.M{
		"reactivatable": true,
		"reason":        "beyond this quarter's budget",
		"returns_if":    wire.M{"constraints": wire.M{"price": wire.M{"max": 1700, "currency": "EUR"}}, "after": "2026-03-20T00:00:00Z"},
	}, ""))
	ending := sale.Session().Ending()
	fmt.Printf("%21sreason: %s; comes back after %s\n", "", ending.Reason, ending.Returns.After.Format(time.DateOnly))

	now = time.Date(2026, 3, 23, 9, 0, 0, 0, time.UTC)
	step("three weeks later: 1700, fetched", sale.Offer(ctx, euros(1700, false), "The spring sale was quiet."))
	step("agreed", purchase.Accept(ctx, nil, "With pleasure."))

	receipt, err := sale.Receipt(ctx)
	check(err)
	outcome, _ := receipt.Get("outcome")
	fmt.Println("deal   ", sale.Session().Deal().Value())
	fmt.Println("receipt", outcome)
}

// newAgent returns an agent with a published key and a database of its own.
func newAgent(dir, name string, clock func() time.Time) *agent.Agent {
	key, err := wire.NewPrivateKey(fmt.Appendf(nil, "%-32s", name))
	check(err)
	store, err := transcript.Open(filepath.Join(dir, name+".db"), nil)
	check(err)
	return agent.New(key, wire.DIDKeys{}, store, &agent.Options{Now: clock})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
