package attest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// confirmed adds a fulfillment that an agent confirms in these words.
func confirmed(tb testing.TB, v wire.Value, by, notes string) wire.Value {
	c := encode(tb, wire.M{"agent_id": by, "confirms_fulfillment": true, "notes": notes})
	return edit(tb, fulfilled(tb, v, by), c.With("signature", signature(tb, c, by)).Canonical(), "fulfillment", "counterparty_attestation")
}

// Who confirms a fulfillment made the deal: mediators and witnesses are parties and
// do not.
func TestConfirmingRole(t *testing.T) {
	for role, want := range map[attest.Role]string{
		attest.RoleInitiator: "", attest.RoleResponder: "",
		attest.RoleMediator: "fulfillment-bound at /fulfillment/counterparty_attestation/agent_id",
		attest.RoleWitness:  "fulfillment-bound at /fulfillment/counterparty_attestation/agent_id",
	} {
		d := draft()
		d.Parties = append(d.Parties, attest.Party{Agent: "museum", Role: role})
		v, err := d.Value()
		if err != nil {
			t.Fatal(err)
		}
		_, report := everybody(t).VerifyAttestation(confirmed(t, signAll(t, v), "museum", ""), attest.FulfillmentBound())
		if got := verdict(report); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}

// Nothing is settled or fulfilled that is to come, but for the skew.
func TestFulfillmentTimes(t *testing.T) {
	v := fulfilled(t, receiptOf(t, 0), "buyer")
	for _, member := range []string{"settled_at", "fulfilled_at"} {
		for at, want := range map[string]string{
			`"2026-09-14T10:02:00Z"`: "", `"2026-09-14T10:02:01Z"`: "not-yet-valid at /fulfillment/" + member, `"1970-01-01T00:00:00Z"`: "",
		} {
			w := edit(t, v, at, "fulfillment", member)
			_, report := everybody(t).VerifyAttestation(w, attest.FulfillmentBound())
			if got := verdict(report); got != want {
				t.Errorf("%s %s: %q, want %q", member, at, got, want)
			}
			if _, report = everybody(t).VerifyAttestation(w); report.Err() != nil || (outcomeOf(report, "fulfillment") == wire.Passed) != (want == "") {
				t.Errorf("%s %s, not asked for: %v", member, at, report.Err())
			}
		}
	}
}

// A confirmation names no attestation. A history credits it once, and never the
// holder's own.
func TestFulfilledCredit(t *testing.T) {
	three := func(change func(i int, v wire.Value) wire.Value) []wire.Value {
		var list []wire.Value
		for i := range 3 {
			list = append(list, change(i, between(t, i, [2]string{holder, holder}, [2]string{"buyer", "buyer"})))
		}
		return list
	}
	self, _ := spellings(t, holder)
	f := everybody(t)
	f.Keys = wire.AnyKeys{wire.DIDKeys{}, f.Keys}
	for _, test := range []struct {
		name      string
		receipts  []wire.Value
		want      int    // credited
		aggregate string // what breaks it as a competence proof
	}{
		{"each confirmed", three(func(i int, v wire.Value) wire.Value { return confirmed(t, v, "buyer", fmt.Sprint("deal ", i)) }), 3, ""},
		{"one confirmation shown three times", three(func(_ int, v wire.Value) wire.Value { return confirmed(t, v, "buyer", "") }), 1,
			"competence-aggregate at /revealed_attestations/1/fulfillment"},
		{"confirmed by the holder", three(func(i int, v wire.Value) wire.Value { return confirmed(t, v, holder, fmt.Sprint("deal ", i)) }), 0,
			"competence-aggregate at /revealed_attestations/0/fulfillment"},
		{"confirmed by the holder under another name", three(func(i int, _ wire.Value) wire.Value {
			v := between(t, i, [2]string{holder, holder}, [2]string{string(self), holder})
			c := encode(t, wire.M{"agent_id": self, "confirms_fulfillment": true, "notes": fmt.Sprint("deal ", i)})
			return edit(t, fulfilled(t, v, holder), c.With("signature", signature(t, c, holder)).Canonical(), "fulfillment", "counterparty_attestation")
		}), 0, "competence-aggregate at /revealed_attestations/0/fulfillment"},
	} {
		b, report := f.VerifyBundle(bundle(t, test.receipts...))
		if report.Outcome() != wire.Passed || b.Credit.Fulfilled != test.want || b.Credit.Bound != 3 {
			t.Errorf("%s: %+v, %v, want %d", test.name, b.Credit, report.Err(), test.want)
		}
		_, report = f.VerifyCompetence(competence(t, test.receipts, 0, 1, 2), attest.AggregateVerified())
		if got := verdict(report); got != test.aggregate {
			t.Errorf("%s: aggregate %q, want %q", test.name, got, test.aggregate)
		}
	}
}

// A bundle with receipts that bind nothing does not report that its receipts bind.
func TestUnboundReceipts(t *testing.T) {
	old := func(version string, drop ...string) wire.Value {
		v := legacyReceipt(t, 1)
		if len(drop) > 0 {
			v = edit(t, receiptOf(t, 1), `"`+version+`"`, "concordia_attestation")
			for _, name := range drop {
				v = v.Without(name)
			}
			v = signAll(t, v)
		}
		return v
	}
	for _, test := range []struct {
		name     string
		receipts []wire.Value
		want     map[string]string // what is said of a check, "" if it passed
	}{
		{"all new", receiptsOf(t, 3), map[string]string{"outcome-binding": "", "set-binding": ""}},
		{"one of 0.1.0", []wire.Value{receiptOf(t, 0), old("0.1.0"), receiptOf(t, 2)},
			map[string]string{"outcome-binding": "1 of 3 receipts bind no outcome", "set-binding": "1 of 3 receipts name no transcript"}},
		{"one of 0.2.0", []wire.Value{receiptOf(t, 0), old("0.2.0", "chain_head", "message_count", "validity_temporal")},
			map[string]string{"outcome-binding": "", "set-binding": "1 of 2 receipts name no transcript"}},
		{"all of 0.1.0", []wire.Value{old("0.1.0")},
			map[string]string{"outcome-binding": "1 of 1 receipts bind no outcome", "set-binding": "1 of 1 receipts name no transcript"}},
		{"one fulfilled", []wire.Value{fulfilled(t, receiptOf(t, 0), "buyer"), receiptOf(t, 2)}, map[string]string{"fulfillment": ""}},
	} {
		b, report := everybody(t).VerifyBundle(bundle(t, test.receipts...))
		if report.Outcome() != wire.Passed || b.Credit.Bound+len(b.Credit.Unbound) != len(test.receipts) {
			t.Errorf("%s: %v", test.name, report.Err())
		}
		for _, f := range report {
			want, ok := test.want[f.Check]
			if !ok {
				continue
			}
			if passed := f.Outcome == wire.Passed; passed != (want == "") || !passed && (!f.Optional || !strings.HasSuffix(f.Err.Error(), want)) {
				t.Errorf("%s: %s: %v, %v, want %q", test.name, f.Check, f.Outcome, f.Err, want)
			}
		}
	}
}
