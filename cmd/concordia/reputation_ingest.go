package main

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) ingestCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "ingest FILE...",
		Short: "Verify evidence and put it into a store",
		Long: `ingest verifies the receipts in files, also those of bundles and transcripts, and the
fulfillment attestations, and puts what passes into the store in --store, which is made
if there is none. score, explain and query read it there. Evidence may be of any age;
what is no evidence is left out.

The store is that of concordia store: what is in it can be listed, exported and deleted
with that.

Exit codes: 0 all of it passed, 1 any evidence was refused, 2 wrong usage, 3 it could not
be tried.`,
		Example: `  concordia reputation ingest receipts/ bundle.json --keys keys.json --store archive
  concordia reputation score agent_seller --store archive --keys keys.json`,
		Args: cobra.MinimumNArgs(1),
	}
	g := &gathering{app: a, Refused: []unfit{}}
	cmd.Flags().StringArrayVar(&g.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&g.at, "at", "", "judge at this `time` instead of now")
	cmd.Flags().StringVar(&dir, "store", "", "the `directory` of the store")
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if err := g.open(); err != nil {
			return err
		}
		s, err := makeStore(dir)
		if err != nil {
			return err
		}
		run := importRun{
			app: a, store: s, with: &g.with, candidate: g.candidate,
			subject: conformance.Subject{Keys: g.keys, Now: g.now, Each: parallel},
		}
		return errors.Join(run.files(cmd.Context(), files, evidenceIn), s.Close())
	}
	return cmd
}

// evidenceIn yields the receipts and fulfillment attestations among artifacts, and
// those in bundles and transcripts, one by one.
func evidenceIn(artifacts iter.Seq[input]) iter.Seq[input] {
	return func(yield func(input) bool) {
		for in := range artifacts {
			if in.value.Kind() != wire.Object {
				if (in.err != nil || in.unread != nil) && !yield(in) {
					return
				}
				continue
			}
			in.value = receiptIn(in.value)
			switch kindOfEvidence(in.value) {
			case "receipt", "fulfillment":
				if !yield(in) {
					return
				}
			case "bundle":
				list, _ := in.value.Get("attestations")
				for i, r := range list.Elems() {
					if !yield(input{name: fmt.Sprintf("%s#/attestations/%d", in.name, i), value: r, many: true}) {
						return
					}
				}
			}
		}
	}
}

// candidate judges a piece of evidence for the store.
func (g *gathering) candidate(in input) (store.Candidate, error) {
	found := g.look(in)[0]
	switch {
	case found.unread != nil:
		return store.Candidate{Report: wire.Report{wire.Find("read", false, &wire.Unchecked{Why: "it was not read"})}}, nil
	case found.report == nil:
		found.report = wire.Report{wire.Find("read", false, &wire.Unchecked{Why: "it is no evidence"})}
	}
	return store.Candidate{Value: in.value, Kind: conformance.KindOf(in.value), Report: found.report}, nil
}

// storedInputs yields the artifacts of a kind in a store. read is told their sizes.
func storedInputs(s *store.Store, kind string, read func(int)) iter.Seq[input] {
	return func(yield func(input) bool) {
		for e, err := range s.List(store.Filter{Kind: kind}) {
			in := input{name: e.Hash.String(), value: e.Value, many: true}
			if err != nil {
				in.unread = err
			}
			read(len(e.Value.Canonical()))
			if !e.Unverified && !yield(in) {
				return
			}
		}
	}
}
