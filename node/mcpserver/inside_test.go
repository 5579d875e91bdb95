package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

// A broken node says what is inside.
type broken struct{ node.API }

var errInside = errors.New("opening /inside/node.db")

func (broken) Document(context.Context, wire.SessionID) (wire.Value, error) {
	return wire.Value{}, errInside
}
func (broken) MailDocument(context.Context, wire.SessionID) (wire.Value, error) {
	return wire.Value{}, errInside
}
func (broken) Session(context.Context, wire.SessionID) (node.View, error) {
	return node.View{}, errInside
}
func (broken) Sessions(context.Context, node.Filter) ([]node.Summary, error) {
	return nil, errInside
}

// What is inside of a node is told to no client: not by tools, resources or lists.
func TestInside(t *testing.T) {
	w := newWorld(t)
	c := w.connectAs(broken{w.agent("seller", mcpserver.Options{}, nil).node}, mcpserver.Options{Menu: "dynamic"}, before)
	said := c.refused("concordia_session_status", `{"session_id":"ses_1"}`).Canonical()
	for _, uri := range []string{"concordia://session/ses_1/transcript", "concordia://relay/relay_1/transcript"} {
		_, err := c.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: uri})
		said += fmt.Sprint(err)
	}
	_, err := c.ListTools(w.ctx, nil)
	if said += fmt.Sprint(err); strings.Count(said, "the node could not") < 4 || strings.Contains(said, "inside") {
		t.Errorf("a client hears %s", said)
	}
}

// All that a result shows of the words of others, the transcript too, is bounded together.
func TestStatusBound(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	var terms strings.Builder
	for i := range 12 {
		fmt.Fprintf(&terms, `,"t%d":{"value":"%s"}`, i, strings.Repeat("x", 3000))
	}
	seller.call("concordia_propose", session+`,"terms":{"price":{"value":2400,"currency":"USD"},"delivery":{"value":"pickup"}`+terms.String()+`}}`)
	buyer.call("concordia_wait", session+`}`)
	v := buyer.call("concordia_session_status", session+`,"include_transcript":true}`)
	external, _ := v.Get("external")
	if n := len(external.Canonical()); n > 36<<10 || at(external, "truncated") != "true" || at(external, "transcript") == "null" {
		t.Errorf("the words of others have %d bytes", n)
	}
}
