package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// A ban refuses an import.
type ban struct {
	path string // a package of the standard library, or a module and all below it
	why  string
	in   []string // the packages it holds for; nil: all, and their tests
}

// bans are the imports this module does without, and why.
var bans = []ban{
	{path: "encoding/json", why: "its case-insensitive names and last duplicate must never see signed bytes: use the value tree of package wire",
		in: []string{"wire", "wire/a2a", "offer", "offer/*", "session", "attest", "attest/*"}},
	{path: "github.com/cyberphone/json-canonicalization", why: "accepts broken numbers, UTF-8 and surrogates, and overflows the stack on deep input"},
	{path: "github.com/hdevalence/ed25519consensus", why: "accepts signatures that single verification refuses, so two nodes could disagree"},
	{path: "github.com/oasisprotocol/curve25519-voi", why: "its defaults give other verdicts than the standard library"},
	{path: "github.com/pkg/errors", why: "fmt.Errorf with %w wraps, and wire.Violation carries what a caller can use"},
	{path: "github.com/santhosh-tekuri/jsonschema/v5/httploader", why: "importing it lets every schema in the program load from the network"},
	{path: "github.com/stretchr/testify", why: "no assertion libraries: a test says got and want"},
	{path: "io/ioutil", why: "deprecated: io and os have its functions"},
}

// emptyNames are package names that say nothing about what is inside.
var emptyNames = []string{"base", "common", "helper", "helpers", "manager", "misc", "shared", "types", "util", "utils"}

func (b ban) refuses(imp string) bool {
	isModule := strings.Contains(b.path, ".")
	return imp == b.path || isModule && strings.HasPrefix(imp, b.path+"/")
}

func checkBans(t *tree) []string {
	var problems []string
	for _, p := range t.pkgs {
		for _, f := range p.files {
			for imp, spec := range f.imports() {
				for _, b := range bans {
					if !b.refuses(imp) || b.in != nil && (f.test || !matchAny(b.in, p.path)) {
						continue
					}
					problems = append(problems, t.problem(spec.Pos(), "imports %s: %s", imp, b.why))
				}
			}
		}
	}
	return problems
}

func TestBannedImports(t *testing.T) { verify(t, checkBans) }

func TestBannedImportsFaults(t *testing.T) {
	tests := []faulty{{
		name: "encoding/json elsewhere and in tests",
		src: map[string]string{
			"node/a.go":      "package node\nimport _ \"encoding/json\"",
			"wire/a_test.go": "package wire\nimport _ \"encoding/json\"",
		},
	}, {
		name: "a package of a module",
		src:  map[string]string{"node/a_test.go": "package node\nimport _ \"github.com/stretchr/testify/require\""},
		want: []string{"node/a_test.go:2: imports github.com/stretchr/testify/require: no assertion libraries"},
	}}
	for _, b := range bans {
		tests = append(tests, faulty{
			name: b.path,
			src:  map[string]string{"attest/a.go": "package attest\nimport _ \"" + b.path + "\""},
			want: []string{"attest/a.go:2: imports " + b.path + ": " + b.why},
		})
		if b.in == nil {
			tests = append(tests, faulty{
				name: b.path + " in a test",
				src:  map[string]string{"node/a_test.go": "package node\nimport _ \"" + b.path + "\""},
				want: []string{b.path},
			})
		}
	}
	verifyFaults(t, checkBans, tests)
}

func checkNames(t *tree) []string {
	var problems []string
	for _, p := range t.pkgs {
		for _, name := range []string{path.Base(p.path), p.name()} {
			if slices.Contains(emptyNames, name) {
				problems = append(problems, fmt.Sprintf("package %s (%s): the name %q says nothing; name it for what it provides, "+
					"or put the code where it is used", p.path, p.name(), name))
				break
			}
		}
	}
	return problems
}

func TestPackageNames(t *testing.T) { verify(t, checkNames) }

func TestPackageNamesFaults(t *testing.T) {
	tests := []faulty{{
		name: "good names",
		src:  map[string]string{"wire/a.go": "package wire", "wire/utility/a.go": "package utility"},
	}}
	for _, name := range emptyNames {
		tests = append(tests, faulty{
			name: name,
			src: map[string]string{
				"a/" + name + "/a.go": "package fine",
				"b/fine/a.go":         "package " + name,
			},
			want: []string{fmt.Sprintf("package a/%s (fine): the name %q", name, name), fmt.Sprintf("package b/fine (%s)", name)},
		})
	}
	verifyFaults(t, checkNames, tests)
}

// checkSleep finds tests that wait for real time: by time.Sleep, and by the channel of
// a timer or ticker, which may only be a case of a select that gives up: its last
// statement is a panic, a return, or a call of Fatal, Fatalf, Error or Errorf. Inside a
// synctest bubble the clock is not real, and to wait is how a test moves it.
func checkSleep(t *tree) []string {
	var problems []string
	for _, p := range t.pkgs {
		for _, f := range p.files {
			if !f.test {
				continue
			}
			clock, bubble := f.localName("time"), f.localName("testing/synctest")
			var allowed []ast.Node
			for n := range ast.Preorder(f.ast) {
				switch n := n.(type) {
				case *ast.CallExpr:
					if bubble != "" && isSelector(n.Fun, bubble, "Test") {
						allowed = append(allowed, n)
					}
				case *ast.CommClause:
					if n.Comm != nil && givesUp(n.Body) {
						allowed = append(allowed, n.Comm)
					}
				}
			}
			for n := range ast.Preorder(f.ast) {
				what := waitsFor(n, clock)
				if what != "" && !slices.ContainsFunc(allowed, func(a ast.Node) bool { return a.Pos() <= n.Pos() && n.End() <= a.End() }) {
					problems = append(problems, t.problem(n.Pos(), "%s in a test is slow on a fast machine and flaky on a slow one: "+
						"wait for the event itself, or run the test in a synctest bubble", what))
				}
			}
		}
	}
	return problems
}

// waitsFor names what n waits for if that is the clock, known to the file by this name.
func waitsFor(n ast.Node, clock string) string {
	isTimer := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "C"
	}
	switch n := n.(type) {
	case *ast.SelectorExpr:
		for _, name := range []string{"Sleep", "After", "Tick"} {
			if clock != "" && isSelector(n, clock, name) {
				return "time." + name
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && isTimer(n.X) {
			return "receiving from a timer"
		}
	case *ast.RangeStmt:
		if isTimer(n.X) {
			return "receiving from a ticker"
		}
	}
	return ""
}

// givesUp reports whether a body ends its test or its function.
func givesUp(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	switch last := body[len(body)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			return f.Name == "panic"
		case *ast.SelectorExpr:
			return slices.Contains([]string{"Fatal", "Fatalf", "Error", "Errorf"}, f.Sel.Name)
		}
	}
	return false
}

func isSelector(e ast.Expr, x, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == x
}

func TestNoSleep(t *testing.T) { verify(t, checkSleep) }

func TestNoSleepFaults(t *testing.T) {
	verifyFaults(t, checkSleep, []faulty{
		{
			name: "in a test",
			src:  map[string]string{"node/a_test.go": "package node\nimport \"time\"\nfunc f() {\n\ttime.Sleep(1)\n}"},
			want: []string{"node/a_test.go:4: time.Sleep in a test"},
		},
		{
			name: "the channel of a timer",
			src: map[string]string{"node/a_test.go": "package node\nimport \"time\"\nfunc f() {\n<-time.After(1)\n<-time.NewTimer(1).C\n" +
				"for range time.Tick(1) {\n}\nfor range tick.C {\n}\n}"},
			want: []string{
				"node/a_test.go:4: time.After in a test", "node/a_test.go:5: receiving from a timer in a test",
				"node/a_test.go:6: time.Tick in a test", "node/a_test.go:8: receiving from a ticker in a test",
			},
		},
		{
			name: "a select that goes on",
			src: map[string]string{"node/a_test.go": "package node\nimport \"time\"\nfunc f() {\nselect {\ncase <-done:\n" +
				"case <-time.After(1):\n}\nselect {\ncase <-done:\ncase <-tick.C:\n\tpoll()\n}\n}"},
			want: []string{"node/a_test.go:6: time.After in a test", "node/a_test.go:10: receiving from a timer in a test"},
		},
		{
			name: "a select that gives up",
			src: map[string]string{"node/a_test.go": "package node\nimport \"time\"\nfunc f(t *testing.T) error {\n" +
				"select {\ncase <-done:\ncase <-time.After(1):\n\tt.Fatal(0)\n}\n" +
				"select {\ncase <-done:\ncase <-limit.C:\n\tpanic(0)\n}\n" +
				"select {\ncase <-done:\ncase <-limit.C:\n\treturn errLate\n}\n}"},
		},
		{
			name: "beside a bubble",
			src: map[string]string{"node/a_test.go": "package node\nimport (\n\"time\"\n\"testing/synctest\"\n)\n" +
				"func f() {\nsynctest.Test(nil, func() { time.Sleep(1) })\ntime.Sleep(2)\n}"},
			want: []string{"node/a_test.go:8: time.Sleep in a test"},
		},
		{
			name: "in the product",
			src:  map[string]string{"node/a.go": "package node\nimport \"time\"\nfunc f() { time.Sleep(1) }"},
		},
	})
}
