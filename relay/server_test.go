package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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

// A station is a relay that listens, with a clock that only tests move.
type station struct {
	testing.TB
	mail   *relay.Mailboxes
	server *relay.Server
	http   *http.Server
	url    string
	now    func() time.Time
	log    *logged
	driver relay.Driver
	client *http.Client
	dialer *websocket.Dialer
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// setting is what a test wants of its station.
type setting struct {
	limits  relay.Limits
	options relay.ServerOptions
	mail    relay.Options
	driver  func(relay.Driver) relay.Driver
}

// listen starts a relay on this machine.
func listen(t testing.TB, want setting) *station {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, want)
}

func serve(t testing.TB, l net.Listener, want setting) *station {
	t.Helper()
	var driver relay.Driver
	driver, err := boltmail.Open(filepath.Join(t.TempDir(), "mail.db"))
	if err != nil {
		t.Fatal(err)
	}
	opened := driver
	if want.driver != nil {
		driver = want.driver(driver)
	}
	want.limits.FreeSpace = max(want.limits.FreeSpace, 1)
	want.mail.Limits = want.limits
	if want.mail.Random == nil {
		want.mail.Random = rand.Reader
	}
	if want.mail.Now == nil {
		want.mail.Now = time.Now
	}
	s := &station{TB: t, log: new(logged), now: want.mail.Now, driver: driver, client: &http.Client{Transport: &http.Transport{}}, dialer: &websocket.Dialer{}}
	if p, ok := l.(*pipes); ok {
		s.client.Transport = &http.Transport{DialContext: p.dial}
		s.dialer.NetDialContext = p.dial
	}
	if s.mail, err = relay.NewMailboxes(context.Background(), driver, want.mail); err != nil {
		t.Fatal(err)
	}
	want.options.Log = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.server = relay.NewServer(s.mail, &want.options)
	s.http = s.server.HTTPServer()
	s.url = "http://" + l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(l) }()
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			t.Errorf("shutting down: %v", err)
		}
		s.http.Close()
		if err := <-served; err != http.ErrServerClosed {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// pipes are a listener without a network, whose connections hold nothing and whose
// time a test can play.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A person is an agent in a test.
type person struct {
	*station
	id    wire.AgentID
	key   wire.PrivateKey
	token string
	n     int
}

// newKey makes a key that is the same in every run, for a name.
func newKey(t testing.TB, name string) wire.PrivateKey {
	seed := wire.HashOf("a key for " + name)
	key, err := wire.NewPrivateKey(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// person registers an agent over HTTP.
func (s *station) person(name string) *person {
	s.Helper()
	p := &person{station: s, id: wire.AgentID(name), key: newKey(s, name)}
	p.token = p.register()
	return p
}

func (p *person) register() string {
	p.Helper()
	_, v := p.post("", "challenge", wire.M{})
	nonce, _ := v.Get("nonce")
	id, _ := v.Get("relay")
	r, err := relay.Challenge{Relay: id.Text(), Nonce: nonce.Text()}.Registration(p.id, p.key, p.now())
	if err != nil {
		p.Fatal(err)
	}
	code, v := p.post("", "register", r)
	token, _ := v.Get("token")
	if code != 200 {
		p.Fatalf("register: %d %v", code, v)
	}
	return token.Text()
}

// post sends a request and returns status and answer.
func (s *station) post(token, name string, body any) (int, wire.Value) {
	s.Helper()
	v, err := wire.Encode(body)
	if err != nil {
		s.Fatal(err)
	}
	code, text := s.send(token, "POST", "/v1/"+name, v.Canonical(), "Content-Type: application/json")
	answer, err := wire.Parse([]byte(text), wire.DocumentLimits)
	if err != nil {
		s.Fatalf("%s: answer %q: %v", name, text, err)
	}
	return code, answer
}

func (s *station) send(token, method, path, body string, headers ...string) (int, string) {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// do asks for an operation that must succeed.
func (p *person) do(name string, body any) wire.Value {
	p.Helper()
	code, v := p.post(p.token, name, body)
	if code != 200 {
		p.Fatalf("%s of %s: %d %v", name, p.id, code, v)
	}
	return v
}

// refused asks for an operation that must be refused with a code, and returns the error.
func (p *person) refused(want, name string, body any) wire.Value {
	p.Helper()
	_, v := p.post(p.token, name, body)
	e, _ := v.Get("error")
	if code, _ := e.Get("code"); code.Text() != want {
		p.Errorf("%s of %s: %v, want the code %s", name, p.id, v, want)
	}
	return e
}

// message signs the next message of a chain that p alone writes.
func (p *person) message(session string, prev wire.Hash, body wire.M) *wire.Message {
	p.Helper()
	p.n++
	m, err := wire.Sign(wire.Envelope{
		Type: "negotiate.signal", ID: wire.MessageID(fmt.Sprintf("msg_%s_%s_%d", session, p.id, p.n)), Session: wire.SessionID(session),
		Time: p.now(), From: p.id, PrevHash: prev, Body: p.value(body), Reasoning: "",
	}, p.key)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

func (s *station) value(x any) wire.Value {
	s.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

// chain signs n messages of p, the first of a session.
func (p *person) chain(session string, n int, body wire.M) []*wire.Message {
	p.Helper()
	var list []*wire.Message
	var prev wire.Hash
	for range n {
		m := p.message(session, prev, body)
		list, prev = append(list, m), m.Hash()
	}
	return list
}

// A line is a websocket of a person.
type line struct {
	*person
	ws   *websocket.Conn
	refs int
	// pushed are the frames that came while an answer was waited for.
	pushed []wire.Value
}

func (p *person) dial() *line {
	p.Helper()
	ws, answer, err := p.dialer.Dial("ws"+strings.TrimPrefix(p.url, "http")+"/v1/socket", http.Header{"Authorization": {"Bearer " + p.token}})
	if err != nil {
		body, _ := io.ReadAll(answer.Body)
		p.Fatalf("dialing: %v: %s", err, body)
	}
	p.Cleanup(func() { ws.Close() })
	return &line{person: p, ws: ws}
}

// next returns the next frame.
func (l *line) next() wire.Value {
	l.Helper()
	_ = l.ws.SetReadDeadline(time.Now().Add(50 * time.Second))
	_, text, err := l.ws.ReadMessage()
	if err != nil {
		l.Fatalf("%s reads: %v", l.id, err)
	}
	v, err := wire.Parse(text, wire.DocumentLimits)
	if err != nil {
		l.Fatalf("%s reads %q: %v", l.id, text, err)
	}
	return v
}

// push returns the next frame that nobody asked for.
func (l *line) push() wire.Value {
	l.Helper()
	if len(l.pushed) > 0 {
		v := l.pushed[0]
		l.pushed = l.pushed[1:]
		return v
	}
	return l.next()
}

// call asks for an operation and returns the answer.
func (l *line) call(name string, body any) wire.Value {
	l.Helper()
	l.refs++
	ref := fmt.Sprint(l.refs)
	v := l.value(body).With("op", wire.Text(name)).With("ref", wire.Text(ref))
	if err := l.ws.WriteMessage(websocket.TextMessage, []byte(v.Canonical())); err != nil {
		l.Fatal(err)
	}
	for {
		v := l.next()
		got, ok := v.Get("ref")
		if !ok {
			l.pushed = append(l.pushed, v)
			continue
		}
		if got.Text() == "ack" {
			continue // see ack
		}
		if got.Text() != ref {
			l.Fatalf("%s: answer to %v, want %s", name, got, ref)
		}
		if ok, is := v.Get("ok"); is {
			return ok
		}
		e, _ := v.Get("error")
		return e
	}
}

func text(v wire.Value, path ...string) string {
	v, _ = v.At(path...)
	if v.Kind() == wire.String {
		return v.Text()
	}
	return v.Canonical()
}

// meet has p open a session that others join.
func (p *person) meet(session string, others ...*person) {
	p.Helper()
	var to []wire.AgentID
	for _, o := range others {
		to = append(to, o.id)
	}
	p.do("create", wire.M{"session_id": session, "to": to})
	for _, o := range others {
		o.do("join", wire.M{"session_id": session})
	}
}
