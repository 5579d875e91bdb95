package store

import (
	"encoding/binary"
	"errors"
	"fmt"
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
