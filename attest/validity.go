package attest

import (
	"errors"
	"math"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// A Policy is what a verifier accepts, whatever the signer allows (SPEC §9.7.1).
// A zero field means the default.
type Policy struct {
	Skew        time.Duration // how far an anchor may lie in the future
	MaxAge      time.Duration // since the attestation's timestamp
	MaxLifetime time.Duration // of the validity the signer gave it
}

// The defaults of a Policy, and the longest validity this implementation issues.
const (
	DefaultMaxAge      = 90 * 24 * time.Hour
	DefaultMaxLifetime = 90 * 24 * time.Hour
)

// or fills in the defaults.
func (p Policy) or() Policy {
	full := Policy{wire.DefaultSkew, DefaultMaxAge, DefaultMaxLifetime}
	for _, f := range []struct{ to, from *time.Duration }{
		{&full.Skew, &p.Skew}, {&full.MaxAge, &p.MaxAge}, {&full.MaxLifetime, &p.MaxLifetime},
	} {
		if *f.from != 0 {
			*f.to = *f.from
		}
	}
	return full
}

// A Validity is when the signers say the attestation holds (SPEC §9.7.3).
type Validity struct {
	Mode     string        // absolute, relative or window
	From     time.Time     // "from", or of a window "start"
	Until    time.Time     // first moment at which it holds no longer
	Duration time.Duration // of a window: how much of it must be left
}

var (
	errEmptyWindow = errors.New("it ends before it begins")
	errTooLong     = errors.New("the duration is longer than the window")
)

func readValidity(r wire.Reader) *Validity {
	v := &Validity{Mode: r.OneOf("mode", "absolute", "relative", "window")}
	duration := func() time.Duration {
		return time.Duration(min(r.Int("duration_seconds", 1, maxCount), math.MaxInt64/int64(time.Second))) * time.Second
	}
	switch v.Mode {
	case "absolute":
		r.Closed("mode", "from", "until")
		v.From, v.Until = r.Time("from"), r.Time("until")
	case "relative":
		r.Closed("mode", "from", "duration_seconds")
		v.From = r.Time("from")
		v.Until = v.From.Add(duration())
	case "window":
		r.Closed("mode", "start", "end", "duration_seconds")
		v.From, v.Until, v.Duration = r.Time("start"), r.Time("end"), duration()
		if r.Err() == nil && v.Duration > v.Until.Sub(v.From) {
			r.Fail("duration_seconds", errTooLong)
		}
	}
	if r.Err() == nil && !v.From.Before(v.Until) {
		r.Fail("", errEmptyWindow)
	}
	return v
}

// lifetime is how long the validity is.
func (v *Validity) lifetime() time.Duration { return v.Until.Sub(v.From) }

// checkValidity judges now against what the signers allowed. A legacy version
// without a validity allows everything. (SPEC §9.7.3)
func (s *AttestationSubject) checkValidity() error {
	v := s.Attestation.Validity
	switch {
	case v == nil:
		return s.legacy(5, "validity_temporal")
	case s.CheckAnchor(v.From, "") != nil:
		return RuleNotYet.At("/validity_temporal")
	case !s.Now.Before(v.Until), v.Duration > v.Until.Sub(s.Now):
		return RuleExpired.At("/validity_temporal")
	}
	return nil
}

// checkFreshness judges what the verifier itself accepts (SPEC §9.7.1).
func (s *AttestationSubject) checkFreshness() error {
	a := s.Attestation
	if err := s.CheckAge(a.Time, "/timestamp"); err != nil {
		return err
	}
	if a.Validity != nil && a.Validity.lifetime() > s.Policy.or().MaxLifetime {
		return RuleLifetime.At("/validity_temporal")
	}
	return nil
}
