package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// withReceipt adds to a sealed transcript the receipt that follows from it, signed
// by all parties.
func withReceipt(v wire.Value, roles map[string]string, now time.Time) wire.Value {
	parties, keys := map[wire.AgentID]protocol.Role{}, wire.KeyMap{}
	for a, role := range roles {
		parties[wire.AgentID(a)] = protocol.Role(role)
		keys[wire.AgentID(a)] = key(a).Public()
	}
	doc := must(session.ReadDocument(v))
	t, report := doc.Check(talkID, keys, now, &session.Options{Parties: parties, Import: true}, nil)
	if err := report.Err(); err != nil {
		panic(err)
	}
	return signReceipt(v.With("receipt", must(must(t.Receipt(now)).Value())))
}

// signReceipt signs each party's record and then the whole for each party. What a
// fault made no text, or took away, stays so.
func signReceipt(v wire.Value) wire.Value {
	r, ok := v.Get("receipt")
	if parties, _ := r.Get("parties"); !ok || parties.Kind() != wire.Array {
		return v
	}
	list := []wire.Value{}
	parties, _ := r.Get("parties")
	for _, p := range parties.Elems() {
		agent, _ := p.Get("agent_id")
		list = append(list, p.With("signature", signature(p.Without("signature"), agent.Text())))
	}
	r = r.With("parties", value(list))
	signatures := wire.M{}
	for _, p := range list {
		agent, _ := p.Get("agent_id")
		signatures[agent.Text()] = signature(attest.Countersigned(r), agent.Text())
	}
	return v.With("receipt", r.With("countersignatures", value(signatures)))
}

// receiptSpecimen is a transcript with its receipt. An edit changes one of them, and
// all sign again what they signed; the receipt is not derived anew.
func receiptSpecimen(form string, v wire.Value, roles map[string]string, now time.Time) specimen {
	s := chained(transcript(form, withReceipt(sealTalk(v), roles, now), roles))
	s.sign = func(v wire.Value) wire.Value { return signReceipt(sealTalk(v)) }
	s.context = override(s.context, wire.M{"now": wire.FormatTime(now)})
	s.inner = []string{"/receipt", "/receipt/outcome", "/receipt/meta", "/receipt/validity_temporal", "/receipt/countersignatures", "/receipt/parties/0"}
	return s
}

// conductTalk is a session in which every member of a record is more than nothing
// for one party or the other.
func conductTalk() wire.Value {
	return talk(
		to(line(hirer, "open", 0, `{"terms": `+boats+`, "category": "boats.weekly", "value_range": "500-1000_EUR", "witnesses": ["`+reader+`"]}`), guide),
		line(guide, "accept_session", 30, `{}`),
		line(guide, "constrain", 40, `{"constraints": {"price": {"max": 700}}}`),
		line(hirer, "signal", 50, `{"priority_ranking": ["day"]}`).With("reasoning", wire.Text("the day matters more than the price")),
		line(hirer, "offer", 60, offerOne),
		line(guide, "counter", 120, offerTwo),
		line(hirer, "accept", 180, `{"offer_id": "off_2"}`),
		line(guide, "commit", 240, `{}`),
	)
}

const falsified = "a receipt that all parties signed says what the transcript does not: a reputation is made up"

// receiptAgreed is the receipt of a deal, and each member of it wrong once.
func receiptAgreed() specimen {
	s := receiptSpecimen("receipt", conductTalk(), two, talkStart.Add(1800*time.Second))
	s.inner = append(s.inner, "/receipt/parties/1", "/receipt/parties/0/behavior", "/receipt/parties/1/behavior")
	for _, more := range [][]fault{receiptOutcomes(), receiptParties(), receiptConducts(s.value), receiptChains(s.value), receiptTimes(), receiptSignatures(s.value), receiptShape(s.value)} {
		s.faults = append(s.faults, more...)
	}
	return s
}

// ofReceipt is a fault of one member of the receipt, which all sign.
func ofReceipt(name string, rule *wire.Rule, pointer, text, why string) fault {
	return fault{name: name, rule: rule, edit: set("/receipt"+pointer, text), why: why, breaks: falsified}
}

func receiptOutcomes() (faults []fault) {
	for _, c := range []struct{ name, id, why string }{
		{"other", "ses_boats_42", "the receipt names the session of the transcript"}, {"other-case", strings.ToUpper(talkID), "ids are compared letter for letter"}, {"longer", talkID + "0", "ids are compared as a whole"}, {"shorter", talkID[:len(talkID)-1], "ids are compared as a whole"},
	} {
		faults = append(faults, ofReceipt("session-"+c.name, session.RuleReceiptSession, "/session_id", `"`+c.id+`"`, c.why))
	}
	for _, status := range []string{"rejected", "expired", "withdrawn"} {
		faults = append(faults, ofReceipt("status-"+status, session.RuleReceiptOutcome, "/outcome/status", `"`+status+`"`, "the session was agreed, not "+status))
	}
	for _, n := range []string{"0", "1", "3", "20"} {
		faults = append(faults, ofReceipt("rounds-"+n, session.RuleReceiptOutcome, "/outcome/rounds", n, "there were two offers and counters, not "+n))
	}
	for _, n := range []string{"1", "6", "8"} {
		faults = append(faults, ofReceipt("terms-count-"+n, session.RuleReceiptOutcome, "/outcome/terms_count", n, "open has seven terms, not "+n))
	}
	faults = append(faults, fault{name: "terms-count-left-out", rule: session.RuleReceiptOutcome, edit: drop("/receipt/outcome/terms_count"), why: "open has terms, and the receipt says how many", breaks: falsified})
	for _, c := range []struct{ name, pointer, text, why string }{
		{"duration", "/outcome/duration_seconds", "7", "how long it took is information of whoever made the receipt"}, {"concessions", "/parties/0/behavior/concessions", "2", "figures of other implementations may differ and are not compared"},
		{"magnitude", "/parties/0/behavior/concession_magnitude", "0.7", "figures of other implementations may differ and are not compared"}, {"response-time", "/parties/1/behavior/response_time_avg_seconds", "1.5", "figures of other implementations may differ and are not compared"},
		{"category", "/meta/category", `"boats"`, "a category is a label and is not compared"}, {"summary", "/summary", `"Two parties agreed."`, "a summary is for people and is not compared"}, {"id", "/attestation_id", `"att_of_another_implementation"`, "another implementation names its receipts otherwise"},
		{"older-version", "/concordia_attestation", `"0.3.0"`, "a receipt of an older version that closes a chain will do"},
	} {
		f := ofReceipt("not-compared-"+c.name, nil, c.pointer, c.text, c.why)
		f.breaks, f.shared = "", true
		faults = append(faults, f)
	}
	return faults
}

func receiptParties() (faults []fault) {
	party := session.RuleReceiptParties
	for i, who := range []string{"initiator", "responder"} {
		for _, role := range []string{"initiator", "responder", "mediator", "witness"} {
			if role != who {
				faults = append(faults, ofReceipt(who+"-as-"+role, party, fmt.Sprintf("/parties/%d/role", i), `"`+role+`"`, "the receipt gives each party its role: the "+who+" was no "+role))
			}
		}
		for _, other := range []string{broker, reader} {
			name := strings.TrimSuffix(strings.TrimPrefix(other, "did:web:"), ".example")
			faults = append(faults, ofReceipt(who+"-is-"+name, party, fmt.Sprintf("/parties/%d/agent_id", i), `"`+other+`"`, "the receipt lists who was a party, and nobody in its place"))
		}
	}
	for _, role := range []string{"responder", "witness", "mediator"} {
		faults = append(faults, ofReceipt("one-more-"+role, party, "/parties/-", `{"agent_id": "`+broker+`", "role": "`+role+`", "behavior": {}}`, "the receipt lists who was a party and nobody else, be it as "+role))
	}
	faults = append(faults, fault{name: "roles-exchanged", rule: party, edit: all(set("/receipt/parties/0/role", `"responder"`), set("/receipt/parties/1/role", `"initiator"`)), why: "the receipt gives each party its role", breaks: falsified},
		fault{name: "witness-as-party", rule: party, edit: set("/receipt/parties/-", `{"agent_id": "`+reader+`", "role": "witness", "behavior": {}}`), why: "a witness is no party, and is not listed as one", breaks: falsified},
		fault{name: "order-of-parties", edit: func(v wire.Value) wire.Value {
			a, _ := v.At("receipt", "parties", "0")
			b, _ := v.At("receipt", "parties", "1")
			return set("/receipt/parties", value([]wire.Value{b, a}).Canonical())(v)
		}, why: "the parties may be listed in another order"},
	)
	return faults
}

// receiptConducts change what a party did, up and down.
func receiptConducts(sound wire.Value) (faults []fault) {
	for i, who := range []string{"initiator", "responder"} {
		for _, m := range []string{"offers_made", "signals_shared", "constraints_declared"} {
			p := fmt.Sprintf("/receipt/parties/%d/behavior/%s", i, m)
			v, _ := sound.At(tokens(p)...)
			n, _ := v.Int()
			name := who + "-" + slug(m)
			why := "what the " + who + " did is what the transcript shows: " + m
			faults = append(faults,
				fault{name: name + "-more", rule: session.RuleReceiptConduct, edit: set(p, fmt.Sprint(n+1)), why: why, breaks: falsified},
				fault{name: name + "-many", rule: session.RuleReceiptConduct, edit: set(p, "1000000"), why: why, breaks: falsified})
			if n > 0 {
				faults = append(faults, fault{name: name + "-none", rule: session.RuleReceiptConduct, edit: set(p, "0"), why: why, breaks: falsified},
					fault{name: name + "-left-out", rule: session.RuleReceiptConduct, edit: drop(p), why: why + "; left out it is zero", breaks: falsified})
			} else {
				faults = append(faults, fault{name: name + "-zero-left-out", edit: drop(p), why: "what is left out is zero"})
			}
		}
		for _, m := range []string{"reasoning_provided", "withdrawal"} {
			p := fmt.Sprintf("/receipt/parties/%d/behavior/%s", i, m)
			v, _ := sound.At(tokens(p)...)
			faults = append(faults, fault{name: who + "-" + slug(m) + "-flipped", rule: session.RuleReceiptConduct, edit: set(p, fmt.Sprint(!v.Bool())), why: "what the " + who + " did is what the transcript shows: " + m, breaks: falsified})
		}
	}
	return append(faults, fault{name: "conduct-exchanged", rule: session.RuleReceiptConduct, edit: func(v wire.Value) wire.Value {
		a, _ := v.At("receipt", "parties", "0", "behavior")
		b, _ := v.At("receipt", "parties", "1", "behavior")
		return all(set("/receipt/parties/0/behavior", b.Canonical()), set("/receipt/parties/1/behavior", a.Canonical()))(v)
	}, why: "each party is credited with what it did itself", breaks: falsified})
}

// receiptChains tie the receipt to another transcript than the one at hand.
func receiptChains(sound wire.Value) (faults []fault) {
	const cut = "the end of a transcript, or another transcript, is hidden behind a receipt that is right by itself"
	list := messages(sound)
	n := len(list)
	tied := func(name string, rule *wire.Rule, shared bool, pointer, text, why string) {
		f := fault{name: "chain-" + name, rule: rule, shared: shared, edit: set("/receipt"+pointer, text), why: why, breaks: cut}
		faults = append(faults, f)
	}
	quoted := func(h wire.Hash) string { return `"` + h.String() + `"` }
	rule := session.RuleReceiptChain
	for i, m := range list[:n-1] {
		tied(fmt.Sprintf("head-is-message-%d", i+1), rule, true, "/chain_head", quoted(m.Hash()), "chain_head is the hash of the last message, not of an earlier one")
	}
	tied("head-is-genesis", rule, true, "/chain_head", quoted(wire.Hash{}), "chain_head is the hash of the last message")
	tied("head-without-signature", rule, true, "/chain_head", quoted(list[n-1].Without("signature").Hash()), "the signature of the last message is part of what is hashed")
	tied("head-elsewhere", rule, true, "/chain_head", quoted(wire.HashOf("elsewhere")), "chain_head is the hash of the last message")
	for _, count := range []int{1, n - 1, n + 1, 1000} {
		tied(fmt.Sprintf("count-%d", count), rule, true, "/message_count", fmt.Sprint(count), fmt.Sprintf("there are %d messages, not %d", n, count))
	}
	var whole, bare, reversed, short strings.Builder
	for i, m := range list {
		whole.WriteString(m.Canonical() + "\n")
		bare.WriteString(m.Without("signature").Canonical())
		reversed.WriteString(list[n-1-i].Canonical())
		if i < n-1 {
			short.WriteString(m.Canonical())
		}
	}
	for _, c := range []struct {
		name string
		hash wire.Hash
		why  string
	}{
		{"elsewhere", wire.HashOf("elsewhere"), "transcript_hash is that of the messages"}, {"one-a-line", wire.HashOf(whole.String()), "the messages are joined without separators"}, {"without-signatures", wire.HashOf(bare.String()), "the signatures are part of the messages"},
		{"reversed", wire.HashOf(reversed.String()), "the messages are joined in their order"}, {"without-the-last", wire.HashOf(short.String()), "the last message is part of the transcript"}, {"as-array", value(list).Hash(), "the messages are joined as they are, not as a list"}, {"is-chain-head", list[n-1].Hash(), "transcript_hash is not chain_head"}, {"genesis", wire.Hash{}, "transcript_hash is that of the messages"}, {"of-nothing", wire.HashOf(""), "transcript_hash is that of the messages"},
	} {
		tied("transcript-hash-"+c.name, rule, false, "/transcript_hash", quoted(c.hash), c.why)
	}
	again := func(name string, edit func(wire.Value) wire.Value, shared bool, why string) {
		faults = append(faults, fault{name: "chain-" + name, rule: rule, shared: shared, edit: edit, why: why, breaks: cut})
	}
	again("last-message-missing", first(n-1), true, "the receipt counts a message that is not there")
	again("one-more-message", move(hirer, wire.TypeCommit, 300), true, "the receipt does not know of a message that is there")
	for i := range n {
		again(fmt.Sprintf("message-%d-signed-anew", i+1), in(i, "/x_note", `"said later"`), true, "all senders signed another transcript: the receipt is of the first one")
	}
	again("other-price", all(in(4, "/body/terms/price/value", "630")), true, "the terms are others than those of which the receipt is")
	again("other-recipient-of-last", in(n-1, "/to", `[{"agent_id":"`+hirer+`"}]`), true, "the last message is another")
	for _, c := range []struct{ name, pointer string }{{"head", "/chain_head"}, {"count", "/message_count"}} {
		faults = append(faults, fault{name: "chain-" + c.name + "-left-out", rule: attest.RuleSet, shared: true, edit: drop("/receipt" + c.pointer), class: wire.ClassBinding, why: "a receipt says which transcript it closes", breaks: cut})
	}
	return faults
}

// receiptTimes are moments of the receipt and of whoever reads it.
func receiptTimes() (faults []fault) {
	const early = "a receipt of a session is shown before the session had its end, or after it has lost its meaning"
	at := func(name string, rule *wire.Rule, seconds int, why string) {
		f := fault{name: "time-" + name, rule: rule, edit: set("/receipt/timestamp", `"`+clock(seconds)+`"`), why: why}
		if rule != nil {
			f.breaks = early
		}
		faults = append(faults, f)
	}
	at("skewed", nil, 120, "a receipt is made up to 120 seconds before the session ended, for clocks differ")
	at("before-the-end", session.RuleReceiptTime, 119, "a receipt is made when the session has ended")
	at("at-the-beginning", session.RuleReceiptTime, 0, "a receipt is made when the session has ended")
	at("before-the-session", session.RuleReceiptTime, -3600, "a receipt is made when the session has ended")
	at("a-day-before", session.RuleReceiptTime, -86400, "a receipt is made when the session has ended")
	at("later", nil, 1800, "a receipt may be made later")
	at("in-the-skew", nil, 1920, "clocks differ by up to 120 seconds")
	at("in-the-future", attest.RuleNotYet, 1921, "a receipt is not made after now")
	at("an-hour-ahead", attest.RuleNotYet, 5400, "a receipt is not made after now")
	for _, c := range []struct{ name, text string }{
		{"by-offset", "2026-09-14T11:01:00+02:00"}, {"by-fraction", "2026-09-14T09:01:59.999999999Z"}, {"by-offset-to-the-west", "2026-09-14T00:00:00-09:00"},
	} {
		faults = append(faults, fault{name: "time-before-the-end-" + c.name, rule: session.RuleReceiptTime, edit: set("/receipt/timestamp", `"`+c.text+`"`), why: "a receipt is made when the session has ended; an offset and a fraction are part of its time", breaks: early})
	}
	now := func(name string, rule *wire.Rule, at, why string) {
		f := fault{name: "now-" + name, rule: rule, context: wire.M{"now": at}, why: why}
		if rule != nil {
			f.breaks = early
		}
		faults = append(faults, f)
	}
	now("at-the-skew", nil, clock(120), "clocks differ by up to 120 seconds")
	now("89-days-later", nil, "2026-12-12T09:04:00Z", "a receipt stands for 90 days")
	now("90-days-later", attest.RuleExpired, "2026-12-13T09:04:00Z", "a receipt stands for the time that its signers gave it, and no longer")
	now("a-year-later", attest.RuleExpired, "2027-09-14T09:04:00Z", "a receipt stands for the time that its signers gave it, and no longer")
	valid := func(name string, rule *wire.Rule, text, why string) {
		f := fault{name: "validity-" + name, rule: rule, edit: set("/receipt/validity_temporal", text), why: why}
		if rule != nil {
			f.breaks = early
		}
		faults = append(faults, f)
	}
	valid("ended", attest.RuleExpired, `{"mode":"absolute","from":"2026-09-14T09:04:00Z","until":"2026-09-14T09:29:59Z"}`, "a receipt stands until the time that its signers gave it")
	valid("of-a-minute", attest.RuleExpired, `{"mode":"relative","from":"2026-09-14T09:04:00Z","duration_seconds":60}`, "a receipt stands for the time that its signers gave it")
	valid("not-begun", attest.RuleNotYet, `{"mode":"absolute","from":"2026-09-14T09:32:01Z","until":"2026-09-15T09:04:00Z"}`, "a receipt does not stand before its signers say so, but for the skew")
	valid("too-long", attest.RuleLifetime, `{"mode":"relative","from":"2026-09-14T09:04:00Z","duration_seconds":63072000}`, "a verifier has its own bound, whatever the signers allow")
	valid("relative", nil, `{"mode":"relative","from":"2026-09-14T09:04:00Z","duration_seconds":86400}`, "a validity may be a duration")
	return faults
}

// receiptSignatures are receipts that not all parties signed as they are.
func receiptSignatures(sound wire.Value) (faults []fault) {
	const alone = "one party writes the receipt, and says that both did"
	for i, who := range []string{hirer, guide} {
		name := []string{"initiator", "responder"}[i]
		record := fmt.Sprintf("/receipt/parties/%d/signature", i)
		whole := "/receipt/countersignatures/" + who
		otherRecord, _ := sound.At("receipt", "parties", fmt.Sprint(1-i), "signature")
		otherWhole, _ := sound.At("receipt", "countersignatures", []string{guide, hirer}[i])
		party, _ := sound.At("receipt", "parties", fmt.Sprint(i))
		receipt, _ := sound.Get("receipt")
		for _, p := range []struct {
			name, pointer, why string
			rule               *wire.Rule
			other              wire.Value
			preimage           wire.Value
		}{
			{name + "-record", record, "each party signs its own record", attest.RulePartyRecord, otherRecord, party.Without("signature")},
			{name + "-whole", whole, "each party signs the whole receipt", attest.RuleOutcome, otherWhole, attest.Countersigned(receipt)},
		} {
			// Without the whole signed again over it, a record's signature is not part of
			// what is countersigned: all signatures are left out of that.
			for _, c := range []struct {
				name  string
				after func(wire.Value) wire.Value
				why   string
			}{
				{"by-stranger", set(p.pointer, signature(p.preimage, thief).Canonical()), "and nobody for it"},
				{"of-other-party", set(p.pointer, p.other.Canonical()), "and not the other one"},
				{"of-other-text", set(p.pointer, signature(p.preimage.With("x", value(1)), who).Canonical()), "as it is"},
				{"bit", respell(p.pointer, bits(9, 2)), "and every bit of a signature counts"},
				{"of-hash", set(p.pointer, signature(wire.Text(p.preimage.Hash().String()), who).Canonical()), "and not its hash"},
			} {
				faults = append(faults, fault{name: "signature-" + p.name + "-" + c.name, rule: p.rule, shared: true, after: c.after, why: p.why + ", " + c.why, breaks: alone})
			}
			for _, sp := range spellings[1:] {
				if sp.name == "trailing-bits" || sp.name == "junk" || sp.name == "trailing-newline" || sp.name == "line-break" {
					faults = append(faults, fault{name: "signature-" + p.name + "-" + sp.name, rule: p.rule, after: respell(p.pointer, sp.edit), why: sp.why, breaks: spellingBreaks})
				}
			}
		}
		faults = append(faults,
			fault{name: "signature-" + name + "-record-left-out", rule: attest.RulePartyRecord, after: drop(record), why: "each party signs its own record", breaks: alone},
			fault{name: "signature-" + name + "-record-empty", rule: attest.RulePartyRecord, shared: true, after: set(record, `""`), why: "each party signs its own record", breaks: alone},
			fault{name: "signature-" + name + "-whole-left-out", rule: attest.RuleOutcome, shared: true, after: drop(whole), why: "each party signs the whole receipt", breaks: alone},
		)
	}
	// What was changed after all had signed the records, and after all had signed the whole.
	for _, c := range []struct{ name, pointer, text string }{
		{"summary", "/summary", `"Another summary."`}, {"duration", "/outcome/duration_seconds", "1"}, {"category", "/meta/category", `"boats.monthly"`}, {"id", "/attestation_id", `"att_other"`}, {"mechanism", "/outcome/resolution_mechanism", `"split"`}, {"extensions", "/meta/extensions_used", `["urn:x:weather"]`}, {"validity", "/validity_temporal/until", `"2026-12-12T09:04:00Z"`},
	} {
		faults = append(faults, fault{name: "changed-" + c.name, rule: attest.RuleOutcome, shared: true, after: set("/receipt"+c.pointer, c.text), why: c.name + " is part of what all parties signed", breaks: alone})
	}
	faults = append(faults,
		fault{name: "nobody-signed-the-whole", rule: attest.RuleOutcome, shared: true, after: drop("/receipt/countersignatures"), why: "each party signs the whole receipt", breaks: alone},
		fault{name: "signatures-exchanged", rule: attest.RuleOutcome, shared: true, after: func(v wire.Value) wire.Value {
			a, _ := v.At("receipt", "countersignatures", hirer)
			b, _ := v.At("receipt", "countersignatures", guide)
			return set("/receipt/countersignatures", value(wire.M{hirer: b, guide: a}).Canonical())(v)
		}, why: "a signature counts for the party under whose id it stands", breaks: alone},
		fault{name: "witness-signed", after: func(v wire.Value) wire.Value {
			r, _ := v.Get("receipt")
			return set("/receipt/countersignatures/"+reader, signature(attest.Countersigned(r), reader).Canonical())(v)
		}, shared: true, why: "a witness may sign the whole as well"},
		fault{name: "key-unknown", rule: wire.RuleUnknownKey, context: wire.M{"public_keys": maps.Clone(publicKeys(hirer))}, shared: true, contract: wire.M{"public_keys_b64url": maps.Clone(publicKeys(hirer))}, why: "without a party's key nothing can be said for its signatures", breaks: alone},
	)
	return faults
}

// receiptShape are receipts that have not the members of one.
func receiptShape(sound wire.Value) (faults []fault) {
	const guessed = "a reader fills in what is not there, each in its own way, or takes what it does not know for nothing"
	bad := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: "shape-" + name, rule: rule, edit: edit, why: why, breaks: guessed})
	}
	for _, p := range []string{
		"/concordia_attestation", "/attestation_id", "/session_id", "/timestamp", "/outcome", "/outcome/status", "/outcome/rounds", "/outcome/duration_seconds",
		"/parties/0/role", "/parties/0/behavior", "/parties/1/role", "/parties/1/behavior", "/meta", "/transcript_hash",
	} {
		name := slug(strings.ReplaceAll(p[1:], "/", "-"))
		bad("no-"+name, attest.RuleShape, drop("/receipt"+p), "a receipt has "+p[1:])
		bad("null-"+name, attest.RuleShape, set("/receipt"+p, "null"), p[1:]+" is not null")
		wrong := `["x"]`
		if v, _ := sound.At(tokens("/receipt" + p)...); v.Kind() == wire.Number {
			wrong = `"1"`
		}
		bad("mistyped-"+name, attest.RuleShape, set("/receipt"+p, wrong), p[1:]+" has one type")
	}
	for _, p := range []string{"", "/outcome", "/parties/0", "/parties/1", "/parties/0/behavior", "/parties/1/behavior", "/meta"} {
		name := slug(strings.ReplaceAll(strings.TrimPrefix(p, "/"), "/", "-"))
		bad("unknown-member-"+name, attest.RuleShape, set("/receipt"+p+"/x_note", `"y"`), "the objects of a receipt are closed: what has no meaning there is not signed by accident")
	}
	for _, m := range []string{"offers_made", "signals_shared", "constraints_declared", "concessions", "constraints_violated"} {
		p := "/receipt/parties/0/behavior/" + m
		bad(slug(m)+"-negative", attest.RuleShape, set(p, "-1"), m+" is not negative")
		bad(slug(m)+"-fraction", attest.RuleShape, set(p, "0.5"), m+" is whole")
		bad(slug(m)+"-text", attest.RuleShape, set(p, `"1"`), m+" is a number")
	}
	for _, m := range []string{"reasoning_provided", "withdrawal"} {
		p := "/receipt/parties/0/behavior/" + m
		bad(slug(m)+"-number", attest.RuleShape, set(p, "1"), m+" is a boolean")
		bad(slug(m)+"-text", attest.RuleShape, set(p, `"true"`), m+" is a boolean")
	}
	for _, c := range []struct{ name, pointer, text, why string }{
		{"status-other", "/outcome/status", `"won"`, "there are four outcomes"}, {"rounds-negative", "/outcome/rounds", "-1", "rounds are not negative"}, {"role-other", "/parties/0/role", `"seller"`, "there are four roles"},
		{"terms-count-zero", "/outcome/terms_count", "0", "terms_count is left out if there are none"}, {"message-count-zero", "/message_count", "0", "a transcript has a message"}, {"magnitude-above-one", "/parties/0/behavior/concession_magnitude", "1.5", "a magnitude is at most 1"},
		{"version-two-numbers", "/concordia_attestation", `"0.5"`, "a version has three numbers"}, {"timestamp-local", "/timestamp", `"2026-09-14T09:04:00"`, "a time has an offset"}, {"transcript-hash-capital", "/transcript_hash", `"SHA256:` + strings.Repeat("0", 64) + `"`, "a hash has one spelling"},
		{"chain-head-short", "/chain_head", `"sha256:00"`, "a hash has 64 digits"}, {"mechanism-other", "/outcome/resolution_mechanism", `"dice"`, "there are six mechanisms"}, {"id-space", "/attestation_id", `"att 1"`, "an id has no white space"},
	} {
		bad(c.name, attest.RuleShape, set("/receipt"+c.pointer, c.text), c.why)
	}
	return faults
}
