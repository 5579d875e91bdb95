package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

func value(tb testing.TB, text string) wire.Value {
	tb.Helper()
	if text == "" {
		return wire.Value{}
	}
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// samples are values on, between and beside the places where random sets end.
func samples(tb testing.TB) (list []wire.Value) {
	for _, text := range []string{
		"", "null", "true", "false", "{}", `{"a":1}`, "[]", "[1]", "[1,2]", "[1,2,3]", `[1,2,3,4]`,
		"-1", "0", "0.5", "1", "1.5", "2", "2.5", "3", "1e300", `""`, `"a"`, `"b"`, `"c"`, `"other"`,
	} {
		list = append(list, value(tb, text))
	}
	return list
}

// between are values that no random set ends at, one in each gap.
func between(tb testing.TB) (list []wire.Value) {
	for _, text := range []string{
		"-2", "-0.5", "0.25", "0.75", "1.25", "1.75", "2.25", "2.75", "100", "1e301", `"another"`, "[1,2,3,4,5]", "[1,2,3,4,5,6]",
	} {
		list = append(list, value(tb, text))
	}
	return list
}

// randomSet makes a set of a few simple ones.
func randomSet(tb testing.TB, random *rand.Rand) Set {
	all := samples(tb)
	simple := func() Set {
		x := float64(random.IntN(4))
		switch random.IntN(6) {
		case 0:
			return Below(x, random.IntN(2) == 0)
		case 1:
			return Above(x, random.IntN(2) == 0)
		case 2:
			return Lengths(random.IntN(3), random.IntN(5)-1)
		case 3:
			s, err := Kinds([]string{"null", "boolean", "number", "string", "array", "object"}[random.IntN(6)])
			if err != nil {
				tb.Fatal(err)
			}
			return s
		}
		return Values(all[random.IntN(len(all))], all[random.IntN(len(all))])
	}
	s := simple()
	for range random.IntN(4) {
		switch t := simple(); random.IntN(4) {
		case 0:
			s = s.Union(t)
		case 1:
			s = s.Intersect(t)
		case 2:
			s = s.Minus(t)
		case 3:
			s = s.Complement()
		}
	}
	return s
}

// The algebra of sets is that of their members, and equal sets have one text.
func TestSetAlgebra(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := append(samples(t), between(t)...)
	for range 3000 {
		a, b := randomSet(t, random), randomSet(t, random)
		within := true
		for _, v := range all {
			inA, inB := a.Has(v), b.Has(v)
			within = within && (!inA || inB)
			if a.Union(b).Has(v) != (inA || inB) || a.Intersect(b).Has(v) != (inA && inB) || a.Minus(b).Has(v) != (inA && !inB) || a.Complement().Has(v) == inA {
				t.Fatalf("%s and %s disagree on %q", a, b, v.Canonical())
			}
		}
		if a.Within(b) != within {
			t.Fatalf("%s within %s is %v", a, b, a.Within(b))
		}
		again := a.Intersect(b).Union(a.Minus(b))
		if !again.Equal(a) || again.String() != a.String() {
			t.Fatalf("%s and %s", again, a)
		}
		if (a.String() == b.String()) != a.Equal(b) {
			t.Fatalf("%s, %s: equal is %v", a, b, a.Equal(b))
		}
		if a.IsEmpty() != (a.String() == "nothing") {
			t.Fatalf("%s is empty: %v", a, a.IsEmpty())
		}
	}
}

func TestSetString(t *testing.T) {
	for _, test := range []struct {
		s    Set
		want string
	}{
		{Set{}, "nothing"},
		{AllValues(), "anything"},
		{Absence(), "absent"},
		{Values(value(t, "1"), value(t, `"x"`), value(t, "null")), `null or number 1 or "x"`},
		{Below(2, true).Intersect(Above(1, false)), "number > 1 and <= 2"},
		{Below(2, false).Union(Above(3, true)), "number < 2 or number >= 3"},
		{Lengths(1, 2), "array >= 1 and < 3"},
		{Lengths(2, 1), "nothing"},
		{Values(value(t, `"a"`)).Complement().Intersect(Values(value(t, `"b"`), value(t, `"a"`))), `"b"`},
	} {
		if got := test.s.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if _, err := Kinds("integer"); err == nil {
		t.Error("integer is a type")
	}
}

// A random decision agrees with trying its rules one after the other, and has one
// form.
func TestDecide(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	all := samples(t)
	for range 400 {
		var rules []rule
		for i := range 1 + random.IntN(4) {
			var c Condition
			for _, at := range []Pointer{"/a", "/b"} {
				if random.IntN(3) > 0 {
					c = append(c, Test{At: at, In: randomSet(t, random)})
				}
			}
			if random.IntN(4) == 0 {
				c = append(c, Holds("g"))
			}
			rules = append(rules, rule{c, i % 3})
		}
		d, err := decide(rules)
		if err != nil {
			t.Fatal(err)
		}
		reversed := make([]rule, 0, 2*len(rules))
		for _, r := range rules { // each twice, and the tests in another order
			c := Condition{}
			for i := range r.when {
				c = append(c, r.when[len(r.when)-1-i])
			}
			reversed = append(reversed, rule{c, r.outcome}, rule{c, 7})
		}
		e, err := decide(reversed)
		if err != nil || !d.equal(e) {
			t.Fatalf("two forms: %v, %v", d.encode(), e.encode())
		}
		for range 60 {
			a, b := all[random.IntN(len(all))], all[random.IntN(len(all))]
			g := random.IntN(2) == 0
			doc := value(t, "{}")
			if a.Kind() != wire.Absent {
				doc = doc.With("a", a)
			}
			if b.Kind() != wire.Absent {
				doc = doc.With("b", b)
			}
			want := -1
			for _, r := range rules {
				holds := true
				for _, test := range r.when {
					switch {
					case test.IsOpaque():
						holds = holds && g
					default:
						holds = holds && test.In.Has(test.At.Look(doc))
					}
				}
				if holds {
					want = r.outcome
					break
				}
			}
			if got := d.of(doc, func(Test) bool { return g }); got != want {
				t.Fatalf("%s, g %v: got %d, want %d: %v", doc.Canonical(), g, got, want, d.encode())
			}
		}
	}
}

func TestDecideRefuses(t *testing.T) {
	yes := Values(value(t, "1"))
	for _, pair := range [][2]Pointer{{"/a", "/a/b"}, {"", "/a"}, {"/a", "/a#/b"}} {
		if _, err := decide([]rule{{Condition{{At: pair[0], In: yes}, {At: pair[1], In: yes}}, 0}}); err == nil {
			t.Errorf("%q and %q are independent", pair[0], pair[1])
		}
	}
	var many []rule
	for i := range 15 {
		many = append(many, rule{Condition{{At: Pointer([]string{"/a", "/b", "/c", "/d", "/e"}[i%5]), In: Above(float64(i), true)}, {At: "/f", In: Below(float64(i), true)}}, i})
	}
	for i := range 200 {
		many = append(many, rule{Condition{{At: "/x", In: Values(value(t, number(float64(i))))}, {At: "/y", In: Values(value(t, number(float64(i*7%200))))}}, i})
	}
	if _, err := decide(many); err != errCases {
		t.Errorf("many cases: %v", err)
	}
}

func TestPointer(t *testing.T) {
	doc := value(t, `{"a/b":{"~":[10,{"c":"x"}]},"text":"{\"status\":[\"open\"]}","bad":"{"}`)
	for at, want := range map[Pointer]string{
		"": doc.Canonical(), "/a~1b/~0/0": "10", "/a~1b/~0/1/c": `"x"`, "/a~1b/~0/01": "", "/a~1b/~0/2": "", "/none": "", "/text/x": "",
		"/text#/status/0": `"open"`, "/text#": `{"status":["open"]}`, "/bad#/x": "", "/a~1b#": "", "/none#": "",
	} {
		if got := at.Look(doc); got.Canonical() != want {
			t.Errorf("%q is %q, want %q", at, got.Canonical(), want)
		}
	}
}
