//go:build unix

package node

import (
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses what another user than this one, or root, has put somewhere, a
// symbolic link too. What is not there is nobody's.
func checkOwner(path string) error {
	i, err := os.Lstat(path)
	if err != nil {
		return nil // who opens it says why
	}
	return judgeOwner(i, os.Geteuid())
}

func judgeOwner(i fs.FileInfo, user int) error {
	if of, ok := i.Sys().(*syscall.Stat_t); ok && int(of.Uid) != user && of.Uid != 0 || i.Mode()&fs.ModeSymlink != 0 {
		return errOwner
	}
	return nil
}
