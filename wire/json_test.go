package wire_test

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/wire"
)

// A place puts a text somewhere in a document.
type place struct {
	before, after string
	at            string // pointer of the text
}

// places are the positions in which each rule is tried. Names that a pointer has
// to escape are among them.
var places = []place{
	{"", "", ""},
	{" \t\r\n", "\n", ""},
	{"[", "]", "/0"},
	{`[0,{"a":[null,`, "]}]", "/1/a/1"},
	{`{"a~/b":{"":`, "}}", "/a~0~1b/"},
	{`{"é\u0041\"":`, `,"z":1}`, `/éA"`},
	{`{"1":"-0 1e400 [[","x":`, "}", "/x"},
}

func (p place) put(text string) string { return p.before + text + p.after }

// SPEC §9.2.1: no longer than the reader's limit.
func TestParseSize(t *testing.T) {
	lim := wire.Limits{Size: 10, Depth: 1}
	if _, err := wire.Parse([]byte(`"12345678"`), lim); err != nil {
		t.Errorf("10 bytes: got %v, want no error", err)
	}
	_, err := wire.Parse([]byte(`"12345678" `), lim)
	wantRefusal(t, "11 bytes", err, wire.RuleSize, "")
	_, err = wire.Parse([]byte("0"), wire.Limits{Depth: 1})
	wantRefusal(t, "no limit given", err, wire.RuleSize, "")
}

// A text beyond the limit is refused unread: the refusal allocates a Violation and
// nothing that grows with the text.
func TestParseSizeWithoutWork(t *testing.T) {
	huge := make([]byte, 100<<20)
	for _, lim := range []wire.Limits{wire.DocumentLimits, {Size: wire.MaxMessageSize, Depth: wire.MaxDepth}} {
		var err error
		allocs := testing.AllocsPerRun(10, func() { _, err = wire.Parse(huge, lim) })
		wantRefusal(t, "100 MB", err, wire.RuleSize, "")
		if allocs > 1 {
			t.Errorf("refusing 100 MB by size: got %v allocations, want at most 1", allocs)
		}
	}
	_, err := wire.ParseMessage(huge[:wire.MaxMessageSize+1])
	wantRefusal(t, "a message", err, wire.RuleSize, "")
}

// SPEC §9.2.1: objects and arrays nest at most 64 deep, 80 in a file.
func TestParseDepth(t *testing.T) {
	object := func(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
	for _, max := range []int{wire.MaxDepth, wire.MaxDepth + wire.WrapperDepth} {
		lim := wire.Limits{Size: wire.MaxDocumentSize, Depth: max}
		for what, c := range map[string]struct {
			text func(depth int) string
			at   string // pointer of the first value nested too deep
		}{
			"arrays":  {func(depth int) string { return nested(depth, "1") }, strings.Repeat("/0", max)},
			"empty":   {func(depth int) string { return nested(depth, "") }, strings.Repeat("/0", max)},
			"objects": {object, strings.Repeat("/a", max)},
			"mixed":   {func(depth int) string { return nested(10, object(depth-10)) }, strings.Repeat("/0", 10) + strings.Repeat("/a", max-10)},
			"second":  {func(depth int) string { return `{"x":[],"~":` + object(depth-1) + "}" }, "/~0" + strings.Repeat("/a", max-1)},
		} {
			v, err := wire.Parse([]byte(c.text(max)), lim)
			if err != nil || v.Depth() != max {
				t.Errorf("%s, %d deep: got depth %d, error %v", what, max, v.Depth(), err)
			}
			_, err = wire.Parse([]byte(c.text(max+1)), lim)
			wantRefusal(t, what+", one deeper", err, wire.RuleDepth, c.at)
		}
	}
	if got, want := wire.DocumentLimits.Depth, 80; got != want {
		t.Errorf("DocumentLimits.Depth = %d, want %d", got, want)
	}
	brackets := `"` + strings.Repeat(`[{\"`, 200) + `"`
	if _, err := wire.Parse([]byte(brackets), wire.Limits{Size: 1000, Depth: 0}); err != nil {
		t.Errorf("brackets in a string: got %v, want no error", err)
	}
	_, err := wire.Parse([]byte("[]"), wire.Limits{Size: 1000})
	wantRefusal(t, "an array at depth limit 0", err, wire.RuleDepth, "")
}

// Deep nesting is refused where it begins, on a stack that could not hold a frame
// per level.
func TestParseDepthBomb(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	for _, text := range []string{
		nested(200_000, ""),
		strings.Repeat("[", 10_000_000),
		strings.Repeat(`{"a":`, 200_000),
		strings.Repeat(`[{"a":`, 200_000),
	} {
		_, err := wire.Parse([]byte(text), wire.DocumentLimits)
		if !errors.Is(err, wire.RuleDepth) {
			t.Errorf("%s: got %q, want %q", brief(text), refusal(err), "json-depth at ...")
		}
	}
	// More closed than opened does not buy depth.
	_, err := wire.Parse([]byte(strings.Repeat("]", 100)+nested(100, "")), wire.DocumentLimits)
	wantRefusal(t, "closed before opened", err, wire.RuleSyntax, "")
}

// SPEC §9.2.1: one JSON value (RFC 8259) and nothing else.
func TestParseSyntax(t *testing.T) {
	for what, text := range map[string]string{
		"empty text":                     "",
		"only space":                     " \n",
		"byte order mark":                "\ufeff{}",
		"UTF-16":                         "t\x00r\x00u\x00e\x00",
		"form feed is no space":          "\f1",
		"no-break space is no space":     "\u00a01",
		"NUL after the value":            "1\x00",
		"word":                           "word",
		"capital literal":                "True",
		"literal cut short":              "nul",
		"literal with more":              "nullx",
		"NaN":                            "NaN",
		"Infinity":                       "Infinity",
		"minus Infinity":                 "-Infinity",
		"undefined":                      "undefined",
		"single quotes":                  "'a'",
		"trailing value":                 "1 2",
		"trailing bracket":               "{}}",
		"trailing comma at the top":      "1,",
		"line comment":                   "1 // one",
		"comment before":                 "/* one */ 1",
		"hash comment":                   "# one\n1",
		"leading zero":                   "01",
		"leading zero, negative":         "-01",
		"leading zeros of a big integer": "000009007199254740993",
		"leading zeros, long":            strings.Repeat("0", 1000),
		"double zero":                    "00",
		"plus":                           "+1",
		"minus alone":                    "-",
		"two minuses":                    "--1",
		"minus plus":                     "-+1",
		"minus inside":                   "1-2",
		"point first":                    ".5",
		"minus point":                    "-.5",
		"point last":                     "5.",
		"point before exponent":          "5.e1",
		"two points":                     "1.2.3",
		"exponent alone":                 "e5",
		"exponent without digits":        "5e",
		"exponent sign without digits":   "5e+",
		"two exponents":                  "1e2e3",
		"fraction in exponent":           "1e2.5",
		"hexadecimal":                    "0x1F",
		"hexadecimal, big":               "0x9007199254740993",
		"octal":                          "0o17",
		"underscore":                     "1_000",
		"big and then bad":               "1e5x",
		"unterminated string":            `"abc`,
		"unterminated escape":            `"abc\`,
		"unterminated escaped quote":     `"abc\"`,
		"unknown escape":                 `"\x41"`,
		"capital U escape":               `"\U0041"`,
		"short unicode escape":           `"\u04"`,
		"unicode escape, not hex":        `"\u00g0"`,
		"control character":              "\"\x01\"",
		"newline in a string":            "\"a\nb\"",
		"tab in a string":                "\"a\tb\"",
		"NUL in a string":                "\"a\x00b\"",
		"unit separator in a string":     "\"\x1f\"",
	} {
		_, err := wire.Parse([]byte(text), wire.DocumentLimits)
		wantRefusal(t, what, err, wire.RuleSyntax, "")
		for _, p := range places[2:] {
			if strings.TrimSpace(text) == "" || text == "1," {
				continue // fine in some of the places
			}
			if _, err := wire.Parse([]byte(p.put(text)), wire.DocumentLimits); !errors.Is(err, wire.RuleSyntax) {
				t.Errorf("%s: %s: got %q, want json-syntax", what, brief(p.put(text)), refusal(err))
			}
		}
	}
}

// The pointer of a syntax error is the value that is broken, or the object or
// array between whose parts the error is.
func TestParseSyntaxPlace(t *testing.T) {
	tests := []struct{ text, at string }{
		{`{"a":[1 2]}`, "/a"},
		{`{"a":[tr ue]}`, "/a/0"},
		{`{"a":[1,]}`, "/a/1"},
		{`{"a":[,1]}`, "/a/0"},
		{`{"a":[1,,2]}`, "/a/1"},
		{`{"a":[1}}`, "/a"},
		{`{"a":[01]}`, "/a"},
		{`{"a":[0,+1]}`, "/a/1"},
		{`{"a":[0,.5]}`, "/a/1"},
		{`{"a":[0,5.]}`, "/a/1"},
		{`{"a":[0,0x1]}`, "/a"},
		{`{"a":[0,NaN]}`, "/a/1"},
		{`{"a":[0,-]}`, "/a/1"},
		{`{"a":[0,"\q"]}`, "/a/1"},
		{"{\"a\":[0,\"\x01\"]}", "/a/1"},
		{"{\"a\":{\"b\x01\":0}}", "/a"},
		{`{"a":{"b":}}`, "/a/b"},
		{`{"a":{"b" 1}}`, "/a/b"},
		{`{"a":{b:1}}`, "/a"},
		{`{"a":{1:1}}`, "/a"},
		{`{"a":{null:1}}`, "/a"},
		{`{"a":{"b":1,}}`, "/a"},
		{`{"a":{,"b":1}}`, "/a"},
		{`{"a":{"b":1 "c":2}}`, "/a"},
		{`{"a":{"b":1]}`, "/a"},
		{`{"a":{"b"`, "/a/b"},
		{`{"a":{"b`, "/a"},
		{`{"a":{"b":1`, "/a"},
		{`{"a":[1`, "/a"},
		{`{"a":1}]`, ""},
		{`[1]//`, ""},
		{`{"x~/y":[tru]}`, "/x~0~1y/0"},
	}
	for _, tt := range tests {
		_, err := wire.Parse([]byte(tt.text), wire.DocumentLimits)
		wantRefusal(t, tt.text, err, wire.RuleSyntax, tt.at)
	}
}

// SPEC §9.2.1: UTF-8 without lone surrogates.
func TestParseUnicode(t *testing.T) {
	for what, s := range map[string]string{
		"continuation byte alone":         "\x80",
		"byte of no sequence":             "\xff",
		"sequence cut short":              "\xe2\x82",
		"sequence broken off":             "\xe2\x82z",
		"overlong slash":                  "\xc0\xaf",
		"overlong NUL":                    "\xc0\x80",
		"overlong, three bytes":           "\xe0\x80\xaf",
		"surrogate in UTF-8":              "\xed\xa0\x80",
		"surrogate pair in UTF-8":         "\xed\xa0\xbd\xed\xb8\x80",
		"beyond U+10FFFF":                 "\xf4\x90\x80\x80",
		"Latin-1":                         "caf\xe9",
		"first surrogate alone":           `\ud800`,
		"second surrogate alone":          `\udc00`,
		"first surrogate and a letter":    `\ud800x`,
		"first surrogate and an escape":   `\ud800\n`,
		"first surrogate and a character": `\ud800\u0041`,
		"surrogates swapped":              `\udc00\ud800`,
		"first surrogate twice":           `\ud800\ud800\udc00`,
		"surrogate in capitals":           `\uD83D`,
		"first escaped, second raw":       "\\ud83d\xed\xb8\x80",
	} {
		for _, p := range places {
			text := p.put(`"a` + s + `z"`)
			_, err := wire.Parse([]byte(text), wire.DocumentLimits)
			wantRefusal(t, what+" in a value", err, wire.RuleUnicode, p.at)

			text = p.put(`{"b":1,"a` + s + `":2}`)
			_, err = wire.Parse([]byte(text), wire.DocumentLimits)
			wantRefusal(t, what+" in a name", err, wire.RuleUnicode, p.at)
		}
	}
	for text, want := range map[string]string{
		`"\ud83d\ude00"`:               `"😀"`,
		`"\uD83D\uDE00"`:               `"😀"`,
		`"\u0000\u001f\u007f\u0080"`:   "\"\\u0000\\u001f\u007f\u0080\"",
		`"\ufffd\uffff"`:               "\"\ufffd\uffff\"",
		`"\\ud800"`:                    `"\\ud800"`,
		"\"\U0010ffff\"":               "\"\U0010ffff\"",
		"\"\ufeff\"":                   "\"\ufeff\"", // a mark is a character, but at the start
		`"\u2028\u2029\/\u003c<>&"`:    "\"\u2028\u2029/<<>&\"",
		`"\b\f\n\r\t\"\\\u0008\u000B"`: `"\b\f\n\r\t\"\\\b\u000b"`,
	} {
		if got := parse(t, text).Canonical(); got != want {
			t.Errorf("Parse(%s) = %s, want %s", text, got, want)
		}
	}
}

// SPEC §9.2.1: no object has two members of one name, compared after unescaping.
func TestParseDuplicate(t *testing.T) {
	tests := []struct{ object, at string }{
		{`{"a":1,"a":2}`, "/a"},
		{`{"a":1,"a":1}`, "/a"},
		{`{"a":1,"b":{},"a":[]}`, "/a"},
		{`{"a":1,"\u0061":2}`, "/a"},
		{`{"\u0061":1,"a":2}`, "/a"},
		{`{"\/":1,"/":2}`, "/~1"},
		{`{"":1,"":2}`, "/"},
		{`{"\ud83d\ude00":1,"😀":2}`, "/😀"},
		{`{"b":{"x":1,"x":2}}`, "/b/x"},
		{`{"b":[0,{"x~":1,"y":1,"x\u007e":2}]}`, "/b/1/x~0"},
	}
	for _, tt := range tests {
		for _, p := range places {
			_, err := wire.Parse([]byte(p.put(tt.object)), wire.DocumentLimits)
			wantRefusal(t, p.put(tt.object), err, wire.RuleDuplicate, p.at+tt.at)
		}
	}
	// The same name elsewhere, in another case, or in another normal form.
	for _, text := range []string{
		`{"a":1,"A":2}`, `{"a":{"a":{"a":1}}}`, `[{"a":1},{"a":2}]`, `{"a":"a","b":["a","a"]}`,
		`{"é":1,"e\u0301":2}`, `{"a":1,"a\u0000":2}`, `{"K":1,"\u212a":2}`,
	} {
		parse(t, text)
	}
}

// Of several faults, the first in the text is reported, with its own rule.
func TestParseFirstFault(t *testing.T) {
	deep := nested(100, "")
	tests := []struct{ text, want string }{
		{`{"a":tru,"b":1e400}`, "json-syntax at /a"},
		{`{"a":1e400,"b":tru}`, "json-number at /a"},
		{`{"a":1,"a":{"b":1e400}}`, "json-duplicate at /a"},
		{`{"a":1e400,"a":1}`, "json-number at /a"},
		{`["\ud800",1e400]`, "json-unicode at /0"},
		{`["\ud800",tru]`, "json-unicode at /0"},
		{`["\ud800"`, "json-unicode at /0"},
		{`["\ud800\q"]`, "json-unicode at /0"},
		{`["\q\ud800"]`, "json-syntax at /0"},
		{"[\"\xff\", tru]", "json-unicode at /0"},
		{"[tru, \"\xff\"]", "json-syntax at /0"},
		{"{\"\xff\":1,\"\xff\":2}", "json-unicode"},
		{"{\"a\":\"\xff\",\"b\":1,\"b\":2}", "json-unicode at /a"},
		{"{\"b\":1,\"b\":2,\"a\":\"\xff\"}", "json-duplicate at /b"},
		{`[tru,` + deep + `]`, "json-syntax at /0"},
		{`[-0,` + deep + `]`, "json-number at /0"},
		{`[` + deep + `,-0]`, "json-depth at " + strings.Repeat("/0", 64)},
		{`{"a":0x9007199254740993}`, "json-syntax"},
		{`[1e400`, "json-number at /0"},
		{`[1e400x`, "json-number at /0"},
		{`1 1e400`, "json-syntax"},
		{`{} [-0]`, "json-syntax"},
		{`"` + strings.Repeat("[", 100), "json-syntax"},
	}
	for _, tt := range tests {
		_, err := wire.Parse([]byte(tt.text), wire.Limits{Size: 1 << 20, Depth: wire.MaxDepth})
		if got := refusal(err); got != tt.want {
			t.Errorf("Parse(%s): got %q, want %q", brief(tt.text), got, tt.want)
		}
	}
}

// Parse is pure: it changes neither its input nor an earlier result, though it
// reuses its buffers.
func TestParsePure(t *testing.T) {
	text := `{"b": [1.50, "x"], "a": {"z": 1, "y": 2}}`
	data := []byte(text)
	first, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		t.Fatal(err)
	}
	canonical := strings.Clone(first.Canonical())
	if diff := cmp.Diff(text, string(data)); diff != "" {
		t.Errorf("Parse changed its input (-want +got):\n%s", diff)
	}
	for i := range data {
		data[i] = '#'
	}
	for range 10 {
		parse(t, `["`+strings.Repeat("#", 3000)+`"]`)
		_, _ = wire.Parse([]byte(`["`+strings.Repeat("#", 3000)), wire.DocumentLimits)
	}
	if diff := cmp.Diff(canonical, first.Canonical()); diff != "" {
		t.Errorf("a value changed after it was made (-want +got):\n%s", diff)
	}
}

// One large document must not stay in memory for ever, be it accepted or refused.
func TestParseScratch(t *testing.T) {
	large := `"` + strings.Repeat("x", 3<<19) + `"`
	for range 4 {
		parse(t, large)
		if _, err := wire.Parse([]byte(large+"x"), wire.DocumentLimits); err == nil {
			t.Fatal("trailing data was accepted")
		}
	}
	for range 20 {
		if got, most := wire.ScratchSize(), 1<<20; got > most {
			t.Fatalf("a buffer of %d bytes is kept, want at most %d", got, most)
		}
	}
}
