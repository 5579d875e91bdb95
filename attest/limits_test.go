package attest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// An artifact of any kind is bounded in bytes and values: at the bound it is looked
// at, beyond it nothing else is known of it (SPEC §9.6).
func TestArtifactSize(t *testing.T) {
	if testing.Short() {
		t.Skip("computes much, one step after the other")
	}
	makers := append(specimens, func(tb testing.TB) specimen {
		return specimen{name: "attestation", value: receiptOf(tb, 0), verify: func(v wire.Value) wire.Report {
			_, report := everybody(tb).VerifyAttestation(v)
			return report
		}}
	})
	tooLong := func(r wire.Report) bool {
		return errors.Is(r[0].Err, wire.RuleSize) && r[1].Outcome == wire.NotChecked && r[0].Outcome == wire.Failed
	}
	for _, make := range makers {
		s := make(t)
		hollow := s.value
		for _, list := range []string{"attestations", "revealed_attestations", "merkle_proofs"} {
			if _, ok := hollow.Get(list); ok {
				hollow = edit(t, hollow, "[]", list)
			}
		}
		base := len(hollow.With("zz", wire.Text("")).Canonical())
		for _, beyond := range []int{0, 1} {
			v := s.value.With("zz", wire.Text(strings.Repeat("x", attest.MaxArtifactSize-base+beyond)))
			if tooLong(s.verify(v)) != (beyond > 0) {
				t.Errorf("%s of %d bytes beyond the bound: %v", s.name, beyond, s.verify(v).Err())
			}
			v = s.value.With("zz", parse(t, "["+strings.Repeat("1,", attest.MaxArtifactValues-values(hollow)-2+beyond)+"1]"))
			if tooLong(s.verify(v)) != (beyond > 0) {
				t.Errorf("%s of %d values beyond the bound: %v", s.name, beyond, s.verify(v).Err())
			}
		}
	}
}

// values counts the values in v.
func values(v wire.Value) int {
	n := 1
	for _, m := range v.Members() {
		n += values(m)
	}
	for _, e := range v.Elems() {
		n += values(e)
	}
	return n
}

// What the evaluation of a schema makes of a hostile artifact at the bounds is
// bounded, too: the library makes an error of every misfit.
func TestShapeCost(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement: not in -short")
	}
	fill := func(one string) string {
		return "[" + strings.Repeat(one+",", min(attest.MaxArtifactSize/(len(one)+1), attest.MaxArtifactValues)-40) + one + "]"
	}
	for name, v := range map[string]wire.Value{
		"empty references":    edit(t, approvalSpecimen(t).value, fill("{}"), "references"),
		"numbers":             edit(t, approvalSpecimen(t).value, fill("1"), "references"),
		"mistyped references": edit(t, approvalSpecimen(t).value, "["+strings.Repeat(`{"id":1,"type":1,"relationship":1},`, 16000)+"1]", "references"),
		"links":               edit(t, mandateSpecimen(t).value, fill("{}"), "delegation_chain"),
		"evidence":            edit(t, settlementSpecimen(t).value, fill("1"), "meta", "fulfillment_evidence"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		for _, read := range []func(wire.Value) error{
			func(v wire.Value) error { _, err := attest.ReadApprovalReceipt(v); return err },
			func(v wire.Value) error { _, err := attest.ReadMandate(v); return err },
			func(v wire.Value) error { _, err := attest.ReadFulfillmentAttestation(v); return err },
		} {
			if err := read(v); err == nil {
				t.Errorf("%s: it is read", name)
			}
		}
		runtime.ReadMemStats(&after)
		took, bytes := time.Since(start), after.TotalAlloc-before.TotalAlloc
		t.Logf("%s: %d bytes, %v, %d MB allocated", name, len(v.Canonical()), took, bytes>>20)
		if bytes > 64<<20 {
			t.Errorf("%s: %d MB are allocated", name, bytes>>20)
		}
	}
}

// No more agents sign than the caps allow (SPEC §9.6.2).
func TestSignersCap(t *testing.T) {
	sealed := func(parties, witnesses int) wire.Value {
		v := receiptOf(t, 0).Without("countersignatures")
		list := []wire.Value{}
		for i := range parties {
			role := []string{"initiator", "responder", "witness"}[min(i, 2)]
			record := parse(t, fmt.Sprintf(`{"agent_id":"agent_%d","role":%q,"behavior":{}}`, i, role))
			list = append(list, record.With("signature", signature(t, record, "k")))
		}
		v = v.With("parties", encode(t, list))
		whole := signature(t, attest.Countersigned(v), "k")
		signed := wire.M{}
		for i := range parties {
			signed[fmt.Sprintf("agent_%d", i)] = whole
		}
		for i := range witnesses {
			signed[fmt.Sprintf("witness_%d", i)] = whole
		}
		return v.With("countersignatures", encode(t, signed))
	}
	f := attest.Verifier{Keys: anyKey{key(t, "k").Public()}, Now: judged}
	for _, test := range []struct {
		parties, witnesses int
		want               string
	}{
		{attest.MaxParties, attest.MaxCountersignatures - attest.MaxParties, ""},
		{attest.MaxParties + 1, 0, "attestation-parties at /parties"},
		{2, attest.MaxCountersignatures - 1, "attestation at /countersignatures"},
	} {
		v := sealed(test.parties, test.witnesses)
		made := 0
		f.Canonical = func(v wire.Value) ([]byte, error) { made++; return []byte(v.Canonical()), nil }
		_, report := f.VerifyAttestation(v, attest.OutcomeBound())
		if got := verdict(report); got != test.want {
			t.Errorf("%d parties, %d witnesses: %s, want %q", test.parties, test.witnesses, got, test.want)
		}
		// Every party's record, and once what all of them countersign.
		if test.want == "" && made != test.parties+1 {
			t.Errorf("canonical bytes were made %d times, want %d", made, test.parties+1)
		}
	}
}

// anyKey is the key of everybody.
type anyKey struct{ key wire.PublicKey }

func (k anyKey) Key(wire.AgentID, time.Time) (wire.PublicKey, error) { return k.key, nil }

// Looking for terms and signatures deep inside makes no pointer before it finds one.
func TestFindCost(t *testing.T) {
	name := strings.Repeat("x", 5000)
	deep := strings.Repeat(`{"`+name+`":`, 40) + "{"
	for i := range 10000 {
		deep += fmt.Sprintf(`"m%05d":1,`, i)
	}
	deep += `"last":%s}` + strings.Repeat("}", 40)
	s := cosignSpecimen(t)
	for text, want := range map[string]string{`1`: "", `"500 USD"`: "deal-terms", `{"signature":1}`: "cosign-unsigned"} {
		v := s.value.With("note", parse(t, fmt.Sprintf(deep, text)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report := s.verify(s.sign(t, v))
		runtime.ReadMemStats(&after)
		got, at, _ := strings.Cut(verdict(report), " at ")
		if got != want || want != "" && !strings.HasPrefix(at, "/note/"+name+"/"+name) {
			t.Errorf("%s: %.80s, want %q", text, got, want)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 100<<20 {
			t.Errorf("%s: %d MB are allocated", text, bytes>>20)
		}
	}
}
