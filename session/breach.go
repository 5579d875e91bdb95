package session

import (
	"errors"
	"slices"
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// A Breach is an admitted message that breaks a rule of the session: its sender
// made a move that every honest party refuses, and signed it (SPEC §5.2).
type Breach struct {
	By      wire.AgentID
	Message *wire.Message // the evidence
	Rule    *wire.Rule    // the rule it breaks
}

var (
	errClosed    = errors.New("a breach has closed the session")
	errNoBreach  = errors.New("recording a breach: the message is a legal move")
	errNotParty  = errors.New("recording a breach: the sender is no party, and whoever admitted the message is to blame")
	errNotAtTip  = errors.New("recording a breach: the message does not follow the transcript")
	errTimeIsUp  = errors.New("recording a breach: the message only came too late")
	errTwoBreach = errors.New("recording a breach: there is one already")
)

// Breach returns the breach that closed the session, or nil.
func (s Session) Breach() *Breach { return s.breach }

// Breach records that the log goes on with m, which breaks a rule of the session.
// The messages before it stand. A session that had not ended is REJECTED, by the
// sender of m; one that had keeps its outcome. Nothing can follow. Receipts cover
// the messages that stand. An error says that m is no breach; nothing has changed
// then. (SPEC §5.2)
func (t *Transcript) Breach(m *wire.Message, now time.Time) error {
	if t.session.breach != nil {
		return errTwoBreach
	}
	s := t.session.At(t.session.judged(m))
	if err := t.chain.Check(m, now); err != nil {
		return errors.Join(errNotAtTip, err)
	}
	_, err := t.session.Apply(m)
	v, ok := errors.AsType[*wire.Violation](err)
	switch {
	case err == nil:
		return errNoBreach
	case !ok:
		return err
	case s.index(m.From) == noParty && m.From != s.mediator:
		return errNotParty
	case v.Rule == RuleSessionTTL:
		return errTimeIsUp
	}
	s.breach = &Breach{By: m.From, Message: m, Rule: v.Rule}
	if to, ok := Machine.Step(s.state, breach, func(protocol.Role, protocol.Guard) bool { return true }); ok {
		s.state = to
		s.ending = Ending{By: m.From, Type: m.Type, At: m.Time, Breach: true}
		s.live = nil
		if who := s.index(m.From); v.Rule == offer.RuleConstraint && who != noParty {
			s.parties = slices.Clone(s.parties)
			s.parties[who].constraintsViolated++
		}
	}
	t.session = s
	return nil
}
