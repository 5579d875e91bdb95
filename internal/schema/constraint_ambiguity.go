package schema

import (
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
)

var (
	errPatternAmbiguous = errors.New("inside a repetition it can match one text in two ways, which takes some verifiers exponential time")
	errPatternUndecided = errors.New("it is too large to tell whether it takes some verifiers exponential time")
)

// checkAmbiguity refuses a pattern that has exponentially many ways to match some
// text. This engine does not mind; one that tries them all, such as another verifier
// of the same constraint may have, does not come back from (a+)+$.
//
// It decides what Weber and Seidl call EDA. The automaton is that of the pattern's
// positions: what is in one character's place, counted repetitions counted out. All
// positions inside one outermost repetition without bound can be reached from one
// another. So the ways multiply with each round as soon as there are two of them
// from one position to one position by one text, and otherwise they do not. Three
// things are not exact, and err on the side of refusal:
//
//   - an assertion (^, $, \b, \B) takes nothing and holds everywhere;
//   - a class without characters is taken to have some, until two are compared;
//   - a repetition up to maxLoop times or more counts as one without bound, unless it
//     is inside one: (a{1,30}){1,30} would be finite, but for longer than anybody waits.
//
// What counts as a way is more than ECMA-262 has, because other engines have it: there
// ((b?)?a)* has one way where b is missing, elsewhere two, and it is refused.
//
// Ways whose number is a power of the length of the text, a*a*$, are not a reason to
// refuse, and neither are those that only grow with the pattern, a?a?a?$.
// (SPEC §9.9.2)
//
// The tree is one in which alternatives are apart, as translation writes them.
func checkAmbiguity(tree *syntax.Regexp) error {
	s := positions{left: maxAmbiguitySteps, known: make(map[*syntax.Regexp]int)}
	return s.outside(tree, 1)
}

// outside looks for the outermost repetitions. What it gets is repeated up to times.
func (s *positions) outside(re *syntax.Regexp, times int) error {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus:
		return s.loop(re.Sub[0], false)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return s.loop(re.Sub[0], false)
		}
		if times *= max(re.Max, 1); times >= maxLoop {
			return s.loop(re.Sub[0], true)
		}
	}
	for _, sub := range re.Sub {
		if err := s.outside(sub, times); err != nil {
			return err
		}
	}
	return nil
}

// loop decides on an outermost repetition. Where it is counted, a round without any
// character is one way more to share the text out among the rounds.
func (s *positions) loop(body *syntax.Regexp, counted bool) error {
	s.class, s.next, s.tails = nil, nil, nil
	p := s.part(body)
	if counted && p.empty > 0 && len(p.first) > 0 {
		return errPatternAmbiguous
	}
	s.again(p)
	if s.err == nil {
		s.compare()
	}
	return s.err
}

// positions is the automaton of one outermost repetition.
type positions struct {
	left int   // steps: transitions, and pairs of them that are compared
	err  error // the first

	class []int // of each position, in classes
	next  []int // of each position, in tails: where it goes
	tails []tail

	classes [][]rune               // pairs of ends
	known   map[*syntax.Regexp]int // of an expression, in classes: what is counted out is seen often
	common  []int8                 // of two classes: 0 not known, 1 nothing, 2 something
}

// A tail is a set of positions that come after another one: those of the tail
// before it and more. Positions after which the same comes have the same tail.
type tail struct {
	before int // in tails, or -1
	more   []int32
}

// A part is a piece of the pattern: how it can begin, end, and take nothing.
type part struct {
	first, last []int32
	empty       int // ways to take nothing, with 2 for more
}

func (s *positions) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// spend takes n steps.
func (s *positions) spend(n int) {
	if s.left -= n; s.left < 0 {
		s.fail(errPatternUndecided)
	}
}

// part adds the positions of an expression that is inside a repetition. After an
// error, what it returns means nothing.
func (s *positions) part(re *syntax.Regexp) part {
	if s.err != nil {
		return part{}
	}
	switch re.Op {
	case syntax.OpLiteral:
		p := part{empty: 1}
		for _, r := range re.Rune {
			p = s.join(p, s.position(s.intern(literal(r, re.Flags&syntax.FoldCase != 0))))
		}
		return p
	case syntax.OpCharClass:
		id, ok := s.known[re]
		if !ok {
			id = s.intern(re.Rune)
			s.known[re] = id
		}
		return s.position(id)
	case syntax.OpAnyChar:
		return s.position(s.intern([]rune{0, unicode.MaxRune}))
	case syntax.OpAnyCharNotNL:
		return s.position(s.intern([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}))
	case syntax.OpNoMatch:
		return s.position(s.intern(nil))
	case syntax.OpCapture:
		return s.part(re.Sub[0])
	case syntax.OpConcat:
		p := part{empty: 1}
		for _, sub := range re.Sub {
			p = s.join(p, s.part(sub))
		}
		return p
	case syntax.OpAlternate:
		var p part
		for _, sub := range re.Sub {
			q := s.part(sub)
			p = part{append(p.first, q.first...), append(p.last, q.last...), min(p.empty+q.empty, 2)}
		}
		return p
	case syntax.OpQuest:
		return optional(s.part(re.Sub[0]))
	case syntax.OpStar:
		return optional(s.again(s.inner(re.Sub[0])))
	case syntax.OpPlus:
		return s.again(s.inner(re.Sub[0]))
	case syntax.OpRepeat:
		return s.repeat(re)
	}
	return part{empty: 1} // an assertion, or nothing
}

// inner returns the body of a repetition without bound that is inside another one.
// A round that takes nothing may end the repetition or, before the least number of
// rounds, not: engines differ, and one of the two is a second way to go on.
func (s *positions) inner(body *syntax.Regexp) part {
	p := s.part(body)
	if p.empty > 0 && len(p.first) > 0 {
		s.fail(errPatternAmbiguous)
	}
	return p
}

func (s *positions) repeat(re *syntax.Regexp) part {
	p := part{empty: 1}
	for range re.Min - 1 {
		p = s.join(p, s.part(re.Sub[0]))
	}
	switch {
	case re.Max < 0 && re.Min == 0:
		return optional(s.again(s.inner(re.Sub[0])))
	case re.Max < 0:
		return s.join(p, s.again(s.inner(re.Sub[0])))
	case re.Min > 0:
		p = s.join(p, s.part(re.Sub[0]))
	}
	rest := part{empty: 1} // (x(x(x)?)?)?
	for range re.Max - re.Min {
		rest = optional(s.join(s.part(re.Sub[0]), rest))
	}
	return s.join(p, rest)
}

func optional(p part) part {
	p.empty = min(p.empty+1, 2)
	return p
}

// intern returns the index of a class.
func (s *positions) intern(class []rune) int {
	id := slices.IndexFunc(s.classes, func(c []rune) bool { return slices.Equal(c, class) })
	if id < 0 {
		id = len(s.classes)
		s.classes = append(s.classes, class)
	}
	return id
}

// position adds one.
func (s *positions) position(class int) part {
	at := []int32{int32(len(s.class))}
	s.class = append(s.class, class)
	s.next = append(s.next, -1)
	return part{first: at, last: slices.Clone(at)}
}

// join puts one part behind another.
func (s *positions) join(p, q part) part {
	s.link(p.last, q.first)
	if p.empty == 2 && len(q.first) > 0 || q.empty == 2 && len(p.last) > 0 {
		s.fail(errPatternAmbiguous) // two ways into q, or out of p
	}
	if s.err != nil {
		return part{}
	}
	if p.empty > 0 {
		p.first = append(p.first, q.first...)
	}
	if q.empty > 0 {
		q.last = append(p.last, q.last...)
	}
	return part{p.first, q.last, min(p.empty*q.empty, 2)}
}

// again puts a part behind itself. A transition that is there already would be there
// twice: this is how (a*)* and (a?b?)* have two ways.
func (s *positions) again(p part) part {
	if s.err != nil {
		return part{}
	}
	begins := make([]bool, len(s.class))
	for _, at := range p.first {
		begins[at] = true
	}
	seen := make([]bool, len(s.tails))
	for _, at := range p.last {
		for c := s.next[at]; c >= 0 && !seen[c]; c = s.tails[c].before {
			seen[c] = true
			s.spend(len(s.tails[c].more))
			if s.err == nil && slices.ContainsFunc(s.tails[c].more, func(to int32) bool { return begins[to] }) {
				s.fail(errPatternAmbiguous)
			}
			if s.err != nil {
				return part{}
			}
		}
	}
	s.link(p.last, p.first)
	return p
}

// link adds transitions from each of some positions to each of others.
func (s *positions) link(from, to []int32) {
	if s.spend(len(from) * len(to)); s.err != nil || len(to) == 0 {
		return
	}
	made := make(map[int]int) // the longer tail, by the one before
	for _, at := range from {
		longer, ok := made[s.next[at]]
		if !ok {
			longer = len(s.tails)
			made[s.next[at]] = longer
			s.tails = append(s.tails, tail{s.next[at], to})
		}
		s.next[at] = longer
	}
}

// followers writes out the tails that are in use, and makes next an index of them.
func (s *positions) followers() [][]int32 {
	var lists [][]int32
	index := make(map[int]int)
	for at, c := range s.next {
		i, ok := index[c]
		if !ok {
			i = len(lists)
			index[c] = i
			var list []int32
			for ; c >= 0; c = s.tails[c].before {
				list = append(list, s.tails[c].more...)
			}
			lists = append(lists, list)
		}
		s.next[at] = i
	}
	return lists
}

// compare follows two ways at once, from each position on, as long as some text goes
// both, and fails if they part and meet again. What comes after two positions is all
// that counts, so it goes by pairs of lists of followers.
func (s *positions) compare() {
	lists := s.followers()
	n := len(lists)
	s.common = make([]int8, len(s.classes)*len(s.classes))
	seen := make([]uint64, (n*n+63)/64)
	var todo [][2]int
	parted := func(a, b int32) { // at two different positions, after the same text
		c, d := min(s.next[a], s.next[b]), max(s.next[a], s.next[b])
		if bit := c*n + d; seen[bit/64]>>(bit%64)&1 == 0 {
			seen[bit/64] |= 1 << (bit % 64)
			todo = append(todo, [2]int{c, d})
		}
	}
	for _, list := range lists {
		if s.spend(len(list) * len(list)); s.err != nil {
			return
		}
		for i, a := range list {
			for _, b := range list[:i] {
				if s.overlap(a, b) {
					parted(a, b)
				}
			}
		}
	}
	for len(todo) > 0 {
		pair := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		first, second := lists[pair[0]], lists[pair[1]]
		if s.spend(len(first) * len(second)); s.err != nil {
			return
		}
		for _, a := range first {
			for _, b := range second {
				switch {
				case !s.overlap(a, b):
				case a == b:
					s.fail(errPatternAmbiguous)
					return
				default:
					parted(a, b)
				}
			}
		}
	}
}

// overlap reports whether some character can be in both places.
func (s *positions) overlap(a, b int32) bool {
	c, d := s.class[a], s.class[b]
	known := &s.common[c*len(s.classes)+d]
	if *known == 0 {
		*known = 1
		if intersect(s.classes[c], s.classes[d]) {
			*known = 2
		}
		s.common[d*len(s.classes)+c] = *known
	}
	return *known == 2
}

// intersect reports whether two lists of ranges, in order, have a rune in common.
func intersect(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[1] < b[0]:
			a = a[2:]
		case b[1] < a[0]:
			b = b[2:]
		default:
			return true
		}
	}
	return false
}

// literal returns the class of a rune. The parser makes a rune without regard to case
// of [Aa].
func literal(r rune, fold bool) []rune {
	all := []rune{r}
	if fold {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			all = append(all, f)
		}
		slices.Sort(all)
	}
	class := make([]rune, 0, 2*len(all))
	for _, r := range all {
		class = append(class, r, r)
	}
	return class
}
