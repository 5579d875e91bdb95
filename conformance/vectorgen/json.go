package main

import (
	"encoding/base64"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// spelled returns an edit that makes the input a JSON text.
func spelled(text string) func(wire.Value) wire.Value {
	return func(wire.Value) wire.Value { return value(wire.M{"text": text}) }
}

// coded returns an edit that makes the input the bytes of a text that is no string
// of JSON, or that readers of vectors would not all keep as it is.
func coded(bytes string) func(wire.Value) wire.Value {
	return func(wire.Value) wire.Value {
		return value(wire.M{"base64": base64.StdEncoding.EncodeToString([]byte(bytes))})
	}
}

// canonicalIs expects the digest of a canonical text, written out here so that it
// does not come from the code that is judged by it.
func canonicalIs(text string) wire.M { return wire.M{"canonical_sha256": wire.HashOf(text)} }

// jsonText is JSON as it comes in, before anything is known of what it means.
func jsonText() specimen {
	s := specimen{
		kind: "json_text", record: "json_text", profile: "json-strict-v1",
		value:   value(wire.M{"text": `{"price":{"value":410,"currency":"EUR"}}`}),
		context: canonicalIs(`{"price":{"currency":"EUR","value":410}}`),
	}
	s.faults = append(s.faults, jsonCanonical()...)
	s.faults = append(s.faults, jsonNumbers()...)
	s.faults = append(s.faults, jsonSyntax()...)
	s.faults = append(s.faults, jsonUnicode()...)
	s.faults = append(s.faults, jsonNames()...)
	s.faults = append(s.faults, jsonBounds()...)
	for i := range s.faults {
		if s.faults[i].context == nil { // only the canonical ones expect a digest
			s.faults[i].context = wire.M{"canonical_sha256": nil}
		}
	}
	return s
}

// jsonCanonical are texts with what their canonical form has to be.
func jsonCanonical() (faults []fault) {
	for _, c := range []struct{ name, text, canonical, why string }{
		{"space", " { \"b\" : [ 1 ,\t2 ] ,\r\n \"a\" : null } ", `{"a":null,"b":[1,2]}`, "white space between tokens is not kept: the digest of a text does not depend on its layout"},
		{"order-of-names", `{"b":1,"a":2,"aa":3,"":4,"A":5,"10":6,"9":7}`, `{"":4,"10":6,"9":7,"A":5,"a":2,"aa":3,"b":1}`, "members are sorted by the text of their names; digits are text, and a prefix comes first"},
		{"order-utf16", `{"\ue000":1,"\ud83d\udea2":2,"\u00e9":3,"z":4}`, "{\"z\":4,\"\u00e9\":3,\"\U0001f6a2\":2,\"\ue000\":1}", "names are sorted by UTF-16 units, so that a name beyond the basic plane comes before U+E000; sorting bytes puts it after"},
		{"order-utf16-in-name", `{"a\uffee":1,"a\ud834\udd1e":2}`, "{\"a\U0001d11e\":2,\"a\uffee\":1}", "the order by UTF-16 units holds also after an equal beginning"},
		{"order-deep", `[{"d":{"y":1,"x":2},"c":[{"n":1,"m":2}]}]`, `[{"c":[{"m":2,"n":1}],"d":{"x":2,"y":1}}]`, "members are sorted at every level, elements at none"},
		{"escapes", `["\u0008\u0009\u000a\u000c\u000d\u0022\u005c\u002f"]`, `["\b\t\n\f\r\"\\/"]`, "five control characters, the quote and the backslash have a short escape; the slash has none"},
		{"control-characters", `["\u0000\u0001\u001F\u007f"]`, "[\"\\u0000\\u0001\\u001f\x7f\"]", "other control characters are four lower-case hex digits; DEL is no control character of JSON"},
		{"html-characters", `["<b>&\u2028\u2029"]`, "[\"<b>&\u2028\u2029\"]", "nothing is escaped for the sake of HTML or JavaScript"},
		{"non-ascii", `["\u20ac \u6e2f \u00f8"]`, "[\"€ 港 ø\"]", "what is not ASCII is written as UTF-8"},
		{"no-normal-form", "[\"\u00e5\",\"a\u030a\"]", "[\"\u00e5\",\"a\u030a\"]", "two ways to write a letter stay two texts: canonical JSON normalises no Unicode"},
		{"pair", `["\ud83d\udea2"]`, "[\"\U0001f6a2\"]", "two escaped surrogates that belong together are one character"},
		{"noncharacter", `["\uffff"]`, "[\"\uffff\"]", "a noncharacter is a code point like others"},
		{"name-escaped", `{"\u0070rice":1}`, `{"price":1}`, "a name is what its escapes stand for"},
		{"integer-point", `[1.0,10.00,-2.0]`, `[1,10,-2]`, "a number that is whole has no point"},
		{"integer-exponent", `[1e2,100e-2,1E+3]`, `[100,1,1000]`, "an exponent is only a spelling"},
		{"zero", `[0,0.0,0e7,0E-3]`, `[0,0,0,0]`, "zero has one spelling"},
		{"trailing-zeros", `[4.50,0.2500]`, `[4.5,0.25]`, "zeros at the end of a fraction say nothing"},
		{"shortest", `[333333333.33333329,0.1000000000000000055]`, `[333333333.3333333,0.1]`, "a double is written with the fewest digits that read back as it"},
		{"small", `[0.000001,0.0000001,1e-27]`, `[0.000001,1e-7,1e-27]`, "an exponent is written below 1e-6, without leading zeros"},
		{"large", `[1e21,1.5e300,1e+30]`, `[1e+21,1.5e+300,1e+30]`, "from 1e21 on a number has an exponent with a sign"},
		{"extremes", `[1.7976931348623157e308,5e-324,-5e-324,2.2250738585072014e-308]`, `[1.7976931348623157e+308,5e-324,-5e-324,2.2250738585072014e-308]`, "the largest and the smallest doubles are in the domain"},
		{"nearly-zero", `[3e-324]`, `[5e-324]`, "what rounds to the smallest double is not rounded to zero"},
		{"safe-integers", `[9007199254740991,-9007199254740991,9007199254740991.0]`, `[9007199254740991,-9007199254740991,9007199254740991]`, "2^53-1 is the last whole number that every reader keeps"},
		{"large-fraction", `[2251799813685248.5]`, `[2251799813685248.5]`, "a large number with a fraction is a double like others"},
		{"scalars", `[true,false,null,"",{},[]]`, `[true,false,null,"",{},[]]`, "empty values and literals stay as they are"},
	} {
		faults = append(faults, fault{name: "canonical-" + c.name, edit: spelled(c.text), context: canonicalIs(c.canonical), why: c.why})
	}
	for _, c := range []struct{ name, text, wrong, why string }{
		{"order-of-bytes", `{"\ue000":1,"\ud83d\udea2":2}`, "{\"\ue000\":1,\"\U0001f6a2\":2}", "names are not sorted by bytes"},
		{"order-as-written", `{"b":1,"a":2}`, `{"b":1,"a":2}`, "names are not left in the order in which they came"},
		{"space-kept", `{"a": 1}`, `{"a": 1}`, "white space is not kept"},
		{"number-as-written", `[1.0]`, `[1.0]`, "numbers are not left as they were spelled"},
		{"capital-hex", `["\u001f"]`, `["\u001F"]`, "hex digits are lower case"},
		{"escaped-html", `["<"]`, `["\u003c"]`, "nothing is escaped for the sake of HTML"},
		{"escaped-slash", `["/"]`, `["\/"]`, "the slash is not escaped"},
		{"normalised", "[\"a\u030a\"]", "[\"\u00e5\"]", "no Unicode is normalised"},
		{"exponent-without-sign", `[1e21]`, `[1e21]`, "a positive exponent has a sign"},
		{"exponent-padded", `[1e-7]`, `[1e-07]`, "an exponent has no leading zeros"},
	} {
		faults = append(faults, fault{name: "digest-of-" + c.name, rule: suiteRule("expected-digest"), edit: spelled(c.text), context: canonicalIs(c.wrong), why: c.why,
			breaks: "signatures and hashes are over other bytes than those of everybody else"})
	}
	return faults
}

func jsonNumbers() (faults []fault) {
	const breaks = "two verifiers read two numbers from one signed text, and each is sure of its own"
	for _, c := range []struct{ name, text, why string }{
		{"two-to-53", "9007199254740992", "2^53 is also what a double makes of 2^53+1"},
		{"two-to-53-plus-1", "9007199254740993", "no double holds 2^53+1: some readers keep it, others round it down"},
		{"minus-two-to-53", "-9007199254740992", "-2^53 is also what a double makes of -2^53-1"},
		{"two-to-53-point-zero", "9007199254740992.0", "a point does not make a whole number safe"},
		{"two-to-64", "18446744073709551616", "a 64-bit reader overflows"},
		{"twenty-digits", "12345678901234567890", "readers with whole numbers keep what readers with doubles round"},
		{"ten-to-16", "1e16", "between 2^53 and 1e21 implementations write other digits"},
		{"ten-to-20", "1e20", "some implementations write 1e20 with an exponent and others with zeros"},
		{"ten-to-20-spelled-out", "100000000000000000000.0", "the spelling makes no difference: the value is between 2^53 and 1e21"},
		{"minus-ten-to-20", "-1e20", "the sign makes no difference: the size is between 2^53 and 1e21"},
		{"thousand-digits", "1" + strings.Repeat("0", 1000), "a whole number without an exponent is a safe integer or none"},
		{"minus-zero", "-0", "some readers keep the sign of zero and others do not"},
		{"minus-zero-fraction", "-0.0", "some readers keep the sign of zero and others do not"},
		{"minus-zero-exponent", "-0e3", "some readers keep the sign of zero and others do not"},
		{"overflow", "1e400", "it is infinity to one reader, an error to another and a number to a third"},
		{"minus-overflow", "-1e400", "it is infinity to one reader, an error to another and a number to a third"},
		{"just-overflow", "1.7976931348623159e308", "it rounds to infinity"},
		{"underflow", "1e-400", "it is zero to readers with doubles and not zero to others"},
		{"just-underflow", "2e-324", "it rounds to zero, which it is not"},
		{"minus-underflow", "-1e-400", "it rounds to a zero with a sign"},
		{"long-token", "0." + strings.Repeat("3", 255), "readers differ in how many digits they look at; 256 characters are the most"},
		{"long-zeros", "1" + strings.Repeat("0", 900) + "e-900", "readers that stop counting digits make another number of it"},
	} {
		faults = append(faults, fault{name: "number-" + c.name, rule: wire.RuleNumber, edit: spelled(`{"amount":` + c.text + `}`), why: c.why, breaks: breaks})
	}
	return append(faults,
		fault{name: "number-longest-token", edit: spelled("[0." + strings.Repeat("3", 254) + "]"), context: canonicalIs("[0.3333333333333333]"), why: "a number may have 256 characters"},
		fault{name: "number-in-string", edit: spelled(`["1e400","-0","9007199254740993"]`), context: canonicalIs(`["1e400","-0","9007199254740993"]`), why: "digits in a string are text, not a number"},
		fault{name: "number-deep", rule: wire.RuleNumber, edit: spelled(`[[{"a":[{"b":[1,2,1e18]}]}]]`), why: "the domain holds for every number, however deep", breaks: breaks},
		fault{name: "number-root", rule: wire.RuleNumber, edit: spelled(`-0`), why: "the domain holds for a number that is the whole text", breaks: breaks},
	)
}

func jsonSyntax() (faults []fault) {
	for _, c := range []struct{ name, text, why string }{
		{"empty", "", "no text is no value"},
		{"only-space", " \n", "white space is no value"},
		{"two-values", `{"a":1}{"a":2}`, "a second value after the first is read by some and ignored by others"},
		{"trailing-letter", `{"a":1}x`, "what follows the value is not part of it, and nobody signed it"},
		{"trailing-bracket", `{"a":1}}`, "a reader that stops at the end of the value does not see what follows"},
		{"trailing-nul", "{\"a\":1}\x00", "a text does not end at a zero byte"},
		{"unterminated-object", `{"a":1`, "half a text is no text"},
		{"unterminated-string", `["abc`, "half a text is no text"},
		{"wrong-bracket", `{"a":[1}`, "brackets close what they opened"},
		{"comment-line", "{\"a\":1 // one\n}", "JSON has no comments: a reader that skips them sees another text"},
		{"comment-block", `{"a":/* 2 */1}`, "JSON has no comments: a reader that skips them sees another text"},
		{"comment-hash", "# offer\n[1]", "JSON has no comments"},
		{"trailing-comma-object", `{"a":1,}`, "a comma stands between members"},
		{"trailing-comma-array", `[1,2,]`, "a comma stands between elements; some readers add an element"},
		{"leading-comma", `[,1]`, "a comma stands between elements; some readers add an element"},
		{"no-comma", `[1 2]`, "elements are separated"},
		{"no-colon", `{"a" 1}`, "a name and its value are separated"},
		{"single-quotes", `{'a':1}`, "strings have double quotes"},
		{"bare-name", `{a:1}`, "names have quotes"},
		{"number-as-name", `{1:2}`, "names are strings"},
		{"nan", `[NaN]`, "NaN is no number of JSON, and not equal to itself"},
		{"infinity", `[Infinity]`, "infinity is no number of JSON"},
		{"minus-infinity", `[-Infinity]`, "infinity is no number of JSON"},
		{"leading-zero", `[01]`, "a leading zero means octal to some"},
		{"leading-zeros-fraction", `[00.5]`, "a number begins with one zero or none"},
		{"minus-leading-zero", `[-01]`, "a leading zero means octal to some"},
		{"plus", `[+1]`, "a number has no plus sign"},
		{"no-digit-before-point", `[.5]`, "a point stands between digits"},
		{"no-digit-after-point", `[1.]`, "a point stands between digits"},
		{"no-exponent", `[1e]`, "an exponent has digits"},
		{"hex", `[0x10]`, "JSON has no hex numbers"},
		{"underscore", `[1_000]`, "JSON has no separators in numbers"},
		{"two-points", `[1.2.3]`, "a number has one point"},
		{"capital-literal", `[True]`, "literals are lower case"},
		{"undefined", `[undefined]`, "JSON has three literals"},
		{"tab-in-string", "[\"a\tb\"]", "control characters are escaped in strings"},
		{"newline-in-string", "[\"a\nb\"]", "control characters are escaped in strings"},
		{"nul-in-string", "[\"a\x00b\"]", "a string does not end at a zero byte"},
		{"escape-x", `["\x41"]`, "JSON has no such escape"},
		{"escape-a", `["\a"]`, "JSON has no such escape"},
		{"escape-quote", `["\'"]`, "JSON has no such escape"},
		{"escape-capital-u", `["\U0041"]`, "the u of an escape is lower case"},
		{"escape-short", `["\u041"]`, "an escape has four digits"},
		{"escape-not-hex", `["\u00g1"]`, "an escape has hex digits"},
		{"form-feed", "[1,\f2]", "only space, tab, line feed and carriage return are white space"},
		{"no-break-space", "[1,\u00a02]", "only space, tab, line feed and carriage return are white space"},
		{"byte-order-mark", "\ufeff{\"a\":1}", "a byte order mark is no part of JSON: two files that look alike have two digests"},
		{"byte-order-mark-alone", "\ufeff", "a byte order mark is no value"},
	} {
		f := fault{name: "syntax-" + c.name, rule: wire.RuleSyntax, why: c.why, breaks: "a lenient reader and a strict one disagree whether there is a document, or which"}
		if f.edit = spelled(c.text); strings.ContainsAny(c.text, "\x00\ufeff") {
			f.edit = coded(c.text)
		}
		faults = append(faults, f)
	}
	for _, c := range []struct{ name, bytes, why string }{
		{"utf16", "\xff\xfe{\x00}\x00", "JSON is UTF-8 and nothing else"},
	} {
		faults = append(faults, fault{name: "syntax-" + c.name, rule: wire.RuleSyntax, edit: coded(c.bytes), why: c.why, breaks: "the bytes that were signed are not those that are read"})
	}
	return faults
}

func jsonUnicode() (faults []fault) {
	for _, c := range []struct{ name, text, why string }{
		{"lone-high", `["\ud83d"]`, "half a pair is no character: it becomes a question mark here and stays there"},
		{"lone-low", `["\udea2"]`, "half a pair is no character"},
		{"swapped", `["\udea2\ud83d"]`, "a pair has the high half first"},
		{"high-then-letter", `["\ud83dx"]`, "the high half is followed by the low half"},
		{"high-then-escape", `["\ud83d\u0041"]`, "the high half is followed by the low half, not by any escape"},
		{"two-highs", `["\ud83d\ud83d\udea2"]`, "a high half before a whole pair is alone"},
		{"lone-in-name", `{"\ud800":1}`, "names are text as well"},
		{"lone-deep", `{"a":[{"b":"\udfff"}]}`, "the rule holds for every string, however deep"},
	} {
		faults = append(faults, fault{name: "unicode-" + c.name, rule: wire.RuleUnicode, edit: spelled(c.text), why: c.why, breaks: "two texts that differ have one digest after a reader replaced what it could not keep"})
	}
	for _, c := range []struct{ name, bytes, why string }{
		{"invalid-byte", "[\"a\xffb\"]", "the byte ff is in no UTF-8 text"},
		{"continuation", "[\"\x80\"]", "a continuation byte continues something"},
		{"truncated", "[\"\xe2\x82\"]", "a sequence that is cut off is no character"},
		{"overlong", "[\"\xc0\xaf\"]", "a slash in two bytes is a second spelling of the slash"},
		{"overlong-nul", "[\"\xc0\x80\"]", "a zero in two bytes is a second spelling of zero"},
		{"encoded-surrogates", "[\"\xed\xa0\xbd\xed\xba\xa2\"]", "UTF-8 encodes characters, not the halves that UTF-16 makes of them"},
		{"beyond", "[\"\xf4\x90\x80\x80\"]", "there is nothing beyond U+10FFFF"},
		{"five-bytes", "[\"\xf8\x88\x80\x80\x80\"]", "no sequence has five bytes"},
		{"latin-1", "[\"K\xf8benhavn\"]", "JSON is UTF-8, not Latin-1"},
		{"invalid-in-name", "{\"\xc3\":1}", "names are text as well"},
	} {
		faults = append(faults, fault{name: "unicode-" + c.name, rule: wire.RuleUnicode, edit: coded(c.bytes), why: c.why, breaks: "a reader that replaces bad bytes computes a digest of a text that nobody sent"})
	}
	return faults
}

func jsonNames() (faults []fault) {
	for _, c := range []struct{ name, text, why string }{
		{"same-value", `{"a":1,"a":1}`, "a member is there once, even if both say the same"},
		{"other-value", `{"price":100,"price":900}`, "some readers take the first, others the last"},
		{"after-unescaping", `{"price":100,"\u0070rice":900}`, "names are compared as what they stand for, not as they are spelled"},
		{"slash", `{"a/b":1,"a\/b":2}`, "an escaped slash is a slash"},
		{"beyond-the-plane", "{\"\U0001f6a2\":1,\"\\ud83d\\udea2\":2}", "a pair of escapes is the character it stands for"},
		{"empty-name", `{"":1,"":2}`, "the empty name is a name"},
		{"apart", `{"a":1,"b":2,"c":3,"a":4}`, "the second one need not follow the first"},
		{"deep", `{"terms":{"price":{"value":100,"value":900}}}`, "the rule holds at every level"},
		{"in-array", `[{"a":1},{"b":1,"b":2}]`, "the rule holds for objects in arrays"},
		{"null-first", `{"a":null,"a":1}`, "a member that is null is there"},
		{"three-times", `{"a":1,"a":2,"a":1}`, "the last saying what the first said makes it no better"},
		{"signature", `{"signature":"x","body":{},"signature":"y"}`, "a signature that is given twice is taken from one place and removed from another"},
		{"whole-objects", `{"from":{"agent_id":"a"},"from":{"agent_id":"b"}}`, "two senders are none"},
		{"proto", `{"__proto__":{"a":1},"__proto__":{"a":2}}`, "no name is special"},
	} {
		faults = append(faults, fault{name: "duplicate-" + c.name, rule: wire.RuleDuplicate, edit: spelled(c.text), why: c.why,
			breaks: "the signer signed one value and the reader acts on the other"})
	}
	return append(faults,
		fault{name: "names-differ-in-case", edit: spelled(`{"a":1,"A":2}`), context: canonicalIs(`{"A":2,"a":1}`), why: "to JSON, names that differ in case are two names"},
		fault{name: "names-differ-in-form", edit: spelled("{\"\u00e5\":1,\"a\u030a\":2}"), context: canonicalIs("{\"a\u030a\":2,\"\u00e5\":1}"), why: "to JSON, two ways to write a letter are two names"},
		fault{name: "names-elsewhere", edit: spelled(`{"a":{"a":1},"b":[{"a":2}]}`), context: canonicalIs(`{"a":{"a":1},"b":[{"a":2}]}`), why: "a name may come again in another object"},
		fault{name: "names-proto", edit: spelled(`{"__proto__":1,"constructor":2}`), context: canonicalIs(`{"__proto__":1,"constructor":2}`), why: "no name is special: a reader that loses one loses something signed"},
	)
}

func jsonBounds() []fault {
	nested := func(open, middle, close string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(close, n)
	}
	// A text of n bytes; what fills it up is white space at its end.
	long := func(n int) string { return `{"a":"b"}` + strings.Repeat(" ", n-9) }
	const deep = "readers with a stack of their own size fail at different depths, some by crashing"
	return []fault{
		{name: "depth-64-arrays", edit: spelled(nested("[", "", "]", 64)), why: "64 levels are allowed"},
		{name: "depth-64-objects", edit: spelled(nested(`{"a":`, "1", "}", 64)), why: "64 levels are allowed; a number in the last is no level"},
		{name: "depth-65-arrays", rule: wire.RuleDepth, edit: spelled(nested("[", "", "]", 65)), why: "65 levels are one too many", breaks: deep},
		{name: "depth-65-objects", rule: wire.RuleDepth, edit: spelled(nested(`{"a":`, "1", "}", 65)), why: "65 levels are one too many", breaks: deep},
		{name: "depth-65-mixed", rule: wire.RuleDepth, edit: spelled(nested(`[{"a":`, "[]", "}]", 32)), why: "objects and arrays count together", breaks: deep},
		{name: "depth-beside", rule: wire.RuleDepth, edit: spelled(`[1,` + nested("[", "", "]", 64) + `,2]`), why: "the deepest place counts, not the first", breaks: deep},
		{name: "depth-10000", rule: wire.RuleDepth, edit: spelled(nested("[", "", "]", 10000)), why: "a small text can nest very deep", breaks: deep},
		{name: "depth-brackets-in-string", edit: spelled(`["` + strings.Repeat("[", 100) + `"]`), why: "brackets in a string nest nothing"},
		{name: "size-largest", edit: spelled(long(wire.MaxMessageSize)), why: "a text of 262,144 bytes is allowed"},
		{name: "size-too-large", rule: wire.RuleSize, edit: spelled(long(wire.MaxMessageSize + 1)), why: "one byte more is too much, be it white space",
			breaks: "a verifier can be made to read without end, and another one refuses what it accepted"},
	}
}
