package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

const closurePredicateText = `{"predicate_id":"urn:concordia:predicate:vat-9","type":"urn:concordia:predicate-type:bilateral_chain_closure:v1",
	"authority":"did:web:estate.example","issuer":"did:web:notary.example","subject":"urn:concordia:chain-session:vat-9","condition":` + bilateralText + `,
	"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T18:00:00Z","references":[{"uri":"urn:concordia:chain-session:vat-9"}],"status":"active","algorithm":"EdDSA","signature":""}`

const outdated = "parties are bound by a condition that was given up long ago"

// closurePredicate is a closure predicate as a whole artifact.
func closurePredicate() specimen {
	v := signedBare(notary)(parse(closurePredicateText))
	s := sweep{what: "a closure predicate", rule: cmpc.RuleClosurePredicate, shared: true}
	b := cmpc.RuleClosureSession
	sealed := chainSeal("a closure predicate", notary, cmpc.RuleClosureSignature, s.rule)
	sealed.known, sealed.theirs = publicKeys(notary), nil // the contract has nobody's key
	byAuthority := wire.M{"public_keys": publicKeys(estate)}
	c := ofChain("closure_predicate", "closure_predicate", "closure-predicate-v1", closurePredicateText, notary,
		s.without("/predicate_id", "/type", "/authority", "/issuer", "/subject", "/condition", "/issued_at", "/expires_at", "/references", "/status", "/algorithm", "/signature"),
		s.mistyped("/authority", `"estate"`, "/issuer", `7`, "/subject", `"urn:concordia:commitment:vat-9"`, "/condition", `[]`, "/references", `{}`, "/references/0", `"urn:x"`, "/status", `"open"`, "/algorithm", `"ES256"`, "/issued_at", `null`),
		sweep{what: "a closure predicate", rule: cmpc.RuleInstant}.misdated("/issued_at"),
		sealed.forged(v, "/condition/aggregate_quantity_required", `2`, "/condition/activation_deadline_iso", `"2036-09-14T10:00:00Z"`, "/references/0/uri", `"urn:x"`),
		late(bound{name: "expires-at", rule: cmpc.RuleClosureExpired, limit: "2026-09-14T18:00:00Z", beyond: 1, put: byClock, why: "a closure predicate counts up to and including expires_at, without skew", breaks: outdated}),
		late(bound{name: "expired", rule: cmpc.RuleClosureExpired, limit: now, beyond: -1, put: edits("/expires_at"), why: "a closure predicate counts up to and including expires_at, without skew", breaks: outdated}),
		late(bound{name: "window", rule: cmpc.RuleClosureWindow, limit: "2026-09-14T09:31:00Z", open: true, beyond: -1, put: edits("/expires_at", set("/issued_at", `"2026-09-14T09:31:00Z"`)), why: "a closure predicate ends after it was made", breaks: "what never held is taken for something that did"}),
		late(bound{name: "lifetime", rule: attest.RuleLifetime, limit: "2026-12-13T09:00:00Z", beyond: 1, put: edits("/expires_at"), why: "a closure predicate holds for at most 90 days", breaks: outdated}),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/issued_at"), why: "no predicate is issued later than now, but for the skew of 120 seconds", breaks: "conditions are signed in advance, and nobody can tell which were meant"}),
		revoked("urn:concordia:predicate:vat-9", "predicate", notary, estate),
		[]fault{
			{name: "open", shared: true, edit: set("/note", `"kept and signed"`), why: "a closure predicate is open"},
			{name: "no-references", shared: true, edit: set("/references", `[]`), why: "a closure predicate may refer to nothing"},
			{name: "any-condition", shared: true, edit: set("/condition", `{}`), why: "the condition is for the profile to judge"},
			{name: "any-type", shared: true, edit: set("/type", `"urn:concordia:predicate-type:horoscope:v1"`), why: "whether anybody evaluates a type is for the evaluation to say"},
			{name: "signed-by-the-authority", after: signedBare(estate), context: byAuthority, why: "where the issuer's key is not known the signature may be the authority's"},
			{name: "signed-by-the-authority-too", rule: cmpc.RuleClosureSignature, after: signedBare(estate), why: "where the issuer's key is known the signature is the issuer's", breaks: "an authority speaks in the name of another"},
			{name: "signed-by-the-issuer-unknown", rule: cmpc.RuleClosureSignature, context: byAuthority, why: "a signature that is not the authority's does not stand by the authority's key", breaks: "anybody speaks in the name of an authority"},
			{name: "status-expired", rule: cmpc.RuleClosureStatus, edit: set("/status", `"expired"`), why: "only an active predicate counts", breaks: outdated},
			{name: "status-revoked", rule: cmpc.RuleClosureStatus, edit: set("/status", `"revoked"`), why: "only an active predicate counts", breaks: outdated},
			{name: "status-suspended", rule: cmpc.RuleClosureStatus, edit: set("/status", `"suspended"`), why: "only an active predicate counts", breaks: outdated},
			{name: "of-another-session", rule: b, edit: set("/subject", `"urn:concordia:chain-session:vat-8"`), why: "a predicate closes the session that is its subject", breaks: transplanted},
			{name: "of-a-longer-session", rule: b, edit: set("/subject", `"urn:concordia:chain-session:vat-99"`), why: "ids are compared as a whole", breaks: transplanted},
			{name: "of-a-session-in-capitals", rule: b, edit: set("/subject", `"urn:concordia:chain-session:Vat-9"`), why: "ids are compared as they are spelled", breaks: transplanted},
			{name: "under-another-id", rule: b, edit: set("/predicate_id", `"urn:concordia:predicate:vat-8"`), why: "the session at hand closes by another predicate", breaks: "parties are bound by a condition that is not theirs"},
			{name: "without-session", edit: set("/subject", `"urn:concordia:chain-session:vat-8"`), context: wire.M{"chain_session": nil}, why: "without a session at hand there is none to compare with"},
			otherSession("other-id", "/chain_session_id", `"urn:concordia:chain-session:vat-8"`, b, "the session at hand is the subject", transplanted),
			otherSession("other-predicate", "/closure_predicate_ref", `"urn:concordia:predicate:vat-8"`, b, "the session at hand closes by this predicate", "parties are bound by a condition that is not theirs"),
		},
	)
	c.contractContext = func(wire.Value) wire.M { return wire.M{} }
	return c
}

// wholeClosure is an evaluation of a whole artifact, which has to be in force.
func wholeClosure() specimen {
	const at = "/predicate"
	b := cmpc.RuleClosureSession
	c := closureOf("artifact", cmpc.BilateralV1, bilateralText,
		late(bound{name: "expired", rule: cmpc.RuleClosureExpired, limit: now, beyond: -1, put: edits(at + "/expires_at"), why: "what is evaluated is in force", breaks: outdated}),
		revoked("urn:concordia:predicate:vat-9", "predicate", notary, estate),
		[]fault{
			{name: "suspended", rule: cmpc.RuleClosureStatus, edit: set(at+"/status", `"suspended"`), why: "what is evaluated is in force", breaks: outdated},
			{name: "signed-by-nobody", after: set(at+"/signature", `"none"`), why: "published predicates need not have a signature that anybody can verify: an evaluation does not depend on it"},
			{name: "of-another-session", rule: b, edit: set(at+"/subject", `"urn:concordia:chain-session:vat-8"`), why: "a predicate closes the session that is its subject", breaks: transplanted},
			{name: "other-session-at-hand", rule: b, edit: set("/chain_session/chain_session_id", `"urn:concordia:chain-session:vat-8"`), why: "the session at hand is the subject", breaks: transplanted},
			{name: "of-another-session-alone", edit: all(drop("/chain_session"), set(at+"/subject", `"urn:concordia:chain-session:vat-8"`)), why: "without a session at hand there is none to compare with"},
			{name: "not-satisfied", rule: cmpc.RuleClosure, edit: set(at+"/condition/aggregate_quantity_required", `40`), why: "a predicate in force is evaluated by its own condition (aggregate_quantity_mismatch)", breaks: early},
			{name: "past-its-deadline", rule: cmpc.RuleClosureDeadline, edit: set(at+"/condition/activation_deadline_iso", `"2026-09-14T09:29:59Z"`), why: "a predicate in force may have a deadline that has passed (past_activation_deadline)", breaks: early},
			{name: "of-an-unknown-type", rule: cmpc.RuleClosureForm, edit: set(at+"/type", `"urn:concordia:predicate-type:horoscope:v1"`), why: "a predicate in force may be of a type that nobody evaluates (unknown_predicate_type)", breaks: malformed},
		},
	)
	c.sign = func(v wire.Value) wire.Value {
		p, _ := v.Get("predicate")
		return v.With("predicate", signedBare(notary)(p))
	}
	c.value = c.sign(set(at, closurePredicateText)(c.value))
	return c
}
