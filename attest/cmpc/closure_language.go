package cmpc

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/concordia-node/concordia/wire"
)

// Limits of an evaluation in the closure language. An expression visits each
// commitment once per node, so a bound on the text alone would not bound the time.
const (
	MaxClosureDepth = 64      // nodes inside one another
	MaxClosureSteps = 1 << 20 // nodes, values and fields looked at, long texts counted by the 64 bytes
)

// errMalformed is an expression that cannot be evaluated; its text is the Detail.
type errMalformed string

func (e errMalformed) Error() string { return string(e) }

const errTooLarge errMalformed = "too_large"

// An evaluation walks the expression tree. Every part of it is evaluated, whatever
// the others come to: a fault anywhere makes the whole unsatisfied, so that no
// "not" and no "or" can hide it.
type evaluation struct {
	commitments []wire.Value
	steps       int
	depth       int
}

func evaluateLanguage(parameters wire.Value, commitments []wire.Value) Result {
	if parameters.Kind() != wire.Object {
		return Result{Reason: MalformedPredicate, Detail: detailParametersNotAnObject}
	}
	expression, _ := parameters.Get("expression")
	if expression.Kind() != wire.Object {
		return unsatisfied(MissingExpression)
	}
	e := &evaluation{commitments: commitments}
	holds, err := e.truth(expression)
	switch {
	case err != nil:
		return Result{Reason: MalformedPredicate, Detail: err.Error()}
	case !holds:
		return unsatisfied(ExpressionNotSatisfied)
	}
	return Result{Satisfied: true}
}

// step counts what is looked at, and a text by its length.
func (e *evaluation) step(v wire.Value) error {
	e.steps++
	if k := v.Kind(); k == wire.String || k == wire.Number {
		e.steps += len(v.Canonical()) / 64
	}
	if e.steps > MaxClosureSteps {
		return errTooLarge
	}
	return nil
}

// truth evaluates a node where a boolean is needed.
func (e *evaluation) truth(node wire.Value) (bool, error) {
	v, err := e.value(node)
	if err != nil {
		return false, err
	}
	if v.class != boolean {
		return false, errMalformed("non_boolean_in_boolean_position:" + operator(node))
	}
	return v.holds, nil
}

// value evaluates a node.
func (e *evaluation) value(node wire.Value) (comparand, error) {
	if node.Kind() != wire.Object {
		return comparand{}, errMalformed("malformed_node")
	}
	if err := e.step(node); err != nil {
		return comparand{}, err
	}
	if e.depth++; e.depth > MaxClosureDepth {
		return comparand{}, errTooLarge
	}
	defer func() { e.depth-- }()
	op, _ := node.Get("op")
	switch op.Text() {
	case "and", "or":
		return e.compose(node, op.Text() == "and")
	case "not":
		arg, _ := node.Get("arg")
		holds, err := e.truth(arg)
		return truthValue(!holds), err
	case "==", "!=", ">", ">=", "<", "<=":
		return e.compare(node, op.Text())
	case "in":
		return e.member(node)
	case "before", "after":
		return e.time(node, op.Text() == "before")
	case "sum", "min", "max", "count":
		return e.aggregate(node, op.Text())
	}
	return comparand{}, errMalformed("unknown_op:" + operator(node))
}

// compose evaluates "and" or "or", every argument of it.
func (e *evaluation) compose(node wire.Value, all bool) (comparand, error) {
	args, _ := node.Get("args")
	if args.Kind() != wire.Array || args.Len() == 0 {
		return comparand{}, errMalformed("missing_args")
	}
	result := all
	for _, arg := range args.Elems() {
		holds, err := e.truth(arg)
		if err != nil {
			return comparand{}, err
		}
		if holds != all {
			result = !all
		}
	}
	return truthValue(result), nil
}

func (e *evaluation) compare(node wire.Value, op string) (comparand, error) {
	literal, ok := node.Get("value")
	if !ok {
		return comparand{}, errMalformed("missing_value")
	}
	want, err := e.comparand(literal, "value")
	if err != nil {
		return comparand{}, err
	}
	if left, ok := node.Get("left"); ok {
		got, err := e.value(left)
		if err != nil {
			return comparand{}, err
		}
		if got.class == boolean {
			return comparand{}, errMalformed("boolean_comparand:left")
		}
		holds, err := got.relates(op, want, "left")
		return truthValue(holds), err
	}
	path, name, err := e.field(node, "no_commitments_for_comparison")
	if err != nil {
		return comparand{}, err
	}
	got := make([]comparand, len(e.commitments))
	for i, c := range e.commitments {
		if got[i], err = e.resolve(c, path, name); err != nil {
			return comparand{}, err
		}
	}
	// The reference stops at the first commitment that does not compare, so that
	// whether it finds a later one of the wrong type depends on their order, and
	// "not" makes a malformed commitment satisfy. Here all are compared.
	result := true
	for _, g := range got {
		holds, err := g.relates(op, want, name)
		if err != nil {
			return comparand{}, err
		}
		result = result && holds
	}
	return truthValue(result), nil
}

func (e *evaluation) member(node wire.Value) (comparand, error) {
	values, _ := node.Get("values") // of another kind it has no elements
	accepted := make(map[string]bool, values.Len())
	var classes [boolean]bool
	for _, v := range values.Elems() {
		c, err := e.comparand(v, "values")
		if err != nil {
			return comparand{}, err
		}
		accepted[c.text], classes[c.class] = true, true
	}
	if len(accepted) == 0 {
		return comparand{}, errMalformed("missing_values")
	}
	path, name, err := e.field(node, "no_commitments_for_membership")
	if err != nil {
		return comparand{}, err
	}
	got := make([]comparand, len(e.commitments))
	for i, c := range e.commitments {
		if got[i], err = e.resolve(c, path, name); err != nil {
			return comparand{}, err
		}
	}
	result := true
	for _, g := range got {
		if !classes[g.class] {
			return comparand{}, errMalformed("cross_type_membership:" + name)
		}
		result = result && accepted[g.text]
	}
	return truthValue(result), nil
}

func (e *evaluation) time(node wire.Value, before bool) (comparand, error) {
	literal, ok := node.Get("value")
	if !ok {
		return comparand{}, errMalformed("missing_value")
	}
	limit, err := e.instant(literal, "value")
	if err != nil {
		return comparand{}, err
	}
	path, name, err := e.field(node, "no_commitments_for_time")
	if err != nil {
		return comparand{}, err
	}
	result := true
	for _, c := range e.commitments {
		v, err := e.walk(c, path, name)
		if err != nil {
			return comparand{}, err
		}
		t, err := e.instant(v, name)
		if err != nil {
			return comparand{}, err
		}
		result = result && (before && t.Before(limit) || !before && t.After(limit))
	}
	return truthValue(result), nil
}

func (e *evaluation) instant(v wire.Value, name string) (time.Time, error) {
	t, err := wire.ParseTime(v.Text())
	if err != nil {
		return t, errMalformed("unparsable_time:" + name)
	}
	return t, nil
}

// aggregate evaluates sum, min, max or count. Numbers are added as doubles in the
// order of the commitments.
func (e *evaluation) aggregate(node wire.Value, op string) (comparand, error) {
	if len(e.commitments) == 0 {
		return comparand{}, errMalformed("empty_commitments_for_aggregation:" + op)
	}
	for _, c := range e.commitments {
		if err := e.step(c); err != nil {
			return comparand{}, err
		}
		if c.Kind() != wire.Object {
			return comparand{}, errMalformed("malformed_commitment_record:" + op + ":" + c.Kind().String())
		}
	}
	if op == "count" {
		return comparand{class: number, number: float64(len(e.commitments))}, nil
	}
	path, name, err := e.field(node, "")
	if err != nil {
		return comparand{}, err
	}
	var result float64
	for i, c := range e.commitments {
		got, err := e.resolve(c, path, name)
		if err != nil {
			return comparand{}, err
		}
		if got.class != number {
			return comparand{}, errMalformed("non_numeric_aggregand:" + name)
		}
		switch {
		case i == 0:
			result = got.number
		case op == "sum":
			result += got.number
		case op == "min":
			result = min(result, got.number)
		default:
			result = max(result, got.number)
		}
	}
	return comparand{class: number, number: result}, nil
}

// field returns the dotted path of a node's field, which the commitments, if there
// are any, all have to have, and its name for a Detail.
func (e *evaluation) field(node wire.Value, none errMalformed) (path []string, name string, err error) {
	v, _ := node.Get("field")
	if v.Kind() != wire.String {
		return nil, "", errMalformed("missing_field")
	}
	if err := e.step(v); err != nil {
		return nil, "", err
	}
	if len(e.commitments) == 0 {
		return nil, "", none
	}
	return strings.Split(v.Text(), "."), clip(v.Text()), nil
}

// walk follows a path into a commitment.
func (e *evaluation) walk(v wire.Value, path []string, name string) (wire.Value, error) {
	for _, segment := range path {
		if err := e.step(v); err != nil {
			return wire.Value{}, err
		}
		child, ok := v.Get(segment)
		if !ok {
			return wire.Value{}, errMalformed("missing_field:" + name)
		}
		v = child
	}
	return v, nil
}

func (e *evaluation) resolve(commitment wire.Value, path []string, name string) (comparand, error) {
	v, err := e.walk(commitment, path, name)
	if err != nil {
		return comparand{}, err
	}
	return e.comparand(v, name)
}

// A class is what a comparand can be compared with: its like.
type class uint8

const (
	number class = iota
	text
	boolean // of a node; no comparand
)

var classNames = [...]string{"number", "str", "bool"}

func (c class) String() string { return classNames[c] }

// A comparand is what a node comes to, a literal or a field. Its text is canonical
// and so tells the class; that of an aggregation has none.
type comparand struct {
	class  class
	number float64
	text   string
	holds  bool
}

func truthValue(holds bool) comparand { return comparand{class: boolean, holds: holds} }

// comparand accepts a number or a string: true would compare as one to a careless
// reader, and null with everything.
func (e *evaluation) comparand(v wire.Value, name string) (comparand, error) {
	if err := e.step(v); err != nil {
		return comparand{}, err
	}
	switch v.Kind() {
	case wire.Number:
		f, _ := v.Float() // what has been parsed is finite
		return comparand{class: number, number: f, text: v.Canonical()}, nil
	case wire.String:
		return comparand{class: text, text: v.Canonical()}, nil
	case wire.Bool:
		return comparand{}, errMalformed("boolean_comparand:" + name)
	}
	return comparand{}, errMalformed("unsupported_comparand_type:" + name + ":" + v.Kind().String())
}

// relates compares two comparands: numbers by value and order, strings only for
// equality, and never one with the other.
func (c comparand) relates(op string, want comparand, name string) (bool, error) {
	if c.number-c.number != 0 { // a sum beyond all doubles
		return false, errMalformed("non_finite_comparand:" + name)
	}
	equality := op == "==" || op == "!="
	if !equality && (c.class != number || want.class != number) {
		return false, errMalformed("non_numeric_ordering:" + name + ":" + c.class.String() + "<" + op + ">" + want.class.String())
	}
	if c.class != want.class {
		return false, errMalformed("cross_type_equality:" + name + ":" + c.class.String() + op + want.class.String())
	}
	switch op {
	case "==":
		return c.equal(want), nil
	case "!=":
		return !c.equal(want), nil
	case ">":
		return c.number > want.number, nil
	case ">=":
		return c.number >= want.number, nil
	case "<":
		return c.number < want.number, nil
	}
	return c.number <= want.number, nil
}

func (c comparand) equal(want comparand) bool {
	if c.class == number {
		return c.number == want.number
	}
	return c.text == want.text
}

// operator returns a node's op for a Detail.
func operator(node wire.Value) string {
	op, _ := node.Get("op")
	if op.Kind() != wire.String {
		return op.Kind().String()
	}
	return clip(op.Text())
}

// clip bounds what a Detail repeats of a predicate, and keeps it printable.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
