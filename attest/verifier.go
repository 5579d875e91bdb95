package attest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/concordia-node/concordia/internal/schema"
	"github.com/concordia-node/concordia/wire"
)

// A Verifier is what a relying party brings to an artifact: whose keys it
// believes, what time it is, what it accepts whatever the signer allows, and what
// it knows to be revoked. Nothing of it comes from the artifact.
type Verifier struct {
	Keys        wire.Keys // nil knows nobody
	Now         time.Time
	Policy      Policy       // zero fields are the defaults
	Revocations *Revocations // nil: nobody was asked

	// Listed asks the revocation endpoint that a mandate or predicate names whether it
	// lists that id; nil asks nobody. It is called once the issuer's signature has
	// verified. If it fails, the artifact does not stand. Package endpoint has one that
	// asks over the network. (SPEC §9.9)
	Listed func(endpoint, id string) (revoked bool, err error)

	// Unpadded takes signatures without padding as well, and in the cosign lane those
	// with it, as the public conformance contract does.
	Unpadded bool

	// Canonical returns the bytes that are hashed or signed; nil stands for
	// Value.Canonical. A conformance runner makes them a second time with another
	// maker's code and fails on a difference.
	Canonical func(wire.Value) ([]byte, error)

	// Each calls do for 0 to n-1, in any order and perhaps at the same time, and
	// returns when all calls have; nil calls in order. An artifact of many receipts
	// and many revocation records are verified by it. If it runs them at the same time, Keys and Canonical must
	// allow that.
	Each func(n int, do func(i int))
}

func (f *Verifier) each(n int, do func(i int)) {
	if f.Each != nil {
		f.Each(n, do)
		return
	}
	for i := range n {
		do(i)
	}
}

// canonical returns the bytes of v that are hashed or signed.
func (f *Verifier) canonical(v wire.Value) ([]byte, error) {
	if f.Canonical != nil {
		return f.Canonical(v)
	}
	return []byte(v.Canonical()), nil
}

// hash returns the SHA-256 of v's canonical bytes.
func (f *Verifier) hash(v wire.Value) (wire.Hash, error) {
	b, err := f.canonical(v)
	return wire.HashOf(b), err
}

// A Claim is a signature as an artifact shows it.
type Claim struct {
	Rule      *wire.Rule // which it breaks if it is not the signer's
	Signer    wire.AgentID
	Algorithm wire.Algorithm // which the artifact names or its kind fixes
	Signed    time.Time      // when it was made, as it says
	Preimage  wire.Value
	Text      wire.Value // the signature, padded base64url
	At        string     // its pointer

	message func() ([]byte, error) // the bytes of Preimage, if many claims share them
}

// CheckSignature verifies a signature: the key known, of the algorithm that is
// named, and the signature its own.
func (f *Verifier) CheckSignature(c Claim) error {
	if c.Text.Text() == "" {
		return c.Rule.Because(c.At, errNoSignature)
	}
	key, err := f.key(c.Signer, c.Signed)
	if err != nil {
		if v, ok := errors.AsType[*wire.Violation](err); ok {
			return v.Rule.Because(c.At, v.Err)
		}
		return fmt.Errorf("resolving a key: %w", err)
	}
	if key.Algorithm() != c.Algorithm {
		return c.Rule.Because(c.At, fmt.Errorf("the signer's key is of another algorithm than %s", c.Algorithm))
	}
	make := c.message
	if make == nil {
		make = func() ([]byte, error) { return f.canonical(c.Preimage) }
	}
	message, err := make()
	if err != nil {
		return c.Rule.Because(c.At, err)
	}
	text := c.Text.Text()
	if f.Unpadded {
		text += strings.Repeat("=", -len(text)&3)
	}
	if err := key.VerifyText(message, text); err != nil {
		return c.Rule.Because(c.At, err)
	}
	return nil
}

// CheckAnchor checks that a moment the signer asserts is not in the future (SPEC
// §9.7.1).
func (f *Verifier) CheckAnchor(t time.Time, at string) error {
	if t.After(f.Now.Add(f.Policy.or().Skew)) {
		return RuleNotYet.At(at)
	}
	return nil
}

// CheckAge checks a moment the signer asserts: not in the future, and not longer
// ago than the verifier accepts (SPEC §9.7.1).
func (f *Verifier) CheckAge(t time.Time, at string) error {
	if err := f.CheckAnchor(t, at); err != nil {
		return err
	}
	if f.Now.Sub(t) > f.Policy.or().MaxAge {
		return RuleAge.At(at)
	}
	return nil
}

// CheckRevoked looks an artifact up by its own id and by those it depends on among
// the revocations that the verifier was given (SPEC §9.6.4c).
func (f *Verifier) CheckRevoked(id string, issuer wire.AgentID, links ...Link) error {
	return f.checkRevoked(id, issuer, links)
}

var errNoSignature = errors.New("there is no signature")

var schemas = schema.New(func(s string) bool { _, err := wire.ParseTime(s); return err == nil })

// What one artifact measures at most (SPEC §9.6). The lists of receipts and of
// inclusion proofs that a bundle or a competence proof shows have caps of their own
// and do not count. The values bound what the evaluation of a schema costs.
const (
	MaxArtifactSize   = 1 << 20 // bytes of canonical JSON
	MaxArtifactValues = 1 << 16
)

// bounded checks how much an artifact is, before anything else is done with it.
func bounded(v wire.Value) error {
	switch {
	case v.Depth() > wire.MaxDepth:
		return wire.RuleDepth.At("")
	case len(v.Canonical()) > MaxArtifactSize:
		return wire.RuleSize.Because("", errArtifactSize)
	case nodes(v) > MaxArtifactValues:
		return wire.RuleSize.Because("", errArtifactValues)
	}
	return nil
}

var (
	errArtifactSize   = fmt.Errorf("more than %d bytes", MaxArtifactSize)
	errArtifactValues = fmt.Errorf("more than %d values", MaxArtifactValues)
)

// Shape checks v against one of the embedded schemas and returns a Reader of it.
// What the schema demands reads without misfit; what it cannot say, the caller
// checks, and both break rule. An artifact beyond MaxArtifactSize or
// MaxArtifactValues is refused unread.
func Shape(v wire.Value, name string, rule *wire.Rule) (wire.Reader, error) {
	if err := bounded(v); err != nil {
		return wire.Reader{}, err
	}
	if v.Kind() == wire.Absent {
		return wire.Reader{}, rule.Because("", errors.New("missing"))
	}
	if m := schemas.Check(name, v.Canonical()); m != nil {
		return wire.Reader{}, rule.Because(m.Pointer, m.Why)
	}
	return wire.Read(v, "", rule), nil
}

var errUnnamed = errors.New("nothing follows the colon")

// CheckNamed checks the named members of v, each a string or an array of strings: a
// URN or a DID has something after its last colon. The published schemas look only
// at how one begins. What is not there, or is neither, is not looked at.
func CheckNamed(rule *wire.Rule, v wire.Value, members ...string) error {
	for _, name := range members {
		m, _ := v.Get(name)
		if strings.HasSuffix(m.Text(), ":") {
			return rule.Because(wire.Pointer(name), errUnnamed)
		}
		for i, e := range m.Elems() {
			if strings.HasSuffix(e.Text(), ":") {
				return rule.Because(wire.Pointer(name, strconv.Itoa(i)), errUnnamed)
			}
		}
	}
	return nil
}

// Judge reads an artifact and makes the checks of its kind. If it has not the
// shape of one, the artifact returned is the zero A and nothing but that is known.
func Judge[A, S any](v wire.Value, read func(wire.Value) (A, error), subject func(A) S, checks []wire.Check[S]) (A, wire.Report) {
	a, err := read(v)
	report := wire.Report{wire.Find("shape", false, err)}
	if err != nil {
		var none A
		return none, append(report, wire.Skip("it has not the shape of its kind", checks...)...)
	}
	return a, append(report, wire.Run(subject(a), checks...)...)
}
