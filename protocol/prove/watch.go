package prove

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// next returns what follows each state; with opaque tests only if told so.
func (k *checker) next(opaque bool) func(int) iter.Seq2[arc, int] {
	return func(s int) iter.Seq2[arc, int] {
		return func(yield func(arc, int) bool) {
			for _, a := range k.arcs[s] {
				if (opaque || !isOpaque(a.when)) && !yield(a, a.to) {
					return
				}
			}
		}
	}
}

// A watched is a state of an automaton and one of what watches it.
type watched struct{ state, memory int }

// broken is what is remembered after what must not happen has happened.
const broken = -1

// watch searches the product of the automaton and a watcher, which begins at zero and
// says what it remembers after a step, for a shortest way to what is wanted. What a
// monitor lets through counts, if the watcher looks at its label.
func (k *checker) watch(labels []protocol.Label, step func(memory int, a arc) int, wanted func(watched) bool) (Trace, bool) {
	next := func(n watched) iter.Seq2[arc, watched] {
		return func(yield func(arc, watched) bool) {
			if n.memory == broken {
				return
			}
			for _, a := range k.arcs[n.state] {
				if !yield(a, watched{a.to, step(n.memory, a)}) {
					return
				}
			}
			for _, l := range labels {
				for _, by := range []protocol.Role{protocol.Agent, protocol.Environment} {
					m := protocol.Move{By: by, On: l}
					if !k.c.Passes(n.state, m) {
						continue
					}
					if a := (arc{n.state, n.state, m, nil}); !yield(a, watched{n.state, step(n.memory, a)}) {
						return
					}
				}
			}
		}
	}
	way, found, enough := shortest(&k.searched, watched{state: k.c.Initial()}, next, wanted)
	if !enough {
		k.report(TooLarge, "", protocol.Move{}, nil, "there are too many cases to prove an invariant")
	}
	return trace(k.c, way), found
}

func isBroken(n watched) bool { return n.memory == broken }

// invariants finds runs that break them.
func (k *checker) invariants() {
	for _, i := range k.terms.Invariants {
		k.claim(inWords(i), func() { k.invariant(i) })
	}
}

// inWords says an invariant.
func inWords(i protocol.Invariant) string {
	switch {
	case i.Precedes != nil && i.Precedes.Each:
		return fmt.Sprintf("before each %s there is a %s of its own", i.Precedes.Then, i.Precedes.First)
	case i.Precedes != nil:
		return fmt.Sprintf("before %s there is %s", i.Precedes.Then, i.Precedes.First)
	case i.AtMost != nil:
		return fmt.Sprintf("%s happens at most %d times", i.AtMost.Label, i.AtMost.N)
	case i.NeverAfter != nil:
		return fmt.Sprintf("%s never happens after %s", i.NeverAfter.Label, i.NeverAfter.After)
	case i.Between != nil:
		return fmt.Sprintf("%s happens only after %s and before %s", i.Between.Label, i.Between.From, i.Between.To)
	case i.Requires != nil:
		return fmt.Sprintf("no run succeeds without %s", i.Requires.Label)
	}
	return "an invariant that demands nothing"
}

func (k *checker) invariant(i protocol.Invariant) {
	switch {
	case i.Precedes != nil:
		p := *i.Precedes
		k.safe(BreaksPrecedes, []protocol.Label{p.First, p.Then}, func(happened int, on protocol.Label) int {
			if on == p.Then {
				if happened == 0 {
					return broken
				}
				if p.Each {
					happened = 0
				}
			}
			if on == p.First {
				happened = 1
			}
			return happened
		}, "%s happens without %s before it", p.Then, p.First)
		k.vacuous(p.First, p.Then)
	case i.AtMost != nil:
		m := *i.AtMost
		k.safe(BreaksAtMost, []protocol.Label{m.Label}, func(n int, on protocol.Label) int {
			if on != m.Label {
				return n
			}
			if n == m.N {
				return broken
			}
			return n + 1
		}, "%s happens more often than %d times", m.Label, m.N)
		k.vacuous(m.Label)
	case i.NeverAfter != nil:
		a := *i.NeverAfter
		k.safe(BreaksAfter, []protocol.Label{a.Label, a.After}, func(happened int, on protocol.Label) int {
			if on == a.Label && happened == 1 {
				return broken
			}
			if on == a.After {
				return 1
			}
			return happened
		}, "%s happens after %s", a.Label, a.After)
		k.vacuous(a.Label, a.After)
	case i.Between != nil:
		b := *i.Between
		k.safe(BreaksBetween, []protocol.Label{b.Label, b.From, b.To}, func(inside int, on protocol.Label) int {
			if on == b.Label && inside == 0 {
				return broken
			}
			switch on {
			case b.To:
				return 0
			case b.From:
				return 1
			}
			return inside
		}, "%s happens outside of what is between %s and %s", b.Label, b.From, b.To)
		k.vacuous(b.Label, b.From, b.To)
	case i.Requires != nil:
		r := *i.Requires
		t, found := k.watch(nil, func(happened int, a arc) int {
			if a.move.On == r.Label {
				return 1
			}
			return happened
		}, func(n watched) bool { return n.memory == 0 && k.c.End(n.state) == protocol.Success })
		if found {
			state := k.c.State(k.c.Initial())
			if len(t) > 0 {
				state = t[len(t)-1].To
			}
			k.report(BreaksRequires, state, protocol.Move{}, t, "it ends in success without %s", r.Label)
		}
		k.vacuous(r.Label)
	}
}

// safe reports a shortest run after which a watcher of labels is broken.
func (k *checker) safe(code Code, labels []protocol.Label, step func(memory int, on protocol.Label) int, format string, args ...any) {
	t, found := k.watch(labels, func(memory int, a arc) int { return step(memory, a.move.On) }, isBroken)
	if !found {
		return
	}
	last := t[len(t)-1]
	k.report(code, last.From, last.Move, t, format, args...)
}

// vacuous warns of labels that nothing has: most often they are misspelled.
func (k *checker) vacuous(labels ...protocol.Label) {
	for _, l := range labels {
		if !slices.ContainsFunc(k.a.Transitions, func(t protocol.Transition) bool { return t.On == l }) {
			k.report(Vacuous, "", protocol.Move{}, nil, "an invariant is about %s, which never happens", l)
		}
	}
}

// What is remembered of an approval: how often it may still be used, and for which tool
// it was asked.
const (
	askedNobody = iota
	askedThis
	askedOther
	asking // how many of these there are
)

// approvals finds calls that need an approval and have no fresh one.
func (k *checker) approvals() {
	for _, name := range slices.Sorted(maps.Keys(k.terms.Tools)) {
		approval, known := k.terms.Approvals[k.terms.Tools[name].Approval]
		if known {
			k.claim(fmt.Sprintf("every call of %s that needs it has a fresh approval %s", name, k.terms.Tools[name].Approval), func() {
				k.dominated(name, k.terms.Tools[name].Approval, approval)
			})
		}
	}
}

func (k *checker) dominated(tool, name string, approval protocol.Approval) {
	needs, err := protocol.Decide(approval.When)
	if err != nil {
		return // it has no digest
	}
	call := protocol.Label("call:" + tool)
	grant, deny, expire, ask := protocol.Label("grant:"+name), protocol.Label("deny:"+name), protocol.Label("expire:"+name), protocol.Label("ask:"+name)
	uses := max(approval.Uses, 1)
	next := func(n watched) iter.Seq2[arc, watched] {
		return func(yield func(arc, watched) bool) {
			if n.memory == broken {
				return
			}
			left, asked := n.memory/asking, n.memory%asking
			for _, a := range k.arcs[n.state] {
				to := watched{a.to, n.memory}
				switch a.move.On {
				case call:
					continue
				case ask:
					about := askedThis
					step := Step{when: a.when}
					if !step.lets("/tool", wire.Text(tool)) {
						about = askedOther
					}
					to.memory = left*asking + about
				case grant:
					if asked != askedOther {
						to.memory = uses*asking + asked
					}
				case deny, expire:
					to.memory = askedNobody
				}
				if !yield(a, to) {
					return
				}
			}
			move := protocol.Move{By: protocol.Agent, On: call}
			protocol.Both(k.c.Does(n.state, move), needs, func(s, needed int, when protocol.Condition) bool {
				if s < 0 {
					return true
				}
				to := watched{s, n.memory}
				switch {
				case needed == 0 && left == 0:
					to.memory = broken
				case needed == 0:
					to.memory = (left-1)*asking + asked
				}
				return yield(arc{n.state, s, move, when}, to)
			})
		}
	}
	way, found, enough := shortest(&k.searched, watched{state: k.c.Initial()}, next, isBroken)
	switch {
	case !enough:
		k.report(TooLarge, "", protocol.Move{By: protocol.Agent, On: call}, nil, "there are too many cases to prove that %s is approved", tool)
	case found:
		t := trace(k.c, way)
		last := t[len(t)-1]
		k.report(Unapproved, last.From, last.Move, t, "%s is called without a grant of %s since the last use", tool, name)
	}
}

// toolOf returns the tool that a label calls, or "".
func toolOf(l protocol.Label) string {
	tool, ok := strings.CutPrefix(string(l), "call:")
	if !ok {
		return ""
	}
	return tool
}
