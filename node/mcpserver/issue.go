package mcpserver

import (
	"context"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// Members of what was issued. The artifact itself has a name of its own.
var issuedMembers = []param{
	{name: "agent_id", kind: id, must: true, text: "yours"}, {name: "created_at", kind: text, must: true},
	{name: "resource", kind: text, must: true, text: "where it can be read again"}, {name: "message", kind: text, must: true},
}

func issueTools() []*tool {
	issues := func(name, title, text string, takes, gives []param, do func(ctx context.Context, c *call) (wire.M, error)) *tool {
		return &tool{name: name, title: title, text: text, takes: takes, gives: with(issuedMembers, gives...), do: do}
	}
	return []*tool{
		issues("concordia_create_receipt_bundle", "Show your receipts",
			lines("Signs a bundle of your receipts, to show your history to somebody. It has what all parties signed, and tells with whom you dealt and in what, but no terms.",
				"Without filters it has all, up to the newest 1000."),
			[]param{ownParam, tokenParam, {name: "filter_category", kind: text, text: "those of this category or below it"}, {name: "filter_counterparty", kind: text, text: "those with this agent: its id, or the name of a contact"},
				{name: "filter_after", kind: text, text: "from this time on, as 2026-10-05T08:00:00Z"}, {name: "filter_before", kind: text, text: "before this time"}},
			[]param{{name: "bundle_id", kind: text, must: true}, {name: "attestation_count", kind: integer, must: true}, {name: "left_out", kind: integer, must: true, text: "receipts that fit and are not in it"},
				{name: "bundle", kind: object, text: "the signed bundle, exactly; if it is too large here, read the resource"}}, createBundle),
		{
			name: "concordia_list_receipt_bundles", title: "List your bundles", reads: true, repeats: true,
			text:  "Lists the bundles that you signed, newest first, at most the last 100. With bundle_id it returns that one exactly.",
			takes: []param{ownParam, tokenParam, {name: "bundle_id", kind: id, text: "the one that you want again"}},
			gives: []param{{name: "agent_id", kind: id, must: true, text: "yours"}, {name: "bundle_count", kind: integer, must: true}, {name: "bundles", kind: objects, must: true},
				{name: "bundle", kind: object, text: "the one that was asked for, exactly"}, {name: "message", kind: text}},
			do: listBundles,
		},
		issues("concordia_competence_proof", "Prove your experience",
			lines("Signs figures of your history, and commits to the receipts that they are of without showing them.",
				"reveal_count shows that many of the newest; the figures are your own word unless all are revealed."),
			[]param{ownParam, tokenParam, {name: "reveal_count", kind: integer, most: attest.MaxReceipts, text: "how many receipts it shows (0)"}},
			[]param{{name: "proof_id", kind: text, must: true}, {name: "summary", kind: object, must: true}, {name: "proof", kind: object, text: "the signed proof, exactly; if it is too large here, read the resource"}}, proveCompetence),
		issues("concordia_session_receipt_envelope", "Tell another trust system of a session",
			lines("Signs a trust-evidence envelope about a session that has its receipt: how it ended, and no terms.",
				"You are its provider, with your own id and key, whatever another system calls you."),
			[]param{sessionParam, tokenParam, {name: "provider_did", kind: id, text: "yours, if you want it checked"}, {name: "provider_kid", kind: text, text: "the DID URL of your key, if you want it checked"},
				{name: "subject_did", kind: id, text: "the party that it is about; by default who opened the session"}, {name: "algorithm", kind: text, oneOf: []string{"EdDSA", "ES256"}, text: "that of your key, if you want it checked"},
				{name: "visibility", kind: text, oneOf: []string{"public", "restricted", "private"}, text: "public if it is left out"},
				{name: "additional_references", kind: text, text: `JSON array of {"kind": …, "urn": …} with perhaps a hash; that you verified them is not said`}},
			[]param{{name: "session_id", kind: id, must: true}, {name: "envelope_id", kind: text, must: true}, {name: "envelope", kind: object, must: true, text: "the signed envelope, exactly"}}, makeEnvelope),
	}
}

// issued is what was issued as a result has it.
func (c *call) issued(ctx context.Context, made node.Issued, idMember, member string) (wire.M, error) {
	self, err := c.api.Self(ctx)
	if err != nil {
		return nil, err
	}
	r := wire.M{
		"agent_id": self.Agent, "created_at": wire.FormatTime(made.Created), idMember: made.ID, "resource": issuedAt(made.ID),
		"message": "You signed it. Hand it on exactly as it is; it is kept, and can be read again.",
	}
	if isWhole(made.Artifact) {
		r[member] = made.Artifact
	} else {
		r["message"] = "You signed it, and it is kept. It is too large for a result, or others wrote words in it: read the resource, and hand it on exactly as it is."
	}
	return r, nil
}

// isWhole reports whether an artifact can be shown in a result as it was signed: it is not
// too large, and has no words of others in it.
func isWhole(v wire.Value) bool {
	words := newExternal()
	words.left = maxReceipt
	words.put("artifact", v)
	return !words.truncated && !words.altered && !hasWords(v)
}

// hasWords reports whether a value has text in it that could be no id, such as the notes and
// disputes of a receipt. Its summary every party derives; that of a contact with the
// reference implementation may be its own.
func hasWords(v wire.Value) bool {
	isWords := func(s string) bool { return s != "" && wire.CheckID(wire.AgentID(s)) != nil }
	for name, x := range v.Members() {
		if isWords(name) || hasWords(x) && (name != "summary" || x.Kind() != wire.String) {
			return true
		}
	}
	for _, x := range v.Elems() {
		if hasWords(x) {
			return true
		}
	}
	return isWords(v.Text())
}

// moment reads an argument that is a time; zero if it is not given.
func (c *call) moment(name string) (time.Time, error) {
	s := c.text(name)
	if s == "" {
		return time.Time{}, nil
	}
	t, err := wire.ParseTime(s)
	if err != nil {
		return t, refuse("/"+name, "want a time as 2026-10-05T08:00:00Z")
	}
	return t, nil
}

func createBundle(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	f := node.ReceiptFilter{Category: c.text("filter_category")}
	var err error
	if f.After, err = c.moment("filter_after"); err != nil {
		return nil, err
	}
	if f.Before, err = c.moment("filter_before"); err != nil {
		return nil, err
	}
	if with := c.text("filter_counterparty"); with != "" {
		if f.With, err = c.agent(ctx, "/filter_counterparty", with); err != nil {
			return nil, err
		}
	}
	made, err := c.api.Bundle(ctx, f)
	if err != nil {
		return nil, err
	}
	r, err := c.issued(ctx, made, "bundle_id", "bundle")
	if err != nil {
		return nil, err
	}
	r["attestation_count"], r["left_out"] = made.Receipts, made.LeftOut
	return r, nil
}

// figures are the figures of a summary. Its categories are left out: others named them.
func figures(summary wire.Value) wire.Value { return summary.Without("categories") }

func listBundles(ctx context.Context, c *call) (wire.M, error) {
	self, err := c.checkSelf(ctx, "agent_id")
	if err != nil {
		return nil, err
	}
	list, err := c.api.Bundles(ctx)
	if err != nil {
		return nil, err
	}
	wanted := c.text("bundle_id")
	all := []any{}
	for _, b := range list {
		if wanted != "" && wanted != b.ID {
			continue
		}
		all = append(all, wire.M{
			"bundle_id": b.ID, "created_at": wire.FormatTime(b.Created), "attestation_count": b.Receipts, "summary": figures(b.Summary), "resource": issuedAt(b.ID),
		})
	}
	r := wire.M{"agent_id": self.Agent, "bundle_count": len(list), "bundles": all}
	switch {
	case wanted == "":
		return r, nil
	case len(all) == 0:
		return nil, refuse("/bundle_id", "you signed no bundle of that id, or it is kept no more")
	}
	bundle, err := c.api.Artifact(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if isWhole(bundle) {
		r["bundle"] = bundle
	} else {
		r["message"] = "It is too large for a result, or others wrote words in it: read the resource."
	}
	return r, nil
}

func proveCompetence(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	made, err := c.api.Competence(ctx, int(c.int("reveal_count", 0)))
	if err != nil {
		return nil, err
	}
	r, err := c.issued(ctx, made, "proof_id", "proof")
	if err != nil {
		return nil, err
	}
	summary := made.Summary.Only("total_negotiations", "agreement_rate", "fulfillment_rate", "unique_counterparties")
	revealed, err := wire.Encode(made.Revealed)
	r["summary"] = summary.With("revealed_count", revealed)
	return r, err
}

func makeEnvelope(ctx context.Context, c *call) (wire.M, error) {
	e := node.Enveloping{
		Session: c.session(), Provider: wire.AgentID(c.text("provider_did")), KeyID: c.text("provider_kid"), Subject: wire.AgentID(c.text("subject_did")),
		Algorithm: wire.Algorithm(c.text("algorithm")), Visibility: c.text("visibility"),
	}
	var err error
	if e.References, err = c.references("additional_references"); err != nil {
		return nil, err
	}
	made, err := c.api.Envelope(ctx, e)
	if err != nil {
		return nil, err
	}
	r, err := c.issued(ctx, made, "envelope_id", "envelope")
	if err != nil {
		return nil, err
	}
	r["session_id"], r["envelope"] = c.session(), made.Artifact // of bounded size
	return r, nil
}

// references reads the JSON text of an argument.
func (c *call) references(name string) (list []node.Referral, err error) {
	text := c.text(name)
	if text == "" {
		return nil, nil
	}
	v, err := wire.Parse([]byte(text), wire.Limits{Size: maxText, Depth: 4, Values: maxList})
	if err != nil || v.Kind() != wire.Array {
		return nil, refuse("/"+name, "want the text of a JSON array")
	}
	for _, x := range v.Elems() {
		r := wire.Read(x, "", ruleArguments)
		r.Closed("kind", "urn", "hash")
		list = append(list, node.Referral{Kind: r.Text("kind"), URN: r.Text("urn"), Hash: r.OptText("hash")})
		if r.Err() != nil {
			return nil, refuse("/"+name, "each reference has a kind and a urn, perhaps a hash, and nothing else: who verified it and when would be your word for another's")
		}
	}
	return list, nil
}
