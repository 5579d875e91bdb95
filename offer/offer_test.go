package offer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/wire"
)

func parse(t testing.TB, text string) wire.Value {
	t.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func space(t testing.TB, terms string) *offer.Space {
	t.Helper()
	s, err := offer.ReadSpace(parse(t, `{"terms":`+terms+`}`), "/body")
	if err != nil {
		t.Fatalf("%s: %v", terms, err)
	}
	return s
}

func read(t testing.TB, s *offer.Space, body string) *offer.Offer {
	t.Helper()
	o, err := offer.Read(parse(t, body), "/body", s)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return o
}

// broke reports the rule and pointer of an error, as "name at pointer".
func broke(err error) string {
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		return v.Rule.Name + " at " + v.At
	}
	return fmt.Sprint(err)
}

// SPEC §3.1
func TestReadSpace(t *testing.T) {
	many := strings.Repeat(`"x%d":{},`, offer.MaxTerms+1)
	numbers := make([]any, offer.MaxTerms+1)
	for i := range numbers {
		numbers[i] = i
	}
	for _, test := range []struct{ terms, want string }{
		{`{}`, ""},
		{`{"x":{}}`, ""},
		{`{"x":{"type":"numeric","label":"X","unit":"kg","constraints":{"min":1,"max":1},"value":1,"note":[1]}}`, ""},
		{`{"x":{"type":"categorical","enum":["a",1,true],"value":1}}`, ""},
		{`{"x":{"type":"composite","value":{"a":{"b":[1]}}}}`, ""},
		{`{"x":{"type":"temporal","min":"2026-10-01","max":"2026-10-01","value":"2026-10-01"}}`, ""},
		{`{"x":{"value":3,"currency":"EUR","constraints":{"currency":"EUR"}}}`, ""},
		{`[]`, "term-space at /body/terms"},
		{`{"x":3}`, "term-space at /body/terms/x"},
		{`{"":{}}`, "term-space at /body/terms/"},
		{`{"x":{"type":"price"}}`, "term-space at /body/terms/x/type"},
		{`{"x":{"type":3}}`, "term-space at /body/terms/x/type"},
		{`{"x":{"Type":"numeric"}}`, "term-space at /body/terms/x/Type"},
		{`{"x":{"label":3}}`, "term-space at /body/terms/x/label"},
		{`{"x":{"constraints":[]}}`, "term-space at /body/terms/x/constraints"},
		{`{"x":{"constraints":{"MIN":3}}}`, "term-space at /body/terms/x/constraints/MIN"},
		{`{"x":{"min":true}}`, "term-space at /body/terms/x/min"},
		{`{"x":{"max":"soon"}}`, "term-space at /body/terms/x/max"},
		{`{"x":{"max":"P1Y"}}`, "term-space at /body/terms/x/max"},
		{`{"x":{"min":2,"max":1}}`, "term-space at /body/terms/x/max"},
		{`{"x":{"min":"2026-10-01","max":5}}`, "term-space at /body/terms/x/max"},
		{`{"x":{"enum":"a"}}`, "term-space at /body/terms/x/enum"},
		{`{"x":{"type":"numeric","value":"3"}}`, "term-type at /body/terms/x/value"},
		{`{"x":{"value":null,"type":null,"label":null}}`, ""},
		{`{"x":{"max":3,"value":4}}`, "term-bounds at /body/terms/x/value"},
		{`{"x":{"enum":[],"value":4}}`, "term-bounds at /body/terms/x/value"},
		{`{"x":{"value":3,"constraints":{"currency":"EUR"}}}`, ""},
		{`{"x":{"value":3,"currency":"EUR","constraints":{"currency":"USD"}}}`, "term-bounds at /body/terms/x/currency"},
		{`{` + strings.TrimSuffix(fmt.Sprintf(many, numbers...), ",") + `}`, "term-space at /body/terms"},
	} {
		_, err := offer.ReadSpace(parse(t, `{"terms":`+test.terms+`}`), "/body")
		if got := broke(err); err != nil && got != test.want || err == nil && test.want != "" {
			t.Errorf("%.80s: got %s, want %q", test.terms, got, test.want)
		}
	}
}

// SPEC §3.1.1
func TestTermTypes(t *testing.T) {
	values := []string{`3`, `"word"`, `"2026-10-01"`, `true`, `{"a":1}`, `[1]`}
	for _, test := range []struct {
		typ  offer.Type
		want string // of each value, y or n
	}{
		{offer.Numeric, "ynnnnn"},
		{offer.Temporal, "ynynnn"},
		{offer.Categorical, "yyyynn"},
		{offer.Boolean, "nnnynn"},
		{offer.FreeText, "nyynnn"},
		{offer.Composite, "nnnnyy"},
	} {
		s := space(t, `{"x":{"type":"`+string(test.typ)+`"}}`)
		got := ""
		for _, v := range values {
			_, err := offer.Read(parse(t, `{"offer_id":"o","terms":{"x":{"value":`+v+`}}}`), "/body", s)
			switch {
			case err == nil:
				got += "y"
			case broke(err) == "term-type at /body/terms/x/value":
				got += "n"
			default:
				t.Errorf("%s %s: %v", test.typ, v, err)
			}
		}
		if got != test.want {
			t.Errorf("%s takes %v: got %s, want %s", test.typ, values, got, test.want)
		}
	}
}

// SPEC §3.1.1
func TestTemporalForms(t *testing.T) {
	s := space(t, `{"x":{"type":"temporal"}}`)
	for _, test := range []struct {
		text string
		ok   bool
	}{
		{"2026-10-01", true}, {"2026-10", true}, {"2026", true}, {"10:30", true}, {"10:30:59", true},
		{"2026-10-01T10:30", true}, {"2026-10-01T10:30:59", true}, {"2026-10-01T10:30:59Z", true},
		{"2026-10-01T10:30:59.5+02:00", true}, {"2026-W38", true}, {"2026-W38-7", true},
		{"P3D", true}, {"PT1H30M", true}, {"P1Y2M", true}, {"P2W", true}, {"PT0.5S", true},
		{"", false}, {"soon", false}, {"2026-13", false}, {"2026-02-30", false}, {"24:00", false}, {"10:60", false},
		{"2026-W54", false}, {"2026-W38-8", false}, {"P", false}, {"PT", false}, {"P1", false}, {"3 days", false},
		{"2026-10-01 10:30", false}, {"26-10-01", false}, {"2026-10-01T10:30:59z", false},
		{strings.Repeat("1", 65), false},
	} {
		_, err := offer.Read(parse(t, `{"offer_id":"o","terms":{"x":{"value":"`+test.text+`"}}}`), "/body", s)
		if (err == nil) != test.ok {
			t.Errorf("%q: %v, want ok %t", test.text, err, test.ok)
		}
	}
}

// SPEC §3.1: bounds are inclusive, and what cannot be compared is outside.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		bounds, value string
		ok            bool
	}{
		{`{"min":1,"max":3}`, `{"value":1}`, true},
		{`{"min":1,"max":3}`, `{"value":3}`, true},
		{`{"min":1,"max":3}`, `{"value":3.0001}`, false},
		{`{"min":1,"max":3}`, `{"value":0.9999}`, false},
		{`{"min":1}`, `{"value":"2"}`, false},
		{`{"min":"2026-10-01"}`, `{"value":"2026-10-01"}`, true},
		{`{"min":"2026-10-01"}`, `{"value":"2026-09-30"}`, false},
		{`{"min":"2026-10-01"}`, `{"value":"2026-10"}`, false},
		{`{"max":"PT2H"}`, `{"value":"PT120M"}`, true},
		{`{"max":"PT2H"}`, `{"value":"PT7201S"}`, false},
		{`{"max":"PT2H"}`, `{"value":"P1M"}`, false},
		{`{"max":"2026-10-01T12:00:00Z"}`, `{"value":"2026-10-01T14:00:00+02:00"}`, true},
		{`{"max":"2026-10-01T12:00:00Z"}`, `{"value":"2026-10-01T12:00:00.000000001Z"}`, true}, // below the resolution
		{`{"max":"2026-10-01T12:00:00Z"}`, `{"value":"2026-10-01T12:00:01Z"}`, false},
		{`{"enum":[1,"a",{"b":2}]}`, `{"value":{"b":2.0}}`, true},
		{`{"enum":[1,"a"]}`, `{"value":true}`, false},
		{`{"enum":[true]}`, `{"value":1}`, false},
		{`{"currency":"EUR"}`, `{"value":1,"currency":"EUR"}`, true},
		{`{"currency":"EUR"}`, `{"value":1,"currency":"eur"}`, false},
		{`{"currency":"EUR"}`, `{"value":1}`, true},
		{`{"constraints":{"currency":"EUR"}}`, `{"value":1}`, true},
		{`{"currency":"EUR"}`, `{"value":1,"currency":null}`, true},
		{`{"type":null,"unit":null,"enum":null,"max":null,"value":null,"constraints":{"max":2,"min":null}}`, `{"value":1}`, true},
		{`{"max":null,"constraints":{"max":2,"min":null}}`, `{"value":3}`, false},
		{`{"min":1,"constraints":{"max":3}}`, `{"value":4}`, false},
		{`{"min":1,"constraints":{"min":2}}`, `{"value":1}`, false},
	} {
		s := space(t, `{"x":`+test.bounds+`}`)
		_, err := offer.Read(parse(t, `{"offer_id":"o","terms":{"x":`+test.value+`}}`), "/body", s)
		if (err == nil) != test.ok || err != nil && !strings.HasPrefix(broke(err), "term-bounds at /body/terms/x/") {
			t.Errorf("%s in %s: %v, want ok %t", test.value, test.bounds, err, test.ok)
		}
	}
}

// SPEC §3.2, §3.3: what an offer leaves out it inherits; it may add terms.
func TestInherit(t *testing.T) {
	s := space(t, `{"x":{"value":1,"label":"X","currency":"EUR"},"y":{}}`)
	o := read(t, s, `{"offer_id":"o","terms":{"y":{"value":2,"note":"n"},"z":{"value":3}},"complete":true}`)
	want := `{"x":{"currency":"EUR","value":1},"y":{"note":"n","value":2},"z":{"value":3}}`
	if got := o.Branches[0].Terms.Value().Canonical(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := offer.Read(parse(t, `{"offer_id":"o","terms":{},"complete":true}`), "/body", s); broke(err) != "offer-complete at /body/complete" {
		t.Errorf("a gap: %v", err)
	}
}

// SPEC §3.5
func TestConstraints(t *testing.T) {
	type step struct{ declare, want string }
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"tighten", []step{{`{"x":{"max":9}}`, ""}, {`{"x":{"max":8}}`, ""}, {`{"x":{"max":8}}`, ""}, {`{"x":{"max":8.1}}`, "constraint-loosened at /body/constraints/x/max"}}},
		{"add a side", []step{{`{"x":{"max":9}}`, ""}, {`{"x":{"min":3}}`, ""}, {`{"x":{"min":2}}`, "constraint-loosened at /body/constraints/x/min"}, {`{"x":{"max":10}}`, "constraint-loosened at /body/constraints/x/max"}}},
		{"cross", []step{{`{"x":{"max":9}}`, ""}, {`{"x":{"min":10}}`, "constraint-form at /body/constraints/x"}}},
		{"enum", []step{{`{"x":{"enum":[1,2]}}`, ""}, {`{"x":{"enum":[2]}}`, ""}, {`{"x":{"enum":[2,1]}}`, "constraint-loosened at /body/constraints/x/enum"}}},
		{"currency", []step{{`{"x":{"currency":"EUR"}}`, ""}, {`{"x":{"currency":"USD"}}`, "constraint-loosened at /body/constraints/x/currency"}}},
		{"form", []step{{`{}`, "constraint-form at /body/constraints"}, {`{"x":{}}`, "constraint-form at /body/constraints/x"}, {`{"x":{"maximum":3}}`, "constraint-form at /body/constraints/x"}, {`{"x":{"Max":3}}`, "constraint-form at /body/constraints/x/Max"}, {`{"x":7}`, "constraint-form at /body/constraints/x"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c offer.Constraints
			for _, step := range test.steps {
				next, err := c.Declare(parse(t, `{"constraints":`+step.declare+`}`), "/body")
				if got := broke(err); err != nil && got != step.want || err == nil && step.want != "" {
					t.Errorf("%s: got %s, want %q", step.declare, got, step.want)
				}
				c = next
			}
		})
	}
}

// A term that names no currency has the one that open names.
func TestConstraintCurrency(t *testing.T) {
	c, err := offer.Constraints{}.Declare(parse(t, `{"constraints":{"x":{"max":9,"currency":"USD"}}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ open, value, want string }{
		{`{"unit":"USD"}`, `{"value":5}`, ""},
		{`{"currency":"USD"}`, `{"value":5}`, ""},
		{`{}`, `{"value":5,"currency":"USD"}`, ""},
		{`{"unit":"USD"}`, `{"value":5,"currency":"EUR"}`, "constraint at /terms/x/currency"},
		{`{"unit":"EUR"}`, `{"value":5}`, "constraint at /terms/x"},
		{`{}`, `{"value":5}`, "constraint at /terms/x"},
	} {
		s := space(t, `{"x":`+test.open+`}`)
		err := c.Check(s, read(t, s, `{"offer_id":"o","terms":{"x":`+test.value+`}}`), "")
		if got := broke(err); err != nil && got != test.want || err == nil && test.want != "" {
			t.Errorf("%s in %s: got %s, want %q", test.value, test.open, got, test.want)
		}
	}
}

// A party's constraints are its own value: declaring more does not reach back.
func TestConstraintsAreImmutable(t *testing.T) {
	s := space(t, `{"x":{}}`)
	first, _ := offer.Constraints{}.Declare(parse(t, `{"constraints":{"x":{"max":9}}}`), "")
	if _, err := first.Declare(parse(t, `{"constraints":{"x":{"max":1}}}`), ""); err != nil {
		t.Fatal(err)
	}
	if err := first.Check(s, read(t, s, `{"offer_id":"o","terms":{"x":{"value":5}}}`), ""); err != nil {
		t.Errorf("the earlier constraints changed: %v", err)
	}
}

// SPEC §5.4
func TestConcession(t *testing.T) {
	for _, test := range []struct {
		name, terms      string
		prev, next, goal string
		want             float64
	}{
		{"half the range", `{"x":{"min":0,"max":100}}`, `{"x":100}`, `{"x":50}`, `{"x":0}`, 0.5},
		{"no range: half the gap", `{"x":{}}`, `{"x":100}`, `{"x":80}`, `{"x":60}`, 0.5},
		{"raising the price", `{"x":{}}`, `{"x":100}`, `{"x":150}`, `{"x":50}`, 0},
		{"all the way", `{"x":{}}`, `{"x":100}`, `{"x":50}`, `{"x":50}`, 1},
		{"overshooting", `{"x":{"min":0,"max":100}}`, `{"x":60}`, `{"x":30}`, `{"x":50}`, 0},
		{"nothing to concede", `{"x":{}}`, `{"x":1}`, `{"x":5}`, `{"x":1}`, 0},
		{"mean over terms apart", `{"x":{},"y":{},"z":{}}`, `{"x":10,"y":"a","z":1}`, `{"x":10,"y":"b","z":1}`, `{"x":0,"y":"b","z":1}`, 0.5},
		{"dates", `{"x":{}}`, `{"x":"2026-10-10"}`, `{"x":"2026-10-08"}`, `{"x":"2026-10-02"}`, 0.25},
		{"dates of two forms", `{"x":{}}`, `{"x":"2026-10-10"}`, `{"x":"2026-10"}`, `{"x":"2026-10"}`, 1},
		{"outside open's range is at most 1", `{"x":{"min":0,"max":10}}`, `{"x":10}`, `{"x":0}`, `{"x":0}`, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := space(t, test.terms)
			plain := func(terms string) *offer.Offer {
				return read(t, s, `{"offer_id":"o","conditions":[{"if":`+terms+`,"then":{}}]}`)
			}
			if got := s.Concession(plain(test.prev), plain(test.next), plain(test.goal)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// Of several branches, the nearest counts.
func TestConcessionOfBranches(t *testing.T) {
	s := space(t, `{"price":{"min":0,"max":1000},"how":{}}`)
	prev := read(t, s, `{"offer_id":"a","terms":{"price":{"value":900},"how":{"value":"pickup"}}}`)
	next := read(t, s, `{"offer_id":"b","conditions":[{"if":{"how":"pickup"},"then":{"price":700}},{"if":{"how":"sent"},"then":{"price":800}}]}`)
	goal := read(t, s, `{"offer_id":"c","terms":{"price":{"value":500},"how":{"value":"sent"}}}`)
	if got, want := s.Concession(prev, next, goal), (0.2+1)/2; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// SPEC §6: limits and shapes that the golden transcripts of package session leave out.
func TestReadRefuses(t *testing.T) {
	s := space(t, `{"x":{"type":"numeric"},"y":{}}`)
	branches := strings.Repeat(`{"if":{"y":1},"then":{}},`, offer.MaxBranches+1)
	for _, test := range []struct{ body, want string }{
		{`{"offer_id":"o","conditions":[` + strings.TrimSuffix(branches, ",") + `]}`, "offer-shape at /body/conditions"},
		{`{"offer_id":"o","conditions":{}}`, "offer-shape at /body/conditions"},
		{`{"offer_id":"o","conditions":[{"then":{}}]}`, "offer-shape at /body/conditions/0/if"},
		{`{"offer_id":"o","conditions":[{"if":{}}]}`, "offer-shape at /body/conditions/0/then"},
		{`{"offer_id":"o","conditions":[{"if":{"x":"1"},"then":{}}]}`, "term-type at /body/conditions/0/if/x"},
		{`{"offer_id":"o","conditions":[{"if":{"y":1},"then":{"x":{"value":"1"}}}]}`, "term-type at /body/conditions/0/then/x/value"},
		{`{"offer_id":"o","terms":{"y":{"value":2}},"conditions":[{"if":{"y":1},"then":{}}]}`, "offer-shape at /body/conditions/0"},
		{`{"offer_id":"o","bundles":[{"bundle_id":"","terms":{}}]}`, "offer-shape at /body/bundles/0/bundle_id"},
		{`{"offer_id":"o","bundles":[{"bundle_id":"a","terms":{"x":1}}]}`, "term-value at /body/bundles/0/terms/x"},
		{`{"offer_id":"o","bundles":[{"bundle_id":"a"}]}`, "offer-shape at /body/bundles/0/terms"},
		{`{"offer_id":"o","bundles":[{"bundle_id":"a","terms":{}}],"conditions":[]}`, "offer-shape at /body/bundles"},
		{`{"offer_id":"o","bundles":[{"bundle_id":"a","terms":{"x":{"value":1}}}],"complete":true}`, "offer-complete at /body/complete"},
		{`{"offer_id":"o","terms":{},"open_terms":["x","x"]}`, "offer-shape at /body/open_terms"},
		{`{"offer_id":"o","terms":{},"open_terms":[3]}`, "offer-shape at /body/open_terms/0"},
		{`{"offer_id":"o o","terms":{}}`, "offer-shape at /body/offer_id"},
		{`{"offer_id":"o","Terms":{}}`, "offer-shape at /body/Terms"},
		{`{"offer_id":"o","terms":{"z":{"value":null}}}`, "term-value at /body/terms/z"},
	} {
		if _, err := offer.Read(parse(t, test.body), "/body", s); broke(err) != test.want {
			t.Errorf("%.80s: got %s, want %s", test.body, broke(err), test.want)
		}
	}
}

// FuzzRead: whatever is read as an offer can be accepted in at most one way for
// each of its branches, and nothing panics.
func FuzzRead(f *testing.F) {
	seeds := []string{
		`{"offer_id":"o","terms":{"x":{"value":1},"y":{"value":"a"}},"complete":true}`,
		`{"offer_id":"o","terms":{"x":{"value":1}},"open_terms":["y"],"complete":false}`,
		`{"offer_id":"o","conditions":[{"if":{"y":"a"},"then":{"x":{"value":1}}},{"if":{"y":"b"},"then":{"x":2}}],"complete":true}`,
		`{"offer_id":"o","bundles":[{"bundle_id":"a","label":"A","terms":{"x":{"value":1}}}],"select":"one_of"}`,
		`{"offer_id":"o","terms":{"x":{"value":1,"currency":"EUR"}},"valid_until":"2026-10-01T00:00:00Z"}`,
	}
	for _, s := range seeds {
		f.Add(s, `{"accepted_terms":{"y":"a"}}`)
	}
	f.Fuzz(func(t *testing.T, body, accept string) {
		s := space(t, `{"x":{"type":"numeric","min":0,"max":9},"y":{"enum":["a","b"]},"z":{"value":true}}`)
		v, err := wire.Parse([]byte(body), wire.DocumentLimits)
		if err != nil {
			return
		}
		o, err := offer.Read(v, "/body", s)
		if err != nil {
			if _, ok := errors.AsType[*wire.Violation](err); !ok {
				t.Fatalf("not a violation: %v", err)
			}
			return
		}
		a, err := wire.Parse([]byte(accept), wire.DocumentLimits)
		if err != nil {
			return
		}
		deal, err := o.Select(a, "/body", s)
		if err != nil {
			return
		}
		for _, term := range s.Terms() {
			if _, ok := deal.Get(term.ID); !ok {
				t.Fatalf("a deal without %s", term.ID)
			}
		}
		deal.Value()
	})
}

func ExampleOffer_Select() {
	space, _ := offer.ReadSpace(must(`{"terms": {"price": {"type": "numeric"}, "delivery": {"enum": ["pickup", "shipping"]}}}`), "/body")
	o, _ := offer.Read(must(`{"offer_id": "off_1", "conditions": [
		{"if": {"delivery": "pickup"},   "then": {"price": {"value": 2000, "currency": "USD"}}},
		{"if": {"delivery": "shipping"}, "then": {"price": {"value": 2050, "currency": "USD"}}}], "complete": true}`), "/body", space)
	deal, err := o.Select(must(`{"accepted_terms": {"delivery": "shipping"}}`), "/body", space)
	fmt.Println(deal.Value(), err)
	_, err = o.Select(must(`{}`), "/body", space)
	fmt.Println(err)
	// Output:
	// {"delivery":{"value":"shipping"},"price":{"currency":"USD","value":2050}} <nil>
	// SPEC §6.5 accept-selects: an accept fits exactly one branch of the offer (at /body): more than one branch of the offer fits
}

func must(text string) wire.Value {
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		panic(err)
	}
	return v
}
