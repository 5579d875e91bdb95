package mcpserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concordia-node/concordia/node"
	"github.com/concordia-node/concordia/node/mcpserver"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// An office is three agents at one relay that send each other mail over MCP alone.
type office struct {
	*world
	ann, bob, eve *client
	dir           string // of bob's node
	made          int    // mail sessions
}

func newOffice(t *testing.T, limits relay.Limits) *office {
	w := newWorldOf(t, nil, func(l *relay.Limits) { *l = limits })
	o := &office{world: w, dir: filepath.Join(t.TempDir(), "bob")}
	o.ann, o.eve = w.agent("ann", mcpserver.Options{}, nil), w.agent("eve", mcpserver.Options{}, nil)
	o.bob = o.start(nil)
	return o
}

// start starts bob's node, in the directory that it had before.
func (o *office) start(change func(*node.Options)) *client {
	return o.agent("bob", mcpserver.Options{}, func(opts *node.Options) {
		opts.Dir = o.dir
		if change != nil {
			change(opts)
		}
	})
}

func of(id string) string { return `{"relay_session_id":"` + id + `"` }

// create makes a mail session of one agent for another. Its id begins with the name of
// who makes it.
func (o *office) create(from *client, to string) string {
	o.Helper()
	o.made++
	args := fmt.Sprintf(`{"relay_session_id":"relay_%s_%d"`, at(from.call("concordia_contacts", `{}`), "agent_id")[len("did:key:"):], o.made)
	if to != "" {
		args += `,"responder_id":"` + string(agent(to)) + `"`
	}
	v := from.call("concordia_relay_create", args+`}`)
	if at(v, "session", "state") != "pending" {
		o.Errorf("created: %s", v)
	}
	return at(v, "session", "relay_session_id")
}

// invited waits until an agent has heard of an invitation to mail.
func (o *office) invited(c *client, id string) {
	o.Helper()
	for last := "0"; !strings.Contains(at(c.call("concordia_relay_status", `{}`), "invitations"), id); {
		last = at(c.call("concordia_wait", `{"after":`+last+`}`), "last")
	}
}

// meet brings two agents together in a mail session.
func (o *office) meet(from *client, to *client, name string) string {
	o.Helper()
	id := o.create(from, name)
	o.invited(to, id)
	if v := to.call("concordia_relay_join", of(id)+`}`); at(v, "joined") != "true" || at(v, "session", "state") != "active" {
		o.Errorf("joined: %s", v)
	}
	return id
}

func (o *office) send(from *client, id, payload string) wire.Value {
	o.Helper()
	return from.call("concordia_relay_send", of(id)+`,"message_type":"note","payload":`+payload+`}`)
}

// read reads a resource.
func (c *client) read(uri string) (wire.Value, error) {
	c.w.Helper()
	r, err := c.ReadResource(c.w.ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return wire.Value{}, err
	}
	v, err := wire.Parse([]byte(r.Contents[0].Text), wire.DocumentLimits)
	return value(c.w, v, err), nil
}

// What two agents do with mail, from an invitation to an archive.
func TestMail(t *testing.T) {
	o := newOffice(t, generous())
	id := o.create(o.ann, "bob")
	if v := o.ann.refused("concordia_relay_send", of(id)+`,"message_type":"note","payload":{}}`); at(v, "code") != "refused" || !strings.Contains(at(v, "error"), "nobody else has joined") {
		t.Errorf("sent before anybody joined: %s", v)
	}
	o.invited(o.bob, id)
	o.bob.call("concordia_relay_join", of(id)+`,"agent_id":"`+string(agent("bob"))+`","auth_token":"x"}`)
	for c, name := range map[*client]string{o.ann: "mail_joined", o.bob: "mail_invitation"} {
		if v := c.call("concordia_wait", `{"after":0}`); !strings.Contains(at(v, "notices"), `"`+name+`"`) {
			t.Errorf("notices: %s", v)
		}
	}
	sent := o.send(o.ann, id, `{"text":"Is it still there?"}`)
	if at(sent, "sent_message", "number") != "1" || at(sent, "sent_message", "from_agent") != string(agent("ann")) {
		t.Errorf("sent: %s", sent)
	}
	got := o.bob.call("concordia_relay_receive", `{"wait_seconds":60}`)
	if at(got, "count") != "1" || at(got, "external", "messages", "0", "payload", "text") != "Is it still there?" ||
		at(got, "messages", "0", "from_agent") != string(agent("ann")) || at(got, "external", "messages", "0", "message_type") != "note" {
		t.Errorf("received: %s", got)
	}
	if v := o.bob.call("concordia_relay_receive", `{"acknowledge":`+at(got, "acknowledge")+`}`); at(v, "count") != "0" {
		t.Errorf("received again: %s", v)
	}
	o.send(o.bob, id, `{"text":"Yes."}`)
	if v := o.ann.call("concordia_relay_receive", of(id)+`,"wait_seconds":60}`); at(v, "external", "messages", "0", "payload", "text") != "Yes." {
		t.Errorf("the answer: %s", v)
	}
	if v := o.bob.call("concordia_relay_transcript", of(id)+`,"limit":1}`); at(v, "count") != "1" || at(v, "next_from") != "2" {
		t.Errorf("transcript: %s", v)
	}
	if v := o.bob.refused("concordia_relay_archive", of(id)+`}`); at(v, "code") != "bad_request" {
		t.Errorf("archived too early: %s", v)
	}
	if v := o.ann.call("concordia_relay_conclude", of(id)+`,"reason":"sold"}`); at(v, "session", "state") != "concluded" || at(v, "session", "your_note") != "sold" {
		t.Errorf("concluded: %s", v)
	}
	archived := o.bob.call("concordia_relay_archive", of(id)+`}`)
	if again := o.bob.call("concordia_relay_archive", of(id)+`}`); !again.Equal(archived) {
		t.Errorf("archived again: %s, and before %s", again, archived)
	}
	if v := o.bob.call("concordia_relay_list_archives", `{}`); at(v, "count") != "1" || at(v, "archives", "0", "message_count") != "2" {
		t.Errorf("archives: %s", v)
	}
	if v := o.bob.call("concordia_relay_stats", `{}`); at(v, "total_messages_relayed") != "2" || at(v, "pending_deliveries") != "0" || at(v, "total_archives") != "1" {
		t.Errorf("stats: %s", v)
	}
	if v := o.ann.call("concordia_relay_stats", `{}`); at(v, "pending_deliveries") != "1" || at(v, "sessions_by_state", "concluded") != "1" {
		t.Errorf("stats: %s", v)
	}
}

// Whatever an id of a mail session has, the addresses that results name lead to its letters.
func TestMailOddIDs(t *testing.T) {
	o := newOffice(t, generous())
	for _, id := range []string{"relay_a:b@c", "relay_a/b/transcript", "relay_%2e%2F..", "relay_?x=1#y", "relay_+&$,;*'()!~", "relay_ö€"} {
		o.ann.call("concordia_relay_create", of(id)+`,"responder_id":"`+string(agent("bob"))+`"}`)
		o.invited(o.bob, id)
		o.bob.call("concordia_relay_join", of(id)+`}`)
		sent := o.send(o.ann, id, `{"n":1}`)
		transcript := o.ann.call("concordia_relay_transcript", of(id)+`}`)
		for uri, at1 := range map[string][]string{
			at(sent, "sent_message", "resource"): {"session_id"},
			at(transcript, "resource"):           {"session_id"},
		} {
			if v, err := o.ann.read(uri); err != nil || at(v, at1...) != id {
				t.Errorf("%s: %v, %v", uri, v, err)
			}
		}
	}
}

// Letters are shown whole, as many as there is room for; of one that is too large alone as
// much as fits.
func TestMailPages(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts, and nothing of it happens at once")
	}
	o := newOffice(t, generous())
	id := o.meet(o.ann, o.bob, "bob")
	if v := o.bob.call("concordia_relay_receive", `{"wait_seconds":1}`); at(v, "count") != "0" || at(v, "acknowledge") != "{}" || at(v, "more") != "false" {
		t.Errorf("nothing came: %s", v)
	}
	many := func(n int) string { return `{"list":[` + strings.Repeat(`"abcdefghijklmnop",`, n) + `"z"]}` }
	for _, n := range []int{800, 500, 2500, 1, 1} {
		o.send(o.ann, id, many(n))
	}
	for at(o.bob.call("concordia_relay_status", of(id)+`}`), "session", "unread") != "5" {
		o.bob.call("concordia_relay_receive", `{"wait_seconds":1}`)
	}
	upTo := "{}"
	for i, want := range []struct {
		count           string
		more, truncated string
	}{{"2", "true", "false"}, {"1", "true", "true"}, {"2", "false", "false"}} {
		v := o.bob.call("concordia_relay_receive", `{"acknowledge":`+upTo+`}`)
		if at(v, "count") != want.count || at(v, "more") != want.more || at(v, "external", "truncated") != want.truncated {
			t.Errorf("call %d: %.300s", i, v)
		}
		upTo = at(v, "acknowledge")
	}
	from := "1"
	for _, want := range []string{"2 3", "1 4", "2 "} {
		v := o.bob.call("concordia_relay_transcript", of(id)+`,"from":`+from+`}`)
		if from = at(v, "next_from"); at(v, "count")+" "+from != want {
			t.Errorf("transcript: %s letters, then %q, want %s", at(v, "count"), from, want)
		}
	}
}

// Each weakness of the reference's relay that mail here does not have.
func TestMailWeaknesses(t *testing.T) {
	tests := []struct {
		name   string
		limits func(*relay.Limits)
		test   func(t *testing.T, o *office)
	}{
		{"R1 only a party concludes", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			for _, tool := range []string{"concordia_relay_conclude", "concordia_relay_status", "concordia_relay_transcript", "concordia_relay_archive", "concordia_relay_join", "concordia_relay_receive"} {
				if v := o.eve.refused(tool, of(id)+`}`); at(v, "code") != "not_found" {
					t.Errorf("%s: %s", tool, v)
				}
			}
			if v := o.eve.refused("concordia_relay_send", of(id)+`,"message_type":"note","payload":{}}`); at(v, "code") != "not_found" {
				t.Errorf("a stranger sends: %s", v)
			}
			if v := o.ann.call("concordia_relay_status", of(id)+`}`); at(v, "session", "state") != "active" {
				t.Errorf("then: %s", v)
			}
		}},
		{"R2 nobody inherits a mailbox", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			o.send(o.ann, id, `{"for":"bob"}`)
			// Another key under bob's id gets nothing from the relay: its id belongs to his key.
			other := o.agent("thief", mcpserver.Options{Patience: 500 * time.Millisecond}, func(opts *node.Options) { opts.Agent = agent("bob") })
			if r, err := other.raw("concordia_relay_join", of(id)+`}`); !r.IsError {
				t.Errorf("joined: %s", result(t, r, err))
			}
			if v := other.call("concordia_relay_receive", `{}`); at(v, "count") != "0" {
				t.Errorf("received: %s", v)
			}
			if _, err := other.read("concordia://relay/" + id + "/transcript"); err == nil {
				t.Error("the transcript is shown")
			}
		}},
		{"R3 payloads arrive untouched", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			long := strings.Repeat("x", 12_000)
			payload := value1(t, wire.M{
				"emoji": "👩\u200d👩\u200d👧", "persian": "می\u200cخواهم", "bom": "\ufeffx", "bidi": "a\u202eb\u2066c", "controls": "\x00\x1b\x7f", "long": long,
				"a\u200bb": 1, "ab": 2, "number": 1e21, "nested": wire.M{"null": nil},
			})
			o.send(o.ann, id, payload.Canonical())
			got := o.bob.call("concordia_relay_receive", `{"wait_seconds":60}`)
			if at(got, "external", "altered") != "true" || at(got, "external", "truncated") != "true" || at(got, "external", "messages", "0", "truncated") != "true" || !strings.Contains(at(got, "external"), "⟦U+200D⟧") {
				t.Errorf("shown: %.2000s", got)
			}
			entry, err := o.bob.read(at(got, "messages", "0", "resource"))
			if err != nil {
				t.Fatal(err)
			}
			if e, err := relay.VerifyEnclosure(entry, wire.DIDKeys{}); err != nil || e.From != agent("ann") {
				t.Errorf("the resource: %v", err)
			}
			if arrived, _ := entry.At("content", "payload"); !arrived.Equal(payload) {
				t.Errorf("arrived: %.500s\nsent: %.500s", arrived, payload)
			}
		}},
		{"R4 a crash after receive loses nothing", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			o.send(o.ann, id, `{"n":1}`)
			o.send(o.ann, id, `{"n":2}`)
			first := o.bob.call("concordia_relay_receive", `{"wait_seconds":60,"limit":1}`)
			if at(first, "count") != "1" {
				t.Fatalf("received: %s", first)
			}
			if err := o.bob.node.Close(); err != nil { // between the answer and the next call
				t.Fatal(err)
			}
			o.bob = o.start(nil)
			for at(o.bob.call("concordia_relay_status", of(id)+`}`), "session", "unread") != "2" {
				o.bob.call("concordia_relay_receive", `{"wait_seconds":1}`)
			}
			again := o.bob.call("concordia_relay_receive", `{"limit":1}`)
			if a, b := at(first, "messages"), at(again, "messages"); a != b || at(again, "more") != "true" {
				t.Errorf("received %s, and before %s", b, a)
			}
			second := o.bob.call("concordia_relay_receive", `{"acknowledge":`+at(again, "acknowledge")+`}`)
			if at(second, "external", "messages", "0", "payload", "n") != "2" || at(second, "count") != "1" {
				t.Errorf("after the first was acknowledged: %s", second)
			}
			if v := o.bob.refused("concordia_relay_receive", `{"acknowledge":{"`+id+`":3}}`); at(v, "code") != "bad_request" {
				t.Errorf("acknowledged what has not come: %s", v)
			}
			if v := o.bob.refused("concordia_relay_receive", `{"acknowledge":{"`+id+`":"2"}}`); at(v, "pointer") != "/acknowledge/"+id {
				t.Errorf("acknowledged no number: %s", v)
			}
		}},
		{"R5 one sender does not fill another's room", func(l *relay.Limits) { l.UndeliveredSender = 3 }, func(t *testing.T, o *office) {
			loud, quiet := o.meet(o.eve, o.bob, "bob"), o.meet(o.ann, o.bob, "bob")
			if loud > quiet {
				t.Fatal("the quiet one is not the last by its id")
			}
			if err := o.bob.node.Close(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				o.send(o.eve, loud, `{}`)
			}
			if v := o.eve.refused("concordia_relay_send", of(loud)+`,"message_type":"note","payload":{}}`); at(v, "code") != "refused" || !strings.Contains(at(v, "error"), "undelivered_per_sender") {
				t.Errorf("too much: %s", v)
			}
			o.send(o.ann, quiet, `{}`)
			o.bob = o.start(nil)
			o.bob.call("concordia_relay_receive", of(quiet)+`,"wait_seconds":60}`)
			for at(o.bob.call("concordia_relay_stats", `{}`), "pending_deliveries") != "4" {
				o.bob.call("concordia_relay_receive", `{"wait_seconds":1}`)
			}
			// The quiet one's letter is not behind those of the loud one.
			if v := o.bob.call("concordia_relay_receive", `{"limit":2}`); !strings.Contains(at(v, "messages"), quiet) {
				t.Errorf("the first two: %s", v)
			}
		}},
		{"R6 a failed send is not recorded", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			large := `{"x":"` + strings.Repeat("x", relay.MaxEnclosureSize) + `"}`
			for name, args := range map[string]string{
				"too large":     `,"message_type":"note","payload":` + large + `}`,
				"too deep":      `,"message_type":"note","payload":{"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}}`,
				"no word":       `,"message_type":"two words","payload":{}}`,
				"no object":     `,"message_type":"note","payload":[]}`,
				"of another":    `,"message_type":"note","payload":{},"from_agent":"` + string(agent("bob")) + `"}`,
				"no payload":    `,"message_type":"note"}`,
				"no message id": `,"message_type":"note","payload":{},"message_id":"a b"}`,
			} {
				v := o.ann.refused("concordia_relay_send", of(id)+args)
				if name == "too large" && !strings.Contains(at(v, "error"), "65536") {
					t.Errorf("the bound is not told: %s", v)
				}
			}
			if v := o.ann.call("concordia_relay_status", of(id)+`}`); at(v, "session", "message_count") != "0" {
				t.Errorf("then: %s", v)
			}
			if v := o.ann.call("concordia_relay_transcript", of(id)+`}`); at(v, "count") != "0" {
				t.Errorf("transcript: %s", v)
			}
		}},
		{"R7 an accept ends nothing", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			for _, word := range []string{"negotiate.accept", "negotiate.commit", "negotiate.reject", "negotiate.withdraw"} {
				o.ann.call("concordia_relay_send", of(id)+`,"message_type":"`+word+`","payload":{}}`)
			}
			for at(o.bob.call("concordia_relay_status", of(id)+`}`), "session", "message_count") != "4" {
				o.bob.call("concordia_relay_receive", `{"wait_seconds":1}`)
			}
			if v := o.bob.call("concordia_relay_status", of(id)+`}`); at(v, "session", "state") != "active" {
				t.Errorf("then: %s", v)
			}
			if v := o.bob.call("concordia_list_sessions", `{}`); at(v, "count") != "0" {
				t.Errorf("negotiations: %s", v)
			}
		}},
		{"R8 nobody joins a reserved place, nor the initiator itself", nil, func(t *testing.T, o *office) {
			reserved, open := o.create(o.ann, "bob"), o.create(o.ann, "")
			if v := o.eve.refused("concordia_relay_join", of(reserved)+`}`); at(v, "code") != "not_found" {
				t.Errorf("a stranger: %s", v)
			}
			for _, id := range []string{reserved, open} {
				if v := o.ann.refused("concordia_relay_join", of(id)+`}`); at(v, "code") != "bad_request" {
					t.Errorf("the initiator: %s", v)
				}
			}
			if v := o.ann.refused("concordia_relay_create", `{"responder_id":"`+string(agent("ann"))+`"}`); at(v, "code") != "bad_request" {
				t.Errorf("for itself: %s", v)
			}
			if v := o.bob.call("concordia_relay_join", of(open)+`}`); at(v, "session", "initiator", "agent_id") != string(agent("ann")) {
				t.Errorf("the first: %s", v)
			}
			if v := o.eve.refused("concordia_relay_join", of(open)+`}`); at(v, "code") != "not_found" {
				t.Errorf("the second: %s", v)
			}
			o.invited(o.bob, reserved)
			if v := o.bob.call("concordia_relay_conclude", of(reserved)+`}`); at(v, "concluded") != "true" {
				t.Errorf("declined: %s", v)
			}
			for at(o.ann.call("concordia_relay_status", of(reserved)+`}`), "session", "state") != "declined" {
				o.ann.call("concordia_wait", `{"timeout_seconds":1}`)
			}
		}},
		{"R9 what has no function is not taken silently", nil, func(t *testing.T, o *office) {
			for _, args := range []string{`{"session_ttl":604801}`, `{"session_ttl":0}`} {
				o.ann.refused("concordia_relay_create", args)
			}
			v := o.ann.call("concordia_relay_create", `{"auto_attest":true,"initiator_endpoint":"https://x.example"}`)
			if at(v, "ignored") != `["auto_attest","initiator_endpoint"]` {
				t.Errorf("created: %s", v)
			}
			id := at(v, "session", "relay_session_id")
			if v = o.bob.call("concordia_relay_join", of(id)+`,"endpoint":"https://x.example"}`); at(v, "ignored") != `["endpoint"]` {
				t.Errorf("joined: %s", v)
			}
			if v = o.ann.call("concordia_relay_send", of(id)+`,"message_type":"note","payload":{},"ttl":3600}`); at(v, "ignored") != `["ttl"]` {
				t.Errorf("sent: %s", v)
			}
			o.ann.refused("concordia_relay_archive", `{"relay_session_id":"relay_x","retention_days":-1}`)
		}},
		{"R10 ids are not overwritten", nil, func(t *testing.T, o *office) {
			const mine = `{"relay_session_id":"relay_one","responder_id":"`
			first := o.ann.call("concordia_relay_create", mine+string(agent("bob"))+`"}`)
			if again := o.ann.call("concordia_relay_create", mine+string(agent("bob"))+`"}`); !again.Equal(first) {
				t.Errorf("again: %s, and before %s", again, first)
			}
			if v := o.ann.refused("concordia_relay_create", mine+string(agent("eve"))+`"}`); at(v, "code") != "bad_request" {
				t.Errorf("for somebody else: %s", v)
			}
			if v := o.eve.refused("concordia_relay_create", mine+string(agent("bob"))+`"}`); at(v, "code") != "refused" || !strings.Contains(at(v, "error"), "session_taken") {
				t.Errorf("by somebody else: %s", v)
			}
			if v := o.ann.refused("concordia_relay_create", `{"concordia_session_id":"ses_of_nobody"}`); at(v, "code") != "not_found" {
				t.Errorf("about nothing: %s", v)
			}
			id := o.meet(o.ann, o.bob, "bob")
			letter := of(id) + `,"message_type":"note","message_id":"m1","payload":{"n":%d}}`
			var numbers []string
			for range 3 {
				numbers = append(numbers, at(o.ann.call("concordia_relay_send", fmt.Sprintf(letter, 1)), "sent_message", "number"))
			}
			if got := strings.Join(numbers, " "); got != "1 1 1" {
				t.Errorf("sent three times, numbers %s", got)
			}
			if v := o.ann.refused("concordia_relay_send", fmt.Sprintf(letter, 2)); at(v, "code") != "bad_request" {
				t.Errorf("another under its id: %s", v)
			}
			if v := o.bob.refused("concordia_relay_send", fmt.Sprintf(letter, 1)); at(v, "code") != "bad_request" {
				t.Errorf("of another under its id: %s", v)
			}
		}},
		{"R11 what is archived proves who said it", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			o.send(o.ann, id, `{"offer":100}`)
			o.send(o.bob, id, `{"offer":90}`)
			o.ann.call("concordia_relay_conclude", of(id)+`}`)
			archive := at(o.bob.call("concordia_relay_archive", of(id)+`}`), "archive", "resource")
			o.relay.CloseClientConnections() // nobody is asked for it
			if err := o.bob.node.Close(); err != nil {
				t.Fatal(err)
			}
			o.bob = o.start(func(opts *node.Options) { opts.Relay = "" })
			doc, err := o.bob.read(archive)
			if err != nil {
				t.Fatal(err)
			}
			list, err := node.VerifyMail(doc, wire.DIDKeys{})
			if err != nil || len(list) != 2 || list[0].From != agent("ann") || list[1].From != agent("bob") || list[1].Payload().Canonical() != `{"offer":90}` {
				t.Fatalf("the archive: %v, %v", list, err)
			}
			entry := func(i int, path string, to any) wire.Value { return changed(t, doc, i, path, to) }
			for name, test := range map[string]struct {
				doc  wire.Value
				rule *wire.Rule
			}{
				"another payload":  {entry(0, "payload", wire.M{"offer": 1000}), relay.RuleEnclosureSignature},
				"another sender":   {entry(0, "from", wire.M{"agent_id": agent("eve")}), relay.RuleEnclosureSignature},
				"another session":  {doc.With("session_id", wire.Text("relay_other")), wire.RuleSession},
				"another order":    {entry(0, "number", 2), relay.RuleEnclosure},
				"no mail":          {doc.Without("concordia_mail"), relay.RuleEnclosure},
				"entries missing":  {doc.Without("entries"), relay.RuleEnclosure},
				"an entry missing": {entry(1, "entry", "x"), relay.RuleEnclosure},
				"a letter twice":   {twice(t, doc), wire.RuleMessageID},
			} {
				if _, err := node.VerifyMail(test.doc, wire.DIDKeys{}); !errors.Is(err, test.rule) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}},
		{"a denied sender is not heard", nil, func(t *testing.T, o *office) {
			id := o.meet(o.ann, o.bob, "bob")
			o.send(o.ann, id, `{"n":1}`)
			o.bob.call("concordia_relay_receive", `{"wait_seconds":60}`)
			if err := o.bob.node.SetContact(o.ctx, node.Contact{Agent: agent("ann"), Consent: node.Denied}); err != nil {
				t.Fatal(err)
			}
			o.send(o.ann, id, `{"n":2}`) // it does not learn it
			again := o.create(o.ann, "bob")
			fromEve := o.meet(o.eve, o.bob, "bob")
			o.send(o.eve, fromEve, `{"n":3}`)
			for at(o.bob.call("concordia_relay_status", of(id)+`}`), "session", "message_count") != "2" {
				o.bob.call("concordia_wait", `{"timeout_seconds":1}`)
			}
			got := o.bob.call("concordia_relay_receive", `{"wait_seconds":60}`)
			if at(got, "count") != "1" || at(got, "messages", "0", "from_agent") != string(agent("eve")) {
				t.Errorf("received: %s", got)
			}
			if v := o.bob.call("concordia_relay_status", `{}`); strings.Contains(at(v, "invitations"), again) {
				t.Errorf("an invitation of it is shown: %s", v)
			}
			if v := o.bob.call("concordia_relay_transcript", of(id)+`}`); at(v, "count") != "0" {
				t.Errorf("the transcript: %s", v)
			}
			if v := o.bob.refused("concordia_relay_send", of(id)+`,"message_type":"note","payload":{}}`); at(v, "code") != "policy" {
				t.Errorf("an answer: %s", v)
			}
			if v := o.bob.refused("concordia_relay_create", `{"responder_id":"`+string(agent("ann"))+`"}`); at(v, "code") != "policy" {
				t.Errorf("a session with it: %s", v)
			}
			open := o.create(o.ann, "")
			if v := o.bob.refused("concordia_relay_join", of(open)+`}`); at(v, "code") != "policy" {
				t.Errorf("an open session of it: %s", v)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			limits := generous()
			if test.limits != nil {
				test.limits(&limits)
			}
			test.test(t, newOffice(t, limits))
		})
	}
}

func value1(t *testing.T, m wire.M) wire.Value {
	t.Helper()
	v, err := wire.Encode(m)
	return value(t, v, err)
}

// changed changes a document of mail: of an entry its number or all of it, or a member of
// what was signed.
func changed(t *testing.T, doc wire.Value, i int, name string, to any) wire.Value {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc.Canonical()), &m); err != nil {
		t.Fatal(err)
	}
	entry := m["entries"].([]any)[i].(map[string]any)
	signed := entry["entry"].(map[string]any)
	switch name {
	case "payload":
		signed["content"].(map[string]any)["payload"] = to
	case "from":
		signed["from"] = to
	default:
		entry[name] = to
	}
	return value1(t, m)
}

// twice has the first letter of a document in place of the second.
func twice(t *testing.T, doc wire.Value) wire.Value {
	t.Helper()
	first, _ := doc.At("entries", "0", "entry")
	return changed(t, doc, 1, "entry", first)
}
