package main

import (
	"cmp"
	"slices"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Loops over members, spellings and instants make far more vectors than a suite
// needs that is to be run often. What is kept: of each specimen, under each profile,
// some vectors for each rule, and then as many of each sort as it takes for a
// verifier that does not look at that sort of fault to fail its share.

// A sort is what one kind of laziness does not look at.
type sort int

const (
	sortSound sort = iota
	sortSignature
	sortTime
	sortChain
	sortDuplicate
	sortOther // what no laziness is measured by, or enough of anyway
)

// chainRules are the rules that tie messages to their place.
var chainRules = []*wire.Rule{
	wire.RulePrevHash, wire.RuleMessageID, wire.RuleSession, session.RuleReceiptChain, attest.RuleSet, cmpc.RuleTransitionChain,
}

func (v vector) sort() sort {
	switch {
	case v.rule == nil:
		return sortSound
	case v.rule == wire.RuleDuplicate:
		return sortDuplicate
	case slices.Contains(chainRules, v.rule):
		return sortChain
	case v.reason == wire.ClassSignature:
		return sortSignature
	case v.reason == wire.ClassTemporal:
		return sortTime
	}
	return sortOther
}

// share is what part of the suite each sort makes up, in percent: a little more than
// leastShare.
const share = 16

// thin chooses from all vectors, in their order.
func thin(all []vector) []vector {
	type group struct {
		specimen int
		profile  string
		rule     *wire.Rule
	}
	groups := map[group][]int{}
	for i, v := range all {
		g := group{v.specimen, v.profile, v.rule}
		groups[g] = append(groups[g], i)
	}
	kept := make([]bool, len(all))
	for g, list := range groups {
		room := 1
		switch g.rule {
		case nil:
			room = 2
		case attest.RuleClaims, cmpc.RuleUnwindSession, cmpc.RuleTransitionRecord:
			room = 12 // most of their vectors break another rule as well
		case session.RuleTransition:
			room = 40 // each state forbids moves of its own
		}
		for _, i := range spread(list, room) {
			kept[i] = true
		}
	}
	rest := make([][]int, sortOther)
	have, others := make([]int, sortOther), 0
	for i, v := range all {
		switch s := v.sort(); {
		case s == sortOther:
			if kept[i] {
				others++
			}
		case kept[i]:
			have[s]++
		default:
			rest[s] = append(rest[s], i)
		}
	}
	// Each sort is to be share percent of a whole that grows with it.
	total := others * 100 / (100 - share*int(sortOther))
	for s, list := range rest {
		// The smaller half: what is to be run often is to be fast.
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(len(all[a].input), len(all[b].input)) })
		want := max(0, total*share/100-have[s])
		if sort(s) == sortSignature {
			want += total / 100 // some are of a key, without which no signature verifies either
		}
		list = list[:min(len(list), max(want, len(list)/2))]
		for _, i := range spread(list, want) {
			kept[i] = true
		}
	}
	var chosen []vector
	for i, v := range all {
		if kept[i] {
			chosen = append(chosen, v)
		}
	}
	return chosen
}

// spread takes n of a list, evenly.
func spread(list []int, n int) []int {
	if n >= len(list) {
		return list
	}
	taken := make([]int, 0, n)
	for i := range n {
		taken = append(taken, list[i*len(list)/n])
	}
	return taken
}
