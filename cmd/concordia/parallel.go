package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel runs do(0) to do(n-1) on all processors. It is a session.Parallel.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
