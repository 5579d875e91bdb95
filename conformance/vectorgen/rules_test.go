package main

import (
	"errors"
	"testing"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

// Under a strict profile each fault breaks the rule that it names, not another one of
// the same class. The contract has fewer rules and other names for some.
func TestFaultsBreakTheirRules(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	for _, make := range specimens {
		s := make()
		for _, v := range s.vectors() {
			text, err := v.file()
			if err != nil {
				t.Fatalf("%s: %v", v.id, err)
			}
			read, err := conformance.ReadVector(text)
			if err != nil {
				t.Fatalf("%s: %v", v.id, err)
			}
			err = read.Question.Answer().Err()
			if v.rule == nil {
				if err != nil {
					t.Errorf("%s is refused: %v", v.id, err)
				}
				continue
			}
			if v.reason == "" { // it cannot be known
				continue
			}
			broken, ok := errors.AsType[*wire.Violation](err)
			switch {
			case !ok:
				t.Errorf("%s: %v, want a violation of %s", v.id, err, v.rule.Name)
			case v.profile != s.strict() && broken.Rule.Class == v.reason:
			case broken.Rule.Section != v.rule.Section || broken.Rule.Name != v.rule.Name:
				t.Errorf("%s: %v, want a violation of %s", v.id, err, v.rule.Name)
			}
			if v.why == "" || v.breaks == "" {
				t.Errorf("%s does not say why, or what goes wrong", v.id)
			}
		}
	}
}
