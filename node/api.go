package node

import (
	"context"

	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// An API is what can be asked of a node. Its methods may be called from many
// goroutines. They fail with an [*Error], or because the context was done: then what was
// asked may have happened, and asking the node again tells.
type API interface {
	// Self returns who the node is and how it is reached.
	Self(ctx context.Context) (Self, error)

	// Open opens a session and invites those it names. It returns when the session is
	// reserved and the body was judged. The open message is signed and sent when the first
	// of them has joined: until then the state is "(none)", and View.Coming says who is
	// waited for. Who could not be told directly yet is in View.Undelivered; the node goes
	// on trying.
	Open(ctx context.Context, o Opening) (View, error)

	// Invitation returns the signed invitation to a session that this node opened, to
	// be handed over in some other way. Whoever is named in it, or comes first if the
	// session has places for strangers, can join with it.
	Invitation(ctx context.Context, id wire.SessionID, to wire.AgentID) (wire.Value, error)

	// Invited takes in an invitation that came in some other way.
	Invited(ctx context.Context, invitation wire.Value) (Invitation, error)

	// Invitations returns those that are neither joined, declined nor over, oldest first.
	Invitations(ctx context.Context) ([]Invitation, error)

	// Join makes the node a party of the session that it is invited to, and returns when
	// the open message is here. It says nothing there yet: accept_session and
	// decline_session are moves. Joining again is no harm.
	Join(ctx context.Context, id wire.SessionID) (View, error)

	// Decline answers an invitation with no, without having read anything. It is no move.
	Decline(ctx context.Context, id wire.SessionID) error

	// Move makes a move. What the rules of the session, or the policy of this node, do not
	// allow is refused before anyone sees it. If the other side came first, the error has
	// CodeConflict and what was missed: nothing is signed again.
	Move(ctx context.Context, m Move) (View, error)

	// Present hands a mandate or an approval receipt to the parties of a session, and
	// keeps it. It is no move.
	Present(ctx context.Context, id wire.SessionID, artifact wire.Value) error

	// Sessions returns sessions in the order in which they began here.
	Sessions(ctx context.Context, f Filter) ([]Summary, error)

	// Session returns a session as it stands.
	Session(ctx context.Context, id wire.SessionID) (View, error)

	// Wait returns the session once it differs from what View.Version was: a message has
	// come, or its time is up, or its receipt is complete. If the context is done before,
	// it returns the context's error.
	Wait(ctx context.Context, id wire.SessionID, version uint64) (View, error)

	// Messages returns at most most messages of a session, from position from (0 is the
	// first) on, as they were signed; fewer if they are large, and none at the end.
	Messages(ctx context.Context, id wire.SessionID, from, most int) ([]wire.Value, error)

	// Document returns the transcript file of a session, with the receipt if there is
	// one: what can be verified offline (SPEC §9.3).
	Document(ctx context.Context, id wire.SessionID) (wire.Value, error)

	// Export returns the agreement of a session in a format (SPEC §10.3, §10.4).
	Export(ctx context.Context, id wire.SessionID, as session.Format) (wire.Value, error)

	// Receipts returns the receipts of a session that all parties have signed, oldest
	// first.
	Receipts(ctx context.Context, id wire.SessionID) ([]wire.Value, error)

	// Notices returns at most most notices with numbers above after. If there are none
	// it waits for one until the context is done, and then returns none and no error.
	Notices(ctx context.Context, after uint64, most int) ([]Notice, error)

	// Contacts returns the contacts in the order of their ids. SetContact adds one or
	// replaces it. RemoveContact forgets one.
	Contacts(ctx context.Context) ([]Contact, error)
	SetContact(ctx context.Context, c Contact) error
	RemoveContact(ctx context.Context, id wire.AgentID) error

	// Needs returns what the policy asks for before a move (accept or commit): nothing if
	// it would be let through.
	Needs(ctx context.Context, m Move) ([]Need, error)

	// Approve keeps an approval receipt, a mandate or a revocation record, which others
	// signed, so that moves that need it are let through, or no longer. What does not
	// verify is refused.
	Approve(ctx context.Context, artifact wire.Value) error

	Market
	Evidence
	Mail
	Adoption
	Bridge
}
