package relay

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds how many agents or addresses a [rates] tells apart.
const maxBuckets = 1 << 16

// rates are the token buckets of agents or addresses. When there are too many, those
// that were not used for longest start anew: whoever commands that many addresses is
// bounded by their number.
type rates struct {
	every rate.Limit
	burst int
	mu    sync.Mutex
	young map[string]*rate.Limiter
	old   map[string]*rate.Limiter
}

func newRates(perSecond, burst int64) *rates {
	return &rates{every: rate.Limit(perSecond), burst: int(burst), young: map[string]*rate.Limiter{}}
}

// take takes a token of whoever asks at a time, or refuses and says when there is one.
func (b *rates) take(who string, now time.Time) error {
	reserved := b.bucket(who).ReserveN(now, 1)
	wait := reserved.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reserved.CancelAt(now)
	return &Error{Code: CodeRate, Message: "too many requests", RetryAfter: wait}
}

func (b *rates) bucket(who string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.young[who]
	if l != nil {
		return l
	}
	if l = b.old[who]; l == nil {
		l = rate.NewLimiter(b.every, b.burst)
	}
	if len(b.young) >= maxBuckets/2 {
		b.young, b.old = map[string]*rate.Limiter{}, b.young
	}
	b.young[who] = l
	return l
}

// remoteAddress returns the address that a connection came from.
func remoteAddress(remote string) netip.Addr {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// placeOf returns what counts as one address: of IPv6 a whole /64, which is what one
// subscriber has.
func placeOf(a netip.Addr) string {
	if p, err := a.Prefix(64); err == nil && a.Is6() {
		return p.String()
	}
	return a.String()
}

// A gate bounds the connections to an HTTP server, of all and from one address, before
// anything is known of them: those beyond are closed without a word.
type gate struct {
	most, each int64 // each: 0 for no bound
	mu         sync.Mutex
	open       map[net.Conn]string
	from       map[string]int64
}

func newGate(most, each int64) *gate {
	return &gate{most: most, each: each, open: map[net.Conn]string{}, from: map[string]int64{}}
}

// watch is for [http.Server.ConnState].
func (g *gate) watch(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if !g.enter(c) {
			c.Close()
		}
	case http.StateHijacked, http.StateClosed:
		g.leave(c)
	}
}

func (g *gate) enter(c net.Conn) bool {
	place := placeOf(remoteAddress(c.RemoteAddr().String()))
	g.mu.Lock()
	defer g.mu.Unlock()
	if int64(len(g.open)) >= g.most || g.each > 0 && g.from[place] >= g.each {
		return false
	}
	g.open[c] = place
	g.from[place]++
	return true
}

func (g *gate) leave(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	place, ok := g.open[c]
	if !ok {
		return
	}
	delete(g.open, c)
	if g.from[place]--; g.from[place] == 0 {
		delete(g.from, place)
	}
}
