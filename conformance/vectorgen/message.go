package main

import (
	"fmt"
	"strings"

	"filippo.io/edwards25519"

	"github.com/concordia-node/concordia/wire"
)

// The parties of the transcripts: somebody hires boats out, somebody guides
// tours in them, and others who come in.
const (
	hirer  = "did:web:boats.example"
	guide  = "did:web:guide.example#tours"
	third  = "did:web:cook.example"
	fourth = "did:web:bus.example"
	broker = "did:web:broker.example"
	reader = "did:web:notary.example"
	thief  = "did:web:mallory.example"
)

// altered returns the edit that makes a member of a signed object something else: a
// text or number of another value, whatever it was.
func altered(pointer string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		old, ok := v.At(tokens(pointer)...)
		if !ok {
			panic("vectorgen: nothing at " + pointer)
		}
		if n, whole := old.Int(); whole {
			return at(v, tokens(pointer), value(n+1))
		}
		return at(v, tokens(pointer), wire.Text(old.Text()+"x"))
	}
}

// capital returns a name with its first letter in upper case.
func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// message is one message by itself: its envelope and its signature.
func message() specimen {
	sign := signedBare(hirer)
	s := specimen{
		kind: "message", record: "message", sign: sign,
		value: sign(value(wire.M{
			"concordia": "0.1.0", "type": "negotiate.offer", "id": "msg_3", "session_id": "ses_boats", "timestamp": "2026-09-14T09:01:00Z",
			"from": wire.M{"agent_id": hirer, "principal_id": "Sjöbris Boat Hire"}, "prev_hash": wire.HashOf("the message before").String(),
			"body":      wire.M{"offer_id": "off_1", "terms": wire.M{"price": wire.M{"value": 600, "currency": "EUR"}, "boats": wire.M{"value": 4}}},
			"signature": "", "to": []wire.M{{"agent_id": guide}, {"agent_id": third}}, "in_reply_to": "msg_2", "thread": "autumn", "ttl": 600,
			"reasoning": "four boats are free that week", "x_trace": "7f",
		})),
		context: wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": publicKeys(hirer)},
	}
	s.inner = []string{"/from", "/body", "/to/0", "/to/1", "/body/terms", "/body/terms/price"}
	s.faults = append(s.faults, envelopeFaults()...)
	s.faults = append(s.faults, envelopeValues()...)
	s.faults = append(s.faults, messageSignatures(s.value)...)
	return s
}

var (
	envelopeRequired = []string{"concordia", "type", "id", "session_id", "timestamp", "from", "prev_hash", "body", "signature"}
	envelopeOptional = []string{"to", "in_reply_to", "thread", "ttl", "reasoning"}
)

// envelopeFaults are members that are missing, of another kind, or doubled by one
// that differs only in case.
func envelopeFaults() (faults []fault) {
	bad := func(name string, edit func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: wire.RuleEnvelope, edit: edit, why: why, breaks: breaks})
	}
	const (
		guessed = "a reader fills in what is not there, each in its own way, and two readers see two messages"
		twin    = "a reader that ignores case reads this member, the signer's reader the other: they see two messages under one signature"
	)
	for _, m := range envelopeRequired {
		bad("no-"+slug(m), drop("/"+m), "every message has "+m, guessed)
		bad("null-"+slug(m), set("/"+m, "null"), m+" is not null: null is no "+m, guessed)
	}
	for _, m := range []string{"concordia", "type", "id", "session_id", "timestamp", "prev_hash", "signature"} {
		bad("number-for-"+slug(m), set("/"+m, "1"), m+" is a text", guessed)
		bad("list-for-"+slug(m), set("/"+m, `["x"]`), m+" is a text, not a list of texts", guessed)
	}
	for _, m := range append(envelopeRequired, envelopeOptional...) {
		bad("twin-"+slug(m), set("/"+capital(m), `"x"`), "no member differs from "+m+" only in case", twin)
	}
	bad("twin-upper-case", set("/BODY", `{}`), "no member differs from body only in case", twin)
	bad("twin-agent-id", set("/from/Agent_ID", `"`+thief+`"`), "no member of from differs from agent_id only in case", twin)
	bad("twin-principal-id", set("/from/principal_Id", `"x"`), "no member of from differs from principal_id only in case", twin)
	bad("twin-to-agent-id", set("/to/0/AGENT_ID", `"`+thief+`"`), "no member of an entry of to differs from agent_id only in case", twin)
	bad("twin-kelvin", set("/\u017fignature", `"x"`), "letters that fold to others count: the long s folds to s", twin)
	for _, c := range []struct{ name, pointer, text, why string }{
		{"text-for-from", "/from", `"` + hirer + `"`, "from is an object, not an id"},
		{"list-for-from", "/from", `[{"agent_id":"` + hirer + `"}]`, "from is one sender"},
		{"number-agent-id", "/from/agent_id", `7`, "an agent id is a text"},
		{"null-agent-id", "/from/agent_id", `null`, "an agent id is a text"},
		{"number-principal-id", "/from/principal_id", `7`, "principal_id is a text or null"},
		{"text-for-body", "/body", `"{}"`, "body is an object, not the text of one"},
		{"list-for-body", "/body", `[]`, "body is an object"},
		{"text-for-to", "/to", `"` + guide + `"`, "to is a list"},
		{"object-for-to", "/to", `{"agent_id":"` + guide + `"}`, "to is a list"},
		{"null-to", "/to", `null`, "a message to nobody in particular has no to"},
		{"texts-in-to", "/to", `["` + guide + `"]`, "an entry of to is an object"},
		{"null-in-to", "/to/1", `null`, "an entry of to is an object"},
		{"no-agent-id-in-to", "/to/1", `{}`, "an entry of to names an agent"},
		{"number-in-to", "/to/1/agent_id", `7`, "an agent id is a text"},
		{"null-in-reply-to", "/in_reply_to", `null`, "a message that answers none has no in_reply_to"},
		{"number-in-reply-to", "/in_reply_to", `2`, "in_reply_to is a message id"},
		{"null-thread", "/thread", `null`, "thread is a text"},
		{"number-thread", "/thread", `2`, "thread is a text"},
		{"null-reasoning", "/reasoning", `null`, "reasoning is a text"},
		{"object-for-reasoning", "/reasoning", `{"text":"x"}`, "reasoning is a text"},
		{"list-for-reasoning", "/reasoning", `["x"]`, "reasoning is a text"},
		{"ttl-zero", "/ttl", `0`, "a message that lives no second is never in time"},
		{"ttl-negative", "/ttl", `-60`, "a time to live is not negative"},
		{"ttl-fraction", "/ttl", `1.5`, "a time to live is whole seconds"},
		{"ttl-text", "/ttl", `"600"`, "a time to live is a number"},
		{"ttl-boolean", "/ttl", `true`, "true is not the number 1"},
		{"ttl-null", "/ttl", `null`, "a message without a time to live has no ttl"},
		{"ttl-too-long", "/ttl", `3162240001`, "a time to live is at most a hundred years: beyond, clocks overflow"},
		{"ttl-overflow", "/ttl", `1e30`, "a time to live is at most a hundred years: beyond, clocks overflow"},
	} {
		bad(c.name, set(c.pointer, c.text), c.why, guessed)
	}
	bad("no-agent-id", drop("/from/agent_id"), "somebody sends every message", "nobody can be held to it")
	for _, text := range []string{`null`, `[]`, `"message"`, `7`} {
		v := parse(text)
		faults = append(faults, fault{name: "is-" + v.Kind().String(), rule: wire.RuleEnvelope, after: become(v), why: "a message is an object", breaks: guessed})
	}
	return faults
}

// slug makes a name of a member fit for a file.
func slug(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// envelopeValues are values that members may have and may not have.
func envelopeValues() (faults []fault) {
	good := func(name string, edit func(wire.Value) wire.Value, why string) {
		faults = append(faults, fault{name: name, edit: edit, why: why})
	}
	bad := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	quoted := func(text string) string { return value(text).Canonical() }
	good("least", func(v wire.Value) wire.Value {
		return all(drop("/from/principal_id"))(v.Only(envelopeRequired...))
	}, "the optional members may all be left out")
	good("null-principal", set("/from/principal_id", "null"), "a principal that is null is none")
	good("no-recipients", set("/to", "[]"), "a list of recipients may be empty")
	good("unknown-members", all(set("/x_note", `{"kept":[true]}`), set("/from/device", `"phone"`), set("/to/0/via", `"relay"`)), "members without a meaning are kept and signed")
	good("nested-signature", set("/body/signature", `"part of what is signed"`), "only the signature at the top is left out of what is signed")
	good("ttl-least", set("/ttl", "1"), "a second is the shortest time to live")
	good("ttl-longest", set("/ttl", "3162240000"), "a hundred years is the longest time to live")
	for _, t := range wire.MessageTypes() {
		good("type-"+slug(t.Short()), set("/type", quoted(string(t))), t.Short()+" is one of the fourteen types")
	}
	for _, c := range []struct{ name, text string }{
		{"unknown", "negotiate.haggle"}, {"without-prefix", "offer"}, {"capital", "Negotiate.Offer"}, {"empty", ""}, {"space-after", "negotiate.offer "},
		{"newline-after", "negotiate.offer\n"}, {"other-prefix", "concordia.offer"}, {"two-points", "negotiate..offer"}, {"plural", "negotiate.offers"}, {"hyphen", "negotiate.accept-session"},
	} {
		bad("type-"+c.name, wire.RuleMessageType, set("/type", quoted(c.text)), "a type is spelled as one of the fourteen", "one reader takes it for a move that another does not know")
	}
	for _, text := range []string{"0.0.0", "0.1.7", "0.12.305", "0.999999999.0"} {
		good("version-"+strings.ReplaceAll(text, ".", "-"), set("/concordia", quoted(text)), "every version 0.y.z is read")
	}
	for _, c := range []struct{ name, text string }{
		{"one", "1.0.0"}, {"two-numbers", "0.1"}, {"four-numbers", "0.1.0.0"}, {"leading-zero", "0.01.0"}, {"leading-zero-first", "00.1.0"}, {"suffix", "0.1.0-rc.1"}, {"build", "0.1.0+7"},
		{"letter-v", "v0.1.0"}, {"space", " 0.1.0"}, {"newline", "0.1.0\n"}, {"empty", ""}, {"star", "0.1.*"}, {"comma", "0,1,0"}, {"arabic-digits", "0.١.٠"}, {"negative", "0.-1.0"}, {"huge", "0.1.12345678901"},
	} {
		bad("version-"+c.name, wire.RuleVersion, set("/concordia", quoted(c.text)), "a version is 0.y.z, plain numbers without leading zeros", "a message of rules that the reader does not know is read by those it knows")
	}
	for i, text := range []string{"2026-09-14T09:01:00.5Z", "2026-09-14T09:01:00.123456789Z", "2026-09-14T11:01:00+02:00", "2026-09-14T03:31:00-05:30", "2026-09-15T08:00:00+22:59", "2026-09-14T09:01:00-00:00", "2024-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		good(fmt.Sprintf("timestamp-good-%d", i+1), set("/timestamp", quoted(text)), "this is RFC 3339 with capital letters")
	}
	for _, c := range []struct{ name, text, why string }{
		{"no-offset", "2026-09-14T09:01:00", "without an offset a time is local, and nobody knows where"},
		{"small-t", "2026-09-14t09:01:00Z", "the T is a capital"}, {"small-z", "2026-09-14T09:01:00z", "the Z is a capital"},
		{"space-for-t", "2026-09-14 09:01:00Z", "a T stands between date and time"}, {"date-only", "2026-09-14", "a date is no instant"},
		{"no-seconds", "2026-09-14T09:01Z", "an instant has seconds"}, {"basic-form", "20260914T090100Z", "an instant has its separators"},
		{"offset-without-colon", "2026-09-14T11:01:00+0200", "an offset has a colon"}, {"offset-hours", "2026-09-14T11:01:00+02", "an offset has minutes"},
		{"offset-24", "2026-09-15T09:01:00+24:00", "an offset is less than a day"}, {"offset-60", "2026-09-14T11:01:00+01:60", "an offset has less than 60 minutes"},
		{"offset-seconds", "2026-09-14T11:01:00+02:00:00", "an offset has no seconds"}, {"zone-name", "2026-09-14T11:01:00 CEST", "a name is no offset"},
		{"leap-second", "2026-06-30T23:59:60Z", "there are no leap seconds here"}, {"hour-24", "2026-09-14T24:00:00Z", "a day ends before 24"},
		{"minute-60", "2026-09-14T09:60:00Z", "an hour has 60 minutes"}, {"month-13", "2026-13-14T09:01:00Z", "a year has twelve months"},
		{"february-30", "2026-02-30T09:01:00Z", "the day exists"}, {"no-leap-year", "2026-02-29T09:01:00Z", "the day exists"},
		{"comma", "2026-09-14T09:01:00,5Z", "a fraction follows a point"}, {"empty-fraction", "2026-09-14T09:01:00.Z", "a fraction has digits"},
		{"ten-digits", "2026-09-14T09:01:00.1234567890Z", "a fraction has at most nine digits: readers differ in what they do with more"},
		{"week-date", "2026-W38-1T09:01:00Z", "a date is given by month and day"}, {"two-digit-year", "26-09-14T09:01:00Z", "a year has four digits"},
		{"five-digit-year", "12026-09-14T09:01:00Z", "a year has four digits"}, {"year-before-zero", "0000-01-01T00:00:00+00:01", "an offset does not lead out of the years of four digits"},
		{"one-digit-hour", "2026-09-14T9:01:00Z", "an hour has two digits"}, {"space-before", " 2026-09-14T09:01:00Z", "white space is no part of it"},
		{"newline-after", "2026-09-14T09:01:00Z\n", "white space is no part of it"}, {"empty", "", "an instant is there"}, {"unix", "1789376460", "an instant is no number"},
		{"fullwidth", "２０２６-09-14T09:01:00Z", "digits are ASCII"},
	} {
		bad("timestamp-"+c.name, wire.RuleEnvelope, set("/timestamp", quoted(c.text)), c.why, "readers of dates guess, and guess differently: two of them see two times, and a deadline passes for one")
	}
	for _, at := range []struct{ name, pointer string }{{"id", "/id"}, {"session-id", "/session_id"}, {"agent-id", "/from/agent_id"}, {"recipient", "/to/1/agent_id"}, {"in-reply-to", "/in_reply_to"}} {
		for _, c := range []struct{ name, text, why string }{
			{"empty", "", "an id names something"}, {"space", "msg 3", "an id has no white space"}, {"newline", "msg_3\n", "an id has no white space, not even at its end"},
			{"no-break-space", "msg\u00a03", "white space is that of every script"}, {"zero-width", "msg_\u200b3", "what cannot be seen is no part of an id"},
			{"direction", "msg_\u202e3", "what turns the text around is no part of an id"}, {"control", "msg_\u0007", "control characters are no part of an id"},
			{"mark-of-byte-order", "\ufeffmsg_3", "what cannot be seen is no part of an id"}, {"257-characters", strings.Repeat("ø", 257), "an id has at most 256 characters"},
		} {
			bad(at.name+"-"+c.name, wire.RuleEnvelope, set(at.pointer, quoted(c.text)), at.name+": "+c.why, "a person compares two ids that look the same, and a program finds them different")
		}
		if at.name != "agent-id" {
			good(at.name+"-256-characters", set(at.pointer, quoted(strings.Repeat("ø", 256))), "an id has up to 256 characters, counted as characters")
			good(at.name+"-printable", set(at.pointer, quoted("urn:x/é-港-#7?a=b&c~\"'")), "every printable character may be in an id")
		}
	}
	hash := wire.HashOf("the message before").String()
	good("prev-hash-genesis", set("/prev_hash", quoted(wire.Hash{}.String())), "by itself a message may be the first")
	for _, c := range []struct{ name, text, why string }{
		{"capital-digits", "sha256:" + strings.ToUpper(hash[7:]), "hex digits are lower case"}, {"capital-prefix", "SHA256:" + hash[7:], "the prefix is lower case"},
		{"no-prefix", hash[7:], "a hash says what made it"}, {"other-prefix", "sha512:" + hash[7:], "a hash is SHA-256"}, {"hyphen", "sha-256:" + hash[7:], "the prefix has one spelling"},
		{"63-digits", hash[:len(hash)-1], "a hash has 64 digits"}, {"65-digits", hash + "0", "a hash has 64 digits"}, {"128-digits", hash + hash[7:], "a hash has 64 digits"}, {"not-hex", hash[:len(hash)-1] + "g", "a hash has hex digits"},
		{"space", hash + " ", "white space is no part of it"}, {"newline", hash + "\n", "white space is no part of it"}, {"empty", "", "a message has a place"}, {"only-prefix", "sha256:", "a hash has 64 digits"}, {"base64", "sha256:" + base64url([]byte(hash))[:44], "a hash is hex, not base64"},
	} {
		bad("prev-hash-"+c.name, wire.RuleEnvelope, set("/prev_hash", quoted(c.text)), c.why, "one hash has many texts, and a comparison of texts misses it, or a careless one finds it equal")
	}
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	good("depth-64", set("/body/x", nest(62)), "with the message and its body that is 64 levels")
	bad("depth-65", wire.RuleDepth, set("/body/x", nest(63)), "levels are counted from the message, not from where the reader began", "a message that one party can read and the other cannot ends a session for one of them")
	fill := func(extra int) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			n := wire.MaxMessageSize + extra - len(set("/reasoning", `""`)(v).Canonical())
			return set("/reasoning", quoted(strings.Repeat("r", n)))(v)
		}
	}
	good("size-largest", fill(0), "a message has up to 262,144 bytes of canonical JSON")
	bad("size-too-large", wire.RuleSize, fill(1), "a message has at most 262,144 bytes", "a message that one party can read and the other cannot ends a session for one of them")
	return faults
}

// messageSignatures are messages that their sender did not sign as they are.
func messageSignatures(sound wire.Value) (faults []fault) {
	bad := func(name string, rule *wire.Rule, after func(wire.Value) wire.Value, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, after: after, why: why, breaks: breaks})
	}
	const changed = "whoever carries a message changes what its sender said"
	for _, p := range []string{
		"/concordia", "/id", "/session_id", "/from/principal_id", "/in_reply_to", "/thread", "/ttl", "/reasoning", "/x_trace",
		"/to/0/agent_id", "/to/1/agent_id", "/body/offer_id", "/body/terms/price/value", "/body/terms/price/currency", "/body/terms/boats/value",
	} {
		name := slug(strings.ReplaceAll(p[1:], "/", "-"))
		edit := altered(p)
		if p == "/concordia" {
			edit = set(p, `"0.1.1"`)
		}
		bad("changed-"+name, wire.RuleSignature, edit, p[1:]+" is signed", changed)
		if p != "/id" && p != "/session_id" && p != "/concordia" {
			drops := p
			if strings.HasPrefix(p, "/to/") {
				drops = strings.TrimSuffix(p, "/agent_id")
			}
			bad("removed-"+name, wire.RuleSignature, drop(drops), p[1:]+" is signed, and so is that it is there", changed)
		}
	}
	for _, c := range []struct{ name, pointer, text, why string }{
		{"type-changed", "/type", `"negotiate.counter"`, "the type is signed"},
		{"type-to-accept", "/type", `"negotiate.accept"`, "the type is signed: an offer is no accept"},
		{"timestamp-later", "/timestamp", `"2026-09-14T09:01:01Z"`, "the time is signed to the second"},
		{"timestamp-respelled", "/timestamp", `"2026-09-14T11:01:00+02:00"`, "the text of the time is signed, not the instant"},
		{"timestamp-fraction", "/timestamp", `"2026-09-14T09:01:00.0Z"`, "the text of the time is signed, not the instant"},
		{"prev-hash-changed", "/prev_hash", `"` + wire.HashOf("another message").String() + `"`, "the place in the transcript is signed"},
		{"prev-hash-genesis-unsigned", "/prev_hash", `"` + wire.Hash{}.String() + `"`, "the place in the transcript is signed"},
		{"number-to-text", "/body/terms/price/value", `"600"`, "a number is not the text of it"},
		{"number-to-fraction", "/body/terms/price/value", `600.01`, "every digit is signed"},
		{"member-added", "/body/complete", `true`, "nothing is added to what was signed"},
		{"null-added", "/body/valid_until", `null`, "a member that is null is a member"},
		{"unknown-added", "/x_more", `1`, "members without a meaning are signed as well"},
		{"empty-added", "/thread", `""`, "an empty text is not what was signed"},
		{"recipient-added", "/to/-", `{"agent_id":"` + thief + `"}`, "whom a message is for is signed"},
		{"recipients-swapped", "/to", `[{"agent_id":"` + third + `"},{"agent_id":"` + guide + `"}]`, "the order of a list is signed"},
		{"body-emptied", "/body", `{}`, "the body is signed"},
	} {
		bad(c.name, wire.RuleSignature, set(c.pointer, c.text), c.why, changed)
	}
	const forged = "anybody speaks in the name of a party"
	bad("signed-by-other", wire.RuleSignature, signedBare(thief), "the sender signs", forged)
	bad("signed-by-recipient", wire.RuleSignature, signedBare(guide), "the sender signs, not the one it is for", forged)
	resign := func(preimage func(wire.Value) string) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			return v.With("signature", wire.Text(must(key(hirer).Sign([]byte(preimage(v)))).String()))
		}
	}
	for _, c := range []struct {
		name, why string
		preimage  func(wire.Value) string
	}{
		{"signed-with-empty-signature", "what is signed has no member signature, not an empty one", func(v wire.Value) string { return v.With("signature", wire.Text("")).Canonical() }},
		{"signed-with-null-signature", "what is signed has no member signature, not one that is null", func(v wire.Value) string { return v.With("signature", parse("null")).Canonical() }},
		{"signed-body-only", "the whole message is signed, not its body", func(v wire.Value) string { b, _ := v.Get("body"); return b.Canonical() }},
		{"signed-hash", "the message is signed, not its hash", func(v wire.Value) string { return v.Without("signature").Hash().String() }},
		{"signed-without-unknown", "members without a meaning are signed as well", func(v wire.Value) string { return v.Without("signature").Without("x_trace").Canonical() }},
		{"signed-without-reasoning", "reasoning is signed as well", func(v wire.Value) string { return v.Without("signature").Without("reasoning").Canonical() }},
		{"signed-with-newline", "nothing follows what is signed", func(v wire.Value) string { return v.Without("signature").Canonical() + "\n" }},
		{"signed-with-spaces", "the canonical text is signed, whatever layout the message came in", func(v wire.Value) string {
			return strings.ReplaceAll(v.Without("signature").Canonical(), `":`, `": `)
		}},
		{"signed-earlier-draft", "the message itself is signed, not one like it", func(v wire.Value) string {
			return set("/body/terms/price/value", "599")(v.Without("signature")).Canonical()
		}},
	} {
		bad(c.name, wire.RuleSignature, resign(c.preimage), c.why, "the signature says nothing of a part of the message, and that part can be changed")
	}
	faults = append(faults, fault{name: "nested-signature-stripped", rule: wire.RuleSignature, edit: set("/body/signature", `"inner"`),
		after: resign(func(v wire.Value) string { return v.StripSignatures().Canonical() }),
		why:   "only the signature at the top is left out of what is signed", breaks: "everything under a name like this can be changed by whoever carries the message"})
	for _, sp := range spellings {
		bad("signature-"+sp.name, wire.RuleSignatureForm, respell("/signature", sp.edit), sp.why, spellingBreaks)
	}
	bad("signature-empty", wire.RuleSignatureForm, set("/signature", `""`), "a signature is there", forged)
	bad("signature-hex", wire.RuleSignatureForm, respell("/signature", func(s string) string { return fmt.Sprintf("%x", unbase64(s)) }), "a signature is base64url, not hex", spellingBreaks)
	bad("signature-zero", wire.RuleSignature, respell("/signature", func(string) string { return base64url(make([]byte, 64)) }), "64 zeros are no signature", forged)
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	bad("signature-s-plus-order", wire.RuleSignature, respell("/signature", func(s string) string {
		b := unbase64(s)
		return base64url(append(b[:32:32], plus(b[32:], order, 1)...))
	}), "S is below the order of the group, though the equation holds", spellingBreaks)
	for _, i := range []int{0, 31, 32, 63} {
		bad(fmt.Sprintf("signature-bit-of-byte-%d", i), wire.RuleSignature, respell("/signature", bits(i, 1)), "every bit of a signature counts", forged)
	}

	// What the verifier has for a key.
	keyed := func(name string, rule *wire.Rule, keys wire.M, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, context: wire.M{"public_keys": keys}, why: why, breaks: breaks})
	}
	pub := key(hirer).Public().String()
	keyed("key-unknown", wire.RuleUnknownKey, wire.M{}, "without the sender's key nothing can be said for the message", forged)
	keyed("key-of-another", wire.RuleUnknownKey, publicKeys(guide), "a key counts only for the agent that it is known for", forged)
	keyed("key-other-case", wire.RuleUnknownKey, wire.M{strings.ToUpper(hirer): pub}, "an agent id is compared letter for letter", "two agents whose ids differ in case speak for one another")
	keyed("key-similar", wire.RuleSignature, wire.M{hirer: key(thief).Public()}, "the message is verified under the key that the verifier has", forged)
	keyed("key-p256", wire.RuleSignature, wire.M{hirer: base64url(p256Public(hirer))}, "messages are signed with Ed25519", "whoever has a key of another kind speaks without a signature")
	for _, sp := range spellings {
		keyed("key-"+sp.name, wire.RuleWeakKey, wire.M{hirer: sp.edit(pub)}, "key: "+sp.why, "one key has many texts, and a list of blocked keys misses it")
	}
	for i := range 8 {
		f := forger{edwards25519.NewScalar(), torsion(i).Bytes()}
		unsigned := sound.Without("signature").Canonical()
		var sig []byte
		for n := 0; sig == nil; n++ {
			if s := f.sign(unsigned, fmt.Sprintf("message %d %d", i, n), 0); verifies(f.text, unsigned, s) {
				sig = s
			}
		}
		faults = append(faults, fault{name: fmt.Sprintf("key-small-order-%d", i), rule: wire.RuleWeakKey, context: wire.M{"public_keys": wire.M{hirer: base64url(f.text)}},
			after: respell("/signature", func(string) string { return base64url(sig) }),
			why:   "the key is of small order; the equation of the signature holds", breaks: "one signature fits many messages, and its owner can deny each"})
	}
	return faults
}
