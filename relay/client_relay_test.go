package relay_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/relay/boltmail"
	"github.com/concordia-node/concordia/wire"
)

// A scripted relay speaks RFC 0001 over real mailboxes. It is honest but for what
// tamper makes of its frames.
type scripted struct {
	testing.TB
	mail   *relay.Mailboxes
	driver relay.Driver
	url    string
	tamper *tamper
	stop   context.CancelFunc
	work   sync.WaitGroup
	ctx    context.Context

	mu    sync.Mutex
	conns map[*websocket.Conn]struct{}
}

// A tamper replaces what a relay sends to an agent: no text is silence, several are
// several frames.
type tamper struct {
	push   func(agent wire.AgentID, frame wire.Value) []string
	answer func(agent wire.AgentID, op string, request, answer wire.Value) []string // what is in "ok"
	frame  func(agent wire.AgentID, op, ref string, answer string) []string         // the whole of it
}

// hangUp, as a frame, ends the connection.
const hangUp = "hang up"

// startRelay starts a relay on this machine, for as long as the test runs.
func startRelay(t testing.TB, lie *tamper) *scripted {
	t.Helper()
	honest := lie == nil
	if honest {
		lie = new(tamper)
	}
	driver, err := boltmail.Open(filepath.Join(t.TempDir(), "mail.db"))
	if err != nil {
		t.Fatal(err)
	}
	mail, err := relay.NewMailboxes(context.Background(), driver, relay.Options{
		Now: time.Now, Random: rand.Reader,
		Limits: relay.Limits{
			FreeSpace: 1, UndeliveredSender: 1 << 30, Undelivered: 1 << 30, Entries: 1 << 30,
			Live: 1 << 20, LivePerInitiator: 1 << 20, Invitations: 1 << 20, InvitationsSender: 1 << 20,
			AppendsPerSecond: 1 << 30, AppendBurst: 1 << 30, CallsPerSecond: 1 << 30, CallBurst: 1 << 30,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &scripted{TB: t, mail: mail, driver: driver, tamper: lie, conns: map[*websocket.Conn]struct{}{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var handler http.Handler = s
	real := relay.NewServer(mail, nil)
	if honest {
		handler = real
	}
	server := httptest.NewServer(handler)
	s.url = server.URL
	t.Cleanup(func() {
		if err := real.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		s.stop()
		s.cut()
		server.CloseClientConnections()
		server.Close()
		s.work.Wait()
		if err := driver.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// cut closes all websockets.
func (s *scripted) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := strings.TrimPrefix(r.URL.Path, "/v1/")
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	var agent relay.Agent
	var err error
	if op != "challenge" && op != "register" {
		if agent, err = s.mail.Authenticate(r.Context(), token); err != nil {
			writeText(w, http.StatusUnauthorized, scriptedRefusal(err))
			return
		}
	}
	if op == "socket" {
		up := websocket.Upgrader{Subprotocols: []string{"concordia.relay.v1"}}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		s.serveSocket(conn, agent, token)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	request, err := wire.Parse(body, wire.DocumentLimits)
	if err != nil {
		s.Errorf("%s: the client sends what is no JSON: %v", op, err)
		return
	}
	if _, ok := request.Get("ref"); ok {
		s.Errorf("%s: the client sends a frame over HTTP: %v", op, request)
	}
	answer, err := s.do(r.Context(), agent, token, op, request)
	if err != nil {
		writeText(w, http.StatusConflict, scriptedRefusal(err))
		return
	}
	texts := []string{answer.Canonical()}
	if s.tamper.answer != nil {
		texts = s.tamper.answer(agent.ID, op, request, answer)
	}
	for _, text := range texts {
		writeText(w, http.StatusOK, text)
	}
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// scriptedRefusal writes an error as RFC 0001 does.
func scriptedRefusal(err error) string {
	e, ok := errors.AsType[*relay.Error](err)
	if !ok {
		e = &relay.Error{Code: relay.CodeInternal, Message: err.Error()}
	}
	m := wire.M{"code": string(e.Code), "message": e.Message}
	if e.Limit != "" {
		m["limit"] = e.Limit
	}
	if e.RetryAfter > 0 {
		m["retry_after"] = int(e.RetryAfter / time.Second)
	}
	if v := e.Violation; v != nil {
		m["rule"], m["section"], m["at"] = v.Rule.Name, v.Rule.Section, v.At
	}
	if e.Tip != nil {
		m["tip"], m["messages"], m["length"] = e.Tip.Tip, e.Tip.Len, e.Length
	}
	return encoded(wire.M{"error": m}).Canonical()
}

func encoded(m any) wire.Value {
	v, err := wire.Encode(m)
	if err != nil {
		panic(err)
	}
	return v
}

// A scriptedConn is one websocket.
type scriptedConn struct {
	*scripted
	ws    *websocket.Conn
	agent relay.Agent
	token string

	mu    sync.Mutex // guards what follows, and writing
	sent  map[wire.SessionID]uint64
	acked map[wire.SessionID]uint64
	news  chan struct{}
	due   map[wire.SessionID]struct{}
}

func (s *scripted) serveSocket(ws *websocket.Conn, agent relay.Agent, token string) {
	s.work.Add(1)
	defer s.work.Done()
	s.mu.Lock()
	s.conns[ws] = struct{}{}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	c := &scriptedConn{
		scripted: s, ws: ws, agent: agent, token: token, news: make(chan struct{}, 1),
		sent: map[wire.SessionID]uint64{}, acked: map[wire.SessionID]uint64{}, due: map[wire.SessionID]struct{}{},
	}
	stop := s.driver.Listen(string(agent.ID), func(session string) { c.wake(wire.SessionID(session)) })
	defer stop()
	s.work.Go(func() { c.deliver(ctx) })
	defer func() {
		ws.Close()
		s.mu.Lock()
		delete(s.conns, ws)
		s.mu.Unlock()
	}()
	for after := wire.SessionID(""); ; {
		list, err := s.mail.Sessions(ctx, agent.ID, after, 100)
		if err != nil || len(list) == 0 {
			break
		}
		for _, info := range list {
			c.wake(info.Session)
			after = info.Session
		}
	}
	invitations, _ := s.mail.Invitations(ctx, agent.ID)
	for _, i := range invitations {
		c.write([]string{scriptedPush("invitation", scriptedInvitation(i))})
	}
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			return
		}
		request, err := wire.Parse(data, wire.DocumentLimits)
		if err != nil {
			s.Errorf("the client sends what is no JSON: %v", err)
			return
		}
		s.work.Go(func() { c.answer(ctx, request) })
	}
}

func (c *scriptedConn) answer(ctx context.Context, request wire.Value) {
	op, _ := request.Get("op")
	ref, _ := request.Get("ref")
	var texts []string
	answer, err := c.do(ctx, c.agent, c.token, op.Text(), request)
	if err != nil {
		texts = []string{scriptedRefusal(err)}
	} else if texts = []string{answer.Canonical()}; c.tamper.answer != nil {
		texts = c.tamper.answer(c.agent.ID, op.Text(), request, answer)
	}
	for _, text := range texts {
		frame := `{"ref":` + ref.Canonical() + `,"ok":` + text + `}`
		if err != nil {
			frame = `{"ref":` + ref.Canonical() + `,` + text[1:]
		}
		frames := []string{frame}
		if c.tamper.frame != nil {
			frames = c.tamper.frame(c.agent.ID, op.Text(), ref.Canonical(), frame)
		}
		c.write(frames)
	}
	session, _ := request.Get("session_id")
	id := wire.SessionID(session.Text())
	number, _ := request.Get("number")
	n, _ := number.Int()
	switch {
	case err != nil:
	case op.Text() == "ack":
		c.mu.Lock()
		c.acked[id] = max(c.acked[id], uint64(n))
		c.mu.Unlock()
		c.wake(id)
	case op.Text() == "join" || op.Text() == "create":
		c.wake(id)
	}
}

func (c *scriptedConn) write(frames []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range frames {
		if f == hangUp {
			c.ws.Close()
		} else if c.ws.WriteMessage(websocket.TextMessage, []byte(f)) != nil {
			c.ws.Close()
		}
	}
}

func (c *scriptedConn) wake(session wire.SessionID) {
	go func() {
		c.mu.Lock()
		c.due[session] = struct{}{}
		c.mu.Unlock()
		select {
		case c.news <- struct{}{}:
		default:
		}
	}()
}

// deliver pushes the logs behind the cursors, 256 entries at once.
func (c *scriptedConn) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.news:
		}
		c.mu.Lock()
		var due []wire.SessionID
		for session := range c.due {
			due = append(due, session)
		}
		clear(c.due)
		c.mu.Unlock()
		for _, session := range due {
			c.deliverOne(ctx, session)
		}
	}
}

func (c *scriptedConn) deliverOne(ctx context.Context, session wire.SessionID) {
	info, err := c.mail.Session(ctx, c.agent.ID, session)
	if err != nil {
		return
	}
	joined := false
	for _, p := range info.Parties {
		joined = joined || p.Agent == c.agent.ID && p.Standing == relay.Joined
	}
	if !joined {
		invitations, _ := c.mail.Invitations(ctx, c.agent.ID)
		for _, i := range invitations {
			if i.Session == session {
				c.write([]string{scriptedPush("invitation", scriptedInvitation(i))})
			}
		}
		return
	}
	c.mu.Lock()
	if _, ok := c.sent[session]; !ok {
		c.sent[session], c.acked[session] = info.Cursor, max(c.acked[session], info.Cursor)
	}
	from, room := c.sent[session]+1, 256-int(c.sent[session]-min(c.sent[session], c.acked[session]))
	c.mu.Unlock()
	if room <= 0 || info.Length < from {
		return
	}
	list, err := c.mail.Read(ctx, c.agent.ID, session, from, room, 1<<20)
	if err != nil {
		return
	}
	for _, e := range list {
		frame := encoded(scriptedEntry(session, &e, c.agent.ID)).With("push", wire.Text("entry"))
		frames := []string{frame.Canonical()}
		if c.tamper.push != nil {
			frames = c.tamper.push(c.agent.ID, frame)
		}
		c.write(frames)
		c.mu.Lock()
		c.sent[session] = e.Number
		c.mu.Unlock()
	}
	c.wake(session)
}

func scriptedPush(kind string, m wire.M) string {
	m["push"] = kind
	return encoded(m).Canonical()
}

// scriptedEntry writes an entry, the own ones of an agent in short.
func scriptedEntry(session wire.SessionID, e *relay.UnverifiedEntry, to wire.AgentID) wire.M {
	v, err := wire.Parse(e.Text, wire.DocumentLimits)
	if err != nil {
		panic(err)
	}
	m := wire.M{"session_id": session, "number": e.Number, "from": e.Sender, "appended_at": wire.FormatTime(e.Appended)}
	if e.Sender == to {
		id, _ := v.Get("id")
		m["own"] = wire.M{"id": id, "hash": v.Hash()}
	} else {
		m["entry"] = v
	}
	return m
}

func scriptedInvitation(i relay.Invitation) wire.M {
	m := wire.M{"session_id": i.Session, "from": i.From, "created_at": wire.FormatTime(i.Created), "expires_at": wire.FormatTime(i.Expires)}
	if i.Category != "" {
		m["category"] = i.Category
	}
	return m
}

func scriptedSession(info relay.SessionInfo) wire.M {
	m := wire.M{
		"session_id": info.Session, "state": "active", "parties": info.Parties, "places": info.Places,
		"created_at": wire.FormatTime(info.Created), "expires_at": wire.FormatTime(info.Expires), "length": info.Length, "cursor": info.Cursor,
	}
	if info.Category != "" {
		m["category"] = info.Category
	}
	if !info.Ended.IsZero() {
		m["state"], m["ended_at"], m["why"] = "ended", wire.FormatTime(info.Ended), info.Why
	}
	return m
}

// do carries out an operation.
func (s *scripted) do(ctx context.Context, agent relay.Agent, token, op string, v wire.Value) (wire.Value, error) {
	text := func(name string) string { m, _ := v.Get(name); return m.Text() }
	number := func(name string) uint64 { m, _ := v.Get(name); n, _ := m.Int(); return uint64(n) }
	id := wire.SessionID(text("session_id"))
	none := encoded(wire.M{})
	switch op {
	case "challenge":
		c, err := s.mail.Challenge()
		return encoded(wire.M{"relay": c.Relay, "nonce": c.Nonce, "expires_at": wire.FormatTime(c.Expires)}), err
	case "register":
		agent, token, err := s.mail.Register(ctx, v)
		return encoded(wire.M{"agent_id": agent, "token": token}), err
	case "rotate":
		token, err := s.mail.Rotate(ctx, agent.ID, token)
		return encoded(wire.M{"token": token}), err
	case "revoke":
		all, _ := v.Get("all")
		return none, s.mail.Revoke(ctx, agent.ID, token, all.Bool())
	case "consent":
		c := map[string]relay.Consent{"allowed": relay.Allowed, "denied": relay.Denied}[text("consent")]
		return none, s.mail.SetConsent(ctx, agent.ID, wire.AgentID(text("agent_id")), c)
	case "consents":
		ids, consents, err := s.mail.Consents(ctx, agent.ID, wire.AgentID(text("after")), 1000)
		list := []wire.M{}
		for i := range ids {
			list = append(list, wire.M{"agent_id": ids[i], "consent": map[relay.Consent]string{relay.Allowed: "allowed", relay.Denied: "denied"}[consents[i]]})
		}
		return encoded(wire.M{"consents": list}), err
	case "create":
		want := relay.Reservation{
			Session: id, Category: text("category"), Places: int(number("places")), Life: time.Duration(number("seconds")) * time.Second,
		}
		to, _ := v.Get("to")
		for _, other := range to.Elems() {
			want.To = append(want.To, wire.AgentID(other.Text()))
		}
		info, err := s.mail.Create(ctx, agent.ID, want)
		return encoded(scriptedSession(info)), err
	case "invitations":
		list, err := s.mail.Invitations(ctx, agent.ID)
		answer := []wire.M{}
		for _, i := range list {
			answer = append(answer, scriptedInvitation(i))
		}
		return encoded(wire.M{"invitations": answer}), err
	case "join":
		info, err := s.mail.Join(ctx, agent.ID, id)
		return encoded(scriptedSession(info)), err
	case "decline":
		return none, s.mail.Decline(ctx, agent.ID, id)
	case "close":
		return none, s.mail.Close(ctx, agent.ID, id)
	case "session":
		info, err := s.mail.Session(ctx, agent.ID, id)
		return encoded(scriptedSession(info)), err
	case "sessions":
		list, err := s.mail.Sessions(ctx, agent.ID, wire.SessionID(text("after")), 100)
		answer := []wire.M{}
		for _, info := range list {
			answer = append(answer, scriptedSession(info))
		}
		return encoded(wire.M{"sessions": answer}), err
	case "append":
		e, _ := v.Get("entry")
		done, err := s.mail.Append(ctx, agent, e)
		return encoded(wire.M{"number": done.Number, "hash": done.Hash}), err
	case "read":
		most := 10_000
		if n := number("most"); n > 0 {
			most = int(n)
		}
		list, err := s.mail.Read(ctx, agent.ID, id, number("from"), most, 1<<20)
		if err != nil {
			return none, err
		}
		info, err := s.mail.Session(ctx, agent.ID, id)
		answer := []wire.M{}
		for _, e := range list {
			answer = append(answer, scriptedEntry(id, &e, ""))
		}
		return encoded(wire.M{"entries": answer, "length": info.Length}), err
	case "ack":
		return none, s.mail.Ack(ctx, agent.ID, id, number("number"))
	case "transcript":
		list, err := s.mail.Read(ctx, agent.ID, id, 1, 10_000, 1<<30)
		messages, enclosures := []json.RawMessage{}, []json.RawMessage{}
		for _, e := range list {
			if e.Kind == relay.KindMessage {
				messages = append(messages, e.Text)
			} else {
				enclosures = append(enclosures, e.Text)
			}
		}
		text, _ := json.Marshal(map[string]any{"messages": messages, "enclosures": enclosures})
		answer, parse := wire.Parse(text, wire.DocumentLimits)
		return answer, errors.Join(err, parse)
	}
	return none, &relay.Error{Code: relay.CodeBadRequest, Message: "there is no such operation"}
}
