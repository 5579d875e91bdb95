package market_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

var epoch = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

// A world is a relay with a market, over HTTP, with a clock of its own, and agents whose
// keys are made from their names.
type world struct {
	testing.TB
	ctx    context.Context
	path   string
	limits market.Limits
	boxes  relay.Limits
	free   int64
	mail   *boltmail.Mail
	market *market.Market
	server *httptest.Server
	relay  *relay.Server

	// afterUpdate and afterView, if they are set, are run once: between a transaction of the
	// market and what the market does then.
	afterUpdate, afterView atomic.Pointer[func()]

	mu     sync.Mutex
	now    time.Time
	agents map[string]*agent
}

type agent struct {
	*market.Client
	relay *relay.Client
}

func newWorld(tb testing.TB, limits market.Limits) *world {
	tb.Helper()
	w := &world{TB: tb, ctx: tb.Context(), path: filepath.Join(tb.TempDir(), "mail.db"), limits: limits, now: epoch, agents: map[string]*agent{}}
	w.boxes = relay.Limits{FreeSpace: 1, CallBurst: 100_000}
	w.open()
	tb.Cleanup(w.close)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// A seam is a driver between whose steps a test can do something.
type seam struct {
	relay.Driver
	w *world
}

func (s *seam) Update(ctx context.Context, f func(relay.Tx) error) error {
	err := s.Driver.Update(ctx, f)
	if then := s.w.afterUpdate.Swap(nil); then != nil {
		(*then)()
	}
	return err
}

func (s *seam) View(ctx context.Context, f func(relay.Reader) error) error {
	err := s.Driver.View(ctx, f)
	if then := s.w.afterView.Swap(nil); then != nil {
		(*then)()
	}
	return err
}

// open opens the mail, the market in it, and a server.
func (w *world) open() {
	w.Helper()
	var err error
	if w.mail, err = boltmail.Open(w.path); err != nil {
		w.Fatal(err)
	}
	boxes, err := relay.NewMailboxes(context.Background(), w.mail, relay.Options{Limits: w.boxes, Now: w.clock, Random: rand.Reader})
	if err != nil {
		w.Fatal(err)
	}
	if w.market, err = market.Open(context.Background(), &seam{w.mail, w}, market.Options{Limits: w.limits, Now: w.clock, FreeSpace: w.free}); err != nil {
		w.Fatal(err)
	}
	w.relay = relay.NewServer(boxes, &relay.ServerOptions{Services: []relay.Service{w.market.Service()}})
	w.server = httptest.NewServer(w.relay)
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.relay.Shutdown(ctx); err != nil {
		w.Errorf("shutting down: %v", err)
	}
	w.server.Close()
	if err := w.mail.Close(); err != nil {
		w.Error(err)
	}
	clear(w.agents)
}

func key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		panic(err)
	}
	return k
}

// keys know every agent that is named like its key.
type keys struct{}

func (keys) Key(id wire.AgentID, _ time.Time) (wire.PublicKey, error) {
	return key(string(id)).Public(), nil
}

// as returns the client of an agent.
func (w *world) as(name string) *agent {
	w.Helper()
	if a := w.agents[name]; a != nil {
		return a
	}
	c, err := relay.NewClient(relay.ClientOptions{URL: w.server.URL, Agent: wire.AgentID(name), Signer: key(name), Keys: keys{}, Now: w.clock,
		Handle: func(context.Context, relay.Delivery) error { return nil }})
	if err != nil {
		w.Fatal(err)
	}
	a := &agent{&market.Client{Relay: c, Keys: keys{}, Now: w.clock}, c}
	w.agents[name] = a
	return a
}

// entry makes a signed entry of an agent, with its other members.
func (w *world) entry(kind match.Kind, id, from, members string) *match.Entry {
	w.Helper()
	v, err := wire.Parse(fmt.Appendf(nil, `{"type":"%s","id":"%s_%s","agent_id":"%s","ttl":3600,"created_at":"%s",%s}`,
		kind, strings.TrimPrefix(string(kind), "concordia."), id, from, wire.FormatTime(w.clock()), members), wire.DocumentLimits)
	if err != nil {
		w.Fatal(err)
	}
	return w.signed(v, from)
}

func (w *world) signed(v wire.Value, by string) *match.Entry {
	w.Helper()
	v, err := match.Sign(v, key(by))
	if err != nil {
		w.Fatal(err)
	}
	e, err := match.Read(v)
	if err != nil {
		w.Fatal(err)
	}
	return e
}

func (w *world) want(id, from, members string) *match.Entry {
	return w.entry(match.Want, id, from, members)
}
func (w *world) have(id, from, members string) *match.Entry {
	return w.entry(match.Have, id, from, members)
}

// post posts an entry of its agent.
func (w *world) post(e *match.Entry) *market.Post {
	w.Helper()
	p, err := w.as(string(e.Agent)).Post(w.ctx, e)
	if err != nil {
		w.Fatalf("posting %s: %v", e.ID, err)
	}
	return p
}

// profile makes a signed profile of an agent.
func (w *world) profile(from string, members wire.M) wire.Value {
	w.Helper()
	draft, err := wire.Encode(members)
	if err != nil {
		w.Fatal(err)
	}
	v, err := attest.Issuer{Agent: wire.AgentID(from), Key: key(from), Now: w.clock()}.Profile(draft)
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// dump returns all that the market keeps.
func (w *world) dump() map[string]string {
	w.Helper()
	all := map[string]string{}
	err := w.mail.View(context.Background(), func(r relay.Reader) error {
		for k, v := range r.Scan("M", "") {
			all[k] = string(v)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// refuses wants a refusal, perhaps of one limit or rule, and that nothing has changed.
func (w *world) refuses(what string, code relay.Code, about string, err error) {
	w.Helper()
	e, ok := errors.AsType[*relay.Error](err)
	if !ok || e.Code != code || e.Limit != "" && e.Limit != about || e.Limit == "" && e.Violation != nil && e.Violation.Rule.Name != about {
		w.Errorf("%s: %v, want %s %s", what, err, code, about)
	}
}

// unchanged wants that something changes nothing.
func (w *world) unchanged(what string, do func()) {
	w.Helper()
	before := w.dump()
	do()
	after := w.dump()
	if fmt.Sprint(before) != fmt.Sprint(after) {
		w.Errorf("%s changed something", what)
	}
}
