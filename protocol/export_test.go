package protocol_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
)

func TestMermaid(t *testing.T) {
	d := door()
	d.Ends = map[protocol.State]protocol.End{"gone": protocol.Success}
	d.Transitions = append(d.Transitions, protocol.Transition{From: "open", On: "slam", By: "anyone", To: protocol.Nowhere})
	got := d.Mermaid()
	for _, want := range []string{
		"stateDiagram-v2\n", `state "shut" as s0`, "[*] --> s0\n", "\ts0 --> s1: anyone: push [unlocked]\n", "\ts0 --> s0: anyone: push, knock\n", "s2 --> [*]\n",
	} {
		if !strings.Contains(strings.ReplaceAll(got, "#quot;", `"`), want) {
			t.Errorf("Mermaid() lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "slam") || strings.Contains(d.DOT(), "slam") {
		t.Errorf("a refusal is an edge:\n%s", got)
	}
}

func TestPrompt(t *testing.T) {
	a := &protocol.Automaton{
		Name: "refund", Initial: "open", States: []protocol.State{"open", "open ask", "done"},
		Transitions: []protocol.Transition{
			{From: "open", On: "call:issue", By: protocol.Agent, To: protocol.Nowhere},
			{From: "open", On: "ask:boss", By: protocol.Agent, To: "open ask"},
			{From: "open ask", On: "deny:boss", By: protocol.Environment, To: "open"},
			{From: "open ask", On: "ret:issue:ok", By: protocol.Environment, To: "done"},
		},
		Part:     map[protocol.State]protocol.State{"open ask": "open"},
		Ends:     map[protocol.State]protocol.End{"done": protocol.Success},
		Guidance: map[protocol.State]string{"open": "Be kind."},
		Terms: &protocol.Terms{
			Tools: map[string]protocol.Tool{"issue": {Approval: "boss"}}, Approvals: map[string]protocol.Approval{"boss": {TTL: 60e9}},
			Budget: protocol.Budget{Calls: 5}, Reserve: protocol.Budget{Calls: 2}, ReserveFor: []string{"issue"},
		},
	}
	got := a.Prompt("")
	for _, want := range []string{
		"## open\n\n- You begin here.\n- You may ask for the approval `boss`.\n- When `issue` has returned ok, you are in done.\n- Be kind.\n",
		"## done\n\n- The conversation has ended here: success.\n", "- `boss` is needed to call `issue`. It is for the call that was shown, with the same arguments, once, within 1m0s.",
		"5 tool calls in all, the last 2 of them only for issue", protocol.PressureRule,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Prompt() lacks %q:\n%s", want, got)
		}
	}
	if got := a.Prompt("Stay firm."); !strings.Contains(got, "# Pressure\n\nStay firm.\n") || strings.Contains(got, protocol.PressureRule) {
		t.Errorf("Prompt() has no rule of its own:\n%s", got)
	}
}
