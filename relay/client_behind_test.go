package relay_test

import (
	"errors"
	"testing"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// Whoever keeps its own position reads on from there, along the chain that ends there.
func TestReadBehind(t *testing.T) {
	s := startRelay(t, nil)
	a, b := newEndpoint(t, s.url, "a", nil), newEndpoint(t, s.url, "b", nil)
	const session = "ses_1"
	open(a, b, session)
	if _, err := a.Enclose(t.Context(), a.enclosure(session, 1)); err != nil {
		t.Fatal(err)
	}
	tip := a.say(session, 1, 3, wire.Hash{})
	list, length, err := b.ReadBehind(t.Context(), session, relay.Position{})
	if err != nil || length != 4 || len(list) != 4 {
		t.Fatalf("ReadBehind = %v, %d, %v", list, length, err)
	}
	if first := list[0].Position; first.Number != 1 || first.Tip.Len != 0 {
		t.Errorf("behind the enclosure: %+v", first)
	}
	at := list[3].Position
	if at.Number != 4 || at.Tip.Len != 3 || at.Tip.Hash != tip {
		t.Errorf("at the end: %+v", at)
	}
	b.say(session, 4, 4, tip)
	if list, length, err = a.ReadBehind(t.Context(), session, at); err != nil || length != 5 || len(list) != 1 || list[0].Number != 5 || list[0].Position.Tip.Len != 4 {
		t.Errorf("from there: %v, %d, %v", list, length, err)
	}
	if list, length, err = a.ReadBehind(t.Context(), session, list[0].Position); err != nil || length != 5 || len(list) != 0 {
		t.Errorf("from the end: %v, %d, %v", list, length, err)
	}
	if err := a.Ack(t.Context(), session, 5); err != nil {
		t.Error(err)
	}
	if err := a.Ack(t.Context(), session, 6); relay.CodeOf(err) != relay.CodeBadRequest {
		t.Errorf("acknowledging what is not there: %v", err)
	}

	for _, test := range []struct {
		name string
		at   relay.Position
		want relay.MisconductKind
	}{
		{"another chain was there", relay.Position{Number: 2, Tip: wire.Tip{Hash: wire.HashOf("other"), Len: 1}}, relay.Forked},
		{"messages were there, and an enclosure is", relay.Position{Number: 1, Tip: wire.Tip{Hash: wire.HashOf("other"), Len: 1}}, relay.Forked},
		{"the log was longer", relay.Position{Number: 9, Tip: at.Tip}, relay.CursorLie},
	} {
		c := newEndpoint(t, s.url, "b", nil) // nobody has been accused
		_, _, err := c.ReadBehind(t.Context(), session, test.at)
		m, ok := errors.AsType[*relay.Misconduct](err)
		if !ok || m.Kind != test.want && !(test.want == relay.Forked && m.Kind == relay.Missing) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		_ = c.stop()
	}
}

// A relay tells everybody what it is.
func TestInfo(t *testing.T) {
	s := startRelay(t, nil)
	a := newEndpoint(t, s.url, "a", nil)
	v, err := a.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, _ := v.Get("relay")
	limit, _ := v.At("limits", "live_sessions")
	if n, _ := limit.Int(); n != 1<<20 || id.Text() != s.mail.ID() {
		t.Errorf("Info = %v", v)
	}
	if _, err := a.Sessions(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if a.RelayID() != s.mail.ID() {
		t.Errorf("RelayID = %q, want %q", a.RelayID(), s.mail.ID())
	}
}
