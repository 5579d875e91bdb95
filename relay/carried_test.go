package relay_test

import (
	"testing"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A message without a token counts by its signature, and by nothing else.
func TestAppendCarried(t *testing.T) {
	w := newWorld(t, relay.Limits{MessageSize: 1000})
	w.active("s", "alice", "bob")
	w.agent("mallory")
	w.reserve("pending", "alice", "bob")
	said := w.say("s", "alice")
	message := func(from string, edit func(*wire.Envelope)) wire.Value {
		e := w.envelope("s", from)
		if edit != nil {
			edit(&e)
		}
		return w.sign(e).Value()
	}
	for _, tt := range []struct {
		name string
		code relay.Code
		v    wire.Value
	}{
		{"of no party", relay.CodeNotFound, message("mallory", nil)},
		{"of nobody known", relay.CodeNotFound, message("nobody", nil)},
		{"signed by no party", relay.CodeNotFound, message("mallory", nil).With("from", encode(t, wire.M{"agent_id": "bob"}))},
		{"changed on the way", relay.CodeNotFound, message("bob", nil).With("reasoning", wire.Text("x"))},
		{"of who has not joined", relay.CodeNotFound, message("bob", func(e *wire.Envelope) { e.Session, e.PrevHash = "pending", wire.Hash{} })},
		{"no such session", relay.CodeNotFound, message("bob", func(e *wire.Envelope) { e.Session = "none" })},
		{"an old tip", relay.CodeChainConflict, message("bob", func(e *wire.Envelope) { e.PrevHash = said.PrevHash })},
		{"too large", relay.CodeQuota, message("bob", func(e *wire.Envelope) { e.Body = content(t, string(make([]byte, 1000))) })},
	} {
		w.refuses(tt.code, tt.name, func() error {
			_, err := w.AppendCarried(w.ctx, read(t, tt.v))
			return err
		})
	}
	good := message("bob", nil)
	first, err := w.AppendCarried(w.ctx, read(t, good))
	if err != nil {
		t.Fatal(err)
	}
	if first.Number != 2 || first.Hash != good.Hash() {
		t.Errorf("appended as %+v", first)
	}
	if again, err := w.AppendCarried(w.ctx, read(t, good)); err != nil || again != first {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if byToken, err := w.Append(w.ctx, w.agent("bob"), good); err != nil || byToken != first {
		t.Errorf("the same with a token: %+v, %v", byToken, err)
	}
}

func encode(t *testing.T, x any) wire.Value {
	t.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func read(t *testing.T, v wire.Value) *wire.UnverifiedMessage {
	t.Helper()
	u, err := wire.ReadMessage(v)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
