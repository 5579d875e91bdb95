package offer

import (
	"errors"
	"slices"

	"github.com/concordia-node/concordia/wire"
)

var (
	errNoFit   = errors.New("no branch of the offer fits")
	errManyFit = errors.New("more than one branch of the offer fits")
)

// Select returns the deal that the body of an accept, standing at pointer at,
// makes of the offer (SPEC §6.5). bundle_id and accepted_terms must leave exactly
// one branch: members that both sides give are equal, members that the accept
// leaves out are taken from the offer, and it adds none. Terms that the branch leaves open may be
// given a value, but only inside bounds that open sets. The deal has a value for
// every term.
func (o *Offer) Select(body wire.Value, at string, space *Space) (Terms, error) {
	r := wire.Read(body, at, RuleSelect)
	r.Open("offer_id", "accepted_terms", "bundle_id")
	bundle := r.OptText("bundle_id")
	var chosen Terms
	if r.Has("accepted_terms") {
		chosen = readTerms(r.Object("accepted_terms"), true)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	var deal Terms
	fits := 0
	var fill error // why the last branch that fits otherwise cannot be filled
	for i := range o.Branches {
		b := &o.Branches[i]
		if r.Has("bundle_id") && (o.Shape != Bundle || b.ID != bundle) {
			continue
		}
		terms, clash := b.Terms.merged(chosen)
		if clash != "" {
			continue
		}
		if addsTo(b, chosen, space) {
			continue
		}
		if err := o.checkFill(b, chosen, at, space); err != nil {
			fill = err
			continue
		}
		fits++
		deal = terms
	}
	switch {
	case fits == 0 && fill != nil:
		return nil, fill
	case fits == 0:
		return nil, RuleSelect.Because(at, errNoFit)
	case fits > 1:
		return nil, RuleSelect.Because(at, errManyFit)
	}
	for i := range space.terms {
		if id := space.terms[i].ID; deal.find(id) == nil {
			return nil, RuleDealGap.Because(at, errors.New("term "+quote(id)))
		}
	}
	return deal, nil
}

// addsTo reports whether the accept gives a term of the branch a member that the
// offer left out: what the offerer has not said it has not agreed to. The currency
// that open names for the term may be repeated.
func addsTo(b *Branch, chosen Terms, space *Space) bool {
	for _, t := range chosen {
		offered := b.Terms.find(t.ID)
		if offered == nil {
			continue
		}
		n := space.find(t.ID)
		for name, v := range t.Object.Members() {
			if _, ok := offered.Object.Get(name); ok {
				continue
			}
			if name != "currency" || n < 0 || !slices.Contains(space.terms[n].currencies, v.Text()) {
				return true
			}
		}
	}
	return false
}

// checkFill judges the terms that the accept gives and the branch does not.
func (o *Offer) checkFill(b *Branch, chosen Terms, at string, space *Space) error {
	for _, t := range chosen {
		if b.Terms.find(t.ID) != nil {
			continue
		}
		p := at + wire.Pointer("accepted_terms", t.ID)
		n := space.find(t.ID)
		if n < 0 || !space.terms[n].bounded() {
			return RuleFill.At(p)
		}
		if v := space.terms[n].check(t); v != nil {
			return locate(v, p, t.Object)
		}
	}
	return nil
}
