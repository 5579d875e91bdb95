//go:build !unix

package boltmail

// freeSpace returns -1: it is not known here.
func freeSpace(string) int64 { return -1 }
