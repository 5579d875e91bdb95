package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// register checks the body of a legal move and writes the registers it concerns.
// It returns the guards that hold with it. s is the caller's own copy.
func (s *Session) register(m *wire.Message, who int) ([]protocol.Guard, error) {
	switch m.Type {
	case wire.TypeOpen:
		return nil, s.open(m)
	case wire.TypeAcceptSession:
		return s.join(m, who)
	case wire.TypeOffer, wire.TypeCounter:
		return nil, s.offer(m, who)
	case wire.TypeResolve:
		return nil, s.resolve(m)
	case wire.TypeAccept:
		return s.accept(m, who)
	case wire.TypeCommit:
		return s.commit(m, who)
	case wire.TypeConstrain:
		return nil, s.constrain(m, who)
	case wire.TypeInquire:
		r := body(m, "term_ids")
		r.Strings("term_ids")
		return nil, r.Err()
	case wire.TypeSignal:
		return s.signal(m)
	case wire.TypeProposeMediator:
		return nil, s.nominate(m, who)
	default: // decline_session, reject, withdraw
		if m.Type == wire.TypeDeclineSession && who == len(s.parties) {
			s.parties = append(s.parties, party{id: m.From})
		}
		return s.leave(body(m, "reason", "reactivatable", "returns_if"))
	}
}

// body starts reading the body of m.
func body(m *wire.Message, members ...string) wire.Reader {
	r := wire.Read(m.Body, "/body", RuleBody)
	r.Open(members...)
	return r
}

const maxExtensions = 32

var errExtensions = fmt.Errorf("want at most %d names without white space", maxExtensions)

func (s *Session) open(m *wire.Message) error {
	r := body(m, "terms", "timing", "extensions", "category", "value_range", "settlement", "witnesses")
	s.timing = Timing{DefaultSessionTTL, DefaultOfferTTL, DefaultMaxRounds}
	if r.Has("timing") {
		t := r.Object("timing").For(RuleTiming)
		t.Open("session_ttl", "offer_ttl", "max_rounds")
		s.timing.SessionTTL = seconds(t.OptInt("session_ttl", 1, maxTTLSeconds, int64(DefaultSessionTTL/time.Second)))
		s.timing.OfferTTL = seconds(t.OptInt("offer_ttl", 1, maxTTLSeconds, int64(DefaultOfferTTL/time.Second)))
		s.timing.MaxRounds = int(t.OptInt("max_rounds", 1, maxMaxRounds, DefaultMaxRounds))
	}
	if r.Has("extensions") {
		s.extensions = r.Strings("extensions")
		for _, name := range s.extensions {
			if wire.CheckID(name) != nil || len(s.extensions) > maxExtensions {
				r.Fail("extensions", errExtensions)
			}
		}
	}
	s.category, s.valueRange = r.OptText("category"), r.OptText("value_range")
	if err := attest.CheckCategory(s.category); r.Has("category") && err != nil {
		r.Fail("category", err)
	}
	if err := attest.CheckValueRange(s.valueRange); r.Has("value_range") && err != nil {
		r.Fail("value_range", err)
	}
	if o, ok := r.OptObject("settlement"); ok {
		o.Open("expires_after")
		o.OptInt("expires_after", 1, maxTTLSeconds, 0)
		s.settlement = o.Whole()
	}
	if err := r.Err(); err != nil {
		return err
	}
	space, err := offer.ReadSpace(m.Body, "/body")
	if err != nil {
		return err
	}
	s.space = space
	s.opened, s.deadline = m.Time, m.Time.Add(s.timing.SessionTTL)
	s.parties = []party{{id: m.From}}
	s.invited = len(m.To) > 0
	if len(m.To) >= MaxParties {
		return RuleResponders.At("/to")
	}
	for i, id := range m.To {
		at := fmt.Sprintf("/to/%d/agent_id", i)
		if s.lists(id) {
			return RuleResponders.At(at)
		}
		if !s.allowed(id, Responder) {
			return RuleParty.At(at)
		}
		s.parties = append(s.parties, party{id: id})
	}
	return s.invite(r)
}

// invite reads the witnesses of open. None of them is a party, nor can become one.
func (s *Session) invite(r wire.Reader) error {
	if !r.Has("witnesses") {
		return nil
	}
	for i, id := range r.Strings("witnesses") {
		if wire.CheckID(id) != nil || s.Role(wire.AgentID(id)) != "" || s.lists(wire.AgentID(id)) || i >= MaxParties {
			r.FailRule(RuleResponders, "witnesses", nil)
		}
		s.witnesses = append(s.witnesses, wire.AgentID(id))
	}
	return r.Err()
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// join lets a responder in.
func (s *Session) join(m *wire.Message, who int) ([]protocol.Guard, error) {
	r := body(m, "extensions")
	var extensions []string
	if r.Has("extensions") {
		extensions = r.Strings("extensions")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	slices.Sort(extensions)
	if listed := slices.Sorted(slices.Values(s.extensions)); !slices.Equal(listed, extensions) {
		return nil, RuleExtensions.At("/body/extensions")
	}
	if who == len(s.parties) {
		s.parties = append(s.parties, party{id: m.From})
	}
	if s.parties[who].joined {
		return nil, RuleTwice.At("/type")
	}
	s.parties[who].joined = true
	for _, p := range s.parties[1:] {
		if !p.joined {
			return nil, nil
		}
	}
	return []protocol.Guard{allJoined}, nil
}

var errLate = errors.New("the offer had lapsed")

func (s *Session) offer(m *wire.Message, who int) error {
	if s.rounds >= s.timing.MaxRounds {
		return RuleRounds.At("/type")
	}
	o, err := offer.Read(m.Body, "/body", s.space)
	if err != nil {
		return err
	}
	if slices.Contains(s.offerIDs, o.ID) {
		return RuleOfferID.At("/body/offer_id")
	}
	if !o.ValidUntil.IsZero() && !s.clock.Before(o.ValidUntil) {
		return RuleOfferTTL.Because("/body/valid_until", errLate)
	}
	if err := s.allowedByAll(func(c offer.Constraints) error { return c.Check(s.space, o, "/body") }); err != nil {
		return err
	}
	s.rounds++
	s.offerIDs = append(slices.Clip(s.offerIDs), o.ID)
	s.parties[who].offered(o, s.goal(who), s.space)
	s.live = s.newLive(o, m.From, who)
	return nil
}

// newLive makes o the current offer.
func (s *Session) newLive(o *offer.Offer, from wire.AgentID, by int) *liveOffer {
	l := &liveOffer{Offer: o, from: from, by: by, deadline: s.clock.Add(s.timing.OfferTTL)}
	if !o.ValidUntil.IsZero() && o.ValidUntil.Before(l.deadline) {
		l.deadline = o.ValidUntil
	}
	return l
}

// allowedByAll asks the constraints of every party.
func (s *Session) allowedByAll(check func(offer.Constraints) error) error {
	for i := range s.parties {
		if err := check(s.parties[i].constraints); err != nil {
			return err
		}
	}
	return nil
}

var mechanisms = []string{"split", "foa", "tradeoff", "escalation"}

func (s *Session) resolve(m *wire.Message) error {
	r := body(m, "terms", "mechanism")
	mechanism := "split"
	if r.Has("mechanism") {
		mechanism = r.OneOf("mechanism", mechanisms...)
	}
	if err := r.Err(); err != nil {
		return err
	}
	o, err := offer.ReadResolution(m.Body, "/body", s.space)
	if err != nil {
		return err
	}
	if err := s.allowedByAll(func(c offer.Constraints) error { return c.Check(s.space, o, "/body") }); err != nil {
		return err
	}
	s.resolved = true
	s.live = s.newLive(o, m.From, noParty)
	s.live.mechanism = mechanism
	return nil
}

// accept registers the sender's consent to the current offer.
func (s *Session) accept(m *wire.Message, who int) ([]protocol.Guard, error) {
	if err := s.consent(m, who); err != nil {
		return nil, err
	}
	return s.concluded(), nil
}

// consent checks that m accepts the current offer and registers it.
func (s *Session) consent(m *wire.Message, who int) error {
	r := body(m, "offer_id", "accepted_terms", "bundle_id")
	named := wire.OptID[wire.OfferID](r, "offer_id")
	switch {
	case r.Err() != nil:
		return r.Err()
	case s.live == nil:
		return RuleNoOffer.At("/type")
	case named != "" && named != s.live.ID:
		return RuleSuperseded.At("/body/offer_id")
	case s.live.by == who:
		return RuleOwnOffer.At("/from/agent_id")
	case s.live.accepted.has(who):
		return RuleTwice.At("/type")
	case !s.clock.Before(s.live.deadline):
		return RuleOfferTTL.Because("/timestamp", errLate)
	}
	deal, err := s.live.Select(m.Body, "/body", s.space)
	if err != nil {
		return err
	}
	if err := s.allowedByAll(func(c offer.Constraints) error { return c.CheckDeal(s.space, deal, "/body") }); err != nil {
		return err
	}
	if s.live.accepted != 0 && !deal.Value().Equal(s.live.deal.Value()) {
		return RuleOtherDeal.At("/body")
	}
	live := *s.live
	live.accepted, live.deal = live.accepted.with(who), deal
	s.live = &live
	return nil
}

// concluded returns the guard dealConcluded if it holds.
func (s *Session) concluded() []protocol.Guard {
	l := s.live
	awaited := l.committed != 0 && l.by != noParty && !l.committed.has(l.by) && !s.options.Import
	if !l.accepted.covers(s.others()) || awaited {
		return nil
	}
	return []protocol.Guard{dealConcluded}
}

// others are all parties but the one that made the current offer.
func (s *Session) others() partySet {
	return everyone(len(s.parties)).without(s.live.by)
}

// mayCommit reports the rule that keeps the party from a commit.
func (s *Session) mayCommit(who int) *wire.Rule {
	switch {
	case s.live == nil:
		return RuleNoOffer
	case s.live.committed.has(who):
		return RuleTwice
	case s.state == Active && s.live.by == who && !s.live.accepted.covers(s.others()):
		return RuleOwnOffer
	}
	return nil
}

// commit finalises: before the agreement it is an accept that asks the offerer to
// commit as well, after it a repetition of the agreed terms (SPEC §4.2, §5.2).
func (s *Session) commit(m *wire.Message, who int) ([]protocol.Guard, error) {
	if rule := s.mayCommit(who); rule != nil {
		return nil, rule.At("/type")
	}
	consented := s.state == Active && s.live.by != who && !s.live.accepted.has(who)
	switch {
	case consented:
		if err := s.consent(m, who); err != nil {
			return nil, err
		}
	case s.state == Active && !s.clock.Before(s.live.deadline):
		return nil, RuleOfferTTL.Because("/timestamp", errLate)
	}
	r := body(m, "offer_id", "accepted_terms", "bundle_id", "terms")
	if !consented && (r.Has("accepted_terms") || r.Has("bundle_id")) {
		// What is confirmed is what was agreed to.
		deal, err := s.live.Select(m.Body, "/body", s.space)
		if err != nil {
			return nil, err
		}
		if !deal.Value().Equal(s.live.deal.Value()) {
			return nil, RuleOtherDeal.At("/body")
		}
	}
	if id := wire.OptID[wire.OfferID](r, "offer_id"); id != "" && id != s.live.ID {
		r.FailRule(RuleSuperseded, "offer_id", nil)
	}
	if r.Has("terms") && !r.Object("terms").Whole().Equal(s.live.deal.Value()) {
		r.FailRule(RuleOtherDeal, "terms", nil)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	live := *s.live
	live.committed = live.committed.with(who)
	s.live = &live
	return append(s.concluded(), notCommitted), nil
}

// constrain registers hard limits. An offer that they exclude lapses.
func (s *Session) constrain(m *wire.Message, who int) error {
	c, err := s.parties[who].constraints.Declare(m.Body, "/body")
	if err != nil {
		return err
	}
	s.parties[who].constraints = c
	s.parties[who].constraintsDeclared++
	if s.live != nil && (c.Check(s.space, s.live.Offer, "") != nil || c.CheckDeal(s.space, s.live.deal, "") != nil) {
		s.live = nil
	}
	return nil
}

func (s *Session) signal(m *wire.Message) ([]protocol.Guard, error) {
	r := body(m, "priority_ranking", "flexibility", "aspiration", "reservation", "reason", "reactivatable", "returns_if")
	if r.Has("priority_ranking") {
		r.Strings("priority_ranking")
	}
	if f, ok := r.OptObject("flexibility"); ok {
		for id := range f.Whole().Members() {
			f.Text(id)
		}
	}
	r.OptObject("aspiration")
	r.OptObject("reservation")
	return s.leave(r)
}

// nominate registers whom a party would have as mediator; as long as all parties
// name the same agent, it is the mediator (SPEC §8).
func (s *Session) nominate(m *wire.Message, who int) error {
	r := body(m, "mediator_id")
	id := wire.ReadID[wire.AgentID](r, "mediator_id")
	if role := s.Role(id); role != "" && role != Mediator {
		r.FailRule(RuleMediator, "mediator_id", nil)
	}
	if err := r.Err(); err != nil {
		return err
	}
	s.parties[who].nominee = id
	s.mediator = ""
	for i := range s.parties {
		if s.parties[i].nominee != id {
			return nil
		}
	}
	if s.allowed(id, Mediator) {
		s.mediator = id
	}
	return nil
}
