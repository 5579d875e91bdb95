package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

const notary = "did:web:notary.example"

// The artifacts of one chain session: an estate sells barrels to a trader, and a
// notary says when both are bound.
const (
	chainText = `{"chain_session_id":"urn:concordia:chain-session:vat-9","participants":["did:web:estate.example","did:web:trader.example"],
		"closure_predicate_ref":"urn:concordia:predicate:vat-9","state":"OPEN","created_at":"2026-09-14T08:00:00Z","activation_deadline":"2026-09-14T09:20:00Z",
		"activated_at":null,"dissolved_at":null,"commitments":["urn:concordia:commitment:vat-9-a","urn:concordia:commitment:vat-9-b"],
		"unwind_record_id":null,"activation_proof_id":null}`
	commitmentText = `{"commitment_id":"urn:concordia:commitment:vat-9-a","chain_session_id":"urn:concordia:chain-session:vat-9","committer_did":"did:web:estate.example",
		"predicate_reference":"urn:concordia:predicate:vat-9","commitment_terms":{"quantity":12.5,"goods":"barrels"},"mandate_proof_id":"urn:concordia:mandate:harvest-26",
		"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T18:00:00Z","algorithm":"EdDSA","signature":""}`
	activationText = `{"activation_proof_id":"urn:concordia:activation-proof:vat-9","chain_session_id":"urn:concordia:chain-session:vat-9",
		"closure_predicate_id":"urn:concordia:predicate:vat-9","predicate_evaluation":{"result":"satisfied","evaluated":2},
		"commitment_ids":["urn:concordia:commitment:vat-9-b","urn:concordia:commitment:vat-9-a"],"activated_at":"2026-09-14T09:10:00Z",
		"issuer_did":"did:web:trader.example","algorithm":"EdDSA","signature":""}`
	unwindText = `{"unwind_record_id":"urn:concordia:unwind:vat-9","chain_session_id":"urn:concordia:chain-session:vat-9","dissolution_reason":"timeout",
		"dissolution_details":{"missing":"one signature"},"affected_commitment_ids":["urn:concordia:commitment:vat-9-a"],"issuer_did":"did:web:trader.example",
		"issued_at":"2026-09-14T09:25:00Z","counterparty_acknowledgment":null,"algorithm":"EdDSA","signature":""}`
)

// ofChain is a specimen of an artifact of a chain session, which is at hand.
func ofChain(kind, record, contract, text, who string, faults ...[]fault) specimen {
	sign := signedBare(who)
	s := specimen{
		kind: kind, record: record, contract: contract, value: sign(parse(text)), sign: sign,
		context:         wire.M{"now": now, "public_keys": publicKeys(estate, trader, notary), "chain_session": parse(chainText)},
		contractContext: func(wire.Value) wire.M { return wire.M{"public_key_b64url": key(who).Public()} },
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

// chainSeal is the signature of an artifact of a chain session.
func chainSeal(what, who string, rule, shape *wire.Rule) seal {
	return seal{at: "/signature", who: who, what: what, signs: withoutSignature, rule: rule, empty: shape, known: publicKeys(estate, trader, notary),
		theirs: func(k string) wire.M { return wire.M{"public_key_b64url": k} }}
}

// otherSession puts a value into the chain session of the context.
func otherSession(name, pointer, text string, rule *wire.Rule, why, breaks string) fault {
	return fault{name: "session-" + name, rule: rule, context: wire.M{"chain_session": set(pointer, text)(parse(chainText))}, why: why, breaks: breaks}
}

// inState puts the chain session of the context into a state, with what it names in
// a member unless that is empty.
func inState(name, state, member, text string, rule *wire.Rule, why, breaks string) fault {
	session := set("/state", quote(state))(parse(chainText))
	if member != "" {
		session = set(member, text)(session)
	}
	return fault{name: "state-" + name, rule: rule, context: wire.M{"chain_session": session}, why: why, breaks: breaks}
}

// byStranger is an issuer that takes no part in the session.
func byStranger(rule *wire.Rule) fault {
	return fault{name: "by-the-notary", rule: rule, open: true, edit: set("/issuer_did", quote(notary)), after: signedBare(notary),
		why:    "nobody is authorized to issue for a session but its participants and whom the verifier trusts: who else may is not known, and so it does not stand",
		breaks: "a stranger ends a session, or binds its participants"}
}

const afterwards = "what was decided once is decided a second time, the other way"

const transplanted = "what was said in one session binds somebody in another"

func commitment() specimen {
	v := signedBare(estate)(parse(commitmentText))
	s := sweep{what: "a commitment", rule: cmpc.RuleCommitment, shared: true}
	b := cmpc.RuleCommitmentSession
	const stale = "an offer for one day binds for ever"
	mandate := func(name, issuer string, depth int, rule *wire.Rule, why, breaks string) fault {
		return fault{name: "mandate-" + name, rule: rule, why: why, breaks: breaks,
			context: wire.M{"revocation_records": []wire.Value{withdrawal("urn:concordia:mandate:harvest-26", "mandate", issuer, now, depth)}}}
	}
	const unmandated = "an agent whose mandate was taken away goes on committing its principal"
	return ofChain("commitment", "conditional_commitment", "conditional-commitment-v1", commitmentText, estate,
		s.without("/commitment_id", "/chain_session_id", "/committer_did", "/predicate_reference", "/commitment_terms", "/mandate_proof_id", "/issued_at", "/expires_at", "/algorithm", "/signature"),
		s.mistyped("/commitment_id", `"urn:concordia:mandate:vat-9-a"`, "/committer_did", `"estate"`, "/commitment_terms", `[12.5]`, "/mandate_proof_id", `7`, "/issued_at", `1789376400`, "/algorithm", `"ES256"`, "/predicate_reference", `null`),
		s.closed(""), s.recased("/committer_did"),
		sweep{what: "a commitment", rule: cmpc.RuleInstant}.misdated("/issued_at"),
		chainSeal("a commitment", estate, cmpc.RuleCommitmentSignature, s.rule).forged(v, "/commitment_terms/quantity", `1.25`, "/expires_at", `"2026-09-15T18:00:00Z"`, "/mandate_proof_id", `null`),
		late(bound{name: "expires-at", rule: cmpc.RuleCommitmentExpired, limit: "2026-09-14T18:00:00Z", beyond: 1, put: byClock, why: "a commitment stands up to and including expires_at, without skew", breaks: stale}),
		late(bound{name: "expired", rule: cmpc.RuleCommitmentExpired, limit: now, beyond: -1, put: edits("/expires_at"), why: "a commitment whose expires_at has passed no longer stands", breaks: stale}),
		late(bound{name: "window", rule: cmpc.RuleCommitmentWindow, limit: "2026-09-14T09:31:00Z", open: true, beyond: -1, put: edits("/expires_at", set("/issued_at", `"2026-09-14T09:31:00Z"`)),
			why: "a commitment ends after it was made", breaks: "what never held is taken for something that did"}),
		late(bound{name: "lifetime", rule: attest.RuleLifetime, limit: "2026-12-13T09:00:00Z", beyond: 1, put: edits("/expires_at"), why: "a commitment holds for at most 90 days", breaks: stale}),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/issued_at"), why: "nobody commits later than now, but for the skew of 120 seconds", breaks: "commitments are signed in advance, and nobody can tell which were meant"}),
		revoked("urn:concordia:commitment:vat-9-a", "commitment", estate, notary),
		[]fault{
			mandate("revoked", estate, 1, attest.RuleRevoked, "who revokes a mandate with its dependents revokes what was committed under it", unmandated),
			mandate("revoked-by-the-notary", notary, 8, attest.RuleRevoked, "in a case whoever has a key in it may revoke", unmandated),
			mandate("revoked-alone", estate, 0, nil, "a record of the mandate alone does not reach what was committed under it", ""),
			{name: "without-mandate", shared: true, edit: set("/mandate_proof_id", `null`), why: "a committer may act for itself"},
			{name: "without-session", context: wire.M{"chain_session": nil}, why: "without a session at hand there is none to compare with"},
			{name: "empty-terms", shared: true, edit: set("/commitment_terms", `{}`), why: "the terms are the parties' own"},
			{name: "of-another-session", rule: b, edit: set("/chain_session_id", `"urn:concordia:chain-session:vat-8"`), why: "a commitment is of the session that it names", breaks: transplanted},
			{name: "of-a-longer-session", rule: b, edit: set("/chain_session_id", `"urn:concordia:chain-session:vat-99"`), why: "ids are compared as a whole", breaks: transplanted},
			{name: "under-another-predicate", rule: b, edit: set("/predicate_reference", `"urn:concordia:predicate:vat-8"`), why: "a commitment is made under one condition, that by which its session closes", breaks: "somebody is bound under a condition that it never saw"},
			{name: "by-the-notary", rule: b, edit: set("/committer_did", quote(notary)), after: signedBare(notary), why: "who commits is a participant of the session", breaks: "a stranger fills the place of a participant"},
			otherSession("other-id", "/chain_session_id", `"urn:concordia:chain-session:vat-8"`, b, "the session at hand is the one that the commitment names", transplanted),
			otherSession("lists-others", "/commitments", `["urn:concordia:commitment:vat-9-b","urn:concordia:commitment:vat-9-c"]`, cmpc.RuleCommitmentListed, "an open session lists each commitment that it has", "a commitment is slipped in after the session opened"),
			otherSession("lists-none", "/commitments", `[]`, cmpc.RuleCommitmentListed, "an open session lists each commitment that it has", "a commitment is slipped in after the session opened"),
			otherSession("lists-in-capitals", "/commitments/0", `"urn:concordia:commitment:Vat-9-a"`, cmpc.RuleCommitmentListed, "ids are compared as they are spelled", "a commitment is slipped in after the session opened"),
			{name: "not-listed", rule: cmpc.RuleCommitmentListed, edit: set("/commitment_id", `"urn:concordia:commitment:vat-9-c"`), why: "an open session lists each commitment that it has", breaks: "a commitment is slipped in after the session opened"},
			inState("proposed", "PROPOSED", "/commitments", `[]`, nil, "a session that is proposed still collects commitments", ""),
			inState("activated", "ACTIVATED", "", "", cmpc.RuleCommitmentState, "a session that was activated takes no more commitments", afterwards),
			inState("dissolved", "DISSOLVED", "", "", cmpc.RuleCommitmentState, "a session that was dissolved binds nobody", afterwards),
			inState("expired", "EXPIRED", "", "", cmpc.RuleCommitmentState, "a session that expired binds nobody", afterwards),
			otherSession("other-predicate", "/closure_predicate_ref", `"urn:concordia:predicate:vat-8"`, b, "the session at hand closes by the predicate of the commitment", "somebody is bound under a condition that it never saw"),
			otherSession("other-participants", "/participants", `["did:web:trader.example","did:web:other.example"]`, b, "the session at hand has the committer among its participants", "a stranger fills the place of a participant"),
			otherSession("participant-in-capitals", "/participants/0", `"did:web:Estate.example"`, b, "ids are compared as they are spelled", "a stranger fills the place of a participant"),
		},
	)
}

func activationProof() specimen {
	v := signedBare(trader)(parse(activationText))
	s := sweep{what: "an activation proof", rule: cmpc.RuleActivation, shared: true}
	b := cmpc.RuleActivationSession
	list := func(name, text string, rule *wire.Rule, why, breaks string) fault {
		return fault{name: "commitments-" + name, rule: rule, edit: set("/commitment_ids", text), why: why, breaks: breaks}
	}
	const a, c = `"urn:concordia:commitment:vat-9-a"`, `"urn:concordia:commitment:vat-9-b"`
	const partly = "some are bound and others are not, which is what the session was to prevent"
	const failed = "a session is activated although its condition failed"
	var results []fault
	for _, r := range []struct{ name, text string }{{"unsatisfied", `"unsatisfied"`}, {"capitals", `"SATISFIED"`}, {"true", `true`}, {"null", `null`}, {"empty", `""`}, {"list", `["satisfied"]`}} {
		results = append(results, fault{name: "result-" + r.name, rule: cmpc.RuleActivationEvaluation, edit: set("/predicate_evaluation/result", r.text),
			why: "a proof that tells a result tells that the predicate was satisfied, in this word", breaks: failed})
	}
	return ofChain("activation_proof", "atomic_activation_proof", "atomic-activation-proof-v1", activationText, trader,
		s.without("/activation_proof_id", "/chain_session_id", "/closure_predicate_id", "/predicate_evaluation", "/commitment_ids", "/activated_at", "/issuer_did", "/algorithm", "/signature"),
		s.mistyped("/activation_proof_id", `"urn:concordia:unwind:vat-9"`, "/commitment_ids", `{}`, "/commitment_ids/0", `"vat-9-b"`, "/predicate_evaluation", `"satisfied"`, "/activated_at", `null`, "/issuer_did", `"notary"`, "/algorithm", `"Ed25519"`),
		s.closed(""), s.recased("/issuer_did"),
		sweep{what: "an activation proof", rule: cmpc.RuleInstant}.misdated("/activated_at"),
		chainSeal("an activation proof", trader, cmpc.RuleActivationSignature, s.rule).forged(v, "/predicate_evaluation/evaluated", `3`, "/activated_at", `"2026-09-14T09:15:00Z"`, "/activation_proof_id", `"urn:concordia:activation-proof:vat-10"`),
		late(bound{name: "activated-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:08:00Z", beyond: -1, put: byClock, why: "nothing is activated later than now, but for the skew of 120 seconds", breaks: "an activation to come binds today"}),
		late(bound{name: "deadline", rule: b, limit: "2026-09-14T09:20:00Z", open: true, beyond: 1, put: edits("/activated_at"), why: "a session is activated before its activation deadline", breaks: "who let the deadline pass and went elsewhere is bound all the same"}),
		results,
		[]fault{
			{name: "no-result", shared: true, edit: drop("/predicate_evaluation/result"), why: "a proof need not tell a result: it proves nothing anyway"},
			{name: "long-ago", context: wire.M{"now": "2031-09-14T09:30:00Z"}, why: "a proof does not get old: what took effect stays so"},
			{name: "without-session", context: wire.M{"chain_session": nil}, why: "without a session at hand there is none to compare with"},
			list("in-the-other-order", `[`+a+`,`+c+`]`, nil, "the order of the commitments does not matter", ""),
			{name: "commitments-none", rule: cmpc.RuleActivation, shared: true, edit: set("/commitment_ids", `[]`), why: "something is activated", breaks: "a session of nothing is activated"},
			list("missing", `[`+a+`]`, b, "all commitments of the session take effect, or none", partly),
			list("more", `[`+a+`,`+c+`,"urn:concordia:commitment:vat-9-c"]`, b, "no commitment takes effect that the session does not have", partly),
			list("exchanged", `[`+a+`,"urn:concordia:commitment:vat-8-b"]`, b, "the commitments are those of the session", transplanted),
			{name: "commitments-twice", rule: cmpc.RuleActivationCommitments, edit: set("/commitment_ids", `[`+a+`,`+c+`,`+a+`]`), context: wire.M{"chain_session": nil}, why: "a commitment is listed once", breaks: "one commitment is counted as two"},
			{name: "commitments-one-twice", rule: cmpc.RuleActivationCommitments, edit: set("/commitment_ids", `[`+a+`,`+a+`]`), context: wire.M{"chain_session": nil}, why: "a commitment is listed once", breaks: "one commitment is counted as those of both parties"},
			byStranger(b),
			inState("open-with-this-proof", "OPEN", "/activation_proof_id", withProof, nil, "an open session may name the proof already", ""),
			inState("activated", "ACTIVATED", "/activation_proof_id", withProof, nil, "a session that was activated names the proof", ""),
			inState("open-with-another-proof", "OPEN", "/activation_proof_id", `"urn:concordia:activation-proof:vat-8"`, cmpc.RuleActivationState, "a session has one proof", afterwards),
			inState("activated-by-another", "ACTIVATED", "/activation_proof_id", `"urn:concordia:activation-proof:vat-8"`, cmpc.RuleActivationState, "a session has one proof", afterwards),
			inState("activated-by-none", "ACTIVATED", "", "", cmpc.RuleActivationState, "a session that was activated names its proof", afterwards),
			inState("proposed", "PROPOSED", "/activation_proof_id", withProof, cmpc.RuleActivationState, "a session that never opened is not activated", afterwards),
			inState("dissolved", "DISSOLVED", "/activation_proof_id", withProof, cmpc.RuleActivationState, "a session that was dissolved is not activated", afterwards),
			inState("expired", "EXPIRED", "/activation_proof_id", withProof, cmpc.RuleActivationState, "a session that expired is not activated", afterwards),
			{name: "of-another-session", rule: b, edit: set("/chain_session_id", `"urn:concordia:chain-session:vat-8"`), why: "a proof is of the session that it names", breaks: transplanted},
			{name: "by-another-predicate", rule: b, edit: set("/closure_predicate_id", `"urn:concordia:predicate:vat-8"`), why: "the predicate that held is the one by which the session closes", breaks: failed},
			otherSession("other-id", "/chain_session_id", `"urn:concordia:chain-session:vat-8"`, b, "the session at hand is the one that is activated", transplanted),
			otherSession("other-predicate", "/closure_predicate_ref", `"urn:concordia:predicate:vat-8"`, b, "the session at hand closes by the predicate that held", failed),
			otherSession("more-commitments", "/commitments/-", `"urn:concordia:commitment:vat-9-c"`, b, "all commitments of the session at hand take effect, or none", partly),
			otherSession("earlier-deadline", "/activation_deadline", `"2026-09-14T09:10:00Z"`, b, "a session is activated before its activation deadline, not at it", "who let the deadline pass and went elsewhere is bound all the same"),
		},
	)
}

func unwind() specimen {
	v := signedBare(trader)(parse(unwindText))
	s := sweep{what: "an unwind record", rule: cmpc.RuleUnwind, shared: true}
	b := cmpc.RuleUnwindSession
	const undone = "commitments of others are undone by a record that is not about them"
	var reasons []fault
	for _, r := range []string{"predicate_failed", "explicit_withdrawal", "mandate_violation"} {
		reasons = append(reasons, fault{name: "reason-" + label(r), shared: true, edit: set("/dissolution_reason", quote(r)), why: "there are four reasons"})
	}
	for _, r := range []struct{ name, text string }{{"other", `"no_time"`}, {"capitals", `"TIMEOUT"`}, {"null", `null`}} {
		reasons = append(reasons, fault{name: "reason-" + r.name, rule: cmpc.RuleUnwind, shared: true, edit: set("/dissolution_reason", r.text), why: "there are four reasons, in their spelling", breaks: "nobody can tell whose fault it was that a session was dissolved"})
	}
	return ofChain("unwind", "unwind_record", "unwind-record-v1", unwindText, trader,
		s.without("/unwind_record_id", "/chain_session_id", "/dissolution_reason", "/dissolution_details", "/affected_commitment_ids", "/issuer_did", "/issued_at", "/counterparty_acknowledgment", "/algorithm", "/signature"),
		s.mistyped("/unwind_record_id", `"urn:concordia:activation-proof:vat-9"`, "/dissolution_details", `"none"`, "/affected_commitment_ids", `{}`, "/affected_commitment_ids/0", `"vat-9-a"`, "/counterparty_acknowledgment", `true`, "/issued_at", `null`, "/issuer_did", `7`),
		s.closed(""), s.recased("/dissolution_reason"),
		sweep{what: "an unwind record", rule: cmpc.RuleInstant}.misdated("/issued_at"),
		chainSeal("an unwind record", trader, cmpc.RuleUnwindSignature, s.rule).forged(v, "/dissolution_reason", `"explicit_withdrawal"`, "/issued_at", `"2026-09-14T09:00:00Z"`, "/dissolution_details/missing", `"nothing"`),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/issued_at"), why: "nothing is dissolved later than now, but for the skew of 120 seconds", breaks: "a dissolution to come undoes what stands today"}),
		late(bound{name: "clock", rule: attest.RuleNotYet, limit: "2026-09-14T09:23:00Z", beyond: -1, put: byClock, why: "nothing is dissolved later than now, but for the skew of 120 seconds", breaks: "a dissolution to come undoes what stands today"}),
		reasons,
		[]fault{
			{name: "acknowledged", shared: true, edit: set("/counterparty_acknowledgment", `{"by":"did:web:trader.example"}`), why: "an acknowledgment is an object of any kind: nothing says who made it"},
			{name: "nobody-affected", shared: true, edit: set("/affected_commitment_ids", `[]`), why: "a session may end before anybody committed"},
			{name: "all-affected", edit: set("/affected_commitment_ids/-", `"urn:concordia:commitment:vat-9-b"`), why: "a record may undo all commitments"},
			{name: "long-ago", context: wire.M{"now": "2031-09-14T09:30:00Z"}, why: "a record does not get old"},
			{name: "without-session", context: wire.M{"chain_session": nil}, why: "without a session at hand there is none to compare with"},
			byStranger(b),
			inState("open-with-this-record", "OPEN", "/unwind_record_id", withUnwind, nil, "an open session may name the record already", ""),
			inState("dissolved", "DISSOLVED", "/unwind_record_id", withUnwind, nil, "a session that was dissolved names the record", ""),
			inState("open-with-another-record", "OPEN", "/unwind_record_id", `"urn:concordia:unwind:vat-8"`, cmpc.RuleUnwindState, "a session has one record", afterwards),
			inState("dissolved-by-another", "DISSOLVED", "/unwind_record_id", `"urn:concordia:unwind:vat-8"`, cmpc.RuleUnwindState, "a session has one record", afterwards),
			inState("proposed", "PROPOSED", "", "", cmpc.RuleUnwindState, "a session that never opened is not dissolved", afterwards),
			inState("activated", "ACTIVATED", "/unwind_record_id", withUnwind, cmpc.RuleUnwindState, "a session that was activated is not dissolved", afterwards),
			inState("expired", "EXPIRED", "/unwind_record_id", withUnwind, cmpc.RuleUnwindState, "a session that expired is not dissolved", afterwards),
			{name: "of-another-session", rule: b, edit: set("/chain_session_id", `"urn:concordia:chain-session:vat-8"`), why: "a record is of the session that it names", breaks: transplanted},
			{name: "affects-others", rule: b, edit: set("/affected_commitment_ids/0", `"urn:concordia:commitment:vat-8-a"`), why: "the affected commitments are those of the session", breaks: undone},
			{name: "affects-one-too-many", rule: b, edit: set("/affected_commitment_ids/-", `"urn:concordia:commitment:vat-9-c"`), why: "each affected commitment is one of the session", breaks: undone},
			{name: "affects-in-capitals", rule: b, edit: set("/affected_commitment_ids/0", `"urn:concordia:commitment:Vat-9-a"`), why: "ids are compared as they are spelled", breaks: undone},
			otherSession("other-id", "/chain_session_id", `"urn:concordia:chain-session:vat-8"`, b, "the session at hand is the one that is dissolved", transplanted),
			otherSession("other-commitments", "/commitments", `["urn:concordia:commitment:vat-9-b"]`, b, "the session at hand has the affected commitments", undone),
			otherSession("no-commitments", "/commitments", `[]`, b, "the session at hand has the affected commitments", undone),
		},
	)
}
