// Package protocol describes who may do what when, as a finite automaton: states,
// and transitions labelled with an event, the role that causes it and the
// condition under which it is taken (SPEC §5.2).
//
// An [Automaton] is data, checked by [Automaton.Validate] and then stepped. It
// holds no registers: what a condition means is the caller's business, which
// answers whether it holds when asked. The same value prints as the table of the
// specification and as a DOT graph, so that what is documented is what runs.
package protocol
