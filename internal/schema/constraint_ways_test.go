package schema

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A way is a small expression over a and b, for an oracle that knows no automaton.
type way struct {
	op       byte // a letter, or one of . | { e
	min, max int  // of {; max < 0 is none
	sub      []*way
}

func (w *way) String() string {
	var parts []string
	for _, s := range w.sub {
		parts = append(parts, s.String())
	}
	switch w.op {
	case 'e':
		return "()"
	case '.':
		return strings.Join(parts, "")
	case '|':
		return "(?:" + strings.Join(parts, "|") + ")"
	case '{':
		count := fmt.Sprintf("{%d,%d}", w.min, w.max)
		switch {
		case w.max < 0 && w.min == 0:
			count = "*"
		case w.max < 0 && w.min == 1:
			count = "+"
		case w.max < 0:
			count = fmt.Sprintf("{%d,}", w.min)
		case w.max == 1 && w.min == 0:
			count = "?"
		}
		return "(" + parts[0] + ")" + count
	}
	return string(w.op)
}

// randomWay returns one whose counts, multiplied, stay below maxLoop.
func randomWay(r *rand.Rand, depth, times int, letters *int) *way {
	if depth == 0 || *letters <= 1 {
		*letters--
		return &way{op: "aaaabbbe"[r.IntN(8)]}
	}
	w := &way{op: "..||{{{"[r.IntN(7)]}
	if w.op == '{' {
		counts := [][2]int{{0, -1}, {0, -1}, {0, -1}, {1, -1}, {1, -1}, {2, -1}, {0, 1}, {0, 1}, {0, 2}, {1, 2}, {2, 2}, {2, 3}}
		c := counts[r.IntN(len(counts))]
		if times*c[1] >= maxLoop {
			c[1] = c[0]
		}
		if times*c[1] >= maxLoop {
			c = [2]int{0, 1}
		}
		w.min, w.max = c[0], c[1]
		w.sub = []*way{randomWay(r, depth-1, times*max(c[1], 1), letters)}
		return w
	}
	for range 2 + r.IntN(2) {
		w.sub = append(w.sub, randomWay(r, depth-1, times, letters))
	}
	return w
}

// A table holds in [i][j] in how many ways a search goes from i to j. The last index is
// for one that the end of the text has stopped.
type table [][]float64

func newTable(n int) table {
	t, all := make(table, n), make([]float64, n*n)
	for i := range t {
		t[i] = all[i*n : (i+1)*n]
	}
	t[n-1][n-1] = 1
	return t
}

func one(n int) table {
	t := newTable(n)
	for i := range t {
		t[i][i] = 1
	}
	return t
}

func (t table) plus(u table) table {
	sum := newTable(len(t))
	for i := range len(t) - 1 {
		for j := range t {
			sum[i][j] = t[i][j] + u[i][j]
		}
	}
	return sum
}

func (t table) times(u table) table {
	product := newTable(len(t))
	for i := range len(t) - 1 {
		for k, x := range t[i] {
			for j := k; x > 0 && j < len(t); j++ {
				product[i][j] += x * u[k][j]
			}
		}
	}
	return product
}

// star is any number of rounds. One that takes nothing is the last.
func (t table) star() table {
	s := newTable(len(t))
	for i := len(t) - 2; i >= 0; i-- {
		s[i][i] = 1 + t[i][i]
		for k := i + 1; k < len(t); k++ {
			for j := k; t[i][k] > 0 && j < len(t); j++ {
				s[i][j] += t[i][k] * s[k][j]
			}
		}
	}
	return s
}

func (w *way) ways(text string) table {
	n := len(text) + 2
	switch w.op {
	case 'e':
		return one(n)
	case '.':
		t := one(n)
		for _, s := range w.sub {
			t = t.times(s.ways(text))
		}
		return t
	case '|':
		t := w.sub[0].ways(text)
		for _, s := range w.sub[1:] {
			t = t.plus(s.ways(text))
		}
		return t
	case '{':
		t, body := one(n), w.sub[0].ways(text)
		for range w.min {
			t = t.times(body)
		}
		if w.max < 0 {
			return t.times(body.star())
		}
		rest := one(n)
		for range w.max - w.min {
			rest = one(n).plus(body.times(rest))
		}
		return t.times(rest)
	}
	t := newTable(n)
	for i := range len(text) {
		if text[i] == w.op {
			t[i][i+1] = 1
		}
	}
	t[n-2][n-1] = 1
	return t
}

// explodes reports whether the ways to begin to match grow exponentially on some text
// of a short word and then another again and again: each doubling of the length adds
// about the same to the logarithm of a power, and about twice as much to that of an
// exponential.
func (w *way) explodes(starts, pumps int) (string, bool) {
	for _, start := range shortWords(starts) {
		for _, pump := range shortWords(pumps) {
			if strings.Index((pump + pump)[min(1, len(pump)):], pump) != len(pump)-1 {
				continue // empty, or itself a word again and again
			}
			log := func(n int) float64 {
				total := 0.0
				for _, x := range w.ways(start + strings.Repeat(pump, n/len(pump)))[0] {
					total += x
				}
				return math.Log2(total)
			}
			if long := log(48); long > 8 && long-2*log(24)+log(12) > 2 {
				return start + "(" + pump + ")", true
			}
		}
	}
	return "", false
}

// shortWords returns the words of up to n letters.
func shortWords(n int) []string {
	words := []string{""}
	for i := 0; len(words[i]) < n; i++ {
		words = append(words, words[i]+"a", words[i]+"b")
	}
	return words
}

// TestPatternAmbiguityGrowth compares the decision with how the number of ways grows.
func TestPatternAmbiguityGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	r := rand.New(rand.NewPCG(1, 2))
	refused, accepted := 0, 0
	for range growthRuns {
		letters := 6
		w := randomWay(r, 4, 1, &letters)
		_, err := parsePattern(w.String(), maxProgram)
		if err != nil && !errors.Is(err, errPatternAmbiguous) {
			t.Fatalf("parsePattern(%s) = %v", w, err)
		}
		text, explodes := w.explodes(2, 4)
		if err != nil && !explodes {
			text, explodes = w.explodes(5, 7)
		}
		if explodes != (err != nil) {
			t.Errorf("parsePattern(%s) = %v, but explodes is %t on %s", w, err, explodes, text)
		}
		if explodes {
			refused++
		} else {
			accepted++
		}
	}
	t.Logf("%d refused, %d accepted", refused, accepted)
	if min(refused, accepted) < growthRuns/5 {
		t.Errorf("only %d refused, %d accepted", refused, accepted)
	}
}

const growthRuns = 60
