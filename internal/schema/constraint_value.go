package schema

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind is a set of JSON types. A number without a fraction is of two.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindObject
	kindArray
	kindNumber
	kindInteger
	kindString
)

var kinds = map[string]kind{
	"null":    kindNull,
	"boolean": kindBoolean,
	"object":  kindObject,
	"array":   kindArray,
	"number":  kindNumber,
	"integer": kindInteger,
	"string":  kindString,
}

// A document is a JSON value whose parts are cheap to compare.
type document struct {
	root value
	keys string // of all parts: each is inside that of its parent
}

// key returns a text that two values share exactly if they are equal.
func (d *document) key(v *value) string { return d.keys[v.from:v.to] }

type value struct {
	kind     kind
	yes      bool    // of a boolean
	num      decimal // of a number
	text     string  // of a string
	runes    int     // code points of text
	names    []value // strings, sorted: of an object's members
	kids     []value // elements, or the members' values in the order of names
	from, to int     // where the key is
}

// get returns the member of a name, or nil.
func (v *value) get(name string) *value {
	i, ok := slices.BinarySearchFunc(v.names, name, func(v value, name string) int { return strings.Compare(v.text, name) })
	if !ok {
		return nil
	}
	return &v.kids[i]
}

// parseDocument reads JSON that nests within bounds.
func parseDocument(text string) (*document, *Misfit) {
	if !utf8.ValidString(text) {
		return nil, &Misfit{Why: errNotUTF8}
	}
	tree, err := decode(text)
	if err != nil {
		return nil, &Misfit{Why: err}
	}
	d := &document{}
	b := builder{keys: make([]byte, 0, len(text)+len(text)/2)}
	if why := b.build(&d.root, tree); why != nil {
		return nil, &Misfit{Pointer: pointer(b.path), Why: why}
	}
	d.keys = string(b.keys)
	return d, nil
}

type builder struct {
	keys []byte
	path []step // to where it failed, once it has
}

func (b *builder) build(v *value, tree any) error {
	v.from = len(b.keys)
	switch t := tree.(type) {
	case nil:
		v.kind = kindNull
		b.keys = append(b.keys, 'z')
	case bool:
		v.kind, v.yes = kindBoolean, t
		b.keys = strconv.AppendBool(b.keys, t)
	case json.Number:
		num, ok := parseDecimal(string(t))
		if !ok {
			return errNumber
		}
		v.kind, v.num = kindNumber, num
		if num.integer() {
			v.kind |= kindInteger
		}
		b.keys = num.appendKey(b.keys)
	case string:
		b.string(v, t)
	case []any:
		v.kind, v.kids = kindArray, make([]value, len(t))
		b.keys = append(b.keys, '[')
		for i, e := range t {
			if err := b.build(&v.kids[i], e); err != nil {
				b.path = append([]step{{index: i}}, b.path...)
				return err
			}
		}
		b.keys = append(b.keys, ']')
	case map[string]any:
		v.kind = kindObject
		v.names, v.kids = make([]value, len(t)), make([]value, len(t))
		b.keys = append(b.keys, '{')
		names := slices.AppendSeq(make([]string, 0, len(t)), maps.Keys(t))
		slices.Sort(names)
		for i, name := range names {
			b.string(&v.names[i], name)
			if err := b.build(&v.kids[i], t[name]); err != nil {
				b.path = append([]step{{name: name, named: true}}, b.path...)
				return err
			}
		}
		b.keys = append(b.keys, '}')
	default:
		return errors.New("not JSON")
	}
	v.to = len(b.keys)
	return nil
}

// string builds a string. Its key begins with its length, so that keys one after
// another can be told apart.
func (b *builder) string(v *value, text string) {
	v.kind, v.text, v.runes = kindString, text, utf8.RuneCountInString(text)
	v.from = len(b.keys)
	b.keys = append(b.keys, '"')
	b.keys = strconv.AppendInt(b.keys, int64(len(text)), 10)
	b.keys = append(b.keys, ':')
	b.keys = append(b.keys, text...)
	v.to = len(b.keys)
}

// nestsDeeper reports whether objects and arrays are more than limit deep. It runs
// before any reader of JSON does, each of which recurses.
func nestsDeeper(text string, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// A step leads from a value to a part of it.
type step struct {
	name  string
	named bool
	index int
}

// pointer returns a path as RFC 6901 has it.
func pointer(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.named {
			b.WriteString(escapeToken(s.name))
		} else {
			b.WriteString(strconv.Itoa(s.index))
		}
	}
	return b.String()
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

func escapeToken(s string) string { return escaper.Replace(s) }

// unescapeToken is false for a tilde that escapes nothing.
func unescapeToken(s string) (string, bool) {
	t := unescaper.Replace(s)
	return t, escapeToken(t) == s
}
