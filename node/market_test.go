package node

import (
	"context"

	"github.com/concordia-node/concordia/wire"
)

func (r *recorder) AskMarket(_ context.Context, op string, v wire.Value) (wire.Value, error) {
	return recorded[wire.Value](r, "AskMarket", op, v)
}
func (r *recorder) ChangeMarket(_ context.Context, op string, v wire.Value) (wire.Value, error) {
	return recorded[wire.Value](r, "ChangeMarket", op, v)
}
func (r *recorder) SignEntry(_ context.Context, v wire.Value) (wire.Value, error) {
	return recorded[wire.Value](r, "SignEntry", v)
}
func (r *recorder) SignProfile(_ context.Context, v wire.Value) (wire.Value, error) {
	return recorded[wire.Value](r, "SignProfile", v)
}
