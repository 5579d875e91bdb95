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

	bolt "go.etcd.io/bbolt"
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
