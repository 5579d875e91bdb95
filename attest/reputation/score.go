package reputation

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// The constants of the score (SPEC §9.6.7). Changing one changes every score.
const (
	HalfLife = 180 * 24 * time.Hour // in which evidence loses half of its weight

	conductParts     = 1 // of a receipt, for keeping to the constraints
	fulfillmentParts = 3 // for honoring the deal, if somebody said whether
	mediatedParts    = 2 // of them, for doing so after mediation
	priorParts       = 20
	circleShift      = 6 // a deal inside a closed circle weighs 1/64
	million          = 1_000_000
)

// Micro is a number of millionths. It prints as a decimal fraction of six digits.
type Micro int64

// String returns the decimal fraction.
func (m Micro) String() string { return fmt.Sprintf("%d.%06d", m/million, m%million) }

// MarshalJSON returns the decimal fraction.
func (m Micro) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// A Score is what a ledger proves of one agent at a time.
type Score struct {
	Overall    Micro // from 0 to 1; 0 is nothing proven
	Confidence Micro // what Overall would be of an agent whose every deal went well
	Figures    Figures
	Flags      []Flag
	Circle     []wire.AgentID // the closed circle it is in, by one id of each, sorted; nil if none

	now      time.Time
	ledger   *Ledger
	subject  node
	accounts []account
	sum      sum
}

// An account is what one receipt adds, in the order of entries.
type account struct {
	*entry
	own      int // index of the subject among the dealers
	credit   Credit
	weight   Micro
	rank     int // which newest deal with the counterparty it knows best, from 1; 0 if it weighs nothing
	circular bool
	standing standing
	disputed bool // the standing is a failure, said lately
	points   uint64
	possible uint64
}

// Credit says whether a receipt counts, or why not.
type Credit string

// The credits of SPEC §9.6.7.
const (
	Credited    Credit = "credited"
	Revoked     Credit = "revoked"
	Superseded  Credit = "superseded"  // by a later receipt of the session between the same agents
	Conflicting Credit = "conflicting" // the agent countersigned two receipts of one session, or one id: only what speaks against it counts
)

// A sum adds points up.
type sum struct{ points, possible uint64 }

func (s *sum) add(a *account) {
	s.points += a.points
	s.possible += a.possible
}

// share returns part of all that is possible, with the prior, in millionths. It is
// exact before it is cut off: a ledger would need 10^12 receipts to overflow.
func (s sum) share(part uint64) Micro {
	hi, lo := bits.Mul64(part, million)
	q, _ := bits.Div64(hi, lo, s.possible+priorParts*million)
	return Micro(q)
}

// Score returns what the ledger proves of the agent with that key. The time says how
// old the evidence is; evidence from after it counts as new.
func (l *Ledger) Score(key wire.PublicKey, now time.Time) *Score {
	s := &Score{now: now, ledger: l, subject: -1}
	if n, ok := l.nodes[key]; ok {
		s.subject = n
		s.accounts = make([]account, len(l.agents[n].entries))
		for i, x := range l.agents[n].entries {
			s.accounts[i] = account{entry: x, own: slices.Index(x.nodes, n), credit: Credited}
		}
		s.credit()
		s.hear()
		s.weigh(l.circle(n))
	}
	for i := range s.accounts {
		s.sum.add(&s.accounts[i])
	}
	s.Overall, s.Confidence = s.sum.share(s.sum.points), s.sum.share(s.sum.possible)
	s.Figures = s.figures()
	s.Flags = s.flags()
	return s
}

// A succession is what a receipt says it supersedes: one of that id, of its own session
// and between the same agents.
type succession struct{ id, session, dealers string }

func (x *entry) succession(id string) succession {
	nodes := slices.Sorted(slices.Values(x.nodes))
	return succession{bare(id), x.session, fmt.Sprint(nodes)}
}

// credit finds receipts that do not count. The subject signed all of them.
func (s *Score) credit() {
	superseded := make(map[succession]bool)
	for i := range s.accounts {
		a := &s.accounts[i]
		if a.revoked {
			a.credit = Revoked
			continue
		}
		for _, id := range a.supersedes {
			superseded[a.succession(id)] = true
		}
	}
	shared := make(map[*namesakes]int)
	for i := range s.accounts {
		a := &s.accounts[i]
		switch {
		case a.credit == Revoked:
		case len(superseded) > 0 && superseded[a.succession(a.id)]:
			a.credit = Superseded
		default:
			for _, with := range []*namesakes{a.ids, a.meet} {
				if with.entries > 1 {
					shared[with]++
				}
			}
		}
	}
	for i := range s.accounts {
		a := &s.accounts[i]
		if a.credit == Credited && (shared[a.ids] > 1 || shared[a.meet] > 1) {
			a.credit = Conflicting
		}
	}
}

// hear finds what other dealers said of the fulfillment: the worst, if more than one
// did. A confirmation that names no receipt counts for the oldest that shows it. Of a
// conflicting receipt only a failure is heard: whoever signs a second one with a friend
// must not be rid of what the counterparty of the first says.
func (s *Score) hear() {
	shown := make(map[heard]bool)
	for i := range s.accounts {
		a := &s.accounts[i]
		if a.credit != Credited && a.credit != Conflicting || a.status != attest.StatusAgreed {
			continue
		}
		var worst statement
		for j, n := range a.nodes {
			if j == a.own {
				continue
			}
			said, ok := a.ids.statements[n]
			if !ok && a.credit == Credited {
				said = statement{at: undated, standing: s.unnamed(a, n, shown)}
			}
			if a.credit == Conflicting && said.standing != failed {
				continue
			}
			if said.standing != untold && (worst.standing == untold || said.standing < worst.standing || said.standing == worst.standing && said.at > worst.at) {
				worst = said
			}
		}
		a.standing = worst.standing
		if worst.standing == failed {
			when := worst.at
			if when == undated {
				when = a.time
			}
			a.disputed = s.now.Unix()-when <= int64(recent/time.Second)
		}
	}
}

// unnamed returns what a confirmation of that dealer makes of a receipt.
func (s *Score) unnamed(a *account, by node, shown map[heard]bool) standing {
	for _, h := range a.confirmed {
		if h.by == by && !shown[h] {
			shown[h] = true
			return fulfilled
		}
	}
	return untold
}

// weigh says how much each receipt counts, from the newest on.
func (s *Score) weigh(circle []node) {
	for _, n := range circle {
		s.Circle = append(s.Circle, s.ledger.agents[n].id)
	}
	slices.Sort(s.Circle)
	deals := make(map[node]int)
	for i := len(s.accounts) - 1; i >= 0; i-- {
		a := &s.accounts[i]
		violated := a.dealers[a.own].violated
		switch {
		case a.credit == Credited && (a.status == attest.StatusAgreed || violated):
		case a.credit == Conflicting && (a.standing == failed || violated):
		default:
			continue
		}
		for j, n := range a.nodes {
			if j == a.own {
				continue
			}
			deals[n]++
			a.rank = max(a.rank, deals[n])
			a.circular = a.circular || slices.Contains(circle, n)
		}
		a.weight = fresh(s.now.Unix()-a.time) >> min(a.rank-1, 62)
		if a.circular {
			a.weight >>= circleShift
		}
		w := uint64(a.weight)
		if a.credit == Credited || violated {
			a.possible = conductParts * w
		}
		if !violated {
			a.points = a.possible
		}
		if a.standing != untold {
			a.possible += fulfillmentParts * w
			a.points += [...]uint64{failed: 0, mediated: mediatedParts, fulfilled: fulfillmentParts}[a.standing] * w
		}
	}
}

// fresh returns what evidence of that many seconds weighs: half of it for each half
// life, and on the straight line between.
func fresh(age int64) Micro {
	const half = int64(HalfLife / time.Second)
	age = max(age, 0)
	return Micro((2*half-age%half)*million/(2*half)) >> min(age/half, 62)
}

// part returns the share of the receipts that fit and weigh, and how many are credited.
func (s *Score) part(fits func(a *account) bool) (share Micro, credited int) {
	var of sum
	for i := range s.accounts {
		a := &s.accounts[i]
		if !fits(a) {
			continue
		}
		of.add(a)
		if a.credit == Credited {
			credited++
		}
	}
	return of.share(of.points), credited
}

// A Contribution is what one receipt adds to a score, and why.
type Contribution struct {
	Attestation    string         `json:"attestation_id"`
	Session        wire.SessionID `json:"session_id"`
	Time           string         `json:"timestamp"`
	Status         attest.Status  `json:"status"`
	Role           attest.Role    `json:"role"`
	Counterparties []wire.AgentID `json:"counterparties"`
	Credit         Credit         `json:"credit"`
	Rank           int            `json:"rank"`          // among the deals with the same counterparty, the newest first; 0 if it weighs nothing
	ClosedCircle   bool           `json:"closed_circle"` // with a member of the closed circle
	Violated       bool           `json:"constraints_violated"`
	Fulfillment    string         `json:"fulfillment"`
	Weight         Micro          `json:"weight"`
	Points         Micro          `json:"points"`
	Possible       Micro          `json:"possible"`
	Contribution   Micro          `json:"contribution"` // all of them add up to Overall
}

// Contributions returns what each receipt of the agent adds, oldest first. Each is the
// difference that it makes to the score of those before it, so that they add up to
// Overall exactly, rounding included.
func (s *Score) Contributions() []Contribution {
	list := make([]Contribution, len(s.accounts))
	var points uint64
	for i := range s.accounts {
		a := &s.accounts[i]
		before := s.sum.share(points)
		points += a.points
		c := Contribution{
			Attestation: a.id, Session: wire.SessionID(a.session), Time: instant(a.time), Status: a.status,
			Role: a.dealers[a.own].role, Credit: a.credit, Rank: a.rank, ClosedCircle: a.circular, Violated: a.dealers[a.own].violated,
			Fulfillment: a.standing.String(), Weight: a.weight, Points: Micro(a.points), Possible: Micro(a.possible),
			Contribution: s.sum.share(points) - before,
		}
		for j, d := range a.dealers {
			if j != a.own {
				c.Counterparties = append(c.Counterparties, d.id)
			}
		}
		list[i] = c
	}
	return list
}
