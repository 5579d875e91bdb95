package examples

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata; look at every line that changed")

// run runs a program. It looks at every folder of the module first: go test does
// not see what go run reads, and would take an old result for that of changed code.
func run(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	if err := filepath.WalkDir("..", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "go", append([]string{"run"}, args...)...).CombinedOutput()
}

// The examples print what they always printed.
func TestOutput(t *testing.T) {
	for _, name := range []string{"dormant", "freelance"} {
		t.Run(name, func(t *testing.T) {
			got, err := run(t, "./"+name)
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Two nodes make a deal over a relay and directly, by commands alone, also if any of the
// processes is killed: at every step in a long run, else at some.
func TestTwoNodes(t *testing.T) {
	for name, args := range map[string][]string{"relay": nil, "direct": {"-direct"}} {
		t.Run(name, func(t *testing.T) {
			if !testing.Short() {
				args = append(args, "-kill", "-every", killEvery)
			}
			if out, err := run(t, append([]string{"./two-nodes"}, args...)...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// Two agents make a deal by MCP alone.
func TestTwoAgents(t *testing.T) {
	if out, err := run(t, "./two-agents"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The same by the official TypeScript client, in both eras of MCP, over standard input and
// output and over HTTP.
func TestTwoAgentsTypeScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node, 20 or later, and npm")
	}
	if out, err := exec.CommandContext(t.Context(), node, "-e", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)").CombinedOutput(); err != nil {
		t.Skipf("needs node, 20 or later: %v: %s", err, out)
	}
	dir := t.TempDir()
	for _, name := range []string{"agents.mjs", "package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("two-agents", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, enough := context.WithTimeout(t.Context(), 2*time.Minute)
	defer enough()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir, npm.WaitDelay = dir, time.Second
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("needs npm and its registry: %v: %s", err, out)
	}
	program := filepath.Join(dir, "concordia")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/concordia").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, args := range map[string][]string{
		"2025-11-25": nil, "2025-11-25 over HTTP": {"--http"},
		"2026-07-28": {"--revision", "2026-07-28"}, "2026-07-28 over HTTP": {"--revision", "2026-07-28", "--http"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, append([]string{"agents.mjs", "--concordia", program}, args...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "pass         receipt party-signatures") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The settings that are shown to those who deploy a node are settings.
func TestDeploySettings(t *testing.T) {
	out, err := run(t, "../cmd/concordia", "node", "config", "--dir", t.TempDir(), "--config", filepath.Join("deploy", "node.yaml"))
	if err != nil || !strings.Contains(string(out), "over_1000") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The samples for other implementations are what the generator makes.
func TestInteropSamples(t *testing.T) {
	if out, err := run(t, "./interop", "-check", "-dir", filepath.Join("interop", "samples")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
