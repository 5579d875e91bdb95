package protocol

import "time"

// Terms are what a protocol demands beside the order of events. They are part of its
// digest.
type Terms struct {
	Tools        map[string]Tool     `json:"tools,omitempty"`
	Approvals    map[string]Approval `json:"approvals,omitempty"`
	Captures     map[string]Capture  `json:"captures,omitempty"`
	Timers       map[string]Timer    `json:"timers,omitempty"`
	Budget       Budget              `json:"budget,omitzero"`       // of the whole conversation
	Reserve      Budget              `json:"reserve,omitzero"`      // of that, what is kept back
	ReserveFor   []string            `json:"reserve_for,omitempty"` // for these tools, which end a conversation well
	Instance     *Instance           `json:"instance,omitempty"`
	Invariants   []Invariant         `json:"invariants,omitempty"`
	Unrecognized Policy              `json:"unrecognized,omitempty"` // what happens to events that no label fits; empty: Block
}

// An Effect is what a tool does to the world.
type Effect string

// The effects, from least to most.
const (
	Reads        Effect = "read"
	Writes       Effect = "write"        // and what it wrote can be undone
	Irreversible Effect = "irreversible" // and nothing undoes it
)

// A Tool is what is known of a tool, whatever the state.
type Tool struct {
	Effect      Effect  `json:"effect,omitempty"`      // empty: Writes
	Approval    string  `json:"approval,omitempty"`    // the approval that a call needs
	Idempotency Pointer `json:"idempotency,omitempty"` // to the argument that makes a repeated call the same call
	Probe       string  `json:"probe,omitempty"`       // the tool that tells what became of a call without a result
}

// An Approval is somebody's consent to one call.
type Approval struct {
	By        []string      `json:"by,omitempty"`        // who may approve; ids of agents
	TTL       time.Duration `json:"ttl,omitempty"`       // from when it was given
	Uses      int           `json:"uses,omitempty"`      // zero: one
	Assurance string        `json:"assurance,omitempty"` // "client", or "key": signed with a key that the approver holds
	Bind      []string      `json:"bind,omitempty"`      // what it is bound to besides the tool and its arguments: "instance", "state", "session"
	When      Condition     `json:"when,omitempty"`      // which calls need it; empty: all
	Amount    Pointer       `json:"amount,omitempty"`
	Currency  Pointer       `json:"currency,omitempty"`
	Show      []Pointer     `json:"show,omitempty"` // what the approver is shown; no part of the digest
}

// A Capture is a value that an event brings and later conditions compare with.
type Capture struct {
	On Label   `json:"on"`
	At Pointer `json:"at"`

	// Each takes a list out of the text at At: what the one group of this RE2 expression
	// matches, each time that it does. Empty: the value as it is.
	Each string `json:"each,omitempty"`
}

// A Timer fires by itself.
type Timer struct {
	After time.Duration `json:"after"`
	In    State         `json:"in,omitempty"` // counted from entering this state; empty: from the beginning
}

// A Budget is what may be used. A nil map or a zero is no limit.
type Budget struct {
	Calls   int64             `json:"calls,omitempty"`
	Bytes   int64             `json:"bytes,omitempty"`  // of results
	Tokens  int64             `json:"tokens,omitempty"` // as they are reported, or estimated
	Wall    time.Duration     `json:"wall,omitempty"`
	Money   map[string]string `json:"money,omitempty"`   // by currency, a decimal number
	Strikes int64             `json:"strikes,omitempty"` // refused events, then the conversation halts
}

// An Instance says that each value of an argument has a conversation of its own.
type Instance struct {
	Key   Pointer  `json:"key"`
	Scope []string `json:"scope,omitempty"` // tools that have the argument
}

// A Policy is what happens to an event that no label of the protocol fits.
type Policy string

// The policies.
const (
	Block      Policy = "block"
	Pass       Policy = "pass"
	PassIfRead Policy = "pass-if-read"
)

// An Invariant is a property of every run, which is proven when a protocol is loaded.
type Invariant struct {
	Precedes   *Precedes   `json:"precedes,omitempty"`
	AtMost     *AtMost     `json:"at_most,omitempty"`
	NeverAfter *NeverAfter `json:"never_after,omitempty"`
	Requires   *Requires   `json:"requires,omitempty"`
	Between    *Between    `json:"between,omitempty"`
}

// Precedes says that Then happens only after First; with Each, after a First of its own.
type Precedes struct {
	First Label `json:"first"`
	Then  Label `json:"then"`
	Each  bool  `json:"each,omitempty"`
}

// AtMost says that the label happens at most N times.
type AtMost struct {
	Label Label  `json:"label"`
	N     int    `json:"n"`
	Per   string `json:"per,omitempty"` // "instance" is the only one, and says what is so anyway
}

// NeverAfter says that the label does not happen after another has.
type NeverAfter struct {
	Label Label `json:"label"`
	After Label `json:"after"`
}

// Requires says that no run ends in Success without the label.
type Requires struct {
	Label Label `json:"label"`
}

// Between says that the label happens only after From, and not after To has happened since.
type Between struct {
	Label Label `json:"label"`
	From  Label `json:"from"`
	To    Label `json:"to"`
}
