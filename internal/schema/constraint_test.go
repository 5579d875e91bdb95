package schema

import (
	"errors"
	"strings"
	"testing"
)

func mustParse(tb testing.TB, text string) *Constraint {
	tb.Helper()
	c, err := ParseConstraint(text)
	if err != nil {
		tb.Fatalf("ParseConstraint(%.200s) = %v", text, err)
	}
	return c
}

// fits stands for no misfit in a table.
const fits = "fits"

// misfitAt returns the pointer of a misfit, or fits.
func misfitAt(tb testing.TB, err error) string {
	tb.Helper()
	if err == nil {
		return fits
	}
	m, ok := errors.AsType[*Misfit](err)
	if !ok || m.Why == nil {
		tb.Fatalf("the error is %#v, not a *Misfit with a reason", err)
	}
	return m.Pointer
}

func TestConstraintCheck(t *testing.T) {
	tests := []struct {
		schema string
		want   [][2]string // instance, and fits or the pointer of the misfit
	}{
		{`true`, [][2]string{{`1`, fits}, {`{}`, fits}}},
		{`false`, [][2]string{{`1`, ""}, {`null`, ""}}},
		{`{}`, [][2]string{{`null`, fits}}},
		{`{"properties":{"a":false}}`, [][2]string{{`{}`, fits}, {`{"a":1}`, "/a"}}},

		{`{"type":"object"}`, [][2]string{{`{}`, fits}, {`[]`, ""}, {`"x"`, ""}, {`null`, ""}}},
		{`{"type":"array"}`, [][2]string{{`[]`, fits}, {`{}`, ""}}},
		{`{"type":"string"}`, [][2]string{{`""`, fits}, {`0`, ""}}},
		{`{"type":"boolean"}`, [][2]string{{`false`, fits}, {`0`, ""}, {`"false"`, ""}}},
		{`{"type":"null"}`, [][2]string{{`null`, fits}, {`0`, ""}, {`""`, ""}, {`false`, ""}}},
		{`{"type":"number"}`, [][2]string{{`1`, fits}, {`1.5`, fits}, {`true`, ""}, {`"1"`, ""}}},
		{`{"type":"integer"}`, [][2]string{{`1`, fits}, {`0`, fits}, {`-0`, fits}, {`1.0`, fits}, {`1e+21`, fits}, {`10e-1`, fits}, {`1.5`, ""}, {`1e-7`, ""}, {`true`, ""}}},
		{`{"type":["integer","null"]}`, [][2]string{{`1`, fits}, {`null`, fits}, {`1.5`, ""}, {`"x"`, ""}}},

		{`{"enum":["a",1,null,{"b":[1.0]}]}`, [][2]string{{`"a"`, fits}, {`1`, fits}, {`1.0`, fits}, {`null`, fits}, {`{"b":[1]}`, fits}, {`true`, ""}, {`"1"`, ""}, {`{"b":1}`, ""}, {`{}`, ""}}},
		{`{"enum":[]}`, [][2]string{{`null`, ""}, {`{}`, ""}}},
		{`{"const":{"a":1,"b":[true]}}`, [][2]string{{`{"b":[true],"a":1}`, fits}, {`{"a":1,"b":[1]}`, ""}, {`{"a":true,"b":[true]}`, ""}, {`{"a":1}`, ""}}},
		{`{"const":0}`, [][2]string{{`0`, fits}, {`-0`, fits}, {`0.0`, fits}, {`false`, ""}, {`""`, ""}, {`null`, ""}}},
		{`{"const":["a","b"]}`, [][2]string{{`["a","b"]`, fits}, {`["a\"1:b"]`, ""}, {`["a\":b"]`, ""}, {`["ab"]`, ""}, {`["b","a"]`, ""}}},
		{`{"const":"a","enum":["a","b"]}`, [][2]string{{`"a"`, fits}, {`"b"`, ""}, {`"c"`, ""}}},

		{`{"minimum":1.1}`, [][2]string{{`1.1`, fits}, {`1.1000000000000003`, fits}, {`1.0999999999999999`, ""}, {`-2`, ""}, {`"x"`, fits}}},
		{`{"maximum":1000}`, [][2]string{{`1000`, fits}, {`1e+3`, fits}, {`1000.0000000000001`, ""}, {`1e+300`, ""}, {`-1e+300`, fits}}},
		{`{"exclusiveMinimum":0}`, [][2]string{{`5e-324`, fits}, {`0`, ""}, {`-0`, ""}, {`-5e-324`, ""}}},
		{`{"exclusiveMaximum":-3}`, [][2]string{{`-3`, ""}, {`-3.0000000000000004`, fits}, {`-2.9999999999999996`, ""}, {`-30`, fits}}},
		{`{"maximum":9007199254740993}`, [][2]string{{`9007199254740993`, fits}, {`9007199254740994`, ""}, {`9007199254740992`, fits}}},
		{`{"multipleOf":0.01}`, [][2]string{{`0.07`, fits}, {`19.99`, fits}, {`0.075`, ""}, {`0`, fits}, {`-4.35`, fits}, {`1e+300`, fits}, {`1e-300`, ""}}},
		{`{"multipleOf":7e-300}`, [][2]string{{`7e+300`, fits}, {`1e+300`, ""}, {`1.4e-299`, fits}}},
		{`{"multipleOf":3}`, [][2]string{{`9007199254740990`, fits}, {`9007199254740991`, ""}, {`1.2e+21`, fits}, {`1e+21`, ""}, {`1.5`, ""}}},

		{`{"minLength":2,"maxLength":3}`, [][2]string{{`"a"`, ""}, {`"ab"`, fits}, {`"abc"`, fits}, {`"abcd"`, ""}, {`"éé"`, fits}, {`"💩"`, ""}, {`"💩💩💩"`, fits}, {`7`, fits}}},
		{`{"minLength":1e+21}`, [][2]string{{`"a"`, ""}}},
		{`{"maxLength":1e+21}`, [][2]string{{`"a"`, fits}}},
		{`{"pattern":"b"}`, [][2]string{{`"abc"`, fits}, {`"ac"`, ""}, {`1`, fits}}},

		{`{"maxItems":2,"minItems":1}`, [][2]string{{`[]`, ""}, {`[1]`, fits}, {`[1,2]`, fits}, {`[1,2,3]`, ""}, {`"xxx"`, fits}}},
		{`{"items":{"type":"string"},"prefixItems":[{"type":"number"},true]}`, [][2]string{{`[1,2,"x"]`, fits}, {`[1]`, fits}, {`[]`, fits}, {`["x"]`, "/0"}, {`[1,2,"x",3]`, "/3"}}},
		{`{"prefixItems":[false]}`, [][2]string{{`[]`, fits}, {`[1]`, "/0"}}},
		{`{"uniqueItems":true}`, [][2]string{{`[1,true,"1",[1],{"a":1}]`, fits}, {`[1,1.0]`, ""}, {`[{"a":1,"b":2},{"b":2,"a":1}]`, ""}, {`[]`, fits}, {`[["ab"],["a","b"]]`, fits}}},
		{`{"uniqueItems":false}`, [][2]string{{`[1,1]`, fits}}},
		{`{"contains":{"const":1}}`, [][2]string{{`[2,1]`, fits}, {`[]`, ""}, {`[2]`, ""}, {`{}`, fits}}},
		{`{"contains":{"const":1},"maxContains":2,"minContains":2}`, [][2]string{{`[1]`, ""}, {`[1,1]`, fits}, {`[1,1,1]`, ""}}},
		{`{"contains":{"const":1},"minContains":0}`, [][2]string{{`[]`, fits}}},
		{`{"minContains":2}`, [][2]string{{`[]`, fits}}},

		{`{"maxProperties":2,"minProperties":1}`, [][2]string{{`{}`, ""}, {`{"a":1}`, fits}, {`{"a":1,"b":1,"c":1}`, ""}}},
		{`{"required":["a","b"]}`, [][2]string{{`{"a":null,"b":1}`, fits}, {`{"a":1}`, ""}, {`[]`, fits}}},
		{`{"properties":{"a":{"required":["b"]}}}`, [][2]string{{`{"a":{}}`, "/a"}, {`{"a":{"b":1}}`, fits}}},
		{`{"dependentRequired":{"a":["b"],"c":[]}}`, [][2]string{{`{}`, fits}, {`{"a":1}`, ""}, {`{"a":1,"b":1}`, fits}, {`{"c":1}`, fits}}},
		{`{"dependentSchemas":{"a":{"properties":{"b":{"type":"number"}}}}}`, [][2]string{{`{"b":"x"}`, fits}, {`{"a":1,"b":"x"}`, "/b"}, {`{"a":1,"b":1}`, fits}}},
		{`{"additionalProperties":false,"patternProperties":{"^x-":{"type":"string"}},"properties":{"a":true}}`,
			[][2]string{{`{"a":1,"x-b":"c"}`, fits}, {`{"b":1}`, "/b"}, {`{"x-b":1}`, "/x-b"}, {`{"ax-b":"c"}`, "/ax-b"}}},
		{`{"additionalProperties":{"type":"number"},"properties":{"a":{"type":"string"}}}`, [][2]string{{`{"a":"x","b":1}`, fits}, {`{"b":"x"}`, "/b"}, {`{"a":1}`, "/a"}}},
		{`{"patternProperties":{"a":{"minimum":3},"b":{"maximum":5}}}`, [][2]string{{`{"ab":4}`, fits}, {`{"ab":2}`, "/ab"}, {`{"ab":6}`, "/ab"}, {`{"c":9}`, fits}}},
		{`{"propertyNames":{"maxLength":2}}`, [][2]string{{`{"ab":1}`, fits}, {`{"abc":1}`, "/abc"}, {`{}`, fits}}},
		{`{"propertyNames":{"enum":["a","b"]}}`, [][2]string{{`{"a":1}`, fits}, {`{"c":1}`, "/c"}}},

		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, [][2]string{{`1`, fits}, {`0`, ""}, {`3`, ""}}},
		{`{"anyOf":[{"type":"string"},{"minimum":2}]}`, [][2]string{{`"x"`, fits}, {`2`, fits}, {`1`, ""}}},
		{`{"anyOf":[{"properties":{"a":false}},{"items":false,"required":["c"]}]}`, [][2]string{{`{"a":1}`, ""}, {`{"a":1,"c":1}`, fits}, {`[1]`, fits}}},
		{`{"oneOf":[{"multipleOf":2},{"multipleOf":3}]}`, [][2]string{{`2`, fits}, {`3`, fits}, {`6`, ""}, {`1`, ""}}},
		{`{"not":{"const":1}}`, [][2]string{{`1`, ""}, {`2`, fits}}},
		{`{"not":{"not":{"const":1}}}`, [][2]string{{`1`, fits}, {`2`, ""}}},
		{`{"else":{"minimum":3},"if":{"type":"integer"},"then":{"maximum":5}}`, [][2]string{{`4`, fits}, {`6`, ""}, {`3.5`, fits}, {`2.5`, ""}}},
		{`{"if":{"const":1}}`, [][2]string{{`1`, fits}, {`2`, fits}}},
		{`{"else":false,"then":false}`, [][2]string{{`1`, fits}}},
		{`{"if":true,"then":{"properties":{"a":false}}}`, [][2]string{{`{"a":1}`, "/a"}}},

		{`{"$defs":{"p":{"minimum":1}},"properties":{"a":{"$ref":"#/$defs/p","maximum":3}}}`, [][2]string{{`{"a":2}`, fits}, {`{"a":0}`, "/a"}, {`{"a":4}`, "/a"}}},
		{`{"properties":{"a":{"$ref":"#"},"b":{"type":"string"}}}`, [][2]string{{`{"a":{"a":{"b":"x"}}}`, fits}, {`{"a":{"a":{"b":1}}}`, "/a/a/b"}}},
		{`{"$defs":{"a~b/c% d":{"type":"string"}},"items":{"$ref":"#/$defs/a~0b~1c%25%20d"}}`, [][2]string{{`["x"]`, fits}, {`[1]`, "/0"}}},
		{`{"$defs":{"é":{"type":"string"}},"items":{"$ref":"#/%24defs/%C3%A9"}}`, [][2]string{{`[1]`, "/0"}}},
		{`{"$defs":{"a#":false},"items":{"$ref":"#/$defs/a%23"}}`, [][2]string{{`[1]`, "/0"}}},
		{`{"$defs":{"":{"":{"items":false}}},"items":true}`, nil},
		{`{"$defs":{"":false},"items":{"$ref":"#/$defs/"}}`, [][2]string{{`[1]`, "/0"}}},
		{`{"allOf":[{"$ref":"#/allOf/1"},{"type":"string"}]}`, [][2]string{{`"x"`, fits}, {`1`, ""}}},
		{`{"$id":"https://a.example/limits#","$defs":{"p":false},"$ref":"#/$defs/p"}`, [][2]string{{`1`, ""}}},

		{`{"$comment":"c","$id":"urn:x","$schema":"https://json-schema.org/draft/2020-12/schema#","default":{"maxmum":1},"deprecated":true,"description":"d",
			"examples":[{"$ref":"http://x"}],"format":"email","readOnly":false,"title":"t","writeOnly":true}`, [][2]string{{`"no mail"`, fits}}},

		{`{"additionalProperties":{"additionalProperties":{"additionalProperties":{"items":{"type":"number"}}}}}`,
			[][2]string{{`{"a~b":{"c/d":{"e% f":[0,"x"]}}}`, "/a~0b/c~1d/e% f/1"}, {`{"":{"":{"":["x"]}}}`, "////0"}}},
	}
	for _, test := range tests {
		if test.want == nil {
			if _, err := ParseConstraint(test.schema); err == nil {
				t.Errorf("ParseConstraint(%s) = nil error", test.schema)
			}
			continue
		}
		c := mustParse(t, test.schema)
		for _, w := range test.want {
			err := c.Check(w[0])
			if got := misfitAt(t, err); got != w[1] {
				t.Errorf("%s: Check(%s) = %v, want %q", test.schema, w[0], err, w[1])
			}
		}
	}
}

// TestConstraintFirstMisfit: of several misfits the same one is reported each time.
func TestConstraintFirstMisfit(t *testing.T) {
	c := mustParse(t, `{"additionalProperties":{"type":"string"}}`)
	for range 20 {
		if got := misfitAt(t, c.Check(`{"d":1,"c":1,"b":1,"a":"x"}`)); got != "/b" {
			t.Fatalf("the misfit is at %q, want /b", got)
		}
	}
}

// TestConstraintWhere: a misfit names the keyword, but not at any length.
func TestConstraintWhere(t *testing.T) {
	c := mustParse(t, `{"properties":{"a/b":{"maximum":1}}}`)
	if err := c.Check(`{"a/b":2}`); !strings.Contains(err.Error(), "/properties/a~1b/maximum") {
		t.Errorf("error %q does not name the keyword", err)
	}
	name := strings.Repeat("é", 9000)
	c = mustParse(t, `{"$defs":{"`+name+`":{"maximum":1}},"$ref":"#/$defs/`+name+`"}`)
	if err := c.Check(`2`); err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "/maximum") {
		t.Errorf("error %q", err)
	}
}

func TestConstraintIsNotJSON(t *testing.T) {
	for _, text := range []string{``, `{`, `{}{}`, `{} x`, `nul`, "\"\xff\"", `[1,]`, `01`, `"` + "\x01" + `"`} {
		if _, err := ParseConstraint(text); err == nil {
			t.Errorf("ParseConstraint(%q) = nil error", text)
		} else {
			misfitAt(t, err)
		}
		if err := mustParse(t, `true`).Check(text); misfitAt(t, err) == fits {
			t.Errorf("Check(%q) = nil", text)
		}
	}
}

// refused are schemas that are not constraints, and where.
var refused = []struct{ schema, pointer string }{
	{`1`, ""}, {`null`, ""}, {`"x"`, ""}, {`[]`, ""},

	// What is not known is not ignored.
	{`{"maxmum":1}`, "/maxmum"},
	{`{"properties":{"a":{"Maximum":1}}}`, "/properties/a/Maximum"},
	{`{"x~/y":1}`, "/x~0~1y"},
	{`{"$anchor":"a"}`, "/$anchor"},
	{`{"$dynamicRef":"#a"}`, "/$dynamicRef"},
	{`{"$dynamicAnchor":"a"}`, "/$dynamicAnchor"},
	{`{"$recursiveRef":"#"}`, "/$recursiveRef"},
	{`{"$vocabulary":{}}`, "/$vocabulary"},
	{`{"id":"a"}`, "/id"},
	{`{"definitions":{}}`, "/definitions"},
	{`{"dependencies":{}}`, "/dependencies"},
	{`{"additionalItems":false}`, "/additionalItems"},
	{`{"unevaluatedItems":false}`, "/unevaluatedItems"},
	{`{"unevaluatedProperties":false}`, "/unevaluatedProperties"},
	{`{"contentEncoding":"base64"}`, "/contentEncoding"},
	{`{"contentMediaType":"a/b"}`, "/contentMediaType"},
	{`{"contentSchema":true}`, "/contentSchema"},
	{`{"formatMinimum":"x"}`, "/formatMinimum"},

	{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema"},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema##"}`, "/$schema"},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema/"}`, "/$schema"},
	{`{"$schema":1}`, "/$schema"},
	{`{"not":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}`, "/not/$schema"},
	{`{"$id":1}`, "/$id"},
	{`{"$id":"a#b"}`, "/$id"},
	{`{"$id":"a##"}`, "/$id"},
	{`{"$id":"https://json-schema.org/draft/2020-12/schema"}`, "/$id"},
	{`{"$id":"%"}`, "/$id"},
	{`{"$defs":{"a":{"$id":"b"}}}`, "/$defs/a/$id"},

	{`{"$ref":1}`, "/$ref"},
	{`{"$ref":""}`, "/$ref"},
	{`{"$ref":"a"}`, "/$ref"},
	{`{"$ref":"#a"}`, "/$ref"},
	{`{"$ref":"#/"}`, "/$ref"},
	{`{"$ref":"#/$defs"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"#/$defs/b"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"#/$defs/a/"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"#/$defs/a#"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"##/$defs/a"}`, "/$ref"},
	{`{"$defs":{"a#":true},"$ref":"#/$defs/a#"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"#/$defs/%61%"}`, "/$ref"},
	{`{"$defs":{"~":true},"$ref":"#/$defs/~"}`, "/$ref"},
	{`{"$defs":{"~":true},"$ref":"#/$defs/~2"}`, "/$ref"},
	{`{"$defs":{"a":true},"$ref":"urn:x#/$defs/a"}`, "/$ref"},
	{`{"$defs":{"a":true},"$id":"urn:x","$ref":"urn:x#/$defs/a"}`, "/$ref"},
	{`{"allOf":[true,{"$ref":"#/allOf/00"}]}`, "/allOf/1/$ref"},
	{`{"const":{"a":true},"$ref":"#/const/a"}`, "/$ref"},
	{`{"default":{"a":true},"items":{"$ref":"#/default"}}`, "/items/$ref"},
	{`{"examples":[true],"items":{"$ref":"#/examples/0"}}`, "/items/$ref"},
	{`{"dependentRequired":{"a":[]},"items":{"$ref":"#/dependentRequired/a"}}`, "/items/$ref"},

	{`{"title":1}`, "/title"}, {`{"description":null}`, "/description"}, {`{"$comment":[]}`, "/$comment"}, {`{"format":1}`, "/format"},
	{`{"deprecated":1}`, "/deprecated"}, {`{"readOnly":"true"}`, "/readOnly"}, {`{"writeOnly":null}`, "/writeOnly"}, {`{"examples":{}}`, "/examples"},

	{`{"type":"strinA"}`, "/type"}, {`{"type":"any"}`, "/type"}, {`{"type":""}`, "/type"}, {`{"type":1}`, "/type"}, {`{"type":[]}`, "/type"},
	{`{"type":{}}`, "/type"}, {`{"type":["string",1]}`, "/type"}, {`{"type":["string","string"]}`, "/type"}, {`{"type":[["string"]]}`, "/type"},
	{`{"enum":"a"}`, "/enum"}, {`{"enum":{}}`, "/enum"},
	{`{"minimum":"1"}`, "/minimum"}, {`{"maximum":null}`, "/maximum"}, {`{"exclusiveMinimum":true}`, "/exclusiveMinimum"}, {`{"exclusiveMaximum":[]}`, "/exclusiveMaximum"},
	{`{"multipleOf":0}`, "/multipleOf"}, {`{"multipleOf":-0.5}`, "/multipleOf"}, {`{"multipleOf":"1"}`, "/multipleOf"},
	{`{"minLength":-1}`, "/minLength"}, {`{"minLength":1.5}`, "/minLength"}, {`{"maxLength":"1"}`, "/maxLength"}, {`{"maxLength":1e-7}`, "/maxLength"},
	{`{"minItems":-1}`, "/minItems"}, {`{"maxItems":true}`, "/maxItems"}, {`{"minProperties":0.5}`, "/minProperties"}, {`{"maxProperties":-1e+21}`, "/maxProperties"},
	{`{"minContains":null}`, "/minContains"}, {`{"maxContains":-1}`, "/maxContains"}, {`{"uniqueItems":1}`, "/uniqueItems"},
	{`{"pattern":1}`, "/pattern"}, {`{"pattern":"("}`, "/pattern"}, {`{"patternProperties":{"(":true}}`, "/patternProperties/("},
	{`{"required":"a"}`, "/required"}, {`{"required":[1]}`, "/required/0"}, {`{"required":["a","b","a"]}`, "/required/2"}, {`{"required":true}`, "/required"},
	{`{"dependentRequired":[]}`, "/dependentRequired"}, {`{"dependentRequired":{"a":"b"}}`, "/dependentRequired/a"}, {`{"dependentRequired":{"a":["b","b"]}}`, "/dependentRequired/a/1"},

	{`{"properties":[]}`, "/properties"}, {`{"properties":{"a":1}}`, "/properties/a"}, {`{"patternProperties":1}`, "/patternProperties"}, {`{"patternProperties":{"a":[]}}`, "/patternProperties/a"},
	{`{"additionalProperties":null}`, "/additionalProperties"}, {`{"propertyNames":"a"}`, "/propertyNames"}, {`{"dependentSchemas":{"a":["b"]}}`, "/dependentSchemas/a"},
	{`{"items":[true]}`, "/items"}, {`{"prefixItems":[]}`, "/prefixItems"}, {`{"prefixItems":true}`, "/prefixItems"}, {`{"contains":1}`, "/contains"},
	{`{"allOf":[]}`, "/allOf"}, {`{"anyOf":{}}`, "/anyOf"}, {`{"oneOf":[true,1]}`, "/oneOf/1"}, {`{"not":[]}`, "/not"},
	{`{"if":1}`, "/if"}, {`{"then":1}`, "/then"}, {`{"else":1}`, "/else"}, {`{"$defs":{"a":1}}`, "/$defs/a"}, {`{"$defs":true}`, "/$defs"},
	{`{"$defs":{"unused":{"maxmum":1}}}`, "/$defs/unused/maxmum"},
	{`{"then":{"maxmum":1}}`, "/then/maxmum"},
}

func TestConstraintRefused(t *testing.T) {
	for _, test := range refused {
		_, err := ParseConstraint(test.schema)
		if got := misfitAt(t, err); got != test.pointer {
			t.Errorf("ParseConstraint(%s) = %v, want a misfit at %q", test.schema, err, test.pointer)
		}
	}
}

func TestDecimal(t *testing.T) {
	refused := []string{"1e400", "-1e400", "1e309", "1e-400", "1e10000000", "1e-10000000", "1e99999999999999999999", "12345678901234567891234", "0." + strings.Repeat("1", 20),
		strings.Repeat("0", 70), "1" + strings.Repeat("0", 63) + "1"}
	for _, text := range refused {
		if d, ok := parseDecimal(text); ok {
			t.Errorf("parseDecimal(%s) = %v", text, d)
		}
	}
	ascending := []string{"-1.7976931348623157e+308", "-1e+21", "-10", "-9.5", "-1", "-0.1", "-0.09", "-5e-324", "0", "5e-324", "1e-7", "0.01", "0.099", "0.1", "0.5", "1", "1.5",
		"2", "9", "10", "99", "100", "9007199254740991", "9007199254740992", "1e+21", "1.7976931348623157e+308"}
	for i, a := range ascending {
		for j, b := range ascending {
			x, ok := parseDecimal(a)
			y, ok2 := parseDecimal(b)
			if want := min(1, max(-1, i-j)); !ok || !ok2 || x.compare(y) != want {
				t.Errorf("compare(%s, %s) = %d, want %d", a, b, x.compare(y), want)
			}
			if same := string(x.appendKey(nil)) == string(y.appendKey(nil)); same != (i == j) {
				t.Errorf("the keys of %s and %s are the same: %v", a, b, same)
			}
		}
	}
	for _, same := range [][]string{{"1", "1.0", "10e-1", "0.1e1", "0.001e+3", "1E0"}, {"0", "-0", "0e5", "0.000", "0e10000"}, {"1e21", "1000000000000000000000"}} {
		for _, text := range same {
			x, ok := parseDecimal(same[0])
			y, ok2 := parseDecimal(text)
			if !ok || !ok2 || x.compare(y) != 0 || string(x.appendKey(nil)) != string(y.appendKey(nil)) || x.integer() != y.integer() {
				t.Errorf("%s = %v, %s = %v", same[0], x, text, y)
			}
		}
	}
}
