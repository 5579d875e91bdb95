// Package boltmail keeps a relay's mail in one bbolt file.
//
// Every transaction is fsynced before it is acknowledged, together with those that
// waited at the same time (package groupcommit). Entries of all logs go to the end of
// one bucket, in the order in which they arrive, which is what bbolt writes fastest. A
// second bucket says where the entries of a log are, in blocks of 64: a page of it serves
// many logs, and it is pages that a transaction pays for.
package boltmail

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
)

var (
	bucketRecords = []byte("records") // key -> record
	bucketLog     = []byte("log")     // sequence number -> entry
	bucketIndex   = []byte("index")   // log, block -> sequence numbers of its entries
	buckets       = [][]byte{bucketRecords, bucketLog, bucketIndex}
)

// A Mail is a [relay.Driver]. Its methods may be called from many goroutines.
type Mail struct {
	db   *groupcommit.DB
	path string

	listening sync.RWMutex // guards heard
	heard     map[string]map[*listener]struct{}

	sizing     sync.Mutex // guards what follows
	used, free int64
	sized      time.Time
}

type listener struct{ wake func(session string) }

var _ relay.Driver = (*Mail)(nil)

// Open opens the file path, and creates it if there is none. Only one process can have
// it open.
func Open(path string) (*Mail, error) {
	db, err := groupcommit.Open(path, nil)
	if err != nil {
		return nil, err
	}
	err = db.Commit(context.Background(), groupcommit.CreateBuckets(buckets...))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening mail %s: %w", path, err), db.Close())
	}
	return &Mail{db: db, path: path, heard: map[string]map[*listener]struct{}{}}, nil
}

// OpenReadOnly opens a file that is there, for looking only: Update and Compact fail.
// Several processes may do so at once, and none that writes meanwhile.
func OpenReadOnly(path string) (*Mail, error) {
	db, err := groupcommit.Open(path, &groupcommit.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	err = db.View(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if tx.Bucket(name) == nil {
				return errNoMail
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening mail %s: %w", path, err), db.Close())
	}
	return &Mail{db: db, path: path, heard: map[string]map[*listener]struct{}{}}, nil
}

var errNoMail = errors.New("it is a database, and not a relay's")

// Close waits for transactions that are under way and closes the file.
func (m *Mail) Close() error { return m.db.Close() }

// Update implements [relay.Driver].
func (m *Mail) Update(ctx context.Context, f func(relay.Tx) error) error {
	var t *tx
	return m.db.Commit(ctx, groupcommit.Op{
		Check: func(b *bolt.Tx) error {
			t = newTx(b)
			err := f(t)
			if t.err != nil {
				return t.err
			}
			return err
		},
		Apply: func(b *bolt.Tx) error { return t.write(b) },
	})
}

// View implements [relay.Driver].
func (m *Mail) View(ctx context.Context, f func(relay.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.db.View(func(b *bolt.Tx) error {
		t := newTx(b)
		err := f(t)
		if t.err != nil {
			return t.err
		}
		return err
	})
}

// Wake implements [relay.Driver].
func (m *Mail) Wake(agent, session string) {
	m.listening.RLock()
	defer m.listening.RUnlock()
	for l := range m.heard[agent] {
		l.wake(session)
	}
}

// Listen implements [relay.Driver].
func (m *Mail) Listen(agent string, wake func(session string)) (stop func()) {
	l := &listener{wake}
	m.listening.Lock()
	defer m.listening.Unlock()
	if m.heard[agent] == nil {
		m.heard[agent] = map[*listener]struct{}{}
	}
	m.heard[agent][l] = struct{}{}
	return func() {
		m.listening.Lock()
		defer m.listening.Unlock()
		delete(m.heard[agent], l)
		if len(m.heard[agent]) == 0 {
			delete(m.heard, agent)
		}
	}
}

// Slack implements [relay.Driver]: transactions run one after the other.
func (m *Mail) Slack() int { return 0 }

// sizeLasts is how long the answer of Size stands.
const sizeLasts = time.Second

// Size implements [relay.Driver]. The answer is up to a second old.
func (m *Mail) Size() (used, free int64) {
	m.sizing.Lock()
	defer m.sizing.Unlock()
	if now := time.Now(); m.sized.IsZero() || now.Sub(m.sized) > sizeLasts {
		m.sized, m.used = now, -1
		if info, err := os.Stat(m.path); err == nil {
			m.used = info.Size()
		}
		m.free = freeSpace(filepath.Dir(m.path))
	}
	return m.used, m.free
}

// Compact implements [relay.Driver]. Transactions that write wait for it.
func (m *Mail) Compact(ctx context.Context) error { return m.db.Compact(ctx) }

// A tx is a transaction on top of one of bbolt: what it writes stays in memory until
// the function that writes has returned.
type tx struct {
	b       *bolt.Tx
	records map[string][]byte // nil: deleted
	entries map[string][]entry
	dropped map[string]bool
	err     error
}

type entry struct {
	n    uint64
	text []byte
}

func newTx(b *bolt.Tx) *tx { return &tx{b: b} }

func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Get implements [relay.Reader].
func (t *tx) Get(key string) []byte {
	if record, ok := t.records[key]; ok {
		return record
	}
	return t.b.Bucket(bucketRecords).Get([]byte(key))
}

// Scan implements [relay.Reader].
func (t *tx) Scan(prefix, after string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		var own []string
		for key := range t.records {
			if strings.HasPrefix(key, prefix) && key > after {
				own = append(own, key)
			}
		}
		slices.Sort(own)
		c := t.b.Bucket(bucketRecords).Cursor()
		k, v := c.Seek([]byte(max(prefix, after)))
		for {
			if k != nil && string(k) <= after {
				k, v = c.Next()
				continue
			}
			if k != nil && !strings.HasPrefix(string(k), prefix) {
				k = nil
			}
			switch {
			case k == nil && len(own) == 0:
				return
			case len(own) > 0 && (k == nil || own[0] <= string(k)):
				key := own[0]
				if own = own[1:]; k != nil && key == string(k) {
					k, v = c.Next()
				}
				if record := t.records[key]; record != nil && !yield(key, record) {
					return
				}
			default:
				key, record := string(k), v
				if k, v = c.Next(); !yield(key, record) {
					return
				}
			}
		}
	}
}

// Entries implements [relay.Reader].
func (t *tx) Entries(log string, from uint64) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		from := max(1, from)
		if !t.dropped[log] {
			c, entries := t.b.Bucket(bucketIndex).Cursor(), t.b.Bucket(bucketLog)
			k, block := c.Seek(place(log, from))
			for ; isOf(log, k); k, block = c.Next() {
				n := binary.BigEndian.Uint64(k[len(log)+1:])*blockSize + 1
				for ; len(block) >= 8; n, block = n+1, block[8:] {
					if n < from {
						continue
					}
					text := entries.Get(block[:8])
					if text == nil {
						t.fail(fmt.Errorf("reading entry %d of log %q: missing in the file", n, log))
						return
					}
					if !yield(n, text) {
						return
					}
				}
			}
		}
		for _, e := range t.entries[log] {
			if e.n >= from && !yield(e.n, e.text) {
				return
			}
		}
	}
}

// blockSize is how many entries of a log share a record of the index.
const blockSize = 64

// place is the key of the block of entry n of a log. The blocks are numbered from 0.
func place(log string, n uint64) []byte {
	k := make([]byte, 0, len(log)+1+8)
	return binary.BigEndian.AppendUint64(append(append(k, log...), 0), (n-1)/blockSize)
}

// isOf reports whether k is the key of a block of a log.
func isOf(log string, k []byte) bool {
	return len(k) == len(log)+1+8 && string(k[:len(log)]) == log && k[len(log)] == 0
}

// Put implements [relay.Tx].
func (t *tx) Put(key string, record []byte) {
	if key == "" || len(key) > relay.MaxKey {
		t.fail(fmt.Errorf("writing a record: a key of %d bytes", len(key)))
		return
	}
	if t.records == nil {
		t.records = map[string][]byte{}
	}
	if record == nil {
		record = []byte{}
	}
	t.records[key] = record
}

// Delete implements [relay.Tx].
func (t *tx) Delete(key string) {
	if t.records == nil {
		t.records = map[string][]byte{}
	}
	t.records[key] = nil
}

// Append implements [relay.Tx].
func (t *tx) Append(log string, n uint64, text []byte) {
	switch {
	case log == "" || len(log) > relay.MaxKey || strings.Contains(log, "\x00"):
		t.fail(fmt.Errorf("appending: a name of %d bytes, or with a zero byte", len(log)))
		return
	case n == 0 || !t.ends(log, n-1):
		t.fail(fmt.Errorf("appending entry %d to a log that does not end before it", n))
		return
	}
	if t.entries == nil {
		t.entries = map[string][]entry{}
	}
	t.entries[log] = append(t.entries[log], entry{n, text})
}

// ends reports whether entry n is the last of a log.
func (t *tx) ends(log string, n uint64) bool {
	if own := t.entries[log]; len(own) > 0 {
		return own[len(own)-1].n == n
	}
	if t.dropped[log] {
		return n == 0
	}
	index := t.b.Bucket(bucketIndex)
	if n%blockSize != 0 {
		return len(index.Get(place(log, n))) == int(n%blockSize)*8
	}
	return index.Get(place(log, n+1)) == nil && (n == 0 || len(index.Get(place(log, n))) == blockSize*8)
}

// Drop implements [relay.Tx].
func (t *tx) Drop(log string, _ uint64) {
	if t.dropped == nil {
		t.dropped = map[string]bool{}
	}
	t.dropped[log] = true
	delete(t.entries, log)
}

// write writes what the transaction has gathered.
func (t *tx) write(b *bolt.Tx) error {
	records, log, index := b.Bucket(bucketRecords), b.Bucket(bucketLog), b.Bucket(bucketIndex)
	log.FillPercent = 1 // grows at its end only
	for name := range t.dropped {
		var blocks [][]byte
		c := index.Cursor()
		for k, block := c.Seek(place(name, 1)); isOf(name, k); k, block = c.Next() {
			blocks = append(blocks, slices.Clone(k))
			for ; len(block) >= 8; block = block[8:] {
				if err := log.Delete(block[:8]); err != nil {
					return err
				}
			}
		}
		for _, k := range blocks {
			if err := index.Delete(k); err != nil {
				return err
			}
		}
	}
	for name, list := range t.entries {
		for _, e := range list {
			seq, err := log.NextSequence()
			if err != nil {
				return err
			}
			at := binary.BigEndian.AppendUint64(make([]byte, 0, 8), seq)
			if err := log.Put(at, e.text); err != nil {
				return err
			}
			block := place(name, e.n)
			known := index.Get(block)
			if err := index.Put(block, append(append(make([]byte, 0, len(known)+8), known...), at...)); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.records)) {
		var err error
		if record := t.records[key]; record == nil {
			err = records.Delete([]byte(key))
		} else {
			err = records.Put([]byte(key), record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
