package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// movedMembers are the members of what a move results in.
var movedMembers = with(viewMembers,
	param{name: "message_id", kind: id, must: true}, param{name: "type", kind: text, must: true}, param{name: "from", kind: id, must: true},
	param{name: "offer_id", kind: id}, param{name: "message", kind: text, must: true})

// move makes a move of a body, and says what came of it. If tip is given, the move is
// refused when there is another message behind it.
func (c *call) move(ctx context.Context, body wire.Value, tip wire.Hash) (wire.M, error) {
	before, err := c.api.Session(ctx, c.session())
	if err != nil {
		return nil, err
	}
	if err := c.checkRole(before); err != nil {
		return nil, err
	}
	id := wire.MessageID(c.text("message_id"))
	if id == "" {
		if id, err = wire.NewID[wire.MessageID]("msg_", c.opts.Random); err != nil {
			return nil, err
		}
	}
	c.repeat = wire.M{"message_id": id}
	m := node.Move{Session: c.session(), Type: c.tool.messages, Body: body, Reasoning: c.text("reasoning"), ID: id, Tip: tip}
	v, err := c.api.Move(ctx, m)
	if err != nil {
		return nil, err
	}
	self, err := c.api.Self(ctx)
	if err != nil {
		return nil, err
	}
	r := c.view(v)
	if words, _ := r["external"].(wire.M); words != nil {
		if last, _ := words["last_message"].(wire.M); last["id"] == string(id) {
			delete(words, "last_message") // it is what the call said
		}
	}
	r["message_id"], r["type"], r["from"], r["message"] = id, m.Type, self.Agent, "Sent. "+c.next(v)
	if offer, ok := c.made(ctx, v, id); ok {
		r["offer_id"] = offer
	}
	return r, nil
}

// made returns the id of the offer that a message makes, or that it accepts, if it is
// among the last of a session.
func (c *call) made(ctx context.Context, v node.View, id wire.MessageID) (wire.Value, bool) {
	const recent = 20
	list, err := c.api.Messages(ctx, v.Session, max(0, v.Len-recent), recent)
	if err != nil {
		return wire.Value{}, false // it is said again in the session's status
	}
	for _, m := range list {
		if said, _ := m.Get("id"); said.Text() == string(id) {
			return m.At("body", "offer_id")
		}
	}
	return wire.Value{}, false
}

// moveTool makes a tool of a message whose body has some of the arguments.
func moveTool(t wire.MessageType, name, title, text string, body ...param) *tool {
	names := make([]string, len(body))
	for i := range body {
		names[i] = body[i].name
	}
	return &tool{
		name: name, title: title, text: text, messages: t,
		takes: append(append([]param{sessionParam, roleParam, tokenParam}, body...), reasoningParam, messageParam),
		gives: movedMembers,
		do: func(ctx context.Context, c *call) (wire.M, error) {
			return c.move(ctx, c.members(names...), wire.Hash{})
		},
	}
}

// offerParams are what an offer may say.
var offerParams = []param{
	{name: "terms", kind: object, text: `values, as {"price": {"value": 2050, "currency": "USD"}, "delivery": {"value": "shipping"}}; terms that are left out keep the value that they were opened with`},
	{name: "offer_type", kind: text, oneOf: []string{"basic", "partial", "conditional", "bundle"}, text: "basic if it is left out; partial needs open_terms, conditional needs conditions, bundle needs bundles"},
	{name: "open_terms", kind: texts, text: "the terms to which the offer gives no value yet"},
	{name: "conditions", kind: objects, text: `as [{"if": {"delivery": "pickup"}, "then": {"price": {"value": 2000}}}]: the other party chooses one`},
	{name: "bundles", kind: objects, text: `as [{"bundle_id": "a", "label": "With lens", "terms": {…}}]: the other party chooses one`},
	{name: "complete", kind: yes, text: "whether every term is settled; said in the message if given"},
	{name: "valid_until", kind: text, text: "when the offer lapses, as 2027-01-31T12:00:00Z"},
	{name: "offer_id", kind: id, text: "instead of a new one"},
}

func offerTools() []*tool {
	offer := moveTool(wire.TypeOffer, "concordia_propose", "Make an offer",
		"Makes an offer. It binds you until it lapses, is replaced or is answered: if the other party accepts it, you have agreed.", offerParams...)
	counter := moveTool(wire.TypeCounter, "concordia_counter", "Make a counteroffer",
		"Makes an offer in place of the current one, yours or theirs. It binds you as concordia_propose does.", offerParams...)
	for _, t := range []*tool{offer, counter} {
		t.do = makeOffer
	}
	return []*tool{offer, counter}
}

func makeOffer(ctx context.Context, c *call) (wire.M, error) {
	needs := map[string]string{"": "terms", "basic": "terms", "partial": "open_terms", "conditional": "conditions", "bundle": "bundles"}
	said := c.text("offer_type")
	for shape, member := range needs {
		switch has := c.args.Has(member); {
		case shape == said && (!has || member != "terms" && c.value(member).Len() == 0):
			if shape == "" && (c.args.Has("conditions") || c.args.Has("bundles")) {
				continue // the members say what it is
			}
			return nil, refuse("/"+member, "an offer of this type has %s", member)
		case said != "" && shape != "" && shape != said && has && member != "terms" && !(member == "open_terms" && said != "basic"):
			return nil, refuse("/"+member, "an offer of type %s has no %s: leave it out, or say another offer_type", said, member)
		}
	}
	return c.move(ctx, c.members("terms", "open_terms", "conditions", "bundles", "complete", "valid_until", "offer_id"), wire.Hash{})
}
