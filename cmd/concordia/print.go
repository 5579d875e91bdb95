package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// A printer writes for people or, with --json, for programs. Text for people has
// no capital at its start and no full stop at its end; colour only on a terminal;
// text from outside is quoted if it could do more than be read.
type printer struct {
	w      io.Writer
	json   bool
	colour bool
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printf prints for people only.
func (p printer) printf(format string, args ...any) {
	if !p.json {
		fmt.Fprintf(p.w, format, args...)
	}
}

// value prints v for programs only.
func (p printer) value(v any) error {
	if !p.json {
		return nil
	}
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// table prints rows of cells for people.
func (p printer) table(rows [][]string) {
	if p.json {
		return
	}
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight("  "+strings.Join(row, "\t"), "\t "))
	}
	t.Flush()
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

func (p printer) paint(colour, s string) string {
	if !p.colour {
		return s
	}
	return colour + s + plain
}

// outcome paints the result of a check.
func (p printer) outcome(o wire.Outcome) string {
	switch o {
	case wire.Passed:
		return p.paint(green, o.String())
	case wire.Failed:
		return p.paint(red, o.String())
	}
	return p.paint(yellow, o.String())
}

// A problem is an error for programs.
type problem struct {
	Section string `json:"section,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Class   string `json:"class,omitempty"`
	At      string `json:"at,omitempty"`
	Message string `json:"message"`
}

func problemOf(err error) *problem {
	if err == nil {
		return nil
	}
	p := &problem{Message: err.Error()}
	if v, ok := errors.AsType[*wire.Violation](err); ok {
		p.Section, p.Rule, p.Class, p.At = v.Rule.Section, v.Rule.Name, string(v.Rule.Class), v.At
	}
	return p
}

// A finding is a wire.Finding for programs.
type finding struct {
	Check    string       `json:"check"`
	Outcome  wire.Outcome `json:"outcome"`
	Required bool         `json:"required"`
	Problem  *problem     `json:"problem,omitempty"`
}

func findings(r wire.Report) []finding {
	list := make([]finding, len(r))
	for i, f := range r {
		list[i] = finding{f.Check, f.Outcome, !f.Optional, problemOf(f.Err)}
	}
	return list
}

// report prints the findings for people.
func (p printer) report(r wire.Report) {
	var rows [][]string
	for _, f := range r {
		reason := ""
		if u, ok := errors.AsType[*wire.Unchecked](f.Err); ok {
			reason = u.Why // the outcome says already that it was not made
		} else if f.Err != nil {
			reason = f.Err.Error()
		}
		rows = append(rows, []string{p.outcome(f.Outcome), f.Check, cli.Visible(reason)})
	}
	p.table(rows)
}

// exit turns a verdict into the end of the program.
func exit(o wire.Outcome) error {
	switch o {
	case wire.Passed:
		return nil
	case wire.Failed:
		return cli.Exit(cli.Rejected, nil)
	}
	return cli.Exit(cli.Unchecked, nil)
}
