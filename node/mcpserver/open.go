package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

// Arguments that many tools take.
var (
	sessionParam   = param{name: "session_id", kind: id, must: true}
	reasoningParam = param{name: "reasoning", kind: text, text: "why, for the other party to read; it is signed, and binds nobody"}
	tokenParam     = param{name: "auth_token", kind: text, text: "ignored: the node acts for you alone"}
	roleParam      = param{name: "role", kind: text, text: "yours, if you want it checked"}
	messageParam   = param{name: "message_id", kind: id, text: "the same call with the same id happens once, however often it is made"}
)

// The bounds of a session's time that are written into the open message unless the call
// says otherwise.
const (
	defaultSessionTTL = 86400
	defaultOfferTTL   = 3600
	defaultMaxRounds  = 20
)

var openParams = []param{
	{name: "responder_id", kind: text, must: true, text: "the other party: its agent id, or the name of a contact"},
	{name: "terms", kind: object, must: true, text: `what is negotiated, as {"price": {"type": "numeric", "constraints": {"min": 100, "max": 200, "currency": "USD"}}, "delivery": {"type": "categorical", "enum": ["pickup", "shipping"]}, "item": {"value": "Camera"}}; type is numeric, categorical, temporal, boolean, text or composite, or left out; a term with a value starts from it`},
	{name: "session_ttl", kind: integer, least: 1, most: 604800, text: "seconds that the session may take (86400)"},
	{name: "offer_ttl", kind: integer, least: 1, most: 604800, text: "seconds for which an offer stands (3600)"},
	{name: "max_rounds", kind: integer, least: 1, most: 10000, text: "how many offers there may be (20)"},
	reasoningParam,
	{name: "category", kind: text, text: "what is traded, as electronics.cameras; it stands in the receipt"},
	{name: "value_range", kind: text, text: "how much is at stake, as 1000-5000_USD: 0-100, 100-500, 500-1000 and so on up to 1000000+; it stands in the receipt"},
	{name: "others", kind: ids, text: "who else may join: witnesses, and mediators that may be nominated"},
	{name: "settlement", kind: object, text: "how it is paid, for exports of the agreement"},
	{name: "mandate", kind: object, text: "a mandate to present"},
	{name: "way", kind: text, oneOf: []string{"relay", "direct", "none"}, text: "how the other party hears of it; by default the relay if there is one"},
	{name: "session_id", kind: id, text: "of the new session; the same opening with the same id happens once"},
	{name: "initiator_id", kind: id, text: "yours, if you want it checked"},
	{name: "metadata", kind: object, idle: true, text: "ignored: no message has it; say what matters in terms"},
}

func openTools() []*tool {
	return []*tool{{
		name: openTool, title: "Open a session",
		text: lines("Opens a negotiation and invites the other party. Nothing is agreed by that: the other party decides itself whether to join.",
			"Your open message is sent when it has joined; then concordia_wait tells."),
		takes: openParams, gives: with(viewMembers,
			param{name: "initiator", kind: object, must: true}, param{name: "responder", kind: object, must: true},
			param{name: "terms", kind: object, must: true, text: "as you gave them"}, param{name: "timing", kind: object, must: true},
			param{name: "message", kind: text, must: true}),
		do: openSession,
	}}
}

func openSession(ctx context.Context, c *call) (wire.M, error) {
	self, err := c.checkSelf(ctx, "initiator_id")
	if err != nil {
		return nil, err
	}
	other, err := c.agent(ctx, "/responder_id", c.text("responder_id"))
	if err != nil {
		return nil, err
	}
	timing := wire.M{
		"session_ttl": c.int("session_ttl", defaultSessionTTL), "offer_ttl": c.int("offer_ttl", defaultOfferTTL),
		"max_rounds": c.int("max_rounds", defaultMaxRounds),
	}
	timed, err := wire.Encode(timing)
	if err != nil {
		return nil, err
	}
	o := node.Opening{
		Session: c.session(), To: []wire.AgentID{other}, Way: node.Way(c.text("way")), Reasoning: c.text("reasoning"), Mandate: c.value("mandate"),
		Body: c.members("terms", "category", "value_range", "settlement").With("timing", timed),
	}
	for _, id := range c.texts("others") {
		o.Others = append(o.Others, wire.AgentID(id))
	}
	v, err := c.open(ctx, o)
	if err != nil {
		return nil, err
	}
	r := c.view(v)
	r["initiator"], r["responder"] = wire.M{"agent_id": self.Agent, "public_key": self.Key}, party(other)
	r["max_rounds"] = timing["max_rounds"]
	r["terms"], r["timing"], r["message"] = c.value("terms"), timing, "The session is proposed. "+c.next(v)
	return r, nil
}

// open opens a session under an id that is known before, so that a call whose answer is
// lost can be made again.
func (c *call) open(ctx context.Context, o node.Opening) (node.View, error) {
	if o.Session == "" {
		var err error
		if o.Session, err = wire.NewID[wire.SessionID]("ses_", c.opts.Random); err != nil {
			return node.View{}, err
		}
	}
	if c.tool.name == openTool {
		c.repeat = wire.M{"session_id": o.Session}
	}
	return c.api.Open(ctx, o)
}
