package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) verifyCommand() *cobra.Command {
	var from trust
	var at string
	var cases bool
	var with verifyOptions
	var policy attest.Policy
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Verify transcripts, receipts and every other signed artifact offline",
		Long: `verify checks what is in each file and says so, check by check: a transcript with
or without its receipt, a receipt, a message, messages one a line, an approval, a
mandate, a predicate, a revocation, a bundle of receipts, a proof, archived mail, or
any other artifact of the protocol. Agents whose id is a did:key need no key; of the others
--keys gives them, a JSON object of agent id and base64url public key. Instead of one
key there may be a list of {"key": …, "from": …, "until": …}, for a key that was changed.

Nothing is asked over the network, unless you say --online. Then verify connects to
hosts that whoever made a file has chosen: for the key of a did:web that --keys does
not list, to its host; and if a mandate or predicate whose signature verifies names a
revocation endpoint, to that. It connects over HTTPS, to public addresses only, by no
proxy, and follows no redirect. Who does not answer leaves a check unmade.

What an artifact is to be judged for comes from you, too: the offer that an approval
has to be about, the action that a mandate has to allow, who has to have signed it.
What is left out is not checked, and the report says that. Records in --revocations,
and those in the store of --store, count if they verify and are the artifact's own
issuer's or a --revoker's. That a
signature verifies does not say that you should believe who made it: read "by".

FILE may hold one artifact, an array of them or one a line (NDJSON), be a directory
with such files, or - for standard input. Of many artifacts those are shown that do
not pass, and how many do.

With --case each file holds an artifact together with the keys, the time and the
verdict to expect. An index.json with a list of files stands for those, a directory
for what its index.json lists or else for every .json file in it. Kinds of artifact
that this version does not judge are counted. Arguable cases are shown and never
decide the exit code.`,
		Example: `  concordia verify transcript.json
  concordia verify receipt.json --keys keys.json --at 2026-09-14T09:03:17Z
  concordia verify approval.json --keys keys.json --offer offer.json
  concordia verify mandate.json --keys keys.json --action action.json --uses 0 --revocations revoked.json
  concordia verify predicate.json --online
  concordia verify receipts.ndjson archive/ --max-age 30d
  concordia verify mandate.json --keys keys.json --uses 0 --store archive
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
				if !from.isZero() || at != "" || !with.isZero() {
					return cli.Usagef("a case brings its own keys, time, context and rules: leave out all flags but -v")
				}
				return a.verifyCases(args, with.verbose)
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
				Keys: keys, Now: now, Context: asks, Revokers: with.revoker, Each: parallel,
				Listed: listed, Policy: policy,
			}, &with)
		},
	}
	from.flags(cmd)
	cmd.Flags().StringVar(&at, "at", "", "judge at this `time` instead of now")
	importFlag(cmd, &with.imported)
	with.flags(cmd)
	cmd.Flags().BoolVar(&cases, "case", false, "the files are self-contained cases")
	cmd.Flags().BoolVarP(&with.verbose, "verbose", "v", false, "of many artifacts or cases, also show those that came out well")
	policyFlags(cmd, &policy)
	return cmd
}

// policyFlags add the flags of what a verifier accepts, whatever a signer allows (SPEC
// §9.7.1).
func policyFlags(cmd *cobra.Command, p *attest.Policy) {
	f := cmd.Flags()
	f.Var((*span)(&p.MaxAge), "max-age", "how old an artifact may be, such as 720h or 30d (default 90d)")
	f.Var((*span)(&p.Skew), "skew", "how far clocks may differ (default 2m)")
	f.Var((*span)(&p.MaxLifetime), "max-lifetime", "how long a validity a signer may give (default 90d)")
}

// A span is a duration of a flag, in which d stands for days of 24 hours. No time at
// all is the shortest there is, since zero stands for the default.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint16
		if _, err = fmt.Sscanf(days+".", "%d.", &n); err == nil {
			d = time.Duration(n) * 24 * time.Hour
		}
	}
	if err != nil || d < 0 {
		return errors.New("want a duration such as 2m, 36h or 30d")
	}
	*s = span(max(d, 1))
	return nil
}

func (s *span) String() string { return "" }
func (*span) Type() string     { return "duration" }

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
	if _, secret := v.Get("concordia_key"); secret && err == nil {
		v, err = wire.Value{}, errKeyFile
	}
	if err != nil {
		return v, fmt.Errorf("reading %s: %w", path, err)
	}
	return v, nil
}

// errKeyFile keeps a private key from becoming part of what is signed and shown.
var errKeyFile = errors.New("it is a key file, and keys are not for showing: name it with --key")

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

// verifyValue checks whatever kind of artifact s is about. records are findings of
// revocation records that do not verify: they leave open what they revoke.
func verifyValue(s conformance.Subject, with *verifyOptions, records []wire.Finding) (verification, error) {
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
		if _, ok := v.Get("concordia_mail"); ok {
			list, err := node.VerifyMail(v, s.Keys)
			r.Kind, r.report = "mail", wire.Report{wire.Find("letters", false, err)}
			r.Says = append(facts("mail", v), told{"letters that verify", fmt.Sprint(len(list))})
			break
		}
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
		r.report = append(r.report, records...)
		if with.store != "" {
			r.Says = append(r.Says, told{"revocations looked up", fmt.Sprint(with.lookedUp)})
		}
	}
	if with.by != "" {
		r.report = append(r.report, signedBy(kind, v, with.by))
	}
	return r, nil
}

var errOtherSigner = errors.New("somebody else signed it")

// batch is how many artifacts are verified at the same time, and printed in order.
const batch = 256

func (a *app) verifyFiles(files []string, subject conformance.Subject, with *verifyOptions) error {
	records, err := with.revoked(&subject)
	if err != nil {
		return err
	}
	run := verificationRun{app: a, subject: subject, with: with, records: records, kinds: map[string]bool{}}
	progress := a.progress("verifying", sizeOf(files))
	defer progress.done()
	var waiting []input
	for in := range inputs(files, progress.add) {
		if waiting = append(waiting, in); len(waiting) == batch {
			if err := run.verify(waiting); err != nil {
				return err
			}
			waiting = waiting[:0]
		}
	}
	if err := run.verify(waiting); err != nil {
		return err
	}
	progress.done()
	return run.end()
}

// A verificationRun is the verification of many artifacts.
type verificationRun struct {
	app     *app
	subject conformance.Subject
	with    *verifyOptions
	records []wire.Finding // of revocation records that do not verify
	kinds   map[string]bool
	count   map[wire.Outcome]int
	many    bool
	results []verification // for programs
	unread  error          // what could not be tried; the other files are
}

// verify verifies a batch and prints what became of it.
func (r *verificationRun) verify(list []input) error {
	results := make([]verification, len(list))
	errs := make([]error, len(list))
	parallel(len(list), func(i int) {
		results[i], errs[i] = r.one(list[i])
	})
	for i, v := range results {
		if errs[i] != nil {
			return errs[i]
		}
		if list[i].unread != nil {
			r.unread = errors.Join(r.unread, list[i].unread)
		}
		if r.count == nil {
			r.count = map[wire.Outcome]int{}
		}
		r.count[v.Verdict]++
		r.kinds[v.kind] = true
		r.many = r.many || list[i].many
		if r.app.out.json {
			r.results = append(r.results, v)
		} else if !list[i].many || v.Verdict != wire.Passed || r.with.verbose {
			r.app.printVerification(v)
		}
	}
	return nil
}

func (r *verificationRun) one(in input) (verification, error) {
	v := verification{Kind: "unreadable"}
	switch {
	case in.unread != nil:
		v.report = wire.Report{wire.Find("read", false, &wire.Unchecked{Why: in.unread.Error()})}
	case in.err != nil:
		v.report = wire.Report{wire.Find("read", false, in.err)}
	default:
		subject := r.subject
		subject.Artifact = in.value
		var err error
		if v, err = verifyValue(subject, r.with, r.records); err != nil {
			return v, err
		}
	}
	v.File, v.Verdict, v.Checks = in.name, v.report.Outcome(), findings(v.report)
	return v, nil
}

// end says what became of all of them.
func (r *verificationRun) end() error {
	if r.app.out.json {
		if err := r.app.out.value(append([]verification{}, r.results...)); err != nil {
			return err
		}
	} else if r.many {
		r.app.out.printf("%s: %d pass, %d fail, %d not checked\n", plural(r.count[wire.Passed]+r.count[wire.Failed]+r.count[wire.NotChecked], "artifact"),
			r.count[wire.Passed], r.count[wire.Failed], r.count[wire.NotChecked])
	}
	given := slices.DeleteFunc(slices.Clone(r.with.given), func(flag string) bool { return slices.Contains([]string{"by", "revoker", "store"}, flag) })
	switch unused := unusedFlags(given, slices.Collect(maps.Keys(r.kinds))); {
	case r.count[wire.Failed] > 0: // whatever else there is to say
		return cli.Exit(cli.Rejected, r.unread)
	case r.unread != nil:
		return r.unread
	case len(unused) > 0:
		return cli.Usagef("--%s means nothing for what is in these files", unused[0])
	case r.count[wire.NotChecked] > 0:
		return exit(wire.NotChecked)
	}
	return nil
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
