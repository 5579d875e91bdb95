package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A shape is what a schema knows by name: of an object its members, of an array its
// elements. Where a schema leaves an object open, a member that differs from one of
// these only in case is refused: a careless reader would take it for the real one,
// and a careful one a limit that somebody misspelt for none.
type shape struct {
	names   []string
	members map[string]*shape // of the names that know names themselves
	items   *shape
}

// shapeOf returns what sch knows by name, or nil. The schemas of this package do not
// refer to themselves.
func shapeOf(sch *jsonschema.Schema) *shape {
	if sch == nil {
		return nil
	}
	s := &shape{names: slices.Clone(sch.Required), members: make(map[string]*shape), items: shapeOf(sch.Items2020)}
	for name, p := range sch.Properties {
		s.names = append(s.names, name)
		if member := shapeOf(p); member != nil {
			s.members[name] = member
		}
	}
	if r := shapeOf(sch.Ref); r != nil {
		s.names = append(s.names, r.names...)
		for name, member := range r.members {
			s.members[name] = member
		}
		if s.items == nil {
			s.items = r.items
		}
	}
	if len(s.names) == 0 && s.items == nil {
		return nil
	}
	slices.Sort(s.names)
	s.names = slices.Compact(s.names)
	return s
}

var errCase = errors.New("differs only in case from a member of this shape")

// misspelt finds a member of document, which fits the schema, that differs from a
// known one only in case.
func (s *shape) misspelt(document any) *Misfit {
	path, ok := s.find(document)
	if !ok {
		return nil
	}
	slices.Reverse(path)
	return &Misfit{Pointer: pointer(path), Why: errCase}
}

// find returns the way to the first misspelt member, the last step
// first.
func (s *shape) find(document any) ([]step, bool) {
	switch v := document.(type) {
	case map[string]any:
		first, found := "", false
		for name := range v {
			if _, known := slices.BinarySearch(s.names, name); known || found && name > first {
				continue
			}
			if slices.ContainsFunc(s.names, func(known string) bool { return strings.EqualFold(known, name) }) {
				first, found = name, true
			}
		}
		if found {
			return []step{{named: true, name: first}}, true
		}
		for _, name := range s.names {
			if m, ok := v[name]; ok && s.members[name] != nil {
				if path, ok := s.members[name].find(m); ok {
					return append(path, step{named: true, name: name}), true
				}
			}
		}
	case []any:
		for i, e := range v {
			if s.items == nil {
				break
			}
			if path, ok := s.items.find(e); ok {
				return append(path, step{index: i}), true
			}
		}
	}
	return nil, false
}
