package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"filippo.io/edwards25519"

	"github.com/concordia-node/concordia/wire"
)

const mallory = "did:web:mallory.example"

// A seal is a signature of Ed25519 inside an artifact, and what is around it.
type seal struct {
	name   string                      // of the signature, before the names of its faults
	at     string                      // pointer of its text
	who    string                      // signed
	what   string                      // for sentences
	signs  func(wire.Value) wire.Value // what of the artifact
	rule   *wire.Rule                  // that a false one breaks
	empty  *wire.Rule                  // that an empty one breaks, if another
	form   *wire.Rule                  // that another spelling breaks, if another
	around func(wire.Value) wire.Value // signs again what is signed around it; nil: nothing
	known  wire.M                      // public_keys of the context
	with   wire.M                      // of the context besides, where one check waits for another
	blank  wire.Class                  // the contract's reason to refuse an empty one, if another
	theirs func(key string) wire.M     // the key in the contract's context; nil: the contract has no such check
}

// forged makes what can be wrong with a signature of a sound artifact. changes are
// pointers and values that are put there after it was signed.
func (s seal) forged(v wire.Value, changes ...string) []fault {
	around := s.around
	if around == nil {
		around = func(v wire.Value) wire.Value { return v }
	}
	put := func(text func(wire.Value) string) func(wire.Value) wire.Value {
		return func(v wire.Value) wire.Value { return around(set(s.at, quote(text(v)))(v)) }
	}
	message := func(v wire.Value) []byte { return []byte(s.signs(v).Canonical()) }
	by := func(who string, message []byte) string { return must(key(who).Sign(message)).String() }
	// alter signs soundly and changes the 64 bytes.
	alter := func(change func(sig []byte) []byte) func(wire.Value) wire.Value {
		return put(func(v wire.Value) string {
			sig := must(key(s.who).Sign(message(v)))
			return base64.URLEncoding.EncodeToString(change(sig[:]))
		})
	}
	// respell signs soundly and changes the text.
	respell := func(change func(text string) string) func(wire.Value) wire.Value {
		return put(func(v wire.Value) string { return change(by(s.who, message(v))) })
	}
	const credulous = "anybody speaks in the name of the signer"
	const spelled = "a third party makes a second sound copy of a signed artifact, without the key"
	const spellings = "one signature has several texts, and what compares or hashes texts takes one artifact for several"
	list := []fault{
		{name: "signed-by-other", after: put(func(v wire.Value) string { return by(mallory, message(v)) }),
			why: s.what + " is signed by the one who is named, with the key that the verifier knows of that one", breaks: credulous},
		{name: "signature-bit", after: alter(func(b []byte) []byte { b[40] ^= 1; return b }),
			why: "a signature is all of its bits", breaks: "the verifier does not verify: any 64 bytes pass"},
		{name: "signature-first-bit", after: alter(func(b []byte) []byte { b[0] ^= 1; return b }),
			why: "a signature is all of its bits, those of R as well", breaks: "the verifier does not verify: any 64 bytes pass"},
		{name: "signature-last-bit", after: alter(func(b []byte) []byte { b[63] ^= 0x80; return b }),
			why: "the top bits of S are zero: a verifier that masks them takes several signatures for one", breaks: spelled},
		{name: "signature-halves-exchanged", after: alter(func(b []byte) []byte { return append(bytes.Clone(b[32:]), b[:32]...) }),
			why: "R comes before S", breaks: "the verifier does not verify: any 64 bytes pass"},
		{name: "signature-too-long", after: alter(func(b []byte) []byte { return append(b, 0) }),
			why: "a signature is 64 bytes, and nothing follows", breaks: spelled},
		{name: "signature-of-a-digest", after: put(func(v wire.Value) string { h := sha256.Sum256(message(v)); return by(s.who, h[:]) }),
			why: "the canonical JSON itself is signed, not its digest", breaks: "two implementations sign different bytes and refuse each other, or take both"},
		{name: "signature-of-a-line", after: put(func(v wire.Value) string { return by(s.who, append(message(v), '\n')) }),
			why: "the canonical JSON is signed without a line break at its end", breaks: "two implementations sign different bytes and refuse each other, or take both"},
		{name: "signature-of-another", after: put(func(v wire.Value) string {
			return by(s.who, []byte(s.signs(v).With("note", wire.Text("another")).Canonical()))
		}),
			why: "a sound signature of the same signer under another text is none of this one", breaks: "whatever an agent ever signed is put under what it never saw"},
		{name: "signature-zero", after: alter(func([]byte) []byte { return make([]byte, 64) }),
			why: "64 zeros are no signature", breaks: "a placeholder that was never filled in passes"},
		{name: "signature-cut-short", after: alter(func(b []byte) []byte { return b[:63] }),
			why: "a signature is 64 bytes", breaks: "a verifier that pads what is missing, or stops there, decides on less than was signed"},
		{name: "signature-empty", rule: s.empty, class: s.blank, after: put(func(wire.Value) string { return "" }),
			why: "no text is no signature", breaks: "a verifier that skips what is empty takes unsigned artifacts"},
		{name: "signature-over-itself", after: put(func(v wire.Value) string {
			return by(s.who, []byte(set(s.at, `""`)(v).Canonical()))
		}), why: "the signature is over what stands without it, not over an empty member in its place",
			breaks: "two implementations sign different bytes and refuse each other, or take both"},
		{name: "signature-over-spaced-text", after: put(func(v wire.Value) string {
			var b bytes.Buffer
			if err := json.Indent(&b, message(v), "", " "); err != nil {
				panic(err)
			}
			return by(s.who, b.Bytes())
		}), why: "the signature is over canonical JSON, not over a text that happened to be sent",
			breaks: "what is stored and printed anew no longer verifies, or verifies in one shop alone"},
		{name: "signature-beyond-order", after: alter(beyondOrder),
			why:    "S is below the order of the group (RFC 8032, Section 5.1.7): S plus the order is a second signature of the same message",
			breaks: spelled},
		{name: "signature-small-order", after: put(func(v wire.Value) string { return smallR(s.who, message(v)) }),
			why: "R is not of small order: such a signature verifies for some readers and not for others", breaks: "two honest verifiers disagree on one artifact, as its signer likes"},
		{name: "signature-unpadded", after: respell(func(t string) string { return strings.TrimRight(t, "=") }),
			why: "base64url has its padding", breaks: spellings},
		{name: "signature-trailing-bits", after: respell(unusedBits), why: "the bits that the last character leaves over are zero", breaks: spellings},
		{name: "signature-line-break", after: respell(func(t string) string { return t[:44] + "\n" + t[44:] }), why: "there is no white space in a signature", breaks: spellings},
		{name: "signature-space-after", after: respell(func(t string) string { return t + " " }), why: "there is nothing after a signature", breaks: spellings},
		{name: "signature-in-hex", after: put(func(v wire.Value) string {
			sig := must(key(s.who).Sign(message(v)))
			return hex.EncodeToString(sig[:])
		}), why: "a signature is base64url", breaks: spellings},
		{name: "key-of-other", context: s.keys(key(mallory).Public().String()), why: "the key is the one that the verifier was given for the signer, whatever key fits",
			breaks: credulous},
		{name: "key-unknown", rule: wire.RuleUnknownKey, context: s.keys(""), why: "without the signer's key nothing is known: not known is not verified", breaks: "a signer nobody knows is believed"},
		{name: "key-of-small-order", rule: wire.RuleWeakKey, context: s.keys(weakKey), after: put(func(wire.Value) string { return anyMessage }),
			why: "under a key of small order one signature fits every message", breaks: "whoever gets such a key registered can deny, or have said, anything"},
	}
	for i := range list {
		f := &list[i]
		if f.rule == nil {
			f.rule = s.rule
		}
		switch f.name {
		case "signature-small-order", "signature-unpadded", "signature-trailing-bits", "key-unknown", "key-of-small-order": // runners of the contract need not look
		default:
			f.shared = s.theirs != nil
		case "key-of-other":
			if f.shared = s.theirs != nil; f.shared {
				f.contract = s.theirs(key(mallory).Public().String())
			}
		}
	}
	if text, _ := v.At(tokens(s.at)...); strings.ContainsAny(text.Text(), "-_") {
		list = append(list, fault{name: "signature-other-alphabet", rule: s.rule, after: respell(func(t string) string {
			return strings.NewReplacer("-", "+", "_", "/").Replace(t)
		}), why: "the alphabet is the one of base64url", breaks: spellings})
	}
	for i := 0; i < len(changes); i += 2 {
		p, text := changes[i], changes[i+1]
		list = append(list, fault{
			name: "changed-" + label(p), rule: s.rule, shared: s.theirs != nil, after: func(v wire.Value) wire.Value { return around(set(p, text)(v)) },
			why:    "the signature covers " + last(p) + " of " + s.what,
			breaks: "whoever passes " + s.what + " on changes " + last(p) + " to what suits",
		})
	}
	for i := range list {
		switch list[i].name {
		case "signature-cut-short", "signature-too-long", "signature-empty", "signature-unpadded", "signature-trailing-bits", "signature-line-break", "signature-space-after",
			"signature-in-hex", "signature-other-alphabet":
			if s.form != nil {
				list[i].rule = s.form
			}
		}
		if s.name != "" {
			list[i].name = s.name + "-" + list[i].name
		}
		if s.with != nil {
			list[i].context = merged(s.with, list[i].context)
		}
	}
	return list
}

// keys returns a context in which the signer has another key, or none.
func (s seal) keys(text string) wire.M {
	known := maps.Clone(s.known)
	if known[s.who] = text; text == "" {
		delete(known, s.who)
	}
	return wire.M{"public_keys": known}
}

// The neutral element as a key, and a signature that fits every message under it:
// the base point as R, and 1 as S.
var (
	weakKey    = base64.URLEncoding.EncodeToString(append([]byte{1}, make([]byte, 31)...))
	anyMessage = base64.URLEncoding.EncodeToString(append(append(edwards25519.NewGeneratorPoint().Bytes(), 1), make([]byte, 31)...))
)

// beyondOrder adds the order of the group to S.
func beyondOrder(sig []byte) []byte {
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	b := bytes.Clone(sig)
	reverse(b[32:])
	sum := new(big.Int).Add(new(big.Int).SetBytes(b[32:]), order)
	sum.FillBytes(b[32:])
	reverse(b[32:])
	return b
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// smallR signs with the neutral element as R, which only a signer can do.
func smallR(who string, message []byte) string {
	k := key(who)
	digest := sha512.Sum512(k.Seed())
	secret := must(edwards25519.NewScalar().SetBytesWithClamping(digest[:32]))
	r := edwards25519.NewIdentityPoint().Bytes()
	h := sha512.Sum512(bytes.Join([][]byte{r, k.Public().Bytes(), message}, nil))
	c := must(edwards25519.NewScalar().SetUniformBytes(h[:]))
	return base64.URLEncoding.EncodeToString(append(r, edwards25519.NewScalar().Multiply(c, secret).Bytes()...))
}

// unusedBits sets a bit that the last character of 64 bytes leaves over.
func unusedBits(text string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	i := len(strings.TrimRight(text, "=")) - 1
	return text[:i] + alphabet[strings.IndexByte(alphabet, text[i])+1:][:1] + text[i+1:]
}

// merged returns the members of both; nil ones stay.
func merged(a, b wire.M) wire.M {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// keyless returns the faults that leave the keys of the context alone.
func keyless(list []fault) []fault {
	return slices.DeleteFunc(list, func(f fault) bool { _, ok := f.context["public_keys"]; return ok })
}
