package session

import (
	"errors"
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/wire"
)

// ErrNotAgreed reports that a session has no agreement.
var ErrNotAgreed = errors.New("the session has no agreement")

// An Agreement is what the parties of a session agreed on (SPEC §3.6). It follows
// from the transcript up to the message that made the deal, so both sides derive
// the same, and what is said later does not change it.
type Agreement struct {
	Session    wire.SessionID
	Parties    []wire.AgentID // the initiator first
	Terms      offer.Terms
	At         time.Time  // when the deal was made
	Expires    time.Time  // when it is void if not settled; zero: never
	Head       wire.Hash  // of the message that made the deal
	Len        int        // messages up to it
	Settlement wire.Value // hints of open, absent if it has none
}

// Agreement returns the agreement, or ErrNotAgreed.
func (s Session) Agreement() (Agreement, error) {
	if s.state != Agreed {
		return Agreement{}, ErrNotAgreed
	}
	a := Agreement{
		Session: s.id, Parties: s.Parties(), Terms: s.deal, At: s.ending.At,
		Head: s.head, Len: s.length, Settlement: s.settlement,
	}
	if after, ok := s.settlement.Get("expires_after"); ok {
		n, _ := after.Int()
		a.Expires = a.At.Add(seconds(n))
	}
	return a, nil
}

// Value returns the agreement as JSON. Its hash names the agreement.
func (a Agreement) Value() (wire.Value, error) {
	m := wire.M{
		"concordia_agreement": wire.ProtocolVersion,
		"session_id":          a.Session,
		"parties":             a.Parties,
		"terms":               a.Terms.Value(),
		"agreed_at":           wire.FormatTime(a.At),
		"expires_at":          nil,
		"chain_head":          a.Head,
		"message_count":       a.Len,
	}
	if !a.Expires.IsZero() {
		m["expires_at"] = wire.FormatTime(a.Expires)
	}
	if a.Settlement.Kind() != wire.Absent {
		m["settlement"] = a.Settlement
	}
	return wire.Encode(m)
}
