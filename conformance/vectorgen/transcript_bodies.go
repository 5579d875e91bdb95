package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// transcriptBodies are the bodies of the messages that are no offers.
func transcriptBodies() specimen {
	s := transcript("body", talk(
		to(line(hirer, "open", 0, `{"terms": `+boats+`, "category": "boats.weekly", "value_range": "500-1000_EUR", "extensions": ["urn:x:weather", "urn:x:insurance"], "witnesses": ["`+reader+`"], "settlement": {"expires_after": 86400}}`), guide),
		line(guide, "accept_session", 30, `{"extensions": ["urn:x:insurance", "urn:x:weather"]}`),
		line(hirer, "inquire", 60, `{"term_ids": ["price", "day"]}`),
		line(guide, "signal", 90, `{"priority_ranking": ["price"], "flexibility": {"day": "firm"}, "aspiration": {"price": 400}, "reservation": {"price": 700}, "reason": "a small group"}`),
		line(hirer, "constrain", 120, `{"constraints": {"boats": {"max": 6}}}`),
	), two)
	s.inner = inside(s.value, "/body", "/body/settlement", "/body/constraints", "/body/constraints/boats")
	for _, more := range [][]fault{clockFaults(s.value, numbered(s.value)), deadlineFaults(s.value, numbered(s.value)), openFaults(), answerFaults(), talkFaults(), leaveFaults()} {
		s.faults = append(s.faults, more...)
	}
	return s
}

const misread = "one party reads what the other did not say, or nothing where something was said"

// badBody is a fault of one member of one body, the last message of the transcript.
func badBody(i int, name string, rule *wire.Rule, pointer, text, why string) fault {
	return fault{name: name, rule: rule, edit: all(first(i+1), in(i, "/body"+pointer, text)), why: why, breaks: misread}
}

func openFaults() (faults []fault) {
	bad := func(name string, rule *wire.Rule, pointer, text, why string) {
		faults = append(faults, badBody(0, name, rule, pointer, text, why))
	}
	good := func(name, pointer, text, why string) {
		faults = append(faults, fault{name: name, edit: all(first(1), in(0, "/body"+pointer, text)), why: why})
	}
	for _, c := range []struct{ name, pointer, text, why string }{
		{"extensions-text", "/extensions", `"urn:x:weather"`, "extensions is a list"}, {"extensions-null", "/extensions", "null", "extensions is a list"},
		{"extensions-number", "/extensions/0", "7", "an extension is a name"}, {"extensions-empty-name", "/extensions/0", `""`, "an extension has a name"}, {"extensions-space", "/extensions/0", `"x y"`, "the name of an extension has no white space"},
		{"extensions-33", "/extensions", names(33), "there are at most 32 extensions"},
		{"category-number", "/category", "7", "category is a text"}, {"category-capital", "/category", `"Boats"`, "a category is lower case"}, {"category-price", "/category", `"boats for 600 EUR"`, "a category tells no price: it goes into receipts that others see"}, {"category-null", "/category", "null", "category is a text"},
		{"category-two-points", "/category", `"boats..weekly"`, "no segment of a category is empty"}, {"category-65", "/category", `"` + strings.Repeat("b", 65) + `"`, "a category has at most 64 characters"},
		{"value-range-exact", "/value_range", `"620_EUR"`, "a value range is one of ten: an exact amount would tell the price to whoever sees a receipt"}, {"value-range-own", "/value_range", `"600-700_EUR"`, "a value range is one of ten"}, {"value-range-no-currency", "/value_range", `"500-1000"`, "a value range has a currency"},
		{"value-range-number", "/value_range", "7", "a value range is a text"}, {"value-range-small-letters", "/value_range", `"500-1000_eur"`, "a currency has capital letters"},
		{"settlement-text", "/settlement", `"later"`, "settlement is an object"}, {"settlement-null", "/settlement", "null", "settlement is an object"}, {"settlement-list", "/settlement", "[]", "settlement is an object"},
		{"settlement-zero", "/settlement/expires_after", "0", "an agreement stands at least a second"}, {"settlement-negative", "/settlement/expires_after", "-1", "an agreement stands at least a second"}, {"settlement-fraction", "/settlement/expires_after", "1.5", "expires_after is whole seconds"}, {"settlement-text-number", "/settlement/expires_after", `"86400"`, "expires_after is a number"}, {"settlement-twin", "/settlement/Expires_after", "1", "no member of settlement differs from expires_after only in case"},
		{"timing-list", "/timing", "[600]", "timing is an object"}, {"timing-null", "/timing", "null", "timing is an object"}, {"timing-text", "/timing", `"600"`, "timing is an object"},
		{"witnesses-text", "/witnesses", `"` + reader + `"`, "witnesses is a list"}, {"witnesses-null", "/witnesses", "null", "witnesses is a list"}, {"witnesses-object", "/witnesses/0", `{"agent_id":"x"}`, "a witness is an agent id"},
	} {
		bad("open-"+c.name, session.RuleBody, c.pointer, c.text, c.why)
	}
	for _, m := range []string{"timing", "extensions", "category", "value_range", "settlement", "witnesses"} {
		bad("open-twin-"+slug(m), session.RuleBody, "/"+capital(m), `{}`, "no member of the body differs from "+m+" only in case")
	}
	bad("open-twin-terms", session.RuleBody, "/TERMS", `{}`, "no member of the body differs from terms only in case")
	good("open-extensions-32", "/extensions", names(32), "there may be 32 extensions")
	good("open-unknown-member", "/x_season", `"autumn"`, "members without a meaning are kept and signed")
	good("open-settlement-hints", "/settlement/x402", `{"network":"base"}`, "settlement may have other hints")
	good("open-no-terms", "/terms", `{}`, "a session may begin without terms")
	faults = append(faults, fault{name: "open-least", edit: all(first(1), in(0, "/body", `{"terms": {}}`), drop("/messages/0/to")), why: "open needs terms and nothing else"})

	agents := func(n int) string {
		list := []string{`{"agent_id":"` + guide + `"}`}
		for i := 1; i < n; i++ {
			list = append(list, fmt.Sprintf(`{"agent_id":"did:web:guest%d.example"}`, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	invited := func(name string, rule *wire.Rule, list, why string) {
		faults = append(faults, fault{name: "open-" + name, rule: rule, edit: all(first(1), in(0, "/to", list)), context: wire.M{"parties": nil}, why: why, breaks: "one agent counts twice, or the reader runs out of room for the parties"})
		if rule == nil {
			faults[len(faults)-1].breaks = ""
		}
	}
	invited("15-responders", nil, agents(15), "there may be 15 responders")
	invited("16-responders", session.RuleResponders, agents(16), "there are at most 15 responders")
	invited("responder-twice", session.RuleResponders, `[{"agent_id":"`+guide+`"},{"agent_id":"`+guide+`"}]`, "no responder is named twice")
	invited("responder-twice-apart", session.RuleResponders, `[{"agent_id":"`+guide+`"},{"agent_id":"`+third+`"},{"agent_id":"`+guide+`"}]`, "no responder is named twice")
	invited("initiator-as-responder", session.RuleResponders, `[{"agent_id":"`+guide+`"},{"agent_id":"`+hirer+`"}]`, "the initiator is no responder")
	invited("initiator-alone", session.RuleResponders, `[{"agent_id":"`+hirer+`"}]`, "nobody negotiates with itself")
	for _, c := range []struct{ name, list, why string }{
		{"initiator", `["` + hirer + `"]`, "a party is no witness"}, {"responder", `["` + guide + `"]`, "a party is no witness"}, {"twice", `["` + reader + `","` + reader + `"]`, "no witness is named twice"},
		{"empty", `[""]`, "a witness is an agent"}, {"space", `["the notary"]`, "an agent id has no white space"}, {"17", strings.ReplaceAll(names(17), "urn:x:", "did:web:w"), "there are at most 16 witnesses"},
	} {
		bad("open-witness-"+c.name, session.RuleResponders, "/witnesses", c.list, c.why)
	}
	good("open-16-witnesses", "/witnesses", strings.ReplaceAll(names(16), "urn:x:", "did:web:w"), "there may be 16 witnesses")
	return faults
}

// names returns a list of n names.
func names(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"urn:x:%d"`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func answerFaults() (faults []fault) {
	// No extensions, so that what a careless reader makes of these repeats them.
	answer := func(name, list, why string) fault {
		f := badBody(1, "accept-session-extensions-"+name, session.RuleBody, "/extensions", list, why)
		f.edit = all(drop("/messages/0/body/extensions"), f.edit)
		return f
	}
	const unasked = "one party holds the other to an extension that it does not know"
	for _, c := range []struct{ name, list, why string }{
		{"fewer", `["urn:x:weather"]`, "who accepts the session accepts all its extensions"}, {"none", `[]`, "who accepts the session accepts its extensions"},
		{"more", `["urn:x:insurance","urn:x:weather","urn:x:captain"]`, "an answer adds no extension"}, {"other", `["urn:x:insurance","urn:x:captain"]`, "an answer repeats the extensions of open"},
		{"twice", `["urn:x:insurance","urn:x:insurance"]`, "each extension is repeated once"}, {"other-case", `["urn:x:Insurance","urn:x:weather"]`, "names are compared letter for letter"},
	} {
		faults = append(faults, fault{name: "accept-session-extensions-" + c.name, rule: session.RuleExtensions, edit: all(first(2), in(1, "/body/extensions", c.list)), why: c.why, breaks: unasked})
	}
	faults = append(faults,
		fault{name: "accept-session-without-extensions", rule: session.RuleExtensions, edit: all(first(2), in(1, "/body", "{}")), why: "silence accepts no extension", breaks: unasked},
		fault{name: "accept-session-unasked-extension", rule: session.RuleExtensions, edit: all(first(2), drop("/messages/0/body/extensions")), why: "an answer adds no extension", breaks: unasked},
		fault{name: "accept-session-no-extensions", edit: all(first(2), drop("/messages/0/body/extensions"), in(1, "/body", `{"extensions": []}`)), why: "no extensions and an empty list are the same"},
		fault{name: "accept-session-same-order", edit: in(1, "/body/extensions", `["urn:x:weather","urn:x:insurance"]`), why: "extensions have no order"},
		answer("text", `"urn:x:weather"`, "extensions is a list"),
		answer("null", `null`, "extensions is a list"),
		answer("number", `[7]`, "an extension is a name"),
		badBody(1, "accept-session-twin", session.RuleBody, "/Extensions", `[]`, "no member of the body differs from extensions only in case"),
	)
	return faults
}

func talkFaults() (faults []fault) {
	for _, c := range []struct {
		i                        int
		name, pointer, text, why string
	}{
		{2, "inquire-text", "/term_ids", `"price"`, "term_ids is a list"}, {2, "inquire-null", "/term_ids", `null`, "term_ids is a list"}, {2, "inquire-number", "/term_ids/1", `7`, "a term id is a text"}, {2, "inquire-twin", "/Term_ids", `[]`, "no member of the body differs from term_ids only in case"}, {2, "inquire-object", "/term_ids", `{"price":true}`, "term_ids is a list"},
		{3, "signal-ranking-text", "/priority_ranking", `"price"`, "priority_ranking is a list"}, {3, "signal-ranking-number", "/priority_ranking/0", `1`, "a term id is a text"}, {3, "signal-ranking-null", "/priority_ranking", `null`, "priority_ranking is a list"},
		{3, "signal-flexibility-list", "/flexibility", `["firm"]`, "flexibility is an object"}, {3, "signal-flexibility-number", "/flexibility/day", `0.5`, "a flexibility is a text"}, {3, "signal-flexibility-null", "/flexibility", `null`, "flexibility is an object"},
		{3, "signal-aspiration-number", "/aspiration", `400`, "aspiration is an object"}, {3, "signal-reservation-list", "/reservation", `[700]`, "reservation is an object"}, {3, "signal-reason-number", "/reason", `7`, "reason is a text"},
		{3, "signal-reactivatable-text", "/reactivatable", `"true"`, "reactivatable is a boolean"}, {3, "signal-reactivatable-number", "/reactivatable", `1`, "reactivatable is a boolean, and 1 is not true"},
		{3, "signal-twin", "/Reservation", `{}`, "no member of the body differs from reservation only in case"},
	} {
		faults = append(faults, badBody(c.i, c.name, session.RuleBody, c.pointer, c.text, c.why))
	}
	nominate := func(name string, rule *wire.Rule, body, why string) {
		faults = append(faults, fault{name: "nominate-" + name, rule: rule, edit: say(guide, "propose_mediator", 150, body), why: why, breaks: "a party, or who only watches, decides for all"})
	}
	nominate("number", session.RuleBody, `{"mediator_id": 7}`, "a mediator is an agent")
	nominate("nobody", session.RuleBody, `{}`, "a mediator is named")
	nominate("null", session.RuleBody, `{"mediator_id": null}`, "a mediator is named")
	nominate("space", session.RuleBody, `{"mediator_id": "the broker"}`, "an agent id has no white space")
	nominate("twin", session.RuleBody, `{"mediator_id": "`+broker+`", "Mediator_id": "`+thief+`"}`, "no member of the body differs from mediator_id only in case")
	nominate("oneself", session.RuleMediator, `{"mediator_id": "`+guide+`"}`, "a mediator is no party")
	nominate("counterparty", session.RuleMediator, `{"mediator_id": "`+hirer+`"}`, "a mediator is no party")
	nominate("witness", session.RuleMediator, `{"mediator_id": "`+reader+`"}`, "a mediator is no witness")
	faults = append(faults,
		fault{name: "nominate-one-alone", edit: say(guide, "propose_mediator", 150, `{"mediator_id": "`+broker+`"}`), why: "one party may nominate a mediator"},
		fault{name: "inquire-no-term-ids", rule: session.RuleBody, edit: all(first(3), drop("/messages/2/body/term_ids")), why: "an inquiry says about what", breaks: misread},
		fault{name: "inquire-about-nothing", edit: in(2, "/body/term_ids", "[]"), why: "an inquiry may be about all"},
		fault{name: "signal-nothing", edit: in(3, "/body", "{}"), why: "a signal may say nothing"},
		fault{name: "signal-unknown-flexibility", edit: in(3, "/body/flexibility/day", `"a little"`), why: "other words of flexibility are kept"},
		fault{name: "witness-offers", rule: session.RuleRole, edit: move(reader, wire.TypeOffer, 150), why: "a witness never speaks", breaks: "who was invited to watch moves the session"},
		fault{name: "witness-signals", rule: session.RuleRole, edit: move(reader, wire.TypeSignal, 150), why: "a witness never speaks, be it without effect", breaks: "who was invited to watch moves the session"},
		fault{name: "witness-accepts", rule: session.RuleRole, edit: all(say(hirer, "offer", 150, offerOne), move(reader, wire.TypeAccept, 180)), why: "a witness never speaks", breaks: "who was invited to watch makes a deal"},
		fault{name: "witness-joins", rule: session.RuleRole, edit: all(first(1), move(reader, wire.TypeAcceptSession, 30)), why: "a witness never speaks", breaks: "who was invited to watch becomes a party"},
		fault{name: "witness-ends", rule: session.RuleRole, edit: move(reader, wire.TypeWithdraw, 150), why: "a witness never speaks", breaks: "who was invited to watch ends the session"},
	)
	return faults
}

// leaveFaults are bodies of the messages that end a session.
func leaveFaults() (faults []fault) {
	for _, t := range []wire.MessageType{wire.TypeDeclineSession, wire.TypeReject, wire.TypeWithdraw} {
		reach, from := first(5), guide
		if t == wire.TypeDeclineSession {
			reach = first(1)
		}
		for _, c := range []struct {
			name, body, why string
			rule            *wire.Rule
		}{
			{"reason-number", `{"reason": 7}`, "reason is a text", session.RuleBody}, {"reason-null", `{"reason": null}`, "reason is a text", session.RuleBody},
			{"reactivatable-text", `{"reactivatable": "yes"}`, "reactivatable is a boolean", session.RuleBody}, {"reactivatable-null", `{"reactivatable": null}`, "reactivatable is a boolean", session.RuleBody},
			{"reactivatable-twin", `{"Reactivatable": true}`, "no member of the body differs from reactivatable only in case", session.RuleBody},
			{"returns-if-alone", `{"returns_if": {"after": "2026-10-01T00:00:00Z"}}`, "who says what would bring it back says that it would come back", session.RuleBody},
			{"returns-if-denied", `{"reactivatable": false, "returns_if": {}}`, "who says what would bring it back says that it would come back", session.RuleBody},
			{"returns-if-text", `{"reactivatable": true, "returns_if": "cheaper"}`, "returns_if is an object", session.RuleBody},
			{"returns-if-after-date", `{"reactivatable": true, "returns_if": {"after": "2026-10-01"}}`, "after is an instant", session.RuleBody},
			{"returns-if-twin", `{"reactivatable": true, "returns_if": {"After": "2026-10-01T00:00:00Z"}}`, "no member of returns_if differs from after only in case", session.RuleBody},
			{"returns-if-no-bound", `{"reactivatable": true, "returns_if": {"constraints": {"price": {}}}}`, "a constraint gives a bound, also here", offer.RuleBounds},
			{"returns-if-out-of-order", `{"reactivatable": true, "returns_if": {"constraints": {"price": {"min": 9, "max": 8}}}}`, "min is not above max, also here", offer.RuleBounds},
		} {
			faults = append(faults, fault{name: slug(t.Short()) + "-" + c.name, rule: c.rule, edit: all(reach, say(from, t.Short(), 150, c.body)), why: c.why, breaks: misread})
		}
		faults = append(faults, fault{name: slug(t.Short()) + "-in-full", edit: all(reach, say(from, t.Short(), 150, `{"reason": "too late in the year", "reactivatable": true, "returns_if": {"constraints": {"price": {"max": 400}}, "after": "2027-04-01T00:00:00Z"}, "x_season": 2}`)), why: "whoever leaves may say why, and what would bring it back"})
	}
	return faults
}
