package source_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/protocol/source"
	"github.com/concordia-node/concordia/session"
)

// Each example is read and compiles without a warning.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "protocols", "*"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := source.Parse(string(text), &source.Options{Name: filepath.Base(file)})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range p.Warnings {
				t.Error(w)
			}
			if err := p.Automaton.Validate(); err != nil {
				t.Error(err)
			}
			digest(t, p.Automaton)
		})
	}
}

// example returns the automaton of one.
func example(tb testing.TB, name string) *protocol.Automaton {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "protocols", name))
	if err != nil {
		tb.Fatal(err)
	}
	p, err := source.Parse(string(text), &source.Options{Name: name})
	if err != nil {
		tb.Fatal(err)
	}
	return p.Automaton
}

// The machine as a document is the machine that sessions run on.
func TestSessionMachine(t *testing.T) {
	a := example(t, "concordia-session.yaml")
	if got, want := digest(t, a), digest(t, &session.Machine); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
	if digest(t, example(t, "concordia-spec.yaml")) == digest(t, example(t, "concordia-reference.yaml")) {
		t.Error("the reference does what the specification says")
	}
}

// What happens in the examples, event by event: "!" is by the agent, "?" by its
// environment, "initiator:" by that role; a document may follow a "=".
func TestExampleRuns(t *testing.T) {
	const (
		found    = `!call:lookup_booking={"arguments":{"booking_id":"B1"}} ?ret:lookup_booking:ok={"structuredContent":{"status":"open","fare":80}} `
		asked    = `!call:request_confirmation={"arguments":{"booking_id":"B1"}} ?ret:request_confirmation:ok `
		issue    = `!call:issue_refund={"tool":"issue_refund","arguments":{"booking_id":"B1","amount":80}} `
		snapshot = `!call:browser_snapshot ?ret:browser_snapshot:ok={"content":[{"text":"button[ref=e3],link[ref=e7]"}]} `
		opened   = `initiator:negotiate.open responder:negotiate.accept_session `
		ownWay   = opened + `initiator:negotiate.counter initiator:negotiate.accept`
	)
	for _, test := range []struct {
		name, example, events string
		want                  string // about the last, all others are legal; or the state it leads to
	}{
		{"a refund", "refund.yaml", found + asked + "?hear:yes " + issue + "?ret:issue_refund:ok", "refunded"},
		{"a refund without a yes", "refund.yaml", found + issue, "violation"},
		{"a refund that was only asked for", "refund.yaml", found + asked + issue, "violation"},
		{"pressure is no yes", "refund.yaml", found + asked + "?hear:other " + issue, "violation"},
		{"a refund of another amount", "refund.yaml", found + asked + "?hear:yes " + strings.Replace(issue, "80", "90", 1), "violation"},
		{"a refund that needs an approval", "refund.yaml", strings.ReplaceAll(found+asked+"?hear:yes "+issue, "80", "800"), "violation"},
		{"a refund with an approval", "refund.yaml", strings.ReplaceAll(found+asked+"?hear:yes "+strings.Replace(issue, "call:issue_refund", "ask:refund", 1)+"?grant:refund "+issue+"?ret:issue_refund:ok", "80", "800"), "refunded"},
		{"an approval that was denied", "refund.yaml", strings.ReplaceAll(found+asked+"?hear:yes "+strings.Replace(issue, "call:issue_refund", "ask:refund", 1)+"?deny:refund "+issue, "80", "800"), "violation"},
		{"a refund in doubt", "refund.yaml", found + asked + "?hear:yes " + issue + "?ret:issue_refund:unknown " + issue, "blocked"},
		{"a second refund", "refund.yaml", found + asked + "?hear:yes " + issue + "?ret:issue_refund:ok " + issue, "blocked"},
		{"a fast refund", "fastrefund.yaml", found + issue, "found·issue_refund"},
		{"confirmed before", "previously-confirmed.yaml", `?answer:consent={"confirmed":true,"booking_id":"B1","amount":80} ` + found + issue, "confirmed·issue_refund"},
		{"another booking was confirmed before", "previously-confirmed.yaml", `?answer:consent={"confirmed":true,"booking_id":"B2","amount":80} ` + `!call:lookup_booking={"arguments":{"booking_id":"B1"}}`, "violation"},
		{"another amount was confirmed before", "previously-confirmed.yaml", `?answer:consent={"confirmed":true,"booking_id":"B1","amount":70} ` + found + issue, "violation"},
		{"a flight", "flight-booking.txt", "!SearchFlights ?FlightResults !PresentOptions ?Unrecognized !PresentOptions ?UserApproval !BookFlight ?BookingConfirmation", "end"},
		{"a flight that nobody approved", "flight-booking.yaml", "!call:search_flights ?ret:search_flights:ok !call:book_flight", "violation"},
		{"a card", "card-payment.txt", "!Authorize ?Authorized !Charge ?Charged !Charge ?Declined !Close ?Closed", "end"},
		{"a charge before the authorization", "card-payment.txt", "!Charge", "violation"},
		{"a file", "file-deletion.yaml", `!call:stat_file={"arguments":{"path":"/a"}} ?ret:stat_file:ok={"structuredContent":{"type":"file"}} !ask:delete={"tool":"delete_file","arguments":{"path":"/a"}} ?grant:delete !call:delete_file={"arguments":{"path":"/a"}}`, "chosen·delete_file"},
		{"another file", "file-deletion.yaml", `!call:stat_file={"arguments":{"path":"/a"}} ?ret:stat_file:ok={"structuredContent":{"type":"file"}} !ask:delete={"tool":"delete_file","arguments":{"path":"/b"}}`, "violation"},
		{"a click before a snapshot", "snapshot-before-click.yaml", "!call:browser_navigate ?ret:browser_navigate:ok !call:browser_click", "violation"},
		{"a second click", "snapshot-before-click.yaml", "!call:browser_snapshot ?ret:browser_snapshot:ok !call:browser_click ?ret:browser_click:ok !call:browser_click", "violation"},
		{"a reference of the snapshot", "stay-on-snapshot-refs.yaml", snapshot + `!call:browser_click={"arguments":{"ref":"e7"}}`, "seen·browser_click"},
		{"a reference of no snapshot", "stay-on-snapshot-refs.yaml", snapshot + `!call:browser_click={"arguments":{"ref":"e1"}}`, "violation"},
		{"no reference", "stay-on-snapshot-refs.yaml", snapshot + `!call:browser_click={"arguments":{"selector":"#buy"}}`, "violation"},
		{"a reference of the snapshot before", "stay-on-snapshot-refs.yaml", snapshot + `!call:browser_snapshot ?ret:browser_snapshot:ok={"content":[{"text":"[ref=e9]"}]} !call:browser_click={"arguments":{"ref":"e7"}}`, "violation"},
		{"sent before something private was read", "read-private-then-send.yaml", "!call:send_message ?ret:send_message:ok !call:read_private", "clean·read_private"},
		{"sent after something private was read", "read-private-then-send.yaml", "!call:read_private ?ret:read_private:ok !call:send_message", "violation"},
		{"disclosed", "read-private-then-send.yaml", "!call:read_private ?ret:read_private:ok !ask:disclose ?grant:disclose !call:send_message ?ret:send_message:ok !call:send_message", "violation"},
		{"a plan that was not approved", "remediation.yaml", `!call:propose_plan ?ret:propose_plan:ok={"structuredContent":{"plan":"P"}} !call:execute_plan={"arguments":{"plan":"P"}}`, "violation"},
		{"a plan, verified", "remediation.yaml", `!call:propose_plan ?ret:propose_plan:ok={"structuredContent":{"plan":"P"}} !ask:change={"tool":"execute_plan","arguments":{"plan":"P"}} ?grant:change !call:execute_plan={"arguments":{"plan":"P"}} ?ret:execute_plan:ok !call:verify ?ret:verify:ok={"structuredContent":{"healthy":true}}`, "resolved"},
		{"paid before the agreement", "pay-only-when-agreed.yaml", `?signal:negotiation={"state":"ACTIVE"} !call:pay={"arguments":{"negotiation":"ses_1","amount":5,"currency":"USD"}}`, "violation"},
		{"paid what was agreed", "pay-only-when-agreed.yaml", `?signal:negotiation={"state":"AGREED","session_id":"ses_1","terms":{"price":{"value":5,"currency":"USD"}}} !call:pay={"arguments":{"negotiation":"ses_1","amount":5,"currency":"USD"}}`, "agreed·pay"},
		{"paid more than was agreed", "pay-only-when-agreed.yaml", `?signal:negotiation={"state":"AGREED","session_id":"ses_1","terms":{"price":{"value":5,"currency":"USD"}}} !call:pay={"arguments":{"negotiation":"ses_1","amount":6,"currency":"USD"}}`, "violation"},
		{"paid for another negotiation", "pay-only-when-agreed.yaml", `?signal:negotiation={"state":"AGREED","session_id":"ses_1","terms":{"price":{"value":5,"currency":"USD"}}} !call:pay={"arguments":{"negotiation":"ses_2","amount":5,"currency":"USD"}}`, "violation"},
		{"accepting one's own counter, as specified", "concordia-spec.yaml", ownWay, "violation"},
		{"accepting one's own counter, as the reference does", "concordia-reference.yaml", ownWay, "agreed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := protocol.Compile(example(t, test.example))
			if err != nil {
				t.Fatal(err)
			}
			m, err := protocol.NewMonitor(c, protocol.MonitorOptions{Guards: map[protocol.Guard]func(protocol.Event) bool{
				"reactivatable": func(protocol.Event) bool { return false },
			}})
			if err != nil {
				t.Fatal(err)
			}
			events := strings.Fields(test.events)
			for i, text := range events {
				move, doc, _ := strings.Cut(text, "=")
				e := protocol.Event{Move: protocol.Move{By: map[byte]protocol.Role{'!': protocol.Agent, '?': protocol.Environment}[move[0]], On: protocol.Label(move[1:])}}
				if e.By == "" {
					by, on, _ := strings.Cut(move, ":")
					e.By, e.On = protocol.Role(by), protocol.Label(on)
				}
				if doc != "" {
					e.Doc = value(t, doc)
				}
				v := m.Step(e)
				switch {
				case i < len(events)-1:
					if v.Kind != protocol.Ok {
						t.Fatalf("%s: %v", text, v)
					}
				case string(v.Kind) != test.want && string(v.To) != test.want:
					t.Errorf("%s: %s in %s, want %s", text, v.Kind, v.To, test.want)
				}
			}
		})
	}
}
