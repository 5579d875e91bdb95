package conformance_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/clitest"
)

const manifest = "conformance/vectors/manifest.json"

// upstream returns the public suite, or skips the test.
func upstream(t testing.TB) fs.FS {
	t.Helper()
	dir := clitest.Shared("..", "upstream")
	if dir == "" {
		t.Skip("the public suite is not here; CONCORDIA_TESTDATA may name the folder that holds upstream/")
	}
	return os.DirFS(dir)
}

// runSuite runs the public suite, with two judges.
func runSuite(t testing.TB, files fs.FS) ([]conformance.Result, conformance.Summary, *conformance.Suite) {
	t.Helper()
	suite, err := conformance.OpenSuite(files, manifest)
	if err != nil {
		t.Fatal(err)
	}
	results, sum := conformance.Run{Suite: suite, Judges: []conformance.Judge{conformance.Own{}, conformance.Own{}}}.Do()
	return results, sum, suite
}

// Two vectors of the public suite are rejected for another reason than they say:
// their generator only looked at the first characters of a timestamp, and the
// contract asserts its form.
var otherReasons = map[string]bool{"mut-1404-revocation-a-0003": true, "mut-1404-revocation-a-0005": true}

func TestPublicSuite(t *testing.T) {
	results, sum, suite := runSuite(t, upstream(t))
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s: %s, want %s: %v", r.ID, r.Got, r.Expected, r.Err)
		}
		if r.OtherReason() != otherReasons[r.ID] {
			t.Errorf("%s: reason %s, want %s", r.ID, r.Reason, r.ExpectedReason)
		}
		if r.OK() && r.Got == "reject" && r.Reason == "" {
			t.Errorf("%s: rejected without a reason", r.ID)
		}
	}
	const want = "[SUMMARY] positive=53 mutation=1488 canary=5 ok=1546 fail=0"
	if sum.String() != want || len(suite.Problems) != 0 {
		t.Errorf("%v, want %s: %v", sum, want, suite.Problems)
	}
}

// overlay is a folder with some files replaced, added, or, if nil, gone.
type overlay struct {
	fs.FS
	over map[string][]byte
}

func (o overlay) Open(name string) (fs.File, error) {
	if text, ok := o.over[name]; ok {
		if text == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return fstest.MapFS{name: {Data: text}}.Open(name)
	}
	return o.FS.Open(name)
}

// ReadDir implements fs.ReadDirFS.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	for path, text := range o.over {
		if _, statErr := fs.Stat(o.FS, path); text != nil && statErr != nil && strings.HasPrefix(path, name+"/") {
			info, err := fs.Stat(fstest.MapFS{path: {Data: text}}, path)
			if err != nil {
				return nil, err
			}
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
	}
	return entries, err
}

// swap replaces the first from in a file of the public suite.
func swap(t *testing.T, files fs.FS, name, from, to string) []byte {
	t.Helper()
	text, err := fs.ReadFile(files, name)
	if err != nil || !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s: no %q: %v", name, from, err)
	}
	return bytes.Replace(text, []byte(from), []byte(to), 1)
}

// Twenty wrong expectations are twenty failures.
func TestFlippedExpectations(t *testing.T) {
	files := upstream(t)
	suite, err := conformance.OpenSuite(files, manifest)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	over := map[string][]byte{}
	for _, i := range random.Perm(len(suite.Entries))[:20] {
		name := suite.Entries[i].Path
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		from, to := `"expected": "accept"`, `"expected": "reject"`
		if !bytes.Contains(text, []byte(from)) {
			from, to = to, from
		}
		over[name] = swap(t, files, name, from, to)
	}
	if _, sum, _ := runSuite(t, overlay{files, over}); sum.Fail != 20 || sum.OK != 1526 {
		t.Error(sum)
	}
}

// What is wrong with the suite itself is reported, and fails it.
func TestBrokenSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	files := upstream(t)
	const dir = "conformance/vectors/"
	const receipt = dir + "positive/pos-1404-approval-receipt.json"
	copied, err := fs.ReadFile(files, receipt)
	if err != nil {
		t.Fatal(err)
	}
	canary := dir + "canary/canary-schema-skipped.json"
	for _, test := range []struct {
		name string
		over map[string][]byte
		fail int
		says string // a problem of the suite, or the error of a vector
	}{
		{"a dropped file", map[string][]byte{receipt: nil}, 1, "pos-1404-approval-receipt.json"},
		{"a dropped fixture", map[string][]byte{dir + "schemas/predicate.json": nil}, 1, "schemas/predicate.json is listed and not there"},
		{"not listed", map[string][]byte{dir + "positive/copy.json": copied}, 1, "positive/copy.json is there and not listed"},
		{"a wrong count", map[string][]byte{manifest: swap(t, files, manifest, `"canary": 5`, `"canary": 6`)}, 1, "counts 6 canary and lists 5"},
		{"listed twice", map[string][]byte{manifest: swap(t, files, manifest, `"conformance/vectors/canary/canary-schema-skipped.json"`, `"`+receipt+`"`)}, 3, "listed twice"},
		{"an id twice", map[string][]byte{receipt: swap(t, files, receipt, `"id": "pos-1404-approval-receipt"`, `"id": "pos-1404-cascade-deny"`)}, 1, "has the id of"},
		{"no vector", map[string][]byte{canary: []byte(`[]`)}, 1, "want an object"},
		{"expects nothing", map[string][]byte{canary: swap(t, files, canary, `"expected": "reject"`, `"expected": "refuse"`)}, 1, "/expected"},
		{"another profile", map[string][]byte{canary: swap(t, files, canary, `"verification_profile": "`, `"verification_profile": "x`)}, 1, "no profile of this name"},
		{"another version", map[string][]byte{canary: swap(t, files, canary, `vector/v1-draft`, `vector/v2`)}, 1, "/schema_version"},
		{"a member twice", map[string][]byte{canary: swap(t, files, canary, `"expected": "reject"`, `"expected": "reject", "expected": "reject"`)}, 1, "json-duplicate"},
		{"an input twice", map[string][]byte{canary: swap(t, files, canary, `"expected": "reject"`, `"input": {}, "expected": "reject"`)}, 1, "json-duplicate"},
		{"no input", map[string][]byte{canary: swap(t, files, canary, `"input": `, `"inputs": `)}, 1, "/input"},
		{"not JSON", map[string][]byte{canary: []byte(`{"id": `)}, 1, "vector"},
	} {
		results, sum, suite := runSuite(t, overlay{files, test.over})
		said := fmt.Sprint(suite.Problems)
		for _, r := range results {
			if r.Err != nil {
				said += r.Err.Error()
			}
		}
		if sum.Fail != test.fail || !strings.Contains(said, test.says) {
			t.Errorf("%s: %v: %s", test.name, sum, said)
		}
	}
}

// An input that is no JSON of this protocol is rejected; the vector is sound.
func TestUnreadableInput(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	files := upstream(t)
	const receipt = "conformance/vectors/positive/pos-1404-approval-receipt.json"
	for _, text := range []string{`1e400`, `9007199254740993`, `"\ud800"`, `{"a":1,"a":1}`, `-0`} {
		over := map[string][]byte{receipt: swap(t, files, receipt, `"input": {`, `"input": {"note": `+text+`, `)}
		results, sum, _ := runSuite(t, overlay{files, over})
		for _, r := range results {
			if !r.OK() && (r.Entry.Path != receipt || r.Got != "reject" || r.Reason != "schema") {
				t.Errorf("%s: %+v", text, r)
			}
		}
		if sum.Fail != 1 {
			t.Errorf("%s: %v", text, sum)
		}
	}
}

// A verdict depends on the profile, the input and the context alone: with another
// name, title, note and expectation, it is the same.
func TestVerdictIgnoresTheRest(t *testing.T) {
	files := upstream(t)
	suite, err := conformance.OpenSuite(files, manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range suite.Entries {
		if i%7 != 0 {
			continue
		}
		v, err := suite.Read(e)
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(files, e.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{v.ID, v.Title} {
			text = bytes.ReplaceAll(text, []byte(`"`+from+`"`), []byte(`"something-else"`))
		}
		if v.Expected == "accept" {
			text = bytes.Replace(text, []byte(`"expected": "accept"`), []byte(`"expected": "reject"`), 1)
		} else {
			text = bytes.Replace(text, []byte(`"expected": "reject"`), []byte(`"expected": "accept"`), 1)
		}
		other, err := conformance.ReadVector(text)
		if err != nil || other.Expected == v.Expected || other.ID == v.ID {
			t.Fatalf("%s: %v", e.Path, err)
		}
		if was, is := conformance.Verdict(v.Question.Answer()), conformance.Verdict(other.Question.Answer()); was != is {
			t.Errorf("%s: %s, was %s", e.Path, is, was)
		}
	}
}

// Every check of every profile exists.
func TestProfiles(t *testing.T) {
	for _, name := range conformance.Profiles() {
		if unknown := conformance.UnknownSteps(name); len(unknown) > 0 {
			t.Errorf("%s: no check %v", name, unknown)
		}
	}
}

func BenchmarkPublicSuite(b *testing.B) {
	files := upstream(b)
	for b.Loop() {
		if _, sum, _ := runSuite(b, files); sum.OK == 0 {
			b.Fatal(sum)
		}
	}
}
