package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

var (
	ruleChainMembers = suiteRule("chain-members")
	ruleMessages     = suiteRule("expected-messages")
)

// messageChain is a chain under the contract's profile alone: which looks at links
// and signatures and not at what is said, so that whole messages can be moved
// about without anything else being wrong.
func messageChain() specimen {
	s := chained(transcript("", chatter(), two))
	v := s.value
	m := specimen{
		kind: "message_chain", record: "message_chain", profile: "message-chain-v1", value: v, sign: sealTalk,
		context: s.contractContext(v),
	}
	m.faults = append(m.faults, movedFaults(len(messages(v)))...)
	m.faults = append(m.faults, expectedFaults(v)...)
	return m
}

// transcriptChat is the same as a transcript: what is moved about in it breaks no rule
// but those of the chain.
func transcriptChat() specimen {
	s := chained(transcript("chat", chatter(), two))
	s.inner = inside(s.value, "/body")
	s.faults = moved(s.value)
	const missing, again = "somebody leaves out what they would rather not have said", "an answer is made to be one to a message that came after it"
	n := len(messages(s.value))
	for i := 2; i < n-1; i++ {
		for j := i + 1; j < n; j++ {
			s.faults = append(s.faults,
				fault{name: fmt.Sprintf("without-%d-to-%d", i+1, j), rule: wire.RulePrevHash, shared: true, after: rearranged(func(l []wire.Value) []wire.Value { return slices.Delete(l, i, j) }), why: "no part of a transcript is missing, not even what changes nothing", breaks: missing},
				fault{name: fmt.Sprintf("exchanged-%d-and-%d", i+1, j+1), rule: wire.RulePrevHash, after: rearranged(func(l []wire.Value) []wire.Value {
					l[i], l[j] = l[j], l[i]
					return l
				}), shared: true, why: "messages stand in the order in which they were sent", breaks: again},
				fault{name: fmt.Sprintf("moved-%d-to-%d", i+1, j+1), rule: wire.RulePrevHash, after: rearranged(func(l []wire.Value) []wire.Value {
					m := l[i]
					return slices.Insert(slices.Delete(l, i, i+1), j, m)
				}), shared: true, why: "messages stand in the order in which they were sent", breaks: again})
		}
	}
	for i := range n {
		for _, m := range envelopeRequired {
			s.faults = append(s.faults, fault{name: fmt.Sprintf("message-%d-without-%s", i+1, slug(m)), rule: wire.RuleEnvelope, edit: drop(fmt.Sprintf("/messages/%d/%s", i, m)), why: "every message of a transcript has " + m + ", the first like the last", breaks: "a reader fills in what is not there, each in its own way"})
		}
		for _, m := range []string{"timestamp", "id", "body", "reasoning"} {
			s.faults = append(s.faults, fault{name: fmt.Sprintf("message-%d-twin-%s", i+1, slug(m)), rule: wire.RuleEnvelope, edit: set(fmt.Sprintf("/messages/%d/%s", i, capital(m)), `"x"`), why: "no member of a message differs from " + m + " only in case", breaks: "two readers of one message read two"})
		}
	}
	return s
}

// chatter is a session in which nothing depends on anything.
func chatter() wire.Value {
	return talk(
		to(line(hirer, "open", 0, `{"terms": {"boats": {"type": "numeric"}}}`), guide),
		line(guide, "accept_session", 10, `{}`),
		line(hirer, "inquire", 20, `{"term_ids": ["boats"]}`),
		line(guide, "signal", 30, `{"aspiration": {"boats": 3}}`),
		line(hirer, "signal", 40, `{"priority_ranking": ["boats"]}`),
		line(guide, "inquire", 50, `{"term_ids": []}`),
		line(hirer, "signal", 60, `{}`),
		line(guide, "signal", 70, `{}`),
	)
}

// movedFaults move whole messages, which keep their signatures.
func movedFaults(n int) (faults []fault) {
	bad := func(name string, edit func([]wire.Value) []wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: wire.RulePrevHash, after: rearranged(edit), why: why, breaks: breaks})
	}
	const missing, moved, again = "somebody leaves out what they would rather not have said", "an answer is made to be one to a message that came after it", "a message that was sent once counts twice"
	for i := range n {
		at := fmt.Sprintf("-%d", i+1)
		if i < n-1 {
			bad("without"+at, func(l []wire.Value) []wire.Value { return slices.Delete(l, i, i+1) }, "no message is missing", missing)
			bad("swapped-with-next"+at, func(l []wire.Value) []wire.Value {
				l[i], l[i+1] = l[i+1], l[i]
				return l
			}, "messages stand in the order in which they were sent", moved)
		}
		bad("twice"+at, func(l []wire.Value) []wire.Value { return slices.Insert(l, i+1, l[i]) }, "a message is there once", again)
		if i < n-1 {
			bad("again-at-the-end"+at, func(l []wire.Value) []wire.Value { return append(l, l[i]) }, "a message is there once", again)
		}
		if i > 0 {
			bad("begins-with"+at, func(l []wire.Value) []wire.Value { return l[i:] }, "a chain begins with the message that follows nothing", missing)
			bad("open-follows"+at, func(l []wire.Value) []wire.Value {
				return slices.Insert(l, i, signedBySender(l[0].With("id", wire.Text("msg_new"))))
			}, "a second message that follows nothing does not stand in the middle", "two sessions are shown as one")
		}
		for j := i + 2; j < n-1; j++ {
			bad(fmt.Sprintf("without%s-to-%d", at, j), func(l []wire.Value) []wire.Value { return slices.Delete(l, i, j) }, "no part of a chain is missing", missing)
			bad(fmt.Sprintf("moved%s-to-%d", at, j+1), func(l []wire.Value) []wire.Value {
				m := l[i]
				return slices.Insert(slices.Delete(l, i, i+1), j, m)
			}, "messages stand in the order in which they were sent", moved)
		}
	}
	bad("reversed", func(l []wire.Value) []wire.Value {
		slices.Reverse(l)
		return l
	}, "messages stand in the order in which they were sent", moved)
	faults = append(faults,
		fault{name: "spliced-and-sealed", edit: rearranged(func(l []wire.Value) []wire.Value { return slices.Delete(l, 2, 3) }),
			why: "whoever has the keys of all later senders can leave a message out: without the receipt that counts the messages nobody can tell"},
		fault{name: "no-prev-hash", rule: wire.RulePrevHash, edit: drop("/messages/3/prev_hash"), why: "a message without prev_hash follows nothing", breaks: missing},
		fault{name: "null-prev-hash", rule: wire.RulePrevHash, edit: set("/messages/3/prev_hash", "null"), why: "a message with a prev_hash of null follows nothing", breaks: missing},
		fault{name: "null-prev-hash-of-first", rule: wire.RulePrevHash, edit: set("/messages/0/prev_hash", "null"), why: "the first message says that it follows nothing with the genesis hash, not with null", breaks: missing},
	)
	for _, c := range []struct {
		name string
		edit func(string) string
		why  string
	}{
		{"capital-digits", func(h string) string { return "sha256:" + strings.ToUpper(h[7:]) }, "a hash is compared as text: its digits are lower case"},
		{"no-prefix", func(h string) string { return h[7:] }, "a hash says what made it"},
		{"space", func(h string) string { return h + " " }, "white space is no part of a hash"},
		{"cut", func(h string) string { return h[:39] }, "the beginning of a hash is not the hash"},
	} {
		faults = append(faults, fault{name: "prev-hash-" + c.name, rule: wire.RulePrevHash, after: placed(3, respell("/prev_hash", c.edit)), why: c.why,
			breaks: "one chain has several texts, and implementations disagree which of them is unbroken"})
	}
	return faults
}

// expectedFaults are about the shape of a chain and what the context expects of it.
func expectedFaults(sound wire.Value) (faults []fault) {
	list := messages(sound)
	hashes := func(n int) []wire.Hash {
		var h []wire.Hash
		for _, m := range list[:n] {
			h = append(h, m.Hash())
		}
		return h
	}
	n := len(list)
	swapped := hashes(n)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	const fewer = "a chain that was cut off at its end is taken for the whole: its links and signatures are right"
	faults = []fault{
		{name: "expected-count", context: wire.M{"expected_message_count": n}, why: "a reader may know how many messages there are"},
		{name: "expected-hashes", context: wire.M{"expected_message_hashes": hashes(n)}, why: "a reader may know which messages there are"},
		{name: "count-one-more", rule: ruleMessages, context: wire.M{"expected_message_count": n + 1}, why: "the last message may be missing", breaks: fewer},
		{name: "count-one-less", rule: ruleMessages, context: wire.M{"expected_message_count": n - 1}, why: "there is a message more than the reader knows of", breaks: "something that was said after the end counts"},
		{name: "count-zero", rule: ruleMessages, context: wire.M{"expected_message_count": 0}, why: "zero is a number that can be expected, and not none", breaks: fewer},
		{name: "hashes-one-more", rule: ruleMessages, context: wire.M{"expected_message_hashes": append(hashes(n), wire.HashOf("another"))}, why: "the last message may be missing", breaks: fewer},
		{name: "hashes-one-less", rule: ruleMessages, context: wire.M{"expected_message_hashes": hashes(n - 1)}, why: "there is a message more than the reader knows of", breaks: "something that was said after the end counts"},
		{name: "hashes-none", rule: ruleMessages, context: wire.M{"expected_message_hashes": []string{}}, why: "an empty list expects no message, and is not no list", breaks: fewer},
		{name: "hashes-swapped", rule: ruleMessages, context: wire.M{"expected_message_hashes": swapped}, why: "the order of the messages is expected as well", breaks: "messages are moved"},
		{name: "cut-at-the-end", rule: ruleMessages, after: first(n - 1), context: wire.M{"expected_message_count": n}, why: "only the number of messages tells that the end is missing", breaks: fewer},
		{name: "one-more-at-the-end", rule: ruleMessages, edit: say(hirer, "signal", 80, `{}`), context: wire.M{"expected_message_count": n}, why: "only the number of messages tells that one was added", breaks: "something that was said after the end counts"},
	}
	for i := range n {
		// Its sender signs another message in its place, and all later senders sign again.
		faults = append(faults, fault{name: fmt.Sprintf("hashes-resigned-%d", i+1), rule: ruleMessages, edit: set(fmt.Sprintf("/messages/%d/x_note", i), `"said later"`), context: wire.M{"expected_message_hashes": hashes(n)},
			why: "a chain that all senders signed again is unbroken: only the hashes tell that it is another", breaks: "parties that agree with each other rewrite what a third relies on"})
	}
	schema := func(name string, after func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, rule: ruleChainMembers, after: after, why: why, breaks: "a program that finds no messages where it looks finds nothing wrong with them"})
	}
	schema("no-messages", become(parse(`{}`)), "a chain has messages")
	schema("empty", set("/messages", "[]"), "a chain has at least one message")
	schema("null-messages", set("/messages", "null"), "messages is a list")
	schema("object-messages", set("/messages", `{"0":{}}`), "messages is a list")
	schema("unknown-member", set("/evidence", `{}`), "a chain has messages and perhaps a receipt, and nothing else")
	schema("null-member", set("/x_note", `null`), "a member that is null is a member")
	schema("message-is-text", set("/messages/2", `"msg_3"`), "every message is an object")
	schema("message-is-null", set("/messages/2", `null`), "every message is an object")
	schema("message-is-list", set("/messages/2", `[]`), "every message is an object")
	for i := range n {
		p := fmt.Sprintf("/messages/%d/from", i)
		faults = append(faults, fault{name: fmt.Sprintf("no-sender-%d", i+1), rule: ruleChainMembers, edit: drop(p), why: "every message has a sender", breaks: "nobody can be held to it"})
	}
	faults = append(faults,
		fault{name: "no-agent", rule: wire.RuleUnknownKey, edit: set("/messages/2/from", `{}`), why: "a sender is named", breaks: "nobody can be held to it"},
		fault{name: "no-signature", rule: wire.RuleSignature, edit: drop("/messages/2/signature"), why: "every message is signed", breaks: "anybody speaks in the name of a party"},
		fault{name: "null-signature", rule: wire.RuleSignature, edit: set("/messages/2/signature", "null"), why: "every message is signed", breaks: "anybody speaks in the name of a party"},
		fault{name: "object-signature", rule: wire.RuleSignature, after: func(v wire.Value) wire.Value {
			text, _ := v.At("messages", "2", "signature")
			return unsigned(2, func(m wire.Value) wire.Value {
				return m.With("signature", value(wire.M{"alg": "EdDSA", "value": text}))
			})(v)
		}, why: "the signature of a message is a text", breaks: "anybody speaks in the name of a party"},
		fault{name: "no-envelope", edit: become(value(wire.M{"messages": []wire.M{
			{"from": wire.M{"agent_id": hirer}, "prev_hash": "", "signature": "", "x": 1}, {"from": wire.M{"agent_id": guide}, "prev_hash": "", "signature": "", "x": 2},
		}})), why: "this profile asks for links and signatures; it does not ask for an envelope"},
	)
	return faults
}
