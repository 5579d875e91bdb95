package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

func (a *app) storeCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Keep receipts and other signed artifacts, and find them again",
		Long: `store keeps artifacts in a database in the directory --store, by the hash of what was
received. It takes in what verifies, and flags what contradicts: artifacts with one id,
or receipts of one session that do not supersede each other, if the same agent signed
them. Both are kept. Whoever has not signed the one cannot put it in conflict.

Receipts that differ only in signatures added later, of a witness or for the
fulfillment, are versions of one.`,
		Example: `  concordia store import receipts.ndjson --keys keys.json --store archive
  concordia store list --agent did:web:shop.example --since 2026-09-01T00:00:00Z --store archive
  concordia store export --kind revocation --store archive > revocations.ndjson`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&dir, "store", "", "the `directory` of the store")
	cmd.AddCommand(
		a.storeImportCommand(&dir), a.storeListCommand(&dir), a.storeConflictsCommand(&dir), a.storeShowCommand(&dir),
		a.storeExportCommand(&dir), a.storeDeleteCommand(&dir),
	)
	return cmd
}

// artifactsName is the file in which the directory of a store keeps its artifacts.
const artifactsName = "artifacts.db"

var errNoStore = errors.New("there is no artifact store; concordia store import makes one")

// openStore opens a store that is there.
func openStore(dir string, readOnly bool) (*store.Store, error) {
	if dir == "" {
		return nil, cli.Usagef("--store is missing: the directory of the store")
	}
	path := filepath.Join(dir, artifactsName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("opening %s: %w", path, errNoStore)
	}
	return store.Open(path, &store.Options{ReadOnly: readOnly})
}

// makeStore opens a store and makes it if there is none.
func makeStore(dir string) (*store.Store, error) {
	if dir == "" {
		return nil, cli.Usagef("--store is missing: the directory of the store, which is made if need be")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return store.Open(filepath.Join(dir, artifactsName), nil)
}

// stored returns what an id or a hash names in a store: what has the one and what has the
// other, if somebody chose the hash of an artifact for the id of another.
func stored(s *store.Store, name string) ([]store.Entry, error) {
	if name == "" { // which would be the id of all
		return nil, cli.Usagef("an id or a hash is missing: it is empty")
	}
	var list []store.Entry
	if hash, err := wire.ParseHash(name); err == nil {
		switch e, err := s.Get(hash); {
		case err == nil:
			list = append(list, e)
		case !errors.Is(err, store.ErrNotStored):
			return nil, err
		}
	}
	for e, err := range s.List(store.Filter{ID: name}) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("reading %q: %w", name, store.ErrNotStored)
	}
	return list, nil
}

// filterFlags add the flags that say which artifacts are meant.
func filterFlags(cmd *cobra.Command) func() (store.Filter, error) {
	var f store.Filter
	var agent, since, until, after string
	flags := cmd.Flags()
	flags.StringVar(&f.Kind, "kind", "", "only artifacts of this `kind`: receipt, mandate, revocation, …")
	flags.StringVar(&agent, "agent", "", "only those that the agent of this `id` signed, or that are about it")
	flags.StringVar(&f.Session, "session", "", "only those about the session of this `id`")
	flags.StringVar(&f.ID, "id", "", "only those with this `id`")
	flags.StringVar(&since, "since", "", "only those made at this `time` or later")
	flags.StringVar(&until, "until", "", "only those made before this `time`")
	flags.StringVar(&after, "after", "", "only those after this `position`, which a shorter listing ended with")
	return func() (store.Filter, error) {
		f := f
		f.Agent = wire.AgentID(agent)
		if f.Kind = strings.ReplaceAll(f.Kind, " ", "_"); f.Kind == "receipt" {
			f.Kind = "attestation"
		}
		if f.Kind != "" && !slices.Contains(store.Kinds(), f.Kind) {
			return f, cli.Usagef("--kind: want one of receipt, %s", strings.Join(store.Kinds(), ", "))
		}
		var err error
		if since != "" {
			if f.Since, err = wire.ParseTime(since); err != nil {
				return f, cli.Usagef("--since: %v", err)
			}
		}
		if until != "" {
			if f.Until, err = wire.ParseTime(until); err != nil {
				return f, cli.Usagef("--until: %v", err)
			}
		}
		if after != "" {
			if f.After, err = store.ParsePosition(after); err != nil {
				return f, cli.Usagef("--after: %v", err)
			}
		}
		return f, nil
	}
}

// A storedEntry is a store.Entry for programs.
type storedEntry struct {
	Hash       wire.Hash        `json:"hash"`
	Kind       string           `json:"kind"`
	ID         string           `json:"id,omitempty"`
	Session    string           `json:"session,omitempty"`
	Time       string           `json:"time,omitempty"`
	Agents     []wire.AgentID   `json:"agents,omitempty"`
	Says       []told           `json:"says,omitempty"`
	Stored     string           `json:"stored"`
	Unverified bool             `json:"unverified,omitempty"`
	Fuller     string           `json:"fuller,omitempty"`
	Conflicts  []storedConflict `json:"conflicts,omitempty"`
	Position   string           `json:"position"`
}

type storedConflict struct {
	About  string         `json:"about"`
	With   wire.Hash      `json:"with"`
	Agents []wire.AgentID `json:"agents"`
}

func storedValue(e store.Entry) storedEntry {
	v := storedEntry{
		Hash: e.Hash, Kind: kindName(e.Kind), ID: e.ID, Session: e.Session, Agents: e.Agents, Says: facts(e.Kind, e.Value),
		Stored: wire.FormatTime(e.Stored), Unverified: e.Unverified, Position: e.Position().String(),
	}
	if !e.Time.IsZero() {
		v.Time = wire.FormatTime(e.Time)
	}
	if e.Fuller != (wire.Hash{}) {
		v.Fuller = e.Fuller.String()
	}
	for _, c := range e.Conflicts {
		v.Conflicts = append(v.Conflicts, storedConflict(c))
	}
	return v
}

// kindName is how a person calls a kind.
func kindName(kind string) string {
	if kind == "attestation" {
		return "receipt"
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// printStored prints a line for an artifact.
func (a *app) printStored(e store.Entry) {
	v := storedValue(e)
	name := v.ID
	if name == "" {
		name = v.Hash.String()
	}
	line := fmt.Sprintf("%-20s  %-16s  %s", v.Time, v.Kind, cli.Printable(name))
	for _, f := range v.Says {
		line += fmt.Sprintf("  %s %s", f.Name, cli.Printable(cut(f.Value, 60)))
	}
	if v.Unverified {
		line += "  " + a.out.paint(yellow, "unverified")
	}
	if v.Fuller != "" {
		line += "  fuller version " + v.Fuller
	}
	if len(v.Conflicts) > 0 {
		line += "  " + a.out.paint(red, "conflict")
	}
	a.out.printf("%s\n", line)
}

// conflictText says what a conflict is about and whose it is.
func conflictText(c store.Conflict) string {
	ids := make([]string, len(c.Agents))
	for i, id := range c.Agents {
		ids[i] = cli.Printable(string(id))
	}
	what := map[string]string{"id": "has the same id", "session": "is a receipt of the same session"}[c.About]
	return fmt.Sprintf("%s %s; signed both: %s", c.With, what, strings.Join(ids, ", "))
}
