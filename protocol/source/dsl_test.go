package source_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/wire"
)

func parse(tb testing.TB, text string) *source.Protocol {
	tb.Helper()
	p, err := source.ParseDSL(text, nil)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return p
}

func digest(tb testing.TB, a *protocol.Automaton) wire.Hash {
	tb.Helper()
	c, err := protocol.Compile(a)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := c.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// runs returns the traces of an automaton up to a length; one that has come to an end
// has a dot after it.
func runs(tb testing.TB, a *protocol.Automaton, length int) []string {
	tb.Helper()
	c, err := protocol.Compile(a)
	if err != nil {
		tb.Fatal(err)
	}
	var list []string
	var walk func(s int, trace string, left int)
	walk = func(s int, trace string, left int) {
		if c.End(s) != "" {
			list = append(list, trace+".")
		} else if left == 0 {
			list = append(list, trace)
		}
		if left == 0 {
			return
		}
		for _, m := range c.Moves(s) {
			sign := map[protocol.Role]string{protocol.Agent: "!", protocol.Environment: "?"}[m.By]
			c.Decision(s, m).Cases(func(to int, _ protocol.Condition) bool {
				if to < 0 {
					return true
				}
				walk(to, trace+sign+string(m.On), left-1)
				return true
			})
		}
	}
	walk(c.Initial(), "", length)
	slices.Sort(list)
	return list
}

func TestDSL(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"one action", "!a", "!a."},
		{"nothing", "end", "."},
		{"end skips", "end.!a.end.!b.end", "!a!b."},
		{"sequence", "!a.?b.!c.end", "!a?b!c."},
		{"white space", " ! a\n.\t?\r\nb ", "!a?b."},
		{"choice", "!{a.?x, b}", "!a?x. !b."},
		{"after a choice, whichever branch", "?{a.!x, b}.!c.end", "?a!x!c. ?b!c."},
		{"end in a branch skips", "?{a.end, b}.!c", "?a!c. ?b!c."},
		{"keywords as labels", "!end.?{rec.end, end}.!rec", "!end?end!rec. !end?rec!rec."},
		{"words that begin like keywords", "rec endx.!a.?{b.endx, c}", "!a?b!a?b !a?b!a?c. !a?c."},
		{"a variable called record", "rec record.?{a.record, b}", "?a?a?a?a ?a?a?a?b. ?a?a?b. ?a?b. ?b."},
		{"recursion", "rec X.!a.X", "!a!a!a!a"},
		{"two recursions", "rec X.!a.?{b.X, c.rec Y.!d.?{e.Y, f.X, g}}", "!a?b!a?b !a?b!a?c !a?c!d?e !a?c!d?f !a?c!d?g."},
		{"skip after a variable", "rec X.!a.?{b.X.end.end, c}.end", "!a?b!a?b !a?b!a?c. !a?c."},
		{"a loop in a branch, and what follows", "?{a.rec X.!b.?{c.X, d}, e}.!f", "?a!b?c!b ?a!b?d!f. ?e!f."},
		{"the inner of two of one name", "rec X.!a.rec X.?{b.X, c}", "!a?b?b?b !a?b?b?c. !a?b?c. !a?c."},
		{"a recursion without its variable", "rec X.!a", "!a."},
		{"a recursion of nothing", "rec X.end.!a", "!a."},
		{"letters of other scripts", "!Zürich_1.?東京-2", "!Zürich_1?東京-2."},
		{"a number", "!1.?½", "!1?½."},
		{"quoted label", `!"admin.tools.list".?{"a b", c}`, "!admin.tools.list?a b. !admin.tools.list?c."},
		{"comment", "!a # first\n.?b # last", "!a?b."},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(runs(t, parse(t, test.text).Automaton, 4), " "); got != test.want {
				t.Errorf("%s\nhas the runs %s\nwant %s", test.text, got, test.want)
			}
		})
	}
}

func TestDSLFaults(t *testing.T) {
	for _, test := range []struct {
		name, text string
		code       source.Code
		place      string
		message    string
	}{
		{"empty", "", source.CodeSyntax, "1:1", "is missing"},
		{"only a comment", "# x", source.CodeSyntax, "1:4", "is missing"},
		{"polarity alone", "!", source.CodeSyntax, "1:2", "a label is missing; the text ends"},
		{"no branch", "!{}", source.CodeSyntax, "1:3", "a label is missing"},
		{"a comma too many", "!{a,}", source.CodeSyntax, "1:5", "a label is missing"},
		{"a dot too many", "!a.", source.CodeSyntax, "1:4", "is missing"},
		{"a branch with a dot too many", "!{a.}", source.CodeSyntax, "1:5", "is missing"},
		{"open choice", "!{a", source.CodeSyntax, "1:4", "followed by"},
		{"no dot", "!a !b", source.CodeSyntax, "1:4", `after the protocol there is "!"`},
		{"rec without a variable", "rec .!a", source.CodeSyntax, "1:5", "variable"},
		{"rec without a dot", "rec X !a", source.CodeSyntax, "1:7", `comes "."`},
		{"second line", "!a.\n ?b.\n  *", source.CodeSyntax, "3:3", `there is "*"`},
		{"columns are characters", "!ä.?東京.*", source.CodeSyntax, "1:8", `there is "*"`},
		{"not UTF-8", "!a.\xff", source.CodeSyntax, "1:1", "UTF-8"},
		{"a branch twice", "?{a, b.!c, a}", source.CodeDuplicate, "1:12", `"a" already`},
		{"mixed choice", "{!a, ?b}", source.CodeSyntax, "1:1", "is missing"},
		{"unbound variable", "!a.X", source.CodeUnbound, "1:4", "binds the variable X"},
		{"a variable out of its recursion", "!{a.rec X.!b.X, c.X}", source.CodeUnbound, "1:19", "binds the variable X"},
		{"keyword as a variable", "rec end.!a.Y", source.CodeUnbound, "1:12", "variable Y"},
		{"unguarded", "rec X.X", source.CodeUnguarded, "1:1", "nothing happens"},
		{"unguarded, through another", "!a.rec X.rec Y.X", source.CodeUnguarded, "1:4", "nothing happens"},
		{"unguarded, after skips", "rec X.end.X", source.CodeUnguarded, "1:1", "nothing happens"},
		{"not at the end", "rec X.!{a.X.!c, b}.end", source.CodeNonTail, "1:11", `".!c" would follow`},
		{"not at the end of a choice", "rec X.!{a.X, b}.!c.end", source.CodeNonTail, "1:11", `".!c" would follow`},
		{"not at the end of an outer recursion", "rec X.!{a.rec Y.!{b.Y, c.X}, d}.!e", source.CodeNonTail, "1:26", `".!e" would follow`},
		{"not at the end, twice", "rec X.!{a.?{x.X, y}.!b, d}.!e", source.CodeNonTail, "1:15", `".!b.!e" would follow`},
		{"quoted label without an end", `!"a`, source.CodeSyntax, "1:2", "no end"},
		{"quoted label over a line", "!\"a\n\"", source.CodeSyntax, "1:2", "on its line"},
		{"quoted label of no JSON", `!"\x"`, source.CodeSyntax, "1:2", "JSON string"},
		{"quoted label of nothing", `!""`, source.CodeSyntax, "1:2", "JSON string"},
		{"quoted label after a backslash at the end", `!"a\`, source.CodeSyntax, "1:2", "no end"},
		{"no fragments", "!a.@B", source.CodeInclude, "1:4", "no fragments here"},
		{"deep", strings.Repeat("!{a.", 300) + "end" + strings.Repeat("}", 300), source.CodeLimit, "1:801", "nest too deep"},
		{"long", "!" + strings.Repeat("a", source.MaxSize), source.CodeLimit, "1:1", "too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := source.ParseDSL(test.text, nil)
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

func TestErrorPointsAtTheFault(t *testing.T) {
	_, err := source.ParseDSL("rec X.\n\t!{a.X, b}.!c.end", &source.Options{Name: "loop.txt"})
	const want = "loop.txt:2:6: the recursion to X is not at the end: \".!c\" would follow it and be lost (non-tail)\n" +
		"   !{a.X, b}.!c.end\n" +
		"       ^"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	_, err = source.ParseDSL("!a."+strings.Repeat("!long.", 100)+"*", nil)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 || len(lines[1]) != 102 || lines[1][strings.Index(lines[2], "^")] != '*' {
		t.Errorf("got\n%v", err)
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		text, want string
	}{
		{"rec X.!a.?{b.X, c.rec X.!d.X}", "1:19 shadowing"},
		{"!{a.rec X.!b.X, c}.!d", "1:5 never-ends"},
		{"!{a.rec X.!b.?{e.X, f}, c}.!d", ""},
		{"!{a.rec X.!b.?{e.X, f.rec Y.!g.Y}, c}.!d", "1:5 never-ends"},
		{"rec X.!a.X", ""},
	} {
		var got []string
		for _, w := range parse(t, test.text).Warnings {
			got = append(got, fmt.Sprintf("%d:%d %s", w.Place.Line, w.Place.Column, w.Code))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestStrict(t *testing.T) {
	for _, text := range []string{`!"a"`, "!a # b", "!a.@B"} {
		_, err := source.ParseDSL(text, &source.Options{Strict: true, Include: func(string) (string, error) { return "!b", nil }})
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Code != source.CodeExtension {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := source.ParseDSL("rec X.!a.?{b.X, c}.end", &source.Options{Strict: true}); err != nil {
		t.Error(err)
	}
}

func TestInclude(t *testing.T) {
	fragments := map[string]string{
		"Pay": "!Charge.?{Paid, Declined}", "Loop": "@Again.!x", "Again": "!y.@Loop", "Free": "!a.X", "Bad": "!a.\n\t*",
		"Twice": "@Pay.@Pay", "Big": "@Huge.@Huge.@Huge.@Huge.@Huge", "Huge": "!" + strings.Repeat("a", source.MaxSize/4),
	}
	read := func(text string) (*source.Protocol, error) {
		return source.ParseDSL(text, &source.Options{Name: "main", Include: func(name string) (string, error) {
			if text, ok := fragments[name]; ok {
				return text, nil
			}
			return "", errors.New("no such file")
		}})
	}
	p, err := read("!Order.@Pay.rec X.!Ship.?{Lost.X, Here}")
	if err != nil || digest(t, p.Automaton) != digest(t, parse(t, "!Order.!Charge.?{Paid, Declined}.rec X.!Ship.?{Lost.X, Here}").Automaton) {
		t.Errorf("got %v", err)
	}
	if _, err := read("@Twice"); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"!a.@None":                 "main:1:4: the fragment @None is not there: no such file (include)",
		"@Loop":                    "@Again:1:4: the fragment @Loop includes itself (include)",
		"rec X.!b.?{c.X, d.@Free}": "@Free:1:4: no recursion binds the variable X (unbound)",
		"!b.@Bad":                  "@Bad:2:2: an action",
		"@Big":                     "@Big:1:19: the protocol is too large",
		"rec X.!{a.X, b}.@Pay":     `main:1:11: the recursion to X is not at the end: ".@Pay" would follow`,
	} {
		if _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestBind(t *testing.T) {
	const text = "!Search.?Results.!Show.?{Yes.!Book.?Booked, No}"
	bind := map[string]string{
		"Search": "call search_flights", "Results": "ret search_flights", "Show": "say options", "Yes": "hear /(?i)^yes/",
		"No": "hear no", "Book": "call book_flight", "Booked": "ret book_flight ok",
	}
	p, err := source.ParseDSL(text, &source.Options{Bind: bind})
	if err != nil {
		t.Fatal(err)
	}
	const want = "!call:search_flights?ret:search_flights:ok!say:options?hear:no. " +
		"!call:search_flights?ret:search_flights:ok!say:options?hear:text!call:book_flight?ret:book_flight:ok."
	if got := strings.Join(runs(t, p.Automaton, 9), " "); got != want {
		t.Errorf("got %s", got)
	}
	host, err := source.ParseDSL("?Search.!Results.?Show.!{Yes.?Book.!Booked, No}", &source.Options{Bind: bind, Polarity: source.FromToolHost})
	if err != nil || digest(t, host.Automaton) != digest(t, p.Automaton) {
		t.Errorf("from the tool host: %v", err)
	}
	for name, test := range map[string]struct {
		bind map[string]string
		want string
	}{
		"the other side": {map[string]string{"Search": "ret search_flights"}, "1:2: the label \"Search\" is bound to \"ret search_flights\", which is the other side's act"},
		"no event":       {map[string]string{"Search": "search"}, "1:2: the label \"Search\" is bound to no event"},
		"no outcome":     {map[string]string{"Results": "ret x fine"}, "1:10: the label \"Results\" is bound to no event: an outcome is one of ok"},
		"no expression":  {map[string]string{"Yes": "hear /(/"}, "is bound to no event"},
		"no such label":  {map[string]string{"Pay": "call pay"}, "the protocol does not have it"},
	} {
		_, err := source.ParseDSL(text, &source.Options{Bind: test.bind})
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Code != source.CodeBind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadBind(t *testing.T) {
	bind, polarity, err := source.ReadBind("polarity: toolhost\nbind:\n  Book: call book_flight\n  Yes: hear /^yes/\n", "b.yaml")
	if err != nil || len(bind) != 2 || bind["Yes"] != "hear /^yes/" || polarity != source.FromToolHost {
		t.Errorf("got %v, %q, %v", bind, polarity, err)
	}
	for text, want := range map[string]string{
		"bind: {A: 1}":                 "b.yaml:1:11: a text belongs here",
		"polarity: toolhost":           "b.yaml:1:1: the key \"bind\" is missing",
		"bind: {}\npolarity: left":     "b.yaml:2:11: \"left\" is none of toolhost",
		"bind: {}\nbinds: {}":          "b.yaml:2:1: there is no key",
		"bind: {A: hear a, A: hear b}": "b.yaml:1:19: the key \"A\" is there already",
	} {
		if _, _, err := source.ReadBind(text, "b.yaml"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// randomDSL writes a protocol without faults.
func randomDSL(random *rand.Rand, depth int, vars []string) string {
	label := func() string { return []string{"a", "b", "c", "d", `"x.y"`}[random.IntN(5)] }
	var b strings.Builder
	for range random.IntN(3) {
		fmt.Fprintf(&b, "%c%s.", "!?"[random.IntN(2)], label())
	}
	switch n := random.IntN(6); {
	case depth == 0 || n == 0:
		b.WriteString("end")
	case n == 1 && len(vars) > 0:
		fmt.Fprintf(&b, "!%s.%s", label(), vars[random.IntN(len(vars))])
	case n == 2:
		name := fmt.Sprint("V", len(vars))
		fmt.Fprintf(&b, "rec %s.?%s.%s", name, label(), randomDSL(random, depth-1, append(slices.Clone(vars), name)))
	default:
		arms := map[string]string{}
		for range 1 + random.IntN(3) {
			arms[label()] = randomDSL(random, depth-1, vars)
		}
		var all []string
		for _, l := range slices.Sorted(maps.Keys(arms)) {
			all = append(all, l+"."+arms[l])
		}
		fmt.Fprintf(&b, "%c{%s}", "!?"[random.IntN(2)], strings.Join(all, " , "))
	}
	return b.String()
}

// What is printed reads as the same protocol.
func TestPrint(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	loops := 0
	for range 500 {
		text := randomDSL(random, 5, nil)
		a := parse(t, text).Automaton
		printed, err := source.Print(a)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if strings.Contains(printed, "rec") {
			loops++
		}
		b := parse(t, printed).Automaton
		if digest(t, a) != digest(t, b) {
			t.Fatalf("%s\nis printed as\n%s", text, printed)
		}
		again, err := source.Print(b)
		if err != nil || again != printed {
			t.Fatalf("%s\nis printed again as\n%s: %v", printed, again, err)
		}
	}
	if loops < 50 {
		t.Errorf("only %d have a loop", loops)
	}
	for text, want := range map[string]string{
		"rec X.!a.?{b.X, c}":     "rec X.!a.?{b.X, c.end}",
		"!{a,b}.?c":              "!{a, b}.?c.end",
		`!"x.y".end.?"rec"`:      `!"x.y".?rec.end`,
		"rec X.?{a.X, b.X}":      "rec X.?{a, b}.X",
		"end":                    "end",
		"!z.rec X.!a.rec Y.?b.Y": "!z.!a.rec X3.?b.X3",
	} {
		if got, err := source.Print(parse(t, text).Automaton); got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestPrintRefuses(t *testing.T) {
	for _, test := range []struct {
		want  error
		spoil func(*protocol.Automaton)
	}{
		{source.ErrMixed, func(a *protocol.Automaton) {
			a.Transitions = append(a.Transitions, protocol.Transition{From: "s0", On: "x", By: protocol.Environment, To: "end"})
		}},
		{source.ErrRoles, func(a *protocol.Automaton) { a.Transitions[0].By = protocol.Clock }},
		{source.ErrCondition, func(a *protocol.Automaton) {
			a.Transitions[0].When = protocol.Condition{{At: "/x", In: protocol.Absence()}}
		}},
		{source.ErrCondition, func(a *protocol.Automaton) { a.Transitions[0].If = "it is so" }},
		{source.ErrEnds, func(a *protocol.Automaton) { a.Ends = nil }},
		{source.ErrEnds, func(a *protocol.Automaton) { a.Ends["end"] = protocol.Failure }},
		{source.ErrEnds, func(a *protocol.Automaton) { a.Ends["s1"] = protocol.Success }},
		{source.ErrTerms, func(a *protocol.Automaton) { a.Terms = &protocol.Terms{} }},
		{source.ErrTerms, func(a *protocol.Automaton) { a.Public = map[protocol.State]string{"s0": "S"} }},
	} {
		a := parse(t, "!a.?b").Automaton
		test.spoil(a)
		if text, err := source.Print(a); !errors.Is(err, test.want) {
			t.Errorf("got %q, %v, want %v", text, err, test.want)
		}
	}
	// Diamonds after each other share what follows; a text cannot.
	a := &protocol.Automaton{Name: "diamonds", Initial: "0", Ends: map[protocol.State]protocol.End{"60": protocol.Success}}
	for i := range 61 {
		here, next := protocol.State(fmt.Sprint(i)), protocol.State(fmt.Sprint(i+1))
		a.States = append(a.States, here)
		if i < 60 {
			a.States = append(a.States, here+"x")
			a.Transitions = append(a.Transitions,
				protocol.Transition{From: here, On: "a", By: protocol.Agent, To: next},
				protocol.Transition{From: here, On: "b", By: protocol.Agent, To: here + "x"},
				protocol.Transition{From: here + "x", On: "c", By: protocol.Agent, To: next})
		}
	}
	if _, err := source.Print(a); !errors.Is(err, source.ErrSize) {
		t.Errorf("got %v, want %v", err, source.ErrSize)
	}
}

func FuzzDSL(f *testing.F) {
	for _, text := range []string{
		"!a.?b.end", "!CreateCard.?{CardCreated.rec X.!Transaction.?{TransactionOK.X, SessionEnd}, CardError}.end",
		"rec X.!{a.X.!c, b}", "rec X.X", "?{rec.end}", "!\"a.b\" # c\n.@F", "!{a,", "rec X.rec Y.?{a.X,b.Y}", "end.end", "!é.?½",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := source.ParseDSL(text, &source.Options{Include: func(string) (string, error) { return "!f", nil }})
		if err != nil {
			e, ok := errors.AsType[*source.Error](err)
			if !ok || e.Place.Line < 1 || e.Place.Column < 1 || e.Code == "" {
				t.Fatalf("no place: %v", err)
			}
			_ = e.Error()
			return
		}
		printed, err := source.Print(p.Automaton)
		if errors.Is(err, source.ErrSize) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if digest(t, parse(t, printed).Automaton) != digest(t, p.Automaton) {
			t.Fatalf("printed as %s", printed)
		}
	})
}
