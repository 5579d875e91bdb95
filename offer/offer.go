package offer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Shape is one of the four shapes of an offer (SPEC §6.1-§6.4).
type Shape string

// The four shapes.
const (
	Basic       Shape = "basic"
	Partial     Shape = "partial"
	Conditional Shape = "conditional"
	Bundle      Shape = "bundle"
)

// An Offer is a sound offer: its shape, types, bounds and completeness have been
// checked against the space it was read for. It is immutable.
type Offer struct {
	ID         wire.OfferID // empty for a mediator's resolution
	Shape      Shape
	ValidUntil time.Time // zero: no limit but the session's offer_ttl
	Branches   []Branch  // at least one
	open       []string  // terms expressly left open
	body       wire.Value
}

// A Branch is one deal that an offer allows.
type Branch struct {
	ID    string // of a bundle
	Label string // of a bundle
	Terms Terms  // values inherited from open included

	bySpace []*NamedTerm // Terms by index of the space, nil where there is none
}

var (
	errShapes    = errors.New("want exactly one of terms, conditions (with or without terms) and bundles")
	errNoBranch  = errors.New("empty")
	errTooMany   = fmt.Errorf("more than %d terms, %d branches, %d members of a term or %d values of an enum", MaxTerms, MaxBranches, MaxMembers, MaxEnum)
	errBundles   = errors.New("only bundles are selected")
	errBundleID  = errors.New("used by an earlier bundle of the offer")
	errSelect    = errors.New(`want "one_of"`)
	errOpenTerm  = errors.New("not a term of the session without a value in this offer")
	errStillOpen = errors.New("terms are left open")
	errConflict  = errors.New("the condition and its consequence, or the terms beside them, differ")
	errNotATerm  = errors.New("want an object with a value")
)

// Read reads the body of an offer or counter that stands at pointer at, and
// checks it against the space (SPEC §3.3, §6).
func Read(body wire.Value, at string, space *Space) (*Offer, error) {
	r := wire.Read(body, at, RuleShape)
	r.Open("offer_id", "terms", "open_terms", "conditions", "bundles", "select", "complete", "valid_until")
	o := &Offer{ID: wire.ReadID[wire.OfferID](r, "offer_id"), Shape: Basic, body: body}
	if r.Has("valid_until") {
		o.ValidUntil = r.Time("valid_until")
	}
	var base Terms
	if r.Has("terms") {
		base = readTerms(r.Object("terms"), false)
	}
	switch {
	case r.Has("bundles"):
		o.Shape = Bundle
		if r.Has("terms") || r.Has("conditions") {
			r.Fail("bundles", errShapes)
		}
		o.readBundles(r)
	case r.Has("conditions"):
		o.Shape = Conditional
		o.readConditions(r, base)
	case r.Has("terms"):
		o.Branches = []Branch{{Terms: base}}
	default:
		r.Fail("terms", errShapes)
	}
	if r.Has("select") && o.Shape != Bundle {
		r.Fail("select", errBundles)
	}
	if r.Has("open_terms") {
		if o.Shape == Basic {
			o.Shape = Partial
		}
		o.open = r.Strings("open_terms")
		for i, id := range o.open {
			if space.find(id) < 0 || slices.Contains(o.open[:i], id) || o.gives(id) {
				r.Fail("open_terms", errOpenTerm)
			}
		}
	}
	complete := r.OptBool("complete")
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := o.settle(space, at); err != nil {
		return nil, err
	}
	if complete {
		if len(o.open) > 0 {
			return nil, RuleComplete.Because(at+"/complete", errStillOpen)
		}
		for i := range o.Branches {
			if id := o.Branches[i].gap(space); id != "" {
				return nil, RuleComplete.Because(at+"/complete", errors.New("term "+quote(id)+" has no value"))
			}
		}
	}
	return o, nil
}

// Body returns the offer as it was signed: what an approval receipt names by its hash
// (SPEC §9.6.4b).
func (o *Offer) Body() wire.Value { return o.body }

// ReadResolution reads the terms of a mediator's resolve message (SPEC §8): a
// complete basic offer of no party.
func ReadResolution(body wire.Value, at string, space *Space) (*Offer, error) {
	r := wire.Read(body, at, RuleShape)
	o := &Offer{Shape: Basic, body: body, Branches: []Branch{{Terms: readTerms(r.Object("terms"), false)}}}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if err := o.settle(space, at); err != nil {
		return nil, err
	}
	if id := o.Branches[0].gap(space); id != "" {
		return nil, RuleComplete.Because(at+"/terms", errors.New("term "+quote(id)+" has no value"))
	}
	return o, nil
}

// gives reports whether some branch gives the term a value of its own.
func (o *Offer) gives(id string) bool {
	return slices.ContainsFunc(o.Branches, func(b Branch) bool { return b.Terms.find(id) != nil })
}

// readTerms reads an object of terms. Where plain is allowed, as in conditions
// and accepted_terms, v stands for {"value": v} (SPEC §6.3).
func readTerms(r wire.Reader, plain bool) Terms {
	if r.Whole().Len() > MaxTerms {
		r.Fail("", errTooMany)
		return nil
	}
	terms := make(Terms, 0, r.Whole().Len())
	for id, v := range r.Whole().Members() {
		_, isTerm := v.Get("value")
		switch {
		case isTerm && v.Len() > MaxMembers:
			r.Fail(id, errTooMany)
			return nil
		case isTerm:
			if twins(v) {
				r.Member(id).Open("value", "currency") // says which
			}
		case plain:
			v = plainTerm(v)
		default:
			r.FailRule(RuleTerm, id, errNotATerm)
		}
		terms = append(terms, named(id, v))
	}
	return terms
}

// twins reports whether some member of a term differs only in case from value or
// currency.
func twins(term wire.Value) bool {
	for name := range term.Members() {
		if name != "value" && name != "currency" && (strings.EqualFold(name, "value") || strings.EqualFold(name, "currency")) {
			return true
		}
	}
	return false
}

func plainTerm(v wire.Value) wire.Value {
	object, err := wire.Encode(wire.M{"value": v})
	if err != nil { // v has been parsed before
		panic("offer: encoding a plain value: " + err.Error())
	}
	return object
}

func (o *Offer) readBundles(r wire.Reader) {
	if r.Has("select") && r.Text("select") != "one_of" {
		r.Fail("select", errSelect)
	}
	if !checkCount(r, "bundles") {
		return
	}
	for _, br := range r.Objects("bundles") {
		br.Open("bundle_id", "label", "terms")
		b := Branch{ID: wire.ReadID[string](br, "bundle_id"), Label: br.OptText("label"), Terms: readTerms(br.Object("terms"), false)}
		if b.ID == "" || slices.ContainsFunc(o.Branches, func(other Branch) bool { return other.ID == b.ID }) {
			br.Fail("bundle_id", errBundleID)
		}
		o.Branches = append(o.Branches, b)
	}
}

func (o *Offer) readConditions(r wire.Reader, base Terms) {
	if !checkCount(r, "conditions") {
		return
	}
	for _, cr := range r.Objects("conditions") {
		cr.Open("if", "then")
		terms, clash := base.merged(readTerms(cr.Object("if"), true))
		if clash == "" {
			terms, clash = terms.merged(readTerms(cr.Object("then"), true))
		}
		if clash != "" {
			cr.Fail("", errConflict)
		}
		o.Branches = append(o.Branches, Branch{Terms: terms})
	}
}

func checkCount(r wire.Reader, name string) bool {
	n := r.Array(name).Len()
	switch {
	case n == 0:
		r.Fail(name, errNoBranch)
	case n > MaxBranches:
		r.Fail(name, errTooMany)
	}
	return 0 < n && n <= MaxBranches
}

// settle lets each branch inherit what open gives and checks its values.
func (o *Offer) settle(space *Space, at string) error {
	for i := range o.Branches {
		b := &o.Branches[i]
		given := make([]bool, space.Len())
		for _, id := range o.open {
			given[space.find(id)] = true
		}
		inherit := space.Len() - len(o.open)
		for _, t := range b.Terms {
			if n := space.find(t.ID); n >= 0 {
				given[n] = true
				inherit--
				if v := space.terms[n].check(t); v != nil {
					return o.locate(v, at, i, t.ID)
				}
			} else if t.value.Kind() == wire.Null {
				return o.locate(RuleTerm.At(""), at, i, t.ID)
			}
		}
		b.Terms = slices.Grow(slices.Clip(b.Terms), max(inherit, 0)) // branches may share terms
		for n := range space.terms {
			if t := &space.terms[n]; t.inherited.ID != "" && !given[n] {
				b.Terms = append(b.Terms, t.inherited)
			}
		}
		b.bySpace = make([]*NamedTerm, space.Len())
		for j := range b.Terms {
			if n := space.find(b.Terms[j].ID); n >= 0 {
				b.bySpace[n] = &b.Terms[j]
			}
		}
	}
	return nil
}

// locate makes v point to the term of branch i as the body gives it.
func (o *Offer) locate(v *wire.Violation, at string, i int, term string) error {
	n := strconv.Itoa(i)
	for _, path := range [][]string{
		{"conditions", n, "then", term}, {"conditions", n, "if", term}, {"bundles", n, "terms", term}, {"terms", term},
	} {
		if written, ok := o.body.At(path...); ok {
			return locate(v, at+wire.Pointer(path...), written)
		}
	}
	v.At = at
	return v
}

// gap returns the first term of the space to which the branch gives no value, or
// "" if it is complete.
func (b *Branch) gap(space *Space) string {
	for i := range space.terms {
		if b.bySpace[i] == nil {
			return space.terms[i].ID
		}
	}
	return ""
}
