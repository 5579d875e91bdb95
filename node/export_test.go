package node

import (
	"time"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// ClockMoved has a node look at its deadlines again, after a test has put its clock
// forward.
func ClockMoved(n *Node) { n.deadlines.look() }

// BeforeSending has f called once a message is kept and before it is sent.
func BeforeSending(n *Node, f func()) { n.beforeSending = f }

// StopNow has everything that a node does end, as Close does, and does not wait for it.
func (n *Node) StopNow() { n.stop(errStopping) }

// InvitedBy has a relay tell a node of an invitation.
func InvitedBy(n *Node, url string, i relay.Invitation) error {
	c, err := n.carrier(url)
	if err == nil {
		c.invited(n.ctx, i)
	}
	return err
}

// SweepCarriers has a node let go of the relays that it does not need, long after it has
// last used them.
func SweepCarriers(n *Node) { n.sweepCarriers(time.Now().Add(2 * carrierIdle)) }

// Approvals counts the approval receipts that a node keeps for a session.
func Approvals(n *Node, id wire.SessionID) (count int) {
	for range n.artifacts.List(store.Filter{Kind: "approval_receipt", Session: string(id)}) {
		count++
	}
	return count
}

// LoseDisk has a node's disk refuse from now on.
func LoseDisk(n *Node) error { return n.disk.db.Close() }

// KeepEvidence has a node keep only so much evidence.
func KeepEvidence(n *Node, most int) { n.ledger.most = most }

// ReportTimeout has a node wait for so long for what it asks others.
func ReportTimeout(n *Node, d time.Duration) { n.outbound.Timeout = d }
