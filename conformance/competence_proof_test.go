package conformance_test

import (
	"testing"

	"github.com/concordia-node/concordia/conformance"
)

// A context asks for verified claims with a boolean; null is not asking, and
// anything else is not understood.
func TestRequireAggregate(t *testing.T) {
	for _, test := range []struct {
		context  string
		clear    bool
		required bool
	}{
		{`{}`, true, false},
		{`{"require_aggregate": null}`, true, false},
		{`{"require_aggregate": false}`, true, false},
		{`{"require_aggregate": true}`, true, true},
		{`{"require_aggregate": "yes"}`, false, false},
	} {
		c, err := conformance.ReadCase([]byte(`{"id":"x","kind":"competence_proof","public_keys":{},"now":"2026-09-14T09:00:00Z","input":{},"context":` + test.context + `}`))
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Judge()
		if err != nil || (report[0].Check != "context") != test.clear {
			t.Errorf("context %s: %v, %v", test.context, report, err)
		}
		last := report[len(report)-1]
		if (last.Check == "aggregate-verified") != test.required {
			t.Errorf("context %s: the last check is %s", test.context, last.Check)
		}
	}
}
