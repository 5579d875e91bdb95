package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// ended is a transcript with another end than a deal, its receipt, and each status
// that it did not have. also is a status that it may be recorded as.
func ended(form, status, also string, v wire.Value, roles map[string]string) specimen {
	s := receiptSpecimen("receipt-"+form, v, roles, talkStart.Add(1800*time.Second))
	for _, other := range []string{"agreed", "rejected", "expired", "withdrawn"} {
		f := fault{name: "as-" + other, edit: set("/receipt/outcome/status", `"`+other+`"`), rule: session.RuleReceiptOutcome, why: "the session was " + status + ", not " + other, breaks: falsified}
		switch other {
		case status:
			continue
		case also:
			f.rule, f.breaks, f.why = nil, "", "a session that was "+status+" may be recorded as "+also
		}
		s.faults = append(s.faults, f)
	}
	rounds, _ := s.value.At("receipt", "outcome", "rounds")
	n, _ := rounds.Int()
	s.faults = append(s.faults,
		fault{name: "one-round-more", rule: session.RuleReceiptOutcome, edit: set("/receipt/outcome/rounds", fmt.Sprint(n+1)), why: "rounds are the offers and counters of the transcript", breaks: falsified},
		fault{name: "other-session", rule: session.RuleReceiptSession, edit: set("/receipt/session_id", `"ses_boats_42"`), why: "the receipt names the session of the transcript", breaks: falsified},
		fault{name: "other-head", rule: session.RuleReceiptChain, edit: set("/receipt/chain_head", `"`+wire.HashOf("elsewhere").String()+`"`), why: "chain_head is the hash of the last message", breaks: falsified},
		fault{name: "other-count", rule: session.RuleReceiptChain, edit: altered("/receipt/message_count"), why: "message_count is the number of messages that stand", breaks: falsified},
		fault{name: "other-transcript-hash", rule: session.RuleReceiptChain, edit: set("/receipt/transcript_hash", `"`+wire.HashOf("elsewhere").String()+`"`), why: "transcript_hash is that of the messages that stand", breaks: falsified},
		fault{name: "a-day-before", rule: session.RuleReceiptTime, edit: set("/receipt/timestamp", `"`+clock(-7200)+`"`), why: "a receipt is made when the session has ended", breaks: falsified},
		fault{name: "not-signed-by-initiator", rule: attest.RuleOutcome, after: drop("/receipt/countersignatures/" + hirer), why: "each party signs the whole receipt, the one that lost like the one that won", breaks: falsified},
		fault{name: "not-signed-by-responder", rule: attest.RuleOutcome, after: drop("/receipt/countersignatures/" + guide), why: "each party signs the whole receipt, the one that lost like the one that won", breaks: falsified},
	)
	end, _ := s.value.At("receipt", "timestamp")
	seconds := int(must(wire.ParseTime(end.Text())).Sub(talkStart).Seconds())
	for _, c := range []struct{ name, text string }{
		{"a-second-before-the-skew", clock(seconds - 121)}, {"a-fraction-before-the-skew", strings.Replace(clock(seconds-121), "Z", ".999999999Z", 1)},
		{"an-hour-before", clock(seconds - 3600)}, {"before-by-its-offset", strings.Replace(clock(seconds), "Z", "+00:30", 1)}, {"a-month-before", strings.Replace(clock(seconds), "2026-09", "2026-08", 1)},
	} {
		s.faults = append(s.faults, fault{name: "made-" + c.name, rule: session.RuleReceiptTime, edit: set("/receipt/timestamp", `"`+c.text+`"`), why: "a receipt is made when the session has ended", breaks: falsified})
	}
	const old = "a receipt of a state long gone is taken for the present"
	s.faults = append(s.faults,
		fault{name: "made-at-the-skew", edit: set("/receipt/timestamp", `"`+clock(seconds-120)+`"`), why: "clocks differ by up to 120 seconds"},
		fault{name: "valid-no-longer", rule: attest.RuleExpired, edit: set("/receipt/validity_temporal/until", `"`+clock(1799)+`"`), why: "a receipt stands until the time that its signers gave it", breaks: old},
		fault{name: "valid-till-now", edit: set("/receipt/validity_temporal/until", `"`+clock(1801)+`"`), why: "a receipt stands until the time that its signers gave it"},
		fault{name: "valid-no-more-in-a-year", rule: attest.RuleExpired, context: wire.M{"now": "2027-09-14T09:30:00Z"}, why: "a receipt stands until the time that its signers gave it", breaks: old},
		fault{name: "not-valid-yet", rule: attest.RuleNotYet, edit: set("/receipt/validity_temporal/from", `"`+clock(1921)+`"`), why: "a receipt does not stand before its signers say so, but for the skew", breaks: old},
		fault{name: "valid-too-long", rule: attest.RuleLifetime, edit: set("/receipt/validity_temporal/until", `"2036-09-14T09:30:00Z"`), why: "a verifier has its own bound, whatever the signers allow", breaks: old},
		fault{name: "made-in-the-future", rule: attest.RuleNotYet, edit: set("/receipt/timestamp", `"`+clock(1921)+`"`), why: "a receipt is not made after now", breaks: old},
	)
	n = int64(len(messages(s.value)))
	for i, m := range messages(s.value)[:n-1] {
		s.faults = append(s.faults, fault{name: fmt.Sprintf("head-is-message-%d", i+1), rule: session.RuleReceiptChain, shared: true, edit: set("/receipt/chain_head", `"`+m.Hash().String()+`"`), why: "chain_head is the hash of the last message", breaks: falsified},
			fault{name: fmt.Sprintf("count-is-%d", i+1), rule: session.RuleReceiptChain, shared: true, edit: set("/receipt/message_count", fmt.Sprint(i+1)), why: "message_count is the number of messages that stand", breaks: falsified})
	}
	for i := range n {
		s.faults = append(s.faults, fault{name: fmt.Sprintf("message-%d-signed-anew", i+1), rule: session.RuleReceiptChain, edit: in(int(i), "/x_note", `"said later"`), why: "all senders signed another transcript: the receipt is of the first one", breaks: falsified})
	}
	if status == "expired" { // whether it has expired is asked at the time of the receipt
		s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return f.rule == session.RuleReceiptTime || f.name == "made-at-the-skew" })
	}
	for i, who := range []string{"initiator", "responder"} {
		p := fmt.Sprintf("/receipt/parties/%d/behavior/withdrawal", i)
		old, _ := s.value.At(tokens(p)...)
		s.faults = append(s.faults, fault{name: who + "-withdrawal", rule: session.RuleReceiptConduct, edit: set(p, fmt.Sprint(!old.Bool())), why: "withdrawal says whether the " + who + " withdrew", breaks: falsified})
	}
	return s
}

func receiptWithdrawn() specimen {
	return ended("withdrawn", "withdrawn", "rejected", all(first(4), move(guide, wire.TypeWithdraw, 200))(deal()), two)
}

func receiptRejected() specimen {
	return ended("rejected", "rejected", "", all(first(4), move(hirer, wire.TypeReject, 200))(deal()), two)
}

func receiptDeclined() specimen {
	return ended("declined", "rejected", "", all(first(1), move(guide, wire.TypeDeclineSession, 40))(deal()), two)
}

func receiptDormant() specimen {
	return ended("dormant", "rejected", "", all(first(4), say(hirer, "reject", 200, `{"reactivatable": true}`))(deal()), two)
}

// receiptExpired is the receipt of a session that nobody ended.
func receiptExpired() specimen {
	s := ended("expired", "expired", "", all(first(4), in(0, "/body/timing", `{"session_ttl": 600}`))(deal()), two)
	const early = "a session that still lives is declared dead by one party"
	at := func(seconds int) func(wire.Value) wire.Value {
		return set("/receipt/timestamp", `"`+clock(seconds)+`"`)
	}
	s.faults = append(s.faults,
		fault{name: "later", edit: at(1200), why: "the receipt may be made later than the deadline"},
		fault{name: "a-second-too-early", rule: session.RuleReceiptOutcome, edit: at(599), why: "at the time of the receipt the session had not expired", breaks: early},
		fault{name: "while-it-lived", rule: session.RuleReceiptOutcome, edit: at(300), why: "at the time of the receipt the session had not expired", breaks: early},
		fault{name: "by-a-fraction", rule: session.RuleReceiptOutcome, edit: set("/receipt/timestamp", `"2026-09-14T09:09:59.999999999Z"`), why: "at the time of the receipt the session had not expired", breaks: early},
		fault{name: "now-at-the-deadline", context: wire.M{"now": clock(600)}, why: "at the very second of the deadline the session has expired"},
		fault{name: "now-before-the-deadline", rule: session.RuleReceiptOutcome, context: wire.M{"now": clock(599)}, why: "the session has not expired yet: the skew makes nothing expire early", breaks: early},
		fault{name: "now-in-the-skew", rule: session.RuleReceiptOutcome, context: wire.M{"now": clock(480)}, why: "the session has not expired yet: the skew makes nothing expire early", breaks: early},
	)
	return s
}

// receiptReturned is the receipt of a session that came back after an end.
func receiptReturned() specimen {
	s := ended("returned", "agreed", "", all(first(4), say(hirer, "withdraw", 200, `{"reactivatable": true}`), move(guide, wire.TypeOffer, 300), move(hirer, wire.TypeAccept, 360))(deal()), two)
	s.faults = append(s.faults,
		fault{name: "without-reference", edit: set("/receipt/references", "[]"), why: "what a receipt refers to is information of whoever made it"},
		fault{name: "of-the-first-end", rule: session.RuleReceiptChain, edit: all(
			set("/receipt/message_count", "5")), why: "the receipt covers the whole transcript, not what led to its first end", breaks: falsified},
		fault{name: "rounds-since-the-return", rule: session.RuleReceiptOutcome, edit: set("/receipt/outcome/rounds", "1"), why: "rounds remain when a session comes back", breaks: falsified},
	)
	return s
}

// receiptBroken is the receipt of a session that a breach ended: it covers the
// messages that stand.
func receiptBroken() specimen {
	v := all(first(2), say(guide, "constrain", 60, `{"constraints": {"price": {"max": 500}}}`),
		set("/evidence", line(hirer, "offer", 90, offerOne).With("id", wire.Text("msg_4")).Canonical()))(deal())
	s := ended("broken", "rejected", "", v, two)
	s.contract = "" // whose chains know of no evidence
	const hidden = "whoever broke a session is not called so, or the other one is"
	s.faults = append(s.faults,
		fault{name: "evidence-left-out", rule: session.RuleReceiptOutcome, after: drop("/evidence"), why: "without the breach the session goes on: there is no outcome to attest", breaks: hidden},
		fault{name: "counts-the-breach", rule: session.RuleReceiptConduct, edit: set("/receipt/parties/0/behavior/offers_made", "1"), why: "the message that broke the session is no move", breaks: hidden},
		fault{name: "breach-as-a-round", rule: session.RuleReceiptOutcome, edit: set("/receipt/outcome/rounds", "1"), why: "the message that broke the session is no round", breaks: hidden},
		fault{name: "breach-as-head", rule: session.RuleReceiptChain, edit: func(v wire.Value) wire.Value {
			e, _ := v.Get("evidence")
			return set("/receipt/chain_head", `"`+e.Hash().String()+`"`)(v)
		}, why: "the receipt covers the messages that stand, and not the one that broke the session", breaks: hidden},
		fault{name: "violations-not-compared", edit: set("/receipt/parties/0/behavior/constraints_violated", "0"), why: "violations are information of whoever made the receipt"},
	)
	return s
}

// receiptOfMany is the receipt of four parties.
func receiptOfMany() specimen {
	s := ended("many", "agreed", "", transcriptMany().value, four)
	for i, who := range []string{"initiator", "first", "second", "third"} {
		if i > 0 {
			s.faults = append(s.faults, fault{name: "without-" + who, rule: session.RuleReceiptParties, edit: drop(fmt.Sprintf("/receipt/parties/%d", i)), why: "the receipt lists every party, also the one that offered nothing", breaks: falsified})
			s.faults = append(s.faults, fault{name: who + "-as-witness", rule: session.RuleReceiptParties, edit: set(fmt.Sprintf("/receipt/parties/%d/role", i), `"witness"`), why: "a responder is no witness", breaks: falsified})
		}
		s.faults = append(s.faults, fault{name: who + "-made-offers", rule: session.RuleReceiptConduct, edit: altered(fmt.Sprintf("/receipt/parties/%d/behavior/offers_made", i)), why: "each party is credited with what it did itself", breaks: falsified})
		agent := []string{hirer, guide, third, fourth}[i]
		s.faults = append(s.faults,
			fault{name: who + "-did-not-sign", rule: attest.RuleOutcome, shared: true, after: drop("/receipt/countersignatures/" + agent), why: "every listed party signs the whole", breaks: falsified},
			fault{name: who + "-record-by-stranger", rule: attest.RulePartyRecord, shared: true, after: func(v wire.Value) wire.Value {
				p, _ := v.At("receipt", "parties", fmt.Sprint(i))
				return set(fmt.Sprintf("/receipt/parties/%d/signature", i), signature(p.Without("signature"), thief).Canonical())(v)
			}, why: "each party signs its own record", breaks: falsified})
	}
	return s
}

// receiptMediated is the receipt of a resolution. A mediator is no party of it.
func receiptMediated() specimen {
	m := transcriptMediated()
	roles := map[string]string{hirer: "initiator", guide: "responder", third: "responder", broker: "mediator"}
	s := ended("mediated", "agreed", "", m.value, roles)
	s.faults = append(s.faults,
		fault{name: "mediator-listed", rule: session.RuleReceiptParties, edit: set("/receipt/parties/-", `{"agent_id": "`+broker+`", "role": "mediator", "behavior": {}}`), why: "a mediator is no party of a session", breaks: falsified},
		fault{name: "resolution-as-a-round", rule: session.RuleReceiptOutcome, edit: set("/receipt/outcome/rounds", "1"), why: "a resolution is no round", breaks: falsified},
		fault{name: "mechanism-not-compared", edit: set("/receipt/outcome/resolution_mechanism", `"direct"`), why: "the mechanism is information of whoever made the receipt"},
	)
	return s
}

// receiptTooSoon is a receipt of a session that is not over.
func receiptTooSoon() specimen {
	s := receiptSpecimen("receipt-unfinished", deal(), two, talkStart.Add(1800*time.Second))
	const soon = "a session is taken for concluded while an answer is on its way"
	s.faults = nil
	for i := 1; i < dealLength; i++ {
		for _, status := range []string{"agreed", "rejected", "expired", "withdrawn"} {
			s.faults = append(s.faults, fault{name: fmt.Sprintf("after-%s-%s", dealNames[i-1], status), rule: session.RuleReceiptOutcome, edit: func(v wire.Value) wire.Value {
				v = sealTalk(first(i)(v))
				list := messages(v)
				text := ""
				rounds := max(0, i-2)
				for _, m := range list {
					text += m.Canonical()
				}
				return all(set("/receipt/outcome/status", `"`+status+`"`), set("/receipt/outcome/rounds", fmt.Sprint(rounds)), set("/receipt/message_count", fmt.Sprint(i)),
					set("/receipt/chain_head", `"`+list[i-1].Hash().String()+`"`), set("/receipt/transcript_hash", `"`+wire.HashOf(text).String()+`"`),
					set("/receipt/parties/0/behavior/offers_made", fmt.Sprint(min(1, rounds))), set("/receipt/parties/1/behavior/offers_made", fmt.Sprint(rounds/2)))(v)
			}, why: "a session that is not over has no outcome, least of all " + status, breaks: soon})
		}
	}
	return s
}
