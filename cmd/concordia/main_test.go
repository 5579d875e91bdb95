package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/keyfile"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"concordia": runLocally,
	})
}

// TestScripts runs the command as a person would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		Cmds:                commands(),
		Setup: func(env *testscript.Env) error {
			env.Values[serviceKey{}] = new(atomic.Value)
			env.Values[runningKey{}] = map[any]*relayProcess{}
			env.Setenv("NO_COLOR", "1")
			env.Setenv("INTEROP", clitest.Shared(filepath.Join("..", ".."), "interop"))
			return writeArtifacts(env.WorkDir)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "interop" {
				return clitest.Shared(filepath.Join("..", ".."), "interop") != "", nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

// commands are those of clitest, onlineCommands, relayCommands and nodeCommands, and
//
//	keys FILE...    writes keys.json with the public halves of key files
//	many FILE...    writes the file many with these, one a line, and a line that is no JSON
//	deals FILE D... writes receipts, one a line, and the keys of who is in them to FILE.keys;
//	                D is a-b, or a-b*3 for three deals, or a-*3 for one with each of three
//	sums FILE       the contributions that reputation explain --json wrote are the score
func commands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := clitest.Commands()
	maps.Copy(all, onlineCommands())
	maps.Copy(all, relayCommands())
	maps.Copy(all, nodeCommands())
	all["keys"] = func(ts *testscript.TestScript, _ bool, args []string) {
		known := wire.M{}
		for _, path := range args {
			agent, key, err := keyfile.Public(ts.MkAbs(path))
			ts.Check(err)
			known[string(agent)] = key
		}
		v, err := wire.Encode(known)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs("keys.json"), []byte(v.Canonical()), 0o600))
	}
	all["many"] = func(ts *testscript.TestScript, _ bool, args []string) {
		var lines []byte
		for _, path := range args {
			lines = append(lines, strings.TrimSpace(ts.ReadFile(path))+"\n"...)
		}
		ts.Check(os.WriteFile(ts.MkAbs("many"), append(lines, "{]\n"...), 0o600))
	}
	all["deals"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(writeDeals(ts.MkAbs(args[0]), args[1:]))
	}
	all["sums"] = func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(checkSum(ts.ReadFile(args[0])))
	}
	return all
}

// The table in SPEC.md is the one that runs.
// TestHelp shows that the help of each command has what a reader looks for.
func TestHelp(t *testing.T) {
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		var help bytes.Buffer
		if code := run(append(strings.Fields(path)[1:], "--help"), &help, io.Discard); code != 0 {
			t.Errorf("%s --help: exit code %d", path, code)
		}
		if !strings.Contains(cmd.Example, "  "+path+" ") && !cmd.HasSubCommands() && cmd.Example != "  "+path {
			t.Errorf("%s: no example of it in %q", path, cmd.Example)
		}
		if strings.Contains(cmd.Example, "--help") || cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, Example %q", path, cmd.Short, cmd.Example)
		}
		if !cmd.HasSubCommands() && !strings.Contains(help.String(), "Exit codes: 0 ") {
			t.Errorf("%s: the help does not say what its exit codes mean", path)
		}
		for line := range strings.Lines(cmd.Long) {
			if utf8.RuneCountInString(line) > 100 && !strings.HasPrefix(line, " ") {
				t.Errorf("%s: too long a line: %s", path, line)
			}
		}
		for line := range strings.Lines(help.String()) {
			if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "--") && strings.HasPrefix(words[1], "string") {
				t.Errorf("%s: name what a flag takes in backquotes: %s", path, line)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newApp().command())
}

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
