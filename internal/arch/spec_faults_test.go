package arch

import "testing"

// testSpec has the shapes of heading and table that SPEC.md uses.
const testSpec = `# Spec

## 5. Negotiation lifecycle
### 5.2 Transition rules
#### 5.2.1 Refusals
` + "```\n## 7. A heading in a listing is none\n```" + `
## Appendix B. Rules

| package | name | § | class | text |
|---|:--|---|---|---|
| wire | ` + "`size`" + ` | §5.2 | schema | at most \| n bytes |
| attest/cmpc | order | §5.2.1 | transition | out of order |

## Appendix C. Examples

| wire | other | §5 | schema | not a rule |
`

// testRules declares the two rules of testSpec.
var testRules = map[string]string{
	"SPEC.md": testSpec,
	"wire/a.go": `package wire
		var ErrSize = &Rule{Section: "5.2", Name: "size", Class: ClassSchema, Text: "at most " + "n bytes"}
		func NewRule(s, n string, c Class, t string) *Rule { return &Rule{Section: s, Name: n, Class: c, Text: t} }
		var zero = Rule{}`,
	"attest/cmpc/a.go": `package cmpc
		import w "` + module + `/wire"
		var rules = []*w.Rule{{"5.2.1", "order", w.ClassTransition, "out of order"}}`,
}

// with returns testRules with some files replaced or added.
func with(files map[string]string) map[string]string {
	all := make(map[string]string)
	for name, src := range testRules {
		all[name] = src
	}
	for name, src := range files {
		all[name] = src
	}
	return all
}

func TestCitationsFaults(t *testing.T) {
	cites := func(comment string) map[string]string {
		return map[string]string{"SPEC.md": testSpec, "wire/a.go": "package wire\n\n" + comment + "\nvar x int"}
	}
	verifyFaults(t, checkCitations, []faulty{
		{name: "known", src: cites("// x is limited (SPEC §5, §5.2-5.2.1 and §B). SPEC §5.2. RFC 8785, Section 3.2.3.")},
		{name: "not a citation", src: cites("// SPEC.md has no §99; SPECIAL §98.")},
		{name: "wrong", src: cites("// x is limited (SPEC §5.3)."), want: []string{`wire/a.go:3: cites "SPEC §5.3", but SPEC.md has no section 5.3`}},
		{name: "over two lines", src: cites("// x is limited by SPEC\n// §6.1 and §5."), want: []string{"no section 6.1"}},
		{name: "end of a range", src: cites("// SPEC §5.2-5.4"), want: []string{"no section 5.4"}},
		{name: "second of a list", src: cites("// SPEC §5, §8"), want: []string{"no section 8"}},
		{name: "appendix", src: cites("// SPEC §D"), want: []string{"no section D"}},
		{name: "heading in a listing", src: cites("// SPEC §7"), want: []string{"no section 7"}},
		{name: "inside a function", src: cites("func f() {\n\t_ = 1 // SPEC §5.9\n}"), want: []string{"no section 5.9"}},
		{name: "no SPEC.md", src: map[string]string{"wire/a.go": "package wire"}, want: []string{"SPEC.md"}},
	})
}

func TestRulesAppendixFaults(t *testing.T) {
	verifyFaults(t, checkRules, []faulty{
		{name: "equal", src: testRules},
		{
			name: "a Rule of another package is none",
			src:  with(map[string]string{"protocol/source/a.go": "package source\nvar r = &Rule{Name: \"dead-end\"}\nvar s = NewRule(\"x\")"}),
		},
		{
			name: "not in the appendix",
			src:  with(map[string]string{"wire/b.go": "package wire\nvar r = &Rule{Section: \"5\", Name: \"depth\", Class: ClassSchema, Text: \"t\"}"}),
			want: []string{"wire/b.go:2: add to the rules in the appendix of SPEC.md: | wire | depth | §5 | schema |"},
		},
		{
			name: "by constructor",
			src:  with(map[string]string{"offer/b.go": "package offer\nimport \"" + module + "/wire\"\nvar r = wire.NewRule(\"5\", \"gap\", wire.ClassBinding, \"t\")"}),
			want: []string{"| offer | gap | §5 | binding |"},
		},
		{
			name: "not in the source",
			src:  with(map[string]string{"attest/cmpc/a.go": "package cmpc"}),
			want: []string{"SPEC.md:14: no package-level rule in the source for | attest/cmpc | order | §5.2.1 | transition |"},
		},
		{
			name: "other class",
			src:  with(map[string]string{"wire/a.go": "package wire\nvar r = Rule{Section: \"5.2\", Name: \"size\", Class: ClassDigest, Text: \"t\"}"}),
			want: []string{"the source at wire/a.go:2 has | wire | size | §5.2 | digest |"},
		},
		{
			name: "other section, and one that does not exist",
			src:  with(map[string]string{"wire/a.go": "package wire\nvar r = Rule{Section: \"5.7\", Name: \"size\", Class: ClassSchema, Text: \"t\"}"}),
			want: []string{"section 5.7, which SPEC.md does not have", "SPEC.md has | wire | size | §5.2 | schema |"},
		},
		{
			name: "twice in the source",
			src:  with(map[string]string{"wire/b.go": "package wire\nvar r = Rule{Section: \"5\", Name: \"size\", Class: ClassSchema, Text: \"t\"}"}),
			want: []string{"wire/b.go:2: rule size is declared at wire/a.go:2 already"},
		},
		{
			name: "twice in SPEC.md",
			src:  with(map[string]string{"SPEC.md": testSpec + "\n## Appendix E. More Rules\n| wire | size | §5.2 | schema | t |\n"}),
			want: []string{"rule size of wire is listed twice"},
		},
		{
			name: "broken row",
			src:  with(map[string]string{"SPEC.md": testSpec + "\n## Appendix E. More Rules\n| wire | size | 5.2 | schema | t |\n"}),
			want: []string{"a row of the rules reads"},
		},
		{
			name: "hidden in functions",
			src: with(map[string]string{"wire/b.go": "package wire\nfunc f() *Rule { return &Rule{Name: \"x\"} }\n" +
				"var g = func() *Rule { return NewRule(\"5\", \"y\", ClassSchema, \"t\") }"}),
			want: []string{"wire/b.go:2: a rule inside a function", "wire/b.go:3: a rule inside a function"},
		},
		{
			name: "not literal",
			src:  with(map[string]string{"wire/b.go": "package wire\nvar r = &Rule{Section: sec, Name: \"x\", Class: ClassSchema, Text: \"t\"}"}),
			want: []string{"a rule has literal Section, Name and Text and a Class constant"},
		},
	})
}
