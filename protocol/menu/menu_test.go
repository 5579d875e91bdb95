package menu_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/menu"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/wire"
)

func value(tb testing.TB, text string) wire.Value {
	tb.Helper()
	v, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func values(tb testing.TB, list ...string) (all []wire.Value) {
	for _, text := range list {
		all = append(all, value(tb, text))
	}
	return all
}

// refund is the example, with some change.
func refund(tb testing.TB, change ...string) *protocol.Compiled {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "protocols", "refund.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := source.Parse(strings.NewReplacer(change...).Replace(string(text)), nil)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := protocol.Compile(p.Automaton)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

var definitions = []string{
	`{"name":"request_confirmation","description":"Asks the customer.","inputSchema":{"type":"object"}}`,
	`{"name":"issue_refund","description":"Pays back.","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true},"x-other":[1]}`,
	`{"name":"lookup_booking","inputSchema":{"type":"object"}}`,
	`{"name":"get_refund","inputSchema":{"type":"object"}}`,
	`{"name":"delete_account","inputSchema":{"type":"object"}}`,
}

func newMenu(tb testing.TB, c *protocol.Compiled) *menu.Menu {
	tb.Helper()
	m, err := menu.New(c, values(tb, definitions...))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func names(list wire.Value) (all []string) {
	for _, d := range list.Elems() {
		name, _ := d.Get("name")
		all = append(all, name.Text())
	}
	return all
}

func TestDynamic(t *testing.T) {
	m := newMenu(t, refund(t))
	for state, want := range map[protocol.State]string{
		"start": "lookup_booking", "start·lookup_booking": "lookup_booking", "found": "request_confirmation", "waiting": "",
		"confirmed": "issue_refund", "confirmed·issue_refund·ask": "issue_refund", "confirmed·issue_refund·go": "issue_refund",
		"confirmed·issue_refund": "issue_refund", "refunded": "", "no such state": "",
	} {
		if got := strings.Join(names(m.Dynamic(state)), " "); got != want {
			t.Errorf("%s: got %q, want %q", state, got, want)
		}
	}
	if got := strings.Join(names(m.Dynamic("confirmed", "start")), " "); got != "issue_refund lookup_booking" {
		t.Errorf("two states: got %q", got)
	}
	always := newMenu(t, refund(t, "    when: {/arguments/amount: {gt: 100}}\n", ""))
	if got := strings.Join(names(always.Dynamic("confirmed")), " "); got != "issue_refund" {
		t.Errorf("a tool that always needs an approval: got %q", got)
	}
	if got := m.Dynamic("confirmed").Canonical(); got != "["+value(t, definitions[1]).Canonical()+"]" {
		t.Errorf("a definition is not shown as it came: %s", got)
	}
}

func TestPolicies(t *testing.T) {
	for policy, want := range map[string]string{
		"block": "lookup_booking", "pass-if-read": "get_refund lookup_booking", "pass": "delete_account get_refund lookup_booking",
	} {
		m := newMenu(t, refund(t, "initial: start", "unrecognized: "+policy+"\ninitial: start"))
		if got := strings.Join(names(m.Dynamic("start")), " "); got != want {
			t.Errorf("%s: got %q, want %q", policy, got, want)
		}
		if got := slices.Contains(names(m.Static()), "delete_account"); got != (policy == "pass") {
			t.Errorf("%s: the static list is %v", policy, names(m.Static()))
		}
	}
}

func TestStatic(t *testing.T) {
	m := newMenu(t, refund(t))
	if diff := cmp.Diff([]string{"issue_refund", "lookup_booking", "request_confirmation"}, names(m.Static())); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{
		"lookup_booking":       "Protocol: legal in start.",
		"request_confirmation": "Asks the customer.\n\nProtocol: legal in found. From the beginning, this comes first: call:lookup_booking, ret:lookup_booking:ok.",
		"issue_refund": "Pays back.\n\nProtocol: legal in confirmed. From the beginning, this comes first: " +
			"call:lookup_booking, ret:lookup_booking:ok, call:request_confirmation, ret:request_confirmation:ok, hear:yes. " +
			"It needs the approval refund if /arguments/amount is number > 100.",
	}
	for _, d := range m.Static().Elems() {
		name, _ := d.Get("name")
		if text, _ := d.Get("description"); text.Text() != want[name.Text()] {
			t.Errorf("%s: got %q, want %q", name, text.Text(), want[name.Text()])
		}
	}
	if _, has := m.Static().At("0", "x-other"); !has {
		t.Error("a member of a definition is lost")
	}
	// The order in which tools are defined is nothing.
	reversed := values(t, definitions...)
	slices.Reverse(reversed)
	other, err := menu.New(refund(t), reversed)
	if err != nil || !other.Static().Equal(m.Static()) {
		t.Errorf("another list: %v", err)
	}
}

func TestStaticSaysAlways(t *testing.T) {
	p, err := source.Parse("protocol: concordia.protocol/1\ninitial: a\ntools: {t: {}}\nstates: {a: {allow: [t], on: [{hear: x, to: b}]}, b: {allow: [t], on: [{hear: x, to: c}]}, c: {end: success}}", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := protocol.Compile(p.Automaton)
	if err != nil {
		t.Fatal(err)
	}
	m, err := menu.New(c, values(t, `{"name":"t"}`))
	if err != nil || m.Static().Canonical() != `[{"description":"Protocol: legal until the end.","name":"t"}]` {
		t.Errorf("got %s, %v", m.Static(), err)
	}
}

func TestDispatch(t *testing.T) {
	m := newMenu(t, refund(t))
	if diff := cmp.Diff([]string{menu.CallTool, menu.RequestTool, menu.StatusTool}, names(m.Dispatch())); diff != "" {
		t.Error(diff)
	}
	schema, _ := m.Dispatch().At("0", "inputSchema", "required")
	if schema.Canonical() != `["tool","arguments"]` {
		t.Errorf("a call requires %s", schema)
	}
	for state, want := range map[protocol.State]string{
		"start":                      `{"guidance":"Look the booking up first.","state":"start","tools":[` + value(t, definitions[2]).Canonical() + `]}`,
		"start·lookup_booking":       `{"guidance":"Look the booking up first.","state":"start","tools":[` + value(t, definitions[2]).Canonical() + `],"waiting":true}`,
		"refunded":                   `{"end":"success","state":"refunded","tools":[]}`,
		"confirmed·issue_refund·ask": `"waiting":true}`,
	} {
		if got := m.Status(state).Canonical(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %s, want %s", state, got, want)
		}
	}
	public := newMenu(t, refund(t, "  refunded:\n", "  refunded:\n    public: REFUNDED\n"))
	if state, _ := public.Status("refunded").Get("state"); state.Text() != "REFUNDED" {
		t.Errorf("the public name is %s", state)
	}
}

func TestMissing(t *testing.T) {
	m, err := menu.New(refund(t), values(t, definitions[0]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"issue_refund", "lookup_booking"}, m.Missing()); diff != "" {
		t.Error(diff)
	}
}

func TestNewRefuses(t *testing.T) {
	for what, list := range map[string][]string{
		"no object": {"1"}, "no name": {`{"title":"x"}`}, "a name that is no text": {`{"name":1}`}, "two of one name": {`{"name":"x"}`, `{"name":"x"}`},
		"a name of the menu": {`{"name":"protocol_call"}`},
	} {
		if _, err := menu.New(refund(t), values(t, list...)); err == nil {
			t.Errorf("a menu was made of %s", what)
		}
	}
	if _, err := menu.New(refund(t), make([]wire.Value, menu.MaxTools+1)); err == nil {
		t.Error("a menu was made of too many tools")
	}
}

func TestClient(t *testing.T) {
	const (
		initialize = "initialize"
		list       = "list"
	)
	for _, test := range []struct {
		name    string
		client  menu.Client
		events  []string
		probes  string // after which events, from 1
		modes   []menu.Mode
		learned menu.Mode
	}{
		{"one that follows", menu.Client{}, []string{initialize, list, list, list}, "2", []menu.Mode{menu.Static, menu.Static, menu.Dynamic, menu.Dynamic}, menu.Dynamic},
		{"one that does not", menu.Client{}, []string{initialize, list}, "2", []menu.Mode{menu.Static, menu.Static}, menu.Static},
		{"one that lists before it has initialized", menu.Client{}, []string{list, list, initialize, list}, "3", []menu.Mode{menu.Static, menu.Static, menu.Static, menu.Dynamic}, menu.Dynamic},
		{"one that never lists", menu.Client{}, []string{initialize}, "", []menu.Mode{menu.Static}, ""},
		{"one that is known to follow", menu.Client{Known: menu.Dynamic}, []string{initialize, list, list}, "", []menu.Mode{menu.Dynamic, menu.Dynamic, menu.Dynamic}, ""},
		{"one that is known not to", menu.Client{Known: menu.Static}, []string{initialize, list, list}, "", []menu.Mode{menu.Static, menu.Static, menu.Static}, ""},
		{"a later revision of which nothing is known", menu.Client{Stateless: true}, []string{initialize, list, list}, "", []menu.Mode{menu.Static, menu.Static, menu.Static}, ""},
		{"a later revision", menu.Client{Stateless: true, Known: menu.Dynamic}, []string{list, list}, "", []menu.Mode{menu.Static, menu.Static}, ""},
		{"a later revision, bound to a credential", menu.Client{Stateless: true, PerCredential: true}, []string{list}, "", []menu.Mode{menu.Dynamic}, ""},
		{"a credential means nothing before", menu.Client{PerCredential: true}, []string{list}, "", []menu.Mode{menu.Static}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, probes := test.client, ""
			var modes []menu.Mode
			for i, e := range test.events {
				probe := false
				if e == list {
					probe = c.Listed()
				} else {
					probe = c.Initialized()
				}
				if probe {
					probes += string(rune('1' + i))
				}
				modes = append(modes, c.Mode())
				if c.Changed() != (c.Mode() == menu.Dynamic) {
					t.Error("changes are not told as the mode demands")
				}
			}
			if diff := cmp.Diff(test.modes, modes); diff != "" || probes != test.probes || c.Learned() != test.learned {
				t.Errorf("%s; probed after %q, want %q; learned %q, want %q", diff, probes, test.probes, c.Learned(), test.learned)
			}
		})
	}
}
