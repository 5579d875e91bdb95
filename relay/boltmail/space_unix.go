//go:build unix

package boltmail

import "golang.org/x/sys/unix"

// freeSpace returns how many bytes there are for more in a folder, or -1.
func freeSpace(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
