package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

func TestWithout(t *testing.T) {
	tests := []struct{ name, object, member, want string }{
		{"first", `{"a":1,"b":2,"c":3}`, "a", `{"b":2,"c":3}`},
		{"middle", `{"a":1,"b":[2,{}],"c":3}`, "b", `{"a":1,"c":3}`},
		{"last", `{"a":1,"b":2,"c":"x"}`, "c", `{"a":1,"b":2}`},
		{"only", `{"a":{"a":1}}`, "a", `{}`},
		{"absent", `{"a":1}`, "b", `{"a":1}`},
		{"other case", `{"a":1}`, "A", `{"a":1}`},
		{"deeper", `{"a":{"b":1},"c":2}`, "b", `{"a":{"b":1},"c":2}`},
		{"empty name", `{"":1,"a":2}`, "", `{"a":2}`},
		{"escaped name", `{"a\"\\\n":"}\",","b":2}`, "a\"\\\n", `{"b":2}`},
		{"escaped neighbour", `{"\n\"":1,"a":2,"b":3}`, "a", `{"\n\"":1,"b":3}`},
		{"no member", `{}`, "a", `{}`},
		{"array", `[1,2]`, "", `[1,2]`},
		{"string", `"a"`, "a", `"a"`},
	}
	for _, tt := range tests {
		v := parse(t, tt.object)
		before := v.Canonical()
		got := v.Without(tt.member)
		if got.Canonical() != tt.want {
			t.Errorf("%s: %s.Without(%q) = %s, want %s", tt.name, v, tt.member, got, tt.want)
		}
		checkTree(t, got)
		if text := string(v.AppendWithout([]byte("x"), tt.member)); text != "x"+tt.want {
			t.Errorf("%s: %s.AppendWithout(x, %q) = %s, want x%s", tt.name, v, tt.member, text, tt.want)
		}
		if v.Canonical() != before {
			t.Errorf("%s: Without changed its receiver to %s", tt.name, v)
		}
	}
}

func TestWith(t *testing.T) {
	tests := []struct{ name, object, member, value, want string }{
		{"into empty", `{}`, "a", "1", `{"a":1}`},
		{"first", `{"b":2}`, "a", "1", `{"a":1,"b":2}`},
		{"middle", `{"a":1,"c":3}`, "b", "[2]", `{"a":1,"b":[2],"c":3}`},
		{"last", `{"a":1,"b":2}`, "c", `{"d":4}`, `{"a":1,"b":2,"c":{"d":4}}`},
		{"replace first", `{"a":1,"b":2}`, "a", `"x"`, `{"a":"x","b":2}`},
		{"replace last", `{"a":1,"b":[]}`, "b", "null", `{"a":1,"b":null}`},
		{"empty name", `{"a":1}`, "", "0", `{"":0,"a":1}`},
		{"escaped name", `{"a":1}`, "\"\n", "0", `{"\"\n":0,"a":1}`},
		{"UTF-16 order", "{\"\uffff\":1}", "😀", "0", "{\"😀\":0,\"\uffff\":1}"},
		{"UTF-16 order", "{\"😀\":1}", "\uffff", "0", "{\"😀\":1,\"\uffff\":0}"},
		{"prefix", `{"ab":1}`, "a", "0", `{"a":0,"ab":1}`},
		{"capitals first", `{"a":1}`, "B", "0", `{"B":0,"a":1}`},
		{"invalid UTF-8 is U+FFFD", "{\"\ufffd\":1}", "\xff", "0", "{\"\ufffd\":0}"},
	}
	for _, tt := range tests {
		v := parse(t, tt.object)
		before := v.Canonical()
		got := v.With(tt.member, parse(t, tt.value))
		if want := strings.ReplaceAll(tt.want, "\n", `\n`); got.Canonical() != want {
			t.Errorf("%s: %s.With(%q, %s) = %s, want %s", tt.name, v, tt.member, tt.value, got, want)
		}
		checkTree(t, got)
		if v.Canonical() != before {
			t.Errorf("%s: With changed its receiver to %s", tt.name, v)
		}
	}
	absent := parse(t, `{"a":1}`).With("a", wire.Value{}).With("b", wire.Value{})
	if got, want := absent.Canonical(), `{"a":null,"b":null}`; got != want {
		t.Errorf("With an absent value = %s, want %s", got, want)
	}
	checkTree(t, absent)
	if got, want := (wire.Value{}).With("a", parse(t, "1")).Canonical(), `{"a":1}`; got != want {
		t.Errorf("absent With = %s, want %s", got, want)
	}
}

// Null members are left out in one pass: whoever sends many of them does not make a
// copy of all for each.
func TestWithoutNulls(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":null,"b":1,"c":null}`:   `{"b":1}`,
		`{"a":null}`:                  `{}`,
		`{"a":{"b":null},"c":[null]}`: `{"a":{"b":null},"c":[null]}`,
		`{}`:                          `{}`,
		`[null,1]`:                    `[null,1]`,
		`null`:                        `null`,
	} {
		v := parse(t, text)
		got := v.WithoutNulls()
		if got.Canonical() != want || v.Canonical() != text {
			t.Errorf("%s.WithoutNulls() = %s, want %s", text, got, want)
		}
		checkTree(t, got)
	}
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, `"n%04d":null,`, i)
	}
	v := parse(t, "{"+b.String()+`"z":1}`)
	allocs := testing.AllocsPerRun(1, func() {
		if r := wire.Read(v, "", wire.RuleEnvelope).WithoutNulls(); r.Has("n0000") || r.Int("z", 1, 1) != 1 {
			t.Error("it has other members")
		}
	})
	if allocs > 50 {
		t.Errorf("%v allocations for 5000 null members", allocs)
	}
}

func TestWithElem(t *testing.T) {
	v := parse(t, `[1,{"a":2},"x"]`)
	for i, want := range []string{`[[0],{"a":2},"x"]`, `[1,[0],"x"]`, `[1,{"a":2},[0]]`} {
		got := v.WithElem(i, parse(t, "[0]"))
		if got.Canonical() != want {
			t.Errorf("%s.WithElem(%d, [0]) = %s, want %s", v, i, got, want)
		}
		checkTree(t, got)
	}
	if got, want := v.WithElem(0, wire.Value{}).Canonical(), `[null,{"a":2},"x"]`; got != want {
		t.Errorf("WithElem of an absent value = %s, want %s", got, want)
	}
	if got, want := v.Canonical(), `[1,{"a":2},"x"]`; got != want {
		t.Errorf("WithElem changed its receiver to %s", got)
	}
}

// SPEC §9.6.5a: no member named signature, at any depth.
func TestStripSignatures(t *testing.T) {
	for text, want := range map[string]string{
		`{"signature":"x"}`:           `{}`,
		`{"a":1,"signature":{"b":2}}`: `{"a":1}`,
		`{"a":{"signature":1,"b":2},"c":[{"signature":3},[{"d":{"signature":4}}]]}`:               `{"a":{"b":2},"c":[{},[{"d":{}}]]}`,
		`{"\u0073ignature":1,"Signature":2,"signatures":3,"countersignatures":{"x":"signature"}}`: `{"Signature":2,"countersignatures":{"x":"signature"},"signatures":3}`,
		`["signature"]`: `["signature"]`,
		`"signature"`:   `"signature"`,
		`[]`:            `[]`,
		`1`:             `1`,
	} {
		v := parse(t, text)
		before := v.Canonical()
		got := v.StripSignatures()
		if got.Canonical() != want {
			t.Errorf("%s.StripSignatures() = %s, want %s", text, got, want)
		}
		checkTree(t, got)
		if v.Canonical() != before {
			t.Errorf("StripSignatures changed its receiver to %s", v)
		}
	}
}

// Text writes what Parse would write.
func TestText(t *testing.T) {
	for _, s := range append(names, "\b\f\r\t", "\u2028<>&/", strings.Repeat("x", 10000)) {
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := wire.Text(s).Canonical(), parse(t, string(quoted)).Canonical(); got != want {
			t.Errorf("Text(%q) = %s, want %s", s, got, want)
		}
		if got := wire.Text(s).Text(); got != s {
			t.Errorf("Text(%q).Text() = %q", s, got)
		}
	}
	if got, want := wire.Text("a\xffb\xed\xa0\x80").Text(), "a\ufffdb\ufffd\ufffd\ufffd"; got != want {
		t.Errorf("Text of invalid UTF-8 = %q, want %q", got, want)
	}
}

func TestEncode(t *testing.T) {
	type terms struct {
		Price  float64    `json:"price"`
		Days   int        `json:"days,omitzero"`
		Note   string     `json:"note,omitempty"`
		Hidden string     `json:"-"`
		Extra  wire.Value `json:"extra"`
	}
	value := parse(t, `{"b":[1.50],"a":"\u0041"}`)
	tests := []struct {
		name string
		x    any
		want string
	}{
		{"nil", nil, "null"},
		{"booleans", []bool{true, false}, "[true,false]"},
		{"integers", []any{0, -1, uint8(7), int64(wire.MaxSafeInteger)}, "[0,-1,7,9007199254740991]"},
		{"floats", []float64{1, 0.1, 1e21, 5e-324, -2.5}, "[1,0.1,1e+21,5e-324,-2.5]"},
		{"strings", []string{"", "é<>&\u2028", "\"\\\n"}, "[\"\",\"é<>&\u2028\",\"\\\"\\\\\\n\"]"},
		{"struct", terms{Price: 10, Hidden: "x", Extra: value}, `{"extra":{"a":"A","b":[1.5]},"price":10}`},
		{"struct, absent value", terms{Days: 3, Note: "n"}, `{"days":3,"extra":null,"note":"n","price":0}`},
		{"map", wire.M{"z": 1, "a": wire.M{"c": nil}, "B": []int{}}, `{"B":[],"a":{"c":null},"z":1}`},
		{"map, UTF-16 order", wire.M{"\uffff": 1, "😀": 2}, "{\"😀\":2,\"\uffff\":1}"},
		{"named strings", wire.M{"id": wire.AgentID("a"), "type": wire.TypeOffer}, `{"id":"a","type":"negotiate.offer"}`},
		{"text marshaler", wire.M{"h": wire.Hash{}}, `{"h":"sha256:` + strings.Repeat("0", 64) + `"}`},
		{"outcome", wire.M{"o": wire.NotChecked}, `{"o":"not checked"}`},
		{"value", value, value.Canonical()},
		{"pointer to a value", &value, value.Canonical()},
		{"values inside", []wire.Value{value, {}}, "[" + value.Canonical() + ",null]"},
		{"absent value", wire.Value{}, "null"},
		{"nil slice and map", []any{[]int(nil), map[string]int(nil)}, "[[],{}]"},
	}
	for _, tt := range tests {
		v, err := wire.Encode(tt.x)
		if err != nil || v.Canonical() != tt.want {
			t.Errorf("%s: Encode = %v, %v, want %s", tt.name, v, err, tt.want)
			continue
		}
		checkTree(t, v)
	}
}

// What Parse refuses, Encode refuses.
func TestEncodeRefuses(t *testing.T) {
	deep := any("x")
	for range 81 {
		deep = []any{deep}
	}
	for what, x := range map[string]any{
		"NaN":                      math.NaN(),
		"infinity":                 math.Inf(1),
		"invalid UTF-8":            "a\xff",
		"invalid UTF-8 in a name":  wire.M{"a\xff": 1},
		"surrogate in UTF-8":       "\xed\xa0\x80",
		"duration without unit":    time.Second,
		"function":                 func() {},
		"channel":                  make(chan int),
		"two keys of one text":     map[any]int{"1": 1, 1: 2},
		"private key":              testKey(t, "seller"),
		"private key in an object": wire.M{"key": testKey(t, "seller")},
	} {
		if v, err := wire.Encode(wire.M{"x": []any{x}}); err == nil {
			t.Errorf("%s: Encode = %v, want an error", what, v)
		}
	}
	for what, c := range map[string]struct {
		x    any
		rule *wire.Rule
	}{
		"negative zero":       {math.Copysign(0, -1), wire.RuleNumber},
		"big plain float":     {1e20, wire.RuleNumber},
		"2^53 as a float":     {float64(1 << 53), wire.RuleNumber},
		"2^53":                {int64(1 << 53), wire.RuleNumber},
		"largest uint64":      {uint64(math.MaxUint64), wire.RuleNumber},
		"smallest int64":      {int64(math.MinInt64), wire.RuleNumber},
		"nested 81 deep more": {deep, wire.RuleDepth},
	} {
		if _, err := wire.Encode(wire.M{"x": []any{c.x}}); !errors.Is(err, c.rule) {
			t.Errorf("%s: got %q, want %s", what, refusal(err), c.rule.Name)
		}
	}
}
