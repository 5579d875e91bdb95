package relay_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// An endpoint is an agent with a client that runs, and what it was handed.
type endpoint struct {
	testing.TB
	*relay.Client
	id   wire.AgentID
	key  wire.PrivateKey
	stop func() error

	mu       sync.Mutex
	changed  chan struct{} // closed when one of what follows has changed
	got      map[wire.SessionID][]relay.Delivery
	accused  []*relay.Misconduct
	invited  []relay.Invitation
	sessions []relay.SessionInfo
}

// quick is a timing for tests.
var quick = relay.Timing{
	Call: 5 * time.Second, Ping: time.Second, Silence: 10 * time.Second,
	Retry: time.Millisecond, MaxRetry: 20 * time.Millisecond, Ack: time.Millisecond,
}

func keyOf(name string) wire.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	key, err := wire.NewPrivateKey(seed[:])
	if err != nil {
		panic(err)
	}
	return key
}

// newEndpoint makes an agent and lets its client run until the test ends or stop is
// called.
func newEndpoint(t testing.TB, url, name string, change func(*relay.ClientOptions)) *endpoint {
	t.Helper()
	e := &endpoint{TB: t, key: keyOf(name), changed: make(chan struct{}), got: map[wire.SessionID][]relay.Delivery{}}
	e.id = wire.DIDKey(e.key.Public())
	opts := relay.ClientOptions{
		URL: url, Agent: e.id, Signer: e.key, Keys: wire.DIDKeys{}, Timing: quick,
		Handle: func(_ context.Context, d relay.Delivery) error {
			e.note(func() { e.got[d.Session] = append(e.got[d.Session], d) })
			return nil
		},
		Accused: func(_ context.Context, m *relay.Misconduct) { e.note(func() { e.accused = append(e.accused, m) }) },
		Invited: func(_ context.Context, i relay.Invitation) { e.note(func() { e.invited = append(e.invited, i) }) },
		Changed: func(_ context.Context, s relay.SessionInfo) { e.note(func() { e.sessions = append(e.sessions, s) }) },
	}
	if change != nil {
		change(&opts)
	}
	var err error
	if e.Client, err = relay.NewClient(opts); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	e.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = e.stop() })
	return e
}

func (e *endpoint) note(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

// heard is closed when the client says something more. e is locked.
func (e *endpoint) heard() <-chan struct{} { return e.changed }

// wait waits until something is so.
func (e *endpoint) wait(what string, so func() bool) {
	e.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for {
		e.mu.Lock()
		ok, heard := so(), e.heard()
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-heard:
		case <-limit.C:
			e.Fatalf("waiting for %s: not in time", what)
		}
	}
}

// message signs message n of a session.
func (e *endpoint) message(session wire.SessionID, n int, prev wire.Hash) *wire.Message {
	e.Helper()
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeSignal, ID: wire.MessageID(fmt.Sprintf("msg_%s_%s_%d", e.id[len(e.id)-6:], session, n)), Session: session, Time: time.Now(),
		From: e.id, PrevHash: prev, Body: encoded(wire.M{"n": n}),
	}, e.key)
	if err != nil {
		e.Fatal(err)
	}
	return m
}

func (e *endpoint) enclosure(session wire.SessionID, n int) *relay.Enclosure {
	e.Helper()
	enclosed, err := relay.Enclosure{
		ID: wire.MessageID(fmt.Sprintf("enc_%d", n)), Session: session, From: e.id, Time: time.Now(), Kind: relay.KindReceipt, Content: encoded(wire.M{"n": n}),
	}.Sign(e.key)
	if err != nil {
		e.Fatal(err)
	}
	return enclosed
}

// say appends messages first to last of a chain, and returns its tip.
func (e *endpoint) say(session wire.SessionID, first, last int, tip wire.Hash) wire.Hash {
	e.Helper()
	for n := first; n <= last; n++ {
		m := e.message(session, n, tip)
		if _, err := e.Append(e.Context(), m); err != nil {
			e.Fatalf("Append(%s) = %v", m.ID, err)
		}
		tip = m.Hash()
	}
	return tip
}

// open makes a session of two.
func open(a, b *endpoint, session wire.SessionID) {
	a.Helper()
	if _, err := a.Create(a.Context(), relay.Reservation{Session: session, To: []wire.AgentID{b.id}}); err != nil {
		a.Fatalf("Create = %v", err)
	}
	if _, err := b.Join(b.Context(), session); err != nil {
		a.Fatalf("Join = %v", err)
	}
}

// delivered returns what was handed over of a session.
func (e *endpoint) delivered(session wire.SessionID) []relay.Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got[session])
}

// accusations returns what the relay did wrong.
func (e *endpoint) accusations() []*relay.Misconduct {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.accused)
}

// received returns the numbers and ids of what was handed over of a session.
func (e *endpoint) received(session wire.SessionID) (list []string) {
	for _, d := range e.delivered(session) {
		list = append(list, fmt.Sprintf("%d %s", d.Number, d.ID()))
	}
	return list
}

func (e *endpoint) receives(session wire.SessionID, n int) {
	e.Helper()
	e.wait(fmt.Sprintf("%d entries", n), func() bool { return len(e.got[session]) >= n || len(e.accused) > 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.accused) > 0 {
		e.Fatalf("an honest relay is accused: %v", e.accused[0])
	}
}

// noLeaks fails a test that leaves goroutines of a client. They end a little after
// they say so.
func noLeaks(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
			left := leaked()
			if left == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are left:\n%s", left)
				return
			}
		}
	})
}

func leaked() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "relay.(*Client)") || strings.Contains(stack, "relay.(*link)") || strings.Contains(stack, "relay.(*logReader)") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

func TestClient(t *testing.T) {
	noLeaks(t)
	s := startRelay(t, nil)
	a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	const session = "ses_1"

	if _, err := a.Create(t.Context(), relay.Reservation{Session: session, To: []wire.AgentID{b.id}, Category: "jobs"}); err != nil {
		t.Fatal(err)
	}
	if err := b.SetConsent(t.Context(), a.id, relay.Allowed); err != nil {
		t.Fatal(err)
	}
	b.wait("the invitation", func() bool { return len(b.invited) > 0 })
	list, err := b.Invitations(t.Context())
	if err != nil || len(list) != 1 || list[0].Session != session || list[0].From != a.id || list[0].Category != "jobs" {
		t.Fatalf("Invitations = %v, %v", list, err)
	}
	info, err := b.Join(t.Context(), session)
	if err != nil || info.Session != session || len(info.Parties) != 2 || info.Parties[1] != (relay.Party{Agent: b.id, Standing: relay.Joined}) {
		t.Fatalf("Join = %+v, %v", info, err)
	}

	tip := a.say(session, 1, 3, wire.Hash{})
	a.receives(session, 3)
	b.receives(session, 3)
	enclosed := a.enclosure(session, 1)
	if done, err := a.Enclose(t.Context(), enclosed); err != nil || done != (relay.Appended{Number: 4, Hash: enclosed.Hash()}) {
		t.Fatalf("Enclose = %+v, %v", done, err)
	}
	b.say(session, 4, 5, tip)
	for _, e := range []*endpoint{a, b} {
		e.receives(session, 6)
		var own, messages, enclosures int
		var kinds []string
		for _, d := range e.delivered(session) {
			if d.Own {
				own++
			}
			if d.Message != nil {
				messages++
			}
			if d.Enclosure != nil {
				enclosures++
			}
			if d.Err != nil {
				t.Errorf("entry %d: Err = %v", d.Number, d.Err)
			}
			kinds = append(kinds, fmt.Sprint(d.Number, d.Position.Number, d.Position.Tip.Len))
		}
		want := []string{"1 1 1", "2 2 2", "3 3 3", "4 4 3", "5 5 4", "6 6 5"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("numbers, positions and chain (-want +got):\n%s", diff)
		}
		if messages != 5 || enclosures != 1 || own != map[*endpoint]int{a: 4, b: 2}[e] {
			t.Errorf("%d messages, %d enclosures, %d own", messages, enclosures, own)
		}
	}
	if diff := cmp.Diff(a.received(session), b.received(session)); diff != "" {
		t.Errorf("the two have got different logs:\n%s", diff)
	}

	read, length, err := b.Read(t.Context(), session, 2, 3)
	if err != nil || length != 6 || len(read) != 3 || read[0].Number != 2 || read[2].Enclosure == nil {
		t.Errorf("Read = %v, %d, %v", read, length, err)
	}
	transcript, err := a.Transcript(t.Context(), session)
	if err != nil || len(transcript.Messages) != 5 || len(transcript.Enclosures) != 1 {
		t.Errorf("Transcript = %v, %v", transcript, err)
	}
	ids, consents, err := b.Consents(t.Context(), "")
	if err != nil || len(ids) != 1 || ids[0] != a.id || consents[0] != relay.Allowed {
		t.Errorf("Consents = %v, %v, %v", ids, consents, err)
	}
	if list, err := a.Sessions(t.Context(), ""); err != nil || len(list) != 1 || list[0].Length != 6 {
		t.Errorf("Sessions = %v, %v", list, err)
	}
	if err := a.Rotate(t.Context()); err != nil {
		t.Errorf("Rotate = %v", err)
	}
	if err := a.Close(t.Context(), session); err != nil {
		t.Errorf("Close = %v", err)
	}
	if info, err := a.Session(t.Context(), session); err != nil || info.Why != relay.EndClosed || info.Ended.IsZero() {
		t.Errorf("Session = %+v, %v", info, err)
	}
	if err := a.Revoke(t.Context(), true); err != nil {
		t.Errorf("Revoke = %v", err)
	}
	if _, err := a.Session(t.Context(), session); err != nil {
		t.Errorf("Session after Revoke = %v, want another registration", err)
	}
	if _, err := a.Append(t.Context(), a.message(session, 9, tip)); relay.CodeOf(err) != relay.CodeEnded {
		t.Errorf("Append to a closed session = %v", err)
	}
	if err := a.stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

func TestClientChainConflict(t *testing.T) {
	s := startRelay(t, nil)
	a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	tip := a.say("ses_1", 1, 2, wire.Hash{})

	_, err := b.Append(t.Context(), b.message("ses_1", 1, wire.Hash{}))
	e, ok := errors.AsType[*relay.Error](err)
	if !ok || e.Code != relay.CodeChainConflict || e.Length != 2 || *e.Tip != (wire.TipError{Tip: tip, Len: 2}) || !errors.Is(err, wire.RulePrevHash) {
		t.Fatalf("Append = %v", err)
	}
	b.receives("ses_1", 2) // what it missed
	if got := b.delivered("ses_1")[1].Position.Tip.Hash; got != tip {
		t.Errorf("the tip is %s, want %s", got, tip)
	}
	b.say("ses_1", 3, 3, tip)
	a.receives("ses_1", 3)
}

func TestClientHandleFails(t *testing.T) {
	s := startRelay(t, nil)
	tries := map[uint64]int{}
	a := newEndpoint(t, s.url, "a", nil)
	var b *endpoint
	b = newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) {
		handle := o.Handle
		o.Handle = func(ctx context.Context, d relay.Delivery) error {
			tries[d.Number]++ // no other goroutine: one session
			if d.Number == 2 && tries[2] < 4 {
				info, err := s.mail.Session(ctx, b.id, "ses_1")
				if err != nil || info.Cursor > 1 {
					t.Errorf("Session = %+v, %v: what was not handled is acknowledged", info, err)
				}
				return errors.New("not now")
			}
			return handle(ctx, d)
		}
	})
	open(a, b, "ses_1")
	a.say("ses_1", 1, 3, wire.Hash{})
	b.receives("ses_1", 3)
	if want := map[uint64]int{1: 1, 2: 4, 3: 1}; !cmp.Equal(tries, want) {
		t.Errorf("Handle was called %v, want %v", tries, want)
	}
}

// TestClientResumes: a client goes on where its application is, whatever the relay's
// cursor says.
func TestClientResumes(t *testing.T) {
	s := startRelay(t, nil)
	a := newEndpoint(t, s.url, "a", nil)
	cursors := new(relay.MemoryCursors)
	with := func(o *relay.ClientOptions) { o.Cursors = cursors }
	b := newEndpoint(t, s.url, "b", with)
	open(a, b, "ses_1")
	tip := a.say("ses_1", 1, 10, wire.Hash{})
	b.receives("ses_1", 10)
	if err := b.stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	at5, at10 := b.delivered("ses_1")[4].Position, b.delivered("ses_1")[9].Position
	tip = a.say("ses_1", 11, 12, tip)

	for _, test := range []struct {
		name  string
		at    relay.Position
		acked uint64
		want  int
	}{
		{"where it was", at10, 10, 2},
		{"the relay does not know of all that was handled", at10, 7, 2},
		{"an application that was restored", at5, 12, 7},
		{"an application that begins anew", relay.Position{}, 12, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := cursors.SetPosition(t.Context(), "ses_1", test.at); err != nil {
				t.Fatal(err)
			}
			if err := s.mail.Ack(t.Context(), b.id, "ses_1", test.acked); err != nil {
				t.Fatal(err)
			}
			b := newEndpoint(t, s.url, "b", with)
			b.receives("ses_1", test.want)
			if got, want := b.delivered("ses_1")[0].Number, test.at.Number+1; got != want {
				t.Errorf("the first is entry %d, want %d", got, want)
			}
			if last := b.delivered("ses_1")[len(b.delivered("ses_1"))-1].Position; last.Number != 12 || last.Tip.Hash != tip || last.Tip.Len != 12 {
				t.Errorf("the position is %+v", last)
			}
		})
	}
}

// TestClientOwnOfAnotherLife: an own entry that the client does not remember is read in
// full.
func TestClientOwnOfAnotherLife(t *testing.T) {
	s := startRelay(t, nil)
	a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	tip := a.say("ses_1", 1, 3, wire.Hash{})
	a.receives("ses_1", 3)
	_ = a.stop()
	again := newEndpoint(t, s.url, "a", nil)
	again.receives("ses_1", 3)
	again.say("ses_1", 4, 4, tip)
	again.receives("ses_1", 4)
	for _, d := range again.delivered("ses_1") {
		if !d.Own || d.Message == nil || d.From() != a.id {
			t.Errorf("entry %d: Own %v, from %s", d.Number, d.Own, d.From())
		}
	}
}

// TestClientOwnTwice: who was killed before the answer came, and sends what it said again
// under the same id and at another time, does not accuse the relay of having the first one.
func TestClientOwnTwice(t *testing.T) {
	s := startRelay(t, nil)
	a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	first := a.enclosure("ses_1", 1)
	if _, err := a.Enclose(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	_ = a.stop()
	start := make(chan struct{})
	again := newEndpoint(t, s.url, "a", func(o *relay.ClientOptions) { o.Cursors = lateCursors{start} })
	second, err := relay.Enclosure{ID: first.ID, Session: "ses_1", From: a.id, Time: time.Now().Add(time.Minute), Kind: first.Kind, Content: first.Content}.Sign(a.key)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(t.Context())
	cancel() // it does not learn what became of it
	if _, err := again.Enclose(short, second); !errors.Is(err, context.Canceled) {
		t.Fatalf("Enclose = %v", err)
	}
	close(start)
	again.receives("ses_1", 1)
	if d := again.delivered("ses_1")[0]; !d.Own || d.Enclosure == nil || d.Enclosure.Hash() != first.Hash() {
		t.Errorf("delivered %+v", d)
	}
	if _, err := again.Enclose(t.Context(), again.enclosure("ses_1", 2)); err != nil {
		t.Errorf("the session goes on: %v", err)
	}
}

// lateCursors begins every log anew, once it may.
type lateCursors struct{ start chan struct{} }

func (c lateCursors) Position(ctx context.Context, _ wire.SessionID) (relay.Position, error) {
	select {
	case <-c.start:
		return relay.Position{}, nil
	case <-ctx.Done():
		return relay.Position{}, ctx.Err()
	}
}

func (lateCursors) SetPosition(context.Context, wire.SessionID, relay.Position) error { return nil }

// TestClientUnknownKey: what nobody can verify is handed over as that, and the chain
// goes on.
func TestClientUnknownKey(t *testing.T) {
	s := startRelay(t, nil)
	a := newEndpoint(t, s.url, "a", nil)
	b := newEndpoint(t, s.url, "b", func(o *relay.ClientOptions) { o.Keys = wire.KeyMap{} })
	open(a, b, "ses_1")
	tip := a.say("ses_1", 1, 2, wire.Hash{})
	b.receives("ses_1", 2)
	for _, d := range b.delivered("ses_1") {
		if d.Message != nil || !errors.Is(d.Err, wire.RuleUnknownKey) || d.From() != a.id {
			t.Errorf("entry %d: %v, %v from %s", d.Number, d.Message, d.Err, d.From())
		}
		if id, _ := d.UnverifiedEntry.Get("id"); id.Text() != string(d.ID()) {
			t.Errorf("UnverifiedEntry = %v", d.UnverifiedEntry)
		}
	}
	b.say("ses_1", 3, 3, tip)
	b.receives("ses_1", 3)
	if _, err := b.Transcript(t.Context(), "ses_1"); !errors.Is(err, wire.RuleUnknownKey) {
		t.Errorf("Transcript = %v", err)
	}
}

// TestClientOptions: what makes no client.
func TestClientOptions(t *testing.T) {
	good := relay.ClientOptions{URL: "https://relay.example", Agent: "agent", Signer: keyOf("a"), Keys: wire.DIDKeys{}}
	for _, test := range []struct {
		name   string
		change func(*relay.ClientOptions)
	}{
		{"a host that is not this machine, in the clear", func(o *relay.ClientOptions) { o.URL = "http://relay.example" }},
		{"no host", func(o *relay.ClientOptions) { o.URL = "relay.example" }},
		{"another scheme", func(o *relay.ClientOptions) { o.URL = "ftp://relay.example" }},
		{"a password", func(o *relay.ClientOptions) { o.URL = "https://a:b@relay.example" }},
		{"no agent", func(o *relay.ClientOptions) { o.Agent = "" }},
		{"no key", func(o *relay.ClientOptions) { o.Signer = nil }},
		{"no keys", func(o *relay.ClientOptions) { o.Keys = nil }},
	} {
		opts := good
		test.change(&opts)
		if _, err := relay.NewClient(opts); err == nil {
			t.Errorf("%s: NewClient fails not", test.name)
		} else if strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: the error shows the password", test.name)
		}
	}
	c, err := relay.NewClient(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err == nil {
		t.Error("Run without Handle fails not")
	}
}

// TestClientKeyConflict: whose id belongs to another key is refused for good.
func TestClientKeyConflict(t *testing.T) {
	s := startRelay(t, nil)
	run := func(key wire.PrivateKey) error {
		c, err := relay.NewClient(relay.ClientOptions{
			URL: s.url, Agent: "agent_a", Signer: key, Keys: wire.DIDKeys{}, Timing: quick,
			Handle: func(context.Context, relay.Delivery) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Sessions(t.Context(), ""); err != nil {
			return err
		}
		return nil
	}
	if err := run(keyOf("a")); err != nil {
		t.Fatal(err)
	}
	if err := run(keyOf("b")); relay.CodeOf(err) != relay.CodeKeyConflict {
		t.Errorf("another key: %v", err)
	}
	c, err := relay.NewClient(relay.ClientOptions{
		URL: s.url, Agent: "agent_a", Signer: keyOf("b"), Keys: wire.DIDKeys{}, Timing: quick,
		Handle: func(context.Context, relay.Delivery) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); relay.CodeOf(err) != relay.CodeKeyConflict {
		t.Errorf("Run = %v", err)
	}
}

// TestClientRelayID: a relay that asks for a signature for another one gets none.
func TestClientRelayID(t *testing.T) {
	registered := false
	s := startRelay(t, &tamper{answer: func(_ wire.AgentID, op string, _, answer wire.Value) []string {
		registered = registered || op == "register"
		return []string{answer.Canonical()}
	}})
	c, err := relay.NewClient(relay.ClientOptions{
		URL: s.url, Agent: "agent_a", Signer: keyOf("a"), Keys: wire.DIDKeys{}, Timing: quick, Relay: "relay_another",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sessions(t.Context(), ""); err == nil || registered {
		t.Errorf("Sessions = %v, registered: %v", err, registered)
	}
}
