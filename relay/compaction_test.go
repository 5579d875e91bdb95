package relay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
)

// A compacted driver says how large it is, and counts compactions.
type compacted struct {
	relay.Driver
	used int64
	n    int
	fail error

	called chan struct{} // nil: nobody waits
}

func (c *compacted) Size() (used, free int64) { return c.used, 1 << 40 }

func (c *compacted) Compact(context.Context) error {
	c.n++
	select {
	case c.called <- struct{}{}:
	default:
	}
	return c.fail
}

// A relay compacts when it is time, and before if most of the file is free.
func TestCompaction(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct {
		name  string
		every time.Duration
		since time.Duration
		freed int64
		used  int64
		want  int
	}{
		{"not due", day, day - time.Second, 0, 1 << 30, 0},
		{"due", day, day, 0, 1 << 30, 1},
		{"much was removed", day, time.Hour, 64 << 20, 128 << 20, 1},
		{"not much", day, time.Hour, 64<<20 - 1, 128 << 20, 0},
		{"much, and much is kept", day, time.Hour, 64 << 20, 1 << 30, 0},
		{"never", 0, 10 * day, 1 << 30, 1 << 30, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &compacted{used: test.used}
			s := listen(t, setting{options: relay.ServerOptions{CompactEvery: test.every}, driver: func(of relay.Driver) relay.Driver { d.Driver = of; return d }})
			s.server.CompactIfDue(t.Context(), test.since, test.freed)
			if d.n != test.want {
				t.Errorf("%d compactions, want %d", d.n, test.want)
			}
		})
	}
}

// A compaction that fails is tried again when the next is due, and not at once.
func TestCompactionFails(t *testing.T) {
	d := &compacted{used: 1 << 30, fail: errors.New("no space")}
	s := listen(t, setting{options: relay.ServerOptions{CompactEvery: time.Hour}, driver: func(of relay.Driver) relay.Driver { d.Driver = of; return d }})
	again := s.server.CompactIfDue(t.Context(), time.Hour, 0)
	if again(); d.n != 1 {
		t.Errorf("%d compactions, want 1", d.n)
	}
}

// A server that runs compacts by itself.
func TestRunCompacts(t *testing.T) {
	d := &compacted{used: 1 << 30, called: make(chan struct{}, 1)}
	s := listen(t, setting{options: relay.ServerOptions{CompactEvery: time.Nanosecond, SweepEvery: time.Millisecond}, driver: func(of relay.Driver) relay.Driver { d.Driver = of; return d }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.server.Run(ctx) }()
	<-d.called
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
}
