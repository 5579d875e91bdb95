package mcpserver

import (
	"fmt"
	"slices"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Where an agent stands in a session, as far as it decides which tools are legal: the
// state of SPEC §5.2, whose offer is the current one, and who the agent is.
const (
	nowhere    protocol.State = "no session"
	invited    protocol.State = "invited"
	waiting    protocol.State = "proposed by you"
	asked      protocol.State = "proposed to you"
	free       protocol.State = "active without an offer"
	own        protocol.State = "active with your offer"
	theirs     protocol.State = "active with their offer"
	committing protocol.State = "active and asked to commit"
	given      protocol.State = "active and accepted by you"
	mediating  protocol.State = "active with you as the mediator"
	agreed     protocol.State = "agreed"
	over       protocol.State = "over"
	declined   protocol.State = "declined"
	dormant    protocol.State = "dormant"
)

// tools that make no move of SPEC §4.2 and yet lead from one state to another.
const (
	openTool    = "concordia_open_session"
	joinTool    = "concordia_join"
	declineTool = "concordia_decline_invitation"
)

// newFlow makes the protocol of the tools that make moves. Other tools are always let
// through. It follows the machine of sessions (SPEC §5.2) from the side of one agent.
func newFlow(tools []*tool) (*protocol.Compiled, error) {
	a := &protocol.Automaton{
		Name: "negotiating over MCP", Initial: nowhere,
		States: []protocol.State{nowhere, invited, waiting, asked, free, own, theirs, committing, given, mediating, agreed, over, declined, dormant},
		Ends:   map[protocol.State]protocol.End{agreed: protocol.Success, over: protocol.Failure, declined: protocol.Failure, dormant: protocol.Abandoned},
		Terms:  &protocol.Terms{Unrecognized: protocol.Pass},
	}
	add := func(from protocol.State, by protocol.Role, on string, to protocol.State) {
		a.Transitions = append(a.Transitions, protocol.Transition{From: from, On: protocol.Label(on), By: by, To: to})
	}
	by := map[wire.MessageType]string{}
	for _, t := range tools {
		if t.messages != "" {
			by[t.messages] = t.name
		}
	}
	I := func(from protocol.State, t wire.MessageType, to protocol.State) {
		if name := by[t]; name != "" {
			add(from, protocol.Agent, "call:"+name, to)
		}
	}
	they := func(from protocol.State, t wire.MessageType, to protocol.State) {
		add(from, protocol.Environment, string(t), to)
	}
	add(nowhere, protocol.Agent, "call:"+openTool, waiting)
	add(nowhere, protocol.Environment, "invitation", invited)
	add(invited, protocol.Agent, "call:"+joinTool, asked)
	add(invited, protocol.Agent, "call:"+declineTool, declined)
	they(waiting, wire.TypeAcceptSession, free)
	they(waiting, wire.TypeDeclineSession, over)
	I(asked, wire.TypeAcceptSession, free)
	I(asked, wire.TypeDeclineSession, over)
	for _, s := range []protocol.State{free, own, theirs, committing, given} {
		I(s, wire.TypeOffer, own)
		I(s, wire.TypeCounter, own)
		they(s, wire.TypeOffer, theirs)
		for _, talk := range []wire.MessageType{wire.TypeSignal, wire.TypeInquire, wire.TypeConstrain, wire.TypeProposeMediator} {
			I(s, talk, s)
		}
		I(s, wire.TypeReject, over)
		I(s, wire.TypeWithdraw, over)
	}
	I(theirs, wire.TypeAccept, agreed)
	I(theirs, wire.TypeCommit, given)
	they(given, wire.TypeCommit, agreed)
	they(own, wire.TypeAccept, agreed)
	they(own, wire.TypeCommit, committing)
	I(committing, wire.TypeCommit, agreed)
	they(free, wire.TypeProposeMediator, mediating)
	I(mediating, wire.TypeResolve, mediating)
	I(agreed, wire.TypeCommit, agreed)
	they(free, wire.TypeWithdraw, dormant)
	I(dormant, wire.TypeOffer, own)
	for _, s := range []protocol.State{over, dormant} {
		I(s, wire.TypeSignal, dormant)
	}
	c, err := protocol.Compile(a)
	if err != nil {
		return nil, fmt.Errorf("making the protocol of the tools: %w", err)
	}
	return c, nil
}

// standing says where the agent stands in a session.
func standing(v node.View) protocol.State {
	switch v.State {
	case session.Start:
		return waiting
	case session.Proposed:
		if v.Role == session.Responder && len(v.Moves) > 0 {
			return asked
		}
		return waiting
	case session.Active:
		switch {
		case v.Role == session.Mediator:
			return mediating
		case v.Role == session.Witness:
			return waiting
		case v.Offer == nil || v.Offer.Lapsed:
			return free
		case v.Offer.Own && slices.Contains(v.Moves, wire.TypeCommit):
			return committing
		case v.Offer.Own:
			return own
		case slices.Contains(v.Moves, wire.TypeAccept):
			return theirs
		}
		return given
	case session.Agreed:
		return agreed
	case session.Dormant:
		return dormant
	}
	return over
}

// path is a shortest way from a state to where a tool may be called, step by step.
func (s *Server) path(from protocol.State, t *tool) []any {
	steps := []any{}
	for _, m := range s.flow.Unlock(s.flow.Index(from), protocol.Move{By: protocol.Agent, On: protocol.Label("call:" + t.name)}) {
		if m.By == protocol.Agent {
			steps = append(steps, wire.M{"by": "you", "call": string(m.On)[len("call:"):]})
		} else {
			steps = append(steps, wire.M{"by": "other party", "move": string(m.On)})
		}
	}
	return steps
}
