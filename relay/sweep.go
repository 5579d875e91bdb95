package relay

import (
	"context"
	"errors"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Swept is what a sweep did.
type Swept struct {
	Ended   int // sessions whose life was over, or that were idle
	Removed int // sessions whose retention was over
	Nonces  int // challenges that nobody can answer any more
	Bad     int // records that could not be read; they are left alone and tried again in an hour
}

// sweepBatch bounds what one transaction of a sweep does.
const sweepBatch = 256

// Sweep ends the sessions that are over, removes those that have been kept for long
// enough, and forgets old challenges. A record that it cannot read does not keep it
// from the others. It returns the first error of the driver.
func (m *Mailboxes) Sweep(ctx context.Context) (Swept, error) {
	var done Swept
	for {
		now := m.now()
		due, nonces, err := m.overdue(ctx, now)
		if err != nil {
			return done, err
		}
		for _, at := range due {
			if err := m.sweepOne(ctx, at, now, &done); err != nil {
				return done, err
			}
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
	until := moment(now)
	collect := func(r Reader, kind string) (keys []string) {
		for k := range r.Scan(kind, "") {
			if len(k) < 1+8 || k[1:1+8] > until || len(keys) == sweepBatch {
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

// sweepOne does what is due for one session.
func (m *Mailboxes) sweepOne(ctx context.Context, at string, now time.Time, done *Swept) error {
	var s *sessionRecord
	var ended, removed bool
	session := wire.SessionID(at[1+8:])
	if len(session) > 0 && session[0] == 0 {
		session = session[1:]
	}
	err := m.driver.Update(ctx, func(tx Tx) error {
		ended, removed = false, false
		var h head
		var err error
		if s, h, err = m.get(tx, session); err != nil {
			return err
		}
		tx.Delete(at)
		switch {
		case s == nil:
			return nil
		case s.Ended.IsZero():
			why := EndExpired
			if now.Before(s.Expires) {
				why = EndIdle
			}
			if due := m.due(s, h); now.Before(due) {
				tx.Put(key(keyDue, moment(due), string(session)), []byte{})
				return nil
			}
			ended = true
			return m.end(tx, s, why, now)
		case now.Before(s.Ended.Add(time.Duration(m.opts.Limits.Retention))):
			tx.Put(key(keyDue, moment(s.Ended.Add(time.Duration(m.opts.Limits.Retention))), string(session)), []byte{})
			return nil
		}
		removed = true
		return m.remove(tx, s, h)
	})
	switch {
	case errors.Is(err, errDamaged):
		done.Bad++
		return m.driver.Update(ctx, func(tx Tx) error {
			tx.Delete(at)
			tx.Put(key(keyDue, moment(now.Add(time.Hour)), string(session)), []byte{})
			return nil
		})
	case err != nil:
		return err
	case ended:
		done.Ended++
		m.wake(s)
	case removed:
		done.Removed++
	}
	return nil
}

// remove forgets a session that has ended, and its log.
func (m *Mailboxes) remove(tx Tx, s *sessionRecord, h head) error {
	session := string(s.Session)
	for n, e := range tx.Entries(session, 1) {
		sender, err := senderOf(s, e)
		if err != nil {
			return err
		}
		for _, p := range s.Parties {
			if p.Standing == Joined && n > m.cursor(tx, p.Agent, s.Session) {
				m.undelivered(tx, p.Agent, sender, -1)
			}
		}
	}
	var ids []string
	for k := range tx.Scan(below(keyID, session), "") {
		ids = append(ids, k)
	}
	for _, k := range ids {
		tx.Delete(k)
	}
	for _, p := range s.Parties {
		tx.Delete(key(keyMember, string(p.Agent), session))
	}
	add(tx, key(keyBytes, string(s.initiator())), -int64(h.bytes))
	tx.Drop(session, h.entries)
	tx.Delete(key(keyHead, session))
	tx.Delete(key(keySession, session))
	return nil
}
