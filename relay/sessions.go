package relay

import (
	"context"
	"fmt"
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

// Create reserves a session for an agent, the initiator. Nobody gets anything of it
// before joining. The same reservation again gives the same answer.
func (m *Mailboxes) Create(ctx context.Context, agent wire.AgentID, want Reservation) (info SessionInfo, err error) {
	if err := m.checkReservation(agent, &want); err != nil {
		return info, err
	}
	now, l := m.now(), &m.opts.Limits
	err = m.driver.Update(ctx, func(tx Tx) error {
		s, h, err := m.get(tx, want.Session)
		switch {
		case err != nil:
			return err
		case s != nil && s.initiator() == agent && sameReservation(s, &want):
			info = infoOf(s, h, 0)
			return nil
		case s != nil:
			return refuse(CodeSessionTaken, "the id of the session is in use")
		case count(tx, keyLive) >= uint64(l.Live):
			return quota("live_sessions", "the relay has as many live sessions as it takes")
		case count(tx, key(keyLive, string(agent))) >= uint64(l.LivePerInitiator):
			return quota("live_sessions_per_initiator", "you have as many live sessions as you may")
		case count(tx, key(keyBytes, string(agent))) >= uint64(l.InitiatorSize):
			return quota("bytes_per_initiator", "your sessions take as much space as they may")
		}
		s = &sessionRecord{
			Session: want.Session, Parties: []Party{{agent, Joined}}, Places: want.Places, Category: want.Category,
			Created: now, Expires: now.Add(want.Life),
		}
		for _, other := range want.To {
			s.Parties = append(s.Parties, Party{other, Invited})
			if err := m.invite(tx, s, other); err != nil {
				return err
			}
		}
		h.last = now
		tx.Put(key(keyHead, string(s.Session)), h.encode())
		tx.Put(key(keyMember, string(agent), string(s.Session)), member{joined: true}.encode())
		add(tx, keyLive, 1)
		add(tx, key(keyLive, string(agent)), 1)
		tx.Put(key(keyDue, moment(m.due(s, h)), string(s.Session)), []byte{})
		info = infoOf(s, h, 0)
		return putJSON(tx, key(keySession, string(s.Session)), s)
	})
	if err == nil {
		for _, p := range info.Parties[1:] {
			m.driver.Wake(string(p.Agent), string(info.Session))
		}
	}
	return info, err
}

func (m *Mailboxes) checkReservation(agent wire.AgentID, want *Reservation) error {
	l := &m.opts.Limits
	if wire.CheckID(want.Session) != nil {
		return refuse(CodeBadRequest, "session_id is no id")
	}
	seen := map[wire.AgentID]bool{agent: true}
	for i, other := range want.To {
		other = wire.PlainDIDKey(other)
		if wire.CheckID(other) != nil || seen[other] {
			return refuse(CodeBadRequest, fmt.Sprintf("to[%d] is no id of another agent, or stands there twice", i))
		}
		seen[other] = true
		want.To[i] = other
	}
	if want.Places < 0 || len(want.To)+want.Places < 1 || int64(len(want.To)+want.Places) >= l.Parties {
		return quota("parties_per_session", "a session has at least one other party, and not more than that")
	}
	if want.Life == 0 {
		want.Life = time.Duration(l.SessionLife)
	}
	if want.Life < time.Second || want.Life > time.Duration(l.MaxSessionLife) {
		return quota("max_session_seconds", "a session lives for at least a second, and not longer than that")
	}
	if want.Category != "" && !isWord(want.Category) {
		return refuse(CodeBadRequest, "category: "+errWord.Error())
	}
	return nil
}

func sameReservation(s *sessionRecord, want *Reservation) bool {
	var named []wire.AgentID
	for _, p := range s.Parties[1:] {
		named = append(named, p.Agent)
	}
	return slices.Equal(named, want.To) && s.Places == want.Places && s.Category == want.Category && s.Expires.Sub(s.Created) == want.Life
}

// invite makes an invitation. Whoever has denied the initiator is not told, and the
// initiator is not told that either.
func (m *Mailboxes) invite(tx Tx, s *sessionRecord, to wire.AgentID) error {
	l, from := &m.opts.Limits, s.initiator()
	all, ofSender := key(keyInvited, string(to)), key(keyInvited, string(to), string(from))
	consent := tx.Get(key(keyConsent, string(to), string(from)))
	switch {
	case string(consent) != string(Allowed) && count(tx, ofSender) >= uint64(l.InvitationsSender):
		return quota("invitations_per_sender", "an agent has as many unanswered invitations of yours as it takes")
	case count(tx, all) >= uint64(l.Invitations):
		return quota("invitations_per_agent", "an agent has as many unanswered invitations as it takes")
	}
	add(tx, ofSender, 1)
	if string(consent) != string(Denied) {
		add(tx, all, 1)
		tx.Put(key(keyMember, string(to), string(s.Session)), member{}.encode())
	}
	return nil
}

// due is when the sweeper has to look at a live session.
func (m *Mailboxes) due(s *sessionRecord, h head) time.Time {
	idle := h.last.Add(time.Duration(m.opts.Limits.Idle))
	if idle.Before(s.Expires) {
		return idle
	}
	return s.Expires
}

func infoOf(s *sessionRecord, h head, cursor uint64) SessionInfo {
	return SessionInfo{s.Session, s.Parties, s.Places, s.Category, s.Created, s.Expires, s.Ended, s.Why, h.entries, cursor}
}

// Join makes an agent a party that reads and writes: one who was named, or where
// places are free whoever comes first. It may be called again.
func (m *Mailboxes) Join(ctx context.Context, agent wire.AgentID, session wire.SessionID) (info SessionInfo, err error) {
	now := m.now()
	var s *sessionRecord
	err = m.driver.Update(ctx, func(tx Tx) error {
		var h head
		var err error
		if s, h, err = m.get(tx, session); err != nil {
			return err
		}
		if s == nil {
			return errNoSession
		}
		i := s.party(agent)
		switch {
		case i < 0 && (s.Places == 0 || !s.isLive(now)):
			return errNoSession
		case i >= 0 && s.Parties[i].Standing == Joined:
			info = infoOf(s, h, m.cursor(tx, agent, session))
			return nil
		case i >= 0 && s.Parties[i].Standing == Declined:
			return refuse(CodeDeclined, "you have declined")
		case !s.isLive(now):
			return refuse(CodeEnded, "the session has ended")
		case i < 0:
			s.Places--
			s.Parties = append(s.Parties, Party{agent, Joined})
		default:
			m.uninvite(tx, agent, s)
			s.Parties[i].Standing = Joined
		}
		if from := key(keyConsent, string(agent), string(s.initiator())); tx.Get(from) == nil && m.consents(tx, agent) < uint64(m.opts.Limits.Consents) {
			tx.Put(from, []byte(Allowed)) // who comes allows
			add(tx, key(keyConsent, string(agent)), 1)
		}
		tx.Put(key(keyMember, string(agent), string(session)), member{joined: true}.encode())
		for _, e := range tx.Entries(string(session), 1) {
			sender, err := senderOf(s, e)
			if err != nil {
				return err
			}
			m.undelivered(tx, agent, sender, 1)
		}
		info = infoOf(s, h, 0)
		return putJSON(tx, key(keySession, string(session)), s)
	})
	if err == nil {
		m.wake(s)
	}
	return info, err
}

// Decline answers an invitation with no. If nobody can come any more, the session
// ends.
func (m *Mailboxes) Decline(ctx context.Context, agent wire.AgentID, session wire.SessionID) error {
	return m.change(ctx, agent, session, func(tx Tx, s *sessionRecord, now time.Time) error {
		i := s.party(agent)
		switch {
		case s.Parties[i].Standing == Declined:
			return nil
		case s.Parties[i].Standing == Joined:
			return refuse(CodeBadRequest, "you have joined: close the session instead")
		case !s.isLive(now):
			return refuse(CodeEnded, "the session has ended")
		}
		m.uninvite(tx, agent, s)
		s.Parties[i].Standing = Declined
		if s.Places == 0 && !slices.ContainsFunc(s.Parties[1:], func(p Party) bool { return p.Standing != Declined }) {
			return m.end(tx, s, EndDeclined, now)
		}
		return putJSON(tx, key(keySession, string(session)), s)
	})
}

// Close ends a session for all its parties. Its log can be read until the retention is
// over.
func (m *Mailboxes) Close(ctx context.Context, agent wire.AgentID, session wire.SessionID) error {
	return m.change(ctx, agent, session, func(tx Tx, s *sessionRecord, now time.Time) error {
		switch {
		case !s.joined(agent):
			return refuse(CodeNotFound, "you have not joined")
		case !s.Ended.IsZero():
			return nil
		}
		return m.end(tx, s, EndClosed, now)
	})
}

// change changes a session that an agent is a party of, and tells the others.
func (m *Mailboxes) change(ctx context.Context, agent wire.AgentID, session wire.SessionID, do func(Tx, *sessionRecord, time.Time) error) error {
	now := m.now()
	var s *sessionRecord
	err := m.driver.Update(ctx, func(tx Tx) (err error) {
		if s, _, err = m.of(tx, agent, session); err != nil {
			return err
		}
		return do(tx, s, now)
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
		if !s.joined(agent) {
			h.entries = 0
		}
		info = infoOf(s, h, m.cursor(r, agent, session))
		return nil
	})
	return info, err
}

// Sessions returns at most most sessions that an agent has joined, in the order of
// their ids, after a given one.
func (m *Mailboxes) Sessions(ctx context.Context, agent wire.AgentID, after wire.SessionID, most int) (list []SessionInfo, err error) {
	err = m.driver.View(ctx, func(r Reader) error {
		list = nil
		return m.members(r, agent, after, func(s *sessionRecord, h head, me member) bool {
			if me.joined {
				list = append(list, infoOf(s, h, me.cursor))
			}
			return len(list) < most
		})
	})
	return list, err
}

// Invitations returns the sessions that an agent is asked to join and has not
// answered. There are at most as many as the limit says.
func (m *Mailboxes) Invitations(ctx context.Context, agent wire.AgentID) (list []Invitation, err error) {
	now := m.now()
	err = m.driver.View(ctx, func(r Reader) error {
		list = nil
		return m.members(r, agent, "", func(s *sessionRecord, _ head, me member) bool {
			if !me.joined && s.isLive(now) {
				list = append(list, Invitation{s.Session, s.initiator(), s.Category, s.Created, s.Expires})
			}
			return true
		})
	})
	return list, err
}

// members visits the sessions in an agent's mailbox until visit returns false.
func (m *Mailboxes) members(r Reader, agent wire.AgentID, after wire.SessionID, visit func(*sessionRecord, head, member) bool) error {
	prefix := below(keyMember, string(agent))
	for k, b := range r.Scan(prefix, prefix+string(after)) {
		me, err := decodeMember(b)
		if err != nil {
			return err
		}
		s, h, err := m.get(r, wire.SessionID(strings.TrimPrefix(k, prefix)))
		if err != nil {
			return err
		}
		if s != nil && !visit(s, h, me) {
			return nil
		}
	}
	return nil
}

func (m *Mailboxes) cursor(r Reader, agent wire.AgentID, session wire.SessionID) uint64 {
	return number(r.Get(key(keyMember, string(agent), string(session))))
}
