package relay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"reflect"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Mailboxes are the agents, sessions and logs of a relay. All methods may be called
// from many goroutines, and on several relays that share one driver's mail. They fail
// with an [*Error] where they refuse.
type Mailboxes struct {
	driver Driver
	opts   Options
	relay  relayRecord
	recent recents
}

// Options of [NewMailboxes].
type Options struct {
	Limits Limits           // zero fields are those of DefaultLimits
	Now    func() time.Time // the clock; required
	Random io.Reader        // for tokens and challenges, from many goroutines; required

	// Admit judges a message of a session, before it is appended, by what came before;
	// nil admits what has its place in the chain. It may be called again for the same
	// message, and must not change what it reads.
	Admit func(ctx context.Context, before *Before, m *wire.Message) error

	// Reserve reports whether an agent may open sessions; nil: everybody may. Who may not
	// can join those that it is named in.
	Reserve func(agent wire.AgentID) bool
}

// NewMailboxes opens the mail that a driver stores.
func NewMailboxes(ctx context.Context, driver Driver, opts Options) (*Mailboxes, error) {
	if opts.Now == nil || opts.Random == nil {
		return nil, errors.New("opening mailboxes: a clock and a source of chance are required")
	}
	fill(&opts.Limits)
	if err := opts.Limits.check(); err != nil {
		return nil, fmt.Errorf("opening mailboxes: %w", err)
	}
	m := &Mailboxes{driver: driver, opts: opts, recent: recents{seed: maphash.MakeSeed()}}
	var fresh [48]byte
	if _, err := io.ReadFull(opts.Random, fresh[:]); err != nil {
		return nil, fmt.Errorf("opening mailboxes: %w", err)
	}
	err := driver.Update(ctx, func(tx Tx) error {
		m.relay = relayRecord{}
		if known, err := getJSON(tx, keyRelay, &m.relay); known || err != nil {
			return err
		}
		m.relay = relayRecord{ID: "relay_" + hex.EncodeToString(fresh[:16]), Secret: fresh[16:]}
		return putJSON(tx, keyRelay, m.relay)
	})
	if err != nil {
		return nil, fmt.Errorf("opening mailboxes: %w", err)
	}
	return m, nil
}

// fill sets the zero fields to the defaults.
func fill(l *Limits) {
	have, want := reflect.ValueOf(l).Elem(), reflect.ValueOf(defaultLimits)
	for i := range have.NumField() {
		if have.Field(i).IsZero() {
			have.Field(i).Set(want.Field(i))
		}
	}
}

// ID returns the id of the relay, which is that of its mail.
func (m *Mailboxes) ID() string { return m.relay.ID }

// Limits returns the limits in force.
func (m *Mailboxes) Limits() Limits { return m.opts.Limits }

func (m *Mailboxes) now() time.Time { return m.opts.Now().UTC() }

// get reads a session and its head, or nil.
func (m *Mailboxes) get(r Reader, session wire.SessionID) (*sessionRecord, head, error) {
	b := r.Get(key(keySession, string(session)))
	if b == nil {
		return nil, head{}, nil
	}
	s, err := decodeSession(b)
	if err != nil {
		return nil, head{}, err
	}
	if s.Session != session {
		return nil, head{}, fmt.Errorf("reading a session: %w", errDamaged)
	}
	h, err := decodeHead(r.Get(key(keyHead, string(session))))
	h.tip.Session = session
	return s, h, err
}

func (m *Mailboxes) put(tx Tx, s *sessionRecord) {
	tx.Put(key(keySession, string(s.Session)), s.encode())
}

var errNoSession = refuse(CodeNotFound, "there is no such session, or none that you may know of")

// of reads a session that an agent is a party of, and refuses others as if there were
// none.
func (m *Mailboxes) of(r Reader, agent wire.AgentID, session wire.SessionID) (*sessionRecord, head, error) {
	s, h, err := m.get(r, session)
	if err != nil {
		return nil, h, err
	}
	if s == nil || s.party(agent) < 0 {
		return nil, h, errNoSession
	}
	return s, h, nil
}

// joinedBy reads a session that an agent has joined, and the agent's place in it.
func (m *Mailboxes) joinedBy(r Reader, agent wire.AgentID, session wire.SessionID) (s *sessionRecord, h head, me member, err error) {
	if s, h, err = m.of(r, agent, session); err != nil {
		return nil, h, me, err
	}
	if !s.joined(agent) {
		return nil, h, me, errNoSession
	}
	me, err = decodeMember(r.Get(key(keyMember, string(agent), string(session))))
	return s, h, me, err
}

// over reports why and since when a session takes no more entries; "" if it does. What
// the sweeper has not come to yet is over all the same.
func (m *Mailboxes) over(s *sessionRecord, h head, now time.Time) (End, time.Time) {
	idle := h.last.Add(time.Duration(m.opts.Limits.Idle))
	switch {
	case !s.Ended.IsZero():
		return s.Why, s.Ended
	case !now.Before(s.Expires) && !s.Expires.After(idle):
		return EndExpired, s.Expires
	case !now.Before(idle):
		return EndIdle, idle
	}
	return "", time.Time{}
}

var errEnded = refuse(CodeEnded, "the session has ended")

// live refuses a session that is over.
func (m *Mailboxes) live(s *sessionRecord, h head, now time.Time) error {
	if why, _ := m.over(s, h, now); why != "" {
		return errEnded
	}
	return nil
}

// end ends a session that has not ended.
func (m *Mailboxes) end(tx Tx, s *sessionRecord, why End, at time.Time) {
	s.Ended, s.Why = at, why
	add(tx, keyLive, -1)
	add(tx, key(keyLive, string(s.initiator())), -1)
	for _, p := range s.Parties[1:] {
		if p.Standing == Invited {
			m.uninvite(tx, p.Agent, s)
		}
	}
	m.schedule(tx, s, at.Add(time.Duration(m.opts.Limits.Retention)))
}

// schedule sets when the sweeper has to look at a session, and keeps the session.
func (m *Mailboxes) schedule(tx Tx, s *sessionRecord, at time.Time) {
	tx.Delete(key(keyDue, moment(s.Due), string(s.Session)))
	s.Due = at
	tx.Put(key(keyDue, moment(at), string(s.Session)), []byte{})
	m.put(tx, s)
}

// uninvite takes back an unanswered invitation.
func (m *Mailboxes) uninvite(tx Tx, agent wire.AgentID, s *sessionRecord) {
	add(tx, key(keyInvited, string(agent), string(s.initiator())), -1)
	m.hide(tx, agent, s.Session)
}

// hide takes an invitation out of an agent's mailbox.
func (m *Mailboxes) hide(tx Tx, agent wire.AgentID, session wire.SessionID) {
	at := key(keyInvitation, string(agent), string(session))
	if tx.Get(at) != nil {
		tx.Delete(at)
		add(tx, key(keyInvited, string(agent)), -1)
	}
}

// room refuses what takes space when the disk is full.
func (m *Mailboxes) room() error {
	if _, free := m.driver.Size(); free >= 0 && free < m.opts.Limits.FreeSpace {
		return quota("free_bytes", "the relay's disk is full")
	}
	return nil
}

// wake tells the parties of a session that there is news: an entry, or that they or its
// state have changed.
func (m *Mailboxes) wake(s *sessionRecord) {
	for _, p := range s.Parties {
		m.driver.Wake(string(p.Agent), string(s.Session))
	}
}
