package attest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// An AttestationSubject is an attestation with what it is verified by.
type AttestationSubject struct {
	Verifier
	Attestation *Attestation

	signed func() ([]byte, error) // what every countersigner signs, once it was asked for
}

// AttestationChecks are the checks of an attestation in order (SPEC §9.6, §9.7).
func AttestationChecks() []wire.Check[*AttestationSubject] {
	return []wire.Check[*AttestationSubject]{
		{Name: "privacy", Run: (*AttestationSubject).checkPrivacy},
		{Name: "party-signatures", Run: (*AttestationSubject).checkPartySignatures},
		{Name: "outcome-binding", Run: (*AttestationSubject).checkOutcome},
		{Name: "set-binding", Run: (*AttestationSubject).checkSet},
		{Name: "validity", Run: (*AttestationSubject).checkValidity},
		{Name: "freshness", Run: (*AttestationSubject).checkFreshness},
		{Name: "revocation", Run: (*AttestationSubject).checkRevocation},
		{Name: "fulfillment", Optional: true, Run: (*AttestationSubject).checkFulfillment},
		{Name: "witnesses", Optional: true, Run: (*AttestationSubject).checkWitnesses},
	}
}

// checkRevocation looks up whether the attestation, or what it depends on, is revoked.
// All parties made it, so that none of them can take it back: only revokers whom the
// verifier trusts count. (SPEC §9.6.4c)
func (s *AttestationSubject) checkRevocation() error {
	a := s.Attestation
	links := make([]Link, len(a.References))
	for i, r := range a.References {
		links[i] = Link{ID: r.ID, Type: r.Type, Relationship: r.Relationship}
	}
	return s.checkRevoked(AttestationURN(a.ID), "", links)
}

// VerifyAttestation checks an attestation. The report has all checks and those of
// more; if the value has not the shape of an attestation, the attestation returned
// is nil and nothing but that is known.
func (f Verifier) VerifyAttestation(v wire.Value, more ...wire.Check[*AttestationSubject]) (*Attestation, wire.Report) {
	return Judge(v, ReadAttestation, func(a *Attestation) *AttestationSubject {
		return &AttestationSubject{Verifier: f, Attestation: a}
	}, append(AttestationChecks(), more...))
}

// lists reports whether the agent is a party of the attestation.
func (a *Attestation) lists(agent wire.AgentID) bool {
	_, ok := a.listed[agent]
	return ok
}

// whole returns what every countersigner signs, made once.
func (s *AttestationSubject) whole() ([]byte, error) {
	if s.signed == nil {
		s.signed = sync.OnceValues(func() ([]byte, error) { return s.canonical(Countersigned(s.Attestation.value)) })
	}
	return s.signed()
}

// verifyWhole verifies an entry of the countersignatures.
func (s *AttestationSubject) verifyWhole(rule *wire.Rule, agent wire.AgentID, text wire.Value) error {
	return s.CheckSignature(Claim{
		Rule: rule, Signer: agent, Algorithm: wire.EdDSA, Signed: s.Attestation.Time,
		Text: text, At: "/countersignatures" + wire.Pointer(string(agent)), message: s.whole,
	})
}

// verify checks the signature member of signed, made by agent over preimage.
func (s *AttestationSubject) verify(rule *wire.Rule, agent wire.AgentID, preimage, signed wire.Value, at string) error {
	text, _ := signed.Get("signature")
	return s.CheckSignature(Claim{
		Rule: rule, Signer: agent, Algorithm: wire.EdDSA, Signed: s.Attestation.Time,
		Preimage: preimage, Text: text, At: at + "/signature",
	})
}

// checkPartySignatures checks that each party signed its own record (SPEC §9.6.5).
func (s *AttestationSubject) checkPartySignatures() error {
	parties, _ := s.Attestation.value.Get("parties")
	var unknown error
	for i, record := range parties.Elems() {
		at := fmt.Sprintf("/parties/%d", i)
		err := s.verify(RulePartyRecord, s.Attestation.Parties[i].Agent, record.Without("signature"), record, at)
		if err = later(err, &unknown); err != nil {
			return err
		}
	}
	return unknown
}

// later puts an error that only says that a key is not known, or could not be asked
// for, aside: what fails without that key fails all the same.
func later(err error, unknown *error) error {
	if _, unchecked := errors.AsType[*wire.Unchecked](err); !unchecked && !errors.Is(err, wire.RuleUnknownKey) {
		return err
	}
	if *unknown == nil {
		*unknown = err
	}
	return nil
}

// legacy is what is said of a check that an old version has nothing for. Then it
// must not have it: an attestation does not get old by writing so. An empty object
// is nothing: it credits nobody.
func (s *AttestationSubject) legacy(minor int, member string) error {
	v, has := s.Attestation.value.Get(member)
	empty := v.Kind() == wire.Object && v.Len() == 0
	if has && !empty || s.Attestation.version.since(minor) {
		return nil
	}
	return &wire.Unchecked{Why: "version " + s.Attestation.Version + " has no " + member, Moot: true}
}

// checkOutcome checks that every listed party countersigned the whole. An
// attestation before 0.2.0 has no such signatures: that is no fault, and no credit.
// (SPEC §9.6.5a)
func (s *AttestationSubject) checkOutcome() error {
	if moot := s.legacy(2, "countersignatures"); moot != nil {
		return moot
	}
	signatures, _ := s.Attestation.value.Get("countersignatures")
	var unknown error
	for _, p := range s.Attestation.Parties {
		text, _ := signatures.Get(string(p.Agent))
		if err := later(s.verifyWhole(RuleOutcome, p.Agent, text), &unknown); err != nil {
			return err
		}
	}
	return unknown
}

func (s *AttestationSubject) checkOutcomeBound() error {
	if !s.Attestation.version.since(2) {
		return &wire.Unchecked{Why: "version " + s.Attestation.Version + " binds no outcome"}
	}
	return s.checkOutcome()
}

// checkWitnesses checks the entries of countersignatures that are no party's. The
// verdict does not depend on them. A party by another name is no witness. (SPEC
// §9.6.5a)
func (s *AttestationSubject) checkWitnesses() error {
	a := s.Attestation
	signatures, _ := a.value.Get("countersignatures")
	var known *roster
	for name, text := range signatures.Members() {
		id := wire.AgentID(name)
		if a.lists(id) {
			continue
		}
		if err := s.verifyWhole(RuleWitness, id, text); err != nil {
			return err
		}
		if known == nil {
			known = new(roster)
			for _, p := range a.Parties {
				known.add(p.Agent, s.identify(p.Agent, a.Time))
			}
		}
		if known.knows(id, s.identify(id, a.Time)) {
			return RuleWitness.Because("/countersignatures"+wire.Pointer(name), ErrIsAParty)
		}
	}
	if known == nil {
		return &wire.Unchecked{Why: "there are no witnesses", Moot: true}
	}
	return nil
}

// OutcomeBound is the check of a verifier that credits the outcome: it cannot be
// made for a version that binds none (SPEC §9.6.5a).
func OutcomeBound() wire.Check[*AttestationSubject] {
	return wire.Check[*AttestationSubject]{Name: "outcome-bound", Run: (*AttestationSubject).checkOutcomeBound}
}

// FulfillmentBound is the check of a verifier that credits the fulfillment: the
// party that confirms it signed it (SPEC §9.6.5a).
func FulfillmentBound() wire.Check[*AttestationSubject] {
	return wire.Check[*AttestationSubject]{Name: "fulfillment-bound", Run: (*AttestationSubject).checkFulfillmentBound}
}

// checkSet checks that the attestation says which transcript it closes. Package
// session compares it with one. (SPEC §9.6.5b)
func (s *AttestationSubject) checkSet() error {
	if moot := s.legacy(3, "chain_head"); moot != nil {
		return moot
	}
	switch _, ok := s.Attestation.value.Get("chain_head"); {
	case !ok:
		return RuleSet.At("/chain_head")
	case s.Attestation.MessageCount == 0:
		return RuleSet.At("/message_count")
	}
	return nil
}
