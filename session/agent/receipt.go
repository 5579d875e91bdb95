package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// ErrOtherReceipt reports that a peer's receipt is not the one that follows from
// the transcript here.
var ErrOtherReceipt = errors.New("not the receipt of this transcript")

// draft derives the unsigned receipt of the session. That a session has expired is
// certain only when the deadline and the clock skew have passed (SPEC §5.3).
func (n *Negotiation) draft(now time.Time) (wire.Value, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d, err := n.log.Receipt(now.Add(-wire.DefaultSkew))
	if err != nil {
		return wire.Value{}, err
	}
	return d.Value()
}

// countersign adds the agent's signatures to the receipt of its own transcript. It
// remembers that it did, even beyond a restart: what it has signed before the
// others it keeps.
func (n *Negotiation) countersign(ctx context.Context, receipt wire.Value) (wire.Value, error) {
	n.signing.Lock()
	defer n.signing.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if head, _ := receipt.Get("chain_head"); head.Text() != n.log.Tip().String() {
		return wire.Value{}, ErrOtherReceipt // a move came between
	}
	if n.receipt != n.log.Tip() {
		own, err := attest.Countersign(unsigned(receipt), n.agent.id, n.agent.key)
		if err != nil {
			return wire.Value{}, err
		}
		r := wire.Read(receipt, "", attest.RuleShape)
		id, name := n.log.Session().ID(), r.Text("attestation_id")
		if err := n.agent.store.PutReceipt(ctx, id, name, own); err != nil {
			return wire.Value{}, err
		}
		n.receipt = n.log.Tip()
	}
	return attest.Countersign(receipt, n.agent.id, n.agent.key)
}

// Receipt returns the receipt of a concluded session, countersigned by every
// party and kept in the store of each (SPEC §9.6.5). Asking again returns the same.
func (n *Negotiation) Receipt(ctx context.Context) (wire.Value, error) {
	receipt, err := n.draft(n.agent.now())
	if err != nil {
		return wire.Value{}, err
	}
	if receipt, err = n.countersign(ctx, receipt); err != nil {
		return wire.Value{}, err
	}
	// Twice, so that with more than two parties everyone sees all signatures.
	for range 2 {
		for _, id := range n.Session().Parties() {
			if id == n.agent.id {
				continue
			}
			if receipt, err = n.ask(ctx, id, receipt); err != nil {
				return wire.Value{}, fmt.Errorf("asking %q to countersign: %w", id, err)
			}
		}
	}
	return receipt, n.keep(ctx, receipt)
}

func (n *Negotiation) ask(ctx context.Context, id wire.AgentID, receipt wire.Value) (wire.Value, error) {
	peer, err := n.agent.peer(id)
	if err != nil {
		return wire.Value{}, err
	}
	text, err := peer.Countersign(ctx, []byte(receipt.Canonical()))
	if err != nil {
		return wire.Value{}, err
	}
	answer, err := wire.Parse(text, receiptLimits)
	if err != nil {
		return wire.Value{}, err
	}
	if !unsigned(answer).Equal(unsigned(receipt)) {
		return wire.Value{}, ErrOtherReceipt
	}
	return answer, nil
}

// receiptLimits bound a receipt from a peer (SPEC §9.6.2).
var receiptLimits = wire.Limits{Size: 64 << 10, Depth: wire.MaxDepth}

// unsigned is a receipt without signatures. Unlike what parties sign
// ([attest.Countersigned]) it has the fulfillment, which no peer adds unnoticed.
func unsigned(receipt wire.Value) wire.Value {
	return receipt.StripSignatures().Without("countersignatures")
}

// countersign checks that a receipt is the one that follows from this agent's own
// transcript and adds its signatures. A receipt that all parties have signed it
// keeps.
func (a *Agent) countersign(ctx context.Context, receipt []byte) ([]byte, error) {
	v, err := wire.Parse(receipt, receiptLimits)
	if err != nil {
		return nil, err
	}
	id := wire.ReadID[wire.SessionID](wire.Read(v, "", attest.RuleShape), "session_id")
	n, err := a.Negotiation(ctx, id)
	if err != nil {
		return nil, err
	}
	own, err := n.draft(a.now())
	if err != nil {
		return nil, err
	}
	if !unsigned(v).Equal(unsigned(own)) {
		return nil, ErrOtherReceipt
	}
	if v, err = n.countersign(ctx, v); err != nil {
		return nil, err
	}
	if !attest.SignedByAll(v) {
		return []byte(v.Canonical()), nil
	}
	return []byte(v.Canonical()), n.keep(ctx, v)
}

// keep stores a receipt that verifies.
func (n *Negotiation) keep(ctx context.Context, receipt wire.Value) error {
	a, report := attest.Verifier{Keys: n.agent.keys, Now: n.agent.now()}.VerifyAttestation(receipt)
	if err := report.Err(); err != nil {
		return err
	}
	return n.agent.store.PutReceipt(ctx, a.Session, a.ID, receipt)
}
