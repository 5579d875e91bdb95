// Package mailtest is the contract of relay.Driver, as a test: every driver runs it.
package mailtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/relay"
)

// Run tests a driver. open opens the mail that is kept in a folder, or whatever the
// folder stands for, and is called again after Close.
func Run(t *testing.T, open func(t *testing.T, dir string) relay.Driver) {
	for name, test := range map[string]func(*testing.T, *mail){
		"records":                  records,
		"logs":                     logs,
		"a refusal writes nothing": refusals,
		"reads its own writes":     ownWrites,
		"scans":                    scans,
		"like a map":               model,
		"one after the other":      serial,
		"long logs":                long,
		"order of bytes":           order,
		"views":                    views,
		"a view is of one moment":  moment,
		"reopened":                 reopened,
		"wakes":                    wakes,
		"compacts in use":          compacts,
		"faults":                   faults,
		"done contexts":            contexts,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := &mail{T: t, Driver: open(t, dir), reopen: func() relay.Driver { return open(t, dir) }}
			t.Cleanup(func() {
				if err := m.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			})
			test(t, m)
		})
	}
}

// mail is a driver under test.
type mail struct {
	*testing.T
	relay.Driver
	reopen func() relay.Driver
}

func (m *mail) update(f func(relay.Tx)) {
	m.Helper()
	if err := m.Update(context.Background(), func(tx relay.Tx) error { f(tx); return nil }); err != nil {
		m.Fatal(err)
	}
}

func (m *mail) view(f func(relay.Reader)) {
	m.Helper()
	if err := m.View(context.Background(), func(r relay.Reader) error { f(r); return nil }); err != nil {
		m.Fatal(err)
	}
}

// wantRecords compares the records below a prefix with "key=record" each.
func wantRecords(t *testing.T, r relay.Reader, prefix, after string, want ...string) {
	t.Helper()
	var got []string
	for k, v := range r.Scan(prefix, after) {
		got = append(got, k+"="+string(v))
	}
	if !slices.Equal(got, want) {
		t.Errorf("scan of %q after %q: %q, want %q", prefix, after, got, want)
	}
}

func wantEntries(t *testing.T, r relay.Reader, log string, from uint64, want ...string) {
	t.Helper()
	var got []string
	for n, e := range r.Entries(log, from) {
		got = append(got, fmt.Sprintf("%d=%s", n, e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("entries of %q from %d: %q, want %q", log, from, got, want)
	}
}

func records(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) {
		tx.Put("a", []byte("1"))
		tx.Put("b\x00\xff", nil)
		tx.Put(strings.Repeat("k", relay.MaxKey), []byte("long"))
	})
	m.view(func(r relay.Reader) {
		if string(r.Get("a")) != "1" || r.Get("b") != nil || r.Get("b\x00\xff") == nil || len(r.Get("b\x00\xff")) != 0 ||
			string(r.Get(strings.Repeat("k", relay.MaxKey))) != "long" {
			t.Error("the records are not what was put")
		}
	})
	m.update(func(tx relay.Tx) {
		tx.Put("a", []byte("2"))
		tx.Delete("b\x00\xff")
		tx.Delete("nothing")
	})
	m.view(func(r relay.Reader) {
		if string(r.Get("a")) != "2" || r.Get("b\x00\xff") != nil {
			t.Error("the records are not what was put")
		}
	})
}

func logs(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) {
		tx.Append("s", 1, []byte("one"))
		tx.Append("s2", 1, []byte("other"))
		tx.Append("s", 2, nil)
	})
	m.update(func(tx relay.Tx) { tx.Append("s", 3, []byte("three")) })
	m.view(func(r relay.Reader) {
		wantEntries(t, r, "s", 1, "1=one", "2=", "3=three")
		wantEntries(t, r, "s", 3, "3=three")
		wantEntries(t, r, "s", 4)
		wantEntries(t, r, "s2", 1, "1=other")
		wantEntries(t, r, "none", 1)
	})
	m.update(func(tx relay.Tx) { tx.Drop("s", 3) })
	m.view(func(r relay.Reader) {
		wantEntries(t, r, "s", 1)
		wantEntries(t, r, "s2", 1, "1=other")
	})
	m.update(func(tx relay.Tx) { tx.Append("s", 1, []byte("again")) })
	m.view(func(r relay.Reader) { wantEntries(t, r, "s", 1, "1=again") })
}

var errRefused = errors.New("refused")

func refusals(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) { tx.Append("s", 1, []byte("one")) })
	err := m.Update(context.Background(), func(tx relay.Tx) error {
		tx.Put("a", []byte("1"))
		tx.Append("s", 2, []byte("two"))
		tx.Drop("s", 1)
		return errRefused
	})
	if !errors.Is(err, errRefused) {
		t.Errorf("Update = %v", err)
	}
	m.view(func(r relay.Reader) {
		wantRecords(t, r, "", "")
		wantEntries(t, r, "s", 1, "1=one")
	})
}

func ownWrites(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) {
		tx.Put("a", []byte("1"))
		tx.Put("c", []byte("3"))
		tx.Append("s", 1, []byte("one"))
	})
	m.update(func(tx relay.Tx) {
		tx.Put("b", []byte("2"))
		tx.Put("c", []byte("4"))
		tx.Delete("a")
		tx.Append("s", 2, []byte("two"))
		if string(tx.Get("b")) != "2" || tx.Get("a") != nil {
			t.Error("a transaction does not read what it wrote")
		}
		wantRecords(t, tx, "", "", "b=2", "c=4")
		wantEntries(t, tx, "s", 1, "1=one", "2=two")
		tx.Drop("s", 2)
		wantEntries(t, tx, "s", 1)
		tx.Append("s", 1, []byte("new"))
		wantEntries(t, tx, "s", 1, "1=new")
	})
	m.view(func(r relay.Reader) { wantEntries(t, r, "s", 1, "1=new") })
}

func scans(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) {
		for _, k := range []string{"a", "b", "b\x00", "b\x00x", "b\x00y", "b1", "c"} {
			tx.Put(k, []byte("v"))
		}
	})
	m.view(func(r relay.Reader) {
		wantRecords(t, r, "b", "", "b=v", "b\x00=v", "b\x00x=v", "b\x00y=v", "b1=v")
		wantRecords(t, r, "b\x00", "b\x00x", "b\x00y=v")
		wantRecords(t, r, "b\x00", "b\x00w", "b\x00x=v", "b\x00y=v")
		wantRecords(t, r, "b\x00", "a", "b\x00=v", "b\x00x=v", "b\x00y=v")
		wantRecords(t, r, "b\x00", "c")
		wantRecords(t, r, "d", "")
		for range r.Scan("b", "") {
			break // early
		}
	})
}

// model compares a long run of random transactions with maps.
func model(t *testing.T, m *mail) {
	random := rand.New(rand.NewPCG(1, 2))
	records, entries := map[string]string{}, map[string][]string{}
	for range 300 {
		r, e := maps.Clone(records), map[string][]string{}
		for log, list := range entries {
			e[log] = slices.Clone(list)
		}
		refuse := random.IntN(4) == 0
		type write func(tx relay.Tx)
		var writes []write
		for range random.IntN(6) {
			key, log := fmt.Sprintf("%c%d", 'a'+random.IntN(3), random.IntN(9)), fmt.Sprintf("log%d", random.IntN(3))
			text := fmt.Sprint(random.IntN(1000))
			switch random.IntN(5) {
			case 0, 1:
				writes = append(writes, func(tx relay.Tx) { tx.Put(key, []byte(text)) })
				r[key] = text
			case 2:
				writes = append(writes, func(tx relay.Tx) { tx.Delete(key) })
				delete(r, key)
			case 3:
				e[log] = append(e[log], text)
				n := uint64(len(e[log]))
				writes = append(writes, func(tx relay.Tx) { tx.Append(log, n, []byte(text)) })
			case 4:
				if n := len(e[log]); n > 5 {
					writes = append(writes, func(tx relay.Tx) { tx.Drop(log, uint64(n)) })
					e[log] = nil
				}
			}
		}
		err := m.Update(context.Background(), func(tx relay.Tx) error {
			for _, w := range writes {
				w(tx)
			}
			same(t, tx, r, e)
			if refuse {
				return errRefused
			}
			return nil
		})
		if refuse != errors.Is(err, errRefused) || !refuse && err != nil {
			t.Fatal(err)
		}
		if !refuse {
			records, entries = r, e
		}
		m.view(func(reader relay.Reader) { same(t, reader, records, entries) })
		if t.Failed() {
			return
		}
	}
}

func same(t *testing.T, r relay.Reader, records map[string]string, entries map[string][]string) {
	t.Helper()
	var want []string
	for _, k := range slices.Sorted(maps.Keys(records)) {
		want = append(want, k+"="+records[k])
	}
	wantRecords(t, r, "", "", want...)
	for log, list := range entries {
		var want []string
		for i, text := range list {
			want = append(want, fmt.Sprintf("%d=%s", i+1, text))
		}
		wantEntries(t, r, log, 1, want...)
	}
}

// long has logs of different lengths, whose names begin alike, grow by turns, many
// entries in one transaction among them.
func long(t *testing.T, m *mail) {
	const rounds = 40
	entry := func(log string, n uint64) []byte { return []byte(fmt.Sprint(log, n)) }
	logs := map[string]uint64{"s": 1, "s\x01": 3, "s\x01\x01\x01\x01\x01\x01\x01\x01\x01": 1, "s\xff": 17, "t": 64}
	for round := range uint64(rounds) {
		m.update(func(tx relay.Tx) {
			for log, each := range logs {
				for i := range each {
					n := round*each + i + 1
					tx.Append(log, n, entry(log, n))
				}
			}
		})
	}
	check := func(r relay.Reader, log string, last uint64) {
		t.Helper()
		for _, from := range []uint64{0, 1, 2, 63, 64, 65, 128, 129, last, last + 1, 1 << 40, ^uint64(0)} {
			n := max(1, from)
			for got, e := range r.Entries(log, from) {
				if got != n || string(e) != string(entry(log, n)) {
					t.Fatalf("log %q from %d: entry %d is %q, want entry %d", log, from, got, e, n)
				}
				n++
			}
			if want := max(last+1, max(1, from)); n != want {
				t.Errorf("log %q from %d ends before %d, want %d", log, from, n, want)
			}
		}
		for range r.Entries(log, 1) {
			break // early
		}
	}
	m.view(func(r relay.Reader) {
		for log, each := range logs {
			check(r, log, rounds*each)
		}
	})
	m.update(func(tx relay.Tx) { tx.Drop("s\x01", rounds*3) })
	m.view(func(r relay.Reader) {
		for log, each := range logs {
			if log == "s\x01" {
				each = 0
			}
			check(r, log, rounds*each)
		}
	})
	for _, n := range []uint64{rounds, rounds + 2} {
		if m.Update(context.Background(), func(tx relay.Tx) error { tx.Append("s", n, nil); return nil }) == nil {
			t.Errorf("entry %d of a log of %d was accepted", n, rounds)
		}
	}
}

// order puts keys of all bytes, from two transactions.
func order(t *testing.T, m *mail) {
	var want []string
	for i := range 256 {
		want = append(want, "k"+string([]byte{byte(i)}), "k"+string([]byte{byte(i), 0}), "k"+string([]byte{byte(i), 0xff}))
	}
	slices.Sort(want)
	put := func(tx relay.Tx, odd int) {
		for i, k := range want {
			if i%2 == odd {
				tx.Put(k, []byte{byte(i)})
			}
		}
	}
	m.update(func(tx relay.Tx) { put(tx, 0) })
	check := func(r relay.Reader) {
		t.Helper()
		var got []string
		for k := range r.Scan("k", "") {
			got = append(got, k)
		}
		if !slices.Equal(got, want) {
			t.Errorf("keys are not in the order of their bytes: %q", got)
		}
	}
	m.update(func(tx relay.Tx) {
		put(tx, 1)
		check(tx)
	})
	m.view(check)
}

func reopened(t *testing.T, m *mail) {
	m.update(func(tx relay.Tx) {
		tx.Put("a", []byte("1"))
		tx.Append("s", 1, []byte("one"))
	})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.Driver = m.reopen()
	m.update(func(tx relay.Tx) { tx.Append("s", 2, []byte("two")) })
	m.view(func(r relay.Reader) {
		wantRecords(t, r, "", "", "a=1")
		wantEntries(t, r, "s", 1, "1=one", "2=two")
	})
}

func faults(t *testing.T, m *mail) {
	for what, f := range map[string]func(relay.Tx){
		"no key":           func(tx relay.Tx) { tx.Put("", nil) },
		"a long key":       func(tx relay.Tx) { tx.Put(strings.Repeat("k", relay.MaxKey+1), nil) },
		"a gap":            func(tx relay.Tx) { tx.Append("s", 2, nil) },
		"number zero":      func(tx relay.Tx) { tx.Append("s", 0, nil) },
		"a number twice":   func(tx relay.Tx) { tx.Append("s", 1, nil); tx.Append("s", 1, nil) },
		"a name with zero": func(tx relay.Tx) { tx.Append("s\x00t", 1, nil) },
		"a long name":      func(tx relay.Tx) { tx.Append(strings.Repeat("s", relay.MaxKey+1), 1, nil) },
		"a log of no name": func(tx relay.Tx) { tx.Append("", 1, nil) },
	} {
		err := m.Update(context.Background(), func(tx relay.Tx) error {
			tx.Put("a", []byte(what))
			f(tx)
			return errRefused // the fault takes precedence
		})
		if err == nil || errors.Is(err, errRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	m.view(func(r relay.Reader) { wantRecords(t, r, "", "") })
}

func contexts(t *testing.T, m *mail) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Update(done, func(relay.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Update = %v", err)
	}
	if err := m.View(done, func(relay.Reader) error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("View = %v", err)
	}
}
