package groupcommit

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"
)


func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db, err := Open(filepath.Join(b.TempDir(), "db"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			value := make([]byte, 1500)
			var txs, seq atomic.Uint64
			put := func() error {
				return db.Commit(b.Context(), Op{Apply: func(tx *bolt.Tx) error {
					log, err := tx.CreateBucketIfNotExists(bucket)
					if err != nil {
						return err
					}
					log.FillPercent = 1 // keys only ever grow
					txs.Store(uint64(tx.ID()))
					n, err := log.NextSequence()
					if err != nil {
						return err
					}
					_ = seq.Add(1)
					return log.Put(binary.BigEndian.AppendUint64(nil, n), value)
				}})
			}
			if writers == 1 {
				for b.Loop() {
					if err := put(); err != nil {
						b.Fatal(err)
					}
				}
			} else {
				b.SetParallelism(writers / 2)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := put(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64(b.N)/float64(txs.Load()), "ops/tx")
		})
	}
}
