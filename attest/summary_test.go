package attest_test

import (
	"fmt"
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

func TestSummarize(t *testing.T) {
	list := receiptsOf(t, 4)
	list[0] = fulfilled(t, list[0], "buyer")
	list[1] = edit(t, list[1], `{"status":"fulfilled_with_mediation","settled_at":"2026-09-14T09:20:00Z"}`, "fulfillment")
	list[2] = edit(t, list[2], `{"status":"pending","settled_at":"2026-09-14T09:20:00Z"}`, "fulfillment")
	list[3] = edit(t, list[3], ``, "parties", "0", "behavior", "concession_magnitude")
	got := attest.Summarize(holder, readReceipts(t, list)).Value().Canonical()
	want := parse(t, `{"total_negotiations":4,"agreements":3,"agreement_rate":0.75,"avg_concession_magnitude":0.0426,"fulfillment_rate":0.3333,
		"unique_counterparties":4,"categories":["antiques","electronics.cameras"],
		"earliest":"2026-09-11T09:00:00Z","latest":"2026-09-14T09:00:00Z","reasoning_rate":0.5}`).Canonical()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty := parse(t, `{"total_negotiations":0,"agreements":0,"agreement_rate":0,"avg_concession_magnitude":0,"fulfillment_rate":0,
		"unique_counterparties":0,"categories":[],"earliest":"","latest":"","reasoning_rate":0}`)
	if got := attest.Summarize(holder, nil).Value(); !got.Equal(empty) {
		t.Errorf("of nothing: %s", got)
	}
}

// Timestamps are compared as text, as the reference does: 10:00+02:00 is an hour
// before 09:00Z and sorts after it.
func TestSummarizeOffsets(t *testing.T) {
	s := attest.Summarize(holder, readReceipts(t, []wire.Value{
		edit(t, receiptOf(t, 0), `"2026-09-14T09:00:00Z"`, "timestamp"),
		edit(t, receiptOf(t, 1), `"2026-09-14T10:00:00+02:00"`, "timestamp"),
	}))
	if s.Earliest != "2026-09-14T09:00:00Z" || s.Latest != "2026-09-14T10:00:00+02:00" {
		t.Errorf("%s to %s", s.Earliest, s.Latest)
	}
}

// Means as Python's sum and round have them: the first of each pair before 3.12,
// the second since, which adds without loss.
func TestMean(t *testing.T) {
	for _, test := range []struct {
		magnitudes   []string
		plain, exact string
	}{
		{[]string{"0.5", "0.5"}, "0.5", "0.5"},
		{[]string{"0.03125"}, "0.0312", "0.0312"}, // an exact half goes to the even digit
		{[]string{"0.09375"}, "0.0938", "0.0938"},
		{[]string{"0.0001", "0.0002"}, "0.0002", "0.0002"}, // 0.00015000000000000001
		{[]string{"0.1912", "0.4297", "0.8075", "0.5949", "0.689", "0.9533", "0.6489", "0.8587"}, "0.6466", "0.6467"},
		{[]string{"0.9727", "0.6651", "0.8206", "0.1398"}, "0.6496", "0.6495"},
	} {
		var list []wire.Value
		for i, m := range test.magnitudes {
			list = append(list, signAll(t, edit(t, receiptOf(t, i), m, "parties", "0", "behavior", "concession_magnitude")))
		}
		s := attest.Summarize(holder, readReceipts(t, list))
		if got := fmt.Sprint(s.AvgConcessionMagnitude); got != test.plain {
			t.Errorf("%v: %s, want %s", test.magnitudes, got, test.plain)
		}
		for _, claimed := range []string{test.plain, test.exact} {
			v := signBundle(t, edit(t, bundle(t, list...), claimed, "summary", "avg_concession_magnitude"))
			if got := verdict(judgeBundle(t)(v)); got != "" {
				t.Errorf("%v, claiming %s: %s", test.magnitudes, claimed, got)
			}
		}
	}
}
