package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concordia-node/concordia/conformance"
)

// judge judges every case in a folder, each of which has to come out as it expects, and
// counts those of each kind that are accepted.
func judge(t *testing.T, dir string) map[string]int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	accepted := map[string]int{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := conformance.ReadCase(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		report, err := c.Judge()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got := conformance.Verdict(report)
		if got != c.Expected {
			t.Errorf("%s: %s, want %s: %v", c.ID, got, c.Expected, report.Err())
		}
		if got == "accept" {
			accepted[c.Kind]++
		}
		if kind := conformance.KindOf(c.Subject.Artifact); kind != c.Kind {
			t.Errorf("%s looks like a %s and is a %s", c.ID, kind, c.Kind)
		}
	}
	return accepted
}

// There is a sample of every kind.
func TestSamples(t *testing.T) {
	accepted := judge(t, filepath.Join("samples", "artifacts"))
	for _, kind := range conformance.Kinds() {
		if accepted[kind] == 0 && kind != "transcript" && kind != "message" { // those are the sessions
			t.Errorf("there is no sample of a %s", kind)
		}
	}
}

// suite writes the suite about the samples.
func suite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	_, vectors := makeAll()
	if err := writeSuite(dir, vectors); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The profiles of the public contract accept what is issued here, all of them asked.
func TestContract(t *testing.T) {
	s, err := conformance.OpenSuite(os.DirFS(suite(t)), "conformance/vectors/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range s.Problems {
		t.Error(problem)
	}
	asked := map[string]bool{}
	for _, e := range s.Entries {
		v, err := s.Read(e)
		if err != nil {
			t.Fatalf("%s: %v", e.Path, err)
		}
		asked[v.Question.Profile] = true
		if err := v.Question.Answer().Err(); err != nil {
			t.Errorf("%s: %v", v.ID, err)
		}
	}
	for _, profile := range conformance.Profiles() {
		if !asked[profile] && !strings.HasSuffix(profile, "-strict-v1") {
			t.Errorf("no sample is judged by %s", profile)
		}
	}
}

// reference returns the clone of the reference implementation.
func reference(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONCORDIA_REFERENCE")
	if dir == "" {
		t.Skip("no reference implementation here; CONCORDIA_REFERENCE may name a clone of it")
	}
	return dir
}

// program runs a program against the reference. It has to end well.
func program(t *testing.T, clone string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+clone, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
}

// need skips a test without a file of the clone that has to be built.
func need(t *testing.T, how string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if _, err := os.Stat(name); err != nil {
		t.Skipf("%v: %s makes it", err, how)
	}
	return name
}

// The Python reference accepts what is issued here, and the other way round.
func TestPython(t *testing.T) {
	clone := reference(t)
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography, jsonschema").CombinedOutput(); err != nil {
		t.Skipf("no Python with what the reference needs: %v\n%s", err, out)
	}
	program(t, clone, "python3", "verify.py")
	program(t, clone, "python3", "verify_artifacts.py")
	issued := t.TempDir()
	program(t, clone, "python3", "issue_artifacts.py", issued)
	if accepted := judge(t, issued); len(accepted) < 20 {
		t.Errorf("the reference issues only these kinds: %v", accepted)
	}
}

// The JavaScript reference accepts what is issued here, and the other way round.
func TestJavaScript(t *testing.T) {
	clone := reference(t)
	sdk := need(t, "npm install and npm run build in js-sdk", clone, "js-sdk", "dist", "index.js")
	program(t, clone, "node", "verify.mjs", sdk)
	program(t, clone, "node", "verify_artifacts.mjs", sdk)
	issued := t.TempDir()
	program(t, clone, "node", "issue_artifacts.mjs", sdk, issued)
	if accepted := judge(t, issued); len(accepted) < 7 {
		t.Errorf("the reference issues only these kinds: %v", accepted)
	}
}

// The conformance runner of the reference accepts the samples.
func TestReferenceRunner(t *testing.T) {
	clone := reference(t)
	runner := filepath.Join(clone, "conformance", "reference-runner-js")
	need(t, "npm ci in that folder", runner, "node_modules")
	dir := suite(t)
	schemas := need(t, "the clone", clone, "conformance", "vectors", "schemas")
	if err := os.CopyFS(filepath.Join(dir, "conformance", "vectors", "schemas"), os.DirFS(schemas)); err != nil {
		t.Fatal(err)
	}
	program(t, clone, "node", filepath.Join(runner, "runner.mjs"), filepath.Join(dir, "conformance", "vectors"))
}
