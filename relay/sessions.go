package relay

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Reservation is a session that an agent asks for.
type Reservation struct {
	Session  wire.SessionID
	To       []wire.AgentID // who may join
	Places   int            // for agents that are not named, first come first served
	Life     time.Duration  // zero: the relay's default
	Category string         // what invitations show; a dotted lower-case word or nothing
}

// A SessionInfo is what a party may know of a relay session.
type SessionInfo struct {
	Session  wire.SessionID
	Parties  []Party // the initiator first
	Places   int     // that nobody has taken
	Category string
	Created  time.Time
	Expires  time.Time
	Ended    time.Time // zero: it has not
	Why      End
	Length   uint64 // entries in the log, for those who joined
	Cursor   uint64 // the last entry that the agent acknowledged
}

// An Invitation is a session that an agent is asked to join.
type Invitation struct {
	Session  wire.SessionID
	From     wire.AgentID
	Category string
	Created  time.Time
	Expires  time.Time
}

// partyCost is what each party of a session that is kept counts for, in bytes, beside
// the entries: nobody has sessions without end.
const partyCost = 1024

// Create reserves a session for an agent, the initiator. Nobody gets anything of it
// before joining. The same reservation again gives the same answer.
func (m *Mailboxes) Create(ctx context.Context, agent wire.AgentID, want Reservation) (SessionInfo, error) {
	if err := m.checkReservation(agent, &want); err != nil {
		return SessionInfo{}, err
	}
	info, err := m.create(ctx, agent, &want)
	if CodeOf(err) == CodeQuota { // what is over does not count, even if nobody has swept
		if swept, failed := m.Sweep(ctx); failed == nil && swept.Ended+swept.Removed > 0 {
			info, err = m.create(ctx, agent, &want)
		}
	}
	if err != nil {
		return SessionInfo{}, err
	}
	for _, p := range info.Parties {
		m.driver.Wake(string(p.Agent), string(info.Session))
	}
	return info, nil
}

func (m *Mailboxes) create(ctx context.Context, agent wire.AgentID, want *Reservation) (info SessionInfo, err error) {
	l := &m.opts.Limits
	cost := uint64(1+len(want.To)+want.Places) * partyCost
	err = m.driver.Update(ctx, func(tx Tx) error {
		now := m.now()
		s, h, err := m.get(tx, want.Session)
		switch {
		case err != nil:
			return err
		case s != nil && s.initiator() == agent && sameReservation(s, want):
			me, err := decodeMember(tx.Get(key(keyMember, string(agent), string(s.Session))))
			info = m.info(s, h, me.cursor, now)
			return err
		case s != nil:
			return refuse(CodeSessionTaken, "the id of the session is in use")
		case !raise(tx, keyLive, 1, l.Live):
			return quota("live_sessions", "the relay has as many live sessions as it takes")
		case !raise(tx, key(keyLive, string(agent)), 1, l.LivePerInitiator):
			return quota("live_sessions_per_initiator", "you have as many live sessions as you may")
		case !raise(tx, key(keyBytes, string(agent)), cost, l.InitiatorSize):
			return quota("bytes_per_initiator", "your sessions take as much space as they may")
		}
		if err := m.room(); err != nil {
			return err
		}
		s = &sessionRecord{
			Session: want.Session, Parties: []Party{{agent, Joined}}, Named: 1 + len(want.To), Places: want.Places,
			Category: want.Category, Created: now, Expires: now.Add(want.Life),
		}
		for _, other := range want.To {
			s.Parties = append(s.Parties, Party{other, Invited})
			if err := m.invite(tx, s, other); err != nil {
				return err
			}
		}
		h.last = now
		tx.Put(key(keyHead, string(s.Session)), h.encode())
		tx.Put(key(keyMember, string(agent), string(s.Session)), new(member).encode())
		m.schedule(tx, s, m.due(s, h))
		info = m.info(s, h, 0, now)
		return nil
	})
	return info, err
}

func (m *Mailboxes) checkReservation(agent wire.AgentID, want *Reservation) error {
	l := &m.opts.Limits
	if m.opts.Reserve != nil && !m.opts.Reserve(agent) {
		return refuse(CodeRejected, "this relay opens no sessions for you")
	}
	if wire.CheckID(want.Session) != nil {
		return refuse(CodeBadRequest, "session_id is no id")
	}
	if int64(want.Places) > l.Parties || int64(1+len(want.To)+want.Places) > l.Parties {
		return quota("parties_per_session", "a session has not as many parties")
	}
	if want.Places < 0 || len(want.To)+want.Places < 1 {
		return refuse(CodeBadRequest, "a session has at least one other party")
	}
	seen := map[wire.AgentID]bool{agent: true}
	want.To = slices.Clone(want.To)
	for i, other := range want.To {
		other = wire.PlainDIDKey(other)
		if wire.CheckID(other) != nil || seen[other] {
			return refuse(CodeBadRequest, fmt.Sprintf("to[%d] is no id of another agent, or stands there twice", i))
		}
		seen[other] = true
		want.To[i] = other
	}
	switch {
	case want.Life == 0:
		want.Life = time.Duration(l.SessionLife)
	case want.Life < time.Second:
		return refuse(CodeBadRequest, "a session lives for at least a second")
	case want.Life > time.Duration(l.MaxSessionLife):
		return quota("max_session_seconds", "a session does not live that long")
	}
	if want.Category != "" && !isWord(want.Category) {
		return refuse(CodeBadRequest, "category: "+errWord.Error())
	}
	return nil
}

func sameReservation(s *sessionRecord, want *Reservation) bool {
	same := func(p Party, other wire.AgentID) bool { return p.Agent == other }
	return slices.EqualFunc(s.Parties[1:s.Named], want.To, same) && s.Places == want.Places &&
		s.Category == want.Category && s.Expires.Sub(s.Created) == want.Life
}

// BUG(relay): Whoever reaches the relay can register, so that limits bound agents and
// not people: many addresses have many agents, which can take up agents and
// live_sessions together. The invitations of those that are denied keep their part of
// invitations_per_agent until they end, since nothing may depend on that.

// invite makes an invitation. It is made for whoever has denied the initiator, too, and
// not shown: nothing that the initiator can see depends on it.
func (m *Mailboxes) invite(tx Tx, s *sessionRecord, to wire.AgentID) error {
	l, from := &m.opts.Limits, s.initiator()
	share, all := l.InvitationsSender, l.Invitations
	if m.consent(tx, to, from) == Allowed {
		share, all = math.MaxInt64, 2*min(all, math.MaxInt64/2) // strangers do not keep it out, however many they are
	}
	switch {
	case !raise(tx, key(keyInvited, string(to), string(from)), 1, share):
		return quota("invitations_per_sender", "an agent has as many unanswered invitations of yours as it takes")
	case !raise(tx, key(keyInvited, string(to)), 1, all):
		return quota("invitations_per_agent", "an agent has as many unanswered invitations as it takes")
	}
	tx.Put(key(keyInvitation, string(to), string(s.Session)), []byte(from))
	return nil
}

// due is when a live session will be over, unless something is said in it.
func (m *Mailboxes) due(s *sessionRecord, h head) time.Time {
	idle := h.last.Add(time.Duration(m.opts.Limits.Idle))
	if idle.Before(s.Expires) {
		return idle
	}
	return s.Expires
}

func (m *Mailboxes) info(s *sessionRecord, h head, cursor uint64, now time.Time) SessionInfo {
	why, ended := m.over(s, h, now)
	return SessionInfo{s.Session, s.Parties, s.free(), s.Category, s.Created, s.Expires, ended, why, h.entries, cursor}
}

// Join makes an agent a party that reads and writes: one who was named, or where
// places are free whoever comes first. It may be called again.
func (m *Mailboxes) Join(ctx context.Context, agent wire.AgentID, session wire.SessionID) (info SessionInfo, err error) {
	var s *sessionRecord
	var changed bool
	err = m.driver.Update(ctx, func(tx Tx) (err error) {
		now := m.now()
		var h head
		changed = false
		if s, h, err = m.get(tx, session); err != nil {
			return err
		}
		if s == nil {
			return errNoSession
		}
		i, ended := s.party(agent), m.live(s, h, now)
		switch {
		case i < 0 && (s.free() == 0 || ended != nil):
			return errNoSession
		case i >= 0 && s.Parties[i].Standing == Joined:
			me, err := decodeMember(tx.Get(key(keyMember, string(agent), string(session))))
			info = m.info(s, h, me.cursor, now)
			return err
		case i >= 0 && s.Parties[i].Standing == Declined:
			return refuse(CodeDeclined, "you have declined")
		case ended != nil:
			return ended
		case i < 0:
			s.Parties = append(s.Parties, Party{agent, Joined})
		default:
			m.uninvite(tx, agent, s)
			s.Parties[i].Standing = Joined
		}
		if m.consent(tx, agent, s.initiator()) == Unknown && raise(tx, key(keyConsent, string(agent)), 1, m.opts.Limits.Consents) {
			tx.Put(key(keyConsent, string(agent), string(s.initiator())), []byte(Allowed)) // who comes allows
		}
		me := member{since: h.entries, seen: h.sent}
		tx.Put(key(keyMember, string(agent), string(session)), me.encode())
		m.put(tx, s)
		info, changed = m.info(s, h, 0, now), true
		return nil
	})
	if err != nil {
		return SessionInfo{}, err
	}
	if changed {
		m.wake(s)
	}
	return info, nil
}

// Decline answers an invitation with no. If nobody can come any more, the session
// ends.
func (m *Mailboxes) Decline(ctx context.Context, agent wire.AgentID, session wire.SessionID) error {
	return m.change(ctx, agent, session, func(tx Tx, s *sessionRecord, h head, now time.Time) error {
		i := s.party(agent)
		switch {
		case s.Parties[i].Standing == Declined:
			return nil
		case s.Parties[i].Standing == Joined:
			return refuse(CodeBadRequest, "you have joined: close the session instead")
		}
		if err := m.live(s, h, now); err != nil {
			return err
		}
		m.uninvite(tx, agent, s)
		s.Parties[i].Standing = Declined
		if s.free() == 0 && !slices.ContainsFunc(s.Parties[1:], func(p Party) bool { return p.Standing != Declined }) {
			m.end(tx, s, EndDeclined, now)
		}
		m.put(tx, s)
		return nil
	})
}

// Close ends a session for all its parties. Its log can be read until the retention is
// over.
func (m *Mailboxes) Close(ctx context.Context, agent wire.AgentID, session wire.SessionID) error {
	return m.change(ctx, agent, session, func(tx Tx, s *sessionRecord, h head, now time.Time) error {
		if !s.joined(agent) {
			return refuse(CodeNotFound, "you have not joined")
		}
		if m.live(s, h, now) == nil {
			m.end(tx, s, EndClosed, now)
		}
		return nil
	})
}

// change changes a session that an agent is a party of, and tells the others.
func (m *Mailboxes) change(ctx context.Context, agent wire.AgentID, session wire.SessionID, do func(Tx, *sessionRecord, head, time.Time) error) error {
	var s *sessionRecord
	err := m.driver.Update(ctx, func(tx Tx) (err error) {
		var h head
		if s, h, err = m.of(tx, agent, session); err != nil {
			return err
		}
		return do(tx, s, h, m.now())
	})
	if err == nil {
		m.wake(s)
	}
	return err
}

// Session returns what an agent may know of one of its sessions.
func (m *Mailboxes) Session(ctx context.Context, agent wire.AgentID, session wire.SessionID) (info SessionInfo, err error) {
	err = m.driver.View(ctx, func(r Reader) error {
		s, h, err := m.of(r, agent, session)
		if err != nil {
			return err
		}
		var me member
		if s.joined(agent) {
			me, err = decodeMember(r.Get(key(keyMember, string(agent), string(session))))
		}
		info = m.info(s, h, me.cursor, m.now())
		if !s.joined(agent) {
			info.Length = 0
		}
		return err
	})
	if err != nil {
		return SessionInfo{}, err
	}
	return info, nil
}

// Sessions returns at most most sessions that an agent has joined, in the order of
// their ids, after a given one. One whose records are damaged is left out.
func (m *Mailboxes) Sessions(ctx context.Context, agent wire.AgentID, after wire.SessionID, most int) (list []SessionInfo, err error) {
	now := m.now()
	err = m.driver.View(ctx, func(r Reader) error {
		list = nil
		for session, b := range m.mailbox(r, keyMember, agent, after) {
			if len(list) >= most {
				break
			}
			me, damaged := decodeMember(b)
			if s, h, err := m.get(r, session); err == nil && s != nil && damaged == nil {
				list = append(list, m.info(s, h, me.cursor, now))
			}
		}
		return nil
	})
	return list, err
}

// Invitations returns the sessions that an agent is asked to join and has not
// answered, but those of agents that it has denied. There are at most as many as the
// limit says. One whose records are damaged is left out.
func (m *Mailboxes) Invitations(ctx context.Context, agent wire.AgentID) (list []Invitation, err error) {
	now := m.now()
	err = m.driver.View(ctx, func(r Reader) error {
		list = nil
		for session, from := range m.mailbox(r, keyInvitation, agent, "") {
			if m.consent(r, agent, wire.AgentID(from)) == Denied {
				continue
			}
			if s, h, err := m.get(r, session); err == nil && s != nil && m.live(s, h, now) == nil {
				list = append(list, Invitation{s.Session, s.initiator(), s.Category, s.Created, s.Expires})
			}
		}
		return nil
	})
	return list, err
}

// mailbox yields the records of one kind that an agent has of sessions.
func (m *Mailboxes) mailbox(r Reader, kind string, agent wire.AgentID, after wire.SessionID) iter.Seq2[wire.SessionID, []byte] {
	return func(yield func(wire.SessionID, []byte) bool) {
		prefix := below(kind, string(agent))
		for k, b := range r.Scan(prefix, prefix+string(after)) {
			if !yield(wire.SessionID(strings.TrimPrefix(k, prefix)), b) {
				return
			}
		}
	}
}
