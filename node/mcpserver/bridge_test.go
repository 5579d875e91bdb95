package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// The bridge is off, is switched on, and makes what is to be handed over, of what was agreed
// and signed.
func TestBridge(t *testing.T) {
	w := newWorld(t)
	seller, buyer, third := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil), w.agent("third", mcpserver.Options{}, nil)
	if v := seller.call("concordia_sanctuary_bridge_status", `{}`); at(v, "enabled") != "false" || at(v, "identity_mappings") != "{}" || at(v, "default_context") != "concordia_negotiation" {
		t.Errorf("at first: %s", v)
	}
	id := w.settle(2, seller, buyer)
	session := `{"session_id":"` + id + `","auth_token":"any"`
	for _, tool := range []string{"concordia_sanctuary_bridge_commit", "concordia_sanctuary_bridge_attest"} {
		if v := seller.refused(tool, session+`}`); at(v, "code") != "policy" || !strings.Contains(at(v, "error"), "enabled true") {
			t.Errorf("%s while it is off: %s", tool, v)
		}
	}
	if _, err := seller.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: "concordia://session/" + id + "/commitment"}); err == nil {
		t.Error("there is a commitment while the bridge is off")
	}
	me, other, stranger := string(agent("seller")), string(agent("buyer")), string(agent("third"))
	for _, test := range []struct{ name, args, code, pointer string }{
		{"a stranger", `,"identity_mappings":[{"agent_id":"` + stranger + `","sanctuary_id":"id"}]`, "policy", ""},
		{"in the name of another", `,"agent_id":"` + other + `"`, "bad_request", "/agent_id"},
		{"no agent", `,"identity_mappings":[{"sanctuary_id":"id"}]`, "bad_request", "/identity_mappings/0/agent_id"},
		{"what no mapping has", `,"identity_mappings":[{"agent_id":"` + me + `","sanctuary_id":"id","key":"x"}]`, "bad_request", "/identity_mappings/0/key"},
		{"no did", `,"identity_mappings":[{"agent_id":"` + me + `","sanctuary_id":"id","did":"me"}]`, "bad_request", ""},
	} {
		if v := seller.refused("concordia_sanctuary_bridge_configure", `{"enabled":true`+test.args+`}`); at(v, "code") != test.code || at(v, "pointer") != test.pointer {
			t.Errorf("%s: %s", test.name, v)
		}
	}
	on := seller.call("concordia_sanctuary_bridge_configure", `{"agent_id":"`+me+`","auth_token":"any","enabled":true,"default_context":"cameras","identity_mappings":[{"agent_id":"`+me+`","sanctuary_id":"id_me","did":"did:x:me"},{"agent_id":"`+other+`","sanctuary_id":"id_other","did":null}]}`)
	if at(on, "enabled") != "true" || at(on, "identity_count") != "2" || at(on, "commitment_on_agree") != "true" || at(on, "reputation_on_receipt") != "true" || at(on, "default_context") != "cameras" {
		t.Errorf("on: %s", on)
	}
	status := seller.call("concordia_sanctuary_bridge_status", `{}`)
	if at(status, "identity_mappings", me, "did") != "did:x:me" || at(status, "identity_mappings", other, "sanctuary_id") != "id_other" || at(status, "identity_mappings", other, "did") != "null" {
		t.Errorf("status: %s", status)
	}
	for _, c := range []*client{buyer, third} {
		if v := c.call("concordia_sanctuary_bridge_status", `{}`); at(v, "enabled") != "false" || at(v, "identity_count") != "0" {
			t.Errorf("another node: %s", v)
		}
	}

	commit := seller.call("concordia_sanctuary_bridge_commit", session+`}`)
	payload, _ := commit.At("external", "commitment_payload")
	if at(commit, "sanctuary_enabled") != "true" || at(commit, "exact") != "true" || at(payload, "tool") != "sanctuary/proof_commitment" || at(payload, "agreement_summary", "has_transcript_hash") != "true" {
		t.Errorf("commit: %s", commit)
	}
	// The terms are those of the last offer, 2300, and have no bounds in them.
	if value := at(payload, "arguments", "value"); !strings.Contains(value, `"price":{"currency":"USD","value":2300}`) || strings.Contains(value, "constraints") {
		t.Errorf("committed to %s", value)
	}
	buyer.call("concordia_sanctuary_bridge_configure", `{"enabled":true}`)
	if v := buyer.call("concordia_sanctuary_bridge_commit", session+`}`); at(v, "value_hash") != at(commit, "value_hash") {
		t.Errorf("the buyer commits to %s", v)
	}
	attest := seller.call("concordia_sanctuary_bridge_attest", session+`}`)
	if r, _ := attest.At("external", "reputation_payloads", "0", "arguments"); at(attest, "reputation_payload_count") != "1" || at(r, "identity_id") != "id_me" || at(r, "counterparty_did") != "concordia:"+other ||
		at(r, "context") != "cameras" || at(r, "outcome", "result") != "completed" || at(r, "outcome", "metrics", "rounds") != "2" {
		t.Errorf("attest: %s", attest)
	}
	receipt, _ := seller.call("concordia_session_receipt", `{"session_id":"`+id+`"}`).Get("receipt")
	if v := seller.call("concordia_sanctuary_bridge_attest", `{"agent_id":"`+me+`","attestation":`+receipt.Canonical()+`}`); !v.Equal(attest) {
		t.Errorf("of the receipt itself: %s", v)
	}
	if v := buyer.call("concordia_sanctuary_bridge_attest", session+`}`); at(v, "reputation_payload_count") != "0" || at(v, "skipped_reason") == "" {
		t.Errorf("without a mapping: %s", v)
	}
	third.call("concordia_sanctuary_bridge_configure", `{"enabled":true}`)
	for _, test := range []struct {
		name       string
		c          *client
		tool, args string
		code       string
	}{
		{"a receipt of others", third, "concordia_sanctuary_bridge_attest", `{"attestation":` + receipt.Canonical() + `}`, "policy"},
		{"another outcome", seller, "concordia_sanctuary_bridge_attest", `{"attestation":` + strings.Replace(receipt.Canonical(), `"agreed"`, `"rejected"`, 1) + `}`, "rule"},
		{"both", seller, "concordia_sanctuary_bridge_attest", session + `,"attestation":` + receipt.Canonical() + `}`, "bad_request"},
		{"neither", seller, "concordia_sanctuary_bridge_attest", `{}`, "bad_request"},
		{"in the name of another", seller, "concordia_sanctuary_bridge_attest", session + `,"agent_id":"` + other + `"}`, "bad_request"},
		{"no session", seller, "concordia_sanctuary_bridge_commit", `{"session_id":"ses_none"}`, "not_found"},
		{"no receipt", seller, "concordia_sanctuary_bridge_attest", `{"session_id":"ses_none"}`, "not_found"},
	} {
		if v := test.c.refused(test.tool, test.args); at(v, "code") != test.code {
			t.Errorf("%s: %s", test.name, v)
		}
	}
	open := w.begin(seller, buyer, "")
	if v := seller.refused("concordia_sanctuary_bridge_commit", `{"session_id":"`+open+`"}`); at(v, "code") != "not_agreed" || at(v, "state") != "active" {
		t.Errorf("before it is agreed: %s", v)
	}
	off := seller.call("concordia_sanctuary_bridge_configure", `{"enabled":true,"commitment_on_agree":false,"reputation_on_receipt":false}`)
	if at(off, "identity_count") != "2" || at(off, "default_context") != "cameras" {
		t.Errorf("some of it off: %s", off)
	}
	for _, tool := range []string{"concordia_sanctuary_bridge_commit", "concordia_sanctuary_bridge_attest"} {
		if v := seller.call(tool, session+`}`); at(v, "sanctuary_enabled") != "false" || at(v, "skipped_reason") == "" {
			t.Errorf("%s, which is off: %s", tool, v)
		}
	}
}
