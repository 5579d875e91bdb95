package mailtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concordia-node/concordia/relay"
)

// serial has many callers who each read a number and write the next, and take a place
// where few are left: none is lost, and as many get a place as there are, but for what
// the driver says.
func serial(t *testing.T, m *mail) {
	const callers, each, places = 16, 25, 100
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range callers {
		all.Go(func() {
			for range each {
				err := m.Update(context.Background(), func(tx relay.Tx) error {
					n := len(tx.Get("n")) + 1
					tx.Put("n", []byte(strings.Repeat("x", n)))
					tx.Append("log", uint64(n), []byte(fmt.Sprint(n)))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				err = m.Update(context.Background(), func(tx relay.Tx) error {
					n := len(tx.Get("places"))
					if n >= places {
						return errRefused
					}
					tx.Put("places", []byte(strings.Repeat("x", n+1)))
					return nil
				})
				if err == nil {
					mu.Lock()
					taken++
					mu.Unlock()
				} else if !errors.Is(err, errRefused) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if taken < places || taken > places+m.Slack() {
		t.Errorf("%d got a place of %d, and the slack is %d", taken, places, m.Slack())
	}
	m.view(func(r relay.Reader) {
		if n := len(r.Get("n")); n != callers*each {
			t.Errorf("counted to %d, want %d", n, callers*each)
		}
		last := uint64(0)
		for n, e := range r.Entries("log", 1) {
			if last++; n != last || string(e) != fmt.Sprint(n) {
				t.Errorf("entry %d is %q after %d", n, e, last-1)
			}
		}
		if last != callers*each {
			t.Errorf("%d entries", last)
		}
	})
}

// views has many callers update and view: a view sees all that its caller was told is
// there, while others write.
func views(t *testing.T, m *mail) {
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			key, log := fmt.Sprint("k", i), fmt.Sprint("log", i)
			for n := range uint64(20) {
				m.update(func(tx relay.Tx) {
					tx.Put(key, []byte(fmt.Sprint(n)))
					tx.Append(log, n+1, []byte(fmt.Sprint(n)))
				})
				m.view(func(r relay.Reader) {
					if got := string(r.Get(key)); got != fmt.Sprint(n) {
						t.Errorf("a view sees %q after %d was acknowledged", got, n)
					}
					last := uint64(0)
					for last = range r.Entries(log, 1) {
					}
					if last != n+1 {
						t.Errorf("a view sees %d entries of %d", last, n+1)
					}
				})
			}
		})
	}
	all.Wait()
}

// moment has transactions write the same to two records, and views read both: they
// never differ, and do not change while a view looks.
func moment(t *testing.T, m *mail) {
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(done)
		for i := range 100 {
			m.update(func(tx relay.Tx) {
				tx.Put("a", []byte(fmt.Sprint(i)))
				tx.Append("log", uint64(i+1), nil)
				tx.Put("z", []byte(fmt.Sprint(i)))
			})
		}
	})
	for range 4 {
		all.Go(func() {
			for {
				m.view(func(r relay.Reader) {
					a, n := string(r.Get("a")), 0
					for range r.Entries("log", 1) {
						n++
					}
					if z := string(r.Get("z")); a != z || a != string(r.Get("a")) || a != "" && a != fmt.Sprint(n-1) {
						t.Errorf("a view sees %q, %q and %d entries", a, z, n)
					}
				})
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	all.Wait()
}

func wakes(t *testing.T, m *mail) {
	heard := make(chan string, 10)
	stop := m.Listen("a", func(session string) { heard <- "1 " + session })
	stop2 := m.Listen("a", func(session string) { heard <- "2 " + session })
	defer stop2()
	m.Wake("b", "s")
	m.Wake("a", "s")
	if got := []string{<-heard, <-heard}; !slices.Contains(got, "1 s") || !slices.Contains(got, "2 s") {
		t.Errorf("heard %q", got)
	}
	stop()
	stop()
	m.Wake("a", "t")
	if got := <-heard; got != "2 t" {
		t.Errorf("heard %q after one stopped", got)
	}
}

func compacts(t *testing.T, m *mail) {
	big := []byte(strings.Repeat("x", 10_000))
	for i := range 200 {
		m.update(func(tx relay.Tx) {
			tx.Append("gone", uint64(i+1), big)
			tx.Put(fmt.Sprintf("gone%d", i), big)
		})
	}
	m.update(func(tx relay.Tx) {
		tx.Append("kept", 1, []byte("entry"))
		tx.Put("kept", []byte("record"))
		tx.Drop("gone", 200)
		for i := range 200 {
			tx.Delete(fmt.Sprintf("gone%d", i))
		}
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { m.update(func(tx relay.Tx) { tx.Put(fmt.Sprintf("during%02d", i), nil) }) })
	}
	if err := m.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	m.view(func(r relay.Reader) {
		wantEntries(t, r, "kept", 1, "1=entry")
		wantEntries(t, r, "gone", 1)
		wantRecords(t, r, "kept", "", "kept=record")
		n := 0
		for range r.Scan("during", "") {
			n++
		}
		if n != 20 {
			t.Errorf("%d records that were written meanwhile", n)
		}
	})
}
