package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/agentcard"
)

func (a *app) nodeServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --dir DIR --key FILE",
		Short: "Run a node",
		Long: `serve runs the node of an agent in the directory DIR, which it makes if need be. It
prints where it is reached when it is: by the owner's commands, on a socket in DIR, and
with --listen by other agents.

With --relay the node deals over that relay. With --listen ADDR it also deals directly:
it carries the sessions that it opens, and takes invitations. Over the network that
takes TLS: --tls-cert and --tls-key, which are read again when the files change, or
--acme HOST, which gets a certificate from Let's Encrypt, whose terms you accept by that
(port 443 has to lead here), or --insecure-http behind a proxy that speaks TLS. --public
says the origin at which others reach it, and --trusted-proxy whose X-Forwarded-For is
believed. Plain HTTP is otherwise for this machine alone, with
--loopback. /healthz and /metrics answer requests from this machine that came through no
proxy; /healthz answers 503 when the disk refuses or a relay is away that the node
needs.

With --mcp ADDR agents of the owner negotiate over the Model Context Protocol at
http://ADDR/mcp, as with concordia mcp on standard input and output. Each request bears a
token (Authorization: Bearer TOKEN): those in DIR/mcp.token, one a line, made if it is
missing. Whoever knows one negotiates as the agent. ADDR is of this machine; others take
--tls-cert and --tls-key, and --mcp-hosts with the names by which it is reached. Requests
of web pages are refused, but for those of --mcp-origins.

Each setting can also be in the environment or a file: see concordia node config.

SIGTERM or SIGINT drains: no more is taken, what is under way comes to its end, and the
databases are closed. A second signal ends at once, which loses nothing that was
acknowledged.

Exit codes: 0 drained, 2 wrong usage, 3 it could not be run, for instance because a node
runs on DIR already.`,
		Example: `  concordia node serve --dir seller --key seller.key --relay https://relay.example
  concordia node serve --dir seller --key seller.key --listen :8443 --public https://lena.example:8443 --tls-cert cert.pem --tls-key key.pem
  concordia node serve --dir seller --key seller.key --listen :443 --acme lena.example
  concordia node serve --dir seller --key seller.key --relay https://relay.example --mcp 127.0.0.1:7420
  concordia node serve --dir seller --config node.yaml`,
		Args: cobra.NoArgs,
	}
	c := a.nodeConfig(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.read(cmd); err != nil {
			return err
		}
		return c.serve(cmd)
	}
	return cmd
}

// errDrain is why a serving node ends when all is well.
var errDrain = errors.New("the node was told to stop")

func (c *nodeConfig) serve(cmd *cobra.Command) (err error) {
	log, err := nodeLog(cmd, c.get("log_level"))
	if err != nil {
		return err
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	opts.Log, opts.Metrics = log, prometheus.NewRegistry()
	if opts.Address, err = c.address(); err != nil {
		return err
	}
	// The signal is heard from now on, so that one that comes early is not lost.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	l, err := c.listen(&opts)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Close()
	}
	agents, err := c.listenMCP()
	if err != nil {
		return err
	}
	if agents != nil {
		defer agents.Close()
	}
	n, err := node.New(opts)
	if errors.Is(err, groupcommit.ErrLocked) {
		return fmt.Errorf("%w; a node runs in %s already: stop that one, or use it", err, opts.Dir)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }() // last, whatever happens
	local, err := node.Serve(opts.Dir, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()

	stop, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	var work sync.WaitGroup
	defer work.Wait()
	var public *http.Server
	if l != nil {
		public = &http.Server{
			Handler: publicHandler(n, opts.Metrics), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
			MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		work.Go(func() {
			if err := public.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				cancel(fmt.Errorf("serving: %w", err))
			}
		})
	}
	var door *mcpDoor
	if agents != nil {
		if door, err = c.openMCP(agents, n, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, door.close()) }()
		work.Go(func() {
			if err := door.serve(); err != nil {
				cancel(fmt.Errorf("serving MCP: %w", err))
			}
		})
	}
	log.Info("serving", "agent", opts.Agent, "local", local.Address(), "public", opts.Public, "relay", opts.Relay, "mcp", door.address())
	if err := c.say(opts, local.Address(), door.address()); err != nil {
		cancel(err)
	}
	select {
	case sig := <-signals:
		signal.Stop(signals) // the next one kills
		log.Info("draining", "signal", sig.String())
		cancel(errDrain)
	case <-stop.Done():
	}
	if door != nil {
		door.drain(context.WithoutCancel(cmd.Context()))
	}
	if public != nil {
		// Those who are connected for good are told by the node when it closes.
		drained, enough := context.WithTimeout(context.WithoutCancel(cmd.Context()), time.Second)
		defer enough()
		if public.Shutdown(drained) != nil {
			_ = public.Close()
		}
	}
	if cause := context.Cause(stop); !errors.Is(cause, errDrain) {
		return cause
	}
	return nil
}

// address says where requests come from, as the proxies in front have it; nil if there
// are none.
func (c *nodeConfig) address() (func(*http.Request) netip.Addr, error) {
	text := c.get("trusted_proxy")
	switch {
	case text == "":
		return nil, nil
	case !c.yes("insecure_http"):
		return nil, cli.Usagef("--trusted-proxy goes with --insecure-http: a proxy in front speaks TLS")
	}
	proxies, err := readProxies(strings.Split(text, ","))
	if err != nil {
		return nil, err
	}
	return proxies.address, nil
}

// listen listens where other agents reach the node, and says in opts where that is.
func (c *nodeConfig) listen(opts *node.Options) (net.Listener, error) {
	at, public := c.get("listen"), c.get("public")
	certs := c.certificates()
	secure, err := certs.secured()
	switch {
	case err != nil:
		return nil, err
	case at == "" && (public != "" || c.get("mcp") == "" && secure != nil):
		return nil, cli.Usagef("--listen is missing: the address at which others reach the node, as :8443")
	case at == "":
		return nil, nil
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	here, _ := netip.ParseAddrPort(l.Addr().String())
	switch {
	case secure == nil && !certs.insecure && !(here.Addr().Unmap().IsLoopback() && c.yes("loopback")):
		return nil, errors.Join(cli.Usagef("--listen %s needs --tls-cert and --tls-key, --acme, or --insecure-http behind a proxy that speaks TLS, or an address of this machine and --loopback", at), l.Close())
	case public == "" && secure != nil && secure.host != "":
		public = secure.url(l.Addr())
	case public == "" && (here.Addr().IsUnspecified() || secure != nil || certs.insecure):
		return nil, errors.Join(cli.Usagef("--public is missing: the origin at which others reach the node, as https://lena.example"), l.Close())
	case public == "":
		public = "http://" + l.Addr().String()
	}
	if secure != nil {
		l = secure.listen(l)
	}
	opts.Public = public
	return l, nil
}

// certificates says where the certificate of the node comes from.
func (c *nodeConfig) certificates() *certificates {
	return &certificates{c.get("tls_cert"), c.get("tls_key"), c.get("acme"), c.get("dir"), c.yes("insecure_http")}
}

// publicHandler answers other agents, those of A2A among them, and the machine itself about health and metrics.
func publicHandler(n *node.Node, metrics *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", n.Handler())
	card := agentcard.Handler(n)
	mux.Handle(agentcard.PathCard, card)
	mux.Handle(agentcard.PathRPC, card)
	operator := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !fromHere(r) {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	mux.Handle("GET /metrics", operator(promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 2})))
	mux.Handle("GET /healthz", operator(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, enough := context.WithTimeout(r.Context(), 5*time.Second)
		defer enough()
		answer, code := map[string]any{"status": "ok"}, http.StatusOK
		if why := n.Health(ctx); len(why) > 0 {
			answer["status"], answer["why"], code = "broken", why, http.StatusServiceUnavailable
		}
		if self, err := n.Self(ctx); err == nil {
			answer["links"], answer["notices"] = self.Links, self.Notices
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(answer) // who asked may be gone
	})))
	return mux
}

// fromHere reports whether a request comes from this machine, through no proxy, and by a
// name that a web page cannot have made this machine's.
func fromHere(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	_, name := netip.ParseAddr(strings.Trim(host, "[]"))
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && at.Addr().Unmap().IsLoopback() && (name == nil || host == "localhost")
}

// say prints where the node is reached.
func (c *nodeConfig) say(opts node.Options, local, mcp string) error {
	c.app.out.printf("node of %s\nlocal %s\n", opts.Agent, local)
	if opts.Public != "" {
		c.app.out.printf("listening on %s\n", opts.Public)
	}
	if mcp != "" {
		c.app.out.printf("mcp %s with a token of %s\n", mcp, filepath.Join(opts.Dir, tokensName))
	}
	c.app.out.printf("ready\n")
	if !c.app.out.json {
		return nil
	}
	return json.NewEncoder(c.app.out.w).Encode(map[string]string{ // one line
		"agent_id": string(opts.Agent), "local": local, "public": opts.Public, "relay": opts.Relay, "mcp": mcp,
	})
}
