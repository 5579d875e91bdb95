package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// canaries find whole classes of laziness: each is so wrong in one way that a
// verifier which accepts it does not look that way at all.
func canaries() []vector {
	s := approval()
	at := func(now string) wire.M { return override(s.context, wire.M{"now": now}) }
	zeros := strings.Repeat("A", 86) + "=="
	var list []vector
	for _, c := range []struct {
		name, why, breaks string
		rule              *wire.Rule
		input             string
		context           wire.M
	}{
		{"accept-everything", "an empty object is no artifact", "anything is proof of anything", attest.RuleApproval, `{}`, s.context},
		{"skip-signature", "a signature of zeros is nobody's", "anybody writes what anybody is said to have signed", attest.RuleApprovalSignature,
			set("/signature/value", `"`+zeros+`"`)(s.value).Canonical(), s.context},
		{"skip-schema", "a receipt without a decision decides nothing", "what is missing reads as whatever the reader's default is", attest.RuleApproval,
			s.sign(drop("/scope/decision")(s.value)).Canonical(), s.context},
		{"skip-time", "the receipt expired ten years ago", "nothing ever ends", attest.RuleApprovalExpired, s.value.Canonical(), at("2036-09-14T09:30:00Z")},
		{"skip-binding", "the receipt is of another session", "one approval is good for every deal", attest.RuleApprovalSession,
			s.value.Canonical(), override(s.context, wire.M{"session_urn": "urn:concordia:session:other"})},
		{"skip-digest", "the receipt is of another offer", "terms are changed after they were approved", attest.RuleOfferHash,
			s.value.Canonical(), override(s.context, wire.M{"offer": wire.M{"offer_id": "other"}})},
		{"last-duplicate-wins", "the decision is there twice, at last as it was signed", "two readers of one document act on two documents", wire.RuleDuplicate,
			strings.Replace(s.value.Canonical(), `"decision":`, `"decision":"deny","decision":`, 1), s.context},
		{"first-duplicate-wins", "the decision is there twice, at first as it was signed", "two readers of one document act on two documents", wire.RuleDuplicate,
			strings.Replace(s.value.Canonical(), `"decision":"approve"`, `"decision":"approve","decision":"deny"`, 1), s.context},
	} {
		list = append(list, vector{
			id: "canary-" + c.name, section: conformance.Canary, title: "canary: " + strings.ReplaceAll(c.name, "-", " "), record: s.record,
			profile: conformance.StrictProfile(s.kind), input: c.input, context: c.context, rule: c.rule, reason: c.rule.Class,
			why: c.why, breaks: c.breaks, discriminates: c.name,
		})
	}
	return list
}
