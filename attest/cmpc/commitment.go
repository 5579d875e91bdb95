package cmpc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// A ConditionalCommitment binds a participant of a chain session to its terms if
// the session's closure predicate comes to hold (SPEC §9.11.1).
type ConditionalCommitment struct {
	ID        string
	Session   string // of the chain session
	Committer wire.AgentID
	Predicate string // of the closure predicate
	Terms     wire.Value
	Mandate   string // under which it was made; "" if under none
	IssuedAt  time.Time
	ExpiresAt time.Time // the last moment at which it stands

	value    wire.Value
	misdated error // a timestamp that is no instant
}

// The rules of commitments.
var (
	RuleCommitment          = &wire.Rule{Section: "9.11.1", Name: "commitment", Class: wire.ClassSchema, Text: "a commitment has the members of its schema and no others"}
	RuleCommitmentSignature = &wire.Rule{Section: "9.11.1", Name: "commitment-signature", Class: wire.ClassSignature, Text: "the committer signed the commitment"}
	RuleCommitmentExpired   = &wire.Rule{Section: "9.11.1", Name: "commitment-expired", Class: wire.ClassTemporal, Text: "expires_at has not passed"}
	RuleCommitmentWindow    = &wire.Rule{Section: "9.11.1", Name: "commitment-window", Class: wire.ClassTemporal, Text: "a commitment expires after it was issued"}
	RuleCommitmentSession   = &wire.Rule{Section: "9.11.1", Name: "commitment-session", Class: wire.ClassBinding, Text: "the chain session at hand, its participants and its predicate are those of the commitment"}
	RuleCommitmentListed    = &wire.Rule{Section: "9.11.1", Name: "commitment-listed", Class: wire.ClassBinding, Text: "a chain session that is open lists the commitment"}
	RuleCommitmentState     = &wire.Rule{Section: "9.11.1", Name: "commitment-state", Class: wire.ClassTransition, Text: "the chain session at hand is proposed or open"}
)

var commitmentRules = []*wire.Rule{
	RuleCommitment, RuleCommitmentSignature, RuleCommitmentExpired, RuleCommitmentWindow, RuleCommitmentSession,
	RuleCommitmentListed, RuleCommitmentState,
}

// ReadConditionalCommitment checks the shape of a commitment. It verifies nothing.
func ReadConditionalCommitment(v wire.Value) (*ConditionalCommitment, error) {
	r, err := attest.Shape(v, "conditional_commitment", RuleCommitment)
	if err != nil {
		return nil, err
	}
	var at instants
	c := &ConditionalCommitment{
		ID: r.Text("commitment_id"), Session: r.Text("chain_session_id"),
		Committer: wire.ReadID[wire.AgentID](r, "committer_did"),
		Predicate: r.Text("predicate_reference"), Terms: r.Value("commitment_terms"), Mandate: nullable(r, "mandate_proof_id"),
		IssuedAt: at.read(r, "issued_at"), ExpiresAt: at.read(r, "expires_at"), value: v,
	}
	c.misdated = at.misfit
	return c, r.Err()
}

// Value returns the commitment as it was received.
func (c *ConditionalCommitment) Value() wire.Value { return c.value }

// A CommitmentSubject is a commitment with what it is verified by.
type CommitmentSubject struct {
	attest.Verifier
	Commitment *ConditionalCommitment
	Session    *ChainSession // which it has to be of; nil if any
}

// CommitmentChecks are the checks of a commitment in order (SPEC §9.11.1).
func CommitmentChecks() []wire.Check[*CommitmentSubject] {
	return []wire.Check[*CommitmentSubject]{
		{Name: "id", Run: func(s *CommitmentSubject) error {
			return attest.CheckNamed(RuleCommitment, s.Commitment.value, "commitment_id", "chain_session_id", "committer_did", "predicate_reference", "mandate_proof_id")
		}},
		{Name: "signature", Run: (*CommitmentSubject).checkSignature},
		{Name: "instants", Run: func(s *CommitmentSubject) error { return s.Commitment.misdated }},
		{Name: "expiry", Run: (*CommitmentSubject).checkExpiry},
		{Name: "window", Run: (*CommitmentSubject).checkWindow},
		{Name: "freshness", Run: func(s *CommitmentSubject) error { return s.CheckAge(s.Commitment.IssuedAt, "/issued_at") }},
		{Name: "revocation", Run: (*CommitmentSubject).checkRevocation},
		{Name: "session", Run: (*CommitmentSubject).checkSession},
		{Name: "state", Run: (*CommitmentSubject).checkState},
	}
}

// VerifyCommitment checks a commitment, and that it belongs to a chain session
// unless that is nil.
func VerifyCommitment(f attest.Verifier, v wire.Value, of *ChainSession) (*ConditionalCommitment, wire.Report) {
	return attest.Judge(v, ReadConditionalCommitment, func(c *ConditionalCommitment) *CommitmentSubject {
		return &CommitmentSubject{Verifier: f, Commitment: c, Session: of}
	}, CommitmentChecks())
}

// signed is the claim of a signature over all members but itself, which is how
// every artifact of this package is signed.
func signed(rule *wire.Rule, v wire.Value, signer wire.AgentID, at time.Time) attest.Claim {
	text, _ := v.Get("signature")
	return attest.Claim{
		Rule: rule, Signer: signer, Algorithm: wire.EdDSA, Signed: at,
		Preimage: v.Without("signature"), Text: text, At: "/signature",
	}
}

func (s *CommitmentSubject) checkSignature() error {
	c := s.Commitment
	return s.CheckSignature(signed(RuleCommitmentSignature, c.value, c.Committer, c.IssuedAt))
}

func (s *CommitmentSubject) checkExpiry() error {
	if s.Now.After(s.Commitment.ExpiresAt) {
		return RuleCommitmentExpired.At("/expires_at")
	}
	return nil
}

func (s *CommitmentSubject) checkWindow() error {
	return checkWindow(s.Policy, RuleCommitmentWindow, s.Commitment.IssuedAt, s.Commitment.ExpiresAt)
}

// checkWindow checks that an end lies after its beginning, and not longer after it
// than the verifier accepts (SPEC §9.7.1).
func checkWindow(p attest.Policy, rule *wire.Rule, from, until time.Time) error {
	if !until.After(from) {
		return rule.At("/expires_at")
	}
	if until.Sub(from) > cmp.Or(p.MaxLifetime, attest.DefaultMaxLifetime) {
		return attest.RuleLifetime.At("/expires_at")
	}
	return nil
}

// checkRevocation looks up the commitment and the mandate under which it was made:
// who revokes a mandate with all that depends on it means this as well.
func (s *CommitmentSubject) checkRevocation() error {
	c := s.Commitment
	err := s.CheckRevoked(c.ID, c.Committer)
	if err != nil || c.Mandate == "" {
		return err
	}
	err = s.CheckRevoked("", c.Committer, attest.Link{ID: c.Mandate, Type: "mandate", Relationship: "fulfills"})
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Because("/mandate_proof_id", v.Err)
	}
	return err
}

func (s *CommitmentSubject) checkSession() error {
	switch c := s.Commitment; {
	case s.Session == nil:
		return noSession()
	case c.Session != s.Session.ID:
		return RuleCommitmentSession.Because("/chain_session_id", errElsewhere)
	case c.Predicate != s.Session.Predicate:
		return RuleCommitmentSession.Because("/predicate_reference", errors.New("the chain session closes by another predicate"))
	case !slices.Contains(s.Session.Participants, string(c.Committer)):
		return RuleCommitmentSession.Because("/committer_did", errors.New("no participant of the chain session"))
	}
	return nil
}

// checkState checks that the session still takes the commitment, or has it. One that
// is proposed collects commitments, and need not list this one yet.
func (s *CommitmentSubject) checkState() error {
	if s.Session == nil {
		return noSession()
	}
	switch s.Session.State {
	case Proposed:
		return nil
	case Open:
		if !slices.Contains(s.Session.Commitments, s.Commitment.ID) {
			return RuleCommitmentListed.Because("/commitment_id", errors.New("the chain session has other commitments"))
		}
		return nil
	}
	return RuleCommitmentState.Because("/chain_session_id", fmt.Errorf("the chain session is %s", s.Session.State))
}

// Commit issues a commitment. The draft says the chain_session_id, the
// predicate_reference and the commitment_terms; a session fills in the first two and,
// unless the draft says when it expires, its deadline. A commitment that the session does
// not take is not signed. (SPEC §9.11.1)
func Commit(i attest.Issuer, v wire.Value, to *ChainSession) (wire.Value, error) {
	usual := wire.M{"mandate_proof_id": nil}
	if to != nil {
		usual["chain_session_id"], usual["predicate_reference"] = to.ID, to.Predicate
		usual["expires_at"] = wire.FormatTime(to.Deadline)
	}
	return i.Make(attest.Form{
		Kind: "a commitment", ID: "commitment_id", Prefix: "urn:concordia:commitment:", Signer: "committer_did",
		Issued: "issued_at", Usual: usual,
		Verifies: func(f attest.Verifier, v wire.Value) wire.Report {
			_, report := VerifyCommitment(f, v, to)
			return report
		},
	}, v)
}
