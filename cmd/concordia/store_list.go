package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/cli"
)

func (a *app) storeListCommand(dir *string) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is in a store, oldest first",
		Long: `list prints a line for each artifact: when it was made as it says, its kind, its id or
hash, what it says of itself, and whether it is unverified or in conflict. A listing
that --limit ends says how to go on.`,
		Example: `  concordia store list --store archive
  concordia store list --kind receipt --agent did:web:shop.example --limit 20 --store archive
  concordia store list --since 2026-09-01T00:00:00Z --until 2026-10-01T00:00:00Z --json --store archive`,
		Args: cobra.NoArgs,
	}
	filter := filterFlags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 0, "`number` of artifacts at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("limit") && limit < 1 {
			return cli.Usagef("--limit: want a number from 1")
		}
		f, err := filter()
		if err != nil {
			return err
		}
		return a.listStore(*dir, f, limit, a.printStored)
	}
	return cmd
}

func (a *app) storeConflictsCommand(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conflicts",
		Short: "List what contradicts something else in a store",
		Long: `conflicts prints each artifact that is in conflict, with what, and who signed both.
Which of them holds is not for the store to say: ask who signed them, or keep the one
that you signed and delete the other.

Exit codes: 0 whether there are any or not, 2 wrong usage, 3 it could not be tried.`,
		Example: "  concordia store conflicts --store archive",
		Args:    cobra.NoArgs,
	}
	filter := filterFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		f, err := filter()
		if err != nil {
			return err
		}
		f.Conflicts = true
		return a.listStore(*dir, f, 0, func(e store.Entry) {
			a.printStored(e)
			a.out.printf("  %s\n", e.Hash)
			for _, c := range e.Conflicts {
				a.out.printf("    %s\n", conflictText(c))
			}
		})
	}
	return cmd
}

// listStore prints artifacts as they come, for programs as an array. Those that are
// damaged are reported in the end.
func (a *app) listStore(dir string, f store.Filter, limit int, show func(store.Entry)) error {
	s, err := openStore(dir, true)
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	var last store.Entry
	var damaged error
	separator := "["
	for e, err := range s.List(f) {
		if err != nil {
			if damaged = errors.Join(damaged, err); !errors.Is(err, store.ErrDamaged) {
				break
			}
			continue
		}
		if limit > 0 && n == limit {
			a.out.printf("there are more; go on with --after %s\n", last.Position())
			break
		}
		n, last = n+1, e
		if !a.out.json {
			show(e)
			continue
		}
		text, err := json.MarshalIndent(storedValue(e), "  ", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.out.w, "%s\n  %s", separator, text); err != nil {
			return err
		}
		separator = ","
	}
	if a.out.json {
		if n == 0 {
			fmt.Fprint(a.out.w, "[")
		}
		fmt.Fprint(a.out.w, "\n]\n") // a.out remembers an error
	}
	return damaged
}

func (a *app) storeExportCommand(dir *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write artifacts out, one a line",
		Long: `export writes artifacts as they were received, in canonical JSON, one a line, for
concordia verify, for another store, or for others. That some of them are unverified
is not written: the other store verifies anew.`,
		Example: `  concordia store export --store archive > archive.ndjson
  concordia store export --session ses_4a1b --store archive | concordia store import - --store case-7`,
		Args: cobra.NoArgs,
	}
	filter := filterFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		f, err := filter()
		if err != nil {
			return err
		}
		s, err := openStore(*dir, true)
		if err != nil {
			return err
		}
		defer s.Close()
		var damaged error
		for e, err := range s.List(f) {
			if err != nil {
				if damaged = errors.Join(damaged, err); !errors.Is(err, store.ErrDamaged) {
					break
				}
				continue
			}
			if _, err := fmt.Fprintln(a.out.w, e.Value.Canonical()); err != nil {
				return err
			}
		}
		return damaged
	}
	return cmd
}

func (a *app) storeDeleteCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID|HASH...",
		Short: "Delete artifacts from a store",
		Long: `delete takes artifacts out of a store, for good: it is on disk when it returns. If
several have an ID, name each by its hash. Nothing is deleted if one of the names fits
nothing. What was deleted can be imported again.`,
		Example: "  concordia store delete att_4a1b sha256:9f… --store archive",
		Args:    cli.Takes,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := openStore(*dir, false)
			if err != nil {
				return err
			}
			defer s.Close()
			hashes, err := toDelete(s, args)
			if err != nil {
				return err
			}
			if _, err := s.Delete(cmd.Context(), hashes...); err != nil {
				return err
			}
			a.out.printf("deleted %s\n", plural(len(hashes), "artifact"))
			return a.out.value(map[string]any{"deleted": hashes})
		},
	}
}
