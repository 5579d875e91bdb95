package mcpserver_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/node/mcpserver"
)

// A client that asks and closes its side at once gets every answer; one whose call waits
// for something that does not come is not waited for.
func TestClientLeaves(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	for _, waits := range []bool{false, true} {
		s, err := mcpserver.New(seller.node, mcpserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		const asked = 20
		in := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
		for i := range asked {
			in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"concordia_contacts","arguments":{}}}`+"\n", i)
		}
		if waits {
			in += `{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"concordia_wait","arguments":{"timeout_seconds":600}}}` + "\n"
		}
		var out bytes.Buffer
		if err := s.Run(w.ctx, &mcpserver.Lines{In: strings.NewReader(in), Out: &out}); err != nil {
			t.Errorf("ended with %v", err)
		}
		if got := strings.Count(out.String(), `"agent_id"`); got != asked || !strings.Contains(out.String(), `"id":"hello"`) {
			t.Errorf("%d calls were answered, want %d: %.500s", got, asked, out.String())
		}
	}
}
