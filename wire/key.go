package wire

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"filippo.io/edwards25519"
)

// An Algorithm names a signature algorithm as artifacts spell it (SPEC §9.2).
type Algorithm string

// The algorithms. Messages are signed with EdDSA; ES256 is for artifacts that allow
// it.
const (
	EdDSA Algorithm = "EdDSA" // Ed25519 (RFC 8032)
	ES256 Algorithm = "ES256" // ECDSA on P-256 with SHA-256, DER, low S (SEC 1, Section C.8)
)

// A PublicKey is a public key that passed the gate. An Ed25519 key is canonically
// encoded and not of small order, so a signature under it binds one signer to one
// message; a P-256 key is an uncompressed point of the curve (SPEC §9.1). The zero
// PublicKey verifies nothing.
type PublicKey struct {
	alg Algorithm
	raw [2 * p256Coordinate]byte // an Ed25519 key, or both coordinates
}

// ParsePublicKey gates the 32 bytes of an Ed25519 key or the 65 of a P-256 key. It
// fails with RuleWeakKey.
func ParsePublicKey(raw []byte) (PublicKey, error) {
	switch len(raw) {
	case ed25519.PublicKeySize:
	case p256KeySize:
		return parseP256(raw)
	default:
		return PublicKey{}, RuleWeakKey.Because("", fmt.Errorf("want 32 or 65 bytes, got %d", len(raw)))
	}
	p, err := new(edwards25519.Point).SetBytes(raw)
	if err != nil {
		return PublicKey{}, RuleWeakKey.Because("", errNotOnCurve)
	}
	if !bytes.Equal(p.Bytes(), raw) {
		return PublicKey{}, RuleWeakKey.Because("", errNotCanonical)
	}
	if new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return PublicKey{}, RuleWeakKey.Because("", errSmallOrder)
	}
	return ed25519Key(raw), nil
}

func ed25519Key(raw []byte) PublicKey {
	k := PublicKey{alg: EdDSA}
	copy(k.raw[:], raw)
	return k
}

var (
	errNotOnCurve   = errors.New("not a point of the curve")
	errNotCanonical = errors.New("not the canonical encoding of its point")
	errSmallOrder   = errors.New("a point of small order: one signature would fit every message")
)

// DecodePublicKey is ParsePublicKey of padded base64url text, the form in which
// keys travel.
func DecodePublicKey(s string) (PublicKey, error) {
	size := ed25519.PublicKeySize
	if len(s) == base64.URLEncoding.EncodedLen(p256KeySize) {
		size = p256KeySize
	}
	raw, err := DecodeBase64(s, size)
	if err != nil {
		return PublicKey{}, RuleWeakKey.Because("", err)
	}
	return ParsePublicKey(raw)
}

// IsZero reports whether k holds no key.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// Algorithm returns what the key verifies, "" for the zero PublicKey.
func (k PublicKey) Algorithm() Algorithm { return k.alg }

// Bytes returns the key as ParsePublicKey reads it.
func (k PublicKey) Bytes() []byte {
	if k.alg == ES256 {
		return append([]byte{p256Uncompressed}, k.raw[:]...)
	}
	return k.raw[:ed25519.PublicKeySize]
}

// String returns the key as padded base64url.
func (k PublicKey) String() string { return base64.URLEncoding.EncodeToString(k.Bytes()) }

// MarshalText writes the form that DecodePublicKey reads.
func (k PublicKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// A Signature is an Ed25519 signature.
type Signature [ed25519.SignatureSize]byte

// ParseSignature reads padded base64url in its one canonical spelling. A
// signature in a message enters the chain hash, so a second spelling of it would
// be a second message (SPEC §9.2).
func ParseSignature(s string) (Signature, error) {
	raw, err := DecodeBase64(s, ed25519.SignatureSize)
	if err != nil {
		return Signature{}, err
	}
	return Signature(raw), nil
}

// String returns the signature as padded base64url.
func (s Signature) String() string { return base64.URLEncoding.EncodeToString(s[:]) }

// MarshalText writes the form that ParseSignature reads.
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Verify reports whether sig is k's signature of message (RFC 8032, Section
// 5.1.7). Signatures whose R is of small order are refused; the standard library
// already refuses S beyond the group order and any R not canonically encoded. A
// key that is not Ed25519 has no such signature.
func (k PublicKey) Verify(message []byte, sig Signature) bool {
	return k.alg == EdDSA && !smallOrder[[32]byte(sig[:32])] &&
		ed25519.Verify(k.raw[:ed25519.PublicKeySize], message, sig[:])
}

// VerifyText reports why text, padded base64url, is not k's signature of message.
// It is how artifacts are verified, whose keys may be of either algorithm (SPEC
// §9.2).
func (k PublicKey) VerifyText(message []byte, text string) error {
	var ok bool
	switch k.alg {
	case EdDSA:
		sig, err := ParseSignature(text)
		if err != nil {
			return err
		}
		ok = k.Verify(message, sig)
	case ES256:
		der, err := decodeBase64(text)
		if err != nil {
			return err
		}
		ok = k.verifyP256(message, der)
	}
	if !ok {
		return errNotItsSignature
	}
	return nil
}

var errNotItsSignature = errors.New("it does not verify under the signer's key")

// smallOrder holds the canonical encodings of the eight points of small order.
var smallOrder = smallOrderPoints()

func smallOrderPoints() map[[32]byte]bool {
	// A point of order 8 generates all of them (RFC 7748 curve, cofactor 8).
	generator := [32]byte{
		0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
	}
	g, err := new(edwards25519.Point).SetBytes(generator[:])
	if err != nil {
		panic("wire: generator of the small-order points: " + err.Error())
	}
	points := make(map[[32]byte]bool, 8)
	for p := edwards25519.NewIdentityPoint(); !points[[32]byte(p.Bytes())]; p.Add(p, g) {
		points[[32]byte(p.Bytes())] = true
	}
	return points
}

// A Signer signs messages with one key: a PrivateKey, or one kept elsewhere.
type Signer interface {
	Public() PublicKey
	Sign(message []byte) (Signature, error)
}

// A TextSigner signs artifacts, whose keys may be of either algorithm. SignText
// returns what PublicKey.VerifyText accepts.
type TextSigner interface {
	Public() PublicKey
	SignText(message []byte) (string, error)
}

// A PrivateKey is an Ed25519 or P-256 private key. It prints as a placeholder, never
// as itself, also as a field of something else. The zero PrivateKey is no key.
type PrivateKey struct{ key func() crypto.Signer } // a function, for fmt looks into all else

// SeedSize is the size of the secret from which a private key is derived.
const SeedSize = ed25519.SeedSize

// GenerateKey draws an Ed25519 key from random, which is crypto/rand.Reader but in
// tests.
func GenerateKey(random io.Reader) (PrivateKey, error) {
	var seed [SeedSize]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return PrivateKey{}, fmt.Errorf("drawing a key: %w", err)
	}
	return NewPrivateKey(seed[:])
}

// NewPrivateKey derives an Ed25519 key from its 32-byte seed (RFC 8032, Section
// 5.1.5).
func NewPrivateKey(seed []byte) (PrivateKey, error) {
	if len(seed) != SeedSize {
		return PrivateKey{}, fmt.Errorf("reading a key: want %d bytes, got %d", SeedSize, len(seed))
	}
	key := ed25519.NewKeyFromSeed(seed)
	return PrivateKey{func() crypto.Signer { return key }}, nil
}

// IsZero reports whether k holds no key.
func (k PrivateKey) IsZero() bool { return k.key == nil }

// Seed returns the secret of k, from which NewPrivateKey or NewP256Key makes it again.
func (k PrivateKey) Seed() []byte {
	if key, ok := k.key().(ed25519.PrivateKey); ok {
		return key.Seed()
	}
	return k.scalar()
}

// Public returns the public key.
func (k PrivateKey) Public() PublicKey {
	if key, ok := k.key().(ed25519.PrivateKey); ok {
		return ed25519Key(key.Public().(ed25519.PublicKey))
	}
	return k.point()
}

var errNoMessageKey = errors.New("a P-256 key signs artifacts, not messages")

// Sign signs message. It fails for a P-256 key, since messages are signed with
// EdDSA alone (SPEC §9.2).
func (k PrivateKey) Sign(message []byte) (Signature, error) {
	key, ok := k.key().(ed25519.PrivateKey)
	if !ok {
		return Signature{}, errNoMessageKey
	}
	return Signature(ed25519.Sign(key, message)), nil
}

// SignText signs message with the algorithm of the key, always the same way: there
// is no chance in it (RFC 8032; RFC 6979).
func (k PrivateKey) SignText(message []byte) (string, error) {
	if _, ok := k.key().(ed25519.PrivateKey); !ok {
		return k.signP256(message)
	}
	sig, err := k.Sign(message)
	return sig.String(), err
}

const redacted = "[private key]"

// Format prints a placeholder for every verb.
func (PrivateKey) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String returns a placeholder.
func (PrivateKey) String() string { return redacted }

// LogValue returns a placeholder.
func (PrivateKey) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText refuses: a key leaves the process through package keyfile only.
func (PrivateKey) MarshalText() ([]byte, error) {
	return nil, errors.New("a private key is not marshaled")
}

// Keys answers which key an agent had at a time. There is no default: whom to
// believe is the caller's decision (SPEC §9.1).
type Keys interface {
	// Key fails with RuleUnknownKey if it knows no key of the agent for that time.
	Key(agent AgentID, at time.Time) (PublicKey, error)
}

// A KeyMap knows one key an agent, at all times.
type KeyMap map[AgentID]PublicKey

// Key implements Keys.
func (m KeyMap) Key(agent AgentID, _ time.Time) (PublicKey, error) {
	if k, ok := m[agent]; ok {
		return k, nil
	}
	return PublicKey{}, RuleUnknownKey.Because("", fmt.Errorf(`no key of "%s"`, clip(string(agent))))
}

// AnyKeys asks each of its members in order and returns the first answer.
type AnyKeys []Keys

// Key implements Keys.
func (a AnyKeys) Key(agent AgentID, at time.Time) (PublicKey, error) {
	for _, keys := range a {
		if k, err := keys.Key(agent, at); err == nil || !errors.Is(err, RuleUnknownKey) {
			return k, err
		}
	}
	return KeyMap(nil).Key(agent, at)
}

// DecodeBase64 reads size bytes from padded base64url. Exactly one text is
// accepted for each value: no white space, no other alphabet, no unused bits set
// (RFC 4648, Sections 3.3, 3.5 and 5).
func DecodeBase64(s string, size int) ([]byte, error) {
	b, err := decodeBase64(s)
	if err != nil || len(b) != size {
		return nil, ErrBase64
	}
	return b, nil
}

func decodeBase64(s string) ([]byte, error) {
	b, err := base64.URLEncoding.Strict().DecodeString(s)
	if err != nil || len(s) != base64.URLEncoding.EncodedLen(len(b)) { // the decoder skips line breaks
		return nil, ErrBase64
	}
	return b, nil
}

// ErrBase64 reports a text that is not the one spelling of the bytes it stands for.
var ErrBase64 = errors.New("not padded base64url of the right length")
