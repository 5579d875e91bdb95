package relay

import (
	"context"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Consent is what an agent has decided about the invitations of another.
type Consent string

// The consents. An agent that nothing was decided about is Unknown: a few of its
// invitations are shown.
const (
	Unknown Consent = ""
	Allowed Consent = "a" // its invitations are shown
	Denied  Consent = "d" // they are not, and it does not learn that
)

// SetConsent keeps an agent's decision about another. As long as that is denied, the
// other's invitations are not shown, those before it included.
func (m *Mailboxes) SetConsent(ctx context.Context, agent, about wire.AgentID, consent Consent) error {
	about = wire.PlainDIDKey(about)
	switch {
	case wire.CheckID(about) != nil || about == agent:
		return refuse(CodeBadRequest, "agent_id is no id of another agent")
	case consent != Unknown && consent != Allowed && consent != Denied:
		return refuse(CodeBadRequest, "consent is none")
	}
	return m.driver.Update(ctx, func(tx Tx) error {
		at := key(keyConsent, string(agent), string(about))
		known := tx.Get(at) != nil
		switch {
		case consent == Unknown:
			if known {
				tx.Delete(at)
				add(tx, key(keyConsent, string(agent)), -1)
				m.trim(tx, agent, about)
			}
			return nil
		case !known && !raise(tx, key(keyConsent, string(agent)), 1, m.opts.Limits.Consents):
			return quota("consents_per_agent", "you have decided about as many agents as you may")
		}
		tx.Put(at, []byte(consent))
		if consent == Denied {
			m.trim(tx, agent, about)
		}
		return nil
	})
}

// consent returns what an agent has decided about another.
func (m *Mailboxes) consent(r Reader, agent, about wire.AgentID) Consent {
	return Consent(r.Get(key(keyConsent, string(agent), string(about))))
}

// trim takes the invitations of a sender that was allowed more than a stranger out of
// an agent's mailbox, so that they do not keep those of others out. The sender is
// treated as if they were there. Who is unknown from now on is treated like who is
// denied: others can see how full the mailbox is.
func (m *Mailboxes) trim(tx Tx, agent, sender wire.AgentID) {
	var excess []wire.SessionID
	n := int64(0)
	for session, from := range m.mailbox(tx, keyInvitation, agent, "") {
		if string(from) != string(sender) {
			continue
		}
		if n++; n > m.opts.Limits.InvitationsSender {
			excess = append(excess, session)
		}
	}
	for _, session := range excess {
		m.hide(tx, agent, session)
	}
}

// Consents returns an agent's decisions, in the order of the ids, after a given one: at
// most most.
func (m *Mailboxes) Consents(ctx context.Context, agent, after wire.AgentID, most int) (ids []wire.AgentID, consents []Consent, err error) {
	err = m.driver.View(ctx, func(r Reader) error {
		ids, consents = nil, nil
		prefix := below(keyConsent, string(agent))
		for k, b := range r.Scan(prefix, prefix+string(after)) {
			if len(ids) >= most {
				break
			}
			ids, consents = append(ids, wire.AgentID(strings.TrimPrefix(k, prefix))), append(consents, Consent(b))
		}
		return nil
	})
	return ids, consents, err
}
