package main

import (
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const depot = "did:web:depot.example"

// signedRecord is a note of a depot, of no other kind, with what it takes to verify it.
func signedRecord() specimen {
	sign := func(v wire.Value) wire.Value {
		if text, _ := v.Get("signature"); text.Kind() != wire.String {
			return v
		}
		return v.With("signature", signature(withoutSignature(v), depot))
	}
	material := func(who string) string { return `"` + key(who).Public().String() + `"` }
	v := sign(parse(`{"arrived":["crate 7","crate 8"],"door":{"name":"B","signature":"of the foreman"},"at":"2026-09-14T09:00:00Z",
		"verification_material":{"key_type":"Ed25519","public_key_b64url":` + material(depot) + `,"alg":"EdDSA","canonicalization":"RFC8785-JCS",
			"preimage_rule":"object minus top-level 'signature'"},"signature":""}`))
	const at = "/verification_material"
	const guessed = "a reader guesses by which rules it was signed, and another reader guesses otherwise"
	s := sweep{what: "a record", rule: attest.RuleRecord}
	r := specimen{
		kind: "record", record: "signed_record", value: v, sign: sign, inner: []string{at, "/door"},
		context: wire.M{"now": now, "public_keys": publicKeys(depot), "signer": depot},
		faults: []fault{
			{name: "of-anything", edit: all(drop("/arrived"), drop("/door"), set("/weight", `7.5`)), why: "what a record is of is its signer's business"},
			{name: "inner-signature", edit: set("/door/signature", `7`), why: "a member named signature deeper inside is part of what is signed, and means nothing"},
			{name: "inner-signature-changed", rule: attest.RuleRecordSignature, after: drop("/door/signature"), why: "only the signature at the top is left out of what is signed", breaks: "what somebody signed inside a record is taken out of it"},
			{name: "of-nobody", rule: wire.RuleUnknownKey, context: wire.M{"signer": "did:web:nobody.example"}, why: "the key inside is never the one to verify with", breaks: "anybody signs as anybody"},
			{name: "key-of-mallory", rule: attest.RuleRecordKey, edit: set(at+"/public_key_b64url", material(mallory)), why: "the key inside is the one that the signer is known by", breaks: "readers who believe the key inside verify what mallory makes of the record"},
			{name: "signer-not-told", open: true, rule: attest.RuleRecordKey, context: wire.M{"signer": nil}, why: "a record does not say who signed it: without knowing who should have, nobody can tell", breaks: "anybody signs as anybody"},
			{name: "key-unpadded", rule: attest.RuleRecordKey, edit: set(at+"/public_key_b64url", `"`+key(depot).Public().String()[:43]+`"`), why: "a key has one text", breaks: "what compares keys as text takes one for two"},
			{name: "other-preimage", rule: attest.RuleRecord, edit: set(at+"/preimage_rule", `"all"`), why: "there is one rule of what is signed", breaks: guessed},
			{name: "other-algorithm", rule: attest.RuleRecord, edit: set(at+"/alg", `"ES256"`), why: "the algorithm is that of the key", breaks: guessed},
			{name: "no-algorithm", rule: attest.RuleRecord, edit: set(at+"/alg", `"none"`), why: "there are two algorithms, and none is not one of them", breaks: "a verifier that goes by the name verifies nothing"},
			{name: "other-key-type", rule: attest.RuleRecord, edit: set(at+"/key_type", `"P-256"`), why: "the type is that of the key", breaks: guessed},
			{name: "other-canonicalization", rule: attest.RuleRecord, edit: set(at+"/canonicalization", `"none"`), why: "there is one canonical form", breaks: guessed},
			{name: "added-material", rule: attest.RuleRecord, edit: set(at+"/key_url", `"https://mallory.example/key"`), why: "verification material is closed", breaks: "a reader fetches the key from where the record says"},
			{name: "material-unsigned", rule: attest.RuleRecordSignature,
				after: func(v wire.Value) wire.Value {
					return v.With("signature", signature(withoutSignature(v).Without("verification_material"), depot))
				},
				why: "the material is signed with the rest", breaks: "two implementations sign different bytes and refuse each other"},
		},
	}
	forged := seal{at: "/signature", who: depot, what: "a record", signs: withoutSignature, rule: attest.RuleRecordSignature, known: publicKeys(depot)}.
		forged(v, "/door/name", `"C"`, "/arrived/1", `"crate 9"`, "/at", `"2026-09-14T09:00:01Z"`)
	for i := range forged {
		if forged[i].name == "key-of-other" { // the key inside tells already
			forged[i].rule = attest.RuleRecordKey
		}
	}
	r.faults = slices.Concat(r.faults, forged,
		s.without("/verification_material", "/signature", at+"/key_type", at+"/public_key_b64url", at+"/alg", at+"/canonicalization", at+"/preimage_rule"),
		s.mistyped("/verification_material", `"Ed25519"`, "/signature", `7`, at+"/alg", `["EdDSA"]`, at+"/public_key_b64url", `7`),
		s.recased("/signature", "/verification_material", at+"/alg"),
	)
	return r
}
