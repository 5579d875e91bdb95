package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) marketCommand() *cobra.Command {
	cmd := group("market", "Find who wants what you have, or has what you want, at a relay", `  concordia market want --category electronics.cameras --term price=..2500:USD --relay https://relay.example --key buyer.key
  concordia market have --category electronics.cameras --term price=1800..:USD --relay https://relay.example --key seller.key
  concordia market matches want_4a1b --relay https://relay.example --key buyer.key
  concordia market search have --category electronics --relay https://relay.example --key buyer.key`,
		a.marketPostCommand(match.Want), a.marketPostCommand(match.Have), a.marketWithdrawCommand(), a.marketShowCommand(),
		a.marketSearchCommand(), a.marketMatchesCommand(),
		a.marketListCommand(), a.marketUnlistCommand(), a.marketAgentsCommand(), a.marketAgentCommand(), a.marketProfileCommand(),
	)
	cmd.Long = `market uses the market of a relay that has one (rfcs/0004-market.md): a registry of wants
and haves, a directory of agents, and their signed profiles.

The verbs take --relay URL and --key FILE, as those of concordia relay do. What others
have signed is verified, and what matches is compared anew: the market is believed
nothing of it. Who posted what is not signed, or signed with a key that is not known
(--keys), is the market's word, and marked so.

Exit codes: 0 done, 1 the market refused it, or misbehaved, 2 wrong usage, 3 it could
not be tried, 4 a profile was shown whose key is not known.`
	return cmd
}

// marketVerb makes a verb of an agent at a market.
func (a *app) marketVerb(cmd *cobra.Command, do func(context.Context, *market.Client, *relayAgent, []string) error) *cobra.Command {
	cmd, _ = a.relayVerb(cmd, func(ctx context.Context, r *relayAgent, args []string) error {
		return marketed(do(ctx, r.market(), r, args))
	})
	return cmd
}

// market returns the agent's end of the market.
func (r *relayAgent) market() *market.Client {
	return &market.Client{Relay: r.Client, Keys: r.Client, Now: r.app.now}
}

// marketed gives the misconduct of a market its exit code.
func marketed(err error) error {
	if errors.Is(err, market.ErrMisconduct) {
		return cli.Exit(cli.Rejected, err)
	}
	return err
}

// A marketEntry is a want or a have for programs.
type marketEntry struct {
	Number  uint64     `json:"number"`
	Posted  string     `json:"posted_at,omitempty"`
	Expires string     `json:"expires_at,omitempty"`
	Signed  bool       `json:"signed"`
	Entry   wire.Value `json:"entry"`
}

func entryValue(s market.Shown) marketEntry {
	v := marketEntry{Number: s.Number, Signed: s.Signed, Entry: s.Value()}
	if !s.Posted.Posted.IsZero() {
		v.Posted, v.Expires = wire.FormatTime(s.Posted.Posted), wire.FormatTime(s.Expires)
	}
	return v
}

// printEntry prints a want or a have in two lines.
func (a *app) printEntry(s market.Shown) {
	word := "signed"
	if !s.Signed {
		word = a.out.paint(yellow, "not verified")
	}
	until := ""
	if !s.Expires.IsZero() {
		until = "  until " + wire.FormatTime(s.Expires)
	}
	a.out.printf("%s  %s%s  %s\n", a.out.paint(bold, cli.Printable(string(s.ID))), cli.Printable(s.Category), until, word)
	terms, _ := s.Value().Get("terms")
	a.out.printf("  of %s  %s\n", cli.Printable(string(s.Agent)), cli.Printable(cut(terms.Canonical(), 200)))
}

// A marketMatch is a match for programs.
type marketMatch struct {
	Number uint64     `json:"number"`
	Signed bool       `json:"signed"`
	Match  wire.Value `json:"match"`
	Entry  wire.Value `json:"entry"`
}

func matchValues(list []market.Matched) []marketMatch {
	values := make([]marketMatch, len(list))
	for i, m := range list {
		values[i] = marketMatch{m.Number, m.Signed, m.Match.Value(), m.Value()}
	}
	return values
}

func (a *app) printMatches(list []market.Matched) {
	for _, m := range list {
		a.out.printf("%.4f  number %d  ", m.Match.Score, m.Number)
		a.printEntry(m.Shown)
		a.out.printf("  common  %s\n", cli.Printable(cut(m.Match.Overlap.Canonical(), 500)))
	}
}

// marketPostCommand is want or have.
func (a *app) marketPostCommand(kind match.Kind) *cobra.Command {
	verb, says, example := "want", "Say what you look for, and see who has it", "price=..2500:USD"
	if kind == match.Have {
		verb, says, example = "have", "Say what you offer, and see who wants it", "price=1800..:USD"
	}
	d := &entryDraft{kind: kind}
	cmd := a.marketVerb(&cobra.Command{
		Use: verb, Short: says, Args: cobra.NoArgs,
		Long: verb + ` posts a signed ` + verb + `, and shows what matches it best (SPEC §7). Later, concordia
market matches ID asks for what is new; other agents find it with concordia market
search. It stands for --for, or until it is withdrawn.

--in is a JSON file with members of the ` + verb + `, - for standard input; flags come on top.
--term says what a term takes:

  price=1800..2500:USD   from 1800 to 2500 US dollars; either end may be left out
  color=red|black        one of these
  condition=good..       a grade: poor, fair, good, like_new, new
  model~Canon EOS R5     a text that others need only resemble
  weight=..2             what it says of other dimensions, in any unit of --in

Exit codes: 0 posted, 1 refused, or the market misbehaves, 2 wrong usage, 3 it could not
be tried: it may have been posted, and posting the same --id again is no harm.`,
		Example: "  concordia market " + verb + " --category electronics.cameras --term " + example + " --relay https://relay.example --key agent.key\n" +
			"  concordia market " + verb + " --in " + verb + ".json --location 37.77,-122.42 --within 50 --relay https://relay.example --key agent.key",
	}, func(ctx context.Context, c *market.Client, r *relayAgent, _ []string) error {
		own, err := d.entry(r)
		if err != nil {
			return err
		}
		p, err := c.Post(ctx, own)
		if err != nil {
			return err
		}
		a.out.printf("%s  number %d, until %s, %d matches\n", a.out.paint(bold, string(own.ID)), p.Number, wire.FormatTime(p.Expires), len(p.Matches))
		a.printMatches(p.Matches)
		if p.More {
			a.out.printf("there may be more: concordia market matches %s\n", own.ID)
		}
		return a.out.value(map[string]any{
			"id": own.ID, "number": p.Number, "posted_at": wire.FormatTime(p.Posted), "expires_at": wire.FormatTime(p.Expires),
			"entry": own.Value(), "matches": matchValues(p.Matches), "more": p.More,
		})
	})
	d.register(cmd)
	return cmd
}

func (a *app) marketWithdrawCommand() *cobra.Command {
	return a.marketVerb(&cobra.Command{
		Use: "withdraw ID", Short: "Take a want or a have back", Args: cli.Takes,
		Long: `withdraw takes an own want or have out of the market. Who has seen it has it still: it was
signed until its time is over.

Exit codes: 0 withdrawn, 1 refused, for instance because there is none, 2 wrong usage, 3
it could not be tried.`,
		Example: "  concordia market withdraw want_4a1b --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		if err := c.Withdraw(ctx, match.ID(args[0])); err != nil {
			return err
		}
		a.out.printf("withdrawn  %s\n", cli.Printable(args[0]))
		return a.out.value(map[string]any{"id": args[0], "withdrawn": true})
	})
}

func (a *app) marketShowCommand() *cobra.Command {
	return a.marketVerb(&cobra.Command{
		Use: "show ID", Short: "Show a want or a have", Args: cli.Takes,
		Long: `show shows a want or a have that stands, with all its terms, and whether its agent's
signature verified.

Exit codes: 0 shown, 1 there is none, or the market misbehaves, 2 wrong usage, 3 it could
not be tried.`,
		Example: "  concordia market show have_4a1b --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		s, err := c.Entry(ctx, match.ID(args[0]))
		if err != nil {
			return err
		}
		a.printEntry(s)
		return a.out.value(entryValue(s))
	})
}

func (a *app) marketSearchCommand() *cobra.Command {
	var s market.Search
	var agent string
	most := 100
	cmd := a.marketVerb(&cobra.Command{
		Use: "search want|have", Short: "Search wants or haves by category", Args: cobra.MatchAll(cli.Takes, cobra.OnlyValidArgs), ValidArgs: []string{"want", "have"},
		Long: `search lists wants, or haves, of --category and those below it, the newest first, up to
--limit of them. What its agent did not sign is left out, and said so.

Exit codes: 0 listed, 1 refused, or the market misbehaves, 2 wrong usage, 3 it could not
be tried.`,
		Example: `  concordia market search have --category electronics.cameras --relay https://relay.example --key buyer.key
  concordia market search want --agent did:key:z6Mk... --relay https://relay.example --key seller.key --json`,
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		s.Kind, s.Agent = match.Kind("concordia."+args[0]), wire.AgentID(agent)
		if most < 1 {
			return cli.Usagef("--limit: want a number from 1")
		}
		values, refused := []marketEntry{}, 0
		for {
			list, before, bad, err := c.Search(ctx, s)
			if err != nil {
				return err
			}
			refused += bad
			for _, shown := range list[:min(len(list), most-len(values))] {
				a.printEntry(shown)
				values = append(values, entryValue(shown))
			}
			if s.Before = before; before == 0 || len(values) == most {
				break
			}
		}
		if err := a.out.value(values); err != nil || refused == 0 {
			return err
		}
		return cli.Exit(cli.Rejected, fmt.Errorf("%w: %d entries were left out that their agents did not sign, or that were not asked for", market.ErrMisconduct, refused))
	})
	f := cmd.Flags()
	f.StringVar(&s.Category, "category", "", "only this `category`, and those below it")
	f.StringVar(&agent, "agent", "", "only of this `agent`")
	f.IntVar(&most, "limit", most, "list at most so `many`")
	return cmd
}
