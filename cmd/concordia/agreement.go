package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) agreementCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agreement",
		Short:   "Show and export what was agreed",
		Example: "  concordia agreement show transcript.json\n  concordia agreement export --as x402 transcript.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.agreementShowCommand(), a.agreementExportCommand())
	return cmd
}

// source is where an agreement is read from.
type source struct {
	keyFiles []string
	session  string
	imported bool
}

func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&s.session, "session", "", "`id` of the session to read, of a database with several")
	importFlag(cmd, &s.imported)
}

// agreement verifies a transcript and returns what was agreed in it.
func (a *app) agreement(path string, from source) (session.Agreement, error) {
	var none session.Agreement
	keys, err := readKeys(from.keyFiles)
	if err != nil {
		return none, err
	}
	doc, err := readTranscript(path, wire.SessionID(from.session))
	if err != nil {
		return none, err
	}
	t, report := doc.Check(doc.SessionID(), keys, a.now(), &session.Options{Import: from.imported}, parallel)
	if err := report.Err(); err != nil {
		code := cli.Rejected
		if report.Outcome() == wire.NotChecked {
			code = cli.Unchecked
		}
		return none, cli.Exit(code, fmt.Errorf("%s does not verify: %w", path, err))
	}
	agreement, err := t.Session().At(a.now()).Agreement()
	if errors.Is(err, session.ErrNotAgreed) {
		return none, cli.Exit(cli.Rejected, fmt.Errorf("%s: %w: it is %s", path, err, t.Session().At(a.now()).State()))
	}
	return agreement, err
}

func (a *app) agreementShowCommand() *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what was agreed in a transcript",
		Long: `show verifies a transcript, or a session in an agent's database, and prints the
agreement: its terms, its hash, and when it is void if not settled.`,
		Example: `  concordia agreement show transcript.json --keys keys.json`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			agreement, err := a.agreement(args[0], from)
			if err != nil {
				return err
			}
			v, err := agreement.Value()
			if err != nil {
				return err
			}
			expires := "never"
			if !agreement.Expires.IsZero() {
				expires = wire.FormatTime(agreement.Expires)
				if !a.now().Before(agreement.Expires) {
					expires += " (over)"
				}
			}
			rows := [][]string{
				{"agreement", v.Hash().String()},
				{"session", cli.Printable(string(agreement.Session))},
				{"agreed", wire.FormatTime(agreement.At)},
				{"expires", expires},
			}
			for _, id := range agreement.Parties {
				rows = append(rows, []string{"party", cli.Printable(string(id))})
			}
			for id, object := range agreement.Terms.Value().Members() {
				rows = append(rows, []string{cli.Printable(id), termText(object)})
			}
			a.out.table(rows)
			return a.out.value(map[string]any{"agreement": v, "hash": v.Hash()})
		},
	}
	from.flags(cmd)
	return cmd
}

func (a *app) agreementExportCommand() *cobra.Command {
	var from source
	var as string
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Export an agreement to a settlement protocol",
		Long: `export verifies a transcript and prints the agreement as JSON: as it is, as a
checkout for ACP and UCP, as an intent mandate for AP2, or as payment requirements
for x402. What a protocol needs beyond price and terms stands in the settlement
member of open.`,
		Example: `  concordia agreement export transcript.json
  concordia agreement export --as acp transcript.json`,
		Args: cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(session.Formats(), session.Format(as)) {
				return cli.Usagef("--as: %v", session.ErrFormat)
			}
			agreement, err := a.agreement(args[0], from)
			if err != nil {
				return err
			}
			v, err := agreement.Export(session.Format(as))
			if err != nil {
				return cli.Exit(cli.Rejected, err)
			}
			_, err = fmt.Fprintln(a.out.w, v.Canonical())
			return err
		},
	}
	from.flags(cmd)
	cmd.Flags().StringVar(&as, "as", "json", "`format`: json, acp, ap2 or x402")
	return cmd
}
