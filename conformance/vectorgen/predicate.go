package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const certifier = "did:web:organic.example"

const predicateText = `{"predicate_id":"urn:concordia:predicate:organic-lot-26","type":"urn:concordia:predicate-type:procurement_eligibility:v1",
	"authority":"did:web:organic.example#board","issuer":"did:web:organic.example","subject":"urn:lot:harvest-26",
	"condition":{"result":"satisfied","operation":"purchase","limit":{"bottles":600},"note":"kept and signed"},
	"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T18:00:00Z",
	"references":[{"type":"receipt","id":"urn:concordia:attestation:att_26","relationship":"extends","version":"1","extensions":{"field":{"plots":[1,2]}}}],
	"algorithm":"EdDSA","status":"active","validity":{"mode":"windowed"},"metadata":{"expected_subject":"urn:lot:harvest-26"},"signature":""}`

func predicateOf(name string, v wire.Value, faults ...[]fault) specimen {
	s := specimen{
		kind: "predicate", form: name, record: "predicate", sign: signedBare(certifier), value: signedBare(certifier)(v),
		context:  wire.M{"now": now, "public_keys": publicKeys(certifier, estate)},
		contract: "predicate-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"now": now, "public_key_b64url": key(certifier).Public()}
		},
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

func predicate() specimen {
	v := signedBare(certifier)(parse(predicateText))
	s := sweep{what: "a predicate", rule: attest.RulePredicate, shared: true}
	const stale = "what was true for a season is shown for ever"
	return predicateOf("", v,
		s.without("/predicate_id", "/type", "/authority", "/issuer", "/subject", "/condition", "/issued_at", "/expires_at", "/references", "/algorithm", "/status", "/signature",
			"/references/0/id", "/references/0/relationship", "/validity/mode"),
		s.mistyped("/predicate_id", `"urn:concordia:mandate:1"`, "/authority", `""`, "/issuer", `{"id":"did:web:organic.example"}`, "/subject", `7`, "/condition", `{}`, "/issued_at", `null`,
			"/expires_at", `1789408800`, "/references", `{}`, "/references/0", `"urn:concordia:attestation:att_26"`, "/references/0/type", `""`, "/algorithm", `"none"`, "/status", `"valid"`,
			"/validity", `[]`, "/metadata", `"none"`, "/delegation_chain", `["did:web:organic.example"]`, "/revoked_at", `true`),
		s.closed(""), s.recased("/subject", "/expires_at"), s.misdated("/issued_at", "/expires_at"),
		seal{at: "/signature", who: certifier, what: "a predicate", signs: withoutSignature, rule: attest.RulePredicateSignature, empty: attest.RulePredicate, known: publicKeys(certifier),
			theirs: func(k string) wire.M { return wire.M{"public_key_b64url": k} },
		}.forged(v, "/authority", `"did:web:organic.example#intern"`, "/condition/result", `"denied"`, "/condition/note", `"another"`, "/expires_at", `"2036-09-14T18:00:00Z"`, "/references/0/id", `"urn:concordia:attestation:att_27"`),
		late(bound{name: "expires-at", rule: attest.RulePredicateExpired, limit: "2026-09-14T18:00:00Z", beyond: 1, shared: true, put: byClock,
			why: "a predicate stands up to and including expires_at, without skew", breaks: stale}),
		late(bound{name: "expired", rule: attest.RulePredicateExpired, limit: now, beyond: -1, shared: true, put: edits("/expires_at"),
			why: "a predicate whose expires_at has passed no longer stands", breaks: stale}),
		late(bound{name: "issued-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/issued_at"),
			why: "nothing is stated later than now, but for the skew of 120 seconds", breaks: "a statement about next year is bought today"}),
		late(bound{name: "not-before", rule: attest.RulePredicateWindow, limit: now, beyond: 1, put: edits("/validity/not_before"),
			why: "a predicate stands from not_before of its validity on", breaks: "what holds from tomorrow on is shown today"}),
		late(bound{name: "not-after", rule: attest.RulePredicateWindow, limit: now, beyond: -1, put: edits("/validity/not_after"),
			why: "a predicate stands up to not_after of its validity", breaks: stale}),
		revoked("urn:concordia:predicate:organic-lot-26", "predicate", certifier, estate),
		predicateDependence(), predicateStanding(), predicateReferences(), predicateAlias(),
	)
}

// predicateDependence is about records that reach a predicate by what it refers to.
func predicateDependence() []fault {
	records := func(issuer string, depth int) wire.M {
		return wire.M{"revocation_records": []wire.Value{withdrawal("urn:concordia:attestation:att_26", "attestation", issuer, now, depth)}}
	}
	const gone, stays = "what a predicate rests on was withdrawn with its dependents", "a withdrawn receipt goes on supporting what was derived from it"
	relation := func(text string) func(wire.Value) wire.Value { return set("/references/0/relationship", quote(text)) }
	return []fault{
		{name: "basis-revoked", rule: attest.RuleRevoked, context: records(certifier, 1), why: gone, breaks: stays},
		{name: "basis-revoked-deeply", rule: attest.RuleRevoked, context: records(estate, 8), why: gone, breaks: stays},
		{name: "basis-fulfilled-and-revoked", rule: attest.RuleRevoked, edit: relation("fulfills"), context: records(certifier, 1), why: gone, breaks: stays},
		{name: "basis-approved-and-revoked", rule: attest.RuleRevoked, edit: relation("approves"), context: records(certifier, 1), why: gone, breaks: stays},
		{name: "basis-revoked-alone", context: records(certifier, 0), why: "a record of one artifact alone does not reach its dependents"},
		{name: "mentioned-and-revoked", edit: relation("references"), context: records(certifier, 8), why: "what is only mentioned is nothing that the predicate rests on"},
		{name: "superseded-and-revoked", edit: relation("supersedes"), context: records(certifier, 8), why: "what a predicate replaces is nothing that it rests on"},
	}
}

func predicateStanding() []fault {
	const withdrawn = "a statement that its issuer withdrew goes on opening doors"
	list := []fault{
		{name: "revoked-at-passed", rule: attest.RulePredicateRevoked, edit: set("/revoked_at", `"2026-09-14T09:10:00Z"`), why: "a predicate with a revoked_at is not in force", breaks: withdrawn},
		{name: "revoked-at-to-come", rule: attest.RulePredicateRevoked, edit: set("/revoked_at", `"2026-09-15T09:10:00Z"`), why: "any revoked_at counts, whatever the instant: what is planned is for expires_at", breaks: withdrawn},
		{name: "subject-not-expected", rule: attest.RulePredicateSubject, edit: set("/metadata/expected_subject", `"urn:lot:harvest-25"`), why: "the subject is the one that the predicate itself expects", breaks: "the good report of one lot is put on another"},
		{name: "subject-in-other-letters", rule: attest.RulePredicateSubject, edit: set("/metadata/expected_subject", `"urn:lot:Harvest-26"`), why: "ids are compared as they are spelled", breaks: "the good report of one lot is put on another"},
		{name: "subject-is-nobody", rule: attest.RulePredicateSubject, edit: set("/metadata/expected_subject", `null`), why: "null is no subject", breaks: "a check that null switches off is none"},
		{name: "subject-in-a-list", rule: attest.RulePredicateSubject, edit: set("/metadata/expected_subject", `["urn:lot:harvest-26"]`), why: "a list is no subject", breaks: "a reader that looks for the subject in the list, and one that compares, disagree"},
		{name: "no-metadata", shared: true, edit: drop("/metadata"), why: "metadata is optional"},
		{name: "no-validity", shared: true, edit: drop("/validity"), why: "validity is optional"},
		{name: "with-delegation", shared: true, edit: set("/delegation_chain", `[{"delegator":"did:web:organic.example"}]`), why: "the chain inside a predicate is information: its issuer answers for it"},
		{name: "embedded-key", edit: set("/metadata/issuer_public_key_b64", quote(key(certifier).Public().String())), why: "an embedded key that is the known one is no fault"},
		{name: "embedded-key-of-other", rule: attest.RulePredicateKey, edit: set("/metadata/issuer_public_key_b64", quote(key(mallory).Public().String())), why: "a key inside a predicate is the one that is known of its issuer", breaks: "readers that believe the embedded key take anybody for the issuer"},
		{name: "embedded-key-unpadded", rule: attest.RulePredicateKey, edit: set("/metadata/issuer_public_key_b64", quote(strings.TrimRight(key(certifier).Public().String(), "="))), why: "a key has one spelling", breaks: "readers disagree about whose key is inside"},
		// Two rules are broken here: only so does a verifier show that believes the
		// key inside.
		{name: "embedded-key-signs", rule: attest.RulePredicateSignature,
			after:   all(set("/metadata", `{"issuer_public_key_b64":"`+key(mallory).Public().String()+`"}`), signedBare(mallory)),
			context: wire.M{"public_keys": publicKeys(certifier)}, why: "the key to verify with is the verifier's, never one inside the predicate", breaks: "anybody issues predicates in the name of anybody"},
		{name: "no-result", shared: true, edit: drop("/condition/result"), why: "a condition need not state a result"},
		{name: "denied", shared: true, edit: set("/condition/result", `"denied"`), why: "a denial is a statement like another"},
	}
	for _, status := range []string{"expired", "revoked", "suspended"} {
		list = append(list, fault{name: "status-" + status, rule: attest.RulePredicateStatus, shared: true, edit: set("/status", quote(status)), why: "only an active predicate is in force", breaks: withdrawn})
	}
	for _, edge := range []string{"not_before", "not_after"} {
		list = append(list, fault{name: "unreadable-" + label(edge), rule: attest.RulePredicateWindow, edit: set("/validity/"+edge, `"tomorrow"`), why: "a bound that cannot be read is not kept", breaks: "a bound that nobody can read is taken for none"})
	}
	const prefix = "urn:concordia:predicate-type:"
	misread := "what one type says is read as another, or as anything"
	kind := func(name, text, condition string, rule *wire.Rule, why string) {
		f := fault{name: "type-" + name, rule: rule, edit: all(set("/type", quote(text)), set("/condition", condition)), why: why}
		if rule != nil {
			f.breaks = misread
		}
		list = append(list, f)
	}
	for _, name := range []string{"authority_gate", "approval_gate", "jcs_edge"} {
		kind(label(name), prefix+name+":v1", `{"result":"satisfied","limit":"any"}`, nil, "a type without members of its own takes what there is")
	}
	t := attest.RulePredicateType
	kind("policy-gate", prefix+"policy_gate:v1", `{"result":"denied","all":[],"any":[1]}`, nil, "all and any are lists")
	kind("policy-gate-without-result", prefix+"policy_gate:v1", `{"all":{}}`, nil, "the members of a type are looked at where a result is stated")
	kind("chance", prefix+"non_deterministic_test:v1", `{"seed":7}`, nil, "a type that depends on chance states no result")
	kind("policy-gate-in-an-object", prefix+"policy_gate:v1", `{"result":"satisfied","all":{}}`, t, "all is a list")
	kind("policy-gate-in-text", prefix+"policy_gate:v1", `{"result":"satisfied","any":"one"}`, t, "any is a list")
	kind("eligibility-in-a-list", prefix+"procurement_eligibility:v1", `{"result":"satisfied","limit":[600]}`, t, "limit is an object")
	kind("eligibility-in-a-number", prefix+"procurement_eligibility:v1", `{"result":"satisfied","operation":7}`, t, "operation is a text")
	kind("chance-with-result", prefix+"non_deterministic_test:v1", `{"result":"satisfied"}`, t, "what depends on chance has no result that anybody could check")
	kind("other-result", prefix+"authority_gate:v1", `{"result":"probably"}`, t, "a result is satisfied or denied")
	kind("result-in-capitals", prefix+"authority_gate:v1", `{"result":"SATISFIED"}`, t, "a result is compared as it is spelled")
	kind("result-is-true", prefix+"authority_gate:v1", `{"result":true}`, t, "true is no result")
	kind("unknown", prefix+"horoscope:v1", `{"result":"satisfied"}`, t, "there are six types")
	kind("next-version", prefix+"authority_gate:v2", `{"result":"satisfied"}`, t, "the next version of a type may mean something else")
	kind("no-version", prefix+"authority_gate", `{"result":"satisfied"}`, t, "a type has a version")
	kind("bare-name", "authority_gate", `{"result":"satisfied"}`, t, "a type is a URN")
	return list
}

func predicateReferences() []fault {
	const told = "implementations cut, or do not cut, what is too long, and no longer agree on what was signed"
	const blank = "two ids that look alike are two, and only one of them is revoked"
	e := "/references/0/extensions"
	ref := func(name, pointer, text string, rule *wire.Rule, why, breaks string) fault {
		return fault{name: "reference-" + name, rule: rule, edit: set(pointer, text), why: why, breaks: breaks}
	}
	r := attest.RulePredicateReference
	return []fault{
		ref("open", "/references/0/note", `"kept and signed"`, nil, "references are open: what is not known there is signed and kept", ""),
		ref("of-any-kind", "/references/0/type", `"x:recipe"`, nil, "types that are not known are kept", ""),
		ref("none", "/references", `[]`, nil, "a predicate may rest on nothing else", ""),
		ref("space-inside", "/references/0/id", `"urn:concordia:attestation:att 26"`, r, "an id has no white space", blank),
		ref("space-after", "/references/0/relationship", `"extends "`, r, "a relationship has no white space", blank),
		ref("byte-order-mark", "/references/0/id", `"urn:concordia:attestation:att_26\ufeff"`, r, "a byte order mark is white space to some readers", blank),
		ref("separator", "/references/0/type", `"receipt\u001c"`, r, "U+001C is white space to some readers", blank),
		ref("no-break-space", "/references/0/id", `"urn:concordia:attestation:att\u00a026"`, r, "a space is one in any script", blank),
		ref("space-in-version", "/references/0/version", `"1 draft"`, r, "the optional strings have no white space either", blank),
		ref("extensions-8-deep", e, strings.Repeat(`{"a":`, 7)+`{}`+strings.Repeat(`}`, 7), nil, "extensions may nest 8 deep", ""),
		ref("extensions-9-deep", e, strings.Repeat(`{"a":`, 8)+`{}`+strings.Repeat(`}`, 8), r, "extensions nest at most 8 deep", told),
		ref("extensions-256-values", e, `{"a":[`+strings.TrimSuffix(strings.Repeat("1,", 254), ",")+`]}`, nil, "extensions may have 256 values", ""),
		ref("extensions-257-values", e, `{"a":[`+strings.TrimSuffix(strings.Repeat("1,", 255), ",")+`]}`, r, "extensions have at most 256 values", told),
		ref("extensions-2048-bytes", e, `{"a":"`+strings.Repeat("x", 2040)+`"}`, nil, "extensions may have 2048 bytes", ""),
		ref("extensions-2049-bytes", e, `{"a":"`+strings.Repeat("x", 2041)+`"}`, r, "extensions have at most 2048 bytes", told),
		ref("id-256-long", "/references/0/id", quote(strings.Repeat("x", 256)), nil, "an id may have 256 characters", ""),
		{name: "reference-id-257-long", rule: attest.RulePredicate, shared: true, edit: set("/references/0/id", quote(strings.Repeat("x", 257))), why: "an id has at most 256 characters", breaks: told},
		{name: "reference-type-65-long", rule: attest.RulePredicate, shared: true, edit: set("/references/0/type", quote(strings.Repeat("x", 65))), why: "a type has at most 64 characters", breaks: told},
		{name: "reference-at-no-instant", rule: attest.RulePredicate, shared: true, edit: set("/references/0/signed_at", `"yesterday"`), why: "signed_at is an instant", breaks: "readers sort references by times that are none"},
	}
}

// predicateAlias is the spelling of drafts, which is read and never written.
func predicateAlias() []fault {
	alias := func(v wire.Value) wire.Value {
		kind, _ := v.Get("type")
		return v.Without("type").With("predicate_type", kind)
	}
	const two = "one reader looks at type and the other at predicate_type"
	return []fault{
		{name: "alias", shared: true, theirs: attest.RulePredicateSpelling, edit: alias, why: "predicate_type is read where there is no type, signed as it is; to the letter of the schema it is not", breaks: "a program that knows only type finds none"},
		{name: "alias-signed-with-type", shared: true, theirs: attest.RulePredicateSpelling, after: alias, why: "predicate_type is read where there is no type, signed with type in its place; to the letter of the schema it is not", breaks: "a program that knows only type finds none"},
		{name: "alias-beside-type", rule: attest.RulePredicate, shared: true, edit: set("/predicate_type", `"urn:concordia:predicate-type:procurement_eligibility:v1"`), why: "type and predicate_type are not there at once, not even with one value", breaks: two},
		{name: "alias-against-type", rule: attest.RulePredicate, shared: true, edit: set("/predicate_type", `"urn:concordia:predicate-type:jcs_edge:v1"`), why: "type and predicate_type are not there at once", breaks: two},
		{name: "alias-of-another-type", rule: attest.RulePredicateSignature, after: all(alias, set("/predicate_type", `"urn:concordia:predicate-type:jcs_edge:v1"`)), why: "the alias is signed in one spelling or the other", breaks: "whoever passes a predicate on changes its type"},
		{name: "alias-unknown", rule: attest.RulePredicateType, edit: all(set("/type", `"urn:concordia:predicate-type:horoscope:v1"`), alias), why: "there are six types, in either spelling", breaks: "what one type says is read as another, or as anything"},
		{name: "alias-in-a-number", rule: attest.RulePredicate, edit: all(set("/type", `7`), alias), why: "the type is a text, in either spelling", breaks: two},
	}
}

// ellipticPredicate is signed with ES256.
func ellipticPredicate() specimen {
	v := signed256(certifier)(set("/algorithm", `"ES256"`)(parse(predicateText)))
	known := wire.M{certifier: public256(certifier)}
	s := predicateOf("es256", v, forged256("a predicate", certifier, attest.RulePredicateSignature, known, nil, "/authority", `"did:web:organic.example#intern"`), []fault{
		{name: "embedded-key", edit: set("/metadata/issuer_public_key_b64", quote(public256(certifier))), why: "an embedded key that is the known one is no fault"},
		{name: "embedded-key-of-other", rule: attest.RulePredicateKey, edit: set("/metadata/issuer_public_key_b64", quote(public256(mallory))), why: "a key inside a predicate is the one that is known of its issuer", breaks: "readers that believe the embedded key take anybody for the issuer"},
	})
	s.sign, s.value, s.contract = signed256(certifier), v, ""
	s.context["public_keys"] = known
	return s
}
