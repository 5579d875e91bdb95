package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// Op is a write to the database, in one transaction with those of others.
//
// The functions run in the committer goroutine and may run more than once: when
// another operation fails they start over in a new transaction. They may assign
// results to captured variables, but have no other effect. They must not keep tx,
// use its OnCommit, call methods of the DB, or end the goroutine.
type Op struct {
	// Check may refuse the operation. It only reads, and sees what the operations
	// before it wrote. Its error goes to this caller alone. Nil: no check.
	Check func(tx *bolt.Tx) error

	// Apply writes. An error undoes the whole transaction, goes to this caller,
	// and the other operations run again without this one. Expected refusals belong
	// in Check, which costs the others nothing. Nil: nothing to write.
	Apply func(tx *bolt.Tx) error
}

// request is an Op on its way through the committer.
type request struct {
	op      Op
	special func() error // runs alone, in place of a transaction
	refusal error        // of the Check, in the current transaction
	answer  chan error
}

// Commit runs op in the next transaction and returns when that is on disk.
//
// If ctx is done before the committer takes op, Commit returns ctx.Err() and op
// has not been run. From then on Commit waits for the outcome, a transaction at
// most, so that a caller always knows it.
func (db *DB) Commit(ctx context.Context, op Op) error {
	return db.enqueue(ctx, &request{op: op, answer: make(chan error, 1)})
}

// CreateBuckets makes the buckets that are missing.
func CreateBuckets(names ...[]byte) Op {
	return Op{Apply: func(tx *bolt.Tx) error {
		for _, name := range names {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	}}
}

// enqueue has the committer run r.
func (db *DB) enqueue(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	db.callers.Add(1)
	db.mu.Unlock()
	defer db.callers.Done()

	select {
	case db.queue <- r:
		return <-r.answer
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the committer.
func (db *DB) run() {
	for r := range db.queue {
		batch, special := db.drain(r)
		db.commit(batch)
		if special != nil {
			special.answer <- special.special()
		}
	}
}

// maxYields bounds what drain waits for others when the machine is busy.
const maxYields = 3

// drain returns first and the requests that wait behind it. Callers who have just
// been answered are often about to ask again, so it lets them run before it
// concludes that nobody waits. Without that, a batch gets half of them. A request that
// runs alone ends it.
func (db *DB) drain(first *request) (batch []*request, special *request) {
	if first.special != nil {
		return nil, first
	}
	batch = []*request{first}
	for yields := 0; len(batch) < db.maxBatch; {
		select {
		case r := <-db.queue:
			if r.special != nil {
				return batch, r
			}
			batch = append(batch, r)
		default:
			if yields == maxYields {
				return batch, nil
			}
			yields++
			runtime.Gosched()
		}
	}
	return batch, nil
}

// commit answers every request of the batch. A request that fails is taken out
// and the others start over, the refused ones included: they may have been
// refused because of what is now undone.
func (db *DB) commit(batch []*request) {
	for len(batch) > 0 {
		culprit, err := db.transact(batch)
		if culprit < 0 {
			for _, r := range batch {
				if err != nil {
					r.answer <- err
				} else {
					r.answer <- r.refusal
				}
			}
			return
		}
		batch[culprit].answer <- err
		batch = slices.Delete(batch, culprit, culprit+1)
	}
}

var errNothing = errors.New("nothing to write")

// transact runs the batch in one transaction. Its error belongs to the request
// at index culprit, or if that is negative to all of them.
func (db *DB) transact(batch []*request) (culprit int, err error) {
	switch {
	case db.failed != nil:
		return -1, db.failed
	case db.stuck.Load():
		return -1, ErrFailed
	}
	culprit = -1
	var tx *bolt.Tx
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil { // in bbolt's commit or rollback
			culprit, err = -1, fmt.Errorf("committing: %w", panicError(db.path, v))
			db.fail(err)
			if tx == nil || tx.DB() != nil {
				db.stuck.Store(true)
			}
		}
	}()
	err = db.bolt.Update(func(t *bolt.Tx) error {
		tx = t
		wrote := false
		for i, r := range batch {
			var panicked bool
			if panicked, r.refusal = db.call(r.op.Check, tx); panicked {
				culprit = i
				return r.refusal
			}
			if r.refusal != nil || r.op.Apply == nil {
				continue
			}
			wrote = true
			if _, err := db.call(r.op.Apply, tx); err != nil {
				culprit = i
				return err
			}
		}
		if !wrote {
			return errNothing // saves two fsyncs
		}
		return nil
	})
	switch {
	case culprit >= 0:
		return culprit, err
	case err == nil || err == errNothing:
		return -1, nil
	}
	err = fmt.Errorf("committing: %w", err)
	if tx != nil && !diskFull(err) {
		db.fail(err)
	}
	return -1, err
}

func (db *DB) fail(err error) {
	db.failed = fmt.Errorf("%w: %w", ErrFailed, err)
}

// call runs fn and makes an error of a panic.
func (db *DB) call(fn func(*bolt.Tx) error, tx *bolt.Tx) (panicked bool, err error) {
	if fn == nil {
		return false, nil
	}
	defer func() {
		if v := recover(); v != nil {
			panicked, err = true, panicError(db.path, v)
		}
	}()
	return false, fn(tx)
}

// diskFull reports whether err means that a write found no space. The meta page
// that would make the transaction valid comes last, so it was not written. The
// same from fsync, which is not a PathError, leaves that open.
func diskFull(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Op == "write" &&
		(errors.Is(p.Err, syscall.ENOSPC) || errors.Is(p.Err, syscall.EDQUOT))
}
