package schema

import (
	"cmp"
	"errors"
)

// Caps on a constraint. A constraint is written by hand and says what an action
// may be; one that needs more is an attack or a program, and neither is a limit
// that a person has read. (rfcs/adr/0007)
const (
	maxText     = 64 << 10 // bytes; a quarter of the largest message
	maxNesting  = 32       // objects and arrays; half of what an artifact may nest, which carries it
	maxPatterns = 32       // each costs its compilation, whether it is used or not
	maxPattern  = 256      // code points
	maxProgram  = 4000     // instructions of all patterns; they cost memory, and each byte may have to pass them
	maxLoop     = 10       // times; a repetition up to as many counts as one without bound, counts around it multiplied

	maxAmbiguitySteps = 1 << 17 // on one pattern; about a millisecond
)

// Caps on one evaluation.
const (
	maxInstance        = 256 << 10 // bytes; the largest message (SPEC §4.1)
	maxInstanceNesting = 64        // the deepest artifact (SPEC §9.2.1)
	maxFrames          = 1024      // schemas inside one another; $ref makes them more than the nesting
	maxSteps           = 1 << 20   // under 0.2 s with the dearest steps; a usual constraint takes less than 100
)

// ErrTooCostly is why an instance does not satisfy a constraint whose evaluation
// would take more than this package spends on one. The instance may satisfy it.
var ErrTooCostly = errors.New("checking it would cost too much")

var (
	errUnsaid       = errors.New("does not satisfy the constraint") // no check fails without saying so; if one did, it must not pass
	errTextTooLong  = errors.New("the constraint is too long")
	errTooDeep      = errors.New("it nests too deep")
	errNotUTF8      = errors.New("the text is not UTF-8")
	errNumber       = errors.New("the number is not one that a double holds")
	errKeyword      = errors.New("this keyword is not supported in a constraint")
	errDialect      = errors.New("only JSON Schema 2020-12, named at the root, is supported")
	errID           = errors.New("an identifier is a URI reference without fragment, at the root")
	errReference    = errors.New("a reference is # or #/ and a pointer to a schema of the same document")
	errCycle        = errors.New("the references run in a circle")
	errManyPatterns = errors.New("there are too many patterns")
)

// A Constraint is a schema of a peer, ready for use. It does not change; any
// number of goroutines may use it.
type Constraint struct {
	root *node
}

// ParseConstraint reads a peer's schema, canonical JSON. The schema is JSON Schema
// 2020-12 with the keywords that can be evaluated from the document alone; any
// other keyword is refused, so that a misspelt limit is not a missing one. The
// error is a *Misfit whose pointer leads into the schema. (rfcs/adr/0007)
func ParseConstraint(canonical string) (*Constraint, error) {
	if len(canonical) > maxText {
		return nil, &Misfit{Why: errTextTooLong}
	}
	if nestsDeeper(canonical, maxNesting) {
		return nil, &Misfit{Why: errTooDeep}
	}
	doc, misfit := parseDocument(canonical)
	if misfit != nil {
		return nil, misfit
	}
	p := &parser{doc: doc}
	root, misfit := p.parse()
	if misfit != nil {
		return nil, misfit
	}
	return &Constraint{root: root}, nil
}

// Check reports how an instance, canonical JSON, does not satisfy the constraint:
// nil, or a *Misfit whose pointer leads into the instance. Its Why is ErrTooCostly
// if the instance is larger or the evaluation longer than this package allows; the
// same constraint and instance give the same result every time.
func (c *Constraint) Check(canonical string) error {
	if len(canonical) > maxInstance || nestsDeeper(canonical, maxInstanceNesting) {
		return &Misfit{Why: ErrTooCostly}
	}
	doc, misfit := parseDocument(canonical)
	if misfit != nil {
		return misfit
	}
	misfit, _ = c.evaluate(doc)
	if misfit != nil {
		return misfit
	}
	return nil
}

// evaluate returns the misfit, if any, and the steps taken.
func (c *Constraint) evaluate(doc *document) (*Misfit, int) {
	e := &evaluation{doc: doc, left: maxSteps}
	ok := e.check(c.root, &doc.root)
	switch {
	case e.left < 0: // what was found before the end may be due to what was not looked at
		return &Misfit{Why: ErrTooCostly}, maxSteps
	case ok:
		return nil, maxSteps - e.left
	}
	return cmp.Or(e.misfit, &Misfit{Why: errUnsaid}), maxSteps - e.left
}
