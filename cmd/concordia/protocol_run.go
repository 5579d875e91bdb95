package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/term"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/prove"
	"github.com/concordia-node/concordia/wire"
)

// A scripted is an event of a script, and what to expect of it.
type scripted struct {
	event   protocol.Event
	assumes []string // the guards that hold, besides those that hold always
	expect  protocol.Kind
	state   protocol.State // afterwards; empty: whatever
	reason  protocol.Reason
}

// parseEvent reads an event as a person writes it: !label or ?label or @label, the label
// in quotes if it has spaces, and perhaps a document.
func parseEvent(line string) (e protocol.Event, err error) {
	if line == "" {
		return e, errEvent
	}
	switch line[0] {
	case '!':
		e.By = protocol.Agent
	case '?':
		e.By = protocol.Environment
	case '@':
		e.By = protocol.Clock
	default:
		return e, errEvent
	}
	label, rest := line[1:], ""
	if strings.HasPrefix(label, `"`) {
		quoted, err := strconv.QuotedPrefix(label)
		if err != nil {
			return e, errEvent
		}
		rest = label[len(quoted):]
		if label, err = strconv.Unquote(quoted); err != nil {
			return e, errEvent
		}
	} else {
		label, rest, _ = strings.Cut(label, " ")
	}
	if e.On = protocol.Label(label); label == "" {
		return e, errEvent
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		if e.Doc, err = wire.Parse([]byte(rest), wire.DocumentLimits); err != nil {
			return e, fmt.Errorf("reading the document of %s: %w", label, err)
		}
	}
	return e, nil
}

var errEvent = errors.New("an event is !LABEL of the agent, ?LABEL of others or @LABEL of the clock, and perhaps a document as JSON")

// readEvent reads an event of a script in JSON: a text as a person writes it, or an
// object as traces have it.
func readEvent(v wire.Value) (s scripted, err error) {
	if v.Kind() == wire.String {
		s.event, err = parseEvent(v.Text())
		s.expect = protocol.Ok
		return s, err
	}
	var e struct {
		Event, Time, Expect, State, Reason string
		By, On, From, To                   string
		Doc                                any
		Assumes                            []string
	}
	if err := decodeClosed(v, &e); err != nil {
		return s, err
	}
	if e.Event != "" {
		if s.event, err = parseEvent(e.Event); err != nil {
			return s, err
		}
	} else {
		s.event.Move = protocol.Move{By: protocol.Role(e.By), On: protocol.Label(e.On)}
	}
	if s.event.On == "" || s.event.By == "" {
		return s, errEvent
	}
	if doc, ok := v.Get("doc"); ok {
		s.event.Doc = doc
	}
	if e.Time != "" {
		if s.event.Time, err = wire.ParseTime(e.Time); err != nil {
			return s, err
		}
	}
	s.assumes, s.expect, s.state, s.reason = e.Assumes, protocol.Kind(e.Expect), protocol.State(e.State), protocol.Reason(e.Reason)
	if s.expect == "" {
		s.expect = protocol.Ok
	}
	if !slices.Contains([]protocol.Kind{protocol.Ok, protocol.Violation, protocol.Blocked, protocol.Unrecognized}, s.expect) {
		return s, fmt.Errorf("expect: want ok, violation, blocked or unrecognized, not %q", e.Expect)
	}
	return s, nil
}

// decodeClosed reads what was parsed strictly, and refuses members that into has not.
func decodeClosed(v wire.Value, into any) error {
	d := json.NewDecoder(strings.NewReader(v.Canonical()))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// readScript reads events: one a line, or a JSON array, or an object with a trace as
// concordia protocol lint and refines print it.
func readScript(data []byte) (list []scripted, err error) {
	if text := bytes.TrimSpace(data); len(text) > 0 && (text[0] == '[' || text[0] == '{') {
		v, err := wire.Parse(text, wire.DocumentLimits)
		if err != nil {
			return nil, err
		}
		v = firstShown(v)
		if x, ok := v.Get("counterexample"); ok {
			v = x
		}
		if t, ok := v.Get("trace"); ok {
			v = t
		}
		if v.Kind() != wire.Array {
			return nil, fmt.Errorf("there is no trace in it")
		}
		for i, e := range v.Elems() {
			s, err := readEvent(e)
			if err != nil {
				return nil, fmt.Errorf("event %d: %w", i+1, err)
			}
			list = append(list, s)
		}
		return list, nil
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, scripted{event: e, expect: protocol.Ok})
	}
	return list, nil
}

// firstShown returns the first finding with a trace, of what lint prints; of anything
// else, all of it.
func firstShown(v wire.Value) wire.Value {
	for _, file := range v.Elems() {
		found, _ := file.Get("findings")
		for _, f := range found.Elems() {
			if _, ok := f.Get("trace"); ok {
				return f
			}
		}
	}
	return v
}

// A simulation is a monitor whose guards answer as the script says.
type simulation struct {
	monitor *protocol.Monitor
	always  []string
	now     scripted
}

func newSimulation(c *protocol.Compiled, mode protocol.Mode, holds []string) (*simulation, error) {
	s := &simulation{always: holds}
	guards := map[protocol.Guard]func(protocol.Event) bool{}
	for _, t := range c.Automaton().Transitions {
		for _, test := range t.Condition() {
			if g := test.Guard; g != "" {
				guards[g] = func(protocol.Event) bool {
					return slices.Contains(s.now.assumes, string(g)) || slices.Contains(s.always, string(g)) && !slices.Contains(s.now.assumes, "not: "+string(g))
				}
			}
		}
	}
	m, err := protocol.NewMonitor(c, protocol.MonitorOptions{Mode: mode, Guards: guards})
	s.monitor = m
	return s, err
}

func (s *simulation) step(e scripted) protocol.Verdict {
	s.now = e
	return s.monitor.Step(e.event)
}

// A verdictLine is a verdict for programs.
type verdictLine struct {
	Seq     int              `json:"seq"`
	By      protocol.Role    `json:"by"`
	On      protocol.Label   `json:"on"`
	Verdict protocol.Kind    `json:"verdict"`
	Reason  protocol.Reason  `json:"reason,omitempty"`
	Budget  string           `json:"budget,omitempty"`
	From    protocol.State   `json:"from"`
	To      protocol.State   `json:"to"`
	Allowed []protocol.Label `json:"allowed,omitempty"`
	Unlock  []protocol.Label `json:"unlock,omitempty"`
}

func lineOf(v protocol.Verdict) verdictLine {
	l := verdictLine{Seq: v.Seq, By: v.Move.By, On: v.Move.On, Verdict: v.Kind, Reason: v.Reason, Budget: v.Budget, From: v.From, To: v.To}
	if r := v.Refusal; r != nil {
		for _, m := range r.Allowed {
			l.Allowed = append(l.Allowed, m.On)
		}
		for _, m := range r.Unlock {
			l.Unlock = append(l.Unlock, m.On)
		}
	}
	return l
}

// printVerdict prints a verdict, and what helps if it is a refusal.
func (p printer) printVerdict(v protocol.Verdict) {
	event := cli.Printable(prove.Labels([]protocol.Move{v.Move}))
	if v.Kind == protocol.Ok {
		p.printf("  %s  %s  -> %s\n", p.paint(green, "ok"), event, cli.Printable(string(v.To)))
		return
	}
	p.printf("  %s  %s\n", p.paint(red, string(v.Kind)), cli.Printable(v.Error()))
	if v.Refusal != nil && v.Refusal.Guidance != "" {
		p.printf("      %s\n", cli.Printable(v.Refusal.Guidance))
	}
}

func (a *app) protocolSimulateCommand() *cobra.Command {
	var mode string
	var holds []string
	cmd := &cobra.Command{
		Use:   "simulate FILE [SCRIPT]",
		Short: "Try a protocol: say what happens and see what is legal",
		Long: `simulate follows a conversation that you make up. SCRIPT, or standard input, has an
event a line,

  !call:quote {"tool": "quote", "arguments": {}}
  ?ret:quote:ok {"price": 10}

! is the agent, ? the others, @ the clock; after the label may stand a document. Or it
is JSON: an array of such texts or of objects, or what concordia protocol refines --json
or lint --json prints, of which it is the first run. On a terminal you are asked for one
event after the other.

Guards do not hold unless --holds or the trace says so.

Exit codes: 0 all were legal, 1 an event was refused, 2 wrong usage, 3 it could not be
tried.`,
		Example: `  concordia protocol simulate refund.yaml
  concordia protocol simulate refund.yaml run.txt
  concordia protocol refines fast.yaml refund.yaml --json | concordia protocol simulate refund.yaml`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(modes, mode) {
				return cli.Usagef("--mode: want %s, not %q", strings.Join(modes, ", "), mode)
			}
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			s, err := newSimulation(p.compiled, protocol.Mode(mode), holds)
			if err != nil {
				return cli.Exit(cli.Rejected, err)
			}
			if len(args) == 1 && args[0] != "-" && term.IsTerminal(int(os.Stdin.Fd())) && !a.out.json {
				return a.converse(s, cmd.InOrStdin())
			}
			var data []byte
			if len(args) == 2 && args[1] != "-" {
				data, err = readFile(args[1])
			} else {
				data, err = readAll(cmd.InOrStdin(), "standard input")
			}
			if err != nil {
				return err
			}
			list, err := readScript(data)
			if err != nil {
				return cli.Exit(cli.Rejected, fmt.Errorf("reading a script: %w", err))
			}
			return a.follow(s, list)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", string(protocol.Enforce), "`mode`, what a refusal does: enforce, observe or halt")
	cmd.Flags().StringArrayVar(&holds, "holds", nil, "a `guard` that holds (repeatable)")
	return cmd
}

// follow runs a script to its end.
func (a *app) follow(s *simulation, list []scripted) error {
	lines := []verdictLine{}
	refused := 0
	for _, e := range list {
		v := s.step(e)
		if v.Kind != protocol.Ok {
			refused++
		}
		a.out.printVerdict(v)
		lines = append(lines, lineOf(v))
	}
	state, end := s.monitor.State(), s.monitor.End()
	a.out.printf("%s\n", cli.Printable(ending(state, end)))
	if err := a.out.value(struct {
		Events []verdictLine  `json:"events"`
		State  protocol.State `json:"state"`
		End    protocol.End   `json:"end,omitempty"`
	}{lines, state, end}); err != nil {
		return err
	}
	if refused > 0 {
		return cli.Exit(cli.Rejected, nil)
	}
	return nil
}

func ending(s protocol.State, e protocol.End) string {
	if e == "" {
		return fmt.Sprintf("in %s", s)
	}
	return fmt.Sprintf("in %s: the end, in %s", s, e)
}

// converse asks for events until there are none.
func (a *app) converse(s *simulation, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxScript)
	for {
		m := s.monitor
		a.out.printf("%s\n", cli.Printable(ending(m.State(), m.End())))
		for _, by := range []protocol.Role{protocol.Agent, protocol.Environment, protocol.Clock} {
			if allowed := m.Allowed(by); len(allowed) > 0 {
				a.out.printf("  %s\n", cli.Printable(prove.Labels(allowed)))
			}
		}
		a.out.printf("> ")
		if !lines.Scan() {
			a.out.printf("\n")
			return lines.Err()
		}
		switch line := strings.TrimSpace(lines.Text()); line {
		case "":
		case "quit", "exit":
			return nil
		case "help":
			a.out.printf("%s; quit ends it\n", errEvent)
		default:
			e, err := parseEvent(line)
			if err != nil {
				a.out.printf("%s\n", cli.Printable(err.Error()))
				continue
			}
			a.out.printVerdict(s.step(scripted{event: e}))
		}
	}
}

// maxTestCases bounds the cases of one file.
const maxTestCases = 10_000

func (a *app) protocolTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE CASES...",
		Short: "Run cases: what each event of a trace must come to",
		Long: `test follows conversations and compares. CASES is a file in YAML or JSON:

  cases:
    - name: no refund without a quote
      trace:
        - {event: "!call:issue", expect: violation}
        - {event: "!call:quote", state: waiting}
        - ?ret:quote:ok
      state: offered

An event is expected to be ok unless it says otherwise: violation, blocked (and the
reason) or unrecognized. state is where the conversation is after an event or at the
end, end how it has ended, mode enforce, observe or halt, holds the guards that hold.

Exit codes: 0 all came out so, 1 a case came out differently, 2 wrong usage, 3 it could
not be tried.`,
		Example: `  concordia protocol test refund.yaml refund-cases.yaml`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readProtocol(args[0])
			if err != nil {
				return err
			}
			type outcome struct {
				File   string   `json:"file"`
				Case   string   `json:"case"`
				Passed bool     `json:"passed"`
				Faults []string `json:"faults,omitempty"`
			}
			outcomes := []outcome{}
			failed := 0
			for _, path := range args[1:] {
				v, err := readDocument(path)
				if err != nil {
					return err
				}
				cases, _ := v.Get("cases")
				if cases.Kind() != wire.Array || cases.Len() == 0 || cases.Len() > maxTestCases {
					return cli.Exit(cli.Rejected, fmt.Errorf("reading %s: want a list of cases", path))
				}
				for i, c := range cases.Elems() {
					name, faults, err := runCase(p.compiled, c)
					if err != nil {
						return cli.Exit(cli.Rejected, fmt.Errorf("reading case %d of %s: %w", i+1, path, err))
					}
					outcomes = append(outcomes, outcome{path, name, len(faults) == 0, faults})
					verdict := a.out.paint(green, "passed")
					if len(faults) > 0 {
						failed++
						verdict = a.out.paint(red, "failed")
					}
					a.out.printf("  %s  %s\n", verdict, cli.Printable(name))
					for _, f := range faults {
						a.out.printf("          %s\n", cli.Printable(f))
					}
				}
			}
			a.out.printf("%d of %d cases passed\n", len(outcomes)-failed, len(outcomes))
			if err := a.out.value(outcomes); err != nil {
				return err
			}
			if failed > 0 {
				return cli.Exit(cli.Rejected, nil)
			}
			return nil
		},
	}
}

// readDocument reads JSON, or what says the same in YAML.
func readDocument(path string) (wire.Value, error) {
	data, err := readFile(path)
	if err != nil {
		return wire.Value{}, err
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return readJSON(path)
	}
	var x any
	if err := yaml.Unmarshal(data, &x); err != nil {
		return wire.Value{}, cli.Exit(cli.Rejected, fmt.Errorf("reading %s: %w", path, err))
	}
	v, err := wire.Encode(x)
	if err != nil {
		return v, cli.Exit(cli.Rejected, fmt.Errorf("reading %s: %w", path, err))
	}
	return v, nil
}

// runCase follows the trace of a case and returns in what it came out differently.
func runCase(c *protocol.Compiled, v wire.Value) (name string, faults []string, err error) {
	var of struct {
		Name, Mode string
		State, End *string
		Trace      []any
		Holds      []string
	}
	if err := decodeClosed(v, &of); err != nil {
		return "", nil, err
	}
	if of.Mode == "" {
		of.Mode = string(protocol.Enforce)
	}
	if !slices.Contains(modes, of.Mode) {
		return of.Name, nil, fmt.Errorf("mode: want %s, not %q", strings.Join(modes, ", "), of.Mode)
	}
	s, err := newSimulation(c, protocol.Mode(of.Mode), of.Holds)
	if err != nil {
		return of.Name, nil, err
	}
	trace, _ := v.Get("trace")
	for i, e := range trace.Elems() {
		event, err := readEvent(e)
		if err != nil {
			return of.Name, nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		verdict := s.step(event)
		what := fmt.Sprintf("event %d, %s", i+1, event.event.On)
		switch {
		case verdict.Kind != event.expect && verdict.Kind == protocol.Ok:
			faults = append(faults, fmt.Sprintf("%s: ok, want %s", what, event.expect))
		case verdict.Kind != event.expect:
			faults = append(faults, fmt.Sprintf("event %d, %s, want %s", i+1, verdict.Error(), event.expect))
		case event.reason != "" && verdict.Reason != event.reason:
			faults = append(faults, fmt.Sprintf("%s: blocked since %s, want %s", what, verdict.Reason, event.reason))
		case event.state != "" && s.monitor.State() != event.state:
			faults = append(faults, fmt.Sprintf("%s: it leads to %s, want %s", what, s.monitor.State(), event.state))
		}
	}
	if got := string(s.monitor.State()); of.State != nil && got != *of.State {
		faults = append(faults, fmt.Sprintf("it is in %s, want %s", got, *of.State))
	}
	if got := string(s.monitor.End()); of.End != nil && got != *of.End {
		faults = append(faults, fmt.Sprintf("it has ended in %q, want %q", got, *of.End))
	}
	return of.Name, faults, nil
}

var modes = []string{string(protocol.Enforce), string(protocol.Observe), string(protocol.Halt)}
