package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// fullCompetence reveals all of three receipts: then the claims and the root follow
// from them.
func fullCompetence() specimen {
	list := vintnersReceipts(0, 1, 2)
	nothing := sameAs(set("/claims", `{"total_negotiations":0,"agreements":0,"agreement_rate":0,"avg_concession_magnitude":0,"fulfillment_rate":0,"unique_counterparties":0,"categories":[],"earliest":"","latest":"","reasoning_rate":0}`)(competenceOf(nil)))
	v := signCompetence(set("/claims", figuresText)(competenceOf(list, 0, 1, 2)))
	four := vintnersReceipts(0, 1, 2, 3)
	const vain = "a root over nothing looks like a history that is only kept back"
	rooted := func(name, root, why string) fault {
		return fault{name: name, rule: attest.RuleCompetenceRoot, edit: all(nothing, set("/attestation_merkle_root", quote(root))), why: why, breaks: vain}
	}
	return competenceSpecimen("full", v,
		falseFigures("claims", false),
		[]fault{
			{name: "nothing", shared: true, edit: nothing, why: "an agent without history commits to nothing, and every figure is 0"},
			{name: "one", shared: true, edit: sameAs(competenceOf(list[:1], 0)), why: "the root of one leaf is the leaf"},
			{name: "two", shared: true, edit: sameAs(competenceOf(list[:2], 1, 0)), why: "two leaves have no node without a sibling"},
			{name: "four", edit: sameAs(competenceOf(four, 0, 1, 2, 3)), why: "four leaves have no node without a sibling"},
			{name: "old-receipt", edit: sameAs(competenceOf([]wire.Value{vintnersReceipt(0), oldReceipt(1)}, 0, 1)), why: "a receipt of a version before 0.2.0 is no fault, and no credit"},
			// These contradict themselves as well.
			{name: "nothing-with-claims", rule: attest.RuleClaimsConsistent, edit: all(nothing, set("/claims/agreement_rate", `1`)), why: "of nothing every figure is 0", breaks: "a stranger claims any history and commits to none of it"},
			{name: "nothing-with-counterparties", rule: attest.RuleClaimsConsistent, edit: all(nothing, set("/claims/unique_counterparties", `40`)), why: "of nothing every figure is 0", breaks: "a stranger claims any history and commits to none of it"},
			rooted("nothing-with-a-root", digestOf("att_26_0"), "the root of nothing is empty"),
			rooted("nothing-with-the-root-of-emptiness", digestOf(""), "the root of nothing is empty, not the hash of the empty text"),
			rooted("nothing-with-a-root-of-zeros", "0000000000000000000000000000000000000000000000000000000000000000", "the root of nothing is empty, not zeros"),
			// Two rules see this one, which of them depends on the verifier.
			{name: "hidden-leaf", rule: attest.RuleMembership, edit: func(v wire.Value) wire.Value {
				open := competenceOf(four, 0, 1, 2)
				root, _ := open.Get("attestation_merkle_root")
				proofs, _ := open.Get("merkle_proofs")
				return v.With("attestation_merkle_root", root).With("merkle_proofs", proofs)
			}, why: "the last of three leaves is paired with itself: with another sibling there is a fourth leaf that is not counted", breaks: "an agent says that it shows all, and keeps the worst back"},
			{name: "receipt-twice", rule: attest.RuleDuplicate, edit: func(wire.Value) wire.Value {
				return drop("/merkle_proofs/1")(competenceOf([]wire.Value{list[0], list[0]}, 0, 1))
			}, why: "no receipt is revealed twice", breaks: "one good day is counted as many"},
			{name: "session-twice", rule: attest.RuleDuplicate, edit: func(wire.Value) wire.Value {
				return competenceOf([]wire.Value{list[0], signedByParties(set("/attestation_id", `"att_26_0b"`)(list[0]))}, 0, 1)
			}, why: "a session has one receipt: a second one with another id is no other session", breaks: "one good day is counted as many"},
			{name: "fulfillment-by-word", rule: attest.RuleSummary, edit: set("/claims/fulfillment_rate", `1`), why: "without any fulfillment the rate is 0", breaks: "an agent looks better than its own receipts say"},
		},
	)
}

// aggregate is a proof of a verifier that credits the claims.
func aggregate() specimen {
	list := vintnersReceipts(0, 1, 2)
	confirmed := []wire.Value{list[0], withFulfillment(list[1], "fulfilled", guests[1]), list[2]}
	const credited = "an agent's own word is credited as if all its counterparties had given it"
	g := attest.RuleAggregate
	credit := func(name string, v wire.Value, rule *wire.Rule, why string) fault {
		f := fault{name: name, rule: rule, edit: sameAs(v), why: why}
		if rule != nil {
			f.breaks = credited
		}
		return f
	}
	asserted := func(name string, v wire.Value, why string) fault {
		return fault{name: name, edit: sameAs(v), context: wire.M{"require_aggregate": nil}, why: why}
	}
	denied := withFulfillment(list[1], "fulfilled", guests[1])
	c := value(wire.M{"agent_id": guests[1], "confirms_fulfillment": false})
	denied = at(denied, []string{"fulfillment", "counterparty_attestation"}, c.With("signature", signature(c, guests[1])))
	forged := at(denied, []string{"fulfillment", "counterparty_attestation"}, value(wire.M{"agent_id": guests[1], "confirms_fulfillment": true, "signature": signature(c, guests[1])}))
	by := func(who string) wire.Value { return withFulfillment(list[1], "fulfilled", who) }
	one := func(v wire.Value) wire.Value { return competenceOf([]wire.Value{list[0], v, list[2]}, 0, 1, 2) }
	s := competenceSpecimen("aggregate", competenceOf(list, 0, 1, 2), []fault{
		credit("in-another-order", competenceOf(list, 2, 0, 1), nil, "all is revealed, in any order"),
		credit("one", competenceOf(list[:1], 0), nil, "one receipt is enough"),
		credit("five", competenceOf(vintnersReceipts(0, 1, 2, 3, 4), 0, 1, 2, 3, 4), nil, "five leaves have nodes without siblings at two heights"),
		credit("confirmed", competenceOf(confirmed, 0, 1, 2), nil, "a fulfillment that the counterparty signed counts"),
		credit("half-fulfilled-by-word", one(withFulfillment(list[1], "partial", "")), nil, "a fulfillment that is not counted as fulfilled needs no confirmation"),
		credit("partial", competenceOf(list, 0, 1), g, "(a) not every receipt is revealed: the others may be the bad ones"),
		credit("all-but-one-of-five", competenceOf(vintnersReceipts(0, 1, 2, 3, 4), 0, 1, 2, 3), g, "(a) not every receipt is revealed: the others may be the bad ones"),
		credit("nothing-revealed", competenceOf(list), g, "(a) nothing is revealed: the claims are the agent's word"),
		credit("nothing", competenceOf(nil), g, "nothing is committed to: there is nothing to credit"),
		credit("old-receipt", one(oldReceipt(1)), g, "(a) the outcome of a receipt before version 0.2.0 is signed by nobody"),
		credit("old-receipts-only", competenceOf([]wire.Value{oldReceipt(0)}, 0), g, "(a) the outcome of a receipt before version 0.2.0 is signed by nobody"),
		credit("fulfilled-by-word", one(withFulfillment(list[1], "fulfilled", "")), g, "a fulfillment came after the countersignatures: one that is counted stands on its own signature"),
		credit("fulfillment-denied", one(denied), g, "the counterparty denies what the status says"),
		credit("fulfillment-forged", one(forged), g, "the confirmation is signed by the counterparty"),
		credit("fulfillment-confirmed-by-a-stranger", one(by(guests[3])), g, "who confirms a fulfillment is a party of the receipt"),
		asserted("asserted-partial", competenceOf(list, 0, 1), "a verifier that does not credit the claims takes a partial reveal"),
		asserted("asserted-old-receipt", one(oldReceipt(1)), "a verifier that does not credit the claims takes old receipts"),
		asserted("asserted-fulfilled-by-word", one(withFulfillment(list[1], "fulfilled", "")), "a verifier that does not credit the claims takes the agent's word for them"),
	})
	s.context["require_aggregate"] = true
	return s
}

// contradictions are claims of five receipts that no five receipts add up to,
// whatever is revealed.
func contradictions() []fault {
	var list []fault
	for _, f := range []struct{ name, figure, text, why string }{
		{"agreements", "agreements", `5`, "the share of the agreements is that of four in five"},
		{"agreements-beyond", "agreements", `6`, "there are no more agreements than receipts"},
		{"rate", "agreement_rate", `1`, "four of five is 0.8"},
		{"rate-rounded", "agreement_rate", `0.8001`, "four of five is 0.8"},
		{"rate-of-five-decimals", "agreement_rate", `0.80001`, "a share has four decimals"},
		{"reasoning", "reasoning_rate", `0.3`, "no number of five receipts is three in ten"},
		{"mean-above-one", "avg_concession_magnitude", `1.5`, "no mean is above 1"},
		{"mean-of-five-decimals", "avg_concession_magnitude", `0.12345`, "a mean has four decimals"},
		{"fulfillment-of-five-decimals", "fulfillment_rate", `0.33333`, "a share has four decimals"},
		{"nobody", "unique_counterparties", `0`, "somebody is on the other side"},
		{"crowd", "unique_counterparties", `316`, "a receipt has at most 64 parties"},
		{"categories-unsorted", "categories", `["goods.barrels","beverages.wine"]`, "categories are sorted"},
		{"categories-twice", "categories", `["beverages.wine","beverages.wine"]`, "each category is there once"},
		{"categories-in-capitals", "categories", `["Wine"]`, "a category is one"},
		{"categories-beyond", "categories", `["a","b","c","d","e","f"]`, "there are no more categories than receipts"},
		{"latest-first", "latest", `"2026-09-01T12:00:00Z"`, "the latest receipt is not before the earliest"},
		{"earliest-no-instant", "earliest", `"2026-09"`, "the earliest receipt has an instant"},
	} {
		list = append(list, fault{name: "contradiction-" + f.name, rule: attest.RuleClaimsConsistent, edit: set("/claims/"+f.figure, f.text),
			why: "no figure of the claims contradicts another: " + f.why, breaks: "an agent claims what cannot be, and reveals just so little that nobody can add it up"})
	}
	return append(list, fault{name: "possible-crowd", edit: set("/claims/unique_counterparties", `315`), why: "what some receipts could add up to is the agent's word"})
}
