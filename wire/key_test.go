package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/concordia-node/concordia/wire"
)

// SPEC §9.1: a public key is 32 bytes, canonically encoded, not of small order.
func TestPublicKeyGate(t *testing.T) {
	good := testKey(t, "seller").Public()
	k, err := wire.ParsePublicKey(good.Bytes())
	if err != nil || k != good || k.IsZero() {
		t.Fatalf("ParsePublicKey = %v, %v, want %v", k, err, good)
	}
	for what, digits := range map[string]string{
		"no bytes":                   "",
		"31 bytes":                   strings.Repeat("11", 31),
		"33 bytes":                   hex.EncodeToString(good.Bytes()) + "00",
		"not on the curve":           "02" + strings.Repeat("00", 31),
		"y = p, which is 0":          "ed" + strings.Repeat("ff", 30) + "7f",
		"y = p + 1, which is 1":      "ee" + strings.Repeat("ff", 30) + "7f",
		"y = p + 3, not small order": "f0" + strings.Repeat("ff", 30) + "7f",
		"x = 0 with a sign":          "01" + strings.Repeat("00", 30) + "80",
		"y = -1, x = 0 with a sign":  "ec" + strings.Repeat("ff", 31),
		"identity":                   "01" + strings.Repeat("00", 31),
	} {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		k, err := wire.ParsePublicKey(raw)
		wantRefusal(t, what, err, wire.RuleWeakKey, "")
		if !k.IsZero() {
			t.Errorf("%s: got key %v with the refusal", what, k)
		}
		_, err = wire.DecodePublicKey(base64.URLEncoding.EncodeToString(raw))
		wantRefusal(t, what+", as text", err, wire.RuleWeakKey, "")
	}
	// The point of y = 3 + p has a canonical twin: the reason is the encoding.
	twin, _ := hex.DecodeString("03" + strings.Repeat("00", 31))
	if _, err := wire.ParsePublicKey(twin); err != nil {
		t.Errorf("y = 3: got %v, want no error", err)
	}
}

// A key's bytes are a copy: nobody changes a key that passed the gate.
func TestPublicKeyImmutable(t *testing.T) {
	k := testKey(t, "seller").Public()
	clear(k.Bytes())
	if k != testKey(t, "seller").Public() {
		t.Error("a key changed through Bytes")
	}
}

func TestZeroKeyVerifiesNothing(t *testing.T) {
	var k wire.PublicKey
	if !k.IsZero() {
		t.Error("the zero key is not IsZero")
	}
	if k.Verify(nil, wire.Signature{}) {
		t.Error("the zero key verifies the zero signature")
	}
}

// SPEC §9.2: base64url with padding, one text for each value.
func TestBase64(t *testing.T) {
	key := testKey(t, "seller").Public()
	sig, err := testKey(t, "seller").Sign([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	var dense [64]byte // a text with both characters that the alphabets differ in
	for i := range dense {
		dense[i] = 0xfb
	}
	for _, s := range []string{key.String(), sig.String(), wire.Signature(dense).String()} {
		size := base64.URLEncoding.DecodedLen(len(s)) - strings.Count(s, "=")
		raw, err := wire.DecodeBase64(s, size)
		if err != nil || base64.URLEncoding.EncodeToString(raw) != s {
			t.Errorf("DecodeBase64(%s) = %x, %v", s, raw, err)
		}
		bits := s[:len(s)-1-strings.Count(s, "=")]
		last := strings.IndexByte(alphabet, s[len(bits)])
		for what, text := range map[string]string{
			"empty":             "",
			"no padding":        strings.TrimRight(s, "="),
			"more padding":      s + "=",
			"a block more":      s + "AAAA",
			"a block less":      s[4:],
			"padding first":     "=" + s[:len(s)-1],
			"padding inside":    s[:8] + "=" + s[9:],
			"unused bits set":   bits + string(alphabet[last|1]) + s[len(bits)+1:],
			"line feed":         s[:20] + "\n" + s[21:],
			"line feeds added":  s[:20] + "\n\n\n\n" + s[20:],
			"carriage return":   s[:len(s)-1] + "\r",
			"line feed at end":  s + "\n",
			"space":             s[:20] + " " + s[21:],
			"leading space":     " " + s[1:],
			"junk":              s[:20] + "!*" + s[22:],
			"junk added":        s[:20] + "!*" + s[20:],
			"NUL":               s[:20] + "\x00" + s[21:],
			"plus":              s[:20] + "+" + s[21:],
			"slash":             s[:20] + "/" + s[21:],
			"non-ASCII":         s[:20] + "é" + s[22:],
			"full-width letter": s[:20] + "Ａ" + s[23:],
		} {
			if raw, err := wire.DecodeBase64(text, size); err == nil {
				t.Errorf("%s: DecodeBase64(%q) = %x, want an error", what, text, raw)
			}
		}
		for _, other := range []int{0, 1, 31, 33, 63, 65} {
			if raw, err := wire.DecodeBase64(s, other); err == nil {
				t.Errorf("DecodeBase64(%s, %d) = %x, want an error", s, other, raw)
			}
		}
	}
	standard := base64.StdEncoding.EncodeToString(dense[:])
	if _, err := wire.ParseSignature(standard); err == nil || !strings.ContainsAny(standard, "+/") {
		t.Errorf("ParseSignature(%s): got no error, want the standard alphabet refused", standard)
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Each text that reads as a key or signature is the text it is written as.
func TestKeyText(t *testing.T) {
	key := testKey(t, "seller").Public()
	sig, err := testKey(t, "seller").Sign([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wire.DecodePublicKey(key.String()); err != nil || got != key {
		t.Errorf("DecodePublicKey(%v) = %v, %v", key, got, err)
	}
	if got, err := wire.ParseSignature(sig.String()); err != nil || got != sig {
		t.Errorf("ParseSignature(%v) = %v, %v", sig, got, err)
	}
	want := `{"key":"` + key.String() + `","signature":"` + sig.String() + `"}`
	if got := encode(t, wire.M{"signature": sig, "key": key}).Canonical(); got != want {
		t.Errorf("Encode = %s, want %s", got, want)
	}
	if _, err := wire.ParseSignature(key.String()); err == nil {
		t.Error("a key reads as a signature")
	}
}

// A signature is of one message under one key, bit by bit.
func TestSignVerify(t *testing.T) {
	k := testKey(t, "seller")
	message := []byte("two thousand")
	sig, err := k.Sign(message)
	if err != nil {
		t.Fatal(err)
	}
	if !k.Public().Verify(message, sig) {
		t.Fatal("an honest signature does not verify")
	}
	if testKey(t, "buyer").Public().Verify(message, sig) {
		t.Error("it verifies under another key")
	}
	for i := range 8 * len(message) {
		changed := bytes.Clone(message)
		changed[i/8] ^= 1 << (i % 8)
		if k.Public().Verify(changed, sig) {
			t.Errorf("it verifies with bit %d of the message flipped", i)
		}
	}
	for i := range 8 * len(sig) {
		changed := sig
		changed[i/8] ^= 1 << (i % 8)
		if k.Public().Verify(message, changed) {
			t.Errorf("it verifies with bit %d of the signature flipped", i)
		}
	}
}

func TestNewPrivateKey(t *testing.T) {
	// RFC 8032, Section 7.1, test 1.
	seed, _ := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	k, err := wire.NewPrivateKey(seed)
	if err != nil || k.IsZero() || !bytes.Equal(k.Seed(), seed) {
		t.Fatalf("NewPrivateKey: %v, seed %x", err, k.Seed())
	}
	if got, want := hex.EncodeToString(k.Public().Bytes()), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"; got != want {
		t.Errorf("public key = %s, want %s", got, want)
	}
	sig, err := k.Sign(nil)
	if want := "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"; err != nil || hex.EncodeToString(sig[:]) != want {
		t.Errorf("signature = %x, %v, want %s", sig, err, want)
	}
	clear(seed) // the caller's copy is the caller's
	if k.Public().Verify(nil, sig) == false || bytes.Equal(k.Seed(), seed) {
		t.Error("the key shares memory with the seed it was made of")
	}
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := wire.NewPrivateKey(make([]byte, n)); err == nil {
			t.Errorf("a seed of %d bytes is accepted", n)
		}
	}
	if !(wire.PrivateKey{}).IsZero() {
		t.Error("the zero private key is not IsZero")
	}
}

func TestGenerateKey(t *testing.T) {
	random := strings.NewReader(strings.Repeat("s", 32) + strings.Repeat("t", 31))
	k, err := wire.GenerateKey(random)
	if err != nil || string(k.Seed()) != strings.Repeat("s", 32) {
		t.Fatalf("GenerateKey = seed %q, %v, want the 32 bytes that were drawn", k.Seed(), err)
	}
	k, err = wire.GenerateKey(random)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !k.IsZero() {
		t.Errorf("GenerateKey of 31 bytes: got %v, %v, want io.ErrUnexpectedEOF and no key", k, err)
	}
}

// A private key never prints, by any verb, wherever it is kept.
func TestPrivateKeyNeverPrints(t *testing.T) {
	seed := []byte("SECRETSECRETSECRETSECRETSECRET..")
	k, err := wire.NewPrivateKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct {
		name string
		key  wire.PrivateKey
	}
	type open struct{ Key wire.PrivateKey }
	keepers := map[string]any{
		"key": k, "pointer": &k, "slice": []wire.PrivateKey{k}, "map": map[string]wire.PrivateKey{"k": k},
		"unexported field": hidden{"x", k}, "pointer to it": &hidden{"x", k}, "exported field": open{k},
		"signer": struct{ s wire.Signer }{k}, "error": fmt.Errorf("with %v and %w", k, errors.New("x")),
	}
	for where, x := range keepers {
		var out []string
		for _, verb := range "vsqxXdobcUtepg" {
			out = append(out, fmt.Sprintf("%"+string(verb), x))
		}
		out = append(out, fmt.Sprintf("%+v %#v % x %#x", x, x, x, x), fmt.Sprint(x), fmt.Sprintln(x))
		for _, h := range []func(io.Writer) slog.Handler{
			func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
			func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
		} {
			var log bytes.Buffer
			slog.New(h(&log)).Info("key", "key", x, slog.Group("g", "key", x))
			out = append(out, log.String())
		}
		if b, err := json.Marshal(x); err == nil {
			out = append(out, string(b))
		}
		if v, err := wire.Encode(x); err == nil {
			out = append(out, v.Canonical())
		}
		for _, s := range out {
			for form, secret := range map[string]string{
				"text": "SECRET", "hex": "534543524554", "HEX": "53 45 43 52 45 54", "bytes": "83 69 67 82 69 84", "hex bytes": "0x53, 0x45, 0x43",
				"octal": "123 105 103 122", "binary": "1010011 1000101", "code points": "U+0053 U+0045", "base64": base64.StdEncoding.EncodeToString(seed)[:8],
			} {
				if strings.Contains(s, secret) {
					t.Errorf("%s prints its seed as %s: %s", where, form, brief(s))
				}
			}
		}
	}
	if got, want := fmt.Sprintf("%v %+v %#v %s %x", k, k, k, k, k), strings.TrimSuffix(strings.Repeat("[private key] ", 5), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "key", k)
	if got, want := textAt(parse(t, log.String()), "key"), "[private key]"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
	if _, err := json.Marshal(k); err == nil {
		t.Error("json.Marshal of a private key succeeds")
	}
	if v, err := wire.Encode(wire.M{"key": k}); err == nil {
		t.Errorf("Encode of a private key = %v, want an error", v)
	}
}

// brokenKeys cannot answer.
type brokenKeys struct{}

var errBroken = errors.New("no route to host")

func (brokenKeys) Key(wire.AgentID, time.Time) (wire.PublicKey, error) {
	return wire.PublicKey{}, errBroken
}

// keyRing answers by time, as a resolver with rotation does.
type keyRing struct{ before, after wire.PublicKey }

func (r keyRing) Key(_ wire.AgentID, at time.Time) (wire.PublicKey, error) {
	if at.Before(testTime) {
		return r.before, nil
	}
	return r.after, nil
}

func TestKeys(t *testing.T) {
	seller, buyer := testKey(t, "seller").Public(), testKey(t, "buyer").Public()
	did := wire.DIDKey(buyer)
	tests := []struct {
		name  string
		keys  wire.Keys
		agent wire.AgentID
		want  wire.PublicKey
		err   error
	}{
		{"map", wire.KeyMap{"s": seller}, "s", seller, nil},
		{"map, unknown", wire.KeyMap{"s": seller}, "S", wire.PublicKey{}, wire.RuleUnknownKey},
		{"nil map", wire.KeyMap(nil), "s", wire.PublicKey{}, wire.RuleUnknownKey},
		{"did:key", wire.DIDKeys{}, did, buyer, nil},
		{"did:key, other id", wire.DIDKeys{}, "s", wire.PublicKey{}, wire.RuleUnknownKey},
		{"did:key, other method", wire.DIDKeys{}, "did:web:example.org", wire.PublicKey{}, wire.RuleUnknownKey},
		{"did:key, broken", wire.DIDKeys{}, did + "x", wire.PublicKey{}, wire.RuleWeakKey},
		{"any, first", wire.AnyKeys{wire.KeyMap{"s": seller}, wire.KeyMap{"s": buyer}}, "s", seller, nil},
		{"any, second", wire.AnyKeys{wire.KeyMap{"s": seller}, wire.DIDKeys{}}, did, buyer, nil},
		{"any, none", wire.AnyKeys{wire.KeyMap{"s": seller}, wire.DIDKeys{}}, "x", wire.PublicKey{}, wire.RuleUnknownKey},
		{"any of nothing", wire.AnyKeys(nil), "x", wire.PublicKey{}, wire.RuleUnknownKey},
		{"any, the first is broken", wire.AnyKeys{brokenKeys{}, wire.KeyMap{"s": seller}}, "s", wire.PublicKey{}, errBroken},
		{"any, the second is broken", wire.AnyKeys{wire.KeyMap{"s": seller}, brokenKeys{}}, "s", seller, nil},
		{"any, a weak key is an answer", wire.AnyKeys{wire.DIDKeys{}, wire.KeyMap{did + "x": seller}}, did + "x", wire.PublicKey{}, wire.RuleWeakKey},
	}
	for _, tt := range tests {
		got, err := tt.keys.Key(tt.agent, testTime)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: Key(%q) = %v, %v, want %v, %v", tt.name, tt.agent, got, err, tt.want, tt.err)
		}
	}
}
