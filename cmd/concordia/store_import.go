package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) storeImportCommand(dir *string) *cobra.Command {
	i := &issuing{app: a}
	var unverified bool
	var with verifyOptions
	var policy attest.Policy
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Verify artifacts and put them into a store",
		Long: `import verifies what is in each file, as concordia verify does, and stores what passes;
of a transcript, its receipt. It reads what verify reads: an artifact, an array, one a
line, directories, - for standard input. What is stored already is no error. The store
is made if there is none.

What an artifact is used for is judged when it is used, by verify: the offer of an
approval, the uses of a mandate, whether it is revoked. What fails is never stored;
--unverified stores what could not be checked for want of a key, and marks it until it
is imported again with the key. Old artifacts pass as of the time in --at.

Exit codes: 0 all is stored, 1 any was refused, 2 wrong usage, 3 it could not be tried.`,
		Example: `  concordia store import receipt.json --keys keys.json --store archive
  concordia store import case/ received.ndjson --keys keys.json --at 2026-09-14T09:03:17Z --store archive`,
		Args: cli.Takes,
	}
	cmd.Flags().StringArrayVar(&i.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&i.at, "at", "", "judge at this `time` instead of now")
	cmd.Flags().BoolVar(&unverified, "unverified", false, "also store what could not be checked, and mark it")
	with.only(cmd, "publisher", "signer")
	policyFlags(cmd, &policy)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		now, err := i.now()
		if err != nil {
			return err
		}
		keys, err := readKeys(i.keyFiles)
		if err != nil {
			return err
		}
		context, err := with.context()
		if err != nil {
			return err
		}
		s, err := makeStore(*dir)
		if err != nil {
			return err
		}
		run := importRun{
			app: a, store: s, with: &with, unverified: unverified,
			subject: conformance.Subject{Keys: keys, Now: now, Context: context, Each: parallel, Policy: policy},
		}
		run.candidate = run.judge
		return errors.Join(run.files(cmd.Context(), args, func(in iter.Seq[input]) iter.Seq[input] { return in }), s.Close())
	}
	return cmd
}

// leftToUse are the checks, by kind, that are about what an artifact is used for, and
// not made when nobody uses it.
var leftToUse = map[string][]string{
	"approval_receipt": {"offer-hash"},
	"mandate":          {"validity", "uses", "action", "delegated-action"},
	"cosign":           {"publisher", "parties"},
}

// importBatch is how many artifacts are verified at the same time and stored in one
// transaction.
const importBatch = 1024

// An importRun is the import of many artifacts.
type importRun struct {
	app        *app
	store      *store.Store
	with       *verifyOptions
	subject    conformance.Subject
	unverified bool
	candidate  func(input) (store.Candidate, error)

	count   map[store.Status]int
	fresh   map[wire.Hash]bool // of what is new, or newly verified
	records []wire.Value
	refused []refusal
	unread  error
}

// A refusal is an artifact that was not stored, and why.
type refusal struct {
	File    string   `json:"file"`
	Kind    string   `json:"kind"`
	Problem *problem `json:"problem"`
}

// files imports what choose makes of the artifacts in files.
func (r *importRun) files(ctx context.Context, files []string, choose func(iter.Seq[input]) iter.Seq[input]) error {
	r.count, r.fresh, r.refused = map[store.Status]int{}, map[wire.Hash]bool{}, []refusal{}
	progress := r.app.progress("importing", sizeOf(files))
	defer progress.done()
	stored := make(chan error, 1) // of the batch before: it is written while this one is verified
	stored <- nil
	put := func(list []input) error {
		candidates, err := r.judgeAll(list)
		if err := errors.Join(<-stored, err); err != nil {
			stored <- nil
			return err
		}
		go func() { stored <- r.add(ctx, list, candidates) }()
		return nil
	}
	var waiting []input
	for in := range choose(inputs(files, progress.add)) {
		if waiting = append(waiting, in); len(waiting) == importBatch {
			if err := put(waiting); err != nil {
				return err
			}
			waiting = nil
		}
	}
	if err := errors.Join(put(waiting), <-stored); err != nil {
		return err
	}
	progress.done()
	return r.end()
}

// judgeAll verifies artifacts, at the same time.
func (r *importRun) judgeAll(list []input) ([]store.Candidate, error) {
	candidates := make([]store.Candidate, len(list))
	errs := make([]error, len(list))
	parallel(len(list), func(i int) { candidates[i], errs[i] = r.candidate(list[i]) })
	return candidates, errors.Join(errs...)
}

// add stores artifacts and notes what became of them.
func (r *importRun) add(ctx context.Context, list []input, candidates []store.Candidate) error {
	answers, err := r.store.Add(ctx, r.app.now(), r.unverified, candidates...)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		r.count[answer.Status]++
		switch {
		case list[i].unread != nil:
			r.unread = errors.Join(r.unread, list[i].unread)
			r.count[answer.Status]--
		case answer.Status == store.Refused:
			kind := kindName(candidates[i].Kind)
			if kind == "" {
				kind = "unknown"
			}
			r.refused = append(r.refused, refusal{list[i].name, kind, problemOf(answer.Err)})
			r.app.out.printf("%s: %s: %s: %s\n", cli.Printable(list[i].name), kind, r.app.out.paint(red, "refused"), cli.Visible(answer.Err.Error()))
		case answer.Status != store.Known:
			r.fresh[answer.Hash] = true
			if candidates[i].Kind == "revocation" {
				r.records = append(r.records, candidates[i].Value)
			}
		}
	}
	return nil
}

// judge verifies one artifact, but for what only its use can show.
func (r *importRun) judge(in input) (store.Candidate, error) {
	switch {
	case in.unread != nil:
		return store.Candidate{Report: wire.Report{wire.Find("read", false, &wire.Unchecked{Why: "it was not read"})}}, nil
	case in.err != nil:
		return store.Candidate{Report: wire.Report{wire.Find("read", false, in.err)}}, nil
	}
	subject := r.subject
	subject.Artifact = receiptIn(in.value)
	v, err := verifyValue(subject, r.with, nil)
	for i, f := range v.report {
		if f.Outcome == wire.NotChecked && !errors.Is(f.Err, wire.RuleUnknownKey) && slices.Contains(leftToUse[v.kind], f.Check) {
			v.report[i].Optional = true
		}
	}
	return store.Candidate{Value: subject.Artifact, Kind: v.kind, Report: v.report}, err
}

// end says what became of all of them: what is in conflict depends on what came after
// it, too.
func (r *importRun) end() error {
	conflicting := []storedEntry{}
	for e, err := range r.store.List(store.Filter{Conflicts: true}) {
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		if !r.fresh[e.Hash] || err != nil {
			continue
		}
		conflicting = append(conflicting, storedValue(e))
		r.app.out.printf("%s: %s\n", cli.Printable(e.ID), r.app.out.paint(yellow, "conflict"))
		for _, c := range e.Conflicts {
			r.app.out.printf("  %s\n", conflictText(c))
		}
	}
	reaches := []withdrawn{}
	err := r.store.Reached(r.subject.Verifier(), r.records, nil, func(i int, reached []attest.Reached, report wire.Report) error {
		reaches = append(reaches, r.withdrawn(r.records[i], reached, report))
		return nil
	})
	if err != nil {
		return err
	}
	n := 0
	for _, k := range r.count {
		n += k
	}
	r.app.out.printf("%s: %d new, %d known, %d confirmed, %d in conflict, %d refused\n", plural(n, "artifact"),
		r.count[store.New], r.count[store.Known], r.count[store.Confirmed], len(conflicting), r.count[store.Refused])
	if err := r.app.out.value(map[string]any{
		"new": r.count[store.New], "known": r.count[store.Known], "confirmed": r.count[store.Confirmed],
		"conflicts": conflicting, "refused": r.refused, "revocations": reaches,
	}); err != nil {
		return err
	}
	if r.count[store.Refused] > 0 {
		return cli.Exit(cli.Rejected, r.unread)
	}
	return r.unread
}

// A withdrawn is what a new revocation record reaches in the store, for programs.
type withdrawn struct {
	ID      string   `json:"id"`
	Reaches []step   `json:"reaches"`
	More    int      `json:"more,omitempty"` // that it reaches besides
	Problem *problem `json:"problem,omitempty"`
}

// maxReached is how many artifacts an import names that one record reaches: many records
// of what many depend on would be told of for each of all of them.
const maxReached = 64

func (r *importRun) withdrawn(record wire.Value, reached []attest.Reached, report wire.Report) withdrawn {
	id, _ := record.Get("revocation_id")
	reached = slices.DeleteFunc(reached, func(a attest.Reached) bool { return a.ID == id.Text() }) // it depends on what it revokes
	more := max(0, len(reached)-maxReached)
	reached = reached[:len(reached)-more]
	w := withdrawn{id.Text(), reachedValue(reached), more, problemOf(report.Err())}
	for _, a := range reached {
		how := "revokes"
		if a.Depth > 0 {
			how = "reaches"
		}
		r.app.out.printf("%s: %s %s\n", cli.Printable(w.ID), how, cli.Printable(a.ID))
	}
	if more > 0 {
		r.app.out.printf("%s: reaches %d more\n", cli.Printable(w.ID), more)
	}
	return w
}
