package wire

import "errors"

// A Check is one named step in verifying a subject. A conformance profile is an
// ordered list of checks; what this product demands is a longer list of the same
// (SPEC §12).
type Check[S any] struct {
	Name     string
	Optional bool // does not decide the verdict
	Run      func(S) error
}

// An Unchecked error is returned by a check that could not be made. If it is
// Moot there was nothing to check, and the verdict does not depend on it.
type Unchecked struct {
	Why  string
	Moot bool
}

func (u *Unchecked) Error() string { return "not checked: " + u.Why }

// Outcome is what became of one check.
type Outcome uint8

// The outcomes.
const (
	Passed Outcome = iota
	Failed
	NotChecked
)

var outcomeNames = [...]string{"pass", "fail", "not checked"}

func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText writes the outcome as String does.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// A Finding is the outcome of one check. Err is a *Violation if it failed, an
// *Unchecked if it was not made, or whatever kept it from running.
type Finding struct {
	Check    string
	Optional bool
	Outcome  Outcome
	Err      error
}

// A Report lists what was checked, in order.
type Report []Finding

// Run makes all checks in order, whether or not one fails.
func Run[S any](subject S, checks ...Check[S]) Report {
	report := make(Report, 0, len(checks))
	for _, c := range checks {
		report = append(report, Find(c.Name, c.Optional, c.Run(subject)))
	}
	return report
}

// Skip reports all checks as not made, for one reason.
func Skip[S any](why string, checks ...Check[S]) Report {
	report := make(Report, 0, len(checks))
	for _, c := range checks {
		report = append(report, Find(c.Name, c.Optional, &Unchecked{Why: why}))
	}
	return report
}

// Find makes a Finding of what a check returned. A check that wanted a key nobody
// had was not made.
func Find(name string, optional bool, err error) Finding {
	f := Finding{Check: name, Optional: optional, Err: err}
	if u, unchecked := errors.AsType[*Unchecked](err); unchecked || errors.Is(err, RuleUnknownKey) {
		f.Outcome = NotChecked
		f.Optional = optional || unchecked && u.Moot
	} else if err != nil {
		f.Outcome = Failed
	}
	return f
}

// Err returns the error of the first required check that failed, else of the
// first required check that was not made, else nil.
func (r Report) Err() error {
	for _, want := range []Outcome{Failed, NotChecked} {
		for _, f := range r {
			if !f.Optional && f.Outcome == want {
				return f.Err
			}
		}
	}
	return nil
}

// Outcome returns Failed if a required check failed, else NotChecked if one was
// not made, else Passed.
func (r Report) Outcome() Outcome {
	verdict := Passed
	for _, f := range r {
		switch {
		case f.Optional:
		case f.Outcome == Failed:
			return Failed
		case f.Outcome == NotChecked:
			verdict = NotChecked
		}
	}
	return verdict
}
