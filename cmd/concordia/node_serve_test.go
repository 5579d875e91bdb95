package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// serveNode runs the public handler of a node with an address, which has opened a session.
func serveNode(t *testing.T, change func(*node.Options)) (url string, n *node.Node, known []string) {
	t.Helper()
	var handler http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("n", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	opts := node.Options{Dir: filepath.Join(t.TempDir(), "n"), Key: key, Public: s.URL, Loopback: true, Metrics: prometheus.NewRegistry()}
	if change != nil {
		change(&opts)
	}
	n, err = node.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	handler = publicHandler(n, opts.Metrics)
	body, err := wire.Encode(wire.M{"terms": wire.M{"price": wire.M{"type": "numeric"}}})
	if err != nil {
		t.Fatal(err)
	}
	const id = "ses_of_the_test"
	// It may not be reserved, where the relay is away or full.
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	_, _ = n.Open(short, node.Opening{Session: id, Places: 1, Way: node.Otherwise, Body: body})
	return s.URL, n, []string{id, string(wire.DIDKey(key.Public())), strings.TrimPrefix(string(wire.DIDKey(key.Public())), "did:key:")}
}

func get(t *testing.T, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// /healthz says whether the node can do its work, to this machine alone.
func TestNodeHealthz(t *testing.T) {
	type health struct {
		Status string   `json:"status"`
		Why    []string `json:"why"`
	}
	check := func(url string, code int, want health) {
		t.Helper()
		got, text := get(t, url+"/healthz", nil)
		var h health
		if err := json.Unmarshal([]byte(text), &h); err != nil || got != code || h.Status != want.Status || !slices.Equal(h.Why, want.Why) {
			t.Errorf("/healthz: %d %s, %v; want %d %v", got, text, err, code, want)
		}
	}
	connected := func(n *node.Node) {
		t.Helper()
		for len(n.Health(t.Context())) > 0 {
			runtime.Gosched()
		}
	}
	url, n, _ := serveNode(t, nil)
	connected(n)
	check(url, http.StatusOK, health{Status: "ok"})
	full, _, _ := serveNode(t, func(o *node.Options) { o.Limits.FreeSpace = 1 << 60 })
	check(full, http.StatusServiceUnavailable, health{"broken", []string{"the own relay does not work"}})
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	alone, n, _ := serveNode(t, func(o *node.Options) { o.Relay = away.URL })
	for len(n.Health(t.Context())) > 1 {
		runtime.Gosched()
	}
	check(alone, http.StatusServiceUnavailable, health{"broken", []string{"the home relay is away"}})
}

// What is for the operator is not for anybody else.
func TestNodeOperator(t *testing.T) {
	url, _, _ := serveNode(t, nil)
	for _, path := range []string{"/healthz", "/metrics"} {
		for name, change := range map[string]func(*http.Request){
			"a proxy":            func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") },
			"another proxy":      func(r *http.Request) { r.Header.Set("Forwarded", "for=127.0.0.1") },
			"a proxy of old":     func(r *http.Request) { r.Header.Set("Via", "1.1 proxy") },
			"a rebound web page": func(r *http.Request) { r.Host = "evil.example:80" },
		} {
			if code, text := get(t, url+path, change); code != http.StatusNotFound || strings.Contains(text, "links") {
				t.Errorf("%s by %s: %d %s", path, name, code, text)
			}
		}
		if code, _ := get(t, url+path, func(r *http.Request) { r.Host = "localhost" }); code == http.StatusNotFound {
			t.Errorf("%s by name: %d", path, code)
		}
	}
}

// The names of metrics are interface. Their labels name no session and no agent.
func TestNodeMetrics(t *testing.T) {
	url, _, known := serveNode(t, nil)
	code, text := get(t, url+"/metrics", nil)
	if code != http.StatusOK {
		t.Fatalf("/metrics: %d %s", code, text)
	}
	var names []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "#" && f[1] == "TYPE" {
			names = append(names, f[2]+" "+f[3])
		}
	}
	want := []string{
		"concordia_relay_connections gauge",
		"concordia_relay_cut_total counter",
		"concordia_relay_delivered_total counter",
		"concordia_relay_free_bytes gauge",
		"concordia_relay_live_sessions gauge",
		"concordia_relay_operation_seconds histogram",
		"concordia_relay_operations_total counter",
		"concordia_relay_received_bytes_total counter",
		"concordia_relay_sent_bytes_total counter",
		"concordia_relay_sweeps_total counter",
		"concordia_relay_swept_total counter",
		"concordia_relay_used_bytes gauge",
	}
	if !slices.Equal(names, want) {
		t.Errorf("metrics are\n\t%s", strings.Join(names, "\n\t"))
	}
	for _, id := range known {
		if strings.Contains(text, id) {
			t.Errorf("the metrics name %s", id)
		}
	}
}
