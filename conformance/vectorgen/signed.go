package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"filippo.io/edwards25519"

	"github.com/concordia-node/concordia/conformance"
	"github.com/concordia-node/concordia/wire"
)

const signedMessage = "the skipper Ada Lindqvist takes the Sjöbris out on 3 October"

// suiteRule returns a rule of suites by its name.
func suiteRule(name string) *wire.Rule {
	for _, r := range conformance.Rules() {
		if r.Name == name {
			return r
		}
	}
	panic("vectorgen: suites have no rule " + name)
}

var ruleSignedText = suiteRule("signed-text")

// signedAs makes the input of the profile signature-strict-v1.
func signedAs(algorithm, message, publicKey, signature string) wire.Value {
	return value(wire.M{"algorithm": algorithm, "message": message, "public_key": publicKey, "signature": signature})
}

// become returns an edit that replaces everything.
func become(v wire.Value) func(wire.Value) wire.Value {
	return func(wire.Value) wire.Value { return v }
}

// respell returns an edit of a text at a pointer.
func respell(pointer string, edit func(string) string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		old, ok := v.At(tokens(pointer)...)
		if !ok || old.Kind() != wire.String {
			panic("vectorgen: no text at " + pointer)
		}
		return at(v, tokens(pointer), wire.Text(edit(old.Text())))
	}
}

func base64url(b []byte) string { return base64.URLEncoding.EncodeToString(b) }

func unbase64(s string) []byte { return must(base64.URLEncoding.DecodeString(s)) }

// bits returns an edit of base64url text that flips bits of one byte it stands for.
func bits(i int, mask byte) func(string) string {
	return func(s string) string {
		b := unbase64(s)
		b[(i+len(b))%len(b)] ^= mask
		return base64url(b)
	}
}

// trailing sets an unused bit in the last character before the padding.
func trailing(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	end := strings.IndexByte(s, '=')
	if end < 0 {
		panic("vectorgen: no unused bits in " + s)
	}
	return s[:end-1] + string(alphabet[strings.IndexByte(alphabet, s[end-1])|1]) + s[end:]
}

// A spelling is another text for the same bytes, or nearly.
type spelling struct {
	name string
	edit func(string) string
	why  string
}

// spellings are what lenient base64 readers take for the same bytes. Each is to be
// refused, for two texts of one signature are two messages with one content.
var spellings = []spelling{
	{"unpadded", func(s string) string { return strings.TrimRight(s, "=") }, "the padding is part of the one spelling"},
	{"over-padded", func(s string) string { return s + "=" }, "there is as much padding as it takes"},
	{"junk", func(s string) string { return s[:20] + "!" + s[20:] }, "no character outside the alphabet is skipped"},
	{"junk-at-end", func(s string) string { return s + "~" }, "nothing follows the padding"},
	{"trailing-bits", trailing, "the bits that stand for nothing are zero"},
	{"leading-space", func(s string) string { return " " + s }, "white space is no part of it"},
	{"trailing-newline", func(s string) string { return s + "\n" }, "white space is no part of it, not even at the end"},
	{"line-break", func(s string) string { return s[:40] + "\r\n" + s[40:] }, "line breaks are not skipped"},
	{"padding-inside", func(s string) string { return s[:4] + "=" + s[4:] }, "padding stands at the end"},
	{"nul", func(s string) string { return s + "\x00" }, "a text does not end at a zero byte"},
}

const spellingBreaks = "one signature has many texts, and a message that was seen comes again under another hash"

// signedText is one Ed25519 signature. The message is such that the signature has
// characters in which the two alphabets of base64 differ.
func signedText() specimen {
	who := key("skipper")
	message := signedMessage
	for i := 0; ; i++ {
		message = fmt.Sprintf("%s, trip %d", signedMessage, i)
		if text := must(who.Sign([]byte(message))).String(); strings.Contains(text, "-") && strings.Contains(text, "_") {
			break
		}
	}
	sign := func(by wire.PrivateKey, m string) string { return must(by.Sign([]byte(m))).String() }
	pub := who.Public().String()
	good := sign(who, message)
	s := specimen{
		kind: "signed_text", record: "signed_text", profile: "signature-strict-v1", form: "ed25519",
		value: signedAs("EdDSA", message, pub, good), context: wire.M{},
	}
	add := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		s.faults = append(s.faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	for _, sp := range spellings {
		add("signature-"+sp.name, wire.RuleSignatureForm, respell("/signature", sp.edit), "signature: "+sp.why, spellingBreaks)
		add("key-"+sp.name, wire.RuleWeakKey, respell("/public_key", sp.edit), "key: "+sp.why, "one key has many texts, and a list of blocked keys misses it")
	}
	standard := func(s string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(s) }
	add("signature-standard-alphabet", wire.RuleSignatureForm, respell("/signature", standard), "signature: the alphabet is that for URLs and no other", spellingBreaks)
	add("signature-hex", wire.RuleSignatureForm, set("/signature", fmt.Sprintf("%q", hex.EncodeToString(unbase64(good)))), "a signature is base64url, not hex", spellingBreaks)
	add("signature-empty", wire.RuleSignatureForm, set("/signature", `""`), "no signature is no signature", "anybody speaks for anybody")
	for _, n := range []int{32, 63, 65, 96} {
		add(fmt.Sprintf("signature-%d-bytes", n), wire.RuleSignatureForm, respell("/signature", func(s string) string {
			b := append(unbase64(s), make([]byte, 64)...)
			return base64url(b[:n])
		}), "a signature has 64 bytes; what is missing or too much is not filled in or cut off", spellingBreaks)
	}
	for _, n := range []int{0, 1, 31, 33, 64} {
		add(fmt.Sprintf("key-%d-bytes", n), wire.RuleWeakKey, respell("/public_key", func(s string) string {
			b := append(unbase64(s), make([]byte, 64)...)
			return base64url(b[:n])
		}), "a key has 32 bytes; some libraries stop the program at another length", "a message that anybody can send stops the verifier, or is verified under half a key")
	}
	const forged = "words are put into the mouth of whoever holds the key"
	add("other-message", wire.RuleSignature, set("/message", `"the skipper stays ashore"`), "a signature is for one message", forged)
	add("message-letter", wire.RuleSignature, respell("/message", func(m string) string { return strings.Replace(m, "3 October", "4 October", 1) }), "every character is signed", forged)
	add("message-newline", wire.RuleSignature, respell("/message", func(m string) string { return m + "\n" }), "nothing is trimmed before it is verified", forged)
	add("message-cut", wire.RuleSignature, respell("/message", func(m string) string { return m[:len(m)-1] }), "the last character is signed as well", forged)
	add("message-other-form", wire.RuleSignature, respell("/message", func(m string) string { return strings.ReplaceAll(m, "ö", "o\u0308") }), "text is not normalised before it is verified", forged)
	add("message-lower-case", wire.RuleSignature, respell("/message", strings.ToLower), "letters are signed as they are", forged)
	add("message-empty", wire.RuleSignature, set("/message", `""`), "an empty message is another message", forged)
	add("other-key", wire.RuleSignature, set("/public_key", fmt.Sprintf("%q", key("mate").Public())), "a signature is verified under the key at hand", forged)
	add("signed-by-other", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", sign(key("mate"), message))), "a signature by someone else proves nothing", forged)
	for _, b := range []struct {
		name string
		i    int
		mask byte
	}{{"first-bit", 0, 1}, {"sign-of-r", 31, 0x80}, {"middle-of-r", 15, 0x10}, {"first-of-s", 32, 1}, {"last-of-s", 63, 1}} {
		add("bit-"+b.name, wire.RuleSignature, respell("/signature", bits(b.i, b.mask)), "every bit of a signature counts", forged)
	}
	for _, b := range []byte{0x20, 0x40, 0x80} {
		add(fmt.Sprintf("s-top-bit-%02x", b), wire.RuleSignature, respell("/signature", bits(63, b)), "the three top bits of S are zero: old libraries masked them", spellingBreaks)
	}
	add("zero", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", base64url(make([]byte, 64)))), "64 zeros are no signature", forged)
	add("halves-swapped", wire.RuleSignature, respell("/signature", func(s string) string {
		b := unbase64(s)
		return base64url(append(b[32:], b[:32]...))
	}), "R comes before S", forged)
	private := ed25519.NewKeyFromSeed(who.Seed())
	digest := sha512.Sum512([]byte(message))
	add("prehashed", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", base64url(must(private.Sign(nil, digest[:], crypto.SHA512))))), "Ed25519ph is another algorithm", "a signature that was made for another purpose counts here")
	add("with-context", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", base64url(must(private.Sign(nil, []byte(message), &ed25519.Options{Context: "concordia"}))))), "Ed25519ctx is another algorithm", "a signature that was made for another purpose counts here")
	add("of-the-digest", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", sign(who, wire.HashOf(message).Hex()))), "the message itself is signed, not its hash", "a signature of something else counts here")
	add("algorithm-es256", wire.RuleSignature, set("/algorithm", `"ES256"`), "a signature counts only under a key of the algorithm that is named", "whoever writes the label chooses how it is verified")
	add("algorithm-none", ruleSignedText, set("/algorithm", `"none"`), "there are two algorithms", "a signature is not looked at because its label says so")
	add("algorithm-lower-case", ruleSignedText, set("/algorithm", `"eddsa"`), "algorithms have one spelling", "a verifier that does not know the label takes its default")
	for _, m := range []string{"algorithm", "message", "public_key", "signature"} {
		add("no-"+strings.ReplaceAll(m, "_", "-"), ruleSignedText, drop("/"+m), m+" is there: without it there is nothing to verify", "a verifier that fills in what is missing verifies something else")
		add("null-"+strings.ReplaceAll(m, "_", "-"), ruleSignedText, set("/"+m, "null"), m+" is a text", "a verifier that takes null for a text verifies something else")
	}
	for _, m := range []struct{ name, text, why string }{
		{"empty-message", "", "the empty message can be signed"},
		{"long-message", strings.Repeat("port and starboard, ", 400), "a long message is signed as a whole"},
		{"unicode-message", "\U0001f6a2 港 \u0000 \u2028", "any text can be signed, as its UTF-8 bytes"},
	} {
		add(m.name, nil, become(signedAs("EdDSA", m.text, pub, sign(who, m.text))), m.why, "")
	}
	s.faults = append(s.faults, pointFaults()...)
	return s
}

// A forger knows more of a key than its owner tells: a is its secret scalar, and
// the key is a·B and a point of small order.
type forger struct {
	a    *edwards25519.Scalar
	text []byte // the key
}

func scalarOf(text string) *edwards25519.Scalar {
	sum := sha512.Sum512([]byte("concordia conformance scalar " + text))
	return must(edwards25519.NewScalar().SetUniformBytes(sum[:]))
}

func challenge(r, a []byte, message string) *edwards25519.Scalar {
	sum := sha512.Sum512(append(append(append([]byte{}, r...), a...), message...))
	return must(edwards25519.NewScalar().SetUniformBytes(sum[:]))
}

// torsion returns n times a point of order 8.
func torsion(n int) *edwards25519.Point {
	point := must(new(edwards25519.Point).SetBytes(must(hex.DecodeString("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))))
	sum := edwards25519.NewIdentityPoint()
	for range n {
		sum.Add(sum, point)
	}
	return sum
}

// sign makes a signature with the nonce of that name, R moved by a point of small
// order.
func (f forger) sign(message, nonce string, move int) []byte {
	r := scalarOf(nonce)
	point := new(edwards25519.Point).ScalarBaseMult(r)
	text := point.Add(point, torsion(move)).Bytes()
	s := edwards25519.NewScalar().MultiplyAdd(challenge(text, f.text, message), f.a, r)
	return append(text, s.Bytes()...)
}

// pointFaults are keys and signatures that no honest signer makes.
func pointFaults() (faults []fault) {
	const anyMessage = "one signature under such a key fits many messages, and its owner can deny each"
	message := signedMessage
	add := func(name string, rule *wire.Rule, pub, signature []byte, message, why, breaks string) {
		faults = append(faults, fault{name: name, rule: rule, edit: become(signedAs("EdDSA", message, base64url(pub), base64url(signature))), why: why, breaks: breaks})
	}
	// Keys of small order, in every encoding that a lenient reader takes. The
	// secret is zero; a nonce is looked for with which the signature verifies.
	small := map[string][]byte{}
	for i := range 8 {
		small[fmt.Sprintf("small-order-%d", i)] = torsion(i).Bytes()
	}
	for name, hexed := range map[string]string{
		"not-reduced-identity":      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"not-reduced-order-4":       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"not-reduced-order-4-sign":  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"identity-with-sign":        "0100000000000000000000000000000000000000000000000000000000000080",
		"order-2-with-sign":         "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"not-reduced-identity-sign": "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	} {
		small[name] = must(hex.DecodeString(hexed))
	}
	for _, name := range sorted(small) {
		f := forger{edwards25519.NewScalar(), small[name]}
		for i := 0; ; i++ {
			if sig := f.sign(message, fmt.Sprintf("%s %d", name, i), 0); verifies(f.text, message, sig) {
				add("key-"+name, wire.RuleWeakKey, f.text, sig, message, "a key is canonically encoded and not of small order; the equation of the signature holds here", anyMessage)
				break
			}
		}
	}
	honest := must(key("skipper").Sign([]byte(message)))
	add("key-off-the-curve", wire.RuleWeakKey, append([]byte{2}, make([]byte, 31)...), honest[:], message, "a key is a point of the curve", anyMessage)

	// A key with a part of small order is no weak key: what verifies without the
	// cofactor stands, what verifies only with it does not.
	a := scalarOf("mixed")
	point := new(edwards25519.Point).ScalarBaseMult(a)
	mixed := forger{a, point.Add(point, torsion(1)).Bytes()}
	plain := forger{a, new(edwards25519.Point).ScalarBaseMult(a).Bytes()}
	found := map[bool]bool{}
	for i := 0; len(found) < 2; i++ {
		sig := mixed.sign(message, fmt.Sprintf("mixed %d", i), 0)
		ok := verifies(mixed.text, message, sig)
		if found[ok] {
			continue
		}
		found[ok] = true
		if ok {
			add("mixed-order-key", nil, mixed.text, sig, message, "a key with a part of small order is verified like others, without the cofactor", "")
		} else {
			add("only-with-cofactor", wire.RuleSignature, mixed.text, sig, message, "a signature is verified without the cofactor, so that all verifiers agree", "verifiers with and without the cofactor disagree about one transcript")
		}
	}
	add("own-scalar", nil, plain.text, plain.sign(message, "plain", 0), message, "how a signer finds its nonce is its own affair", "")
	add("r-mixed-order", wire.RuleSignature, plain.text, plain.sign(message, "mixed r", 1), message, "R is what it is: a part of small order is not ignored", "verifiers with and without the cofactor disagree about one transcript")

	// R of small order: the nonce is zero.
	identity := edwards25519.NewIdentityPoint().Bytes()
	s := edwards25519.NewScalar().Multiply(challenge(identity, plain.text, message), a)
	add("r-identity", wire.RuleSignature, plain.text, append(bytes.Clone(identity), s.Bytes()...), message, "R is not of small order, though the equation holds", "whoever sees the signature knows the secret key")
	for _, name := range []string{"not-reduced-identity", "identity-with-sign"} {
		r := bytes.Clone(small[name])
		s := edwards25519.NewScalar().Multiply(challenge(r, plain.text, message), a)
		add("r-"+name, wire.RuleSignature, plain.text, append(r, s.Bytes()...), message, "R is canonically encoded: a verifier that decodes it accepts a second spelling", spellingBreaks)
	}

	// S and a multiple of the order of the group.
	order := must(hex.DecodeString("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
	sig := plain.sign(message, "malleable", 0)
	for n := 1; n <= 8; n++ {
		add(fmt.Sprintf("s-plus-%d-orders", n), wire.RuleSignature, plain.text, append(bytes.Clone(sig[:32]), plus(sig[32:], order, n)...), message, "S is below the order of the group, though the equation holds", "anybody makes a second signature of a message that somebody else signed, and its hash is another one")
	}
	add("s-is-the-order", wire.RuleSignature, plain.text, append(bytes.Clone(sig[:32]), order...), message, "S is below the order of the group", "a value that is zero to some and an error to others")
	return faults
}

// plus adds n times b to a, both little-endian.
func plus(a, b []byte, n int) []byte {
	sum := bytes.Clone(a)
	for range n {
		carry := 0
		for i := range sum {
			carry += int(sum[i]) + int(b[i])
			sum[i] = byte(carry)
			carry >>= 8
		}
	}
	return sum
}

// verifies is the equation of the signature and nothing else.
func verifies(pub []byte, message string, sig []byte) bool {
	return ed25519.Verify(pub, []byte(message), sig)
}
