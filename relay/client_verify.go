package relay

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Delivery is an entry of a session's log, verified: it has its place behind those
// that were delivered before, and its sender signed it.
type Delivery struct {
	Session   wire.SessionID
	Number    uint64 // in the log, from 1
	Own       bool   // the agent sent it itself
	Appended  time.Time
	Message   *wire.Message // this
	Enclosure *Enclosure    // or this

	// Err is not nil if nobody's key for the sender is known: then neither Message nor
	// Enclosure is set, and UnverifiedEntry is what somebody sent who may be that agent.
	// Or the time of Message is not admissible by this client's clock, or before the
	// session's (SPEC §5.3), which can be the relay's clock.
	Err             error
	UnverifiedEntry wire.Value

	// Position is to be kept with what the application does about the entry.
	Position Position

	id   wire.MessageID
	from wire.AgentID
}

// ID returns the id of the message or enclosure.
func (d *Delivery) ID() wire.MessageID { return d.id }

// From returns who sent the message or enclosure, or says so if Err is set.
func (d *Delivery) From() wire.AgentID { return d.from }

// Key implements [wire.Keys]: a client knows the key of its agent, and is told those of
// the others.
func (c *Client) Key(agent wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if wire.PlainDIDKey(agent) == c.opts.Agent {
		return c.opts.Signer.Public(), nil
	}
	return c.opts.Keys.Key(agent, at)
}

// verify judges the entry that has to be the next. It fails with a *Misconduct, or with
// whatever keeps it from judging.
func (r *logReader) verify(ctx context.Context, e *shownEntry) (*Delivery, wire.Hash, error) {
	d, hash, err := r.open(ctx, e)
	if err != nil {
		return nil, hash, err
	}
	at := r.position()
	r.mu.Lock()
	promised, expected := r.promised[e.number]
	var own sentEntry // as it is now
	if sent := r.sent[d.id]; sent != nil {
		own = *sent
	}
	_, seen := r.ids[maphash.String(idSeed, string(d.id))]
	r.mu.Unlock()
	switch {
	case expected && promised.hash != hash:
		return nil, hash, &Misconduct{
			Kind: Withheld, Session: r.session, Number: e.number, Shown: e.value, Have: promised.value(), After: at,
			Err: fmt.Errorf("the number was given to the own entry %q", promised.id()),
		}
	case seen:
		return nil, hash, r.found(Replayed, e, fmt.Errorf("there was an entry %q before", d.id))
	case own.hash == hash && own.number != 0 && own.number != e.number:
		return nil, hash, r.found(CursorLie, e, fmt.Errorf("the own entry was said to have number %d", own.number))
	}
	d.Position = Position{Number: e.number, Tip: at.Tip}
	tip := &d.Position.Tip
	switch {
	case d.Message != nil:
		err := tip.Check(d.Message, r.c.opts.Now())
		if errors.Is(err, wire.RulePrevHash) {
			return nil, hash, r.misplaced(ctx, e, d.Message.PrevHash, err)
		}
		d.Err = err
		tip.Append(d.Message)
	case d.Err != nil:
		u, err := wire.ReadMessage(d.UnverifiedEntry)
		if err != nil {
			break // an enclosure
		}
		if u.PrevHash != tip.Hash {
			return nil, hash, r.misplaced(ctx, e, u.PrevHash, wire.RulePrevHash.At("/prev_hash"))
		}
		tip.Hash, tip.Len = hash, tip.Len+1 // the clock waits for somebody who is known
	}
	return d, hash, nil
}

// open verifies an entry by itself.
func (r *logReader) open(ctx context.Context, e *shownEntry) (*Delivery, wire.Hash, error) {
	s := wire.Read(e.value, "", RuleAnswer)
	d := &Delivery{Session: r.session, Number: e.number, Appended: s.Time("appended_at")}
	from := wire.PlainDIDKey(wire.ReadID[wire.AgentID](s, "from"))
	if own, ok := s.OptObject("own"); ok {
		id, hash := wire.ReadID[wire.MessageID](own, "id"), own.Hash("hash")
		if err := s.Err(); err != nil {
			return nil, hash, r.found(Altered, e, err)
		}
		return r.openOwn(ctx, e, d, id, hash)
	}
	v := s.Object("entry").Whole()
	if err := s.Err(); err != nil {
		return nil, wire.Hash{}, r.found(Altered, e, err)
	}
	var session wire.SessionID
	var err error
	if _, ok := v.Get("concordia_enclosure"); ok {
		var shape *Enclosure
		if shape, err = readEnclosure(v); err != nil {
			return nil, wire.Hash{}, r.found(Altered, e, err)
		}
		d.id, d.from, session = shape.ID, shape.From, shape.Session
		d.Enclosure, err = VerifyEnclosure(v, r.c)
	} else {
		var u *wire.UnverifiedMessage
		if u, err = wire.ReadMessage(v); err != nil {
			return nil, wire.Hash{}, r.found(Altered, e, err)
		}
		d.id, d.from, session = u.ID, u.From, u.Session
		d.Message, err = u.Verify(r.c)
	}
	d.Own = wire.PlainDIDKey(d.from) == r.c.opts.Agent
	_, isViolation := errors.AsType[*wire.Violation](err)
	switch {
	case errors.Is(err, wire.RuleSignature) || errors.Is(err, RuleEnclosureSignature):
		return nil, wire.Hash{}, r.found(Altered, e, err)
	case err != nil && !isViolation:
		return nil, wire.Hash{}, err
	case session != r.session:
		return nil, wire.Hash{}, r.found(Replayed, e, wire.RuleSession.Because("/session_id", fmt.Errorf("it is of session %q", session)))
	case wire.PlainDIDKey(d.from) != from:
		return nil, wire.Hash{}, r.found(Foreign, e, fmt.Errorf("it is of %q, and shown as of %q", d.from, from))
	case r.c.opts.Party != nil && !d.Own && !r.c.opts.Party(r.session, d.from):
		return nil, wire.Hash{}, r.found(Foreign, e, fmt.Errorf("%q is no party", d.from))
	case err != nil:
		d.Err, d.UnverifiedEntry = err, v
	}
	return d, v.Hash(), nil
}

// openOwn finds the own entry that the relay names: it is the one that was sent, or, if
// that was in another life, it is read in full. Of that life there may be another one with
// the id of what was sent now: both are signed, and the relay chose one, as it may.
func (r *logReader) openOwn(ctx context.Context, e *shownEntry, d *Delivery, id wire.MessageID, hash wire.Hash) (*Delivery, wire.Hash, error) {
	r.mu.Lock()
	s := r.sent[id]
	r.mu.Unlock()
	if s != nil && s.hash == hash {
		d.Own, d.id, d.from, d.Message, d.Enclosure = true, id, r.c.opts.Agent, s.message, s.enclosure
		return d, hash, nil
	}
	p, err := r.page(ctx, e.number, 1)
	if err != nil {
		return nil, hash, err
	}
	if len(p.entries) == 0 {
		return nil, hash, r.found(Missing, &shownEntry{number: e.number, value: p.answer}, errors.New("the relay has shown that there is one"))
	}
	full := &p.entries[0]
	if _, ok := full.value.Get("own"); ok {
		return nil, hash, r.found(Altered, full, errors.New("the own entry is not shown in full"))
	}
	d, have, err := r.open(ctx, full)
	switch {
	case err != nil:
		return nil, hash, err
	case !d.Own:
		return nil, hash, r.found(Foreign, full, fmt.Errorf("it is of %q, and shown as an own one", d.from))
	case have != hash:
		return nil, hash, r.found(Altered, full, fmt.Errorf("the own entry was shown with hash %s", hash))
	}
	return d, hash, nil
}

// misplaced says what the relay did, that shows a message which does not continue the
// chain.
func (r *logReader) misplaced(ctx context.Context, e *shownEntry, prev wire.Hash, broken error) error {
	r.mu.Lock()
	known := prev == wire.Hash{}
	for _, h := range r.recent {
		known = known || h == prev
	}
	r.mu.Unlock()
	if known {
		return r.found(Forked, e, broken)
	}
	p, err := r.page(ctx, e.number+1, 0)
	if err != nil {
		return r.found(Missing, e, broken) // certain is that it does not fit
	}
	for i := range p.entries {
		if h, ok := p.entries[i].hash(); ok && h == prev {
			return r.found(Reordered, e, broken)
		}
	}
	return r.found(Missing, e, broken)
}

// A page is a part of a log.
type page struct {
	entries []shownEntry
	length  uint64
	answer  wire.Value
}

// page reads entries from number from on, at most most, or as many as the relay likes.
// Their numbers are without gaps.
func (r *logReader) page(ctx context.Context, from, most uint64) (*page, error) {
	body := wire.M{"session_id": r.session, "from": from}
	if most > 0 {
		body["most"] = most
	}
	before := r.standing()
	v, err := r.c.insist(ctx, "read", body)
	if err != nil {
		return nil, err
	}
	p := &page{answer: v}
	s := wire.Read(v, "", RuleAnswer)
	p.length = uint64(s.Int("length", 0, wire.MaxSafeInteger))
	for _, entry := range s.Objects("entries") {
		e := shownEntry{number: uint64(entry.Int("number", 1, wire.MaxSafeInteger))}
		session := wire.ReadID[wire.SessionID](entry, "session_id")
		if s.Err() != nil {
			break
		}
		// A copy, so that who keeps an entry does not keep the page.
		if e.value, err = wire.Parse([]byte(entry.Whole().Canonical()), frameLimits(maxFrame)); err != nil {
			return nil, r.found(Altered, &shownEntry{number: from, value: v}, err)
		}
		want := from + uint64(len(p.entries))
		switch {
		case session != r.session:
			return nil, r.found(Replayed, &e, fmt.Errorf("it is shown as of session %q", session))
		case e.number > want:
			return nil, r.found(Missing, &e, fmt.Errorf("the entry before it has to be %d", want))
		case e.number < want:
			return nil, r.found(Reordered, &e, fmt.Errorf("its place is that of entry %d", want))
		case most > 0 && uint64(len(p.entries)) == most:
			return nil, r.found(Garbled, &e, errors.New("there are more than was asked for"))
		}
		p.entries = append(p.entries, e)
	}
	if err := s.Err(); err != nil {
		return nil, r.found(Altered, &shownEntry{number: from, value: v}, err)
	}
	if n := len(p.entries); n > 0 && p.length < p.entries[n-1].number {
		return nil, r.found(CursorLie, &shownEntry{value: v}, fmt.Errorf("the log is said to have %d entries", p.length))
	}
	return p, r.checkLength(p.length, before, v)
}

// A standing is what a relay has confirmed of a log.
type standing struct {
	number   uint64 // of the last entry that was handled
	promised uint64 // that an own entry was given
	acked    uint64
}

func (r *logReader) standing() (s standing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.number, s.acked = r.at.Number, r.acked
	for n := range r.promised {
		s.promised = max(s.promised, n)
	}
	return s
}

// checkLength judges the length of the log that a relay answers, by what it had
// confirmed when it was asked.
func (r *logReader) checkLength(length uint64, before standing, answer wire.Value) error {
	switch {
	case length < before.number:
		return r.found(CursorLie, &shownEntry{value: answer}, fmt.Errorf("the log has %d entries, and had %d", length, before.number))
	case length < before.promised:
		return r.found(Withheld, &shownEntry{number: before.promised, value: answer}, fmt.Errorf("the log has %d entries, and an own one has number %d", length, before.promised))
	}
	return nil
}

// checkInfo judges what a relay answers of a session.
func (r *logReader) checkInfo(info *SessionInfo, before standing, answer wire.Value) error {
	switch {
	case info.Session != r.session:
		return r.found(Replayed, &shownEntry{value: answer}, fmt.Errorf("it is about session %q", info.Session))
	case info.Cursor > info.Length:
		return r.found(CursorLie, &shownEntry{value: answer}, fmt.Errorf("the cursor is %d, and the log has %d entries", info.Cursor, info.Length))
	case info.Cursor < before.acked:
		return r.found(CursorLie, &shownEntry{value: answer}, fmt.Errorf("the cursor is %d, and was moved to %d", info.Cursor, before.acked))
	}
	return r.checkLength(info.Length, before, answer)
}

// checkClaim judges what the relay says of the chain when it refuses a message, once
// the log is there. r is locked.
func (r *logReader) checkClaim(claim *Error) *Misconduct {
	if r.at.Number != claim.Length || claim.Tip.Tip == r.at.Tip.Hash && claim.Tip.Len == r.at.Tip.Len {
		return nil
	}
	return &Misconduct{
		Kind: Forked, Session: r.session, Number: claim.Length, After: r.at,
		Err: fmt.Errorf("the relay refused a message because of another log: %w", claim.Tip),
	}
}
