package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// The local API is [API] for other processes of the node's owner, over HTTP on a
// socket in the node's directory. An operation is POST /v1/NAME with a JSON object that
// has the arguments; 200 comes with the result as JSON, and 204 when wait has nothing to
// tell yet: ask again. A refusal is {"error": Error} with another status. Objects with
// members that the operation does not know are refused.
const localPrefix = "/v1/"

// longPoll is how long an operation that waits is held before its caller has to ask
// again.
const longPoll = 30 * time.Second

// maxAnswer bounds what a caller reads: more than any operation returns.
const maxAnswer = 4 * wire.MaxDocumentSize

// An operation is a method of API in the local API.
type operation struct {
	name  string
	waits bool // it is held up to longPoll
	reads bool // it changes nothing: it may be asked again when the answer was lost
	do    func(ctx context.Context, api API, in []byte) (any, error)
}

// takes makes an operation of a function with typed arguments.
func takes[In, Out any](name string, do func(context.Context, API, In) (Out, error)) *operation {
	return &operation{name: name, do: func(ctx context.Context, api API, text []byte) (any, error) {
		var in In
		if err := json.Unmarshal(text, &in, json.RejectUnknownMembers(true)); err != nil {
			// What the reader says of it may repeat what was sent.
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("the arguments of %s do not have the members or types that it takes", name), err: err}
		}
		return do(ctx, api, in)
	}}
}

// asks is takes for what only asks.
func asks[In, Out any](name string, do func(context.Context, API, In) (Out, error)) *operation {
	o := takes(name, do)
	o.reads = true
	return o
}

// waits is asks for what waits.
func waits[In, Out any](name string, do func(context.Context, API, In) (Out, error)) *operation {
	o := asks(name, do)
	o.waits = true
	return o
}

// The arguments of operations.
type (
	nothing   struct{}
	ofSession struct {
		Session wire.SessionID `json:"session_id"`
	}
	invitationArgs struct {
		Session wire.SessionID `json:"session_id"`
		To      wire.AgentID   `json:"to"`
	}
	invitedArgs struct {
		Invitation wire.Value `json:"invitation"`
	}
	presentArgs struct {
		Session  wire.SessionID `json:"session_id"`
		Artifact wire.Value     `json:"artifact"`
	}
	waitArgs struct {
		Session wire.SessionID `json:"session_id"`
		Version uint64         `json:"version"`
	}
	messagesArgs struct {
		Session wire.SessionID `json:"session_id"`
		From    int            `json:"from"`
		Most    int            `json:"most"`
	}
	exportArgs struct {
		Session wire.SessionID `json:"session_id"`
		As      session.Format `json:"as"`
	}
	noticesArgs struct {
		After uint64 `json:"after"`
		Most  int    `json:"most"`
	}
	ofAgent struct {
		Agent wire.AgentID `json:"agent_id"`
	}
	approveArgs struct {
		Artifact wire.Value `json:"artifact"`
	}
)

// done is the result of what has none.
func done(err error) (nothing, error) { return nothing{}, err }

// The operations, in the order of API.
var (
	opSelf = asks("self", func(ctx context.Context, api API, _ nothing) (Self, error) { return api.Self(ctx) })
	opOpen = takes("open", func(ctx context.Context, api API, o Opening) (View, error) { return api.Open(ctx, o) })

	opInvitation = asks("invitation", func(ctx context.Context, api API, in invitationArgs) (wire.Value, error) {
		return api.Invitation(ctx, in.Session, in.To)
	})
	opInvited = takes("invited", func(ctx context.Context, api API, in invitedArgs) (Invitation, error) {
		return api.Invited(ctx, in.Invitation)
	})
	opInvitations = asks("invitations", func(ctx context.Context, api API, _ nothing) ([]Invitation, error) { return api.Invitations(ctx) })
	opJoin        = takes("join", func(ctx context.Context, api API, in ofSession) (View, error) { return api.Join(ctx, in.Session) })
	opDecline     = takes("decline", func(ctx context.Context, api API, in ofSession) (nothing, error) {
		return done(api.Decline(ctx, in.Session))
	})
	opMove    = takes("move", func(ctx context.Context, api API, m Move) (View, error) { return api.Move(ctx, m) })
	opPresent = takes("present", func(ctx context.Context, api API, in presentArgs) (nothing, error) {
		return done(api.Present(ctx, in.Session, in.Artifact))
	})
	opSessions = asks("sessions", func(ctx context.Context, api API, f Filter) ([]Summary, error) { return api.Sessions(ctx, f) })
	opSession  = asks("session", func(ctx context.Context, api API, in ofSession) (View, error) { return api.Session(ctx, in.Session) })
	opWait     = waits("wait", func(ctx context.Context, api API, in waitArgs) (View, error) {
		return api.Wait(ctx, in.Session, in.Version)
	})
	opMessages = asks("messages", func(ctx context.Context, api API, in messagesArgs) ([]wire.Value, error) {
		return api.Messages(ctx, in.Session, in.From, in.Most)
	})
	opDocument = asks("document", func(ctx context.Context, api API, in ofSession) (wire.Value, error) {
		return api.Document(ctx, in.Session)
	})
	opExport = asks("export", func(ctx context.Context, api API, in exportArgs) (wire.Value, error) {
		return api.Export(ctx, in.Session, in.As)
	})
	opReceipts = asks("receipts", func(ctx context.Context, api API, in ofSession) ([]wire.Value, error) {
		return api.Receipts(ctx, in.Session)
	})
	opNotices = waits("notices", func(ctx context.Context, api API, in noticesArgs) ([]Notice, error) {
		return api.Notices(ctx, in.After, in.Most)
	})
	opContacts      = asks("contacts", func(ctx context.Context, api API, _ nothing) ([]Contact, error) { return api.Contacts(ctx) })
	opSetContact    = takes("set_contact", func(ctx context.Context, api API, c Contact) (nothing, error) { return done(api.SetContact(ctx, c)) })
	opRemoveContact = takes("remove_contact", func(ctx context.Context, api API, in ofAgent) (nothing, error) {
		return done(api.RemoveContact(ctx, in.Agent))
	})
	opNeeds   = asks("needs", func(ctx context.Context, api API, m Move) ([]Need, error) { return api.Needs(ctx, m) })
	opApprove = takes("approve", func(ctx context.Context, api API, in approveArgs) (nothing, error) {
		return done(api.Approve(ctx, in.Artifact))
	})
)

var operations = slices.Concat(sessionOperations, marketOperations, evidenceOperations, mailOperations, adoptionOperations, bridgeOperations)

var sessionOperations = []*operation{
	opSelf, opOpen, opInvitation, opInvited, opInvitations, opJoin, opDecline, opMove, opPresent, opSessions, opSession, opWait,
	opMessages, opDocument, opExport, opReceipts, opNotices, opContacts, opSetContact, opRemoveContact, opNeeds, opApprove,
}
