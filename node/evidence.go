package node

// Evidence is what a node keeps, and issues, of receipts: its own and those of others (SPEC §9.6).
type Evidence interface{}

var evidenceOperations []*operation
