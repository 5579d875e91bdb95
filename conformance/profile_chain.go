package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// messageChain is {"messages": […]}, perhaps with the "receipt" that closes it. The
// contract looks at links and signatures alone: these messages need not have the
// members of an envelope, so that package session does not judge them here.
var messageChain = ownKind(map[string]func(Question) error{
	"members":            Question.chainMembers,
	"count":              Question.chainCount,
	"linkage":            Question.chainLinkage,
	"signatures":         Question.chainSignatures,
	"hashes":             Question.chainHashes,
	"receipt":            Question.chainReceipt,
	"receipt-signatures": Question.chainReceiptSignatures,
	"receipt-count":      func(q Question) error { return q.chainCloses("message_count") },
	"receipt-head":       func(q Question) error { return q.chainCloses("chain_head") },
})

var (
	ruleChain      = &wire.Rule{Section: "12.5", Name: "chain-members", Class: wire.ClassSchema, Text: "a message chain is a list of messages and perhaps a receipt"}
	ruleChainCount = &wire.Rule{Section: "12.5", Name: "expected-messages", Class: wire.ClassBinding, Text: "the messages are those that the context expects"}
)

var (
	errNoMessages = errors.New("want a list of messages")
	errOther      = errors.New("a member that a message chain does not have")
)

func (q Question) messages() wire.Value {
	v, _ := q.Input.Get("messages")
	return v
}

func (q Question) chainMembers() error {
	for name := range q.Input.Members() {
		if name != "messages" && name != "receipt" {
			return ruleChain.Because(wire.Pointer(name), errOther)
		}
	}
	list := q.messages()
	if list.Kind() != wire.Array || list.Len() == 0 {
		return ruleChain.Because("/messages", errNoMessages)
	}
	for i, m := range list.Elems() {
		if m.Kind() != wire.Object {
			return ruleChain.Because(fmt.Sprintf("/messages/%d", i), errNoMessages)
		}
	}
	return nil
}

func (q Question) chainCount() error {
	if want, ok := q.Context.Get("expected_message_count"); ok && want.Kind() != wire.Null {
		if n, whole := want.Int(); !whole || n != int64(q.messages().Len()) {
			return ruleChainCount.At("/messages")
		}
	}
	return nil
}

// chainLinkage walks the list: each prev_hash is the hash of the whole message
// before, that of the first the genesis hash (SPEC §9.3).
func (q Question) chainLinkage() error {
	want := wire.Hash{}.String()
	for i, m := range q.messages().Elems() {
		if got, _ := m.Get("prev_hash"); got.Text() != want {
			return wire.RulePrevHash.At(fmt.Sprintf("/messages/%d/prev_hash", i))
		}
		var err error
		if want, err = q.digestOf(m); err != nil {
			return err
		}
	}
	return nil
}

func (q Question) chainSignatures() error {
	f, err := q.verifier(q.namedKeys("public_keys_b64url"), false)
	if err != nil {
		return err
	}
	for i, m := range q.messages().Elems() {
		sender, _ := m.Get("from")
		if sender.Kind() != wire.Object {
			return ruleChain.Because(fmt.Sprintf("/messages/%d/from", i), errMissing)
		}
		from, _ := sender.Get("agent_id")
		text, _ := m.Get("signature")
		if err := f.CheckSignature(attest.Claim{
			Rule: wire.RuleSignature, Signer: wire.AgentID(from.Text()), Algorithm: wire.EdDSA, Signed: time.Time{},
			Preimage: unsigned(m), Text: text, At: fmt.Sprintf("/messages/%d/signature", i),
		}); err != nil {
			return err
		}
	}
	return nil
}

func (q Question) chainHashes() error {
	want, ok := q.Context.Get("expected_message_hashes")
	if !ok || want.Kind() == wire.Null {
		return nil
	}
	var got []wire.Value
	for _, m := range q.messages().Elems() {
		text, err := q.digestOf(m)
		if err != nil {
			return err
		}
		got = append(got, wire.Text(text))
	}
	if all, err := wire.Encode(got); err != nil || !all.Equal(want) {
		return ruleChainCount.At("/messages")
	}
	return nil
}

// receipt reads the receipt of a chain that has one.
func (q Question) receipt() (*attest.Attestation, bool, error) {
	v, ok := q.Input.Get("receipt")
	if !ok {
		return nil, false, nil
	}
	a, err := attest.ReadAttestation(v)
	return a, true, err
}

// chainReceipt checks the shape of a receipt, and that its version closes a chain.
func (q Question) chainReceipt() error {
	a, ok, err := q.receipt()
	if err != nil || !ok {
		return err
	}
	if err := published(a, "/receipt"); err != nil {
		return err
	}
	if !a.ClosesChain() {
		return ruleChain.Because("/receipt", errors.New("its version closes no chain"))
	}
	return q.receiptChecks(a, "set-binding")
}

func (q Question) chainReceiptSignatures() error {
	a, ok, err := q.receipt()
	if err != nil || !ok {
		return err
	}
	return q.receiptChecks(a, "party-signatures", "outcome-binding")
}

// receiptChecks makes checks of an attestation on the receipt.
func (q Question) receiptChecks(a *attest.Attestation, names ...string) error {
	s, err := attestationSubject(q, a)
	if err != nil {
		return err
	}
	for _, name := range names {
		for _, c := range attest.AttestationChecks() {
			if c.Name != name {
				continue
			}
			if err := c.Run(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// chainCloses compares what a receipt says of the chain with the chain.
func (q Question) chainCloses(member string) error {
	a, ok, err := q.receipt()
	if err != nil || !ok {
		return err
	}
	list := q.messages()
	var head string
	for i, m := range list.Elems() {
		if i == list.Len()-1 {
			if head, err = q.digestOf(m); err != nil {
				return err
			}
		}
	}
	if member == "message_count" && a.MessageCount != list.Len() || member == "chain_head" && a.ChainHead.String() != head {
		return attest.RuleSet.At("/receipt/" + member)
	}
	return nil
}
