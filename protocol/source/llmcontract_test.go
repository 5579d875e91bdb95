package source_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/source"
)

// follower runs labels through a protocol as llmcontract's monitor does: "!x" is sent,
// "?x" is received, and a violation halts.
type follower struct {
	testing.TB
	*protocol.Monitor
}

func follow(tb testing.TB, text string) follower {
	tb.Helper()
	p, err := source.ParseDSL(text, &source.Options{Strict: true})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.Compile(p.Automaton)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := protocol.NewMonitor(c, protocol.MonitorOptions{Mode: protocol.Halt})
	if err != nil {
		tb.Fatal(err)
	}
	return follower{tb, m}
}

func (f follower) step(move string) protocol.Verdict {
	by := map[byte]protocol.Role{'!': protocol.Agent, '?': protocol.Environment}[move[0]]
	return f.Step(protocol.Event{Move: protocol.Move{By: by, On: protocol.Label(move[1:])}})
}

// expected is what either side may do in the state of a verdict.
func (f follower) expected(v protocol.Verdict) (list []string) {
	c := f.Compiled()
	for _, m := range c.Moves(c.Index(v.From)) {
		list = append(list, map[protocol.Role]string{protocol.Agent: "!", protocol.Environment: "?"}[m.By]+string(m.On))
	}
	return list
}

func (f follower) expect(moves string) {
	f.Helper()
	for _, move := range strings.Fields(moves) {
		if v := f.step(move); v.Kind != protocol.Ok {
			f.Errorf("%s: %v", move, v)
		}
	}
}

// What the documentation of llmcontract shows, holds here in halt mode.
func TestLLMContract(t *testing.T) {
	t.Run("a booking, from beginning to end", func(t *testing.T) {
		f := follow(t, "!SearchFlights.?FlightResults.!PresentOptions.?UserApproval.!BookFlight.?BookingConfirmation.end")
		f.expect("!SearchFlights ?FlightResults !PresentOptions ?UserApproval !BookFlight")
		if f.End() != "" {
			t.Error("it has ended before the confirmation")
		}
		f.expect("?BookingConfirmation")
		if f.End() != protocol.Success {
			t.Error("it has not ended")
		}
	})
	t.Run("a violation says what was expected, and halts", func(t *testing.T) {
		f := follow(t, "!Ping.?Pong.end")
		f.expect("!Ping")
		v := f.step("!Pong")
		if v.Kind != protocol.Violation || !slices.Equal(f.expected(v), []string{"?Pong"}) || v.Move.On != "Pong" || v.Move.By != protocol.Agent {
			t.Errorf("got %v, expected %v", v, f.expected(v))
		}
		if v := f.step("!Anything"); v.Kind != protocol.Blocked || v.Reason != protocol.Halted {
			t.Errorf("got %v", v)
		}
	})
	t.Run("the other side chooses a branch", func(t *testing.T) {
		for branch, rest := range map[string]string{"?CardError": "", "?CardCreated": "!Done"} {
			f := follow(t, "!CreateCard.?{CardCreated.!Done.end, CardError.end}")
			f.expect("!CreateCard " + branch)
			if (f.End() != "") != (rest == "") {
				t.Errorf("%s: end %q", branch, f.End())
			}
			f.expect(rest)
			if f.End() == "" {
				t.Errorf("%s: no end", branch)
			}
		}
	})
	t.Run("a hundred rounds of a loop", func(t *testing.T) {
		f := follow(t, "rec X.!Ping.?Pong.X")
		f.expect(strings.Repeat("!Ping ?Pong ", 100))
	})
	t.Run("a card, with a loop in a branch", func(t *testing.T) {
		const card = "!CreateCard.?{CardCreated.rec X.!Transaction.?{TransactionOK.X, SessionEnd}, CardError}.end"
		f := follow(t, card)
		f.expect("!CreateCard ?CardCreated !Transaction ?TransactionOK !Transaction ?SessionEnd")
		if f.End() == "" {
			t.Error("no end")
		}
		f = follow(t, card)
		f.expect("!CreateCard ?CardCreated")
		if v := f.step("!CreateCard"); v.Kind != protocol.Violation || !slices.Equal(f.expected(v), []string{"!Transaction"}) {
			t.Errorf("got %v", v)
		}
	})
	t.Run("what was not understood is asked for again", func(t *testing.T) {
		f := follow(t, "?{Yes.end, No.end}")
		if v := f.step("?Unrecognized"); v.Kind != protocol.Unrecognized || !slices.Equal(f.expected(v), []string{"?No", "?Yes"}) {
			t.Errorf("got %v, expected %v", v, f.expected(v))
		}
		f.expect("?Yes")
	})
	t.Run("what was not understood has a branch", func(t *testing.T) {
		f := follow(t, "rec Loop.!Ask.?{Yes.end, No.end, Unrecognized.Loop}")
		f.expect("!Ask ?Unrecognized !Ask ?Yes")
		if f.End() == "" {
			t.Error("no end")
		}
	})
	t.Run("a loop of an agent with tools", func(t *testing.T) {
		f := follow(t, "rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}")
		f.expect("!Request ?ToolCall !ToolResult !Request ?FinalAnswer")
		f = follow(t, "!Request.?{ToolCall.!ToolResult.end, FinalAnswer.end}")
		f.expect("!Request ?ToolCall !ToolResult")
		if v := f.step("!ExtraCall"); v.Kind == protocol.Ok {
			t.Error("a call too many is fine")
		}
	})
	t.Run("a trace is what was tried, and recovers", func(t *testing.T) {
		f := follow(t, "!Ping.?Pong.end")
		f.expect("!Ping")
		f.step("!Pong")
		s, err := f.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		m, err := protocol.Restore(f.Compiled(), protocol.MonitorOptions{Mode: protocol.Halt}, s)
		if err != nil {
			t.Fatal(err)
		}
		if v := m.Step(protocol.Event{Move: protocol.Move{By: protocol.Environment, On: "Pong"}}); v.Reason != protocol.Halted ||
			len(v.Refusal.Tail) != 2 || v.Refusal.Tail[1].Kind != protocol.Violation {
			t.Errorf("got %v, %v", v, v.Refusal)
		}
	})
}

// The verdicts that llmcontract recorded of 60 bookings are those of this monitor, event
// by event.
func TestRecordedVerdicts(t *testing.T) {
	dir := clitest.Shared(filepath.Join("..", ".."), "data", "llmcontract-booking")
	if dir == "" {
		t.Skip("the recorded bookings are absent: CONCORDIA_TESTDATA may name the folder that holds data/llmcontract-booking")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 60 {
		t.Fatalf("%d bookings, %v", len(files), err)
	}
	outcomes := map[string]int{}
	events := 0
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var f follower
		outcome := "ok"
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var line struct {
				Type, Protocol, Kind, Label, Verdict, Outcome string
				Expected                                      []string
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			switch line.Type {
			case "meta":
				f = follow(t, line.Protocol)
			case "monitor":
				events++
				v := f.step(map[string]string{"send": "!", "receive": "?"}[line.Kind] + line.Label)
				if !strings.EqualFold(string(v.Kind), line.Verdict) {
					t.Errorf("%s: %s %s is %s, and was %s", filepath.Base(name), line.Kind, line.Label, v.Kind, line.Verdict)
				}
				if v.Kind != protocol.Ok {
					outcome = map[protocol.Kind]string{protocol.Violation: "violated", protocol.Unrecognized: "unrecognized"}[v.Kind]
					if !slices.Equal(f.expected(v), line.Expected) {
						t.Errorf("%s: expected %v, and was %v", filepath.Base(name), f.expected(v), line.Expected)
					}
				}
			case "outcome":
				if outcome != line.Outcome {
					t.Errorf("%s: %s, and was %s", filepath.Base(name), outcome, line.Outcome)
				}
				if (f.End() != "") != (outcome == "ok") {
					t.Errorf("%s: %s, end %q", filepath.Base(name), outcome, f.End())
				}
				outcomes[outcome]++
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(outcomes); got != "map[ok:31 unrecognized:24 violated:5]" {
		t.Errorf("got %s of %d events", got, events)
	}
}
