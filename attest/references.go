package attest

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concordia-node/concordia/wire"
)

// The caps of SPEC §11.5.8. Depth and node count are looked at before size.
const (
	MaxReferences     = 32
	MaxExtensionBytes = 2048
	maxExtensionDepth = 8
	maxExtensionNodes = 256
)

// A Reference links an attestation to another artifact (SPEC §11.5.6). Unknown
// types and relationships are kept.
type Reference struct {
	Type         string
	ID           string
	Relationship string

	whole wire.Value
}

var (
	errSpace    = errors.New("empty, too long or with white space")
	errTooMany  = fmt.Errorf("more than %d", MaxReferences)
	errExtended = fmt.Errorf("more than %d bytes, %d levels or %d values", MaxExtensionBytes, maxExtensionDepth, maxExtensionNodes)
)

func readReferences(r wire.Reader) []Reference {
	var list []Reference
	if r.Array("references").Len() > MaxReferences {
		r.FailRule(RuleReference, "references", errTooMany)
	}
	for _, rr := range r.For(RuleReference).Objects("references") {
		rr.Closed("id", "type", "relationship", "version", "signed_at", "signer_did", "extensions")
		list = append(list, readReference(rr))
	}
	return list
}

// readReference reads the members of a reference that the SPEC names.
func readReference(r wire.Reader) Reference {
	ref := Reference{
		Type: word(r, "type", 64), ID: word(r, "id", 256), Relationship: word(r, "relationship", 64),
		whole: r.Whole(),
	}
	for _, name := range []string{"version", "signer_did", "signed_at"} {
		if r.Has(name) {
			word(r, name, 256)
		}
	}
	if r.Has("signed_at") {
		r.Time("signed_at")
	}
	if e, ok := r.OptObject("extensions"); ok {
		if v := e.Whole(); v.Depth() > maxExtensionDepth || nodes(v) > maxExtensionNodes || len(v.Canonical()) > MaxExtensionBytes {
			r.Fail("extensions", errExtended)
		}
	}
	return ref
}

// word reads a string of 1 to most characters without white space.
func word(r wire.Reader, name string, most int) string {
	s := r.Text(name)
	if s == "" || utf8.RuneCountInString(s) > most || hasSpace(s) {
		r.Fail(name, errSpace)
	}
	return s
}

func hasSpace(s string) bool { return strings.ContainsFunc(s, isSpace) }

// isSpace reports whether some implementation takes c for white space: Unicode's,
// the separators U+001C to U+001F, the byte order mark.
func isSpace(c rune) bool {
	return unicode.IsSpace(c) || 0x1c <= c && c <= 0x1f || c == 0xfeff || c == 0x180e
}

// nodes counts the values in v, itself included.
func nodes(v wire.Value) int {
	n := 1
	for _, m := range v.Members() {
		n += nodes(m)
	}
	for _, e := range v.Elems() {
		n += nodes(e)
	}
	return n
}
