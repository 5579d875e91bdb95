// Package attest makes and verifies the signed artifacts that outlive a session.
// So far that is the reputation attestation, the receipt of a negotiation: who
// took part, how it ended and how each behaved, without a word of the deal (SPEC
// §9.6, §9.7, §11.5).
//
// A party derives a [Draft] from its transcript (package session does), and each
// party signs the same bytes:
//
//	receipt, err := draft.Value()
//	receipt, err = attest.Countersign(receipt, seller, sellerKey)
//	receipt, err = attest.Countersign(receipt, buyer, buyerKey)
//
// Whoever gets it verifies it without a transcript and without a network:
//
//	f := attest.Verifier{Keys: keys, Now: now}
//	a, report := f.VerifyAttestation(receipt)
//
// # Trust
//
// An attestation proves what all its parties signed. It does not prove that it is
// the only one, nor that the parties are who they say. Keys come from the caller.
package attest
