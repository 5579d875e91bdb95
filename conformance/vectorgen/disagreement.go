package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// A disagreement is something on which the two reference runners of the contract
// disagree, or agree against the text they follow; a vector decides it.
type disagreement struct {
	name, record, profile string
	input                 string // JSON text
	context               wire.M
	rule                  *wire.Rule // nil: accept
	why                   string     // which text decides it
	js, python            string     // what the reference runners say
}

const (
	accepts = "accept"
	rejects = "reject"
)

// disagreements are all of them.
func disagreements() []disagreement {
	list := bindings()
	list = append(list, instantSpellings()...)
	list = append(list, receiptSpellings()...)
	list = append(list, references()...)
	return append(list, counts()...)
}

// tied asks whether two members of one object are equal.
func tied(name, left, right string, rule *wire.Rule, why, js, python string) disagreement {
	return disagreement{name, "decision_object", "offer-binding-v1", `{"left":` + left + `,"right":` + right + `}`, wire.M{"checks": []wire.M{{
		"kind": "json-pointer-equal", "left": wire.M{"object": "input", "pointer": "/left"}, "right": wire.M{"object": "input", "pointer": "/right"},
	}}}, rule, why, js, python}
}

// pointed asks for an element of an array by a token.
func pointed(name, token, why, js, python string) disagreement {
	return disagreement{name, "decision_object", "offer-binding-v1", `{"list":["a","b"],"first":"a"}`, wire.M{"checks": []wire.M{{
		"kind": "json-pointer-equal", "left": wire.M{"object": "input", "pointer": "/list/" + token}, "right": wire.M{"object": "input", "pointer": "/first"},
	}}}, ruleExpectedBinding, why, js, python}
}

var ruleExpectedBinding = suiteRule("expected-binding")

func bindings() []disagreement {
	const (
		index  = "RFC 6901, Section 4: an array index is digits without a leading zero"
		domain = "SPEC §9.2.1: beyond 2^53−1 readers disagree on which integer it is"
	)
	return []disagreement{
		tied("true-is-not-one", "true", "1", ruleExpectedBinding, "RFC 8259, Section 3: true is a literal and no number", rejects, accepts),
		tied("order-of-members", `{"a":1,"b":2}`, `{"b":2,"a":1}`, nil, "RFC 8259, Section 4: members have no order", rejects, accepts),
		tied("one-is-one", "1", "1.0", nil, "RFC 8785, Section 3.2.2.3: both are the number 1", accepts, accepts),
		tied("integers-beyond-doubles", "9007199254740993", "9007199254740992", wire.RuleNumber, domain, accepts, rejects),
		{"digest-of-a-large-integer", "decision_object", "decision-object-v1", `{"amount":9007199254740993}`,
			wire.M{"expected_decision_id": wire.HashOf(`{"amount":9007199254740992}`)}, wire.RuleNumber, domain, accepts, rejects},
		{"digest-of-a-lone-surrogate", "decision_object", "decision-object-v1", `{"note":"\ud800"}`,
			wire.M{"expected_decision_id": wire.HashOf(`{"note":"\ud800"}`)}, wire.RuleUnicode, "RFC 8785, Section 3.2.2.2: a lone surrogate is an error", accepts, rejects},
		pointed("index-empty", "", index, accepts, rejects),
		pointed("index-hexadecimal", "0x0", index, accepts, rejects),
		pointed("index-with-exponent", "0e5", index, accepts, rejects),
		pointed("index-negative", "-2", index, rejects, accepts),
		pointed("index-with-sign", "+0", index, accepts, accepts),
		pointed("index-with-zeros", "00", index, accepts, accepts),
		pointed("index-with-space", " 0", index, accepts, accepts),
		{"nested-3000-deep", "decision_object", "decision-object-v1", strings.Repeat(`{"a":`, 3000) + "1" + strings.Repeat("}", 3000),
			wire.M{"expected_decision_id": wire.HashOf("")}, wire.RuleDepth, "SPEC §9.2.1: 64 deep is enough, and more ends some readers", rejects, "cannot read it"},
		{"context-member-null", "decision_object", "closure-predicate-v1", closurePredicate().value.Canonical(),
			wire.M{"canonical_sha256": nil}, nil, "SPEC §12.5: an expectation that is null is none", rejects, accepts},
	}
}

// approved is an approval under the contract's profile, with a change that is signed.
func approved(name string, edit func(wire.Value) wire.Value, context wire.M, rule *wire.Rule, why, js, python string) disagreement {
	s := approval()
	v := s.sign(edit(s.value))
	return disagreement{name, s.record, s.contract, v.Canonical(), override(s.contractContext(v), context), rule, why, js, python}
}

func instantSpellings() []disagreement {
	var list []disagreement
	for _, s := range []struct{ name, text string }{
		{"space", "2026-09-14 10:00:00Z"}, {"no-seconds", "2026-09-14T10:00Z"}, {"basic-form", "20260914T100000Z"},
		{"offset-without-colon", "2026-09-14T10:00:00+0000"}, {"comma", "2026-09-14T10:00:00,5Z"}, {"week-date", "2026-W38-1T10:00:00Z"},
		{"lower-case-t", "2026-09-14t10:00:00Z"}, {"offset-with-seconds", "2026-09-14T10:00:00+00:00:00"},
	} {
		list = append(list, approved("instant-"+s.name, set("/expires_at", `"`+s.text+`"`), nil, attest.RuleApproval,
			"SPEC §4.1, RFC 3339, Section 5.6: an instant has one grammar; ISO 8601 has spellings that readers take for different times or for none", rejects, accepts))
	}
	return append(list, approved("instants-below-a-millisecond", set("/expires_at", `"2026-09-14T09:30:00.0001Z"`), wire.M{"now": "2026-09-14T09:30:00.0009Z"},
		attest.RuleApprovalExpired, "SPEC §4.1: fractions are compared in full", accepts, rejects))
}

func receiptSpellings() []disagreement {
	s := approval()
	v := s.value
	for i := 0; !strings.ContainsAny(signatureOf(v), "-_"); i++ {
		v = s.sign(set("/note", fmt.Sprint(i))(s.value))
	}
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(signatureOf(v))
	v = set("/signature/value", `"`+standard+`"`)(v)
	return []disagreement{{"signature-in-the-other-alphabet", s.record, s.contract, v.Canonical(), s.contractContext(v), attest.RuleApprovalSignature,
		"RFC 4648, Section 5: base64url has - and _", rejects, accepts}}
}

func signatureOf(v wire.Value) string {
	text, _ := v.At("signature", "value")
	return text.Text()
}

func references() []disagreement {
	s := attestation()
	var list []disagreement
	for _, c := range []struct{ name, space, js, python string }{
		{"byte-order-mark", "\ufeff", rejects, accepts}, {"next-line", "\u0085", accepts, rejects},
		{"file-separator", "\u001c", accepts, rejects}, {"line-feed", "\n", rejects, accepts},
	} {
		v := s.sign(set("/references", `[{"type":"receipt","relationship":"references","id":`+wire.Text("urn:x"+c.space).Canonical()+`}]`)(s.value))
		list = append(list, disagreement{"white-space-" + c.name, s.record, s.contract, v.Canonical(), s.contractContext(v), attest.RuleReference,
			"SPEC §11.5.6: no character that some reader takes for white space; \\S is another set in each language", c.js, c.python})
	}
	return list
}

func counts() []disagreement {
	chain := receiptAgreed()
	text := chain.value.Canonical()
	count, _ := chain.value.At("receipt", "message_count")
	n := count.Canonical()
	list := []disagreement{{"message-count-with-fraction", "message_chain", "message-chain-v1", strings.Replace(text, `"message_count":`+n, `"message_count":`+n+`.0`, 1),
		chain.contractContext(chain.value), nil, "RFC 8785, Section 3.2.2.3: " + n + ".0 is the integer " + n, accepts, rejects}}

	proof := aggregate()
	for _, c := range []struct {
		name, index string
		rule        *wire.Rule
		js, python  string
	}{
		{"a-truth", "true", attest.RuleCompetence, rejects, accepts}, {"with-fraction", "1.0", nil, accepts, rejects}, {"negative", "-1", attest.RuleCompetence, accepts, rejects},
	} {
		v := proof.value
		at := "/merkle_proofs/0/index"
		for i := range 3 {
			if index, _ := v.At("merkle_proofs", fmt.Sprint(i), "index"); index.Canonical() == "1" {
				at = fmt.Sprintf("/merkle_proofs/%d/index", i)
			}
		}
		v = proof.sign(set(at, c.index)(v))
		input := v.Canonical()
		if c.rule == nil { // canonical JSON writes 1
			input = strings.Replace(input, `"index":1`, `"index":`+c.index, 1)
		}
		list = append(list, disagreement{"leaf-index-" + c.name, proof.record, proof.contract, input, proof.contractContext(v), c.rule,
			"a leaf's index is an integer that is not negative; 1.0 is one and true is none (RFC 8785, Section 3.2.2.3)", c.js, c.python})
	}
	return list
}

// decided returns the vectors that decide the disagreements.
func decided() []vector {
	var list []vector
	for i, d := range disagreements() {
		v := vector{
			id: "decided-" + d.name, section: conformance.Positive, title: "decided: " + strings.ReplaceAll(d.name, "-", " "),
			record: d.record, profile: d.profile, input: d.input, context: d.context, specimen: -1 - i,
			why: d.why + fmt.Sprintf(" (the JS runner: %s; the Python runner: %s)", d.js, d.python),
		}
		if d.rule != nil {
			v = v.judged(d.rule)
			v.breaks = "two conforming implementations give two verdicts on one artifact"
		}
		list = append(list, v)
	}
	return list
}
