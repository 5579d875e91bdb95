package source_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/wire"
)

func document(tb testing.TB, text string) *source.Protocol {
	tb.Helper()
	p, err := source.ParseDocument(text, nil)
	if err != nil {
		tb.Fatalf("%s\n%v", text, err)
	}
	return p
}

// pay is a small protocol of all kinds of things, three times: in YAML, in JSON, and in
// Go.
const payYAML = `
protocol: concordia.protocol/1
id: urn:example:pay
tools:
  quote: {effect: read}
  look: {effect: read}
  pay: {effect: irreversible, approval: boss, idempotency: /arguments/id, probe: look}
  "*": deny
approvals:
  boss: {by: [ann], ttl: 10m, bind: [arguments, instance], when: {/arguments/amount: {gt: 100}}}
captures:
  total: {from: ret quote, at: /total}
budgets: {calls: 9, money: {EUR: "10.50"}, reserve: {for: [look], calls: 1}}
instances: {key: /arguments/id, scope: [pay]}
invariants: [{precedes: {first: "ret:quote:ok", then: "call:pay", each: true}}]
unrecognized: block
timers:
  idle: {after: 5m, in: offered, to: begin}
  session: {after: 24h, to: gone}
initial: begin
states:
  begin:
    allow: [quote, look]
    parallel: read
    budget: {calls: 3}
    on: [{ret: quote, when: {/status: {eq: open}}, to: offered, else: stay}]
  offered:
    allow: [{tool: pay, when: {/arguments/amount: {eq_capture: total}}}, look]
    guidance: Pay what was quoted.
    on:
      - {ret: pay, to: paid}
      - {ret: pay, outcome: [error, denied], to: gone}
      - {hear: "no", to: begin}
      - {answer: form, when: {/ok: {eq: false}}, to: begin}
      - {deny: boss, to: gone}
  paid: {end: success, public: PAID}
  gone: {end: failure}
`

const payJSON = `{
	"protocol": "concordia.protocol/1", "id": "urn:example:pay",
	"states": {
		"gone": {"end": "failure"},
		"paid": {"public": "PAID", "end": "success"},
		"begin": {"on": [{"ret": "quote", "when": {"/status": {"eq": "open"}}, "to": "offered"}, {"ret": "quote", "outcome": ["ok"], "to": "stay"}],
			"budget": {"calls": 3}, "parallel": "read", "allow": ["look", {"tool": "quote"}]},
		"offered": {"allow": [{"tool": "pay", "when": {"/arguments/amount": {"eq_capture": "total"}}}, "look"],
			"on": [{"deny": "boss", "to": "gone"}, {"hear": "no", "to": "begin"}, {"ret": "pay", "to": "paid"},
				{"answer": "form", "when": {"/ok": {"in": [false]}}, "to": "begin"},
				{"ret": "pay", "outcome": "error", "to": "gone"}, {"ret": "pay", "outcome": "denied", "to": "gone"}]}
	},
	"initial": "begin",
	"tools": {"pay": {"probe": "look", "effect": "irreversible", "approval": "boss", "idempotency": "/arguments/id"}, "quote": {"effect": "read"}, "look": {"effect": "read"}},
	"approvals": {"boss": {"when": {"/arguments/amount": {"gt": 1e2}}, "uses": 1, "assurance": "client", "by": ["ann"], "ttl": "600s", "bind": ["instance"]}},
	"captures": {"total": {"from": "ret quote ok", "at": "/total"}},
	"timers": {"session": {"after": "24h", "to": "gone"}, "idle": {"after": "300s", "in": "offered", "to": "begin"}},
	"budgets": {"calls": 9, "money": {"EUR": "10.50"}, "reserve": {"calls": 1, "for": ["look"]}},
	"instances": {"scope": ["pay"], "key": "/arguments/id"},
	"invariants": [{"precedes": {"first": "ret:quote:ok", "then": "call:pay", "each": true}}]
}`

func payGo() *source.Document {
	return &source.Document{
		ID: "urn:example:pay",
		Tools: map[string]protocol.Tool{
			"quote": {Effect: protocol.Reads}, "look": {Effect: protocol.Reads},
			"pay": {Effect: protocol.Irreversible, Approval: "boss", Idempotency: "/arguments/id", Probe: "look"},
		},
		Approvals: map[string]protocol.Approval{"boss": {
			By: []string{"ann"}, TTL: 10 * time.Minute, Bind: []string{"instance"},
			When: protocol.Condition{{At: "/arguments/amount", In: protocol.Above(100, false)}},
		}},
		Captures: map[string]source.Capture{"total": {From: "ret quote", At: "/total"}},
		Timers: map[string]source.Timer{
			"idle": {After: 5 * time.Minute, In: "offered", To: "begin"}, "session": {After: 24 * time.Hour, To: "gone"},
		},
		Budget:  protocol.Budget{Calls: 9, Money: map[string]string{"EUR": "10.50"}},
		Reserve: protocol.Budget{Calls: 1}, ReserveFor: []string{"look"},
		Instance:   &protocol.Instance{Key: "/arguments/id", Scope: []string{"pay"}},
		Invariants: []protocol.Invariant{{Precedes: &protocol.Precedes{First: "ret:quote:ok", Then: "call:pay", Each: true}}},
		Initial:    "begin",
		States: []source.State{
			{Name: "begin", Allow: []source.Allow{{Tool: "quote"}, {Tool: "look"}}, Parallel: true, Budget: protocol.Budget{Calls: 3}, On: []source.Rule{
				{On: "ret quote", When: protocol.Condition{{At: "/status", In: protocol.Values(wire.Text("open"))}}, To: "offered"},
				{On: "ret quote", To: source.Stay},
			}},
			{Name: "offered", Allow: []source.Allow{{Tool: "pay", When: protocol.Condition{{At: "/arguments/amount", Capture: "total"}}}, {Tool: "look"}}, On: []source.Rule{
				{On: "ret pay", To: "paid"}, {On: "ret pay error", To: "gone"}, {On: "ret pay denied", To: "gone"},
				{On: "hear no", To: "begin"}, {On: "deny boss", To: "gone"},
				{On: "answer form", When: protocol.Condition{{At: "/ok", In: protocol.Values(falseValue)}}, To: "begin"},
			}},
			{Name: "paid", End: protocol.Success, Public: "PAID"},
			{Name: "gone", End: protocol.Failure},
		},
	}
}

var falseValue, _ = wire.Encode(false)

func TestThreeForms(t *testing.T) {
	want := digest(t, document(t, payYAML).Automaton)
	if got := digest(t, document(t, payJSON).Automaton); got != want {
		t.Error("JSON has another digest")
	}
	p, err := payGo().Compile()
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(t, p.Automaton); got != want {
		t.Error("Go has another digest")
	}
	// Names of states, comments, guidance and order are nothing.
	other := strings.NewReplacer("begin", "start", "offered", "shown", "Pay what was quoted.", "Other words.").Replace(payYAML) + "\n# comment\n"
	if got := digest(t, document(t, other).Automaton); got != want {
		t.Error("renamed, it has another digest")
	}
	// Each of these changes is something.
	for _, change := range [][2]string{
		{"gt: 100", "ge: 100"}, {"ttl: 10m", "ttl: 11m"}, {"effect: irreversible", "effect: write"}, {"calls: 9", "calls: 8"}, {"{calls: 3}", "{calls: 4}"},
		{"by: [ann]", "by: [bob]"}, {"after: 5m", "after: 6m"}, {"in: offered, to: begin", "in: begin, to: begin"}, {"after: 24h, to: gone", "after: 24h, to: begin"},
		{"end: failure", "end: abandoned"}, {"public: PAID", "public: DONE"}, {"each: true", "each: false"}, {"eq: open", "eq: opened"},
		{"else: stay", "else: gone"}, {"[error, denied]", "[error]"}, {"unrecognized: block", "unrecognized: pass"}, {"    parallel: read\n", ""},
		{"{deny: boss, to: gone}", "{deny: boss, to: stay}"}, {"scope: [pay]", "scope: [pay, look]"}, {`"10.50"`, `"10.51"`}, {"for: [look]", "for: [pay]"},
		{"when: {/arguments/amount: {eq_capture: total}}", "when: {/arguments/amount: {ne_capture: total}}"}, {"idempotency: /arguments/id, ", ""},
		{"at: /total", "at: /sum"}, {"bind: [arguments, instance]", "bind: [arguments]"}, {`{hear: "no", to: begin}`, `{hear: "no", to: stay}`},
	} {
		if strings.Count(payYAML, change[0]) != 1 {
			t.Errorf("%q stands %d times", change[0], strings.Count(payYAML, change[0]))
		}
		if digest(t, document(t, strings.Replace(payYAML, change[0], change[1], 1)).Automaton) == want {
			t.Errorf("%q for %q changes nothing", change[1], change[0])
		}
	}
}

// The steps inside a state, as the table of an automaton.
func TestExpansion(t *testing.T) {
	a := document(t, payYAML).Automaton
	text := a.Table()
	for _, row := range []string{
		"| begin | `call:quote` | agent |  | begin·quote |",
		"| begin | `call:look` | agent |  | begin |", // may overlap, and nothing depends on it
		"| begin·quote | `ret:quote:ok` | environment | /status is \"open\" | offered |",
		"| begin·quote | `ret:quote:ok`, `ret:quote:error`, `ret:quote:denied`, `ret:quote:timeout`, `ret:quote:cancelled`, `ret:quote:unknown` | environment |  | begin |",
		"| begin·quote | `call:look` | agent |  | begin·quote |",
		"| begin·quote | `timer:session` | clock |  | gone |",
		"| offered | `call:pay` | agent | /arguments/amount is number > 100 |  |",
		"| offered | `call:pay` | agent | /arguments/amount is what was captured as total | offered·pay |",
		"| offered | `ask:boss` | agent | /tool is \"pay\" and /arguments/amount is number > 100 and /arguments/amount is what was captured as total | offered·pay·ask |",
		"| offered | `call:look` | agent |  | offered·look |",
		"| offered·pay | `ret:pay:ok` | environment |  | paid |",
		"| offered·pay | `ret:pay:error`, `ret:pay:denied` | environment |  | gone |",
		"| offered·pay | `ret:pay:timeout`, `ret:pay:cancelled` | environment |  | offered |",
		"| offered·pay | `ret:pay:unknown` | environment |  | offered·pay |",
		"| offered·pay·ask | `grant:boss` | environment |  | offered·pay·go |",
		"| offered·pay·ask | `deny:boss` | environment |  | gone |",
		"| offered·pay·ask | `expire:boss` | clock |  | offered |",
		"| offered·pay·ask | `hear:no` | environment |  | begin |",
		"| offered·pay·go | `call:pay` | agent | /arguments/amount is what was captured as total | offered·pay |",
		"| offered·pay·go | `hear:no` | environment |  | begin |",
		"| offered·pay·go | `timer:idle` | clock |  | begin |",
		"| offered·pay·go | `expire:boss` | clock |  | offered |",
	} {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("there is no row\n%s", row)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	for s, want := range map[protocol.State]protocol.State{"offered·pay": "offered", "offered·pay·go": "offered", "begin·quote": "begin", "offered": "offered"} {
		if a.Whole(s) != want {
			t.Errorf("%s is part of %s", s, a.Whole(s))
		}
	}
	if a.Guidance["offered·pay·ask"] != "Pay what was quoted." || a.Public["paid"] != "PAID" || a.Places["offered"].Line != 27 {
		t.Errorf("got %q, %q, %v", a.Guidance["offered·pay·ask"], a.Public["paid"], a.Places["offered"])
	}
	if a.Table() != document(t, payYAML).Automaton.Table() {
		t.Error("another order the second time")
	}
}

// While an approval is asked for, reads may overlap, and rules say where its end leads.
func TestExpansionOfApprovals(t *testing.T) {
	a := document(t, `
protocol: concordia.protocol/1
tools: {pay: {approval: boss}, look: {effect: read}}
approvals: {boss: {}}
timers: {idle: {after: 1m, to: gone}}
initial: s
states:
  s:
    allow: [pay, look]
    parallel: read
    on: [{expire: boss, to: gone}, {timer: idle, to: stay}]
  gone: {end: failure}
`).Automaton
	text := a.Table()
	for row, want := range map[string]int{
		"| s·pay·ask | `call:look` | agent |  | s·pay·ask |": 1,
		"| s·pay·ask | `expire:boss` | clock |  | gone |":    1,
		"| s·pay·go | `expire:boss` | clock |  | gone |":     1,
		"| s | `expire:boss`":                                0,
		"| s | `call:pay`":                                   0,
		"| s·pay·go | `call:pay` | agent |  | s·pay |":       1,
		"| s | `timer:idle` | clock |  | s |":                1,
		"| s | `timer:idle` | clock |  | gone |":             0,
		"| s·pay | `timer:idle` | clock |  | gone |":         1,
	} {
		if got := strings.Count(text, row); got != want {
			t.Errorf("%d rows %s, want %d\n%s", got, row, want, text)
		}
	}
}

func TestDSLInADocument(t *testing.T) {
	p := document(t, `
protocol: concordia.protocol/1
tools: {search: {effect: read}, book: {effect: irreversible}}
dsl: |
  # a flight
  !Search.?Results.rec Ask.!Show.?{Yes.!Book.?Booked, No, Other.Ask}
bind: {Search: call search, Results: ret search, Show: say options, Book: call book, Booked: ret book ok, Yes: hear /^yes\b/, No: hear no, Other: hear text}
invariants: [{at_most: {label: "call:book", n: 1}}]
`)
	if p.Automaton.Terms.Tools["book"].Effect != protocol.Irreversible || len(p.Automaton.Terms.Invariants) != 1 {
		t.Errorf("terms are %+v", p.Automaton.Terms)
	}
	_, err := source.ParseDocument("protocol: concordia.protocol/1\ndsl: |\n  !a.\n   !b.X\n", &source.Options{Name: "f.yaml"})
	if err == nil || !strings.HasPrefix(err.Error(), "f.yaml#dsl:2:5: no recursion binds the variable X") {
		t.Errorf("got %v", err)
	}
}

const head = "protocol: concordia.protocol/1\ninitial: a\n"

func TestDocumentFaults(t *testing.T) {
	states := func(text string) string { return head + "tools: {t: {}, r: {effect: read}}\nstates:\n" + text }
	for _, test := range []struct {
		name, text string
		code       source.Code
		place      string
		message    string
	}{
		{"empty", "", source.CodeSyntax, "1:1", "empty"},
		{"a comment only", "# x", source.CodeSyntax, "1:1", "empty"},
		{"a list", "- protocol:", source.CodeType, "1:1", "a mapping belongs here, and not a list"},
		{"bad YAML", "protocol: [", source.CodeSyntax, "1:1", "not YAML"},
		{"bad YAML in line 3", "protocol: x\na: b\n c: d\n", source.CodeSyntax, "3:1", "not YAML"},
		{"not UTF-8", "a: \xff", source.CodeSyntax, "1:1", "UTF-8"},
		{"two documents", head + "states: {a: {}}\n---\nb: 1", source.CodeSyntax, "4:1", "second document"},
		{"another format", "protocol: concordia.protocol/2\ninitial: a\nstates: {a: {}}", source.CodeValue, "1:11", `"concordia.protocol/2" is none of concordia.protocol/1`},
		{"no format", "initial: a\nstates: {a: {}}", source.CodeMissing, "1:1", `"protocol" is missing`},
		{"unknown key", head + "states: {a: {}}\nbudget: {}", source.CodeUnknownKey, "4:1", `"budgets" is one`},
		{"unknown key of a state", states("  a: {alow: [t]}"), source.CodeUnknownKey, "5:7", `no key "alow" here; "allow" is one`},
		{"a key twice", states("  a: {}\n  b: {}\n  a: {}"), source.CodeDuplicate, "7:3", `"a" is there already`},
		{"a key that is no text", states("  1: {}"), source.CodeType, "5:3", "reads as 1, a number; quote it"},
		{"yes is a text, and true is none", states("  yes: {}\n  true: {}"), source.CodeType, "6:3", "reads as true"},
		{"a version that is a number", head + "version: 1.0\nstates: {a: {}}", source.CodeType, "3:10", "not 1, a number; quote it"},
		{"a number of YAML", head + "budgets: {calls: 0x10}\nstates: {a: {}}", source.CodeValue, "3:18", "a number that JSON does not have"},
		{"infinity", head + "budgets: {calls: .inf}\nstates: {a: {}}", source.CodeValue, "3:18", "JSON does not have"},
		{"a plus", head + "budgets: {calls: +1}\nstates: {a: {}}", source.CodeValue, "3:18", "JSON does not have"},
		{"leading zero", head + "budgets: {calls: 010}\nstates: {a: {}}", source.CodeValue, "3:18", "JSON does not have"},
		{"a fraction", head + "budgets: {calls: 1.5}\nstates: {a: {}}", source.CodeValue, "3:18", "whole number"},
		{"zero", head + "budgets: {calls: 0}\nstates: {a: {}}", source.CodeValue, "3:18", "from 1"},
		{"anchor", head + "states: &x {a: {}}", source.CodeSyntax, "3:9", "anchors"},
		{"alias", head + "tools: {t: &x {}}\nstates: {a: *x}", source.CodeSyntax, "3:12", "anchors"},
		{"a lone tag", head + "version: ! 123\nstates: {a: {}}", source.CodeSyntax, "3:10", "tags"},
		{"tag", head + "states: !!map {a: {}}", source.CodeSyntax, "3:9", "tags"},
		{"merge key", head + "states: {a: {<<: {}}}", source.CodeUnknownKey, "3:14", `"<<"`},
		{"deep", head + "states: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), source.CodeLimit, "3:41", "too deep"},
		{"an expression that is long", states("  a: {allow: [t], on: [{ret: t, when: {/x: {matches: '(?:.{1000}){1}(?:.{1000})(?:.{1000})'}}, to: a, else: stay}]}"), source.CodeValue, "5:54", "repeats too much"},
		{"long", head + "# " + strings.Repeat("x", source.MaxSize), source.CodeLimit, "1:1", "too long"},
		{"no such initial state", head + "states: {b: {}}", source.CodeName, "2:1", `initial state "a" is not there`},
		{"a state called stay", states("  a: {}\n  stay: {}"), source.CodeName, "6:3", "no name"},
		{"a state with a middle dot", states("  a: {}\n  a·b: {}"), source.CodeName, "6:3", "no name"},
		{"an unknown target", states("  a: {on: [{hear: x, to: b}]}"), source.CodeName, "5:12", `no state "b"`},
		{"an unknown tool", states("  a: {allow: [u]}"), source.CodeName, "5:15", `no tool "u"`},
		{"a result of a tool that is not allowed", states("  a: {on: [{ret: t, to: stay}]}"), source.CodeValue, "5:12", "does not allow t"},
		{"a result of no tool", states("  a: {on: [{ret: u, to: stay}]}"), source.CodeName, "5:12", `no tool "u"`},
		{"an unknown outcome", states("  a: {allow: [t], on: [{ret: t, outcome: fine, to: stay}]}"), source.CodeValue, "5:42", `"fine" is none of ok, error`},
		{"an outcome of what is no result", states("  a: {on: [{hear: x, outcome: ok, to: stay}]}"), source.CodeValue, "5:12", "only a result"},
		{"no event", states("  a: {on: [{to: stay}]}"), source.CodeMissing, "5:12", "no event"},
		{"two events", states("  a: {on: [{hear: x, say: y, to: stay}]}"), source.CodeValue, "5:27", "hear and say"},
		{"no target", states("  a: {on: [{hear: x}]}"), source.CodeMissing, "5:12", "leads nowhere"},
		{"otherwise only", states("  a: {on: [{hear: x, when: {/a: {exists: true}}, else: stay}]}"), source.CodeMissing, "5:12", `"to" is missing`},
		{"a call as an event", states("  a: {on: [{call: t, to: stay}]}"), source.CodeUnknownKey, "5:13", `no key "call"`},
		{"whose event", states("  a: {on: [{event: x, to: stay}]}"), source.CodeMissing, "5:12", `"by" has to say`},
		{"a role that is not declared", states("  a: {on: [{event: x, by: me, to: stay}]}"), source.CodeName, "5:12", `role "me"`},
		{"the other side's event", states("  a: {on: [{hear: x, by: agent, to: stay}]}"), source.CodeValue, "5:12", "hear:x is by environment"},
		{"an unknown timer", states("  a: {on: [{timer: x, to: stay}]}"), source.CodeName, "5:12", `no timer "x"`},
		{"an unknown approval in a rule", states("  a: {on: [{grant: x, to: stay}]}"), source.CodeName, "5:12", `no approval "x"`},
		{"an unknown approval of a tool", head + "tools: {t: {approval: x}}\nstates: {a: {allow: [t]}}", source.CodeName, "3:9", `needs the approval "x"`},
		{"an unknown probe", head + "tools: {t: {probe: x}}\nstates: {a: {}}", source.CodeName, "3:9", `"x", which is no tool`},
		{"an unknown capture", states("  a: {allow: [{tool: t, when: {/a: {eq_capture: x}}}]}"), source.CodeName, "5:15", `no capture "x"`},
		{"a capture of no event", head + "captures: {x: {from: quote, at: /a}}\nstates: {a: {}}", source.CodeValue, "3:12", "an event is"},
		{"a list without a group", head + "captures: {x: {from: hear text, at: /a, each: 'a'}}\nstates: {a: {}}", source.CodeValue, "3:12", "one group"},
		{"a list of no expression", head + "captures: {x: {from: hear text, at: /a, each: '('}}\nstates: {a: {}}", source.CodeValue, "3:12", "error parsing regexp"},
		{"an unknown state of a timer", head + "timers: {x: {after: 1m, in: b}}\nstates: {a: {}}", source.CodeName, "3:10", `"b", which is not there`},
		{"a timer of another state", head + "timers: {x: {after: 1m, in: a}}\nstates: {a: {}, b: {on: [{timer: x, to: stay}]}}", source.CodeValue, "4:26", "in a only"},
		{"no time", head + "timers: {x: {after: 1 day}}\nstates: {a: {}}", source.CodeValue, "3:21", "write 90s"},
		{"a time before", head + "timers: {x: {after: -1m}}\nstates: {a: {}}", source.CodeValue, "3:21", "write 90s"},
		{"an amount that is a number", head + "budgets: {money: {USD: 5.5}}\nstates: {a: {}}", source.CodeType, "3:24", "quote it"},
		{"an amount below zero", head + "budgets: {money: {USD: \"-5\"}}\nstates: {a: {}}", source.CodeValue, "3:24", "decimal number"},
		{"a reserve for nobody", head + "budgets: {reserve: {calls: 1}}\nstates: {a: {}}", source.CodeMissing, "3:20", `"for" is missing`},
		{"the approval that its own call needs", head + "approvals: {x: {}}\ntools: {t: {approval: x}}\nstates: {a: {allow: [t], on: [{grant: x, to: stay}]}}", source.CodeValue, "5:31", "leads to the call"},
		{"an invariant about nothing", states("  a: {}\ninvariants: [{requires: {label: x}}]"), source.CodeName, "6:1", `about "x", which never happens`},
		{"an invariant of two", states("  a: {}\ninvariants: [{requires: {label: x}, at_most: {label: x, n: 1}}]"), source.CodeValue, "6:14", "is one of"},
		{"a dsl and states", states("  a: {}\ndsl: end"), source.CodeValue, "1:1", "either"},
		{"a bind without a dsl", states("  a: {}\nbind: {a: hear b}"), source.CodeValue, "1:1", "for a dsl"},
		{"a tool of the scope that is none", head + "instances: {key: /a, scope: [x]}\nstates: {a: {}}", source.CodeName, "3:1", `names "x"`},
		{"a pointer without a slash", head + "instances: {key: a, scope: []}\nstates: {a: {}}", source.CodeValue, "3:18", "no JSON pointer"},
		{"dependent pointers", states("  a: {allow: [{tool: t, when: {/a: {exists: true}, /a/b: {exists: true}}}]}"), source.CodeCondition, "4:1", "depend on each other"},

		{"JSON: syntax", `{"protocol": }`, source.CodeSyntax, "1:14", "not JSON"},
		{"JSON: ends", "{\n\t\"protocol\"", source.CodeSyntax, "2:12", "not JSON"},
		{"JSON: something follows", "{}\n x", source.CodeSyntax, "2:2", "not JSON"},
		{"JSON: a second document", "{}\n {}", source.CodeSyntax, "2:2", "follows"},
		{"JSON: a member twice", "{\"id\": \"a\",\n  \"id\": \"b\"}", source.CodeDuplicate, "2:3", "already"},
		{"JSON: unknown key", "{\n  \"protocol\": \"concordia.protocol/1\",\n  \"initial\": \"a\", \"states\": {\"a\": {\"ends\": 1}}}", source.CodeUnknownKey, "3:36", `"end" is one`},
		{"JSON: a number", `{"protocol": 1e400}`, source.CodeValue, "1:14", "different things"},
		{"JSON: deep", `{"a":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}", source.CodeLimit, "1:38", "too deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := source.ParseDocument(test.text, nil)
			e, ok := errors.AsType[*source.Error](err)
			if !ok {
				t.Fatalf("got %v, %v", p, err)
			}
			place := fmt.Sprintf("%d:%d", e.Place.Line, e.Place.Column)
			if e.Code != test.code || place != test.place || !strings.Contains(e.Message, test.message) {
				t.Errorf("got %s at %s: %q", e.Code, place, e.Message)
			}
		})
	}
}

// All faults are told at once.
func TestManyFaults(t *testing.T) {
	_, err := source.ParseDocument(head+"states:\n  a: {x: 1, y: 2}\n  b: {end: good}\n", &source.Options{Name: "p.yaml"})
	const want = `p.yaml:4:7: there is no key "x" here (unknown-key)
    a: {x: 1, y: 2}
        ^
p.yaml:4:13: there is no key "y" here (unknown-key)
    a: {x: 1, y: 2}
              ^
p.yaml:5:12: "good" is none of success, failure, abandoned (value)
    b: {end: good}
             ^`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v", err)
	}
}

func TestTooManyStates(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	var tools, states strings.Builder
	for i := range 100 {
		fmt.Fprintf(&tools, "  t%d: {approval: a}\n", i)
		fmt.Fprintf(&states, "  s%d: {allow: [%s t99]}\n", i, func() (all string) {
			for j := range 99 {
				all += fmt.Sprintf("t%d, ", j)
			}
			return all
		}())
	}
	_, err := source.ParseDocument("protocol: concordia.protocol/1\ninitial: s0\napprovals: {a: {}}\ntools:\n"+tools.String()+"states:\n"+states.String(), nil)
	if err == nil || strings.Count(err.Error(), "too many") != 1 {
		t.Errorf("got %.500v", err)
	}
}

func TestIsDocument(t *testing.T) {
	for text, want := range map[string]bool{
		payYAML: true, payJSON: true, " \n{": true, "# c\nprotocol: x": true, "\"protocol\": x": true, "!protocol.?a": false, "!a # {\n": false, "": false,
	} {
		if source.IsDocument(text) != want {
			t.Errorf("IsDocument(%.20q) = %v", text, !want)
		}
	}
	for _, text := range []string{payYAML, "!a.?b"} {
		if _, err := source.Parse(text, nil); err != nil {
			t.Error(err)
		}
	}
}

func FuzzDocument(f *testing.F) {
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "protocols", "*.yaml"))
	if err != nil || len(examples) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{payYAML, payJSON, head + "states: {a: &x {}, b: *x}", "{\"a\":[1,{}]", "a: !!str x", "? a\n: b", "a: |\n  x\n", "- - -", "\t", "a: 'x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := source.ParseDocument(text, nil)
		if err != nil {
			e, ok := errors.AsType[*source.Error](err)
			if !ok || e.Code == "" {
				t.Fatalf("no fault: %v", err)
			}
			_ = err.Error()
			return
		}
		digest(t, p.Automaton)
	})
}
