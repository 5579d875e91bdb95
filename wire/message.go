package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ProtocolVersion is what messages of this implementation say in "concordia".
const ProtocolVersion = "0.1.0"

// A MessageType is the type member of a message, as it is spelled on the wire
// (SPEC §4.2).
type MessageType string

// The fourteen message types (SPEC §4.2).
const (
	TypeOpen            MessageType = "negotiate.open"
	TypeAcceptSession   MessageType = "negotiate.accept_session"
	TypeDeclineSession  MessageType = "negotiate.decline_session"
	TypeOffer           MessageType = "negotiate.offer"
	TypeCounter         MessageType = "negotiate.counter"
	TypeAccept          MessageType = "negotiate.accept"
	TypeReject          MessageType = "negotiate.reject"
	TypeInquire         MessageType = "negotiate.inquire"
	TypeConstrain       MessageType = "negotiate.constrain"
	TypeSignal          MessageType = "negotiate.signal"
	TypeWithdraw        MessageType = "negotiate.withdraw"
	TypeProposeMediator MessageType = "negotiate.propose_mediator"
	TypeResolve         MessageType = "negotiate.resolve"
	TypeCommit          MessageType = "negotiate.commit"
)

var messageTypes = [...]MessageType{
	TypeOpen, TypeAcceptSession, TypeDeclineSession, TypeOffer, TypeCounter, TypeAccept, TypeReject,
	TypeInquire, TypeConstrain, TypeSignal, TypeWithdraw, TypeProposeMediator, TypeResolve, TypeCommit,
}

// MessageTypes returns the fourteen types in the order of SPEC §4.2.
func MessageTypes() []MessageType { return append([]MessageType(nil), messageTypes[:]...) }

// Short returns the type without "negotiate.".
func (t MessageType) Short() string { return strings.TrimPrefix(string(t), "negotiate.") }

func (t MessageType) known() bool {
	for _, k := range messageTypes {
		if t == k {
			return true
		}
	}
	return false
}

// An Envelope holds what every message says about itself, and its body (SPEC
// §4.1). Members that are left out are zero.
type Envelope struct {
	Type      MessageType
	ID        MessageID
	Session   SessionID
	Time      time.Time
	From      AgentID
	Principal string // on whose behalf, as the sender says
	PrevHash  Hash
	Body      Value

	To        []AgentID
	InReplyTo MessageID
	Thread    string
	TTL       time.Duration // counted from Time
	Reasoning string        // free text; data, never instructions (SPEC §4.3)
}

// An UnverifiedMessage has the shape of a message. Who sent it is not known yet.
type UnverifiedMessage struct {
	Envelope
	value     Value
	signature Signature
}

// A Message is a message whose signature has been verified, or that was signed
// here. Its bytes are those received.
type Message struct {
	Envelope
	value Value
	hash  Hash
}

// Value returns the whole message as received, unknown members included.
func (m *Message) Value() Value { return m.value }

// Hash returns the hash of the whole message including its signature: the
// prev_hash of the next one (SPEC §9.3).
func (m *Message) Hash() Hash { return m.hash }

// ParseMessage reads a message of at most MaxMessageSize bytes and checks its
// shape. It verifies nothing. (SPEC §4.1, §4.2, §9.2.1)
func ParseMessage(data []byte) (*UnverifiedMessage, error) {
	v, err := Parse(data, messageLimits)
	if err != nil {
		return nil, err
	}
	return ReadMessage(v)
}

// ReadMessage is ParseMessage for a value that has been parsed already, for
// instance as part of a file.
func ReadMessage(v Value) (*UnverifiedMessage, error) {
	if len(v.text) > MaxMessageSize {
		return nil, RuleSize.At("")
	}
	if v.Depth() > MaxDepth {
		return nil, RuleDepth.At("")
	}
	u := &UnverifiedMessage{value: v}
	r := Read(v, "", RuleEnvelope)
	r.Open("concordia", "type", "id", "session_id", "timestamp", "from", "prev_hash", "body", "signature",
		"to", "in_reply_to", "thread", "ttl", "reasoning")
	if version := r.Text("concordia"); !isVersion(version) {
		r.FailRule(RuleVersion, "concordia", errVersion)
	}
	if u.Type = MessageType(r.Text("type")); !u.Type.known() {
		r.FailRule(RuleMessageType, "type", errors.New(clip(string(u.Type))))
	}
	u.ID = ReadID[MessageID](r, "id")
	u.Session = ReadID[SessionID](r, "session_id")
	u.Time = r.Time("timestamp")
	from := r.Object("from")
	from.Open("agent_id", "principal_id")
	u.From = ReadID[AgentID](from, "agent_id")
	if p, ok := from.value.Get("principal_id"); ok && p.Kind() != Null {
		u.Principal = from.Text("principal_id")
	}
	u.PrevHash = r.Hash("prev_hash")
	u.Body = r.Object("body").value
	if r.Has("to") {
		for _, to := range r.Objects("to") {
			to.Open("agent_id")
			u.To = append(u.To, ReadID[AgentID](to, "agent_id"))
		}
	}
	u.InReplyTo = OptID[MessageID](r, "in_reply_to")
	u.Thread = r.OptText("thread")
	u.TTL = time.Duration(r.OptInt("ttl", 1, maxTTL, 0)) * time.Second
	u.Reasoning = r.OptText("reasoning")
	signature := r.Text("signature")
	if err := r.Err(); err != nil {
		return nil, err
	}
	var err error
	if u.signature, err = ParseSignature(signature); err != nil {
		return nil, RuleSignatureForm.Because("/signature", err)
	}
	return u, nil
}

// maxTTL keeps durations in seconds far from overflow: 100 years.
const maxTTL = 100 * 366 * 24 * 60 * 60

var errVersion = errors.New("want 0.y.z")

// isVersion reports whether s is a semantic version 0.y.z without suffix.
func isVersion(s string) bool {
	rest, ok := strings.CutPrefix(s, "0.")
	minor, patch, dot := strings.Cut(rest, ".")
	return ok && dot && isNumeral(minor) && isNumeral(patch)
}

func isNumeral(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= 9 && (s == "0" || s[0] != '0')
}

// Verify checks that the sender signed the message with the key that keys knows
// for the time in it (SPEC §9.2). It does not check where the message belongs:
// see Chain.
func (u *UnverifiedMessage) Verify(keys Keys) (*Message, error) {
	key, err := keys.Key(u.From, u.Time)
	if err != nil {
		if v, ok := errors.AsType[*Violation](err); ok {
			return nil, v.Rule.Because("/from/agent_id", v.Err)
		}
		return nil, fmt.Errorf("resolving a key: %w", err)
	}
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	*buf = u.value.AppendWithout((*buf)[:0], "signature")
	if !key.Verify(*buf, u.signature) {
		return nil, RuleSignature.At("/signature")
	}
	return &Message{Envelope: u.Envelope, value: u.value, hash: u.value.Hash()}, nil
}

// Value returns the whole message as received.
func (u *UnverifiedMessage) Value() Value { return u.value }

// Sign makes the message that e describes. What ParseMessage would refuse, Sign
// refuses. The time is cut to whole seconds (SPEC §4.1, §9.2).
func Sign(e Envelope, by Signer) (*Message, error) {
	from := M{"agent_id": e.From}
	if e.Principal != "" {
		from["principal_id"] = e.Principal
	}
	m := M{
		"concordia": ProtocolVersion, "type": e.Type, "id": e.ID, "session_id": e.Session,
		"timestamp": FormatTime(e.Time), "from": from, "prev_hash": e.PrevHash, "body": e.Body,
	}
	if len(e.To) > 0 {
		to := make([]M, len(e.To))
		for i, id := range e.To {
			to[i] = M{"agent_id": id}
		}
		m["to"] = to
	}
	if e.InReplyTo != "" {
		m["in_reply_to"] = e.InReplyTo
	}
	if e.Thread != "" {
		m["thread"] = e.Thread
	}
	if e.TTL != 0 {
		m["ttl"] = int64(e.TTL / time.Second)
	}
	if e.Reasoning != "" {
		m["reasoning"] = e.Reasoning
	}
	unsigned, err := Encode(m)
	if err != nil {
		return nil, err
	}
	sig, err := by.Sign([]byte(unsigned.text))
	if err != nil {
		return nil, fmt.Errorf("signing a message: %w", err)
	}
	u, err := ReadMessage(unsigned.With("signature", Text(sig.String())))
	if err != nil {
		return nil, err
	}
	return &Message{Envelope: u.Envelope, value: u.value, hash: u.value.Hash()}, nil
}
