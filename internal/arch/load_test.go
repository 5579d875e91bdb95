package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

const module = "github.com/concordia-node/concordia"

// A tree is the module's sources, parsed without types: build constraints are
// ignored, so a file behind a tag is held to the same rules.
type tree struct {
	fsys  fs.FS
	fset  *token.FileSet
	pkgs  []*pkg   // in order of path
	paths []string // every file that belongs to the repository
}

type pkg struct {
	path  string // below the module; "." is the root
	files []*file
}

type file struct {
	name   string // below the module
	ast    *ast.File
	lines  int
	test   bool // a _test.go file
	linked bool // part of the package: no test, no "go run" helper
}

// load parses every package below fsys, except testdata, hidden folders and
// nested modules.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fsys: fsys, fset: token.NewFileSet()}
	byPath := make(map[string]*pkg)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		t.paths = append(t.paths, name)
		dir := path.Dir(name)
		if path.Ext(name) != ".go" || !inModule(fsys, dir) {
			return nil
		}
		f, err := t.parse(name)
		if err != nil {
			return err
		}
		p := byPath[dir]
		if p == nil {
			p = &pkg{path: dir}
			byPath[dir] = p
			t.pkgs = append(t.pkgs, p)
		}
		p.files = append(p.files, f)
		return nil
	})
	return t, err
}

// inModule reports whether the go command would build dir as part of the module.
func inModule(fsys fs.FS, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		base := path.Base(dir)
		if base == "testdata" || base[0] == '.' || base[0] == '_' {
			return false
		}
		if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
			return false
		}
	}
	return true
}

func (t *tree) parse(name string) (*file, error) {
	src, err := fs.ReadFile(t.fsys, name)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(t.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, ast: parsed, lines: strings.Count(string(src), "\n")}
	f.test = strings.HasSuffix(name, "_test.go")
	f.linked = !f.test
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && expr.String() == "ignore" && c.Pos() < parsed.Package {
				f.linked = false
			}
		}
	}
	return f, nil
}

// name is the package's name, or "" if the folder holds tests only.
func (p *pkg) name() string {
	for _, f := range p.files {
		if f.linked {
			return f.ast.Name.Name
		}
	}
	return ""
}

// imports yields the import path of each import declaration.
func (f *file) imports() iter.Seq2[string, *ast.ImportSpec] {
	return func(yield func(string, *ast.ImportSpec) bool) {
		for _, spec := range f.ast.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err == nil && !yield(p, spec) {
				return
			}
		}
	}
}

// localName is what the file calls the package importPath, or "" if it does not
// import it.
func (f *file) localName(importPath string) string {
	for p, spec := range f.imports() {
		if p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(p)
	}
	return ""
}

// selectors yields each mention of a name of the package importPath, called or
// not: "now := time.Now" reads the clock as well.
func (f *file) selectors(importPath string) iter.Seq[*ast.SelectorExpr] {
	local := f.localName(importPath)
	return func(yield func(*ast.SelectorExpr) bool) {
		if local == "" {
			return
		}
		for n := range ast.Preorder(f.ast) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && !yield(sel) {
				return
			}
		}
	}
}

// problem formats one finding as file:line: message.
func (t *tree) problem(at token.Pos, format string, args ...any) string {
	pos := t.fset.Position(at)
	return fmt.Sprintf("%s:%d: %s", pos.Filename, pos.Line, fmt.Sprintf(format, args...))
}

// matchAny reports whether one of the patterns (path.Match: * is one element)
// matches the package path.
func matchAny(patterns []string, pkgPath string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, pkgPath); ok {
			return true
		}
	}
	return false
}

// repository is the module this test belongs to, parsed once for all tests.
var repository = sync.OnceValues(func() (*tree, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for !isRoot(root) {
		parent := filepath.Dir(root)
		if parent == root {
			return nil, errors.New("no go.mod of " + module + " above the test")
		}
		root = parent
	}
	t, err := load(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	// Without git (a module zip) every file of the folder counts.
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err == nil && len(out) > 0 {
		t.paths = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	return t, nil
})

func isRoot(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(mod), "module "+module+"\n")
}

// verify runs a rule on the module.
func verify(t *testing.T, rule func(*tree) []string) {
	t.Helper()
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rule(repo) {
		t.Error(p)
	}
}

// A faulty holds sources that break a rule, and a part of each problem the rule
// must find in them, in order.
type faulty struct {
	name string
	src  map[string]string
	want []string
}

// verifyFaults runs a rule on sources that break it: a rule that cannot fail
// proves nothing.
func verifyFaults(t *testing.T, rule func(*tree) []string, tests []faulty) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := make(fstest.MapFS)
			for name, src := range tt.src {
				fsys[name] = &fstest.MapFile{Data: []byte(src)}
			}
			parsed, err := load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			got := rule(parsed)
			if len(got) != len(tt.want) {
				t.Fatalf("found %d problems, want %d:\n%s", len(got), len(tt.want), strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("problem %d = %q, want it to contain %q", i, got[i], want)
				}
			}
		})
	}
}

// TestLoadFindsPackages guards against a loader that finds nothing and so lets
// every rule pass.
func TestLoadFindsPackages(t *testing.T) {
	repo, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range repo.pkgs {
		if p.path == "internal/arch" && p.name() == "arch" && len(p.files) > 1 {
			return
		}
	}
	t.Errorf("the loader did not find internal/arch among %d packages", len(repo.pkgs))
}

func TestLoadSkips(t *testing.T) {
	fsys := fstest.MapFS{
		"a/a.go":          {Data: []byte("package a\n")},
		"a/a_test.go":     {Data: []byte("package a_test\n")},
		"a/gen.go":        {Data: []byte("//go:build ignore\n\npackage main\n")},
		"a/tagged.go":     {Data: []byte("//go:build long\n\npackage a\n")},
		"a/testdata/t.go": {Data: []byte("not Go")},
		"_old/o.go":       {Data: []byte("not Go")},
		".hidden/h.go":    {Data: []byte("not Go")},
		"tools/go.mod":    {Data: []byte("module other\n")},
		"tools/sub/s.go":  {Data: []byte("not Go")},
	}
	parsed, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range parsed.pkgs {
		for _, f := range p.files {
			got = append(got, fmt.Sprintf("%s %s test=%t linked=%t", p.path, f.name, f.test, f.linked))
		}
	}
	want := []string{
		"a a/a.go test=false linked=true",
		"a a/a_test.go test=true linked=false",
		"a a/gen.go test=false linked=false",
		"a a/tagged.go test=false linked=true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("load found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
