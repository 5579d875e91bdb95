package relay

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// EnclosureVersion is what enclosures of this implementation say in
// "concordia_enclosure".
const EnclosureVersion = "0.1.0"

// MaxEnclosureSize bounds an enclosure in bytes (SPEC §9.3.1).
const MaxEnclosureSize = 64 << 10

// An Enclosure is something signed that parties of a session send each other beside
// the chain of messages: the draft of a receipt, a countersignature, an approval. It
// has no place in the transcript and no prev_hash. (RFC 0001)
type Enclosure struct {
	ID      wire.MessageID // unique in the session, as the ids of messages
	Session wire.SessionID
	From    wire.AgentID
	Time    time.Time
	Kind    string // what the content is, such as "receipt"; a dotted lower-case word of at most 64 characters
	Content wire.Value

	value wire.Value
}

// The kinds of enclosures that this implementation sends.
const (
	KindReceipt  = "receipt"  // a receipt, signed by one party or by all
	KindApproval = "approval" // an approval receipt, or a mandate, for what comes next
)

// RuleEnclosure is what a malformed enclosure breaks, RuleEnclosureSignature one that
// its sender did not sign.
var (
	RuleEnclosure          = &wire.Rule{Section: "9.3.1", Name: "enclosure", Class: wire.ClassSchema, Text: "an enclosure has the members of one"}
	RuleEnclosureSignature = &wire.Rule{Section: "9.3.1", Name: "enclosure-signature", Class: wire.ClassSignature, Text: "its sender signed the enclosure"}
)

// Value returns the whole enclosure.
func (e *Enclosure) Value() wire.Value { return e.value }

// Hash returns the hash of the whole enclosure, signature included.
func (e *Enclosure) Hash() wire.Hash { return e.value.Hash() }

// Sign makes the enclosure that e describes.
func (e Enclosure) Sign(by wire.Signer) (*Enclosure, error) {
	unsigned, err := wire.Encode(wire.M{
		"concordia_enclosure": EnclosureVersion, "id": e.ID, "session_id": e.Session, "from": wire.M{"agent_id": e.From},
		"timestamp": wire.FormatTime(e.Time), "kind": e.Kind, "content": e.Content,
	})
	if err != nil {
		return nil, err
	}
	sig, err := by.Sign([]byte(unsigned.Canonical()))
	if err != nil {
		return nil, fmt.Errorf("signing an enclosure: %w", err)
	}
	v := unsigned.With("signature", wire.Text(sig.String()))
	if _, err := readEnclosure(v); err != nil {
		return nil, err
	}
	e.Time = e.Time.UTC().Truncate(time.Second)
	e.value = v
	return &e, nil
}

func readEnclosure(v wire.Value) (*Enclosure, error) {
	if len(v.Canonical()) > MaxEnclosureSize {
		return nil, wire.RuleSize.At("")
	}
	if v.Depth() > wire.MaxDepth {
		return nil, wire.RuleDepth.At("")
	}
	r := wire.Read(v, "", RuleEnclosure)
	r.Open("concordia_enclosure", "id", "session_id", "from", "timestamp", "kind", "content", "signature")
	r.OneOf("concordia_enclosure", EnclosureVersion)
	e := &Enclosure{
		ID: wire.ReadID[wire.MessageID](r, "id"), Session: wire.ReadID[wire.SessionID](r, "session_id"),
		Time: r.Time("timestamp"), Kind: r.Text("kind"), Content: r.Object("content").Whole(), value: v,
	}
	from := r.Object("from")
	from.Open("agent_id")
	e.From = wire.ReadID[wire.AgentID](from, "agent_id")
	if !isWord(e.Kind) {
		r.Fail("kind", errWord)
	}
	r.Text("signature")
	return e, r.Err()
}

// VerifyEnclosure reads an enclosure and checks that its sender signed it.
func VerifyEnclosure(v wire.Value, keys wire.Keys) (*Enclosure, error) {
	e, err := readEnclosure(v)
	if err != nil {
		return nil, err
	}
	key, err := keys.Key(e.From, e.Time)
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return nil, v.Rule.Because("/from/agent_id", v.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("resolving a key: %w", err)
	}
	text, _ := v.Get("signature")
	if err := key.VerifyText(v.AppendWithout(nil, "signature"), text.Text()); err != nil {
		return nil, RuleEnclosureSignature.Because("/signature", err)
	}
	return e, nil
}
