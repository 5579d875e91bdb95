package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func inviteTools() []*tool {
	accept := moveTool(wire.TypeAcceptSession, "concordia_accept_session", "Agree to negotiate",
		"Agrees to negotiate in a session that was proposed to you. It accepts no offer.",
		param{name: "extensions", kind: texts, text: "those of the open message, if it has any"})
	decline := moveTool(wire.TypeDeclineSession, "concordia_decline_session", "Refuse to negotiate",
		"Refuses to negotiate in a session that was proposed to you, which ends it.", leavingParams...)
	decline.ends = true
	return []*tool{
		{
			name: "concordia_invitations", title: "List invitations", reads: true, repeats: true,
			text:  "Lists the sessions that you are invited to and have neither joined nor declined, oldest first.",
			gives: []param{{name: "count", kind: integer, must: true}, {name: "invitations", kind: objects, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				list, err := c.api.Invitations(ctx)
				if err != nil {
					return nil, err
				}
				words, all := newExternal(), []any{}
				for _, i := range list {
					all = append(all, invitation(i, words))
				}
				return words.into(wire.M{"count": len(list), "invitations": all}), nil
			},
		},
		{
			name: joinTool, title: "Join a session", repeats: true,
			text:  "Joins a session that you are invited to, and shows its open message. You have said nothing by that: then accept or decline the session.",
			takes: []param{sessionParam}, gives: viewMembers,
			do: func(ctx context.Context, c *call) (wire.M, error) {
				v, err := c.api.Join(ctx, c.session())
				if err != nil {
					return nil, err
				}
				return c.view(v), nil
			},
		},
		{
			name: declineTool, title: "Decline an invitation", repeats: true, ends: true,
			text:  "Declines an invitation without having read anything. It is no message of the session.",
			takes: []param{sessionParam}, gives: []param{{name: "session_id", kind: id, must: true}, {name: "declined", kind: yes, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				return wire.M{"session_id": c.session(), "declined": true}, c.api.Decline(ctx, c.session())
			},
		},
		accept, decline,
		{
			name: "concordia_invitation", title: "Make an invitation to hand over", reads: true, repeats: true,
			text:  "Returns the signed invitation to a session that you opened, to be handed over in some other way; the other party gives it to concordia_take_invitation.",
			takes: []param{sessionParam, {name: "to", kind: id, must: true}}, gives: []param{{name: "invitation", kind: object, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				v, err := c.api.Invitation(ctx, c.session(), wire.AgentID(c.text("to")))
				return wire.M{"invitation": v}, err
			},
		},
		{
			name: "concordia_take_invitation", title: "Take an invitation", repeats: true,
			text:  "Takes in an invitation that came in some other way. Then join it with concordia_join.",
			takes: []param{{name: "invitation", kind: object, must: true}}, gives: []param{{name: "session_id", kind: id, must: true}, {name: "invitations", kind: objects, must: true}, {name: "next", kind: text, must: true}},
			do: func(ctx context.Context, c *call) (wire.M, error) {
				i, err := c.api.Invited(ctx, c.value("invitation"))
				if err != nil {
					return nil, err
				}
				words := newExternal()
				return words.into(wire.M{"session_id": i.Session, "invitations": []any{invitation(i, words)}, "next": "Join it with concordia_join."}), nil
			},
		},
	}
}

// invitation is an invitation as a result has it. Category and relay are the words of
// who invites.
func invitation(i node.Invitation, words *external) wire.M {
	list, _ := words.members["invitations"].([]any)
	words.members["invitations"] = append(list, wire.M{
		"session_id": i.Session, "category": words.clean(i.Category, maxShownName), "relay": words.clean(i.Relay, maxShownName),
	})
	return wire.M{
		"session_id": i.Session, "from": i.From, "from_is_proven": i.Signed, "from_is_known": i.Known,
		"created_at": wire.FormatTime(i.Created), "expires_at": wire.FormatTime(i.Expires), "flags": append([]string{}, i.Flags...),
	}
}
