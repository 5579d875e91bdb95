// Package mutate changes a JSON document in one place at a time, so that a test
// can ask of each place whether a verifier looks at it.
package mutate

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Mutation is a document with one change.
type Mutation struct {
	What    string // "drop" or "mistype"
	Pointer string // RFC 6901, of the changed value
	Text    string // the changed document
}

func (m Mutation) String() string { return m.What + " " + m.Pointer }

// All yields, for each member of each object of a document, the document without
// it and the document with a value of another type in its place; elements of
// arrays are only mistyped. Numbers keep their text.
func All(text string) iter.Seq[Mutation] {
	var root any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		panic("mutate: reading the document: " + err.Error())
	}
	return func(yield func(Mutation) bool) { walk(root, root, "", yield) }
}

// walk yields the mutations below node, which is part of root.
func walk(root, node any, at string, yield func(Mutation) bool) bool {
	switch node := node.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			v, pointer := node[name], at+"/"+escape(name)
			delete(node, name)
			ok := yield(Mutation{"drop", pointer, write(root)})
			node[name] = other(v)
			ok = ok && yield(Mutation{"mistype", pointer, write(root)})
			node[name] = v
			if !ok || !walk(root, v, pointer, yield) {
				return false
			}
		}
	case []any:
		for i, v := range node {
			pointer := at + "/" + strconv.Itoa(i)
			node[i] = other(v)
			ok := yield(Mutation{"mistype", pointer, write(root)})
			node[i] = v
			if !ok || !walk(root, v, pointer, yield) {
				return false
			}
		}
	}
	return true
}

// other returns a value of another JSON type than v.
func other(v any) any {
	switch v.(type) {
	case string:
		return json.Number("7")
	case map[string]any:
		return []any{}
	case []any:
		return map[string]any{}
	}
	return "x"
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func write(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("mutate: writing the document: %v", err))
	}
	return string(b)
}
