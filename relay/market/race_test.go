package market_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
)

// What is posted while an entry of the same id is being forgotten is neither lost, nor does
// what was taken back come again, whatever comes between which steps.
func TestForgetting(t *testing.T) {
	for _, test := range []struct {
		name   string
		do     func(w *world, first, second *match.Entry)
		stands bool // the second
	}{
		{"posted between the sweep of the other and its leaving the book", func(w *world, first, second *match.Entry) {
			w.post(first)
			w.pass(2 * time.Hour)
			second = w.have("1", "seller", sells(6))
			then := func() { w.post(second) }
			w.afterUpdate.Store(&then)
			w.sweep(1)
		}, true},
		{"posted in place of one that has expired, before the sweep", func(w *world, first, second *match.Entry) {
			w.post(first)
			w.pass(2 * time.Hour)
			w.post(w.have("1", "seller", sells(6)))
			w.sweep(0)
		}, true},
		{"posted between the withdrawal of the other and its leaving the book", func(w *world, first, second *match.Entry) {
			w.post(first)
			then := func() { w.post(second) }
			w.afterUpdate.Store(&then)
			w.withdraw("have_1")
		}, true},
		{"withdrawn between being kept and coming into the book", func(w *world, _, second *match.Entry) {
			then := func() { w.withdraw("have_1") }
			w.afterUpdate.Store(&then)
			w.post(second)
		}, false},
		{"withdrawn while the book reads it", func(w *world, _, second *match.Entry) {
			w.post(w.have("other", "seller", `"category":"food","terms":{}`)) // registered
			var withdrawing sync.WaitGroup
			then := func() {
				committed := make(chan struct{})
				told := func() { close(committed) }
				w.afterUpdate.Store(&told)
				withdrawing.Go(func() { w.withdraw("have_1") })
				<-committed
			}
			kept := func() { w.afterView.Store(&then) }
			w.afterUpdate.Store(&kept)
			w.post(second)
			withdrawing.Wait()
		}, false},
		{"swept while the book reads it", func(w *world, _, second *match.Entry) {
			w.post(w.have("other", "seller", `"category":"food","terms":{}`))
			var sweeping sync.WaitGroup
			then := func() {
				committed := make(chan struct{})
				told := func() { close(committed) }
				w.pass(2 * time.Hour)
				w.afterUpdate.Store(&told)
				sweeping.Go(func() { w.sweep(2) })
				<-committed
			}
			kept := func() { w.afterView.Store(&then) }
			w.afterUpdate.Store(&kept)
			w.post(second)
			sweeping.Wait()
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, market.Limits{})
			w.as("seller")
			test.do(w, w.have("1", "seller", sells(5)), w.have("1", "seller", sells(6)))
			want := w.want("1", "buyer", buys(10))
			for _, when := range []string{"at once", "after a sweep", "after a restart"} {
				switch when {
				case "after a sweep":
					if _, err := w.market.Sweep(w.ctx); err != nil {
						t.Fatal(err)
					}
				case "after a restart":
					w.close()
					w.open()
				}
				e, err := w.as("buyer").Entry(w.ctx, "have_1")
				found, _, _, failed := w.as("buyer").Search(w.ctx, market.Search{Kind: match.Have, Category: "electronics"})
				if failed != nil {
					t.Fatal(failed)
				}
				matches := w.post(want).Matches
				kept := 0
				for k := range w.dump() {
					if strings.HasPrefix(k, "Me") {
						kept++
					}
				}
				if n := w.market.InBook(); n != kept {
					t.Errorf("%s: %d entries are kept, and %d in memory", when, kept, n)
				}
				if !test.stands {
					w.refuses("the entry, "+when, relay.CodeNotFound, "", err)
					if len(found) != 0 || len(matches) != 0 {
						t.Errorf("%s: %d are found, and %d match", when, len(found), len(matches))
					}
					continue
				}
				if price, _ := e.Value().At("terms", "price", "min"); err != nil || price.Canonical() != "6" || len(found) != 1 || len(matches) != 1 || matches[0].Number != e.Number {
					t.Errorf("%s: %v, %v, found %v, matches %v", when, e, err, found, matches)
				}
			}
			if _, err := market.Audit(w.ctx, w.mail, func(p relay.Problem) { t.Errorf("%s: %v", p.Where, p.Err) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func (w *world) sweep(want int) {
	w.Helper()
	if n, err := w.market.Sweep(w.ctx); err != nil || n != want {
		w.Errorf("Sweep = %d, %v, want %d", n, err, want)
	}
}

func (w *world) withdraw(id match.ID) {
	w.Helper()
	if err := w.as("seller").Withdraw(w.ctx, id); err != nil {
		w.Errorf("withdrawing %s: %v", id, err)
	}
}
