package store

import (
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// Revocations verifies the revocation records of the store anew, and more that come from
// elsewhere. It returns those that stand and the reports of all, more first, as
// [attest.Verifier.ReadRevocations] does.
func (s *Store) Revocations(f attest.Verifier, trusted func(revoker wire.AgentID) bool, more ...wire.Value) (*attest.Revocations, []wire.Report, error) {
	records := slices.Clone(more)
	for e, err := range s.List(Filter{Kind: revocation}) {
		if err != nil {
			return nil, nil, err
		}
		records = append(records, e.Value)
	}
	known, reports := f.ReadRevocations(records, trusted)
	return known, reports, nil
}

// Reached tells each which artifacts of the store the records reach at f.Now, record by
// record: the revoked one first, be it stored or not, as [attest.Verifier.Cascade] does. It
// reads those that depend on what is revoked and no others, once however many records
// revoke that; unverified ones have no say. An error of each ends it.
func (s *Store) Reached(f attest.Verifier, records []wire.Value, trusted func(revoker wire.AgentID) bool, each func(i int, reached []attest.Reached, report wire.Report) error) error {
	return s.db.View(func(tx *bolt.Tx) error {
		all := following{tx: tx}
		for i, record := range records {
			among, err := all.from(record)
			if err != nil {
				return err
			}
			reached, report := f.Cascade(record, trusted, among)
			if err := each(i, reached, report); err != nil {
				return err
			}
		}
		return nil
	})
}

// A following follows revocation records. Of artifacts with the id of only, which may be
// nil, no other counts: another issuer can have used it.
type following struct {
	tx    *bolt.Tx
	only  *artifact
	known map[string]*attest.Dependents // by what is revoked
}

// BUG(store): Ids are free. Of what an artifact depends on its references tell the id
// alone, so that a stranger who makes and revokes another artifact of that id is shown to
// revoke what depends on it. To show neither would let strangers hide a revocation. The
// verifiers of artifacts take no such record (SPEC §9.6.4c): only their verdict decides.

// from returns the artifacts that a record may reach.
func (all *following) from(record wire.Value) (*attest.Dependents, error) {
	revoked, _ := record.Get("revoked_artifact_id")
	if d, ok := all.known[revoked.Text()]; ok {
		return d, nil
	}
	d, err := dependents(all.tx, revoked.Text(), all.only)
	if all.known == nil {
		all.known = map[string]*attest.Dependents{}
	}
	all.known[revoked.Text()] = d
	return d, err
}

func dependents(tx *bolt.Tx, revoked string, only *artifact) (*attest.Dependents, error) {
	var among []attest.Dependent
	seen := map[string]bool{}
	frontier := []string{plainID(revoked)}
	for depth := 0; depth <= attest.MaxCascadeDepth && len(frontier) > 0; depth++ {
		var next []string
		for _, id := range frontier {
			if seen[id] {
				continue
			}
			seen[id] = true
			own, err := withKey(tx, byID, id)
			if err != nil {
				return nil, err
			}
			if only != nil && plainID(only.id) == id {
				own = []artifact{*only}
			}
			for _, a := range own {
				among = append(among, a.dependent())
			}
			links, err := withKey(tx, byLink, id)
			if err != nil {
				return nil, err
			}
			for _, a := range links {
				next = append(next, plainID(a.id))
			}
		}
		frontier = next
	}
	return attest.IndexDependents(among), nil
}

// withKey returns the artifacts under a key of the index, without the unverified ones
// and those without an id.
func withKey(tx *bolt.Tx, letter byte, of string) ([]artifact, error) {
	var list []artifact
	prefix := indexKey(letter, of, nil)
	for k := range entriesOf(tx.Bucket(bucketIndex), prefix) {
		if len(k) != len(prefix)+positionSize {
			continue
		}
		a, err := readArtifact(tx, wire.Hash(k[len(prefix)+timeSize:]))
		if errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !a.unverified && a.id != "" {
			list = append(list, a)
		}
	}
	return list, nil
}

// A Withdrawal is a revocation record that is about an artifact, or about what that
// depends on.
type Withdrawal struct {
	Record Entry
	Depth  int    // how many steps it is away: 0 if it names the artifact itself
	Via    string // the id that the artifact depends on; "" at depth 0
	Err    error  // why it does not count; nil: the artifact is revoked
}

var errShort = errors.New("it does not reach that far")

// Withdrawals returns the revocation records of the store that are about the artifact
// of that hash, nearest first, and whether they count at f.Now (SPEC §9.6.4c).
func (s *Store) Withdrawals(f attest.Verifier, hash wire.Hash, trusted func(revoker wire.AgentID) bool) (list []Withdrawal, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		a, err := readArtifact(tx, hash)
		if err != nil || a.id == "" {
			return err
		}
		above, err := a.dependsOn(tx)
		if err != nil {
			return err
		}
		all := following{tx: tx, only: &a}
		for depth, ids := range above {
			for _, id := range ids {
				records, err := withKey(tx, byLink, id)
				if err != nil {
					return err
				}
				for _, record := range records {
					revoked, _ := record.value.Get("revoked_artifact_id")
					if record.kind != revocation || plainID(revoked.Text()) != id {
						continue
					}
					w := Withdrawal{Depth: depth}
					if w.Record, err = record.entry(tx); err != nil {
						return err
					}
					among, err := all.from(record.value)
					if err != nil {
						return err
					}
					reached, report := f.Cascade(record.value, trusted, among)
					w.judge(a.dependent().ID, reached, report)
					list = append(list, w)
				}
			}
		}
		return nil
	})
	return list, err
}

func (w *Withdrawal) judge(id string, reached []attest.Reached, report wire.Report) {
	i := slices.IndexFunc(reached, func(r attest.Reached) bool { return r.ID == id })
	switch err := report.Err(); {
	case err != nil:
		w.Err = err
	case len(reached) == 0:
		w.Err = report[len(report)-1].Err // not yet in force
	case i < 0:
		w.Err = errShort
	default:
		w.Depth, w.Via = reached[i].Depth, reached[i].Via
	}
}

// dependsOn returns the ids that an artifact depends on, step by step, its own first.
func (a *artifact) dependsOn(tx *bolt.Tx) ([][]string, error) {
	steps := [][]string{{plainID(a.id)}}
	seen := map[string]bool{plainID(a.id): true}
	frontier := []artifact{*a}
	for range attest.MaxCascadeDepth {
		var next []artifact
		var ids []string
		for _, x := range frontier {
			for _, l := range x.dependent().Links {
				id := plainID(l.ID)
				if !l.Depends() || seen[id] {
					continue
				}
				seen[id] = true
				ids = append(ids, id)
				own, err := withKey(tx, byID, id)
				if err != nil {
					return nil, err
				}
				next = append(next, own...)
			}
		}
		if len(ids) == 0 {
			break
		}
		steps, frontier = append(steps, ids), next
	}
	return steps, nil
}
