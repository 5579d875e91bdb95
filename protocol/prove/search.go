package prove

import (
	"iter"
	"slices"

	"github.com/concordia-node/concordia/protocol"
)

// maxNodes bounds a search.
const maxNodes = 1 << 19

// shortest returns a shortest way from a node to one that is wanted. It reports false
// if there is none. enough is false if the search was cut short.
func shortest[N comparable](start N, next func(N) iter.Seq2[arc, N], wanted func(N) bool) (way []arc, found, enough bool) {
	type link struct {
		node N
		from int // in queue
		arc  arc
	}
	seen := map[N]bool{start: true}
	queue := []link{{node: start, from: -1}}
	for i := 0; i < len(queue); i++ {
		n := queue[i].node
		if wanted(n) {
			for j := i; queue[j].from >= 0; j = queue[j].from {
				way = append(way, queue[j].arc)
			}
			slices.Reverse(way)
			return way, true, true
		}
		if len(queue) > maxNodes {
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
		slices.SortStableFunc(all[s], func(a, b arc) int { return opacity(a) - opacity(b) })
	}
	return all
}

func opacity(a arc) int {
	if isOpaque(a.when) {
		return 1
	}
	return 0
}

func isOpaque(c protocol.Condition) bool { return slices.ContainsFunc(c, protocol.Test.IsOpaque) }

func hasPrefix(l protocol.Label, prefix string) bool {
	return len(l) >= len(prefix) && string(l[:len(prefix)]) == prefix
}
