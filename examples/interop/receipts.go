package main

import (
	"fmt"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// Receipts with references, with a witness, with each way of being valid, and with what
// became of the agreement inside.
func attestations(receipts map[string]attest.Draft) []artifact {
	referring := receipts["agreed"]
	referring.References = []wire.Value{
		parse(`{"id": "urn:concordia:mandate:1", "type": "mandate", "relationship": "references"}`),
		parse(`{"id": "urn:concordia:predicate:1", "type": "predicate", "relationship": "references", "version": "1", "signed_at": "2026-10-05T07:00:00Z",
			"signer_did": "` + authority + `", "extensions": {"profile": "x", "leaf_index": 0, "another_extension": {"nested": true}}}`),
	}
	extended := receipts["agreed"]
	extended.References = []wire.Value{parse(`{"id": "urn:example:deed:1", "type": "deed", "relationship": "attached", "extensions": {"pages": 3}}`)}
	relative, window := receipts["agreed"], receipts["agreed"]
	relative.Validity = &attest.Validity{Mode: "relative", From: began, Until: began.Add(attest.DefaultMaxLifetime)}
	window.Validity = &attest.Validity{Mode: "window", From: began, Until: began.AddDate(0, 1, 0), Duration: 3600e9}
	witnessed := must(attest.Witness(signedByAll(receipts["agreed"]), "neighbour", key("neighbour")))
	fulfilled := func(status, more string) wire.Value {
		return must(issuer("buyer", "fulfilled").Confirm(signedByAll(receipts["agreed"]), parse(`{"status": "`+status+`"`+more+`}`)))
	}
	bound := wire.M{"require": []string{"outcome_bound"}}
	told := wire.M{"require": []string{"outcome_bound", "fulfillment_bound"}}
	return []artifact{
		{name: "attestation", kind: "attestation", input: signedByAll(receipts["agreed"]), context: bound},
		{name: "attestation-withdrawn", kind: "attestation", input: signedByAll(receipts["withdrawn"]), context: bound},
		{name: "attestation-mediated", kind: "attestation", input: signedByAll(receipts["mediated"]), context: bound},
		{name: "attestation-with-references", kind: "attestation", input: signedByAll(referring), context: bound},
		{name: "attestation-with-another-extension", kind: "attestation", input: signedByAll(extended), context: bound, unlisted: true},
		{name: "attestation-relative", kind: "attestation", input: signedByAll(relative), context: bound},
		{name: "attestation-window", kind: "attestation", input: signedByAll(window), context: bound},
		{name: "attestation-witnessed", kind: "attestation", input: witnessed, context: bound},
		{name: "attestation-fulfilled", kind: "attestation", context: told,
			input: fulfilled("fulfilled", `, "fulfilled_at": "2026-10-05T11:00:00Z", "delivery_confirmed": true, "settlement_protocol": "escrow", "counterparty_attestation": {"notes": "all well"}`)},
		{name: "attestation-disputed", kind: "attestation", context: bound, // the buyer denies that it was fulfilled
			input: fulfilled("disputed", `, "disputes": [{"term_id": "place", "complainant_agent_id": "buyer", "description": "not there", "resolution": null}]`)},
	}
}

// histories are bundles and proofs of the seller's receipts, and a receipt that the
// buyer cosigned.
func histories(drafts map[string]attest.Draft) []artifact {
	var receipts []wire.Value
	var ids []string
	for _, name := range []string{"agreed", "conditional", "bundle", "rejected", "partial"} {
		receipts, ids = append(receipts, signedByAll(drafts[name])), append(ids, drafts[name].ID)
	}
	var list []artifact
	for _, n := range []int{0, 1, 4, 5} {
		name := fmt.Sprintf("bundle-of-%d", n)
		list = append(list, artifact{name: name, kind: "receipt_bundle", input: must(issuer("seller", name).Bundle(receipts[:n]))})
	}
	for _, p := range []struct {
		name   string
		of     int
		reveal []string
	}{
		{"proof-of-5-revealing-none", 5, nil}, {"proof-of-5-revealing-2", 5, []string{ids[4], ids[1]}}, {"proof-of-5-revealing-all", 5, ids},
		{"proof-of-4-revealing-all", 4, ids[:4]}, {"proof-of-1-revealing-all", 1, ids[:1]},
	} {
		list = append(list, artifact{name: p.name, kind: "competence_proof",
			input:   must(issuer("seller", p.name).Competence(receipts[:p.of], p.reveal...)),
			context: wire.M{"require_aggregate": len(p.reveal) == p.of}})
	}
	fulfilled := []wire.Value{receipts[0], must(issuer("buyer", "fulfilled").Confirm(receipts[1], parse(`{"status": "fulfilled"}`)))}
	list = append(list,
		artifact{name: "bundle-fulfilled", kind: "receipt_bundle", input: must(issuer("seller", "bundle-fulfilled").Bundle(fulfilled))},
		artifact{name: "proof-fulfilled", kind: "competence_proof", input: must(issuer("seller", "proof-fulfilled").Competence(fulfilled, ids[1], ids[0])),
			context: wire.M{"require_aggregate": true}},
	)
	for n, name := range []string{"cosigned", "cosigned-fulfilled"} {
		a, err := attest.ReadAttestation(fulfilled[n])
		check(err)
		unsigned := must(attest.Cosigned(a, "seller", key("buyer").Public()))
		list = append(list, artifact{name: name, kind: "cosign", input: must(issuer("buyer", name).Cosign(unsigned, "seller")),
			context: wire.M{"publisher_did": "seller"}})
	}
	return list
}

// Evidence for other trust systems, of a provider with an Ed25519 key and of one on
// P-256.
func envelopes(agreed attest.Draft) []artifact {
	receipt := signedByAll(agreed)
	fulfilled := must(issuer("seller", "fulfilled").Confirm(receipt, parse(`{"status": "fulfilled"}`)))
	return []artifact{
		{name: "envelope", kind: "envelope", input: must(issuer(provider, "envelope").Envelope(receipt, parse(`{}`)))},
		{name: "envelope-fulfilled", kind: "envelope", input: must(issuer(provider, "envelope-fulfilled").Envelope(fulfilled, parse(
			`{"subject": {"did": "buyer"}, "visibility": "restricted", "references": [{"kind": "mandate", "urn": "urn:concordia:mandate:1"}]}`)))},
		{name: "envelope-es256", kind: "envelope", input: must(issuer(curve, "envelope-es256").Envelope(receipt, parse(`{}`)))},
	}
}

// A message as a part of an A2A message.
func parts() []artifact {
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeOpen, ID: "msg_part_1", Session: "ses_sample_part", Time: issued, From: "seller", To: []wire.AgentID{"buyer"}, Body: parse(terms),
	}, key("seller"))
	check(err)
	return []artifact{{name: "a2a-part", kind: "a2a_part", input: must(a2a.Wrap(m)), context: wire.M{"active_extensions": []string{a2a.ExtensionURI}}}}
}
