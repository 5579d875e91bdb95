package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

const defaultEntryTTL = 604800 // a week, in seconds

// maxOwn bounds the own entries of each kind whose matches one call looks up.
const maxOwn = 20

// Members of results about entries.
var (
	matchMembers = []param{
		{name: "match_count", kind: integer, must: true}, {name: "next", kind: text}, {name: "more", kind: yes, must: true, text: "there may be more matches"},
	}
	shownMembers = []param{
		{name: "found", kind: yes, must: true}, {name: "agent_id", kind: id}, {name: "number", kind: integer}, {name: "signed", kind: yes, text: "and the signature verified"},
		{name: "posted_at", kind: text}, {name: "expires_at", kind: text},
	}
)

func entryTools() (list []*tool) {
	for _, k := range []match.Kind{match.Want, match.Have} {
		name, other := singular(k), singular(k.Other())
		takes := []param{
			ownerParam, tokenParam,
			{name: "category", kind: text, must: true, text: "from the wide to the narrow, as electronics.cameras"},
			{name: "terms", kind: object, must: true, text: map[match.Kind]string{
				match.Want: `what you take, as {"price": {"max": 2500, "currency": "USD"}, "condition": {"min": "good"}, "color": {"enum": ["red", "black"]}, "model": {"value": "EOS R5", "match": "fuzzy"}}`,
				match.Have: `what you give, as {"price": {"min": 1800, "currency": "USD"}, "condition": {"value": "like_new"}, "model": {"value": "Canon EOS R5"}}`,
			}[k]},
			{name: "location", kind: object, text: `as {"coordinates": {"lat": 37.77, "lng": -122.42}, "within_km": 50}; everybody at the market reads it`},
			{name: "ttl", kind: integer, least: 1, most: int64(match.MaxTTL.Seconds()), text: "seconds for which it stands (604800); the market may allow no more"},
		}
		if k == match.Want {
			takes = append(takes, param{name: "notify", kind: yes, text: "whether concordia_wait tells of new matches (true)"})
		}
		takes = append(takes, param{name: "metadata", kind: object, text: "more, for others to read"}, param{name: idOf(k), kind: id, text: "of the new " + name + ": the same call with the same id happens once"})
		ids := []param{{name: idOf(k), kind: id, must: true}}
		list = append(list,
			tool{
				name: "concordia_post_" + name, title: "Post a " + name,
				text: lines("Posts a signed "+name+" at the market of your relay, for all who are registered there to read, and shows the best matches among what is there.",
					"It binds nobody. Say no more than you want strangers to know: a limit that you post is known."),
				takes: takes,
				gives: append(with(ids, matchMembers...), param{name: name, kind: object, must: true, text: "as you signed it"}, param{name: "number", kind: integer, must: true},
					param{name: "expires_at", kind: text, must: true}, param{name: "immediate_matches", kind: objects, must: true}, param{name: "message", kind: text, must: true}),
			}.market("agent_id", func(ctx context.Context, c *call, s *stall) (wire.M, error) { return postEntry(ctx, c, s, k) }),
			tool{
				name: "concordia_get_" + name, title: "Look at a " + name, reads: true, repeats: true,
				text: "Shows a " + name + " that stands at the market, with its terms.", takes: ids, gives: append(with(ids, shownMembers...), param{name: name, kind: object, text: "if it is yours: as you signed it"}),
			}.market("", func(ctx context.Context, c *call, s *stall) (wire.M, error) { return getEntry(ctx, c, s, k) }),
			tool{
				name: "concordia_withdraw_" + name, title: "Withdraw a " + name, repeats: true,
				text:  "Takes a " + name + " of yours back. Who has seen it has it still.",
				takes: with(ids, ownerParam, tokenParam), gives: with(ids, param{name: "withdrawn", kind: yes, must: true}, param{name: "message", kind: text, must: true}),
			}.market("agent_id", func(ctx context.Context, c *call, s *stall) (wire.M, error) { return withdrawEntry(ctx, c, s, k) }),
			tool{
				name: "concordia_search_" + plural(k), title: "Search " + plural(k), reads: true, repeats: true,
				text: "Lists the " + plural(k) + " of a category and those below it, the newest first. To know which ones fit, post a " + other + " of your own: they are compared for you.",
				takes: []param{{name: "category", kind: text, text: "without it: all"}, limitParam, {name: "agent_id", kind: id, text: "only of this agent"},
					{name: "before", kind: integer, least: 1, text: "only those with lower numbers: the before of the last result"}},
				gives: []param{{name: plural(k), kind: objects, must: true}, {name: "count", kind: integer, must: true}, {name: "before", kind: integer, text: "there are more: for the next call"},
					{name: "left_out", kind: integer, text: "how many the market showed that their agents did not sign, or that were not asked for"}},
			}.market("", func(ctx context.Context, c *call, s *stall) (wire.M, error) { return searchEntries(ctx, c, s, k) }),
		)
	}
	return append(list,
		tool{
			name: "concordia_find_matches", title: "Find matches", reads: true, repeats: true,
			text: lines("Shows what matches a want or a have of yours, the best first; without an id, all of yours. With after: what is new since, in the order in which it was posted.",
				"A match is a fit of what was posted, and binds nobody: open a session with concordia_open_session."),
			takes: []param{{name: "want_id", kind: id}, {name: "have_id", kind: id}, ownerParam, limitParam, {name: "after", kind: integer, text: "with an id: the next_after of an earlier result"}},
			gives: []param{{name: "matches", kind: objects, must: true}, {name: "count", kind: integer, must: true}, {name: "more", kind: yes, must: true}, {name: "next_after", kind: integer, text: "with an id: for after"}},
		}.market("agent_id", findMatches),
		tool{
			name: "concordia_want_registry_stats", title: "Count wants and haves", reads: true, repeats: true,
			text:  "Says how much there is at the market, as the market says.",
			gives: []param{{name: "active_wants", kind: integer, must: true}, {name: "active_haves", kind: integer, must: true}, {name: "listed_agents", kind: integer, must: true}, {name: "profiles", kind: integer, must: true}},
		}.market("", func(ctx context.Context, _ *call, s *stall) (wire.M, error) {
			n, err := s.Stats(ctx)
			return wire.M{"active_wants": n.Wants, "active_haves": n.Haves, "listed_agents": n.Listings, "profiles": n.Profiles}, err
		}),
	)
}

// postEntry signs an entry and posts it. Its id is known before, so that a call whose
// answer is lost can be made again.
func postEntry(ctx context.Context, c *call, s *stall, k match.Kind) (wire.M, error) {
	name := c.text(idOf(k))
	if name == "" {
		drawn, err := wire.NewID[string](singular(k)+"_", c.opts.Random)
		if err != nil {
			return nil, err
		}
		name = drawn
	}
	c.repeat = wire.M{idOf(k): name}
	about, err := wire.Encode(wire.M{"type": k, "id": name, "ttl": c.int("ttl", defaultEntryTTL)})
	if err != nil {
		return nil, err
	}
	for name, x := range c.value("terms").Members() {
		if x.Kind() != wire.Object {
			return nil, refuse(wire.Pointer("terms", name), `a term is an object with value, enum, min or max, as {"max": 2500, "currency": "USD"}`)
		}
	}
	draft := c.members("category", "terms", "location", "notify", "metadata")
	for member, v := range about.Members() {
		draft = draft.With(member, v)
	}
	signed, err := c.api.SignEntry(ctx, draft)
	if err != nil {
		return nil, err
	}
	own, err := match.Read(signed)
	if err != nil {
		return nil, err
	}
	p, err := s.Post(ctx, own)
	if isRefused(err, node.CodeTaken) {
		// The same call was made before, if what stands there is the same but for when.
		if stands, failed := s.Entry(ctx, own.ID); failed == nil && stands.Signed && s.is(stands.Agent) && undated(stands.Value()).Equal(undated(own.Value())) {
			own = stands.Entry
			p, err = s.Post(ctx, own)
		}
	}
	if err != nil {
		return nil, err
	}
	words := newExternal()
	best := pairs(own, p.Matches[:min(len(p.Matches), defaultListed)])
	r := wire.M{
		idOf(k): own.ID, singular(k): own.Value(), "number": p.Number, "expires_at": wire.FormatTime(p.Expires),
		"immediate_matches": matched(best, words), "match_count": len(p.Matches), "more": p.More || len(p.Matches) > defaultListed,
		"message": "Posted.",
	}
	if len(p.Matches) > 0 {
		r["next"] = "What they say is under external. To negotiate with one of them: concordia_open_session. For all matches: concordia_find_matches."
	} else {
		r["next"] = "Nothing matches yet. concordia_wait tells of new matches; concordia_find_matches shows them."
	}
	return words.into(r), nil
}

// undated is an entry but for when it was made.
func undated(v wire.Value) wire.Value { return v.Without("created_at").Without("signature") }

// matched is a list of matches as a result has it; what the others say goes to external.
func matched(list []pair, words *external) []any {
	all := []any{}
	for i, m := range list {
		a, b := m.own, m.Entry
		if a.Kind == match.Have {
			a, b = b, a
		}
		r := wire.M{
			"match_id": m.Match.ID, "want_id": a.ID, "have_id": b.ID, "want_agent_id": a.Agent, "have_agent_id": b.Agent,
			"score": m.Match.Score, "suggestion": match.Suggestion, "number": m.Number, "signed": m.Signed,
		}
		if !m.Match.Created.IsZero() {
			r["created_at"] = wire.FormatTime(m.Match.Created)
		}
		all = append(all, r)
		coming := 2 * (len(list) - i)
		words.part(said(m.Entry), coming, string(m.ID), plural(m.Kind))
		words.part(m.Match.Overlap, coming-1, m.Match.ID, "overlaps")
	}
	return all
}

// getEntry shows an entry. That there is none is an answer.
func getEntry(ctx context.Context, c *call, s *stall, k match.Kind) (wire.M, error) {
	name := c.text(idOf(k))
	none := wire.M{"found": false, idOf(k): name}
	if !strings.HasPrefix(name, singular(k)+"_") {
		return none, nil
	}
	e, err := s.Entry(ctx, match.ID(name))
	if isRefused(err, node.CodeNotFound) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	r := entry(e)
	r["found"] = true
	if e.Signed && s.is(e.Agent) {
		r[singular(k)] = e.Value()
		return r, nil
	}
	words := newExternal()
	words.put(singular(k), said(e.Entry))
	return words.into(r), nil
}

// entry is what is not in an agent's own words of an entry.
func entry(e market.Shown) wire.M {
	return wire.M{
		idOf(e.Kind): e.ID, "agent_id": e.Agent, "number": e.Number, "signed": e.Signed,
		"posted_at": wire.FormatTime(e.Posted.Posted), "expires_at": wire.FormatTime(e.Expires),
	}
}

func withdrawEntry(ctx context.Context, c *call, s *stall, k match.Kind) (wire.M, error) {
	name, err := c.entryID(k)
	if err != nil {
		return nil, err
	}
	if err := s.Withdraw(ctx, name); err != nil {
		return nil, err
	}
	return wire.M{idOf(k): name, "withdrawn": true, "message": "It is not found any more."}, nil
}

// entryID is the argument that names an entry of a kind.
func (c *call) entryID(k match.Kind) (match.ID, error) {
	name := c.text(idOf(k))
	if prefix := singular(k) + "_"; !strings.HasPrefix(name, prefix) {
		return "", refuse("/"+idOf(k), "the id of a %s begins with %s", singular(k), prefix)
	}
	return match.ID(name), nil
}

func searchEntries(ctx context.Context, c *call, s *stall, k match.Kind) (wire.M, error) {
	by := market.Search{Kind: k, Category: c.text("category"), Agent: wire.AgentID(c.text("agent_id")), Before: uint64(c.int("before", 0))}
	if err := checkCategory("/category", by.Category); err != nil {
		return nil, err
	}
	limit, leftOut := int(c.int("limit", defaultListed)), 0
	var found []market.Shown
	for page := 0; page == 0 || by.Before != 0 && len(found) < limit && page < maxPages; page++ {
		list, before, bad, err := s.Search(ctx, by)
		if err != nil {
			return nil, err
		}
		found, leftOut, by.Before = append(found, list...), leftOut+bad, before
	}
	if len(found) > limit {
		found = found[:limit]
		by.Before = found[limit-1].Number
	}
	words, all := newExternal(), []any{}
	for i, e := range found {
		all = append(all, entry(e))
		words.part(said(e.Entry), len(found)-i, string(e.ID), plural(k))
	}
	r := wire.M{plural(k): all, "count": len(all)}
	if by.Before != 0 {
		r["before"] = by.Before
	}
	if leftOut > 0 {
		r["left_out"] = leftOut
	}
	return words.into(r), nil
}

// checkCategory refuses an argument that is no category, if it is given.
func checkCategory(at, category string) error {
	if category != "" && match.CheckCategory(category) != nil {
		return refuse(at, "want a category: 1 to 8 words of a-z, 0-9, - and _, with dots between them")
	}
	return nil
}

// A pair is a match, with the own entry.
type pair struct {
	own *match.Entry
	market.Matched
}

func pairs(own *match.Entry, found []market.Matched) (list []pair) {
	for _, m := range found {
		list = append(list, pair{own, m})
	}
	return list
}

// own returns an entry of the agent, which it has signed: what is compared with others
// has to be its own word.
func (s *stall) own(ctx context.Context, name match.ID) (*match.Entry, error) {
	e, err := s.Entry(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case !s.is(e.Agent):
		return nil, &node.Error{Code: node.CodeNotFound, Message: "that is another agent's: what matches an entry only its owner sees"}
	case !e.Signed:
		return nil, refuse("", "the market shows it without your signature: withdraw it, and post it again")
	}
	return e.Entry, nil
}

// matches returns what matches an own entry from a number on, as far as one call looks.
func (s *stall) matches(ctx context.Context, own *match.Entry, after uint64) (list []pair, next uint64, more bool, err error) {
	next, more = after, true
	for page := 0; more && page < maxPages; page++ {
		var found []market.Matched
		if found, next, more, err = s.Matches(ctx, own, next); err != nil {
			return nil, 0, false, err
		}
		list = append(list, pairs(own, found)...)
	}
	return list, next, more, nil
}

// ownEntries returns the newest entries of the agent, of both kinds.
func (s *stall) ownEntries(ctx context.Context) (list []*match.Entry, more bool, err error) {
	for _, k := range []match.Kind{match.Want, match.Have} {
		found, before, _, err := s.Search(ctx, market.Search{Kind: k, Agent: s.self.Agent})
		if err != nil {
			return nil, false, err
		}
		more = more || before != 0 || len(found) > maxOwn
		for _, e := range found[:min(len(found), maxOwn)] {
			if e.Signed {
				list = append(list, e.Entry)
			}
		}
	}
	return list, more, nil
}

func findMatches(ctx context.Context, c *call, s *stall) (wire.M, error) {
	var all []pair
	var next uint64
	more, one := false, c.args.Has("want_id") || c.args.Has("have_id")
	limit := int(c.int("limit", defaultListed))
	switch {
	case c.args.Has("want_id") && c.args.Has("have_id"):
		return nil, refuse("/have_id", "give want_id or have_id, not both")
	case c.args.Has("after") && !one:
		return nil, refuse("/after", "after goes with want_id or have_id: each has matches of its own")
	case one:
		k := match.Want
		if c.args.Has("have_id") {
			k = match.Have
		}
		name, err := c.entryID(k)
		if err != nil {
			return nil, err
		}
		own, err := s.own(ctx, name)
		if err != nil {
			return nil, err
		}
		if all, next, more, err = s.matches(ctx, own, uint64(c.int("after", 0))); err != nil {
			return nil, err
		}
	default:
		entries, some, err := s.ownEntries(ctx)
		if err != nil {
			return nil, err
		}
		more = some
		for _, own := range entries {
			list, _, cut, err := s.matches(ctx, own, 0)
			if err != nil {
				return nil, err
			}
			all, more = append(all, list...), more || cut
		}
	}
	if !c.args.Has("after") {
		slices.SortStableFunc(all, func(p, q pair) int { return cmp.Compare(q.Match.Score, p.Match.Score) })
	}
	if len(all) > limit {
		all, more = all[:limit], true
		if c.args.Has("after") {
			next = all[limit-1].Number
		}
	}
	words := newExternal()
	r := wire.M{"matches": matched(all, words), "count": len(all), "more": more}
	if one {
		r["next_after"] = next
	}
	return words.into(r), nil
}
