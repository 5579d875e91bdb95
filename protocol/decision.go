package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Condition is what a transition demands of its event: every test holds. It is a box
// in the space of documents, so that whether conditions overlap, cover everything or
// imply each other is decided exactly.
type Condition []Test

// A Test says which values may stand at one place of an event's document.
//
// A test whose Opaque is not empty is not about a place: it names something that only
// the running program can tell, such as a guard or a comparison with a captured value.
// What is said about such a protocol holds whatever the answers are.
type Test struct {
	At     Pointer
	In     Set
	Opaque string
}

// A Pointer is a JSON pointer into the document of an event (RFC 6901). After a #, the
// text that stands there is read as JSON, and a pointer into that follows.
type Pointer string

// Look returns what stands at the pointer, or an Absent value. What is no JSON text
// has nothing in it.
func (p Pointer) Look(v wire.Value) wire.Value {
	rest := string(p)
	for {
		path, inner, nested := strings.Cut(rest, "#")
		v = follow(v, path)
		if !nested {
			return v
		}
		parsed, err := wire.Parse([]byte(v.Text()), wire.DocumentLimits)
		if err != nil || v.Kind() != wire.String {
			return wire.Value{}
		}
		v, rest = parsed, inner
	}
}

func follow(v wire.Value, path string) wire.Value {
	for path != "" {
		token, rest, more := strings.Cut(path[1:], "/")
		if more {
			path = "/" + rest
		} else {
			path = ""
		}
		token = unescape.Replace(token)
		switch v.Kind() {
		case wire.Object:
			v, _ = v.Get(token)
		case wire.Array:
			v = element(v, token)
		default:
			return wire.Value{}
		}
	}
	return v
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func element(v wire.Value, token string) wire.Value {
	for i, e := range v.Elems() {
		if fmt.Sprint(i) == token {
			return e
		}
	}
	return wire.Value{}
}

// dimension is what a test is about, as a name that orders.
func (t Test) dimension() string {
	if t.Opaque != "" {
		return "?" + t.Opaque
	}
	return string(t.At)
}

// A rule of a decision: if the condition holds, and none of those before, then the
// outcome.
type rule struct {
	when    Condition
	outcome int
}

// A decision says which of several ordered conditions is the first that holds. It is an
// ordered, reduced diagram: two decisions that decide the same are the same. Its outcome
// is -1 if no condition holds.
type decision struct {
	outcome  int // of a leaf
	at       string
	branches []branch // disjoint, and together everything; none in a leaf
}

type branch struct {
	in   Set
	then *decision
}

func leaf(outcome int) *decision { return &decision{outcome: outcome} }

func (d *decision) isLeaf() bool { return len(d.branches) == 0 }

// maxCases bounds the size of one decision.
const maxCases = 1 << 14

var (
	errCases     = errors.New("the conditions distinguish too many cases")
	errDependent = errors.New("depend on each other: one is part of the other")
)

// decide compiles ordered rules.
func decide(rules []rule) (*decision, error) {
	var names []string
	for _, r := range rules {
		for _, t := range r.when {
			names = append(names, t.dimension())
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, a := range names {
		for _, b := range names[i+1:] {
			if !strings.HasPrefix(a, "?") && !strings.HasPrefix(b, "?") && (strings.HasPrefix(b, a+"/") || strings.HasPrefix(b, a+"#")) {
				return nil, fmt.Errorf("the conditions on %q and %q %w", a, b, errDependent)
			}
		}
	}
	b := builder{left: maxCases}
	d := b.build(rules, names)
	if b.left < 0 {
		return nil, errCases
	}
	return d, nil
}

// A builder makes decisions of bounded size.
type builder struct{ left int }

func (b *builder) build(rules []rule, names []string) *decision {
	if b.left--; b.left < 0 || len(rules) == 0 {
		return leaf(-1)
	}
	if len(names) == 0 {
		return leaf(rules[0].outcome)
	}
	at := names[0]
	parts := []Set{AllValues()}
	if at[0] == '?' {
		parts = []Set{{flags: flagTrue | flagFalse}}
	}
	sets := make([]Set, len(rules))
	for i, r := range rules {
		sets[i] = AllValues()
		for _, t := range r.when {
			if t.dimension() == at {
				sets[i] = sets[i].Intersect(t.In)
			}
		}
		var finer []Set
		for _, p := range parts {
			for _, q := range []Set{p.Intersect(sets[i]), p.Minus(sets[i])} {
				if !q.IsEmpty() {
					finer = append(finer, q)
				}
			}
		}
		if parts = finer; len(parts) > maxCases {
			b.left = -1
			return leaf(-1)
		}
	}
	var branches []branch
	for _, p := range parts {
		var rest []rule
		for i, r := range rules {
			if p.Within(sets[i]) {
				rest = append(rest, r)
			}
		}
		branches = append(branches, branch{p, b.build(rest, names[1:])})
	}
	return reduce(at, branches)
}

// reduce returns the one form of a decision at a place.
func reduce(at string, branches []branch) *decision {
	var merged []branch
next:
	for _, b := range branches {
		for i := range merged {
			if merged[i].then.equal(b.then) {
				merged[i].in = merged[i].in.Union(b.in)
				continue next
			}
		}
		merged = append(merged, b)
	}
	if len(merged) == 1 {
		return merged[0].then
	}
	slices.SortFunc(merged, func(a, b branch) int { return strings.Compare(a.in.String(), b.in.String()) })
	return &decision{at: at, branches: merged}
}

func (d *decision) equal(e *decision) bool {
	if d == e {
		return true
	}
	if d.at != e.at || len(d.branches) != len(e.branches) || d.isLeaf() && d.outcome != e.outcome {
		return false
	}
	for i, b := range d.branches {
		if !b.in.Equal(e.branches[i].in) || !b.then.equal(e.branches[i].then) {
			return false
		}
	}
	return true
}

// rename returns the decision with other outcomes.
func (d *decision) rename(to func(int) int) *decision {
	if d.isLeaf() {
		return leaf(to(d.outcome))
	}
	branches := make([]branch, len(d.branches))
	for i, b := range d.branches {
		branches[i] = branch{b.in, b.then.rename(to)}
	}
	return reduce(d.at, branches)
}

// both visits every case that two decisions distinguish together: the outcomes of
// both, and the tests that lead there. It stops when visit returns false.
func both(a, b *decision, path Condition, visit func(a, b int, path Condition) bool) bool {
	if a.isLeaf() && b.isLeaf() {
		return visit(a.outcome, b.outcome, path)
	}
	at := a.at
	if a.isLeaf() || !b.isLeaf() && b.at < a.at {
		at = b.at
	}
	for _, x := range a.on(at) {
		for _, y := range b.on(at) {
			in := x.in.Intersect(y.in)
			if in.IsEmpty() {
				continue
			}
			if !both(x.then, y.then, append(path[:len(path):len(path)], testAt(at, in)), visit) {
				return false
			}
		}
	}
	return true
}

func testAt(at string, in Set) Test {
	if name, opaque := strings.CutPrefix(at, "?"); opaque {
		return Test{Opaque: name, In: in}
	}
	return Test{At: Pointer(at), In: in}
}

// on returns the branches of a decision at a place, of which it may know nothing.
func (d *decision) on(at string) []branch {
	if d.isLeaf() || d.at != at {
		return []branch{{AllValues(), d}}
	}
	return d.branches
}

// outcomes visits the cases of a decision.
func (d *decision) outcomes(visit func(outcome int, path Condition) bool) {
	both(d, leaf(0), nil, func(a, _ int, path Condition) bool { return visit(a, path) })
}

// of decides about a document. tell answers the opaque tests.
func (d *decision) of(v wire.Value, tell func(opaque string) bool) int {
	for !d.isLeaf() {
		var has func(Set) bool
		if name, opaque := strings.CutPrefix(d.at, "?"); opaque {
			answer := uint8(flagFalse)
			if tell(name) {
				answer = flagTrue
			}
			has = func(s Set) bool { return s.flags&answer != 0 }
		} else {
			x := Pointer(d.at).Look(v)
			has = func(s Set) bool { return s.Has(x) }
		}
		i := slices.IndexFunc(d.branches, func(b branch) bool { return has(b.in) })
		if i < 0 {
			return -1 // the branches are everything
		}
		d = d.branches[i].then
	}
	return d.outcome
}

// encode writes the decision for a digest.
func (d *decision) encode() any {
	if d.isLeaf() {
		return int64(d.outcome)
	}
	cases := make([]any, len(d.branches))
	for i, b := range d.branches {
		cases[i] = []any{b.in.String(), b.then.encode()}
	}
	return wire.M{"at": d.at, "cases": cases}
}
