package attest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Predicate is an issuer's word that a condition holds of a subject (SPEC
// §9.10).
type Predicate struct {
	ID        string
	Type      string // a registered URN
	Authority string // by which the issuer says so
	Issuer    wire.AgentID
	Subject   string
	Condition wire.Value
	Result    string // "satisfied", "denied", or "" if the condition states none
	IssuedAt  time.Time
	ExpiresAt time.Time // the last moment at which it stands
	Links     []Link
	Algorithm wire.Algorithm
	Status    Lifecycle

	RevocationEndpoint string // where the issuer lists what it revoked; "" if it does not say

	value wire.Value
	read  wire.Value // value, but with type where value has the alias
}

// The rules of predicates.
var (
	RulePredicate          = &wire.Rule{Section: "9.10", Name: "predicate", Class: wire.ClassSchema, Text: "a predicate has the members of its schema, and predicate_type only in place of type"}
	RulePredicateReference = &wire.Rule{Section: "9.10", Name: "predicate-reference", Class: wire.ClassSchema, Text: "a reference of a predicate has no white space and keeps to the caps"}
	RulePredicateSpelling  = &wire.Rule{Section: "9.10", Name: "predicate-spelling", Class: wire.ClassSchema, Text: "a predicate is written with type, not predicate_type"}
	RulePredicateSignature = &wire.Rule{Section: "9.10", Name: "predicate-signature", Class: wire.ClassSignature, Text: "the issuer signed the predicate"}
	RulePredicateKey       = &wire.Rule{Section: "9.10", Name: "predicate-key", Class: wire.ClassSignature, Text: "a key inside the predicate is the one that the verifier knows of its issuer"}
	RulePredicateStatus    = &wire.Rule{Section: "9.10", Name: "predicate-status", Class: wire.ClassBinding, Text: "the status of a predicate is active"}
	RulePredicateRevoked   = &wire.Rule{Section: "9.10", Name: "predicate-revoked", Class: wire.ClassBinding, Text: "a predicate in force has no revoked_at, and the endpoint, if it was asked, does not list it"}
	RulePredicateExpired   = &wire.Rule{Section: "9.10", Name: "predicate-expired", Class: wire.ClassTemporal, Text: "expires_at has not passed"}
	RulePredicateWindow    = &wire.Rule{Section: "9.10", Name: "predicate-window", Class: wire.ClassTemporal, Text: "now is from not_before to not_after of the validity, where they are given"}
	RulePredicateType      = &wire.Rule{Section: "9.10", Name: "predicate-type", Class: wire.ClassSchema, Text: "the type is registered and the condition fits its profile"}
	RulePredicateSubject   = &wire.Rule{Section: "9.10", Name: "predicate-subject", Class: wire.ClassBinding, Text: "metadata.expected_subject, if given, is the subject"}
)

var predicateRules = []*wire.Rule{
	RulePredicate, RulePredicateReference, RulePredicateSpelling, RulePredicateSignature, RulePredicateKey, RulePredicateStatus,
	RulePredicateRevoked, RulePredicateExpired, RulePredicateWindow, RulePredicateType, RulePredicateSubject,
}

var errBothTypes = errors.New("both type and predicate_type")

// ReadPredicate checks the shape of a predicate. It verifies nothing.
//
// The references are those of the published schema, which is open, and not those
// of an attestation, which are closed. Drafts wrote predicate_type: it is read
// where there is no type.
func ReadPredicate(v wire.Value) (*Predicate, error) {
	read := v
	if alias, ok := v.Get("predicate_type"); ok {
		if _, both := v.Get("type"); both {
			return nil, RulePredicate.Because("/predicate_type", errBothTypes)
		}
		read = v.Without("predicate_type").With("type", alias)
	}
	r, err := Shape(read, "predicate", RulePredicate)
	if err != nil {
		return nil, err
	}
	p := &Predicate{
		ID: r.Text("predicate_id"), Type: r.Text("type"), Authority: r.Text("authority"),
		Issuer: wire.ReadID[wire.AgentID](r, "issuer"), Subject: r.Text("subject"), Condition: r.Value("condition"),
		IssuedAt: r.Time("issued_at"), ExpiresAt: r.Time("expires_at"),
		Algorithm: wire.Algorithm(r.Text("algorithm")), Status: Lifecycle(r.Text("status")),
		RevocationEndpoint: r.OptText("revocation_endpoint"), value: v, read: read,
	}
	result, _ := p.Condition.Get("result")
	p.Result = result.Text()
	p.checkSpelling(r)
	for _, rr := range r.For(RulePredicateReference).Objects("references") {
		ref := readReference(rr)
		p.Links = append(p.Links, Link{ID: ref.ID, Type: ref.Type, Relationship: ref.Relationship})
	}
	return p, r.Err()
}

// checkSpelling looks at the objects that the schema says nothing of, and from which
// something is read all the same.
func (p *Predicate) checkSpelling(r wire.Reader) {
	known := []string{"result"}
	if profile, ok := conditionOf(p.Type); ok {
		known = slices.AppendSeq(known, maps.Keys(profile.members))
	}
	r.Object("condition").Open(known...)
	if v, ok := r.OptObject("validity"); ok {
		v.Open("mode", "not_before", "not_after")
	}
	if m, ok := r.OptObject("metadata"); ok {
		m.Open("expected_subject", "issuer_public_key_b64")
	}
}

// Value returns the predicate as it was received.
func (p *Predicate) Value() wire.Value { return p.value }

// A PredicateSubject is a predicate with what it is verified by.
type PredicateSubject struct {
	Verifier
	Predicate *Predicate
}

// PredicateChecks are the checks of a predicate in order (SPEC §9.10).
func PredicateChecks() []wire.Check[*PredicateSubject] {
	return []wire.Check[*PredicateSubject]{
		{Name: "signature", Run: (*PredicateSubject).checkSignature},
		{Name: "embedded-key", Run: (*PredicateSubject).checkKey},
		{Name: "status", Run: (*PredicateSubject).checkStatus},
		{Name: "revoked-at", Run: (*PredicateSubject).checkRevokedAt},
		{Name: "expiry", Run: (*PredicateSubject).checkExpiry},
		{Name: "freshness", Run: func(s *PredicateSubject) error { return s.CheckAnchor(s.Predicate.IssuedAt, "/issued_at") }},
		{Name: "bounds", Run: (*PredicateSubject).checkBounds},
		{Name: "type", Run: (*PredicateSubject).checkType},
		{Name: "subject", Run: (*PredicateSubject).checkSubject},
		{Name: "revocation", Run: func(s *PredicateSubject) error {
			return s.checkRevoked(s.Predicate.ID, s.Predicate.Issuer, s.Predicate.Links)
		}},
		{Name: "revocation-endpoint", Run: func(s *PredicateSubject) error {
			return s.checkListed(RulePredicateRevoked, s.Predicate.RevocationEndpoint, s.Predicate.ID, s.checkSignature)
		}},
		{Name: "delegation", Optional: true, Run: (*PredicateSubject).checkDelegation},
	}
}

// Spelled is the check of a verifier that reads the published schema to the
// letter: there is no predicate_type (SPEC §9.10).
func Spelled() wire.Check[*PredicateSubject] {
	return wire.Check[*PredicateSubject]{Name: "spelling", Run: func(s *PredicateSubject) error {
		if _, alias := s.Predicate.value.Get("predicate_type"); alias {
			return RulePredicateSpelling.At("/predicate_type")
		}
		return nil
	}}
}

// VerifyPredicate checks that a predicate is in force. Whether its issuer has the
// authority that it names is for the caller to know, and so is the subject it asks
// about.
func (f Verifier) VerifyPredicate(v wire.Value, more ...wire.Check[*PredicateSubject]) (*Predicate, wire.Report) {
	return Judge(v, ReadPredicate, func(p *Predicate) *PredicateSubject {
		return &PredicateSubject{Verifier: f, Predicate: p}
	}, append(PredicateChecks(), more...))
}

// checkSignature verifies under the issuer's key as the verifier knows it. The
// reference takes the key from inside the predicate, so that anybody can issue as
// anybody.
//
// Of a predicate with the alias the reference signs and verifies the text with
// type in its place; a draft's issuer may have signed what it sent. Both say the
// same.
func (s *PredicateSubject) checkSignature() error {
	p := s.Predicate
	text, _ := p.value.Get("signature")
	claim := Claim{
		Rule: RulePredicateSignature, Signer: p.Issuer, Algorithm: p.Algorithm, Signed: p.IssuedAt,
		Preimage: p.read.Without("signature"), Text: text, At: "/signature",
	}
	err := s.CheckSignature(claim)
	if errors.Is(err, RulePredicateSignature) && !p.read.Equal(p.value) {
		claim.Preimage = p.value.Without("signature")
		return s.CheckSignature(claim)
	}
	return err
}

// checkKey compares the key that the reference embeds. It is a hint, never the key
// to verify with; a wrong one tells that the predicate was made to deceive readers
// who believe it.
func (s *PredicateSubject) checkKey() error {
	embedded, ok := s.Predicate.value.At("metadata", "issuer_public_key_b64")
	if !ok {
		return &wire.Unchecked{Why: "the predicate embeds no key", Moot: true}
	}
	known, err := s.key(s.Predicate.Issuer, s.Predicate.IssuedAt)
	if err != nil {
		return fmt.Errorf("resolving a key: %w", err)
	}
	if embedded.Text() != known.String() {
		return RulePredicateKey.At("/metadata/issuer_public_key_b64")
	}
	return nil
}

func (s *PredicateSubject) checkStatus() error {
	if s.Predicate.Status != LifecycleActive {
		return RulePredicateStatus.Because("/status", fmt.Errorf("it is %s", s.Predicate.Status))
	}
	return nil
}

// checkRevokedAt refuses any revoked_at, as the reference does, also one to come:
// what is planned belongs into expires_at or a revocation record.
func (s *PredicateSubject) checkRevokedAt() error {
	if _, ok := s.Predicate.value.Get("revoked_at"); ok {
		return RulePredicateRevoked.At("/revoked_at")
	}
	return nil
}

func (s *PredicateSubject) checkExpiry() error {
	if s.Now.After(s.Predicate.ExpiresAt) {
		return RulePredicateExpired.At("/expires_at")
	}
	return nil
}

// checkBounds holds a predicate to the bounds in its validity, which is open: a
// bound that cannot be read is not inside. The other modes of a validity need
// what nobody tells a verifier of predicates; the reference judges none.
func (s *PredicateSubject) checkBounds() error {
	validity, _ := s.Predicate.value.Get("validity")
	before, hasBefore := validity.Get("not_before")
	after, hasAfter := validity.Get("not_after")
	if !hasBefore && !hasAfter {
		return &wire.Unchecked{Why: "the predicate gives no bounds but expires_at", Moot: true}
	}
	if hasBefore {
		if t, err := wire.ParseTime(before.Text()); err != nil || s.Now.Before(t) {
			return RulePredicateWindow.Because("/validity/not_before", err)
		}
	}
	if hasAfter {
		if t, err := wire.ParseTime(after.Text()); err != nil || s.Now.After(t) {
			return RulePredicateWindow.Because("/validity/not_after", err)
		}
	}
	return nil
}

func (s *PredicateSubject) checkSubject() error {
	expected, ok := s.Predicate.value.At("metadata", "expected_subject")
	if !ok {
		return &wire.Unchecked{Why: "the predicate expects no subject", Moot: true}
	}
	if expected.Kind() != wire.String || expected.Text() != s.Predicate.Subject {
		return RulePredicateSubject.At("/metadata/expected_subject")
	}
	return nil
}

func (s *PredicateSubject) checkDelegation() error {
	if _, ok := s.Predicate.value.Get("delegation_chain"); !ok {
		return &wire.Unchecked{Why: "the predicate has no delegation chain", Moot: true}
	}
	return &wire.Unchecked{Why: "the chain inside a predicate is information: the issuer's own signature counts"}
}

// A conditionProfile says what a condition of one type looks like once it states a
// result. A type that is not deterministic must not state one.
type conditionProfile struct {
	deterministic bool
	members       map[string]wire.Kind // where they are there
}

// conditionOf returns the profile of a registered type (SPEC §9.10). The registry
// is this switch: it cannot change under a verifier's feet.
func conditionOf(predicateType string) (conditionProfile, bool) {
	const prefix, version = "urn:concordia:predicate-type:", ":v1"
	switch predicateType {
	case prefix + "authority_gate" + version, prefix + "approval_gate" + version, prefix + "jcs_edge" + version:
		return conditionProfile{deterministic: true}, true
	case prefix + "policy_gate" + version:
		return conditionProfile{true, map[string]wire.Kind{"all": wire.Array, "any": wire.Array}}, true
	case prefix + "procurement_eligibility" + version:
		return conditionProfile{true, map[string]wire.Kind{"operation": wire.String, "limit": wire.Object}}, true
	case prefix + "non_deterministic_test" + version:
		return conditionProfile{}, true
	}
	return conditionProfile{}, false
}

var (
	errUnregistered     = errors.New("the type is not registered")
	errNotDeterministic = errors.New("a type that is not deterministic states no result")
	errResult           = errors.New("want satisfied or denied")
)

func (s *PredicateSubject) checkType() error {
	p := s.Predicate
	profile, ok := conditionOf(p.Type)
	if !ok {
		return RulePredicateType.Because("/type", errUnregistered)
	}
	result, stated := p.Condition.Get("result")
	switch {
	case !stated:
		return nil
	case !profile.deterministic:
		return RulePredicateType.Because("/condition/result", errNotDeterministic)
	case result.Text() != "satisfied" && result.Text() != "denied":
		return RulePredicateType.Because("/condition/result", errResult)
	}
	for name, v := range p.Condition.Members() {
		if want, ok := profile.members[name]; ok && v.Kind() != want {
			return RulePredicateType.Because("/condition/"+name, fmt.Errorf("want %v", want))
		}
	}
	return nil
}

// PredicateType returns the URN of a type that is registered under a short name, such
// as "authority_gate", and every other text as it is (SPEC §9.10).
func PredicateType(name string) string {
	urn := "urn:concordia:predicate-type:" + name + ":v1"
	if _, ok := conditionOf(urn); ok {
		return urn
	}
	return name
}

// Predicate issues a predicate. The draft says the type, the subject, the condition
// and expires_at; the authority is the issuer itself unless it says another. The
// issuer's key stands inside for the readers who need it there: it proves nothing.
// (SPEC §9.10)
func (i Issuer) Predicate(v wire.Value) (wire.Value, error) {
	d := i.draft("a predicate", v)
	if d.err == nil && d.has("type") {
		d.set(PredicateType(d.text("type")), "type")
	}
	if i.Key.Public().Algorithm() == wire.EdDSA { // readers that take the key from there know no other
		d.fill(i.Key.Public(), "metadata", "issuer_public_key_b64")
	}
	if d.err != nil {
		return d.done(nil)
	}
	return i.Make(Form{
		Kind: d.kind, ID: "predicate_id", Prefix: "urn:concordia:predicate:", Signer: "issuer", Issued: "issued_at", Curve: true,
		Usual: wire.M{"authority": i.Agent, "references": []Link{}, "status": LifecycleActive},
		Verifies: func(f Verifier, v wire.Value) wire.Report {
			_, report := f.VerifyPredicate(v, Spelled())
			return report
		},
	}, d.v)
}

// CTEF maps a predicate that has been verified to a claim of that format, which is
// signed by nobody (SPEC §9.10).
func (p *Predicate) CTEF(verified time.Time) wire.Value {
	m := wire.M{
		"claim_type": "authority", "claim_subtype": "predicate_evaluation", "artifact_ref": p.ID, "issuer": p.Issuer,
		"subject": p.Subject, "authority": p.Authority, "verified_at": wire.FormatTime(verified), "result": nil,
	}
	if p.Result != "" {
		m["result"] = p.Result
	}
	v, err := wire.Encode(m)
	if err != nil {
		panic("attest: what was JSON is not: " + err.Error())
	}
	return v
}
