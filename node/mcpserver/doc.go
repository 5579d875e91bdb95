// Package mcpserver offers a node to one agent as an MCP server: the agent negotiates
// with its own key by calling tools (SPEC §10.2, RFC 0003).
//
//	s, err := mcpserver.New(api, mcpserver.Options{Menu: menu.Auto})
//	…
//	err = s.Run(ctx, transport)
//
// The server asks a [node.API] and nothing else, so that several servers can share the
// directory of a node. It never plays the other party and has no key in its hands.
//
//	tool.go       what a tool is: one table makes schemas, checks arguments, registers
//	server.go     a connection; answered.go: how it ends; menu.go: which tools it is shown; flow.go: which are legal
//	refuse.go     how a call is refused; show.go: how the words of others are shown
//	message.go    what a message is, the same for every reader; lines.go: standard input and output
//	http.go       many connections, over HTTP; admit.go: who may ask; asking.go: who has hung up; clients.go: what is learned of clients
//	view.go       a session as results have it
//	open.go, offer.go, answer.go, talk.go, invite.go, wait.go, lookup.go,
//	authority.go, verify.go, negotiate.go, mail.go, adoption.go, bridge.go   the tools, by what they are about
//	market.go     what the tools of a market share: entry.go, directory.go, profile.go, discovery.go
//	reputation.go, issue.go   what receipts prove of agents, and what an agent shows of its own
//	resource.go, mailresource.go   what was said and issued, as it was signed; guide.go: prompts
//
// # Tools
//
// A tool is an entry of a table: a file adds its own with one function that returns them.
// Arguments are parsed strictly, and members that a tool does not have are refused before
// anything else. A result is a JSON object, as structured content and as text. A refusal
// is a result, too, with isError: error says in words what is wrong, code, section, rule,
// pointer say it for programs, state and legal_moves what would be right, and path is a
// shortest way to where the call is legal.
//
// # Which tools are shown
//
// The tools that make moves are a protocol (flow.go), whose menus package menu makes.
// What is shown is a courtesy: each call is judged by the node, whatever was listed.
//
// # The words of others
//
// Whatever another party may have written stands in results under external and nowhere
// else: cut to a bound, with what cannot be seen made visible. It never comes into errors
// and descriptions. What was signed stays as it is, and is read as a resource. Ids are
// shown as they are: they have no spaces and nothing invisible in them (SPEC §4.1).
package mcpserver
