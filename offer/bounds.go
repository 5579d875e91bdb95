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
	Currency string       // the term's currency member must be this
}

func (b Bounds) empty() bool {
	return b.Min.Kind() == wire.Absent && b.Max.Kind() == wire.Absent && b.Enum == nil && b.Currency == ""
}

var (
	errNotOrdered = errors.New("want a number or a temporal string")
	errMinMax     = errors.New("min and max are not in order")
	errNoBound    = errors.New("none of min, max, enum, currency is given")
)

// readBounds reads min, max, enum and currency as far as r has them.
func readBounds(r wire.Reader) Bounds {
	var b Bounds
	b.Min, b.Max = readBound(r, "min"), readBound(r, "max")
	if b.Min.Kind() != wire.Absent && b.Max.Kind() != wire.Absent && !atMost(b.Min, b.Max) {
		r.Fail("max", errMinMax)
	}
	if r.Has("enum") {
		b.Enum = []wire.Value{}
		for _, v := range r.Array("enum").Elems() {
			b.Enum = append(b.Enum, v)
		}
	}
	b.Currency = r.OptText("currency")
	return b
}

func readBound(r wire.Reader, name string) wire.Value {
	if !r.Has(name) {
		return wire.Value{}
	}
	v := r.Value(name)
	if _, ok := position(v); !ok {
		r.Fail(name, errNotOrdered)
	}
	return v
}

// contain reports whether the term object {"value": …, "currency": …} is inside.
// What cannot be compared is not inside.
func (b Bounds) contain(object wire.Value) bool {
	value, _ := object.Get("value")
	if b.Min.Kind() != wire.Absent && !atMost(b.Min, value) {
		return false
	}
	if b.Max.Kind() != wire.Absent && !atMost(value, b.Max) {
		return false
	}
	if b.Enum != nil && !slices.ContainsFunc(b.Enum, value.Equal) {
		return false
	}
	if b.Currency != "" {
		c, _ := object.Get("currency")
		return c.Text() == b.Currency
	}
	return true
}

// atMost reports whether a is less than or equal to b, and false if the two have
// no order.
func atMost(a, b wire.Value) bool {
	x, okX := position(a)
	y, okY := position(b)
	return okX && okY && x.form == y.form && x.at <= y.at
}

// looser returns the name of the member by which next allows more than b, or "".
// A member that next leaves out stays in force.
func (b Bounds) looser(next Bounds) string {
	switch {
	case next.Min.Kind() != wire.Absent && b.Min.Kind() != wire.Absent && !atMost(b.Min, next.Min):
		return "min"
	case next.Max.Kind() != wire.Absent && b.Max.Kind() != wire.Absent && !atMost(next.Max, b.Max):
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
	if next.Min.Kind() != wire.Absent {
		b.Min = next.Min
	}
	if next.Max.Kind() != wire.Absent {
		b.Max = next.Max
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
	if n := declared.Whole().Len(); n == 0 || len(next)+n > MaxTerms {
		r.Fail("constraints", errors.New("no constraint, or too many"))
	}
	for id, tr := range declared.Each() {
		tr.Open("min", "max", "enum", "currency")
		b := readBounds(tr)
		if b.empty() {
			tr.Fail("", errNoBound)
		}
		if member := next[id].looser(b); member != "" {
			tr.FailRule(RuleLoosened, member, nil)
		}
		if next[id] = next[id].tightened(b); !next[id].consistent() {
			tr.Fail("", errMinMax)
		}
	}
	if err := r.Err(); err != nil {
		return c, err
	}
	return Constraints{next}, nil
}

func (b Bounds) consistent() bool {
	return b.Min.Kind() == wire.Absent || b.Max.Kind() == wire.Absent || atMost(b.Min, b.Max)
}

// allow reports whether a term object keeps the constraints. A term that has no
// value yet keeps them.
func (c Constraints) allow(terms Terms) (id string, ok bool) {
	if len(c.byTerm) == 0 {
		return "", true
	}
	for _, t := range terms {
		if b, limited := c.byTerm[t.ID]; limited && !b.contain(t.Object) {
			return t.ID, false
		}
	}
	return "", true
}

// Check reports the first branch of o that breaks the constraints (SPEC §3.5).
func (c Constraints) Check(o *Offer, at string) error {
	for _, b := range o.Branches {
		if err := c.CheckTerms(b.Terms, at); err != nil {
			return err
		}
	}
	return nil
}

// CheckTerms is Check for the terms of a deal.
func (c Constraints) CheckTerms(terms Terms, at string) error {
	if id, ok := c.allow(terms); !ok {
		return RuleConstraint.Because(at, errors.New("term "+quote(id)))
	}
	return nil
}
