package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Why no message of a session counts any more. What the log goes on with does not
// continue the transcript, for any party.
const (
	closedByBreach   = "a message broke a rule of the session"
	closedByLate     = "a message came when the time was up"
	closedByStranger = "a message is of an agent that is no party"
	closedByClock    = "a message is dated before the session"
	closedByReceipt  = "a message came behind the receipt of the agreement"
)

// farFuture is how far a message may be ahead of this node's clock and be waited for.
const farFuture = 24 * time.Hour

var errFuture = errors.New("the message is dated in the future of this machine's clock")

// handle takes an entry of a session's log, in order. What it returns no error for is on
// disk, with the position behind it.
func (c *carrier) handle(ctx context.Context, d relay.Delivery) error {
	n := c.node
	if isMail(d.Session) {
		return c.takeMail(ctx, d)
	}
	l, err := n.acquire(d.Session)
	if errors.Is(err, errNoSession) {
		n.log.Warn("an entry of a session that is not in this directory", "session", d.Session)
		return nil
	}
	if err != nil {
		return fmt.Errorf("taking an entry: %s", kindOf(err))
	}
	defer n.release(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec.Relay != c.url || d.Number <= l.rec.At.Number {
		return nil
	}
	next := l.rec
	next.At, next.Joined = d.Position, true
	var ch change
	switch {
	case d.Err != nil:
		err = n.takeDoubtful(&next, &ch, &d)
	case d.Message != nil:
		err = n.takeMessage(context.WithoutCancel(ctx), l, &next, &ch, d.Message)
	default:
		n.takeEnclosure(l, &next, &ch, d.Enclosure)
	}
	if err != nil {
		return err
	}
	if err := n.commit(context.WithoutCancel(ctx), l, next, ch); err != nil {
		return fmt.Errorf("taking an entry: %s", kindOf(err))
	}
	n.attendLocked(l)
	return nil
}

// takeDoubtful takes what the relay admitted and this node cannot.
func (n *Node) takeDoubtful(next *record, ch *change, d *relay.Delivery) error {
	switch {
	case next.Closed != "":
		return nil
	case errors.Is(d.Err, wire.RuleFuture) && d.Message.Time.Before(n.now().Add(farFuture)):
		return errFuture // goes by
	case errors.Is(d.Err, wire.RuleUnknownKey):
		return fmt.Errorf("taking an entry: no key is known of %q: add a contact", d.From())
	}
	if d.Message != nil || d.Enclosure == nil && isMessage(d.UnverifiedEntry) {
		next.Closed = closedByClock
		ch.notice(MessageLate, d.From(), next.Closed)
	}
	return nil
}

func isMessage(v wire.Value) bool {
	_, is := v.Get("concordia_enclosure")
	return !is
}

// takeMessage takes a message that the relay admitted. l is locked; if it fails, or the
// record is not written, the transcript is read again.
func (n *Node) takeMessage(ctx context.Context, l *live, next *record, ch *change, m *wire.Message) error {
	own := wire.PlainDIDKey(m.From) == n.agent
	if p := l.rec.Pending; own && p.Kind() != wire.Absent && p.Hash() == m.Hash() {
		next.Pending = wire.Value{}
	}
	before := l.log.Session()
	switch {
	case next.Closed != "":
		return nil
	case next.Sealed && before.State() == session.Agreed:
		next.Closed = closedByReceipt
		ch.notice(MessageLate, m.From, next.Closed).Type = m.Type
		return nil
	}
	switch err := l.log.TryReplay(m, n.now()); {
	case before.State() == session.Start && wire.PlainDIDKey(m.From) != wire.PlainDIDKey(next.From):
		next.Closed = closedByStranger // who was invited speaks as if it had invited
		ch.notice(MessageLate, m.From, next.Closed).Type = m.Type
	case err == nil:
		if err := n.transcripts.Append(ctx, m); err != nil {
			return fmt.Errorf("taking a message: %w", err)
		}
		if err := l.log.Replay(m, n.now()); err != nil {
			return fmt.Errorf("taking a message: %w", err)
		}
		n.took(next, ch, before, l.log.Session(), m, own)
	case errors.Is(err, session.RuleSessionTTL):
		next.Closed = closedByLate
		ch.notice(MessageLate, m.From, next.Closed).Type = m.Type
	case l.log.Breach(m, n.now()) == nil:
		next.Closed, next.Evidence = closedByBreach, m.Value()
		notice := ch.notice(Concluded, m.From, "breach of "+l.log.Session().Breach().Rule.Name)
		notice.Type = m.Type
		n.count(next, l.log.Session(), ch)
		n.giveBack(next, ch, l.log.Session())
	default:
		next.Closed = closedByStranger
		ch.notice(MessageLate, m.From, next.Closed).Type = m.Type
	}
	return nil
}

// took takes note of a message that counts: of the session before and after it.
func (n *Node) took(next *record, ch *change, before, after session.Session, m *wire.Message, own bool) {
	next.Len, next.Last, next.Parties = after.Len(), m.From, after.Parties()
	next.Done, next.Signed, next.Sent = wire.Hash{}, wire.Hash{}, wire.Hash{} // there is no receipt of this tip
	next.Differing = nil
	if after.State() != session.Expired {
		next.Expired = false
	}
	if own {
		next.Opening = openingAfter(next.Opening, m)
		switch m.Type {
		case wire.TypeOffer, wire.TypeCounter, wire.TypeSignal:
			next.Gave = true
		}
	} else {
		ch.notice(MessageCame, m.From, "").Type = m.Type
	}
	if m.Type == wire.TypeOpen {
		if category, ok := m.Body.Get("category"); ok {
			next.Category = category.Text()
		}
	}
	n.judgeMandates(next, ch, after, m)
	switch {
	case before.State() == after.State():
	case before.State() == session.Dormant:
		next.Left = false
		ch.notice(CameBack, m.From, "")
	case isOver(after):
		if before.State() == session.Rejected || before.State() == session.Expired {
			break // it is said how the sender would come back
		}
		ch.notice(Concluded, m.From, "").Type = m.Type
		n.count(next, after, ch)
		n.giveBack(next, ch, after)
	}
}

// openingAfter returns what is left of an opening when an own message is there.
func openingAfter(o *opening, m *wire.Message) *opening {
	if o == nil || m.Type != wire.TypeOpen || o.Mandate.Kind() == wire.Absent {
		if m.Type == wire.TypeOpen {
			return nil
		}
		return o
	}
	return &opening{Mandate: o.Mandate}
}

// takeEnclosure takes what a party sends beside the chain.
func (n *Node) takeEnclosure(l *live, next *record, ch *change, e *relay.Enclosure) {
	switch e.Kind {
	case relay.KindReceipt:
		n.takeReceipt(l, next, ch, e)
	case relay.KindApproval:
		n.takePresented(l, next, ch, e)
	}
}

// flag says in words what a counterparty does.
func (x *conduct) flag() string {
	return fmt.Sprintf("of %d sessions that it opened, it left %d without an agreement after it had taken offers or signals", x.Opened, x.Left)
}

// count notes how a counterparty's session ended, once (see Policy.FlagAfter).
func (n *Node) count(next *record, s session.Session, ch *change) {
	parties := s.Parties()
	if next.Mine || next.Left || len(parties) == 0 || wire.PlainDIDKey(parties[0]) == n.agent {
		return
	}
	next.Left = true
	by := parties[0]
	agreed := s.State() == session.Agreed
	left := !agreed && next.Gave && (s.Ending().By == "" || wire.PlainDIDKey(s.Ending().By) == wire.PlainDIDKey(by))
	ch.more = append(ch.more, func(tx *bolt.Tx) (list []Notice, err error) {
		var x conduct
		key := string(wire.PlainDIDKey(by))
		if _, err := get(tx, bucketAgents, key, &x); err != nil {
			return nil, err
		}
		x.Opened++
		if agreed {
			x.Agreed++
		}
		if left {
			if x.Left++; x.Left == n.opts.Policy.flagAfter() {
				list = append(list, Notice{Kind: Flagged, Agent: by, Detail: x.flag()})
			}
		}
		return list, put(tx, bucketAgents, key, &x)
	})
}
