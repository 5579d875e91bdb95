package prove

import (
	"slices"

	"github.com/concordia-node/concordia/protocol"
)

// Groups say which roles a role stands for, as "any party" for each of the parties.
type Groups map[protocol.Role][]protocol.Role

// Project returns the protocol of one role: what it causes itself its agent does, what
// others cause its environment does. A role that stands for several is whoever of them.
// Everybody sees everything. Of the terms, nothing is left out.
func Project(global *protocol.Automaton, role protocol.Role, groups Groups) *protocol.Automaton {
	local := *global
	local.Name = global.Name + ": " + string(role)
	local.Transitions = nil
	for _, t := range global.Transitions {
		members := groups[t.By]
		if members == nil {
			members = []protocol.Role{t.By}
		}
		if t.By == protocol.Clock {
			local.Transitions = append(local.Transitions, t)
			continue
		}
		if slices.Contains(members, role) {
			t.By = protocol.Agent
			local.Transitions = append(local.Transitions, t)
		}
		if slices.ContainsFunc(members, func(r protocol.Role) bool { return r != role }) {
			t.By = protocol.Environment
			local.Transitions = append(local.Transitions, t)
		}
	}
	return &local
}

// Roles returns who causes something in a protocol, in order, groups by their members.
func Roles(global *protocol.Automaton, groups Groups) (roles []protocol.Role) {
	for _, t := range global.Transitions {
		members := groups[t.By]
		if members == nil {
			members = []protocol.Role{t.By}
		}
		for _, r := range members {
			if r != protocol.Clock {
				roles = append(roles, r)
			}
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// Dual returns the protocol of the other side: what the agent did its environment does,
// and what the environment did its agent. The clock is the same for both. Terms are
// demands on one side, and not part of it.
func Dual(a *protocol.Automaton) *protocol.Automaton {
	other := *a
	other.Name = "the other side of " + a.Name
	other.Terms, other.Budgets = nil, nil
	other.Transitions = slices.Clone(a.Transitions)
	for i := range other.Transitions {
		switch t := &other.Transitions[i]; t.By {
		case protocol.Agent:
			t.By = protocol.Environment
		case protocol.Environment:
			t.By = protocol.Agent
		}
	}
	return &other
}

// Compatible reports whether two sides can talk to each other: nil if whatever the agent
// of one does, the other expects, and both end together; or a shortest run of a for
// which that is not so. Each side has the other's roles: the agent of one is the
// environment of the other. It fails if b has no other side that compiles.
func Compatible(a, b *protocol.Compiled) (*Counterexample, error) {
	dual, err := protocol.Compile(Dual(b.Automaton()))
	if err != nil {
		return nil, err
	}
	return Refines(a, dual), nil
}
