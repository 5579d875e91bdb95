package node

import (
	"context"

	"github.com/concordia-node/concordia/wire"
)

func (r *recorder) Ingest(_ context.Context, v wire.Value) (Ingested, error) {
	return recorded[Ingested](r, "Ingest", v)
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
