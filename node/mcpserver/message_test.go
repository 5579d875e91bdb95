package mcpserver_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// messages are what is no message, or is not the same one for every reader.
var messages = []struct{ name, text string }{
	{"two methods", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`},
	{"two ids", `{"jsonrpc":"2.0","id":6,"id":7,"method":"ping"}`},
	{"two params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"concordia_wait"},"params":{"name":"concordia_contacts","arguments":{}}}`},
	{"two names", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"concordia_wait","name":"concordia_contacts","arguments":{}}}`},
	{"two arguments", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"concordia_contacts","arguments":{"x":1},"arguments":{}}}`},
	{"two spellings of arguments", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"concordia_contacts","arguments":{},"Arguments":{"x":1}}}`},
	{"another s", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"concordia_contacts\",\"arguments\":{},\"argument\u017f\":{}}}"},
	{"two escapes", `{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"tools/list"}`},
	{"two revisions", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/protocolVersion":"2025-11-25"}}}`},
	{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`},
	{"a batch of notifications", `[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`},
	{"an empty batch", `[]`},
	{"no id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`},
	{"half an id", `{"jsonrpc":"2.0","id":7.5,"method":"ping"}`},
	{"no JSON", `{"jsonrpc":"2.0","id":7,"method":`},
	{"more behind", `{"jsonrpc":"2.0","id":7,"method":"ping"} {}`},
	{"NUL", "{\"jsonrpc\":\"2.0\",\"id\":7,\x00\"method\":\"ping\"}"},
	{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}"},
	{"a surrogate alone", `{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`},
	{"deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}`},
	{"a number", `7`},
	{"another JSON-RPC", `{"jsonrpc":"1.0","id":7,"method":"ping"}`},
}

// Over HTTP they are refused, and nothing of them is done.
func TestHTTPMessages(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{})
	for _, revision := range []string{before, "2025-03-26", ""} {
		id := connection(t, url)
		for _, test := range messages {
			status, text, _ := ask(t, http.MethodPost, url, test.text, func(r *http.Request) {
				within(id)(r)
				r.Header.Set("MCP-Protocol-Version", revision)
				if revision == "" {
					r.Header.Del("MCP-Protocol-Version")
				}
			})
			if status != http.StatusBadRequest || strings.Contains(text, `"result"`) {
				t.Errorf("%s, revision %q: %d %.200s", test.name, revision, status, text)
			}
		}
	}
}

// On standard input each is answered with an error, and what comes after it is answered.
func TestLines(t *testing.T) {
	w := newWorld(t)
	n := w.agent("seller", mcpserver.Options{}, nil).node
	const size = 300_000
	list := append(messages[:len(messages):len(messages)], struct{ name, text string }{"long", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", size) + `"}}`})
	for _, test := range list {
		s, err := mcpserver.New(n, mcpserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := initialize + "\r\n\n" + test.text + "\n" + ping // without an end of line
		var out bytes.Buffer
		if err := s.Run(w.ctx, &mcpserver.Lines{In: io.MultiReader(strings.NewReader(in)), Out: &out, Size: size}); err != nil {
			t.Errorf("%s: ended with %v", test.name, err)
		}
		got := out.String()
		if strings.Count(got, "\n") != 3 || strings.Count(got, `"error"`) != 1 || !strings.Contains(got, `"id":null`) || !strings.Contains(got, `"id":2,"result":{}`) {
			t.Errorf("%s: %.2000s", test.name, got)
		}
	}
}
