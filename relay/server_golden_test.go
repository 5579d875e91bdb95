package relay_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

var update = flag.Bool("update", false, "rewrite the expected answers in testdata")

// A conversation is a script of what agents ask a relay, with requests and answers.
type conversation struct {
	*station
	clock  *clock
	lined  bool // over websockets
	people map[string]*person
	lines  map[string]*line
	tips   map[string]wire.Hash
	again  [2]string
	out    strings.Builder
}

// A clock is moved by tests only.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) wait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// TestConversations runs testdata/conversations.txtar over HTTP and over websockets,
// with the same answers, and testdata/delivery.txtar over websockets. In a script, a
// line that begins with "- " is what somebody does; ">" is the request that goes out for
// it, and "<" what comes back.
func TestConversations(t *testing.T) {
	for _, script := range []struct {
		file  string
		lined []bool
	}{{"testdata/conversations.txtar", []bool{false, true}}, {"testdata/delivery.txtar", []bool{true}}} {
		archive, err := txtar.ParseFile(script.file)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range archive.Files {
			for _, lined := range script.lined {
				t.Run(fmt.Sprintf("%s/%v", f.Name, map[bool]string{false: "http", true: "websocket"}[lined]), func(t *testing.T) {
					got := converse(t, string(f.Data), lined)
					if *update {
						archive.Files[i].Data = []byte(got)
					} else if diff := cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(got, "\n")); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
				})
			}
		}
		if *update {
			if err := os.WriteFile(script.file, txtar.Format(archive), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func converse(t *testing.T, script string, lined bool) string {
	clock := newClock()
	c := &conversation{
		clock: clock, lined: lined, people: map[string]*person{}, lines: map[string]*line{}, tips: map[string]wire.Hash{},
		station: listen(t, setting{
			limits: relay.Limits{Consents: 2, LivePerInitiator: 3, MessageSize: 1000, EnclosureSize: 600},
			mail:   relay.Options{Now: clock.now, Random: rand.NewChaCha8([32]byte{1})},
		}),
	}
	for _, line := range strings.Split(script, "\n") {
		if strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "< ") {
			continue
		}
		c.out.WriteString(line + "\n")
		if what, ok := strings.CutPrefix(line, "- "); ok {
			c.does(what)
		}
	}
	return strings.TrimSuffix(c.out.String(), "\n")
}

func (c *conversation) does(line string) {
	c.Helper()
	who, what, _ := strings.Cut(line, " ")
	switch verb, rest, _ := strings.Cut(what, " "); {
	case who == "wait":
		d, err := time.ParseDuration(what)
		if err != nil {
			c.Fatal(err)
		}
		c.clock.wait(d)
	case who == "sweep":
		if _, err := c.mail.Sweep(context.Background()); err != nil {
			c.Fatal(err)
		}
	case verb == "registers":
		p := &person{station: c.station, id: wire.AgentID(who), key: newKey(c, who)}
		c.people[who] = p
		_, challenge := c.ask(p, "challenge", "{}")
		nonce, id := text(challenge, "nonce"), text(challenge, "relay")
		r, err := relay.Challenge{Relay: id, Nonce: nonce}.Registration(p.id, p.key, p.now())
		if err != nil {
			c.Fatal(err)
		}
		_, v := c.ask(p, "register", r.Canonical())
		p.token = text(v, "token")
	case verb == "says":
		session, body, _ := strings.Cut(rest, " ")
		p := c.people[who]
		m := p.message(session, c.tips[session], wire.M{"signal": body})
		if code, _ := c.ask(p, "append", c.value(wire.M{"entry": m.Value()}).Canonical()); code == 200 {
			c.tips[session] = m.Hash()
		}
	case verb == "encloses":
		session, body, _ := strings.Cut(rest, " ")
		p := c.people[who]
		p.n++
		e, err := relay.Enclosure{
			ID: wire.MessageID(fmt.Sprintf("enc_%s_%d", who, p.n)), Session: wire.SessionID(session), From: p.id, Time: p.now(),
			Kind: "note", Content: c.value(wire.M{"text": body}),
		}.Sign(p.key)
		if err != nil {
			c.Fatal(err)
		}
		c.ask(p, "append", c.value(wire.M{"entry": e.Value()}).Canonical())
	case verb == "again":
		c.ask(c.people[who], c.again[0], c.again[1])
	case verb == "connects":
		c.lines[who] = c.people[who].dial()
	case verb == "gets":
		c.out.WriteString("< " + c.lines[who].push().Canonical() + "\n")
	default:
		c.ask(c.people[who], verb, rest)
	}
}

// ask sends a request and writes it down with the answer.
func (c *conversation) ask(p *person, name, body string) (code int, answer wire.Value) {
	c.Helper()
	c.again = [2]string{name, body}
	v, err := wire.Parse([]byte(body), wire.DocumentLimits)
	if err != nil {
		c.Fatalf("%s %s: %v", name, body, err)
	}
	httpOnly := slices.Contains([]string{"challenge", "register", "transcript"}, name)
	if !c.lined || httpOnly {
		code, answer = c.post(p.token, name, v)
	} else {
		if c.lines[string(p.id)] == nil {
			c.lines[string(p.id)] = p.dial()
		}
		answer, code = c.lines[string(p.id)].call(name, v), 200
		if _, refused := answer.Get("code"); refused {
			answer, code = c.value(wire.M{"error": answer}), relay.Status(relay.Code(text(answer, "code")))
		}
	}
	fmt.Fprintf(&c.out, "> %s %s\n< %d %s\n", name, v, code, answer)
	return code, answer
}
