package node

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Deadlines say when sessions have to be looked at because their time is up. They are
// filled from the records when the node starts.
type deadlines struct {
	mu   sync.Mutex // guards what follows
	due  dueHeap
	at   map[wire.SessionID]*dueSession
	wake chan struct{} // flag
}

type dueSession struct {
	id    wire.SessionID
	at    time.Time
	index int
}

type dueHeap []*dueSession

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *dueHeap) Push(x any) {
	d := x.(*dueSession)
	d.index = len(*h)
	*h = append(*h, d)
}
func (h *dueHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return d
}

func newDeadlines() deadlines {
	return deadlines{at: map[wire.SessionID]*dueSession{}, wake: make(chan struct{}, 1)}
}

// set notes the deadline of a session, which counts once the clock skew has passed too,
// or that it has none any more.
func (d *deadlines) set(id wire.SessionID, deadline time.Time, counts bool) {
	d.put(id, deadline.Add(wire.DefaultSkew), counts)
}

func (d *deadlines) put(id wire.SessionID, at time.Time, counts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have := d.at[id]
	switch {
	case !counts && have == nil, counts && have != nil && have.at.Equal(at):
		return
	case !counts:
		heap.Remove(&d.due, have.index)
		delete(d.at, id)
		return
	case have == nil:
		have = &dueSession{id: id, at: at}
		d.at[id] = have
		heap.Push(&d.due, have)
	default:
		have.at = at
		heap.Fix(&d.due, have.index)
	}
	if have.index == 0 {
		d.look()
	}
}

// look has the deadlines looked at again.
func (d *deadlines) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next returns the sessions that are due, and how long it is until another one is.
func (d *deadlines) next(now time.Time) (due []wire.SessionID, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.due) > 0 && !d.due[0].at.After(now) {
		x := heap.Pop(&d.due).(*dueSession)
		delete(d.at, x.id)
		due = append(due, x.id)
	}
	if len(d.due) == 0 {
		return due, time.Hour
	}
	return due, min(time.Hour, d.due[0].at.Sub(now)) // a clock may be set
}

// watch looks at sessions whose time is up.
func (n *Node) watch(ctx context.Context) {
	for {
		due, wait := n.deadlines.next(n.now())
		for _, id := range due {
			if l, err := n.acquire(id); err == nil {
				n.attend(l)
				n.release(l)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-n.deadlines.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// expire takes note that the time of a session is up, once that is certain: deadline and
// clock skew have passed, and everything is here that its relay has (SPEC §5.3).
func (n *Node) expire(ctx context.Context, l *live) error {
	isDue := func() bool {
		return !l.rec.Expired && !l.rec.Deadline.IsZero() && !n.now().Before(l.rec.Deadline.Add(wire.DefaultSkew))
	}
	l.mu.Lock()
	due, closed := isDue(), l.rec.Closed != "" || l.rec.Misconduct != ""
	l.mu.Unlock()
	if !due {
		return nil
	}
	if !closed {
		c, err := n.carrierOf(l)
		if err != nil {
			return err
		}
		info, err := c.client.Session(ctx, l.id)
		if err != nil && !isGone(err) {
			return err
		}
		if err := n.until(ctx, l, func() bool { return l.rec.At.Number >= info.Length || l.rec.Misconduct != "" }); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isDue() {
		return nil
	}
	next := l.rec
	next.Expired = true
	var c change
	c.notice(SessionExpired, "", "")
	n.count(&next, l.log.Session().At(n.now()), &c)
	n.giveBack(&next, &c, l.log.Session().At(n.now()))
	return n.commit(ctx, l, next, c)
}

// isOver reports whether a session has ended, for now.
func isOver(s session.Session) bool {
	switch s.State() {
	case session.Agreed, session.Rejected, session.Expired, session.Dormant:
		return true
	}
	return false
}
