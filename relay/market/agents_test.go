package market_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// A listing says what its agent said, with the key that the relay knows; it goes by
// itself.
func TestDirectory(t *testing.T) {
	w := newWorld(t, market.Limits{ListingLife: 3600})
	list := func(name string, members wire.M) {
		t.Helper()
		if _, err := w.as(name).List(w.ctx, members); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	list("anna", wire.M{"roles": []string{"seller"}, "categories": []string{"a.b"}, "resolution_mechanisms": []string{"split"}, "endpoint": "https://anna.example/n"})
	list("bert", wire.M{"roles": []string{"buyer", "seller"}, "categories": []string{"a", "c"}, "max_concurrent_sessions": 3, "description": "two\nlines"})
	list("carl", wire.M{})
	for _, test := range []struct {
		by   wire.M
		want []string
	}{
		{wire.M{}, []string{"anna", "bert", "carl"}},
		{wire.M{"category": "a"}, []string{"anna", "bert", "carl"}},
		{wire.M{"category": "a.b.c"}, []string{"anna", "bert", "carl"}},
		{wire.M{"category": "a.c"}, []string{"bert", "carl"}},
		{wire.M{"category": "ab"}, []string{"carl"}}, // a word that begins alike is another
		{wire.M{"role": "seller"}, []string{"anna", "bert"}},
		{wire.M{"role": "seller", "category": "c"}, []string{"bert"}},
		{wire.M{"resolution_mechanism": "split"}, []string{"anna"}},
		{wire.M{"role": "broker"}, nil},
		{wire.M{"after": wire.AgentID("anna")}, []string{"bert", "carl"}},
	} {
		found, after, err := w.as("dora").Agents(w.ctx, test.by)
		if err != nil || after != "" {
			t.Fatalf("%v: %q, %v", test.by, after, err)
		}
		var got []string
		for _, v := range found {
			id, _ := v.Get("agent_id")
			got = append(got, id.Text())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Agents(%v)\n%s", test.by, diff)
		}
	}
	w.pass(time.Minute)
	list("anna", wire.M{"roles": []string{"buyer"}})
	v, err := w.as("dora").Agent(w.ctx, "anna")
	want := fmt.Sprintf(`{"agent_id":"anna","capabilities":{"categories":[],"protocol":"concordia","resolution_mechanisms":[],"roles":["buyer"],"version":"0.1.0"},`+
		`"concordia_preferred":true,"expires_at":"2026-09-14T10:01:00Z","last_seen":"2026-09-14T09:01:00Z","public_key":%q,"registered_at":"2026-09-14T09:00:00Z"}`, key("anna").Public())
	if err != nil || v.Canonical() != want {
		t.Errorf("Agent = %s, %v, want %s", v, err, want)
	}
	w.refuses("who is not listed", relay.CodeNotFound, "", w.as("dora").Unlist(w.ctx))
	if err := w.as("bert").Unlist(w.ctx); err != nil {
		t.Fatal(err)
	}
	_, err = w.as("dora").Agent(w.ctx, "bert")
	w.refuses("who is listed no more", relay.CodeNotFound, "", err)
	w.pass(time.Hour)
	if found, _, err := w.as("dora").Agents(w.ctx, wire.M{}); len(found) != 0 || err != nil {
		t.Errorf("expired: %v, %v", found, err)
	}
	if n, err := w.market.Sweep(w.ctx); n != 2 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if left := w.dump(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

func TestListRefuses(t *testing.T) {
	w := newWorld(t, market.Limits{})
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	for name, members := range map[string]wire.M{
		"too many roles":       {"roles": many},
		"a role in capitals":   {"roles": []string{"Seller"}},
		"a category in spaces": {"categories": []string{"a b"}},
		"too many categories":  {"categories": many},
		"plain http":           {"endpoint": "http://x.example"},
		"a user in a URL":      {"endpoint": "https://u:p@x.example"},
		"a long URL":           {"endpoint": "https://x.example/" + strings.Repeat("x", 512)},
		"a long text":          {"description": strings.Repeat("x", 1001)},
		"a bell":               {"description": "\a"},
		"text backwards":       {"description": "\u202eevil"},
		"no session":           {"max_concurrent_sessions": 0},
		"another agent":        {"agent_id": "other"},
	} {
		w.unchanged(name, func() {
			_, err := w.as("anna").List(w.ctx, members)
			w.refuses(name, relay.CodeBadRequest, "", err)
		})
	}
}

// Many listings come in pages, and one answer does not look at all of them.
func TestDirectoryPages(t *testing.T) {
	w := newWorld(t, market.Limits{})
	err := w.mail.Update(w.ctx, func(tx relay.Tx) error {
		for i := range 2500 { // as doList writes them
			v, err := wire.Encode(wire.M{"agent_id": fmt.Sprintf("agent%04d", i), "capabilities": wire.M{"roles": []string{map[bool]string{true: "rare", false: "usual"}[i == 2400]}}})
			if err != nil {
				return err
			}
			until := "\x7f\xff\xff\xff\xff\xff\xff\xff"
			tx.Put(fmt.Sprintf("Mlagent%04d", i), []byte("\x00\x00\x00\x00\x00\x00\x00\x00"+until+v.Canonical()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]struct{ pages, agents int }{"rare": {3, 1}, "usual": {25, 2499}} {
		by := wire.M{"role": role}
		pages, agents := 0, 0
		for after := wire.AgentID("x"); after != ""; pages++ {
			var list []wire.Value
			if list, after, err = w.as("dora").Agents(w.ctx, by); err != nil {
				t.Fatal(err)
			}
			agents += len(list)
			by["after"] = after
		}
		if agents != want.agents || pages != want.pages {
			t.Errorf("%s: %d agents on %d pages, want %d on %d", role, agents, pages, want.agents, want.pages)
		}
	}
}

// Only a newer profile replaces one, and what was taken back does not come back, not even
// after a restart or a sweep.
func TestProfiles(t *testing.T) {
	w := newWorld(t, market.Limits{ProfileLife: 86_400})
	first := w.profile("anna", wire.M{"name": "Anna", "capabilities": wire.M{"categories": []string{"a.b"}}})
	w.pass(time.Minute)
	second := w.profile("anna", wire.M{"name": "Anna the second", "ttl": 600})
	publish := func(v wire.Value) error { return w.as("anna").Publish(w.ctx, v) }
	for range 2 {
		if err := publish(second); err != nil {
			t.Fatal(err)
		}
	}
	w.unchanged("an older one", func() { w.refuses("an older one", relay.CodeOutdated, "", publish(first)) })
	w.unchanged("another of the same moment", func() {
		w.refuses("another of the same moment", relay.CodeOutdated, "", publish(w.profile("anna", wire.M{"name": "Anna, twice"})))
	})
	p, err := w.as("bert").Profile(w.ctx, "anna")
	if err != nil || p.Report.Err() != nil || !p.Value().Equal(second) {
		t.Errorf("Profile = %+v, %v", p, err)
	}
	w.pass(10 * time.Minute) // it expires, but is remembered
	if n, err := w.market.Sweep(w.ctx); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	_, err = w.as("bert").Profile(w.ctx, "anna")
	w.refuses("an expired one", relay.CodeNotFound, "", err)
	w.refuses("an older one that has not expired", relay.CodeOutdated, "", publish(first))
	third := w.profile("anna", wire.M{"name": "Anna the third"})
	if err := publish(third); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	if err := w.as("anna").Unpublish(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.refuses("taking it back again", relay.CodeNotFound, "", w.as("anna").Unpublish(w.ctx))
	w.close()
	w.open()
	w.refuses("what was taken back", relay.CodeOutdated, "", w.as("anna").Publish(w.ctx, third))
	if n, err := w.market.Sweep(w.ctx); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	w.pass(24 * time.Hour)
	if n, err := w.market.Sweep(w.ctx); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
	if left := w.dump(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	err = w.as("anna").Publish(w.ctx, third)
	w.refuses("nothing is remembered, and it has expired", relay.CodeRejected, "profile-ttl", err)
}

func TestPublishRefuses(t *testing.T) {
	w := newWorld(t, market.Limits{})
	good := w.profile("anna", wire.M{"name": "Anna"})
	w.pass(-time.Hour)
	early := w.profile("anna", wire.M{})
	w.pass(25 * time.Hour)
	late := w.profile("anna", wire.M{})
	w.pass(-24 * time.Hour)
	for _, test := range []struct {
		name  string
		v     wire.Value
		code  relay.Code
		about string
	}{
		{"another agent's", w.profile("bert", wire.M{}), relay.CodeRejected, "profile"},
		{"changed since it was signed", good.With("name", wire.Text("Mallory")), relay.CodeRejected, "profile-signature"},
		{"a member of no profile", good.With("x", wire.Text("y")), relay.CodeRejected, "profile"},
		{"from tomorrow", late, relay.CodeRejected, "not-yet-valid"},
		{"no object", wire.Text("x"), relay.CodeBadRequest, ""},
	} {
		w.unchanged(test.name, func() {
			_, err := w.as("anna").Relay.Call(w.ctx, "market_publish", wire.M{"profile": test.v})
			w.refuses(test.name, test.code, test.about, err)
		})
	}
	if err := w.as("anna").Publish(w.ctx, early); err != nil {
		t.Errorf("the one that is still good: %v", err)
	}
}

// The client verifies profiles whatever the market did.
func TestSearchProfiles(t *testing.T) {
	w := newWorld(t, market.Limits{})
	for name, members := range map[string]wire.M{
		"anna": {"capabilities": wire.M{"categories": []string{"a.b"}, "offer_types": []string{"basic", "bundle"}}},
		"bert": {"capabilities": wire.M{"categories": []string{"c"}}},
	} {
		if err := w.as(name).Publish(w.ctx, w.profile(name, members)); err != nil {
			t.Fatal(err)
		}
	}
	c := *w.as("dora").Client
	for _, test := range []struct {
		by   wire.M
		want int
	}{{wire.M{}, 2}, {wire.M{"category": "a"}, 1}, {wire.M{"category": "b"}, 0}, {wire.M{"offer_type": "bundle"}, 1}} {
		if list, after, refused, err := c.Profiles(w.ctx, test.by); len(list) != test.want || after != "" || refused != 0 || err != nil {
			t.Errorf("Profiles(%v) = %d, %q, %d, %v", test.by, len(list), after, refused, err)
		}
	}
	honest := c.Relay
	c.Relay = lying{honest, func(v wire.Value) wire.Value {
		list, _ := v.Get("profiles")
		first, _ := list.At("0")
		second, _ := list.At("1")
		return set(v, []wire.Value{set(first, "Mallory", "name"), second}, "profiles")
	}}
	if list, _, refused, err := c.Profiles(w.ctx, wire.M{}); len(list) != 1 || refused != 1 || err != nil {
		t.Errorf("one is forged: %d, %d, %v", len(list), refused, err)
	}
	c.Relay = lying{honest, func(v wire.Value) wire.Value {
		p, _ := v.Get("profile")
		return set(v, set(p, "Mallory", "name"), "profile")
	}}
	p, err := c.Profile(w.ctx, "anna")
	if v := p.Report.Err(); err != nil || v == nil {
		t.Errorf("forged: %v, %v", v, err)
	}
	c.Relay = honest
	c.Keys = wire.KeyMap{}
	if p, err := c.Profile(w.ctx, "anna"); err != nil || p.Report.Outcome() != wire.NotChecked {
		t.Errorf("of a key that is not known: %v, %v", p.Report.Outcome(), err)
	}
}
