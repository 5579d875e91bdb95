package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// A matching is what matches is asked for.
type matching struct {
	*relayAgent
	own    match.ID
	after  uint64
	most   int
	follow bool
	news   chan struct{} // flag: there may be more
}

func (a *app) marketMatchesCommand() *cobra.Command {
	m := &matching{news: make(chan struct{}, 1)}
	cmd, r := a.relayVerb(&cobra.Command{
		Use: "matches ID", Short: "Show what matches an own want or have", Args: cli.Takes,
		Long: `matches shows what matches an own want or have, in the order in which it came, up to
--limit. --after shows only what came after a number; the last line says from which to
go on next time. Each is compared anew, so that the score is your own.

--follow stays and shows what comes, until it is interrupted: with --json, each as a value
of its own.

Exit codes: 0 shown, 1 refused, or the market misbehaves, 2 wrong usage, 3 it could not be
tried.`,
		Example: `  concordia market matches want_4a1b --relay https://relay.example --key buyer.key
  concordia market matches want_4a1b --after 17 --relay https://relay.example --key buyer.key --json
  concordia market matches want_4a1b --follow --relay https://relay.example --key buyer.key`,
	}, nil)
	m.relayAgent = r
	f := cmd.Flags()
	f.Uint64Var(&m.after, "after", 0, "only what has a greater `number`")
	f.IntVar(&m.most, "limit", 100, "show at most so `many`, and without --follow no more")
	f.BoolVar(&m.follow, "follow", false, "stay, and show what comes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if m.most < 1 {
			return cli.Usagef("--limit: want a number from 1")
		}
		m.own = match.ID(args[0])
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return relayed(marketed(m.run(ctx)))
	}
	return cmd
}

func (m *matching) run(ctx context.Context) error {
	ring := func() {
		select {
		case m.news <- struct{}{}:
		default:
		}
	}
	err := m.open(relay.ClientOptions{
		Handle: func(ctx context.Context, _ relay.Delivery) error { <-ctx.Done(); return ctx.Err() }, // mail is for others to take
		Up:     func(context.Context) { ring() },
		Told:   func(context.Context, string, wire.Value) { ring() },
	})
	if err != nil {
		return err
	}
	c := m.market()
	patient, cancel := m.patience(ctx)
	defer cancel()
	own, err := c.Entry(patient, m.own)
	if err != nil {
		return err
	}
	if wire.PlainDIDKey(own.Agent) != wire.PlainDIDKey(m.id.Agent) {
		return cli.Exit(cli.Rejected, fmt.Errorf("it is of %s: only its owner sees what matches it", cli.Printable(string(own.Agent))))
	}
	if m.follow {
		return m.stay(ctx, c, own.Entry)
	}
	all, err := m.next(patient, c, own.Entry)
	if err != nil {
		return err
	}
	m.app.printMatches(all)
	m.app.out.printf("next time: --after %d\n", m.after)
	return m.app.out.value(map[string]any{"matches": matchValues(all), "after": m.after})
}

// next returns what there is after the last look, up to the limit.
func (m *matching) next(ctx context.Context, c *market.Client, own *match.Entry) (all []market.Matched, err error) {
	for more := true; more && len(all) < m.most; {
		var list []market.Matched
		if list, m.after, more, err = c.Matches(ctx, own, m.after); err != nil {
			return nil, err
		}
		if room := m.most - len(all); len(list) > room {
			list, m.after = list[:room], list[room-1].Number
		}
		all = append(all, list...)
	}
	return all, nil
}

// stay looks again whenever the relay says that there may be more.
func (m *matching) stay(ctx context.Context, c *market.Client, own *match.Entry) error {
	running, stop := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		err := m.Run(running)
		stop(err)
		ended <- err
	}()
	defer func() { stop(nil); <-ended }()
	for {
		select {
		case <-running.Done():
			if ctx.Err() != nil {
				return nil // interrupted
			}
			return context.Cause(running)
		case <-m.news:
		}
		for {
			list, err := m.next(running, c, own)
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			m.app.printMatches(list)
			for _, v := range matchValues(list) {
				if err := m.app.out.value(v); err != nil {
					return err
				}
			}
			if len(list) < m.most {
				break
			}
		}
	}
}
