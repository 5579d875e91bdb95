package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
)

const (
	token      = "the-token-of-the-first-client-of-the-test"
	otherToken = "the-token-of-the-other-client-of-the-test"
)

// serve serves a node over HTTP.
func (w *world) serve(n *node.Node, opts mcpserver.HTTPOptions) (url string, h *mcpserver.Handler) {
	w.Helper()
	opts.Tokens = []string{token, otherToken}
	h, err := mcpserver.NewHandler(n, opts)
	if err != nil {
		w.Fatal(err)
	}
	s := httptest.NewServer(h)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			w.Error(err)
		}
		s.Close()
	})
	return s.URL + mcpserver.Path, h
}

// bearer bears a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects a client, that calls itself by a name, over HTTP.
func (w *world) dial(n *node.Node, url, token, version, name string) *client {
	w.Helper()
	c := &client{w: w, node: n, changed: make(chan struct{}, 100), progress: make(chan struct{}, 1)}
	var err error
	c.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case c.progress <- struct{}{}:
			default:
			}
		},
	}).Connect(w.ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// agents starts the nodes of two agents and reaches them over HTTP.
func (w *world) agents(version string) (seller, buyer *client) {
	w.Helper()
	var both []*client
	for _, name := range []string{"seller", "buyer"} {
		n := w.agent(name, mcpserver.Options{}, nil).node
		url, _ := w.serve(n, mcpserver.HTTPOptions{})
		both = append(both, w.dial(n, url, token, version, "test"))
	}
	return both[0], both[1]
}

const (
	cheap = `,"terms":{"price":{"value":1900,"currency":"USD"},"delivery":{"value":"pickup"}}}`
	dear  = `,"terms":{"price":{"value":2400,"currency":"USD"},"delivery":{"value":"pickup"}}}`
)

// A deal over HTTP, in both eras. An acceptance that names no offer is about the one that
// the agent was shown, not the one that has come since, and not one that a client with
// another token was shown.
func TestHTTPDeal(t *testing.T) {
	for _, version := range []string{before, since} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			seller, buyer := w.agents(version)
			if got := buyer.InitializeResult(); got != nil && got.ProtocolVersion != version {
				t.Fatalf("the client speaks %s", got.ProtocolVersion)
			}
			session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
			seller.call("concordia_propose", session+cheap)
			buyer.call("concordia_wait", session+`}`)
			seller.call("concordia_counter", session+dear)
			// The buyer's node has heard of the second offer, and the agent has not.
			for {
				list, err := buyer.node.Sessions(w.ctx, node.Filter{})
				if err != nil {
					t.Fatal(err)
				}
				if v, err := buyer.node.Session(w.ctx, list[0].Session); err == nil && v.Len == 4 {
					break
				}
				runtime.Gosched()
			}
			if v := buyer.refused("concordia_accept", session+`}`); at(v, "state") != "active" || at(v, "code") == "bad_request" {
				t.Errorf("accepting what was replaced: %s", v)
			}
			buyer.call("concordia_session_status", session+`}`)
			url, _ := w.serve(buyer.node, mcpserver.HTTPOptions{})
			other := w.dial(buyer.node, url, otherToken, version, "test")
			if v := other.refused("concordia_accept", session+`}`); at(v, "pointer") != "/offer_id" {
				t.Errorf("accepting what another client was shown: %s", v)
			}
			buyer.call("concordia_accept", session+`}`)
			for _, c := range []*client{seller, buyer} {
				if v := c.call("concordia_wait", session+`,"until":"receipt"}`); at(v, "state") != "agreed" || !strings.Contains(at(v, "external"), "2400") {
					t.Errorf("the end: %s", v)
				}
			}
		})
	}
}

// Since 2026-07-28 what was shown is kept for a token and a client, on one server.
func TestHTTPApart(t *testing.T) {
	w := newWorld(t)
	seller := w.agent("seller", mcpserver.Options{}, nil)
	n := w.agent("buyer", mcpserver.Options{}, nil).node
	url, _ := w.serve(n, mcpserver.HTTPOptions{})
	buyer := w.dial(n, url, token, since, "test")
	session := `{"session_id":"` + w.begin(seller, buyer, "") + `"`
	seller.call("concordia_propose", session+cheap)
	buyer.call("concordia_wait", session+`}`)
	for name, c := range map[string]*client{
		"another token": w.dial(n, url, otherToken, since, "test"), "another name": w.dial(n, url, token, since, "other"),
		"another era": w.dial(n, url, token, before, "test"),
	} {
		if v := c.refused("concordia_accept", session+`}`); at(v, "pointer") != "/offer_id" {
			t.Errorf("%s: %s", name, v)
		}
	}
	same := w.dial(n, url, token, since, "test")
	same.call("concordia_accept", session+`}`)
}

// What was said to a client that had hung up was shown to nobody, and what waits for it
// ends.
func TestHTTPHungUp(t *testing.T) {
	for _, version := range []string{before, since} {
		w := newWorld(t)
		seller := w.agent("seller", mcpserver.Options{}, nil)
		n := w.agent("buyer", mcpserver.Options{}, nil).node
		url, _ := w.serve(n, mcpserver.HTTPOptions{Server: mcpserver.Options{Tell: time.Millisecond}})
		other := w.dial(n, url, otherToken, before, "other")
		session := `{"session_id":"` + w.begin(seller, other, "") + `"`
		id := ""
		if version == before {
			id = connection(t, url)
		}
		// call sends a call and reads its answer until a line has a text.
		call := func(ctx context.Context, tool, args, until string) string {
			t.Helper()
			body := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":{"progressToken":1}}}`
			change := within(id)
			if version == since {
				body, change = apart("tools/call", `,"name":"`+tool+`","arguments":`+args)
				body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Mcp-Name", tool)
			change(r)
			response, err := bearer(token).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			lines := bufio.NewScanner(response.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if strings.Contains(lines.Text(), until) {
					return lines.Text()
				}
			}
			t.Fatalf("%s: %s answers nothing with %s: %v", version, tool, until, lines.Err())
			return ""
		}
		seller.call("concordia_propose", session+cheap)
		call(w.ctx, "concordia_wait", session+`,"until":"turn"}`, `"structuredContent"`)
		waiting, hangUp := context.WithCancel(w.ctx)
		const change = `,"until":"change","timeout_seconds":600}`
		call(waiting, "concordia_wait", session+change, "notifications/progress")
		hangUp()
		known := at(other.call("concordia_session_status", session+`}`), "version")
		seller.call("concordia_counter", session+dear)
		other.call("concordia_wait", session+`,"version":`+known+change) // as long as the one that was given up
		if got := call(w.ctx, "concordia_accept", session+`}`, `"structuredContent"`); !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// ask sends a request as it is. change may be nil.
func ask(tb testing.TB, method, url, body string, change func(*http.Request)) (status int, text string, header http.Header) {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(r)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return response.StatusCode, string(all), response.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// apart is a request since 2026-07-28.
func apart(method, params string) (body string, change func(*http.Request)) {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`,
		func(r *http.Request) {
			r.Header.Set("MCP-Protocol-Version", since)
			r.Header.Set("Mcp-Method", method)
		}
}

// Only who bears a token of the node, and asks for it by a name that it has, from no page
// that is not listed, is let in.
func TestHTTPAdmit(t *testing.T) {
	w := newWorld(t)
	n := w.agent("seller", mcpserver.Options{}, nil).node
	url, _ := w.serve(n, mcpserver.HTTPOptions{Hosts: []string{"lena.example"}, Origins: []string{"https://page.example"}})
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"a client", nil, http.StatusOK},
		{"another token", header("Authorization", "Bearer "+otherToken), http.StatusOK},
		{"lower case", header("Authorization", "bearer "+token), http.StatusOK},
		{"localhost", host("localhost:7420"), http.StatusOK},
		{"IPv6 loopback", host("[::1]:7420"), http.StatusOK},
		{"a listed host", host("Lena.example"), http.StatusOK},
		{"a listed page", header("Origin", "https://page.example"), http.StatusOK},
		{"no token", header("Authorization"), http.StatusUnauthorized},
		{"a wrong token", header("Authorization", "Bearer "+token+"x"), http.StatusUnauthorized},
		{"a part of the token", header("Authorization", "Bearer "+token[:20]), http.StatusUnauthorized},
		{"an empty token", header("Authorization", "Bearer "), http.StatusUnauthorized},
		{"another scheme", header("Authorization", "Basic "+token), http.StatusUnauthorized},
		{"two tokens", header("Authorization", "Bearer "+token, "Bearer "+token), http.StatusUnauthorized},
		{"a rebound name", host("evil.example:7420"), http.StatusForbidden},
		{"a name that begins like one", host("localhost.evil.example"), http.StatusForbidden},
		{"another address", host("192.0.2.1:7420"), http.StatusForbidden},
		{"a page", header("Origin", "https://evil.example"), http.StatusForbidden},
		{"a page of this machine", header("Origin", "http://localhost:7420"), http.StatusForbidden},
		{"a page without a name", header("Origin", "null"), http.StatusForbidden},
		{"two pages", header("Origin", "https://page.example", "https://evil.example"), http.StatusForbidden},
	} {
		status, text, h := ask(t, http.MethodPost, url, initialize, test.change)
		if status != test.want || strings.Contains(text, token) {
			t.Errorf("%s: %d %s", test.name, status, text)
		}
		if got := h.Get("Access-Control-Allow-Origin"); (got != "") != (test.name == "a listed page") {
			t.Errorf("%s: a page is let in: %q", test.name, got)
		}
	}
	preflight := func(origin string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		}
	}
	if status, _, h := ask(t, http.MethodOptions, url, "", preflight("https://page.example")); status != http.StatusNoContent || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
		t.Errorf("a listed page asks first: %d %v", status, h)
	}
	if status, _, h := ask(t, http.MethodOptions, url, "", preflight("https://evil.example")); status != http.StatusForbidden || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page asks first: %d %v", status, h)
	}
	if status, _, _ := ask(t, http.MethodPost, strings.TrimSuffix(url, "/mcp")+"/", initialize, nil); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
	if _, err := mcpserver.NewHandler(n, mcpserver.HTTPOptions{}); err == nil {
		t.Error("a server without a token")
	}
	if _, err := mcpserver.NewHandler(n, mcpserver.HTTPOptions{Tokens: []string{"short"}}); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("a short token: %v", err)
	}
}

// connection initializes and returns the id of the connection.
func connection(tb testing.TB, url string) string {
	tb.Helper()
	status, text, h := ask(tb, http.MethodPost, url, initialize, nil)
	id := h.Get("Mcp-Session-Id")
	if status != http.StatusOK || id == "" {
		tb.Fatalf("initialize: %d %s", status, text)
	}
	return id
}

func within(id string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", id)
		r.Header.Set("MCP-Protocol-Version", before)
	}
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

// A connection belongs to the bearer of the token that made it, until it is ended.
func TestHTTPConnection(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{Connections: 2, Size: 1000})
	id := connection(t, url)
	for _, test := range []struct {
		name, method, body string
		change             func(*http.Request)
		want               int
	}{
		{"its own", http.MethodPost, ping, within(id), http.StatusOK},
		{"of another token", http.MethodPost, ping, func(r *http.Request) {
			within(id)(r)
			r.Header.Set("Authorization", "Bearer "+otherToken)
		}, http.StatusNotFound},
		{"that nobody made", http.MethodPost, ping, within("none"), http.StatusNotFound},
		{"none", http.MethodPost, ping, nil, http.StatusBadRequest},
		{"none, for a stream", http.MethodGet, "", nil, http.StatusBadRequest},
		{"no JSON", http.MethodPost, "{", within(id), http.StatusBadRequest},
		{"too large", http.MethodPost, strings.Repeat(" ", 1001), within(id), http.StatusRequestEntityTooLarge},
		{"another method", http.MethodPut, ping, within(id), http.StatusMethodNotAllowed},
		{"ended by another token", http.MethodDelete, "", func(r *http.Request) {
			within(id)(r)
			r.Header.Set("Authorization", "Bearer "+otherToken)
		}, http.StatusNotFound},
		{"ended", http.MethodDelete, "", within(id), http.StatusNoContent},
		{"over", http.MethodPost, ping, within(id), http.StatusNotFound},
	} {
		if status, text, _ := ask(t, test.method, url, test.body, test.change); status != test.want {
			t.Errorf("a connection, %s: %d %s, want %d", test.name, status, text, test.want)
		}
	}
	// A request that cannot be answered takes no place.
	first, second := connection(t, url), connection(t, url)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		if status, _, h := ask(t, method, url, "", func(r *http.Request) { r.Header.Set("MCP-Protocol-Version", since) }); status != http.StatusMethodNotAllowed || h.Get("Allow") != http.MethodPost {
			t.Errorf("%s since %s: %d", method, since, status)
		}
	}
	for _, id := range []string{second, first} {
		if status, _, _ := ask(t, http.MethodPost, url, ping, within(id)); status != http.StatusOK {
			t.Errorf("a connection after requests that cannot be answered: %d", status)
		}
	}
	// The third connection takes the place of the one that has asked nothing for longer.
	if status, _, _ := ask(t, http.MethodPost, url, ping, within(first)); status != http.StatusOK {
		t.Errorf("the first connection: %d", status)
	}
	third := connection(t, url)
	for id, want := range map[string]int{first: http.StatusOK, second: http.StatusNotFound, third: http.StatusOK} {
		if status, _, _ := ask(t, http.MethodPost, url, ping, within(id)); status != want {
			t.Errorf("a connection when there are too many: %d, want %d", status, want)
		}
	}
}

// A token that is listed twice is one token, and no other.
func TestHTTPTokenTwice(t *testing.T) {
	w := newWorld(t)
	h, err := mcpserver.NewHandler(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{Tokens: []string{token, token, otherToken}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() { _ = h.Shutdown(context.Background()); s.Close() })
	id := connection(t, s.URL+mcpserver.Path)
	for bearer, want := range map[string]int{token: http.StatusOK, otherToken: http.StatusNotFound} {
		if status, _, _ := ask(t, http.MethodPost, s.URL+mcpserver.Path, ping, func(r *http.Request) {
			within(id)(r)
			r.Header.Set("Authorization", "Bearer "+bearer)
		}); status != want {
			t.Errorf("a connection of a token that is listed twice: %d, want %d", status, want)
		}
	}
}

// A connection that asks nothing is ended.
func TestHTTPIdle(t *testing.T) {
	w := newWorld(t)
	url, _ := w.serve(w.agent("seller", mcpserver.Options{}, nil).node, mcpserver.HTTPOptions{Idle: time.Nanosecond})
	id := connection(t, url)
	for w.ctx.Err() == nil {
		if status, _, _ := ask(t, http.MethodPost, url, ping, within(id)); status == http.StatusNotFound {
			return
		}
		runtime.Gosched()
	}
	t.Error("an idle connection lasts")
}

// What is under way is answered when the server stops, and streams end; then nothing is
// taken.
func TestHTTPDrain(t *testing.T) {
	for _, version := range []string{before, since} {
		w := newWorld(t)
		n := w.agent("seller", mcpserver.Options{}, nil).node
		url, h := w.serve(n, mcpserver.HTTPOptions{Server: mcpserver.Options{Tell: time.Millisecond}})
		c := w.dial(n, url, token, version, "test") // and its stream, in the older era
		answer := make(chan *mcp.CallToolResult)
		go func() {
			params := &mcp.CallToolParams{Name: "concordia_wait", Arguments: map[string]any{"timeout_seconds": 600}}
			params.SetProgressToken("waiting")
			r, err := c.CallTool(w.ctx, params)
			if err != nil {
				t.Errorf("%s: %v", version, err)
			}
			answer <- r
		}()
		select {
		case <-c.progress:
		case <-w.ctx.Done():
			t.Fatal("the call does not tell that it goes on")
		}
		if err := h.Shutdown(w.ctx); err != nil {
			t.Error(err)
		}
		if r := <-answer; r == nil || !r.IsError {
			t.Errorf("%s: a wait that has ended: %v", version, r)
		}
		body, change := apart("server/discover", "")
		if status, _, _ := ask(t, http.MethodPost, url, body, change); status != http.StatusServiceUnavailable {
			t.Errorf("%s: a server that has stopped answers %d", version, status)
		}
		if err := h.Shutdown(w.ctx); err != nil {
			t.Errorf("stopping again: %v", err)
		}
	}
}

// More requests than may be under way are refused.
func TestHTTPCrowd(t *testing.T) {
	w := newWorld(t)
	n := w.agent("seller", mcpserver.Options{}, nil).node
	url, _ := w.serve(n, mcpserver.HTTPOptions{Calls: 1})
	id := connection(t, url)
	stream, stop := context.WithCancel(w.ctx)
	defer stop()
	r, err := http.NewRequestWithContext(stream, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	within(id)(r)
	response, err := bearer(token).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if status, _, h := ask(t, http.MethodPost, url, ping, within(id)); status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
		t.Errorf("one request too many: %d %v", status, h)
	}
	stop()
	for w.ctx.Err() == nil {
		if status, _, _ := ask(t, http.MethodPost, url, ping, within(id)); status == http.StatusOK {
			return
		}
		runtime.Gosched()
	}
	t.Error("there is never room again")
}

// What a client's connection has shown of it is known at the next one.
func TestHTTPAuto(t *testing.T) {
	w := newWorld(t)
	n := w.agent("seller", mcpserver.Options{}, nil).node
	url, _ := w.serve(n, mcpserver.HTTPOptions{})
	names, _, _ := mcpserver.Tools()
	first := w.dial(n, url, token, before, "follower")
	if got := first.names(); len(got) != len(names) {
		t.Errorf("the first list has %d tools", len(got))
	}
	select {
	case <-first.changed:
	case <-w.ctx.Done():
		t.Fatal("the client is not told that the list has changed")
	}
	if got := first.names(); slices.Contains(got, "concordia_accept") {
		t.Errorf("a client that follows is shown %v", got)
	}
	if err := first.Close(); err != nil && !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Error(err)
	}
	for w.ctx.Err() == nil {
		later := w.dial(n, url, token, before, "follower")
		if got := later.names(); !slices.Contains(got, "concordia_accept") {
			break
		}
	}
	if got := w.dial(n, url, token, before, "another").names(); len(got) != len(names) {
		t.Errorf("another client is shown %d tools", len(got))
	}
	if got := w.dial(n, url, token, since, "follower").names(); len(got) != len(names) {
		t.Errorf("a client of %s is shown %d tools", since, len(got))
	}
}
