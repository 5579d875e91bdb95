package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/wire"
)

// transcriptOffers are terms, offers of the four shapes, and what accepts them.
func transcriptOffers() specimen {
	s := transcript("offer", deal(), two)
	for _, more := range [][]fault{spaceFaults(), valueFaults(), shapeFaults(), selectFaults(), fillFaults(), constraintFaults()} {
		s.faults = append(s.faults, more...)
	}
	return s
}

func spaceFaults() (faults []fault) {
	def := func(name string, rule *wire.Rule, definition, why string) {
		faults = append(faults, fault{name: "space-" + name, rule: rule, edit: all(first(1), in(0, "/body/terms", `{"x": `+definition+`}`)), why: why, breaks: "the parties negotiate in two different spaces: what is inside for one is outside for the other"})
		if rule == nil {
			faults[len(faults)-1].breaks = ""
		}
	}
	bad := func(name, definition, why string) { def(name, offer.RuleSpace, definition, why) }
	good := func(name, definition, why string) { def(name, nil, definition, why) }
	for _, t := range []string{"numeric", "temporal", "categorical", "boolean", "text", "composite"} {
		good("type-"+t, `{"type": "`+t+`"}`, t+" is one of the six types")
		bad("type-"+t+"-capital", `{"type": "`+capital(t)+`"}`, "types are lower case")
	}
	bad("type-unknown", `{"type": "colour"}`, "there are six types")
	bad("type-empty", `{"type": ""}`, "there are six types")
	bad("type-number", `{"type": 7}`, "a type is a text")
	bad("text", `"numeric"`, "a definition is an object")
	bad("null", `null`, "a definition is an object")
	bad("list", `[]`, "a definition is an object")
	bad("label-number", `{"label": 7}`, "a label is a text")
	bad("unit-list", `{"unit": ["EUR"]}`, "a unit is a text")
	bad("enum-text", `{"enum": "north"}`, "an enum is a list")
	bad("enum-257", `{"enum": `+names(257)+`}`, "an enum has at most 256 values")
	good("enum-256", `{"enum": `+names(256)+`}`, "an enum may have 256 values")
	bad("currency-number", `{"currency": 7}`, "a currency is a text")
	bad("constraints-list", `{"constraints": []}`, "constraints is an object")
	for _, where := range []struct{ name, before, after string }{{"", "{", "}"}, {"inner-", `{"constraints": {`, `}}`}} {
		bad(where.name+"min-above-max", where.before+`"min": 10, "max": 9`+where.after, "min is not above max")
		bad(where.name+"dates-out-of-order", where.before+`"min": "2026-10-02", "max": "2026-10-01"`+where.after, "min is not after max")
		bad(where.name+"two-forms", where.before+`"min": 1, "max": "2026-10-01"`+where.after, "a number and a date have no order")
		bad(where.name+"min-word", where.before+`"min": "few"`+where.after, "a word has no order")
		bad(where.name+"max-week", where.before+`"max": "2026-W40"`+where.after, "weeks have no order here")
		bad(where.name+"max-months", where.before+`"max": "P2M"`+where.after, "months have no fixed length")
		bad(where.name+"min-boolean", where.before+`"min": true`+where.after, "true is no number")
		bad(where.name+"twin", where.before+`"Max": 9`+where.after, "no member differs from max only in case")
		good(where.name+"min-is-max", where.before+`"min": 9, "max": 9`+where.after, "bounds may leave one value")
	}
	for _, m := range []string{"type", "label", "unit", "constraints", "value", "min", "enum", "currency"} {
		bad("twin-"+m, `{"`+capital(m)+`": "x"}`, "no member of a definition differs from "+m+" only in case")
	}
	good("nulls", `{"type": null, "label": null, "unit": null, "constraints": null, "value": null, "min": null, "max": null, "enum": null, "currency": null}`, "a member that is null counts as absent")
	good("durations", `{"type": "temporal", "min": "PT30M", "max": "P1D"}`, "durations of fixed units have an order")
	good("unknown-member", `{"colour": "blue"}`, "members without a meaning are kept")
	def("value-of-other-type", offer.RuleTermType, `{"type": "numeric", "value": "4"}`, "what open gives has the type of its term")
	def("value-outside", offer.RuleTermBounds, `{"max": 9, "value": 10}`, "what open gives lies inside the bounds of its term")
	def("value-not-in-enum", offer.RuleTermBounds, `{"enum": ["a"], "value": "b"}`, "what open gives is one of the values of its term")
	members := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"m%d": 1`, i))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	good("64-members", members(64), "a definition may have 64 members")
	bad("65-members", members(65), "a definition has at most 64 members")
	whole := func(name string, rule *wire.Rule, terms, why string) {
		f := fault{name: "space-" + name, rule: rule, edit: all(first(1), in(0, "/body/terms", terms)), why: why}
		if rule != nil {
			f.breaks = "the parties negotiate in two different spaces, or the reader runs out of room"
		}
		faults = append(faults, f)
	}
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"t%d": {}`, i))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	whole("256-terms", nil, many(256), "there may be 256 terms")
	whole("257-terms", offer.RuleSpace, many(257), "there are at most 256 terms")
	whole("terms-list", offer.RuleSpace, `["price"]`, "terms is an object")
	whole("terms-null", offer.RuleSpace, `null`, "terms is an object")
	whole("empty-id", offer.RuleSpace, `{"": {}}`, "a term has an id")
	whole("id-256", nil, `{"`+strings.Repeat("p", 256)+`": {}}`, "a term id may have 256 bytes")
	whole("id-257", offer.RuleSpace, `{"`+strings.Repeat("p", 257)+`": {}}`, "a term id has at most 256 bytes")
	faults = append(faults, fault{name: "space-no-terms", rule: offer.RuleSpace, edit: all(first(1), drop("/messages/0/body/terms")), why: "open defines the terms, be it none", breaks: "the parties negotiate about nothing that either can name"})
	return faults
}

// loose is the space without its bounds.
const loose = `{"price": {"type": "numeric"}, "boats": {"type": "numeric"}, "day": {"type": "temporal"}, "berth": {"type": "categorical"}, "skipper": {"type": "boolean"}, "note": {"type": "text", "value": ""}, "gear": {"type": "composite", "value": []}}`

// valueFaults are values that an offer gives to a term.
func valueFaults() (faults []fault) {
	give := func(name string, rule *wire.Rule, term, object, why string) {
		f := fault{name: "value-" + name, rule: rule, edit: all(first(3), in(indexOffer, "/body/terms/"+term, object)), why: why}
		if rule == offer.RuleTermType || rule == offer.RuleTerm { // without bounds, which such a value breaks as well
			f.edit = all(in(0, "/body/terms", loose), f.edit)
		}
		if rule != nil {
			f.breaks = "a deal is made that open excluded, or one that the parties read differently"
		}
		faults = append(faults, f)
	}
	for _, c := range []struct{ term, name, value string }{
		{"price", "text", `"620"`}, {"price", "boolean", `true`}, {"price", "list", `[620]`}, {"price", "object", `{"amount":620}`},
		{"day", "word", `"soon"`}, {"day", "boolean", `true`}, {"day", "bad-date", `"2026-02-30"`}, {"day", "list", `["2026-10-03"]`},
		{"berth", "list", `["north"]`}, {"berth", "object", `{"north":true}`},
		{"skipper", "text", `"true"`}, {"skipper", "number", `1`}, {"skipper", "list", `[true]`},
		{"note", "number", `7`}, {"note", "boolean", `false`}, {"note", "object", `{"text":"x"}`},
		{"gear", "text", `"oars"`}, {"gear", "number", `2`}, {"gear", "boolean", `true`},
	} {
		currency := ""
		if c.term == "price" {
			currency = `, "currency": "EUR"`
		}
		give(c.term+"-"+c.name, offer.RuleTermType, c.term, `{"value": `+c.value+currency+`}`, "a value of "+c.term+" has the type that open gives the term")
	}
	for _, c := range []struct{ term, name, object, why string }{
		{"price", "below", `{"value": 49.99, "currency": "EUR"}`, "a value is at least min"}, {"price", "above", `{"value": 900.01, "currency": "EUR"}`, "a value is at most max"}, {"price", "other-currency", `{"value": 620, "currency": "SEK"}`, "a price is in the currency of the term"}, {"price", "small-letters", `{"value": 620, "currency": "eur"}`, "currencies are compared letter for letter"},
		{"price", "currency-number", `{"value": 620, "currency": 978}`, "a currency that is no text is not the currency of the term"}, {"boats", "zero", `{"value": 0}`, "a value is at least min"}, {"boats", "thirteen", `{"value": 13}`, "a value is at most max"}, {"boats", "negative", `{"value": -4}`, "a value is at least min"},
		{"day", "before", `{"value": "2026-09-19"}`, "a date is not before min"}, {"day", "after", `{"value": "2026-11-01"}`, "a date is not after max"}, {"day", "instant", `{"value": "2026-10-03T10:00:00Z"}`, "an instant and a date have no order: what cannot be compared lies outside"}, {"day", "month", `{"value": "2026-10"}`, "a month and a date have no order"}, {"day", "number", `{"value": 20261003}`, "a number and a date have no order"}, {"day", "week", `{"value": "2026-W40-6"}`, "a week date has no order"},
		{"berth", "other", `{"value": "west"}`, "a value is one of those of the term"}, {"berth", "other-case", `{"value": "North"}`, "values are compared as they are"}, {"berth", "text-of-number", `{"value": "7"}`, "the text 7 is not the number 7"},
	} {
		give(c.term+"-"+c.name, offer.RuleTermBounds, c.term, c.object, c.why)
	}
	for _, c := range []struct{ term, name, object, why string }{
		{"price", "least", `{"value": 50, "currency": "EUR"}`, "min is inclusive"}, {"price", "most", `{"value": 900.00, "currency": "EUR"}`, "max is inclusive, however it is spelled"}, {"price", "no-currency", `{"value": 620}`, "a price without a currency has that of the term"}, {"boats", "most", `{"value": 12}`, "max is inclusive"},
		{"day", "first", `{"value": "2026-09-20"}`, "min is inclusive"}, {"day", "last", `{"value": "2026-10-31"}`, "max is inclusive"}, {"berth", "number", `{"value": 7.0}`, "7.0 is the number 7"}, {"skipper", "false", `{"value": false}`, "false is a boolean"}, {"gear", "object", `{"value": {"oars": 4}}`, "an object is composite"}, {"tip", "new", `{"value": {"of": "the day"}}`, "an offer may add a term"},
	} {
		give(c.term+"-"+c.name, nil, c.term, c.object, c.why)
	}
	for _, c := range []struct{ name, object, why string }{
		{"plain", `600`, "a term of an offer is an object"}, {"text", `"600 EUR"`, "a term of an offer is an object"}, {"null", `null`, "a term of an offer is an object"}, {"list", `[600]`, "a term of an offer is an object"}, {"empty", `{}`, "a term has a value"}, {"only-currency", `{"currency": "EUR"}`, "a term has a value"}, {"null-value", `{"value": null}`, "null is no value"},
	} {
		give("price-is-"+c.name, offer.RuleTerm, "price", c.object, c.why)
		give("new-is-"+c.name, offer.RuleTerm, "tip", c.object, c.why+", also a term that open does not have")
	}
	give("twin-value", offer.RuleShape, "price", `{"value": 620, "Value": 62, "currency": "EUR"}`, "no member of a term differs from value only in case")
	give("twin-currency", offer.RuleShape, "price", `{"value": 620, "currency": "EUR", "CURRENCY": "SEK"}`, "no member of a term differs from currency only in case")
	return faults
}

// shapeFaults are bodies of no shape or of two.
func shapeFaults() (faults []fault) {
	say3 := func(name string, rule *wire.Rule, body, why string) {
		f := fault{name: "shape-" + name, rule: rule, edit: all(first(2), say(hirer, "offer", 60, body)), why: why}
		if rule != nil {
			f.breaks = "each party reads another offer out of one message"
		}
		faults = append(faults, f)
	}
	bad := func(name, body, why string) { say3(name, offer.RuleShape, body, why) }
	good := func(name, body, why string) { say3(name, nil, body, why) }
	with := func(rest string) string { return `{"offer_id": "off_1", ` + rest + `}` }
	bad("no-id", `{"terms": {}}`, "an offer has an id")
	for _, c := range []struct{ name, text string }{{"empty", `""`}, {"space", `"off 1"`}, {"number", `1`}, {"null", `null`}} {
		bad("id-"+c.name, `{"offer_id": `+c.text+`, "terms": {}}`, "the id of an offer is an id")
	}
	bad("nothing", `{"offer_id": "off_1"}`, "an offer has terms, conditions or bundles")
	bad("terms-list", with(`"terms": []`), "terms is an object")
	bad("terms-null", with(`"terms": null`), "terms is an object")
	bad("open-terms-text", with(`"terms": {}, "open_terms": "day"`), "open_terms is a list")
	bad("open-terms-unknown", with(`"terms": {}, "open_terms": ["tip"]`), "a term that is left open is one of the session")
	bad("open-terms-twice", with(`"terms": {}, "open_terms": ["day", "day"]`), "a term is left open once")
	bad("open-terms-given", with(`"terms": {"boats": {"value": 4}}, "open_terms": ["boats"]`), "a term is not left open and given")
	bad("complete-text", with(`"terms": {}, "complete": "true"`), "complete is a boolean")
	bad("complete-null", with(`"terms": {}, "complete": null`), "complete is a boolean")
	bad("valid-until-date", with(`"terms": {}, "valid_until": "2026-10-01"`), "valid_until is an instant")
	bad("valid-until-local", with(`"terms": {}, "valid_until": "2026-10-01T12:00:00"`), "valid_until is an instant, with its offset")
	bad("valid-until-null", with(`"terms": {}, "valid_until": null`), "valid_until is left out or an instant")
	bad("valid-until-number", with(`"terms": {}, "valid_until": 1790000000`), "valid_until is a text")
	bad("select-alone", with(`"terms": {}, "select": "one_of"`), "only bundles are selected")
	bad("select-conditions", with(`"conditions": [{"if": {}, "then": {}}], "select": "one_of"`), "only bundles are selected")
	for _, m := range []string{"offer_id", "terms", "open_terms", "conditions", "bundles", "select", "complete", "valid_until"} {
		bad("twin-"+slug(m), with(`"terms": {}, "`+capital(m)+`": null`), "no member of an offer differs from "+m+" only in case")
	}
	bad("conditions-empty", with(`"conditions": []`), "a conditional offer has a condition")
	bad("conditions-object", with(`"conditions": {"if": {}, "then": {}}`), "conditions is a list")
	bad("conditions-65", with(`"conditions": [`+strings.TrimSuffix(strings.Repeat(`{"if":{},"then":{}},`, 65), ",")+`]`), "an offer has at most 64 branches")
	bad("condition-no-if", with(`"conditions": [{"then": {}}]`), "a condition says if what")
	bad("condition-no-then", with(`"conditions": [{"if": {}}]`), "a condition says then what")
	bad("condition-null", with(`"conditions": [null]`), "a condition is an object")
	bad("condition-twin", with(`"conditions": [{"if": {}, "then": {}, "Then": {}}]`), "no member of a condition differs from then only in case")
	bad("condition-contradicts", with(`"conditions": [{"if": {"boats": 4}, "then": {"boats": 5}}]`), "if and then agree where both give a term")
	bad("condition-contradicts-terms", with(`"terms": {"boats": {"value": 3}}, "conditions": [{"if": {"boats": 4}, "then": {}}]`), "a condition agrees with the terms beside it")
	bad("bundles-empty", with(`"bundles": []`), "an offer of bundles has a bundle")
	bad("bundles-object", with(`"bundles": {}`), "bundles is a list")
	bad("bundle-no-id", with(`"bundles": [{"terms": {}}]`), "a bundle has an id")
	bad("bundle-empty-id", with(`"bundles": [{"bundle_id": "", "terms": {}}]`), "the id of a bundle is an id")
	bad("bundle-same-id", with(`"bundles": [{"bundle_id": "a", "terms": {}}, {"bundle_id": "a", "terms": {"boats": {"value": 2}}}]`), "bundles have different ids")
	bad("bundle-no-terms", with(`"bundles": [{"bundle_id": "a"}]`), "a bundle has terms")
	bad("bundle-label-number", with(`"bundles": [{"bundle_id": "a", "label": 7, "terms": {}}]`), "a label is a text")
	bad("bundle-twin", with(`"bundles": [{"bundle_id": "a", "terms": {}, "Bundle_id": "b"}]`), "no member of a bundle differs from bundle_id only in case")
	bad("bundles-and-terms", with(`"terms": {}, "bundles": [{"bundle_id": "a", "terms": {}}]`), "beside bundles there are no terms")
	bad("bundles-and-conditions", with(`"conditions": [{"if": {}, "then": {}}], "bundles": [{"bundle_id": "a", "terms": {}}]`), "beside bundles there are no conditions")
	bad("select-other", with(`"select": "all_of", "bundles": [{"bundle_id": "a", "terms": {}}]`), "of bundles one is selected")
	bad("select-null", with(`"select": null, "bundles": [{"bundle_id": "a", "terms": {}}]`), "select is left out or one_of")
	good("select-one-of", with(`"select": "one_of", "bundles": [{"bundle_id": "a", "label": "small", "terms": {}}]`), "of bundles one is selected")
	good("conditions-64", with(`"conditions": [`+strings.TrimSuffix(strings.Repeat(`{"if":{},"then":{}},`, 64), ",")+`]`), "an offer may have 64 branches")
	good("conditions-and-terms", with(`"terms": {"boats": {"value": 4}}, "conditions": [{"if": {"skipper": true}, "then": {"price": {"value": 700, "currency": "EUR"}}}], "open_terms": ["day"]`), "terms and open terms may stand beside conditions")
	good("unknown-member", with(`"terms": {}, "x_mood": "fair"`), "members without a meaning are kept")
	incomplete := func(name, body, why string) { say3(name, offer.RuleComplete, body, why) }
	full := strings.TrimSuffix(strings.TrimPrefix(parse(offerOne).Without("offer_id").Without("complete").Canonical(), "{"), "}")
	for _, term := range []string{"price", "boats", "day", "berth", "skipper"} {
		incomplete("complete-without-"+term, drop("/terms/"+term)(parse(offerOne)).Canonical(), "a complete offer gives "+term+" a value")
	}
	incomplete("complete-and-open", set("/open_terms", `["note"]`)(parse(offerOne)).Canonical(), "an offer that leaves a term open is not complete, even if open gives the term a value")
	incomplete("complete-in-one-branch", with(`"complete": true, "bundles": [{"bundle_id": "a", `+full+`}, {"bundle_id": "b", "terms": {}}]`), "a complete offer is complete in every branch")
	good("complete-by-inheritance", offerOne, "a value that open gives completes an offer that does not mention it")
	good("complete-false", set("/complete", "false")(drop("/terms/day")(parse(offerOne))).Canonical(), "an offer need not be complete")
	return faults
}
