package transcript

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/wire"
)

// A Store holds the transcripts of many sessions. Its methods may be called from
// many goroutines.
type Store struct{ db *groupcommit.DB }

// Options for Open. The zero value is fine.
type Options struct {
	ReadOnly    bool          // for looking at a file that others may read too
	LockTimeout time.Duration // to wait for another process; zero: a second
}

// A Head is the end of a session's log.
type Head struct {
	Session wire.SessionID
	Len     int       // messages
	Tip     wire.Hash // of the last one
}

var (
	bucketLog      = []byte("log")      // sequence number -> canonical message
	bucketChain    = []byte("chain")    // session, position -> sequence number
	bucketIDs      = []byte("ids")      // session, message id -> position
	bucketHeads    = []byte("heads")    // session -> length, tip
	bucketReceipts = []byte("receipts") // session, receipt id -> canonical receipt
	buckets        = [][]byte{bucketLog, bucketChain, bucketIDs, bucketHeads, bucketReceipts}
)

// Open opens the store in the file path and creates it if there is none.
func Open(path string, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	db, err := groupcommit.Open(path, &groupcommit.Options{ReadOnly: o.ReadOnly, Timeout: o.LockTimeout})
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		err = db.Commit(context.Background(), groupcommit.CreateBuckets(buckets...))
	} else {
		err = db.View(func(tx *bolt.Tx) error {
			for _, name := range buckets {
				if tx.Bucket(name) == nil {
					return errors.New("not a transcript store")
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening transcript store %s: %w", path, err), db.Close())
	}
	return &Store{db}, nil
}

// Close waits for appends that are under way and closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Append adds m to the end of its session's log and returns when it is on disk.
// A message that is already there is no error. If prev_hash is not the session's
// tip, the error is a *wire.Violation of wire.RulePrevHash with a *wire.TipError;
// if another message has the id, of wire.RuleMessageID.
func (s *Store) Append(ctx context.Context, m *wire.Message) error {
	text := []byte(m.Value().Canonical())
	var head Head
	known := false
	return s.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			var err error
			if head, err = readHead(tx, m.Session); err != nil {
				return err
			}
			if n := tx.Bucket(bucketIDs).Get(key(m.Session, string(m.ID))); n != nil {
				stored, err := readMessage(tx, m.Session, binary.BigEndian.Uint64(n))
				if err != nil {
					return err
				}
				if known = bytes.Equal(stored, text); !known {
					return wire.RuleMessageID.At("/id")
				}
				return nil
			}
			if known = false; m.PrevHash != head.Tip {
				return wire.RulePrevHash.Because("/prev_hash", &wire.TipError{Tip: head.Tip, Len: head.Len})
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if known {
				return nil
			}
			log := tx.Bucket(bucketLog)
			log.FillPercent = 1 // grows at its end only
			seq, err := log.NextSequence()
			if err != nil {
				return err
			}
			position := uint64(head.Len)
			return errors.Join(
				log.Put(number(seq), text),
				tx.Bucket(bucketChain).Put(key(m.Session, string(number(position))), number(seq)),
				tx.Bucket(bucketIDs).Put(key(m.Session, string(m.ID)), number(position)),
				tx.Bucket(bucketHeads).Put([]byte(m.Session), append(number(position+1), hashBytes(m.Hash())...)),
			)
		},
	})
}

// Has reports whether exactly this message is in the log of its session.
func (s *Store) Has(m *wire.Message) (has bool, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		n := tx.Bucket(bucketIDs).Get(key(m.Session, string(m.ID)))
		if n == nil {
			return nil
		}
		stored, err := readMessage(tx, m.Session, binary.BigEndian.Uint64(n))
		has = err == nil && string(stored) == m.Value().Canonical()
		return err
	})
	return has, err
}

func hashBytes(h wire.Hash) []byte { return h[:] }

// number is the big-endian form of n, whose order is that of the numbers.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// key joins a session and what is looked up in it. An id contains no zero byte.
func key(session wire.SessionID, rest string) []byte {
	return append(append([]byte(session), 0), rest...)
}

func readHead(tx *bolt.Tx, session wire.SessionID) (Head, error) {
	h := Head{Session: session}
	b := tx.Bucket(bucketHeads).Get([]byte(session))
	if b == nil {
		return h, nil
	}
	if len(b) != 8+len(h.Tip) {
		return h, fmt.Errorf("reading the head of session %q: damaged entry", session)
	}
	h.Len, h.Tip = int(binary.BigEndian.Uint64(b)), wire.Hash(b[8:])
	return h, nil
}

func readMessage(tx *bolt.Tx, session wire.SessionID, position uint64) ([]byte, error) {
	seq := tx.Bucket(bucketChain).Get(key(session, string(number(position))))
	if text := tx.Bucket(bucketLog).Get(seq); seq != nil && text != nil {
		return text, nil
	}
	return nil, fmt.Errorf("reading message %d of session %q: missing in the store", position, session)
}

// Head returns the end of a session's log; of a session without messages, the
// genesis hash and length 0.
func (s *Store) Head(session wire.SessionID) (head Head, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		head, err = readHead(tx, session)
		return err
	})
	return head, err
}

// Sessions returns the heads of all sessions, ordered by id.
func (s *Store) Sessions() ([]Head, error) {
	var heads []Head
	err := s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketHeads).ForEach(func(id, _ []byte) error {
			head, err := readHead(tx, wire.SessionID(id))
			heads = append(heads, head)
			return err
		})
	})
	return heads, err
}

// Read returns at most most messages of a session from position from on. They are
// as they were appended, and unverified.
func (s *Store) Read(session wire.SessionID, from, most int) ([]wire.Value, error) {
	var messages []wire.Value
	err := s.db.View(func(tx *bolt.Tx) error {
		head, err := readHead(tx, session)
		if err != nil {
			return err
		}
		for i := from; i < min(head.Len, from+most); i++ {
			text, err := readMessage(tx, session, uint64(i))
			if err != nil {
				return err
			}
			v, err := wire.Parse(text, wire.DocumentLimits)
			if err != nil {
				return fmt.Errorf("reading message %d of session %q: %w", i, session, err)
			}
			messages = append(messages, v)
		}
		return nil
	})
	return messages, err
}

// Size returns how many bytes the first messages of a session have, in canonical form:
// at most most messages.
func (s *Store) Size(session wire.SessionID, most int) (size int, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		head, err := readHead(tx, session)
		if err != nil {
			return err
		}
		for i := range min(head.Len, most) {
			text, err := readMessage(tx, session, uint64(i))
			if err != nil {
				return err
			}
			size += len(text)
		}
		return nil
	})
	return size, err
}

// PutReceipt keeps a receipt of a session under its id, in place of an earlier
// one: a receipt is put when proposed and again when countersigned.
func (s *Store) PutReceipt(ctx context.Context, session wire.SessionID, id string, receipt wire.Value) error {
	return s.db.Commit(ctx, groupcommit.Op{Apply: func(tx *bolt.Tx) error {
		return tx.Bucket(bucketReceipts).Put(key(session, id), []byte(receipt.Canonical()))
	}})
}

// Receipts returns the receipts of a session, ordered by id.
func (s *Store) Receipts(session wire.SessionID) ([]wire.Value, error) {
	var receipts []wire.Value
	err := s.db.View(func(tx *bolt.Tx) error {
		prefix := key(session, "")
		c := tx.Bucket(bucketReceipts).Cursor()
		for k, text := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, text = c.Next() {
			v, err := wire.Parse(text, wire.DocumentLimits)
			if err != nil {
				return fmt.Errorf("reading receipt %q: %w", k[len(prefix):], err)
			}
			receipts = append(receipts, v)
		}
		return nil
	})
	return receipts, err
}
