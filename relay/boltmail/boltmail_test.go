package boltmail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/relay/mailtest"
)

func open(tb testing.TB, path string) *boltmail.Mail {
	tb.Helper()
	m, err := boltmail.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { m.Close() })
	return m
}

func TestContract(t *testing.T) {
	mailtest.Run(t, func(t *testing.T, dir string) relay.Driver {
		m, err := boltmail.Open(filepath.Join(dir, "mail.db"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// fill appends n entries of 1 KB to a log, from number first on.
func fill(t *testing.T, m *boltmail.Mail, log string, first, n uint64) {
	t.Helper()
	err := m.Update(context.Background(), func(tx relay.Tx) error {
		for i := range n {
			tx.Append(log, first+i, bytes.Repeat([]byte{'x'}, 1024))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What a retention has deleted makes room for more, and compaction gives it back, while
// a view looks.
func TestCompactShrinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.db")
	m := open(t, path)
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for i := range uint64(20) {
		fill(t, m, "old", i*1000+1, 1000)
		fill(t, m, "kept", i*10+1, 10)
	}
	full := size()
	if err := m.Update(t.Context(), func(tx relay.Tx) error { tx.Drop("old", 20_000); return nil }); err != nil {
		t.Fatal(err)
	}
	fill(t, m, "new", 1, 1000)
	if got := size(); got > full {
		t.Errorf("the file grew from %d to %d, and most of it is free", full, got)
	}
	if err := m.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := size(); got > full/8 {
		t.Errorf("compaction made %d of %d", got, full)
	}
	fill(t, m, "kept", 201, 1)
	for range 2 {
		err := m.View(t.Context(), func(r relay.Reader) error {
			for log, want := range map[string]int{"old": 0, "kept": 201, "new": 1000} {
				n := 0
				for range r.Entries(log, 1) {
					n++
				}
				if n != want {
					t.Errorf("log %s has %d entries, want %d", log, n, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = open(t, path)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.db")
	open(t, path)
	if _, err := boltmail.Open(path); !errors.Is(err, groupcommit.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("opening twice: %v", err)
	}
}

func TestNoMail(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "mail.db")} {
		if _, err := boltmail.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("opening %s: %v", path, err)
		}
	}
}

// A damaged file is told from a good one when it is opened, or read, and never in a
// panic.
func TestCorrupt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mail.db")
	m := open(t, path)
	fill(t, m, "log", 1, 500)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"both meta pages": func(b []byte) []byte { clear(b[:2*os.Getpagesize()]); return b },
		"cut short":       func(b []byte) []byte { return b[:len(b)/8] },
		"no database":     func([]byte) []byte { return bytes.Repeat([]byte("hello "), 4000) },
		"every page but the first": func(b []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(b); i++ {
				b[i] = 0xff
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.WriteFile(path, damage(bytes.Clone(good)), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := boltmail.Open(path)
			if err == nil {
				defer m.Close()
				err = m.View(t.Context(), func(r relay.Reader) error {
					for range r.Entries("log", 1) {
					}
					return nil
				})
			}
			if corrupt, ok := errors.AsType[*groupcommit.CorruptError](err); !ok || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, a %T", err, corrupt)
			}
		})
	}
}

func TestSize(t *testing.T) {
	m := open(t, filepath.Join(t.TempDir(), "mail.db"))
	used, free := m.Size()
	if used <= 0 || free == 0 || runtime.GOOS == "linux" && free < 0 {
		t.Errorf("Size = %d, %d", used, free)
	}
}

// BenchmarkWake wakes one of 10,000 agents that listen.
func BenchmarkWake(b *testing.B) {
	m := open(b, filepath.Join(b.TempDir(), "mail.db"))
	for i := range 10_000 {
		defer m.Listen(fmt.Sprint("agent", i), func(string) {})()
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Wake("agent77", "s")
		}
	})
}

// Whoever only looks shares the file with others who look, and changes nothing.
func TestOpenReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.db")
	if _, err := boltmail.OpenReadOnly(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	m, err := boltmail.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, m, "log", 1, 3)
	if _, err := boltmail.OpenReadOnly(path); !errors.Is(err, groupcommit.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		m, err := boltmail.OpenReadOnly(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		n := 0
		if err := m.View(t.Context(), func(r relay.Reader) error {
			n = 0
			for range r.Entries("log", 1) {
				n++
			}
			return nil
		}); err != nil || n != 3 {
			t.Errorf("%d entries, %v", n, err)
		}
		if err := m.Update(t.Context(), func(tx relay.Tx) error { tx.Put("k", nil); return nil }); err == nil {
			t.Error("it can be written")
		}
		if err := m.Compact(t.Context()); err == nil {
			t.Error("it can be compacted")
		}
	}
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := groupcommit.Open(other, nil)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := boltmail.OpenReadOnly(other); err == nil {
		t.Error("another database is taken for mail")
	}
}
