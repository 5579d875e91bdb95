package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A transcript is written as a list of lines, then sealed: each message gets the
// hash of the one before and its sender's signature. An edit of a transcript is an
// edit of the lines; what follows is sealed again, so that nothing else is wrong.

const talkID = "ses_boats_41"

// talkStart is the timestamp of open.
var talkStart = time.Date(2026, 9, 14, 9, 0, 0, 0, time.UTC)

func clock(seconds int) string {
	return wire.FormatTime(talkStart.Add(time.Duration(seconds) * time.Second))
}

// line is one message, not sealed yet: who says what after how many seconds.
func line(from, kind string, seconds int, body string) wire.Value {
	return value(wire.M{
		"concordia": "0.1.0", "type": "negotiate." + kind, "session_id": talkID, "timestamp": clock(seconds),
		"from": wire.M{"agent_id": from}, "body": parse(body), "prev_hash": "", "signature": "",
	})
}

// talk makes a transcript of lines. Message n has the id msg_n.
func talk(lines ...wire.Value) wire.Value {
	for i := range lines {
		if _, ok := lines[i].Get("id"); !ok {
			lines[i] = lines[i].With("id", wire.Text(fmt.Sprintf("msg_%d", i+1)))
		}
	}
	return value(wire.M{"messages": lines})
}

// to returns the line with recipients.
func to(l wire.Value, agents ...string) wire.Value {
	var list []wire.M
	for _, a := range agents {
		list = append(list, wire.M{"agent_id": a})
	}
	return l.With("to", value(list))
}

func messages(v wire.Value) []wire.Value {
	m, _ := v.Get("messages")
	var list []wire.Value
	for _, e := range m.Elems() {
		list = append(list, e)
	}
	return list
}

// sealTalk links and signs all messages, and the evidence behind them.
func sealTalk(v wire.Value) wire.Value { return sealFrom(v, 0) }

// sealFrom links and signs the messages from number i on.
func sealFrom(v wire.Value, i int) wire.Value {
	list := messages(v)
	if list == nil {
		return v
	}
	for ; i < len(list); i++ {
		list[i] = link(list, i)
	}
	v = v.With("messages", value(list))
	if e, ok := v.Get("evidence"); ok && e.Kind() == wire.Object {
		v = v.With("evidence", link(append(list, e), len(list)))
	}
	return v
}

// link seals one message. A member that a fault took away or made something else
// than a text stays as it is.
func link(list []wire.Value, i int) wire.Value {
	m, before := list[i], wire.Hash{}
	if i > 0 {
		before = list[i-1].Hash()
	}
	if p, _ := m.Get("prev_hash"); p.Kind() == wire.String {
		m = m.With("prev_hash", wire.Text(before.String()))
	}
	return signedBySender(m)
}

func signedBySender(m wire.Value) wire.Value {
	from, _ := m.At("from", "agent_id")
	return signedBare(from.Text())(m)
}

// placed returns an edit after sealing: message i is changed and signed, but not
// linked, and what follows it is sealed again.
func placed(i int, edit func(wire.Value) wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		list := messages(v)
		list[i] = signedBySender(edit(list[i]))
		return sealFrom(v.With("messages", value(list)), i+1)
	}
}

// unsigned returns an edit after sealing: message i is changed and not signed
// again, and what follows it is sealed again.
func unsigned(i int, edit func(wire.Value) wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		list := messages(v)
		list[i] = edit(list[i])
		return sealFrom(v.With("messages", value(list)), i+1)
	}
}

// rearranged returns an edit of the list of messages, none of which is sealed again.
func rearranged(edit func([]wire.Value) []wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		return v.With("messages", value(edit(slices.Clone(messages(v)))))
	}
}

// first returns an edit that keeps the first n messages.
func first(n int) func(wire.Value) wire.Value {
	return rearranged(func(list []wire.Value) []wire.Value { return list[:n] })
}

// say returns an edit that adds a line.
func say(from, kind string, seconds int, body string) func(wire.Value) wire.Value {
	return saying(line(from, kind, seconds, body))
}

func saying(l wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		list := messages(v)
		return v.With("messages", value(append(list, l.With("id", wire.Text(fmt.Sprintf("msg_%d", len(list)+1))))))
	}
}

// in returns an edit of message i at a pointer, the value given as JSON text.
func in(i int, pointer, text string) func(wire.Value) wire.Value {
	return set("/messages/"+strconv.Itoa(i)+pointer, text)
}

// timed returns an edit of the timestamp of message i.
func timed(i, seconds int) func(wire.Value) wire.Value {
	return in(i, "/timestamp", `"`+clock(seconds)+`"`)
}

// transcript makes a specimen of a kind of transcript. The parties in the order of
// their names are who speaks; now is half an hour after open.
func transcript(form string, v wire.Value, roles map[string]string, faults ...fault) specimen {
	agents := sorted(roles)
	keys := publicKeys(agents...)
	for _, name := range []string{broker, reader} {
		keys[name] = key(name).Public().String()
	}
	parties := wire.M{}
	for a, role := range roles {
		parties[a] = role
	}
	return specimen{
		kind: "transcript", record: "transcript", form: form, value: sealTalk(v), sign: sealTalk, faults: faults,
		context: wire.M{"now": clock(1800), "public_keys": keys, "session_id": talkID, "parties": parties},
	}
}

// chained gives a specimen the contract's profile for chains, which looks at links
// and signatures alone.
func chained(s specimen) specimen {
	s.contract, s.contractRecord = "message-chain-v1", "message_chain"
	keys := maps.Clone(s.context["public_keys"].(wire.M))
	s.contractContext = func(wire.Value) wire.M { return wire.M{"public_keys_b64url": keys} }
	return s
}

var two = map[string]string{hirer: string(session.Initiator), guide: string(session.Responder)}

// boats is what is negotiated: each type of term is there.
const boats = `{
	"price": {"type": "numeric", "constraints": {"min": 50, "max": 900, "currency": "EUR"}, "label": "per week"},
	"boats": {"type": "numeric", "min": 1, "max": 12},
	"day": {"type": "temporal", "min": "2026-09-20", "max": "2026-10-31"},
	"berth": {"type": "categorical", "enum": ["north", "south", 7]},
	"skipper": {"type": "boolean"},
	"note": {"type": "text", "value": "tanks full"},
	"gear": {"type": "composite", "value": ["oars", "anchor"]}
}`

const (
	offerOne = `{"offer_id": "off_1", "complete": true, "terms": {"price": {"value": 620, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": "north"}, "skipper": {"value": true}}}`
	offerTwo = `{"offer_id": "off_2", "terms": {"price": {"value": 540, "currency": "EUR"}, "boats": {"value": 4}, "day": {"value": "2026-10-03"}, "berth": {"value": "south"}, "skipper": {"value": true}}}`
)

// deal is a whole session of two parties: open, accept_session, offer, counter,
// accept.
func deal() wire.Value {
	return talk(
		to(line(hirer, "open", 0, `{"terms": `+boats+`}`), guide),
		line(guide, "accept_session", 30, `{}`),
		line(hirer, "offer", 60, offerOne),
		line(guide, "counter", 120, offerTwo),
		line(hirer, "accept", 180, `{"offer_id": "off_2"}`),
	)
}

const (
	indexOpen = iota
	indexJoin
	indexOffer
	indexCounter
	indexAccept
	dealLength
)

// messagesNotIsolated are the rules of messages and sessions that no vector can
// break alone.
var messagesNotIsolated = map[*wire.Rule]string{
	wire.RuleMessageTTL: "whoever sequences a session decides it when a message arrives; a transcript does not say when that was",
	wire.RuleSyntax:     "what is no JSON has no value that could be judged by the other rules",
	session.RuleNoOffer: "without an offer there is nothing that an accept could be compared with",
}
