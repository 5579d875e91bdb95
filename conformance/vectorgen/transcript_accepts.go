package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// plainSpace is a smaller space, in which nothing is inherited.
const plainSpace = `{
	"price": {"type": "numeric", "currency": "EUR"}, "boats": {"type": "numeric", "min": 1, "max": 12}, "skipper": {"type": "boolean"},
	"berth": {"enum": ["north", "south"]}, "note": {"type": "text"}}`

const plainOffer = `{"offer_id": "off_1", "terms": {"price": {"value": 600}, "boats": {"value": 4}, "skipper": {"value": true}, "berth": {"value": "north"}, "note": {"value": "x"}}}`

// taken is an offer of the hirer and an accept of the guide in that space.
func taken(offerBody, acceptBody string) func(wire.Value) wire.Value {
	return all(first(2), in(0, "/body/terms", plainSpace), say(hirer, "offer", 60, offerBody), say(guide, "accept", 90, acceptBody))
}

func without(pointer string) string { return drop(pointer)(parse(plainOffer)).Canonical() }

// selectFaults are accepts that fit no branch, or more than one.
func selectFaults() (faults []fault) {
	take := func(name string, rule *wire.Rule, offerBody, acceptBody, why string) {
		f := fault{name: "take-" + name, rule: rule, edit: taken(offerBody, acceptBody), why: why}
		if rule != nil {
			f.breaks = "each party believes in another deal, and both have signed"
		}
		faults = append(faults, f)
	}
	bad := func(name, offerBody, acceptBody, why string) {
		take(name, offer.RuleSelect, offerBody, acceptBody, why)
	}
	good := func(name, offerBody, acceptBody, why string) { take(name, nil, offerBody, acceptBody, why) }
	terms, _ := parse(plainOffer).Get("terms")
	other := set("/boats/value", "6")(set("/price/value", "850")(terms))
	bundles := value(wire.M{"offer_id": "off_1", "bundles": []wire.M{{"bundle_id": "four", "terms": terms}, {"bundle_id": "six", "terms": other}}}).Canonical()
	rest := terms.Without("price").Without("skipper")
	conditions := value(wire.M{"offer_id": "off_1", "terms": rest, "conditions": []wire.M{
		{"if": wire.M{"skipper": true}, "then": wire.M{"price": wire.M{"value": 700, "currency": "EUR"}}},
		{"if": wire.M{"skipper": false}, "then": wire.M{"price": 500}},
	}}).Canonical()

	good("bundle-by-id", bundles, `{"bundle_id": "four"}`, "a bundle is taken by its id")
	good("bundle-by-terms", bundles, `{"accepted_terms": {"boats": 6}}`, "a bundle is taken by terms that fit only it")
	good("bundle-by-both", bundles, `{"bundle_id": "six", "accepted_terms": {"boats": {"value": 6}}}`, "id and terms may both say it")
	bad("bundle-unsaid", bundles, `{}`, "of two bundles an accept says which")
	bad("bundle-unknown", bundles, `{"bundle_id": "five"}`, "a bundle that was not offered cannot be taken")
	bad("bundle-empty-id", bundles, `{"bundle_id": ""}`, "the empty id names no bundle")
	bad("bundle-other-case", bundles, `{"bundle_id": "Four"}`, "ids are compared letter for letter")
	bad("bundle-ambiguous", bundles, `{"accepted_terms": {"berth": "north"}}`, "terms that fit both bundles do not say which")
	bad("bundle-mixed", bundles, `{"accepted_terms": {"boats": 6, "price": 600}}`, "nobody takes the boats of one bundle at the price of the other")
	bad("bundle-contradicts", bundles, `{"bundle_id": "four", "accepted_terms": {"boats": 6}}`, "id and terms name the same bundle")
	bad("bundle-of-basic", plainOffer, `{"bundle_id": "four"}`, "an offer without bundles has none to take")
	bad("bundle-number", bundles, `{"bundle_id": 4}`, "the id of a bundle is a text")
	bad("bundle-null", bundles, `{"bundle_id": null}`, "the id of a bundle is a text")
	good("condition-true", conditions, `{"accepted_terms": {"skipper": true}}`, "a condition is taken by what it says")
	good("condition-by-consequence", conditions, `{"accepted_terms": {"price": 500}}`, "a condition is taken by its consequence as well")
	bad("condition-unsaid", conditions, `{}`, "of two conditions an accept says which holds")
	bad("condition-mixed", conditions, `{"accepted_terms": {"skipper": true, "price": 500}}`, "nobody takes the condition of one branch at the price of the other")
	bad("condition-text", conditions, `{"accepted_terms": {"skipper": "true"}}`, "the text true is not true")
	bad("condition-one", conditions, `{"accepted_terms": {"skipper": 1}}`, "1 is not true")
	bad("other-price", plainOffer, `{"accepted_terms": {"price": 550}}`, "an accept takes what was offered")
	bad("price-as-text", plainOffer, `{"accepted_terms": {"price": "600"}}`, "the text 600 is not the number 600")
	good("price-repeated", plainOffer, `{"accepted_terms": {"price": 600.0}}`, "an accept may repeat what was offered, however it is spelled")
	good("all-repeated", plainOffer, value(wire.M{"accepted_terms": terms}).Canonical(), "an accept may repeat all that was offered")
	good("currency-of-open", plainOffer, `{"accepted_terms": {"price": {"value": 600, "currency": "EUR"}}}`, "an accept may repeat the currency that open names")
	bad("currency-added", plainOffer, `{"accepted_terms": {"price": {"value": 600, "currency": "SEK"}}}`, "an accept adds no currency that nobody named")
	bad("member-added", plainOffer, `{"accepted_terms": {"price": {"value": 600, "net_of_tax": true}}}`, "an accept adds nothing to a term: the offerer has not agreed to it")
	bad("null-added", plainOffer, `{"accepted_terms": {"boats": {"value": 4, "with": null}}}`, "an accept adds nothing to a term, not even null")
	bad("terms-list", plainOffer, `{"accepted_terms": ["price"]}`, "accepted_terms is an object")
	bad("terms-null", plainOffer, `{"accepted_terms": null}`, "accepted_terms is an object")
	for _, m := range []string{"offer_id", "accepted_terms", "bundle_id"} {
		take("twin-"+slug(m), session.RuleBody, plainOffer, `{"`+capital(m)+`": null}`, "no member of the body differs from "+m+" only in case")
	}
	take("offer-id-number", session.RuleBody, plainOffer, `{"offer_id": 1}`, "offer_id is an id")
	take("offer-id-null", session.RuleBody, plainOffer, `{"offer_id": null}`, "offer_id is left out or an id")
	take("offer-id-empty", session.RuleBody, plainOffer, `{"offer_id": ""}`, "offer_id is left out or an id")
	return faults
}

// fillFaults are accepts that give a value to what the offer left open.
func fillFaults() (faults []fault) {
	fill := func(name string, rule *wire.Rule, open, accepted, why string) {
		body := set("/open_terms", `["`+open+`"]`)(drop("/terms/" + open)(parse(plainOffer))).Canonical()
		f := fault{name: "fill-" + name, rule: rule, edit: taken(body, `{"accepted_terms": `+accepted+`}`), why: why}
		if rule != nil {
			f.breaks = "who accepts an offer writes a part of it that its maker never saw"
		}
		faults = append(faults, f)
	}
	fill("boats", nil, "boats", `{"boats": 5}`, "an open term with min and max may be given a value inside them")
	fill("boats-least", nil, "boats", `{"boats": {"value": 1}}`, "min is inclusive")
	fill("boats-most", nil, "boats", `{"boats": 12}`, "max is inclusive")
	fill("berth", nil, "berth", `{"berth": "south"}`, "an open term with an enum may be given one of its values")
	fill("skipper", nil, "skipper", `{"skipper": false}`, "an open term that is boolean may be given a value")
	fill("boats-too-many", offer.RuleTermBounds, "boats", `{"boats": 13}`, "what is filled in lies inside the bounds of open")
	fill("boats-none", offer.RuleTermBounds, "boats", `{"boats": 0}`, "what is filled in lies inside the bounds of open")
	fill("berth-other", offer.RuleTermBounds, "berth", `{"berth": "west"}`, "what is filled in is one of the values of open")
	fill("boats-text", offer.RuleTermType, "boats", `{"boats": "five"}`, "what is filled in has the type of its term")
	fill("skipper-one", offer.RuleTermType, "skipper", `{"skipper": 1}`, "what is filled in has the type of its term")
	fill("boats-null", offer.RuleTerm, "boats", `{"boats": null}`, "null fills nothing in")
	fill("price", offer.RuleFill, "price", `{"price": 1}`, "a term without bounds is not filled in: the offerer would have signed any price")
	fill("note", offer.RuleFill, "note", `{"note": "and everything else I want"}`, "a text is not filled in")
	fill("new-term", offer.RuleFill, "boats", `{"boats": 5, "tip": 100}`, "an accept adds no term that open does not have")
	for _, term := range []string{"price", "boats", "skipper", "berth", "note"} {
		faults = append(faults, fault{name: "gap-" + term, rule: offer.RuleDealGap, edit: taken(without("/terms/"+term), `{}`), why: "a deal has a value for " + term + ", as for every term of open", breaks: "a deal is made with a hole in it, and each side fills it as it likes"})
	}
	faults = append(faults,
		fault{name: "gap-open-term", rule: offer.RuleDealGap, edit: taken(set("/open_terms", `["boats"]`)(parse(without("/terms/boats"))).Canonical(), `{}`), why: "a term that was left open is filled in by the accept", breaks: "a deal is made with a hole in it, and each side fills it as it likes"},
		fault{name: "gap-filled-unasked", edit: taken(without("/terms/boats"), `{"accepted_terms": {"boats": 3}}`), why: "a term that the offer does not mention may be filled in like one that it leaves open"},
	)
	return faults
}

// constraintFaults are hard limits, offers and deals beyond them, and limits that
// are loosened.
func constraintFaults() (faults []fault) {
	limit := func(from string, at int, limits string) func(wire.Value) wire.Value {
		return say(from, "constrain", at, `{"constraints": `+limits+`}`)
	}
	const beyond = "a party is bargained down to what it declared impossible, and the transcript says that it may be"
	form := func(name string, rule *wire.Rule, body, why string) {
		f := fault{name: "constrain-" + name, rule: rule, edit: all(first(2), say(guide, "constrain", 60, body)), why: why}
		if rule != nil {
			f.breaks = beyond
		}
		faults = append(faults, f)
	}
	for _, c := range []struct{ name, body, why string }{
		{"nothing", `{}`, "constraints are given"}, {"empty", `{"constraints": {}}`, "at least one constraint is given"}, {"list", `{"constraints": []}`, "constraints is an object"}, {"null", `{"constraints": null}`, "constraints is an object"}, {"number", `{"constraints": {"price": 500}}`, "a constraint is an object"}, {"no-bound", `{"constraints": {"price": {}}}`, "a constraint gives a bound"},
		{"other-member", `{"constraints": {"price": {"step": 5}}}`, "a constraint gives one of four bounds"}, {"out-of-order", `{"constraints": {"price": {"min": 500, "max": 499}}}`, "min is not above max"}, {"min-word", `{"constraints": {"price": {"min": "much"}}}`, "a word has no order"}, {"min-null", `{"constraints": {"price": {"min": null}}}`, "null is no bound"},
		{"enum-text", `{"constraints": {"berth": {"enum": "north"}}}`, "an enum is a list"}, {"currency-number", `{"constraints": {"price": {"currency": 7}}}`, "a currency is a text"}, {"twin", `{"constraints": {"price": {"max": 500, "Max": 900}}}`, "no member of a constraint differs from max only in case"}, {"twin-of-constraints", `{"constraints": {"price": {"max": 500}}, "Constraints": {}}`, "no member of the body differs from constraints only in case"},
		{"enum-257", `{"constraints": {"berth": {"enum": ` + names(257) + `}}}`, "an enum has at most 256 values"},
	} {
		form(c.name, offer.RuleBounds, c.body, c.why)
	}
	form("each-bound", nil, `{"constraints": {"price": {"min": 100, "max": 500, "currency": "EUR"}, "berth": {"enum": ["north"]}, "day": {"min": "2026-10-01"}}}`, "each of the four bounds may be given")
	form("other-term", nil, `{"constraints": {"tip": {"max": 20}}}`, "a term that open does not have may be constrained")

	twice := func(name string, rule *wire.Rule, earlier, later, why string) {
		f := fault{name: "repeat-" + name, rule: rule, edit: all(first(2), limit(guide, 60, earlier), limit(guide, 90, later)), why: why}
		if rule != nil {
			f.breaks = "a hard limit was none, and what the other side conceded because of it stays conceded"
		}
		faults = append(faults, f)
	}
	for _, c := range []struct{ name, earlier, later, why string }{
		{"higher-max", `{"price": {"max": 500}}`, `{"price": {"max": 501}}`, "max is not raised"}, {"lower-min", `{"boats": {"min": 2}}`, `{"boats": {"min": 1}}`, "min is not lowered"}, {"later-day", `{"day": {"max": "2026-10-10"}}`, `{"day": {"max": "2026-10-11"}}`, "a last day is not moved back"},
		{"wider-enum", `{"berth": {"enum": ["north"]}}`, `{"berth": {"enum": ["north", "south"]}}`, "values are not added"}, {"other-enum", `{"berth": {"enum": ["north"]}}`, `{"berth": {"enum": ["south"]}}`, "values are not exchanged"}, {"other-currency", `{"price": {"currency": "EUR"}}`, `{"price": {"currency": "SEK"}}`, "a currency is not exchanged"},
		{"other-form", `{"day": {"max": "2026-10-10"}}`, `{"day": {"max": "2026-10"}}`, "a limit of another form cannot be compared"},
	} {
		twice(c.name, offer.RuleLoosened, c.earlier, c.later, c.why)
	}
	for _, c := range []struct{ name, earlier, later, why string }{
		{"same", `{"price": {"max": 500}}`, `{"price": {"max": 500}}`, "a limit may be repeated"}, {"lower-max", `{"price": {"max": 500}}`, `{"price": {"max": 400}}`, "max may be lowered"}, {"other-bound", `{"price": {"max": 500}}`, `{"price": {"min": 100}}`, "another bound may be added"}, {"narrower-enum", `{"berth": {"enum": ["north", 7]}}`, `{"berth": {"enum": [7]}}`, "values may be taken away"},
	} {
		twice(c.name, nil, c.earlier, c.later, c.why)
	}
	twice("contradicts", offer.RuleBounds, `{"price": {"max": 500}}`, `{"price": {"min": 501}}`, "limits together leave something between them")
	faults = append(faults, fault{name: "repeat-by-another", edit: all(first(2), limit(guide, 60, `{"price": {"max": 500}}`), limit(hirer, 90, `{"price": {"max": 800}}`)), why: "each party has its own limits"})

	// Offers, counters and accepts against limits.
	against := func(name, limits, why string) {
		for _, c := range []struct{ by, from, kind string }{{"own", guide, "offer"}, {"other", hirer, "offer"}, {"counter", hirer, "counter"}} {
			faults = append(faults, fault{name: "against-" + name + "-" + c.by, rule: offer.RuleConstraint, edit: all(first(2), limit(guide, 60, limits), say(c.from, c.kind, 90, offerOne)),
				why: why + ", whoever makes the offer", breaks: beyond})
		}
	}
	against("max", `{"price": {"max": 619}}`, "an offer keeps max")
	against("min", `{"boats": {"min": 5}}`, "an offer keeps min")
	against("enum", `{"berth": {"enum": ["south", 7]}}`, "an offer has one of the values")
	against("currency", `{"price": {"currency": "SEK"}}`, "an offer is in the currency")
	against("form", `{"day": {"max": "2026-12-31T00:00:00Z"}}`, "what cannot be compared with a limit is beyond it")
	against("inherited", `{"note": {"enum": ["tanks empty"]}}`, "a value that an offer inherits from open keeps the limit as well")
	keep := func(name, limits, why string) {
		faults = append(faults, fault{name: "keeps-" + name, edit: all(first(2), limit(guide, 60, limits), say(hirer, "offer", 90, offerOne), say(guide, "accept", 120, "{}")), why: why})
	}
	keep("max", `{"price": {"max": 620}}`, "max is inclusive")
	keep("min", `{"boats": {"min": 4}}`, "min is inclusive")
	keep("term-without-value", `{"tip": {"max": 1}}`, "a term without a value keeps every limit")
	branch := `{"offer_id": "off_1", "bundles": [{"bundle_id": "a", "terms": {"boats": {"value": 2}}}, {"bundle_id": "b", "terms": {"boats": {"value": 8}}}]}`
	faults = append(faults,
		fault{name: "against-in-one-branch", rule: offer.RuleConstraint, edit: all(first(2), limit(guide, 60, `{"boats": {"max": 6}}`), say(hirer, "offer", 90, branch)), why: "every branch keeps every limit", breaks: beyond},
		fault{name: "against-after-tightening", rule: offer.RuleConstraint, edit: all(first(2), limit(guide, 60, `{"price": {"max": 700}}`), limit(guide, 70, `{"price": {"max": 600}}`), say(hirer, "offer", 90, offerOne)), why: "the narrower limit counts", breaks: beyond},
		fault{name: "against-what-stayed", rule: offer.RuleConstraint, edit: all(first(2), limit(guide, 60, `{"price": {"max": 600}}`), limit(guide, 70, `{"price": {"min": 100}}`), say(hirer, "offer", 90, offerOne)), why: "a bound that a repetition leaves out stays in force", breaks: beyond},
		fault{name: "against-after-return", rule: offer.RuleConstraint, edit: all(first(2), limit(guide, 60, `{"price": {"max": 600}}`), say(guide, "withdraw", 70, `{"reactivatable": true}`), say(hirer, "offer", 90, offerOne)), why: "limits stay when a session comes back", breaks: beyond},
	)
	for i, filled := range []string{`{"accepted_terms": {"boats": 7}}`, `{"accepted_terms": {"boats": {"value": 12}}}`} {
		body := set("/open_terms", `["boats"]`)(parse(without("/terms/boats"))).Canonical()
		faults = append(faults, fault{name: fmt.Sprintf("against-by-filling-%d", i+1), rule: offer.RuleConstraint,
			edit: all(first(2), in(0, "/body/terms", plainSpace), limit(hirer, 50, `{"boats": {"max": 6}}`), say(hirer, "offer", 60, body), say(guide, "accept", 90, filled)),
			why:  "a deal keeps every limit, also in what the accept fills in", breaks: beyond})
	}
	faults = append(faults, fault{name: "keeps-by-filling", edit: all(first(2), in(0, "/body/terms", plainSpace), limit(hirer, 50, `{"boats": {"max": 6}}`),
		say(hirer, "offer", 60, set("/open_terms", `["boats"]`)(parse(without("/terms/boats"))).Canonical()), say(guide, "accept", 90, `{"accepted_terms": {"boats": 6}}`)), why: "an accept may fill in up to the limit"})
	faults = append(faults, fault{name: "offer-id-again", rule: session.RuleOfferID, edit: all(first(3), say(guide, "counter", 120, strings.Replace(offerTwo, "off_2", "off_1", 1))), why: "no earlier offer of the session has this id, of whomever", breaks: "an accept by id is of either of two offers"},
		fault{name: "offer-id-again-by-its-maker", rule: session.RuleOfferID, edit: all(first(4), say(hirer, "offer", 180, offerOne)), why: "an offer that was replaced does not come back under its id", breaks: "an accept by id is of either of two offers"},
		fault{name: "offer-id-again-later", rule: session.RuleOfferID, edit: all(first(4), say(hirer, "offer", 150, strings.Replace(offerOne, "off_1", "off_3", 1)), say(guide, "counter", 180, offerTwo)), why: "no earlier offer of the session has this id, however long ago", breaks: "an accept by id is of either of two offers"},
		fault{name: "offer-id-other-case", edit: all(first(3), say(guide, "counter", 120, strings.Replace(offerTwo, "off_2", "OFF_1", 1))), why: "ids are compared letter for letter"},
	)
	return faults
}
