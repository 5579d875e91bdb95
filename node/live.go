package node

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// maxIdle is how many sessions stay in memory that nobody is at. Others are read again
// from disk, with all their signatures verified.
const maxIdle = 4096

// A live session is a session in memory: its record and its transcript, as the last
// entry that was handled left them.
type live struct {
	id      wire.SessionID
	loading sync.Once
	err     error

	// saying has room for one: whoever signs a message or a receipt, until that exists
	// or is refused. Handling of what comes never waits for it. It comes before mu.
	saying chan struct{}

	mu      sync.Mutex // guards what follows
	rec     record
	log     *session.Transcript
	changed chan struct{} // closed when rec changes

	attending bool          // somebody attends to it
	again     bool          // and has to look once more
	kick      chan struct{} // flag, with again

	// Of the table.
	users int
	idle  *list.Element
}

// A table has the sessions that are in memory.
type table struct {
	mu   sync.Mutex // guards what follows
	byID map[wire.SessionID]*live
	idle *list.List // of *live, the one that was used last in front
}

func newTable() table { return table{byID: map[wire.SessionID]*live{}, idle: list.New()} }

// acquire returns a session. The caller releases it.
func (n *Node) acquire(id wire.SessionID) (*live, error) {
	t := &n.table
	t.mu.Lock()
	l := t.byID[id]
	if l == nil {
		l = &live{id: id, saying: make(chan struct{}, 1), changed: make(chan struct{}), kick: make(chan struct{}, 1)}
		t.byID[id] = l
	}
	l.users++
	if l.idle != nil {
		t.idle.Remove(l.idle)
		l.idle = nil
	}
	t.mu.Unlock()
	l.loading.Do(func() {
		if l.err = n.load(l); l.err != nil {
			t.mu.Lock()
			delete(t.byID, id) // whoever comes later looks again
			t.mu.Unlock()
		}
	})
	if l.err != nil {
		return nil, l.err
	}
	return l, nil
}

func (n *Node) release(l *live) {
	t := &n.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users > 0 || t.byID[l.id] != l {
		return
	}
	l.idle = t.idle.PushFront(l)
	for t.idle.Len() > maxIdle {
		old := t.idle.Remove(t.idle.Back()).(*live)
		delete(t.byID, old.id)
	}
}

// hold is acquire for one more user of a session that the caller has.
func (n *Node) hold(l *live) {
	n.table.mu.Lock()
	l.users++
	n.table.mu.Unlock()
}

var errNoSession = errors.New("there is no such session here")

// load reads a session from disk. The messages count up to where the record says.
func (n *Node) load(l *live) error {
	var rec record
	known, err := n.disk.get(bucketSessions, string(l.id), &rec)
	switch {
	case err != nil:
		return err
	case !known:
		return errNoSession
	}
	messages, err := n.transcripts.Read(l.id, 0, rec.Len)
	if err != nil {
		return err
	}
	if len(messages) != rec.Len {
		return fmt.Errorf("reading session %q: %d messages are in the store, and there were %d", l.id, len(messages), rec.Len)
	}
	log, err := session.Verify(l.id, messages, n, n.now(), nil, nil)
	if err != nil {
		return fmt.Errorf("reading session %q: %w", l.id, err)
	}
	if rec.Evidence.Kind() != wire.Absent {
		u, err := wire.ReadMessage(rec.Evidence)
		if err == nil {
			var m *wire.Message
			if m, err = u.Verify(n); err == nil {
				err = log.Breach(m, n.now())
			}
		}
		if err != nil {
			return fmt.Errorf("reading session %q: %w", l.id, err)
		}
	}
	l.rec, l.log = rec, log
	return nil
}

// A change is what is written with the record of a session.
type change struct {
	notices []Notice
	more    []func(*bolt.Tx) ([]Notice, error) // run in the transaction, perhaps more than once
}

func (c *change) notice(kind Kind, about wire.AgentID, detail string) *Notice {
	c.notices = append(c.notices, Notice{Kind: kind, Agent: about, Detail: detail})
	return &c.notices[len(c.notices)-1]
}

// commit makes next the record of a session. l is locked. If it fails, nothing has
// changed on disk, and the transcript in memory is what the disk has.
func (n *Node) commit(ctx context.Context, l *live, next record, c change) error {
	next.Version = l.rec.Version + 1
	s := l.log.Session()
	next.State, next.Deadline = s.State(), time.Time{}
	if next.State == session.Proposed || next.State == session.Active {
		next.Deadline = s.Deadline()
	}
	now := n.now().UTC()
	at := state(&next, s, now)
	var last uint64
	err := n.disk.update(ctx, func(tx *bolt.Tx) (err error) {
		if err := put(tx, bucketSessions, string(l.id), &next); err != nil {
			return err
		}
		list := slices.Clone(c.notices)
		for _, f := range c.more {
			more, err := f(tx)
			if err != nil {
				return err
			}
			list = append(list, more...)
		}
		for i := range list {
			list[i].At, list[i].Session, list[i].State, list[i].Len = now, l.id, at, next.Len
		}
		last, err = add(tx, list)
		return err
	})
	if err != nil {
		if failed := n.load(l); failed != nil {
			err = errors.Join(err, failed)
		}
		return fmt.Errorf("keeping session %q: %w", l.id, err)
	}
	l.rec = next
	close(l.changed)
	l.changed = make(chan struct{})
	n.deadlines.set(l.id, next.Deadline, !next.Deadline.IsZero() && !next.Expired)
	n.notices.came(last)
	return nil
}

// state returns the state of a session as of now: EXPIRED once that is certain.
func state(rec *record, s session.Session, now time.Time) protocol.State {
	if rec.Expired {
		return s.At(now).State()
	}
	return s.State()
}

// standing returns a session as it stands. l is locked.
func (n *Node) standing(l *live) session.Session {
	if l.rec.Expired {
		return l.log.Session().At(n.now())
	}
	return l.log.Session()
}

// create makes the record of a new session, unless there is one.
func (n *Node) create(ctx context.Context, rec record) (created bool, err error) {
	err = n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			created = tx.Bucket(bucketSessions).Get([]byte(rec.Session)) == nil
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if !created {
				return nil
			}
			order, err := tx.Bucket(bucketOrder).NextSequence()
			if err != nil {
				return err
			}
			rec.Order = order
			if err := tx.Bucket(bucketOrder).Put(number(order), []byte(rec.Session)); err != nil {
				return err
			}
			if err := tx.Bucket(bucketInvitations).Delete([]byte(rec.Session)); err != nil {
				return err
			}
			return put(tx, bucketSessions, string(rec.Session), &rec)
		},
	})
	return created, err
}

// forget removes the record of a session that never came to be.
func (n *Node) forget(ctx context.Context, l *live) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := n.disk.update(ctx, func(tx *bolt.Tx) error {
		if err := tx.Bucket(bucketOrder).Delete(number(l.rec.Order)); err != nil {
			return err
		}
		return tx.Bucket(bucketSessions).Delete([]byte(l.id))
	})
	n.table.mu.Lock()
	if n.table.byID[l.id] == l {
		delete(n.table.byID, l.id)
	}
	n.table.mu.Unlock()
	return err
}

// until waits until what is asked holds of a session, which is locked when it is asked.
func (n *Node) until(ctx context.Context, l *live, holds func() bool) error {
	for {
		l.mu.Lock()
		ok, changed := holds(), l.changed
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-n.stopping:
			return errStopping
		}
	}
}
