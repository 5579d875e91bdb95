package conformance

import (
	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// judgeMandate judges a mandate for the use that the context tells: action,
// sequence_key, state_active, uses. A case tells everything: a mandate it does not
// say was used was not, and without an action none has to be allowed.
func judgeMandate(s Subject) wire.Report {
	var use attest.Use
	var uses *int64
	if s.Told {
		uses = new(int64)
	}
	for name, v := range s.Context.Members() {
		ok := true
		switch name {
		case "action":
			use.Action = v
			if v.Kind() == wire.Null {
				use.Action = wire.Value{}
			}
		case "sequence_key":
			use.SequenceKey = v.Text()
			ok = v.Kind() == wire.String || v.Kind() == wire.Null
		case "state_active":
			ok = v.Kind() == wire.Bool || v.Kind() == wire.Null
			if v.Kind() == wire.Bool {
				active := v.Bool()
				use.StateActive = &active
			}
		case "uses":
			n, whole := v.Int()
			uses, ok = &n, whole && n >= 0
		}
		if !ok {
			return unclear
		}
	}
	use.Uses = uses
	m, report := s.Verifier().VerifyMandate(s.Artifact, use)
	if m != nil && use.Action.Kind() == wire.Absent {
		report = withoutAction(report)
	}
	return report
}

// withoutAction is the report of a mandate of which only is asked whether it is in
// force.
func withoutAction(report wire.Report) wire.Report {
	for i, f := range report {
		if u, ok := f.Err.(*wire.Unchecked); ok && (f.Check == "action" || f.Check == "delegated-action") {
			report[i] = wire.Find(f.Check, f.Optional, &wire.Unchecked{Why: u.Why, Moot: true})
		}
	}
	return report
}
