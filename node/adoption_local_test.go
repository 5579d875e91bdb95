package node

import (
	"context"

	"github.com/concordia-node/concordia/wire"
)

func (r *recorder) ProposeProtocol(_ context.Context, p Proposing) (Proposal, error) {
	return recorded[Proposal](r, "ProposeProtocol", p)
}
func (r *recorder) AnswerProposal(_ context.Context, a Answering) (Proposal, error) {
	return recorded[Proposal](r, "AnswerProposal", a)
}
func (r *recorder) StartDegraded(_ context.Context, s Starting) (Interaction, error) {
	return recorded[Interaction](r, "StartDegraded", s)
}
func (r *recorder) TellDegraded(_ context.Context, t Telling) (Recorded, error) {
	return recorded[Recorded](r, "TellDegraded", t)
}
func (r *recorder) Told(_ context.Context, id InteractionID, from, most int) ([]Told, error) {
	return recorded[[]Told](r, "Told", id, from, most)
}
func (r *recorder) Efficiency(_ context.Context, id InteractionID) (Efficiency, error) {
	return recorded[Efficiency](r, "Efficiency", id)
}
func (r *recorder) Bridge(context.Context) (BridgeConfig, error) {
	return recorded[BridgeConfig](r, "Bridge")
}
func (r *recorder) ConfigureBridge(_ context.Context, c BridgeConfig) (BridgeConfig, error) {
	return recorded[BridgeConfig](r, "ConfigureBridge", c)
}
func (r *recorder) Commitment(_ context.Context, id wire.SessionID) (BridgeCalls, error) {
	return recorded[BridgeCalls](r, "Commitment", id)
}
func (r *recorder) Recording(_ context.Context, receipt wire.Value) (BridgeCalls, error) {
	return recorded[BridgeCalls](r, "Recording", receipt)
}
