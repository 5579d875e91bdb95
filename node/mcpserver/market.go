package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/offer/match"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/market"
	"github.com/concordia-node/concordia/wire"
)

// Arguments of the tools of a market.
var (
	ownerParam = param{name: "agent_id", kind: id, text: "yours, if you want it checked"}
	limitParam = param{name: "limit", kind: integer, least: 1, most: maxListed, caps: true, text: "how many (20)"}
)

// Bounds of what a tool looks up at a market in one call.
const (
	maxListed     = 100
	defaultListed = 20
	maxPages      = 10 // of the market, with up to 100 entries each
)

// A caller has the node use the market of its home relay. It is a [market.Caller].
type caller struct{ api node.API }

// Call implements [market.Caller].
func (c caller) Call(ctx context.Context, op string, request wire.M) (wire.Value, error) {
	v, err := wire.Encode(request)
	if err != nil {
		return v, err
	}
	switch op {
	case "market_post", "market_withdraw", "market_list", "market_unlist", "market_publish", "market_unpublish":
		return c.api.ChangeMarket(ctx, op, v)
	}
	return c.api.AskMarket(ctx, op, v)
}

// A stall is where a call deals at the market: who the agent is, and the agent's end,
// which verifies what it is shown.
type stall struct {
	*market.Client
	self node.Self
}

// stall opens the market for a call, and refuses arguments that say that the agent is
// somebody else, by the name of the argument, "" if there is none.
func (c *call) stall(ctx context.Context, owner string) (*stall, error) {
	self, err := c.api.Self(ctx)
	if owner != "" && err == nil {
		self, err = c.checkSelf(ctx, owner)
	}
	if err != nil {
		return nil, err
	}
	others, err := c.verifier(ctx, "")
	if err != nil {
		return nil, err
	}
	own, err := wire.DecodePublicKey(self.Key)
	if err != nil {
		return nil, err
	}
	return &stall{&market.Client{Relay: caller{c.api}, Keys: wire.AnyKeys{wire.KeyMap{self.Agent: own}, others.Keys}, Now: c.opts.Now}, self}, nil
}

// is reports whether an agent is the one of this node.
func (s *stall) is(agent wire.AgentID) bool { return wire.PlainDIDKey(agent) == s.self.Agent }

// market makes a tool of one that deals at the market.
func (t tool) market(owner string, do func(ctx context.Context, c *call, s *stall) (wire.M, error)) *tool {
	t.do = func(ctx context.Context, c *call) (wire.M, error) {
		s, err := c.stall(ctx, owner)
		if err != nil {
			return nil, err
		}
		r, err := do(ctx, c, s)
		return r, marketed(err)
	}
	return &t
}

// marketed tells a market that misbehaves from one that refuses. What it shows is not
// repeated.
func marketed(err error) error {
	if _, byNode := errors.AsType[*node.Error](err); byNode {
		return err
	}
	if errors.Is(err, market.ErrMisconduct) || errors.Is(err, relay.RuleAnswer) {
		return &node.Error{Code: node.CodeMisconduct, Message: "the market shows what cannot be: what its agent did not sign, a match that is none, or what was not asked for. It is not believed: tell your owner"}
	}
	return err
}

// isRefused reports whether an error of the node has a code.
func isRefused(err error, code node.Code) bool {
	e, ok := errors.AsType[*node.Error](err)
	return ok && e.Code == code
}

// part shows a value under names within external, in a share of what may still be
// shown: of so many that are to come, none takes the room of the others.
func (e *external) part(v wire.Value, coming int, name string, under ...string) {
	m := e.members
	for _, n := range under {
		below, ok := m[n].(wire.M)
		if !ok {
			below = wire.M{}
			m[n] = below
		}
		m = below
	}
	left := e.left
	e.left = left / max(1, coming)
	was := e.left
	m[name] = e.show(v, 0)
	e.left += left - was
}

// plural is how results name entries of a kind.
func plural(k match.Kind) string { return singular(k) + "s" }

func singular(k match.Kind) string { return strings.TrimPrefix(string(k), "concordia.") }

// idOf is how arguments and results name the id of an entry of a kind.
func idOf(k match.Kind) string { return singular(k) + "_id" }

// said is what an agent says in an entry of its own words.
func said(e *match.Entry) wire.Value {
	return e.Value().Only("category", "terms", "location", "metadata")
}

// known says of agents what is proven about them here: how many sessions with them ended
// in an agreement whose receipt all have signed, and whether the owner knows them.
type known struct {
	agreements map[wire.AgentID]int
	contacts   map[wire.AgentID]bool
}

// maxLooked bounds the sessions that are looked at, a thousand each time.
const maxLooked = 10

func (c *call) known(ctx context.Context) (known, error) {
	k := known{map[wire.AgentID]int{}, map[wire.AgentID]bool{}}
	contacts, err := c.api.Contacts(ctx)
	if err != nil {
		return k, err
	}
	for _, x := range contacts {
		if x.Consent != node.Denied {
			k.contacts[wire.PlainDIDKey(x.Agent)] = true
		}
	}
	f := node.Filter{State: stateOf("agreed"), Most: node.MaxMost}
	for range maxLooked {
		list, err := c.api.Sessions(ctx, f)
		if err != nil {
			return k, err
		}
		for _, s := range list {
			f.After = s.Session
			if s.Receipt != node.ReceiptDone {
				continue
			}
			for _, p := range s.Parties {
				k.agreements[wire.PlainDIDKey(p)]++
			}
		}
		if len(list) < f.Most {
			break
		}
	}
	return k, nil
}

// about is what is known of an agent, as a result has it.
func (k known) about(agent wire.AgentID) wire.M {
	agent = wire.PlainDIDKey(agent)
	return wire.M{"agent_id": agent, "agreements_with_you": k.agreements[agent], "known_to_owner": k.contacts[agent]}
}

// compare orders agents: whoever has proven more comes first.
func (k known) compare(a, b wire.AgentID) int {
	a, b = wire.PlainDIDKey(a), wire.PlainDIDKey(b)
	if n := k.agreements[b] - k.agreements[a]; n != 0 {
		return n
	}
	switch {
	case k.contacts[a] == k.contacts[b]:
		return 0
	case k.contacts[a]:
		return -1
	}
	return 1
}
