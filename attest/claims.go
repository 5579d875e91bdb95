package attest

import (
	"errors"
	"math"
	"slices"

	"github.com/concordia-node/concordia/wire"
)

var (
	errImpossible = errors.New("no receipts add up to it and the other figures")
	errRounded    = errors.New("not a share rounded to four decimals")
	errUnsorted   = errors.New("not categories, sorted, each once")
	errInstants   = errors.New("not an instant, or the latest sorts before the earliest")
)

// checkConsistency checks the claims against one another. Of a proof that reveals
// little nobody can say more of them, but what no receipts could add up to is no
// claim. (SPEC §9.6.6a)
func (s *CompetenceSubject) checkConsistency() error {
	r, err := Shape(s.Proof.Claims, "receipt_summary", RuleClaims)
	if err != nil {
		return &wire.Unchecked{Why: "the claims are not ten figures"} // figures says so
	}
	if name, why := contradiction(r); why != nil {
		return RuleClaimsConsistent.Because("/claims/"+name, why)
	}
	return nil
}

// contradiction returns the first figure that does not go with those before it.
func contradiction(r wire.Reader) (figure string, why error) {
	total := r.Int("total_negotiations", 0, maxCount)
	if total == 0 {
		empty := Summarize("", nil).Value()
		for _, name := range summaryMembers {
			got, _ := r.Whole().Get(name)
			if want, _ := empty.Get(name); !got.Equal(want) {
				return name, errImpossible
			}
		}
		return "", nil
	}
	number := func(name string) float64 { f, _ := r.Value(name).Float(); return f }
	agreements := r.Int("agreements", 0, maxCount)
	counterparties := r.Int("unique_counterparties", 0, maxCount)
	categories := r.Strings("categories")
	earliest, latest := r.Text("earliest"), r.Text("latest")
	switch {
	case agreements > total:
		return "agreements", errImpossible
	case number("agreement_rate") != share(agreements, total):
		return "agreement_rate", errImpossible
	case number("avg_concession_magnitude") > 1 || !isRounded(number("avg_concession_magnitude")):
		return "avg_concession_magnitude", errRounded
	case !isRounded(number("fulfillment_rate")): // of how many is not told
		return "fulfillment_rate", errRounded
	case !isShare(number("reasoning_rate"), total):
		return "reasoning_rate", errImpossible
	case counterparties < 1 || counterparties > total*(MaxParties-1):
		return "unique_counterparties", errImpossible
	case int64(len(categories)) > total:
		return "categories", errImpossible
	}
	for i, c := range categories {
		if CheckCategory(c) != nil || i > 0 && categories[i-1] >= c {
			return "categories", errUnsorted
		}
	}
	// The first and the last are so as text: with numeric offsets the instants may be
	// the other way round.
	if _, err := wire.ParseTime(earliest); err != nil {
		return "earliest", errInstants
	}
	if _, err := wire.ParseTime(latest); err != nil || latest < earliest || total == 1 && latest != earliest {
		return "latest", errInstants
	}
	return "", nil
}

// share is mean of whole numbers.
func share(n, of int64) float64 { return mean(float64(n), int(of)) }

// isRounded reports whether f has at most four decimals.
func isRounded(f float64) bool { return mean(f, 1) == f }

// isShare reports whether f is some whole number of so many, rounded.
func isShare(f float64, of int64) bool {
	n := int64(math.Round(f * float64(of)))
	return isRounded(f) && slices.ContainsFunc([]int64{n - 1, n, n + 1}, func(n int64) bool { return 0 <= n && n <= of && share(n, of) == f })
}
