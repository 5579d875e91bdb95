package attest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An ApprovalReceipt says that an authority approves or denies one offer that
// crossed a threshold (SPEC §9.6.4b). A denial verifies the same way: look at the
// Decision.
type ApprovalReceipt struct {
	ID        string
	IssuedAt  time.Time
	ExpiresAt time.Time // the last moment at which it stands
	Approver  wire.AgentID
	Decision  Decision
	OfferHash string // of the exact offer, "sha256:" and hex
	Amount    string
	Threshold string
	Links     []Link

	value wire.Value
}

// A Decision is what an authority decided.
type Decision string

// The decisions of SPEC §9.6.4b.
const (
	Approve Decision = "approve"
	Deny    Decision = "deny"
)

// The rules of approval receipts.
var (
	RuleApproval          = &wire.Rule{Section: "9.6.4b", Name: "approval", Class: wire.ClassSchema, Text: "an approval receipt has the members of its schema"}
	RuleApprovesReference = &wire.Rule{Section: "9.6.4b", Name: "approves-reference", Class: wire.ClassSchema, Text: "an approval receipt refers to the negotiation session that it approves"}
	RuleApprovalSignature = &wire.Rule{Section: "9.6.4b", Name: "approval-signature", Class: wire.ClassSignature, Text: "the approver signed the receipt"}
	RuleApprovalExpired   = &wire.Rule{Section: "9.6.4b", Name: "approval-expired", Class: wire.ClassTemporal, Text: "expires_at has not passed"}
	RuleOfferHash         = &wire.Rule{Section: "9.6.4b", Name: "offer-hash", Class: wire.ClassDigest, Text: "offer_hash is the hash of the offer"}
	RuleApprovalSession   = &wire.Rule{Section: "9.6.4b", Name: "approval-session", Class: wire.ClassBinding, Text: "the approved session is the one at hand"}
)

var approvalRules = []*wire.Rule{
	RuleApproval, RuleApprovesReference, RuleApprovalSignature, RuleApprovalExpired, RuleOfferHash, RuleApprovalSession,
}

// ReadApprovalReceipt checks the shape of an approval receipt. It verifies nothing.
func ReadApprovalReceipt(v wire.Value) (*ApprovalReceipt, error) {
	r, err := Shape(v, "approval_receipt", RuleApproval)
	if err != nil {
		return nil, err
	}
	scope := r.Object("scope")
	a := &ApprovalReceipt{
		ID: r.Text("id"), IssuedAt: r.Time("issued_at"), ExpiresAt: r.Time("expires_at"),
		Approver: wire.ReadID[wire.AgentID](r.Object("approver"), "identity"),
		Decision: Decision(scope.Text("decision")), OfferHash: scope.Text("offer_hash"),
		Amount: scope.Text("amount"), Threshold: scope.Text("threshold_crossed"),
		Links: readLinks(r, "references"), value: v,
	}
	return a, r.Err()
}

// Value returns the receipt as it was received.
func (a *ApprovalReceipt) Value() wire.Value { return a.value }

// An ApprovalSubject is an approval receipt with what it is verified by.
type ApprovalSubject struct {
	Verifier
	Receipt *ApprovalReceipt
	Offer   wire.Value // the offer or call it has to approve; absent if unknown
	Session string     // the URN of the session it has to approve; "" if any
}

// ApprovalChecks are the checks of an approval receipt in order (SPEC §9.6.4b).
func ApprovalChecks() []wire.Check[*ApprovalSubject] {
	return []wire.Check[*ApprovalSubject]{
		{Name: "approves-reference", Run: (*ApprovalSubject).checkReference},
		{Name: "signature", Run: (*ApprovalSubject).checkSignature},
		{Name: "expiry", Run: (*ApprovalSubject).checkExpiry},
		{Name: "freshness", Run: func(s *ApprovalSubject) error { return s.CheckAge(s.Receipt.IssuedAt, "/issued_at") }},
		{Name: "revocation", Run: func(s *ApprovalSubject) error {
			return s.checkRevoked(s.Receipt.ID, s.Receipt.Approver, s.Receipt.Links)
		}},
		{Name: "offer-hash", Run: (*ApprovalSubject).checkOffer},
		{Name: "session", Run: (*ApprovalSubject).checkSession},
	}
}

// VerifyApproval checks that a receipt approves or denies this offer in this
// session. If offer is absent, that check is not made; session "" stands for any.
func (f Verifier) VerifyApproval(v, offer wire.Value, session string) (*ApprovalReceipt, wire.Report) {
	return Judge(v, ReadApprovalReceipt, func(a *ApprovalReceipt) *ApprovalSubject {
		return &ApprovalSubject{Verifier: f, Receipt: a, Offer: offer, Session: session}
	}, ApprovalChecks())
}

// approves returns the first reference to an approved session, and where it is.
func (a *ApprovalReceipt) approves(session string) (at string, ok bool) {
	for i, l := range a.Links {
		if l.Relationship == "approves" && (l.Type == "negotiation_session" || l.Type == "a2cn:negotiation_session") &&
			(session == "" || l.ID == session) {
			return fmt.Sprintf("/references/%d", i), true
		}
	}
	return "/references", false
}

func (s *ApprovalSubject) checkReference() error {
	if at, ok := s.Receipt.approves(""); !ok {
		return RuleApprovesReference.At(at)
	}
	return nil
}

func (s *ApprovalSubject) checkSignature() error {
	text, _ := s.Receipt.value.At("signature", "value")
	return s.CheckSignature(Claim{
		Rule: RuleApprovalSignature, Signer: s.Receipt.Approver, Algorithm: wire.EdDSA, Signed: s.Receipt.IssuedAt,
		Preimage: s.Receipt.value.Without("signature"), Text: text, At: "/signature/value",
	})
}

func (s *ApprovalSubject) checkExpiry() error {
	if s.Now.After(s.Receipt.ExpiresAt) {
		return RuleApprovalExpired.At("/expires_at")
	}
	return nil
}

var errNoOffer = "the offer is not at hand"

// checkOffer compares the hash as a string: a second spelling of it never fits.
func (s *ApprovalSubject) checkOffer() error {
	if s.Offer.Kind() == wire.Absent {
		return &wire.Unchecked{Why: errNoOffer}
	}
	h, err := s.hash(s.Offer)
	if err != nil {
		return RuleOfferHash.Because("/scope/offer_hash", err)
	}
	if h.String() != s.Receipt.OfferHash {
		return RuleOfferHash.Because("/scope/offer_hash", errors.New("it is the hash of another offer"))
	}
	return nil
}

func (s *ApprovalSubject) checkSession() error {
	if s.Session == "" {
		return &wire.Unchecked{Why: "any session will do", Moot: true}
	}
	if at, ok := s.Receipt.approves(s.Session); !ok {
		return RuleApprovalSession.At(at)
	}
	return nil
}

// DefaultApprovalLife is how long an approval stands if its draft does not say.
const DefaultApprovalLife = 24 * time.Hour

// Approval issues an approval receipt. The draft says in its scope the decision, the
// offer_hash (the Hash of the exact offer or call), the amount and the threshold that
// it crossed, and refers to the session, or names it alone in a member session_id,
// which does not stay. (SPEC §9.6.4b)
func (i Issuer) Approval(v wire.Value) (wire.Value, error) {
	d := i.draft("an approval", v)
	d.only(wire.EdDSA)
	d.fill("ApprovalReceipt", "artifact_type")
	d.fillID("urn:concordia:approval_receipt:", "id")
	d.fillTimes("issued_at", DefaultApprovalLife, "expires_at")
	d.signer("approver", "identity")
	session := d.text("session_id")
	if session != "" {
		if !strings.HasPrefix(session, "urn:") {
			session = sessionURN + session
		}
		d.v = d.v.Without("session_id")
		d.fill([]Link{{ID: session, Type: "negotiation_session", Relationship: "approves"}}, "references")
	}
	d.signBlock("Ed25519", nil)
	return d.done(func(f Verifier, v wire.Value) wire.Report {
		_, report := f.VerifyApproval(v, wire.Value{}, session) // references that the draft has may be to another
		return report
	})
}
