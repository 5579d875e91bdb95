package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An EntryKind says what an entry of a log is.
type EntryKind byte

// The kinds of entries.
const (
	KindMessage   EntryKind = 'm'
	KindEnclosure EntryKind = 'e'
)

// An UnverifiedEntry is an entry of a session's log, as a relay hands it out.
type UnverifiedEntry struct {
	Number   uint64 // from 1
	Kind     EntryKind
	Appended time.Time    // as the relay says
	Sender   wire.AgentID // as the relay says
	Text     []byte       // canonical JSON of the message or enclosure

	id []byte // of the message or enclosure, canonical JSON too: a part of Text
}

// An Appended is where an entry has its place.
type Appended struct {
	Number uint64
	Hash   wire.Hash
}

// Before is what was in the log of a session before a message.
type Before struct {
	Session wire.SessionID
	Tip     wire.Tip
	reader  func(func(Reader) error) error
}

// Key implements [wire.Keys]: it is the key that an agent's id is bound to at the relay.
func (b *Before) Key(agent wire.AgentID, _ time.Time) (wire.PublicKey, error) {
	var a agentRecord
	known := false
	err := b.reader(func(r Reader) (err error) {
		a = agentRecord{}
		known, err = getJSON(r, key(keyAgent, string(wire.PlainDIDKey(agent))), &a)
		return err
	})
	switch {
	case err != nil:
		return wire.PublicKey{}, err
	case !known:
		return wire.PublicKey{}, wire.RuleUnknownKey.At("")
	}
	return wire.DecodePublicKey(a.Key)
}

// Messages yields the messages that are in the log, oldest first.
func (b *Before) Messages() iter.Seq2[wire.Value, error] {
	return func(yield func(wire.Value, error) bool) {
		stopped := false
		err := b.reader(func(r Reader) error {
			for _, e := range r.Entries(string(b.Session), 1) {
				if len(e) < entryHeader || EntryKind(e[0]) != KindMessage {
					continue
				}
				v, err := wire.Parse(e[entryHeader:], wire.DocumentLimits)
				if err != nil {
					return err
				}
				if !yield(v, nil) {
					stopped = true
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(wire.Value{}, err)
		}
	}
}

// Append adds a message or an enclosure of an agent to the log of its session, and
// returns when it is durable. The same once more gives the same answer. (SPEC §9.3)
func (m *Mailboxes) Append(ctx context.Context, who Agent, v wire.Value) (Appended, error) {
	if _, ok := v.Get("concordia_enclosure"); ok {
		if int64(len(v.Canonical())) > m.opts.Limits.EnclosureSize {
			return Appended{}, quota("enclosure_bytes", "the enclosure is too large")
		}
		e, err := VerifyEnclosure(v, who)
		if err != nil {
			return Appended{}, rejected(err)
		}
		return m.append(ctx, &parcel{who.ID, e.Session, string(e.ID), e.value, e.Hash(), KindEnclosure, nil})
	}
	if int64(len(v.Canonical())) > m.opts.Limits.MessageSize {
		return Appended{}, quota("message_bytes", "the message is too large")
	}
	u, err := wire.ReadMessage(v)
	if err != nil {
		return Appended{}, rejected(err)
	}
	msg, err := u.Verify(who)
	if err != nil {
		return Appended{}, rejected(err)
	}
	if m.opts.Admit != nil {
		if err := m.admit(ctx, who.ID, msg); err != nil {
			return Appended{}, err
		}
	}
	return m.append(ctx, &parcel{who.ID, msg.Session, string(msg.ID), v, msg.Hash(), KindMessage, msg})
}

// admit asks the session's rules, if the message can have its place at all.
func (m *Mailboxes) admit(ctx context.Context, agent wire.AgentID, msg *wire.Message) error {
	var h head
	ours := false
	err := m.driver.View(ctx, func(r Reader) error {
		s, head, err := m.get(r, msg.Session)
		h, ours = head, s != nil && s.joined(agent)
		return err
	})
	if err != nil || !ours || msg.PrevHash != h.tip.Hash {
		return err // append says so
	}
	before := &Before{msg.Session, h.tip, func(f func(Reader) error) error { return m.driver.View(ctx, f) }}
	return rejected(m.opts.Admit(ctx, before, msg))
}

// A parcel is what is to be appended, verified.
type parcel struct {
	from    wire.AgentID
	session wire.SessionID
	id      string
	value   wire.Value
	hash    wire.Hash
	kind    EntryKind
	message *wire.Message // nil: an enclosure
}

func (m *Mailboxes) append(ctx context.Context, p *parcel) (done Appended, err error) {
	var s *sessionRecord
	var fresh bool
	var now time.Time
	id := wire.Text(p.id).Canonical()
	err = m.driver.Update(ctx, func(tx Tx) error {
		now = m.now()
		var h head
		var err error
		if s, h, err = m.of(tx, p.from, p.session); err != nil {
			return err
		}
		from := s.party(p.from)
		if s.Parties[from].Standing != Joined {
			return errNoSession
		}
		text := p.value.Canonical()
		at := key(keyID, string(p.session), p.id)
		if known := tx.Get(at); known != nil {
			done, fresh = Appended{number(known), p.hash}, false
			return again(tx, p, done.Number)
		}
		if err := m.takes(tx, s, &h, p, now); err != nil {
			return err
		}
		h.entries++
		h.bytes += uint64(len(text))
		h.last = now
		h.sent.add(from, 1)
		if p.message != nil {
			h.tip.Append(p.message)
		}
		tx.Append(string(p.session), h.entries, encodeEntry(p.kind, from, now, text, id))
		tx.Put(at, binary.BigEndian.AppendUint64(nil, h.entries))
		tx.Put(key(keyHead, string(p.session)), h.encode())
		done, fresh = Appended{h.entries, p.hash}, true
		return nil
	})
	if err != nil {
		return Appended{}, err
	}
	if fresh {
		m.recent.remember(p.session, UnverifiedEntry{
			Number: done.Number, Kind: p.kind, Appended: now, Sender: p.from, Text: []byte(p.value.Canonical()), id: []byte(id),
		})
		m.wake(s)
	}
	return done, nil
}

// again reports whether entry n is the parcel.
func again(r Reader, p *parcel, n uint64) error {
	for i, e := range r.Entries(string(p.session), n) {
		if i != n || len(e) < entryHeader {
			break
		}
		if string(e[entryHeader:]) != p.value.Canonical() {
			return refuse(CodeIDConflict, "another entry has the id")
		}
		return nil
	}
	return fmt.Errorf("reading an entry: %w", errDamaged)
}

// takes reports whether a session takes an entry now, and counts it.
func (m *Mailboxes) takes(tx Tx, s *sessionRecord, h *head, p *parcel, now time.Time) error {
	if err := m.live(s, *h, now); err != nil {
		return err
	}
	others := func(to Party) bool { return to.Standing == Joined && to.Agent != p.from }
	if !slices.ContainsFunc(s.Parties, others) {
		return refuse(CodeNotActive, "nobody else has joined yet")
	}
	if p.message != nil {
		if err := h.tip.Admit(p.message, now); err != nil {
			return conflict(err, h)
		}
	}
	l := &m.opts.Limits
	for _, to := range s.Parties {
		switch {
		case !others(to):
		case !raise(tx, key(keyMailbox, string(to.Agent), string(p.from)), 1, l.UndeliveredSender):
			return quota("undelivered_per_sender", "a party has as much unread mail of yours as it takes")
		case !raise(tx, key(keyMailbox, string(to.Agent)), 1, l.Undelivered):
			return quota("undelivered_per_mailbox", "a party has as much unread mail as it takes")
		}
	}
	size := uint64(len(p.value.Canonical()))
	switch {
	case h.entries >= uint64(l.Entries):
		return quota("entries_per_session", "the session has as many entries as it takes")
	case h.bytes+size > uint64(l.SessionSize):
		return quota("bytes_per_session", "the session is as long as it may be")
	case !raise(tx, key(keyBytes, string(s.initiator())), size, l.InitiatorSize):
		return quota("bytes_per_initiator", "the initiator's sessions take as much space as they may")
	}
	return m.room()
}

// conflict makes a refusal of what an admission rule says, with the tip for whoever
// lost a race.
func conflict(err error, h *head) error {
	err = rejected(err)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Violation.Rule == wire.RulePrevHash {
		refused.Code, refused.Length = CodeChainConflict, h.entries
		refused.Tip = &wire.TipError{Tip: h.tip.Hash, Len: h.tip.Len}
	}
	return err
}

// undelivered changes how many entries of a sender an agent has not acknowledged.
func undelivered(tx Tx, agent, sender wire.AgentID, by int64) {
	if by != 0 {
		add(tx, key(keyMailbox, string(agent)), by)
		add(tx, key(keyMailbox, string(agent), string(sender)), by)
	}
}

// Read returns entries of a session's log from number from on, to a party that has
// joined: at most most, and after the first not more than size bytes of them.
func (m *Mailboxes) Read(ctx context.Context, agent wire.AgentID, session wire.SessionID, from uint64, most, size int) (list []UnverifiedEntry, err error) {
	err = m.driver.View(ctx, func(r Reader) error {
		list = nil
		s, _, err := m.of(r, agent, session)
		if err != nil {
			return err
		}
		if !s.joined(agent) {
			return errNoSession
		}
		list, err = entries(r, s, from, most, size)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// entries reads entries of a log from number from on: at most most, and after the first
// not more than size bytes of them.
func entries(r Reader, s *sessionRecord, from uint64, most, size int) (list []UnverifiedEntry, err error) {
	if most <= 0 {
		return nil, nil
	}
	total := 0
	for n, e := range r.Entries(string(s.Session), max(1, from)) {
		sender, err := s.sender(e)
		if err != nil {
			return nil, err
		}
		if total += len(e) - entryHeader; len(list) > 0 && total > size {
			break
		}
		text := append([]byte(nil), e[entryHeader:]...)
		list = append(list, UnverifiedEntry{
			Number: n, Kind: EntryKind(e[0]), Sender: s.Parties[sender].Agent,
			Appended: time.Unix(0, int64(binary.BigEndian.Uint64(e[2:]))).UTC(), Text: text, id: entryID(e, text),
		})
		if len(list) == most {
			break
		}
	}
	return list, nil
}

// Ack moves an agent's cursor to entry number n: the relay need not keep it and those
// before for the agent. It says nothing about whether the agent liked them.
func (m *Mailboxes) Ack(ctx context.Context, agent wire.AgentID, session wire.SessionID, n uint64) error {
	return m.driver.Update(ctx, func(tx Tx) error {
		s, h, me, err := m.joinedBy(tx, agent, session)
		switch {
		case err != nil:
			return err
		case n > h.entries:
			return refuse(CodeBadRequest, "the log is not that long")
		case n <= me.cursor:
			return nil
		}
		if before := max(me.cursor, me.since); n > before {
			seen, err := tallyAt(tx, s, h, me, before, n)
			if err != nil {
				return err
			}
			for i, p := range s.Parties {
				if p.Agent != agent {
					undelivered(tx, agent, p.Agent, int64(me.seen.of(i))-int64(seen.of(i)))
				}
			}
			me.seen = seen
		}
		me.cursor = n
		tx.Put(key(keyMember, string(agent), string(session)), me.encode())
		return nil
	})
}

// tallyAt counts who sent the first n entries: on from those that a member has seen, or
// back from the end of the log, whichever is nearer.
func tallyAt(r Reader, s *sessionRecord, h head, me member, before, n uint64) (tally, error) {
	t, from, to, by := slices.Clone(me.seen), before+1, n, int64(1)
	if h.entries-n < n-before {
		t, from, to, by = slices.Clone(h.sent), n+1, h.entries, -1
	}
	if from > to {
		return t, nil
	}
	for i, e := range r.Entries(string(s.Session), from) {
		sender, err := s.sender(e)
		if err != nil {
			return nil, err
		}
		t.add(sender, by)
		if i == to {
			return t, nil
		}
	}
	return nil, fmt.Errorf("reading a log of %d entries: %w", h.entries, errDamaged)
}
