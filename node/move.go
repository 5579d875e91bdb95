package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// Move implements [API].
func (n *Node) Move(ctx context.Context, m Move) (View, error) {
	l, err := n.acquire(m.Session)
	if err != nil {
		return View{}, n.failed(err)
	}
	defer n.release(l)
	m.Type = fullType(m.Type)
	if m.Type == wire.TypeOpen {
		return View{}, refuse(CodeBadRequest, "a session is opened once, when it is made")
	}
	if err := n.say(ctx, l, m); err != nil {
		return View{}, n.failed(err)
	}
	return n.view(l)
}

// fullType allows for "offer" in place of "negotiate.offer".
func fullType(t wire.MessageType) wire.MessageType {
	if !strings.Contains(string(t), ".") {
		return "negotiate." + t
	}
	return t
}

// say makes a move: it is signed, kept, sent, and comes back. Once it is kept, the node
// sees to it whatever becomes of the caller.
func (n *Node) say(ctx context.Context, l *live, m Move) error {
	select {
	case l.saying <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.stopping:
		return errStopping
	}
	held := true
	defer func() {
		if held {
			<-l.saying
		}
	}()
	l.mu.Lock()
	known := l.rec.Len
	stuck := l.rec.Pending.Kind() != wire.Absent
	l.mu.Unlock()
	if stuck {
		// What was said before and nobody heard of: now it is heard, or refused.
		if err := n.deliver(ctx, l); err == nil {
			return n.conflict(l, known)
		} else if _, refused := errors.AsType[*Error](err); !refused {
			return err
		}
	}
	if err := n.compose(ctx, l, m); err != nil {
		if errors.Is(err, errSaid) {
			return nil
		}
		return err
	}
	done := make(chan error, 1)
	n.hold(l)
	held = false
	if !n.begin(func(ctx context.Context) {
		defer n.release(l)
		err := n.deliver(ctx, l)
		<-l.saying
		done <- err
		n.attend(l)
	}) {
		<-l.saying
		n.release(l)
		return errStopping
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errSaid = errors.New("the same move was made before")

// compose signs a message at the end of the log, if the rules and the policy let it
// through, and keeps it as what is to be sent.
func (n *Node) compose(ctx context.Context, l *live, m Move) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.rec.Misconduct != "":
		return refuse(CodeMisconduct, "the relay of the session has misbehaved, and nothing goes on there")
	case l.rec.Closed != "":
		return &Error{Code: CodeEnded, Message: "nothing can follow in this session: " + l.rec.Closed, State: n.standing(l).State()}
	case l.rec.Len == 0 && m.Type != wire.TypeOpen:
		return &Error{Code: CodeRule, Message: "the session is not open yet: nobody has joined, or the open message is not here", State: session.Start}
	}
	if m.Tip != (wire.Hash{}) && m.Tip != l.log.Tip() {
		if m.ID != "" && n.said(l, m) {
			return errSaid
		}
		return n.conflictAt(l, n.lengthAt(l, m.Tip))
	}
	message, err := n.sign(l.log, m)
	if err == nil {
		err = l.log.Try(message, message.Time)
	}
	if errors.Is(err, wire.RuleMessageID) && m.ID != "" && n.said(l, m) {
		return errSaid
	}
	if err != nil {
		return err
	}
	if m.Type == wire.TypeCommit && l.log.Session().State() == session.Agreed && (l.rec.Sealed || l.rec.Signed == l.log.Tip()) {
		return refuse(CodePolicy, "the receipt is signed; nothing is left to commit")
	}
	if slices.ContainsFunc(l.log.Session().Parties(), n.runsReference) {
		if err := n.spare(l, m.Type); err != nil {
			return err
		}
	}
	if n.opts.Policy.asksForMandates() { // two sessions do not both take the last use of one
		n.relying.Lock()
		defer n.relying.Unlock()
	}
	relied, err := n.allow(l, message)
	if err != nil {
		return err
	}
	next := l.rec
	next.Pending, next.PendingAt = message.Value(), l.rec.Len
	var ch change
	for _, m := range relied {
		if !slices.Contains(next.Relied, m) {
			next.Relied = append(slices.Clip(next.Relied), m)
		}
	}
	ch.use(l.id, relied, true)
	return n.commit(ctx, l, next, ch)
}

// spare refuses what a party with the reference implementation could not follow. What it
// signed it cannot take back when another message came first, so that nobody speaks twice
// running, but to leave. And its session ends with the first commit. l is locked.
func (n *Node) spare(l *live, t wire.MessageType) error {
	s := l.log.Session()
	offer, by := s.Offer()
	answers := s.State() == session.Active && offer != nil && wire.PlainDIDKey(by) == n.agent // another's commit
	leaves := t == wire.TypeReject || t == wire.TypeWithdraw || t == wire.TypeDeclineSession
	switch {
	case t == wire.TypeCommit && !answers:
		return refuse(CodePolicy, "the other side runs the reference implementation, which knows no commit after an accept or another commit: accept instead")
	case l.rec.Len > 0 && wire.PlainDIDKey(l.rec.Last) == n.agent && !leaves:
		return refuse(CodePolicy, "the other side runs the reference implementation, which takes strict turns: it is to speak now")
	}
	return nil
}

// sign makes a message at the end of a log. Its time is now, but never before the
// session clock (SPEC §5.3).
func (n *Node) sign(log *session.Transcript, m Move) (*wire.Message, error) {
	s := log.Session()
	now := n.now()
	if s.Now().After(now) {
		now = s.Now()
	}
	if m.ID == "" {
		id, err := wire.NewID[wire.MessageID]("msg_", n.opts.Random)
		if err != nil {
			return nil, err
		}
		m.ID = id
	}
	body, err := n.complete(s, m)
	if err != nil {
		return nil, err
	}
	return wire.Sign(wire.Envelope{
		Type: m.Type, ID: m.ID, Session: s.ID(), Time: now, From: n.agent, To: m.to,
		PrevHash: log.Tip(), Body: body, Reasoning: m.Reasoning,
	}, n.opts.Key)
}

// complete adds to a body what can go without saying: the id of an offer, and of the
// offer that is accepted.
func (n *Node) complete(s session.Session, m Move) (wire.Value, error) {
	body := m.Body
	if body.Kind() == wire.Absent {
		body = emptyObject
	}
	if _, ok := body.Get("offer_id"); ok || body.Kind() != wire.Object {
		return body, nil
	}
	switch m.Type {
	case wire.TypeOffer, wire.TypeCounter:
		id, err := wire.NewID[wire.OfferID]("off_", n.opts.Random)
		if err != nil {
			return body, err
		}
		return body.With("offer_id", wire.Text(string(id))), nil
	case wire.TypeAccept, wire.TypeCommit:
		if o, _ := s.Offer(); o != nil && o.ID != "" && s.State() == session.Active {
			return body.With("offer_id", wire.Text(string(o.ID))), nil
		}
	}
	return body, nil
}

var emptyObject, _ = wire.Encode(wire.M{})

// said reports whether the move is in the log already.
func (n *Node) said(l *live, m Move) bool {
	messages, err := n.transcripts.Read(l.id, 0, l.rec.Len)
	if err != nil {
		return false
	}
	for _, v := range messages {
		id, _ := v.Get("id")
		from, _ := v.At("from", "agent_id")
		t, _ := v.Get("type")
		if id.Text() == string(m.ID) {
			return from.Text() == string(n.agent) && t.Text() == string(m.Type) && m.isIn(v)
		}
	}
	return false
}

// isIn reports whether a message says what the move does, besides what the node completed.
func (m *Move) isIn(message wire.Value) bool {
	body, _ := message.Get("body")
	reasoning, _ := message.Get("reasoning")
	want := m.Body
	if want.Kind() == wire.Absent {
		want = emptyObject
	}
	if _, ok := want.Get("offer_id"); !ok {
		body = body.Without("offer_id")
	}
	return body.Equal(want) && reasoning.Text() == m.Reasoning
}

// lengthAt returns how many messages there were up to the one with a hash, 0 if there is
// none.
func (n *Node) lengthAt(l *live, tip wire.Hash) int {
	messages, err := n.transcripts.Read(l.id, 0, l.rec.Len)
	if err != nil {
		return 0
	}
	for i, v := range messages {
		if v.Hash() == tip {
			return i + 1
		}
	}
	return 0
}

// maxMissed bounds the messages that a conflict shows.
const maxMissed = 100

// conflict says which messages came since there were so many.
func (n *Node) conflict(l *live, known int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return n.conflictAt(l, known)
}

func (n *Node) conflictAt(l *live, known int) error {
	missed, err := n.transcripts.Read(l.id, known, min(l.rec.Len-known, maxMissed))
	if err != nil {
		return err
	}
	s := n.standing(l)
	return &Error{
		Code: CodeConflict, Message: "another message came first; nothing was said", State: s.State(),
		Moves: s.At(n.now()).Moves(n.agent), Missed: missed, Tip: l.log.Tip(),
	}
}

// deliver sends the pending message of a session and waits until it has come back, or is
// refused. The caller holds saying.
func (n *Node) deliver(ctx context.Context, l *live) error {
	l.mu.Lock()
	pending, known := l.rec.Pending, l.rec.PendingAt
	l.mu.Unlock()
	if pending.Kind() == wire.Absent {
		return nil
	}
	u, err := wire.ReadMessage(pending)
	if err != nil {
		return err
	}
	m, err := u.Verify(n)
	if err != nil {
		return err
	}
	c, err := n.carrierOf(l)
	if err != nil {
		return err
	}
	if n.beforeSending != nil {
		n.beforeSending()
	}
	calling, stop := context.WithTimeout(ctx, patience)
	_, err = c.client.Append(calling, m)
	stop()
	if err == nil {
		err = n.until(ctx, l, func() bool {
			return l.rec.Pending.Kind() == wire.Absent || l.rec.Misconduct != ""
		})
		if err == nil {
			return n.came(l, m)
		}
		return err
	}
	misconduct, misbehaves := errors.AsType[*relay.Misconduct](err)
	refused, isRefusal := errors.AsType[*relay.Error](err)
	switch {
	case misbehaves:
		n.drop(ctx, l, relay.CodeRejected)
		return &Error{Code: CodeMisconduct, Message: "the relay of the session misbehaves: " + string(misconduct.Kind), err: err}
	case !isRefusal || isPassing(refused):
		return err // it may be there
	case refused.Code == relay.CodeChainConflict:
		if err := n.until(ctx, l, func() bool { return l.rec.At.Number >= refused.Length || l.rec.Misconduct != "" }); err != nil {
			return err
		}
		n.drop(ctx, l, refused.Code)
		return n.conflict(l, known)
	}
	n.drop(ctx, l, refused.Code)
	return err
}

func isPassing(e *relay.Error) bool {
	return e.Code == relay.CodeRate || e.Code == relay.CodeUnavailable || e.Code == relay.CodeInternal
}

// came reports whether a message that came back counts.
func (n *Node) came(l *live, m *wire.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.rec.Misconduct != "":
		return refuse(CodeMisconduct, "the relay of the session misbehaves: "+l.rec.Misconduct)
	case l.rec.Closed != "":
		return &Error{Code: CodeEnded, Message: "the message does not count: " + l.rec.Closed, State: n.standing(l).State()}
	}
	return nil
}

// drop gives a pending message up that is not in the log, nor will be.
func (n *Node) drop(ctx context.Context, l *live, why relay.Code) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.rec
	next.Pending = wire.Value{}
	if why == relay.CodeEnded {
		next.Over = relay.EndClosed
	}
	if err := n.commit(context.WithoutCancel(ctx), l, next, change{}); err != nil {
		n.log.Error("giving a message up", "session", l.id, "why", kindOf(err))
	}
}

// Open implements [API].
func (n *Node) Open(ctx context.Context, o Opening) (View, error) {
	l, err := n.reserve(ctx, o)
	if err != nil {
		return View{}, n.failed(err)
	}
	defer n.release(l)
	n.attend(l)
	return n.view(l)
}

// reserve makes the record of a session that is opened, and has its relay reserve it.
func (n *Node) reserve(ctx context.Context, o Opening) (*live, error) {
	rec, err := n.plan(ctx, o)
	if err != nil {
		return nil, err
	}
	created, err := n.create(ctx, rec)
	if err != nil {
		return nil, err
	}
	l, err := n.acquire(rec.Session)
	if err != nil {
		return nil, err
	}
	if !created {
		same, err := n.isOpening(l, &rec)
		if err == nil && same {
			return l, nil
		}
		n.release(l)
		if err != nil {
			return nil, err
		}
		return nil, refuse(CodeBadRequest, "the id is that of another session, or of one that was opened otherwise")
	}
	if err := n.register(ctx, l); err != nil {
		if _, refused := errors.AsType[*relay.Error](err); refused {
			err = errors.Join(err, n.forget(context.WithoutCancel(ctx), l))
		}
		n.release(l)
		return nil, err
	}
	return l, nil
}

// isOpening reports whether a session is what a plan would open.
func (n *Node) isOpening(l *live, plan *record) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.rec
	if !r.Mine || !slices.Equal(r.Coming, plan.Coming) || r.Places != plan.Places {
		return false, nil
	}
	if r.Len == 0 {
		a, b := r.Opening, plan.Opening
		return a != nil && a.Body.Equal(b.Body) && a.Reasoning == b.Reasoning && slices.Equal(a.To, b.To), nil
	}
	first, err := n.transcripts.Read(l.id, 0, 1)
	if err != nil || len(first) == 0 {
		return false, err
	}
	m := plan.Opening.move(l.id)
	return m.isIn(first[0]), nil
}

// plan judges what is to be opened, before anybody sees it.
func (n *Node) plan(ctx context.Context, o Opening) (record, error) {
	bad := func(text string) (record, error) { return record{}, refuse(CodeBadRequest, text) }
	switch {
	case len(o.To) > 0 && o.Places != 0, len(o.To) == 0 && o.Places != 1:
		return bad("a session is for those it names, or has one place for whoever comes first")
	case o.Way == Direct && len(o.To) == 0:
		return bad("nobody is named who could be told directly")
	}
	if o.Session == "" {
		id, err := wire.NewID[wire.SessionID]("ses_", n.opts.Random)
		if err != nil {
			return record{}, err
		}
		o.Session = id
	}
	if wire.CheckID(o.Session) != nil {
		return bad("the session id is no id")
	}
	if isMail(o.Session) {
		return record{}, errMailID
	}
	rec := record{
		Session: o.Session, Mine: true, From: n.agent, Began: n.now().UTC(), State: session.Start, Places: o.Places,
		Coming: append(o.To[:len(o.To):len(o.To)], o.Others...), Joined: true,
		Opening: &opening{To: o.To, Body: o.Body, Reasoning: o.Reasoning, Mandate: o.Mandate},
	}
	for _, a := range rec.Coming {
		if _, err := n.Key(a, n.now()); err != nil { // nothing that it says could ever be verified
			return bad(fmt.Sprintf("no key is known of %q: name it by its did:key, or have the owner add it as a contact", a))
		}
	}
	switch way := o.Way; {
	case way == AnyWay && n.opts.Relay != "", way == ByRelay, way == Otherwise && n.own == nil:
		rec.Relay = n.opts.Relay
	case n.own != nil && (way == AnyWay || way == Direct || way == Otherwise):
		rec.Relay = ownRelay
		if way != Otherwise {
			rec.Uninvited = rec.Coming
		}
	case n.own == nil && way != ByRelay:
		return bad("this node has no address at which others reach it, so it carries no sessions itself")
	default:
		return bad("the way is one of relay, direct and none")
	}
	if rec.Relay == "" {
		return bad("this node has no home relay")
	}
	trial := session.NewTranscript(o.Session, nil)
	m, err := n.sign(trial, rec.Opening.move(o.Session))
	if err == nil {
		err = trial.Try(m, m.Time)
	}
	if err == nil && o.Mandate.Kind() != wire.Absent {
		err = n.checkOwnMandate(o.Mandate)
	}
	if err == nil {
		if category, ok := o.Body.Get("category"); ok {
			rec.Category = category.Text()
		}
	}
	return rec, err
}

// move returns the open message to make.
func (o *opening) move(id wire.SessionID) Move {
	return Move{Session: id, Type: wire.TypeOpen, Body: o.Body, Reasoning: o.Reasoning, to: o.To}
}

// The life of a relay session: longer than the session's, so that receipts can follow.
const (
	afterlife   = time.Hour
	maxLife     = 7 * 24 * time.Hour
	maxCategory = 64
)

// register has the relay reserve a session. The same again is no harm.
func (n *Node) register(ctx context.Context, l *live) error {
	c, err := n.carrierOf(l)
	if err != nil {
		return err
	}
	l.mu.Lock()
	rec := l.rec
	l.mu.Unlock()
	if rec.Reserved || rec.Opening == nil {
		return nil
	}
	ttl := session.DefaultSessionTTL
	if v, ok := rec.Opening.Body.At("timing", "session_ttl"); ok {
		seconds, _ := v.Int()
		ttl = time.Duration(min(seconds, int64(maxLife/time.Second))) * time.Second
	}
	info, err := c.client.Create(ctx, relay.Reservation{
		Session: l.id, To: rec.Coming, Places: rec.Places, Life: min(ttl+afterlife, maxLife), Category: shown(rec.Category),
	})
	if err != nil {
		return fmt.Errorf("reserving the session: %w", err)
	}
	l.mu.Lock()
	next := l.rec
	next.Reserved = true
	err = n.commit(ctx, l, next, change{})
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return n.note(ctx, c, l, &info)
}

// shown returns a category as a relay shows it, or nothing if it does not take it.
func shown(category string) string {
	if len(category) > maxCategory || strings.ContainsFunc(category, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_'
	}) {
		return ""
	}
	return category
}
