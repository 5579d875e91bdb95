package main

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/agentcard"
	"github.com/concordia-node/concordia/wire"
)

// startNode runs a program with node serve in a directory, and waits until it is ready.
func startNode(program, dir, name string, args ...string) (*relayProcess, error) {
	p := &relayProcess{cmd: exec.Command(program, append([]string{"node", "serve", "--dir", name}, args...)...), log: new(bytes.Buffer)}
	p.cmd.Args[0] = "concordia" // which is what a test binary goes by
	p.cmd.Dir, p.cmd.Stderr = dir, p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.url = url
		}
		if at, ok := strings.CutPrefix(lines.Text(), "mcp "); ok {
			p.mcp, _, _ = strings.Cut(at, " ")
		}
		if lines.Text() == "ready" {
			return p, nil
		}
	}
	return nil, errors.Join(lines.Err(), p.cmd.Wait(), errors.New(p.log.String()))
}

// nodeCommands are
//
//	node-up DIR ARG...  runs node serve with --dir DIR; $URL and $AT are where it listens,
//	                    and $MCP where it serves MCP
//	node-down DIR       drains it, and wants exit code 0; its log is in DIR.log, without the token
//	node-kill DIR       kills it
//	mcp-call DIR REVISION TOOL ARGUMENTS WANT
//	                    calls a tool at $MCP with the token of DIR; its result has to have WANT
func nodeCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	type key string
	running := func(ts *testscript.TestScript, name string) *relayProcess {
		p := ts.Value(runningKey{}).(map[any]*relayProcess)[key(name)]
		if p == nil {
			ts.Fatalf("no node runs in %s", name)
		}
		return p
	}
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"node-up": func(ts *testscript.TestScript, _ bool, args []string) {
			p, err := startNode(programOf(ts), ts.MkAbs("."), args[0], args[1:]...)
			ts.Check(err)
			ts.Setenv("URL", p.url)
			ts.Setenv("MCP", p.mcp)
			ts.Setenv("AT", strings.TrimPrefix(p.url, "http://"))
			ts.Defer(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
			ts.Value(runningKey{}).(map[any]*relayProcess)[key(args[0])] = p
		},
		"node-down": func(ts *testscript.TestScript, _ bool, args []string) {
			p := running(ts, args[0])
			ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
			if err := p.cmd.Wait(); err != nil {
				ts.Fatalf("the node in %s: %v\n%s", args[0], err, p.log)
			}
			ts.Check(os.WriteFile(ts.MkAbs(args[0]+".log"), p.log.Bytes(), 0o600))
			token, err := os.ReadFile(ts.MkAbs(filepath.Join(args[0], tokensName)))
			if err == nil && bytes.Contains(p.log.Bytes(), bytes.TrimSpace(token)) {
				ts.Fatalf("the log of the node in %s has the token of MCP", args[0])
			}
		},
		"node-kill": func(ts *testscript.TestScript, _ bool, args []string) {
			p := running(ts, args[0])
			ts.Check(p.cmd.Process.Kill())
			_ = p.cmd.Wait() // it was killed
		},
		"mcp-call": func(ts *testscript.TestScript, _ bool, args []string) {
			token := strings.TrimSpace(ts.ReadFile(filepath.Join(args[0], tokensName)))
			got, err := callTool(ts.Getenv("MCP"), token, args[1], args[2], args[3])
			if err != nil || !strings.Contains(got, args[4]) {
				ts.Fatalf("%s: %v %s, want %s", args[2], err, got, args[4])
			}
		},
	}
}

// What others reach at the address of a node: the node, its relay, and its card of A2A.
func TestPublicPaths(t *testing.T) {
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("p", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Options{Dir: t.TempDir(), Key: key, Public: "https://lena.example"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	h := publicHandler(n, prometheus.NewRegistry())
	for _, test := range []struct {
		method, path, from, host string
		status                   int
		has                      string
	}{
		{"GET", node.PathWellKnown, "192.0.2.1:1", "lena.example", http.StatusOK, "https://lena.example/concordia/inbox"},
		{"GET", agentcard.PathCard, "192.0.2.1:1", "lena.example", http.StatusOK, "https://lena.example/a2a"},
		{"POST", agentcard.PathRPC, "192.0.2.1:1", "lena.example", http.StatusUnsupportedMediaType, "jsonrpc"},
		{"POST", "/v1/session.append", "192.0.2.1:1", "lena.example", http.StatusBadRequest, "error"},
		{"GET", "/healthz", "127.0.0.1:1", "127.0.0.1:7431", 0, "links"}, // however it is
		{"GET", "/healthz", "127.0.0.1:1", "lena.example", http.StatusNotFound, ""},
		{"GET", "/healthz", "192.0.2.1:1", "127.0.0.1:7431", http.StatusNotFound, ""},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		r.RemoteAddr, r.Host = test.from, test.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if test.status != 0 && w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("%s %s from %s: %d %s", test.method, test.path, test.from, w.Code, w.Body)
		}
	}
}

func TestParseTerm(t *testing.T) {
	for text, want := range map[string]string{
		"price=2050:USD":     `{"price":{"currency":"USD","value":2050}}`,
		"price=:USD":         `{"price":{"currency":"USD"}}`,
		"price=2050":         `{"price":{"value":2050}}`,
		"price=2050:usd":     `{"price":{"value":"2050:usd"}}`,
		"note=see:USA":       `{"note":{"value":"see:USA"}}`,
		"condition=like_new": `{"condition":{"value":"like_new"}}`,
		"delivery=":          `{"delivery":{}}`,
		"warranty=true":      `{"warranty":{"value":true}}`,
		`size={"w":1}`:       `{"size":{"value":{"w":1}}}`,
		`size={"w":1`:        `{"size":{"value":"{\"w\":1"}}`,
		"formula=a=b":        `{"formula":{"value":"a=b"}}`,
		`code="007"`:         `{"code":{"value":"007"}}`,
		"price":              "",
		"=3":                 "",
	} {
		name, term, err := parseTerm(text)
		if want == "" {
			if err == nil {
				t.Errorf("%s: read as %s %v", text, name, term)
			}
			continue
		}
		got, fault := wire.Encode(wire.M{name: term})
		if err != nil || fault != nil || got.Canonical() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}
