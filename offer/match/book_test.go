package match_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/offer/match"
)

var now = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

// put gives entries numbers from 1 on.
func put(b *match.Book, list ...*match.Entry) {
	for i, e := range list {
		b.Add(&match.Posted{Entry: e, Number: uint64(i + 1), Posted: now, Expires: now.Add(e.TTL)})
	}
}

func ids[E any](list []E, id func(E) match.ID) (all []match.ID) {
	for _, e := range list {
		all = append(all, id(e))
	}
	return all
}

// some makes random entries, many of which match.
func some(tb testing.TB, r *rand.Rand, kind string, n int) (list []*match.Entry) {
	tb.Helper()
	categories := []string{"a", "a.b", "a.b.c", "a.b.d", "a.x", "b"}
	bound := func() string {
		lo := r.IntN(20)
		switch r.IntN(5) {
		case 0:
			return fmt.Sprintf(`{"min":%d}`, lo)
		case 1:
			return fmt.Sprintf(`{"max":%d,"currency":"USD"}`, lo)
		case 2:
			return fmt.Sprintf(`{"min":%d,"max":%d,"currency":"USD"}`, lo, lo+r.IntN(10))
		case 3:
			return fmt.Sprintf(`{"enum":[%d,%d,"new"]}`, lo, lo+1)
		}
		return fmt.Sprintf(`{"value":%d}`, lo)
	}
	for i := range n {
		members := fmt.Sprintf(`"category":"%s","terms":{"price":%s,"size":%s}`, categories[r.IntN(len(categories))], bound(), bound())
		if r.IntN(3) == 0 {
			members += fmt.Sprintf(`,"location":{"lat":%d,"lng":%d,"within_km":%d}`, r.IntN(3), r.IntN(3), 1+r.IntN(400))
		}
		list = append(list, entry(tb, kind, fmt.Sprint(i), fmt.Sprint("agent", r.IntN(10)), members))
	}
	return list
}

// Whatever the entries are: a score is the same both ways and each time, a number in its
// range; a book finds what comparing all with all finds, in whatever order they came.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	haves, wants := some(t, r, "have", 300), some(t, r, "want", 60)
	var book, shuffled match.Book
	put(&book, haves...)
	other := slices.Clone(haves)
	r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	put(&shuffled, other...)
	found := 0
	for _, w := range wants {
		var want []match.ID
		for _, h := range haves {
			score := match.Score(w, h)
			if score < 0 || score > 10_000 || match.Score(h, w) != score || match.Score(w, h) != score {
				t.Fatalf("Score(%s, %s) = %d, %d", w.Value(), h.Value(), score, match.Score(h, w))
			}
			if (match.Between(w, h) != nil) != (score > 0) {
				t.Fatalf("Between(%s, %s) and Score differ", w.Value(), h.Value())
			}
			if score > 0 {
				want = append(want, h.ID)
				outside(t, w, h)
			}
		}
		found += len(want)
		best, all := book.Best(w, 1000, now)
		again, _ := shuffled.Best(w, 1000, now)
		if !all || !slices.IsSortedFunc(best, func(a, b match.Found) int { return b.Score - a.Score }) {
			t.Errorf("Best(%s) is in no order", w.ID)
		}
		of := func(f match.Found) match.ID { return f.ID }
		if diff := cmp.Diff(ids(best, of), ids(again, of)); diff != "" {
			t.Errorf("Best(%s) depends on the order of insertion\n%s", w.ID, diff)
		}
		few, _ := book.Best(w, 3, now)
		if diff := cmp.Diff(ids(best[:min(3, len(best))], of), ids(few, of)); diff != "" {
			t.Errorf("Best(%s) of three (-all +three)\n%s", w.ID, diff)
		}
		since, _, more := book.Since(w, 0, 1000, now)
		if diff := cmp.Diff(want, ids(since, of)); diff != "" || more {
			t.Errorf("Since(%s) (-all with all)\n%s", w.ID, diff)
		}
		got := ids(best, of)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("Best(%s) = %v, want %v", w.ID, got, want)
		}
	}
	if found < 100 {
		t.Errorf("%d matches are too few to say anything", found)
	}
	for _, h := range haves {
		book.Remove(h.ID)
	}
	if list, _ := book.Best(wants[0], 10, now); book.Len() != 0 || len(list) != 0 {
		t.Errorf("left: %d entries", book.Len())
	}
}

// outside wants that no have is found whose only price is outside of what is wanted.
func outside(t *testing.T, w, h *match.Entry) {
	number := func(e *match.Entry, name string) (float64, bool) {
		v, _ := e.Value().At("terms", "price", name)
		return v.Float()
	}
	price, fixed := number(h, "value")
	if lo, ok := number(w, "min"); ok && fixed && price < lo {
		t.Errorf("%s matches %s", w.Value(), h.Value())
	}
	if hi, ok := number(w, "max"); ok && fixed && price > hi {
		t.Errorf("%s matches %s", w.Value(), h.Value())
	}
}

// Pages of Since and Within have every entry once, and none that has expired.
func TestPages(t *testing.T) {
	var b match.Book
	var list []*match.Entry
	for i := range 10 {
		category := "a"
		if i%2 == 1 {
			category = "a.b"
		}
		list = append(list, entry(t, "have", fmt.Sprint(i), "alice", `"category":"`+category+`","terms":{}`))
	}
	put(&b, list...)
	b.Get("have_4").Expires = now
	want := entry(t, "want", "w", "bob", `"category":"a","terms":{}`)
	var got []match.ID
	more := true
	for after, n := uint64(0), 0; more; n++ {
		var page []match.Found
		page, after, more = b.Since(want, after, 4, now)
		for _, f := range page {
			got = append(got, f.ID)
		}
		if len(page) > 4 || n > 10 {
			t.Fatalf("page %d has %d", n, len(page))
		}
	}
	if diff := cmp.Diff([]match.ID{"have_0", "have_1", "have_2", "have_3", "have_5", "have_6", "have_7", "have_8", "have_9"}, got); diff != "" {
		t.Errorf("Since\n%s", diff)
	}
	if best, _ := b.Best(want, 100, now); len(best) != 9 {
		t.Errorf("Best has %d, and one has expired", len(best))
	}
	within := func(kind match.Kind, c string, before uint64) []match.ID {
		return ids(slices.Collect(b.Within(kind, c, before)), func(p *match.Posted) match.ID { return p.ID })
	}
	if diff := cmp.Diff([]match.ID{"have_9", "have_7", "have_5", "have_3", "have_1"}, within(match.Have, "a.b", 0)); diff != "" {
		t.Errorf("Within\n%s", diff)
	}
	if diff := cmp.Diff([]match.ID{"have_5", "have_3", "have_1"}, within(match.Have, "a.b", 8)); diff != "" {
		t.Errorf("Within, before\n%s", diff)
	}
	if n := len(within(match.Have, "", 0)); n != 10 {
		t.Errorf("Within everything: %d", n)
	}
	if list := append(within(match.Have, "a.c", 0), within(match.Want, "", 0)...); len(list) != 0 {
		t.Errorf("Within nothing: %v", list)
	}
}

// What many heavy entries cost ends a look, and the next goes on.
func TestWork(t *testing.T) {
	enum := `"t":{"enum":[`
	for i := range 64 {
		enum += fmt.Sprintf(`%d,`, i)
	}
	heavy := `"category":"a","terms":{` + enum[:len(enum)-1] + `]}}`
	var b match.Book
	var list []*match.Entry
	for i := range 6000 {
		list = append(list, entry(t, "have", fmt.Sprint(i), "alice", heavy))
	}
	put(&b, list...)
	w := entry(t, "want", "w", "bob", heavy)
	if best, all := b.Best(w, 5, now); all || len(best) != 5 {
		t.Errorf("Best = %d, %v", len(best), all)
	}
	n, more := 0, true
	for after := uint64(0); more; {
		var page []match.Found
		page, after, more = b.Since(w, after, 10_000, now)
		if n += len(page); len(page) == 0 && more {
			t.Fatal("a look that finds nothing, and more to come")
		}
	}
	if n != len(list) {
		t.Errorf("Since has %d of %d", n, len(list))
	}
}

// market makes so many haves of one category, as they are in practice, and a want.
func market(tb testing.TB, n int) (*match.Book, *match.Entry) {
	tb.Helper()
	b := new(match.Book)
	var list []*match.Entry
	for i := range n {
		list = append(list, entry(tb, "have", fmt.Sprint(i), fmt.Sprint("agent", i%100), fmt.Sprintf(camera+`{"item":{"value":"Canon EOS R%d"},
			"price":{"min":%d,"currency":"USD"},"condition":{"value":"like_new"}},"location":{"coordinates":{"lat":%g,"lng":-122.4094}}`, i%7, 1000+i%3000, 37.5+float64(i%100)/100)))
	}
	put(b, list...)
	return b, entry(tb, "want", "w", "buyer", camera+`{"item":{"match":"fuzzy","value":"Canon EOS R5 or equivalent full-frame mirrorless"},
		"price":{"max":2500.00,"currency":"USD"},"condition":{"min":"good","enum":["new","like_new","good","fair","poor"]}},"location":{"within_km":50,"of":{"lat":37.7749,"lng":-122.4194}}`)
}

// A want against 10,000 haves of its category takes at most 5 ms. The bound here is
// generous, so that it holds on a machine that does other things.
func TestTenThousand(t *testing.T) {
	b, w := market(t, 10_000)
	fastest := time.Hour
	for range 5 {
		start := time.Now()
		best, all := b.Best(w, 100, now)
		fastest = min(fastest, time.Since(start))
		if all || len(best) != 100 {
			t.Fatalf("Best = %d, %v", len(best), all)
		}
	}
	if fastest > 50*time.Millisecond {
		t.Errorf("a want against 10,000 haves takes %v", fastest)
	}
}

func BenchmarkTenThousand(b *testing.B) {
	book, w := market(b, 10_000)
	for b.Loop() {
		book.Best(w, 100, now)
	}
}

// Other categories cost nothing.
func BenchmarkAmongFiftyThousand(b *testing.B) {
	book, _ := market(b, 50_000)
	w := entry(b, "want", "w", "buyer", `"category":"electronics.audio","terms":{}`)
	for b.Loop() {
		book.Best(w, 100, now)
	}
}

// FuzzParse compares whatever is an entry with others: it panics nowhere, and is
// symmetric.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		text("want", "w", "alice", camera+`{"item":{"match":"fuzzy","value":"Canon"},"price":{"max":2500,"currency":"USD"},"condition":{"min":"good","enum":["new","good"]}},"location":{"within_km":50,"of":{"lat":37.7,"lng":-122.4}}`),
		text("have", "h", "bob", camera+`{"item":{"value":"Canon EOS"},"price":{"min":1800,"max":1e308,"unit":"kg"},"when":{"max":"2026-12-31"}},"location":{"coordinates":{"lat":90,"lng":180}}`),
		text("have", "h", "bob", `"category":"a","terms":{"price":{"value":-1,"min":-2},"t":{"enum":[{},[],true,1]},"":{}}`),
		`{"type":"concordia.want","location":{"lat":1e999}}`, `[]`, ``,
	} {
		f.Add([]byte(s))
	}
	var others []*match.Entry
	for _, s := range []string{`{"price":{"max":2000},"item":{"value":"x","match":"fuzzy"}}`, `{"price":{"value":7},"t":{"enum":[1,true]}}`, `{"price":{"min":"2026","max":"2027"}}`} {
		for _, kind := range []string{"want", "have"} {
			others = append(others, entry(f, kind, "o", "other", camera+s+`,"location":{"lat":-90,"lng":-180,"within_km":100}`))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := match.Parse(text)
		if err != nil {
			return
		}
		if again, err := match.Parse([]byte(e.Value().Canonical())); err != nil || !again.Value().Equal(e.Value()) {
			t.Fatalf("%s: %v", e.Value(), err)
		}
		for _, o := range others {
			score, m := match.Score(e, o), match.Between(o, e)
			if score < 0 || score > 10_000 || score != match.Score(o, e) || (m != nil) != (score > 0) {
				t.Fatalf("%s and %s: %d, %d, %v", e.Value(), o.Value(), score, match.Score(o, e), m)
			}
			if m != nil {
				if _, err := match.ReadMatch(m.Value()); err != nil {
					t.Fatalf("%s: %v", m.Value(), err)
				}
			}
		}
	})
}
