// Package reputation says what receipts prove of an agent, as a score that anyone can
// compute again from the same receipts, to the same digit (SPEC §9.6.7).
//
//	evidence.go   what counts: receipts and fulfillments that verified
//	ledger.go     the set of them, and the graph of who dealt with whom
//	score.go      the score, receipt by receipt; figures.go: the figures; flags.go: the concerns
//	circle.go     small groups that deal with each other only
//	query.go      the question of an agent; response.go: the signed answer of a service
//
// An agent is a key. What it is called is for the caller's Keys to say, who also says
// by that whose receipts count at all:
//
//	var known reputation.Ledger
//	e, report := reputation.VerifyReceipt(attest.Verifier{Keys: keys, Now: now}, received)
//	if err := report.Err(); err != nil { … }
//	known.Add(e)
//	score := known.Score(key, now)
//	for _, c := range score.Contributions() { … } // they add up to score.Overall
//
// # What is credited
//
// Only what all parties of a receipt countersigned is evidence, and of a fulfillment
// only what another party of the deal signed. That nobody said a word of the
// fulfillment is neither good nor bad: the score rests on less then, and its confidence
// says so. Evidence counts less with age, and by half with each newer deal with the
// same counterparty, so that one counterparty never counts as more than two deals.
//
// The score is a function of the set of evidence and of the time: in which order it
// came, and how often, makes no difference. All of it is integer arithmetic.
//
// # What it does not show
//
// A key costs nothing. A group of more than MaxCircle keys, or fifty keys that each
// deal once with one other, look like a market: only the verifier's Keys, which decide
// whose signatures count, keep them out. Nor does a ledger show what an agent kept to
// itself. A score is evidence to weigh, not a verdict.
package reputation
