package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/wire"
)

func TestWait(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	v := seller.call("concordia_wait", session+`,"until":"end","timeout_seconds":1}`)
	if at(v, "timed_out") != "true" || at(v, "state") != "active" {
		t.Errorf("nothing happens: %s", v)
	}
	if v := seller.call("concordia_wait", session+`,"timeout_seconds":1}`); at(v, "timed_out") != "true" || at(v, "your_turn") != "true" {
		t.Errorf("it may speak, and waits for the other side: %s", v)
	}
	// A wait that has begun ends when the other side moves.
	waited := make(chan wire.Value, 1)
	go func() {
		r, err := seller.raw("concordia_wait", session+`,"until":"change","version":`+at(v, "version")+`}`)
		if err != nil || r.IsError {
			waited <- wire.Value{}
			return
		}
		got, _ := wire.Parse([]byte(r.Content[0].(*mcp.TextContent).Text), wire.DocumentLimits)
		waited <- got
	}()
	buyer.call("concordia_inquire", session+`,"term_ids":["price"]}`)
	if got := <-waited; at(got, "timed_out") != "false" || at(got, "external", "last_message", "type") != "negotiate.inquire" {
		t.Errorf("waited for a change: %s", got)
	}
	if v := seller.call("concordia_wait", `{"timeout_seconds":1,"after":9007199254740990}`); at(v, "timed_out") != "true" || at(v, "notices") != "[]" {
		t.Errorf("no news: %s", v)
	}
}

// A client that gives up on a wait is not waited for, and one that asked is told that it
// goes on.
func TestWaitIsCancelled(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	told := make(chan string, 100)
	s, err := mcpserver.New(seller.node, mcpserver.Options{Tell: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(w.ctx, there) }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message },
	}).Connect(w.ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: before})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "concordia_wait", Arguments: json.RawMessage(`{"timeout_seconds":600}`)}
		params.SetProgressToken("token")
		_, err := c.CallTool(ctx, params)
		done <- err
	}()
	if got := <-told; got != "waiting for the other party" {
		t.Errorf("told %q", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
	// The server does not go on with it: it ends at once, though 600 seconds have not passed.
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.agent("seller", mcpserver.Options{}, nil), w.agent("buyer", mcpserver.Options{}, nil)
	id := w.begin(seller, buyer, `,"session_id":"urn:x:1"`)
	if at(seller.call("concordia_transcript", `{"session_id":"urn:x:1"}`), "resource") != "concordia://session/urn%3Ax%3A1/transcript" {
		t.Error("the resource of a session is not what it is read as")
	}
	if text := seller.InitializeResult().Instructions; strings.Count(text, "\n") != 20 {
		t.Errorf("the instructions have %d lines", strings.Count(text, "\n"))
	}
	templates, err := seller.ListResourceTemplates(w.ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 7 {
		t.Errorf("%d templates (%v)", len(templates.ResourceTemplates), err)
	}
	read := func(uri string) (string, error) {
		r, err := seller.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return r.Contents[0].Text, nil
	}
	doc, err := seller.node.Document(w.ctx, wire.SessionID(id))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read("concordia://session/urn%3Ax%3A1/transcript"); err != nil || got != doc.Canonical() {
		t.Errorf("transcript %.100q (%v)", got, err)
	}
	for _, uri := range []string{
		"concordia://session/urn%3Ax%3A1/receipt", "concordia://session/urn%3Ax%3A1/commitment", "concordia://session/none/transcript", "concordia://session//transcript",
		"concordia://session/a%20b/transcript", "concordia://session/urn%3Ax%3A1", "file:///etc/passwd",
	} {
		if got, err := read(uri); err == nil {
			t.Errorf("%s is %.100q", uri, got)
		}
	}
	buyer.call("concordia_reject", `{"session_id":"`+id+`"}`)
	seller.call("concordia_wait", `{"session_id":"`+id+`","until":"receipt"}`)
	if got, err := read("concordia://session/urn%3Ax%3A1/receipt"); err != nil || !strings.Contains(got, `"concordia_attestation"`) {
		t.Errorf("receipt %.100q (%v)", got, err)
	}
	prompts, err := seller.ListPrompts(w.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range prompts.Prompts {
		names = append(names, p.Name)
		given := map[string]string{}
		for _, a := range p.Arguments {
			given[a.Name] = "THE_" + strings.ToUpper(a.Name)
		}
		r, err := seller.GetPrompt(w.ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: given})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Messages[0].Content.(*mcp.TextContent).Text
		for _, value := range given {
			if !strings.Contains(text, value) {
				t.Errorf("the prompt %s does not say %s: %s", p.Name, value, text)
			}
		}
		if strings.ContainsAny(text, "{}") {
			t.Errorf("the prompt %s: %s", p.Name, text)
		}
		if _, err := seller.GetPrompt(w.ctx, &mcp.GetPromptParams{Name: p.Name}); err == nil {
			t.Errorf("the prompt %s needs nothing", p.Name)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"buy", "mediate", "sell"}) {
		t.Errorf("prompts %v", names)
	}
}
