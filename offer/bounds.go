package offer

import (
	"errors"
	"slices"

	"github.com/concordia-node/concordia/wire"
)

// Bounds limit the values of one term, in an open message or in a declared
// constraint (SPEC §3.1, §3.5).
type Bounds struct {
	Min, Max wire.Value   // inclusive; numbers, or strings of one temporal form
	Enum     []wire.Value // allowed values, compared as JSON values
	Currency string       // the currency of the term must be this

	lo, hi place // of Min and Max
}

func (b Bounds) empty() bool {
	return b.Min.Kind() == wire.Absent && b.Max.Kind() == wire.Absent && b.Enum == nil && b.Currency == ""
}

var (
	errNotOrdered = errors.New("want a number or a temporal string")
	errMinMax     = errors.New("min and max are not in order")
	errNoBound    = errors.New("none of min, max, enum, currency is given")
	errNoneOrMany = errors.New("no constraint, or constraints on too many terms")
)

// readBounds reads min, max, enum and currency as far as r has them.
func readBounds(r wire.Reader) Bounds {
	var b Bounds
	b.Min, b.lo = readBound(r, "min")
	b.Max, b.hi = readBound(r, "max")
	if !b.consistent() {
		r.Fail("max", errMinMax)
	}
	if r.Has("enum") {
		b.Enum = []wire.Value{}
		if r.Array("enum").Len() > MaxEnum {
			r.Fail("enum", errTooMany)
			return b
		}
		for _, v := range r.Array("enum").Elems() {
			b.Enum = append(b.Enum, v)
		}
	}
	b.Currency = r.OptText("currency")
	return b
}

func readBound(r wire.Reader, name string) (wire.Value, place) {
	if !r.Has(name) {
		return wire.Value{}, place{}
	}
	v := r.Value(name)
	p := position(v)
	if !p.ordered() {
		r.Fail(name, errNotOrdered)
	}
	return v, p
}

// outside points from a term, {"value": …, "currency": …}, to what lies outside; ""
// means nothing does. What cannot be compared lies outside. A term that names no
// currency has those that open names.
func (b *Bounds) outside(t NamedTerm, named []string) string {
	switch {
	case b.lo.form != 0 && !b.lo.atMost(t.place),
		b.hi.form != 0 && !t.place.atMost(b.hi),
		b.Enum != nil && !slices.ContainsFunc(b.Enum, t.value.Equal):
		return "/value"
	case b.Currency == "":
		return ""
	}
	if c, _ := t.Object.Get("currency"); c.Kind() != wire.Absent && c.Kind() != wire.Null {
		named = []string{c.Text()}
	}
	if !slices.Contains(named, b.Currency) {
		return "/currency"
	}
	return ""
}

// consistent reports whether min and max leave something between them.
func (b *Bounds) consistent() bool {
	return b.lo.form == 0 || b.hi.form == 0 || b.lo.atMost(b.hi)
}

// looser returns the name of the member by which next allows more than b, or "".
// A member that next leaves out stays in force.
func (b *Bounds) looser(next *Bounds) string {
	switch {
	case next.lo.form != 0 && b.lo.form != 0 && !b.lo.atMost(next.lo):
		return "min"
	case next.hi.form != 0 && b.hi.form != 0 && !next.hi.atMost(b.hi):
		return "max"
	case next.Enum != nil && b.Enum != nil && slices.ContainsFunc(next.Enum, func(v wire.Value) bool {
		return !slices.ContainsFunc(b.Enum, v.Equal)
	}):
		return "enum"
	case next.Currency != "" && b.Currency != "" && next.Currency != b.Currency:
		return "currency"
	}
	return ""
}

// tightened returns b with the members that next gives.
func (b Bounds) tightened(next Bounds) Bounds {
	if next.lo.form != 0 {
		b.Min, b.lo = next.Min, next.lo
	}
	if next.hi.form != 0 {
		b.Max, b.hi = next.Max, next.hi
	}
	if next.Enum != nil {
		b.Enum = next.Enum
	}
	if next.Currency != "" {
		b.Currency = next.Currency
	}
	return b
}

// Constraints are the hard limits that one party has declared, by term (SPEC
// §3.5). They are immutable; the zero Constraints limit nothing.
type Constraints struct{ byTerm map[string]Bounds }

// Declare reads the body of a constrain message and returns the constraints with
// it. A party may add to what it declared and tighten it, not loosen it.
func (c Constraints) Declare(body wire.Value, at string) (Constraints, error) {
	r := wire.Read(body, at, RuleBounds)
	r.Open("constraints")
	declared := r.Object("constraints")
	next := make(map[string]Bounds, len(c.byTerm)+declared.Whole().Len())
	for id, b := range c.byTerm {
		next[id] = b
	}
	if n := declared.Whole().Len(); n == 0 || n > MaxTerms {
		r.Fail("constraints", errNoneOrMany)
		return c, r.Err()
	}
	for id, tr := range declared.Each() {
		tr.Open("min", "max", "enum", "currency")
		b := readBounds(tr)
		if b.empty() {
			tr.Fail("", errNoBound)
		}
		before := next[id]
		if member := before.looser(&b); member != "" {
			tr.FailRule(RuleLoosened, member, nil)
		}
		after := before.tightened(b)
		if !after.consistent() {
			tr.Fail("", errMinMax)
		}
		next[id] = after
	}
	if len(next) > MaxTerms {
		r.Fail("constraints", errNoneOrMany)
	}
	if err := r.Err(); err != nil {
		return c, err
	}
	return Constraints{next}, nil
}

// Check reports the first branch of o that breaks the constraints, the body of o
// standing at pointer at (SPEC §3.5).
func (c Constraints) Check(space *Space, o *Offer, at string) error {
	for i := range o.Branches {
		if id, member := c.broken(space, o.Branches[i].Terms); id != "" {
			return o.locate(RuleConstraint.Because(member, errors.New("term "+quote(id))), at, i, id)
		}
	}
	return nil
}

// CheckDeal is Check for the deal that an accept, its body at pointer at, makes.
func (c Constraints) CheckDeal(space *Space, deal Terms, at string) error {
	if id, _ := c.broken(space, deal); id != "" {
		return RuleConstraint.Because(at, errors.New("term "+quote(id)))
	}
	return nil
}

// broken returns the first term that breaks the constraints, or "", and which
// member does. A term without a value keeps them.
func (c Constraints) broken(space *Space, terms Terms) (id, member string) {
	if len(c.byTerm) == 0 {
		return "", ""
	}
	for _, t := range terms {
		b, limited := c.byTerm[t.ID]
		if !limited {
			continue
		}
		if member := b.outside(t, space.currencies(t.ID)); member != "" {
			return t.ID, member
		}
	}
	return "", ""
}
