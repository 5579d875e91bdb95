package node

import (
	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// A Code says what kind of refusal an [Error] is. Codes are interface: they are added,
// never changed.
type Code string

// The codes.
const (
	CodeDenied      Code = "denied"      // only the owner of the node is answered
	CodeBadRequest  Code = "bad_request" // what was asked for makes no sense
	CodeNotFound    Code = "not_found"   // there is no such session, invitation, contact or receipt
	CodeRule        Code = "rule"        // it breaks a rule: of the session, or of an artifact
	CodeConflict    Code = "conflict"    // another message came first: Missed
	CodeNeeds       Code = "needs"       // the policy asks for an approval or a mandate first: Needs
	CodePolicy      Code = "policy"      // the policy does not let it through
	CodeNotAgreed   Code = "not_agreed"  // the session has no agreement, or no end yet
	CodeEnded       Code = "ended"       // the relay takes nothing more for the session
	CodeRefused     Code = "refused"     // the relay or the node refuses: too many, too large, too fast
	CodeTaken       Code = "taken"       // something else has the id
	CodeNoMarket    Code = "no_market"   // there is no home relay, or it has no market
	CodeMisconduct  Code = "misconduct"  // the relay of the session has misbehaved: nothing goes on there; or its market
	CodeUnreachable Code = "unreachable" // nobody answered: it can be tried again
	CodeClosed      Code = "closed"      // the node is stopping
	CodeInternal    Code = "internal"    // the node could not: its log says why
)

// An Error is why a node did not do what was asked of it. Its text and members have no
// terms, keys, tokens or reasoning in them.
type Error struct {
	Code    Code               `json:"code"`
	Message string             `json:"message"`
	Rule    *RuleView          `json:"rule,omitempty"`        // of CodeRule
	State   protocol.State     `json:"state,omitempty"`       // of the session
	Moves   []wire.MessageType `json:"legal_moves,omitempty"` // in place of the one that was refused
	Needs   []Need             `json:"needs,omitempty"`       // of CodeNeeds
	Missed  []wire.Value       `json:"missed,omitempty"`      // of CodeConflict: messages that came first, and were taken note of
	Tip     wire.Hash          `json:"tip,omitzero"`          // of CodeConflict

	Limit      string `json:"limit,omitempty"`       // of CodeRefused: the published limit of the relay that was exceeded
	RetryAfter int    `json:"retry_after,omitempty"` // seconds until it makes sense to try again

	err error
}

// A RuleView names a broken rule.
type RuleView struct {
	Section string     `json:"section"`
	Name    string     `json:"name"`
	Class   wire.Class `json:"class"`
	At      string     `json:"at,omitempty"` // JSON pointer
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, for errors.Is and errors.AsType. It is nil in another
// process than the node's.
func (e *Error) Unwrap() error { return e.err }
