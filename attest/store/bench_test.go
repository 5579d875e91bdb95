package store_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// BenchmarkImport verifies receipts on all processors and adds them, a thousand in a
// transaction, and compares with verifying alone.
func BenchmarkImport(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			values := manyReceipts(b, n)
			keys := everyone(b)
			verify := func(from, to int) []store.Candidate {
				list := make([]store.Candidate, to-from)
				half := runtime.GOMAXPROCS(0)
				var group sync.WaitGroup
				for p := range half {
					group.Go(func() {
						for i := p; i < len(list); i += half {
							list[i] = candidate(b, values[from+i], keys)
						}
					})
				}
				group.Wait()
				return list
			}
			var verifying, importing time.Duration
			for b.Loop() {
				start := time.Now()
				for from := 0; from < n; from += 1024 {
					verify(from, min(n, from+1024))
				}
				verifying += time.Since(start)
				s := fresh(b)
				start = time.Now()
				for from := 0; from < n; from += 1024 {
					add(b, s, verify(from, min(n, from+1024))...)
				}
				importing += time.Since(start)
			}
			b.ReportMetric(float64(n*b.N)/importing.Seconds(), "imports/s")
			b.ReportMetric(float64(n*b.N)/verifying.Seconds(), "verifications/s")
			b.ReportMetric(importing.Seconds()/verifying.Seconds(), "times-verify")
		})
	}
}

// manyReceipts are receipts of as many sessions, alice's with a hundred others. They are
// signed once for each: only what the store sees differs.
func manyReceipts(tb testing.TB, n int) []wire.Value {
	tb.Helper()
	values := make([]wire.Value, n)
	var group sync.WaitGroup
	for p := range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := p; i < n; i += runtime.GOMAXPROCS(0) {
				values[i] = receipt{id: fmt.Sprint("att_", i), session: fmt.Sprint("ses_", i), parties: []string{"ab", "ac", "bc"}[i%3], day: i % 30}.value(tb)
			}
		})
	}
	group.Wait()
	return values
}

// BenchmarkList reads one session of stores of different sizes, the first twenty of an
// agent, and all.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		s := open(b, filepath.Join(b.TempDir(), "artifacts.db"))
		passed := wire.Report{wire.Find("signature", false, nil)}
		var batch []store.Candidate
		for i, v := range manyReceipts(b, n) {
			if batch = append(batch, store.Candidate{Value: v, Kind: "attestation", Report: passed}); len(batch) == 1000 || i == n-1 {
				add(b, s, batch...)
				batch = batch[:0]
			}
		}
		for name, of := range map[string]struct {
			filter store.Filter
			most   int
		}{
			"session":   {store.Filter{Session: fmt.Sprint("ses_", n/2)}, n},
			"agent":     {store.Filter{Agent: "did:web:alice", Since: now.AddDate(0, 0, 10)}, 20},
			"conflicts": {store.Filter{Conflicts: true}, n},
		} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					found := 0
					for _, err := range s.List(of.filter) {
						if err != nil {
							b.Fatal(err)
						}
						if found++; found == of.most {
							break
						}
					}
				}
			})
		}
	}
}
