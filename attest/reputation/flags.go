package reputation

import "time"

// A Flag is a concern about an agent (SPEC §9.6.7). Flags are told beside the score;
// what they tell of has entered it already.
type Flag string

// The flags of SPEC §9.6.7, in the order in which they are told.
const (
	NoData               Flag = "no_data"                        // no receipt is credited
	NewAgent             Flag = "new_agent"                      // fewer than five are
	ClosedCircle         Flag = "closed_circle"                  // it deals in a small group that deals with itself
	RepeatedPair         Flag = "repeated_pair"                  // more than three deals, and half of all, were with one counterparty
	RecentDispute        Flag = "recent_dispute"                 // a counterparty said within 90 days that a deal failed
	ConstraintViolations Flag = "constraint_violations_detected" // it broke a constraint in some session
	ConflictingReceipts  Flag = "conflicting_receipts"           // it countersigned two outcomes of one session
	RevokedReceipts      Flag = "revoked_receipts"               // receipts of it are revoked
	RoleNotProven        Flag = "role_not_proven"                // the query asks for a role that receipts do not have
)

const (
	fewReceipts = 5
	recent      = 90 * 24 * time.Hour
)

func (s *Score) flags() []Flag {
	var disputed, violated, conflicting, revoked bool
	for i := range s.accounts {
		a := &s.accounts[i]
		disputed = disputed || a.disputed
		violated = violated || (a.credit == Credited || a.credit == Conflicting) && a.dealers[a.own].violated
		conflicting = conflicting || a.credit == Conflicting
		revoked = revoked || a.credit == Revoked
	}
	f := s.Figures
	list := []Flag{}
	for _, flag := range []struct {
		Flag
		up bool
	}{
		{NoData, f.Negotiations == 0},
		{NewAgent, f.Negotiations < fewReceipts},
		{ClosedCircle, s.Circle != nil},
		{RepeatedPair, f.mostDeals >= pairDeals && 2*f.mostDeals > f.Agreements},
		{RecentDispute, disputed},
		{ConstraintViolations, violated},
		{ConflictingReceipts, conflicting},
		{RevokedReceipts, revoked},
	} {
		if flag.up {
			list = append(list, flag.Flag)
		}
	}
	return list
}
