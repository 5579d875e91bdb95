package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Identities. On the wire each is 1 to MaxIDLength printable characters without
// white space, control, formatting or invisible characters, so that what a person compares
// is what a program compares (SPEC §9.1).
type (
	AgentID   string // who speaks; by default the did:key of its key
	SessionID string // "ses_…": one negotiation
	MessageID string // "msg_…": one message, unique in its session
	OfferID   string // "off_…": one offer, unique in its session
)

// MaxIDLength bounds an id in characters.
const MaxIDLength = 256

var errIDForm = errors.New("an id is 1 to 256 printable characters without white space")

// CheckID reports whether s may be an id (SPEC §9.1).
func CheckID[ID ~string](s ID) error {
	if s == "" || len(s) > utf8.UTFMax*MaxIDLength || utf8.RuneCountInString(string(s)) > MaxIDLength {
		return errIDForm
	}
	for _, r := range string(s) {
		if ' ' < r && r < 0x7f {
			continue
		}
		if r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) || IsInvisible(r) {
			return errIDForm
		}
	}
	return nil
}

// IsInvisible reports whether r shows nothing, although it may count as a letter, a
// mark or a symbol: formatting characters (Cf), the others that a renderer leaves
// out by default (Default_Ignorable_Code_Point), and the blank of Braille.
func IsInvisible(r rune) bool {
	switch {
	case r < 0x80:
		return false
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, 0x180b <= r && r <= 0x180f, r == 0x2800,
		r == 0x3164, 0xfe00 <= r && r <= 0xfe0f, r == 0xffa0, 0xe0100 <= r && r <= 0xe01ef:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// NewID returns prefix and 128 bits read from random, in hex (SPEC §9.1).
func NewID[ID ~string](prefix string, random io.Reader) (ID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("drawing an id: %w", err)
	}
	return ID(prefix + hex.EncodeToString(b[:])), nil
}
