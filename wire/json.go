package wire

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound what Parse reads.
type Limits struct {
	Size  int // bytes of text
	Depth int // objects and arrays inside one another, the root included
}

// Depths of SPEC §9.2.1: an artifact nests at most MaxDepth deep, counted from
// its own root; a document that carries artifacts may add WrapperDepth.
const (
	MaxDepth     = 64
	WrapperDepth = 16
)

// Sizes of SPEC §4.1.
const (
	MaxMessageSize  = 256 << 10
	MaxDocumentSize = 64 << 20
)

var (
	messageLimits = Limits{Size: MaxMessageSize, Depth: MaxDepth}

	// DocumentLimits are for files that carry many artifacts.
	DocumentLimits = Limits{Size: MaxDocumentSize, Depth: MaxDepth + WrapperDepth}
)

// canonicalOptions make jsontext write RFC 8785 form.
var canonicalOptions = []jsontext.Options{
	jsontext.CanonicalizeRawInts(true),
	jsontext.CanonicalizeRawFloats(true),
	jsontext.ReorderRawObjects(true),
}

var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// Parse reads one JSON text strictly and returns its value in canonical form. It
// refuses, as a *Violation: more than the limits, bad syntax, bytes after the
// value, invalid UTF-8, lone surrogates, a member name given twice, and numbers
// outside the domain of SPEC §9.2.1, which would not survive canonicalisation
// unchanged. (SPEC §9.2.1)
func Parse(data []byte, lim Limits) (Value, error) {
	if len(data) > lim.Size {
		return Value{}, RuleSize.At("")
	}
	if offset, rule := guard(data, lim.Depth); rule != nil {
		return Value{}, rule.At(pointerAt(data, offset))
	}
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	text, err := jsontext.AppendFormat((*buf)[:0], data, canonicalOptions...)
	*buf = text[:0]
	if err != nil {
		return Value{}, syntaxViolation(data, err)
	}
	if cap(text) > 1<<20 {
		*buf = nil // do not let one large document stay in the pool
	}
	return index(string(text)), nil
}

// guard finds the first number outside the domain and the first value nested too
// deep. It runs before the JSON reader because that one rounds and clamps
// numbers, and because it must never see more nesting than we allow. It judges
// nothing else: malformed text is left for the reader to refuse.
func guard(data []byte, maxDepth int) (offset int, broken *Rule) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = endOfString(data, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i, RuleDepth
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || '0' <= c && c <= '9':
			j := i + 1
			for j < len(data) && isNumberByte(data[j]) {
				j++
			}
			if !inNumberDomain(data[i:j]) {
				return i, RuleNumber
			}
			i = j - 1
		}
	}
	return 0, nil
}

// endOfString returns the index of the quote that ends the string starting at i,
// or the last index if there is none.
func endOfString(data []byte, i int) int {
	for j := i + 1; ; j++ {
		n := bytes.IndexByte(data[j:], '"')
		if n < 0 {
			return len(data) - 1
		}
		j += n
		k := j
		for data[k-1] == '\\' {
			k--
		}
		if (j-k)%2 == 0 {
			return j
		}
	}
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// MaxSafeInteger is the largest n for which n and n+1 are distinct doubles
// (RFC 7493, Section 2.2).
const MaxSafeInteger = 1<<53 - 1

// inNumberDomain reports whether a number token names exactly one value for every
// reader: a safe integer; or a finite double, not rounded to zero, that is not an
// integer between 2^53 and 1e21, the range where the reference implementations
// print different digits. Zero has no sign. (SPEC §9.2.1)
func inNumberDomain(token []byte) bool {
	digits := bytes.TrimPrefix(token, []byte("-"))
	negative := len(digits) < len(token)
	if !bytes.ContainsAny(digits, ".eE") {
		if len(digits) > 16 {
			return false
		}
		n, err := strconv.ParseUint(string(digits), 10, 64)
		if err != nil {
			return true // malformed: the reader says what is wrong
		}
		return n <= MaxSafeInteger && (n != 0 || !negative)
	}
	f, err := strconv.ParseFloat(string(digits), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return false
	case err != nil:
		return true
	case f == 0:
		mantissa, _, _ := bytes.Cut(bytes.ToLower(digits), []byte("e"))
		return !negative && !bytes.ContainsAny(mantissa, "123456789")
	case f == math.Trunc(f):
		return f <= MaxSafeInteger || f >= 1e21
	}
	return true
}

// pointerAt returns the JSON pointer of the value that starts at offset. It is
// only called to explain a refusal.
func pointerAt(data []byte, offset int) string {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for d.InputOffset() <= int64(offset) {
		if _, err := d.ReadToken(); err != nil {
			break
		}
	}
	return string(d.StackPointer())
}

// syntaxViolation names the rule behind a refusal of the JSON reader.
func syntaxViolation(data []byte, err error) *Violation {
	at := ""
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = string(s.JSONPointer)
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return RuleDuplicate.At(at)
	}
	// The reader does not export its error for bad Unicode: what it reads once
	// bad Unicode is allowed had no other fault.
	if _, again := jsontext.AppendFormat(nil, data, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); again == nil {
		return RuleUnicode.At(at)
	}
	return RuleSyntax.At(at)
}
