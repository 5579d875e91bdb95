package groupcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// The file shrinks, keeps what was in it, is in use meanwhile, and stays locked.
func TestCompact(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "c.db")
	db, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := []byte("b")
	put := func(n int) error {
		return db.Commit(ctx, Op{Apply: func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			return b.Put(fmt.Appendf(nil, "%06d", n), bytes.Repeat([]byte("x"), 2000))
		}})
	}
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			if err := put(i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	err = db.Commit(ctx, Op{Apply: func(tx *bolt.Tx) error {
		b := tx.Bucket(name)
		for i := range 1900 {
			if err := b.Delete(fmt.Appendf(nil, "%06d", i)); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	before := size()
	all.Go(func() {
		if err := db.Compact(ctx); err != nil {
			t.Error(err)
		}
	})
	for i := range 50 {
		all.Go(func() {
			if err := put(5000 + i); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := db.View(func(tx *bolt.Tx) error {
				if tx.Bucket(name).Get([]byte("001950")) == nil {
					return errors.New("001950 is not there")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := db.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if after := size(); after > before/4 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	if _, err := Open(path, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("the new file is not locked: %v", err)
	}
	if err := put(9999); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	n := 0
	if err := again.View(func(tx *bolt.Tx) error {
		return tx.Bucket(name).ForEach(func(_, v []byte) error {
			if n++; len(v) != 2000 {
				return errors.New("cut")
			}
			return nil
		})
	}); err != nil || n != 151 {
		t.Errorf("%d records: %v", n, err)
	}
	if _, err := os.Stat(path + ".compact"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// filled makes a database with a record.
func filled(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := record(db, "first"); err != nil {
		t.Fatal(err)
	}
	return db
}

func record(db *DB, key string) error {
	return db.Commit(context.Background(), Op{Apply: func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("b"))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(key))
	}})
}

// When the new file has its name and that may not last, nothing is acknowledged that
// would then be gone, and nothing goes to the file that has no name.
func TestCompactUnsynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	db := filled(t, path)
	broken := errors.New("input/output error")
	db.syncDir = func(string) error { return broken }
	if err := db.Compact(context.Background()); !errors.Is(err, broken) {
		t.Errorf("Compact: %v", err)
	}
	if err := record(db, "second"); !errors.Is(err, ErrFailed) {
		t.Errorf("Commit after that: %v", err)
	}
	err := db.View(func(tx *bolt.Tx) error {
		if tx.Bucket([]byte("b")).Get([]byte("first")) == nil {
			return errors.New("what was there is not")
		}
		return nil
	})
	if err != nil {
		t.Errorf("View after that: %v", err)
	}
}

// A file that a killed compaction left does not stay.
func TestCompactKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	if err := filled(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	left := path + compactSuffix
	if err := os.WriteFile(left, make([]byte, 10_000), 0o600); err != nil {
		t.Fatal(err)
	}
	ro, err := Open(path, &Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("who only reads has removed it: %v", err)
	}
	if err := ro.Close(); err != nil {
		t.Fatal(err)
	}
	filled(t, path)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

// Whoever waits for the lock of a file during a compaction does not get the old one.
func TestCompactWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.db")
	db := filled(t, path)
	f, err := os.Open(path) // as somebody who waits has
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !isNamed(f, path) {
		t.Error("the file is not the one at its own path")
	}
	defer func() { openFile = os.OpenFile }()
	openFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		if name == path { // it is open, and not locked
			if err := db.Compact(context.Background()); err != nil {
				t.Error(err)
			}
		}
		return f, err
	}
	other, err := openBolt(path, time.Second, false)
	if err == nil {
		err = errors.Join(errors.New("it is open twice"), other.Close())
	}
	if err != berrors.ErrTimeout {
		t.Errorf("opening during a compaction: %v", err)
	}
	if isNamed(f, path) {
		t.Error("the old file still counts")
	}
}
