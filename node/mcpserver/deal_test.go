package mcpserver_test

import (
	"testing"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// The camera is sold over MCP alone: from an invitation to a receipt on both sides.
func TestDeal(t *testing.T) {
	for _, version := range []string{before, since} {
		t.Run(version, func(t *testing.T) { deal(t, version) })
	}
}

func deal(t *testing.T, version string) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	seller, buyer = w.connectAs(seller.node, mcpserver.Options{}, version), w.connectAs(buyer.node, mcpserver.Options{}, version)
	opened := seller.call("concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`}`)
	if got := at(opened, "state"); got != "proposed" {
		t.Errorf("state after opening is %s", got)
	}
	for _, member := range []string{"initiator_token", "responder_token"} {
		if _, has := opened.Get(member); has {
			t.Errorf("there is a %s", member)
		}
	}
	id := at(opened, "session_id")
	session := `{"session_id":"` + id + `"`
	news := buyer.call("concordia_wait", `{"after":0}`)
	if at(news, "notices", "0", "kind") != "invitation" {
		t.Errorf("news: %s", news)
	}
	joined := buyer.call("concordia_join", session+`}`)
	if at(joined, "external", "terms", "item", "value") != "Used camera" {
		t.Errorf("joined: %s", joined)
	}
	buyer.call("concordia_accept_session", session+`}`)
	seller.call("concordia_wait", session+`,"until":"active"}`)
	seller.call("concordia_propose", session+`,"terms":{"price":{"value":2200,"currency":"USD"},"delivery":{"value":"pickup"}},"reasoning":"Serviced."}`)
	buyer.call("concordia_wait", session+`}`)
	buyer.call("concordia_counter", session+`,"terms":{"price":{"value":1900,"currency":"USD"},"delivery":{"value":"shipping"}}}`)
	turn := seller.call("concordia_wait", session+`}`)
	accepted := seller.call("concordia_accept", session+`,"offer_id":"`+at(turn, "offer", "offer_id")+`"}`)
	if at(accepted, "state") != "agreed" || at(accepted, "type") != "negotiate.accept" {
		t.Errorf("accepted: %s", accepted)
	}
	var receipts []string
	for _, c := range []*client{seller, buyer} {
		c.call("concordia_wait", session+`,"until":"receipt"}`)
		receipts = append(receipts, at(c.call("concordia_session_receipt", session+`}`), "receipt"))
		if got := at(c.call("concordia_agreement", session+`}`), "external", "agreement", "terms", "price", "value"); got != "1900" {
			t.Errorf("price %s", got)
		}
	}
	if receipts[0] != receipts[1] || receipts[0] == "" {
		t.Errorf("two receipts:\n%s\n%s", receipts[0], receipts[1])
	}
}
