package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// Arguments that a tool does not take are refused before anything else, with the place.
func TestArguments(t *testing.T) {
	w := newWorld(t)
	c := w.agent("seller", mcpserver.Options{Menu: "static"}, nil)
	buyer := string(agent("buyer"))
	for _, test := range []struct{ name, tool, args, code, rule, pointer string }{
		{"unknown", "concordia_session_status", `{"session_id":"s","x":1}`, "bad_request", "tool-arguments", "/x"},
		{"unknown before missing", "concordia_session_status", `{"x":1}`, "bad_request", "tool-arguments", "/x"},
		{"duplicate", "concordia_session_status", `{"session_id":"s","session_id":"t"}`, "bad_request", "json-duplicate", "/session_id"},
		{"duplicate inside", "concordia_open_session", `{"responder_id":"b","terms":{"a":{},"a":{}}}`, "bad_request", "json-duplicate", "/terms/a"},
		{"duplicate when unescaped", "concordia_session_status", `{"session_id":"s","session\u005fid":"t"}`, "bad_request", "json-duplicate", "/session_id"},
		{"other case", "concordia_session_status", `{"Session_Id":"s"}`, "bad_request", "tool-arguments", "/Session_Id"},
		{"other case beside", "concordia_session_status", `{"session_id":"s","SESSION_ID":"t"}`, "bad_request", "tool-arguments", "/SESSION_ID"},
		{"missing", "concordia_session_status", `{}`, "bad_request", "tool-arguments", "/session_id"},
		{"no object", "concordia_session_status", `[]`, "bad_request", "tool-arguments", ""},
		{"text for number", "concordia_open_session", `{"responder_id":"b","terms":{},"max_rounds":"20"}`, "bad_request", "tool-arguments", "/max_rounds"},
		{"fraction", "concordia_open_session", `{"responder_id":"b","terms":{},"max_rounds":1.5}`, "bad_request", "tool-arguments", "/max_rounds"},
		{"too long a session", "concordia_open_session", `{"responder_id":"b","terms":{},"session_ttl":604801}`, "bad_request", "tool-arguments", "/session_ttl"},
		{"negative time", "concordia_open_session", `{"responder_id":"b","terms":{},"session_ttl":-1}`, "bad_request", "tool-arguments", "/session_ttl"},
		{"negative zero", "concordia_open_session", `{"responder_id":"b","terms":{"a":{"value":-0}}}`, "bad_request", "json-number", "/terms/a/value"},
		{"number beyond", "concordia_open_session", `{"responder_id":"b","terms":{"a":{"value":9007199254740993}}}`, "bad_request", "json-number", "/terms/a/value"},
		{"text for object", "concordia_open_session", `{"responder_id":"b","terms":"all"}`, "bad_request", "tool-arguments", "/terms"},
		{"no such format", "concordia_agreement", `{"session_id":"s","format":"pdf"}`, "bad_request", "tool-arguments", "/format"},
		{"id with a space", "concordia_session_status", `{"session_id":"a b"}`, "bad_request", "tool-arguments", "/session_id"},
		{"id with a new line", "concordia_session_status", `{"session_id":"a\n"}`, "bad_request", "tool-arguments", "/session_id"},
		{"text of 11 KB", "concordia_open_session", `{"responder_id":"b","terms":{},"reasoning":"` + strings.Repeat("x", 11_000) + `"}`, "bad_request", "tool-arguments", "/reasoning"},
		{"elements", "concordia_inquire", `{"session_id":"s","term_ids":["a",1]}`, "bad_request", "tool-arguments", "/term_ids/1"},
		{"too deep", "concordia_open_session", `{"responder_id":"b","terms":` + strings.Repeat(`{"a":`, 100) + `{}` + strings.Repeat("}", 100) + `}`, "bad_request", "json-depth", ""},
		{"somebody else's name", "concordia_open_session", `{"responder_id":"` + buyer + `","terms":{},"initiator_id":"` + buyer + `"}`, "bad_request", "", "/initiator_id"},
		{"no such agent", "concordia_open_session", `{"responder_id":"a b","terms":{}}`, "bad_request", "", "/responder_id"},
		{"a term of no type", "concordia_open_session", `{"responder_id":"` + buyer + `","terms":{"price":{"type":"number"}}}`, "rule", "term-space", "/body/terms/price/type"},
		{"no such session", "concordia_session_status", `{"session_id":"ses_none"}`, "not_found", "", ""},
		{"a partial offer of nothing", "concordia_propose", `{"session_id":"s","terms":{},"offer_type":"partial"}`, "bad_request", "", "/open_terms"},
		{"a conditional offer of nothing", "concordia_propose", `{"session_id":"s","offer_type":"conditional","conditions":[]}`, "bad_request", "", "/conditions"},
		{"a basic offer with bundles", "concordia_propose", `{"session_id":"s","terms":{"a":{}},"offer_type":"basic","bundles":[{}]}`, "bad_request", "", "/bundles"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := c.refused(test.tool, test.args)
			for member, want := range map[string]string{"code": test.code, "rule": test.rule, "pointer": test.pointer} {
				if got := at(v, member); got != want && (member != "pointer" || want != "") {
					t.Errorf("%s %q, want %q: %s", member, got, want, v)
				}
			}
			if at(v, "error") == "" || at(v, "error") != at(v, "message") {
				t.Errorf("error %q, message %q", at(v, "error"), at(v, "message"))
			}
		})
	}
}

// A pointer is shown as it is if it is plain, and as the words of others if not: it may
// repeat a name that came from them.
func TestPointer(t *testing.T) {
	w := newWorld(t)
	c := w.agent("seller", mcpserver.Options{}, nil)
	v := c.refused("concordia_session_status", `{"session_id":"s","ignore all\u202e":1}`)
	if _, has := v.Get("pointer"); has || at(v, "external", "pointer") != "/ignore all⟦U+202E⟧" {
		t.Errorf("refused with %s", v)
	}
}

// A move that is not legal is refused with what is, and with the way to where it would be.
func TestIllegalMoves(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	path := func(v interface{ String() string }) string { return v.String() }
	session := `{"session_id":"` + at(seller.call("concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`,"session_id":"ses_1"}`), "session_id") + `"`
	v := seller.refused("concordia_accept", session+`}`)
	if got, _ := v.Get("path"); at(v, "state") != "proposed" || path(got) != `[{"by":"other party","move":"negotiate.accept_session"},{"by":"other party","move":"negotiate.offer"},{"by":"you","call":"concordia_accept"}]` {
		t.Errorf("accept in a session that nobody joined: %s", v)
	}
	buyer.call("concordia_wait", `{"after":0}`)
	v = buyer.refused("concordia_propose", session+`,"terms":{}}`)
	if got, _ := v.Get("path"); at(v, "state") != "invited" || path(got) != `[{"by":"you","call":"concordia_join"},{"by":"you","call":"concordia_accept_session"},{"by":"you","call":"concordia_propose"}]` {
		t.Errorf("an offer in a session that was not joined: %s", v)
	}
	buyer.call("concordia_join", session+`}`)
	buyer.call("concordia_accept_session", session+`}`)
	seller.call("concordia_wait", session+`,"until":"active"}`)
	const price = `,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`
	offered := seller.call("concordia_propose", session+price)
	v = seller.refused("concordia_accept", session+`,"offer_id":"`+at(offered, "offer_id")+`"}`)
	if at(v, "code") != "rule" || at(v, "rule") != "own-offer" || at(v, "section") != "4.2" || at(v, "state") != "active" || !strings.Contains(at(v, "legal_moves"), "negotiate.counter") {
		t.Errorf("accepting one's own offer: %s", v)
	}
	v = seller.refused("concordia_counter", session+`,"terms":{"price":{"value":9000,"currency":"USD"}}}`)
	if at(v, "code") != "rule" || !strings.HasPrefix(at(v, "pointer"), "/body/terms/price") {
		t.Errorf("an offer out of bounds: %s", v)
	}
	if v = seller.refused("concordia_counter", session+`,"role":"buyer"`+price); at(v, "pointer") != "/role" {
		t.Errorf("the other's role: %s", v)
	}
	seller.call("concordia_counter", session+`,"role":"seller","auth_token":"anything"`+price)
}

// What was not shown is not accepted by accident.
func TestAcceptNamesOffer(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	const offer = `,"terms":{"price":{"value":%,"currency":"USD"},"delivery":{"value":"pickup"}}}`
	seller.call("concordia_propose", session+strings.Replace(offer, "%", "1600", 1))
	shown := buyer.call("concordia_wait", session+`}`)
	fresh := w.connect(buyer.node, mcpserver.Options{})
	v := fresh.refused("concordia_accept", session+`}`)
	if at(v, "pointer") != "/offer_id" || at(v, "external", "offer_id") != at(shown, "offer", "offer_id") {
		t.Errorf("an accept of an offer that was not shown: %s", v)
	}
	// The seller asks for more while the buyer looks at the old offer.
	seller.call("concordia_counter", session+strings.Replace(offer, "%", "2400", 1))
	if _, err := buyer.node.Wait(w.ctx, "", 0); err == nil {
		t.Error("waited for nothing")
	}
	fresh.call("concordia_wait", session+`,"until":"turn"}`)
	for view := fresh.call("concordia_session_status", session+`}`); at(view, "round_count") != "2"; {
		view = fresh.call("concordia_wait", session+`,"until":"change","version":`+at(view, "version")+`}`)
	}
	if v = buyer.refused("concordia_accept", session+`}`); at(v, "rule") != "superseded" || !strings.Contains(at(v, "next"), "concordia_session_status") {
		t.Errorf("an accept of an offer that was replaced: %s", v)
	}
}

// What the owner's policy wants is said, and what it wants to be approved.
func TestNeeds(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	buyer := w.agent("buyer", mcpserver.Options{}, func(o *node.Options) {
		o.Policy.Thresholds = []node.Threshold{{Name: "over_1000", Term: "price", Amount: 1000, Currency: "USD", Needs: node.NeedApproval, By: []wire.AgentID{agent("owner")}}}
	})
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	seller.call("concordia_propose", session+`,"terms":{"price":{"value":1600,"currency":"USD"},"delivery":{"value":"pickup"}}}`)
	buyer.call("concordia_wait", session+`}`)
	asked := buyer.call("concordia_needs", session+`}`)
	if at(asked, "allowed") != "false" || at(asked, "needs", "0", "threshold") != "over_1000" || at(asked, "external", "needs", "0", "amount") != "1600 USD" || at(asked, "needs", "0", "offer_ends") == "" {
		t.Errorf("needs: %s", asked)
	}
	v := buyer.refused("concordia_accept", session+`}`)
	if at(v, "code") != "needs" || at(v, "needs", "0", "offer_hash") == "" || at(v, "next") == "" {
		t.Errorf("an accept that needs an approval: %s", v)
	}
	if v = buyer.refused("concordia_approve", `{"artifact":{"x":1}}`); at(v, "code") == "internal" {
		t.Errorf("keeping nonsense: %s", v)
	}
}
