package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

const scores = "did:web:scores.example" // a reputation service

const queryText = `{"type":"concordia.reputation.query","subject_agent_id":"did:web:vintner.example","requester_agent_id":"did:web:importer.example",
	"context":{"category":"beverages","value_range":"1000-5000_EUR","role":"initiator"}}`

const responseText = `{"type":"concordia.reputation.response","subject_agent_id":"did:web:vintner.example","service_id":"did:web:scores.example","computed_at":"2026-09-14T09:00:00Z",
	"context":{"category":"beverages","value_range":"1000-5000_EUR","role":"initiator"},
	"summary":{"overall_score":0.714285,"confidence":0.75,"total_negotiations":15,"total_agreements":12,"agreement_rate":0.8,"fulfillment_rate":0.9167,"avg_concession_willingness":0.21,
		"reasoning_rate":0.9333,"median_rounds_to_agreement":3,"categories_active":["beverages.wine","goods.barrels"]},
	"context_specific":{"category_score":0.6,"category_negotiations":9,"value_range_score":0.5,"role_score":0.7},
	"flags":["recent_dispute"],"attestation_count":16,"counterparty_count":11,"earliest_attestation":"2026-01-15T00:00:00Z","latest_attestation":"2026-09-13T00:00:00Z","service_signature":""}`

func byService(v wire.Value) wire.Value { return v.Without("service_signature") }

// signResponse signs as the service, unless something else than a text is in its place.
func signResponse(v wire.Value) wire.Value {
	if text, _ := v.Get("service_signature"); text.Kind() != wire.String {
		return v
	}
	return v.With("service_signature", signature(byService(v), scores))
}

// reputationResponse is a service's answer to a query.
func reputationResponse() specimen {
	v := signResponse(parse(responseText))
	s := sweep{what: "a response", rule: reputation.RuleResponse}
	r := specimen{
		kind: "reputation_response", record: "reputation_response", value: v, sign: signResponse,
		context: wire.M{"now": now, "public_keys": publicKeys(scores), "query": parse(queryText)},
		inner:   []string{"/summary", "/context_specific"},
	}
	query := func(edits ...func(wire.Value) wire.Value) wire.M {
		return wire.M{"query": all(edits...)(parse(queryText))}
	}
	const swapped = "a good word on one agent is shown as one on another"
	const elsewhere = "what an agent is good at is taken for what it is asked about"
	const contradiction = "figures that no receipts can add up to are reckoned with"
	r.faults = []fault{
		{name: "any-query", context: wire.M{"query": nil}, why: "who does not say what was asked takes an answer to anything"},
		{name: "unknown-member", edit: set("/note", `"kept and signed"`), why: "a response is open: what the table does not name is signed and kept"},
		{name: "unknown-flag", edit: set("/flags/-", `"sybil_signals_detected"`), why: "a service may have flags of its own"},
		{name: "no-context", edit: drop("/context"), why: "the reference implementation does not repeat the context: then nobody compares it"},
		{name: "no-receipts", edit: all(set("/summary/total_negotiations", `0`), set("/summary/total_agreements", `0`), set("/attestation_count", `0`), set("/earliest_attestation", `null`), set("/latest_attestation", `null`)),
			why: "that nothing is known is an answer, too"},
		{name: "role-unproven", edit: set("/context_specific/role_score", `null`), why: "where receipts say nothing of a role, its score is null"},
		{name: "perfect", edit: set("/summary/overall_score", `1`), why: "a score may be 1"},
		{name: "nothing-proven", edit: set("/summary/overall_score", `0`), why: "a score may be 0"},
		{name: "same-second", edit: set("/earliest_attestation", `"2026-09-13T02:00:00+02:00"`), why: "one receipt is the earliest and the latest: instants are compared, not texts"},
		{name: "null-role", context: query(set("/context/role", `null`)), rule: reputation.RuleAnswer, why: "the context of the answer is that of the query", breaks: elsewhere},
		{name: "other-subject", context: query(set("/subject_agent_id", `"did:web:importer.example"`)), rule: reputation.RuleAnswer, why: "an answer is about whom the query asks about", breaks: swapped},
		{name: "subject-in-capitals", context: query(set("/subject_agent_id", `"did:web:Vintner.example"`)), rule: reputation.RuleAnswer, why: "ids are compared as they are spelled", breaks: swapped},
		{name: "other-category", context: query(set("/context/category", `"services"`)), rule: reputation.RuleAnswer, why: "the context of the answer is that of the query", breaks: elsewhere},
		{name: "other-range", context: query(set("/context/value_range", `"1000000+_EUR"`)), rule: reputation.RuleAnswer, why: "the context of the answer is that of the query", breaks: elsewhere},
		{name: "more-context", context: query(drop("/context/value_range")), rule: reputation.RuleAnswer, why: "the context of the answer is that of the query", breaks: elsewhere},
		{name: "unasked-context", context: query(drop("/context")), rule: reputation.RuleAnswer, why: "the answer to a query without context has none", breaks: elsewhere},
		{name: "score-above-one", rule: reputation.RuleResponse, edit: set("/summary/overall_score", `1.000001`), why: "a score is at most 1", breaks: "a score that no history can have ranks first"},
		{name: "score-negative", rule: reputation.RuleResponse, edit: set("/summary/overall_score", `-0.1`), why: "a score is not negative", breaks: contradiction},
		{name: "confidence-above-one", rule: reputation.RuleResponse, edit: set("/summary/confidence", `2`), why: "a confidence is at most 1", breaks: contradiction},
		{name: "category-above-one", rule: reputation.RuleResponse, edit: set("/context_specific/category_score", `1.5`), why: "a score is at most 1", breaks: contradiction},
		{name: "rate-above-one", rule: reputation.RuleResponse, edit: set("/summary/fulfillment_rate", `1.1`), why: "a rate is at most 1", breaks: contradiction},
		{name: "too-many-agreements", rule: reputation.RuleResponse, edit: set("/summary/total_agreements", `16`), why: "there are no more agreements than negotiations", breaks: contradiction},
		{name: "too-many-negotiations", rule: reputation.RuleResponse, edit: set("/summary/total_negotiations", `17`), why: "there are no more negotiations than attestations", breaks: contradiction},
		{name: "ends-before-it-begins", rule: reputation.RuleResponse, edit: set("/latest_attestation", `"2026-01-14T23:59:59Z"`), why: "the latest receipt is not before the earliest", breaks: contradiction},
		{name: "half-a-span", rule: reputation.RuleResponse, edit: set("/earliest_attestation", `null`), why: "there is an earliest receipt if there is a latest one", breaks: contradiction},
		{name: "a-query", rule: reputation.RuleResponse, edit: set("/type", `"concordia.reputation.query"`), why: "the type says what was signed", breaks: "what was signed as something else is shown as an answer"},
		{name: "of-nobody", rule: reputation.RuleResponse, edit: set("/service_id", `" "`), why: "a service has an id", breaks: "nobody answers for the answer"},
		{name: "unsigned", rule: reputation.RuleResponse, after: set("/service_signature", `null`), why: "an answer is signed, also one that nothing is known", breaks: "whoever carries an answer writes it"},
	}
	for _, list := range [][]fault{
		s.without("/type", "/subject_agent_id", "/service_id", "/computed_at", "/summary", "/context_specific", "/flags", "/attestation_count",
			"/summary/overall_score", "/summary/confidence", "/summary/total_negotiations", "/summary/total_agreements", "/summary/agreement_rate", "/summary/fulfillment_rate",
			"/summary/avg_concession_willingness", "/summary/reasoning_rate", "/summary/median_rounds_to_agreement", "/summary/categories_active"),
		s.mistyped("/summary", `[]`, "/context_specific", `null`, "/flags", `"recent_dispute"`, "/flags/0", `7`, "/attestation_count", `16.5`, "/counterparty_count", `-1`, "/summary/overall_score", `"0.7"`,
			"/summary/median_rounds_to_agreement", `2.5`, "/summary/categories_active", `{}`, "/context", `"beverages"`),
		s.recased("/summary", "/flags", "/summary/confidence"), s.misdated("/computed_at"),
		seal{at: "/service_signature", who: scores, what: "a response", signs: byService, rule: reputation.RuleSignature, known: publicKeys(scores)}.forged(v,
			"/summary/overall_score", `0.99`, "/summary/confidence", `0.99`, "/flags", `[]`, "/computed_at", `"2026-09-14T09:29:00Z"`, "/context_specific/role_score", `1`),
		late(bound{name: "computed-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/computed_at"),
			why: "an answer is not of the future, but for the skew of 120 seconds", breaks: "an answer of next year is the newest for a year, whatever happens"}),
		late(bound{name: "age", rule: attest.RuleAge, limit: "2026-06-16T09:30:00Z", beyond: -1, put: edits("/computed_at"),
			why: "an answer of more than 90 days ago says little of today", breaks: "an agent is judged by what it once was"}),
	} {
		r.faults = append(r.faults, list...)
	}
	return r
}

// reputationQuery is a query, which nobody signs.
func reputationQuery() specimen {
	s := sweep{what: "a query", rule: reputation.RuleQuery}
	q := specimen{
		kind: "reputation_query", record: "reputation_query", value: parse(queryText),
		context: wire.M{"now": now, "public_keys": wire.M{}}, inner: []string{"/context"},
	}
	const guess = "a service answers another question than was asked"
	q.faults = []fault{
		{name: "no-context", edit: drop("/context"), why: "a query may ask about everything"},
		{name: "null-context", edit: set("/context", `null`), why: "a context that is null is none"},
		{name: "empty-category", edit: set("/context/category", `""`), why: "an empty category asks nothing"},
		{name: "seller", edit: set("/context/role", `"seller"`), why: "a role that receipts do not prove may be asked for: the answer says that"},
		{name: "unknown-member", edit: set("/context/urgency", `"high"`), why: "a query is open"},
		{name: "priced", rule: reputation.RuleQuery, edit: set("/context/category", `"A camera for 50 EUR"`), why: "a category is a path of lower case", breaks: "a query tells terms to every service that is asked"},
		{name: "free-range", rule: reputation.RuleQuery, edit: set("/context/value_range", `"1234-1235_EUR"`), why: "a range is one of ten", breaks: "a query tells a price to every service that is asked"},
		{name: "long-role", rule: reputation.RuleQuery, edit: set("/context/role", quote("a role of sixty-five characters and that is one more than is fine")), why: "a role has at most 64 characters", breaks: "whoever asks fills the memory of whoever answers"},
		{name: "a-response", rule: reputation.RuleQuery, edit: set("/type", `"concordia.reputation.response"`), why: "the type says what is asked", breaks: guess},
		{name: "two-words", rule: reputation.RuleQuery, edit: set("/subject_agent_id", `"did:web:vintner.example x"`), why: "an id has no white space", breaks: "two ids that look alike are two"},
	}
	for _, list := range [][]fault{
		s.without("/type", "/subject_agent_id", "/requester_agent_id"),
		s.mistyped("/subject_agent_id", `7`, "/requester_agent_id", `null`, "/context", `"beverages"`, "/context/category", `["beverages"]`, "/context/value_range", `5000`, "/context/role", `true`),
		s.recased("/subject_agent_id", "/context", "/context/role"),
	} {
		q.faults = append(q.faults, list...)
	}
	return q
}
