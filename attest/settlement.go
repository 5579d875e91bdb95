package attest

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A FulfillmentAttestation says, as an artifact of its own, what became of an
// agreement. Who signs it need not be a party: a carrier, a mediator. (SPEC
// §9.6.4a)
type FulfillmentAttestation struct {
	ID        string
	IssuedAt  time.Time
	Agreement string // id of the attestation of the agreement
	Status    SettlementStatus
	SettledAt time.Time    // zero if not told
	Signer    wire.AgentID // "" if not told; whose key it is, is then for the caller to know

	MediatorInvoked bool
	Resolver        string    // the mediator, "" if not told
	Resolution      string    // a short label, "" if not told
	ResolvedAt      time.Time // zero if not told
	Evidence        []string
	Links           []Link

	value wire.Value
}

// A SettlementStatus is what became of an agreement (SPEC §9.6.4a).
type SettlementStatus string

// The statuses of SPEC §9.6.4a.
const (
	FulfilledClean         SettlementStatus = "fulfilled_clean"
	FulfilledWithMediation SettlementStatus = "fulfilled_with_mediation"
	SettlementFailed       SettlementStatus = "failed"
	DisputedUnresolved     SettlementStatus = "disputed_unresolved"
)

// The rules of fulfillment attestations.
var (
	RuleSettlement          = &wire.Rule{Section: "9.6.4a", Name: "settlement", Class: wire.ClassSchema, Text: "a fulfillment attestation has the members of its schema"}
	RuleFulfillsReference   = &wire.Rule{Section: "9.6.4a", Name: "fulfills-reference", Class: wire.ClassSchema, Text: "a fulfillment attestation refers to an agreement that it fulfills"}
	RuleFulfillsAgreement   = &wire.Rule{Section: "9.6.4a", Name: "fulfills-agreement", Class: wire.ClassBinding, Text: "a fulfills reference points at agreement_attestation_id"}
	RuleMediated            = &wire.Rule{Section: "9.6.4a", Name: "mediated", Class: wire.ClassSchema, Text: "what is fulfilled with mediation says that a mediator was invoked"}
	RuleUnmediated          = &wire.Rule{Section: "9.6.4a", Name: "unmediated", Class: wire.ClassSchema, Text: "what is fulfilled clean does not say that a mediator was invoked"}
	RuleSettlementSignature = &wire.Rule{Section: "9.6.4a", Name: "settlement-signature", Class: wire.ClassSignature, Text: "the signer signed the fulfillment attestation"}
	RuleSettledAgreement    = &wire.Rule{Section: "9.6.4a", Name: "settled-agreement", Class: wire.ClassBinding, Text: "the settled agreement is the one at hand"}
)

var settlementRules = []*wire.Rule{
	RuleSettlement, RuleFulfillsReference, RuleFulfillsAgreement, RuleMediated, RuleUnmediated,
	RuleSettlementSignature, RuleSettledAgreement,
}

// ReadFulfillmentAttestation checks the shape of a fulfillment attestation. It
// verifies nothing.
func ReadFulfillmentAttestation(v wire.Value) (*FulfillmentAttestation, error) {
	r, err := Shape(v, "fulfillment_attestation", RuleSettlement)
	if err != nil {
		return nil, err
	}
	outcome := r.Object("fulfillment")
	a := &FulfillmentAttestation{
		ID: r.Text("id"), IssuedAt: r.Time("issued_at"), Agreement: r.Text("agreement_attestation_id"),
		Status: SettlementStatus(outcome.Text("status")), SettledAt: optTime(outcome, "settled_at"),
		Signer: wire.AgentID(r.Object("signature").OptText("signer_did")),
		Links:  readLinks(r, "references"), value: v,
	}
	if m, ok := r.OptObject("meta"); ok {
		a.MediatorInvoked = m.OptBool("mediator_invoked")
		a.Resolver, a.Resolution = m.OptText("resolver_did"), m.OptText("resolution_outcome")
		a.ResolvedAt = optTime(m, "resolution_timestamp")
		if m.Has("fulfillment_evidence") {
			a.Evidence = m.Strings("fulfillment_evidence")
		}
	}
	return a, r.Err()
}

// optTime reads a timestamp that may be left out.
func optTime(r wire.Reader, name string) time.Time {
	if !r.Has(name) {
		return time.Time{}
	}
	return r.Time(name)
}

// Value returns the attestation as it was received.
func (a *FulfillmentAttestation) Value() wire.Value { return a.value }

// A FulfillmentSubject is a fulfillment attestation with what it is verified by.
type FulfillmentSubject struct {
	Verifier
	Attestation *FulfillmentAttestation
	Agreement   string // id of the agreement it has to be about; "" if any
}

// FulfillmentChecks are the checks of a fulfillment attestation in order (SPEC
// §9.6.4a).
func FulfillmentChecks() []wire.Check[*FulfillmentSubject] {
	return []wire.Check[*FulfillmentSubject]{
		{Name: "fulfills-reference", Run: (*FulfillmentSubject).checkReference},
		{Name: "fulfills-agreement", Run: (*FulfillmentSubject).checkAgreement},
		{Name: "mediated", Run: (*FulfillmentSubject).checkMediated},
		{Name: "unmediated", Run: (*FulfillmentSubject).checkUnmediated},
		{Name: "signature", Run: (*FulfillmentSubject).checkSignature},
		{Name: "freshness", Run: (*FulfillmentSubject).checkFreshness},
		{Name: "revocation", Run: func(s *FulfillmentSubject) error {
			return s.checkRevoked(s.Attestation.ID, s.Attestation.Signer, s.Attestation.Links)
		}},
		{Name: "privacy", Run: (*FulfillmentSubject).checkPrivacy},
		{Name: "agreement", Run: (*FulfillmentSubject).checkSettled},
	}
}

// VerifyFulfillment checks a fulfillment attestation of this agreement; "" stands
// for any.
func (f Verifier) VerifyFulfillment(v wire.Value, agreement string) (*FulfillmentAttestation, wire.Report) {
	return Judge(v, ReadFulfillmentAttestation, func(a *FulfillmentAttestation) *FulfillmentSubject {
		return &FulfillmentSubject{Verifier: f, Attestation: a, Agreement: agreement}
	}, FulfillmentChecks())
}

func (s *FulfillmentSubject) checkReference() error {
	for _, l := range s.Attestation.Links {
		if l.Relationship == "fulfills" {
			return nil
		}
	}
	return RuleFulfillsReference.At("/references")
}

// checkAgreement leaves it to the check before to find no such reference at all.
func (s *FulfillmentSubject) checkAgreement() error {
	if refersElsewhere(s.Attestation.Links, "fulfills", s.Attestation.Agreement) {
		return RuleFulfillsAgreement.At("/references")
	}
	return nil
}

func (s *FulfillmentSubject) checkMediated() error {
	if s.Attestation.Status == FulfilledWithMediation && !s.Attestation.MediatorInvoked {
		return RuleMediated.At("/meta/mediator_invoked")
	}
	return nil
}

// checkUnmediated refuses a contradiction that the published schema lets pass.
func (s *FulfillmentSubject) checkUnmediated() error {
	if s.Attestation.Status == FulfilledClean && s.Attestation.MediatorInvoked {
		return RuleUnmediated.At("/meta/mediator_invoked")
	}
	return nil
}

// checkSignature looks for the key of signer_did. That member is not signed, but
// whoever changes it only names another key.
func (s *FulfillmentSubject) checkSignature() error {
	text, _ := s.Attestation.value.At("signature", "value")
	return s.CheckSignature(Claim{
		Rule: RuleSettlementSignature, Signer: s.Attestation.Signer, Algorithm: wire.EdDSA, Signed: s.Attestation.IssuedAt,
		Preimage: s.Attestation.value.Without("signature"), Text: text, At: "/signature/value",
	})
}

// checkFreshness judges when it was issued, and that nothing is told to have
// happened that has not.
func (s *FulfillmentSubject) checkFreshness() error {
	if err := s.CheckAge(s.Attestation.IssuedAt, "/issued_at"); err != nil {
		return err
	}
	if err := s.CheckAnchor(s.Attestation.SettledAt, "/fulfillment/settled_at"); err != nil {
		return err
	}
	return s.CheckAnchor(s.Attestation.ResolvedAt, "/meta/resolution_timestamp")
}

// checkPrivacy scans all text but the ids: whoever settles writes what it likes
// into fulfillment, meta and members of its own. (SPEC §9.6.6)
func (s *FulfillmentSubject) checkPrivacy() error {
	free := withoutAll(s.Attestation.value, "id", "agreement_attestation_id", "references", "signature", "charge_ref", "action_ref")
	if at, ok := findTerms(free, ""); ok {
		return RuleDealTerms.At(at)
	}
	links, _ := s.Attestation.value.Get("references")
	for i, l := range links.Elems() {
		if at, ok := findTerms(withoutAll(l, "id", "type", "version", "signer_did"), fmt.Sprintf("/references/%d", i)); ok {
			return RuleDealTerms.At(at)
		}
	}
	return nil
}

var errOtherAgreement = errors.New("it settles another agreement")

func (s *FulfillmentSubject) checkSettled() error {
	if s.Agreement == "" {
		return &wire.Unchecked{Why: "any agreement will do", Moot: true}
	}
	if s.Attestation.Agreement != s.Agreement {
		return RuleSettledAgreement.Because("/agreement_attestation_id", errOtherAgreement)
	}
	return nil
}

// Fulfillment issues a fulfillment attestation. The draft says the
// agreement_attestation_id and the status. (SPEC §9.6.4a)
func (i Issuer) Fulfillment(v wire.Value) (wire.Value, error) {
	d := i.draft("a fulfillment attestation", v)
	d.only(wire.EdDSA)
	d.fill("FulfillmentAttestation", "attestation_type")
	d.fillID("urn:concordia:fulfillment:", "id")
	d.fillTimes("issued_at", 0, "")
	if agreement := d.text("agreement_attestation_id"); agreement != "" {
		d.fill([]Link{{ID: agreement, Type: "receipt", Relationship: "fulfills"}}, "references")
	}
	d.signBlock("Ed25519", wire.M{"signer_did": d.Agent})
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyFulfillment(v, "")
		return report
	})
}
