package attest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/merkle"
	"github.com/concordia-node/concordia/internal/mutate"
	"github.com/concordia-node/concordia/internal/schema"
	"github.com/concordia-node/concordia/wire"
)

const holder = "seller"

// other is the counterparty of receipt i.
func other(i int) string { return []string{"buyer", "museum", "school", "chapel"}[i%4] }

// receiptDraft is receipt i of the holder: the third in a row failed.
func receiptDraft(i int) attest.Draft {
	d := draft()
	d.ID, d.Session = fmt.Sprintf("att_%d", i), wire.SessionID(fmt.Sprintf("ses_%d", i))
	d.Time = issued.Add(-time.Duration(i) * 24 * time.Hour)
	d.Parties[1].Agent = wire.AgentID(other(i))
	d.Parties[0].Behavior.ConcessionMagnitude = []float64{0.0778, 0.05, 0, 0.3333}[i%4]
	d.Parties[0].Behavior.ReasoningProvided = i%4 < 2
	if i%4 == 2 {
		d.Outcome = attest.Outcome{Status: attest.StatusRejected, Rounds: 2, Duration: 3 * time.Second, Mechanism: attest.MechanismNone}
		d.Meta.Category = "antiques"
	}
	return d
}

// signAs countersigns v as everybody it lists.
func signAll(tb testing.TB, v wire.Value) wire.Value {
	tb.Helper()
	v = v.Without("countersignatures")
	parties, _ := v.Get("parties")
	for _, p := range parties.Elems() {
		id, _ := p.Get("agent_id")
		var err error
		if v, err = attest.Countersign(v, wire.AgentID(id.Text()), key(tb, id.Text())); err != nil {
			tb.Fatal(err)
		}
	}
	return v
}

func receiptOf(tb testing.TB, i int) wire.Value {
	tb.Helper()
	v, err := receiptDraft(i).Value()
	if err != nil {
		tb.Fatal(err)
	}
	return signAll(tb, v)
}

func receiptsOf(tb testing.TB, n int) []wire.Value {
	list := make([]wire.Value, n)
	for i := range list {
		list[i] = receiptOf(tb, i)
	}
	return list
}

// legacyReceipt is receipt i as version 0.1.0 had it.
func legacyReceipt(tb testing.TB, i int) wire.Value {
	v := receiptOf(tb, i).With("concordia_attestation", wire.Text("0.1.0"))
	for _, name := range []string{"countersignatures", "chain_head", "message_count", "validity_temporal", "references"} {
		v = v.Without(name)
	}
	return v
}

func encode(tb testing.TB, x any) wire.Value {
	tb.Helper()
	v, err := wire.Encode(x)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func readReceipts(tb testing.TB, receipts []wire.Value) []*attest.Attestation {
	tb.Helper()
	list := make([]*attest.Attestation, len(receipts))
	for i, v := range receipts {
		var err error
		if list[i], err = attest.ReadAttestation(v); err != nil {
			tb.Fatal(err)
		}
	}
	return list
}

func signHistory(tb testing.TB, v wire.Value, marker string) wire.Value {
	tb.Helper()
	if text, ok := v.Get("agent_signature"); !ok || text.Kind() != wire.String {
		return v
	}
	return v.With("agent_signature", signature(tb, v.Without("agent_signature").Without(marker), holder))
}

func signBundle(tb testing.TB, v wire.Value) wire.Value {
	return signHistory(tb, v, "concordia_receipt_bundle")
}

func signCompetence(tb testing.TB, v wire.Value) wire.Value {
	return signHistory(tb, v, "concordia_competence_proof")
}

// bundle shows these receipts with an honest summary.
func bundle(tb testing.TB, receipts ...wire.Value) wire.Value {
	tb.Helper()
	return signBundle(tb, encode(tb, wire.M{
		"concordia_receipt_bundle": "0.1.0", "bundle_id": "bundle_0123456789ab", "agent_id": holder,
		"created_at": wire.FormatTime(issued.Add(30 * time.Minute)), "attestations": append([]wire.Value{}, receipts...),
		"summary": attest.Summarize(holder, readReceipts(tb, receipts)).Value(), "agent_signature": "x",
	}))
}

// competence commits to all receipts and reveals those of the given indices.
func competence(tb testing.TB, receipts []wire.Value, reveal ...int) wire.Value {
	tb.Helper()
	all := readReceipts(tb, receipts)
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.ID
	}
	tree := merkle.New(ids)
	proofs, revealed := []wire.M{}, []wire.Value{}
	for _, i := range reveal {
		p, _ := tree.Prove(ids[i])
		proofs = append(proofs, wire.M{"attestation_id": ids[i], "index": p.Index, "proof": append([]string{}, p.Siblings...)})
		revealed = append(revealed, receipts[i])
	}
	return signCompetence(tb, encode(tb, wire.M{
		"concordia_competence_proof": "0.1.0", "proof_id": "proof_0123456789ab", "agent_id": holder,
		"created_at": wire.FormatTime(issued.Add(30 * time.Minute)), "claims": attest.Summarize(holder, all).Value(),
		"attestation_merkle_root": tree.Root(), "attestation_count": len(ids),
		"merkle_proofs": proofs, "revealed_attestations": revealed, "agent_signature": "x",
	}))
}

func everybody(tb testing.TB) attest.Verifier {
	return verifier(tb, holder, "buyer", "museum", "school", "chapel", "stranger")
}

// A fault of a history: one change, signed again by whoever has to, so that only
// the rule named can catch it.
type historyFault struct {
	name string
	want string // broken rule and pointer, "" if none
	edit func(testing.TB, wire.Value) wire.Value
}

// set sets the value at a pointer.
func set(pointer, text string) func(testing.TB, wire.Value) wire.Value {
	return func(tb testing.TB, v wire.Value) wire.Value {
		return edit(tb, v, text, strings.Split(pointer, "/")...)
	}
}

// resign changes receipt 0 of a list, and everybody signs it again.
func resign(list, pointer, text string) func(testing.TB, wire.Value) wire.Value {
	return func(tb testing.TB, v wire.Value) wire.Value {
		receipts, _ := v.Get(list)
		r, _ := receipts.At("0")
		return v.With(list, receipts.WithElem(0, signAll(tb, edit(tb, r, text, strings.Split(pointer, "/")...))))
	}
}

// replace puts a receipt in the place of receipt 0.
func replace(list string, r func(testing.TB) wire.Value) func(testing.TB, wire.Value) wire.Value {
	return func(tb testing.TB, v wire.Value) wire.Value {
		receipts, _ := v.Get(list)
		return v.With(list, receipts.WithElem(0, r(tb)))
	}
}

func elems(v wire.Value) (list []wire.Value) {
	for _, e := range v.Elems() {
		list = append(list, e)
	}
	return list
}

// receiptFaults are faults of receipt 0 in the list of that name.
func receiptFaults(list string) []historyFault {
	at := "/" + list + "/0"
	return []historyFault{
		{"not a receipt", "attestation at " + at + "/extra", resign(list, "extra", `1`)},
		{"a private term", "deal-terms at " + at + "/summary", resign(list, "summary", `"price: 12"`)},
		{"a party signature", "party-signature at " + at + "/parties/1/signature", func(tb testing.TB, v wire.Value) wire.Value {
			// A countersignature does not cover it.
			one, _ := v.At(list, "0", "parties", "0", "signature")
			return edit(tb, v, one.Canonical(), list, "0", "parties", "1", "signature")
		}},
		{"a rewritten outcome", "outcome-binding at " + at + "/countersignatures/seller", set(list+"/0/outcome/rounds", `4`)},
		{"a dropped countersignature", "outcome-binding at " + at + "/countersignatures/buyer", set(list+"/0/countersignatures/buyer", "")},
		{"no chain head", "set-binding at " + at + "/chain_head", resign(list, "chain_head", "")},
		{"of the future", "not-yet-valid at " + at + "/validity_temporal",
			resign(list, "validity_temporal", `{"mode":"absolute","from":"2026-09-14T10:02:01Z","until":"2026-09-15T10:00:00Z"}`)},
		{"its validity is over", "", resign(list, "validity_temporal", `{"mode":"absolute","from":"2026-09-14T08:00:00Z","until":"2026-09-14T09:00:00Z"}`)},
		{"its validity is long", "", resign(list, "validity_temporal", `{"mode":"absolute","from":"2026-09-14T08:00:00Z","until":"2036-09-14T09:00:00Z"}`)},
		{"a fulfillment nobody signed", "", func(tb testing.TB, v wire.Value) wire.Value {
			return edit(tb, v, `{"status":"pending","settled_at":"2026-09-14T09:20:00Z"}`, list, "0", "fulfillment")
		}},
		{"of strangers", "history-holder at " + at + "/parties", replace(list, func(tb testing.TB) wire.Value {
			return signAll(tb, edit(tb, receiptOf(tb, 0), `"stranger"`, "parties", "0", "agent_id"))
		})},
	}
}

func runFaults(t *testing.T, sound func(testing.TB) wire.Value, sign func(testing.TB, wire.Value) wire.Value,
	judge func(wire.Value) wire.Report, faults []historyFault) {
	t.Helper()
	for _, f := range faults {
		if got := verdict(judge(sign(t, f.edit(t, sound(t))))); got != f.want {
			t.Errorf("%s: got %q, want %q", f.name, got, f.want)
		}
	}
}

// The embedded schemas and what is checked in place of a part of them agree on
// every mutation.
func TestHistoryShape(t *testing.T) {
	set := schema.New(func(s string) bool { _, err := wire.ParseTime(s); return err == nil })
	for _, kind := range []struct {
		name string
		v    wire.Value
		read func(wire.Value) error
	}{
		{"receipt_bundle", bundle(t, receiptsOf(t, 2)...), func(v wire.Value) error { _, err := attest.ReadReceiptBundle(v); return err }},
		{"competence_proof", competence(t, receiptsOf(t, 2), 1), func(v wire.Value) error { _, err := attest.ReadCompetenceProof(v); return err }},
	} {
		for m := range mutate.All(kind.v.Canonical()) {
			v := parse(t, m.Text)
			var fits error
			if misfit := set.Check(kind.name, v.Canonical()); misfit != nil {
				fits = misfit
			}
			if read := kind.read(v); (fits == nil) != (read == nil) {
				t.Errorf("%s, %v: schema %v, reader %v", kind.name, m, fits, read)
			}
		}
	}
}

// What an executor leaves out counts as not verified.
func TestHistoryUnread(t *testing.T) {
	f := everybody(t)
	f.Each = func(n int, do func(int)) { do(0) }
	if b, report := f.VerifyBundle(bundle(t, receiptsOf(t, 2)...)); report.Outcome() != wire.Failed || b.Credit.Bound != 0 {
		t.Error(report)
	}
	if _, report := f.VerifyCompetence(competence(t, receiptsOf(t, 2), 0, 1)); report.Outcome() != wire.Failed {
		t.Error(report)
	}
}

// outcomeOf returns the outcome of a check.
func outcomeOf(r wire.Report, check string) wire.Outcome {
	i := slices.IndexFunc(r, func(f wire.Finding) bool { return f.Check == check })
	if i < 0 {
		panic("there is no check " + check)
	}
	return r[i].Outcome
}
