package groupcommit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Defaults of [Options].
const (
	DefaultLockTimeout = time.Second
	DefaultMaxBatch    = 1024
)

// Options for Open. The zero value is fine.
type Options struct {
	Timeout  time.Duration // to wait for the file lock; zero: DefaultLockTimeout
	ReadOnly bool          // shares the file with other readers; Commit fails
	MaxBatch int           // operations per transaction; zero: DefaultMaxBatch
}

// DB is a bbolt database with one committer goroutine. Its methods may be called
// from many goroutines.
type DB struct {
	path     string
	bolt     *bolt.DB     // replaced by Compact, in the committer
	swap     sync.RWMutex // held for reading by those outside of the committer who use bolt
	readOnly bool
	maxBatch int
	close    func() error
	syncDir  func(dir string) error

	// queue is unbuffered: an operation waits in its caller's hands, which is
	// the back-pressure, until the committer takes it, which is the point up to
	// which the caller may withdraw it.
	queue     chan *request
	committer sync.WaitGroup

	mu      sync.Mutex // guards closed, and callers against Add during Wait
	closed  bool
	callers sync.WaitGroup // Commits in progress

	failed error       // of the committer: what Commit returns from now on
	stuck  atomic.Bool // bbolt panicked and holds its locks for ever
}

// Open opens the database at path, and creates it with mode 0600 if there is
// none. It returns an [ErrLocked] if others use the file, and a [*CorruptError]
// if the file does not make sense. Nil opts are the defaults.
//
// To find corruption Open reads the branch pages: a hundredth of the file or so.
func Open(path string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultLockTimeout
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	b, err := openChecked(path, o)
	switch {
	case err == berrors.ErrTimeout:
		return nil, fmt.Errorf("opening %s: %w", path, ErrLocked)
	case err != nil && errors.As(err, new(*CorruptError)):
		return nil, err
	case err != nil:
		if p := new(fs.PathError); errors.As(err, &p) && p.Path == path {
			err = p.Err // names the path once
		}
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	db := &DB{path: path, bolt: b, readOnly: o.ReadOnly, maxBatch: o.MaxBatch, syncDir: syncDir, queue: make(chan *request)}
	db.close = sync.OnceValue(db.shut)
	db.committer.Go(db.run)
	return db, nil
}

// openChecked opens the file read-only and verifies it before it lets bbolt write:
// a bbolt that panics while it opens for writing keeps the file locked.
func openChecked(path string, o Options) (*bolt.DB, error) {
	info, err := os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew && !o.ReadOnly:
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() == 0 && o.ReadOnly:
		return nil, errors.New("empty file")
	case info.Size() > 0:
		b, err := openBolt(path, o.Timeout, true)
		if err != nil {
			return nil, err
		}
		if err := verify(b, path); err != nil {
			b.Close()
			return nil, err
		}
		if o.ReadOnly {
			return b, nil
		}
		if err := b.Close(); err != nil {
			return nil, err
		}
	}
	b, err := openBolt(path, o.Timeout, false)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(path + compactSuffix) // of a compaction that was killed: it may have filled the disk
	if isNew {
		if err := syncDir(filepath.Dir(path)); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// openFile is what a test can have do more.
var openFile = os.OpenFile

func openBolt(path string, timeout time.Duration, readOnly bool) (b *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue(path, &err)
	var file *os.File
	b, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      timeout,
		ReadOnly:     readOnly,
		NoStatistics: true,
		OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
			f, err := openFile(name, flag, mode)
			file = f
			return f, err
		},
	})
	if err == nil && !isNamed(file, path) {
		// While this waited for the lock others put a new file in the place of the one it
		// waited for, and use that.
		_ = b.Close()
		return nil, berrors.ErrTimeout
	}
	// What is neither the lock nor the system is about the content.
	if err != nil && err != berrors.ErrTimeout &&
		!errors.As(err, new(*fs.PathError)) && !errors.As(err, new(syscall.Errno)) {
		err = &CorruptError{path, err}
	}
	return b, err
}

// isNamed reports whether a file that is open is the one at path.
func isNamed(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// syncDir makes the entry of a new file durable, which bbolt leaves to luck.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // cannot sync a directory, and need not
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// View runs fn in a read-only transaction, which sees what has been committed
// before. Slices from tx are valid until fn returns. Keep fn short, for bbolt
// cannot reuse pages nor, now and then, commit while it runs; and do not call
// Commit in it.
func (db *DB) View(fn func(tx *bolt.Tx) error) (err error) {
	if db.stuck.Load() {
		return ErrFailed
	}
	begun := false
	defer func() {
		if !begun && errors.As(err, new(*CorruptError)) {
			db.stuck.Store(true)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue(db.path, &err)
	for {
		b := db.current()
		err = b.View(func(tx *bolt.Tx) error {
			begun = true
			return fn(tx)
		})
		switch {
		case err != berrors.ErrDatabaseNotOpen:
			return err
		case b == db.current():
			return ErrClosed
		}
	}
}

// current returns the database that is in use.
func (db *DB) current() *bolt.DB {
	db.swap.RLock()
	defer db.swap.RUnlock()
	return db.bolt
}

// Close waits until all operations that are queued have been committed and all
// transactions have ended, then closes the file. Further calls return the same.
func (db *DB) Close() error { return db.close() }

func (db *DB) shut() error {
	db.mu.Lock()
	db.closed = true
	db.mu.Unlock()
	db.callers.Wait()
	close(db.queue)
	db.committer.Wait()
	err := ErrFailed
	if !db.stuck.Load() { // else it would wait for ever
		err = db.bolt.Close()
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", db.path, err)
	}
	return nil
}
