package cmpc_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/wire"
)

const bilateralText = `{
	"expected_participants":["did:web:alpha","did:web:beta"],"aggregate_quantity_required":25,"match_tolerance":0.5,
	"activation_deadline_iso":"2026-09-14T12:00:00Z","mandate_check_required":true}`

const commitmentsText = `[
	{"committer_did":"did:web:alpha","commitment_terms":{"quantity":12.5,"unit":"t","due":"2026-09-20T00:00:00Z"},"mandate_proof_id":"urn:concordia:mandate:1"},
	{"committer_did":"did:web:beta","commitment_terms":{"quantity":12,"unit":"t","due":"2026-09-21T02:00:00+02:00"},"mandate_proof_id":"urn:concordia:mandate:2"}]`

func list(v wire.Value) []wire.Value {
	var all []wire.Value
	for _, e := range v.Elems() {
		all = append(all, e)
	}
	return all
}

// without returns v less the member at the end of a path.
func without(t *testing.T, v wire.Value, path ...string) wire.Value {
	parent, _ := v.At(path[:len(path)-1]...)
	return edit(t, v, parent.Without(path[len(path)-1]).Canonical(), path[:len(path)-1]...)
}

// TestBilateralReasons makes one fault after the other, from the last check to the
// first, and keeps them: each reason comes before those that are still there.
func TestBilateralReasons(t *testing.T) {
	p, c, now := parse(t, bilateralText), parse(t, commitmentsText), judged
	evaluate := func() cmpc.Result { return cmpc.Evaluate(cmpc.BilateralV1, p, list(c), now) }
	if r := evaluate(); !r.Satisfied || r.Err() != nil {
		t.Fatalf("%+v", r)
	}
	for _, step := range []struct {
		reason cmpc.Reason
		do     func()
	}{
		{cmpc.MissingMandateProof, func() { c = edit(t, c, `""`, "1", "mandate_proof_id") }},
		{cmpc.PastActivationDeadline, func() { now = deadline }},
		{cmpc.AggregateQuantityMismatch, func() { c = edit(t, c, `11.75`, "1", "commitment_terms", "quantity") }},
		{cmpc.NonNumericQuantity, func() { c = edit(t, c, `"12"`, "1", "commitment_terms", "quantity") }},
		{cmpc.MalformedTerms, func() { c = edit(t, c, `[]`, "0", "commitment_terms") }},
		{cmpc.MissingParticipant, func() {
			p = edit(t, p, `["did:web:alpha","did:web:beta","did:web:gamma"]`, "expected_participants")
		}},
		{cmpc.UnexpectedParticipant, func() { c = edit(t, c, `"did:web:delta"`, "1", "committer_did") }},
		{cmpc.DuplicateParticipant, func() { c = edit(t, c, `"did:web:alpha"`, "1", "committer_did") }},
		{cmpc.MissingCommitter, func() { c = without(t, c, "0", "committer_did") }},
		{cmpc.MalformedCommitment, func() { c = edit(t, c, `null`, "0") }},
		{cmpc.NoCommitments, func() { c = parse(t, `[]`) }},
		{cmpc.MalformedNow, func() { now = time.Time{} }},
		{cmpc.MalformedMandateCheck, func() { p = edit(t, p, `0`, "mandate_check_required") }},
		{cmpc.MalformedDeadline, func() { p = edit(t, p, `"2026-09-14T12:00:00"`, "activation_deadline_iso") }},
		{cmpc.NegativeTolerance, func() { p = edit(t, p, `-0.1`, "match_tolerance") }},
		{cmpc.MalformedTolerance, func() { p = edit(t, p, `null`, "match_tolerance") }},
		{cmpc.MalformedQuantity, func() { p = edit(t, p, `true`, "aggregate_quantity_required") }},
		{cmpc.MissingQuantity, func() { p = p.Without("aggregate_quantity_required") }},
		{cmpc.MalformedParticipants, func() { p = edit(t, p, `["did:web:alpha",""]`, "expected_participants") }},
		{cmpc.MalformedParameters, func() { p = parse(t, `[]`) }},
	} {
		step.do()
		if r := evaluate(); r.Satisfied || r.Reason != step.reason {
			t.Fatalf("got %+v, want %s", r, step.reason)
		}
	}
}

// closureFaults are single faults of evaluations, at their edges.
func closureFaults(t *testing.T, seen map[string]int) {
	p, c := parse(t, bilateralText), parse(t, commitmentsText)
	for _, test := range []struct {
		parameters, commitments wire.Value
		now                     time.Time
		rule                    string
	}{
		{p, c, deadline.Add(-time.Second), ""}, // and 24.5 is at the tolerance
		{p, c, deadline, "closure-deadline at "},
		{p, edit(t, c, `11.9999`, "1", "commitment_terms", "quantity"), judged, "closure at "},
		{p.Without("match_tolerance"), edit(t, c, `12.5`, "1", "commitment_terms", "quantity"), judged, ""},
		{p.Without("mandate_check_required"), edit(t, c, `null`, "1", "mandate_proof_id"), judged, ""},
		{p, edit(t, c, `{"forged":1}`, "1", "mandate_proof_id"), judged, "closure at "}, // the reference takes it
		{p, edit(t, c, `1e308`, "0", "commitment_terms", "quantity"), judged, "closure at "},
		{edit(t, p, `"1"`, "aggregate_quantity_required"), c, judged, "closure-form at "},
		{edit(t, p, `[]`, "expected_participants"), c, judged, "closure-form at "},
		{p.Without("mandate_check_required").With("Mandate_Check_Required", parse(t, `true`)), c, judged, "closure-form at "}, // no limit that one reader sees
		{edit(t, p, `{"did:web:alpha":1}`, "expected_participants"), c, judged, "closure-form at "},
	} {
		r := cmpc.Evaluate(cmpc.BilateralV1, test.parameters, list(test.commitments), test.now)
		if got := broke(r.Err()); got != test.rule {
			t.Errorf("%v %v: got %q, want %q", test.parameters, test.commitments, got, test.rule)
		}
		seen[strings.Split(test.rule, " ")[0]]++
	}
	if r := cmpc.Evaluate("urn:concordia:predicate-type:other:v1", p, list(c), judged); r.Reason != cmpc.UnknownPredicateType {
		t.Errorf("%+v", r)
	}
}

func TestClosureLanguage(t *testing.T) {
	const sum = `{"op":"sum","field":"commitment_terms.quantity"}`
	for _, test := range []struct{ expression, want string }{
		{`{"op":"==","left":` + sum + `,"value":24.5}`, "satisfied"},
		{`{"op":"==","left":` + sum + `,"value":24.50}`, "satisfied"},
		{`{"op":"!=","left":` + sum + `,"value":24.5}`, "expression_not_satisfied"},
		{`{"op":"<","left":` + sum + `,"value":24.5}`, "expression_not_satisfied"},
		{`{"op":"<=","left":` + sum + `,"value":24.5}`, "satisfied"},
		{`{"op":">","left":{"op":"min","field":"commitment_terms.quantity"},"value":11.9}`, "satisfied"},
		{`{"op":">=","left":{"op":"max","field":"commitment_terms.quantity"},"value":12.5}`, "satisfied"},
		{`{"op":">=","field":"commitment_terms.quantity","value":12}`, "satisfied"},
		{`{"op":">","field":"commitment_terms.quantity","value":12}`, "expression_not_satisfied"},
		{`{"op":"==","field":"commitment_terms.unit","value":"t"}`, "satisfied"},
		{`{"op":"in","field":"commitment_terms.quantity","values":[12.5,12.0,"x"]}`, "satisfied"},
		{`{"op":"in","field":"commitment_terms.unit","values":["kg"]}`, "expression_not_satisfied"},
		{`{"op":"before","field":"commitment_terms.due","value":"2026-09-21T00:00:01Z"}`, "satisfied"},
		{`{"op":"before","field":"commitment_terms.due","value":"2026-09-21T00:00:00Z"}`, "expression_not_satisfied"},
		{`{"op":"after","field":"commitment_terms.due","value":"2026-09-19T23:59:59Z"}`, "satisfied"},
		{`{"op":"after","field":"commitment_terms.due","value":"2026-09-20T00:00:00Z"}`, "expression_not_satisfied"},
		{`{"op":"and","args":[{"op":"==","left":{"op":"count"},"value":2},{"op":"not","arg":{"op":"==","left":{"op":"count"},"value":3}}]}`, "satisfied"},
		{`{"op":"or","args":[{"op":"==","left":{"op":"count"},"value":3},{"op":"==","left":{"op":"count"},"value":2}]}`, "satisfied"},

		{`[]`, "missing_expression"},
		{`{"op":"xor"}`, "unknown_op:xor"},
		{`{"op":"x\ny"}`, "unknown_op:x?y"},
		{`{"op":["and"]}`, "unknown_op:array"},
		{`{}`, "unknown_op:absent"},
		{`{"op":"` + strings.Repeat("x", 65) + `"}`, "unknown_op:" + strings.Repeat("x", 64)},
		{`{"op":"in","field":"commitment_terms.unit","values":{"t":"t"}}`, "missing_values"},
		{`{"op":"and","args":[]}`, "missing_args"},
		{`{"op":"or","args":{}}`, "missing_args"},
		{`{"op":"not"}`, "malformed_node"},
		{`{"op":"count"}`, "non_boolean_in_boolean_position:count"},
		{`{"op":"not","arg":` + sum + `}`, "non_boolean_in_boolean_position:sum"},
		{`{"op":"==","left":{"op":"count"}}`, "missing_value"},
		{`{"op":"==","left":{"op":"count"},"value":true}`, "boolean_comparand:value"},
		{`{"op":"!=","left":{"op":"count"},"value":null}`, "unsupported_comparand_type:value:null"},
		{`{"op":"!=","left":{"op":"count"},"value":"two"}`, "cross_type_equality:left:number!=str"},
		{`{"op":">","left":{"op":"count"},"value":"1"}`, "non_numeric_ordering:left:number<>>str"},
		{`{"op":"==","left":{"op":"not","arg":{"op":"==","left":{"op":"count"},"value":1}},"value":1}`, "boolean_comparand:left"},
		{`{"op":"==","left":7,"value":1}`, "malformed_node"},
		{`{"op":"==","value":1}`, "missing_field"},
		{`{"op":"==","field":"commitment_terms.price","value":1}`, "missing_field:commitment_terms.price"},
		{`{"op":"==","field":"commitment_terms.unit.x","value":1}`, "missing_field:commitment_terms.unit.x"},
		{`{"op":"==","field":"commitment_terms","value":1}`, "unsupported_comparand_type:commitment_terms:object"},
		{`{"op":"in","field":"commitment_terms.unit"}`, "missing_values"},
		{`{"op":"in","field":"commitment_terms.unit","values":[]}`, "missing_values"},
		{`{"op":"in","field":"commitment_terms.unit","values":[1]}`, "cross_type_membership:commitment_terms.unit"},
		{`{"op":"in","field":"commitment_terms.unit","values":["t",false]}`, "boolean_comparand:values"},
		{`{"op":"in","values":[1]}`, "missing_field"},
		{`{"op":"before","field":"commitment_terms.due"}`, "missing_value"},
		{`{"op":"before","field":"commitment_terms.due","value":"soon"}`, "unparsable_time:value"},
		{`{"op":"before","field":"commitment_terms.unit","value":"2026-09-21T00:00:01Z"}`, "unparsable_time:commitment_terms.unit"},
		{`{"op":"before","value":"2026-09-21T00:00:01Z"}`, "missing_field"},
		{`{"op":"==","left":{"op":"sum"},"value":1}`, "missing_field"},
		{`{"op":"==","left":{"op":"sum","field":"committer_did"},"value":1}`, "non_numeric_aggregand:committer_did"},
		// What another branch comes to hides no fault.
		{`{"op":"or","args":[{"op":"==","left":{"op":"count"},"value":2},{"op":"xor"}]}`, "unknown_op:xor"},
		{`{"op":"and","args":[{"op":"==","left":{"op":"count"},"value":3},{"op":"xor"}]}`, "unknown_op:xor"},
	} {
		parameters := parse(t, `{"expression":`+test.expression+`}`)
		if got := said(cmpc.Evaluate(cmpc.ClosureLanguageV1, parameters, list(parse(t, commitmentsText)), time.Time{})); got != test.want {
			t.Errorf("%s: got %s, want %s", test.expression, got, test.want)
		}
	}
	r := cmpc.Evaluate(cmpc.ClosureLanguageV1, parse(t, `{"expression":{"op":"xor"}}`), nil, judged)
	if err := r.Err(); broke(err) != "closure-form at " || !strings.Contains(err.Error(), "malformed_predicate (unknown_op:xor)") {
		t.Error(err)
	}
	if got := said(cmpc.Evaluate(cmpc.ClosureLanguageV1, parse(t, `7`), nil, judged)); got != "parameters_not_an_object" {
		t.Error(got)
	}
}

func said(r cmpc.Result) string {
	switch {
	case r.Satisfied:
		return "satisfied"
	case r.Detail != "":
		return r.Detail
	}
	return string(r.Reason)
}

// A condition over no commitments, or over what is no commitment, never holds.
func TestNothingCommitted(t *testing.T) {
	for _, test := range []struct{ expression, commitments, want string }{
		{`{"op":"==","field":"a","value":1}`, `[]`, "no_commitments_for_comparison"},
		{`{"op":"in","field":"a","values":[1]}`, `[]`, "no_commitments_for_membership"},
		{`{"op":"before","field":"a","value":"2026-09-21T00:00:01Z"}`, `[]`, "no_commitments_for_time"},
		{`{"op":"==","left":{"op":"count"},"value":0}`, `[]`, "empty_commitments_for_aggregation:count"},
		{`{"op":"==","left":{"op":"count"},"value":1}`, `[null]`, "malformed_commitment_record:count:null"},
		{`{"op":"!=","field":"a","value":1}`, `[7]`, "missing_field:a"},
		{`{"op":"<","left":{"op":"sum","field":"a"},"value":1}`, `[{"a":1e308},{"a":1e308}]`, "non_finite_comparand:left"},
	} {
		for _, negated := range []bool{false, true} {
			expression := test.expression
			if negated {
				expression = `{"op":"not","arg":` + expression + `}`
			}
			r := cmpc.Evaluate(cmpc.ClosureLanguageV1, parse(t, `{"expression":`+expression+`}`), list(parse(t, test.commitments)), judged)
			if said(r) != test.want {
				t.Errorf("%s over %s: got %s, want %s", expression, test.commitments, said(r), test.want)
			}
		}
	}
}

// A commitment of the wrong type is a fault wherever it stands. (The reference
// stops at the first commitment that does not compare, and "not" then holds.)
func TestOrderOfCommitments(t *testing.T) {
	p := parse(t, `{"expression":{"op":"not","arg":{"op":">","field":"q","value":10}}}`)
	for _, text := range []string{`[{"q":5},{"q":"x"}]`, `[{"q":"x"},{"q":5}]`} {
		if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, p, list(parse(t, text)), judged); said(r) != "non_numeric_ordering:q:str<>>number" {
			t.Errorf("%s: %s", text, said(r))
		}
	}
}

// The limits hold at their edges, and an expression that exceeds them ends early.
func TestClosureLimits(t *testing.T) {
	one := list(parse(t, `[{"a":1}]`))
	nested := func(depth int) wire.Value { // made by hand: no reader lets it in
		v := parse(t, `{"op":"==","left":{"op":"count"},"value":1}`)
		for range depth - 2 {
			v = parse(t, `{"op":"not"}`).With("arg", v)
		}
		return parse(t, `{}`).With("expression", v)
	}
	if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, nested(cmpc.MaxClosureDepth), one, judged); !r.Satisfied {
		t.Error(said(r))
	}
	if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, nested(cmpc.MaxClosureDepth+1), one, judged); said(r) != "too_large" {
		t.Error(said(r))
	}
	const each = 1000
	node := `{"op":"==","field":"a","value":1}`
	wide := func(nodes int) wire.Value {
		return parse(t, `{"expression":{"op":"and","args":[`+node+strings.Repeat(`,`+node, nodes-1)+`]}}`)
	}
	many := list(parse(t, `[{"a":1}`+strings.Repeat(`,{"a":1}`, each-1)+`]`))
	// The root is a step; each node three (itself, the value, the field) and two a commitment.
	fits := (cmpc.MaxClosureSteps - 1) / (3 + 2*each)
	if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, wide(fits), many, judged); !r.Satisfied {
		t.Error(said(r))
	}
	if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, wide(fits+1), many, judged); said(r) != "too_large" {
		t.Error(said(r))
	}
	long := strings.Repeat("x", 1<<20)
	text := `{"op":"==","field":"a","value":` + strconv.Quote(long) + `}`
	p := parse(t, `{"expression":{"op":"and","args":[`+text+strings.Repeat(`,`+text, 15)+`]}}`)
	if r := cmpc.Evaluate(cmpc.ClosureLanguageV1, p, list(parse(t, `[{"a":`+strconv.Quote(long)+`},{"a":`+strconv.Quote(long)+`},{"a":`+strconv.Quote(long)+`},{"a":`+strconv.Quote(long)+`}]`)), judged); said(r) != "too_large" {
		t.Error(said(r))
	}
}

// Whatever the arguments, an evaluation ends without panic, is either satisfied or
// has a reason, and does not depend on the order of the commitments but for sums.
func FuzzEvaluate(f *testing.F) {
	f.Add(cmpc.BilateralV1, bilateralText, commitmentsText)
	f.Add(cmpc.ClosureLanguageV1, `{"expression":{"op":"not","arg":{"op":">","field":"q","value":10}}}`, `[{"q":5},{"q":"x"}]`)
	f.Add(cmpc.ClosureLanguageV1, `{"expression":{"op":"and","args":[{"op":"in","field":"q","values":[1,"a"]},{"op":"after","field":"t","value":"2026-09-20T00:00:00Z"}]}}`,
		`[{"q":1,"t":"2026-09-21T00:00:00Z"},{"q":"a","t":"2026-09-22T00:00:00Z"}]`)
	f.Fuzz(func(t *testing.T, profile, parameters, commitments string) {
		p, err := wire.Parse([]byte(parameters), wire.DocumentLimits)
		c, err2 := wire.Parse([]byte(commitments), wire.DocumentLimits)
		if err != nil || err2 != nil {
			return
		}
		cs := list(c)
		r := cmpc.Evaluate(profile, p, cs, judged)
		if r.Satisfied != (r.Reason == "") || r.Satisfied != (r.Err() == nil) || r.Satisfied && len(cs) == 0 {
			t.Fatalf("%+v", r)
		}
		if strings.Contains(parameters, "sum") || profile == cmpc.BilateralV1 {
			return
		}
		for i, j := 0, len(cs)-1; i < j; i, j = i+1, j-1 {
			cs[i], cs[j] = cs[j], cs[i]
		}
		if again := cmpc.Evaluate(profile, p, cs, judged); again.Satisfied != r.Satisfied || again.Reason != r.Reason {
			t.Errorf("%+v, the other way round %+v", r, again)
		}
	})
}
