package agentcard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/agentcard"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

const secret = "sekrit" // what no error may repeat

func key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		panic(err)
	}
	return k
}

func agent(name string) wire.AgentID { return wire.DIDKey(key(name).Public()) }

// A party is a node that others reach at a URL, by A2A as well.
type party struct {
	*node.Node
	t   *testing.T
	url string
}

// newParty starts a node for as long as the test runs; now nil is the real time.
func newParty(t *testing.T, name string, now func() time.Time) *party {
	t.Helper()
	p := &party{t: t}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	p.url = server.URL
	n, err := node.New(node.Options{
		Dir: filepath.Join(t.TempDir(), name), Key: key(name), Public: server.URL, Loopback: true, Now: now,
		Timing: relay.Timing{Retry: 5 * time.Millisecond, MaxRetry: 50 * time.Millisecond, Ack: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Node = n
	h := agentcard.Handler(n)
	mux.Handle(agentcard.PathCard, h)
	mux.Handle(agentcard.PathRPC, h)
	mux.Handle("/", n.Handler())
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func encoded(t *testing.T, x any) wire.Value {
	t.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sending is a request of A2A 1.0 with parts.
func sending(parts ...any) wire.M {
	return wire.M{"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": wire.M{
		"message": wire.M{"messageId": "m1", "role": "ROLE_USER", "parts": parts},
	}}
}

// A reply is what came back of a request.
type reply struct {
	status int
	header http.Header
	text   string
	Error  struct {
		Code int
		Data []struct{ Metadata struct{ Code, Rule string } }
	}
	Result json.RawMessage
	ID     json.RawMessage
}

func header(name string, values ...string) http.Header {
	return http.Header{http.CanonicalHeaderKey(name): values}
}

// active is the header of a request that asks for the extension.
var active = header(agentcard.Header, a2a.ExtensionURI)

func (p *party) post(text string, h http.Header) (r reply) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodPost, p.url+agentcard.PathRPC, strings.NewReader(text))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, values := range h {
		req.Header[name] = values
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.status, r.header, r.text = response.StatusCode, response.Header, string(body)
	if err := json.Unmarshal(body, &r); err != nil {
		p.t.Fatalf("%v: %s", err, body)
	}
	return r
}

func (p *party) send(x any, h http.Header) reply {
	p.t.Helper()
	return p.post(encoded(p.t, x).Canonical(), h)
}

// broke is the code of an error with its rule, or the node's code; "" if there is none.
func (r reply) broke() (int, string) {
	if len(r.Error.Data) == 0 {
		return r.Error.Code, ""
	}
	d := r.Error.Data[0].Metadata
	if d.Rule != "" {
		return r.Error.Code, d.Rule
	}
	return r.Error.Code, d.Code
}

func invitationPart(t *testing.T, v wire.Value) wire.Value {
	t.Helper()
	p, err := a2a.WrapEnclosure(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// messagePart is a part with a message that a name signs.
func messagePart(t *testing.T, name string, e wire.Envelope) wire.Value {
	t.Helper()
	e.From, e.Time = agent(name), time.Now()
	if e.ID == "" {
		e.ID = "msg_by_a2a"
	}
	if e.Body.Kind() == wire.Absent {
		e.Body = encoded(t, wire.M{})
	}
	m, err := wire.Sign(e, key(name))
	if err != nil {
		t.Fatal(err)
	}
	p, err := a2a.Wrap(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tip is the hash that the next message of a session continues.
func (p *party) tip(id wire.SessionID) wire.Hash {
	p.t.Helper()
	list, err := p.Messages(p.t.Context(), id, 0, 1000)
	if err != nil || len(list) == 0 {
		p.t.Fatalf("%d messages, %v", len(list), err)
	}
	return list[len(list)-1].Hash()
}

func (p *party) reach(id wire.SessionID, as func(node.View) bool) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), time.Minute)
	defer stop()
	v, err := p.Session(ctx, id)
	for err == nil && !as(v) {
		var next node.View
		if next, err = p.Wait(ctx, id, v.Version); err == nil {
			v = next
		}
	}
	if err != nil {
		p.t.Fatalf("%v; the session is %+v", err, v)
	}
}

// open has the seller open a session that nobody is told of.
func (p *party) open() (wire.SessionID, wire.Value) {
	p.t.Helper()
	v, err := p.Open(p.t.Context(), node.Opening{Places: 1, Way: node.Otherwise, Body: encoded(p.t, wire.M{
		"terms": wire.M{"price": wire.M{"type": "numeric", "currency": "EUR"}}, "category": "goods",
	})})
	if err != nil {
		p.t.Fatal(err)
	}
	i, err := p.Invitation(p.t.Context(), v.Session, "")
	if err != nil {
		p.t.Fatal(err)
	}
	return v.Session, i
}

// An invitation and messages come by A2A, and the deal is made.
func TestCarried(t *testing.T) {
	seller, buyer := newParty(t, "seller", nil), newParty(t, "buyer", nil)
	id, invitation := seller.open()
	if r := buyer.send(sending(invitationPart(t, invitation)), active); r.Error.Code != 0 {
		t.Fatalf("the invitation: %s", r.text)
	}
	if _, err := buyer.Join(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	seller.reach(id, func(v node.View) bool { return v.Len == 1 })

	accept := sending(messagePart(t, "buyer", wire.Envelope{Type: wire.TypeAcceptSession, Session: id, PrevHash: seller.tip(id)}))
	for range 2 { // once more is no harm
		r := seller.send(accept, active)
		if r.Error.Code != 0 || r.header.Get(agentcard.Header) != a2a.ExtensionURI || string(r.ID) != "7" {
			t.Fatalf("accept_session: %s", r.text)
		}
	}
	for _, p := range []*party{seller, buyer} {
		p.reach(id, func(v node.View) bool { return v.State == session.Active && v.Len == 2 })
	}

	// By the method of A2A 0.3, with ids of A2A that name something else, and a text.
	offer := messagePart(t, "buyer", wire.Envelope{
		Type: wire.TypeOffer, ID: "msg_offer", Session: id, PrevHash: seller.tip(id),
		Body: encoded(t, wire.M{"offer_id": "offer_1", "terms": wire.M{"price": wire.M{"value": 5, "currency": "EUR"}}}),
	})
	r := seller.send(wire.M{"jsonrpc": "2.0", "id": "a", "method": "message/send", "x": 1, "params": wire.M{
		"metadata": wire.M{}, "configuration": wire.M{"blocking": true},
		"message": wire.M{
			"kind": "message", "messageId": "m", "role": "user", "taskId": secret, "contextId": "ses_other", "extensions": []string{"x"},
			"parts": []any{wire.M{"kind": "text", "text": secret}, offer.With("kind", wire.Text("data"))},
		},
	}}, header(agentcard.OldHeader, "https://example.com/x, "+a2a.ExtensionURI))
	if r.Error.Code != 0 || r.header.Get(agentcard.OldHeader) != a2a.ExtensionURI || r.header.Get(agentcard.Header) != a2a.ExtensionURI {
		t.Fatalf("the offer: %s %v", r.text, r.header)
	}
	if !strings.Contains(string(r.Result), `"kind":"message"`) || strings.Contains(r.text, "ses_other") || strings.Contains(r.text, secret) {
		t.Errorf("answer %s", r.text)
	}
	seller.reach(id, func(v node.View) bool { return v.Len == 3 })
	if _, err := seller.Move(t.Context(), node.Move{Session: id, Type: wire.TypeAccept}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*party{seller, buyer} {
		p.reach(id, func(v node.View) bool { return v.Receipt == node.ReceiptDone })
	}
}

// What is refused, with which code and rule, and never with an echo or a word of it.
func TestRefused(t *testing.T) {
	var ahead atomic.Int64 // a minute more for each request, so that the bounds of the inbox are not met
	seller := newParty(t, "seller", func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	buyer := newParty(t, "buyer", nil)
	id, invitation := seller.open()
	if _, err := buyer.Invited(t.Context(), invitation); err != nil {
		t.Fatal(err)
	}
	if _, err := buyer.Join(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	seller.reach(id, func(v node.View) bool { return v.Len == 1 })
	tip := seller.tip(id)
	envelope := wire.Envelope{Type: wire.TypeAcceptSession, Session: id, PrevHash: tip, Thread: secret}
	good := messagePart(t, "buyer", envelope)
	old := envelope
	old.PrevHash = wire.HashOf("before")
	elsewhere := envelope
	elsewhere.Session = "ses_elsewhere"
	data, _ := good.Get("data")
	message, _ := data.Get("envelope")
	metadata, _ := good.Get("metadata")
	mark, _ := metadata.Get(a2a.ExtensionURI)
	changed := func(m wire.Value) wire.Value { return good.With("data", data.With("envelope", m)) }
	foreign := encoded(t, wire.M{"text": secret})
	with := func(name string, x any) wire.M {
		m := sending(good)
		m[name] = x
		return m
	}
	params := func(edit func(message wire.M)) wire.M {
		m := sending(good)
		edit(m["params"].(wire.M)["message"].(wire.M))
		return m
	}
	for _, test := range []struct {
		name string
		send any
		h    http.Header
		code int
		rule string
	}{
		{"without the extension", sending(good), nil, -32008, "a2a-inactive"},
		{"with another extension", sending(good), header(agentcard.Header, "https://example.com/other/v1"), -32008, "a2a-inactive"},
		{"an invitation without the extension", sending(invitationPart(t, invitation)), nil, -32008, "a2a-inactive"},
		{"a text", sending(foreign), active, -32005, ""},
		{"two messages", sending(good, good), active, -32602, ""},
		{"no parts", sending(), active, -32602, ""},
		{"too many parts", sending(good, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16), active, -32602, ""},
		{"no message", wire.M{"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}, active, -32602, ""},
		{"parameters in a list", with("params", []int{1}), active, -32602, ""},
		{"no id of a message", params(func(m wire.M) { delete(m, "messageId") }), active, -32602, ""},
		{"a message of an agent", params(func(m wire.M) { m["role"] = "ROLE_AGENT" }), active, -32602, ""},
		{"no role", params(func(m wire.M) { delete(m, "role") }), active, -32602, ""},
		{"parts that are none", params(func(m wire.M) { m["parts"] = secret }), active, -32602, ""},
		{"content beside data", sending(good.With("text", wire.Text(secret))), active, -32602, "a2a-part"},
		{"another media type", sending(good.With("mediaType", wire.Text("application/json"))), active, -32602, "a2a-part"},
		{"another type", sending(good.With("data", data.With("type", wire.Text(secret)))), active, -32602, "a2a-part"},
		{"another version", sending(good.With("data", data.With("version", wire.Text("2")))), active, -32602, "a2a-part"},
		{"more data", sending(good.With("data", data.With(secret, wire.Text(secret)))), active, -32602, "a2a-part"},
		{"no metadata", sending(good.Without("metadata")), active, -32602, "a2a-part"},
		{"another schema", sending(good.With("metadata", metadata.With(a2a.ExtensionURI, mark.With("schema", wire.Text(secret))))), active, -32602, "a2a-part"},
		{"an id of a task in the message", sending(changed(message.With("taskId", wire.Text(secret)))), active, -32602, "a2a-task-ids"},
		{"no signature", sending(changed(message.Without("signature"))), active, -32602, "envelope"},
		{"no prev_hash", sending(changed(message.Without("prev_hash"))), active, -32602, "envelope"},
		{"changed on the way", sending(changed(message.With("thread", wire.Text(secret+"2")))), active, -32000, "not_found"},
		{"of a stranger", sending(messagePart(t, "mallory", envelope)), active, -32000, "not_found"},
		{"of the node itself", sending(messagePart(t, "seller", envelope)), active, -32000, "not_found"},
		{"of a session elsewhere", sending(messagePart(t, "buyer", elsewhere)), active, -32000, "not_found"},
		{"behind another message", sending(messagePart(t, "buyer", old)), active, -32000, "prev-hash"},
		{"an invitation that is changed", sending(invitationPart(t, invitation.With("kind", wire.Text(secret)))), active, -32602, "bad_request"},
		{"an invitation that is a message", sending(invitationPart(t, message)), active, -32602, "bad_request"},
		{"an invitation of nobody known", sending(invitationPart(t, invitation.With("from", wire.Text("agent:x")))), active, -32602, "bad_request"},
		{"an invitation of the node itself", sending(invitationPart(t, invitation)), active, -32602, "bad_request"},
		{"a stream", with("method", "message/stream"), active, -32004, ""},
		{"a task", with("method", "tasks/get"), active, -32001, ""},
		{"no such method", with("method", secret), active, -32601, ""},
		{"no method", with("method", 1), active, -32600, ""},
		{"another JSON-RPC", with("jsonrpc", "1.0"), active, -32600, ""},
		{"a notification", with("id", nil), active, -32600, ""},
		{"an id that is an object", with("id", wire.M{secret: 1}), active, -32600, ""},
		{"a long id", with("id", strings.Repeat(secret, 100)), active, -32600, ""},
		{"a batch", []any{sending(good)}, active, -32600, ""},
		{"another version of A2A", sending(good), http.Header{"A2a-Extensions": {a2a.ExtensionURI}, "A2a-Version": {"2.0"}}, -32009, ""},
		{"a large part", sending(good.With("x", wire.Text(strings.Repeat("x", a2a.MaxPartSize)))), active, -32602, "json-size"},
	} {
		ahead.Add(int64(time.Minute))
		r := seller.send(test.send, test.h)
		code, rule := r.broke()
		if code != test.code || rule != test.rule || r.status != http.StatusOK {
			t.Errorf("%s: %d %d %q, want %d %q: %s", test.name, r.status, code, rule, test.code, test.rule, r.text)
		}
		if r.header.Get(agentcard.Header) != "" || r.header.Get(agentcard.OldHeader) != "" {
			t.Errorf("%s: the extension is echoed", test.name)
		}
		if strings.Contains(r.text, secret) {
			t.Errorf("%s: the error repeats what was sent: %s", test.name, r.text)
		}
	}
	for _, test := range []struct {
		name, text string
		h          http.Header
		status     int
		code       int
	}{
		{"no JSON", "{" + secret, active, 200, -32700},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"SendMessage"}`, active, 200, -32700},
		{"nothing", "", active, 200, -32700},
		{"too deep", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), active, 200, -32700},
		{"too large", strings.Repeat(" ", a2a.MaxPartSize+64<<10+1), active, 413, -32700},
		{"a form", "{}", http.Header{"Content-Type": {"text/plain"}}, 415, -32600},
	} {
		ahead.Add(int64(time.Minute))
		r := seller.post(test.text, test.h)
		if r.status != test.status || r.Error.Code != test.code || r.header.Get(agentcard.Header) != "" || strings.Contains(r.text, secret) {
			t.Errorf("%s: %d %s", test.name, r.status, r.text)
		}
	}
	if v, err := seller.Session(t.Context(), id); err != nil || v.Len != 1 {
		t.Errorf("the session has %d messages, %v", v.Len, err)
	}
}

// The bounds are those of the inbox.
func TestFlood(t *testing.T) {
	seller := newParty(t, "seller", func() time.Time { return time.Unix(1.8e9, 0) })
	for i := range 31 {
		r := seller.post("{}", active)
		if want := i >= 30; (r.status == http.StatusTooManyRequests) != want {
			t.Fatalf("request %d: %d", i, r.status)
		}
	}
	response, err := http.Post(seller.url+node.PathInbox, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the inbox: %d, %v", response.StatusCode, err)
	}
}

// A node that refuses strangers does not tell them.
func TestUnwelcome(t *testing.T) {
	seller, buyer := newParty(t, "seller", nil), newParty(t, "buyer", nil)
	if err := buyer.SetContact(t.Context(), node.Contact{Agent: agent("seller"), Consent: node.Denied}); err != nil {
		t.Fatal(err)
	}
	_, invitation := seller.open()
	if r := buyer.send(sending(invitationPart(t, invitation)), active); r.Error.Code != 0 {
		t.Errorf("refused: %s", r.text)
	}
	if list, err := buyer.Invitations(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("invitations %v, %v", list, err)
	}
	_, err := buyer.Invited(t.Context(), invitation)
	if e, ok := errors.AsType[*node.Error](err); !ok || e.Code != node.CodePolicy {
		t.Errorf("the owner is told %v", err)
	}
}

// What makes the extension active (SPEC §10.1).
func TestActivated(t *testing.T) {
	const u, other = a2a.ExtensionURI, "https://example.test/other/v1"
	for _, test := range []struct {
		name string
		h    http.Header
		want bool
	}{
		{"no header", http.Header{}, false},
		{"empty", header(agentcard.Header, ""), false},
		{"the URI", header(agentcard.Header, u), true},
		{"among others", header(agentcard.Header, other+", "+u+",https://example.test/x"), true},
		{"in a second line", header(agentcard.Header, other, "\t"+u+" "), true},
		{"twice", header(agentcard.Header, u+","+u), true},
		{"with empty elements", header(agentcard.Header, ", ,"+u+","), true},
		{"in the old header", header(agentcard.OldHeader, u), true},
		{"another", header(agentcard.Header, other), false},
		{"a longer one", header(agentcard.Header, u+"/"), false},
		{"a fragment of it", header(agentcard.Header, a2a.PartType), false},
		{"in capitals", header(agentcard.Header, strings.ToUpper(u)), false},
		{"in quotes", header(agentcard.Header, `"`+u+`"`), false},
		{"with a parameter", header(agentcard.Header, u+";q=1"), false},
		{"separated by a space", header(agentcard.Header, other+" "+u), false},
		{"beside what is no URI", header(agentcard.Header, u+`,"x"`), false},
		{"beside another alphabet", header(agentcard.Header, u+",https://exämple.test"), false},
		{"as many as there may be", header(agentcard.Header, strings.Repeat("x,", 63)+u), true},
		{"one too many", header(agentcard.Header, u+strings.Repeat(",x", 64)), false},
		{"too long", header(agentcard.Header, u+strings.Repeat(",", 8<<10)), false},
		{"in a header that is none", header("Extensions", u), false},
	} {
		got := agentcard.Activated(test.h)
		if (len(got) == 1 && got[0] == u) != test.want || len(got) > 1 {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// The card has what A2A wants of one, and the extension as its own.
func TestCard(t *testing.T) {
	seller := newParty(t, "seller", nil)
	response, err := http.Get(seller.url + agentcard.PathCard)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var card struct {
		Name, Description, Version, URL, ProtocolVersion, PreferredTransport string
		SupportedInterfaces                                                  []struct{ URL, ProtocolBinding, ProtocolVersion string }
		Capabilities                                                         struct {
			Extensions []struct {
				URI, Description string
				Required         *bool
				Params           map[string]any
			}
		}
		DefaultInputModes, DefaultOutputModes []string
		Skills                                []struct {
			ID, Name, Description string
			Tags                  []string
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&card); err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.StatusCode, err)
	}
	if card.Name != string(agent("seller")) || card.Description == "" || card.Version == "" || card.ProtocolVersion != "0.3.0" || card.PreferredTransport != "JSONRPC" ||
		len(card.DefaultInputModes) == 0 || len(card.DefaultOutputModes) == 0 {
		t.Errorf("card %+v", card)
	}
	if len(card.SupportedInterfaces) != 2 {
		t.Fatalf("interfaces %+v", card.SupportedInterfaces)
	}
	for _, i := range card.SupportedInterfaces {
		if i.URL != seller.url+agentcard.PathRPC || i.URL != card.URL || i.ProtocolBinding != "JSONRPC" {
			t.Errorf("interface %+v", i)
		}
	}
	if len(card.Skills) != 1 || card.Skills[0].ID == "" || card.Skills[0].Description == "" || len(card.Skills[0].Tags) == 0 {
		t.Errorf("skills %+v", card.Skills)
	}
	if len(card.Capabilities.Extensions) != 1 {
		t.Fatalf("extensions %+v", card.Capabilities.Extensions)
	}
	e := card.Capabilities.Extensions[0]
	if e.URI != a2a.ExtensionURI || e.Description == "" || e.Required == nil || *e.Required {
		t.Errorf("extension %+v", e)
	}
	for _, facet := range []string{"protocol", "version", "agent_id", "roles", "categories", "resolution_mechanisms"} {
		if _, ok := e.Params[facet]; !ok {
			t.Errorf("the parameters have no %s", facet)
		}
	}
	if response.Header.Get(agentcard.Header) != "" {
		t.Error("the card echoes an extension")
	}
	if r, err := http.Get(seller.url + agentcard.PathRPC); err != nil || r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET of the method's path: %v, %v", r, err)
	} else {
		r.Body.Close()
	}
}
