package node_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A gate is the relay of a world at another address, at which it can be away.
type gate struct {
	*httptest.Server
	shut  atomic.Bool
	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func (w *world) gate() *gate {
	w.Helper()
	to, err := url.Parse(w.url)
	w.must(err)
	g := new(gate)
	through := httputil.NewSingleHostReverseProxy(to)
	through.ErrorLog = log.New(io.Discard, "", 0) // of connections that break
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		through.ServeHTTP(rw, r)
	}))
	g.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.conns = append(g.conns, c)
		return ctx
	}
	g.Start()
	w.Cleanup(func() {
		g.close()
		g.Server.Close()
	})
	return g
}

func (g *gate) close() {
	g.shut.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		_ = c.Close() // websockets too, which a server knows nothing of
	}
}

// links are the relays that a node is connected to, or tries to be.
func (p *party) links() (urls []string) {
	p.w.Helper()
	for _, l := range must[node.Self](p.w)(p.Self(p.w.ctx)).Links {
		urls = append(urls, l.Relay)
	}
	return urls
}

// invites makes the invitation of an agent to a session at a relay.
func (w *world) invites(name string, id wire.SessionID, at string) wire.Value {
	w.Helper()
	return must[*relay.Enclosure](w)(relay.Enclosure{
		ID: "inv", Session: id, From: agent(name), Time: w.now(), Kind: "invitation",
		Content: encoded(wire.M{"relay": at, "expires_at": wire.FormatTime(w.now().Add(time.Hour))}),
	}.Sign(key(name))).Value()
}

// Who is not welcome does not make the node connect to where it says.
func TestDeniedMovesNothing(t *testing.T) {
	w := newWorld(t)
	refuses := w.party("refuses", func(o *node.Options) { o.Policy.Unknown = node.Refuse })
	denies := w.party("denies", func(o *node.Options) { o.Policy.Deny = []wire.AgentID{agent("stranger")} })
	for i, p := range []*party{refuses, denies} {
		id := wire.SessionID(fmt.Sprint("ses_", i))
		if _, err := p.Invited(w.ctx, w.invites("stranger", id, "http://127.0.0.1:9999")); code(err) != node.CodePolicy {
			t.Errorf("invited: %v", err)
		}
		if links := p.links(); len(links) != 1 || links[0] != w.url {
			t.Errorf("links %v", links)
		}
	}
}

// Strangers are joined without being asked up to a bound, beyond which they wait.
func TestUnaskedSessions(t *testing.T) {
	w := newWorld(t)
	p := w.party("p", func(o *node.Options) { o.Policy.Unknown = node.Accept })
	stranger := w.party("stranger", nil)
	const most = 4
	open := func(i int) wire.SessionID {
		t.Helper()
		id := wire.SessionID(fmt.Sprint("ses_", i))
		must[node.View](w)(stranger.Open(w.ctx, node.Opening{Session: id, To: []wire.AgentID{agent("p")}, Body: camera(nil)}))
		return id
	}
	waiting := func(want ...wire.SessionID) {
		t.Helper()
		var got []wire.SessionID
		for _, i := range must[[]node.Invitation](w)(p.Invitations(w.ctx)) {
			got = append(got, i.Session)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%v wait, want %v", got, want)
		}
	}
	for i := range most {
		stranger.has(open(i), 1)
	}
	open(most)
	for p.count(node.InvitationCame) <= most {
		p.sees(node.InvitationCame)
	}
	waiting("ses_4")
	must[node.View](w)(p.Join(w.ctx, "ses_4")) // when asked it joins as many as it likes
	stranger.has("ses_4", 1)
	p.move("ses_0", wire.TypeDeclineSession, wire.Value{})
	p.settled("ses_0")
	stranger.has(open(5), 1) // in its place
	waiting()
}

// A relay that carries a session of a stranger makes up no invitations.
func TestInvitationsOfAnotherRelay(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	p := w.party("p", func(o *node.Options) { o.Policy.Allow, o.Policy.JoinKnown = []wire.AgentID{agent("friend")}, true })
	i := relay.Invitation{Session: "ses_made_up", From: agent("friend"), Created: w.now(), Expires: w.now().Add(time.Hour)}
	w.must(node.InvitedBy(p.Node, other.url, i))
	if list := must[[]node.Invitation](w)(p.Invitations(w.ctx)); len(list) != 0 || p.count(node.InvitationCame) != 0 {
		t.Errorf("invitations %v", list)
	}
	i.Session = "ses_home"
	w.must(node.InvitedBy(p.Node, w.url, i))
	p.sees(node.InvitationCame)
}

// A relay that no session needs any more is let go.
func TestCarriersAreLetGo(t *testing.T) {
	w := newWorld(t)
	seller, buyer := w.public("seller", nil), w.party("buyer", nil)
	v := must[node.View](w)(seller.Open(w.ctx, node.Opening{Places: 1, Way: node.Otherwise, Body: camera(nil)}))
	must[node.Invitation](w)(buyer.Invited(w.ctx, must[wire.Value](w)(seller.Invitation(w.ctx, v.Session, ""))))
	must[node.View](w)(buyer.Join(w.ctx, v.Session))
	must[node.Invitation](w)(buyer.Invited(w.ctx, w.invites("stranger", "ses_no", "http://127.0.0.1:9999")))
	short, stop := context.WithTimeout(w.ctx, 50*time.Millisecond)
	defer stop()
	_ = buyer.Decline(short, "ses_no") // nobody answers there
	if links := buyer.links(); len(links) != 3 {
		t.Fatalf("links %v", links)
	}
	node.SweepCarriers(buyer.Node)
	if links := buyer.links(); len(links) != 2 {
		t.Errorf("links %v", links)
	}
	buyer.move(v.Session, wire.TypeAcceptSession, wire.Value{})
	seller.in(v.Session, session.Active)
	buyer.move(v.Session, wire.TypeReject, wire.Value{})
	buyer.settled(v.Session)
	buyer.reach(v.Session, "the end at the relay", func(node.View) bool {
		node.SweepCarriers(buyer.Node)
		links := buyer.links()
		return len(links) == 1 && links[0] == w.url
	})
}

// Who could not join because the relay was away joins when it is there, if asked again or
// not.
func TestJoinLater(t *testing.T) {
	for _, again := range []bool{true, false} {
		w := newWorld(t)
		g := w.gate()
		seller, buyer := w.party("seller", func(o *node.Options) { o.Relay = g.URL }), w.party("buyer", func(o *node.Options) { o.Relay = "" })
		v := must[node.View](w)(seller.Open(w.ctx, node.Opening{Places: 1, Way: node.Otherwise, Body: camera(nil)}))
		must[node.Invitation](w)(buyer.Invited(w.ctx, must[wire.Value](w)(seller.Invitation(w.ctx, v.Session, ""))))
		g.close()
		short, stop := context.WithTimeout(w.ctx, 300*time.Millisecond)
		_, err := buyer.Join(short, v.Session)
		stop()
		if err == nil {
			t.Fatal("joined at a relay that is away")
		}
		g.shut.Store(false)
		if again {
			must[node.View](w)(buyer.Join(w.ctx, v.Session))
		}
		buyer.has(v.Session, 1)
		seller.has(v.Session, 1)
	}
}

// Contacts that are set at the same time are all kept, and count.
func TestContactsAtOnce(t *testing.T) {
	w := newWorld(t)
	p := w.party("p", func(o *node.Options) { o.Relay = "" })
	var work sync.WaitGroup
	for i := range 32 {
		work.Go(func() {
			if err := p.SetContact(w.ctx, node.Contact{Agent: agent(fmt.Sprint("c", i)), Consent: node.Denied}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if list := must[[]node.Contact](w)(p.Contacts(w.ctx)); len(list) != 32 {
		t.Errorf("%d contacts", len(list))
	}
}

// What the home relay could not be told of a contact it is told when it is there again.
func TestConsentsAreToldLater(t *testing.T) {
	w := newWorld(t)
	g := w.gate()
	p := w.party("p", func(o *node.Options) { o.Relay = g.URL })
	home := w.bare("p") // the same agent, at the relay itself
	consents := func() map[wire.AgentID]relay.Consent {
		t.Helper()
		all := map[wire.AgentID]relay.Consent{}
		ids, list, err := home.Consents(w.ctx, "")
		w.must(err)
		for i, id := range ids {
			all[id] = list[i]
		}
		return all
	}
	connected := func(want bool) {
		t.Helper()
		for must[node.Self](w)(p.Self(w.ctx)).Links[0].Connected != want {
			runtime.Gosched()
		}
	}
	connected(true)
	w.must(p.SetContact(w.ctx, node.Contact{Agent: agent("gone"), Consent: node.Denied}))
	if got := consents()[agent("gone")]; got != relay.Denied {
		t.Fatalf("consent %q", got)
	}
	g.close()
	connected(false)
	w.must(p.SetContact(w.ctx, node.Contact{Agent: agent("rude"), Consent: node.Denied}))
	w.must(p.RemoveContact(w.ctx, agent("gone")))
	p.restart()
	g.shut.Store(false)
	for {
		all := consents()
		if all[agent("rude")] == relay.Denied && all[agent("gone")] == relay.Unknown {
			break
		}
		if w.ctx.Err() != nil {
			t.Fatalf("consents %v", all)
		}
	}
}
