package prove

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/protocol"
)

// refineTerms compares what two protocols demand beside the order of events.
func refineTerms(c, p *protocol.Compiled) *Counterexample {
	child, parent := c.Automaton().Terms, p.Automaton().Terms
	if parent == nil {
		parent = &protocol.Terms{}
	}
	if child == nil {
		child = &protocol.Terms{}
	}
	calls := map[string]bool{}
	for _, t := range c.Automaton().Transitions {
		if tool := toolOf(t.On); tool != "" && t.To != protocol.Nowhere {
			calls[tool] = true
		}
	}
	fail := func(clause Clause, format string, args ...any) *Counterexample {
		return &Counterexample{Clause: clause, Message: fmt.Sprintf(format, args...)}
	}
	for _, name := range slices.Sorted(maps.Keys(parent.Tools)) {
		if !calls[name] {
			continue
		}
		mine, theirs := child.Tools[name], parent.Tools[name]
		if rank(mine.Effect) < rank(theirs.Effect) {
			return fail(Effects, "the tool %s is said to %s, and by the parent to %s", name, does(mine.Effect), does(theirs.Effect))
		}
		if theirs.Idempotency != "" && mine.Idempotency != theirs.Idempotency {
			return fail(Effects, "a repeated call of the tool %s is told by %q, and by the parent by %q", name, mine.Idempotency, theirs.Idempotency)
		}
		approval, needed := parent.Approvals[theirs.Approval]
		if !needed {
			continue
		}
		own, has := child.Approvals[mine.Approval]
		if !has {
			return fail(Approvals, "the tool %s needs no approval, and by the parent that of %s", name, theirs.Approval)
		}
		if why := weaker(own, approval); why != "" {
			return fail(Approvals, "the approval %s of the tool %s %s", mine.Approval, name, why)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parent.Approvals)) {
		if !c.Knows(protocol.Label("grant:"+name)) || !p.Knows(protocol.Label("grant:"+name)) {
			continue
		}
		own, has := child.Approvals[name]
		if !has {
			return fail(Approvals, "the approval %s has no terms, as it has by the parent", name)
		}
		if why := weaker(own, parent.Approvals[name]); why != "" {
			return fail(Approvals, "the approval %s %s", name, why)
		}
	}
	if name, ok := within(limits(child.Budget), limits(parent.Budget)); !ok {
		return fail(Budgets, "the limit of %s is higher than that of the parent", name)
	}
	if name, ok := covered(limits(parent.Reserve), limits(child.Reserve)); !ok {
		return fail(Budgets, "the reserve of %s is lower than that of the parent", name)
	}
	if len(limits(parent.Reserve)) > 0 {
		for _, tool := range child.ReserveFor {
			if !slices.Contains(parent.ReserveFor, tool) {
				return fail(Budgets, "the reserve is open to the tool %s, by the parent it is not", tool)
			}
		}
	}
	if openness(child.Unrecognized) > openness(parent.Unrecognized) {
		return fail(Policies, "what is not recognized passes: %s, by the parent %s", child.Unrecognized, max(parent.Unrecognized, protocol.Block))
	}
	if child.Unrecognized == protocol.PassIfRead && parent.Unrecognized == protocol.PassIfRead {
		for _, name := range slices.Sorted(maps.Keys(child.Tools)) {
			if child.Tools[name].Effect == protocol.Reads && parent.Tools[name].Effect != protocol.Reads && !c.Knows(protocol.Label("call:"+name)) {
				return fail(Policies, "calls of the tool %s pass, which reads, by the parent they do not, for it does not read", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parent.Captures)) {
		if child.Captures[name] != parent.Captures[name] {
			return fail(Registers, "the capture %s is not that of the parent", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parent.Timers)) {
		own, has := child.Timers[name]
		if _, runs := timers(p)[name]; !has && runs || has && own.After != parent.Timers[name].After {
			return fail(Registers, "the timer %s fires after %s, by the parent after %s", name, own.After, parent.Timers[name].After)
		}
	}
	switch mine, theirs := child.Instance, parent.Instance; {
	case theirs == nil && mine != nil:
		return fail(Registers, "there are instances, told apart by %s, and by the parent there is one conversation", mine.Key)
	case theirs != nil && (mine == nil || mine.Key != theirs.Key):
		return fail(Registers, "instances are not told apart by %s, as by the parent", theirs.Key)
	case theirs != nil:
		for _, tool := range slices.Sorted(maps.Keys(calls)) {
			if slices.Contains(mine.Scope, tool) != slices.Contains(theirs.Scope, tool) {
				return fail(Registers, "the tool %s belongs to instances in one of the protocols only", tool)
			}
		}
	}
	return nil
}

// counted compares what is counted in states: budgets that several states of the child
// share out, and the states in which timers run.
func (r *refiner) counted() *Counterexample {
	child, parent := r.child.Automaton(), r.parent.Automaton()
	at := func(i int, clause Clause, format string, args ...any) *Counterexample {
		return r.counterexample(r.back(i), &fault{clause: clause, message: fmt.Sprintf(format, args...)}, r.nodes[i].pair)
	}
	own, theirs := timers(r.child), timers(r.parent)
	names := slices.Sorted(maps.Keys(theirs))
	if len(names) == 0 && len(parent.Budgets) == 0 {
		return nil
	}
	standing := map[protocol.State][]protocol.State{} // states of the child by those of the parent
	for i, n := range r.nodes {
		if n.detached {
			continue
		}
		c, q := child.Whole(r.child.State(n.child)), parent.Whole(r.parent.State(n.parent))
		for _, name := range names {
			if (own[name].In == c) != (theirs[name].In == q) {
				return at(i, Registers, "the timer %s does not run in %s as in %s of the parent", name, c, q)
			}
		}
		limit, limited := parent.Budgets[q]
		if !limited || slices.Contains(standing[q], c) {
			continue
		}
		standing[q] = append(standing[q], c)
		if len(standing[q]) == 1 {
			continue
		}
		sum := map[string]*big.Rat{}
		for _, c := range standing[q] {
			for name, x := range limits(child.Budgets[c]) {
				sum[name] = new(big.Rat).Add(x, cmp.Or(sum[name], new(big.Rat)))
			}
		}
		if limit.Wall > 0 {
			return at(i, Budgets, "the states %s may together take longer than %s of the parent", standing[q], q)
		}
		if name, ok := within(sum, limits(limit)); !ok {
			return at(i, Budgets, "the states %s may together use more %s than %s of the parent", standing[q], name, q)
		}
	}
	return nil
}

// timers returns the timers of a protocol on which something depends.
func timers(c *protocol.Compiled) map[string]protocol.Timer {
	m := map[string]protocol.Timer{}
	if t := c.Automaton().Terms; t != nil {
		for name, timer := range t.Timers {
			if c.Knows(protocol.Label("timer:" + name)) {
				m[name] = timer
			}
		}
	}
	return m
}

func rank(e protocol.Effect) int {
	switch e {
	case protocol.Reads:
		return 0
	case protocol.Irreversible:
		return 2
	}
	return 1
}

func does(e protocol.Effect) string {
	switch rank(e) {
	case 0:
		return "read"
	case 2:
		return "do what nothing undoes"
	}
	return "write"
}

func openness(p protocol.Policy) int {
	switch p {
	case protocol.Pass:
		return 2
	case protocol.PassIfRead:
		return 1
	}
	return 0
}

// weaker says in what an approval is easier to get than another, or lasts longer.
func weaker(child, parent protocol.Approval) string {
	longer := func(a, b time.Duration) bool { return b > 0 && (a == 0 || a > b) }
	switch {
	case len(parent.By) > 0 && len(child.By) == 0:
		return "can be given by anybody"
	case len(parent.By) > 0 && !subset(child.By, parent.By):
		return "can be given by somebody else"
	case longer(child.TTL, parent.TTL):
		return "lasts longer"
	case max(child.Uses, 1) > max(parent.Uses, 1):
		return "can be used more often"
	case parent.Assurance == "key" && child.Assurance != "key", parent.Assurance == "client" && child.Assurance == "":
		return "is less sure who gave it"
	case !subset(parent.Bind, child.Bind):
		return "is bound to less"
	case parent.Amount != "" && child.Amount != parent.Amount, parent.Currency != "" && child.Currency != parent.Currency:
		return "names another amount"
	}
	mine, errMine := protocol.Decide(child.When)
	theirs, errTheirs := protocol.Decide(parent.When)
	if errMine != nil || errTheirs != nil {
		return "has a condition that cannot be decided"
	}
	why := ""
	protocol.Both(mine, theirs, func(a, b int, when protocol.Condition) bool {
		if a < 0 && b == 0 && possible(when) {
			why = "is not needed" + where(when)
		}
		return why == ""
	})
	return why
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// within reports whether limits are no higher than others, or the name of one that is. A
// limit of some currency is one of none in all others.
func within(child, parent map[string]*big.Rat) (string, bool) {
	for name, limit := range inOrder(parent) {
		if own := child[name]; own == nil && !(isMoney(name) && hasMoney(child)) || own != nil && own.Cmp(limit) > 0 {
			return name, false
		}
	}
	for name, own := range inOrder(child) {
		if isMoney(name) && hasMoney(parent) && parent[name] == nil && own.Sign() > 0 {
			return name, false
		}
	}
	return "", true
}

func isMoney(name string) bool { return strings.HasPrefix(name, money) }

func hasMoney(limits map[string]*big.Rat) bool {
	for name := range limits {
		if isMoney(name) {
			return true
		}
	}
	return false
}

// covered reports whether others are at least as high, or the name of one that is not.
func covered(least, reserve map[string]*big.Rat) (string, bool) {
	for name, x := range inOrder(least) {
		if own := reserve[name]; own == nil || own.Cmp(x) < 0 {
			return name, false
		}
	}
	return "", true
}
