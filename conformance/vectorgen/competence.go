package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// layersOf returns the tree over leaves, from them to the root: the last node of a
// layer without a sibling is paired with itself.
func layersOf(leaves []string) [][]string {
	layers := [][]string{leaves}
	for len(layers[len(layers)-1]) > 1 {
		below := layers[len(layers)-1]
		var layer []string
		for pair := range slices.Chunk(below, 2) {
			layer = append(layer, digestOf(pair[0]+pair[len(pair)-1]))
		}
		layers = append(layers, layer)
	}
	return layers
}

// competenceOf is a proof over receipts, of which those at the places are revealed.
// The receipts are in the order of their ids.
func competenceOf(list []wire.Value, revealed ...int) wire.Value {
	v := value(wire.M{
		"concordia_competence_proof": "0.1.0", "proof_id": "proof_26c0", "agent_id": vintner, "created_at": "2026-09-14T09:00:00Z",
		"revealed_attestations": append([]wire.Value{}, list...), "agent_signature": "",
	})
	v = committed(figured("revealed_attestations", "claims")(v), list)
	return signCompetence(revealing(v, list, revealed...))
}

// committed puts the root and the count of receipts into a proof.
func committed(v wire.Value, list []wire.Value) wire.Value {
	root := ""
	if len(list) > 0 {
		layers := layersOf(leavesOf(list))
		root = layers[len(layers)-1][0]
	}
	return v.With("attestation_merkle_root", wire.Text(root)).With("attestation_count", value(len(list)))
}

func leavesOf(list []wire.Value) []string {
	var leaves []string
	for _, r := range list {
		id, _ := r.Get("attestation_id")
		leaves = append(leaves, digestOf(id.Text()))
	}
	return leaves
}

// revealing shows some of the receipts that are committed to.
func revealing(v wire.Value, list []wire.Value, revealed ...int) wire.Value {
	proofs, shown := []wire.Value{}, []wire.Value{}
	for _, i := range revealed {
		shown = append(shown, list[i])
		id, _ := list[i].Get("attestation_id")
		proofs = append(proofs, inclusion(id.Text(), i, leavesOf(list)))
	}
	return v.With("merkle_proofs", value(proofs)).With("revealed_attestations", value(shown))
}

// inclusion is the inclusion proof of the leaf at a place.
func inclusion(id string, place int, leaves []string) wire.Value {
	siblings := []string{}
	layers := layersOf(leaves)
	for at, layer := place, layers; len(layer) > 1; at, layer = at/2, layer[1:] {
		siblings = append(siblings, layer[0][min(at^1, len(layer[0])-1)])
	}
	return value(wire.M{"attestation_id": id, "index": place, "proof": siblings})
}

func signCompetence(v wire.Value) wire.Value {
	return signShown(signReceipts(v, "revealed_attestations"))
}

func competenceSpecimen(name string, v wire.Value, faults ...[]fault) specimen {
	s := specimen{
		kind: "competence_proof", form: name, record: "competence_proof", value: v, sign: signCompetence,
		context:  wire.M{"now": now, "public_keys": publicKeys(append([]string{vintner}, guests...)...)},
		contract: "competence-proof-v1",
		contractContext: func(wire.Value) wire.M {
			return wire.M{"public_key_b64url": key(vintner).Public()}
		},
	}
	for _, list := range faults {
		s.faults = append(s.faults, list...)
	}
	return s
}

func sameAs(v wire.Value) func(wire.Value) wire.Value {
	return func(wire.Value) wire.Value { return v }
}

// competence reveals three of five receipts.
func competence() specimen {
	all5 := vintnersReceipts(0, 1, 2, 3, 4)
	v := competenceOf(all5, 0, 2, 4)
	s := sweep{what: "a competence proof", rule: attest.RuleCompetence, shared: true}
	known := publicKeys(append([]string{vintner}, guests...)...)
	shown := seal{at: "/agent_signature", who: vintner, what: "a competence proof", signs: shownBy, rule: attest.RuleCompetenceSignature, empty: attest.RuleCompetence, blank: wire.ClassSignature, known: known,
		theirs: func(k string) wire.M { return wire.M{"public_key_b64url": k} }}
	hidden := sameAs(competenceOf(all5))
	root, _ := v.Get("attestation_merkle_root")
	return competenceSpecimen("", v,
		s.without("/proof_id", "/agent_id", "/created_at", "/claims", "/attestation_merkle_root", "/attestation_count", "/merkle_proofs", "/revealed_attestations", "/agent_signature",
			"/merkle_proofs/1/attestation_id", "/revealed_attestations/1/attestation_id"),
		s.mistyped("/claims", `[]`, "/attestation_merkle_root", `null`, "/attestation_count", `"5"`, "/merkle_proofs", `{}`, "/revealed_attestations", `{}`,
			"/merkle_proofs/0", `"att_26_0"`, "/merkle_proofs/0/attestation_id", `0`, "/merkle_proofs/0/index", `"0"`, "/merkle_proofs/0/proof/0", `7`, "/revealed_attestations/0", `"att_26_0"`, "/agent_signature", `{}`),
		sweep{what: "a competence proof", rule: attest.RuleCompetence}.mistyped("/proof_id", `"bundle_26c0"`, "/agent_id", `"two words"`, "/merkle_proofs/0/proof", `{}`, "/merkle_proofs/1/index", `-2`, "/merkle_proofs/2/index", `4.5`),
		sweep{what: "a competence proof", rule: attest.RuleClaims}.without("/claims/agreements", "/claims/categories", "/claims/reasoning_rate"),
		sweep{what: "a competence proof", rule: attest.RuleClaims}.mistyped("/claims/agreement_rate", `"0.8"`, "/claims/agreements", `-1`, "/claims/reasoning_rate", `1.0001`, "/claims/unique_counterparties", `4.5`, "/claims/categories", `[7]`, "/claims/earliest", `null`),
		sweep{what: "a competence proof", rule: attest.RuleClaims}.misdated("/created_at"),
		keyless(shown.forged(v, "/claims/unique_counterparties", `4`, "/created_at", `"2026-09-13T09:00:00Z"`, "/proof_id", `"proof_26c1"`)),
		[]fault{
			{name: "marker-signed", rule: attest.RuleCompetenceSignature, shared: true, after: func(v wire.Value) wire.Value {
				return v.With("agent_signature", signature(v.Without("agent_signature"), vintner))
			}, why: "the version marker is not signed", breaks: "two implementations sign different bytes and refuse each other, or take both"},
			{name: "key-of-other", rule: attest.RuleCompetenceSignature, shared: true, edit: hidden, context: shown.keys(key(mallory).Public().String()), contract: shown.theirs(key(mallory).Public().String()),
				why: "the key is the one that the verifier was given for the agent", breaks: "anybody shows a history in the name of another"},
			{name: "key-unknown", rule: wire.RuleUnknownKey, edit: hidden, context: shown.keys(""), why: "without the agent's key nothing is known: not known is not verified", breaks: "an agent nobody knows is believed"},
			{name: "key-of-small-order", rule: wire.RuleWeakKey, edit: hidden, after: set("/agent_signature", quote(anyMessage)), context: shown.keys(weakKey), why: "under a key of small order one signature fits every message", breaks: "whoever gets such a key registered can show, or deny, anything"},
			{name: "guest-unknown", rule: wire.RuleUnknownKey, context: wire.M{"public_keys": publicKeys(vintner, guests[0], guests[2])}, why: "the counterparties' signatures are verified as well", breaks: "an agent invents counterparties"},
			{name: "nothing-revealed", shared: true, edit: hidden, why: "an agent may reveal none: its claims are its word"},
			{name: "all-revealed", shared: true, edit: sameAs(competenceOf(all5, 4, 3, 2, 1, 0)), why: "an agent may reveal all, in any order"},
			{name: "first-revealed", edit: sameAs(competenceOf(all5, 0)), why: "an agent may reveal one"},
			{name: "proof-of-an-unshown-receipt", edit: sameAs(competenceOf(all5, 0, 1, 2, 3, 4).With("revealed_attestations", value(vintnersReceipts(0)))), why: "an inclusion proof may show an id alone"},
			{name: "without-marker", shared: true, after: drop("/concordia_competence_proof"), why: "the version marker is optional, and nobody signs it"},
			{name: "open", shared: true, edit: set("/note", `"kept and signed"`), why: "a competence proof is open"},
			{name: "next-version", rule: attest.RuleHistoryVersion, after: set("/concordia_competence_proof", `"0.2.0"`), why: "nobody signs the version: only one that is known may stand there", breaks: "whoever passes a proof on changes by which rules it is read"},
			{name: "version-with-zeros", rule: attest.RuleHistoryVersion, after: set("/concordia_competence_proof", `"0.1.00"`), why: "a version has one spelling", breaks: "readers that compare numbers, and readers that compare texts, disagree"},
			{name: "root-in-capitals", rule: attest.RuleCompetence, edit: set("/attestation_merkle_root", quote(strings.ToUpper(root.Text()))), why: "the hex of a root is in small letters", breaks: "one root has several texts"},
			{name: "root-with-a-prefix", rule: attest.RuleCompetence, edit: set("/attestation_merkle_root", quote("sha256:"+root.Text())), why: "a root is 64 hex digits and nothing else", breaks: "one root has several texts"},
			{name: "too-many", rule: attest.RuleHistorySize, edit: func(v wire.Value) wire.Value {
				list := make([]wire.M, attest.MaxReceipts+1)
				for i := range list {
					list[i] = wire.M{"attestation_id": "a"}
				}
				return set("/claims", `{"total_negotiations":1001,"agreements":0,"agreement_rate":0,"avg_concession_magnitude":0,"fulfillment_rate":0,"unique_counterparties":1,"categories":[],"earliest":"2026-09-01T12:00:00Z","latest":"2026-09-02T12:00:00Z","reasoning_rate":0}`)(set("/attestation_count", `1001`)(v.With("revealed_attestations", value(list)).With("merkle_proofs", value([]any{}))))
			}, why: "a proof shows at most 1000 receipts", breaks: "a stranger makes a verifier check signatures without end"},
			{name: "shown-by-another", rule: attest.RuleHolder, edit: set("/agent_id", quote(guests[0])), why: "who shows receipts is a party of each", breaks: "an agent shows the successes of others as its own"},
		},
		late(bound{name: "created-at", rule: attest.RuleNotYet, limit: "2026-09-14T09:32:00Z", beyond: 1, put: edits("/created_at"),
			why: "a proof is not made later than now, but for the skew of 120 seconds", breaks: "proofs are made for times to come, when less may be fit to show"}),
		late(bound{name: "age", rule: attest.RuleAge, limit: "2026-06-16T09:30:00Z", beyond: -1, put: edits("/created_at"),
			why: "a proof is of the last 90 days", breaks: "an agent shows a selection of its better days for ever"}),
		membership(all5), contradictions(),
		receiptFaults("/revealed_attestations/0", asItIs, signShown, v, known),
	)
}

// asItIs changes nothing: no figure follows from a part of the receipts.
func asItIs(v wire.Value) wire.Value { return v }

// membership is about the tree.
func membership(list []wire.Value) []fault {
	const outside = "a receipt is shown that was never committed to, and others are left out in its place"
	m, c := attest.RuleMembership, attest.RuleCompetenceCount
	leaves := leavesOf(list)
	layers := layersOf(leaves)
	id := func(i int) string { v, _ := list[i].Get("attestation_id"); return v.Text() }
	other := digestOf("another leaf")
	entry := func(v wire.Value) string { return v.Canonical() }
	foreign := signedByParties(set("/attestation_id", `"att_26_9"`)(list[1]))
	// The claims of another total do not contradict themselves.
	total := func(n, rate, reasoned string) func(wire.Value) wire.Value {
		return all(set("/claims/total_negotiations", n), set("/claims/agreement_rate", rate), set("/claims/reasoning_rate", reasoned))
	}
	count := func(name string, claimed func(wire.Value) wire.Value, why string) fault {
		return fault{name: "count-" + name, rule: c, shared: true, edit: claimed, why: why,
			breaks: "an agent claims a long history and commits to a short one"}
	}
	faults := []fault{
		count("more-claimed", total(`50`, `0.08`, `0.2`), "attestation_count is what the claims are about"),
		count("less-claimed", total(`4`, `1`, `0.25`), "attestation_count is what the claims are about"),
		{name: "no-inclusion", rule: m, shared: true, edit: set("/merkle_proofs", `[]`), why: "each receipt that is revealed has an inclusion proof", breaks: outside},
		{name: "one-inclusion-missing", rule: m, shared: true, edit: drop("/merkle_proofs/1"), why: "each receipt that is revealed has an inclusion proof", breaks: outside},
		{name: "foreign-receipt", rule: m, shared: true, edit: set("/revealed_attestations/1", foreign.Canonical()), why: "an inclusion proof is of one id", breaks: outside},
		{name: "foreign-receipt-and-proof", rule: m, shared: true, edit: all(set("/revealed_attestations/1", foreign.Canonical()), set("/merkle_proofs/1/attestation_id", `"att_26_9"`)), why: "an inclusion proof leads from the id to the root", breaks: outside},
		{name: "sibling-changed", rule: m, shared: true, edit: set("/merkle_proofs/0/proof/0", quote(other)), why: "an inclusion proof leads to the root by each sibling", breaks: outside},
		{name: "last-sibling-changed", rule: m, shared: true, edit: set("/merkle_proofs/0/proof/2", quote(other)), why: "an inclusion proof leads to the root by each sibling", breaks: outside},
		{name: "siblings-exchanged", rule: m, shared: true, edit: all(set("/merkle_proofs/0/proof/0", quote(layers[1][1])), set("/merkle_proofs/0/proof/1", quote(leaves[1]))), why: "siblings are listed from the leaf up", breaks: outside},
		{name: "index-of-another", rule: m, shared: true, edit: set("/merkle_proofs/0/index", `1`), why: "the index says on which side the siblings are", breaks: outside},
		{name: "proof-too-short", rule: m, shared: true, edit: drop("/merkle_proofs/0/proof/2"), why: "a proof is as long as the tree is high", breaks: outside},
		{name: "proof-too-long", rule: m, shared: true, edit: set("/merkle_proofs/0/proof/-", quote(other)), why: "a proof is as long as the tree is high", breaks: outside},
		{name: "proof-missing", rule: m, shared: true, edit: drop("/merkle_proofs/0/proof"), why: "a missing proof is an empty one, which leads from the root to the root alone", breaks: outside},
		{name: "root-of-others", rule: m, shared: true, edit: set("/attestation_merkle_root", quote(other)), why: "the root is the one to which the proofs lead", breaks: outside},
		{name: "root-empty", rule: m, shared: true, edit: set("/attestation_merkle_root", `""`), why: "the empty root is that of nothing", breaks: outside},
		{name: "unshown-proof-false", rule: m, edit: set("/merkle_proofs/-", entry(inclusion("att_26_9", 1, leaves))), why: "an inclusion proof of an id that is not revealed leads to the root as well", breaks: "ids are shown as part of a history that has none of them"},
		{name: "index-beyond-the-count", rule: m, edit: set("/merkle_proofs/2/index", `5`), why: "the last leaf is paired with itself: the place beyond it leads to the root as well, and is none", breaks: "one receipt is shown as two"},
		{name: "count-of-a-lower-tree", rule: m, edit: all(set("/attestation_count", `4`), total(`4`, `1`, `0.25`)), why: "proofs are as long as a tree of that many leaves is high", breaks: "an agent commits to more than it counts, and shows the better part"},
		{name: "inclusion-twice", rule: attest.RuleDuplicate, edit: set("/merkle_proofs/-", entry(inclusion(id(0), 0, leaves))), why: "no inclusion proof is there twice", breaks: "two proofs of one id hide which of them was verified"},
		{name: "index-left-out", shared: true, edit: drop("/merkle_proofs/0/index"), why: "a missing index is 0"},
	}
	// A tree whose leaves are not in the order of the ids.
	swapped := []string{leaves[1], leaves[0], leaves[2]}
	top := layersOf(swapped)[2][0]
	faults = append(faults, fault{name: "leaves-in-another-order", rule: m, edit: sameAs(all(
		set("/attestation_merkle_root", quote(top)), set("/merkle_proofs/0", inclusion(id(0), 1, swapped).Canonical()), set("/merkle_proofs/1", inclusion(id(1), 0, swapped).Canonical()),
	)(competenceOf(list[:3], 0, 1))), why: "the leaves are in the order of the ids", breaks: "an id is committed to twice, at two places, and nobody sees it"})
	// The text of two nodes is an id whose leaf is their parent.
	inner := signedByParties(set("/attestation_id", quote(layers[0][0]+layers[0][1]))(list[0]))
	faults = append(faults, fault{name: "node-as-a-leaf", rule: m, edit: all(
		set("/revealed_attestations", "["+inner.Canonical()+"]"),
		set("/merkle_proofs", fmt.Sprintf(`[{"attestation_id":%q,"index":0,"proof":[%q,%q]}]`, layers[0][0]+layers[0][1], layers[1][1], layers[2][1])),
	), why: "leaves and nodes are hashed alike: only the length of a proof tells that this leaf is a node", breaks: "a receipt is invented after the fact, with the hashes of two others as its id"})
	return faults
}
