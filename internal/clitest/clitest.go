// Package clitest has the commands that test scripts of this project use beyond
// those of testscript itself.
package clitest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands are
//
//	exits N COMMAND...      the command ends with that exit code
//	replace OLD NEW FILE    replaces the first OLD in the file, which must be there
func Commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "replace": replace}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace OLD NEW FILE")
	}
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%q is not in %s", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Replace(text, args[0], args[1], 1)), 0o600))
}

// Shared returns the absolute path of outside data below the folder that
// CONCORDIA_TESTDATA names, else below ../shared of the module at root, or "" if
// it is not there.
func Shared(root string, path ...string) string {
	dir := os.Getenv("CONCORDIA_TESTDATA")
	if dir == "" {
		dir = filepath.Join(root, "..", "shared")
	}
	dir, err := filepath.Abs(filepath.Join(append([]string{dir}, path...)...))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}
