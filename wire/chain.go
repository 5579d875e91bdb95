package wire

import (
	"fmt"
	"time"
)

// DefaultSkew is how far clocks may differ (SPEC §5.3). It serves message times
// and anchors in the future, never an expiry.
const DefaultSkew = 120 * time.Second

// A Tip is the end of a transcript: what the next message has to fit, apart from
// its id. It holds the admission rules, which are decided once, by whoever
// sequences the session (SPEC §9.3).
type Tip struct {
	Session SessionID
	Hash    Hash          // of the last message; the genesis hash before the first
	Len     int           // messages
	Clock   time.Time     // the session clock: the largest timestamp so far (SPEC §5.3)
	Skew    time.Duration // how far clocks may differ; zero: DefaultSkew
}

func (t *Tip) skew() time.Duration {
	if t.Skew == 0 {
		return DefaultSkew
	}
	return t.Skew
}

// Check reports whether m may follow in a log that is being read: session,
// prev_hash, and a timestamp not more than the skew before the session clock nor
// after now (SPEC §9.3, §5.3).
func (t *Tip) Check(m *Message, now time.Time) error {
	switch {
	case m.Session != t.Session:
		return RuleSession.At("/session_id")
	case m.PrevHash != t.Hash:
		return RulePrevHash.Because("/prev_hash", &TipError{Tip: t.Hash, Len: t.Len})
	case m.Time.After(now.Add(t.skew())):
		return RuleFuture.Because("/timestamp", errTime("now", now))
	case m.Time.Before(t.Clock.Add(-t.skew())) && t.Len > 0:
		return RuleBackdated.Because("/timestamp", errTime("session clock", t.Clock))
	}
	return nil
}

// Admit is Check for a message that arrives now: in addition, its timestamp is
// not more than the skew before now, so that nobody back-dates an accept, and
// its ttl has not passed (SPEC §5.3, §4.1).
func (t *Tip) Admit(m *Message, now time.Time) error {
	if err := t.Check(m, now); err != nil {
		return err
	}
	return t.arrives(m, now)
}

func (t *Tip) arrives(m *Message, now time.Time) error {
	if m.Time.Before(now.Add(-t.skew())) {
		return RuleBackdated.Because("/timestamp", errTime("now", now))
	}
	if m.TTL > 0 && !now.Before(m.Time.Add(m.TTL)) {
		return RuleMessageTTL.Because("/ttl", errTime("now", now))
	}
	return nil
}

// Append makes m the last message. The caller has checked it.
func (t *Tip) Append(m *Message) {
	if t.Len == 0 || m.Time.After(t.Clock) {
		t.Clock = m.Time
	}
	t.Hash = m.hash
	t.Len++
}

// A Chain is a Tip that knows the ids of the messages before, too. The zero Chain
// is not usable; see NewChain.
type Chain struct {
	tip Tip
	ids map[MessageID]struct{}
}

// NewChain returns the empty chain of a session. A skew of zero means DefaultSkew.
func NewChain(session SessionID, skew time.Duration) *Chain {
	return &Chain{tip: Tip{Session: session, Skew: skew}, ids: make(map[MessageID]struct{})}
}

// Tip returns the hash of the last message, and the genesis hash before the first.
func (c *Chain) Tip() Hash { return c.tip.Hash }

// Len returns the number of messages.
func (c *Chain) Len() int { return c.tip.Len }

// Clock returns the session clock: the largest timestamp so far (SPEC §5.3).
func (c *Chain) Clock() time.Time { return c.tip.Clock }

// Check is [Tip.Check], and that the id is new.
func (c *Chain) Check(m *Message, now time.Time) error {
	if err := c.tip.Check(m, now); err != nil {
		return err
	}
	if _, used := c.ids[m.ID]; used {
		return RuleMessageID.At("/id")
	}
	return nil
}

// Admit is [Tip.Admit], and that the id is new.
func (c *Chain) Admit(m *Message, now time.Time) error {
	if err := c.Check(m, now); err != nil {
		return err
	}
	return c.tip.arrives(m, now)
}

// Append makes m the last message. The caller has checked it.
func (c *Chain) Append(m *Message) {
	c.tip.Append(m)
	c.ids[m.ID] = struct{}{}
}

func errTime(what string, t time.Time) error {
	return fmt.Errorf("%s is %s", what, t.UTC().Format(time.RFC3339))
}

// A TipError tells the sender of a message with a wrong prev_hash what it missed.
type TipError struct {
	Tip Hash
	Len int // messages in the chain
}

func (e *TipError) Error() string {
	return fmt.Sprintf("the chain has %d messages and ends in %s", e.Len, e.Tip)
}
