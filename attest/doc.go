// Package attest makes and verifies the signed artifacts that outlive a session:
// what one party can show to another who was not there (SPEC §9.6, §9.7, §9.9 to
// §9.12, §11.5).
//
//	attestation.go   the reputation attestation, the receipt of a negotiation
//	settlement.go    whether an agreement was honored, said afterwards
//	approval.go      an authority approves or denies one offer
//	revocation.go    something no longer counts; traversal.go: and what depends on it
//	decision.go      a committed refusal because of that
//	mandate.go       somebody may act for somebody; delegation.go: and pass that on
//	predicate.go     an issuer's word that a condition holds
//	cosign.go        a receipt that the counterparty signed
//	envelope.go      evidence for other trust systems
//	bundle.go        an agent's receipts and their sum; competence.go: or proof of them
//	profile.go       what an agent says of itself
//	record.go        any JSON that somebody answers for
//	issue.go         how all of them are made
//
// # Verifying
//
// A [Verifier] holds what the relying party brings: whose keys it believes, the
// time, a [Policy], known revocations. Each kind has a method that returns the
// artifact and a report, check by check:
//
//	f := attest.Verifier{Keys: keys, Now: now}
//	mandate, report := f.VerifyMandate(received, attest.Use{Action: action})
//	if err := report.Err(); err != nil { … }
//
// Artifacts are verified as they were received. Their shape is checked against a
// schema that is part of this program, or by hand where that is faster (ADR 0007);
// everything else is a named check with a rule of its own, so that a conformance
// profile is a list of names.
//
// # Issuing
//
// An [Issuer] is an agent with its key. Each kind has a method that completes a
// draft, signs it and verifies what it made:
//
//	i := attest.Issuer{Agent: id, Key: key, Now: now, Random: rand.Reader}
//	mandate, err := i.Mandate(draft)
//
// An attestation is signed by more than one: a party derives a [Draft] from its
// transcript (package session does), and each party signs the same bytes:
//
//	receipt, err := draft.Value()
//	receipt, err = attest.Countersign(receipt, seller, sellerKey)
//	receipt, err = attest.Countersign(receipt, buyer, buyerKey)
//
// # Trust
//
// An artifact proves what its signers signed. It does not prove that it is the only
// one, nor that they are who they say. Keys come from the caller; a key inside an
// artifact is compared and never believed.
package attest
