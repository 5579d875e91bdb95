package wire

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON type of a Value.
type Kind byte

// The kinds. The zero Kind is an absent value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"absent", "null", "boolean", "number", "string", "array", "object"}

func (k Kind) String() string { return kindNames[k] }

// A Value is one JSON value in canonical form (RFC 8785). It is immutable, and
// two values are equal exactly when their canonical texts are. The zero Value is
// absent: not even null.
type Value struct {
	text string   // canonical JSON; parts of it are the texts of the children
	kids []member // of an object in canonical order, of an array in order
}

// A member is an object's member, or with an empty key an array's element.
type member struct {
	key string // canonical JSON string, quotes included
	Value
}

// name returns the decoded member name.
func (m member) name() string { return unquote(m.key) }

// unquote decodes a canonical JSON string; without escapes it costs nothing.
func unquote(s string) string {
	inner := s[1 : len(s)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	b, err := jsontext.AppendUnquote(nil, s)
	if err != nil {
		panic("wire: text of a value is not canonical: " + err.Error())
	}
	return string(b)
}

// index makes a Value of a text that is already canonical: no white space, no
// escapes but the required ones, members sorted, all of it known to be valid.
func index(text string) Value {
	x := indexer{text: text}
	return x.value()
}

type indexer struct {
	text string
	pos  int
}

func (x *indexer) value() Value {
	start := x.pos
	var kids []member
	switch x.text[x.pos] {
	case '{':
		kids = x.children(true)
	case '[':
		kids = x.children(false)
	case '"':
		x.str()
	default:
		for x.pos < len(x.text) && x.text[x.pos] != ',' && x.text[x.pos] != ']' && x.text[x.pos] != '}' {
			x.pos++
		}
	}
	return Value{text: x.text[start:x.pos], kids: kids}
}

func (x *indexer) children(named bool) []member {
	var most [16]member // as many as most containers have, on the stack
	kids := most[:0]
	x.pos++
	for c := x.text[x.pos]; c != '}' && c != ']'; c = x.text[x.pos] {
		if c == ',' {
			x.pos++
		}
		var m member
		if named {
			m.key = x.str()
			x.pos++ // colon
		}
		m.Value = x.value()
		kids = append(kids, m)
	}
	x.pos++
	return slices.Clone(kids)
}

func (x *indexer) str() string {
	start := x.pos
	x.pos = endOfString(x.text, start) + 1
	return x.text[start:x.pos]
}

// Kind returns the JSON type.
func (v Value) Kind() Kind {
	if v.text == "" {
		return Absent
	}
	switch v.text[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Canonical returns the RFC 8785 text.
func (v Value) Canonical() string { return v.text }

// String returns the RFC 8785 text.
func (v Value) String() string { return v.text }

// MarshalJSON returns the RFC 8785 text; an absent value is null.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v.orNull().text), nil }

// UnmarshalJSON is [Parse] with [DocumentLimits]. The size that a stranger may send is
// bounded before.
func (v *Value) UnmarshalJSON(text []byte) (err error) {
	*v, err = Parse(text, DocumentLimits)
	return err
}

func (v Value) orNull() Value {
	if v.text == "" {
		return Value{text: "null"}
	}
	return v
}

// Equal reports whether v and w are the same JSON value. Numbers are equal by
// value, strings by code points, objects whatever the order of their members.
func (v Value) Equal(w Value) bool { return v.text == w.text }

// Hash returns the SHA-256 of the canonical text (SPEC §9.3).
func (v Value) Hash() Hash { return HashOf(v.text) }

// Text returns the content of a string, and "" for every other kind.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return unquote(v.text)
}

// Bool returns the content of a boolean, and false for every other kind.
func (v Value) Bool() bool { return v.text == "true" }

// Float returns the content of a number.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// Int returns the content of a number that is a safe integer, however it was
// spelled: 3, 3.0 and 30e-1 are the integer 3.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// Len returns how many members an object or elements an array has.
func (v Value) Len() int { return len(v.kids) }

// Get returns a member of an object by its exact, case-sensitive name.
func (v Value) Get(name string) (Value, bool) {
	if i, ok := v.find(name); ok {
		return v.kids[i].Value, true
	}
	return Value{}, false
}

// At returns the value at the end of a path of member names and array indices.
func (v Value) At(path ...string) (Value, bool) {
	for _, token := range path {
		i, ok := v.find(token)
		if v.Kind() == Array {
			n, err := strconv.Atoi(token)
			i, ok = n, err == nil && n >= 0 && n < len(v.kids) && strconv.Itoa(n) == token
		}
		if !ok {
			return Value{}, false
		}
		v = v.kids[i].Value
	}
	return v, true
}

func (v Value) find(name string) (int, bool) {
	if v.Kind() != Object {
		return 0, false
	}
	if len(v.kids) > 16 {
		i, ok := slices.BinarySearchFunc(v.kids, name, func(m member, name string) int {
			return compareNames(m.name(), name)
		})
		return i, ok && v.kids[i].named(name)
	}
	for i := range v.kids {
		if v.kids[i].named(name) {
			return i, true
		}
	}
	return 0, false
}

// named reports whether m has this name. A key is decoded only if it agrees with
// the name up to its first escape.
func (m member) named(name string) bool {
	inner := m.key[1 : len(m.key)-1]
	for i := range len(inner) {
		if inner[i] == '\\' {
			return m.name() == name
		}
		if i == len(name) || inner[i] != name[i] {
			return false
		}
	}
	return len(inner) == len(name)
}

// compareNames orders member names by UTF-16 code units (RFC 8785, Section
// 3.2.3). That differs from the order of bytes only beyond the surrogates.
func compareNames(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Compare(unitOrder(x), unitOrder(y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// unitOrder orders characters as their first UTF-16 units: those beyond U+FFFF
// begin with a surrogate, which is less than U+E000.
func unitOrder(r rune) rune {
	if 0xe000 <= r && r <= 0xffff {
		return r + utf8.MaxRune
	}
	return r
}

// Members yields the members of an object in canonical order.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for _, m := range v.kids {
			if !yield(m.name(), m.Value) {
				return
			}
		}
	}
}

// Elems yields the elements of an array in order.
func (v Value) Elems() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i, m := range v.kids {
			if !yield(i, m.Value) {
				return
			}
		}
	}
}

// Depth returns how deep objects and arrays nest, v included.
func (v Value) Depth() int {
	if k := v.Kind(); k != Object && k != Array {
		return 0
	}
	deepest := 0
	for _, m := range v.kids {
		deepest = max(deepest, m.Depth())
	}
	return deepest + 1
}
