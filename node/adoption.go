package node

// Adoption is how a node deals with those who do not speak Concordia.
type Adoption interface{}

var adoptionOperations []*operation
