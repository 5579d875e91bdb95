// Package source reads protocols as people write them, and compiles them to automata
// (package protocol). There are two forms, and a third in Go; what means the same in any
// of them has the same digest. Every fault is an [*Error] with a line and a column.
//
// # The text form
//
//	!Search.?Results.rec Ask.!Show.?{Yes.!Book.?Booked, No, Unrecognized.Ask}
//
// "!" is what the agent does, "?" what happens to it, "." goes on, braces choose, rec
// names a place to come back to. "end" is nothing: it may stand anywhere, and what has
// come to the end of the text has ended well. A branch goes on with what follows the
// choice. The grammar is llmcontract's; with [Options].Strict it is nothing else, and
// without it labels may be quoted, "#" begins a comment, and "@Name" stands for a
// fragment that the caller provides.
//
// What an automaton cannot do is refused and not compiled to something else: a variable
// that something follows (the automaton would have to count), one that nothing binds,
// and a recursion in which nothing happens. [Print] writes an automaton back.
//
// Options.Bind says which events labels stand for: "Book": "call book_flight",
// "Booked": "ret book_flight ok", "Yes": "hear /^yes/".
//
// # The document form
//
// A document is YAML, of version 1.2 and with nothing that JSON does not have, or JSON.
// examples/protocols has some.
//
//	protocol: concordia.protocol/1
//	id, version, title, extends, pressure: TEXT
//	roles: [ROLE…]                       # beside agent, environment and clock
//	tools: {TOOL: {effect: read|write|irreversible, approval: A, idempotency: POINTER, probe: TOOL}, "*": deny}
//	approvals: {A: {by: [AGENT…], ttl: 10m, uses: 1, assurance: client|key, bind: [instance, state, session],
//	            when: CONDITION, amount: {value: POINTER, currency: POINTER}, show: [POINTER…]}}
//	captures: {C: {from: EVENT, at: POINTER, each: EXPRESSION}}
//	timers: {T: {after: 24h, in: STATE, to: STATE}}
//	budgets: {calls, result_bytes, tokens: N, wall: 30m, money: {USD: "500.00"}, strikes: N,
//	          reserve: {for: [TOOL…], calls: N, …}}
//	instances: {key: POINTER, scope: [TOOL…]}
//	invariants: [{precedes: {first, then: LABEL, each: true}}, {at_most: {label, n}}, {never_after: {label, after}},
//	             {requires: {label}}, {between: {label, from, to}}]
//	unrecognized: block|pass|pass-if-read
//	initial: STATE
//	states:
//	  STATE:
//	    allow: [TOOL, {tool: TOOL, when: CONDITION, if: GUARD}]
//	    on: [{ret: TOOL, outcome: ok, when: CONDITION, if: GUARD, to: STATE|stay|refuse, else: STATE|stay|refuse}]
//	    parallel: read
//	    budget: {calls: N, …}
//	    guidance, public: TEXT
//	    end: success|failure|abandoned
//
// A rule of "on" is about one of ret, hear, answer, signal, say, handoff, timer, ask,
// grant, deny, expire, or event, which is a label as it is and needs "by". Instead of
// initial and states there may be dsl, a text form, with bind and polarity.
//
// A condition is {POINTER: {TEST: VALUE…}…}, all of which hold. The tests are exists,
// absent, type, eq, ne, in, not_in, lt, le, gt, ge, is_null, len (of arrays), matches,
// not_matches, eq_capture, ne_capture, in_capture. A pointer goes on inside a text that
// is JSON after a "#". What is not there is neither equal nor unequal to anything. Of
// several rules for one event, the first that holds counts.
//
// # What a state becomes
//
// A state Q that allows a tool T becomes several, which are parts of it:
//
//   - Q·T, in which a call waits for its result. Rules about results apply here. A
//     result without a rule leads back to Q, but that of an irreversible call of which
//     nobody knows what became stays: it is in doubt until another result settles it.
//   - If T only reads, Q has "parallel: read" and no rule is about its result, calls of T
//     move nothing, in Q and in its parts, and their results are let through wherever
//     they arrive.
//   - If T needs an approval A, the calls that A covers are refused in Q. ask:A leads to
//     Q·T·ask, where grant:A leads to Q·T·go, and deny:A or expire:A back to Q, or where
//     rules say. In Q·T·go the call is legal; whatever leads away forfeits the grant.
//   - Rules about other events apply in Q, Q·T·ask and Q·T·go; "stay" stays there. A
//     timer without "in" leads from all states and parts that are no ends.
package source
