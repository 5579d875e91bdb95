package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// p256 returns the P-256 key of a name, from the same seed as its Ed25519 key.
func p256(name string) *ecdsa.PrivateKey {
	return must(ecdsa.ParseRawPrivateKey(elliptic.P256(), key(name).Seed()))
}

func p256Public(name string) []byte { return must(p256(name).PublicKey.Bytes()) }

// pair returns r and s of the signature of a digest that RFC 6979 makes, s being
// the lower of the two that verify.
func pair(by *ecdsa.PrivateKey, digest []byte, hash crypto.Hash) (r, s *big.Int) {
	var p struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(must(by.Sign(nil, digest, hash)), &p); err != nil {
		panic(err)
	}
	if high := negative(p.S); high.Cmp(p.S) < 0 {
		p.S = high
	}
	return p.R, p.S
}

var p256Order = elliptic.P256().Params().N

func negative(s *big.Int) *big.Int { return new(big.Int).Sub(p256Order, s) }

// derInt is the DER of an integer that is not negative, after some zeros too many.
func derInt(n *big.Int, zeros int) []byte {
	b := n.Bytes()
	if len(b) == 0 || b[0] >= 0x80 {
		zeros++
	}
	b = append(make([]byte, zeros), b...)
	return append([]byte{2, byte(len(b))}, b...)
}

func derPair(r, s []byte) []byte {
	return append([]byte{0x30, byte(len(r) + len(s))}, append(r, s...)...)
}

// signES256 is the signature of a text that ES256 has.
func signES256(name, message string) string {
	digest := sha256.Sum256([]byte(message))
	r, s := pair(p256(name), digest[:], crypto.SHA256)
	return base64url(derPair(derInt(r, 0), derInt(s, 0)))
}

// signedES256 is one ES256 signature. The message is such that r needs a zero
// before it in DER, s needs none, and the base64 of the whole has unused bits and
// characters in which the alphabets differ.
func signedES256() specimen {
	const who = "harbour"
	var message string
	var r, s *big.Int
	for i := 0; ; i++ {
		message = fmt.Sprintf("berth %d is reserved until noon", i)
		digest := sha256.Sum256([]byte(message))
		r, s = pair(p256(who), digest[:], crypto.SHA256)
		text := signES256(who, message)
		if r.BitLen() == 256 && s.BitLen() < 248 && s.BitLen() > 240 && strings.HasSuffix(text, "=") && strings.Contains(text, "-") && strings.Contains(text, "_") {
			break
		}
	}
	pub := base64url(p256Public(who))
	good := signES256(who, message)
	sp := specimen{
		kind: "signed_text", record: "signed_text", profile: "signature-strict-v1", form: "es256",
		value: signedAs("ES256", message, pub, good), context: wire.M{},
	}
	add := func(name string, rule *wire.Rule, edit func(wire.Value) wire.Value, why, breaks string) {
		sp.faults = append(sp.faults, fault{name: name, rule: rule, edit: edit, why: why, breaks: breaks})
	}
	signature := func(name string, der []byte, why, breaks string) {
		add(name, wire.RuleSignature, set("/signature", fmt.Sprintf("%q", base64url(der))), why, breaks)
	}
	for _, form := range spellings {
		add("signature-"+form.name, wire.RuleSignatureForm, respell("/signature", form.edit), "signature: "+form.why, spellingBreaks)
		if form.name != "trailing-bits" { // 65 bytes leave two bits
			add("key-"+form.name, wire.RuleWeakKey, respell("/public_key", form.edit), "key: "+form.why, "one key has many texts, and a list of blocked keys misses it")
		}
	}
	add("key-trailing-bits", wire.RuleWeakKey, respell("/public_key", trailing), "key: the bits that stand for nothing are zero", "one key has many texts, and a list of blocked keys misses it")
	add("signature-standard-alphabet", wire.RuleSignatureForm, respell("/signature", strings.NewReplacer("-", "+", "_", "/").Replace), "signature: the alphabet is that for URLs and no other", spellingBreaks)

	const twin = "anybody makes a second signature of a message that somebody else signed, and its hash is another one"
	signature("high-s", derPair(derInt(r, 0), derInt(negative(s), 0)), "of s and its negative, both of which verify, the lower is the signature", twin)
	signature("r-padded", derPair(derInt(r, 1), derInt(s, 0)), "DER writes an integer with the fewest bytes", twin)
	signature("s-padded", derPair(derInt(r, 0), derInt(s, 1)), "DER writes an integer with the fewest bytes", twin)
	signature("r-negative", derPair(append([]byte{2, 32}, r.Bytes()...), derInt(s, 0)), "without a zero before it this r is negative", twin)
	signature("trailing-byte", append(unbase64(good), 0), "nothing follows the pair", twin)
	signature("trailing-bytes-inside", func() []byte {
		b := append(unbase64(good), 5, 0)
		b[1] += 2
		return b
	}(), "the pair is two integers and nothing else", twin)
	signature("length-in-two-bytes", append([]byte{0x30, 0x81}, unbase64(good)[1:]...), "DER writes a length with the fewest bytes", twin)
	signature("length-indefinite", append(append([]byte{0x30, 0x80}, unbase64(good)[2:]...), 0, 0), "DER has no lengths that are found only at the end", twin)
	signature("set-of-two", append([]byte{0x31}, unbase64(good)[1:]...), "the pair is a sequence", twin)
	signature("length-too-small", append([]byte{0x30, byte(len(unbase64(good)) - 3)}, unbase64(good)[2:]...), "a length says where something ends", twin)
	signature("length-too-large", append([]byte{0x30, byte(len(unbase64(good)) - 1)}, unbase64(good)[2:]...), "a length says where something ends", twin)
	signature("raw-pair", append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), "a signature is DER, not the two numbers one after the other", twin)
	signature("empty-pair", []byte{0x30, 0}, "a pair has two integers", "anybody speaks for anybody")
	signature("only-r", append([]byte{0x30, byte(len(derInt(r, 0)))}, derInt(r, 0)...), "a pair has two integers", "anybody speaks for anybody")
	const forged = "there was a verifier that accepted this for every message and every key"
	zero := new(big.Int)
	for _, c := range []struct {
		name string
		r, s *big.Int
	}{
		{"both-zero", zero, zero}, {"r-zero", zero, s}, {"s-zero", r, zero}, {"r-order", p256Order, s}, {"s-order", r, p256Order}, {"both-order", p256Order, p256Order},
		{"both-one", big.NewInt(1), big.NewInt(1)},
	} {
		signature(c.name, derPair(derInt(c.r, 0), derInt(c.s, 0)), "r and s lie between 1 and the order of the group, and the equation holds", forged)
	}
	signature("s-plus-order", derPair(derInt(r, 0), derInt(new(big.Int).Add(s, p256Order), 0)), "s is below the order of the group", twin)
	signature("r-plus-order", derPair(derInt(new(big.Int).Add(r, p256Order), 0), derInt(s, 0)), "r is below the order of the group", twin)
	signature("swapped", derPair(derInt(s, 0), derInt(r, 0)), "r comes before s", "words are put into the mouth of whoever holds the key")

	const words = "words are put into the mouth of whoever holds the key"
	add("other-message", wire.RuleSignature, set("/message", `"berth 1 is free"`), "a signature is for one message", words)
	add("message-letter", wire.RuleSignature, respell("/message", func(m string) string { return strings.Replace(m, "noon", "moon", 1) }), "every character is signed", words)
	add("message-newline", wire.RuleSignature, respell("/message", func(m string) string { return m + "\n" }), "nothing is trimmed before it is verified", words)
	add("other-key", wire.RuleSignature, set("/public_key", fmt.Sprintf("%q", base64url(p256Public("pier")))), "a signature is verified under the key at hand", words)
	add("signed-by-other", wire.RuleSignature, set("/signature", fmt.Sprintf("%q", signES256("pier", message))), "a signature by someone else proves nothing", words)
	for _, i := range []int{8, 20, -1} {
		add(fmt.Sprintf("bit-of-byte-%d", (i+len(unbase64(good)))%len(unbase64(good))), wire.RuleSignature, respell("/signature", bits(i, 1)), "every bit of a signature counts", words)
	}
	long := sha512.Sum512([]byte(message))
	r5, s5 := pair(p256(who), long[:], crypto.SHA512)
	signature("sha-512", derPair(derInt(r5, 0), derInt(s5, 0)), "ES256 hashes with SHA-256", "a signature that was made for another purpose counts here")
	twice := sha256.Sum256([]byte(wire.HashOf(message).Hex()))
	r2, s2 := pair(p256(who), twice[:], crypto.SHA256)
	signature("of-the-digest", derPair(derInt(r2, 0), derInt(s2, 0)), "the message is hashed once", "a signature of something else counts here")

	add("algorithm-eddsa", wire.RuleSignature, set("/algorithm", `"EdDSA"`), "a signature counts only under a key of the algorithm that is named", "whoever writes the label chooses how it is verified")
	add("ed25519-key", wire.RuleSignature, become(signedAs("ES256", message, key(who).Public().String(), must(key(who).Sign([]byte(message))).String())), "a key of the other algorithm does not serve, though its own signature is right", "whoever writes the label chooses how it is verified")
	add("ed25519-key-only", wire.RuleSignature, set("/public_key", fmt.Sprintf("%q", key(who).Public())), "a key of the other algorithm does not serve", words)

	raw := p256Public(who)
	weak := func(name string, raw []byte, why string) {
		add(name, wire.RuleWeakKey, set("/public_key", fmt.Sprintf("%q", base64url(raw))), why, "one key has several texts, or one of its texts is no point at all and tells the secret of whoever uses it")
	}
	weak("key-compressed", append([]byte{2 + raw[64]&1}, raw[1:33]...), "a key is an uncompressed point")
	weak("key-hybrid", append([]byte{6 + raw[64]&1}, raw[1:]...), "a key is an uncompressed point, not one in the hybrid form")
	weak("key-without-prefix", raw[1:], "a key begins with the byte that says how it is written")
	weak("key-other-prefix", append([]byte{5}, raw[1:]...), "a key begins with the byte 04")
	weak("key-infinity", []byte{0}, "the point at infinity is no key")
	weak("key-infinity-filled", append([]byte{4}, make([]byte, 64)...), "the point 0,0 is not on the curve")
	weak("key-infinity-padded", make([]byte, 65), "the point at infinity is no key")
	weak("key-off-the-curve", append(raw[:64:64], raw[64]^1), "a key is a point of the curve")
	weak("key-x-not-reduced", append(append([]byte{4}, elliptic.P256().Params().P.Bytes()...), raw[33:]...), "coordinates are below the prime")
	weak("key-swapped", append(append([]byte{4}, raw[33:]...), raw[1:33]...), "x comes before y")
	weak("key-of-p384", must(must(ecdsa.ParseRawPrivateKey(elliptic.P384(), append(make([]byte, 16), key(who).Seed()...))).PublicKey.Bytes()), "a key of another curve is no key of ES256")
	for i, m := range []string{"", "berth", strings.Repeat("quay ", 300), "ship \U0001f6a2"} {
		add(fmt.Sprintf("other-text-%d", i+1), nil, become(signedAs("ES256", m, pub, signES256(who, m))), "any text can be signed", "")
	}
	other := "harbour master"
	add("other-signer", nil, become(signedAs("ES256", message, base64url(p256Public(other)), signES256(other, message))), "any key of P-256 serves", "")
	return sp
}
