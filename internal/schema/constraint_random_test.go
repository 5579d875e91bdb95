package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// A writer writes random schemas and instances that have to do with one another.
type writer struct{ *rand.Rand }

func (w writer) pick(list ...any) any { return list[w.IntN(len(list))] }

func (w writer) instance(depth int) any {
	if depth == 0 || w.IntN(3) == 0 {
		return w.pick(nil, true, false, 0, 1, -1, 2, 3, 4, 6, 0.5, 1.5, 1e21, -7.25, "", "a", "b", "ab", "abc", "é💩", "a1")
	}
	if w.IntN(2) == 0 {
		list := make([]any, w.IntN(4))
		for i := range list {
			list[i] = w.instance(depth - 1)
		}
		return list
	}
	object := map[string]any{}
	for range w.IntN(4) {
		object[w.name()] = w.instance(depth - 1)
	}
	return object
}

func (w writer) name() string { return w.pick("a", "b", "ab", "c~/% d", "").(string) }

func (w writer) schemas(depth int) []any {
	list := make([]any, 1+w.IntN(3))
	for i := range list {
		list[i] = w.schema(depth)
	}
	return list
}

func (w writer) named(depth int, names ...any) map[string]any {
	m := map[string]any{}
	for range 1 + w.IntN(3) {
		m[w.pick(names...).(string)] = w.schema(depth)
	}
	return m
}

func (w writer) names() []any {
	return w.pick([]any{}, []any{"a"}, []any{"b", "a"}, []any{"c~/% d"}, []any{"", "ab"}).([]any)
}

func (w writer) schema(depth int) any {
	if depth == 0 || w.IntN(8) == 0 {
		return w.IntN(4) > 0
	}
	s := map[string]any{}
	for range 1 + w.IntN(3) {
		w.keyword(s, depth-1)
	}
	return s
}

func (w writer) keyword(s map[string]any, depth int) {
	names := []any{"a", "b", "ab", "c~/% d", ""}
	switch w.IntN(23) {
	case 0:
		s["type"] = w.pick("null", "boolean", "object", "array", "number", "integer", "string", []any{"object", "array"}, []any{"string", "integer"})
	case 1: // of anything but strings the library compares some wrong, and it takes [] for no enum
		s["enum"] = w.pick([]any{"a"}, []any{"a", "ab", ""})
	case 2:
		s["const"] = w.pick("a", "", "é💩")
	case 3:
		s[w.pick("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum").(string)] = w.pick(0, 1, 1.5, -1, 3, 1e21)
	case 4:
		s["multipleOf"] = w.pick(1, 2, 0.5, 1.5, 3)
	case 5:
		s[w.pick("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties").(string)] = w.pick(0, 1, 2, 3)
	case 6:
		s["pattern"] = w.pick("a", "^a", "b$", "^[ab]+$", "^.{2}$")
	case 7:
		s["uniqueItems"] = true
	case 8:
		s["required"] = w.names()
	case 9:
		s["dependentRequired"] = map[string]any{w.name(): w.names()}
	case 10:
		s["dependentSchemas"] = w.named(depth, names...)
	case 11:
		s["properties"] = w.named(depth, names...)
	case 12:
		s["patternProperties"] = w.named(depth, "a", "^b", "^$", "c")
	case 13:
		s["additionalProperties"] = w.schema(depth)
	case 14:
		s["propertyNames"] = w.schema(depth)
	case 15:
		s["items"] = w.schema(depth)
	case 16:
		s["prefixItems"] = w.schemas(depth)
	case 17:
		s["contains"] = w.schema(depth)
		s[w.pick("minContains", "maxContains").(string)] = w.IntN(3)
	case 18:
		s[w.pick("allOf", "anyOf", "oneOf").(string)] = w.schemas(depth)
	case 19:
		s["not"] = w.schema(depth)
	case 20:
		s["if"], s["then"] = w.schema(depth), w.schema(depth)
	case 21:
		s["if"], s["else"] = w.schema(depth), w.schema(depth)
	case 22:
		s["title"], s["format"] = "x", "email"
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConstraintAsTheLibrary compares with the library that our own schemas go
// through, on schemas that it decides rightly (rfcs/adr/0007).
func TestConstraintAsTheLibrary(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(3, 4))}
	fit, misfit := 0, 0
	for range 200 {
		schema := mustJSON(t, w.schema(4))
		c := mustParse(t, schema)
		library := compileText(t, schema)
		for range 60 {
			instance := mustJSON(t, w.instance(3))
			got, want := c.Check(instance), check(library, "x", instance)
			if (got == nil) != (want == nil) {
				t.Fatalf("%s: Check(%s) = %v, and of the library %v", schema, instance, got, want)
			}
			if got == nil {
				fit++
			} else {
				misfit++
			}
		}
	}
	if fit < 1000 || misfit < 1000 {
		t.Errorf("%d instances fit and %d do not: too few of one", fit, misfit)
	}
}

// FuzzConstraint: whatever comes in, reading and checking end in a verdict within
// the budget, and in the same one again.
func FuzzConstraint(f *testing.F) {
	w := writer{rand.New(rand.NewPCG(5, 6))}
	for range 30 {
		schema, err := json.Marshal(w.schema(4))
		if err != nil {
			f.Fatal(err)
		}
		instance, err := json.Marshal(w.instance(3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(schema), string(instance))
	}
	for _, test := range refused {
		f.Add(test.schema, test.pointer)
	}
	f.Add(usual, usualAction)
	f.Add(doubling(30, "allOf"), `{}`)
	f.Add(`{"items":{"$ref":"#"},"pattern":"^(\\s|[^\\S-])+$"}`, `[["a",1e10000000]]`)
	f.Fuzz(func(t *testing.T, schema, instance string) {
		c, err := ParseConstraint(schema)
		if err != nil {
			misfitAt(t, err)
			return
		}
		got := misfitAt(t, c.Check(instance))
		if again := misfitAt(t, c.Check(instance)); again != got {
			t.Errorf("%q, then %q", got, again)
		}
		doc, misfit := parseDocument(strings.TrimSpace(instance))
		if misfit != nil || len(instance) > maxInstance || nestsDeeper(instance, maxInstanceNesting) {
			return
		}
		misfit, steps := c.evaluate(doc)
		if steps > maxSteps || misfit != nil && misfit.Why == ErrTooCostly && steps != maxSteps {
			t.Errorf("%d steps, %v", steps, misfit)
		}
	})
}
