package cmpc

import (
	"errors"
	"slices"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// Rules lists the rules of this package, kind by kind.
func Rules() []*wire.Rule {
	return slices.Concat([]*wire.Rule{RuleInstant}, commitmentRules, activationRules, unwindRules, closureRules, sessionRules, transitionRules)
}

var (
	errElsewhere = errors.New("it is of another chain session")
	errTwice     = errors.New("listed twice")
)

// moot says that a check has nothing to compare with.
func noSession() error {
	return &wire.Unchecked{Why: "the chain session is not at hand", Moot: true}
}

// nullable returns a string or null that a schema has looked at; null is "".
func nullable(r wire.Reader, name string) string {
	v, _ := r.Whole().Get(name)
	return v.Text()
}

// twice returns the index of the first entry that is in the list before already,
// or -1.
func twice(list []string) int {
	seen := make(map[string]bool, len(list))
	for i, s := range list {
		if seen[s] {
			return i
		}
		seen[s] = true
	}
	return -1
}

// RuleInstant is about every timestamp of this package. The published schemas look
// at the first characters alone; what this project acts on has to be an instant.
var RuleInstant = &wire.Rule{Section: "9.11", Name: "chain-instant", Class: wire.ClassSchema, Text: "timestamps are instants"}

// instants read the timestamps of one artifact and remember the first that is none.
type instants struct{ misfit error }

func (t *instants) read(r wire.Reader, name string) time.Time {
	at, err := wire.ParseTime(r.Text(name))
	if err != nil && t.misfit == nil {
		t.misfit = misdated(r.Pointer()+wire.Pointer(name), err)
	}
	return at
}

func misdated(at string, cause error) error { return RuleInstant.Because(at, cause) }
