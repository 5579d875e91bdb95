package conformance_test

import (
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

const chainSession = `{
	"chain_session_id":"urn:concordia:chain-session:1","participants":["did:web:alpha","did:web:beta"],
	"closure_predicate_ref":"urn:concordia:predicate:1","state":"OPEN","created_at":"2026-09-14T08:00:00Z","activation_deadline":"2026-09-14T12:00:00Z",
	"activated_at":null,"dissolved_at":null,"commitments":[],"unwind_record_id":"urn:concordia:unwind:1","activation_proof_id":null}`

const closurePredicate = `{
	"predicate_id":"urn:concordia:predicate:1","type":"urn:concordia:predicate-type:closure_language:v1","authority":"did:web:alpha","issuer":"did:web:alpha",
	"subject":"urn:concordia:chain-session:1","condition":{"expression":{"op":"==","left":{"op":"count"},"value":1}},
	"issued_at":"2026-09-14T09:00:00Z","expires_at":"2026-09-14T11:00:00Z","references":[],"status":"active","algorithm":"EdDSA","signature":"x"}`

const count = `{"predicate_id":"urn:concordia:predicate:1","type":"urn:concordia:predicate-type:closure_language:v1",
	"parameters":{"expression":{"op":"==","left":{"op":"count"},"value":1}}}`

// Cases of chain sessions and A2A parts whose members are not what they seem are
// refused, not judged by what is left.
func TestChainCases(t *testing.T) {
	for _, test := range []struct{ name, kind, input, context, want string }{
		{"to a state", "chain_session", `{"initial_session":` + chainSession + `,"attempt_transition":"DISSOLVED","transition_now":"2026-09-14T10:00:00Z"}`, `{}`, "accept"},
		{"no time", "chain_session", `{"initial_session":` + chainSession + `,"attempt_transition":"DISSOLVED"}`, `{}`, "reject"},
		{"to nowhere", "chain_session", `{"initial_session":` + chainSession + `,"attempt_transition":"","transition_now":"2026-09-14T10:00:00Z"}`, `{}`, "reject"},
		{"no session", "chain_session", `{"initial_session":[],"attempt_transition":"OPEN","transition_now":"2026-09-14T10:00:00Z"}`, `{}`, "reject"},

		{"parameters", "closure", `{"predicate":` + count + `,"chain_session":` + chainSession + `,"commitments":[{}]}`, `{}`, "accept"},
		{"no chain session", "closure", `{"predicate":` + count + `,"commitments":[{}]}`, `{}`, "accept"},
		{"whole predicate", "closure", `{"predicate":` + closurePredicate + `,"chain_session":` + chainSession + `,"commitments":[{}]}`, `{}`, "accept"},
		{"whole predicate, unsatisfied", "closure", `{"predicate":` + closurePredicate + `,"commitments":[{},{}]}`, `{}`, "reject"},
		{"broken predicate", "closure", `{"predicate":{"predicate_id":"x","type":"y","condition":{}},"commitments":[{}]}`, `{}`, "reject"},
		{"no parameters", "closure", `{"predicate":{"predicate_id":"urn:concordia:predicate:1","type":"urn:concordia:predicate-type:closure_language:v1"},"commitments":[{}]}`, `{}`, "reject"},
		{"other chain session", "closure", `{"predicate":` + count + `,"chain_session":{},"commitments":[{}]}`, `{}`, "reject"},
		{"commitments in an object", "closure", `{"predicate":` + count + `,"commitments":{"0":{}}}`, `{}`, "reject"},
		{"no predicate", "closure", `{"predicate":7,"commitments":[{}]}`, `{}`, "reject"},

		{"chain session that is none", "unwind", `{}`, `{"chain_session":7}`, "reject"},
		{"no artifact", "commitment", `[]`, `{"chain_session":null}`, "reject"},
		{"no artifact", "activation_proof", `7`, `{}`, "reject"},

		{"active in a string", "a2a_part", `{}`, `{"active_extensions":"https://concordiaprotocol.dev/a2a-ext/negotiation/v1"}`, "reject"},
		{"active and more", "a2a_part", `{}`, `{"active_extensions":["https://concordiaprotocol.dev/a2a-ext/negotiation/v1",7]}`, "reject"},
	} {
		c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"` + test.kind + `","public_keys":{},"now":"2026-09-14T10:00:00Z","input":` +
			test.input + `,"context":` + test.context + `}`))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		report, err := c.Judge()
		if err != nil || conformance.Verdict(report) != test.want {
			t.Errorf("%s, %s: %v, %v, want %s: %v", test.kind, test.name, conformance.Verdict(report), err, test.want, report.Err())
		}
		if report.Outcome() == wire.Failed && report.Err() == nil {
			t.Errorf("%s, %s: no reason", test.kind, test.name)
		}
	}
}
