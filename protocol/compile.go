package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concordia-node/concordia/wire"
)

// A Move is the label of an event and who causes it.
type Move struct {
	By Role  `json:"by"`
	On Label `json:"on"`
}

func (m Move) compare(n Move) int {
	if c := strings.Compare(string(m.By), string(n.By)); c != 0 {
		return c
	}
	return strings.Compare(string(m.On), string(n.On))
}

// A Compiled is an automaton that runs: for each state and move a decision, whose
// outcomes are the numbers of states. It does not change.
type Compiled struct {
	automaton *Automaton
	states    []State
	index     map[State]int
	whole     []int    // of each state the one that it is a part of
	moves     [][]Move // of each state, in order
	next      []map[Move]*Decision
	labels    map[Label]bool // of transitions and refusals in states that can be reached
	regexps   map[string]*regexp.Regexp
	budget    amounts
	reserve   amounts
	budgets   []amounts // of each state
	digest    func() (wire.Hash, error)
}

// Compile checks that an automaton is one and makes its decisions. It fails on states
// that are not listed, and on conditions that cannot be decided.
func Compile(a *Automaton) (*Compiled, error) {
	c := &Compiled{automaton: a, index: map[State]int{}, labels: map[Label]bool{}, regexps: map[string]*regexp.Regexp{}}
	c.digest = sync.OnceValues(func() (wire.Hash, error) {
		v, err := c.Canonical()
		return v.Hash(), err
	})
	for _, s := range a.States {
		if _, twice := c.index[s]; twice || s == Nowhere {
			return nil, fmt.Errorf("compiling %s: state %q is listed twice, or is no name", a.Name, s)
		}
		c.index[s] = len(c.states)
		c.states = append(c.states, s)
	}
	if _, ok := c.index[a.Initial]; !ok {
		return nil, fmt.Errorf("compiling %s: the initial state %q is not listed", a.Name, a.Initial)
	}
	for _, s := range c.states {
		whole, known := c.index[a.Whole(s)]
		if !known {
			return nil, fmt.Errorf("compiling %s: state %q is part of %q, which is not listed", a.Name, s, a.Whole(s))
		}
		c.whole = append(c.whole, whole)
	}
	rules := make([]map[Move][]rule, len(c.states))
	for _, t := range a.Transitions {
		from, known := c.index[t.From]
		to, ok := c.index[t.To]
		if t.To == Nowhere {
			to, ok = -1, true
		}
		if !known || !ok {
			return nil, fmt.Errorf("compiling %s: the transition from %q on %q to %q names a state that is not listed", a.Name, t.From, t.On, t.To)
		}
		if rules[from] == nil {
			rules[from] = map[Move][]rule{}
		}
		m := Move{t.By, t.On}
		for _, test := range t.When {
			if _, err := c.regexp(test.Matches); err != nil {
				return nil, fmt.Errorf("compiling %s: %w", a.Name, err)
			}
		}
		rules[from][m] = append(rules[from][m], rule{t.Condition(), to})
	}
	if a.Terms != nil {
		for name, capture := range a.Terms.Captures {
			if re, err := c.regexp(capture.Each); err != nil || re != nil && re.NumSubexp() != 1 {
				return nil, fmt.Errorf("compiling %s: capture %s takes each of an expression without one group: %w", a.Name, name, cmp.Or(err, errGroup))
			}
		}
	}
	if err := c.limit(); err != nil {
		return nil, fmt.Errorf("compiling %s: %w", a.Name, err)
	}
	c.moves = make([][]Move, len(c.states))
	c.next = make([]map[Move]*Decision, len(c.states))
	for i, of := range rules {
		c.next[i] = make(map[Move]*Decision, len(of))
		for m, list := range of {
			d, err := decide(list)
			if err != nil {
				return nil, fmt.Errorf("compiling %s: state %s on %s: %w", a.Name, c.states[i], m.On, err)
			}
			if d.isLeaf() && d.outcome < 0 {
				continue
			}
			c.next[i][m] = d
			c.moves[i] = append(c.moves[i], m)
		}
		slices.SortFunc(c.moves[i], Move.compare)
	}
	for s, reached := range c.Reachable() {
		if reached.Is {
			for m := range rules[s] {
				c.labels[m.On] = true
			}
		}
	}
	return c, nil
}

var errGroup = errors.New("it has another number of them")

// regexp compiles an expression once; an empty one is none.
func (c *Compiled) regexp(s string) (*regexp.Regexp, error) {
	if re := c.regexps[s]; re != nil || s == "" {
		return re, nil
	}
	re, err := regexp.Compile(s)
	if err == nil {
		c.regexps[s] = re
	}
	return re, err
}

// limit reads the budgets.
func (c *Compiled) limit() (err error) {
	a := c.automaton
	if t := a.Terms; t != nil {
		if c.budget, err = t.Budget.limits(); err != nil {
			return err
		}
		if c.reserve, err = t.Reserve.limits(); err != nil {
			return err
		}
	}
	c.budgets = make([]amounts, len(c.states))
	for s, b := range a.Budgets {
		i, known := c.index[s]
		if !known {
			return fmt.Errorf("the state %q of a budget is not listed", s)
		}
		if c.budgets[i], err = b.limits(); err != nil {
			return err
		}
	}
	return nil
}

// Automaton returns what was compiled.
func (c *Compiled) Automaton() *Automaton { return c.automaton }

// Len returns the number of states. They are numbered from 0 in the order of the
// automaton.
func (c *Compiled) Len() int { return len(c.states) }

// State returns the name of a state.
func (c *Compiled) State(i int) State { return c.states[i] }

// Index returns the number of a state, or -1.
func (c *Compiled) Index(s State) int {
	if i, ok := c.index[s]; ok {
		return i
	}
	return -1
}

// Initial returns the number of the initial state.
func (c *Compiled) Initial() int { return c.index[c.automaton.Initial] }

// Whole returns the number of the state that a state is a part of.
func (c *Compiled) Whole(state int) int { return c.whole[state] }

// Moves returns what can happen in a state, in order.
func (c *Compiled) Moves(state int) []Move { return c.moves[state] }

// Decision returns what a move does in a state, or nil.
func (c *Compiled) Decision(state int, m Move) *Decision { return c.next[state][m] }

// Knows reports whether a protocol says anything about a label, if only that it is
// refused: whether it is no matter of [Terms.Unrecognized].
func (c *Compiled) Knows(l Label) bool { return c.labels[l] }

// Does returns what a move does in a state, as a monitor judges it: its decision, or,
// if the move is let through ([Compiled.Passes]), the one to stay.
func (c *Compiled) Does(state int, m Move) *Decision {
	if d := c.next[state][m]; d != nil {
		return d
	}
	if c.Passes(state, m) {
		return leaf(state)
	}
	return leaf(-1)
}

// Passes reports whether an event that has no transition in a state is let through and
// moves nothing: the result of a call that only read and on which nothing depends there,
// and what the policy of the protocol lets through of events that it does not know.
func (c *Compiled) Passes(state int, m Move) bool {
	t := c.automaton.Terms
	if t == nil || m.On == UnrecognizedLabel || c.next[state][m] != nil {
		return false
	}
	kind, rest, _ := strings.Cut(string(m.On), ":")
	if kind == "ret" && m.By == Environment {
		tool := rest
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			tool = rest[:i]
		}
		if t.Tools[tool].Effect == Reads {
			return true
		}
	}
	if c.labels[m.On] || m.By == Agent && len(c.moves[state]) == 0 {
		return false
	}
	return t.Unrecognized == Pass || t.Unrecognized == PassIfRead && (kind != "call" || t.Tools[rest].Effect == Reads)
}

// End returns how a conversation has ended in a state, or "".
func (c *Compiled) End(state int) End { return c.automaton.Ends[c.states[state]] }

// Reachable returns which states can be reached, whatever documents and guards say,
// and for each the first step of a shortest way back: the state before and the move.
func (c *Compiled) Reachable() []Reached {
	reached := make([]Reached, len(c.states))
	for i := range reached {
		reached[i].From = -1
	}
	queue := []int{c.Initial()}
	reached[queue[0]].Is = true
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, m := range c.moves[s] {
			c.next[s][m].Cases(func(to int, when Condition) bool {
				if to >= 0 && !reached[to].Is {
					reached[to] = Reached{true, s, m, when}
					queue = append(queue, to)
				}
				return true
			})
		}
	}
	return reached
}

// A Reached says how a state is reached.
type Reached struct {
	Is   bool
	From int // -1: it is the initial state, or cannot be reached
	Move Move
	When Condition
}
