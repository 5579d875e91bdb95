package node_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A world is a relay, a clock that all share and that a test can put forward, and nodes.
type world struct {
	testing.TB
	ctx   context.Context
	url   string // of the relay
	mail  *relay.Mailboxes
	ahead atomic.Int64 // of the real time
	logs  *logged
}

// logged is what all nodes of a world log, at every level.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (w *world) now() time.Time          { return time.Now().Add(time.Duration(w.ahead.Load())) }
func (w *world) forward(d time.Duration) { w.ahead.Add(int64(d)) }

// generous are the limits of a relay that a test does not want to meet.
func generous() relay.Limits {
	return relay.Limits{
		FreeSpace: 1, UndeliveredSender: 1 << 30, Undelivered: 1 << 30, Live: 1 << 20, LivePerInitiator: 1 << 20,
		Invitations: 1 << 20, InvitationsSender: 1 << 20, AppendsPerSecond: 1 << 30, AppendBurst: 1 << 30,
		CallsPerSecond: 1 << 30, CallBurst: 1 << 30,
	}
}

// newWorld starts a relay for as long as the test runs.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{TB: tb, logs: new(logged)}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), patience)
	driver, err := boltmail.Open(filepath.Join(tb.TempDir(), "mail.db"))
	if err != nil {
		tb.Fatal(err)
	}
	w.mail, err = relay.NewMailboxes(w.ctx, driver, relay.Options{Now: w.now, Random: rand.Reader, Limits: generous()})
	if err != nil {
		tb.Fatal(err)
	}
	handler := relay.NewServer(w.mail, nil)
	server := httptest.NewServer(handler)
	w.url = server.URL
	tb.Cleanup(func() {
		cancel()
		if err := handler.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
		if err := driver.Close(); err != nil {
			tb.Error(err)
		}
	})
	return w
}

func key(name string) wire.PrivateKey {
	k, err := wire.NewPrivateKey([]byte(name + strings.Repeat(".", wire.SeedSize-len(name))))
	if err != nil {
		panic(err)
	}
	return k
}

func agent(name string) wire.AgentID { return wire.DIDKey(key(name).Public()) }

// A party is a node that can be started again.
type party struct {
	*node.Node
	w       *world
	opts    node.Options
	serving atomic.Pointer[node.Node] // Node, for those who reach it from outside
}

// party starts a node. change may alter its options.
func (w *world) party(name string, change func(*node.Options)) *party {
	w.Helper()
	p := &party{w: w}
	w.run(p, name, change)
	return p
}

func (w *world) run(p *party, name string, change func(*node.Options)) {
	w.Helper()
	log := slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", name)
	p.opts = node.Options{
		Dir: filepath.Join(w.TempDir(), name), Key: key(name), Relay: w.url, Loopback: true, Now: w.now, Log: log,
		Limits: generous(), Timing: relay.Timing{Retry: 5 * time.Millisecond, MaxRetry: 50 * time.Millisecond, Ack: 10 * time.Millisecond},
	}
	if change != nil {
		change(&p.opts)
	}
	p.start()
	w.Cleanup(p.end)
}

// public has a node be reached by others, on this machine.
func (w *world) public(name string, change func(*node.Options)) *party {
	w.Helper()
	p := &party{w: w}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.serving.Load().Handler().ServeHTTP(rw, r)
	}))
	w.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.run(p, name, func(o *node.Options) {
		o.Relay, o.Public = "", server.URL
		if change != nil {
			change(o)
		}
	})
	return p
}

func (p *party) start() {
	p.w.Helper()
	n, err := node.New(p.opts)
	if err != nil {
		p.w.Fatal(err)
	}
	p.Node = n
	p.serving.Store(n)
}

func (p *party) end() {
	if err := p.Close(); err != nil {
		p.w.Error(err)
	}
}

// restart closes the node and starts it again from its directory.
func (p *party) restart() {
	p.w.Helper()
	p.end()
	p.start()
}

func encoded(x any) wire.Value {
	v, err := wire.Encode(x)
	if err != nil {
		panic(err)
	}
	return v
}

func parsed(text string) wire.Value {
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		panic(err)
	}
	return v
}

var cameraTerms = wire.M{"price": wire.M{"type": "numeric", "currency": "EUR"}, "lens": wire.M{"type": "categorical", "value": "50mm"}}

func camera(more wire.M) wire.Value {
	body := wire.M{"terms": cameraTerms, "category": "goods.cameras"}
	for k, v := range more {
		body[k] = v
	}
	return encoded(body)
}

func price(n int) wire.Value {
	return encoded(wire.M{"terms": wire.M{"price": wire.M{"value": n, "currency": "EUR"}}})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func must[T any](w *world) func(T, error) T {
	return func(x T, err error) T {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return x
	}
}

// reach waits until a session is as wanted at a party.
func (p *party) reach(id wire.SessionID, what string, as func(node.View) bool) node.View {
	p.w.Helper()
	ctx, cancel := context.WithTimeout(p.w.ctx, time.Minute)
	defer cancel()
	v, err := p.Session(ctx, id)
	for err == nil && !as(v) {
		v, err = p.Wait(ctx, id, v.Version)
	}
	if err != nil {
		p.w.Fatalf("waiting for %s: %v; the session is %s with %d messages, receipt %q\n%s", what, err, v.State, v.Len, v.Receipt, p.w.logs)
	}
	return v
}

func (p *party) in(id wire.SessionID, state protocol.State) node.View {
	p.w.Helper()
	return p.reach(id, string(state), func(v node.View) bool { return v.State == state })
}

func (p *party) settled(id wire.SessionID) node.View {
	p.w.Helper()
	return p.reach(id, "the receipt", func(v node.View) bool { return v.Receipt == node.ReceiptDone })
}

func (p *party) has(id wire.SessionID, messages int) node.View {
	p.w.Helper()
	return p.reach(id, fmt.Sprint(messages, " messages"), func(v node.View) bool { return v.Len >= messages })
}

// invitation waits for the invitation to a session.
func (p *party) invitation(id wire.SessionID) node.Invitation {
	p.w.Helper()
	ctx, cancel := context.WithTimeout(p.w.ctx, time.Minute)
	defer cancel()
	for after := uint64(0); ; {
		list, err := p.Invitations(ctx)
		p.w.must(err)
		for _, i := range list {
			if i.Session == id {
				return i
			}
		}
		notices, err := p.Notices(ctx, after, 0)
		p.w.must(err)
		if len(notices) == 0 {
			p.w.Fatalf("no invitation came\n%s", p.w.logs)
		}
		after = notices[len(notices)-1].Number
	}
}

// move makes a move that has to be allowed.
func (p *party) move(id wire.SessionID, t wire.MessageType, body wire.Value) node.View {
	p.w.Helper()
	v, err := p.Move(p.w.ctx, node.Move{Session: id, Type: t, Body: body})
	if err != nil {
		p.w.Fatalf("%s: %v\n%s", t, err, p.w.logs)
	}
	return v
}

// begin opens a session between parties and has all others accept it.
func (w *world) begin(o node.Opening, first *party, others ...*party) wire.SessionID {
	w.Helper()
	for _, p := range others {
		self := must[node.Self](w)(p.Self(w.ctx))
		o.To = append(o.To, self.Agent)
	}
	if o.Body.Kind() == wire.Absent {
		o.Body = camera(nil)
	}
	v, err := first.Open(w.ctx, o)
	if err != nil {
		w.Fatalf("open: %v\n%s", err, w.logs)
	}
	for i, p := range others {
		p.invitation(v.Session)
		if _, err := p.Join(w.ctx, v.Session); err != nil {
			w.Fatalf("join: %v\n%s", err, w.logs)
		}
		p.has(v.Session, 1+i)
		p.move(v.Session, wire.TypeAcceptSession, wire.Value{})
	}
	first.in(v.Session, session.Active)
	for _, p := range others {
		p.in(v.Session, session.Active)
	}
	return v.Session
}

// same checks that the parties have the same messages, and that whoever has only them and
// the receipt can verify it all.
func (w *world) same(id wire.SessionID, parties ...*party) {
	w.Helper()
	var first wire.Value
	for i, p := range parties {
		d := must[wire.Value](w)(p.Document(w.ctx, id))
		if i == 0 {
			first = d
		} else if !d.Equal(first) {
			w.Fatalf("two parties have different transcripts of %s", id)
		}
	}
	d, err := session.ReadDocument(first)
	w.must(err)
	if _, report := d.Check(id, wire.DIDKeys{}, w.now(), nil, nil); report.Err() != nil {
		w.Fatalf("the transcript does not verify: %v", report.Err())
	}
}

func code(err error) node.Code {
	if e, ok := errors.AsType[*node.Error](err); ok {
		return e.Code
	}
	return ""
}

var _ io.Writer = (*logged)(nil)
