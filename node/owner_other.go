//go:build !unix

package node

// checkOwner refuses what another user has put somewhere, where that can be told.
func checkOwner(string) error { return nil }
