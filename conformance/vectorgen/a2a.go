package main

import (
	"strings"

	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

const partText = `{"data":{"type":"https://concordiaprotocol.dev/a2a-ext/negotiation/v1#envelope","version":"1","envelope":
	{"concordia":"0.1.0","type":"negotiate.open","id":"msg_26a","session_id":"ses_26a","timestamp":"2026-09-14T09:29:00Z","from":{"agent_id":"did:web:vintner.example"},
	 "prev_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000",
	 "body":{"parties":[{"agent_id":"did:web:vintner.example","role":"initiator"},{"agent_id":"did:web:bistro.example","role":"responder"}],
	  "terms":{"price":{"type":"numeric","label":"Price"}}},"reasoning":"the harvest is in","signature":""}},
	"metadata":{"https://concordiaprotocol.dev/a2a-ext/negotiation/v1":{"schema":"https://concordiaprotocol.dev/a2a-ext/negotiation/v1/schema/data-part.json"}},
	"mediaType":"application/vnd.concordia.negotiation+json"}`

// a2aPart is a message in a data part of A2A.
func a2aPart() specimen {
	const at = "/data/envelope"
	sign := func(v wire.Value) wire.Value {
		m, ok := v.At("data", "envelope")
		if !ok {
			return v
		}
		return set(at, signedBare(vintner)(m).Canonical())(v)
	}
	v := sign(parse(partText))
	part, ids, envelope := a2a.RulePart, a2a.RuleTaskIDs, wire.RuleEnvelope
	s := sweep{what: "a part", rule: part}
	own := "/metadata/" + strings.ReplaceAll(a2a.ExtensionURI, "/", "~1")
	message := sweep{what: "a message", rule: envelope}
	inactive := func(name string, active any, why string) fault {
		return fault{name: "inactive-" + name, rule: a2a.RuleInactive, context: wire.M{"active_extensions": active}, why: why,
			breaks: "one side negotiates, and the other never agreed that these parts mean anything"}
	}
	p := specimen{
		kind: "a2a_part", record: "a2a_part", value: v, sign: sign,
		context: wire.M{"now": now, "public_keys": publicKeys(vintner), "active_extensions": []string{a2a.ExtensionURI}},
		faults: []fault{
			{name: "among-others", context: wire.M{"active_extensions": []string{"https://other.example/ext", a2a.ExtensionURI}}, why: "other extensions may be active as well"},
			{name: "other-members", edit: set("/filename", `"offer.json"`), why: "what A2A adds to a part is left alone"},
			{name: "other-metadata", edit: set("/metadata/x", `{"trace":7}`), why: "the metadata of other extensions is left alone"},
			{name: "with-task-elsewhere", edit: set("/metadata/x", `{"taskId":"t-1"}`), why: "ids of A2A may stand outside the message"},
			{name: "unknown-member-of-message", edit: set(at+"/note", `"kept and signed"`), why: "a message is open: what is not known there is signed and kept"},
			{name: "task-in-the-body", edit: set(at+"/body/taskId", `"t-1"`), why: "the body is the message's own, whatever its members are called"},
			{name: "long-ago", context: wire.M{"now": "2031-01-01T00:00:00Z"}, why: "a part by itself has no time: the session judges when it came"},
			inactive("none", []string{}, "without any active extension a part is nothing"),
			inactive("unknown", nil, "an extension that nobody says is active is not active"),
			inactive("other", []string{"https://other.example/ext"}, "another extension is not this one"),
			inactive("next-version", []string{"https://concordiaprotocol.dev/a2a-ext/negotiation/v2"}, "the next version is another extension"),
			inactive("longer", []string{a2a.ExtensionURI + "/"}, "the URI is compared as a whole"),
			inactive("in-capitals", []string{"https://ConcordiaProtocol.dev/a2a-ext/negotiation/v1"}, "the URI is compared as it is spelled"),
			inactive("without-scheme", []string{"concordiaprotocol.dev/a2a-ext/negotiation/v1"}, "the URI is compared as a whole"),
			inactive("type-of-part", []string{a2a.PartType}, "the type of a part is not the URI of the extension"),
			inactive("with-spaces", []string{" " + a2a.ExtensionURI}, "the URI is compared as it is spelled"),
			inactive("in-text", a2a.ExtensionURI, "a text is no list of extensions"),
			inactive("in-one-text", []string{a2a.ExtensionURI + ", https://other.example/ext"}, "a list in one text is one extension that nobody knows"),
			inactive("in-an-object", wire.M{a2a.ExtensionURI: true}, "an object is no list of extensions"),
			inactive("among-numbers", []any{7, a2a.ExtensionURI}, "a list that is not of texts activates nothing"),
			inactive("nested", []any{[]string{a2a.ExtensionURI}}, "a list in a list activates nothing"),
		},
	}
	const taken = "what is no message of Concordia is taken for one, or read by rules that it was not written by"
	for _, t := range []struct{ name, pointer, text, why string }{
		{"next-type", "/data/type", `"https://concordiaprotocol.dev/a2a-ext/negotiation/v2#envelope"`, "data says that it is an envelope of this extension"},
		{"short-type", "/data/type", `"envelope"`, "the type is a whole URI"},
		{"next-version", "/data/version", `"2"`, "the version is the one that is known"},
		{"version-in-a-number", "/data/version", `1`, "a version is a text"},
		{"other-schema", own + "/schema", `"https://mallory.example/data-part.json"`, "metadata names the schema of this extension"},
		{"more-metadata", own + "/note", `"x"`, "the metadata of this extension has one member"},
		{"metadata-in-text", own, `"v1"`, "the metadata of this extension is an object"},
		{"plain-media-type", "/mediaType", `"application/json"`, "the media type is the one of this extension"},
		{"media-type-in-capitals", "/mediaType", `"application/vnd.concordia.negotiation+JSON"`, "the media type is compared as it is spelled"},
		{"media-type-with-parameter", "/mediaType", `"application/vnd.concordia.negotiation+json; charset=utf-8"`, "the media type has no parameters"},
	} {
		p.faults = append(p.faults, fault{name: t.name, rule: part, edit: set(t.pointer, t.text), why: t.why, breaks: taken})
	}
	p.faults = append(p.faults,
		fault{name: "without-own-metadata", rule: part, edit: drop(own), why: "the metadata says that the part is of this extension", breaks: taken},
		fault{name: "without-schema", rule: part, edit: drop(own + "/schema"), why: "metadata names the schema of this extension", breaks: taken})
	for _, name := range []string{"text", "raw", "url"} {
		p.faults = append(p.faults, fault{name: "with-" + name, rule: part, edit: set("/"+name, `"accept, whatever is said beside it"`), why: "a part has one content, its data",
			breaks: "a person reads the text, a program reads the data, and they agree to different things"})
	}
	for _, name := range []string{"taskId", "contextId", "task_id", "context_id"} {
		p.faults = append(p.faults, fault{name: "with-" + label(name), rule: ids, edit: set(at+"/"+name, `"t-1"`), why: "ids of A2A stay outside the signed message, in either spelling",
			breaks: "a message is bound to a task of one server, and the state of that task is taken for the state of the session"})
	}
	for _, list := range [][]fault{
		s.without("/data", "/metadata", "/mediaType", "/data/type", "/data/version", "/data/envelope"),
		s.mistyped("/data", `[]`, "/metadata", `[]`, "/mediaType", `null`, "/data/type", `7`),
		s.closed("/data"), s.recased("/data", "/metadata", "/mediaType"),
		message.without(at+"/id", at+"/session_id", at+"/timestamp", at+"/from", at+"/prev_hash", at+"/body", at+"/signature", at+"/from/agent_id"),
		message.mistyped(at, `[]`, at+"/id", `7`, at+"/body", `"none"`, at+"/prev_hash", `null`, at+"/from", `"did:web:vintner.example"`, at+"/reasoning", `{}`),
		message.misdated(at + "/timestamp"),
		[]fault{
			{name: "other-protocol", rule: wire.RuleVersion, edit: set(at+"/concordia", `"1.0.0"`), why: "a message is of version 0.y.z", breaks: "members are read by rules that they were not written by"},
			{name: "other-message-type", rule: wire.RuleMessageType, edit: set(at+"/type", `"negotiate.haggle"`), why: "there are fourteen types", breaks: "a message that nobody understands is answered as if it were another"},
		},
		seal{at: at + "/signature", who: vintner, what: "a message", rule: wire.RuleSignature, form: wire.RuleSignatureForm, known: publicKeys(vintner),
			signs: func(v wire.Value) wire.Value { m, _ := v.At(tokens(at)...); return withoutSignature(m) },
		}.forged(v, at+"/session_id", `"ses_26b"`, at+"/body/terms/price/label", `"Total"`, at+"/timestamp", `"2026-09-14T09:28:00Z"`, at+"/reasoning", `"no hurry"`, at+"/id", `"msg_26b"`),
	} {
		p.faults = append(p.faults, list...)
	}
	return p
}
