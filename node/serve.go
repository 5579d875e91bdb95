package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/resolve"
)

// Paths that a node with a public address answers at, besides those of RFC 0001.
const (
	PathWellKnown = "/.well-known/concordia.json" // who lives here
	PathInbox     = "/concordia/inbox"            // takes signed invitations
)

// A served is the relay that the node is for its own sessions.
type served struct {
	driver *boltmail.Mail
	mail   *relay.Mailboxes
	server *relay.Server
	inside *inside
	http   *http.Server
	done   chan struct{}
}

// serve opens the node's own relay, in which nobody else opens sessions.
func (n *Node) serve(path string) (*served, error) {
	u, err := url.Parse(n.opts.Public)
	if err != nil || u.Host == "" || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("the public address is an origin: https://HOST")
	}
	n.opts.Public = strings.TrimSuffix(n.opts.Public, "/")
	driver, err := boltmail.Open(path)
	if err != nil {
		return nil, err
	}
	mail, err := relay.NewMailboxes(n.ctx, driver, relay.Options{
		Limits: n.opts.Limits, Now: n.opts.Now, Random: n.opts.Random,
		Reserve: func(agent wire.AgentID) bool { return wire.PlainDIDKey(agent) == n.agent },
	})
	if err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	s := &served{driver: driver, mail: mail, inside: newInside(), done: make(chan struct{})}
	s.server = relay.NewServer(mail, &relay.ServerOptions{
		Log: n.log, Metrics: n.opts.Metrics, Address: n.opts.Address,
		Operator: func(*http.Request) bool { return false }, // health and metrics are the node's
	})
	s.http = s.server.HTTPServer()
	go func() { // ended by close
		defer close(s.done)
		_ = s.http.Serve(s.inside)
	}()
	n.begin(func(ctx context.Context) { _ = s.server.Run(ctx) })
	return s, nil
}

// close stops the relay, and takes the time that is needed for what is under way.
func (s *served) close() error {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	err := s.server.Shutdown(ctx)
	err = errors.Join(err, s.inside.Close(), s.http.Close())
	<-s.done
	return errors.Join(err, s.driver.Close())
}

// Handler answers others who reach the node at its public address: who it is, its inbox,
// and the relay of its sessions. It has nothing for the owner; see package node's API.
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathWellKnown, n.serveWellKnown)
	mux.HandleFunc("POST "+PathInbox, n.serveInbox)
	if n.own != nil {
		mux.Handle("/", n.own.server)
	}
	return mux
}

// A wellKnown says who lives at an origin. It is not signed: what is sent there is for
// whoever has the key.
type wellKnown struct {
	Node  string       `json:"concordia_node"` // version
	Agent wire.AgentID `json:"agent_id"`
	Inbox string       `json:"inbox"`
	Relay string       `json:"relay,omitempty"`
}

const nodeVersion = "0.1.0"

func (n *Node) serveWellKnown(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, wellKnown{nodeVersion, n.agent, n.opts.Public + PathInbox, n.opts.Public})
}

func answer(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(x) // the other side may be gone
}

// An inbox counts how fast invitations come, from one place and altogether.
type inbox struct {
	mu    sync.Mutex // guards what follows
	since time.Time
	all   int
	from  map[netip.Addr]int
}

// What an inbox takes in a minute, and how long an invitation may take to come in.
const (
	inboxPerMinute = 300
	inboxPerPlace  = 30
	inboxPatience  = 10 * time.Second
)

// admits counts a request and reports whether it is one too many.
func (b *inbox) admits(now time.Time, from netip.Addr) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.since) >= time.Minute || now.Before(b.since) {
		b.since, b.all, b.from = now, 0, map[netip.Addr]int{}
	}
	if b.all >= inboxPerMinute || b.from[from] >= inboxPerPlace {
		return false // nor is it noted: those who are refused do not shut out others
	}
	b.all++
	b.from[from]++
	return true
}

// placeOf returns what counts as one place: of IPv6 a whole /64.
func (n *Node) placeOf(r *http.Request) netip.Addr {
	var a netip.Addr
	if n.opts.Address != nil {
		a = n.opts.Address(r)
	} else if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		a = at.Addr()
	}
	a = a.Unmap().WithZone("")
	if p, err := a.Prefix(64); err == nil && a.Is6() {
		return p.Addr()
	}
	return a
}

// serveInbox takes an invitation. Who is not welcome is not told so.
func (n *Node) serveInbox(w http.ResponseWriter, r *http.Request) {
	type refusal struct {
		Error string `json:"error"`
	}
	// Other requests at this address last as long as a websocket does; this one does not.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(inboxPatience))
	if !n.Admits(r) {
		w.Header().Set("Retry-After", "60")
		answer(w, http.StatusTooManyRequests, refusal{"too many invitations"})
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, relay.MaxEnclosureSize))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, refusal{"the invitation cannot be read, or is too large"})
		return
	}
	v, err := wire.Parse(text, wire.Limits{Size: relay.MaxEnclosureSize, Depth: wire.MaxDepth})
	if err == nil {
		err = n.TakeInvitation(r.Context(), v)
	} else {
		err = errNoInvitation
	}
	switch {
	case err == nil:
		answer(w, http.StatusOK, struct{}{})
	case errors.Is(err, errInvitations):
		answer(w, http.StatusTooManyRequests, refusal{errInvitations.Message})
	case errors.Is(err, errNoInvitation):
		answer(w, http.StatusBadRequest, refusal{errNoInvitation.Message})
	default:
		answer(w, http.StatusInternalServerError, refusal{"the node could not"})
	}
}

// inviteDirectly hands invitations to the inboxes of those who were not told yet.
func (n *Node) inviteDirectly(ctx context.Context, l *live) error {
	l.mu.Lock()
	r := l.rec
	l.mu.Unlock()
	var faults []error
	for _, to := range r.Uninvited {
		if !r.came(to) {
			if err := n.inviteOne(ctx, &r, to); err != nil {
				faults = append(faults, err)
				continue
			}
		}
		l.mu.Lock()
		next := l.rec
		next.Uninvited = without(next.Uninvited, to)
		err := n.commit(ctx, l, next, change{})
		l.mu.Unlock()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

func without(list []wire.AgentID, id wire.AgentID) (rest []wire.AgentID) {
	for _, a := range list {
		if a != id {
			rest = append(rest, a)
		}
	}
	return rest
}

var (
	errNoAddress  = errors.New("no address is known of the agent: add a contact with a url")
	errOtherAgent = errors.New("another agent lives at the address")
)

// inviteOne asks the address of an agent for its inbox, and hands it an invitation.
func (n *Node) inviteOne(ctx context.Context, r *record, to wire.AgentID) error {
	origin, err := n.originOf(to)
	if err != nil {
		return err
	}
	text, err := n.outbound.Get(ctx, origin+PathWellKnown)
	if err != nil {
		return err
	}
	v, err := wire.Parse(text, wire.Limits{Size: len(text), Depth: wire.MaxDepth})
	if err != nil {
		return err
	}
	doc := wire.Read(v, "", relay.RuleAnswer)
	id, inbox := wire.ReadID[wire.AgentID](doc, "agent_id"), doc.Text("inbox")
	switch {
	case doc.Err() != nil:
		return doc.Err()
	case wire.PlainDIDKey(id) != wire.PlainDIDKey(to):
		return errOtherAgent
	}
	invitation, err := n.invitation(r, to)
	if err != nil {
		return err
	}
	if _, err := n.outbound.Post(ctx, inbox, []byte(invitation.Canonical())); err != nil {
		return fmt.Errorf("handing over an invitation: %w", err)
	}
	return nil
}

// originOf returns where the node of an agent is: where its contact says, or at the host
// that a did:web names.
func (n *Node) originOf(to wire.AgentID) (string, error) {
	n.contacts.mu.RLock()
	c := n.contacts.byID[wire.PlainDIDKey(to)]
	n.contacts.mu.RUnlock()
	if c.URL != "" {
		return strings.TrimSuffix(c.URL, "/"), nil
	}
	if !resolve.IsWeb(to) {
		return "", errNoAddress
	}
	document, err := resolve.DocumentURL(to)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(document)
	if err != nil {
		return "", errNoAddress
	}
	return "https://" + u.Host, nil
}
