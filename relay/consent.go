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

// SetConsent keeps an agent's decision about another. What is denied now hides the
// other's unanswered invitations, too.
func (m *Mailboxes) SetConsent(ctx context.Context, agent, about wire.AgentID, consent Consent) error {
	about = wire.PlainDIDKey(about)
	if wire.CheckID(about) != nil || about == agent {
		return refuse(CodeBadRequest, "agent_id is no id of another agent")
	}
	return m.driver.Update(ctx, func(tx Tx) error {
		at := key(keyConsent, string(agent), string(about))
		known := tx.Get(at) != nil
		switch {
		case consent == Unknown:
			if known {
				tx.Delete(at)
				add(tx, key(keyConsent, string(agent)), -1)
			}
			return nil
		case !known && m.consents(tx, agent) >= uint64(m.opts.Limits.Consents):
			return quota("consents_per_agent", "you have decided about as many agents as you may")
		case !known:
			add(tx, key(keyConsent, string(agent)), 1)
		}
		tx.Put(at, []byte(consent))
		if consent == Denied {
			return m.hide(tx, agent, about)
		}
		return nil
	})
}

func (m *Mailboxes) consents(r Reader, agent wire.AgentID) uint64 {
	return count(r, key(keyConsent, string(agent)))
}

// hide takes the unanswered invitations of a sender out of an agent's mailbox.
func (m *Mailboxes) hide(tx Tx, agent, sender wire.AgentID) error {
	var hidden []wire.SessionID
	err := m.members(tx, agent, "", func(s *sessionRecord, _ head, me member) bool {
		if !me.joined && s.initiator() == sender {
			hidden = append(hidden, s.Session)
		}
		return true
	})
	for _, session := range hidden {
		tx.Delete(key(keyMember, string(agent), string(session)))
		add(tx, key(keyInvited, string(agent)), -1)
	}
	return err
}

// Consents returns an agent's decisions, in the order of the ids, after a given one: at
// most most.
func (m *Mailboxes) Consents(ctx context.Context, agent, after wire.AgentID, most int) (ids []wire.AgentID, consents []Consent, err error) {
	err = m.driver.View(ctx, func(r Reader) error {
		ids, consents = nil, nil
		prefix := below(keyConsent, string(agent))
		for k, b := range r.Scan(prefix, prefix+string(after)) {
			if len(ids) == most {
				break
			}
			ids, consents = append(ids, wire.AgentID(strings.TrimPrefix(k, prefix))), append(consents, Consent(b))
		}
		return nil
	})
	return ids, consents, err
}
