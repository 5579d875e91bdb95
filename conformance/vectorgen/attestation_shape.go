package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

func attestationShape(sound wire.Value) []fault {
	s := shape{rule: attest.RuleShape, sound: sound, shared: true}
	required := []member{
		{"/concordia_attestation", "by which rules it is read"}, {"/attestation_id", "which attestation it is"}, {"/session_id", "which session it is of"},
		{"/timestamp", "when it was made"}, {"/outcome", "how the session ended"}, {"/outcome/status", "how the session ended"},
		{"/outcome/rounds", "how many offers there were"}, {"/outcome/duration_seconds", "how long it took"},
		{"/parties", "who took part"}, {"/parties/0/agent_id", "who took part"}, {"/parties/0/role", "what a party was in it"},
		{"/parties/0/behavior", "how a party acted"}, {"/meta", "what the deal was like"}, {"/transcript_hash", "which messages it is of"},
	}
	optional := []member{
		{"/outcome/terms_count", "how many terms there were"}, {"/outcome/resolution_mechanism", "how the deal came about"},
		{"/parties/0/behavior/offers_made", "how many offers a party made"}, {"/parties/0/behavior/concessions", "how often a party gave way"},
		{"/parties/0/behavior/concession_magnitude", "how far a party gave way"}, {"/parties/0/behavior/signals_shared", "how open a party was"},
		{"/parties/0/behavior/constraints_declared", "how many limits a party set"}, {"/parties/0/behavior/constraints_violated", "how often a party broke its word"},
		{"/parties/0/behavior/reasoning_provided", "whether a party gave reasons"}, {"/parties/0/behavior/withdrawal", "whether a party left"},
		{"/parties/0/behavior/response_time_avg_seconds", "how fast a party was"},
		{"/meta/category", "what trade it was"}, {"/meta/value_range", "how large it was"}, {"/meta/extensions_used", "what was used besides"},
		{"/meta/mediator_invoked", "whether somebody had to help"}, {"/summary", "what people read"}, {"/references", "what it belongs to"},
	}
	theirs := s
	s.shared = false
	list := slices.Concat(
		theirs.omitted(required...), theirs.mistyped(append(required, optional...)...), s.nulled(required[3], required[5], required[6], optional[2], optional[11], optional[13]),
		s.recased(required[0], required[3], required[5], required[10]),
		theirs.added("", "/outcome", "/parties/0", "/parties/0/behavior", "/meta"), theirs.mistimed(required[3], day("09:00:00")),
	)
	for _, m := range []member{{"/chain_head", "which messages it is of"}, {"/message_count", "how many messages there were"}} {
		list = append(append(list, s.mistyped(m)...), s.nulled(m)...)
	}
	for _, m := range optional {
		f := s.fault(m, "left-out", drop(m.at))
		f.rule, f.shared, f.why = nil, false, "an attestation need not tell "+m.tells
		list = append(list, f)
	}
	const (
		unread  = "a reader that knows no such value makes up its own meaning"
		numbers = "one reader rounds, another cuts off, a third refuses: the figures depend on who reads"
	)
	list = append(list,
		s.other("/concordia_attestation", "of-two-parts", `"0.5"`, "a version has three numbers", "one reader takes it for an old version, which has less to prove, and another for a new one"),
		s.other("/concordia_attestation", "with-suffix", `"0.5.0-rc1"`, "a version has three numbers", "one reader takes it for an old version, which has less to prove, and another for a new one"),
		s.other("/concordia_attestation", "before-a-line-feed", `"0.5.0\n"`, "a version ends with its last digit; some expressions let a line feed pass", unread),
		s.other("/attestation_id", "empty", `""`, "an attestation has an id", "one that cannot be named cannot be told apart"),
		s.other("/session_id", "empty", `""`, "a session has an id", "a receipt of no session fits all"),
		theirs.other("/outcome/status", "other", `"won"`, "a session ends in one of four ways", unread),
		s.other("/outcome/status", "in-capitals", `"AGREED"`, "a status has one spelling", unread),
		theirs.other("/outcome/rounds", "negative", `-1`, "a count is not negative", numbers),
		s.other("/outcome/rounds", "fraction", `1.5`, "a count is whole", numbers),
		s.other("/outcome/duration_seconds", "fraction", `0.5`, "a duration is of whole seconds", numbers),
		s.other("/outcome/duration_seconds", "negative", `-5400`, "a session does not end before it begins", numbers),
		s.other("/outcome/terms_count", "zero", `0`, "a deal without terms has no terms_count", numbers),
		s.other("/outcome/resolution_mechanism", "other", `"coin"`, "a deal comes about in one of six ways", unread),
		theirs.other("/parties/0/role", "other", `"buyer"`, "there are four roles", unread),
		s.other("/parties/0", "no-object", `"`+orchard+`"`, "a party is an object with its record", unread),
		s.other("/parties/0/behavior/offers_made", "negative", `-1`, "a count is not negative", numbers),
		s.other("/parties/0/behavior/offers_made", "fraction", `1.5`, "a count is whole", numbers),
		s.other("/parties/0/behavior/constraints_violated", "negative", `-1`, "a count is not negative", "a breach is made up for by a negative one"),
		theirs.other("/parties/0/behavior/concession_magnitude", "above-one", `1.0001`, "nobody gives way by more than all", "one hostile figure lifts the mean of a history"),
		s.other("/parties/0/behavior/concession_magnitude", "negative", `-0.5`, "a concession is not negative", "one hostile figure lowers the mean of a history"),
		s.other("/parties/0/behavior/response_time_avg_seconds", "negative", `-1`, "nobody answers before the question", "one hostile figure lowers the mean of a history"),
		s.other("/meta/extensions_used/0", "no-text", `1`, "an extension is named by a text", unread),
		s.other("/transcript_hash", "unprefixed", `"`+wire.HashOf("x").Hex()+`"`, "a hash says how it was made", unread),
		s.other("/transcript_hash", "in-capitals", `"sha256:`+capitals(wire.HashOf("x").Hex())+`"`, "a hash has one spelling", "one transcript has two hashes"),
		s.other("/chain_head", "cut-short", `"sha256:abcdef"`, "a hash is 64 digits", "a message to fit a short hash is found by trying"),
		s.other("/message_count", "zero", `0`, "a transcript has a message", "a receipt of nothing"),
		s.other("/message_count", "fraction", `8.5`, "a count is whole", numbers),
		theirs.other("/summary", "too-long", wire.Text(strings.Repeat("é", 1025)).Canonical(), "a summary has at most 1024 characters", "whole documents travel inside a receipt"),
		s.other("/countersignatures", "no-object", `[]`, "countersignatures are named by their party", unread),
		s.other("/countersignatures/"+onlooker, "empty", `""`, "an entry that is empty is no signature", "a name in the list looks like consent"),
		s.other("/countersignatures/"+onlooker, "no-text", `7`, "a signature is a text", unread),
		s.other("/fulfillment", "no-object", `"fulfilled"`, "a fulfillment is an object, or null", unread),
		s.fine("/summary", "longest", wire.Text(strings.Repeat("é", 1024)).Canonical(), "1024 characters are fine, however many bytes they have"),
		s.fine("/outcome/duration_seconds", "longest", `9007199254740991`, "a duration is any whole number that every reader knows"),
		s.fine("/outcome/duration_seconds", "zero", `0`, "a session may be over at once"),
		s.fine("/outcome/rounds", "zero", `0`, "a session may end without an offer"),
		s.fine("/parties/0/behavior/concession_magnitude", "one", `1`, "who gives way entirely gives way by one"),
		s.fine("/parties/0/behavior/concession_magnitude", "zero", `0`, "who does not give way gives way by zero"),
		s.fine("/meta", "empty", `{}`, "an attestation need not tell what the deal was like"),
		s.fine("/concordia_attestation", "later", `"0.10.0"`, "versions are compared by number: ten is more than five"),
		s.fine("/concordia_attestation", "one", `"1.0.0"`, "a version beyond the present one is read as the present one"),
	)
	for _, status := range []string{"agreed", "rejected", "expired", "withdrawn"} {
		list = append(list, s.fine("/outcome/status", status, `"`+status+`"`, "a session ends in one of four ways, and this is one"))
	}
	for _, mechanism := range []string{"direct", "split", "foa", "tradeoff", "escalation", "none"} {
		list = append(list, s.fine("/outcome/resolution_mechanism", mechanism, `"`+mechanism+`"`, "a deal comes about in one of six ways, and this is one"))
	}
	for _, id := range []struct{ name, at, json string }{
		{"attestation_id-with-space", "/attestation_id", `"att 42"`}, {"session_id-with-space", "/session_id", `"ses 42"`},
		{"session_id-with-line-feed", "/session_id", `"ses_42\n"`}, {"attestation_id-invisible", "/attestation_id", `"att_\u200b42"`},
	} {
		list = append(list, fault{name: id.name, rule: attest.RuleShape, edit: set(id.at, id.json),
			why: "an id has no white space and nothing that is not seen", breaks: "two ids that a person cannot tell apart are two sessions"})
	}
	return append(list, attestationWords()...)
}

// attestationWords are categories and ranges, in which a term could be hidden.
func attestationWords() []fault {
	var list []fault
	const leak = "a price or a name rides in a field that nobody scans"
	for _, c := range []struct {
		name, text string
		fine       bool
	}{
		{"longest", strings.Repeat("a", 64), true}, {"of-one-letter", "a", true}, {"dashes", "a-b_c.0-9", true}, {"digits", "2026", true},
		{"too-long", strings.Repeat("a", 65), false}, {"capital", "Food.apples", false}, {"space", "food apples", false},
		{"empty", "", false}, {"empty-segment", "food..apples", false}, {"leading-point", ".food", false}, {"trailing-point", "food.", false},
		{"umlaut", "äpfel", false}, {"line-feed", "food.apples\n", false}, {"currency", "food.4800€", false}, {"slash", "food/apples", false},
	} {
		f := fault{name: "category-" + c.name, shared: c.name == "capital" || c.name == "longest" || c.name == "too-long", edit: set("/meta/category", wire.Text(c.text).Canonical()), why: "a category is a dotted path in lower case, of at most 64 characters"}
		if !c.fine {
			f.rule, f.breaks = attest.RuleCategory, leak
		}
		list = append(list, f)
	}
	for i, r := range []string{"0-100", "100-500", "500-1000", "1000-5000", "5000-10000", "10000-50000", "50000-100000", "100000-500000", "500000-1000000", "1000000+"} {
		list = append(list, fault{name: fmt.Sprintf("value_range-%d", i+1), edit: set("/meta/value_range", `"`+r+`_CHF"`), why: "there are ten ranges, and this is one"})
	}
	for _, r := range []struct{ name, text string }{
		{"narrow", "4799-4800_EUR"}, {"of-one", "4800-4800_EUR"}, {"other-bounds", "1000-4800_EUR"}, {"without-currency", "1000-5000"},
		{"lower-case", "1000-5000_eur"}, {"four-letters", "1000-5000_EURO"}, {"space", "1000-5000 EUR"}, {"line-feed", "1000-5000_EUR\n"},
		{"empty", ""}, {"zeros", "01000-05000_EUR"}, {"open-below", "5000+_EUR"}, {"two-currencies", "1000-5000_EUR_USD"}, {"cyrillic", "1000-5000_ЕUR"},
	} {
		list = append(list, fault{name: "value_range-" + r.name, rule: attest.RuleValueRange, shared: r.name == "narrow" || r.name == "lower-case", edit: set("/meta/value_range", wire.Text(r.text).Canonical()),
			contract: wire.M{"forbid_raw_deal_terms": nil}, // which would find some of these, too
			why:      "ranges are a list and no grammar, so that no price fits into one", breaks: leak})
	}
	return list
}

// attestationReferences are references at their caps and beyond.
func attestationReferences(sound wire.Value) []fault {
	s := shape{rule: attest.RuleReference, sound: sound}
	required := []member{{"/references/0/type", "the kind of what is referred to"}, {"/references/0/id", "what is referred to"}, {"/references/0/relationship", "how the artifacts are related"}}
	theirs := s
	theirs.shared = true
	list := slices.Concat(theirs.omitted(required...), s.mistyped(required...), s.nulled(required[0]), s.recased(required[0]), theirs.added("/references/0"))
	const hidden = "text with white space is a sentence: terms of the deal ride in an id"
	for _, c := range []struct{ name, text string }{
		{"space", "urn:concordia: mandate"}, {"line-feed", "urn:concordia:mandate\n"}, {"tab", "urn:\tmandate"}, {"empty", ""},
	} {
		for _, m := range required {
			f := s.other(m.at, c.name, wire.Text(c.text).Canonical(), "a reference is words without white space", hidden)
			f.shared = c.name == "space"
			list = append(list, f)
		}
	}
	// White space of which the published schema and its readers do not know all.
	for _, c := range []struct{ name, text string }{
		{"no-break-space", "urn:\u00a0mandate"}, {"next-line", "urn:\u0085mandate"}, {"separator", "urn:\u001cmandate"}, {"byte-order-mark", "urn:\ufeffmandate"},
		{"line-separator", "urn:\u2028mandate"}, {"ideographic-space", "urn:\u3000mandate"}, {"vowel-separator", "urn:\u180emandate"},
	} {
		f := s.other("/references/0/id", c.name, wire.Text(c.text).Canonical(), "white space of any script is white space", hidden)
		list = append(list, f)
	}
	const large = "a receipt that is small for its signers is large for everybody who keeps it"
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"type":"receipt","id":"att_1","relationship":"references"},`, n), ",") + "]"
	}
	letters := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	list = append(list,
		theirs.other("/references/0/id", "too-long", letters(257), "an id has at most 256 characters", large),
		s.other("/references/0/type", "too-long", letters(65), "a type has at most 64 characters", large),
		s.other("/references/0/relationship", "too-long", letters(65), "a relationship has at most 64 characters", large),
		s.other("/references/0/version", "too-long", letters(257), "a version has at most 256 characters", large),
		s.other("/references/0/version", "with-space", `"0.5 beta"`, "a reference is words without white space", hidden),
		s.other("/references/0/signer_did", "with-space", `"did:web:a b"`, "a reference is words without white space", hidden),
		s.other("/references/0/signer_did", "no-text", `7`, "what is known is well-formed, even where it is optional", large),
		s.other("/references/0/signed_at", "no-time", `"yesterday"`, "what is known is well-formed, even where it is optional", "readers disagree on when it was signed"),
		s.other("/references/0/extensions", "no-object", `[]`, "extensions are named", "readers disagree on what they mean"),
		s.other("/references/0", "no-object", `"urn:concordia:mandate:42"`, "a reference is an object", "readers disagree on what it means"),
		theirs.other("/references", "33", many(33), "an attestation has at most 32 references", large),
		s.fine("/references", "32", many(32), "an attestation may have 32 references"),
		s.fine("/references", "empty", `[]`, "an attestation may refer to nothing"),
		s.fine("/references/0/id", "longest", letters(256), "an id may have 256 characters"),
		s.fine("/references/0/type", "longest", letters(64), "a type may have 64 characters"),
		s.fine("/references/0/type", "unknown", `"poem"`, "an unknown type is kept"),
		s.fine("/references/0/relationship", "unknown", `"rhymes"`, "an unknown relationship is kept"),
		s.fine("/references/0/signed_at", "time", `"2026-09-01T09:00:00+02:00"`, "a reference may say when the other artifact was signed"),
	)
	const open = "extensions are open, but small: 2048 bytes, 8 levels, 256 values"
	for _, e := range []struct {
		name, json string
		fine       bool
	}{
		{"open", `{"anything":[1,{"goes":null}]}`, true},
		{"deepest", nest(8), true}, {"too-deep", nest(9), false},
		{"deepest-of-arrays", `{"a":` + strings.Repeat("[", 7) + strings.Repeat("]", 7) + `}`, true},
		{"too-deep-of-arrays", `{"a":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`, false},
		{"most-values", ones(254), true}, {"too-many-values", ones(255), false},
		{"most-bytes", `{"a":"` + strings.Repeat("x", 2040) + `"}`, true}, {"too-many-bytes", `{"a":"` + strings.Repeat("x", 2041) + `"}`, false},
		{"too-many-bytes-of-few-letters", `{"a":"` + strings.Repeat("é", 1021) + `"}`, false},
	} {
		f := s.other("/references/0/extensions", e.name, e.json, open, large)
		if e.fine {
			f.rule, f.breaks = nil, ""
		}
		list = append(list, f)
	}
	return list
}

// nest returns objects inside each other, n deep.
func nest(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }

// ones returns a list of n numbers in an object.
func ones(n int) string {
	return `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]}`
}
