package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// dialect is the only value that $schema may have, but for a trailing #.
const dialect = "https://json-schema.org/draft/2020-12/schema"

type parser struct {
	doc      *document
	path     []step // to the value being read
	patterns int    // so far
	program  int    // instructions of them
	refs     []reference
}

// A reference is a $ref, resolved once all schemas are known.
type reference struct {
	from *node
	to   string
}

func (p *parser) parse() (*node, *Misfit) {
	root, misfit := p.schema(&p.doc.root, nil, "")
	if misfit != nil {
		return nil, misfit
	}
	for _, r := range p.refs {
		if r.from.ref = root.find(r.to); r.from.ref == nil {
			return nil, &Misfit{Pointer: r.from.pointer() + "/$ref", Why: errReference}
		}
	}
	// What runs in a circle without going down into the instance never ends, and a
	// circle has a $ref in it.
	state := map[*node]visit{}
	for _, r := range p.refs {
		if circular(r.from, state) {
			return nil, &Misfit{Pointer: r.from.pointer() + "/$ref", Why: errCycle}
		}
	}
	return root, nil
}

type visit int

const (
	_ visit = iota
	visiting
	visited
)

// circular reports whether a schema is applied, by way of n, to the value that it
// is being applied to.
func circular(n *node, state map[*node]visit) bool {
	if s := state[n]; s != 0 {
		return s == visiting
	}
	state[n] = visiting
	for _, sub := range n.inPlace() {
		if circular(sub, state) {
			return true
		}
	}
	state[n] = visited
	return false
}

func (p *parser) fail(why error) *Misfit { return &Misfit{Pointer: pointer(p.path), Why: why} }

func (p *parser) want(what string) *Misfit { return p.fail(errors.New("not " + what)) }

// at runs read one step further down.
func (p *parser) at(s step, read func() *Misfit) *Misfit {
	p.path = append(p.path, s)
	misfit := read()
	p.path = p.path[:len(p.path)-1]
	return misfit
}

// schema reads the schema at the current path.
func (p *parser) schema(v *value, parent *node, under string) (*node, *Misfit) {
	n := &node{parent: parent, under: under}
	for _, l := range []*limits{&n.length, &n.size, &n.count, &n.found} {
		l.max = maxCount
	}
	n.found.min = 1
	switch v.kind {
	case kindBoolean:
		n.never = !v.yes
		return n, nil
	case kindObject:
	default:
		return nil, p.want("a schema")
	}
	for i := range v.kids {
		keyword := v.names[i].text
		misfit := p.at(step{name: keyword, named: true}, func() *Misfit { return p.keyword(n, keyword, &v.kids[i]) })
		if misfit != nil {
			return nil, misfit
		}
	}
	return n, nil
}

// keyword reads one member of a schema. The list is closed.
func (p *parser) keyword(n *node, keyword string, v *value) *Misfit {
	switch keyword {
	case "$schema":
		if n.parent != nil || v.kind != kindString || strings.TrimSuffix(v.text, "#") != dialect {
			return p.fail(errDialect)
		}
		return nil
	case "$id":
		return p.id(n, v)
	case "$ref":
		if v.kind != kindString {
			return p.want("a string")
		}
		p.refs = append(p.refs, reference{from: n, to: v.text})
		return nil
	case "title", "description", "$comment", "format":
		if v.kind != kindString {
			return p.want("a string")
		}
		return nil
	case "deprecated", "readOnly", "writeOnly":
		_, misfit := p.boolean(v)
		return misfit
	case "examples":
		if v.kind != kindArray {
			return p.want("an array")
		}
		return nil
	case "default":
		return nil
	case "type":
		return p.types(n, v)
	case "enum":
		if v.kind != kindArray {
			return p.want("an array")
		}
		n.allowed = append(n.allowed, p.allow(keyword, v.kids))
		return nil
	case "const":
		n.allowed = append(n.allowed, p.allow(keyword, []value{*v}))
		return nil
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return p.bound(n, keyword, v)
	case "minLength":
		return p.number(&n.length.min, v)
	case "maxLength":
		return p.number(&n.length.max, v)
	case "minItems":
		return p.number(&n.size.min, v)
	case "maxItems":
		return p.number(&n.size.max, v)
	case "minProperties":
		return p.number(&n.count.min, v)
	case "maxProperties":
		return p.number(&n.count.max, v)
	case "minContains":
		return p.number(&n.found.min, v)
	case "maxContains":
		return p.number(&n.found.max, v)
	case "uniqueItems":
		var misfit *Misfit
		n.unique, misfit = p.boolean(v)
		return misfit
	case "pattern":
		if v.kind != kindString {
			return p.want("a string")
		}
		var misfit *Misfit
		n.pattern, misfit = p.pattern(v.text)
		return misfit
	case "required":
		var misfit *Misfit
		n.required, misfit = p.names(v)
		return misfit
	}
	return p.applicator(n, keyword, v)
}

// applicator reads a keyword that has schemas in it.
func (p *parser) applicator(n *node, keyword string, v *value) *Misfit {
	switch keyword {
	case "items":
		return p.one(&n.items, n, keyword, v)
	case "contains":
		return p.one(&n.contains, n, keyword, v)
	case "additionalProperties":
		return p.one(&n.additional, n, keyword, v)
	case "propertyNames":
		return p.one(&n.names, n, keyword, v)
	case "not":
		return p.one(&n.not, n, keyword, v)
	case "if":
		return p.one(&n.test, n, keyword, v)
	case "then":
		return p.one(&n.then, n, keyword, v)
	case "else":
		return p.one(&n.otherwise, n, keyword, v)
	case "allOf":
		return p.list(&n.allOf, n, keyword, v)
	case "anyOf":
		return p.list(&n.anyOf, n, keyword, v)
	case "oneOf":
		return p.list(&n.oneOf, n, keyword, v)
	case "prefixItems":
		return p.list(&n.prefix, n, keyword, v)
	case "$defs":
		return p.each(v, func(name string, v *value) *Misfit {
			_, misfit := p.inside(n, place{keyword, name, true}, v)
			return misfit
		})
	case "properties":
		n.properties = make(map[string]*node, len(v.kids))
		return p.each(v, func(name string, v *value) *Misfit {
			sub, misfit := p.inside(n, place{keyword, name, true}, v)
			n.properties[name] = sub
			return misfit
		})
	case "patternProperties":
		return p.each(v, func(name string, v *value) *Misfit {
			re, misfit := p.pattern(name)
			if misfit != nil {
				return misfit
			}
			sub, misfit := p.inside(n, place{keyword, name, true}, v)
			n.patterns = append(n.patterns, patterned{re, sub})
			return misfit
		})
	case "dependentSchemas":
		return p.each(v, func(name string, v *value) *Misfit {
			sub, misfit := p.inside(n, place{keyword, name, true}, v)
			n.dependents = append(n.dependents, dependent{name: name, sub: sub})
			return misfit
		})
	case "dependentRequired":
		return p.each(v, func(name string, v *value) *Misfit {
			names, misfit := p.names(v)
			n.dependents = append(n.dependents, dependent{name: name, required: names})
			return misfit
		})
	}
	return p.fail(errKeyword)
}

// id reads $id, which is not used: at the root it does not change what a $ref to #
// means. Elsewhere it would. One with a fragment would be another name of a place,
// and one that names the dialect would make # mean the meta-schema to some.
func (p *parser) id(n *node, v *value) *Misfit {
	if v.kind != kindString {
		return p.want("a string")
	}
	uri := strings.TrimSuffix(v.text, "#")
	if _, err := url.Parse(uri); err != nil || n.parent != nil || strings.Contains(uri, "#") || strings.Contains(uri, "json-schema.org/") {
		return p.fail(errID)
	}
	return nil
}

func (p *parser) types(n *node, v *value) *Misfit {
	list := []value{*v}
	if v.kind == kindArray {
		if list = v.kids; len(list) == 0 {
			return p.want("the names of types")
		}
	}
	for _, t := range list {
		k := kinds[t.text]
		if t.kind != kindString || k == 0 {
			return p.want("the name of a type")
		}
		if n.kinds&k != 0 {
			return p.want("different types")
		}
		n.kinds |= k
	}
	return nil
}

func (p *parser) allow(keyword string, list []value) allowed {
	a := allowed{keyword: keyword, keys: make(map[string]struct{}, len(list))}
	for i := range list {
		key := p.doc.key(&list[i])
		a.keys[key] = struct{}{}
		a.longest = max(a.longest, len(key))
	}
	return a
}

func (p *parser) bound(n *node, keyword string, v *value) *Misfit {
	if v.kind&kindNumber == 0 {
		return p.want("a number")
	}
	if keyword == "multipleOf" && v.num.sign() <= 0 {
		return p.want("above 0")
	}
	n.bounds = append(n.bounds, bound{keyword, v.num})
	return nil
}

func (p *parser) number(to *int, v *value) *Misfit {
	if v.kind&kindNumber != 0 {
		if c, ok := v.num.count(); ok {
			*to = c
			return nil
		}
	}
	return p.want("a whole number from 0")
}

func (p *parser) boolean(v *value) (bool, *Misfit) {
	if v.kind != kindBoolean {
		return false, p.want("true or false")
	}
	return v.yes, nil
}

func (p *parser) names(v *value) ([]string, *Misfit) {
	if v.kind != kindArray {
		return nil, p.want("an array of names")
	}
	names, seen := make([]string, 0, len(v.kids)), make(map[string]struct{}, len(v.kids))
	for i := range v.kids {
		name := v.kids[i].text
		var misfit *Misfit
		p.at(step{index: i}, func() *Misfit {
			if _, twice := seen[name]; twice {
				misfit = p.fail(errors.New("named twice"))
			}
			if v.kids[i].kind != kindString {
				misfit = p.want("a string")
			}
			return nil
		})
		if misfit != nil {
			return nil, misfit
		}
		seen[name] = struct{}{}
		names = append(names, name)
	}
	return names, nil
}

func (p *parser) pattern(text string) (*pattern, *Misfit) {
	if p.patterns++; p.patterns > maxPatterns {
		return nil, p.fail(errManyPatterns)
	}
	re, err := parsePattern(text, maxProgram-p.program)
	if err != nil {
		return nil, p.fail(fmt.Errorf("not a pattern for a constraint: %w", err))
	}
	p.program += re.size
	return re, nil
}

// inside reads a schema inside n, at the current path.
func (p *parser) inside(n *node, at place, v *value) (*node, *Misfit) {
	sub, misfit := p.schema(v, n, at.pointer())
	if misfit != nil {
		return nil, misfit
	}
	if n.subs == nil {
		n.subs = make(map[place]*node)
	}
	n.subs[at] = sub
	return sub, nil
}

// one reads the schema of a keyword that takes one.
func (p *parser) one(to **node, n *node, keyword string, v *value) (misfit *Misfit) {
	*to, misfit = p.inside(n, place{keyword: keyword}, v)
	return misfit
}

// list reads the schemas of a keyword that takes an array of them.
func (p *parser) list(to *[]*node, n *node, keyword string, v *value) *Misfit {
	if v.kind != kindArray || len(v.kids) == 0 {
		return p.want("an array of schemas")
	}
	for i := range v.kids {
		misfit := p.at(step{index: i}, func() *Misfit {
			sub, misfit := p.inside(n, place{keyword, strconv.Itoa(i), true}, &v.kids[i])
			*to = append(*to, sub)
			return misfit
		})
		if misfit != nil {
			return misfit
		}
	}
	return nil
}

// each reads the members of an object.
func (p *parser) each(v *value, read func(name string, v *value) *Misfit) *Misfit {
	if v.kind != kindObject {
		return p.want("an object")
	}
	for i := range v.kids {
		name := v.names[i].text
		misfit := p.at(step{name: name, named: true}, func() *Misfit { return read(name, &v.kids[i]) })
		if misfit != nil {
			return misfit
		}
	}
	return nil
}
