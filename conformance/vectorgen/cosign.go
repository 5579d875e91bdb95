package main

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// didKey is the id of a key as cosigned receipts spell it.
func didKey(name string) string { return string(wire.ReferenceDIDKey(key(name).Public())) }

// otherDIDKey is the same id in the spelling of everybody else.
func otherDIDKey(name string) string { return string(wire.DIDKey(key(name).Public())) }

const (
	publisher = "cosign publisher" // names of keys; their ids are the keys
	cosigner  = "cosign counterparty"
)

// cosignAs signs as the counterparty in the second entry of parties.
func cosignAs(v wire.Value) wire.Value {
	entry, ok := v.At("parties", "1")
	if text, _ := entry.Get("signature"); !ok || text.Kind() != wire.String {
		return v
	}
	sig := must(key(cosigner).Sign([]byte(v.StripSignatures().Canonical())))
	return set("/parties/1/signature", `"`+base64.RawURLEncoding.EncodeToString(sig[:])+`"`)(v)
}

// cosign is what a publisher tells of a session, signed by its counterparty.
func cosign() specimen {
	v := cosignAs(value(wire.M{
		"concordia": "0.5", "session_id": "ses_42", "counterparty_did": didKey(cosigner),
		"outcome": wire.M{"status": "agreed", "rounds": 4, "duration_seconds": 5400, "terms_count": 3},
		"parties": []wire.M{
			{"agent_id": didKey(publisher), "role": "initiator", "behavior": wire.M{"concessions": 1}},
			{"agent_id": didKey(cosigner), "role": "responder", "behavior": wire.M{"concessions": 2}, "signature": ""},
		},
		"fulfillment": wire.M{"status": "fulfilled"}, "graceful_degradation": false,
	}))
	s := specimen{
		kind: "cosign", record: "cosign_receipt", sign: cosignAs, value: v,
		context:  wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": wire.M{}, "publisher_did": didKey(publisher)},
		contract: "cosign-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"publisher_did": didKey(publisher), "counterparty_did": didKey(cosigner), "counterparty_public_key_b64url": key(cosigner).Public()}
		},
	}
	signet := signet{
		name: "signature", what: "a receipt", rule: attest.RuleCosignSignature, at: "/parties/1/signature", signer: cosigner, peer: publisher, unpadded: true,
		preimage: wire.Value.StripSignatures, other: set("/session_id", `"ses_43"`), tamper: set("/outcome/status", `"expired"`), shared: true,
	}
	s.faults = slices.Concat(signet.forgeries(), cosignParties(v), cosignUnsigned(), cosignShape(v), cosignPrivacy())
	return s
}

func cosignParties(sound wire.Value) []fault {
	const (
		alone = "a publisher cosigns its own receipts and counts them as evidence of two"
		other = "one reader takes an agent for a party of the deal and another does not"
	)
	third := func(id, role string) func(wire.Value) wire.Value {
		return set("/parties/-", `{"agent_id":"`+id+`","role":"`+role+`","behavior":{}}`)
	}
	rename := func(id string) func(wire.Value) wire.Value {
		return all(set("/counterparty_did", `"`+id+`"`), set("/parties/1/agent_id", `"`+id+`"`))
	}
	by := func(id string) wire.M { return wire.M{"publisher_did": id} }
	list := []fault{
		{name: "roles-swapped", shared: true, edit: all(set("/parties/0/role", `"responder"`), set("/parties/1/role", `"initiator"`)), why: "either side may publish"},
		{name: "with-a-mediator", shared: true, edit: third(ombud, "mediator"), why: "others may be listed as what they were"},
		{name: "with-a-witness", shared: true, edit: third(onlooker, "witness"), why: "others may be listed as what they were"},
		{name: "by-a-publisher-of-another-kind", edit: set("/parties/0/agent_id", `"did:web:shop.example"`), context: by("did:web:shop.example"), why: "the publisher's id need not be a key"},
		{name: "published-by-the-counterparty", rule: attest.RuleCosignPublisher, shared: true, class: wire.ClassBinding,
			edit: set("/parties/0/agent_id", `"`+otherDIDKey(cosigner)+`"`), context: by(otherDIDKey(cosigner)), contract: by(didKey(cosigner)),
			why: "who publishes and who cosigns are two, in whatever spelling", breaks: alone},
		{name: "counterparty-twice", rule: attest.RuleCosignEntry, shared: true, edit: third(didKey(cosigner), "witness"), why: "one entry is the counterparty's: else it is not clear which signature is meant", breaks: other},
		{name: "counterparty-not-listed", rule: attest.RuleCosignEntry, shared: true, edit: set("/parties/1/agent_id", `"`+ombud+`"`), why: "the counterparty is a party", breaks: "whoever signs becomes the counterparty of a deal that it was not in"},
		{name: "publisher-not-listed", rule: attest.RuleCosignParties, edit: set("/parties/0", `{"agent_id":"`+ombud+`","role":"mediator","behavior":{}}`), why: "the publisher is the other party", breaks: "a receipt of two others is shown as one's own"},
		{name: "shown-by-another", rule: attest.RuleCosignParties, context: by("did:web:mallory.example"), why: "the publisher is known from where the receipt was published", breaks: "a receipt of two others is shown as one's own"},
		{name: "shown-in-another-spelling", rule: attest.RuleCosignParties, context: by(otherDIDKey(publisher)), why: "an id is compared as text", breaks: other},
		{name: "publisher-twice", rule: attest.RuleCosignParties, edit: third(didKey(publisher), "initiator"), why: "nobody is listed twice", breaks: other},
		{name: "a-third-twice", rule: attest.RuleCosignParties, edit: all(third(ombud, "mediator"), third(ombud, "witness")), why: "nobody is listed twice", breaks: other},
		{name: "a-third-as-responder", rule: attest.RuleCosignParties, edit: third(ombud, "responder"), why: "the two sides are the publisher and the counterparty", breaks: "a deal of three is shown as a deal of two"},
		{name: "a-third-as-initiator", rule: attest.RuleCosignParties, edit: third(ombud, "initiator"), why: "the two sides are the publisher and the counterparty", breaks: "a deal of three is shown as a deal of two"},
		{name: "two-responders", rule: attest.RuleCosignParties, edit: set("/parties/0/role", `"responder"`), why: "one of the two began", breaks: other},
		{name: "two-initiators", rule: attest.RuleCosignParties, edit: set("/parties/1/role", `"initiator"`), why: "one of the two began", breaks: other},
		{name: "counterparty-as-witness", rule: attest.RuleCosignParties, edit: set("/parties/1/role", `"witness"`), why: "a counterparty is a side of the deal, not somebody who looked on", breaks: "an onlooker's signature counts as a counterparty's"},
		{name: "publisher-as-mediator", rule: attest.RuleCosignParties, edit: set("/parties/0/role", `"mediator"`), why: "the publisher is a side of the deal", breaks: "a mediator collects other agents' deals"},
		{name: "in-another-spelling", rule: attest.RuleCosignKey, edit: rename(otherDIDKey(cosigner)), why: "in these receipts a did:key is written with base64url", breaks: "one counterparty has two ids and counts twice"},
		{name: "key-unlike-the-known", rule: attest.RuleCosignKey, context: wire.M{"public_keys": wire.M{didKey(cosigner): key(treasury).Public()}}, why: "a verifier that knows another key of that id has been lied to", breaks: "a key that was replaced goes on signing"},
		{name: "key-like-the-known", context: wire.M{"public_keys": wire.M{didKey(cosigner): key(cosigner).Public()}}, why: "a verifier may know the key already"},
		{name: "publisher-signs-too", shared: true, after: func(v wire.Value) wire.Value {
			sig := must(key(publisher).Sign([]byte(v.StripSignatures().Canonical())))
			return set("/parties/0/signature", `"`+base64.RawURLEncoding.EncodeToString(sig[:])+`"`)(v)
		}, why: "a publisher may sign as well"},
		{name: "publisher-signature-forged", shared: true, after: set("/parties/0/signature", `"AAAA"`), why: "a publisher answers by publishing: its signature decides nothing"},
	}
	raw := key(cosigner).Public().Bytes()
	codec := func(prefix ...byte) string {
		return "did:key:z" + base64.RawURLEncoding.EncodeToString(append(prefix, raw...))
	}
	for _, c := range []struct{ name, id, why string }{
		{"padded", didKey(cosigner) + "=", "a did:key has one spelling"}, {"of-another-curve", codec(0xec, 0x01), "the key is an Ed25519 key, and its id says so"},
		{"without-codec", "did:key:z" + base64.RawURLEncoding.EncodeToString(raw), "an id says what kind of key it is"}, {"not-a-key", "did:web:cidery.example", "the counterparty is a key, so that nobody has to be asked for it"},
		{"without-multibase", strings.Replace(didKey(cosigner), ":z", ":", 1), "a did:key begins with z"}, {"with-fragment", didKey(cosigner) + "#" + didKey(cosigner)[8:], "the id is that of the agent, not of a key inside it"},
		{"cut-short", didKey(cosigner)[:40], "a key has 32 bytes"},
		{"weak", "did:key:z" + base64.RawURLEncoding.EncodeToString(append([]byte{0xed, 0x01, 1}, make([]byte, 31)...)), "under a key of small order one signature fits every message"},
	} {
		list = append(list, fault{name: "key-" + c.name, rule: attest.RuleCosignKey, edit: rename(c.id), why: c.why, breaks: "whoever reads the id finds another key in it, or none"})
	}
	return list
}

// cosignUnsigned are texts in members of the one name that is not signed.
func cosignUnsigned() []fault {
	var list []fault
	for _, c := range []struct{ name, at, json string }{
		{"at-the-top", "/signature", `"x"`}, {"in-the-outcome", "/outcome/signature", `{"price":"low"}`}, {"in-conduct", "/parties/0/behavior/signature", `"x"`},
		{"in-a-list", "/list", `[{"signature":[]}]`}, {"in-fulfillment", "/fulfillment/signature", `7`}, {"below-a-party", "/parties/1/note", `{"signature":"x"}`},
		{"null", "/outcome/signature", `null`}, {"two-deep", "/meta", `{"a":{"signature":{}}}`},
	} {
		list = append(list, fault{name: "unsigned-" + c.name, rule: attest.RuleCosignUnsigned, edit: set(c.at, c.json),
			why: "a member named signature is not signed, wherever it is: there is none but in the entries of parties", breaks: "anybody writes what it likes into a receipt that both have vouched for"})
	}
	return list
}

func cosignShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleCosigned, sound: sound}
	required := []member{
		{"/concordia", "by which rules it is read"}, {"/session_id", "which session it is of"}, {"/counterparty_did", "who cosigned"},
		{"/outcome", "how the session ended"}, {"/outcome/status", "how the session ended"}, {"/outcome/rounds", "how many offers there were"}, {"/outcome/duration_seconds", "how long it took"}, {"/outcome/terms_count", "how many terms there were"},
		{"/parties", "who took part"}, {"/parties/0/agent_id", "who took part"}, {"/parties/0/role", "what a party was in it"}, {"/parties/0/behavior", "how a party acted"},
		{"/fulfillment", "whether it was kept"}, {"/fulfillment/status", "whether it was kept"}, {"/graceful_degradation", "whether something was left out"},
	}
	const unread = "readers disagree on what the session was"
	list := slices.Concat(
		s.omitted(required...), s.mistyped(append(required, member{"/parties/0/behavior/concessions", "how often a party gave way"}, member{"/parties/1/signature", "that anybody signed"})...),
		s.nulled(required[4], required[5], required[14]), s.recased(required[0], required[5], required[14]),
		[]fault{
			s.other("/concordia", "no-version", `"v1"`, "a version is numbers", unread),
			s.other("/concordia", "empty", `""`, "a version is numbers", unread),
			s.other("/session_id", "empty", `""`, "a session has an id", unread),
			s.other("/session_id", "with-space", `"ses 42"`, "an id has no white space", "two ids that a person cannot tell apart are two sessions"),
			s.other("/outcome/status", "empty", `""`, "a session ended in some way", unread),
			s.other("/outcome/rounds", "negative", `-1`, "a count is not negative", unread),
			s.other("/outcome/rounds", "fraction", `1.5`, "a count is whole", unread),
			s.other("/outcome/terms_count", "negative", `-3`, "a count is not negative", unread),
			s.other("/outcome/terms_count", "fraction", `0.5`, "a count is whole", unread),
			s.other("/outcome/duration_seconds", "negative", `-1`, "a session does not end before it begins", unread),
			s.other("/parties/0/role", "other", `"buyer"`, "there are four roles", unread),
			s.other("/parties/0/behavior/concessions", "negative", `-1`, "a count is not negative", unread),
			s.other("/parties/0/behavior/concessions", "fraction", `0.5`, "a count is whole", unread),
			s.other("/fulfillment/status", "empty", `""`, "an empty text tells nothing", unread),
			s.other("/graceful_degradation", "number", `0`, "a boolean is no number", unread),
			s.fine("/concordia", "three-numbers", `"0.5.0"`, "a version has two or three numbers"),
			s.fine("/outcome/status", "expired", `"expired"`, "a session ends in some way"),
			s.fine("/outcome/terms_count", "zero", `0`, "a session may have no terms"),
			s.fine("/outcome/duration_seconds", "fraction", `0.25`, "a duration may have a fraction here"),
			s.fine("/parties/0/behavior", "empty", `{}`, "conduct need not be told"),
			s.fine("/graceful_degradation", "true", `true`, "something may have been left out"),
			s.fine("/note", "open", `"kept and signed"`, "the receipt is open: what it does not name is signed and kept"),
			s.fine("/outcome/note", "open", `"kept and signed"`, "its objects are open, too"),
		},
	)
	for i := range list {
		list[i].shared = list[i].rule == nil // the contract has no schema for these receipts
	}
	return append(list, fault{name: "no-signature", rule: attest.RuleCosignSignature, shared: true, after: drop("/parties/1/signature"), why: "the counterparty signs", breaks: "a publisher lists whom it likes as its counterparty"})
}

func cosignPrivacy() []fault {
	list := few("note", "/note", false)
	for _, c := range []struct{ name, at, json string }{
		{"name-of-a-member", "/EUR 5", `true`}, {"conduct", "/parties/0/behavior/note", `"price: low"`}, {"name-in-conduct", "/parties/1/behavior/4800 EUR", `{}`},
		{"list", "/log", `["a",["qty 7"]]`}, {"role-beside", "/parties/0/title", `"$5 man"`}, {"fulfillment", "/fulfillment/note", `"3 pcs"`},
	} {
		list = append(list, fault{name: "tells-in-" + c.name, rule: attest.RuleDealTerms, edit: set(c.at, c.json), why: "every text is scanned, wherever it is, and the names of members", breaks: toldBreaks})
	}
	return append(list,
		fault{name: "does-not-tell-in-a-urn", shared: true, edit: set("/note", `"urn:x402:payment:cad5"`), why: "a URN is no free text"},
		fault{name: "does-not-tell-in-the-session", shared: true, edit: set("/session_id", `"5eur"`), why: "an id is no free text"})
}
