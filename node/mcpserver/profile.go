package mcpserver

import (
	"context"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// profileParams are what an agent can say of itself in a profile, and where it stands there
// (SPEC §9.12).
var profileParams = []struct {
	param
	at string
}{
	{param{name: "name", kind: text, text: "yours; your id if it is left out"}, "name"},
	{param{name: "description", kind: text}, "description"},
	{param{name: "categories", kind: texts}, "capabilities.categories"},
	{param{name: "offer_types", kind: texts, text: "[\"basic\"] if it is left out"}, "capabilities.offer_types"},
	{param{name: "resolution_methods", kind: texts}, "capabilities.resolution_methods"},
	{param{name: "max_concurrent_sessions", kind: integer}, "capabilities.max_concurrent_sessions"},
	{param{name: "languages", kind: texts}, "capabilities.languages"},
	{param{name: "currencies", kind: texts}, "capabilities.currencies"},
	{param{name: "negotiation_style", kind: text}, "negotiation_profile.style"},
	{param{name: "avg_rounds_to_agreement", kind: number}, "negotiation_profile.avg_rounds_to_agreement"},
	{param{name: "agreement_rate", kind: number, text: "0 to 1"}, "negotiation_profile.agreement_rate"},
	{param{name: "avg_session_duration_seconds", kind: number}, "negotiation_profile.avg_session_duration_seconds"},
	{param{name: "verascore_composite", kind: number}, "trust_signals.verascore_composite"},
	{param{name: "verascore_tier", kind: text}, "trust_signals.verascore_tier"},
	{param{name: "verascore_did", kind: text}, "trust_signals.verascore_did"},
	{param{name: "concordia_sessions_completed", kind: integer}, "trust_signals.concordia_sessions_completed"},
	{param{name: "attestation_count", kind: integer}, "trust_signals.attestation_count"},
	{param{name: "concordia_preferred", kind: yes}, "trust_signals.concordia_preferred"},
	{param{name: "sovereignty_L1", kind: text}, "trust_signals.sovereignty.L1"},
	{param{name: "sovereignty_L2", kind: text}, "trust_signals.sovereignty.L2"},
	{param{name: "sovereignty_L3", kind: text}, "trust_signals.sovereignty.L3"},
	{param{name: "sovereignty_L4", kind: text}, "trust_signals.sovereignty.L4"},
	{param{name: "negotiate_endpoint", kind: text}, "endpoints.negotiate"},
	{param{name: "a2a_card_endpoint", kind: text}, "endpoints.a2a_card"},
	{param{name: "mcp_manifest_endpoint", kind: text}, "endpoints.mcp_manifest"},
	{param{name: "regions", kind: texts}, "location.regions"},
	{param{name: "jurisdictions", kind: texts}, "location.jurisdictions"},
	{param{name: "ttl", kind: integer, least: 1, most: 2592000, text: "seconds for which it stands (86400)"}, "ttl"},
}

func profileTools() []*tool {
	publish := []param{ownerParam, tokenParam}
	for _, p := range profileParams {
		publish = append(publish, p.param)
	}
	publish = append(publish, param{name: "signature", kind: text, idle: true, text: "ignored: the node signs"})
	return append([]*tool{
		tool{
			name: "agent_profile_publish", title: "Publish your profile", repeats: true,
			text: lines("Signs a profile of yours and publishes it at the market of your relay, in place of the one that was there; what you leave out is empty.",
				"All of it is your own word, for which you answer: figures that receipts do not bear out are seen through."),
			takes: publish,
			gives: []param{{name: "success", kind: yes, must: true}, {name: "profile", kind: object, must: true, text: "as you signed it"}, {name: "updated_at", kind: text, must: true}, {name: "message", kind: text, must: true}},
		}.market("agent_id", publishProfile),
		tool{
			name: "agent_profile_get", title: "Get the profile of an agent", reads: true, repeats: true,
			text:  "Shows what an agent has signed about itself. All of it is its own word, whatever it says of scores, tiers and counts.",
			takes: []param{{name: "agent_id", kind: id, must: true}},
			gives: append([]param{{name: "agent_id", kind: id, must: true}, {name: "found", kind: yes, must: true}}, profileMembers...),
		}.market("", getProfile),
	}, discoveryTools()...)
}

// profileMembers are what is known of a profile.
var profileMembers = []param{
	{name: "verified", kind: yes, text: "the agent has signed it; false: its key is not known"}, {name: "in_force", kind: yes, text: "its ttl has not passed"}, {name: "updated_at", kind: text},
}

func publishProfile(ctx context.Context, c *call, s *stall) (wire.M, error) {
	draft := wire.M{}
	for _, p := range profileParams {
		v := c.value(p.name)
		if v.Kind() == wire.Absent {
			continue
		}
		to, path := draft, strings.Split(p.at, ".")
		for _, name := range path[:len(path)-1] {
			below, ok := to[name].(wire.M)
			if !ok {
				below = wire.M{}
				to[name] = below
			}
			to = below
		}
		to[path[len(path)-1]] = v
	}
	v, err := wire.Encode(draft)
	if err != nil {
		return nil, err
	}
	if v, err = c.api.SignProfile(ctx, v); err != nil {
		return nil, err
	}
	if err := s.Publish(ctx, v); err != nil {
		return nil, err
	}
	r := wire.M{"success": true, "profile": v, "message": "Others find it with agent_profile_get and agent_discovery_search, until its ttl has passed."}
	times(r, v, "updated_at")
	return r, nil
}

// profile is what is known of a profile, beside what it says.
func profile(p market.Profile) wire.M {
	return wire.M{"verified": p.Report.Outcome() == wire.Passed, "in_force": passed(p.Report, "ttl"), "updated_at": wire.FormatTime(p.UpdatedAt)}
}

func getProfile(ctx context.Context, c *call, s *stall) (wire.M, error) {
	p, err := s.Profile(ctx, wire.AgentID(c.text("agent_id")))
	switch {
	case isRefused(err, node.CodeNotFound):
		return wire.M{"agent_id": c.text("agent_id"), "found": false}, nil
	case err != nil:
		return nil, err
	case p.Report.Outcome() == wire.Failed:
		return nil, market.ErrMisconduct // it verifies each before it takes it
	}
	r := profile(p)
	r["agent_id"], r["found"] = c.text("agent_id"), true
	words := newExternal()
	words.put("profile", p.Signed())
	return words.into(r), nil
}
