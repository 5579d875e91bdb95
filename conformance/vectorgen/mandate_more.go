package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// ellipticMandate is signed with ES256, and a link of another mandate is as well.
func ellipticMandate() specimen {
	known := wire.M{estate: public256(estate), cellar: key(cellar).Public().String()}
	sign := func(v wire.Value) wire.Value {
		chain, _ := v.Get("delegation_chain")
		for i, link := range chain.Elems() {
			who, _ := link.Get("delegator")
			by := signedBare(who.Text())
			if who.Text() == estate {
				by = signed256(estate)
			}
			chain = chain.WithElem(i, by(link))
		}
		if chain.Kind() == wire.Array {
			v = v.With("delegation_chain", chain)
		}
		return signed256(estate)(v)
	}
	v := set("/algorithm", `"ES256"`)(parse(mandateText))
	s := ofMandate("es256", v, forged256("a mandate", estate, attest.RuleMandateSignature, known, noAction, "/subject", `"agent:mallory"`), []fault{
		{name: "delegated", edit: all(set("/delegation_chain", linksText), set("/delegation_chain/0/algorithm", `"ES256"`)),
			context: wire.M{"public_keys": known}, why: "each link names the algorithm of its own delegator"},
		{name: "link-of-the-other-algorithm", rule: attest.RuleDelegationSignature, edit: set("/delegation_chain", linksText), context: wire.M{"public_keys": known},
			why: "a link counts only under a key of the algorithm that it names", breaks: "whoever chooses the algorithm chooses the weakest verifier"},
		{name: "link-with-high-s", rule: attest.RuleDelegationSignature,
			edit: all(set("/delegation_chain", linksText), set("/delegation_chain/0/algorithm", `"ES256"`)),
			after: func(v wire.Value) wire.Value {
				link, _ := v.At("delegation_chain", "0")
				r, s := numbers(estate, []byte(withoutSignature(link).Canonical()))
				return signed256(estate)(set("/delegation_chain/0/signature", encoded(sequence(integer(r, 0), integer(mirrored(s), 0))).Canonical())(v))
			}, why: "of the two S that verify only the low one counts", breaks: "a third party makes a second sound copy of a link, without the key"},
	})
	s.sign, s.value, s.contract = sign, sign(v), ""
	s.context["public_keys"] = known
	return s
}

// constrained is a mandate whose constraints are looked at: JSON Schemas that are
// evaluated, and those that are refused.
func constrained() specimen {
	const loose = "a limit that this reader does not evaluate is none, and the agent spends without one"
	var list []fault
	schemas := func(rule *wire.Rule, shared bool, why string, named ...string) {
		for i := 0; i < len(named); i += 2 {
			f := fault{name: named[i], rule: rule, shared: shared, edit: set("/constraints", named[i+1]), why: why, context: noAction}
			if rule != nil {
				f.breaks = loose // the runners of the contract read a schema whole only where there is an action
			} else {
				f.contract = noAction
			}
			list = append(list, f)
		}
	}
	schemas(attest.RuleConstraints, false, "a keyword that is not evaluated is refused: a misspelt limit is not a missing one",
		"misspelt-keyword", `{"properties":{"amount":{"maxmum":5000}}}`,
		"keyword-in-capitals", `{"properties":{"amount":{"Maximum":5000}}}`,
		"unevaluated", `{"unevaluatedProperties":false}`,
		"dynamic-reference", `{"$dynamicRef":"#meta"}`,
		"anchor", `{"$anchor":"here"}`,
		"old-definitions", `{"definitions":{"a":true}}`,
		"old-dependencies", `{"dependencies":{"amount":["currency"]}}`,
		"content", `{"contentEncoding":"base64"}`)
	schemas(attest.RuleConstraints, true, "a keyword has the value that the meta-schema demands",
		"unknown-type", `{"type":"barrel"}`,
		"maximum-in-text", `{"properties":{"amount":{"maximum":"5000"}}}`,
		"required-in-text", `{"required":"amount"}`,
		"negative-length", `{"properties":{"goods":{"minLength":-1}}}`,
		"properties-in-a-list", `{"properties":["amount"]}`,
		"no-alternatives", `{"anyOf":[]}`,
		"multiple-of-zero", `{"properties":{"amount":{"multipleOf":0}}}`)
	schemas(attest.RuleConstraints, true, "constraints are evaluated from the mandate alone: a reference leads to a place of the same document",
		"remote-reference", `{"$ref":"https://estate.example/limits.json"}`,
		"reference-to-nothing", `{"$ref":"#/$defs/limit"}`,
		"reference-by-urn", `{"$ref":"urn:concordia:schema:mandate:v2"}`)
	schemas(attest.RuleConstraints, false, "no schema applies itself to the value that it is applied to",
		"reference-to-itself", `{"$ref":"#"}`,
		"reference-in-a-circle", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`)
	schemas(attest.RuleConstraints, false, "a pattern has nothing that verifiers evaluate differently, or never to the end",
		"pattern-of-many-ways", `{"properties":{"goods":{"pattern":"^(a+)+$"}}}`,
		"pattern-of-alternatives", `{"properties":{"goods":{"pattern":"^(a|a)*$"}}}`,
		"pattern-looking-ahead", `{"properties":{"goods":{"pattern":"^(?=barrel)"}}}`,
		"pattern-looking-back", `{"properties":{"goods":{"pattern":"(?<=oak )barrel"}}}`,
		"pattern-with-back-reference", `{"properties":{"goods":{"pattern":"(a)\\1"}}}`,
		"pattern-with-flags", `{"properties":{"goods":{"pattern":"(?i)barrel"}}}`,
		"pattern-too-long", `{"properties":{"goods":{"pattern":"`+strings.Repeat("a", 257)+`"}}}`)
	schemas(attest.RuleConstraints, true, "a pattern is an expression", "pattern-left-open", `{"properties":{"goods":{"pattern":"(barrel"}}}`)
	schemas(attest.RuleConstraints, false, "constraints are bounded, so that a stranger's mandate costs little to judge",
		"too-deep", strings.Repeat(`{"not":`, 32)+`{}`+strings.Repeat(`}`, 32),
		"too-many-patterns", `{"allOf":[`+strings.TrimSuffix(strings.Repeat(`{"pattern":"a"},`, 33), ",")+`]}`,
		"too-large", `{"description":"`+strings.Repeat("x", 65536)+`"}`)
	schemas(attest.RuleConstraints, false, "another dialect means something else by the same keywords",
		"other-dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
		"dialect-below", `{"properties":{"amount":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}}`)
	schemas(nil, true, "what says nothing about a value is allowed",
		"annotations", `{"title":"limits","description":"of the harvest","$comment":"none","default":{},"examples":[],"deprecated":false}`,
		"dialect", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"definitions", `{"$defs":{"limit":{"maximum":5000}},"properties":{"amount":{"$ref":"#/$defs/limit"}}}`,
		"dots", `{"properties":{"goods":{"pattern":"^[a-z]+(\\.[a-z]+)*$"}}}`)
	schemas(nil, false, "the last size that is fine",
		"as-deep-as-allowed", strings.Repeat(`{"not":`, 31)+`{}`+strings.Repeat(`}`, 31),
		"pattern-as-long-as-allowed", `{"properties":{"goods":{"pattern":"`+strings.Repeat("a", 256)+`"}}}`)
	list = append(list, evaluated()...)
	return ofMandate("constraints", parse(mandateText), list)
}

// evaluated are schemas with an action that satisfies them and one that does not.
func evaluated() []fault {
	var list []fault
	for _, t := range []struct{ name, schema, fits, not, why string }{
		{"integer", `{"properties":{"bags":{"type":"integer"}}}`, `{"bags":60.0}`, `{"bags":60.5}`, "a number without fraction is an integer, however it is written"},
		{"number", `{"properties":{"bags":{"type":"number"}}}`, `{"bags":60}`, `{"bags":true}`, "true is no number"},
		{"constant", `{"properties":{"bags":{"const":1}}}`, `{"bags":1.0}`, `{"bags":true}`, "1 is 1.0 and is not true"},
		{"constant-object", `{"properties":{"lot":{"const":{"a":1,"b":2}}}}`, `{"lot":{"b":2,"a":1}}`, `{"lot":{"a":1}}`, "objects are equal whatever the order of their members"},
		{"enumeration", `{"properties":{"goods":{"enum":["barrels","corks"]}}}`, `{"goods":"corks"}`, `{"goods":"cork"}`, "one of the values, as it is spelled"},
		{"exclusive", `{"properties":{"amount":{"exclusiveMaximum":5000}}}`, `{"amount":4999.99}`, `{"amount":5000}`, "an exclusive maximum is not allowed itself"},
		{"minimum", `{"properties":{"amount":{"minimum":100}}}`, `{"amount":100}`, `{"amount":99.99}`, "a minimum is allowed itself"},
		{"multiple", `{"properties":{"bags":{"multipleOf":12}}}`, `{"bags":60}`, `{"bags":61}`, "a whole number of dozens"},
		{"pattern", `{"properties":{"goods":{"pattern":"oak"}}}`, `{"goods":"of oak"}`, `{"goods":"of ash"}`, "a pattern is searched for anywhere in the text"},
		{"pattern-end", `{"properties":{"goods":{"pattern":"^oak$"}}}`, `{"goods":"oak"}`, `{"goods":"oak\n"}`, "$ is the end of the text, not of a line"},
		{"pattern-digits", `{"properties":{"lot":{"pattern":"^\\d+$"}}}`, `{"lot":"26"}`, `{"lot":"\u0662\u0666"}`, "\\d is a digit of ASCII"},
		{"length", `{"properties":{"lot":{"maxLength":2}}}`, `{"lot":"\ud83c\udf77\ud83c\udf77"}`, `{"lot":"abc"}`, "lengths are counted in code points"},
		{"closed", `{"properties":{"amount":true},"additionalProperties":false}`, `{"amount":1}`, `{"amount":1,"note":""}`, "a closed object has no other members"},
		{"names", `{"propertyNames":{"maxLength":6}}`, `{"amount":1}`, `{"currency":"EUR"}`, "names of members are values as well"},
		{"patterned", `{"patternProperties":{"^max_":{"maximum":10}}}`, `{"max_spend":10}`, `{"max_spend":11}`, "a schema applies to each member whose name fits"},
		{"dependent", `{"dependentRequired":{"amount":["currency"]}}`, `{"currency":"EUR"}`, `{"amount":1}`, "one member demands another"},
		{"negation", `{"not":{"required":["resale"]}}`, `{"amount":1}`, `{"resale":false}`, "a member that must not be there is not there, whatever its value"},
		{"one-of", `{"oneOf":[{"required":["lot"]},{"required":["batch"]}]}`, `{"lot":1}`, `{"lot":1,"batch":2}`, "exactly one of the alternatives"},
		{"any-of", `{"anyOf":[{"required":["lot"]},{"required":["batch"]}]}`, `{"lot":1,"batch":2}`, `{"goods":"oak"}`, "at least one of the alternatives"},
		{"condition", `{"if":{"required":["rush"]},"then":{"required":["approved"]},"else":{"properties":{"amount":{"maximum":100}}}}`, `{"rush":true,"approved":true,"amount":900}`, `{"amount":900}`, "without the condition the else counts"},
		{"unique", `{"properties":{"lots":{"uniqueItems":true}}}`, `{"lots":[1,true,"1"]}`, `{"lots":[1,1.0]}`, "1 and 1.0 are one value, true and \"1\" are others"},
		{"contains", `{"properties":{"lots":{"contains":{"const":7},"maxContains":1}}}`, `{"lots":[7,8]}`, `{"lots":[7,7]}`, "at most one of the elements"},
		{"prefix", `{"properties":{"lots":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, `{"lots":["a",1]}`, `{"lots":["a","b"]}`, "items is for what follows the prefix"},
		{"never", `{"properties":{"resale":false}}`, `{"amount":1}`, `{"resale":null}`, "false allows no value at all"},
		{"reference", `{"$defs":{"few":{"maximum":3}},"properties":{"a/b":{"$ref":"#/$defs/few"}}}`, `{"a/b":3}`, `{"a/b":4}`, "a reference stands for the schema that it names"},
		{"reference-escaped", `{"$defs":{"a/b":{"maximum":3}},"properties":{"lots":{"$ref":"#/$defs/a~1b"}}}`, `{"lots":3}`, `{"lots":4}`, "a name in a pointer is unescaped"},
	} {
		fits, not := wire.M{"action": parse(t.fits)}, wire.M{"action": parse(t.not)}
		list = append(list,
			fault{name: "evaluates-" + t.name, edit: set("/constraints", t.schema), context: fits, why: t.why},
			fault{name: "evaluates-" + t.name + "-not", rule: attest.RuleAction, shared: true, edit: set("/constraints", t.schema), context: not, contract: not,
				why: t.why, breaks: "an agent does what the constraints of its mandate exclude"})
	}
	for _, t := range []struct{ name, schema, action string }{
		{"cents", `{"properties":{"amount":{"multipleOf":0.01}}}`, `{"amount":0.07}`},
		{"tenths", `{"properties":{"amount":{"multipleOf":0.1}}}`, `{"amount":4.35e1}`},
	} {
		list = append(list, fault{name: "evaluates-" + t.name, edit: set("/constraints", t.schema), context: wire.M{"action": parse(t.action)},
			why: "numbers are divided as the decimals that they are written as, not as binary fractions"})
	}
	return append(list, fault{name: "evaluates-tenths-not", rule: attest.RuleAction, edit: set("/constraints", `{"properties":{"amount":{"multipleOf":0.1}}}`),
		context: wire.M{"action": parse(`{"amount":43.55}`)}, why: "43.55 is no multiple of 0.1", breaks: "an agent does what the constraints of its mandate exclude"})
}
