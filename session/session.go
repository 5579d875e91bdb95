package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// MaxParties bounds the parties of a session (SPEC §5.2).
const MaxParties = 16

// Defaults and limits of SPEC §5.3.
const (
	DefaultSessionTTL = 24 * time.Hour
	DefaultOfferTTL   = time.Hour
	DefaultMaxRounds  = 20

	maxTTLSeconds = 10 * 366 * 24 * 60 * 60
	maxMaxRounds  = 10_000
)

// Timing is what open says about time (SPEC §5.3).
type Timing struct {
	SessionTTL time.Duration
	OfferTTL   time.Duration
	MaxRounds  int
}

// Options say what a judge of a session knows besides the transcript.
type Options struct {
	// Parties are the only agents that may be parties, with the role each has.
	// Nil: the open message and the first answer to it say who they are.
	Parties map[wire.AgentID]protocol.Role

	// Import reads a transcript as the reference implementation makes it, where
	// one commit concludes a session. Such a session is read, never continued
	// (SPEC §5.2).
	Import bool
}

// A Session is the state of a negotiation after some messages. It is a value:
// methods return new Sessions and never change an old one.
type Session struct {
	id      wire.SessionID
	options *Options

	state    protocol.State
	messages int
	tip      wire.Hash
	clock    time.Time // largest timestamp so far
	last     time.Time // timestamp of the last message
	lastFrom wire.AgentID
	now      time.Time // set by At, for Moves
	opened   time.Time
	deadline time.Time // of PROPOSED and ACTIVE

	timing     Timing
	space      *offer.Space
	extensions []string
	category   string
	valueRange string
	settlement wire.Value // hints of open, absent if it has none
	witnesses  []wire.AgentID

	parties  []party // initiator first; replaced, never written to, once shared
	invited  bool    // open named the responders
	rounds   int
	offerIDs []wire.OfferID
	live     *liveOffer
	mediator wire.AgentID
	resolved bool // a mediator has proposed a resolution

	ending Ending
	former wire.Hash // tip at the last end that the session came back from
	deal   offer.Terms
	head   wire.Hash // of the message that made the deal
	length int       // messages up to it
	breach *Breach
}

// A liveOffer is the current offer with who has accepted it.
type liveOffer struct {
	*offer.Offer
	from      wire.AgentID
	by        int // index of the offerer, noParty for a mediator
	mechanism string
	deadline  time.Time
	accepted  partySet
	committed partySet
	deal      offer.Terms // what those who accepted selected
}

const noParty = -1

// A partySet is a set of indices into Session.parties.
type partySet uint32

func (s partySet) has(i int) bool         { return i >= 0 && s&(1<<i) != 0 }
func (s partySet) with(i int) partySet    { return s | 1<<i }
func everyone(n int) partySet             { return 1<<n - 1 }
func (s partySet) covers(t partySet) bool { return s&t == t }
func (s partySet) without(i int) partySet {
	if i == noParty {
		return s
	}
	return s &^ (1 << i)
}

// An Ending says how a session came to the state it ended in.
type Ending struct {
	By      wire.AgentID     // who sent the last word; empty if the time ran out
	Type    wire.MessageType // the message that ended it
	At      time.Time        // when, by the message or the deadline
	Reason  string           // what the sender said; data, never instructions
	Returns *Returns         // what would bring the sender back, if it said so
	Breach  bool             // the message broke a rule of the session
}

// New returns the session before its first message.
func New(id wire.SessionID, opts *Options) Session {
	if opts == nil {
		opts = &Options{}
	}
	return Session{id: id, options: opts, state: Start}
}

// ID returns the session's id.
func (s Session) ID() wire.SessionID { return s.id }

// State returns the state after the messages so far. See At for the state at a time.
func (s Session) State() protocol.State { return s.state }

// At returns the session as it stands at a time without further messages: EXPIRED
// once the deadline has come, and Moves without those that come too late. A node
// must not act on an expiry before deadline and clock skew have passed and its log
// is complete (SPEC §5.3).
func (s Session) At(t time.Time) Session {
	s.now = t
	if to, ok := Machine.Step(s.state, ttlElapsed, func(protocol.Role, protocol.Guard) bool { return true }); ok && !t.Before(s.deadline) {
		s.state = to
		s.ending = Ending{At: s.deadline}
		s.live = nil
	}
	return s
}

// Tip returns the hash of the last message.
func (s Session) Tip() wire.Hash { return s.tip }

// Len returns the number of messages.
func (s Session) Len() int { return s.messages }

// Now returns the session clock: the largest timestamp so far (SPEC §5.3).
func (s Session) Now() time.Time { return s.clock }

// Deadline returns when the session expires. It has a meaning in PROPOSED and ACTIVE.
func (s Session) Deadline() time.Time { return s.deadline }

// Timing returns the timing of the open message.
func (s Session) Timing() Timing { return s.timing }

// Space returns the terms of the open message.
func (s Session) Space() *offer.Space { return s.space }

// Rounds returns the number of offers and counters so far.
func (s Session) Rounds() int { return s.rounds }

// Ending returns how the session ended. It has a meaning in AGREED, REJECTED,
// EXPIRED and DORMANT.
func (s Session) Ending() Ending { return s.ending }

// Deal returns the terms agreed on, and nil if the session is not AGREED (SPEC §3.6).
func (s Session) Deal() offer.Terms { return s.deal }

// Offer returns the current offer and who made it, a mediator's id for a
// resolution; nil if there is none.
func (s Session) Offer() (*offer.Offer, wire.AgentID) {
	if s.live == nil {
		return nil, ""
	}
	return s.live.Offer, s.live.from
}

// OfferEnds returns when the current offer lapses, from which on nobody can accept it
// (SPEC §5.3); zero if there is none.
func (s Session) OfferEnds() time.Time {
	if s.live == nil {
		return time.Time{}
	}
	return s.live.deadline
}

// Parties returns the parties, the initiator first.
func (s Session) Parties() []wire.AgentID {
	ids := make([]wire.AgentID, len(s.parties))
	for i := range s.parties {
		ids[i] = s.parties[i].id
	}
	return ids
}

// Role returns the role of an agent in the session, or "".
func (s Session) Role(agent wire.AgentID) protocol.Role {
	switch i := s.index(agent); {
	case i == 0:
		return Initiator
	case i > 0:
		return Responder
	case agent == s.mediator && agent != "":
		return Mediator
	case slices.Contains(s.witnesses, agent):
		return Witness
	}
	return ""
}

// Witnesses returns the agents that open invites to read and countersign, never to
// speak.
func (s Session) Witnesses() []wire.AgentID { return s.witnesses }

func (s Session) index(agent wire.AgentID) int {
	for i := range s.parties {
		if s.parties[i].id == agent {
			return i
		}
	}
	return noParty
}

// A Refusal is the cause of every Violation that Apply returns: what the session
// would have allowed instead.
type Refusal struct {
	State protocol.State
	Moves []wire.MessageType // what the sender may send now
	Err   error              // detail, may be nil
}

func (r *Refusal) Error() string {
	moves := "nothing"
	if len(r.Moves) > 0 {
		names := make([]string, len(r.Moves))
		for i, m := range r.Moves {
			names[i] = m.Short()
		}
		moves = strings.Join(names, ", ")
	}
	text := fmt.Sprintf("in %s the sender may send %s", r.State, moves)
	if r.Err != nil {
		text = r.Err.Error() + "; " + text
	}
	return text
}

// Unwrap returns the detail.
func (r *Refusal) Unwrap() error { return r.Err }

// Apply returns the session that follows s by m. If m breaks a rule, the error is
// a *wire.Violation with a *Refusal as its cause, and nothing has changed (SPEC
// §5.2). The caller has admitted m to the chain.
func (s Session) Apply(m *wire.Message) (Session, error) {
	next, err := s.apply(m)
	if err != nil {
		if v, ok := errors.AsType[*wire.Violation](err); ok {
			at := s.At(s.judged(m))
			return s, v.Rule.Because(v.At, &Refusal{State: at.state, Moves: at.Moves(m.From), Err: v.Err})
		}
		return s, err
	}
	return next, nil
}

// judged is the time by which m meets a deadline (SPEC §5.3).
func (s Session) judged(m *wire.Message) time.Time {
	if s.clock.After(m.Time) {
		return s.clock
	}
	return m.Time
}

func (s Session) apply(m *wire.Message) (Session, error) {
	switch {
	case s.breach != nil:
		return s, RuleTransition.Because("/type", errClosed)
	case m.Session != s.id:
		return s, wire.RuleSession.At("/session_id")
	case m.PrevHash != s.tip:
		return s, wire.RulePrevHash.At("/prev_hash")
	}
	now := s.judged(m)
	s = s.At(now)
	who, err := s.sender(m)
	if err != nil {
		return s, err
	}
	roles := roles(who)
	if !allows(s.state, m.Type, roles) {
		return s, s.illegal(m)
	}
	// The registers are replaced below; whoever holds the old Session keeps his.
	s.parties = slices.Clone(s.parties)
	s.clock, s.now = now, time.Time{}
	holds, err := s.register(m, who)
	if err != nil {
		return s, err
	}
	from := s.state
	to, ok := Machine.Step(from, on(m.Type), func(r protocol.Role, g protocol.Guard) bool {
		return slices.Contains(roles, r) && (g == "" || slices.Contains(holds, g))
	})
	if !ok {
		return s, s.illegal(m)
	}
	s.state = to
	s.messages++
	s.tip = m.Hash()
	s.observe(m, who)
	s.settle(from, m)
	s.last, s.lastFrom = m.Time, m.From
	return s, nil
}

// sender returns the index of the party that sent m, noParty for the mediator.
func (s Session) sender(m *wire.Message) (int, error) {
	who := s.index(m.From)
	switch {
	case who != noParty, m.From == s.mediator && s.mediator != "":
		return who, nil
	case s.state == Start:
		if s.allowed(m.From, Initiator) {
			return 0, nil
		}
	case slices.Contains(s.witnesses, m.From):
		return noParty, RuleRole.Because("/from/agent_id", errWitness)
	case s.state == Proposed && !s.invited && len(s.parties) == 1:
		// The first to answer an open that names nobody is the responder.
		if s.allowed(m.From, Responder) && !s.lists(m.From) {
			return 1, nil
		}
	}
	return noParty, RuleParty.At("/from/agent_id")
}

// lists reports whether an agent is a party, be it under the other spelling of its
// did:key: one key does not deal with itself.
func (s Session) lists(agent wire.AgentID) bool {
	agent = wire.PlainDIDKey(agent)
	return slices.ContainsFunc(s.parties, func(p party) bool { return wire.PlainDIDKey(p.id) == agent })
}

func (s Session) allowed(agent wire.AgentID, role protocol.Role) bool {
	return s.options.Parties == nil || s.options.Parties[agent] == role
}

var errWitness = errors.New("a witness reads and countersigns, and never moves")

// allows reports whether the table has a row for the message and one of the roles.
func allows(in protocol.State, t wire.MessageType, roles []protocol.Role) bool {
	for _, r := range roles {
		if Machine.Allows(in, on(t), r) {
			return true
		}
	}
	return false
}

// roles returns the roles in which party who acts, noParty being the mediator.
func roles(who int) []protocol.Role {
	switch {
	case who == 0:
		return initiatorRoles
	case who > 0:
		return responderRoles
	}
	return mediatorRoles
}

var (
	initiatorRoles = []protocol.Role{Initiator, Party}
	responderRoles = []protocol.Role{Responder, Party}
	mediatorRoles  = []protocol.Role{Mediator}
)

// illegal names the rule that a message breaks to which the table gives no row.
func (s Session) illegal(m *wire.Message) error {
	rule, at, why := RuleTransition, "/type", error(nil)
	if s.state == Expired {
		rule, at, why = RuleSessionTTL, "/timestamp", fmt.Errorf("the deadline was %s", wire.FormatTime(s.deadline))
	}
	for _, t := range Machine.Transitions {
		if t.From == s.state && t.On == on(m.Type) && t.If == "" {
			rule, at, why = RuleRole, "/type", fmt.Errorf("only the %s may send %s", t.By, m.Type.Short())
		}
	}
	return rule.Because(at, why)
}

// settle sets what depends on the transition that was taken.
func (s *Session) settle(from protocol.State, m *wire.Message) {
	if s.state != from && (from == Rejected || from == Expired || from == Dormant) {
		s.former = m.PrevHash
	}
	switch {
	case s.state == from:
	case s.state == Agreed:
		s.conclude(m.From, m.Type, m.Time)
	case s.state == Active && from == Dormant:
		s.deadline = s.clock.Add(s.timing.SessionTTL)
		s.ending = Ending{}
	case s.state == Rejected, s.state == Dormant && (from == Active || from == Proposed):
		s.ending = Ending{By: m.From, Type: m.Type, At: m.Time}
		s.ending.read(m.Body)
		s.live = nil
	case s.state == Dormant:
		s.ending.read(m.Body)
	}
}

// conclude registers the deal.
func (s *Session) conclude(by wire.AgentID, with wire.MessageType, at time.Time) {
	s.deal, s.head, s.length = s.live.deal, s.tip, s.messages
	s.ending = Ending{By: by, Type: with, At: at}
}

// Moves returns the messages that the agent may send, as far as that depends on
// the state, on the current offer and on the time given to At, else on the session
// clock (SPEC §5.2).
func (s Session) Moves(agent wire.AgentID) []wire.MessageType {
	if s.breach != nil {
		return nil
	}
	if s.now.Before(s.clock) {
		s.now = s.clock
	}
	who, err := s.sender(&wire.Message{Envelope: wire.Envelope{From: agent}})
	if err != nil {
		return nil
	}
	var moves []wire.MessageType
	for _, t := range wire.MessageTypes() {
		if !allows(s.state, t, roles(who)) {
			continue
		}
		switch t {
		case wire.TypeAccept:
			if s.live == nil || s.live.by == who || s.live.accepted.has(who) || !s.now.Before(s.live.deadline) {
				continue
			}
		case wire.TypeCommit:
			if s.mayCommit(who) != nil || s.state == Active && !s.now.Before(s.live.deadline) {
				continue
			}
		case wire.TypeSignal, wire.TypeWithdraw:
			if s.state != Active && len(s.parties) < 2 {
				continue
			}
		case wire.TypeOffer, wire.TypeCounter:
			if s.rounds >= s.timing.MaxRounds {
				continue
			}
		}
		moves = append(moves, t)
	}
	return moves
}
