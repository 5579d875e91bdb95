package main

import (
	"fmt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const linksText = `[
	{"delegator":"did:web:estate.example","delegate":"did:web:estate.example#cellar","delegated_at":"2026-09-14T06:00:00Z","algorithm":"EdDSA","signature":"",
	 "scope_restriction":{"properties":{"amount":{"maximum":2500}}}},
	{"delegator":"did:web:estate.example#cellar","delegate":"agent:cooper-7","delegated_at":"2026-09-14T07:00:00Z","algorithm":"EdDSA","signature":"",
	 "scope_restriction":{"max_spend":2000}}]`

// delegatedMandate reaches its subject by way of the cellar.
func delegatedMandate() specimen {
	v := signMandate(set("/delegation_chain", linksText)(parse(mandateText)))
	s := sweep{what: "a mandate", rule: attest.RuleMandate, shared: true}
	keys := publicKeys(estate, cellar)
	m := ofMandate("delegated", v,
		s.without("/delegation_chain/0/delegator", "/delegation_chain/1/delegate", "/delegation_chain/1/delegated_at", "/delegation_chain/0/algorithm", "/delegation_chain/1/signature"),
		s.mistyped("/delegation_chain/0", `"did:web:estate.example"`, "/delegation_chain/1/delegator", `7`, "/delegation_chain/1/delegate", `""`, "/delegation_chain/0/delegated_at", `1789365600`,
			"/delegation_chain/1/algorithm", `"none"`, "/delegation_chain/1/scope_restriction", `true`),
		s.misdated("/delegation_chain/1/delegated_at"),
		seal{name: "link", at: "/delegation_chain/1/signature", who: cellar, what: "a link", rule: attest.RuleDelegationSignature, empty: attest.RuleMandate,
			signs:  func(v wire.Value) wire.Value { link, _ := v.At("delegation_chain", "1"); return withoutSignature(link) },
			around: signedBare(estate), known: keys,
			theirs: func(k string) wire.M {
				return wire.M{"delegation_public_keys_b64url": wire.M{estate: keys[estate], cellar: k}}
			},
		}.forged(v, "/delegation_chain/1/delegated_at", `"2026-09-14T06:30:00Z"`, "/delegation_chain/1/scope_restriction/max_spend", `20000`),
		late(bound{name: "delegated-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/delegation_chain/1/delegated_at"),
			why: "nothing was delegated later than now, but for the skew of 120 seconds", breaks: "a delegation is made up after the deal that it covers"}),
		late(bound{name: "delegated-in-turn", rule: attest.RuleDelegationOrder, limit: "2026-09-14T05:58:00Z", beyond: -1, put: edits("/delegation_chain/1/delegated_at"),
			why: "nobody passes on what it was not given yet, but for the skew of two clocks", breaks: "a chain is put together of links that never followed one another"}),
		delegation(v),
	)
	m.contract = "delegation-chain-v1"
	m.contractContext = func(v wire.Value) wire.M {
		return override(mandateContractContext(v), wire.M{"delegation_public_keys_b64url": keys})
	}
	return m
}

func delegation(v wire.Value) []fault {
	const beyond = "whoever passes a mandate on gives more than it had"
	const torn = "a link of another chain is put in, and power flows to somebody who was never given any"
	action := func(name, text string, rule *wire.Rule, why string) fault {
		c := wire.M{"action": parse(text)}
		f := fault{name: "action-" + name, rule: rule, shared: true, context: c, contract: c, why: why}
		if rule != nil {
			f.breaks = beyond
		}
		return f
	}
	restriction := func(name, text string, rule *wire.Rule, why string) fault {
		f := fault{name: "restriction-" + name, rule: rule, shared: true, edit: set("/delegation_chain/0/scope_restriction", text), why: why}
		if rule != nil {
			f.breaks, f.context = "a limit that nobody can evaluate is taken for none", noAction
		}
		return f
	}
	silent := action("without-spending", `{"amount":1200,"currency":"EUR"}`, attest.RuleDelegatedAction, "an action that does not say what it spends is not within a cap")
	silent.shared = false // the reference takes silence for zero
	link := func(from, to string) wire.Value {
		return parse(fmt.Sprintf(`{"delegator":%q,"delegate":%q,"delegated_at":"2026-09-14T07:00:00Z","algorithm":"EdDSA","signature":""}`, from, to))
	}
	// A chain of n links, all of the estate, that ends at the subject.
	chain := func(n int) func(wire.Value) wire.Value {
		list := make([]wire.Value, n)
		for i := range list {
			list[i] = link(estate, estate)
		}
		list[n-1] = link(estate, cooper)
		return func(v wire.Value) wire.Value { return v.With("delegation_chain", value(list)) }
	}
	links := func(list ...wire.Value) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value { return v.With("delegation_chain", value(list)) }
	}
	borrowed, _ := signMandate(links(link(cellar, cooper))(v)).At("delegation_chain", "0")
	other, _ := signMandate(set("/delegation_chain/1/scope_restriction/max_spend", `9000`)(v)).At("delegation_chain", "1", "signature")
	return []fault{
		{name: "one-link", shared: true, edit: links(link(estate, cooper)), why: "a chain may be of one link"},
		{name: "sixteen-links", shared: true, edit: chain(16), why: "a chain has at most 16 links"},
		{name: "seventeen-links", rule: attest.RuleDelegation, edit: chain(17), why: "a chain has at most 16 links", breaks: "a stranger makes a verifier check signatures without end"},
		{name: "many-links", rule: attest.RuleDelegation, edit: chain(60), why: "a chain has at most 16 links", breaks: "a stranger makes a verifier check signatures without end"},
		{name: "direct", shared: true, theirs: attest.RuleDelegated, edit: drop("/delegation_chain"), why: "a verifier may demand that a mandate came by delegation; by itself a mandate need not", breaks: "a mandate that was to come from a superior comes from nobody"},
		{name: "no-links", shared: true, theirs: attest.RuleDelegated, edit: set("/delegation_chain", `[]`), why: "an empty list is no delegation", breaks: "a mandate that was to come from a superior comes from nobody"},
		{name: "other-root", rule: attest.RuleDelegationRoot, shared: true, edit: links(link(cellar, cooper)), why: "the chain begins with the issuer: nobody else has something to pass on", breaks: torn},
		{name: "cut-at-the-root", rule: attest.RuleDelegationRoot, shared: true, edit: drop("/delegation_chain/0"), why: "without its first link the chain does not begin with the issuer", breaks: torn},
		{name: "stranger-as-root", rule: attest.RuleDelegationRoot, shared: true, edit: set("/delegation_chain/0/delegator", quote(trader)),
			contract: wire.M{"delegation_public_keys_b64url": publicKeys(estate, cellar, trader)}, why: "another agent with a good key is not the issuer", breaks: torn},
		{name: "other-tail", rule: attest.RuleDelegationTail, shared: true, edit: set("/delegation_chain/1/delegate", `"agent:mallory"`), why: "the last delegate is the subject of the mandate", breaks: torn},
		{name: "cut-at-the-tail", rule: attest.RuleDelegationTail, shared: true, edit: drop("/delegation_chain/1"), why: "without its last link the chain does not reach the subject", breaks: torn},
		{name: "subject-is-another", rule: attest.RuleDelegationTail, shared: true, edit: set("/subject", `"agent:cooper-8"`), why: "the subject is the one to whom the chain leads", breaks: torn},
		{name: "gap", rule: attest.RuleDelegationContinuity, shared: true, edit: set("/delegation_chain/0/delegate", `"did:web:estate.example#kitchen"`), why: "each delegator is the delegate before", breaks: torn},
		{name: "gap-in-letters", rule: attest.RuleDelegationContinuity, shared: true, edit: set("/delegation_chain/0/delegate", `"did:web:estate.example#Cellar"`), why: "ids are compared as they are spelled", breaks: torn},
		{name: "borrowed-link", rule: attest.RuleDelegationContinuity, shared: true,
			edit: links(link(estate, "did:web:estate.example#kitchen"), borrowed), why: "a good link of another chain does not follow from this one", breaks: torn},
		{name: "signature-of-another-link", rule: attest.RuleDelegationSignature, shared: true, context: noAction,
			after: func(v wire.Value) wire.Value {
				return signedBare(estate)(set("/delegation_chain/1/signature", other.Canonical())(v))
			},
			why: "a signature of the same delegator under another link is none of this one", breaks: "a wide delegation is used to sign a narrow one, and the other way round"},
		{name: "chain-of-another", rule: attest.RuleMandateSignature, shared: true, context: noAction,
			after: set("/delegation_chain/1", borrowed.Canonical()),
			why:   "the issuer's signature covers the chain: a link that was not in it when it was signed is not", breaks: torn},
		{name: "delegated-at-once", edit: set("/delegation_chain/1/delegated_at", `"2026-09-14T06:00:00Z"`), why: "two links may be of one moment"},
		{name: "open-link", shared: true, edit: set("/delegation_chain/1/note", `"kept and signed"`), why: "links are open: what is not known there is signed and kept"},
		{name: "no-restriction", shared: true, edit: all(drop("/delegation_chain/0/scope_restriction"), drop("/delegation_chain/1/scope_restriction")), why: "a link without restriction passes on everything"},
		restriction("closed", `{"additionalProperties":false,"properties":{"amount":true,"currency":true,"max_spend":true}}`, nil, "a restriction may close the action"),
		restriction("empty", `{}`, attest.RuleRestriction, "an empty restriction restricts nothing and is refused"),
		restriction("of-its-own-words", `{"max_amount":2500}`, attest.RuleRestriction, "an object that is neither a schema nor max_spend restricts nothing that anybody evaluates"),
		restriction("spend-in-text", `{"max_spend":"2000"}`, attest.RuleRestriction, "a cap is a number"),
		restriction("spend-and-more", `{"max_spend":2000,"max_deals":2}`, attest.RuleRestriction, "max_spend stands alone: what is beside it would not be looked at"),
		restriction("not-a-schema", `{"type":"barrel"}`, attest.RuleRestriction, "a restriction that looks like a schema is one"),
		action("at-the-cap", `{"amount":2500,"currency":"EUR","max_spend":2000}`, nil, "caps are allowed themselves"),
		action("beyond-the-first", `{"amount":2500.01,"currency":"EUR","max_spend":2000}`, attest.RuleDelegatedAction, "the first link passed on less than the mandate allows"),
		action("beyond-the-second", `{"amount":2500,"currency":"EUR","max_spend":2000.01}`, attest.RuleDelegatedAction, "the second link passed on less than the first"),
		action("spending-in-text", `{"amount":1200,"currency":"EUR","max_spend":"1200"}`, attest.RuleDelegatedAction, "a text is not within a cap of money"),
		silent,
	}
}
