package cmpc

import (
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// An UnwindRecord says that a chain session was dissolved, why, and which
// commitments no longer bind (SPEC §9.11.2).
type UnwindRecord struct {
	ID           string
	Session      string // of the chain session
	Reason       Dissolution
	Affected     []string // commitments
	Issuer       wire.AgentID
	IssuedAt     time.Time
	Acknowledged bool // there is an acknowledgment; nothing says by whom

	value    wire.Value
	misdated error // a timestamp that is no instant
}

// A Dissolution is why a chain session was dissolved.
type Dissolution string

// The reasons of SPEC §9.11.2.
const (
	PredicateFailed    Dissolution = "predicate_failed"
	Timeout            Dissolution = "timeout"
	ExplicitWithdrawal Dissolution = "explicit_withdrawal"
	MandateViolation   Dissolution = "mandate_violation"
)

// The rules of unwind records.
var (
	RuleUnwind          = &wire.Rule{Section: "9.11.2", Name: "unwind", Class: wire.ClassSchema, Text: "an unwind record has the members of its schema and no others"}
	RuleUnwindSignature = &wire.Rule{Section: "9.11.2", Name: "unwind-signature", Class: wire.ClassSignature, Text: "the issuer signed the unwind record"}
	RuleUnwindSession   = &wire.Rule{Section: "9.11.2", Name: "unwind-session", Class: wire.ClassBinding, Text: "the chain session at hand is the one that is dissolved, and has the affected commitments"}
	RuleUnwindState     = &wire.Rule{Section: "9.11.2", Name: "unwind-state", Class: wire.ClassTransition, Text: "the chain session at hand is open and names no other record, or was dissolved by this one"}
)

var unwindRules = []*wire.Rule{RuleUnwind, RuleUnwindSignature, RuleUnwindSession, RuleUnwindState}

// ReadUnwindRecord checks the shape of an unwind record. It verifies nothing.
func ReadUnwindRecord(v wire.Value) (*UnwindRecord, error) {
	r, err := attest.Shape(v, "unwind_record", RuleUnwind)
	if err != nil {
		return nil, err
	}
	var at instants
	u := &UnwindRecord{
		ID: r.Text("unwind_record_id"), Session: r.Text("chain_session_id"), Reason: Dissolution(r.Text("dissolution_reason")),
		Affected: r.Strings("affected_commitment_ids"), Issuer: wire.ReadID[wire.AgentID](r, "issuer_did"),
		IssuedAt: at.read(r, "issued_at"), Acknowledged: r.Value("counterparty_acknowledgment").Kind() == wire.Object, value: v,
	}
	u.misdated = at.misfit
	return u, r.Err()
}

// Value returns the record as it was received.
func (u *UnwindRecord) Value() wire.Value { return u.value }

// An UnwindSubject is an unwind record with what it is verified by.
type UnwindSubject struct {
	attest.Verifier
	Record  *UnwindRecord
	Session *ChainSession // which it has to dissolve; nil if any
	Trusted wire.AgentID  // may issue it as well as a participant; "" if nobody
}

// UnwindChecks are the checks of an unwind record in order (SPEC §9.11.2). A
// record does not get old.
func UnwindChecks() []wire.Check[*UnwindSubject] {
	return []wire.Check[*UnwindSubject]{
		{Name: "id", Run: func(s *UnwindSubject) error {
			return attest.CheckNamed(RuleUnwind, s.Record.value, "unwind_record_id", "chain_session_id", "affected_commitment_ids", "issuer_did")
		}},
		{Name: "signature", Run: (*UnwindSubject).checkSignature},
		{Name: "instants", Run: func(s *UnwindSubject) error { return s.Record.misdated }},
		{Name: "freshness", Run: func(s *UnwindSubject) error { return s.CheckAnchor(s.Record.IssuedAt, "/issued_at") }},
		{Name: "session", Run: (*UnwindSubject).checkSession},
		{Name: "state", Run: (*UnwindSubject).checkState},
		{Name: "issuer", Run: func(s *UnwindSubject) error { return s.Session.checkIssuer(s.Record.Issuer, s.Trusted) }},
	}
}

// VerifyUnwind checks an unwind record, and that it dissolves a chain session
// unless that is nil.
func VerifyUnwind(f attest.Verifier, v wire.Value, of *ChainSession) (*UnwindRecord, wire.Report) {
	return attest.Judge(v, ReadUnwindRecord, func(u *UnwindRecord) *UnwindSubject {
		return &UnwindSubject{Verifier: f, Record: u, Session: of}
	}, UnwindChecks())
}

func (s *UnwindSubject) checkSignature() error {
	u := s.Record
	return s.CheckSignature(signed(RuleUnwindSignature, u.value, u.Issuer, u.IssuedAt))
}

func (s *UnwindSubject) checkSession() error {
	if s.Session == nil {
		return noSession()
	}
	if s.Record.Session != s.Session.ID {
		return RuleUnwindSession.Because("/chain_session_id", errElsewhere)
	}
	known := make(map[string]bool, len(s.Session.Commitments))
	for _, id := range s.Session.Commitments {
		known[id] = true
	}
	for i, id := range s.Record.Affected {
		if !known[id] {
			return RuleUnwindSession.Because(fmt.Sprintf("/affected_commitment_ids/%d", i), errors.New("no commitment of the chain session"))
		}
	}
	return nil
}

func (s *UnwindSubject) checkState() error {
	if s.Session == nil {
		return noSession()
	}
	if !s.Session.allows(Dissolved, s.Session.Unwind, s.Record.ID) {
		return RuleUnwindState.Because("/unwind_record_id", fmt.Errorf("the chain session is %s", s.Session.State))
	}
	return nil
}

// Dissolve issues an unwind record. The draft says the dissolution_reason; the session
// fills in its id and its commitments. (SPEC §9.11.2)
func Dissolve(i attest.Issuer, v wire.Value, of *ChainSession) (wire.Value, error) {
	usual := wire.M{"dissolution_details": wire.M{}, "counterparty_acknowledgment": nil}
	if of != nil {
		usual["chain_session_id"], usual["affected_commitment_ids"] = of.ID, append([]string{}, of.Commitments...)
	}
	return i.Make(attest.Form{
		Kind: "an unwind record", ID: "unwind_record_id", Prefix: "urn:concordia:unwind:", Signer: "issuer_did", Issued: "issued_at",
		Usual: usual,
		Verifies: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := VerifyUnwind(f, v, of)
			return report
		},
	}, v)
}
