package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

var dealNames = [dealLength]string{"open", "accept-session", "offer", "counter", "accept"}

// transcriptChain is a sound session and what is wrong with its links, its
// signatures and its clock.
func transcriptChain() specimen {
	s := chained(transcript("", deal(), two))
	s.inner = inside(s.value, "/body")
	for _, more := range [][]fault{
		linkFaults(s.value, dealNames[:]), dealLinks(), chainSignatureFaults(s.value, dealNames[:]), dealSignatures(),
		clockFaults(s.value, dealNames[:]), dealClocks(), deadlineFaults(s.value, dealNames[:]), fileFaults(),
	} {
		s.faults = append(s.faults, more...)
	}
	return s
}

// numbered are names of messages that have none of their own.
func numbered(v wire.Value) []string {
	var names []string
	for i := range messages(v) {
		names = append(names, fmt.Sprintf("message-%d", i+1))
	}
	return names
}

// inside returns pointers to all messages of a transcript, and to objects in them.
func inside(v wire.Value, pointers ...string) []string {
	var list []string
	for i, m := range messages(v) {
		base := fmt.Sprintf("/messages/%d", i)
		list = append(list, base)
		for _, p := range pointers {
			if o, ok := m.At(tokens(p)...); ok && o.Kind() == wire.Object {
				list = append(list, base+p)
			}
		}
	}
	return list
}

// moved are the faults that a transcript of any length can have: of its links, its
// signatures and its clock.
func moved(v wire.Value) []fault {
	names := numbered(v)
	return slices.Concat(linkFaults(v, names), chainSignatureFaults(v, names), clockFaults(v, names), deadlineFaults(v, names))
}

// linkFaults are messages that are not where they say they are.
func linkFaults(sound wire.Value, names []string) (faults []fault) {
	const spliced = "a transcript is put together from parts of others, or parts of it are left out, and every signature in it is right"
	bad := func(name string, rule *wire.Rule, shared bool, after func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, shared: shared, after: after, why: why, breaks: breaks})
	}
	prev := func(text string) func(wire.Value) wire.Value { return set("/prev_hash", `"`+text+`"`) }
	genesis := wire.Hash{}.String()
	list := messages(sound)
	for i, name := range names {
		if i == 0 {
			bad("prev-hash-first-not-genesis", wire.RulePrevHash, true, placed(0, prev(wire.HashOf("before").String())), "the first message follows nothing: its prev_hash is the genesis hash", spliced)
			bad("prev-hash-first-empty-text", wire.RulePrevHash, true, placed(0, prev(wire.HashOf("").String())), "the genesis hash is 64 zeros, not the hash of nothing", spliced)
		} else {
			bad("prev-hash-"+name+"-genesis", wire.RulePrevHash, true, placed(i, prev(genesis)), "only the first message follows nothing", spliced)
			bad("prev-hash-"+name+"-own-preimage", wire.RulePrevHash, true, placed(i, prev(list[i-1].Without("signature").Hash().String())), "the signature is part of what is hashed", "a message is replaced by another signature of it, and nobody sees it")
			bad("prev-hash-"+name+"-without-prev-hash", wire.RulePrevHash, true, placed(i, prev(list[i-1].Without("prev_hash").Hash().String())), "the link of the message before is part of what is hashed", spliced)
			bad("prev-hash-"+name+"-last-digit", wire.RulePrevHash, true, placed(i, respell("/prev_hash", func(h string) string {
				return h[:len(h)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", h[len(h)-1])+1)%16])
			})), "every digit of a hash is compared", spliced)
			bad("prev-hash-"+name+"-body-of-before", wire.RulePrevHash, true, placed(i, func(m wire.Value) wire.Value {
				body, _ := list[i-1].Get("body")
				return prev(body.Hash().String())(m)
			}), "the whole message before is hashed, not its body", spliced)
		}
		for j := range list { // of every other message, those that come later included
			if i > 0 && j != i-1 && j != i-2 {
				bad(fmt.Sprintf("prev-hash-%s-of-%s", name, names[j]), wire.RulePrevHash, true, placed(i, prev(list[j].Hash().String())), "a message follows the one before it and no other", spliced)
			}
		}
		if i > 0 {
			for _, c := range []struct{ name, id string }{{"in-other-case", strings.ToUpper(talkID)}, {"longer", talkID + "1"}, {"shorter", talkID[:len(talkID)-1]}} {
				bad("session-of-"+name+"-"+c.name, wire.RuleSession, false, placed(i, set("/session_id", `"`+c.id+`"`)), "every message names the session, letter for letter", "what was said in one negotiation counts in another")
			}
		}
		if i > 1 {
			bad("prev-hash-"+name+"-one-too-early", wire.RulePrevHash, true, placed(i, prev(list[i-2].Hash().String())), "a message follows the one before it, not any earlier one", spliced)
			bad("session-of-"+name, wire.RuleSession, false, placed(i, set("/session_id", `"ses_boats_42"`)), "every message names the session", "what was said in one negotiation counts in another")
			for j := range i {
				bad(fmt.Sprintf("id-of-%s-as-%s", name, names[j]), wire.RuleMessageID, false, placed(i, set("/id", fmt.Sprintf(`"msg_%d"`, j+1))), "no message has the id of an earlier one, of whomever", "an answer to an id is an answer to either of two messages")
			}
		}
		if i > 0 {
			bad("resigned-"+names[i-1], wire.RulePrevHash, true, rearranged(func(l []wire.Value) []wire.Value {
				l[i-1] = signedBySender(l[i-1].With("x_note", wire.Text("said later")))
				return l
			}), "a sender who signs another message in the place of an old one breaks the link to it", "a party rewrites its own offer after it was accepted")
		}
		foreign := messages(sealTalk(set("/messages/0/body/category", `"boats.other"`)(sound)))
		if i > 0 {
			bad("foreign-"+name, wire.RulePrevHash, true, rearranged(func(l []wire.Value) []wire.Value {
				l[i] = foreign[i]
				return l
			}), "a message of a session that began otherwise does not follow here, though all else in it is right", spliced)
			bad("foreign-from-"+name, wire.RulePrevHash, true, rearranged(func(l []wire.Value) []wire.Value { return append(l[:i], foreign[i:]...) }), "the end of another session does not follow here", spliced)
		}
	}
	for i := 2; i < len(names); i++ {
		bad("session-after-"+names[i-1], wire.RuleSession, false, func(v wire.Value) wire.Value {
			l := messages(v)
			for j := i; j < len(l); j++ {
				l[j] = l[j].With("session_id", wire.Text("ses_other"))
			}
			return sealFrom(v.With("messages", value(l)), i)
		}, "all messages name the session, the last like the first", "what was said in one negotiation counts in another")
	}
	for i := 1; i < len(names); i++ {
		faults = append(faults, fault{name: "ends-with-" + names[i-1], shared: true, edit: first(i), why: "a transcript may end while the session goes on"})
	}
	return faults
}

// dealLinks are faults of the links of a deal.
func dealLinks() []fault {
	faults := []fault{{name: "without-offer", rule: wire.RulePrevHash, shared: true, after: rearranged(func(l []wire.Value) []wire.Value { return slices.Delete(l, indexOffer, indexOffer+1) }),
		why: "no message is missing, not even one that the rest can do without", breaks: "somebody leaves out what they would rather not have said"}}
	faults = append(faults,
		fault{name: "session-other-than-expected", rule: wire.RuleSession, context: wire.M{"session_id": "ses_boats_40"}, why: "the reader knows which session it is about", breaks: "the transcript of one negotiation is shown for another"},
		fault{name: "session-expected-in-other-case", rule: wire.RuleSession, context: wire.M{"session_id": strings.ToUpper(talkID)}, why: "ids are compared letter for letter", breaks: "the transcript of one negotiation is shown for another"},
		fault{name: "session-not-expected", context: wire.M{"session_id": nil}, why: "a reader that expects no session takes the one that is named"},
		fault{name: "one-more", shared: true, edit: say(guide, "commit", 240, `{}`), why: "what follows in order is part of it"},
		fault{name: "in-reply-to-nothing", edit: in(indexCounter, "/in_reply_to", `"msg_99"`), why: "in_reply_to is a hint and no link"},
	)
	return faults
}

// chainSignatureFaults are messages that their sender did not sign as they are, in
// an unbroken chain.
func chainSignatureFaults(sound wire.Value, names []string) (faults []fault) {
	const forged = "whoever keeps the transcript writes it anew, and the chain of hashes is unbroken"
	bad := func(name string, rule *wire.Rule, after func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, shared: true, after: after, why: why, breaks: breaks})
	}
	list, times := messages(sound), timesOf(sound)
	for i, name := range names {
		sender, _ := list[i].At("from", "agent_id")
		counterparty := hirer
		if sender.Text() == hirer {
			counterparty = guide
		}
		bad("signature-of-"+name+"-by-counterparty", wire.RuleSignature, unsigned(i, signedBare(counterparty)), "each message is signed by its sender, not by whom it is for", forged)
		bad("signature-of-"+name+"-by-stranger", wire.RuleSignature, unsigned(i, signedBare(thief)), "each message is signed by its sender", forged)
		another := list[(i+1)%len(names)]
		text, _ := another.Get("signature")
		bad("signature-of-"+name+"-from-another", wire.RuleSignature, unsigned(i, func(m wire.Value) wire.Value { return m.With("signature", text) }), "a signature is for one message", forged)
		bad("signature-of-"+name+"-before-linking", wire.RuleSignature, unsigned(i, func(m wire.Value) wire.Value {
			return m.With("signature", signature(m.Without("signature").Without("prev_hash"), sender.Text()))
		}), "prev_hash is signed", "a message that was signed for one place is put into another")
		bad("signature-of-"+name+"-changed-reasoning", wire.RuleSignature, unsigned(i, func(m wire.Value) wire.Value { return m.With("reasoning", wire.Text("added later")) }), "reasoning is signed like everything else", forged)
		bad("signature-of-"+name+"-changed-time", wire.RuleSignature, unsigned(i, func(m wire.Value) wire.Value { return m.With("timestamp", wire.Text(clock(times[i]+1))) }), "the time is signed", "a message is moved to the right side of a deadline")
		for _, c := range []struct{ name, pointer, text, why string }{
			{"added-member", "/x_note", `"added later"`, "members without a meaning are signed as well"}, {"added-principal", "/from/principal_id", `"somebody else"`, "on whose behalf somebody speaks is signed"},
			{"added-thread", "/thread", `"other"`, "the thread is signed"}, {"added-ttl", "/ttl", `3600`, "the time to live is signed"}, {"added-in-body", "/body/x_note", `"added later"`, "the body is signed, members without a meaning included"},
		} {
			bad("signature-of-"+name+"-"+c.name, wire.RuleSignature, unsigned(i, set(c.pointer, c.text)), c.why, forged)
		}
		bad("signature-of-"+name+"-of-hash", wire.RuleSignature, unsigned(i, func(m wire.Value) wire.Value {
			return m.With("signature", signature(wire.Text(m.Without("signature").Hash().String()), sender.Text()))
		}), "the message is signed, not its hash", forged)
		bad("signature-of-"+name+"-bit", wire.RuleSignature, unsigned(i, respell("/signature", bits(7*i+3, 4))), "every bit of a signature counts", forged)
	}
	for i, sp := range spellings {
		n := i % len(names)
		// The contract's readers take keys and signatures with and without padding,
		// and other laxities; ours do not.
		faults = append(faults, fault{name: "signature-" + sp.name, rule: wire.RuleSignatureForm, after: unsigned(n, respell("/signature", sp.edit)), why: sp.why, breaks: spellingBreaks})
	}
	return faults
}

// dealSignatures are faults of the bodies and keys of a deal.
func dealSignatures() (faults []fault) {
	bad := func(name string, rule *wire.Rule, after func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, shared: true, after: after, why: why, breaks: breaks})
	}
	for i, c := range []struct{ pointer, text string }{
		{"/body/terms/price/constraints/max", "9000"}, {"/body/extensions", `[]`}, {"/body/terms/price/value", "62"}, {"/body/terms/boats/value", "5"}, {"/body/accepted_terms", `{}`},
	} {
		bad("signature-of-"+dealNames[i]+"-changed-body", wire.RuleSignature, unsigned(i, set(c.pointer, c.text)), "the body is signed", "the terms of a deal are others than those that were signed")
	}
	keys := publicKeys(hirer, guide)
	faults = append(faults,
		fault{name: "key-of-initiator-unknown", rule: wire.RuleUnknownKey, shared: true, context: wire.M{"public_keys": publicKeys(guide)}, contract: wire.M{"public_keys_b64url": publicKeys(guide)},
			why: "without a sender's key nothing can be said for its messages", breaks: "messages that nobody verified count as said"},
		fault{name: "key-of-responder-unknown", rule: wire.RuleUnknownKey, shared: true, context: wire.M{"public_keys": publicKeys(hirer)}, contract: wire.M{"public_keys_b64url": publicKeys(hirer)},
			why: "without a sender's key nothing can be said for its messages", breaks: "messages that nobody verified count as said"},
		fault{name: "keys-swapped", rule: wire.RuleSignature, shared: true, context: wire.M{"public_keys": wire.M{hirer: keys[guide], guide: keys[hirer]}}, contract: wire.M{"public_keys_b64url": wire.M{hirer: keys[guide], guide: keys[hirer]}},
			why: "each message is verified under the key of its own sender", breaks: "each party speaks for the other"},
		fault{name: "key-one-for-all", rule: wire.RuleSignature, shared: true, context: wire.M{"public_keys": wire.M{hirer: keys[hirer], guide: keys[hirer]}}, contract: wire.M{"public_keys_b64url": wire.M{hirer: keys[hirer], guide: keys[hirer]}},
			why: "each message is verified under the key of its own sender", breaks: "one party speaks for the other"},
		fault{name: "key-rotated", rule: wire.RuleSignature, shared: true, context: wire.M{"public_keys": wire.M{hirer: keys[hirer], guide: key("a new key of the guide").Public()}}, contract: wire.M{"public_keys_b64url": wire.M{hirer: keys[hirer], guide: key("a new key of the guide").Public()}},
			why: "a message is verified under the key that the verifier has for its sender", breaks: "messages under a key that was given up count"},
	)
	return faults
}

// clockFaults are messages of a time before the session clock or after now.
func clockFaults(sound wire.Value, names []string) (faults []fault) {
	const backdated = "a party answers after a deadline and says that it was before"
	const future = "a party makes its messages look younger than they are, and moves the clock by which all others are judged"
	at := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	text := func(i int, text string) func(wire.Value) wire.Value { return in(i, "/timestamp", `"`+text+`"`) }
	times := timesOf(sound)
	for i, name := range names {
		if i > 0 {
			t := times[i-1]
			at("skewed-"+name, nil, timed(i, t-120), "clocks differ by up to 120 seconds", "")
			for _, back := range []struct {
				name string
				text string
				why  string
			}{
				{"-by-a-second", clock(t - 121), "a message is at most 120 seconds before the session clock"},
				{"-by-a-nanosecond", strings.Replace(clock(t-121), "Z", ".999999999Z", 1), "a fraction of a second counts"},
				{"-by-an-hour", clock(t - 3600), "a message is at most 120 seconds before the session clock"},
				{"-by-a-year", strings.Replace(clock(t), "2026", "2025", 1), "a message is at most 120 seconds before the session clock"},
				{"-by-its-offset", strings.Replace(clock(t), "Z", "+02:00", 1), "an offset is part of the time: nine o'clock two hours to the east was two hours ago"},
			} {
				at("backdated-"+name+back.name, wire.RuleBackdated, text(i, back.text), back.why, backdated)
			}
		}
		edit := first(i + 1)
		limit := func(before int) wire.M { return wire.M{"now": clock(times[i] - before)} }
		faults = append(faults,
			fault{name: "now-at-the-skew-of-" + name, edit: edit, context: limit(120), why: "clocks differ by up to 120 seconds"},
			fault{name: "future-" + name + "-by-a-second", rule: wire.RuleFuture, edit: edit, context: limit(121), why: "a message is at most 120 seconds after the reader's now", breaks: future},
			fault{name: "future-" + name + "-by-a-nanosecond", rule: wire.RuleFuture, edit: all(edit, text(i, strings.Replace(clock(times[i]), "Z", ".000000001Z", 1))), context: limit(120), why: "a fraction of a second counts", breaks: future},
			fault{name: "future-" + name + "-by-an-hour", rule: wire.RuleFuture, edit: edit, context: limit(3600), why: "a message is at most 120 seconds after the reader's now", breaks: future},
			fault{name: "future-" + name + "-by-a-year", rule: wire.RuleFuture, edit: edit, context: wire.M{"now": strings.Replace(clock(times[i]), "2026", "2025", 1)}, why: "a message is at most 120 seconds after the reader's now", breaks: future},
			fault{name: "future-" + name + "-by-its-offset", rule: wire.RuleFuture, edit: all(edit, text(i, strings.Replace(clock(times[i]), "Z", "-00:30", 1))), context: limit(-120), why: "an offset is part of the time: nine o'clock half an hour to the west is half past nine", breaks: future},
		)
	}
	return faults
}

// timesOf returns the timestamps of a transcript, in seconds from the first.
func timesOf(v wire.Value) []int {
	var times []int
	for _, m := range messages(v) {
		text, _ := m.Get("timestamp")
		times = append(times, int(must(wire.ParseTime(text.Text())).Sub(talkStart).Seconds()))
	}
	return times
}

// deadlineFaults let the session expire before each of its messages.
func deadlineFaults(sound wire.Value, names []string) (faults []fault) {
	const over = "a party goes on after the time that all agreed to, when the other has long stopped looking"
	timing := func(ttl int) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			if _, ok := v.At("messages", "0", "body", "timing"); ok {
				return in(0, "/body/timing/session_ttl", fmt.Sprint(ttl))(v)
			}
			return in(0, "/body/timing", fmt.Sprintf(`{"session_ttl": %d}`, ttl))(v)
		}
	}
	times := timesOf(sound)
	for i := 1; i < len(names); i++ {
		cut := first(i + 1)
		late := func(name string, edit func(wire.Value) wire.Value, why string) {
			faults = append(faults, fault{name: name + names[i], rule: session.RuleSessionTTL, edit: all(cut, edit), why: why, breaks: over})
		}
		faults = append(faults, fault{name: "last-second-for-" + names[i], edit: all(cut, timing(times[i]+1)), why: "a second before its deadline a session lives"})
		late("deadline-at-", timing(times[i]), "at the very second of its deadline a session has expired")
		late("deadline-a-second-before-", all(timing(times[i]), timed(i, times[i]+1)), "after its deadline a session has expired; the skew serves no deadline")
		late("deadline-in-the-skew-of-", all(timing(times[i]), timed(i, times[i]+119)), "after its deadline a session has expired; the skew serves no deadline")
		late("deadline-by-fraction-of-", all(timing(times[i]), in(i, "/timestamp", `"`+strings.Replace(clock(times[i]), "Z", ".000000001Z", 1)+`"`)), "a fraction of a second counts")
	}
	return faults
}

// dealClocks are clocks of a deal that go to and fro.
func dealClocks() (faults []fault) {
	at := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	text := func(i int, text string) func(wire.Value) wire.Value { return in(i, "/timestamp", `"`+text+`"`) }
	at("same-second", nil, all(timed(1, 0), timed(2, 0), timed(3, 0), timed(4, 0)), "messages may have one time: their order is that of the chain", "")
	at("clock-of-the-largest", wire.RuleBackdated, all(timed(2, 900), timed(3, 790), timed(4, 779)), "the session clock is the largest time so far, not that of the last message", "a party answers after a deadline and says that it was before")
	at("clock-back-and-forth", nil, all(timed(2, 900), timed(3, 780), timed(4, 780)), "two messages in a row may be at the skew", "")
	at("fraction", nil, text(4, "2026-09-14T09:03:00.25Z"), "a time may have a fraction", "")
	at("offset", nil, text(4, "2026-09-14T12:03:00+03:00"), "a time may have an offset", "")
	return faults
}

// fileFaults are files that hold no transcript.
func fileFaults() (faults []fault) {
	bad := func(name string, after func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, rule: session.RuleDocument, after: after, why: why, breaks: "a program that finds no messages where it looks finds nothing wrong with them"})
	}
	bad("file-no-messages", drop("/messages"), "a transcript has messages")
	bad("file-empty", set("/messages", "[]"), "a transcript has at least one message")
	bad("file-empty-array", become(parse("[]")), "a transcript has at least one message")
	bad("file-null-messages", set("/messages", "null"), "messages is a list")
	bad("file-object-messages", set("/messages", `{"0":{}}`), "messages is a list")
	bad("file-text", become(parse(`"messages"`)), "a transcript is an object or a list")
	bad("file-null", become(parse(`null`)), "a transcript is an object or a list")
	bad("file-twin", set("/Messages", "[]"), "no member differs from messages only in case")
	bad("file-twin-receipt", set("/Receipt", "{}"), "no member differs from receipt only in case")
	bad("file-twin-evidence", set("/EVIDENCE", "{}"), "no member differs from evidence only in case")
	bad("file-null-receipt", set("/receipt", "null"), "a transcript without a receipt has no member for it")
	bad("file-list-receipt", set("/receipt", "[]"), "there is one receipt")
	bad("file-null-evidence", set("/evidence", "null"), "a transcript without evidence has no member for it")
	bad("file-text-evidence", set("/evidence", `"msg_6"`), "evidence is a message")
	faults = append(faults,
		fault{name: "file-array", after: func(v wire.Value) wire.Value { m, _ := v.Get("messages"); return m }, why: "a list of messages is a transcript"},
		fault{name: "file-unknown-member", after: set("/x_stored_by", `"relay"`), why: "a file may say more than the transcript"},
	)
	for i, c := range []struct{ name, text string }{{"null", "null"}, {"text", `"msg_1"`}, {"list", "[]"}, {"empty-object", "{}"}} {
		faults = append(faults, fault{name: "message-is-" + c.name, rule: wire.RuleEnvelope, after: in(i+1, "", c.text), why: "every message is a message", breaks: "something that is no message stands in a transcript and is passed over"})
	}
	for _, m := range envelopeRequired {
		faults = append(faults, fault{name: "message-without-" + slug(m), rule: wire.RuleEnvelope, edit: drop("/messages/4/" + m), why: "every message of a transcript has " + m, breaks: "a reader fills in what is not there, each in its own way"})
	}
	return faults
}
