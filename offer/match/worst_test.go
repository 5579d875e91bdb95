package match_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/wire"
)

// terms makes so many terms of an entry.
func terms(n int, term func(i int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = term(i)
	}
	return strings.Join(list, ",")
}

// listed makes a list of so many values.
func listed(n int, value func(i int) string) string { return "[" + terms(n, value) + "]" }

// Whatever somebody posts, and wherever, a look into the book takes about as long as one at
// 10,000 ordinary entries.
func TestWorst(t *testing.T) {
	best := func(b *match.Book, w *match.Entry) time.Duration {
		fastest := time.Hour
		for range 7 {
			start := time.Now()
			b.Best(w, 100, now)
			fastest = min(fastest, time.Since(start))
		}
		return fastest
	}
	ordinary := best(market(t, 10_000))
	long := strings.Repeat("a", 20)
	for _, test := range []struct {
		name     string
		entries  int
		category string // of an entry
		terms    string
	}{
		{"long texts that begin alike", 1000, "a", terms(5, func(i int) string {
			return fmt.Sprintf(`"t%d":{"enum":%s}`, i, listed(64, func(n int) string { return fmt.Sprintf(`"%s%02d"`, long, n) }))
		})},
		{"long ids that begin alike", 6000, "a", terms(32, func(i int) string {
			return fmt.Sprintf(`"%s%s%d":{"min":%d,"max":%d,"currency":"EUR"}`, long, long, i, i, i+10)
		})},
		{"many values", 1000, "a", terms(25, func(i int) string {
			return fmt.Sprintf(`"t%d":{"enum":%s}`, i, listed(64, func(n int) string { return fmt.Sprint(n) }))
		})},
		{"many categories", 40_000, "a.%d.b.c.d.e.f.g", `"p":{"min":1}`},
	} {
		var b match.Book
		var list []*match.Entry
		for i := range test.entries {
			category := test.category
			if strings.Contains(category, "%") {
				category = fmt.Sprintf(category, i)
			}
			list = append(list, entry(t, "have", fmt.Sprintf("%05d", i), "mallory", fmt.Sprintf(`"category":%q,"terms":{%s}`, category, test.terms)))
		}
		put(&b, list...)
		took := best(&b, entry(t, "want", "w", "eve", fmt.Sprintf(`"category":"a","terms":{%s}`, test.terms)))
		t.Logf("%s: %v, ordinary %v", test.name, took, ordinary)
		if took > 5*ordinary {
			t.Errorf("%s: a look takes %v, and at 10,000 ordinary entries %v", test.name, took, ordinary)
		}
	}
}

// An agent that has two names does not match itself.
func TestOneAgent(t *testing.T) {
	key, err := wire.NewPrivateKey(make([]byte, wire.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	plain, other := string(wire.DIDKey(key.Public())), string(wire.ReferenceDIDKey(key.Public()))
	w := entry(t, "want", "w", plain, `"category":"a","terms":{}`)
	h := entry(t, "have", "h", other, `"category":"a","terms":{}`)
	if w.Owner() != h.Owner() {
		t.Fatalf("the agents are %q and %q", w.Owner(), h.Owner())
	}
	if n := match.Score(w, h); n != 0 {
		t.Errorf("Score = %d", n)
	}
}
