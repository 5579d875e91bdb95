package examples

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata; look at every line that changed")

// The examples print what they always printed.
func TestOutput(t *testing.T) {
	for _, name := range []string{"dormant", "freelance"} {
		t.Run(name, func(t *testing.T) {
			got, err := exec.CommandContext(t.Context(), "go", "run", "./"+name).Output()
			if err != nil {
				t.Fatal(err)
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

// The samples for other implementations are what the generator makes.
func TestInteropSamples(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./interop", "-check", "-dir", filepath.Join("interop", "samples")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
