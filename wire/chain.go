package wire

import (
	"fmt"
	"time"
)

// DefaultSkew is how far clocks may differ (SPEC §5.3). It serves message times
// and anchors in the future, never an expiry.
const DefaultSkew = 120 * time.Second

// A Chain is the end of a transcript: what the next message has to fit. It holds
// the admission rules, which are decided once, by whoever sequences the session
// (SPEC §9.3). The zero Chain is not usable; see NewChain.
type Chain struct {
	session SessionID
	skew    time.Duration
	tip     Hash
	clock   time.Time // largest timestamp so far
	ids     map[MessageID]struct{}
}

// NewChain returns the empty chain of a session. A skew of zero means DefaultSkew.
func NewChain(session SessionID, skew time.Duration) *Chain {
	if skew == 0 {
		skew = DefaultSkew
	}
	return &Chain{session: session, skew: skew, ids: make(map[MessageID]struct{})}
}

// Tip returns the hash of the last message, and the genesis hash before the first.
func (c *Chain) Tip() Hash { return c.tip }

// Len returns the number of messages.
func (c *Chain) Len() int { return len(c.ids) }

// Clock returns the session clock: the largest timestamp so far (SPEC §5.3).
func (c *Chain) Clock() time.Time { return c.clock }

// Check reports whether m may follow in a log that is being read: session, new
// id, prev_hash, and a timestamp not more than the skew before the session clock
// nor after now (SPEC §9.3, §5.3).
func (c *Chain) Check(m *Message, now time.Time) error {
	switch {
	case m.Session != c.session:
		return RuleSession.At("/session_id")
	case m.PrevHash != c.tip:
		return RulePrevHash.Because("/prev_hash", &TipError{Tip: c.tip, Len: c.Len()})
	case m.Time.After(now.Add(c.skew)):
		return RuleFuture.Because("/timestamp", errTime("now", now))
	case m.Time.Before(c.clock.Add(-c.skew)) && c.Len() > 0:
		return RuleBackdated.Because("/timestamp", errTime("session clock", c.clock))
	}
	if _, used := c.ids[m.ID]; used {
		return RuleMessageID.At("/id")
	}
	return nil
}

// Admit is Check for a message that arrives now: in addition, its timestamp is
// not more than the skew before now, so that nobody back-dates an accept, and
// its ttl has not passed (SPEC §5.3, §4.1).
func (c *Chain) Admit(m *Message, now time.Time) error {
	if err := c.Check(m, now); err != nil {
		return err
	}
	if m.Time.Before(now.Add(-c.skew)) {
		return RuleBackdated.Because("/timestamp", errTime("now", now))
	}
	if m.TTL > 0 && !now.Before(m.Time.Add(m.TTL)) {
		return RuleMessageTTL.Because("/ttl", errTime("now", now))
	}
	return nil
}

// Append makes m the last message. The caller has checked it.
func (c *Chain) Append(m *Message) {
	if c.Len() == 0 || m.Time.After(c.clock) {
		c.clock = m.Time
	}
	c.tip = m.hash
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
