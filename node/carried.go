package node

import (
	"context"
	"errors"
	"net/http"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// What comes over another protocol than those of RFC 0001 and the inbox (SPEC §10.1) is
// taken by these methods. They are no part of [API]: the owner has no use for them.

// Admits counts a request and reports whether it is within what the inbox takes in a minute.
func (n *Node) Admits(r *http.Request) bool { return n.inbox.admits(n.now(), n.placeOf(r)) }

var errNoInvitation = refuse(CodeBadRequest, "it is no invitation for this agent that stands")

// TakeInvitation takes an invitation as the inbox does. Who is not welcome is not told so,
// and of one that does not stand not why: that would tell whose keys this node knows.
func (n *Node) TakeInvitation(ctx context.Context, unverified wire.Value) error {
	i, err := n.readInvitation(unverified)
	if err == nil {
		err = n.welcome(ctx, i)
	}
	if err == nil || errors.Is(err, errDenied) {
		return nil
	}
	err = n.failed(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeInternal && e.Code != CodeClosed && e.Code != CodeRefused {
		return errNoInvitation
	}
	return err
}

var errNotHere = refuse(CodeNotFound, "this node's relay has no such session of the sender")

// TakeMessage appends a message to the log of its session, for its sender who signed it,
// if the session is at this node's own relay. From there it comes to this node as any
// other. For a session elsewhere it fails with CodeNotFound: the relay there takes
// messages from those alone who sent them.
func (n *Node) TakeMessage(ctx context.Context, u *wire.UnverifiedMessage) error {
	if n.own == nil || wire.PlainDIDKey(u.From) == n.agent {
		return errNotHere
	}
	_, err := n.own.mail.AppendCarried(ctx, u)
	if relay.CodeOf(err) == relay.CodeNotFound {
		return errNotHere
	}
	return n.failed(err)
}
