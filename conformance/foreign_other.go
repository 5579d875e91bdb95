//go:build !unix

package conformance

import "os/exec"

// killAll leaves it at ending the program itself.
func killAll(*exec.Cmd) {}
