package arch

import (
	"go/ast"
	"slices"
	"testing"
)

// pure lists the packages whose results depend on their arguments alone, so that
// two parties who run them on the same bytes reach the same verdict.
var pure = []string{
	"attest",
	"attest/cmpc",
	"attest/reputation",
	"offer",
	"offer/*",
	"protocol",
	"protocol/menu",
	"protocol/prove",
	"protocol/source",
	"session",
	"wire",
	"wire/a2a",
}

// impureImports says why a pure package does not import a package.
var impureImports = map[string]string{
	"crypto/rand":  "chance comes in as an io.Reader: a replay must give the same bytes",
	"log":          "a pure function returns what it has to say",
	"math/rand":    "two parties must compute the same result",
	"math/rand/v2": "two parties must compute the same result",
	"net":          "a verdict must not depend on a network; keys come from the caller's resolver",
	"net/http":     "a verdict must not depend on a network; keys come from the caller's resolver",
	"os":           "files and environment belong to the caller: it passes bytes",
	"os/exec":      "files and environment belong to the caller: it passes bytes",
	"syscall":      "files and environment belong to the caller: it passes bytes",
}

// slogNames are the names of log/slog that a pure package may use: with them a
// secret hides itself from the caller's log. All others write one.
var slogNames = []string{"LogValuer", "StringValue", "Value"}

// impureNames says, by import path and name, why a pure package does not use a
// name of a package that it may import.
var impureNames = map[string]map[string]string{
	"time": {
		"After":     waits,
		"AfterFunc": waits,
		"NewTicker": waits,
		"NewTimer":  waits,
		"Now":       readsClock,
		"Since":     readsClock,
		"Sleep":     waits,
		"Tick":      waits,
		"Until":     readsClock,
	},
	"fmt": {
		"Print":   printsOut,
		"Printf":  printsOut,
		"Println": printsOut,
	},
}

const (
	readsClock = "now is an argument, so that a transcript replays to the same state"
	waits      = "waiting belongs to the caller: a deadline is compared with now, which is an argument"
	printsOut  = "standard output belongs to the command, and under MCP it is the protocol's own channel"
	logs       = "a pure function returns what it has to say, and a log must never see terms"
	goesOff    = "parallel work takes an executor from the caller, who knows its limits"
)

// checkPure finds clocks, chance, input and output, logging and goroutines in
// pure packages.
func checkPure(t *tree) []string {
	var problems []string
	for _, p := range t.pkgs {
		if !matchAny(pure, p.path) {
			continue
		}
		for _, f := range p.files {
			if !f.linked {
				continue
			}
			for imp, spec := range f.imports() {
				if why, ok := impureImports[imp]; ok {
					problems = append(problems, t.problem(spec.Pos(), "%s is pure and imports %s: %s", p.path, imp, why))
				}
			}
			for imp, names := range impureNames {
				for sel := range f.selectors(imp) {
					if why, ok := names[sel.Sel.Name]; ok {
						problems = append(problems, t.problem(sel.Pos(), "%s is pure and uses %s.%s: %s", p.path, imp, sel.Sel.Name, why))
					}
				}
			}
			for sel := range f.selectors("log/slog") {
				if !slices.Contains(slogNames, sel.Sel.Name) {
					problems = append(problems, t.problem(sel.Pos(), "%s is pure and uses log/slog.%s: %s", p.path, sel.Sel.Name, logs))
				}
			}
			for n := range ast.Preorder(f.ast) {
				if g, ok := n.(*ast.GoStmt); ok {
					problems = append(problems, t.problem(g.Pos(), "%s is pure and starts a goroutine: %s", p.path, goesOff))
				}
			}
		}
	}
	return problems
}

func TestPure(t *testing.T) { verify(t, checkPure) }

func TestPureFaults(t *testing.T) {
	tests := []faulty{
		{
			name: "clean",
			src: map[string]string{
				"session/a.go":      "package session\nimport \"time\"\nfunc f(now time.Time) time.Time { return now.Add(time.Second) }",
				"session/a_test.go": "package session\nimport (\n\"os\"\n\"time\"\n)\nvar _, _ = os.Args, time.Now",
			},
		},
		{
			name: "impure neighbours",
			src: map[string]string{
				"session/transcript/a.go": "package transcript\nimport _ \"os\"",
				"session/agent/a.go":      "package agent\nfunc f() { go f() }",
				"wire/keyfile/a.go":       "package keyfile\nimport _ \"crypto/rand\"",
				"wire/resolve/a.go":       "package resolve\nimport _ \"net/http\"",
			},
		},
		{
			name: "clock called",
			src:  map[string]string{"wire/a.go": "package wire\nimport \"time\"\nvar t = time.Now()"},
			want: []string{"wire/a.go:3: wire is pure and uses time.Now: now is an argument"},
		},
		{
			name: "clock as a value, renamed import",
			src:  map[string]string{"offer/match/a.go": "package match\nimport clock \"time\"\nvar now = clock.Since"},
			want: []string{"offer/match is pure and uses time.Since"},
		},
		{
			name: "printing",
			src:  map[string]string{"attest/cmpc/a.go": "package cmpc\nimport \"fmt\"\nfunc f() { fmt.Println() }"},
			want: []string{"uses fmt.Println"},
		},
		{
			name: "a secret hides from the log",
			src:  map[string]string{"wire/a.go": "package wire\nimport \"log/slog\"\nfunc (K) LogValue() slog.Value { return slog.StringValue(\"-\") }"},
		},
		{
			name: "logging",
			src:  map[string]string{"wire/a.go": "package wire\nimport \"log/slog\"\nfunc f() { slog.Info(\"-\") }"},
			want: []string{"wire/a.go:3: wire is pure and uses log/slog.Info: a pure function returns"},
		},
		{
			name: "goroutine",
			src:  map[string]string{"protocol/menu/a.go": "package menu\nfunc f() { go f() }"},
			want: []string{"protocol/menu/a.go:2: protocol/menu is pure and starts a goroutine"},
		},
	}
	for imp := range impureImports {
		tests = append(tests, faulty{
			name: "import " + imp,
			src:  map[string]string{"protocol/a.go": "package protocol\nimport _ \"" + imp + "\""},
			want: []string{"protocol is pure and imports " + imp + ": "},
		})
	}
	for name := range impureNames["time"] {
		tests = append(tests, faulty{
			name: "time." + name,
			src:  map[string]string{"attest/a.go": "package attest\nimport \"time\"\nvar x = time." + name},
			want: []string{"attest is pure and uses time." + name + ": "},
		})
	}
	verifyFaults(t, checkPure, tests)
}
