package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const approver = "did:web:procurement.example#cfo"

// approval is an approval of one offer in one session.
func approval() specimen {
	offer := parse(`{"offer_id":"off_7","terms":{"price":{"value":4800,"currency":"EUR"},"bags":{"value":60}},"complete":true}`)
	sign := signedBlock(approver)
	return specimen{
		kind: "approval_receipt", record: "approval_receipt", sign: sign,
		value: sign(value(wire.M{
			"artifact_type": "ApprovalReceipt", "id": "urn:concordia:receipt:7", "issued_at": "2026-09-14T09:00:00Z", "expires_at": "2026-09-14T10:00:00Z",
			"approver": wire.M{"identity": approver, "role": "cfo"},
			"scope":    wire.M{"decision": "approve", "offer_hash": offer.Hash(), "amount": "4800.00 EUR", "threshold_crossed": "2500.00 EUR"},
			"references": []wire.M{
				{"type": "negotiation_session", "id": "urn:concordia:session:ses_7", "relationship": "approves"},
				{"type": "mandate", "id": "urn:concordia:mandate:7", "relationship": "fulfills"},
			},
			"signature": wire.M{"alg": "Ed25519", "value": ""},
		})),
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": publicKeys(approver), "offer": offer, "session_urn": "urn:concordia:session:ses_7"},
		contract: "receipt-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"now": "2026-09-14T09:30:00Z", "offer": offer, "public_keys_b64url": wire.M{"issuer": key(approver).Public()}}
		},
		faults: []fault{
			{name: "deny", shared: true, edit: set("/scope/decision", `"deny"`),
				why: "a denial is as binding as an approval and verifies the same way"},
			{name: "unknown-member", shared: true, edit: set("/note", `"kept and signed"`),
				why: "the schema is open: what it does not name is signed and kept"},
			{name: "other-decision", rule: attest.RuleApproval, shared: true, edit: set("/scope/decision", `"perhaps"`),
				why: "there are two decisions", breaks: "a reader that compares with deny takes anything else for consent"},
			{name: "no-approves-reference", rule: attest.RuleApprovesReference, shared: true, edit: set("/references/0/relationship", `"references"`),
				why: "an approval says which negotiation it approves", breaks: "one approval is shown for any negotiation with the same offer"},
			{name: "other-session", rule: attest.RuleApprovalSession, edit: set("/references/0/id", `"urn:concordia:session:ses_8"`),
				why: "the approved session is the one at hand", breaks: "an approval given in one negotiation closes another"},
			{name: "signed-by-other", rule: attest.RuleApprovalSignature, shared: true, after: signedBlock("did:web:mallory.example"),
				why: "the approver signs", breaks: "anybody approves in the name of a person"},
			{name: "last-second", shared: true, context: wire.M{"now": "2026-09-14T10:00:00Z"}, contract: wire.M{"now": "2026-09-14T10:00:00Z"},
				why: "expires_at is the last moment at which an approval stands"},
			{name: "expired", rule: attest.RuleApprovalExpired, shared: true, context: wire.M{"now": "2026-09-14T10:00:01Z"}, contract: wire.M{"now": "2026-09-14T10:00:01Z"},
				why: "an approval is for now; expiry has no skew", breaks: "an old approval is used after the person changed their mind"},
			{name: "skewed-clock", edit: set("/issued_at", `"2026-09-14T09:32:00Z"`),
				why: "clocks differ by up to 120 seconds"},
			{name: "from-the-future", rule: attest.RuleNotYet, edit: set("/issued_at", `"2026-09-14T09:32:01Z"`),
				why: "nothing is issued later than now, but for the skew", breaks: "approvals are stockpiled with dates to come and look fresh then"},
			{name: "too-old", rule: attest.RuleAge, edit: all(set("/issued_at", `"2026-06-16T09:29:59Z"`), set("/expires_at", `"2027-01-01T00:00:00Z"`)),
				why: "a verifier has its own bound, whatever the signer allows", breaks: "evidence of a state long gone is taken for the present"},
			{name: "other-offer", rule: attest.RuleOfferHash, shared: true, context: wire.M{"offer": offer.With("complete", value(false))}, contract: wire.M{"offer": offer.With("complete", value(false))},
				why: "the approval is of one exact offer", breaks: "terms are changed after the person approved them"},
		},
	}
}
