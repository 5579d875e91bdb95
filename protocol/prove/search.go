package prove

import (
	"iter"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// maxNodes bounds a search, and maxSearched all those of a protocol together.
const (
	maxNodes    = 1 << 19
	maxSearched = 1 << 22
)

// searched counts the nodes of searches.
type searched int

// shortest returns a shortest way from a node to one that is wanted. It reports false
// if there is none. enough is false if the search was cut short.
func shortest[N comparable](so *searched, start N, next func(N) iter.Seq2[arc, N], wanted func(N) bool) (way []arc, found, enough bool) {
	type link struct {
		node N
		from int // in queue
		arc  arc
	}
	seen := map[N]bool{start: true}
	queue := []link{{node: start, from: -1}}
	defer func() { *so += searched(len(queue)) }()
	for i := 0; i < len(queue); i++ {
		n := queue[i].node
		if wanted(n) {
			for j := i; queue[j].from >= 0; j = queue[j].from {
				way = append(way, queue[j].arc)
			}
			slices.Reverse(way)
			return way, true, true
		}
		if len(queue) > maxNodes || int(*so)+len(queue) > maxSearched {
			return nil, false, false
		}
		for a, to := range next(n) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, link{to, i, a})
			}
		}
	}
	return nil, false, true
}

// arcs returns what can happen in each state of an automaton: of what has the same move
// and target one, if possible without an opaque test. What is asked for stays told apart.
func arcs(c *protocol.Compiled) [][]arc {
	all := make([][]arc, c.Len())
	for s := range all {
		for _, m := range c.Moves(s) {
			first := len(all[s])
			c.Decision(s, m).Cases(func(to int, when protocol.Condition) bool {
				if to < 0 {
					return true
				}
				a := arc{s, to, m, when}
				i := slices.IndexFunc(all[s][first:], func(b arc) bool { return b.to == to })
				switch {
				case i < 0 || hasPrefix(m.On, "ask:"):
					all[s] = append(all[s], a)
				case isOpaque(all[s][first+i].when) && !isOpaque(when):
					all[s][first+i] = a
				}
				return true
			})
		}
		slices.SortStableFunc(all[s], func(a, b arc) int { return oddity(a) - oddity(b) })
	}
	return all
}

// oddity orders steps that lead equally far: what needs no answer and what goes well is
// the better example.
func oddity(a arc) int {
	switch {
	case isOpaque(a.when):
		return 2
	case hasPrefix(a.move.On, "ret:") && !strings.HasSuffix(string(a.move.On), ":ok"):
		return 1
	}
	return 0
}

// reach returns which states can be reached, and how, as [protocol.Compiled.Reachable],
// by the better of equally long ways.
func reach(c *protocol.Compiled, arcs [][]arc) []protocol.Reached {
	reached := make([]protocol.Reached, c.Len())
	for i := range reached {
		reached[i].From = -1
	}
	queue := []int{c.Initial()}
	reached[queue[0]].Is = true
	for i := 0; i < len(queue); i++ {
		for _, a := range arcs[queue[i]] {
			if !reached[a.to].Is {
				reached[a.to] = protocol.Reached{Is: true, From: a.from, Move: a.move, When: a.when}
				queue = append(queue, a.to)
			}
		}
	}
	return reached
}

func isOpaque(c protocol.Condition) bool { return slices.ContainsFunc(c, protocol.Test.IsOpaque) }

func hasPrefix(l protocol.Label, prefix string) bool {
	return len(l) >= len(prefix) && string(l[:len(prefix)]) == prefix
}
