package source_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol/source"
)

// A piece is an atom of a protocol, made before there is a text of it.
type piece struct {
	sign     byte     // '!' or '?': a choice
	labels   []string // of a choice
	arms     [][]piece
	rec, ref string // a recursion with the body arms[0], or a variable; neither: end
}

// A behavior says what may happen next and how it goes on; nil is the end.
type behavior func() map[string]behavior

// meaning is what a sequence does by itself, given what follows it: it takes texts apart
// nowhere and has no states.
func meaning(list []piece, vars map[string]*behavior, then behavior) behavior {
	if len(list) == 0 {
		return then
	}
	p := list[0]
	switch {
	case p.ref != "":
		v := vars[p.ref]
		return func() map[string]behavior { return happens(*v) }
	case p.rec != "":
		inner := map[string]*behavior{}
		for name, v := range vars {
			inner[name] = v
		}
		self := new(behavior)
		inner[p.rec] = self
		*self = meaning(p.arms[0], inner, meaning(list[1:], vars, then))
		return *self
	case p.sign != 0:
		return func() map[string]behavior {
			next := map[string]behavior{}
			for i, l := range p.labels {
				next[string(p.sign)+l] = meaning(p.arms[i], vars, meaning(list[1:], vars, then))
			}
			return next
		}
	}
	return meaning(list[1:], vars, then)
}

func happens(b behavior) map[string]behavior {
	if b == nil {
		return nil
	}
	return b()
}

func traces(b behavior, length int) (list []string) {
	var walk func(b behavior, trace string, left int)
	walk = func(b behavior, trace string, left int) {
		next := happens(b)
		if len(next) == 0 {
			list = append(list, trace+".")
		} else if left == 0 {
			list = append(list, trace)
		}
		if left == 0 {
			return
		}
		for act, then := range next {
			walk(then, trace+act, left-1)
		}
	}
	walk(b, "", length)
	slices.Sort(list)
	return list
}

// written returns a text of a sequence, with space and comments here and there.
func written(random *rand.Rand, list []piece) string {
	space := func() string { return []string{"", "", " ", "\n", " # a comment: !x.{\n"}[random.IntN(5)] }
	var all []string
	for _, p := range list {
		var text string
		switch {
		case p.ref != "":
			text = p.ref
		case p.rec != "":
			text = "rec " + p.rec + space() + "." + written(random, p.arms[0])
		case p.sign != 0 && len(p.labels) == 1 && len(p.arms[0]) == 0 && random.IntN(2) == 0:
			text = string(p.sign) + space() + p.labels[0]
		case p.sign != 0:
			var arms []string
			for i, l := range p.labels {
				if random.IntN(3) == 0 {
					l = fmt.Sprintf("%q", l)
				}
				if len(p.arms[i]) > 0 {
					l += space() + "." + written(random, p.arms[i])
				}
				arms = append(arms, space()+l+space())
			}
			text = string(p.sign) + "{" + strings.Join(arms, ",") + "}"
		default:
			text = "end"
		}
		all = append(all, space()+text+space())
	}
	return strings.Join(all, ".")
}

// invent makes a sequence. Variables stand where nothing follows, or it has a fault.
func invent(random *rand.Rand, depth int, vars []string, last bool) (list []piece) {
	for range 1 + random.IntN(3) {
		switch n := random.IntN(8); {
		case n == 0 || depth == 0:
			list = append(list, piece{})
		case n < 6:
			p := piece{sign: "!?"[random.IntN(2)]}
			for _, i := range random.Perm(4)[:1+random.IntN(3)] {
				p.labels = append(p.labels, []string{"a", "rec", "end", "b-2"}[i])
				var arm []piece
				if random.IntN(2) == 0 {
					arm = invent(random, depth-1, vars, false)
				}
				p.arms = append(p.arms, arm)
			}
			list = append(list, p)
		}
	}
	switch n := random.IntN(3); {
	case !last:
	case n == 0 && len(vars) > 0:
		list = append(list, piece{ref: vars[random.IntN(len(vars))]})
	case n == 1 && depth > 0:
		name := []string{"X", "Y", "end1"}[random.IntN(3)] // and may hide another
		list = append(list, piece{rec: name, arms: [][]piece{invent(random, depth-1, append(slices.Clone(vars), name), true)}})
	case depth > 0 && len(vars) > 0:
		p := piece{sign: '?', labels: []string{"go", "stay"}, arms: [][]piece{invent(random, depth-1, vars, true), invent(random, depth-1, vars, true)}}
		list = append(list, p)
	}
	return list
}

// A text is compiled to what it means, or has a fault.
func TestLanguage(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 2))
	compared := 0
	for range 6000 {
		list := invent(random, 3, nil, true)
		text := written(random, list)
		p, err := source.ParseDSL(text, nil)
		if err != nil {
			continue
		}
		want := traces(meaning(list, nil, nil), 5)
		if len(want) > 3000 {
			continue
		}
		if got := runs(t, p.Automaton, 5); !slices.Equal(got, want) {
			t.Fatalf("%s\nhas the runs %v,\nand means     %v", text, got, want)
		}
		if strings.Contains(text, "rec ") {
			compared++
		}
	}
	if compared < 500 {
		t.Errorf("only %d protocols with loops were compared", compared)
	}
}
