// Package node is one party of negotiations: it holds a key, keeps what it said and
// heard in a directory, and deals with other parties over relays (SPEC §4, §5, §9.3).
//
//	n, err := node.New(node.Options{Dir: dir, Key: key, Keys: wire.DIDKeys{}, Relay: "https://relay.example"})
//	…
//	defer n.Close()
//	view, err := n.Open(ctx, node.Opening{To: []wire.AgentID{buyer}, Body: body})
//
// What can be asked of a node is an [API], which the node itself implements and
// whoever reaches it from another process. It deals in plain data.
//
//	api.go        the interface; data.go: what it deals in; error.go, refuse.go: how it refuses
//	options.go    who the node is, and what its owner lets through
//	node.go       opening and closing
//	disk.go       what is kept; live.go: sessions in memory
//	carrier.go    connections to relays; serve.go: the own relay, and the inbox
//	carried.go    what comes over another protocol
//	take.go       what comes in the log of a session; move.go: what is said
//	attend.go     what the node does without being asked; deadline.go: when time is up
//	join.go       invitations; receipt.go: the receipt that all parties sign
//	contact.go, policy.go, mandate.go   with whom it deals, and how far it goes
//	view.go, notice.go, health.go   what there is to see
//	market.go, mail.go   what the home relay is used for beside sessions
//	mailbox.go, post.go, archive.go   mail: what comes, what is sent and read, what is kept
//	ledger.go, issue.go, report.go   what receipts prove, what is shown of them, and to whom
//	revocation.go   what does not stand any more
//	evidence.go, bridge.go   what is made of sessions
//	adoption.go, efficiency.go   what is done where there are none, and how that compares
//	local*.go     the API for other processes; share.go: one directory, many processes
//
// # One carrier
//
// A session is carried by a relay (RFC 0001), which is its sequencer: a message exists
// once the relay has appended it. With a home relay, that of the initiator carries it.
// Without one, the initiator's node serves a relay of its own, in which nobody else opens
// sessions, and tells the responder by a signed invitation, sent to the inbox that the
// responder's node names at /.well-known/concordia.json.
//
// So there is one way for everything: what a node says it appends at the relay, and it
// takes note of that when it comes back in the log, in order and exactly once, as what
// others say. A message that came second is not signed again: the caller is told what it
// missed, and decides anew.
//
// # Other processes of the owner
//
// [Serve] answers API to other processes on the socket node.sock in the directory, which
// only its owner opens, or where there are no sockets at an address of this machine, with
// a token, which stand in node.address. It is HTTP: POST /v1/NAME with a JSON object, one
// NAME for each method (local.go); [Dial] has a [Remote], which is an API too. What waits
// is held for half a minute and asked again. Refusals are [*Error] on both sides.
//
// Several processes use a directory with [Connect]: whoever locks node.db runs the node
// and serves the others. They watch it by a call that waits, and when it breaks off one
// of them locks node.db and takes over. A call that did not reach the node, or that only
// asks, is made again; any other fails with CodeUnreachable, and a move with an id can be
// repeated.
//
// # On disk
//
//	transcripts.db   the messages of sessions, and receipts (package session/transcript)
//	artifacts.db     receipts and what is issued of them, approvals, mandates (package attest/store)
//	node.db          contacts, sessions, positions in logs, notices, counts, mail and its archives,
//	                 notes of other dealings
//	mail.db          the node's own relay, if it serves one
//
// One process holds a directory. All state is rebuilt from it; a process that is
// killed loses nothing that it acknowledged and does nothing twice.
//
// # Evidence
//
// Receipts of own sessions, and those of others that are shown to the node and verify, are
// evidence. The first question about an agent has the node verify all that is on disk with
// the keys of its contacts, and of ids that are keys; then it is kept up to date in memory
// (package attest/reputation). What a node signs besides messages and receipts it makes
// itself of receipts that stand: bundles, competence proofs, envelopes, responses to
// queries, and reports to providers that the policy names. Each names this agent as who
// says it.
//
// # Trust
//
// A relay is trusted with time and order, an invitation with nothing: who speaks is
// decided by keys, of did:key ids, contacts, or what Options.Keys says. What the other
// side writes is data. Logs have no keys, tokens, terms and reasoning.
package node
