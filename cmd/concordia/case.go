package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// A judgement is what became of one case.
type judgement struct {
	File     string    `json:"file"`
	ID       string    `json:"id,omitempty"`
	Kind     string    `json:"kind,omitempty"`
	Verdict  string    `json:"verdict,omitempty"` // accept, reject; empty if it was skipped
	Expected string    `json:"expected,omitempty"`
	Agrees   bool      `json:"agrees"`
	Arguable bool      `json:"arguable,omitempty"`
	Skipped  string    `json:"skipped,omitempty"`
	Problem  *problem  `json:"problem,omitempty"`
	Checks   []finding `json:"checks,omitempty"`
}

// A tally counts judgements.
type tally struct {
	Cases     int            `json:"cases"`
	Agree     int            `json:"agree"`
	Differ    int            `json:"differ"`
	Arguable  int            `json:"arguable_differ"`
	Unstated  int            `json:"unstated"` // the case expects nothing
	NotBuilt  int            `json:"not_built"`
	NotACase  int            `json:"not_a_case"`
	NotByKind map[string]int `json:"not_built_by_kind,omitempty"`
}

func (a *app) verifyCases(args []string, verbose bool) error {
	files, err := caseFiles(args)
	if err != nil {
		return err
	}
	total := tally{NotByKind: map[string]int{}}
	list := []judgement{}
	for _, path := range files {
		j, err := judgeFile(path)
		if err != nil {
			return err
		}
		total.add(j)
		list = append(list, j)
		a.printJudgement(j, verbose)
	}
	a.printTally(total)
	if err := a.out.value(map[string]any{"cases": list, "total": total}); err != nil {
		return err
	}
	if total.Differ > 0 {
		return cli.Exit(cli.Rejected, nil)
	}
	if total.NotACase > 0 {
		return fmt.Errorf("%d of the files are no cases", total.NotACase)
	}
	if total.Agree+total.Arguable+total.Unstated == 0 {
		return cli.Exit(cli.Unchecked, errors.New("no case was judged"))
	}
	return nil
}

func judgeFile(path string) (judgement, error) {
	j := judgement{File: path}
	data, err := readFile(path)
	if err != nil {
		return j, err
	}
	c, err := conformance.ReadCase(data)
	if err != nil {
		j.Skipped = "not a case: " + err.Error()
		return j, nil
	}
	j.ID, j.Kind, j.Expected, j.Arguable = c.ID, c.Kind, c.Expected, c.Arguable
	report, err := c.Judge()
	if errors.Is(err, conformance.ErrNotBuilt) {
		j.Skipped = cli.Printable(err.Error())
		return j, nil
	}
	if err != nil {
		return j, fmt.Errorf("judging %s: %w", path, err)
	}
	j.Verdict = conformance.Verdict(report)
	j.Agrees = j.Verdict == j.Expected
	j.Problem = problemOf(report.Err())
	j.Checks = findings(report)
	return j, nil
}

func (t *tally) add(j judgement) {
	t.Cases++
	switch {
	case j.Kind == "":
		t.NotACase++
	case j.Skipped != "":
		t.NotBuilt++
		t.NotByKind[j.Kind]++
	case j.Expected == "":
		t.Unstated++
	case j.Agrees:
		t.Agree++
	case j.Arguable:
		t.Arguable++
	default:
		t.Differ++
	}
}

func (a *app) printJudgement(j judgement, verbose bool) {
	quiet := j.Agrees || j.Kind != "" && j.Skipped != ""
	if a.out.json || quiet && !verbose {
		return
	}
	name := cli.Printable(j.ID)
	if name == "" {
		name = cli.Printable(j.File)
	}
	switch {
	case j.Skipped != "":
		a.out.printf("%s %s: %s\n", a.out.paint(yellow, "skip"), name, j.Skipped)
	case j.Expected == "":
		a.out.printf("%s %s", a.out.paint(bold, j.Verdict), name)
	case j.Agrees:
		a.out.printf("%s %s: %s", a.out.paint(green, "ok"), name, j.Verdict)
	case j.Arguable:
		a.out.printf("%s %s: %s, the case says %s", a.out.paint(yellow, "arguable"), name, j.Verdict, j.Expected)
	default:
		a.out.printf("%s %s: %s, the case says %s", a.out.paint(red, "WRONG"), name, j.Verdict, j.Expected)
	}
	if j.Skipped == "" {
		if j.Problem != nil {
			a.out.printf("\n   %s", j.Problem.Message)
		}
		a.out.printf("\n")
	}
}

func (a *app) printTally(t tally) {
	a.out.printf("%d cases: %d as expected, %d not", t.Cases, t.Agree, t.Differ)
	if t.Arguable > 0 {
		a.out.printf(", %d arguable not", t.Arguable)
	}
	if t.Unstated > 0 {
		a.out.printf(", %d without an expectation", t.Unstated)
	}
	if t.NotACase > 0 {
		a.out.printf(", %d files that are no case", t.NotACase)
	}
	a.out.printf(", %d not built yet\n", t.NotBuilt)
	kinds := make([]string, 0, len(t.NotByKind))
	for kind := range t.NotByKind {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	rows := make([][]string, len(kinds))
	for i, kind := range kinds {
		rows[i] = []string{fmt.Sprint(t.NotByKind[kind]), "not built: " + cli.Printable(kind)}
	}
	a.out.table(rows)
}

// caseFiles expands directories and index files into the case files they hold.
func caseFiles(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		var listed []string
		switch {
		case info.IsDir():
			listed, err = caseDir(arg)
		case filepath.Base(arg) == "index.json":
			listed, err = readIndex(arg)
		default:
			listed = []string{arg}
		}
		if err != nil {
			return nil, err
		}
		files = append(files, listed...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// caseDir returns the files that the directory's index lists; if it has none, every
// JSON file in the directory.
func caseDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if entry.Name() == "index.json" {
			return readIndex(path)
		}
		if filepath.Ext(path) == ".json" && !entry.IsDir() {
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading %s: it holds no .json file", dir)
	}
	return files, nil
}

// readIndex returns the files that an index lists: {"files": [{"file": …}]}.
func readIndex(path string) ([]string, error) {
	v, err := readJSON(path)
	if err != nil {
		return nil, err
	}
	entries, ok := v.Get("files")
	if !ok {
		return nil, fmt.Errorf("reading %s: it lists no files", path)
	}
	var files []string
	for i, entry := range entries.Elems() {
		name, _ := entry.Get("file")
		if name.Kind() != wire.String || !filepath.IsLocal(name.Text()) {
			return nil, fmt.Errorf("reading %s: entry %d names no file below it", path, i)
		}
		files = append(files, filepath.Join(filepath.Dir(path), name.Text()))
	}
	return files, nil
}
