package relay_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// quota wants a refusal for a limit, and that nothing has changed.
func (w *world) quota(limit, what string, do func() error) {
	w.Helper()
	if e := w.refuses(relay.CodeQuota, what, do); e.Limit != limit {
		w.Errorf("%s: the limit is %q, want %q", what, e.Limit, limit)
	}
}

func (w *world) must(what string, err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
}

func (w *world) creates(from string, want relay.Reservation) func() error {
	w.agent(from)
	return func() error { _, err := w.create(from, want); return err }
}

func (w *world) says(session wire.SessionID, from string) func() error {
	w.agent(from)
	return func() error { _, err := w.send(w.sign(w.envelope(session, from))); return err }
}

// crossings cross each limit by one.
var crossings = map[string]func(t *testing.T, limit string){
	"message_bytes": func(t *testing.T, limit string) {
		size := int64(len(newWorld(t, relay.Limits{}).sign(relayMessage).Value().Canonical()))
		for _, tt := range []struct {
			most int64
			ok   bool
		}{{size, true}, {size - 1, false}} {
			w := newWorld(t, relay.Limits{MessageSize: tt.most})
			w.active("s", "alice", "bob")
			append := w.appends("alice", w.sign(relayMessage).Value())
			if tt.ok {
				w.must("the largest message", append())
			} else {
				w.quota(limit, "a byte more", append)
			}
		}
	},
	"enclosure_bytes": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{})
		e := w.enclosure("s", "alice", "e", content(t, "draft")).Value()
		size := int64(len(e.Canonical()))
		for _, most := range []int64{size, size - 1} {
			w := newWorld(t, relay.Limits{EnclosureSize: most})
			w.active("s", "alice", "bob")
			if most == size {
				w.must("the largest enclosure", w.appends("alice", e)())
			} else {
				w.quota(limit, "a byte more", w.appends("alice", e))
			}
		}
	},
	"parties_per_session": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Parties: 3})
		w.must("three", w.creates("alice", relay.Reservation{Session: "s1", To: []wire.AgentID{"bob", "carol"}})())
		w.must("three with a place", w.creates("alice", relay.Reservation{Session: "s2", To: []wire.AgentID{"bob"}, Places: 1})())
		w.quota(limit, "four", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob", "carol", "dave"}}))
		w.quota(limit, "four with a place", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob", "carol"}, Places: 1}))
		w.quota(limit, "four with places", w.creates("alice", relay.Reservation{Session: "s3", Places: 3}))
	},
	"live_sessions_per_initiator": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{LivePerInitiator: 2})
		w.reserve("s1", "alice", "bob")
		w.reserve("s2", "alice", "bob")
		w.quota(limit, "a third", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob"}}))
		w.quiet("the second again", w.creates("alice", relay.Reservation{Session: "s2", To: []wire.AgentID{"bob"}}))
		w.reserve("b1", "bob", "alice") // is of another
		w.must("closing", w.Close(w.ctx, "alice", "s1"))
		w.reserve("s3", "alice", "bob")
		w.pass(24 * time.Hour) // what has expired does not count, although nobody has swept
		w.reserve("s4", "alice", "bob")
		w.reserve("s5", "alice", "bob")
		w.quota(limit, "a third", w.creates("alice", relay.Reservation{Session: "s6", To: []wire.AgentID{"bob"}}))
	},
	"live_sessions": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Live: 2})
		w.reserve("s1", "alice", "bob")
		w.reserve("s2", "bob", "alice")
		w.quota(limit, "a third", w.creates("carol", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob"}}))
		w.must("declining", w.Decline(w.ctx, "bob", "s1"))
		w.reserve("s3", "carol", "bob")
	},
	"session_seconds": func(t *testing.T, _ string) {
		w := newWorld(t, relay.Limits{SessionLife: relay.Span(time.Hour)})
		if info := w.reserve("s", "alice", "bob"); !info.Expires.Equal(epoch.Add(time.Hour)) {
			t.Errorf("it expires at %v", info.Expires)
		}
		w.join("s", "bob")
		w.pass(time.Hour - 1)
		w.say("s", "bob")
		w.pass(1)
		w.refuses(relay.CodeEnded, "after its life", w.says("s", "bob"))
	},
	"max_session_seconds": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{SessionLife: relay.Span(time.Minute), MaxSessionLife: relay.Span(time.Hour)})
		w.must("the longest", w.creates("alice", relay.Reservation{Session: "s1", To: []wire.AgentID{"bob"}, Life: time.Hour})())
		w.quota(limit, "a second more", w.creates("alice", relay.Reservation{Session: "s2", To: []wire.AgentID{"bob"}, Life: time.Hour + time.Second}))
	},
	"idle_seconds": func(t *testing.T, _ string) {
		w := newWorld(t, relay.Limits{Idle: relay.Span(time.Minute)})
		w.active("s", "alice", "bob")
		w.pass(time.Minute - 1)
		w.say("s", "bob")
		w.pass(time.Minute)
		w.refuses(relay.CodeEnded, "after a minute", w.says("s", "bob"))
	},
	"invitations_per_agent": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Invitations: 3})
		for i, from := range []string{"alice", "carol", "alice"} {
			w.reserve(wire.SessionID(fmt.Sprint("s", i)), from, "bob")
		}
		w.quota(limit, "a fourth", w.creates("dave", relay.Reservation{Session: "d", To: []wire.AgentID{"bob"}}))
		w.reserve("e", "dave", "eve") // others are not affected
		w.must("allowing", w.SetConsent(w.ctx, "bob", "frank", relay.Allowed))
		for i := range 3 {
			w.reserve(wire.SessionID(fmt.Sprint("f", i)), "frank", "bob")
		}
		w.quota(limit, "a seventh, even of whom it allows", w.creates("frank", relay.Reservation{Session: "f3", To: []wire.AgentID{"bob"}}))
		w.join("s0", "bob")
		w.reserve("f3", "frank", "bob")
	},
	"invitations_per_sender": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{InvitationsSender: 2})
		w.reserve("s1", "alice", "bob")
		w.reserve("s2", "alice", "bob", "carol")
		w.quota(limit, "a third", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"carol", "bob"}}))
		w.reserve("c", "carol", "bob")
		w.must("allowing", w.SetConsent(w.ctx, "bob", "alice", relay.Allowed))
		w.reserve("s3", "alice", "bob")
	},
	"undelivered_per_mailbox": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Undelivered: 3, UndeliveredSender: 2})
		w.active("s", "alice", "bob", "carol")
		w.say("s", "alice")
		w.say("s", "bob")
		w.say("s", "bob")
		w.must("acknowledging", w.Ack(w.ctx, "bob", "s", 3))
		w.must("acknowledging", w.Ack(w.ctx, "alice", "s", 3))
		w.quota(limit, "a fourth", w.says("s", "alice"))
		w.quota(limit, "an enclosure", w.appends("alice", w.enclosure("s", "alice", "e", content(t, "x")).Value()))
		w.say("s", "carol") // who has the full mailbox writes
		w.must("acknowledging", w.Ack(w.ctx, "carol", "s", 1))
		w.say("s", "alice")
	},
	"undelivered_per_sender": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{UndeliveredSender: 2})
		w.active("s", "alice", "bob")
		w.say("s", "alice")
		w.say("s", "alice")
		w.quota(limit, "a third", w.says("s", "alice"))
		w.say("s", "bob")
		w.must("acknowledging", w.Ack(w.ctx, "bob", "s", 1))
		w.say("s", "alice")
	},
	"entries_per_session": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Entries: 3})
		w.active("s", "alice", "bob")
		w.say("s", "alice")
		w.must("an enclosure", w.appends("bob", w.enclosure("s", "bob", "e", content(t, "x")).Value())())
		last := w.say("s", "bob")
		w.quota(limit, "a fourth", w.says("s", "alice"))
		w.quota(limit, "an enclosure", w.appends("alice", w.enclosure("s", "alice", "f", content(t, "x")).Value()))
		w.quiet("the last again", func() error { _, err := w.send(last); return err })
	},
	"bytes_per_session": func(t *testing.T, limit string) {
		size := int64(len(newWorld(t, relay.Limits{}).sign(relayMessage).Value().Canonical()))
		for _, most := range []int64{size, size - 1} {
			w := newWorld(t, relay.Limits{SessionSize: most})
			w.active("s", "alice", "bob")
			append := w.appends("alice", w.sign(relayMessage).Value())
			if most == size {
				w.must("all of it", append())
				w.tips["s"] = w.sign(relayMessage).Hash()
				w.quota(limit, "one more", w.says("s", "alice"))
			} else {
				w.quota(limit, "a byte more", append)
			}
		}
	},
	"bytes_per_initiator": func(t *testing.T, limit string) {
		size := int64(len(newWorld(t, relay.Limits{}).sign(relayMessage).Value().Canonical()))
		const party = 1024
		w := newWorld(t, relay.Limits{InitiatorSize: 2*2*party + size, Retention: relay.Span(time.Hour)})
		w.active("s", "alice", "bob")
		w.must("half of it", w.appends("alice", w.sign(relayMessage).Value())())
		w.quota(limit, "a session with a party more", w.creates("alice", relay.Reservation{Session: "s2", To: []wire.AgentID{"bob", "carol"}}))
		w.active("s2", "alice", "bob")
		w.quota(limit, "a message more, of another party", w.says("s2", "bob"))
		w.quota(limit, "a session more", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob"}}))
		w.active("b", "bob", "alice")
		w.say("b", "alice") // counts for bob
		w.must("closing", w.Close(w.ctx, "alice", "s"))
		w.quota(limit, "a session more, for the closed one is kept", w.creates("alice", relay.Reservation{Session: "s3", To: []wire.AgentID{"bob"}}))
		w.pass(time.Hour)
		w.reserve("s3", "alice", "bob")
	},
	"agents": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Agents: 2})
		w.agent("alice")
		w.agent("bob")
		w.quota(limit, "a third", func() error { _, _, err := w.register("carol", "carol"); return err })
		_, _, err := w.register("alice", "alice")
		w.must("one of the two again", err)
	},
	"tokens_per_agent": func(t *testing.T, _ string) {
		w := newWorld(t, relay.Limits{Tokens: 1})
		_, first, err := w.register("alice", "alice")
		w.must("registering", err)
		_, err = w.Authenticate(w.ctx, first)
		w.must("the first", err)
		_, _, err = w.register("alice", "alice")
		w.must("registering again", err)
		w.refuses(relay.CodeUnauthenticated, "the first", func() error { _, err := w.Authenticate(w.ctx, first); return err })
	},
	"consents_per_agent": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{Consents: 2})
		w.must("one", w.SetConsent(w.ctx, "alice", "x1", relay.Denied))
		w.must("two", w.SetConsent(w.ctx, "alice", "x2", relay.Allowed))
		w.quota(limit, "three", func() error { return w.SetConsent(w.ctx, "alice", "x3", relay.Denied) })
		w.must("another decision", w.SetConsent(w.ctx, "alice", "x2", relay.Denied))
		w.must("none again", w.SetConsent(w.ctx, "alice", "x1", relay.Unknown))
		w.must("one more", w.SetConsent(w.ctx, "alice", "x3", relay.Denied))
	},
	"retention_seconds": func(t *testing.T, _ string) {
		w := newWorld(t, relay.Limits{Retention: relay.Span(time.Hour)})
		w.active("s", "alice", "bob")
		w.say("s", "alice")
		w.must("closing", w.Close(w.ctx, "alice", "s"))
		w.pass(time.Hour - 1)
		if done := w.sweep(); done.Removed != 0 || len(w.read("bob", "s", 1, 10, 1000)) != 1 {
			t.Errorf("too early: %+v", done)
		}
		w.pass(1)
		if done := w.sweep(); done.Removed != 1 {
			t.Errorf("swept %+v", done)
		}
		w.refuses(relay.CodeNotFound, "reading after that", func() error { _, err := w.Read(w.ctx, "bob", "s", 1, 10, 1000); return err })
	},
	"free_bytes": func(t *testing.T, limit string) {
		w := newWorld(t, relay.Limits{FreeSpace: 1000})
		disk := &smallDisk{Driver: w.driver, free: 1000}
		w.use(disk)
		w.active("s", "alice", "bob")
		m := w.say("s", "alice")
		disk.free = 999
		w.quota(limit, "a message", w.says("s", "alice"))
		w.quota(limit, "a session", w.creates("alice", relay.Reservation{Session: "s2", To: []wire.AgentID{"bob"}}))
		w.quota(limit, "an agent", func() error { _, _, err := w.register("carol", "carol"); return err })
		w.quiet("the same again", func() error { _, err := w.send(m); return err })
		w.must("acknowledging", w.Ack(w.ctx, "bob", "s", 1)) // what makes room goes on
		w.must("closing", w.Close(w.ctx, "bob", "s"))
		disk.free = -1 // not known
		w.reserve("s2", "alice", "bob")
	},
	// Rates are the server's.
	"connections": nil, "connections_per_agent": nil, "connections_per_address": nil,
	"appends_per_second": nil, "append_burst": nil, "calls_per_second": nil, "call_burst": nil,
}

var relayMessage = func() wire.Envelope {
	body, _ := wire.Encode(wire.M{"term_ids": []string{"price"}})
	return wire.Envelope{Type: wire.TypeInquire, ID: "m", Session: "s", Time: epoch, From: "alice", Body: body}
}()

// A smallDisk is a driver whose disk has so much space.
type smallDisk struct {
	relay.Driver
	free int64
}

func (d *smallDisk) Size() (used, free int64) { return 0, d.free }

func TestEveryLimitIsCrossed(t *testing.T) {
	limits := reflect.TypeFor[relay.Limits]()
	for i := range limits.NumField() {
		name := limits.Field(i).Tag.Get("json")
		t.Run(name, func(t *testing.T) {
			cross, ok := crossings[name]
			if !ok {
				t.Fatal("nothing crosses this limit")
			}
			if cross != nil {
				cross(t, name)
			}
		})
	}
	if len(crossings) != limits.NumField() {
		t.Errorf("%d crossings for %d limits", len(crossings), limits.NumField())
	}
}

func TestLimitsAreChecked(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	for name, limits := range map[string]relay.Limits{
		"negative":           {Entries: -1},
		"one party":          {Parties: 1},
		"too many parties":   {Parties: 257},
		"a long message":     {MessageSize: wire.MaxMessageSize + 1},
		"a long enclosure":   {EnclosureSize: relay.MaxEnclosureSize + 1},
		"a default too long": {SessionLife: relay.Span(8 * 24 * time.Hour)},
		"retention for ever": {Retention: relay.Span(1 << 62)},
	} {
		opts := w.opts
		opts.Limits = limits
		if _, err := relay.NewMailboxes(w.ctx, w.driver, opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	opts := w.opts
	opts.Now = nil
	if _, err := relay.NewMailboxes(w.ctx, w.driver, opts); err == nil {
		t.Error("without a clock: accepted")
	}
	opts.Limits, opts.Now = relay.Limits{Parties: 256, Tokens: 3}, w.clock
	m, err := relay.NewMailboxes(w.ctx, w.driver, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := relay.DefaultLimits()
	want.Parties, want.Tokens = 256, 3
	if m.Limits() != want {
		t.Errorf("limits %+v", m.Limits())
	}
}

func TestLimitsAsJSON(t *testing.T) {
	b, err := json.Marshal(relay.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	var back relay.Limits
	if err := json.Unmarshal(b, &back); err != nil || back != relay.DefaultLimits() {
		t.Errorf("%s is %+v, %v", b, back, err)
	}
	for _, text := range []string{"-1", "1.5", "1e3", `"1"`, "99999999999", "12x"} {
		var s relay.Span
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s seconds are %v", text, time.Duration(s))
		}
	}
}

// The 256th party has an index like the first.
func TestManyParties(t *testing.T) {
	w := newWorld(t, relay.Limits{Parties: 256, Consents: 1000})
	if _, err := w.create("alice", relay.Reservation{Session: "s", Places: 255}); err != nil {
		t.Fatal(err)
	}
	for i := range 255 {
		if _, err := w.Join(w.ctx, wire.AgentID(fmt.Sprint("a", i)), "s"); err != nil {
			t.Fatal(err)
		}
	}
	w.agent("a254")
	w.agent("a255")
	w.say("s", "a254")
	if list := w.read("a0", "s", 1, 10, 1000); len(list) != 1 || list[0].Sender != "a254" {
		t.Errorf("sent by %v", list)
	}
	w.refuses(relay.CodeNotFound, "one more", func() error { _, err := w.Join(w.ctx, "a255", "s"); return err })
}

func TestParseLimits(t *testing.T) {
	l, err := relay.ParseLimits([]byte(`{"undelivered_per_mailbox": 5000, "retention_seconds": 60}`))
	if want := (relay.Limits{Undelivered: 5000, Retention: relay.Span(time.Minute)}); l != want || err != nil {
		t.Errorf("ParseLimits = %+v, %v", l, err)
	}
	for _, text := range []string{
		"", "[]", "1", `{"undelivered": 1}`, `{"Undelivered_per_mailbox": 1}`, `{"agents": 1, "agents": 2}`, `{"agents": 0}`, `{"agents": -1}`,
		`{"agents": "1"}`, `{"agents": 1.5}`, `{"agents": null}`, `{"retention_seconds": 9007199254740991}`, `{"agents": {"agents": 1}}`, `{"": 1}`,
	} {
		if l, err := relay.ParseLimits([]byte(text)); err == nil {
			t.Errorf("ParseLimits(%s) = %+v", text, l)
		}
	}
}
