package session

import (
	"time"

	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/wire"
)

// A party is what the session remembers of one party: its registers, and the
// conduct that its receipt reports (SPEC §9.6.3).
type party struct {
	id          wire.AgentID
	joined      bool
	constraints offer.Constraints
	nominee     wire.AgentID
	last        *offer.Offer
	lastAt      int // message number of last, to find the latest of all parties

	offersMade          int
	concessions         int
	conceded            float64 // sum of the concessions
	signalsShared       int
	constraintsDeclared int
	constraintsViolated int
	reasoned            bool
	withdrew            bool
	replies             int
	waited              time.Duration // sum of the times to reply
}

// offered registers an offer and how far it moved toward goal (SPEC §5.4).
func (p *party) offered(o, goal *offer.Offer, space *offer.Space) {
	if p.last != nil && goal != nil {
		if c := space.Concession(p.last, o, goal); c > 0 {
			p.concessions++
			p.conceded += c
		}
	}
	p.last = o
	p.offersMade++
}

// goal returns the latest offer of another party, or nil.
func (s *Session) goal(who int) *offer.Offer {
	var goal *offer.Offer
	at := -1
	for i := range s.parties {
		if p := &s.parties[i]; i != who && p.last != nil && p.lastAt > at {
			goal, at = p.last, p.lastAt
		}
	}
	return goal
}

// observe counts what m says about the conduct of its sender.
func (s *Session) observe(m *wire.Message, who int) {
	if who == noParty {
		return
	}
	p := &s.parties[who]
	p.reasoned = p.reasoned || m.Reasoning != ""
	if s.messages > 1 && s.lastFrom != m.From {
		p.replies++
		p.waited += max(0, m.Time.Sub(s.last))
	}
	switch m.Type {
	case wire.TypeOffer, wire.TypeCounter:
		p.lastAt = s.messages
	case wire.TypeSignal:
		p.signalsShared++
	case wire.TypeWithdraw:
		p.withdrew = true
	}
}
