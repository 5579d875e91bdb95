// Package protocol describes who may do what when, as a finite automaton: states,
// and transitions labelled with an event, the role that causes it and the
// condition under which it is taken (SPEC §5.2). It decides about protocols, and it
// follows conversations.
//
// An [Automaton] is data. The same value prints as the table of the specification and
// as a graph, so that what is documented is what runs. [Compile] makes for each state
// and move one [Decision], which is reduced and ordered, so that questions about
// conditions have exact answers and [Compiled.Digest] is one for all automata that do
// the same.
//
// # Labels
//
// What an agent does and what happens to it has labels of one form: call:TOOL and
// ret:TOOL:OUTCOME, ask:APPROVAL and grant:, deny:, expire:APPROVAL, hear:L for what a
// user said, hear:text for any of it, say:L, answer:L for a structured answer, signal:L
// from whoever runs the agent, handoff:L, timer:NAME. Others are plain. The document of a
// call and of what asks for one is {"tool": …, "arguments": …}, that of a result what the
// tool returned, that of what was said {"text": …}.
//
// # Monitors
//
// A [Monitor] judges one event after the other, a [Verdict] each: Ok, Violation, Blocked
// or Unrecognized. A refusal says what is legal, and a shortest way to where the event
// would be. [Terms] beside the order of events are budgets, captures, timers. [Monitors]
// keep a conversation for each instance, such as an order. Both are functions of the
// events alone: who replays them, or goes on from a snapshot, comes to the same state.
//
// Neither takes locks. Who has several goroutines holds one lock for a conversation with
// all its instances around Step and what depends on the verdict: a call that was judged
// legal is legal only until the next event.
package protocol
