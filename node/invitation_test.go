package node_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// uninvited waits until a node has no invitation but to some sessions.
func (p *party) uninvited(but ...wire.SessionID) {
	p.w.Helper()
	keep := map[wire.SessionID]bool{}
	for _, id := range but {
		keep[id] = true
	}
	for {
		changed := node.MailChanged(p.Node)
		left := 0
		for _, i := range append(must[[]node.Invitation](p.w)(p.Invitations(p.w.ctx)), must[[]node.Invitation](p.w)(p.MailInvitations(p.w.ctx))...) {
			if !keep[i.Session] {
				left++
			}
		}
		if left == 0 {
			return
		}
		select {
		case <-changed:
		case <-p.w.ctx.Done():
			p.w.Fatalf("%d invitations to what is over stay", left)
		}
	}
}

// Who closes the sessions to which it has invited takes no room of the node with them: an
// invitation goes when the session is over, also while the node is away. (RFC 0001)
func TestInvitationsGo(t *testing.T) {
	w := newWorld(t)
	eve, bob := w.party("eve", nil), w.party("bob", nil)
	invite := func() (ids [2]wire.SessionID) {
		ids[0] = must[node.MailView](w)(eve.CreateMail(w.ctx, node.MailOpening{To: agent("bob")})).Session
		ids[1] = must[node.View](w)(eve.Open(w.ctx, node.Opening{To: []wire.AgentID{agent("bob")}, Body: camera(nil)})).Session
		bob.invitedTo(ids[0])
		bob.invitation(ids[1])
		return ids
	}
	over := func(ids [2]wire.SessionID) {
		must[node.MailView](w)(eve.CloseMail(w.ctx, ids[0], ""))
		w.must(w.mail.Close(w.ctx, agent("eve"), ids[1]))
	}
	stays := invite()
	over(invite())
	bob.uninvited(stays[:]...)
	gone := invite()
	bob.end()
	over(gone)
	bob.start()
	bob.uninvited(stays[:]...)
	bob.invitedTo(stays[0])
	bob.invitation(stays[1])
}

// A relay that makes up invitations takes so much room and no more.
func TestMadeUpInvitations(t *testing.T) {
	w := newWorld(t)
	bob := w.party("bob", nil)
	var all sync.WaitGroup
	for part := range 32 {
		all.Go(func() {
			for i := range node.MaxInvitations/32 + 2 {
				for _, prefix := range []string{"relay_", "ses_"} {
					err := node.InvitedBy(bob.Node, w.url, relay.Invitation{
						Session: wire.SessionID(fmt.Sprint(prefix, part, "_", i)), From: agent("eve"), Created: w.now().Add(time.Minute), Expires: w.now().Add(time.Hour),
					})
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if list := must[[]node.Invitation](w)(bob.Invitations(w.ctx)); len(list) != node.MaxInvitations {
		t.Errorf("%d invitations", len(list))
	}
	if list := must[[]node.Invitation](w)(bob.MailInvitations(w.ctx)); len(list) != node.MaxInvitations {
		t.Errorf("%d invitations to mail", len(list))
	}
	w.forward(2 * time.Hour)
	w.must(node.InvitedBy(bob.Node, w.url, relay.Invitation{Session: "ses_late", From: agent("eve"), Created: w.now(), Expires: w.now().Add(time.Hour)}))
	if n := node.KeptInvitations(bob.Node); n != 1 {
		t.Errorf("%d are kept when all but one are over", n)
	}
}
