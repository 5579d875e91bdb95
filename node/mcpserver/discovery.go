package mcpserver

import (
	"cmp"
	"context"
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// noClaims is why a search cannot be narrowed by scores and tiers in profiles.
const noClaims = "agents are not chosen by what they say of themselves"

func discoveryTools() []*tool {
	return []*tool{
		tool{
			name: "agent_discovery_search", title: "Search profiles", reads: true, repeats: true,
			text: lines("Lists agents by the profiles that they have signed. Who has agreed with you before comes first, then whom your owner knows, then by how many of the categories asked for they name.",
				"What a profile says of scores and counts is no reason to rank it."),
			takes: []param{
				{name: "categories", kind: texts, text: "one of these, above or below it; who names none has all"},
				{name: "offer_types_required", kind: texts, text: "all of these"}, {name: "jurisdictions", kind: texts, text: "one of these"},
				{name: "concordia_preferred", kind: yes}, limitParam,
				{name: "sort_by", kind: text, idle: true, text: "ignored: the order is as said above"},
				{name: "min_reputation_composite", kind: integer, idle: true, text: "leave it out: " + noClaims}, {name: "min_sovereignty_tier", kind: text, idle: true, text: "leave it out, as min_reputation_composite"},
			},
			gives: []param{{name: "count", kind: integer, must: true}, {name: "results", kind: objects, must: true}, {name: "filters", kind: object, must: true}, {name: "more", kind: yes, must: true},
				{name: "left_out", kind: integer, text: "how many the market showed that their agents did not sign"}},
		}.market("", searchProfiles),
		tool{
			name: "agent_discovery_recommend", title: "Recommend counterparties", reads: true, repeats: true,
			text: lines("Says with whom to negotiate about a want of yours: those whose haves match it. Who has agreed with you before comes first, then whom your owner knows, then who has signed the have, then by the score of the match.",
				"What they say of themselves does not count."),
			takes: []param{{name: "want_id", kind: id, must: true}, limitParam},
			gives: []param{{name: "want_id", kind: id, must: true}, {name: "want_category", kind: text, must: true}, {name: "count", kind: integer, must: true}, {name: "recommendations", kind: objects, must: true}, {name: "more", kind: yes, must: true}},
		}.market("", recommend),
	}
}

// A candidate is an agent with its profile, and how well that fits what was asked for.
type candidate struct {
	market.Profile
	fit float64
}

func searchProfiles(ctx context.Context, c *call, s *stall) (wire.M, error) {
	categories, types, places := c.texts("categories"), c.texts("offer_types_required"), c.texts("jurisdictions")
	for _, claim := range []string{"min_reputation_composite", "min_sovereignty_tier"} {
		if c.args.Has(claim) {
			return nil, refuse("/"+claim, "%s: leave %s out, and ask concordia_reputation_score about those whom you find", noClaims, claim)
		}
	}
	for _, category := range categories {
		if err := checkCategory("/categories", category); err != nil {
			return nil, err
		}
	}
	by := wire.M{} // as far as the market can tell
	if len(categories) == 1 {
		by["category"] = categories[0]
	}
	if len(types) > 0 {
		by["offer_type"] = types[0]
	}
	known, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	var found []candidate
	leftOut, after := 0, wire.AgentID("")
	for page := 0; page == 0 || after != "" && page < maxPages; page++ {
		if after != "" {
			by["after"] = after
		}
		list, next, bad, err := s.Profiles(ctx, by)
		if err != nil {
			return nil, err
		}
		leftOut, after = leftOut+bad, next
		for _, p := range list {
			fit := covered(p.AgentProfile, categories)
			preferred, _ := p.Signed().At("trust_signals", "concordia_preferred")
			switch {
			case s.is(p.Agent) || fit == 0 || !containsAll(p.OfferTypes, types) || len(places) > 0 && !containsAny(jurisdictions(p.AgentProfile), places):
			case c.args.Has("concordia_preferred") && c.yes("concordia_preferred") != preferred.Bool():
			default:
				found = append(found, candidate{p, fit})
			}
		}
	}
	slices.SortStableFunc(found, func(p, q candidate) int {
		return cmp.Or(known.compare(p.Agent, q.Agent), cmp.Compare(q.fit, p.fit), cmp.Compare(p.Agent, q.Agent))
	})
	limit := int(c.int("limit", defaultListed))
	more := after != "" || len(found) > limit
	found = found[:min(len(found), limit)]
	words, all := newExternal(), []any{}
	for i, p := range found {
		r := profile(p.Profile)
		for name, x := range known.about(p.Agent) {
			r[name] = x
		}
		r["match_score"] = p.fit
		all = append(all, r)
		words.part(p.Signed(), len(found)-i, string(wire.PlainDIDKey(p.Agent)), "profiles")
	}
	r := wire.M{
		"count": len(all), "results": all, "more": more,
		"filters": c.members("categories", "offer_types_required", "jurisdictions", "concordia_preferred"),
	}
	if leftOut > 0 {
		r["left_out"] = leftOut
	}
	return words.into(r), nil
}

// covered is the share of the categories asked for that a profile names, or that are
// above or below one that it names; a half if it names none, which stands for all.
func covered(p *attest.AgentProfile, asked []string) float64 {
	if len(asked) == 0 {
		return 1
	}
	if len(p.Categories) == 0 {
		return 0.5
	}
	n := 0
	for _, a := range asked {
		if slices.ContainsFunc(p.Categories, func(own string) bool {
			return match.CheckCategory(own) == nil && (match.Within(own, a) || match.Within(a, own))
		}) {
			n++
		}
	}
	return float64(n) / float64(len(asked))
}

func jurisdictions(p *attest.AgentProfile) (list []string) {
	v, _ := p.Signed().At("location", "jurisdictions")
	for _, e := range v.Elems() {
		list = append(list, e.Text())
	}
	return list
}

func containsAll(list, asked []string) bool {
	return !slices.ContainsFunc(asked, func(s string) bool { return !slices.Contains(list, s) })
}

func containsAny(list, asked []string) bool {
	return slices.ContainsFunc(asked, func(s string) bool { return slices.Contains(list, s) })
}

// recommend ranks those whose haves match a want. What they prove decides, and not what
// they say: a profile is shown with it.
func recommend(ctx context.Context, c *call, s *stall) (wire.M, error) {
	name, err := c.entryID(match.Want)
	if err != nil {
		return nil, err
	}
	own, err := s.own(ctx, name)
	if err != nil {
		return nil, err
	}
	list, _, more, err := s.matches(ctx, own, 0)
	if err != nil {
		return nil, err
	}
	known, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	signedFirst := func(p, q pair) int {
		switch {
		case p.Signed == q.Signed:
			return 0
		case p.Signed:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(list, func(p, q pair) int {
		return cmp.Or(known.compare(p.Agent, q.Agent), signedFirst(p, q), cmp.Compare(q.Match.Score, p.Match.Score), cmp.Compare(p.ID, q.ID))
	})
	var best []pair // of each agent
	seen, limit := map[wire.AgentID]bool{}, int(c.int("limit", defaultListed))
	for _, p := range list {
		if agent := wire.PlainDIDKey(p.Agent); !seen[agent] {
			seen[agent] = true
			best = append(best, p)
		}
	}
	if len(best) > limit {
		best, more = best[:limit], true
	}
	words := newExternal()
	words.left /= 2
	all := matched(best, words)
	words.left += maxShown / 2
	for i, p := range best {
		r := all[i].(wire.M)
		for name, x := range known.about(p.Agent) {
			r[name] = x
		}
		shown, err := s.Profile(ctx, p.Agent)
		switch {
		case isRefused(err, node.CodeNotFound):
			r["has_profile"] = false
			continue
		case err != nil:
			return nil, err
		case shown.Report.Outcome() == wire.Failed:
			return nil, market.ErrMisconduct
		}
		r["has_profile"], r["profile_verified"] = true, shown.Report.Outcome() == wire.Passed
		words.part(shown.Signed(), len(best)-i, string(wire.PlainDIDKey(p.Agent)), "profiles")
	}
	return words.into(wire.M{"want_id": own.ID, "want_category": own.Category, "count": len(all), "recommendations": all, "more": more}), nil
}
