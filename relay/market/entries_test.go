package market_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

const camera = `"category":"electronics.cameras","terms":{"price":{%s,"currency":"USD"}}`

func buys(price int) string  { return fmt.Sprintf(camera, fmt.Sprintf(`"max":%d`, price)) }
func sells(price int) string { return fmt.Sprintf(camera, fmt.Sprintf(`"min":%d`, price)) }

// Post, match, search, ask for what is new, withdraw; and all of it is there after a
// restart.
func TestWantsAndHaves(t *testing.T) {
	w := newWorld(t, market.Limits{})
	want := w.want("1", "buyer", buys(2500))
	if p := w.post(want); p.Number != 1 || len(p.Matches) != 0 || p.More || !p.Expires.Equal(epoch.Add(time.Hour)) {
		t.Errorf("the first want: %+v", p)
	}
	w.pass(time.Minute)
	near, far := w.have("near", "seller", sells(1800)), w.have("far", "seller", sells(2600))
	if p := w.post(near); len(p.Matches) != 1 || p.Matches[0].ID != want.ID || p.Matches[0].Match.Score != 0.64 || !p.Matches[0].Signed ||
		!p.Matches[0].Match.Created.Equal(epoch.Add(time.Minute)) {
		t.Errorf("the have that matches: %+v", p)
	}
	if p := w.post(far); len(p.Matches) != 0 {
		t.Errorf("the have that costs too much: %+v", p)
	}
	again := w.post(near)
	if again.Number != 2 || len(again.Matches) != 1 {
		t.Errorf("the same again: %+v", again)
	}

	found := func() (ids []match.ID) {
		t.Helper()
		list, before, refused, err := w.as("stranger").Search(w.ctx, market.Search{Kind: match.Have, Category: "electronics"})
		if err != nil || before != 0 || refused != 0 {
			t.Fatalf("Search: %d, %d, %v", before, refused, err)
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]match.ID{"have_far", "have_near"}, found()); diff != "" {
		t.Errorf("Search\n%s", diff)
	}
	matched := func(after uint64) ([]match.ID, uint64) {
		t.Helper()
		list, next, more, err := w.as("buyer").Matches(w.ctx, want, after)
		if err != nil || more {
			t.Fatalf("Matches: %v, %v", more, err)
		}
		ids := []match.ID{}
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		return ids, next
	}
	for _, reopened := range []bool{false, true} {
		if reopened {
			w.close()
			w.open()
		}
		if ids, next := matched(0); !cmp.Equal(ids, []match.ID{"have_near"}) || next != 3 {
			t.Errorf("Matches: %v, %d", ids, next)
		}
	}
	if ids, _ := matched(3); len(ids) != 0 {
		t.Errorf("Matches, nothing new: %v", ids)
	}
	w.post(w.have("new", "other", sells(100)))
	if ids, next := matched(3); !cmp.Equal(ids, []match.ID{"have_new"}) || next != 4 {
		t.Errorf("Matches, one is new: %v, %d", ids, next)
	}

	w.post(w.have("elsewhere", "other", `"category":"food","terms":{}`))
	if ids, next := matched(4); len(ids) != 0 || next != 5 {
		t.Errorf("Matches, what is new is elsewhere: %v, %d", ids, next)
	}
	if err := w.as("other").Withdraw(w.ctx, "have_elsewhere"); err != nil {
		t.Fatal(err)
	}

	// Nobody but its owner withdraws an entry, or sees what matches it.
	w.unchanged("a stranger", func() {
		w.refuses("withdrawing another's", relay.CodeNotFound, "", w.as("stranger").Withdraw(w.ctx, near.ID))
		_, _, _, err := w.as("stranger").Matches(w.ctx, want, 0)
		w.refuses("the matches of another's", relay.CodeNotFound, "", err)
	})
	if err := w.as("seller").Withdraw(w.ctx, near.ID); err != nil {
		t.Fatal(err)
	}
	w.refuses("withdrawing again", relay.CodeNotFound, "", w.as("seller").Withdraw(w.ctx, near.ID))
	_, err := w.as("buyer").Entry(w.ctx, near.ID)
	w.refuses("what was withdrawn", relay.CodeNotFound, "", err)
	if ids, _ := matched(0); !cmp.Equal(ids, []match.ID{"have_new"}) {
		t.Errorf("Matches, one was withdrawn: %v", ids)
	}
	if s, err := w.as("buyer").Entry(w.ctx, far.ID); err != nil || !s.Signed || !s.Value().Equal(far.Value()) {
		t.Errorf("Entry: %+v, %v", s, err)
	}

	// What has expired is not there, swept or not; then nothing is left of it.
	w.pass(time.Hour)
	if ids := found(); len(ids) != 0 {
		t.Errorf("expired and found: %v", ids)
	}
	w.post(w.have("far", "seller", sells(1))) // the id can be used again
	if n, err := w.market.Sweep(w.ctx); n != 2 || err != nil {
		t.Errorf("Sweep = %d, %v, want 2", n, err)
	}
	if diff := cmp.Diff([]match.ID{"have_far"}, found()); diff != "" {
		t.Errorf("after the sweep\n%s", diff)
	}
	if err := w.as("seller").Withdraw(w.ctx, "have_far"); err != nil {
		t.Fatal(err)
	}
	for k, v := range w.dump() {
		if k != "Mn" {
			t.Errorf("left: %q = %q", k, v)
		}
	}
}

// Every entry that is refused is refused before anything changes, and does not come into
// the way of others.
func TestPostRefuses(t *testing.T) {
	w := newWorld(t, market.Limits{EntrySize: 2000, EntryLife: 604_800})
	w.post(w.want("1", "buyer", buys(10)))
	good := w.have("1", "seller", sells(1)).Value()
	edit := func(name string, x any) wire.Value {
		v, err := wire.Encode(x)
		if err != nil {
			t.Fatal(err)
		}
		return good.With(name, v)
	}
	resigned := func(v wire.Value) wire.Value { return w.signed(v, "seller").Value() }
	for _, test := range []struct {
		name  string
		entry wire.Value
		code  relay.Code
		about string
	}{
		{"another agent's", resigned(edit("agent_id", "buyer")), relay.CodeRejected, "entry"},
		{"signed by nobody", edit("signature", "x"), relay.CodeRejected, "entry-signature"},
		{"changed since it was signed", edit("ttl", 60), relay.CodeRejected, "entry-signature"},
		{"from tomorrow", resigned(edit("created_at", "2026-09-15T09:00:00Z")), relay.CodeRejected, "entry"},
		{"over already", resigned(edit("created_at", "2026-09-14T08:00:00Z")), relay.CodeRejected, "entry"},
		{"too long a life", resigned(edit("ttl", 604_801)), relay.CodeQuota, "entry_seconds"},
		{"too large", resigned(edit("metadata", strings.Repeat("x", 2000))), relay.CodeQuota, "entry_bytes"},
		{"no category", edit("category", ""), relay.CodeRejected, "entry-category"},
		{"no term", edit("terms", wire.M{"price": 1}), relay.CodeRejected, "entry-term"},
		{"nowhere", edit("location", wire.M{"lat": 91, "lng": 0}), relay.CodeRejected, "entry-location"},
		{"no entry", wire.Text("x"), relay.CodeBadRequest, ""},
		{"an id that is taken", resigned(edit("type", "concordia.want").With("id", wire.Text("want_1"))), relay.CodeIDConflict, ""},
	} {
		w.unchanged(test.name, func() {
			_, err := w.as("seller").Relay.Call(w.ctx, "market_post", wire.M{"entry": test.entry})
			w.refuses(test.name, test.code, test.about, err)
		})
	}
	if p := w.post(w.signed(good, "seller")); len(p.Matches) != 1 {
		t.Errorf("the good one: %+v", p)
	}
	unsigned, err := match.Read(w.have("plain", "seller", sells(1)).Value().Without("signature").Without("created_at"))
	if err != nil {
		t.Fatal(err)
	}
	w.post(unsigned)
	if s, err := w.as("buyer").Entry(w.ctx, unsigned.ID); err != nil || s.Signed {
		t.Errorf("not signed: %+v, %v", s, err)
	}
	w.unchanged("other bytes", func() {
		_, err := w.as("seller").Post(w.ctx, w.have("plain", "seller", sells(2)))
		w.refuses("other bytes of the same id", relay.CodeIDConflict, "", err)
	})
}

// Each limit holds for as many as it says, and answers with its name.
func TestLimits(t *testing.T) {
	t.Run("entries_per_agent", func(t *testing.T) {
		w := newWorld(t, market.Limits{EntriesAgent: 2})
		w.post(w.want("1", "buyer", buys(1)))
		w.post(w.want("2", "buyer", buys(1)))
		w.unchanged("the third", func() {
			_, err := w.as("buyer").Post(w.ctx, w.want("3", "buyer", buys(1)))
			w.refuses("the third", relay.CodeQuota, "entries_per_agent", err)
		})
		w.post(w.have("1", "buyer", sells(1)))
		w.post(w.want("3", "other", buys(1)))
		if err := w.as("buyer").Withdraw(w.ctx, "want_1"); err != nil {
			t.Fatal(err)
		}
		w.post(w.want("4", "buyer", buys(1)))
	})
	t.Run("entries", func(t *testing.T) {
		w := newWorld(t, market.Limits{Entries: 2})
		w.post(w.want("1", "a", buys(1)))
		w.post(w.want("2", "b", buys(1)))
		w.post(w.have("3", "c", sells(1)))
		_, err := w.as("c").Post(w.ctx, w.want("3", "c", buys(1)))
		w.refuses("the third", relay.CodeQuota, "entries", err)
		w.pass(time.Hour)
		if n, err := w.market.Sweep(w.ctx); n != 3 || err != nil {
			t.Errorf("Sweep = %d, %v", n, err)
		}
		w.post(w.want("3", "c", buys(1)))
	})
	t.Run("bytes", func(t *testing.T) {
		w := newWorld(t, market.Limits{Size: 500})
		w.post(w.want("1", "buyer", buys(1)))
		_, err := w.as("buyer").Post(w.ctx, w.want("2", "buyer", buys(1)))
		w.refuses("the second", relay.CodeQuota, "bytes", err)
	})
	t.Run("free_bytes", func(t *testing.T) {
		w := newWorld(t, market.Limits{})
		w.close()
		w.free = 1 << 62
		w.open()
		_, err := w.as("buyer").Post(w.ctx, w.want("1", "buyer", buys(1)))
		w.refuses("no space", relay.CodeQuota, "free_bytes", err)
		_, err = w.as("buyer").List(w.ctx, wire.M{})
		w.refuses("no space", relay.CodeQuota, "free_bytes", err)
		w.refuses("no space", relay.CodeQuota, "free_bytes", w.as("buyer").Publish(w.ctx, w.profile("buyer", wire.M{})))
	})
	t.Run("listings", func(t *testing.T) {
		w := newWorld(t, market.Limits{Listings: 1})
		for range 2 {
			if _, err := w.as("a").List(w.ctx, wire.M{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.as("b").List(w.ctx, wire.M{})
		w.refuses("the second", relay.CodeQuota, "listings", err)
	})
	t.Run("profiles", func(t *testing.T) {
		w := newWorld(t, market.Limits{Profiles: 1, ProfileSize: 2000, ProfileLife: 86_400})
		w.refuses("too large", relay.CodeQuota, "profile_bytes", w.as("a").Publish(w.ctx, w.profile("a", wire.M{"description": strings.Repeat("x", 2000)})))
		w.refuses("too long", relay.CodeQuota, "profile_seconds", w.as("a").Publish(w.ctx, w.profile("a", wire.M{"ttl": 86_401})))
		if err := w.as("a").Publish(w.ctx, w.profile("a", wire.M{})); err != nil {
			t.Fatal(err)
		}
		w.refuses("the second", relay.CodeQuota, "profiles", w.as("b").Publish(w.ctx, w.profile("b", wire.M{})))
	})
}

// A file of limits names some of them.
func TestParseLimits(t *testing.T) {
	if l, err := market.ParseLimits([]byte(`{"entries": 7}`)); err != nil || l != (market.Limits{Entries: 7}) {
		t.Errorf("ParseLimits = %+v, %v", l, err)
	}
	for _, text := range []string{`[]`, `{`, `{"entry": 1}`, `{"entries": 0}`, `{"entries": 1.5}`, `{"entry_bytes": 8193}`, `{"listing_seconds": 99999999999}`} {
		if _, err := market.ParseLimits([]byte(text)); err == nil {
			t.Errorf("ParseLimits(%s) takes it", text)
		}
	}
}

// More than fits into one answer comes in pages, once each.
func TestPages(t *testing.T) {
	w := newWorld(t, market.Limits{EntriesAgent: 1000})
	want := w.want("1", "buyer", buys(2500))
	for i := range 250 {
		w.post(w.have(fmt.Sprint(i), "seller", sells(i)))
	}
	if p := w.post(want); len(p.Matches) != 20 || !p.More {
		t.Errorf("the best: %d, %v", len(p.Matches), p.More)
	}
	seen := map[match.ID]bool{}
	pages := 0
	for before := uint64(0); pages == 0 || before != 0; pages++ {
		list, next, _, err := w.as("buyer").Search(w.ctx, market.Search{Kind: match.Have, Before: before})
		if err != nil || len(list) > 100 {
			t.Fatalf("Search: %d, %v", len(list), err)
		}
		for _, s := range list {
			seen[s.ID] = true
		}
		before = next
	}
	if pages != 3 || len(seen) != 250 {
		t.Errorf("%d entries on %d pages", len(seen), pages)
	}
	clear(seen)
	more := true
	for after := uint64(0); more; {
		list, next, m, err := w.as("buyer").Matches(w.ctx, want, after)
		if err != nil || len(list) > 100 {
			t.Fatalf("Matches: %d, %v", len(list), err)
		}
		for _, m := range list {
			seen[m.ID] = true
		}
		after, more = next, m
	}
	if len(seen) != 250 {
		t.Errorf("%d matches", len(seen))
	}
	if list, _, _, err := w.as("buyer").Search(w.ctx, market.Search{Kind: match.Have, Agent: "nobody"}); err != nil || len(list) != 0 {
		t.Errorf("of nobody: %d, %v", len(list), err)
	}
}

// A market that lies is caught: by the signatures of entries, and by comparing anew.
func TestLyingMarket(t *testing.T) {
	w := newWorld(t, market.Limits{})
	own, other := w.want("1", "buyer", buys(2500)), w.have("1", "seller", sells(1800))
	w.post(own)
	w.post(other)
	honest := w.as("buyer").Relay
	for _, test := range []struct {
		name string
		lie  func(v wire.Value) wire.Value // about a match
		want error
	}{
		{"a better score", func(v wire.Value) wire.Value { return set(v, 0.99, "match", "score") }, nil},
		{"another overlap", func(v wire.Value) wire.Value { return set(v, wire.M{}, "match", "overlap") }, nil},
		{"another price", func(v wire.Value) wire.Value { return set(v, 1, "entry", "terms", "price", "min") }, match.RuleSignature},
		{"no entry", func(v wire.Value) wire.Value { return set(v, wire.M{}, "entry") }, match.RuleEntry},
		{"an own entry", func(v wire.Value) wire.Value { return set(v, own.Value(), "entry") }, nil},
	} {
		c := *w.as("buyer").Client
		c.Relay = lying{honest, func(v wire.Value) wire.Value {
			list, _ := v.Get("matches")
			first, _ := list.At("0")
			return set(v, []wire.Value{test.lie(first)}, "matches")
		}}
		if _, _, _, err := c.Matches(w.ctx, own, 0); err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	c := *w.as("buyer").Client
	c.Relay = lying{honest, func(v wire.Value) wire.Value {
		list, _ := v.Get("entries")
		first, _ := list.At("0")
		return set(v, []wire.Value{set(first, 1, "entry", "ttl")}, "entries")
	}}
	if list, _, refused, err := c.Search(w.ctx, market.Search{Kind: match.Have}); len(list) != 0 || refused != 1 || err != nil {
		t.Errorf("Search: %d, %d, %v", len(list), refused, err)
	}
}

// A lying market changes what an honest one answers.
type lying struct {
	market.Caller
	change func(wire.Value) wire.Value
}

func (l lying) Call(ctx context.Context, op string, request wire.M) (wire.Value, error) {
	v, err := l.Caller.Call(ctx, op, request)
	if err == nil {
		v = l.change(v)
	}
	return v, err
}

// set returns v with another value at the end of a path.
func set(v wire.Value, x any, path ...string) wire.Value {
	if len(path) > 0 {
		below, _ := v.Get(path[0])
		return v.With(path[0], set(below, x, path[1:]...))
	}
	v, err := wire.Encode(x)
	if err != nil {
		panic(err)
	}
	return v
}

// Many agents at once: each keeps to its limits, and what is kept fits together.
func TestTogether(t *testing.T) {
	w := newWorld(t, market.Limits{EntriesAgent: 5})
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("agent", i)
		a := w.as(name)
		all.Go(func() {
			for n := range 12 {
				kind := match.Want
				members := buys(100)
				if i%2 == 0 {
					kind, members = match.Have, sells(i)
				}
				e := w.entry(kind, fmt.Sprintf("%d_%d", i, n%4), name, members)
				if _, err := a.Post(w.ctx, e); err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
				if _, _, _, err := a.Matches(w.ctx, e, 0); err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
				if _, _, _, err := a.Search(w.ctx, market.Search{Kind: kind}); err != nil {
					t.Error(err)
				}
				if n%3 == 0 {
					if err := a.Withdraw(w.ctx, e.ID); err != nil {
						t.Errorf("%s: %v", e.ID, err)
					}
				}
			}
		})
	}
	all.Wait()
	if _, err := market.Audit(w.ctx, w.mail, func(p relay.Problem) { t.Errorf("%s: %v", p.Where, p.Err) }); err != nil {
		t.Error(err)
	}
	count := func() (n int) {
		for _, kind := range []match.Kind{match.Want, match.Have} {
			list, _, _, err := w.as("stranger").Search(w.ctx, market.Search{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			n += len(list)
		}
		return n
	}
	before := count()
	w.close()
	w.open()
	if after := count(); before == 0 || after != before {
		t.Errorf("%d entries before a restart, and %d after it", before, after)
	}
}
