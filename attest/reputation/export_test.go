package reputation

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// Unsigned returns a receipt as evidence that nobody signed: how a ledger of many
// behaves does not depend on signatures.
func Unsigned(a *attest.Attestation, keys []wire.PublicKey) *Evidence {
	return &Evidence{receipt: read(a, keys)}
}
