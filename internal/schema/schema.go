package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

//go:embed *.json
var files embed.FS

// A Set holds the schemas of this project.
type Set struct {
	compiled map[string]func() compiled
}

// A compiled schema, and what it knows by name.
type compiled struct {
	*jsonschema.Schema
	shape *shape
}

// New returns the set. Its format "date-time" is what isTime accepts; no other
// format is asserted.
func New(isTime func(string) bool) *Set {
	s := &Set{compiled: make(map[string]func() compiled)}
	for _, name := range Names() {
		s.compiled[name] = sync.OnceValue(func() compiled {
			sch := compile(name, isTime)
			return compiled{sch, shapeOf(sch)}
		})
	}
	return s
}

// Names returns the names of the schemas, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("schema: reading the embedded schemas: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	return names
}

// Source returns the text of a schema.
func Source(name string) ([]byte, error) { return files.ReadFile(name + ".json") }

var errElsewhere = errors.New("only the schemas of this program are loaded")

// compile compiles one schema. It can only fail where the schema itself is wrong.
func compile(name string, isTime func(string) bool) *jsonschema.Schema {
	text, err := Source(name)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return newCompiler(isTime).MustCompile(urn(text))
}

// newCompiler returns a compiler that knows the schemas of this package and loads
// nothing.
func newCompiler(isTime func(string) bool) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errElsewhere }
	c.AssertFormat = true
	for format := range jsonschema.Formats { // which would be asserted too
		c.Formats[format] = func(any) bool { return true }
	}
	c.Formats["date-time"] = func(v any) bool {
		text, ok := v.(string)
		return !ok || isTime(text)
	}
	for _, n := range Names() {
		text, err := Source(n)
		if err == nil {
			err = c.AddResource(urn(text), bytes.NewReader(text))
		}
		if err != nil {
			panic("schema: reading " + n + ": " + err.Error())
		}
	}
	return c
}

// urn returns the $id of a schema, by which others refer to it.
func urn(text []byte) string {
	var s struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(text, &s); err != nil || s.ID == "" {
		panic(fmt.Sprintf("schema: a schema without $id: %v", err))
	}
	return s.ID
}

// A Misfit says where a document does not fit and why.
//
// BUG(schema): where an embedded schema reaches below a member of the empty name,
// the pointer lacks that name; the library leaves it out.
type Misfit struct {
	Pointer string // RFC 6901, into the document
	Why     error
}

func (m *Misfit) Error() string { return m.Pointer + ": " + m.Why.Error() }

// Unwrap makes errors.Is(err, ErrTooCostly) work.
func (m *Misfit) Unwrap() error { return m.Why }

// Check reports how a document, in canonical JSON, does not fit the named schema,
// or has a member that differs from one of the schema only in case, or nil. It
// panics if there is no such schema.
func (s *Set) Check(name, canonical string) *Misfit {
	get, ok := s.compiled[name]
	if !ok {
		panic("schema: there is no schema " + name)
	}
	return check(get(), name, canonical)
}

func check(sch compiled, name, canonical string) (misfit *Misfit) {
	document, err := decode(canonical)
	if err != nil {
		return &Misfit{Why: err}
	}
	// The library is not ours: a panic of it refuses the document.
	defer func() {
		if r := recover(); r != nil {
			misfit = &Misfit{Why: errors.New("the schema could not be evaluated")}
		}
	}()
	err = sch.Validate(shorten(sch.Schema, document))
	if err == nil && sch.shape != nil {
		return sch.shape.misspelt(document)
	}
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &Misfit{Why: errors.New("the schema could not be evaluated")}
	}
	for len(failed.Causes) > 0 {
		failed = failed.Causes[0]
	}
	at, err := url.PathUnescape(failed.InstanceLocation)
	if err != nil {
		at = failed.InstanceLocation
	}
	keyword := failed.KeywordLocation[strings.LastIndexByte(failed.KeywordLocation, '/')+1:]
	return &Misfit{Pointer: at, Why: fmt.Errorf("does not fit the schema %s (%s)", name, keyword)}
}

// fewMisfits is how many elements or members are left to the library at once.
const fewMisfits = 16

// shorten ends each long array after its first element that does not fit, and leaves
// of each large object with further members the first of these that does not. The
// library goes on after a misfit and makes an error of each, a kilobyte and more for
// as little as a byte. A document that fits stays as it is, one that does not still
// does not, at the same place: no schema here wants more than one element.
func shorten(sch *jsonschema.Schema, document any) any {
	if sch == nil {
		return document
	}
	document = shorten(sch.Ref, document)
	switch v := document.(type) {
	case map[string]any:
		for name, p := range sch.Properties {
			if m, ok := v[name]; ok {
				v[name] = shorten(p, m)
			}
		}
		further, ok := sch.AdditionalProperties.(*jsonschema.Schema)
		if !ok || len(v) <= fewMisfits {
			return v
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, known := sch.Properties[name]; known {
				continue
			}
			if v[name] = shorten(further, v[name]); further.Validate(v[name]) != nil {
				maps.DeleteFunc(v, func(n string, _ any) bool { return n != name && sch.Properties[n] == nil })
				return v
			}
		}
	case []any:
		if sch.Items2020 == nil || len(v) <= fewMisfits {
			return v
		}
		for i := range v {
			if v[i] = shorten(sch.Items2020, v[i]); sch.Items2020.Validate(v[i]) != nil {
				return v[:i+1]
			}
		}
	}
	return document
}

// decode returns the tree of canonical JSON, with numbers as their canonical text.
func decode(canonical string) (any, error) {
	d := json.NewDecoder(strings.NewReader(canonical))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading canonical JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("reading canonical JSON: more than one value")
	}
	return v, nil
}
