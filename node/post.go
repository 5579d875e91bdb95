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
	"github.com/concordia-node/concordia/wire"
)

// CreateMail implements [Mail].
func (n *Node) CreateMail(ctx context.Context, o MailOpening) (MailView, error) {
	r, err := n.planMail(o)
	if err != nil {
		return MailView{}, n.failed(err)
	}
	had, err := n.beginMail(ctx, &r)
	if err == nil && had != nil && (!had.Mine || had.To != r.To || had.Life != r.Life || had.About != r.About) {
		err = refuse(CodeBadRequest, "the id is that of another mail session")
	}
	if err == nil {
		err = n.settleMail(ctx, r.Session)
	}
	if err != nil {
		return MailView{}, n.failed(err)
	}
	return n.MailSession(ctx, r.Session)
}

// planMail judges a mail session that is to be made, before anybody sees it.
func (n *Node) planMail(o MailOpening) (mailRecord, error) {
	if o.Session == "" {
		var err error
		if o.Session, err = wire.NewID[wire.SessionID](MailPrefix, n.opts.Random); err != nil {
			return mailRecord{}, err
		}
	}
	r := mailRecord{
		Session: o.Session, Relay: n.opts.Relay, Mine: true, Joined: true, From: n.agent, To: wire.PlainDIDKey(o.To), About: o.About,
		Life: time.Duration(o.Seconds) * time.Second, Began: n.now().UTC(),
	}
	if r.Life == 0 {
		r.Life = defaultMailLife
	}
	switch {
	case n.opts.Relay == "":
		return r, errNoHome
	case !isMail(o.Session) || wire.CheckID(o.Session) != nil:
		return r, errMailPrefix
	case r.Life < time.Second || r.Life > maxLife:
		return r, refuse(CodeBadRequest, "a mail session lives for a second at least and a week at most")
	case r.To == n.agent:
		return r, refuse(CodeBadRequest, "an agent sends no mail to itself")
	case r.To != "" && n.standingOf(r.To) == Denied:
		return r, errDenied
	}
	if r.To != "" {
		if _, err := n.Key(r.To, n.now()); err != nil {
			return r, refuse(CodeBadRequest, fmt.Sprintf("no key is known of %q: name it by its did:key, or have the owner add it as a contact", r.To))
		}
	}
	if o.About != "" {
		var about record
		if known, err := n.disk.get(bucketSessions, string(o.About), &about); err != nil || !known {
			return r, errors.Join(err, errNoSession)
		}
	}
	return r, nil
}

var errMailFull = refuse(CodeRefused, "the node keeps as many mail sessions as it may, and all of them are live or have letters that were not acknowledged")

// beginMail makes the record of a mail session, unless there is one, which it returns. If
// there are as many as are kept, the oldest that is over and read goes.
func (n *Node) beginMail(ctx context.Context, r *mailRecord) (had *mailRecord, err error) {
	now := n.now()
	var goes wire.SessionID
	err = n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			had, goes = nil, ""
			var other mailRecord
			if known, err := get(tx, bucketMail, string(r.Session), &other); err != nil || known {
				had = &other
				return err
			}
			all := 0
			var oldest time.Time
			err := eachIn(tx, bucketMail, func(_ string, o *mailRecord) error {
				all++
				if _, over := o.over(now); !over && o.Misconduct == "" || goes != "" && !o.Began.Before(oldest) {
					return nil
				}
				unread := false
				err := letters(tx, o.Session, o.Had, func(_ uint64, l *letterRecord) bool {
					unread = l.From != n.agent && n.standingOf(l.From) != Denied // nobody reads those
					return !unread
				})
				if !unread {
					goes, oldest = o.Session, o.Began
				}
				return err
			})
			switch {
			case err != nil:
				return err
			case all < MaxMail:
				goes = ""
			case goes == "":
				return errMailFull
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			if had != nil {
				return nil
			}
			if goes != "" {
				if err := dropMail(tx, goes); err != nil {
					return err
				}
			}
			return put(tx, bucketMail, string(r.Session), r)
		},
	})
	return had, err
}

// JoinMail implements [Mail].
func (n *Node) JoinMail(ctx context.Context, id wire.SessionID) (MailView, error) {
	var i Invitation
	invited, err := n.disk.get(bucketMailInvitations, string(id), &i)
	switch {
	case err != nil:
		return MailView{}, n.failed(err)
	case n.opts.Relay == "":
		return MailView{}, errNoHome
	case !isMail(id):
		return MailView{}, errMailPrefix
	case invited:
		err = n.mayHear(i.From)
	}
	if err != nil {
		return MailView{}, n.failed(err)
	}
	had, err := n.beginMail(ctx, &mailRecord{Session: id, Relay: n.opts.Relay, From: i.From, Began: n.now().UTC()})
	if err == nil && had != nil && had.Mine {
		err = refuse(CodeBadRequest, "this node made the mail session: another agent joins it")
	}
	if err == nil {
		err = n.settleMail(ctx, id)
	}
	if invited && (err == nil || isGone(err)) {
		err = errors.Join(err, n.disk.delete(ctx, bucketMailInvitations, string(id)))
	}
	if err != nil {
		return MailView{}, n.failed(err)
	}
	return n.MailSession(ctx, id)
}

// mayHear reports whether the node listens to an agent, and could tell that it is it.
func (n *Node) mayHear(from wire.AgentID) error {
	if standing := n.standingOf(from); standing == Denied || standing == Undecided && n.opts.Policy.Unknown == Refuse {
		return errDenied
	}
	if _, err := n.Key(from, n.now()); err != nil {
		return fmt.Errorf("joining: who invites: %w", err)
	}
	return nil
}

// DeclineMail implements [Mail].
func (n *Node) DeclineMail(ctx context.Context, id wire.SessionID) error {
	var i Invitation
	known, err := n.disk.get(bucketMailInvitations, string(id), &i)
	if err == nil && !known {
		err = refuse(CodeNotFound, "there is no such invitation to mail")
	}
	if err != nil {
		return n.failed(err)
	}
	c, err := n.carrier(i.Relay)
	if err == nil {
		err = c.client.Decline(ctx, id)
	}
	if err != nil && !isGone(err) {
		return n.failed(err)
	}
	return n.failed(n.disk.delete(ctx, bucketMailInvitations, string(id)))
}

// SendMail implements [Mail]. Nothing of a letter is kept before the relay has it: what is
// kept comes back in the log.
func (n *Node) SendMail(ctx context.Context, l Letter) (MailEntry, error) {
	e, err := n.sendMail(ctx, &l)
	return e, n.failed(err)
}

var (
	errLetterType = refuse(CodeBadRequest, fmt.Sprintf("a message type is a word of at most %d printable characters", maxLetterType))
	errLetterID   = refuse(CodeBadRequest, "another letter of the session has the id")
	errNobodyYet  = refuse(CodeRefused, "nobody else has joined the mail session yet: nobody would get it")
)

func (n *Node) sendMail(ctx context.Context, l *Letter) (MailEntry, error) {
	r, err := n.mailRecord(l.Session)
	switch {
	case err != nil:
		return MailEntry{}, err
	case !r.Joined:
		return MailEntry{}, errNoMail
	case r.Misconduct != "":
		return MailEntry{}, refuse(CodeMisconduct, "the relay of the mail session misbehaves")
	case checkLetterType(l.Type) != nil:
		return MailEntry{}, errLetterType
	case l.Payload.Kind() != wire.Object:
		return MailEntry{}, refuse(CodeBadRequest, "a payload is an object")
	case slices.ContainsFunc(r.Parties, func(p relay.Party) bool { return n.standingOf(p.Agent) == Denied }):
		return MailEntry{}, refuse(CodePolicy, "the node sends no mail to a party of the session")
	}
	content, err := wire.Encode(wire.M{"message_type": l.Type, "payload": l.Payload})
	if err != nil {
		return MailEntry{}, err
	}
	if l.ID != "" {
		if wire.CheckID(l.ID) != nil {
			return MailEntry{}, refuse(CodeBadRequest, "the id of the letter is none")
		}
		if e, err := n.sentBefore(ctx, &r, l.ID, content); err != nil || e != nil {
			return deref(e), err
		}
	} else if l.ID, err = wire.NewID[wire.MessageID]("rmsg_", n.opts.Random); err != nil {
		return MailEntry{}, err
	}
	now := n.now()
	e, err := relay.Enclosure{ID: l.ID, Session: l.Session, From: n.agent, Time: now, Kind: kindMail, Content: content}.Sign(n.opts.Key)
	if errors.Is(err, wire.RuleSize) {
		return MailEntry{}, refuse(CodeBadRequest, fmt.Sprintf("the letter is too large: with what is around the payload it has at most %d bytes", relay.MaxEnclosureSize))
	}
	if err != nil {
		return MailEntry{}, err
	}
	c, err := n.carrier(r.Relay)
	if err != nil {
		return MailEntry{}, err
	}
	at, err := c.client.Enclose(ctx, e)
	switch relay.CodeOf(err) {
	case relay.CodeNotActive:
		return MailEntry{}, errNobodyYet
	case relay.CodeIDConflict: // it was sent before, and has not come back yet
		sent, err := n.sentLately(ctx, c, &r, l.ID, content)
		if err == nil && sent == nil {
			err = errLetterID
		}
		return deref(sent), err
	}
	if err != nil {
		return MailEntry{}, err
	}
	n.awaitLetter(ctx, l.Session, at.Number)
	return MailEntry{Session: l.Session, Number: at.Number, ID: l.ID, From: n.agent, Own: true, Appended: now, Entry: e.Value()}, nil
}

// comesBack is how long who sends a letter waits until it has come back in the log, so that
// it finds there what it sent. It is sent all the same.
const comesBack = 5 * time.Second

func (n *Node) awaitLetter(ctx context.Context, id wire.SessionID, number uint64) {
	ctx, stop := context.WithTimeout(ctx, comesBack)
	defer stop()
	for {
		_, rung := n.letters.hear()
		if r, err := n.mailRecord(id); err != nil || r.At.Number >= number {
			return
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return
		case <-n.stopping:
			return
		}
	}
}

func deref(e *MailEntry) MailEntry {
	if e == nil {
		return MailEntry{}
	}
	return *e
}

// sentBefore looks for a letter with an id among those that have come. It returns nil if
// there is none, and fails if it is another one.
func (n *Node) sentBefore(ctx context.Context, r *mailRecord, id wire.MessageID, content wire.Value) (*MailEntry, error) {
	var found *MailEntry
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		number := numberOf(tx, r.Session, id)
		if number == 0 {
			return nil
		}
		var l letterRecord
		_, err := get(tx, bucketLetters, letterKey(r.Session, number), &l)
		found = n.mailEntry(r.Session, number, &l)
		return err
	})
	if err != nil || found == nil {
		return nil, err
	}
	if err := n.fill(ctx, found); err != nil {
		return nil, err
	}
	if had, _ := found.Entry.Get("content"); !found.Own || !had.Equal(content) {
		return nil, errLetterID
	}
	return found, nil
}

// sentLately looks for it behind them, at the relay.
func (n *Node) sentLately(ctx context.Context, c *carrier, r *mailRecord, id wire.MessageID, content wire.Value) (*MailEntry, error) {
	for at := r.At; ; {
		list, _, err := c.client.ReadBehind(ctx, r.Session, at)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		for _, d := range list {
			at = d.Position
			if e := d.Enclosure; e != nil && e.ID == id && d.Own && e.Content.Equal(content) {
				return &MailEntry{Session: r.Session, Number: d.Number, ID: id, From: n.agent, Own: true, Appended: d.Appended, Entry: e.Value()}, nil
			}
		}
	}
}

// CloseMail implements [Mail].
func (n *Node) CloseMail(ctx context.Context, id wire.SessionID, note string) (MailView, error) {
	r, err := n.mailRecord(id)
	switch {
	case err == nil && !r.Joined:
		err = errNoMail
	case err == nil && len(note) > maxMailNote:
		err = refuse(CodeBadRequest, fmt.Sprintf("a note has at most %d bytes", maxMailNote))
	}
	if err != nil {
		return MailView{}, n.failed(err)
	}
	c, err := n.carrier(r.Relay)
	if err == nil {
		err = c.client.Close(ctx, id)
	}
	if err != nil && !isGone(err) {
		return MailView{}, n.failed(err)
	}
	err = n.disk.update(ctx, func(tx *bolt.Tx) error {
		var r mailRecord
		if known, err := get(tx, bucketMail, string(id), &r); err != nil || !known || note == "" || r.Note != "" {
			return err
		}
		r.Note = note
		return put(tx, bucketMail, string(id), &r)
	})
	if err == nil {
		err = n.settleMail(ctx, id)
	}
	if err != nil {
		return MailView{}, n.failed(err)
	}
	return n.MailSession(ctx, id)
}

// MailSession implements [Mail].
func (n *Node) MailSession(_ context.Context, id wire.SessionID) (MailView, error) {
	var v MailView
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		var r mailRecord
		known, err := get(tx, bucketMail, string(id), &r)
		if err == nil && !known {
			err = errNoMail
		}
		if err == nil {
			v, err = n.mailView(tx, &r)
		}
		return err
	})
	return v, n.failed(err)
}

// MailSessions implements [Mail].
func (n *Node) MailSessions(context.Context) ([]MailView, error) {
	var list []MailView
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		return eachIn(tx, bucketMail, func(_ string, r *mailRecord) error {
			v, err := n.mailView(tx, r)
			list = append(list, v)
			return err
		})
	})
	slices.SortStableFunc(list, func(a, b MailView) int { return a.Began.Compare(b.Began) })
	return list, n.failed(err)
}

func (n *Node) mailView(tx *bolt.Tx, r *mailRecord) (MailView, error) {
	v := MailView{
		Session: r.Session, State: MailPending, Mine: r.Mine, About: r.About, Began: r.Began, Expires: r.Expires, Ended: r.Ended,
		Note: r.Note, Had: r.Had, Kept: r.Kept, Misconduct: r.Misconduct,
	}
	for i, p := range r.Parties {
		v.Parties = append(v.Parties, MailParty{p.Agent, p.Standing, r.Letters[wire.PlainDIDKey(p.Agent)]})
		if i > 0 && p.Standing == relay.Joined {
			v.State = MailActive
		}
	}
	if len(r.Parties) == 0 {
		v.Parties = []MailParty{{Agent: r.From, Standing: relay.Joined}}
	}
	for _, count := range r.Letters {
		v.Letters += count
	}
	if why, over := r.over(n.now()); over {
		v.Why = why
		v.State = map[relay.End]MailState{relay.EndClosed: MailConcluded, relay.EndDeclined: MailDeclined}[why]
		if v.State == "" {
			v.State = MailTimedOut
		}
	}
	err := letters(tx, r.Session, r.Had, func(_ uint64, l *letterRecord) bool {
		if l.From != n.agent && n.standingOf(l.From) != Denied {
			v.Unread++
		}
		return true
	})
	return v, err
}
