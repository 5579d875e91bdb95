package node

import (
	"bytes"
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

// A mailRecord is what node.db keeps of a mail session. There is nothing of it in memory:
// each change reads and writes it in one transaction.
type mailRecord struct {
	Session wire.SessionID `json:"session"`
	Relay   string         `json:"relay"`
	Mine    bool           `json:"mine,omitempty"`
	From    wire.AgentID   `json:"from"`         // who made it
	To      wire.AgentID   `json:"to,omitempty"` // of Mine: who is named
	Life    time.Duration  `json:"life,omitempty"`
	About   wire.SessionID `json:"about,omitempty"`
	Began   time.Time      `json:"began"`

	Reserved bool          `json:"reserved,omitempty"` // of Mine: the relay has it
	Joined   bool          `json:"joined,omitempty"`   // the relay said so
	Parties  []relay.Party `json:"parties,omitempty"`  // as the relay says
	Expires  time.Time     `json:"expires,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"`
	Why      relay.End     `json:"why,omitempty"`
	Note     string        `json:"note,omitempty"`

	At         relay.Position       `json:"at"`
	Length     uint64               `json:"length,omitempty"`  // of the log, as the relay said last
	Kept       int                  `json:"kept,omitempty"`    // bytes in bucketLetterTexts
	Letters    map[wire.AgentID]int `json:"letters,omitempty"` // by sender
	Had        uint64               `json:"had,omitempty"`     // the caller had the letters up to it
	Told       bool                 `json:"told,omitempty"`    // there is a notice of what it has not had
	Misconduct string               `json:"misconduct,omitempty"`
}

// over reports whether nothing more can be sent, and why.
func (r *mailRecord) over(now time.Time) (relay.End, bool) {
	switch {
	case !r.Ended.IsZero():
		return r.Why, true
	case !r.Expires.IsZero() && !now.Before(r.Expires):
		return relay.EndExpired, true
	}
	return "", false
}

// hears reports whether an agent can speak in the session: in one that this node made for
// somebody it is the two of them, whatever the relay says.
func (r *mailRecord) hears(self, from wire.AgentID) bool {
	from = wire.PlainDIDKey(from)
	return !r.Mine || r.To == "" || from == self || from == wire.PlainDIDKey(r.To)
}

// A letterRecord is what is kept of each letter. Its text is in bucketLetterTexts as far
// as there is room, else at the relay.
type letterRecord struct {
	ID       wire.MessageID `json:"id"`
	From     wire.AgentID   `json:"from"`
	Appended time.Time      `json:"appended"`
	Hash     wire.Hash      `json:"hash"`
	Size     int            `json:"size"`
}

func letterKey(id wire.SessionID, n uint64) string { return string(id) + "\x00" + string(number(n)) }

// numberOf returns the number of the letter of an id, 0 if there is none.
func numberOf(tx *bolt.Tx, session wire.SessionID, id wire.MessageID) uint64 {
	return fromNumber(tx.Bucket(bucketLetterIDs).Get(idKey(session, id)))
}

func idKey(session wire.SessionID, id wire.MessageID) []byte {
	return []byte(string(session) + "\x00" + string(id))
}

// letters calls f with the letters of a mail session behind a number, in order.
func letters(tx *bolt.Tx, id wire.SessionID, after uint64, f func(n uint64, l *letterRecord) (more bool)) error {
	prefix := []byte(string(id) + "\x00")
	c := tx.Bucket(bucketLetters).Cursor()
	for k, _ := c.Seek([]byte(letterKey(id, after+1))); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		var l letterRecord
		if _, err := get(tx, bucketLetters, string(k), &l); err != nil {
			return err
		}
		if !f(fromNumber(k[len(prefix):]), &l) {
			return nil
		}
	}
	return nil
}

// kindMail is the kind of the enclosures that letters are.
const kindMail = "mail"

// readLetter returns the letter that an entry is, or nil if it is none: what else is in the
// log of a mail session is nothing to this node.
func readLetter(e *relay.Enclosure) *relay.Enclosure {
	if e == nil || e.Kind != kindMail || !isMail(e.Session) {
		return nil
	}
	r := wire.Read(e.Content, "/content", relay.RuleEnclosure)
	r.Open("message_type", "payload")
	if err := checkLetterType(r.Text("message_type")); err != nil {
		return nil
	}
	r.Object("payload")
	if r.Err() != nil {
		return nil
	}
	return e
}

func checkLetterType(s string) error { return wire.CheckID(wire.MessageID(s)) }

// takeMail takes an entry of a mail session's log. What it returns no error for is on disk,
// with the position behind it. What is no letter is passed over: a message of a negotiation
// here is one of none.
func (c *carrier) takeMail(ctx context.Context, d relay.Delivery) error {
	n := c.node
	var last uint64
	var before mailRecord
	known, err := n.disk.get(bucketMail, string(d.Session), &before)
	switch {
	case err != nil:
		return fmt.Errorf("taking a letter: %s", kindOf(err))
	case !known:
		n.log.Warn("an entry of a mail session that is not in this directory", "session", d.Session)
		return nil
	case d.Err != nil && d.Enclosure == nil:
		// Perhaps the key is known by now. A letter that comes before it waits.
		if d.Enclosure, err = relay.VerifyEnclosure(d.UnverifiedEntry, n); errors.Is(err, wire.RuleUnknownKey) && before.Misconduct == "" &&
			before.hears(n.agent, d.From()) && n.standingOf(d.From()) != Denied {
			return fmt.Errorf("taking a letter: no key is known of %q: add a contact, or deny it", d.From())
		}
	}
	err = n.disk.update(context.WithoutCancel(ctx), func(tx *bolt.Tx) (err error) {
		last = 0
		var r mailRecord
		if known, err = get(tx, bucketMail, string(d.Session), &r); err != nil || !known || r.Relay != c.url || d.Number <= r.At.Number {
			return err
		}
		r.At, r.Joined, r.Length = d.Position, true, max(r.Length, d.Number)
		if e := readLetter(d.Enclosure); e != nil && r.hears(n.agent, e.From) && r.Misconduct == "" {
			if last, err = n.keepLetter(tx, &r, &d, e); err != nil {
				return err
			}
		}
		return put(tx, bucketMail, string(d.Session), &r)
	})
	if err != nil {
		return fmt.Errorf("taking a letter: %s", kindOf(err))
	}
	n.notices.came(last)
	n.letters.ring()
	return nil
}

// keepLetter keeps a letter, and gives notice of the first that the caller has not had. A
// relay that shows one again under another number misbehaves: its client finds that as long
// as the node runs.
func (n *Node) keepLetter(tx *bolt.Tx, r *mailRecord, d *relay.Delivery, e *relay.Enclosure) (last uint64, err error) {
	if numberOf(tx, r.Session, e.ID) != 0 {
		r.Misconduct = string(relay.Replayed)
		return add(tx, []Notice{{Kind: RelayMisconduct, At: n.now().UTC(), Session: r.Session, Detail: r.Misconduct}})
	}
	key, text, from := letterKey(r.Session, d.Number), e.Value().Canonical(), wire.PlainDIDKey(e.From)
	l := letterRecord{ID: e.ID, From: from, Appended: d.Appended, Hash: e.Hash(), Size: len(text)}
	if err := put(tx, bucketLetters, key, &l); err != nil {
		return 0, err
	}
	if err := tx.Bucket(bucketLetterIDs).Put(idKey(r.Session, e.ID), number(d.Number)); err != nil {
		return 0, err
	}
	if r.Kept+len(text) <= maxMailKept {
		r.Kept += len(text)
		if err := tx.Bucket(bucketLetterTexts).Put([]byte(key), []byte(text)); err != nil {
			return 0, err
		}
	}
	if r.Letters == nil {
		r.Letters = map[wire.AgentID]int{}
	}
	r.Letters[from]++
	if from == n.agent || r.Told || n.standingOf(from) == Denied {
		return 0, nil
	}
	r.Told = true
	return add(tx, []Notice{{Kind: MailCame, At: n.now().UTC(), Session: r.Session, Agent: from}})
}

// noteMail takes note of what the relay says of a mail session. Who comes first to a place
// learns only then whose it is, and keeps nothing of it if it does not listen to that agent.
func (c *carrier) noteMail(ctx context.Context, info relay.SessionInfo) error {
	n := c.node
	var last uint64
	var r mailRecord
	known, err := n.disk.get(bucketMail, string(info.Session), &r)
	if err != nil || !known {
		return err
	}
	if r.Relay == c.url && len(info.Parties) > 0 {
		if err := n.mayKeepMail(ctx, &r, info.Parties[0].Agent); err != nil {
			return err
		}
	}
	err = n.disk.update(ctx, func(tx *bolt.Tx) error {
		last = 0
		var r mailRecord
		known, err := get(tx, bucketMail, string(info.Session), &r)
		if err != nil || !known || r.Relay != c.url {
			return err
		}
		var list []Notice
		notice := func(kind Kind, about wire.AgentID, detail string) {
			list = append(list, Notice{Kind: kind, At: n.now().UTC(), Session: r.Session, Agent: about, Detail: detail})
		}
		if r.From == "" && len(info.Parties) > 0 {
			r.From = info.Parties[0].Agent // whoever comes first learns who made it
		}
		for _, p := range info.Parties {
			if wire.PlainDIDKey(p.Agent) == n.agent {
				r.Joined = p.Standing == relay.Joined
			} else if r.Mine && p.Standing == relay.Joined && !slices.Contains(r.Parties, p) {
				notice(MailJoined, p.Agent, "")
			}
		}
		r.Reserved, r.Parties, r.Expires, r.Length = true, info.Parties, info.Expires, max(r.Length, info.Length)
		if !info.Ended.IsZero() && r.Ended.IsZero() {
			r.Ended, r.Why = info.Ended, info.Why
			notice(MailEnded, "", string(info.Why))
		}
		if err := put(tx, bucketMail, string(r.Session), &r); err != nil {
			return err
		}
		last, err = add(tx, list)
		return err
	})
	n.notices.came(last)
	n.letters.ring()
	return err
}

// mayKeepMail drops a mail session whose place this node took, when it turns out that it
// does not listen to whoever made it.
func (n *Node) mayKeepMail(ctx context.Context, r *mailRecord, initiator wire.AgentID) error {
	if r.From != "" {
		return nil
	}
	err := n.mayHear(initiator)
	if err == nil {
		return nil
	}
	defer n.letters.ring()
	return errors.Join(err, n.disk.update(ctx, func(tx *bolt.Tx) error { return dropMail(tx, r.Session) }))
}

// accuseMail is told what a relay did wrong in a mail session.
func (c *carrier) accuseMail(ctx context.Context, m *relay.Misconduct) {
	n := c.node
	var last uint64
	err := n.disk.update(context.WithoutCancel(ctx), func(tx *bolt.Tx) error {
		last = 0
		var r mailRecord
		known, err := get(tx, bucketMail, string(m.Session), &r)
		if err != nil || !known || r.Relay != c.url || r.Misconduct != "" {
			return err
		}
		r.Misconduct = string(m.Kind)
		if err := put(tx, bucketMail, string(r.Session), &r); err != nil {
			return err
		}
		last, err = add(tx, []Notice{{Kind: RelayMisconduct, At: n.now().UTC(), Session: r.Session, Detail: r.Misconduct}})
		return err
	})
	if err != nil {
		n.log.Error("taking note of a relay's misconduct", "session", m.Session, "why", kindOf(err))
	}
	n.notices.came(last)
}

// welcomeMail takes an invitation to mail, as the policy says. Nothing joins it unasked:
// to be listened to takes more than to be known.
func (n *Node) welcomeMail(ctx context.Context, i Invitation) error {
	if err := n.admits(ctx, &i); err != nil {
		return err
	}
	now := n.now().UTC()
	var fresh bool
	var last uint64
	err := n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			fresh = tx.Bucket(bucketMailInvitations).Get([]byte(i.Session)) == nil && tx.Bucket(bucketMail).Get([]byte(i.Session)) == nil
			if !fresh || !isFull(tx, bucketMailInvitations) {
				return nil
			}
			all := 0
			err := eachIn(tx, bucketMailInvitations, func(_ string, o *Invitation) error {
				if now.Before(o.Expires) {
					all++
				}
				return nil
			})
			if err == nil && all >= maxInvitations {
				err = errInvitations
			}
			return err
		},
		Apply: func(tx *bolt.Tx) (err error) {
			if last = 0; !fresh {
				return nil
			}
			var past []string
			if isFull(tx, bucketMailInvitations) {
				err = eachIn(tx, bucketMailInvitations, func(key string, o *Invitation) error {
					if !now.Before(o.Expires) {
						past = append(past, key)
					}
					return nil
				})
			}
			for _, key := range past {
				err = errors.Join(err, tx.Bucket(bucketMailInvitations).Delete([]byte(key)))
			}
			if err != nil {
				return err
			}
			if err := put(tx, bucketMailInvitations, string(i.Session), &i); err != nil {
				return err
			}
			last, err = add(tx, []Notice{{Kind: MailInvited, At: now, Session: i.Session, Agent: i.From, Flags: i.Flags}})
			return err
		},
	})
	n.notices.came(last)
	return err
}

// MailInvitations implements [Mail].
func (n *Node) MailInvitations(context.Context) ([]Invitation, error) {
	var found []Invitation
	now := n.now()
	err := each(n.disk, bucketMailInvitations, "", func(_ string, i *Invitation) bool {
		if now.Before(i.Expires) && n.standingOf(i.From) != Denied {
			found = append(found, *i)
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b Invitation) int { return a.Created.Compare(b.Created) })
	return found, n.failed(err)
}

// mailRecord reads the record of a mail session.
func (n *Node) mailRecord(id wire.SessionID) (r mailRecord, err error) {
	known, err := n.disk.get(bucketMail, string(id), &r)
	if err == nil && !known {
		err = errNoMail
	}
	return r, err
}

var (
	errNoMail     = refuse(CodeNotFound, "there is no such mail session here")
	errNoHome     = refuse(CodeBadRequest, "this node has no home relay, which carries mail")
	errMailPrefix = refuse(CodeBadRequest, "the id of a mail session begins with "+MailPrefix)
	errMailID     = refuse(CodeBadRequest, "an id that begins with "+MailPrefix+" is that of a mail session, in which nothing is negotiated")
)

// settleMail has the relay know of a mail session what the record says: that it is made, or
// joined. It takes note of how the session stands there. What the relay refuses for good
// never came to be.
func (n *Node) settleMail(ctx context.Context, id wire.SessionID) error {
	r, err := n.mailRecord(id)
	if err != nil {
		return err
	}
	c, err := n.carrier(r.Relay)
	if err != nil {
		return err
	}
	var info relay.SessionInfo
	begun := false
	switch {
	case r.Mine && !r.Reserved:
		want := relay.Reservation{Session: id, Life: r.Life, Category: kindMail}
		if r.To == "" {
			want.Places = 1
		} else {
			want.To = []wire.AgentID{r.To}
		}
		info, err = c.client.Create(ctx, want)
	case !r.Mine && !r.Joined:
		info, err = c.client.Join(ctx, id)
	default:
		begun = true
		info, err = c.client.Session(ctx, id)
	}
	switch refused, _ := errors.AsType[*relay.Error](err); {
	case refused == nil || ctx.Err() != nil:
	case !begun:
		return errors.Join(err, n.disk.update(context.WithoutCancel(ctx), func(tx *bolt.Tx) error { return dropMail(tx, id) }))
	case refused.Code == relay.CodeNotFound: // it is kept no longer
		info = relay.SessionInfo{Session: id, Parties: r.Parties, Expires: r.Expires, Ended: n.now().UTC(), Why: relay.EndExpired}
		err = nil
	}
	if err != nil {
		return err
	}
	if len(info.Parties) == 0 || r.From != "" && wire.PlainDIDKey(info.Parties[0].Agent) != wire.PlainDIDKey(r.From) {
		c.accuseMail(ctx, &relay.Misconduct{Kind: relay.Foreign, Session: id})
		return refuse(CodeMisconduct, "the session at the relay is another agent's than the invitation says")
	}
	ctx = context.WithoutCancel(ctx)
	if err := n.mayKeepMail(ctx, &r, info.Parties[0].Agent); err != nil {
		return err // and not that there is no such session, if news of the relay came first
	}
	return c.noteMail(ctx, info)
}

// liveMail calls f with the mail sessions in which something may happen.
func (n *Node) liveMail(f func(*mailRecord)) error {
	return each(n.disk, bucketMail, "", func(_ string, r *mailRecord) bool {
		if _, over := r.over(n.now()); !over {
			f(r)
		}
		return true
	})
}

// settleAllMail takes up the live mail sessions of a relay, when it is there again: what
// happened before is not told.
func (c *carrier) settleAllMail(ctx context.Context) {
	n := c.node
	var ids []wire.SessionID
	err := n.liveMail(func(r *mailRecord) {
		if r.Relay == c.url {
			ids = append(ids, r.Session)
		}
	})
	for _, id := range ids {
		if err == nil && ctx.Err() == nil {
			if err := n.settleMail(ctx, id); err != nil && ctx.Err() == nil {
				n.log.Info("a mail session could not be taken up", "session", id, "why", kindOf(err))
			}
		}
	}
	if err != nil {
		n.log.Error("reading the mail sessions", "why", kindOf(err))
	}
}

// dropMail forgets a mail session and its letters.
func dropMail(tx *bolt.Tx, id wire.SessionID) error {
	prefix := []byte(string(id) + "\x00")
	for _, bucket := range [][]byte{bucketLetters, bucketLetterTexts, bucketLetterIDs} {
		var keys [][]byte
		c := tx.Bucket(bucket).Cursor()
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		for _, k := range keys {
			if err := tx.Bucket(bucket).Delete(k); err != nil {
				return err
			}
		}
	}
	return tx.Bucket(bucketMail).Delete([]byte(id))
}
