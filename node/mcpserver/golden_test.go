package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// A transcriber writes down what agents call and what they are answered, with names in
// place of what is another in each run.
type transcriber struct {
	strings.Builder
	names map[string]string
	count map[string]int
}

var changing = regexp.MustCompile(`did:key:z[A-Za-z0-9]+|(ses|msg|off)_[0-9a-f]{32}|sha256:[0-9a-f]{64}|att_[0-9a-f]{64}|"version":\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[A-Za-z0-9_-]{86}==|[A-Za-z0-9_-]{43}=|Transcript hash: [0-9a-f]{16}|http://127\.0\.0\.1:\d+`)

func (b *transcriber) plain(s string) string {
	return changing.ReplaceAllStringFunc(s, func(found string) string {
		kind := "hash"
		switch {
		case strings.HasPrefix(found, `"v`):
			return `"version":"N"`
		case strings.HasPrefix(found, "Tr"):
			return "Transcript hash: HASH"
		case strings.HasPrefix(found, "http"):
			return "RELAY"
		case strings.HasSuffix(found, "=="):
			return "SIGNATURE"
		case strings.HasSuffix(found, "="):
			return "KEY"
		case strings.HasSuffix(found, "Z"):
			return "TIME"
		case found[3] == '_':
			kind = found[:3]
		case strings.HasPrefix(found, "did:"):
			kind = "agent"
		}
		if b.names[found] == "" {
			b.count[kind]++
			b.names[found] = fmt.Sprintf("%s-%d", kind, b.count[kind])
		}
		return b.names[found]
	})
}

// call calls a tool and writes it down, but for members of the result that depend on who
// was faster.
func (b *transcriber) call(c *client, who, tool, args string, racy ...string) wire.Value {
	v := c.call(tool, args)
	shown := v
	for _, name := range racy {
		shown = shown.Without(name)
	}
	var x any
	if err := json.Unmarshal([]byte(b.plain(shown.Canonical())), &x); err != nil {
		c.w.Fatal(err)
	}
	text, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		c.w.Fatal(err)
	}
	fmt.Fprintf(b, "%s: %s %s\n%s\n\n", who, tool, b.plain(args), text)
	return v
}

// What the two agents of a deal read and say, word by word.
func TestGoldenDeal(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	clock := func(o *node.Options) { o.Now = func() time.Time { return now } } // so that all takes no time
	seller, buyer := w.agent("seller", mcpserver.Options{}, clock), w.agent("buyer", mcpserver.Options{}, clock)
	b := &transcriber{names: map[string]string{string(agent("seller")): "seller", string(agent("buyer")): "buyer"}, count: map[string]int{}}
	opened := b.call(seller, "seller", "concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`}`)
	session := `{"session_id":"` + at(opened, "session_id") + `"`
	b.call(buyer, "buyer", "concordia_wait", `{}`)
	b.call(buyer, "buyer", "concordia_invitations", `{}`)
	b.call(buyer, "buyer", "concordia_join", session+`}`)
	b.call(buyer, "buyer", "concordia_accept_session", session+`}`)
	b.call(seller, "seller", "concordia_wait", session+`,"until":"active"}`)
	b.call(seller, "seller", "concordia_propose", session+`,"terms":{"price":{"value":2200,"currency":"USD"},"delivery":{"value":"pickup"}},"reasoning":"Serviced."}`)
	b.call(buyer, "buyer", "concordia_wait", session+`}`)
	b.call(buyer, "buyer", "concordia_counter", session+`,"terms":{"price":{"value":1900,"currency":"USD"},"delivery":{"value":"shipping"}}}`)
	turn := b.call(seller, "seller", "concordia_wait", session+`}`)
	b.call(seller, "seller", "concordia_needs", session+`}`)
	b.call(seller, "seller", "concordia_accept", session+`,"offer_id":"`+at(turn, "offer", "offer_id")+`"}`, "receipt", "next", "message")
	b.call(buyer, "buyer", "concordia_wait", session+`,"until":"receipt"}`, "legal_moves", "legal_tools")
	b.call(buyer, "buyer", "concordia_list_sessions", `{}`)
	b.call(buyer, "buyer", "concordia_transcript", session+`}`)
	b.call(buyer, "buyer", "concordia_agreement", session+`}`)
	b.call(buyer, "buyer", "concordia_session_receipt", session+`}`)
	golden(t, "deal.txt", b.String())
}

// An agent is told until when an offer stands, and that it has lapsed.
func TestLapsedOffer(t *testing.T) {
	w := newWorld(t)
	var later atomic.Int64 // seconds
	now := time.Now()
	clock := func() time.Time { return now.Add(time.Duration(later.Load()) * time.Second) }
	seller := w.agent("seller", mcpserver.Options{Now: clock}, func(o *node.Options) { o.Now = clock })
	buyer := w.agent("buyer", mcpserver.Options{Now: clock}, func(o *node.Options) { o.Now = clock })
	session := `{"session_id":"` + w.begin(seller, buyer, `,"offer_ttl":60`) + `"`
	seller.call("concordia_propose", session+`,"terms":{"price":{"value":1600,"currency":"USD"},"delivery":{"value":"pickup"}}}`)
	buyer.call("concordia_wait", session+`}`)
	if v := buyer.call("concordia_session_status", session+`}`); at(v, "offer", "ends") != wire.FormatTime(now.Truncate(time.Second).Add(time.Minute)) {
		t.Errorf("an offer made at %s: %s", wire.FormatTime(now), v)
	}
	later.Store(60)
	for _, c := range []*client{seller, buyer} {
		if v := c.call("concordia_session_status", session+`}`); !strings.HasPrefix(at(v, "next"), "The offer has lapsed,") || strings.Contains(at(v, "legal_tools"), "concordia_accept") {
			t.Errorf("a minute later: %s", v)
		}
	}
	if v := buyer.refused("concordia_accept", session+`}`); at(v, "rule") != "offer-ttl" {
		t.Errorf("an accept: %s", v)
	}
}
