// Command freelance shows a negotiation about work: a designer and a client settle
// scope, price and date by partial and bundle offers, a constraint and signals, and
// both confirm the agreement.
//
//	go run ./examples/freelance
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

func main() {
	dir, err := os.MkdirTemp("", "freelance-")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()

	now := time.Date(2026, 5, 4, 14, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	client := newAgent(dir, "client", clock)
	designer := newAgent(dir, "designer", clock)
	agent.Connect(client, designer)

	job, err := client.Open(ctx, wire.M{
		"pages":     wire.M{"type": "numeric", "label": "Pages", "min": 3, "max": 12},
		"fee":       wire.M{"type": "numeric", "unit": "EUR", "min": 0, "max": 9000},
		"ready":     wire.M{"type": "temporal", "label": "Ready on"},
		"revisions": wire.M{"type": "numeric", "label": "Rounds of changes", "min": 0, "max": 5},
	}, wire.M{"category": "services.design", "value_range": "1000-5000_EUR"}, designer.ID())
	check(err)
	work, err := designer.Negotiation(ctx, job.ID())
	check(err)

	say := func(who, what string, err error) {
		check(err)
		fmt.Printf("%-8s %s\n", who, what)
		now = now.Add(time.Minute)
	}
	is := func(v any) wire.M { return wire.M{"value": v} }
	say("designer", "accepts to talk", work.AcceptSession(ctx))
	say("client", "cares for the date, then for the fee", job.Send(ctx, wire.TypeSignal, wire.M{
		"priority_ranking": []string{"ready", "fee"}, "flexibility": wire.M{"pages": "very_flexible"},
	}, ""))
	say("client", "has a budget of 4000", job.Send(ctx, wire.TypeConstrain, wire.M{
		"constraints": wire.M{"fee": wire.M{"max": 4000}},
	}, ""))
	err = work.Offer(ctx, wire.M{"pages": is(8), "fee": is(4800), "ready": is("2026-06-12"), "revisions": is(2)}, "")
	if !errors.Is(err, offer.RuleConstraint) {
		log.Fatal("an offer beyond the budget was not refused: ", err)
	}
	say("designer", "cannot offer 4800: it breaks the constraint, and nothing was sent", nil)
	say("designer", "offers 600 a page, whatever the rest", work.Propose(ctx, wire.TypeOffer, wire.M{
		"terms": wire.M{"fee": is(3600), "ready": is("2026-06-12")}, "open_terms": []string{"pages", "revisions"}, "complete": false,
	}, "Six pages at the usual rate; tell me how many changes you expect."))
	say("client", "asks about the date", job.Send(ctx, wire.TypeInquire, wire.M{"term_ids": []string{"ready"}}, "Is the fifth possible?"))
	bundle := func(id, label string, pages, fee int, ready string, revisions int) wire.M {
		return wire.M{"bundle_id": id, "label": label, "terms": wire.M{
			"pages": is(pages), "fee": is(fee), "ready": is(ready), "revisions": is(revisions),
		}}
	}
	say("designer", "offers two bundles", work.Propose(ctx, wire.TypeCounter, wire.M{
		"bundles": []wire.M{
			bundle("calm", "Six pages, ready on the twelfth", 6, 3400, "2026-06-12", 3),
			bundle("quick", "Six pages, ready on the fifth", 6, 3900, "2026-06-05", 1),
		}, "select": "one_of",
	}, "The earlier date means two weekends."))
	o, _ := job.Session().Offer()
	say("client", "takes the quick one", job.Send(ctx, wire.TypeAccept, wire.M{"offer_id": o.ID, "bundle_id": "quick"}, ""))
	say("designer", "confirms", work.Send(ctx, wire.TypeCommit, wire.M{"terms": work.Session().Deal().Value()}, ""))
	say("client", "confirms", job.Send(ctx, wire.TypeCommit, nil, ""))

	agreement, err := job.Session().Agreement()
	check(err)
	other, err := work.Session().Agreement()
	check(err)
	v, err := agreement.Value()
	check(err)
	w, err := other.Value()
	check(err)
	fmt.Println(job.Session().State(), agreement.Terms.Value(), "the same on both sides:", v.Equal(w))
	receipt, err := job.Receipt(ctx)
	check(err)
	outcome, _ := receipt.Get("outcome")
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
