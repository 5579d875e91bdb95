// Package merkle is the tree by which a competence proof commits to the ids of
// attestations (SPEC §9.6.6a).
//
// A leaf is the SHA-256 of an id, in lower-case hex; the ids are sorted by code
// point. A node is the SHA-256, in hex, of the text of its left child followed by
// that of its right one; a node without a sibling is paired with itself. The tree
// of nothing has the root "".
//
// BUG(merkle): Leaves and nodes are hashed alike, and a last node is paired with
// itself: the ids a, b, c have the root of a, b, c, c, and the text of two nodes is
// an id whose leaf is their parent. The published format is so. A root says nothing
// without the number of its leaves: whoever verifies against one takes that number
// from what was signed, refuses an id that is listed twice, and a proof that is not
// exactly as long as a tree of that many leaves is high.
package merkle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/bits"
	"slices"
)

// A Tree is built over ids.
type Tree struct {
	ids    []string   // sorted
	layers [][]string // from the leaves to the root, none if there are no ids
}

// New builds the tree of ids, in any order.
func New(ids []string) *Tree {
	t := &Tree{ids: slices.Sorted(slices.Values(ids))} // the bytes of UTF-8 sort as code points do
	if len(ids) == 0 {
		return t
	}
	layer := make([]string, len(t.ids))
	for i, id := range t.ids {
		layer[i] = leaf(id)
	}
	t.layers = append(t.layers, layer)
	for len(layer) > 1 {
		next := make([]string, 0, (len(layer)+1)/2)
		for pair := range slices.Chunk(layer, 2) {
			next = append(next, node(pair[0], pair[len(pair)-1]))
		}
		layer = next
		t.layers = append(t.layers, layer)
	}
	return t
}

// Root returns the root, "" if there are no ids.
func (t *Tree) Root() string {
	if len(t.layers) == 0 {
		return ""
	}
	return t.layers[len(t.layers)-1][0]
}

// A Proof shows that an id is a leaf.
type Proof struct {
	Index    int64    // of the leaf, from 0
	Siblings []string // from the leaf up
}

// Prove returns the proof of an id, and false if the tree does not have it.
func (t *Tree) Prove(id string) (Proof, bool) {
	i, ok := slices.BinarySearch(t.ids, id)
	if !ok {
		return Proof{}, false
	}
	p := Proof{Index: int64(i)}
	for _, layer := range t.layers[:len(t.layers)-1] {
		sibling := i ^ 1
		if sibling == len(layer) {
			sibling = i
		}
		p.Siblings = append(p.Siblings, layer[sibling])
		i /= 2
	}
	return p, true
}

// Depth returns how long the proofs in a tree of n leaves are.
func Depth(n int64) int {
	if n < 2 {
		return 0
	}
	return bits.Len64(uint64(n - 1))
}

// The reasons for which a proof is refused.
var (
	ErrIndex   = errors.New("the index is not one of the tree")
	ErrLength  = errors.New("the proof is not as long as the tree is high")
	ErrSibling = errors.New("not the hash of a node")
	ErrRoot    = errors.New("it does not lead to the root")
)

// Verify reports why p does not show that id is a leaf of the tree with that root
// and n leaves. It hashes at most 64 times.
func (p Proof) Verify(id, root string, n int64) error {
	switch {
	case p.Index < 0 || p.Index >= n:
		return ErrIndex
	case len(p.Siblings) != Depth(n):
		return ErrLength
	}
	current, i, width := leaf(id), p.Index, n
	for _, sibling := range p.Siblings {
		switch {
		case !isHash(sibling), i^1 == width && sibling != current:
			return ErrSibling
		case i%2 == 0:
			current = node(current, sibling)
		default:
			current = node(sibling, current)
		}
		i, width = i/2, (width+1)/2
	}
	if current != root {
		return ErrRoot
	}
	return nil
}

// Fold returns where siblings lead from the leaf of an id, whatever tree that is: it
// is what the public contract looks at. Verify looks at the tree as well.
func Fold(id string, index int64, siblings []string) string {
	current := leaf(id)
	for _, sibling := range siblings {
		if index%2 == 0 {
			current = node(current, sibling)
		} else {
			current = node(sibling, current)
		}
		index /= 2
	}
	return current
}

func leaf(id string) string { return sum(id) }

func node(left, right string) string { return sum(left + right) }

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// isHash keeps a text that is no hash out of what is hashed.
func isHash(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}
