package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// Arguments that tools of reputation take.
var (
	ownParam   = param{name: "agent_id", kind: id, text: "yours, if you want it checked"}
	kindParams = []param{
		{name: "category", kind: text, text: "of the deals that are asked about, as electronics.cameras; those below it count too"},
		{name: "value_range", kind: text, text: "as 1000-5000_USD"},
		{name: "role", kind: text, text: "initiator or responder: receipts prove no other"},
	}
)

func reputationTools() []*tool {
	return []*tool{
		{
			name: "concordia_ingest_attestation", title: "Take in a receipt", repeats: true,
			text: lines("Takes a receipt that somebody shows you, or a fulfillment attestation, into the evidence from which scores are computed.",
				"A receipt counts only if all its parties signed it, with keys that this node knows; your own receipts count by themselves."),
			takes: []param{ownParam, tokenParam, {name: "attestation", kind: object, must: true, text: "exactly as you got it"}},
			gives: with(verdictMembers[1:], param{name: "accepted", kind: yes, must: true}, param{name: "status", kind: text, must: true, text: "accepted, known or refused"},
				param{name: "attestation_id", kind: text}, param{name: "session_id", kind: id}, param{name: "store_count", kind: integer, must: true}, param{name: "message", kind: text, must: true}),
			do: ingest,
		},
		{
			name: "concordia_reputation_query", title: "Answer what is known of an agent", reads: true, repeats: true,
			text: lines("Returns what your evidence proves of an agent as a response that you sign, for somebody who asks you.",
				"Whoever has your key verifies it; whoever has the same receipts computes the same."),
			takes: append([]param{{name: "subject_agent_id", kind: text, must: true, text: "whom it is about: an id, or the name of a contact"},
				{name: "requester_agent_id", kind: id, text: "who asks, as it says; you if it is left out"}}, kindParams...),
			gives: []param{{name: "response", kind: object, must: true, text: "the signed response, exactly"}, {name: "service_id", kind: id, must: true, text: "yours"}, {name: "message", kind: text, must: true}},
			do:    query,
		},
		{
			name: "concordia_reputation_score", title: "Look up what is known of an agent", reads: true, repeats: true,
			text: lines("Says what your evidence proves of an agent before you deal with it: a score from 0, nothing proven, to 1. confidence is what it would be if all had gone well.",
				"Keys are free and receipts can be kept back: it is evidence to weigh, and no verdict."),
			takes: append([]param{{name: "agent_id", kind: text, text: "whom it is about: an id, or the name of a contact; you if it is left out"}}, kindParams...),
			gives: []param{{name: "agent_id", kind: id, must: true}, {name: "score", kind: object, must: true}, {name: "context_specific", kind: object, must: true, text: "of the kind that is asked about; null where receipts cannot say"},
				{name: "flags", kind: texts, must: true, text: "concerns"}, {name: "closed_circle", kind: ids, text: "a small group that it deals in"}, {name: "computed_at", kind: text, must: true}, {name: "message", kind: text, must: true}},
			do: score,
		},
		{
			name: "concordia_reputation_report", title: "Report a session to a provider", ends: true,
			text: lines("Tells a provider of reputation how a session with a receipt went, signed by you: outcome, rounds, duration, and no terms. It names the other party by its key.",
				"Your owner has to allow the provider (report_to in the policy). What is sent cannot be taken back. dry_run shows what would be sent."),
			takes: []param{sessionParam, ownParam, tokenParam, {name: "provider_endpoint", kind: text, must: true, text: "https URL; one that your owner allows"},
				{name: "provider_did", kind: text, text: "ignored: the certificate of the endpoint says who it is"},
				{name: "fulfillment_status", kind: text, oneOf: []string{"fulfilled", "disputed", "pending"}, text: "checked against the receipt, if given: only what the other party signed is reported"},
				{name: "cosigned", kind: object, text: "the receipt of a dry run, signed by the other party as a cosigned receipt"},
				{name: "dry_run", kind: yes, text: "send nothing"}},
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "reported", kind: yes, must: true}, {name: "agent_did", kind: id, must: true, text: "your key, as the report names it"},
				{name: "provider", kind: object, must: true}, {name: "outcome", kind: text, must: true}, {name: "cosigned", kind: yes, must: true},
				{name: "reported_receipt", kind: object, must: true, text: "exactly as it was sent, or would be"}, {name: "message", kind: text, must: true}},
			do: report,
		},
	}
}

func ingest(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	in, err := c.api.Ingest(ctx, c.value("attestation"))
	if err != nil {
		return nil, err
	}
	r, words := verdictOf(in.Checks), newExternal()
	delete(r, "valid")
	r["status"], r["accepted"], r["store_count"] = in.Status, in.Status != node.IngestRefused, in.Kept
	r["message"] = map[node.IngestStatus]string{
		node.IngestNew: "It verifies, and counts from now on.", node.IngestKnown: "It was here already.",
		node.IngestRefused: "It does not count: errors says why.",
	}[in.Status]
	name(r, words, "attestation_id", in.ID)
	name(r, words, "session_id", in.Session)
	return words.into(r), nil
}

// question reads whom a tool asks about, and which kind of deal.
func (c *call) question(ctx context.Context, who string) (node.Question, error) {
	q := node.Question{Category: c.text("category"), Range: c.text("value_range"), Role: attest.Role(c.text("role")), Requester: wire.AgentID(c.text("requester_agent_id"))}
	if !c.args.Has(who) {
		self, err := c.api.Self(ctx)
		q.Subject = self.Agent
		return q, err
	}
	var err error
	q.Subject, err = c.agent(ctx, "/"+who, c.text(who))
	return q, err
}

func query(ctx context.Context, c *call) (wire.M, error) {
	q, err := c.question(ctx, "subject_agent_id")
	if err != nil {
		return nil, err
	}
	v, err := c.api.Answer(ctx, q)
	if err != nil {
		return nil, err
	}
	by, _ := v.Get("service_id")
	return wire.M{"response": v, "service_id": by, "message": "You signed it. Hand it on exactly as it is; concordia verify checks it."}, nil
}

func score(ctx context.Context, c *call) (wire.M, error) {
	q, err := c.question(ctx, "agent_id")
	if err != nil {
		return nil, err
	}
	s, err := c.api.Score(ctx, q)
	if err != nil {
		return nil, err
	}
	f := s.Figures
	r := wire.M{
		"agent_id": s.Subject, "computed_at": wire.FormatTime(s.At), "context_specific": s.Context, "flags": s.Flags,
		"score": wire.M{
			"overall_score": s.Overall, "confidence": s.Confidence, "total_negotiations": f.Negotiations, "total_agreements": f.Agreements,
			"agreement_rate": f.AgreementRate, "fulfillment_rate": f.FulfillmentRate, "avg_concession_willingness": f.AvgConcession,
			"reasoning_rate": f.ReasoningRate, "median_rounds_to_agreement": f.MedianRounds, "counterparty_count": f.Counterparties,
			"attestation_count": f.Attestations,
		},
		"message": "It is computed from receipts that all parties signed: your own, and those that you took in.",
	}
	if f.Attestations == 0 {
		r["message"] = "Nothing is known of this agent: no receipt of it is in your evidence."
	}
	if len(s.Circle) > 0 {
		r["closed_circle"] = s.Circle
	}
	words := newExternal()
	if len(f.Categories) > 0 { // those who opened the sessions named them
		var names []any
		for _, name := range f.Categories {
			names = append(names, words.clean(name, maxShownName))
		}
		words.members["categories_active"] = names
	}
	return words.into(r), nil
}

func report(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	done, err := c.api.Report(ctx, node.Reporting{
		Session: c.session(), Endpoint: c.text("provider_endpoint"), Fulfillment: c.text("fulfillment_status"), Cosigned: c.value("cosigned"), DryRun: c.yes("dry_run"),
	})
	if err != nil {
		return nil, err
	}
	r := wire.M{
		"session_id": c.session(), "reported": done.Sent, "agent_did": done.DID, "provider": wire.M{"endpoint": c.text("provider_endpoint")},
		"outcome": done.Outcome, "cosigned": done.Cosigned, "reported_receipt": done.Receipt,
	}
	switch {
	case !done.Sent:
		r["message"] = "Nothing was sent. The other party signs reported_receipt with concordia attest cosign; then give it as cosigned."
	case done.Cosigned:
		r["message"] = "The provider took it, signed by both."
	default:
		r["message"] = "The provider took it, signed by you alone: providers may give it less weight."
	}
	words := newExternal()
	words.put("provider_response", done.Answer)
	return words.into(r), nil
}
