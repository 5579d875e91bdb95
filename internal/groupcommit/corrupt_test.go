package groupcommit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var errName = errors.New("a top-level key does not name a bucket")

// sample writes a database whose log has branch pages on two levels, free pages,
// and an inline bucket, and returns its content.
func sample(t testing.TB, path string) []byte {
	t.Helper()
	b, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	update := func(fn func(tx *bolt.Tx, log *bolt.Bucket) error) {
		t.Helper()
		err := b.Update(func(tx *bolt.Tx) error {
			log, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return fn(tx, log)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range uint64(4) {
		update(func(tx *bolt.Tx, log *bolt.Bucket) error {
			for i := range uint64(50) {
				// Long keys make many branch pages.
				key := binary.BigEndian.AppendUint64(nil, n*50+i)
				if err := log.Put(append(key, make([]byte, 500)...), make([]byte, 600)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	update(func(tx *bolt.Tx, log *bolt.Bucket) error {
		inline, err := tx.CreateBucket([]byte("inline"))
		if err != nil {
			return err
		}
		return inline.Put([]byte("key"), []byte("value"))
	})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// use opens the database, reads all of it and writes to it. It may fail, but what
// comes of the file must come as a *CorruptError.
func use(t testing.TB, path string, opts *Options) error {
	t.Helper()
	db, err := Open(path, opts)
	if err == nil {
		err = errors.Join(
			db.View(func(tx *bolt.Tx) error {
				return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
					if b == nil {
						return errName
					}
					sum := byte(0)
					return b.ForEach(func(k, v []byte) error {
						for _, c := range v[:min(len(v), 1<<16)] {
							sum += c
						}
						b.Get(k)
						return nil
					})
				})
			}),
			db.View(func(tx *bolt.Tx) error {
				if b := tx.Bucket(bucket); b != nil {
					c := b.Cursor()
					for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
					}
				}
				return nil
			}),
		)
		if opts == nil || !opts.ReadOnly {
			err = errors.Join(err, db.Commit(t.Context(), Op{Apply: func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("inline"))
				if err != nil {
					return err
				}
				return b.Put([]byte("k"), []byte("v"))
			}}))
		}
		err = errors.Join(err, db.Close())
	}
	return err
}

// readable uses the database and fails the test unless the outcome is as it
// should be for a damaged file.
func readable(t *testing.T, path string, opts *Options, damage string) (ok bool) {
	t.Helper()
	err := use(t, path, opts)
	if err != nil && !errors.As(err, new(*CorruptError)) && !errors.Is(err, errName) {
		t.Errorf("%s: %v", damage, err)
	}
	return err == nil
}

func TestBitFlips(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	content := sample(t, path)
	page := os.Getpagesize()
	random := rand.New(rand.NewPCG(1, 2))
	good := 0
	const flips = 1000
	for i := range flips {
		pos := random.IntN(len(content)/page) * page
		if i%4 == 0 {
			pos += random.IntN(page)
		} else {
			pos += random.IntN(headerSize + 5*elementSize) // where it hurts
		}
		bit := byte(1) << random.IntN(8)
		content[pos] ^= bit
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		opts := &Options{ReadOnly: true}
		if i%20 == 0 {
			opts = nil // writes, which takes longer
		}
		if readable(t, path, opts, fmt.Sprintf("byte %d ^ %#x", pos, bit)) {
			good++
		}
		content[pos] ^= bit
	}
	if good == 0 || good == flips {
		t.Errorf("%d of %d are readable", good, flips)
	}
}

func TestTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	content := sample(t, path)
	page := os.Getpagesize()
	good := 0
	for size := len(content); size > 0; size -= 1 + len(content)/200 {
		if size < 5*page {
			size = min(size, 1+size*9/10)
		}
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if readable(t, path, &Options{ReadOnly: true}, fmt.Sprintf("%d bytes", size)) {
			good++
			if err := use(t, path, nil); err != nil {
				t.Errorf("%d bytes: readable, but not writable: %v", size, err)
			}
		} else if err := use(t, path, nil); err == nil {
			t.Errorf("%d bytes: writable, but not readable", size)
		}
	}
	if good == 0 {
		t.Error("not even free space at the end can be cut off")
	}
}

func TestNotBolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	for _, content := range []string{"x", strings.Repeat("not a database\n", 5000), string(make([]byte, 1<<16))} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, nil)
		if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
}

// A branch page that is its own child: bbolt alone would follow it until memory
// or the stack is exhausted, which no recover can stop.
func TestCycle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	content := sample(t, path)
	page := os.Getpagesize()
	for pos := 2 * page; pos < len(content); pos += page {
		if native.Uint16(content[pos+8:]) == branchFlag {
			copy(content[pos+headerSize+8:], content[pos:pos+8])
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	err := use(t, path, nil)
	if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "used twice") {
		t.Error(err)
	}
}

// The file loses its pages while it is in use: reading the mapping faults.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	sample(t, path)
	db := open(t, path, nil)
	if err := os.Truncate(path, 2*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	read := func(tx *bolt.Tx) error { tx.Bucket(bucket).Get([]byte("k")); return nil }
	if err := db.View(read); !errors.As(err, new(*CorruptError)) {
		t.Errorf("View: %v", err)
	}
	errs := commitTogether(db, Op{Check: read}, Op{Apply: read}, Op{})
	if !errors.As(errs[0], new(*CorruptError)) || !errors.As(errs[1], new(*CorruptError)) || errs[2] != nil {
		t.Errorf("Commit: %v", errs)
	}
}

// The file loses even its meta pages, which bbolt reads with its locks held.
func TestStuck(t *testing.T) {
	for _, commitFirst := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "db")
		db, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		view := func() error { return db.View(func(*bolt.Tx) error { return nil }) }
		commit := func() error { return db.Commit(t.Context(), Op{}) }
		first, second := view, commit
		if commitFirst {
			first, second = commit, view
		}
		if err := first(); !errors.As(err, new(*CorruptError)) {
			t.Error(err)
		}
		if err := second(); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err := first(); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err := db.Close(); !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
	}
}
