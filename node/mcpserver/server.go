package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/wire"
)

// Options say how a server behaves.
type Options struct {
	Menu     menu.Mode        // "": Auto
	Groups   []string         // of tools that there are, by name; none: all of them
	Version  string           // of the program, as clients are told
	Now      func() time.Time // nil: time.Now
	Tell     time.Duration    // how often a call that waits says so; 0: DefaultTell
	Patience time.Duration    // how long a call may take that is not made to wait; 0: DefaultPatience
	Random   io.Reader        // of the ids of sessions and messages; nil: crypto/rand
	Log      *slog.Logger     // nil: none; it gets no arguments and no results
	Clients  *Clients         // what is remembered of clients; nil: nothing
}

// DefaultPatience is how long a call may take: for as long a node tries to reach a relay.
const DefaultPatience = 30 * time.Second

// lastPatience is how long a connection that a client has closed lasts for what is under
// way.
const lastPatience = 2 * time.Second

// DefaultTell is how often a call that waits tells a client that asked for it that it
// goes on.
const DefaultTell = 5 * time.Second

// A Server is one connection of an agent to a node.
type Server struct {
	*kit
	api  node.API
	opts Options
	mcp  *mcp.Server

	leaving context.Context // done when the client has closed its side: nobody waits then
	leave   context.CancelFunc

	mu     sync.Mutex // guards what follows
	client menu.Client
	name   clientName                        // as the client says
	unread bool                              // the client was told that the list has changed, and has not read it since
	listed []string                          // the tools that a dynamic list had last
	seen   map[wire.SessionID]node.OfferView // the offers that the agent was shown
	length map[wire.SessionID]int            // how many messages there were when it was shown a session last
	askers map[string]*asking                // HTTP requests that came with a call, by what their requestHeader has
	notice uint64                            // the last notice that the agent was shown
}

// A kit is what all servers with the same groups of tools work with. It does not change.
type kit struct {
	tools []*tool
	flow  *protocol.Compiled
	menu  *menu.Menu
}

func newKit(groups []string) (*kit, error) {
	for _, name := range groups {
		if !slices.Contains(Groups(), name) {
			return nil, fmt.Errorf("making a server: there is no group of tools %q", name)
		}
	}
	k := &kit{tools: table(groups...)}
	var err error
	if k.flow, err = newFlow(k.tools); err != nil {
		return nil, err
	}
	if k.menu, err = newMenu(k.flow, k.tools); err != nil {
		return nil, err
	}
	return k, nil
}

// New makes a server of a node. It is for one connection: see Run.
// New makes a server of a node. It is for one connection: see Run.
func New(api node.API, opts Options) (*Server, error) {
	k, err := newKit(opts.Groups)
	if err != nil {
		return nil, err
	}
	return newServer(api, opts, k, nil), nil
}

// newServer makes a server whose connection over HTTP gets an id by id; nil: any.
func newServer(api node.API, opts Options, k *kit, id func() string) *Server {
	if opts.Menu == "" {
		opts.Menu = menu.Auto
	}
	if opts.Patience <= 0 {
		opts.Patience = DefaultPatience
	}
	if opts.Tell <= 0 {
		opts.Tell = DefaultTell
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{api: api, opts: opts, kit: k, seen: map[wire.SessionID]node.OfferView{}, length: map[wire.SessionID]int{}, askers: map[string]*asking{}}
	s.leaving, s.leave = context.WithCancel(context.Background())
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "concordia", Title: "Concordia node", Version: opts.Version}, &mcp.ServerOptions{
		Instructions: instructions, InitializedHandler: s.initialized, GetSessionID: id,
		Logger:       slog.New(slog.DiscardHandler), // what it says may repeat what was sent
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range s.tools {
		s.mcp.AddTool(t.definition(), t.serve(s))
	}
	if opts.Menu == menu.Dispatch {
		s.addDispatch()
	}
	s.addResources()
	s.addMailResources()
	s.addPrompts()
	s.mcp.AddReceivingMiddleware(s.listing)
	return s
}

// A group is tools that an owner gives an agent, or keeps from it, together.
type group struct {
	name  string
	tools func() []*tool
}

// groups are all tools, in the order in which they are usually needed. The first is
// always there.
var groups = []group{
	{"negotiate", func() []*tool {
		return slices.Concat(negotiateTools(), openTools(), inviteTools(), offerTools(), answerTools(), talkTools(), waitTools(), lookupTools(), authorityTools())
	}},
	{"verify", verifyTools},
	{"reputation", func() []*tool { return slices.Concat(reputationTools(), issueTools()) }},
	{"market", func() []*tool { return slices.Concat(entryTools(), directoryTools(), profileTools()) }},
	{"mail", mailTools},
	{"adoption", adoptionTools},
	{"bridge", bridgeTools},
}

// Groups returns the names of the groups of tools. The first is always there.
func Groups() []string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.name
	}
	return names
}

// table is the tools of groups: of all if none is named.
func table(names ...string) (all []*tool) {
	for i, g := range groups {
		if i == 0 || len(names) == 0 || slices.Contains(names, g.name) {
			all = append(all, g.tools()...)
		}
	}
	return all
}

// Run serves a client until it leaves or ctx is done.
func (s *Server) Run(ctx context.Context, transport mcp.Transport) error {
	stop, err := s.start(ctx)
	if err != nil {
		return err
	}
	err = s.mcp.Run(ctx, &answered{Transport: transport, patience: lastPatience, leave: s.leave})
	stop()
	s.learn(true)
	if s.leaving.Err() != nil {
		return nil // what could not be told to a client that has gone is no fault
	}
	return err
}

// start begins a connection: news is what comes from now on, and the client is told when
// its list changes, until stop is called or ctx is done.
func (s *Server) start(ctx context.Context) (stop func(), err error) {
	self, err := s.api.Self(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the node: %w", err)
	}
	s.notice = self.Notices
	life, end := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { s.watch(life) })
	return func() { end(); work.Wait() }, nil
}

// show notes that the agent is shown an offer by the result of a call.
func (c *call) show(id wire.SessionID, o *node.OfferView) {
	c.whenHeard(func() {
		delete(c.seen, id)
		if o != nil {
			c.seen[id] = node.OfferView{ID: o.ID, Hash: o.Hash}
		}
	})
}

// read notes that the agent is shown a session.
func (c *call) read(v node.View) {
	c.whenHeard(func() {
		delete(c.length, v.Session)
		if !isOver(v.State) {
			c.length[v.Session] = v.Len
		}
	})
}

// hasRead returns how many messages a session had when the agent was shown it last.
func (s *Server) hasRead(id wire.SessionID) (messages int, has bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages, has = s.length[id]
	return messages, has
}

// whenHeard does something, with the mutex, when the result of the call goes to an agent
// that is still there. What nobody waits for any more was not shown to anybody.
func (c *call) whenHeard(do func()) { c.noted = append(c.noted, do) }

func (c *call) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, do := range c.noted {
		do()
	}
}

// shown returns the offer of a session that the agent was shown last.
func (s *Server) shown(id wire.SessionID) (node.OfferView, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offer, ok := s.seen[id]
	return offer, ok
}
