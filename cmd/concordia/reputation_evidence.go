package main

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// A gathering is evidence from files.
type gathering struct {
	app                   *app
	keyFiles              []string
	at, store             string
	with                  verifyOptions
	keys                  wire.Keys
	now                   time.Time
	verifier              attest.Verifier
	ledger                reputation.Ledger
	holders               []wire.AgentID // who showed bundles
	Receipts              int            `json:"receipts"`     // that are new
	Fulfillments          int            `json:"fulfillments"` // and what was said of them
	Repeated              int            `json:"repeated"`     // that change nothing
	Others                int            `json:"others"`       // that are no evidence
	Refused               []unfit        `json:"refused"`
	unread                error
	rejected, notVerified bool
}

// An unfit is an artifact that is no evidence, or a revoked one, and why.
type unfit struct {
	File    string       `json:"file"`
	Verdict wire.Outcome `json:"verdict"`
	Check   string       `json:"check"`
	Problem *problem     `json:"problem"`
}

// gather adds the flags of evidence.
func (a *app) gather(cmd *cobra.Command) *gathering {
	g := &gathering{app: a, Refused: []unfit{}}
	cmd.Flags().StringArrayVar(&g.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&g.at, "at", "", "judge at this `time` instead of now")
	cmd.Flags().StringVar(&g.store, "store", "", "also take what is in the store in this `directory` (concordia reputation ingest)")
	g.with.only(cmd, "revocations", "revoker")
	return g
}

// open reads keys, time and revocations.
func (g *gathering) open() error {
	var err error
	if g.keys, err = readKeys(g.keyFiles); err != nil {
		return err
	}
	g.now = g.app.now()
	if g.at != "" {
		if g.now, err = wire.ParseTime(g.at); err != nil {
			return cli.Usagef("--at: %v", err)
		}
	}
	g.verifier = attest.Verifier{Keys: g.keys, Now: g.now, Each: parallel}
	subject := conformance.Subject{Keys: g.keys, Now: g.now, Revokers: g.with.revoker}
	g.with.store = g.store
	records, err := g.with.revoked(&subject)
	if err != nil {
		return err
	}
	for _, f := range records {
		g.refuse("--revocations", wire.Report{f})
	}
	g.verifier.Revocations = subject.Revocations
	return nil
}

// A found is an artifact that was looked at.
type found struct {
	name     string
	evidence *reputation.Evidence
	report   wire.Report // nil: it is no evidence
	unread   error
	holder   wire.AgentID
}

// readAll verifies what is in files and in the store, and keeps what is evidence.
func (g *gathering) readAll(files []string) error {
	size := sizeOf(files)
	if g.store != "" {
		size = -1
	}
	progress := g.app.progress("verifying", size)
	defer progress.done()
	g.read(inputs(files, progress.add))
	if g.store == "" {
		return nil
	}
	s, err := openStore(g.store, true)
	if err != nil {
		return err
	}
	for _, kind := range []string{"attestation", "fulfillment"} {
		g.read(storedInputs(s, kind, progress.add))
	}
	return s.Close()
}

// read verifies artifacts, wherever they come from, and keeps what is evidence.
func (g *gathering) read(artifacts iter.Seq[input]) {
	var waiting []input
	for in := range artifacts {
		if waiting = append(waiting, in); len(waiting) == batch {
			g.add(waiting)
			waiting = waiting[:0]
		}
	}
	g.add(waiting)
}

// add verifies a batch. What comes out does not depend on the order.
func (g *gathering) add(list []input) {
	results := make([][]found, len(list))
	parallel(len(list), func(i int) { results[i] = g.look(list[i]) })
	for _, all := range results {
		for _, f := range all {
			g.take(f)
		}
	}
}

// look verifies one artifact, or each receipt of a bundle.
func (g *gathering) look(in input) []found {
	one := found{name: in.name, unread: in.unread}
	switch {
	case in.unread != nil:
	case in.err != nil:
		one.report = wire.Report{wire.Find("read", false, in.err)}
	default:
		return g.judge(in.name, in.value)
	}
	return []found{one}
}

func (g *gathering) judge(name string, v wire.Value) []found {
	one := found{name: name}
	if receipt, ok := v.Get("receipt"); ok && conformance.KindOf(v) == "transcript" {
		v = receipt
	}
	switch kindOfEvidence(v) {
	case "receipt":
		one.evidence, one.report = reputation.VerifyReceipt(g.verifier, v)
	case "fulfillment":
		one.evidence, one.report = reputation.VerifyFulfillment(g.verifier, v)
	case "bundle":
		bundle, report := g.verifier.VerifyBundle(v)
		if one.report = report; report.Outcome() != wire.Passed {
			break
		}
		all := []found{{name: name, report: report, holder: bundle.Agent}}
		list, _ := v.Get("attestations")
		for i, r := range list.Elems() {
			f := found{name: fmt.Sprintf("%s#/attestations/%d", name, i)}
			f.evidence, f.report = reputation.VerifyReceipt(g.verifier, r)
			all = append(all, f)
		}
		return all
	}
	return []found{one}
}

// kindOfEvidence tells a receipt, also that of a transcript, a bundle and a fulfillment
// attestation from what is no evidence. It asks who says under which kind an artifact is
// kept: verified as one kind and kept as another, it would say what nobody signed.
func kindOfEvidence(v wire.Value) string {
	switch conformance.KindOf(v) {
	case "attestation":
		return "receipt"
	case "receipt_bundle":
		return "bundle"
	case "fulfillment":
		return "fulfillment"
	}
	return ""
}

func (g *gathering) take(f found) {
	switch {
	case f.unread != nil:
		g.unread = errors.Join(g.unread, f.unread)
		return
	case f.holder != "":
		g.holders = append(g.holders, f.holder)
		return
	case f.report == nil:
		g.Others++
		return
	}
	if f.evidence != nil {
		before := g.ledger.Len()
		switch added := g.ledger.Add(f.evidence); {
		case g.ledger.Len() > before:
			g.Receipts++
		case added:
			g.Fulfillments++
		default:
			g.Repeated++
		}
	}
	g.refuse(f.name, f.report)
}

// refuse remembers what does not verify.
func (g *gathering) refuse(name string, r wire.Report) {
	verdict := r.Outcome()
	g.rejected = g.rejected || verdict == wire.Failed
	g.notVerified = g.notVerified || verdict == wire.NotChecked
	for _, f := range r {
		if !f.Optional && f.Outcome == verdict && verdict != wire.Passed {
			g.Refused = append(g.Refused, unfit{name, verdict, f.Check, problemOf(f.Err)})
			return
		}
	}
}

// end says what was no evidence, and how the program ends.
func (g *gathering) end() error {
	for _, r := range g.Refused {
		g.app.out.printf("%s: %s: %s: %s\n", cli.Printable(r.File), g.app.out.outcome(r.Verdict), r.Check, cli.Visible(r.Problem.Message))
	}
	g.app.out.printf("evidence: %s, %s, %d repeated, %d refused or revoked, %d of other kinds\n",
		plural(g.Receipts, "receipt"), plural(g.Fulfillments, "fulfillment"), g.Repeated, len(g.Refused), g.Others)
	return g.exit()
}

func (g *gathering) exit() error {
	switch {
	case g.rejected:
		return cli.Exit(cli.Rejected, g.unread)
	case g.unread != nil:
		return g.unread
	case g.notVerified:
		return exit(wire.NotChecked)
	}
	return nil
}
