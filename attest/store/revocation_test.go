package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/store"
	"github.com/concordia-node/concordia/wire"
)

// Anybody makes as many records as they like against what they made themselves, and as
// many artifacts that depend on it. To follow them takes time in proportion to both
// together, not to one times the other.
func TestManyRevocations(t *testing.T) {
	const root = "urn:concordia:mandate:root"
	work := func(n int) float64 {
		s := fresh(t)
		add(t, s, mandate(t, "did:web:mallory", root, 1))
		f := attest.Verifier{Keys: everyone(t), Now: now.Add(minutes(1))}
		var records []wire.Value
		var approval wire.Hash
		for n := range n {
			record := made(t, attest.Issuer.Revocation, wire.M{
				"revocation_id": fmt.Sprint("urn:concordia:revocation:", n), "revoked_artifact_id": root, "revoked_artifact_type": "mandate",
				"reason": "x", "revocation_scope": "cascade_to_dependents",
			})
			_, report := f.VerifyRevocation(record)
			add(t, s, store.Candidate{Value: record, Kind: "revocation", Report: report})
			records = append(records, record)
			v := made(t, attest.Issuer.Approval, wire.M{
				"id":    fmt.Sprint("urn:concordia:approval_receipt:", n),
				"scope": wire.M{"decision": "approve", "offer_hash": wire.HashOf("x"), "amount": "x", "threshold_crossed": "x"},
				"references": []wire.M{
					{"type": "negotiation_session", "id": "urn:concordia:session:1", "relationship": "approves"},
					{"type": "mandate", "id": root, "relationship": "fulfills"},
				},
			})
			_, report = f.VerifyApproval(v, wire.Value{}, "")
			add(t, s, store.Candidate{Value: v, Kind: "approval_receipt", Report: slices.DeleteFunc(report, func(f wire.Finding) bool { return f.Check == "offer-hash" })})
			approval = v.Hash()
		}
		return testing.AllocsPerRun(1, func() {
			list, err := s.Withdrawals(f, approval, nil)
			if err != nil || len(list) != n || list[0].Err != nil {
				t.Fatal(len(list), err)
			}
			told := 0
			err = s.Reached(f, records, nil, func(_ int, reached []attest.Reached, report wire.Report) error {
				told += len(reached)
				return report.Err()
			})
			if err != nil || told != n*(2*n+1) {
				t.Fatal(told, err)
			}
		})
	}
	few, many := work(10), work(40)
	if many > 8*few {
		t.Errorf("four times as much takes %.0f allocations for %.0f", many, few)
	}
}

// made is what mallory issues.
func made(tb testing.TB, issue func(attest.Issuer, wire.Value) (wire.Value, error), draft wire.M) wire.Value {
	tb.Helper()
	v, err := wire.Encode(draft)
	if err != nil {
		tb.Fatal(err)
	}
	if v, err = issue(issuer(tb, "did:web:mallory"), v); err != nil {
		tb.Fatal(err)
	}
	return v
}
