package wire_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// draw makes the messages of a drawing such as
//
//	A: open -> B: accept_session -> A: offer
//
// one second after the other from testTime on, linked, with ids msg_1, msg_2, …
func draw(tb testing.TB, drawing string) []*wire.Message {
	tb.Helper()
	var messages []*wire.Message
	var tip wire.Hash
	for i, step := range strings.Split(drawing, " -> ") {
		who, kind, ok := strings.Cut(step, ": ")
		if !ok {
			tb.Fatalf("drawing %q: want WHO: TYPE, got %q", drawing, step)
		}
		m, err := wire.Sign(fill(tb, wire.Envelope{
			Type: wire.MessageType("negotiate." + kind), ID: wire.MessageID("msg_" + strconv.Itoa(i+1)), From: wire.AgentID(who), PrevHash: tip,
			Time: testTime.Add(time.Duration(i) * time.Second),
		}), testKey(tb, who))
		if err != nil {
			tb.Fatal(err)
		}
		messages = append(messages, m)
		tip = m.Hash()
	}
	return messages
}

// chainOf appends messages that must fit.
func chainOf(tb testing.TB, messages ...*wire.Message) *wire.Chain {
	tb.Helper()
	c := wire.NewChain("ses_1", 0)
	for i, m := range messages {
		if err := c.Admit(m, m.Time); err != nil {
			tb.Fatalf("message %d: %v", i, err)
		}
		c.Append(m)
	}
	return c
}

// SPEC §9.3: messages that are linked from the genesis hash on are admitted, and
// tip, length and clock follow them.
func TestChain(t *testing.T) {
	c := wire.NewChain("ses_1", 0)
	if c.Tip() != (wire.Hash{}) || c.Tip().String() != "sha256:"+strings.Repeat("0", 64) || c.Len() != 0 || !c.Clock().IsZero() {
		t.Errorf("an empty chain has tip %v, length %d, clock %v", c.Tip(), c.Len(), c.Clock())
	}
	for i, m := range draw(t, "A: open -> B: accept_session -> A: offer -> B: counter -> A: accept") {
		now := testTime.Add(time.Minute)
		if err := c.Check(m, now); err != nil {
			t.Errorf("Check of message %d: %v", i, err)
		}
		if err := c.Admit(m, now); err != nil {
			t.Errorf("Admit of message %d: %v", i, err)
		}
		if c.Len() != i {
			t.Fatalf("Check and Admit changed the chain to length %d", c.Len())
		}
		c.Append(m)
		if c.Tip() != m.Hash() || c.Len() != i+1 || !c.Clock().Equal(m.Time) {
			t.Errorf("after message %d: tip %v, length %d, clock %v", i, c.Tip(), c.Len(), c.Clock())
		}
	}
}

// SPEC §9.3, §5.3, §4.1: each rule of admission, at its edge and a second beyond.
func TestAdmit(t *testing.T) {
	messages := draw(t, "A: open -> B: accept_session -> A: offer")
	clock := messages[2].Time
	const skew = wire.DefaultSkew
	next := wire.Envelope{ID: "msg_4", PrevHash: messages[2].Hash(), Time: clock}
	// A long time later, so that the session clock is not what decides.
	late := clock.Add(time.Hour)
	tests := []struct {
		name   string
		change func(e *wire.Envelope)
		now    time.Time
		check  string // the refusal of Check
		admit  string // the refusal of Admit
	}{
		{"fits", func(*wire.Envelope) {}, clock, "", ""},
		{"another session", func(e *wire.Envelope) { e.Session = "ses_2" }, clock, "session at /session_id", "same"},
		{"session in another case", func(e *wire.Envelope) { e.Session = "SES_1" }, clock, "session at /session_id", "same"},
		{"id used by the last message", func(e *wire.Envelope) { e.ID = "msg_3" }, clock, "message-id at /id", "same"},
		{"id used by the first message", func(e *wire.Envelope) { e.ID = "msg_1" }, clock, "message-id at /id", "same"},
		{"linked to genesis", func(e *wire.Envelope) { e.PrevHash = wire.Hash{} }, clock, "prev-hash at /prev_hash", "same"},
		{"linked to one before the last", func(e *wire.Envelope) { e.PrevHash = messages[1].Hash() }, clock, "prev-hash at /prev_hash", "same"},
		{"linked to something else", func(e *wire.Envelope) { e.PrevHash = wire.HashOf("x") }, clock, "prev-hash at /prev_hash", "same"},

		{"now and the skew", func(e *wire.Envelope) { e.Time = late.Add(skew) }, late, "", ""},
		{"now and the skew, now with a fraction", func(e *wire.Envelope) { e.Time = late.Add(skew) }, late.Add(time.Nanosecond), "", ""},
		{"a second beyond now and the skew", func(e *wire.Envelope) { e.Time = late.Add(skew + time.Second) }, late, "timestamp-future at /timestamp", "same"},
		{"a moment beyond now and the skew", func(e *wire.Envelope) { e.Time = late.Add(skew) }, late.Add(-time.Nanosecond), "timestamp-future at /timestamp", "same"},

		{"the session clock less the skew", func(e *wire.Envelope) { e.Time = clock.Add(-skew) }, clock, "", ""},
		{"a second before that", func(e *wire.Envelope) { e.Time = clock.Add(-skew - time.Second) }, clock, "timestamp-backdated at /timestamp", "same"},
		{"a second before that, now is as early", func(e *wire.Envelope) { e.Time = clock.Add(-skew - time.Second) }, clock.Add(-skew), "timestamp-backdated at /timestamp", "same"},

		{"now less the skew", func(e *wire.Envelope) { e.Time = late.Add(-skew) }, late, "", ""},
		{"a second before that, fit only for a log", func(e *wire.Envelope) { e.Time = late.Add(-skew - time.Second) }, late, "", "timestamp-backdated at /timestamp"},
		{"a moment before that, fit only for a log", func(e *wire.Envelope) { e.Time = late.Add(-skew) }, late.Add(time.Nanosecond), "", "timestamp-backdated at /timestamp"},

		{"a moment before the ttl passes", func(e *wire.Envelope) { e.TTL = time.Minute }, clock.Add(time.Minute - time.Nanosecond), "", ""},
		{"the ttl passes", func(e *wire.Envelope) { e.TTL = time.Minute }, clock.Add(time.Minute), "", "message-ttl at /ttl"},
		{"a second after that", func(e *wire.Envelope) { e.TTL = time.Minute }, clock.Add(time.Minute + time.Second), "", "message-ttl at /ttl"},
		{"the ttl counts from the timestamp", func(e *wire.Envelope) { e.Time, e.TTL = clock.Add(time.Minute), time.Second }, clock.Add(time.Minute), "", ""},
		{"a long ttl does not stretch the skew", func(e *wire.Envelope) { e.TTL = 24 * time.Hour }, late, "", "timestamp-backdated at /timestamp"},

		// Of several faults the first in this order is reported.
		{"session before link", func(e *wire.Envelope) { e.Session, e.PrevHash = "ses_2", wire.Hash{} }, clock, "session at /session_id", "same"},
		{"link before clock", func(e *wire.Envelope) { e.PrevHash, e.Time = wire.Hash{}, late }, clock, "prev-hash at /prev_hash", "same"},
		{"clock before id", func(e *wire.Envelope) { e.Time, e.ID = late, "msg_1" }, clock, "timestamp-future at /timestamp", "same"},
		{"id before the clock of admission", func(e *wire.Envelope) { e.ID = "msg_1" }, late, "message-id at /id", "same"},
		{"clock before ttl", func(e *wire.Envelope) { e.TTL = time.Second }, late, "", "timestamp-backdated at /timestamp"},
	}
	for _, tt := range tests {
		c := chainOf(t, messages...)
		e := next
		tt.change(&e)
		m := sign(t, e)
		if got := refusal(c.Check(m, tt.now)); got != tt.check {
			t.Errorf("%s: Check: got %q, want %q", tt.name, got, tt.check)
		}
		want := tt.admit
		if want == "same" {
			want = tt.check
		}
		if got := refusal(c.Admit(m, tt.now)); got != want {
			t.Errorf("%s: Admit: got %q, want %q", tt.name, got, want)
		}
		if c.Tip() != messages[2].Hash() || c.Len() != 3 || !c.Clock().Equal(clock) {
			t.Errorf("%s: a refusal changed the chain", tt.name)
		}
	}
}

// The loser of a race is told the tip and the length.
func TestTipError(t *testing.T) {
	messages := draw(t, "A: open -> B: accept_session")
	c := chainOf(t, messages...)
	lost := sign(t, wire.Envelope{ID: "msg_9", PrevHash: messages[0].Hash()})
	err := c.Admit(lost, testTime)
	tip, ok := errors.AsType[*wire.TipError](err)
	if !ok || tip.Tip != messages[1].Hash() || tip.Len != 2 {
		t.Fatalf("got %v, want a TipError with tip %v and length 2", err, messages[1].Hash())
	}
	if want := "the chain has 2 messages and ends in " + messages[1].Hash().String(); tip.Error() != want {
		t.Errorf("Error() = %q, want %q", tip.Error(), want)
	}
	err = wire.NewChain("ses_1", 0).Check(lost, testTime)
	if tip, ok = errors.AsType[*wire.TipError](err); !ok || tip.Tip != (wire.Hash{}) || tip.Len != 0 {
		t.Errorf("empty chain: got %v, want a TipError with the genesis hash", err)
	}
	if _, ok := errors.AsType[*wire.TipError](c.Check(sign(t, wire.Envelope{Session: "ses_2"}), testTime)); ok {
		t.Error("another session is told the tip")
	}
}

// The first message has no session clock to be before. How late a log is read does
// not matter, and how early does.
func TestFirstMessage(t *testing.T) {
	first := sign(t, wire.Envelope{Type: wire.TypeOpen})
	tests := []struct {
		name         string
		now          time.Time
		check, admit string
	}{
		{"in time", testTime, "", ""},
		{"years later", testTime.AddDate(10, 0, 0), "", "timestamp-backdated at /timestamp"},
		{"the day before", testTime.AddDate(0, 0, -1), "timestamp-future at /timestamp", "timestamp-future at /timestamp"},
	}
	for _, tt := range tests {
		c := wire.NewChain("ses_1", 0)
		if got := refusal(c.Check(first, tt.now)); got != tt.check {
			t.Errorf("%s: Check: got %q, want %q", tt.name, got, tt.check)
		}
		if got := refusal(c.Admit(first, tt.now)); got != tt.admit {
			t.Errorf("%s: Admit: got %q, want %q", tt.name, got, tt.admit)
		}
	}
}

// SPEC §5.3: the session clock is the largest timestamp, not the last one.
func TestSessionClock(t *testing.T) {
	c := wire.NewChain("ses_1", 0)
	offsets := []time.Duration{0, 100, 40, 100, 130, 10}
	want := []time.Duration{0, 100, 100, 100, 130, 130}
	for i, s := range offsets {
		m := sign(t, wire.Envelope{ID: wire.MessageID("msg_" + strconv.Itoa(i)), PrevHash: c.Tip(), Time: testTime.Add(s * time.Second)})
		if err := c.Check(m, testTime.Add(time.Hour)); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
		c.Append(m)
		if got := c.Clock().Sub(testTime); got != want[i]*time.Second {
			t.Errorf("after message %d the clock is %v, want %v", i, got, want[i]*time.Second)
		}
	}
	// 130 less the skew is 10; 9 is before it though the last message said 10.
	m := sign(t, wire.Envelope{ID: "msg_x", PrevHash: c.Tip(), Time: testTime.Add(9 * time.Second)})
	wantRefusal(t, "before the clock less the skew", c.Check(m, testTime.Add(time.Hour)), wire.RuleBackdated, "/timestamp")

	// Years before the zero time are times like others.
	old := wire.NewChain("ses_1", 0)
	when := time.Date(0, 6, 1, 0, 0, 0, 0, time.UTC)
	old.Append(sign(t, wire.Envelope{Time: when}))
	if !old.Clock().Equal(when) {
		t.Errorf("the clock of a session in the year 0 is %v, want %v", old.Clock(), when)
	}
}

// A chain may be given another skew.
func TestChainSkew(t *testing.T) {
	if wire.DefaultSkew != 120*time.Second {
		t.Errorf("DefaultSkew = %v, want 120 s (SPEC §5.3)", wire.DefaultSkew)
	}
	m := sign(t, wire.Envelope{})
	c := wire.NewChain("ses_1", 5*time.Second)
	for late, want := range map[time.Duration]string{
		5 * time.Second: "", 6 * time.Second: "timestamp-backdated at /timestamp", -5 * time.Second: "", -6 * time.Second: "timestamp-future at /timestamp",
	} {
		if got := refusal(c.Admit(m, testTime.Add(late))); got != want {
			t.Errorf("%v late: got %q, want %q", late, got, want)
		}
	}
}
