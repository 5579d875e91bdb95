package offer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	MaxEnum     = 256 // values of an enum
	MaxMembers  = 64  // members of a term
	maxTermID   = 256 // bytes
)

// A Term is one dimension of the deal (SPEC §3.1).
type Term struct {
	ID     string
	Type   Type
	Label  string
	Unit   string
	Bounds []Bounds // all of them hold

	currencies []string  // what open calls the term's currency or unit
	inherited  NamedTerm // by an offer that does not mention the term; zero if open gives no value
}

// A Space is the set of terms that an open message defines (SPEC §3.2). It is
// immutable.
type Space struct {
	terms []Term // in canonical order of their ids
	index map[string]int
}

// Terms returns the terms in canonical order.
func (s *Space) Terms() []Term { return s.terms }

// Len returns the number of terms.
func (s *Space) Len() int { return len(s.terms) }

// find returns the index of a term, or -1.
func (s *Space) find(id string) int {
	if i, ok := s.index[id]; ok {
		return i
	}
	return -1
}

// currencies returns what open calls the term's currency.
func (s *Space) currencies(id string) []string {
	if i := s.find(id); i >= 0 {
		return s.terms[i].currencies
	}
	return nil
}

// ReadSpace reads the terms of an open message's body, which stands at pointer
// at (SPEC §3.1).
func ReadSpace(body wire.Value, at string) (*Space, error) {
	r := wire.Read(body, at, RuleSpace)
	terms := r.Object("terms")
	if terms.Whole().Len() > MaxTerms {
		r.Fail("terms", errTooMany)
		return nil, r.Err()
	}
	s := &Space{index: make(map[string]int)}
	for id, tr := range terms.Each() {
		if tr.Whole().Len() > MaxMembers {
			tr.Fail("", errTooMany)
			return nil, r.Err()
		}
		tr = tr.WithoutNulls()
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
			c = c.WithoutNulls()
			c.Open("min", "max", "enum", "currency")
			if b := readBounds(c); !b.empty() {
				t.Bounds = append(t.Bounds, b)
			}
		}
		for _, b := range t.Bounds {
			if b.Currency != "" {
				t.currencies = append(t.currencies, b.Currency)
			}
		}
		if t.Unit != "" {
			t.currencies = append(t.currencies, t.Unit)
		}
		if tr.Has("value") {
			t.inherited = named(id, tr.Whole().Only("value", "currency"))
			if v := t.check(t.inherited); v != nil && r.Err() == nil {
				return nil, locate(v, tr.Pointer(), t.inherited.Object)
			}
		}
		s.index[id] = len(s.terms)
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

func (t Type) known() bool {
	return slices.Contains([]Type{Numeric, Temporal, Categorical, Boolean, FreeText, Composite}, t)
}

// fits reports whether a value of kind k, at its place, has the type.
func (t Type) fits(k wire.Kind, at place) bool {
	switch t {
	case Numeric:
		return k == wire.Number
	case Temporal:
		return at.form != 0
	case Categorical:
		return k == wire.String || k == wire.Number || k == wire.Bool
	case Boolean:
		return k == wire.Bool
	case FreeText:
		return k == wire.String
	case Composite:
		return k == wire.Object || k == wire.Array
	}
	return true
}

// check judges a term of an offer, {"value": …, …}. The violation points from the
// term: see locate.
func (t *Term) check(given NamedTerm) *wire.Violation {
	switch k := given.value.Kind(); {
	case k == wire.Absent || k == wire.Null:
		return RuleTerm.At("")
	case !t.Type.fits(k, given.place):
		return RuleTermType.Because("/value", fmt.Errorf("want %s", t.Type))
	}
	for _, b := range t.Bounds {
		if member := b.outside(given, t.currencies); member != "" {
			return RuleTermBounds.At(member)
		}
	}
	return nil
}

// locate makes v point from the artifact's root, at being where the term stands
// and written what stands there: {"value": …}, or where allowed just the value.
func locate(v *wire.Violation, at string, written wire.Value) error {
	if _, ok := written.Get(strings.TrimPrefix(v.At, "/")); ok {
		at += v.At
	}
	v.At = at
	return v
}

// bounded reports whether open limits the values of the term on all sides, so that
// an accept may choose one (SPEC §6.5).
func (t *Term) bounded() bool {
	above, below := false, false
	for i := range t.Bounds {
		b := &t.Bounds[i]
		if b.Enum != nil {
			return true
		}
		above, below = above || b.hi.form != 0, below || b.lo.form != 0
	}
	return t.Type == Boolean || above && below
}

// Terms are the values of a deal or of a branch of an offer: an object for each
// term that has one. Their order means nothing.
type Terms []NamedTerm

// A NamedTerm is one term of a deal: {"value": …} and perhaps more.
type NamedTerm struct {
	ID     string
	Object wire.Value

	value wire.Value
	place place // of the value, if it has one
}

func named(id string, object wire.Value) NamedTerm {
	value, _ := object.Get("value")
	return NamedTerm{id, object, value, position(value)}
}

// Get returns the object of a term.
func (ts Terms) Get(id string) (wire.Value, bool) {
	if t := ts.find(id); t != nil {
		return t.Object, true
	}
	return wire.Value{}, false
}

func (ts Terms) find(id string) *NamedTerm {
	for i := range ts {
		if ts[i].ID == id {
			return &ts[i]
		}
	}
	return nil
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
	if len(more) == 0 {
		return ts, ""
	}
	out := append(make(Terms, 0, len(ts)+len(more)), ts...)
	for _, t := range more {
		have := out.find(t.ID)
		if have == nil {
			out = append(out, t)
			continue
		}
		object, ok := have.Object.Union(t.Object)
		if !ok {
			return nil, t.ID
		}
		*have = named(t.ID, object)
	}
	return out, ""
}
