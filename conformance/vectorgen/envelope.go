package main

import (
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const (
	provider    = "did:web:evidence.example"
	providerKey = provider + "#k1"
	providerTwo = provider + "#k2"
)

// evidence is an envelope that nobody has signed.
func evidence() wire.Value {
	return parse(`{
		"envelope_version":"1.0.0","envelope_id":"urn:uuid:6a0e2f64-9c1b-4d7e-8f25-3b6c1d9e7a42","issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-21T09:00:00Z",
		"refresh_hint":{"strategy":"event_driven","events":["session_completed"],"max_age_seconds":604800},
		"validity_temporal":{"mode":"sequence","sequence_key":"ses_42","baseline":null,"aliasing_risk":null},
		"provider":{"did":"` + provider + `","kid":"` + providerKey + `","category":"transactional","name":"Evidence"},
		"subject":{"did":"` + orchard + `"},"category":"transactional","visibility":"public",
		"references":[
			{"kind":"source_session","urn":"urn:concordia:session:ses_42","verified_at":"2026-09-14T09:00:00Z","verifier_did":"` + provider + `","hash":"` + wire.HashOf("the last message of ses_42").String() + `"},
			{"kind":"mandate_proof","urn":"urn:ap2:mandate:m-1"}],
		"payload":{"session_id":"ses_42","session_protocol":"concordia","session_protocol_version":"0.10.0","outcome":"ACCEPTED","counterparty_did":"` + cidery + `",
			"completion_timestamp":"2026-09-14T08:30:00Z","rounds_to_completion":4,
			"quality_signals":{"concession_magnitude":0.125,"reasoning_quality":true,"response_latency_p50_ms":12.5},
			"commitment":{"committed":true,"commitment_hash":"` + wire.HashOf("the messages of ses_42").String() + `","honored":null,"honored_verified_at":null},
			"privacy_guarantees":{"deal_terms_disclosed":false,"counterparty_identity_disclosed":true,"zk_proof_available":false}},
		"signature":{"alg":"EdDSA","kid":"` + providerKey + `","value":""}}`)
}

// envelope is evidence signed with EdDSA.
func envelope() specimen {
	sign := signedBlock(providerKey)
	keys := publicKeys(providerKey, providerTwo, treasury)
	s := specimen{
		kind: "envelope", record: "trust_envelope", sign: sign, value: sign(evidence()),
		context: wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
	}
	signet := envelopeSeal(providerKey, providerTwo)
	s.faults = slices.Concat(signet.forgeries(), signet.keys(providerKey, keys), envelopeMeaning(keys), envelopeKeys(keys), envelopeShape(s.value), envelopeTimes(),
		few("protocol", "/payload/session_protocol", false), envelopePrivacy())
	return s
}

func envelopeSeal(signer, peer string) signet {
	return signet{
		name: "signature", what: "an envelope", rule: attest.RuleEnvelopeSignature, at: "/signature/value", signer: signer, peer: peer,
		preimage: func(v wire.Value) wire.Value { return v.Without("signature") },
		other:    set("/subject/did", `"`+cidery+`"`), tamper: set("/payload/rounds_to_completion", `1`),
	}
}

func envelopeMeaning(keys wire.M) []fault {
	const stray = "evidence of one session is shown as that of another"
	outcome := func(outcome string, committed string) func(wire.Value) wire.Value {
		return all(set("/payload/outcome", `"`+outcome+`"`), set("/payload/commitment/committed", committed))
	}
	list := []fault{
		{name: "without-references", edit: set("/references", `[]`), why: "an envelope need not refer to anything"},
		{name: "without-source", edit: set("/references/0/kind", `"audit"`), why: "an envelope need not refer to its source"},
		{name: "two-sources", edit: set("/references/-", `{"kind":"source_session","urn":"urn:concordia:session:ses_43"}`), why: "one of the sources is the session"},
		{name: "source-is-second", edit: all(set("/references/0", `{"kind":"mandate_proof","urn":"urn:ap2:mandate:m-1"}`), set("/references/1", `{"kind":"source_session","urn":"urn:concordia:session:ses_42"}`)), why: "the references have no order"},
		{name: "urn-of-older-writers", edit: set("/references/1/urn", `"https://example.org/m-1"`), why: "a urn that is no URN is read with a warning"},
		{name: "counterparty-not-told", edit: set("/payload/counterparty_did", `null`), why: "the counterparty need not be told"},
		{name: "honored", edit: all(set("/payload/commitment/honored", `true`), set("/payload/commitment/honored_verified_at", `"2026-09-14T09:00:00Z"`)), why: "an envelope may tell that the deal was kept"},
		{name: "without-hint", edit: drop("/refresh_hint"), why: "a hint may be left out"},
		{name: "another-sequence", rule: attest.RuleEnvelopeSession, edit: set("/validity_temporal/sequence_key", `"ses_43"`), why: "an envelope is about one session throughout", breaks: stray},
		{name: "sequence-in-capitals", rule: attest.RuleEnvelopeSession, edit: set("/validity_temporal/sequence_key", `"SES_42"`), why: "ids are compared with their case", breaks: stray},
		{name: "sequence-of-a-prefix", rule: attest.RuleEnvelopeSession, edit: set("/validity_temporal/sequence_key", `"ses_4"`), why: "ids are compared whole", breaks: stray},
		{name: "no-urn-and-required", rule: attest.RuleEnvelopeURN, edit: set("/references/1/urn", `"https://example.org/m-1"`), context: wire.M{"require": []string{"urns"}},
			why: "a verifier that follows references by their URN wants all to have one", breaks: "evidence points at a page that says something else tomorrow"},
		{name: "another-source", rule: attest.RuleEnvelopeSession, edit: set("/references/0/urn", `"urn:concordia:session:ses_43"`), why: "the source is the session of the payload", breaks: stray},
		{name: "source-of-another-protocol", rule: attest.RuleEnvelopeSession, edit: set("/references/0/urn", `"urn:a2cn:session:ses_42"`), why: "the source is named by its whole URN", breaks: stray},
		{name: "source-without-urn", rule: attest.RuleEnvelopeSession, edit: set("/references/0/urn", `"ses_42"`), why: "the source is named by its whole URN", breaks: stray},
		{name: "source-of-a-prefix", rule: attest.RuleEnvelopeSession, edit: set("/references/0/urn", `"urn:concordia:session:ses_422"`), why: "ids are compared whole", breaks: stray},
		{name: "two-other-sources", rule: attest.RuleEnvelopeSession, edit: all(set("/references/0/urn", `"urn:concordia:session:ses_43"`), set("/references/1", `{"kind":"source_session","urn":"urn:concordia:session:ses_44"}`)),
			why: "if there are sources, one of them is the session", breaks: stray},
		{name: "another-payload", rule: attest.RuleEnvelopeSession, edit: all(set("/payload/session_id", `"ses_43"`), set("/validity_temporal/sequence_key", `"ses_43"`)), why: "the source is the session of the payload", breaks: stray},
		{name: "accepted-uncommitted", rule: attest.RuleEnvelopeCommitment, edit: outcome("ACCEPTED", `false`), why: "who accepted is committed", breaks: "one reader counts a deal and another none"},
	}
	for _, o := range []string{"REJECTED", "EXPIRED", "WITHDRAWN"} {
		name := strings.ToLower(o)
		list = append(list,
			fault{name: name, edit: outcome(o, `false`), why: "a session without a deal commits nobody"},
			fault{name: name + "-committed", rule: attest.RuleEnvelopeCommitment, edit: outcome(o, `true`), why: "a session without a deal commits nobody", breaks: "an agent is held to a deal that was never made"})
	}
	for _, v := range []string{"restricted", "private"} {
		list = append(list, fault{name: v, edit: set("/visibility", `"`+v+`"`), why: "whoever may see an envelope, it verifies alike"})
	}
	return list
}

// envelopeKeys are faults of the names of keys, all of which the verifier knows.
func envelopeKeys(keys wire.M) []fault {
	named := func(kid string) func(wire.Value) wire.Value {
		return all(set("/provider/kid", `"`+kid+`"`), set("/signature/kid", `"`+kid+`"`))
	}
	// as has the key of that name sign an envelope that names kid, and lets the
	// verifier know it by that name.
	as := func(who, known string) (func(wire.Value) wire.Value, wire.M) {
		context := wire.M{known: key(who).Public()}
		for name, k := range keys {
			if _, ok := context[name]; !ok {
				context[name] = k
			}
		}
		return signedBlock(who), wire.M{"public_keys": context}
	}
	const loss = "a key that is good for one thing, or of somebody else, signs evidence in the provider's name"
	list := []fault{
		{name: "kid-of-another-key", rule: attest.RuleEnvelopeKey, after: set("/signature/kid", `"`+providerTwo+`"`), why: "the signature names the provider's key; its own kid is not signed", breaks: "one reader looks for one key and another for the other"},
		{name: "kid-capitalized", rule: attest.RuleEnvelopeKey, after: set("/signature/kid", `"did:web:Evidence.example#k1"`), why: "names are compared with their case", breaks: "one reader looks for one key and another for the other"},
		{name: "kid-bare-and-whole", rule: attest.RuleEnvelopeKey, after: set("/signature/kid", `"k1"`), why: "the two names are compared as text", breaks: "one reader looks for one key and another for the other"},
		{name: "kid-empty-fragment", rule: attest.RuleEnvelopeKey, after: set("/signature/kid", `"`+provider+`#"`), why: "the two names are compared as text", breaks: "one reader looks for one key and another for the other"},
	}
	for _, c := range []struct {
		name, kid, who, known, why string
		fine                       bool
	}{
		{"second-key", providerTwo, providerTwo, providerTwo, "a provider may have several keys", true},
		{"kid-is-the-did", provider, provider, provider, "a provider may have one key, known by its DID", true},
		{"kid-is-bare", "k1", providerKey, providerKey, "a bare name is the provider's key of that name", true},
		{"kid-is-a-fragment", "#k1", providerKey, providerKey, "a fragment is the provider's key of that name", true},
		{"kid-known-as-it-is", "k7", "k7", "k7", "a verifier may know a key by its bare name", true},
		{"kid-of-another-did", treasury + "#k1", treasury, treasury + "#k1", "the key is the provider's", false},
		{"kid-is-another-did", treasury, treasury, treasury, "the key is the provider's", false},
		{"kid-of-a-prefix", "did:web:evidence.example.net#k1", treasury, "did:web:evidence.example.net#k1", "a DID is compared whole", false},
		{"kid-of-a-path", provider + ":sub#k1", treasury, provider + ":sub#k1", "a DID is compared whole", false},
		{"kid-in-capitals", "did:web:EVIDENCE.example#k1", treasury, "did:web:EVIDENCE.example#k1", "a DID is compared with its case", false},
	} {
		f := fault{name: c.name, edit: named(c.kid), why: c.why}
		f.after, f.context = as(c.who, c.known)
		if !c.fine {
			f.rule, f.breaks = attest.RuleEnvelopeProvider, loss
		}
		list = append(list, f)
	}
	other := fault{name: "provider-of-another-did", rule: attest.RuleEnvelopeProvider, edit: set("/provider/did", `"did:web:mallory.example"`), why: "the key is the provider's", breaks: loss}
	label := fault{name: "signature-of-another-label", rule: attest.RuleEnvelopeSignature, after: set("/signature/alg", `"ES256"`), why: "the label is the algorithm of the key", breaks: "a verifier that believes the label checks by another algorithm, or not at all"}
	return append(list, other, label)
}

func envelopeShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleEnvelope, sound: sound}
	required := []member{
		{"/envelope_version", "by which rules it is read"}, {"/envelope_id", "which envelope it is"}, {"/issued_at", "when it was issued"}, {"/expires_at", "until when it stands"},
		{"/validity_temporal", "which sequence it belongs to"}, {"/validity_temporal/mode", "how its validity is told"}, {"/validity_temporal/sequence_key", "which sequence it belongs to"},
		{"/provider", "who tells it"}, {"/provider/did", "who tells it"}, {"/provider/kid", "whose key it is"}, {"/subject", "of whom it tells"}, {"/subject/did", "of whom it tells"},
		{"/category", "what it is about"}, {"/visibility", "who may see it"}, {"/references", "what it rests on"}, {"/payload", "what it tells"},
		{"/payload/session_id", "which session it is of"}, {"/payload/session_protocol", "which protocol it was"}, {"/payload/session_protocol_version", "which version of it"},
		{"/payload/outcome", "how the session ended"}, {"/payload/counterparty_did", "who the other was"}, {"/payload/completion_timestamp", "when it ended"}, {"/payload/rounds_to_completion", "how many offers there were"},
		{"/payload/quality_signals", "how it went"}, {"/payload/commitment", "whether anybody is bound"}, {"/payload/commitment/committed", "whether anybody is bound"}, {"/payload/commitment/commitment_hash", "to what they are bound"},
		{"/payload/privacy_guarantees", "what is kept secret"}, {"/signature", "that anybody signed"}, {"/signature/alg", "how it was signed"}, {"/signature/kid", "whose key it is"}, {"/signature/value", "that anybody signed"},
	}
	optional := []member{
		{"/refresh_hint", "when to ask again"}, {"/refresh_hint/strategy", "when to ask again"}, {"/refresh_hint/events", "when to ask again"}, {"/refresh_hint/max_age_seconds", "when to ask again"},
		{"/provider/category", "what the provider is"}, {"/provider/name", "what people call it"},
		{"/payload/quality_signals/concession_magnitude", "how far it gave way"}, {"/payload/quality_signals/reasoning_quality", "whether it gave reasons"}, {"/payload/quality_signals/response_latency_p50_ms", "how fast it was"},
		{"/payload/privacy_guarantees/deal_terms_disclosed", "what is kept secret"},
	}
	const unread = "readers disagree on what is told of the session"
	list := slices.Concat(
		s.omitted(required...), s.mistyped(append(required, optional...)...), s.nulled(required[12], required[22], optional[3]),
		s.recased(required[12], required[13], required[17]), s.added("/signature"), s.mistimed(required[2], day("09:00:00"))[:2],
		s.mistimed(member{"/payload/commitment/honored_verified_at", "when somebody looked"}, day("09:00:00"))[:5],
		[]fault{
			s.other("/envelope_version", "other", `"2.0.0"`, "an envelope of another version has other rules", unread),
			s.other("/envelope_version", "of-two-parts", `"1.0"`, "a version has one spelling", unread),
			s.other("/envelope_id", "no-urn", `"6a0e2f64-9c1b-4d7e-8f25-3b6c1d9e7a42"`, "the id is a URN", "one envelope has two ids and counts twice"),
			s.other("/envelope_id", "cut-short", `"urn:uuid:6a0e2f64"`, "the id is a whole UUID", "one envelope has two ids and counts twice"),
			s.other("/envelope_id", "before-a-line-feed", `"urn:uuid:6a0e2f64-9c1b-4d7e-8f25-3b6c1d9e7a42\n"`, "an id ends with its last digit; some expressions let a line feed pass", "one envelope has two ids and counts twice"),
			s.other("/visibility", "other", `"secret"`, "there are three visibilities", "what was meant for few is shown to all"),
			s.other("/visibility", "in-mixed-case", `"Private"`, "a visibility has one spelling", "what was meant for few is shown to all"),
			s.other("/validity_temporal/mode", "other", `"absolute"`, "an envelope is valid as one of a sequence", unread),
			s.other("/category", "empty", `""`, "an empty text tells nothing", unread),
			s.other("/payload/session_protocol", "empty", `""`, "an empty text tells nothing", unread),
			s.other("/payload/session_protocol_version", "empty", `""`, "an empty text tells nothing", unread),
			s.other("/payload/outcome", "lower-case", `"accepted"`, "an outcome has one spelling", unread),
			s.other("/payload/outcome", "other", `"agreed"`, "the outcomes of an envelope are its own", unread),
			s.other("/payload/rounds_to_completion", "negative", `-1`, "a count is not negative", unread),
			s.other("/payload/rounds_to_completion", "fraction", `3.5`, "a count is whole", unread),
			s.other("/payload/quality_signals/concession_magnitude", "negative", `-0.5`, "a concession is not negative", "one hostile figure lowers the mean of a history"),
			s.other("/payload/quality_signals/response_latency_p50_ms", "negative", `-1`, "nobody answers before the question", "one hostile figure lowers the mean of a history"),
			s.other("/payload/commitment/commitment_hash", "cut-short", `"sha256:ab"`, "a hash is 64 digits", "a transcript to fit a short hash is found by trying"),
			s.other("/payload/commitment/commitment_hash", "in-capitals", `"sha256:`+capitals(wire.HashOf("x").Hex())+`"`, "a hash has one spelling", "one transcript has two hashes"),
			s.other("/payload/commitment/honored", "no-boolean", `"yes"`, "whether a deal was kept is told by true, false or null", unread),
			s.other("/payload/privacy_guarantees/zk_proof_available", "number", `1`, "a guarantee is given or not", "a reader takes any value for a promise"),
			s.other("/payload/privacy_guarantees/note", "text", `"all of them"`, "guarantees are booleans only", "a reader takes any value for a promise"),
			s.other("/payload/counterparty_did", "empty", `""`, "an empty id is none", unread),
			s.other("/payload/counterparty_did", "with-space", `"did:web:cidery example"`, "an id has no white space", "two ids that a person cannot tell apart are two agents"),
			s.other("/subject/did", "with-space", `"did:web:orchard example"`, "an id has no white space", "two ids that a person cannot tell apart are two agents"),
			s.other("/refresh_hint/max_age_seconds", "negative", `-1`, "an age is not negative", "a reader asks again without end"),
			s.other("/refresh_hint/events/0", "no-text", `7`, "an event has a name", unread),
			s.other("/expires_at", "before-issued", `"2026-09-14T08:59:59Z"`, "an envelope does not end before it begins", "a reader that computes with it computes a negative time"),
			s.other("/signature/alg", "other-label", `"Ed25519"`, "in this kind of artifact the labels are EdDSA and ES256", "a label that one reader looks up and the other ignores"),
			s.other("/signature/alg", "none", `"none"`, "the algorithm is not for the artifact to choose", "a library that knows none verifies without a key"),
			s.other("/signature/value", "empty", `""`, "an empty signature is none", "an unsigned draft passes"),
			s.fine("/payload/quality_signals/concession_magnitude", "above-one", `1.5`, "other writers count otherwise"),
			s.fine("/payload/note", "open", `"kept and signed"`, "the payload is open"),
			s.fine("/note", "open", `{"kept":true}`, "the envelope is open"),
			s.fine("/payload/privacy_guarantees", "empty", `{}`, "an envelope need not promise anything"),
			s.fine("/payload/rounds_to_completion", "zero", `0`, "a session may end without an offer"),
		},
	)
	for _, m := range optional {
		f := s.fault(m, "left-out", drop(m.at))
		f.rule, f.why = nil, "an envelope need not tell "+m.tells
		list = append(list, f)
	}
	return append(list, envelopeReferences(sound)...)
}

func envelopeReferences(sound wire.Value) []fault {
	s := shape{rule: attest.RuleEnvelopeReference, sound: sound}
	required := []member{{"/references/1/kind", "the kind of what was verified"}, {"/references/1/urn", "what was verified"}}
	optional := []member{{"/references/0/verified_at", "when it was verified"}, {"/references/0/verifier_did", "who verified it"}, {"/references/0/hash", "what it was then"}}
	const loss = "a reader takes for verified what nobody can name"
	list := slices.Concat(s.omitted(required...), s.mistyped(append(required, optional...)...), s.nulled(required[0]), s.recased(required[0]), s.mistimed(optional[0], day("09:00:00"))[:8])
	for _, m := range optional {
		list = append(list, s.fine(m.at, "null", `null`, "what says that it was verified may be null: not every kind has a verifier"))
		f := s.fault(m, "left-out", drop(m.at))
		f.rule, f.why = nil, "what says that it was verified may be left out: not every kind has a verifier"
		list = append(list, f)
	}
	return append(list,
		s.other("/references/1/kind", "empty", `""`, "a kind is a word", loss), s.other("/references/1/kind", "with-space", `"mandate proof"`, "a kind is a word without white space", loss),
		s.other("/references/1/urn", "empty", `""`, "a urn is not empty", loss), s.other("/references/1/urn", "with-space", `"urn:ap2: m-1"`, "a urn has no white space", loss),
		s.other("/references/1/urn", "before-a-line-feed", `"urn:ap2:m-1\n"`, "a urn has no white space", loss),
		s.other("/references/1/kind", "too-long", wire.Text(strings.Repeat("k", 257)).Canonical(), "a kind has at most 256 characters", loss),
		s.other("/references/1/urn", "too-long", wire.Text("urn:"+strings.Repeat("u", 2045)).Canonical(), "a urn has at most 2048 characters", loss),
		s.other("/references/1", "no-object", `"urn:ap2:mandate:m-1"`, "a reference is an object", loss),
		s.fine("/references/1/kind", "longest", wire.Text(strings.Repeat("k", 256)).Canonical(), "a kind may have 256 characters"),
		s.fine("/references/1/urn", "longest", wire.Text("urn:"+strings.Repeat("u", 2044)).Canonical(), "a urn may have 2048 characters"),
		s.fine("/references/1/note", "open", `"kept"`, "references of an envelope are open"))
}

func envelopeTimes() []fault {
	const happened = "nothing is told to have happened that has not, but for a skew of 120 seconds"
	const loss = "a session is told to be over before it is"
	expiry := limit{name: "expiry", rule: attest.RuleEnvelopeExpired, edge: day("09:30:00"), why: "expires_at is the last moment at which an envelope stands, without any skew", breaks: "evidence of a state long gone is taken for the present",
		put: func(text string) func(wire.Value) wire.Value {
			issued := must(wire.ParseTime(text)).Add(-time.Hour)
			if oldest := day("09:30:00").Add(-80 * 24 * time.Hour); issued.Before(oldest) {
				issued = must(wire.ParseTime(text)) // far beyond, and so is the age
			}
			return all(set("/issued_at", wire.Text(issued.Format(time.RFC3339)).Canonical()), set("/expires_at", wire.Text(text).Canonical()))
		}}
	clock := expiry
	clock.edge = must(time.Parse(time.RFC3339, "2026-09-21T09:00:00Z"))
	instants := slices.DeleteFunc(expiry.instants(), func(f fault) bool {
		return strings.HasSuffix(f.name, "-by-a-year") || strings.HasSuffix(f.name, "-by-ages")
	}) // which are too old as well
	ended := limit{name: "completed", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/payload/completion_timestamp"), why: happened, breaks: loss}
	verified := limit{name: "verified", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/references/0/verified_at"), why: happened, breaks: "something is told to be verified before it is"}
	second := limit{name: "second-verified", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/references/1/verified_at"), why: happened, breaks: "something is told to be verified before it is"}
	future := limit{name: "future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, why: "nothing is issued later than now, but for a skew of 120 seconds", breaks: "envelopes are stockpiled with dates to come and look fresh then",
		put: func(text string) func(wire.Value) wire.Value {
			end := must(wire.ParseTime(text)).Add(time.Hour).Format(time.RFC3339)
			return all(set("/issued_at", wire.Text(text).Canonical()), set("/expires_at", `"`+end+`"`))
		}}
	long := limit{name: "lifetime", rule: attest.RuleLifetime, edge: day("09:00:00").Add(attest.DefaultMaxLifetime), later: true, put: stamp("/expires_at"), why: lifetimeWhy, breaks: "a provider vouches forever for what it saw once"}
	return slices.Concat(instants, clock.clocks()[:3], future.instants(), long.instants(), ended.instants(), verified.instants(), second.instants()[4:7])
}

func envelopePrivacy() []fault {
	var list []fault
	for _, c := range []struct{ name, at, json string }{
		{"signals", "/payload/quality_signals/note", `"4800 EUR"`}, {"name-of-a-member", "/payload/EUR 5", `true`}, {"name-of-a-guarantee", "/payload/privacy_guarantees/qty 5", `true`},
		{"commitment", "/payload/commitment/note", `"price: low"`}, {"list", "/payload/log", `[["$5"]]`}, {"version", "/payload/session_protocol_version", `"3 units"`},
	} {
		list = append(list, fault{name: "tells-in-" + c.name, rule: attest.RuleDealTerms, edit: set(c.at, c.json), why: "every text of the payload is scanned, and the names of members", breaks: toldBreaks})
	}
	return append(list,
		fault{name: "does-not-tell-outside", edit: set("/note", `"4800 EUR"`), why: "what is beside the payload is the provider's own"},
		fault{name: "does-not-tell-in-a-urn", edit: set("/payload/source", `"urn:x:5eur"`), why: "a URN is no free text"},
		fault{name: "does-not-tell-in-the-session", why: "an id is no free text",
			edit: all(set("/payload/session_id", `"5eur"`), set("/validity_temporal/sequence_key", `"5eur"`), set("/references/0/urn", `"urn:concordia:session:5eur"`))})
}
