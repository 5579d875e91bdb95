package node

import (
	"context"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// view says how a session stands.
func (n *Node) view(l *live) (View, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := n.viewLocked(l)
	return v, n.failed(err)
}

func (n *Node) viewLocked(l *live) (View, error) {
	r, s := &l.rec, n.standing(l)
	v := View{
		Summary: n.summary(r), Role: s.Role(n.agent), Undelivered: r.Uninvited, Misconduct: r.Misconduct,
		Rounds: s.Rounds(), Rounded: s.Timing().MaxRounds,
	}
	if r.Mine {
		for _, a := range r.Coming {
			if !r.came(a) {
				v.Coming = append(v.Coming, a)
			}
		}
	}
	v.State, v.Tip = s.State(), l.log.Tip()
	if r.Closed == "" && r.Misconduct == "" && r.Over == "" && r.Len > 0 {
		v.Moves = s.At(n.now()).Moves(n.agent)
	}
	if r.Len > 0 {
		first, err := n.transcripts.Read(l.id, 0, 1)
		if err != nil {
			return v, err
		}
		last, err := n.transcripts.Read(l.id, r.Len-1, 1)
		if err != nil {
			return v, err
		}
		if len(first) > 0 && len(last) > 0 {
			v.Terms, _ = first[0].At("body", "terms")
			v.Last = last[0]
		}
	}
	if o, from := s.Offer(); o != nil && s.State() == session.Active {
		_, err := o.Select(emptyObject, "", s.Space())
		v.Offer = &OfferView{
			ID: o.ID, From: from, Body: o.Body(), Hash: o.Body().Hash(), Complete: err == nil,
			Own: wire.PlainDIDKey(from) == n.agent, Ends: s.OfferEnds(), Lapsed: !n.now().Before(s.OfferEnds()),
		}
	}
	if isOver(s) {
		e := s.Ending()
		v.Ending = &EndingView{By: e.By, Type: e.Type, At: e.At, Reason: e.Reason, Reactivatable: s.State() == session.Dormant}
		if b := s.Breach(); b != nil {
			v.Ending.Breach = b.Rule.Name
		}
	}
	if a, err := s.Agreement(); err == nil {
		v.Deal = a.Terms.Value()
		value, err := a.Value()
		if err != nil {
			return v, err
		}
		v.Hash = value.Hash()
	}
	for _, m := range r.Mandates {
		v.Mandates = append(v.Mandates, MandateView{By: m.By, ID: m.ID, Issuer: m.Issuer, Broken: m.Broken, Message: m.Message})
	}
	return v, nil
}

// summary says of a session what its record does.
func (n *Node) summary(r *record) Summary {
	v := Summary{
		Session: r.Session, State: r.State, Parties: r.Parties, Relay: n.address(r.Relay), Category: r.Category,
		Began: r.Began, Deadline: r.Deadline, Len: r.Len, Tip: r.At.Tip.Hash, Version: r.Version,
		Turn: r.Len > 0 && wire.PlainDIDKey(r.Last) != n.agent && (r.State == session.Proposed || r.State == session.Active) && !r.Expired &&
			r.Closed == "" && r.Over == "" && r.Misconduct == "",
	}
	if len(v.Parties) == 0 {
		v.Parties = append([]wire.AgentID{r.From}, r.Coming...)
	}
	switch over := r.State == session.Agreed || r.State == session.Rejected || r.State == session.Dormant || r.Expired; {
	case r.Expired && (r.State == session.Proposed || r.State == session.Active):
		v.State, v.Deadline = session.Expired, r.Deadline
		fallthrough
	case over:
		v.Receipt = ReceiptPending
		if r.Done != (wire.Hash{}) && r.Done == r.Signed {
			v.Receipt = ReceiptDone
		}
	}
	return v
}

// Session implements [API].
func (n *Node) Session(_ context.Context, id wire.SessionID) (View, error) {
	l, err := n.acquire(id)
	if err != nil {
		return View{}, n.failed(err)
	}
	defer n.release(l)
	return n.view(l)
}

// Wait implements [API].
func (n *Node) Wait(ctx context.Context, id wire.SessionID, version uint64) (View, error) {
	l, err := n.acquire(id)
	if err != nil {
		return View{}, n.failed(err)
	}
	defer n.release(l)
	if err := n.until(ctx, l, func() bool { return l.rec.Version != version }); err != nil {
		return View{}, n.failed(err)
	}
	return n.view(l)
}

// Bounds of Sessions and Messages.
const (
	DefaultMost = 100
	MaxMost     = 1000
)

func most(n int) int {
	if n <= 0 {
		return DefaultMost
	}
	return min(n, MaxMost)
}

// underWay reports whether a session may still come to a deal.
func (s *Summary) underWay() bool {
	return s.State == session.Start || s.State == session.Proposed || s.State == session.Active || s.State == session.Dormant
}

// Sessions implements [API].
func (n *Node) Sessions(_ context.Context, f Filter) ([]Summary, error) {
	var found []Summary
	after := uint64(0)
	if f.After != "" {
		var rec record
		known, err := n.disk.get(bucketSessions, string(f.After), &rec)
		if err != nil {
			return nil, n.failed(err)
		}
		if !known {
			return nil, n.failed(errNoSession)
		}
		after = rec.Order
	}
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketOrder).Cursor()
		for k, id := c.Seek(number(after + 1)); k != nil && len(found) < most(f.Most); k, id = c.Next() {
			var rec record
			if known, err := get(tx, bucketSessions, string(id), &rec); err != nil || !known {
				return err
			}
			s := n.summary(&rec)
			with := f.With == "" || slices.ContainsFunc(s.Parties, func(p wire.AgentID) bool { return wire.PlainDIDKey(p) == wire.PlainDIDKey(f.With) })
			if (f.State == "" || s.State == f.State) && with && (!f.Live || s.underWay()) {
				found = append(found, s)
			}
		}
		return nil
	})
	return found, n.failed(err)
}

// Messages implements [API].
func (n *Node) Messages(_ context.Context, id wire.SessionID, from, many int) ([]wire.Value, error) {
	l, err := n.acquire(id)
	if err != nil {
		return nil, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	length := l.rec.Len
	l.mu.Unlock()
	if from < 0 || from >= length {
		return nil, nil
	}
	var list []wire.Value
	const page = 32 // between two looks at how much it is
	for size, end := 0, min(from+most(many), length); from < end && size < maxMessages; {
		more, err := n.transcripts.Read(id, from, min(page, end-from))
		if err != nil || len(more) == 0 {
			return nil, n.failed(err)
		}
		for _, m := range more {
			size += len(m.Canonical())
		}
		list, from = append(list, more...), from+len(more)
	}
	return list, nil
}

// maxMessages is how many bytes of messages are returned at once; a page more at most.
const maxMessages = 16 << 20

// Document implements [API].
func (n *Node) Document(_ context.Context, id wire.SessionID) (wire.Value, error) {
	l, err := n.acquire(id)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	rec := l.rec
	l.mu.Unlock()
	if rec.Len == 0 {
		return wire.Value{}, refuse(CodeNotFound, "there is no message in the session yet")
	}
	messages, err := n.transcripts.Read(id, 0, rec.Len)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	d := session.Document{Messages: messages, Evidence: rec.Evidence}
	receipts, err := n.transcripts.Receipts(id)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	tip := messages[len(messages)-1].Hash().String()
	for _, r := range receipts {
		if head, _ := r.Get("chain_head"); head.Text() == tip {
			d.Receipt = r
		}
	}
	v, err := d.Value()
	return v, n.failed(err)
}

// Export implements [API].
func (n *Node) Export(_ context.Context, id wire.SessionID, as session.Format) (wire.Value, error) {
	l, err := n.acquire(id)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	s := l.log.Session()
	l.mu.Unlock()
	a, err := s.Agreement()
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	v, err := a.Export(as)
	return v, n.failed(err)
}

// Receipts implements [API].
func (n *Node) Receipts(_ context.Context, id wire.SessionID) ([]wire.Value, error) {
	l, err := n.acquire(id)
	if err != nil {
		return nil, n.failed(err)
	}
	defer n.release(l)
	list, err := n.transcripts.Receipts(id)
	slices.SortStableFunc(list, func(a, b wire.Value) int { return messagesOf(a) - messagesOf(b) })
	return list, n.failed(err)
}

func messagesOf(receipt wire.Value) int {
	v, _ := receipt.Get("message_count")
	count, _ := v.Int()
	return int(count)
}
