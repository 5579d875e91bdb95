package node

import (
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Whose letters count does not hang on what a relay says, as far as the node knows better.
func TestHears(t *testing.T) {
	for _, test := range []struct {
		name string
		r    mailRecord
		from wire.AgentID
		want bool
	}{
		{"the one that was named", mailRecord{Mine: true, To: "bob"}, "bob", true},
		{"oneself", mailRecord{Mine: true, To: "bob"}, "ann", true},
		{"a third", mailRecord{Mine: true, To: "bob"}, "eve", false},
		{"whoever came first", mailRecord{Mine: true}, "eve", true},
		{"in somebody else's", mailRecord{From: "bob"}, "eve", true},
	} {
		if got := test.r.hears("ann", test.from); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// What is a letter, and what is none.
func TestReadLetter(t *testing.T) {
	seed := make([]byte, wire.SeedSize)
	key, err := wire.NewPrivateKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		session wire.SessionID
		kind    string
		content string
		want    bool
	}{
		{"a letter", "relay_1", "mail", `{"message_type":"note","payload":{}}`, true},
		{"with more", "relay_1", "mail", `{"message_type":"note","payload":{"a":1},"more":1}`, true},
		{"in a negotiation", "ses_1", "mail", `{"message_type":"note","payload":{}}`, false},
		{"of another kind", "relay_1", "receipt", `{"message_type":"note","payload":{}}`, false},
		{"without a type", "relay_1", "mail", `{"payload":{}}`, false},
		{"with a type of two words", "relay_1", "mail", `{"message_type":"two words","payload":{}}`, false},
		{"with a type that does not show", "relay_1", "mail", `{"message_type":"a\u200bb","payload":{}}`, false},
		{"without a payload", "relay_1", "mail", `{"message_type":"note"}`, false},
		{"whose payload is no object", "relay_1", "mail", `{"message_type":"note","payload":[]}`, false},
		{"with a member in another case", "relay_1", "mail", `{"message_type":"note","payload":{},"Payload":{}}`, false},
	} {
		content, err := wire.Parse([]byte(test.content), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		e, err := relay.Enclosure{ID: "m1", Session: test.session, From: wire.DIDKey(key.Public()), Time: time.Unix(1e9, 0), Kind: test.kind, Content: content}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := readLetter(e) != nil; got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	if readLetter(nil) != nil {
		t.Error("nothing is a letter")
	}
}
