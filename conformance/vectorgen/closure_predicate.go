package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

// closurePredicate is a closure predicate as a whole artifact, which has to be in
// force before it is evaluated. Nothing shows that its signature is looked at: the
// verdict depends on that only for a verifier that acts on it.
func closurePredicate() specimen {
	artifact := `{"predicate_id":"urn:concordia:predicate:vat-9","type":"urn:concordia:predicate-type:bilateral_chain_closure:v1",
		"authority":"did:web:estate.example","issuer":"did:web:notary.example","subject":"urn:concordia:chain-session:vat-9","condition":` + bilateralText + `,
		"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T18:00:00Z","references":[{"uri":"urn:concordia:chain-session:vat-9"}],"status":"active","algorithm":"EdDSA","signature":""}`
	sign := func(v wire.Value) wire.Value {
		p, _ := v.Get("predicate")
		return v.With("predicate", signedBare(notary)(p))
	}
	const at = "/predicate"
	s := sweep{what: "a closure predicate", rule: cmpc.RuleClosurePredicate, shared: true}
	b := cmpc.RuleClosureSession
	const stale = "parties are bound by a condition that was given up long ago"
	of := func(f fault) fault { f.shared = true; return f }
	c := closureOf("predicate", cmpc.BilateralV1, bilateralText)
	c.value, c.sign = sign(set(at, artifact)(c.value)), sign
	c.contract, c.contractRecord = "closure-predicate-v1", "closure_predicate"
	c.contractInput = func(v wire.Value) wire.Value { p, _ := v.Get("predicate"); return p }
	c.contractContext = func(wire.Value) wire.M { return wire.M{} }
	noSession := drop("/chain_session")
	for _, list := range [][]fault{
		s.without(at+"/authority", at+"/issuer", at+"/subject", at+"/issued_at", at+"/expires_at", at+"/references", at+"/status", at+"/algorithm", at+"/signature"),
		s.mistyped(at+"/authority", `"estate"`, at+"/issuer", `7`, at+"/subject", `"urn:concordia:commitment:vat-9"`, at+"/condition", `[]`, at+"/references", `{}`, at+"/references/0", `"urn:x"`, at+"/status", `"open"`, at+"/algorithm", `"ES256"`, at+"/issued_at", `null`, at+"/signature", `7`),
		sweep{what: "a closure predicate", rule: cmpc.RuleInstant}.misdated(at + "/issued_at"),
		late(bound{name: "expired", rule: cmpc.RuleClosureExpired, limit: now, beyond: -1, put: edits(at + "/expires_at"), why: "a closure predicate counts up to and including expires_at, without skew", breaks: stale}),
		late(bound{name: "window", rule: cmpc.RuleClosureWindow, limit: "2026-09-14T09:31:00Z", open: true, beyond: -1, put: edits(at+"/expires_at", set(at+"/issued_at", `"2026-09-14T09:31:00Z"`)), why: "a closure predicate ends after it was made", breaks: "what never held is taken for something that did"}),
		late(bound{name: "lifetime", rule: attest.RuleLifetime, limit: "2026-12-13T09:00:00Z", beyond: 1, put: edits(at + "/expires_at"), why: "a closure predicate holds for at most 90 days", breaks: stale}),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits(at + "/issued_at"), why: "no predicate is issued later than now, but for the skew of 120 seconds", breaks: "conditions are signed in advance, and nobody can tell which were meant"}),
		revoked("urn:concordia:predicate:vat-9", "predicate", notary, estate),
		{
			of(fault{name: "open", edit: set(at+"/note", `"kept and signed"`), why: "a closure predicate is open"}),
			of(fault{name: "no-references", edit: set(at+"/references", `[]`), why: "a closure predicate may refer to nothing"}),
			of(fault{name: "signed-by-nobody", after: set(at+"/signature", `"none"`), why: "published predicates need not have a signature that anybody can verify"}),
			{name: "signed-by-the-authority", after: func(v wire.Value) wire.Value {
				p, _ := v.Get("predicate")
				return v.With("predicate", signedBare(estate)(p))
			}, context: wire.M{"public_keys": publicKeys(estate)}, why: "where the issuer's key is not known the signature may be the authority's"},
			{name: "status-expired", rule: cmpc.RuleClosureStatus, edit: set(at+"/status", `"expired"`), why: "only an active predicate counts", breaks: stale},
			{name: "status-revoked", rule: cmpc.RuleClosureStatus, edit: set(at+"/status", `"revoked"`), why: "only an active predicate counts", breaks: stale},
			{name: "status-suspended", rule: cmpc.RuleClosureStatus, edit: set(at+"/status", `"suspended"`), why: "only an active predicate counts", breaks: stale},
			{name: "of-another-session", rule: b, edit: set(at+"/subject", `"urn:concordia:chain-session:vat-8"`), why: "a predicate closes the session that is its subject", breaks: transplanted},
			{name: "of-a-longer-session", rule: b, edit: set(at+"/subject", `"urn:concordia:chain-session:vat-99"`), why: "ids are compared as a whole", breaks: transplanted},
			{name: "other-session-at-hand", rule: b, edit: set("/chain_session/chain_session_id", `"urn:concordia:chain-session:vat-8"`), why: "the session at hand is the subject", breaks: transplanted},
			{name: "other-predicate-at-hand", rule: b, edit: set("/chain_session/closure_predicate_ref", `"urn:concordia:predicate:vat-8"`), why: "the session at hand closes by this predicate", breaks: transplanted},
			{name: "of-another-session-alone", edit: all(noSession, set(at+"/subject", `"urn:concordia:chain-session:vat-8"`)), why: "without a session at hand there is none to compare with"},
			{name: "not-satisfied", rule: cmpc.RuleClosure, edit: set(at+"/condition/aggregate_quantity_required", `40`), why: "a predicate in force is evaluated by its own condition (aggregate_quantity_mismatch)", breaks: early},
			{name: "past-its-deadline", rule: cmpc.RuleClosureDeadline, edit: set(at+"/condition/activation_deadline_iso", `"2026-09-14T09:29:59Z"`), why: "a predicate in force may have a deadline that has passed (past_activation_deadline)", breaks: early},
			{name: "of-an-unknown-type", rule: cmpc.RuleClosureForm, edit: set(at+"/type", `"urn:concordia:predicate-type:horoscope:v1"`), why: "a predicate in force may be of a type that nobody evaluates (unknown_predicate_type)", breaks: malformed},
		},
	} {
		c.faults = append(c.faults, list...)
	}
	return c
}
