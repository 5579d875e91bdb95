package reputation

import (
	"bytes"
	"slices"
)

// MaxCircle is how many agents a closed circle has at most (SPEC §9.6.7).
const MaxCircle = 16

// maxPeers is how many agents a member of a circle deals with at most: those in it,
// and as many outside as half of all pairs in it.
const maxPeers = MaxCircle - 1 + MaxCircle*(MaxCircle-1)/4

// pairDeals is from how many deals on two agents that deal with nobody else are a
// circle.
const pairDeals = 4

// circle returns the largest closed circle around an agent that it finds, sorted, or
// nil. A group is closed if there is a circle in it, more pairs that deal than a tree
// of them has, and at most half as many pairs across its border as inside; two agents
// are if they agreed on four deals and neither deals with anybody else.
//
// The group grows from the agent, each time by the one of whose counterparties the
// largest share is inside; of equals by the one with more of them inside, then by the
// one with the lesser key. The work is bounded by MaxCircle and maxPeers, whatever the
// size of the graph. (SPEC §9.6.7)
//
// BUG(reputation): growing finds most circles, not all: many keys that deal with one
// member each fill the group up before the circle is in it. So does a circle of more
// than MaxCircle. Keys are free, and so is evading this.
func (l *Ledger) circle(of node) []node {
	group := []node{of}
	pairs, border := 0, len(l.agents[of].peers)
	if border > maxPeers {
		return nil
	}
	var closed []node
	inside := make(map[node]int) // of whoever is next to the group, how many peers it has in it
	l.reach(of, group, inside)
	for len(group) < MaxCircle {
		next, ok := l.closest(inside)
		if !ok {
			break
		}
		in := inside[next]
		delete(inside, next)
		group = append(group, next)
		pairs += in
		border += len(l.agents[next].peers) - 2*in
		l.reach(next, group, inside)
		cyclic := pairs >= len(group) || len(group) == 2 && l.agents[of].peers[next] >= pairDeals
		if cyclic && 2*border <= pairs {
			closed = slices.Clone(group)
		}
	}
	slices.Sort(closed)
	return closed
}

// reach counts a new member among the peers of whoever is outside.
func (l *Ledger) reach(member node, group []node, inside map[node]int) {
	for m := range l.agents[member].peers {
		if !slices.Contains(group, m) {
			inside[m]++
		}
	}
}

// closest returns who of those next to a group belongs to it most.
func (l *Ledger) closest(inside map[node]int) (best node, ok bool) {
	for n, in := range inside {
		all := len(l.agents[n].peers)
		if all > maxPeers {
			continue
		}
		if ok {
			bestIn, bestAll := inside[best], len(l.agents[best].peers)
			if d := in*bestAll - bestIn*all; d < 0 || d == 0 && (in < bestIn || in == bestIn && !l.before(n, best)) {
				continue
			}
		}
		best, ok = n, true
	}
	return best, ok
}

// before orders agents by key.
func (l *Ledger) before(a, b node) bool {
	return bytes.Compare(l.agents[a].key.Bytes(), l.agents[b].key.Bytes()) < 0
}
