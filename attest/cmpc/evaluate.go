package cmpc

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// The profiles that evaluate closure predicates (SPEC §9.11.3).
const (
	BilateralV1       = "urn:concordia:predicate-type:bilateral_chain_closure:v1"
	ClosureLanguageV1 = "urn:concordia:predicate-type:closure_language:v1"
)

// A Reason is why commitments do not satisfy a predicate, as the reference spells
// it.
type Reason string

// The reasons of SPEC §9.11.3, of the bilateral profile in the order in which it
// finds them.
const (
	UnknownPredicateType      Reason = "unknown_predicate_type"
	MalformedParameters       Reason = "malformed_parameters"
	MalformedParticipants     Reason = "malformed_expected_participants"
	MissingQuantity           Reason = "missing_aggregate_quantity_required"
	MalformedQuantity         Reason = "malformed_aggregate_quantity_required"
	MalformedTolerance        Reason = "malformed_match_tolerance"
	NegativeTolerance         Reason = "negative_match_tolerance"
	MalformedDeadline         Reason = "malformed_activation_deadline"
	MalformedMandateCheck     Reason = "malformed_mandate_check_required"
	MalformedNow              Reason = "malformed_now"
	NoCommitments             Reason = "no_commitments"
	MalformedCommitment       Reason = "malformed_commitment"
	MissingCommitter          Reason = "missing_committer_did"
	DuplicateParticipant      Reason = "duplicate_participant_commitment"
	UnexpectedParticipant     Reason = "unexpected_participant"
	MissingParticipant        Reason = "missing_expected_participant"
	MalformedTerms            Reason = "malformed_commitment_terms"
	NonNumericQuantity        Reason = "non_numeric_quantity"
	AggregateQuantityMismatch Reason = "aggregate_quantity_mismatch"
	PastActivationDeadline    Reason = "past_activation_deadline"
	MissingMandateProof       Reason = "missing_mandate_proof"
	MissingExpression         Reason = "missing_expression"
	ExpressionNotSatisfied    Reason = "expression_not_satisfied"
	MalformedPredicate        Reason = "malformed_predicate"
)

const detailParametersNotAnObject = "parameters_not_an_object"

// A Result is the outcome of an evaluation. Unless it is satisfied there is a
// Reason, and for MalformedPredicate a Detail: a code, and after a colon which
// operator or field.
type Result struct {
	Satisfied bool
	Reason    Reason
	Detail    string
}

// Err returns nil if the predicate is satisfied, else a Violation of
// RuleClosureForm, RuleClosureDeadline or RuleClosure whose cause has the reason.
func (r Result) Err() error {
	if r.Satisfied {
		return nil
	}
	cause := errors.New(string(r.Reason))
	if r.Detail != "" {
		cause = fmt.Errorf("%s (%s)", r.Reason, r.Detail)
	}
	rule := RuleClosureForm
	switch r.Reason {
	case PastActivationDeadline:
		rule = RuleClosureDeadline
	case NoCommitments, DuplicateParticipant, UnexpectedParticipant, MissingParticipant, AggregateQuantityMismatch,
		MissingMandateProof, ExpressionNotSatisfied:
		rule = RuleClosure
	}
	return rule.Because("", cause)
}

func unsatisfied(why Reason) Result { return Result{Reason: why} }

// Evaluate says whether commitments satisfy the parameters of a profile at now,
// which is the evaluator's clock: a predicate has none. It is total and closed:
// whatever is missing, malformed, unknown or too large is not satisfied, for a
// Reason. It takes time linear in its arguments, within the limits of the closure
// language.
//
// It verifies nothing. That the commitments are signed, in force and of one chain
// session, and that the parameters are those of a predicate in force, is for the
// caller to know. (SPEC §9.11.3)
func Evaluate(profile string, parameters wire.Value, commitments []wire.Value, now time.Time) Result {
	switch profile {
	case BilateralV1:
		return evaluateBilateral(parameters, commitments, now)
	case ClosureLanguageV1:
		return evaluateLanguage(parameters, commitments)
	}
	return unsatisfied(UnknownPredicateType)
}

// A bilateral holds the parameters of the profile BilateralV1.
type bilateral struct {
	expected     map[string]bool
	quantity     float64
	tolerance    float64
	deadline     time.Time
	needsMandate bool
}

func evaluateBilateral(parameters wire.Value, commitments []wire.Value, now time.Time) Result {
	p, why := readBilateral(parameters)
	if why == "" && now.IsZero() { // a clock that somebody forgot must not keep a deadline open
		why = MalformedNow
	}
	if why == "" {
		why = p.checkParticipants(commitments)
	}
	if why == "" {
		why = p.checkQuantity(commitments)
	}
	switch {
	case why != "":
		return unsatisfied(why)
	case !now.Before(p.deadline):
		return unsatisfied(PastActivationDeadline)
	}
	if p.needsMandate {
		for _, c := range commitments {
			if id, _ := c.Get("mandate_proof_id"); id.Text() == "" {
				return unsatisfied(MissingMandateProof)
			}
		}
	}
	return Result{Satisfied: true}
}

func readBilateral(parameters wire.Value) (p bilateral, why Reason) {
	// A parameter that somebody misspelt must not count as left out.
	r := wire.Read(parameters, "", RuleClosureForm)
	r.Open("expected_participants", "aggregate_quantity_required", "match_tolerance", "activation_deadline_iso", "mandate_check_required")
	if r.Err() != nil {
		return p, MalformedParameters
	}
	participants, _ := parameters.Get("expected_participants")
	if participants.Len() == 0 || participants.Kind() != wire.Array {
		return p, MalformedParticipants
	}
	p.expected = make(map[string]bool, participants.Len())
	for _, id := range participants.Elems() {
		if id.Text() == "" {
			return p, MalformedParticipants
		}
		p.expected[id.Text()] = true
	}
	quantity, ok := parameters.Get("aggregate_quantity_required")
	if !ok {
		return p, MissingQuantity
	}
	if p.quantity, ok = quantity.Float(); !ok {
		return p, MalformedQuantity
	}
	if tolerance, given := parameters.Get("match_tolerance"); given {
		if p.tolerance, ok = tolerance.Float(); !ok {
			return p, MalformedTolerance
		}
		if p.tolerance < 0 {
			return p, NegativeTolerance
		}
	}
	deadline, _ := parameters.Get("activation_deadline_iso")
	var err error
	if p.deadline, err = wire.ParseTime(deadline.Text()); err != nil {
		return p, MalformedDeadline
	}
	if mandate, given := parameters.Get("mandate_check_required"); given {
		if mandate.Kind() != wire.Bool {
			return p, MalformedMandateCheck
		}
		p.needsMandate = mandate.Bool()
	}
	return p, ""
}

// checkParticipants checks that every expected participant committed once, and
// nobody else.
func (p *bilateral) checkParticipants(commitments []wire.Value) Reason {
	if len(commitments) == 0 {
		return NoCommitments
	}
	committed := make(map[wire.AgentID]bool, len(p.expected)) // in one spelling
	unexpected := false
	for _, c := range commitments {
		if c.Kind() != wire.Object {
			return MalformedCommitment
		}
		id, _ := c.Get("committer_did")
		plain := wire.PlainDIDKey(wire.AgentID(id.Text()))
		switch {
		case plain == "":
			return MissingCommitter
		case committed[plain]:
			return DuplicateParticipant
		}
		committed[plain] = true
		unexpected = unexpected || !p.expected[id.Text()]
	}
	switch {
	case unexpected:
		return UnexpectedParticipant
	case len(committed) < len(p.expected):
		return MissingParticipant
	}
	return ""
}

// checkQuantity adds the quantities up as doubles, one after the other, as the
// reference does: the order of the commitments can decide at the tolerance's edge.
func (p *bilateral) checkQuantity(commitments []wire.Value) Reason {
	total := 0.0
	for _, c := range commitments {
		terms, _ := c.Get("commitment_terms")
		if terms.Kind() != wire.Object {
			return MalformedTerms
		}
		quantity, _ := terms.Get("quantity")
		f, ok := quantity.Float()
		if !ok {
			return NonNumericQuantity
		}
		total += f
	}
	if math.Abs(total-p.quantity) > p.tolerance {
		return AggregateQuantityMismatch
	}
	return ""
}
