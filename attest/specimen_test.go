package attest_test

import (
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/internal/mutate"
	"github.com/concordia-node/concordia/wire"
)

// A specimen is a sound artifact, and how it is signed and verified.
type specimen struct {
	name   string
	value  wire.Value
	sign   func(testing.TB, wire.Value) wire.Value // signs it anew after a change
	verify func(wire.Value) wire.Report
	signed func(wire.Value) wire.Value // what anybody signed of it; nil: all

	// tolerated says, for each mutation that does not make the artifact unsound,
	// why: "drop /approver/role" → "optional".
	tolerated map[string]string
}

// specimens are one or more of each kind.
var specimens = []func(testing.TB) specimen{
	attestationSpecimen,
	approvalSpecimen,
	revocationSpecimen,
	bundleSpecimen,
	competenceSpecimen,
	profileSpecimen,
	settlementSpecimen,
	decisionSpecimen,
	cosignSpecimen,
	envelopeSpecimen,
	mandateSpecimen,
	predicateSpecimen,
	recordSpecimen,
}

// Every member of every artifact is looked at: without it, or with a value of
// another type in its place, and signed again, the artifact is refused, or the
// specimen says why not.
func TestEveryMember(t *testing.T) {
	for _, make := range specimens {
		s := make(t)
		t.Run(s.name, func(t *testing.T) {
			if report := s.verify(s.value); report.Outcome() != wire.Passed {
				t.Fatalf("the specimen itself: %v", report.Err())
			}
			seen := map[string]bool{}
			for m := range mutate.All(s.value.Canonical()) {
				seen[m.String()] = true
				report := s.verify(s.sign(t, parse(t, m.Text)))
				if passed, why := report.Outcome() == wire.Passed, s.tolerated[m.String()]; passed != (why != "") {
					t.Errorf("%v: passed is %v, tolerated because %q: %v", m, passed, why, report.Err())
				}
			}
			for m := range s.tolerated {
				if !seen[m] {
					t.Errorf("there is no mutation %q", m)
				}
			}
		})
	}
}

// flipped returns the specimen with one bit of its text flipped, if that is JSON
// and says something else in what is signed.
func flipped(s specimen, bit int) (wire.Value, bool) {
	text := []byte(s.value.Canonical())
	text[bit/8%len(text)] ^= 1 << (bit % 8)
	v, err := wire.Parse(text, wire.DocumentLimits)
	if err == nil && s.signed != nil {
		return v, !s.signed(v).Equal(s.signed(s.value))
	}
	return v, err == nil && !v.Equal(s.value)
}

// One flipped bit of what was signed, or of a signature, is refused.
func TestFlippedBit(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	for _, make := range specimens {
		s := make(t)
		for i := range len(s.value.Canonical()) {
			if v, ok := flipped(s, 8*i+i%8); ok && s.verify(v).Outcome() == wire.Passed {
				t.Errorf("%s: bit %d of byte %d", s.name, i%8, i)
			}
		}
	}
}

func FuzzFlippedBit(f *testing.F) {
	var all []specimen
	for i, make := range specimens {
		all = append(all, make(f))
		f.Add(uint8(i), uint(8*len(all[i].value.Canonical())/2))
	}
	f.Fuzz(func(t *testing.T, which uint8, bit uint) {
		s := all[int(which)%len(all)]
		if v, ok := flipped(s, int(bit%uint(8*len(s.value.Canonical())))); ok && s.verify(v).Outcome() == wire.Passed {
			t.Errorf("%s: %s", s.name, v)
		}
	})
}

// signBlock signs v without its signature and puts it into signature.value.
func signBlock(tb testing.TB, v wire.Value, who string) wire.Value {
	tb.Helper()
	block, ok := v.Get("signature")
	if !ok || block.Kind() != wire.Object {
		return v
	}
	if text, ok := block.Get("value"); !ok || text.Kind() != wire.String {
		return v
	}
	return v.With("signature", block.With("value", signature(tb, v.Without("signature"), who)))
}

// signature returns the text of who's signature of v.
func signature(tb testing.TB, v wire.Value, who string) wire.Value {
	tb.Helper()
	sig, err := key(tb, who).Sign([]byte(v.Canonical()))
	if err != nil {
		tb.Fatal(err)
	}
	return wire.Text(sig.String())
}

// verifier knows the keys of everybody.
func verifier(tb testing.TB, who ...string) attest.Verifier {
	known := wire.KeyMap{}
	for _, id := range who {
		known[wire.AgentID(id)] = key(tb, id).Public()
	}
	return attest.Verifier{Keys: known, Now: judged}
}

// verdict says which rule a report's first failure breaks, and where, or "" if
// everything passed.
func verdict(r wire.Report) string {
	if r.Err() == nil {
		return ""
	}
	return broke(r.Err())
}
