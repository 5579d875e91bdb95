package relay_test

import (
	"context"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/concordia-node/concordia/relay"
	"github.com/concordia-node/concordia/wire"
)

// A token that is revoked while a websocket is opened with it does not serve that
// websocket either.
func TestRevokedWhileOpening(t *testing.T) {
	var meanwhile atomic.Pointer[func()]
	s := listen(t, setting{options: relay.ServerOptions{Address: func(*http.Request) netip.Addr {
		if f := meanwhile.Swap(nil); f != nil { // the token has been looked at, and the websocket is not there
			(*f)()
		}
		return netip.IPv4Unspecified()
	}}})
	p := s.person("p")
	revoke := func() {
		if err := s.mail.Revoke(context.Background(), p.id, p.token, true); err != nil {
			t.Error(err)
		}
	}
	meanwhile.Store(&revoke)
	line := p.dial()
	_ = line.ws.SetReadDeadline(time.Now().Add(10 * time.Second)) // long before a ping
	_, text, err := line.ws.ReadMessage()
	if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
		t.Errorf("with a revoked token: %q, %v", text, err)
	}
}

// A slowDriver is asked before a transaction that has been committed is acknowledged.
type slowDriver struct {
	relay.Driver
	committed func()
}

func (d slowDriver) Update(ctx context.Context, f func(relay.Tx) error) error {
	err := d.Driver.Update(ctx, f)
	d.committed()
	return err
}

// A ping that comes while a websocket replaces its token does not close it: the answer
// has the only token that counts.
func TestPingWhileRotating(t *testing.T) {
	const every = 400 * time.Millisecond
	pinged := make(chan struct{}, 100)
	var slow atomic.Bool
	s := listen(t, setting{
		options: relay.ServerOptions{PingEvery: every},
		driver: func(d relay.Driver) relay.Driver {
			return slowDriver{d, func() {
				if slow.Swap(false) {
					for len(pinged) > 0 {
						<-pinged
					}
					<-pinged
				}
			}}
		},
	})
	line := s.person("p").dial()
	answer := line.ws.PingHandler()
	line.ws.SetPingHandler(func(data string) error {
		pinged <- struct{}{}
		return answer(data)
	})
	line.call("session", wire.M{"session_id": "none"})
	slow.Store(true)
	v := line.call("rotate", wire.M{})
	if line.token = text(v, "token"); len(line.token) < 20 {
		t.Fatalf("rotate: %v", v)
	}
	line.do("sessions", wire.M{})
}
