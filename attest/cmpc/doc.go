// Package cmpc verifies the artifacts of chain sessions, in which several parties
// commit under one condition and all commitments take effect together or not at
// all (SPEC §9.11): [ConditionalCommitment], [ClosurePredicate],
// [AtomicActivationProof], [UnwindRecord] and [ChainSession].
//
// A host collects commitments, verifies each, and asks whether they satisfy the
// closure predicate:
//
//	p, report := f.VerifyClosurePredicate(value, session, cmpc.ClosureSigned())
//	result := p.Evaluate(commitments, now)
//
// If they do, it signs an activation proof, and [ChainSession.CheckTransition]
// says whether the session may go on.
//
// # Trust
//
// [Evaluate] believes what it is given. It verifies no commitment and no
// predicate: that is for the caller to do before. A chain session is signed by
// nobody; whoever takes one from somebody else verifies what its ids stand for.
package cmpc
