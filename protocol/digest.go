package protocol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// Digest returns the hash of what the protocol means: of the smallest automaton that
// does the same, its states numbered in the order in which they are met, and of its
// terms. Names of states, order, comments, guidance and the form in which it was
// written do not change it.
func (c *Compiled) Digest() (wire.Hash, error) {
	return c.digest()
}

// Canonical returns the document that the digest is of.
func (c *Compiled) Canonical() (wire.Value, error) {
	blocks, n := c.minimize()
	order := c.number(blocks, n)
	byNumber := make([]int, 0, n) // a state of each block
	for number := range order.count {
		byNumber = append(byNumber, order.state[number])
	}
	first := map[int]int{} // of each state the first of its parts
	for i, s := range slices.Backward(byNumber) {
		first[c.whole[s]] = i
	}
	states := make([]any, len(byNumber))
	for i, s := range byNumber {
		name := c.states[s]
		state := wire.M{}
		if public := c.automaton.Public[name]; public != "" {
			state["public"] = public
		}
		if end := c.automaton.Ends[name]; end != "" {
			state["end"] = string(end)
		}
		if c.isStep(s) {
			state["awaits"] = true
		}
		if whole := c.whole[s]; c.counts(whole) {
			if first[whole] != i {
				state["part_of"] = first[whole]
			} else if b, ok := c.automaton.Budgets[c.states[whole]]; ok {
				state["budget"] = b.encode()
			}
		}
		moves := []any{}
		for _, m := range c.moves[s] {
			moves = append(moves, wire.M{
				"by": string(m.By), "on": string(m.On),
				"then": c.next[s][m].rename(func(to int) int {
					if to < 0 {
						return -1
					}
					return order.of[blocks[to]]
				}).encode(),
			})
		}
		if len(moves) > 0 {
			state["moves"] = moves
		}
		states[i] = state
	}
	doc := wire.M{"concordia_protocol": "automaton/1", "states": states}
	if refused := c.refused(byNumber); len(refused) > 0 {
		doc["refused"] = refused
	}
	terms, err := c.automaton.Terms.encode(func(s State) (int, bool) {
		i, ok := c.index[s]
		if !ok {
			return 0, false
		}
		number, met := first[i]
		return number, met
	})
	if err != nil {
		return wire.Value{}, err
	}
	if terms != nil {
		doc["terms"] = terms
	}
	return wire.Encode(doc)
}

// minimize returns the block of each state that can be reached, and how many there
// are: states of one block cannot be told apart by what happens in them. A block is
// split while some of its states lead elsewhere than others. Its largest part keeps its
// number, so that a state is looked at again only when a block that it leads to has
// halved. (Hopcroft)
func (c *Compiled) minimize() (block []int, n int) {
	reached := c.Reachable()
	p := partition{block: make([]int, len(c.states)), at: make([]int, len(c.states))}
	before := make([][]int, len(c.states)) // which states lead to one
	known := map[string]int{}
	var dirty []int
	for s, name := range c.states {
		p.block[s] = -1
		if !reached[s].Is {
			continue
		}
		dirty = append(dirty, s)
		signature := fmt.Sprintf("%q %q", c.automaton.Public[name], c.automaton.Ends[name])
		if c.isStep(s) {
			signature += " awaits"
		}
		if whole := c.whole[s]; c.counts(whole) {
			signature += fmt.Sprint(" ", whole) // what is counted in it tells it apart
		}
		b, ok := known[signature]
		if !ok {
			b = p.add()
			known[signature] = b
		}
		p.put(s, b)
		for _, m := range c.moves[s] {
			for _, to := range c.next[s][m].outcomes(nil) {
				if to >= 0 {
					before[to] = append(before[to], s)
				}
			}
		}
	}
	for len(dirty) > 0 {
		var moved []int
		for _, states := range p.byBlock(dirty) {
			moved = append(moved, p.split(states, func(s int) string { return c.signature(s, p.block) })...)
		}
		dirty = dirty[:0]
		for _, s := range moved {
			dirty = append(dirty, before[s]...)
		}
		slices.Sort(dirty)
		dirty = slices.Compact(dirty)
	}
	return p.block, len(p.members)
}

// signature says what happens in a state, as far as blocks tell.
func (c *Compiled) signature(s int, block []int) string {
	var b strings.Builder
	for _, m := range c.moves[s] {
		d := c.next[s][m].rename(func(to int) int {
			if to < 0 {
				return -1
			}
			return block[to]
		})
		fmt.Fprintf(&b, "\n%q %q ", m.By, m.On)
		d.write(&b)
	}
	return b.String()
}

// A partition puts states into blocks.
type partition struct {
	block   []int   // of each state
	members [][]int // of each block
	at      []int   // where a state is among the members of its block
}

// add makes an empty block.
func (p *partition) add() int {
	p.members = append(p.members, nil)
	return len(p.members) - 1
}

// put takes a state out of its block, if it has one, and into another.
func (p *partition) put(s, b int) {
	if old := p.block[s]; old >= 0 {
		list := p.members[old]
		last := list[len(list)-1]
		list[p.at[s]], p.at[last] = last, p.at[s]
		p.members[old] = list[:len(list)-1]
	}
	p.block[s], p.at[s] = b, len(p.members[b])
	p.members[b] = append(p.members[b], s)
}

// byBlock groups some states, in the order of blocks.
func (p *partition) byBlock(states []int) (groups [][]int) {
	slices.SortFunc(states, func(a, b int) int { return cmp.Compare(p.block[a], p.block[b]) })
	for i, s := range states {
		if i == 0 || p.block[s] != p.block[states[i-1]] {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], s)
	}
	return groups
}

// split splits a block, of whose states only some may have another signature than the
// rest, which have one, and returns the states that are in a new block.
func (p *partition) split(changed []int, signature func(int) string) (moved []int) {
	b := p.block[changed[0]]
	groups := map[string][]int{}
	for _, s := range changed {
		of := signature(s)
		groups[of] = append(groups[of], s)
	}
	rest, same := len(p.members[b])-len(changed), ""
	if rest > 0 {
		isChanged := make(map[int]bool, len(changed))
		for _, s := range changed {
			isChanged[s] = true
		}
		i := slices.IndexFunc(p.members[b], func(s int) bool { return !isChanged[s] })
		same = signature(p.members[b][i])
		if len(groups[same])+rest < largest(groups) {
			// What did not change is not the largest part: it moves, too.
			for _, s := range p.members[b] {
				if !isChanged[s] {
					groups[same] = append(groups[same], s)
				}
			}
			rest = 0
		}
	}
	keep := same
	if rest == 0 {
		for _, of := range slices.Sorted(maps.Keys(groups)) {
			if keep == "" && len(groups[keep]) == 0 || len(groups[of]) > len(groups[keep]) {
				keep = of
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(groups)) {
		if of == keep {
			continue
		}
		to := p.add()
		for _, s := range groups[of] {
			p.put(s, to)
		}
		moved = append(moved, groups[of]...)
	}
	return moved
}

func largest(groups map[string][]int) (n int) {
	for _, g := range groups {
		n = max(n, len(g))
	}
	return n
}

// refused returns the labels that are known and never legal, in order: what they name is
// no matter of the policy for what is not recognized.
func (c *Compiled) refused(states []int) []string {
	refused := maps.Clone(c.labels)
	for _, s := range states {
		for _, m := range c.moves[s] {
			delete(refused, m.On)
		}
	}
	var list []string
	for l := range refused {
		list = append(list, string(l))
	}
	slices.Sort(list)
	return list
}

// isStep reports whether a state awaits something, although the agent may act in it,
// because it is a step inside another. Then what is not legal is refused as too early.
func (c *Compiled) isStep(state int) bool {
	return c.Awaits(state) && slices.ContainsFunc(c.moves[state], func(m Move) bool { return m.By == Agent })
}

// counts reports whether something is counted in a state: its budget, or the time of
// a timer.
func (c *Compiled) counts(state int) bool {
	name := c.states[state]
	if _, ok := c.automaton.Budgets[name]; ok {
		return true
	}
	if t := c.automaton.Terms; t != nil {
		for _, timer := range t.Timers {
			if timer.In == name {
				return true
			}
		}
	}
	return false
}

// write writes the decision as one text, for comparison.
func (d *Decision) write(b *strings.Builder) {
	if d.isLeaf() {
		b.WriteString(strconv.Itoa(d.outcome))
		return
	}
	fmt.Fprintf(b, "(%q", d.at)
	for _, br := range d.branches {
		fmt.Fprintf(b, " %q ", br.in.String())
		br.then.write(b)
	}
	b.WriteByte(')')
}

// An order numbers blocks as they are met, breadth first, by sorted moves and cases.
type order struct {
	of    map[int]int // block -> number
	state map[int]int // number -> a state of the block
	count int
}

func (c *Compiled) number(blocks []int, n int) order {
	o := order{of: map[int]int{}, state: map[int]int{}}
	meet := func(s int) {
		if _, met := o.of[blocks[s]]; !met {
			o.of[blocks[s]] = o.count
			o.state[o.count] = s
			o.count++
		}
	}
	meet(c.Initial())
	for i := 0; i < o.count; i++ {
		s := o.state[i]
		for _, m := range c.moves[s] {
			// Cases come in the order of the texts of their sets, which does not depend
			// on where they lead.
			c.next[s][m].Cases(func(to int, _ Condition) bool {
				if to >= 0 {
					meet(to)
				}
				return true
			})
		}
	}
	return o
}

// encode writes a budget for a digest.
func (b Budget) encode() wire.M {
	m := wire.M{}
	for name, n := range map[string]int64{
		"calls": b.Calls, "bytes": b.Bytes, "tokens": b.Tokens, "wall_ns": int64(b.Wall), "strikes": b.Strikes,
	} {
		if n != 0 {
			m[name] = n
		}
	}
	if len(b.Money) > 0 {
		money := wire.M{}
		for _, currency := range slices.Sorted(maps.Keys(b.Money)) {
			money[currency] = plain(b.Money[currency])
		}
		m["money"] = money
	}
	return m
}

// plain returns the one way to write a decimal number.
func plain(decimal string) string {
	whole, part, _ := strings.Cut(decimal, ".")
	whole, part = strings.TrimLeft(whole, "0"), strings.TrimRight(part, "0")
	if whole == "" {
		whole = "0"
	}
	if part == "" {
		return whole
	}
	return whole + "." + part
}

// sorted returns a list in order, nothing twice.
func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// encode writes the terms for a digest. number tells the number of a state.
func (t *Terms) encode(number func(State) (int, bool)) (wire.M, error) {
	if t == nil {
		return nil, nil
	}
	m := wire.M{}
	put := func(name string, x any) error {
		v, err := toValue(x)
		if err == nil && v.Canonical() != "{}" && v.Canonical() != "[]" && v.Canonical() != "null" && v.Canonical() != `""` {
			m[name] = v
		}
		return err
	}
	approvals := map[string]any{}
	for name, a := range t.Approvals {
		when := []any{}
		d, err := decide([]rule{{a.When, 0}})
		if err != nil {
			return nil, fmt.Errorf("approval %s: %w", name, err)
		}
		when = append(when, d.encode())
		a.When, a.Show = nil, nil
		a.By, a.Bind, a.Uses = sorted(a.By), sorted(a.Bind), max(a.Uses, 1)
		v, err := toValue(a)
		if err != nil {
			return nil, err
		}
		w, err := wire.Encode(when)
		if err != nil {
			return nil, err
		}
		approvals[name] = v.With("when", w)
	}
	timers := map[string]any{}
	for name, timer := range t.Timers {
		in := -1
		if timer.In != "" {
			n, met := number(timer.In)
			if !met {
				continue // it can never run
			}
			in = n
		}
		timers[name] = map[string]any{"after_ns": int64(timer.After), "in": in}
	}
	tools := map[string]Tool{}
	for name, tool := range t.Tools {
		tool.Effect = cmp.Or(tool.Effect, Writes)
		tools[name] = tool
	}
	instance := t.Instance
	if instance != nil {
		instance = &Instance{instance.Key, sorted(instance.Scope)}
	}
	unrecognized := t.Unrecognized
	if unrecognized == Block {
		unrecognized = ""
	}
	var invariants []string
	for _, i := range t.Invariants {
		if i.AtMost != nil {
			i.AtMost = &AtMost{Label: i.AtMost.Label, N: i.AtMost.N}
		}
		v, err := toValue(i)
		if err != nil {
			return nil, err
		}
		invariants = append(invariants, v.Canonical())
	}
	slices.Sort(invariants)
	for name, x := range map[string]any{
		"tools": tools, "approvals": approvals, "captures": t.Captures, "timers": timers, "budget": t.Budget.encode(),
		"reserve": t.Reserve.encode(), "reserve_for": sorted(t.ReserveFor), "instance": instance, "invariants": slices.Compact(invariants), "unrecognized": string(unrecognized),
	} {
		if err := put(name, x); err != nil {
			return nil, err
		}
	}
	if len(m) == 0 {
		return nil, nil
	}
	return m, nil
}

// toValue makes a value of what was not received from anybody.
func toValue(x any) (wire.Value, error) {
	if v, ok := x.(wire.Value); ok {
		return v, nil
	}
	b, err := json.Marshal(x)
	if err != nil {
		return wire.Value{}, fmt.Errorf("encoding a protocol: %w", err)
	}
	v, err := wire.Parse(b, wire.DocumentLimits)
	if err != nil {
		return v, fmt.Errorf("encoding a protocol: %w", err)
	}
	return v, nil
}
