package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	orchard  = "did:web:orchard.example"
	cidery   = "did:web:cidery.example"
	ombud    = "did:web:ombud.example"
	onlooker = "did:web:notary.example"
)

// unsignedReceipt is an attestation that nobody has signed.
func unsignedReceipt() wire.Value {
	transcript := wire.HashOf("the messages of ses_42")
	return value(wire.M{
		"concordia_attestation": "0.5.0", "attestation_id": "att_42", "session_id": "ses_42", "timestamp": "2026-09-14T09:00:00Z",
		"outcome": wire.M{"status": "agreed", "rounds": 4, "duration_seconds": 5400, "terms_count": 3, "resolution_mechanism": "direct"},
		"parties": []wire.M{
			{"agent_id": orchard, "role": "initiator", "behavior": wire.M{"offers_made": 2, "concessions": 1, "concession_magnitude": 0.125,
				"signals_shared": 1, "constraints_declared": 0, "constraints_violated": 0, "reasoning_provided": true, "withdrawal": false, "response_time_avg_seconds": 12.5}},
			{"agent_id": cidery, "role": "responder", "behavior": wire.M{"offers_made": 2, "concessions": 2, "concession_magnitude": 0.25,
				"signals_shared": 0, "constraints_declared": 1, "constraints_violated": 0, "reasoning_provided": true, "withdrawal": false, "response_time_avg_seconds": 40}},
		},
		"meta":            wire.M{"category": "food.apples", "value_range": "1000-5000_EUR", "extensions_used": []string{"escrow"}, "mediator_invoked": false},
		"transcript_hash": transcript, "chain_head": wire.HashOf("the last message of ses_42"), "message_count": 9,
		"summary":           "Parties: ...rd.example, ...ry.example\nTopic: food.apples\nOutcome: AGREED\nTranscript hash: " + transcript.Hex()[:16],
		"fulfillment":       nil,
		"references":        []wire.M{{"type": "mandate", "id": "urn:concordia:mandate:42", "relationship": "fulfills"}},
		"validity_temporal": wire.M{"mode": "absolute", "from": "2026-09-14T09:00:00Z", "until": "2026-12-01T09:00:00Z"},
	})
}

// signRecords has each party sign its own record.
func signRecords(v wire.Value) wire.Value {
	parties, _ := v.Get("parties")
	if parties.Kind() != wire.Array {
		return v
	}
	var list []wire.Value
	for _, p := range parties.Elems() {
		if id, _ := p.Get("agent_id"); id.Kind() == wire.String {
			p = p.Without("signature").With("signature", signature(p.Without("signature"), id.Text()))
		}
		list = append(list, p)
	}
	return v.With("parties", value(append([]wire.Value{}, list...)))
}

// signAttestation has each party sign its own record and the whole.
func signAttestation(v wire.Value) wire.Value {
	v = signRecords(v)
	preimage := attest.Countersigned(v)
	signatures := wire.M{}
	parties, _ := v.Get("parties")
	for _, p := range parties.Elems() {
		if id, _ := p.Get("agent_id"); id.Kind() == wire.String {
			signatures[id.Text()] = signature(preimage, id.Text())
		}
	}
	return v.With("countersignatures", value(signatures))
}

// attestationContexts are those of the strict profile and of the contract's.
func attestationContexts() (strict wire.M, contract func(wire.Value) wire.M) {
	keys := publicKeys(orchard, cidery, ombud, onlooker)
	return wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys}, func(wire.Value) wire.M {
		return wire.M{"public_keys_b64url": keys, "forbid_raw_deal_terms": true}
	}
}

// attestation is one of two parties, looked at for its shape, its parties' records,
// its times and what it tells of the deal.
func attestation() specimen {
	context, contractContext := attestationContexts()
	s := specimen{
		kind: "attestation", record: "attestation", sign: signAttestation, value: signAttestation(unsignedReceipt()), context: context,
		contract: "attestation-v1", contractContext: contractContext,
	}
	initiator := record("initiator", 0, orchard, cidery)
	s.faults = slices.Concat(
		initiator.forgeries(), initiator.keys(orchard, publicKeys(orchard, cidery)), record("responder", 1, cidery, orchard).main(),
		attestationParties(s.value), attestationShape(s.value), attestationReferences(s.value), attestationPrivacy(), absoluteTimes(s.value),
	)
	return s
}

// record is the seal of one party's record.
func record(name string, i int, signer, peer string) signet {
	at := "/parties/" + string(rune('0'+i))
	return signet{
		name: name + "-record", what: "a record of conduct", rule: attest.RulePartyRecord, at: at + "/signature", signer: signer, peer: peer,
		preimage: func(v wire.Value) wire.Value {
			p, _ := v.At(tokens(at)...)
			return p.Without("signature")
		},
		other: set(at+"/behavior/offers_made", `7`), shared: true,
		// The signatures over the whole are made again: only the record's own does not
		// fit.
		tamper: func(v wire.Value) wire.Value {
			v = set(at+"/behavior/concessions", `5`)(v)
			preimage := attest.Countersigned(v)
			signatures, _ := v.Get("countersignatures")
			for who := range signatures.Members() {
				v = set("/countersignatures/"+who, signature(preimage, who).Canonical())(v)
			}
			return v
		},
	}
}

func attestationParties(sound wire.Value) []fault {
	one, _ := sound.At("parties", "0")
	third := func(id, role string) func(wire.Value) wire.Value {
		return set("/parties/-", `{"agent_id":"`+id+`","role":"`+role+`","behavior":{}}`)
	}
	expected := func(ids ...string) wire.M { return wire.M{"expected_verified_parties": ids} }
	list := []fault{
		{name: "one-party", rule: attest.RuleParties, shared: true, edit: set("/parties", `[`+one.Canonical()+`]`),
			why: "a deal has two sides", breaks: "an agent attests its own conduct, alone"},
		{name: "no-party", rule: attest.RuleParties, shared: true, edit: set("/parties", `[]`),
			why: "a deal has two sides", breaks: "an attestation of nobody is signed by all its parties: by none"},
		{name: "a-party-twice", rule: attest.RuleParties, edit: set("/parties/1/agent_id", `"`+orchard+`"`),
			why: "the two sides are two agents", breaks: "an agent that deals with itself has as many good deals as it likes"},
		{name: "a-party-three-times", rule: attest.RuleParties, edit: all(third(orchard, "witness"), third(cidery, "witness")),
			why: "an agent has one record in an attestation", breaks: "a reader that takes the first record and one that takes the last disagree on the conduct"},
		{name: "a-third-party-unknown", rule: wire.RuleUnknownKey, shared: true, edit: third("did:web:nobody.example", "witness"),
			why: "every listed party signs, also one whose key is not known; then the question stays open", breaks: "names are listed as parties that never were"},
		{name: "initiator-record-missing-signature", rule: attest.RulePartyRecord, shared: true, class: wire.ClassSchema, after: drop("/parties/0/signature"),
			why: "a record is its party's word", breaks: "a party finds in its history what it never signed"},
		{name: "initiator-record-empty-signature", rule: attest.RulePartyRecord, shared: true, after: set("/parties/0/signature", `""`),
			why: "an empty signature is none", breaks: "a party finds in its history what it never signed"},
		{name: "records-swapped-signatures", rule: attest.RulePartyRecord, shared: true, after: func(v wire.Value) wire.Value {
			first, _ := v.At("parties", "0", "signature")
			second, _ := v.At("parties", "1", "signature")
			return all(set("/parties/0/signature", second.Canonical()), set("/parties/1/signature", first.Canonical()))(v)
		}, why: "each record is signed by its own party", breaks: "one party signs for the other"},
		{name: "expected-parties", shared: true, contract: expected(cidery, orchard), why: "the parties are a set: their order is nobody's business"},
		{name: "behavior-empty", shared: true, edit: set("/parties/0/behavior", `{}`), why: "every figure of conduct may be left out"},
	}
	for _, role := range []string{"initiator", "responder", "mediator", "witness"} {
		list = append(list, fault{name: "role-" + role, edit: set("/parties/1/role", `"`+role+`"`), why: "this is one of the four roles; whether the transcript has it so is not told here"})
	}
	return list
}

// wholeReceipt is an attestation looked at for the signatures over the whole.
func wholeReceipt() specimen {
	context, _ := attestationContexts()
	s := specimen{
		kind: "attestation", form: "whole", record: "attestation", sign: signAttestation, value: signAttestation(unsignedReceipt()), context: context,
		contract: "attestation-countersign-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_keys_b64url": publicKeys(orchard, cidery, ombud, onlooker), "countersigners": []string{orchard, cidery}}
		},
	}
	initiator := whole("initiator", orchard, cidery)
	s.faults = slices.Concat(initiator.forgeries(), whole("responder", cidery, orchard).main(), transplants(s.value), witnesses())
	return s
}

// whole is the seal of one party's countersignature.
func whole(name, signer, peer string) signet {
	return signet{
		name: name, what: "an attestation", rule: attest.RuleOutcome, at: "/countersignatures/" + signer, signer: signer, peer: peer,
		preimage: attest.Countersigned, other: set("/session_id", `"ses_43"`), tamper: set("/outcome/status", `"rejected"`), shared: true, class: wire.ClassSignature,
	}
}

// changes are attestations of which somebody changed one member after all had signed.
func changes(sound wire.Value) []fault {
	var list []fault
	version, _ := sound.Get("concordia_attestation")
	mediated, _ := sound.At("meta", "mediator_invoked")
	for _, c := range []struct{ name, at, json, breaks string }{
		{"session", "/session_id", `"ses_43"`, "the receipt of one session is shown as that of another"},
		{"id", "/attestation_id", `"att_43"`, "one deal is counted as often as it is renamed"},
		{"timestamp", "/timestamp", `"2026-09-14T09:10:00Z"`, "an old receipt is made young"},
		{"status", "/outcome/status", `"withdrawn"`, "a deal is told to have ended otherwise"},
		{"rounds", "/outcome/rounds", `1`, "the figures of a deal are made better"},
		{"duration", "/outcome/duration_seconds", `60`, "the figures of a deal are made better"},
		{"terms-count", "/outcome/terms_count", `30`, "a small deal is told as a large one"},
		{"mechanism", "/outcome/resolution_mechanism", `"none"`, "a deal is told to have come about otherwise"},
		{"category", "/meta/category", `"art.paintings"`, "experience in one trade is shown as that in another"},
		{"value-range", "/meta/value_range", `"1000000+_EUR"`, "a small deal is told as a large one"},
		{"mediator", "/meta/mediator_invoked", value(!mediated.Bool()).Canonical(), "a deal is told to have needed help"},
		{"extensions", "/meta/extensions_used", `["bonds"]`, "a deal is told to have used what it did not"},
		{"transcript", "/transcript_hash", `"` + wire.HashOf("other messages").String() + `"`, "a receipt is tied to messages that nobody sent"},
		{"chain-head", "/chain_head", `"` + wire.HashOf("another message").String() + `"`, "a receipt is tied to messages that nobody sent"},
		{"message-count", "/message_count", `8`, "messages are cut off the end of a transcript"},
		{"summary", "/summary", `"Outcome: AGREED"`, "people read something else than programs"},
		{"references", "/references/0/id", `"urn:concordia:mandate:43"`, "a deal is told to have been made under another mandate"},
		{"relationship", "/references/0/relationship", `"supersedes"`, "a receipt is told to replace another"},
		{"until", "/validity_temporal/until", `"2026-12-10T09:00:00Z"`, "a receipt lives longer than its signers allowed"},
		{"start", "/validity_temporal/start", `"2026-09-14T08:59:00Z"`, "a receipt holds earlier than its signers allowed"},
		{"end", "/validity_temporal/end", `"2026-09-14T12:30:00Z"`, "a receipt lives longer than its signers allowed"},
		{"validity-duration", "/validity_temporal/duration_seconds", `3599`, "a receipt holds otherwise than its signers allowed"},
		{"from", "/validity_temporal/from", `"2026-09-14T08:59:59Z"`, "a receipt holds earlier than its signers allowed"},
		{"version", "/concordia_attestation", `"` + version.Text()[:4] + `7"`, "a receipt is read by rules that its signers did not know"},
	} {
		if _, ok := sound.At(tokens(c.at)...); !ok {
			continue
		}
		list = append(list, fault{name: "changed-" + c.name, rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: set(c.at, c.json),
			why: "all that was issued is countersigned, this too", breaks: c.breaks})
	}
	return list
}

// transplants are attestations that somebody made of another one.
func transplants(sound wire.Value) []fault {
	list := []fault{
		{name: "no-countersignatures", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: drop("/countersignatures"),
			why: "from version 0.2.0 every party signs the whole", breaks: "one side writes the outcome that it likes"},
		{name: "countersignatures-empty", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: set("/countersignatures", `{}`),
			why: "no signature is not every signature", breaks: "one side writes the outcome that it likes"},
		{name: "initiator-absent", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: drop("/countersignatures/" + orchard),
			why: "every party signs the whole", breaks: "a party is held to an outcome that it never agreed to"},
		{name: "responder-absent", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: drop("/countersignatures/" + cidery),
			why: "every party signs the whole, not only the one that shows it", breaks: "a party is held to an outcome that it never agreed to"},
		{name: "responder-under-another-name", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: func(v wire.Value) wire.Value {
			text, _ := v.At("countersignatures", cidery)
			return all(drop("/countersignatures/"+cidery), set("/countersignatures/did:web:Cidery.example", text.Canonical()))(v)
		}, why: "a signature is looked up by the exact id of its party", breaks: "ids that differ in case are one agent to one reader and two to another"},
	}
	list = append(list, changes(sound)...)
	for _, at := range []string{"/summary", "/references"} {
		f := fault{name: "removed" + slugDashed(at), rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: drop(at),
			why: "what was issued is countersigned, and is not left out afterwards", breaks: "a receipt is shown without what speaks against its holder"}
		list = append(list, f)
	}
	// The records of the parties are part of the whole: here a party signs another
	// record of itself afterwards.
	list = append(list, fault{name: "record-signed-again", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature,
		after: func(v wire.Value) wire.Value { return signRecords(set("/parties/0/behavior/concessions", `0`)(v)) },
		why:   "a party alone does not change what both have signed", breaks: "an agent improves its own conduct after the deal"},
		fault{name: "third-party-afterwards", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature,
			after: func(v wire.Value) wire.Value {
				return signRecords(set("/parties/-", `{"agent_id":"`+ombud+`","role":"mediator","behavior":{}}`)(v))
			},
			why: "nobody becomes a party after the deal", breaks: "an agent collects other agents' deals"},
		fault{name: "set-binding-no-head", rule: attest.RuleSet, edit: drop("/chain_head"),
			why: "from version 0.3.0 an attestation says which transcript it closes", breaks: "the same receipt is shown with a transcript that lacks its end"},
		fault{name: "set-binding-no-count", rule: attest.RuleSet, edit: drop("/message_count"),
			why: "from version 0.3.0 an attestation says how long its transcript is", breaks: "the same receipt is shown with a transcript that lacks its end"},
		fault{name: "outcome-required", context: wire.M{"require": []string{"outcome_bound"}},
			why: "who credits the outcome asks for all countersignatures, and here they are"},
		fault{name: "fulfillment-none-required", rule: attest.RuleFulfillment, context: wire.M{"require": []string{"fulfillment_bound"}},
			why: "who credits the fulfillment asks for one that is confirmed", breaks: "a deal of which nobody knows whether it was kept counts as kept"})
	return list
}

func slugDashed(at string) string { return "-" + strings.ReplaceAll(wordOf(at), "_", "-") }

// witnesses sign the whole without being parties. Nothing depends on them.
func witnesses() []fault {
	by := func(name, who string) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			return set("/countersignatures/"+name, signature(attest.Countersigned(v), who).Canonical())(v)
		}
	}
	return []fault{
		{name: "witnessed", shared: true, after: by(onlooker, onlooker), why: "a countersignature of somebody who is no party may be there"},
		{name: "witness-forged", shared: true, after: by(onlooker, "did:web:mallory.example"), why: "what is no party's decides nothing, not even forged: else anybody spoils a receipt by adding to it"},
		{name: "witness-forged-and-required", rule: attest.RuleWitness, after: by(onlooker, "did:web:mallory.example"), context: wire.M{"require": []string{"witnesses"}},
			why: "a verifier that asks for witnesses wants them to have signed", breaks: "somebody is said to have seen what it never saw"},
		{name: "witnessed-and-required", after: by(onlooker, onlooker), context: wire.M{"require": []string{"witnesses"}}, why: "the witness that is asked for signed"},
		{name: "witness-unknown", shared: true, after: by("did:web:nobody.example", "did:web:nobody.example"), why: "a witness whose key is not known decides nothing"},
		{name: "fulfillment-absent", shared: true, edit: drop("/fulfillment"), why: "an attestation without the member fulfillment is signed as it is"},
	}
}
