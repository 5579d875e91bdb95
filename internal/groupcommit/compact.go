package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// compactSize bounds one transaction of a compaction.
const compactSize = 1 << 20

// compactSuffix is what the name of a file that Compact writes has more.
const compactSuffix = ".compact"

// Compact makes the file as small as what is in it, and leaves it in use: what was
// freed otherwise stays in the file, to be used again. Operations wait for it, a second
// or two for each gigabyte that is kept, and it for the readers at its end. It needs
// that much space beside the file. The file is at every moment the old one or the new
// one, whole, and never unlocked.
func (db *DB) Compact(ctx context.Context) error {
	return db.enqueue(ctx, &request{special: db.compact, answer: make(chan error, 1)})
}

func (db *DB) compact() error {
	switch {
	case db.failed != nil:
		return db.failed
	case db.stuck.Load():
		return ErrFailed
	case db.readOnly:
		return errors.New("compacting: the database is open for reading only")
	}
	path := db.path + compactSuffix
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was killed
		return fmt.Errorf("compacting: %w", err)
	}
	fresh, err := db.copyTo(path)
	if err != nil {
		return errors.Join(fmt.Errorf("compacting: %w", err), os.Remove(path))
	}
	if err := os.Rename(path, db.path); err != nil {
		return errors.Join(fmt.Errorf("compacting: %w", err), fresh.Close(), os.Remove(path))
	}
	// From here on the old file has no name: nothing may be written to it.
	db.swap.Lock()
	old := db.bolt
	db.bolt = fresh
	db.swap.Unlock()
	if err := db.syncDir(filepath.Dir(db.path)); err != nil {
		// After a crash the name may be the old file's again, without what is written now.
		err = fmt.Errorf("compacting: %w", err)
		db.fail(err)
		return errors.Join(err, old.Close())
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("compacting: closing the old file: %w", err)
	}
	return nil
}

// copyTo returns a copy of the database, on disk and open.
func (db *DB) copyTo(path string) (fresh *bolt.DB, err error) {
	defer rescue(db.path, &err)
	if fresh, err = openBolt(path, DefaultLockTimeout, false); err != nil {
		return nil, err
	}
	fresh.NoSync = true
	err = bolt.Compact(fresh, db.bolt, compactSize)
	fresh.NoSync = false
	if err == nil {
		err = fresh.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, fresh.Close())
	}
	return fresh, nil
}
