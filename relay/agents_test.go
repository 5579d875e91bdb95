package relay_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// registration makes the answer to a challenge of which an edit may change anything
// before it is signed.
func (w *world) registration(by wire.PrivateKey, edit func(wire.M)) wire.Value {
	w.Helper()
	c, err := w.Challenge()
	if err != nil {
		w.Fatal(err)
	}
	m := wire.M{
		"type": "concordia.relay.registration", "relay": c.Relay, "nonce": c.Nonce, "timestamp": wire.FormatTime(w.clock()),
		"agent_id": "alice", "public_key": by.Public().String(),
	}
	edit(m)
	return signed(w, m, by)
}

func signed(tb testing.TB, m wire.M, by wire.PrivateKey) wire.Value {
	tb.Helper()
	v, err := wire.Encode(m)
	if err != nil {
		tb.Fatal(err)
	}
	sig, err := by.Sign([]byte(v.Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	return v.With("signature", wire.Text(sig.String()))
}

func set(name string, to any) func(wire.M) { return func(m wire.M) { m[name] = to } }

func without(name string) func(wire.M) { return func(m wire.M) { delete(m, name) } }

func TestRegistrationIsRefused(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	alice := key("alice")
	p256, err := wire.GenerateP256Key(w.opts.Random)
	if err != nil {
		t.Fatal(err)
	}
	w.agent("bob")
	for _, tt := range []struct {
		name string
		code relay.Code
		at   string
		edit func(wire.M)
	}{
		{"no type", relay.CodeRejected, "/type", without("type")},
		{"no relay", relay.CodeRejected, "/relay", without("relay")},
		{"no nonce", relay.CodeRejected, "/nonce", without("nonce")},
		{"no timestamp", relay.CodeRejected, "/timestamp", without("timestamp")},
		{"no agent_id", relay.CodeRejected, "/agent_id", without("agent_id")},
		{"no public_key", relay.CodeRejected, "/public_key", without("public_key")},
		{"a member more", relay.CodeRejected, "/more", set("more", 1)},
		{"another type", relay.CodeRejected, "/type", set("type", "concordia.relay.other")},
		{"a number for relay", relay.CodeRejected, "/relay", set("relay", 1)},
		{"a number for nonce", relay.CodeRejected, "/nonce", set("nonce", 1)},
		{"a timestamp that is none", relay.CodeRejected, "/timestamp", set("timestamp", "today")},
		{"an id with a space", relay.CodeRejected, "/agent_id", set("agent_id", "a b")},
		{"an id with a zero", relay.CodeRejected, "/agent_id", set("agent_id", "a\x00b")},
		{"an empty id", relay.CodeRejected, "/agent_id", set("agent_id", "")},
		{"a key that is none", relay.CodeRejected, "/public_key", set("public_key", "AAAA")},
		{"a key of another algorithm", relay.CodeRejected, "/public_key", set("public_key", p256.Public().String())},
		{"a key of small order", relay.CodeRejected, "/public_key", set("public_key", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")},
		{"another's key", relay.CodeRejected, "/signature", set("public_key", key("bob").Public().String())},
		{"another relay", relay.CodeChallenge, "", set("relay", "relay_other")},
		{"a nonce of nobody", relay.CodeChallenge, "", set("nonce", "AAAA")},
		{"an empty nonce", relay.CodeChallenge, "", set("nonce", "")},
		{"a nonce with more behind it", relay.CodeChallenge, "", func(m wire.M) { m["nonce"] = m["nonce"].(string) + "AA" }},
		{"a nonce of another life", relay.CodeChallenge, "", func(m wire.M) {
			b := []byte(m["nonce"].(string))
			if b[5]++; b[5] > 'Z' { // in the time
				b[5] = 'A'
			}
			m["nonce"] = string(b)
		}},
		{"the id of another key", relay.CodeKeyConflict, "", set("agent_id", "bob")},
		{"the did:key of another key", relay.CodeKeyConflict, "", set("agent_id", wire.DIDKey(key("bob").Public()))},
		{"the same in base64url", relay.CodeKeyConflict, "", set("agent_id", wire.ReferenceDIDKey(key("bob").Public()))},
		{"a did:key that is none", relay.CodeKeyConflict, "", set("agent_id", "did:key:z6Mk")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.TB = t
			v := w.registration(alice, tt.edit)
			e := w.refuses(tt.code, tt.name, func() error {
				agent, token, err := w.Register(w.ctx, v)
				if agent != "" || token != "" {
					t.Errorf("Register = %q and a token", agent)
				}
				return err
			})
			if tt.code == relay.CodeRejected && (e.Violation == nil || e.Violation.At != tt.at) {
				t.Errorf("refused for %v, want it at %q", e.Violation, tt.at)
			}
		})
	}
	w.TB = t
	v := w.registration(alice, func(wire.M) {})
	for name, v := range map[string]wire.Value{
		"no signature":               v.Without("signature"),
		"a signature for text":       v.With("signature", wire.Text("x")),
		"another's signature":        w.registration(key("bob"), set("public_key", alice.Public().String())),
		"a signature of other bytes": v.With("timestamp", wire.Text(wire.FormatTime(epoch.Add(time.Second)))),
		"no object":                  wire.Text("x"),
	} {
		w.refuses(relay.CodeRejected, name, func() error { _, _, err := w.Register(w.ctx, v); return err })
	}
	if _, _, err := w.Register(w.ctx, v); err != nil {
		t.Errorf("the registration that was left alone: %v", err)
	}
}

// A challenge can be answered once, for a minute, by this relay, and the timestamp is at
// most 120 seconds off.
func TestChallenge(t *testing.T) {
	t.Run("replayed", func(t *testing.T) {
		w := newWorld(t, relay.Limits{})
		v := w.registration(key("alice"), func(wire.M) {})
		if _, _, err := w.Register(w.ctx, v); err != nil {
			t.Fatal(err)
		}
		w.refuses(relay.CodeChallenge, "the same again", func() error { _, _, err := w.Register(w.ctx, v); return err })
		w.open()
		w.refuses(relay.CodeChallenge, "the same, reopened", func() error { _, _, err := w.Register(w.ctx, v); return err })
		for range 5 { // at every moment until it is forgotten and after
			w.pass(time.Minute)
			w.sweep()
			w.refuses(relay.CodeChallenge, "the same, later", func() error { _, _, err := w.Register(w.ctx, v); return err })
		}
		for k := range w.dump() {
			if k[0] == 'n' {
				t.Errorf("the nonce is kept: %q", k)
			}
		}
	})
	for _, tt := range []struct {
		name  string
		age   time.Duration // of the challenge
		stamp time.Duration // of the timestamp, from the relay's clock
		ok    bool
	}{
		{"at once", 0, 0, true},
		{"in the last second", 59 * time.Second, 0, true},
		{"at the minute", time.Minute, 0, false},
		{"after a minute", 61 * time.Second, 0, false},
		{"119 seconds behind", 0, -119 * time.Second, true},
		{"120 seconds behind", 0, -120 * time.Second, true},
		{"121 seconds behind", 0, -121 * time.Second, false},
		{"119 seconds ahead", 0, 119 * time.Second, true},
		{"120 seconds ahead", 0, 120 * time.Second, true},
		{"121 seconds ahead", 0, 121 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, relay.Limits{})
			c, err := w.Challenge()
			if err != nil {
				t.Fatal(err)
			}
			if want := epoch.Add(time.Minute); !c.Expires.Equal(want) {
				t.Errorf("it expires at %v, want %v", c.Expires, want)
			}
			w.pass(tt.age)
			v, err := c.Registration("alice", key("alice"), w.clock().Add(tt.stamp))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.Register(w.ctx, v); (err == nil) != tt.ok || err != nil && relay.CodeOf(err) != relay.CodeChallenge {
				t.Errorf("Register = %v, want ok %v", err, tt.ok)
			}
		})
	}
	t.Run("of another relay", func(t *testing.T) {
		here, there := newWorld(t, relay.Limits{}), newWorld(t, relay.Limits{})
		c, err := there.Challenge()
		if err != nil {
			t.Fatal(err)
		}
		v0, err := c.Registration("alice", key("alice"), epoch)
		if err != nil {
			t.Fatal(err)
		}
		here.refuses(relay.CodeChallenge, "another's challenge", func() error { _, _, err := here.Register(here.ctx, v0); return err })
		c.Relay = here.ID()
		v, err := c.Registration("alice", key("alice"), epoch)
		if err != nil {
			t.Fatal(err)
		}
		here.refuses(relay.CodeChallenge, "another's challenge under this name", func() error { _, _, err := here.Register(here.ctx, v); return err })
	})
}

func TestDIDKeyIsOneAgent(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	plain, other := wire.DIDKey(key("alice").Public()), wire.ReferenceDIDKey(key("alice").Public())
	for _, spelling := range []wire.AgentID{other, plain} {
		agent, token, err := w.register(spelling, "alice")
		if err != nil || agent != plain {
			t.Fatalf("registering %s = %s, %v; want %s", spelling, agent, err, plain)
		}
		if a, err := w.Authenticate(w.ctx, token); err != nil || a.ID != plain {
			t.Errorf("Authenticate = %v, %v", a.ID, err)
		}
	}
	if n := number(w.dump()["k"]); n != 1 {
		t.Errorf("%d agents", n)
	}
	// Each of the two may stand in a message.
	a, _, err := w.register(plain, "alice")
	if err != nil {
		t.Fatal(err)
	}
	bob := w.agent("bob")
	if _, err := w.Create(w.ctx, bob.ID, relay.Reservation{Session: "s", To: []wire.AgentID{other}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(w.ctx, bob.ID, relay.Reservation{Session: "s2", To: []wire.AgentID{other, plain}}); relay.CodeOf(err) != relay.CodeBadRequest {
		t.Errorf("an agent named twice: %v", err)
	}
	if _, err := w.Join(w.ctx, a, "s"); err != nil {
		t.Fatal(err)
	}
	_, token, err := w.register(plain, "alice")
	if err != nil {
		t.Fatal(err)
	}
	alice, err := w.Authenticate(w.ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	for i, spelling := range []wire.AgentID{plain, other} {
		e := w.envelope("s", "alice")
		e.From = spelling
		m, err := wire.Sign(e, key("alice"))
		if err != nil {
			t.Fatal(err)
		}
		if done, err := w.Append(w.ctx, alice, m.Value()); err != nil || done.Number != uint64(i+1) {
			t.Errorf("from %s: %v, %v", spelling, done, err)
		}
		w.tips["s"] = m.Hash()
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	alive := func(token string) bool {
		t.Helper()
		a, err := w.Authenticate(w.ctx, token)
		if err != nil && (relay.CodeOf(err) != relay.CodeUnauthenticated || a != relay.Agent{}) {
			t.Errorf("Authenticate = %v, %v", a, err)
		}
		return err == nil && a.ID == "alice"
	}
	var tokens []string
	for i := range 9 {
		_, token, err := w.register("alice", "alice")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(tokens, token) {
			t.Fatal("a token twice")
		}
		tokens = append(tokens, token)
		if want := i < 8; alive(tokens[0]) != want {
			t.Errorf("with %d tokens the first is alive: %v", i+1, !want)
		}
	}
	for _, token := range tokens[1:] {
		if !alive(token) {
			t.Error("a token of eight is dead")
		}
	}
	for k, v := range w.dump() {
		for _, token := range tokens {
			if k == token || v == token || len(k) > 40 && k[1:] == token {
				t.Errorf("a token in the clear, under %q", k)
			}
		}
	}

	fresh, err := w.Rotate(w.ctx, "alice", tokens[8])
	if err != nil || !alive(fresh) || alive(tokens[8]) || !alive(tokens[1]) {
		t.Errorf("rotated: %v, fresh %v, old %v, another %v", err, alive(fresh), alive(tokens[8]), alive(tokens[1]))
	}
	_, bobs, err := w.register("bob", "bob")
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"a dead token": tokens[8], "no token": "", "another agent's": bobs} {
		w.refuses(relay.CodeUnauthenticated, "rotating "+name, func() error { _, err := w.Rotate(w.ctx, "alice", token); return err })
		w.refuses(relay.CodeUnauthenticated, "revoking "+name, func() error { return w.Revoke(w.ctx, "alice", token, true) })
	}
	if alive("") || alive(tokens[0]) {
		t.Error("what is no token is alive")
	}
	if err := w.Revoke(w.ctx, "alice", fresh, false); err != nil || alive(fresh) || !alive(tokens[1]) {
		t.Errorf("revoked: %v, %v, another %v", err, alive(fresh), alive(tokens[1]))
	}
	if err := w.Revoke(w.ctx, "alice", tokens[1], true); err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if alive(token) {
			t.Error("a token is alive after all were revoked")
		}
	}
	if _, err := w.Authenticate(w.ctx, bobs); err != nil {
		t.Errorf("another agent's token: %v", err)
	}
	for k := range w.dump() {
		if k[0] == 't' && w.dump()[k] == "alice" {
			t.Error("a record of a revoked token")
		}
	}
	if _, token, err := w.register("alice", "alice"); err != nil || !alive(token) {
		t.Errorf("registering after that: %v", err)
	}
	if _, _, err := w.register("alice", "mallory"); relay.CodeOf(err) != relay.CodeKeyConflict {
		t.Errorf("registering with another key after that: %v", err)
	}
}

func TestErrorsSayNothingSecret(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	c, err := w.Challenge()
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Registration("alice", key("alice"), epoch.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Register(w.ctx, v)
	_, bad := w.Authenticate(w.ctx, "secret")
	for _, err := range []error{err, bad} {
		text := fmt.Sprint(err)
		if e, ok := errors.AsType[*relay.Error](err); !ok || slices.Contains([]string{c.Nonce, "secret"}, e.Message) || len(text) > 200 {
			t.Errorf("refused with %q", text)
		}
	}
}
