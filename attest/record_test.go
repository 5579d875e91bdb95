package attest_test

import (
	"testing"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// recordSpecimen is a record of a delivery.
func recordSpecimen(tb testing.TB) specimen {
	f := verifier(tb, carrier)
	v, err := issuerOf(tb, carrier).Record(parse(tb, `{"delivered":["crate 7"],"to":{"door":"B"}}`))
	if err != nil {
		tb.Fatal(err)
	}
	any := func(pointers ...string) map[string]string {
		m := map[string]string{}
		for _, p := range pointers {
			m["drop "+p], m["mistype "+p] = "the signer's own", "the signer's own"
		}
		return m
	}
	s := specimen{
		name: "record", value: v,
		sign: func(tb testing.TB, v wire.Value) wire.Value {
			if text, ok := v.Get("signature"); !ok || text.Kind() != wire.String {
				return v
			}
			return v.With("signature", signature(tb, v.Without("signature"), carrier))
		},
		verify: func(v wire.Value) wire.Report {
			_, report := f.VerifyRecord(v, carrier)
			return report
		},
		tolerated: any("/delivered", "/to", "/to/door"),
	}
	s.tolerated["mistype /delivered/0"] = "the signer's own"
	return s
}

// A record says what it takes to verify it, and never whom to believe.
func TestRecord(t *testing.T) {
	v := recordSpecimen(t).value
	mallory, err := issuerOf(t, "mallory").Record(v)
	if err != nil {
		t.Fatal(err)
	}
	embedded := func(name, text string) wire.Value {
		m, _ := v.Get("verification_material")
		m = m.With(name, wire.Text(text))
		v := v.With("verification_material", m)
		return v.With("signature", signature(t, v.Without("signature"), carrier))
	}
	for _, test := range []struct {
		what   string
		v      wire.Value
		signer wire.AgentID
		want   string
		made   bool // whether it could be checked
	}{
		{"the carrier's", v, carrier, "", true},
		{"of whom nobody asked", v, "", "", false},
		{"of whom no key is known", v, "did:web:other", "key-unknown at ", false},
		{"signed over by mallory", mallory, carrier, "record-key at /verification_material/public_key_b64url", true},
		{"with another key inside", embedded("public_key_b64url", key(t, "mallory").Public().String()), carrier, "record-key at /verification_material/public_key_b64url", true},
		{"of another algorithm", embedded("alg", "ES256"), carrier, "record at /verification_material/key_type", true},
		{"of an algorithm nobody knows", embedded("alg", "none"), carrier, "record at /verification_material/alg", true},
		{"canonical in another way", embedded("canonicalization", "none"), carrier, "record at /verification_material/canonicalization", true},
		{"signed by another rule", embedded("preimage_rule", "nothing"), carrier, "record at /verification_material/preimage_rule", true},
		{"with more material", embedded("note", "x"), carrier, "record at /verification_material/note", true},
		{"changed", v.With("delivered", wire.Text("crate 8")), carrier, "record-signature at /signature", true},
		{"nothing", wire.Value{}, carrier, "record at ", true},
	} {
		_, report := verifier(t, carrier).VerifyRecord(test.v, test.signer)
		if made := report.Outcome() != wire.NotChecked; made != test.made {
			t.Errorf("%s: checked %v, want %v", test.what, made, test.made)
		}
		if got := verdict(report); test.want != "" && got != test.want || test.want == "" && test.made && got != "" {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
	if _, report := (attest.Verifier{}).VerifyRecord(v, carrier); report.Outcome() != wire.NotChecked {
		t.Error("a verifier without keys came to a verdict")
	}
}
