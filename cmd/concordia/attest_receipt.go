package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) receiptCommand() *cobra.Command {
	return group("receipt", "Issue and countersign the receipt of a session, and confirm what became of it", `  concordia attest receipt issue transcript.json --key seller.key > receipt.json
  concordia attest receipt countersign receipt.json --transcript transcript.json --key buyer.key`,
		a.receiptIssueCommand(), a.receiptCountersignCommand(), a.receiptConfirmCommand(), a.receiptShowCommand())
}

// transcriptOf reads and verifies a transcript, whose receipt does not matter.
func (a *app) transcriptOf(path string, i attest.Issuer, imported bool) (*session.Transcript, error) {
	doc, err := readTranscript(path, "")
	if err != nil {
		return nil, err
	}
	doc.Receipt = wire.Value{}
	t, report := doc.Check(doc.SessionID(), i.Keys, i.Now, &session.Options{Import: imported}, parallel)
	for _, f := range report {
		if f.Outcome != wire.Passed && !f.Optional {
			return nil, cli.Exit(codeOf(report), fmt.Errorf("%s does not verify: %w", path, f.Err))
		}
	}
	return t, nil
}

// receiptOf is the receipt that follows from a transcript, signed by nobody.
func receiptOf(t *session.Transcript, i attest.Issuer) (wire.Value, error) {
	draft, err := t.Receipt(i.Now)
	if err != nil {
		return wire.Value{}, cli.Exit(cli.Rejected, err)
	}
	return draft.Value()
}

// signReceipt adds the signatures of the issuer: as a party, or as a witness.
func signReceipt(v wire.Value, i attest.Issuer, witness bool) (wire.Value, error) {
	key, ok := i.Key.(wire.Signer)
	if !ok {
		return v, attest.ErrAlgorithm
	}
	if witness {
		return attest.Witness(v, i.Agent, key)
	}
	v, err := attest.Countersign(v, i.Agent, key)
	if errors.Is(err, attest.ErrNotAParty) {
		err = fmt.Errorf("%w: a witness signs with --witness", err)
	}
	return v, err
}

func (a *app) receiptIssueCommand() *cobra.Command {
	var witness, imported bool
	cmd := &cobra.Command{
		Use: "issue TRANSCRIPT", Short: "Derive the receipt of a concluded session and sign it",
		Long: `issue verifies a transcript, derives the receipt that follows from it and signs it
as one of its parties. Every party derives the same bytes: the other adds its
signatures with attest receipt countersign.`,
		Example: `  concordia attest receipt issue transcript.json --key seller.key --keys keys.json > receipt.json`,
		Args:    cli.Takes,
	}
	i := a.issue(cmd)
	cmd.Flags().BoolVar(&witness, "witness", false, "sign as a witness, who is no party")
	importFlag(cmd, &imported)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		t, err := a.transcriptOf(args[0], issuer, imported)
		if err != nil {
			return err
		}
		v, err := receiptOf(t, issuer)
		if err != nil {
			return err
		}
		return a.artifact(signReceipt(v, issuer, witness))
	}
	return cmd
}

var errOtherReceipt = errors.New("it is not the receipt that follows from the transcript")

func (a *app) receiptCountersignCommand() *cobra.Command {
	var witness, imported bool
	var transcript string
	cmd := &cobra.Command{
		Use: "countersign RECEIPT", Short: "Check a receipt against your transcript and sign it, too",
		Long: `countersign derives the receipt from your own transcript of the session and signs
the one you were given only if it says the same, byte for byte. Signing twice
changes nothing.`,
		Example: `  concordia attest receipt countersign receipt.json --transcript transcript.json --key buyer.key --keys keys.json`,
		Args:    cli.Takes,
	}
	i := a.issue(cmd)
	cmd.Flags().StringVar(&transcript, "transcript", "", "`file` with the transcript of the session")
	cmd.Flags().BoolVar(&witness, "witness", false, "sign as a witness, who is no party")
	importFlag(cmd, &imported)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if transcript == "" {
			return cli.Usagef("--transcript is missing: nobody signs what did not happen before their eyes")
		}
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		v, err := readJSONInput(args[0])
		if err != nil {
			return err
		}
		t, err := a.transcriptOf(transcript, issuer, imported)
		if err != nil {
			return err
		}
		want, err := receiptOf(t, issuer)
		if err != nil {
			return err
		}
		v = receiptIn(v)
		if !attest.Countersigned(v).Equal(attest.Countersigned(want)) {
			return cli.Exit(cli.Rejected, errOtherReceipt)
		}
		signed, err := signReceipt(v, issuer, witness)
		if err != nil {
			return cli.Exit(cli.Rejected, err)
		}
		// The signatures of others that are there already are theirs.
		if _, report := issuer.Verifier().VerifyAttestation(signed); report.Outcome() == wire.Failed && attest.SignedByAll(signed) {
			return cli.Exit(cli.Rejected, fmt.Errorf("countersigning: %w", report.Err()))
		}
		return a.artifact(signed, nil)
	}
	return cmd
}

func (a *app) receiptConfirmCommand() *cobra.Command {
	return a.makesOf(&cobra.Command{
		Use: "confirm RECEIPT", Short: "Confirm or deny, in a receipt, that the agreement was honored",
		Long: `confirm puts a fulfillment into a receipt of yours, which your signature confirms or
denies. The receipt was countersigned without it and stays as it was. Statuses:
fulfilled, partial, unfulfilled, disputed, pending, fulfilled_with_mediation.`,
		Example: `  concordia attest receipt confirm receipt.json --status fulfilled --key buyer.key --keys keys.json`,
		Args:    cli.Takes,
	}, func(i attest.Issuer, draft wire.Value, of []wire.Value) (wire.Value, error) {
		return i.Confirm(receiptIn(of[0]), draft)
	},
		[4]string{"status", "status", "`status`: what became of the agreement", "text"},
		[4]string{"confirms", "counterparty_attestation.confirms_fulfillment", "`true|false`; by default what the status says", "bool"},
		[4]string{"notes", "counterparty_attestation.notes", "`text` without prices, amounts or quantities", "text"},
		[4]string{"settled-at", "settled_at", "`time` of the settlement, now by default", "time"},
		[4]string{"protocol", "settlement_protocol", "`name`: acp, ap2, x402, stripe, lightning, escrow or custom", "text"},
	)
}

func (a *app) receiptShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show RECEIPT", Short: "Show what a receipt says, verified or not",
		Long:    `show prints a receipt for people. It verifies nothing: concordia verify does.`,
		Example: `  concordia attest receipt show receipt.json`,
		Args:    cli.Takes,
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := readJSONInput(args[0])
			if err != nil {
				return err
			}
			r, err := attest.ReadAttestation(receiptIn(v))
			if err != nil {
				return cli.Exit(cli.Rejected, err)
			}
			rows := [][]string{
				{"receipt", cli.Printable(r.ID)}, {"session", cli.Printable(string(r.Session))}, {"at", wire.FormatTime(r.Time)},
				{"outcome", fmt.Sprintf("%s after %s", r.Outcome.Status, plural(r.Outcome.Rounds, "round"))},
			}
			signatures, _ := receiptIn(v).Get("countersignatures")
			for _, p := range r.Parties {
				signed := "not signed"
				if _, ok := signatures.Get(string(p.Agent)); ok {
					signed = "signed"
				}
				rows = append(rows, []string{string(p.Role), cli.Printable(string(p.Agent)), signed})
			}
			if r.Meta.Category != "" {
				rows = append(rows, []string{"category", cli.Printable(r.Meta.Category)})
			}
			if r.Fulfillment != nil {
				rows = append(rows, []string{"fulfillment", cli.Printable(r.Fulfillment.Status)})
			}
			a.out.table(append(rows, []string{"not verified", "concordia verify says whether it stands"}))
			return a.out.value(receiptIn(v))
		},
	}
}

// plural says "1 round", "2 rounds".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprint(n, " ", noun, "s")
}

// receipts reads receipts out of files: one, an array, one a line, or in a transcript.
func receipts(paths []string) ([]wire.Value, error) {
	var list []wire.Value
	for _, path := range paths {
		v, err := readJSONInput(path)
		if err != nil {
			return nil, err
		}
		if v.Kind() != wire.Array {
			list = append(list, receiptIn(v))
			continue
		}
		for _, e := range v.Elems() {
			list = append(list, receiptIn(e))
		}
	}
	return list, nil
}

func (a *app) bundleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bundle RECEIPT...", Short: "Show your receipts together, with what they add up to",
		Long: `bundle makes a signed bundle of receipts, in which you are a party, and their sum.
Each receipt is verified first: --keys gives the keys of the others.`,
		Example: `  concordia attest bundle receipts.ndjson --key seller.key --keys keys.json`,
		Args:    cli.Takes,
	}
	i := a.issue(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		list, err := receipts(args)
		if err != nil {
			return err
		}
		return a.artifact(issuer.Bundle(list))
	}
	return cmd
}

func (a *app) proofCommand() *cobra.Command {
	var reveal []string
	var all bool
	cmd := &cobra.Command{
		Use: "proof RECEIPT...", Short: "Prove your history and reveal no more of it than you want",
		Long: `proof commits to all receipts and shows those that --reveal names by their id. Only
what is revealed in full proves the sums: with less they are your word.`,
		Example: `  concordia attest proof receipts.ndjson --reveal att_1 --key seller.key --keys keys.json
  concordia attest proof receipts.ndjson --all --key seller.key --keys keys.json`,
		Args: cli.Takes,
	}
	i := a.issue(cmd)
	cmd.Flags().StringArrayVar(&reveal, "reveal", nil, "`id` of a receipt to show (repeatable)")
	cmd.Flags().BoolVar(&all, "all", false, "show all of them")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		issuer, err := i.issuer()
		if err != nil {
			return err
		}
		list, err := receipts(args)
		if err != nil {
			return err
		}
		if all {
			reveal = nil
			for _, v := range list {
				id, _ := v.Get("attestation_id")
				reveal = append(reveal, id.Text())
			}
		}
		return a.artifact(issuer.Competence(list, reveal...))
	}
	return cmd
}
