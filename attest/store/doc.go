// Package store keeps receipts and other signed artifacts in a database on disk,
// finds them again, and says where they contradict each other (SPEC §9.6, §11.5).
//
// It takes in what has been verified: [Store.Add] is given each artifact with the
// report of its verification and refuses what failed. What could not be checked,
// for want of a key, is refused too unless the caller asks for it, and then is
// marked unverified until it is added again with a report that passed. The store
// keeps artifacts as they were received, and under the hash of their canonical
// bytes, so that adding one again changes nothing.
//
// What a listing says depends on what is stored, never on the order in which it
// came or on what was deleted again. Flags are derived when they are read.
//
// # Versions
//
// A receipt collects signatures after it was made: of witnesses, of a party that
// confirms fulfillment. Receipts that are equal in what every party signs (SPEC
// §9.6.5a) are versions of one, and no contradiction; all are kept, and those that
// have fewer signatures point at the fullest. Of other kinds, versions differ in
// their signature only.
//
// # Conflicts
//
// Ids of artifacts and sessions are chosen by those who make them, so that anybody
// can take one that is in use. A conflict is therefore somebody's word against
// their own, and names whose: artifacts with one id that the same agent signed, and
// receipts of one session that the same agent signed. What an agent did not sign
// cannot put its artifacts in conflict. An agent that did is free to sign another
// one with others: then both are flagged, with that agent's name.
//
// Two receipts of a session are no conflict if one supersedes the other (SPEC
// §11.5.6), be it by way of others that are stored. It has to be signed by all
// parties of what it supersedes: none of them is bound by what the others give up.
// Of more than [MaxRivals] receipts of a session nobody looks at the order.
//
// Unverified artifacts take no part in this, as anybody can have made them.
//
// # Layout
//
// One bbolt file with two buckets. artifacts/1 holds, by hash, a header (a checksum
// of the header, whether it is unverified, when it was stored, its kind) and the
// canonical text; a text that has not its hash is damaged. index/1 holds keys
// without values, a letter, the hash of what is looked up and a tail. The tail is a
// position, time and hash of an artifact, for the letters of a filter; a core, the
// hash of what versions share, for claims; and the order of versions for those.
package store

// BUG(store): Agents are told apart by their ids, in either spelling of a did:key. One
// that signs under two ids with one key does not contradict itself here.

// BUG(store): Claims of a damaged artifact that is deleted stay in the index. They count
// for nothing.
