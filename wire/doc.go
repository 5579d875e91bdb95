// Package wire is the ground under every Concordia artifact: strict JSON,
// canonical JSON, hashes, keys and signatures, the message envelope and the
// hash chain (SPEC §4, §9.1-§9.3).
//
// Bytes from outside become a [Value] by [Parse], the one door: it refuses what
// two readers could understand differently and keeps the text in canonical form
// (RFC 8785), so that a value, its hash and its signing preimage are slices of
// the same bytes and nothing is ever verified after being rebuilt.
//
//	u, err := wire.ParseMessage(data)         // shape only: an UnverifiedMessage
//	m, err := u.Verify(keys)                  // signature and key: a Message
//	err = chain.Admit(m, time.Now())          // session, new id, prev_hash, clock
//	chain.Append(m)
//
// # Rules
//
// Whatever can be wrong with the other side's data is a [Rule] of the
// specification, and a refusal is a [*Violation] that names the rule and the
// place (RFC 6901). Anything else that goes wrong is an ordinary wrapped error.
// Texts are for people and may change; section, name and class of a rule do not.
//
// # Trust
//
// Keys come from the caller, never from the artifact: there is no default
// resolver. Every [PublicKey] has passed the gate of SPEC §9.1: canonical
// encoding and not of small order.
//
// The package reads no clock, draws no random numbers and does no input or
// output.
package wire
