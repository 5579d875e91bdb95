package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// A signet is a signature inside an artifact, and whose it has to be.
type signet struct {
	name     string     // prefix of the faults' names
	what     string     // what is signed, for the sentences: "the approval"
	rule     *wire.Rule // which is broken by anything else
	at       string     // pointer of its text
	signer   string
	peer     string // somebody else whose key the verifier knows, too; "" if there is nobody
	preimage func(wire.Value) wire.Value
	other    func(wire.Value) wire.Value // makes another artifact that the signer might sign
	tamper   func(wire.Value) wire.Value // changes what was signed
	unpadded bool                        // how its text is written
	shared   bool                        // the contract's profile looks at it
	class    wire.Class                  // the reason there, if it is not the rule's
}

// put returns an edit that writes a signature's bytes.
func (s signet) put(sig []byte) func(wire.Value) wire.Value { return s.write(s.text(sig)) }

// write returns an edit that writes the text of a signature.
func (s signet) write(text string) func(wire.Value) wire.Value {
	return set(s.at, wire.Text(text).Canonical())
}

func (s signet) text(sig []byte) string {
	if s.unpadded {
		return base64.RawURLEncoding.EncodeToString(sig)
	}
	return base64.URLEncoding.EncodeToString(sig)
}

// bytes returns the bytes of the signature that v has.
func (s signet) bytes(v wire.Value) []byte {
	text, _ := v.At(tokens(s.at)...)
	return must(base64.RawURLEncoding.DecodeString(strings.TrimRight(text.Text(), "=")))
}

// by signs message as who.
func (s signet) by(who string, message []byte) func(wire.Value) wire.Value {
	sig := must(key(who).Sign(message))
	return s.put(sig[:])
}

// signs returns an edit that has who sign what edit makes of the artifact, and
// leaves the artifact as it is.
func (s signet) signs(who string, edit func(wire.Value) wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		return s.by(who, []byte(s.preimage(edit(v)).Canonical()))(v)
	}
}

// respell returns an edit that changes the text of the signature that is there.
func (s signet) respell(change func(string) string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value { return s.write(change(s.text(s.bytes(v))))(v) }
}

// rework returns an edit that changes the bytes of the signature that is there.
func (s signet) rework(change func([]byte) []byte) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value { return s.put(change(s.bytes(v)))(v) }
}

func asIs(v wire.Value) wire.Value { return v }

// order is the order of the group of Ed25519: S and S + order are one number to a
// verifier that does not look.
var order, _ = new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)

// addOrder adds the order to S.
func addOrder(sig []byte) []byte {
	s := slices.Clone(sig[32:])
	slices.Reverse(s)
	n := new(big.Int).Add(new(big.Int).SetBytes(s), order)
	s = n.FillBytes(make([]byte, 32))
	slices.Reverse(s)
	return append(slices.Clone(sig[:32]), s...)
}

func flip(at int) func([]byte) []byte {
	return func(sig []byte) []byte {
		sig = slices.Clone(sig)
		sig[at] ^= 1
		return sig
	}
}

// trailingBits sets a bit of the last character that no byte has.
func trailingBits(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	bare := strings.TrimRight(text, "=")
	last := strings.IndexByte(alphabet, bare[len(bare)-1])
	return bare[:len(bare)-1] + alphabet[last+1:last+2] + text[len(bare):]
}

// standard writes base64 in the other alphabet. Of 86 characters one in about ten
// thousand signatures has none that differs from ours; that one gets a plus more.
func standard(text string) string {
	other := strings.NewReplacer("-", "+", "_", "/").Replace(text)
	if other == text {
		return "+" + text[1:]
	}
	return other
}

// indented is the artifact as a person would print it, not canonical.
func indented(v wire.Value) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(v.Canonical()), "", "  "); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// forgeries are texts in the place of a signature that are not the signer's over
// the artifact: somebody else's, of something else, or spelled otherwise.
func (s signet) forgeries() []fault {
	list := []fault{
		{name: "by-a-stranger", after: s.signs("did:web:mallory.example", asIs),
			why:    "the key is the signer's as the verifier knows it, not one that comes with the artifact",
			breaks: "anybody makes " + s.what + " in the name of somebody else"},
		{name: "of-another-artifact", after: s.signs(s.signer, s.other),
			why:    "a signature belongs to the bytes that it was made over",
			breaks: "one signature of the signer, copied from elsewhere, makes any other text stand"},
		{name: "changed-afterwards", after: s.tamper,
			why:    "what was signed is compared with what is there",
			breaks: "whoever passes " + s.what + " on changes what it says"},
		{name: "of-the-hash", after: func(v wire.Value) wire.Value {
			h := s.preimage(v).Hash()
			return s.by(s.signer, h[:])(v)
		}, why: "the canonical bytes are signed, not their hash", breaks: "a signature that was made over some hash for another purpose is shown as one of the artifact"},
		{name: "of-another-spelling", after: func(v wire.Value) wire.Value { return s.by(s.signer, indented(s.preimage(v)))(v) },
			why:    "exactly one text of the JSON is signed, the canonical one",
			breaks: "what verifies depends on how somebody printed the artifact, and two readers disagree"},
		{name: "of-the-empty-text", after: s.by(s.signer, nil),
			why: "the artifact is signed and not nothing", breaks: "one signature over nothing fits every artifact of the signer"},
		{name: "of-zeros", after: s.put(make([]byte, 64)),
			why: "a signature of zeros is none", breaks: "a placeholder that was never replaced passes for a signature"},
		{name: "r-flipped", after: s.rework(flip(7)),
			why: "every bit of R counts", breaks: "a verifier that skips the equation passes everything"},
		{name: "s-flipped", after: s.rework(flip(39)),
			why: "every bit of S counts", breaks: "a verifier that skips the equation passes everything"},
		{name: "halves-swapped", after: s.rework(func(b []byte) []byte { return append(slices.Clone(b[32:]), b[:32]...) }),
			why: "R comes before S", breaks: "a verifier that tries both orders accepts what others refuse"},
		{name: "s-plus-order", after: s.rework(addOrder),
			why: "S is below the order of the group", breaks: "everybody can make a second signature of the same artifact, and what is told apart by its bytes is there twice"},
		{name: "a-byte-short", after: s.rework(func(b []byte) []byte { return b[:63] }),
			why: "a signature has 64 bytes", breaks: "a library that reads past the end decides by chance"},
		{name: "a-byte-long", after: s.rework(func(b []byte) []byte { return append(slices.Clone(b), 0) }),
			why: "a signature has 64 bytes", breaks: "one artifact has many texts, each with another hash"},
		{name: "in-hex", after: func(v wire.Value) wire.Value { return s.write(hex.EncodeToString(s.bytes(v)))(v) },
			why: "a signature is base64url", breaks: "one artifact has many texts, each with another hash"},
		{name: "with-junk", after: s.respell(func(t string) string { return t[:20] + "*" + t[20:] }),
			why: "a decoder that skips what it does not know reads another text", breaks: "one artifact has many texts, each with another hash"},
		{name: "after-a-space", after: s.respell(func(t string) string { return " " + t }),
			why: "white space is no part of a signature", breaks: "one artifact has many texts, each with another hash"},
		{name: "before-a-line-feed", after: s.respell(func(t string) string { return t + "\n" }),
			why: "white space is no part of a signature; common decoders skip it", breaks: "one artifact has many texts, each with another hash"},
		{name: "on-two-lines", after: s.respell(func(t string) string { return t[:44] + "\r\n" + t[44:] }),
			why: "white space is no part of a signature; common decoders skip it", breaks: "one artifact has many texts, each with another hash"},
		{name: "trailing-bits", after: s.respell(trailingBits),
			why: "the bits that belong to no byte are zero", breaks: "sixteen texts stand for one signature"},
		{name: "standard-alphabet", after: s.respell(standard),
			why: "the alphabet is that of base64url", breaks: "one artifact has two texts, each with another hash"},
		{name: "padded-otherwise", after: s.respell(func(t string) string {
			if s.unpadded {
				return t + "=="
			}
			return strings.TrimRight(t, "=")
		}), why: "there is one spelling, also of the padding", breaks: "one artifact has two texts, each with another hash"},
		{name: "padded-too-much", after: s.respell(func(t string) string { return t + "=" }),
			why: "there is one spelling, also of the padding", breaks: "one artifact has many texts, each with another hash"},
	}
	// Under the contract one of each sort; how a text is spelled neither it nor both of
	// its runners say alike.
	theirs := []string{"by-a-stranger", "of-another-artifact", "changed-afterwards", "of-zeros", "r-flipped", "s-plus-order", "with-junk", "a-byte-long"}
	for i := range list {
		f := &list[i]
		f.rule, f.class, f.shared = s.rule, s.class, s.shared && slices.Contains(theirs, f.name)
		f.name = s.name + "-" + f.name
	}
	if s.peer != "" {
		list = append(list, fault{
			name: s.name + "-by-somebody-known", rule: s.rule, class: s.class, shared: s.shared, after: s.signs(s.peer, asIs),
			why:    "of several keys that are known the one of the signer counts",
			breaks: "whoever is known to the verifier signs for everybody else",
		})
	}
	return list
}

// main are the forgeries that are told by what is signed and by whom, for a second
// signature of the same form.
func (s signet) main() []fault {
	return slices.DeleteFunc(s.forgeries(), func(f fault) bool {
		for _, name := range []string{"by-a-stranger", "of-another-artifact", "changed-afterwards", "s-plus-order", "by-somebody-known", "with-junk", "of-zeros", "s-flipped"} {
			if f.name == s.name+"-"+name {
				return false
			}
		}
		return true
	})
}

// weak is a key of small order, the neutral element, under which one signature, the
// base point and one, verifies whatever is signed.
var (
	weak      = base64.URLEncoding.EncodeToString(append([]byte{1}, make([]byte, 31)...))
	universal = append(append([]byte{0x58}, bytes.Repeat([]byte{0x66}, 31)...), append([]byte{1}, make([]byte, 31)...)...)
)

// keys are faults of the verifier's side: no key, or one that proves nothing.
// member is where the context has the signer's key.
func (s signet) keys(id string, others wire.M) []fault {
	without, poor := wire.M{}, wire.M{id: weak}
	for name, k := range others {
		if name != id {
			without[name], poor[name] = k, k
		}
	}
	return []fault{
		{name: s.name + "-key-unknown", rule: wire.RuleUnknownKey, context: wire.M{"public_keys": without},
			why:    "without the signer's key nobody knows who signed; the question stays open",
			breaks: "an artifact of an unknown signer stands because nothing spoke against it"},
		{name: s.name + "-key-weak", rule: wire.RuleWeakKey, context: wire.M{"public_keys": poor},
			after:  s.put(universal),
			why:    "under a key of small order one signature fits every message",
			breaks: "the signature proves nothing: whoever gets such a key listed has signed every text there is"},
	}
}
