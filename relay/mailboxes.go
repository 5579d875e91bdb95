package relay

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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
}

// Options of [NewMailboxes].
type Options struct {
	Limits Limits           // zero fields are those of DefaultLimits
	Now    func() time.Time // the clock; required
	Random io.Reader        // for tokens and challenges; required

	// Admit judges a message of a session, before it is appended, by what came before;
	// nil admits what has its place in the chain. It may be called again for the same
	// message, and must not change what it reads.
	Admit func(ctx context.Context, before *Before, m *wire.Message) error
}

// NewMailboxes opens the mail that a driver stores.
func NewMailboxes(ctx context.Context, driver Driver, opts Options) (*Mailboxes, error) {
	if opts.Now == nil || opts.Random == nil {
		return nil, errors.New("opening mailboxes: a clock and a source of chance are required")
	}
	fill(&opts.Limits)
	m := &Mailboxes{driver: driver, opts: opts}
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

// get reads a session and its head.
func (m *Mailboxes) get(r Reader, session wire.SessionID) (*sessionRecord, head, error) {
	s := new(sessionRecord)
	known, err := getJSON(r, key(keySession, string(session)), s)
	if err != nil || !known {
		return nil, head{}, err
	}
	if len(s.Parties) == 0 || s.Session != session {
		return nil, head{}, errDamaged
	}
	h, err := decodeHead(r.Get(key(keyHead, string(session))))
	h.tip.Session = session
	return s, h, err
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

// isLive reports whether a session takes entries at a time.
func (s *sessionRecord) isLive(now time.Time) bool { return s.Ended.IsZero() && now.Before(s.Expires) }

// end ends a session that has not ended.
func (m *Mailboxes) end(tx Tx, s *sessionRecord, why End, now time.Time) error {
	s.Ended, s.Why = now, why
	add(tx, keyLive, -1)
	add(tx, key(keyLive, string(s.initiator())), -1)
	for _, p := range s.Parties[1:] {
		if p.Standing == Invited {
			m.uninvite(tx, p.Agent, s)
		}
	}
	tx.Put(key(keyDue, moment(now.Add(time.Duration(m.opts.Limits.Retention))), string(s.Session)), []byte{})
	return putJSON(tx, key(keySession, string(s.Session)), s)
}

// uninvite takes back an unanswered invitation.
func (m *Mailboxes) uninvite(tx Tx, agent wire.AgentID, s *sessionRecord) {
	add(tx, key(keyInvited, string(agent), string(s.initiator())), -1)
	at := key(keyMember, string(agent), string(s.Session))
	if tx.Get(at) != nil { // else it was not shown
		tx.Delete(at)
		add(tx, key(keyInvited, string(agent)), -1)
	}
}

// wake tells the parties of a session that there is news.
func (m *Mailboxes) wake(s *sessionRecord) {
	for _, p := range s.Parties {
		m.driver.Wake(string(p.Agent), string(s.Session))
	}
}

func number(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}
