// Package crashtest kills a process that stores something, for tests that what it has
// acknowledged is still there.
package crashtest

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Kill runs the test binary with a variable of the environment set to path, which
// TestMain has to take for an order to store things at path for ever, and to print a
// line for each that was acknowledged. The process is killed after a random number of
// lines, below most; what it said before counts, so that heard is called with every
// line. A line that heard does not understand, or what takes minutes, fails the test.
func Kill(t *testing.T, variable, path string, most int, heard func(line string) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := rand.IntN(most)
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		if err := heard(lines.Text()); err != nil {
			t.Errorf("the process says %q: %v", lines.Text(), err)
			break
		}
		if n == after {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatal("the process did not say enough in two minutes")
	}
}
