package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"math/big"

	"github.com/concordia-node/concordia/wire"
)

// key256 returns the P-256 key of a name. Its secret is published: the SHA-256 of
// "concordia conformance P-256 key " and the name.
func key256(name string) *ecdsa.PrivateKey {
	secret := sha256.Sum256([]byte("concordia conformance P-256 key " + name))
	return must(ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:]))
}

func point(name string) []byte { return must(key256(name).PublicKey.Bytes()) }

// public256 returns the public key of a name as a context has it.
func public256(name string) string { return base64.URLEncoding.EncodeToString(point(name)) }

// numbers returns both numbers of a signature, S the low one. Without a source of
// chance they are those of RFC 6979, the same each time.
func numbers(who string, message []byte) (r, s *big.Int) {
	digest := sha256.Sum256(message)
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(must(key256(who).Sign(nil, digest[:], crypto.SHA256)), &sig); err != nil {
		panic(err)
	}
	if sig.S.Cmp(new(big.Int).Rsh(elliptic.P256().Params().N, 1)) > 0 {
		sig.S = mirrored(sig.S)
	}
	return sig.R, sig.S
}

// mirrored returns the S of the other signature that the same numbers make.
func mirrored(s *big.Int) *big.Int { return new(big.Int).Sub(elliptic.P256().Params().N, s) }

// integer is the DER of a number that is not negative, with zeros put before it.
func integer(n *big.Int, zeros int) []byte {
	b := n.Bytes()
	if len(b) == 0 || b[0] >= 0x80 {
		zeros++
	}
	b = append(make([]byte, zeros), b...)
	return append([]byte{2, byte(len(b))}, b...)
}

func sequence(parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	return append([]byte{0x30, byte(len(body))}, body...)
}

func sign256(who string, v wire.Value) wire.Value {
	r, s := numbers(who, []byte(v.Canonical()))
	return encoded(sequence(integer(r, 0), integer(s, 0)))
}

func encoded(b []byte) wire.Value { return wire.Text(base64.URLEncoding.EncodeToString(b)) }

// signed256 returns a function that signs everything but "signature", a text.
func signed256(who string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		if text, _ := v.Get("signature"); text.Kind() != wire.String {
			return v
		}
		return v.With("signature", sign256(who, withoutSignature(v)))
	}
}

// forged256 makes what can be wrong with a signature of ES256 over everything but
// "signature". known is public_keys of the context.
func forged256(what, who string, rule *wire.Rule, known wire.M, with wire.M, changed, to string) []fault {
	put := func(make func(r, s *big.Int) []byte) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value {
			r, s := numbers(who, []byte(withoutSignature(v).Canonical()))
			return v.With("signature", encoded(make(r, s)))
		}
	}
	keys := func(k []byte) wire.M {
		return wire.M{"public_keys": merged(known, wire.M{who: base64.URLEncoding.EncodeToString(k)})}
	}
	order := elliptic.P256().Params().N
	raw := point(who)
	x, y := raw[1:33], raw[33:]
	const copies = "a third party makes a second sound copy of a signed artifact, without the key"
	const open = "anybody speaks in the name of the signer"
	const gate = "programs that read keys in many forms disagree about whose key this is"
	list := []fault{
		{name: "high-s", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(r, 0), integer(mirrored(s), 0)) }),
			why: "of the two S that verify only the low one counts", breaks: copies},
		{name: "s-plus-order", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(r, 0), integer(new(big.Int).Add(s, order), 0)) }),
			why: "S is below the order of the group", breaks: copies},
		{name: "r-plus-order", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(new(big.Int).Add(r, order), 0), integer(s, 0)) }),
			why: "R is below the order of the group", breaks: copies},
		{name: "bare-numbers", rule: rule, after: put(func(r, s *big.Int) []byte {
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}), why: "the signature is DER, not R and S side by side", breaks: copies},
		{name: "zero-before-r", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(r, 1), integer(s, 0)) }),
			why: "DER has one form for each number: no zeros before it", breaks: copies},
		{name: "zero-before-s", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(r, 0), integer(s, 1)) }),
			why: "DER has one form for each number: no zeros before it", breaks: copies},
		{name: "long-length", rule: rule, after: put(func(r, s *big.Int) []byte {
			b := sequence(integer(r, 0), integer(s, 0))
			return append([]byte{0x30, 0x81}, b[1:]...)
		}), why: "DER has one form for each length", breaks: copies},
		{name: "byte-after", rule: rule, after: put(func(r, s *big.Int) []byte { return append(sequence(integer(r, 0), integer(s, 0)), 0) }),
			why: "nothing follows the two numbers", breaks: copies},
		{name: "third-number", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(r, 0), integer(s, 0), integer(s, 0)) }),
			why: "there are two numbers", breaks: copies},
		{name: "zero-numbers", rule: rule, after: put(func(_, _ *big.Int) []byte { return sequence(integer(new(big.Int), 0), integer(new(big.Int), 0)) }),
			why: "neither number is 0: a careless verifier takes 0 and 0 for a signature of everything", breaks: open},
		{name: "exchanged-numbers", rule: rule, after: put(func(r, s *big.Int) []byte { return sequence(integer(s, 0), integer(r, 0)) }),
			why: "R comes first", breaks: open},
		{name: "signed-by-other", rule: rule, after: signed256(mallory), why: "the signer's own key signs", breaks: open},
		{name: "changed-" + label(changed), rule: rule, after: set(changed, to), why: "the signature covers " + last(changed), breaks: "whoever passes " + what + " on changes it"},
		{name: "key-of-other", rule: rule, context: keys(point(mallory)), why: "the key is the one that the verifier was given for the signer", breaks: open},
		{name: "key-mirrored", rule: rule, context: keys(append([]byte{4}, append(append([]byte{}, x...),
			new(big.Int).Sub(elliptic.P256().Params().P, new(big.Int).SetBytes(y)).FillBytes(make([]byte, 32))...)...)),
			why: "the mirrored point is another key", breaks: open},
		{name: "key-compressed", rule: wire.RuleWeakKey, context: keys(append([]byte{2 + raw[64]&1}, x...)), why: "a key has one form, the uncompressed point", breaks: gate},
		{name: "key-hybrid", rule: wire.RuleWeakKey, context: keys(append([]byte{6 + raw[64]&1}, raw[1:]...)), why: "a key has one form, the uncompressed point", breaks: gate},
		{name: "key-off-the-curve", rule: wire.RuleWeakKey, context: keys(append(append([]byte{}, raw[:64]...), raw[64]^1)), why: "a key is a point of the curve: others leak secrets or fit everything", breaks: open},
		{name: "key-of-the-other-algorithm", rule: rule, context: keys(key(who).Public().Bytes()), after: signedBare(who),
			why: "a signature counts only under a key of the algorithm that is named", breaks: "whoever chooses the algorithm chooses the weakest verifier"},
		{name: "label-of-the-other-algorithm", rule: rule, edit: set("/algorithm", `"EdDSA"`), why: "the key is of another algorithm than the one that is named",
			breaks: "a label that nobody compares lets one signature be read in two ways"},
	}
	for i := range list {
		if with != nil {
			list[i].context = merged(with, list[i].context)
		}
	}
	return list
}
