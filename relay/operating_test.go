package relay_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/session/agent"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// TestConnectionLimits crosses each limit of connections by one.
func TestConnectionLimits(t *testing.T) {
	for _, c := range []struct {
		limit  string
		limits relay.Limits
		agents []string // who connects; the last is one too many
	}{
		{"connections", relay.Limits{Connections: 2}, []string{"a", "b", "c"}},
		{"connections_per_agent", relay.Limits{ConnectionsAgent: 2}, []string{"a", "a", "a"}},
		{"connections_per_address", relay.Limits{ConnectionsPlace: 2}, []string{"a", "b", "c"}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			s := listen(t, setting{limits: c.limits})
			people := map[string]*person{}
			for _, name := range c.agents {
				if people[name] == nil {
					people[name] = s.person(name)
				}
			}
			s.client.CloseIdleConnections() // which count among those of the address
			last := len(c.agents) - 1
			var lines []*line
			for _, name := range c.agents[:last] {
				lines = append(lines, people[name].dial())
			}
			again := people[c.agents[last]]
			_, answer, err := again.dialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/v1/socket", http.Header{"Authorization": {"Bearer " + again.token}})
			if err == nil {
				t.Fatal("one too many is connected")
			}
			body := make([]byte, 1000)
			n, _ := answer.Body.Read(body)
			v, err := wire.Parse(body[:n], wire.DocumentLimits)
			if err != nil || text(v, "error", "code") != "quota" || text(v, "error", "limit") != c.limit || answer.StatusCode != 429 {
				t.Errorf("%s %s", answer.Status, body[:n])
			}
			lines[0].ws.Close()
			for s.server.Connections() == last {
				runtime.Gosched() // until the relay has noticed
			}
			again.dial()
		})
	}
}

// TestRates crosses the rates of an agent and of an address, with a clock that stands.
func TestRates(t *testing.T) {
	clock := newClock()
	s := listen(t, setting{limits: relay.Limits{AppendsPerSecond: 2, AppendBurst: 5, CallsPerSecond: 1, CallBurst: 10}, mail: relay.Options{Now: clock.now}})
	seller, buyer := s.person("seller"), s.person("buyer")
	seller.meet("ses_1", buyer) // one call of each; the two registrations four of the address
	chain := seller.chain("ses_1", 10, wire.M{"signal": "x"})
	for _, m := range chain[:5] {
		seller.do("append", wire.M{"entry": m.Value()})
	}
	e := seller.refused("rate", "append", wire.M{"entry": chain[5].Value()})
	if text(e, "retry_after") != "1" {
		t.Errorf("%v", e)
	}
	buyer.do("append", wire.M{"entry": buyer.message("ses_1", chain[4].Hash(), wire.M{"signal": "others are not slower"}).Value()})
	for range 9 {
		seller.do("sessions", wire.M{})
	}
	seller.refused("rate", "sessions", wire.M{})
	code, _ := s.send(seller.token, "GET", "/v1/socket", "", "Connection: Upgrade", "Upgrade: websocket")
	if code != 429 {
		t.Errorf("a socket: %d", code)
	}
	buyer.do("sessions", wire.M{})
	for i := range 8 { // of 10, two registrations with two calls each have taken 4
		_, v := s.post("", "challenge", wire.M{})
		if refused := text(v, "error", "code") == "rate"; refused != (i >= 6) {
			t.Errorf("challenge %d: %v", i, v)
		}
	}
	buyer.do("sessions", wire.M{}) // with a token an address does not count
	r, err := http.NewRequest("POST", s.url+"/v1/challenge", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", answer.Header.Get("Retry-After"))
	}
	clock.wait(time.Second)
	seller.do("sessions", wire.M{})
	seller.refused("rate", "sessions", wire.M{})
	e = seller.refused("chain_conflict", "append", wire.M{"entry": chain[5].Value()})
	if text(e, "messages") != "6" || text(e, "length") != "6" || !strings.HasPrefix(text(e, "tip"), "sha256:") {
		t.Errorf("%v", e)
	}
}

// broken is a driver that can be made to fail.
type broken struct {
	relay.Driver
	fails atomic.Bool
	free  atomic.Int64
}

var errDisk = errors.New("the disk is gone")

func (b *broken) View(ctx context.Context, f func(relay.Reader) error) error {
	if b.fails.Load() {
		return errDisk
	}
	return b.Driver.View(ctx, f)
}

func (b *broken) Size() (used, free int64) {
	used, _ = b.Driver.Size()
	return used, b.free.Load()
}

// TestHealth shows what /healthz says of a relay that sweeps, has a damaged record, a
// full disk, and none at all.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(broken)
		b.free.Store(1 << 40)
		s := serve(t, newPipes(), setting{
			driver:  func(d relay.Driver) relay.Driver { b.Driver = d; return b },
			options: relay.ServerOptions{Operator: func(*http.Request) bool { return true }},
			limits:  relay.Limits{FreeSpace: 1000},
		})
		health := func(wantCode int, wantStatus string, want ...string) {
			t.Helper()
			code, body := s.send("", "GET", "/healthz", "")
			if code != wantCode || !strings.Contains(body, `"status":"`+wantStatus+`"`) {
				t.Errorf("%d %s, want %d %s", code, body, wantCode, wantStatus)
			}
			for _, w := range want {
				if !strings.Contains(body, w) {
					t.Errorf("%s has no %s", body, w)
				}
			}
		}
		health(200, "ok")
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- s.server.Run(ctx) }()
		synctest.Wait()
		health(200, "ok", `"sweep":{"at":"`+wire.FormatTime(time.Now()))

		seller := s.person("seller")
		seller.do("create", wire.M{"session_id": "ses_bad", "to": []string{"buyer"}, "seconds": 60})
		seller.do("create", wire.M{"session_id": "ses_good", "to": []string{"buyer"}, "seconds": 60})
		if err := b.Update(t.Context(), func(tx relay.Tx) error { tx.Put("sses_bad", []byte("{")); return nil }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		health(200, "degraded", `"bad_records":1`)
		if v := seller.do("session", wire.M{"session_id": "ses_good"}); text(v, "state") != "ended" || text(v, "why") != "expired" {
			t.Errorf("a bad record has kept the sweeper from others: %v", v)
		}
		seller.refused("internal", "session", wire.M{"session_id": "ses_bad"})
		time.Sleep(58 * time.Minute)
		synctest.Wait()
		health(200, "degraded", `"bad_records":1`)

		b.free.Store(999)
		health(503, "broken", "the disk is full")
		b.free.Store(1 << 40)
		b.fails.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		health(503, "broken", "the mail cannot be read", "the last sweep failed")
		b.fails.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		health(200, "degraded")
		_, metrics := s.send("", "GET", "/metrics", "")
		for _, want := range []string{
			`concordia_relay_sweeps_total{result="failed"} 2`, `concordia_relay_swept_total{what="bad"} 2`, `concordia_relay_swept_total{what="ended"} 1`,
			`concordia_relay_operations_total{code="internal",op="session"} 1`, `concordia_relay_operations_total{code="ok",op="create"} 2`,
			"concordia_relay_operation_seconds_bucket", "concordia_relay_connections 0", "concordia_relay_live_sessions 1",
		} {
			if !strings.Contains(metrics, want) {
				t.Errorf("metrics have no %s", want)
			}
		}
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		health(200, "degraded")
		time.Sleep(15 * time.Minute)
		health(503, "broken", "the last sweep is long ago")
	})
}

// TestWellKnown shows what a stranger learns.
func TestWellKnown(t *testing.T) {
	s := listen(t, setting{limits: relay.Limits{Agents: 7, CallBurst: 3}})
	code, body := s.send("", "GET", "/.well-known/concordia-relay", "")
	v, err := wire.Parse([]byte(body), wire.DocumentLimits)
	if err != nil || code != 200 || text(v, "protocol") != "concordia-relay/1" || text(v, "relay") != s.mail.ID() || text(v, "limits", "agents") != "7" {
		t.Errorf("%d %s", code, body)
	}
	s.send("", "GET", "/.well-known/concordia-relay", "")
	s.send("", "GET", "/.well-known/concordia-relay", "")
	if code, _ := s.send("", "GET", "/.well-known/concordia-relay", ""); code != 429 {
		t.Errorf("too often: %d", code)
	}
}

// TestLogTellsNothing greps the log of a run, at debug level, for what it must not have.
func TestLogTellsNothing(t *testing.T) {
	b := new(broken)
	b.free.Store(1 << 40)
	s := listen(t, setting{driver: func(d relay.Driver) relay.Driver { b.Driver = d; return b }})
	const term, reason = "TERM-1000-EUR", "REASON-because"
	seller, buyer := s.person("seller"), s.person("buyer")
	_, challenge := s.post("", "challenge", wire.M{})
	secrets := []string{term, reason, seller.token, buyer.token, text(challenge, "nonce"), "ses_secret"}
	for _, p := range []*person{seller, buyer} {
		secrets = append(secrets, p.key.Public().String(), strings.TrimRight(p.key.Public().String(), "="),
			base64.RawURLEncoding.EncodeToString(p.key.Seed()), fmt.Sprintf("%x", p.key.Seed()))
	}
	l := buyer.dial()
	seller.meet("ses_secret", buyer)
	m, err := wire.Sign(wire.Envelope{
		Type: "negotiate.signal", ID: "msg_1", Session: "ses_secret", Time: time.Now(), From: "seller",
		Body: s.value(wire.M{"price": term}), Reasoning: reason,
	}, seller.key)
	if err != nil {
		t.Fatal(err)
	}
	seller.do("append", wire.M{"entry": m.Value()})
	l.takes("ses_secret", 1, 1)
	for _, bad := range []wire.Value{
		m.Value().With("reasoning", wire.Text(reason+"!")), m.Value().With("body", wire.Text(term)),
		m.Value().With("id", wire.Text(term+" ")), m.Value().With("timestamp", wire.Text(term)),
	} {
		seller.refused("rejected", "append", wire.M{"entry": bad})
	}
	fork := seller.chain("ses_secret", 1, wire.M{"price": term})[0]
	seller.refused("chain_conflict", "append", wire.M{"entry": fork.Value()})
	seller.refused("bad_request", "append", wire.M{"entry": term})
	seller.refused("bad_request", "append", wire.M{"entry": m.Value(), term: 1})
	s.send(seller.token, "POST", "/v1/append", term, "Content-Type: application/json")
	s.send(term, "POST", "/v1/"+term, term, "Content-Type: application/json")
	l.call("nothing", wire.M{"term": term})
	seller.do("rotate", wire.M{})
	b.fails.Store(true)
	buyer.refused("internal", "sessions", wire.M{})
	b.fails.Store(false)
	log := s.log.String()
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	for _, want := range []string{"op=append agent=seller code=ok", "code=rejected", "code=chain_conflict", errDisk.Error()} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// TestTranscriptVerifies carries a whole negotiation over a relay, with its receipt as
// an enclosure: the transcript verifies whole, receipt and all.
func TestTranscriptVerifies(t *testing.T) {
	ctx := t.Context()
	s := listen(t, setting{})
	people := map[wire.AgentID]*person{}
	party := func(name string) *agent.Agent {
		key := newKey(t, name)
		p := &person{station: s, id: wire.DIDKey(key.Public()), key: key}
		p.token = p.register()
		people[p.id] = p
		store, err := transcript.Open(filepath.Join(t.TempDir(), "transcript.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return agent.New(key, wire.DIDKeys{}, store, nil)
	}
	seller, buyer := party("seller"), party("buyer")
	agent.Connect(seller, buyer)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sale, err := seller.Open(ctx, wire.M{"price": wire.M{"type": "numeric"}}, nil, buyer.ID())
	must(err)
	purchase, err := buyer.Negotiation(ctx, sale.ID())
	must(err)
	must(purchase.AcceptSession(ctx))
	must(sale.Offer(ctx, wire.M{"price": wire.M{"value": 2050, "currency": "USD"}}, ""))
	must(purchase.Accept(ctx, nil, ""))
	receipt, err := sale.Receipt(ctx)
	must(err)
	messages, err := sale.Messages()
	must(err)

	id := string(sale.ID())
	people[seller.ID()].meet(id, people[buyer.ID()])
	for _, m := range messages {
		people[wire.AgentID(text(m, "from", "agent_id"))].do("append", wire.M{"entry": m})
	}
	enclose := func(kind string, content wire.Value) {
		p := people[seller.ID()]
		p.n++
		e, err := relay.Enclosure{
			ID: wire.MessageID(fmt.Sprintf("enc_%d", p.n)), Session: sale.ID(), From: p.id, Time: p.now(), Kind: kind, Content: content,
		}.Sign(p.key)
		must(err)
		p.do("append", wire.M{"entry": e.Value()})
	}
	check := func(whole bool) {
		t.Helper()
		d, err := session.ReadDocument(people[buyer.ID()].do("transcript", wire.M{"session_id": id}))
		must(err)
		_, report := d.Check(d.SessionID(), wire.DIDKeys{}, time.Now(), nil, nil)
		if report.Outcome() != wire.Passed || (d.Receipt.Kind() == wire.Object) != whole {
			t.Errorf("the transcript verifies as %v, with a receipt: %v, want %v", report, d.Receipt.Kind() == wire.Object, whole)
		}
	}
	check(false)
	signatures, _ := receipt.Get("countersignatures")
	enclose(relay.KindReceipt, receipt.With("countersignatures", signatures.Without(string(buyer.ID()))))
	check(false) // that is half a receipt
	enclose("note", receipt)
	check(false) // that is none
	enclose(relay.KindReceipt, receipt)
	check(true)
}
