package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// namedTestRE finds a test as FAULTS.md names it: the package, the function, and
// perhaps cases of it.
var namedTestRE = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`(?: \\(([^)]*)\\))?")

const faultsFile = "conformance/FAULTS.md"

// checkNamedTests finds rows of FAULTS.md that name no test, and tests and cases that
// do not exist.
func checkNamedTests(t *tree) []string {
	data, err := fs.ReadFile(t.fsys, faultsFile)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		named := namedTestRE.FindAllStringSubmatch(line, -1)
		if named == nil {
			problems = append(problems, fmt.Sprintf("%s:%d: no test is named", faultsFile, n))
		}
		for _, m := range named {
			funcs, texts := t.tests(m[1])
			if !funcs[m[2]] {
				problems = append(problems, fmt.Sprintf("%s:%d: %s has no test %s", faultsFile, n, m[1], m[2]))
			}
			for name := range strings.SplitSeq(m[3], "; ") {
				if name != "" && !texts[name] {
					problems = append(problems, fmt.Sprintf("%s:%d: the tests of %s have no case %q", faultsFile, n, m[1], name))
				}
			}
		}
	}
	return problems
}

// tests returns the names of a package's test functions, and the texts in its tests.
func (t *tree) tests(path string) (funcs, texts map[string]bool) {
	funcs, texts = map[string]bool{}, map[string]bool{}
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if p.path != path || !f.test {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					funcs[n.Name.Name] = true
				case *ast.BasicLit:
					if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
						texts[s] = true
					}
				}
				return true
			})
		}
	}
	return funcs, texts
}

func TestNamedTests(t *testing.T) { verify(t, checkNamedTests) }

func TestNamedTestsFaults(t *testing.T) {
	of := func(row string) map[string]string {
		return with(map[string]string{
			faultsFile:       "| fault | here | test |\n|---|---|---|\n| it is wrong | right | " + row + " |\n",
			"wire/a_test.go": "package wire\n\nfunc TestA() { run(\"a case\", `another`) }\n",
		})
	}
	verifyFaults(t, checkNamedTests, []faulty{
		{name: "a test", src: of("`wire.TestA`")},
		{name: "cases", src: of("`wire.TestA` (a case; another)")},
		{name: "none", src: of("obvious"), want: []string{faultsFile + ":3: no test is named"}},
		{name: "no such test", src: of("`wire.TestB`"), want: []string{"wire has no test TestB"}},
		{name: "no such package", src: of("`attest.TestA`"), want: []string{"attest has no test TestA"}},
		{name: "no such case", src: of("`wire.TestA` (a case; a third)"), want: []string{`no case "a third"`}},
	})
}
