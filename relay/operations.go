package relay

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// An operation is what an agent can ask for, over either transport (RFC 0001).
type operation struct {
	name    string
	members string // of the request, in the order of RFC 0001; "?" marks those that can be left out
	codes   []Code // of refusals, beside the commonCodes
	open    bool   // needs no token
	do      func(context.Context, *call, []byte) ([]byte, error)

	// stream is do for what may be large: it writes its answer in pieces, and is there
	// over HTTP only.
	stream func(context.Context, *call, io.Writer) error
	socket bool // it is there over a websocket only
}

// commonCodes are the refusals of every operation.
var commonCodes = []Code{CodeBadRequest, CodeUnauthenticated, CodeRate, CodeUnavailable, CodeInternal}

// operations is the whole interface of a relay.
var operations = []*operation{
	{name: "challenge", open: true, do: doChallenge},
	{name: "register", members: "type relay nonce timestamp agent_id public_key signature", open: true, do: doRegister,
		codes: []Code{CodeChallenge, CodeKeyConflict, CodeRejected, CodeQuota}},
	{name: "rotate", do: doRotate},
	{name: "revoke", members: "all", do: doRevoke},
	{name: "consent", members: "agent_id consent", do: doConsent, codes: []Code{CodeQuota}},
	{name: "consents", members: "after?", do: doConsents},
	{name: "create", members: "session_id to places? seconds? category?", do: doCreate, codes: []Code{CodeSessionTaken, CodeRejected, CodeQuota}},
	{name: "invitations", do: doInvitations},
	{name: "join", members: "session_id", do: doJoin, codes: []Code{CodeNotFound, CodeDeclined, CodeEnded}},
	{name: "decline", members: "session_id", do: doDecline, codes: []Code{CodeNotFound, CodeEnded}},
	{name: "close", members: "session_id", do: doClose, codes: []Code{CodeNotFound}},
	{name: "session", members: "session_id", do: doSession, codes: []Code{CodeNotFound}},
	{name: "sessions", members: "after?", do: doSessions},
	{name: "append", members: "entry", do: doAppend,
		codes: []Code{CodeNotFound, CodeNotActive, CodeEnded, CodeChainConflict, CodeIDConflict, CodeRejected, CodeQuota}},
	{name: "read", members: "session_id from most?", do: doRead, codes: []Code{CodeNotFound}},
	{name: "ack", members: "session_id number", do: doAck, codes: []Code{CodeNotFound}},
	{name: "resume", members: "session_id number", do: doResume, codes: []Code{CodeNotFound}, socket: true},
	{name: "transcript", members: "session_id", stream: doTranscript, codes: []Code{CodeNotFound}},
}

// names returns the members of a request.
func (op *operation) names() []string {
	return strings.Fields(strings.ReplaceAll(op.members, "?", ""))
}

// A call is one request of an operation.
type call struct {
	server *Server
	agent  Agent  // nobody for an open operation over HTTP
	token  string // the agent's
	place  string // where the request came from
	r      wire.Reader
	socket *socket // nil over HTTP

	answered func() // is called when the answer is written, or cannot be; nil: nothing waits for it
}

// ruleRequest names the shape of a request. It is a rule of the relay's interface, not
// of the protocol.
var ruleRequest = &wire.Rule{Section: "9.3.1", Name: "request", Class: wire.ClassSchema, Text: "a request has the members of its operation (RFC 0001)"}

// bad makes the refusal of what is no request.
func bad(err error) error {
	if err == nil {
		return nil
	}
	return refuse(CodeBadRequest, err.Error())
}

// session reads the session that a request is about.
func (c *call) session() (wire.SessionID, error) {
	id := wire.ReadID[wire.SessionID](c.r, "session_id")
	return id, bad(c.r.Err())
}

func (c *call) mail() *Mailboxes { return c.server.mail }

func doChallenge(_ context.Context, c *call, dst []byte) ([]byte, error) {
	ch, err := c.mail().Challenge()
	if err != nil {
		return dst, err
	}
	return appendObject(dst, wire.M{"relay": ch.Relay, "nonce": ch.Nonce, "expires_at": wire.FormatTime(ch.Expires)})
}

func doRegister(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	v := c.r.Whole()
	if c.socket != nil {
		v = v.Without("op").Without("ref")
	}
	agent, token, err := c.mail().Register(ctx, v)
	if err != nil {
		return dst, err
	}
	return appendObject(dst, wire.M{"agent_id": agent, "token": token})
}

func doRotate(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	if c.socket != nil { // else a ping finds that the old token does not count
		c.socket.renewing.Lock()
		defer c.socket.renewing.Unlock()
	}
	fresh, err := c.mail().Rotate(ctx, c.agent.ID, c.token)
	if err != nil {
		return dst, err
	}
	c.server.sockets.replaced(c.agent.ID, c.token, fresh, c.socket)
	return appendObject(dst, wire.M{"token": fresh})
}

func doRevoke(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	all := c.r.Bool("all")
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	if err := c.mail().Revoke(ctx, c.agent.ID, c.token, all); err != nil {
		return dst, err
	}
	c.server.sockets.revoked(c.agent.ID, c.token, all, c.socket)
	return append(dst, "{}"...), nil
}

// consentNames are the consents as they are on the wire.
var consentNames = map[string]Consent{"allowed": Allowed, "denied": Denied, "unknown": Unknown}

func (c Consent) name() string {
	for name, consent := range consentNames {
		if consent == c {
			return name
		}
	}
	return "unknown"
}

func doConsent(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	about := wire.ReadID[wire.AgentID](c.r, "agent_id")
	consent := c.r.OneOf("consent", "allowed", "denied", "unknown")
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	return append(dst, "{}"...), c.mail().SetConsent(ctx, c.agent.ID, about, consentNames[consent])
}

// consentsAtOnce and sessionsAtOnce are the lengths of lists in one answer.
const (
	consentsAtOnce = 1000
	sessionsAtOnce = 100
)

func doConsents(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	after := wire.OptID[wire.AgentID](c.r, "after")
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	ids, consents, err := c.mail().Consents(ctx, c.agent.ID, after, consentsAtOnce)
	if err != nil {
		return dst, err
	}
	list := make([]wire.M, len(ids))
	for i, id := range ids {
		list[i] = wire.M{"agent_id": id, "consent": consents[i].name()}
	}
	return appendObject(dst, wire.M{"consents": list})
}

func doCreate(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	want := Reservation{Session: wire.ReadID[wire.SessionID](c.r, "session_id")}
	for _, to := range c.r.Strings("to") {
		want.To = append(want.To, wire.AgentID(to))
	}
	want.Places = int(c.r.OptInt("places", 0, math.MaxInt32, 0))
	want.Life = time.Duration(c.r.OptInt("seconds", 1, int64(maxSpan/time.Second), 0)) * time.Second
	if want.Category = c.r.OptText("category"); c.r.Has("category") && !isWord(want.Category) {
		c.r.Fail("category", errWord)
	}
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	info, err := c.mail().Create(ctx, c.agent.ID, want)
	return c.answerSession(dst, info, err)
}

func (c *call) answerSession(dst []byte, info SessionInfo, err error) ([]byte, error) {
	if err != nil {
		return dst, err
	}
	return appendObject(dst, c.mail().sessionMembers(info, c.agent.ID))
}

func doInvitations(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	invitations, err := c.mail().Invitations(ctx, c.agent.ID)
	if err != nil {
		return dst, err
	}
	list := make([]wire.M, len(invitations))
	for i, inv := range invitations {
		list[i] = invitationMembers(inv)
	}
	return appendObject(dst, wire.M{"invitations": list})
}

func doJoin(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	info, err := c.mail().Join(ctx, c.agent.ID, id)
	return c.answerSession(dst, info, err)
}

func doDecline(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	return append(dst, "{}"...), c.mail().Decline(ctx, c.agent.ID, id)
}

func doClose(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	return append(dst, "{}"...), c.mail().Close(ctx, c.agent.ID, id)
}

func doSession(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	info, err := c.mail().Session(ctx, c.agent.ID, id)
	return c.answerSession(dst, info, err)
}

func doSessions(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	after := wire.OptID[wire.SessionID](c.r, "after")
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	sessions, err := c.mail().Sessions(ctx, c.agent.ID, after, sessionsAtOnce)
	if err != nil {
		return dst, err
	}
	list := make([]wire.M, len(sessions))
	for i, s := range sessions {
		list[i] = c.mail().sessionMembers(s, c.agent.ID)
	}
	return appendObject(dst, wire.M{"sessions": list})
}

func doAppend(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	entry := c.r.Object("entry").Whole()
	if err := bad(c.r.Err()); err != nil {
		return dst, err
	}
	var done Appended
	var err error
	if c.socket != nil {
		id, _ := entry.Get("session_id")
		session, number := wire.SessionID(id.Text()), uint64(0)
		c.socket.delivery.postpone(session)
		defer func() { number = done.Number }()
		c.answered = func() { c.socket.appended(session, number) }
	}
	done, err = c.mail().Append(ctx, c.agent, entry)
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendUint(append(dst, `{"number":`...), done.Number, 10)
	return append(appendText(append(dst, `,"hash":`...), done.Hash.String()), '}'), nil
}

const (
	pageEntries = 10_000      // in one answer
	maxNumber   = 1<<53 - 1   // of an entry
	maxEntries  = pageEntries // that read can ask for
)

func doRead(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	from, most := c.r.Int("from", 1, maxNumber), c.r.OptInt("most", 1, maxEntries, maxEntries)
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	if c.socket != nil {
		c.socket.reading.Lock() // so that a connection has one page under way
	}
	size, give := c.server.pages.take()
	c.answered = func() {
		give()
		if c.socket != nil {
			c.socket.reading.Unlock()
		}
	}
	n, err := c.mail().news(ctx, c.agent.ID, id, uint64(from), int(most), size)
	if err == nil && !n.joined {
		err = errNoSession
	}
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"entries":[`...)
	for i := range n.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendEntry(append(dst, '{'), id, &n.entries[i]), '}')
	}
	return append(strconv.AppendUint(append(dst, `],"length":`...), n.info.Length, 10), '}'), nil
}

func doAck(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	number := uint64(c.r.Int("number", 0, maxNumber))
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	if err := c.mail().Ack(ctx, c.agent.ID, id, number); err != nil {
		return dst, err
	}
	c.server.sockets.acked(c.agent.ID, id, number)
	return append(dst, "{}"...), nil
}

func doResume(ctx context.Context, c *call, dst []byte) ([]byte, error) {
	number := uint64(c.r.Int("number", 0, maxNumber))
	id, err := c.session()
	if err != nil {
		return dst, err
	}
	n, err := c.mail().news(ctx, c.agent.ID, id, 0, 0, 0)
	switch {
	case err != nil:
		return dst, err
	case !n.joined:
		return dst, errNoSession
	case number > n.info.Length:
		return dst, refuse(CodeBadRequest, "the log is not that long")
	}
	c.answered, err = c.socket.resume(id, number)
	return append(dst, "{}"...), err
}

// doTranscript writes the whole log as a document of SPEC §9.3, in two passes: first the
// messages, then the enclosures. A receipt among these that all parties countersigned
// stands beside them, so that the document can be verified whole.
func doTranscript(ctx context.Context, c *call, w io.Writer) error {
	id, err := c.session()
	if err != nil {
		return err
	}
	n, err := c.mail().news(ctx, c.agent.ID, id, 0, 0, 0)
	if err == nil && !n.joined {
		err = errNoSession
	}
	if err != nil {
		return err
	}
	var receipt wire.Value
	pass := func(kind EntryKind) error {
		first := true
		for from := uint64(1); from <= n.info.Length; {
			list, err := c.mail().Read(ctx, c.agent.ID, id, from, pageEntries, pieceSize)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return fmt.Errorf("reading a log: %w", errDamaged)
			}
			for _, e := range list {
				if from = e.Number + 1; e.Kind != kind || e.Number > n.info.Length {
					continue
				}
				if !first {
					if _, err := io.WriteString(w, ","); err != nil {
						return err
					}
				}
				first = false
				if _, err := w.Write(e.Text); err != nil {
					return err
				}
				if kind == KindEnclosure {
					if r, ok := countersigned(e.Text, n.info.Parties); ok {
						receipt = r
					}
				}
			}
		}
		return nil
	}
	for _, part := range []struct {
		text string
		kind EntryKind
	}{{`{"messages":[`, KindMessage}, {`],"enclosures":[`, KindEnclosure}} {
		if _, err := io.WriteString(w, part.text); err != nil {
			return err
		}
		if err := pass(part.kind); err != nil {
			return err
		}
	}
	end := "]}"
	if receipt.Kind() == wire.Object {
		end = `],"receipt":` + receipt.Canonical() + "}"
	}
	_, err = io.WriteString(w, end)
	return err
}

// countersigned returns the receipt in an enclosure, if it names a countersignature of
// each party that has joined. Whether it is good is for whoever verifies the document.
func countersigned(enclosure []byte, parties []Party) (wire.Value, bool) {
	v, err := wire.Parse(enclosure, wire.DocumentLimits)
	if err != nil {
		return wire.Value{}, false
	}
	kind, _ := v.Get("kind")
	receipt, _ := v.Get("content")
	signatures, ok := receipt.Get("countersignatures")
	if !ok || kind.Text() != KindReceipt || signatures.Kind() != wire.Object {
		return wire.Value{}, false
	}
	named := map[wire.AgentID]bool{}
	for id := range signatures.Members() {
		named[wire.PlainDIDKey(wire.AgentID(id))] = true
	}
	for _, p := range parties {
		if p.Standing == Joined && !named[p.Agent] {
			return wire.Value{}, false
		}
	}
	return receipt, true
}
