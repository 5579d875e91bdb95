package wire_test

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/concordia-node/concordia/wire"
)

// The samples of RFC 8785, Sections 3.2.2 and 3.2.3.
func TestCanonicalSamples(t *testing.T) {
	tests := []struct{ section, text, want string }{
		{
			"3.2.2",
			`{
				"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
				"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
				"literals": [null, true, false]
			}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"3.2.3",
			`{
				"\u20ac": "Euro Sign",
				"\r": "Carriage Return",
				"\ufb33": "Hebrew Letter Dalet With Dagesh",
				"1": "One",
				"\ud83d\ude00": "Emoji: Grinning Face",
				"\u0080": "Control",
				"\u00f6": "Latin Small Letter O With Diaeresis"
			}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, parse(t, tt.text).Canonical()); diff != "" {
			t.Errorf("RFC 8785, Section %s (-want +got):\n%s", tt.section, diff)
		}
	}
}

// The number samples of RFC 8785, Appendix B. Six of them are outside the domain
// of SPEC §9.2.1, by design: a negative zero, and integers from 2^53 to 1e21,
// which the reference implementations do not write alike.
func TestCanonicalNumberSamples(t *testing.T) {
	tests := []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	}
	refused := 0
	for _, tt := range tests {
		got, inDomain := es6(t, math.Float64frombits(tt.bits))
		if got != tt.want {
			t.Errorf("%016x is written %s, want %s", tt.bits, got, tt.want)
		}
		if !inDomain {
			refused++
		}
	}
	if want := 6; refused != want {
		t.Errorf("Parse refuses %d of the samples, want %d", refused, want)
	}
}

// The pairs published with RFC 8785. None of them needs a number that SPEC §9.2.1
// excludes, so all must come out as published.
func TestCanonicalPairs(t *testing.T) {
	dir := outside(t, "data", "jcs", "testdata")
	names, err := filepath.Glob(filepath.Join(dir, "input", "*.json"))
	if err != nil || len(names) != 6 {
		t.Fatalf("got %d inputs, want 6 (%v)", len(names), err)
	}
	for _, path := range names {
		name := filepath.Base(path)
		want := readFile(t, dir, "output", name)
		v := parse(t, readFile(t, path))
		if diff := cmp.Diff(want, v.Canonical()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		octets, err := hex.DecodeString(strings.Join(strings.Fields(readFile(t, dir, "outhex", strings.TrimSuffix(name, ".json")+".txt")), ""))
		if err != nil || string(octets) != v.Canonical() {
			t.Errorf("%s: the octets differ from the published ones (%v)", name, err)
		}
	}
}

// canonicalSeeds are where FuzzCanonical starts from: each has something that
// canonicalisers have been wrong about.
var canonicalSeeds = []string{
	`null`, ` true `, `"x"`, `-1.5e-7`, `0`, `[]`, `{}`, `[[],{},[{}]]`,
	`{"b":1,"a":2}`, `{"a":{"d":[1,2,{"z":0,"y":0}],"c":"x"},"":0}`,
	`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]`,
	`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"`,
	`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
	"{\"\uffff\":1,\"\U00010000\":2,\"\ue000\":3,\"\ud7ff\":4}",
	`{"\\":1,"\"":2,"/":3,"\u0000":4,"\u007f":5,"\u001f":6}`,
	`{"aa":1,"a":2,"aaa":3,"ab":4,"a\u0000":5}`,
	`[9007199254740991,-9007199254740991,1e21,5e-324,1.7976931348623157e308]`,
	`[9007199254740992]`, `[-0]`, `[1e400]`, `[1e-400]`, `[1e20]`,
	`[1 2]`, `[tr ue]`, `[01]`, `[+1]`, `[.5]`, `[5.]`, `[0x10]`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	`"\ud800"`, "\"\xff\"", `"\ud83d\ude00"`, "\ufeff1", `1 1`, ``, `{"a":1,"b`, `["\`,
	"\"\u2028\u2029\u007f<>&\"", " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n",
}

// FuzzCanonical holds Parse against gowebpki/jcs, which has no code in common
// with it: what Parse accepts, both write alike; what Parse finds malformed, the
// other refuses too. And it holds the value tree against its own text.
func FuzzCanonical(f *testing.F) {
	if len(canonicalSeeds) < 20 {
		f.Fatalf("only %d seeds", len(canonicalSeeds))
	}
	for _, s := range canonicalSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.Parse(data, wire.DocumentLimits)
		theirs, theirErr := jcs.Transform(data)
		if err != nil {
			if refusal(err) == "" || !errors.Is(err, wire.RuleNumber) && !errors.Is(err, wire.RuleDepth) && theirErr == nil {
				t.Fatalf("Parse: %v; jcs.Transform = %s", err, theirs)
			}
			return
		}
		if theirErr != nil || string(theirs) != v.Canonical() {
			t.Fatalf("Parse = %s; jcs.Transform = %s, %v", v, theirs, theirErr)
		}
		checkTree(t, v)
	})
}

// checkTree checks that a value and its parts are what their texts say.
func checkTree(t *testing.T, v wire.Value) {
	t.Helper()
	again, err := wire.Parse([]byte(v.Canonical()), wire.DocumentLimits)
	if err != nil || again.Canonical() != v.Canonical() || !again.Equal(v) || again.Hash() != v.Hash() {
		t.Fatalf("Parse is not idempotent: %s, %v", again, err)
	}
	if joined := join(t, v); joined != v.Canonical() {
		t.Fatalf("the tree of %s joins to %s", v, joined)
	}
	if b, err := v.MarshalJSON(); err != nil || string(b) != v.Canonical() || v.String() != v.Canonical() {
		t.Fatalf("MarshalJSON of %s = %s, %v", v, b, err)
	}
}

// join writes v from its parts alone.
func join(t *testing.T, v wire.Value) string {
	t.Helper()
	var parts []string
	switch v.Kind() {
	case wire.Null:
		return "null"
	case wire.Bool:
		return strconv.FormatBool(v.Bool())
	case wire.String:
		return wire.Text(v.Text()).Canonical()
	case wire.Number:
		f, ok := v.Float()
		if n, whole := v.Int(); !ok || whole && float64(n) != f {
			t.Fatalf("%s: Float() = %v, %v; Int() = %v, %v", v, f, ok, n, whole)
		}
		return encode(t, f).Canonical()
	case wire.Array:
		for i, e := range v.Elems() {
			if i != len(parts) {
				t.Fatalf("%s: element %d is at %d", v, len(parts), i)
			}
			if got, ok := v.At(strconv.Itoa(i)); !ok || got.Canonical() != e.Canonical() {
				t.Fatalf("%s: At(%d) = %v, %v", v, i, got, ok)
			}
			parts = append(parts, join(t, e))
		}
		if len(parts) != v.Len() {
			t.Fatalf("%s: Len() = %d, want %d", v, v.Len(), len(parts))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case wire.Object:
		var names []string
		for name, m := range v.Members() {
			if got, ok := v.Get(name); !ok || got.Canonical() != m.Canonical() {
				t.Fatalf("%s: Get(%q) = %v, %v", v, name, got, ok)
			}
			names = append(names, name)
			parts = append(parts, wire.Text(name).Canonical()+":"+join(t, m))
		}
		if len(parts) != v.Len() || !slices.IsSortedFunc(names, byUTF16) {
			t.Fatalf("%s: %d members %q, want %d, sorted by UTF-16", v, len(parts), names, v.Len())
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	t.Fatalf("%q: kind %v", v.Canonical(), v.Kind())
	return ""
}

// byUTF16 orders names as RFC 8785, Section 3.2.3, says it.
func byUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// The seeds' trees are checked even where nothing fuzzes, and so is every outside
// document at hand.
func TestCanonicalTrees(t *testing.T) {
	read := 0
	for _, s := range canonicalSeeds {
		if v, err := wire.Parse([]byte(s), wire.DocumentLimits); err == nil {
			checkTree(t, v)
			read++
		}
	}
	if read < 20 {
		t.Errorf("%d seeds are readable, want at least 20", read)
	}
	dir := outside(t, "interop")
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) < 100 {
		t.Fatalf("got %d documents (%v)", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := wire.Parse(data, wire.DocumentLimits)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		checkTree(t, v)
		if theirs, err := jcs.Transform(data); err != nil || string(theirs) != v.Canonical() {
			t.Errorf("%s: jcs.Transform differs (%v)", filepath.Base(path), err)
		}
	}
}
