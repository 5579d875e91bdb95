package node

import (
	"time"

	bolt "go.etcd.io/bbolt"

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

// MailChanged is closed when a mail session of a node changes.
func MailChanged(n *Node) <-chan struct{} {
	_, rung := n.letters.hear()
	return rung
}

// ForgetLetters has a node know nothing of the log of a mail session, as if nothing had
// come yet.
func ForgetLetters(n *Node, id wire.SessionID) error {
	return n.disk.update(n.ctx, func(tx *bolt.Tx) error {
		var r mailRecord
		if _, err := get(tx, bucketMail, string(id), &r); err != nil {
			return err
		}
		if err := dropMail(tx, id); err != nil {
			return err
		}
		r.At = relay.Position{}
		return put(tx, bucketMail, string(id), &r)
	})
}

// SpoilLetter has a node remember another hash of a letter than it has.
func SpoilLetter(n *Node, id wire.SessionID, number uint64) error {
	return n.disk.update(n.ctx, func(tx *bolt.Tx) error {
		var l letterRecord
		if _, err := get(tx, bucketLetters, letterKey(id, number), &l); err != nil {
			return err
		}
		l.Hash = wire.HashOf("another")
		return put(tx, bucketLetters, letterKey(id, number), &l)
	})
}

// KeptLetters counts the letters that a node keeps.
func KeptLetters(n *Node) (count int) {
	_ = each(n.disk, bucketLetters, "", func(string, *letterRecord) bool { count++; return true })
	return count
}

// LoseDisk has a node's disk refuse from now on.
func LoseDisk(n *Node) error { return n.disk.db.Close() }

// KeepEvidence has a node keep only so much evidence.
func KeepEvidence(n *Node, most int) { n.ledger.most = most }

// ReportTimeout has a node wait for so long for what it asks others.
func ReportTimeout(n *Node, d time.Duration) { n.outbound.Timeout = d }

// MaxInvitations is how many invitations of its relay a node keeps.
const MaxInvitations = maxInvitations

// KeptInvitations counts the invitations to negotiations that a node keeps, over or not.
func KeptInvitations(n *Node) (count int) {
	_ = each(n.disk, bucketInvitations, "", func(string, *Invitation) bool { count++; return true })
	return count
}

// ShowAgain has the relay show a letter again under another number, behind all others.
func ShowAgain(n *Node, id wire.SessionID, letter, as uint64) error {
	var e *relay.Enclosure
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		v, err := wire.Parse(tx.Bucket(bucketLetterTexts).Get([]byte(letterKey(id, letter))), wire.DocumentLimits)
		if err == nil {
			e, err = relay.VerifyEnclosure(v, n)
		}
		return err
	})
	if err != nil {
		return err
	}
	c, err := n.carrier(n.opts.Relay)
	if err != nil {
		return err
	}
	return c.handle(n.ctx, relay.Delivery{Session: id, Number: as, Appended: n.now(), Enclosure: e, Position: relay.Position{Number: as}})
}

// MoveLetter has the text of a letter be at the relay alone.
func MoveLetter(n *Node, id wire.SessionID, number uint64) error {
	return n.disk.delete(n.ctx, bucketLetterTexts, letterKey(id, number))
}

// MailRoom is how many bytes of letters, and commas in them, a document of mail has.
const (
	MailRoom   = maxMailDocument
	MailValues = maxMailValues
)
