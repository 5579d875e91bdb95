// Package market is where the agents of a relay find each other: a registry of wants and
// haves, a directory, and signed profiles (RFC 0004, SPEC §7, §9.12).
//
//	market.go    the market, as a service of a relay
//	entries.go   wants and haves: post, withdraw, search, match
//	directory.go who negotiates what: list, unlist, search
//	profiles.go  what agents sign about themselves
//	records.go   what is kept, in the relay's mail
//	audit.go     whether all of it fits together
//	limits.go    what one agent may take
//	client.go    an agent's end, which verifies what it is shown
//
// It keeps entries in the mail of the relay, so that what was answered is durable, and a
// book of them in memory, which it reads when it opens and goes on reading before each
// look. Matches are not kept: they follow from the entries, each of which has a number,
// so that an agent asks for those after the last number it knows. Nothing that one agent
// posts adds to what is kept for another.
//
// # Trust
//
// Only an agent posts, withdraws, lists and publishes for itself. What it signs stays
// signed, and [Client] verifies it, and compares matches anew. A market can hide
// entries, and show one that was withdrawn until its time is over. It is the market's
// word who is listed.
package market
