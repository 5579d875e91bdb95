package node_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/node"
)

// A node is well while its disk takes what it writes and its home relay is there.
func TestHealth(t *testing.T) {
	w := newWorld(t)
	g := w.gate()
	p := w.party("p", func(o *node.Options) { o.Relay = g.URL })
	until := func(want ...string) {
		t.Helper()
		for !slices.Equal(p.Health(w.ctx), want) {
			if w.ctx.Err() != nil {
				t.Fatalf("health %q, want %q", p.Health(w.ctx), want)
			}
			runtime.Gosched()
		}
	}
	until()
	g.close()
	until("the home relay is away")
	g.shut.Store(false)
	until()

	broken := must[*node.Node](w)(node.New(node.Options{Dir: t.TempDir(), Key: key("broken")}))
	if why := broken.Health(w.ctx); len(why) != 0 {
		t.Errorf("health %q", why)
	}
	w.must(node.LoseDisk(broken))
	if why := broken.Health(w.ctx); !slices.Equal(why, []string{"the disk refuses"}) {
		t.Errorf("health %q", why)
	}
	_ = broken.Close() // its disk is gone
}

// A deadlined is a response whose request has a deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.at = t
	return nil
}

// Who sends an invitation byte by byte is not waited for.
func TestInboxDeadline(t *testing.T) {
	w := newWorld(t)
	p := w.public("p", nil)
	d := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	p.Handler().ServeHTTP(d, httptest.NewRequestWithContext(w.ctx, http.MethodPost, node.PathInbox, strings.NewReader("{}")))
	if d.Code != http.StatusBadRequest || d.at.IsZero() || time.Until(d.at) > time.Minute {
		t.Errorf("status %d, deadline %v", d.Code, d.at)
	}
}

// Behind a proxy, one place that sends too many does not shut out the others; who is
// refused does not use up what there is for all.
func TestInboxPlaces(t *testing.T) {
	w := newWorld(t)
	p := w.public("p", func(o *node.Options) {
		o.Address = func(r *http.Request) netip.Addr {
			a, _ := netip.ParseAddr(r.Header.Get("X-Forwarded-For"))
			return a
		}
	})
	from := func(place string) int {
		r := httptest.NewRequestWithContext(w.ctx, http.MethodPost, node.PathInbox, strings.NewReader("{}"))
		r.Header.Set("X-Forwarded-For", place)
		rec := httptest.NewRecorder()
		p.Handler().ServeHTTP(rec, r)
		return rec.Code
	}
	last := 0
	for range 400 {
		last = from("203.0.113.7")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("one place: %d", last)
	}
	if got := from("203.0.113.8"); got != http.StatusBadRequest {
		t.Errorf("another place: %d", got)
	}
	for range 31 {
		last = from("2001:db8:0:1::7")
	}
	if got := from("2001:db8:0:1::8"); got != http.StatusTooManyRequests || last != got {
		t.Errorf("another address of a network: %d", got)
	}
}
