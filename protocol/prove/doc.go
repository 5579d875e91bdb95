// Package prove says what holds of every run of a protocol, before it runs (SPEC
// §5.2).
//
// [Check] finds states that cannot be reached or left, conditions that never decide,
// calls without a fresh approval, invariants that some run breaks, budgets that suffice
// for no run. Each is a search in the product of the automaton with a small one that
// watches for what must not happen, so that a finding comes with a shortest run that
// shows it, with documents, which a monitor replays ([Replay]).
//
// [Refines] says whether one protocol may stand in for another: its agent does no more,
// and bears no less. That is subtyping of session types, for messages that are not
// reordered: a search of pairs of states, in which the conditions of both are compared
// exactly. What does not refine comes with a shortest run that the other protocol does
// not have. [Compatible] asks the same of two sides of a conversation, which [Project]
// makes of a protocol with roles.
//
// Guards, captures and expressions are opaque: everything is decided for whatever they
// answer, and a run that needs an answer says so ([Step.Assumes]). What a run is worth
// beyond the order of events, such as the truth of a document, is not judged.
package prove
