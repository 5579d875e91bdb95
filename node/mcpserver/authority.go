package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func authorityTools() []*tool {
	artifact := param{name: "artifact", kind: object, must: true}
	return []*tool{
		{
			name: "concordia_needs", title: "Ask what a move needs", reads: true, repeats: true,
			text: "Says whether your owner's policy wants an approval or a mandate before you accept the current offer, and for what exactly. Empty: nothing.",
			takes: append([]param{sessionParam, {name: "move", kind: text, oneOf: []string{"accept", "commit"}, text: "accept if it is left out"}},
				acceptParams...),
			gives: []param{{name: "session_id", kind: id, must: true}, {name: "allowed", kind: yes, must: true}, {name: "needs", kind: objects}, {name: "next", kind: text}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				t := wire.TypeAccept
				if c.text("move") == "commit" {
					t = wire.TypeCommit
				}
				list, err := c.api.Needs(ctx, node.Move{Session: c.session(), Type: t, Body: c.members("offer_id", "accepted_terms", "bundle_id")})
				if err != nil {
					return nil, err
				}
				r, words := wire.M{"session_id": c.session(), "allowed": len(list) == 0}, newExternal()
				c.needs(r, list, words)
				return words.into(r), nil
			},
		},
		{
			name: "concordia_approve", title: "Keep an approval", repeats: true,
			text:  "Keeps an approval receipt, a mandate or a revocation record that others signed, so that moves that need it are let through, or no longer. What does not verify is refused. You cannot approve anything yourself.",
			takes: []param{artifact}, gives: []param{{name: "kept", kind: hash, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				return wire.M{"kept": c.value("artifact").Hash()}, c.api.Approve(ctx, c.value("artifact"))
			},
		},
		{
			name: "concordia_present", title: "Show an authority", repeats: true,
			text:  "Hands a mandate or an approval receipt to the parties of a session. It is no move.",
			takes: []param{sessionParam, artifact}, gives: []param{{name: "session_id", kind: id, must: true}, {name: "presented", kind: hash, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				return wire.M{"session_id": c.session(), "presented": c.value("artifact").Hash()}, c.api.Present(ctx, c.session(), c.value("artifact"))
			},
		},
		{
			name: "concordia_contacts", title: "List contacts", reads: true, repeats: true,
			text:  "Lists the agents that your owner knows, and says who you are. Only your owner changes them.",
			gives: []param{{name: "agent_id", kind: id, must: true, text: "yours"}, {name: "public_key", kind: text, must: true}, {name: "contacts", kind: objects, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				self, err := c.api.Self(ctx)
				if err != nil {
					return nil, err
				}
				list, err := c.api.Contacts(ctx)
				if err != nil {
					return nil, err
				}
				all := []any{}
				for _, x := range list {
					all = append(all, wire.M{"agent_id": x.Agent, "name": x.Name, "consent": x.Consent})
				}
				return wire.M{"agent_id": self.Agent, "public_key": self.Key, "contacts": all}, nil
			},
		},
	}
}
