package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Create reserves a session. It tries until there is an answer; the same again is no
// harm, as with all operations here unless they say otherwise.
func (c *Client) Create(ctx context.Context, want Reservation) (SessionInfo, error) {
	body := wire.M{"session_id": want.Session, "to": append([]wire.AgentID{}, want.To...)}
	if want.Places > 0 {
		body["places"] = want.Places
	}
	if want.Life > 0 {
		body["seconds"] = int64(want.Life / time.Second)
	}
	if want.Category != "" {
		body["category"] = want.Category
	}
	return c.sessionCall(ctx, "create", want.Session, body)
}

// Join makes the agent a party.
func (c *Client) Join(ctx context.Context, session wire.SessionID) (SessionInfo, error) {
	return c.sessionCall(ctx, "join", session, wire.M{"session_id": session})
}

// Session returns what the relay says of a session. A cursor or length that cannot be
// is a *Misconduct.
func (c *Client) Session(ctx context.Context, session wire.SessionID) (SessionInfo, error) {
	return c.sessionCall(ctx, "session", session, wire.M{"session_id": session})
}

func (c *Client) sessionCall(ctx context.Context, op string, session wire.SessionID, body wire.M) (SessionInfo, error) {
	r, err := c.log(session)
	if err != nil {
		return SessionInfo{}, err
	}
	before := r.standing()
	v, err := c.insist(ctx, op, body)
	if err != nil {
		return SessionInfo{}, err
	}
	s := wire.Read(v, "", RuleAnswer)
	info := readSessionInfo(s)
	if err := s.Err(); err != nil {
		return info, fmt.Errorf("calling %s: %w", op, err)
	}
	return info, r.blame(r.checkInfo(&info, before, v))
}

// blame accuses the relay of a misconduct that was found, and returns it.
func (r *logReader) blame(err error) error {
	if m, ok := errors.AsType[*Misconduct](err); ok {
		r.accuse(m)
	}
	return err
}

// Sessions returns up to 100 sessions that the agent has joined, in the order of their
// ids, after a given one.
func (c *Client) Sessions(ctx context.Context, after wire.SessionID) ([]SessionInfo, error) {
	body := wire.M{}
	if after != "" {
		body["after"] = after
	}
	before := c.standings(after)
	v, err := c.insist(ctx, "sessions", body)
	if err != nil {
		return nil, err
	}
	var list []SessionInfo
	r := wire.Read(v, "", RuleAnswer)
	for _, s := range r.Objects("sessions") {
		info := readSessionInfo(s)
		if n := len(list); n > 0 && info.Session <= list[n-1].Session || info.Session <= after {
			s.Fail("session_id", errors.New("the sessions are in the order of their ids"))
		}
		if r.Err() != nil {
			break
		}
		list = append(list, info)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("calling sessions: %w", err)
	}
	for i := range list {
		r, err := c.log(list[i].Session)
		if err != nil {
			return nil, err
		}
		if r.blame(r.checkInfo(&list[i], before[list[i].Session], v)) != nil {
			continue // told already; the others go on
		}
	}
	return list, nil
}

// standings returns what is confirmed of the sessions after one.
func (c *Client) standings(after wire.SessionID) map[wire.SessionID]standing {
	c.mu.Lock()
	var logs []*logReader
	for session, r := range c.logs {
		if session > after {
			logs = append(logs, r)
		}
	}
	c.mu.Unlock()
	list := make(map[wire.SessionID]standing, len(logs))
	for _, r := range logs {
		list[r.session] = r.standing()
	}
	return list
}

// Invitations returns the sessions that the agent is asked to join and has not
// answered. From is the relay's word, until the initiator has signed a message.
func (c *Client) Invitations(ctx context.Context) ([]Invitation, error) {
	v, err := c.insist(ctx, "invitations", wire.M{})
	if err != nil {
		return nil, err
	}
	var list []Invitation
	r := wire.Read(v, "", RuleAnswer)
	for _, i := range r.Objects("invitations") {
		list = append(list, readInvitation(i))
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("calling invitations: %w", err)
	}
	return list, nil
}

// Decline answers an invitation with no.
func (c *Client) Decline(ctx context.Context, session wire.SessionID) error {
	_, err := c.insist(ctx, "decline", wire.M{"session_id": session})
	return err
}

// Close ends a session for all its parties.
func (c *Client) Close(ctx context.Context, session wire.SessionID) error {
	_, err := c.insist(ctx, "close", wire.M{"session_id": session})
	return err
}

var consentWords = map[Consent]string{Unknown: "unknown", Allowed: "allowed", Denied: "denied"}

// SetConsent decides whether the invitations of another agent are shown.
func (c *Client) SetConsent(ctx context.Context, about wire.AgentID, consent Consent) error {
	word, ok := consentWords[consent]
	if !ok {
		return fmt.Errorf("deciding about an agent: %q is no consent", consent)
	}
	_, err := c.insist(ctx, "consent", wire.M{"agent_id": about, "consent": word})
	return err
}

// Consents returns up to 1,000 of the agent's decisions, in the order of the ids, after
// a given one.
func (c *Client) Consents(ctx context.Context, after wire.AgentID) (ids []wire.AgentID, consents []Consent, err error) {
	body := wire.M{}
	if after != "" {
		body["after"] = after
	}
	v, err := c.insist(ctx, "consents", body)
	if err != nil {
		return nil, nil, err
	}
	r := wire.Read(v, "", RuleAnswer)
	for _, s := range r.Objects("consents") {
		id, word := wire.ReadID[wire.AgentID](s, "agent_id"), s.OneOf("consent", "allowed", "denied")
		ids = append(ids, id)
		consents = append(consents, map[string]Consent{"allowed": Allowed, "denied": Denied}[word])
	}
	if err := r.Err(); err != nil {
		return nil, nil, fmt.Errorf("calling consents: %w", err)
	}
	return ids, consents, nil
}

// Append adds a message of the agent to the log of its session. It tries, through
// broken connections, until the message is there or refused; if the context is done
// before, the message may be there. A message that came second is refused with an
// *Error of CodeChainConflict, whose Tip and Length say what came first; Run hands that
// over, and the caller decides anew: nothing is signed again here.
func (c *Client) Append(ctx context.Context, m *wire.Message) (Appended, error) {
	return c.send(ctx, m.Session, &sentEntry{hash: m.Hash(), message: m})
}

// Enclose is Append for an enclosure, which has no place in the chain.
func (c *Client) Enclose(ctx context.Context, e *Enclosure) (Appended, error) {
	return c.send(ctx, e.Session, &sentEntry{hash: e.Hash(), enclosure: e})
}

func (c *Client) send(ctx context.Context, session wire.SessionID, s *sentEntry) (Appended, error) {
	r, err := c.log(session)
	if err != nil {
		return Appended{}, err
	}
	before, err := r.sending(s)
	if err != nil {
		return Appended{}, err
	}
	v, err := c.insist(ctx, "append", wire.M{"entry": s.value()})
	if refused, ok := errors.AsType[*Error](err); ok && !isPassing(err) {
		return Appended{}, r.refused(s, refused, before)
	}
	if err != nil {
		return Appended{}, err
	}
	a := wire.Read(v, "", RuleAnswer)
	done := Appended{Number: uint64(a.Int("number", 1, wire.MaxSafeInteger)), Hash: a.Hash("hash")}
	if err := a.Err(); err != nil {
		return Appended{}, fmt.Errorf("calling append: %w", err)
	}
	return done, r.blame(r.promise(s, done, v))
}

// sending notes that an entry may come back as an own one.
func (r *logReader) sending(s *sentEntry) (standing, error) {
	before := r.standing()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return before, r.broken
	}
	_, seen := r.sent[s.id()]
	if r.sent == nil {
		r.sent = map[wire.MessageID]*sentEntry{}
	}
	if !seen && len(r.sent) < maxSent {
		r.sent[s.id()] = s
	}
	return before, nil
}

// refused judges a refusal by what the relay had confirmed before.
func (r *logReader) refused(s *sentEntry, refused *Error, before standing) error {
	r.mu.Lock()
	if r.sent[s.id()] == s {
		delete(r.sent, s.id())
	}
	var m *Misconduct
	switch {
	case refused.Code != CodeChainConflict:
	case refused.Length < before.number:
		m = &Misconduct{
			Kind: CursorLie, Session: r.session, After: r.at,
			Err: fmt.Errorf("the log has %d entries, and had %d: %w", refused.Length, before.number, refused),
		}
	case refused.Length <= r.at.Number:
		m = r.checkClaim(refused)
	default:
		r.claim = refused
	}
	r.mu.Unlock()
	if m != nil {
		r.accuse(m)
		return m
	}
	return refused
}

// promise judges the place that the relay says an own entry has, and notes it.
func (r *logReader) promise(s *sentEntry, done Appended, answer wire.Value) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := func(kind MisconductKind, format string, args ...any) error {
		return &Misconduct{Kind: kind, Session: r.session, Number: done.Number, Shown: answer, Have: s.value(), After: r.at, Err: fmt.Errorf(format, args...)}
	}
	if done.Hash != s.hash {
		return wrong(Altered, "the own entry %q has hash %s", s.id(), s.hash)
	}
	if first := r.sent[s.id()]; first != nil {
		s = first
	}
	had, known := r.hash(done.Number)
	other := r.promised[done.Number]
	switch {
	case known && had != s.hash:
		return wrong(Withheld, "the number was that of another entry before")
	case other != nil && other.hash != s.hash:
		return wrong(Withheld, "the number was given to the own entry %q before", other.id())
	case s.number != 0 && s.number != done.Number:
		return wrong(CursorLie, "the entry has number %d, or was said to", s.number)
	case done.Number <= r.at.Number:
		return nil
	}
	s.number = done.Number
	if r.promised == nil {
		r.promised = map[uint64]*sentEntry{}
	}
	if len(r.promised) < maxSent {
		r.promised[done.Number] = s
	}
	return nil
}

// Read returns verified entries of a session's log from number from on, at most most,
// or as many as the relay gives at once if most is 0, and how many the log has. They have
// no Position, and may be read again and again. Behind the first entry of a log, the
// chain is verified from the second message on.
func (c *Client) Read(ctx context.Context, session wire.SessionID, from, most uint64) ([]Delivery, uint64, error) {
	own, err := c.log(session)
	if err != nil {
		return nil, 0, err
	}
	p, err := own.page(ctx, max(1, from), most)
	if err != nil {
		return nil, 0, own.blame(err)
	}
	list, err := c.open(ctx, own, p, Position{Number: max(1, from) - 1}, from > 1)
	for i := range list {
		list[i].Position = Position{}
	}
	return list, p.length, err
}

// ReadBehind returns verified entries of a session's log behind a position, as many as
// the relay gives at once, and how many the log has. They continue the chain that ends
// there, and each has its own Position.
func (c *Client) ReadBehind(ctx context.Context, session wire.SessionID, at Position) ([]Delivery, uint64, error) {
	own, err := c.log(session)
	if err != nil {
		return nil, 0, err
	}
	p, err := own.page(ctx, at.Number+1, 0)
	if err != nil {
		return nil, 0, own.blame(err)
	}
	if p.length < at.Number {
		return nil, 0, own.blame(own.found(CursorLie, &shownEntry{value: p.answer}, fmt.Errorf("the log has %d entries, and had %d", p.length, at.Number)))
	}
	if len(p.entries) == 0 && p.length > at.Number {
		return nil, 0, own.blame(own.found(Missing, &shownEntry{number: at.Number + 1, value: p.answer}, fmt.Errorf("there has to be an entry %d", p.length)))
	}
	list, err := c.open(ctx, own, p, at, false)
	return list, p.length, err
}

// open verifies the entries of a page behind a position; what Run has handed over is no
// matter here. In the middle, where nobody knows the tip, the chain is that of the first
// message.
func (c *Client) open(ctx context.Context, own *logReader, p *page, at Position, middle bool) (list []Delivery, err error) {
	at.Tip.Session = own.session
	r := &logReader{c: c, session: own.session, at: at}
	for i := range p.entries {
		if prev, ok := p.entries[i].value.At("entry", "prev_hash"); ok && middle && r.at.Tip.Len == 0 {
			h, _ := wire.ParseHash(prev.Text())
			r.at.Tip.Hash, r.at.Tip.Len = h, 1 // at least
		}
		d, hash, err := r.verify(ctx, &p.entries[i])
		if err != nil {
			return nil, own.blame(err)
		}
		r.mu.Lock()
		r.remember(d, hash)
		r.mu.Unlock()
		list = append(list, *d)
	}
	return list, nil
}

// Ack moves the relay's cursor to entry number n: the relay need not keep it and those
// before for the agent. Run does so by itself.
func (c *Client) Ack(ctx context.Context, session wire.SessionID, n uint64) error {
	_, err := c.insist(ctx, "ack", wire.M{"session_id": session, "number": n})
	return err
}

// Transcript is the whole log of a session, verified.
type Transcript struct {
	Messages   []*wire.Message // a chain from the genesis hash on
	Enclosures []*Enclosure

	// UnverifiedReceipt is the receipt that the relay found among the enclosures, absent if
	// it found none: it says by its own signatures what it is worth.
	UnverifiedReceipt wire.Value
}

// Transcript returns the whole log of a session. What the application has handled of it
// has to be there.
func (c *Client) Transcript(ctx context.Context, session wire.SessionID) (*Transcript, error) {
	r, err := c.log(session)
	if err != nil {
		return nil, err
	}
	at := r.position()
	v, err := c.post(ctx, "transcript", wire.M{"session_id": session}, maxTranscript)
	if err != nil {
		return nil, err
	}
	t, err := readTranscript(v, session, c, c.opts.Now(), at)
	if err != nil {
		return nil, r.blame(err)
	}
	return t, nil
}

func readTranscript(v wire.Value, session wire.SessionID, keys wire.Keys, now time.Time, at Position) (*Transcript, error) {
	t := new(Transcript)
	wrong := func(kind MisconductKind, shown wire.Value, err error) error {
		return &Misconduct{Kind: kind, Session: session, Shown: shown, After: at, Err: err}
	}
	r := wire.Read(v, "", RuleAnswer)
	messages, enclosures := r.Array("messages"), r.Array("enclosures")
	if r.Has("receipt") {
		t.UnverifiedReceipt = r.Object("receipt").Whole()
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("calling transcript: %w", err)
	}
	chain := wire.NewChain(session, 0)
	for _, v := range messages.Elems() {
		m, err := openMessage(v, keys)
		if err != nil {
			return nil, asMisconduct(err, wrong, Altered, v)
		}
		err = chain.Check(m, now)
		switch {
		case errors.Is(err, wire.RuleSession) || errors.Is(err, wire.RuleMessageID):
			return nil, wrong(Replayed, v, err)
		case errors.Is(err, wire.RulePrevHash):
			return nil, wrong(Missing, v, err)
		}
		chain.Append(m)
		t.Messages = append(t.Messages, m)
		if chain.Len() == at.Tip.Len && chain.Tip() != at.Tip.Hash {
			return nil, wrong(Forked, v, fmt.Errorf("the chain of %d messages ended in %s before", at.Tip.Len, at.Tip.Hash))
		}
	}
	if chain.Len() < at.Tip.Len {
		return nil, wrong(CursorLie, v, fmt.Errorf("the chain has %d messages, and had %d", chain.Len(), at.Tip.Len))
	}
	for _, v := range enclosures.Elems() {
		e, err := VerifyEnclosure(v, keys)
		if err != nil {
			return nil, asMisconduct(err, wrong, Altered, v)
		}
		if e.Session != session || slices.ContainsFunc(t.Enclosures, func(o *Enclosure) bool { return o.ID == e.ID }) {
			return nil, wrong(Replayed, v, errors.New("it is of another session, or there twice"))
		}
		t.Enclosures = append(t.Enclosures, e)
	}
	return t, nil
}

func openMessage(v wire.Value, keys wire.Keys) (*wire.Message, error) {
	u, err := wire.ReadMessage(v)
	if err != nil {
		return nil, err
	}
	return u.Verify(keys)
}

// asMisconduct makes a broken rule the relay's, unless it is only that a key is not
// known.
func asMisconduct(err error, wrong func(MisconductKind, wire.Value, error) error, kind MisconductKind, v wire.Value) error {
	if _, ok := errors.AsType[*wire.Violation](err); ok && !errors.Is(err, wire.RuleUnknownKey) {
		return wrong(kind, v, err)
	}
	return err
}

// Rotate replaces the agent's token. If the answer is lost, the client registers for
// another one.
func (c *Client) Rotate(ctx context.Context) error {
	v, err := c.post(ctx, "rotate", wire.M{}, maxFrame)
	if err != nil {
		return err
	}
	r := wire.Read(v, "", RuleAnswer)
	token := r.Text("token")
	if err := checkToken(token); err != nil {
		r.Fail("token", err)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("calling rotate: %w", err)
	}
	c.registering.Lock()
	defer c.registering.Unlock()
	return c.setToken(ctx, token)
}

// Revoke makes the agent's token worthless, or all that it has. The client forgets it;
// whatever it does next registers for another one, as Run does that runs.
func (c *Client) Revoke(ctx context.Context, all bool) error {
	if _, err := c.post(ctx, "revoke", wire.M{"all": all}, maxFrame); err != nil {
		return err
	}
	c.registering.Lock()
	defer c.registering.Unlock()
	return c.setToken(ctx, "")
}

// readSessionInfo reads a session as RFC 0001 writes it.
func readSessionInfo(r wire.Reader) SessionInfo {
	info := SessionInfo{
		Session: wire.ReadID[wire.SessionID](r, "session_id"), Places: int(r.Int("places", 0, 1<<20)), Category: clip(r.OptText("category")),
		Created: r.Time("created_at"), Expires: r.Time("expires_at"), Why: End(clip(r.OptText("why"))),
		Length: uint64(r.OptInt("length", 0, wire.MaxSafeInteger, 0)), Cursor: uint64(r.OptInt("cursor", 0, wire.MaxSafeInteger, 0)),
	}
	if state := r.OneOf("state", "pending", "active", "ended"); state == "ended" && r.Has("ended_at") {
		info.Ended = r.Time("ended_at")
	}
	for _, p := range r.Objects("parties") {
		info.Parties = append(info.Parties, Party{
			Agent: wire.ReadID[wire.AgentID](p, "agent_id"), Standing: Standing(p.OneOf("standing", string(Invited), string(Joined), string(Declined))),
		})
	}
	return info
}

func readInvitation(r wire.Reader) Invitation {
	return Invitation{
		Session: wire.ReadID[wire.SessionID](r, "session_id"), From: wire.ReadID[wire.AgentID](r, "from"), Category: clip(r.OptText("category")),
		Created: r.Time("created_at"), Expires: r.Time("expires_at"),
	}
}
