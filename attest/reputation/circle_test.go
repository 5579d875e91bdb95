package reputation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// What a group of fakes can make, and what honest agents look like.
func TestCircles(t *testing.T) {
	var n int
	trade := func(list *[]wire.Value, a, b string, times int) {
		for range times {
			n++
			*list = append(*list, deal(t, fmt.Sprint(n), a, b))
		}
	}
	ring := func(list *[]wire.Value, name string, size int) {
		for i := range size {
			trade(list, fmt.Sprint(name, i), fmt.Sprint(name, (i+1)%size), 1)
		}
	}
	for _, test := range []struct {
		name    string
		make    func(list *[]wire.Value)
		flagged string // agents, one after the other
		clear   string
	}{
		{"ring of five", func(l *[]wire.Value) { ring(l, "r", 5) }, "r0 r1 r2 r3 r4", ""},
		{"pair trading ten times", func(l *[]wire.Value) { trade(l, "a", "b", 10) }, "a b", ""},
		{"pair trading once", func(l *[]wire.Value) { trade(l, "a", "b", 1) }, "", "a b"},
		{"honest star of 50", func(l *[]wire.Value) {
			for i := range 50 {
				trade(l, "hub", fmt.Sprint("leaf", i), 1)
			}
		}, "", "hub leaf0 leaf49"},
		{"small star with regulars", func(l *[]wire.Value) {
			for i := range 6 {
				trade(l, "hub", fmt.Sprint("leaf", i), 3)
			}
		}, "", "hub leaf0"},
		{"ring of the largest size", func(l *[]wire.Value) { ring(l, "r", reputation.MaxCircle) }, "r0 r15", ""},
		{"ring beyond it", func(l *[]wire.Value) { ring(l, "r", reputation.MaxCircle+1) }, "", "r0"},
		{"clique of six", func(l *[]wire.Value) {
			for i := range 6 {
				for j := range i {
					trade(l, fmt.Sprint("c", i), fmt.Sprint("c", j), 1)
				}
			}
		}, "c0 c5", ""},
		{"ring with two deals outside", func(l *[]wire.Value) {
			ring(l, "r", 5)
			for i := range 30 {
				trade(l, "shop", fmt.Sprint("leaf", i), 1)
			}
			trade(l, "r0", "shop", 1)
			trade(l, "r2", "shop", 1)
		}, "r0 r1 r2 r3 r4", "shop leaf0"},
		{"ring with fake customers", func(l *[]wire.Value) {
			ring(l, "r", 5)
			for i := range 10 {
				trade(l, fmt.Sprint("r", i%5), fmt.Sprint("fake", i), 1)
			}
		}, "r0 r4 fake0", ""},
		{"two markets and a bridge", func(l *[]wire.Value) {
			for i := range 40 {
				trade(l, fmt.Sprint("a", i), fmt.Sprint("a", (i+1)%40), 1)
				trade(l, fmt.Sprint("a", i), fmt.Sprint("a", (i+7)%40), 1)
				trade(l, fmt.Sprint("b", i), fmt.Sprint("b", (i+1)%40), 1)
				trade(l, fmt.Sprint("b", i), fmt.Sprint("b", (i+11)%40), 1)
			}
			trade(l, "a0", "b0", 1)
		}, "", "a0 a20 b0 b20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var receipts []wire.Value
			test.make(&receipts)
			l := ledgerOf(t, receipts...)
			for _, name := range strings.Fields(test.flagged) {
				s := score(t, l, name)
				if !flagged(s, reputation.ClosedCircle) {
					t.Errorf("%s is not flagged: %v", name, s.Flags)
				}
				inside := s.Overall
				for _, c := range s.Contributions() {
					if !c.ClosedCircle {
						inside -= c.Contribution
					}
				}
				if inside > 10_000 {
					t.Errorf("%s scores %s by its circle", name, inside)
				}
			}
			for _, name := range strings.Fields(test.clear) {
				if s := score(t, l, name); s.Circle != nil {
					t.Errorf("%s is flagged: %v", name, s.Circle)
				}
			}
		})
	}
}

// A pair that trades ten times does not get more out of it than two deals give.
func TestRepetition(t *testing.T) {
	var once, often []wire.Value
	for i := range 10 {
		often = append(often, deal(t, fmt.Sprint("o", i), "ann", "bob"))
	}
	for i := range 3 { // so that they are no circle
		once = append(once, deal(t, fmt.Sprint("x", i), "ann", fmt.Sprint("c", i)))
	}
	s := score(t, ledgerOf(t, append(often, once...)...), "ann")
	if !flagged(s, reputation.RepeatedPair) || flagged(s, reputation.ClosedCircle) {
		t.Errorf("flags %v", s.Flags)
	}
	var pair reputation.Micro
	for _, c := range s.Contributions() {
		if c.Counterparties[0] == "bob" {
			pair += c.Weight
		}
	}
	if pair >= 2_000_000 || pair < 1_900_000 {
		t.Errorf("ten deals with one weigh %s", pair)
	}
}
