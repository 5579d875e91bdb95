package market_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// A match is told to the connected owner of the other entry, who then asks for it.
func TestTold(t *testing.T) {
	w := newWorld(t, market.Limits{})
	told := make(chan wire.Value, 8)
	up := make(chan struct{}, 8)
	c, err := relay.NewClient(relay.ClientOptions{
		URL: w.server.URL, Agent: "buyer", Signer: key("buyer"), Keys: keys{}, Now: w.clock,
		Handle: func(context.Context, relay.Delivery) error { return nil },
		Up:     func(context.Context) { up <- struct{}{} },
		Told: func(_ context.Context, kind string, frame wire.Value) {
			if kind == "match" {
				told <- frame
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	}()
	<-up
	buyer := &market.Client{Relay: c, Keys: keys{}, Now: w.clock} // over the websocket
	want, silent := w.want("1", "buyer", buys(10)), w.signed(w.want("2", "buyer", buys(20)).Value().With("notify", mustEncode(false)), "buyer")
	for _, e := range []*match.Entry{want, silent} {
		if _, err := buyer.Post(w.ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	w.post(w.have("15", "seller", sells(15))) // matches only the want that is not to be told
	w.post(w.have("5", "seller", sells(5)))
	frame := <-told
	if frame.Canonical() != `{"id":"want_1","number":4,"push":"match"}` {
		t.Errorf("told: %s", frame)
	}
	list, _, _, err := buyer.Matches(w.ctx, want, 3)
	if err != nil || len(list) != 1 || list[0].ID != "have_5" {
		t.Errorf("Matches: %v, %v", list, err)
	}
	w.post(w.have("5", "seller", sells(5))) // the same again is no news
	w.post(w.have("6", "seller", sells(6)))
	if frame := <-told; !strings.Contains(frame.Canonical(), `"number":5`) {
		t.Errorf("told: %s", frame)
	}
}

func mustEncode(x any) wire.Value {
	v, err := wire.Encode(x)
	if err != nil {
		panic(err)
	}
	return v
}

// get reads a document of the server.
func (w *world) get(path string) string {
	w.Helper()
	res, err := http.Get(w.server.URL + path)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return string(text)
}

// The operator sees how much there is, and everybody the limits.
func TestOperator(t *testing.T) {
	w := newWorld(t, market.Limits{EntriesAgent: 7})
	w.post(w.want("1", "buyer", buys(10)))
	w.post(w.have("1", "seller", sells(5)))
	w.post(w.have("2", "seller", sells(5)))
	if _, err := w.as("seller").List(w.ctx, wire.M{}); err != nil {
		t.Fatal(err)
	}
	if s, err := w.as("buyer").Stats(w.ctx); err != nil || s != (market.Stats{Wants: 1, Haves: 2, Listings: 1}) {
		t.Errorf("Stats: %+v, %v", s, err)
	}
	for path, want := range map[string][]string{
		"/healthz":                     {`"market":{"bytes":`, `"haves":2,"listings":1,"profiles":0,"wants":1}`},
		"/metrics":                     {"concordia_relay_market_haves 2", "concordia_relay_market_wants 1", `concordia_relay_operations_total{code="ok",op="market_post"} 3`},
		"/.well-known/concordia-relay": {`"services":{"market":{"entries_per_agent":7,"entries":50000,`},
	} {
		text := w.get(path)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s:\n%s", path, part, text)
			}
		}
	}
	if _, err := relay.Audit(w.ctx, w.mail, func(p relay.Problem) { t.Errorf("%s: %v", p.Where, p.Err) }, func(relay.Audited) {}); err != nil {
		t.Error(err)
	}
}

// openapi.json has every operation, with its members and codes, and describes what goes
// over the wire.
func TestOpenAPI(t *testing.T) {
	w := newWorld(t, market.Limits{})
	text := w.get("/openapi.json")
	api, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	frames, _ := api.At("components", "schemas", "request_frame", "properties", "op", "enum")
	rfc, err := os.ReadFile("../../rfcs/0004-market.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range w.market.Service().Operations {
		request, ok := api.At("components", "schemas", op.Name)
		properties, _ := request.Get("properties")
		required, _ := request.Get("required")
		got := []string{}
		for name := range properties.Members() {
			if !slices.ContainsFunc(slices.Collect(values(required)), func(v wire.Value) bool { return v.Text() == name }) {
				name += "?"
			}
			got = append(got, name)
		}
		want := strings.Fields(op.Members)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: members (-table +openapi)\n%s", op.Name, diff)
		}
		if _, ok := api.At("components", "schemas", op.Name+"_answer"); !ok {
			t.Errorf("%s has no answer", op.Name)
		}
		route, ok := api.At("paths", "/v1/"+op.Name, "post", "responses")
		if !ok || !strings.Contains(frames.Canonical(), strconv.Quote(op.Name)) {
			t.Errorf("%s has no route, or no frame", op.Name)
		}
		for _, code := range append(op.Codes, relay.CodeRate, relay.CodeUnauthenticated) {
			if !strings.Contains(route.Canonical(), strconv.Quote(string(code))) {
				t.Errorf("%s has no code %s", op.Name, code)
			}
		}
		if !strings.Contains(string(rfc), "`"+op.Name+"`") {
			t.Errorf("RFC 0004 has no operation %s", op.Name)
		}
	}
	limits, err := json.Marshal(market.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	published, err := wire.Parse(limits, wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range published.Members() {
		if row := "| `" + name + "` | " + commas(v.Canonical()) + " |"; !strings.Contains(string(rfc), row) {
			t.Errorf("RFC 0004 has no row %s", row)
		}
	}

	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	check := func(schema string, v wire.Value) {
		t.Helper()
		s, err := compiler.Compile("openapi.json#/components/schemas/" + schema)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal([]byte(v.Canonical()), &plain); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(plain); err != nil {
			t.Errorf("%s: %s\n%#v", schema, v, err)
		}
	}
	call := func(op string, request wire.M) {
		t.Helper()
		check(op, mustEncode(request))
		v, err := w.as("anna").Relay.Call(w.ctx, op, request)
		if err != nil {
			t.Errorf("%s: %v", op, err)
			return
		}
		check(op+"_answer", v)
	}
	w.post(w.have("1", "seller", sells(5)))
	call("market_post", wire.M{"entry": w.want("1", "anna", buys(10)).Value()})
	call("market_entry", wire.M{"id": "have_1"})
	call("market_search", wire.M{"type": "concordia.have", "category": "electronics"})
	call("market_matches", wire.M{"id": "want_1", "after": 0})
	call("market_withdraw", wire.M{"id": "want_1"})
	call("market_list", wire.M{"roles": []string{"buyer"}, "categories": []string{"a.b"}, "endpoint": "https://x.example", "description": "x", "max_concurrent_sessions": 2})
	call("market_agents", wire.M{"category": "a"})
	call("market_agent", wire.M{"agent_id": "anna"})
	call("market_unlist", wire.M{})
	call("market_publish", wire.M{"profile": w.profile("anna", wire.M{})})
	call("market_profile", wire.M{"agent_id": "anna"})
	call("market_profiles", wire.M{"offer_type": "basic"})
	call("market_unpublish", wire.M{})
	call("market_stats", wire.M{})
	check("market_limits", published)
	info, err := wire.Parse([]byte(w.get("/.well-known/concordia-relay")), wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	check("info", info)
}

func values(v wire.Value) func(func(wire.Value) bool) {
	return func(yield func(wire.Value) bool) {
		for _, e := range v.Elems() {
			if !yield(e) {
				return
			}
		}
	}
}

func commas(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Requests of no operation, and members of none, are refused as by the relay itself.
func TestRequests(t *testing.T) {
	w := newWorld(t, market.Limits{})
	for _, test := range []struct {
		op      string
		request wire.M
	}{
		{"market_nothing", wire.M{}},
		{"market_post", wire.M{}},
		{"market_post", wire.M{"entry": wire.M{}, "more": 1}},
		{"market_withdraw", wire.M{"id": 1}},
		{"market_search", wire.M{"type": "want"}},
		{"market_search", wire.M{"type": "concordia.want", "category": "A"}},
		{"market_search", wire.M{"type": "concordia.want", "before": 0}},
		{"market_matches", wire.M{"id": "want_1", "after": -1}},
		{"market_agents", wire.M{"after": ""}},
		{"market_agent", wire.M{}},
		{"market_stats", wire.M{"of": "anna"}},
	} {
		_, err := w.as("anna").Relay.Call(w.ctx, test.op, test.request)
		if relay.CodeOf(err) != relay.CodeBadRequest && !(test.op == "market_post" && relay.CodeOf(err) == relay.CodeRejected) {
			t.Errorf("%s %v: %v", test.op, test.request, err)
		}
	}
}
