package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
)

// On a terminal, simulate says what is legal, judges, and goes on after what it does not
// understand.
func TestConverse(t *testing.T) {
	c, err := protocol.Compile(&protocol.Automaton{
		Name: "x", Initial: "a", States: []protocol.State{"a", "b"}, Ends: map[protocol.State]protocol.End{"b": protocol.Success},
		Transitions: []protocol.Transition{{From: "a", By: protocol.Agent, On: "go on", If: "g", To: "b"}, {From: "a", By: protocol.Clock, On: "timer:t", To: "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSimulation(c, protocol.Enforce, []string{"g"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := &app{out: printer{w: &out}}
	if err := a.converse(s, strings.NewReader("help\ngo\n!stop\n\n!\"go on\" {\"x\": 1}\nquit\nnever\n")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"in a\n  !\"go on\"\n  @timer:t\n> an event is", "> an event is !LABEL", "unrecognized: stop in a", "ok  !\"go on\"  -> b\nin b: the end, in success\n> ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if s.monitor.State() != "b" {
		t.Errorf("it ends in %s", s.monitor.State())
	}
}

// A script is read as it is meant, or refused.
func TestReadScript(t *testing.T) {
	for _, test := range []struct {
		name, text string
		n          int // -1: refused
	}{
		{"lines", "# one\n!a\n\n?b {\"x\": 1}\n@c\n", 3},
		{"texts", `["!a", "?b"]`, 2},
		{"objects", `[{"by": "agent", "on": "a", "doc": {}, "assumes": ["g"]}, {"event": "!b", "time": "2026-09-14T09:00:00Z"}]`, 2},
		{"a trace", `{"trace": [{"by": "agent", "on": "a"}]}`, 1},
		{"findings", `[{"file": "x", "findings": [{"code": "y"}, {"code": "z", "trace": ["!a"]}]}]`, 1},
		{"no sign", "a", -1},
		{"no label", "!", -1},
		{"half a text", `!"a`, -1},
		{"no document", "!a {", -1},
		{"a member too many", `[{"by": "agent", "on": "a", "to do": 1}]`, -1},
		{"no event", `[{}]`, -1},
		{"no trace", `{}`, -1},
		{"twice", `[{"on": "a", "on": "b"}]`, -1},
		{"no verdict", `[{"event": "!a", "expect": "fine"}]`, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := readScript([]byte(test.text))
			if (err != nil) != (test.n < 0) || err == nil && len(list) != test.n {
				t.Errorf("readScript() = %d events, %v; want %d", len(list), err, test.n)
			}
		})
	}
}

// Reading a script never fails otherwise than with an error.
func FuzzReadScript(f *testing.F) {
	for _, text := range []string{"!a\n?b {}\n", `["!a", {"by": "agent", "on": "b", "doc": 1}]`, `{"counterexample": {"trace": ["@t"]}}`} {
		if _, err := readScript([]byte(text)); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := readScript(data)
		for _, s := range list {
			if err == nil && (s.event.On == "" || s.event.By == "") {
				t.Errorf("an event without a label or a role: %+v", s)
			}
		}
	})
}
