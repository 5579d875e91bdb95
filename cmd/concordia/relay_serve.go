package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/relay/market"
)

// mailName is the file in which the directory of a relay keeps its mail.
const mailName = "mail.db"

// A serving is what the flags of relay serve say.
type serving struct {
	app           *app
	listen, dir   string
	cert, key     string
	acme          string
	limits        string
	level         string
	checkSessions bool
	market        bool
	marketLimits  string
	insecure      bool
	proxies       []string
	origins       []string
	compactEvery  time.Duration
	drain         time.Duration
}

func (a *app) relayServeCommand() *cobra.Command {
	s := &serving{app: a}
	cmd := &cobra.Command{
		Use:   "serve --listen ADDR --dir DIR",
		Short: "Run a relay",
		Long: `serve runs a relay on ADDR and keeps its mail in the directory DIR, which it makes if
need be. It prints one line, with the URL it is reached at, when it listens, and logs
JSON lines to standard error: operations and their outcome, nothing that agents say,
and no token or key.

Over the network it needs TLS: --tls-cert and --tls-key, which are read again when the
files change, or --acme HOST, which gets a certificate from Let's Encrypt, whose terms
of service you agree to with it; HOST has to be this machine, and ADDR port 443 of it.
Plain HTTP is for this machine alone, unless --insecure-http says that a proxy in front
speaks TLS; --trusted-proxy says whose X-Forwarded-For is believed.

--limits FILE is a JSON object with limits by their names in RFC 0001, such as
{"undelivered_per_mailbox": 5000}; what is left out has its default. concordia relay info
shows those in force. --check-sessions refuses messages that break the rules of their
session, of all parties alike. A browser may use the relay from the origins of --origin.

--market keeps a market beside the mail, a registry of wants and haves, a directory and
profiles (rfcs/0004-market.md); --market-limits FILE is as --limits.

SIGTERM or SIGINT drains: no new request is taken, those under way are answered, clients
are told to come back, and the mail is closed. A second signal ends at once, which
loses nothing that was acknowledged.

/healthz, /readyz and /metrics answer requests from this machine that came through no
proxy.

Exit codes: 0 drained, 2 wrong usage, 3 it could not be run.`,
		Example: `  concordia relay serve --listen 127.0.0.1:8080 --dir mail
  concordia relay serve --listen 127.0.0.1:8080 --dir mail --market
  concordia relay serve --listen :443 --dir /var/lib/relay --acme relay.example
  concordia relay serve --listen :8443 --dir mail --tls-cert cert.pem --tls-key key.pem --limits limits.json
  concordia relay serve --listen 10.0.0.5:8080 --dir mail --insecure-http --trusted-proxy 10.0.0.1/32`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "", "`address` to listen on, as 127.0.0.1:8080; port 0 takes one that is free")
	f.StringVar(&s.dir, "dir", "", "`directory` of the mail")
	f.StringVar(&s.cert, "tls-cert", "", "PEM `file` with the certificate, and those between it and its root")
	f.StringVar(&s.key, "tls-key", "", "PEM `file` with the certificate's key")
	f.StringVar(&s.acme, "acme", "", "get a certificate for this `host` from Let's Encrypt, and keep it in DIR/acme")
	f.StringVar(&s.limits, "limits", "", "JSON `file` with limits that are not the default")
	f.BoolVar(&s.checkSessions, "check-sessions", false, "refuse messages that break the rules of their session")
	f.BoolVar(&s.market, "market", false, "let agents find each other: wants, haves, a directory, profiles")
	f.StringVar(&s.marketLimits, "market-limits", "", "JSON `file` with limits of the market that are not the default")
	f.StringArrayVar(&s.origins, "origin", nil, "`origin` whose pages may use the relay in a browser, as https://app.example (repeatable)")
	f.DurationVar(&s.compactEvery, "compact-every", 24*time.Hour, "give back the space of what was removed this often, and when much was; 0 never does")
	f.StringVar(&s.level, "log-level", "info", "`level`: debug, info, warn or error")
	f.BoolVar(&s.insecure, "insecure-http", false, "plain HTTP on an address that others reach: a proxy in front speaks TLS")
	f.StringArrayVar(&s.proxies, "trusted-proxy", nil, "`CIDR` of a proxy whose X-Forwarded-For is believed (repeatable)")
	f.DurationVar(&s.drain, "drain", 20*time.Second, "wait this long for what is under way when told to stop")
	return cmd
}

func (s *serving) run(cmd *cobra.Command) error {
	opts, err := s.options(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	limits, err := s.readLimits()
	if err != nil {
		return err
	}
	ofMarket, err := s.readMarketLimits()
	if err != nil {
		return err
	}
	secure, err := (&certificates{s.cert, s.key, s.acme, s.dir, s.insecure}).secured()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	mail, err := openMail(s.dir)
	if err != nil {
		return err
	}
	boxes := relay.Options{Limits: limits, Now: s.app.now, Random: s.app.rand}
	if s.checkSessions {
		boxes.Admit = newReplays().admit
	}
	if s.market {
		m, err := market.Open(cmd.Context(), mail, market.Options{Limits: ofMarket, Now: s.app.now, FreeSpace: cmp.Or(limits.FreeSpace, relay.DefaultLimits().FreeSpace)})
		if err != nil {
			return errors.Join(err, mail.Close())
		}
		opts.Services = append(opts.Services, m.Service())
	}
	// The mail is closed last, whatever happens.
	return errors.Join(s.serve(cmd, mail, boxes, opts, secure), mail.Close())
}

// openMail opens the mail in a directory for writing.
func openMail(dir string) (*boltmail.Mail, error) {
	path := filepath.Join(dir, mailName)
	mail, err := boltmail.Open(path)
	if errors.Is(err, groupcommit.ErrLocked) {
		return nil, fmt.Errorf("%w; a relay runs on %s already: stop that one, or give another --dir", err, dir)
	}
	return mail, err
}

// options reads the flags about the server.
func (s *serving) options(stderr io.Writer) (*relay.ServerOptions, error) {
	var level slog.Level
	switch {
	case s.listen == "":
		return nil, cli.Usagef("--listen is missing: the address to listen on, as 127.0.0.1:8080")
	case s.dir == "":
		return nil, cli.Usagef("--dir is missing: the directory of the mail, which is made if need be")
	case level.UnmarshalText([]byte(s.level)) != nil:
		return nil, cli.Usagef("--log-level: want debug, info, warn or error")
	case s.compactEvery < 0 || s.drain < 0:
		return nil, cli.Usagef("--compact-every and --drain: want a time that is not negative")
	case len(s.proxies) > 0 && !s.insecure:
		return nil, cli.Usagef("--trusted-proxy goes with --insecure-http: a proxy in front speaks TLS")
	}
	opts := &relay.ServerOptions{
		Log:     slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: level})),
		Origins: s.origins, CompactEvery: s.compactEvery,
	}
	proxies, err := readProxies(s.proxies)
	if err != nil {
		return nil, err
	}
	if len(proxies) > 0 {
		opts.Address = proxies.address
	}
	return opts, nil
}

func (s *serving) readLimits() (relay.Limits, error) {
	if s.limits == "" {
		return relay.Limits{}, nil
	}
	text, err := readFile(s.limits)
	if err != nil {
		return relay.Limits{}, err
	}
	l, err := relay.ParseLimits(text)
	if err != nil {
		return l, cli.Usagef("--limits %s: %v", s.limits, err)
	}
	return l, nil
}

func (s *serving) readMarketLimits() (market.Limits, error) {
	switch {
	case s.marketLimits == "":
		return market.Limits{}, nil
	case !s.market:
		return market.Limits{}, cli.Usagef("--market-limits goes with --market")
	}
	text, err := readFile(s.marketLimits)
	if err != nil {
		return market.Limits{}, err
	}
	l, err := market.ParseLimits(text)
	if err != nil {
		return l, cli.Usagef("--market-limits %s: %v", s.marketLimits, err)
	}
	return l, nil
}

// errStopped is why a serving relay ends when all is well.
var errStopped = errors.New("the relay was told to stop")

func (s *serving) serve(cmd *cobra.Command, mail *boltmail.Mail, opts relay.Options, serverOpts *relay.ServerOptions, secure *secured) error {
	boxes, err := relay.NewMailboxes(cmd.Context(), mail, opts)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	defer l.Close()
	here, _ := netip.ParseAddrPort(l.Addr().String())
	if secure == nil && !s.insecure && !here.Addr().Unmap().IsLoopback() {
		return cli.Usagef("--listen %s: others reach that address, so it needs --tls-cert and --tls-key, --acme, or behind a proxy that speaks TLS --insecure-http", s.listen)
	}
	url := "http://" + l.Addr().String()
	if secure != nil {
		url = secure.url(l.Addr())
		l = secure.listen(l)
	}
	stop, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	server := relay.NewServer(boxes, serverOpts)
	carrier := server.HTTPServer()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel(nil)
	work.Go(func() { _ = server.Run(stop) }) // it ends when stop does, and says so
	work.Go(func() {
		if err := carrier.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serving: %w", err))
		}
	})
	serverOpts.Log.Info("listening", "url", url, "relay", boxes.ID(), "check_sessions", s.checkSessions)
	if err := s.say(url, boxes.ID()); err != nil {
		cancel(err)
	}
	select {
	case sig := <-signals:
		signal.Stop(signals) // the next one kills
		serverOpts.Log.Info("draining", "signal", sig.String(), "connections", server.Connections())
		cancel(errStopped)
	case <-stop.Done():
	}
	drained, enough := context.WithTimeout(context.WithoutCancel(cmd.Context()), s.drain)
	defer enough()
	err = errors.Join(server.Shutdown(drained), carrier.Shutdown(drained))
	if err != nil {
		serverOpts.Log.Warn("not everything was drained", "error", err)
		_ = carrier.Close()
	}
	serverOpts.Log.Info("stopped")
	if cause := context.Cause(stop); cause != errStopped {
		return cause
	}
	return nil
}

// say prints where the relay is reached.
func (s *serving) say(url, id string) error {
	s.app.out.printf("listening on %s\n", url)
	if !s.app.out.json {
		return nil
	}
	return json.NewEncoder(s.app.out.w).Encode(map[string]string{"url": url, "relay": id}) // one line
}
