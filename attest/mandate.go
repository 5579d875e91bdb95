package attest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concordia-node/concordia/internal/schema"
	"github.com/concordia-node/concordia/wire"
)

// A Mandate lets its subject act for its issuer: in a mode of validity, within
// constraints, and as delegated (SPEC §9.9).
type Mandate struct {
	ID          string
	Issuer      wire.AgentID
	Subject     wire.AgentID
	IssuedAt    time.Time
	Algorithm   wire.Algorithm
	Status      Lifecycle // LifecycleActive if the mandate says nothing
	RevokedAt   time.Time // zero if it is not revoked
	Validity    MandateValidity
	Constraints wire.Value   // a JSON Schema for actions
	Chain       []Delegation // from the issuer to the subject; empty if the issuer mandates the subject itself

	// RevocationEndpoint is where the issuer lists what it revoked, "" if it does not
	// say. Nothing here asks it but Verifier.Listed.
	RevocationEndpoint string

	value wire.Value
}

// A Lifecycle is what the issuer of a mandate or predicate says of its standing.
type Lifecycle string

// The stages of SPEC §9.9. Only what is active stands.
const (
	LifecycleActive    Lifecycle = "active"
	LifecycleExpired   Lifecycle = "expired"
	LifecycleRevoked   Lifecycle = "revoked"
	LifecycleSuspended Lifecycle = "suspended"
)

// A Mode is what the validity of a mandate hangs on.
type Mode string

// The modes of SPEC §9.9.
const (
	Windowed   Mode = "windowed"    // a time
	Sequence   Mode = "sequence"    // a sequence of actions, known by a key
	StateBound Mode = "state_bound" // a condition that the verifier can see
)

// A MandateValidity says when a mandate is in force.
type MandateValidity struct {
	Mode           Mode
	NotBefore      time.Time // zero if there is none
	NotAfter       time.Time // the last moment; zero if there is none
	SequenceKey    string
	StateCondition string
	MaxUses        int64 // 0: no limit
}

// A Use is what a mandate is asked for, and what only the verifier can know.
type Use struct {
	Action      wire.Value // absent if unknown: then the mandate is not known to allow it
	SequenceKey string     // of the sequence the action belongs to; "" if unknown
	StateActive *bool      // whether the mandate's state condition holds; nil if unknown
	Uses        *int64     // how often the mandate was used before; nil if unknown
}

// The rules of mandates.
var (
	RuleMandate          = &wire.Rule{Section: "9.9", Name: "mandate", Class: wire.ClassSchema, Text: "a mandate has the members of its schema"}
	RuleMandateSignature = &wire.Rule{Section: "9.9", Name: "mandate-signature", Class: wire.ClassSignature, Text: "the issuer signed the mandate"}
	RuleMandateStatus    = &wire.Rule{Section: "9.9", Name: "mandate-status", Class: wire.ClassBinding, Text: "the status of a mandate, if it has one, is active"}
	RuleMandateRevoked   = &wire.Rule{Section: "9.9", Name: "mandate-revoked", Class: wire.ClassBinding, Text: "revoked_at has not come, and the endpoint, if it was asked, does not list the mandate"}
	RuleMandateWindow    = &wire.Rule{Section: "9.9", Name: "mandate-window", Class: wire.ClassTemporal, Text: "now is from not_before to not_after, whatever the mode"}
	RuleMandateSequence  = &wire.Rule{Section: "9.9", Name: "mandate-sequence", Class: wire.ClassTemporal, Text: "in sequence mode the action belongs to the mandate's sequence"}
	RuleMandateState     = &wire.Rule{Section: "9.9", Name: "mandate-state", Class: wire.ClassTemporal, Text: "in state_bound mode the mandate's condition holds"}
	RuleMandateUses      = &wire.Rule{Section: "9.9", Name: "mandate-uses", Class: wire.ClassBinding, Text: "the mandate was used fewer times than max_uses"}
	RuleConstraints      = &wire.Rule{Section: "9.9.2", Name: "constraints", Class: wire.ClassSchema, Text: "constraints are a JSON Schema within the limits"}
	RuleAction           = &wire.Rule{Section: "9.9.2", Name: "action", Class: wire.ClassBinding, Text: "the action is an object that satisfies the constraints"}
)

var mandateRules = []*wire.Rule{
	RuleMandate, RuleMandateSignature, RuleMandateStatus, RuleMandateRevoked,
	RuleMandateWindow, RuleMandateSequence, RuleMandateState, RuleMandateUses,
	RuleDelegation, RuleDelegated, RuleDelegationRoot, RuleDelegationTail, RuleDelegationContinuity,
	RuleDelegationSignature, RuleDelegationOrder, RuleConstraints, RuleAction, RuleRestriction, RuleDelegatedAction,
}

// ReadMandate checks the shape of a mandate. It verifies nothing.
func ReadMandate(v wire.Value) (*Mandate, error) {
	r, err := Shape(v, "mandate", RuleMandate)
	if err != nil {
		return nil, err
	}
	m := &Mandate{
		ID: r.Text("mandate_id"), Issuer: wire.ReadID[wire.AgentID](r, "issuer"), Subject: wire.ReadID[wire.AgentID](r, "subject"),
		IssuedAt: r.Time("issued_at"), Algorithm: wire.Algorithm(r.Text("algorithm")), Status: LifecycleActive,
		RevokedAt: optTime(r, "revoked_at"), Validity: readMandateValidity(r.Object("validity")),
		Constraints: r.Value("constraints"), RevocationEndpoint: r.OptText("revocation_endpoint"), value: v,
	}
	if r.Has("status") {
		m.Status = Lifecycle(r.Text("status"))
	}
	m.Chain = readDelegations(r)
	return m, r.Err()
}

func readMandateValidity(r wire.Reader) MandateValidity {
	return MandateValidity{
		Mode: Mode(r.Text("mode")), NotBefore: optTime(r, "not_before"), NotAfter: optTime(r, "not_after"),
		SequenceKey: r.OptText("sequence_key"), StateCondition: r.OptText("state_condition"),
		MaxUses: r.OptInt("max_uses", 1, wire.MaxSafeInteger, 0),
	}
}

// Value returns the mandate as it was received.
func (m *Mandate) Value() wire.Value { return m.value }

// A MandateSubject is a mandate with what it is verified by.
type MandateSubject struct {
	Verifier
	Mandate *Mandate
	Use     Use
}

// MandateChecks are the checks of a mandate in order (SPEC §9.9).
func MandateChecks() []wire.Check[*MandateSubject] {
	return []wire.Check[*MandateSubject]{
		{Name: "id", Run: func(s *MandateSubject) error { return CheckNamed(RuleMandate, s.Mandate.value, "mandate_id") }},
		{Name: "signature", Run: (*MandateSubject).checkSignature},
		{Name: "status", Run: (*MandateSubject).checkStatus},
		{Name: "revoked-at", Run: (*MandateSubject).checkRevokedAt},
		{Name: "validity", Run: (*MandateSubject).checkValidity},
		{Name: "bounds", Run: (*MandateSubject).checkBounds},
		{Name: "uses", Run: (*MandateSubject).checkUses},
		{Name: "freshness", Run: func(s *MandateSubject) error { return s.CheckAnchor(s.Mandate.IssuedAt, "/issued_at") }},
		{Name: "delegation-root", Run: (*MandateSubject).checkRoot},
		{Name: "delegation-tail", Run: (*MandateSubject).checkTail},
		{Name: "delegation-continuity", Run: (*MandateSubject).checkContinuity},
		{Name: "delegation-signatures", Run: (*MandateSubject).checkLinks},
		{Name: "delegation-order", Run: (*MandateSubject).checkOrder},
		{Name: "constraints", Run: (*MandateSubject).checkConstraints},
		{Name: "restrictions", Run: (*MandateSubject).checkRestrictions},
		{Name: "action", Run: (*MandateSubject).checkAction},
		{Name: "delegated-action", Run: (*MandateSubject).checkDelegatedAction},
		{Name: "revocation", Run: func(s *MandateSubject) error {
			return s.checkRevoked(s.Mandate.ID, s.Mandate.Issuer, nil)
		}},
		{Name: "revocation-endpoint", Run: (*MandateSubject).checkEndpoint},
	}
}

// VerifyMandate checks that a mandate is in force for this use. What use leaves
// out and the mandate turns on is a required check that could not be made.
func (f Verifier) VerifyMandate(v wire.Value, use Use, more ...wire.Check[*MandateSubject]) (*Mandate, wire.Report) {
	return Judge(v, ReadMandate, func(m *Mandate) *MandateSubject {
		return &MandateSubject{Verifier: f, Mandate: m, Use: use}
	}, append(MandateChecks(), more...))
}

func (s *MandateSubject) checkSignature() error {
	text, _ := s.Mandate.value.Get("signature")
	return s.CheckSignature(Claim{
		Rule: RuleMandateSignature, Signer: s.Mandate.Issuer, Algorithm: s.Mandate.Algorithm, Signed: s.Mandate.IssuedAt,
		Preimage: s.Mandate.value.Without("signature"), Text: text, At: "/signature",
	})
}

func (s *MandateSubject) checkStatus() error {
	if s.Mandate.Status != LifecycleActive {
		return RuleMandateStatus.Because("/status", fmt.Errorf("it is %s", s.Mandate.Status))
	}
	return nil
}

// checkRevokedAt takes revoked_at for what its issuer signed: the mandate stands
// until then. The reference shows the member and does not judge it, so that a
// mandate revoked long ago would pass.
func (s *MandateSubject) checkRevokedAt() error {
	if at := s.Mandate.RevokedAt; !at.IsZero() && !s.Now.Before(at) {
		return RuleMandateRevoked.At("/revoked_at")
	}
	return nil
}

// checkValidity judges the mode that the mandate has. It cannot be judged without
// what only the verifier knows. (SPEC §9.9)
func (s *MandateSubject) checkValidity() error {
	v := s.Mandate.Validity
	switch v.Mode {
	case Windowed:
		return s.checkWindow()
	case Sequence:
		if s.Use.SequenceKey == "" {
			return &wire.Unchecked{Why: "the sequence of the action is not known"}
		}
		if s.Use.SequenceKey != v.SequenceKey {
			return RuleMandateSequence.At("/validity/sequence_key")
		}
	case StateBound:
		if s.Use.StateActive == nil {
			return &wire.Unchecked{Why: "it is not known whether the mandate's condition holds"}
		}
		if !*s.Use.StateActive {
			return RuleMandateState.At("/validity/state_condition")
		}
	}
	return nil
}

// checkBounds holds a mandate of another mode to the bounds it gives all the same:
// what the issuer limited is not granted beyond. The reference reads them in
// windowed mode only.
func (s *MandateSubject) checkBounds() error {
	switch v := s.Mandate.Validity; {
	case v.Mode == Windowed:
		return &wire.Unchecked{Why: "they are the mode", Moot: true}
	case v.NotBefore.IsZero() && v.NotAfter.IsZero():
		return &wire.Unchecked{Why: "the validity has no bounds in time", Moot: true}
	}
	return s.checkWindow()
}

// checkWindow judges now against the bounds there are. Both are inside, and get
// no skew.
func (s *MandateSubject) checkWindow() error {
	switch v := s.Mandate.Validity; {
	case !v.NotBefore.IsZero() && s.Now.Before(v.NotBefore):
		return RuleMandateWindow.At("/validity/not_before")
	case !v.NotAfter.IsZero() && s.Now.After(v.NotAfter):
		return RuleMandateWindow.At("/validity/not_after")
	}
	return nil
}

func (s *MandateSubject) checkUses() error {
	switch most := s.Mandate.Validity.MaxUses; {
	case most == 0:
		return &wire.Unchecked{Why: "the number of uses is not limited", Moot: true}
	case s.Use.Uses == nil:
		return &wire.Unchecked{Why: "it is not known how often the mandate was used"}
	case *s.Use.Uses >= most:
		return RuleMandateUses.At("/validity/max_uses")
	}
	return nil
}

// constraint reads a JSON Schema of the mandate, which is a stranger's.
func constraint(v wire.Value, rule *wire.Rule, at string) (*schema.Constraint, error) {
	c, err := schema.ParseConstraint(v.Canonical())
	if err == nil {
		return c, nil
	}
	if m, ok := errors.AsType[*schema.Misfit](err); ok {
		return nil, rule.Because(at+m.Pointer, m.Why)
	}
	return nil, rule.Because(at, err)
}

func (s *MandateSubject) checkConstraints() error {
	_, err := constraint(s.Mandate.Constraints, RuleConstraints, "/constraints")
	return err
}

var errNoAction = errors.New("the action is not an object")

// ready says why the action is not judged. A schema may cost a tenth of a second:
// that is spent on mandates alone that their issuer signed.
func (s *MandateSubject) ready() error {
	if s.Use.Action.Kind() == wire.Absent {
		return &wire.Unchecked{Why: "no action is at hand"}
	}
	if s.checkSignature() != nil {
		return &wire.Unchecked{Why: "the issuer's signature does not verify"}
	}
	return nil
}

// checkAction checks the action against the mandate's own constraints.
func (s *MandateSubject) checkAction() error {
	if err := s.ready(); err != nil {
		return err
	}
	c, err := constraint(s.Mandate.Constraints, RuleConstraints, "/constraints")
	if err != nil {
		return err
	}
	return s.allows(c, RuleAction, "/constraints")
}

// allows checks the action against one schema of the mandate, which is at at.
func (s *MandateSubject) allows(c *schema.Constraint, rule *wire.Rule, at string) error {
	if s.Use.Action.Kind() != wire.Object {
		return rule.Because(at, errNoAction)
	}
	err := c.Check(s.Use.Action.Canonical())
	if err == nil {
		return nil
	}
	if m, ok := errors.AsType[*schema.Misfit](err); ok {
		err = fmt.Errorf("the action at %q: %w", clipPointer(m.Pointer), m.Why)
	}
	return rule.Because(at, err)
}

// What an error repeats of an action: the names of members, as far as a person reads
// them, and no values.
const (
	maxNameTold   = 64 // characters of one name
	maxLevelsTold = 8
)

// clipPointer shortens a pointer into an action, whose names are a stranger's.
func clipPointer(p string) string {
	tokens := strings.Split(p, "/")
	for i, name := range tokens {
		if r := []rune(name[:min(len(name), utf8.UTFMax*(maxNameTold+1))]); len(r) > maxNameTold {
			tokens[i] = string(r[:maxNameTold]) + "..."
		}
	}
	if len(tokens) > maxLevelsTold+1 {
		tokens = append(tokens[:maxLevelsTold+1:maxLevelsTold+1], "...")
	}
	return strings.Join(tokens, "/")
}

func (s *MandateSubject) checkEndpoint() error {
	return s.checkListed(RuleMandateRevoked, s.Mandate.RevocationEndpoint, s.Mandate.ID, s.checkSignature)
}

var errEndpoint = errors.New("want an https URL")

// Mandate issues a mandate. The draft says the subject, the validity and the
// constraints. It may have a delegation chain: see Delegate. (SPEC §9.9)
func (i Issuer) Mandate(v wire.Value) (wire.Value, error) {
	if endpoint, ok := v.Get("revocation_endpoint"); ok {
		// A verifier that asks there gives authority to nobody if it cannot.
		if u, err := url.Parse(endpoint.Text()); err != nil || u.Scheme != "https" || u.Host == "" {
			return wire.Value{}, fmt.Errorf("issuing a mandate: %w", RuleMandate.Because("/revocation_endpoint", errEndpoint))
		}
	}
	return i.Make(Form{
		Kind: "a mandate", ID: "mandate_id", Prefix: "urn:concordia:mandate:", Signer: "issuer", Issued: "issued_at", Curve: true,
		Usual: wire.M{"status": LifecycleActive},
		Verifies: func(f Verifier, v wire.Value) wire.Report {
			_, report := f.VerifyMandate(v, Use{})
			return report
		},
	}, v)
}
