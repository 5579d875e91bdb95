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
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

// ruled are the rules that the suite has to see, by package.
func ruled() map[string][]*wire.Rule {
	return map[string][]*wire.Rule{
		"wire": wire.Rules(), "offer": offer.Rules(), "session": session.Rules(), "attest": attest.Rules(),
		"attest/cmpc": cmpc.Rules(), "attest/reputation": reputation.Rules(), "wire/a2a": a2a.Rules(),
	}
}

// killer is the program that runs the suite once for each rule, with that rule
// switched off, and once for each lazy verifier. It prints lines: "rule", package,
// rule, number of vectors that fail, number of those that are to be rejected for the
// class of the rule; and "lazy", name, number of vectors that fail, number of all.
const killer = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/attest/cmpc"
	"github.com/concordia-node/concordia/attest/reputation"
	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/offer"
	"github.com/concordia-node/concordia/session"
	"github.com/concordia-node/concordia/wire"
	"github.com/concordia-node/concordia/wire/a2a"
)

func main() {
	check := run(os.Args[1])
	for _, r := range check {
		if !r.OK() {
			fmt.Fprintln(os.Stderr, "with every rule on:", r.ID, r.Expected, r.Got, r.Err)
			os.Exit(1)
		}
	}
	flipped := map[string]bool{} // the vectors that one rule alone decides
	for _, p := range []struct {
		name  string
		rules []*wire.Rule
	}{
		{"wire", wire.Rules()}, {"offer", offer.Rules()}, {"session", session.Rules()}, {"attest", attest.Rules()},
		{"attest/cmpc", cmpc.Rules()}, {"attest/reputation", reputation.Rules()}, {"wire/a2a", a2a.Rules()},
	} {
		for _, rule := range p.rules {
			wire.Off = func(r *wire.Rule) bool { return r == rule }
			failed, fit := 0, 0
			for _, r := range run(os.Args[1]) {
				if !r.OK() {
					failed++
					flipped[r.ID] = true
					if r.ExpectedReason == rule.Class {
						fit++
					}
				}
			}
			fmt.Println("rule", p.name, rule.Name, failed, fit)
		}
	}
	for _, r := range check {
		if r.Expected == "reject" && !flipped[r.ID] {
			fmt.Println("stuck", r.ID, 0, 0)
		}
	}
	chain := []*wire.Rule{wire.RulePrevHash, wire.RuleMessageID, wire.RuleSession, session.RuleReceiptChain, attest.RuleSet, cmpc.RuleTransitionChain}
	class := func(c wire.Class) func(*wire.Rule) bool { return func(r *wire.Rule) bool { return r.Class == c } }
	for _, lazy := range []struct {
		name string
		off  func(*wire.Rule) bool
	}{
		{"skip-signature", class(wire.ClassSignature)},
		{"skip-time", class(wire.ClassTemporal)},
		{"skip-chain", func(r *wire.Rule) bool { return slices.Contains(chain, r) }},
		{"skip-binding", class(wire.ClassBinding)},
	} {
		wire.Off = lazy.off
		count(lazy.name, run(os.Args[1]))
	}
	careless := lastWins(os.Args[1])
	wire.Off = class(wire.ClassSchema) // which reading JSON strictly is part of
	count("skip-schema", run(careless))
	wire.Off = nil
	count("last-duplicate-wins", run(careless))
	reject, all := 0, 0
	for _, r := range check {
		if all++; r.Expected == "reject" {
			reject++
		}
	}
	fmt.Println("lazy always-accept", reject, all)
	fmt.Println("lazy always-reject", all-reject, all)
}

func count(name string, results []conformance.Result) {
	failed := 0
	for _, r := range results {
		if !r.OK() {
			failed++
		}
	}
	fmt.Println("lazy", name, failed, len(results))
}

func run(dir string) []conformance.Result {
	suite, err := conformance.OpenSuite(os.DirFS(dir), "conformance/vectors/manifest.json")
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

// lastWins copies the suite as a reader sees it to whom the last of two members of
// one name counts, in the texts inside it too.
func lastWins(dir string) string {
	to := dir + "-last-wins"
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(name, dir)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, reread(data), 0o600)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return to
}

// reread reads JSON as a careless reader does and writes what is left of it.
func reread(data []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return data
	}
	if m, ok := v.(map[string]any); ok {
		if input, ok := m["input"].(map[string]any); ok {
			if text, ok := input["text"].(string); ok && m["record_type"] == "json_text" {
				input["text"] = string(reread([]byte(text)))
			}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return data
	}
	return b.Bytes()
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

// leastShare is what part of the suite, in percent, a lazy verifier has to fail.
const leastShare = 15

// judgeKills prints what became of each rule and each lazy verifier. It returns an
// error if some rule was not seen and not explained, or explained and seen, or if a
// lazy verifier got through with less than its share.
func judgeKills(lines string, out io.Writer) error {
	excused := map[string]string{}
	for rule, why := range notIsolated {
		for pkg, rules := range ruled() {
			if slices.Contains(rules, rule) {
				excused[pkg+" "+rule.Name] = why
			}
		}
	}
	var faults []string
	total, spared, stuck := 0, 0, 0
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		n := len(fields)
		failed, of := must(strconv.Atoi(fields[n-2])), must(strconv.Atoi(fields[n-1]))
		name := strings.Join(fields[1:n-2], " ")
		if fields[0] == "stuck" {
			stuck++
			fmt.Fprintf(out, "stuck    %s is rejected whichever rule is off\n", name)
			continue
		}
		if fields[0] == "lazy" {
			fmt.Fprintf(out, "lazy     %-20s fails %d of %d, %d %%\n", name, failed, of, 100*failed/of)
			if 100*failed < leastShare*of {
				faults = append(faults, fmt.Sprintf("%s fails only %d of %d", name, failed, of))
			}
			continue
		}
		total++
		why, ok := excused[name]
		switch {
		case of > 0 && !ok:
			fmt.Fprintf(out, "killed   %s by %d vectors\n", name, failed)
		case of > 0:
			fmt.Fprintf(out, "killed   %s by %d vectors, although: %s\n", name, failed, why)
			faults = append(faults, name+" is excused and need not be")
		case ok:
			spared++
			fmt.Fprintf(out, "excused  %s: %s\n", name, why)
		default:
			fmt.Fprintf(out, "SURVIVED %s (%d vectors fail, none for its class)\n", name, failed)
			faults = append(faults, name+" survives")
		}
	}
	fmt.Fprintf(out, "%d rules, %d excused, %d faults; %d vectors that no single rule decides\n", total, spared, len(faults), stuck)
	if spared > 0 && 100*spared >= 3*total {
		faults = append(faults, fmt.Sprintf("%d of %d rules are excused", spared, total))
	}
	if len(faults) > 0 {
		return fmt.Errorf("the suite is too weak:\n  %s", strings.Join(faults, "\n  "))
	}
	return nil
}

// notIsolated says of rules that no vector can break alone why.
var notIsolated = merge(messagesNotIsolated, receiptsNotIsolated, excusedOfAgents)

func merge(lists ...map[*wire.Rule]string) map[*wire.Rule]string {
	all := map[*wire.Rule]string{}
	for _, l := range lists {
		maps.Copy(all, l)
	}
	return all
}
