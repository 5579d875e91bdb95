package conformance

import (
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

// judgeReputationResponse judges a service's answer to context.query, or to any query
// if there is none.
func judgeReputationResponse(s Subject) wire.Report {
	var q *reputation.Query
	if v, ok := s.Context.Get("query"); ok && v.Kind() != wire.Null {
		var err error
		if q, err = reputation.ReadQuery(v); err != nil {
			return unclear
		}
	}
	_, report := reputation.VerifyResponse(s.plain(), s.Artifact, q)
	return report
}

// judgeReputationQuery judges the shape of a query, which nobody signs.
func judgeReputationQuery(s Subject) wire.Report {
	_, err := reputation.ReadQuery(s.Artifact)
	return wire.Report{wire.Find("shape", false, err)}
}
