package market

import (
	"context"
	"errors"
	"time"

	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

var (
	errNoEntry  = refuse(relay.CodeNotFound, "there is no such want or have")
	errConflict = refuse(relay.CodeIDConflict, "another want or have has the id")
	errOver     = errors.New("its time is over")
	errFuture   = errors.New("it is in the future")
	errAgent    = errors.New("it is another agent's")
)

// check judges an entry of an agent at a time.
func (m *Market) check(e *match.Entry, agent relay.Agent, now time.Time) error {
	l := &m.opts.Limits
	switch {
	case e.Owner() != agent.ID:
		return match.RuleEntry.Because("/agent_id", errAgent)
	case int64(len(e.Value().Canonical())) > l.EntrySize:
		return quota("entry_bytes", "the entry is too large")
	case e.TTL > seconds(l.EntryLife):
		return quota("entry_seconds", "the ttl is too long")
	case e.Created.After(now.Add(wire.DefaultSkew)):
		return match.RuleEntry.Because("/created_at", errFuture)
	case !now.Before(e.Expires(now)):
		return match.RuleEntry.Because("/ttl", errOver)
	}
	if _, has := e.Value().Get("signature"); has {
		return e.Verify(agent)
	}
	return nil
}

// doPost keeps an entry, and tells the agents of what matches it. The same entry again has
// the same answer.
func (m *Market) doPost(ctx context.Context, c *relay.Call) (wire.Value, error) {
	v := c.Request.Object("entry").Whole()
	if err := c.Request.Err(); err != nil {
		return v, err
	}
	e, err := match.Read(v)
	if err != nil {
		return v, err
	}
	now := m.now()
	var p *match.Posted
	fresh := false
	err = m.driver.Update(ctx, func(tx relay.Tx) error {
		p, fresh = nil, false
		if n := tx.Get(keyID + string(e.ID)); n != nil {
			known, err := posted(number(n), tx.Get(keyEntry+string(n)))
			switch {
			case err != nil:
				return errConflict // with one that cannot be read
			case known.Value().Equal(e.Value()) && now.Before(known.Expires):
				p = known
				return nil
			case known.Owner() != c.Agent.ID || now.Before(known.Expires):
				return errConflict
			}
			m.removeEntry(tx, known) // the sweeper has not come to it yet
		}
		if err := m.check(e, c.Agent, now); err != nil {
			return err
		}
		if err := m.room(); err != nil {
			return err
		}
		fresh = true
		var err error
		p, err = m.addEntry(tx, e, c.Agent.ID, now)
		return err
	})
	if err != nil {
		return v, err
	}
	var found []match.Found
	whole := false
	err = m.look(ctx, func(r relay.Reader) error {
		found, whole = m.book.Best(e, pageLength, now)
		found = there(r, found)
		return nil
	})
	if err != nil {
		return v, err
	}
	if fresh {
		for _, f := range found {
			if f.Notify {
				c.Tell(f.Owner(), "match", wire.M{"id": f.ID, "number": p.Number})
			}
		}
	}
	best := found[:min(len(found), bestLength)]
	list, fits := matches(p, best)
	return wire.Encode(wire.M{
		"number": p.Number, "posted_at": wire.FormatTime(p.Posted), "expires_at": wire.FormatTime(p.Expires), "matches": list, "more": !whole || !fits || len(best) < len(found),
	})
}

// addEntry counts an entry and keeps it.
func (m *Market) addEntry(tx relay.Tx, e *match.Entry, agent wire.AgentID, now time.Time) (*match.Posted, error) {
	l := &m.opts.Limits
	of := countOf(e.Kind)
	switch {
	case !add(tx, of+string(agent), 1, l.EntriesAgent):
		return nil, quota("entries_per_agent", "you have as many as you may: withdraw one")
	case !add(tx, of, 1, l.Entries):
		return nil, quota("entries", "the market has as many as it takes")
	}
	n := number(tx.Get(keyLast)) + 1
	p := &match.Posted{Entry: e, Number: n, Posted: now, Expires: e.Expires(now)}
	tx.Put(keyLast, []byte(big(n)))
	tx.Put(keyID+string(e.ID), []byte(big(n)))
	return p, m.put(tx, keyEntry+big(n), nil, &record{p.Posted, p.Expires, e.Value().Canonical()})
}

// removeEntry forgets an entry, but for the book.
func (m *Market) removeEntry(tx relay.Tx, p *match.Posted) {
	of := countOf(p.Kind)
	add(tx, of, -1, 0)
	add(tx, of+string(p.Owner()), -1, 0)
	tx.Delete(keyID + string(p.ID))
	drop(tx, keyEntry+big(p.Number), &record{p.Posted, p.Expires, p.Value().Canonical()})
}

// there leaves out what another relay with the same mail has removed.
func there(r relay.Reader, found []match.Found) []match.Found {
	list := found[:0]
	for _, f := range found {
		if r.Get(keyEntry+big(f.Number)) != nil {
			list = append(list, f)
		}
	}
	return list
}

// members says what an entry is and since when.
func members(p *match.Posted) wire.M {
	return wire.M{"number": p.Number, "posted_at": wire.FormatTime(p.Posted), "expires_at": wire.FormatTime(p.Expires), "entry": p.Value()}
}

// matches makes the answer of what was found for an entry, and reports whether all of it
// has room.
func matches(own *match.Posted, found []match.Found) (list []wire.M, all bool) {
	list = []wire.M{}
	size := 0
	for _, f := range found {
		b := match.Between(own.Entry, f.Entry)
		b.Created = own.Posted
		if f.Posted.Posted.After(b.Created) {
			b.Created = f.Posted.Posted
		}
		v := b.Value()
		if size += len(v.Canonical()) + len(f.Value().Canonical()); size > matchSize && len(list) > 0 {
			return list, false
		}
		list = append(list, wire.M{"number": f.Number, "match": v, "entry": f.Value()})
	}
	return list, true
}

// readID reads the id of an entry.
func readID(r wire.Reader) (match.ID, error) {
	id := wire.ReadID[match.ID](r, "id")
	return id, r.Err()
}

func (m *Market) doWithdraw(ctx context.Context, c *relay.Call) (wire.Value, error) {
	id, err := readID(c.Request)
	if err != nil {
		return wire.Value{}, err
	}
	var p *match.Posted
	err = m.driver.Update(ctx, func(tx relay.Tx) (err error) {
		n := tx.Get(keyID + string(id))
		if n == nil {
			return errNoEntry
		}
		p, err = posted(number(n), tx.Get(keyEntry+string(n)))
		switch {
		case err != nil:
			return err
		case p.Owner() != c.Agent.ID:
			return errNoEntry
		}
		m.removeEntry(tx, p)
		return nil
	})
	if err != nil {
		return wire.Value{}, err
	}
	m.forgetEntries([]*match.Posted{p})
	return wire.Encode(wire.M{})
}

// find returns an entry that stands.
func (m *Market) find(r relay.Reader, id match.ID) (*match.Posted, error) {
	p := m.book.Get(id)
	if p == nil || !m.now().Before(p.Expires) || r.Get(keyEntry+big(p.Number)) == nil {
		return nil, errNoEntry
	}
	return p, nil
}

func (m *Market) doEntry(ctx context.Context, c *relay.Call) (wire.Value, error) {
	id, err := readID(c.Request)
	if err != nil {
		return wire.Value{}, err
	}
	var p *match.Posted
	err = m.look(ctx, func(r relay.Reader) (err error) {
		p, err = m.find(r, id)
		return err
	})
	if err != nil {
		return wire.Value{}, err
	}
	return wire.Encode(members(p))
}

func (m *Market) doSearch(ctx context.Context, c *relay.Call) (wire.Value, error) {
	r := c.Request
	kind := match.Kind(r.OneOf("type", string(match.Want), string(match.Have)))
	category, agent := readCategory(r), wire.OptID[wire.AgentID](r, "agent_id")
	before := uint64(r.OptInt("before", 1, wire.MaxSafeInteger, 0))
	if err := r.Err(); err != nil {
		return wire.Value{}, err
	}
	agent = wire.PlainDIDKey(agent)
	now := m.now()
	list := []wire.M{}
	answer := wire.M{}
	err := m.look(ctx, func(r relay.Reader) error {
		size := 0
		for p := range m.book.Within(kind, category, before) {
			switch {
			case !now.Before(p.Expires) || agent != "" && p.Owner() != agent || r.Get(keyEntry+big(p.Number)) == nil:
				continue
			case len(list) == pageLength || size > pageSize:
				answer["before"] = before
				return nil
			}
			size += len(p.Value().Canonical())
			before = p.Number
			list = append(list, members(p))
		}
		return nil
	})
	if err != nil {
		return wire.Value{}, err
	}
	answer["entries"] = list
	return wire.Encode(answer)
}

// doMatches shows what matches an entry of the agent, by when it was posted.
func (m *Market) doMatches(ctx context.Context, c *relay.Call) (wire.Value, error) {
	after := uint64(c.Request.OptInt("after", 0, wire.MaxSafeInteger, 0))
	id, err := readID(c.Request)
	if err != nil {
		return wire.Value{}, err
	}
	var own *match.Posted
	var found []match.Found
	var next uint64
	more := false
	err = m.look(ctx, func(r relay.Reader) (err error) {
		if own, err = m.find(r, id); err != nil {
			return err
		}
		if own.Owner() != c.Agent.ID {
			return errNoEntry
		}
		found, next, more = m.book.Since(own.Entry, after, pageLength, m.now())
		found = there(r, found)
		if !more {
			next = max(next, m.last)
		}
		return nil
	})
	if err != nil {
		return wire.Value{}, err
	}
	list, all := matches(own, found)
	if !all {
		next, more = found[len(list)-1].Number, true
	}
	return wire.Encode(wire.M{"matches": list, "next": next, "more": more})
}
