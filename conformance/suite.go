package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// ManifestVersion is what a manifest says in schema_version.
const ManifestVersion = "concordia-conformance-manifest/v1-draft"

// The sections of a suite, in the order in which they run.
const (
	Positive = "positive"
	Mutation = "mutation"
	Canary   = "canary"
)

var sections = []string{Positive, Mutation, Canary}

// A Suite is a manifest and the vectors it names (SPEC §12.5).
type Suite struct {
	Entries  []Entry
	Problems []string // what is wrong with the suite itself, each enough to fail it

	files fs.FS
}

// An Entry is one vector of a suite, not read yet.
type Entry struct {
	Section string
	Path    string // from the suite's base
}

var ruleManifest = &wire.Rule{Section: "12.5", Name: "manifest", Class: wire.ClassSchema, Text: "a manifest lists the files of its suite and counts them"}

// OpenSuite reads the manifest of a suite. files is the folder that holds the
// manifest, or, if that is conformance/vectors, the folder above both; manifest is
// its path there. What contradicts the manifest is in Problems: a file it names
// that is not there, one that is there and not named, a wrong count.
func OpenSuite(files fs.FS, manifest string) (*Suite, error) {
	data, err := readFile(files, manifest)
	if err != nil {
		return nil, err
	}
	v, err := wire.Parse(data, wire.DocumentLimits)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifest, err)
	}
	r := wire.Read(v, "", ruleManifest)
	r.OneOf("schema_version", ManifestVersion)
	s := &Suite{files: files}
	counts, listed := r.Object("counts"), r.Object("files")
	named := make(map[string]bool)
	for _, section := range sections {
		for _, p := range listed.Strings(section) {
			if named[p] {
				s.problem("%s is listed twice", p)
			}
			named[p] = true
			s.Entries = append(s.Entries, Entry{section, p})
		}
		s.count(section, counts, len(listed.Strings(section)))
	}
	for _, others := range []string{"fixtures", "schemas"} {
		if !listed.Has(others) {
			continue
		}
		for _, p := range listed.Strings(others) {
			if _, err := fs.Stat(files, p); err != nil {
				s.problem("%s is listed and not there", p)
			}
		}
		s.count(others, counts, len(listed.Strings(others)))
	}
	if r.Has("mutation_batteries") {
		s.batteries(r)
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifest, err)
	}
	s.unlisted(path.Dir(manifest), named)
	return s, nil
}

func (s *Suite) problem(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// count compares the number of files of a section with what the manifest says.
func (s *Suite) count(section string, counts wire.Reader, n int) {
	if !counts.Has(section) {
		s.problem("the manifest does not count %s", section)
		return
	}
	if want := counts.Int(section, 0, wire.MaxSafeInteger); want != int64(n) {
		s.problem("the manifest counts %d %s and lists %d", want, section, n)
	}
}

// batteries compares the totals that a manifest gives for its mutations.
func (s *Suite) batteries(r wire.Reader) {
	var total, accept, reject int64
	for _, b := range r.Objects("mutation_batteries") {
		total += b.Int("total", 0, wire.MaxSafeInteger)
		accept += b.Int("accept", 0, wire.MaxSafeInteger)
		reject += b.Int("reject", 0, wire.MaxSafeInteger)
	}
	if n := int64(s.Sections()[slices.Index(sections, Mutation)]); total != n || accept+reject != n {
		s.problem("the batteries of the manifest hold %d mutations, %d to accept and %d to reject; %d are listed", total, accept, reject, n)
	}
}

// unlisted finds vectors in the folders of the suite that the manifest leaves out.
func (s *Suite) unlisted(folder string, named map[string]bool) {
	for _, section := range sections {
		entries, err := fs.ReadDir(s.files, path.Join(folder, section))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.problem("reading the folder %s: %v", section, err)
		}
		for _, e := range entries {
			if p := path.Join(folder, section, e.Name()); strings.HasSuffix(p, ".json") && !named[p] {
				s.problem("%s is there and not listed", p)
			}
		}
	}
}

// Read reads the vector of an entry.
func (s *Suite) Read(e Entry) (*Vector, error) {
	data, err := readFile(s.files, e.Path)
	if err != nil {
		return nil, err
	}
	return ReadVector(data)
}

// Find returns the vector of that id.
func (s *Suite) Find(id string) (*Vector, error) {
	for _, e := range s.Entries {
		if v, err := s.Read(e); err == nil && v.ID == id {
			return v, nil
		}
	}
	return nil, fmt.Errorf("there is no vector %q in this suite", id)
}

// Sections returns the number of entries of each section, in order.
func (s *Suite) Sections() []int {
	n := make([]int, len(sections))
	for _, e := range s.Entries {
		n[slices.Index(sections, e.Section)]++
	}
	return n
}

var errNotAFile = errors.New("not a regular file")

// readFile reads a file of bounded size. What is no file is not opened: a pipe would
// keep the run waiting, a device would never end.
func readFile(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotAFile}
	}
	if err != nil {
		return nil, fmt.Errorf("opening a file of the suite: %w", err)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening a file of the suite: %w", err)
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(min(info.Size(), wire.MaxDocumentSize)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(f, wire.MaxDocumentSize+1))
	if err == nil && n > wire.MaxDocumentSize {
		err = wire.RuleSize
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return b.Bytes(), nil
}
