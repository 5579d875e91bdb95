package conformance_test

import (
	"strings"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// What the context says of a mandate's use reaches the verifier, and what it
// cannot say is refused.
func TestMandateContext(t *testing.T) {
	const key = "did:web:issuer"
	private, err := wire.NewPrivateKey([]byte(strings.Repeat("k", wire.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		validity, context, want string
	}{
		{`"mode":"sequence","sequence_key":"tour","max_uses":2`, `{"action":{"a":1},"sequence_key":"tour"}`, "accept"},
		{`"mode":"sequence","sequence_key":"tour","max_uses":2`, `{"action":{"a":1},"sequence_key":"tour","uses":1}`, "accept"},
		{`"mode":"sequence","sequence_key":"tour","max_uses":2`, `{"action":{"a":1},"sequence_key":"tour","uses":2}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":{"a":1},"sequence_key":"tour","uses":-1}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":{"a":1},"sequence_key":"tour","uses":"1"}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":{"a":1},"sequence_key":7}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":{"a":1}}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"sequence_key":"tour"}`, "accept"}, // no action is asked about
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":null,"sequence_key":"tour"}`, "accept"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":{"a":2},"sequence_key":"tour"}`, "reject"},
		{`"mode":"sequence","sequence_key":"tour"`, `{"action":"a","sequence_key":"tour"}`, "reject"},
		{`"mode":"state_bound","state_condition":"open"`, `{"action":{"a":1},"state_active":true}`, "accept"},
		{`"mode":"state_bound","state_condition":"open"`, `{"action":{"a":1},"state_active":false}`, "reject"},
		{`"mode":"state_bound","state_condition":"open"`, `{"action":{"a":1},"state_active":null}`, "reject"},
		{`"mode":"state_bound","state_condition":"open"`, `{"action":{"a":1},"state_active":"true"}`, "reject"},
		{`"mode":"state_bound","state_condition":"open"`, `{"state_active":true,"revocation_records":null}`, "accept"},
		{`"mode":"state_bound","state_condition":"open"`, `{"state_active":true,"revocation_records":{}}`, "reject"},
		{`"mode":"state_bound","state_condition":"open"`, `{"state_active":true,"revocation_records":[{"not":"a record"}]}`, "accept"},
	} {
		m, err := wire.Parse([]byte(`{"mandate_id":"urn:concordia:mandate:1","issuer":"`+key+`","subject":"buyer",
			"issued_at":"2026-09-14T08:00:00Z","algorithm":"EdDSA","validity":{`+test.validity+`},"constraints":{"properties":{"a":{"const":1}}}}`), wire.DocumentLimits)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := private.Sign([]byte(m.Canonical()))
		if err != nil {
			t.Fatal(err)
		}
		c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"mandate","public_keys":{"` + key + `":"` + private.Public().String() + `"},"now":"2026-09-14T09:00:00Z",
			"input":` + m.With("signature", wire.Text(sig.String())).Canonical() + `,"context":` + test.context + `}`))
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Judge()
		if err != nil || conformance.Verdict(report) != test.want {
			t.Errorf("%s in %s: want %s, %v, %v", test.validity, test.context, test.want, report.Err(), err)
		}
	}
}
