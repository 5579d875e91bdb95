package session

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// ErrNotConcluded reports that a session has no outcome yet to attest.
var ErrNotConcluded = errors.New("the session is not concluded")

// Receipt returns the reputation attestation that follows from the transcript,
// before anyone signed it. It depends on nothing else, so every party derives the
// same bytes: its id is the chain head's, its time that of the last message or
// of the deadline that passed. For a session that nobody ended, now decides
// whether it has expired. (SPEC §9.6.2, §9.6.5)
func (t *Transcript) Receipt(now time.Time) (attest.Draft, error) {
	s := t.session.At(now)
	status, mechanism, ok := s.outcome()
	if !ok {
		return attest.Draft{}, ErrNotConcluded
	}
	end := s.end()
	d := attest.Draft{
		ID:      receiptID(s.tip),
		Session: s.id,
		Time:    end,
		Outcome: attest.Outcome{
			Status:     status,
			Rounds:     s.rounds,
			Duration:   end.Sub(s.opened).Truncate(time.Second),
			TermsCount: s.space.Len(),
			Mechanism:  mechanism,
		},
		Meta: attest.Meta{
			Category:        s.category,
			ValueRange:      s.valueRange,
			ExtensionsUsed:  s.extensions,
			MediatorInvoked: s.resolved,
		},
		TranscriptHash: t.Hash(),
		ChainHead:      s.tip,
		MessageCount:   s.messages,
	}
	for i := range s.parties {
		d.Parties = append(d.Parties, attest.Party{
			Agent:    s.parties[i].id,
			Role:     attest.Role(s.Role(s.parties[i].id)),
			Behavior: s.parties[i].behavior(),
		})
	}
	if s.former != (wire.Hash{}) {
		reference, err := wire.Encode(wire.M{"type": "receipt", "id": receiptID(s.former), "relationship": "supersedes"})
		if err != nil {
			return attest.Draft{}, err
		}
		d.References = []wire.Value{reference}
	}
	return d, nil
}

// receiptID names the receipt of the end at a tip.
func receiptID(tip wire.Hash) string { return "att_" + tip.Hex() }

// outcome returns how the session ended, and false if it has not.
func (s Session) outcome() (attest.Status, attest.Mechanism, bool) {
	switch s.state {
	case Agreed:
		if s.live.by == noParty {
			return attest.StatusAgreed, attest.Mechanism(s.live.mechanism), true
		}
		return attest.StatusAgreed, attest.MechanismDirect, true
	case Expired:
		return attest.StatusExpired, attest.MechanismNone, true
	case Rejected, Dormant:
		switch {
		case s.ending.Breach:
		case s.ending.Type == wire.TypeWithdraw:
			return attest.StatusWithdrawn, attest.MechanismNone, true
		case s.ending.Type == "":
			return attest.StatusExpired, attest.MechanismNone, true
		}
		return attest.StatusRejected, attest.MechanismNone, true
	}
	return "", "", false
}

// end returns when the session ended, never before its last message.
func (s Session) end() time.Time {
	if s.state == Expired && s.deadline.After(s.clock) {
		return s.deadline
	}
	return s.clock
}

// behavior returns the conduct record of a receipt (SPEC §9.6.3).
func (p *party) behavior() attest.Behavior {
	b := attest.Behavior{
		OffersMade:          p.offersMade,
		Concessions:         p.concessions,
		SignalsShared:       p.signalsShared,
		ConstraintsDeclared: p.constraintsDeclared,
		ConstraintsViolated: p.constraintsViolated,
		ReasoningProvided:   p.reasoned,
		Withdrawal:          p.withdrew,
	}
	if p.concessions > 0 {
		b.ConcessionMagnitude = round(p.conceded/float64(p.concessions), 4)
	}
	if p.replies > 0 {
		b.ResponseTime = (p.waited / time.Duration(p.replies)).Round(10 * time.Millisecond)
	}
	return b
}

// round rounds half to even at the given number of decimals.
func round(x float64, decimals int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', decimals, 64), 64)
	if err != nil || math.IsInf(x, 0) {
		panic("session: rounding " + strconv.FormatFloat(x, 'g', -1, 64))
	}
	return y
}

// A ReceiptSubject is a receipt beside the transcript it is said to come from.
type ReceiptSubject struct {
	Receipt    *attest.Attestation
	Transcript *Transcript
	Now        time.Time
	Skew       time.Duration
}

// ReceiptChecks compare a receipt with the transcript: everything that both
// implementations of the protocol derive in the same way. Concession figures,
// durations, response times, summary and references are information of whoever
// made the receipt. (SPEC §9.6.5, §9.6.5b)
func ReceiptChecks() []wire.Check[*ReceiptSubject] {
	return []wire.Check[*ReceiptSubject]{
		{Name: "receipt-session", Run: (*ReceiptSubject).checkSession},
		{Name: "receipt-parties", Run: (*ReceiptSubject).checkParties},
		{Name: "receipt-outcome", Run: (*ReceiptSubject).checkOutcome},
		{Name: "receipt-conduct", Run: (*ReceiptSubject).checkConduct},
		{Name: "receipt-chain", Run: (*ReceiptSubject).checkChain},
		{Name: "receipt-time", Run: (*ReceiptSubject).checkTime},
	}
}

// session returns the session as the receipt's own time, or now, finds it.
func (c *ReceiptSubject) session() Session {
	at := c.Receipt.Time
	if c.Now.Before(at) { // the skew makes nothing expire early
		at = c.Now
	}
	return c.Transcript.session.At(at)
}

func (c *ReceiptSubject) checkSession() error {
	if c.Receipt.Session != c.session().id {
		return RuleReceiptSession.At("/session_id")
	}
	return nil
}

func (c *ReceiptSubject) checkParties() error {
	s := c.session()
	for i, p := range c.Receipt.Parties {
		at := fmt.Sprintf("/parties/%d", i)
		if s.index(p.Agent) == noParty || string(s.Role(p.Agent)) != string(p.Role) {
			return RuleReceiptParties.At(at)
		}
	}
	if len(c.Receipt.Parties) != len(s.parties) {
		return RuleReceiptParties.At("/parties")
	}
	return nil
}

func (c *ReceiptSubject) checkOutcome() error {
	s := c.session()
	status, _, ok := s.outcome()
	got := c.Receipt.Outcome
	switch {
	case !ok:
		return RuleReceiptOutcome.Because("/outcome/status", ErrNotConcluded)
	case got.Status != status && (status != attest.StatusWithdrawn || got.Status != attest.StatusRejected):
		return RuleReceiptOutcome.At("/outcome/status")
	case got.Rounds != s.rounds:
		return RuleReceiptOutcome.At("/outcome/rounds")
	case got.TermsCount != s.space.Len():
		return RuleReceiptOutcome.At("/outcome/terms_count")
	}
	return nil
}

func (c *ReceiptSubject) checkConduct() error {
	s := c.session()
	for i, p := range c.Receipt.Parties {
		n := s.index(p.Agent)
		if n == noParty {
			continue // receipt-parties says so
		}
		want, got := s.parties[n].behavior(), p.Behavior
		member := ""
		switch {
		case got.OffersMade != want.OffersMade:
			member = "offers_made"
		case got.SignalsShared != want.SignalsShared:
			member = "signals_shared"
		case got.ConstraintsDeclared != want.ConstraintsDeclared:
			member = "constraints_declared"
		case got.ReasoningProvided != want.ReasoningProvided:
			member = "reasoning_provided"
		case got.Withdrawal != want.Withdrawal:
			member = "withdrawal"
		default:
			continue
		}
		return RuleReceiptConduct.At(fmt.Sprintf("/parties/%d/behavior/%s", i, member))
	}
	return nil
}

func (c *ReceiptSubject) checkChain() error {
	switch r := c.Receipt; {
	case r.TranscriptHash != c.Transcript.Hash():
		return RuleReceiptChain.At("/transcript_hash")
	case r.ChainHead != c.Transcript.Tip():
		return RuleReceiptChain.At("/chain_head")
	case r.MessageCount != c.Transcript.session.messages:
		return RuleReceiptChain.At("/message_count")
	}
	return nil
}

func (c *ReceiptSubject) checkTime() error {
	skew := c.Skew
	if skew == 0 {
		skew = wire.DefaultSkew
	}
	if t := c.Receipt.Time; t.Before(c.session().end().Add(-skew)) || t.After(c.Now.Add(skew)) {
		return RuleReceiptTime.At("/timestamp")
	}
	return nil
}
