package market_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// BenchmarkPost posts a want at a relay, over HTTP and on disk, where 10,000 haves of its
// category are, half of which match. "answer" is until the market has answered with the
// best 20; "verified" until the client has verified their signatures and compared them anew.
func BenchmarkPost(b *testing.B) {
	w := newWorld(b, market.Limits{EntriesAgent: 100_000})
	var all sync.WaitGroup
	for i := range 100 {
		name := fmt.Sprint("seller", i)
		c := w.as(name)
		var haves []*match.Entry
		for n := range 100 {
			haves = append(haves, w.have(fmt.Sprintf("%d_%d", i, n), name, sells(1000+30*n)))
		}
		all.Go(func() {
			for _, h := range haves {
				if _, err := c.Post(w.ctx, h); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := 0
	next := func() *match.Entry {
		n++
		return w.want(fmt.Sprint(n), "buyer", buys(2500))
	}
	buyer := w.as("buyer")
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			if _, err := buyer.Relay.Call(w.ctx, "market_post", wire.M{"entry": next().Value()}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verified", func(b *testing.B) {
		for b.Loop() {
			if p, err := buyer.Post(w.ctx, next()); err != nil || len(p.Matches) != 20 {
				b.Fatalf("%v (%v)", p, err)
			}
		}
	})
}
