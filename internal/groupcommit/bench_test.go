package groupcommit

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// BenchmarkCommit appends values of 1.5 KB at a global sequence number.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "db"), nil)
			var first, last int // transaction
			create := func(tx *bolt.Tx) error { first = tx.ID(); return createBucket(tx) }
			if err := db.Commit(b.Context(), Op{Apply: create}); err != nil {
				b.Fatal(err)
			}
			value := make([]byte, 1500)
			put := Op{Apply: func(tx *bolt.Tx) error {
				last = tx.ID()
				log := tx.Bucket(bucket)
				log.FillPercent = 1 // for keys that only grow
				n, err := log.NextSequence()
				if err != nil {
					return err
				}
				return log.Put(binary.BigEndian.AppendUint64(nil, n), value)
			}}
			commit := func() {
				if err := db.Commit(b.Context(), put); err != nil {
					b.Error(err)
				}
			}
			if writers == 1 {
				for b.Loop() {
					commit()
				}
			} else {
				b.SetParallelism(max(1, writers/runtime.GOMAXPROCS(0)))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						commit()
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64(b.N)/float64(last-first), "ops/tx")
		})
	}
}

// BenchmarkOpen opens a log of 100,000 values of 1.5 KB.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "db")
	db := open(b, path, nil)
	err := db.Commit(b.Context(), Op{Apply: func(tx *bolt.Tx) error {
		if err := createBucket(tx); err != nil {
			return err
		}
		log := tx.Bucket(bucket)
		log.FillPercent = 1
		value := make([]byte, 1500)
		for n := range uint64(100_000) {
			if err := log.Put(binary.BigEndian.AppendUint64(nil, n), value); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		db, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
