package node

// Market is what a node does at the market of its home relay (RFC 0004).
type Market interface{}

var marketOperations []*operation
