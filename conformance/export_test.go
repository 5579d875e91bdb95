package conformance

import "slices"

// UnknownSteps returns the steps of a profile that its kind does not have.
func UnknownSteps(name string) (unknown []string) {
	p := profiles[name]
	for _, step := range p.steps {
		if !slices.Contains(p.kind.names, step) {
			unknown = append(unknown, step)
		}
	}
	return unknown
}
