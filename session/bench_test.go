package session_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
)

// BenchmarkApply is one step of the machine for a message that has been parsed
// and verified: the check of its body, the registers, the transition.
func BenchmarkApply(b *testing.B) {
	p := newPlayer(b)
	p.line(`+0s seller open -> buyer {"terms": {"price": {"type": "numeric", "min": 0, "max": 5000}, "place": {"type": "categorical", "enum": ["here", "there"]}, "day": {"type": "temporal"}, "insured": {"type": "boolean"}}, "timing": {"max_rounds": 10000}}`)
	p.line(`+1s buyer accept_session`)
	p.line(`+1s buyer constrain {"constraints": {"price": {"max": 3000}}}`)
	p.line(`+1s buyer offer {"offer_id": "o1", "terms": {"price": {"value": 1000}, "place": {"value": "here"}, "day": {"value": "2026-10-01"}, "insured": {"value": true}}}`)
	p.line(`+1s seller counter {"offer_id": "o2", "terms": {"price": {"value": 2000}, "place": {"value": "there"}, "day": {"value": "2026-10-01"}, "insured": {"value": true}}}`)
	s := p.log.Session()
	for _, bench := range []struct{ name, move string }{
		{"signal", `signal {"priority_ranking": ["price", "place"], "flexibility": {"price": "firm"}}`},
		{"inquire", `inquire {"term_ids": ["price"]}`},
		{"counter", `counter {"offer_id": "o3", "terms": {"price": {"value": 1500}, "place": {"value": "there"}, "day": {"value": "2026-10-01"}, "insured": {"value": true}}, "complete": true}`},
		{"accept", `accept {"offer_id": "o2"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m := p.message("buyer " + bench.move)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Apply(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerify verifies a transcript of 10,000 messages on all processors, and
// beside it nothing but their signatures.
func BenchmarkVerify(b *testing.B) {
	const n = 10_000
	p := newPlayer(b)
	p.line(`+0s seller open -> buyer {"terms": {"price": {"type": "numeric"}}}`)
	p.line(`+1s buyer accept_session`)
	for i := len(p.msgs); i < n; i++ {
		p.line([]string{
			`+0s seller say signal {"priority_ranking": ["price"], "flexibility": {"price": "somewhat_flexible"}, "note": "` + strings.Repeat("of about one kilobyte, ", 20) + `"}`,
			`+0s buyer inquire {"term_ids": ["price"], "note": "` + strings.Repeat("of about one kilobyte, ", 25) + `"}`,
		}[i%2])
	}
	perSecond := func(b *testing.B) { b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "messages/s") }
	b.Run("transcript", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := session.Verify("ses_golden", p.msgs, p.keys, p.clock, nil, onAllProcessors); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("bare signatures", func(b *testing.B) {
		key := p.keys["seller"]
		text := []byte(p.msgs[2].Canonical())
		sig, err := p.key("seller").Sign(text)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			onAllProcessors(n, func(int) {
				if !key.Verify(text, sig) {
					b.Error("bad signature")
				}
			})
		}
		perSecond(b)
	})
}

func onAllProcessors(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// BenchmarkStep is a step of the table alone.
func BenchmarkStep(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := session.Machine.Step(session.Active, "negotiate.withdraw", func(by protocol.Role, g protocol.Guard) bool {
			return by == session.Party && g == ""
		}); !ok {
			b.Fatal("no step")
		}
	}
}
