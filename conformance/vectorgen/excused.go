package main

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// excusedOfAgents are rules of histories and profiles that no vector breaks alone.
var excusedOfAgents = map[*wire.Rule]string{
	attest.RuleHistorySize: "1001 sound receipts are megabytes; the vector has 1001 hollow ones",
}
