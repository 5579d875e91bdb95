package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
)

var epoch = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

var worlds atomic.Int64 // no two have the same chance

// A world is a relay with a clock of its own, and agents whose keys are made from their
// names.
type world struct {
	testing.TB
	ctx    context.Context
	path   string
	opts   relay.Options
	driver relay.Driver
	*relay.Mailboxes

	mu     sync.Mutex
	now    time.Time
	tips   map[wire.SessionID]wire.Hash
	logs   map[wire.SessionID]bool // that ever were
	agents map[string]relay.Agent
	ids    int
}

func newWorld(tb testing.TB, limits relay.Limits) *world {
	tb.Helper()
	limits.FreeSpace = max(limits.FreeSpace, 1)
	w := &world{
		TB: tb, ctx: context.Background(), path: filepath.Join(tb.TempDir(), "mail.db"), now: epoch,
		tips: map[wire.SessionID]wire.Hash{}, logs: map[wire.SessionID]bool{}, agents: map[string]relay.Agent{},
	}
	random := rand.NewChaCha8([32]byte(fmt.Appendf(nil, "%032d", worlds.Add(1))))
	w.opts = relay.Options{Limits: limits, Now: w.clock, Random: locked{&w.mu, random}}
	w.open()
	tb.Cleanup(func() { w.driver.Close() })
	return w
}

// locked makes a reader safe for many goroutines.
type locked struct {
	mu *sync.Mutex
	r  *rand.ChaCha8
}

func (l locked) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
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

// open opens the mail, again if it was open.
func (w *world) open() {
	w.Helper()
	if w.driver != nil {
		if err := w.driver.Close(); err != nil {
			w.Fatal(err)
		}
	}
	driver, err := boltmail.Open(w.path)
	if err != nil {
		w.Fatal(err)
	}
	w.driver = driver
	w.use(driver)
}

// use has the relay use a driver, with the options of the world.
func (w *world) use(driver relay.Driver) {
	w.Helper()
	m, err := relay.NewMailboxes(w.ctx, driver, w.opts)
	if err != nil {
		w.Fatal(err)
	}
	w.Mailboxes = m
}

func key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		panic(err)
	}
	return k
}

// register registers an agent with the key of a name.
func (w *world) register(agent wire.AgentID, name string) (wire.AgentID, string, error) {
	w.Helper()
	c, err := w.Challenge()
	if err != nil {
		w.Fatal(err)
	}
	v, err := c.Registration(agent, key(name), w.clock())
	if err != nil {
		w.Fatal(err)
	}
	return w.Register(w.ctx, v)
}

// agent returns the agent of a name, registered.
func (w *world) agent(name string) relay.Agent {
	w.Helper()
	if a, ok := w.agents[name]; ok {
		return a
	}
	_, token, err := w.register(wire.AgentID(name), name)
	if err != nil {
		w.Fatal(err)
	}
	a, err := w.Authenticate(w.ctx, token)
	if err != nil {
		w.Fatal(err)
	}
	w.agents[name] = a
	return a
}

// reserve creates a session.
func (w *world) reserve(session wire.SessionID, from string, to ...wire.AgentID) relay.SessionInfo {
	w.Helper()
	info, err := w.create(from, relay.Reservation{Session: session, To: to})
	if err != nil {
		w.Fatal(err)
	}
	return info
}

func (w *world) create(from string, want relay.Reservation) (relay.SessionInfo, error) {
	w.logs[want.Session] = true
	return w.Create(w.ctx, w.agent(from).ID, want)
}

func (w *world) join(session wire.SessionID, names ...string) {
	w.Helper()
	for _, name := range names {
		if _, err := w.Join(w.ctx, w.agent(name).ID, session); err != nil {
			w.Fatalf("%s joins %s: %v", name, session, err)
		}
	}
}

// active makes a session that all have joined.
func (w *world) active(session wire.SessionID, from string, to ...string) {
	w.Helper()
	var ids []wire.AgentID
	for _, name := range to {
		ids = append(ids, w.agent(name).ID)
	}
	w.reserve(session, from, ids...)
	w.join(session, to...)
}

// envelope is a message that fits a session now.
func (w *world) envelope(session wire.SessionID, from string) wire.Envelope {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	body, _ := wire.Encode(wire.M{"term_ids": []string{"price"}})
	return wire.Envelope{
		Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprint("m", w.ids)), Session: session, Time: w.now,
		From: wire.AgentID(from), PrevHash: w.tips[session], Body: body,
	}
}

func (w *world) sign(e wire.Envelope) *wire.Message {
	w.Helper()
	m, err := wire.Sign(e, key(string(e.From)))
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// send appends a message and notes the tip.
func (w *world) send(m *wire.Message) (relay.Appended, error) {
	done, err := w.Append(w.ctx, w.agent(string(m.From)), m.Value())
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tips[m.Session] = m.Hash()
	}
	return done, err
}

// say appends a message that fits.
func (w *world) say(session wire.SessionID, from string) *wire.Message {
	w.Helper()
	m := w.sign(w.envelope(session, from))
	if _, err := w.send(m); err != nil {
		w.Fatalf("%s in %s: %v", from, session, err)
	}
	return m
}

// enclosure is one that is from an agent.
func (w *world) enclosure(session wire.SessionID, from, id string, content wire.Value) *relay.Enclosure {
	w.Helper()
	e, err := relay.Enclosure{
		ID: wire.MessageID(id), Session: session, From: wire.AgentID(from), Time: w.clock(), Kind: relay.KindReceipt, Content: content,
	}.Sign(key(from))
	if err != nil {
		w.Fatal(err)
	}
	return e
}

func (w *world) enclose(e *relay.Enclosure) (relay.Appended, error) {
	return w.Append(w.ctx, w.agent(string(e.From)), e.Value())
}

// dump returns all that the relay keeps, by name.
func (w *world) dump() map[string]string {
	w.Helper()
	all := map[string]string{}
	err := w.driver.View(w.ctx, func(r relay.Reader) error {
		clear(all)
		for k, v := range r.Scan("", "") {
			all[k] = string(v)
		}
		for session := range w.logs {
			for n, e := range r.Entries(string(session), 1) {
				all[fmt.Sprintf("log %s %d", session, n)] = string(e)
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// counters returns the records that are counters, and nothing of what agents decided.
func counters(dump map[string]string) map[string]uint64 {
	all := map[string]uint64{}
	for k, v := range dump {
		if strings.ContainsAny(k[:1], "uwlb") && !strings.HasPrefix(k, "log ") {
			all[k] = number(v)
		}
	}
	return all
}

func number(s string) (n uint64) {
	for _, c := range []byte(s) {
		n = n<<8 | uint64(c)
	}
	return n
}

// difference says how two dumps differ; "" if they do not.
func difference(before, after map[string]string) string {
	var b bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if v, ok := after[k]; !ok {
			fmt.Fprintf(&b, "- %q\n", k)
		} else if v != before[k] {
			fmt.Fprintf(&b, "~ %q: %q -> %q\n", k, before[k], v)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[k]; !ok {
			fmt.Fprintf(&b, "+ %q: %q\n", k, after[k])
		}
	}
	return b.String()
}

// refuses wants a refusal, and that nothing has changed.
func (w *world) refuses(code relay.Code, what string, do func() error) *relay.Error {
	w.Helper()
	before := w.dump()
	err := do()
	e, ok := errors.AsType[*relay.Error](err)
	if !ok || e.Code != code {
		w.Errorf("%s: %v, want %s", what, err, code)
		return &relay.Error{}
	}
	if d := difference(before, w.dump()); d != "" {
		w.Errorf("%s was refused and changed:\n%s", what, d)
	}
	return e
}

// quiet wants that nothing changes.
func (w *world) quiet(what string, do func() error) {
	w.Helper()
	before := w.dump()
	if err := do(); err != nil {
		w.Errorf("%s: %v", what, err)
	}
	if d := difference(before, w.dump()); d != "" {
		w.Errorf("%s changed:\n%s", what, d)
	}
}

func (w *world) sweep() relay.Swept {
	w.Helper()
	done, err := w.Sweep(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return done
}
