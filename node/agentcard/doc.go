// Package agentcard makes a node an agent of A2A, the protocol between agents, which
// carries what is signed to it (SPEC §10.1).
//
//	mux.Handle(agentcard.PathCard, h) // h := agentcard.Handler(n)
//	mux.Handle(agentcard.PathRPC, h)
//
//	card.go       the card: who the node is, and that it has the extension
//	activate.go   the headers by which both sides say that the extension is active
//	rpc.go        JSON-RPC: requests, answers, errors
//	serve.go      the two paths, and what becomes of a message
//
// The node answers one method, which A2A 1.0 calls SendMessage and A2A 0.3 message/send.
// A message of A2A has one part of the extension, and in it a signed message or
// invitation of Concordia, which the node takes as if it had come to its relay or its
// inbox: what counts is who signed it. Other parts, other members and the metadata of
// others are not looked at. There are no tasks, and the ids of tasks and contexts mean
// nothing: a message belongs to the session that it names.
//
// The extension is active if the header A2A-Extensions of the request names it. Only an
// answer that is no error echoes it. An error says which rule was broken and repeats
// nothing of the part.
//
// Nothing is authenticated but by signatures, so requests are bounded as those of the
// inbox are, and together with them.
package agentcard
