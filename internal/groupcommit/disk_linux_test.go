package groupcommit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
)

func init() {
	children["limited"] = limitedChild
	children["full"] = fullChild
}

// limitedChild appends to a file that may not grow for long. bbolt hides the
// reason of that failure, so that the database takes it for the worst.
func limitedChild(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		return err
	}
	return appendChild(path)
}

func TestFailedCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	cmd, stdout := child(t, "limited", path)
	out, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var acked, failed []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if msg, ok := strings.CutPrefix(line, "error: "); ok {
			failed = append(failed, msg)
		} else {
			acked = append(acked, line)
		}
	}
	if len(failed) != 8 { // one of each writer
		t.Errorf("%d errors", len(failed))
	}
	for _, msg := range failed {
		if !strings.HasPrefix(msg, "committing: ") && !strings.HasPrefix(msg, ErrFailed.Error()+": committing: ") {
			t.Error(msg)
		}
	}
	got := values(t, open(t, path, nil))
	slices.Sort(got)
	slices.Sort(acked)
	if !slices.Equal(got, acked) {
		t.Errorf("%d acknowledged, %d stored", len(acked), len(got))
	}
}

const exitSkip = 77

// fullChild fills a disk and goes on when there is space again.
func fullChild(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		fmt.Println(err)
		os.Exit(exitSkip)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<19), 0o600); err != nil {
		return err
	}
	db, err := Open(filepath.Join(dir, "db"), nil)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := db.Commit(ctx, Op{Apply: createBucket}); err != nil {
		return err
	}
	acked, value := 0, strings.Repeat("v", 10000)
	for _, left := range []int64{1 << 17, 0} {
		for err = nil; err == nil; {
			if err = db.Commit(ctx, put(value)); err == nil {
				acked++
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "committing: ") {
			return err
		}
		if err := os.Truncate(ballast, left); err != nil {
			return err
		}
		if err := db.Commit(ctx, put(value)); err != nil {
			return fmt.Errorf("with space again: %w", err)
		}
		acked++
	}
	if err := db.Close(); err != nil {
		return err
	}
	if db, err = Open(filepath.Join(dir, "db"), nil); err != nil {
		return err
	}
	stored := 0
	err = db.View(func(tx *bolt.Tx) error {
		stored = tx.Bucket(bucket).Stats().KeyN
		return nil
	})
	if err != nil || stored != acked {
		return fmt.Errorf("%d acknowledged, %d stored, %w", acked, stored, err)
	}
	return db.Close()
}

func TestDiskFull(t *testing.T) {
	cmd := exec.Command(os.Args[0], t.TempDir())
	cmd.Env = append(os.Environ(), childEnv+"=full")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// A name space of its own, where it may mount, and what it mounts goes with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("starting in a name space: %v", err)
	}
	err := cmd.Wait()
	if cmd.ProcessState.ExitCode() == exitSkip {
		t.Skipf("mounting: %s", &out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, &out)
	}
}
