package main

import (
	"encoding/json"
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// ruled are the rules that the suite has to see, by package.
func ruled() map[string][]*wire.Rule {
	return map[string][]*wire.Rule{
		"wire": wire.Rules(), "offer": offer.Rules(), "session": session.Rules(), "attest": attest.Rules(),
		"attest/cmpc": cmpc.Rules(), "wire/a2a": a2a.Rules(),
	}
}

// killer is the program that runs the suite once for each rule, with that rule
// switched off. It prints for each a line: package, rule, number of vectors that
// fail, number of those that are to be rejected for the class of the rule.
const killer = `package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

func main() {
	run := func() []conformance.Result {
		suite, err := conformance.OpenSuite(os.DirFS(os.Args[1]), "conformance/vectors/manifest.json")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		r := conformance.Run{Suite: suite}
		for range runtime.GOMAXPROCS(0) {
			r.Judges = append(r.Judges, judge{})
		}
		results, _ := r.Do()
		return results
	}
	for _, r := range run() {
		if !r.OK() {
			fmt.Fprintln(os.Stderr, "with every rule on:", r.ID, r.Expected, r.Got, r.Err)
			os.Exit(1)
		}
	}
	for _, p := range []struct {
		name  string
		rules []*wire.Rule
	}{
		{"wire", wire.Rules()}, {"offer", offer.Rules()}, {"session", session.Rules()}, {"attest", attest.Rules()},
		{"attest/cmpc", cmpc.Rules()}, {"wire/a2a", a2a.Rules()},
	} {
		for _, rule := range p.rules {
			wire.Off = rule
			failed, fit := 0, 0
			for _, r := range run() {
				if !r.OK() {
					failed++
					if r.ExpectedReason == rule.Class {
						fit++
					}
				}
			}
			wire.Off = nil
			fmt.Println(p.name, rule.Name, failed, fit)
		}
	}
}

// judge takes a verifier that breaks down for one that rejects.
type judge struct{}

func (judge) Judge(q conformance.Question) (verdict string, reason wire.Class, err error) {
	defer func() {
		if recover() != nil {
			verdict = "reject"
		}
	}()
	return conformance.Own{}.Judge(q)
}
`

// kill switches each rule off in turn and returns an error unless a vector sees it,
// or a line says why none can.
func kill(root string, files map[string][]byte, out io.Writer) error {
	tmp, err := os.MkdirTemp("", "vectorgen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	if err := write(filepath.Join(tmp, "suite", "conformance", "vectors"), files); err != nil {
		return err
	}
	w := &rewriter{fset: token.NewFileSet(), dir: tmp, files: map[string]string{}}
	if err := w.all(root); err != nil {
		return err
	}
	if err := w.put(filepath.Join(root, "conformance", "vectorgen", "killed", "main.go"), []byte(killer)); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": w.files})
	if err != nil {
		return err
	}
	overlayPath := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(overlayPath, overlay, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "-overlay", overlayPath, "./conformance/vectorgen/killed", filepath.Join(tmp, "suite"))
	cmd.Dir, cmd.Stderr = root, os.Stderr
	lines, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("running the suite with rules switched off: %w", err)
	}
	return judgeKills(string(lines), out)
}

// judgeKills prints what became of each rule, and returns an error if some rule was
// not seen and not explained, or explained and seen.
func judgeKills(lines string, out io.Writer) error {
	excused := map[string]string{}
	for rule, why := range notIsolated {
		for pkg, rules := range ruled() {
			if slices.Contains(rules, rule) {
				excused[pkg+" "+rule.Name] = why
			}
		}
	}
	var survivors []string
	total := 0
	for line := range strings.Lines(lines) {
		var pkg, name string
		var failed, fit int
		if _, err := fmt.Sscan(line, &pkg, &name, &failed, &fit); err != nil {
			return fmt.Errorf("reading %q: %w", line, err)
		}
		total++
		why, ok := excused[pkg+" "+name]
		switch {
		case fit > 0 && !ok:
			fmt.Fprintf(out, "killed   %s %s by %d vectors\n", pkg, name, failed)
		case fit > 0:
			fmt.Fprintf(out, "killed   %s %s by %d vectors, although: %s\n", pkg, name, failed, why)
			survivors = append(survivors, pkg+" "+name+" (is excused and need not be)")
		case ok:
			fmt.Fprintf(out, "excused  %s %s: %s\n", pkg, name, why)
		default:
			fmt.Fprintf(out, "SURVIVED %s %s (%d vectors fail, none for its class)\n", pkg, name, failed)
			survivors = append(survivors, pkg+" "+name)
		}
	}
	fmt.Fprintf(out, "%d rules, %d excused, %d not killed\n", total, len(excused), len(survivors))
	if len(survivors) > 0 || 100*len(excused) >= 3*total {
		return fmt.Errorf("%d rules are not seen by the suite: %s", len(survivors), strings.Join(survivors, ", "))
	}
	return nil
}

// notIsolated says of rules that no vector can break alone why.
var notIsolated = merge()

func merge(lists ...map[*wire.Rule]string) map[*wire.Rule]string {
	all := map[*wire.Rule]string{}
	for _, l := range lists {
		maps.Copy(all, l)
	}
	return all
}
