package source

import (
	"math"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// condition reads
//
//	when:
//	  /arguments/amount: {gt: 0, le: 100}
//	  /content/0/text#/status: {in: [open, held]}
//
// All tests have to hold. Each but absent and is_null: false demands that there is a
// value: what is not there is neither equal nor unequal to anything.
func (r *reader) condition(n *node) (c protocol.Condition) {
	if n.kind == mapping && len(n.members) == 0 {
		r.fail(CodeValue, n.place, "the condition is empty")
	}
	r.each(n, func(at string, place protocol.Place, tests *node) {
		if !isPointer(at) {
			r.fail(CodeValue, place, "%q is no JSON pointer: it begins with a slash, and ~ is written ~0", cut(at))
			return
		}
		c = append(c, r.tests(protocol.Pointer(at), tests)...)
	})
	return c
}

// isPointer reports whether s is a JSON pointer with perhaps some # in it.
func isPointer(s string) bool {
	if len(s) > 500 {
		return false
	}
	for i, part := range strings.Split(s, "#") {
		if part == "" {
			if s == "" || i == 0 && s == "#" {
				return false
			}
			continue
		}
		if part[0] != '/' {
			return false
		}
		for j := range len(part) {
			if part[j] == '~' && (j+1 == len(part) || part[j+1] != '0' && part[j+1] != '1') {
				return false
			}
		}
	}
	return true
}

// tests reads what is demanded of one place.
func (r *reader) tests(at protocol.Pointer, n *node) (c protocol.Condition) {
	in := protocol.AllValues()
	plain := false
	and := func(s protocol.Set) { in, plain = in.Intersect(s), true }
	there := protocol.Absence().Complement()
	number := func(set func(float64) protocol.Set) func(*node) {
		return func(n *node) {
			if r.scalar(n, wire.Number, "a number") {
				x, _ := n.value.Float()
				and(set(x))
			}
		}
	}
	opaque := func(t protocol.Test, holds bool) {
		t.At = at
		if !holds {
			t = t.Not()
		}
		c = append(c, t)
	}
	matches := func(holds bool) func(*node) {
		return func(n *node) {
			s := r.string(n)
			if err := checkExpression(s); err != nil {
				r.fail(CodeValue, n.place, "%v", err)
				return
			}
			opaque(protocol.Test{Matches: s}, holds)
		}
	}
	capture := func(holds, among bool) func(*node) {
		return func(n *node) { opaque(protocol.Test{Capture: r.string(n), Among: among}, holds) }
	}
	if n.kind == mapping && len(n.members) == 0 {
		r.fail(CodeValue, n.place, "nothing is tested at %s", cut(string(at)))
	}
	r.fields(n, map[string]func(*node){
		"exists": func(n *node) {
			if r.bool(n) {
				and(there)
			} else {
				and(protocol.Absence())
			}
		},
		"absent": func(n *node) {
			if r.bool(n) {
				and(protocol.Absence())
			} else {
				and(there)
			}
		},
		"is_null": func(n *node) {
			null := protocol.Values(nullValue)
			if r.bool(n) {
				and(null)
			} else {
				and(there.Minus(null))
			}
		},
		"type": func(n *node) {
			var names []string
			r.oneOrMore(n, func(n *node) {
				names = append(names, string(oneOf(r, n, "null", "boolean", "number", "string", "array", "object")))
			})
			if s, err := protocol.Kinds(names...); err == nil {
				and(s)
			}
		},
		"eq":     func(n *node) { and(r.values(n)) },
		"ne":     func(n *node) { and(there.Minus(r.values(n))) },
		"in":     func(n *node) { and(r.listed(n)) },
		"not_in": func(n *node) { and(there.Minus(r.listed(n))) },
		"lt":     number(func(x float64) protocol.Set { return protocol.Below(x, false) }),
		"le":     number(func(x float64) protocol.Set { return protocol.Below(x, true) }),
		"gt":     number(func(x float64) protocol.Set { return protocol.Above(x, false) }),
		"ge":     number(func(x float64) protocol.Set { return protocol.Above(x, true) }),
		"len":    func(n *node) { and(r.lengths(n)) },

		"matches":     matches(true),
		"not_matches": matches(false),
		"eq_capture":  capture(true, false),
		"ne_capture":  capture(false, false),
		"in_capture":  capture(true, true),
	})
	if plain {
		if in.IsEmpty() {
			r.fail(CodeCondition, n.place, "no value passes all tests at %s", cut(string(at)))
		}
		c = append(protocol.Condition{{At: at, In: in}}, c...)
	}
	return c
}

var nullValue = func() wire.Value {
	v, err := wire.Encode(nil)
	if err != nil {
		panic(err) // a constant
	}
	return v
}()

// values reads the value of an equality. Lists and mappings are not compared.
func (r *reader) values(n *node) protocol.Set {
	if n.kind != scalar {
		r.fail(CodeType, n.place, "lists and mappings are not compared; test what is in them")
		return protocol.Set{}
	}
	return protocol.Values(n.value)
}

func (r *reader) listed(n *node) (s protocol.Set) {
	r.list(n, func(n *node) { s = s.Union(r.values(n)) })
	return s
}

// lengths reads a number, or bounds: {min: 1, max: 3}. They are of arrays.
func (r *reader) lengths(n *node) protocol.Set {
	least, most := 0, -1
	read := func(n *node) int {
		if !r.scalar(n, wire.Number, "a number") {
			return 0
		}
		i, ok := n.value.Int()
		if !ok || i < 0 || i > math.MaxInt32 {
			r.fail(CodeValue, n.place, "a length is a whole number from 0")
		}
		return int(i)
	}
	if n.kind == scalar {
		least = read(n)
		return protocol.Lengths(least, least)
	}
	r.fields(n, map[string]func(*node){
		"min": func(n *node) { least = read(n) },
		"max": func(n *node) { most = read(n) },
	})
	return protocol.Lengths(least, most)
}

// captures returns the names that a condition compares with.
func captures(c protocol.Condition) (names []string) {
	for _, t := range c {
		if t.Capture != "" {
			names = append(names, t.Capture)
		}
	}
	return names
}
