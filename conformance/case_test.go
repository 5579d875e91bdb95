package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/clitest"
	"github.com/concordia-node/concordia/wire"
)

// interop returns the folder of cases made with other implementations.
func interop(t *testing.T) string {
	dir := clitest.Shared("..", "interop")
	if dir == "" {
		t.Skip("no cases of other implementations here; CONCORDIA_TESTDATA may name the folder that holds interop/")
	}
	return dir
}

func readValue(t *testing.T, path string) wire.Value {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// Cases made with the reference implementations come out as they expect, all of
// them of the kinds that are judged.
func TestInterop(t *testing.T) {
	dir := interop(t)
	judged := map[string]int{}
	files, _ := readValue(t, filepath.Join(dir, "index.json")).Get("files")
	for _, entry := range files.Elems() {
		name, _ := entry.Get("file")
		data, err := os.ReadFile(filepath.Join(dir, name.Text()))
		if err != nil {
			t.Fatal(err)
		}
		c, err := conformance.ReadCase(data)
		if err != nil {
			t.Fatalf("%s: %v", name.Text(), err)
		}
		t.Run(c.ID, func(t *testing.T) {
			report, err := c.Judge()
			if err != nil {
				t.Skip(err)
			}
			judged[c.Kind]++
			if got := conformance.Verdict(report); got != c.Expected {
				say := t.Errorf
				if c.Arguable {
					say = t.Logf
				}
				say("%s, want %s (%s): %v", got, c.Expected, c.Why, report.Err())
			}
		})
	}
	if judged["transcript"] < 80 || judged["attestation"] < 27 {
		t.Errorf("judged only %v", judged)
	}
}

func TestReadCase(t *testing.T) {
	const good = `{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","input":{"messages":[]},"context":{},"expected":"accept"}`
	for _, test := range []struct {
		name, text string
		ok         bool
	}{
		{"good", good, true},
		{"no artifact", `{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","context":{}}`, false},
		{"no time", `{"id":"x","kind":"transcript","public_keys":{},"input":{}}`, false},
		{"other verdict", `{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","input":{},"expected":"maybe"}`, false},
		{"keys in a list", `{"id":"x","kind":"transcript","public_keys":[],"now":"2026-09-14T09:00:00Z","input":{}}`, false},
		{"bad base64", `{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","raw_base64":"???"}`, false},
		{"generator too large", `{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","generator":{"prefix":"","open":"[[[[","count":60000000,"middle":"","close":"]]]]","suffix":""}}`, false},
		{"not JSON", `id: x`, false},
	} {
		if _, err := conformance.ReadCase([]byte(test.text)); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// What is expected of a case has no part in its verdict.
func TestVerdictIgnoresExpectation(t *testing.T) {
	for _, expected := range []string{"accept", "reject"} {
		c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"transcript","public_keys":{},"now":"2026-09-14T09:00:00Z","input":{"messages":[{}]},"context":{},"expected":"` + expected + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Judge()
		if err != nil || conformance.Verdict(report) != "reject" {
			t.Errorf("expected %s: %v, %v", expected, conformance.Verdict(report), err)
		}
	}
}

// A context member that is null is one that is not there.
func TestRequire(t *testing.T) {
	for _, test := range []struct {
		context string
		clear   bool
	}{
		{`{}`, true},
		{`{"require": null}`, true},
		{`{"require": ["outcome_bound"]}`, true},
		{`{"require": ["a_miracle"]}`, false},
		{`{"require": "outcome_bound"}`, false},
	} {
		c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"attestation","public_keys":{},"now":"2026-09-14T09:00:00Z","input":{},"context":` + test.context + `}`))
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Judge()
		if err != nil || (report[0].Check != "context") != test.clear {
			t.Errorf("context %s: %v, %v", test.context, report, err)
		}
	}
}
