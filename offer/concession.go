package offer

import "math"

// Concession measures how far a party moved, from its offer prev to its offer
// next, toward goal, the counterparty's latest offer: 0 is not at all, 1 all the
// way (SPEC §5.4).
//
// For each term on which prev and goal are still apart, the distance between two
// offers is the smallest distance between the values that their branches give it:
// of numbers and of times that have an order, their difference; of anything else,
// 0 if equal and 1 if not. What the distance shrank by, divided by the term's
// range, is the concession on that term; a distance that grew is none. The range
// is max less min where open bounds the term on both sides, else the largest
// distance among the values of the three offers. The concession is the mean over
// these terms.
func (s *Space) Concession(prev, next, goal *Offer) float64 {
	sum, apart := 0.0, 0
	for i := range s.terms {
		t := &s.terms[i]
		before, ok := nearest(i, prev, goal)
		after, okAfter := nearest(i, next, goal)
		if !ok || !okAfter || before == 0 {
			continue
		}
		apart++
		// Every operation is rounded by itself, so that all machines agree.
		if moved := float64(before - after); moved > 0 {
			sum += min(float64(moved/t.width(i, prev, next, goal)), 1)
		}
	}
	if apart == 0 {
		return 0
	}
	return sum / float64(apart)
}

// width returns the range of a term: what open gives it, else what lies between
// the values of the offers.
func (t *Term) width(term int, offers ...*Offer) float64 {
	var lo, hi place // the tightest
	for i := range t.Bounds {
		b := &t.Bounds[i]
		if b.lo.form != 0 && (lo.form == 0 || lo.atMost(b.lo)) {
			lo = b.lo
		}
		if b.hi.form != 0 && (hi.form == 0 || b.hi.atMost(hi)) {
			hi = b.hi
		}
	}
	if lo.form != 0 && lo.form == hi.form && lo.at < hi.at {
		return hi.at - lo.at
	}
	most := 0.0
	for i, a := range offers {
		for _, b := range offers[:i+1] {
			eachPair(term, a, b, func(d float64) { most = max(most, d) })
		}
	}
	return most
}

// nearest returns the smallest distance between the values that two offers give
// a term, and false if one of them gives it none.
func nearest(term int, a, b *Offer) (float64, bool) {
	least := math.Inf(1)
	eachPair(term, a, b, func(d float64) { least = min(least, d) })
	return least, !math.IsInf(least, 1)
}

// eachPair calls f with the distance of each value that a gives the term from
// each that b gives it.
func eachPair(term int, a, b *Offer, f func(float64)) {
	for i := range a.Branches {
		x := a.Branches[i].bySpace[term]
		for j := range b.Branches {
			if y := b.Branches[j].bySpace[term]; x != nil && y != nil {
				f(distance(x, y))
			}
		}
	}
}

func distance(a, b *NamedTerm) float64 {
	switch {
	case a.place.ordered() && a.place.form == b.place.form:
		return math.Abs(a.place.at - b.place.at)
	case a.value.Equal(b.value):
		return 0
	}
	return 1
}
