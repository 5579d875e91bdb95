package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// Listed, found, listed anew, shown as card and badge, and listed no more.
func TestDirectory(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	id := string(agent("seller"))
	v := seller.call("concordia_register_agent", `{"agent_id":"`+id+`","auth_token":"x","roles":["seller"],"categories":["electronics.cameras"],"endpoint":"https://seller.example","description":"Old cameras"}`)
	if at(v, "registered") != "true" || at(v, "agent", "capabilities", "roles", "0") != "seller" || at(v, "agent", "registered_at") == "" || at(v, "agent", "description") != "Old cameras" {
		t.Errorf("registered: %s", v)
	}
	buyer.call("concordia_register_agent", `{"roles":["buyer"]}`)
	for _, test := range []struct{ args, found string }{
		{`{"role":"seller"}`, "1"}, {`{"role":"mediator"}`, "0"}, {`{}`, "2"}, {`{"category":"electronics"}`, "2"}, {`{"category":"food","role":"seller"}`, "0"}, {`{"resolution_mechanism":"split"}`, "0"},
	} {
		if v = buyer.call("concordia_search_agents", test.args); at(v, "count") != test.found {
			t.Errorf("a search for %s: %s", test.args, v)
		}
	}
	v = buyer.call("concordia_search_agents", `{"role":"seller"}`)
	if at(v, "agents", "0", "agent_id") != id || at(v, "external", "agents", id, "endpoint") != "https://seller.example" || at(v, "filters", "role") != "seller" {
		t.Errorf("found: %s", v)
	}
	first := buyer.call("concordia_search_agents", `{"limit":1}`)
	second := buyer.call("concordia_search_agents", `{"limit":1,"after":"`+at(first, "after")+`"}`)
	if at(first, "agents", "0", "agent_id") == at(second, "agents", "0", "agent_id") || at(second, "count") != "1" {
		t.Errorf("page by page: %s, %s", first, second)
	}
	if v = buyer.call("concordia_agent_card", `{"agent_id":"`+id+`"}`); at(v, "found") != "true" || at(v, "external", "agent_card", "capabilities", "extensions", "0", "params", "roles", "0") != "seller" || at(v, "external", "agent_card", "url") != "https://seller.example" {
		t.Errorf("card: %s", v)
	}
	if v = buyer.call("concordia_preferred_badge", `{"agent_id":"`+id+`"}`); at(v, "badge", "registered") != "true" || at(v, "badge", "verified") != "false" || at(v, "external", "capabilities", "categories", "0") != "electronics.cameras" {
		t.Errorf("badge: %s", v)
	}
	if v = seller.call("concordia_register_agent", `{}`); at(v, "agent", "description") != "" {
		t.Errorf("listed anew: %s", v)
	}
	if v = buyer.call("concordia_agent_card", `{"agent_id":"`+id+`"}`); at(v, "external", "agent_card", "description") != "" {
		t.Errorf("the card of who is listed anew: %s", v)
	}
	if v = buyer.refused("concordia_deregister_agent", `{"agent_id":"`+id+`"}`); at(v, "pointer") != "/agent_id" {
		t.Errorf("taking another out: %s", v)
	}
	for _, removed := range []string{"true", "false"} {
		if v = seller.call("concordia_deregister_agent", `{}`); at(v, "removed") != removed {
			t.Errorf("taken out: %s", v)
		}
	}
	for _, tool := range []string{"concordia_agent_card", "concordia_preferred_badge"} {
		if v = buyer.call(tool, `{"agent_id":"`+id+`"}`); at(v, "found") != "false" {
			t.Errorf("%s of who is not listed: %s", tool, v)
		}
	}
}

func TestProfiles(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	id := string(agent("seller"))
	if v := buyer.call("agent_profile_get", `{"agent_id":"`+id+`"}`); at(v, "found") != "false" {
		t.Errorf("no profile: %s", v)
	}
	v := seller.call("agent_profile_publish", `{"agent_id":"`+id+`","name":"Anna","description":"Cameras","categories":["electronics.cameras"],"offer_types":["basic","bundle"],"resolution_methods":["split"],
		"max_concurrent_sessions":3,"languages":["en"],"currencies":["USD"],"negotiation_style":"firm","avg_rounds_to_agreement":2.5,"agreement_rate":0.5,"avg_session_duration_seconds":60,"verascore_composite":99,
		"verascore_tier":"gold","verascore_did":"did:web:x","concordia_sessions_completed":7,"attestation_count":7,"concordia_preferred":true,"sovereignty_L1":"Full","sovereignty_L2":"Full","sovereignty_L3":"Full","sovereignty_L4":"Full",
		"negotiate_endpoint":"https://a.example/n","a2a_card_endpoint":"https://a.example/c","mcp_manifest_endpoint":"https://a.example/m","regions":["eu"],"jurisdictions":["EU","CH"],"ttl":3600,"auth_token":"x"}`)
	if at(v, "success") != "true" || at(v, "profile", "signature") == "" || at(v, "profile", "trust_signals", "sovereignty", "L4") != "Full" || at(v, "profile", "endpoints", "a2a_card") != "https://a.example/c" ||
		at(v, "profile", "location", "jurisdictions", "1") != "CH" || at(v, "profile", "ttl") != "3600" || at(v, "profile", "negotiation_profile", "style") != "firm" || at(v, "profile", "capabilities", "max_concurrent_sessions") != "3" {
		t.Errorf("published: %s", v)
	}
	if v = buyer.call("agent_profile_get", `{"agent_id":"`+id+`"}`); at(v, "verified") != "true" || at(v, "in_force") != "true" || at(v, "external", "profile", "name") != "Anna" || at(v, "external", "profile", "signature") != "" {
		t.Errorf("the profile: %s", v)
	}
	for _, test := range []struct{ args, found string }{
		{`{}`, "1"}, {`{"categories":["electronics"]}`, "1"}, {`{"categories":["food","electronics.cameras.slr"]}`, "1"}, {`{"categories":["food"]}`, "0"},
		{`{"offer_types_required":["basic","bundle"]}`, "1"}, {`{"offer_types_required":["basic","partial"]}`, "0"}, {`{"jurisdictions":["US","CH"]}`, "1"}, {`{"jurisdictions":["US"]}`, "0"},
		{`{"concordia_preferred":true}`, "1"}, {`{"concordia_preferred":false}`, "0"},
	} {
		if v = buyer.call("agent_discovery_search", test.args); at(v, "count") != test.found {
			t.Errorf("a search for %s: %s", test.args, v)
		}
	}
	v = buyer.call("agent_discovery_search", `{"categories":["food","electronics"]}`)
	if at(v, "results", "0", "match_score") != "0.5" || at(v, "external", "profiles", id, "name") != "Anna" {
		t.Errorf("found: %s", v)
	}
	for _, wrong := range []string{"min_reputation_composite", "min_sovereignty_tier"} { // what agents say of themselves ranks nobody
		if v = buyer.refused("agent_discovery_search", `{"`+wrong+`":1}`); at(v, "pointer") != "/"+wrong || !strings.Contains(at(v, "error"), "concordia_reputation_score") {
			t.Errorf("%s: %s", wrong, v)
		}
		if v = buyer.call("agent_discovery_search", `{"`+wrong+`":null}`); at(v, "ignored") != "" {
			t.Errorf("no %s: %s", wrong, v)
		}
	}
	if v = buyer.call("agent_discovery_search", `{"sort_by":"reputation_composite"}`); at(v, "ignored") != `["sort_by"]` {
		t.Errorf("sorted: %s", v)
	}
	if v = seller.call("agent_discovery_search", `{}`); at(v, "count") != "0" {
		t.Errorf("the seller finds itself: %s", v)
	}
}

// What is proven comes before what is said: an agreement with a receipt before a contact, a
// contact before a score, and no profile counts.
func TestRecommend(t *testing.T) {
	w := newWorld(t)
	buyer := w.agent("buyer", mcpserver.Options{}, nil)
	sellers := map[string]*client{}
	for _, name := range []string{"dealt", "contact", "boaster", "best"} {
		sellers[name] = w.agent(name, mcpserver.Options{}, nil)
	}
	session := `{"session_id":"` + w.begin(sellers["dealt"], buyer, "") + `"`
	buyer.call("concordia_propose", session+`,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`)
	sellers["dealt"].call("concordia_wait", session+`}`)
	sellers["dealt"].call("concordia_accept", session+`}`)
	buyer.call("concordia_wait", session+`,"until":"receipt"}`)
	if err := buyer.node.SetContact(w.ctx, node.Contact{Agent: agent("contact"), Name: "ada"}); err != nil {
		t.Fatal(err)
	}
	for name, price := range map[string]int{"dealt": 2400, "contact": 2300, "boaster": 2200, "best": 100} {
		sellers[name].call("concordia_post_have", fmt.Sprintf(`{"category":"a","terms":{"price":{"min":%d}}}`, price))
	}
	sellers["dealt"].call("concordia_post_have", `{"category":"a","terms":{"price":{"min":2499}}}`) // a worse one of the same agent
	sellers["boaster"].call("agent_profile_publish", `{"verascore_composite":100,"verascore_tier":"verified-sovereign","concordia_sessions_completed":1000000,"attestation_count":1000000,"agreement_rate":1}`)
	want := at(buyer.call("concordia_post_want", `{"category":"a","terms":{"price":{"max":2500}}}`), "want_id")
	v := buyer.call("agent_discovery_recommend", `{"want_id":"`+want+`"}`)
	list, _ := v.Get("recommendations")
	var got []wire.AgentID
	for _, r := range list.Elems() {
		got = append(got, wire.AgentID(at(r, "agent_id")))
	}
	if fmt.Sprint(got) != fmt.Sprint([]wire.AgentID{agent("dealt"), agent("contact"), agent("best"), agent("boaster")}) || at(v, "want_category") != "a" || at(v, "count") != "4" {
		t.Errorf("recommended: %s", v)
	}
	if at(v, "recommendations", "0", "agreements_with_you") != "1" || at(v, "recommendations", "1", "known_to_owner") != "true" || at(v, "recommendations", "3", "profile_verified") != "true" ||
		at(v, "recommendations", "2", "has_profile") != "false" || at(v, "external", "profiles", string(agent("boaster")), "trust_signals", "verascore_tier") != "verified-sovereign" {
		t.Errorf("what is said of them: %s", v)
	}
	if v = buyer.call("agent_discovery_recommend", `{"want_id":"`+want+`","limit":1}`); at(v, "count") != "1" || at(v, "more") != "true" || !strings.Contains(at(v, "external"), `"overlaps"`) {
		t.Errorf("the first: %s", v)
	}
	sellers["best"].call("agent_profile_publish", `{}`)
	sellers["dealt"].call("agent_profile_publish", `{}`)
	if v = buyer.call("agent_discovery_search", `{}`); at(v, "results", "0", "agent_id") != string(agent("dealt")) || at(v, "count") != "3" {
		t.Errorf("a search: %s", v)
	}
}
