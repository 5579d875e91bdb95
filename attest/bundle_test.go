package attest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

func judgeBundle(tb testing.TB) func(wire.Value) wire.Report {
	f := everybody(tb)
	return func(v wire.Value) wire.Report {
		_, report := f.VerifyBundle(v)
		return report
	}
}

func bundleSpecimen(tb testing.TB) specimen {
	return specimen{name: "bundle", value: bundle(tb, receiptOf(tb, 0)), sign: signBundle, verify: judgeBundle(tb)}
}

func TestBundle(t *testing.T) {
	sound := func(tb testing.TB) wire.Value { return bundle(tb, receiptsOf(tb, 4)...) }
	faults := append(receiptFaults("attestations"), []historyFault{
		{"sound", "", func(_ testing.TB, v wire.Value) wire.Value { return v }},
		{"another member", "", set("note", `"the schema is open"`)},
		{"a figure of its own", "", set("summary/score", `1`)},
		{"its version", "history-version at /concordia_receipt_bundle", set("concordia_receipt_bundle", `"0.2.0"`)},
		{"no version", "bundle at /concordia_receipt_bundle", set("concordia_receipt_bundle", `"0.1"`)},
		{"its id", "bundle at /bundle_id", set("bundle_id", `"bundle_XY"`)},
		{"its agent", "bundle at /agent_id", set("agent_id", `"two words"`)},
		{"no Z", "bundle at /created_at", set("created_at", `"2026-09-14T09:30:00+00:00"`)},
		{"no day", "bundle at /created_at", set("created_at", `"2026-02-30T09:30:00Z"`)},
		{"receipts in an object", "bundle at /attestations", set("attestations", `{}`)},
		{"no receipt", "bundle at /attestations/0", set("attestations", `[7]`)},
		{"a receipt without session", "bundle at /attestations/1/session_id", set("attestations/1/session_id", ``)},
		{"the skew", "", set("created_at", `"2026-09-14T10:02:00Z"`)},
		{"of the future", "not-yet-valid at /created_at", set("created_at", `"2026-09-14T10:02:01Z"`)},
		{"90 days", "", set("created_at", `"2026-06-16T10:00:00Z"`)},
		{"old", "age at /created_at", set("created_at", `"2026-06-16T09:59:59Z"`)},
		{"total", "history-summary at /summary/total_negotiations", set("summary/total_negotiations", `5`)},
		{"agreements", "history-summary at /summary/agreements", set("summary/agreements", `4`)},
		{"agreement rate", "history-summary at /summary/agreement_rate", set("summary/agreement_rate", `0.7501`)},
		{"concession", "history-summary at /summary/avg_concession_magnitude", set("summary/avg_concession_magnitude", `0.1152`)},
		{"fulfillment", "history-summary at /summary/fulfillment_rate", set("summary/fulfillment_rate", `1`)},
		{"counterparties", "history-summary at /summary/unique_counterparties", set("summary/unique_counterparties", `5`)},
		{"categories", "history-summary at /summary/categories", set("summary/categories", `["antiques"]`)},
		{"order of categories", "history-summary at /summary/categories", set("summary/categories", `["electronics.cameras","antiques"]`)},
		{"earliest", "history-summary at /summary/earliest", set("summary/earliest", `"1999-01-01T00:00:00Z"`)},
		{"latest", "history-summary at /summary/latest", set("summary/latest", `"2999-01-01T00:00:00Z"`)},
		{"reasoning", "history-summary at /summary/reasoning_rate", set("summary/reasoning_rate", `0.75`)},
		{"the same figures, written otherwise", "", set("summary/agreements", `3.0`)},
		{"a receipt twice", "history-duplicate at /attestations/3/attestation_id", func(tb testing.TB, v wire.Value) wire.Value {
			list := receiptsOf(tb, 3)
			return bundle(tb, append(list, list[1])...)
		}},
		{"a session twice", "history-duplicate at /attestations/1/session_id", func(tb testing.TB, v wire.Value) wire.Value {
			return bundle(tb, receiptOf(tb, 0), signAll(tb, edit(tb, receiptOf(tb, 1), `"ses_0"`, "session_id")))
		}},
		{"receipts of any age", "", func(tb testing.TB, v wire.Value) wire.Value {
			old := receiptDraft(1)
			old.Time = issued.AddDate(-3, 0, 0)
			r, err := old.Value()
			if err != nil {
				tb.Fatal(err)
			}
			return bundle(tb, receiptOf(tb, 0), signAll(tb, r))
		}},
		{"empty", "", func(tb testing.TB, v wire.Value) wire.Value { return bundle(tb) }},
		{"empty, with claims", "history-summary at /summary/agreement_rate", func(tb testing.TB, v wire.Value) wire.Value {
			return edit(tb, bundle(tb), `1`, "summary", "agreement_rate")
		}},
	}...)
	runFaults(t, sound, signBundle, judgeBundle(t), faults)
}

func TestBundleSignature(t *testing.T) {
	v := bundle(t, receiptOf(t, 0))
	forged := v.With("agent_signature", signature(t, v.Without("agent_signature").Without("concordia_receipt_bundle"), "buyer"))
	if got := verdict(judgeBundle(t)(forged)); got != "bundle-signature at /agent_signature" {
		t.Error(got)
	}
	marked := v.With("agent_signature", signature(t, v.Without("agent_signature"), holder))
	if got := verdict(judgeBundle(t)(marked)); got != "bundle-signature at /agent_signature" {
		t.Errorf("over the version marker too: %s", got)
	}
	for _, known := range [][]string{{holder}, {"buyer"}} {
		if _, report := verifier(t, known...).VerifyBundle(v); report.Outcome() != wire.NotChecked {
			t.Errorf("knowing %v: %v, %v", known, report.Outcome(), report.Err())
		}
	}
}

// The cap is crossed by one; nothing is verified of what is beyond it.
func TestBundleSize(t *testing.T) {
	text := `{"concordia_attestation":"","attestation_id":"","session_id":"","timestamp":"","outcome":{},"parties":[]}`
	of := func(n int) wire.Value {
		return signBundle(t, bundle(t).With("attestations", parse(t, "["+strings.TrimSuffix(strings.Repeat(text+",", n), ",")+"]")))
	}
	if got := verdict(judgeBundle(t)(of(attest.MaxReceipts))); got != "attestation at /attestations/0/attestation_id" {
		t.Error(got)
	}
	report := judgeBundle(t)(of(attest.MaxReceipts + 1))
	if got := verdict(report); got != "history-size at /attestations" || outcomeOf(report, "summary") != wire.NotChecked {
		t.Error(got)
	}
}

// What is credited is what everybody signed, whatever the summary says.
func TestBundleCredit(t *testing.T) {
	list := receiptsOf(t, 4)
	list[1] = legacyReceipt(t, 1)
	list[3] = fulfilled(t, list[3], "chapel")
	b, report := everybody(t).VerifyBundle(bundle(t, list...))
	if err := report.Err(); err != nil || report.Outcome() != wire.Passed {
		t.Fatal(err)
	}
	want := attest.Credit{
		Bound: 3, Unbound: []string{"att_1"}, SetBound: 3, Agreements: 2, Fulfilled: 1,
		Counterparties: []wire.AgentID{"buyer", "chapel", "school"},
	}
	if got := fmt.Sprintf("%+v", b.Credit); got != fmt.Sprintf("%+v", want) {
		t.Errorf("got %s, want %+v", got, want)
	}
	if n, _ := b.Summary.Get("agreements"); n.Canonical() != "3" {
		t.Errorf("the summary has %s agreements", n)
	}
	// Without the confirmation the figures stand, and nothing is credited.
	list[3] = edit(t, list[3], "", "fulfillment", "counterparty_attestation")
	b, report = everybody(t).VerifyBundle(bundle(t, list...))
	if report.Err() != nil || b.Credit.Fulfilled != 0 || outcomeOf(report, "fulfillment") != wire.Failed {
		t.Errorf("%+v, %v", b.Credit, report.Err())
	}
	// An old version stays one when it has the members of a newer one.
	list[1] = signAll(t, edit(t, receiptOf(t, 1), `"0.1.0"`, "concordia_attestation"))
	if b, report = everybody(t).VerifyBundle(bundle(t, list...)); report.Err() != nil || b.Credit.Bound != 3 {
		t.Errorf("%+v, %v", b.Credit, report.Err())
	}
	// Where something failed, nothing is credited at all.
	b, report = everybody(t).VerifyBundle(signBundle(t, edit(t, bundle(t, list...), `9`, "summary", "agreements")))
	if report.Err() == nil || b.Credit.Bound != 0 {
		t.Errorf("%+v, %v", b.Credit, report.Err())
	}
	if len(readBundle(t, bundle(t)).Credit.Counterparties) != 0 {
		t.Error("credit before verifying")
	}
}

func readBundle(tb testing.TB, v wire.Value) *attest.ReceiptBundle {
	b, err := attest.ReadReceiptBundle(v)
	if err != nil {
		tb.Fatal(err)
	}
	if !b.Value().Equal(v) || b.Agent != holder || b.ID == "" {
		tb.Errorf("read %+v", b)
	}
	return b
}

// fulfilled adds a fulfillment that the counterparty confirms.
func fulfilled(tb testing.TB, v wire.Value, by string) wire.Value {
	c := encode(tb, wire.M{"agent_id": by, "confirms_fulfillment": true})
	return v.With("fulfillment", encode(tb, wire.M{
		"status": "fulfilled", "settled_at": "2026-09-14T09:20:00Z", "counterparty_attestation": c.With("signature", signature(tb, c, by)),
	}))
}

// The signs of an agent with many names are told and decide nothing.
func TestPatterns(t *testing.T) {
	with := func(change func(i int, d *attest.Draft), n int) []wire.Value {
		var list []wire.Value
		for i := range n {
			d := receiptDraft(i)
			d.Outcome.Duration, d.Parties[0].Behavior.ConcessionMagnitude = 100*time.Second, 0.1
			d.Parties[1].Agent = wire.AgentID(other(i))
			change(i, &d)
			v, err := d.Value()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, signAll(t, v))
		}
		return list
	}
	one := func(_ int, d *attest.Draft) { d.Parties[1].Agent = "buyer" }
	took := func(d time.Duration, most int) func(int, *attest.Draft) {
		return func(i int, draft *attest.Draft) {
			if i < most {
				draft.Outcome.Duration = d
			}
		}
	}
	conceded := func(m float64, most int) func(int, *attest.Draft) {
		return func(i int, d *attest.Draft) {
			if i < most {
				d.Parties[0].Behavior.ConcessionMagnitude, d.Parties[1].Behavior.ConcessionMagnitude = m, m
			}
		}
	}
	for _, test := range []struct {
		name     string
		receipts []wire.Value
		want     []attest.Pattern
	}{
		{"none", with(func(int, *attest.Draft) {}, 4), nil},
		{"one counterparty, three receipts", with(one, 3), nil},
		{"one counterparty, four receipts", with(one, 4), []attest.Pattern{attest.LowDiversity}},
		{"half under five seconds", with(took(4*time.Second, 2), 4), nil},
		{"most under five seconds", with(took(4*time.Second, 3), 4), []attest.Pattern{attest.FastSessions}},
		{"five seconds", with(took(5*time.Second, 4), 4), nil},
		{"one receipt", with(took(0, 1), 1), nil},
		{"half symmetric", with(conceded(0.2, 2), 4), nil},
		{"most symmetric", with(conceded(0.2, 3), 4), []attest.Pattern{attest.SymmetricConcessions}},
		{"nobody conceded", with(conceded(0, 4), 4), nil},
	} {
		b, report := everybody(t).VerifyBundle(bundle(t, test.receipts...))
		if report.Err() != nil || !slices.Equal(b.Credit.Patterns, test.want) || (outcomeOf(report, "sybil") == wire.Failed) != (test.want != nil) {
			t.Errorf("%s: %v, want %v: %v", test.name, b.Credit.Patterns, test.want, report.Err())
		}
	}
	// Two names with one key are one agent.
	f := everybody(t)
	known := wire.KeyMap{holder: key(t, holder).Public(), "alias": key(t, holder).Public()}
	f.Keys = known
	d := receiptDraft(0)
	d.Parties[1].Agent = "alias"
	v, err := d.Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []wire.AgentID{holder, "alias"} {
		if v, err = attest.Countersign(v, who, key(t, holder)); err != nil {
			t.Fatal(err)
		}
	}
	if b, report := f.VerifyBundle(bundle(t, v)); report.Err() != nil || !slices.Equal(b.Credit.Patterns, []attest.Pattern{attest.SelfDealing}) {
		t.Errorf("%v, %v", b.Credit.Patterns, report.Err())
	}
}

// inParallel runs do on as many goroutines as there are workers.
func inParallel(workers int) func(n int, do func(int)) {
	return func(n int, do func(int)) {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := w; i < n; i += workers {
					do(i)
				}
			})
		}
		wg.Wait()
	}
}

// The report is the same however the receipts are spread.
func TestBundleEach(t *testing.T) {
	list := receiptsOf(t, 12)
	list[7] = edit(t, list[7], `4`, "outcome", "rounds")
	list[9] = edit(t, list[9], `9`, "outcome", "rounds")
	v := bundle(t, list...)
	f := everybody(t)
	_, inOrder := f.VerifyBundle(v)
	f.Each = inParallel(4)
	_, spread := f.VerifyBundle(v)
	if got, want := fmt.Sprint(spread), fmt.Sprint(inOrder); len(spread) != len(inOrder) || verdict(spread) != verdict(inOrder) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := verdict(spread); got != "outcome-binding at /attestations/7/countersignatures/seller" {
		t.Error(got)
	}
}
