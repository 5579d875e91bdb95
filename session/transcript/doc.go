// Package transcript keeps the messages and receipts of sessions in an
// append-only log on disk (SPEC §9.3).
//
// An append is a compare-and-append: it succeeds only for a message whose
// prev_hash is the hash of the session's last message, so of many appends to one
// tip exactly one wins and the others are told what they missed. It returns once
// the message is on disk; what it acknowledged survives a crash.
//
// The store keeps the messages as they were received and gives them back as
// values, unverified: a file is outside input. It imports no session rules.
//
// # Layout
//
// One bbolt file. The bucket log holds every message under a sequence number of
// the whole store, so that appends go to one end of the tree; chain maps session
// and position to that number; ids finds a message by its id; heads holds the end
// of each session; receipts holds signed receipts by session and id.
package transcript
