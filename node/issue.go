package node

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// artifactSigner signs artifacts with the key of messages.
type artifactSigner struct{ wire.Signer }

func (s artifactSigner) SignText(text []byte) (string, error) {
	signature, err := s.Sign(text)
	return signature.String(), err
}

// issuer is this agent as it makes artifacts now.
func (n *Node) issuer() attest.Issuer {
	return attest.Issuer{Agent: n.agent, Key: artifactSigner{n.opts.Key}, Now: n.now(), Random: n.opts.Random, Keys: n}
}

// Receipts in a bundle or a proof have no more bytes than this together, so that it can
// be kept.
const maxShownReceipts = store.MaxSize - 1<<20

// An ownReceipt is a receipt of which this agent is a party.
type ownReceipt struct {
	*attest.Attestation
	value  wire.Value
	stored time.Time
}

var errNoReceipts = refuse(CodeNotFound, "there is no receipt of this agent that fits and stands")

// ownReceipts returns the receipts of this agent that stand, oldest first: of each session
// the one of how it ended last, if that is meant; of those, the newest that can be shown
// together. leftOut is how many there are besides, of which those that are too many were
// not verified.
func (n *Node) ownReceipts(ctx context.Context, f ReceiptFilter) (list []ownReceipt, leftOut int, err error) {
	v, err := n.verifier(n.now())
	if err != nil {
		return nil, 0, err
	}
	if f.Category != "" && attest.CheckCategory(f.Category) != nil {
		return nil, 0, refuse(CodeBadRequest, "the category is none")
	}
	sessions, leftOut, err := n.sessionReceipts(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	ids := map[string]bool{}
	room := room{attest.MaxReceipts, maxShownReceipts}
	for _, of := range sessions {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		at := 0
		if room.receipts > 0 {
			at = slices.IndexFunc(of, func(r ownReceipt) bool { // others are revoked, or a party is not known any more
				_, report := reputation.VerifyReceipt(v, r.value)
				return report.Err() == nil
			})
		}
		if at < 0 || !f.fits(of[at].Attestation) {
			continue
		}
		r := of[at]
		if ids[r.ID] || !room.take(r.value) { // of two with one id one would not be shown
			leftOut++
			continue
		}
		ids[r.ID] = true
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, leftOut, errNoReceipts
	}
	slices.SortFunc(list, older)
	return list, leftOut, nil
}

// A room is what a bundle or a proof can show besides.
type room struct{ receipts, bytes int }

// take reports whether a receipt can be shown. After one that cannot there is no more room:
// what is shown has no gap.
func (r *room) take(receipt wire.Value) bool {
	size := len(receipt.Canonical())
	if r.receipts == 0 || r.bytes < size {
		r.receipts = 0
		return false
	}
	r.receipts, r.bytes = r.receipts-1, r.bytes-size
	return true
}

func older(a, b ownReceipt) int {
	return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID), strings.Compare(a.value.Canonical(), b.value.Canonical()))
}

// sessionReceipts returns the receipts of this agent session by session, the newest session
// first, and of each the one first that says how it ended last, in the version that tells
// most: nothing of it is verified. leftOut is how many of those that are meant name this
// agent in another spelling.
func (n *Node) sessionReceipts(ctx context.Context, f ReceiptFilter) (sessions [][]ownReceipt, leftOut int, err error) {
	byID := map[wire.SessionID][]ownReceipt{}
	for e, err := range n.artifacts.List(store.Filter{Kind: receiptKind, Agent: n.agent, Session: string(f.Session)}) {
		switch {
		case ctx.Err() != nil:
			return nil, 0, context.Cause(ctx)
		case errors.Is(err, store.ErrDamaged):
			n.log.Warn("a receipt is damaged", "hash", e.Hash)
			continue
		case err != nil:
			return nil, 0, err
		case e.Unverified:
			continue
		}
		a, err := attest.ReadAttestation(e.Value)
		switch {
		case err != nil:
		case slices.ContainsFunc(a.Parties, func(p attest.Party) bool { return p.Agent == n.agent }):
			byID[a.Session] = append(byID[a.Session], ownReceipt{a, e.Value, e.Stored})
		case e.Fuller == wire.Hash{} && f.fits(a):
			leftOut++
		}
	}
	for _, of := range byID {
		slices.SortFunc(of, func(a, b ownReceipt) int {
			return cmp.Or(
				cmp.Compare(messagesOf(b.value), messagesOf(a.value)), b.Time.Compare(a.Time), strings.Compare(a.ID, b.ID),
				cmp.Compare(n.tells(b), n.tells(a)), a.stored.Compare(b.stored), older(a, b))
		})
		sessions = append(sessions, of)
	}
	slices.SortFunc(sessions, func(a, b []ownReceipt) int { return older(b[0], a[0]) })
	return sessions, leftOut, nil
}

// tells ranks versions of one receipt. Fulfillments and witnesses are added to it later, by
// anybody: one that counts is the counterparty's own word on this deal, and no better than
// the worst that it said. All else may be a stranger's, and is shown only if there is nothing
// without. Of equals the one that came first is shown.
func (n *Node) tells(r ownReceipt) int {
	by, honored, ok := r.Statement()
	agrees := ok && honored == strings.HasPrefix(r.Fulfillment.Status, "fulfilled")
	switch {
	case r.Fulfillment == nil:
		return 1
	case !agrees || isSame(by, n.agent):
		return 0
	case honored:
		return 2
	}
	return 3
}

// fits reports whether a receipt is of the kind that is meant.
func (f *ReceiptFilter) fits(a *attest.Attestation) bool {
	with := func(p attest.Party) bool { return wire.PlainDIDKey(p.Agent) == wire.PlainDIDKey(f.With) }
	during := !a.Time.Before(f.After) && (f.Before.IsZero() || a.Time.Before(f.Before))
	category := f.Category == "" || a.Meta.Category == f.Category || strings.HasPrefix(a.Meta.Category, f.Category+".")
	return during && category && (f.With == "" || slices.ContainsFunc(a.Parties, with))
}

func valuesOf(list []ownReceipt) []wire.Value {
	values := make([]wire.Value, len(list))
	for i, r := range list {
		values[i] = r.value
	}
	return values
}

// The kinds of what a node issues, by the names of SPEC §12.3.
const (
	bundleKind   = "receipt_bundle"
	proofKind    = "competence_proof"
	envelopeKind = "envelope"
)

// Bundle implements [API].
func (n *Node) Bundle(ctx context.Context, f ReceiptFilter) (Issued, error) {
	list, leftOut, err := n.ownReceipts(ctx, f)
	if err != nil {
		return Issued{}, n.failed(err)
	}
	by := n.issuer()
	v, err := by.Bundle(valuesOf(list))
	if err != nil {
		return Issued{}, n.failed(err)
	}
	_, report := by.Verifier().VerifyBundle(v)
	return n.issued(ctx, bundleKind, v, report, leftOut)
}

// Competence implements [API].
func (n *Node) Competence(ctx context.Context, reveal int) (Issued, error) {
	list, leftOut, err := n.ownReceipts(ctx, ReceiptFilter{})
	if err != nil {
		return Issued{}, n.failed(err)
	}
	if reveal < 0 {
		return Issued{}, refuse(CodeBadRequest, "less than no receipt cannot be revealed")
	}
	var ids []string
	for _, r := range list[max(0, len(list)-reveal):] {
		ids = append(ids, r.ID)
	}
	by := n.issuer()
	v, err := by.Competence(valuesOf(list), ids...)
	if err != nil {
		return Issued{}, n.failed(err)
	}
	_, report := by.Verifier().VerifyCompetence(v)
	return n.issued(ctx, proofKind, v, report, leftOut)
}

// receiptOf returns the receipt of a session that all parties signed, of how it stands.
func (n *Node) receiptOf(ctx context.Context, id wire.SessionID) (ownReceipt, error) {
	var rec record
	switch known, err := n.disk.get(bucketSessions, string(id), &rec); {
	case err != nil:
		return ownReceipt{}, err
	case !known:
		return ownReceipt{}, errNoSession
	}
	if n.summary(&rec).Receipt != ReceiptDone {
		return ownReceipt{}, refuse(CodeNotAgreed, "the session has no receipt yet that all parties signed")
	}
	list, _, err := n.ownReceipts(ctx, ReceiptFilter{Session: id})
	if err != nil {
		return ownReceipt{}, err
	}
	return list[0], nil
}

// maxReferrals is how many references an envelope has besides the one to its session.
const maxReferrals = 32

// keyID returns the DID URL of this agent's key, which may have been said as that or as
// its fragment. Which of the keys of a DID this is only the DID of a key tells.
func (n *Node) keyID(said string) (string, error) {
	prefix := string(n.agent) + "#"
	fragment := strings.TrimPrefix(strings.TrimPrefix(said, prefix), "#")
	key, isKey := strings.CutPrefix(string(n.agent), "did:key:")
	if isKey && fragment != key || wire.CheckID(wire.AgentID(fragment)) != nil || strings.ContainsAny(fragment, "#:/") {
		return "", refuse(CodeBadRequest, "the key of an envelope is the one that signs it, which is this agent's: leave it out")
	}
	return prefix + fragment, nil
}

// Envelope implements [API].
func (n *Node) Envelope(ctx context.Context, e Enveloping) (Issued, error) {
	switch {
	case !strings.HasPrefix(string(n.agent), "did:"):
		return Issued{}, refuse(CodeBadRequest, "the provider of an envelope has a DID, and this agent's id is none")
	case e.Provider != "" && wire.PlainDIDKey(e.Provider) != n.agent:
		return Issued{}, refuse(CodeBadRequest, "the provider of an envelope is who signs it, which is this agent: leave the provider and its key out")
	case e.Algorithm != "" && e.Algorithm != n.opts.Key.Public().Algorithm():
		return Issued{}, refuse(CodeBadRequest, "this agent's key is of another algorithm")
	case len(e.References) > maxReferrals:
		return Issued{}, refuse(CodeBadRequest, "an envelope has at most 32 references")
	case slices.ContainsFunc(e.References, func(r Referral) bool { return r.Kind == "source_session" }):
		return Issued{}, refuse(CodeBadRequest, "an envelope refers to its own session as the source, and to no other")
	}
	receipt, err := n.receiptOf(ctx, e.Session)
	if err != nil {
		return Issued{}, n.failed(err)
	}
	if e.Subject != "" && !slices.ContainsFunc(receipt.Parties, func(p attest.Party) bool { return p.Agent == e.Subject }) {
		return Issued{}, refuse(CodeBadRequest, "the subject of an envelope is a party of its session")
	}
	m := wire.M{}
	if e.KeyID != "" {
		kid, err := n.keyID(e.KeyID)
		if err != nil {
			return Issued{}, err
		}
		m["provider"] = wire.M{"kid": kid}
	}
	if e.Subject != "" {
		m["subject"] = wire.M{"did": e.Subject}
	}
	if e.Visibility != "" {
		m["visibility"] = e.Visibility
	}
	if len(e.References) > 0 {
		m["references"] = e.References
	}
	draft, err := wire.Encode(m)
	if err != nil {
		return Issued{}, n.failed(err)
	}
	by := n.issuer()
	v, err := by.Envelope(receipt.value, draft)
	if err != nil {
		return Issued{}, n.failed(err)
	}
	_, report := by.Verifier().VerifyEnvelope(v)
	return n.issued(ctx, envelopeKind, v, report, 0)
}

// issued keeps what this node has made, in place of the oldest if there are many.
func (n *Node) issued(ctx context.Context, kind string, v wire.Value, report wire.Report, leftOut int) (Issued, error) {
	answers, err := n.artifacts.Add(ctx, n.now(), false, store.Candidate{Value: v, Kind: kind, Report: report})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return Issued{}, n.failed(err)
	}
	var all []store.Entry
	for e, err := range n.artifacts.List(store.Filter{Kind: kind, Agent: n.agent}) {
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return Issued{}, n.failed(err)
		}
		if e.Hash != v.Hash() {
			e.Value = wire.Value{}
			all = append(all, e)
		}
	}
	if over := len(all) - (MaxIssued - 1); over > 0 {
		slices.SortStableFunc(all, byStored) // a proof says no time
		var gone []wire.Hash
		for _, e := range all[:over] {
			gone = append(gone, e.Hash)
		}
		if _, err := n.artifacts.Delete(ctx, gone...); err != nil {
			return Issued{}, n.failed(err)
		}
	}
	made := describe(kind, v)
	made.LeftOut, made.Artifact = leftOut, v
	return made, nil
}

func byStored(a, b store.Entry) int { return a.Stored.Compare(b.Stored) }

// describe says of an artifact what a list does.
func describe(kind string, v wire.Value) Issued {
	text := func(name string) string {
		m, _ := v.Get(name)
		return m.Text()
	}
	made := Issued{Kind: kind, Receipts: 1}
	created := text("created_at")
	switch kind {
	case bundleKind:
		receipts, _ := v.Get("attestations")
		made.ID, made.Receipts, made.Revealed = text("bundle_id"), receipts.Len(), receipts.Len()
		made.Summary, _ = v.Get("summary")
	case proofKind:
		count, _ := v.Get("attestation_count")
		number, _ := count.Int()
		revealed, _ := v.Get("revealed_attestations")
		made.ID, made.Receipts, made.Revealed = text("proof_id"), int(number), revealed.Len()
		made.Summary, _ = v.Get("claims")
	default:
		made.ID, created = text("envelope_id"), text("issued_at")
	}
	made.Created, _ = wire.ParseTime(created)
	return made
}

// Bundles implements [API].
func (n *Node) Bundles(context.Context) ([]Issued, error) {
	type stored struct {
		Issued
		at time.Time
	}
	var all []stored
	for e, err := range n.artifacts.List(store.Filter{Kind: bundleKind, Agent: n.agent}) {
		if errors.Is(err, store.ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, n.failed(err)
		}
		all = append(all, stored{describe(bundleKind, e.Value), e.Stored})
	}
	slices.SortStableFunc(all, func(a, b stored) int { return b.at.Compare(a.at) })
	list := []Issued{}
	for _, b := range all {
		list = append(list, b.Issued)
	}
	return list, nil
}

// Artifact implements [API].
func (n *Node) Artifact(_ context.Context, id string) (wire.Value, error) {
	for e, err := range n.artifacts.List(store.Filter{ID: id, Agent: n.agent}) {
		if err != nil {
			return wire.Value{}, n.failed(err)
		}
		if slices.Contains([]string{bundleKind, proofKind, envelopeKind}, e.Kind) {
			return e.Value, nil
		}
	}
	return wire.Value{}, refuse(CodeNotFound, "this node has issued no such bundle, proof or envelope, or keeps it no more")
}
