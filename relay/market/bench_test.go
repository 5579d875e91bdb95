package market_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay/market"
)

// BenchmarkPost posts a want at a relay, over HTTP and on disk, where 10,000 haves of its
// category are, half of which match, and reads the answer with the best 100, all of whose
// signatures the client verifies and which it compares anew.
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
	for b.Loop() {
		n++
		if p := w.post(w.want(fmt.Sprint(n), "buyer", buys(2500))); len(p.Matches) != 100 {
			b.Fatalf("%d matches", len(p.Matches))
		}
	}
}
