package main

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// transcriptTime are deadlines: of a session, of an offer, and those that a session
// sets itself. The session lives ten minutes and an offer five.
func transcriptTime() specimen {
	v := set("/messages/0/body/timing", `{"session_ttl": 600, "offer_ttl": 300, "max_rounds": 3}`)(deal())
	s := transcript("time", v, two)
	for _, more := range [][]fault{sessionDeadlines(), offerDeadlines(), timingFaults(), roundFaults()} {
		s.faults = append(s.faults, more...)
	}
	for i := range s.faults {
		if s.faults[i].context == nil {
			s.faults[i].context = wire.M{"now": clock(90000)}
		}
	}
	return s
}

// sessionDeadlines ends the session before each kind of message.
func sessionDeadlines() (faults []fault) {
	const over = "a party waits until the time is up and then still takes what has become favourable"
	late := func(name string, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, rule: session.RuleSessionTTL, edit: edit, why: why, breaks: over})
	}
	fine := func(name string, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, edit: edit, why: why})
	}
	// A fresh offer, so that no offer has lapsed when the session does.
	recent := all(first(2), say(guide, "offer", 500, offerOne))
	for _, t := range []wire.MessageType{
		wire.TypeOffer, wire.TypeCounter, wire.TypeInquire, wire.TypeConstrain, wire.TypeSignal, wire.TypeProposeMediator, wire.TypeAccept, wire.TypeReject, wire.TypeWithdraw, wire.TypeCommit,
	} {
		name := slug(t.Short())
		fine("last-second-"+name, all(recent, move(hirer, t, 599)), "until the deadline there may be "+article(t))
		for _, c := range []struct {
			name string
			at   string
			why  string
		}{
			{"at-the-deadline-", clock(600), "at the very second of session_ttl the session has expired"},
			{"second-after-", clock(601), "after session_ttl the session has expired; the skew serves no deadline"},
			{"in-the-skew-", clock(719), "the skew of the clocks prolongs no session"},
			{"a-day-after-", clock(87000), "after session_ttl the session has expired"},
			{"by-offset-", "2026-09-14T10:00:00-00:30", "an offset is part of the time: ten o'clock half an hour to the west is half past ten"},
			{"by-fraction-", strings.Replace(clock(600), "Z", ".000000001Z", 1), "a fraction of a second counts"},
		} {
			if consents := t == wire.TypeAccept || t == wire.TypeCommit; consents && (c.at > clock(800) || strings.HasSuffix(c.at, "0:30")) {
				continue // the offer would have lapsed as well
			}
			late(c.name+name, all(recent, move(hirer, t, 599), in(3, "/timestamp", `"`+c.at+`"`)), c.why+", and there is no place for "+article(t))
		}
	}
	for _, t := range []wire.MessageType{wire.TypeAcceptSession, wire.TypeDeclineSession} {
		name := slug(t.Short())
		fine("last-second-"+name, all(first(1), move(guide, t, 599)), "until the deadline a session may be answered")
		late("at-the-deadline-"+name, all(first(1), move(guide, t, 600)), "a session that nobody answered has expired at the very second of session_ttl")
		late("second-after-"+name, all(first(1), move(guide, t, 601)), "a session that nobody answered expires")
		late("a-day-after-"+name, all(first(1), move(guide, t, 87000)), "a session that nobody answered expires")
	}
	late("clock-passed", all(recent, move(hirer, wire.TypeInquire, 610), timed(3, 610), move(guide, wire.TypeSignal, 595)), "the deadline is judged by the session clock: nobody can be early again")
	faults = append(faults,
		fault{name: "judged-by-the-clock", rule: session.RuleOfferTTL, edit: all(first(2), say(guide, "offer", 100, offerOne), say(guide, "inquire", 450, `{"term_ids": []}`), move(hirer, wire.TypeAccept, 399)),
			why: "a message is judged at the session clock if its own time is earlier", breaks: "an accept is dated back, inside the skew, to the right side of a deadline"},
		fault{name: "expired-signal-that-returns", edit: all(recent, say(hirer, "signal", 700, `{"reactivatable": true}`), say(guide, "offer", 800, offerTwo)), why: "whoever says so makes an expired session dormant, and an offer brings it back"},
		fault{name: "expired-withdraw-that-returns", edit: all(recent, say(guide, "withdraw", 700, `{"reactivatable": true}`)), why: "whoever says so makes an expired session dormant"},
		fault{name: "returned-last-second", edit: all(recent, say(hirer, "signal", 700, `{"reactivatable": true}`), say(guide, "offer", 800, offerTwo), move(hirer, wire.TypeSignal, 1399)), why: "with the offer that brought it back a new session_ttl starts"},
		fault{name: "returned-expired", rule: session.RuleSessionTTL, edit: all(recent, say(hirer, "signal", 700, `{"reactivatable": true}`), say(guide, "offer", 800, offerTwo), move(hirer, wire.TypeSignal, 1400)), why: "the new session_ttl ends as well", breaks: over},
		fault{name: "dormant-for-long", edit: all(first(4), say(hirer, "withdraw", 180, `{"reactivatable": true}`), say(guide, "offer", 80000, bodies[wire.TypeOffer])), why: "a session that is dormant has no deadline"},
		fault{name: "agreed-for-long", edit: move(guide, wire.TypeCommit, 80000), why: "a session that is agreed has no deadline"},
		fault{name: "default-session-ttl", edit: all(drop("/messages/0/body/timing"), first(4), move(hirer, wire.TypeSignal, 86399)), why: "a session lives a day unless it says otherwise"},
		fault{name: "default-session-ttl-passed", rule: session.RuleSessionTTL, edit: all(drop("/messages/0/body/timing"), first(4), move(hirer, wire.TypeSignal, 86400)), why: "a session lives a day unless it says otherwise", breaks: over},
	)
	for _, ttl := range []int{1, 29, 59, 119, 179} {
		after := 0
		for i, at := range []int{0, 30, 60, 120, 180} {
			if at >= ttl && after == 0 && i > 0 {
				after = i
			}
		}
		late(fmt.Sprintf("session-ttl-%d", ttl), all(first(after+1), in(0, "/body/timing/session_ttl", fmt.Sprint(ttl))), fmt.Sprintf("a session of %d seconds is over before its message %d", ttl, after+1))
	}
	return faults
}

// offerDeadlines let an offer lapse before it is accepted.
func offerDeadlines() (faults []fault) {
	const stale = "a party sits on an offer until the market has moved, and then takes it"
	late := func(name string, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, rule: session.RuleOfferTTL, edit: edit, why: why, breaks: stale})
	}
	fine := func(name string, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, edit: edit, why: why})
	}
	valid := func(i int, text string) func(wire.Value) wire.Value {
		return in(i, "/body/valid_until", `"`+text+`"`)
	}
	for _, t := range []wire.MessageType{wire.TypeAccept, wire.TypeCommit} {
		name := slug(t.Short())
		kind := in(indexAccept, "/type", `"`+string(t)+`"`)
		fine(name+"-in-last-second", all(kind, timed(indexAccept, 419)), "until offer_ttl has passed an offer stands")
		late(name+"-at-offer-ttl", all(kind, timed(indexAccept, 420)), "at the very second of offer_ttl the offer has lapsed")
		late(name+"-after-offer-ttl", all(kind, timed(indexAccept, 421)), "after offer_ttl the offer has lapsed; the skew serves no deadline")
		late(name+"-long-after-offer-ttl", all(kind, timed(indexAccept, 590)), "after offer_ttl the offer has lapsed")
		late(name+"-by-fraction", all(kind, in(indexAccept, "/timestamp", `"2026-09-14T09:07:00.000000001Z"`)), "a fraction of a second counts")
		late(name+"-by-offset", all(kind, in(indexAccept, "/timestamp", `"2026-09-14T11:07:30+02:00"`)), "an offset is part of the time")
		fine(name+"-before-valid-until", all(kind, valid(indexCounter, clock(181))), "until valid_until an offer stands")
		late(name+"-at-valid-until", all(kind, valid(indexCounter, clock(180))), "at the very second of valid_until the offer has lapsed")
		late(name+"-after-valid-until", all(kind, valid(indexCounter, clock(150))), "after valid_until the offer has lapsed")
		late(name+"-after-valid-until-by-offset", all(kind, valid(indexCounter, "2026-09-14T10:32:59+01:30")), "valid_until may have an offset, which is part of the time")
		late(name+"-after-valid-until-by-fraction", all(kind, valid(indexCounter, "2026-09-14T09:02:59.999999999Z")), "valid_until may have a fraction, which counts")
		late(name+"-valid-until-prolongs-nothing", all(kind, timed(indexAccept, 420), valid(indexCounter, clock(599))), "valid_until may shorten offer_ttl and does not prolong it")
	}
	fine("offer-valid-for-a-moment", all(first(4), valid(indexCounter, "2026-09-14T09:02:00.000000001Z")), "an offer may stand for a moment")
	for i, at := range map[int]int{indexOffer: 60, indexCounter: 120} {
		late(dealNames[i]+"-lapsed-when-made", all(first(i+1), valid(i, clock(at))), "an offer that has lapsed when it is made is none")
		late(dealNames[i]+"-lapsed-before", all(first(i+1), valid(i, clock(at-1))), "an offer that had lapsed before it was made is none")
		late(dealNames[i]+"-lapsed-a-year-before", all(first(i+1), valid(i, "2025-09-14T09:30:00Z")), "an offer that had lapsed before it was made is none")
		late(dealNames[i]+"-lapsed-by-offset", all(first(i+1), valid(i, strings.Replace(clock(at+60), "Z", "+00:05", 1))), "valid_until may have an offset, which is part of the time")
	}
	late("offer-lapsed-by-the-clock", all(first(3), say(guide, "signal", 200, `{}`), say(guide, "counter", 100, strings.Replace(offerTwo, `"off_2"`, `"off_2", "valid_until": "`+clock(150)+`"`, 1))), "an offer is judged at the session clock if its own time is earlier")
	long := in(0, "/body/timing", `{"session_ttl": 90000}`)
	fine("default-offer-ttl", all(long, timed(indexAccept, 120+3599)), "an offer stands an hour unless the session says otherwise")
	late("default-offer-ttl-passed", all(long, timed(indexAccept, 120+3600)), "an offer stands an hour unless the session says otherwise")
	for _, ttl := range []int{1, 30, 59, 60} {
		late(fmt.Sprintf("offer-ttl-%d", ttl), in(0, "/body/timing/offer_ttl", fmt.Sprint(ttl)), fmt.Sprintf("an offer that stands %d seconds has lapsed after a minute", ttl))
	}
	fine("offer-ttl-61", in(0, "/body/timing/offer_ttl", "61"), "an offer that stands 61 seconds can be taken after a minute")
	return faults
}

// timingFaults are values that timing cannot have.
func timingFaults() (faults []fault) {
	const why2 = "one party's clock runs out at once, another's never: they disagree whether there is a session"
	for _, m := range []struct {
		name string
		most int
	}{{"session_ttl", 316224000}, {"offer_ttl", 316224000}, {"max_rounds", 10000}} {
		for _, c := range []struct{ name, text, why string }{
			{"zero", "0", "is at least 1"}, {"negative", "-60", "is at least 1"}, {"fraction", "90.5", "is whole"}, {"text", `"600"`, "is a number"}, {"null", "null", "is left out or a number"},
			{"boolean", "true", "is a number"}, {"list", "[600]", "is a number"}, {"too-large", fmt.Sprint(m.most + 1), fmt.Sprintf("is at most %d", m.most)}, {"huge", "1e30", fmt.Sprintf("is at most %d", m.most)},
		} {
			faults = append(faults, fault{name: "timing-" + slug(m.name) + "-" + c.name, rule: session.RuleTiming, edit: all(first(1), in(0, "/body/timing/"+m.name, c.text)), why: m.name + " " + c.why, breaks: why2})
		}
		faults = append(faults,
			fault{name: "timing-" + slug(m.name) + "-twin", rule: session.RuleTiming, edit: all(first(1), in(0, "/body/timing/"+capital(m.name), "1")), why: "no member of timing differs from " + m.name + " only in case", breaks: why2},
			fault{name: "timing-" + slug(m.name) + "-largest", edit: in(0, "/body/timing/"+m.name, fmt.Sprint(m.most)), why: fmt.Sprintf("%s may be %d", m.name, m.most)},
			fault{name: "timing-" + slug(m.name) + "-spelled", edit: in(0, "/body/timing/"+m.name, "6e2"), why: "a whole number may be spelled with an exponent"},
		)
	}
	return append(faults, fault{name: "timing-empty", edit: in(0, "/body/timing", "{}"), why: "what timing leaves out has its default"},
		fault{name: "timing-unknown-member", edit: in(0, "/body/timing/grace", "60"), why: "what timing says beyond its three members means nothing: there is no grace"})
}

// roundFaults are offers beyond max_rounds.
func roundFaults() []fault {
	const endless = "a party draws a negotiation out until the other gives in or its budget is gone"
	again := func(from, kind string, n, at int) func(wire.Value) wire.Value {
		return say(from, kind, at, strings.Replace(offerTwo, "off_2", fmt.Sprintf("off_%d", n), 1))
	}
	three := all(first(4), again(hirer, "offer", 3, 180))
	return []fault{
		{name: "rounds-all", edit: three, why: "three rounds are allowed"},
		{name: "rounds-one-more", rule: session.RuleRounds, edit: all(three, again(guide, "counter", 4, 240)), why: "offers and counters of all parties together are at most max_rounds", breaks: endless},
		{name: "rounds-one-more-offer", rule: session.RuleRounds, edit: all(three, again(hirer, "offer", 4, 240)), why: "an offer is a round like a counter", breaks: endless},
		{name: "rounds-one", rule: session.RuleRounds, edit: in(0, "/body/timing/max_rounds", "1"), why: "of one round the offer has used it up", breaks: endless},
		{name: "rounds-other-messages", edit: all(three, say(guide, "signal", 200, "{}"), say(guide, "inquire", 210, `{"term_ids": []}`), say(hirer, "constrain", 220, `{"constraints": {"boats": {"max": 11}}}`), say(guide, "accept", 230, "{}")), why: "only offers and counters are rounds"},
		{name: "rounds-after-return", rule: session.RuleRounds, edit: all(three, say(guide, "reject", 240, `{"reactivatable": true}`), again(guide, "offer", 4, 300)), why: "a session that comes back has no new rounds", breaks: endless},
		{name: "rounds-default", edit: all(drop("/messages/0/body/timing"), first(2), manyOffers(20)), why: "there are twenty rounds unless the session says otherwise"},
		{name: "rounds-default-passed", rule: session.RuleRounds, edit: all(drop("/messages/0/body/timing"), first(2), manyOffers(21)), why: "there are twenty rounds unless the session says otherwise", breaks: endless},
	}
}

// manyOffers says n small offers.
func manyOffers(n int) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		for i := range n {
			v = say(hirer, "offer", 60+i, fmt.Sprintf(`{"offer_id": "off_%d", "terms": {}}`, i+1))(v)
		}
		return v
	}
}
