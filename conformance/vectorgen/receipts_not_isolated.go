package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// receiptsNotIsolated are rules of attestations and what belongs to them.
var receiptsNotIsolated = map[*wire.Rule]string{
	attest.RuleCosignEntry: "without exactly one entry it is not clear which signature is the counterparty's, and that check is not made either",
}
