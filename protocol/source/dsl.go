package source

import (
	"fmt"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// Options are how a protocol is read; nil means none of them.
type Options struct {
	Name   string // of the file, for messages
	Strict bool   // text form: only the grammar of llmcontract

	// Include returns the text of a fragment that is named with an @; nil: there are
	// none.
	Include func(name string) (string, error)

	// Bind says which events the labels of a text stand for, Polarity who acts at "!".
	// A document says both itself.
	Bind     map[string]string
	Polarity Polarity
}

// A Polarity says from which side a text is written.
type Polarity string

// The polarities.
const (
	FromAgent    Polarity = ""         // "!" is what the agent does
	FromToolHost Polarity = "toolhost" // "!" is what the host of the tools sends: the agent acts at "?"
)

func (o *Options) role(c byte) protocol.Role {
	if (c == '!') == (o.Polarity == FromAgent) {
		return protocol.Agent
	}
	return protocol.Environment
}

// A Protocol is what was read: an automaton, and what was said beside it.
type Protocol struct {
	ID, Version string
	Title       string
	Extends     string // the protocol that this one must refine, as it is named; not checked here
	Pressure    string // what the agent is told to do when it is pushed
	Automaton   *protocol.Automaton
	Warnings    []*Error
}

// ParseDSL reads the text form. The first fault is returned as an [*Error].
func ParseDSL(content string, opts *Options) (*Protocol, error) {
	if opts == nil {
		opts = &Options{}
	}
	t := newText(opts.Name, content)
	if len(content) > MaxSize {
		return nil, t.fault(CodeLimit, 0, "the text is too long")
	}
	if opts.Polarity != FromAgent && opts.Polarity != FromToolHost {
		return nil, t.fault(CodeValue, 0, "the polarity is neither empty nor \"toolhost\"")
	}
	left := MaxSize - len(content)
	p := &parser{text: t, opts: opts, left: &left}
	list, err := p.whole()
	if err != nil {
		return nil, err
	}
	b := &chainer{}
	if err := b.check(list, nil, nil); err != nil {
		return nil, err
	}
	a, err := b.automaton(list, opts)
	if err != nil {
		return nil, err
	}
	a.Name = opts.Name
	return &Protocol{Automaton: a, Warnings: b.warnings}, nil
}

// A scope is the recursions around a place, innermost first.
type scope struct {
	name  string
	after *following // up to the end of the next recursion
	outer *scope
}

// A following is what comes after a place: the rest of its sequence, and what comes
// after that.
type following struct {
	list []term
	then *following
}

// nothing reports whether only the end follows.
func (f *following) nothing() bool {
	for ; f != nil; f = f.then {
		for _, t := range f.list {
			if t.kind != skip {
				return false
			}
		}
	}
	return true
}

func (f *following) String() string {
	var b strings.Builder
	for ; f != nil; f = f.then {
		for _, t := range f.list {
			if t.kind != skip && b.Len() < 200 {
				b.WriteString("." + t.text.content[t.at:t.end])
			}
		}
	}
	return cut(b.String())
}

// A chainer makes states from the end of a protocol to its beginning: each term is
// compiled knowing the state that follows it.
type chainer struct {
	warnings []*Error
	states   []point
	alias    []int // the state that a variable's state stands for; itself if it is one
}

// A point is a state: at it one side acts.
type point struct {
	moves []edge
	place protocol.Place
}

type edge struct {
	by    protocol.Role
	label string
	to    int
	text  *text
	at    int
}

// check finds the faults that a finite automaton cannot express. after is what follows
// the sequence up to the end of the innermost recursion.
func (b *chainer) check(list []term, in *scope, after *following) error {
	for i := range list {
		t := &list[i]
		next := &following{list[i+1:], after}
		var err error
		switch t.kind {
		case variable:
			s, lost := in, next
			for s != nil && s.name != t.name && lost.nothing() {
				s, lost = s.outer, s.after
			}
			switch {
			case !in.binds(t.name):
				err = t.fault(CodeUnbound, "no recursion binds the variable %s", cut(t.name))
			case !lost.nothing():
				err = t.fault(CodeNonTail, "the recursion to %s is not at the end: %q would follow it and be lost", cut(t.name), lost)
			}
		case recursion:
			if in.binds(t.name) {
				b.warnings = append(b.warnings, t.fault(CodeShadowing, "the recursion hides an outer variable %s", cut(t.name)))
			}
			if !next.nothing() && !exits(t.body) {
				b.warnings = append(b.warnings, t.fault(CodeNeverEnds, "the recursion %s never ends: %q after it is not reached from here", cut(t.name), next))
			}
			err = b.check(t.body, &scope{t.name, next, in}, nil)
		case include:
			err = b.check(t.body, nil, nil)
		case choice:
			for _, a := range t.branches {
				if err := b.check(a.then, in, next); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scope) binds(name string) bool {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return true
		}
	}
	return false
}

// exits reports whether a body may come to its end.
func exits(list []term) bool {
	for _, t := range list {
		switch t.kind {
		case variable:
			return false
		case recursion, include:
			if !exits(t.body) {
				return false
			}
		case choice:
			some := false
			for _, a := range t.branches {
				some = some || exits(a.then)
			}
			if !some {
				return false
			}
		}
	}
	return true
}

func (b *chainer) add(n point) int {
	b.states = append(b.states, n)
	b.alias = append(b.alias, len(b.states)-1)
	return len(b.states) - 1
}

// A binding is a variable and its state.
type binding struct {
	name  string
	state int
	outer *binding
}

// chain returns the state in which a sequence begins, given the one that follows.
func (b *chainer) chain(list []term, next int, vars *binding) (int, error) {
	for i := len(list) - 1; i >= 0; i-- {
		t := &list[i]
		var err error
		switch t.kind {
		case choice:
			n := point{place: t.text.place(t.at)}
			for _, a := range t.branches {
				to := next
				if to, err = b.chain(a.then, next, vars); err != nil {
					return 0, err
				}
				n.moves = append(n.moves, edge{t.by, a.label, to, t.text, a.at})
			}
			next = b.add(n)
		case variable:
			v := vars
			for v.name != t.name {
				v = v.outer
			}
			next = v.state
		case recursion:
			loop := b.add(point{})
			if next, err = b.chain(t.body, next, &binding{t.name, loop, vars}); err != nil {
				return 0, err
			}
			if b.resolve(next) == loop {
				return 0, t.fault(CodeUnguarded, "nothing happens between the recursion and its variable %s", cut(t.name))
			}
			b.alias[loop] = next
		case include:
			if next, err = b.chain(t.body, next, nil); err != nil {
				return 0, err
			}
		}
	}
	return next, nil
}

func (b *chainer) resolve(s int) int {
	for b.alias[s] != s {
		s = b.alias[s]
	}
	return s
}

// automaton numbers the states as they are met from the beginning.
func (b *chainer) automaton(list []term, opts *Options) (*protocol.Automaton, error) {
	end := b.add(point{})
	begin, err := b.chain(list, end, nil)
	if err != nil {
		return nil, err
	}
	for label := range opts.Bind {
		used := false
		for _, n := range b.states {
			for _, e := range n.moves {
				used = used || e.label == label
			}
		}
		if !used {
			return nil, &Error{Code: CodeBind, Name: opts.Name, Message: fmt.Sprintf("the label %q is bound, but the protocol does not have it", cut(label))}
		}
	}
	a := &protocol.Automaton{Ends: map[protocol.State]protocol.End{}, Places: map[protocol.State]protocol.Place{}}
	names := map[int]protocol.State{}
	var queue []int
	meet := func(s int) protocol.State {
		s = b.resolve(s)
		name, met := names[s]
		if !met {
			name = protocol.State(fmt.Sprint("s", len(names)))
			if s == end {
				name = "end"
				a.Ends[name] = protocol.Success
			}
			names[s] = name
			a.States = append(a.States, name)
			if place := b.states[s].place; place.Line > 0 {
				a.Places[name] = place
			}
			queue = append(queue, s)
		}
		return name
	}
	a.Initial = meet(begin)
	for i := 0; i < len(queue); i++ {
		from := names[queue[i]]
		for _, e := range b.states[queue[i]].moves {
			t := protocol.Transition{From: from, On: protocol.Label(e.label), By: e.by, To: meet(e.to)}
			if words, bound := opts.Bind[e.label]; bound {
				ev, err := parseEvent(words)
				if err != nil {
					return nil, e.text.fault(CodeBind, e.at, fmt.Sprintf("the label %q is bound to no event: %v", cut(e.label), err))
				}
				if ev.by != "" && ev.by != e.by {
					return nil, e.text.fault(CodeBind, e.at, fmt.Sprintf("the label %q is bound to %q, which is the other side's act; the polarity may be the wrong one", cut(e.label), cut(words)))
				}
				t.On, t.When = ev.on, ev.when
			}
			a.Transitions = append(a.Transitions, t)
		}
	}
	return a, nil
}
