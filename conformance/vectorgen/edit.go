package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/concordia-node/concordia/wire"
)

// must returns v. What fails here is a mistake in this program.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("vectorgen: %v", err))
	}
	return v
}

// value makes a value of anything that JSON has.
func value(v any) wire.Value { return must(wire.Encode(v)) }

// parse reads a JSON text.
func parse(text string) wire.Value { return must(wire.Parse([]byte(text), wire.DocumentLimits)) }

// set returns an edit that puts a value, given as JSON text, at a pointer; "-" as
// the last token appends to an array.
func set(pointer, text string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value { return at(v, tokens(pointer), parse(text)) }
}

// drop returns an edit that removes the member at a pointer.
func drop(pointer string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value { return at(v, tokens(pointer), wire.Value{}) }
}

// all returns the edits one after the other.
func all(edits ...func(wire.Value) wire.Value) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		for _, e := range edits {
			v = e(v)
		}
		return v
	}
}

func tokens(pointer string) []string {
	list := strings.Split(pointer, "/")[1:]
	for i := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(list[i], "~1", "/"), "~0", "~")
	}
	return list
}

// at puts to at the path, or removes what is there if to is absent.
func at(v wire.Value, path []string, to wire.Value) wire.Value {
	if len(path) == 0 {
		return to
	}
	if v.Kind() == wire.Array {
		var list []wire.Value
		for _, e := range v.Elems() {
			list = append(list, e)
		}
		if path[0] == "-" {
			return value(append(list, to))
		}
		i := must(strconv.Atoi(path[0]))
		if child := at(list[i], path[1:], to); child.Kind() != wire.Absent {
			list[i] = child
		} else {
			list = append(list[:i], list[i+1:]...)
		}
		return value(list)
	}
	child, ok := v.Get(path[0])
	if !ok && (len(path) > 1 || to.Kind() == wire.Absent) {
		panic("vectorgen: no member " + path[0] + " to change in " + v.Canonical())
	}
	if child = at(child, path[1:], to); child.Kind() == wire.Absent {
		return v.Without(path[0])
	}
	return v.With(path[0], child)
}

// key returns the key of a name. Its seed is published: the SHA-256 of
// "concordia conformance key " and the name.
func key(name string) wire.PrivateKey {
	seed := sha256.Sum256([]byte("concordia conformance key " + name))
	return must(wire.NewPrivateKey(seed[:]))
}

// publicKeys returns the keys of agents as a context has them.
func publicKeys(names ...string) wire.M {
	m := wire.M{}
	for _, n := range names {
		m[n] = key(n).Public().String()
	}
	return m
}

// signature returns who's signature of v as text.
func signature(v wire.Value, who string) wire.Value {
	return wire.Text(must(key(who).Sign([]byte(v.Canonical()))).String())
}

// signedBlock returns a function that signs everything but "signature", which has
// the algorithm beside the text.
func signedBlock(who string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		block, _ := v.Get("signature")
		if block.Kind() != wire.Object {
			return v
		}
		if _, ok := block.Get("value"); !ok {
			return v
		}
		return v.With("signature", block.With("value", signature(v.Without("signature"), who)))
	}
}

// signedBare returns a function that signs everything but "signature", a text.
func signedBare(who string) func(wire.Value) wire.Value {
	return func(v wire.Value) wire.Value {
		if text, _ := v.Get("signature"); text.Kind() != wire.String {
			return v
		}
		return v.With("signature", signature(v.Without("signature"), who))
	}
}

// sorted returns the names of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
