package source

import (
	"time"

	"github.com/concordia-node/concordia/protocol"
)

// Format is what the member "protocol" of a document says.
const Format = "concordia.protocol/1"

// Targets that are no states.
const (
	Stay   protocol.State = "stay"   // where the event happens
	Refuse protocol.State = "refuse" // the event is refused as if there were no rule
)

// A Document is the document form of a protocol: what YAML and JSON are read into, and
// what a program writes as a literal. [Document.Compile] makes the same automaton of
// both.
type Document struct {
	ID, Version string
	Title       string
	Extends     string
	Pressure    string

	Roles        []protocol.Role // beside agent, environment and clock
	Tools        map[string]protocol.Tool
	Approvals    map[string]protocol.Approval
	Captures     map[string]Capture
	Timers       map[string]Timer
	Budget       protocol.Budget
	Reserve      protocol.Budget
	ReserveFor   []string // tools
	Instance     *protocol.Instance
	Invariants   []protocol.Invariant
	Unrecognized protocol.Policy

	Initial protocol.State
	States  []State

	// DSL is the text form of the states, in place of Initial and States; Bind and
	// Polarity are those of [Options].
	DSL      string
	Bind     map[string]string
	Polarity Polarity

	text    *text
	places  map[string]protocol.Place // of a key, or of a key and a name in it
	include func(string) (string, error)
}

// at returns where a key was written, or a name in it.
func (d *Document) at(key, name string) protocol.Place { return d.places[key+" "+name] }

// A Capture is a value that an event brings.
type Capture struct {
	From string // an event in words, such as "ret quote ok"
	At   protocol.Pointer
	Each string // see protocol.Capture

	place protocol.Place
}

// A Timer fires by itself.
type Timer struct {
	After time.Duration
	In    protocol.State // counted from entering this state; empty: from the beginning
	To    protocol.State // where it leads from the state, or from all that are no ends; empty: where rules say

	place protocol.Place
}

// A State says what may be done and what happens then.
type State struct {
	Name     protocol.State
	Allow    []Allow
	On       []Rule
	Parallel bool // calls that only read may overlap with each other and with others
	Budget   protocol.Budget
	Guidance string // what to tell an agent that is refused
	Public   string // what the state is called outside
	End      protocol.End

	place protocol.Place
}

// An Allow says that a tool may be called.
type Allow struct {
	Tool string
	When protocol.Condition // on {"tool": …, "arguments": …}
	If   protocol.Guard

	place protocol.Place
}

// A Rule says where an event leads. Of several with one event, the first that holds
// counts.
type Rule struct {
	On   string        // an event in words, such as "ret quote ok", "hear yes", "timer idle", "event negotiate.offer"
	By   protocol.Role // of "event" only, which has no role by itself
	When protocol.Condition
	If   protocol.Guard
	To   protocol.State // or Stay, or Refuse

	place protocol.Place
}

// ParseDocument reads the document form: JSON if it begins with a brace, else YAML. All
// faults that are found are joined, each an [*Error].
func ParseDocument(content string, opts *Options) (*Protocol, error) {
	if opts == nil {
		opts = &Options{}
	}
	d, err := DecodeDocument(content, opts)
	if err != nil {
		return nil, err
	}
	return d.Compile()
}

// IsDocument reports whether a text is in the document form rather than in the text
// form: whether it begins with a brace or has a line that begins with "protocol:".
func IsDocument(content string) bool { return documentRE.MatchString(content) }

// Parse reads either form.
func Parse(content string, opts *Options) (*Protocol, error) {
	if IsDocument(content) {
		return ParseDocument(content, opts)
	}
	return ParseDSL(content, opts)
}
