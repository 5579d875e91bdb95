package attest

import (
	"errors"
	"fmt"

	"github.com/concordia-node/concordia/wire"
)

// Countersigned returns what every party signs: the attestation as it was issued,
// without its countersignatures, without any member named signature, and with the
// fulfillment that nobody knew of then (SPEC §9.6.5a).
func Countersigned(v wire.Value) wire.Value {
	v = v.Without("countersignatures")
	if f, ok := v.Get("fulfillment"); ok && f.Kind() != wire.Null {
		v = v.With("fulfillment", null)
	}
	return v.StripSignatures()
}

var (
	null, _        = wire.Encode(nil)
	emptyObject, _ = wire.Encode(wire.M{})
	emptyArray, _  = wire.Encode([]any{})
)

// ErrNotAParty reports that an attestation does not list the agent that is to
// sign it.
var ErrNotAParty = errors.New("the agent is no party of the attestation")

// Countersign adds the two signatures of a party: one over its own record, one
// over the whole. Whatever the order in which parties sign, the result is the same
// bytes; signing again changes nothing. (SPEC §9.6.5, §9.6.5a)
func Countersign(v wire.Value, agent wire.AgentID, by wire.Signer) (wire.Value, error) {
	parties, _ := v.Get("parties")
	for i, record := range parties.Elems() {
		if id, _ := record.Get("agent_id"); wire.AgentID(id.Text()) != agent {
			continue
		}
		own, err := sign(record.Without("signature"), by)
		if err != nil {
			return v, err
		}
		return signWhole(v.With("parties", parties.WithElem(i, record.With("signature", own))), agent, by)
	}
	return v, ErrNotAParty
}

// A PartySignature is what Countersign adds: the signature of a party over its own
// record, and the one over the whole.
type PartySignature struct {
	Record string `json:"record"`
	Whole  string `json:"whole"`
}

// SignatureOf returns what a party has signed of an attestation, and false if that is
// not both. It verifies nothing.
func SignatureOf(v wire.Value, agent wire.AgentID) (s PartySignature, ok bool) {
	parties, _ := v.Get("parties")
	for _, record := range parties.Elems() {
		if id, _ := record.Get("agent_id"); wire.AgentID(id.Text()) == agent {
			own, _ := record.Get("signature")
			s.Record = own.Text()
		}
	}
	whole, _ := v.At("countersignatures", string(agent))
	s.Whole = whole.Text()
	return s, s.Record != "" && s.Whole != ""
}

// WithSignature adds to an attestation what a party has signed of another copy of it. As
// with Countersign, the order does not matter.
func WithSignature(v wire.Value, agent wire.AgentID, s PartySignature) wire.Value {
	parties, _ := v.Get("parties")
	for i, record := range parties.Elems() {
		if id, _ := record.Get("agent_id"); wire.AgentID(id.Text()) == agent {
			v = v.With("parties", parties.WithElem(i, record.With("signature", wire.Text(s.Record))))
		}
	}
	signatures, ok := v.Get("countersignatures")
	if !ok {
		signatures = emptyObject
	}
	return v.With("countersignatures", signatures.With(string(agent), wire.Text(s.Whole)))
}

// ErrIsAParty reports that a party would be witness to itself.
var ErrIsAParty = errors.New("a party countersigns, it is no witness")

// Witness adds the signature of an agent that is no party: it read the transcript
// and attests that the attestation follows from it. Nothing depends on it. (SPEC
// §2.3, §9.6.5a)
func Witness(v wire.Value, agent wire.AgentID, by wire.Signer) (wire.Value, error) {
	a, err := ReadAttestation(v)
	if err != nil {
		return v, err
	}
	for _, p := range a.Parties {
		if wire.PlainDIDKey(p.Agent) == wire.PlainDIDKey(agent) {
			return v, ErrIsAParty
		}
	}
	return signWhole(v, agent, by)
}

// signWhole adds an agent's entry to the countersignatures.
func signWhole(v wire.Value, agent wire.AgentID, by wire.Signer) (wire.Value, error) {
	whole, err := sign(Countersigned(v), by)
	if err != nil {
		return v, err
	}
	signatures, ok := v.Get("countersignatures")
	if !ok {
		signatures = emptyObject
	}
	return v.With("countersignatures", signatures.With(string(agent), whole)), nil
}

func sign(preimage wire.Value, by wire.Signer) (wire.Value, error) {
	sig, err := by.Sign([]byte(preimage.Canonical()))
	if err != nil {
		return wire.Value{}, fmt.Errorf("signing an attestation: %w", err)
	}
	return wire.Text(sig.String()), nil
}

// SignedByAll reports whether each party of an attestation has an entry among its
// countersignatures. Whether those verify is for VerifyAttestation to say.
func SignedByAll(v wire.Value) bool {
	parties, _ := v.Get("parties")
	for _, p := range parties.Elems() {
		id, _ := p.Get("agent_id")
		if _, ok := v.At("countersignatures", id.Text()); !ok {
			return false
		}
	}
	return parties.Len() > 0
}
