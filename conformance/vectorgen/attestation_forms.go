package main

import (
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// legacyReceipt is an attestation of an old version, which lacks what came later.
func legacyReceipt(version string) wire.Value {
	v := unsignedReceipt().With("concordia_attestation", wire.Text(version)).Without("validity_temporal")
	if version < "0.3" {
		v = v.Without("chain_head").Without("message_count")
	}
	return v
}

// legacy returns the specimen of an old version: what it lacks is no fault and no
// credit, and what it has is checked.
func legacy(version string) func() specimen {
	return func() specimen {
		context, contractContext := attestationContexts()
		sign := signAttestation
		if version < "0.2" {
			sign = signRecords
		}
		s := specimen{
			kind: "attestation", form: "v" + strings.ReplaceAll(version, ".", "-"), record: "attestation", sign: sign, value: sign(legacyReceipt(version)),
			context: context, contract: "attestation-v1", contractContext: contractContext,
		}
		s.faults = slices.Concat(legacyFaults(version), record("initiator", 0, orchard, cidery).main())
		s.faults = append(s.faults, legacyTimes()...)
		if version >= "0.2" {
			s.faults = append(s.faults, slices.Concat(whole("initiator", orchard, cidery).main(), changes(s.value))...)
			for i := range s.faults {
				if s.faults[i].rule == attest.RuleOutcome {
					s.faults[i].shared = false // the contract has another profile for this
				}
			}
		}
		return s
	}
}

func legacyTimes() []fault {
	future := limit{name: "future", rule: attest.RuleNotYet, edge: day("09:32:00"), later: true, put: stamp("/timestamp"), why: futureWhy, breaks: futureBreaks}
	age := limit{name: "age", rule: attest.RuleAge, edge: day("09:30:00").Add(-attest.DefaultMaxAge), put: stamp("/timestamp"),
		why: "an old version gets old like a new one", breaks: "an old receipt without an end is good forever"}
	return slices.Concat(future.instants()[3:], age.instants()[3:])
}

func legacyFaults(version string) []fault {
	require := wire.M{"require": []string{"outcome_bound"}}
	const young = "an attestation gets old by saying so, and is then spared what it would fail"
	valid := func(until string) func(wire.Value) wire.Value {
		return set("/validity_temporal", `{"mode":"absolute","from":"2026-09-14T08:00:00Z","until":"`+until+`"}`)
	}
	list := []fault{
		{name: "with-a-validity", shared: true, edit: valid("2026-09-14T12:00:00Z"), why: "an old version may have what it does not need"},
		{name: "with-a-validity-over", rule: attest.RuleExpired, edit: valid("2026-09-14T09:30:00Z"), why: "what an old version need not have and has is checked all the same", breaks: young},
		{name: "with-a-validity-too-long", rule: attest.RuleLifetime, edit: valid("2027-09-14T09:30:00Z"), why: "what an old version need not have and has is checked all the same", breaks: young},
		{name: "with-a-validity-of-no-mode", rule: attest.RuleValidity, shared: true, edit: set("/validity_temporal", `{"mode":"forever"}`), why: "what an old version need not have and has is checked all the same", breaks: young},
		{name: "member-of-no-version", rule: attest.RuleShape, shared: true, edit: set("/score", `5`), why: "old versions are closed, too", breaks: "text that nobody looks at travels inside what was verified"},
		{name: "tells-a-price", rule: attest.RuleDealTerms, shared: true, edit: set("/summary", `"4800 EUR"`), why: toldWhy, breaks: toldBreaks},
		{name: "claims-to-be-new", rule: attest.RuleValidity, shared: true, edit: set("/concordia_attestation", `"0.5.0"`), why: "from version 0.5.0 an attestation says how long it holds", breaks: "evidence without an end is good forever"},
		{name: "claims-to-be-of-version-ten", rule: attest.RuleValidity, shared: true, edit: set("/concordia_attestation", `"0.10.0"`), why: "versions are compared by number: ten is more than five", breaks: "a reader that compares versions as text takes the newest for old"},
	}
	if version >= "0.2" {
		list = append(list,
			fault{name: "without-countersignatures", rule: attest.RuleOutcome, after: drop("/countersignatures"), why: "from version 0.2.0 every party signs the whole", breaks: "one side writes the outcome that it likes"},
			fault{name: "responder-absent", rule: attest.RuleOutcome, after: drop("/countersignatures/" + cidery), why: "from version 0.2.0 every party signs the whole", breaks: "one side writes the outcome that it likes"},
			fault{name: "outcome-required", context: require, why: "this version binds the outcome"})
	} else {
		list = append(list,
			fault{name: "with-no-countersignatures", shared: true, after: set("/countersignatures", `{}`), why: "an empty list is none that an old version must not have"},
			fault{name: "with-a-forged-countersignature", rule: attest.RuleOutcome, after: set("/countersignatures", `{"`+orchard+`":"AAAA"}`), why: "what an old version need not have and has is checked all the same", breaks: young},
			fault{name: "with-one-countersignature", rule: attest.RuleOutcome, after: func(v wire.Value) wire.Value {
				one, _ := signAttestation(v).At("countersignatures", orchard)
				return v.With("countersignatures", value(wire.M{orchard: one}))
			}, why: "countersignatures are of all parties or of none", breaks: young},
			// The most tempting fault of all: a new attestation is rewritten as an old one.
			fault{name: "made-of-a-new-one", rule: attest.RuleOutcome, after: func(wire.Value) wire.Value {
				return all(set("/concordia_attestation", `"0.1.0"`), set("/outcome/status", `"rejected"`))(signAttestation(unsignedReceipt()))
			}, why: "an attestation does not become old by saying so", breaks: young})
	}
	if version >= "0.3" {
		list = append(list,
			fault{name: "without-head", rule: attest.RuleSet, edit: drop("/chain_head"), why: "from version 0.3.0 an attestation says which transcript it closes", breaks: "the same receipt is shown with a transcript that lacks its end"},
			fault{name: "without-count", rule: attest.RuleSet, edit: drop("/message_count"), why: "from version 0.3.0 an attestation says how long its transcript is", breaks: "the same receipt is shown with a transcript that lacks its end"})
	} else {
		list = append(list,
			fault{name: "with-head-alone", rule: attest.RuleSet, edit: set("/chain_head", `"`+wire.HashOf("head").String()+`"`), why: "what an old version need not have and has is checked all the same: the two come together", breaks: young},
			fault{name: "with-head-and-count", shared: true, edit: all(set("/chain_head", `"`+wire.HashOf("head").String()+`"`), set("/message_count", `9`)), why: "an old version may have what it does not need"})
	}
	return list
}

// mediated is an attestation of four: every one of them is a party and signs.
func mediated() specimen {
	context, _ := attestationContexts()
	v := all(
		set("/parties/-", `{"agent_id":"`+ombud+`","role":"mediator","behavior":{}}`), set("/parties/-", `{"agent_id":"`+onlooker+`","role":"witness","behavior":{}}`),
		set("/meta/mediator_invoked", `true`), set("/outcome/resolution_mechanism", `"split"`),
	)(unsignedReceipt())
	s := specimen{
		kind: "attestation", form: "mediated", record: "attestation", sign: signAttestation, value: signAttestation(v), context: context,
		contract: "attestation-countersign-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_keys_b64url": publicKeys(orchard, cidery, ombud, onlooker), "countersigners": []string{orchard, cidery, ombud, onlooker}}
		},
	}
	for _, p := range []struct {
		name, id string
	}{{"initiator", orchard}, {"responder", cidery}, {"mediator", ombud}, {"witness", onlooker}} {
		s.faults = append(s.faults,
			fault{name: p.name + "-absent", rule: attest.RuleOutcome, shared: true, class: wire.ClassSignature, after: drop("/countersignatures/" + p.id),
				why: "every listed party signs the whole, whatever its role", breaks: "an agent is listed as part of a deal that it has never seen"},
			fault{name: p.name + "-without-record-signature", rule: attest.RulePartyRecord, shared: true, class: wire.ClassSchema, after: func(v wire.Value) wire.Value {
				i := slices.Index([]string{orchard, cidery, ombud, onlooker}, p.id)
				return drop("/parties/" + string(rune('0'+i)) + "/signature")(v)
			}, why: "every listed party signs its own record, whatever its role", breaks: "an agent is listed as part of a deal that it has never seen"})
	}
	for _, f := range slices.Concat(record("mediator", 2, ombud, onlooker).main(), record("witness", 3, onlooker, ombud).main()) {
		f.shared = false // this profile of the contract does not look at records
		s.faults = append(s.faults, f)
	}
	s.faults = append(s.faults, slices.Concat(whole("mediator", ombud, orchard).main(), whole("witness", onlooker, orchard).main(), changes(s.value))...)
	return s
}

// signFulfilled has the cidery confirm the fulfillment and both sign the rest.
func signFulfilled(v wire.Value) wire.Value {
	c, ok := v.At("fulfillment", "counterparty_attestation")
	if id, _ := c.Get("agent_id"); ok && c.Kind() == wire.Object && id.Kind() == wire.String {
		c = c.With("signature", signature(c.Without("signature"), id.Text()))
		v = set("/fulfillment/counterparty_attestation", c.Canonical())(v)
	}
	return signAttestation(v)
}

// fulfilledReceipt is an attestation whose fulfillment the counterparty confirms.
func fulfilledReceipt() specimen {
	context, contractContext := attestationContexts()
	context["require"] = []string{"outcome_bound", "fulfillment_bound"}
	v := unsignedReceipt().With("fulfillment", parse(`{"status":"fulfilled","settled_at":"2026-09-14T09:10:00Z","fulfilled_at":"2026-09-14T09:20:00Z",
		"settlement_protocol":"escrow","delivery_confirmed":true,
		"disputes":[{"term_id":"delivery","complainant_agent_id":"`+cidery+`","description":"a day late","resolution":"resolved_compromise"}],
		"counterparty_attestation":{"agent_id":"`+cidery+`","confirms_fulfillment":true,"notes":"as agreed","signature":""}}`))
	s := specimen{
		kind: "attestation", form: "fulfilled", record: "attestation", sign: signFulfilled, value: signFulfilled(v), context: context,
		contract: "attestation-v1", contractContext: contractContext,
	}
	confirmation := signet{
		name: "confirmation", what: "a confirmation", rule: attest.RuleFulfillment, at: "/fulfillment/counterparty_attestation/signature", signer: cidery, peer: orchard,
		preimage: func(v wire.Value) wire.Value {
			c, _ := v.At("fulfillment", "counterparty_attestation")
			return c.Without("signature")
		},
		other: set("/fulfillment/counterparty_attestation/notes", `"all is well"`), tamper: set("/fulfillment/counterparty_attestation/notes", `"better than agreed"`),
	}
	s.faults = slices.Concat(confirmation.forgeries(), fulfillmentMeaning(), inlineShape(s.value),
		few("notes", "/fulfillment/counterparty_attestation/notes", true), few("dispute", "/fulfillment/disputes/0/description", true))
	for _, f := range slices.Concat(changes(s.value), confirmationChanges()) {
		f.shared = false // the contract has another profile for this, or none
		s.faults = append(s.faults, f)
	}
	return s
}

func fulfillmentMeaning() []fault {
	const loss = "a deal counts as kept on the word of whoever was to keep it"
	confirm := func(member, json string) func(wire.Value) wire.Value {
		return set("/fulfillment/counterparty_attestation/"+member, json)
	}
	plain := wire.M{"require": nil}
	list := []fault{
		{name: "unconfirmed", rule: attest.RuleFulfillment, edit: drop("/fulfillment/counterparty_attestation"), why: "a fulfillment counts when somebody confirms it", breaks: loss},
		{name: "confirmed-by-a-stranger", rule: attest.RuleFulfillment, edit: confirm("agent_id", `"`+onlooker+`"`), why: "who confirms is a party of the deal", breaks: loss},
		{name: "denied", rule: attest.RuleFulfillment, edit: confirm("confirms_fulfillment", `false`), why: "a denial does not confirm", breaks: "a signed complaint is counted as praise"},
		{name: "denied-with-mediation", rule: attest.RuleFulfillment, edit: all(set("/fulfillment/status", `"fulfilled_with_mediation"`), confirm("confirms_fulfillment", `false`)), why: "a denial does not confirm", breaks: "a signed complaint is counted as praise"},
		{name: "nothing-to-confirm", rule: attest.RuleFulfillment, edit: set("/fulfillment", `null`), why: "who credits the fulfillment asks for one", breaks: loss},
		{name: "nothing-at-all", rule: attest.RuleFulfillment, edit: drop("/fulfillment"), why: "who credits the fulfillment asks for one", breaks: loss},
		{name: "confirmed-by-the-other", edit: confirm("agent_id", `"`+orchard+`"`), why: "either party may confirm"},
		{name: "denied-and-disputed", edit: all(set("/fulfillment/status", `"disputed"`), confirm("confirms_fulfillment", `false`)), why: "a denial fits a dispute and is signed like a confirmation"},
		{name: "not-asked-for", shared: true, context: plain, edit: drop("/fulfillment/counterparty_attestation"), why: "without the demand a fulfillment that nobody confirms spoils nothing"},
		{name: "forged-not-asked-for", shared: true, context: plain, after: confirm("notes", `"never said"`), why: "without the demand a confirmation that does not verify spoils nothing: it credits nobody"},
		{name: "added-afterwards", after: func(wire.Value) wire.Value {
			// A receipt that was signed before there was a fulfillment.
			signed := signAttestation(unsignedReceipt())
			c := parse(`{"agent_id":"` + cidery + `","confirms_fulfillment":true}`)
			return signed.With("fulfillment", parse(`{"status":"fulfilled","settled_at":"2026-09-14T09:10:00Z"}`).
				With("counterparty_attestation", c.With("signature", signature(c, cidery))))
		}, why: "a fulfillment comes after the countersignatures, which have null in its place"},
	}
	for _, status := range []string{"fulfilled", "partial", "unfulfilled", "disputed", "pending", "fulfilled_with_mediation"} {
		list = append(list, fault{name: "status-" + strings.ReplaceAll(status, "_", "-"), edit: set("/fulfillment/status", `"`+status+`"`), why: "a fulfillment has one of six statuses, and this is one"})
	}
	for _, protocol := range []string{"acp", "ap2", "x402", "stripe", "lightning", "escrow", "custom"} {
		list = append(list, fault{name: "settled-by-" + protocol, edit: set("/fulfillment/settlement_protocol", `"`+protocol+`"`), why: "a deal is settled in one of seven ways, and this is one"})
	}
	return list
}

// confirmationChanges are members of a confirmation that somebody changed, or moved
// to another place, after it was signed.
func confirmationChanges() []fault {
	const at = "/fulfillment/counterparty_attestation"
	var list []fault
	for _, c := range []struct {
		name string
		edit func(wire.Value) wire.Value
		why  string
	}{
		{"agent", set(at+"/agent_id", `"`+orchard+`"`), "the confirmation names who confirms, and is signed with that"},
		{"answer", all(set("/fulfillment/status", `"disputed"`), set(at+"/confirms_fulfillment", `false`)), "yes and no are signed"},
		{"notes-away", drop(at + "/notes"), "what is said besides is signed"},
		{"signed-as-a-record", func(v wire.Value) wire.Value {
			text, _ := v.At("parties", "1", "signature")
			return set(at+"/signature", text.Canonical())(v)
		}, "a party's signature of its own record is none of a confirmation"},
		{"signed-as-a-whole", func(v wire.Value) wire.Value {
			text, _ := v.At("countersignatures", cidery)
			return set(at+"/signature", text.Canonical())(v)
		}, "a party's countersignature, which it makes before anything is fulfilled, is none of a confirmation"},
		{"signed-with-the-block", func(v wire.Value) wire.Value {
			block, _ := v.Get("fulfillment")
			return set(at+"/signature", signature(block.StripSignatures(), cidery).Canonical())(v)
		}, "the confirmation alone is signed, not what stands around it"},
	} {
		list = append(list, fault{name: "confirmation-changed-" + c.name, rule: attest.RuleFulfillment, after: c.edit, why: c.why, breaks: "a deal counts as kept on the word of whoever was to keep it"})
	}
	return list
}

func inlineShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleShape, sound: sound}
	theirs := s
	theirs.shared = true
	required := []member{{"/fulfillment/status", "what became of the deal"}, {"/fulfillment/settled_at", "when it was settled"}}
	signed := []member{{"/fulfillment/counterparty_attestation/agent_id", "who confirms"},
		{"/fulfillment/counterparty_attestation/confirms_fulfillment", "whether it was kept"}, {"/fulfillment/counterparty_attestation/signature", "that anybody confirms"}}
	optional := []member{{"/fulfillment/fulfilled_at", "when it was kept"}, {"/fulfillment/settlement_protocol", "how it was settled"}, {"/fulfillment/delivery_confirmed", "whether the goods came"},
		{"/fulfillment/disputes", "what was disputed"}, {"/fulfillment/disputes/0/term_id", "which term was disputed"}, {"/fulfillment/disputes/0/complainant_agent_id", "who complained"},
		{"/fulfillment/disputes/0/description", "what was wrong"}, {"/fulfillment/disputes/0/resolution", "how it ended"}, {"/fulfillment/counterparty_attestation/notes", "what is said besides"}}
	const unread = "a reader that knows no such value makes up its own meaning"
	list := slices.Concat(
		theirs.omitted(append(required, signed...)...), s.mistyped(slices.Concat(required, signed, optional)...), s.mistyped(member{"/fulfillment/counterparty_attestation", "who confirms"}),
		s.nulled(required[0], optional[1]), s.recased(required[0], signed[1]),
		theirs.added("/fulfillment", "/fulfillment/disputes/0", "/fulfillment/counterparty_attestation"), s.mistimed(required[1], day("09:10:00"))[:3],
		[]fault{
			s.other("/fulfillment/status", "other", `"fulfilled_clean"`, "the statuses of a fulfillment inside an attestation are its own", unread),
			s.other("/fulfillment/settlement_protocol", "other", `"cash"`, "a deal is settled in one of seven ways", unread),
			s.other("/fulfillment/disputes/0/resolution", "other", `"won"`, "a dispute ends in one of four ways", unread),
			s.other("/fulfillment/disputes/0", "no-object", `"late"`, "a dispute is an object", unread),
			s.other("/fulfillment/disputes/0/description", "too-long", wire.Text(strings.Repeat("d", 1025)).Canonical(), "a description has at most 1024 characters", "whole documents travel inside a receipt"),
			s.other("/fulfillment/counterparty_attestation/notes", "too-long", wire.Text(strings.Repeat("n", 513)).Canonical(), "notes have at most 512 characters", "whole documents travel inside a receipt"),
			s.fine("/fulfillment/disputes/0/description", "longest", wire.Text(strings.Repeat("é", 1024)).Canonical(), "a description may have 1024 characters, however many bytes they have"),
			s.fine("/fulfillment/counterparty_attestation/notes", "longest", wire.Text(strings.Repeat("é", 512)).Canonical(), "notes may have 512 characters, however many bytes they have"),
			s.fine("/fulfillment/fulfilled_at", "null", `null`, "what is not yet kept has no time at which it was"),
			s.fine("/fulfillment/disputes", "none", `[]`, "a deal may go without dispute"),
			s.fine("/fulfillment/disputes/0", "empty", `{}`, "a dispute need not be described"),
			s.fine("/fulfillment/disputes/0/resolution", "null", `null`, "a dispute may be open"),
		},
	)
	for _, resolution := range []string{"resolved_favor_complainant", "resolved_favor_respondent", "unresolved"} {
		list = append(list, s.fine("/fulfillment/disputes/0/resolution", strings.ReplaceAll(resolution, "_", "-"), `"`+resolution+`"`, "a dispute ends in one of four ways, and this is one"))
	}
	return list
}
