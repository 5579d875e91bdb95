package node

import (
	"context"
	"testing"

	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/wire"
)

func (r *recorder) Ingest(_ context.Context, v wire.Value) (Ingested, error) {
	return recorded[Ingested](r, "Ingest", v)
}
func (r *recorder) Revoked(_ context.Context, v wire.Value) (bool, error) {
	return recorded[bool](r, "Revoked", v)
}
func (r *recorder) Score(_ context.Context, q Question) (Standing, error) {
	return recorded[Standing](r, "Score", q)
}
func (r *recorder) Answer(_ context.Context, q Question) (wire.Value, error) {
	return recorded[wire.Value](r, "Answer", q)
}
func (r *recorder) Bundle(_ context.Context, f ReceiptFilter) (Issued, error) {
	return recorded[Issued](r, "Bundle", f)
}
func (r *recorder) Bundles(context.Context) ([]Issued, error) {
	return recorded[[]Issued](r, "Bundles")
}
func (r *recorder) Competence(_ context.Context, reveal int) (Issued, error) {
	return recorded[Issued](r, "Competence", reveal)
}
func (r *recorder) Envelope(_ context.Context, e Enveloping) (Issued, error) {
	return recorded[Issued](r, "Envelope", e)
}
func (r *recorder) Artifact(_ context.Context, id string) (wire.Value, error) {
	return recorded[wire.Value](r, "Artifact", id)
}
func (r *recorder) Report(_ context.Context, report Reporting) (Reported, error) {
	return recorded[Reported](r, "Report", report)
}

// A bundle has room for so many receipts of so many bytes, the newest first.
func TestRoom(t *testing.T) {
	for _, test := range []struct{ receipts, bytes, want int }{
		{4, 12, 4}, {5, 100, 4}, {3, 12, 3}, {0, 12, 0}, {4, 11, 3}, {4, 3, 1}, {4, 2, 0}, {4, 0, 0},
	} {
		r, got := room{test.receipts, test.bytes}, 0
		for _, name := range []string{"d", "c", "b", "a"} { // 3 bytes
			if r.take(wire.Text(name)) {
				got++
			}
		}
		if got != test.want {
			t.Errorf("at most %d of %d bytes: %d, want %d", test.receipts, test.bytes, got, test.want)
		}
	}
	r := room{4, 5}
	if r.take(wire.Text("large")) || r.take(wire.Text("d")) {
		t.Error("an older one is shown in place of one that is too large")
	}
}

// What comes while the evidence is read is in it; what was read with keys that do not
// count any more is not used.
func TestLedgerReads(t *testing.T) {
	e := func(name string) reputationEvidence {
		return reputationEvidence{wire.HashOf(name), new(reputation.Evidence)}
	}
	l := ledger{}
	l.heard(e("before"), 0)
	if !l.isIdle() {
		t.Error("it is read before anybody asks")
	}
	l.reading = make(chan struct{})
	l.heard(e("came"), 0)
	l.read([]reputationEvidence{e("read")}, 0, nil)
	l.heard(e("after"), 0)
	if len(l.kept) != 3 || !l.kept[wire.HashOf("came")] || !l.kept[wire.HashOf("after")] {
		t.Errorf("it has %d", len(l.kept))
	}
	l.forget()
	l.reading = make(chan struct{})
	l.read([]reputationEvidence{e("read")}, 0, nil)
	if l.known != nil {
		t.Error("it was read with keys that do not count any more")
	}
	l.reading = make(chan struct{})
	l.read([]reputationEvidence{e("read")}, 1, errReceipt)
	if l.known != nil || l.fault == nil {
		t.Error("it was read though that failed")
	}
	l.reading = make(chan struct{})
	if l.read([]reputationEvidence{e("read")}, 1, nil); len(l.kept) != 1 {
		t.Errorf("it has %d", len(l.kept))
	}
	if l.heard(e("late"), 0); len(l.kept) != 1 {
		t.Error("it has what was verified with keys that do not count any more")
	}
	if l.lost(wire.HashOf("another")); l.known == nil {
		t.Error("it is read again for what it does not have")
	}
	l.forget()
	l.reading, l.gone = make(chan struct{}), map[wire.Hash]bool{}
	l.lost(wire.HashOf("gone"))
	if l.read([]reputationEvidence{e("read"), e("gone")}, 2, nil); len(l.kept) != 1 || !l.kept[wire.HashOf("read")] {
		t.Error("it has what was lost while it was read")
	}
	if l.lost(wire.HashOf("read")); l.known != nil || l.counting() != 3 {
		t.Error("it has what does not stand any more")
	}
}
