package attest_test

import (
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// attestationSpecimen is a receipt with a reference and a confirmed fulfillment,
// which came after it was signed.
func attestationSpecimen(tb testing.TB) specimen {
	f := verifier(tb, "seller", "buyer")
	v := unsigned(tb).With("references", parse(tb, `[{"type":"mandate","id":"urn:concordia:mandate:1","relationship":"fulfills",
		"version":"1","signed_at":"2026-09-14T08:00:00Z","signer_did":"did:web:a","extensions":{"x":1}}]`))
	confirm := func(tb testing.TB, v wire.Value) wire.Value {
		c, ok := v.At("fulfillment", "counterparty_attestation")
		if !ok || c.Kind() != wire.Object {
			return v
		}
		if text, ok := c.Get("signature"); !ok || text.Kind() != wire.String {
			return v
		}
		fulfillment, _ := v.Get("fulfillment")
		return v.With("fulfillment", fulfillment.With("counterparty_attestation", c.With("signature", signature(tb, c.Without("signature"), "buyer"))))
	}
	resign := func(tb testing.TB, v wire.Value) wire.Value {
		v = confirm(tb, v)
		if s, ok := v.Get("countersignatures"); !ok || s.Kind() != wire.Object || !attest.SignedByAll(v) {
			return v
		}
		parties, _ := v.Get("parties")
		for _, p := range parties.Elems() {
			id, _ := p.Get("agent_id")
			if text, ok := p.Get("signature"); !ok || text.Kind() != wire.String {
				return v
			}
			if entry, ok := v.At("countersignatures", id.Text()); !ok || entry.Kind() != wire.String {
				return v
			}
		}
		for _, p := range parties.Elems() {
			id, _ := p.Get("agent_id")
			if signed, err := attest.Countersign(v, wire.AgentID(id.Text()), key(tb, id.Text())); err == nil {
				v = signed
			}
		}
		return v
	}
	v = v.With("fulfillment", parse(tb, `{"status":"fulfilled","settled_at":"2026-09-14T09:30:00Z","fulfilled_at":"2026-09-14T09:20:00Z","settlement_protocol":"escrow",
		"delivery_confirmed":true,"counterparty_attestation":{"agent_id":"buyer","confirms_fulfillment":true,"notes":"all well","signature":"x"}}`))
	optional := func(pointers ...string) map[string]string {
		m := map[string]string{}
		for _, p := range pointers {
			m["drop "+p] = "optional"
		}
		return m
	}
	s := specimen{
		name: "attestation", value: confirm(tb, sign(tb, v)), sign: resign,
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyAttestation(v, attest.FulfillmentBound())
			return report
		},
		// Of a fulfillment the published format signs the confirmation alone.
		signed: func(v wire.Value) wire.Value {
			c, _ := v.At("fulfillment", "counterparty_attestation")
			return v.With("fulfillment", c)
		},
		tolerated: optional(
			"/outcome/terms_count", "/outcome/resolution_mechanism", "/meta/category", "/meta/value_range", "/meta/extensions_used", "/meta/mediator_invoked",
			"/summary", "/references", "/references/0/version", "/references/0/signed_at", "/references/0/signer_did", "/references/0/extensions", "/references/0/extensions/x",
			"/fulfillment/fulfilled_at", "/fulfillment/settlement_protocol", "/fulfillment/delivery_confirmed", "/fulfillment/counterparty_attestation/notes",
		),
	}
	s.tolerated["mistype /references/0/extensions/x"] = "extensions are open"
	for i := range 2 {
		for _, name := range []string{"offers_made", "concessions", "concession_magnitude", "signals_shared", "constraints_declared", "constraints_violated",
			"reasoning_provided", "withdrawal", "response_time_avg_seconds"} {
			s.tolerated["drop /parties/"+string(rune('0'+i))+"/behavior/"+name] = "optional"
		}
	}
	return s
}
