package main

import (
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	approver = "did:web:procurement.example#cfo"
	treasury = "did:web:treasury.example" // revokes what others made

	approvedSession = "urn:concordia:session:ses_7"
	approvedMandate = "urn:concordia:mandate:7"
)

// approvedOffer is what the approval is of.
var approvedOffer = parse(`{"offer_id":"off_7","terms":{"price":{"value":4800,"currency":"EUR"},"bags":{"value":60}},"complete":true}`)

// approval is an approval of one offer in one session.
func approval() specimen {
	sign := signedBlock(approver)
	keys := publicKeys(approver, treasury)
	s := specimen{
		kind: "approval_receipt", record: "approval_receipt", sign: sign,
		value: sign(value(wire.M{
			"artifact_type": "ApprovalReceipt", "id": "urn:concordia:receipt:7", "issued_at": "2026-09-14T09:00:00Z", "expires_at": "2026-09-14T10:00:00Z",
			"approver": wire.M{"identity": approver, "role": "cfo"},
			"scope":    wire.M{"decision": "approve", "offer_hash": approvedOffer.Hash(), "amount": "4800.00 EUR", "threshold_crossed": "2500.00 EUR"},
			"references": []wire.M{
				{"type": "negotiation_session", "id": approvedSession, "relationship": "approves"},
				{"type": "mandate", "id": approvedMandate, "relationship": "fulfills"},
			},
			"signature": wire.M{"alg": "Ed25519", "value": ""},
		})),
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys, "offer": approvedOffer, "session_urn": approvedSession},
		contract: "receipt-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"now": "2026-09-14T09:30:00Z", "offer": approvedOffer, "public_keys_b64url": wire.M{"issuer": key(approver).Public()}}
		},
	}
	signet := signet{
		name: "signature", what: "an approval", rule: attest.RuleApprovalSignature, at: "/signature/value", signer: approver, peer: treasury,
		preimage: func(v wire.Value) wire.Value { return v.Without("signature") },
		other:    set("/id", `"urn:concordia:receipt:8"`), tamper: set("/scope/amount", `"48000.00 EUR"`), shared: true,
	}
	s.faults = slices.Concat(approvalMeaning(), signet.forgeries(), signet.keys(approver, keys), approvalShape(s.value), approvalTimes(), approvalRevoked())
	return s
}

// approvalMeaning are faults of what an approval says, of which offer and session.
func approvalMeaning() []fault {
	other := wire.M{"offer": approvedOffer.With("complete", value(false))}
	const changed = "terms are changed after the person approved them"
	return []fault{
		{name: "deny", shared: true, edit: set("/scope/decision", `"deny"`),
			why: "a denial is as binding as an approval and verifies the same way"},
		{name: "unknown-member", shared: true, edit: set("/note", `"kept and signed"`),
			why: "the schema is open: what it does not name is signed and kept"},
		{name: "unknown-member-of-scope", shared: true, edit: set("/scope/cost_center", `"4711"`),
			why: "the scope is open: what it does not name is signed and kept"},
		{name: "without-role", shared: true, edit: drop("/approver/role"), why: "the role is for people and may be left out"},
		{name: "a2cn-session", shared: true, edit: set("/references/0/type", `"a2cn:negotiation_session"`), why: "a negotiation of the other protocol is approved alike"},
		{name: "approval-is-second", shared: true, edit: all(set("/references/0", `{"id":"urn:x","type":"receipt","relationship":"references"}`),
			set("/references/-", `{"id":"`+approvedSession+`","type":"negotiation_session","relationship":"approves"}`)),
			why: "the references have no order: any of them may be the one to the session"},
		{name: "approves-two", edit: set("/references/-", `{"id":"urn:concordia:session:ses_9","type":"negotiation_session","relationship":"approves"}`),
			why: "one of the approved sessions is the one at hand"},
		{name: "any-session", context: wire.M{"session_urn": nil}, why: "who does not ask for a session gets an approval of any"},
		{name: "hash-in-capitals", rule: attest.RuleOfferHash, edit: set("/scope/offer_hash", `"sha256:`+capitals(approvedOffer.Hash().Hex())+`"`),
			why: "hashes are compared as text, and written in lower case", breaks: "one approval has two spellings, and a list of those that were used does not find it"},
		{name: "other-decision", rule: attest.RuleApproval, shared: true, edit: set("/scope/decision", `"perhaps"`),
			why: "there are two decisions", breaks: "a reader that compares with deny takes anything else for consent"},
		{name: "decision-capitalized", rule: attest.RuleApproval, shared: true, edit: set("/scope/decision", `"Approve"`),
			why: "a decision has one spelling", breaks: "one reader acts on the approval and the other does not know it"},
		{name: "no-approves-reference", rule: attest.RuleApprovesReference, shared: true, edit: set("/references/0/relationship", `"references"`), context: wire.M{"session_urn": nil},
			why: "an approval says which negotiation it approves", breaks: "one approval is shown for any negotiation with the same offer"},
		{name: "approves-no-session", rule: attest.RuleApprovesReference, shared: true, edit: set("/references/0/type", `"mandate"`), context: wire.M{"session_urn": nil},
			why: "what is approved is a negotiation, not any artifact", breaks: "consent to a mandate is shown as consent to every offer under it"},
		{name: "approves-capitalized", rule: attest.RuleApprovesReference, shared: true, edit: set("/references/0/relationship", `"Approves"`), context: wire.M{"session_urn": nil},
			why: "a relationship has one spelling", breaks: "one reader finds the approved session and the other does not"},
		{name: "other-session", rule: attest.RuleApprovalSession, edit: set("/references/0/id", `"urn:concordia:session:ses_8"`),
			why: "the approved session is the one at hand", breaks: "an approval given in one negotiation closes another"},
		{name: "session-of-a-prefix", rule: attest.RuleApprovalSession, edit: set("/references/0/id", `"`+approvedSession+`7"`),
			why: "ids are compared whole", breaks: "an approval given in one negotiation closes another whose id begins alike"},
		{name: "session-in-capitals", rule: attest.RuleApprovalSession, edit: set("/references/0/id", `"urn:concordia:session:SES_7"`),
			why: "ids are compared with their case", breaks: "an approval given in one negotiation closes another"},
		{name: "asked-for-other-session", rule: attest.RuleApprovalSession, context: wire.M{"session_urn": "urn:concordia:session:ses_8"},
			why: "the approved session is the one that the reader asks for", breaks: "an approval given in one negotiation closes another"},
		{name: "session-only-mentioned", rule: attest.RuleApprovalSession,
			edit: all(set("/references/0/id", `"urn:concordia:session:ses_8"`), set("/references/1", `{"id":"`+approvedSession+`","type":"negotiation_session","relationship":"references"}`)),
			why:  "one reference has both, the relationship and the id", breaks: "an approval that mentions a negotiation approves it"},
		{name: "other-offer", rule: attest.RuleOfferHash, shared: true, context: other, contract: other,
			why: "the approval is of one exact offer", breaks: changed},
		{name: "hash-of-other-offer", rule: attest.RuleOfferHash, shared: true, edit: set("/scope/offer_hash", `"`+wire.HashOf("another offer").String()+`"`),
			why: "the approval is of one exact offer", breaks: changed},
		{name: "hash-of-no-offer", rule: attest.RuleOfferHash, shared: true, edit: set("/scope/offer_hash", `"sha256:0000000000000000000000000000000000000000000000000000000000000000"`),
			why: "a hash of zeros is the hash of nothing", breaks: "an approval that was given before there was an offer fits every offer"},
	}
}

func approvalShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleApproval, sound: sound, shared: true}
	required := []member{
		{"/artifact_type", "what kind of artifact it is"}, {"/id", "which approval it is"},
		{"/issued_at", "when it was given"}, {"/expires_at", "until when it stands"},
		{"/approver", "who approved"}, {"/approver/identity", "whose signature it has to be"},
		{"/scope", "what was approved"}, {"/scope/decision", "whether the offer was approved or denied"},
		{"/scope/offer_hash", "which offer was approved"}, {"/scope/amount", "the amount that the person saw"},
		{"/scope/threshold_crossed", "why somebody had to be asked"}, {"/references", "what it belongs to"},
		{"/references/1/type", "the kind of what is referred to"}, {"/references/1/id", "what is referred to"},
		{"/references/1/relationship", "how the artifacts are related"},
		{"/signature", "that anybody signed"}, {"/signature/alg", "how it was signed"}, {"/signature/value", "that anybody signed"},
	}
	const many = "whoever reads it finds something else than whoever signed it meant"
	return slices.Concat(
		s.omitted(required...), s.mistyped(append(required, member{"/approver/role", "the role"})...),
		s.nulled(required[8], required[16]),
		s.recased(required[0], required[7], required[8]), s.added("/signature"),
		s.mistimed(required[2], day("09:00:00"))[:8], s.mistimed(required[3], day("14:00:00"))[:3],
		[]fault{
			s.other("/artifact_type", "other", `"FulfillmentAttestation"`, "the type tells the kinds apart", "an artifact of another kind is read as an approval"),
			s.other("/id", "empty", `""`, "an approval has an id, by which it is revoked", "an approval that cannot be named cannot be withdrawn"),
			s.other("/scope/offer_hash", "unprefixed", `"`+approvedOffer.Hash().Hex()+`"`, "a hash says how it was made", many),
			s.other("/scope/offer_hash", "cut-short", `"sha256:abcdef"`, "a hash is 64 digits", "an offer to fit a short hash is found by trying"),
			s.other("/references", "none", `[]`, "an approval refers to something", "it belongs to nothing and is used for everything"),
			s.other("/references/1/id", "empty", `""`, "a reference names something", "a revocation of what it depends on does not find it"),
			s.other("/references/1/signed_at", "no-time", `"soon"`, "what is known is well-formed, even where it is optional", many),
			s.other("/references/1/extensions", "no-object", `[]`, "what is known is well-formed, even where it is optional", many),
			s.other("/references/1", "no-object", `"`+approvedMandate+`"`, "a reference is an object", many),
			s.other("/signature/alg", "other-label", `"EdDSA"`, "in this kind of artifact the label is Ed25519", "a label that one reader looks up and the other ignores"),
			s.other("/signature/alg", "none", `"none"`, "the algorithm is not for the artifact to choose", "a library that knows none verifies without a key"),
			s.other("/signature/value", "empty", `""`, "an empty signature is none", "an unsigned draft passes"),
			s.fine("/references/1/extensions", "open", `{"anything":[1,{"goes":null}]}`, "extensions of a reference are kept and signed"),
			s.fine("/references/1/note", "open", `"kept"`, "references of this kind are open"),
			s.fine("/references/1/type", "unknown", `"poem"`, "an unknown type of reference is kept"),
			{name: "identity-with-space", rule: attest.RuleApproval, edit: set("/approver/identity", `"did:web:procurement.example# cfo"`),
				why: "an id has no white space", breaks: "two ids that a person cannot tell apart are two agents"},
		},
	)
}

func approvalTimes() []fault {
	const (
		early = "nothing is issued later than now, but for a skew of 120 seconds"
		stock = "approvals are stockpiled with dates to come and look fresh then"
	)
	expiry := limit{name: "expiry", rule: attest.RuleApprovalExpired, edge: day("09:30:00"), put: stamp("/expires_at"), shared: true,
		why: "expires_at is the last moment at which an approval stands, without any skew", breaks: "an old approval is used after the person changed their mind"}
	clock := expiry
	clock.edge = day("10:00:00")
	future := limit{name: "future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/issued_at"), why: early, breaks: stock}
	age := limit{name: "age", rule: attest.RuleAge, edge: day("09:30:00").Add(-attest.DefaultMaxAge), put: stamp("/issued_at", set("/expires_at", `"2027-01-01T00:00:00Z"`)),
		why: "a verifier has its own bound of 90 days, whatever the signer allows", breaks: "evidence of a state long gone is taken for the present"}
	return slices.Concat(expiry.instants(), clock.clocks()[1:3], future.instants(), age.instants())
}

// approvalRevoked are approvals in the light of revocation records.
func approvalRevoked() []fault {
	records := func(list ...wire.Value) wire.M { return wire.M{"revocation_records": list} }
	by := func(who, id string, edits ...func(wire.Value) wire.Value) wire.Value {
		v := revokes(who, id)
		for _, e := range edits {
			v = e(v)
		}
		return signedBlock(who)(v)
	}
	const unsignedReceipt = "urn:concordia:receipt:7"
	list := []fault{
		{name: "by-its-approver", rule: attest.RuleRevoked, context: records(by(approver, unsignedReceipt)),
			why: "who made an artifact may withdraw it"},
		{name: "by-a-trusted-revoker", rule: attest.RuleRevoked, context: records(by(treasury, unsignedReceipt)),
			why: "whoever the verifier trusts may revoke anything"},
		{name: "session", rule: attest.RuleRevoked, context: records(by(treasury, approvedSession)),
			why: "an approval depends on the session that it approves"},
		{name: "mandate", rule: attest.RuleRevoked, context: records(by(treasury, approvedMandate)),
			why: "an approval depends on the mandate that it fulfills"},
		{name: "mandate-at-depth-one", rule: attest.RuleRevoked, context: records(by(treasury, approvedMandate, set("/cascade_depth", `1`))),
			why: "what refers to the revoked artifact itself is one step away"},
		{name: "at-that-moment", rule: attest.RuleRevoked, context: records(by(treasury, unsignedReceipt, set("/effective_at", `"2026-09-14T09:30:00Z"`))),
			why: "a revocation is in force from effective_at on, that instant included"},
		{name: "alone", rule: attest.RuleRevoked, context: records(by(treasury, unsignedReceipt, set("/revocation_scope", `"single_artifact"`), set("/cascade_depth", `0`))),
			why: "a revocation without dependents still revokes the artifact itself"},
		{name: "among-others", rule: attest.RuleRevoked, context: records(by(treasury, "urn:concordia:mandate:1"), parse(`7`), by(treasury, unsignedReceipt)),
			why: "one record that counts is enough, wherever it is in the list"},
		{name: "by-a-stranger", context: records(by("did:web:mallory.example", unsignedReceipt)),
			why: "a record of somebody whose key is not known does not count: else anybody revokes anything"},
		{name: "forged", context: records(signedBlock("did:web:mallory.example")(by(approver, unsignedReceipt))),
			why: "a record that its issuer did not sign does not count: else anybody revokes anything"},
		{name: "of-something-else", context: records(by(treasury, "urn:concordia:receipt:8")),
			why: "a revocation is of one artifact"},
		{name: "not-yet", context: records(by(treasury, unsignedReceipt, set("/effective_at", `"2026-09-14T09:30:01Z"`))),
			why: "nothing is revoked before effective_at"},
		{name: "mandate-alone", context: records(by(treasury, approvedMandate, set("/revocation_scope", `"single_artifact"`))),
			why: "a record that does not cascade leaves dependents alone"},
		{name: "mandate-at-depth-zero", context: records(by(treasury, approvedMandate, set("/cascade_depth", `0`))),
			why: "a cascade of no steps reaches no dependent"},
		{name: "mandate-mentioned", context: records(by(treasury, approvedMandate)), edit: set("/references/1/relationship", `"references"`),
			why: "a mere reference carries no revocation"},
		{name: "mandate-superseded", context: records(by(treasury, approvedMandate)), edit: set("/references/1/relationship", `"supersedes"`),
			why: "what an artifact replaces may be revoked without it"},
		{name: "none", context: records(), why: "an empty list of revocations revokes nothing"},
	}
	for _, relationship := range []string{"extends", "approves", "revokes"} {
		list = append(list, fault{name: "mandate-" + relationship, rule: attest.RuleRevoked, context: records(by(treasury, approvedMandate)),
			edit: set("/references/1/relationship", `"`+relationship+`"`), why: "an artifact depends on what it " + relationship})
	}
	for i := range list {
		list[i].name = "revoked-" + list[i].name
		if list[i].rule != nil {
			list[i].breaks = "an approval is used after it, or what it rests on, was withdrawn"
		}
	}
	return list
}
