package node

// Mail is what a node says to other agents outside of negotiations, by way of its home relay (RFC 0001).
type Mail interface{}

var mailOperations []*operation
