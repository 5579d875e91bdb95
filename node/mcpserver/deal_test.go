package mcpserver_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/wire"
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

// Who commits to an offer asks its maker to commit as well (SPEC §5.2): both are told, and
// shown the tool for it. Of an offer that has lapsed both are told, too.
func TestCommitment(t *testing.T) {
	w := newWorld(t)
	var ahead atomic.Int64
	late := func(o *node.Options) { o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } }
	dynamic := mcpserver.Options{Menu: menu.Dynamic}
	seller, buyer := w.agent("seller", dynamic, late), w.agent("buyer", dynamic, late)
	is := func(c *client, v wire.Value, next string, commit bool) {
		t.Helper()
		if !strings.HasPrefix(at(v, "next"), next) || slices.Contains(c.names(), "concordia_commit") != commit {
			t.Errorf("next is %q, want %q; commit is shown: %v", at(v, "next"), next, !commit)
		}
	}
	session := `{"session_id":"` + w.begin(seller, buyer, `,"offer_ttl":600`) + `"`
	seller.call("concordia_propose", session+priced+`}`)
	v := buyer.call("concordia_wait", session+`}`)
	is(buyer, v, "Read external.offer.", true)
	if at(v, "offer", "lapsed") != "false" || at(v, "offer", "ends") <= at(v, "created_at") {
		t.Errorf("the offer is %s", v)
	}
	v = buyer.call("concordia_commit", session+`}`)
	is(buyer, v, "You have accepted this offer", false)
	is(seller, seller.call("concordia_wait", session+`}`), "They accept your offer and ask you to commit", true)

	ahead.Store(int64(601 * time.Second))
	for _, c := range []*client{seller, buyer} {
		v = c.call("concordia_session_status", session+`}`)
		is(c, v, "The offer has lapsed", false)
		if at(v, "offer", "lapsed") != "true" {
			t.Errorf("the offer is %s", v)
		}
	}
	ahead.Store(0)
	if v = seller.call("concordia_commit", session+`}`); at(v, "state") != "agreed" {
		t.Errorf("committed: %s", v)
	}
}
