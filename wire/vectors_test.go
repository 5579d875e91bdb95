package wire_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"testing"

	"filippo.io/edwards25519"
	"github.com/google/go-cmp/cmp"

	"github.com/concordia-node/concordia/wire"
)

// octets decodes the hex string of a member.
func octets(t *testing.T, v wire.Value, name string) []byte {
	t.Helper()
	m, _ := v.Get(name)
	b, err := hex.DecodeString(m.Text())
	if err != nil || m.Kind() != wire.String {
		t.Fatalf("%s of %s: %v", name, brief(v.Canonical()), err)
	}
	return b
}

// TestWycheproof runs the Ed25519 vectors of Wycheproof. A signature that is not 64
// bytes long has no text that is read, and so cannot be verified at all.
func TestWycheproof(t *testing.T) {
	file := parse(t, readFile(t, outside(t, "data", "ed25519", "wycheproof_ed25519_test.json")))
	agreed := 0
	groups, _ := file.Get("testGroups")
	for _, g := range groups.Elems() {
		pk, _ := g.At("publicKey")
		key, err := wire.ParsePublicKey(octets(t, pk, "pk"))
		if err != nil {
			t.Errorf("key %s: %v", textAt(pk, "pk"), err)
			continue
		}
		tests, _ := g.Get("tests")
		for _, c := range tests.Elems() {
			raw := octets(t, c, "sig")
			got := false
			if len(raw) == ed25519.SignatureSize {
				got = key.Verify(octets(t, c, "msg"), wire.Signature(raw))
			}
			if want := textAt(c, "result") == "valid"; got != want {
				t.Errorf("%s: got %v, want %v", c, got, want)
				continue
			}
			agreed++
		}
	}
	if want := 151; agreed != want {
		t.Errorf("%d cases agree, want %d", agreed, want)
	}
}

// TestCCTV runs C2SP's vectors of keys and signatures that implementations treat
// differently. What is accepted must be exactly what SPEC §9.1 and §9.2 say, by the
// flags of the vectors and by the standard library alone.
func TestCCTV(t *testing.T) {
	file := parse(t, readFile(t, outside(t, "data", "ed25519", "cctv_ed25519vectors.json")))
	got := make(map[string]int)
	for _, c := range file.Elems() {
		got["vectors"]++
		var flags []string
		list, _ := c.Get("flags")
		for _, f := range list.Elems() {
			flags = append(flags, f.Text())
		}
		has := func(names ...string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(flags, name) })
		}
		raw, message, sig := octets(t, c, "key"), []byte(textAt(c, "msg")), wire.Signature(octets(t, c, "sig"))
		standard := ed25519.Verify(raw, message, sig[:])
		if standard {
			got["standard library accepts"]++
		}

		key, err := wire.ParsePublicKey(raw)
		weakKey := has("low_order_A", "non_canonical_A")
		if weakKey != (err != nil) || err != nil && !errors.Is(err, wire.RuleWeakKey) {
			t.Errorf("%s: key: got %v, want it refused: %v", c, err, weakKey)
		}
		if err == nil {
			got["keys pass"]++
		}
		accepted := key.Verify(message, sig) // the zero key, where it was refused
		if want := !weakKey && !has("low_order_R") && standard; accepted != want {
			t.Errorf("%s: got %v, want %v", c, accepted, want)
		}
		if accepted {
			got["accepted"]++
			// The cofactor is not used, so a residue of small order shows; and the R of
			// the signature is compared as bytes.
			if has("low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue") {
				t.Errorf("%s: accepted", c)
			}
		}
		if accepted && has("low_order_component_A", "low_order_component_R") {
			got["accepted with a component of small order"]++
		}
	}
	want := map[string]int{
		"vectors":                  914,
		"standard library accepts": 208,
		"keys pass":                388,
		"accepted":                 43,
		"accepted with a component of small order": 42,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// The table of points of small order is complete: there are eight, and each is
// refused as a key and as the R of a signature.
func TestSmallOrderPoints(t *testing.T) {
	published := []string{ // of order 1, 2, 4, 4, 8, 8, 8, 8
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	}
	var table []string
	for _, p := range wire.SmallOrder() {
		table = append(table, hex.EncodeToString(p[:]))
	}
	slices.Sort(table)
	slices.Sort(published)
	if diff := cmp.Diff(published, table); diff != "" {
		t.Errorf("points of small order (-published +table):\n%s", diff)
	}
	for _, p := range wire.SmallOrder() {
		_, err := wire.ParsePublicKey(p[:])
		wantRefusal(t, hex.EncodeToString(p[:]), err, wire.RuleWeakKey, "")

		pub, message, sig := signWithR(t, p[:])
		key, err := wire.ParsePublicKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		if !ed25519.Verify(pub, message, sig[:]) || key.Verify(message, sig) {
			t.Errorf("R = %x: the standard library says %v, Verify says %v, want true, false",
				p, ed25519.Verify(pub, message, sig[:]), key.Verify(message, sig))
		}
	}
}

// signWithR makes a signature whose R is the given point of small order and which
// the standard library accepts. Its key is the sum of an honest one and a point of
// order 8, so that some challenge k makes [S]B - [k]A the wanted point.
func signWithR(t *testing.T, r []byte) (pub, message []byte, sig wire.Signature) {
	t.Helper()
	secret, err := new(edwards25519.Scalar).SetBytesWithClamping(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	torsion, err := new(edwards25519.Point).SetBytes(octets(t, parse(t,
		`{"p":"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"}`), "p"))
	if err != nil {
		t.Fatal(err)
	}
	pub = new(edwards25519.Point).Add(new(edwards25519.Point).ScalarBaseMult(secret), torsion).Bytes()
	for n := range 1000 {
		message = strconv.AppendInt(nil, int64(n), 10)
		challenge := sha512.Sum512(slices.Concat(r, pub, message))
		k, err := new(edwards25519.Scalar).SetUniformBytes(challenge[:])
		if err != nil {
			t.Fatal(err)
		}
		s := new(edwards25519.Scalar).Multiply(k, secret)
		sig = wire.Signature(slices.Concat(r, s.Bytes()))
		if ed25519.Verify(pub, message, sig[:]) {
			return pub, message, sig
		}
	}
	t.Fatalf("no message found for R = %x", r)
	return nil, nil, wire.Signature{}
}
