package merkle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/internal/merkle"
)

func ids(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("att_%03d", i)
	}
	return list
}

// Roots as the reference implementation computes them.
func TestRoot(t *testing.T) {
	for _, test := range []struct {
		ids  []string
		root string
	}{
		{nil, ""},
		{[]string{"a"}, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
		{[]string{"b", "a"}, "62af5c3cb8da3e4f25061e829ebeea5c7513c54949115b1acc225930a90154da"},
		{[]string{"a", "b", "c"}, "0bdf27bf7ec894ca7cadfe491ec1a3ece840f117989e8c5e9bd7086467bf6c38"},
		{[]string{"a", "b", "c", "d", "e"}, "3615e586768e706351e326736e446554c49123d0e24c169d3ecf9b791a82636b"},
		{[]string{"att_\ue000", "att_\U0001f600", "att_z"}, "9b22124dc6c8d326a74e60e34bfee99cf4516d1cf19acb7a11a1b44ad28f4d2c"},
		{[]string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11"}, "346aed077ae2d9cd20b023ba7f7ff9957920412739ba9e6b1cd7d472c77267cf"},
	} {
		if got := merkle.New(test.ids).Root(); got != test.root {
			t.Errorf("%q: %s", test.ids, got)
		}
		slices.Reverse(test.ids)
		if got := merkle.New(test.ids).Root(); got != test.root {
			t.Errorf("%q, backwards: %s", test.ids, got)
		}
	}
}

// Every leaf of every small tree has a proof, which fits no other leaf, index or
// number of leaves.
func TestProve(t *testing.T) {
	for n := 1; n <= 18; n++ {
		list := ids(n)
		tree := merkle.New(list)
		for i, id := range list {
			p, ok := tree.Prove(id)
			if !ok || p.Index != int64(i) || len(p.Siblings) != merkle.Depth(int64(n)) {
				t.Fatalf("%d of %d: %+v, %v", i, n, p, ok)
			}
			if err := p.Verify(id, tree.Root(), int64(n)); err != nil {
				t.Errorf("%d of %d: %v", i, n, err)
			}
			if p.Verify("att_999", tree.Root(), int64(n)) == nil {
				t.Errorf("%d of %d proves another id", i, n)
			}
			for other := range int64(2 * n) {
				q := merkle.Proof{Index: other, Siblings: p.Siblings}
				if other != p.Index && q.Verify(id, tree.Root(), int64(n)) == nil {
					t.Errorf("%d of %d also has index %d", i, n, other)
				}
			}
		}
		if _, ok := tree.Prove("att_999"); ok {
			t.Error("proved what is not there")
		}
	}
	if _, ok := merkle.New(nil).Prove("a"); ok {
		t.Error("proved in an empty tree")
	}
}

func TestVerify(t *testing.T) {
	list := ids(5)
	tree := merkle.New(list)
	sound, _ := tree.Prove(list[4])
	for _, test := range []struct {
		name string
		n    int64
		edit func(*merkle.Proof)
		want error
	}{
		{"sound", 5, func(*merkle.Proof) {}, nil},
		{"no leaves", 0, func(*merkle.Proof) {}, merkle.ErrIndex},
		{"negative", 5, func(p *merkle.Proof) { p.Index = -1 }, merkle.ErrIndex},
		{"index beyond", 5, func(p *merkle.Proof) { p.Index = 5 }, merkle.ErrIndex},
		{"short", 5, func(p *merkle.Proof) { p.Siblings = p.Siblings[:2] }, merkle.ErrLength},
		{"long", 5, func(p *merkle.Proof) { p.Siblings = append(p.Siblings, p.Siblings[0]) }, merkle.ErrLength},
		{"higher tree", 9, func(*merkle.Proof) {}, merkle.ErrLength},
		{"not paired with itself", 5, func(p *merkle.Proof) { p.Siblings[0] = p.Siblings[2] }, merkle.ErrSibling},
		{"capitals", 5, func(p *merkle.Proof) { p.Siblings[2] = strings.ToUpper(p.Siblings[2]) }, merkle.ErrSibling},
		{"no hash", 5, func(p *merkle.Proof) { p.Siblings[2] = "" }, merkle.ErrSibling},
		{"other node", 5, func(p *merkle.Proof) { p.Siblings[2] = p.Siblings[0] }, merkle.ErrRoot},
	} {
		p := merkle.Proof{Index: sound.Index, Siblings: slices.Clone(sound.Siblings)}
		test.edit(&p)
		if err := p.Verify(list[4], tree.Root(), test.n); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// The weakness of the format, and that the number of leaves defeats it: a node
// proves no id, and the fourth leaf of three is not there.
func TestWeakness(t *testing.T) {
	three := merkle.New([]string{"a", "b", "c"})
	if four := merkle.New([]string{"a", "b", "c", "c"}); four.Root() != three.Root() {
		t.Error("the roots differ: the package comment is wrong")
	}
	c, _ := three.Prove("c")
	if err := (merkle.Proof{Index: 3, Siblings: c.Siblings}).Verify("c", three.Root(), 3); !errors.Is(err, merkle.ErrIndex) {
		t.Errorf("a fourth leaf: %v", err)
	}
	leaf := func(id string) string { return merkle.New([]string{id}).Root() }
	forged := merkle.Proof{Siblings: []string{leaf(leaf("c") + leaf("c"))}}
	if err := forged.Verify(leaf("a")+leaf("b"), three.Root(), 2); err != nil {
		t.Errorf("a node is no leaf: the package comment is wrong: %v", err)
	}
	if err := forged.Verify(leaf("a")+leaf("b"), three.Root(), 3); !errors.Is(err, merkle.ErrLength) {
		t.Errorf("a node as an id: %v", err)
	}
}

func TestDepth(t *testing.T) {
	for n, want := range map[int64]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4, 1 << 53: 53, 1<<53 + 1: 54} {
		if got := merkle.Depth(n); got != want {
			t.Errorf("%d leaves: %d, want %d", n, got, want)
		}
	}
}
