package mcpserver_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// Calls that are legal one by one and not together, at once on one connection and on two
// of the same node: exactly one takes effect, and the others are refused.
func TestParallelCalls(t *testing.T) {
	const offer = `,"terms":{"price":{"value":%d,"currency":"USD"},"delivery":{"value":"pickup"}}`
	w := newWorld(t)
	seller, one := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	two := w.connect(one.node, mcpserver.Options{})
	for _, test := range []struct{ name, first, second string }{
		{"two accepts", "concordia_accept", "concordia_accept"},
		{"accept and counter", "concordia_accept", "concordia_counter"},
		{"accept and reject", "concordia_accept", "concordia_reject"},
		{"reject and withdraw", "concordia_reject", "concordia_withdraw"},
	} {
		for name, others := range map[string]*client{"one connection": one, "two": two} {
			for round := range rounds {
				session := fmt.Sprintf(`{"session_id":"ses_%s_%d"`, strings.ReplaceAll(test.name+"_"+name, " ", "_"), round)
				seller.call("concordia_open_session", session+`,"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`}`)
				for {
					v, err := one.raw("concordia_join", session+`}`)
					if r := result(t, v, err); !v.IsError {
						break
					} else if at(r, "code") != "not_found" {
						t.Fatal(r)
					}
					one.call("concordia_wait", `{"timeout_seconds":5}`)
				}
				one.call("concordia_accept_session", session+`}`)
				seller.call("concordia_wait", session+`,"until":"active"}`)
				id := at(seller.call("concordia_propose", session+fmt.Sprintf(offer, 2000)+`}`), "offer_id")
				one.call("concordia_wait", session+`}`)
				args := map[string]string{
					"concordia_accept": session + `,"offer_id":"` + id + `"}`, "concordia_counter": session + fmt.Sprintf(offer, 1700) + `}`,
					"concordia_reject": session + `}`, "concordia_withdraw": session + `}`,
				}
				var both sync.WaitGroup
				var results [2]*mcp.CallToolResult
				var errs [2]error
				start := make(chan struct{})
				both.Go(func() { <-start; results[0], errs[0] = one.raw(test.first, args[test.first]) })
				both.Go(func() { <-start; results[1], errs[1] = others.raw(test.second, args[test.second]) })
				close(start)
				both.Wait()
				done := 0
				for i, r := range results {
					v := result(t, r, errs[i])
					if !r.IsError {
						done++
					} else if code := at(v, "code"); code != "rule" && code != "conflict" && code != "ended" {
						t.Errorf("%s, %s: refused with %s", test.name, name, v)
					}
				}
				if view := one.call("concordia_session_status", session+`}`); done != 1 || at(view, "transcript_length") != "4" {
					t.Errorf("%s, %s: %d took effect: %s", test.name, name, done, view)
				}
			}
		}
	}
}

// The same call with the same id happens once.
func TestRepeatedCalls(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, `,"session_id":"ses_again"`) + `"`
	var ids [3]string
	for i := range ids {
		ids[i] = at(seller.call("concordia_propose", session+`,"message_id":"msg_1","terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`), "message_id")
	}
	if v := seller.call("concordia_session_status", session+`}`); ids != [3]string{"msg_1", "msg_1", "msg_1"} || at(v, "transcript_length") != "3" {
		t.Errorf("messages %v: %s", ids, v)
	}
}

// A call of which nobody knows what became says how it can be made again.
func TestRelayIsGone(t *testing.T) {
	w := newWorld(t)
	w.relay.Close()
	seller := w.agent("seller", mcpserver.Options{Patience: 50 * time.Millisecond}, nil)
	v := seller.refused("concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`}`)
	if at(v, "code") != "timeout" || at(v, "repeat", "session_id") == "" || at(v, "next") == "" {
		t.Errorf("opening without a relay: %s", v)
	}
	id := at(v, "repeat", "session_id")
	if v = seller.call("concordia_negotiate", `{"counterparty":"`+string(agent("buyer"))+`","terms":`+camera+`}`); at(v, "session_id") != id || at(v, "opened") != "false" {
		t.Errorf("what was opened is gone on with: %s", v)
	}
	v = seller.refused("concordia_negotiate", `{"counterparty":"`+string(agent("helper"))+`","terms":`+camera+`}`)
	if _, has := v.Get("repeat"); has || at(v, "code") != "timeout" {
		t.Errorf("opening without a relay: %s", v)
	}
}
