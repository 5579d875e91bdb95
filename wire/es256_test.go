package wire_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"testing"

	"github.com/concordia-node/concordia/wire"
)

var (
	p256Order = elliptic.P256().Params().N
	p256Prime = elliptic.P256().Params().P
)

// p256Key derives a key pair from a name.
func p256Key(tb testing.TB, name string) (*ecdsa.PrivateKey, []byte) {
	tb.Helper()
	seed := sha256.Sum256([]byte(name))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := private.PublicKey.Bytes()
	if err != nil {
		tb.Fatal(err)
	}
	return private, raw
}

// signP256 returns r and the low s of a signature.
func signP256(tb testing.TB, private *ecdsa.PrivateKey, message string) (r, s *big.Int) {
	tb.Helper()
	digest := sha256.Sum256([]byte(message))
	der, err := private.Sign(nil, digest[:], crypto.SHA256) // RFC 6979: the same each time
	if err != nil {
		tb.Fatal(err)
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		tb.Fatal(err)
	}
	if pair.S.Cmp(new(big.Int).Rsh(p256Order, 1)) > 0 {
		pair.S.Sub(p256Order, pair.S)
	}
	return pair.R, pair.S
}

// derInt is the DER of an integer that is not negative, with zeros put before it.
func derInt(n *big.Int, zeros int) []byte {
	b := n.Bytes()
	if len(b) == 0 || b[0] >= 0x80 {
		zeros++
	}
	b = append(make([]byte, zeros), b...)
	return append([]byte{2, byte(len(b))}, b...)
}

func derPair(parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	return append([]byte{0x30, byte(len(body))}, body...)
}

// SPEC §9.2: an ES256 signature has one text: DER, and of both values of S the low
// one.
func TestES256Signature(t *testing.T) {
	private, raw := p256Key(t, "issuer")
	key, err := wire.ParsePublicKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 { // signatures differ in length
		message := fmt.Sprintf("mandate %d", i)
		r, s := signP256(t, private, message)
		high := new(big.Int).Sub(p256Order, s)
		zero := new(big.Int)
		good := derPair(derInt(r, 0), derInt(s, 0))
		half := new(big.Int).Rsh(p256Order, 1)
		fixed := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		long := append([]byte{0x30, 0x81}, good[1:]...)
		indefinite := append(append([]byte{0x30, 0x80}, good[2:]...), 0, 0)
		set := append([]byte{0x31}, good[1:]...)
		negative := derPair(derInt(r, 0), append([]byte{2, 32}, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), s).FillBytes(make([]byte, 32))...))
		for _, test := range []struct {
			what string
			der  []byte
			ok   bool
		}{
			{"good", good, true},
			{"high S", derPair(derInt(r, 0), derInt(high, 0)), false},
			{"R and S as 64 bytes", fixed, false},
			{"no bytes", nil, false},
			{"zero before R", derPair(derInt(r, 1), derInt(s, 0)), false},
			{"zero before S", derPair(derInt(r, 0), derInt(s, 1)), false},
			{"length in the long form", long, false},
			{"length left open", indefinite, false},
			{"a set", set, false},
			{"a byte after", append(good[:len(good):len(good)], 0), false},
			{"a byte after S", derPair(derInt(r, 0), derInt(s, 0), []byte{0}), false},
			{"a third integer", derPair(derInt(r, 0), derInt(s, 0), derInt(s, 0)), false},
			{"one integer", derPair(derInt(r, 0)), false},
			{"a byte missing", good[:len(good)-1], false},
			{"R and S exchanged", derPair(derInt(s, 0), derInt(r, 0)), false},
			{"R = 0", derPair(derInt(zero, 0), derInt(s, 0)), false},
			{"S = 0", derPair(derInt(r, 0), derInt(zero, 0)), false},
			{"R = S = 0", derPair(derInt(zero, 0), derInt(zero, 0)), false},
			{"R = order", derPair(derInt(p256Order, 0), derInt(s, 0)), false},
			{"R + order", derPair(derInt(new(big.Int).Add(r, p256Order), 0), derInt(s, 0)), false},
			{"S + order", derPair(derInt(r, 0), derInt(new(big.Int).Add(s, p256Order), 0)), false},
			{"S = order", derPair(derInt(r, 0), derInt(p256Order, 0)), false},
			{"S negative", negative, false},
			{"R = S = 1", derPair(derInt(big.NewInt(1), 0), derInt(big.NewInt(1), 0)), false},
			{"S half the order", derPair(derInt(r, 0), derInt(half, 0)), false},
		} {
			err := key.VerifyText([]byte(message), base64.URLEncoding.EncodeToString(test.der))
			if (err == nil) != test.ok {
				t.Errorf("%s: %x: %v", test.what, test.der, err)
			}
		}
		text := base64.URLEncoding.EncodeToString(good)
		if err := key.VerifyText([]byte(message+"."), text); err == nil {
			t.Error("it verifies another message")
		}
		for what, other := range map[string]string{
			"line feed":      text[:8] + "\n" + text[8:],
			"space at end":   text + " ",
			"more padding":   text + "=",
			"other alphabet": base64.URLEncoding.EncodeToString(good) + "+",
			"hex":            "3045",
		} {
			if err := key.VerifyText([]byte(message), other); err == nil {
				t.Errorf("%s: verified", what)
			}
		}
	}
}

// The S that are accepted end with half the order: this one is made by choosing S
// first and then the key that it fits.
func TestES256HalfOrder(t *testing.T) {
	half := new(big.Int).Rsh(p256Order, 1)
	digest := sha256.Sum256([]byte("x"))
	e := new(big.Int).SetBytes(digest[:])
	// With k = 1, r is the x of the generator, and s = e + r·d.
	r := new(big.Int).Mod(elliptic.P256().Params().Gx, p256Order)
	for _, test := range []struct {
		s  *big.Int
		ok bool
	}{
		{half, true},
		{new(big.Int).Add(half, big.NewInt(1)), false},
	} {
		d := new(big.Int).Sub(test.s, e)
		d.Mod(d.Mul(d, new(big.Int).ModInverse(r, p256Order)), p256Order)
		private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d.FillBytes(make([]byte, 32)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := private.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		key, err := wire.ParsePublicKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		der := derPair(derInt(r, 0), derInt(test.s, 0))
		if !ecdsa.VerifyASN1(&private.PublicKey, digest[:], der) {
			t.Fatal("the library does not verify it: the test is wrong")
		}
		if err := key.VerifyText([]byte("x"), base64.URLEncoding.EncodeToString(der)); (err == nil) != test.ok {
			t.Errorf("S = %x: %v", test.s, err)
		}
	}
}

// SPEC §9.1: a P-256 key is an uncompressed point of the curve.
func TestES256Key(t *testing.T) {
	private, raw := p256Key(t, "issuer")
	key, err := wire.ParsePublicKey(raw)
	if err != nil || key.Algorithm() != wire.ES256 || string(key.Bytes()) != string(raw) {
		t.Fatalf("%v, %v", key, err)
	}
	if back, err := wire.DecodePublicKey(key.String()); err != nil || back != key {
		t.Errorf("%v, %v", back, err)
	}
	if key.Verify([]byte("x"), wire.Signature{}) {
		t.Error("a P-256 key verifies an Ed25519 signature")
	}
	point := func(prefix byte, x, y *big.Int) []byte {
		b := append([]byte{prefix}, x.FillBytes(make([]byte, 32))...)
		return append(b, y.FillBytes(make([]byte, 32))...)
	}
	x, y := new(big.Int).SetBytes(raw[1:33]), new(big.Int).SetBytes(raw[33:])
	for what, b := range map[string][]byte{
		"64 bytes":            raw[:64],
		"66 bytes":            append(raw[:65:65], 0),
		"without prefix":      raw[1:],
		"compressed":          append([]byte{2 + raw[64]&1}, raw[1:33]...),
		"compressed, padded":  append([]byte{2 + raw[64]&1}, raw[1:]...),
		"hybrid":              point(6+raw[64]&1, x, y),
		"infinity":            {0},
		"infinity in 65":      make([]byte, 65),
		"origin":              point(4, new(big.Int), new(big.Int)),
		"not on the curve":    point(4, x, new(big.Int).Xor(y, big.NewInt(1))),
		"x is the prime":      point(4, p256Prime, y),
		"y is the prime":      point(4, x, p256Prime),
		"both beyond it":      append([]byte{4}, bytes.Repeat([]byte{0xff}, 64)...),
		"coordinates swapped": point(4, y, x),
	} {
		if k, err := wire.ParsePublicKey(b); err == nil {
			t.Errorf("%s: %v", what, k)
		} else {
			wantRefusal(t, what, err, wire.RuleWeakKey, "")
		}
		if k, err := wire.DecodePublicKey(base64.URLEncoding.EncodeToString(b)); err == nil {
			t.Errorf("%s, as text: %v", what, k)
		}
	}
	// The mirrored point is a key, but another one.
	other, err := wire.ParsePublicKey(point(4, x, new(big.Int).Sub(p256Prime, y)))
	if err != nil {
		t.Fatal(err)
	}
	r, s := signP256(t, private, "x")
	text := base64.URLEncoding.EncodeToString(derPair(derInt(r, 0), derInt(s, 0)))
	if err := other.VerifyText([]byte("x"), text); err == nil {
		t.Error("the mirrored key verifies")
	}
}

// What a P-256 key signs has the one spelling that is read, the same each time; about
// half of the signatures come with the higher s first.
func TestES256Signs(t *testing.T) {
	for i := range 16 {
		private, raw := p256Key(t, fmt.Sprint("issuer ", i))
		scalar, err := private.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		key, err := wire.NewP256Key(scalar)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(key.Seed(), scalar) || !bytes.Equal(key.Public().Bytes(), raw) || key.Public().Algorithm() != wire.ES256 {
			t.Fatalf("key %d: another secret or public key than it was made from", i)
		}
		message := fmt.Appendf(nil, "mandate %d", i)
		r, s := signP256(t, private, string(message))
		text, err := key.SignText(message)
		if want := base64.URLEncoding.EncodeToString(derPair(derInt(r, 0), derInt(s, 0))); err != nil || text != want {
			t.Errorf("key %d: signature %q, %v, want %q", i, text, err, want)
		}
		if err := key.Public().VerifyText(message, text); err != nil {
			t.Errorf("key %d: its own signature: %v", i, err)
		}
		if _, err := key.Sign(message); err == nil {
			t.Error("it signs messages, which are signed with EdDSA alone")
		}
	}
}

func TestP256KeySecret(t *testing.T) {
	order := p256Order.Bytes()
	for _, test := range []struct {
		what   string
		scalar []byte
	}{
		{"zero", make([]byte, 32)}, {"the order", order}, {"31 bytes", make([]byte, 31)},
		{"33 bytes", append([]byte{0}, order...)}, {"more than the order", bytes.Repeat([]byte{0xff}, 32)},
	} {
		if _, err := wire.NewP256Key(test.scalar); err == nil {
			t.Errorf("%s is accepted as a scalar", test.what)
		}
	}
	// GenerateP256Key draws again where it has drawn no scalar.
	seed := sha256.Sum256([]byte("drawn"))
	key, err := wire.GenerateP256Key(bytes.NewReader(append(bytes.Repeat([]byte{0xff}, 32), seed[:]...)))
	if err != nil || !bytes.Equal(key.Seed(), seed[:]) {
		t.Errorf("GenerateP256Key: %v, %v", key, err)
	}
	if _, err := wire.GenerateP256Key(bytes.NewReader(nil)); err == nil {
		t.Error("a key was drawn from nothing")
	}
	if text := fmt.Sprintf("%v %+v %#v %s", key, struct{ K wire.PrivateKey }{key}, key, []wire.PrivateKey{key}); bytes.Contains([]byte(text), []byte(key.Seed()[:4])) || len(text) > 100 {
		t.Errorf("it prints as %s", text)
	}
}
