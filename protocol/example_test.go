package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

// A set that is not empty has an example in it.
func TestSetExample(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		s := randomSet(t, random)
		v, ok := s.Example()
		if ok == s.IsEmpty() || ok && !s.Has(v) {
			t.Fatalf("Example() of %s = %s, %v", s, v.Canonical(), ok)
		}
	}
	for _, s := range []Set{
		Above(1e308, false), Below(-1e308, false), Above(0, false).Intersect(Below(1e-300, false)),
		Above(1, false).Intersect(Below(2, false)), Lengths(7, -1),
	} {
		if v, ok := s.Example(); !ok || !s.Has(v) {
			t.Errorf("Example() of %s = %s, %v", s, v.Canonical(), ok)
		}
	}
}

func TestConditionExample(t *testing.T) {
	object, _ := Kinds("object")
	text, _ := Kinds("string")
	one, two := Values(value(t, "1")), Values(value(t, "2"))
	for _, test := range []struct {
		name string
		when Condition
		want string // "": none
	}{
		{"nothing demanded", nil, "{}"},
		{"a member", Condition{{At: "/a", In: one}}, `{"a":1}`},
		{"two in one", Condition{{At: "/a/b", In: one}, {At: "/a/c", In: two}}, `{"a":{"b":1,"c":2}}`},
		{"left out", Condition{{At: "/a/b", In: Absence()}}, "{}"},
		{"an element", Condition{{At: "/content/0/text", In: one}}, `{"content":[{"text":1}]}`},
		{"an element far out", Condition{{At: "/content/3", In: one}}, `{"content":{"3":1}}`},
		{"JSON in a text", Condition{{At: "/content/0/text#/status", In: Values(value(t, `"open"`))}}, `{"content":[{"text":"{\"status\":\"open\"}"}]}`},
		{"no JSON in a text", Condition{{At: "/t", In: text}, {At: "/t#/status", In: Absence()}}, `{"t":"no JSON"}`},
		{"escapes", Condition{{At: "/a~1b~0", In: one}}, `{"a/b~":1}`},
		{"twice the same place", Condition{{At: "/a", In: Above(1, true)}, {At: "/a", In: Below(1, true)}}, `{"a":1}`},
		{"a contradiction", Condition{{At: "/a", In: one}, {At: "/a", In: two}}, ""},
		{"around and inside", Condition{{At: "/a", In: object}, {At: "/a/b", In: two}}, `{"a":{"b":2}}`},
		{"around against inside", Condition{{At: "/a", In: one}, {At: "/a/b", In: two}}, ""},
		{"around without inside", Condition{{At: "/a", In: one}, {At: "/a/b", In: Absence().Union(two)}}, `{"a":1}`},
		{"a length and an element", Condition{{At: "/a", In: Lengths(3, 3)}, {At: "/a/0", In: two}}, `{"a":[2,null,null]}`},
		{"a match", Condition{{At: "/a", Matches: "^(?i)(yes|ok)+[0-9]$"}}, ""},
		{"a guard", Condition{Holds("g"), {At: "/a", In: one}}, `{"a":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, ok := test.when.Example()
			if test.name == "a match" {
				x, _ := v.Get("a")
				if !ok || x.Kind() != wire.String || len(x.Text()) < 3 {
					t.Errorf("Example() = %s", v.Canonical())
				}
				return
			}
			if ok != (test.want != "") || ok && v.Canonical() != test.want {
				t.Fatalf("Example() = %s, %v, want %s", v.Canonical(), ok, test.want)
			}
			for _, test := range test.when {
				if ok && !test.IsOpaque() && !test.In.Has(test.At.Look(v)) {
					t.Errorf("%s does not hold in %s", test, v.Canonical())
				}
			}
		})
	}
}

// Decide tells the conditions apart by their order.
func TestDecideOrder(t *testing.T) {
	d, err := Decide(Condition{{At: "/a", In: Above(2, true)}}, Condition{{At: "/a", In: Above(1, true)}}, Condition{{At: "/a", In: Above(3, true)}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	d.Cases(func(outcome int, when Condition) bool {
		seen[outcome] = true
		return true
	})
	if !seen[0] || !seen[1] || seen[2] || !seen[-1] {
		t.Errorf("outcomes %v", seen)
	}
}

// The text of a set can be read back, and what is none is refused.
func TestSetText(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		s := randomSet(t, random)
		var back Set
		if err := back.UnmarshalText([]byte(s.String())); err != nil || !back.Equal(s) {
			t.Fatalf("%s reads back as %s, %v", s, back, err)
		}
	}
	for _, text := range []string{`"a, \"b or c"`, `string but "x or y", "z"`, "number 1 or number > 2 and <= 3 or array 2", "array or string"} {
		var s Set
		if err := s.UnmarshalText([]byte(text)); err != nil || s.String() != text {
			t.Errorf("%s reads as %s, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "nul", "null or", "null and true", "number x", "number > ", "number >> 1", "number NaN", `"a`, `"a" "b"`, `"a", `, `"\x"`, "string but x", "something"} {
		var s Set
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q reads as %s", text, s)
		}
	}
}

// Whatever is read as a set is written so that it reads back.
func FuzzSetText(f *testing.F) {
	for _, text := range []string{"anything", `null or number > 1 and <= 2 or "x", "y"`, `string but "a"`, "array >= 3", "number < 0 or number 5"} {
		var s Set
		if err := s.UnmarshalText([]byte(text)); err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, back Set
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := back.UnmarshalText([]byte(s.String())); err != nil || !back.Equal(s) {
			t.Errorf("%q is %s, which reads back as %s, %v", text, s, back, err)
		}
	})
}
