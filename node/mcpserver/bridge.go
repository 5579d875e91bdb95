package mcpserver

import (
	"context"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func bridgeTools() []*tool {
	self := param{name: "agent_id", kind: id, text: "yours, if you want it checked"}
	config := []param{
		{name: "enabled", kind: yes, must: true}, {name: "identity_count", kind: integer, must: true}, {name: "default_context", kind: text, must: true},
		{name: "commitment_on_agree", kind: yes, must: true}, {name: "reputation_on_receipt", kind: yes, must: true},
	}
	calls := []param{{name: "session_id", kind: id, must: true},
		{name: "sanctuary_enabled", kind: yes, must: true, text: "there is something to hand over"}, {name: "reputation_payload_count", kind: integer, must: true},
		{name: "exact", kind: yes, must: true, text: "what is under external is exact, and can be handed over"}, {name: "skipped_reason", kind: text}, {name: "message", kind: text, must: true},
	}
	return []*tool{
		{
			name: "concordia_sanctuary_bridge_configure", title: "Configure the bridge to Sanctuary", repeats: true,
			text: lines("Says whether calls for Sanctuary are made from your deals, and who is who there. Nothing is sent to Sanctuary: you hand over what is made.",
				"Mappings are of you, your contacts, and parties of your sessions; they are added, and one without sanctuary_id is removed."),
			takes: []param{self, tokenParam, {name: "enabled", kind: yes, must: true},
				{name: "identity_mappings", kind: objects, text: `as [{"agent_id": "did:key:…", "sanctuary_id": "…", "did": "did:…"}]; did may be left out`},
				{name: "default_context", kind: text, text: "of reputation, where a receipt has no category (concordia_negotiation)"},
				{name: "commitment_on_agree", kind: yes, text: "make commitments (true)"}, {name: "reputation_on_receipt", kind: yes, text: "make records of reputation (true)"}},
			gives: with(config, param{name: "message", kind: text, must: true}),
			do:    configureBridge,
		},
		{
			name: "concordia_sanctuary_bridge_commit", title: "Make a commitment for Sanctuary", reads: true, repeats: true,
			text: lines("Makes the call of sanctuary/proof_commitment that commits to what was agreed in a session of yours: external.commitment_payload, for you to make.",
				"It needs the bridge to be enabled. Both parties make the same, whenever they ask."),
			takes: []param{sessionParam, tokenParam},
			gives: with(calls, param{name: "value_hash", kind: hash, text: "of arguments.value, as it has to be handed over"}, param{name: "resource", kind: text, text: "the exact call"}),
			do:    bridgeCommit,
		},
		{
			name: "concordia_sanctuary_bridge_attest", title: "Make records of reputation for Sanctuary", reads: true, repeats: true,
			text: lines("Makes the calls of sanctuary/reputation_record for a receipt that all parties signed and in which you dealt: external.reputation_payloads, for you to make.",
				"One for each counterparty, and all in your name. It needs the bridge to be enabled, and a mapping of yours."),
			takes: []param{self, tokenParam, {name: "attestation", kind: object, text: "the receipt"}, {name: "session_id", kind: id, text: "in place of attestation: the session whose receipt it is"}},
			gives: calls,
			do:    bridgeAttest,
		},
		{
			name: "concordia_sanctuary_bridge_status", title: "Look at the bridge to Sanctuary", reads: true, repeats: true,
			text:  "Says how your bridge to Sanctuary is configured.",
			gives: with(config, param{name: "identity_mappings", kind: object, must: true, text: "by agent id"}),
			do: func(ctx context.Context, c *call) (wire.M, error) {
				b, err := c.api.Bridge(ctx)
				if err != nil {
					return nil, err
				}
				r, mappings := bridge(b), wire.M{}
				for _, i := range b.Identities {
					m := wire.M{"sanctuary_id": i.Sanctuary, "did": nil}
					if i.DID != "" {
						m["did"] = i.DID
					}
					mappings[string(i.Agent)] = m
				}
				r["identity_mappings"] = mappings
				return r, nil
			},
		},
	}
}

// bridge is a configuration as results have it.
func bridge(b node.BridgeConfig) wire.M {
	return wire.M{
		"enabled": b.Enabled, "identity_count": len(b.Identities), "default_context": b.Context, "commitment_on_agree": b.Commit, "reputation_on_receipt": b.Record,
	}
}

func configureBridge(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	unless := func(name string) bool { return !c.args.Has(name) || c.yes(name) }
	b := node.BridgeConfig{
		Enabled: c.yes("enabled"), Context: c.text("default_context"), Commit: unless("commitment_on_agree"), Record: unless("reputation_on_receipt"),
	}
	if c.args.Has("identity_mappings") {
		for _, r := range c.args.Objects("identity_mappings") {
			r = r.WithoutNulls()
			r.Closed("agent_id", "sanctuary_id", "did")
			b.Identities = append(b.Identities, node.Identity{Agent: wire.ReadID[wire.AgentID](r, "agent_id"), Sanctuary: r.OptText("sanctuary_id"), DID: r.OptText("did")})
		}
	}
	if err := c.args.Err(); err != nil {
		return nil, err
	}
	b, err := c.api.ConfigureBridge(ctx, b)
	if err != nil {
		return nil, err
	}
	r := bridge(b)
	r["message"] = "The bridge is off."
	if b.Enabled {
		r["message"] = "The bridge is on. concordia_sanctuary_bridge_commit and concordia_sanctuary_bridge_attest make calls for you to hand to Sanctuary; nothing is sent."
	}
	return r, nil
}

// exact shows a value as it is, for it is to be handed over, or else not at all: if it is
// larger than what may be shown, or has something in it that cannot be seen.
func (e *external) exact(name string, v wire.Value) bool {
	text := v.Canonical()
	if strings.ContainsFunc(text, func(r rune) bool { return !isShown(r) }) || !e.spend(len(text)) {
		e.truncated = true
		return false
	}
	e.members[name] = v
	return true
}

func bridgeCommit(ctx context.Context, c *call) (wire.M, error) {
	calls, err := c.api.Commitment(ctx, c.session())
	if err != nil {
		return nil, err
	}
	made, words := calls.Commitment, newExternal()
	r := wire.M{"session_id": c.session(), "sanctuary_enabled": made.Kind() != wire.Absent, "reputation_payload_count": 0, "exact": true}
	if made.Kind() == wire.Absent {
		r["skipped_reason"], r["message"] = calls.Skipped, "Nothing was made."
		return r, nil
	}
	value, _ := made.At("arguments", "value")
	r["value_hash"], r["resource"] = wire.HashOf(value.Text()), resourceOf(c.session(), commitment)
	r["message"] = "Make the call external.commitment_payload of Sanctuary: tool, with arguments. Its value holds words of the other party."
	if r["exact"] = words.exact("commitment_payload", made.Without("raw_value")); r["exact"] == false {
		r["message"] = "The call is too large to be shown, or has characters in it that cannot be seen. Take it from resource, exactly."
	}
	return words.into(r), nil
}

func bridgeAttest(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	receipt := c.value("attestation")
	switch given := c.args.Has("attestation"); {
	case given == c.args.Has("session_id"):
		return nil, refuse("/attestation", "give one of attestation and session_id")
	case !given:
		list, err := c.api.Receipts(ctx, c.session())
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, refuse("/session_id", "the session has no receipt yet that all parties signed")
		}
		receipt = list[len(list)-1]
	}
	calls, err := c.api.Recording(ctx, receipt)
	if err != nil {
		return nil, err
	}
	count := len(calls.Records)
	r, words := wire.M{"session_id": calls.Session, "sanctuary_enabled": count > 0, "reputation_payload_count": count, "exact": true}, newExternal()
	if count == 0 {
		r["skipped_reason"], r["message"] = calls.Skipped, "Nothing was made."
		return r, nil
	}
	all, err := wire.Encode(calls.Records)
	if err != nil {
		return nil, err
	}
	r["message"] = "Make the calls external.reputation_payloads of Sanctuary: tool, with arguments."
	if r["exact"] = words.exact("reputation_payloads", all); r["exact"] == false {
		r["message"] = "The calls are too large to be shown."
	}
	return words.into(r), nil
}
