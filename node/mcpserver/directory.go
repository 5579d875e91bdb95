package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// listedTimes are the instants of a listing.
var listedTimes = []string{"registered_at", "last_seen", "expires_at"}

func directoryTools() []*tool {
	about := param{name: "agent_id", kind: id, must: true}
	times := []param{{name: "registered_at", kind: text}, {name: "last_seen", kind: text}, {name: "expires_at", kind: text}}
	return []*tool{
		tool{
			name: "concordia_register_agent", title: "Be listed in the directory", repeats: true,
			text: lines("Lists you in the directory of the market of your relay, for all who are registered there to find, or again with what you say now; what you leave out is taken back.",
				"Nothing of it is signed: agent_profile_publish is for what others can verify."),
			takes: []param{
				ownerParam, tokenParam,
				{name: "roles", kind: texts, text: "as buyer, seller"}, {name: "categories", kind: texts, text: "as electronics.cameras; none: all"},
				{name: "resolution_mechanisms", kind: texts, text: "as split"}, {name: "max_concurrent_sessions", kind: integer, least: 1},
				{name: "endpoint", kind: text, text: "https URL"}, {name: "description", kind: text},
			},
			gives: []param{{name: "registered", kind: yes, must: true}, {name: "agent", kind: object, must: true}, {name: "concordia_preferred", kind: yes, must: true}, {name: "message", kind: text, must: true}},
		}.market("agent_id", registerAgent),
		tool{
			name: "concordia_search_agents", title: "Search the directory", reads: true, repeats: true,
			text: "Lists agents by what they say they do, in the order of their ids. All of it is unsigned.",
			takes: []param{{name: "category", kind: text, text: "one that they name, above or below it; who names none has all"}, {name: "role", kind: text}, {name: "resolution_mechanism", kind: text}, limitParam,
				{name: "after", kind: id, text: "only those behind this agent: the after of the last result"}},
			gives: []param{{name: "count", kind: integer, must: true}, {name: "agents", kind: objects, must: true}, {name: "filters", kind: object, must: true}, {name: "after", kind: id, text: "there are more: for the next call"}},
		}.market("", searchAgents),
		tool{
			name: "concordia_agent_card", title: "Get the card of an agent", reads: true, repeats: true,
			text:  "Shows what an agent is listed with, as the part of an A2A card that tells of Concordia.",
			takes: []param{about}, gives: []param{{name: "agent_id", kind: id, must: true}, {name: "found", kind: yes, must: true}, {name: "concordia_preferred", kind: yes}},
		}.market("", agentCard),
		tool{
			name: "concordia_preferred_badge", title: "Get the badge of an agent", reads: true, repeats: true,
			text:  "Says whether an agent is listed. It proves nothing about the agent.",
			takes: []param{about}, gives: append([]param{{name: "agent_id", kind: id, must: true}, {name: "found", kind: yes, must: true}, {name: "badge", kind: object}}, times...),
		}.market("", badge),
		tool{
			name: "concordia_deregister_agent", title: "Be listed no more", repeats: true, text: "Takes you out of the directory.",
			takes: []param{ownerParam, tokenParam}, gives: []param{{name: "removed", kind: yes, must: true}, {name: "agent_id", kind: id, must: true}, {name: "message", kind: text, must: true}},
		}.market("agent_id", deregisterAgent),
	}
}

// times copies instants of what a market says into a result.
func times(r wire.M, v wire.Value, names ...string) {
	for _, name := range names {
		said, _ := v.Get(name)
		if t, err := wire.ParseTime(said.Text()); err == nil {
			r[name] = wire.FormatTime(t)
		}
	}
}

func registerAgent(ctx context.Context, c *call, s *stall) (wire.M, error) {
	given := c.members("roles", "categories", "resolution_mechanisms", "max_concurrent_sessions", "endpoint", "description")
	if err := market.CheckListing(wire.Read(given, "", ruleArguments)); err != nil {
		return nil, err
	}
	request := wire.M{}
	for name, v := range given.Members() {
		request[name] = v
	}
	v, err := s.List(ctx, request)
	if err != nil {
		return nil, err
	}
	capabilities := wire.M{"protocol": "concordia", "version": wire.ProtocolVersion, "roles": []string{}, "categories": []string{}, "resolution_mechanisms": []string{}}
	agent := wire.M{"agent_id": s.self.Agent, "public_key": s.self.Key, "capabilities": capabilities, "concordia_preferred": true}
	for name, v := range given.Members() {
		if name == "endpoint" || name == "description" {
			agent[name] = v
		} else {
			capabilities[name] = v
		}
	}
	times(agent, v, listedTimes...)
	return wire.M{"registered": true, "agent": agent, "concordia_preferred": true, "message": "Others find you with concordia_search_agents, until expires_at."}, nil
}

func searchAgents(ctx context.Context, c *call, s *stall) (wire.M, error) {
	filters := c.members("category", "role", "resolution_mechanism")
	if err := checkCategory("/category", c.text("category")); err != nil {
		return nil, err
	}
	by := wire.M{}
	for name, v := range filters.Members() {
		by[name] = v
	}
	after, limit := wire.AgentID(c.text("after")), int(c.int("limit", defaultListed))
	var found []wire.Value
	for page := 0; page == 0 || after != "" && len(found) < limit && page < maxPages; page++ {
		if after != "" {
			by["after"] = after
		}
		list, next, err := s.Agents(ctx, by)
		if err != nil {
			return nil, err
		}
		found, after = append(found, list...), next
	}
	if len(found) > limit {
		found = found[:limit]
		last, _ := found[limit-1].Get("agent_id")
		after = wire.AgentID(last.Text())
	}
	words, all := newExternal(), []any{}
	for i, v := range found {
		agent, _ := v.Get("agent_id")
		r := wire.M{"agent_id": agent}
		times(r, v, listedTimes...)
		all = append(all, r)
		words.part(v.Only("capabilities", "endpoint", "description"), len(found)-i, agent.Text(), "agents")
	}
	r := wire.M{"count": len(all), "agents": all, "filters": filters}
	if after != "" {
		r["after"] = after
	}
	return words.into(r), nil
}

// listing returns what an agent is listed with; false: it is not.
func (c *call) listing(ctx context.Context, s *stall) (wire.Value, bool, error) {
	v, err := s.Agent(ctx, wire.AgentID(c.text("agent_id")))
	if isRefused(err, node.CodeNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}

func agentCard(ctx context.Context, c *call, s *stall) (wire.M, error) {
	r := wire.M{"agent_id": c.text("agent_id"), "found": false}
	v, found, err := c.listing(ctx, s)
	if err != nil || !found {
		return r, err
	}
	capabilities, _ := v.Get("capabilities")
	card := wire.M{
		"name": c.text("agent_id"), "concordia_preferred": true,
		"capabilities": wire.M{"extensions": []any{wire.M{"uri": a2a.ExtensionURI, "required": false, "params": capabilities}}},
	}
	for from, to := range map[string]string{"description": "description", "endpoint": "url"} {
		if said, has := v.Get(from); has {
			card[to] = said
		}
	}
	shown, err := wire.Encode(card)
	if err != nil {
		return nil, err
	}
	words := newExternal()
	words.put("agent_card", shown)
	r["found"], r["concordia_preferred"] = true, true
	return words.into(r), nil
}

func badge(ctx context.Context, c *call, s *stall) (wire.M, error) {
	r := wire.M{"agent_id": c.text("agent_id"), "found": false}
	v, found, err := c.listing(ctx, s)
	if err != nil || !found {
		return r, err
	}
	b := wire.M{"type": "concordia.preferred", "version": wire.ProtocolVersion, "agent_id": c.text("agent_id"), "registered": true, "signed": false, "verified": false}
	times(b, v, "registered_at", "expires_at")
	words := newExternal()
	capabilities, _ := v.Get("capabilities")
	words.put("capabilities", capabilities)
	r["found"], r["badge"] = true, b
	return words.into(r), nil
}

func deregisterAgent(ctx context.Context, _ *call, s *stall) (wire.M, error) {
	err := s.Unlist(ctx)
	r := wire.M{"removed": err == nil, "agent_id": s.self.Agent, "message": "You are not listed any more."}
	if isRefused(err, node.CodeNotFound) {
		r["message"] = "You were not listed."
		return r, nil
	}
	return r, err
}
