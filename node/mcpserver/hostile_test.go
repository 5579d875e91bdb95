package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// What another party writes, wherever it can write something, stands under external and
// nowhere else: not in other members, not in errors, not in lists of tools, not in logs.
func TestWordsOfOthers(t *testing.T) {
	for _, test := range hostileWords(100 << 10) {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.name != "bidi" {
				t.Skip("one kind of words will do")
			}
			w := newWorld(t)
			var logs bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
			seller := w.agent("seller", mcpserver.Options{Menu: "dynamic", Log: log}, nil)
			buyer := w.agent("buyer", mcpserver.Options{}, nil)
			words := wire.Text(test.words)
			encode := func(x any) wire.Value {
				v, err := wire.Encode(x)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			// The buyer's node is its own: it says what it likes, in every place that there is.
			const id = wire.SessionID("ses_hostile")
			short := test.words[:min(len(test.words), 200)]
			body := encode(wire.M{
				"terms": wire.M{"price": wire.M{"type": "numeric", "label": words}, "note": wire.M{"value": words}, short: wire.M{"value": short}},
				"extra": short, "timing": wire.M{"session_ttl": 3600, "offer_ttl": 600, "max_rounds": 10},
			})
			if _, err := buyer.node.Open(w.ctx, node.Opening{Session: id, To: []wire.AgentID{agent("seller")}, Body: body, Reasoning: short}); err != nil {
				t.Fatal(err)
			}
			var said []wire.Value
			keep := func(tool, args string) wire.Value {
				r, err := seller.raw(tool, args)
				v := result(t, r, err)
				fits(t, tool, v)
				said = append(said, v)
				return v
			}
			const session = `{"session_id":"ses_hostile"`
			keep("concordia_wait", `{"after":0}`)
			keep("concordia_invitations", `{}`)
			keep("concordia_join", session+`}`)
			keep("concordia_accept_session", session+`}`)
			move := func(typ wire.MessageType, body any) {
				t.Helper()
				mine, err := seller.node.Session(w.ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				v, err := buyer.node.Session(w.ctx, id)
				for err == nil && (v.State != "ACTIVE" || v.Len < mine.Len) {
					v, err = buyer.node.Wait(w.ctx, id, v.Version)
				}
				if err != nil {
					t.Fatal(err)
				}
				if v, err = buyer.node.Move(w.ctx, node.Move{Session: id, Type: typ, Body: encode(body), Reasoning: short}); err != nil {
					t.Fatal(err)
				}
				mine, err = seller.node.Session(w.ctx, id)
				for err == nil && mine.Len < v.Len {
					mine, err = seller.node.Wait(w.ctx, id, mine.Version)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			move(wire.TypeInquire, wire.M{"term_ids": []any{short}, "extra": words})
			move(wire.TypeSignal, wire.M{"priority_ranking": []any{"price"}, "extra": words})
			move(wire.TypeOffer, wire.M{"terms": wire.M{"price": wire.M{"value": 5, "note": words}}, "extra": words})
			keep("concordia_wait", session+`}`)
			keep("concordia_session_status", session+`,"include_transcript":true}`)
			keep("concordia_transcript", session+`}`)
			keep("concordia_list_sessions", `{}`)
			keep("concordia_session_public_view", session+`}`)
			keep("concordia_negotiate", `{"counterparty":"`+string(agent("buyer"))+`"}`)
			keep("concordia_needs", session+`}`)
			keep("concordia_accept", session+`,"offer_id":"off_other"}`)
			keep("concordia_accept", session+`,"bundle_id":"none"}`)
			keep("concordia_counter", session+`,"terms":{"nothing":{"value":1}}}`)
			keep("concordia_resolve", session+`,"terms":{}}`)
			keep("concordia_session_receipt", session+`}`)
			keep("concordia_agreement", session+`}`)
			move(wire.TypeReject, wire.M{"reason": words, "extra": words})
			keep("concordia_wait", session+`,"until":"end"}`)
			keep("concordia_wait", session+`,"until":"receipt"}`)
			keep("concordia_propose", session+`,"terms":{}}`)
			keep("concordia_session_receipt", session+`}`)
			seen := false
			for _, v := range said {
				outside := v.Without("external")
				if strings.Contains(outside.Canonical(), canary) {
					t.Errorf("words of the other party outside of external: %.2000s", outside)
				}
				inside, _ := v.Get("external")
				seen = seen || strings.Contains(inside.Canonical(), canary)
				if len(v.Canonical()) > 256<<10 {
					t.Errorf("a result of %d bytes", len(v.Canonical()))
				}
				if i := strings.IndexFunc(v.Canonical(), wire.IsInvisible); i >= 0 {
					t.Errorf("something invisible in %.100s", v.Canonical()[i:])
				}
			}
			if !seen {
				t.Error("the other party's words are not shown at all")
			}
			list, err := seller.ListTools(w.ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(list); err != nil || bytes.Contains(text, []byte(canary)) {
				t.Errorf("the list of tools has the other party's words (%v)", err)
			}
			if bytes.Contains(logs.Bytes(), []byte(canary)) {
				t.Errorf("the log has the other party's words: %s", logs.Bytes())
			}
			// What was signed is untouched.
			r, err := seller.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: "concordia://session/ses_hostile/transcript"})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := wire.Parse([]byte(r.Contents[0].Text), wire.DocumentLimits)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(doc, "messages", "0", "body", "terms", "note", "value"); got != test.words {
				t.Errorf("the transcript has %.100q", got)
			}
		})
	}
}
