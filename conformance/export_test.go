package conformance

import (
	"slices"
	"strings"
)

// UnknownSteps returns the steps of a profile that its kind does not have.
func UnknownSteps(name string) (unknown []string) {
	p := profiles[name]
	for _, step := range p.steps {
		step, _ = strings.CutSuffix(step, "?")
		if !slices.Contains(p.kind.names, step) {
			unknown = append(unknown, step)
		}
	}
	return unknown
}
