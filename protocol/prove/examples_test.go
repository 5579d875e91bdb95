package prove_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/session"
)

func example(tb testing.TB, name string) *protocol.Compiled {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "protocols", name))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := source.Parse(string(text), &source.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return compiled(tb, p.Automaton)
}

// Nothing is wrong with the examples but with the one that is to be refused, each
// refines itself, and the runs of all findings replay.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "protocols", "*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			if ext := filepath.Ext(name); ext != ".yaml" && ext != ".txt" {
				t.Skip("it is no protocol")
			}
			c := example(t, name)
			for _, f := range prove.Check(c, nil) {
				replays(t, c, f.Trace)
				if f.Severity == prove.Error && name != "fastrefund.yaml" {
					t.Errorf("%s\n%s", f, f.Trace)
				}
			}
			if x := prove.Refines(c, c); x != nil {
				t.Errorf("it does not refine itself: %v", x)
			}
		})
	}
}

// The refund without a confirmation is refused with the run that has none.
func TestExampleFastRefund(t *testing.T) {
	fast, refund := example(t, "fastrefund.yaml"), example(t, "refund.yaml")
	x := prove.Refines(fast, refund)
	if x == nil {
		t.Fatal("it refines")
	}
	var labels []protocol.Label
	for _, s := range x.Trace {
		labels = append(labels, s.Move.On)
	}
	if want := []protocol.Label{"call:lookup_booking", "ret:lookup_booking:ok", "call:issue_refund"}; x.Clause != prove.Outputs || !slices.Equal(labels, want) {
		t.Errorf("got %v\nwant %v", x, want)
	}
	if err := x.Verify(fast, refund); err != nil {
		t.Error(err)
	}
	if x := prove.Refines(refund, fast); x == nil {
		t.Error("the refund with a confirmation refines that without")
	}
}

// The sessions of the examples are those of this package's tests, as far as what they
// let parties do.
func TestExampleSessions(t *testing.T) {
	spec, reference := example(t, "concordia-spec.yaml"), example(t, "concordia-reference.yaml")
	x := prove.Refines(reference, spec)
	if x == nil {
		t.Fatal("the reference refines the specification")
	}
	const want = "initiator: negotiate.open, responder: negotiate.accept_session, initiator: negotiate.counter, initiator: negotiate.accept"
	if x.Clause != prove.Outputs || x.Trace.String() != want {
		t.Errorf("got %v\nwant %s", x, want)
	}
	if err := x.Verify(reference, spec); err != nil {
		t.Error(err)
	}
	if x := prove.Refines(spec, reference); x != nil {
		t.Errorf("the specification does not refine the reference: %v", x)
	}
	for name, groups := range map[string]prove.Groups{"concordia-spec.yaml": nil, "concordia-reference.yaml": nil, "concordia-session.yaml": parties} {
		c := example(t, name)
		i := compiled(t, prove.Project(c.Automaton(), session.Initiator, groups))
		r := compiled(t, prove.Project(c.Automaton(), session.Responder, groups))
		for _, sides := range [][2]*protocol.Compiled{{i, r}, {r, i}} {
			if x, err := prove.Compatible(sides[0], sides[1]); x != nil || err != nil {
				t.Errorf("%s: Compatible() = %v, %v", name, x, err)
			}
		}
	}
}

// The README shows a protocol with which nothing is wrong, and what becomes of it if a
// state allows more.
func TestExampleOfReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```yaml\n")
	written, shown, _ := strings.Cut(after, "```")
	read := func(text string) *protocol.Compiled {
		p, err := source.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return compiled(t, p.Automaton)
	}
	parent := read(written)
	if found := prove.Check(parent, nil); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	hasty := strings.Replace(written, "shown: {on: [", "shown: {allow: [cancel], on: [{ret: cancel, to: done}, ", 1)
	x := prove.Refines(read(hasty), parent)
	if x == nil || !strings.Contains(shown, x.Message) || len(x.Trace) != 3 {
		t.Errorf("got %v", x)
	}
}
