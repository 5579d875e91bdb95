// Command two-agents has two agents sell and buy a used camera by MCP alone, as a model
// would: each has a concordia mcp of its own, with a directory and a key of its own, and
// they reach each other over one relay. At the end both stores have the same transcript
// and receipt, which verify offline.
//
//	go run ./examples/two-agents
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	program := flag.String("concordia", "", "the concordia command; it is built if this is empty")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, *program); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, program string) (err error) {
	dir, err := os.MkdirTemp("", "two-agents-")
	if err != nil {
		return err
	}
	w := &world{ctx: ctx, dir: dir, program: program}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(dir)) }()
	if program == "" {
		w.program = filepath.Join(dir, "concordia")
		if out, err := exec.Command("go", "build", "-o", w.program, "github.com/concordia-node/concordia/cmd/concordia").CombinedOutput(); err != nil {
			return fmt.Errorf("building concordia: %w\n%s", err, out)
		}
	}
	relay, err := w.relay()
	if err != nil {
		return err
	}
	seller, err := w.agent("seller", relay)
	if err != nil {
		return err
	}
	buyer, err := w.agent("buyer", relay)
	if err != nil {
		return err
	}
	id, err := deal(seller, buyer)
	if err != nil {
		return err
	}
	return w.check(id, seller, buyer)
}

// deal is what the two agents do. What one learns of the other it learns by its tools.
func deal(seller, buyer *agent) (id string, err error) {
	type args = map[string]any
	who, err := buyer.call("concordia_contacts", args{})
	if err != nil {
		return "", err
	}
	opened, err := seller.call("concordia_open_session", args{
		"responder_id": who["agent_id"], "category": "electronics.cameras", "value_range": "1000-5000_USD",
		"terms": args{
			"item":     args{"type": "text", "value": "Used mirrorless camera, 24 MP"},
			"price":    args{"type": "numeric", "constraints": args{"min": 1500, "max": 2500, "currency": "USD"}},
			"delivery": args{"type": "categorical", "enum": []string{"pickup", "shipping"}},
		},
	})
	if err != nil {
		return "", err
	}
	id, _ = opened["session_id"].(string)
	offer := func(price int, delivery string) args {
		return args{"session_id": id, "terms": args{"price": args{"value": price, "currency": "USD"}, "delivery": args{"value": delivery}}}
	}
	in := args{"session_id": id}
	until := func(what string) args { return args{"session_id": id, "until": what} }
	for _, step := range []struct {
		who  *agent
		tool string
		args args
	}{
		{buyer, "concordia_wait", args{"after": 0}},
		{buyer, "concordia_invitations", args{}},
		{buyer, "concordia_join", in},
		{buyer, "concordia_accept_session", in},
		{seller, "concordia_wait", until("active")},
		{seller, "concordia_propose", offer(2200, "pickup")},
		{buyer, "concordia_wait", until("turn")},
		{buyer, "concordia_counter", offer(1900, "shipping")},
		{seller, "concordia_wait", until("turn")},
		{seller, "concordia_counter", offer(2050, "shipping")},
		{buyer, "concordia_wait", until("turn")},
		{buyer, "concordia_accept", in}, // the offer that the buyer was shown
		{seller, "concordia_wait", until("receipt")},
		{buyer, "concordia_wait", until("receipt")},
	} {
		result, err := step.who.call(step.tool, step.args)
		if err != nil {
			return "", err
		}
		state, _ := result["state"].(string)
		next, _ := result["next"].(string)
		fmt.Printf("%-6s %-24s  %-8s  %s\n", step.who.name, step.tool, state, next)
	}
	return id, nil
}

// A world is what runs, and the directory that it is in.
type world struct {
	ctx          context.Context
	dir, program string
	serving      *exec.Cmd
	agents       []*agent
}

// An agent is an MCP client of a process of its own.
type agent struct {
	ctx  context.Context
	name string
	mcp  *mcp.ClientSession
	log  bytes.Buffer
}

// relay starts a relay and returns where it is.
func (w *world) relay() (string, error) {
	w.serving = exec.CommandContext(w.ctx, w.program, "relay", "serve", "--listen", "127.0.0.1:0", "--dir", "mail")
	w.serving.Dir = w.dir
	out, err := w.serving.StdoutPipe()
	if err == nil {
		err = w.serving.Start()
	}
	if err != nil {
		return "", fmt.Errorf("starting a relay: %w", err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }() // so that it is never blocked
			return url, nil
		}
	}
	return "", errors.New("the relay ended")
}

// agent makes a key and starts concordia mcp with it, in a new directory.
func (w *world) agent(name, relay string) (*agent, error) {
	if _, err := w.concordia("id", "new", name+".key"); err != nil {
		return nil, err
	}
	a := &agent{ctx: w.ctx, name: name}
	cmd := exec.CommandContext(w.ctx, w.program, "mcp", "--dir", name, "--key", name+".key", "--relay", relay, "--loopback")
	cmd.Dir, cmd.Stderr = w.dir, &a.log
	var err error
	a.mcp, err = mcp.NewClient(&mcp.Implementation{Name: "two-agents", Version: "1"}, nil).Connect(w.ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w\n%s", name, err, a.log.String())
	}
	w.agents = append(w.agents, a)
	return a, nil
}

// end ends what was started.
func (w *world) end() error {
	var errs []error
	for _, a := range w.agents {
		if err := a.mcp.Close(); err != nil {
			errs = append(errs, fmt.Errorf("ending the %s: %w\n%s", a.name, err, a.log.String()))
		}
	}
	if w.serving != nil && w.serving.Process != nil {
		_ = w.serving.Process.Kill() // it may have ended
		_ = w.serving.Wait()
	}
	return errors.Join(errs...)
}

// call calls a tool.
func (a *agent) call(tool string, args map[string]any) (map[string]any, error) {
	r, err := a.mcp.CallTool(a.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("%s by the %s: %w\n%s", tool, a.name, err, a.log.String())
	}
	result, _ := r.StructuredContent.(map[string]any)
	if r.IsError {
		return nil, fmt.Errorf("%s by the %s was refused: %v", tool, a.name, result["error"])
	}
	return result, nil
}

// concordia runs a command.
func (w *world) concordia(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(w.ctx, w.program, args...)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("concordia %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

// check compares what both agents have, by MCP and in their stores, and verifies it offline.
func (w *world) check(id string, both ...*agent) error {
	var first string
	for _, a := range both {
		r, err := a.mcp.ReadResource(w.ctx, &mcp.ReadResourceParams{URI: "concordia://session/" + id + "/transcript"})
		if err != nil {
			return fmt.Errorf("reading the transcript of the %s: %w", a.name, err)
		}
		text := r.Contents[0].Text
		// The commands of the owner share the directory with the agent's process.
		stored, err := w.concordia("session", "export", id, "--dir", a.name)
		if err != nil {
			return err
		}
		var doc struct {
			Messages []json.RawMessage `json:"messages"`
			Receipt  struct {
				Countersignatures map[string]string `json:"countersignatures"`
			} `json:"receipt"`
		}
		if err := json.Unmarshal(stored, &doc); err != nil {
			return err
		}
		if len(doc.Messages) != 6 || len(doc.Receipt.Countersignatures) != 2 {
			return fmt.Errorf("the %s has %d messages and %d signatures of the receipt, want 6 and 2", a.name, len(doc.Messages), len(doc.Receipt.Countersignatures))
		}
		if first == "" {
			first = text
		}
		if text != first || strings.TrimSpace(string(stored)) != strings.TrimSpace(text) && !sameJSON(stored, []byte(text)) {
			return errors.New("the two have different transcripts")
		}
		if err := os.WriteFile(filepath.Join(w.dir, a.name+".json"), []byte(text), 0o600); err != nil {
			return err
		}
		out, err := w.concordia("verify", a.name+".json")
		if err != nil {
			return err
		}
		fmt.Printf("$ concordia verify %s.json\n%s", a.name, out)
	}
	return nil
}

// sameJSON reports whether two texts are the same but for how they are laid out.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
