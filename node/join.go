package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// invited is told by a relay of an invitation. The home relay is believed: it keeps the
// bounds of invitations. Any other carries sessions that others chose it for, and could
// make up as many as it likes, in any name: to those one is invited with a signature.
func (c *carrier) invited(ctx context.Context, i relay.Invitation) {
	n := c.node
	if c.url != n.opts.Relay {
		return
	}
	take := n.welcome
	if isMail(i.Session) {
		take = n.welcomeMail
	}
	err := take(ctx, Invitation{
		Session: i.Session, From: i.From, Relay: c.url, Category: i.Category, Created: i.Created, Expires: i.Expires,
	})
	if err != nil && ctx.Err() == nil {
		n.log.Info("an invitation was not taken", "session", i.Session, "why", kindOf(err))
	}
}

// Bounds of invitations that wait. Those that a relay tells of have its own bounds.
const (
	maxInvitations          = 1000
	maxInvitationsOfUnknown = 100
	maxInvitationsOfOne     = 20
)

var (
	errInvitations = refuse(CodeRefused, "there are as many unanswered invitations as this node takes")
	errDenied      = refuse(CodePolicy, "the node takes no invitations of this agent")
)

// admits judges an invitation by the policy, and says in it what is known of who invites.
func (n *Node) admits(ctx context.Context, i *Invitation) error {
	standing := n.standingOf(i.From)
	switch {
	case wire.PlainDIDKey(i.From) == n.agent:
		return refuse(CodeBadRequest, "the invitation is this node's own")
	case standing == Denied, standing == Undecided && n.opts.Policy.Unknown == Refuse:
		if i.Relay == n.opts.Relay { // no other one hears from this node
			if c, err := n.carrier(i.Relay); err == nil {
				_ = c.client.Decline(ctx, i.Session) // it is forgotten if it fails, and told again
			}
		}
		return errDenied
	}
	i.Known = standing == Allowed
	var x conduct
	_, err := n.disk.get(bucketAgents, string(wire.PlainDIDKey(i.From)), &x)
	if err != nil {
		return err
	}
	if x.Left >= n.opts.Policy.flagAfter() {
		i.Flags = append(i.Flags, x.flag())
	}
	return nil
}

// welcome takes an invitation, as the policy says. The same again changes nothing.
func (n *Node) welcome(ctx context.Context, i Invitation) (err error) {
	if err := n.admits(ctx, &i); err != nil {
		return err
	}
	if err := n.keepInvitation(ctx, i); err != nil {
		return err
	}
	unasked := i.Known && (n.opts.Policy.JoinKnown || n.opts.Policy.Unknown == Accept)
	if !i.Known && n.opts.Policy.Unknown == Accept && !n.crowded() {
		if unasked, err = n.haveRoomFor(ctx, i); err != nil {
			return err
		}
	}
	if unasked {
		n.begin(func(ctx context.Context) {
			ctx, stop := context.WithTimeout(ctx, patience)
			defer stop()
			if _, err := n.join(ctx, i.Session); err != nil && ctx.Err() == nil {
				n.log.Info("an invitation could not be accepted", "session", i.Session, "why", kindOf(err))
			}
		})
	}
	return nil
}

// Bounds of sessions under way of strangers that the node joins without being asked. Further
// invitations wait.
const (
	maxUnasked      = 64
	maxUnaskedOfOne = 4
)

// A joined is a session of a stranger that the node joined without being asked.
type joined struct {
	Session wire.SessionID `json:"session"`
	From    wire.AgentID   `json:"from"`
}

// haveRoomFor reports whether a stranger's session is within the bounds of those that are
// joined without being asked, and counts it.
func (n *Node) haveRoomFor(ctx context.Context, i Invitation) (room bool, err error) {
	from := wire.PlainDIDKey(i.From)
	err = n.disk.update(ctx, func(tx *bolt.Tx) error {
		var before, list []joined
		if _, err := get(tx, bucketSelf, "unasked", &before); err != nil {
			return err
		}
		of := 0
		for _, j := range before {
			var r record
			known, err := get(tx, bucketSessions, string(j.Session), &r)
			if err != nil {
				return err
			}
			var waits Invitation // while it is being joined
			if _, err := get(tx, bucketInvitations, string(j.Session), &waits); err != nil {
				return err
			}
			s := n.summary(&r)
			if j.Session == i.Session || known && !(s.underWay() && r.live()) || !known && !n.now().Before(waits.Expires) {
				continue
			}
			list = append(list, j)
			if j.From == from {
				of++
			}
		}
		if room = len(list) < maxUnasked && of < maxUnaskedOfOne; room {
			list = append(list, joined{i.Session, from})
		}
		return put(tx, bucketSelf, "unasked", list)
	})
	return room, err
}

// isFull reports whether there are so many invitations that one has to look which are over.
func isFull(tx *bolt.Tx, bucket []byte) bool {
	n := 0
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.First(); k != nil && n < maxInvitations; k, _ = c.Next() {
		n++
	}
	return n >= maxInvitations
}

// keepInvitation keeps an invitation that is new, with its notice.
func (n *Node) keepInvitation(ctx context.Context, i Invitation) error {
	now := n.now().UTC()
	var fresh bool
	var last uint64
	err := n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			fresh = tx.Bucket(bucketInvitations).Get([]byte(i.Session)) == nil && tx.Bucket(bucketSessions).Get([]byte(i.Session)) == nil
			if !fresh || !i.Signed && !isFull(tx, bucketInvitations) {
				return nil
			}
			all, unknown, one := 0, 0, 0
			c := tx.Bucket(bucketInvitations).Cursor()
			for k, _ := c.First(); k != nil; k, _ = c.Next() {
				var other Invitation
				if _, err := get(tx, bucketInvitations, string(k), &other); err != nil {
					return err
				}
				if !now.Before(other.Expires) || !i.Signed && other.Signed {
					continue // no sender of signed ones takes the room of a relay's
				}
				all++
				if !other.Known {
					unknown++
				}
				if wire.PlainDIDKey(other.From) == wire.PlainDIDKey(i.From) {
					one++
				}
			}
			if all >= maxInvitations || i.Signed && (one >= maxInvitationsOfOne || !i.Known && unknown >= maxInvitationsOfUnknown) {
				return errInvitations
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) (err error) {
			if !fresh {
				return nil
			}
			c, sweep := tx.Bucket(bucketInvitations).Cursor(), i.Signed || isFull(tx, bucketInvitations)
			for k, _ := c.First(); k != nil && sweep; k, _ = c.Next() { // those that are over
				var other Invitation
				if _, err := get(tx, bucketInvitations, string(k), &other); err != nil {
					return err
				}
				if !now.Before(other.Expires) {
					if err := c.Delete(); err != nil {
						return err
					}
				}
			}
			if err := put(tx, bucketInvitations, string(i.Session), &i); err != nil {
				return err
			}
			last, err = add(tx, []Notice{{Kind: InvitationCame, At: now, Session: i.Session, Agent: i.From, Detail: "invited", Flags: i.Flags}})
			return err
		},
	})
	if err == nil {
		n.notices.came(last)
	}
	return err
}

// recall forgets the invitation to a session if the relay that told of it says that it
// stands no more: who made the session has closed it, perhaps to invite again and again.
func (c *carrier) recall(ctx context.Context, info *relay.SessionInfo) error {
	n := c.node
	for _, p := range info.Parties {
		if info.Ended.IsZero() && wire.PlainDIDKey(p.Agent) == n.agent && p.Standing == relay.Invited {
			return nil
		}
	}
	var i Invitation
	bucket := invitationsTo(info.Session)
	known, err := n.disk.get(bucket, string(info.Session), &i)
	if err != nil || !known || i.Relay != c.url {
		return err
	}
	defer n.letters.ring()
	return n.disk.delete(ctx, bucket, string(info.Session))
}

func invitationsTo(id wire.SessionID) []byte {
	if isMail(id) {
		return bucketMailInvitations
	}
	return bucketInvitations
}

// forgetOver forgets invitations that the relay has told of before a connection to it was
// made, at a time, and does not have any more: nobody tells what happened before it.
func (c *carrier) forgetOver(ctx context.Context, before time.Time) {
	n := c.node
	var had []wire.SessionID
	var err error
	for _, bucket := range [][]byte{bucketInvitations, bucketMailInvitations} {
		err = errors.Join(err, each(n.disk, bucket, "", func(_ string, i *Invitation) bool {
			if !i.Signed && i.Relay == c.url && i.Created.Before(before) {
				had = append(had, i.Session)
			}
			return true
		}))
	}
	if err == nil && len(had) > 0 {
		var list []relay.Invitation
		if list, err = c.client.Invitations(ctx); err == nil {
			stands := map[wire.SessionID]bool{}
			for _, i := range list {
				stands[i.Session] = true
			}
			err = n.disk.update(ctx, func(tx *bolt.Tx) error {
				for _, id := range had {
					if stands[id] {
						continue
					}
					if err := tx.Bucket(invitationsTo(id)).Delete([]byte(id)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	n.letters.ring()
	if err != nil && ctx.Err() == nil {
		n.log.Warn("asking which invitations stand", "why", kindOf(err))
	}
}

// Invitations implements [API].
func (n *Node) Invitations(context.Context) ([]Invitation, error) {
	var found []Invitation
	now := n.now()
	err := each(n.disk, bucketInvitations, "", func(_ string, i *Invitation) bool {
		if now.Before(i.Expires) {
			i.Relay = n.address(i.Relay)
			found = append(found, *i)
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b Invitation) int { return a.Created.Compare(b.Created) })
	return found, n.failed(err)
}

// Join implements [API].
func (n *Node) Join(ctx context.Context, id wire.SessionID) (View, error) {
	l, err := n.join(ctx, id)
	if err != nil {
		return View{}, n.failed(err)
	}
	defer n.release(l)
	if err := n.until(ctx, l, func() bool { return l.rec.Len > 0 || l.rec.Closed != "" || l.rec.Over != "" || l.rec.Misconduct != "" }); err != nil {
		return View{}, n.failed(err)
	}
	return n.view(l)
}

// join makes the record of a session that the node is invited to, and enters it.
func (n *Node) join(ctx context.Context, id wire.SessionID) (*live, error) {
	var i Invitation
	known, err := n.disk.get(bucketInvitations, string(id), &i)
	if err != nil {
		return nil, err
	}
	if !known {
		l, err := n.acquire(id)
		if errors.Is(err, errNoSession) {
			return nil, refuse(CodeNotFound, "there is no such invitation")
		}
		if err == nil {
			n.attend(l) // it may not have been entered yet
		}
		return l, err
	}
	if _, err := n.Key(i.From, n.now()); err != nil {
		return nil, fmt.Errorf("joining: who invites: %w", err)
	}
	_, err = n.create(ctx, record{
		Session: id, Relay: i.Relay, From: i.From, Began: n.now().UTC(), State: session.Start, Category: i.Category,
	})
	if err != nil {
		return nil, err
	}
	l, err := n.acquire(id)
	if err != nil {
		return nil, err
	}
	if err := n.enter(ctx, l); err != nil {
		if isFinal(err) {
			err = errors.Join(err, n.forget(context.WithoutCancel(ctx), l))
		} else {
			n.attend(l) // the node goes on trying
		}
		n.release(l)
		return nil, err
	}
	return l, nil
}

// isFinal reports whether it makes no sense to try again to enter a session.
func isFinal(err error) bool {
	_, refused := errors.AsType[*relay.Error](err)
	_, misbehaves := errors.AsType[*Error](err)
	return refused || misbehaves || errors.Is(err, errRelayID)
}

// enterLater is enter for a session that could not be entered when it was to be joined.
// It gives up when no relay would have it any more.
func (n *Node) enterLater(ctx context.Context, l *live) error {
	err := n.enter(ctx, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	late := n.now().After(l.rec.Began.Add(maxLife))
	if err == nil || l.rec.Joined || !isFinal(err) && !late {
		return err
	}
	next := l.rec
	next.Over = relay.EndExpired
	return errors.Join(err, n.commit(ctx, l, next, change{}))
}

// enter joins the session at its relay. Again is no harm.
func (n *Node) enter(ctx context.Context, l *live) error {
	c, err := n.carrierOf(l)
	if err != nil {
		return err
	}
	info, err := c.client.Join(ctx, l.id)
	if err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	l.mu.Lock()
	from := l.rec.From
	l.mu.Unlock()
	if len(info.Parties) == 0 || wire.PlainDIDKey(info.Parties[0].Agent) != wire.PlainDIDKey(from) {
		return refuse(CodeMisconduct, "the session at the relay is another agent's than the invitation says")
	}
	return n.note(ctx, c, l, &info)
}

// Decline implements [API].
func (n *Node) Decline(ctx context.Context, id wire.SessionID) error {
	var i Invitation
	known, err := n.disk.get(bucketInvitations, string(id), &i)
	switch {
	case err != nil:
		return n.failed(err)
	case !known:
		return refuse(CodeNotFound, "there is no such invitation; a session that was joined is left by a move")
	}
	c, err := n.carrier(i.Relay)
	if err == nil {
		err = c.client.Decline(ctx, id)
	}
	if err != nil && !isGone(err) {
		return n.failed(err)
	}
	return n.failed(n.disk.delete(ctx, bucketInvitations, string(id)))
}

// kindInvitation is the kind of the enclosure that an invitation is, when it does not come
// by a relay: signed by who invites, with where the session is.
const kindInvitation = "invitation"

// Invitation implements [API].
func (n *Node) Invitation(_ context.Context, id wire.SessionID, to wire.AgentID) (wire.Value, error) {
	l, err := n.acquire(id)
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	defer n.release(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.rec.Mine {
		return wire.Value{}, refuse(CodeBadRequest, "who opened a session invites to it")
	}
	v, err := n.invitation(&l.rec, to)
	return v, n.failed(err)
}

func (n *Node) invitation(r *record, to wire.AgentID) (wire.Value, error) {
	content := wire.M{"relay": n.address(r.Relay), "expires_at": wire.FormatTime(r.Began.Add(maxLife))}
	if to != "" {
		content["to"] = to
	}
	if c := shown(r.Category); c != "" {
		content["category"] = c
	}
	v, err := wire.Encode(content)
	if err != nil {
		return v, err
	}
	id, err := wire.NewID[wire.MessageID]("inv_", n.opts.Random)
	if err != nil {
		return v, err
	}
	e, err := relay.Enclosure{ID: id, Session: r.Session, From: n.agent, Time: n.now(), Kind: kindInvitation, Content: v}.Sign(n.opts.Key)
	if err != nil {
		return v, err
	}
	return e.Value(), nil
}

// Invited implements [API].
func (n *Node) Invited(ctx context.Context, invitation wire.Value) (Invitation, error) {
	i, err := n.readInvitation(invitation)
	if err == nil {
		err = n.welcome(ctx, i)
	}
	return i, n.failed(err)
}

// readInvitation verifies an invitation that did not come by a relay.
func (n *Node) readInvitation(v wire.Value) (Invitation, error) {
	e, err := relay.VerifyEnclosure(v, n)
	if err != nil {
		return Invitation{}, err
	}
	r := wire.Read(e.Content, "/content", relay.RuleEnclosure)
	r.Open("relay", "expires_at", "to", "category")
	i := Invitation{
		Session: e.Session, From: e.From, Signed: true, Relay: r.Text("relay"), Category: r.OptText("category"),
		Created: e.Time, Expires: r.Time("expires_at"),
	}
	to := wire.OptID[wire.AgentID](r, "to")
	now := n.now()
	switch {
	case r.Err() != nil:
		return i, r.Err()
	case e.Kind != kindInvitation:
		return i, refuse(CodeBadRequest, "it is no invitation")
	case isMail(i.Session):
		return i, errMailID
	case to != "" && wire.PlainDIDKey(to) != n.agent:
		return i, refuse(CodeBadRequest, "it is an invitation for somebody else")
	case !now.Before(i.Expires) || i.Created.After(now.Add(wire.DefaultSkew)):
		return i, refuse(CodeBadRequest, "the invitation is over, or not yet valid")
	case i.Category != "" && shown(i.Category) == "":
		return i, refuse(CodeBadRequest, "its category is none")
	}
	i.Expires = minTime(i.Expires, now.Add(maxLife))
	if i.Relay != n.opts.Relay {
		if err := n.outbound.CheckURL(i.Relay); err != nil {
			return i, fmt.Errorf("reading an invitation: its relay: %w", err)
		}
	}
	return i, nil
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
