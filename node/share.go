package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/concordia-node/concordia/internal/groupcommit"
)

// A Held is a node that this process runs.
type Held interface {
	API
	Close() error
}

// A Shared is the node of a directory that several processes use: one of them runs it
// and serves the others, and when it ends another one takes over. It is an [API] to each
// of them.
type Shared struct {
	*Remote
	stop context.CancelFunc
	work sync.WaitGroup
	log  *slog.Logger
	open func() (Held, error)

	mu      sync.Mutex // guards what follows
	local   *Local     // nil: another process runs the node
	fault   error      // why this process could not take over
	ended   bool       // nobody tries to any more
	changed chan struct{}
}

// takeAgain is how long a process waits before it tries again to run the node, or to
// reach who does.
const takeAgain = 50 * time.Millisecond

// Connect returns the node of a directory. If no process runs it, this one does: open
// opens it, and fails with groupcommit.ErrLocked if another process was faster. Connect
// waits until somebody answers, and fails if open does. log may be nil.
func Connect(ctx context.Context, dir string, open func() (Held, error), log *slog.Logger) (*Shared, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Shared{Remote: newRemote(dir), log: log, open: open, changed: make(chan struct{})}
	s.Remote.again = s.await
	var life context.Context
	life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	first := make(chan error, 1)
	s.work.Go(func() {
		s.keep(life, first)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.local, s.ended = nil, true
		close(s.changed)
	})
	select {
	case err := <-first:
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.Close())
	}
}

// Holds reports whether this process runs the node, and where it serves it.
func (s *Shared) Holds() (address string, holds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.local == nil {
		return "", false
	}
	return s.local.Address(), true
}

// Close ends the node if this process runs it. Who else uses it takes over.
func (s *Shared) Close() error {
	s.stop()
	s.work.Wait()
	s.Remote.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// keep uses the node of whoever runs it, and runs it when nobody does. It says on first
// when somebody answers for the first time, or that nobody will.
func (s *Shared) keep(ctx context.Context, first chan<- error) {
	watch := newRemote(s.dir)
	defer watch.Close()
	answered := false
	for ctx.Err() == nil {
		// Who runs the node is watched through a call that waits until there are more
		// notices than there can be: it breaks off when that process ends.
		if _, err := watch.Self(ctx); err == nil {
			if !answered {
				answered, first = true, announce(first, nil)
			}
			s.change(nil, nil)
			_, _ = ask[[]Notice](ctx, watch, opNotices, noticesArgs{After: maxNotice, Most: 1})
			continue
		}
		held, err := s.open()
		switch {
		case err == nil:
			err = s.hold(ctx, held, first)
			s.change(nil, err)
			return
		case !errors.Is(err, groupcommit.ErrLocked) && !answered:
			announce(first, err)
			return
		case !errors.Is(err, groupcommit.ErrLocked):
			s.log.Error("taking over the node failed", "error", err)
			s.change(nil, err)
		}
		pause(ctx, takeAgain)
	}
}

// maxNotice is a number that no notice has.
const maxNotice = 1<<53 - 1

// announce sends err to who waits for it, once.
func announce(first chan<- error, err error) chan<- error {
	if first != nil {
		first <- err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// hold serves the node until ctx is done, and closes it.
func (s *Shared) hold(ctx context.Context, held Held, first chan<- error) error {
	local, err := Serve(s.dir, held)
	if err != nil {
		err = errors.Join(err, held.Close())
		announce(first, err)
		return err
	}
	s.change(local, nil)
	announce(first, nil)
	<-ctx.Done()
	if err := errors.Join(local.Close(), held.Close()); err != nil {
		return fmt.Errorf("ending the node: %w", err)
	}
	return nil
}

// change tells calls that did not reach the node that it may be worth another try.
func (s *Shared) change(local *Local, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.local, s.fault = local, fault
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until somebody may have taken over.
func (s *Shared) await(ctx context.Context, _ error) error {
	s.mu.Lock()
	changed, fault, ended := s.changed, s.fault, s.ended
	s.mu.Unlock()
	switch {
	case fault != nil:
		return fault
	case ended:
		return ErrNotServed
	}
	t := time.NewTimer(takeAgain) // it may have happened before this call
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
