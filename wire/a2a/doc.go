// Package a2a carries messages as data parts of A2A, the protocol between agents
// that Concordia's extension of it can be spoken over (SPEC §10.1).
//
// The extension is off unless both sides said so: [Read] takes the list of active
// extensions and refuses everything without it. What A2A says about its tasks has
// no part in a negotiation; a message belongs to the session that it names.
package a2a
