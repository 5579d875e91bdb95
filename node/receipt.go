package node

import (
	"context"
	"errors"
	"maps"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// When a session is over, its initiator proposes the receipt: it signs the one that
// follows from the transcript and encloses it. Every other party derives it from its own
// transcript, signs that if it is the same, and encloses it. Whoever has all signatures
// keeps the receipt, which is the same bytes for all. (SPEC §9.6.5)
//
// The proposal of the receipt of an agreement seals the session. It has one place in the
// log, so all parties agree on what came before it; a commit behind it does not count.

// draft derives the receipt that nobody has signed. That the session has expired is
// certain, or it has not. l is locked.
func (n *Node) draft(l *live) (wire.Value, error) {
	if l.rec.Adopted.Kind() != wire.Absent && l.rec.Head == l.log.Tip() {
		return l.rec.Adopted, nil
	}
	now := n.now().Add(-wire.DefaultSkew)
	if !l.rec.Expired {
		now = l.log.Session().Now()
	}
	d, err := l.log.Receipt(now)
	if err != nil {
		return wire.Value{}, err
	}
	return d.Value()
}

// takeReceipt takes the receipt that a party has signed. l is locked.
func (n *Node) takeReceipt(l *live, next *record, ch *change, e *relay.Enclosure) {
	tip := l.log.Tip()
	head, _ := e.Content.Get("chain_head")
	if l.rec.Done == tip || head.Text() != tip.String() {
		return // of an end that did not last
	}
	s := l.log.Session()
	if role := s.Role(e.From); role != session.Initiator && role != session.Responder {
		return
	}
	signature, ok := attest.SignatureOf(e.Content, e.From)
	draft, err := n.draft(l)
	if err == nil && (!ok || !attest.Countersigned(e.Content).Equal(attest.Countersigned(draft))) {
		if wire.PlainDIDKey(e.From) == n.agent {
			return
		}
		if !ok || s.Role(e.From) != session.Initiator || l.rec.Signed == tip || !n.tolerates(l, e) {
			n.differs(next, ch, e.From, "its receipt is not the one that follows from the transcript")
			return
		}
		draft = attest.Countersigned(e.Content)
		ch.notice(ReceiptDiffers, e.From, "its receipt agrees with the transcript, and says more of its own; it is tolerated")
		next.Head, next.Signatures, next.Adopted = tip, nil, attest.Countersigned(e.Content)
	}
	if !ok {
		return
	}
	if err == nil && n.checkReceipt(draft, e.From, signature) != nil {
		n.differs(next, ch, e.From, errReceipt.Error())
		return
	}
	if next.Head != tip {
		next.Head, next.Signatures, next.Adopted = tip, nil, wire.Value{}
	}
	next.Signatures = maps.Clone(next.Signatures)
	if next.Signatures == nil {
		next.Signatures = map[wire.AgentID]attest.PartySignature{}
	}
	if _, has := next.Signatures[e.From]; !has {
		next.Signatures[e.From] = signature
	}
	if s.State() == session.Agreed && s.Role(e.From) == session.Initiator {
		next.Sealed = true
	}
}

// maxDiffering bounds the notices of a party's receipts of one end that are none.
const maxDiffering = 4

func (n *Node) differs(next *record, ch *change, party wire.AgentID, detail string) {
	if next.Differing[party] >= maxDiffering {
		return
	}
	next.Differing = maps.Clone(next.Differing)
	if next.Differing == nil {
		next.Differing = map[wire.AgentID]int{}
	}
	next.Differing[party]++
	ch.notice(ReceiptDiffers, party, detail)
}

// checkReceipt verifies what a party has signed of a receipt.
func (n *Node) checkReceipt(draft wire.Value, party wire.AgentID, s attest.PartySignature) error {
	a, err := attest.ReadAttestation(draft)
	if err != nil {
		return err
	}
	f := attest.Verifier{Keys: n, Now: n.now()}
	claim := attest.Claim{
		Rule: attest.RuleOutcome, Signer: party, Algorithm: wire.EdDSA, Signed: a.Time,
		Preimage: attest.Countersigned(draft), Text: wire.Text(s.Whole), At: "/countersignatures",
	}
	if err := f.CheckSignature(claim); err != nil {
		return err
	}
	parties, _ := draft.Get("parties")
	for _, record := range parties.Elems() {
		if id, _ := record.Get("agent_id"); wire.AgentID(id.Text()) == party {
			claim.Rule, claim.Preimage, claim.Text, claim.At = attest.RulePartyRecord, record.Without("signature"), wire.Text(s.Record), "/parties"
			return f.CheckSignature(claim)
		}
	}
	return errReceipt
}

// tolerates reports whether a receipt that a contact with the reference implementation
// proposes agrees with the transcript in what both implementations derive. l is locked.
func (n *Node) tolerates(l *live, e *relay.Enclosure) bool {
	a, err := attest.ReadAttestation(e.Content)
	return n.runsReference(e.From) && err == nil &&
		wire.Run(&session.ReceiptSubject{Receipt: a, Transcript: l.log, Now: n.now()}, session.ReceiptChecks()...).Err() == nil
}

// owesReceipt reports whether this node has something to do for the receipt. l is locked.
func (n *Node) owesReceipt(l *live) bool {
	r, tip := &l.rec, l.log.Tip()
	s := n.standing(l)
	if r.Len == 0 || r.Done == tip || !isOver(s) || s.Role(n.agent) == "" {
		return false
	}
	parties := s.Parties()
	switch {
	case s.Role(n.agent) != session.Initiator && s.Role(n.agent) != session.Responder || len(parties) < 2:
		return false
	case r.Signed != tip || r.Sent != tip:
		proposed := s.Role(n.agent) == session.Initiator
		if !proposed && r.Head == tip {
			_, proposed = r.Signatures[parties[0]]
		}
		return proposed && r.Over == ""
	}
	return n.allSigned(r, parties)
}

func (n *Node) allSigned(r *record, parties []wire.AgentID) bool {
	for _, p := range parties {
		if _, ok := r.Signatures[p]; !ok {
			return false
		}
	}
	return r.Head != wire.Hash{}
}

// settle does what is to be done for the receipt.
func (n *Node) settle(ctx context.Context, l *live) error {
	l.mu.Lock()
	owes := n.owesReceipt(l)
	l.mu.Unlock()
	if !owes {
		return nil
	}
	select { // no move is signed meanwhile
	case l.saying <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.saying }()
	own, err := n.signReceipt(ctx, l)
	if err != nil || own.Kind() == wire.Absent {
		return err
	}
	l.mu.Lock()
	tip, sent := l.log.Tip(), l.rec.Sent
	l.mu.Unlock()
	if head, _ := own.Get("chain_head"); sent != tip && head.Text() == tip.String() {
		if err := n.enclose(ctx, l, relay.KindReceipt, own); err != nil {
			if relay.CodeOf(err) == relay.CodeEnded {
				n.ended(ctx, l)
			}
			return err
		}
		l.mu.Lock()
		next := l.rec
		next.Sent = tip
		err := n.commit(ctx, l, next, change{})
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return n.completeReceipt(ctx, l)
}

// ended notes that the relay takes nothing more for a session.
func (n *Node) ended(ctx context.Context, l *live) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.rec
	next.Over = relay.EndClosed
	_ = n.commit(context.WithoutCancel(ctx), l, next, change{}) // it is found out again
}

// signReceipt returns the receipt with this node's signature, and notes first that it
// has signed. Nothing, if a move came between.
func (n *Node) signReceipt(ctx context.Context, l *live) (wire.Value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !n.owesReceipt(l) {
		return wire.Value{}, nil
	}
	draft, err := n.draft(l)
	if err != nil {
		return draft, err
	}
	id := n.agent
	for _, p := range l.log.Session().Parties() {
		if wire.PlainDIDKey(p) == n.agent {
			id = p
		}
	}
	own, err := attest.Countersign(draft, id, n.opts.Key)
	if err != nil {
		return own, err
	}
	if l.rec.Signed == l.log.Tip() {
		return own, nil
	}
	next := l.rec
	next.Signed = l.log.Tip()
	return own, n.commit(ctx, l, next, change{})
}

var errReceipt = errors.New("the receipt with all signatures does not verify")

// completeReceipt keeps the receipt once all parties have signed it.
func (n *Node) completeReceipt(ctx context.Context, l *live) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	parties := l.log.Session().Parties()
	tip := l.log.Tip()
	if l.rec.Done == tip || l.rec.Head != tip || !n.allSigned(&l.rec, parties) {
		return nil
	}
	receipt, err := n.draft(l)
	if err != nil {
		return err
	}
	for _, p := range parties {
		receipt = attest.WithSignature(receipt, p, l.rec.Signatures[p])
	}
	next := l.rec
	a, report := attest.Verifier{Keys: n, Now: n.now()}.VerifyAttestation(receipt)
	if report.Err() != nil {
		// One of them signed something else before the receipt could be derived here. It may
		// send another one; the others have done what they had to.
		next.Signatures = maps.Clone(next.Signatures)
		maps.DeleteFunc(next.Signatures, func(p wire.AgentID, s attest.PartySignature) bool { return n.checkReceipt(receipt, p, s) != nil })
		if len(next.Signatures) == len(parties) { // together they do not stand, and nothing more can come of them
			next.Signatures = map[wire.AgentID]attest.PartySignature{n.agent: l.rec.Signatures[n.agent]}
		}
		var ch change
		ch.notice(ReceiptDiffers, "", errReceipt.Error())
		return n.commit(ctx, l, next, ch)
	}
	if err := n.transcripts.PutReceipt(ctx, l.id, a.ID, receipt); err != nil {
		return err
	}
	if _, err := n.artifacts.Add(ctx, n.now(), false, store.Candidate{Value: receipt, Kind: receiptKind, Report: report}); err != nil {
		return err
	}
	n.noteEvidence(receiptKind, receipt)
	next.Done, next.Signatures = tip, nil
	var ch change
	ch.notice(ReceiptCompleted, "", "")
	return n.commit(ctx, l, next, ch)
}
