package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) chainCommand() *cobra.Command {
	return group("chain", "Commit together, all or nobody: sessions of several parties", `  concordia attest chain predicate --key notary.key --session urn:concordia:chain-session:pool --type … > predicate.json
  concordia attest chain propose urn:concordia:chain-session:pool --participants did:web:a,did:web:b --predicate predicate.json --deadline 2026-12-01T00:00:00Z > session.json
  concordia attest chain commit session.json --key a.key --terms terms.json > a.json
  concordia attest chain open session.json a.json b.json --keys keys.json > open.json
  concordia attest chain activate open.json --predicate predicate.json --key a.key --keys keys.json a.json b.json`,
		a.chainPredicateCommand(), a.chainProposeCommand(), a.chainCommitCommand(), a.chainOpenCommand(),
		a.chainActivateCommand(), a.chainUnwindCommand(), a.chainCloseCommand())
}

func (a *app) chainPredicateCommand() *cobra.Command {
	return a.makes(&cobra.Command{
		Use: "predicate", Short: "State the condition under which commitments take effect",
		Long: `predicate makes a closure predicate: of the profile bilateral_chain_closure or
closure_language (SPEC §9.11.3), which --type names by its URN.`,
		Example: `  concordia attest chain predicate --key notary.key --session urn:concordia:chain-session:pool --type urn:concordia:predicate-type:closure_language:v1 --condition both.json --expires 2026-12-01T00:00:00Z`,
	}, cmpc.Close,
		[4]string{"session", "subject", "`URN` of the chain session", "text"},
		[4]string{"type", "type", "`URN` of the profile", "text"},
		[4]string{"condition", "condition", "JSON `file` with the parameters of the profile", "json"},
		[4]string{"expires", "expires_at", "last `time` at which it stands", "time"},
	)
}

func (a *app) chainProposeCommand() *cobra.Command {
	var participants, predicate, deadline string
	var at issuing
	cmd := &cobra.Command{
		Use: "propose ID", Short: "Propose a chain session",
		Long: `propose writes a new session, in which each participant has to commit. It is signed
by nobody: what is signed are the predicate, the commitments and the proof.`,
		Example: `  concordia attest chain propose urn:concordia:chain-session:pool --participants did:web:a,did:web:b --predicate predicate.json --deadline 2026-12-01T00:00:00Z`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			at.app = a
			now, err := at.now()
			if err != nil {
				return err
			}
			end, err := wire.ParseTime(deadline)
			if err != nil {
				return cli.Usagef("--deadline: %v", err)
			}
			v, err := readJSONInput(predicate)
			if err != nil {
				return err
			}
			id, _ := v.Get("predicate_id")
			var agents []wire.AgentID
			for _, p := range strings.Split(participants, ",") {
				agents = append(agents, wire.AgentID(strings.TrimSpace(p)))
			}
			return a.chainSession(cmpc.Propose(args[0], id.Text(), agents, end, now))
		},
	}
	cmd.Flags().StringVar(&participants, "participants", "", "comma-separated `ids` of who has to commit")
	cmd.Flags().StringVar(&predicate, "predicate", "", "JSON `file` with the closure predicate")
	cmd.Flags().StringVar(&deadline, "deadline", "", "first `time` at which it can no longer take effect")
	cmd.Flags().StringVar(&at.at, "at", "", "propose at this `time` instead of now")
	return cmd
}

// chainSession prints a session.
func (a *app) chainSession(s *cmpc.ChainSession, err error) error {
	if err != nil {
		return cli.Exit(cli.Rejected, err)
	}
	return a.artifact(s.Value(), nil)
}

// readChainSession reads a session and the files behind it.
func readChainSession(paths []string) (*cmpc.ChainSession, []wire.Value, error) {
	files, err := readJSONInputs(paths)
	if err != nil {
		return nil, nil, err
	}
	s, err := cmpc.ReadChainSession(files[0])
	if err != nil {
		return nil, nil, cli.Exit(cli.Rejected, err)
	}
	return s, files[1:], nil
}

// inSession makes an artifact of a draft and of the session in a file.
func inSession(make func(attest.Issuer, wire.Value, *cmpc.ChainSession) (wire.Value, error)) func(attest.Issuer, wire.Value, []wire.Value) (wire.Value, error) {
	return func(i attest.Issuer, draft wire.Value, of []wire.Value) (wire.Value, error) {
		s, err := cmpc.ReadChainSession(of[0])
		if err != nil {
			return wire.Value{}, err
		}
		return make(i, draft, s)
	}
}

func (a *app) chainCommitCommand() *cobra.Command {
	return a.makesOf(&cobra.Command{
		Use: "commit SESSION", Short: "Commit in a chain session, if all the others do",
		Long:    `commit makes a commitment that takes effect only if the session is activated.`,
		Example: `  concordia attest chain commit session.json --key a.key --terms terms.json`,
		Args:    cli.Takes,
	}, inSession(cmpc.Commit),
		[4]string{"terms", "commitment_terms", "JSON `file` with what you commit to", "json"},
		[4]string{"mandate", "mandate_proof_id", "`URN` of the mandate you commit under", "text"},
		[4]string{"expires", "expires_at", "last `time` at which it stands, the deadline by default", "time"},
	)
}

// passing is a command that brings a session into another state. It signs nothing.
func (a *app) passing(use, short, long, example string, pass func(f attest.Verifier, s *cmpc.ChainSession, files []wire.Value) (*cmpc.ChainSession, error)) *cobra.Command {
	i := &issuing{app: a}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			now, err := i.now()
			if err != nil {
				return err
			}
			keys, err := readKeys(i.keyFiles)
			if err != nil {
				return err
			}
			s, files, err := readChainSession(args)
			if err != nil {
				return err
			}
			return a.chainSession(pass(attest.Verifier{Keys: keys, Now: now}, s, files))
		},
	}
	cmd.Flags().StringArrayVar(&i.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&i.at, "at", "", "judge at this `time` instead of now")
	return cmd
}

func (a *app) chainOpenCommand() *cobra.Command {
	return a.passing("open SESSION COMMITMENT...", "Open a session with the commitments of all",
		`open verifies a commitment of each participant and writes the session with them.`,
		`  concordia attest chain open session.json a.json b.json --keys keys.json`,
		func(f attest.Verifier, s *cmpc.ChainSession, files []wire.Value) (*cmpc.ChainSession, error) {
			return s.Opened(f, files)
		})
}

func (a *app) chainCloseCommand() *cobra.Command {
	return a.passing("close SESSION [PROOF|RECORD]", "Close a session by its proof, its unwind record or its deadline",
		`close writes the session as activated by a proof that verifies, as dissolved by an
unwind record that does, or, with neither, as expired if its deadline has passed.`,
		`  concordia attest chain close open.json proof.json --keys keys.json`,
		func(f attest.Verifier, s *cmpc.ChainSession, files []wire.Value) (*cmpc.ChainSession, error) {
			if len(files) == 0 {
				return s.Lapsed(f.Now)
			}
			if _, ok := files[0].Get("unwind_record_id"); ok {
				return s.Dissolved(f, files[0])
			}
			return s.Activated(f, files[0])
		})
}

func (a *app) chainActivateCommand() *cobra.Command {
	var predicate string
	cmd := &cobra.Command{
		Use: "activate SESSION COMMITMENT...", Short: "Prove that the commitments of an open session take effect",
		Long: `activate verifies the predicate and every commitment, evaluates the one over the
others and signs a proof if it is satisfied before the deadline.`,
		Example: `  concordia attest chain activate open.json a.json b.json --predicate predicate.json --key a.key --keys keys.json`,
		Args:    cobra.MinimumNArgs(2),
	}
	i := a.issue(cmd)
	cmd.Flags().StringVar(&predicate, "predicate", "", "JSON `file` with the closure predicate")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if predicate == "" {
			return cli.Usagef("--predicate is missing: the condition that has to be satisfied")
		}
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		s, files, err := readChainSession(args)
		if err != nil {
			return err
		}
		p, err := readJSONInput(predicate)
		if err != nil {
			return err
		}
		return a.artifact(cmpc.Activate(issuer, s, p, files))
	}
	return cmd
}

func (a *app) chainUnwindCommand() *cobra.Command {
	return a.makesOf(&cobra.Command{
		Use: "unwind SESSION", Short: "Dissolve an open session",
		Long:    `unwind makes the record that dissolves a session, and with it its commitments.`,
		Example: `  concordia attest chain unwind open.json --reason explicit_withdrawal --key b.key`,
		Args:    cli.Takes,
	}, inSession(cmpc.Dissolve),
		[4]string{"reason", "dissolution_reason", "`word`: predicate_failed, timeout, explicit_withdrawal or mandate_violation", "text"},
		[4]string{"details", "dissolution_details", "JSON `file` with details", "json"},
	)
}
