package relay_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// When all sessions have gone, nothing is left but who is registered, and what it has
// decided.
func TestNothingIsLeft(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("closed", "alice", "bob", "carol")
	w.active("expired", "bob", "alice")
	w.reserve("declined", "alice", "bob")
	w.reserve("unanswered", "alice", "bob", "carol", "nobody")
	if err := w.SetConsent(w.ctx, "carol", "alice", relay.Denied); err != nil {
		t.Fatal(err)
	}
	w.reserve("hidden", "alice", "carol")
	if _, err := w.create("alice", relay.Reservation{Session: "places", Places: 3}); err != nil {
		t.Fatal(err)
	}
	w.join("places", "bob")
	w.active("empty", "alice", "bob")
	for range 3 {
		w.say("closed", "alice")
		w.say("closed", "bob")
		w.say("expired", "bob")
		w.say("places", "bob")
	}
	if _, err := w.enclose(w.enclosure("closed", "carol", "e", content(t, "x"))); err != nil {
		t.Fatal(err)
	}
	for agent, n := range map[wire.AgentID]uint64{"alice": 7, "carol": 4} {
		if err := w.Ack(w.ctx, agent, "closed", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(w.ctx, "alice", "closed"), w.Decline(w.ctx, "bob", "declined")); err != nil {
		t.Fatal(err)
	}
	if done := w.sweep(); done != (relay.Swept{}) {
		t.Errorf("at once: %+v", done)
	}
	w.pass(24 * time.Hour)
	if done := w.sweep(); done != (relay.Swept{Ended: 5, Nonces: 3}) {
		t.Errorf("after a day: %+v", done)
	}
	w.open()
	w.pass(29 * 24 * time.Hour)
	if done := w.sweep(); done != (relay.Swept{Removed: 2, Freed: 2435}) {
		t.Errorf("after 30 days: %+v", done)
	}
	w.pass(24 * time.Hour)
	if done := w.sweep(); done != (relay.Swept{Removed: 5, Freed: 2165}) {
		t.Errorf("after 31 days: %+v", done)
	}
	for k, v := range w.dump() {
		if !strings.Contains("ratkc", k[:1]) {
			t.Errorf("left: %q = %q", k, v)
		}
	}
	// The id can be used again, and the new session has nothing of the old.
	w.tips = map[wire.SessionID]wire.Hash{}
	w.active("closed", "bob", "alice")
	w.say("closed", "bob")
	if info := w.session("alice", "closed"); info.Length != 1 || info.Cursor != 0 {
		t.Errorf("the id again: %+v", info)
	}
}

// More than one batch, all at the same moment, with a fraction of a second to go.
func TestSweepMany(t *testing.T) {
	w := newWorld(t, relay.Limits{LivePerInitiator: 10_000, InvitationsSender: 10_000, Invitations: 10_000})
	w.pass(time.Second / 2)
	const sessions = 600
	for i := range sessions {
		w.reserve(wire.SessionID(fmt.Sprint("s", i)), "alice", "bob")
	}
	w.pass(24*time.Hour - time.Second/4)
	if done := w.sweep(); done.Ended != 0 {
		t.Errorf("too early: %+v", done)
	}
	w.pass(time.Second)
	if done := w.sweep(); done.Ended != sessions {
		t.Errorf("ended %+v", done)
	}
	if got := w.invitations("bob"); got != nil {
		t.Errorf("invitations: %d", len(got))
	}
	w.pass(30 * 24 * time.Hour)
	if done := w.sweep(); done.Removed != sessions {
		t.Errorf("removed %+v", done)
	}
}

// A relay that was off for months ends and removes what it missed.
func TestSweepLate(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob")
	w.say("s", "alice")
	w.pass(90 * 24 * time.Hour)
	var all relay.Swept
	for range 3 {
		done := w.sweep()
		all.Ended += done.Ended
		all.Removed += done.Removed
	}
	if all.Ended != 1 || all.Removed != 1 {
		t.Errorf("swept %+v", all)
	}
}

// One damaged record hurts its own session alone, and the sweeper counts it and goes
// on.
func TestDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing happens after the other")
	}
	const hurt = "hurt"
	for _, kind := range []string{"s", "h", "m", "v", "i", "u", "w", "l", "b", "a", "t", "c", "k", "n"} {
		for name, garbage := range map[string][]byte{"empty": {}, "garbage": []byte("\xff\x01garbage"), "long": bytes.Repeat([]byte{0xff}, 300), "zeros": make([]byte, 40), "gone": nil} {
			t.Run(kind+" "+name, func(t *testing.T) {
				w := newWorld(t, relay.Limits{})
				for _, session := range []wire.SessionID{hurt, "well"} {
					w.active(session, "alice-"+string(session), "bob-"+string(session))
					w.say(session, "alice-"+string(session))
					w.say(session, "bob-"+string(session))
					w.reserve("i-"+session, "alice-"+string(session), wire.AgentID("bob-"+session))
				}
				damaged := 0
				before := w.dump()
				err := w.driver.Update(w.ctx, func(tx relay.Tx) error {
					damaged = 0
					for k := range before {
						if k[:1] != kind || strings.HasPrefix(k, "log ") || !strings.Contains(k+before[k], hurt) && !strings.Contains("kn", kind) {
							continue
						}
						damaged++
						if garbage == nil {
							tx.Delete(k)
						} else {
							tx.Put(k, garbage)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if damaged == 0 && kind != "l" && kind != "c" {
					t.Fatalf("there is no record %s to damage", kind)
				}
				// No call on the damaged may panic; those on the others go well.
				alice, bob := w.agents["alice-"+hurt], w.agents["bob-"+hurt]
				w.Append(w.ctx, alice, w.sign(w.envelope(hurt, "alice-"+hurt)).Value())
				w.Read(w.ctx, bob.ID, hurt, 1, 10, 1000)
				w.Ack(w.ctx, bob.ID, hurt, 1)
				w.Ack(w.ctx, bob.ID, hurt, 2)
				w.Session(w.ctx, bob.ID, hurt)
				w.Join(w.ctx, bob.ID, "i-"+hurt)
				w.Create(w.ctx, alice.ID, relay.Reservation{Session: hurt, To: []wire.AgentID{bob.ID}})
				for _, list := range []func() error{
					func() error { _, err := w.Sessions(w.ctx, bob.ID, "", 10); return err },
					func() error { _, err := w.Invitations(w.ctx, bob.ID); return err },
					func() error { _, _, err := w.Consents(w.ctx, bob.ID, "", 10); return err },
				} {
					if err := list(); err != nil {
						t.Errorf("a list: %v", err)
					}
				}
				w.say("well", "alice-well")
				if err := w.Ack(w.ctx, "bob-well", "well", 3); err != nil {
					t.Error(err)
				}
				w.join("i-well", "bob-well")
				w.pass(31 * 24 * time.Hour)
				bad := 0
				for range 3 {
					bad += w.sweep().Bad
				}
				if strings.Contains("shm", kind) && !(kind == "s" && name == "gone") && bad == 0 {
					t.Error("the sweeper has not seen it")
				}
				w.pass(31 * 24 * time.Hour)
				w.sweep()
				for k, v := range w.dump() {
					if strings.HasSuffix(k, "well") && !strings.Contains("atc", k[:1]) || strings.HasPrefix(k, "log well") {
						t.Errorf("left of the others: %q = %q", k, v)
					}
				}
			})
		}
	}
}

// An entry that the driver has lost is damage of its session alone, too.
func TestLostEntry(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.active("s", "alice", "bob")
	w.active("well", "alice", "bob")
	var all []*wire.Message
	for range 4 {
		all = append(all, w.say("s", "alice"))
	}
	err := w.driver.Update(w.ctx, func(tx relay.Tx) error { tx.Drop("s", 4); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ack(w.ctx, "bob", "s", 2); err == nil || relay.CodeOf(err) != relay.CodeInternal {
		t.Errorf("Ack = %v", err)
	}
	if _, err := w.send(all[1]); err == nil || relay.CodeOf(err) != relay.CodeInternal {
		t.Errorf("Append = %v", err)
	}
	w.say("well", "alice")
}
