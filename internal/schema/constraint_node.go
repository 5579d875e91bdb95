package schema

import (
	"net/url"
	"strings"
)

// A node is one schema of a constraint.
type node struct {
	parent *node // nil at the root
	under  string
	subs   map[place]*node // all schemas directly inside, for $ref

	never      bool // the schema is false
	kinds      kind // 0: any
	allowed    []allowed
	bounds     []bound
	length     limits
	pattern    *pattern
	size       limits
	unique     bool
	prefix     []*node
	items      *node
	contains   *node
	found      limits // of contains
	count      limits
	required   []string
	dependents []dependent
	properties map[string]*node
	patterns   []patterned
	additional *node
	names      *node

	ref                        *node
	allOf, anyOf, oneOf        []*node
	not, test, then, otherwise *node
}

type limits struct{ min, max int }

// allowed is an enum or a const.
type allowed struct {
	keyword string
	keys    map[string]struct{}
	longest int // of keys
}

// A bound is a demand on a number.
type bound struct {
	keyword string
	than    decimal
}

func (b bound) holds(d decimal) bool {
	switch b.keyword {
	case "minimum":
		return d.compare(b.than) >= 0
	case "maximum":
		return d.compare(b.than) <= 0
	case "exclusiveMinimum":
		return d.compare(b.than) > 0
	case "exclusiveMaximum":
		return d.compare(b.than) < 0
	}
	return d.multipleOf(b.than)
}

// A dependent is what an object must satisfy if it has a member of the name.
type dependent struct {
	name     string
	sub      *node
	required []string
}

type patterned struct {
	pattern *pattern
	sub     *node
}

func (n *node) looksAtMembers() bool {
	return n.properties != nil || n.patterns != nil || n.additional != nil || n.names != nil
}

// inPlace returns the schemas that n applies to the same value.
func (n *node) inPlace() []*node {
	var subs []*node
	for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf, {n.ref, n.not, n.test, n.then, n.otherwise}} {
		for _, sub := range list {
			if sub != nil {
				subs = append(subs, sub)
			}
		}
	}
	for _, d := range n.dependents {
		if d.sub != nil {
			subs = append(subs, d.sub)
		}
	}
	return subs
}

// A place is where inside a schema another one is: under a keyword, and if this
// takes several schemas, under a name or an index.
type place struct {
	keyword, name string
	several       bool
}

func (p place) pointer() string {
	if !p.several {
		return "/" + p.keyword
	}
	return "/" + p.keyword + "/" + escapeToken(p.name)
}

// maxWhere keeps a misfit from repeating a constraint at length.
const maxWhere = 128

// where returns the pointer to a keyword of n, its beginning cut off if it is long.
// The nodes do not hold it: with a long name above many schemas, they would hold
// that name many times.
func (n *node) where(keyword string) string {
	at := "/" + keyword
	for ; n != nil && len(at) <= maxWhere; n = n.parent {
		at = n.under + at
	}
	if len(at) > maxWhere {
		return "…" + strings.ToValidUTF8(at[len(at)-maxWhere:], "")
	}
	return at
}

// pointer returns where n is.
func (n *node) pointer() string {
	at := ""
	for ; n != nil; n = n.parent {
		at = n.under + at
	}
	return at
}

// find returns the schema that a $ref names, or nil. Only places that are schemas
// are found: not the value of a const, and nothing outside of the document.
func (n *node) find(ref string) *node {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || strings.Contains(fragment, "#") {
		return nil
	}
	path, err := url.PathUnescape(fragment)
	if err != nil || path != "" && path[0] != '/' {
		return nil
	}
	for path != "" {
		var at place
		if at.keyword, path, ok = cutToken(path); !ok {
			return nil
		}
		sub := n.subs[at]
		if sub == nil {
			at.several = true
			if at.name, path, ok = cutToken(path); !ok {
				return nil
			}
			sub = n.subs[at]
		}
		if n = sub; n == nil {
			return nil
		}
	}
	return n
}

// cutToken takes the first token off a pointer.
func cutToken(path string) (token, rest string, ok bool) {
	if path == "" {
		return "", "", false
	}
	token, rest = path[1:], ""
	if i := strings.IndexByte(token, '/'); i >= 0 {
		token, rest = token[:i], token[i:]
	}
	token, ok = unescapeToken(token)
	return token, rest, ok
}
