package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func negotiateTools() []*tool {
	return []*tool{{
		name: "concordia_negotiate", title: "Negotiate",
		text: lines("Begins or goes on with a negotiation with one other party: says where it stands, what you may do, and what to do next.",
			"If there is none it opens one with the terms. It makes no offers and accepts none: you decide, with the other tools."),
		takes: []param{
			{name: "counterparty", kind: text, must: true, text: "agent id, or the name of a contact"},
			{name: "terms", kind: object, text: "to open with, as for concordia_open_session; needed if there is no negotiation yet"},
			{name: "strategy", kind: text, text: "your own notes; the other party never sees them, and nothing is kept"},
			{name: "category", kind: text, text: "what is traded, as electronics.cameras"},
		},
		gives: with(optional(viewMembers), param{name: "opened", kind: yes, must: true}, param{name: "sessions", kind: ids, text: "all live sessions with the counterparty"}),
		do:    negotiate,
	}}
}

func negotiate(ctx context.Context, c *call) (wire.M, error) {
	other, err := c.agent(ctx, "/counterparty", c.text("counterparty"))
	if err != nil {
		return nil, err
	}
	live, err := c.api.Sessions(ctx, node.Filter{With: other, Live: true})
	if err != nil {
		return nil, err
	}
	if len(live) > 0 {
		sessions := make([]wire.SessionID, len(live))
		for i, s := range live {
			sessions[i] = s.Session
		}
		v, err := c.api.Session(ctx, sessions[len(sessions)-1])
		if err != nil {
			return nil, err
		}
		r := c.view(v)
		r["opened"], r["sessions"] = false, sessions
		return r, nil
	}
	invitations, err := c.api.Invitations(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range invitations {
		if i.From == other {
			return wire.M{
				"opened": false, "session_id": i.Session, "state": string(invited), "legal_tools": []string{joinTool, declineTool},
				"next": "The counterparty invites you: look at it with concordia_join, or decline with concordia_decline_invitation.",
			}, nil
		}
	}
	if !c.args.Has("terms") {
		return nil, refuse("/terms", "there is no negotiation with this counterparty: give the terms to open one with")
	}
	timed, err := wire.Encode(wire.M{"session_ttl": defaultSessionTTL, "offer_ttl": defaultOfferTTL, "max_rounds": defaultMaxRounds})
	if err != nil {
		return nil, err
	}
	v, err := c.open(ctx, node.Opening{To: []wire.AgentID{other}, Body: c.members("terms", "category").With("timing", timed)})
	if err != nil {
		return nil, err
	}
	r := c.view(v)
	r["opened"], r["sessions"] = true, []wire.SessionID{v.Session}
	return r, nil
}
