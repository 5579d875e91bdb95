package wire_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Two keys of examples. A real one is made by GenerateKey and kept by package
// keyfile.
func exampleKeys() (seller, buyer wire.PrivateKey) {
	var err error
	if seller, err = wire.NewPrivateKey([]byte("the seed of the seller, 32 bytes")); err != nil {
		log.Fatal(err)
	}
	if buyer, err = wire.NewPrivateKey([]byte("the seed of the buyer, 32 bytes.")); err != nil {
		log.Fatal(err)
	}
	return seller, buyer
}

func exampleBody() wire.Value {
	body, err := wire.Encode(wire.M{"terms": wire.M{}})
	if err != nil {
		log.Fatal(err)
	}
	return body
}

func ExampleParse() {
	v, err := wire.Parse([]byte(`{"price": 20.50, "item": "caf\u00e9 table"}`), wire.DocumentLimits)
	if err != nil {
		log.Fatal(err)
	}
	price, _ := v.Get("price")
	fmt.Println(v)
	fmt.Println(price.Float())

	// What two readers could understand differently is refused, and where.
	for _, text := range []string{`{"price": 9007199254740993}`, `{"terms": {"a": 1, "\u0061": 2}}`} {
		_, err = wire.Parse([]byte(text), wire.DocumentLimits)
		fmt.Println(err)
	}
	// Output:
	// {"item":"café table","price":20.5}
	// 20.5 true
	// SPEC §9.2.1 json-number: every number means the same to every reader (at /price)
	// SPEC §9.2.1 json-duplicate: no object has two members of one name (at /terms/a)
}

func ExampleSign() {
	seller, _ := exampleKeys()
	body, err := wire.Encode(wire.M{"terms": wire.M{"price": wire.M{"value": 20.5}}})
	if err != nil {
		log.Fatal(err)
	}
	m, err := wire.Sign(wire.Envelope{
		Type:    wire.TypeOffer,
		ID:      "msg_2", // made by NewID
		Session: "ses_1",
		Time:    time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC),
		From:    "agent_seller",
		Body:    body,
	}, seller)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Value().Without("signature"))
	fmt.Println(m.Hash())
	// Output:
	// {"body":{"terms":{"price":{"value":20.5}}},"concordia":"0.1.0","from":{"agent_id":"agent_seller"},"id":"msg_2","prev_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000","session_id":"ses_1","timestamp":"2026-09-14T09:00:00Z","type":"negotiate.offer"}
	// sha256:23d34753751baa1e84e758b8fe3a7488a4eb628b098523709d622cc92b8507bd
}

func ExampleParseMessage() {
	seller, buyer := exampleKeys()
	sent, err := wire.Sign(wire.Envelope{
		Type: wire.TypeOpen, ID: "msg_1", Session: "ses_1", Time: time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC),
		From: "agent_seller", Body: exampleBody(),
	}, seller)
	if err != nil {
		log.Fatal(err)
	}

	// What arrives has the shape of a message; who sent it is not known yet.
	unverified, err := wire.ParseMessage([]byte(sent.Value().Canonical()))
	if err != nil {
		log.Fatal(err)
	}
	// Whose key an agent has, the reader decides.
	m, err := unverified.Verify(wire.KeyMap{"agent_seller": seller.Public()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Type, "from", m.From)

	_, err = unverified.Verify(wire.KeyMap{"agent_seller": buyer.Public()})
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		fmt.Println(v.Rule.Name, "at", v.At)
	}
	// Output:
	// negotiate.open from agent_seller
	// signature at /signature
}

func ExampleChain() {
	seller, buyer := exampleKeys()
	now := time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)
	chain := wire.NewChain("ses_1", 0)
	say := func(id wire.MessageID, kind wire.MessageType, from wire.AgentID, key wire.PrivateKey, prev wire.Hash) *wire.Message {
		m, err := wire.Sign(wire.Envelope{
			Type: kind, ID: id, Session: "ses_1", Time: now, From: from, PrevHash: prev, Body: exampleBody(),
		}, key)
		if err != nil {
			log.Fatal(err)
		}
		return m
	}

	open := say("msg_1", wire.TypeOpen, "agent_seller", seller, chain.Tip())
	if err := chain.Admit(open, now); err != nil {
		log.Fatal(err)
	}
	chain.Append(open)

	// Two messages race for the place after open. The loser learns what it missed.
	accept := say("msg_2", wire.TypeAcceptSession, "agent_buyer", buyer, open.Hash())
	withdraw := say("msg_3", wire.TypeWithdraw, "agent_seller", seller, open.Hash())
	for _, m := range []*wire.Message{accept, withdraw} {
		err := chain.Admit(m, now)
		if tip, ok := errors.AsType[*wire.TipError](err); ok {
			fmt.Println(m.Type, "comes too late:", tip.Len, "messages, the last is msg_2:", tip.Tip == accept.Hash())
			continue
		}
		chain.Append(m)
		fmt.Println(m.Type, "is message", chain.Len())
	}
	// Output:
	// negotiate.accept_session is message 2
	// negotiate.withdraw comes too late: 2 messages, the last is msg_2: true
}

func ExampleDIDKey() {
	seller, _ := exampleKeys()
	id := wire.DIDKey(seller.Public())
	fmt.Println(id)

	// The id is the key: nothing has to be looked up.
	key, err := wire.ParseDIDKey(id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(key == seller.Public())
	fmt.Println(seller) // a private key prints as a placeholder
	// Output:
	// did:key:z6MksJSsFpjcchcJNBssiJkmuGHjvqMshak1iLXJbFUnKWca
	// true
	// [private key]
}
