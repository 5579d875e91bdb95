package prove_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
)

// What a monitor lets through breaks an invariant as well as what a transition is for.
func TestWhatPassesCounts(t *testing.T) {
	for _, test := range []struct {
		name, text string
		terms      protocol.Terms
		code       prove.Code
	}{
		{"a result comes again", "a !call:look b\n b ?ret:look:ok c\n c !say done", protocol.Terms{
			Tools:      map[string]protocol.Tool{"look": {Effect: protocol.Reads}},
			Invariants: []protocol.Invariant{{AtMost: &protocol.AtMost{Label: "ret:look:ok", N: 1}}},
		}, prove.BreaksAtMost},
		{"nobody knows the event", "a !x done", protocol.Terms{
			Unrecognized: protocol.Pass,
			Invariants:   []protocol.Invariant{{Precedes: &protocol.Precedes{First: "x", Then: "signal:go"}}},
		}, prove.BreaksPrecedes},
		{"a call that no state has", "a !x done\n a ?grant:ok a", protocol.Terms{
			Unrecognized: protocol.Pass,
			Tools:        map[string]protocol.Tool{"pay": {Effect: protocol.Irreversible, Approval: "ok"}},
			Approvals:    map[string]protocol.Approval{"ok": {}},
		}, prove.Unapproved},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := machine(t, test.text)
			a.Terms = &test.terms
			c := compiled(t, a)
			found := prove.Check(c, nil)
			i := slices.IndexFunc(found, func(f prove.Finding) bool { return f.Code == test.code })
			if i < 0 {
				t.Fatalf("found %v, want %s", found, test.code)
			}
			verdicts, _, err := prove.Replay(c, found[i].Trace)
			if err != nil || slices.ContainsFunc(verdicts, func(v protocol.Verdict) bool { return v.Kind != protocol.Ok }) {
				t.Errorf("%v: the trace of %v is refused: %v", err, found[i], verdicts)
			}
		})
	}
}

// Each of many invariants takes a large search: together they are cut short, and are not
// said to be proven.
func TestManyLargeSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	a := machine(t, "a !x b\n b !x c\n c !x a\n c !say done")
	for i := range 100 {
		a.Terms.Invariants = append(a.Terms.Invariants, protocol.Invariant{AtMost: &protocol.AtMost{Label: "x", N: 1000000 + i}})
	}
	c := compiled(t, a)
	begin := time.Now()
	claims := prove.Prove(c)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	for _, claim := range claims {
		if strings.Contains(claim.Text, "at most") && len(claim.Failed) == 0 {
			t.Errorf("proven: %s", claim.Text)
		}
	}
}
