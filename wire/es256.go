package wire

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

const (
	p256Coordinate   = 32
	p256Uncompressed = 4 // first byte of an uncompressed point (SEC 1, Section 2.3.3)
	p256KeySize      = 1 + 2*p256Coordinate
)

// parseP256 gates the uncompressed point of a P-256 key (SEC 1, Section 2.3.4).
func parseP256(raw []byte) (PublicKey, error) {
	if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw); err != nil {
		return PublicKey{}, RuleWeakKey.Because("", errNotOnCurve)
	}
	k := PublicKey{alg: ES256}
	copy(k.raw[:], raw[1:])
	return k, nil
}

// halfOrder is half the order of P-256. Of the two signatures (r, s) and (r, −s)
// only the one with the smaller s is read: one signature, one spelling.
var halfOrder = new(big.Int).Rsh(elliptic.P256().Params().N, 1)

// readDER reads the one encoding of a pair of integers.
func readDER(der []byte) (r, s *big.Int, ok bool) {
	var pair cryptobyte.String
	r, s = new(big.Int), new(big.Int)
	in := cryptobyte.String(der)
	ok = in.ReadASN1(&pair, asn1.SEQUENCE) && in.Empty() &&
		pair.ReadASN1Integer(r) && pair.ReadASN1Integer(s) && pair.Empty()
	return r, s, ok
}

// verifyP256 verifies a DER signature.
func (k PublicKey) verifyP256(message, der []byte) bool {
	_, s, ok := readDER(der)
	if !ok || s.Cmp(halfOrder) > 0 { // the library refuses what is not positive or too large
		return false
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), k.Bytes())
	if err != nil {
		return false
	}
	digest := sha256.Sum256(message)
	return ecdsa.VerifyASN1(key, digest[:], der)
}

// GenerateP256Key draws a P-256 key from random, which is crypto/rand.Reader but in
// tests.
func GenerateP256Key(random io.Reader) (PrivateKey, error) {
	for { // one of 2^32 draws is no scalar
		var scalar [SeedSize]byte
		if _, err := io.ReadFull(random, scalar[:]); err != nil {
			return PrivateKey{}, fmt.Errorf("drawing a key: %w", err)
		}
		if k, err := NewP256Key(scalar[:]); err == nil {
			return k, nil
		}
	}
}

// NewP256Key returns the key of a 32-byte scalar, big-endian, from 1 to the order
// less one (SEC 1, Section 3.2.1).
func NewP256Key(scalar []byte) (PrivateKey, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("reading a key: %w", err)
	}
	return PrivateKey{func() crypto.Signer { return key }}, nil
}

// p256 returns the key, which the caller knows to be no Ed25519 key.
func (k PrivateKey) p256() *ecdsa.PrivateKey { return k.key().(*ecdsa.PrivateKey) }

func (k PrivateKey) scalar() []byte {
	raw, err := k.p256().Bytes()
	if err != nil {
		panic("wire: a key that NewP256Key accepted: " + err.Error())
	}
	return raw
}

func (k PrivateKey) point() PublicKey {
	raw, err := k.p256().PublicKey.Bytes()
	if err != nil {
		panic("wire: a key that NewP256Key accepted: " + err.Error())
	}
	p := PublicKey{alg: ES256}
	copy(p.raw[:], raw[1:])
	return p
}

// signP256 makes a DER signature with the smaller s. The nonce follows from key and
// message (RFC 6979).
func (k PrivateKey) signP256(message []byte) (string, error) {
	digest := sha256.Sum256(message)
	der, err := k.p256().Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("signing with P-256: %w", err)
	}
	r, s, ok := readDER(der)
	if !ok {
		return "", fmt.Errorf("signing with P-256: %w", errNotItsSignature)
	}
	if s.Cmp(halfOrder) > 0 {
		s.Sub(elliptic.P256().Params().N, s)
	}
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(pair *cryptobyte.Builder) {
		pair.AddASN1BigInt(r)
		pair.AddASN1BigInt(s)
	})
	if der, err = b.Bytes(); err != nil {
		return "", fmt.Errorf("signing with P-256: %w", err)
	}
	return base64.URLEncoding.EncodeToString(der), nil
}
