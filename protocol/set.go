package protocol

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A Set is a set of JSON values, and of there being none: what a test of a condition
// accepts at its pointer. Sets are closed under union, intersection and complement,
// and two that have the same members are equal by [Set.String]. The zero Set is empty.
//
// Numbers are sets of intervals, strings finite sets or all but a finite set, arrays
// are told apart by their length, objects not at all.
type Set struct {
	flags   uint8
	numbers line
	lengths line // of arrays
	others  bool // strings holds what is left out
	strings []string
}

const (
	flagAbsent = 1 << iota
	flagNull
	flagFalse
	flagTrue
	flagObject
	allFlags = 1<<iota - 1
)

// A line is a set of numbers: whether it begins inside at minus infinity, and where it
// goes in and out.
type line struct {
	in   bool
	cuts []cut
}

// A cut lies just before a number or just after it.
type cut struct {
	at    float64
	after bool
}

func (c cut) compare(d cut) int {
	if n := cmp.Compare(c.at, d.at); n != 0 {
		return n
	}
	switch {
	case c.after == d.after:
		return 0
	case d.after:
		return -1
	}
	return 1
}

// has reports whether x is in the line.
func (l line) has(x float64) bool {
	in := l.in
	for _, c := range l.cuts {
		if c.at > x || c.at == x && c.after {
			break
		}
		in = !in
	}
	return in
}

// merge combines two lines point by point.
func merge(a, b line, f func(a, b bool) bool) line {
	inA, inB := a.in, b.in
	out := line{in: f(inA, inB)}
	now := out.in
	for i, j := 0, 0; i < len(a.cuts) || j < len(b.cuts); {
		order := 0
		switch {
		case i == len(a.cuts):
			order = 1
		case j == len(b.cuts):
			order = -1
		default:
			order = a.cuts[i].compare(b.cuts[j])
		}
		var at cut
		if order <= 0 {
			at, inA = a.cuts[i], !inA
			i++
		}
		if order >= 0 {
			at, inB = b.cuts[j], !inB
			j++
		}
		if next := f(inA, inB); next != now {
			out.cuts, now = append(out.cuts, at), next
		}
	}
	return out
}

// AllValues is every value, and none.
func AllValues() Set {
	return Set{flags: allFlags, numbers: line{in: true}, lengths: line{in: true}, others: true}
}

// Absence is that there is no value.
func Absence() Set { return Set{flags: flagAbsent} }

// Values is the set of some values; of arrays and objects all that have the length, or
// all, since they are not told apart otherwise.
func Values(values ...wire.Value) Set {
	var s Set
	for _, v := range values {
		s = s.Union(one(v))
	}
	return s
}

// one is the smallest set with v.
func one(v wire.Value) Set {
	switch v.Kind() {
	case wire.Absent:
		return Set{flags: flagAbsent}
	case wire.Null:
		return Set{flags: flagNull}
	case wire.Bool:
		if v.Canonical() == "true" {
			return Set{flags: flagTrue}
		}
		return Set{flags: flagFalse}
	case wire.Object:
		return Set{flags: flagObject}
	case wire.String:
		return Set{strings: []string{v.Text()}}
	case wire.Array:
		return Lengths(v.Len(), v.Len())
	}
	x := numberOf(v)
	return Set{numbers: line{cuts: []cut{{x, false}, {x, true}}}}
}

// numberOf returns the value of a number. Canonical numbers are doubles, written so
// that each reads back as itself, so that comparing doubles compares what was written.
func numberOf(v wire.Value) float64 {
	x, err := strconv.ParseFloat(v.Canonical(), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// Below is the numbers less than x, and x if it is included; Above those greater.
func Below(x float64, included bool) Set {
	return Set{numbers: line{in: true, cuts: []cut{{x, included}}}}
}

// Above is the numbers greater than x, and x if it is included.
func Above(x float64, included bool) Set {
	return Set{numbers: line{cuts: []cut{{x, !included}}}}
}

// Lengths is the arrays of least to most elements; a negative most has no bound.
func Lengths(least, most int) Set {
	var l line
	if least <= 0 {
		l.in = true
	} else {
		l.cuts = append(l.cuts, cut{float64(least), false})
	}
	if most >= 0 && most >= least {
		l.cuts = append(l.cuts, cut{float64(most + 1), false})
	}
	if most >= 0 && most < least {
		return Set{}
	}
	return Set{lengths: l}
}

// Kinds is all values of some JSON types: "null", "boolean", "number", "string",
// "array", "object".
func Kinds(types ...string) (Set, error) {
	var s Set
	for _, t := range types {
		switch t {
		case "null":
			s.flags |= flagNull
		case "boolean":
			s.flags |= flagFalse | flagTrue
		case "object":
			s.flags |= flagObject
		case "number":
			s.numbers = line{in: true}
		case "array":
			s.lengths = line{in: true}
		case "string":
			s.others = true
		default:
			return s, fmt.Errorf("%q is no type of JSON", t)
		}
	}
	return s, nil
}

// Union returns what is in s or t.
func (s Set) Union(t Set) Set {
	return s.combine(t, func(a, b bool) bool { return a || b })
}

// Intersect returns what is in s and t.
func (s Set) Intersect(t Set) Set {
	return s.combine(t, func(a, b bool) bool { return a && b })
}

// Minus returns what is in s and not in t.
func (s Set) Minus(t Set) Set {
	return s.combine(t, func(a, b bool) bool { return a && !b })
}

// Complement returns what is not in s.
func (s Set) Complement() Set { return AllValues().Minus(s) }

// Within reports whether all of s is in t.
func (s Set) Within(t Set) bool { return s.Minus(t).IsEmpty() }

// meets reports whether something is in s and in t.
func (s Set) meets(t Set) bool {
	if s.flags&t.flags != 0 || s.others && t.others {
		return true
	}
	if t.others || !s.others && len(s.strings) < len(t.strings) {
		s, t = t, s // t has finitely many texts
	}
	if slices.ContainsFunc(t.strings, func(text string) bool { return !t.others && s.hasText(text) }) {
		return true
	}
	and := func(a, b bool) bool { return a && b }
	some := func(l line) bool { return l.in || len(l.cuts) > 0 }
	return some(s.numbers) && some(t.numbers) && some(merge(s.numbers, t.numbers, and)) ||
		some(s.lengths) && some(t.lengths) && some(merge(s.lengths, t.lengths, and))
}

// IsEmpty reports whether nothing is in s.
func (s Set) IsEmpty() bool {
	return s.flags == 0 && !s.numbers.in && len(s.numbers.cuts) == 0 && !s.lengths.in && len(s.lengths.cuts) == 0 &&
		!s.others && len(s.strings) == 0
}

// Equal reports whether s and t have the same members.
func (s Set) Equal(t Set) bool { return s.Within(t) && t.Within(s) }

func (s Set) combine(t Set, f func(a, b bool) bool) Set {
	var out Set
	for bit := uint8(1); bit <= flagObject; bit <<= 1 {
		if f(s.flags&bit != 0, t.flags&bit != 0) {
			out.flags |= bit
		}
	}
	out.numbers = merge(s.numbers, t.numbers, f)
	out.lengths = merge(s.lengths, t.lengths, f)
	out.others = f(s.others, t.others)
	for a, b := s.strings, t.strings; len(a) > 0 || len(b) > 0; {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = strings.Compare(a[0], b[0])
		}
		inS, inT, name := s.others, t.others, ""
		if order <= 0 {
			name, a, inS = a[0], a[1:], !inS
		}
		if order >= 0 {
			name, b, inT = b[0], b[1:], !inT
		}
		if f(inS, inT) != out.others {
			out.strings = append(out.strings, name)
		}
	}
	return out
}

func (s Set) hasText(text string) bool {
	_, listed := slices.BinarySearch(s.strings, text)
	return listed != s.others
}

// Has reports whether v, which may be Absent, is in s.
func (s Set) Has(v wire.Value) bool {
	switch v.Kind() {
	case wire.String:
		return s.hasText(v.Text())
	case wire.Number:
		return s.numbers.has(numberOf(v))
	case wire.Array:
		return s.lengths.has(float64(v.Len()))
	}
	return s.flags&one(v).flags != 0
}

// String returns the one text of the set, for people and for digests.
func (s Set) String() string {
	if s.Equal(AllValues()) {
		return "anything"
	}
	var parts []string
	for i, name := range []string{"absent", "null", "false", "true", "object"} {
		if s.flags&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	parts = append(parts, s.numbers.texts("number")...)
	parts = append(parts, s.lengths.texts("array")...)
	if s.others {
		text := "string"
		if len(s.strings) > 0 {
			text += " but " + quoted(s.strings)
		}
		parts = append(parts, text)
	} else if len(s.strings) > 0 {
		parts = append(parts, quoted(s.strings))
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " or ")
}

// MarshalText writes the text of the set.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func quoted(list []string) string {
	var all []string
	for _, s := range list {
		all = append(all, wire.Text(s).Canonical())
	}
	return strings.Join(all, ", ")
}

// texts writes each interval of a line.
func (l line) texts(what string) (list []string) {
	if l.in && len(l.cuts) == 0 {
		return []string{what}
	}
	cuts := l.cuts
	if l.in {
		list = append(list, what+" "+cuts[0].text("<", "<="))
		cuts = cuts[1:]
	}
	for ; len(cuts) >= 2; cuts = cuts[2:] {
		if cuts[0].at == cuts[1].at {
			list = append(list, what+" "+number(cuts[0].at))
			continue
		}
		list = append(list, what+" "+cuts[0].text(">=", ">")+" and "+cuts[1].text("<", "<="))
	}
	if len(cuts) == 1 {
		list = append(list, what+" "+cuts[0].text(">=", ">"))
	}
	return list
}

func (c cut) text(before, after string) string {
	if c.after {
		return after + " " + number(c.at)
	}
	return before + " " + number(c.at)
}

// number writes a number as canonical JSON does.
func number(x float64) string {
	if v, ok := encoded(x); ok {
		return v.Canonical()
	}
	return strconv.FormatFloat(x, 'g', -1, 64) // no number of JSON, and no document has it
}
