package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/concordia-node/concordia/session"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"concordia": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command as a person would. Beyond testscript's own
// commands there are
//
//	exits N COMMAND...      the command ends with that exit code
//	replace OLD NEW FILE    replaces the first OLD in the file, which must be there
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"replace": replace,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("INTEROP", interop())
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "interop" {
				return interop() != "", nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// interop returns the folder of cases made with other implementations, or "".
func interop() string {
	dir := os.Getenv("CONCORDIA_TESTDATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "interop"))
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		return ""
	}
	return dir
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
	if want, _ := strconv.Atoi(args[0]); code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
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

// The table in SPEC.md is the one that runs.
func TestSpecTable(t *testing.T) {
	spec, err := os.ReadFile(filepath.Join("..", "..", "SPEC.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(spec), "\n### 5.2 ")
	_, table, foundTable := strings.Cut(rest, "\n| From | On |")
	if !found || !foundTable {
		t.Fatal("SPEC.md has no table in §5.2")
	}
	table, _, _ = strings.Cut("| From | On |"+table, "\n\n")
	if got := session.Machine.Table(); got != table+"\n" {
		t.Errorf("SPEC.md §5.2 has\n%s\nconcordia spec prints\n%s", table, got)
	}
}
