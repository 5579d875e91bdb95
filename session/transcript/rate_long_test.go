//go:build long

package transcript_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

const rateWriters = 64

// made returns n signed messages of one kilobyte for each of rateWriters sessions.
func made(t *testing.T, n int) [][]*wire.Message {
	k := key(t, "alice")
	body, err := wire.Encode(wire.M{"term_ids": []string{strings.Repeat("price", 130)}})
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]*wire.Message, rateWriters)
	var group sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range all {
		group.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			var tip wire.Hash
			for j := range n {
				m, err := wire.Sign(wire.Envelope{Type: wire.TypeInquire, ID: wire.MessageID(fmt.Sprintf("msg_%08d_%02d", j, i)),
					Session: wire.SessionID(fmt.Sprintf("ses_%08d", i)), Time: epoch, From: "alice", PrevHash: tip, Body: body}, k)
				if err != nil {
					t.Error(err)
					return
				}
				all[i] = append(all[i], m)
				tip = m.Hash()
			}
		})
	}
	group.Wait()
	return all
}

// rate appends messages from..to of every session, each session by its own writer,
// and returns messages a second.
func rate(t *testing.T, all [][]*wire.Message, from, to int, write func(i, j int) error) float64 {
	start := time.Now()
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			for j := from; j < to; j++ {
				if err := write(i, j); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64((to-from)*len(all)) / time.Since(start).Seconds()
}

// Appending is at least 0.6 times as fast as a bare loop that writes the same
// buckets, stays so from ten thousand to a million messages, and keeps of what is
// stored no more in memory than bbolt's table of pages.
func TestLongAppendRate(t *testing.T) {
	const n = 1_000_000 / rateWriters
	all := made(t, n)
	store, err := transcript.Open(filepath.Join(t.TempDir(), "store.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	bare, err := groupcommit.Open(filepath.Join(t.TempDir(), "bare.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	ctx := context.Background()
	write := func(i, j int) error { return store.Append(ctx, all[i][j]) }
	writeBare := func(i, j int) error {
		m := all[i][j]
		return bare.Commit(ctx, groupcommit.Op{Apply: func(tx *bolt.Tx) error { return putBare(tx, m, uint64(j)) }})
	}
	bounds := []int{0, 10_000 / rateWriters, 100_000 / rateWriters, 300_000 / rateWriters, n}
	var first, last float64
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for k := range len(bounds) - 1 {
		b := rate(t, all, bounds[k], bounds[k+1], writeBare)
		s := rate(t, all, bounds[k], bounds[k+1], write)
		t.Logf("to %7d messages: %6.0f/s, bare %6.0f/s, ratio %.2f, heap %+d KiB", bounds[k+1]*rateWriters, s, b, s/b, (int64(heap())-int64(before))/1024)
		if s/b < 0.6 {
			t.Errorf("%.2f of the bare rate", s/b)
		}
		if last = s; k == 1 {
			first = s
		}
	}
	// bbolt itself keeps about ten bytes a message: see ROUGH_EDGES.md.
	if grown := int64(heap()) - int64(before); grown > 2*n*rateWriters*16 {
		t.Errorf("the heap grew by %d KiB", grown/1024)
	}
	if last < 0.5*first {
		t.Errorf("%.0f/s at the end, %.0f/s at the beginning", last, first)
	}
}

// putBare writes what a store writes for a message, and checks nothing.
func putBare(tx *bolt.Tx, m *wire.Message, n uint64) error {
	put := func(bucket string, k, v []byte) error {
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		if bucket == "log" {
			b.FillPercent = 1
			seq, err := b.NextSequence()
			if err != nil {
				return err
			}
			k = binary.BigEndian.AppendUint64(nil, seq)
		}
		return b.Put(k, v)
	}
	number := binary.BigEndian.AppendUint64(nil, n)
	session := append([]byte(m.Session), 0)
	hash := m.Hash()
	for _, p := range []struct {
		bucket string
		k, v   []byte
	}{
		{"log", nil, []byte(m.Value().Canonical())},
		{"chain", append(session[:len(session):len(session)], number...), number},
		{"ids", append(session[:len(session):len(session)], m.ID...), number},
		{"heads", []byte(m.Session), append(number[:8:8], hash[:]...)},
	} {
		if err := put(p.bucket, p.k, p.v); err != nil {
			return err
		}
	}
	return nil
}
