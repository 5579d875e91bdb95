//go:build long

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// The conformance suite of MCP and a Node that runs it, from npm.
var suitePackages = []string{"--package", "node@22.23.3", "--package", "@modelcontextprotocol/conformance@0.1.16"}

// A node passes what a server of the same library passes that has the same capabilities
// and nothing else. Most of the suite asks for tools, prompts and resources of its own,
// which neither has.
func TestMCPSuiteLong(t *testing.T) {
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Skip("needs npx")
	}
	ctx, enough := context.WithTimeout(t.Context(), 3*time.Minute)
	defer enough()
	get := exec.CommandContext(ctx, npx, append([]string{"--yes"}, append(suitePackages, "--", "conformance", "--version")...)...)
	get.Dir, get.WaitDelay = t.TempDir(), time.Second
	if out, err := get.CombinedOutput(); err != nil {
		t.Skipf("needs npm and its registry: %v: %s", err, out)
	}
	got, want := runSuite(t, npx, servedNode(t)), runSuite(t, npx, bareServer(t))
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(want)) {
		fmt.Fprintf(&table, "%-32s %-20s %s\n", name, want[name].verdict(), got[name].verdict())
		for check, passed := range want[name] {
			if passed && !got[name][check] {
				t.Errorf("%s: %s fails, and not at a bare server", name, check)
			}
		}
	}
	t.Logf("%-32s %-20s %s\n%s", "scenario", "bare server", "node", table.String())
	if len(want) < 20 {
		t.Errorf("the suite has run %d scenarios", len(want))
	}
}

// servedNode runs node serve, behind a proxy that bears its token, for the suite has none.
// The suite wants a page of this machine let in.
func servedNode(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("s", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Create(filepath.Join(dir, "a.key"), keyfile.Identity{Agent: wire.DIDKey(key.Public()), Key: key}, nil, rand.Reader); err != nil {
		t.Fatal(err)
	}
	var proxy http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxy.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startNode(program, dir, "a", "--key", "a.key", "--mcp", "127.0.0.1:0", "--mcp-origins", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	token, err := os.ReadFile(filepath.Join(dir, "a", tokensName))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(p.mcp)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}}
	proxy = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A body that is still being looked at when the answer begins is closed under the
		// proxy's hands, and the answer cut off.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		through.ServeHTTP(w, r)
	})
	return s.URL + target.Path
}

// bareServer has a tool, a prompt and a kind of resource that do nothing.
func bareServer(t *testing.T) string {
	t.Helper()
	m := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	m.AddTool(&mcp.Tool{Name: "nothing", Description: "Does nothing.", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
	m.AddPrompt(&mcp.Prompt{Name: "nothing", Description: "Says nothing."}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	m.AddResourceTemplate(&mcp.ResourceTemplate{Name: "nothing", URITemplate: "bare://{id}"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// checks are those of one scenario, and whether they passed.
type checks map[string]bool

func (c checks) verdict() string {
	failed := 0
	for _, passed := range c {
		if !passed {
			failed++
		}
	}
	switch {
	case len(c) == 0:
		return "nothing checked"
	case failed == 0:
		return "pass"
	}
	return fmt.Sprintf("%d of %d failed", failed, len(c))
}

// runSuite runs the whole suite against a server.
func runSuite(t *testing.T, npx, url string) map[string]checks {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npx, append([]string{"--yes"}, append(suitePackages, "--", "conformance", "server", "--suite", "all", "--url", url, "--output-dir", "out")...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput() // its exit code says that some scenario failed
	results, globErr := filepath.Glob(filepath.Join(dir, "out", "server-*", "checks.json"))
	if globErr != nil || len(results) == 0 {
		t.Fatalf("running the suite: %v, %v\n%s", err, globErr, out)
	}
	named := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)
	all := map[string]checks{}
	for _, path := range results {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		name := named.FindStringSubmatch(filepath.Base(filepath.Dir(path)))[1]
		all[name] = checks{}
		for _, c := range list {
			if c.Status == "INFO" {
				continue
			}
			passed, before := all[name][c.ID]
			all[name][c.ID] = c.Status == "SUCCESS" && (passed || !before)
			if c.Status != "SUCCESS" {
				t.Logf("%s %s: %s %.200s", url, name, c.Status, c.ErrorMessage)
			}
		}
	}
	return all
}
