package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) approveCommand() *cobra.Command {
	var approver, passphraseFile, artifact, move, bundle string
	var terms []string
	var deny bool
	cmd := &cobra.Command{
		Use: "approve [SESSION]", Short: "Approve what a node's policy asks a person for", Args: cobra.MaximumNArgs(1),
		Long: `approve shows what the policy of the node of --dir asks for before it accepts the current
offer of a session. With --approver-key the approver signs an approval receipt for
exactly this offer, or with --deny a denial, and the node keeps it: then concordia
session accept is let through, or not. The key is that of a person, and not the node's.

With --artifact the node takes in an approval receipt, a mandate or a revocation that was
signed elsewhere (concordia attest).

Exit codes: 0 nothing is asked for any more, 1 refused, 2 wrong usage, 3 it could not be
tried, 4 something is still asked for.`,
		Example: `  concordia approve ses_4a1b --dir buyer
  concordia approve ses_4a1b --approver-key boss.key --dir buyer
  concordia approve --artifact mandate.json --dir buyer`,
	}
	f := cmd.Flags()
	f.StringVar(&approver, "approver-key", "", "key `file` of the approver")
	f.StringVar(&passphraseFile, "approver-passphrase-file", "", "`file` whose first line opens that key")
	f.StringVar(&artifact, "artifact", "", "JSON `file` with a signed artifact to take in")
	f.StringVar(&move, "for", "accept", "`move` that is to be let through: accept or commit")
	f.StringVar(&bundle, "bundle", "", "`id` of the bundle that is to be accepted")
	f.StringArrayVar(&terms, "term", nil, "`NAME=VALUE` of what is to be accepted of a conditional offer (repeatable)")
	f.BoolVar(&deny, "deny", false, "sign a denial")
	return a.nodeVerb(cmd, defaultPatience, func(ctx context.Context, v *nodeVerb, args []string) error {
		switch {
		case (len(args) == 0) != (artifact != ""):
			return cli.Usagef("approve takes a SESSION, or --artifact")
		case artifact != "" && approver != "":
			return cli.Usagef("--artifact is signed already: leave --approver-key out")
		case move != "accept" && move != "commit":
			return cli.Usagef("--for: want accept or commit")
		case artifact != "":
			signed, err := readJSONInput(artifact)
			if err == nil {
				err = v.Approve(ctx, signed)
			}
			if err != nil {
				return err
			}
			v.out.printf("kept\n")
			return v.out.value(map[string]any{"kept": signed.Hash()})
		}
		body, err := wire.Encode(wire.M{})
		if err != nil {
			return err
		}
		if bundle != "" {
			body = body.With("bundle_id", wire.Text(bundle))
		}
		if body, err = (&termsFlag{member: "accepted_terms", texts: terms}).put(body); err != nil {
			return err
		}
		m := node.Move{Session: wire.SessionID(args[0]), Type: wire.MessageType(move), Body: body}
		if err := v.settle(ctx); err != nil {
			return err
		}
		needs, err := v.Needs(ctx, m)
		if err != nil {
			return err
		}
		var signed []wire.Value
		if approver != "" {
			i := &issuing{app: a, key: approver, passphraseFile: passphraseFile}
			issuer, err := i.issuer()
			if err != nil {
				return err
			}
			if signed, err = v.decide(ctx, issuer, needs, deny); err != nil {
				return err
			}
			if needs, err = v.Needs(ctx, m); err != nil {
				return err
			}
		}
		return v.printNeeds(needs, signed)
	})
}

// decide signs an approval receipt, or a denial, for each need of one.
func (v *nodeVerb) decide(ctx context.Context, issuer attest.Issuer, needs []node.Need, deny bool) (signed []wire.Value, err error) {
	decision := attest.Approve
	if deny {
		decision = attest.Deny
	}
	for _, n := range needs {
		if n.Needs != node.NeedApproval {
			continue
		}
		if !slices.ContainsFunc(n.Approvers, func(id wire.AgentID) bool { return wire.PlainDIDKey(id) == wire.PlainDIDKey(issuer.Agent) }) {
			return nil, cli.Exit(cli.Rejected, fmt.Errorf("%s asks for somebody else: %s", n.Threshold, agentList(n.Approvers)))
		}
		draft, err := put(n.Draft, decision, []string{"scope", "decision"})
		if err != nil {
			return nil, err
		}
		artifact, err := issuer.Approval(draft)
		if err != nil {
			return nil, cli.Exit(cli.Rejected, err)
		}
		if err := v.Approve(ctx, artifact); err != nil {
			return nil, err
		}
		signed = append(signed, artifact)
	}
	return signed, nil
}

func (v *nodeVerb) printNeeds(needs []node.Need, signed []wire.Value) error {
	for _, s := range signed {
		decision, _ := s.At("scope", "decision")
		v.out.printf("signed: %s\n", cli.Printable(decision.Text()))
	}
	for _, n := range needs {
		v.out.printf("%s\n", cli.Visible(needText(n)))
		v.out.table([][]string{
			{"what it comes to", termsText(n.Terms)},
			{"who may approve", agentList(n.Approvers)},
		})
	}
	if len(needs) == 0 {
		v.out.printf("nothing is asked for\n")
	}
	if needs == nil {
		needs = []node.Need{}
	}
	if err := v.out.value(map[string]any{"needs": needs, "signed": append([]wire.Value{}, signed...)}); err != nil {
		return err
	}
	if len(needs) > 0 {
		return cli.Exit(cli.Unchecked, fmt.Errorf("asked for: %s", strings.Join(thresholds(needs), ", ")))
	}
	return nil
}

func thresholds(needs []node.Need) []string {
	names := make([]string, len(needs))
	for i, n := range needs {
		names[i] = n.Threshold
	}
	return names
}
