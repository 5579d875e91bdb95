package relay

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/concordia-node/concordia/wire"
)

// health is what the sweeper has last seen.
type health struct {
	mu   sync.Mutex
	at   time.Time // of the last sweep, zero: there was none
	done Swept
	err  error
	bad  []badRecords // of the last hour, after which they are tried again
}

type badRecords struct {
	at time.Time
	n  int
}

func (h *health) swept(now time.Time, done Swept, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.done, h.err = now, done, err
	for len(h.bad) > 0 && now.Sub(h.bad[0].at) > time.Hour {
		h.bad = h.bad[1:]
	}
	if done.Bad > 0 {
		h.bad = append(h.bad, badRecords{now, done.Bad})
	}
}

// serveHealth answers 200, or 503 if the relay cannot do its work: its mail cannot be
// read, its disk is full, or it does not sweep.
func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request) {
	used, free := s.mail.driver.Size()
	answer := wire.M{"used_bytes": used, "free_bytes": free, "connections": s.sockets.count()}
	for _, v := range s.opts.Services {
		if v.Counts != nil {
			answer[v.Name] = v.Counts()
		}
	}
	h := &s.health
	h.mu.Lock()
	at, done, err := h.at, h.done, h.err
	bad := 0
	for _, b := range h.bad {
		bad += b.n
	}
	h.mu.Unlock()
	var broken []string
	if err := s.mail.driver.View(r.Context(), func(Reader) error { return nil }); err != nil {
		broken = append(broken, "the mail cannot be read")
	}
	if free >= 0 && free < s.mail.opts.Limits.FreeSpace {
		broken = append(broken, "the disk is full")
	}
	if err != nil {
		broken = append(broken, "the last sweep failed")
	}
	answer["bad_records"] = bad
	if !at.IsZero() {
		answer["sweep"] = wire.M{"at": wire.FormatTime(at), "ended": done.Ended, "removed": done.Removed, "nonces": done.Nonces}
		if s.mail.now().Sub(at) > 10*s.opts.SweepEvery {
			broken = append(broken, "the last sweep is long ago")
		}
	}
	code := http.StatusOK
	switch {
	case len(broken) > 0:
		answer["status"], answer["why"], code = "broken", broken, http.StatusServiceUnavailable
	case bad > 0:
		answer["status"] = "degraded"
	default:
		answer["status"] = "ok"
	}
	text, err := appendObject(nil, answer)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

// metrics are what a server counts. No label has a value that comes from outside.
type metrics struct {
	calls     *prometheus.CounterVec // by op and code
	took      *prometheus.HistogramVec
	delivered prometheus.Counter
	received  prometheus.Counter
	sent      prometheus.Counter
	cut       prometheus.Counter
	sweeps    *prometheus.CounterVec // by result
	swepts    *prometheus.CounterVec // by what was done

	compactions *prometheus.CounterVec // by result
}

func newMetrics(registry *prometheus.Registry, s *Server) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "concordia_relay", Name: name, Help: help})
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "concordia_relay", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "concordia_relay", Name: name, Help: help}, value)
	}
	m := &metrics{
		calls: vector("operations_total", "Operations that were asked for, by the code of the answer.", "op", "code"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "concordia_relay", Name: "operation_seconds", Help: "From parsed request to durable answer.",
			Buckets: prometheus.ExponentialBuckets(0.000_1, 2, 16),
		}, []string{"op"}),
		delivered: counter("delivered_total", "Entries that were sent to websockets."),
		received:  counter("received_bytes_total", "Bytes of frames from websockets."),
		sent:      counter("sent_bytes_total", "Bytes of frames to websockets."),
		cut:       counter("cut_total", "Websockets that were closed because they took nothing."),
		sweeps:    vector("sweeps_total", "Sweeps, by result.", "result"),
		swepts:    vector("swept_total", "What sweeps did.", "what"),

		compactions: vector("compactions_total", "Compactions, by result.", "result"),
	}
	registry.MustRegister(m.calls, m.took, m.delivered, m.received, m.sent, m.cut, m.sweeps, m.swepts, m.compactions,
		gauge("connections", "Open websockets.", func() float64 { return float64(s.sockets.count()) }),
		gauge("used_bytes", "Size of the mail on disk.", func() float64 { used, _ := s.mail.driver.Size(); return float64(used) }),
		gauge("free_bytes", "Free space on disk.", func() float64 { _, free := s.mail.driver.Size(); return float64(free) }),
		gauge("live_sessions", "Sessions that have not ended.", func() float64 { return s.mail.liveCount() }))
	return m
}

// liveCount returns how many sessions have not ended, or -1.
func (m *Mailboxes) liveCount() float64 {
	n := -1.0
	_ = m.driver.View(context.Background(), func(r Reader) error {
		n = float64(count(r, keyLive))
		return nil
	})
	return n
}

func (m *metrics) called(op *operation, err error, took time.Duration) {
	m.took.WithLabelValues(op.name).Observe(took.Seconds())
	if err == nil {
		m.calls.WithLabelValues(op.name, "ok").Inc()
		return
	}
	m.refused(op, err)
}

func (m *metrics) refused(op *operation, err error) {
	m.calls.WithLabelValues(op.name, string(refusal(err).Code)).Inc()
}

func (m *metrics) swept(done Swept, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.sweeps.WithLabelValues(result).Inc()
	for what, n := range map[string]int{"ended": done.Ended, "removed": done.Removed, "nonces": done.Nonces, "bad": done.Bad} {
		m.swepts.WithLabelValues(what).Add(float64(n))
	}
}
