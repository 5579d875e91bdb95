package conformance

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/concordia-node/concordia/wire"
)

// VectorVersion is what a vector says in schema_version.
const VectorVersion = "concordia-conformance-vector/v1-draft"

// A Vector is one question of a suite: does this input stand, under this profile,
// with this context (SPEC §12.5)?
type Vector struct {
	ID             string
	Title          string
	RecordType     string
	Question       Question
	Expected       string     // "accept" or "reject"
	ExpectedReason wire.Class // why it is rejected; "" if the vector does not say
	Notes          string
}

// A Question is what a verdict depends on. It has neither the vector's name nor
// what is expected.
type Question struct {
	Profile    string
	Input      wire.Value
	Unreadable error // why the input was refused as JSON, if it was
	Context    wire.Value
	raw        []byte // the input as it was written
	twice      *twice
}

// ruleVector names the shape of a vector file. It is a rule of the file format,
// not of the protocol.
var ruleVector = &wire.Rule{Section: "12.5", Name: "vector", Class: wire.ClassSchema, Text: "a vector has the members of a vector"}

var (
	errProfile  = errors.New("no profile of this name")
	errNoInput  = errors.New("missing")
	errObject   = errors.New("want an object")
	errFollows  = errors.New("something follows the object")
	errVectorID = errors.New("want up to 200 printable ASCII characters")
)

// maxVectorID bounds what is printed for every vector.
const maxVectorID = 200

// recordTypes are the values of record_type (SPEC §12.5): those of the public
// contract, then our own.
var recordTypes = []string{
	"agent_profile", "approval_receipt", "atomic_activation_proof", "attestation", "cascade_decision_record",
	"chain_session", "chain_session_transition", "closure_predicate", "competence_proof", "conditional_commitment",
	"cosign_receipt", "decision_object", "fulfillment_attestation", "mandate", "message_chain", "predicate",
	"receipt_bundle", "revocation_record", "unwind_record",

	"a2a_part", "cascade_traversal", "closure_evaluation", "json_text", "message", "reputation_query", "reputation_response", "signed_record", "signed_text", "transcript",
	"trust_envelope",
}

var reasonClasses = []string{
	string(wire.ClassSchema), string(wire.ClassSignature), string(wire.ClassDigest), string(wire.ClassBinding),
	string(wire.ClassTemporal), string(wire.ClassPrivacy), string(wire.ClassTransition),
}

// ReadVector reads a vector file. All of it is read strictly; if only the input is
// no JSON that this protocol knows, the vector is sound and its input Unreadable.
func ReadVector(data []byte) (*Vector, error) {
	raw, frame, err := cut(data)
	if err != nil {
		return nil, err
	}
	r := wire.Read(frame, "", ruleVector)
	v := &Vector{
		ID: r.Text("id"), Title: r.Text("title"), RecordType: r.OneOf("record_type", recordTypes...),
		Expected: r.OneOf("expected", "accept", "reject"),
		Question: Question{Profile: r.Text("verification_profile"), Context: r.Object("context").Whole(), raw: raw},
	}
	r.OneOf("schema_version", VectorVersion)
	r.Text("source_fixture")
	if v.ID == "" || len(v.ID) > maxVectorID || strings.ContainsFunc(v.ID, func(c rune) bool { return c <= ' ' || c > '~' }) {
		r.Fail("id", errVectorID)
	}
	if !slices.Contains(Profiles(), v.Question.Profile) {
		r.Fail("verification_profile", errProfile)
	}
	r = r.WithoutNulls()
	notes, _ := frame.Get("notes") // no part of the question: it may be anything
	v.Notes = notes.Text()
	if r.Has("expected_reason_class") {
		v.ExpectedReason = wire.Class(r.OneOf("expected_reason_class", reasonClasses...))
	}
	if len(raw) == 0 {
		r.Fail("input", errNoInput)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	v.Question.Input, v.Question.Unreadable = wire.Parse(raw, wire.DocumentLimits)
	return v, nil
}

// cut takes the input out of a vector's text, so that the frame can be read
// strictly whatever the input is.
func cut(data []byte) (input []byte, frame wire.Value, err error) {
	if len(data) > wire.MaxDocumentSize {
		return nil, frame, wire.RuleSize.At("")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return nil, frame, ruleVector.Because("", errObject)
	}
	rest := []byte{'{'}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, frame, ruleVector.Because("", err)
		}
		name = bytes.Clone(name) // the decoder uses its memory again
		value, err := d.ReadValue()
		if err != nil {
			return nil, frame, ruleVector.Because("", err)
		}
		if string(name) == `"input"` {
			if input != nil {
				return nil, frame, wire.RuleDuplicate.At("/input")
			}
			input = bytes.Clone(value)
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, name...), ':'), value...)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, frame, ruleVector.Because("", err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, frame, ruleVector.Because("", errFollows)
	}
	frame, err = wire.Parse(append(rest, '}'), wire.DocumentLimits)
	return input, frame, err
}
