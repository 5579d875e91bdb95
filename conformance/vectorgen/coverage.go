package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A ruleRow is a row of the appendix of SPEC.md.
type ruleRow struct {
	pkg, name, section, class, text string
}

var (
	appendixRow = regexp.MustCompile(`^\| (\S+) \| (\S+) \| §(\S+) \| (\S+) \| (.*) \|$`)
	ruleVar     = regexp.MustCompile(`(Rule\w+|rule\w+) +=? *= &(?:wire\.)?Rule\{Section: "[^"]*", Name: "([^"]*)"`)
	sentenceEnd = regexp.MustCompile(`[.!]\s+|\n\s*\n|\n\|`)
	heading     = regexp.MustCompile(`^#+ (\d[\d.]*[a-z]?) `)
	quoted      = regexp.MustCompile("`([a-z0-9-]+)`")
)

// coverage returns the page that leads from each MUST of SPEC.md to its rule, and
// from each rule to the tests that break it and the vectors that do.
func coverage(root string, vectors []vector) ([]byte, error) {
	spec, err := os.ReadFile(filepath.Join(root, "SPEC.md"))
	if err != nil {
		return nil, err
	}
	rules := specRules(string(spec))
	tests, err := testsOf(root, rules)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# What is covered\n\nWritten by `go run ./conformance/vectorgen`. Every rule of [SPEC.md](../../SPEC.md), the tests that break it, and the vectors of this suite that break it and nothing else. " +
		"Rules of the formats themselves (`conformance`) are held by tests.\n\n## From MUST to rule\n\n| § | SPEC.md says | rules |\n|---|---|---|\n")
	for _, m := range musts(string(spec), rules) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m[0], m[1], m[2])
	}
	b.WriteString("\n## From rule to tests and vectors\n\n| § | rule | class | tests | vectors |\n|---|---|---|---|---|\n")
	for _, r := range rules {
		var ids []string
		for _, v := range vectors {
			if v.rule != nil && v.rule.Name == r.name && v.rule.Section == r.section {
				ids = append(ids, v.id)
			}
		}
		slices.Sort(ids)
		shown := strings.Join(ids[:min(len(ids), 3)], ", ")
		if len(ids) > 3 {
			shown += fmt.Sprintf(" and %d more", len(ids)-3)
		}
		fmt.Fprintf(&b, "| %s | %s `%s` | %s | %s | %s |\n", r.section, r.pkg, r.name, r.class, strings.Join(tests[r.pkg+" "+r.name], ", "), shown)
	}
	b.WriteString("\n## What the reference runners disagree on\n\nThe two runners that are published with the contract, run over the vectors `decided-…`, the Python one with stand-ins for two libraries. " +
		"They judge every other vector of the contract's profiles as expected.\n\n| vector | decided | because | JS runner | Python runner |\n|---|---|---|---|---|\n")
	for _, d := range disagreements() {
		verdict := accepts
		if d.rule != nil {
			verdict = rejects
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", "decided-"+d.name, verdict, d.why, d.js, d.python)
	}
	if len(notIsolated) > 0 {
		b.WriteString("\n## Rules that no vector can break alone\n\n")
		var lines []string
		for rule, why := range notIsolated {
			lines = append(lines, fmt.Sprintf("- §%s `%s`: %s\n", rule.Section, rule.Name, why))
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return []byte(b.String()), nil
}

// specRules reads the appendix of SPEC.md.
func specRules(spec string) []ruleRow {
	var rules []ruleRow
	for line := range strings.Lines(spec) {
		if m := appendixRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			rules = append(rules, ruleRow{m[1], m[2], m[3], m[4], m[5]})
		}
	}
	return rules
}

// musts returns section, sentence and rules of each MUST in SPEC.md.
func musts(spec string, rules []ruleRow) [][3]string {
	var list [][3]string
	section := ""
	for _, sentence := range sentenceEnd.Split(spec, -1) {
		for line := range strings.Lines(sentence) {
			if m := heading.FindStringSubmatch(line); m != nil {
				section = m[1]
			}
		}
		if !strings.Contains(sentence, "MUST") {
			continue
		}
		var named []string
		for _, q := range quoted.FindAllStringSubmatch(sentence, -1) {
			if slices.ContainsFunc(rules, func(r ruleRow) bool { return r.name == q[1] }) && !slices.Contains(named, q[1]) {
				named = append(named, q[1])
			}
		}
		if len(named) == 0 {
			named = []string{"none: the sentence says why"}
		}
		said := strings.Join(strings.Fields(sentence), " ")
		list = append(list, [3]string{section, strings.ReplaceAll(said, "|", "\\|"), strings.Join(named, ", ")})
	}
	return list
}

// testsOf returns, for each rule, the test files that name it or its variable.
func testsOf(root string, rules []ruleRow) (map[string][]string, error) {
	vars := map[string]string{} // package and rule to variable
	texts := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "conformance/vectors") {
			return fs.SkipDir
		}
		isTest := strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".txtar")
		if d.IsDir() || !isTest && !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if isTest {
			texts[name] = string(text)
			return nil
		}
		pkg := "."
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			pkg = name[:i]
		}
		for _, m := range ruleVar.FindAllStringSubmatch(string(text), -1) {
			vars[pkg+" "+m[2]] = m[1]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	tests := map[string][]string{}
	for _, r := range rules {
		id := r.pkg + " " + r.name
		variable := regexp.MustCompile(`\b` + regexp.QuoteMeta(vars[id]) + `\b`)
		for name, text := range texts {
			inPackage := strings.HasPrefix(name, r.pkg+"/")
			if vars[id] != "" && strings.Contains(text, vars[id]) && variable.MatchString(text) && (inPackage || strings.Contains(text, "/"+r.pkg+"\"")) ||
				inPackage && (strings.Contains(text, `"`+r.name+` at `) || strings.Contains(text, `"`+r.name+`"`)) {
				tests[id] = append(tests[id], name)
			}
		}
		slices.Sort(tests[id])
	}
	return tests, nil
}
