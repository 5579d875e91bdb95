package source_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/wire"
)

func value(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

// domain is the values that stand at a place in turn; the first is none.
var domain = []string{
	"", "null", "true", "false", "{}", `{"x":1}`, "[]", "[1]", "[1,2]", "[1,2,3]", "-1", "0", "0.5", "1", "2", "3", "10", `""`, `"a"`, `"b"`, `"ab"`, `"1"`,
}

// holds says whether an operator holds, by what it means and not by how it is decided.
// The value is what encoding/json makes of it; there says whether there is one.
func holds(op string, arg, v any, there bool) bool {
	number, isNumber := v.(float64)
	list, isList := v.([]any)
	text, isText := v.(string)
	same := func(w any) bool { return there && reflect.DeepEqual(v, w) }
	among := func() (in bool) {
		for _, w := range arg.([]any) {
			in = in || same(w)
		}
		return in
	}
	switch op {
	case "exists":
		return there == arg.(bool)
	case "absent":
		return there != arg.(bool)
	case "is_null":
		return there && (v == nil) == arg.(bool)
	case "type":
		kind := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Float64: "number", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object"}
		name := "null"
		if v != nil {
			name = kind[reflect.TypeOf(v).Kind()]
		}
		return there && name == arg.(string)
	case "eq":
		return same(arg)
	case "ne":
		return there && !same(arg)
	case "in":
		return among()
	case "not_in":
		return there && !among()
	case "lt":
		return isNumber && number < arg.(float64)
	case "le":
		return isNumber && number <= arg.(float64)
	case "gt":
		return isNumber && number > arg.(float64)
	case "ge":
		return isNumber && number >= arg.(float64)
	case "len":
		if n, exact := arg.(float64); exact {
			return isList && len(list) == int(n)
		}
		bounds := arg.(map[string]any)
		least, hasLeast := bounds["min"].(float64)
		most, hasMost := bounds["max"].(float64)
		return isList && (!hasLeast || len(list) >= int(least)) && (!hasMost || len(list) <= int(most))
	case "matches":
		return isText && regexp.MustCompile(arg.(string)).MatchString(text)
	case "not_matches":
		return !isText || !regexp.MustCompile(arg.(string)).MatchString(text)
	}
	panic(op)
}

var arguments = map[string][]string{
	"exists": {"true", "false"}, "absent": {"true", "false"}, "is_null": {"true", "false"},
	"type": {`"null"`, `"boolean"`, `"number"`, `"string"`, `"array"`, `"object"`},
	"eq":   {"null", "true", "1", `"a"`, `"1"`}, "ne": {"null", "true", "1", `"a"`, `"1"`},
	"in": {`[1,"a",null]`, "[true,false]", "[]"}, "not_in": {`[1,"a",null]`, "[true,false]", "[]"},
	"lt": {"0", "1", "2.5"}, "le": {"0", "1", "2.5"}, "gt": {"0", "1", "2.5"}, "ge": {"0", "1", "2.5"},
	"len": {"0", "2", `{"min":1}`, `{"max":2}`, `{"min":1,"max":2}`}, "matches": {`"a"`, `"^a$"`}, "not_matches": {`"a"`, `"^a$"`},
}

// Random conditions on two places, one of them inside a text that is JSON, agree with
// their meaning on every document of the domain.
func TestConditions(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	random := rand.New(rand.NewPCG(7, 8))
	var ops []string
	for op := range arguments {
		ops = append(ops, op)
	}
	type test struct {
		op  string
		arg any
	}
	empty, taken := 0, 0
	for range 300 {
		when := map[string]map[string]json.RawMessage{}
		var tests [2][]test
		for i, at := range []string{"/a", "/t#/b"} {
			for range random.IntN(3) {
				op := ops[random.IntN(len(ops))]
				text := arguments[op][random.IntN(len(arguments[op]))]
				if when[at] == nil {
					when[at] = map[string]json.RawMessage{}
				}
				if when[at][op] != nil {
					continue
				}
				when[at][op] = json.RawMessage(text)
				var arg any
				if err := json.Unmarshal([]byte(text), &arg); err != nil {
					t.Fatal(err)
				}
				tests[i] = append(tests[i], test{op, arg})
			}
		}
		if len(when) == 0 {
			continue
		}
		written, err := json.Marshal(when)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.ParseDocument(fmt.Sprintf("protocol: concordia.protocol/1\ninitial: s\nstates:\n  s: {on: [{event: e, by: agent, when: %s, to: yes}]}\n  yes: {}", written), nil)
		impossible := err != nil
		if e, ok := errors.AsType[*source.Error](err); impossible && (!ok || e.Code != source.CodeCondition) {
			t.Fatalf("%s: %v", written, err)
		}
		var c *protocol.Compiled
		if impossible {
			empty++
		} else if c, err = protocol.Compile(p.Automaton); err != nil {
			t.Fatal(err)
		}
		for _, a := range domain {
			for _, b := range domain {
				want := true
				inner, members := "{}", []string{}
				if b != "" {
					inner = `{"b":` + b + "}"
				}
				if a != "" {
					members = append(members, `"a":`+a)
				}
				members = append(members, `"t":`+wire.Text(inner).Canonical())
				for i, text := range []string{a, b} {
					var v any
					if text != "" {
						if err := json.Unmarshal([]byte(text), &v); err != nil {
							t.Fatal(err)
						}
					}
					for _, x := range tests[i] {
						want = want && holds(x.op, x.arg, v, text != "")
					}
				}
				if impossible {
					if want {
						t.Fatalf("%s is no condition, but %s and %s pass: %v", written, a, b, err)
					}
					continue
				}
				m, err := protocol.NewMonitor(c, protocol.MonitorOptions{})
				if err != nil {
					t.Fatal(err)
				}
				v := m.Step(protocol.Event{Move: protocol.Move{By: protocol.Agent, On: "e"}, Doc: value(t, "{"+strings.Join(members, ",")+"}")})
				if (v.Kind == protocol.Ok) != want {
					t.Fatalf("%s on %s and %s: %s, want %v", written, a, b, v.Kind, want)
				}
				if want {
					taken++
				}
			}
		}
	}
	if empty < 10 || taken < 1000 {
		t.Errorf("%d were impossible, %d taken", empty, taken)
	}
}

// A capture compares whatever was there, lists and objects too; nothing equals what was
// never captured.
func TestCaptures(t *testing.T) {
	p := document(t, `
protocol: concordia.protocol/1
tools: {t: {}, u: {}}
captures: {c: {from: call t, at: /arguments/x}}
initial: s
states:
  s:
    allow: [t, {tool: u, when: {/arguments/y: {eq_capture: c}}}]
`)
	c, err := protocol.Compile(p.Automaton)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range domain {
		for _, second := range domain {
			m, err := protocol.NewMonitor(c, protocol.MonitorOptions{})
			if err != nil {
				t.Fatal(err)
			}
			call := func(tool, name, x string) protocol.Kind {
				doc := value(t, "{\"arguments\":{}}")
				if x != "" {
					doc = value(t, fmt.Sprintf(`{"arguments":{%q:%s}}`, name, x))
				}
				v := m.Step(protocol.Event{Move: protocol.Move{By: protocol.Agent, On: protocol.Label("call:" + tool)}, Doc: doc})
				m.Step(protocol.Event{Move: protocol.Move{By: protocol.Environment, On: protocol.Label("ret:" + tool + ":ok")}})
				return v.Kind
			}
			if call("u", "y", second) == protocol.Ok {
				t.Errorf("%s equals what was never captured", second)
			}
			call("t", "x", first)
			if got, want := call("u", "y", second) == protocol.Ok, first != "" && first == second; got != want {
				t.Errorf("captured %s, then %s: %v", first, second, got)
			}
		}
	}
}

func TestConditionFaults(t *testing.T) {
	for when, want := range map[string]string{
		"{}":                     "1:81 the condition is empty",
		"{a: {exists: true}}":    "1:82 \"a\" is no JSON pointer",
		"{/a~2: {exists: true}}": "1:82 \"/a~2\" is no JSON pointer",
		"{/a#b: {exists: true}}": "1:82 \"/a#b\" is no JSON pointer",
		"{/a: {}}":               "1:86 nothing is tested",
		"{/a: 1}":                "1:86 a mapping belongs here",
		"{/a: {eq: [1]}}":        "1:91 lists and mappings are not compared",
		"{/a: {in: 1}}":          "1:91 a list belongs here",
		"{/a: {gt: \"1\"}}":      "1:91 a number belongs here",
		"{/a: {matches: \"(\"}}": "1:96 error parsing regexp",
		"{/a: {type: integer}}":  "1:93 \"integer\" is none of",
		"{/a: {len: -1}}":        "1:92 a length is a whole number",
		"{/a: {eq: 1, gt: 1}}":   "1:86 no value passes all tests",
		"{/a: {less: 1}}":        "1:87 there is no key \"less\"",
		"{/a: {exists: yes}}":    "1:95 true or false belongs here",
	} {
		text := `{protocol: concordia.protocol/1, initial: s, states: {s: {on: [{hear: e, when: ` + " " + when + `, to: stay}]}}}`
		_, err := source.ParseDocument("# \n"+text, nil)
		e, ok := errors.AsType[*source.Error](err)
		if !ok {
			t.Errorf("%s: %v", when, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d %s", e.Place.Line-1, e.Place.Column, e.Message); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", when, got)
		}
	}
}
