package node

// Bridge is what a node makes of its deals for other systems of identity and reputation.
type Bridge interface{}

var bridgeOperations []*operation
