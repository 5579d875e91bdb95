package wire_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/wire"
)

func TestKind(t *testing.T) {
	tests := []struct {
		text string
		kind wire.Kind
		name string
	}{
		{"null", wire.Null, "null"},
		{"true", wire.Bool, "boolean"},
		{"false", wire.Bool, "boolean"},
		{"0", wire.Number, "number"},
		{"-1.5", wire.Number, "number"},
		{`""`, wire.String, "string"},
		{"[]", wire.Array, "array"},
		{"{}", wire.Object, "object"},
	}
	for _, tt := range tests {
		if got := parse(t, tt.text).Kind(); got != tt.kind || got.String() != tt.name {
			t.Errorf("Parse(%s).Kind() = %v, want %v", tt.text, got, tt.name)
		}
	}
	var absent wire.Value
	if absent.Kind() != wire.Absent || absent.Kind().String() != "absent" {
		t.Errorf("the zero Value is %v, want absent", absent.Kind())
	}
}

// Each accessor answers for its kind and gives the zero value for every other.
func TestValueAccessors(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:    "x",
		`"\"\\"`: `"\`,
		`""`:     "",
		`1`:      "",
		`true`:   "",
		`["x"]`:  "",
		`null`:   "",
	} {
		if got := parse(t, text).Text(); got != want {
			t.Errorf("Parse(%s).Text() = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]bool{`true`: true, `false`: false, `"true"`: false, `1`: false, `null`: false, `[true]`: false} {
		if got := parse(t, text).Bool(); got != want {
			t.Errorf("Parse(%s).Bool() = %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]int{`[]`: 0, `[1,[2,3]]`: 2, `{}`: 0, `{"a":1,"b":2}`: 2, `"abc"`: 0, `12`: 0} {
		if got := parse(t, text).Len(); got != want {
			t.Errorf("Parse(%s).Len() = %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{`"a"`, "1", "null", "[1]"} {
		for name := range parse(t, text).Members() {
			t.Errorf("Parse(%s) has a member %q", text, name)
		}
		if v, ok := parse(t, text).Get(""); ok {
			t.Errorf("Parse(%s).Get: got %v", text, v)
		}
	}
	for _, text := range []string{`"a"`, "1", "null", `{"":1}`} {
		for i := range parse(t, text).Elems() {
			t.Errorf("Parse(%s) has an element %d", text, i)
		}
	}
	var absent wire.Value
	if absent.Text() != "" || absent.Bool() || absent.Len() != 0 || absent.Depth() != 0 || absent.Canonical() != "" {
		t.Error("the zero Value has content")
	}
	if b, err := absent.MarshalJSON(); err != nil || string(b) != "null" {
		t.Errorf("the zero Value marshals as %s, %v, want null", b, err)
	}
}

// Names are compared exactly, in objects of every size.
func TestGet(t *testing.T) {
	names := []string{
		"a", "A", "ab", "", "~", "/", "a\nb", `a"b`, `a\b`, `\n`, "\n", "\x1f", "\u007f", "é", "e\u0301", "ſ", "s", "K", "k",
		"\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀", "\U0010ffff", "\ufffd", "type", "typ", "types", `typ\u0065`,
	}
	for _, n := range []int{1, 5, 16, 17, len(names)} {
		object := wire.M{}
		for i, name := range names[:n] {
			object[name] = i
		}
		v := encode(t, object)
		if v.Len() != n {
			t.Fatalf("%d members, want %d", v.Len(), n)
		}
		var order []string
		for name := range v.Members() {
			order = append(order, name)
		}
		if !slices.IsSortedFunc(order, byUTF16) {
			t.Errorf("%d members are not sorted by UTF-16: %q", n, order)
		}
		for i, name := range names {
			got, ok := v.Get(name)
			if ok != (i < n) {
				t.Errorf("%d members: Get(%q) = %v, %v", n, name, got, ok)
			}
			if number, _ := got.Int(); ok && number != int64(i) {
				t.Errorf("%d members: Get(%q) = %v, want %d", n, name, got, i)
			}
		}
		for _, name := range []string{"B", "aB", "a ", " a", "a\x00", "\xff", "\xef\xbf", "\xed\xa0\x80", "zzz", `a\nb`, `a\\b`, `"a"`, "Type"} {
			if got, ok := v.Get(name); ok {
				t.Errorf("%d members: Get(%q) = %v, want none", n, name, got)
			}
		}
	}
}

// UTF-16 and UTF-8 sort differently beyond the surrogates: U+1F600 is d83d de00,
// before U+FFFF, though f0 is after ef. A binary search in the other order misses.
func TestGetOrder(t *testing.T) {
	object := wire.M{}
	for i := range 20 {
		object["\U0001f600"+strconv.Itoa(i)] = i
		object["\uffff"+strconv.Itoa(i)] = 100 + i
	}
	v := encode(t, object)
	if !strings.HasPrefix(v.Canonical(), "{\"\U0001f6000\":0,") {
		t.Errorf("got %s, want U+1F600 before U+FFFF", brief(v.Canonical()))
	}
	for name, want := range object {
		got, ok := v.Get(name)
		if n, _ := got.Int(); !ok || n != int64(want.(int)) {
			t.Errorf("Get(%q) = %v, %v, want %v", name, got, ok, want)
		}
	}
}

func TestAt(t *testing.T) {
	v := parse(t, `{"a":[{"b":1},[2,3]],"":{"":4},"0":5,"x~/":6}`)
	tests := []struct {
		path []string
		want string // "" if there is none
	}{
		{nil, v.Canonical()},
		{[]string{"a"}, `[{"b":1},[2,3]]`},
		{[]string{"a", "0", "b"}, "1"},
		{[]string{"a", "1", "1"}, "3"},
		{[]string{"", ""}, "4"},
		{[]string{"0"}, "5"},
		{[]string{"x~/"}, "6"},
		{[]string{"a", "2"}, ""},
		{[]string{"a", "-1"}, ""},
		{[]string{"a", "+0"}, ""},
		{[]string{"a", "00"}, ""},
		{[]string{"a", "01"}, ""},
		{[]string{"a", ""}, ""},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "0", "b", "c"}, ""},
		{[]string{"a", "99999999999999999999"}, ""},
		{[]string{"A"}, ""},
	}
	for _, tt := range tests {
		got, ok := v.At(tt.path...)
		if ok != (tt.want != "") || got.Canonical() != tt.want {
			t.Errorf("At(%q) = %q, %v, want %q", tt.path, got, ok, tt.want)
		}
	}
}

// Values are equal as JSON values (SPEC §9.2.1), and their hashes are too.
func TestEqual(t *testing.T) {
	classes := [][]string{
		{"1", "1.0", "10e-1", "1E+0"},
		{"true"}, {"false"}, {"null"}, {`"1"`}, {`"true"`}, {"[1]", "[1.0]", " [ 1 ] "}, {`{"1":1}`}, {"[]"}, {"{}"}, {`""`},
		{`{"a":1,"b":[2,3]}`, `{"b":[2,3],"a":1}`, `{"\u0061":1,"b":[2,3.0]}`},
		{`{"a":1,"b":[3,2]}`},
		{`"é"`, `"\u00e9"`, `"\u00E9"`},
		{`"e\u0301"`, "\"e\u0301\""},
		{`"/"`, `"\/"`}, {`"A"`}, {`"a"`},
	}
	for i, class := range classes {
		for j, other := range classes {
			for _, a := range class {
				for _, b := range other {
					v, w := parse(t, a), parse(t, b)
					if got := v.Equal(w); got != (i == j) || (v.Hash() == w.Hash()) != (i == j) {
						t.Errorf("Equal(%s, %s) = %v, hashes %v and %v", a, b, got, v.Hash(), w.Hash())
					}
				}
			}
		}
	}
	if v := parse(t, "null"); v.Equal(wire.Value{}) {
		t.Error("null equals an absent value")
	}
}

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{
		"1": 0, `"[["`: 0, "null": 0, "[]": 1, "{}": 1, "[1]": 1, "[[]]": 2, `{"a":{}}`: 2,
		`[1,[2,[3]],{"a":[]}]`: 3, `{"a":1,"b":[{"c":[{}]}]}`: 5,
	} {
		if got := parse(t, text).Depth(); got != want {
			t.Errorf("Parse(%s).Depth() = %v, want %v", text, got, want)
		}
	}
}

// Ranging over a value may end early.
func TestRangeStops(t *testing.T) {
	var got []string
	for name, v := range parse(t, `{"c":3,"a":1,"b":2}`).Members() {
		got = append(got, name+v.Canonical())
		if name == "b" {
			break
		}
	}
	for i, v := range parse(t, "[10,11,12]").Elems() {
		got = append(got, strconv.Itoa(i)+":"+v.Canonical())
		if i == 1 {
			break
		}
	}
	if diff := cmp.Diff([]string{"a1", "b2", "0:10", "1:11"}, got); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
}

// A value in a document of this program's own is read as strictly as any other.
func TestUnmarshalJSON(t *testing.T) {
	var doc struct {
		Body wire.Value `json:"body"`
	}
	if err := json.Unmarshal([]byte(`{"body": {"b": 1, "a": [true]}}`), &doc); err != nil || doc.Body.Canonical() != `{"a":[true],"b":1}` {
		t.Errorf("body %v, %v", doc.Body, err)
	}
	if err := json.Unmarshal([]byte(`{"body": {"a": 1, "a": 2}}`), &doc); !errors.Is(err, wire.RuleDuplicate) {
		t.Errorf("a name twice: %v", err)
	}
}
