package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func (a *app) nodeCommand() *cobra.Command {
	cmd := group("node", "Run an agent's node: its key, its sessions, its contacts", `  concordia node serve --dir seller --key seller.key --relay https://relay.example
  concordia node config --dir seller`,
		a.nodeServeCommand(), a.nodeConfigCommand())
	cmd.Long = `node runs one party of negotiations. A node keeps what it said and heard in a directory,
and deals with others over relays, or directly.

The verbs under session, contact and invite, and approve, use the node of a directory.
While none runs there, each runs one itself for as long as it takes. Their settings are
those of concordia node config: with a file DIR/node.yaml that has key and relay, --dir
is enough.`
	return cmd
}

// options makes the options of a node, with its key.
func (c *nodeConfig) options() (node.Options, error) {
	none := node.Options{}
	if c.get("key") == "" {
		return none, cli.Usagef("--key is missing: the key file of the agent (concordia id new makes one)")
	}
	var files []string
	if list := c.get("keys"); list != "" {
		files = filepath.SplitList(list)
	}
	keys, err := readKeys(files)
	if err != nil {
		return none, err
	}
	var passphrase func() ([]byte, error)
	if file := c.get("passphrase_file"); file != "" {
		passphrase = func() ([]byte, error) { return readPassphrase(file) }
	}
	id, err := keyfile.Load(c.get("key"), passphrase)
	if err != nil {
		return none, err
	}
	return node.Options{
		Dir: c.get("dir"), Key: id.Key, Agent: id.Agent, Keys: keys,
		Relay: c.get("relay"), RelayID: c.get("relay_id"), Loopback: c.yes("loopback"),
		Policy: c.policy, Now: c.app.now, Random: c.app.rand,
	}, nil
}

// A nodeVerb is a command that asks a node.
type nodeVerb struct {
	*app
	node.API
	cmd     *cobra.Command
	timeout time.Duration
	alone   bool // this command runs the node
}

// nodeVerb makes a command that asks the node of --dir. Nobody waits for longer than
// --timeout, 0 for ever.
func (a *app) nodeVerb(cmd *cobra.Command, timeout time.Duration, do func(context.Context, *nodeVerb, []string) error) *cobra.Command {
	v := &nodeVerb{app: a, cmd: cmd}
	c := a.nodeConfig(cmd, false)
	cmd.Flags().DurationVar(&v.timeout, "timeout", timeout, "give up after so long; 0 never does")
	if cmd.Args == nil {
		cmd.Args = cli.Takes
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.read(cmd); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if v.timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, v.timeout)
			defer cancel()
		}
		n, err := c.connect(ctx, false, nil)
		if err != nil {
			return v.refused(err)
		}
		v.API = n
		_, v.alone = n.Holds()
		err = v.refused(do(ctx, v, args))
		return errors.Join(err, n.Close())
	}
	return cmd
}

// connect returns the node of the directory. If none runs there, it is run here, in a new
// directory if it is to be made. log may be nil.
func (c *nodeConfig) connect(ctx context.Context, makes bool, log *slog.Logger) (*node.Shared, error) {
	dir := c.get("dir")
	return node.Connect(ctx, dir, func() (node.Held, error) {
		if c.get("key") == "" {
			return nil, cli.Usagef("no node runs in %s: start one with concordia node serve, or give --key, and --relay if it has one", dir)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !makes {
			return nil, fmt.Errorf("there is no directory %s: concordia node serve makes it", dir)
		}
		opts, err := c.options()
		if err != nil {
			return nil, err
		}
		opts.Log = log
		n, err := node.New(opts)
		if err != nil {
			return nil, err
		}
		return n, nil
	}, log)
}

// settle waits, if this command runs the node, until it may have heard what came in the
// meantime.
func (v *nodeVerb) settle(ctx context.Context) error {
	if !v.alone {
		return nil
	}
	enough := time.Now().Add(3 * time.Second)
	for {
		self, err := v.Self(ctx)
		if err != nil {
			return err
		}
		if len(self.Links) == 0 {
			return nil // nobody to hear from
		}
		linked := true
		for _, l := range self.Links {
			linked = linked && l.Connected
		}
		quiet := 100 * time.Millisecond
		if linked {
			quiet = 500 * time.Millisecond
		}
		short, stop := context.WithTimeout(ctx, quiet)
		list, err := v.Notices(short, self.Notices, 1)
		stop()
		switch {
		case err != nil:
			return err
		case linked && len(list) == 0, time.Now().After(enough):
			return ctx.Err()
		}
	}
}

// refused says what a node's refusal means, and gives it its exit code.
func (v *nodeVerb) refused(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("gave up after %s: the node may have done what it was asked, and goes on by itself while it runs", v.timeout)
	}
	e, ok := errors.AsType[*node.Error](err)
	if !ok {
		return err
	}
	if err := v.out.value(map[string]any{"error": e}); err != nil {
		return err
	}
	text := e.Message
	if e.State != "" {
		text += fmt.Sprintf("; the session is %s", e.State)
	}
	if len(e.Moves) > 0 {
		text += "; you may " + shortTypes(e.Moves)
	}
	for _, m := range e.Missed {
		if u, err := wire.ReadMessage(m); err == nil {
			text += fmt.Sprintf("\nmissed: %s by %s, %s", u.Type.Short(), u.From, describe(u.Type, u.Body))
		}
	}
	for _, n := range e.Needs {
		text += "\n" + needText(n)
	}
	code := cli.Rejected
	switch e.Code {
	case node.CodeBadRequest:
		code = cli.Usage
	case node.CodeNotFound, node.CodeUnreachable, node.CodeClosed, node.CodeInternal:
		code = cli.Operational
	}
	return cli.Exit(code, errors.New(text))
}

// shortTypes lists moves as the verbs of concordia session.
func shortTypes(list []wire.MessageType) string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = verbOf(t)
	}
	return strings.Join(names, ", ")
}

// needText says what the policy asks for.
func needText(n node.Need) string {
	text := fmt.Sprintf("needed for %s: ", n.Threshold)
	switch n.Needs {
	case node.NeedApproval:
		text += fmt.Sprintf("an approval of offer %s", n.OfferHash)
		if n.Amount != "" {
			text += " (" + n.Amount + ")"
		}
		text += fmt.Sprintf(": concordia approve %s --approver-key FILE", n.Session)
	default:
		text += "a mandate that allows it: concordia approve --artifact FILE"
	}
	if n.Why != "" {
		text += "; " + n.Why
	}
	return text
}

// nodeLog logs JSON lines to standard error.
func nodeLog(cmd *cobra.Command, level string) (*slog.Logger, error) {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		return nil, cli.Usagef("log_level: want debug, info, warn or error")
	}
	return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: l})), nil
}
