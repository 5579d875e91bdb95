package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/wire"
)

// ruleA and ruleB stand for the rules of the callers.
var (
	ruleA = &wire.Rule{Section: "1", Name: "rule-a", Class: wire.ClassSchema, Text: "a fits"}
	ruleB = &wire.Rule{Section: "2", Name: "rule-b", Class: wire.ClassBinding, Text: "b fits"}
)

const everyKind = `{"null":null,"bool":true,"int":3,"float":1.5,"text":"x","array":[1],"object":{"a":1},"list":["x","y"],"objects":[{"n":1},{"n":2}]}`

// Each method takes its kind, refuses every other and a missing member, and reads
// what it refuses as a zero value.
func TestReaderMethods(t *testing.T) {
	hash, when := wire.HashOf("x"), "2026-09-14T09:00:00Z"
	doc := parse(t, everyKind).With("hash", wire.Text(hash.String())).With("time", wire.Text(when)).With("long", wire.Text(strings.Repeat("x", 257)))
	// missing, null and otherwise stand for no member, a null, and any other kind.
	tests := []struct {
		method string
		read   func(r wire.Reader, name string) any
		want   map[string]any // by member: what is read; every other is refused
		zero   any
		absent bool // may be left out
	}{
		{"Text", func(r wire.Reader, n string) any { return r.Text(n) }, map[string]any{"text": "x", "hash": hash.String(), "time": when, "long": strings.Repeat("x", 257)}, "", false},
		{"OptText", func(r wire.Reader, n string) any { return r.OptText(n) }, map[string]any{"text": "x", "hash": hash.String(), "time": when, "long": strings.Repeat("x", 257)}, "", true},
		{"OneOf", func(r wire.Reader, n string) any { return r.OneOf(n, "w", "x", "y") }, map[string]any{"text": "x"}, "", false},
		{"Bool", func(r wire.Reader, n string) any { return r.Bool(n) }, map[string]any{"bool": true}, false, false},
		{"OptBool", func(r wire.Reader, n string) any { return r.OptBool(n) }, map[string]any{"bool": true}, false, true},
		{"Int", func(r wire.Reader, n string) any { return r.Int(n, 3, 3) }, map[string]any{"int": int64(3)}, int64(0), false},
		{"Int, below", func(r wire.Reader, n string) any { return r.Int(n, 4, 9) }, nil, int64(0), false},
		{"Int, above", func(r wire.Reader, n string) any { return r.Int(n, -9, 2) }, nil, int64(0), false},
		{"OptInt", func(r wire.Reader, n string) any { return r.OptInt(n, 1, 9, 7) }, map[string]any{"int": int64(3), "missing": int64(7)}, int64(0), true},
		{"Time", func(r wire.Reader, n string) any { return r.Time(n) }, map[string]any{"time": testTime}, time.Time{}, false},
		{"Hash", func(r wire.Reader, n string) any { return r.Hash(n) }, map[string]any{"hash": hash}, wire.Hash{}, false},
		{"ReadID", func(r wire.Reader, n string) any { return wire.ReadID[wire.AgentID](r, n) }, map[string]any{"text": wire.AgentID("x"), "hash": wire.AgentID(hash.String()), "time": wire.AgentID(when)}, wire.AgentID(""), false},
		{"OptID", func(r wire.Reader, n string) any { return wire.OptID[wire.OfferID](r, n) }, map[string]any{"text": wire.OfferID("x"), "hash": wire.OfferID(hash.String()), "time": wire.OfferID(when)}, wire.OfferID(""), true},
		{"Array", func(r wire.Reader, n string) any { return r.Array(n).Canonical() }, map[string]any{"array": "[1]", "list": `["x","y"]`, "objects": `[{"n":1},{"n":2}]`}, "", false},
		{"Strings", func(r wire.Reader, n string) any { return strings.Join(r.Strings(n), "+") }, map[string]any{"list": "x+y"}, "", false},
		{"Object", func(r wire.Reader, n string) any { return r.Object(n).Whole().Canonical() }, map[string]any{"object": `{"a":1}`}, "", false},
		{"OptObject", func(r wire.Reader, n string) any {
			o, ok := r.OptObject(n)
			if ok != (n != "missing") {
				return ok
			}
			return o.Whole().Canonical()
		}, map[string]any{"object": `{"a":1}`}, "", true},
		{"Objects", func(r wire.Reader, n string) any {
			sum := int64(0)
			for i, o := range r.Objects(n) {
				sum += o.Int("n", int64(i)+1, int64(i)+1)
			}
			return sum
		}, map[string]any{"objects": int64(3)}, int64(0), false},
	}
	for _, tt := range tests {
		members := []string{"missing"}
		for name := range doc.Members() {
			members = append(members, name)
		}
		for _, name := range members {
			r := wire.Read(doc, "/at", ruleA)
			got, err := tt.read(r, name), r.Err()
			want, fits := tt.want[name]
			if name == "missing" && tt.absent {
				fits = true
				if want == nil {
					want = tt.zero
				}
			}
			if !fits {
				want = tt.zero
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", tt.method, name, diff)
			}
			at := "/at/" + name
			if name == "array" && (tt.method == "Strings" || tt.method == "Objects") || name == "list" && tt.method == "Objects" ||
				name == "objects" && tt.method == "Strings" {
				at += "/0" // the element is what does not fit
			}
			if fits && err != nil {
				t.Errorf("%s of %s: got %v, want no error", tt.method, name, err)
			} else if !fits {
				wantRefusal(t, tt.method+" of "+name, err, ruleA, at)
			}
		}
	}
}

// Value and Has take any member, null included.
func TestReaderValue(t *testing.T) {
	doc := parse(t, everyKind)
	r := wire.Read(doc, "", ruleA)
	for name, want := range doc.Members() {
		if got := r.Value(name); !got.Equal(want) || !r.Has(name) {
			t.Errorf("Value(%q) = %v, want %v", name, got, want)
		}
	}
	if r.Has("Null") || r.Has("") || r.Err() != nil {
		t.Errorf("Has: got an absent member or error %v", r.Err())
	}
	if got := r.Value("absent"); got.Kind() != wire.Absent {
		t.Errorf("Value of nothing = %v", got)
	}
	wantRefusal(t, "Value of nothing", r.Err(), ruleA, "/absent")
	if !r.Whole().Equal(doc) || r.Pointer() != "" {
		t.Errorf("Whole() = %v, Pointer() = %q", r.Whole(), r.Pointer())
	}
}

// The first misfit is the one that counts, in the order of the reads, through all
// readers of one document.
func TestReaderFirstFault(t *testing.T) {
	doc := parse(t, `{"a":1,"b":{"c":2},"d":[{"e":3}]}`)
	r := wire.Read(doc, "", ruleA)
	if r.Err() != nil {
		t.Fatalf("a fresh Reader has an error: %v", r.Err())
	}
	b := r.Object("b")
	b.Text("c")
	wantRefusal(t, "nested", r.Err(), ruleA, "/b/c")
	r.Text("a")
	r.FailRule(ruleB, "x", nil)
	for _, e := range r.Objects("d") {
		e.Text("e")
	}
	wantRefusal(t, "later ones", r.Err(), ruleA, "/b/c")
	if r.Err() != b.Err() {
		t.Errorf("two readers of one document say %v and %v", r.Err(), b.Err())
	}
	// A later read that fits still reads.
	if got := r.Int("a", 0, 9); got != 1 {
		t.Errorf("Int after a fault = %d, want 1", got)
	}
	// Another Read of the same value starts anew.
	if err := wire.Read(doc, "", ruleA).Err(); err != nil {
		t.Errorf("another Reader: got %v, want no error", err)
	}
}

func TestReaderNotAnObject(t *testing.T) {
	for _, text := range []string{"1", "null", `"x"`, "[]", "true"} {
		r := wire.Read(parse(t, text), "/p", ruleA)
		wantRefusal(t, text, r.Err(), ruleA, "/p")
		r.Text("a")
		r.Closed()
		r.Open("a")
		wantRefusal(t, text+", read on", r.Err(), ruleA, "/p")
	}
	wantRefusal(t, "absent", wire.Read(wire.Value{}, "", ruleA).Err(), ruleA, "")
}

func TestReaderFail(t *testing.T) {
	cause := errors.New("because")
	doc := parse(t, `{"o":{"a":1}}`)
	tests := []struct {
		name string
		fail func(r wire.Reader)
		rule *wire.Rule
		at   string
	}{
		{"member", func(r wire.Reader) { r.Fail("a", cause) }, ruleA, "/o/a"},
		{"object itself", func(r wire.Reader) { r.Fail("", cause) }, ruleA, "/o"},
		{"escaped", func(r wire.Reader) { r.Fail("a/~b", cause) }, ruleA, "/o/a~1~0b"},
		{"another rule", func(r wire.Reader) { r.FailRule(ruleB, "a", cause) }, ruleB, "/o/a"},
		{"for another rule", func(r wire.Reader) { r.For(ruleB).Fail("a", cause) }, ruleB, "/o/a"},
		{"for another rule, below", func(r wire.Reader) { r.For(ruleB).Object("x") }, ruleB, "/o/x"},
		{"the original is not changed", func(r wire.Reader) { _ = r.For(ruleB); r.Fail("a", cause) }, ruleA, "/o/a"},
	}
	for _, tt := range tests {
		r := wire.Read(doc, "", ruleA)
		tt.fail(r.Object("o"))
		wantRefusal(t, tt.name, r.Err(), tt.rule, tt.at)
		if tt.at != "/o/x" && !errors.Is(r.Err(), cause) {
			t.Errorf("%s: %v does not wrap its cause", tt.name, r.Err())
		}
	}
}

// Pointers are those of RFC 6901.
func TestReaderPointers(t *testing.T) {
	doc := parse(t, `{"a/b":{"~":[{"":{"x y":"z"}}]},"":{"é\"":1}}`)
	r := wire.Read(doc, "", ruleA)
	var at string
	for _, e := range r.Object("a/b").Objects("~") {
		o := e.Object("")
		at = o.Pointer()
		o.Int("x y", 0, 1)
	}
	if want := "/a~1b/~0/0/"; at != want {
		t.Errorf("Pointer() = %q, want %q", at, want)
	}
	wantRefusal(t, "names to escape", r.Err(), ruleA, "/a~1b/~0/0//x y")
	r = wire.Read(doc, "/root", ruleA)
	r.Object("").Text(`é"`)
	wantRefusal(t, "empty name", r.Err(), ruleA, `/root//é"`)

	for want, tokens := range map[string][]string{"": nil, "/": {""}, "/a/0": {"a", "0"}, "/~01": {"~1"}, "/~1~0": {"/~"}, "//": {"", ""}, "/~00": {"~0"}} {
		if got := wire.Pointer(tokens...); got != want {
			t.Errorf("Pointer(%q) = %q, want %q", tokens, got, want)
		}
	}
}

func TestReaderClosed(t *testing.T) {
	tests := []struct{ text, at string }{ // "-" if it fits
		{`{}`, "-"}, {`{"a":1}`, "-"}, {`{"b":null,"a":1}`, "-"},
		{`{"c":1}`, "/c"}, {`{"a":1,"A":1}`, "/A"}, {`{"a~/":1}`, "/a~0~1"}, {`{"":1}`, "/"}, {`{"b ":1}`, "/b "},
	}
	for _, tt := range tests {
		r := wire.Read(parse(t, tt.text), "/at", ruleA)
		r.Closed("a", "b")
		if tt.at == "-" {
			if r.Err() != nil {
				t.Errorf("%s: got %v, want no error", tt.text, r.Err())
			}
			continue
		}
		wantRefusal(t, tt.text, r.Err(), ruleA, "/at"+tt.at)
	}
}

// A name that differs from a known one only in case is refused, whatever Unicode
// counts as case: encoding/json would take it for the real one.
func TestReaderOpen(t *testing.T) {
	known := []string{"signature", "session_id", "concordia", "body", "ttl", "key"}
	for name, refused := range map[string]bool{
		"signature": false, "x": false, "signatures": false, "": false, "body ": false, "bódy": false,
		"Signature": true, "SIGNATURE": true, "sIgnature": true, "Concordia": true, "TTL": true,
		"ſession_id":     true, // U+017F folds to s
		"seſsion_id":     true,
		"\u212aey":       true, // U+212A, the Kelvin sign, folds to k
		"ＢＯＤＹ":           false,
		"concord\u0131a": false, // dotless i folds to nothing
		"CONCORD\u0130A": false,
	} {
		r := wire.Read(encode(t, wire.M{name: 1, "other": 2}), "/at", ruleA)
		r.Open(known...)
		if !refused && r.Err() != nil {
			t.Errorf("%q: got %v, want no error", name, r.Err())
		} else if refused {
			wantRefusal(t, name, r.Err(), ruleA, "/at/"+name)
		}
	}
}

func TestReaderEach(t *testing.T) {
	r := wire.Read(parse(t, `{"b":{"n":2},"a/":{"n":1}}`), "/at", ruleA)
	got := map[string]int64{}
	for name, e := range r.Each() {
		got[name] = e.Int("n", 1, 2)
		if want := "/at" + wire.Pointer(name); e.Pointer() != want {
			t.Errorf("Pointer() = %q, want %q", e.Pointer(), want)
		}
	}
	if diff := cmp.Diff(map[string]int64{"a/": 1, "b": 2}, got); diff != "" || r.Err() != nil {
		t.Errorf("Each: error %v (-want +got):\n%s", r.Err(), diff)
	}
	r = wire.Read(parse(t, `{"a":{"n":1},"b/":7,"c":{"n":3}}`), "", ruleA)
	var seen []string
	for name := range r.Each() {
		seen = append(seen, name)
	}
	if diff := cmp.Diff([]string{"a"}, seen); diff != "" {
		t.Errorf("Each goes past a misfit (-want +got):\n%s", diff)
	}
	wantRefusal(t, "a member that is no object", r.Err(), ruleA, "/b~1")
}

func TestReaderIterationStops(t *testing.T) {
	r := wire.Read(parse(t, `{"list":[{"n":1},{"n":2},3]}`), "", ruleA)
	for i := range r.Objects("list") {
		if i == 1 {
			break
		}
	}
	for range wire.Read(parse(t, `{"a":{},"b":1}`), "", ruleA).Each() {
		break
	}
	if r.Err() != nil {
		t.Errorf("what was not read is judged: %v", r.Err())
	}
	for range r.Objects("list") {
	}
	wantRefusal(t, "an element that is no object", r.Err(), ruleA, "/list/2")
	r = wire.Read(parse(t, `{"a/b":["x",{}]}`), "/at", ruleA)
	if got := r.Strings("a/b"); got != nil {
		t.Errorf("Strings = %q, want nil", got)
	}
	wantRefusal(t, "an element that is no string", r.Err(), ruleA, "/at/a~1b/1")
}
