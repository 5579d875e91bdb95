//go:build unix

package node

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// What another user has put in the directory is not told anything.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	i, err := os.Lstat(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if err := judgeOwner(i, os.Geteuid()); err != nil {
		t.Errorf("one's own: %v", err)
	}
	if os.Geteuid() != 0 {
		if err := judgeOwner(i, os.Geteuid()+1); !errors.Is(err, errOwner) {
			t.Errorf("another user's: %v", err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, socketName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), dir); !errors.Is(err, errOwner) {
		t.Errorf("a link to a socket elsewhere: %v", err)
	}
}
