package groupcommit

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// verify has nothing to say about what bbolt writes.
func TestVerifyAccepts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	b, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		if err := b.Update(func(tx *bolt.Tx) error { return scribble(tx, random) }); err != nil {
			t.Fatal(err)
		}
		if err := verify(b, path); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// scribble makes random changes, large and small, in a few buckets and buckets in them.
func scribble(tx *bolt.Tx, random *rand.Rand) error {
	name := fmt.Appendf(nil, "bucket %*d", random.IntN(300), random.IntN(8))
	if random.IntN(10) == 0 {
		name, _ = tx.Cursor().First()
		if name == nil {
			return nil
		}
		return tx.DeleteBucket(name)
	}
	b, err := tx.CreateBucketIfNotExists(name)
	if err == nil && random.IntN(3) == 0 {
		b, err = b.CreateBucketIfNotExists([]byte("inner"))
	}
	if err != nil {
		return err
	}
	if random.IntN(3) == 0 {
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if v != nil && random.IntN(4) > 0 {
				if err := c.Delete(); err != nil {
					return err
				}
			}
		}
	}
	for range random.IntN(200) {
		key := fmt.Appendf(nil, "%0*d", 1+random.IntN(500), random.IntN(1000))
		if err := b.Put(key, make([]byte, random.IntN(1<<random.IntN(14)))); err != nil {
			return err
		}
	}
	return nil
}
