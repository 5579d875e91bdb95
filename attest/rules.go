package attest

import (
	"slices"

	"github.com/concordia-node/concordia/wire"
)

// The rules of the reputation attestation.
var (
	RuleShape       = &wire.Rule{Section: "9.6.2", Name: "attestation", Class: wire.ClassSchema, Text: "an attestation has the members of its version, each well-formed"}
	RuleParties     = &wire.Rule{Section: "9.6.2", Name: "attestation-parties", Class: wire.ClassSchema, Text: "an attestation lists 2 to 64 parties, each agent once"}
	RulePartyRecord = &wire.Rule{Section: "9.6.5", Name: "party-signature", Class: wire.ClassSignature, Text: "each party signed its own record"}
	RuleOutcome     = &wire.Rule{Section: "9.6.5a", Name: "outcome-binding", Class: wire.ClassBinding, Text: "from version 0.2.0 every listed party countersigned the attestation as issued"}
	RuleWitness     = &wire.Rule{Section: "9.6.5a", Name: "witness-signature", Class: wire.ClassSignature, Text: "a countersignature of an agent that is no party verifies as well"}
	RuleSet         = &wire.Rule{Section: "9.6.5b", Name: "set-binding", Class: wire.ClassBinding, Text: "from version 0.3.0 an attestation has chain_head and message_count"}
	RuleFulfillment = &wire.Rule{Section: "9.6.5a", Name: "fulfillment-bound", Class: wire.ClassBinding, Text: "a fulfillment counts when the confirming counterparty signed it"}
	RuleCategory    = &wire.Rule{Section: "9.6.6", Name: "category", Class: wire.ClassSchema, Text: "category is a dotted lower-case path of at most 64 characters"}
	RuleValueRange  = &wire.Rule{Section: "9.6.6", Name: "value-range", Class: wire.ClassSchema, Text: "value_range is one of the ten ranges and a currency code"}
	RuleDealTerms   = &wire.Rule{Section: "9.6.6", Name: "deal-terms", Class: wire.ClassPrivacy, Text: "free text tells no price, amount or quantity"}
	RuleReference   = &wire.Rule{Section: "11.5.6", Name: "reference", Class: wire.ClassSchema, Text: "a reference has type, id and relationship, without white space and within the caps"}
	RuleValidity    = &wire.Rule{Section: "9.7.3", Name: "validity", Class: wire.ClassSchema, Text: "from version 0.5.0 validity_temporal has one of three modes"}
	RuleNotYet      = &wire.Rule{Section: "9.7.1", Name: "not-yet-valid", Class: wire.ClassTemporal, Text: "no anchor lies in the future by more than the clock skew"}
	RuleExpired     = &wire.Rule{Section: "9.7.1", Name: "expired", Class: wire.ClassTemporal, Text: "the attestation is inside the validity its signers gave it"}
	RuleAge         = &wire.Rule{Section: "9.7.1", Name: "age", Class: wire.ClassTemporal, Text: "the attestation is no older than the verifier accepts"}
	RuleLifetime    = &wire.Rule{Section: "9.7.1", Name: "lifetime", Class: wire.ClassTemporal, Text: "the validity is no longer than the verifier, or the issuer, accepts"}
)

// Rules lists the rules of this package, kind by kind.
func Rules() []*wire.Rule {
	return slices.Concat(
		attestationRules,
		settlementRules,
		approvalRules,
		revocationRules,
		historyRules,
		bundleRules,
		competenceRules,
		profileRules,
		decisionRules,
		cosignRules,
		envelopeRules,
		mandateRules,
		predicateRules,
		recordRules,
	)
}

var attestationRules = []*wire.Rule{
	RuleShape, RuleParties, RulePartyRecord, RuleOutcome, RuleFulfillment, RuleWitness, RuleSet,
	RuleCategory, RuleValueRange, RuleDealTerms,
	RuleNotYet, RuleExpired, RuleAge, RuleLifetime, RuleValidity, RuleReference,
}
