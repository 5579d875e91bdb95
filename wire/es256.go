package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
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

// verifyP256 verifies a DER signature.
func (k PublicKey) verifyP256(message, der []byte) bool {
	var pair cryptobyte.String
	r, s := new(big.Int), new(big.Int)
	in := cryptobyte.String(der)
	if !in.ReadASN1(&pair, asn1.SEQUENCE) || !in.Empty() ||
		!pair.ReadASN1Integer(r) || !pair.ReadASN1Integer(s) || !pair.Empty() ||
		s.Cmp(halfOrder) > 0 { // the library refuses what is not positive or too large
		return false
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), k.Bytes())
	if err != nil {
		return false
	}
	digest := sha256.Sum256(message)
	return ecdsa.VerifyASN1(key, digest[:], der)
}
