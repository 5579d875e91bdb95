// Package resolve answers whose key is whose for a relying party: from a list of its
// own ([Contacts]) or, asked to, from the web servers that did:web ids name ([Web])
// (SPEC §9.1).
//
//	contacts := new(resolve.Contacts)
//	err := contacts.Add(value) // of a JSON file
//	keys := contacts.Else(new(resolve.Web).Online(ctx))
//	mandate, report := attest.Verifier{Keys: keys, Now: now}.VerifyMandate(…)
//
// A did:key needs no resolver: see [wire.DIDKeys].
//
// # Trust
//
// Contacts are what their owner says, and whom they list they alone answer for. A
// did:web is what the host says that it names: whoever holds that name, or can get a
// certificate for it, is the agent. Nothing is asked unless a Web is put among the
// keys, and then over a client that dials public addresses only.
//
// A key that could not be asked for leaves a check unmade ([wire.Unchecked]), and so
// does a document that does not give one key ([wire.RuleUnknownKey]). Neither ever
// passes.
package resolve
