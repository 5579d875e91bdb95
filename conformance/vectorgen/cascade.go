package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const gate = "did:web:gate.example#policy"

// decisionPreimage is what a decision's id is the hash of and what is signed.
func decisionPreimage(v wire.Value) wire.Value {
	return v.Without("decision_id").Without("signature")
}

// signDecision gives a decision its id and signature.
func signDecision(v wire.Value) wire.Value {
	if id, _ := v.Get("decision_id"); id.Kind() == wire.String {
		v = v.With("decision_id", wire.Text(decisionPreimage(v).Hash().Hex()))
	}
	block, _ := v.Get("signature")
	if text, _ := block.Get("value"); text.Kind() != wire.String {
		return v
	}
	return v.With("signature", block.With("value", signature(decisionPreimage(v), gate)))
}

// cascade is a denial with what its verifier read of two ancestors.
func cascade() specimen {
	keys := publicKeys(gate, treasury)
	s := specimen{
		kind: "cascade", record: "cascade_decision_record", sign: signDecision,
		value: signDecision(parse(`{
			"capability_digest":"` + wire.HashOf("capability").String() + `","request_digest":"` + wire.HashOf("request").String() + `","boundary_id":"warehouse-3",
			"decision":"deny","verifier":"` + gate + `","policy_version":"2026-09",
			"ancestor_reads":[
				{"element_digest":"` + wire.HashOf("mandate").String() + `","status":"active","source_digest":"` + wire.HashOf("registry").String() + `","coordinate":1041},
				{"element_digest":"` + wire.HashOf("approval").String() + `","status":"revoked","source_digest":"` + wire.HashOf("registry").String() + `","coordinate":1042}],
			"approval_receipt_ref":"urn:concordia:receipt:7","revocation_record_ref":"urn:concordia:revocation:7",
			"decision_id":"","signature":{"alg":"EdDSA","value":""}}`)),
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
		contract: "cascade-decision-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_keys_b64url": wire.M{"issuer": key(gate).Public()}}
		},
	}
	signet := signet{
		name: "signature", what: "a decision", rule: attest.RuleDecisionSignature, at: "/signature/value", signer: gate, peer: treasury,
		preimage: decisionPreimage, other: set("/boundary_id", `"warehouse-4"`), shared: true,
		// With its id made anew: only the signature does not fit.
		tamper: func(v wire.Value) wire.Value {
			v = set("/ancestor_reads/1/coordinate", `9`)(v)
			return v.With("decision_id", wire.Text(decisionPreimage(v).Hash().Hex()))
		},
	}
	s.faults = slices.Concat(signet.forgeries(), signet.keys(gate, keys), decisionIDs(s.value), decisionShape(s.value))
	return s
}

func decisionIDs(sound wire.Value) []fault {
	id, _ := sound.Get("decision_id")
	hex := id.Text()
	const loss = "a decision is filed and found under the id of another one"
	const known = "decision_id is not signed: only who recomputes it knows that it belongs to the record"
	list := []fault{
		{name: "expected", shared: true, context: wire.M{"expected_decision_id": "sha256:" + hex}, contract: wire.M{"expected_decision_id": "sha256:" + hex},
			why: "who looks for a decision finds that one"},
		{name: "id-of-the-whole", rule: attest.RuleDecisionID, shared: true, after: func(v wire.Value) wire.Value {
			return v.With("decision_id", wire.Text(v.Without("decision_id").Hash().Hex()))
		}, why: "the hash is of the record without its signature, which may be made later", breaks: loss},
		{name: "id-of-another", rule: attest.RuleDecisionID, shared: true, after: func(v wire.Value) wire.Value {
			other, _ := signDecision(set("/boundary_id", `"warehouse-4"`)(v)).Get("decision_id")
			return v.With("decision_id", other)
		}, why: known, breaks: loss},
		{name: "signed-with-its-id", rule: attest.RuleDecisionSignature, shared: true, after: func(v wire.Value) wire.Value {
			return set("/signature/value", signature(v.Without("signature"), gate).Canonical())(v)
		}, why: "the id is no part of what is signed", breaks: "two verifiers that sign differently disagree on every decision"},
	}
	for _, c := range []struct{ name, text, why string }{
		{"of-zeros", strings.Repeat("0", 64), known}, {"in-capitals", capitals(hex), "an id is compared as text and written in lower case"},
		{"prefixed", "sha256:" + hex, "inside the record the id has no prefix"}, {"cut-short", hex[:32], "an id is compared whole"},
		{"before-a-line-feed", hex + "\n", "an id is compared whole"}, {"of-one-letter", "x", known}, {"last-digit", hex[:63] + map[bool]string{true: "1", false: "0"}[hex[63] == '0'], known},
	} {
		list = append(list, fault{name: "id-" + c.name, rule: attest.RuleDecisionID, shared: true, after: set("/decision_id", wire.Text(c.text).Canonical()), why: c.why, breaks: loss})
	}
	for _, c := range []struct{ name, text string }{
		{"another", wire.HashOf("another decision").String()}, {"in-capitals", "sha256:" + capitals(hex)}, {"unprefixed", hex}, {"cut-short", "sha256:" + hex[:32]},
	} {
		expected := wire.M{"expected_decision_id": c.text}
		list = append(list, fault{name: "expected-" + c.name, rule: attest.RuleDecisionExpected, shared: true, context: expected, contract: expected,
			why: "the decision is the one that was asked for, compared as text", breaks: "a denial of one request is shown as that of another"})
	}
	return list
}

func decisionShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleCascadeDecision, sound: sound, shared: true}
	required := []member{
		{"/capability_digest", "what would have allowed it"}, {"/request_digest", "what was asked for"}, {"/boundary_id", "where it was asked"},
		{"/decision", "that it was denied"}, {"/verifier", "who denied"}, {"/policy_version", "by which policy"}, {"/ancestor_reads", "what was read"},
		{"/ancestor_reads/0/element_digest", "of what the status was read"}, {"/ancestor_reads/0/status", "which status was read"},
		{"/ancestor_reads/0/source_digest", "where it was read"}, {"/ancestor_reads/0/coordinate", "at which position it was read"},
		{"/decision_id", "which decision it is"}, {"/signature", "that anybody signed"}, {"/signature/alg", "how it was signed"}, {"/signature/value", "that anybody signed"},
	}
	optional := []member{{"/approval_receipt_ref", "which approval was looked at"}, {"/revocation_record_ref", "which revocation was looked at"}}
	const grant = "a record that allows something passes for a decision: this kind of artifact allows nothing, ever"
	const numbers = "one reader rounds, another refuses: the position depends on who reads"
	list := slices.Concat(
		s.omitted(required...), s.mistyped(append(required, optional...)...), s.nulled(required[0], required[10], optional[0]),
		s.recased(required[0], required[3]), s.added("", "/ancestor_reads/0", "/signature"),
		[]fault{
			s.other("/decision", "allow", `"allow"`, "a decision denies", grant),
			s.other("/decision", "in-capitals", `"DENY"`, "a decision has one spelling", "a reader that compares with deny takes anything else for consent"),
			s.other("/decision", "permit", `"permit"`, "a decision denies", grant),
			s.other("/ancestor_reads", "none", `[]`, "a denial commits to what was read", "a denial for no reason cannot be recomputed"),
			s.other("/ancestor_reads/0", "no-object", `"active"`, "a read is an object", "readers disagree on what was read"),
			s.other("/ancestor_reads/0/coordinate", "negative", `-1`, "a position is not negative", numbers),
			s.other("/ancestor_reads/0/coordinate", "fraction", `1041.5`, "a position is whole", numbers),
			s.other("/ancestor_reads/0/coordinate", "boolean", `true`, "a boolean is no number, although some languages convert it", numbers),
			s.other("/ancestor_reads/0/coordinate", "time", `"2026-09-14T09:00:00Z"`, "a position is of the source and no time", numbers),
			s.other("/verifier", "empty", `""`, "a decision has somebody who made it", "nobody answers for it"),
			s.other("/signature/alg", "other-label", `"Ed25519"`, "in this kind of artifact the label is EdDSA", "a label that one reader looks up and the other ignores"),
			s.other("/signature/alg", "none", `"none"`, "the algorithm is not for the artifact to choose", "a library that knows none verifies without a key"),
			s.other("/signature/value", "empty", `""`, "an empty signature is none", "an unsigned draft passes"),
			s.other("/decision_id", "empty", `""`, "a decision has an id", "it cannot be recomputed"),
			s.fine("/ancestor_reads/0/coordinate", "zero", `0`, "a source begins at zero"),
			s.fine("/ancestor_reads/0/coordinate", "largest", `9007199254740991`, "a position is any whole number that every reader knows"),
			s.fine("/ancestor_reads/0/coordinate", "spelled-with-exponent", `1.041e3`, "a number is what it is, however it is written"),
			s.fine("/ancestor_reads/0/status", "of-any-word", `"suspended"`, "a status is the source's own word"),
			s.fine("/ancestor_reads/1", "repeated", `{"element_digest":"x","status":"active","source_digest":"y","coordinate":1041}`, "whether the sources are the right ones is for the reader's policy"),
		},
	)
	for i := range list {
		if list[i].name == "decision_id-empty" {
			list[i].edit, list[i].after = nil, list[i].edit
		}
	}
	for _, m := range slices.Concat(required[:3], required[5:6], required[7:10], optional) {
		list = append(list, s.other(m.at, "empty", `""`, "an empty text tells nothing", "nobody can tell "+m.tells))
	}
	for _, m := range optional {
		f := s.fault(m, "left-out", drop(m.at))
		f.rule, f.shared, f.why = nil, false, "a decision need not tell "+m.tells
		list = append(list, f)
	}
	return list
}
