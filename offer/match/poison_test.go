package match_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/offer/match"
)

// hostile are members of entries that somebody might post who wants to break the matching
// of others: some are entries, some are none.
func hostile(tb testing.TB) [][]byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hostile.ndjson"))
	if err != nil {
		tb.Fatal(err)
	}
	list := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(list) < 50 {
		tb.Fatalf("%d hostile entries", len(list))
	}
	return list
}

// A look is what a book finds for an entry.
type look struct {
	Best, Since []string
	All, More   bool
}

// found looks into a book for each of some entries, and leaves out what mallory posted.
func found(b *match.Book, list []*match.Entry) (looks []look) {
	say := func(found []match.Found) (all []string) {
		for _, f := range found {
			if f.Agent != "mallory" {
				all = append(all, fmt.Sprint(f.ID, " ", f.Number, " ", f.Score))
			}
		}
		return all
	}
	for _, e := range list {
		best, all := b.Best(e, 1000, now)
		since, _, more := b.Since(e, 0, 1000, now)
		looks = append(looks, look{say(best), say(since), all, more})
	}
	return looks
}

// poison returns a check that entries that are posted or refused change nothing of what
// others find.
func poison(tb testing.TB) func(tb testing.TB, list ...[]byte) {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	entries := slices.Concat(some(tb, r, "have", 20), some(tb, r, "want", 20))
	entries = append(entries,
		entry(tb, "want", "honest", "anna", `"category":"a.b","terms":{"price":{"max":100,"currency":"USD"}},"location":{"lat":0,"lng":0,"within_km":10}`),
		entry(tb, "have", "honest", "bert", `"category":"a.b","terms":{"price":{"min":50,"currency":"USD"}},"location":{"lat":0,"lng":0}`))
	var clean match.Book
	put(&clean, entries...)
	before := found(&clean, entries)
	return func(tb testing.TB, list ...[]byte) {
		tb.Helper()
		var poisoned match.Book
		put(&poisoned, entries...)
		number := uint64(len(entries))
		for i, members := range list {
			for _, kind := range []string{"want", "have"} {
				members := bytes.TrimPrefix(bytes.TrimSpace(members), []byte("{"))
				e, err := match.Parse([]byte(text(kind, fmt.Sprint("mallory", i), "mallory", string(bytes.TrimSuffix(members, []byte("}"))))))
				if err != nil || e.Agent != "mallory" || poisoned.Get(e.ID) != nil {
					continue
				}
				number++
				poisoned.Add(&match.Posted{Entry: e, Number: number, Posted: now, Expires: now.Add(e.TTL)})
				poisoned.Best(e, 100, now)
				poisoned.Since(e, 0, 100, now)
			}
		}
		if after := found(&poisoned, entries); !reflect.DeepEqual(before, after) {
			tb.Errorf("what others find has changed (-before +after)\n%s", cmp.Diff(before, after))
		}
	}
}

// Whatever is posted, others match as they would without it: no entry breaks the matching
// of a category, alone or with others. (SPEC §7.3)
func TestNoEntryPoisons(t *testing.T) {
	list, check := hostile(t), poison(t)
	check(t, list...)
	for _, members := range list {
		check(t, members)
	}
}

// FuzzNoEntryPoisons is TestNoEntryPoisons for whatever members an entry might have.
func FuzzNoEntryPoisons(f *testing.F) {
	for _, members := range hostile(f) {
		f.Add(members)
	}
	check := poison(f)
	f.Fuzz(func(t *testing.T, members []byte) { check(t, members) })
}
