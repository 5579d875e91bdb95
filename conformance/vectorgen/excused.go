package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// excusedOfAgents are rules of histories and profiles that decide no verdict.
var excusedOfAgents = map[*wire.Rule]string{
	attest.RuleSybil:      "it is told of a history, and the verdict does not depend on it",
	attest.RuleProfileTTL: "it says when to ask the agent again, and the verdict does not depend on it",
}
