package relay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// What an initiator sees is the same for an agent that has denied it, and for one that
// nothing is known of and that does not answer: every answer and error, under every
// quota, and what becomes of the session.
func TestDeniedLearnsNothing(t *testing.T) {
	limits := relay.Limits{InvitationsSender: 3, Invitations: 5, LivePerInitiator: 50}
	story := func(w *world, deny bool) string {
		var told strings.Builder
		say := func(what string, info relay.SessionInfo, err error) {
			fmt.Fprintf(&told, "%s: %+v, %v\n", what, info, err)
		}
		mallory, accomplice := w.agent("mallory"), w.agent("accomplice")
		victim := w.agent("victim").ID
		if deny {
			if err := w.SetConsent(w.ctx, victim, mallory.ID, relay.Denied); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 { // over its share
			session := wire.SessionID(fmt.Sprint("m", i))
			info, err := w.create("mallory", relay.Reservation{Session: session, To: []wire.AgentID{victim}})
			say("create", info, err)
			info, err = w.Session(w.ctx, mallory.ID, session)
			say("session", info, err)
			_, err = w.Append(w.ctx, mallory, w.sign(w.envelope(session, "mallory")).Value())
			say("append", relay.SessionInfo{}, err)
		}
		for i := range 5 { // the accomplice finds out how full the mailbox is
			info, err := w.create("accomplice", relay.Reservation{Session: wire.SessionID(fmt.Sprint("a", i)), To: []wire.AgentID{victim}})
			say("create", info, err)
		}
		if err := w.Close(w.ctx, mallory.ID, "m0"); err != nil {
			t.Fatal(err)
		}
		for _, by := range []relay.Agent{accomplice, mallory} { // and what closing has freed
			info, err := w.create(string(by.ID), relay.Reservation{Session: "once-" + wire.SessionID(by.ID)[:1], To: []wire.AgentID{victim}})
			say("create", info, err)
			info, err = w.create(string(by.ID), relay.Reservation{Session: "again-" + wire.SessionID(by.ID)[:1], To: []wire.AgentID{victim}})
			say("create", info, err)
		}
		w.pass(25 * time.Hour)
		for range 2 {
			info, err := w.Session(w.ctx, mallory.ID, "m1")
			say("session", info, err)
			w.sweep()
		}
		list, err := w.Sessions(w.ctx, mallory.ID, "", 100)
		fmt.Fprintln(&told, list, err)
		return told.String()
	}
	denied, unknown := story(newWorld(t, limits), true), story(newWorld(t, limits), false)
	if denied != unknown {
		t.Errorf("the initiator is told, when it is denied:\n%s\nand when it is unknown:\n%s", denied, unknown)
	}
	for _, want := range []string{"invitations_per_sender", "invitations_per_agent", string(relay.EndExpired)} {
		if !strings.Contains(denied, want) {
			t.Errorf("nothing came to %s:\n%s", want, denied)
		}
	}
}

func (w *world) invitations(name string) (all []string) {
	w.Helper()
	list, err := w.Invitations(w.ctx, wire.AgentID(name))
	if err != nil {
		w.Fatal(err)
	}
	for _, i := range list {
		all = append(all, string(i.Session))
	}
	return all
}

func wantList(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s: %q, want %q", what, s, want)
	}
}

func TestConsentDecidesWhatIsShown(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	w.reserve("s1", "mallory", "alice")
	w.reserve("s2", "bob", "alice")
	w.reserve("s3", "alice", "bob") // alice's own is no invitation
	wantList(t, "unknown", w.invitations("alice"), "s1 s2")
	consent := func(c relay.Consent) {
		t.Helper()
		if err := w.SetConsent(w.ctx, "alice", "mallory", c); err != nil {
			t.Fatal(err)
		}
	}
	consent(relay.Denied)
	wantList(t, "denied after that", w.invitations("alice"), "s2")
	w.reserve("s4", "mallory", "alice")
	wantList(t, "denied before that", w.invitations("alice"), "s2")
	if list, err := w.Invitations(w.ctx, "alice"); err != nil || list[0].From != "bob" {
		t.Errorf("%+v, %v", list, err)
	}
	consent(relay.Unknown)
	wantList(t, "unknown again", w.invitations("alice"), "s1 s2 s4")
	consent(relay.Denied)
	consent(relay.Allowed)
	wantList(t, "allowed", w.invitations("alice"), "s1 s2 s4")

	w.join("s2", "alice")
	wantList(t, "after joining", w.invitations("alice"), "s1 s4")
	if ids, consents, err := w.Consents(w.ctx, "alice", "", 10); err != nil || fmt.Sprint(ids, consents) != "[bob mallory] [a a]" {
		t.Errorf("joining allows: %v %v, %v", ids, consents, err)
	}
	if err := w.Decline(w.ctx, "alice", "s1"); err != nil {
		t.Fatal(err)
	}
	w.pass(25 * time.Hour) // over, and nobody has swept
	wantList(t, "after the end", w.invitations("alice"), "")
}

// Who joins allows, unless it has decided before.
func TestJoiningKeepsADecision(t *testing.T) {
	w := newWorld(t, relay.Limits{Consents: 1})
	w.reserve("s", "mallory", "alice")
	if err := w.SetConsent(w.ctx, "alice", "mallory", relay.Denied); err != nil {
		t.Fatal(err)
	}
	w.join("s", "alice")
	if _, consents, err := w.Consents(w.ctx, "alice", "", 10); err != nil || fmt.Sprint(consents) != "[d]" {
		t.Errorf("%v, %v", consents, err)
	}
	w.reserve("s2", "bob", "alice")
	w.join("s2", "alice") // no room for another decision, which is no reason to refuse
	if _, consents, err := w.Consents(w.ctx, "alice", "", 10); err != nil || fmt.Sprint(consents) != "[d]" {
		t.Errorf("%v, %v", consents, err)
	}
}

func TestConsents(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	for i := range 25 {
		if err := w.SetConsent(w.ctx, "alice", wire.AgentID(fmt.Sprintf("x%02d", i)), relay.Denied); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetConsent(w.ctx, "alicf", "x00", relay.Denied); err != nil {
		t.Fatal(err)
	}
	var all []wire.AgentID
	for after := wire.AgentID(""); ; {
		ids, _, err := w.Consents(w.ctx, "alice", after, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 {
			break
		}
		all = append(all, ids...)
		after = ids[len(ids)-1]
	}
	if len(all) != 25 || all[0] != "x00" || all[24] != "x24" {
		t.Errorf("in pages: %v", all)
	}
	if ids, _, _ := w.Consents(w.ctx, "alice", "", 0); ids != nil {
		t.Errorf("at most none: %v", ids)
	}
	for name, about := range map[string]wire.AgentID{"oneself": "alice", "nobody": "", "an id with a space": "a b", "an id with a zero": "a\x00b"} {
		w.refuses(relay.CodeBadRequest, name, func() error { return w.SetConsent(w.ctx, "alice", about, relay.Denied) })
	}
	w.refuses(relay.CodeBadRequest, "no consent", func() error { return w.SetConsent(w.ctx, "alice", "bob", "maybe") })
	w.quiet("deciding the same", func() error { return w.SetConsent(w.ctx, "alice", "x00", relay.Denied) })
	w.quiet("undoing nothing", func() error { return w.SetConsent(w.ctx, "alice", "bob", relay.Unknown) })
	for _, id := range all {
		if err := w.SetConsent(w.ctx, "alice", id, relay.Unknown); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetConsent(w.ctx, "alicf", "x00", relay.Unknown); err != nil {
		t.Fatal(err)
	}
	for k := range w.dump() {
		if k[0] == 'c' {
			t.Errorf("left of the decisions: %q", k)
		}
	}
	// Both spellings of a did:key are one agent.
	did := key("bob").Public()
	if err := w.SetConsent(w.ctx, "alice", wire.ReferenceDIDKey(did), relay.Denied); err != nil {
		t.Fatal(err)
	}
	if ids, _, _ := w.Consents(w.ctx, "alice", "", 1); len(ids) != 1 || ids[0] != wire.DIDKey(did) {
		t.Errorf("decided about %v", ids)
	}
}

// An agent that was allowed may have filled a mailbox; once it is denied, it keeps
// others out no more than a stranger could.
func TestDeniedKeepsNobodyOut(t *testing.T) {
	w := newWorld(t, relay.Limits{Invitations: 6, InvitationsSender: 2})
	if err := w.SetConsent(w.ctx, "alice", "mallory", relay.Allowed); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		w.reserve(wire.SessionID(fmt.Sprint("m", i)), "mallory", "alice")
	}
	w.agent("bob")
	w.refuses(relay.CodeQuota, "a full mailbox", func() error {
		_, err := w.create("bob", relay.Reservation{Session: "b", To: []wire.AgentID{"alice"}})
		return err
	})
	if err := w.SetConsent(w.ctx, "alice", "mallory", relay.Denied); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w.reserve(wire.SessionID(fmt.Sprint("b", i)), fmt.Sprint("bob", i/2), "alice")
	}
	for i := range 6 {
		if err := w.Close(w.ctx, "mallory", wire.SessionID(fmt.Sprint("m", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if err := w.Decline(w.ctx, "alice", wire.SessionID(fmt.Sprint("b", i))); err != nil {
			t.Fatal(err)
		}
	}
	for k, n := range counters(w.dump()) {
		if k[0] == 'w' {
			t.Errorf("%q is %d when all is answered", k, n)
		}
	}
}

// Who was allowed and is not any more does not learn through others either whether it
// is denied or unknown now.
func TestDeniedAfterAllowed(t *testing.T) {
	story := func(consent relay.Consent) string {
		w := newWorld(t, relay.Limits{Invitations: 6, InvitationsSender: 2})
		var told strings.Builder
		for _, c := range []relay.Consent{relay.Allowed, consent} {
			if err := w.SetConsent(w.ctx, "alice", "mallory", c); err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				_, err := w.create("mallory", relay.Reservation{Session: wire.SessionID(fmt.Sprint("m", c, i)), To: []wire.AgentID{"alice"}})
				fmt.Fprintln(&told, "mallory:", err)
			}
		}
		for i := range 6 {
			_, err := w.create(fmt.Sprint("accomplice", i/2), relay.Reservation{Session: wire.SessionID(fmt.Sprint("a", i)), To: []wire.AgentID{"alice"}})
			fmt.Fprintln(&told, "accomplice:", err)
		}
		return told.String()
	}
	if denied, unknown := story(relay.Denied), story(relay.Unknown); denied != unknown {
		t.Errorf("when it is denied:\n%s\nand when it is unknown:\n%s", denied, unknown)
	}
}

// Strangers, however many, do not keep out whom an agent has allowed.
func TestStrangersKeepNoFriendOut(t *testing.T) {
	w := newWorld(t, relay.Limits{Invitations: 4, InvitationsSender: 2})
	if err := w.SetConsent(w.ctx, w.agent("alice").ID, "friend", relay.Allowed); err != nil {
		t.Fatal(err)
	}
	invite := func(from string, n int) error {
		_, err := w.create(from, relay.Reservation{Session: wire.SessionID(fmt.Sprint(from, n)), To: []wire.AgentID{"alice"}})
		return err
	}
	for i := range 4 {
		if err := invite(fmt.Sprint("stranger", i/2), i); err != nil {
			t.Fatal(err)
		}
	}
	if err := invite("stranger9", 0); relay.CodeOf(err) != relay.CodeQuota {
		t.Errorf("one stranger too many: %v", err)
	}
	for i := range 4 {
		if err := invite("friend", i); err != nil {
			t.Errorf("invitation %d of a friend: %v", i, err)
		}
	}
	if err := invite("friend", 4); relay.CodeOf(err) != relay.CodeQuota {
		t.Errorf("a friend without end: %v", err)
	}
}

// A wake for each who is named, whatever it has decided: nothing to be seen in time.
func TestCreateWakes(t *testing.T) {
	w := newWorld(t, relay.Limits{})
	woken := map[string]int{}
	for _, name := range []string{"alice", "bob", "carol"} {
		defer w.driver.Listen(name, func(session string) { woken[name+" "+session]++ })()
	}
	if err := w.SetConsent(context.Background(), "bob", "alice", relay.Denied); err != nil {
		t.Fatal(err)
	}
	w.reserve("s", "alice", "bob")
	if woken["bob s"] == 0 || woken["carol s"] != 0 {
		t.Errorf("woken: %v", woken)
	}
	clear(woken)
	w.join("s", "bob")
	w.say("s", "bob")
	if woken["alice s"] != 2 {
		t.Errorf("woken: %v", woken)
	}
}
