package reputation

import "github.com/concordia-node/concordia/wire"

// The rules of queries and responses.
var (
	RuleQuery     = &wire.Rule{Section: "9.6.7", Name: "reputation-query", Class: wire.ClassSchema, Text: "a reputation query has its members, each well-formed"}
	RuleResponse  = &wire.Rule{Section: "9.6.7", Name: "reputation-response", Class: wire.ClassSchema, Text: "a reputation response has its members, each well-formed, and its figures do not contradict each other"}
	RuleSignature = &wire.Rule{Section: "9.6.7", Name: "reputation-signature", Class: wire.ClassSignature, Text: "the service signed the reputation response"}
	RuleAnswer    = &wire.Rule{Section: "9.6.7", Name: "reputation-answer", Class: wire.ClassBinding, Text: "the reputation response is about the subject and context of the query"}
)

// Rules lists the rules of this package.
func Rules() []*wire.Rule { return []*wire.Rule{RuleQuery, RuleResponse, RuleSignature, RuleAnswer} }
