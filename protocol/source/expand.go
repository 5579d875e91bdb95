package source

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// BUG(source): An automaton does not remember for which arguments an approval was given.
// Whoever reports a grant checks that the call has them.

// BUG(source): Reading something else than with "parallel: read" between a grant and its
// call forfeits the grant.

// Names of the steps inside a state.
const (
	dot    = "·"
	asking = dot + "ask" // an approval was asked for
	armed  = dot + "go"  // and given
)

// What bounds an automaton with the steps inside its states.
const (
	maxStates      = 20000
	maxTransitions = 400000
)

// Compile makes the automaton. All faults that are found are joined, each an [*Error].
func (d *Document) Compile() (*Protocol, error) {
	t := d.text
	if t == nil {
		t = newText("", "")
	}
	x := &expander{
		reader: reader{text: t}, d: d, named: map[protocol.State]*State{}, labels: map[protocol.Label]bool{},
		a: &protocol.Automaton{
			Name: d.ID, Initial: d.Initial, Part: map[protocol.State]protocol.State{}, Public: map[protocol.State]string{},
			Ends: map[protocol.State]protocol.End{}, Guidance: map[protocol.State]string{},
			Budgets: map[protocol.State]protocol.Budget{}, Places: map[protocol.State]protocol.Place{},
		},
	}
	p := &Protocol{
		ID: d.ID, Version: d.Version, Title: d.Title, Extends: d.Extends, Pressure: d.Pressure, Automaton: x.a,
	}
	if d.DSL != "" {
		inner, err := ParseDSL(d.DSL, &Options{Name: t.name + "#dsl", Include: d.include, Bind: d.Bind, Polarity: d.Polarity})
		if err != nil {
			return nil, err
		}
		x.adopt(inner.Automaton)
		p.Warnings = inner.Warnings
	} else {
		x.declare()
		for i := range d.States {
			x.state(&d.States[i])
		}
	}
	x.terms()
	if len(x.faults) > 0 {
		return nil, errors.Join(x.faults...)
	}
	if _, err := protocol.Compile(x.a); err != nil {
		return nil, &Error{Code: CodeCondition, Name: t.name, Place: d.at("states", ""), Message: err.Error(), Text: t.line(d.at("states", "").Line)}
	}
	return p, nil
}

// An expander makes the states and transitions of a document.
type expander struct {
	reader
	d      *Document
	a      *protocol.Automaton
	named  map[protocol.State]*State
	labels map[protocol.Label]bool
	full   bool // of states
}

// adopt takes the automaton of a text.
func (x *expander) adopt(a *protocol.Automaton) {
	name := x.a.Name
	*x.a = *a
	x.a.Name, x.a.Places = name, nil
	for _, t := range a.Transitions {
		x.labels[t.On] = true
	}
	for _, name := range slices.Sorted(maps.Keys(x.d.Timers)) {
		timer := x.d.Timers[name]
		x.fail(CodeValue, timer.place, "the timer %s needs states with names, which a dsl does not have", cut(name))
	}
}

// declare checks the names of states.
func (x *expander) declare() {
	for i := range x.d.States {
		s := &x.d.States[i]
		switch {
		case s.Name == "" || s.Name == Stay || s.Name == Refuse || strings.Contains(string(s.Name), dot):
			x.fail(CodeName, s.place, "%q is no name for a state", cut(string(s.Name)))
		case x.named[s.Name] != nil:
			x.fail(CodeDuplicate, s.place, "the state %s is there already", cut(string(s.Name)))
		}
		x.named[s.Name] = s
	}
	if x.named[x.d.Initial] == nil {
		x.fail(CodeName, x.d.at("initial", ""), "the initial state %q is not there", cut(string(x.d.Initial)))
	}
}

// step adds a state, or a step inside one.
func (x *expander) step(s *State, name protocol.State) {
	if len(x.a.States) == maxStates {
		if !x.full {
			x.fail(CodeLimit, s.place, "the protocol has too many states")
		}
		x.full = true
		return
	}
	x.a.States = append(x.a.States, name)
	if name != s.Name {
		x.a.Part[name] = s.Name
	}
	if s.Public != "" {
		x.a.Public[name] = s.Public
	}
	if s.Guidance != "" {
		x.a.Guidance[name] = s.Guidance
	}
	if s.place.Line > 0 {
		x.a.Places[name] = s.place
	}
}

func (x *expander) edge(from protocol.State, by protocol.Role, on protocol.Label, c protocol.Condition, to protocol.State) {
	x.edgeIf(from, by, on, "", c, to)
}

func (x *expander) edgeIf(from protocol.State, by protocol.Role, on protocol.Label, guard protocol.Guard, c protocol.Condition, to protocol.State) {
	if x.full || len(x.a.Transitions) == maxTransitions {
		if !x.full {
			x.fail(CodeLimit, protocol.Place{}, "the protocol has too many transitions in its states and their steps")
		}
		x.full = true
		return
	}
	x.labels[on] = true
	x.a.Transitions = append(x.a.Transitions, protocol.Transition{From: from, By: by, On: on, If: guard, When: c, To: to})
}

// A ruling is a rule with its event read.
type ruling struct {
	Rule
	event
	tool    string // of a result
	outcome string
}

// rulings reads the rules of a state.
func (x *expander) rulings(s *State) (list []ruling) {
	for _, r := range s.On {
		ev, err := parseEvent(r.On)
		if err != nil {
			x.fail(CodeValue, r.place, "%v", err)
			continue
		}
		if ev.by == "" {
			if ev.by = r.By; ev.by == "" {
				x.fail(CodeMissing, r.place, "whose event %s is, \"by\" has to say", cut(string(ev.on)))
			}
		} else if r.By != "" && r.By != ev.by {
			x.fail(CodeValue, r.place, "%s is by %s", cut(string(ev.on)), ev.by)
		}
		switch ev.by {
		case "", protocol.Agent, protocol.Environment, protocol.Clock:
		default:
			if !slices.Contains(x.d.Roles, ev.by) {
				x.fail(CodeName, r.place, "the role %q is not declared", cut(string(ev.by)))
			}
		}
		if to := r.To; to != Stay && to != Refuse && x.named[to] == nil {
			x.fail(CodeName, r.place, "there is no state %q to go to", cut(string(to)))
		}
		ev.when = append(ev.when[:len(ev.when):len(ev.when)], r.When...)
		x.compared(ev.when, r.place)
		it := ruling{Rule: r, event: ev}
		if strings.HasPrefix(r.On, "ret ") {
			it.tool, it.outcome = splitResult(ev.on)
			if _, known := x.d.Tools[it.tool]; !known {
				x.fail(CodeName, r.place, "there is no tool %q", cut(it.tool))
			} else if !slices.ContainsFunc(s.Allow, func(a Allow) bool { return a.Tool == it.tool }) {
				x.fail(CodeValue, r.place, "the state %s does not allow %s, of whose result the rule is", s.Name, cut(it.tool))
			}
		}
		if kind, name, _ := strings.Cut(string(ev.on), ":"); kind == "timer" && strings.HasPrefix(r.On, "timer ") {
			if timer, known := x.d.Timers[name]; !known {
				x.fail(CodeName, r.place, "there is no timer %q", cut(name))
			} else if timer.In != "" && timer.In != s.Name {
				x.fail(CodeValue, r.place, "the timer %s runs in %s only", cut(name), timer.In)
			}
		}
		if r.To != "" && x.isNeeded(s, r.On) {
			x.fail(CodeValue, r.place, "%s leads to the call that needs it, and nowhere else", cut(r.On))
		}
		if kind, name, _ := strings.Cut(r.On, " "); kind == "ask" || kind == "grant" || kind == "deny" || kind == "expire" {
			if _, known := x.d.Approvals[strings.TrimSpace(name)]; !known {
				x.fail(CodeName, r.place, "there is no approval %q", cut(name))
			}
		}
		list = append(list, it)
	}
	return list
}

// isNeeded reports whether a rule is about asking for or granting an approval that a
// tool of the state needs.
func (x *expander) isNeeded(s *State, on string) bool {
	kind, name, _ := strings.Cut(on, " ")
	return (kind == "ask" || kind == "grant") && slices.ContainsFunc(s.Allow, func(a Allow) bool {
		return x.d.Tools[a.Tool].Approval == strings.TrimSpace(name)
	})
}

func splitResult(l protocol.Label) (tool, outcome string) {
	rest, _ := strings.CutPrefix(string(l), "ret:")
	i := strings.LastIndexByte(rest, ':')
	return rest[:i], rest[i+1:]
}

// compared checks the captures of a condition.
func (x *expander) compared(c protocol.Condition, place protocol.Place) {
	for _, name := range captures(c) {
		if _, known := x.d.Captures[name]; !known {
			x.fail(CodeName, place, "there is no capture %q", cut(name))
		}
	}
}

// target is where a rule leads from a step inside a state.
func target(r *ruling, stay protocol.State) protocol.State {
	switch r.To {
	case Stay:
		return stay
	case Refuse:
		return protocol.Nowhere
	}
	return r.To
}

// state makes the steps of a state: itself; for each call that is not a mere read one in
// which it waits for its result; for each that needs an approval one in which it is
// asked for, and one in which it was given.
func (x *expander) state(s *State) {
	w := &within{expander: x, s: s, rules: x.rulings(s), calls: map[string][]Allow{}}
	for _, a := range s.Allow {
		tool, known := x.d.Tools[a.Tool]
		if !known {
			x.fail(CodeName, a.place, "there is no tool %q", cut(a.Tool))
			continue
		}
		if _, known := x.d.Approvals[tool.Approval]; tool.Approval != "" && !known {
			continue // a fault of the tool
		}
		x.compared(a.When, a.place)
		if w.calls[a.Tool] == nil {
			w.tools = append(w.tools, a.Tool)
		}
		w.calls[a.Tool] = append(w.calls[a.Tool], a)
	}
	if s.End != "" {
		x.a.Ends[s.Name] = s.End
	}
	if !isZeroBudget(s.Budget) {
		x.a.Budgets[s.Name] = s.Budget
	}
	w.step(s, s.Name)
	w.act(s.Name, "")
	for _, tool := range w.tools {
		if w.isFree(tool) {
			continue
		}
		w.wait(tool)
		if x.d.Tools[tool].Approval != "" {
			w.ask(tool)
		}
	}
}

func isZeroBudget(b protocol.Budget) bool {
	return b.Calls == 0 && b.Bytes == 0 && b.Tokens == 0 && b.Wall == 0 && len(b.Money) == 0 && b.Strikes == 0
}

// within makes the steps of one state.
type within struct {
	*expander
	s     *State
	rules []ruling
	tools []string
	calls map[string][]Allow
}

func (w *within) at(tool, step string) protocol.State {
	return w.s.Name + protocol.State(dot+tool+step)
}

// isFree reports whether calls of a tool and their results move nothing: they only
// read, nothing depends on their result, and they may overlap with others.
func (w *within) isFree(tool string) bool {
	t := w.d.Tools[tool]
	return w.s.Parallel && t.Effect == protocol.Reads && t.Approval == "" &&
		!slices.ContainsFunc(w.rules, func(r ruling) bool { return r.tool == tool })
}

// act makes what may happen in a step in which no call waits: the calls, and the events
// of the state. approved is the tool whose call was approved, or "".
func (w *within) act(from protocol.State, approved string) {
	for _, tool := range w.tools {
		call := protocol.Label("call:" + tool)
		name := w.d.Tools[tool].Approval
		switch {
		case w.isFree(tool):
			w.call(from, protocol.Agent, call, tool, nil, from)
			continue
		case name == "" || tool == approved:
			w.call(from, protocol.Agent, call, tool, nil, w.at(tool, ""))
			if name == "" {
				continue
			}
		default:
			if when := w.d.Approvals[name].When; len(when) > 0 {
				w.edge(from, protocol.Agent, call, when, protocol.Nowhere)
				w.call(from, protocol.Agent, call, tool, nil, w.at(tool, ""))
			}
		}
		which := protocol.Condition{{At: "/tool", In: protocol.Values(wire.Text(tool))}}
		w.call(from, protocol.Agent, protocol.Label("ask:"+name), tool, append(which, w.d.Approvals[name].When...), w.at(tool, asking))
	}
	w.events(from)
}

// call makes a transition for each way in which a tool is allowed.
func (w *within) call(from protocol.State, by protocol.Role, on protocol.Label, tool string, more protocol.Condition, to protocol.State) {
	for _, a := range w.calls[tool] {
		w.edgeIf(from, by, on, a.If, append(more[:len(more):len(more)], a.When...), to)
	}
}

// events makes the rules of the state in one of its steps, and its timers.
func (w *within) events(from protocol.State) {
	ruled := map[protocol.Label]bool{}
	for i := range w.rules {
		r := &w.rules[i]
		if r.tool == "" && !w.isOwn(r) {
			w.edgeIf(from, r.event.by, r.event.on, r.If, r.event.when, target(r, from))
			ruled[r.event.on] = true
		}
	}
	w.timed(from, ruled)
}

// isOwn reports whether a rule is about what becomes of an approval that a tool of the
// state needs, which is a matter of the steps in which it was asked for.
func (w *within) isOwn(r *ruling) bool {
	kind, name, _ := strings.Cut(r.On, " ")
	if kind != "deny" && kind != "expire" {
		return false
	}
	return slices.ContainsFunc(w.tools, func(t string) bool { return w.d.Tools[t].Approval == strings.TrimSpace(name) })
}

// timed makes the timers that say themselves where they lead.
func (w *within) timed(from protocol.State, ruled map[protocol.Label]bool) {
	for _, name := range slices.Sorted(maps.Keys(w.d.Timers)) {
		timer := w.d.Timers[name]
		on := protocol.Label("timer:" + name)
		if timer.To == "" || ruled[on] || timer.In == "" && w.s.End != "" || timer.In != "" && timer.In != w.s.Name {
			continue
		}
		w.edge(from, protocol.Clock, on, nil, timer.To)
	}
}

// wait makes the step in which a call waits for its result.
func (w *within) wait(tool string) {
	here := w.at(tool, "")
	w.step(w.s, here)
	for _, outcome := range Outcomes {
		on := protocol.Label("ret:" + tool + ":" + outcome)
		ruled := false
		for i := range w.rules {
			if r := &w.rules[i]; r.tool == tool && r.outcome == outcome {
				w.edgeIf(here, protocol.Environment, on, r.If, r.event.when, target(r, w.s.Name))
				ruled = true
			}
		}
		switch {
		case ruled:
		case outcome == "unknown" && w.d.Tools[tool].Effect == protocol.Irreversible:
			w.edge(here, protocol.Environment, on, nil, here) // in doubt
		default:
			w.edge(here, protocol.Environment, on, nil, w.s.Name)
		}
	}
	w.free(here)
	w.timedWait(here)
}

// timedWait makes the timers of the whole conversation while a call waits.
func (w *within) timedWait(here protocol.State) {
	for _, name := range slices.Sorted(maps.Keys(w.d.Timers)) {
		if timer := w.d.Timers[name]; timer.In == "" && timer.To != "" && w.s.End == "" {
			w.edge(here, protocol.Clock, protocol.Label("timer:"+name), nil, timer.To)
		}
	}
}

// free makes the calls that may overlap with others.
func (w *within) free(from protocol.State) {
	for _, tool := range w.tools {
		if w.isFree(tool) {
			w.call(from, protocol.Agent, protocol.Label("call:"+tool), tool, nil, from)
		}
	}
}

// ask makes the steps in which an approval was asked for, and given.
func (w *within) ask(tool string) {
	name := w.d.Tools[tool].Approval
	answer := func(from protocol.State, by protocol.Role, kind string) {
		on := protocol.Label(kind + ":" + name)
		ruled := false
		for i := range w.rules {
			if r := &w.rules[i]; r.event.on == on {
				w.edgeIf(from, by, on, r.If, r.event.when, target(r, w.s.Name))
				ruled = true
			}
		}
		if !ruled {
			w.edge(from, by, on, nil, w.s.Name)
		}
	}
	waiting, given := w.at(tool, asking), w.at(tool, armed)
	w.step(w.s, waiting)
	w.edge(waiting, protocol.Environment, protocol.Label("grant:"+name), nil, given)
	answer(waiting, protocol.Environment, "deny")
	answer(waiting, protocol.Clock, "expire")
	w.free(waiting)
	w.events(waiting)

	w.step(w.s, given)
	w.act(given, tool)
	answer(given, protocol.Clock, "expire")
}

// terms makes what a protocol demands beside the order of events. What says the same
// becomes the same.
func (x *expander) terms() {
	d := x.d
	t := &protocol.Terms{
		Tools: map[string]protocol.Tool{}, Approvals: map[string]protocol.Approval{}, Captures: map[string]protocol.Capture{},
		Timers: map[string]protocol.Timer{}, Budget: d.Budget, Reserve: d.Reserve, ReserveFor: slices.Sorted(slices.Values(d.ReserveFor)),
		Invariants: d.Invariants,
	}
	if d.Unrecognized != protocol.Block {
		t.Unrecognized = d.Unrecognized
	}
	named := func(tool, what string, place protocol.Place) {
		if _, known := d.Tools[tool]; !known {
			x.fail(CodeName, place, "%s names %q, which is no tool", what, cut(tool))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Tools)) {
		tool := d.Tools[name]
		if tool.Effect == "" {
			tool.Effect = protocol.Writes
		}
		if tool.Probe != "" {
			named(tool.Probe, "the probe of "+cut(name), d.at("tools", name))
		}
		if _, known := d.Approvals[tool.Approval]; tool.Approval != "" && !known {
			x.fail(CodeName, d.at("tools", name), "the tool %s needs the approval %q, which is not there", cut(name), cut(tool.Approval))
		}
		t.Tools[name] = tool
	}
	for _, name := range slices.Sorted(maps.Keys(d.Approvals)) {
		a := d.Approvals[name]
		if a.Uses == 0 {
			a.Uses = 1
		}
		if a.Assurance == "" {
			a.Assurance = "client"
		}
		x.compared(a.When, d.at("approvals", name))
		t.Approvals[name] = a
	}
	for _, name := range slices.Sorted(maps.Keys(d.Captures)) {
		c := d.Captures[name]
		ev, err := parseEvent(c.From)
		switch {
		case err != nil:
			x.fail(CodeValue, c.place, "%v", err)
		case c.Each != "" && checkGroup(c.Each) != nil:
			x.fail(CodeValue, c.place, "the capture %s: %v", cut(name), checkGroup(c.Each))
		case len(ev.when) > 0:
			x.fail(CodeValue, c.place, "what a user said in particular words is no event to take from; take it from \"hear text\"")
		default:
			t.Captures[name] = protocol.Capture{On: ev.on, At: c.At, Each: c.Each}
		}
		if kind, tool, _ := strings.Cut(string(ev.on), ":"); kind == "call" {
			named(tool, "the capture "+cut(name), c.place)
		} else if kind == "ret" {
			tool, _ := splitResult(ev.on)
			named(tool, "the capture "+cut(name), c.place)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Timers)) {
		timer := d.Timers[name]
		for _, s := range []protocol.State{timer.In, timer.To} {
			if s != "" && x.named[s] == nil && d.DSL == "" {
				x.fail(CodeName, timer.place, "the timer %s names the state %q, which is not there", cut(name), cut(string(s)))
			}
		}
		if timer.After <= 0 {
			x.fail(CodeValue, timer.place, "the timer %s has no time", cut(name))
		}
		t.Timers[name] = protocol.Timer{After: timer.After, In: timer.In}
	}
	for _, tool := range d.ReserveFor {
		named(tool, "the reserve", d.at("budgets", ""))
	}
	if d.Instance != nil {
		scope := slices.Sorted(slices.Values(d.Instance.Scope))
		t.Instance = &protocol.Instance{Key: d.Instance.Key, Scope: slices.Compact(scope)}
		for _, tool := range scope {
			named(tool, "the scope of instances", d.at("instances", ""))
		}
	}
	for _, label := range invariantLabels(d.Invariants) {
		if !x.happens(label) {
			x.fail(CodeName, d.at("invariants", ""), "an invariant is about %q, which never happens", cut(string(label)))
		}
	}
	if !isZeroTerms(t) {
		x.a.Terms = t
	}
}

// happens reports whether a label is one of the protocol: some transition has it, or it
// is about a tool or an approval that is there.
func (x *expander) happens(l protocol.Label) bool {
	kind, name, _ := strings.Cut(string(l), ":")
	known := x.labels[l]
	switch kind {
	case "call":
		_, known = x.d.Tools[name]
	case "ask", "grant", "deny", "expire":
		_, known = x.d.Approvals[name]
	}
	return known || x.labels[l]
}

func invariantLabels(list []protocol.Invariant) (labels []protocol.Label) {
	for _, i := range list {
		switch {
		case i.Precedes != nil:
			labels = append(labels, i.Precedes.First, i.Precedes.Then)
		case i.AtMost != nil:
			labels = append(labels, i.AtMost.Label)
		case i.NeverAfter != nil:
			labels = append(labels, i.NeverAfter.Label, i.NeverAfter.After)
		case i.Requires != nil:
			labels = append(labels, i.Requires.Label)
		case i.Between != nil:
			labels = append(labels, i.Between.Label, i.Between.From, i.Between.To)
		}
	}
	return labels
}

func isZeroTerms(t *protocol.Terms) bool {
	return len(t.Tools) == 0 && len(t.Approvals) == 0 && len(t.Captures) == 0 && len(t.Timers) == 0 && isZeroBudget(t.Budget) &&
		isZeroBudget(t.Reserve) && t.Instance == nil && len(t.Invariants) == 0 && t.Unrecognized == ""
}
