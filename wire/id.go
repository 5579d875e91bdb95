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
// white space, control or formatting characters, so that what a person compares
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
		if r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return errIDForm
		}
	}
	return nil
}

// NewID returns prefix and 128 bits read from random, in hex (SPEC §9.1).
func NewID[ID ~string](prefix string, random io.Reader) (ID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("drawing an id: %w", err)
	}
	return ID(prefix + hex.EncodeToString(b[:])), nil
}
