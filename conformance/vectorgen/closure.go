package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

const (
	pledgesText = `[{"committer_did":"did:web:estate.example","commitment_terms":{"quantity":12.5,"grade":"oak"},"mandate_proof_id":"urn:concordia:mandate:a","ready_at":"2026-09-14T12:00:00Z"},
		{"committer_did":"did:web:trader.example","commitment_terms":{"quantity":7.5,"grade":"oak"},"mandate_proof_id":"urn:concordia:mandate:b","ready_at":"2026-09-14T15:00:00Z"}]`
	bilateralText = `{"expected_participants":["did:web:estate.example","did:web:trader.example"],"aggregate_quantity_required":20,"match_tolerance":0.5,
		"activation_deadline_iso":"2026-09-14T10:00:00Z","mandate_check_required":true}`
)

func closureOf(name, kind, parameters string, faults ...[]fault) specimen {
	s := specimen{
		kind: "closure", form: name, record: "closure_evaluation",
		value: parse(`{"predicate":{"predicate_id":"urn:concordia:predicate:vat-9","type":` + quote(kind) + `,"parameters":` + parameters + `},"commitments":` + pledgesText +
			`,"chain_session":` + chainText + `}`),
		context: wire.M{"now": now, "public_keys": publicKeys(estate, notary)},
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

const (
	early     = "parties are bound by a condition that did not hold"
	malformed = "what cannot be evaluated is taken for satisfied, and parties are bound by nothing that anybody agreed to"
)

// bilateral is a condition of two parties, their quantities and a deadline.
func bilateral() specimen {
	form, sat := cmpc.RuleClosureForm, cmpc.RuleClosure
	p := func(name, reason, member, text string, rule *wire.Rule, why string) fault {
		f := fault{name: name, rule: rule, why: why, edit: set("/predicate/parameters"+member, text), breaks: malformed}
		if text == "" {
			f.edit = drop("/predicate/parameters" + member)
		}
		if rule == nil {
			f.breaks = ""
		} else {
			f.why += " (" + reason + ")"
		}
		return f
	}
	c := func(name, reason, pointer, text string, rule *wire.Rule, why string) fault {
		f := fault{name: name, rule: rule, why: why, edit: set("/commitments"+pointer, text), breaks: malformed}
		if text == "" {
			f.edit = drop("/commitments" + pointer)
		}
		if rule == sat {
			f.breaks = early
		}
		if rule == nil {
			f.breaks = ""
		} else {
			f.why += " (" + reason + ")"
		}
		return f
	}
	const third = `{"committer_did":"did:web:other.example","commitment_terms":{"quantity":0},"mandate_proof_id":"urn:concordia:mandate:c"}`
	mismatch := "aggregate_quantity_mismatch"
	return closureOf("", cmpc.BilateralV1, bilateralText, []fault{
		{name: "unknown-type", rule: form, edit: set("/predicate/type", `"urn:concordia:predicate-type:trilateral_chain_closure:v1"`), why: "a type names a profile that is known (unknown_predicate_type)", breaks: malformed},
		{name: "next-version-of-type", rule: form, edit: set("/predicate/type", `"urn:concordia:predicate-type:bilateral_chain_closure:v2"`), why: "the next version of a profile is another profile (unknown_predicate_type)", breaks: malformed},
		p("parameters-in-a-list", "malformed_parameters", "", `[]`, form, "the parameters are an object"),
		p("parameters-null", "malformed_parameters", "", `null`, form, "the parameters are an object"),
		p("no-participants", "malformed_expected_participants", "/expected_participants", ``, form, "the parameters say who has to commit"),
		p("participants-empty", "malformed_expected_participants", "/expected_participants", `[]`, form, "somebody has to commit"),
		p("participants-in-text", "malformed_expected_participants", "/expected_participants", `"did:web:estate.example"`, form, "participants are a list"),
		p("participant-in-a-number", "malformed_expected_participants", "/expected_participants/-", `7`, form, "participants are texts"),
		p("participant-empty", "malformed_expected_participants", "/expected_participants/-", `""`, form, "participants are texts that are not empty"),
		p("participant-twice", "", "/expected_participants/-", `"did:web:estate.example"`, nil, "a participant that is expected twice is expected"),
		p("no-quantity", "missing_aggregate_quantity_required", "/aggregate_quantity_required", ``, form, "the parameters say which quantity is required"),
		p("quantity-in-text", "malformed_aggregate_quantity_required", "/aggregate_quantity_required", `"20"`, form, "a quantity is a number"),
		p("quantity-true", "malformed_aggregate_quantity_required", "/aggregate_quantity_required", `true`, form, "true is no number"),
		p("quantity-null", "malformed_aggregate_quantity_required", "/aggregate_quantity_required", `null`, form, "null is no number"),
		p("quantity-with-fraction", "", "/aggregate_quantity_required", `20.0`, nil, "20.0 is 20"),
		p("tolerance-left-out", "", "/match_tolerance", ``, nil, "without a tolerance the sum is exact, as it is here"),
		p("tolerance-zero", "", "/match_tolerance", `0`, nil, "a tolerance of 0 is one"),
		p("tolerance-in-text", "malformed_match_tolerance", "/match_tolerance", `"0.5"`, form, "a tolerance is a number"),
		p("tolerance-null", "malformed_match_tolerance", "/match_tolerance", `null`, form, "null is no number"),
		p("tolerance-negative", "negative_match_tolerance", "/match_tolerance", `-0.5`, form, "a tolerance is not negative"),
		p("no-deadline", "malformed_activation_deadline", "/activation_deadline_iso", ``, form, "there is a deadline"),
		p("deadline-local", "malformed_activation_deadline", "/activation_deadline_iso", `"2026-09-14T10:00:00"`, form, "a time without an offset is another instant in each zone"),
		p("deadline-in-a-number", "malformed_activation_deadline", "/activation_deadline_iso", `1789380000`, form, "a deadline is an instant"),
		p("deadline-with-a-space", "malformed_activation_deadline", "/activation_deadline_iso", `"2026-09-14 10:00:00Z"`, form, "there is a T between day and time"),
		p("mandate-check-left-out", "", "/mandate_check_required", ``, nil, "the check of mandates is optional"),
		p("mandate-check-in-text", "malformed_mandate_check_required", "/mandate_check_required", `"false"`, form, "the check is asked for by a boolean"),
		p("mandate-check-in-a-number", "malformed_mandate_check_required", "/mandate_check_required", `0`, form, "0 is not false"),
		p("other-parameters", "", "/note", `"kept"`, nil, "other parameters mean nothing"),
		c("no-commitments", "no_commitments", "", `[]`, sat, "somebody has to have committed"),
		c("one-commitment", "missing_expected_participant", "/1", ``, sat, "each participant that is expected has to commit"),
		c("commitment-in-text", "malformed_commitment", "/1", `"did:web:trader.example"`, form, "a commitment is an object"),
		c("no-committer", "missing_committer_did", "/1/committer_did", ``, form, "a commitment is somebody's"),
		c("committer-empty", "missing_committer_did", "/1/committer_did", `""`, form, "a commitment is somebody's"),
		c("committer-in-a-number", "missing_committer_did", "/1/committer_did", `7`, form, "a committer is a text"),
		c("committer-twice", "duplicate_participant_commitment", "/1/committer_did", `"did:web:estate.example"`, sat, "each participant commits once"),
		c("committer-unexpected", "unexpected_participant", "/-", third, sat, "nobody commits that is not expected"),
		c("committer-in-capitals", "unexpected_participant", "/1/committer_did", `"did:web:Trader.example"`, sat, "ids are compared as they are spelled"),
		c("terms-in-a-list", "malformed_commitment_terms", "/1/commitment_terms", `[7.5]`, form, "terms are an object"),
		c("no-terms", "malformed_commitment_terms", "/1/commitment_terms", ``, form, "a commitment has terms"),
		c("no-pledged-quantity", "non_numeric_quantity", "/1/commitment_terms/quantity", ``, form, "a missing quantity is not 0"),
		c("pledged-quantity-in-text", "non_numeric_quantity", "/1/commitment_terms/quantity", `"7.5"`, form, "a quantity is a number"),
		c("pledged-quantity-true", "non_numeric_quantity", "/1/commitment_terms/quantity", `true`, form, "true is no number"),
		c("sum-at-the-tolerance", "", "/1/commitment_terms/quantity", `8`, nil, "the tolerance itself is within it"),
		c("sum-below-the-tolerance", "", "/1/commitment_terms/quantity", `7`, nil, "the tolerance counts on both sides"),
		c("sum-too-large", mismatch, "/1/commitment_terms/quantity", `8.0001`, sat, "the sum is within the tolerance"),
		c("sum-too-small", mismatch, "/1/commitment_terms/quantity", `6.9999`, sat, "the sum is within the tolerance"),
		c("sum-far-too-large", mismatch, "/1/commitment_terms/quantity", `1e30`, sat, "the sum is within the tolerance"),
		c("no-mandate", "missing_mandate_proof", "/1/mandate_proof_id", ``, sat, "where mandates are required each commitment names one"),
		c("mandate-null", "missing_mandate_proof", "/1/mandate_proof_id", `null`, sat, "null is no mandate"),
		c("mandate-empty", "missing_mandate_proof", "/0/mandate_proof_id", `""`, sat, "an empty text is no mandate"),
		{name: "no-mandate-asked-for", edit: all(set("/predicate/parameters/mandate_check_required", `false`), drop("/commitments/1/mandate_proof_id")), why: "where no mandate is required none has to be there"},
		{name: "in-the-other-order", edit: func(v wire.Value) wire.Value {
			a, _ := v.At("commitments", "0")
			b, _ := v.At("commitments", "1")
			return v.With("commitments", value([]wire.Value{b, a}))
		}, why: "commitments come in any order"},
		{name: "without-session", edit: drop("/chain_session"), why: "a session need not be at hand"},
		otherClosure("by-another-predicate", "/predicate/predicate_id", `"urn:concordia:predicate:vat-8"`, "the predicate is the one by which the session closes"),
		otherClosure("session-by-another", "/chain_session/closure_predicate_ref", `"urn:concordia:predicate:vat-8"`, "the session closes by the predicate that is evaluated"),
		otherClosure("predicate-in-capitals", "/predicate/predicate_id", `"urn:concordia:predicate:Vat-9"`, "ids are compared as they are spelled"),
		{name: "session-of-no-shape", rule: cmpc.RuleChainSession, edit: drop("/chain_session/participants"), why: "a session at hand has the shape of one", breaks: malformed},
	},
		late(bound{name: "deadline", rule: cmpc.RuleClosureDeadline, limit: now, open: true, beyond: -1, put: edits("/predicate/parameters/activation_deadline_iso"),
			why: "what is satisfied is satisfied before the activation deadline", breaks: "who let the deadline pass and went elsewhere is bound all the same"}),
		late(bound{name: "clock", rule: cmpc.RuleClosureDeadline, limit: "2026-09-14T10:00:00Z", open: true, beyond: 1, put: byClock,
			why: "the clock is the evaluator's, and it is before the activation deadline", breaks: "who let the deadline pass and went elsewhere is bound all the same"}),
	)
}

func otherClosure(name, pointer, text, why string) fault {
	return fault{name: name, rule: cmpc.RuleClosureSession, edit: set(pointer, text), why: why, breaks: "parties are bound by a condition that is not theirs"}
}

// language is a condition as an expression.
func language() specimen {
	quantity := `"field":"commitment_terms.quantity"`
	grade := `"field":"commitment_terms.grade"`
	var list []fault
	holds := func(name, expression, why string) {
		list = append(list, fault{name: "holds-" + name, edit: set("/predicate/parameters/expression", expression), why: why})
	}
	fails := func(name, expression, why string) {
		list = append(list, fault{name: "fails-" + name, rule: cmpc.RuleClosure, edit: set("/predicate/parameters/expression", expression), why: why + " (expression_not_satisfied)", breaks: early})
	}
	wrong := func(name, expression, why string) {
		list = append(list, fault{name: "malformed-" + name, rule: cmpc.RuleClosureForm, edit: set("/predicate/parameters/expression", expression), why: why + " (malformed_predicate)", breaks: malformed})
	}
	sum := func(op, value string) string {
		return `{"op":"` + op + `","left":{"op":"sum",` + quantity + `},"value":` + value + `}`
	}
	oak := `{"op":"==",` + grade + `,"value":"oak"}`
	for _, op := range []struct{ op, at, beyond string }{{"==", `20`, `20.5`}, {"!=", `19`, `20`}, {">", `19.5`, `20`}, {">=", `20`, `20.5`}, {"<", `20.5`, `20`}, {"<=", `20`, `19.5`}} {
		name := strings.NewReplacer("==", "equal", "!=", "unequal", ">=", "at-least", "<=", "at-most", ">", "more", "<", "less").Replace(op.op)
		holds(name, sum(op.op, op.at), "the sum is 20")
		fails(name, sum(op.op, op.beyond), "the sum is 20")
	}
	holds("smallest", `{"op":">=","left":{"op":"min",`+quantity+`},"value":7.5}`, "the smallest quantity is 7.5")
	fails("largest", `{"op":"<","left":{"op":"max",`+quantity+`},"value":12.5}`, "the largest quantity is 12.5")
	fails("count", `{"op":"==","left":{"op":"count"},"value":3}`, "there are two commitments")
	fails("field-of-all", `{"op":">",`+quantity+`,"value":10}`, "a field is compared in every commitment, not in one")
	holds("texts", oak, "texts are compared for equality")
	fails("texts", `{"op":"==",`+grade+`,"value":"Oak"}`, "texts are compared as they are spelled")
	holds("among", `{"op":"in",`+grade+`,"values":["oak","ash"]}`, "the field of every commitment is one of the values")
	fails("among", `{"op":"in",`+grade+`,"values":["ash"]}`, "the field of every commitment is one of the values")
	holds("before", `{"op":"before","field":"ready_at","value":"2026-09-14T15:00:00.001Z"}`, "instants are compared, with their fractions")
	fails("before", `{"op":"before","field":"ready_at","value":"2026-09-14T15:00:00Z"}`, "before is not at")
	fails("before-elsewhere", `{"op":"before","field":"ready_at","value":"2026-09-14T16:00:00+01:00"}`, "instants are compared, not texts")
	holds("after", `{"op":"after","field":"ready_at","value":"2026-09-14T13:59:59+02:00"}`, "instants are compared, not texts")
	fails("after", `{"op":"after","field":"ready_at","value":"2026-09-14T12:00:00Z"}`, "after is not at")
	holds("and", `{"op":"and","args":[`+oak+`,`+sum("==", "20")+`]}`, "both hold")
	fails("and", `{"op":"and","args":[`+oak+`,`+sum("==", "21")+`]}`, "one of both does not hold")
	holds("or", `{"op":"or","args":[`+sum("==", "21")+`,`+oak+`]}`, "one of both holds")
	fails("or", `{"op":"or","args":[`+sum("==", "21")+`,`+sum("==", "22")+`]}`, "neither holds")
	holds("not", `{"op":"not","arg":`+sum("==", "21")+`}`, "it does not hold")
	fails("not", `{"op":"not","arg":`+oak+`}`, "it holds")
	wrong("operator", `{"op":"xor","args":[`+oak+`]}`, "there are sixteen operators")
	wrong("operator-in-capitals", `{"op":"AND","args":[`+oak+`]}`, "operators are compared as they are spelled")
	wrong("no-operator", `{"args":[`+oak+`]}`, "a node has an operator")
	wrong("no-arguments", `{"op":"and","args":[]}`, "all of nothing is not true")
	wrong("arguments-in-an-object", `{"op":"or","args":{"0":`+oak+`}}`, "arguments are a list")
	wrong("argument-in-text", `{"op":"and","args":["oak"]}`, "an argument is a node")
	wrong("no-argument", `{"op":"not"}`, "not has an argument")
	wrong("no-value", `{"op":"==",`+grade+`}`, "a missing value is not null")
	wrong("no-field", `{"op":"==","value":"oak"}`, "a comparison has a field or a left side")
	wrong("unknown-field", `{"op":"!=","field":"commitment_terms.colour","value":"red"}`, "a field that is not there is a fault and not unequal")
	wrong("path-through-text", `{"op":"==","field":"commitment_terms.grade.name","value":"oak"}`, "a path leads through objects")
	wrong("text-ordered", `{"op":">",`+grade+`,"value":"ash"}`, "texts have no order")
	wrong("number-and-text", `{"op":"!=",`+quantity+`,"value":"20"}`, "a number never differs from a text: it is not comparable")
	wrong("true-compared", `{"op":"==",`+quantity+`,"value":true}`, "true is no number")
	wrong("null-compared", `{"op":"!=",`+quantity+`,"value":null}`, "null is comparable to nothing")
	wrong("truth-compared", `{"op":"==","left":`+oak+`,"value":1}`, "a truth is no number")
	wrong("number-as-truth", `{"op":"and","args":[{"op":"sum",`+quantity+`}]}`, "a number is no truth")
	wrong("sum-of-texts", `{"op":"==","left":{"op":"sum",`+grade+`},"value":0}`, "texts have no sum")
	wrong("among-nothing", `{"op":"in",`+grade+`,"values":[]}`, "there is a value to be among")
	wrong("among-other-kinds", `{"op":"in",`+grade+`,"values":[1,2]}`, "a text is not looked for among numbers")
	wrong("no-instant", `{"op":"before",`+grade+`,"value":"2026-09-14T15:00:00Z"}`, "what is no instant is neither before nor after")
	wrong("local-instant", `{"op":"after","field":"ready_at","value":"2026-09-14T11:00:00"}`, "a time without an offset is no instant")
	wrong("behind-a-not", `{"op":"not","arg":{"op":"==","field":"commitment_terms.colour","value":"red"}}`, "no not hides a fault")
	wrong("behind-an-or", `{"op":"or","args":[`+oak+`,{"op":"==","field":"commitment_terms.colour","value":"red"}]}`, "what holds before it hides no fault")
	wrong("behind-an-and", `{"op":"not","arg":{"op":"and","args":[`+sum("==", "21")+`,{"op":"perhaps"}]}}`, "what does not hold before it hides no fault")
	wrong("too-deep", strings.Repeat(`{"op":"not","arg":`, 64)+oak+strings.Repeat(`}`, 64), "an evaluator bounds the depth of an expression")
	expression := func(name, text, why string) {
		f := fault{name: name, rule: cmpc.RuleClosureForm, edit: set("/predicate/parameters", text), why: why, breaks: malformed}
		list = append(list, f)
	}
	expression("no-expression", `{}`, "there is an expression (missing_expression)")
	expression("expression-in-text", `{"expression":"count > 1"}`, "an expression is an object (missing_expression)")
	expression("expression-null", `{"expression":null}`, "an expression is an object (missing_expression)")
	expression("parameters-in-a-list", `[`+oak+`]`, "the parameters are an object (malformed_predicate)")
	commitments := func(name, pointer, text, why string) {
		list = append(list, fault{name: "malformed-" + name, rule: cmpc.RuleClosureForm, edit: set("/commitments"+pointer, text), why: why + " (malformed_predicate)", breaks: malformed})
	}
	commitments("no-commitments", "", `[]`, "a condition over nothing is a fault and not true")
	commitments("commitment-in-text", "/1", `"oak"`, "a commitment is an object")
	commitments("quantity-in-text", "/1/commitment_terms/quantity", `"7.5"`, "a text is no quantity")
	commitments("quantity-true", "/1/commitment_terms/quantity", `true`, "true is no quantity")
	list = append(list, fault{name: "holds-whenever", context: wire.M{"now": "2031-01-01T00:00:00Z"}, why: "an expression has no clock: it holds or not, whenever it is evaluated"},
		otherClosure("by-another-predicate", "/predicate/predicate_id", `"urn:concordia:predicate:vat-8"`, "the predicate is the one by which the session closes"))
	return closureOf("language", cmpc.ClosureLanguageV1, `{"expression":`+`{"op":"and","args":[`+sum("==", "20")+`,{"op":"==","left":{"op":"count"},"value":2}]}`+`}`, list)
}
