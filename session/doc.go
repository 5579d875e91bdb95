// Package session is the negotiation of SPEC §5: a six-state machine for two or
// more parties, and the receipt that follows from its transcript.
//
// A [Session] is a value. [Session.Apply] returns the one that follows by a
// message; it reads no clock, opens no file and starts no goroutine. Who sequences
// a session must, in this order: admit the message (wire.Chain, which owns the
// rules that depend on now), apply it, append it to the log (package transcript),
// adopt the new Session, deliver.
//
//	chain, s := wire.NewChain(id, 0), session.New(id, nil)
//	if err := chain.Admit(m, now); err != nil { … }   // belongs here, now
//	next, err := s.Apply(m)                           // is a legal move
//	…append m durably…
//	chain.Append(m); s = next
//
// A refused message changes nothing: Apply returns a [*wire.Violation] whose
// cause is a [*Refusal] with the state and the moves that are legal instead.
//
// # Two kinds of rule
//
// Admission (session, new id, prev_hash, clock) is decided once, by the
// sequencer, when a message arrives. Everything here is a function of the
// admitted log alone, so a log that one honest party could replay, every honest
// party can, with the same result.
//
// # Trust
//
// Apply takes a wire.Message, which exists only with a verified signature. The
// package decides nothing by reasoning or labels, only by signed bodies.
package session
