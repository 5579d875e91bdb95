package prove

import (
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/protocol"
)

// names finds what is declared and not used, or used and not declared.
func (k *checker) names() {
	t := k.terms
	labels := map[protocol.Label]bool{}
	for _, tr := range k.a.Transitions {
		labels[tr.On] = true
		for _, test := range tr.Condition() {
			if _, known := t.Captures[test.Capture]; test.Capture != "" && !known {
				k.report(UnknownName, tr.From, protocol.Move{By: tr.By, On: tr.On}, nil, "nothing is captured as %s", test.Capture)
			}
		}
	}
	needed, probes := map[string]bool{}, map[string]bool{}
	for _, tool := range t.Tools {
		probes[tool.Probe] = true
	}
	for _, name := range slices.Sorted(maps.Keys(t.Tools)) {
		tool := t.Tools[name]
		if !labels[protocol.Label("call:"+name)] && !probes[name] {
			k.report(UnusedTool, "", protocol.Move{}, nil, "no state allows the tool %s or denies it", name)
		}
		needed[tool.Approval] = true
		if _, known := t.Approvals[tool.Approval]; tool.Approval != "" && !known {
			k.report(UnknownName, "", protocol.Move{}, nil, "the tool %s needs the approval %s, which is not declared", name, tool.Approval)
		}
		if _, known := t.Tools[tool.Probe]; tool.Probe != "" && !known {
			k.report(UnknownName, "", protocol.Move{}, nil, "the tool %s is probed with %s, which is not declared", name, tool.Probe)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Approvals)) {
		if !needed[name] && !labels[protocol.Label("grant:"+name)] {
			k.report(UnusedApproval, "", protocol.Move{}, nil, "no tool needs the approval %s", name)
		}
		if when := t.Approvals[name].When; !satisfiable(when) {
			k.report(Unsatisfiable, "", protocol.Move{}, nil, "no document satisfies the condition of the approval %s: %s", name, when)
		}
	}
	for _, name := range t.ReserveFor {
		if _, known := t.Tools[name]; !known && !labels[protocol.Label("call:"+name)] {
			k.report(UnknownName, "", protocol.Move{}, nil, "budget is kept back for the tool %s, which is not declared", name)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		if name, ok := strings.CutPrefix(string(l), "timer:"); ok {
			if _, known := t.Timers[name]; !known {
				k.report(UnknownName, "", protocol.Move{By: protocol.Clock, On: l}, nil, "the timer %s is not declared, and never fires", name)
			}
		}
		if name := toolOf(l); name != "" && len(t.Tools) > 0 {
			if _, known := t.Tools[name]; !known {
				k.report(Undeclared, "", protocol.Move{By: protocol.Agent, On: l}, nil, "nothing is said about the tool %s: it counts as one that writes", name)
			}
		}
	}
}

// tools warns of what is risky about tools.
func (k *checker) tools(opts *Options) {
	for _, name := range slices.Sorted(maps.Keys(k.terms.Tools)) {
		tool := k.terms.Tools[name]
		if tool.Effect == protocol.Irreversible {
			if tool.Probe == "" && tool.Idempotency == "" {
				k.report(InDoubt, "", protocol.Move{}, nil, "the tool %s is irreversible, and has no probe and no idempotency key to tell what became of a lost call", name)
			}
			each := slices.ContainsFunc(k.terms.Invariants, func(i protocol.Invariant) bool {
				return i.Precedes != nil && i.Precedes.Each && toolOf(i.Precedes.Then) == name
			})
			if tool.Approval == "" && !each {
				k.report(Unguarded, "", protocol.Move{}, nil, "the tool %s is irreversible, and needs no approval", name)
			}
		}
		if opts == nil {
			continue
		}
		says := opts.Annotations[name]
		if tool.Effect == protocol.Reads && (says.ReadOnly != nil && !*says.ReadOnly || says.Destructive != nil && *says.Destructive) {
			k.report(NotReadOnly, "", protocol.Move{}, nil, "the protocol says that the tool %s reads, the tool says that it does not", name)
		}
	}
}

// budgets finds limits with which nothing can be done.
func (k *checker) budgets() {
	total := limits(k.terms.Budget)
	for name, kept := range inOrder(limits(k.terms.Reserve)) {
		if limit := total[name]; limit == nil {
			k.report(ReserveTooBig, "", protocol.Move{}, nil, "a reserve of %s is kept, of which there is no limit", name)
		} else if kept.Cmp(limit) > 0 {
			k.report(ReserveTooBig, "", protocol.Move{}, nil, "of %s, %s are kept back, and there are only %s", name, kept.RatString(), limit.RatString())
		}
	}
	for _, s := range k.a.States {
		for name, x := range inOrder(limits(k.a.Budgets[s])) {
			if limit := total[name]; limit != nil && x.Cmp(limit) > 0 {
				k.report(StateOver, s, protocol.Move{}, nil, "the state may use %s %s, and the whole conversation only %s", x.RatString(), name, limit.RatString())
			}
		}
	}
	if k.terms.Budget.Calls > 0 {
		k.affordable()
	}
}

// affordable searches for a run to an end within the budget of calls: to success, if
// that can be reached at all.
func (k *checker) affordable() {
	wanted := func(s int) bool { return k.c.End(s) == protocol.Success }
	if _, ok, _ := shortest(&k.searched, k.c.Initial(), k.next(true), wanted); !ok {
		wanted = func(s int) bool { return k.c.End(s) != "" }
	}
	most := int64(k.c.Len()) // a shortest run calls once in each state at most
	calls, kept := min(k.terms.Budget.Calls, most), k.terms.Reserve.Calls
	spend := func(limited bool) func(watched) iter.Seq2[arc, watched] {
		return func(n watched) iter.Seq2[arc, watched] {
			return func(yield func(arc, watched) bool) {
				for _, a := range k.arcs[n.state] {
					used := n.memory
					if tool := toolOf(a.move.On); tool != "" && a.move.By == protocol.Agent {
						used++
						limit := calls
						if !slices.Contains(k.terms.ReserveFor, tool) {
							limit = min(most, k.terms.Budget.Calls-kept)
						}
						if limited && int64(used) > limit {
							continue
						}
					}
					if int64(used) <= most && !yield(a, watched{a.to, used}) {
						return
					}
				}
			}
		}
	}
	at := func(n watched) bool { return wanted(n.state) }
	if _, ok, enough := shortest(&k.searched, watched{state: k.c.Initial()}, spend(true), at); ok {
		return
	} else if !enough {
		k.report(TooLarge, "", protocol.Move{}, nil, "there are too many cases to prove that the budget of calls suffices")
		return
	}
	way, ok, _ := shortest(&k.searched, watched{state: k.c.Initial()}, spend(false), at)
	if !ok {
		return // no budget helps: a trap
	}
	used, cut := int64(0), -1
	for i, a := range way {
		tool := toolOf(a.move.On)
		if tool == "" || a.move.By != protocol.Agent {
			continue
		}
		limit := k.terms.Budget.Calls
		if !slices.Contains(k.terms.ReserveFor, tool) {
			limit -= kept
		}
		if used++; used > limit {
			cut = i
			break
		}
	}
	if cut < 0 {
		return
	}
	way[cut].to = -1
	t := trace(k.c, way[:cut+1])
	k.report(BudgetTooSmall, t[cut].From, t[cut].Move, t, "a budget of %d calls, %d of them kept back, ends every run before its end", k.terms.Budget.Calls, kept)
}

// money begins the name of a limit of money, which goes on with the currency.
const money = "money "

// limits returns the limits of a budget by name.
func limits(b protocol.Budget) map[string]*big.Rat {
	m := map[string]*big.Rat{}
	for name, n := range map[string]int64{"calls": b.Calls, "bytes": b.Bytes, "tokens": b.Tokens, "wall": int64(b.Wall), "strikes": b.Strikes} {
		if n > 0 {
			m[name] = new(big.Rat).SetInt64(n)
		}
	}
	for currency, text := range b.Money {
		if len(text) > 40 || strings.Trim(text, "0123456789.") != "" {
			continue
		}
		if x, ok := new(big.Rat).SetString(text); ok {
			m[money+currency] = x
		}
	}
	return m
}

func inOrder(m map[string]*big.Rat) iter.Seq2[string, *big.Rat] {
	return func(yield func(string, *big.Rat) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
