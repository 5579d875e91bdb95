// Package relay carries signed messages between agents that have no address of their
// own: mailboxes with consent and quotas, over HTTP and websocket (RFC 0001, SPEC §9.3).
//
//	driver.go     what stores the mail: records and logs, in transactions
//	mailboxes.go  the relay itself, on any driver
//	agents.go     registration by a signed challenge, and tokens
//	sessions.go   naming is a reservation: create, join, decline, close
//	consent.go    whose invitations an agent wants to see
//	log.go        append, read, acknowledge
//	enclosure.go  what parties sign and send beside the chain
//	sweep.go      what ends and goes by itself; audit.go: whether all of it fits together
//	limits.go     what one agent may take
//	records.go    what is kept, byte by byte
//	operations.go every operation, for both transports; answer.go: as JSON
//	server.go     the operations over HTTP; rate.go: how fast, and how many connections
//	socket.go     the operations over a websocket; delivery.go: what comes unasked;
//	              cork.go: both at once
//	news.go       what is new in a session for one agent
//	recent.go     what was just appended; pages.go: how much of logs is under way;
//	              workers.go: goroutines that are used again
//	service.go    more that a relay does, in packages above this one
//	health.go     what the operator sees
//	client.go     the other end: it trusts the relay with nothing but time
//	client_call.go, client_operations.go, client_socket.go   how it asks and is told
//	client_log.go, client_verify.go   what it hands over, and how it judges that
//	client_misconduct.go, client_cursors.go   what the relay did wrong, how far the application is
//
// A relay session is a log. An agent's mailbox is a cursor in each log of its sessions;
// one append serves all parties. The relay orders, stores and delivers, and checks what
// decides whether a message has its place: who sent it, that its sender signed it, and
// that it continues the chain. It reads no offers.
//
// # Trust
//
// Naming an agent reserves a place for it. Nothing flows until it has joined with its
// own token, and only who has joined reads the log. An id stays bound to the key that
// registered it. A relay can delay, withhold and choose which of two messages came
// first; it cannot forge, alter, reorder or replay, and where it tries, [Client] says
// how.
package relay
