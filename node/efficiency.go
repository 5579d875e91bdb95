package node

import (
	"context"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// An Efficiency has what an interaction came to, and what the node's own deals came to
// beside it. All figures are counted. That another matter took others fewer rounds is no
// forecast of what this one would have taken.
type Efficiency struct {
	Interaction Interaction `json:"interaction"`
	Seconds     int         `json:"seconds"` // from its start to what was told last
	Deals       Deals       `json:"deals"`
	Since       Since       `json:"since"`
}

// Deals are what the last sessions of the node came to: at most MaxMeasured that are over,
// in which its agent was initiator or responder, and whose receipts all parties signed.
type Deals struct {
	Concluded int `json:"concluded"`
	Agreed    int `json:"agreed"` // of these: what the medians are of

	// The medians of the agreed ones, the upper one of two; 0 of none.
	Rounds   int `json:"rounds"`   // offers and counters of both sides
	Messages int `json:"messages"` // signed ones, all of them
	Seconds  int `json:"seconds"`  // from the open message to the end
	Bytes    int `json:"bytes"`    // of the messages with their signatures
}

// Since is what the node has had in sessions with the other side since an interaction
// began: of the last MaxSince that it opened or was asked into.
type Since struct {
	Sessions []wire.SessionID `json:"sessions,omitempty"` // the last one first
	Active   bool             `json:"active"`             // one was negotiated in
	Offers   bool             `json:"offers"`             // there were offers
	Agreed   bool             `json:"agreed"`             // one was agreed
	Receipt  bool             `json:"receipt"`            // of one there is a receipt that all signed
}

// Bounds of what is measured.
const (
	MaxMeasured = 500
	MaxSince    = 20
)

// Efficiency implements [API].
func (n *Node) Efficiency(ctx context.Context, id InteractionID) (Efficiency, error) {
	var e Efficiency
	known, err := n.disk.get(bucketInteractions, string(id), &e.Interaction)
	if err == nil && !known {
		err = errNoInteraction
	}
	if err == nil {
		e.Seconds = int(e.Interaction.Last.Sub(e.Interaction.Started) / time.Second)
		e.Deals, err = n.deals(ctx)
	}
	if err == nil {
		e.Since, err = n.since(ctx, &e.Interaction)
	}
	return e, n.failed(err)
}

// backward calls f with the records of sessions, the one that began last here first.
func (d *disk) backward(f func(r *record) (more bool)) error {
	return d.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketOrder).Cursor()
		for k, id := c.Last(); k != nil; k, id = c.Prev() {
			var r record
			if known, err := get(tx, bucketSessions, string(id), &r); err != nil || !known {
				return err
			}
			if !f(&r) {
				break
			}
		}
		return nil
	})
}

// deals measures the node's own sessions by their receipts, and by the transcripts that
// these close.
func (n *Node) deals(ctx context.Context) (Deals, error) {
	var over []wire.SessionID
	err := n.disk.backward(func(r *record) bool {
		if n.summary(r).Receipt == ReceiptDone {
			over = append(over, r.Session)
		}
		return len(over) < MaxMeasured
	})
	if err != nil {
		return Deals{}, err
	}
	var d Deals
	var rounds, messages, seconds, sizes []int
	for _, id := range over {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		list, err := n.transcripts.Receipts(id)
		if err != nil || len(list) == 0 {
			return d, err
		}
		a, err := attest.ReadAttestation(slices.MaxFunc(list, func(a, b wire.Value) int { return messagesOf(a) - messagesOf(b) }))
		if err != nil {
			return d, err
		}
		if !slices.ContainsFunc(a.Parties, func(p attest.Party) bool { return isSame(p.Agent, n.agent) && isDealing(protocol.Role(p.Role)) }) {
			continue
		}
		if d.Concluded++; a.Outcome.Status != attest.StatusAgreed {
			continue
		}
		size, err := n.transcripts.Size(id, a.MessageCount)
		if err != nil {
			return d, err
		}
		d.Agreed++
		rounds, messages = append(rounds, a.Outcome.Rounds), append(messages, a.MessageCount)
		seconds, sizes = append(seconds, int(a.Outcome.Duration/time.Second)), append(sizes, size)
	}
	d.Rounds, d.Messages, d.Seconds, d.Bytes = median(rounds), median(messages), median(seconds), median(sizes)
	return d, nil
}

// median returns the middle of numbers, the upper one of two, and 0 of none.
func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// isDealing reports whether a role is that of somebody who agrees or does not.
func isDealing(r protocol.Role) bool { return r == session.Initiator || r == session.Responder }

// since looks at the sessions with the other side of an interaction.
func (n *Node) since(ctx context.Context, i *Interaction) (s Since, err error) {
	err = n.disk.backward(func(r *record) bool {
		if r.Began.Before(i.Started) {
			return false // as are all before it
		}
		if slices.ContainsFunc(n.summary(r).Parties, func(p wire.AgentID) bool { return isSame(p, i.With) }) {
			s.Sessions = append(s.Sessions, r.Session)
		}
		return len(s.Sessions) < MaxSince
	})
	if err != nil {
		return s, err
	}
	for _, id := range s.Sessions {
		v, err := n.Session(ctx, id)
		if err != nil {
			return s, err
		}
		if !isDealing(v.Role) {
			continue
		}
		s.Active = s.Active || v.State == session.Active || v.Rounds > 0
		s.Offers = s.Offers || v.Rounds > 0
		s.Agreed = s.Agreed || v.State == session.Agreed
		s.Receipt = s.Receipt || v.Receipt == ReceiptDone
	}
	return s, nil
}
