package offer

import "github.com/concordia-node/concordia/wire"

// The rules of terms, offers and acceptance (SPEC §3, §6).
var (
	RuleSpace      = &wire.Rule{Section: "3.1", Name: "term-space", Class: wire.ClassSchema, Text: "open defines terms of known types with consistent bounds"}
	RuleTerm       = &wire.Rule{Section: "3.1", Name: "term-value", Class: wire.ClassSchema, Text: "a term of an offer is an object with a value"}
	RuleTermType   = &wire.Rule{Section: "3.1.1", Name: "term-type", Class: wire.ClassSchema, Text: "a value has the type of its term"}
	RuleTermBounds = &wire.Rule{Section: "3.1", Name: "term-bounds", Class: wire.ClassTransition, Text: "a value lies inside the bounds that open sets for its term"}
	RuleComplete   = &wire.Rule{Section: "3.3", Name: "offer-complete", Class: wire.ClassSchema, Text: "a complete offer gives every term a value"}
	RuleConstraint = &wire.Rule{Section: "3.5", Name: "constraint", Class: wire.ClassTransition, Text: "an offer keeps every constraint that a party has declared"}
	RuleBounds     = &wire.Rule{Section: "3.5", Name: "constraint-form", Class: wire.ClassSchema, Text: "a constraint gives min, max, enum or currency"}
	RuleLoosened   = &wire.Rule{Section: "3.5", Name: "constraint-loosened", Class: wire.ClassTransition, Text: "a party that repeats a constraint does not loosen it"}
	RuleShape      = &wire.Rule{Section: "6", Name: "offer-shape", Class: wire.ClassSchema, Text: "an offer is basic, partial, conditional or a bundle, with the members of that shape"}
	RuleSelect     = &wire.Rule{Section: "6.5", Name: "accept-selects", Class: wire.ClassBinding, Text: "an accept fits exactly one branch of the offer"}
	RuleFill       = &wire.Rule{Section: "6.5", Name: "accept-fills", Class: wire.ClassTransition, Text: "an accept gives values only to open terms that open bounds"}
	RuleDealGap    = &wire.Rule{Section: "6.5", Name: "accept-complete", Class: wire.ClassTransition, Text: "an accept leaves no term without a value"}
)

// Rules lists the rules of this package in the order of SPEC.md.
func Rules() []*wire.Rule {
	return []*wire.Rule{
		RuleSpace, RuleTerm, RuleTermType, RuleTermBounds, RuleComplete, RuleConstraint, RuleBounds, RuleLoosened,
		RuleShape, RuleSelect, RuleFill, RuleDealGap,
	}
}
