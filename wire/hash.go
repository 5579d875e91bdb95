package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Hash is a SHA-256 digest. The zero Hash is the genesis hash, the prev_hash
// of a first message (SPEC §9.3).
type Hash [sha256.Size]byte

const hashPrefix = "sha256:"

// HashOf returns the SHA-256 of data.
func HashOf[Bytes ~string | ~[]byte](data Bytes) Hash { return sha256.Sum256([]byte(data)) }

// ParseHash reads the one spelling of a hash: "sha256:" and 64 lower-case hex
// digits (SPEC §9.3).
func ParseHash(s string) (Hash, error) {
	digits, ok := strings.CutPrefix(s, hashPrefix)
	var h Hash
	if !ok || len(digits) != 2*len(h) || strings.ToLower(digits) != digits {
		return Hash{}, errHashForm
	}
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return Hash{}, errHashForm
	}
	return h, nil
}

var errHashForm = fmt.Errorf("want %q and 64 lower-case hex digits", hashPrefix)

func (h Hash) String() string { return hashPrefix + h.Hex() }

// Hex returns the digest as 64 hex digits.
func (h Hash) Hex() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the form that ParseHash reads.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is ParseHash.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}
