package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// What somebody asks about the seller, and what a service answers that has receipts of
// the sessions.
func reputations(drafts map[string]attest.Draft) []artifact {
	query := parse(`{"type": "concordia.reputation.query", "subject_agent_id": "seller", "requester_agent_id": "neighbour",
		"context": {"category": "electronics", "role": "initiator"}}`)
	q, err := reputation.ReadQuery(query)
	check(err)
	service := issuer(provider, "reputation-response")
	var known reputation.Ledger
	for _, name := range []string{"agreed", "conditional", "rejected", "withdrawn"} {
		receipt := signedByAll(drafts[name])
		if name == "agreed" {
			receipt = must(issuer("buyer", "fulfilled").Confirm(receipt, parse(`{"status": "fulfilled"}`)))
		}
		evidence, report := reputation.VerifyReceipt(attest.Verifier{Keys: service.Keys, Now: issued}, receipt)
		check(report.Err())
		known.Add(evidence)
	}
	return []artifact{
		{name: "reputation-query", kind: "reputation_query", input: query},
		{name: "reputation-response", kind: "reputation_response", input: must(known.Answer(q, service)), context: wire.M{"query": query}},
	}
}
