package relay_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Dial makes every connection, of requests and of the websocket, and is what is asked
// instead of a resolver; what it refuses is not connected to.
func TestClientDial(t *testing.T) {
	s := startRelay(t, nil)
	at := strings.TrimPrefix(s.url, "http://")
	var mu sync.Mutex
	asked := map[string]int{}
	errClosed := errors.New("nothing is dialled")
	closed := false
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		asked[network+" "+address]++
		refused := closed
		mu.Unlock()
		if refused {
			return nil, errClosed
		}
		return new(net.Dialer).DialContext(ctx, network, at)
	}
	with := func(o *relay.ClientOptions) { o.Dial = dial }
	a, b := newEndpoint(t, "http://localhost:1", "a", with), newEndpoint(t, s.url, "b", nil)
	open(a, b, "ses_1")
	a.say("ses_1", 1, 1, wire.Hash{})
	b.receives("ses_1", 1)
	mu.Lock()
	if len(asked) != 1 || asked["tcp localhost:1"] < 2 {
		t.Errorf("dialled %v", asked)
	}
	closed = true
	mu.Unlock()
	c, err := relay.NewClient(relay.ClientOptions{
		URL: s.url, Agent: wire.DIDKey(keyOf("c").Public()), Signer: keyOf("c"), Keys: wire.DIDKeys{}, Timing: quick, Dial: dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if list, err := c.Sessions(short, ""); err == nil {
		t.Errorf("what is not dialled answers: %v", list)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked["tcp "+at] == 0 {
		t.Errorf("dialled %v", asked)
	}
}

// Trust is asked with the relay's id before anything is signed for it, and not when the
// agent has a token.
func TestClientTrust(t *testing.T) {
	registered := 0
	s := startRelay(t, &tamper{answer: func(_ wire.AgentID, op string, _, answer wire.Value) []string {
		if op == "register" {
			registered++
		}
		return []string{answer.Canonical()}
	}})
	errStrange := errors.New("it is known at another address")
	tokens := new(keptToken)
	var asked []string
	var verdict error
	client := func() *relay.Client {
		t.Helper()
		c, err := relay.NewClient(relay.ClientOptions{
			URL: s.url, Agent: wire.DIDKey(keyOf("a").Public()), Signer: keyOf("a"), Keys: wire.DIDKeys{}, Timing: quick, Tokens: tokens,
			Trust: func(_ context.Context, id string) error {
				asked = append(asked, id)
				return verdict
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	verdict = errStrange
	distrustful := client()
	if _, err := distrustful.Sessions(t.Context(), ""); !errors.Is(err, errStrange) || registered != 0 || tokens.text != "" {
		t.Errorf("Sessions = %v, %d registrations, token %q", err, registered, tokens.text)
	}
	if len(asked) != 1 || asked[0] != s.mail.ID() {
		t.Errorf("asked of %q, the relay is %q", asked, s.mail.ID())
	}
	verdict = nil
	if _, err := client().Sessions(t.Context(), ""); err != nil || registered != 1 || len(asked) != 2 {
		t.Errorf("Sessions = %v, %d registrations, asked of %q", err, registered, asked)
	}
	verdict = errStrange
	if _, err := client().Sessions(t.Context(), ""); err != nil || registered != 1 || len(asked) != 2 {
		t.Errorf("with a token: Sessions = %v, %d registrations, asked of %q", err, registered, asked)
	}
}

// A keptToken is a token in memory, for several clients.
type keptToken struct{ text string }

func (k *keptToken) Token(context.Context) (string, error) { return k.text, nil }

func (k *keptToken) SetToken(_ context.Context, text string) error {
	k.text = text
	return nil
}

// Up is told of each connection, and may use the client.
func TestClientUp(t *testing.T) {
	s := startRelay(t, new(tamper))
	ups := 0
	var e *endpoint
	made := make(chan struct{})
	e = newEndpoint(t, s.url, "a", func(o *relay.ClientOptions) {
		o.Up = func(ctx context.Context) {
			<-made
			_, err := e.Sessions(ctx, "")
			e.note(func() {
				if err == nil {
					ups++
				}
			})
		}
	})
	close(made)
	for want := 1; want <= 3; want++ {
		e.wait("a connection", func() bool { return ups >= want })
		if !e.Connected() {
			t.Errorf("connection %d: not connected", want)
		}
		s.cut()
	}
}
