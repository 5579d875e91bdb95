package node

import (
	"context"
	"errors"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// How long the node waits before it attends to a session again of which something is
// left to do: after a failure, at first and at most, and when others are waited for.
const (
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
	lastLook   = 5 * time.Minute
)

// attend has a session looked at: whether there is something that this node has to do
// without being asked. What that is follows from the record alone, so that it is done
// after a restart as well, and nothing is done twice.
func (n *Node) attend(l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.attendLocked(l)
}

func (n *Node) attendLocked(l *live) {
	if l.attending {
		l.again = true
		select {
		case l.kick <- struct{}{}:
		default:
		}
		return
	}
	if !n.hasDuties(l) {
		return
	}
	n.hold(l)
	l.attending = true
	if !n.begin(func(ctx context.Context) { n.attendTo(ctx, l) }) {
		l.attending = false
		n.release(l)
	}
}

// attendTo does what is to be done until nothing is left.
func (n *Node) attendTo(ctx context.Context, l *live) {
	defer n.release(l)
	retry := firstRetry
	for {
		room := n.roomOf(l)
		room <- struct{}{}
		err := n.duties(ctx, l)
		<-room
		if err != nil && ctx.Err() == nil {
			n.log.Info("something is left to do in a session", "session", l.id, "why", kindOf(err))
		}
		l.mu.Lock()
		again, left := l.again, n.hasDuties(l)
		l.again = false
		if ctx.Err() != nil || !left {
			l.attending = false
			l.mu.Unlock()
			return
		}
		changed := l.changed
		l.mu.Unlock()
		if again && err == nil {
			retry = firstRetry
			continue
		}
		wait := retry
		if err == nil {
			wait = lastLook // it is somebody else's turn, and that is told
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
			retry = firstRetry
		case <-l.kick:
			retry = firstRetry
		case <-timer.C:
			retry = min(2*retry, lastRetry)
		}
		timer.Stop()
	}
}

// hasDuties reports whether there is something to do. l is locked.
func (n *Node) hasDuties(l *live) bool {
	r := &l.rec
	if r.Misconduct != "" {
		return false
	}
	due := !r.Expired && !r.Deadline.IsZero() && !n.now().Before(r.Deadline.Add(wire.DefaultSkew))
	return r.Mine && !r.Reserved || len(r.Uninvited) > 0 && r.Over == "" || r.Opening != nil && r.Over == "" ||
		!r.Joined && r.Over == "" || r.Pending.Kind() != wire.Absent || due || n.owesReceipt(l) || n.mayClose(r)
}

// duties does what is to be done, as far as it goes.
func (n *Node) duties(ctx context.Context, l *live) error {
	ctx, stop := context.WithTimeout(ctx, 2*patience)
	defer stop()
	l.mu.Lock()
	r := l.rec
	l.mu.Unlock()
	var faults []error
	if r.Mine && !r.Reserved {
		if err := n.register(ctx, l); err != nil {
			return err
		}
	}
	if len(r.Uninvited) > 0 && r.Over == "" {
		faults = append(faults, n.inviteDirectly(ctx, l))
	}
	if !r.Joined && r.Over == "" {
		faults = append(faults, n.enterLater(ctx, l))
	}
	if r.Pending.Kind() != wire.Absent {
		faults = append(faults, n.redeliver(ctx, l))
	}
	if r.Opening != nil && r.Over == "" {
		faults = append(faults, n.begins(ctx, l))
	}
	faults = append(faults, n.expire(ctx, l), n.settle(ctx, l), n.leave(ctx, l))
	return errors.Join(faults...)
}

// redeliver sends what was signed before the node was stopped.
func (n *Node) redeliver(ctx context.Context, l *live) error {
	select {
	case l.saying <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.saying }()
	err := n.deliver(ctx, l)
	if _, refused := errors.AsType[*Error](err); refused {
		return nil // noted
	}
	return err
}

// begins sends the open message once somebody has joined, and then the mandate.
func (n *Node) begins(ctx context.Context, l *live) error {
	l.mu.Lock()
	r := l.rec
	l.mu.Unlock()
	if len(r.Came) == 0 {
		// Nobody may have told.
		c, err := n.carrierOf(l)
		if err != nil {
			return err
		}
		info, err := c.client.Session(ctx, l.id)
		if err != nil {
			return err
		}
		if err := n.note(ctx, c, l, &info); err != nil {
			return err
		}
	}
	l.mu.Lock()
	r = l.rec
	l.mu.Unlock()
	switch {
	case len(r.Came) == 0 || r.Opening == nil:
		return nil
	case r.Len == 0 && r.Pending.Kind() == wire.Absent && r.Closed == "":
		return n.say(ctx, l, r.Opening.move(l.id))
	case r.Len == 0:
		return nil
	}
	if err := n.enclose(ctx, l, relay.KindApproval, r.Opening.Mandate); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.rec
	next.Opening = nil
	return n.commit(ctx, l, next, change{})
}

// enclose sends something beside the chain.
func (n *Node) enclose(ctx context.Context, l *live, kind string, content wire.Value) error {
	c, err := n.carrierOf(l)
	if err != nil {
		return err
	}
	// The same content has the same id: who sends it again after a restart sends it once.
	id := wire.HashOf(string(l.id) + string(n.agent) + kind + content.Canonical()).Hex()[:32]
	e, err := relay.Enclosure{
		ID: wire.MessageID("enc_" + id), Session: l.id, From: n.agent, Time: n.now(), Kind: kind, Content: content,
	}.Sign(n.opts.Key)
	if err != nil {
		return err
	}
	_, err = c.client.Enclose(ctx, e)
	if relay.CodeOf(err) == relay.CodeIDConflict {
		return nil // it is there, with an earlier time
	}
	return err
}

// mayClose reports whether this node is done with a relay session that it opened, and
// takes up a place there.
func (n *Node) mayClose(r *record) bool {
	over := r.State == session.Agreed || r.State == session.Rejected || r.Expired
	return r.Mine && r.Over == "" && over && r.Done != wire.Hash{} && r.Done == r.Signed && len(r.Came) > 0
}

// leave closes the relay session when its receipt is complete. Its log can be read on.
func (n *Node) leave(ctx context.Context, l *live) error {
	l.mu.Lock()
	may := n.mayClose(&l.rec)
	l.mu.Unlock()
	if !may {
		return nil
	}
	c, err := n.carrierOf(l)
	if err != nil {
		return err
	}
	if err := c.client.Close(ctx, l.id); err != nil && !isGone(err) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.rec
	next.Over = relay.EndClosed
	return n.commit(ctx, l, next, change{})
}
