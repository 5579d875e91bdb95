package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/concordia-node/concordia/internal/groupcommit"
	bolt "go.etcd.io/bbolt"
)

func Example() {
	dir, err := os.MkdirTemp("", "groupcommit")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	db, err := groupcommit.Open(filepath.Join(dir, "log.db"), nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()

	errTaken := errors.New("name is taken")
	claim := func(name, owner string) error {
		return db.Commit(context.Background(), groupcommit.Op{
			Check: func(tx *bolt.Tx) error {
				if b := tx.Bucket([]byte("names")); b != nil && b.Get([]byte(name)) != nil {
					return errTaken
				}
				return nil
			},
			Apply: func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("names"))
				if err != nil {
					return err
				}
				return b.Put([]byte(name), []byte(owner))
			},
		})
	}
	fmt.Println(claim("concordia", "ann"))
	fmt.Println(claim("concordia", "bob"))
	// Output:
	// <nil>
	// name is taken
}
