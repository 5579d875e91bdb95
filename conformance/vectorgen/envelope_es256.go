package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/attest"
	"github.com/concordia-node/concordia/wire"
)

// curveKey returns the P-256 key of a name. Its scalar is published: the SHA-256 of
// "concordia conformance P-256 key " and the name.
func curveKey(name string) *ecdsa.PrivateKey {
	d := sha256.Sum256([]byte("concordia conformance P-256 key " + name))
	return must(ecdsa.ParseRawPrivateKey(elliptic.P256(), d[:]))
}

// curvePublic returns the text of its public key.
func curvePublic(name string) wire.PublicKey {
	return must(wire.ParsePublicKey(must(curveKey(name).PublicKey.Bytes())))
}

var curveOrder = elliptic.P256().Params().N

// curveSignature returns R and the low S of the one signature that RFC 6979 has for a
// message: without a source of chance the library makes that.
func curveSignature(name string, message []byte) (r, s *big.Int) {
	digest := sha256.Sum256(message)
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(must(curveKey(name).Sign(nil, digest[:], crypto.SHA256)), &pair); err != nil {
		panic(err)
	}
	if pair.S.Cmp(new(big.Int).Rsh(curveOrder, 1)) > 0 {
		pair.S.Sub(curveOrder, pair.S)
	}
	return pair.R, pair.S
}

// derNumber is the DER of an integer that is not negative, with zeros put before it.
func derNumber(n *big.Int, zeros int) []byte {
	b := n.Bytes()
	if len(b) == 0 || b[0] >= 0x80 {
		zeros++
	}
	b = append(make([]byte, zeros), b...)
	return append([]byte{2, byte(len(b))}, b...)
}

func derSequence(parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append([]byte{0x30, byte(len(body))}, body...)
}

func putDER(der []byte) func(wire.Value) wire.Value {
	return set("/signature/value", `"`+base64.URLEncoding.EncodeToString(der)+`"`)
}

// signWithCurve signs an envelope with the P-256 key of a name.
func signWithCurve(name string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		block, _ := v.Get("signature")
		if text, _ := block.Get("value"); text.Kind() != wire.String {
			return v
		}
		r, s := curveSignature(name, []byte(v.Without("signature").Canonical()))
		return putDER(derSequence(derNumber(r, 0), derNumber(s, 0)))(v)
	}
}

// es256 is evidence signed with ES256.
func es256() specimen {
	sign := signWithCurve(providerKey)
	v := sign(set("/signature/alg", `"ES256"`)(evidence()))
	keys := wire.M{providerKey: curvePublic(providerKey), providerTwo: curvePublic(providerTwo), treasury: key(treasury).Public()}
	return specimen{
		kind: "envelope", form: "es256", record: "trust_envelope", sign: sign, value: v,
		context: wire.M{"now": "2026-09-14T09:30:00Z", "public_keys": keys},
		faults:  slices.Concat(es256Who(keys), es256Texts(), envelopeTimes()),
	}
}

// es256Who are signatures of somebody else or of something else.
func es256Who(keys wire.M) []fault {
	with := func(member string, k any) wire.M {
		context := wire.M{}
		for name, v := range keys {
			context[name] = v
		}
		context[member] = k
		return wire.M{"public_keys": context}
	}
	without := wire.M{"public_keys": wire.M{treasury: key(treasury).Public()}}
	offCurve := "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="
	list := []fault{
		{name: "by-a-stranger", after: signWithCurve("did:web:mallory.example"), why: "the key is the signer's as the verifier knows it", breaks: "anybody makes an envelope in the name of somebody else"},
		{name: "by-somebody-known", after: signWithCurve(providerTwo), why: "of several keys that are known the named one counts", breaks: "whoever is known to the verifier signs for everybody else"},
		{name: "of-another-artifact", after: func(v wire.Value) wire.Value {
			text, _ := signWithCurve(providerKey)(set("/subject/did", `"`+cidery+`"`)(v)).At("signature", "value")
			return set("/signature/value", text.Canonical())(v)
		}, why: "a signature belongs to the bytes that it was made over", breaks: "one signature of the provider, copied from elsewhere, makes any other text stand"},
		{name: "changed-afterwards", after: set("/payload/rounds_to_completion", `1`), why: "what was signed is compared with what is there", breaks: "whoever passes an envelope on changes what it says"},
		{name: "changed-subject-afterwards", after: set("/subject/did", `"`+cidery+`"`), why: "what was signed is compared with what is there", breaks: "evidence of one agent is shown as that of another"},
		{name: "changed-end-afterwards", after: set("/expires_at", `"2026-11-21T09:00:00Z"`), why: "what was signed is compared with what is there", breaks: "evidence lives longer than its provider allowed"},
		{name: "of-the-hash", after: func(v wire.Value) wire.Value {
			h := v.Without("signature").Hash()
			r, s := curveSignature(providerKey, h[:])
			return putDER(derSequence(derNumber(r, 0), derNumber(s, 0)))(v)
		}, why: "the text is hashed once", breaks: "a signature that was made over some hash for another purpose is shown as one of the artifact"},
		{name: "of-another-spelling", after: func(v wire.Value) wire.Value {
			r, s := curveSignature(providerKey, indented(v.Without("signature")))
			return putDER(derSequence(derNumber(r, 0), derNumber(s, 0)))(v)
		}, why: "exactly one text of the JSON is signed, the canonical one", breaks: "what verifies depends on how somebody printed the artifact"},
		{name: "labelled-eddsa", after: set("/signature/alg", `"EdDSA"`), why: "the label is the algorithm of the key", breaks: "a verifier that believes the label checks by another algorithm, or not at all"},
		{name: "under-a-key-of-the-other-algorithm", context: with(providerKey, key(providerKey).Public()), why: "the key is of the algorithm that the label names", breaks: "a verifier that only tries keys reads their bytes as something else"},
		{name: "signed-by-the-other-algorithm", after: func(v wire.Value) wire.Value {
			return set("/signature/value", signature(v.Without("signature"), providerKey).Canonical())(v)
		}, why: "a signature of Ed25519 is none of ES256", breaks: "a verifier that tries every algorithm is as weak as the weakest"},
	}
	for i := range list {
		list[i].rule = attest.RuleEnvelopeSignature
	}
	return append(list,
		fault{name: "key-unknown", rule: wire.RuleUnknownKey, context: without, why: "without the signer's key nobody knows who signed; the question stays open", breaks: "an artifact of an unknown signer stands because nothing spoke against it"},
		fault{name: "key-off-the-curve", rule: wire.RuleWeakKey, context: with(providerKey, offCurve), why: "a key is a point of the curve", breaks: "a library that computes with any point gives away secrets or accepts forgeries"},
		fault{name: "second-key", edit: all(set("/provider/kid", `"`+providerTwo+`"`), set("/signature/kid", `"`+providerTwo+`"`)), after: signWithCurve(providerTwo), why: "a provider may have several keys"},
		fault{name: "restricted", edit: set("/visibility", `"restricted"`), why: "another text has a signature of another length: DER leaves zeros out"},
		fault{name: "private", edit: set("/visibility", `"private"`), why: "another text has a signature of another length: DER leaves zeros out"},
	)
}

// es256Texts are other texts of the same two numbers, and other numbers.
func es256Texts() []fault {
	half := new(big.Int).Rsh(curveOrder, 1)
	zero, one := new(big.Int), big.NewInt(1)
	const many = "everybody can make a second signature of the same artifact, and what is told apart by its bytes is there twice"
	const forged = "a forgery passes that takes no key to make"
	var list []fault
	for _, c := range []struct {
		name        string
		der         func(r, s *big.Int) []byte
		why, breaks string
	}{
		{"high-s", func(r, s *big.Int) []byte {
			return derSequence(derNumber(r, 0), derNumber(new(big.Int).Sub(curveOrder, s), 0))
		}, "of the two values of S only the lower one is read", many},
		{"as-64-bytes", func(r, s *big.Int) []byte {
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}, "a signature is DER here and not the form of JOSE", many},
		{"zero-before-r", func(r, s *big.Int) []byte { return derSequence(derNumber(r, 1), derNumber(s, 0)) }, "a number has no zeros before it", many},
		{"zero-before-s", func(r, s *big.Int) []byte { return derSequence(derNumber(r, 0), derNumber(s, 1)) }, "a number has no zeros before it", many},
		{"long-length", func(r, s *big.Int) []byte {
			b := derSequence(derNumber(r, 0), derNumber(s, 0))
			return append([]byte{0x30, 0x81}, b[1:]...)
		}, "a short length has the short form", many},
		{"open-length", func(r, s *big.Int) []byte {
			b := derSequence(derNumber(r, 0), derNumber(s, 0))
			return append(append([]byte{0x30, 0x80}, b[2:]...), 0, 0)
		}, "DER has no open lengths", many},
		{"as-a-set", func(r, s *big.Int) []byte { b := derSequence(derNumber(r, 0), derNumber(s, 0)); b[0] = 0x31; return b }, "the two numbers are a sequence", many},
		{"a-byte-after", func(r, s *big.Int) []byte { return append(derSequence(derNumber(r, 0), derNumber(s, 0)), 0) }, "nothing follows the sequence", many},
		{"a-byte-inside", func(r, s *big.Int) []byte { return derSequence(derNumber(r, 0), derNumber(s, 0), []byte{0}) }, "nothing follows S", many},
		{"three-numbers", func(r, s *big.Int) []byte { return derSequence(derNumber(r, 0), derNumber(s, 0), derNumber(s, 0)) }, "there are two numbers", many},
		{"one-number", func(r, _ *big.Int) []byte { return derSequence(derNumber(r, 0)) }, "there are two numbers", forged},
		{"a-byte-short", func(r, s *big.Int) []byte { b := derSequence(derNumber(r, 0), derNumber(s, 0)); return b[:len(b)-1] }, "a length is that of what follows", forged},
		{"swapped", func(r, s *big.Int) []byte { return derSequence(derNumber(s, 0), derNumber(r, 0)) }, "R comes before S", forged},
		{"r-plus-order", func(r, s *big.Int) []byte {
			return derSequence(derNumber(new(big.Int).Add(r, curveOrder), 0), derNumber(s, 0))
		}, "R is below the order of the curve", many},
		{"s-plus-order", func(r, s *big.Int) []byte {
			return derSequence(derNumber(r, 0), derNumber(new(big.Int).Add(s, curveOrder), 0))
		}, "S is below the order of the curve", many},
		{"r-zero", func(_, s *big.Int) []byte { return derSequence(derNumber(zero, 0), derNumber(s, 0)) }, "R is not zero", forged},
		{"s-zero", func(r, _ *big.Int) []byte { return derSequence(derNumber(r, 0), derNumber(zero, 0)) }, "S is not zero", forged},
		{"both-zero", func(_, _ *big.Int) []byte { return derSequence(derNumber(zero, 0), derNumber(zero, 0)) }, "zeros are no signature: some libraries took them for one of everything", forged},
		{"both-one", func(_, _ *big.Int) []byte { return derSequence(derNumber(one, 0), derNumber(one, 0)) }, "the equation is checked", forged},
		{"both-the-order", func(_, _ *big.Int) []byte { return derSequence(derNumber(curveOrder, 0), derNumber(curveOrder, 0)) }, "the order is zero to a verifier that does not look", forged},
		{"s-half-the-order", func(r, _ *big.Int) []byte { return derSequence(derNumber(r, 0), derNumber(half, 0)) }, "the equation is checked", forged},
		{"s-flipped", func(r, s *big.Int) []byte {
			return derSequence(derNumber(r, 0), derNumber(new(big.Int).Xor(s, one), 0))
		}, "every bit of S counts", forged},
		{"empty", func(_, _ *big.Int) []byte { return []byte{0x30, 0} }, "there are two numbers", forged},
	} {
		list = append(list, fault{name: "text-" + c.name, after: func(v wire.Value) wire.Value {
			return putDER(c.der(curveSignature(providerKey, []byte(v.Without("signature").Canonical()))))(v)
		}, why: c.why, breaks: c.breaks})
	}
	for _, c := range []struct {
		name   string
		change func(string) string
	}{
		{"with-junk", func(t string) string { return t[:20] + "*" + t[20:] }}, {"after-a-space", func(t string) string { return " " + t }},
		{"before-a-line-feed", func(t string) string { return t + "\n" }}, {"on-two-lines", func(t string) string { return t[:44] + "\r\n" + t[44:] }},
		{"standard-alphabet", standard}, {"padded-too-much", func(t string) string { return t + "=" }},
		{"in-pem", func(t string) string { return "-----BEGIN SIGNATURE-----" + t }},
		{"twice", func(t string) string { return strings.TrimRight(t, "=") + t }},
	} {
		list = append(list, fault{name: "text-" + c.name, after: func(v wire.Value) wire.Value {
			text, _ := v.At("signature", "value")
			return set("/signature/value", wire.Text(c.change(text.Text())).Canonical())(v)
		}, why: "a signature is base64url in its one spelling", breaks: "one artifact has many texts, each with another hash"})
	}
	for i := range list {
		list[i].rule = attest.RuleEnvelopeSignature
	}
	return list
}
