package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A carrier is a relay that carries sessions of this node.
type carrier struct {
	node   *Node
	url    string // ownRelay: this node's own
	client *relay.Client
	stop   context.CancelFunc // of the connection

	// room is for those who attend to its sessions: one relay that does not answer keeps
	// nobody waiting but them.
	room chan struct{}

	used time.Time // when it was last asked for; guarded by carriers
}

type carriers struct {
	mu    sync.Mutex // guards what follows
	byURL map[string]*carrier
	swept time.Time

	nowhere chan struct{} // room for sessions whose relay cannot be reached at all
}

func newCarriers() carriers {
	return carriers{byURL: map[string]*carrier{}, nowhere: make(chan struct{}, maxAttending)}
}

// maxAttending is how many sessions of a relay are attended to at the same time.
const maxAttending = 64

// maxCarriers bounds the relays that the node is connected to. Strangers' sessions that
// it joins unasked take half of them at most.
const maxCarriers = 1000

// Whoever needs a carrier that no session uses has it for so long, and so often those are
// looked for.
const carrierIdle = 10 * time.Minute

var (
	errCarriers = errors.New("the node is connected to as many relays as it may")
	errNoOwn    = errors.New("the node serves no relay of its own now")
	errRelayID  = errors.New("the relay says that it is one that is known at another address: it could use what is signed for it there")
)

// carrier returns the connection to a relay, which it makes if there is none yet.
func (n *Node) carrier(url string) (*carrier, error) {
	n.carriers.mu.Lock()
	defer n.carriers.mu.Unlock()
	now := time.Now()
	if c := n.carriers.byURL[url]; c != nil {
		c.used = now
		return c, nil
	}
	if now.Sub(n.carriers.swept) >= carrierIdle {
		n.carriers.swept = now
		n.begin(func(context.Context) { n.sweepCarriers(now) })
	}
	if len(n.carriers.byURL) >= maxCarriers {
		return nil, errCarriers
	}
	c := &carrier{node: n, url: url, used: now, room: make(chan struct{}, maxAttending)}
	opts := relay.ClientOptions{
		URL: url, Agent: n.agent, Signer: n.opts.Key, Keys: n, Cursors: c, Tokens: c,
		Handle: c.handle, Up: c.up, Invited: c.invited, Changed: c.changed, Accused: c.accused, Told: c.told,
		Now: n.opts.Now, Random: n.opts.Random, Logger: n.log, Timing: n.opts.Timing,
		TLS: &tls.Config{RootCAs: n.opts.Roots, MinVersion: tls.VersionTLS12},
	}
	switch url {
	case ownRelay:
		if n.own == nil {
			return nil, errNoOwn
		}
		opts.URL, opts.Dial, opts.Relay = "http://localhost", n.own.inside.dial, n.own.mail.ID()
	case n.opts.Relay:
		opts.Relay = n.opts.RelayID
	default:
		if err := n.outbound.CheckURL(url); err != nil {
			return nil, fmt.Errorf("connecting to a relay: %w", err)
		}
		opts.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return n.outbound.Dial(ctx, network, address)
		}
	}
	opts.Trust = func(ctx context.Context, id string) error { return n.bind(ctx, url, id) }
	client, err := relay.NewClient(opts)
	if err != nil {
		return nil, err
	}
	c.client = client
	n.carriers.byURL[url] = c
	running, stop := context.WithCancel(n.ctx)
	c.stop = stop
	n.begin(func(context.Context) {
		defer stop()
		if err := client.Run(running); running.Err() == nil {
			n.log.Error("the relay does not take this agent", "relay", url, "why", kindOf(err))
		}
	})
	return c, nil
}

// sweepCarriers lets go of connections to relays that no session needs any more: of
// strangers whose invitation was declined, of sessions that are over.
func (n *Node) sweepCarriers(now time.Time) {
	needed := map[string]bool{ownRelay: true, n.opts.Relay: true}
	err := each(n.disk, bucketSessions, "", func(_ string, r *record) bool {
		needed[r.Relay] = needed[r.Relay] || r.live()
		return true
	})
	if err == nil {
		err = n.liveMail(func(r *mailRecord) { needed[r.Relay] = true })
	}
	if err != nil {
		n.log.Error("looking for connections that are not needed", "why", kindOf(err))
		return
	}
	n.carriers.mu.Lock()
	defer n.carriers.mu.Unlock()
	for url, c := range n.carriers.byURL {
		if !needed[url] && now.Sub(c.used) >= carrierIdle {
			delete(n.carriers.byURL, url)
			c.stop()
		}
	}
}

// crowded reports whether strangers have taken their share of the connections.
func (n *Node) crowded() bool {
	n.carriers.mu.Lock()
	defer n.carriers.mu.Unlock()
	return len(n.carriers.byURL) >= maxCarriers/2
}

// roomOf returns the room for those who attend to a session.
func (n *Node) roomOf(l *live) chan struct{} {
	if c, err := n.carrierOf(l); err == nil {
		return c.room
	}
	return n.carriers.nowhere
}

// bind notes which relay is at an address, unless it is known at another one: a stranger
// who hands on the challenge of another relay would get a token for that.
func (n *Node) bind(ctx context.Context, url, id string) error {
	if id == "" || url == ownRelay {
		return nil
	}
	if n.own != nil && id == n.own.mail.ID() {
		return errRelayID
	}
	var clash bool
	err := n.disk.update(ctx, func(tx *bolt.Tx) error {
		var memory relayMemory
		if _, err := get(tx, bucketRelays, url, &memory); err != nil {
			return err
		}
		clash = memory.ID != "" && memory.ID != id
		c := tx.Bucket(bucketRelays).Cursor()
		for k, _ := c.First(); k != nil && !clash; k, _ = c.Next() {
			var other relayMemory
			if _, err := get(tx, bucketRelays, string(k), &other); err != nil {
				return err
			}
			clash = string(k) != url && other.ID == id
		}
		if clash || memory.ID == id {
			return nil
		}
		memory.ID = id
		return put(tx, bucketRelays, url, &memory)
	})
	if err == nil && clash {
		return errRelayID
	}
	return err
}

// carrierOf returns the connection to the relay of a session.
func (n *Node) carrierOf(l *live) (*carrier, error) {
	l.mu.Lock()
	url := l.rec.Relay
	l.mu.Unlock()
	return n.carrier(url)
}

// links says which relays are in use.
func (n *Node) links() (list []Link) {
	count := map[string]int{}
	_ = each(n.disk, bucketSessions, "", func(_ string, r *record) bool {
		if r.live() {
			count[r.Relay]++
		}
		return true
	})
	_ = n.liveMail(func(r *mailRecord) { count[r.Relay]++ })
	n.carriers.mu.Lock()
	defer n.carriers.mu.Unlock()
	for url, c := range n.carriers.byURL {
		list = append(list, Link{Relay: n.address(url), Connected: c.client.Connected(), Sessions: count[url]})
	}
	return list
}

// address returns the URL that others know a relay by.
func (n *Node) address(url string) string {
	if url == ownRelay {
		return n.opts.Public
	}
	return url
}

// Position implements [relay.Cursors].
func (c *carrier) Position(_ context.Context, id wire.SessionID) (relay.Position, error) {
	if isMail(id) {
		var r mailRecord
		known, err := c.node.disk.get(bucketMail, string(id), &r)
		if err != nil || !known || r.Relay != c.url {
			return relay.Position{}, err
		}
		return r.At, nil
	}
	var rec record
	known, err := c.node.disk.get(bucketSessions, string(id), &rec)
	if err != nil || !known || rec.Relay != c.url {
		return relay.Position{}, err
	}
	return rec.At, nil
}

// SetPosition implements [relay.Cursors]. The position was kept with what was handled.
func (c *carrier) SetPosition(context.Context, wire.SessionID, relay.Position) error { return nil }

// Token implements [relay.Tokens].
func (c *carrier) Token(context.Context) (string, error) {
	var memory relayMemory
	_, err := c.node.disk.get(bucketRelays, c.url, &memory)
	return memory.Token, err
}

// SetToken implements [relay.Tokens].
func (c *carrier) SetToken(ctx context.Context, token string) error {
	return c.node.disk.update(ctx, func(tx *bolt.Tx) error {
		var memory relayMemory
		if _, err := get(tx, bucketRelays, c.url, &memory); err != nil {
			return err
		}
		memory.Token = token
		return put(tx, bucketRelays, c.url, &memory)
	})
}

// up is told of a connection to the relay. What happened before it is not told.
func (c *carrier) up(context.Context) {
	n := c.node
	if c.url == n.opts.Relay {
		n.begin(n.tellConsents)
		now := n.now()
		n.begin(func(ctx context.Context) { c.forgetOver(ctx, now) })
	}
	n.begin(c.settleAllMail)
	n.table.mu.Lock()
	var all []*live
	for _, l := range n.table.byID {
		if l.users > 0 {
			l.users++
			all = append(all, l)
		}
	}
	n.table.mu.Unlock()
	for _, l := range all {
		l.mu.Lock()
		if l.attending && l.rec.Relay == c.url {
			n.attendLocked(l)
		}
		l.mu.Unlock()
		n.release(l)
	}
}

// changed is told by the relay of a session that somebody joined, or that is over.
func (c *carrier) changed(ctx context.Context, info relay.SessionInfo) {
	n := c.node
	if err := c.recall(ctx, &info); err != nil && ctx.Err() == nil {
		n.log.Error("forgetting an invitation", "session", info.Session, "why", kindOf(err))
	}
	if isMail(info.Session) {
		if err := c.noteMail(ctx, info); err != nil && ctx.Err() == nil {
			n.log.Error("taking note of a mail session", "session", info.Session, "why", kindOf(err))
		}
		return
	}
	l, err := n.acquire(info.Session)
	if err != nil {
		return // none of this node's
	}
	defer n.release(l)
	if err := n.note(ctx, c, l, &info); err != nil {
		n.log.Error("taking note of a session", "session", info.Session, "why", kindOf(err))
	}
	n.attend(l)
}

// note takes note of what the relay says of a session.
func (n *Node) note(ctx context.Context, c *carrier, l *live, info *relay.SessionInfo) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec.Relay != c.url {
		return nil
	}
	next := l.rec
	var ch change
	next.Joined = true
	for _, p := range info.Parties {
		if wire.PlainDIDKey(p.Agent) == n.agent {
			next.Joined = p.Standing == relay.Joined
			continue
		}
		if l.rec.Mine && p.Standing == relay.Joined && !l.rec.came(p.Agent) {
			next.Came = append(next.Came[:len(next.Came):len(next.Came)], p.Agent)
			ch.notice(PartyJoined, p.Agent, "")
		}
	}
	if !info.Ended.IsZero() {
		next.Over = info.Why
		if l.rec.Over == "" && info.Why == relay.EndDeclined {
			ch.notice(Declined, "", "everybody who was named has declined")
		}
	}
	if next.Joined == l.rec.Joined && len(next.Came) == len(l.rec.Came) && next.Over == l.rec.Over {
		return nil
	}
	return n.commit(ctx, l, next, ch)
}

func (r *record) came(agent wire.AgentID) bool {
	for _, a := range r.Came {
		if wire.PlainDIDKey(a) == wire.PlainDIDKey(agent) {
			return true
		}
	}
	return false
}

// accused is told what a relay did wrong. Nothing more of that session comes.
func (c *carrier) accused(ctx context.Context, m *relay.Misconduct) {
	n := c.node
	if m.Session == "" {
		n.log.Error("the relay speaks gibberish", "relay", c.url)
		return
	}
	if isMail(m.Session) {
		c.accuseMail(ctx, m)
		return
	}
	l, err := n.acquire(m.Session)
	if err != nil {
		return
	}
	defer n.release(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rec.Relay != c.url || l.rec.Misconduct != "" {
		return
	}
	next := l.rec
	next.Misconduct = string(m.Kind)
	var ch change
	ch.notice(RelayMisconduct, "", string(m.Kind))
	if err := n.commit(context.WithoutCancel(ctx), l, next, ch); err != nil {
		n.log.Error("taking note of a relay's misconduct", "session", m.Session, "why", kindOf(err))
	}
}

// isGone reports whether a relay refuses for good.
func isGone(err error) bool {
	e, ok := errors.AsType[*relay.Error](err)
	return ok && (e.Code == relay.CodeNotFound || e.Code == relay.CodeEnded)
}

// patience is how long the node waits for a relay before it does something else.
const patience = time.Minute

// inside is a listener that only this process can connect to.
type inside struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newInside() *inside { return &inside{conns: make(chan net.Conn), done: make(chan struct{})} }

func (i *inside) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case i.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-i.done:
		return nil, net.ErrClosed
	}
}

// Accept implements [net.Listener].
func (i *inside) Accept() (net.Conn, error) {
	select {
	case c := <-i.conns:
		return c, nil
	case <-i.done:
		return nil, http.ErrServerClosed
	}
}

// Close implements [net.Listener].
func (i *inside) Close() error {
	i.once.Do(func() { close(i.done) })
	return nil
}

// Addr implements [net.Listener].
func (i *inside) Addr() net.Addr { return insideAddr{} }

type insideAddr struct{}

func (insideAddr) Network() string { return "inside" }
func (insideAddr) String() string  { return "127.0.0.1:0" }
