package mcpserver_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/protocol/menu"
)

var update = flag.Bool("update", false, "rewrite testdata; look at every line that changed")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

// The lists that never change, whole, and the names of those that follow the session,
// state by state.
func TestMenus(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{Menu: menu.Dynamic}, nil), w.agent("buyer", mcpserver.Options{Menu: menu.Dynamic}, nil)
	static, dispatch := w.connect(seller.node, mcpserver.Options{Menu: menu.Static}), w.connect(seller.node, mcpserver.Options{Menu: menu.Dispatch})
	whole := func(c *client) string {
		t.Helper()
		r, err := c.ListTools(w.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, tool := range r.Tools {
			text, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(text, '\n'))
		}
		return b.String()
	}
	first := map[*client]string{static: whole(static), dispatch: whole(dispatch)}
	golden(t, "static.ndjson", first[static])
	golden(t, "dispatch.ndjson", first[dispatch])

	_, always := splitMoves(seller.names())
	var b strings.Builder
	fmt.Fprintf(&b, "always: %s\n", strings.Join(always, " "))
	note := func(state string) {
		t.Helper()
		for _, c := range []*client{seller, buyer} {
			moves, others := splitMoves(c.names())
			if !slices.Equal(others, always) {
				t.Errorf("%s: other tools are %v", state, others)
			}
			fmt.Fprintf(&b, "%s, %s: %s\n", state, map[*client]string{seller: "seller", buyer: "buyer"}[c], strings.Join(moves, " "))
		}
		for c, text := range first {
			if whole(c) != text {
				t.Errorf("%s: a list that never changes has changed", state)
			}
		}
	}
	note("no session")
	const session = `{"session_id":"ses_menu"`
	seller.call("concordia_open_session", `{"responder_id":"`+string(agent("buyer"))+`","terms":`+camera+`,"session_id":"ses_menu"}`)
	buyer.call("concordia_wait", `{"after":0}`)
	note("invited")
	buyer.call("concordia_join", session+`}`)
	note("proposed")
	buyer.call("concordia_accept_session", session+`}`)
	seller.call("concordia_wait", session+`,"until":"active"}`)
	note("active without an offer")
	seller.call("concordia_propose", session+`,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`)
	buyer.call("concordia_wait", session+`}`)
	note("active with the seller's offer")
	buyer.call("concordia_accept", session+`}`)
	seller.call("concordia_wait", session+`,"until":"end"}`)
	note("agreed")
	golden(t, "dynamic.txt", b.String())
}

// splitMoves tells the tools that make moves, or lead to where they are made, from others.
func splitMoves(names []string) (moves, others []string) {
	legal := []string{"concordia_open_session", "concordia_join", "concordia_decline_invitation"}
	for _, tool := range mcpserver.Moves() {
		legal = append(legal, tool)
	}
	for _, name := range names {
		if slices.Contains(legal, name) {
			moves = append(moves, name)
		} else {
			others = append(others, name)
		}
	}
	return moves, others
}

// A client that follows changes is told of them, and one that does not is served what
// never changes. Whatever is listed, everything can be called.
func TestAuto(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	all := seller.names()
	names, _, _ := mcpserver.Tools()
	if slices.Sort(names); !slices.Equal(all, names) {
		t.Errorf("the first list is %v", all)
	}
	later := w.connectAs(seller.node, mcpserver.Options{}, since)
	later.names()
	<-seller.changed // the probe
	if got := seller.names(); slices.Contains(got, "concordia_accept") {
		t.Errorf("a client that follows is shown %v", got)
	}
	id := w.begin(seller, buyer, "")
	session := `{"session_id":"` + id + `"`
	buyer.call("concordia_propose", session+`,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`)
	for !slices.Contains(seller.names(), "concordia_accept") {
		select {
		case <-seller.changed:
		case <-w.ctx.Done():
			t.Fatal("the seller is not told that it may accept")
		}
	}
	// In the later era a list does not change by what was called.
	if got := later.names(); !slices.Equal(got, names) {
		t.Errorf("a client of %s is shown %v", since, got)
	}
	// The buyer has never read the list again.
	buyer.refused("concordia_accept", session+`}`)
}

// Through the three tools of the dispatch mode everything is reached, and judged as
// everywhere.
func TestDispatch(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{Menu: menu.Dispatch}, nil), w.agent("buyer", mcpserver.Options{Menu: menu.Dispatch}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	through := func(tool, args string) string { return `{"tool":"` + tool + `","arguments":` + args + `}` }
	v := seller.call("protocol_call", through("concordia_propose", session+`,"terms":{"price":{"value":2000,"currency":"USD"},"delivery":{"value":"pickup"}}}`))
	if at(v, "type") != "negotiate.offer" {
		t.Errorf("an offer through protocol_call: %s", v)
	}
	buyer.call("protocol_call", through("concordia_wait", session+`}`))
	status := buyer.call("protocol_status", `{}`)
	if !strings.Contains(at(status, "states"), "active with their offer") || !strings.Contains(at(status, "tools"), `"name":"concordia_accept"`) {
		t.Errorf("status: %s", status)
	}
	if tool, _ := status.At("tools", "0"); tool.Len() != 3 || strings.Contains(status.Canonical(), "outputSchema") {
		t.Errorf("of a tool it says %s", tool)
	}
	if v = buyer.call("protocol_request_approval", through("concordia_accept", session+`}`)); at(v, "allowed") != "true" {
		t.Errorf("approval: %s", v)
	}
	for _, test := range []struct{ tool, args, pointer string }{
		{"protocol_call", through("concordia_nothing", `{}`), "/tool"},
		{"protocol_call", through("concordia_accept", `{"x":1}`), "/x"},
		{"protocol_call", `{"tool":"concordia_wait"}`, "/arguments"},
		{"protocol_call", `{"tool":"concordia_wait","arguments":{},"more":1}`, "/more"},
		{"protocol_request_approval", through("concordia_propose", session+`}`), "/tool"},
		{"protocol_status", `{"x":1}`, "/x"},
	} {
		if v := buyer.refused(test.tool, test.args); at(v, "pointer") != test.pointer {
			t.Errorf("%s(%s): %s", test.tool, test.args, v)
		}
	}
	if v = seller.refused("protocol_call", through("concordia_accept", session+`,"offer_id":"`+at(v, "offer_id")+`"}`)); at(v, "state") != "active" {
		t.Errorf("accepting one's own offer: %s", v)
	}
}

// What a list says of a tool is what it takes: each is called with nothing, and asks for
// what its schema calls required.
func TestSchemas(t *testing.T) {
	w := newWorld(t)
	c := w.agent("seller", mcpserver.Options{Menu: menu.Static}, nil)
	r, err := c.ListTools(w.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, inputs, _ := mcpserver.Tools()
	for _, tool := range r.Tools {
		required := inputs[tool.Name]["required"].([]string)
		if tool.Title == "" || tool.Description == "" || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s is not described", tool.Name)
		}
		if len(required) == 0 {
			continue
		}
		if v := c.refused(tool.Name, `{}`); at(v, "rule") != "tool-arguments" || !slices.Contains(required, strings.TrimPrefix(at(v, "pointer"), "/")) {
			t.Errorf("%s with no arguments: %s", tool.Name, v)
		}
	}
	if _, err := c.CallTool(w.ctx, &mcp.CallToolParams{Name: "concordia_nothing", Arguments: map[string]any{}}); err == nil {
		t.Error("a tool that is not there was called")
	}
}

// The owner says which groups of tools there are; negotiating is always among them.
func TestGroups(t *testing.T) {
	w := newWorld(t)
	c := w.agent("seller", mcpserver.Options{Menu: menu.Static, Groups: []string{"verify"}}, nil)
	names := c.names()
	if !slices.Contains(names, "concordia_accept") || !slices.Contains(names, "concordia_verify_mandate") {
		t.Errorf("tools are %v", names)
	}
	less := w.connect(c.node, mcpserver.Options{Menu: menu.Static, Groups: mcpserver.Groups()[:1]})
	if names := less.names(); slices.Contains(names, "concordia_verify_mandate") {
		t.Errorf("tools are %v", names)
	}
	if _, err := less.raw("concordia_verify_mandate", `{"mandate":{}}`); err == nil {
		t.Error("a tool that the owner left out was called")
	}
	if _, err := mcpserver.New(c.node, mcpserver.Options{Groups: []string{"everything"}}); err == nil {
		t.Error("a group that there is not")
	}
}

// A late node has an invitation as soon as somebody has asked for those that there are.
type late struct {
	node.API
	asked atomic.Bool
}

func (l *late) Invitations(context.Context) ([]node.Invitation, error) {
	if l.asked.Swap(true) {
		return []node.Invitation{{Session: "ses_late"}}, nil
	}
	return nil, nil
}

// What changes while a list is made is told.
func TestMenuOvertaken(t *testing.T) {
	w := newWorld(t)
	n := &late{API: w.agent("seller", mcpserver.Options{}, nil).node}
	c := w.connectAs(n, mcpserver.Options{Menu: "dynamic"}, before)
	if got := c.names(); slices.Contains(got, "concordia_join") {
		t.Fatalf("the first list has %v", got)
	}
	select {
	case <-c.changed:
	case <-w.ctx.Done():
		t.Fatal("the client is not told that the list has changed while it was made")
	}
	if got := c.names(); !slices.Contains(got, "concordia_join") {
		t.Errorf("the next list has %v", got)
	}
}
