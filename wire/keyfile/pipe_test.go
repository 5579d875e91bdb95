//go:build unix

package keyfile

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe is done when Load does not wait for a writer.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, mustNotAsk(t)); !errors.Is(err, errNotRegular) {
		t.Errorf("Load of a pipe = %v, want %v", err, errNotRegular)
	}
}
