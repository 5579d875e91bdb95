package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/wire"
)

// A Conflict is another artifact that says something else, signed by the same agents.
type Conflict struct {
	About  string         // "id": both have it; "session": both are its receipt
	With   wire.Hash      // the fullest version of the other one
	Agents []wire.AgentID // who signed both
}

// MaxRivals is how many other artifacts a conflict is looked for in: beyond so many
// receipts of a session by its signers, a receipt is in conflict in whatever order
// they are, and only so many are named.
const MaxRivals = 64

const (
	aboutID      = "id"
	aboutSession = "session"
)

func claimPrefix(about, text string, signer wire.AgentID) []byte {
	return indexKey(ofClaim, fmt.Sprintf("%s %d %s %s", about, len(text), text, signer), nil)
}

// claimed returns the id that the signers of an artifact answer for, or the session.
// Of those nobody verified no one does.
func (a *artifact) claimed(about string) string {
	switch {
	case a.unverified:
	case about == aboutID:
		return plainID(a.id)
	case a.kind == attestation:
		return a.session
	}
	return ""
}

func (a *artifact) claimKeys() [][]byte {
	var list [][]byte
	for _, about := range []string{aboutID, aboutSession} {
		if text := a.claimed(about); text != "" {
			for _, signer := range a.signers {
				list = append(list, append(claimPrefix(about, text, signer), a.core[:]...))
			}
		}
	}
	return list
}

// versionKey orders the versions of a core: first those that are verified, then those
// with more signatures.
func (a *artifact) versionKey() []byte {
	rank := []byte{0}
	if a.unverified {
		rank[0] = 1
	}
	rank = binary.BigEndian.AppendUint16(rank, math.MaxUint16-uint16(min(a.signatures, math.MaxUint16)))
	return indexKey(ofCore, string(a.core[:]), append(rank, a.hash[:]...))
}

// fullest returns the first version of a core, and whether that is verified.
func fullest(tx *bolt.Tx, core wire.Hash) (hash wire.Hash, verified bool) {
	prefix := indexKey(ofCore, string(core[:]), nil)
	for k := range entriesOf(tx.Bucket(bucketIndex), prefix) {
		if rank := k[len(prefix):]; len(rank) == 3+len(hash) {
			return wire.Hash(rank[3:]), rank[0] == 0
		}
	}
	return hash, false
}

// A rival is another artifact with a claim of the same signers.
type rival struct {
	artifact
	shared []wire.AgentID
}

// rivals returns those that share a claim, at most MaxRivals, and whether there are
// more.
func (a *artifact) rivals(tx *bolt.Tx, about string) (list []rival, more bool, err error) {
	text := a.claimed(about)
	if text == "" {
		return nil, false, nil
	}
	at := map[wire.Hash]int{} // in the list, of each core
	for _, signer := range a.signers {
		prefix := claimPrefix(about, text, signer)
		for k := range entriesOf(tx.Bucket(bucketIndex), prefix) {
			if len(k) != len(prefix)+len(a.core) {
				continue
			}
			core := wire.Hash(k[len(prefix):])
			if i, ok := at[core]; ok {
				list[i].shared = append(list[i].shared, signer)
				continue
			}
			hash, verified := fullest(tx, core)
			if core == a.core || !verified {
				continue
			}
			if len(list) == MaxRivals {
				return list, true, nil
			}
			other, err := readArtifact(tx, hash)
			if errors.Is(err, ErrDamaged) {
				continue // it says so where it is listed
			}
			if err != nil {
				return nil, false, err
			}
			at[core] = len(list)
			list = append(list, rival{other, []wire.AgentID{signer}})
		}
	}
	return list, false, nil
}

func (a *artifact) conflicts(tx *bolt.Tx) ([]Conflict, error) {
	var list []Conflict
	for _, about := range []string{aboutID, aboutSession} {
		rivals, more, err := a.rivals(tx, about)
		if err != nil {
			return nil, err
		}
		after, before := map[wire.Hash]bool{}, map[wire.Hash]bool{}
		if about == aboutSession && !more {
			after, before = a.order(rivals)
		}
		for _, r := range rivals {
			if after[r.core] == before[r.core] {
				list = append(list, Conflict{about, r.hash, r.shared})
			}
		}
	}
	return list, nil
}

// order returns the cores that supersede a receipt and those that it supersedes, by
// way of others or not.
func (a *artifact) order(rivals []rival) (after, before map[wire.Hash]bool) {
	walk := func(supersedes func(near, far *artifact) bool) map[wire.Hash]bool {
		found := map[wire.Hash]bool{}
		for frontier := []*artifact{a}; len(frontier) > 0; frontier = frontier[1:] {
			for i := range rivals {
				if r := &rivals[i].artifact; !found[r.core] && supersedes(frontier[0], r) {
					found[r.core] = true
					frontier = append(frontier, r)
				}
			}
		}
		return found
	}
	after = walk(func(near, far *artifact) bool { return far.supersedes(near) })
	return after, walk((*artifact).supersedes)
}

// supersedes reports whether a receipt replaces another of its session, in the name of
// all its parties.
func (a *artifact) supersedes(former *artifact) bool {
	references, _ := a.value.Get("references")
	for _, l := range references.Elems() {
		relationship, _ := l.Get("relationship")
		id, _ := l.Get("id")
		if relationship.Text() == "supersedes" && plainID(id.Text()) == plainID(former.id) {
			return !slices.ContainsFunc(former.signers, func(id wire.AgentID) bool { return !slices.Contains(a.signers, id) })
		}
	}
	return false
}

// listContested lists what is in conflict: it reads the claims, and of the artifacts
// only those that share one.
func (s *Store) listContested(f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		positions, err := s.contested()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, p := range positions {
			if f.After != (Position{}) && bytes.Compare(p, f.After.bytes()) <= 0 {
				continue
			}
			var r found
			listed := false
			err := s.db.View(func(tx *bolt.Tx) error {
				r, listed = find(tx, wire.Hash(p[timeSize:]), &f)
				return nil
			})
			switch {
			case err != nil:
				yield(Entry{}, err)
				return
			case errors.Is(r.err, ErrNotStored): // no longer
			case listed && !yield(r.entry, r.err):
				return
			}
		}
	}
}

// walkClaims is how many claims are read in one transaction.
const walkClaims = 1 << 14

// contested returns the positions, in order, of the artifacts that share a claim with
// another core.
func (s *Store) contested() ([][]byte, error) {
	cores := map[wire.Hash]bool{}
	const size = 1 + len(wire.Hash{}) // of a claim, before its core
	var last []byte
	for from := []byte{ofClaim}; from != nil; {
		err := s.db.View(func(tx *bolt.Tx) error {
			looked, start := 0, from
			from = nil
			for k := range entriesFrom(tx.Bucket(bucketIndex), []byte{ofClaim}, start) {
				if len(k) != size+len(wire.Hash{}) {
					return errIndex
				}
				if looked++; looked > walkClaims {
					from = slices.Clone(k)
					return nil
				}
				if last != nil && bytes.Equal(last[:size], k[:size]) {
					cores[wire.Hash(last[size:])], cores[wire.Hash(k[size:])] = true, true
				}
				last = append(last[:0], k...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var positions [][]byte
	for core := range cores {
		err := s.db.View(func(tx *bolt.Tx) error {
			prefix := indexKey(ofCore, string(core[:]), nil)
			for k := range entriesOf(tx.Bucket(bucketIndex), prefix) {
				if len(k) != len(prefix)+3+len(core) {
					return errIndex
				}
				a, err := readArtifact(tx, wire.Hash(k[len(prefix)+3:]))
				if errors.Is(err, ErrDamaged) {
					continue // it says so in other listings
				}
				if err != nil {
					return err
				}
				positions = append(positions, a.position().bytes())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(positions, bytes.Compare)
	return positions, nil
}
