package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
)

// corpus are the moves from which FuzzApply builds its sessions.
var corpus = []string{
	`a open -> b {"terms":{"x":{"type":"numeric","min":0,"max":9},"y":{"enum":["p","q"]}},"timing":{"session_ttl":500,"offer_ttl":60,"max_rounds":6}}`,
	`a open {"terms":{"x":{"value":1}}}`,
	`b accept_session`,
	`b decline_session {"reactivatable":true}`,
	`a offer {"offer_id":"o1","terms":{"x":{"value":5},"y":{"value":"p"}}}`,
	`b counter {"offer_id":"o2","conditions":[{"if":{"y":"p"},"then":{"x":3}},{"if":{"y":"q"},"then":{"x":4}}]}`,
	`a counter {"offer_id":"o3","bundles":[{"bundle_id":"k","terms":{"x":{"value":2},"y":{"value":"q"}}}]}`,
	`b offer {"offer_id":"o4","terms":{"x":{"value":7}},"open_terms":["y"]}`,
	`a accept {"accepted_terms":{"y":"p"}}`,
	`b accept`,
	`a commit`,
	`b commit {"accepted_terms":{"y":"q"}}`,
	`a constrain {"constraints":{"x":{"max":6}}}`,
	`b constrain {"constraints":{"x":{"min":2}}}`,
	`a signal {"reactivatable":true}`,
	`b inquire {"term_ids":["x"]}`,
	`a propose_mediator {"mediator_id":"c"}`,
	`b propose_mediator {"mediator_id":"c"}`,
	`c resolve {"terms":{"x":{"value":4},"y":{"value":"p"}}}`,
	`a withdraw {"reactivatable":true}`,
	`b reject`,
	`c inquire {"term_ids":[]}`,
}

// FuzzApply plays random sequences of moves: two bytes a move, which one and how
// many seconds later. Whatever the sequence: nothing panics; the state is one of
// the six and follows by a row of the table; a refused move changes nothing and is
// a Violation with a Refusal whose moves are allowed by the table; a session that
// is AGREED stays so; its deal keeps every term's bounds; a replay from the bytes
// ends in the same state with the same receipt.
func FuzzApply(f *testing.F) {
	f.Add([]byte{0, 0, 2, 1, 4, 1, 9, 1})
	f.Add([]byte{0, 0, 2, 1, 5, 1, 8, 1, 10, 1})
	f.Add([]byte{0, 0, 2, 1, 16, 1, 17, 1, 18, 1, 9, 1, 8, 1})
	f.Add([]byte{0, 0, 3, 9, 4, 9, 9, 99})
	f.Add([]byte{1, 0, 2, 1, 19, 1, 4, 1, 12, 1, 7, 1, 13, 1, 11, 1})
	f.Add([]byte{0, 0, 2, 200, 4, 200, 9, 200, 14, 1, 4, 1})
	f.Fuzz(func(t *testing.T, moves []byte) {
		p := newPlayer(t)
		p.log = session.NewTranscript("ses_golden", &p.opts)
		for i := 0; i+1 < len(moves) && i < 80; i += 2 {
			p.clock = p.clock.Add(2 * time.Duration(moves[i+1]) * time.Second)
			p.fuzzMove(corpus[int(moves[i])%len(corpus)])
		}
		p.replayed()
	})
}

func (p *player) fuzzMove(line string) {
	before := p.log.Session()
	m := p.message(line)
	err := p.log.Admit(m, p.clock)
	after := p.log.Session()
	if err != nil {
		v, ok := errors.AsType[*wire.Violation](err)
		if !ok {
			p.t.Fatalf("%s: not a violation: %v", line, err)
		}
		if after.Len() != before.Len() || after.State() != before.State() || after.Tip() != before.Tip() || after.Rounds() != before.Rounds() {
			p.t.Fatalf("%s: refused, yet the session changed", line)
		}
		if r, ok := errors.AsType[*session.Refusal](v); ok && slices.Contains(r.Moves, m.Type) && v.Rule == session.RuleTransition {
			p.t.Fatalf("%s: refused as illegal and offered as legal in %s", line, r.State)
		}
		return
	}
	p.msgs = append(p.msgs, m.Value())
	from := before.At(p.clock).State()
	if _, ok := session.Machine.Step(from, protocol.Label(m.Type), func(protocol.Role, protocol.Guard) bool { return true }); !ok {
		p.t.Fatalf("%s: accepted in %s without a row", line, from)
	}
	if !slices.Contains(session.Machine.States, after.State()) || after.State() == session.Start {
		p.t.Fatalf("%s: state %q", line, after.State())
	}
	if before.State() == session.Agreed && (after.State() != session.Agreed || !after.Deal().Value().Equal(before.Deal().Value())) {
		p.t.Fatalf("%s: an agreement changed", line)
	}
	if after.State() == session.Agreed {
		for _, term := range after.Space().Terms() {
			if _, ok := after.Deal().Get(term.ID); !ok {
				p.t.Fatalf("%s: a deal without %s", line, term.ID)
			}
		}
	}
	if after.Rounds() > after.Timing().MaxRounds {
		p.t.Fatalf("%s: round %d of %d", line, after.Rounds(), after.Timing().MaxRounds)
	}
}

// The table is sound, and the corpus has every message in it.
func TestMachine(t *testing.T) {
	if err := session.Machine.Validate(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range corpus {
		lines = append(lines, strings.Fields(c)[1])
	}
	for _, tr := range session.Machine.Transitions {
		if strings.HasPrefix(string(tr.On), "negotiate.") && !slices.Contains(lines, wire.MessageType(tr.On).Short()) {
			t.Errorf("no move of the corpus is a %s", tr.On)
		}
	}
}
