//go:build unix

package conformance

import (
	"os/exec"
	"syscall"
)

// killAll lets the end of the context end also what the program started: a shell
// does not pass it on.
func killAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
