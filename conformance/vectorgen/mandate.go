package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	estate = "did:web:estate.example"
	cellar = "did:web:estate.example#cellar"
	cooper = "agent:cooper-7"
	trader = "did:web:trader.example"
)

// The texts of mandates: a wine estate lets an agent buy barrels.
const (
	mandateText = `{"mandate_id":"urn:concordia:mandate:harvest-26","issuer":"did:web:estate.example","subject":"agent:cooper-7",
		"issued_at":"2026-09-14T08:00:00Z","algorithm":"EdDSA","status":"active",
		"validity":{"mode":"windowed","not_before":"2026-09-14T08:00:00Z","not_after":"2026-09-14T18:00:00Z","max_uses":3},
		"constraints":{"type":"object","properties":{"amount":{"type":"number","maximum":5000},"currency":{"const":"EUR"}},"required":["amount","currency"]},
		"metadata":{"purpose":"barrels for the harvest"},"signature":""}`
	actionText = `{"amount":1200,"currency":"EUR","max_spend":1200}`
)

// withoutSignature is what most artifacts sign: all but the signature.
func withoutSignature(v wire.Value) wire.Value { return v.Without("signature") }

// signMandate signs the links of a mandate, each as its delegator, and then the
// mandate.
func signMandate(v wire.Value) wire.Value {
	chain, _ := v.Get("delegation_chain")
	for i, link := range chain.Elems() {
		if who, _ := link.Get("delegator"); who.Text() != "" {
			chain = chain.WithElem(i, signedBare(who.Text())(link))
		}
	}
	if chain.Kind() == wire.Array {
		v = v.With("delegation_chain", chain)
	}
	return signedBare(estate)(v)
}

// noAction leaves the action out: none is judged under a mandate that nobody signed.
var noAction = wire.M{"action": nil}

func mandateContext() wire.M {
	return wire.M{"now": now, "public_keys": publicKeys(estate, cellar, trader), "action": parse(actionText), "uses": 1}
}

func mandateContractContext(wire.Value) wire.M {
	return wire.M{"now": now, "issuer_public_key_b64url": key(estate).Public(), "action": parse(actionText)}
}

// ofMandate is a specimen with a part of the faults.
func ofMandate(name string, v wire.Value, faults ...[]fault) specimen {
	s := specimen{
		kind: "mandate", form: name, record: "mandate", sign: signMandate, value: signMandate(v), context: mandateContext(),
		contract: "mandate-v1", contractContext: mandateContractContext,
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

func mandate() specimen {
	v := signMandate(parse(mandateText))
	s := sweep{what: "a mandate", rule: attest.RuleMandate, shared: true}
	const outside = "a mandate is used before it was meant to begin, or long after it was meant to end"
	return ofMandate("", v,
		s.without("/mandate_id", "/issuer", "/subject", "/issued_at", "/algorithm", "/validity", "/constraints", "/validity/mode", "/validity/not_before", "/validity/not_after"),
		s.mistyped("/mandate_id", `"urn:concordia:receipt:1"`, "/subject", `["agent:cooper-7"]`, "/issuer", `""`, "/issued_at", `1789372800`, "/algorithm", `"Ed25519"`,
			"/status", `"valid"`, "/validity", `"windowed"`, "/validity/mode", `"forever"`, "/validity/not_before", `null`, "/validity/max_uses", `"3"`,
			"/constraints", `[]`, "/metadata", `"barrels"`, "/revocation_endpoint", `{}`, "/revoked_at", `null`),
		sweep{what: "a mandate", rule: attest.RuleMandate}.mistyped("/delegation_chain", `{}`),
		s.closed(""), s.recased("/subject", "/status"), s.misdated("/issued_at", "/validity/not_after"),
		seal{at: "/signature", who: estate, what: "a mandate", signs: withoutSignature, rule: attest.RuleMandateSignature, known: publicKeys(estate), with: noAction,
			theirs: func(k string) wire.M { return wire.M{"issuer_public_key_b64url": k} },
		}.forged(v, "/subject", `"agent:mallory"`, "/constraints/properties/amount/maximum", `500000`, "/validity/not_after", `"2036-09-14T18:00:00Z"`, "/metadata/purpose", `"anything"`),
		late(bound{name: "not-after", rule: attest.RuleMandateWindow, limit: "2026-09-14T18:00:00Z", beyond: 1, shared: true, put: byClock,
			why: "not_after is in the mandate's time, without skew", breaks: outside}),
		late(bound{name: "not-before", rule: attest.RuleMandateWindow, limit: now, beyond: 1, shared: true, put: edits("/validity/not_before"),
			why: "a mandate is in force from not_before on, without skew", breaks: outside}),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/issued_at"),
			why: "no mandate is issued later than now, but for the skew of 120 seconds", breaks: "mandates are signed in advance, and nobody can tell which were given when"}),
		revoked("urn:concordia:mandate:harvest-26", "mandate", estate, trader),
		mandateStanding(), mandateUse(),
	)
}

// mandateStanding is what the issuer says of a mandate's standing.
func mandateStanding() []fault {
	const withdrawn = "an agent goes on acting after its mandate was taken away"
	list := []fault{
		{name: "no-status", shared: true, edit: drop("/status"), why: "a mandate without status is active"},
		{name: "no-metadata", shared: true, edit: drop("/metadata"), why: "metadata is optional"},
		{name: "open-validity", shared: true, edit: set("/validity/note", `"kept and signed"`), why: "validity is open: what is not known there is signed and kept"},
		{name: "endpoint", shared: true, edit: set("/revocation_endpoint", `"https://estate.example/revoked"`), why: "the endpoint is for the operator: a verification contacts nobody"},
		{name: "issued-long-ago", edit: set("/issued_at", `"2019-01-01T00:00:00Z"`), why: "a mandate does not get old: its window says when it ends"},
		{name: "empty-chain", edit: set("/delegation_chain", `[]`), why: "an empty list of links is no delegation"},
		{name: "revoked-at-to-come", shared: true, edit: set("/revoked_at", `"2026-09-14T09:30:01Z"`), why: "a mandate stands until its revoked_at"},
		{name: "revoked-at-reached", rule: attest.RuleMandateRevoked, edit: set("/revoked_at", quote(now)), why: "from revoked_at on, that moment included, a mandate is revoked", breaks: withdrawn},
		{name: "revoked-at-long-ago", rule: attest.RuleMandateRevoked, edit: set("/revoked_at", `"2026-09-14T08:00:01Z"`), why: "the issuer signed when the mandate ended", breaks: withdrawn},
		{name: "revoked-at-in-the-east", rule: attest.RuleMandateRevoked, edit: set("/revoked_at", `"2026-09-14T14:59:59+05:30"`), why: "revoked_at is an instant, not a text: this one was a second ago", breaks: withdrawn},
	}
	for _, status := range []string{"expired", "revoked", "suspended"} {
		list = append(list, fault{name: "status-" + status, rule: attest.RuleMandateStatus, shared: true, edit: set("/status", quote(status)),
			why: "only an active mandate is in force", breaks: withdrawn})
	}
	return list
}

// mandateUse is what a mandate is used for, and how often.
func mandateUse() []fault {
	const beyond = "an agent does what it was never allowed to"
	action := func(name, text string, rule *wire.Rule, why string) fault {
		c := wire.M{"action": parse(text)}
		f := fault{name: "action-" + name, rule: rule, shared: true, context: c, contract: c, why: why}
		if rule != nil {
			f.breaks = beyond
		}
		return f
	}
	uses := func(name string, n int, rule *wire.Rule, why string) fault {
		f := fault{name: "uses-" + name, rule: rule, context: wire.M{"uses": n}, why: why}
		if rule != nil {
			f.breaks = "a mandate for three deals is used for thirty"
		}
		return f
	}
	return []fault{
		action("at-the-maximum", `{"amount":5000,"currency":"EUR"}`, nil, "a maximum is allowed itself"),
		action("beyond-the-maximum", `{"amount":5000.01,"currency":"EUR"}`, attest.RuleAction, "the amount is beyond what the issuer allows"),
		action("far-beyond", `{"amount":1e30,"currency":"EUR"}`, attest.RuleAction, "the amount is beyond what the issuer allows, however large a number the reader has"),
		action("no-amount", `{"currency":"EUR"}`, attest.RuleAction, "a member that the constraints require is not there: silence is no zero"),
		action("amount-in-text", `{"amount":"1200","currency":"EUR"}`, attest.RuleAction, "a text is no number, whatever it says"),
		action("other-currency", `{"amount":1200,"currency":"USD"}`, attest.RuleAction, "the currency is not the one that is allowed"),
		action("currency-in-small-letters", `{"amount":1200,"currency":"eur"}`, attest.RuleAction, "a constant is compared as it is spelled"),
		action("more-members", `{"amount":1200,"currency":"EUR","bottles":60}`, nil, "the constraints do not close the action: other members are allowed"),
		action("a-list", `[{"amount":1200,"currency":"EUR"}]`, attest.RuleAction, "an action is an object"),
		{name: "no-action", shared: true, context: wire.M{"action": nil}, contract: wire.M{"action": nil}, why: "without an action none has to be allowed: the question is whether the mandate is in force"},
		uses("none", 0, nil, "the first of three uses"),
		uses("last", 2, nil, "the third of three uses"),
		uses("up", 3, attest.RuleMandateUses, "the mandate was used as often as it allows"),
		uses("far-up", 30, attest.RuleMandateUses, "the mandate was used more often than it allows"),
		{name: "uses-of-one", rule: attest.RuleMandateUses, edit: set("/validity/max_uses", `1`), why: "the one use was made before", breaks: "a mandate for one deal is used for two"},
		{name: "uses-without-limit", edit: drop("/validity/max_uses"), context: wire.M{"uses": 3000}, why: "without max_uses the number of uses is not limited"},
		{name: "max-uses-zero", rule: attest.RuleMandate, shared: true, edit: set("/validity/max_uses", `0`), why: "a mandate is for one use at least", breaks: "zero is read as no limit at all"},
		{name: "max-uses-fraction", rule: attest.RuleMandate, shared: true, edit: set("/validity/max_uses", `1.5`), why: "uses are counted in whole numbers", breaks: "one reader rounds up and another down"},
	}
}

// sequenceMandate and stateMandate hang on what only the verifier knows.
func sequenceMandate() specimen {
	v := set("/validity", `{"mode":"sequence","sequence_key":"tour-of-cellars","max_uses":3}`)(parse(mandateText))
	const wrong = "the mandate for one sequence of actions is used in another"
	sequence := func(name string, key any, rule *wire.Rule, why, breaks string) fault {
		c := wire.M{"sequence_key": key}
		return fault{name: name, rule: rule, shared: key != nil, open: key == nil, context: c, contract: c, why: why, breaks: breaks}
	}
	s := ofMandate("sequence", v, []fault{
		sequence("other", "tour-of-kitchens", attest.RuleMandateSequence, "the action belongs to another sequence", wrong),
		sequence("other-case", "Tour-of-cellars", attest.RuleMandateSequence, "keys are compared as they are spelled", wrong),
		sequence("longer", "tour-of-cellars-2", attest.RuleMandateSequence, "a key is compared as a whole, not as a beginning", wrong),
		sequence("unknown", nil, attest.RuleMandateSequence, "what the verifier does not know is not checked, and the mandate does not stand", wrong),
		{name: "no-key", rule: attest.RuleMandate, shared: true, edit: drop("/validity/sequence_key"), why: "a mandate for a sequence says which", breaks: "no key is read as any key"},
		{name: "key-of-another-kind", rule: attest.RuleMandate, shared: true, edit: set("/validity/sequence_key", `7`), why: "a key is a text", breaks: "7 and \"7\" are one key to some readers"},
		{name: "used-up", rule: attest.RuleMandateUses, context: wire.M{"uses": 3}, why: "max_uses counts in every mode", breaks: "a mandate for three deals is used for thirty"},
		{name: "not-after-to-come", edit: set("/validity/not_after", `"2026-09-14T18:00:00Z"`), why: "a sequence may have bounds in time as well"},
	},
		late(bound{name: "not-after", rule: attest.RuleMandateWindow, limit: now, beyond: -1, put: edits("/validity/not_after"),
			why: "what the issuer bounds in time is not granted beyond, whatever the mode", breaks: "a mandate is used after the time that its issuer gave it"}),
		late(bound{name: "not-before", rule: attest.RuleMandateWindow, limit: now, beyond: 1, put: edits("/validity/not_before"),
			why: "what the issuer bounds in time is not granted before, whatever the mode", breaks: "a mandate is used before the time that its issuer gave it"}),
	)
	s.context["sequence_key"] = "tour-of-cellars"
	s.contractContext = func(v wire.Value) wire.M {
		return override(mandateContractContext(v), wire.M{"sequence_key": "tour-of-cellars"})
	}
	return s
}

func stateMandate() specimen {
	v := set("/validity", `{"mode":"state_bound","state_condition":"the harvest is in"}`)(parse(mandateText))
	const wrong = "an agent acts although what the issuer waited for has not happened"
	state := func(name string, active any, rule *wire.Rule, why, breaks string) fault {
		c := wire.M{"state_active": active}
		return fault{name: name, rule: rule, shared: active != nil, open: active == nil, context: c, contract: c, why: why, breaks: breaks}
	}
	s := ofMandate("state", v, []fault{
		state("not-active", false, attest.RuleMandateState, "the condition does not hold", wrong),
		state("unknown", nil, attest.RuleMandateState, "what the verifier does not know is not checked, and the mandate does not stand", wrong),
		{name: "no-condition", rule: attest.RuleMandate, shared: true, edit: drop("/validity/state_condition"), why: "a mandate that hangs on a condition says on which", breaks: "no condition is read as one that always holds"},
		{name: "condition-of-another-kind", rule: attest.RuleMandate, shared: true, edit: set("/validity/state_condition", `true`), why: "a condition is a text", breaks: "true is read as a condition that holds"},
	},
		late(bound{name: "not-after", rule: attest.RuleMandateWindow, limit: now, beyond: -1, put: edits("/validity/not_after"),
			why: "what the issuer bounds in time is not granted beyond, whatever the mode", breaks: "a mandate is used after the time that its issuer gave it"}),
	)
	s.context["state_active"] = true
	s.contractContext = func(v wire.Value) wire.M {
		return override(mandateContractContext(v), wire.M{"state_active": true})
	}
	return s
}
