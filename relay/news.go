package relay

import (
	"context"
	"slices"

	"github.com/concordia-node/concordia/wire"
)

// A news is what one agent's connection has to know of a session, as of one moment.
type news struct {
	info    SessionInfo
	joined  bool
	invited bool // an invitation that is shown and has not been answered
	entries []UnverifiedEntry
}

// news reads a session for an agent, and entries of its log from number from on, or
// from behind the cursor if that is zero. Who has not joined gets none.
func (m *Mailboxes) news(ctx context.Context, agent wire.AgentID, session wire.SessionID, from uint64, most, size int) (n news, err error) {
	now := m.now()
	err = m.driver.View(ctx, func(r Reader) error {
		n = news{}
		s, h, err := m.of(r, agent, session)
		if err != nil {
			return err
		}
		n.joined = s.joined(agent)
		if !n.joined {
			waits := r.Get(key(keyInvitation, string(agent), string(session)))
			n.info = m.info(s, h, 0, now)
			n.invited = waits != nil && n.info.Ended.IsZero() && m.consent(r, agent, wire.AgentID(waits)) != Denied
			return nil
		}
		me, err := decodeMember(r.Get(key(keyMember, string(agent), string(session))))
		if err != nil {
			return err
		}
		cursor := me.cursor
		n.info = m.info(s, h, cursor, now)
		if from == 0 {
			from = cursor + 1
		}
		if most > 0 && from <= h.entries {
			n.entries, err = entries(r, s, from, most, size)
		}
		return err
	})
	return n, err
}

// stateOf returns what RFC 0001 calls the state of a session.
func (m *Mailboxes) stateOf(s *SessionInfo) string {
	switch {
	case !s.Ended.IsZero():
		return "ended"
	case slices.ContainsFunc(s.Parties[1:], func(p Party) bool { return p.Standing == Joined }):
		return "active"
	}
	return "pending"
}
