//go:build unix

package relay_test

import "golang.org/x/sys/unix"

// filesFor reports whether the process may open n files.
func filesFor(n uint64) bool {
	var l unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && uint64(l.Cur) >= n
}
