package main

import (
	"fmt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

const vintner = "did:web:vintner.example"

// guests are whom the vintner negotiated with, one in each session.
var guests = []string{"did:web:bistro.example", "did:web:hotel.example", "did:web:school.example", "did:web:club.example", "did:web:opera.example"}

// vintnersReceipt returns the countersigned receipt of one of five sessions of the
// vintner.
func vintnersReceipt(i int) wire.Value {
	status, mechanism, category := "agreed", "direct", "beverages.wine"
	if i == 2 {
		status, mechanism = "rejected", "none"
	}
	if i%2 == 1 {
		category = "goods.barrels"
	}
	party := func(who, role string, magnitude float64, reasoned bool) wire.M {
		return wire.M{"agent_id": who, "role": role, "signature": "", "behavior": wire.M{
			"offers_made": 2, "concessions": 1, "concession_magnitude": magnitude, "signals_shared": 0, "constraints_declared": 1,
			"constraints_violated": 0, "reasoning_provided": reasoned, "withdrawal": false, "response_time_avg_seconds": 12.5,
		}}
	}
	guest, at := guests[i], fmt.Sprintf("2026-09-%02dT12:00:00Z", 9+i)
	return signedByParties(value(wire.M{
		"concordia_attestation": "0.5.0", "attestation_id": fmt.Sprintf("att_26_%d", i), "session_id": fmt.Sprintf("ses_26_%d", i), "timestamp": at,
		"outcome": wire.M{"status": status, "rounds": 4, "duration_seconds": 600 + i, "terms_count": 2, "resolution_mechanism": mechanism},
		"parties": []wire.M{
			party(vintner, "initiator", []float64{0.1, 0.25, 0.05, 0.2, 0.3}[i], i == 0),
			party(guest, "responder", 0.15, true),
		},
		"meta":            wire.M{"category": category, "value_range": "1000-5000_EUR", "extensions_used": []string{}, "mediator_invoked": false},
		"transcript_hash": wire.HashOf(fmt.Sprint("transcript ", i)), "chain_head": wire.HashOf(fmt.Sprint("head ", i)), "message_count": 7,
		"fulfillment": nil, "references": []wire.M{},
		"validity_temporal": wire.M{"mode": "absolute", "from": at, "until": "2026-11-30T00:00:00Z"},
		"countersignatures": wire.M{vintner: "", guest: ""},
	}))
}

// signedByParties signs the record of each party of a receipt, and the whole for each
// that has an entry among the countersignatures.
func signedByParties(v wire.Value) wire.Value {
	parties, _ := v.Get("parties")
	for i, p := range parties.Elems() {
		if who, _ := p.Get("agent_id"); who.Text() != "" {
			parties = parties.WithElem(i, signedBare(who.Text())(p))
		}
	}
	if parties.Kind() == wire.Array {
		v = v.With("parties", parties)
	}
	entries, _ := v.Get("countersignatures")
	for who, text := range entries.Members() {
		if text.Kind() == wire.String && who != "" {
			entries = entries.With(who, signature(attest.Countersigned(v), who))
		}
	}
	if entries.Kind() == wire.Object {
		v = v.With("countersignatures", entries)
	}
	return v
}

// oldReceipt is a receipt of the first version, which binds no outcome.
func oldReceipt(i int) wire.Value {
	v := set("/concordia_attestation", `"0.1.0"`)(vintnersReceipt(i))
	for _, name := range []string{"countersignatures", "chain_head", "message_count", "validity_temporal"} {
		v = v.Without(name)
	}
	return signedByParties(v)
}

// withFulfillment adds a fulfillment to a receipt, confirmed by who unless that is empty.
func withFulfillment(v wire.Value, status, who string) wire.Value {
	f := wire.M{"status": status, "settled_at": "2026-09-13T18:00:00Z"}
	if who != "" {
		c := value(wire.M{"agent_id": who, "confirms_fulfillment": true})
		f["counterparty_attestation"] = c.With("signature", signature(c, who))
	}
	return v.With("fulfillment", value(f))
}

func vintnersReceipts(which ...int) []wire.Value {
	list := make([]wire.Value, len(which))
	for i, n := range which {
		list[i] = vintnersReceipt(n)
	}
	return list
}

// signReceipts signs the receipts in a member of v anew.
func signReceipts(v wire.Value, member string) wire.Value {
	list, _ := v.Get(member)
	for i, r := range list.Elems() {
		list = list.WithElem(i, signedByParties(r))
	}
	if list.Kind() != wire.Array {
		return v
	}
	return v.With(member, list)
}

// figured makes a summary the arithmetic of the receipts that were changed.
func figured(receipts, summary string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		holder, _ := v.Get("agent_id")
		list, _ := v.Get(receipts)
		var read []*attest.Attestation
		for _, r := range list.Elems() {
			read = append(read, must(attest.ReadAttestation(signedByParties(r))))
		}
		return v.With(summary, attest.Summarize(wire.AgentID(holder.Text()), read).Value())
	}
}

// receiptFaults are faults inside receipts that are shown: at is the pointer of the
// first receipt, that of the first session, and change is made to all of v after it.
func receiptFaults(at string, change func(wire.Value) wire.Value, around func(wire.Value) wire.Value, sound wire.Value, known wire.M) []fault {
	guest := guests[0]
	const opinion = "a story that one side tells is shown as the word of both"
	const future = "a history is shown that has not happened yet"
	list := append(
		seal{name: "party", at: at + "/parties/1/signature", who: guest, what: "a party's record", rule: attest.RulePartyRecord, around: around, known: known,
			signs: func(v wire.Value) wire.Value {
				p, _ := v.At(append(tokens(at), "parties", "1")...)
				return withoutSignature(p)
			},
		}.forged(sound),
		seal{name: "outcome", at: at + "/countersignatures/" + guest, who: guest, what: "a receipt", rule: attest.RuleOutcome, empty: attest.RuleShape, around: around, known: known,
			signs: func(v wire.Value) wire.Value {
				r, _ := v.At(tokens(at)...)
				return attest.Countersigned(r)
			},
		}.forged(sound, at+"/session_id", `"ses_99"`, at+"/outcome/rounds", `2`, at+"/transcript_hash", wire.Text(wire.HashOf("another").String()).Canonical(), at+"/meta/mediator_invoked", `true`)...)
	list = keyless(list) // the signature around it is under one of these keys as well
	list = append(list, late(bound{name: "receipt-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, why: "a receipt in a history is not of the future, but for the skew", breaks: future,
		put: func(text string) fault { return fault{edit: all(set(at+"/timestamp", quote(text)), change)} }})...)
	list = append(list, late(bound{name: "receipt-from", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, why: "the validity of a receipt does not begin in the future, but for the skew", breaks: future,
		put: edits(at + "/validity_temporal/from")})...)
	one := func(name string, rule *wire.Rule, why, breaks string, edits ...func(wire.Value) wire.Value) {
		list = append(list, fault{name: "receipt-" + name, rule: rule, edit: all(edits...), why: why, breaks: breaks})
	}
	const stranger = "an agent shows the successes of others as its own"
	one("without-one-countersignature", attest.RuleOutcome, "every party countersigns", opinion, drop(at+"/countersignatures/"+guest))
	one("without-countersignatures", attest.RuleOutcome, "from version 0.2.0 on every party countersigns", opinion, drop(at+"/countersignatures"))
	one("without-own-countersignature", attest.RuleOutcome, "the agent that shows the receipt is a party like another", opinion, drop(at+"/countersignatures/"+vintner))
	one("witnessed-only", attest.RuleOutcome, "a witness does not stand for a party", opinion, drop(at+"/countersignatures/"+guest), set(at+"/countersignatures/"+guests[3], `""`))
	one("without-party-signature", attest.RulePartyRecord, "each party signs its own record", opinion, drop(at+"/parties/1/signature"))
	one("without-head", attest.RuleSet, "from version 0.3.0 on a receipt says which transcript it closes", "messages that do not suit are left out of the record", drop(at+"/chain_head"))
	one("without-count", attest.RuleSet, "from version 0.3.0 on a receipt says how many messages it closes", "messages that do not suit are left out of the record", drop(at+"/message_count"))
	one("without-validity", attest.RuleValidity, "from version 0.5.0 on a receipt says how long it holds", "a receipt holds for ever", drop(at+"/validity_temporal"))
	one("telling-a-price", attest.RuleDealTerms, "a receipt tells nothing of the deal", "whoever reads the history knows what everybody paid", set(at+"/summary", `"sold at EUR 12 a bottle"`))
	one("telling-a-quantity", attest.RuleDealTerms, "a receipt tells nothing of the deal", "whoever reads the history knows how much everybody bought", set(at+"/meta/extensions_used", `["x:60 units"]`))
	one("with-another-member", attest.RuleShape, "receipts are closed", "a condition is signed that this reader skips", set(at+"/note", `1`))
	one("without-meta", attest.RuleShape, "a receipt has all its members", "each reader fills in what is missing as it likes", drop(at+"/meta"))
	one("of-one-party", attest.RuleParties, "a receipt is of two parties at least", "an agent deals with itself", drop(at+"/parties/1"), drop(at+"/countersignatures/"+guest))
	one("of-others", attest.RuleHolder, "the agent that shows a receipt is a party of it", stranger,
		set(at+"/parties/0/agent_id", quote(guests[1])), drop(at+"/countersignatures/"+vintner), set(at+"/countersignatures/"+guests[1], `""`), change)
	one("of-its-own-cellar", attest.RuleHolder, "a sub-agent is another agent, whatever its id begins with", stranger,
		set(at+"/parties/0/agent_id", quote(guests[2])), drop(at+"/countersignatures/"+vintner), set(at+"/countersignatures/"+guests[2], `""`), change)
	one("expired", nil, "a receipt in a history may have ended: what it records happened", "", set(at+"/validity_temporal/until", `"2026-09-11T00:00:00Z"`))
	one("of-long-ago", nil, "a receipt in a history may be of any age", "", set(at+"/timestamp", `"2019-09-10T12:00:00Z"`), change)
	one("with-a-witness", nil, "a witness may sign as well, and nothing depends on it", "", set(at+"/countersignatures/"+guests[3], `""`))
	list = append(list, fault{name: "receipt-with-a-false-witness", after: func(v wire.Value) wire.Value {
		return around(set(at+"/countersignatures/"+guests[3], quote("no signature"))(v))
	}, why: "whether a witness signed decides nothing"})
	return list
}
