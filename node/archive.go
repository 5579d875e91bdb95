package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/concordia-node/concordia/internal/groupcommit"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// mailEntry is a letter without its text.
func (n *Node) mailEntry(id wire.SessionID, number uint64, l *letterRecord) *MailEntry {
	return &MailEntry{Session: id, Number: number, ID: l.ID, From: l.From, Own: l.From == n.agent, Appended: l.Appended, size: l.Size}
}

// fill reads the text of a letter: here, or where there was no room for it at the relay.
func (n *Node) fill(ctx context.Context, e *MailEntry) error {
	var l letterRecord
	var r mailRecord
	var text []byte
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		text = slices.Clone(tx.Bucket(bucketLetterTexts).Get([]byte(letterKey(e.Session, e.Number))))
		if _, err := get(tx, bucketLetters, letterKey(e.Session, e.Number), &l); err != nil {
			return err
		}
		_, err := get(tx, bucketMail, string(e.Session), &r)
		return err
	})
	if err != nil {
		return err
	}
	if text != nil {
		if e.Entry, err = wire.Parse(text, wire.DocumentLimits); err != nil {
			return fmt.Errorf("reading a letter: %w", err)
		}
		return nil
	}
	c, err := n.carrier(r.Relay)
	if err != nil {
		return err
	}
	list, _, err := c.client.Read(ctx, e.Session, e.Number, 1)
	if isGone(err) {
		return nil // the relay keeps it no longer
	}
	if err != nil {
		return fmt.Errorf("reading a letter at the relay: %w", err)
	}
	if len(list) != 1 || list[0].Enclosure == nil || list[0].Enclosure.Hash() != l.Hash {
		return refuse(CodeMisconduct, "the relay does not show the letter that it has shown before")
	}
	e.Entry = list[0].Enclosure.Value()
	return nil
}

// ReceiveMail implements [Mail].
func (n *Node) ReceiveMail(ctx context.Context, q MailQuery) (MailBatch, error) {
	if q.Session != "" {
		if _, err := n.mailRecord(q.Session); err != nil {
			return MailBatch{}, n.failed(err)
		}
	}
	if len(q.Had) > 0 {
		if err := n.acknowledge(ctx, q.Had); err != nil {
			return MailBatch{}, n.failed(err)
		}
	}
	for {
		_, rung := n.letters.hear()
		b, err := n.unread(q.Session, most(q.Most))
		if err == nil {
			err = n.fillUnread(ctx, &b)
		}
		if err != nil || len(b.Entries) > 0 || !q.Wait {
			return b, n.failed(err)
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return MailBatch{}, nil
		case <-n.stopping:
			return MailBatch{}, n.failed(errStopping)
		}
	}
}

// acknowledge notes that the caller had letters: all at once or none.
func (n *Node) acknowledge(ctx context.Context, list []MailHad) error {
	return n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			for _, h := range list {
				var r mailRecord
				switch known, err := get(tx, bucketMail, string(h.Session), &r); {
				case err != nil:
					return err
				case !known:
					return errNoMail
				case h.Number > r.At.Number:
					return refuse(CodeBadRequest, "a letter is acknowledged that has not come yet")
				}
			}
			return nil
		},
		Apply: func(tx *bolt.Tx) error {
			for _, h := range list {
				var r mailRecord
				if _, err := get(tx, bucketMail, string(h.Session), &r); err != nil {
					return err
				}
				r.Had, r.Told = max(r.Had, h.Number), false
				if err := put(tx, bucketMail, string(h.Session), &r); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// unread returns letters without their texts that the caller has not had, of one mail
// session or of all in turn, so that no sender keeps the others waiting.
func (n *Node) unread(session wire.SessionID, most int) (MailBatch, error) {
	var queues [][]MailEntry
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		return eachIn(tx, bucketMail, func(_ string, r *mailRecord) error {
			if session != "" && r.Session != session {
				return nil
			}
			var queue []MailEntry
			err := letters(tx, r.Session, r.Had, func(number uint64, l *letterRecord) bool {
				if l.From != n.agent && n.standingOf(l.From) != Denied {
					queue = append(queue, *n.mailEntry(r.Session, number, l))
				}
				return len(queue) <= most
			})
			if len(queue) > 0 {
				queues = append(queues, queue)
			}
			return err
		})
	})
	var b MailBatch
	for i := 0; ; i++ {
		left := false
		for _, queue := range queues {
			if i >= len(queue) {
				continue
			}
			if len(b.Entries) == most {
				b.More = true
				return b, err
			}
			b.Entries, left = append(b.Entries, queue[i]), true
		}
		if !left {
			return b, err
		}
	}
}

// fillUnread reads the texts of a batch: as many as fit of those that are here, or, if none
// is, of those that are at the relay. A session whose letter cannot be read keeps those of
// others from nobody; what is behind that letter waits with it.
func (n *Node) fillUnread(ctx context.Context, b *MailBatch) error {
	var failed error
	for _, here := range []bool{true, false} {
		var list []MailEntry
		waits := map[wire.SessionID]bool{}
		size := 0
		for i := range b.Entries {
			e := &b.Entries[i]
			if waits[e.Session] {
				continue
			}
			err := errElsewhere
			if !here || n.isHere(e) {
				err = n.fill(ctx, e)
			}
			if err != nil {
				if waits[e.Session] = true; err != errElsewhere && failed == nil {
					failed = err
				}
				continue
			}
			if size += len(e.Entry.Canonical()); len(list) > 0 && size > maxMailBatch {
				break
			}
			list = append(list, *e)
		}
		if len(list) > 0 {
			b.More = b.More || len(list) < len(b.Entries)
			b.Entries = list
			return nil
		}
	}
	b.Entries = nil
	return failed
}

var errElsewhere = errors.New("the letter is at the relay")

// isHere reports whether there is the text of a letter.
func (n *Node) isHere(e *MailEntry) (here bool) {
	_ = n.disk.db.View(func(tx *bolt.Tx) error { // who reads it is told
		here = tx.Bucket(bucketLetterTexts).Get([]byte(letterKey(e.Session, e.Number))) != nil
		return nil
	})
	return here
}

// fillBatch reads the texts of a batch, as many as fit.
func (n *Node) fillBatch(ctx context.Context, b *MailBatch) error {
	size := 0
	for i := range b.Entries {
		err := n.fill(ctx, &b.Entries[i])
		size += len(b.Entries[i].Entry.Canonical())
		if i > 0 && (err != nil || size > maxMailBatch) {
			b.Entries, b.More = b.Entries[:i], true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heard returns the letters of a mail session without their texts, from a number on: those
// of agents that are denied are not heard.
func (n *Node) heard(id wire.SessionID, from uint64, most int) (r mailRecord, list []MailEntry, err error) {
	err = n.disk.db.View(func(tx *bolt.Tx) error {
		known, err := get(tx, bucketMail, string(id), &r)
		if err == nil && !known {
			err = errNoMail
		}
		if err != nil {
			return err
		}
		return letters(tx, id, max(from, 1)-1, func(number uint64, l *letterRecord) bool {
			if n.standingOf(l.From) != Denied {
				list = append(list, *n.mailEntry(id, number, l))
			}
			return most == 0 || len(list) < most
		})
	})
	return r, list, err
}

// MailEntries implements [Mail].
func (n *Node) MailEntries(ctx context.Context, id wire.SessionID, from uint64, many int) ([]MailEntry, error) {
	_, list, err := n.heard(id, from, most(many))
	b := MailBatch{Entries: list}
	if err == nil {
		err = n.fillBatch(ctx, &b)
	}
	return b.Entries, n.failed(err)
}

// MailVersion is what documents of mail say in "concordia_mail".
const MailVersion = "0.1.0"

// MailDocument implements [Mail].
func (n *Node) MailDocument(ctx context.Context, id wire.SessionID) (wire.Value, error) {
	v, _, _, err := n.mailDocument(ctx, id)
	return v, n.failed(err)
}

// mailDocument makes the document of a mail session, and says how many letters it has, and
// how many had no room in it: whoever sends much keeps what else was said from nobody.
func (n *Node) mailDocument(ctx context.Context, id wire.SessionID) (doc wire.Value, count, without int, err error) {
	r, list, err := n.heard(id, 1, 0)
	if err != nil {
		return doc, 0, 0, err
	}
	entries, lost, leftOut := []any{}, []uint64{}, []uint64{}
	size, values := 0, 0
	for i := range list {
		e := &list[i]
		fits := size+e.size <= maxMailDocument
		if fits {
			switch err := n.fill(ctx, e); {
			case isMisconduct(err):
				e.Entry = wire.Value{} // the relay does not show it: that keeps the others from nobody
			case err != nil:
				return doc, 0, 0, err
			}
			commas := strings.Count(e.Entry.Canonical(), ",")
			if fits = values+commas <= maxMailValues; fits {
				size, values = size+e.size, values+commas
			}
		}
		if !fits {
			leftOut = append(leftOut, e.Number)
			e.Entry = wire.Value{}
			continue
		}
		if e.Entry.Kind() == wire.Absent {
			lost = append(lost, e.Number)
			continue
		}
		entries = append(entries, wire.M{"number": e.Number, "appended_at": wire.FormatTime(e.Appended), "entry": e.Entry})
	}
	m := wire.M{
		"concordia_mail": MailVersion, "session_id": id, "initiator": r.From, "parties": r.Parties,
		"created_at": wire.FormatTime(r.Began), "entries": entries,
	}
	if len(r.Parties) == 0 {
		m["parties"] = []any{}
	}
	if len(lost) > 0 {
		m["lost"] = lost
	}
	if len(leftOut) > 0 {
		m["left_out"] = leftOut
	}
	if why, over := r.over(n.now()); over {
		m["why"] = why
	}
	doc, err = wire.Encode(m)
	return doc, len(entries), len(leftOut), err
}

// isMisconduct reports whether a relay did not show what it had shown before.
func isMisconduct(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeMisconduct
}

// VerifyMail verifies a document of mail, such as an archive, offline: that each letter is
// of this session, signed by who it says, and there once, in the order of the numbers. Who
// was party, the numbers and when the letters were appended are the word of the relay, and
// of whoever made the document; that no letter is missing nobody can tell. (RFC 0001)
func VerifyMail(v wire.Value, keys wire.Keys) ([]MailEntry, error) {
	r := wire.Read(v, "", relay.RuleEnclosure)
	r.Open("concordia_mail", "session_id", "initiator", "entries")
	r.OneOf("concordia_mail", MailVersion)
	id := wire.ReadID[wire.SessionID](r, "session_id")
	wire.ReadID[wire.AgentID](r, "initiator")
	var list []MailEntry
	seen := map[wire.MessageID]bool{}
	for i, x := range r.Objects("entries") {
		at := fmt.Sprintf("/entries/%d/entry", i)
		entry := MailEntry{Session: id, Number: uint64(x.Int("number", 1, wire.MaxSafeInteger)), Appended: x.Time("appended_at"), Entry: x.Object("entry").Whole()}
		if r.Err() != nil {
			break
		}
		e, err := relay.VerifyEnclosure(entry.Entry, keys)
		if err != nil {
			if broken, ok := errors.AsType[*wire.Violation](err); ok {
				return nil, broken.Rule.Because(at+broken.At, broken.Err)
			}
			return nil, fmt.Errorf("verifying mail: %w", err)
		}
		switch {
		case readLetter(e) == nil:
			return nil, relay.RuleEnclosure.Because(at, errors.New("it is no letter"))
		case e.Session != id:
			return nil, wire.RuleSession.Because(at+"/session_id", errors.New("the letter is of another session"))
		case seen[e.ID]:
			return nil, wire.RuleMessageID.Because(at+"/id", errors.New("another letter has the id"))
		case len(list) > 0 && entry.Number <= list[len(list)-1].Number:
			return nil, relay.RuleEnclosure.Because(fmt.Sprintf("/entries/%d/number", i), errors.New("the letters are in the order of their numbers"))
		}
		seen[e.ID] = true
		entry.ID, entry.From = e.ID, e.From
		list = append(list, entry)
	}
	return list, r.Err()
}

// ArchiveMail implements [Mail].
func (n *Node) ArchiveMail(ctx context.Context, id wire.SessionID, days int) (MailArchive, error) {
	a, err := n.archiveMail(ctx, id, days)
	return a, n.failed(err)
}

var errArchives = refuse(CodeRefused, fmt.Sprintf("the node keeps at most %d archives, of at most %d bytes together, until their days are over", MaxArchives, maxArchived))

func (n *Node) archiveMail(ctx context.Context, id wire.SessionID, days int) (MailArchive, error) {
	if days < 1 || days > maxArchiveDays {
		return MailArchive{}, refuse(CodeBadRequest, fmt.Sprintf("an archive is kept for 1 to %d days", maxArchiveDays))
	}
	a := MailArchive{ID: "arch_" + wire.HashOf(string(n.agent) + string(id)).Hex()[:32]}
	if known, err := n.disk.get(bucketArchives, a.ID, &a); err != nil || known && !a.over(n.now()) {
		return a, err
	}
	r, err := n.whole(ctx, id)
	if err != nil {
		return MailArchive{}, err
	}
	why, over := r.over(n.now())
	if !over {
		return MailArchive{}, refuse(CodeBadRequest, "the mail session is not over: conclude it first")
	}
	doc, count, leftOut, err := n.mailDocument(ctx, id)
	if err != nil {
		return MailArchive{}, err
	}
	a = MailArchive{
		ID: a.ID, Session: id, About: r.About, Why: why, Note: r.Note, Letters: count, LeftOut: leftOut,
		Bytes: len(doc.Canonical()), At: n.now().UTC(), Days: days,
	}
	for _, p := range r.Parties {
		a.Parties = append(a.Parties, MailParty{p.Agent, p.Standing, r.Letters[wire.PlainDIDKey(p.Agent)]})
	}
	return a, n.disk.db.Commit(ctx, groupcommit.Op{
		Check: func(tx *bolt.Tx) error {
			all, size := 1, a.Bytes
			err := eachIn(tx, bucketArchives, func(key string, o *MailArchive) error {
				if key != a.ID && !o.over(n.now()) {
					all, size = all+1, size+o.Bytes
				}
				return nil
			})
			if err == nil && (all > MaxArchives || size > maxArchived) {
				err = errArchives
			}
			return err
		},
		Apply: func(tx *bolt.Tx) error {
			var past []string
			err := eachIn(tx, bucketArchives, func(key string, o *MailArchive) error {
				if o.over(n.now()) {
					past = append(past, key)
				}
				return nil
			})
			for _, key := range past {
				err = errors.Join(err, tx.Bucket(bucketArchives).Delete([]byte(key)), tx.Bucket(bucketArchiveTexts).Delete([]byte(key)))
			}
			if err != nil {
				return err
			}
			return errors.Join(put(tx, bucketArchives, a.ID, &a), tx.Bucket(bucketArchiveTexts).Put([]byte(a.ID), []byte(doc.Canonical())))
		},
	})
}

// whole waits until all letters of a mail session that the relay has are here.
func (n *Node) whole(ctx context.Context, id wire.SessionID) (r mailRecord, err error) {
	if r, err = n.mailRecord(id); err != nil || !r.Ended.IsZero() && r.At.Number >= r.Length {
		return r, err
	}
	if err := n.settleMail(ctx, id); err != nil {
		return r, err
	}
	for {
		_, rung := n.letters.hear()
		if r, err = n.mailRecord(id); err != nil || r.At.Number >= r.Length || r.Misconduct != "" {
			return r, err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return r, context.Cause(ctx)
		case <-n.stopping:
			return r, errStopping
		}
	}
}

// MailArchives implements [Mail].
func (n *Node) MailArchives(_ context.Context, many int) ([]MailArchive, error) {
	var list []MailArchive
	err := each(n.disk, bucketArchives, "", func(_ string, a *MailArchive) bool {
		if !a.over(n.now()) {
			list = append(list, *a)
		}
		return true
	})
	slices.SortStableFunc(list, func(a, b MailArchive) int { return b.At.Compare(a.At) })
	return list[:min(len(list), most(many))], n.failed(err)
}

// ArchivedMail implements [Mail].
func (n *Node) ArchivedMail(_ context.Context, archive string) (wire.Value, error) {
	var text []byte
	err := n.disk.db.View(func(tx *bolt.Tx) error {
		var a MailArchive
		known, err := get(tx, bucketArchives, archive, &a)
		if known && !a.over(n.now()) {
			text = slices.Clone(tx.Bucket(bucketArchiveTexts).Get([]byte(archive)))
		}
		return err
	})
	if err == nil && text == nil {
		err = refuse(CodeNotFound, "there is no such archive")
	}
	if err != nil {
		return wire.Value{}, n.failed(err)
	}
	v, err := wire.Parse(text, wire.DocumentLimits)
	return v, n.failed(err)
}
