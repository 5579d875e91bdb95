package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

var mandate = artifactKind(input(attest.ReadMandate),
	func(q Question, m *attest.Mandate) (*attest.MandateSubject, error) {
		return q.mandateSubject(m, q.oneKey("issuer_public_key_b64url"))
	}, append(attest.MandateChecks(), attest.Delegated()),
	map[string]func(Question, *attest.Mandate) error{
		"digest": digest[*attest.Mandate](unsigned),
		// The contract has keys of its own for links, the issuer's included.
		"link-signatures": func(q Question, m *attest.Mandate) error {
			s, err := q.mandateSubject(m, q.namedKeys("delegation_public_keys_b64url"))
			if err != nil {
				return err
			}
			return runNamed(attest.MandateChecks(), "delegation-signatures", s)
		},
	})

func (q Question) mandateSubject(m *attest.Mandate, keys wire.Keys) (*attest.MandateSubject, error) {
	f, err := q.verifier(keys, true)
	s := &attest.MandateSubject{Verifier: f, Mandate: m}
	s.Use.Action, _ = q.Context.Get("action")
	if err == nil {
		s.Use.SequenceKey, _, err = q.text("sequence_key")
	}
	if v, _ := q.Context.Get("state_active"); v.Kind() == wire.Bool {
		active := v.Bool()
		s.Use.StateActive = &active
	}
	return s, err
}

// runNamed makes the check of that name.
func runNamed[S any](checks []wire.Check[S], name string, s S) error {
	for _, c := range checks {
		if c.Name == name {
			return c.Run(s)
		}
	}
	panic("conformance: there is no check " + name)
}

var predicate = artifactKind(input(attest.ReadPredicate),
	func(q Question, p *attest.Predicate) (*attest.PredicateSubject, error) {
		f, err := q.verifier(q.oneKey("public_key_b64url"), true)
		return &attest.PredicateSubject{Verifier: f, Predicate: p}, err
	}, append(attest.PredicateChecks(), attest.Spelled()),
	map[string]func(Question, *attest.Predicate) error{"digest": digest[*attest.Predicate](unsigned)})
