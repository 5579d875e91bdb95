package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/wire"
)

// A report is what a run has to say.
type report struct {
	suite   *conformance.Suite
	results []conformance.Result
	sum     conformance.Summary
	took    time.Duration
	verbose bool
}

var formats = map[string]func(io.Writer, report) error{"text": writeText, "json": writeJSON, "junit": writeJUnit}

// why says in one line what is wrong with a result.
func why(r conformance.Result) string {
	switch {
	case r.Err != nil && r.Expected == "":
		return fmt.Sprintf("expected=<unreadable> got=<unreadable>: %v", r.Err)
	case r.Err != nil:
		return fmt.Sprintf("expected=%s got=<nothing>: %v", r.Expected, r.Err)
	case r.Reason != "":
		return fmt.Sprintf("expected=%s got=%s (%s)", r.Expected, r.Got, r.Reason)
	}
	return fmt.Sprintf("expected=%s got=%s", r.Expected, r.Got)
}

func writeText(w io.Writer, r report) error {
	for _, result := range r.results {
		switch {
		case !result.OK():
			fmt.Fprintf(w, "[FAIL] %s %s\n", cli.Printable(result.ID), cli.Printable(why(result)))
		case result.OtherReason():
			fmt.Fprintf(w, "[REASON] %s expected=%s got=%s\n", result.ID, result.ExpectedReason, result.Reason)
		case r.verbose:
			fmt.Fprintf(w, "[OK] %s\n", result.ID)
		}
	}
	for _, p := range r.suite.Problems {
		fmt.Fprintf(w, "[SUITE] %s\n", cli.Printable(p))
	}
	if len(r.results) == 0 {
		fmt.Fprintln(w, "[FAIL] zero vectors executed")
	}
	_, err := fmt.Fprintln(w, r.sum)
	return err
}

// resultJSON is a result for programs.
type resultJSON struct {
	ID             string     `json:"id"`
	Section        string     `json:"section"`
	Path           string     `json:"path"`
	Profile        string     `json:"verification_profile,omitempty"`
	OK             bool       `json:"ok"`
	Expected       string     `json:"expected,omitempty"`
	Got            string     `json:"got,omitempty"`
	ExpectedReason wire.Class `json:"expected_reason_class,omitempty"`
	Reason         wire.Class `json:"reason_class,omitempty"`
	Error          string     `json:"error,omitempty"`
}

type summaryJSON struct {
	Positive     int `json:"positive"`
	Mutation     int `json:"mutation"`
	Canary       int `json:"canary"`
	OK           int `json:"ok"`
	Fail         int `json:"fail"`
	OtherReasons int `json:"other_reasons"`
}

func writeJSON(w io.Writer, r report) error {
	results := make([]resultJSON, len(r.results))
	for i, result := range r.results {
		results[i] = resultJSON{
			ID: result.ID, Section: result.Entry.Section, Path: result.Entry.Path, Profile: result.Profile, OK: result.OK(),
			Expected: result.Expected, Got: result.Got, ExpectedReason: result.ExpectedReason, Reason: result.Reason,
		}
		if result.Err != nil {
			results[i].Error = result.Err.Error()
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{
		"summary": summaryJSON(r.sum), "problems": append([]string{}, r.suite.Problems...), "results": results,
	})
}

// The part of the JUnit format that test services read.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

func writeJUnit(w io.Writer, r report) error {
	s := junitSuite{Name: "conformance", Failures: r.sum.Fail, Time: fmt.Sprintf("%.3f", r.took.Seconds())}
	for _, result := range r.results {
		c := junitCase{Name: result.ID, Class: result.Profile}
		if !result.OK() {
			c.Failure = &junitFailure{why(result)}
		}
		s.Cases = append(s.Cases, c)
	}
	for _, p := range r.suite.Problems {
		s.Cases = append(s.Cases, junitCase{Name: p, Class: "suite", Failure: &junitFailure{p}})
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
