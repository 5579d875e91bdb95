package relay

import (
	"sync"
	"time"
)

// workers run short jobs on goroutines that are kept for the next ones: what a job
// needs most is a stack that has grown already.
type workers struct {
	jobs    chan func()
	stopped chan struct{}
	stop    func() // keep none from now on
}

// keepWorker is for how long a goroutine waits for another job.
const keepWorker = time.Second

func newWorkers() *workers {
	w := &workers{jobs: make(chan func()), stopped: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.stopped) })
	return w
}

// do runs a job on a goroutine of its own.
func (w *workers) do(job func()) {
	select {
	case w.jobs <- job: // somebody waits
	default:
		go w.work(job)
	}
}

func (w *workers) work(job func()) {
	t := time.NewTimer(keepWorker)
	defer t.Stop()
	for {
		job()
		t.Reset(keepWorker)
		select {
		case job = <-w.jobs:
		case <-t.C:
			return
		case <-w.stopped:
			return
		}
	}
}
