package relay

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/wire"
)

// A Client is one agent's end of a relay (RFC 0001). It trusts the relay with nothing
// but time: what is handed over is verified, has its place in the log, and comes exactly
// once; what the relay did wrong is a [*Misconduct].
//
// Every operation is a method and may be called from many goroutines, whether or not
// [Client.Run] runs. Run keeps a connection and hands over what is in the logs. An agent
// has one Client that runs.
//
// An idle session costs about half a kilobyte, one that was read 4 KB more and 20 bytes
// for each entry; a connection three goroutines. What was received and not handed over
// has at most 4 MiB, however fast the relay sends.
type Client struct {
	opts   ClientOptions
	url    *url.URL
	http   *http.Client
	dialer websocket.Dialer
	work   sync.WaitGroup // goroutines that hand over

	registering sync.Mutex // held while a token is read or asked for

	mu          sync.Mutex // guards what follows
	running     context.Context
	token       string
	relay       string // the relay's id, when it has told it
	link        *link  // nil: not connected
	up          chan struct{}
	logs        map[wire.SessionID]*logReader
	unacked     map[*logReader]struct{} // whose cursor is to be moved
	toAck       chan struct{}           // flag: some are
	ackNow      chan struct{}           // flag: it must not wait
	unackedN    int                     // entries of them
	unackedSize int                     // and bytes
	held        int                     // bytes that were received and not handed over
}

// ClientOptions say who an agent is, whom it believes, and what becomes of its mail.
type ClientOptions struct {
	URL    string       // of the relay: https://HOST, or http:// to this machine
	Agent  wire.AgentID // required
	Signer wire.Signer  // the agent's key; required
	Keys   wire.Keys    // of the other agents; required

	// Handle takes an entry, in the order of each session's log; sessions do not wait for
	// each other. Nil acknowledges it. After an error it is called again with the same
	// entry, more and more seldom. It may use the Client. Required for Run.
	Handle func(context.Context, Delivery) error

	// Cursors say how far the application has come; nil: it begins with the first entry
	// whenever the process starts.
	Cursors Cursors

	// Up is told that a connection was made: what Changed would have told before is
	// to be asked for. It may be nil.
	Up func(context.Context)

	// Invited is told of invitations, each time that a connection is made and when one
	// comes, and Changed of sessions whose parties or state have changed, as the relay
	// says. Accused is told what the relay did wrong, once for each session; nothing more
	// of that session is handed over. All may be nil.
	Invited func(context.Context, Invitation)
	Changed func(context.Context, SessionInfo)
	Accused func(context.Context, *Misconduct)

	// Told is told of what a service of the relay pushes, by the member "push" of the frame,
	// as the relay says. Such frames get lost. It may be nil.
	Told func(ctx context.Context, kind string, frame wire.Value)

	// Party reports whether an agent may speak in a session; nil: whoever has a key in Keys.
	Party func(wire.SessionID, wire.AgentID) bool

	// Relay is the relay's id. If it is empty, the first that the relay says is believed:
	// then it can have the agent sign a registration for another relay, and use that one in
	// the agent's name.
	Relay string

	// Trust is asked before the agent signs a registration at the relay that has this id,
	// which it does not do after an error; nil: it does.
	Trust func(ctx context.Context, relay string) error

	Tokens Tokens      // nil: kept in memory
	TLS    *tls.Config // nil: the system's

	// Dial makes the connections, and no proxy is asked then; nil: the system does. It is
	// for a relay whose URL somebody else wrote, who must not choose what is connected to.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Now    func() time.Time // nil: time.Now
	Random io.Reader        // nil: crypto/rand
	Logger *slog.Logger     // nil: no log
	Timing Timing
}

// A Timing is how long a client waits. Zero fields mean those of [DefaultTiming].
type Timing struct {
	Call     time.Duration // for an answer, and for a frame to be sent
	Ping     time.Duration // between pings
	Silence  time.Duration // until a connection on which nothing comes is dead
	Retry    time.Duration // at most before the first attempt after a failure; it doubles with each
	MaxRetry time.Duration // at most before an attempt
	Ack      time.Duration // at most from handling an entry to acknowledging it with others
}

// DefaultTiming returns the timing of a client on the internet.
func DefaultTiming() Timing {
	return Timing{
		Call: 20 * time.Second, Ping: 20 * time.Second, Silence: 60 * time.Second,
		Retry: 250 * time.Millisecond, MaxRetry: 30 * time.Second, Ack: 250 * time.Millisecond,
	}
}

func (t *Timing) fill() {
	d := DefaultTiming()
	for _, f := range []struct{ have, want *time.Duration }{
		{&t.Call, &d.Call}, {&t.Ping, &d.Ping}, {&t.Silence, &d.Silence},
		{&t.Retry, &d.Retry}, {&t.MaxRetry, &d.MaxRetry}, {&t.Ack, &d.Ack},
	} {
		if *f.have <= 0 {
			*f.have = *f.want
		}
	}
}

// Tokens keep the token by which the relay knows the agent. It is a secret.
type Tokens interface {
	Token(context.Context) (string, error) // "": none
	SetToken(ctx context.Context, token string) error
}

// NewClient returns a client of the relay. It does not connect yet.
func NewClient(opts ClientOptions) (*Client, error) {
	u, err := url.Parse(opts.URL)
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, errors.New("a relay's URL is https://HOST")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return nil, errors.New("a relay's URL is https://HOST; http:// only reaches this machine")
	case wire.CheckID(opts.Agent) != nil:
		return nil, errors.New("a client of a relay needs its agent's id")
	case opts.Signer == nil || opts.Keys == nil:
		return nil, errors.New("a client of a relay needs its agent's signer, and the keys of the others")
	}
	opts.Agent = wire.PlainDIDKey(opts.Agent)
	opts.Timing.fill()
	if opts.Cursors == nil {
		opts.Cursors = forgetful{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = opts.TLS
	transport.MaxResponseHeaderBytes = 64 << 10
	proxy := http.ProxyFromEnvironment
	if opts.Dial != nil {
		transport.DialContext, transport.Proxy, proxy = opts.Dial, nil, nil
	}
	return &Client{
		opts: opts, url: u, relay: opts.Relay,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		dialer: websocket.Dialer{
			Proxy: proxy, NetDialContext: opts.Dial, TLSClientConfig: opts.TLS, HandshakeTimeout: opts.Timing.Call,
			Subprotocols: []string{socketProtocol}, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		},
		up: make(chan struct{}), toAck: make(chan struct{}, 1), ackNow: make(chan struct{}, 1),
		logs: map[wire.SessionID]*logReader{}, unacked: map[*logReader]struct{}{},
	}, nil
}

// socketProtocol is the websocket's (RFC 0001).
const socketProtocol = "concordia.relay.v1"

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run keeps a connection to the relay and hands over what is in the logs, until the
// context is done, whose cause it returns, or the relay refuses the agent for good. When
// it returns, no callback runs.
func (c *Client) Run(ctx context.Context) error {
	if c.opts.Handle == nil {
		return errors.New("running a client of a relay: Handle is required")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.mu.Lock()
	busy := c.running != nil
	if !busy {
		c.running = ctx
	}
	c.mu.Unlock()
	if busy {
		return errors.New("running a client of a relay: it runs already")
	}
	defer func() {
		stop(nil)
		c.mu.Lock()
		c.running = nil // no new work from here on
		c.mu.Unlock()
		c.work.Wait()
		c.http.CloseIdleConnections()
	}()
	for attempt := 0; ; attempt++ {
		l, err := c.connect(ctx)
		var later time.Duration
		if err == nil {
			c.opts.Logger.Info("connected to the relay")
			err = l.serve(ctx)
			if l.useful.Load() {
				attempt = 0
			}
			later = time.Duration(l.later.Load())
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case CodeOf(err) == CodeKeyConflict:
			return fmt.Errorf("running a client of a relay: %w", err)
		}
		c.opts.Logger.Warn("not connected to the relay", "why", err)
		if err := c.pause(ctx, attempt, max(later, putOff(err)), false); err != nil {
			return context.Cause(ctx)
		}
	}
}

// Connected reports whether there is a connection to the relay now.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link != nil
}

// pause waits before attempt n+1: up to a time that doubles with each (full jitter),
// after what the relay asks for. It returns early when there is a new connection, if
// that helps.
func (c *Client) pause(ctx context.Context, n int, atLeast time.Duration, connected bool) error {
	most := c.opts.Timing.MaxRetry
	if n < 20 {
		most = min(most, c.opts.Timing.Retry<<n)
	}
	var chance [8]byte
	if _, err := io.ReadFull(c.opts.Random, chance[:]); err != nil {
		return fmt.Errorf("waiting for the relay: %w", err)
	}
	wait := atLeast + time.Duration(binary.BigEndian.Uint64(chance[:])%uint64(most+1))
	var up chan struct{}
	if connected && atLeast == 0 {
		c.mu.Lock()
		up = c.up
		c.mu.Unlock()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-up:
	case <-timer.C:
	}
	return nil
}

// putOff returns for how long the relay asks to be left alone.
func putOff(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}
