package market

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A Caller asks a relay: a [relay.Client].
type Caller interface {
	Call(ctx context.Context, op string, request wire.M) (wire.Value, error)
}

// A Client is an agent's end of a market (RFC 0004). It believes the market nothing that
// somebody else has signed: signatures are verified, and matches compared anew. What a
// market refuses is a [*relay.Error].
type Client struct {
	Relay Caller
	Keys  wire.Keys        // of the other agents
	Now   func() time.Time // the clock
}

// Shown is an entry as the market shows it. Who it is from is the market's word unless it
// is Signed.
type Shown struct {
	*match.Posted
	Signed bool // and the signature verified
}

// ErrMisconduct is what the market did that shows what cannot be: what its agent did not
// sign, a match that is none, or what was not asked for.
var ErrMisconduct = errors.New("the market misbehaves")

func misconduct(op string, err error) error {
	return fmt.Errorf("calling %s: %w: %w", op, ErrMisconduct, err)
}

var (
	errOtherEntry = errors.New("it shows another than was asked for")
	errMatch      = errors.New("it shows a match that is none, or is another")
	errOrder      = errors.New("what it shows is out of order")
)

// shown reads an entry. One whose signature is not its agent's is an error; one whose
// agent's key is not known counts as not signed.
func (c *Client) shown(r wire.Reader) (Shown, error) {
	p := &match.Posted{Number: uint64(r.Int("number", 1, wire.MaxSafeInteger)), Posted: r.Time("posted_at"), Expires: r.Time("expires_at")}
	v := r.Object("entry").Whole()
	if err := r.Err(); err != nil {
		return Shown{}, err
	}
	signed, err := c.read(p, v)
	return Shown{p, signed}, err
}

func (c *Client) read(p *match.Posted, v wire.Value) (signed bool, err error) {
	if p.Entry, err = match.Read(v); err != nil {
		return false, err
	}
	if _, has := v.Get("signature"); !has {
		return false, nil
	}
	err = p.Verify(c.Keys)
	if errors.Is(err, wire.RuleUnknownKey) {
		return false, nil
	}
	return err == nil, err
}

// A Post is what became of an entry that was posted.
type Post struct {
	Number  uint64
	Posted  time.Time
	Expires time.Time
	Matches []Matched // the best
	More    bool      // there may be more matches: ask for them
}

// A Matched is an entry that matches an own one.
type Matched struct {
	Number uint64
	Match  *match.Match
	Shown  // its times are not told
}

// Post posts an entry of the agent. The same again is no harm.
func (c *Client) Post(ctx context.Context, own *match.Entry) (*Post, error) {
	v, err := c.Relay.Call(ctx, "market_post", wire.M{"entry": own.Value()})
	if err != nil {
		return nil, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	p := &Post{Number: uint64(r.Int("number", 1, wire.MaxSafeInteger)), Posted: r.Time("posted_at"), Expires: r.Time("expires_at"), More: r.Bool("more")}
	if p.Matches, err = c.matches(r, own); err != nil {
		return nil, misconduct("market_post", err)
	}
	return p, nil
}

// matches reads matches of an own entry, and compares them anew.
func (c *Client) matches(r wire.Reader, own *match.Entry) (list []Matched, err error) {
	for _, mr := range r.Objects("matches") {
		m := Matched{Number: uint64(mr.Int("number", 1, wire.MaxSafeInteger)), Shown: Shown{Posted: new(match.Posted)}}
		told, other := mr.Object("match").Whole(), mr.Object("entry").Whole()
		if err := r.Err(); err != nil {
			return nil, err
		}
		if m.Match, err = match.ReadMatch(told); err != nil {
			return nil, err
		}
		if m.Signed, err = c.read(m.Shown.Posted, other); err != nil {
			return nil, err
		}
		anew := match.Between(own, m.Entry)
		if anew == nil || anew.ID != m.Match.ID || anew.Score != m.Match.Score || !anew.Overlap.Equal(m.Match.Overlap) {
			return nil, errMatch
		}
		list = append(list, m)
	}
	return list, r.Err()
}

// Withdraw takes an entry of the agent back.
func (c *Client) Withdraw(ctx context.Context, id match.ID) error {
	_, err := c.Relay.Call(ctx, "market_withdraw", wire.M{"id": id})
	return err
}

// Entry returns an entry that stands.
func (c *Client) Entry(ctx context.Context, id match.ID) (Shown, error) {
	v, err := c.Relay.Call(ctx, "market_entry", wire.M{"id": id})
	if err != nil {
		return Shown{}, err
	}
	s, err := c.shown(wire.Read(v, "", relay.RuleAnswer))
	if err == nil && s.ID != id {
		err = errOtherEntry
	}
	if err != nil {
		return Shown{}, misconduct("market_entry", err)
	}
	return s, nil
}

// A Search says which entries are looked for.
type Search struct {
	Kind     match.Kind
	Category string       // "": all
	Agent    wire.AgentID // "": of all
	Before   uint64       // only lower numbers; 0: from the newest on
}

// Search returns up to 100 entries, the newest first, and the Before of a search that
// goes on, 0 if there are no more. How many were left out because they were no entries
// that were asked for, or their signatures broken, says refused.
func (c *Client) Search(ctx context.Context, s Search) (list []Shown, before uint64, refused int, err error) {
	request := wire.M{"type": s.Kind}
	if s.Category != "" {
		request["category"] = s.Category
	}
	if s.Agent != "" {
		request["agent_id"] = s.Agent
	}
	if s.Before != 0 {
		request["before"] = s.Before
	}
	v, err := c.Relay.Call(ctx, "market_search", request)
	if err != nil {
		return nil, 0, 0, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	before = uint64(r.OptInt("before", 1, wire.MaxSafeInteger, 0))
	last := s.Before
	for _, e := range r.Array("entries").Elems() {
		shown, err := c.shown(wire.Read(e, "", relay.RuleAnswer))
		switch {
		case err == nil && last != 0 && shown.Number >= last:
			return nil, 0, 0, misconduct("market_search", errOrder)
		case err != nil || shown.Kind != s.Kind || s.Category != "" && !match.Within(shown.Category, s.Category) ||
			s.Agent != "" && wire.PlainDIDKey(shown.Agent) != wire.PlainDIDKey(s.Agent):
			refused++
			continue
		}
		last = shown.Number
		list = append(list, shown)
	}
	if before != 0 && (s.Before != 0 && before >= s.Before || last != 0 && before > last) {
		return nil, 0, 0, misconduct("market_search", errOrder)
	}
	return list, before, refused, r.Err()
}

// Matches returns what matches an own entry and has a number greater than after, up to 100
// in the order of their numbers; after which number to go on; and whether there may be
// more now.
func (c *Client) Matches(ctx context.Context, own *match.Entry, after uint64) (list []Matched, next uint64, more bool, err error) {
	v, err := c.Relay.Call(ctx, "market_matches", wire.M{"id": own.ID, "after": after})
	if err != nil {
		return nil, 0, false, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	next, more = uint64(r.Int("next", 0, wire.MaxSafeInteger)), r.Bool("more")
	list, err = c.matches(r, own)
	if err == nil && (next < after || more && next == after) {
		err = errOrder
	}
	last := after
	for _, m := range list {
		if m.Number <= last {
			err = errOrder
		}
		last = m.Number
	}
	if err != nil {
		return nil, 0, false, misconduct("market_matches", err)
	}
	return list, next, more, nil
}

// List lists the agent in the directory, or again with other members: those of market_list
// in RFC 0004. It returns what others see.
func (c *Client) List(ctx context.Context, members wire.M) (wire.Value, error) {
	return c.Relay.Call(ctx, "market_list", members)
}

// Unlist takes the agent out of the directory.
func (c *Client) Unlist(ctx context.Context) error {
	_, err := c.Relay.Call(ctx, "market_unlist", wire.M{})
	return err
}

// Agents searches the directory by the members of market_agents in RFC 0004. It returns
// listings, which are the word of the market, and behind whom to go on, "" if there are
// no more.
func (c *Client) Agents(ctx context.Context, by wire.M) (list []wire.Value, after wire.AgentID, err error) {
	return c.page(ctx, "market_agents", "agents", by, func(v wire.Value) error {
		r := wire.Read(v, "", relay.RuleAnswer)
		wire.ReadID[wire.AgentID](r, "agent_id")
		r.Object("capabilities")
		return r.Err()
	})
}

// page reads a page of objects that are in order.
func (c *Client) page(ctx context.Context, op, name string, by wire.M, check func(wire.Value) error) (list []wire.Value, after wire.AgentID, err error) {
	v, err := c.Relay.Call(ctx, op, by)
	if err != nil {
		return nil, "", err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	for _, e := range r.Array(name).Elems() {
		if err := check(e); err != nil {
			return nil, "", misconduct(op, err)
		}
		list = append(list, e)
	}
	after = wire.OptID[wire.AgentID](r, "after")
	if was, _ := by["after"].(wire.AgentID); r.Err() == nil && after != "" && after <= was {
		return nil, "", misconduct(op, errOrder)
	}
	return list, after, r.Err()
}

// Agent returns the listing of an agent, which is the word of the market.
func (c *Client) Agent(ctx context.Context, agent wire.AgentID) (wire.Value, error) {
	v, err := c.Relay.Call(ctx, "market_agent", wire.M{"agent_id": agent})
	if err != nil {
		return v, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	if id := wire.ReadID[wire.AgentID](r, "agent_id"); r.Err() == nil && wire.PlainDIDKey(id) != wire.PlainDIDKey(agent) {
		return wire.Value{}, misconduct("market_agent", errOtherEntry)
	}
	return v, r.Err()
}

// Publish publishes a signed profile of the agent.
func (c *Client) Publish(ctx context.Context, profile wire.Value) error {
	_, err := c.Relay.Call(ctx, "market_publish", wire.M{"profile": profile})
	return err
}

// Unpublish takes the agent's profile back.
func (c *Client) Unpublish(ctx context.Context) error {
	_, err := c.Relay.Call(ctx, "market_unpublish", wire.M{})
	return err
}

// Stats are how much there is at a market, as it says: what has expired and was not swept
// yet counts, too.
type Stats struct{ Wants, Haves, Listings, Profiles int64 }

// Stats asks how much there is.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	v, err := c.Relay.Call(ctx, "market_stats", wire.M{})
	if err != nil {
		return Stats{}, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	count := func(name string) int64 { return r.Int(name, 0, wire.MaxSafeInteger) }
	return Stats{count("wants"), count("haves"), count("listings"), count("profiles")}, r.Err()
}

// A Profile is one that the market shows, with what verifying it said. Nothing of it is
// the agent's word but what Signed returns, and that only if Report has no error.
type Profile struct {
	*attest.AgentProfile
	Report wire.Report
}

func (c *Client) profile(v wire.Value) Profile {
	p, report := attest.Verifier{Keys: c.Keys, Now: c.Now()}.VerifyProfile(v)
	return Profile{p, report}
}

// Profile returns the profile of an agent, verified.
func (c *Client) Profile(ctx context.Context, agent wire.AgentID) (Profile, error) {
	v, err := c.Relay.Call(ctx, "market_profile", wire.M{"agent_id": agent})
	if err != nil {
		return Profile{}, err
	}
	r := wire.Read(v, "", relay.RuleAnswer)
	p := c.profile(r.Object("profile").Whole())
	switch {
	case r.Err() != nil:
		return Profile{}, misconduct("market_profile", r.Err())
	case p.AgentProfile == nil:
		return Profile{}, misconduct("market_profile", p.Report.Err())
	case wire.PlainDIDKey(p.Agent) != wire.PlainDIDKey(agent):
		return Profile{}, misconduct("market_profile", errOtherEntry)
	}
	return p, nil
}

// Profiles searches profiles by the members of market_profiles in RFC 0004. Those whose
// signature is broken are left out; refused says how many.
func (c *Client) Profiles(ctx context.Context, by wire.M) (list []Profile, after wire.AgentID, refused int, err error) {
	values, after, err := c.page(ctx, "market_profiles", "profiles", by, func(wire.Value) error { return nil })
	for _, v := range values {
		p := c.profile(v)
		if p.AgentProfile == nil || p.Report.Outcome() == wire.Failed {
			refused++
			continue
		}
		list = append(list, p)
	}
	return list, after, refused, err
}
