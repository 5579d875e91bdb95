package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	carrier   = "did:web:carrier.example#depot"
	agreement = "urn:concordia:attestation:att_42"
)

// fulfillment is what a carrier, which is no party, tells of an agreement.
func fulfillment() specimen {
	sign := signedBlock(carrier)
	keys := publicKeys(carrier, treasury)
	s := specimen{
		kind: "fulfillment", record: "fulfillment_attestation", sign: sign,
		value: sign(parse(`{
			"attestation_type":"FulfillmentAttestation","id":"urn:concordia:fulfillment:42","issued_at":"2026-09-14T09:00:00Z","agreement_attestation_id":"` + agreement + `",
			"fulfillment":{"status":"fulfilled_with_mediation","settled_at":"2026-09-14T08:30:00Z"},
			"references":[
				{"id":"urn:concordia:session:ses_42","type":"negotiation_session","relationship":"references"},
				{"id":"` + agreement + `","type":"attestation","relationship":"fulfills","version":"0.5.0","signed_at":"2026-09-13T09:00:00Z","signer_did":"` + orchard + `","extensions":{}}],
			"meta":{"mediator_invoked":true,"resolver_did":"` + ombud + `","resolution_outcome":"redelivery","resolution_timestamp":"2026-09-14T08:00:00Z","fulfillment_evidence":["urn:example:photo:1"]},
			"signature":{"alg":"Ed25519","value":"","signer_did":"` + carrier + `"}}`)),
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
		contract: "fulfillment-attestation-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_key_b64url": key(carrier).Public(), "forbid_raw_deal_terms": true}
		},
	}
	signet := signet{
		name: "signature", what: "a fulfillment attestation", rule: attest.RuleSettlementSignature, at: "/signature/value", signer: carrier, peer: treasury,
		preimage: func(v wire.Value) wire.Value { return v.Without("signature") },
		other:    set("/id", `"urn:concordia:fulfillment:43"`), tamper: set("/fulfillment/status", `"failed"`), shared: true,
	}
	s.faults = slices.Concat(settlementMeaning(), signet.forgeries(), signet.keys(carrier, keys), settlementShape(s.value), settlementTimes(),
		few("outcome", "/meta/resolution_outcome", true), few("evidence", "/meta/fulfillment_evidence/0", false), settlementPrivacy(), settlementRevoked())
	return s
}

func settlementMeaning() []fault {
	const stray = "one delivery discharges any number of agreements"
	const muddle = "a reader that looks at one member and one that looks at the other credit different outcomes"
	unmediated := all(set("/fulfillment/status", `"fulfilled_clean"`), drop("/meta"))
	target := func(name, id, why string) fault {
		return fault{name: name, rule: attest.RuleFulfillsAgreement, shared: true, edit: set("/references/1/id", wire.Text(id).Canonical()), why: why, breaks: stray}
	}
	return []fault{
		{name: "clean", shared: true, edit: unmediated, why: "most deliveries need no mediator"},
		{name: "clean-and-said-so", shared: true, edit: all(set("/fulfillment/status", `"fulfilled_clean"`), set("/meta/mediator_invoked", `false`)), why: "who needed no mediator may say so"},
		{name: "failed", shared: true, edit: set("/fulfillment/status", `"failed"`), why: "an agreement may fail, also with a mediator"},
		{name: "disputed", shared: true, edit: set("/fulfillment/status", `"disputed_unresolved"`), why: "a dispute may stay open, also with a mediator"},
		{name: "failed-without-mediator", shared: true, edit: all(set("/fulfillment/status", `"failed"`), drop("/meta")), why: "an agreement may fail without a mediator"},
		{name: "reference-is-first", shared: true, edit: set("/references/0", `{"id":"`+agreement+`","type":"receipt","relationship":"fulfills"}`), why: "the references have no order"},
		{name: "also-fulfills-another", shared: true, edit: set("/references/0/relationship", `"fulfills"`), why: "one of the references is to the agreement"},
		{name: "mediator-not-invoked", rule: attest.RuleMediated, shared: true, edit: set("/meta/mediator_invoked", `false`), why: "what is fulfilled with mediation had a mediator", breaks: muddle},
		{name: "mediator-not-told", rule: attest.RuleMediated, shared: true, edit: drop("/meta/mediator_invoked"), why: "what is fulfilled with mediation had a mediator, and says so", breaks: muddle},
		{name: "mediation-without-meta", rule: attest.RuleMediated, shared: true, edit: drop("/meta"), why: "what is fulfilled with mediation had a mediator, and says so", breaks: muddle},
		{name: "clean-with-mediator", rule: attest.RuleUnmediated, edit: set("/fulfillment/status", `"fulfilled_clean"`), why: "what needed a mediator was not clean", breaks: muddle},
		{name: "no-fulfills-reference", rule: attest.RuleFulfillsReference, shared: true, edit: set("/references/1/relationship", `"references"`), why: "a settlement refers to what it fulfills", breaks: "a revocation of the agreement does not reach its settlement"},
		{name: "fulfills-capitalized", rule: attest.RuleFulfillsReference, shared: true, edit: set("/references/1/relationship", `"Fulfills"`), why: "a relationship has one spelling", breaks: "a revocation of the agreement does not reach its settlement"},
		target("fulfills-another", "urn:concordia:attestation:att_43", "the reference points at the agreement"),
		target("fulfills-one-of-a-prefix", agreement+"2", "ids are compared whole"),
		target("fulfills-in-capitals", "urn:concordia:attestation:ATT_42", "ids are compared with their case"),
		{name: "another-agreement", rule: attest.RuleFulfillsAgreement, shared: true, edit: set("/agreement_attestation_id", `"urn:concordia:attestation:att_43"`), why: "the reference points at the agreement", breaks: stray},
		{name: "agreement-only-mentioned", rule: attest.RuleFulfillsAgreement, shared: true, edit: all(set("/references/0/relationship", `"fulfills"`), set("/references/1/relationship", `"references"`)),
			why: "one reference has both, the relationship and the id", breaks: stray},
		{name: "asked-for", context: wire.M{"agreement_attestation_id": agreement}, why: "who looks for the settlement of an agreement finds that one"},
		{name: "asked-for-another", rule: attest.RuleSettledAgreement, context: wire.M{"agreement_attestation_id": "urn:concordia:attestation:att_43"},
			why: "the settled agreement is the one at hand", breaks: stray},
		{name: "asked-for-one-of-a-prefix", rule: attest.RuleSettledAgreement, context: wire.M{"agreement_attestation_id": agreement + "2"},
			why: "ids are compared whole", breaks: stray},
		{name: "asked-for-in-capitals", rule: attest.RuleSettledAgreement, context: wire.M{"agreement_attestation_id": "urn:concordia:attestation:ATT_42"},
			why: "ids are compared with their case", breaks: stray},
		{name: "names-no-signer", rule: wire.RuleUnknownKey, after: drop("/signature/signer_did"), why: "without a name nobody knows whose key to ask for", breaks: "a signature counts under whatever key happens to fit"},
		{name: "names-another-signer", rule: attest.RuleSettlementSignature, after: set("/signature/signer_did", `"`+treasury+`"`), why: "the member that names the signer is not signed, so its key decides", breaks: "one agent's word is credited to another"},
	}
}

func settlementShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleSettlement, sound: sound, shared: true}
	required := []member{
		{"/attestation_type", "what kind of artifact it is"}, {"/id", "which settlement it is"}, {"/issued_at", "when it was issued"},
		{"/agreement_attestation_id", "which agreement it settles"}, {"/fulfillment", "what became of the agreement"}, {"/fulfillment/status", "what became of the agreement"},
		{"/references", "what it belongs to"}, {"/references/0/id", "what is referred to"}, {"/references/0/type", "the kind of what is referred to"}, {"/references/0/relationship", "how the artifacts are related"},
		{"/signature", "that anybody signed"}, {"/signature/alg", "how it was signed"}, {"/signature/value", "that anybody signed"},
	}
	optional := []member{
		{"/fulfillment/settled_at", "when it was settled"}, {"/meta", "what is told besides"}, {"/meta/resolver_did", "who helped"}, {"/meta/resolution_outcome", "how it was resolved"},
		{"/meta/resolution_timestamp", "when it was resolved"}, {"/meta/fulfillment_evidence", "what proves it"},
		{"/references/1/version", "the version of what is referred to"}, {"/references/1/signed_at", "when that was signed"}, {"/references/1/signer_did", "who signed that"}, {"/references/1/extensions", "what is told besides"},
	}
	const unread = "a reader that knows no such value makes up its own meaning"
	list := slices.Concat(
		s.omitted(required...), s.mistyped(slices.Concat(required, optional)...), s.mistyped(member{"/meta/mediator_invoked", "whether somebody helped"}, member{"/signature/signer_did", "where the key is"}),
		s.nulled(required[5], optional[0], optional[1]), s.recased(required[0], required[5]), s.added("/signature"),
		s.mistimed(required[2], day("09:00:00"))[:3], s.mistimed(optional[4], day("08:00:00"))[:8],
		[]fault{
			s.other("/attestation_type", "other", `"ApprovalReceipt"`, "the type tells the kinds apart", "an artifact of another kind is read as a settlement"),
			s.other("/id", "empty", `""`, "a settlement has an id, by which it is revoked", "a settlement that cannot be named cannot be withdrawn"),
			s.other("/fulfillment/status", "other", `"fulfilled"`, "the statuses of a settlement are its own", unread),
			s.other("/fulfillment/status", "in-capitals", `"FAILED"`, "a status has one spelling", unread),
			s.other("/references", "none", `[]`, "a settlement refers to something", "a revocation of the agreement does not reach its settlement"),
			s.other("/references/0/id", "empty", `""`, "a reference names something", "a revocation of what it depends on does not find it"),
			s.other("/references/0", "no-object", `"urn:concordia:session:ses_42"`, "a reference is an object", unread),
			s.other("/references/1/signed_at", "no-time", `"soon"`, "what is known is well-formed, even where it is optional", unread),
			s.other("/meta/fulfillment_evidence/0", "no-text", `7`, "evidence is named by a text", unread),
			s.other("/signature/alg", "other-label", `"EdDSA"`, "in this kind of artifact the label is Ed25519", "a label that one reader looks up and the other ignores"),
			s.other("/signature/alg", "none", `"none"`, "the algorithm is not for the artifact to choose", "a library that knows none verifies without a key"),
			s.other("/signature/value", "empty", `""`, "an empty signature is none", "an unsigned draft passes"),
			s.fine("/meta/behavioral_signals", "open", `{"on_time":true,"disputes_raised":0}`, "meta is open: what it does not name is signed and kept"),
			s.fine("/charge_ref", "open", `"tx-cad5"`, "the artifact is open, and a payment's reference is no free text"),
			s.fine("/references/0/note", "open", `"kept"`, "references of this kind are open"),
		},
	)
	for i := range list {
		if list[i].name == "charge_ref-open" {
			list[i].shared = false // the contract scans all text
		}
	}
	for _, m := range optional {
		if m.at == "/meta" {
			continue // without it there is no mediator
		}
		f := s.fault(m, "left-out", drop(m.at))
		f.rule, f.shared, f.why = nil, false, "a settlement need not tell "+m.tells
		list = append(list, f)
	}
	return list
}

func settlementTimes() []fault {
	const before = "nothing is told to have happened that has not, but for a skew of 120 seconds"
	const loss = "a delivery is attested before it is made"
	return slices.Concat(
		limit{name: "future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/issued_at"), why: before, breaks: "settlements are stockpiled with dates to come and look fresh then"}.instants(),
		limit{name: "age", rule: attest.RuleAge, edge: day("09:30:00").Add(-attest.DefaultMaxAge), put: stamp("/issued_at"), why: "a verifier has its own bound of 90 days", breaks: "evidence of a state long gone is taken for the present"}.instants(),
		limit{name: "settled", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/fulfillment/settled_at"), why: before, breaks: loss}.instants(),
		limit{name: "resolved", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/meta/resolution_timestamp"), why: before, breaks: loss}.instants(),
	)
}

// settlementPrivacy are terms where a scan of a few known members does not look.
func settlementPrivacy() []fault {
	var list []fault
	for _, c := range []struct{ name, at, json string }{
		{"deep", "/fulfillment/notes", `{"a":["price: low"]}`}, {"name-of-a-member", "/fulfillment/EUR 5", `true`}, {"name-of-a-member-of-meta", "/meta/4800 EUR", `{}`},
		{"reference", "/references/0/note", `"$5"`}, {"extension-of-a-reference", "/references/1/extensions", `{"x":"3 pcs"}`}, {"relationship", "/references/0/relationship", `"4800 EUR"`},
		{"resolver", "/meta/resolver_did", `"EUR 4800"`}, {"list-in-a-list", "/meta/log", `[["qty 7"]]`},
	} {
		list = append(list, fault{name: "tells-in-" + c.name, rule: attest.RuleDealTerms, shared: true, edit: set(c.at, c.json), why: "every text is scanned, wherever it is, and the names of members", breaks: toldBreaks})
	}
	for _, c := range []struct{ name, at, json, why string }{
		{"a-urn", "/meta/fulfillment_evidence/0", `"urn:x402:payment:0xcad5"`, "a URN is no free text"}, {"a-hash", "/meta/digest", `"sha256:cad5000000000000000000000000000000000000000000000000000000000000"`, "a hash is no free text"},
		{"a-did", "/meta/resolver_did", `"did:web:5eur.example"`, "a DID is no free text"},
		{"action_ref", "/action_ref", `"5eur"`, "the reference of an action is no free text"},
	} {
		list = append(list, fault{name: "does-not-tell-in-" + strings.ReplaceAll(c.name, "_", "-"), edit: set(c.at, c.json), why: c.why})
	}
	return append(list, fault{name: "tells-in-a-urn-with-space", rule: attest.RuleDealTerms, shared: true, edit: set("/meta/fulfillment_evidence/0", `"urn:x: 3 units"`),
		why: "what has white space is no URN", breaks: toldBreaks})
}

func settlementRevoked() []fault {
	by := func(who, id string) wire.M {
		return wire.M{"revocation_records": []wire.Value{signedBlock(who)(revokes(who, id))}}
	}
	const loss = "a settlement counts of an agreement that was withdrawn"
	var list []fault
	for _, relationship := range []string{"fulfills", "extends", "approves", "revokes"} {
		list = append(list, fault{name: "revoked-" + relationship, rule: attest.RuleRevoked, context: by(treasury, "urn:concordia:session:ses_42"), edit: set("/references/0/relationship", `"`+relationship+`"`),
			why: "an artifact depends on what it " + relationship, breaks: loss})
	}
	return append(list, []fault{
		{name: "revoked-by-its-signer", rule: attest.RuleRevoked, context: by(carrier, "urn:concordia:fulfillment:42"), why: "who made an artifact may withdraw it", breaks: loss},
		{name: "revoked-by-a-trusted-revoker", rule: attest.RuleRevoked, context: by(treasury, "urn:concordia:fulfillment:42"), why: "whoever the verifier trusts may revoke anything", breaks: loss},
		{name: "revoked-agreement", rule: attest.RuleRevoked, context: by(treasury, agreement), why: "a settlement depends on its agreement", breaks: loss},
		{name: "revoked-session-mentioned", context: by(treasury, "urn:concordia:session:ses_42"), why: "a mere reference carries no revocation"},
		{name: "revoked-by-a-stranger", context: by("did:web:mallory.example", agreement), why: "a record of somebody whose key is not known does not count"},
	}...)
}
