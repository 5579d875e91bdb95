package wire

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// M is an object literal for Encode.
type M = map[string]any

// Encode makes a Value of Go data: nil, booleans, numbers, strings, Values, text
// marshalers, slices, maps, structs with json tags. What Parse refuses, Encode
// refuses: invalid UTF-8, negative zero, numbers outside the domain.
func Encode(x any) (Value, error) {
	if v, ok := x.(Value); ok && v.text != "" {
		return v, nil
	}
	text, err := json.Marshal(x, json.Deterministic(true))
	if err != nil {
		return Value{}, fmt.Errorf("encoding a JSON value: %w", err)
	}
	return Parse(text, DocumentLimits)
}

// Without returns the object v less the named member: the signing preimage of
// SPEC §9.2 is Without("signature").
func (v Value) Without(name string) Value {
	i, ok := v.find(name)
	if !ok {
		return v
	}
	return objectOf(slices.Delete(slices.Clone(v.kids), i, i+1))
}

// AppendWithout appends the canonical text of v.Without(name) to dst. It cuts the
// member out of the text and copies each byte once.
func (v Value) AppendWithout(dst []byte, name string) []byte {
	i, ok := v.find(name)
	if !ok {
		return append(dst, v.text...)
	}
	from := 1 // after the brace
	for _, m := range v.kids[:i] {
		from += len(m.key) + 1 + len(m.text) + 1
	}
	to := from + len(v.kids[i].key) + 1 + len(v.kids[i].text)
	switch { // one comma goes with the member
	case i+1 < len(v.kids):
		to++
	case i > 0:
		from--
	}
	return append(append(dst, v.text[:from]...), v.text[to:]...)
}

// With returns the object v with the named member set to w, an absent w as null.
// Invalid UTF-8 in the name becomes U+FFFD.
func (v Value) With(name string, w Value) Value {
	key := Text(name)
	name = key.Text()
	i, ok := v.find(name)
	kids := slices.Clone(v.kids)
	if ok {
		kids[i].Value = w.orNull()
		return objectOf(kids)
	}
	i, _ = slices.BinarySearchFunc(kids, name, func(m member, name string) int {
		return compareNames(m.name(), name)
	})
	return objectOf(slices.Insert(kids, i, member{key: key.text, Value: w.orNull()}))
}

// WithElem returns the array v with element i replaced by w, an absent w as null.
func (v Value) WithElem(i int, w Value) Value {
	kids := slices.Clone(v.kids)
	kids[i].Value = w.orNull()
	return arrayOf(kids)
}

// Only returns the object v with no members but the named ones.
func (v Value) Only(names ...string) Value {
	var kids []member
	for _, m := range v.kids {
		if slices.Contains(names, m.name()) {
			kids = append(kids, m)
		}
	}
	return objectOf(kids)
}

// WithoutNulls returns the object v less the members that are null, and what is no
// object as it is.
func (v Value) WithoutNulls() Value {
	isNull := func(m member) bool { return m.Kind() == Null }
	if v.Kind() != Object || !slices.ContainsFunc(v.kids, isNull) {
		return v
	}
	return objectOf(slices.DeleteFunc(slices.Clone(v.kids), isNull))
}

// Union returns the object with the members of v and of w, and false if both have
// a member that differs.
func (v Value) Union(w Value) (Value, bool) {
	kids := make([]member, 0, len(v.kids)+len(w.kids))
	a, b := v.kids, w.kids
	for len(a) > 0 && len(b) > 0 {
		switch order := compareNames(a[0].name(), b[0].name()); {
		case order < 0:
			kids, a = append(kids, a[0]), a[1:]
		case order > 0:
			kids, b = append(kids, b[0]), b[1:]
		case !a[0].Equal(b[0].Value):
			return Value{}, false
		default:
			kids, a, b = append(kids, a[0]), a[1:], b[1:]
		}
	}
	return objectOf(append(append(kids, a...), b...)), true
}

// StripSignatures returns v without any member named signature, at any depth: the
// rule of SPEC §9.6.5a.
func (v Value) StripSignatures() Value {
	switch v.Kind() {
	case Object:
		kids := make([]member, 0, len(v.kids))
		for _, m := range v.kids {
			if m.key != `"signature"` {
				kids = append(kids, member{m.key, m.StripSignatures()})
			}
		}
		return objectOf(kids)
	case Array:
		kids := slices.Clone(v.kids)
		for i := range kids {
			kids[i].Value = kids[i].StripSignatures()
		}
		return arrayOf(kids)
	}
	return v
}

// Text returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Text(s string) Value {
	b, err := jsontext.AppendQuote(nil, s)
	_ = err // reports only the replacement just described
	return Value{text: string(b)}
}

// objectOf joins members that are in canonical order.
func objectOf(kids []member) Value {
	n := 2
	for _, m := range kids {
		n += len(m.key) + len(m.text) + 2
	}
	b := append(make([]byte, 0, n), '{')
	for i, m := range kids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, m.key...), ':')
		b = append(b, m.text...)
	}
	return Value{text: string(append(b, '}')), kids: kids}
}

func arrayOf(kids []member) Value {
	b := []byte{'['}
	for i, m := range kids {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.text...)
	}
	return Value{text: string(append(b, ']')), kids: kids}
}
