package mcpserver

import (
	"context"
	"strings"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// viewMembers are the members of a session in results.
var viewMembers = []param{
	{name: "session_id", kind: id, must: true},
	{name: "state", kind: text, must: true, text: "proposed, active, agreed, rejected, expired or dormant"},
	{name: "role", kind: text, text: "yours: initiator, responder, mediator or witness"},
	{name: "is_terminal", kind: yes, must: true},
	{name: "your_turn", kind: yes, must: true, text: "somebody else spoke last, and you may speak"},
	{name: "legal_moves", kind: texts, must: true},
	{name: "legal_tools", kind: texts, must: true},
	{name: "next", kind: text, must: true, text: "what to do next"},
	{name: "version", kind: integer, must: true, text: "for concordia_wait"},
	{name: "transcript_length", kind: integer, must: true},
	{name: "round_count", kind: integer, must: true, text: "offers and counters so far"},
	{name: "max_rounds", kind: integer, text: "offers and counters that there may be; known once the session is open"},
	{name: "parties", kind: ids, must: true},
	{name: "waiting_for", kind: ids, text: "who is invited and has not joined"},
	{name: "not_told_yet", kind: ids, text: "who could not be invited yet; the node goes on trying"},
	{name: "created_at", kind: text, must: true},
	{name: "deadline", kind: text},
	{name: "concluded_at", kind: text},
	{name: "offer", kind: object, text: "the current offer; what it says is under external"},
	{name: "agreement_hash", kind: hash, text: "of what was agreed"},
	{name: "receipt", kind: text, text: "pending or complete"},
	{name: "outcome", kind: text, text: "how it ended: the type of the last message, or the rule that was broken"},
	{name: "relay_misconduct", kind: text},
}

// with adds members to those of a list.
func with(list []param, more ...param) []param { return append(list[:len(list):len(list)], more...) }

// view is a session as a result has it.
func (c *call) view(v node.View) wire.M { return c.viewWith(v, newExternal()) }

// viewWith is view, with more to come among the words of others.
func (c *call) viewWith(v node.View, words *external) wire.M {
	r := wire.M{
		"session_id": v.Session, "state": stateName(v.State), "is_terminal": isOver(v.State), "your_turn": v.Turn && len(v.Moves) > 0,
		"legal_moves": moves(v.Moves), "legal_tools": c.toolsOf(v.Moves), "next": c.next(v), "version": v.Version,
		"transcript_length": v.Len, "round_count": v.Rounds, "parties": agents(v.Parties),
		"created_at": wire.FormatTime(v.Began),
	}
	optional := map[string]string{"role": string(v.Role), "receipt": string(v.Receipt), "relay_misconduct": v.Misconduct}
	if !v.Deadline.IsZero() {
		optional["deadline"] = wire.FormatTime(v.Deadline)
	}
	if v.Rounded > 0 {
		r["max_rounds"] = v.Rounded
	}
	if len(v.Coming) > 0 {
		r["waiting_for"] = v.Coming
	}
	if len(v.Undelivered) > 0 {
		r["not_told_yet"] = v.Undelivered
	}
	if v.Hash != (wire.Hash{}) {
		r["agreement_hash"] = v.Hash
	}
	c.read(v)
	whole := c.offer(v, words)
	if o := v.Offer; o != nil {
		r["offer"] = wire.M{"offer_id": o.ID, "from": o.From, "yours": o.Own, "complete": o.Complete, "hash": o.Hash, "ends": wire.FormatTime(o.Ends), "lapsed": o.Lapsed}
		if !whole && standing(v) == theirs {
			r["next"] = "The offer is too large to be shown whole. Read it in the resource concordia://session/ID/transcript. Take it with concordia_accept and its offer_id, answer with concordia_counter, or end with concordia_reject."
		}
	}
	if e := v.Ending; e != nil {
		optional["concluded_at"], optional["outcome"] = wire.FormatTime(e.At), string(e.Type)
		if e.Breach != "" {
			optional["outcome"] = "breach of " + e.Breach
		} else if e.Type == "" {
			optional["outcome"] = "the time ran out"
		}
		words.say("reason", e.Reason)
	}
	words.say("category", v.Category)
	words.put("terms", v.Terms)
	words.put("agreed_terms", v.Deal)
	if v.Last.Kind() != wire.Absent {
		words.members["last_message"] = words.message(v.Last)
	}
	for _, m := range v.Mandates {
		list, _ := words.members["mandates"].([]any)
		words.members["mandates"] = append(list, wire.M{
			"by": m.By, "mandate_id": words.clean(m.ID, maxShownName), "issuer": m.Issuer, "broken": words.clean(m.Broken, maxShownName),
		})
	}
	for name, s := range optional {
		if s != "" {
			r[name] = s
		}
	}
	return words.into(r)
}

// offer shows the current offer, if there is one, and reports whether the agent sees all
// of it. Only then it counts as shown: what is cut off may be the price.
func (c *call) offer(v node.View, words *external) (whole bool) {
	if v.Offer != nil {
		words.put("offer", v.Offer.Body)
	}
	whole = !words.truncated
	if whole {
		c.show(v.Session, v.Offer)
	} else {
		c.show(v.Session, nil)
	}
	return whole
}

// message is a message as a result has it.
func (e *external) message(v wire.Value) wire.M {
	m := wire.M{}
	for _, name := range []string{"id", "type", "timestamp", "body", "reasoning"} {
		if x, ok := v.Get(name); ok {
			m[name] = e.show(x, 1)
		}
	}
	if from, ok := v.At("from", "agent_id"); ok {
		m["from"] = e.show(from, 1)
	}
	return m
}

func isOver(s protocol.State) bool {
	return s == session.Agreed || s == session.Rejected || s == session.Expired || s == session.Dormant
}

func agents(list []wire.AgentID) []wire.AgentID {
	if list == nil {
		return []wire.AgentID{}
	}
	return list
}

func moves(list []wire.MessageType) []wire.MessageType {
	if list == nil {
		return []wire.MessageType{}
	}
	return list
}

// toolsOf names the tools that make moves.
func (s *Server) toolsOf(list []wire.MessageType) []string {
	names := []string{}
	for _, t := range s.tools {
		for _, m := range list {
			if t.messages == m {
				names = append(names, t.name)
			}
		}
	}
	return names
}

// next says what to do next, without deciding anything.
func (s *Server) next(v node.View) string {
	switch at := standing(v); {
	case v.Misconduct != "":
		return "The relay of this session misbehaves, and nothing more is taken from it. Tell your owner."
	case at == waiting && v.Role == session.Witness:
		return "You are a witness: you read, and say nothing."
	case at == waiting && len(v.Undelivered) > 0:
		return "Some who are invited could not be told yet; the node goes on trying. Hand them the result of concordia_invitation, or call concordia_wait."
	case at == waiting:
		return "Wait for the other party: concordia_wait."
	case at == asked:
		return "Read external.terms. Agree to negotiate with concordia_accept_session, or refuse with concordia_decline_session."
	case at == free && v.Offer != nil:
		return "The offer has lapsed, and nobody can accept it any more. Make one with concordia_propose, or wait for theirs: concordia_wait."
	case at == free:
		return "There is no offer. Make one with concordia_propose, or wait for theirs: concordia_wait."
	case at == own:
		return "Your offer stands. Wait for the answer: concordia_wait. You may replace it with concordia_counter."
	case at == committing:
		return "They accept your offer and ask you to commit as well: concordia_commit makes the agreement. Or replace the offer with concordia_counter."
	case at == given:
		return "You have accepted this offer, and it waits for others: concordia_wait."
	case at == theirs && v.Offer.Complete:
		return "Read external.offer. Take it with concordia_accept and its offer_id, answer with concordia_counter, or end with concordia_reject."
	case at == theirs:
		return "Read external.offer: it leaves something open. Choose or fill in with concordia_accept (accepted_terms or bundle_id), or answer with concordia_counter."
	case at == mediating:
		return "You are the mediator: propose a resolution with concordia_resolve, or wait: concordia_wait."
	case at == agreed && v.Receipt == node.ReceiptDone:
		return "Agreed, and all parties signed the receipt: concordia_session_receipt, concordia_agreement."
	case at == agreed:
		return "Agreed. The receipt waits for signatures: concordia_wait with until receipt."
	case at == dormant:
		return "Over for now. An offer by any party brings it back: concordia_propose."
	}
	return "It is over without an agreement. The receipt says so: concordia_session_receipt."
}

// agent finds an agent by id, or by the name of a contact.
func (s *Server) agent(ctx context.Context, at, name string) (wire.AgentID, error) {
	contacts, err := s.api.Contacts(ctx)
	if err != nil {
		return "", err
	}
	found := wire.AgentID(name)
	for count, i := 0, 0; i < len(contacts); i++ {
		if contacts[i].Name != name {
			continue
		}
		if count++; count > 1 {
			return "", refuse(at, "several contacts have that name: give the id")
		}
		found = contacts[i].Agent
	}
	if wire.CheckID(found) != nil {
		return "", refuse(at, "want the id of an agent, or the name of a contact: concordia_contacts lists them")
	}
	return found, nil
}

// party is an agent with its key, if its id says it.
func party(id wire.AgentID) wire.M {
	m := wire.M{"agent_id": id}
	if key, err := wire.ParseDIDKey(id); err == nil {
		m["public_key"] = key.String()
	}
	return m
}

// checkSelf refuses arguments that say that the agent is somebody else than it is.
func (c *call) checkSelf(ctx context.Context, name string) (node.Self, error) {
	self, err := c.api.Self(ctx)
	if err != nil {
		return self, err
	}
	if said := c.text(name); said != "" && wire.PlainDIDKey(wire.AgentID(said)) != self.Agent {
		return self, refuse("/"+name, "this node speaks for one agent only, and that is another: leave %s out", name)
	}
	return self, nil
}

// checkRole refuses a role that is not the agent's.
func (c *call) checkRole(v node.View) error {
	said := strings.ToLower(c.text("role"))
	is := map[string]protocol.Role{
		"": v.Role, "initiator": session.Initiator, "seller": session.Initiator, "proposer": session.Initiator,
		"responder": session.Responder, "buyer": session.Responder, "receiver": session.Responder, "mediator": session.Mediator,
	}
	if v.State == session.Start {
		return nil // nobody has joined: the move is refused for that
	}
	if role, known := is[said]; !known || role != v.Role {
		return refuse("/role", "you are the %s of this session: leave role out", v.Role)
	}
	return nil
}
