package wire

import (
	"fmt"
	"strings"
)

// Class groups rules by what kind of fault breaks them, in the words of the
// public conformance contract (SPEC §12).
type Class string

// The classes of the conformance contract.
const (
	ClassSchema     Class = "schema"     // shape, syntax, domain of a value
	ClassSignature  Class = "signature"  // a signature, its spelling, its key
	ClassDigest     Class = "digest"     // a hash of the artifact itself
	ClassBinding    Class = "binding"    // one artifact tied to another, or to its session
	ClassTemporal   Class = "temporal"   // a clock or a deadline
	ClassPrivacy    Class = "privacy"    // something that must not be told
	ClassTransition Class = "transition" // a move the state does not allow
)

// A Rule is one checkable requirement of SPEC.md. Rules are compared by
// identity: errors.Is(err, wire.RulePrevHash).
type Rule struct {
	Section string // heading number in SPEC.md
	Name    string // unique within its package, never changed once published
	Class   Class
	Text    string // what holds, for people; not API
}

// Error makes a rule a target for errors.Is.
func (r *Rule) Error() string { return "SPEC §" + r.Section + " " + r.Name + ": " + r.Text }

// At reports that the value at the JSON pointer breaks r.
func (r *Rule) At(pointer string) *Violation { return &Violation{Rule: r, At: pointer} }

// Because is At with a cause: a typed detail a caller can act on, or a few words.
func (r *Rule) Because(pointer string, cause error) *Violation {
	return &Violation{Rule: r, At: pointer, Err: cause}
}

// A Violation says which rule was broken and where. It is the only form in which
// this module refuses data of the other side.
type Violation struct {
	Rule *Rule
	At   string // RFC 6901 pointer from the artifact's root; "" is the root
	Err  error  // cause, may be nil
}

func (v *Violation) Error() string {
	var b strings.Builder
	b.WriteString(v.Rule.Error())
	if v.At != "" {
		fmt.Fprintf(&b, " (at %s)", clip(v.At))
	}
	if v.Err != nil {
		b.WriteString(": ")
		b.WriteString(v.Err.Error())
	}
	return b.String()
}

// Is reports whether target is the broken rule.
func (v *Violation) Is(target error) bool { return target == v.Rule }

// Unwrap returns the cause.
func (v *Violation) Unwrap() error { return v.Err }

// clip bounds text that came from outside before it goes into an error or a log.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

// Pointer returns the RFC 6901 pointer with the given reference tokens.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		if strings.ContainsAny(t, "~/") {
			t = strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1")
		}
		b.WriteString(t)
	}
	return b.String()
}
