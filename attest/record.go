package attest

import (
	"errors"

	"github.com/concordia-node/concordia/wire"
)

// A SignedRecord is any JSON object with a signature, and with what it takes to
// verify it: a record of whatever an agent wants to answer for (SPEC §9.2.2).
type SignedRecord struct {
	Key       string // as the record gives it: a hint, never the key to verify with
	Algorithm wire.Algorithm

	value wire.Value
}

// The rules of signed records.
var (
	RuleRecord          = &wire.Rule{Section: "9.2.2", Name: "record", Class: wire.ClassSchema, Text: "a signed record has verification_material of five members, and a signature"}
	RuleRecordKey       = &wire.Rule{Section: "9.2.2", Name: "record-key", Class: wire.ClassSignature, Text: "the key in the verification material is the one that the verifier knows of the signer"}
	RuleRecordSignature = &wire.Rule{Section: "9.2.2", Name: "record-signature", Class: wire.ClassSignature, Text: "the signer signed all members but the signature"}
)

var recordRules = []*wire.Rule{RuleRecord, RuleRecordKey, RuleRecordSignature}

const (
	canonicalization = "RFC8785-JCS"
	preimageRule     = "object minus top-level 'signature'"
)

// keyTypes are the names of keys in verification material, by what they sign.
var keyTypes = map[wire.Algorithm]string{wire.EdDSA: "Ed25519", wire.ES256: "P-256"}

var errKeyType = errors.New("not a key of the algorithm that is named")

// ReadSignedRecord checks the shape of a signed record. It verifies nothing.
func ReadSignedRecord(v wire.Value) (*SignedRecord, error) {
	if err := bounded(v); err != nil {
		return nil, err
	}
	r := wire.Read(v, "", RuleRecord)
	r.Open("signature", "verification_material")
	r.Text("signature")
	m := r.Object("verification_material")
	m.Closed("key_type", "public_key_b64url", "alg", "canonicalization", "preimage_rule")
	s := &SignedRecord{
		Key: m.Text("public_key_b64url"), Algorithm: wire.Algorithm(m.OneOf("alg", string(wire.EdDSA), string(wire.ES256))), value: v,
	}
	if m.Text("key_type") != keyTypes[s.Algorithm] {
		m.Fail("key_type", errKeyType)
	}
	m.OneOf("canonicalization", canonicalization)
	m.OneOf("preimage_rule", preimageRule)
	return s, r.Err()
}

// Value returns the record as it was received.
func (s *SignedRecord) Value() wire.Value { return s.value }

// A RecordSubject is a signed record with what it is verified by.
type RecordSubject struct {
	Verifier
	Record *SignedRecord
	Signer wire.AgentID // who has to have signed; never from the record
}

// RecordChecks are the checks of a signed record in order (SPEC §9.2.2).
func RecordChecks() []wire.Check[*RecordSubject] {
	return []wire.Check[*RecordSubject]{
		{Name: "key", Run: (*RecordSubject).checkKey},
		{Name: "signature", Run: (*RecordSubject).checkSignature},
	}
}

// VerifyRecord checks that the signer signed a record. A record does not say who that
// is: without a signer it cannot be verified, whatever key is inside.
func (f Verifier) VerifyRecord(v wire.Value, signer wire.AgentID) (*SignedRecord, wire.Report) {
	return Judge(v, ReadSignedRecord, func(r *SignedRecord) *RecordSubject {
		return &RecordSubject{Verifier: f, Record: r, Signer: signer}
	}, RecordChecks())
}

var errNoSigner = &wire.Unchecked{Why: "who has to have signed is not known"}

func (s *RecordSubject) checkKey() error {
	if s.Signer == "" {
		return errNoSigner
	}
	known, err := s.key(s.Signer, s.Now)
	if err != nil {
		return err
	}
	if s.Record.Key != known.String() {
		return RuleRecordKey.At("/verification_material/public_key_b64url")
	}
	return nil
}

// checkSignature asks for the key the verifier has now: a record need not say when
// it was made.
func (s *RecordSubject) checkSignature() error {
	if s.Signer == "" {
		return errNoSigner
	}
	text, _ := s.Record.value.Get("signature")
	return s.CheckSignature(Claim{
		Rule: RuleRecordSignature, Signer: s.Signer, Algorithm: s.Record.Algorithm, Signed: s.Now,
		Preimage: s.Record.value.Without("signature"), Text: text, At: "/signature",
	})
}

// Record signs any JSON object and puts in what others need to verify it. Whoever
// signed it before has not signed the result. (SPEC §9.2.2)
func (i Issuer) Record(v wire.Value) (wire.Value, error) {
	d := i.draft("a record", v)
	key := i.Key.Public()
	d.set(wire.M{
		"key_type": keyTypes[key.Algorithm()], "public_key_b64url": key, "alg": key.Algorithm(),
		"canonicalization": canonicalization, "preimage_rule": preimageRule,
	}, "verification_material")
	d.signBare()
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyRecord(v, i.Agent)
		return report
	})
}
