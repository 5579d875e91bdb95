package relay_test

import (
	"context"
	"errors"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// A relay may have the state machine of sessions judge what it appends.
func TestAdmit(t *testing.T) {
	keys := wire.KeyMap{"seller": key("seller").Public(), "buyer": key("buyer").Public()}
	w := newWorld(t, relay.Limits{})
	asked := 0
	var state protocol.State
	var fail error
	w.opts.Admit = func(_ context.Context, before *relay.Before, m *wire.Message) error {
		asked++
		s := session.New(before.Session, nil)
		for v, err := range before.Messages() {
			if err != nil {
				return err
			}
			u, err := wire.ReadMessage(v)
			if err != nil {
				return err
			}
			old, err := u.Verify(keys)
			if err != nil {
				return err
			}
			if s, err = s.Apply(old); err != nil {
				return err
			}
		}
		if s.Tip() != before.Tip.Hash || s.Len() != before.Tip.Len {
			t.Errorf("before is %v of %d, and the messages are %v of %d", before.Tip.Hash, before.Tip.Len, s.Tip(), s.Len())
		}
		state = s.State()
		if _, err := s.Apply(m); err != nil {
			return err
		}
		return fail
	}
	w.use(w.driver)
	w.active("s", "seller", "buyer")
	move := func(from string, what wire.MessageType, body string) *wire.Message {
		t.Helper()
		v, err := wire.Parse([]byte(body), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		e := w.envelope("s", from)
		e.Type, e.Body = what, v
		if what == wire.TypeOpen {
			e.To = []wire.AgentID{"buyer"}
		}
		return w.sign(e)
	}
	const offer = `{"offer_id": "o", "terms": {"price": {"value": 10}}, "complete": true}`
	refused := func(what string, m *wire.Message) {
		t.Helper()
		e := w.refuses(relay.CodeRejected, what, func() error { _, err := w.send(m); return err })
		if _, ok := errors.AsType[*session.Refusal](e); !ok {
			t.Errorf("%s: %v does not say what would be legal", what, e.Violation)
		}
	}
	accepted := func(what string, m *wire.Message) *wire.Message {
		t.Helper()
		if _, err := w.send(m); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return m
	}
	refused("an offer before open", move("seller", wire.TypeOffer, offer))
	open := accepted("open", move("seller", wire.TypeOpen, `{"terms": {"price": {"type": "numeric"}}}`))
	if _, err := w.enclose(w.enclosure("s", "seller", "e", content(t, "between"))); err != nil {
		t.Fatal(err)
	}
	refused("an offer before accept_session", move("buyer", wire.TypeOffer, offer))
	accepted("accept_session", move("buyer", wire.TypeAcceptSession, `{}`))
	accepted("an offer", move("buyer", wire.TypeOffer, offer))
	refused("accepting one's own", move("buyer", wire.TypeAccept, `{"offer_id": "o"}`))

	before := asked
	w.quiet("the same again", func() error { _, err := w.Append(w.ctx, w.agent("seller"), open.Value()); return err })
	stale := w.envelope("s", "seller")
	stale.PrevHash = open.Hash()
	w.refuses(relay.CodeChainConflict, "an old tip", w.appends("seller", w.sign(stale).Value()))
	if asked != before {
		t.Error("the machine was asked about what has no place")
	}
	fail = errors.New("the judge is ill")
	w.breaks(t, move("seller", wire.TypeAccept, `{"offer_id": "o"}`), fail)
	fail = nil
	accepted("accept", move("seller", wire.TypeAccept, `{"offer_id": "o"}`))
	refused("an offer after that", move("seller", wire.TypeOffer, offer))
	if state != session.Agreed {
		t.Errorf("it was in %v", state)
	}
}

// breaks wants an error that is no refusal, and that nothing has changed.
func (w *world) breaks(t *testing.T, m *wire.Message, want error) {
	t.Helper()
	before := w.dump()
	if _, err := w.send(m); !errors.Is(err, want) || relay.CodeOf(err) != relay.CodeInternal {
		t.Errorf("Append = %v, want %v", err, want)
	}
	if d := difference(before, w.dump()); d != "" {
		t.Errorf("it changed:\n%s", d)
	}
}
