// Package menu says which tools a client is shown, given a protocol and where its
// conversation stands. It knows the definitions of tools as entries of a tools/list
// result, and nothing else of MCP; it makes values and sends nothing.
//
// What is shown is a courtesy. Whether a call is legal is decided when it is made, by the
// monitor, whatever was listed. The four modes differ in what they ask of a client:
//
//   - Dynamic lists what is legal in the state. The client has to read the list again
//     when it is told that it changed, and the list depends on what was called before,
//     which revisions of MCP after 2025-11-25 forbid.
//   - Static lists everything that is ever legal, always the same bytes, and says in each
//     description when it is.
//   - Dispatch lists three tools: one that says what is legal now, with schemas, one that
//     calls it, and one that requests an approval. It asks nothing of the client.
//   - Auto begins as Static and finds out whether the client can do more: see [Client].
//
// All lists are in order of the names of tools, and a list of the same state has the
// same bytes.
package menu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// A Mode is how a menu is shown.
type Mode string

// The modes.
const (
	Dynamic  Mode = "dynamic"
	Static   Mode = "static"
	Dispatch Mode = "dispatch"
	Auto     Mode = "auto"
)

// A Menu is the tools of a protocol, as whoever offers them defines them. It does not
// change.
type Menu struct {
	c       *protocol.Compiled
	tools   map[string]wire.Value
	allowed map[string]map[protocol.State]bool // of each tool the states that allow it
	always  []string                           // let through although the protocol does not know them
	static  wire.Value
}

// MaxTools bounds how many definitions a menu takes.
const MaxTools = 10000

// New makes the menu of a protocol. The definitions are objects with a name that none
// of the others has; they are shown as they came, but for their descriptions.
func New(c *protocol.Compiled, definitions []wire.Value) (*Menu, error) {
	if len(definitions) > MaxTools {
		return nil, fmt.Errorf("making a menu: there are more than %d tools", MaxTools)
	}
	m := &Menu{c: c, tools: map[string]wire.Value{}, allowed: map[string]map[protocol.State]bool{}}
	for i, d := range definitions {
		name, _ := d.Get("name")
		switch _, twice := m.tools[name.Text()]; {
		case name.Text() == "":
			return nil, fmt.Errorf("making a menu: tool %d has no name", i)
		case twice:
			return nil, fmt.Errorf("making a menu: two tools are called %.100q", name.Text())
		case slices.Contains(controls, name.Text()):
			return nil, fmt.Errorf("making a menu: %s is the name of a tool of the menu", name.Text())
		}
		m.tools[name.Text()] = d
	}
	a := c.Automaton()
	for i, reached := range c.Reachable() {
		if !reached.Is {
			continue
		}
		for _, move := range c.Moves(i) {
			tool, isCall := strings.CutPrefix(string(move.On), "call:")
			if !isCall || move.By != protocol.Agent {
				continue
			}
			if m.allowed[tool] == nil {
				m.allowed[tool] = map[protocol.State]bool{}
			}
			m.allowed[tool][a.Whole(c.State(i))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.tools)) {
		if m.allowed[name] == nil && c.Passes(c.Initial(), protocol.Move{By: protocol.Agent, On: protocol.Label("call:" + name)}) {
			m.always = append(m.always, name)
		}
	}
	m.static = m.list(func(name string) bool { return m.allowed[name] != nil }, m.explain)
	return m, nil
}

// Missing returns the tools that the protocol allows and nobody defines, in order.
func (m *Menu) Missing() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.allowed)) {
		if _, defined := m.tools[name]; !defined {
			names = append(names, name)
		}
	}
	return names
}

// Allowed returns the names of the tools that may be called in one of some states, such
// as those of the instances of a conversation, in order. While a call waits for its
// result, or an approval for its answer, it is what may be called before and after, so
// that a list does not change with every call. A tool that needs an approval first is
// among them.
func (m *Menu) Allowed(states ...protocol.State) []string {
	names := slices.Clone(m.always)
	for name, in := range m.allowed {
		if _, defined := m.tools[name]; defined && slices.ContainsFunc(states, func(s protocol.State) bool { return in[m.c.Automaton().Whole(s)] }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Dynamic returns the definitions of the tools that are allowed in one of some states,
// as an array.
func (m *Menu) Dynamic(states ...protocol.State) wire.Value {
	names := m.Allowed(states...)
	return m.list(func(name string) bool { return slices.Contains(names, name) }, nil)
}

// Static returns the definitions of all tools that are ever allowed, as an array, each
// with a description that says when.
func (m *Menu) Static() wire.Value { return m.static }

// list makes an array of definitions.
func (m *Menu) list(shown func(string) bool, explain func(string) string) wire.Value {
	all := []any{}
	for _, name := range slices.Sorted(maps.Keys(m.tools)) {
		d := m.tools[name]
		if !shown(name) && !slices.Contains(m.always, name) {
			continue
		}
		if explain != nil {
			if text := explain(name); text != "" {
				description, _ := d.Get("description")
				d = d.With("description", wire.Text(strings.TrimLeft(description.Text()+"\n\n"+text, "\n")))
			}
		}
		all = append(all, d)
	}
	return encode(all)
}

// encode makes a value of values and literals.
func encode(x any) wire.Value {
	v, err := wire.Encode(x)
	if err != nil {
		panic(fmt.Sprintf("menu: %v", err)) // it is made of values alone
	}
	return v
}

// How much an explanation tells.
const (
	maxNamed = 6
	maxFirst = 6
)

// explain says when a tool is legal.
func (m *Menu) explain(tool string) string {
	a := m.c.Automaton()
	in := m.allowed[tool]
	if in == nil {
		return ""
	}
	var names []string
	everywhere := true
	for i := range m.c.Len() {
		s := m.c.State(i)
		if a.Whole(s) != s {
			continue
		}
		switch {
		case in[s]:
			names = append(names, string(s))
		case m.c.End(i) == "":
			everywhere = false
		}
	}
	var b strings.Builder
	b.WriteString("Protocol: legal ")
	if everywhere {
		b.WriteString("until the end.")
	} else {
		more := ""
		if len(names) > maxNamed {
			more = fmt.Sprintf(" and %d more states", len(names)-maxNamed)
			names = names[:maxNamed]
		}
		b.WriteString("in " + strings.Join(names, ", ") + more + ".")
	}
	if path := m.c.Unlock(m.c.Initial(), protocol.Move{By: protocol.Agent, On: protocol.Label("call:" + tool)}); len(path) > 1 && len(path)-1 <= maxFirst {
		var first []string
		for _, move := range path[:len(path)-1] {
			first = append(first, string(move.On))
		}
		b.WriteString(" From the beginning, this comes first: " + strings.Join(first, ", ") + ".")
	}
	if a.Terms != nil {
		if name := a.Terms.Tools[tool].Approval; name != "" {
			if when := a.Terms.Approvals[name].When; len(when) > 0 {
				b.WriteString(" It needs the approval " + name + " if " + when.String() + ".")
			} else {
				b.WriteString(" It needs the approval " + name + ".")
			}
		}
	}
	return b.String()
}
