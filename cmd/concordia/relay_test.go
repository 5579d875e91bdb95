package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// A relayProcess is concordia relay serve, as a process of its own.
type relayProcess struct {
	cmd *exec.Cmd
	url string
	mcp string // where a node serves MCP
	log *bytes.Buffer
}

// startRelay runs a program with relay serve in a directory, and waits until it listens.
func startRelay(program, dir string, env []string, args ...string) (*relayProcess, error) {
	p := &relayProcess{cmd: exec.Command(program, append([]string{"relay", "serve"}, args...)...), log: new(bytes.Buffer)}
	p.cmd.Args[0] = "concordia" // which is what a test binary goes by
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, env, p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, p.cmd.Wait(), errors.New(p.log.String()))
	}
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return p, nil
}

// relayCommands are
//
//	relay-up ARG...       runs relay serve on a free port, with --dir mail; $RELAY is its URL
//	relay-down            drains it, and wants exit code 0; its log is in relay.log
//	follow KEY N [VERB...]  runs relay tail, or VERB, until it has printed N lines, interrupts it, and wants exit code 0
//	moves FILE DIR        writes the messages of a transcript to DIR/1.json and so on; $SESSION is its id
//	enclose KEY FILE OUT  encloses a receipt in $SESSION
//	agent-of VAR KEY      sets a variable to the id of an agent
func relayCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	type key struct{}
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"relay-up": func(ts *testscript.TestScript, _ bool, args []string) {
			p, err := startRelay(programOf(ts), ts.MkAbs("."), nil, append([]string{"--listen", "127.0.0.1:0", "--dir", "mail"}, args...)...)
			ts.Check(err)
			ts.Setenv("RELAY", p.url)
			ts.Defer(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
			ts.Value(runningKey{}).(map[any]*relayProcess)[key{}] = p
		},
		"relay-down": func(ts *testscript.TestScript, _ bool, _ []string) {
			p := ts.Value(runningKey{}).(map[any]*relayProcess)[key{}]
			ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
			ts.Check(p.cmd.Wait())
			ts.Check(os.WriteFile(ts.MkAbs("relay.log"), p.log.Bytes(), 0o600))
		},
		"follow": func(ts *testscript.TestScript, _ bool, args []string) {
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			verb := []string{"relay", "tail"}
			if len(args) > 2 {
				verb = args[2:]
			}
			cmd := exec.Command(programOf(ts), append(verb, "--relay", ts.Getenv("RELAY"), "--key", args[0])...)
			cmd.Dir, cmd.Stderr = ts.MkAbs("."), ts.Stderr()
			out, err := cmd.StdoutPipe()
			ts.Check(err)
			ts.Check(cmd.Start())
			lines := bufio.NewScanner(out)
			for range n {
				if !lines.Scan() {
					ts.Fatalf("tail ended: %v", cmd.Wait())
				}
			}
			ts.Check(cmd.Process.Signal(os.Interrupt))
			for lines.Scan() {
				ts.Fatalf("tail says more: %s", lines.Text())
			}
			ts.Check(cmd.Wait())
		},
		"moves": func(ts *testscript.TestScript, _ bool, args []string) {
			v, err := wire.Parse([]byte(ts.ReadFile(args[0])), wire.DocumentLimits)
			ts.Check(err)
			messages, _ := v.Get("messages")
			ts.Check(os.MkdirAll(ts.MkAbs(args[1]), 0o700))
			for i, m := range messages.Elems() {
				ts.Check(os.WriteFile(ts.MkAbs(filepath.Join(args[1], fmt.Sprintf("%d.json", i+1))), []byte(m.Canonical()), 0o600))
				id, _ := m.Get("session_id")
				ts.Setenv("SESSION", id.Text())
			}
		},
		"enclose": func(ts *testscript.TestScript, _ bool, args []string) {
			id, err := keyfile.Load(ts.MkAbs(args[0]), nil)
			ts.Check(err)
			content, err := wire.Parse([]byte(ts.ReadFile(args[1])), wire.DocumentLimits)
			ts.Check(err)
			e, err := relay.Enclosure{
				ID: "enc_1", Session: wire.SessionID(ts.Getenv("SESSION")), From: id.Agent, Time: time.Now(), Kind: relay.KindReceipt, Content: content,
			}.Sign(id.Key)
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(e.Value().Canonical()), 0o600))
		},
		"agent-of": func(ts *testscript.TestScript, _ bool, args []string) {
			agent, _, err := keyfile.Public(ts.MkAbs(args[1]))
			ts.Check(err)
			ts.Setenv(args[0], string(agent))
		},
	}
}

// programOf returns the command under test.
func programOf(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, "concordia")); err == nil {
			return path
		}
	}
	ts.Fatalf("there is no concordia in $PATH")
	return ""
}

// runningKey is where a script keeps its relay.
type runningKey struct{}

func TestForwarded(t *testing.T) {
	proxies := forwarded{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, test := range []struct {
		name, remote string
		header       []string
		want         string
	}{
		{"nobody in between", "192.0.2.7:1", nil, "192.0.2.7"},
		{"who is no proxy is not believed", "192.0.2.7:1", []string{"198.51.100.1"}, "192.0.2.7"},
		{"a proxy", "10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what stands before the last hop anybody wrote", "10.0.0.1:1", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies, two headers", "[2001:db8::1]:1", []string{"203.0.113.9, 198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		{"a proxy that says nothing", "10.0.0.1:1", nil, "10.0.0.1"},
		{"a proxy that says what is no address", "10.0.0.1:1", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"all are proxies", "10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv4 as IPv6", "[::ffff:10.0.0.1]:1", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{"X-Forwarded-For": test.header}}
		if got := proxies.address(r); got.String() != test.want {
			t.Errorf("%s: %v, want %s", test.name, got, test.want)
		}
	}
}

// A token file that others may read, or that is none, is not used, and what is wrong with
// it does not show what is in it.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	f := &tokenFile{path: path, relay: func() string { return "relay_1" }}
	ctx := context.Background()
	if token, err := f.Token(ctx); token != "" || err != nil {
		t.Errorf("without a file: %q, %v", token, err)
	}
	if err := f.SetToken(ctx, "secret-token"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if r, err := f.read(); r != (tokenRecord{"relay_1", "secret-token"}) || err != nil {
		t.Errorf("read = %v, %v", r, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if token, err := f.Token(ctx); token != "" || err == nil || !strings.Contains(err.Error(), "others may read") {
		t.Errorf("with mode 0640: %q, %v", token, err)
	}
	for _, text := range []string{"", "secret-token", `{"token": "secret-token"}`, `{"relay": "r", "token": "secret-token"`} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if token, err := f.Token(ctx); token != "" || err == nil || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("with %q in it: %q, %v", text, token, err)
		}
	}
	if err := f.SetToken(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token that was given up is kept: %v", err)
	}
}

func TestPositionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "positions")
	ctx := context.Background()
	p, err := openPositions(path)
	if err != nil {
		t.Fatal(err)
	}
	want := relay.Position{Number: 3, Tip: wire.Tip{Session: "s", Hash: wire.HashOf("x"), Len: 2, Clock: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)}}
	if err := p.SetPosition(ctx, "s", want); err != nil {
		t.Fatal(err)
	}
	if p, err = openPositions(path); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Position(ctx, "s"); got != want || err != nil {
		t.Errorf("Position = %+v, %v; want %+v", got, err, want)
	}
	if got, err := p.Position(ctx, "other"); got != (relay.Position{Tip: wire.Tip{Session: "other"}}) || err != nil {
		t.Errorf("of another session: %+v, %v", got, err)
	}
	for _, text := range []string{"x", `{"s": {"number": 1, "messages": 1, "tip": "x"}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openPositions(path); err == nil {
			t.Errorf("positions of %s", text)
		}
	}
}
