package node_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// An invitation can be handed over in any way, and to whoever comes first.
func TestInvitationByHand(t *testing.T) {
	w := newWorld(t)
	seller, buyer, late := w.public("seller", nil), w.public("buyer", nil), w.party("late", nil)
	v := must[node.View](w)(seller.Open(w.ctx, node.Opening{Places: 1, Way: node.Otherwise, Body: camera(nil)}))
	id := v.Session
	invitation := must[wire.Value](w)(seller.Invitation(w.ctx, id, ""))
	i := must[node.Invitation](w)(buyer.Invited(w.ctx, invitation))
	if i.Session != id || i.From != agent("seller") || !i.Signed || i.Relay != seller.opts.Public {
		t.Errorf("invitation %+v", i)
	}
	must[node.Invitation](w)(late.Invited(w.ctx, invitation))
	must[node.View](w)(buyer.Join(w.ctx, id))
	if _, err := late.Join(w.ctx, id); code(err) != node.CodeNotFound {
		t.Errorf("who comes second: %v", err)
	}
	buyer.move(id, wire.TypeAcceptSession, wire.Value{})
	seller.in(id, session.Active)
	buyer.move(id, wire.TypeOffer, price(5))
	seller.has(id, 3)
	seller.move(id, wire.TypeAccept, wire.Value{})
	seller.settled(id)
	buyer.settled(id)
	w.same(id, seller, buyer)

	if _, err := buyer.Invitation(w.ctx, id, ""); code(err) != node.CodeBadRequest {
		t.Errorf("an invitation to another's session: %v", err)
	}
}

// Invitations that do not stand, by hand and at the inbox.
func TestInvitationRefused(t *testing.T) {
	w := newWorld(t)
	buyer := w.public("buyer", nil)
	make := func(change func(content wire.M, e *relay.Enclosure)) wire.Value {
		content := wire.M{"relay": "https://relay.example", "to": agent("buyer"), "expires_at": wire.FormatTime(w.now().Add(time.Hour))}
		e := relay.Enclosure{ID: "inv_1", Session: "ses_1", From: agent("seller"), Time: w.now(), Kind: "invitation"}
		change(content, &e)
		e.Content = encoded(content)
		return must[*relay.Enclosure](w)(e.Sign(key("seller"))).Value()
	}
	for _, test := range []struct {
		name   string
		change func(wire.M, *relay.Enclosure)
	}{
		{"for another", func(c wire.M, _ *relay.Enclosure) { c["to"] = agent("x") }},
		{"over", func(c wire.M, _ *relay.Enclosure) { c["expires_at"] = wire.FormatTime(w.now().Add(-time.Second)) }},
		{"of tomorrow", func(_ wire.M, e *relay.Enclosure) { e.Time = w.now().Add(24 * time.Hour) }},
		{"no invitation", func(_ wire.M, e *relay.Enclosure) { e.Kind = "receipt" }},
		{"of another signer", func(_ wire.M, e *relay.Enclosure) { e.From = agent("boss") }},
		{"of nobody", func(_ wire.M, e *relay.Enclosure) { e.From = "agent:nobody" }},
		{"a category that says too much", func(c wire.M, _ *relay.Enclosure) { c["category"] = "Call me now!" }},
		{"no relay", func(c wire.M, _ *relay.Enclosure) { delete(c, "relay") }},
		{"a relay that is a file", func(c wire.M, _ *relay.Enclosure) { c["relay"] = "file:///etc/passwd" }},
		{"a relay elsewhere without TLS", func(c wire.M, _ *relay.Enclosure) { c["relay"] = "http://relay.example" }},
	} {
		v := make(test.change)
		if _, err := buyer.Invited(w.ctx, v); code(err) == "" {
			t.Errorf("%s: taken by hand: %v", test.name, err)
		}
		if status := post(t, buyer, v.Canonical()); status != http.StatusBadRequest {
			t.Errorf("%s: the inbox answers %d", test.name, status)
		}
	}
	good := make(func(wire.M, *relay.Enclosure) {})
	if status := post(t, buyer, good.Canonical()); status != http.StatusOK {
		t.Errorf("a good one: the inbox answers %d", status)
	}
	if status := post(t, buyer, strings.Repeat("x", 65<<10)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large one: the inbox answers %d", status)
	}
	if list := must[[]node.Invitation](w)(buyer.Invitations(w.ctx)); len(list) != 1 {
		t.Errorf("invitations %v", list)
	}
	flood := 0
	for range 40 {
		if post(t, buyer, good.Canonical()) == http.StatusTooManyRequests {
			flood++
		}
	}
	if flood == 0 {
		t.Error("the inbox takes as many as come")
	}
}

func post(t *testing.T, p *party, text string) int {
	t.Helper()
	r, err := http.Post(p.opts.Public+node.PathInbox, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// One agent has a bound of unanswered invitations.
func TestInvitationsBounded(t *testing.T) {
	w := newWorld(t)
	buyer := w.party("buyer", nil)
	refused := 0
	for i := range 30 {
		e := relay.Enclosure{
			ID: "inv", Session: wire.SessionID("ses_" + strings.Repeat("x", i+1)), From: agent("seller"), Time: w.now(), Kind: "invitation",
			Content: encoded(wire.M{"relay": "https://relay.example", "expires_at": wire.FormatTime(w.now().Add(time.Hour))}),
		}
		v := must[*relay.Enclosure](w)(e.Sign(key("seller"))).Value()
		if _, err := buyer.Invited(w.ctx, v); code(err) == node.CodeRefused {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d of 30 were refused", refused)
	}
}

// In a node's own relay nobody else opens sessions, and nobody reads or writes in those
// that are not theirs.
func TestOthersSessions(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.public("seller", nil), w.public("buyer", nil)
	w.must(seller.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), URL: buyer.opts.Public}))
	direct := w.begin(node.Opening{Way: node.Direct}, seller, buyer)
	home1, home2 := w.party("home1", nil), w.party("home2", nil)
	byRelay := w.begin(node.Opening{}, home1, home2)
	for _, test := range []struct {
		url string
		id  wire.SessionID
	}{{seller.opts.Public, direct}, {w.url, byRelay}} {
		thief := must[*relay.Client](w)(relay.NewClient(relay.ClientOptions{URL: test.url, Agent: agent("thief"), Signer: key("thief"), Keys: wire.DIDKeys{}, Now: w.now}))
		if _, err := thief.Create(w.ctx, relay.Reservation{Session: "ses_thief", To: []wire.AgentID{agent("x")}}); (err == nil) != (test.url == w.url) {
			t.Errorf("opening a session at %s: %v", test.url, err)
		}
		if _, err := thief.Join(w.ctx, test.id); relay.CodeOf(err) != relay.CodeNotFound {
			t.Errorf("joining: %v", err)
		}
		if _, _, err := thief.Read(w.ctx, test.id, 1, 0); relay.CodeOf(err) != relay.CodeNotFound {
			t.Errorf("reading: %v", err)
		}
		m := must[*wire.Message](w)(wire.Sign(wire.Envelope{Type: wire.TypeReject, ID: "m", Session: test.id, Time: w.now(), From: agent("thief"), Body: parsed("{}")}, key("thief")))
		if _, err := thief.Append(w.ctx, m); relay.CodeOf(err) != relay.CodeNotFound {
			t.Errorf("writing: %v", err)
		}
		if err := thief.Close(w.ctx, test.id); relay.CodeOf(err) != relay.CodeNotFound {
			t.Errorf("closing: %v", err)
		}
	}
	other := w.party("other", nil)
	for _, id := range []wire.SessionID{direct, byRelay} {
		if _, err := other.Session(w.ctx, id); code(err) != node.CodeNotFound {
			t.Errorf("another node reads it: %v", err)
		}
		if _, err := other.Join(w.ctx, id); code(err) != node.CodeNotFound {
			t.Errorf("another node joins it: %v", err)
		}
		if _, err := other.Move(w.ctx, node.Move{Session: id, Type: wire.TypeReject}); code(err) != node.CodeNotFound {
			t.Errorf("another node moves in it: %v", err)
		}
	}
}

// No URL that somebody else chose makes the node connect to this machine, unless its
// owner said so.
func TestInwardURLs(t *testing.T) {
	w := newWorld(t)
	var asked atomic.Int32
	inward := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	defer inward.Close()
	secret := httptest.NewUnstartedServer(inward.Config.Handler)
	secret.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			asked.Add(1) // to be connected to is too much
		}
	}
	secret.StartTLS()
	defer secret.Close()
	port := secret.URL[strings.LastIndex(secret.URL, ":"):]
	strict := w.public("strict", func(o *node.Options) { o.Loopback = false })

	// The relay of an invitation.
	for i, url := range []string{
		secret.URL, "https://localhost" + port, "https://[::1]" + port, "https://[::ffff:127.0.0.1]" + port, "https://0.0.0.0" + port,
		"https://127.1" + port, "https://2130706433" + port, inward.URL, "https://169.254.169.254", "https://10.0.0.1:8443", "https://user@127.0.0.1" + port,
	} {
		e := relay.Enclosure{
			ID: "inv", Session: wire.SessionID("ses_" + strings.Repeat("x", i+1)), From: agent("seller"), Time: w.now(), Kind: "invitation",
			Content: encoded(wire.M{"relay": url, "expires_at": wire.FormatTime(w.now().Add(time.Hour))}),
		}
		v := must[*relay.Enclosure](w)(e.Sign(key("seller"))).Value()
		if _, err := strict.Invited(w.ctx, v); err != nil {
			continue // it is refused as it is read
		}
		ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
		if _, err := strict.Join(ctx, e.Session); err == nil {
			t.Errorf("joined at %s", url)
		}
		cancel()
	}
	// The address of a contact, and what it says of its inbox.
	for _, url := range []string{secret.URL, inward.URL, "https://localhost" + port, "https://169.254.169.254"} {
		_ = strict.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), URL: url})
		v, err := strict.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Way: node.Direct, Body: camera(nil)})
		w.must(err)
		strict.reach(v.Session, "an attempt", func(v node.View) bool { return len(v.Undelivered) == 1 })
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the node asked %d times inside", n)
	}

	// One that is allowed to talk to this machine, and is sent to the next network.
	lax := w.public("lax", nil)
	sends := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(rw, bytes.NewReader([]byte(encoded(wire.M{
			"concordia_node": "0.1.0", "agent_id": agent("buyer"), "inbox": "http://10.0.0.1:8080/x",
		}).Canonical())))
	}))
	defer sends.Close()
	w.must(lax.SetContact(w.ctx, node.Contact{Agent: agent("buyer"), URL: sends.URL}))
	v := must[node.View](w)(lax.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("buyer")}, Way: node.Direct, Body: camera(nil)}))
	for asked.Load() == 0 {
		lax.reach(v.Session, "being asked", func(node.View) bool { return true })
	}
	if v := must[node.View](w)(lax.Session(w.ctx, v.Session)); len(v.Undelivered) != 1 {
		t.Error("the invitation was handed over in another network")
	}
}

// A relay that hands on the challenge of another one gets nothing signed for that.
func TestBorrowedChallenge(t *testing.T) {
	w := newWorld(t)
	buyer := w.party("buyer", nil)
	var registered atomic.Bool
	evil := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/register") {
			registered.Store(true)
		}
		response, err := http.Post(w.url+r.URL.Path, "application/json", r.Body)
		if err != nil {
			return
		}
		defer response.Body.Close()
		rw.WriteHeader(response.StatusCode)
		_, _ = io.Copy(rw, response.Body)
	}))
	defer evil.Close()
	// The node knows its home relay.
	w.must(buyer.SetContact(w.ctx, node.Contact{Agent: agent("x"), Consent: node.Allowed}))
	e := relay.Enclosure{
		ID: "inv", Session: "ses_x", From: agent("seller"), Time: w.now(), Kind: "invitation",
		Content: encoded(wire.M{"relay": evil.URL, "expires_at": wire.FormatTime(w.now().Add(time.Hour))}),
	}
	must[node.Invitation](w)(buyer.Invited(w.ctx, must[*relay.Enclosure](w)(e.Sign(key("seller"))).Value()))
	ctx, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	if _, err := buyer.Join(ctx, "ses_x"); err == nil || ctx.Err() != nil {
		t.Errorf("joining: %v", err)
	}
	if registered.Load() {
		t.Error("the agent signed a registration for its home relay at another address")
	}
}
