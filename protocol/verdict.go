package protocol

import (
	"fmt"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An Event is something that happens in a conversation, or is about to.
type Event struct {
	Move
	Doc  wire.Value // what conditions look at; Absent if there is nothing
	Time time.Time  // zero: no clock; no timer fires and no wall budget is used
	Used Used       // what it uses of budgets, beside the call itself

	// Instance says which instance of the protocol the event belongs to, where its
	// document does not: that of a result is the call's. See [Monitors].
	Instance string
}

// Used is what an event uses of budgets.
type Used struct {
	Bytes, Tokens int64
	Money         string // a decimal number; empty: none
	Currency      string
}

// A Kind is what a monitor says about an event.
type Kind string

// The kinds of verdicts.
const (
	Ok           Kind = "ok"           // legal; the state has moved
	Violation    Kind = "violation"    // not legal here
	Blocked      Kind = "blocked"      // nothing is legal, or not now; the reason says why
	Unrecognized Kind = "unrecognized" // the protocol has no such label, or nobody could tell what it is
)

// A Reason says why an event is blocked.
type Reason string

// The reasons. One of a budget continues with a colon and the budget's name.
const (
	Ended     Reason = "ended"     // the conversation is over
	Halted    Reason = "halted"    // after a violation, or too many
	Busy      Reason = "busy"      // a call waits for its result
	OverSpent Reason = "budget"    // a budget does not suffice
	TooMany   Reason = "instances" // more instances than the monitor keeps
)

// A Verdict is a monitor's answer to an event.
type Verdict struct {
	Kind     Kind
	Seq      int // of the event, from 1, whatever the verdict
	From, To State
	Move     Move
	Reason   Reason // of Blocked
	Budget   string // of a reason that is a budget

	Instance string // which one judged; empty: what all have in common

	// What to tell an agent that was refused. Nil of Ok.
	Refusal *Refusal
}

// A Refusal tells what is legal instead.
type Refusal struct {
	Allowed  []Move // by whoever was refused, in the state
	Unlock   []Move // a shortest legal way to where the move is legal, the move at its end; nil if there is none
	Guidance string // of the state
	Tail     []Past // what was last
	Strikes  int64  // so far
}

// Past is an event that was judged.
type Past struct {
	Move
	Kind Kind `json:"kind"`
}

// Error makes an error of a verdict that is not Ok.
func (v Verdict) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s", v.Kind, v.Move.On, v.From)
	if v.Reason != "" {
		fmt.Fprintf(&b, " (%s", v.Reason)
		if v.Budget != "" {
			b.WriteString(":" + v.Budget)
		}
		b.WriteString(")")
	}
	if r := v.Refusal; r != nil {
		if len(r.Allowed) > 0 {
			b.WriteString("; allowed: " + moves(r.Allowed))
		}
		if len(r.Unlock) > 1 {
			b.WriteString("; first: " + moves(r.Unlock[:len(r.Unlock)-1]))
		}
	}
	return b.String()
}

func moves(list []Move) string {
	var all []string
	for _, m := range list {
		all = append(all, string(m.On))
	}
	return strings.Join(all, ", ")
}
