package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
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
	askers map[string]context.Context        // HTTP requests that came with a call, by what their requestHeader has
	notice uint64                            // the last notice that the agent was shown
}

// A kit is what every server works with.
type kit struct {
	tools []*tool
	flow  *protocol.Compiled
	menu  *menu.Menu
}

// newKit makes it once, for it does not change and takes a while.
var newKit = sync.OnceValues(func() (*kit, error) {
	tools := table()
	flow, err := newFlow(tools)
	if err != nil {
		return nil, err
	}
	m, err := newMenu(flow, tools)
	if err != nil {
		return nil, err
	}
	return &kit{tools, flow, m}, nil
})

// New makes a server of a node. It is for one connection: see Run.
func New(api node.API, opts Options) (*Server, error) { return newServer(api, opts, nil) }

// newServer makes a server whose connection over HTTP gets an id by id; nil: any.
func newServer(api node.API, opts Options, id func() string) (*Server, error) {
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
	k, err := newKit()
	if err != nil {
		return nil, err
	}
	s := &Server{api: api, opts: opts, kit: k, seen: map[wire.SessionID]node.OfferView{}, askers: map[string]context.Context{}}
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
	s.addPrompts()
	s.mcp.AddReceivingMiddleware(s.listing)
	return s, nil
}

// table is all tools, in the order in which they are usually needed.
func table() (all []*tool) {
	for _, g := range []struct {
		name  string
		tools [][]*tool
	}{
		{"negotiate", [][]*tool{
			negotiateTools(), openTools(), inviteTools(), offerTools(), answerTools(), talkTools(), waitTools(), lookupTools(), authorityTools(),
		}},
		{"verify", [][]*tool{verifyTools()}},
		{"reputation", [][]*tool{reputationTools(), issueTools()}},
		{"market", [][]*tool{entryTools(), directoryTools(), profileTools()}},
		{"mail", [][]*tool{mailTools()}},
		{"adoption", [][]*tool{adoptionTools()}},
		{"bridge", [][]*tool{bridgeTools()}},
	} {
		for _, more := range g.tools {
			for _, t := range more {
				t.group = g.name
				all = append(all, t)
			}
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
