package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/session/transcript"
	"github.com/concordia-node/concordia/wire"
)

// A Peer is the way to another party. It knows who this agent is: whatever carries
// bytes authenticates both ends.
type Peer interface {
	// Deliver hands over a message of a session. An error from a peer means that it
	// did not take the message; one from the way there leaves it open.
	Deliver(ctx context.Context, message []byte) error

	// Countersign asks the peer to check a receipt, add its signatures and return it.
	Countersign(ctx context.Context, receipt []byte) ([]byte, error)
}

// Options of an Agent. The zero value is fine.
type Options struct {
	ID   wire.AgentID     // empty: the did:key of the key
	Now  func() time.Time // nil: time.Now
	Rand io.Reader        // for ids; nil: crypto/rand
}

// An Agent is one party to any number of sessions. Its methods may be called from
// many goroutines.
type Agent struct {
	id    wire.AgentID
	key   wire.Signer
	keys  wire.Keys
	store *transcript.Store
	now   func() time.Time
	rand  io.Reader

	joining sync.Mutex // held while a session begins that another opened

	mu           sync.Mutex // guards peers and negotiations
	peers        map[wire.AgentID]Peer
	negotiations map[wire.SessionID]*Negotiation
}

// New returns the agent that signs with key, believes keys and keeps its
// transcripts in store.
func New(key wire.Signer, keys wire.Keys, store *transcript.Store, opts *Options) *Agent {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.ID == "" {
		o.ID = wire.DIDKey(key.Public())
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return &Agent{
		id: o.ID, key: key, keys: keys, store: store, now: o.Now, rand: o.Rand,
		peers: make(map[wire.AgentID]Peer), negotiations: make(map[wire.SessionID]*Negotiation),
	}
}

// ID returns the agent's id.
func (a *Agent) ID() wire.AgentID { return a.id }

// Reach tells the agent how another is reached.
func (a *Agent) Reach(id wire.AgentID, by Peer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peers[id] = by
}

// Connect lets agents of one process reach one another.
func Connect(agents ...*Agent) {
	for _, a := range agents {
		for _, b := range agents {
			if a != b {
				a.Reach(b.id, b.From(a.id))
			}
		}
	}
}

func (a *Agent) peer(id wire.AgentID) (Peer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.peers[id]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("reaching %q: no way known", id)
}

// Open opens a session on terms with the responders. More members of the body,
// such as timing, category or value_range, go into more, which may be nil. With an
// Undelivered error the session is open all the same, and returned.
func (a *Agent) Open(ctx context.Context, terms, more wire.M, responders ...wire.AgentID) (*Negotiation, error) {
	id, err := wire.NewID[wire.SessionID]("ses_", a.rand)
	if err != nil {
		return nil, err
	}
	body := wire.M{"terms": terms}
	maps.Copy(body, more)
	n := newNegotiation(a, session.NewTranscript(id, nil))
	if err := n.send(ctx, wire.TypeOpen, body, "", responders); err != nil {
		if _, made := errors.AsType[*Undelivered](err); made {
			return n, err
		}
		return nil, err
	}
	return n, nil
}

// ErrNoSession reports a session of which the agent has no message.
var ErrNoSession = errors.New("no such session")

// Negotiation returns the agent's side of a session, from memory or from its store.
func (a *Agent) Negotiation(ctx context.Context, id wire.SessionID) (*Negotiation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, ok := a.negotiations[id]; ok {
		return n, nil
	}
	head, err := a.store.Head(id)
	if err != nil {
		return nil, err
	}
	if head.Len == 0 {
		return nil, fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	messages, err := a.store.Read(id, 0, head.Len)
	if err != nil {
		return nil, err
	}
	log, err := session.Verify(id, messages, a.keys, a.now(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("resuming session %q: %w", id, err)
	}
	n := newNegotiation(a, log)
	receipts, err := a.store.Receipts(id)
	if err != nil {
		return nil, err
	}
	for _, r := range receipts {
		if head, _ := r.Get("chain_head"); head.Text() == log.Tip().String() {
			n.receipt = log.Tip()
		}
	}
	a.negotiations[id] = n
	return n, nil
}

// adopt makes n known under its id, unless there is one already.
func (a *Agent) adopt(n *Negotiation) *Negotiation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.negotiations[n.ID()]; ok {
		return known
	}
	a.negotiations[n.ID()] = n
	return n
}

// join takes the open message of a session that is new to the agent.
func (a *Agent) join(ctx context.Context, m *wire.Message) error {
	a.joining.Lock()
	defer a.joining.Unlock()
	if n, err := a.Negotiation(ctx, m.Session); !errors.Is(err, ErrNoSession) {
		if err != nil {
			return err
		}
		return n.take(ctx, m, false)
	}
	fresh := newNegotiation(a, session.NewTranscript(m.Session, nil))
	if err := fresh.take(ctx, m, false); err != nil {
		return err
	}
	a.adopt(fresh)
	return nil
}

// From returns the agent as the Peer of another, whom the caller has authenticated.
func (a *Agent) From(id wire.AgentID) Peer { return inbound{a, id} }

// An inbound is an agent as somebody in particular reaches it.
type inbound struct {
	agent *Agent
	from  wire.AgentID
}

// Deliver implements Peer.
func (in inbound) Deliver(ctx context.Context, message []byte) error {
	return in.agent.deliver(ctx, in.from, message)
}

// Countersign implements Peer.
func (in inbound) Countersign(ctx context.Context, receipt []byte) ([]byte, error) {
	return in.agent.countersign(ctx, receipt)
}

// ErrNotSequencer reports a message from somebody who does not order the session.
var ErrNotSequencer = errors.New("only the session's initiator hands out its messages")

// deliver takes a message from a peer: it verifies, judges and appends it, and if
// this agent sequences the session, passes it on. A message that is here already is
// taken again. Whoever does not sequence the session takes messages only from who
// does, in the order in which that one has them.
func (a *Agent) deliver(ctx context.Context, from wire.AgentID, message []byte) error {
	u, err := wire.ParseMessage(message)
	if err != nil {
		return err
	}
	m, err := u.Verify(a.keys)
	if err != nil {
		return err
	}
	n, err := a.Negotiation(ctx, m.Session)
	if errors.Is(err, ErrNoSession) && m.Type == wire.TypeOpen {
		if m.From != from {
			return ErrNotSequencer
		}
		return a.join(ctx, m)
	}
	if err != nil {
		return err
	}
	sequencer := n.sequencer()
	if sequencer != a.id && sequencer != from {
		return ErrNotSequencer
	}
	if err := n.take(ctx, m, sequencer == a.id); err != nil {
		return err
	}
	if sequencer == a.id {
		// The author is told that its message exists. What another party misses it
		// gets with the next one, or on Resend.
		_ = n.spread(ctx, m.From)
	}
	return nil
}
