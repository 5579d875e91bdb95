package reputation

import (
	"maps"
	"slices"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// Figures are what the credited receipts of an agent add up to, and how many there are
// (SPEC §9.6.7). A rate of nothing is 0. They describe; only the score judges.
type Figures struct {
	Negotiations     int
	Agreements       int
	AgreementRate    float64
	FulfillmentRate  float64  // of the deals of which a counterparty said something
	AvgConcession    float64  // of the agent's concession magnitudes
	ReasoningRate    float64  // of the receipts in which the agent gave reasons
	MedianRounds     int64    // of the agreements, the upper one of two; 0 of none
	Categories       []string // sorted
	Counterparties   int      // keys that it dealt with
	Attestations     int      // receipts that are known, credited or not
	Earliest, Latest string   // of those, "" of none
	told, kept       int      // deals of which somebody said something, and that went well
	mostDeals        int      // agreements with one counterparty
}

// figures adds up. All sums are of integers, so that their order makes no difference.
func (s *Score) figures() Figures {
	f := Figures{Attestations: len(s.accounts), Categories: []string{}}
	if n := len(s.accounts); n > 0 {
		f.Earliest, f.Latest = instant(s.accounts[0].time), instant(s.accounts[n-1].time)
	}
	var reasoned, magnitudes int
	var conceded int64
	var rounds []int64
	categories := make(map[string]bool)
	met := make(map[node]int)
	for i := range s.accounts {
		a := &s.accounts[i]
		if a.credit != Credited {
			continue
		}
		f.Negotiations++
		own := a.dealers[a.own]
		if own.reasoned {
			reasoned++
		}
		if own.magnitude >= 0 {
			magnitudes++
			conceded += own.magnitude
		}
		if a.category != "" {
			categories[a.category] = true
		}
		agreed := 0
		if a.status == attest.StatusAgreed {
			f.Agreements++
			rounds = append(rounds, a.rounds)
			agreed = 1
		}
		for j, n := range a.nodes {
			if j != a.own {
				met[n] += agreed
				f.mostDeals = max(f.mostDeals, met[n])
			}
		}
		if a.standing != untold {
			f.told++
		}
		if a.standing == fulfilled || a.standing == mediated {
			f.kept++
		}
	}
	f.Counterparties = len(met)
	f.AgreementRate = attest.Rate(float64(f.Agreements), f.Negotiations)
	f.FulfillmentRate = attest.Rate(float64(f.kept), f.told)
	f.ReasoningRate = attest.Rate(float64(reasoned), f.Negotiations)
	f.AvgConcession = attest.Rate(float64(conceded)/million, magnitudes)
	if len(rounds) > 0 {
		slices.Sort(rounds)
		f.MedianRounds = rounds[len(rounds)/2]
	}
	if len(categories) > 0 {
		f.Categories = slices.Sorted(maps.Keys(categories))
	}
	return f
}

func instant(seconds int64) string { return wire.FormatTime(time.Unix(seconds, 0)) }
