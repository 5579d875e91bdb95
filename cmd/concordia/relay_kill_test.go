package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

const killSessions = 16 // of two clients each

// killLimits do not stand in the way.
const killLimits = `{
	"appends_per_second": 1000000, "append_burst": 1000000, "calls_per_second": 1000000, "call_burst": 1000000, "entries_per_session": 1000000,
	"undelivered_per_mailbox": 1000000, "undelivered_per_sender": 1000000, "bytes_per_session": 1000000000, "free_bytes": 1
}`

// A correspondent is an agent with a client, and what was handed over to it.
type correspondent struct {
	*relay.Client
	id  wire.AgentID
	key wire.PrivateKey

	mu      sync.Mutex
	got     []string // number and id of each entry, in the order in which it was handed over
	accused error
	news    chan struct{} // has something when there is more
}

// tell says that there is more.
func (c *correspondent) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// A counter counts, and says when enough is counted.
type counter struct {
	mu        sync.Mutex
	n, enough int64
	reached   chan struct{}
}

func (t *counter) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n++; t.n == t.enough {
		close(t.reached)
	}
}

// more returns what is closed when it has counted n more, at least one. It is for one
// that waits.
func (t *counter) more(n int64) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enough, t.reached = t.n+n, make(chan struct{})
	return t.reached
}

func (t *counter) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func newCorrespondent(t *testing.T, url string) *correspondent {
	key, err := wire.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &correspondent{key: key, id: wire.DIDKey(key.Public()), news: make(chan struct{}, 1)}
	c.Client, err = relay.NewClient(relay.ClientOptions{
		URL: url, Agent: c.id, Signer: key, Keys: wire.DIDKeys{},
		Handle: func(_ context.Context, d relay.Delivery) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.got = append(c.got, fmt.Sprint(d.Number, " ", d.ID()))
			c.tell()
			return d.Err
		},
		Accused: func(_ context.Context, m *relay.Misconduct) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.accused = m
			c.tell()
		},
		Timing: relay.Timing{Call: 5 * time.Second, Retry: time.Millisecond, MaxRetry: 20 * time.Millisecond, Ack: 5 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// talk has two agents speak in turns until stop, and returns what was acknowledged to
// them.
func talk(ctx context.Context, a, b *correspondent, session wire.SessionID, stop <-chan struct{}, acknowledged *counter) (list []string, err error) {
	if _, err := a.Create(ctx, relay.Reservation{Session: session, To: []wire.AgentID{b.id}}); err != nil {
		return nil, err
	}
	if _, err := b.Join(ctx, session); err != nil {
		return nil, err
	}
	body, err := wire.Encode(wire.M{"flexibility": wire.M{"price": "flexible"}})
	if err != nil {
		return nil, err
	}
	var tip wire.Hash
	for n := 1; ; n++ {
		select {
		case <-stop:
			return list, nil
		default:
		}
		who := []*correspondent{a, b}[n%3%2]
		m, err := wire.Sign(wire.Envelope{
			Type: wire.TypeSignal, ID: wire.MessageID(fmt.Sprint("msg_", n)), Session: session, Time: time.Now(), From: who.id, PrevHash: tip, Body: body,
		}, who.key)
		if err != nil {
			return list, err
		}
		done, err := who.Append(ctx, m)
		if err != nil {
			return list, fmt.Errorf("message %d: %w", n, err)
		}
		if done != (relay.Appended{Number: uint64(n), Hash: m.Hash()}) {
			return list, fmt.Errorf("message %d: the answer is %+v", n, done)
		}
		list = append(list, fmt.Sprint(n, " ", m.ID))
		tip = m.Hash()
		acknowledged.add()
	}
}

// startKilled starts a relay that may have been killed at the same address.
func startKilled(t *testing.T, dir, listen string, args ...string) *relayProcess {
	t.Helper()
	var failed error
	for range 50 { // the port may be taken for a moment
		p, err := startRelay(os.Args[0], dir, nil, append([]string{"--listen", listen, "--dir", "mail", "--limits", "limits.json"}, args...)...)
		if err == nil {
			return p
		}
		failed = err
	}
	t.Fatalf("starting the relay: %v", failed)
	return nil
}

// A relay that is killed again and again while 32 clients use it loses nothing that it
// acknowledged, and each client's application gets each message once, in the order of
// the chain. What is left in the mail fits together.
func TestRelayKilled(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "limits.json"), []byte(killLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := "127.0.0.1:0"
	start := func() *relayProcess {
		t.Helper()
		return startKilled(t, dir, listen)
	}
	p := start()
	defer func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() }()
	at, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	listen = at.Host

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	var running, talking sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var acknowledged counter
	stop := make(chan struct{})
	var pairs [killSessions][2]*correspondent
	var said [killSessions][]string
	for i := range pairs {
		for j := range 2 {
			c := newCorrespondent(t, p.url)
			pairs[i][j] = c
			running.Go(func() { _ = c.Run(ctx) })
		}
		talking.Go(func() {
			var err error
			if said[i], err = talk(ctx, pairs[i][0], pairs[i][1], wire.SessionID(fmt.Sprint("ses_", i)), stop, &acknowledged); err != nil {
				t.Errorf("session %d: %v", i, err)
				cancel()
			}
		})
	}
	for n := range relayKills {
		select {
		case <-acknowledged.more(1 + mathrand.Int64N(200)):
		case <-ctx.Done():
			t.Fatalf("after %d kills: %v", n, context.Cause(ctx))
		}
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p = start()
	}
	close(stop)
	talking.Wait()

	for i, pair := range pairs {
		for j, c := range pair {
			c.mu.Lock()
			for len(c.got) < len(said[i]) && c.accused == nil && ctx.Err() == nil {
				c.mu.Unlock()
				select {
				case <-c.news:
				case <-ctx.Done():
				}
				c.mu.Lock()
			}
			if c.accused != nil {
				t.Errorf("an honest relay is accused: %v", c.accused)
			}
			if diff := cmp.Diff(said[i], c.got); diff != "" {
				t.Errorf("client %d of session %d did not get what was acknowledged (-acknowledged +handed over):\n%.2000s", j, i, diff)
			}
			c.mu.Unlock()
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("draining: %v\n%s", err, p.log)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"relay", "doctor", "--dir", filepath.Join(dir, "mail")}, &out, &errs); code != 0 {
		t.Errorf("doctor: %d\n%s%s", code, &out, &errs)
	}
	t.Logf("%d kills, %d messages acknowledged, none lost, each handed over once to each of %d clients", relayKills, acknowledged.count(), 2*killSessions)
	if acknowledged.count() == 0 {
		t.Error("nothing was acknowledged")
	}
}
