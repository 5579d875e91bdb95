// Command two-nodes has a seller and a buyer negotiate about a used camera, each with a
// node of its own, and with nothing but the commands that a person would give. A relay
// carries what they say, or with -direct the seller's node does. At the end both have the
// same transcript and receipt, which verify offline.
//
//	go run ./examples/two-nodes
//	go run ./examples/two-nodes -direct
//	go run ./examples/two-nodes -kill
//
// With -kill the deal is made again and again, and in each one process is killed in the
// middle of one step, started again, and the step repeated: every process, every step.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	direct := flag.Bool("direct", false, "without a relay: the seller's node carries the session")
	kill := flag.Bool("kill", false, "kill every process at every step")
	every := flag.Int("every", 1, "with -kill: at every so many steps")
	program := flag.String("concordia", "", "the concordia command; it is built if this is empty")
	flag.Parse()
	if err := run(*program, *direct, *kill, max(*every, 1)); err != nil {
		log.Fatal(err)
	}
}

func run(program string, direct, kill bool, every int) (err error) {
	dir, err := os.MkdirTemp("", "two-nodes-")
	if err != nil {
		return err
	}
	w := &world{dir: dir, program: program}
	defer func() {
		for _, p := range w.all {
			p.kill()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if program == "" {
		w.program = filepath.Join(dir, "concordia")
		if out, err := exec.Command("go", "build", "-o", w.program, "github.com/concordia-node/concordia/cmd/concordia").CombinedOutput(); err != nil {
			return fmt.Errorf("building concordia: %w\n%s", err, out)
		}
	}
	if err := w.begin(direct); err != nil {
		return err
	}
	if err := w.deal("ses_camera", nil, 0, true); err != nil || !kill {
		return err
	}
	for _, p := range w.all {
		for at := range w.steps("") {
			if at%every != 0 {
				continue
			}
			id := fmt.Sprintf("ses_%s_%d", p.name, at)
			if err := w.deal(id, p, at, false); err != nil {
				return fmt.Errorf("with %s killed at step %d: %w\n%s", p.name, at, err, p.log.String())
			}
			fmt.Printf("%s killed at step %d: one chain, one receipt\n", p.name, at)
		}
	}
	return nil
}

// A world is the processes and the directory that theirs are in.
type world struct {
	dir, program string
	seller       *process
	buyer        *process
	all          []*process
	ids          map[*process]string
}

// A process is one that serves. It is started again where it was.
type process struct {
	w    *world
	name string
	args []string
	at   string // host and port at which it listens
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// start starts the process and waits until it says that it is there.
func (p *process) start() error {
	p.cmd = exec.Command(p.w.program, p.args...)
	p.cmd.Dir, p.cmd.Stderr = p.w.dir, &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		url, listens := strings.CutPrefix(lines.Text(), "listening on http://")
		if listens && p.at == "" {
			p.at = url
			for i, a := range p.args {
				if a == "127.0.0.1:0" {
					p.args[i] = url // where it is from now on
				}
			}
		}
		if lines.Text() == "ready" || listens && p.name == "relay" {
			return nil
		}
	}
	return fmt.Errorf("%s ended: %w\n%s", p.name, p.cmd.Wait(), p.log.String())
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
	}
}

// begin makes keys and starts everything.
func (w *world) begin(direct bool) error {
	carrier := []string{"--listen", "127.0.0.1:0"}
	if !direct {
		relay := &process{w: w, name: "relay", args: []string{"relay", "serve", "--listen", "127.0.0.1:0", "--dir", "mail"}}
		w.all = append(w.all, relay)
		if err := relay.start(); err != nil {
			return err
		}
		carrier = []string{"--relay", "http://" + relay.at}
	}
	w.ids = map[*process]string{}
	for _, name := range []string{"seller", "buyer"} {
		text, err := w.concordia("id", "new", name+".key", "--json")
		if err != nil {
			return err
		}
		var id struct {
			Agent string `json:"agent_id"`
		}
		if err := json.Unmarshal(text, &id); err != nil {
			return err
		}
		p := &process{w: w, name: name, args: append([]string{"node", "serve", "--loopback", "--dir", name, "--key", name + ".key"}, carrier...)}
		w.ids[p] = id.Agent
		w.all = append(w.all, p)
		if err := p.start(); err != nil {
			return err
		}
	}
	w.seller, w.buyer = w.all[len(w.all)-2], w.all[len(w.all)-1]
	add := []string{"contact", "add", w.ids[w.buyer], "--name", "ada", "--allow", "--dir", "seller"}
	if direct {
		add = append(add, "--url", "http://"+w.buyer.at)
	}
	_, err := w.concordia(add...)
	return errors.Join(err,
		os.WriteFile(filepath.Join(w.dir, "camera.json"), []byte(camera), 0o600),
		os.WriteFile(filepath.Join(w.dir, "conditional.json"), []byte(conditional), 0o600))
}

// concordia runs a command.
func (w *world) concordia(args ...string) ([]byte, error) {
	cmd := exec.Command(w.program, args...)
	cmd.Dir = w.dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("concordia %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}

const camera = `{
  "terms": {
    "item": {"type": "text", "label": "What is sold", "value": "Used mirrorless camera, 24 MP"},
    "price": {"type": "numeric", "label": "Price", "unit": "USD", "constraints": {"min": 1500, "max": 2500, "currency": "USD"}},
    "delivery": {"type": "categorical", "label": "How it is handed over", "enum": ["pickup", "shipping"]},
    "condition": {"type": "composite", "label": "Condition", "value": {"grade": "good", "shutter_count": 4000}}
  },
  "timing": {"session_ttl": 3600, "offer_ttl": 600, "max_rounds": 10},
  "category": "electronics.cameras",
  "value_range": "1000-5000_USD"
}`

const conditional = `{
  "conditions": [
    {"if": {"delivery": "pickup"}, "then": {"price": {"value": 2000, "currency": "USD"}}},
    {"if": {"delivery": "shipping"}, "then": {"price": {"value": 2050, "currency": "USD"}}}
  ],
  "complete": true
}`

// messages is how many messages the deal has.
const messages = 7

// steps are the commands of a deal. Each can be given again: a session and a message have
// ids, so that what was done is not done twice.
func (w *world) steps(id string) [][]string {
	say := func(who, verb string, more ...string) []string {
		return append([]string{"session", verb, id, "--id", "msg_" + id + "_" + verb + "_" + who, "--dir", who}, more...)
	}
	watch := func(who, until string) []string {
		return []string{"session", "watch", id, "--until", until, "--timeout", "60s", "--dir", who}
	}
	return [][]string{
		{"session", "open", "--to", "ada", "--in", "camera.json", "--id", id, "--dir", "seller"},
		{"invite", "list", "--wait", "--dir", "buyer"},
		{"invite", "join", id, "--dir", "buyer"},
		say("buyer", "accept-session"),
		say("buyer", "signal", "--priority", "price,delivery"),
		watch("seller", "3"),
		say("seller", "offer", "--term", "price=2200:USD", "--term", "delivery=pickup", "--reasoning", "Serviced last month."),
		watch("buyer", "4"),
		say("buyer", "counter", "--term", "price=1900:USD", "--term", "delivery=shipping"),
		watch("seller", "5"),
		say("seller", "counter", "--in", "conditional.json", "--reasoning", "Insured shipping costs me fifty."),
		watch("buyer", "6"),
		say("buyer", "accept", "--term", "delivery=shipping"),
		watch("seller", "receipt"),
		watch("buyer", "receipt"),
	}
}

// deal makes a deal. If there is a victim, it is killed in the middle of one step.
func (w *world) deal(id string, victim *process, at int, show bool) error {
	for i, step := range w.steps(id) {
		if show {
			fmt.Printf("$ concordia %s\n", strings.Join(step, " "))
		}
		if victim == nil || i != at {
			out, err := w.concordia(step...)
			if err != nil {
				return err
			}
			if show {
				os.Stdout.Write(out)
			}
			continue
		}
		done := make(chan error, 1)
		go func() {
			_, err := w.concordia(step...)
			done <- err
		}()
		victim.kill()
		if err := victim.start(); err != nil {
			return err
		}
		<-done // well or not: what counts is that it can be done again
		if _, err := w.concordia(step...); err != nil {
			return err
		}
	}
	return w.check(id, show)
}

// check compares what both have, and verifies it.
func (w *world) check(id string, show bool) error {
	var first []byte
	for _, name := range []string{"seller", "buyer"} {
		text, err := w.concordia("session", "export", id, "--dir", name)
		if err != nil {
			return err
		}
		var doc struct {
			Messages []json.RawMessage `json:"messages"`
			Receipt  json.RawMessage   `json:"receipt"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			return err
		}
		if len(doc.Messages) != messages || doc.Receipt == nil {
			return fmt.Errorf("%s has %d messages, want %d and a receipt", name, len(doc.Messages), messages)
		}
		if first != nil && !bytes.Equal(first, text) {
			return errors.New("the two have different transcripts")
		}
		first = text
		file := filepath.Join(w.dir, name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		out, err := w.concordia("verify", file)
		if err != nil {
			return err
		}
		if show && name == "buyer" {
			fmt.Printf("$ concordia verify buyer.json\n%s", out)
		}
	}
	return nil
}
