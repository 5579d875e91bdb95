package mcpserver_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// A want and a have of cameras.
const (
	buys  = `"category":"electronics.cameras","terms":{"price":{"max":2500,"currency":"USD"},"condition":{"min":"good"}}`
	sells = `"category":"electronics.cameras.slr","terms":{"price":{"min":1800,"currency":"USD"},"condition":{"value":"like_new"}}`
)

// Post, match, look, search, withdraw: what the market of a relay is for, over MCP alone.
func TestWantsAndHaves(t *testing.T) {
	w := newWorld(t)
	buyer, seller := w.agent("buyer", mcpserver.Options{}, nil), w.agent("seller", mcpserver.Options{}, nil)
	stranger := w.agent("stranger", mcpserver.Options{}, nil)
	v := buyer.call("concordia_post_want", `{`+buys+`,"agent_id":"`+string(agent("buyer"))+`","auth_token":"x","metadata":{"for":"a friend"}}`)
	want := at(v, "want_id")
	if !strings.HasPrefix(want, "want_") || at(v, "want", "signature") == "" || at(v, "want", "agent_id") != string(agent("buyer")) || at(v, "match_count") != "0" || at(v, "want", "ttl") != "604800" || at(v, "number") != "1" {
		t.Errorf("a want: %s", v)
	}
	v = seller.call("concordia_post_have", `{`+sells+`,"ttl":3600}`)
	have := at(v, "have_id")
	if at(v, "match_count") != "1" || at(v, "immediate_matches", "0", "want_id") != want || at(v, "immediate_matches", "0", "have_id") != have ||
		at(v, "immediate_matches", "0", "want_agent_id") != string(agent("buyer")) || at(v, "immediate_matches", "0", "signed") != "true" ||
		at(v, "external", "wants", want, "metadata", "for") != "a friend" {
		t.Errorf("a have that matches: %s", v)
	}
	if got := at(v, "external", "overlaps", at(v, "immediate_matches", "0", "match_id"), "price", "range"); got != "[1800,2500]" {
		t.Errorf("what they have in common: %s", got)
	}

	v = stranger.call("concordia_get_want", `{"want_id":"`+want+`"}`)
	if at(v, "found") != "true" || at(v, "signed") != "true" || at(v, "external", "want", "terms", "price", "max") != "2500" || at(v, "want") != "" {
		t.Errorf("another's want: %s", v)
	}
	if v = seller.call("concordia_get_have", `{"have_id":"`+have+`"}`); at(v, "have", "id") != have {
		t.Errorf("the own have: %s", v)
	}
	for _, none := range []string{"have_none", want} {
		if v = seller.call("concordia_get_have", `{"have_id":"`+none+`"}`); at(v, "found") != "false" || at(v, "have_id") != none {
			t.Errorf("a have that is none: %s", v)
		}
	}
	if v = stranger.call("concordia_search_haves", `{"category":"electronics"}`); at(v, "count") != "1" || at(v, "haves", "0", "have_id") != have || at(v, "external", "haves", have, "category") != "electronics.cameras.slr" {
		t.Errorf("a search: %s", v)
	}
	if v = stranger.call("concordia_search_wants", `{"category":"electronics.cameras.slr"}`); at(v, "count") != "0" {
		t.Errorf("a search below: %s", v)
	}

	v = buyer.call("concordia_find_matches", `{"want_id":"`+want+`"}`)
	if at(v, "count") != "1" || at(v, "matches", "0", "have_id") != have || at(v, "more") != "false" || at(v, "external", "haves", have, "terms", "price", "min") != "1800" {
		t.Errorf("matches: %s", v)
	}
	next := at(v, "next_after")
	if v = buyer.call("concordia_find_matches", `{"want_id":"`+want+`","after":`+next+`}`); at(v, "count") != "0" {
		t.Errorf("nothing new: %s", v)
	}
	if v = buyer.call("concordia_find_matches", `{}`); at(v, "count") != "1" {
		t.Errorf("all matches: %s", v)
	}
	if v = seller.call("concordia_find_matches", `{"agent_id":"`+string(agent("seller"))+`"}`); at(v, "matches", "0", "want_id") != want {
		t.Errorf("all matches of the seller: %s", v)
	}
	if v = stranger.call("concordia_want_registry_stats", `{}`); at(v, "active_wants") != "1" || at(v, "active_haves") != "1" {
		t.Errorf("stats: %s", v)
	}

	for tool, args := range map[string]string{"concordia_withdraw_want": `{"want_id":"` + want + `"}`, "concordia_find_matches": `{"want_id":"` + want + `"}`} {
		if v = stranger.refused(tool, args); at(v, "code") != "not_found" {
			t.Errorf("%s of another's want: %s", tool, v)
		}
	}
	if v = seller.call("concordia_withdraw_have", `{"have_id":"`+have+`"}`); at(v, "withdrawn") != "true" {
		t.Errorf("withdrawn: %s", v)
	}
	if v = seller.refused("concordia_withdraw_have", `{"have_id":"`+have+`"}`); at(v, "code") != "not_found" {
		t.Errorf("withdrawn again: %s", v)
	}
	if v = buyer.call("concordia_find_matches", `{"want_id":"`+want+`"}`); at(v, "count") != "0" {
		t.Errorf("matches of what was withdrawn: %s", v)
	}
	buyer.call("concordia_withdraw_want", `{"want_id":"`+want+`"}`)
}

// What matches, dimension by dimension (SPEC §7.3).
func TestMatching(t *testing.T) {
	w := newWorld(t)
	buyer, seller := w.agent("buyer", mcpserver.Options{}, nil), w.agent("seller", mcpserver.Options{}, nil)
	near, far := `"location":{"coordinates":{"lat":37.77,"lng":-122.42}}`, `"location":{"coordinates":{"lat":40.71,"lng":-74.0}}`
	for i, test := range []struct {
		name, want, have string
		matches          bool
	}{
		{"ranges that meet", `"terms":{"price":{"min":1000,"max":2000}}`, `"terms":{"price":{"min":1500,"max":3000}}`, true},
		{"ranges that do not", `"terms":{"price":{"min":1000,"max":2000}}`, `"terms":{"price":{"min":2500,"max":3000}}`, false},
		{"a have that costs more than it is wanted for", `"terms":{"price":{"max":10}}`, `"terms":{"price":{"value":5000}}`, false},
		{"a number and a grade", `"terms":{"condition":{"min":"good"}}`, `"terms":{"condition":{"value":7}}`, false},
		{"other currencies", `"terms":{"price":{"max":2500,"currency":"USD"}}`, `"terms":{"price":{"min":1800,"currency":"EUR"}}`, false},
		{"other units", `"terms":{"weight":{"max":5,"unit":"kg"}}`, `"terms":{"weight":{"value":2,"unit":"lb"}}`, false},
		{"other colors", `"terms":{"color":{"value":"red"}}`, `"terms":{"color":{"value":"blue"}}`, false},
		{"texts that resemble", `"terms":{"model":{"value":"EOS R5","match":"fuzzy"}}`, `"terms":{"model":{"value":"Canon EOS R5"}}`, true},
		{"texts that do not", `"terms":{"model":{"value":"EOS R5","match":"fuzzy"}}`, `"terms":{"model":{"value":"banana"}}`, false},
		{"a category below", `"category":"a.b","terms":{}`, `"category":"a.b.c","terms":{}`, true},
		{"a category that begins with the same letters", `"category":"a.b","terms":{}`, `"category":"a.bc","terms":{}`, false},
		{"near enough", `"terms":{},"location":{"of":{"lat":37.7,"lng":-122.4},"within_km":50}`, `"terms":{},` + near, true},
		{"too far", `"terms":{},"location":{"of":{"lat":37.7,"lng":-122.4},"within_km":50}`, `"terms":{},` + far, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.TB = t
			if !strings.Contains(test.want, `"category"`) {
				test.want, test.have = fmt.Sprintf(`"category":"c%d",`, i)+test.want, fmt.Sprintf(`"category":"c%d",`, i)+test.have
			}
			want := at(buyer.call("concordia_post_want", `{`+test.want+`}`), "want_id")
			v := seller.call("concordia_post_have", `{`+test.have+`}`)
			if got := at(v, "match_count") == "1"; got != test.matches {
				t.Errorf("%s", v)
			}
			buyer.call("concordia_withdraw_want", `{"want_id":"`+want+`"}`)
			seller.call("concordia_withdraw_have", `{"have_id":"`+at(v, "have_id")+`"}`)
		})
	}
	w.TB = t
}

// Long lists are read page by page, each entry once.
func TestMarketPages(t *testing.T) {
	w := newWorld(t)
	buyer, seller := w.agent("buyer", mcpserver.Options{}, nil), w.agent("seller", mcpserver.Options{}, nil)
	want := at(buyer.call("concordia_post_want", `{"category":"a","terms":{"price":{"max":100}}}`), "want_id")
	var posted []string
	for i := range 30 {
		posted = append(posted, at(seller.call("concordia_post_have", fmt.Sprintf(`{"category":"a","terms":{"price":{"min":%d}}}`, i+1)), "have_id"))
	}
	ids := func(v wire.Value, list string) (ids []string) {
		found, _ := v.Get(list)
		for _, e := range found.Elems() {
			ids = append(ids, at(e, "have_id"))
		}
		if len(ids) > 7 {
			t.Errorf("%d %s", len(ids), list)
		}
		return ids
	}
	var got []string
	for after, more := "0", true; more; {
		v := buyer.call("concordia_find_matches", `{"want_id":"`+want+`","limit":7,"after":`+after+`}`)
		got = append(got, ids(v, "matches")...)
		after, more = at(v, "next_after"), at(v, "more") == "true"
	}
	if !slices.Equal(got, posted) {
		t.Errorf("matches in order: %v, want %v", got, posted)
	}
	newest := slices.Clone(posted)
	slices.Reverse(newest)
	got = nil
	for before, more := "1000", true; more; {
		v := buyer.call("concordia_search_haves", `{"limit":7,"before":`+before+`}`)
		got = append(got, ids(v, "haves")...)
		_, more = v.Get("before")
		before = at(v, "before")
	}
	if !slices.Equal(got, newest) {
		t.Errorf("a search: %v, want %v", got, newest)
	}
	best := buyer.call("concordia_find_matches", `{"want_id":"`+want+`","limit":1}`)
	if at(best, "matches", "0", "have_id") != posted[0] || at(best, "more") != "true" {
		t.Errorf("the best of all: %s", best)
	}
}

// What the market or the tool refuses is refused by what it is, with where it is wrong.
func TestMarketRefusals(t *testing.T) {
	w := newWorldOf(t, &market.Limits{EntriesAgent: 2, EntrySize: 1000, ProfileSize: 1200, Listings: 1, EntryLife: 100_000, ProfileLife: 100_000}, func(*relay.Limits) {})
	buyer, seller := w.agent("buyer", mcpserver.Options{}, nil), w.agent("seller", mcpserver.Options{}, nil)
	buyer.call("concordia_post_want", `{"category":"a","terms":{},"ttl":1000,"want_id":"want_1"}`)
	buyer.call("concordia_post_want", `{"category":"a","terms":{},"ttl":1000,"want_id":"want_2"}`)
	seller.call("concordia_register_agent", `{}`)
	long := strings.Repeat("x", 900)
	for _, test := range []struct{ name, tool, args, code, more, value string }{
		{"one more than an agent may have", "concordia_post_want", `{"category":"a","terms":{},"ttl":1000}`, "refused", "limit", "entries_per_agent"},
		{"and what to do then", "concordia_post_want", `{"category":"a","terms":{},"ttl":1000}`, "refused", "next", "It is more than the relay allows, by the limit that is named. Ask for less, or take back what you do not need."},
		{"too large", "concordia_post_have", `{"category":"a","terms":{"a":{"value":"` + long + `"}},"ttl":1000}`, "refused", "limit", "entry_bytes"},
		{"for too long", "concordia_post_have", `{"category":"a","terms":{}}`, "refused", "limit", "entry_seconds"},
		{"a full directory", "concordia_register_agent", `{}`, "refused", "limit", "listings"},
		{"a profile that is too large", "agent_profile_publish", `{"description":"` + long + `"}`, "refused", "limit", "profile_bytes"},
		{"a profile for too long", "agent_profile_publish", `{"ttl":200000}`, "refused", "limit", "profile_seconds"},
		{"no category", "concordia_post_want", `{"terms":{}}`, "bad_request", "pointer", "/category"},
		{"no such category", "concordia_post_have", `{"category":"A","terms":{}}`, "rule", "pointer", "/category"},
		{"a term that takes nothing", "concordia_post_have", `{"category":"a","terms":{"price":{"min":3,"max":2}}}`, "rule", "rule", "entry-term"},
		{"a location on no earth", "concordia_post_have", `{"category":"a","terms":{},"location":{"lat":999,"lng":0}}`, "rule", "rule", "entry-location"},
		{"terms that are none", "concordia_post_have", `{"category":"a","terms":{"price":5}}`, "bad_request", "pointer", "/terms/price"},
		{"somebody else's name", "concordia_post_have", `{"category":"a","terms":{},"agent_id":"` + string(agent("seller")) + `"}`, "bad_request", "pointer", "/agent_id"},
		{"an argument in another case", "concordia_post_have", `{"category":"a","terms":{},"Category":"b"}`, "bad_request", "pointer", "/Category"},
		{"an argument of no tool", "concordia_search_wants", `{"signature":"x"}`, "bad_request", "pointer", "/signature"},
		{"a have that is withdrawn as a want", "concordia_withdraw_want", `{"want_id":"have_1"}`, "bad_request", "pointer", "/want_id"},
		{"the id of a have for a want", "concordia_post_want", `{"category":"a","terms":{},"want_id":"have_1"}`, "rule", "pointer", "/id"},
		{"an id with a space", "concordia_get_want", `{"want_id":"want_ 1"}`, "bad_request", "pointer", "/want_id"},
		{"matches of two", "concordia_find_matches", `{"want_id":"want_1","have_id":"have_1"}`, "bad_request", "pointer", "/have_id"},
		{"after without an id", "concordia_find_matches", `{"after":1}`, "bad_request", "pointer", "/after"},
		{"matches of none", "concordia_find_matches", `{"want_id":"want_none"}`, "not_found", "", ""},
		{"a recommendation for none", "agent_discovery_recommend", `{"want_id":"want_none"}`, "not_found", "", ""},
		{"a search in no category", "concordia_search_haves", `{"category":"A"}`, "bad_request", "pointer", "/category"},
		{"an endpoint that is none", "concordia_register_agent", `{"endpoint":"http://x"}`, "bad_request", "pointer", "/endpoint"},
		{"another want of the same id", "concordia_post_want", `{"category":"b","terms":{},"ttl":1000,"want_id":"want_1"}`, "taken", "", ""},
		{"a limit of none", "concordia_search_haves", `{"limit":0}`, "bad_request", "pointer", "/limit"},
		{"a rate above one", "agent_profile_publish", `{"agreement_rate":2}`, "rule", "rule", "profile-values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.TB = t
			v := buyer.refused(test.tool, test.args)
			if at(v, "code") != test.code || test.more != "" && at(v, test.more) != test.value || at(v, "error") == "" {
				t.Errorf("%s", v)
			}
		})
	}
	w.TB = t
	if v := buyer.call("concordia_want_registry_stats", `{}`); at(v, "active_wants") != "2" || at(v, "active_haves") != "0" || at(v, "listed_agents") != "1" || at(v, "profiles") != "0" {
		t.Errorf("what was refused has left something: %s", v)
	}
}

// A node without a relay, and one whose relay has no market, say so, and what to do.
func TestNoMarket(t *testing.T) {
	w := newWorldOf(t, nil, func(*relay.Limits) {})
	for name, change := range map[string]func(*node.Options){"without": func(o *node.Options) { o.Relay = "" }, "with": nil} {
		c := w.agent(name, mcpserver.Options{}, change)
		for tool, args := range map[string]string{
			"concordia_post_want": `{` + buys + `}`, "concordia_get_have": `{"have_id":"have_1"}`, "concordia_search_wants": `{}`, "concordia_find_matches": `{}`,
			"concordia_register_agent": `{}`, "concordia_search_agents": `{}`, "concordia_deregister_agent": `{}`, "agent_profile_publish": `{}`,
			"agent_profile_get": `{"agent_id":"a"}`, "agent_discovery_search": `{}`, "concordia_want_registry_stats": `{}`, "concordia_withdraw_have": `{"have_id":"have_1"}`,
		} {
			if v := c.refused(tool, args); at(v, "code") != "no_market" || !strings.Contains(at(v, "error"), "--market") {
				t.Errorf("%s a relay, %s: %s", name, tool, v)
			}
		}
	}
}

// Of many who post under one id, one has it: others of the same agent with the same want
// find that it happened, and whoever wants something else is refused.
func TestParallelPosts(t *testing.T) {
	w := newWorld(t)
	buyer, other := w.agent("buyer", mcpserver.Options{}, nil), w.agent("other", mcpserver.Options{}, nil)
	for _, c := range []*client{buyer, other} {
		c.call("concordia_want_registry_stats", `{}`) // registered
	}
	var mu sync.Mutex
	numbers, owners, codes := map[string]bool{}, map[string]bool{}, map[string]int{}
	var work sync.WaitGroup
	for i := range 24 {
		c, category := buyer, "a"
		switch i % 3 {
		case 1:
			category = "b"
		case 2:
			c = other
		}
		work.Go(func() {
			r, err := c.raw("concordia_post_want", `{"category":"`+category+`","terms":{},"want_id":"want_1"}`)
			v := result(t, r, err)
			mu.Lock()
			defer mu.Unlock()
			codes[at(v, "code")]++
			if !r.IsError {
				numbers[at(v, "number")] = true
				owners[at(v, "want", "agent_id")+" "+at(v, "want", "category")] = true
			}
		})
	}
	work.Wait()
	if len(numbers) != 1 || len(owners) != 1 || codes[""] != 8 || codes["taken"] != 16 {
		t.Errorf("posted %v by %v, codes %v", numbers, owners, codes)
	}
	if v := buyer.call("concordia_search_wants", `{}`); at(v, "count") != "1" {
		t.Errorf("%s", v)
	}
}

// A want that another one answers is told of by concordia_wait, once until somebody asks.
func TestMatchNotice(t *testing.T) {
	w := newWorld(t)
	buyer, seller := w.agent("buyer", mcpserver.Options{}, nil), w.agent("seller", mcpserver.Options{}, nil)
	want := at(buyer.call("concordia_post_want", `{`+buys+`}`), "want_id")
	quiet := at(buyer.call("concordia_post_want", `{`+buys+`,"notify":false}`), "want_id")
	told := func(after string) (list []wire.Value, last string) {
		v := buyer.call("concordia_wait", `{"after":`+after+`}`)
		notices, _ := v.Get("notices")
		for _, n := range notices.Elems() {
			list = append(list, n)
		}
		return list, at(v, "last")
	}
	seller.call("concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`}`)
	_, last := told("0") // of the invitation: the buyer is connected
	seller.call("concordia_post_have", `{`+sells+`}`)
	list, last := told(last)
	if len(list) != 1 || at(list[0], "kind") != "match" || at(list[0], "entry_id") != want {
		t.Fatalf("notices %v, want one of %s and not of %s", list, want, quiet)
	}
	seller.call("concordia_post_have", `{`+sells+`}`) // nobody has asked yet
	if v := buyer.call("concordia_find_matches", `{"want_id":"`+want+`"}`); at(v, "count") != "2" {
		t.Errorf("matches: %s", v)
	}
	seller.call("concordia_post_have", `{`+sells+`}`)
	if list, _ = told(last); len(list) != 1 || at(list[0], "entry_id") != want {
		t.Errorf("notices after somebody has asked: %v", list)
	}
}

// Who does not hear what became of a post is told how to make the same one again, which
// happens once.
func TestPostAgain(t *testing.T) {
	w := newWorld(t)
	c := w.agent("buyer", mcpserver.Options{}, nil)
	c.call("concordia_want_registry_stats", `{}`) // registered
	hasty := w.connect(c.node, mcpserver.Options{Patience: time.Second})
	lost := make(chan struct{})
	w.lies.Store(&map[string]lie{"market_post": func(v wire.Value) wire.Value { <-lost; return v }})
	v := hasty.refused("concordia_post_want", `{`+buys+`}`)
	id := at(v, "repeat", "want_id")
	if at(v, "code") != "timeout" || !strings.HasPrefix(id, "want_") {
		t.Errorf("a post whose answer is lost: %s", v)
	}
	w.lies.Store(nil)
	close(lost)
	if v = c.call("concordia_post_want", `{`+buys+`,"want_id":"`+id+`"}`); at(v, "number") != "1" || at(v, "want_id") != id {
		t.Errorf("the same again: %s", v)
	}
	if v = c.call("concordia_want_registry_stats", `{}`); at(v, "active_wants") != "1" {
		t.Errorf("stats: %s", v)
	}
}
