package offer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/concordia-node/concordia/wire"
)

// A Type says what the values of a term are (SPEC §3.1.1).
type Type string

// The six term types. The empty Type takes any value but null.
const (
	Numeric     Type = "numeric"
	Temporal    Type = "temporal"
	Categorical Type = "categorical"
	Boolean     Type = "boolean"
	FreeText    Type = "text"
	Composite   Type = "composite"
)

// Limits of one negotiation (SPEC §3.1, §6).
const (
	MaxTerms    = 256
	MaxBranches = 64
	maxTermID   = 256 // bytes
)

// A Term is one dimension of the deal (SPEC §3.1).
type Term struct {
	ID     string
	Type   Type
	Label  string
	Unit   string
	Bounds []Bounds   // all of them hold
	Value  wire.Value // what an offer that does not mention the term inherits; may be absent
}

// A Space is the set of terms that an open message defines (SPEC §3.2). It is
// immutable.
type Space struct {
	terms []Term // in canonical order of their ids
}

// Terms returns the terms in canonical order.
func (s *Space) Terms() []Term { return s.terms }

// Len returns the number of terms.
func (s *Space) Len() int { return len(s.terms) }

// find returns the index of a term, or -1.
func (s *Space) find(id string) int {
	for i := range s.terms {
		if s.terms[i].ID == id {
			return i
		}
	}
	return -1
}

// ReadSpace reads the terms of an open message's body, which stands at pointer
// at (SPEC §3.1).
func ReadSpace(body wire.Value, at string) (*Space, error) {
	r := wire.Read(body, at, RuleSpace)
	terms := r.Object("terms")
	if terms.Whole().Len() > MaxTerms {
		r.Fail("terms", fmt.Errorf("more than %d terms", MaxTerms))
	}
	s := &Space{}
	for id, tr := range terms.Each() {
		tr.Open("type", "label", "unit", "constraints", "value", "min", "max", "enum", "currency")
		t := Term{ID: id, Type: Type(tr.OptText("type")), Label: tr.OptText("label"), Unit: tr.OptText("unit")}
		if id == "" || len(id) > maxTermID {
			tr.Fail("", errTermID)
		}
		if tr.Has("type") && !t.Type.known() {
			tr.Fail("type", errTermType)
		}
		if b := readBounds(tr); !b.empty() {
			t.Bounds = append(t.Bounds, b)
		}
		if c, ok := tr.OptObject("constraints"); ok {
			c.Open("min", "max", "enum", "currency")
			if b := readBounds(c); !b.empty() {
				t.Bounds = append(t.Bounds, b)
			}
		}
		if tr.Has("value") {
			t.Value = termObject(tr.Whole())
			if err := t.check(t.Value, tr.Pointer()); err != nil && r.Err() == nil {
				return nil, err
			}
		}
		s.terms = append(s.terms, t)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

var (
	errTermID   = fmt.Errorf("a term id has 1 to %d bytes", maxTermID)
	errTermType = errors.New("not one of the six term types")
)

// termObject keeps of a term's definition what makes a value: value and currency.
func termObject(definition wire.Value) wire.Value {
	for name := range definition.Members() {
		if name != "value" && name != "currency" {
			definition = definition.Without(name)
		}
	}
	return definition
}

func (t Type) known() bool {
	return slices.Contains([]Type{Numeric, Temporal, Categorical, Boolean, FreeText, Composite}, t)
}

// fits reports whether a value has the type.
func (t Type) fits(v wire.Value) bool {
	k := v.Kind()
	switch t {
	case Numeric:
		return k == wire.Number
	case Temporal:
		_, known := readTemporal(v.Text())
		return k == wire.Number || known
	case Categorical:
		return k == wire.String || k == wire.Number || k == wire.Bool
	case Boolean:
		return k == wire.Bool
	case FreeText:
		return k == wire.String
	case Composite:
		return k == wire.Object || k == wire.Array
	}
	return k != wire.Null && k != wire.Absent
}

// check judges a term of an offer, {"value": …, …}, that stands at pointer at.
func (t *Term) check(object wire.Value, at string) error {
	value, ok := object.Get("value")
	switch {
	case !ok || value.Kind() == wire.Null:
		return RuleTerm.At(at)
	case !t.Type.fits(value):
		return RuleTermType.Because(at+"/value", fmt.Errorf("want %s", t.Type))
	}
	for _, b := range t.Bounds {
		if !b.contain(object) {
			return RuleTermBounds.At(at + "/value")
		}
	}
	return nil
}

// bounded reports whether open limits the values of the term, so that an accept
// may choose one (SPEC §6.5).
func (t *Term) bounded() bool { return t.Type == Boolean || len(t.Bounds) > 0 }

// Terms are the values of a deal or of a branch of an offer: an object for each
// term that has one. Their order means nothing.
type Terms []NamedTerm

// A NamedTerm is one term of a deal: {"value": …} and perhaps more.
type NamedTerm struct {
	ID     string
	Object wire.Value
}

// Get returns the object of a term.
func (ts Terms) Get(id string) (wire.Value, bool) {
	for i := range ts {
		if ts[i].ID == id {
			return ts[i].Object, true
		}
	}
	return wire.Value{}, false
}

// Value returns the terms as one JSON object.
func (ts Terms) Value() wire.Value {
	m := make(wire.M, len(ts))
	for _, t := range ts {
		m[t.ID] = t.Object
	}
	v, err := wire.Encode(m)
	if err != nil { // every part has been parsed before
		panic("offer: encoding terms: " + err.Error())
	}
	return v
}

// merged returns the terms with those of more put in. Members that both give
// must be equal; if not, it returns the id of the term in conflict.
func (ts Terms) merged(more Terms) (Terms, string) {
	out := slices.Clone(ts)
	for _, t := range more {
		i := slices.IndexFunc(out, func(o NamedTerm) bool { return o.ID == t.ID })
		if i < 0 {
			out = append(out, t)
			continue
		}
		object := out[i].Object
		for name, v := range t.Object.Members() {
			if have, ok := object.Get(name); !ok {
				object = object.With(name, v)
			} else if !have.Equal(v) {
				return nil, t.ID
			}
		}
		out[i].Object = object
	}
	return out, ""
}
