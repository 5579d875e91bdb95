package attest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/concordia-node/concordia/wire"
)

var (
	categoryForm = regexp.MustCompile(`\A[a-z0-9_-]+(\.[a-z0-9_-]+)*\z`)
	currencyForm = regexp.MustCompile(`\A[A-Z]{3}\z`)

	errCategory   = errors.New("want a dotted lower-case path of at most 64 characters")
	errValueRange = errors.New("want one of the ten ranges, an underscore and a currency code")
)

// The ranges of SPEC §9.6.6. They are a list and not a grammar, so that no price
// can be written as a narrow range.
var valueRanges = []string{
	"0-100", "100-500", "500-1000", "1000-5000", "5000-10000", "10000-50000",
	"50000-100000", "100000-500000", "500000-1000000", "1000000+",
}

// CheckCategory reports whether s may be a category (SPEC §9.6.6).
func CheckCategory(s string) error {
	if len(s) > 64 || !categoryForm.MatchString(s) {
		return errCategory
	}
	return nil
}

// CheckValueRange reports whether s may be a value_range (SPEC §9.6.6).
func CheckValueRange(s string) error {
	bucket, currency, ok := strings.Cut(s, "_")
	if !ok || !slices.Contains(valueRanges, bucket) || !currencyForm.MatchString(currency) {
		return errValueRange
	}
	return nil
}

// A detector finds one way of telling a term. Every match contains one of its
// hints: most texts have none and cost no regular expression.
type detector struct {
	hints []string
	form  *regexp.Regexp
}

const currencies = `(?:usd|eur|gbp|jpy|cad|aud|chf|cny|inr)`

var currencyHints = []string{"usd", "eur", "gbp", "jpy", "cad", "aud", "chf", "cny", "inr"}

// dealTerms find an amount, a price or a quantity in folded text (SPEC §9.6.6).
var dealTerms = []detector{
	{[]string{"$", "€", "£", "¥"}, regexp.MustCompile(`[$€£¥] *[0-9]`)},
	{currencyHints, regexp.MustCompile(`\b` + currencies + ` *[0-9]`)},
	{currencyHints, regexp.MustCompile(`\b[0-9]+(?:[.,][0-9]+)? *` + currencies + `\b`)},
	{[]string{"price"}, regexp.MustCompile(`\bprice *:`)},
	{[]string{"qty", "quantity"}, regexp.MustCompile(`\b(?:qty|quantity) *[:=]? *[0-9]+\b`)},
	{[]string{"unit", "item", "pcs", "pieces"}, regexp.MustCompile(`\b[0-9]+ *(?:units?|items?|pcs|pieces)\b`)},
}

// TellsTerms reports whether text tells a price, an amount or a quantity (SPEC
// §9.6.6). What shows nothing counts as nothing, and as a space: neither hides a term.
func TellsTerms(text string) bool {
	if !strings.ContainsFunc(text, wire.IsInvisible) {
		return tellsTerms(strings.Map(fold, text))
	}
	instead := func(with rune) string {
		return strings.Map(func(r rune) rune {
			if wire.IsInvisible(r) {
				return with
			}
			return fold(r)
		}, text)
	}
	return tellsTerms(instead(-1)) || tellsTerms(instead(' '))
}

func tellsTerms(text string) bool {
	return slices.ContainsFunc(dealTerms, func(d detector) bool {
		return slices.ContainsFunc(d.hints, func(h string) bool { return strings.Contains(text, h) }) && d.form.MatchString(text)
	})
}

// fold makes one spelling of those that readers take for the same: capitals, the
// long s, forms of another width, digits of any script, white space of any dialect.
func fold(r rune) rune {
	switch {
	case 0xff01 <= r && r <= 0xff5e: // full-width ASCII
		return unicode.ToLower(r - 0xff01 + '!')
	case r == 0xfe69:
		return '$'
	case r == 0xffe1:
		return '£'
	case r == 0xffe5:
		return '¥'
	case isSpace(r):
		return ' '
	case r == '\u017f':
		return 's'
	case r >= 0x80 && unicode.IsDigit(r):
		return '0'
	}
	return unicode.ToLower(r)
}

// checkPrivacy scans the free text of an attestation. The generated line with the
// start of the transcript's hash is no free text. (SPEC §9.6.6)
func (s *AttestationSubject) checkPrivacy() error {
	a := s.Attestation
	var rest []string
	for line := range strings.SplitSeq(a.Summary, "\n") {
		if line != hashLine(a.TranscriptHash) {
			rest = append(rest, line)
		}
	}
	if TellsTerms(strings.Join(rest, "\n")) {
		return RuleDealTerms.At("/summary")
	}
	for i, name := range a.Meta.ExtensionsUsed {
		if TellsTerms(name) {
			return RuleDealTerms.At(fmt.Sprintf("/meta/extensions_used/%d", i))
		}
	}
	if f := a.Fulfillment; f != nil {
		for _, text := range f.freeText {
			if TellsTerms(text.text) {
				return RuleDealTerms.At(text.at)
			}
		}
	}
	for i, r := range a.References {
		extensions, _ := r.whole.Get("extensions")
		if at, ok := findTerms(extensions, fmt.Sprintf("/references/%d/extensions", i)); ok {
			return RuleDealTerms.At(at)
		}
	}
	return nil
}

// hashLine is the line of a summary that names the transcript. It is no free text,
// although its digits may look like an amount.
func hashLine(transcript wire.Hash) string { return "Transcript hash: " + transcript.Hex()[:16] }

// findTerms returns the pointer of the first text below v, be it a string or the
// name of a member, that tells a term. An identifier is no free text: the digits
// of a hash may look like an amount.
func findTerms(v wire.Value, at string) (string, bool) {
	return find(v, at, func(v wire.Value) bool {
		return v.Kind() == wire.String && !isIdentifier(v.Text()) && TellsTerms(v.Text())
	},
		TellsTerms)
}

// find returns the pointer of the first value in v that is one, or whose name as a
// member is. Pointers are made where something is found only: names may be long, and
// deep inside one another.
func find(v wire.Value, at string, isOne func(wire.Value) bool, isName func(string) bool) (string, bool) {
	path, ok := findBelow(v, isOne, isName)
	if !ok {
		return "", false
	}
	slices.Reverse(path)
	return at + wire.Pointer(path...), true
}

// findBelow returns the reference tokens to what it found, the last one first.
func findBelow(v wire.Value, isOne func(wire.Value) bool, isName func(string) bool) ([]string, bool) {
	if isOne(v) {
		return nil, true
	}
	for name, m := range v.Members() {
		if isName(name) {
			return []string{name}, true
		}
		if path, ok := findBelow(m, isOne, isName); ok {
			return append(path, name), true
		}
	}
	for i, e := range v.Elems() {
		if path, ok := findBelow(e, isOne, isName); ok {
			return append(path, strconv.Itoa(i)), true
		}
	}
	return nil, false
}

// isIdentifier reports whether text is a URN, a DID or a hash.
func isIdentifier(text string) bool {
	if strings.HasPrefix(text, "urn:") || strings.HasPrefix(text, "did:") {
		return !hasSpace(text)
	}
	_, err := wire.ParseHash(text)
	return err == nil
}

// withoutAll returns the object v less the named members.
func withoutAll(v wire.Value, names ...string) wire.Value {
	for _, name := range names {
		v = v.Without(name)
	}
	return v
}
