package main

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// With --check-sessions, what the state machine refuses is not appended, and it does not
// matter whether the relay remembers the session or reads it again.
func TestReplays(t *testing.T) {
	mail, err := boltmail.Open(filepath.Join(t.TempDir(), mailName))
	if err != nil {
		t.Fatal(err)
	}
	defer mail.Close()
	ctx := t.Context()
	const id = wire.SessionID("ses_1")
	var boxes *relay.Mailboxes
	var known *replays
	restart := func() {
		known = newReplays()
		if boxes, err = relay.NewMailboxes(ctx, mail, relay.Options{Limits: relay.Limits{FreeSpace: 1}, Now: time.Now, Random: rand.Reader, Admit: known.admit}); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	keys, agents := map[wire.AgentID]wire.PrivateKey{}, map[wire.AgentID]relay.Agent{}
	for _, name := range []wire.AgentID{"seller", "buyer"} {
		if keys[name], err = wire.GenerateKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
		c, err := boxes.Challenge()
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Registration(name, keys[name], time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, token, err := boxes.Register(ctx, v)
		if err != nil {
			t.Fatal(err)
		}
		if agents[name], err = boxes.Authenticate(ctx, token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := boxes.Create(ctx, "seller", relay.Reservation{Session: id, To: []wire.AgentID{"buyer"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := boxes.Join(ctx, "buyer", id); err != nil {
		t.Fatal(err)
	}
	var tip wire.Hash
	send := func(from wire.AgentID, what wire.MessageType, body wire.M) error {
		t.Helper()
		v, err := wire.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		name, err := wire.NewID[wire.MessageID]("msg_", rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		e := wire.Envelope{Type: what, ID: name, Session: id, Time: time.Now(), From: from, PrevHash: tip, Body: v}
		if what == wire.TypeOpen {
			e.To = []wire.AgentID{"buyer"}
		}
		m, err := wire.Sign(e, keys[from])
		if err != nil {
			t.Fatal(err)
		}
		_, err = boxes.Append(ctx, agents[from], m.Value())
		if err == nil {
			tip = m.Hash()
		}
		return err
	}
	terms := wire.M{"price": wire.M{"value": 10}}
	for _, step := range []struct {
		name  string
		from  wire.AgentID
		what  wire.MessageType
		body  wire.M
		legal bool
	}{
		{"an offer before open", "seller", wire.TypeOffer, wire.M{"offer_id": "o", "terms": terms, "complete": true}, false},
		{"open", "seller", wire.TypeOpen, wire.M{"terms": wire.M{"price": wire.M{"type": "numeric"}}}, true},
		{"an offer before anybody has accepted the session", "buyer", wire.TypeOffer, wire.M{"offer_id": "o", "terms": terms, "complete": true}, false},
		{"the initiator accepts the session", "seller", wire.TypeAcceptSession, wire.M{}, false},
		{"the responder accepts the session", "buyer", wire.TypeAcceptSession, wire.M{}, true},
		{"an offer", "seller", wire.TypeOffer, wire.M{"offer_id": "o", "terms": terms, "complete": true}, true},
		{"the offerer accepts it", "seller", wire.TypeAccept, wire.M{"offer_id": "o"}, false},
	} {
		for _, remembers := range []bool{true, false} {
			if !remembers {
				if step.legal {
					continue // it is there
				}
				restart()
			}
			err := send(step.from, step.what, step.body)
			if _, refused := errors.AsType[*session.Refusal](err); (err == nil) != step.legal || refused == step.legal {
				t.Fatalf("%s, remembered %v: %v", step.name, remembers, err)
			}
		}
		if len(known.known) != known.used.Len() || known.used.Len() == 0 {
			t.Fatalf("%d are known, and %d used", len(known.known), known.used.Len())
		}
	}
}

// What is remembered is bounded, and what was used last stays.
func TestReplaysAreBounded(t *testing.T) {
	r := newReplays()
	at := func(n int) replayed { return replayed{session: "s", tip: wire.HashOf(string(rune(n)))} }
	for n := range maxReplays + 10 {
		r.put(at(n), session.New("s", nil))
		r.get(at(0))
	}
	_, first := r.get(at(0))
	_, second := r.get(at(1))
	_, last := r.get(at(maxReplays + 9))
	if !first || second || !last || len(r.known) != maxReplays || r.used.Len() != maxReplays {
		t.Errorf("the first is there: %v, the second: %v, the last: %v, of %d", first, second, last, len(r.known))
	}
}
