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
	Size   int // bytes of text
	Depth  int // objects and arrays inside one another, the root included
	Values int // members and elements, all together; 0: as many as fit into Size
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
	DocumentLimits = Limits{Size: MaxDocumentSize, Depth: MaxDepth + WrapperDepth, Values: MaxDocumentSize / 16}
)

// canonicalOptions make jsontext write RFC 8785 form.
var canonicalOptions = []jsontext.Options{
	jsontext.CanonicalizeRawInts(true),
	jsontext.CanonicalizeRawFloats(true),
	jsontext.ReorderRawObjects(true),
}

var scratch = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// maxScratch keeps one large document from staying in the pool.
const maxScratch = 1 << 20

// Parse reads one JSON text strictly and returns its value in canonical form. It
// refuses, as a *Violation: more than the limits, bad syntax, bytes after the
// value, invalid UTF-8, lone surrogates, a member name given twice, and numbers
// outside the domain of SPEC §9.2.1, which would not survive canonicalisation
// unchanged. (SPEC §9.2.1)
func Parse(data []byte, lim Limits) (Value, error) {
	if len(data) > lim.Size {
		return Value{}, RuleSize.At("")
	}
	if end, rule := guard(data, lim); rule != nil {
		return Value{}, guardViolation(data[:end], rule)
	}
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	text, err := jsontext.AppendFormat((*buf)[:0], data, canonicalOptions...)
	if *buf = text[:0]; cap(text) > maxScratch {
		*buf = nil
	}
	if err != nil {
		return Value{}, syntaxViolation(data, err)
	}
	return index(string(text)), nil
}

// guard finds the first number outside the domain, value nested too deep or value
// too many, and
// returns the offset after its number or opening bracket. It runs before the JSON
// reader because that one rounds and clamps numbers, and because it must never see
// more nesting than we allow. It judges nothing else: malformed text is left for
// the reader to refuse.
func guard(data []byte, lim Limits) (end int, broken *Rule) {
	depth, values := 0, 1
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = endOfString(data, i)
		case c == '{' || c == '[':
			if depth++; depth > lim.Depth {
				return i + 1, RuleDepth
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			if values++; lim.Values > 0 && values > lim.Values {
				return i + 1, RuleSize
			}
		case c == '-' || '0' <= c && c <= '9':
			j := i + 1
			for j < len(data) && isNumberByte(data[j]) {
				j++
			}
			if !inNumberDomain(data[i:j]) {
				return j, RuleNumber
			}
			i = j - 1
		}
	}
	return 0, nil
}

// endOfString returns the index of the quote that ends the string starting at i,
// or the last index if there is none.
func endOfString[Text string | []byte](text Text, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '"':
			return j
		case '\\':
			j++
		}
	}
	return len(text) - 1
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// MaxSafeInteger is the largest n for which n and n+1 are distinct doubles
// (RFC 7493, Section 2.2).
const MaxSafeInteger = 1<<53 - 1

// maxNumberSize bounds a number token in bytes. Readers misjudge longer ones: of
// an integer part, strconv.ParseFloat counts only the first 800 digits, so that 1,
// 900 zeros and e-900 become 1e-101, and it cuts exponents off at five digits.
const maxNumberSize = 256

// inNumberDomain reports whether a number token names exactly one value for every
// reader: a safe integer; or a finite double, not rounded to zero, that is not an
// integer between 2^53 and 1e21, the range where the reference implementations
// print different digits. Zero has no sign. (SPEC §9.2.1)
func inNumberDomain(token []byte) bool {
	if len(token) > maxNumberSize {
		return false
	}
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

// guardViolation explains what guard found at the end of data: a break of rule,
// unless the text has another fault before.
func guardViolation(data []byte, rule *Rule) *Violation {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for more := true; more; {
		_, err := d.ReadToken()
		more = d.InputOffset() < int64(len(data))
		if err != nil || more && d.StackDepth() == 0 {
			_, err = jsontext.AppendFormat(nil, data, canonicalOptions...)
			return syntaxViolation(data, err)
		}
	}
	return rule.At(string(d.StackPointer()))
}

// syntaxViolation names the rule behind a refusal of the JSON reader.
func syntaxViolation(data []byte, err error) *Violation {
	at, offset := faultOf(err)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return RuleDuplicate.At(at)
	}
	// The reader does not export its error for bad Unicode: it is the one that
	// goes away, or gives way to a later one, once bad Unicode is allowed.
	_, err = jsontext.AppendFormat(nil, data, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if _, next := faultOf(err); err == nil || next > offset {
		return RuleUnicode.At(at)
	}
	return RuleSyntax.At(at)
}

func faultOf(err error) (pointer string, offset int64) {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return string(s.JSONPointer), s.ByteOffset
	}
	return "", 0
}
