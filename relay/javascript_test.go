package relay_test

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJavaScriptClient runs a client that was written from RFC 0001 and openapi.json
// alone, in another language.
func TestJavaScriptClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node, 20 or later")
	}
	const program = "../examples/relay-client.mjs"
	if out, err := exec.Command(node, "--experimental-websocket", "--eval", "WebSocket").CombinedOutput(); err != nil {
		t.Skipf("needs node, 20 or later: %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := listen(t, setting{})
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, node, "--experimental-websocket", program, s.url)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, &stderr)
	}
	want := `relay speaks concordia-relay/1
both are registered and connected
the buyer was invited and has joined
entry 1 says "turn 1"
entry 2 says "turn 2"
entry 3 says "turn 3"
entry 4 says "turn 4"
entry 5 says "turn 5"
entry 6 says "turn 6"
a fork is refused: chain_conflict
the transcript has 6 messages
the session is closed
`
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
