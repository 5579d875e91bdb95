package attest

import (
	"errors"

	"github.com/concordia-node/concordia/wire"
)

// A CascadeDecision is the denial of a request, with what its verifier read of the
// ancestors of the capability. It allows nothing, ever. (SPEC §9.6.4d)
type CascadeDecision struct {
	ID         string // SHA-256 of the record without id and signature, 64 hex digits
	Capability string
	Request    string
	Boundary   string
	Verifier   wire.AgentID // who denied and signed
	Policy     string
	Reads      []AncestorRead
	Approval   string // id of the approval receipt, "" if none is named
	Revocation string // id of the revocation record, "" if none is named

	value wire.Value
}

// An AncestorRead is the status of one ancestor as a source gave it. Whether the
// source is the right one, and the coordinate one of its own, is for the reader's
// policy. (SPEC §9.6.4d)
type AncestorRead struct {
	Element    string
	Status     string
	Source     string
	Coordinate int64 // the source's own position, not a time
}

// The rules of cascade decisions.
var (
	RuleCascadeDecision   = &wire.Rule{Section: "9.6.4d", Name: "cascade-decision", Class: wire.ClassSchema, Text: "a cascade decision denies, and has the members of its schema and no others"}
	RuleDecisionID        = &wire.Rule{Section: "9.6.4d", Name: "decision-id", Class: wire.ClassDigest, Text: "decision_id is the hash of the record without it and the signature"}
	RuleDecisionExpected  = &wire.Rule{Section: "9.6.4d", Name: "decision-expected", Class: wire.ClassDigest, Text: "the decision is the one that was asked for"}
	RuleDecisionSignature = &wire.Rule{Section: "9.6.4d", Name: "decision-signature", Class: wire.ClassSignature, Text: "the verifier signed the decision"}
)

var decisionRules = []*wire.Rule{RuleCascadeDecision, RuleDecisionID, RuleDecisionExpected, RuleDecisionSignature}

// ReadCascadeDecision checks the shape of a cascade decision. It verifies nothing.
func ReadCascadeDecision(v wire.Value) (*CascadeDecision, error) {
	r, err := Shape(v, "cascade_decision_record", RuleCascadeDecision)
	if err != nil {
		return nil, err
	}
	d := &CascadeDecision{
		ID: r.Text("decision_id"), Capability: r.Text("capability_digest"), Request: r.Text("request_digest"),
		Boundary: r.Text("boundary_id"), Verifier: wire.ReadID[wire.AgentID](r, "verifier"), Policy: r.Text("policy_version"),
		Approval: r.OptText("approval_receipt_ref"), Revocation: r.OptText("revocation_record_ref"), value: v,
	}
	for _, a := range r.Objects("ancestor_reads") {
		d.Reads = append(d.Reads, AncestorRead{
			Element: a.Text("element_digest"), Status: a.Text("status"), Source: a.Text("source_digest"),
			Coordinate: a.Int("coordinate", 0, wire.MaxSafeInteger),
		})
	}
	return d, r.Err()
}

// Value returns the decision as it was received.
func (d *CascadeDecision) Value() wire.Value { return d.value }

// preimage is what decision_id is the hash of and what is signed.
func (d *CascadeDecision) preimage() wire.Value {
	return withoutAll(d.value, "decision_id", "signature")
}

// A DecisionSubject is a cascade decision with what it is verified by.
type DecisionSubject struct {
	Verifier
	Decision *CascadeDecision
	Expected string // the id it has to have, "sha256:" and hex; "" if any
}

// DecisionChecks are the checks of a cascade decision in order (SPEC §9.6.4d).
func DecisionChecks() []wire.Check[*DecisionSubject] {
	return []wire.Check[*DecisionSubject]{
		{Name: "decision-id", Run: (*DecisionSubject).checkID},
		{Name: "expected", Run: (*DecisionSubject).checkExpected},
		{Name: "signature", Run: (*DecisionSubject).checkSignature},
	}
}

// VerifyDecision checks a cascade decision. Expected is the id it has to have, as
// a hash is written (SPEC §9.3), or "" for any.
func (f Verifier) VerifyDecision(v wire.Value, expected string) (*CascadeDecision, wire.Report) {
	return Judge(v, ReadCascadeDecision, func(d *CascadeDecision) *DecisionSubject {
		return &DecisionSubject{Verifier: f, Decision: d, Expected: expected}
	}, DecisionChecks())
}

var (
	errOtherHash     = errors.New("it is the hash of another record")
	errOtherDecision = errors.New("it is another decision")
)

// checkID compares the id as a string: a second spelling of it never fits.
func (s *DecisionSubject) checkID() error {
	h, err := s.hash(s.Decision.preimage())
	if err != nil {
		return RuleDecisionID.Because("/decision_id", err)
	}
	if h.Hex() != s.Decision.ID {
		return RuleDecisionID.Because("/decision_id", errOtherHash)
	}
	return nil
}

func (s *DecisionSubject) checkExpected() error {
	if s.Expected == "" {
		return &wire.Unchecked{Why: "any decision will do", Moot: true}
	}
	if s.Expected != "sha256:"+s.Decision.ID {
		return RuleDecisionExpected.Because("/decision_id", errOtherDecision)
	}
	return nil
}

// checkSignature asks for the key the verifier has now: a decision says nothing of
// when it was made.
func (s *DecisionSubject) checkSignature() error {
	text, _ := s.Decision.value.At("signature", "value")
	return s.CheckSignature(Claim{
		Rule: RuleDecisionSignature, Signer: s.Decision.Verifier, Algorithm: wire.EdDSA, Signed: s.Now,
		Preimage: s.Decision.preimage(), Text: text, At: "/signature/value",
	})
}

// Decision issues a cascade decision. The draft says what was asked and read;
// see Denials. (SPEC §9.6.4d)
func (i Issuer) Decision(v wire.Value) (wire.Value, error) {
	d := i.draft("a cascade decision", v)
	d.only(wire.EdDSA)
	d.fill("deny", "decision")
	d.signer("verifier")
	preimage := withoutAll(d.v, "decision_id", "signature")
	d.set(preimage.Hash().Hex(), "decision_id")
	d.set(wire.M{"alg": wire.EdDSA}, "signature")
	d.sign(preimage, "signature", "value")
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyDecision(v, "")
		return report
	})
}

// Denials returns a draft of a decision for each artifact that a verified revocation
// reaches, in order. Each reads the artifacts by which it was reached, from the
// revoked one on, with the hash of the record as their source and their distance as
// its coordinate. Whoever issues them adds request_digest, boundary_id and
// policy_version. (SPEC §9.6.4d)
func Denials(record wire.Value, reached []Reached) []wire.Value {
	id, _ := record.Get("revocation_id")
	steps := make(map[string]Reached, len(reached))
	for _, r := range reached {
		steps[r.ID] = r
	}
	drafts := make([]wire.Value, len(reached))
	for n, r := range reached {
		reads := make([]wire.M, r.Depth+1)
		for step := r; ; step = steps[step.Via] {
			reads[step.Depth] = wire.M{
				"element_digest": wire.HashOf(step.ID), "status": "revoked",
				"source_digest": record.Hash(), "coordinate": step.Depth,
			}
			if step.Depth == 0 {
				break
			}
		}
		v, err := wire.Encode(wire.M{
			"capability_digest": wire.HashOf(r.ID), "ancestor_reads": reads, "revocation_record_ref": id.Text(),
		})
		if err != nil {
			panic("attest: what was JSON is not: " + err.Error())
		}
		drafts[n] = v
	}
	return drafts
}
