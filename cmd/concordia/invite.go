package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) inviteCommand() *cobra.Command {
	return group("invite", "Answer invitations to sessions, and hand them over", `  concordia invite list --dir buyer
  concordia invite join ses_4a1b --dir buyer`,
		a.inviteListCommand(), a.inviteJoinCommand(), a.inviteDeclineCommand(), a.inviteShowCommand(), a.inviteTakeCommand())
}

func (a *app) inviteListCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the invitations that wait for an answer", Args: cobra.NoArgs,
		Long: `list lists the invitations to the node of --dir, oldest first. With --wait it waits
until there is one.`,
		Example: "  concordia invite list --dir buyer\n  concordia invite list --wait --dir buyer --json",
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until there is one")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, _ []string) error {
		if err := v.settle(ctx); err != nil {
			return err
		}
		list, err := v.invitations(ctx, wait)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, i := range list {
			word := "stranger"
			if i.Known {
				word = "known"
			}
			rows = append(rows, []string{cli.Printable(string(i.Session)), cli.Printable(string(i.From)), word, cli.Printable(i.Category), cli.Printable(strings.Join(i.Flags, ", "))})
		}
		v.out.table(rows)
		if list == nil {
			list = []node.Invitation{}
		}
		return v.out.value(list)
	})
}

// invitations returns the invitations, and waits until there is one if it should.
func (v *nodeVerb) invitations(ctx context.Context, wait bool) ([]node.Invitation, error) {
	for {
		self, err := v.Self(ctx) // before looking, so that nothing falls in between
		if err != nil {
			return nil, err
		}
		list, err := v.Invitations(ctx)
		if err != nil || len(list) > 0 || !wait {
			return list, err
		}
		if _, err := v.Notices(ctx, self.Notices, 1); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (a *app) inviteJoinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "join SESSION", Short: "Join a session",
		Long: `join makes the node of --dir a party of the session, and shows what is offered for
negotiation. It says nothing there yet: concordia session accept-session does, or decline.`,
		Example: "  concordia invite join ses_4a1b --dir buyer",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		if err := v.settle(ctx); err != nil {
			return err
		}
		view, err := v.Join(ctx, wire.SessionID(args[0]))
		if err != nil {
			return err
		}
		return v.printView(view)
	})
}

func (a *app) inviteDeclineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "decline SESSION", Short: "Decline an invitation, without having joined",
		Example: "  concordia invite decline ses_4a1b --dir buyer",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		if err := v.settle(ctx); err != nil {
			return err
		}
		if err := v.Decline(ctx, wire.SessionID(args[0])); err != nil {
			return err
		}
		v.out.printf("declined\n")
		return v.out.value(map[string]any{"session_id": args[0], "declined": true})
	})
}

func (a *app) inviteShowCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Print an invitation to hand over in some other way",
		Long: `show prints the signed invitation to a session that the node of --dir opened. Who is
named in it, or comes first if the session has places for strangers, takes it in with
concordia invite take.`,
		Example: "  concordia invite show ses_4a1b --dir seller > invitation.json",
	}
	cmd.Flags().StringVar(&to, "to", "", "`agent` that it is for, by id or the name of a contact")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		var who wire.AgentID
		if to != "" {
			ids, err := v.agents(ctx, []string{to})
			if err != nil {
				return err
			}
			who = ids[0]
		}
		invitation, err := v.Invitation(ctx, wire.SessionID(args[0]), who)
		if err != nil {
			return err
		}
		return a.artifact(invitation, nil)
	})
}

func (a *app) inviteTakeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "take FILE", Short: "Take in an invitation that came in some other way",
		Example: "  concordia invite take invitation.json --dir buyer",
	}
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		signed, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		i, err := v.Invited(ctx, signed)
		if err != nil {
			return err
		}
		v.out.printf("invited to %s by %s\n", cli.Printable(string(i.Session)), cli.Printable(string(i.From)))
		return v.out.value(i)
	})
}
