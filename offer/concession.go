package offer

import (
	"math"

	"github.com/concordia-node/concordia/wire"
)

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
		p, n, g := prev.values(t.ID), next.values(t.ID), goal.values(t.ID)
		if len(p) == 0 || len(n) == 0 || len(g) == 0 {
			continue
		}
		before := nearest(p, g)
		if before == 0 {
			continue
		}
		apart++
		width := t.width()
		if width == 0 {
			width = widest(append(append(p, n...), g...))
		}
		// Every operation is rounded by itself, so that all machines agree.
		if moved := float64(before - nearest(n, g)); moved > 0 {
			sum += min(float64(moved/width), 1)
		}
	}
	if apart == 0 {
		return 0
	}
	return sum / float64(apart)
}

// values returns what the branches of o give a term.
func (o *Offer) values(id string) []wire.Value {
	var values []wire.Value
	for i := range o.Branches {
		if object, ok := o.Branches[i].Terms.Get(id); ok {
			v, _ := object.Get("value")
			values = append(values, v)
		}
	}
	return values
}

// width returns the range that open gives a term, or 0.
func (t *Term) width() float64 {
	for _, b := range t.Bounds {
		lo, okLo := position(b.Min)
		hi, okHi := position(b.Max)
		if okLo && okHi {
			return hi.at - lo.at
		}
	}
	return 0
}

func distance(a, b wire.Value) float64 {
	x, okX := position(a)
	y, okY := position(b)
	switch {
	case okX && okY && x.form == y.form:
		return math.Abs(x.at - y.at)
	case a.Equal(b):
		return 0
	}
	return 1
}

func nearest(a, b []wire.Value) float64 {
	least := math.Inf(1)
	for _, x := range a {
		for _, y := range b {
			least = min(least, distance(x, y))
		}
	}
	return least
}

func widest(values []wire.Value) float64 {
	most := 0.0
	for i, x := range values {
		for _, y := range values[:i] {
			most = max(most, distance(x, y))
		}
	}
	return most
}
