package attest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/concordia-node/concordia/wire"
)

// A Summary is what receipts add up to for the agent that holds them (SPEC
// §9.6.6a). It counts what they say, bound or not: what of it is proven is a
// Credit.
type Summary struct {
	TotalNegotiations      int      `json:"total_negotiations"`
	Agreements             int      `json:"agreements"`
	AgreementRate          float64  `json:"agreement_rate"`
	AvgConcessionMagnitude float64  `json:"avg_concession_magnitude"`
	FulfillmentRate        float64  `json:"fulfillment_rate"` // of the receipts with a fulfillment
	UniqueCounterparties   int      `json:"unique_counterparties"`
	Categories             []string `json:"categories"` // sorted, each once
	Earliest               string   `json:"earliest"`   // timestamp that sorts first as text, "" if there is none
	Latest                 string   `json:"latest"`
	ReasoningRate          float64  `json:"reasoning_rate"`
}

// Value returns the summary as it is signed.
func (s Summary) Value() wire.Value {
	v, err := wire.Encode(s)
	if err != nil {
		panic("attest: a summary is not JSON: " + err.Error()) // rates are finite, texts were read from JSON
	}
	return v
}

// Summarize adds receipts up for their holder. Rates are rounded to four decimals,
// the exact binary value half to even. Fulfilled is what has that status: a
// fulfillment by mediation counts as one that is not, as the reference
// implementation has it. Timestamps are compared as text, so with numeric offsets
// the earliest need not be the first. (SPEC §9.6.6a)
func Summarize(holder wire.AgentID, receipts []*Attestation) Summary {
	s, concessions := summarize(holder, receipts)
	s.AvgConcessionMagnitude = mean(plainSum(concessions), len(concessions))
	return s
}

// summarize returns the summary but for the mean of the concessions, and those.
func summarize(holder wire.AgentID, receipts []*Attestation) (s Summary, concessions []float64) {
	s = Summary{TotalNegotiations: len(receipts), Categories: []string{}}
	var reasoned, fulfilled, fulfillments int
	counterparties := make(map[wire.AgentID]bool)
	categories := make(map[string]bool)
	for _, a := range receipts {
		if a.Outcome.Status == StatusAgreed {
			s.Agreements++
		}
		for i, p := range a.Parties {
			if p.Agent != holder {
				counterparties[p.Agent] = true
				continue
			}
			if p.Behavior.ReasoningProvided {
				reasoned++
			}
			if m, ok := a.magnitude(i); ok {
				concessions = append(concessions, m)
			}
		}
		if a.Fulfillment != nil {
			fulfillments++
			if a.Fulfillment.fulfilled() {
				fulfilled++
			}
		}
		if a.Meta.Category != "" {
			categories[a.Meta.Category] = true
		}
		timestamp, _ := a.value.Get("timestamp")
		t := timestamp.Text()
		if s.Earliest == "" || t < s.Earliest {
			s.Earliest = t
		}
		s.Latest = max(s.Latest, t)
	}
	s.AgreementRate = mean(float64(s.Agreements), len(receipts))
	s.ReasoningRate = mean(float64(reasoned), len(receipts))
	s.FulfillmentRate = mean(float64(fulfilled), fulfillments)
	s.UniqueCounterparties = len(counterparties)
	if len(categories) > 0 {
		s.Categories = slices.Sorted(maps.Keys(categories))
	}
	return s, concessions
}

// magnitude returns the concession_magnitude of a party, and false if its record
// has none.
func (a *Attestation) magnitude(party int) (float64, bool) {
	v, _ := a.value.At("parties", strconv.Itoa(party), "behavior", "concession_magnitude")
	return v.Float()
}

// Rate returns part/whole as a summary has it, and 0 of nothing (SPEC §9.6.6a).
func Rate(part float64, whole int) float64 { return mean(part, whole) }

// mean rounds to four decimals. The shortest text of a float64 with four decimals
// is rounded from its exact value, half to even.
func mean(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sum/float64(n), 'f', 4, 64), 64)
	return rounded
}

// plainSum adds in order.
func plainSum(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// exactSum adds in order and keeps what each addition loses. (Neumaier, Rundungsfehleranalyse
// einiger Verfahren zur Summation endlicher Summen, ZAMM 54, 1974)
func exactSum(list []float64) float64 {
	var sum, lost float64
	for _, x := range list {
		t := sum + x
		if max(sum, -sum) >= max(x, -x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	return sum + lost
}

// RuleSummary is the rule of a summary, of bundles and of what is revealed in full.
var RuleSummary = &wire.Rule{Section: "9.6.6a", Name: "history-summary", Class: wire.ClassBinding, Text: "each of the ten figures of a summary is the arithmetic of its receipts"}

// summaryMembers are the figures in the order of SPEC §9.6.6a.
var summaryMembers = []string{
	"total_negotiations", "agreements", "agreement_rate", "avg_concession_magnitude", "fulfillment_rate",
	"unique_counterparties", "categories", "earliest", "latest", "reasoning_rate",
}

var errFigure = errors.New("the receipts give another figure")

// checkSummary compares what is claimed with what the receipts add up to, figure by
// figure and exactly. The mean of the concessions may lie on the edge between two
// roundings; Python adds floats plainly up to 3.11 and without loss from 3.12 on,
// and so signs either.
func checkSummary(claimed wire.Value, holder wire.AgentID, receipts []*Attestation, at string) error {
	s, concessions := summarize(holder, receipts)
	s.AvgConcessionMagnitude = mean(plainSum(concessions), len(concessions))
	plain := s.Value()
	s.AvgConcessionMagnitude = mean(exactSum(concessions), len(concessions))
	exact := s.Value()
	for _, name := range summaryMembers {
		got, _ := claimed.Get(name)
		want, _ := plain.Get(name)
		other, _ := exact.Get(name)
		if !got.Equal(want) && !got.Equal(other) {
			return RuleSummary.Because(fmt.Sprintf("%s/%s", at, name), errFigure)
		}
	}
	return nil
}
