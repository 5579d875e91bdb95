package groupcommit

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// childEnv makes the test binary run one of the children instead of the tests.
const childEnv = "GROUPCOMMIT_TEST_CHILD"

var children = map[string]func(path string) error{"append": appendChild}

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv(childEnv)]; ok {
		if err := child(os.Args[1]); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var bucket = []byte("log")

func open(t testing.TB, path string, opts *Options) *DB {
	t.Helper()
	db, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openLog opens a new database that has the bucket.
func openLog(t testing.TB) *DB {
	t.Helper()
	db := open(t, filepath.Join(t.TempDir(), "db"), nil)
	if err := db.Commit(context.Background(), Op{Apply: createBucket}); err != nil {
		t.Fatal(err)
	}
	return db
}

func createBucket(tx *bolt.Tx) error {
	_, err := tx.CreateBucketIfNotExists(bucket)
	return err
}

// put appends value at the next sequence number.
func put(value string) Op {
	return Op{Apply: func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		return b.Put(binary.BigEndian.AppendUint64(nil, n), []byte(value))
	}}
}

// values returns what has been put, in order.
func values(t testing.TB, db *DB) (values []string) {
	t.Helper()
	err := db.View(func(tx *bolt.Tx) error {
		n := uint64(0)
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			if n++; binary.BigEndian.Uint64(k) != n {
				return errors.New("gap in the log")
			}
			values = append(values, string(v))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// commitTogether runs the ops as one batch and returns their answers.
func commitTogether(db *DB, ops ...Op) []error {
	var batch []*request
	for _, op := range ops {
		batch = append(batch, &request{op: op, answer: make(chan error, 1)})
	}
	requests := append([]*request(nil), batch...) // commit shortens the batch
	db.commit(batch)
	errs := make([]error, len(ops))
	for i, r := range requests {
		errs[i] = <-r.answer
	}
	return errs
}

// block occupies the committer until release is called.
func block(t testing.TB, db *DB) (release func()) {
	t.Helper()
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Commit(context.Background(), Op{Check: func(*bolt.Tx) error {
			close(entered)
			<-leave
			return nil
		}})
	}()
	<-entered
	return func() {
		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// queuedContext closes queued when Commit begins to wait.
type queuedContext struct {
	context.Context
	queued chan struct{}
}

func (c queuedContext) Done() <-chan struct{} {
	close(c.queued)
	return c.Context.Done()
}
