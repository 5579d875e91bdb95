package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A Negotiation is an agent's side of one session.
type Negotiation struct {
	agent *Agent

	// signing is held from the signature on a message until it exists, and while a
	// receipt is signed: this agent says one thing at a time. Deliver never takes it,
	// so whoever holds it may wait for a peer. It comes before mu.
	signing sync.Mutex

	// mu guards log, receipt and outboxes. Nobody waits for a peer with it.
	mu       sync.Mutex
	log      *session.Transcript
	receipt  wire.Hash // chain head of the last receipt that this agent signed
	outboxes map[wire.AgentID]*outbox
}

// An outbox orders what the sequencer hands to one party.
type outbox struct {
	mu   sync.Mutex // guards sent
	sent int        // how many messages the party has
}

func newNegotiation(a *Agent, log *session.Transcript) *Negotiation {
	return &Negotiation{agent: a, log: log, outboxes: make(map[wire.AgentID]*outbox)}
}

func (n *Negotiation) outbox(id wire.AgentID) *outbox {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.outboxes[id] == nil {
		n.outboxes[id] = new(outbox)
	}
	return n.outboxes[id]
}

// ID returns the session's id.
func (n *Negotiation) ID() wire.SessionID { return n.Session().ID() }

// Session returns the state of the session as this agent knows it.
func (n *Negotiation) Session() session.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.Session()
}

// Messages returns the transcript so far.
func (n *Negotiation) Messages() ([]wire.Value, error) {
	s := n.Session()
	return n.agent.store.Read(s.ID(), 0, s.Len())
}

// sequencer returns who orders the session: its initiator.
func (n *Negotiation) sequencer() wire.AgentID {
	if parties := n.Session().Parties(); len(parties) > 0 {
		return parties[0]
	}
	return n.agent.id
}

// Send makes a move. The session's rules judge it before anyone sees it. An error
// that is an [Undelivered] means that the move was made and a peer has yet to learn
// of it. If the way to the sequencer fails, it is open whether the move was made;
// the sequencer's next message, or its Resend, tells.
func (n *Negotiation) Send(ctx context.Context, t wire.MessageType, body wire.M, reasoning string) error {
	return n.send(ctx, t, body, reasoning, nil)
}

func (n *Negotiation) send(ctx context.Context, t wire.MessageType, body wire.M, reasoning string, to []wire.AgentID) error {
	sequencer := n.sequencer()
	if err := n.move(ctx, sequencer, t, body, reasoning, to); err != nil {
		return err
	}
	if t == wire.TypeOpen {
		n.agent.adopt(n)
	}
	if sequencer != n.agent.id {
		return nil
	}
	return n.spread(ctx, n.agent.id)
}

// move signs a message that fits the end of the log and makes it exist.
func (n *Negotiation) move(ctx context.Context, sequencer wire.AgentID, t wire.MessageType, body wire.M, reasoning string, to []wire.AgentID) error {
	n.signing.Lock()
	defer n.signing.Unlock()
	if sequencer == n.agent.id {
		n.mu.Lock()
		defer n.mu.Unlock()
		m, err := n.sign(t, body, reasoning, to)
		if err != nil {
			return err
		}
		return n.append(context.WithoutCancel(ctx), m, m.Time)
	}
	n.mu.Lock()
	m, err := n.sign(t, body, reasoning, to)
	n.mu.Unlock()
	if err != nil {
		return err
	}
	peer, err := n.agent.peer(sequencer)
	if err != nil {
		return err
	}
	if err := peer.Deliver(ctx, []byte(m.Value().Canonical())); err != nil {
		return fmt.Errorf("sending %s: %w", t.Short(), err)
	}
	// It exists, whatever becomes of the caller, and may have come back already.
	return n.take(context.WithoutCancel(ctx), m, false)
}

// append makes a message exist that the log allows at now. The caller holds mu.
func (n *Negotiation) append(ctx context.Context, m *wire.Message, now time.Time) error {
	if err := n.agent.store.Append(ctx, m); err != nil {
		return err
	}
	return n.log.Replay(m, now)
}

// sign makes a message that the rules allow. Its time is now, but never before the
// session clock. The caller holds mu.
func (n *Negotiation) sign(t wire.MessageType, body wire.M, reasoning string, to []wire.AgentID) (*wire.Message, error) {
	s := n.log.Session()
	now := n.agent.now()
	if s.Now().After(now) {
		now = s.Now()
	}
	id, err := wire.NewID[wire.MessageID]("msg_", n.agent.rand)
	if err != nil {
		return nil, err
	}
	if body == nil {
		body = wire.M{}
	}
	encoded, err := wire.Encode(body)
	if err != nil {
		return nil, err
	}
	m, err := wire.Sign(wire.Envelope{
		Type: t, ID: id, Session: s.ID(), Time: now, From: n.agent.id, To: to,
		PrevHash: n.log.Tip(), Body: encoded, Reasoning: reasoning,
	}, n.agent.key)
	if err != nil {
		return nil, err
	}
	if err := n.log.Try(m, m.Time); err != nil {
		return nil, err
	}
	if t == wire.TypeCommit && n.signed() {
		return nil, ErrReceiptSigned
	}
	return m, nil
}

// ErrReceiptSigned reports a commit that comes after this agent has signed the
// receipt of the agreement: there would be a second one.
var ErrReceiptSigned = errors.New("the receipt is signed; nothing is left to commit")

// signed reports whether the agent has signed the receipt of an agreement that
// still stands. The caller holds mu.
func (n *Negotiation) signed() bool {
	return n.log.Session().State() == session.Agreed && n.receipt == n.log.Tip()
}

// take appends a message that came from a peer. Only the sequencer judges when it
// came.
func (n *Negotiation) take(ctx context.Context, m *wire.Message, sequencing bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	try := n.log.TryReplay
	if sequencing {
		try = n.log.Try
	}
	if have, err := n.agent.store.Has(m); have || err != nil {
		return err
	}
	now := n.agent.now()
	if err := try(m, now); err != nil {
		return err
	}
	if sequencing && m.Type == wire.TypeCommit && n.signed() {
		return ErrReceiptSigned
	}
	return n.append(ctx, m, now)
}

// An Undelivered error reports that a message exists and a peer does not have it
// yet. The next message, or Resend, will bring it.
type Undelivered struct {
	To  wire.AgentID
	Err error
}

func (u *Undelivered) Error() string { return fmt.Sprintf("delivering to %q: %v", u.To, u.Err) }

// Unwrap returns the reason.
func (u *Undelivered) Unwrap() error { return u.Err }

// Resend hands every peer what it has not taken yet. Only the session's initiator
// has something to resend.
func (n *Negotiation) Resend(ctx context.Context) error {
	if n.sequencer() != n.agent.id {
		return nil
	}
	return n.spread(ctx, n.agent.id)
}

// spread hands the parties, in order, the messages they lack: all but this one
// and the author of what is spread, who has it.
func (n *Negotiation) spread(ctx context.Context, author wire.AgentID) error {
	var faults []error
	for _, id := range n.Session().Parties() {
		if id == n.agent.id || id == author {
			continue
		}
		if err := n.spreadTo(ctx, id); err != nil {
			faults = append(faults, &Undelivered{id, err})
		}
	}
	return errors.Join(faults...)
}

func (n *Negotiation) spreadTo(ctx context.Context, id wire.AgentID) error {
	peer, err := n.agent.peer(id)
	if err != nil {
		return err
	}
	box := n.outbox(id)
	box.mu.Lock()
	defer box.mu.Unlock()
	s := n.Session()
	messages, err := n.agent.store.Read(s.ID(), box.sent, s.Len()-box.sent)
	if err != nil {
		return err
	}
	for _, m := range messages {
		// Its own messages too: it may not know that they got here.
		if err := peer.Deliver(ctx, []byte(m.Canonical())); err != nil {
			return err
		}
		box.sent++
	}
	return nil
}

// AcceptSession agrees to negotiate.
func (n *Negotiation) AcceptSession(ctx context.Context) error {
	return n.Send(ctx, wire.TypeAcceptSession, nil, "")
}

// Offer makes a basic offer of terms, an object for each: {"value": …}. It is
// complete if it gives every term of the session a value.
func (n *Negotiation) Offer(ctx context.Context, terms wire.M, reasoning string) error {
	return n.Propose(ctx, wire.TypeOffer, wire.M{"terms": terms}, reasoning)
}

// Counter is Offer in answer to an offer.
func (n *Negotiation) Counter(ctx context.Context, terms wire.M, reasoning string) error {
	return n.Propose(ctx, wire.TypeCounter, wire.M{"terms": terms}, reasoning)
}

// Propose makes an offer or counter of any shape (SPEC §6). It adds the offer_id.
func (n *Negotiation) Propose(ctx context.Context, t wire.MessageType, body wire.M, reasoning string) error {
	id, err := wire.NewID[wire.OfferID]("off_", n.agent.rand)
	if err != nil {
		return err
	}
	body = maps.Clone(body)
	body["offer_id"] = id
	return n.Send(ctx, t, body, reasoning)
}

// Accept accepts the current offer. Of a conditional or partial offer, terms say
// which branch, or which values; nil otherwise.
func (n *Negotiation) Accept(ctx context.Context, terms wire.M, reasoning string) error {
	body := wire.M{}
	if o, _ := n.Session().Offer(); o != nil && o.ID != "" {
		body["offer_id"] = o.ID
	}
	if terms != nil {
		body["accepted_terms"] = terms
	}
	return n.Send(ctx, wire.TypeAccept, body, reasoning)
}
