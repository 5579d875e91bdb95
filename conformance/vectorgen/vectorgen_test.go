package main

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/conformance/vectors"
)

// inRoot runs the test in the root of the module, where the generator runs.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
}

// The suite is the same bytes each time it is made, and those that are checked in.
func TestStable(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	inRoot(t)
	first, err := suite()
	if err != nil {
		t.Fatal(err)
	}
	second, err := suite()
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(first, second, bytes.Equal) {
		t.Error("made twice, the suite differs")
	}
	if err := compare(filepath.Join("conformance", "vectors"), first); err != nil {
		t.Errorf("%v: go run ./conformance/vectorgen", err)
	}
	if err := compare(t.TempDir(), first); err == nil {
		t.Error("an empty folder is taken for the suite")
	}
}

// What is written is what is there afterwards: files of an earlier suite go.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir, map[string][]byte{"positive/old.json": []byte("{}"), "manifest.json": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"positive/new.json": []byte("{}"), "manifest.json": []byte("{}")}
	if err := write(dir, files); err != nil {
		t.Fatal(err)
	}
	if err := compare(dir, files); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "positive", "new.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compare(dir, files); err == nil || !strings.Contains(err.Error(), "new.json") {
		t.Error(err)
	}
}

// This implementation gives every verdict, for the reason that the vector names, and
// every file has the published form.
func TestOwnSuite(t *testing.T) {
	s, err := conformance.OpenSuite(vectors.FS(), vectors.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	results, sum := conformance.Run{Suite: s}.Do()
	for _, r := range results {
		if !r.OK() || r.OtherReason() {
			t.Errorf("%s: %s (%s), want %s (%s): %v", r.ID, r.Got, r.Reason, r.Expected, r.ExpectedReason, r.Err)
		}
	}
	if sum.Fail > 0 {
		t.Error(sum, s.Problems)
	}
	form, manifest := compile(t, "vector"), compile(t, "manifest")
	for _, e := range s.Entries {
		text, err := fs.ReadFile(vectors.FS(), e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := form.Validate(decode(t, text)); err != nil {
			t.Errorf("%s: %v", e.Path, err)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "vectors", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.Validate(decode(t, text)); err != nil {
		t.Error(err)
	}
}

// decode returns the tree of a JSON text.
func decode(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "vectors", "schemas", name+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return jsonschema.MustCompileString(name+".json", string(text))
}

// A statement that refuses for a rule is passed over while the rule is off; nothing
// else is.
func TestRewrite(t *testing.T) {
	const source = `package p

import "example.org/wire"

func check(v wire.Value) (int, error) {
	if v.Len() > 1 {
		return 0, RuleSize.At("/a")
	}
	for _, e := range v.Elems() {
		switch e.Kind() {
		case wire.Null:
			return 1, wire.RuleKind.Because("/b", errNull)
		}
	}
	f := func() error { return rule.At("") }
	_ = f
	return wire.Read(v, "", rule), nil
}

func at(v wire.Value) (wire.Value, bool) { return v.At("a") }
`
	dir := t.TempDir()
	name := filepath.Join(dir, "p.go")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &rewriter{fset: token.NewFileSet(), dir: t.TempDir(), files: map[string]string{}}
	if err := w.file(name, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(w.files[name])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"if !wire.IsOff(RuleSize) {", "if !wire.IsOff(wire.RuleKind) {", "if !wire.IsOff(rule) {", "return *new(int), *new(error)",
	} {
		if squeeze := strings.NewReplacer(" ", "", "\n", "", "\t", ""); !strings.Contains(squeeze.Replace(string(text)), squeeze.Replace(want)) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(string(text), "IsOff"); n != 3 {
		t.Errorf("%d switches, want 3, in\n%s", n, text)
	}
}

// A rule that no vector sees, an excuse that is not needed, and a lazy verifier that
// gets through make the suite too weak.
func TestJudgeKills(t *testing.T) {
	for _, test := range []struct {
		lines string
		want  string // in the error; "" if there is none
	}{
		{"rule attest age 3 2\nlazy skip-time 20 100\n", ""},
		{"rule attest age 3 0\n", "attest age survives"},
		{"lazy skip-time 14 100\n", "skip-time fails only 14 of 100"},
	} {
		err := judgeKills(test.lines, io.Discard)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.lines, err)
		}
	}
}
