package relay_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// standings are the parties of a session as text.
func standings(info relay.SessionInfo) string {
	var all []string
	for _, p := range info.Parties {
		all = append(all, fmt.Sprintf("%s %s", p.Agent, p.Standing))
	}
	return strings.Join(all, ", ")
}

func (w *world) session(name string, session wire.SessionID) relay.SessionInfo {
	w.Helper()
	info, err := w.Session(w.ctx, w.agent(name).ID, session)
	if err != nil {
		w.Fatal(err)
	}
	return info
}

// A relay may open sessions for some only; the others join theirs.
func TestReserve(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.opts.Reserve = func(agent wire.AgentID) bool { return agent == "alice" }
	w.use(w.driver)
	alice, bob := w.agent("alice"), w.agent("bob")
	w.refuses(relay.CodeRejected, "bob", func() error {
		_, err := w.Create(w.ctx, bob.ID, relay.Reservation{Session: "s1", To: []wire.AgentID{alice.ID}})
		return err
	})
	if _, err := w.Create(w.ctx, alice.ID, relay.Reservation{Session: "s1", To: []wire.AgentID{bob.ID}}); err != nil {
		t.Error(err)
	}
	if _, err := w.Join(w.ctx, bob.ID, "s1"); err != nil {
		t.Error(err)
	}
}

func TestCreate(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	want := relay.Reservation{Session: "s", To: []wire.AgentID{"bob", "carol"}, Places: 1, Life: time.Hour, Category: "goods.used"}
	first, err := w.create("alice", want)
	if err != nil {
		t.Fatal(err)
	}
	if standings(first) != "alice joined, bob invited, carol invited" || first.Places != 1 || first.Category != "goods.used" ||
		!first.Created.Equal(epoch) || !first.Expires.Equal(epoch.Add(time.Hour)) || !first.Ended.IsZero() || first.Why != "" {
		t.Errorf("created %+v", first)
	}
	w.quiet("the same again", func() error {
		again, err := w.create("alice", want)
		if fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("the same again: %v, want %v", again, first)
		}
		return err
	})
	w.join("s", "dave", "bob") // takes the place
	w.say("s", "dave")
	if err := w.Ack(w.ctx, "alice", "s", 1); err != nil {
		t.Fatal(err)
	}
	w.quiet("the same after others came", func() error {
		again, err := w.create("alice", want)
		if standings(again) != "alice joined, bob joined, carol invited, dave joined" || again.Places != 0 || again.Length != 1 || again.Cursor != 1 {
			t.Errorf("the same after others came: %+v", again)
		}
		return err
	})
	for name, edit := range map[string]func(*relay.Reservation){
		"others":           func(r *relay.Reservation) { r.To = []wire.AgentID{"bob"} },
		"another order":    func(r *relay.Reservation) { r.To = []wire.AgentID{"carol", "bob"} },
		"more places":      func(r *relay.Reservation) { r.Places = 2 },
		"a longer life":    func(r *relay.Reservation) { r.Life = 2 * time.Hour },
		"another category": func(r *relay.Reservation) { r.Category = "" },
	} {
		other := want
		edit(&other)
		w.refuses(relay.CodeSessionTaken, name, func() error { _, err := w.create("alice", other); return err })
	}
	w.agent("eve")
	w.refuses(relay.CodeSessionTaken, "another initiator", func() error { _, err := w.create("eve", want); return err })

	for name, edit := range map[string]func(*relay.Reservation){
		"no id":                 func(r *relay.Reservation) { r.Session = "" },
		"an id with a zero":     func(r *relay.Reservation) { r.Session = "s\x00t" },
		"an id that is no text": func(r *relay.Reservation) { r.Session = "s\xff" },
		"nobody":                func(r *relay.Reservation) { r.To, r.Places = nil, 0 },
		"oneself":               func(r *relay.Reservation) { r.To = []wire.AgentID{"alice"} },
		"somebody twice":        func(r *relay.Reservation) { r.To = []wire.AgentID{"bob", "bob"} },
		"an agent with a zero":  func(r *relay.Reservation) { r.To = []wire.AgentID{"b\x00b"} },
		"places below zero":     func(r *relay.Reservation) { r.Places = -1 },
		"places far below zero": func(r *relay.Reservation) { r.Places = math.MinInt },
		"half a second":         func(r *relay.Reservation) { r.Life = time.Second / 2 },
		"a life below zero":     func(r *relay.Reservation) { r.Life = -time.Hour },
		"a text for a category": func(r *relay.Reservation) { r.Category = "Buy now!" },
		"a long category":       func(r *relay.Reservation) { r.Category = strings.Repeat("a", 65) },
	} {
		other := relay.Reservation{Session: "new", To: []wire.AgentID{"bob"}}
		edit(&other)
		w.refuses(relay.CodeBadRequest, name, func() error { _, err := w.create("alice", other); return err })
	}
	w.refuses(relay.CodeQuota, "places beyond all counting", func() error {
		_, err := w.create("alice", relay.Reservation{Session: "new", To: []wire.AgentID{"bob"}, Places: math.MaxInt})
		return err
	})
	to := []wire.AgentID{wire.ReferenceDIDKey(key("bob").Public())}
	if _, err := w.create("alice", relay.Reservation{Session: "mine", To: to}); err != nil || to[0] != wire.ReferenceDIDKey(key("bob").Public()) {
		t.Errorf("Create changed what it was given: %v, %v", to, err)
	}
}

// Nobody but who was named takes a reserved place, and nobody learns that there is one.
func TestStranger(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob")
	w.reserve("s2", "alice", "bob")
	w.say("s", "alice")
	stranger := w.agent("eve")
	invited := w.agent("carol")
	w.reserve("s3", "alice", "bob", "carol")
	w.join("s3", "bob")
	told := map[string]bool{}
	for _, session := range []wire.SessionID{"s", "s2", "none", "", "s\x00", "\x00", "s\xff"} {
		for name, do := range map[string]func() error{
			"join":    func() error { _, err := w.Join(w.ctx, stranger.ID, session); return err },
			"decline": func() error { return w.Decline(w.ctx, stranger.ID, session) },
			"close":   func() error { return w.Close(w.ctx, stranger.ID, session) },
			"session": func() error { _, err := w.Session(w.ctx, stranger.ID, session); return err },
			"read":    func() error { _, err := w.Read(w.ctx, stranger.ID, session, 1, 10, 1000); return err },
			"ack":     func() error { return w.Ack(w.ctx, stranger.ID, session, 1) },
			"append": func() error {
				if wire.CheckID(session) != nil {
					return w.Ack(w.ctx, stranger.ID, session, 0)
				}
				_, err := w.Append(w.ctx, stranger, w.sign(w.envelope(session, "eve")).Value())
				return err
			},
		} {
			told[w.refuses(relay.CodeNotFound, name+" of "+string(session), do).Error()] = true
		}
	}
	if len(told) != 1 {
		t.Errorf("a stranger is told %v", told)
	}
	// Who is invited reads and writes nothing before it joins, and ends nothing.
	for name, do := range map[string]func() error{
		"read":  func() error { _, err := w.Read(w.ctx, invited.ID, "s3", 1, 10, 1000); return err },
		"ack":   func() error { return w.Ack(w.ctx, invited.ID, "s3", 1) },
		"close": func() error { return w.Close(w.ctx, invited.ID, "s3") },
		"append": func() error {
			_, err := w.Append(w.ctx, invited, w.sign(w.envelope("s3", "carol")).Value())
			return err
		},
	} {
		w.refuses(relay.CodeNotFound, "invited: "+name, do)
	}
	w.say("s3", "bob")
	if info := w.session("carol", "s3"); info.Length != 0 || info.Cursor != 0 {
		t.Errorf("who is invited sees a log of %d", info.Length)
	}
}

func TestJoin(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.create("alice", relay.Reservation{Session: "s", To: []wire.AgentID{"bob"}, Places: 2})
	w.quiet("the initiator has joined", func() error {
		info, err := w.Join(w.ctx, w.agent("alice").ID, "s")
		if standings(info) != "alice joined, bob invited" || info.Places != 2 {
			t.Errorf("the initiator joins: %v", standings(info))
		}
		return err
	})
	w.join("s", "carol", "dave")
	w.agent("eve")
	w.refuses(relay.CodeNotFound, "no place left", func() error { _, err := w.Join(w.ctx, "eve", "s"); return err })
	w.join("s", "bob") // the reserved place was kept
	for _, name := range []wire.AgentID{"bob", "carol"} {
		w.quiet("joining twice", func() error { _, err := w.Join(w.ctx, name, "s"); return err })
	}
	if info := w.session("alice", "s"); standings(info) != "alice joined, bob joined, carol joined, dave joined" || info.Places != 0 {
		t.Errorf("joined: %v", standings(info))
	}
	w.say("s", "carol")
	if info, err := w.Join(w.ctx, "bob", "s"); err != nil || info.Length != 1 {
		t.Errorf("joining again: %+v, %v", info, err)
	}

	w.create("alice", relay.Reservation{Session: "gone", To: []wire.AgentID{"bob"}, Places: 1, Life: time.Minute})
	w.pass(time.Minute)
	w.refuses(relay.CodeEnded, "named, too late", func() error { _, err := w.Join(w.ctx, "bob", "gone"); return err })
	w.refuses(relay.CodeNotFound, "a stranger, too late", func() error { _, err := w.Join(w.ctx, "eve", "gone"); return err })
	w.refuses(relay.CodeEnded, "declining, too late", func() error { return w.Decline(w.ctx, "bob", "gone") })
	w.sweep()
	w.refuses(relay.CodeEnded, "named, after the sweep", func() error { _, err := w.Join(w.ctx, "bob", "gone"); return err })
	w.refuses(relay.CodeNotFound, "a stranger, after the sweep", func() error { _, err := w.Join(w.ctx, "eve", "gone"); return err })
}

func TestDecline(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.reserve("s", "alice", "bob", "carol")
	w.refuses(relay.CodeBadRequest, "declining one's own", func() error { return w.Decline(w.ctx, "alice", "s") })
	if err := w.Decline(w.ctx, "bob", "s"); err != nil {
		t.Fatal(err)
	}
	w.quiet("declining twice", func() error { return w.Decline(w.ctx, "bob", "s") })
	w.refuses(relay.CodeDeclined, "joining after that", func() error { _, err := w.Join(w.ctx, "bob", "s"); return err })
	if info := w.session("alice", "s"); standings(info) != "alice joined, bob declined, carol invited" || !info.Ended.IsZero() {
		t.Errorf("%v", info)
	}
	if err := w.Decline(w.ctx, "carol", "s"); err != nil {
		t.Fatal(err)
	}
	if info := w.session("alice", "s"); info.Why != relay.EndDeclined || !info.Ended.Equal(epoch) {
		t.Errorf("after all declined: %v", info)
	}
	w.quiet("declining after the end", func() error { return w.Decline(w.ctx, "carol", "s") })

	for name, want := range map[string]relay.Reservation{
		"with a place":        {Session: "place", To: []wire.AgentID{"bob"}, Places: 1},
		"with one who joined": {Session: "joined", To: []wire.AgentID{"bob", "carol"}},
	} {
		if _, err := w.create("alice", want); err != nil {
			t.Fatal(err)
		}
		if want.Session == "joined" {
			w.join("joined", "carol")
		}
		if err := w.Decline(w.ctx, "bob", want.Session); err != nil {
			t.Fatal(err)
		}
		if info := w.session("alice", want.Session); !info.Ended.IsZero() {
			t.Errorf("%s: ended, %s", name, info.Why)
		}
	}
}

func TestClose(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	for _, by := range []string{"alice", "bob"} {
		session := wire.SessionID("s-" + by)
		w.active(session, "alice", "bob")
		m := w.say(session, "alice")
		w.pass(time.Second)
		if err := w.Close(w.ctx, wire.AgentID(by), session); err != nil {
			t.Fatalf("%s closes: %v", by, err)
		}
		end := w.clock()
		w.pass(time.Second)
		w.quiet("closing again", func() error { return w.Close(w.ctx, "alice", session) })
		if info := w.session("bob", session); info.Why != relay.EndClosed || !info.Ended.Equal(end) || info.Length != 1 {
			t.Errorf("closed by %s: %+v", by, info)
		}
		w.refuses(relay.CodeEnded, "a message after the end", func() error { _, err := w.send(w.sign(w.envelope(session, "bob"))); return err })
		w.quiet("the same message again", func() error { _, err := w.send(m); return err })
		if list, err := w.Read(w.ctx, "bob", session, 1, 10, 1000); err != nil || len(list) != 1 {
			t.Errorf("reading after the end: %v, %v", list, err)
		}
		if err := w.Ack(w.ctx, "bob", session, 1); err != nil {
			t.Errorf("acknowledging after the end: %v", err)
		}
	}
	w.create("alice", relay.Reservation{Session: "short", To: []wire.AgentID{"bob"}, Life: time.Second})
	w.pass(time.Second)
	w.quiet("closing what has expired", func() error { return w.Close(w.ctx, "alice", "short") })
	if info := w.session("alice", "short"); info.Why != relay.EndExpired {
		t.Errorf("%v", info)
	}
}

// A session is over at its time, whether the sweeper has come or not, and what it was
// said to be does not change when it comes.
func TestOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		life time.Duration
		say  []time.Duration // when something is said
		end  time.Duration
		why  relay.End
	}{
		{"expired", time.Hour, nil, time.Hour, relay.EndExpired},
		{"expired, with a fraction", time.Hour + time.Second/4, nil, time.Hour + time.Second/4, relay.EndExpired},
		{"idle", 50 * time.Hour, nil, 24 * time.Hour, relay.EndIdle},
		{"idle since the last entry", 50 * time.Hour, []time.Duration{10 * time.Hour, 11*time.Hour + time.Nanosecond}, 35*time.Hour + time.Nanosecond, relay.EndIdle},
		{"expired at the moment of idleness", 24 * time.Hour, nil, 24 * time.Hour, relay.EndExpired},
	} {
		for _, swept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, swept %v", tt.name, swept), func(t *testing.T) {
				w := newWorld(t, relay.Limits{})
				if _, err := w.create("alice", relay.Reservation{Session: "s", To: []wire.AgentID{"bob"}, Life: tt.life}); err != nil {
					t.Fatal(err)
				}
				w.join("s", "bob")
				at := time.Duration(0)
				until := func(d time.Duration) { w.pass(d - at); at = d }
				for _, d := range tt.say {
					until(d)
					w.sweep()
					w.say("s", "alice")
				}
				until(tt.end - 1)
				if done := w.sweep(); done.Ended != 0 {
					t.Fatal("swept too early")
				}
				if info := w.session("alice", "s"); !info.Ended.IsZero() {
					t.Fatalf("over too early: %v", info)
				}
				if tt.why == relay.EndExpired {
					w.say("s", "bob")
				}
				until(tt.end)
				end := w.clock()
				if swept {
					w.pass(time.Second) // the sweeper rounds up to a second
					if done := w.sweep(); done.Ended != 1 {
						t.Errorf("swept %+v", done)
					}
				}
				if info := w.session("alice", "s"); info.Why != tt.why || !info.Ended.Equal(end) {
					t.Errorf("%v at %v, want %v at %v", info.Why, info.Ended, tt.why, end)
				}
				w.refuses(relay.CodeEnded, "a message", func() error { _, err := w.send(w.sign(w.envelope("s", "alice"))); return err })
			})
		}
	}
}

func TestSessions(t *testing.T) {
	w := newWorld(t, relay.Limits{LivePerInitiator: 1000, InvitationsSender: 1000, Invitations: 1000})
	for i := range 25 {
		session := wire.SessionID(fmt.Sprintf("s%02d", i))
		w.reserve(session, "alice", "bob")
		if i%2 == 0 {
			w.join(session, "bob")
		}
	}
	w.active("t", "alic", "e") // ids that begin alike
	var all []string
	for after := wire.SessionID(""); ; {
		list, err := w.Sessions(w.ctx, "bob", after, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, info := range list {
			all = append(all, string(info.Session))
		}
		after = list[len(list)-1].Session
	}
	if len(all) != 13 || !slices.IsSorted(all) || all[12] != "s24" {
		t.Errorf("joined: %v", all)
	}
	if list, err := w.Sessions(w.ctx, "alice", "", 100); err != nil || len(list) != 25 {
		t.Errorf("the initiator's: %d, %v", len(list), err)
	}
	if list, err := w.Sessions(w.ctx, "alice", "", 0); err != nil || list != nil {
		t.Errorf("at most none: %d, %v", len(list), err)
	}
	if got := w.invitations("bob"); len(got) != 12 || got[0] != "s01" {
		t.Errorf("invitations: %v", got)
	}
}
