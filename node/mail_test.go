package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// mailed waits until a mail session of a node is as a test wants it.
func (p *party) mailed(id wire.SessionID, what string, as func(node.MailView) bool) node.MailView {
	p.w.Helper()
	for {
		changed := node.MailChanged(p.Node)
		v := must[node.MailView](p.w)(p.MailSession(p.w.ctx, id))
		if as(v) {
			return v
		}
		select {
		case <-changed:
		case <-p.w.ctx.Done():
			p.w.Fatalf("the mail session never had %s: %+v", what, v)
		}
	}
}

// invitedTo waits for an invitation to mail.
func (p *party) invitedTo(id wire.SessionID) node.Invitation {
	p.w.Helper()
	for after := uint64(0); ; {
		for _, i := range must[[]node.Invitation](p.w)(p.MailInvitations(p.w.ctx)) {
			if i.Session == id {
				return i
			}
		}
		list := must[[]node.Notice](p.w)(p.Notices(p.w.ctx, after, 0))
		if len(list) == 0 {
			p.w.Fatalf("no invitation to %q came", id)
		}
		after = list[len(list)-1].Number
	}
}

// meet brings two nodes together in a mail session.
func (w *world) meet(from, to *party) wire.SessionID {
	w.Helper()
	v := must[node.MailView](w)(from.CreateMail(w.ctx, node.MailOpening{To: must[node.Self](w)(to.Self(w.ctx)).Agent, Seconds: 7 * 86400}))
	to.invitedTo(v.Session)
	must[node.MailView](w)(to.JoinMail(w.ctx, v.Session))
	return v.Session
}

func note(id wire.SessionID, payload wire.M) node.Letter {
	return node.Letter{Session: id, Type: "note", Payload: encoded(payload)}
}

// A letter that has no room in the directory stays at the relay and is read there, the
// same; when the relay keeps it no longer, that is told.
func TestMailRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	gate := w.gate()
	ann, bob := w.party("ann", nil), w.party("bob", func(o *node.Options) { o.Relay = gate.URL })
	id := w.meet(ann, bob)
	const letters = 80 // with more than 4 MiB
	for i := range letters {
		must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, wire.M{"n": i, "x": strings.Repeat("x", 60_000)})))
	}
	v := bob.mailed(id, "all letters", func(v node.MailView) bool { return v.Letters == letters })
	if v.Kept > 4<<20 || v.Unread != letters {
		t.Errorf("%d bytes are kept, %d unread", v.Kept, v.Unread)
	}
	var had uint64
	for n := 0; n < letters; {
		b := must[node.MailBatch](w)(bob.ReceiveMail(w.ctx, node.MailQuery{Had: []node.MailHad{{Session: id, Number: had}}}))
		if len(b.Entries) == 0 || b.More != (n+len(b.Entries) < letters) {
			t.Fatalf("%d letters behind %d, more %v", len(b.Entries), n, b.More)
		}
		for _, e := range b.Entries {
			if got, _ := e.Payload().Get("n"); got.Canonical() != fmt.Sprint(n) || e.Number != uint64(n+1) {
				t.Fatalf("letter %d is number %d: %.100s", n, e.Number, e.Entry)
			}
			n, had = n+1, e.Number
		}
	}
	doc := must[wire.Value](w)(bob.MailDocument(w.ctx, id))
	if list, err := node.VerifyMail(doc, wire.DIDKeys{}); err != nil || len(list) != letters {
		t.Errorf("the document has %d letters (%v)", len(list), err)
	}

	gate.close()
	if list, err := bob.MailEntries(w.ctx, id, 1, 1); err != nil || len(list) != 1 {
		t.Errorf("a letter that is here, without a relay: %v, %v", list, err)
	}
	short, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := bob.MailEntries(short, id, letters, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a letter that is not here, without a relay: %v", err)
	}
	gate.shut.Store(false)

	w.must(node.SpoilLetter(bob.Node, id, letters-1))
	if _, err := bob.MailEntries(w.ctx, id, letters-1, 1); code(err) != node.CodeMisconduct {
		t.Errorf("the relay shows another letter: %v", err)
	}
	if list, err := node.VerifyMail(must[wire.Value](w)(bob.MailDocument(w.ctx, id)), wire.DIDKeys{}); err != nil || len(list) != letters-1 {
		t.Errorf("the document has %d letters (%v)", len(list), err)
	}

	must[node.MailView](w)(ann.CloseMail(w.ctx, id, ""))
	bob.mailed(id, "an end", func(v node.MailView) bool { return v.State == node.MailConcluded })
	w.forward(31 * 24 * time.Hour)
	must[relay.Swept](w)(w.mail.Sweep(w.ctx))
	list := must[[]node.MailEntry](w)(bob.MailEntries(w.ctx, id, 1, letters))
	if len(list) != letters || list[0].Entry.Kind() == wire.Absent || list[letters-1].Entry.Kind() != wire.Absent {
		t.Errorf("%d letters when the relay has none", len(list))
	}
	doc = must[wire.Value](w)(bob.MailDocument(w.ctx, id))
	kept, err := node.VerifyMail(doc, wire.DIDKeys{})
	lost, _ := doc.Get("lost")
	if err != nil || len(kept)+lost.Len() != letters || lost.Len() == 0 {
		t.Errorf("the document has %d letters and has lost %d (%v)", len(kept), lost.Len(), err)
	}
}

// There is one notice of letters until the caller says that it had them.
func TestMailNotices(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(ann, bob)
	count := func() (n int) {
		for _, x := range must[[]node.Notice](w)(bob.Notices(w.ctx, 0, 0)) {
			if x.Kind == node.MailCame {
				n++
			}
		}
		return n
	}
	sends := func(n int) {
		for range n {
			must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, nil)))
		}
	}
	sends(20)
	v := bob.mailed(id, "letters", func(v node.MailView) bool { return v.Unread == 20 })
	if n := count(); n != 1 {
		t.Errorf("%d notices of 20 letters", n)
	}
	must[node.MailBatch](w)(bob.ReceiveMail(w.ctx, node.MailQuery{Had: []node.MailHad{{Session: id, Number: uint64(v.Letters)}}}))
	sends(5)
	bob.mailed(id, "more", func(v node.MailView) bool { return v.Unread == 5 })
	if n := count(); n != 2 {
		t.Errorf("%d notices after the first were acknowledged", n)
	}
	must[node.MailEntry](w)(bob.SendMail(w.ctx, note(id, nil)))
	bob.mailed(id, "its own", func(v node.MailView) bool { return v.Letters == 26 })
	if n := count(); n != 2 {
		t.Errorf("%d notices after a letter of its own", n)
	}
}

// What happened while a node was not running, or its relay was not there, is known once
// both are; what was to be made or joined is.
func TestMailIsTakenUp(t *testing.T) {
	w := newWorld(t)
	gate := w.gate()
	ann, bob := w.party("ann", func(o *node.Options) { o.Relay = gate.URL }), w.party("bob", nil)
	gate.close()
	o := node.MailOpening{Session: "relay_later", To: agent("bob")}
	short, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := ann.CreateMail(short, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("made without a relay: %v", err)
	}
	ann.end()
	gate.shut.Store(false)
	ann.start()
	bob.invitedTo(o.Session)
	ann.mailed(o.Session, "a reservation", func(v node.MailView) bool { return !v.Expires.IsZero() })
	if v := must[node.MailView](w)(ann.CreateMail(w.ctx, o)); v.State != node.MailPending {
		t.Errorf("made again: %+v", v)
	}
	ann.end()
	must[node.MailView](w)(bob.JoinMail(w.ctx, o.Session))
	must[node.MailView](w)(bob.JoinMail(w.ctx, o.Session))
	must[node.MailEntry](w)(bob.SendMail(w.ctx, note(o.Session, wire.M{"n": 1})))
	ann.start()
	b := must[node.MailBatch](w)(ann.ReceiveMail(w.ctx, node.MailQuery{Session: o.Session, Wait: true}))
	if len(b.Entries) != 1 {
		t.Errorf("received %+v", b)
	}
	ann.mailed(o.Session, "both", func(v node.MailView) bool { return v.State == node.MailActive })
	ann.sees(node.MailJoined)
	must[node.MailView](w)(bob.CloseMail(w.ctx, o.Session, ""))
	ann.mailed(o.Session, "an end", func(v node.MailView) bool { return v.State == node.MailConcluded && v.Why == relay.EndClosed })
	ann.sees(node.MailEnded)
	if _, err := ann.SendMail(w.ctx, note(o.Session, nil)); code(err) != node.CodeEnded {
		t.Errorf("sent behind the end: %v", err)
	}
}

// The same letter under the same id exists once: also across a restart, and when the first
// one has not come back yet.
func TestLetterOnce(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(ann, bob)
	l := note(id, wire.M{"n": 1})
	l.ID = "rmsg_1"
	first := must[node.MailEntry](w)(ann.SendMail(w.ctx, l))
	again := func(when string) {
		t.Helper()
		w.forward(2 * time.Second) // another time would make another enclosure
		if e := must[node.MailEntry](w)(ann.SendMail(w.ctx, l)); e.Number != first.Number || !e.Entry.Equal(first.Entry) {
			t.Errorf("%s it is %+v, and was %+v", when, e, first)
		}
		other := note(id, wire.M{"n": 2})
		other.ID = l.ID
		if _, err := ann.SendMail(w.ctx, other); code(err) != node.CodeBadRequest {
			t.Errorf("%s another under its id: %v", when, err)
		}
	}
	again("at once")
	ann.mailed(id, "it", func(v node.MailView) bool { return v.Letters == 1 })
	again("when it has come back")
	ann.restart()
	again("after a restart")
	w.must(node.ForgetLetters(ann.Node, id))
	again("when nothing has come back")
}

// A relay that shows a letter twice does not have it said twice, even if the node was not
// running all the time; what is kept verifies.
func TestLetterReplayed(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(ann, bob)
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, wire.M{"pay": 5})))
	bob.mailed(id, "it", func(v node.MailView) bool { return v.Letters == 1 })
	bob.restart()
	w.must(node.ShowAgain(bob.Node, id, 1, 2))
	if v := must[node.MailView](w)(bob.MailSession(w.ctx, id)); v.Letters != 1 || v.Misconduct != string(relay.Replayed) {
		t.Errorf("shown twice: %+v", v)
	}
	bob.sees(node.RelayMisconduct)
	if _, err := node.VerifyMail(must[wire.Value](w)(bob.MailDocument(w.ctx, id)), wire.DIDKeys{}); err != nil {
		t.Errorf("the document: %v", err)
	}
}

// A letter that cannot be read keeps those of others from nobody, and what is behind it is
// not acknowledged before it.
func TestLetterInTheWay(t *testing.T) {
	w := newWorld(t)
	gate := w.gate()
	ann, bob := w.party("ann", nil), w.party("bob", func(o *node.Options) { o.Relay = gate.URL })
	eve := w.party("eve", nil)
	first, second := w.meet(eve, bob), w.meet(ann, bob)
	for _, l := range []struct {
		from *party
		id   wire.SessionID
	}{{eve, first}, {eve, first}, {eve, first}, {ann, second}} {
		must[node.MailEntry](w)(l.from.SendMail(w.ctx, note(l.id, nil)))
	}
	bob.mailed(first, "letters", func(v node.MailView) bool { return v.Unread == 3 })
	bob.mailed(second, "a letter", func(v node.MailView) bool { return v.Unread == 1 })
	w.must(node.SpoilLetter(bob.Node, first, 2))
	w.must(node.MoveLetter(bob.Node, first, 2))
	receive := func(had ...node.MailHad) (node.MailBatch, error) {
		return bob.ReceiveMail(w.ctx, node.MailQuery{Had: had})
	}
	b := must[node.MailBatch](w)(receive())
	if len(b.Entries) != 2 || !b.More || b.Entries[0].Number != 1 || b.Entries[1].Number != 1 {
		t.Errorf("received %+v", b)
	}
	if _, err := receive(node.MailHad{Session: first, Number: 1}, node.MailHad{Session: second, Number: 1}); code(err) != node.CodeMisconduct {
		t.Errorf("when there is nothing else: %v", err)
	}
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(second, nil)))
	bob.mailed(second, "another letter", func(v node.MailView) bool { return v.Unread == 1 })
	gate.close()
	if b := must[node.MailBatch](w)(receive()); len(b.Entries) != 1 || b.Entries[0].Session != second || !b.More {
		t.Errorf("received without a relay: %+v", b)
	}
	gate.shut.Store(false)
}

// Who makes a mail session is heard only if the node listens to it, also if that is known
// only when the node has been started again.
func TestMailPlaceOfStranger(t *testing.T) {
	w := newWorld(t)
	gate := w.gate()
	ann := w.party("ann", nil)
	bob := w.party("bob", func(o *node.Options) { o.Relay, o.Policy.Unknown = gate.URL, node.Refuse })
	id := must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{})).Session
	gate.close()
	short, cancel := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := bob.JoinMail(short, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("joined without a relay: %v", err)
	}
	bob.end()
	gate.shut.Store(false)
	bob.start()
	for {
		changed := node.MailChanged(bob.Node)
		if len(must[[]node.MailView](w)(bob.MailSessions(w.ctx))) == 0 {
			break
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			t.Fatal("a stranger's mail session stays")
		}
	}
}

// A letter whose sender's key is not known waits until it is.
func TestLetterOfUnknownKey(t *testing.T) {
	w := newWorld(t)
	ann := w.party("ann", func(o *node.Options) { o.Agent = "ann" })
	public := key("ann").Public().String()
	knows := func(p *party, keys ...node.ContactKey) {
		w.must(p.SetContact(w.ctx, node.Contact{Agent: "ann", Keys: keys}))
	}
	bob := w.party("bob", nil)
	knows(bob, node.ContactKey{Key: public})
	id := w.meet(ann, bob)
	knows(bob, node.ContactKey{Key: public, Until: w.now().Add(-time.Hour)})
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, nil)))
	knows(bob, node.ContactKey{Key: public})
	b := must[node.MailBatch](w)(bob.ReceiveMail(w.ctx, node.MailQuery{Wait: true}))
	if len(b.Entries) != 1 {
		t.Errorf("received %+v", b)
	}
}

// There are as many mail sessions as are kept, and then the oldest makes room that is over
// and read.
func TestMailBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(bob, ann)
	must[node.MailEntry](w)(bob.SendMail(w.ctx, note(id, nil)))
	ann.mailed(id, "a letter", func(v node.MailView) bool { return v.Unread == 1 })
	must[node.MailView](w)(bob.CloseMail(w.ctx, id, ""))
	ann.mailed(id, "an end", func(v node.MailView) bool { return v.State == node.MailConcluded })
	create := func() (node.MailView, error) { return ann.CreateMail(w.ctx, node.MailOpening{Seconds: 3600}) }
	eve := w.party("eve", nil)
	denied := w.meet(eve, ann)
	must[node.MailEntry](w)(eve.SendMail(w.ctx, note(denied, nil)))
	ann.mailed(denied, "a letter", func(v node.MailView) bool { return v.Unread == 1 })
	must[node.MailView](w)(eve.CloseMail(w.ctx, denied, ""))
	ann.mailed(denied, "an end", func(v node.MailView) bool { return v.State == node.MailConcluded })
	for range node.MaxMail - 2 {
		must[node.MailView](w)(create())
	}
	if _, err := create(); code(err) != node.CodeRefused {
		t.Errorf("one too many while all have unread letters: %v", err)
	}
	w.must(ann.SetContact(w.ctx, node.Contact{Agent: agent("eve"), Consent: node.Denied}))
	must[node.MailView](w)(create()) // nobody will read what is denied
	if _, err := create(); code(err) != node.CodeRefused {
		t.Errorf("one too many: %v", err)
	}
	must[node.MailBatch](w)(ann.ReceiveMail(w.ctx, node.MailQuery{Had: []node.MailHad{{Session: id, Number: 1}}}))
	must[node.MailView](w)(create())
	if _, err := ann.MailSession(w.ctx, id); code(err) != node.CodeNotFound {
		t.Errorf("the one that was over and read: %v", err)
	}
	if n := node.KeptLetters(ann.Node); n != 0 {
		t.Errorf("%d letters of it are left", n)
	}
	w.forward(2 * time.Hour) // all are over
	must[node.MailView](w)(create())
	if list := must[[]node.MailView](w)(ann.MailSessions(w.ctx)); len(list) != node.MaxMail || list[0].State != node.MailTimedOut || list[len(list)-1].State != node.MailPending {
		t.Errorf("%d mail sessions", len(list))
	}
}

// An archive is kept for as many days as were asked for.
func TestMailArchiveDays(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(ann, bob)
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, wire.M{"n": 1})))
	must[node.MailView](w)(ann.CloseMail(w.ctx, id, "done"))
	for _, days := range []int{0, -1, 1 << 20} {
		if _, err := ann.ArchiveMail(w.ctx, id, days); code(err) != node.CodeBadRequest {
			t.Errorf("for %d days: %v", days, err)
		}
	}
	a := must[node.MailArchive](w)(ann.ArchiveMail(w.ctx, id, 2))
	if a.Letters != 1 || a.Why != relay.EndClosed || a.Note != "done" || a.Bytes == 0 || len(a.Parties) != 2 || a.Parties[0].Letters != 1 {
		t.Errorf("the archive: %+v", a)
	}
	ann.restart()
	doc := must[wire.Value](w)(ann.ArchivedMail(w.ctx, a.ID))
	if len(doc.Canonical()) != a.Bytes {
		t.Errorf("%d bytes of %d", len(doc.Canonical()), a.Bytes)
	}
	w.forward(48*time.Hour - time.Minute)
	if list := must[[]node.MailArchive](w)(ann.MailArchives(w.ctx, 0)); len(list) != 1 {
		t.Errorf("before the days are over: %+v", list)
	}
	w.forward(time.Minute)
	if list := must[[]node.MailArchive](w)(ann.MailArchives(w.ctx, 0)); len(list) != 0 {
		t.Errorf("when they are: %+v", list)
	}
	if _, err := ann.ArchivedMail(w.ctx, a.ID); code(err) != node.CodeNotFound {
		t.Errorf("when they are: %v", err)
	}
	later := must[node.MailArchive](w)(ann.ArchiveMail(w.ctx, id, 1))
	if later.ID != a.ID || !later.At.After(a.At) {
		t.Errorf("archived anew: %+v", later)
	}
}

// Whoever sends more than an archive can have, in bytes or in values, keeps nobody from
// archiving the session: what fits is kept and can be read, and the rest is named.
func TestMailArchiveOfFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	id := w.meet(ann, bob)
	must[node.MailEntry](w)(bob.SendMail(w.ctx, note(id, wire.M{"first": true})))
	values := encoded(wire.M{"x": make([]int, 32_000)})
	n := node.MailValues/32_000 + 3
	for range n {
		must[node.MailEntry](w)(ann.SendMail(w.ctx, node.Letter{Session: id, Type: "note", Payload: values}))
	}
	last := must[node.MailEntry](w)(bob.SendMail(w.ctx, note(id, wire.M{"last": true})))
	must[node.MailView](w)(bob.CloseMail(w.ctx, id, ""))
	a := must[node.MailArchive](w)(bob.ArchiveMail(w.ctx, id, 1))
	if a.Letters+a.LeftOut != n+2 || a.LeftOut < 3 || a.LeftOut > 6 {
		t.Errorf("archived: %+v", a)
	}
	doc := must[wire.Value](w)(bob.ArchivedMail(w.ctx, a.ID))
	list, err := node.VerifyMail(doc, wire.DIDKeys{})
	if err != nil || len(list) != a.Letters || list[len(list)-1].ID != last.ID {
		t.Errorf("%d letters (%v)", len(list), err)
	}
	if leftOut, _ := doc.Get("left_out"); leftOut.Len() != a.LeftOut {
		t.Errorf("left out: %s", leftOut)
	}
}

// Whom the policy does not let invite, it does not let invite to mail.
func TestMailPolicy(t *testing.T) {
	w := newWorld(t)
	ann := w.party("ann", nil)
	bob := w.party("bob", func(o *node.Options) { o.Policy.Unknown = node.Refuse })
	v := must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{To: agent("bob")}))
	ann.mailed(v.Session, "a no", func(v node.MailView) bool { return v.State == node.MailDeclined })
	open := must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{}))
	if _, err := bob.JoinMail(w.ctx, open.Session); code(err) != node.CodePolicy {
		t.Errorf("an open one: %v", err)
	}
	if list := must[[]node.MailView](w)(bob.MailSessions(w.ctx)); len(list) != 0 {
		t.Errorf("kept: %+v", list)
	}
	w.must(bob.SetContact(w.ctx, node.Contact{Agent: agent("ann"), Consent: node.Allowed}))
	v = must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{To: agent("bob")}))
	if i := bob.invitedTo(v.Session); !i.Known {
		t.Errorf("invited by a contact: %+v", i)
	}
	w.must(bob.DeclineMail(w.ctx, v.Session))
	if err := bob.DeclineMail(w.ctx, v.Session); code(err) != node.CodeNotFound {
		t.Errorf("declined twice: %v", err)
	}
	ann.mailed(v.Session, "a no", func(v node.MailView) bool { return v.State == node.MailDeclined })

	// Nor whom it denies later.
	v = must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{To: agent("bob")}))
	bob.invitedTo(v.Session)
	w.must(bob.SetContact(w.ctx, node.Contact{Agent: agent("ann"), Consent: node.Denied}))
	if list := must[[]node.Invitation](w)(bob.MailInvitations(w.ctx)); len(list) != 0 {
		t.Errorf("shown: %+v", list)
	}
	if _, err := bob.JoinMail(w.ctx, v.Session); code(err) != node.CodePolicy {
		t.Errorf("joined: %v", err)
	}
	// A node without a home relay has no mail.
	alone := w.party("alone", func(o *node.Options) { o.Relay = "" })
	if _, err := alone.CreateMail(w.ctx, node.MailOpening{}); code(err) != node.CodeBadRequest {
		t.Errorf("without a relay: %v", err)
	}
}

// A document of mail that verifies has letters that verify.
func FuzzVerifyMail(f *testing.F) {
	for _, seed := range mailSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := wire.Parse([]byte(text), wire.DocumentLimits)
		if err != nil {
			return
		}
		list, err := node.VerifyMail(v, wire.DIDKeys{})
		if err != nil {
			return
		}
		for _, e := range list {
			if _, err := relay.VerifyEnclosure(e.Entry, wire.DIDKeys{}); err != nil || e.Payload().Kind() != wire.Object {
				t.Errorf("%+v: %v", e, err)
			}
		}
	})
}

var mailSeeds = func() (seeds []string) {
	var entries []any
	for n := range 2 {
		e, err := relay.Enclosure{
			ID: wire.MessageID(fmt.Sprintf("m%d", n)), Session: "relay_1", From: agent("ann"), Time: time.Unix(1e9, 0), Kind: "mail",
			Content: encoded(wire.M{"message_type": "note", "payload": wire.M{"n": n}}),
		}.Sign(key("ann"))
		if err != nil {
			panic(err)
		}
		entries = append(entries, wire.M{"number": n + 1, "appended_at": "2001-09-09T01:46:40Z", "entry": e.Value()})
		doc := wire.M{"concordia_mail": node.MailVersion, "session_id": "relay_1", "initiator": agent("ann"), "parties": []any{}, "entries": entries}
		seeds = append(seeds, encoded(doc).Canonical())
	}
	return seeds
}()

// The seeds are documents that verify.
func TestMailSeeds(t *testing.T) {
	for i, seed := range mailSeeds {
		if list, err := node.VerifyMail(parsed(seed), wire.DIDKeys{}); err != nil || len(list) != i+1 {
			t.Errorf("%d letters, %v", len(list), err)
		}
	}
}

// A relay that says of an invitation that it is of somebody else, who is known, say, does
// not get a stranger heard by that.
func TestMailOfAnother(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.party("ann", nil), w.party("bob", nil)
	other := w.meet(ann, bob) // from here on bob does not ask which invitations stand
	const id = "relay_lie"
	w.must(node.InvitedBy(bob.Node, w.url, relay.Invitation{Session: id, From: agent("eve"), Created: w.now(), Expires: w.now().Add(time.Hour)}))
	must[node.MailView](w)(ann.CreateMail(w.ctx, node.MailOpening{Session: id, To: agent("bob")}))
	if _, err := bob.JoinMail(w.ctx, id); code(err) != node.CodeMisconduct {
		t.Errorf("joined: %v", err)
	}
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(id, nil)))
	must[node.MailEntry](w)(ann.SendMail(w.ctx, note(other, nil)))
	b := must[node.MailBatch](w)(bob.ReceiveMail(w.ctx, node.MailQuery{Wait: true}))
	if len(b.Entries) != 1 || b.Entries[0].Session != other {
		t.Errorf("received: %+v", b)
	}
	v := bob.mailed(id, "misconduct", func(v node.MailView) bool { return v.Misconduct != "" })
	if v.Letters != 0 {
		t.Errorf("its letters: %+v", v)
	}
}
