package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Condition is what a transition demands of its event: every test holds. It is a box
// in the space of documents, so that whether conditions overlap, cover everything or
// imply each other is decided exactly.
type Condition []Test

// A Test says which values may stand at one place of an event's document.
//
// A test with a Capture, a Matches or a Guard is opaque: only the running protocol can
// tell whether it holds. What is proven of a protocol is proven whatever the answers
// are.
type Test struct {
	At      Pointer `json:"at"`
	In      Set     `json:"in,omitzero"`
	Capture string  `json:"capture,omitempty"` // the value at At is the one captured under this name
	Among   bool    `json:"among,omitempty"`   // with Capture: it is one of the elements of what was captured
	Matches string  `json:"matches,omitempty"` // the text at At contains a match of this RE2 expression
	Guard   Guard   `json:"guard,omitempty"`   // the program says so; At and In mean nothing
}

// String writes the condition for people.
func (c Condition) String() string {
	var all []string
	for _, t := range c {
		all = append(all, t.String())
	}
	return strings.Join(all, " and ")
}

// String writes the test for people.
func (t Test) String() string {
	if !t.IsOpaque() {
		at := string(t.At)
		if at == "" {
			at = "the document"
		}
		return at + " is " + t.In.String()
	}
	negated := ""
	if t.IsNegated() {
		negated = "not: "
	}
	switch {
	case t.Guard != "":
		return negated + string(t.Guard)
	case t.Capture != "" && t.Among:
		return fmt.Sprintf("%s%s is among what was captured as %s", negated, t.At, t.Capture)
	case t.Capture != "":
		return fmt.Sprintf("%s%s is what was captured as %s", negated, t.At, t.Capture)
	}
	return fmt.Sprintf("%s%s matches %s", negated, t.At, t.Matches)
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
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= v.Len() || strconv.Itoa(i) != token {
		return wire.Value{}
	}
	for j, e := range v.Elems() {
		if j == i {
			return e
		}
	}
	return wire.Value{}
}

// dimension is what a test is about, as a name that orders. That of an opaque test
// begins with a question mark.
func (t Test) dimension() string {
	switch {
	case t.Guard != "":
		return "?guard " + string(t.Guard)
	case t.Capture != "" && t.Among:
		return "?among " + wire.Text(t.Capture).Canonical() + " at " + string(t.At)
	case t.Capture != "":
		return "?capture " + wire.Text(t.Capture).Canonical() + " at " + string(t.At)
	case t.Matches != "":
		return "?match " + wire.Text(t.Matches).Canonical() + " at " + string(t.At)
	}
	return string(t.At)
}

// IsOpaque reports whether only the running protocol can tell what the test says.
func (t Test) IsOpaque() bool { return strings.HasPrefix(t.dimension(), "?") }

// IsNegated reports whether an opaque test wants that it does not hold.
func (t Test) IsNegated() bool { return t.IsOpaque() && t.values().Equal(no) }

// values is the set of answers that the test takes.
func (t Test) values() Set {
	if t.IsOpaque() && t.In.IsEmpty() {
		return yes
	}
	return t.In
}

var (
	yes = Set{flags: flagTrue}
	no  = Set{flags: flagFalse}
)

// Holds is the test that a guard holds.
func Holds(g Guard) Test { return Test{Guard: g} }

// Not returns the opposite of a test.
func (t Test) Not() Test {
	if t.IsOpaque() {
		t.In = no.Union(yes).Minus(t.values())
		return t
	}
	t.In = t.In.Complement()
	return t
}

// A rule of a decision: if the condition holds, and none of those before, then the
// outcome.
type rule struct {
	when    Condition
	outcome int
}

// A Decision says which of several ordered conditions is the first that holds. It is an
// ordered, reduced diagram: two decisions that decide the same are the same. Its outcome
// is -1 if no condition holds.
type Decision struct {
	outcome  int // of a leaf
	at       string
	test     Test     // an example of what is tested there
	branches []branch // disjoint, and together everything; none in a leaf
}

type branch struct {
	in   Set
	then *Decision
}

func leaf(outcome int) *Decision { return &Decision{outcome: outcome} }

func (d *Decision) isLeaf() bool { return len(d.branches) == 0 }

// maxCases bounds the size of one decision, and maxParts how many sets are told apart at
// one place.
const (
	maxCases = 1 << 14
	maxParts = 1 << 11
)

var (
	errCases     = errors.New("the conditions distinguish too many cases")
	errDependent = errors.New("depend on each other: one is part of the other")
)

// Decide compiles conditions: the outcome is the number of the first that holds.
func Decide(when ...Condition) (*Decision, error) {
	rules := make([]rule, len(when))
	for i, c := range when {
		rules[i] = rule{c, i}
	}
	return decide(rules)
}

// Refuse returns the decision that no document has an outcome.
func Refuse() *Decision { return leaf(-1) }

// decide compiles ordered rules.
func decide(rules []rule) (*Decision, error) {
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
	boxes := make([]box, len(rules))
	for i, r := range rules {
		boxes[i] = boxed(r)
	}
	d := b.build(boxes)
	if b.left < 0 {
		return nil, errCases
	}
	return d, nil
}

// A builder makes decisions of bounded size.
type builder struct{ left int }

// A box is a rule as a set for each thing that it tests, in order of their names.
type box struct {
	sides   []side
	outcome int
}

type side struct {
	at   string
	test Test // one of those that make it
	in   Set
}

func boxed(r rule) box {
	x := box{outcome: r.outcome}
	for _, t := range r.when {
		x.sides = append(x.sides, side{t.dimension(), t, t.values()})
	}
	slices.SortStableFunc(x.sides, func(a, b side) int { return strings.Compare(a.at, b.at) })
	merged := x.sides[:0]
	for _, s := range x.sides {
		if n := len(merged); n > 0 && merged[n-1].at == s.at {
			merged[n-1].in = merged[n-1].in.Intersect(s.in)
			continue
		}
		merged = append(merged, s)
	}
	x.sides = merged
	return x
}

// build decides between boxes by what they test first in the order of names. Where one
// demands nothing more, those after it do not count.
func (b *builder) build(boxes []box) *Decision {
	if b.left--; b.left < 0 || len(boxes) == 0 {
		return leaf(-1)
	}
	if i := slices.IndexFunc(boxes, func(x box) bool { return len(x.sides) == 0 }); i == 0 {
		return leaf(boxes[0].outcome)
	} else if i > 0 {
		boxes = boxes[:i+1]
	}
	first := boxes[0].sides[0]
	for _, x := range boxes {
		if len(x.sides) > 0 && x.sides[0].at < first.at {
			first = x.sides[0]
		}
	}
	tests := func(x box) bool { return len(x.sides) > 0 && x.sides[0].at == first.at }
	parts := []Set{AllValues()}
	if first.test.IsOpaque() {
		parts = []Set{yes.Union(no)}
	}
	for _, x := range boxes {
		if !tests(x) {
			continue
		}
		in := x.sides[0].in
		var finer []Set
		for _, p := range parts {
			if !p.meets(in) {
				finer = append(finer, p)
				continue
			}
			for _, q := range []Set{p.Intersect(in), p.Minus(in)} {
				if !q.IsEmpty() {
					finer = append(finer, q)
				}
			}
		}
		if parts = finer; len(parts) > maxParts {
			b.left = -1
			return leaf(-1)
		}
	}
	var branches []branch
	for _, p := range parts {
		var rest []box
		for _, x := range boxes {
			switch {
			case !tests(x):
				rest = append(rest, x)
			case p.meets(x.sides[0].in): // and is within, since parts are not divided
				rest = append(rest, box{x.sides[1:], x.outcome})
			}
		}
		branches = append(branches, branch{p, b.build(rest)})
	}
	return reduce(first.at, first.test, branches)
}

// reduce returns the one form of a decision at a place.
func reduce(at string, test Test, branches []branch) *Decision {
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
	return &Decision{at: at, test: test, branches: merged}
}

func (d *Decision) equal(e *Decision) bool {
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
func (d *Decision) rename(to func(int) int) *Decision {
	if d.isLeaf() {
		return leaf(to(d.outcome))
	}
	branches := make([]branch, len(d.branches))
	for i, b := range d.branches {
		branches[i] = branch{b.in, b.then.rename(to)}
	}
	return reduce(d.at, d.test, branches)
}

// Both visits every case that two decisions distinguish together: the outcomes of
// both, and what leads there. It stops when visit returns false, and returns that.
func Both(a, b *Decision, visit func(a, b int, when Condition) bool) bool {
	return both(a, b, nil, visit)
}

func both(a, b *Decision, path Condition, visit func(a, b int, when Condition) bool) bool {
	if a.isLeaf() && b.isLeaf() {
		return visit(a.outcome, b.outcome, path)
	}
	at := a.at
	if a.isLeaf() || !b.isLeaf() && b.at < a.at {
		at = b.at
	}
	test := a.test
	if at != a.at || a.isLeaf() {
		test = b.test
	}
	for _, x := range a.on(at) {
		for _, y := range b.on(at) {
			in := x.in.Intersect(y.in)
			if in.IsEmpty() {
				continue
			}
			test.In = in
			if !both(x.then, y.then, append(path[:len(path):len(path)], test), visit) {
				return false
			}
		}
	}
	return true
}

// on returns the branches of a decision at a place, of which it may know nothing.
func (d *Decision) on(at string) []branch {
	if d.isLeaf() || d.at != at {
		return []branch{{AllValues(), d}}
	}
	return d.branches
}

// Cases visits the cases of a decision: the outcome, -1 for none, and what leads there.
func (d *Decision) Cases(visit func(outcome int, when Condition) bool) bool {
	return both(d, leaf(0), nil, func(a, _ int, when Condition) bool { return visit(a, when) })
}

// of decides about a document. tell answers the opaque tests.
func (d *Decision) of(v wire.Value, tell func(Test) bool) int {
	for !d.isLeaf() {
		var has func(Set) bool
		if strings.HasPrefix(d.at, "?") {
			answer := uint8(flagFalse)
			if tell(d.test) {
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

// outcomes adds what a decision may come to.
func (d *Decision) outcomes(list []int) []int {
	if d.isLeaf() {
		return append(list, d.outcome)
	}
	for _, b := range d.branches {
		list = b.then.outcomes(list)
	}
	return list
}

// encode writes the decision for a digest.
func (d *Decision) encode() any {
	if d.isLeaf() {
		return int64(d.outcome)
	}
	cases := make([]any, len(d.branches))
	for i, b := range d.branches {
		cases[i] = []any{b.in.String(), b.then.encode()}
	}
	return wire.M{"at": d.at, "cases": cases}
}
