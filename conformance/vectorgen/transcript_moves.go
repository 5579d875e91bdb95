package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// bodies has, for each type of message, a body that would do wherever the type is
// allowed. The offer is complete and has an id that is new.
var bodies = map[wire.MessageType]string{
	wire.TypeOpen: `{"terms": {"boats": {"type": "numeric"}}}`, wire.TypeAcceptSession: `{}`, wire.TypeDeclineSession: `{}`,
	wire.TypeOffer:   strings.Replace(offerOne, "off_1", "off_9", 1),
	wire.TypeCounter: strings.Replace(offerOne, "off_1", "off_9", 1),
	wire.TypeAccept:  `{}`, wire.TypeReject: `{}`, wire.TypeInquire: `{"term_ids": ["price"]}`,
	wire.TypeConstrain: `{"constraints": {"price": {"max": 800}}}`, wire.TypeSignal: `{}`, wire.TypeWithdraw: `{}`,
	wire.TypeProposeMediator: `{"mediator_id": "` + broker + `"}`,
	wire.TypeResolve:         `{"terms": {"price": {"value": 580, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": 7}, "skipper": {"value": false}}}`,
	wire.TypeCommit:          `{}`,
}

// move says the body of that type.
func move(from string, t wire.MessageType, seconds int) func(wire.Value) wire.Value {
	return say(from, t.Short(), seconds, bodies[t])
}

// article puts the right article before a type.
func article(t wire.MessageType) string {
	name := strings.ReplaceAll(t.Short(), "_", " ")
	if strings.ContainsRune("aio", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// transcriptMoves are the states of a session and the moves that each allows.
func transcriptMoves() specimen {
	s := transcript("move", deal(), two)
	states := []struct {
		name  string
		reach func(wire.Value) wire.Value // from deal
		from  string                      // who tries
		legal []wire.MessageType          // with the bodies above
		own   map[wire.MessageType]*wire.Rule
	}{
		{"start", first(0), hirer, []wire.MessageType{wire.TypeOpen}, nil},
		{"proposed", first(1), guide, []wire.MessageType{wire.TypeAcceptSession, wire.TypeDeclineSession}, nil},
		{"active", first(4), hirer, []wire.MessageType{wire.TypeOffer, wire.TypeCounter, wire.TypeInquire, wire.TypeConstrain, wire.TypeSignal, wire.TypeProposeMediator,
			wire.TypeAccept, wire.TypeReject, wire.TypeWithdraw, wire.TypeCommit}, map[wire.MessageType]*wire.Rule{wire.TypeResolve: session.RuleRole}},
		{"agreed", first(5), guide, []wire.MessageType{wire.TypeCommit}, nil},
		{"rejected", all(first(4), move(hirer, wire.TypeReject, 180)), guide, nil, nil},
		{"declined", all(first(1), move(guide, wire.TypeDeclineSession, 30)), guide, nil, nil},
		{"dormant", all(first(4), say(hirer, "withdraw", 180, `{"reactivatable": true}`)), guide, []wire.MessageType{wire.TypeOffer}, nil},
	}
	for _, st := range states {
		for _, t := range wire.MessageTypes() {
			if st.name == "declined" && t != wire.TypeAcceptSession && t != wire.TypeOffer && t != wire.TypeDeclineSession {
				continue // as rejected
			}
			f := fault{name: st.name + "-" + slug(t.Short()), edit: all(st.reach, move(st.from, t, 240))}
			switch {
			case st.own[t] != nil:
				f.rule, f.why, f.breaks = st.own[t], article(t)+" is for another role", "a party decides for all in the place of the mediator"
			case contains(st.legal, t):
				f.why = fmt.Sprintf("in a session that is %s there may be %s", st.name, article(t))
			default:
				f.rule = session.RuleTransition
				f.why = fmt.Sprintf("in a session that is %s there is no place for %s", st.name, article(t))
				f.breaks = "the parties go on from different states, and each is sure of its own"
			}
			s.faults = append(s.faults, f)
		}
	}
	s.faults = append(s.faults, endings()...)
	s.faults = append(s.faults, roleFaults()...)
	s.faults = append(s.faults, consentFaults()...)
	return s
}

func contains(list []wire.MessageType, t wire.MessageType) bool {
	for _, e := range list {
		if e == t {
			return true
		}
	}
	return false
}

// endings are ways to end and to come back.
func endings() []fault {
	ended := all(first(4), move(hirer, wire.TypeReject, 180))
	asleep := all(first(4), say(hirer, "reject", 180, `{"reactivatable": true, "reason": "too dear this year"}`))
	back := all(asleep, move(guide, wire.TypeOffer, 300))
	const late = "a session that is over goes on for one of its parties"
	return []fault{
		{name: "rejected-signal-that-returns", edit: all(ended, say(hirer, "signal", 240, `{"reactivatable": true}`), move(guide, wire.TypeOffer, 300)), why: "whoever says so later makes a rejected session dormant, and an offer brings it back"},
		{name: "rejected-withdraw-that-returns", edit: all(ended, say(guide, "withdraw", 240, `{"reactivatable": true}`)), why: "whoever says so later makes a rejected session dormant"},
		{name: "rejected-signal-that-does-not", rule: session.RuleTransition, edit: all(ended, say(hirer, "signal", 240, `{"reactivatable": false}`)), why: "only a signal that would return changes an end", breaks: late},
		{name: "declined-returns", edit: all(first(1), say(guide, "decline_session", 30, `{"reactivatable": true}`), move(hirer, wire.TypeOffer, 60)), why: "a session that was declined for now comes back with an offer"},
		{name: "returned-and-agreed", edit: all(back, say(hirer, "accept", 360, `{"offer_id": "off_9"}`)), why: "a session that came back can be concluded"},
		{name: "returned-counter", rule: session.RuleTransition, edit: all(asleep, move(guide, wire.TypeCounter, 300)), why: "an offer brings a session back, and a counter does not", breaks: late},
		{name: "returned-accept", rule: session.RuleTransition, edit: all(asleep, say(guide, "accept", 300, `{"offer_id": "off_2"}`)), why: "the offers from before the end are gone", breaks: late},
		{name: "returned-same-offer-id", rule: session.RuleOfferID, edit: all(asleep, say(guide, "offer", 300, offerTwo)), why: "no earlier offer of the session has this id, not even one from before the end", breaks: "an accept by id is of either of two offers"},
		{name: "dormant-twice", rule: session.RuleTransition, edit: all(asleep, say(guide, "signal", 240, `{"reactivatable": true}`)), why: "a session that is dormant is woken by an offer and by nothing else", breaks: late},
		{name: "withdraw-after-agreement", rule: session.RuleTransition, edit: all(first(5), say(guide, "withdraw", 240, `{"reactivatable": true}`)), why: "nobody withdraws from a deal that was made", breaks: "a party takes back what it agreed to"},
		{name: "reject-own-offer", edit: all(first(3), move(hirer, wire.TypeReject, 90)), why: "each party may end a session, at any time"},
		{name: "returns-if", edit: all(first(4), say(hirer, "withdraw", 180, `{"reactivatable": true, "returns_if": {"constraints": {"price": {"max": 500}}, "after": "2026-10-01T00:00:00Z"}}`)), why: "whoever leaves may say what would bring it back"},
	}
}

// roleFaults are messages of somebody who may not send them.
func roleFaults() []fault {
	const forced = "somebody who has no say in a session moves it"
	uninvited := set("/messages/0/to", `[]`)
	return []fault{
		{name: "accept-session-by-initiator", rule: session.RuleRole, edit: all(first(1), move(hirer, wire.TypeAcceptSession, 30)), why: "a responder accepts the session", breaks: "an initiator opens a session with somebody who never agreed to it"},
		{name: "decline-session-by-initiator", rule: session.RuleRole, edit: all(first(1), move(hirer, wire.TypeDeclineSession, 30)), why: "a responder declines the session", breaks: "a receipt says that a responder refused who never answered"},
		{name: "resolve-by-responder", rule: session.RuleRole, edit: all(first(4), move(guide, wire.TypeResolve, 180)), why: "a mediator resolves", breaks: "a party decides for all in the place of the mediator"},
		{name: "stranger-offers", rule: session.RuleParty, edit: all(first(4), move(broker, wire.TypeOffer, 180)), why: "only the parties speak", breaks: forced},
		{name: "stranger-accepts", rule: session.RuleParty, edit: all(first(4), move(broker, wire.TypeAccept, 180)), why: "only the parties speak", breaks: forced},
		{name: "stranger-rejects", rule: session.RuleParty, edit: all(first(4), move(broker, wire.TypeReject, 180)), why: "only the parties speak", breaks: forced},
		{name: "stranger-signals", rule: session.RuleParty, edit: all(first(4), move(broker, wire.TypeSignal, 180)), why: "only the parties speak, be it without effect", breaks: forced},
		{name: "stranger-joins", rule: session.RuleParty, edit: all(first(1), move(broker, wire.TypeAcceptSession, 30)), why: "who was invited answers", breaks: forced},
		{name: "stranger-declines", rule: session.RuleParty, edit: all(first(1), move(broker, wire.TypeDeclineSession, 30)), why: "who was invited answers", breaks: forced},
		{name: "opened-by-responder", rule: session.RuleParty, edit: all(first(0), say(guide, "open", 0, bodies[wire.TypeOpen])), why: "the reader knows who is the initiator", breaks: "roles are exchanged, and with them who offered and who was asked"},
		{name: "opened-by-stranger", rule: session.RuleParty, edit: all(first(0), saying(to(line(broker, "open", 0, bodies[wire.TypeOpen]), guide))), why: "the reader knows who is the initiator", breaks: forced},
		{name: "invites-stranger", rule: session.RuleParty, edit: all(first(1), in(0, "/to", `[{"agent_id":"`+guide+`"},{"agent_id":"`+broker+`"}]`)), why: "the reader knows who the responders are", breaks: forced},
		{name: "invites-only-stranger", rule: session.RuleParty, edit: all(first(1), in(0, "/to", `[{"agent_id":"`+broker+`"}]`)), why: "the reader knows who the responders are", breaks: forced},
		{name: "parties-unknown", context: wire.M{"parties": nil}, why: "a reader that does not know the parties takes those that open names"},
		{name: "parties-unknown-stranger", rule: session.RuleParty, edit: all(first(4), move(broker, wire.TypeOffer, 180)), context: wire.M{"parties": nil}, why: "who is not in open is no party, whoever reads", breaks: forced},
		{name: "parties-unknown-stranger-joins", rule: session.RuleParty, edit: all(first(1), move(broker, wire.TypeAcceptSession, 30)), context: wire.M{"parties": nil}, why: "who is not in open is no party, whoever reads", breaks: forced},
		{name: "parties-swapped", rule: session.RuleParty, context: wire.M{"parties": wire.M{hirer: "responder", guide: "initiator"}}, why: "the reader knows who has which role", breaks: "roles are exchanged, and with them who offered and who was asked"},
		{name: "parties-of-another-session", rule: session.RuleParty, context: wire.M{"parties": wire.M{third: "initiator", fourth: "responder"}}, why: "the reader knows who the parties are", breaks: forced},
		{name: "parties-without-responder", rule: session.RuleParty, context: wire.M{"parties": wire.M{hirer: "initiator"}}, why: "the reader knows who the parties are", breaks: forced},
		{name: "open-to-anybody", edit: uninvited, why: "a session may be opened to whoever answers first"},
		{name: "open-without-to", edit: drop("/messages/0/to"), why: "a session may be opened to whoever answers first"},
		{name: "open-to-anybody-stranger", rule: session.RuleParty, edit: all(first(1), uninvited, move(broker, wire.TypeAcceptSession, 30)), why: "the reader knows who the responder is, even if open does not", breaks: forced},
		{name: "open-to-anybody-second", rule: session.RuleParty, edit: all(first(2), uninvited, move(broker, wire.TypeOffer, 60)), context: wire.M{"parties": nil}, why: "who answered first is the one responder", breaks: forced},
	}
}

// consentFaults are accepts and commits that take no offer.
func consentFaults() []fault {
	const nothing = "a deal is made that the other side never offered"
	const twice = "one party's consent counts for two"
	return []fault{
		{name: "accept-nothing", rule: session.RuleNoOffer, edit: all(first(2), move(hirer, wire.TypeAccept, 60)), why: "there is an offer to accept", breaks: nothing},
		{name: "accept-nothing-by-name", rule: session.RuleNoOffer, edit: all(first(2), say(guide, "accept", 60, `{"offer_id": "off_1"}`)), why: "an offer that nobody made cannot be accepted", breaks: nothing},
		{name: "commit-nothing", rule: session.RuleNoOffer, edit: all(first(2), move(guide, wire.TypeCommit, 60)), why: "there is an offer to commit to", breaks: nothing},
		{name: "accept-after-return", rule: session.RuleNoOffer, edit: all(first(3), say(guide, "constrain", 90, `{"constraints": {"price": {"max": 600}}}`), say(guide, "accept", 120, `{"offer_id": "off_1"}`)), why: "an offer that a new constraint excludes has lapsed", breaks: "a party agrees to what it declared impossible"},
		{name: "accept-own", rule: session.RuleOwnOffer, edit: all(first(3), say(hirer, "accept", 90, `{"offer_id": "off_1"}`)), why: "the other side accepts", breaks: "a party makes a deal with itself"},
		{name: "accept-own-unnamed", rule: session.RuleOwnOffer, edit: all(first(3), move(hirer, wire.TypeAccept, 90)), why: "the other side accepts", breaks: "a party makes a deal with itself"},
		{name: "accept-own-counter", rule: session.RuleOwnOffer, edit: all(first(4), move(guide, wire.TypeAccept, 150)), why: "the other side accepts a counter as well", breaks: "a party makes a deal with itself"},
		{name: "commit-own", rule: session.RuleOwnOffer, edit: all(first(3), move(hirer, wire.TypeCommit, 90)), why: "the offerer commits after the others", breaks: "a party makes a deal with itself"},
		{name: "accept-older", rule: session.RuleSuperseded, edit: in(indexAccept, "/body/offer_id", `"off_1"`), why: "a counter replaces the offer before it", breaks: "a party takes an offer that its maker gave up"},
		{name: "accept-unknown", rule: session.RuleSuperseded, edit: in(indexAccept, "/body/offer_id", `"off_3"`), why: "an accept names the current offer", breaks: "two parties agree to two different offers"},
		{name: "accept-other-case", rule: session.RuleSuperseded, edit: in(indexAccept, "/body/offer_id", `"OFF_2"`), why: "ids are compared letter for letter", breaks: "two parties agree to two different offers"},
		{name: "accept-crossed", rule: session.RuleSuperseded, edit: all(first(4), say(guide, "counter", 150, strings.Replace(offerTwo, "off_2", "off_3", 1)), say(hirer, "accept", 180, `{"offer_id": "off_2"}`)), why: "an accept that crossed a newer offer does not take it", breaks: "a party is held to terms that it had not read"},
		{name: "commit-older", rule: session.RuleSuperseded, edit: all(first(4), say(hirer, "commit", 180, `{"offer_id": "off_1"}`)), why: "a commit names the current offer", breaks: "a party takes an offer that its maker gave up"},
		{name: "confirm-other", rule: session.RuleSuperseded, edit: say(guide, "commit", 240, `{"offer_id": "off_1"}`), why: "what is confirmed is what was agreed to", breaks: "a confirmation names other terms than the deal"},
		{name: "accept-unnamed", edit: in(indexAccept, "/body", `{}`), why: "an accept that names no offer takes the current one"},
		{name: "commit-instead", edit: in(indexAccept, "/type", `"negotiate.commit"`), why: "a commit is an accept"},
		{name: "confirm-once-each", edit: all(move(guide, wire.TypeCommit, 240), move(hirer, wire.TypeCommit, 300)), why: "each party may confirm once"},
		{name: "confirm-twice", rule: session.RuleTwice, edit: all(move(guide, wire.TypeCommit, 240), move(guide, wire.TypeCommit, 300)), why: "each party confirms once", breaks: twice},
		{name: "confirm-with-terms", edit: all(first(5), say(guide, "commit", 240, `{"terms": {"price": {"value": 540, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": "south"}, "skipper": {"value": true}, "note": {"value": "tanks full"}, "gear": {"value": ["oars", "anchor"]}}}`)), why: "a commit may repeat the deal"},
		{name: "confirm-other-price", rule: session.RuleOtherDeal, edit: all(first(5), say(guide, "commit", 240, `{"terms": {"price": {"value": 640, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": "south"}, "skipper": {"value": true}, "note": {"value": "tanks full"}, "gear": {"value": ["oars", "anchor"]}}}`)), why: "what a commit repeats is the deal", breaks: "the last signed word of a session names another price than the deal"},
		{name: "confirm-fewer-terms", rule: session.RuleOtherDeal, edit: all(first(5), say(guide, "commit", 240, `{"terms": {"price": {"value": 540, "currency": "EUR"}}}`)), why: "what a commit repeats is the whole deal", breaks: "the last signed word of a session leaves out a part of the deal"},
		{name: "confirm-more-terms", rule: session.RuleOtherDeal, edit: all(first(5), say(guide, "commit", 240, `{"terms": {"tip": {"value": 20}, "price": {"value": 540, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": "south"}, "skipper": {"value": true}, "note": {"value": "tanks full"}, "gear": {"value": ["oars", "anchor"]}}}`)), why: "what a commit repeats is the deal and nothing more", breaks: "the last signed word of a session adds to the deal"},
		{name: "one-commit-concludes", rule: session.RuleTransition, edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(guide, wire.TypeSignal, 240)), why: "as the reference implementation makes it, one commit concludes a session", breaks: "the parties go on from different states"},
		{name: "commit-waits", edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(guide, wire.TypeSignal, 240), move(guide, wire.TypeCommit, 300)), context: wire.M{"import": false}, why: "without the reference implementation's reading a commit waits for the offerer's"},
		{name: "commit-twice-before", rule: session.RuleTwice, edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(hirer, wire.TypeCommit, 240)), context: wire.M{"import": false}, why: "a party commits once, also while the other's commit is awaited", breaks: twice},
		{name: "accept-after-commit", rule: session.RuleTwice, edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(hirer, wire.TypeAccept, 240)), context: wire.M{"import": false}, why: "a commit is an accept, and a party accepts once", breaks: twice},
		{name: "commit-of-offerer-in-time", edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(guide, wire.TypeCommit, 120+3599)), context: wire.M{"import": false, "now": clock(7200)}, why: "the offerer commits before its offer lapses"},
		{name: "commit-of-offerer-late", rule: session.RuleOfferTTL, edit: all(first(4), move(hirer, wire.TypeCommit, 180), move(guide, wire.TypeCommit, 120+3600)), context: wire.M{"import": false, "now": clock(7200)}, why: "the offerer commits before its offer lapses", breaks: "an offerer waits for the market and then decides"},
	}
}
