package examples

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
