package attest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/internal/mutate"
	"github.com/concordia-node/concordia/wire"
)

// A member that differs from a known one only in case is refused wherever an object
// is open, so that no limit is there for one reader and not for another. What is
// free says so here.
func TestMisspeltMember(t *testing.T) {
	free := map[string]bool{
		"attestation/countersignatures/buyer":                                 true, // BUYER is another agent, a witness
		"attestation/countersignatures/seller":                                true,
		"attestation/references/0/extensions/x":                               true,
		"envelope/payload/privacy_guarantees/counterparty_identity_disclosed": true,
		"envelope/payload/privacy_guarantees/deal_terms_disclosed":            true,
		"envelope/payload/privacy_guarantees/zk_proof_available":              true,
		"envelope/validity_temporal/aliasing_risk":                            true,
		"envelope/validity_temporal/baseline":                                 true,
		"mandate/constraints/properties/amount":                               true,
		"mandate/delegation_chain/0/scope_restriction/properties/amount":      true,
		"mandate/metadata/purpose":                                            true,
		"predicate/condition/limit/amount":                                    true,
		"predicate/constraints/type":                                          true,
		"predicate/delegation_chain/0/signature":                              true,
		"predicate/references/0/extensions/x":                                 true,
		"predicate/references/0/note":                                         true,
		"record/delivered":                                                    true,
		"record/to":                                                           true,
		"record/to/door":                                                      true,
	}
	for _, make := range specimens {
		s := make(t)
		var walk func(v wire.Value, at string, set func(wire.Value) wire.Value)
		walk = func(v wire.Value, at string, set func(wire.Value) wire.Value) {
			for name, m := range v.Members() {
				below := at + wire.Pointer(name)
				walk(m, below, func(w wire.Value) wire.Value { return set(v.With(name, w)) })
				if other := strings.ToUpper(name); other != name && !strings.Contains(below, "/revealed_attestations/") && !strings.Contains(below, "/attestations/") {
					passed := s.verify(s.sign(t, set(v.With(other, m)))).Outcome() == wire.Passed
					if passed != free[s.name+below] {
						t.Errorf("%s: %s beside %s: passed is %v", s.name, other, below, passed)
					}
				}
			}
			for i, e := range v.Elems() {
				walk(e, fmt.Sprintf("%s/%d", at, i), func(w wire.Value) wire.Value { return set(v.WithElem(i, w)) })
			}
		}
		walk(s.value, "", func(w wire.Value) wire.Value { return w })
	}
}

// Every timestamp of every kind is read strictly: what is no instant of SPEC §4.1 is
// refused.
func TestInstants(t *testing.T) {
	for _, make := range specimens {
		s := make(t)
		for m := range mutate.Instants(s.value.Canonical()) {
			if report := s.verify(s.sign(t, parse(t, m.Text))); report.Outcome() == wire.Passed {
				t.Errorf("%s: %v", s.name, m)
			}
		}
	}
}
