package main

import (
	"maps"
	"strings"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

var four = map[string]string{hirer: "initiator", guide: "responder", third: "responder", fourth: "responder"}

const bundleOffer = `{"offer_id": "off_1", "bundles": [{"bundle_id": "lake", "terms": {"days": {"value": 2}}}, {"bundle_id": "coast", "terms": {"days": {"value": 5}}}]}`

// transcriptMany are sessions of four parties, with a mediator they all named.
func transcriptMany() specimen {
	s := transcript("many", talk(
		to(line(hirer, "open", 0, `{"terms": {"days": {"type": "numeric", "min": 1, "max": 14}}}`), guide, third, fourth),
		line(third, "accept_session", 10, `{}`),
		line(guide, "accept_session", 20, `{}`),
		line(fourth, "accept_session", 30, `{}`),
		line(guide, "offer", 60, bundleOffer),
		line(hirer, "accept", 90, `{"bundle_id": "lake"}`),
		line(third, "accept", 100, `{"bundle_id": "lake"}`),
		line(fourth, "accept", 110, `{"bundle_id": "lake"}`),
	), four)
	s = chained(s)
	s.inner = inside(s.value, "/body", "/from")
	const split = "parties are bound to different deals, or somebody is bound who did not agree"
	s.faults = []fault{
		{name: "not-all-joined", rule: session.RuleTransition, edit: all(first(3), say(guide, "offer", 60, bundleOffer)), why: "a session begins when every responder has accepted it", breaks: "an offer is made before all know who is there"},
		{name: "joined-twice", rule: session.RuleTwice, edit: all(first(2), move(third, wire.TypeAcceptSession, 20)), why: "a responder accepts the session once", breaks: "one responder's consent counts for two"},
		{name: "one-declines", edit: all(first(3), move(fourth, wire.TypeDeclineSession, 30)), why: "one decline ends the session"},
		{name: "offer-after-decline", rule: session.RuleTransition, edit: all(first(3), move(fourth, wire.TypeDeclineSession, 30), say(guide, "offer", 60, bundleOffer)), why: "one decline ends the session for all", breaks: split},
		{name: "accepted-twice", rule: session.RuleTwice, edit: all(first(6), say(hirer, "accept", 100, `{"bundle_id": "lake"}`)), why: "a party accepts an offer once", breaks: "one party's consent counts for two"},
		{name: "accepted-twice-otherwise", rule: session.RuleTwice, edit: all(first(6), say(hirer, "accept", 100, `{"bundle_id": "coast"}`)), why: "a party does not exchange what it accepted", breaks: split},
		{name: "accept-of-offerer", rule: session.RuleOwnOffer, edit: all(first(6), say(guide, "accept", 100, `{"bundle_id": "lake"}`)), why: "the offerer does not accept its own offer, whoever else did", breaks: "one party's consent counts for two"},
		{name: "other-bundle", rule: session.RuleOtherDeal, edit: all(first(6), say(third, "accept", 100, `{"bundle_id": "coast"}`)), why: "all select the same bundle", breaks: split},
		{name: "other-bundle-last", rule: session.RuleOtherDeal, edit: in(7, "/body/bundle_id", `"coast"`), why: "all select the same bundle, the last like the first", breaks: split},
		{name: "other-bundle-by-terms", rule: session.RuleOtherDeal, edit: in(7, "/body", `{"accepted_terms": {"days": 5}}`), why: "all select the same bundle, however they say it", breaks: split},
		{name: "other-bundle-committed", rule: session.RuleOtherDeal, edit: all(first(6), say(third, "commit", 100, `{"bundle_id": "coast"}`)), why: "a commit selects what the others selected", breaks: split},
		{name: "other-value-filled-in", rule: session.RuleOtherDeal, edit: all(first(4), say(guide, "offer", 60, `{"offer_id": "off_1", "terms": {}, "open_terms": ["days"]}`), say(hirer, "accept", 90, `{"accepted_terms": {"days": 3}}`), say(third, "accept", 100, `{"accepted_terms": {"days": 4}}`)), why: "all fill in the same value", breaks: split},
		{name: "same-value-filled-in", edit: all(first(4), say(guide, "offer", 60, `{"offer_id": "off_1", "terms": {}, "open_terms": ["days"]}`), say(hirer, "accept", 90, `{"accepted_terms": {"days": 3}}`), say(third, "accept", 100, `{"accepted_terms": {"days": {"value": 3}}}`)), why: "all fill in the same value, however it is spelled"},
		{name: "same-bundle-by-terms", edit: in(7, "/body", `{"accepted_terms": {"days": 2}}`), why: "all select the same bundle, however they say it"},
		{name: "other-selection-confirmed", rule: session.RuleOtherDeal, edit: say(guide, "commit", 120, `{"bundle_id": "coast"}`), why: "what is confirmed is what was selected", breaks: split},
		{name: "selection-confirmed", edit: say(guide, "commit", 120, `{"bundle_id": "lake"}`), why: "a commit may repeat the selection"},
		{name: "agreed-too-soon", edit: all(first(7), move(fourth, wire.TypeSignal, 110)), why: "as long as one has not accepted, the session goes on"},
		{name: "agreed-by-all", rule: session.RuleTransition, edit: move(fourth, wire.TypeSignal, 120), why: "when the last has accepted the deal is made", breaks: split},
		{name: "new-offer-clears", edit: all(first(6), say(third, "counter", 100, `{"offer_id": "off_2", "terms": {"days": {"value": 3}}}`), move(hirer, wire.TypeAccept, 110), move(guide, wire.TypeAccept, 120), move(fourth, wire.TypeAccept, 130)), why: "a new offer is accepted anew"},
		{name: "constraint-of-a-third", rule: offer.RuleConstraint, edit: all(first(4), say(fourth, "constrain", 50, `{"constraints": {"days": {"max": 4}}}`), say(guide, "offer", 60, bundleOffer)), why: "an offer keeps the limits of every party", breaks: "a party is bound beyond what it declared possible"},
		{name: "one-ends-for-all", edit: all(first(5), move(third, wire.TypeWithdraw, 90)), why: "one party ends the session for all"},
		{name: "accept-after-one-ended", rule: session.RuleTransition, edit: all(first(5), move(third, wire.TypeWithdraw, 90), say(hirer, "accept", 100, `{"bundle_id": "lake"}`)), why: "one party ends the session for all", breaks: split},
		{name: "party-left-out", rule: session.RuleParty, edit: all(first(5), in(0, "/to", `[{"agent_id":"`+guide+`"},{"agent_id":"`+third+`"}]`)), why: "whom open does not name is no party", breaks: "somebody joins whom the others do not know of"},
		{name: "committed-twice", rule: session.RuleTwice, edit: all(first(5), say(hirer, "commit", 90, `{"bundle_id": "lake"}`), say(hirer, "commit", 100, `{"bundle_id": "lake"}`)), why: "a party commits once", breaks: "one party's consent counts for two"},
	}
	s.faults = append(s.faults, moved(s.value)...)
	return s
}

// transcriptMediated is a session of three in which a mediator resolves.
func transcriptMediated() specimen {
	three := maps.Clone(four)
	delete(three, fourth)
	three[broker] = "mediator"
	nominated := `{"mediator_id": "` + broker + `"}`
	resolution := `{"terms": {"days": {"value": 4}}, "mechanism": "foa"}`
	s := transcript("mediated", talk(
		to(line(hirer, "open", 0, `{"terms": {"days": {"type": "numeric", "min": 1, "max": 14}, "note": {"type": "text", "value": "rain or shine"}}, "timing": {"offer_ttl": 600}}`), guide, third),
		line(guide, "accept_session", 10, `{}`),
		line(third, "accept_session", 20, `{}`),
		line(hirer, "propose_mediator", 30, nominated),
		line(guide, "propose_mediator", 40, nominated),
		line(third, "propose_mediator", 50, nominated),
		line(broker, "resolve", 60, resolution),
		line(guide, "accept", 70, `{}`),
		line(hirer, "accept", 80, `{}`),
		line(third, "accept", 90, `{}`),
	), three)
	s.inner = inside(s.value)
	s.faults = append(clockFaults(s.value, numbered(s.value)), deadlineFaults(s.value, numbered(s.value))...)
	const usurped = "somebody decides for all whom not all have asked"
	bad := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		s.faults = append(s.faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	good := func(name string, edit func(wire.Value) wire.Value, why string) {
		s.faults = append(s.faults, fault{name: name, edit: edit, why: why})
	}
	bad("named-by-two", session.RuleParty, all(first(5), say(broker, "resolve", 60, resolution)), "a mediator is named by all", usurped)
	bad("named-by-one", session.RuleParty, all(first(4), say(broker, "resolve", 60, resolution)), "a mediator is named by all", usurped)
	bad("named-by-none", session.RuleParty, all(first(3), say(broker, "resolve", 60, resolution)), "a mediator is named by all", usurped)
	bad("one-named-another", session.RuleParty, all(first(7), in(5, "/body/mediator_id", `"did:web:other.example"`)), "all name the same mediator", usurped)
	bad("one-changed-its-mind", session.RuleParty, all(first(6), say(guide, "propose_mediator", 55, `{"mediator_id": "did:web:other.example"}`), say(broker, "resolve", 60, resolution)), "the latest nomination counts", usurped)
	bad("other-mediator", session.RuleParty, all(first(6), say(thief, "resolve", 60, resolution)), "only the one that all named resolves", usurped)
	s.faults[len(s.faults)-1].context = wire.M{"public_keys": publicKeys(hirer, guide, third, broker, thief)}
	bad("mediator-not-expected", session.RuleParty, nil, "the reader knows who may mediate", usurped)
	s.faults[len(s.faults)-1].context = wire.M{"parties": wire.M{hirer: "initiator", guide: "responder", third: "responder"}}
	s.faults = append(s.faults, fault{name: "mediator-unknown-to-reader", context: wire.M{"parties": nil}, why: "a reader that does not know the parties takes the mediator that all of them named"})
	for _, t := range []wire.MessageType{wire.TypeOffer, wire.TypeCounter, wire.TypeAccept, wire.TypeReject, wire.TypeWithdraw, wire.TypeSignal, wire.TypeConstrain, wire.TypeInquire, wire.TypeProposeMediator, wire.TypeCommit} {
		body := bodies[t]
		if t == wire.TypeOffer || t == wire.TypeCounter {
			body = `{"offer_id": "off_1", "terms": {"days": {"value": 4}}}`
		}
		bad("mediator-says-"+slug(t.Short()), session.RuleRole, all(first(6), say(hirer, "offer", 55, `{"offer_id": "off_0", "terms": {"days": {"value": 4}}}`), say(broker, t.Short(), 60, body)), "a mediator resolves and does nothing else: it has no "+t.Short(), "a mediator is a party that nobody counts")
	}
	bad("resolve-by-party", session.RuleRole, all(first(6), say(third, "resolve", 60, resolution)), "no party resolves, though there is a mediator", usurped)
	for _, c := range []struct {
		name, body, why string
		rule            *wire.Rule
	}{
		{"no-terms", `{}`, "a resolution has terms", offer.RuleShape}, {"terms-list", `{"terms": []}`, "terms is an object", offer.RuleShape}, {"incomplete", `{"terms": {}}`, "a resolution gives every term of open a value", offer.RuleComplete},
		{"mechanism-other", `{"terms": {"days": {"value": 4}}, "mechanism": "dice"}`, "there are four mechanisms", session.RuleBody}, {"mechanism-capital", `{"terms": {"days": {"value": 4}}, "mechanism": "Split"}`, "there are four mechanisms", session.RuleBody}, {"mechanism-null", `{"terms": {"days": {"value": 4}}, "mechanism": null}`, "a mechanism is left out or a text", session.RuleBody},
		{"mechanism-direct", `{"terms": {"days": {"value": 4}}, "mechanism": "direct"}`, "direct is what a receipt says of a deal without a mediator", session.RuleBody}, {"twin", `{"terms": {"days": {"value": 4}}, "Terms": {}}`, "no member of the body differs from terms only in case", session.RuleBody},
		{"outside", `{"terms": {"days": {"value": 15}}}`, "a resolution keeps the bounds of open", offer.RuleTermBounds}, {"type", `{"terms": {"days": {"value": "four"}}}`, "a resolution has values of the type of their terms", offer.RuleTermType}, {"plain-value", `{"terms": {"days": 4}}`, "a term of a resolution is an object", offer.RuleTerm},
	} {
		bad("resolution-"+c.name, c.rule, all(first(6), say(broker, "resolve", 60, c.body)), c.why, "all are asked to accept what cannot be a deal")
	}
	for _, m := range []string{"split", "foa", "tradeoff", "escalation"} {
		good("mechanism-"+m, in(6, "/body/mechanism", `"`+m+`"`), m+" is one of the four mechanisms")
	}
	good("no-mechanism", drop("/messages/6/body/mechanism"), "a resolution need not say by which mechanism")
	bad("against-constraint", offer.RuleConstraint, all(first(6), say(third, "constrain", 55, `{"constraints": {"days": {"max": 3}}}`), say(broker, "resolve", 60, resolution)), "a resolution keeps the limits of every party", "a mediator binds a party beyond what it declared possible")
	bad("accepted-twice", session.RuleTwice, all(first(8), move(guide, wire.TypeAccept, 80)), "a party accepts a resolution once", "one party's consent counts for two")
	bad("accepted-by-name", session.RuleSuperseded, all(first(7), say(guide, "accept", 70, `{"offer_id": "off_0"}`)), "a resolution has no id to accept it by", "a party agrees to something else")
	bad("accepted-older", session.RuleSuperseded, all(first(6), say(hirer, "offer", 55, `{"offer_id": "off_0", "terms": {"days": {"value": 3}}}`), say(broker, "resolve", 60, resolution), say(guide, "accept", 70, `{"offer_id": "off_0"}`)), "a resolution replaces the offer before it", "a party agrees to something else")
	bad("accepted-otherwise", offer.RuleSelect, all(first(7), say(guide, "accept", 70, `{"accepted_terms": {"days": 5}}`)), "what is accepted is the resolution", "a party agrees to something else")
	bad("accepted-late", session.RuleOfferTTL, timed(9, 660), "a resolution lapses like an offer", "a party waits until the market has moved, and then takes it")
	good("accepted-in-last-second", timed(9, 659), "until offer_ttl has passed a resolution stands")
	good("mediator-dropped", all(first(7), say(guide, "propose_mediator", 65, `{"mediator_id": "did:web:other.example"}`), move(guide, wire.TypeAccept, 70), move(hirer, wire.TypeAccept, 80), move(third, wire.TypeAccept, 90)), "a resolution stays the current offer, whoever is nominated later")
	good("resolved-after-the-rounds", all(first(6), in(0, "/body/timing/max_rounds", "1"), say(hirer, "offer", 55, `{"offer_id": "off_0", "terms": {"days": {"value": 3}}}`), say(broker, "resolve", 60, resolution)), "a resolution is no round")
	return s
}

// transcriptEvidence is a session that a message ended which broke its rules.
func transcriptEvidence() specimen {
	v := all(first(4), set("/evidence", line(hirer, "accept", 180, `{"offer_id": "off_1"}`).With("id", wire.Text("msg_5")).Canonical()))(deal())
	s := transcript("evidence", v, two)
	s.inner = []string{"/evidence", "/evidence/from", "/evidence/body"}
	legal := func(l wire.Value) func(wire.Value) wire.Value {
		return set("/evidence", l.With("id", wire.Text("msg_5")).Canonical())
	}
	const framed = "a session is shown as broken by a party that did nothing wrong"
	bad := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		s.faults = append(s.faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	bad("legal-move", session.RuleEvidence, legal(line(hirer, "accept", 180, `{"offer_id": "off_2"}`)), "evidence breaks a rule: a legal move belongs into the transcript", framed)
	bad("legal-signal", session.RuleEvidence, legal(line(guide, "signal", 180, `{}`)), "evidence breaks a rule", framed)
	bad("legal-end", session.RuleEvidence, legal(line(guide, "reject", 180, `{}`)), "evidence breaks a rule: an end is none", framed)
	bad("by-stranger", session.RuleEvidence, legal(line(broker, "accept", 180, `{}`)), "only a party can break a session: a stranger's message should never have been admitted", "whoever has a key ends any session")
	bad("only-late", session.RuleEvidence, all(in(0, "/body/timing", `{"session_ttl": 170}`), legal(line(hirer, "counter", 180, strings.Replace(offerTwo, "off_2", "off_3", 1)))), "a message that only came after the deadline breaks nothing: the session has expired", framed)
	bad("other-session", session.RuleEvidence, set("/evidence/session_id", `"ses_boats_42"`), "evidence is a message of the session", framed)
	bad("id-used", session.RuleEvidence, set("/evidence/id", `"msg_2"`), "evidence was admitted: its id is new", framed)
	bad("from-the-future", session.RuleEvidence, set("/evidence/timestamp", `"`+clock(1921)+`"`), "evidence was admitted: it is not after now", framed)
	bad("backdated", session.RuleEvidence, set("/evidence/timestamp", `"`+clock(-1)+`"`), "evidence was admitted: it is not before the session clock", framed)
	s.faults = append(s.faults,
		fault{name: "does-not-follow", rule: session.RuleEvidence, after: func(v wire.Value) wire.Value {
			e, _ := v.Get("evidence")
			return v.With("evidence", signedBySender(e.With("prev_hash", wire.Text(wire.HashOf("elsewhere").String()))))
		}, why: "evidence follows the last message", breaks: framed},
		fault{name: "follows-an-earlier", rule: session.RuleEvidence, after: func(v wire.Value) wire.Value {
			e, _ := v.Get("evidence")
			return v.With("evidence", signedBySender(e.With("prev_hash", wire.Text(messages(v)[2].Hash().String()))))
		}, why: "evidence follows the last message, not an earlier one", breaks: framed},
		fault{name: "not-signed-by-its-sender", rule: wire.RuleSignature, after: func(v wire.Value) wire.Value {
			e, _ := v.Get("evidence")
			return v.With("evidence", signedBare(guide)(e))
		}, why: "evidence is signed by whom it accuses", breaks: framed},
		fault{name: "changed", rule: wire.RuleSignature, after: set("/evidence/body/offer_id", `"off_7"`), why: "evidence is signed as it is", breaks: framed},
		fault{name: "signature-unpadded", rule: wire.RuleSignatureForm, after: respell("/evidence/signature", spellings[0].edit), why: "a signature has one spelling, here as elsewhere", breaks: spellingBreaks},
	)
	for _, m := range envelopeRequired {
		bad("without-"+slug(m), wire.RuleEnvelope, drop("/evidence/"+m), "evidence is a message: it has "+m, framed)
	}
	for _, c := range []struct {
		name string
		edit func(wire.Value) wire.Value
		why  string
	}{
		{"transition", legal(line(guide, "open", 180, `{"terms": {}}`)), "a move that the state does not allow is a breach"},
		{"body", legal(line(guide, "inquire", 180, `{}`)), "a body that does not fit is a breach"},
		{"own-offer", legal(line(guide, "accept", 180, `{}`)), "an accept of one's own offer is a breach"},
		{"constraint", all(first(2), say(guide, "constrain", 60, `{"constraints": {"price": {"max": 500}}}`), legal(line(hirer, "offer", 90, offerOne)), set("/evidence/id", `"msg_4"`)), "an offer against a constraint is a breach"},
		{"after-the-end", all(move(hirer, wire.TypeReject, 150), legal(line(guide, "accept", 180, `{}`)), set("/evidence/id", `"msg_6"`)), "a breach after the end leaves the outcome as it was"},
		{"late-offer", all(in(2, "/body/terms/boats/value", "5"), legal(line(hirer, "accept", 1800, `{"offer_id": "off_1"}`))), "a breach is a breach also late"},
	} {
		s.faults = append(s.faults, fault{name: c.name, edit: c.edit, why: c.why})
	}
	return s
}
