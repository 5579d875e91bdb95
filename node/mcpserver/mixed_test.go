package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// raw is an agent that has no node, and keeps to no rule but those of the relay.
func (w *world) raw(name string) *relay.Client {
	w.Helper()
	c, err := relay.NewClient(relay.ClientOptions{URL: w.url, Agent: agent(name), Signer: key(name), Keys: wire.DIDKeys{}})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// open is the open message of a negotiation that somebody would like to have.
func (w *world) open(name string, id wire.SessionID, to wire.AgentID) *wire.Message {
	w.Helper()
	body, err := wire.Parse([]byte(`{"terms":`+camera+`,"timing":{"session_ttl":86400,"offer_ttl":3600,"max_rounds":20}}`), wire.DocumentLimits)
	if err != nil {
		w.Fatal(err)
	}
	m, err := wire.Sign(wire.Envelope{
		Type: wire.TypeOpen, ID: "msg_open", Session: id, Time: time.Now(), From: agent(name), To: []wire.AgentID{to}, PrevHash: wire.NewChain(id, 0).Tip(), Body: body,
	}, key(name))
	if err != nil {
		w.Fatal(err)
	}
	return m
}

func (w *world) enclosure(name string, session wire.SessionID, kind, id, content string) *relay.Enclosure {
	w.Helper()
	v, err := wire.Parse([]byte(content), wire.DocumentLimits)
	if err != nil {
		w.Fatal(err)
	}
	e, err := relay.Enclosure{ID: wire.MessageID(id), Session: session, From: agent(name), Time: time.Now(), Kind: kind, Content: v}.Sign(key(name))
	if err != nil {
		w.Fatal(err)
	}
	return e
}

const letter = `{"message_type":"note","payload":{"n":1}}`

// No invitation to mail is one to negotiate, whatever the policy joins unasked.
func TestInvitationToMail(t *testing.T) {
	w := newWorld(t)
	ann := w.agent("ann", mcpserver.Options{}, nil)
	bob := w.agent("bob", mcpserver.Options{}, func(o *node.Options) {
		o.Policy = node.Policy{Unknown: node.Accept, Allow: []wire.AgentID{agent("ann")}, JoinKnown: true}
	})
	id := at(ann.call("concordia_relay_create", `{"responder_id":"`+string(agent("bob"))+`"}`), "session", "relay_session_id")
	for !strings.Contains(at(bob.call("concordia_relay_status", `{}`), "invitations"), id) {
		bob.call("concordia_wait", `{"timeout_seconds":1}`)
	}
	// A negotiation that came later was joined: whatever was to happen unasked has happened.
	later := at(ann.call("concordia_open_session", `{"responder_id":"`+string(agent("bob"))+`","terms":`+camera+`}`), "session_id")
	for ann.call("concordia_session_status", `{"session_id":"`+later+`"}`); at(ann.call("concordia_session_status", `{"session_id":"`+later+`"}`), "transcript_length") == "0"; {
		ann.call("concordia_wait", `{"timeout_seconds":1}`)
	}
	if v := ann.call("concordia_relay_status", of(id)+`}`); at(v, "session", "state") != "pending" {
		t.Errorf("joined unasked: %s", v)
	}
	if v := bob.call("concordia_invitations", `{}`); at(v, "count") != "0" {
		t.Errorf("invitations to negotiate: %s", v)
	}
	for _, tool := range []string{"concordia_join", "concordia_decline_invitation", "concordia_session_status"} {
		if v := bob.refused(tool, `{"session_id":"`+id+`"}`); at(v, "code") != "not_found" {
			t.Errorf("%s: %s", tool, v)
		}
	}
	for _, tool := range []string{"concordia_relay_join", "concordia_relay_conclude", "concordia_relay_status"} {
		if v := bob.refused(tool, of(later)+`}`); at(v, "code") != "bad_request" && at(v, "code") != "not_found" {
			t.Errorf("%s: %s", tool, v)
		}
	}
}

// What the id of a session says it is, it is for whoever opens one or hands over an
// invitation.
func TestMailIDs(t *testing.T) {
	w := newWorld(t)
	ann := w.agent("ann", mcpserver.Options{}, nil)
	to := `"responder_id":"` + string(agent("bob")) + `"`
	if v := ann.refused("concordia_open_session", `{"session_id":"relay_x","terms":`+camera+`,`+to+`}`); at(v, "code") != "bad_request" {
		t.Errorf("a negotiation with the id of mail: %s", v)
	}
	if v := ann.refused("concordia_relay_create", `{"relay_session_id":"ses_x",`+to+`}`); at(v, "code") != "bad_request" {
		t.Errorf("mail with the id of a negotiation: %s", v)
	}
	content := `{"relay":"` + w.url + `","expires_at":"` + wire.FormatTime(time.Now().Add(time.Hour)) + `"}`
	for id, taken := range map[wire.SessionID]bool{"relay_x": false, "ses_x": true} {
		args := `{"invitation":` + w.enclosure("mallory", id, "invitation", "inv_1", content).Value().Canonical() + `}`
		if taken {
			ann.call("concordia_take_invitation", args)
		} else if v := ann.refused("concordia_take_invitation", args); at(v, "code") != "bad_request" {
			t.Errorf("an invitation to negotiate in a mail session: %s", v)
		}
	}
}

// A negotiation in the log of a mail session is none, and neither is it mail.
func TestSmuggledNegotiation(t *testing.T) {
	w := newWorld(t)
	bob, mallory := w.agent("bob", mcpserver.Options{}, nil), w.raw("mallory")
	const id = "relay_smuggled"
	if _, err := mallory.Create(w.ctx, relay.Reservation{Session: id, To: []wire.AgentID{agent("bob")}, Category: "electronics"}); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(at(bob.call("concordia_relay_status", `{}`), "invitations"), id) {
		bob.call("concordia_wait", `{"timeout_seconds":1}`)
	}
	bob.call("concordia_relay_join", of(id)+`}`)
	if _, err := mallory.Append(w.ctx, w.open("mallory", id, agent("bob"))); err != nil {
		t.Fatal(err)
	}
	for i, e := range []*relay.Enclosure{
		w.enclosure("mallory", id, relay.KindReceipt, "e1", `{}`),
		w.enclosure("mallory", id, relay.KindApproval, "e2", `{}`),
		w.enclosure("mallory", id, "mail", "e3", `{"message_type":"two words","payload":{}}`),
		w.enclosure("mallory", id, "mail", "e4", `{"message_type":"note","payload":[]}`),
		w.enclosure("mallory", id, "mail", "e5", letter),
	} {
		if _, err := mallory.Enclose(w.ctx, e); err != nil {
			t.Fatal(i, err)
		}
	}
	v := bob.call("concordia_relay_receive", `{"wait_seconds":60}`)
	if at(v, "count") != "1" || at(v, "messages", "0", "message_id") != "e5" || at(v, "messages", "0", "number") != "6" {
		t.Errorf("received: %s", v)
	}
	if v := bob.call("concordia_list_sessions", `{}`); at(v, "count") != "0" {
		t.Errorf("negotiations: %s", v)
	}
	if v := bob.call("concordia_wait", `{"after":0}`); strings.Contains(at(v, "notices"), `"message"`) || strings.Contains(at(v, "notices"), `"invitation"`) {
		t.Errorf("notices: %s", v)
	}
	// It has not gone wrong, either: the next letter comes.
	if _, err := mallory.Enclose(w.ctx, w.enclosure("mallory", id, "mail", "e6", letter)); err != nil {
		t.Fatal(err)
	}
	if v := bob.call("concordia_relay_receive", `{"wait_seconds":60,"acknowledge":`+at(v, "acknowledge")+`}`); at(v, "messages", "0", "message_id") != "e6" {
		t.Errorf("the next: %s", v)
	}
}

// A letter in the log of a negotiation is none.
func TestSmuggledMail(t *testing.T) {
	w := newWorld(t)
	bob, mallory := w.agent("bob", mcpserver.Options{}, nil), w.raw("mallory")
	const id = "ses_smuggled"
	if _, err := mallory.Create(w.ctx, relay.Reservation{Session: id, To: []wire.AgentID{agent("bob")}, Category: "mail"}); err != nil {
		t.Fatal(err)
	}
	for at(bob.call("concordia_invitations", `{}`), "count") != "1" {
		bob.call("concordia_wait", `{"timeout_seconds":1}`)
	}
	if v := bob.call("concordia_relay_status", `{}`); at(v, "invitations") != "[]" {
		t.Errorf("invitations to mail: %s", v)
	}
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		_, _ = bob.raw("concordia_join", `{"session_id":"`+id+`"}`) // it waits for the open message
	}()
	for {
		if _, err := mallory.Enclose(w.ctx, w.enclosure("mallory", id, "mail", "e1", letter)); err == nil {
			break
		} else if relay.CodeOf(err) != relay.CodeNotActive {
			t.Fatal(err)
		}
	}
	if _, err := mallory.Append(w.ctx, w.open("mallory", id, agent("bob"))); err != nil {
		t.Fatal(err)
	}
	<-joined
	if v := bob.call("concordia_session_status", `{"session_id":"`+id+`"}`); at(v, "state") != "proposed" || at(v, "transcript_length") != "1" {
		t.Errorf("the negotiation: %s", v)
	}
	if v := bob.call("concordia_relay_receive", `{}`); at(v, "count") != "0" {
		t.Errorf("received: %s", v)
	}
	if v := bob.call("concordia_relay_stats", `{}`); at(v, "total_messages_relayed") != "0" {
		t.Errorf("stats: %s", v)
	}
	if v := bob.refused("concordia_relay_send", of(id)+`,"message_type":"note","payload":{}}`); at(v, "code") != "not_found" {
		t.Errorf("sent: %s", v)
	}
}
