package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

const sessionURN = "urn:concordia:session:"

func (p *Policy) flagAfter() int {
	if p.FlagAfter <= 0 {
		return DefaultFlagAfter
	}
	return p.FlagAfter
}

// check reports what makes no sense in a policy: a threshold that nobody can satisfy, or
// a word that means nothing, would let through what it should not.
func (p *Policy) check() error {
	if !slices.Contains([]Answer{"", Ask, Accept, Refuse}, p.Unknown) {
		return fmt.Errorf("unknown: %q is none of ask, accept, refuse", p.Unknown)
	}
	if !slices.Contains([]Reaction{"", Tell, Block}, p.BrokenMandate) {
		return fmt.Errorf("broken_mandate: %q is none of tell, block", p.BrokenMandate)
	}
	for i, t := range p.Thresholds {
		switch {
		case t.Needs != NeedApproval && t.Needs != NeedMandate:
			return fmt.Errorf("thresholds[%d]: needs: %q is none of approval, mandate", i, t.Needs)
		case len(t.By) == 0:
			return fmt.Errorf("thresholds[%d]: by: nobody is named whose signature would do", i)
		case t.Amount < 0 || t.Amount != t.Amount:
			return fmt.Errorf("thresholds[%d]: amount: not a number of at least 0", i)
		case t.Term == "" && (t.Amount != 0 || t.Currency != ""):
			return fmt.Errorf("thresholds[%d]: term: an amount needs the term that has it", i)
		}
	}
	return p.checkReportTo()
}

func (p *Policy) asksForMandates() bool {
	return slices.ContainsFunc(p.Thresholds, func(t Threshold) bool { return t.Needs == NeedMandate })
}

// inCategory reports whether a session's category is the threshold's or below it. A
// session that names none may be of any: who opens it could have left it out.
func (t *Threshold) inCategory(category string) bool {
	return t.Category == "" || category == "" || category == t.Category || strings.HasPrefix(category, t.Category+".")
}

// crossed reports whether terms cross a threshold, and says the amount.
func (p *Policy) crossed(t *Threshold, category string, terms offer.Terms, space *offer.Space) (amount string, crosses bool) {
	if !t.inCategory(category) {
		return "", false
	}
	if t.Term == "" {
		return "", true
	}
	object, ok := terms.Get(t.Term)
	if !ok {
		return "", true // what is left open may become anything
	}
	value, _ := object.Get("value")
	x, isNumber := value.Float()
	currency, _ := object.Get("currency")
	given := currency.Text()
	amount = strings.TrimSpace(value.Canonical() + " " + given)
	if !isNumber {
		return "", true
	}
	if x < 0 {
		return amount, true // it turns around who pays
	}
	if t.Currency != "" && given != t.Currency {
		// Another threshold may be for that currency; for one that nobody wrote of, this is.
		written := given != "" && slices.ContainsFunc(p.Thresholds, func(o Threshold) bool {
			return o.Term == t.Term && o.Currency == given && o.inCategory(category)
		})
		return amount, !written
	}
	return amount, x >= t.Amount
}

// A proposal is what a move would bind this node to.
type proposal struct {
	kind  wire.MessageType
	body  wire.Value // of the offer, as it is or will be signed
	terms []offer.Terms
	ends  time.Time
	from  wire.AgentID

	// chosen says that the body alone does not fix the terms: the accept selects one of
	// several branches, or fills in what was left open.
	chosen bool
}

// proposalOf returns what a legal move would bind this node to, nil if to nothing. l is
// locked.
func (n *Node) proposalOf(l *live, m *wire.Message) (*proposal, error) {
	s := l.log.Session()
	switch m.Type {
	case wire.TypeOffer, wire.TypeCounter:
		next, err := s.Apply(m)
		if err != nil {
			return nil, err
		}
		o, from := next.Offer()
		p := &proposal{kind: m.Type, body: m.Body, ends: next.OfferEnds(), from: from}
		for _, b := range o.Branches {
			p.terms = append(p.terms, b.Terms)
		}
		return p, nil
	case wire.TypeAccept, wire.TypeCommit:
		o, from := s.Offer()
		if o == nil || s.State() != session.Active {
			return nil, nil // a commit to what is agreed on already
		}
		terms, err := o.Select(m.Body.Without("terms"), "/body", s.Space())
		if err != nil {
			return nil, err
		}
		_, several := o.Select(emptyObject, "", s.Space())
		return &proposal{
			kind: m.Type, body: o.Body(), terms: []offer.Terms{terms}, ends: s.OfferEnds(), from: from, chosen: several != nil,
		}, nil
	}
	return nil, nil
}

// allow reports whether the policy lets a legal move through, and which mandates it does
// so on the strength of. l is locked.
func (n *Node) allow(l *live, m *wire.Message) (relied []string, err error) {
	p, err := n.proposalOf(l, m)
	if err != nil || p == nil {
		return nil, err
	}
	if m.Type == wire.TypeAccept || m.Type == wire.TypeCommit {
		for _, x := range l.rec.Mandates {
			if x.Broken != "" && n.opts.Policy.BrokenMandate != Tell && wire.PlainDIDKey(x.By) == wire.PlainDIDKey(p.from) {
				return nil, refuse(CodePolicy, "who made the offer has presented a mandate that does not allow it")
			}
		}
	}
	needs, relied, err := n.needs(l, p)
	if err != nil {
		return nil, err
	}
	if len(needs) > 0 {
		s := n.standing(l)
		return nil, &Error{
			Code: CodeNeeds, Message: "the policy of this node asks for a signature first", Needs: needs,
			State: s.State(), Moves: s.At(n.now()).Moves(n.agent),
		}
	}
	return relied, nil
}

// needs returns the thresholds that are crossed and not satisfied, and the mandates that
// satisfy others.
func (n *Node) needs(l *live, p *proposal) (list []Need, relied []string, err error) {
	s := l.log.Session()
	for i := range n.opts.Policy.Thresholds {
		t := &n.opts.Policy.Thresholds[i]
		var amount string
		var crosses bool
		var terms offer.Terms
		for _, branch := range p.terms {
			if a, c := n.opts.Policy.crossed(t, l.rec.Category, branch, s.Space()); c {
				amount, crosses, terms = a, true, branch
			}
		}
		if !crosses {
			continue
		}
		var why, mandate string
		if t.Needs == NeedApproval {
			why, err = n.approved(l, t, p, amount)
		} else {
			mandate, why, err = n.mandated(l, t, p)
		}
		if err != nil {
			return nil, nil, err
		}
		if why == "" {
			if mandate != "" {
				relied = append(relied, mandate)
			}
			continue
		}
		need := Need{
			Threshold: t.Name, Needs: t.Needs, Session: l.id, OfferHash: p.body.Hash(), Amount: amount, Approvers: t.By, Why: why,
			Offer: p.body, Terms: terms.Value(), Parties: s.Parties(), By: p.ends,
		}
		if t.Needs == NeedApproval {
			need.Draft, err = wire.Encode(wire.M{
				"session_id": l.id,
				"scope":      wire.M{"decision": attest.Approve, "offer_hash": need.OfferHash, "amount": orNone(amount), "threshold_crossed": orNone(t.Name)},
			})
			if err != nil {
				return nil, nil, err
			}
		}
		list = append(list, need)
	}
	return list, relied, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (t *Threshold) names(id wire.AgentID) bool {
	return slices.ContainsFunc(t.By, func(a wire.AgentID) bool { return wire.PlainDIDKey(a) == wire.PlainDIDKey(id) })
}

// verifier verifies what others have signed, with the revocations that are stored.
func (n *Node) verifier(at time.Time) (attest.Verifier, error) {
	revoked, err := n.revocations()
	return attest.Verifier{Keys: n, Now: at, Revocations: revoked}, err
}

// revokes reports whether an agent may revoke what others issued.
func (p *Policy) revokes(agent wire.AgentID) bool {
	return slices.ContainsFunc(p.Revokers, func(id wire.AgentID) bool { return wire.PlainDIDKey(id) == wire.PlainDIDKey(agent) })
}

// approved returns why a proposal is not approved, "" if it is. An approval names the
// offer by its hash. Where that leaves the accept a choice it has to name the amount of
// what is chosen too: who approved the cheap branch has not approved the dear one.
func (n *Node) approved(l *live, t *Threshold, p *proposal, amount string) (why string, err error) {
	f, err := n.verifier(n.now())
	if err != nil {
		return "", err
	}
	why = "nobody has approved it"
	granted := false
	for e, err := range n.artifacts.List(store.Filter{Kind: "approval_receipt", Session: string(l.id)}) {
		if err != nil {
			return "", err
		}
		a, report := f.VerifyApproval(e.Value, p.body, sessionURN+string(l.id))
		switch {
		case a == nil || !t.names(a.Approver) || a.OfferHash != p.body.Hash().String():
		case report.Err() != nil:
			why = "an approval does not stand: " + kindOf(report.Err())
		case a.Decision != attest.Approve:
			return "it was denied", nil // whatever others say
		case p.chosen && a.Amount != orNone(amount):
			why = "another amount was approved than the accept selects"
		default:
			granted = true
		}
	}
	if granted {
		return "", nil
	}
	return why, nil
}

// mandated returns the mandate of this agent that allows a proposal, or why none does.
func (n *Node) mandated(l *live, t *Threshold, p *proposal) (mandate, why string, err error) {
	f, err := n.verifier(n.now())
	if err != nil {
		return "", "", err
	}
	why = "there is no mandate for this agent"
	for e, err := range n.artifacts.List(store.Filter{Kind: "mandate", Agent: n.agent}) {
		if err != nil {
			return "", "", err
		}
		m, err := attest.ReadMandate(e.Value)
		if err != nil || wire.PlainDIDKey(m.Subject) != n.agent || !t.names(m.Issuer) {
			continue
		}
		if err := n.covers(f, l, e.Value, m, p, n.agent); err != nil {
			why = "a mandate does not allow it: " + kindOf(err)
			continue
		}
		return useOf(m.Issuer, m.ID), "", nil
	}
	return "", why, nil
}

// Needs implements [API].
func (n *Node) Needs(_ context.Context, m Move) ([]Need, error) {
	l, err := n.acquire(m.Session)
	if err != nil {
		return nil, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	m.Type = fullType(m.Type)
	message, err := n.sign(l.log, m)
	if err == nil {
		err = l.log.Try(message, message.Time)
	}
	if err != nil {
		return nil, n.failed(err)
	}
	p, err := n.proposalOf(l, message)
	if err != nil || p == nil {
		return nil, n.failed(err)
	}
	needs, _, err := n.needs(l, p)
	return needs, n.failed(err)
}

// Approve implements [API].
func (n *Node) Approve(ctx context.Context, artifact wire.Value) error {
	_, err := n.keep(ctx, artifact)
	return n.failed(err)
}

var errKind = refuse(CodeBadRequest, "it is none of approval receipt, mandate and revocation record")

// keep verifies an artifact and stores it.
func (n *Node) keep(ctx context.Context, v wire.Value) (kind string, err error) {
	f, err := n.verifier(n.now())
	if err != nil {
		return "", err
	}
	var report wire.Report
	switch {
	case has(v, "mandate_id"):
		kind = "mandate"
		_, report = f.VerifyMandate(v, attest.Use{})
		report = inForce(report)
	case has(v, "revocation_id"):
		kind = revocationKind
		_, report = f.VerifyRevocation(v)
	case has(v, "artifact_type"):
		kind = "approval_receipt"
		_, report = f.VerifyApproval(v, wire.Value{}, "")
		report = slices.DeleteFunc(report, func(f wire.Finding) bool { return f.Check == "offer-hash" && f.Outcome == wire.NotChecked })
	default:
		return "", errKind
	}
	if err := report.Err(); err != nil {
		return "", err
	}
	answers, err := n.artifacts.Add(ctx, n.now(), false, store.Candidate{Value: v, Kind: kind, Report: report})
	if err != nil {
		return kind, err
	}
	if len(answers) == 1 && answers[0].Status == store.Refused {
		return kind, errors.Join(errKind, answers[0].Err)
	}
	if kind == revocationKind {
		if answers[0].Status != store.Known {
			n.revoked.keep(v)
		}
		err = n.noteRevocation(v)
	}
	return kind, err
}

func has(v wire.Value, name string) bool {
	_, ok := v.Get(name)
	return ok
}
