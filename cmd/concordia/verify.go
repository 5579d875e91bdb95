package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) verifyCommand() *cobra.Command {
	var keyFiles []string
	var at string
	var cases, verbose bool
	var with verifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Verify transcripts, receipts and every other signed artifact offline",
		Long: `verify checks what is in each file and says so, check by check: a transcript with
or without its receipt, a receipt, a message, messages one a line, an approval, a
mandate, a predicate, a revocation, a bundle of receipts, a proof, or any other
artifact of the protocol. Agents whose id is a did:key need no key; of the others
--keys gives them, a JSON object of agent id and base64url public key.

What an artifact is to be judged for comes from you, too: the offer that an approval
has to be about, the action that a mandate has to allow, who has to have signed it.
What is left out is not checked, and the report says that. Records in --revocations
count if they verify and are the artifact's own issuer's or a --revoker's. That a
signature verifies does not say that you should believe who made it: read "by".

With --case each file holds an artifact together with the keys, the time and the
verdict to expect. An index.json with a list of files stands for those, a directory
for what its index.json lists or else for every .json file in it. Kinds of artifact
that this version does not judge are counted. Arguable cases are shown and never
decide the exit code.`,
		Example: `  concordia verify transcript.json
  concordia verify receipt.json --keys keys.json --at 2026-09-14T09:03:17Z
  concordia verify approval.json --keys keys.json --offer offer.json
  concordia verify mandate.json --keys keys.json --action action.json --uses 0 --revocations revoked.json
  concordia verify --case cases/index.json`,
		Args: cli.Takes,
		RunE: func(cmd *cobra.Command, args []string) error {
			with.note(cmd)
			now := a.now()
			if at != "" {
				t, err := wire.ParseTime(at)
				if err != nil {
					return cli.Usagef("--at: %v", err)
				}
				now = t
			}
			if cases {
				if len(keyFiles) > 0 || at != "" || !with.isZero() {
					return cli.Usagef("a case brings its own keys, time, context and rules: leave out all flags but -v")
				}
				return a.verifyCases(args, verbose)
			}
			known, err := readKeyFiles(keyFiles)
			if err != nil {
				return err
			}
			context, err := with.context()
			if err != nil {
				return err
			}
			return a.verifyFiles(args, conformance.Subject{
				Keys: wire.AnyKeys{known, wire.DIDKeys{}}, Now: now, Context: context, Revokers: with.revoker, Each: parallel,
			}, &with)
		},
	}
	cmd.Flags().StringArrayVar(&keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&at, "at", "", "judge at this `time` instead of now")
	importFlag(cmd, &with.imported)
	with.flags(cmd)
	cmd.Flags().BoolVar(&cases, "case", false, "the files are self-contained cases")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "with --case: also show the cases that came out as expected")
	return cmd
}

// readKeys reads the files of --keys. did:key ids resolve themselves.
func readKeys(files []string) (wire.Keys, error) {
	known, err := readKeyFiles(files)
	return wire.AnyKeys{known, wire.DIDKeys{}}, err
}

func readKeyFiles(files []string) (wire.KeyMap, error) {
	known := make(wire.KeyMap)
	for _, path := range files {
		v, err := readJSON(path)
		if err != nil {
			return nil, err
		}
		for id, text := range v.Members() {
			key, err := wire.DecodePublicKey(text.Text())
			if err != nil {
				return nil, fmt.Errorf("reading the key of %q in %s: %w", id, path, err)
			}
			known[wire.AgentID(id)] = key
		}
		if v.Kind() != wire.Object {
			return nil, fmt.Errorf("reading %s: want a JSON object of agent id and public key", path)
		}
	}
	return known, nil
}

// readFile reads a file of bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wire.MaxDocumentSize+1))
	if err == nil && len(data) > wire.MaxDocumentSize {
		err = fmt.Errorf("reading %s: larger than %d bytes", path, wire.MaxDocumentSize)
	}
	return data, err
}

func readJSON(path string) (wire.Value, error) {
	data, err := readFile(path)
	if err != nil {
		return wire.Value{}, err
	}
	v, err := parseDocument(data)
	if err != nil {
		return v, fmt.Errorf("reading %s: %w", path, err)
	}
	return v, nil
}

// parseDocument reads a JSON text, or one a line as an array.
func parseDocument(data []byte) (wire.Value, error) {
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err == nil || !errors.Is(err, wire.RuleSyntax) {
		return v, err
	}
	var joined []byte
	n := 0
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			joined = append(append(joined, ','), line...)
			n++
		}
	}
	if n < 2 {
		return wire.Value{}, err
	}
	joined[0] = '['
	lines, lineErr := wire.Parse(append(joined, ']'), wire.DocumentLimits)
	if lineErr != nil || lines.Len() != n {
		return wire.Value{}, err
	}
	return lines, nil
}

// A verification is what became of one file.
type verification struct {
	File     string         `json:"file"`
	Kind     string         `json:"kind"`
	Verdict  wire.Outcome   `json:"verdict"`
	State    protocol.State `json:"state,omitempty"`
	Messages int            `json:"messages,omitempty"`
	Says     []told         `json:"says,omitempty"`
	Checks   []finding      `json:"checks"`
	kind     string         // as package conformance names it
	report   wire.Report
}

// verifyValue checks whatever kind of artifact s is about.
func verifyValue(s conformance.Subject, with *verifyOptions) (verification, error) {
	v := s.Artifact
	kind := conformance.KindOf(v)
	r := verification{kind: kind, Says: facts(kind, v)}
	switch kind {
	case "transcript":
		r.Kind = kind
		doc, err := session.ReadDocument(v)
		if err != nil {
			r.report = wire.Report{wire.Find("read", false, err)}
			break
		}
		var t *session.Transcript
		t, r.report = doc.Check(doc.SessionID(), s.Keys, s.Now, &session.Options{Import: with.imported}, parallel)
		at := t.Session().At(s.Now)
		r.State, r.Messages = at.State(), at.Len()
	case "attestation":
		r.Kind = "receipt"
		_, r.report = s.Verifier().VerifyAttestation(v, attest.OutcomeBound())
	case "":
		r.Kind = "unknown"
		r.report = wire.Report{wire.Find("read", false, &wire.Unchecked{Why: "it is no artifact that this version knows"})}
	default:
		r.Kind = strings.ReplaceAll(kind, "_", " ")
		var err error
		if r.report, err = conformance.JudgeAs(kind, s); err != nil {
			return r, err
		}
	}
	if slices.Contains(kindsOfFile[kind].flags, "revocations") {
		r.report = append(r.report, failedRecords(s)...)
	}
	if with.by != "" {
		r.report = append(r.report, signedBy(kind, v, with.by))
	}
	return r, nil
}

var errOtherSigner = errors.New("somebody else signed it")

func (a *app) verifyFiles(files []string, subject conformance.Subject, with *verifyOptions) error {
	verdict := wire.Passed
	results := []verification{}
	var unread error // what could not be tried; the other files are
	for _, path := range files {
		r := verification{Kind: "unreadable"}
		data, err := readFile(path)
		if err != nil {
			unread = errors.Join(unread, err)
			r.report = wire.Report{wire.Find("read", false, &wire.Unchecked{Why: err.Error()})}
		} else if v, err := parseDocument(data); err != nil {
			r.report = wire.Report{wire.Find("read", false, err)}
		} else {
			subject.Artifact = v
			if r, err = verifyValue(subject, with); err != nil {
				return err
			}
		}
		r.File, r.Verdict, r.Checks = path, r.report.Outcome(), findings(r.report)
		results = append(results, r)
		if r.Verdict == wire.Failed || verdict == wire.Passed {
			verdict = r.Verdict
		}
		a.printVerification(r)
	}
	if err := a.out.value(results); err != nil {
		return err
	}
	var kinds []string
	for _, r := range results {
		kinds = append(kinds, r.kind)
	}
	given := slices.DeleteFunc(slices.Clone(with.given), func(flag string) bool { return flag == "by" || flag == "revoker" })
	switch unused := unusedFlags(given, kinds); {
	case verdict == wire.Failed: // whatever else there is to say
		return cli.Exit(cli.Rejected, unread)
	case unread != nil:
		return unread
	case len(unused) > 0:
		return cli.Usagef("--%s means nothing for what is in these files", unused[0])
	}
	return exit(verdict)
}

func (a *app) printVerification(r verification) {
	what := r.Kind
	if r.Kind == "transcript" {
		what = fmt.Sprintf("transcript, %d messages, %s", r.Messages, r.State)
	}
	a.out.printf("%s: %s: %s\n", cli.Printable(r.File), what, a.out.outcome(r.Verdict))
	for _, f := range r.Says {
		a.out.printf("  %s %s\n", f.Name, cli.Printable(f.Value))
	}
	a.out.report(r.report)
}
