package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// newSender makes a client that does not run.
func newSender(t testing.TB, url, name string, change func(*relay.ClientOptions)) *endpoint {
	t.Helper()
	e := &endpoint{TB: t, key: keyOf(name)}
	e.id = wire.DIDKey(e.key.Public())
	opts := relay.ClientOptions{URL: url, Agent: e.id, Signer: e.key, Keys: wire.DIDKeys{}, Timing: quick}
	if change != nil {
		change(&opts)
	}
	var err error
	if e.Client, err = relay.NewClient(opts); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestClientWithoutRun: all operations go over HTTP.
func TestClientWithoutRun(t *testing.T) {
	noLeaks(t)
	s := startRelay(t, nil)
	a, b := newSender(t, s.url, "a", nil), newSender(t, s.url, "b", nil)
	if _, err := b.Sessions(t.Context(), ""); err != nil { // registers
		t.Fatal(err)
	}
	open(a, b, "ses_1")
	a.say("ses_1", 1, 3, wire.Hash{})
	list, length, err := b.Read(t.Context(), "ses_1", 1, 0)
	if err != nil || length != 3 || len(list) != 3 || list[2].Message == nil {
		t.Errorf("Read = %v, %d, %v", list, length, err)
	}
	if tr, err := b.Transcript(t.Context(), "ses_1"); err != nil || len(tr.Messages) != 3 {
		t.Errorf("Transcript = %v, %v", tr, err)
	}
	open(a, b, "ses_2")
	if err := b.Close(t.Context(), "ses_2"); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, err := a.Create(t.Context(), relay.Reservation{Session: "ses_3", To: []wire.AgentID{b.id}, Life: time.Hour, Places: 1}); err != nil {
		t.Errorf("Create = %v", err)
	}
	if err := b.Decline(t.Context(), "ses_3"); err != nil {
		t.Errorf("Decline = %v", err)
	}
	if _, err := b.Join(t.Context(), "ses_3"); relay.CodeOf(err) != relay.CodeDeclined {
		t.Errorf("Join after Decline = %v", err)
	}
	if _, err := b.Join(t.Context(), "ses_4"); relay.CodeOf(err) != relay.CodeNotFound {
		t.Errorf("Join of nothing = %v", err)
	}
}

// TestClientUnsayable: what cannot be sent at all is not tried for ever.
func TestClientUnsayable(t *testing.T) {
	s := startRelay(t, nil)
	a := newSender(t, s.url, "a", nil)
	for name, do := range map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := a.Create(ctx, relay.Reservation{Session: "\xff"})
			return err
		},
		"join":    func(ctx context.Context) error { _, err := a.Join(ctx, "\xff"); return err },
		"consent": func(ctx context.Context) error { return a.SetConsent(ctx, "\xff", relay.Denied) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := do(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s of what is no UTF-8: %v", name, err)
		}
		cancel()
	}
}

// TestClientAcks: entries are acknowledged together, and before the relay stops because
// too many are not.
func TestClientAcks(t *testing.T) {
	var acks atomic.Int64
	s := startRelay(t, &tamper{frame: func(_ wire.AgentID, op, _, answer string) []string {
		if op == "ack" {
			acks.Add(1)
		}
		return []string{answer}
	}})
	a := newSender(t, s.url, "a", nil)
	b := newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) { o.Timing.Ack = time.Hour })
	open(a, b, "ses_1")
	const n = 600 // the relay stops at 256
	a.say("ses_1", 1, n, wire.Hash{})
	b.receives("ses_1", n)
	if got := acks.Load(); got < 2 || got > n/30 {
		t.Errorf("%d acknowledgements of %d entries", got, n)
	}
}

// TestClientClock: a message that a client's clock does not admit is handed over, and
// says so.
func TestClientClock(t *testing.T) {
	s := startRelay(t, nil)
	a := newSender(t, s.url, "a", nil)
	b := newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) {
		o.Now = func() time.Time { return time.Now().Add(-time.Hour) }
		o.Tokens = &token{}
	})
	late := newSender(t, s.url, "b", nil) // registers in b's place, whose clock is too wrong for that
	if _, err := late.Sessions(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Sessions(t.Context(), ""); relay.CodeOf(err) != relay.CodeChallenge {
		t.Fatalf("a client whose clock is wrong by an hour registers: %v", err)
	}
	_ = b.stop()
	var wrong atomic.Bool
	b = newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) {
		o.Now = func() time.Time {
			if wrong.Load() {
				return time.Now().Add(-time.Hour)
			}
			return time.Now()
		}
	})
	open(a, b, "ses_1")
	wrong.Store(true)
	a.say("ses_1", 1, 2, wire.Hash{})
	b.receives("ses_1", 2)
	if d := b.delivered("ses_1")[1]; d.Message == nil || !errors.Is(d.Err, wire.RuleFuture) {
		t.Errorf("entry 2: %v, Err = %v", d.Message, d.Err)
	}
}

// A token is Tokens that keep one.
type token struct {
	mu   sync.Mutex
	text string
	sets int
}

func (k *token) Token(context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text, nil
}

func (k *token) SetToken(_ context.Context, text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text, k.sets = text, k.sets+1
	return nil
}

// TestClientTokens: a token is kept and used again, and another is asked for when it
// does not count.
func TestClientTokens(t *testing.T) {
	s := startRelay(t, nil)
	kept := new(token)
	with := func(o *relay.ClientOptions) { o.Tokens = kept }
	for range 3 {
		if _, err := newSender(t, s.url, "a", with).Sessions(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if kept.sets != 1 {
		t.Errorf("%d registrations, want one", kept.sets)
	}
	first := kept.text
	a := newSender(t, s.url, "a", with)
	if err := a.Rotate(t.Context()); err != nil || kept.text == first {
		t.Errorf("Rotate = %v", err)
	}
	kept.text = first // it does not count any more
	b := newEndpoint(t, s.url, "a", with)
	if _, err := b.Sessions(t.Context(), ""); err != nil || kept.text == first {
		t.Errorf("Sessions = %v", err)
	}
	if err := b.Revoke(t.Context(), true); err != nil || kept.text != "" {
		t.Errorf("Revoke = %v, and keeps a token: %v", err, kept.text != "")
	}
}

// TestClientClosing: a relay that stops is left alone for as long as it says.
func TestClientClosing(t *testing.T) {
	var once sync.Once
	closed := make(chan time.Time, 1)
	s := startRelay(t, &tamper{frame: func(_ wire.AgentID, op, _, answer string) []string {
		texts := []string{answer}
		if op == "ack" {
			once.Do(func() { texts = append(texts, `{"push":"closing","retry_after":1}`, hangUp); closed <- time.Now() })
		}
		return texts
	}})
	a, b := newSender(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	tip := a.say("ses_1", 1, 1, wire.Hash{})
	at := <-closed
	a.say("ses_1", 2, 2, tip)
	b.receives("ses_1", 2)
	if waited := time.Since(at); waited < time.Second {
		t.Errorf("the client came back after %v", waited)
	}
}

// TestClientRefusals: what passes is tried again, what does not is returned as it is.
func TestClientRefusals(t *testing.T) {
	for _, test := range []struct {
		refusal string
		again   bool
		check   func(*relay.Error) bool
	}{
		{`{"code":"unavailable","message":"","retry_after":0}`, true, nil},
		{`{"code":"rate","message":"","retry_after":0}`, true, nil},
		{`{"code":"internal","message":""}`, true, nil},
		{`{"code":"quota","message":"m","limit":"entries_per_session"}`, false, func(e *relay.Error) bool {
			return e.Code == relay.CodeQuota && e.Limit == "entries_per_session" && e.Message == "m"
		}},
		{`{"code":"rejected","message":"","rule":"timestamp-future","section":"5.3","at":"/timestamp"}`, false, func(e *relay.Error) bool {
			return errors.Is(e, wire.RuleFuture) && e.Violation.At == "/timestamp"
		}},
		{`{"code":"rejected","message":"","rule":"new","section":"99","at":""}`, false, func(e *relay.Error) bool {
			return e.Violation.Rule.Name == "new"
		}},
		{`{"code":"id_conflict","message":""}`, false, func(e *relay.Error) bool { return e.Code == relay.CodeIDConflict }},
		{`{"code":"some_new_code","message":""}`, false, func(e *relay.Error) bool { return e.Code == "some_new_code" }},
		{`{"code":"not_active","message":"` + strings.Repeat("a", 1<<20) + `"}`, false, func(e *relay.Error) bool { return len(e.Message) < 400 }},
	} {
		n := 0
		s := startRelay(t, &tamper{frame: func(agent wire.AgentID, op, ref, answer string) []string {
			if op == "append" && agent == wire.DIDKey(keyOf("a").Public()) {
				if n++; n < 3 || !test.again {
					return []string{`{"ref":` + ref + `,"error":` + test.refusal + `}`}
				}
			}
			return []string{answer}
		}})
		a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
		open(a, b, "ses_1")
		b.say("ses_1", 1, 1, wire.Hash{})
		a.receives("ses_1", 1)
		_, err := a.Append(t.Context(), a.message("ses_1", 2, a.delivered("ses_1")[0].Position.Tip.Hash))
		e, ok := errors.AsType[*relay.Error](err)
		switch {
		case test.again && err != nil:
			t.Errorf("%.60s: Append = %v, want another attempt", test.refusal, err)
		case !test.again && (!ok || !test.check(e)):
			t.Errorf("%.60s: Append = %v", test.refusal, err)
		}
	}
}

// TestHostileHTTP: what an answer over HTTP can be but an answer.
func TestHostileHTTP(t *testing.T) {
	stolen := false
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen = true }))
	defer thief.Close()
	for _, test := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		want   error
	}{
		{"a page for people", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, relay.RuleAnswer},
		{"no object", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") }, relay.RuleAnswer},
		{"nothing of what was asked for", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, relay.RuleAnswer},
		{"too much", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"sessions":"`+strings.Repeat("a", 5<<20)+`"}`)
		}, relay.RuleAnswer},
		{"sessions out of order", func(w http.ResponseWriter, _ *http.Request) {
			one := `{"session_id":"ses_%d","state":"active","parties":[],"places":0,"created_at":"2026-01-01T00:00:00Z","expires_at":"2026-01-01T00:00:00Z"}`
			fmt.Fprintf(w, `{"sessions":[`+one+`,`+one+`]}`, 2, 1)
		}, relay.RuleAnswer},
		{"another place", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		}, context.DeadlineExceeded},
		{"a trouble of a proxy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, context.DeadlineExceeded},
		{"nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, context.DeadlineExceeded},
		{"half of it", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"sess`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, context.DeadlineExceeded},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			test.answer(w, r)
		}))
		a := newSender(t, server.URL, "a", func(o *relay.ClientOptions) {
			o.Tokens = &token{text: "hushhush"}
			o.Timing.Call = 30 * time.Millisecond
			if test.want != context.DeadlineExceeded {
				o.Timing.Call = time.Minute
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if test.want != context.DeadlineExceeded {
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
		}
		_, err := a.Sessions(ctx, "")
		cancel()
		if !errors.Is(err, test.want) {
			t.Errorf("%s: Sessions = %v, want %v", test.name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hushhush") {
			t.Errorf("%s: the error shows the token", test.name)
		}
		server.CloseClientConnections()
		server.Close()
	}
	if stolen {
		t.Error("a request was repeated elsewhere, with the token")
	}
}

// TestHostileTranscript: a transcript is verified as the log is.
func TestHostileTranscript(t *testing.T) {
	change := func(part string, f func([]wire.Value) []wire.Value) func(wire.Value, wire.Value) wire.Value {
		return func(_, answer wire.Value) wire.Value {
			var list []wire.Value
			for _, v := range at(answer, part).Elems() {
				list = append(list, v)
			}
			return answer.With(part, encoded(append([]wire.Value{}, f(list)...)))
		}
	}
	for _, test := range []struct {
		name   string
		change func(request, answer wire.Value) wire.Value
		kind   relay.MisconductKind
	}{
		{"altered", change("messages", func(l []wire.Value) []wire.Value { l[1] = l[1].With("body", encoded(wire.M{})); return l }), relay.Altered},
		{"no message", change("messages", func(l []wire.Value) []wire.Value { l[1] = encoded(1); return l }), relay.Altered},
		{"a message less", change("messages", func(l []wire.Value) []wire.Value { return append(l[:1], l[2:]...) }), relay.Missing},
		{"the last less", change("messages", func(l []wire.Value) []wire.Value { return l[:2] }), relay.CursorLie},
		{"another session's", change("messages", func(l []wire.Value) []wire.Value { return []wire.Value{relayedSigned("a", "ses_2", wire.Hash{})} }), relay.Replayed},
		{"another log", change("messages", func(l []wire.Value) []wire.Value {
			return append(l[:2], relayedSigned("a", "ses_1", l[1].Hash()))
		}), relay.Forked},
		{"an enclosure altered", change("enclosures", func(l []wire.Value) []wire.Value { l[0] = l[0].With("kind", wire.Text("other")); return l }), relay.Altered},
		{"an enclosure twice", change("enclosures", func(l []wire.Value) []wire.Value { return append(l, l[0]) }), relay.Replayed},
	} {
		s := startRelay(t, answering("transcript", test.change))
		a, b := newSender(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
		open(a, b, "ses_1")
		a.say("ses_1", 1, 3, wire.Hash{})
		if _, err := a.Enclose(t.Context(), a.enclosure("ses_1", 1)); err != nil {
			t.Fatal(err)
		}
		b.receives("ses_1", 4)
		_, err := b.Transcript(t.Context(), "ses_1")
		if m, ok := errors.AsType[*relay.Misconduct](err); !ok || m.Kind != test.kind {
			t.Errorf("%s: Transcript = %v, want %s", test.name, err, test.kind)
		}
	}
}

// TestFloodingRelay: however much a relay pushes, a client holds no more than it said,
// and in the end it has everything.
func TestFloodingRelay(t *testing.T) {
	release := make(chan struct{})
	written := make(chan struct{}, 100)
	s := startRelay(t, &tamper{push: func(_ wire.AgentID, f wire.Value) []string {
		written <- struct{}{} // the one before has been read, but for what is in buffers
		texts := make([]string, 200)
		for i := range texts {
			texts[i] = f.Canonical()
		}
		return texts
	}})
	a := newSender(t, s.url, "a", nil)
	b := newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) {
		handle := o.Handle
		o.Handle = func(ctx context.Context, d relay.Delivery) error {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return handle(ctx, d)
		}
	})
	open(a, b, "ses_1")
	const messages = 20
	tip := wire.Hash{}
	for n := range messages {
		m, err := wire.Sign(wire.Envelope{
			Type: wire.TypeSignal, ID: wire.MessageID(fmt.Sprintf("msg_%d", n)), Session: "ses_1", Time: time.Now(), From: a.id, PrevHash: tip,
			Body: encoded(wire.M{"note": strings.Repeat("a", 50_000)}),
		}, a.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		tip = m.Hash()
	}
	for range messages {
		<-written
	}
	if held := relayedHeap(); held > 60<<20 {
		t.Errorf("the relayedHeap has %d MiB, of 200 MB that were pushed", held>>20)
	}
	close(release)
	b.receives("ses_1", messages)
	for i, d := range b.delivered("ses_1") {
		if d.Number != uint64(i+1) {
			t.Fatalf("entry %d in place %d", d.Number, i+1)
		}
	}
}

func relayedHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestClientIdleSessions: what a session costs in which nothing happens.
func TestClientIdleSessions(t *testing.T) {
	const sessions, most = 10_000, 1024
	s := startRelay(t, answering("sessions", func(request, _ wire.Value) wire.Value {
		after := 0
		if id := at(request, "after").Text(); id != "" {
			_, _ = fmt.Sscanf(id, "ses_%d", &after)
		}
		list := []wire.M{}
		for n := after + 1; n <= sessions && len(list) < 100; n++ {
			list = append(list, wire.M{
				"session_id": fmt.Sprintf("ses_%08d", n), "state": "active", "parties": []wire.M{}, "places": 0,
				"created_at": "2026-01-01T00:00:00Z", "expires_at": "2027-01-01T00:00:00Z", "length": 0, "cursor": 0,
			})
		}
		return encoded(wire.M{"sessions": list})
	}))
	before := relayedHeap()
	b := newEndpoint(t, s.url, "b", nil)
	list, err := b.Sessions(t.Context(), "ses_00009999")
	for len(list) != 1 || err != nil {
		t.Fatalf("Sessions = %v, %v", list, err)
	}
	for after := wire.SessionID(""); ; after = list[len(list)-1].Session { // as the client does itself
		if list, err = b.Sessions(t.Context(), after); err != nil {
			t.Fatal(err)
		} else if len(list) == 0 {
			break
		}
	}
	each := (int64(relayedHeap()) - int64(before)) / sessions
	t.Logf("%d bytes for each of %d sessions", each, sessions)
	if each > most {
		t.Errorf("a session costs %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(b)
}
