package node

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A mandate is one that a party has presented in a session, with what became of it.
type mandate struct {
	By      wire.AgentID `json:"by"`
	ID      string       `json:"id"`
	Issuer  wire.AgentID `json:"issuer"`
	Value   wire.Value   `json:"value"`
	Broken  string       `json:"broken,omitempty"`  // the rule by which it does not allow what the party did
	Message int          `json:"message,omitempty"` // number of that message, 0 if the mandate itself does not stand
}

// Bounds of what one party of a session presents: mandates that are held against it, and
// other artifacts that are kept.
const (
	maxMandates  = 4
	maxPresented = 100
)

// The action that a mandate is asked about is an object:
//
//	type            the message that is made: negotiate.offer, counter, accept or commit
//	session_id, category, counterparties
//	terms           what it binds to, by term id: {"price": {"value": 1500, "currency": "EUR"}}
//	max_spend       the value of the term price, if it is a number
//	currency        its currency, if it has one
//
// so a mandate's constraints may say {"properties": {"max_spend": {"maximum": 1500}}, …}.
// An offer of several branches is asked about branch by branch: it binds to each.
func (n *Node) action(id wire.SessionID, category string, kind wire.MessageType, by wire.AgentID, parties []wire.AgentID, terms offer.Terms) (wire.Value, error) {
	others := make([]wire.AgentID, 0, len(parties))
	for _, p := range parties {
		if wire.PlainDIDKey(p) != wire.PlainDIDKey(by) {
			others = append(others, p)
		}
	}
	m := wire.M{"type": kind, "session_id": id, "counterparties": others, "terms": terms.Value()}
	if category != "" {
		m["category"] = category
	}
	if price, ok := terms.Get("price"); ok {
		if value, _ := price.Get("value"); value.Kind() == wire.Number {
			m["max_spend"] = value
		}
		if currency, ok := price.Get("currency"); ok {
			m["currency"] = currency
		}
	}
	return wire.Encode(m)
}

var errOtherSubject = errors.New("the mandate is for another agent than the one that presents it")

// covers reports whether a mandate of an agent allows a proposal. l is locked.
func (n *Node) covers(f attest.Verifier, l *live, v wire.Value, m *attest.Mandate, p *proposal, by wire.AgentID) error {
	return n.coversTerms(f, &l.rec, l.log.Session().Parties(), v, m, p, by)
}

func (n *Node) coversTerms(f attest.Verifier, r *record, parties []wire.AgentID, v wire.Value, m *attest.Mandate, p *proposal, by wire.AgentID) error {
	uses, err := n.uses(useOf(m.Issuer, m.ID), r.Session)
	if err != nil {
		return err
	}
	for _, terms := range p.terms {
		action, err := n.action(r.Session, r.Category, p.kind, by, parties, terms)
		if err != nil {
			return err
		}
		_, report := f.VerifyMandate(v, attest.Use{Action: action, SequenceKey: string(r.Session), Uses: &uses})
		if err := report.Err(); err != nil {
			return err
		}
	}
	return nil
}

// useOf names a mandate where its uses are counted. Two issuers may have given the same
// id, one of them on purpose.
func useOf(issuer wire.AgentID, id string) string {
	return wire.HashOf(string(wire.PlainDIDKey(issuer)) + "\x00" + id).Hex()
}

// uses returns in how many other sessions a mandate has led to an agreement, or is relied
// on for one.
func (n *Node) uses(mandate string, but wire.SessionID) (count int64, err error) {
	prefix := []byte(mandate + "\x00")
	err = n.disk.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketUses).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			if string(k[len(prefix):]) != string(but) {
				count++
			}
		}
		return nil
	})
	return count, err
}

// inForce leaves out of the report on a mandate what depends on what it is used for.
func inForce(r wire.Report) wire.Report {
	return slices.DeleteFunc(slices.Clone(r), func(f wire.Finding) bool {
		return f.Outcome == wire.NotChecked && slices.Contains([]string{"action", "delegated-action", "validity", "uses"}, f.Check)
	})
}

// checkOwnMandate reports whether a mandate is one that this node can present.
func (n *Node) checkOwnMandate(v wire.Value) error {
	m, err := attest.ReadMandate(v)
	if err != nil {
		return err
	}
	if wire.PlainDIDKey(m.Subject) != n.agent {
		return refuse(CodeBadRequest, "the mandate is for another agent")
	}
	f, err := n.verifier(n.now())
	if err != nil {
		return err
	}
	_, report := f.VerifyMandate(v, attest.Use{})
	return inForce(report).Err()
}

// Present implements [API].
func (n *Node) Present(ctx context.Context, id wire.SessionID, artifact wire.Value) error {
	l, err := n.acquire(id)
	if err != nil {
		return n.failed(err)
	}
	defer n.release(l)
	if has(artifact, "mandate_id") {
		if err := n.checkOwnMandate(artifact); err != nil {
			return n.failed(err)
		}
	}
	if _, err := n.keep(ctx, artifact); err != nil {
		return n.failed(err)
	}
	return n.failed(n.enclose(ctx, l, relay.KindApproval, artifact))
}

// takePresented takes a mandate, or an approval receipt, that a party presents. l is
// locked.
func (n *Node) takePresented(l *live, next *record, ch *change, e *relay.Enclosure) {
	if !has(e.Content, "mandate_id") {
		if wire.PlainDIDKey(e.From) != n.agent {
			if next.Presented[e.From] >= maxPresented {
				return
			}
			next.Presented = maps.Clone(next.Presented)
			if next.Presented == nil {
				next.Presented = map[wire.AgentID]int{}
			}
			next.Presented[e.From]++
		}
		if _, err := n.keep(n.ctx, e.Content); err != nil {
			n.log.Info("what was presented in a session does not stand", "session", l.id, "why", kindOf(err))
		}
		return
	}
	m, err := attest.ReadMandate(e.Content)
	x := mandate{By: e.From, Value: e.Content}
	if err == nil {
		x.ID, x.Issuer = m.ID, m.Issuer
		var f attest.Verifier
		f, err = n.verifier(n.now())
		if err == nil {
			_, report := f.VerifyMandate(e.Content, attest.Use{})
			err = inForce(report).Err()
		}
		if err == nil && wire.PlainDIDKey(m.Subject) != wire.PlainDIDKey(e.From) {
			err = errOtherSubject
		}
	}
	own := 0
	for _, o := range next.Mandates {
		if wire.PlainDIDKey(o.By) == wire.PlainDIDKey(e.From) {
			own++
			if o.Value.Equal(e.Content) {
				return
			}
		}
	}
	if own >= maxMandates {
		return
	}
	if err != nil {
		x.Broken = ruleOf(err)
		ch.notice(MandateBroken, e.From, "the mandate that it presents does not stand: "+x.Broken)
	} else if p, number := n.standingOffer(l, e.From); p != nil {
		f, err := n.verifier(n.now())
		if err == nil {
			err = n.coversTerms(f, next, next.Parties, x.Value, m, p, e.From)
		}
		if err != nil {
			x.Broken, x.Message = ruleOf(err), number
			ch.notice(MandateBroken, e.From, "its mandate does not allow the offer that it has made: "+x.Broken).Type = p.kind
		}
	}
	next.Mandates = append(slices.Clip(next.Mandates), x)
	if err == nil {
		if _, err := n.keep(n.ctx, e.Content); err != nil {
			n.log.Info("a mandate is not kept", "session", l.id, "why", kindOf(err))
		}
	}
}

// standingOffer returns the current offer if it is a party's, and the number of its
// message. l is locked.
func (n *Node) standingOffer(l *live, by wire.AgentID) (*proposal, int) {
	s := l.log.Session()
	o, from := s.Offer()
	if o == nil || s.State() != session.Active || wire.PlainDIDKey(from) != wire.PlainDIDKey(by) {
		return nil, 0
	}
	messages, err := n.transcripts.Read(l.id, 0, l.rec.Len)
	if err != nil {
		return nil, 0
	}
	for i, v := range slices.Backward(messages) {
		u, err := wire.ReadMessage(v)
		if err != nil || u.Type != wire.TypeOffer && u.Type != wire.TypeCounter || !u.Body.Equal(o.Body()) {
			continue
		}
		p := &proposal{kind: u.Type, body: u.Body, from: from}
		for _, b := range o.Branches {
			p.terms = append(p.terms, b.Terms)
		}
		return p, i + 1
	}
	return nil, 0
}

func ruleOf(err error) string {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Name
	}
	if _, ok := errors.AsType[*wire.Unchecked](err); ok {
		return "not checked"
	}
	if errors.Is(err, errOtherSubject) {
		return "subject"
	}
	return "not readable"
}

// judgeMandates holds what a party did against the mandates that it has presented. after
// is the session with the message in it.
func (n *Node) judgeMandates(next *record, ch *change, after session.Session, m *wire.Message) {
	if after.State() == session.Agreed && m.Type != wire.TypeCommit || len(next.Mandates) > 0 && after.State() == session.Agreed {
		n.useMandates(next, ch)
	}
	by := func(x *mandate) bool { return x.Broken == "" && wire.PlainDIDKey(x.By) == wire.PlainDIDKey(m.From) }
	if !slices.ContainsFunc(next.Mandates, func(x mandate) bool { return by(&x) }) {
		return
	}
	p := &proposal{kind: m.Type, from: m.From}
	o, _ := after.Offer()
	switch {
	case o == nil:
		return
	case m.Type == wire.TypeOffer || m.Type == wire.TypeCounter:
		for _, b := range o.Branches {
			p.terms = append(p.terms, b.Terms)
		}
	case m.Type == wire.TypeAccept || m.Type == wire.TypeCommit:
		terms := after.Deal()
		if terms == nil {
			var err error
			if terms, err = o.Select(m.Body.Without("terms"), "/body", after.Space()); err != nil {
				return
			}
		}
		p.terms = []offer.Terms{terms}
	default:
		return
	}
	f, err := n.verifier(m.Time)
	next.Mandates = slices.Clone(next.Mandates)
	for i := range next.Mandates {
		x := &next.Mandates[i]
		if !by(x) {
			continue
		}
		broken := err
		if broken == nil {
			read, err := attest.ReadMandate(x.Value)
			if broken = err; err == nil {
				broken = n.coversTerms(f, next, after.Parties(), x.Value, read, p, m.From)
			}
		}
		if broken != nil {
			x.Broken, x.Message = ruleOf(broken), after.Len()
			ch.notice(MandateBroken, m.From, "its mandate does not allow it: "+x.Broken).Type = m.Type
		}
	}
}

// useMandates notes that the mandates of a session have led to an agreement. One that does
// not stand, or is another's, is not used up by being shown around.
func (n *Node) useMandates(next *record, ch *change) {
	var used []string
	for _, x := range next.Mandates {
		if x.Broken == "" {
			used = append(used, useOf(x.Issuer, x.ID))
		}
	}
	ch.use(next.Session, used, true)
}

// use notes in the transaction that a session uses mandates, or does not any more.
func (c *change) use(id wire.SessionID, mandates []string, used bool) {
	if len(mandates) == 0 {
		return
	}
	c.more = append(c.more, func(tx *bolt.Tx) ([]Notice, error) {
		b := tx.Bucket(bucketUses)
		for _, m := range mandates {
			key := []byte(m + "\x00" + string(id))
			var err error
			if used {
				err = b.Put(key, nil)
			} else {
				err = b.Delete(key)
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// giveBack lets go of the mandates that this node relied on, when its session has ended
// without an agreement.
func (n *Node) giveBack(next *record, ch *change, s session.Session) {
	if s.State() == session.Agreed {
		return
	}
	ch.use(next.Session, next.Relied, false)
	next.Relied = nil
}
