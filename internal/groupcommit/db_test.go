package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

func TestCloseDrains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, nil)
	if err := db.Commit(t.Context(), Op{Apply: createBucket}); err != nil {
		t.Fatal(err)
	}
	release := block(t, db)
	var wg sync.WaitGroup
	var want []string
	for i := range 50 {
		ctx := queuedContext{t.Context(), make(chan struct{})}
		wg.Go(func() {
			if err := db.Commit(ctx, put(fmt.Sprintf("%02d", i))); err != nil {
				t.Errorf("op %d: %v", i, err)
			}
		})
		<-ctx.queued
		want = append(want, fmt.Sprintf("%02d", i))
	}
	for range 2 {
		wg.Go(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	release()
	wg.Wait()
	if err := db.Commit(t.Context(), put("late")); err != ErrClosed {
		t.Errorf("Commit after Close: %v", err)
	}
	if err := db.View(func(*bolt.Tx) error { return nil }); err != ErrClosed {
		t.Errorf("View after Close: %v", err)
	}
	got := values(t, open(t, path, nil))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("log is %q", got)
	}
}

// Close while others commit: an answer of nil means on disk, ErrClosed means not.
func TestCloseRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path, nil)
	if err := db.Commit(t.Context(), Op{Apply: createBucket}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var acked [20]int
	started := make(chan struct{}, len(acked))
	for w := range acked {
		wg.Go(func() {
			for {
				err := db.Commit(t.Context(), put(fmt.Sprint(w)))
				if err == ErrClosed {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if acked[w]++; acked[w] == 1 {
					started <- struct{}{}
				}
			}
		})
	}
	for range acked {
		<-started
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	var stored [len(acked)]int
	for _, v := range values(t, open(t, path, nil)) {
		var w int
		fmt.Sscan(v, &w)
		stored[w]++
	}
	if stored != acked {
		t.Errorf("acknowledged %v, stored %v", acked, stored)
	}
}

func TestNoGoroutineLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		db := open(t, filepath.Join(t.TempDir(), "db"), nil)
		if err := db.Commit(t.Context(), Op{Apply: createBucket}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Close waits for the committer, but it ends a little after it says so.
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	quick := &Options{Timeout: time.Millisecond}

	db := open(t, path, nil)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	if _, err := Open(path, quick); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("locked: %v", err)
	}
	if err := db.Commit(t.Context(), Op{Apply: createBucket}); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}

	reader := open(t, path, &Options{ReadOnly: true})
	open(t, path, &Options{ReadOnly: true})
	if _, err := Open(path, quick); !errors.Is(err, ErrLocked) {
		t.Errorf("locked by readers: %v", err)
	}
	for range 2 {
		if err := reader.Commit(t.Context(), put("a")); !errors.Is(err, berrors.ErrDatabaseReadOnly) {
			t.Errorf("commit to reader: %v", err)
		}
	}
	if got := values(t, reader); got != nil {
		t.Errorf("log is %q", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path     string
		readOnly bool
		want     string
	}{
		{dir, false, "not a regular file"},
		{dir, true, "not a regular file"},
		{os.DevNull, false, "not a regular file"},
		{filepath.Join(dir, "none"), true, "no such file"},
		{filepath.Join(dir, "none", "db"), false, "no such file"},
		{empty, true, "empty file"},
	} {
		_, err := Open(test.path, &Options{ReadOnly: test.readOnly})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "opening "+test.path) {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	open(t, empty, nil) // for writing it is as good as new
}

func TestViewPanics(t *testing.T) {
	db := openLog(t)
	func() {
		defer func() {
			if v := recover(); v != "mine" {
				t.Errorf("recovered %v", v)
			}
		}()
		db.View(func(*bolt.Tx) error { panic("mine") })
	}()
	errMine := errors.New("mine")
	if err := db.View(func(*bolt.Tx) error { return errMine }); err != errMine {
		t.Error(err)
	}
	if err := db.Commit(context.Background(), put("a")); err != nil {
		t.Error(err)
	}
}
