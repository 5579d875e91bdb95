package groupcommit

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"
)

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
	for n := range uint64(6) {
		update(func(tx *bolt.Tx, log *bolt.Bucket) error {
			for i := range uint64(100) {
				// Long keys make many branch pages.
				key := binary.BigEndian.AppendUint64(nil, n*100+i)
				if err := log.Put(append(key, make([]byte, 500)...), make([]byte, 600)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	update(func(tx *bolt.Tx, log *bolt.Bucket) error {
		_, err := tx.CreateBucket([]byte("inline"))
		return err
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
						return errors.New("name of a bucket is not that of a bucket")
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
