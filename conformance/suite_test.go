package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/conformance"
)

// shared returns a folder of outside data, or skips the test.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("CONCORDIA_TESTDATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no %s here; CONCORDIA_TESTDATA may name the folder that holds it: %v", name, err)
	}
	return dir
}

func TestPublicSuite(t *testing.T) {
	suite, err := conformance.OpenSuite(os.DirFS(shared(t, "upstream")), "conformance/vectors/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	results, sum := conformance.Run{Suite: suite, Judges: []conformance.Judge{conformance.Own{}, conformance.Own{}}}.Do()
	other := map[string]int{}
	for _, r := range results {
		if !r.OK() {
			other[r.Profile+" expected "+r.Expected]++
			if r.Profile != "" {
				t.Errorf("%s: %s, want %s: %v", r.ID, r.Got, r.Expected, r.Err)
			}
		}
		if r.OtherReason() {
			t.Errorf("%s: reason %s, want %s", r.ID, r.Reason, r.ExpectedReason)
		}
	}
	t.Log(sum, other, suite.Problems)
}
