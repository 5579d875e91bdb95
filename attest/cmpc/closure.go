package cmpc

import (
	"errors"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A ClosurePredicate is the condition under which the commitments of a chain
// session take effect (SPEC §9.11.3).
type ClosurePredicate struct {
	ID        string
	Type      string // the profile that evaluates it, such as BilateralV1
	Authority wire.AgentID
	Issuer    wire.AgentID
	Session   string     // of the chain session
	Condition wire.Value // the parameters of the profile
	IssuedAt  time.Time
	ExpiresAt time.Time // the last moment at which it stands
	Status    string

	value    wire.Value
	misdated error // a timestamp that is no instant
}

// The rules of closure predicates.
var (
	RuleClosurePredicate = &wire.Rule{Section: "9.11.3", Name: "closure-predicate", Class: wire.ClassSchema, Text: "a closure predicate has the members of its schema"}
	RuleClosureSignature = &wire.Rule{Section: "9.11.3", Name: "closure-signature", Class: wire.ClassSignature, Text: "the issuer or the authority signed the closure predicate"}
	RuleClosureStatus    = &wire.Rule{Section: "9.11.3", Name: "closure-status", Class: wire.ClassTemporal, Text: "a closure predicate is active"}
	RuleClosureExpired   = &wire.Rule{Section: "9.11.3", Name: "closure-expired", Class: wire.ClassTemporal, Text: "expires_at has not passed"}
	RuleClosureWindow    = &wire.Rule{Section: "9.11.3", Name: "closure-window", Class: wire.ClassTemporal, Text: "a closure predicate expires after it was issued"}
	RuleClosureSession   = &wire.Rule{Section: "9.11.3", Name: "closure-session", Class: wire.ClassBinding, Text: "the predicate is the one that the chain session at hand closes by"}
	RuleClosureForm      = &wire.Rule{Section: "9.11.3", Name: "closure-form", Class: wire.ClassSchema, Text: "the parameters and commitments of an evaluation are well-formed for its profile"}
	RuleClosureDeadline  = &wire.Rule{Section: "9.11.3", Name: "closure-deadline", Class: wire.ClassTemporal, Text: "the activation deadline of the parameters has not come"}
	RuleClosure          = &wire.Rule{Section: "9.11.3", Name: "closure", Class: wire.ClassBinding, Text: "the commitments satisfy the closure predicate"}
)

var closureRules = []*wire.Rule{
	RuleClosurePredicate, RuleClosureSignature, RuleClosureStatus, RuleClosureExpired, RuleClosureWindow, RuleClosureSession,
	RuleClosureForm, RuleClosureDeadline, RuleClosure,
}

// ReadClosurePredicate checks the shape of a closure predicate. It verifies
// nothing.
func ReadClosurePredicate(v wire.Value) (*ClosurePredicate, error) {
	r, err := attest.Shape(v, "closure_predicate", RuleClosurePredicate)
	if err != nil {
		return nil, err
	}
	var at instants
	p := &ClosurePredicate{
		ID: r.Text("predicate_id"), Type: r.Text("type"),
		Authority: wire.ReadID[wire.AgentID](r, "authority"), Issuer: wire.ReadID[wire.AgentID](r, "issuer"),
		Session: r.Text("subject"), Condition: r.Value("condition"),
		IssuedAt: at.read(r, "issued_at"), ExpiresAt: at.read(r, "expires_at"), Status: r.Text("status"), value: v,
	}
	p.misdated = at.misfit
	return p, r.Err()
}

// Value returns the predicate as it was received.
func (p *ClosurePredicate) Value() wire.Value { return p.value }

// Evaluate says whether commitments satisfy the predicate at now. It verifies
// neither: see Evaluate.
func (p *ClosurePredicate) Evaluate(commitments []wire.Value, now time.Time) Result {
	return Evaluate(p.Type, p.Condition, commitments, now)
}

// A ClosureSubject is a closure predicate with what it is verified by.
type ClosureSubject struct {
	attest.Verifier
	Predicate *ClosurePredicate
	Session   *ChainSession // which it has to close; nil if any
}

// ClosureChecks are the checks of a closure predicate in order (SPEC §9.11.3). The
// signature is optional: the reference makes none that anybody can verify, and its
// conformance contract ignores it. Who acts on a predicate adds ClosureSigned.
func ClosureChecks() []wire.Check[*ClosureSubject] {
	return []wire.Check[*ClosureSubject]{
		{Name: "id", Run: func(s *ClosureSubject) error {
			return attest.CheckNamed(RuleClosurePredicate, s.Predicate.value, "predicate_id", "type", "authority", "issuer", "subject")
		}},
		{Name: "signature", Optional: true, Run: (*ClosureSubject).checkSignature},
		{Name: "instants", Run: func(s *ClosureSubject) error { return s.Predicate.misdated }},
		{Name: "status", Run: (*ClosureSubject).checkStatus},
		{Name: "expiry", Run: (*ClosureSubject).checkExpiry},
		{Name: "window", Run: (*ClosureSubject).checkWindow},
		{Name: "freshness", Run: func(s *ClosureSubject) error { return s.CheckAge(s.Predicate.IssuedAt, "/issued_at") }},
		{Name: "revocation", Run: func(s *ClosureSubject) error { return s.CheckRevoked(s.Predicate.ID, s.Predicate.Issuer) }},
		{Name: "session", Run: (*ClosureSubject).checkSession},
	}
}

// ClosureSigned is the check of a verifier that acts on a closure predicate: its
// issuer, or if that one's key is not known its authority, signed it.
func ClosureSigned() wire.Check[*ClosureSubject] {
	return wire.Check[*ClosureSubject]{Name: "signed", Run: (*ClosureSubject).checkSignature}
}

// VerifyClosurePredicate checks a closure predicate, and that a chain session
// closes by it unless that is nil. It evaluates nothing.
func VerifyClosurePredicate(f attest.Verifier, v wire.Value, of *ChainSession, more ...wire.Check[*ClosureSubject]) (*ClosurePredicate, wire.Report) {
	return attest.Judge(v, ReadClosurePredicate, func(p *ClosurePredicate) *ClosureSubject {
		return &ClosureSubject{Verifier: f, Predicate: p, Session: of}
	}, append(ClosureChecks(), more...))
}

func (s *ClosureSubject) checkSignature() error {
	p := s.Predicate
	err := s.CheckSignature(signed(RuleClosureSignature, p.value, p.Issuer, p.IssuedAt))
	if errors.Is(err, wire.RuleUnknownKey) && p.Authority != p.Issuer {
		err = s.CheckSignature(signed(RuleClosureSignature, p.value, p.Authority, p.IssuedAt))
	}
	return err
}

func (s *ClosureSubject) checkStatus() error {
	if s.Predicate.Status != "active" {
		return RuleClosureStatus.At("/status")
	}
	return nil
}

func (s *ClosureSubject) checkExpiry() error {
	if s.Now.After(s.Predicate.ExpiresAt) {
		return RuleClosureExpired.At("/expires_at")
	}
	return nil
}

func (s *ClosureSubject) checkWindow() error {
	return checkWindow(s.Policy, RuleClosureWindow, s.Predicate.IssuedAt, s.Predicate.ExpiresAt)
}

func (s *ClosureSubject) checkSession() error {
	if s.Session == nil {
		return noSession()
	}
	if s.Predicate.Session != s.Session.ID {
		return RuleClosureSession.Because("/subject", errElsewhere)
	}
	return s.Session.CheckClosesBy(s.Predicate.ID)
}

// CheckClosesBy reports whether the session closes by the predicate of that id.
func (s *ChainSession) CheckClosesBy(predicate string) error {
	if predicate != s.Predicate {
		return RuleClosureSession.Because("/predicate_id", errors.New("the chain session closes by another predicate"))
	}
	return nil
}

// Close issues a closure predicate. The draft says the subject, a chain session's id,
// the type (a profile of §9.11.3), the condition and expires_at. (SPEC §9.11.3)
func Close(i attest.Issuer, v wire.Value) (wire.Value, error) {
	return i.Make(attest.Form{
		Kind: "a closure predicate", ID: "predicate_id", Prefix: "urn:concordia:predicate:", Signer: "issuer", Issued: "issued_at",
		Usual: wire.M{"authority": i.Agent, "references": []wire.M{}, "status": "active"},
		Verifies: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := VerifyClosurePredicate(f, v, nil, ClosureSigned())
			return report
		},
	}, v)
}
