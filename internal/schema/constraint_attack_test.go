package schema

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// bounded fails a test whose run takes longer than any verdict on a constraint may,
// on a slow machine with the race detector.
func bounded(t *testing.T, name string, run func()) {
	t.Helper()
	start := time.Now()
	run()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("%s took %v", name, took)
	}
}

func TestConstraintLoadsNothing(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write([]byte("true"))
	}))
	defer server.Close()
	for _, ref := range []string{
		server.URL, server.URL + "/", server.URL + "/#", server.URL + "/#/$defs/a", "//" + strings.TrimPrefix(server.URL, "http://"), "/etc/passwd",
		"file:///etc/passwd", "file:///etc/passwd#", "https://json-schema.org/draft/2020-12/schema", "constraint.go", "?", "data:,true",
	} {
		for _, text := range []string{`{"$ref":%q}`, `{"items":{"$ref":%q}}`, `{"items":{"$id":%q}}`, `{"$dynamicRef":%q}`} {
			text = fmt.Sprintf(text, ref)
			if _, err := ParseConstraint(text); misfitAt(t, err) == fits {
				t.Errorf("ParseConstraint(%s) = nil error", text)
			}
		}
		if _, err := ParseConstraint(fmt.Sprintf(`{"$schema":%q}`, ref)); err == nil && ref != dialect {
			t.Errorf("$schema %s is read", ref)
		}
		// As an annotation it is never followed, and a $ref is not resolved against it.
		text := fmt.Sprintf(`{"$defs":{"a":{"const":1}},"$id":%q,"$ref":"#/$defs/a"}`, ref)
		if c, err := ParseConstraint(text); err == nil && (c.Check(`1`) != nil || c.Check(`2`) == nil) {
			t.Errorf("%s decides wrong", text)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestConstraintNumberAttack(t *testing.T) {
	for _, number := range []string{"1e10000000", "-1e10000000", "1e-10000000", "1e400", "1e-400", "1e999999999999999999999", "1" + strings.Repeat("0", 60000), "0." + strings.Repeat("0", 60000) + "1"} {
		bounded(t, "a number", func() {
			for _, text := range []string{`{"minimum":%s}`, `{"multipleOf":%s}`, `{"const":%s}`, `{"enum":[%s]}`, `{"minLength":%s}`, `{"default":%s}`, `{"examples":[%s]}`} {
				if _, err := ParseConstraint(fmt.Sprintf(text, number)); !errors.Is(err, errNumber) {
					t.Errorf("%s with %.20s: %v, want errNumber", text, number, err)
				}
			}
			for _, schema := range []string{`true`, `{"multipleOf":0.3}`, `{"maximum":3}`, `{"type":"integer"}`, `{"uniqueItems":true}`} {
				if err := mustParse(t, schema).Check(`[0,` + number + `]`); !errors.Is(err, errNumber) || misfitAt(t, err) != "/1" {
					t.Errorf("%s with %.20s: %v, want errNumber", schema, number, err)
				}
			}
		})
	}
}

// doubling is a schema of n definitions each of which applies the next one twice.
func doubling(n int, keyword string) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{%q:[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}},"$ref":"#/$defs/a0"}`, n)
	return b.String()
}

func chain(n int, link string) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":`+link+`,`, i, i+1)
	}
	fmt.Fprintf(&b, `"%d":true},"$ref":"#/$defs/0"}`, n)
	return b.String()
}

// TestConstraintTooCostly: what is small to write and large to evaluate ends with
// the budget. not does not make a fit of what was not looked at.
func TestConstraintTooCostly(t *testing.T) {
	long := strings.Repeat("a", maxInstance-2)
	deepest := strings.Repeat("[", maxInstanceNesting) + strings.Repeat("]", maxInstanceNesting)
	tests := []struct{ name, schema, instance string }{
		{"allOf doubling", doubling(60, "allOf"), `{}`},
		{"oneOf doubling", doubling(60, "oneOf"), `{}`},
		{"anyOf doubling, without success", doubling(60, "anyOf"), `[]`},
		{"not around doubling", `{"not":{"$ref":"#/$defs/a0"},` + doubling(60, "allOf")[1:len(doubling(60, "allOf"))-len(`,"$ref":"#/$defs/a0"}`)] + `}`, `{}`},
		{"tree through items", `{"allOf":` + many(8, `{"items":{"$ref":"#"}}`) + `}`, deepest},
		{"recursion that is too deep", chain(1500, `{"$ref":"#/$defs/%d"}`), `1`},
		{"equal texts many times", `{"$defs":{"a":{"const":"` + long[:30000] + `"}},"items":{"allOf":` + many(1000, `{"$ref":"#/$defs/a"}`) + `}}`, many(8, `"`+long[:30000]+`"`)},
		{"a large pattern", `{"pattern":"[^b]{0,900}c"}`, `"` + long + `"`},
		{"a long name many times", `{"$defs":{"n":{"required":["` + long[:30000] + `"]}},"allOf":` + many(1000, `{"$ref":"#/$defs/n"}`) + `}`,
			`{"` + long[:30000] + `":1,"` + long[:30001] + `":1,"` + long[:30002] + `":1}`},
		{"a long name under properties", `{"allOf":` + many(2000, `{"properties":{"a":true}}`) + `}`, `{"` + long[:200000] + `":1}`},
		{"many pairs of member and pattern", `{"allOf":` + many(30, `{"patternProperties":{"x":true}}`) + `}`, manyMembers(15000)},
		{"many members looked at often", `{"allOf":` + many(2000, `{"additionalProperties":true}`) + `}`, manyMembers(10000)},
		{"unique many times", `{"allOf":` + many(2000, `{"uniqueItems":true}`) + `}`, manyNumbers(30000)},
		{"contains many times", `{"allOf":` + many(2000, `{"contains":true}`) + `}`, manyNumbers(30000)},
		{"required many times", `{"allOf":` + many(1200, `{"$ref":"#/$defs/a"}`) + `,"$defs":{"a":{"required":[` + names(3000) + `]}}}`, manyMembers(3000)},
		{"a large instance", `true`, `"` + strings.Repeat("a", maxInstance) + `"`},
		{"a huge instance", `true`, `"` + strings.Repeat("a", 10<<20) + `"`},
		{"a deep instance", `true`, strings.Repeat("[", maxInstanceNesting+1) + strings.Repeat("]", maxInstanceNesting+1)},
		{"a very deep instance", `true`, strings.Repeat(`{"a":`, 1<<20)},
	}
	for _, test := range tests {
		bounded(t, test.name, func() {
			c, err := ParseConstraint(test.schema)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				return
			}
			err = c.Check(test.instance)
			if !errors.Is(err, ErrTooCostly) || misfitAt(t, err) != "" {
				t.Errorf("%s: Check = %v, want ErrTooCostly", test.name, err)
			}
		})
	}
}

// TestConstraintLarge: what is large and not dear is decided.
func TestConstraintLarge(t *testing.T) {
	text := strings.Repeat("a", 30000)
	tests := []struct{ name, schema, instance, want string }{
		{"a long text that is no other", `{"items":{"enum":["` + strings.Repeat("b", 20000) + `"]}}`, `["` + strings.Repeat("a", 200000) + `"]`, "/0"},
		{"equal texts", `{"items":{"const":"` + text + `"}}`, many(8, `"`+text+`"`), fits},
		{"unique", `{"uniqueItems":true}`, manyNumbers(30000), fits},
		{"not unique", `{"uniqueItems":true}`, many(30000, `0`), ""},
		{"many members", `{"additionalProperties":{"type":"number"},"propertyNames":{"pattern":"^m[0-9]+$"}}`, manyMembers(15000), fits},
		{"many names", `{"required":[` + names(5000) + `]}`, manyMembers(5000), fits},
		{"a long chain", chain(900, `{"$ref":"#/$defs/%d"}`), `1`, fits},
		{"a deep instance", `{"items":{"$ref":"#"}}`, strings.Repeat("[", maxInstanceNesting) + strings.Repeat("]", maxInstanceNesting), fits},
	}
	for _, test := range tests {
		bounded(t, test.name, func() {
			if err := mustParse(t, test.schema).Check(test.instance); misfitAt(t, err) != test.want {
				t.Errorf("%s: Check = %v, want %q", test.name, err, test.want)
			}
		})
	}
}

func many(n int, s string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(s+",", n), ",") + "]"
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func manyMembers(n int) string { return `{` + members(n) + `}` }

func manyNumbers(n int) string {
	b := []byte{'['}
	for i := range n {
		b = append(strconv.AppendInt(b, int64(i), 10), ',')
	}
	b[len(b)-1] = ']'
	return string(b)
}

func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d",`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// TestConstraintTooLarge: the caps of the text, at the cap and one beyond.
func TestConstraintTooLarge(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"not":`, n-1) + `{}` + strings.Repeat(`}`, n-1) }
	patterns := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"pattern":"a%d"},`, i)
		}
		return `{"allOf":[` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	mixed := func(n int) string {
		return strings.Replace(patterns(n), `[`, `[{"patternProperties":{"b":true,"c":true}},`, 1)
	}
	tests := []struct {
		name, schema string
		want         error // nil: it is read
	}{
		{"text", `{"title":"` + strings.Repeat("a", maxText-12) + `"}`, nil},
		{"text", `{"title":"` + strings.Repeat("a", maxText-11) + `"}`, errTextTooLong},
		{"10 MB", `{"title":"` + strings.Repeat("a", 10<<20) + `"}`, errTextTooLong},
		{"10 MB of schemas", `{"allOf":[` + strings.Repeat(`{},`, 3<<20) + `{}]}`, errTextTooLong},
		{"nesting", nested(maxNesting), nil},
		{"nesting", nested(maxNesting + 1), errTooDeep},
		{"deep", strings.Repeat(`{"not":`, 9000), errTooDeep},
		{"deep", strings.Repeat(`[`, 60000), errTooDeep},
		{"brackets in a string", `{"title":"\"` + strings.Repeat(`[{`, 1000) + `\\"}`, nil},
		{"patterns", patterns(maxPatterns), nil},
		{"patterns", patterns(maxPatterns + 1), errManyPatterns},
		{"patterns and names", mixed(maxPatterns - 2), nil},
		{"patterns and names", mixed(maxPatterns - 1), errManyPatterns},
		{"a pattern", `{"pattern":"` + strings.Repeat("é", maxPattern) + `"}`, nil},
		{"a pattern", `{"pattern":"` + strings.Repeat("é", maxPattern+1) + `"}`, errPatternLong},
		{"a name", `{"patternProperties":{"` + strings.Repeat("a", maxPattern+1) + `":true}}`, errPatternLong},
		{"(a+)+$", `{"pattern":"(a+)+$"}`, errPatternAmbiguous},
		{"self", `{"$ref":"#"}`, errCycle},
		{"self, under allOf", `{"allOf":[{"$ref":"#"}]}`, errCycle},
		{"self, under not", `{"not":{"$ref":"#"}}`, errCycle},
		{"self, under if", `{"if":{"$ref":"#"}}`, errCycle},
		{"self, under then", `{"if":true,"then":{"$ref":"#"}}`, errCycle},
		{"self, under else", `{"else":{"anyOf":[true,{"$ref":"#"}]},"if":true}`, errCycle},
		{"self, under dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, errCycle},
		{"self, unused", `{"$defs":{"a":{"oneOf":[{"$ref":"#/$defs/a"}]}}}`, errCycle},
		{"two", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, errCycle},
		{"a long circle", strings.Replace(chain(1500, `{"$ref":"#/$defs/%d"}`), `"1500":true`, `"1500":{"$ref":"#"}`, 1), errCycle},
		{"twice, not in a circle", `{"$defs":{"a":{"type":"number"}},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}`, nil},
		{"a circle that goes down", `{"properties":{"a":{"$ref":"#"}},"propertyNames":{"$ref":"#"}}`, nil},
	}
	for _, test := range tests {
		bounded(t, test.name, func() {
			_, err := ParseConstraint(test.schema)
			if misfitAt(t, err); !errors.Is(err, test.want) {
				t.Errorf("%s: ParseConstraint(%.60s…) = %.200v, want %v", test.name, test.schema, err, test.want)
			}
		})
	}
}

// TestConstraintDearToRead: the largest constraints of each kind are read in
// bounded time and memory.
func TestConstraintDearToRead(t *testing.T) {
	fill := func(head, part, tail string) string {
		return head + strings.Repeat(part+",", (maxText-len(head)-len(tail)-len(part))/(len(part)+1)) + part + tail
	}
	long := strings.Repeat("x", maxText/2)
	for name, schema := range map[string]string{
		"schemas":              fill(`{"allOf":[`, `{}`, `]}`),
		"schemas below a name": fill(`{"properties":{"`+long+`":{"allOf":[`, `{}`, `]}}}`),
		"references":           fill(`{"$defs":{"a":true},"anyOf":[`, `{"$ref":"#/$defs/a"}`, `]}`),
		"references below":     fill(`{"properties":{"`+long+`":{"allOf":[`, `{"$ref":"#/properties"}`, `]}}}`),
		"names":                `{"required":[` + names(7000) + `]}`,
		"values":               fill(`{"enum":[`, `[]`, `]}`),
		"a chain":              chain(1900, `{"$ref":"#/$defs/%d"}`),
		"nested properties":    strings.Repeat(`{"items":`, maxNesting-2) + `{"anyOf":` + many(12000, `true`) + `}` + strings.Repeat(`}`, maxNesting-2),
	} {
		bounded(t, name, func() {
			_, err := ParseConstraint(schema)
			misfitAt(t, err)
		})
	}
	// As large as patterns get, and as broad: nothing is left for a 33rd.
	pattern := func(n int) string {
		return fmt.Sprintf(`{"pattern":"([\\p{L}\\P{Lu}\\p{Greek}\\p{Han}\\S%s]){%d}"}`, strings.Repeat(`\\P{L}\\S`, 20), n)
	}
	bounded(t, "patterns", func() { mustParse(t, `{"allOf":`+many(maxPatterns-1, pattern(30))+`}`) })
	bounded(t, "large patterns", func() {
		if _, err := ParseConstraint(`{"allOf":` + many(maxPatterns, pattern(990)) + `}`); !errors.Is(err, errPatternSize) {
			t.Errorf("large patterns: %v, want errPatternSize", err)
		}
	})
}

// TestDecimalExact compares with arithmetic that has no bounds.
func TestDecimalExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func() string {
		text := strconv.FormatInt(r.Int64N(1<<r.IntN(54))-r.Int64N(1<<r.IntN(54)), 10)
		switch r.IntN(3) {
		case 0:
			return text
		case 1:
			return text + "." + strconv.Itoa(r.IntN(1000)) // of at most 19 digits
		}
		return text + "e" + strconv.Itoa(r.IntN(60)-30)
	}
	for range 20000 {
		a, b := number(), number()
		x, ok := parseDecimal(a)
		y, ok2 := parseDecimal(b)
		if !ok || !ok2 {
			t.Fatalf("parseDecimal(%s), parseDecimal(%s) = %v, %v", a, b, ok, ok2)
		}
		p, _ := new(big.Rat).SetString(a)
		q, _ := new(big.Rat).SetString(b)
		if got, want := x.compare(y), p.Cmp(q); got != want {
			t.Fatalf("compare(%s, %s) = %d, want %d", a, b, got, want)
		}
		if got, want := x.integer(), p.IsInt(); got != want {
			t.Fatalf("integer(%s) = %v, want %v", a, got, want)
		}
		if q.Sign() != 0 {
			if got, want := x.multipleOf(y), new(big.Rat).Quo(p, q).IsInt(); got != want {
				t.Fatalf("multipleOf(%s, %s) = %v, want %v", a, b, got, want)
			}
		}
		if n, ok := x.count(); ok != (p.IsInt() && p.Sign() >= 0) || ok && p.Cmp(big.NewRat(int64(n), 1)) != 0 && n != maxCount {
			t.Fatalf("count(%s) = %d, %v", a, n, ok)
		}
	}
}

// usual is a constraint as mandates have them, and an action that it allows.
const (
	usual = `{"additionalProperties":false,"properties":{"amount":{"maximum":5000,"minimum":0,"type":"number"},"category":{"enum":["coffee.green","equipment.coffee"]},` +
		`"currency":{"const":"EUR"},"note":{"maxLength":200,"type":"string"},"supplier":{"pattern":"^did:[a-z]+:[a-z0-9.]+$","type":"string"}},"required":["amount","currency"],"type":"object"}`
	usualAction = `{"amount":1249.5,"category":"coffee.green","currency":"EUR","note":"a lot of green coffee","supplier":"did:web:roaster.example"}`
)

// TestConstraintUsualCost counts the steps of a usual constraint, which are far
// from the budget.
func TestConstraintUsualCost(t *testing.T) {
	c := mustParse(t, usual)
	doc, misfit := parseDocument(usualAction)
	if misfit != nil {
		t.Fatal(misfit)
	}
	misfit, steps := c.evaluate(doc)
	if misfit != nil || steps > 500 {
		t.Errorf("evaluate = %v in %d steps, want at most 500", misfit, steps)
	}
}

func BenchmarkConstraintCheck(b *testing.B) {
	c := mustParse(b, usual)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Check(usualAction); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseConstraint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustParse(b, usual)
	}
}
