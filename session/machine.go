package session

import (
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// The six states of a session, and the state before its first message (SPEC §5.1).
const (
	Start    protocol.State = "(none)"
	Proposed protocol.State = "PROPOSED"
	Active   protocol.State = "ACTIVE"
	Agreed   protocol.State = "AGREED"
	Rejected protocol.State = "REJECTED"
	Expired  protocol.State = "EXPIRED"
	Dormant  protocol.State = "DORMANT"
)

// The roles of SPEC §2.3. Initiator and responders are the parties.
const (
	Initiator protocol.Role = "initiator"
	Responder protocol.Role = "responder"
	Party     protocol.Role = "any party"
	Mediator  protocol.Role = "mediator"
	Witness   protocol.Role = "witness"
	Clock     protocol.Role = "clock"
)

// The events that are no messages.
const (
	ttlElapsed protocol.Label = "session_ttl elapsed" // the deadline has come
	breach     protocol.Label = "breach"              // an admitted message breaks a rule of the session
)

// The conditions of SPEC §5.2.
const (
	allJoined     protocol.Guard = "every responder has accepted the session"
	reactivatable protocol.Guard = "`reactivatable` is true, and there are two parties or more"
	dealConcluded protocol.Guard = "every other party has accepted this offer, and nobody's commit awaits the offerer's"
	notCommitted  protocol.Guard = "the party has not committed before"
)

// Machine is the state machine of every session, two-party or not: the only
// transition table of this module (SPEC §5.2).
var Machine = protocol.Automaton{
	Name:    "concordia session",
	Initial: Start,
	States:  []protocol.State{Start, Proposed, Active, Agreed, Rejected, Expired, Dormant},
	Public: map[protocol.State]string{
		Proposed: string(Proposed), Active: string(Active), Agreed: string(Agreed),
		Rejected: string(Rejected), Expired: string(Expired), Dormant: string(Dormant),
	},
	Ends: map[protocol.State]protocol.End{Agreed: protocol.Success, Rejected: protocol.Failure, Expired: protocol.Abandoned, Dormant: protocol.Abandoned},
	Transitions: []protocol.Transition{
		{From: Start, On: on(wire.TypeOpen), By: Initiator, To: Proposed},

		{From: Proposed, On: on(wire.TypeAcceptSession), By: Responder, If: allJoined, To: Active},
		{From: Proposed, On: on(wire.TypeAcceptSession), By: Responder, To: Proposed},
		{From: Proposed, On: on(wire.TypeDeclineSession), By: Responder, If: reactivatable, To: Dormant},
		{From: Proposed, On: on(wire.TypeDeclineSession), By: Responder, To: Rejected},
		{From: Proposed, On: breach, By: Party, To: Rejected},
		{From: Proposed, On: ttlElapsed, By: Clock, To: Expired},

		{From: Active, On: on(wire.TypeOffer), By: Party, To: Active},
		{From: Active, On: on(wire.TypeCounter), By: Party, To: Active},
		{From: Active, On: on(wire.TypeInquire), By: Party, To: Active},
		{From: Active, On: on(wire.TypeConstrain), By: Party, To: Active},
		{From: Active, On: on(wire.TypeSignal), By: Party, To: Active},
		{From: Active, On: on(wire.TypeProposeMediator), By: Party, To: Active},
		{From: Active, On: on(wire.TypeResolve), By: Mediator, To: Active},
		{From: Active, On: on(wire.TypeAccept), By: Party, If: dealConcluded, To: Agreed},
		{From: Active, On: on(wire.TypeCommit), By: Party, If: dealConcluded, To: Agreed},
		{From: Active, On: on(wire.TypeAccept), By: Party, To: Active},
		{From: Active, On: on(wire.TypeCommit), By: Party, To: Active},
		{From: Active, On: on(wire.TypeReject), By: Party, If: reactivatable, To: Dormant},
		{From: Active, On: on(wire.TypeWithdraw), By: Party, If: reactivatable, To: Dormant},
		{From: Active, On: on(wire.TypeReject), By: Party, To: Rejected},
		{From: Active, On: on(wire.TypeWithdraw), By: Party, To: Rejected},
		{From: Active, On: breach, By: Party, To: Rejected},
		{From: Active, On: ttlElapsed, By: Clock, To: Expired},

		{From: Agreed, On: on(wire.TypeCommit), By: Party, If: notCommitted, To: Agreed},

		{From: Rejected, On: on(wire.TypeSignal), By: Party, If: reactivatable, To: Dormant},
		{From: Rejected, On: on(wire.TypeWithdraw), By: Party, If: reactivatable, To: Dormant},
		{From: Expired, On: on(wire.TypeSignal), By: Party, If: reactivatable, To: Dormant},
		{From: Expired, On: on(wire.TypeWithdraw), By: Party, If: reactivatable, To: Dormant},

		{From: Dormant, On: on(wire.TypeOffer), By: Party, To: Active},
	},
}

// on makes the label of a message.
func on(t wire.MessageType) protocol.Label { return protocol.Label(t) }
