package match

import "github.com/concordia-node/concordia/wire"

// The rules of wants, haves and matches (SPEC §7).
var (
	RuleEntry     = &wire.Rule{Section: "7.1", Name: "entry", Class: wire.ClassSchema, Text: "a want or have has the members of its shape, and no more than the limits"}
	RuleCategory  = &wire.Rule{Section: "7.1", Name: "entry-category", Class: wire.ClassSchema, Text: "a category is 1 to 8 words with dots between them"}
	RuleTerm      = &wire.Rule{Section: "7.1", Name: "entry-term", Class: wire.ClassSchema, Text: "a term of a want or have takes at least one value"}
	RuleLocation  = &wire.Rule{Section: "7.1", Name: "entry-location", Class: wire.ClassSchema, Text: "a location is one point on the earth, perhaps with a radius"}
	RuleSignature = &wire.Rule{Section: "7.1", Name: "entry-signature", Class: wire.ClassSignature, Text: "the agent signed the canonical form of its want or have"}
	RuleMatch     = &wire.Rule{Section: "7.4", Name: "match", Class: wire.ClassSchema, Text: "a match names a want and a have, and how well they fit"}
)

// Rules lists the rules of this package in the order of SPEC.md.
func Rules() []*wire.Rule {
	return []*wire.Rule{RuleEntry, RuleCategory, RuleTerm, RuleLocation, RuleSignature, RuleMatch}
}
