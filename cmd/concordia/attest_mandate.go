package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) mandateCommand() *cobra.Command {
	return group("mandate", "Let another agent act for you, within limits", `  concordia attest mandate issue --key boss.key --subject did:web:agent.example --constraints limits.json --until 2026-12-31T23:59:59Z
  concordia attest mandate check mandate.json --action action.json --uses 0 --keys keys.json`,
		a.mandateIssueCommand(), a.mandateLinkCommand(), a.mandateDelegateCommand(), a.mandateCheckCommand())
}

// validity are the flags of when a mandate is in force.
var validity = [][4]string{
	{"mode", "validity.mode", "`mode`: windowed, sequence or state_bound; by default what the other flags say", "text"},
	{"from", "validity.not_before", "`time` from which it is in force, now by default", "time"},
	{"until", "validity.not_after", "last `time` at which it is in force", "time"},
	{"sequence-key", "validity.sequence_key", "`key` of the sequence of actions it is for", "text"},
	{"state", "validity.state_condition", "the `condition` that has to hold", "text"},
	{"max-uses", "validity.max_uses", "`number` of times it may be used", "int"},
}

func (a *app) mandateIssueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "issue", Short: "Mandate an agent",
		Long: `issue lets a subject act for you. --constraints is a JSON Schema that each action
has to satisfy; of JSON Schema 2020-12 only what SPEC §9.9.2 lists. The mandate is in
force in a window of time (--until), for a sequence of actions (--sequence-key) or
while a condition holds (--state).`,
		Example: `  concordia attest mandate issue --key boss.key --subject did:web:agent.example --constraints limits.json --until 2026-12-31T23:59:59Z --max-uses 3`,
	}
	return a.makes(cmd, func(i attest.Issuer, v wire.Value) (wire.Value, error) {
		v, err := withMode(v, wire.FormatTime(i.Now))
		if err != nil {
			return v, err
		}
		return i.Mandate(v)
	}, append([][4]string{
		{"subject", "subject", "`id` of who may act for you", "text"},
		{"constraints", "constraints", "JSON `file` with the schema of actions", "json"},
		{"revocation-endpoint", "revocation_endpoint", "`URL` where you list what you revoked", "text"},
	}, validity...)...)
}

// withMode fills in the mode of a validity that its other members tell, and when a
// window begins.
func withMode(v wire.Value, now string) (wire.Value, error) {
	has := func(name string) bool { _, ok := v.At("validity", name); return ok }
	var err error
	for _, m := range []struct{ member, mode string }{{"sequence_key", "sequence"}, {"state_condition", "state_bound"}, {"not_after", "windowed"}} {
		if !has("mode") && has(m.member) && err == nil {
			v, err = put(v, m.mode, []string{"validity", "mode"})
		}
	}
	if mode, _ := v.At("validity", "mode"); err == nil && mode.Text() == "windowed" && !has("not_before") {
		v, err = put(v, now, []string{"validity", "not_before"})
	}
	return v, err
}

func (a *app) mandateLinkCommand() *cobra.Command {
	var to, restriction string
	cmd := &cobra.Command{
		Use: "link", Short: "Pass on what you were mandated to do, or less of it",
		Long: `link makes a link of a delegation chain: the holder of the key passes on to --to
what it was given. --restrict is a JSON Schema that actions have to satisfy besides, or
{"max_spend": n}, which demands that an action says what it spends. A link counts once
the mandate's issuer has taken it in: see mandate delegate.`,
		Example: `  concordia attest mandate link --key agent.key --to did:web:helper.example --restrict small.json > link.json`,
		Args:    cobra.NoArgs,
	}
	i := a.issue(cmd)
	cmd.Flags().StringVar(&to, "to", "", "`id` of the delegate")
	cmd.Flags().StringVar(&restriction, "restrict", "", "JSON `file` with the restriction")
	cmd.RunE = func(*cobra.Command, []string) error {
		if to == "" {
			return cli.Usagef("--to is missing: who is to act")
		}
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		var limit wire.Value
		if restriction != "" {
			if limit, err = readJSONInput(restriction); err != nil {
				return err
			}
		}
		return a.artifact(issuer.Link(wire.AgentID(to), limit))
	}
	return cmd
}

func (a *app) mandateDelegateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delegate MANDATE LINK...", Short: "Take links into a mandate of yours and sign it anew",
		Long: `delegate adds links to the chain of a mandate that you issued, in order, and signs
it. The last delegate becomes the subject. Links of others verify with --keys.`,
		Example: `  concordia attest mandate delegate mandate.json link.json --key boss.key --keys keys.json`,
		Args:    cobra.MinimumNArgs(2),
	}
	i := a.issue(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		files, err := readJSONInputs(args)
		if err != nil {
			return err
		}
		return a.artifact(issuer.Delegate(files[0], files[1:]...))
	}
	return cmd
}

func (a *app) mandateCheckCommand() *cobra.Command {
	var from trust
	var at string
	var with verifyOptions
	cmd := &cobra.Command{
		Use: "check MANDATE", Short: "Check whether a mandate allows an action",
		Long: `check verifies a mandate and asks whether it allows the action, check by check. It
is concordia verify for a mandate, and wants the action. With --online it asks others
for keys and revocations: see concordia verify --help.`,
		Example: `  concordia attest mandate check mandate.json --action action.json --uses 0 --keys keys.json`,
		Args:    cli.Takes,
		RunE: func(cmd *cobra.Command, args []string) error {
			with.note(cmd)
			if with.action == "" {
				return cli.Usagef("--action is missing: what is to be done")
			}
			i := &issuing{app: a, at: at}
			now, err := i.now()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), maxOnline)
			defer cancel()
			keys, listed, err := from.asked(ctx, a)
			if err != nil {
				return err
			}
			asks, err := with.context()
			if err != nil {
				return err
			}
			return a.verifyFiles(args, conformance.Subject{
				Keys: keys, Now: now, Context: asks, Revokers: with.revoker, Each: parallel, Listed: listed,
			}, &with)
		},
	}
	from.flags(cmd)
	cmd.Flags().StringVar(&at, "at", "", "judge at this `time` instead of now")
	with.only(cmd, "action", "sequence-key", "state-active", "uses", "revocations", "revoker")
	return cmd
}
