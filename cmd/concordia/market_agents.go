package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// printListing prints what an agent is listed with.
func (a *app) printListing(v wire.Value) {
	text := func(path ...string) string {
		m, _ := v.At(path...)
		if m.Kind() == wire.Array {
			var list []string
			for _, e := range m.Elems() {
				list = append(list, e.Text())
			}
			return cli.Printable(cut(strings.Join(list, ", "), 200))
		}
		return cli.Printable(cut(m.Text(), 200))
	}
	a.out.printf("%s  until %s\n", a.out.paint(bold, text("agent_id")), text("expires_at"))
	for _, row := range [][]string{{"roles", "capabilities", "roles"}, {"categories", "capabilities", "categories"}, {"mechanisms", "capabilities", "resolution_mechanisms"},
		{"endpoint", "endpoint"}, {"says", "description"}} {
		if s := text(row[1:]...); s != "" {
			a.out.printf("  %-10s  %s\n", row[0], s)
		}
	}
}

func (a *app) marketListCommand() *cobra.Command {
	var roles, categories, mechanisms []string
	var endpoint, description string
	var sessions int64
	cmd := a.marketVerb(&cobra.Command{
		Use: "list", Short: "List yourself in the directory of a market", Args: cobra.NoArgs,
		Long: `list lists the agent in the directory, for 30 days unless the market says otherwise, or
again with what the flags say now. What it says is not signed; concordia market profile
publish is for what others can verify.

Exit codes: 0 listed, 1 refused, 2 wrong usage, 3 it could not be tried.`,
		Example: `  concordia market list --role seller --category electronics.cameras --relay https://relay.example --key seller.key`,
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, _ []string) error {
		members := wire.M{}
		for name, list := range map[string][]string{"roles": roles, "categories": categories, "resolution_mechanisms": mechanisms} {
			if len(list) > 0 {
				members[name] = list
			}
		}
		for name, text := range map[string]string{"endpoint": endpoint, "description": description} {
			if text != "" {
				members[name] = text
			}
		}
		if sessions != 0 {
			members["max_concurrent_sessions"] = sessions
		}
		v, err := c.List(ctx, members)
		if err != nil {
			return err
		}
		a.printListing(v)
		return a.out.value(v)
	})
	f := cmd.Flags()
	f.StringArrayVar(&roles, "role", nil, "a `role`, as buyer or seller (repeatable)")
	f.StringArrayVar(&categories, "category", nil, "a `category` that you negotiate in; none: all (repeatable)")
	f.StringArrayVar(&mechanisms, "mechanism", nil, "a `mechanism` of resolution, as split (repeatable)")
	f.StringVar(&endpoint, "endpoint", "", "https `URL` where you are reached")
	f.StringVar(&description, "description", "", "what you do, as `text`")
	f.Int64Var(&sessions, "max-sessions", 0, "at most so `many` sessions at once")
	return cmd
}

func (a *app) marketUnlistCommand() *cobra.Command {
	return a.marketVerb(&cobra.Command{
		Use: "unlist", Short: "Take yourself out of the directory", Args: cobra.NoArgs,
		Long:    "unlist takes the agent out of the directory.\n\nExit codes: 0 done, 1 it was not listed, 2 wrong usage, 3 it could not be tried.",
		Example: "  concordia market unlist --relay https://relay.example --key seller.key",
	}, func(ctx context.Context, c *market.Client, r *relayAgent, _ []string) error {
		if err := c.Unlist(ctx); err != nil {
			return err
		}
		a.out.printf("not listed any more  %s\n", cli.Printable(string(r.id.Agent)))
		return a.out.value(map[string]any{"agent_id": r.id.Agent, "listed": false})
	})
}

func (a *app) marketAgentsCommand() *cobra.Command {
	var category, role, mechanism string
	most := 100
	cmd := a.marketVerb(&cobra.Command{
		Use: "agents", Short: "Search the directory of a market", Args: cobra.NoArgs,
		Long: `agents lists agents of the directory by what they say they do, in the order of their ids,
up to --limit. All of it is the market's word.

Exit codes: 0 listed, 1 refused, or the market misbehaves, 2 wrong usage, 3 it could not
be tried.`,
		Example: "  concordia market agents --category electronics --role seller --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, _ []string) error {
		by, err := searchBy(most, map[string]string{"category": category, "role": role, "resolution_mechanism": mechanism})
		if err != nil {
			return err
		}
		all := []wire.Value{}
		for after := wire.AgentID("x"); after != "" && len(all) < most; {
			var list []wire.Value
			if list, after, err = c.Agents(ctx, by); err != nil {
				return err
			}
			all = append(all, list[:min(len(list), most-len(all))]...)
			by["after"] = after
		}
		for _, v := range all {
			a.printListing(v)
		}
		return a.out.value(all)
	})
	f := cmd.Flags()
	f.StringVar(&category, "category", "", "only who negotiates in this `category`, one above or below it")
	f.StringVar(&role, "role", "", "only who has this `role`")
	f.StringVar(&mechanism, "mechanism", "", "only who knows this `mechanism` of resolution")
	f.IntVar(&most, "limit", most, "list at most so `many`")
	return cmd
}

// searchBy makes a request of what is asked for.
func searchBy(most int, members map[string]string) (wire.M, error) {
	if most < 1 {
		return nil, cli.Usagef("--limit: want a number from 1")
	}
	by := wire.M{}
	for name, text := range members {
		if text != "" {
			by[name] = text
		}
	}
	return by, nil
}

func (a *app) marketAgentCommand() *cobra.Command {
	return a.marketVerb(&cobra.Command{
		Use: "agent AGENT", Short: "Show an agent of the directory", Args: cli.Takes,
		Long: `agent shows what an agent is listed with, which is the market's word.

Exit codes: 0 shown, 1 it is not listed, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia market agent did:key:z6Mk... --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		v, err := c.Agent(ctx, wire.AgentID(args[0]))
		if err != nil {
			return err
		}
		a.printListing(v)
		return a.out.value(v)
	})
}

// A shownProfile is a profile for programs.
type shownProfile struct {
	Verdict string     `json:"verdict"`
	Problem *problem   `json:"problem,omitempty"`
	Profile wire.Value `json:"profile"` // what the agent signed
}

func (a *app) printProfile(p market.Profile) {
	a.out.printf("%s  %s\n", a.out.outcome(p.Report.Outcome()), a.out.paint(bold, cli.Printable(string(p.Agent))))
	for _, row := range [][2]string{{"name", p.Name}, {"says", p.Description}, {"categories", strings.Join(p.Categories, ", ")},
		{"negotiate", p.Endpoints.Negotiate}, {"a2a card", p.Endpoints.A2ACard}, {"updated", wire.FormatTime(p.UpdatedAt)}} {
		if row[1] != "" {
			a.out.printf("  %-10s  %s\n", row[0], cli.Printable(cut(row[1], 200)))
		}
	}
}

func profileValue(p market.Profile) shownProfile {
	return shownProfile{p.Report.Outcome().String(), problemOf(p.Report.Err()), p.Signed()}
}

func (a *app) marketProfileCommand() *cobra.Command {
	publish := a.marketVerb(&cobra.Command{
		Use: "publish FILE", Short: "Publish your signed profile", Args: cli.Takes,
		Long: `publish publishes a profile that concordia attest profile made, - for standard input, in
place of an older one. The market verifies it.

Exit codes: 0 published, 1 refused, for instance because a newer one is there, 2 wrong
usage, 3 it could not be tried.`,
		Example: `  concordia attest profile --key seller.key --categories electronics.cameras >profile.json
  concordia market profile publish profile.json --relay https://relay.example --key seller.key`,
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		v, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		if err := c.Publish(ctx, v); err != nil {
			return err
		}
		updated, _ := v.Get("updated_at")
		a.out.printf("published  %s\n", cli.Printable(updated.Text()))
		return a.out.value(map[string]any{"published": true, "updated_at": updated})
	})
	withdraw := a.marketVerb(&cobra.Command{
		Use: "withdraw", Short: "Take your profile back", Args: cobra.NoArgs,
		Long: `withdraw takes the profile of the agent out of the market, which remembers it, so that
none from before comes back.

Exit codes: 0 done, 1 there is none, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia market profile withdraw --relay https://relay.example --key seller.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, _ []string) error {
		if err := c.Unpublish(ctx); err != nil {
			return err
		}
		a.out.printf("withdrawn\n")
		return a.out.value(map[string]any{"withdrawn": true})
	})
	show := a.marketVerb(&cobra.Command{
		Use: "show AGENT", Short: "Show and verify the profile of an agent", Args: cli.Takes,
		Long: `show shows what an agent has signed about itself, and nothing else of its profile.

Exit codes: 0 it verifies, 1 it does not, or there is none, 2 wrong usage, 3 it could not
be tried, 4 the agent's key is not known (--keys).`,
		Example: "  concordia market profile show did:key:z6Mk... --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, args []string) error {
		p, err := c.Profile(ctx, wire.AgentID(args[0]))
		if err != nil {
			return err
		}
		a.printProfile(p)
		if err := a.out.value(profileValue(p)); err != nil || p.Report.Err() == nil {
			return err
		}
		return cli.Exit(codeOf(p.Report), p.Report.Err())
	})
	var category, offerType string
	most := 100
	search := a.marketVerb(&cobra.Command{
		Use: "search", Short: "Search the profiles of agents", Args: cobra.NoArgs,
		Long: `search lists profiles, in the order of the agents' ids, up to --limit. Those whose
signature does not verify are left out, and said so; of those whose key is not known it
says that they were not checked.

Exit codes: 0 listed, 1 refused, or the market misbehaves, 2 wrong usage, 3 it could not
be tried.`,
		Example: "  concordia market profile search --category electronics --relay https://relay.example --key buyer.key",
	}, func(ctx context.Context, c *market.Client, _ *relayAgent, _ []string) error {
		by, err := searchBy(most, map[string]string{"category": category, "offer_type": offerType})
		if err != nil {
			return err
		}
		values, refused := []shownProfile{}, 0
		for after := wire.AgentID("x"); after != "" && len(values) < most; {
			var list []market.Profile
			var bad int
			if list, after, bad, err = c.Profiles(ctx, by); err != nil {
				return err
			}
			refused += bad
			for _, p := range list[:min(len(list), most-len(values))] {
				a.printProfile(p)
				values = append(values, profileValue(p))
			}
			by["after"] = after
		}
		if err := a.out.value(values); err != nil || refused == 0 {
			return err
		}
		return cli.Exit(cli.Rejected, fmt.Errorf("%w: %d profiles were left out that their agents did not sign", market.ErrMisconduct, refused))
	})
	f := search.Flags()
	f.StringVar(&category, "category", "", "only who negotiates in this `category`, one above or below it")
	f.StringVar(&offerType, "offer-type", "", "only who makes such `offers`: basic, partial, conditional, bundle")
	f.IntVar(&most, "limit", most, "list at most so `many`")
	return group("profile", "Publish what you sign about yourself, and see what others do", `  concordia market profile publish profile.json --relay https://relay.example --key seller.key
  concordia market profile show did:key:z6Mk... --relay https://relay.example --key buyer.key`, publish, show, search, withdraw)
}
