package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) storeShowCommand(dir *string) *cobra.Command {
	i := &issuing{app: a}
	var revokers []string
	cmd := &cobra.Command{
		Use:   "show ID|HASH",
		Short: "Show an artifact of a store, its conflicts and whether it is revoked",
		Long: `show prints what an artifact says of itself, what it is in conflict with, and the
revocation records of the store that are about it or about what it depends on. A record
counts if it verifies and is the revoked artifact's own issuer's or a --revoker's. If
several artifacts have the ID, all are shown.`,
		Example: `  concordia store show urn:concordia:mandate:7 --keys keys.json --store archive`,
		Args:    cli.Takes,
	}
	cmd.Flags().StringArrayVar(&i.keyFiles, "keys", nil, "JSON `file` with the public keys to trust (repeatable)")
	cmd.Flags().StringVar(&i.at, "at", "", "judge at this `time` instead of now")
	cmd.Flags().StringArrayVar(&revokers, "revoker", nil, "`id` of an agent whose revocations count against anything (repeatable)")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		now, err := i.now()
		if err != nil {
			return err
		}
		keys, err := readKeys(i.keyFiles)
		if err != nil {
			return err
		}
		s, err := openStore(*dir, true)
		if err != nil {
			return err
		}
		defer s.Close()
		list, err := stored(s, args[0])
		if err != nil {
			return err
		}
		trusted := func(id wire.AgentID) bool { return among(revokers, id) }
		values := []shownEntry{}
		for _, e := range list {
			withdrawals, err := s.Withdrawals(attest.Verifier{Keys: keys, Now: now}, e.Hash, trusted)
			if err != nil {
				return err
			}
			v := shownEntry{storedEntry: storedValue(e), Artifact: e.Value, Revocations: []shownRevocation{}}
			for _, w := range withdrawals {
				v.Revoked = v.Revoked || w.Err == nil
				v.Revocations = append(v.Revocations, shownRevocation{w.Record.ID, w.Record.Hash, w.Depth, w.Via, w.Err == nil, problemOf(w.Err)})
			}
			values = append(values, v)
			a.printShown(v, e)
		}
		return a.out.value(values)
	}
	return cmd
}

// A shownEntry is an entry with what is known against it, for programs.
type shownEntry struct {
	storedEntry
	Revoked     bool              `json:"revoked"`
	Revocations []shownRevocation `json:"revocations"`
	Artifact    wire.Value        `json:"artifact"`
}

type shownRevocation struct {
	ID      string    `json:"id"`
	Hash    wire.Hash `json:"hash"`
	Depth   int       `json:"cascade_depth"`
	Via     string    `json:"via,omitempty"`
	Counts  bool      `json:"counts"`
	Problem *problem  `json:"problem,omitempty"`
}

func (a *app) printShown(v shownEntry, e store.Entry) {
	name := v.ID
	if name == "" {
		name = "without an id"
	}
	a.out.printf("%s: %s\n", cli.Printable(name), v.Kind)
	rows := [][]string{{"hash", v.Hash.String()}}
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, cli.Printable(value)})
		}
	}
	row("made", v.Time)
	row("stored", v.Stored)
	for _, f := range v.Says {
		row(f.Name, f.Value)
	}
	for _, id := range v.Agents {
		row("agent", string(id))
	}
	if v.Unverified {
		row("unverified", "it was imported with a check that could not be made")
	}
	row("fuller version", v.Fuller)
	for _, c := range e.Conflicts {
		row("conflict", conflictText(c))
	}
	for _, r := range v.Revocations {
		about := "revoked by"
		if !r.Counts {
			about = "not revoked by"
		}
		text := r.ID
		if r.Depth > 0 {
			text += ", by way of " + r.Via
		}
		if r.Problem != nil {
			text += ": " + r.Problem.Message
		}
		row(about, text)
	}
	if len(v.Revocations) == 0 {
		row("revoked", "no record in the store says so")
	}
	a.out.table(rows)
}

// toDelete returns the hashes of what is named. A name that fits several artifacts is
// no name of one.
func toDelete(s *store.Store, names []string) ([]wire.Hash, error) {
	var hashes []wire.Hash
	for _, name := range names {
		list, err := stored(s, name)
		if errors.Is(err, store.ErrDamaged) {
			hash, parseErr := wire.ParseHash(name)
			if parseErr != nil {
				return nil, err
			}
			list, err = []store.Entry{{Hash: hash}}, nil
		}
		if err != nil {
			return nil, err
		}
		if len(list) > 1 {
			text := ""
			for _, e := range list {
				text += " " + e.Hash.String()
			}
			return nil, cli.Usagef("%q is the id or the hash of %d artifacts: name one by its hash:%s", name, len(list), text)
		}
		if !slices.Contains(hashes, list[0].Hash) {
			hashes = append(hashes, list[0].Hash)
		}
	}
	return hashes, nil
}
