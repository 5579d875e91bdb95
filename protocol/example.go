package protocol

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// Example returns a member of the set, a simple one, for a person to read; Absent, if
// that is one, since leaving something out is simplest. It reports false if the set is
// empty.
func (s Set) Example() (wire.Value, bool) {
	if s.flags&flagAbsent != 0 {
		return wire.Value{}, true
	}
	return s.present()
}

// present returns a member that is a value.
func (s Set) present() (wire.Value, bool) {
	if text, ok := s.text(); ok {
		return wire.Text(text), true
	}
	if x, ok := s.numbers.example(); ok {
		return encoded(x)
	}
	for _, x := range []struct {
		flag uint8
		v    any
	}{{flagTrue, true}, {flagFalse, false}, {flagObject, wire.M{}}, {flagNull, nil}} {
		if s.flags&x.flag != 0 {
			return encoded(x.v)
		}
	}
	for n := range maxExample + 1 {
		if s.lengths.has(float64(n)) {
			return encoded(make([]any, n))
		}
	}
	return wire.Value{}, false
}

// maxExample is the longest array of an example.
const maxExample = 1 << 10

func encoded(x any) (wire.Value, bool) {
	v, err := wire.Encode(x)
	return v, err == nil
}

// text returns a text of the set.
func (s Set) text() (string, bool) {
	if !s.others {
		if len(s.strings) == 0 {
			return "", false
		}
		return s.strings[0], true
	}
	for _, t := range []string{"text", "other", ""} {
		if s.hasText(t) {
			return t, true
		}
	}
	for i := 1; ; i++ { // strings is finite
		if t := fmt.Sprint("other", i); s.hasText(t) {
			return t, true
		}
	}
}

// example returns a number of the line: 1 or 0 if they are in it, an end of an interval,
// or one between.
func (l line) example() (float64, bool) {
	tries := []float64{1, 0}
	for i, c := range l.cuts {
		tries = append(tries, c.at, c.at+1, c.at-1)
		if i > 0 {
			tries = append(tries, l.cuts[i-1].at/2+c.at/2)
		}
		tries = append(tries, c.at/2, math.Nextafter(c.at, math.Inf(1)), math.Nextafter(c.at, math.Inf(-1)))
	}
	i := slices.IndexFunc(tries, func(x float64) bool {
		_, ok := encoded(x)
		return ok && l.has(x)
	})
	if i < 0 {
		return 0, false
	}
	return tries[i], true
}

// Example returns a document in which every test of the condition holds that is not
// opaque, and those that match an expression if that is simple. It reports false if it
// finds none: for tests that do not depend on each other, as those of one decision, that
// is if there is none. (SPEC §5.2)
func (c Condition) Example() (wire.Value, bool) {
	root := &place{in: AllValues()}
	for _, t := range c {
		in := t.values()
		switch {
		case t.Matches != "" && t.values().Equal(yes):
			text, ok := matching(t.Matches)
			if !ok {
				continue
			}
			in = Values(wire.Text(text))
		case t.IsOpaque():
			continue
		}
		p := root.at(t.At)
		if p == nil {
			return wire.Value{}, false
		}
		p.in = p.in.Intersect(in)
	}
	v, ok := root.solve()
	if ok && v.Kind() == wire.Absent && root.in.Has(v) {
		if object, err := wire.Encode(wire.M{}); err == nil && root.in.Has(object) {
			v = object
		}
	}
	return v, ok
}

// A place is somewhere in a document: what may stand there, what is in it, and what is
// in the JSON text that stands there.
type place struct {
	in     Set
	within map[string]*place
	parsed *place
}

// at returns the place of a pointer, or nil.
func (p *place) at(at Pointer) *place {
	for i, path := range strings.Split(string(at), "#") {
		if i > 0 {
			if p.parsed == nil {
				p.parsed = &place{in: AllValues()}
			}
			p = p.parsed
		}
		if path == "" {
			continue
		}
		if path[0] != '/' {
			return nil
		}
		for token := range strings.SplitSeq(path[1:], "/") {
			token = unescape.Replace(token)
			next := p.within[token]
			if next == nil {
				if next = (&place{in: AllValues()}); p.within == nil {
					p.within = map[string]*place{}
				}
				p.within[token] = next
			}
			p = next
		}
	}
	return p
}

// empty reports whether there may be nothing inside.
func (p *place) empty() bool {
	for _, q := range p.within {
		if !q.in.Has(wire.Value{}) || !q.empty() {
			return false
		}
	}
	return p.parsed == nil || p.parsed.in.Has(wire.Value{}) && p.parsed.empty()
}

// solve finds a value for a place.
func (p *place) solve() (wire.Value, bool) {
	if p.empty() {
		if v, ok := p.in.Example(); ok && (v.Kind() != wire.String || p.parsed == nil) {
			return v, true
		}
		if p.parsed != nil && p.in.Has(wire.Text("no JSON")) {
			return wire.Text("no JSON"), true
		}
	}
	if p.parsed != nil && !p.without() {
		v, ok := p.parsed.solve()
		if text := wire.Text(v.Canonical()); ok && v.Kind() != wire.Absent && p.in.Has(text) {
			return text, true
		}
		return wire.Value{}, false
	}
	if v, ok := p.list(); ok {
		return v, true
	}
	if p.in.flags&flagObject == 0 {
		return wire.Value{}, false
	}
	object := wire.M{}
	for token, q := range p.within {
		v, ok := q.solve()
		if !ok {
			return v, false
		}
		if v.Kind() != wire.Absent {
			object[token] = v
		}
	}
	return encoded(object)
}

// without reports whether the text of a place need not be JSON.
func (p *place) without() bool {
	return p.parsed.in.Has(wire.Value{}) && p.parsed.empty()
}

// list makes an array, if all that is inside are elements in a row.
func (p *place) list() (wire.Value, bool) {
	n := len(p.within)
	if n == 0 || n > maxExample {
		return wire.Value{}, false
	}
	var elems []any
	for i := range n {
		q := p.within[strconv.Itoa(i)]
		if q == nil {
			return wire.Value{}, false
		}
		v, ok := q.solve()
		if !ok || v.Kind() == wire.Absent {
			return wire.Value{}, false
		}
		elems = append(elems, v)
	}
	for len(elems) < maxExample && !p.in.lengths.has(float64(len(elems))) {
		elems = append(elems, nil)
	}
	if !p.in.lengths.has(float64(len(elems))) {
		return wire.Value{}, false
	}
	return encoded(elems)
}

// matching returns a text that matches a simple expression.
func matching(expr string) (string, bool) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok := match(&b, re.Simplify(), 0)
	return b.String(), ok
}

func match(b *strings.Builder, re *syntax.Regexp, depth int) bool {
	if depth > 100 || b.Len() > 1<<10 {
		return false
	}
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpWordBoundary:
		return true // between words, which is most often so; whoever replays it will see
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
		return true
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return false
		}
		b.WriteRune(re.Rune[0])
		return true
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
		return true
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return match(b, re.Sub[0], depth+1)
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !match(b, sub, depth+1) })
	}
	return false
}
