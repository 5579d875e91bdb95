package session_test

import "testing"

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
