package conformance

import "github.com/concordia-node/concordia/wire"

// Rules lists the rules of cases and suites. They are about what a judge is given,
// not about the protocol.
func Rules() []*wire.Rule {
	return []*wire.Rule{
		ruleCase, ruleVector, ruleManifest, ruleContext, ruleDigest, ruleBound, ruleChain, ruleChainCount, ruleVerified,
		ruleCountersignature, ruleSeed, ruleJoin, ruleText, ruleSigned, ruleTwice, ruleAnswer,
	}
}
