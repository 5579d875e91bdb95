package relay

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// TestRatesAreBounded shows that many addresses do not take much memory, and that one
// that asks all the time is not forgotten among them.
func TestRatesAreBounded(t *testing.T) {
	r := newRates(1, 2)
	now := time.Unix(1_000_000, 0)
	for i := range 3 * maxBuckets {
		if err := r.take(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
		if err := r.take("busy", now); (err != nil) != (i >= 2) {
			t.Fatalf("request %d of the busy one: %v", i, err)
		}
	}
	if n := len(r.young) + len(r.old); n > maxBuckets {
		t.Errorf("%d buckets, want at most %d", n, maxBuckets)
	}
}

func TestPlaces(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":                "192.0.2.1",
		"[::ffff:192.0.2.1]:80":       "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80":   "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:80":   "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":           "fe80::/64",
		"nothing":                     "invalid IP",
		"@":                           "invalid IP",
		"[2001:db8:1:3:ffff::1]:1234": "2001:db8:1:3::/64",
	} {
		if got := placeOf(remoteAddress(remote)); got != want {
			t.Errorf("placeOf(%s) = %s, want %s", remote, got, want)
		}
	}
}

// connFrom is a connection that knows where it comes from.
type connFrom struct {
	net.Conn
	remote net.TCPAddr
	closed bool
}

func (c *connFrom) RemoteAddr() net.Addr { return &c.remote }
func (c *connFrom) Close() error         { c.closed = true; return nil }

func TestGate(t *testing.T) {
	g := newGate(3, 2)
	from := func(last byte) *connFrom {
		return &connFrom{remote: net.TCPAddr{IP: net.IPv4(192, 0, 2, last), Port: 80}}
	}
	a, b, c, d, e := from(1), from(1), from(1), from(2), from(3)
	for _, conn := range []*connFrom{a, b, c, d, e} {
		g.watch(conn, http.StateNew)
	}
	if a.closed || b.closed || !c.closed || d.closed || !e.closed {
		t.Errorf("closed: %v %v %v %v %v", a.closed, b.closed, c.closed, d.closed, e.closed)
	}
	g.watch(c, http.StateClosed) // which must not free the place of another
	g.watch(a, http.StateHijacked)
	g.watch(a, http.StateClosed)
	f := from(1)
	again := from(1)
	g.watch(f, http.StateNew)
	g.watch(again, http.StateNew)
	if f.closed || !again.closed {
		t.Error("a place that was left is not free once")
	}
}

// TestDeliveryIsBounded shows what a connection remembers of very many sessions.
func TestDeliveryIsBounded(t *testing.T) {
	c := new(socket)
	c.closing.Store(true) // nothing runs
	d := &c.delivery
	for i := range 10 * maxQueued {
		c.wake(wire.SessionID(fmt.Sprint("ses_", i)))
	}
	if len(d.queue) != maxQueued || len(d.places) != maxQueued || !d.scan || d.after != "" {
		t.Errorf("%d are queued, and it will look for more: %v", len(d.queue), d.scan)
	}
	resume := func(session wire.SessionID, number uint64) error {
		answered, err := c.resume(session, number)
		if err == nil {
			answered()
		}
		return err
	}
	for i := range maxTracks {
		if err := resume(wire.SessionID(fmt.Sprint("ses_", i)), 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := resume("ses_more", 7); CodeOf(err) != CodeBadRequest {
		t.Errorf("one session too many: %v", err)
	}
	if err := resume("ses_1", 8); err != nil {
		t.Errorf("one of them again: %v", err)
	}
	c.acked("ses_2", 7)
	if err := resume("ses_more", 7); err != nil {
		t.Errorf("after one was acknowledged: %v", err)
	}
	if len(d.tracks) > maxTracks {
		t.Errorf("%d tracks", len(d.tracks))
	}
}
