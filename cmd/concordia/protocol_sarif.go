package main

import (
	"path/filepath"
	"slices"

	"github.com/concordia-node/concordia/internal/cli"
	"github.com/concordia-node/concordia/protocol/prove"
)

// A sarifLog is a report in SARIF 2.1.0, of which it has what code scanners show.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	} `json:"driver"`
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
	CodeFlows []sarifCodeFlow `json:"codeFlows,omitempty"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifText     `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

type sarifCodeFlow struct {
	Threads []sarifThread `json:"threadFlows"`
}

type sarifThread struct {
	Locations []sarifStep `json:"locations"`
}

type sarifStep struct {
	Location sarifLocation `json:"location"`
}

func newSARIF() *sarifLog {
	log := &sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{{Results: []sarifResult{}}}}
	driver := &log.Runs[0].Tool.Driver
	driver.Name, driver.Version, driver.Rules = "concordia protocol lint", cli.Version(), []sarifRule{}
	return log
}

// add reports the findings of a file.
func (log *sarifLog) add(path string, found []prove.Finding) {
	run := &log.Runs[0]
	for _, f := range found {
		if rule := (sarifRule{string(f.Code)}); !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		at := sarifLocation{Physical: &sarifPhysical{}}
		at.Physical.Artifact.URI = filepath.ToSlash(path)
		if f.Place.Line > 0 {
			at.Physical.Region = &sarifRegion{f.Place.Line, f.Place.Column}
		}
		if f.State != "" {
			at.Logical = []sarifLogical{{string(f.State)}}
		}
		result := sarifResult{RuleID: string(f.Code), Level: string(f.Severity), Message: sarifText{f.Message}, Locations: []sarifLocation{at}}
		var steps []sarifStep
		for _, s := range f.Trace {
			text := sarifText{prove.Trace{s}.String()}
			steps = append(steps, sarifStep{sarifLocation{Physical: at.Physical, Logical: []sarifLogical{{string(s.From)}}, Message: &text}})
		}
		if steps != nil {
			result.CodeFlows = []sarifCodeFlow{{[]sarifThread{{steps}}}}
		}
		run.Results = append(run.Results, result)
	}
}
