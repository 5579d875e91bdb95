package relay

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Limits are what one agent, or all together, may take from a relay. They are
// published at /.well-known/concordia-relay. Zero fields of the Limits that
// [NewMailboxes] is given are the defaults.
type Limits struct {
	MessageSize       int64 `json:"message_bytes"`               // bytes of a message
	EnclosureSize     int64 `json:"enclosure_bytes"`             // bytes of an enclosure
	Parties           int64 `json:"parties_per_session"`         // the initiator among them
	LivePerInitiator  int64 `json:"live_sessions_per_initiator"` // neither ended nor expired
	Live              int64 `json:"live_sessions"`               // of all
	SessionLife       Span  `json:"session_seconds"`             // if the initiator does not say
	MaxSessionLife    Span  `json:"max_session_seconds"`         // it can ask for
	Idle              Span  `json:"idle_seconds"`                // without an entry, then a session ends
	Invitations       int64 `json:"invitations_per_agent"`       // unanswered
	InvitationsSender int64 `json:"invitations_per_sender"`      // of them, unless the agent has allowed the sender
	Undelivered       int64 `json:"undelivered_per_mailbox"`     // entries since the agent joined that it has not acknowledged
	UndeliveredSender int64 `json:"undelivered_per_sender"`      // of them, of one sender
	Entries           int64 `json:"entries_per_session"`         // messages and enclosures
	SessionSize       int64 `json:"bytes_per_session"`           // of them
	InitiatorSize     int64 `json:"bytes_per_initiator"`         // of all sessions that are kept, with 1,024 for each party
	Agents            int64 `json:"agents"`                      // registered
	Tokens            int64 `json:"tokens_per_agent"`            // the oldest goes first
	Consents          int64 `json:"consents_per_agent"`          // decisions that are kept
	Retention         Span  `json:"retention_seconds"`           // of what has ended
	AppendsPerSecond  int64 `json:"appends_per_second"`          // of one agent, in the long run
	AppendBurst       int64 `json:"append_burst"`                // at once
	CallsPerSecond    int64 `json:"calls_per_second"`            // of one agent or, unauthenticated, one address
	CallBurst         int64 `json:"call_burst"`
	Connections       int64 `json:"connections"`             // websockets, of all
	ConnectionsAgent  int64 `json:"connections_per_agent"`   // of them, of one agent
	ConnectionsPlace  int64 `json:"connections_per_address"` // of them, from one address
	FreeSpace         int64 `json:"free_bytes"`              // on disk, that have to be left
}

// A Span is a duration of whole seconds.
type Span time.Duration

// MarshalJSON writes the seconds.
func (s Span) MarshalJSON() ([]byte, error) {
	return fmt.Append(nil, int64(time.Duration(s)/time.Second)), nil
}

// UnmarshalJSON reads seconds.
func (s *Span) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || n > int64(maxSpan/time.Second) {
		return fmt.Errorf("want seconds, a whole number from 0 to %d", int64(maxSpan/time.Second))
	}
	*s = Span(time.Duration(n) * time.Second)
	return nil
}

const maxSpan = 50 * 366 * 24 * time.Hour // two of them stay far from overflow

// defaultLimits are for a relay that serves strangers from one machine.
var defaultLimits = Limits{
	MessageSize: 256 << 10, EnclosureSize: 64 << 10, Parties: 16,
	LivePerInitiator: 100, Live: 10_000, SessionLife: Span(24 * time.Hour), MaxSessionLife: Span(7 * 24 * time.Hour), Idle: Span(24 * time.Hour),
	Invitations: 100, InvitationsSender: 10,
	Undelivered: 1000, UndeliveredSender: 200, Entries: 10_000, SessionSize: 64 << 20, InitiatorSize: 1 << 30,
	Agents: 100_000, Tokens: 8, Consents: 10_000, Retention: Span(30 * 24 * time.Hour),
	AppendsPerSecond: 50, AppendBurst: 500, CallsPerSecond: 20, CallBurst: 200,
	Connections: 20_000, ConnectionsAgent: 16, ConnectionsPlace: 256, FreeSpace: 256 << 20,
}

// DefaultLimits returns the limits of a relay that serves strangers from one machine.
func DefaultLimits() Limits { return defaultLimits }

// ParseLimits reads limits by the names of RFC 0001, as in
//
//	{"undelivered_per_mailbox": 5000, "retention_seconds": 86400}
//
// What is left out is zero, which stands for the default. A name that is none of a limit,
// and a number that is none from 1 on, is an error.
func ParseLimits(text []byte) (Limits, error) {
	var l Limits
	v, err := wire.Parse(text, wire.Limits{Size: 64 << 10, Depth: 1})
	if err != nil {
		return l, fmt.Errorf("reading limits: %w", err)
	}
	if v.Kind() != wire.Object {
		return l, errors.New("reading limits: want a JSON object")
	}
	fields := reflect.ValueOf(&l).Elem()
	names := map[string]reflect.Value{}
	for i := range fields.NumField() {
		names[fields.Type().Field(i).Tag.Get("json")] = fields.Field(i)
	}
	for name, value := range v.Members() {
		field, known := names[name]
		if !known {
			return l, fmt.Errorf("reading limits: there is no limit %q", name)
		}
		n, ok := value.Int()
		_, span := field.Interface().(Span)
		switch {
		case !ok || n < 1:
			return l, fmt.Errorf("reading limits: %s: want a whole number from 1", name)
		case span && n > int64(maxSpan/time.Second):
			return l, fmt.Errorf("reading limits: %s: want at most %d seconds", name, int64(maxSpan/time.Second))
		case span:
			n *= int64(time.Second)
		}
		field.SetInt(n)
	}
	return l, nil
}

// check reports what limits no relay can keep.
func (l *Limits) check() error {
	fields := reflect.ValueOf(l).Elem()
	for i := range fields.NumField() {
		if fields.Field(i).Int() < 0 {
			return fmt.Errorf("the limit %s is negative", fields.Type().Field(i).Tag.Get("json"))
		}
	}
	switch {
	case l.Parties < 2 || l.Parties > maxParties:
		return fmt.Errorf("the limit parties_per_session is not from 2 to %d", maxParties)
	case l.MessageSize > wire.MaxMessageSize:
		return fmt.Errorf("the limit message_bytes is above %d, the longest message there is", wire.MaxMessageSize)
	case l.EnclosureSize > MaxEnclosureSize:
		return fmt.Errorf("the limit enclosure_bytes is above %d, the longest enclosure there is", MaxEnclosureSize)
	case l.SessionLife > l.MaxSessionLife:
		return fmt.Errorf("the limit session_seconds is above max_session_seconds")
	case max(l.MaxSessionLife, l.Idle, l.Retention) > Span(maxSpan):
		return fmt.Errorf("a limit is above %d seconds", int64(maxSpan/time.Second))
	}
	return nil
}

// maxParties is what an entry has room for to say who sent it.
const maxParties = 256
