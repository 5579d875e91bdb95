package main

import (
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// shownBy is what an agent signs of a bundle or a competence proof: all but the
// signature and the version marker.
func shownBy(v wire.Value) wire.Value {
	return v.Without("agent_signature").Without("concordia_receipt_bundle").Without("concordia_competence_proof")
}

// signShown signs a bundle or a competence proof, not the receipts in it.
func signShown(v wire.Value) wire.Value {
	if text, _ := v.Get("agent_signature"); text.Kind() != wire.String {
		return v
	}
	who, _ := v.Get("agent_id")
	if who.Text() == "" {
		who = wire.Text(vintner)
	}
	return v.With("agent_signature", signature(shownBy(v), who.Text()))
}

func signBundle(v wire.Value) wire.Value { return signShown(signReceipts(v, "attestations")) }

const figuresText = `{"total_negotiations":3,"agreements":2,"agreement_rate":0.6667,"avg_concession_magnitude":0.1333,"fulfillment_rate":0,"unique_counterparties":3,
	"categories":["beverages.wine","goods.barrels"],"earliest":"2026-09-09T12:00:00Z","latest":"2026-09-11T12:00:00Z","reasoning_rate":0.3333}`

// otherFigures are, for each figure, values that the receipts do not add up to. Those
// that are odd contradict another figure.
var otherFigures = []struct {
	name, text, why string
	odd             bool
}{
	{"total_negotiations", `4`, "there are three receipts", true},
	{"agreements", `3`, "one of the sessions was rejected", true},
	{"agreement_rate", `1`, "two of three is not all", true},
	{"agreement_rate", `0.6666`, "two of three is 0.6667 at four decimals", true},
	{"agreement_rate", `0.66666667`, "shares have four decimals", true},
	{"avg_concession_magnitude", `0.1334`, "the mean is 0.1333 at four decimals", false},
	{"avg_concession_magnitude", `0`, "the vintner did concede", false},
	{"fulfillment_rate", `1`, "without any fulfillment the rate is 0", false},
	{"unique_counterparties", `4`, "there were three counterparties", false},
	{"unique_counterparties", `2`, "there were three counterparties", false},
	{"categories", `["goods.barrels","beverages.wine"]`, "categories are sorted by code point", true},
	{"categories", `["beverages.wine"]`, "each category is there", false},
	{"categories", `["beverages.wine","beverages.wine","goods.barrels"]`, "each category is there once", true},
	{"earliest", `"1999-01-01T00:00:00Z"`, "nothing happened in 1999", false},
	{"earliest", `"2026-09-09T12:00:00.0Z"`, "earliest is the text of the timestamp, as it stands in the receipt", false},
	{"latest", `"2026-09-14T09:00:00Z"`, "the last receipt is older", false},
	{"reasoning_rate", `1`, "in one of three sessions the vintner gave reasons", false},
}

// falseFigures puts each of them into a summary, the odd ones if they are asked for.
func falseFigures(summary string, odd bool) []fault {
	var list []fault
	seen := map[string]int{}
	for _, f := range otherFigures {
		if f.odd && !odd {
			continue
		}
		seen[f.name]++
		list = append(list, fault{
			name: "figure-" + label(f.name) + strings.Repeat("-again", seen[f.name]-1), rule: attest.RuleSummary, edit: set("/"+summary+"/"+f.name, f.text),
			why: "each figure is the arithmetic of the receipts: " + f.why, breaks: "an agent looks better than its own receipts say",
		})
	}
	return list
}

func bundleOf(list ...wire.Value) wire.Value {
	v := value(wire.M{
		"concordia_receipt_bundle": "0.1.0", "bundle_id": "bundle_26a0", "agent_id": vintner, "created_at": "2026-09-14T09:00:00Z",
		"attestations": append([]wire.Value{}, list...), "agent_signature": "",
	})
	return signBundle(figured("attestations", "summary")(v))
}

func receiptBundle() specimen {
	v := signBundle(set("/summary", figuresText)(bundleOf(vintnersReceipts(0, 1, 2)...)))
	s := sweep{what: "a bundle", rule: attest.RuleBundle, shared: true}
	refigure := figured("attestations", "summary")
	known := publicKeys(append([]string{vintner}, guests...)...)
	with := func(list ...wire.Value) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			return refigure(v.With("attestations", value(append([]wire.Value{}, list...))))
		}
	}
	const twice = "one good day is counted as many"
	b := specimen{
		kind: "receipt_bundle", record: "receipt_bundle", value: v, sign: signBundle,
		context:  wire.M{"now": now, "public_keys": known},
		contract: "receipt-bundle-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_key_b64url": key(vintner).Public()}
		},
		faults: []fault{
			{name: "empty", shared: true, edit: with(), why: "an agent without history shows none, and every figure is 0"},
			{name: "one", shared: true, edit: with(vintnersReceipt(3)), why: "a history may be of one session"},
			{name: "five", edit: with(vintnersReceipts(4, 3, 2, 1, 0)...), why: "receipts may be in any order"},
			{name: "open", shared: true, edit: set("/note", `"kept and signed"`), why: "a bundle is open: what is not known there is signed and kept"},
			{name: "figure-of-its-own", shared: true, edit: set("/summary/score", `99`), why: "a summary is open: other figures are the agent's word"},
			{name: "figures-in-other-digits", edit: all(set("/summary/agreements", `2.0`), set("/summary/agreement_rate", `6667e-4`)), why: "numbers are compared by value, not by text"},
			{name: "old-receipt", edit: with(vintnersReceipt(0), oldReceipt(1)), why: "a receipt of a version before 0.2.0 is no fault, and no credit"},
			{name: "fulfilled", edit: with(vintnersReceipt(0), withFulfillment(vintnersReceipt(1), "fulfilled", guests[1])), why: "a fulfillment that the counterparty confirms counts"},
			{name: "fulfilled-by-word", edit: with(vintnersReceipt(0), withFulfillment(vintnersReceipt(1), "fulfilled", "")), why: "a fulfillment that nobody confirms is no fault here: it gives no credit"},
			{name: "half-fulfilled", edit: with(withFulfillment(vintnersReceipt(0), "partial", guests[0]), withFulfillment(vintnersReceipt(1), "fulfilled", guests[1])), why: "one of two is 0.5"},
			{name: "looks-like-one-agent", edit: with(vintnersReceipt(0), all(set("/outcome/duration_seconds", `1`))(vintnersReceipt(1)), set("/outcome/duration_seconds", `2`)(vintnersReceipt(3))), why: "signs of an agent with many names are told and decide nothing"},
			{name: "looks-like-one-agent-and-required", rule: attest.RuleSybil, edit: with(vintnersReceipt(0), all(set("/outcome/duration_seconds", `1`))(vintnersReceipt(1)), set("/outcome/duration_seconds", `2`)(vintnersReceipt(3))),
				context: wire.M{"require": []string{"sybil"}}, why: "a verifier may want a history that does not look like one agent with many names", breaks: "a reputation is made in seconds, with oneself"},
			{name: "empty-with-figures", rule: attest.RuleSummary, edit: all(with(), set("/summary", figuresText)), why: "of no receipts every figure is 0: an empty bundle proves nothing", breaks: "a stranger claims any history and shows none of it"},
			{name: "empty-with-a-rate", rule: attest.RuleSummary, edit: all(with(), set("/summary/agreement_rate", `1`)), why: "of no receipts every figure is 0", breaks: "a stranger claims any history and shows none of it"},
			{name: "mediated-counted-as-fulfilled", rule: attest.RuleSummary, edit: all(with(withFulfillment(vintnersReceipt(0), "fulfilled_with_mediation", guests[0])), set("/summary/fulfillment_rate", `1`)), why: "a fulfillment by mediation is not one of status fulfilled", breaks: "an agent looks better than its own receipts say"},
			{name: "receipt-twice", rule: attest.RuleDuplicate, edit: with(vintnersReceipts(0, 1, 1)...), why: "no receipt is shown twice", breaks: twice},
			{name: "receipt-twice-apart", rule: attest.RuleDuplicate, edit: with(vintnersReceipts(3, 0, 1, 2, 3)...), why: "no receipt is shown twice, however far apart", breaks: twice},
			{name: "session-twice", rule: attest.RuleDuplicate, edit: with(vintnersReceipt(0), set("/attestation_id", `"att_26_0b"`)(vintnersReceipt(0))), why: "a session has one receipt: a second one with another id is no other session", breaks: twice},
			{name: "id-twice", rule: attest.RuleDuplicate, edit: with(vintnersReceipt(0), set("/attestation_id", `"att_26_0"`)(vintnersReceipt(1))), why: "an id is of one receipt", breaks: twice},
			{name: "next-version", rule: attest.RuleHistoryVersion, after: set("/concordia_receipt_bundle", `"0.2.0"`), why: "nobody signs the version: only one that is known may stand there", breaks: "whoever passes a bundle on changes by which rules it is read"},
			{name: "version-with-zeros", rule: attest.RuleHistoryVersion, after: set("/concordia_receipt_bundle", `"0.01.0"`), why: "a version has one spelling", breaks: "readers that compare numbers, and readers that compare texts, disagree"},
			{name: "shown-by-another", rule: attest.RuleHolder, edit: all(set("/agent_id", quote(guests[0])), refigure), why: "who shows receipts is a party of each", breaks: "an agent shows the successes of others as its own"},
			{name: "local-time", rule: attest.RuleBundle, shared: true, edit: set("/created_at", `"2026-09-14T09:00:00"`), why: "created_at is in UTC, with Z", breaks: "two verifiers disagree on how old a bundle is"},
			{name: "offset", rule: attest.RuleBundle, shared: true, edit: set("/created_at", `"2026-09-14T09:00:00+00:00"`), why: "created_at is in UTC, with Z", breaks: "a bundle has two texts of one meaning"},
			{name: "fraction", rule: attest.RuleBundle, shared: true, edit: set("/created_at", `"2026-09-14T09:00:00.5Z"`), why: "created_at is in whole seconds", breaks: "a bundle has two texts of one meaning"},
			{name: "thirteenth-month", rule: attest.RuleBundle, edit: set("/created_at", `"2026-13-14T09:00:00Z"`), why: "created_at is an instant, not digits in its form", breaks: "a reader makes another day of it, or stops"},
			{name: "leap-second", rule: attest.RuleBundle, edit: set("/created_at", `"2026-09-14T08:59:60Z"`), why: "created_at is an instant, not digits in its form", breaks: "a reader makes another minute of it, or stops"},
			{name: "id-in-capitals", rule: attest.RuleBundle, shared: true, edit: set("/bundle_id", `"bundle_26A0"`), why: "the hex of an id is in small letters", breaks: "one bundle has two ids"},
			{name: "negative-count", rule: attest.RuleBundle, shared: true, edit: set("/summary/agreements", `-1`), why: "counts are not negative", breaks: "a count that no history can have is added up"},
			{name: "share-above-one", rule: attest.RuleBundle, shared: true, edit: set("/summary/agreement_rate", `1.5`), why: "a share is at most 1", breaks: "a share that no history can have ranks first"},
		},
	}
	shown := seal{at: "/agent_signature", who: vintner, what: "a bundle", signs: shownBy, rule: attest.RuleBundleSignature, empty: attest.RuleBundle, known: known,
		theirs: func(k string) wire.M { return wire.M{"public_key_b64url": k} }}
	for _, list := range [][]fault{
		s.without("/concordia_receipt_bundle", "/bundle_id", "/agent_id", "/created_at", "/attestations", "/summary", "/agent_signature",
			"/summary/agreements", "/summary/categories", "/attestations/1/session_id"),
		s.mistyped("/bundle_id", `26`, "/agent_id", `["did:web:vintner.example"]`, "/created_at", `1789376400`, "/attestations", `{}`, "/attestations/2", `"att_26_2"`,
			"/summary", `[]`, "/summary/agreements", `"2"`, "/summary/total_negotiations", `3.5`, "/summary/categories", `"beverages.wine"`, "/agent_signature", `{}`),
		keyless(shown.forged(v, "/created_at", `"2026-09-13T09:00:00Z"`, "/bundle_id", `"bundle_26a1"`)), // a key of the vintner's is that of its receipts as well
		{{name: "marker-signed", rule: attest.RuleBundleSignature, shared: true, after: func(v wire.Value) wire.Value {
			return v.With("agent_signature", signature(v.Without("agent_signature"), vintner))
		}, why: "the version marker is not signed", breaks: "two implementations sign different bytes and refuse each other, or take both"},
			{name: "key-of-other", rule: attest.RuleBundleSignature, shared: true, edit: with(), context: shown.keys(key(mallory).Public().String()), contract: shown.theirs(key(mallory).Public().String()),
				why: "the key is the one that the verifier was given for the agent", breaks: "anybody shows a history in the name of another"},
			{name: "key-unknown", rule: wire.RuleUnknownKey, edit: with(), context: shown.keys(""), why: "without the agent's key nothing is known: not known is not verified", breaks: "an agent nobody knows is believed"},
			{name: "guest-unknown", rule: wire.RuleUnknownKey, context: wire.M{"public_keys": publicKeys(vintner, guests[0], guests[1])}, why: "the counterparties' signatures are verified as well", breaks: "an agent invents counterparties"},
			{name: "key-of-small-order", rule: wire.RuleWeakKey, edit: with(), after: set("/agent_signature", quote(anyMessage)), context: shown.keys(weakKey), why: "under a key of small order one signature fits every message", breaks: "whoever gets such a key registered can show, or deny, anything"},
		},
		late(bound{name: "created-at", rule: attest.RuleNotYet, limit: "2026-09-14T08:58:00Z", beyond: -1, put: byClock,
			why: "a bundle is not made later than now, but for the skew of 120 seconds", breaks: "bundles are made for times to come, when less may be fit to show"}),
		late(bound{name: "age", rule: attest.RuleAge, limit: "2026-12-13T09:00:00Z", beyond: 1, put: byClock,
			why: "a bundle is of the last 90 days", breaks: "an agent shows a selection of its better days for ever"}),
		falseFigures("summary", true),
		receiptFaults("/attestations/0", refigure, signShown, v, known),
	} {
		b.faults = append(b.faults, list...)
	}
	return b
}
