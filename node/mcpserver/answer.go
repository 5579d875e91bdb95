package mcpserver

import (
	"context"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// leavingParams are what a message may say that ends a session.
var leavingParams = []param{
	{name: "reason", kind: text, text: "why, for the other party to read"},
	{name: "reactivatable", kind: yes, text: "whether an offer may bring the session back"},
	{name: "returns_if", kind: object, text: "what would bring you back: constraints on terms, after an instant"},
}

// acceptParams are what an acceptance may say.
var acceptParams = []param{
	{name: "offer_id", kind: id, text: "of the offer that you take; by default the one that you were shown last"},
	{name: "accepted_terms", kind: object, text: "of a conditional or partial offer: what you choose, or fill in"},
	{name: "bundle_id", kind: id, text: "of a bundle offer: which one"},
}

func answerTools() []*tool {
	accept := moveTool(wire.TypeAccept, "concordia_accept", "Accept the offer",
		"Accepts the other party's current offer. With two parties that is the agreement: it binds you, and cannot be undone.", acceptParams...)
	accept.do = takeOffer
	reject := moveTool(wire.TypeReject, "concordia_reject", "Reject and end",
		"Ends the session without an agreement. To refuse an offer and go on, use concordia_counter.", leavingParams...)
	commit := moveTool(wire.TypeCommit, "concordia_commit", "Commit",
		"Accepts the current offer, and asks whoever made it to commit as well: it is agreed when all have. After an agreement it says that you commit to it. Where you are not asked to commit, concordia_accept is enough.", acceptParams...)
	commit.do = takeOffer
	accept.gives = with(movedMembers, param{name: "transcript_valid", kind: yes, must: true})
	commit.gives = accept.gives
	withdraw := moveTool(wire.TypeWithdraw, "concordia_withdraw", "Withdraw", "Leaves the session and ends it.", leavingParams...)
	for _, t := range []*tool{accept, reject, commit, withdraw} {
		t.ends = true
	}
	return []*tool{accept, reject, commit, withdraw}
}

// takeOffer accepts or commits. What is accepted is an offer that the agent has seen: if
// the call does not name one, the last that it was shown, and not whatever has come since.
// The resolution of a mediator has no id (SPEC §8): then nothing at all may have come since.
func takeOffer(ctx context.Context, c *call) (wire.M, error) {
	body, tip := c.members("offer_id", "accepted_terms", "bundle_id"), wire.Hash{}
	if !c.args.Has("offer_id") {
		v, err := c.api.Session(ctx, c.session())
		if err != nil {
			return nil, err
		}
		switch shown, was := c.shown(c.session()); {
		case v.Offer == nil && v.State == session.Agreed: // and none comes any more
		case v.Offer == nil: // the node says what is wrong, unless one comes now
			tip = v.Tip
		case was && shown.ID != "":
			body = body.With("offer_id", wire.Text(string(shown.ID)))
		case was && shown.Hash == v.Offer.Hash:
			tip = v.Tip
		default:
			return nil, &misuse{at: "/offer_id", text: "say which offer, by its offer_id: you were not shown all of this one yet; it is under external", show: func(e *external) {
				c.offer(v, e)
				e.say("offer_id", string(v.Offer.ID))
			}}
		}
	}
	r, err := c.move(ctx, body, tip)
	if err != nil {
		return nil, err
	}
	r["transcript_valid"] = true // the node takes no other message into it
	return r, nil
}
