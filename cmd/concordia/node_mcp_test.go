package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

// bearer bears a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// callTool calls a tool over HTTP with a client of a revision of MCP.
func callTool(url, token, revision, tool, args string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return "", err
	}
	defer c.Close()
	r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	return string(text), err
}

// On an address that is not of this machine alone, MCP is served over TLS, by the names
// that were given.
func TestNodeMCPOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	k, err := wire.NewPrivateKey([]byte(strings.Repeat("s", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Create(filepath.Join(dir, "a.key"), keyfile.Identity{Agent: wire.DIDKey(k.Public()), Key: k}, nil, rand.Reader); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := startNode(program, dir, "a", "--key", "a.key", "--mcp", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key); err == nil {
		t.Fatal("a public address without a name")
	}
	p, err := startNode(program, dir, "a", "--key", "a.key", "--mcp", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key, "--mcp-hosts", "localhost, lena.example")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	token, err := os.ReadFile(filepath.Join(dir, "a", tokensName))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if text, err := os.ReadFile(cert); err != nil || !trusted.AppendCertsFromPEM(text) {
		t.Fatal("no certificate")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	for host, want := range map[string]int{"": http.StatusBadRequest, "lena.example": http.StatusBadRequest, "evil.example": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.mcp, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		r.Host = host
		response, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", p.mcp, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want { // a stream without a session, or not even that
			t.Errorf("host %q: %d, want %d", host, response.StatusCode, want)
		}
	}
}

// Tokens are made once, for their owner alone, and never said.
func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), tokensName)
	made, err := readTokens(path, rand.Reader)
	if err != nil || len(made) != 1 || len(made[0]) < 43 {
		t.Fatalf("a new token: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the token: %v, %v", info.Mode(), err)
	}
	if again, err := readTokens(path, rand.Reader); err != nil || len(again) != 1 || again[0] != made[0] {
		t.Errorf("the token again: %v", err)
	}
	second := strings.Repeat("b", 43)
	if err := os.WriteFile(path, []byte(made[0]+"\n\n"+second+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if both, err := readTokens(path, rand.Reader); err != nil || len(both) != 2 || both[1] != second {
		t.Errorf("two tokens: %d, %v", len(both), err)
	}
	for name, spoil := range map[string]func() error{
		"others may read it": func() error { return os.Chmod(path, 0o644) },
		"nothing in it":      func() error { return os.WriteFile(path, []byte("\n"), 0o600) },
		"too large":          func() error { return os.WriteFile(path, bytes.Repeat([]byte(second), 2000), 0o600) },
		"a directory":        func() error { _ = os.Remove(path); return os.Mkdir(path, 0o700) },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(second+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := readTokens(path, rand.Reader); err == nil || strings.Contains(err.Error(), second) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
