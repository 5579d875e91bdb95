package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// One key is one agent, in either spelling of its did:key: it does not negotiate
// with itself.
func TestOneKeyTwoSpellings(t *testing.T) {
	key, err := wire.NewPrivateKey([]byte(strings.Repeat("k", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)
	plain, other := wire.DIDKey(key.Public()), wire.ReferenceDIDKey(key.Public())
	say := func(kind wire.MessageType, from wire.AgentID, prev wire.Hash, to []wire.AgentID, body wire.M) *wire.Message {
		b, err := wire.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wire.Sign(wire.Envelope{
			Type: kind, ID: wire.MessageID("msg_" + kind.Short()), Session: "ses_1", Time: at, From: from, PrevHash: prev, To: to, Body: b,
		}, key)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	terms := wire.M{"terms": wire.M{"price": wire.M{"type": "numeric"}}}
	witnessed := wire.M{"terms": terms["terms"], "witnesses": []wire.AgentID{other}}
	open := say(wire.TypeOpen, plain, wire.Hash{}, nil, terms)
	for _, test := range []struct {
		name     string
		messages []*wire.Message
		rule     *wire.Rule
	}{
		{"named as responder", []*wire.Message{say(wire.TypeOpen, plain, wire.Hash{}, []wire.AgentID{other}, terms)}, session.RuleResponders},
		{"named as witness", []*wire.Message{say(wire.TypeOpen, plain, wire.Hash{}, nil, witnessed)}, session.RuleResponders},
		{"joins", []*wire.Message{open, say(wire.TypeAcceptSession, other, open.Hash(), nil, wire.M{})}, session.RuleParty},
	} {
		var list []wire.Value
		for _, m := range test.messages {
			list = append(list, m.Value())
		}
		v, err := wire.Encode(wire.M{"messages": list})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := session.ReadDocument(v)
		if err != nil {
			t.Fatal(err)
		}
		if _, report := doc.Check("ses_1", wire.DIDKeys{}, at.Add(time.Minute), nil, nil); !errors.Is(report.Err(), test.rule) {
			t.Errorf("%s: %v, want %s", test.name, report.Err(), test.rule.Name)
		}
	}
}
