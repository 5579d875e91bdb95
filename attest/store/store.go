package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/wire"
)

// A Store holds artifacts. Its methods may be called from many goroutines.
type Store struct{ db *groupcommit.DB }

// Options for Open. The zero value is fine.
type Options struct {
	ReadOnly    bool          // for looking at a file that others may read too
	LockTimeout time.Duration // to wait for another process; zero: a second
}

var (
	bucketArtifacts = []byte("artifacts/1")
	bucketIndex     = []byte("index/1")
)

var errForeign = errors.New("not an artifact store of this version")

// Open opens the store in the file path and creates it if there is none. It refuses a
// database that is something else.
func Open(path string, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	db, err := groupcommit.Open(path, &groupcommit.Options{ReadOnly: o.ReadOnly, Timeout: o.LockTimeout})
	if err != nil {
		return nil, err
	}
	isEmpty := false
	err = db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketArtifacts) != nil && tx.Bucket(bucketIndex) != nil {
			return nil
		}
		if first, _ := tx.Cursor().First(); first != nil || o.ReadOnly {
			return errForeign
		}
		isEmpty = true
		return nil
	})
	if isEmpty && err == nil {
		err = db.Commit(context.Background(), groupcommit.CreateBuckets(bucketArtifacts, bucketIndex))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening artifact store %s: %w", path, err), db.Close())
	}
	return &Store{db}, nil
}

// Close waits for what is under way and closes the file.
func (s *Store) Close() error { return s.db.Close() }

// A Candidate is an artifact as it was received, with what its verification came to.
type Candidate struct {
	Value  wire.Value
	Kind   string      // SPEC §12.3
	Report wire.Report // of all that the caller requires
}

// An Answer says what became of a candidate.
type Answer struct {
	Status Status
	Hash   wire.Hash
	Err    error // why it was refused: what failed, or what could not be checked
}

// A Status is a word for what became of a candidate.
type Status string

// The statuses.
const (
	New       Status = "new"
	Known     Status = "known"     // it was stored before, and nothing changed
	Confirmed Status = "confirmed" // it was stored unverified, and is no longer
	Refused   Status = "refused"
)

// MaxSize is how many bytes of canonical JSON an artifact has at most: a bundle of a
// thousand receipts fits.
const MaxSize = 16 << 20

var (
	errUnverified = errors.New("nobody verified it")
	errKind       = errors.New("an artifact of this kind is not kept")
	errSize       = fmt.Errorf("more than %d bytes", MaxSize)
)

// Add stores candidates, in one transaction, and returns when they are on disk. The
// answers are in their order. A candidate that failed is refused; one of which a
// required check could not be made is refused too, unless unverified is true: then
// it is stored and marked. now is kept as the time at which new ones were stored.
func (s *Store) Add(ctx context.Context, now time.Time, unverified bool, list ...Candidate) ([]Answer, error) {
	answers := make([]Answer, len(list))
	artifacts := make([]artifact, len(list))
	for i, c := range list {
		answers[i] = Answer{Status: Refused, Hash: c.Value.Hash()}
		outcome := c.Report.Outcome()
		switch {
		case len(c.Report) == 0:
			answers[i].Err = errUnverified
		case outcome == wire.Failed || outcome == wire.NotChecked && !unverified:
			answers[i].Err = c.Report.Err()
		case kinds[c.Kind] == nil:
			answers[i].Err = errKind
		case len(c.Value.Canonical()) > MaxSize:
			answers[i].Err = errSize
		default:
			answers[i].Status = ""
			artifacts[i] = newArtifact(c.Kind, c.Value, outcome != wire.Passed, now)
		}
	}
	if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Status != Refused }) {
		return answers, nil
	}
	err := s.db.Commit(ctx, groupcommit.Op{Apply: func(tx *bolt.Tx) error {
		for i := range artifacts {
			if answers[i].Status == Refused {
				continue
			}
			var err error
			if answers[i].Status, err = add(tx, artifacts[i]); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("storing artifacts: %w", err)
	}
	return answers, nil
}

func add(tx *bolt.Tx, a artifact) (Status, error) {
	status := New
	old, err := readArtifact(tx, a.hash)
	switch {
	case errors.Is(err, ErrNotStored):
	case errors.Is(err, ErrDamaged): // what came in is what it was
		if err := removeDamaged(tx, a.hash); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	case !old.unverified || a.unverified:
		return Known, nil
	default:
		status = Confirmed
		a.stored = old.stored
		if err := old.remove(tx); err != nil {
			return "", err
		}
	}
	return status, a.put(tx)
}

// Delete removes artifacts and returns, when that is on disk, which of them were
// there. It removes a damaged one too.
func (s *Store) Delete(ctx context.Context, hashes ...wire.Hash) ([]bool, error) {
	there := make([]bool, len(hashes))
	err := s.db.Commit(ctx, groupcommit.Op{Apply: func(tx *bolt.Tx) error {
		for i, hash := range hashes {
			a, err := readArtifact(tx, hash)
			there[i] = !errors.Is(err, ErrNotStored)
			switch {
			case !there[i]:
				continue
			case errors.Is(err, ErrDamaged):
				err = removeDamaged(tx, hash)
			case err == nil:
				err = a.remove(tx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("deleting artifacts: %w", err)
	}
	return there, nil
}

// Get returns the artifact of that hash. The error is ErrNotStored if there is none,
// and ErrDamaged if it is not what it was.
func (s *Store) Get(hash wire.Hash) (e Entry, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		a, err := readArtifact(tx, hash)
		if err != nil {
			return err
		}
		e, err = a.entry(tx)
		return err
	})
	return e, err
}
