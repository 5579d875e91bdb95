package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) contactCommand() *cobra.Command {
	return group("contact", "Keep the agents that a node knows", `  concordia contact add did:key:z6Mk... --name ada --allow --dir seller
  concordia contact list --dir seller`,
		a.contactAddCommand(), a.contactListCommand(), a.contactRemoveCommand())
}

func (a *app) contactAddCommand() *cobra.Command {
	var c node.Contact
	var keys []string
	var allow, deny bool
	cmd := &cobra.Command{
		Use: "add AGENT", Short: "Add a contact, or replace it",
		Long: `add adds an agent to the contacts of the node of --dir. A did:key id says its key itself;
of another id, --public-key does. --url is the origin of the agent's node, for direct delivery.
--allow lets its invitations through, and --deny refuses them, without the agent learning
of it. --reference says that the agent runs the reference implementation: it is dealt with in
strict turns, and what its receipts say beyond the transcript is tolerated.`,
		Example: `  concordia contact add did:key:z6Mk... --name ada --allow --dir seller
  concordia contact add did:web:ada.example --public-key fz3Q... --url https://ada.example --dir seller`,
	}
	f := cmd.Flags()
	f.StringVar(&c.Name, "name", "", "what you call the agent, as `text`")
	f.StringVar(&c.URL, "url", "", "`origin` of its node")
	f.StringArrayVar(&keys, "public-key", nil, "public `key` in base64url (repeatable)")
	f.BoolVar(&allow, "allow", false, "let its invitations through")
	f.BoolVar(&deny, "deny", false, "refuse its invitations")
	f.BoolVar(&c.Reference, "reference", false, "it runs the reference implementation")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		c.Agent = wire.AgentID(args[0])
		switch {
		case allow && deny:
			return cli.Usagef("--allow and --deny: leave one out")
		case allow:
			c.Consent = node.Allowed
		case deny:
			c.Consent = node.Denied
		}
		for _, k := range keys {
			c.Keys = append(c.Keys, node.ContactKey{Key: k})
		}
		if err := v.SetContact(ctx, c); err != nil {
			return err
		}
		v.out.table([][]string{contactRow(c)})
		return v.out.value(c)
	})
}

func contactRow(c node.Contact) []string {
	return []string{cli.Printable(string(c.Agent)), cli.Printable(c.Name), string(c.Consent), cli.Printable(c.URL)}
}

func (a *app) contactListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the contacts of a node", Args: cobra.NoArgs,
		Example: "  concordia contact list --dir seller",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, _ []string) error {
		list, err := v.Contacts(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, c := range list {
			rows = append(rows, contactRow(c))
		}
		v.out.table(rows)
		if list == nil {
			list = []node.Contact{}
		}
		return v.out.value(list)
	})
}

func (a *app) contactRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove AGENT", Short: "Forget a contact, by id or name",
		Example: "  concordia contact remove ada --dir seller",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		ids, err := v.agents(ctx, args)
		if err != nil {
			return err
		}
		if err := v.RemoveContact(ctx, ids[0]); err != nil {
			return err
		}
		v.out.printf("removed\n")
		return v.out.value(map[string]any{"agent_id": ids[0], "removed": true})
	})
}
