package mcpserver

import (
	"context"
	"fmt"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/wire"
)

func adoptionTools() []*tool {
	self := param{name: "agent_id", kind: id, text: "yours, if you want it checked"}
	peer := param{name: "peer_id", kind: text, must: true, text: "the other side: an id by which you know it, or the name of a contact"}
	interaction := param{name: "interaction_id", kind: id, must: true}
	return []*tool{
		{
			name: "concordia_propose_protocol", title: "Propose Concordia to somebody",
			text:  "Makes a document that proposes Concordia to somebody who does not use it. Nothing is sent: hand it over yourself, and note the answer with concordia_respond_to_proposal.",
			takes: []param{self, tokenParam, peer, {name: "proposal_id", kind: id, text: "of the new proposal; the same call with the same id makes one"}},
			gives: []param{{name: "proposal", kind: object, must: true, text: "to hand over"}, {name: "message", kind: text, must: true}},
			do:    proposeProtocol,
		},
		{
			name: "concordia_respond_to_proposal", title: "Note the answer to a proposal", repeats: true,
			text: lines("Notes what somebody answered to a proposal of yours. It is your word: they sign nothing by that.",
				"A yes upgrades dealings that name the proposal; a no degrades them again. The last answer counts."),
			takes: []param{{name: "proposal_id", kind: id, must: true}, {name: "accepted", kind: yes, must: true},
				{name: "responder_agent_id", kind: text, text: "who answered, if you want it checked: the proposal was made for one only"}, tokenParam,
				{name: "reason", kind: text, text: "what they said"}},
			gives: []param{{name: "response", kind: object, must: true}, {name: "resulting_mode", kind: text, must: true, text: "upgraded or degraded"},
				{name: "proven", kind: yes, must: true, text: "false: it is your word"}, {name: "message", kind: text, must: true}},
			do: respondToProposal,
		},
		{
			name: "concordia_start_degraded", title: "Begin to note dealings without Concordia",
			text: fmt.Sprintf("Begins to keep what is said between you and somebody who does not use Concordia, to compare it later. Nothing is sent. At most %d are kept; then the one goes that was upgraded, or idle for the longest time.", node.MaxInteractions),
			takes: []param{self, tokenParam, peer, {name: "peer_status", kind: text, oneOf: []string{"unknown", "declined", "incompatible"}, text: "unknown, if it is left out and no proposal was declined"},
				{name: "proposal_id", kind: id, text: "that you made to them"}, {name: "interaction_id", kind: id, text: "of the new one; the same call with the same id begins one"}},
			gives: []param{{name: "interaction", kind: object, must: true}, {name: "replaced", kind: id, text: "what had to go"}, {name: "message", kind: text, must: true}},
			do:    startDegraded,
		},
		{
			name: "concordia_degraded_message", title: "Note what was said without Concordia",
			text: fmt.Sprintf("Keeps something that you or the other side said. Nothing is sent, and nothing is proven. At most %d messages of %d bytes together.", node.MaxTold, node.MaxToldBytes),
			takes: []param{interaction, {name: "from_agent", kind: text, text: "who said it: the other side; you, if it is left out"}, tokenParam,
				{name: "content", kind: text, must: true}, messageParam},
			gives: []param{{name: "message_recorded", kind: object, must: true, text: "what it says is under external"}, {name: "total_rounds", kind: integer, must: true, text: "what one side says in a row is one"},
				{name: "total_messages", kind: integer, must: true}, {name: "mode", kind: text, must: true}},
			do: degradedMessage,
		},
		{
			name: "concordia_efficiency_report", title: "Compare dealings with and without Concordia", reads: true, repeats: true,
			text: lines("Says what dealings without Concordia came to, and beside it what your own agreed sessions came to: medians, and how many they are of.",
				"Without such sessions there is no estimate. All figures are counted; they are no forecast."),
			takes: []param{interaction, {name: "include_messages", kind: yes, text: "with what was said last"}},
			gives: []param{{name: "interaction_id", kind: id, must: true}, {name: "mode", kind: text, must: true}, {name: "actual_rounds", kind: integer, must: true},
				{name: "actual_messages", kind: integer, must: true}, {name: "actual_bytes", kind: integer, must: true}, {name: "elapsed_seconds", kind: integer, must: true},
				{name: "estimated_concordia_rounds", kind: integer, text: "the median of your agreed sessions"}, {name: "rounds_saved", kind: integer, text: "below 0: a session would have taken more"},
				{name: "basis", kind: text, must: true, text: "on what the estimate rests, or why there is none"}, {name: "concordia", kind: object, must: true, text: "what your sessions came to"},
				{name: "sessions", kind: ids, must: true, text: "with the other side since then"},
				{name: "had_binding_commitment", kind: yes, must: true}, {name: "had_session_receipt", kind: yes, must: true}, {name: "had_reputation_attestation", kind: yes, must: true},
				{name: "had_structured_offers", kind: yes, must: true}, {name: "had_resolution_mechanisms", kind: yes, must: true}, {name: "recommendation", kind: text, must: true}},
			do: efficiencyReport,
		},
	}
}

func proposeProtocol(ctx context.Context, c *call) (wire.M, error) {
	if _, err := c.checkSelf(ctx, "agent_id"); err != nil {
		return nil, err
	}
	to, err := c.agent(ctx, "/peer_id", c.text("peer_id"))
	if err != nil {
		return nil, err
	}
	p := node.Proposing{ID: node.ProposalID(c.text("proposal_id")), To: to}
	if p.ID == "" {
		if p.ID, err = wire.NewID[node.ProposalID]("proto_prop_", c.opts.Random); err != nil {
			return nil, err
		}
	}
	c.repeat = wire.M{"proposal_id": p.ID}
	made, err := c.api.ProposeProtocol(ctx, p)
	if err != nil {
		return nil, err
	}
	return wire.M{"proposal": made.Document, "message": "Nothing was sent. Hand proposal over yourself, and note the answer with concordia_respond_to_proposal."}, nil
}

func respondToProposal(ctx context.Context, c *call) (wire.M, error) {
	a := node.Answering{ID: node.ProposalID(c.text("proposal_id")), Accepted: c.yes("accepted"), Reason: c.text("reason")}
	if who := c.text("responder_agent_id"); who != "" {
		var err error
		if a.From, err = c.agent(ctx, "/responder_agent_id", who); err != nil {
			return nil, err
		}
	}
	p, err := c.api.AnswerProposal(ctx, a)
	if err != nil {
		return nil, err
	}
	mode, message := node.Degraded, "Noted as you told it. Go on without Concordia; concordia_start_degraded keeps what is said."
	if a.Accepted {
		mode, message = node.Upgraded, "Noted as you told it: they have signed nothing, and are no party of a session yet. Open one with concordia_open_session and the agent id that they use there."
	}
	words := newExternal()
	words.say("reason", a.Reason)
	return words.into(wire.M{
		"response": wire.M{
			"type": "concordia.protocol_response", "proposal_id": p.ID, "responder_agent_id": p.To, "accepted": a.Accepted, "timestamp": wire.FormatTime(p.Answer.At),
		},
		"resulting_mode": mode, "proven": false, "message": message,
	}), nil
}

func startDegraded(ctx context.Context, c *call) (wire.M, error) {
	self, err := c.checkSelf(ctx, "agent_id")
	if err != nil {
		return nil, err
	}
	with, err := c.agent(ctx, "/peer_id", c.text("peer_id"))
	if err != nil {
		return nil, err
	}
	s := node.Starting{
		ID: node.InteractionID(c.text("interaction_id")), With: with, Status: node.PeerStatus(c.text("peer_status")), Proposal: node.ProposalID(c.text("proposal_id")),
	}
	if s.ID == "" {
		if s.ID, err = wire.NewID[node.InteractionID]("degraded_", c.opts.Random); err != nil {
			return nil, err
		}
	}
	c.repeat = wire.M{"interaction_id": s.ID}
	i, err := c.api.StartDegraded(ctx, s)
	if err != nil {
		return nil, err
	}
	r := wire.M{
		"interaction": wire.M{
			"interaction_id": i.ID, "agent_id": self.Agent, "peer_id": i.With, "peer_status": i.Status, "mode": i.Mode, "proposal_sent": i.Proposal != "",
			"proposal_id": i.Proposal, "rounds": i.Rounds, "started_at": wire.FormatTime(i.Started), "message_count": i.Messages,
		},
		"message": "Tell what you and they say with concordia_degraded_message. Nothing of it binds anybody.",
	}
	if i.Proposal == "" {
		delete(r["interaction"].(wire.M), "proposal_id")
	}
	if i.Replaced != "" {
		r["replaced"] = i.Replaced
	}
	return r, nil
}

func degradedMessage(ctx context.Context, c *call) (wire.M, error) {
	t := node.Telling{Interaction: node.InteractionID(c.text("interaction_id")), ID: wire.MessageID(c.text("message_id")), Content: c.text("content")}
	var err error
	if who := c.text("from_agent"); who != "" {
		if t.From, err = c.agent(ctx, "/from_agent", who); err != nil {
			return nil, err
		}
	}
	if t.ID == "" {
		if t.ID, err = wire.NewID[wire.MessageID]("msg_", c.opts.Random); err != nil {
			return nil, err
		}
	}
	c.repeat = wire.M{"message_id": t.ID}
	recorded, err := c.api.TellDegraded(ctx, t)
	if err != nil {
		return nil, err
	}
	i, words := recorded.Interaction, newExternal()
	words.say("content", recorded.Told.Content)
	return words.into(wire.M{
		"message_recorded": told(recorded.Told), "total_rounds": i.Rounds, "total_messages": i.Messages, "mode": i.Mode,
	}), nil
}

// told is something that was told, without its words: an agent may tell as its own what
// it has from others.
func told(t node.Told) wire.M {
	return wire.M{"message_id": t.ID, "round": t.Round, "from": t.From, "timestamp": wire.FormatTime(t.At), "structured": false}
}

func efficiencyReport(ctx context.Context, c *call) (wire.M, error) {
	e, err := c.api.Efficiency(ctx, node.InteractionID(c.text("interaction_id")))
	if err != nil {
		return nil, err
	}
	i, d := &e.Interaction, &e.Deals
	sessions := e.Since.Sessions
	if sessions == nil {
		sessions = []wire.SessionID{}
	}
	concordia := wire.M{"sessions": d.Agreed, "concluded": d.Concluded}
	r := wire.M{
		"interaction_id": i.ID, "mode": i.Mode, "actual_rounds": i.Rounds, "actual_messages": i.Messages, "actual_bytes": i.Bytes, "elapsed_seconds": e.Seconds,
		"concordia": concordia, "sessions": sessions, "recommendation": recommendation(&e),
		"had_binding_commitment": e.Since.Agreed, "had_session_receipt": e.Since.Receipt, "had_reputation_attestation": e.Since.Receipt,
		"had_structured_offers": e.Since.Offers, "had_resolution_mechanisms": e.Since.Active,
		"basis": "No session of yours was agreed and has a receipt that all parties signed: there is nothing to estimate from.",
	}
	if d.Agreed > 0 {
		concordia["median_rounds"], concordia["median_messages"], concordia["median_seconds"], concordia["median_bytes"] = d.Rounds, d.Messages, d.Seconds, d.Bytes
		r["estimated_concordia_rounds"], r["rounds_saved"] = d.Rounds, i.Rounds-d.Rounds
		r["basis"] = fmt.Sprintf("The median of your agreed sessions: %d, of %d that were concluded. They were about other matters.", d.Agreed, d.Concluded)
	}
	if !c.yes("include_messages") {
		return r, nil
	}
	list, err := c.api.Told(ctx, i.ID, max(0, i.Messages-maxPage), maxPage)
	if err != nil {
		return nil, err
	}
	words, all := newExternal(), []any{}
	for _, t := range list {
		m := told(t)
		m["content"] = words.clean(t.Content, maxShownText)
		all = append(all, m)
	}
	words.members["messages"] = all
	return words.into(r), nil
}

// recommendation says what follows from the figures, and no more.
func recommendation(e *node.Efficiency) string {
	i, d := &e.Interaction, &e.Deals
	switch {
	case e.Since.Receipt:
		return "There is a session with a signed receipt since. Go on in sessions."
	case i.Mode == node.Upgraded:
		return "They said that they use Concordia: open a session with concordia_open_session."
	case d.Agreed == 0:
		return "Nothing can be compared. Nothing that was said here is signed, and there is no receipt: a session would have both."
	case i.Rounds > d.Rounds:
		return fmt.Sprintf("It took %d rounds so far; your agreed sessions took %d at the median, and each left a signed receipt. Propose Concordia: concordia_propose_protocol.", i.Rounds, d.Rounds)
	}
	return fmt.Sprintf("It took %d rounds so far, no more than the %d of your agreed sessions at the median: rounds are no reason to change. What it lacks is signatures and a receipt.", i.Rounds, d.Rounds)
}
