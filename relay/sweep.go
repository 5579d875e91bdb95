package relay

import (
	"context"
	"sync"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Swept is what a sweep did.
type Swept struct {
	Ended   int   // sessions whose life was over, or that were idle
	Removed int   // sessions whose retention was over
	Nonces  int   // challenges that nobody can answer any more
	Freed   int64 // bytes of the entries of the sessions that were removed
	Bad     int   // sessions whose records could not be read; they are left alone and tried again in an hour
}

// BUG(relay): The sweeper believes the clock. One that jumps ahead ends sessions, and by
// the time of retention_seconds removes those that have ended.

// sweepBatch bounds what one transaction of a sweep does.
const sweepBatch = 256

// Sweep ends the sessions that are over, removes those that have been kept for long
// enough, and forgets old challenges. A session that it cannot read does not keep it
// from the others. It fails if the driver does.
func (m *Mailboxes) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	for {
		now := m.now()
		due, nonces, err := m.overdue(ctx, now)
		if err != nil {
			return done, err
		}
		if err := m.sweepAll(ctx, due, now, &done); err != nil {
			return done, err
		}
		if len(nonces) > 0 {
			err := m.driver.Update(ctx, func(tx Tx) error {
				for _, k := range nonces {
					tx.Delete(k)
				}
				return nil
			})
			if err != nil {
				return done, err
			}
			done.Nonces += len(nonces)
		}
		if len(due) < sweepBatch && len(nonces) < sweepBatch {
			return done, nil
		}
	}
}

// overdue returns the keys of what there is to do at a time.
func (m *Mailboxes) overdue(ctx context.Context, now time.Time) (sessions, nonces []string, err error) {
	until := moment(now.Truncate(time.Second))
	collect := func(r Reader, kind string) (keys []string) {
		for k := range r.Scan(kind, "") {
			if len(k) < 1+8+1 || k[1:1+8] > until || len(keys) == sweepBatch {
				break
			}
			keys = append(keys, k)
		}
		return keys
	}
	err = m.driver.View(ctx, func(r Reader) error {
		sessions, nonces = collect(r, keyDue), collect(r, keyNonce)
		return nil
	})
	return sessions, nonces, err
}

// sweepAll does what is due for sessions, together, so that a driver can gather the
// transactions.
func (m *Mailboxes) sweepAll(ctx context.Context, due []string, now time.Time, done *Swept) error {
	var all sync.WaitGroup
	var mu sync.Mutex // guards done and failed
	var failed error
	for _, at := range due {
		all.Go(func() {
			ended, removed, freed, err := m.sweepOne(ctx, at, now)
			bad := err != nil
			if bad {
				err = m.postpone(ctx, at, now)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = err
			case bad:
				done.Bad++
			case ended:
				done.Ended++
			case removed:
				done.Removed++
				done.Freed += freed
			}
		})
	}
	all.Wait()
	return failed
}

// sweepOne does what is due for the session of one record.
func (m *Mailboxes) sweepOne(ctx context.Context, at string, now time.Time) (ended, removed bool, freed int64, err error) {
	var s *sessionRecord
	err = m.driver.Update(ctx, func(tx Tx) error {
		ended, removed = false, false
		if tx.Get(at) == nil {
			return nil // somebody else has been here
		}
		var h head
		var err error
		if s, h, err = m.get(tx, dueSession(at)); err != nil {
			return err
		}
		tx.Delete(at)
		if s == nil {
			return nil
		}
		why, since := m.over(s, h, now)
		switch kept := since.Add(time.Duration(m.opts.Limits.Retention)); {
		case why == "":
			m.schedule(tx, s, m.due(s, h))
		case s.Ended.IsZero():
			ended = true
			m.end(tx, s, why, since)
		case now.Before(kept):
			m.schedule(tx, s, kept)
		default:
			removed, freed = true, int64(h.bytes)
			return m.remove(tx, s, h)
		}
		return nil
	})
	if err == nil && (ended || removed) {
		m.wake(s)
	}
	return ended, removed, freed, err
}

// dueSession returns the session that the key of a due record is about.
func dueSession(at string) wire.SessionID {
	return wire.SessionID(at[len(keyDue)+8+1:])
}

// postpone has the sweeper come back to a session in an hour.
func (m *Mailboxes) postpone(ctx context.Context, at string, now time.Time) error {
	return m.driver.Update(ctx, func(tx Tx) error {
		tx.Delete(at)
		tx.Put(key(keyDue, moment(now.Add(time.Hour)), string(dueSession(at))), []byte{})
		return nil
	})
}

// Compact gives back to the disk the space of what was removed, while the relay works;
// appends wait for it, a second or two for each gigabyte that is kept.
func (m *Mailboxes) Compact(ctx context.Context) error { return m.driver.Compact(ctx) }

// Size returns how many bytes the mail takes on disk, and how many are free there; -1 if
// that is not known. It may be a second old.
func (m *Mailboxes) Size() (used, free int64) { return m.driver.Size() }

// remove forgets a session that has ended, and its log.
func (m *Mailboxes) remove(tx Tx, s *sessionRecord, h head) error {
	session := string(s.Session)
	for _, p := range s.Parties {
		if p.Standing != Joined {
			continue
		}
		at := key(keyMember, string(p.Agent), session)
		me, err := decodeMember(tx.Get(at))
		if err != nil {
			return err
		}
		for i, sender := range s.Parties {
			if sender.Agent != p.Agent {
				undelivered(tx, p.Agent, sender.Agent, int64(me.seen.of(i))-int64(h.sent.of(i)))
			}
		}
		tx.Delete(at)
	}
	var ids []string
	for k := range tx.Scan(below(keyID, session), "") {
		ids = append(ids, k)
	}
	for _, k := range ids {
		tx.Delete(k)
	}
	add(tx, key(keyBytes, string(s.initiator())), -int64(h.bytes)-int64(s.Named+s.Places)*partyCost)
	tx.Drop(session, h.entries)
	tx.Delete(key(keyDue, moment(s.Due), session))
	tx.Delete(key(keyHead, session))
	tx.Delete(key(keySession, session))
	return nil
}
