package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// The limits of a document, beside MaxSize.
const (
	maxDepth  = 32
	maxFaults = 20 // that are reported
)

// A node is a part of a document, in YAML or in JSON.
type node struct {
	place   protocol.Place
	members []member   // of a mapping
	elems   []*node    // of a sequence
	value   wire.Value // of a scalar
	kind    nodeKind
}

type nodeKind string

const (
	mapping  nodeKind = "a mapping"
	sequence nodeKind = "a list"
	scalar   nodeKind = "a scalar"
)

type member struct {
	name  string
	place protocol.Place
	value *node
}

// is names what a node is, for messages.
func (n *node) is() string {
	if n.kind != scalar {
		return string(n.kind)
	}
	return fmt.Sprintf("%s, a %s", cut(n.value.Canonical()), n.value.Kind())
}

// parseNode reads a document: JSON if it begins with a brace, else YAML.
func (t *text) parseNode() (*node, error) {
	switch {
	case len(t.content) > MaxSize:
		return nil, t.fault(CodeLimit, 0, "the document is too long")
	case !utf8.ValidString(t.content):
		return nil, t.fault(CodeSyntax, 0, "the document is not UTF-8")
	case strings.HasPrefix(strings.TrimLeft(t.content, " \t\r\n"), "{"):
		return t.parseJSON()
	}
	return t.parseYAML()
}

func (t *text) parseJSON() (*node, error) {
	d := jsontext.NewDecoder(bytes.NewReader([]byte(t.content)))
	n, err := t.json(d, 0)
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return n, nil
		}
		if err == nil {
			return nil, t.fault(CodeSyntax, int(d.InputOffset())-1, "something follows the document")
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	at := int(d.InputOffset())
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = int(e.ByteOffset)
	}
	at = min(at, len(t.content))
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return nil, t.fault(CodeDuplicate, at, "the object has this member already")
	}
	return nil, t.fault(CodeSyntax, at, "the document is not JSON, although it begins with a brace")
}

func (t *text) json(d *jsontext.Decoder, depth int) (*node, error) {
	kind := d.PeekKind()
	// The offset is before the comma, the colon and the space between tokens.
	at := int(d.InputOffset())
	at += len(t.content[at:]) - len(strings.TrimLeft(t.content[at:], ",: \t\r\n"))
	n := &node{place: t.place(at)}
	if depth > maxDepth {
		return nil, t.fault(CodeLimit, at, "the document nests too deep")
	}
	switch kind {
	case '{':
		n.kind = mapping
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for d.PeekKind() != '}' {
			key, err := t.json(d, depth+1)
			if err != nil {
				return nil, err
			}
			value, err := t.json(d, depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{key.value.Text(), key.place, value})
		}
		_, err := d.ReadToken()
		return n, err
	case '[':
		n.kind = sequence
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for d.PeekKind() != ']' {
			e, err := t.json(d, depth+1)
			if err != nil {
				return nil, err
			}
			n.elems = append(n.elems, e)
		}
		_, err := d.ReadToken()
		return n, err
	}
	n.kind = scalar
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	if n.value, err = wire.Parse(raw, wire.Limits{Size: MaxSize, Depth: 1}); err != nil {
		return nil, t.fault(CodeValue, at, "the value means different things to different readers of JSON")
	}
	return n, nil
}

func (t *text) parseYAML() (*node, error) {
	d := yaml.NewDecoder(strings.NewReader(t.content))
	var root yaml.Node
	err := d.Decode(&root)
	if errors.Is(err, io.EOF) {
		return nil, t.fault(CodeSyntax, 0, "the document is empty")
	}
	if err != nil {
		return nil, t.yamlFault(err)
	}
	var second yaml.Node
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, t.faultAt(CodeSyntax, protocol.Place{Line: second.Line, Column: max(second.Column, 1)}, "a second document follows")
	case !errors.Is(err, io.EOF):
		return nil, t.yamlFault(err)
	}
	return t.yaml(root.Content[0], 0)
}

func (t *text) faultAt(code Code, place protocol.Place, message string) *Error {
	return &Error{Code: code, Name: t.name, Place: place, Message: message, Text: t.line(place.Line)}
}

// begins reports whether a character stands at a place.
func (t *text) begins(at protocol.Place, r rune) bool {
	if t.read.Line != at.Line || t.read.Column > at.Column {
		t.read, t.rest = protocol.Place{Line: at.Line, Column: 1}, t.line(at.Line)
	}
	for ; t.read.Column < at.Column && t.rest != ""; t.read.Column++ {
		_, size := utf8.DecodeRuneInString(t.rest)
		t.rest = t.rest[size:]
	}
	c, _ := utf8.DecodeRuneInString(t.rest)
	return c == r
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// BUG(source): Of bad YAML the library tells the line alone, and sometimes the one
// before the fault, so that the column is 1.

// yamlFault makes a fault of what the library says, which tells the line in its text.
func (t *text) yamlFault(err error) error {
	message, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
	}
	return t.faultAt(CodeSyntax, protocol.Place{Line: line, Column: 1}, "the document is not YAML: "+cut(strings.TrimPrefix(message, "yaml: ")))
}

// coreNumber matches what the core schema takes for a number (YAML 1.2, Section 10.3.2).
var coreNumber = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// yaml takes the core of YAML 1.2: no anchors, aliases, tags or merge keys, and only
// the scalars that JSON has.
func (t *text) yaml(y *yaml.Node, depth int) (*node, error) {
	n := &node{place: protocol.Place{Line: y.Line, Column: y.Column}}
	fail := func(code Code, format string, args ...any) (*node, error) {
		return nil, t.faultAt(code, n.place, fmt.Sprintf(format, args...))
	}
	switch {
	case depth > maxDepth:
		return fail(CodeLimit, "the document nests too deep")
	case y.Anchor != "": // without which there is no alias
		return fail(CodeSyntax, "anchors are not used here: write the value again")
	case y.Style&yaml.TaggedStyle != 0 || t.begins(n.place, '!'): // of a lone ! the library tells nothing
		return fail(CodeSyntax, "tags are not used here")
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = mapping
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key, err := t.yaml(y.Content[i], depth+1)
			if err != nil {
				return nil, err
			}
			if key.value.Kind() != wire.String {
				return nil, t.faultAt(CodeType, key.place, "a key is a text, and this one reads as "+key.is()+"; quote it")
			}
			name := key.value.Text()
			if seen[name] {
				return nil, t.faultAt(CodeDuplicate, key.place, fmt.Sprintf("the key %q is there already", cut(name)))
			}
			seen[name] = true
			value, err := t.yaml(y.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{name, key.place, value})
		}
	case yaml.SequenceNode:
		n.kind = sequence
		for _, e := range y.Content {
			elem, err := t.yaml(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.elems = append(n.elems, elem)
		}
	case yaml.ScalarNode:
		n.kind = scalar
		text := y.Value
		if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			n.value = wire.Text(text)
			break
		}
		switch text {
		case "", "~", "null", "Null", "NULL":
			text = "null"
		case "true", "True", "TRUE":
			text = "true"
		case "false", "False", "FALSE":
			text = "false"
		default:
			if !coreNumber.MatchString(text) {
				n.value = wire.Text(text)
				return n, nil
			}
		}
		v, err := wire.Parse([]byte(text), wire.Limits{Size: 1024, Depth: 1})
		if err != nil {
			return fail(CodeValue, "%q is a number that JSON does not have; quote it if it is a text", cut(text))
		}
		n.value = v
	default:
		return fail(CodeSyntax, "there is nothing here")
	}
	return n, nil
}

// A reader takes a document apart and collects what is wrong with it.
type reader struct {
	*text
	faults []error
}

func (r *reader) fail(code Code, place protocol.Place, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, r.faultAt(code, place, fmt.Sprintf(format, args...)))
	}
}

// fields calls the function of each key of a mapping. Other keys are faults, and so is
// the lack of a required one.
func (r *reader) fields(n *node, known map[string]func(*node), required ...string) {
	if n.kind != mapping {
		r.fail(CodeType, n.place, "a mapping belongs here, and not %s", n.is())
		return
	}
	for _, m := range n.members {
		f := known[m.name]
		if f == nil {
			r.fail(CodeUnknownKey, m.place, "there is no key %q here%s", cut(m.name), near(m.name, known))
			continue
		}
		f(m.value)
	}
	for _, name := range required {
		if n.get(name) == nil {
			r.fail(CodeMissing, n.place, "the key %q is missing", name)
		}
	}
}

// near suggests a key that differs in a letter or two.
func near(name string, known map[string]func(*node)) string {
	best, least := "", min(3, len(name))
	for k := range known {
		if d := distance(name, k); d < least || d == least && best != "" && k < best {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; %q is one", best)
}

// distance counts the letters to insert, remove or replace. (Levenshtein)
func distance(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// each calls a function for each member of a mapping, whose keys are names.
func (r *reader) each(n *node, f func(name string, place protocol.Place, value *node)) {
	if n.kind != mapping {
		r.fail(CodeType, n.place, "a mapping belongs here, and not %s", n.is())
		return
	}
	for _, m := range n.members {
		f(m.name, m.place, m.value)
	}
}

// list calls a function for each element of a list.
func (r *reader) list(n *node, f func(*node)) {
	if n.kind != sequence {
		r.fail(CodeType, n.place, "a list belongs here, and not %s", n.is())
		return
	}
	for _, e := range n.elems {
		f(e)
	}
}

// oneOrMore is list, but a single element may stand by itself.
func (r *reader) oneOrMore(n *node, f func(*node)) {
	if n.kind == sequence {
		r.list(n, f)
		return
	}
	f(n)
}

func (r *reader) scalar(n *node, kind wire.Kind, what string) bool {
	if n.kind == scalar && n.value.Kind() == kind {
		return true
	}
	hint := ""
	if n.kind == scalar && kind == wire.String {
		hint = "; quote it if it is a text"
	}
	r.fail(CodeType, n.place, "%s belongs here, and not %s%s", what, n.is(), hint)
	return false
}

// string returns a text that is not empty.
func (r *reader) string(n *node) string {
	if !r.scalar(n, wire.String, "a text") {
		return ""
	}
	if n.value.Text() == "" {
		r.fail(CodeValue, n.place, "the text is empty")
	}
	return n.value.Text()
}

func (r *reader) bool(n *node) bool {
	return r.scalar(n, wire.Bool, "true or false") && n.value.Bool()
}

// positive returns a whole number from 1.
func (r *reader) positive(n *node) int64 {
	if !r.scalar(n, wire.Number, "a number") {
		return 0
	}
	i, ok := n.value.Int()
	if !ok || i < 1 {
		r.fail(CodeValue, n.place, "a whole number from 1 belongs here")
	}
	return i
}

// oneOf returns one of some texts.
func oneOf[T ~string](r *reader, n *node, allowed ...T) T {
	s := r.string(n)
	var texts []string
	for _, a := range allowed {
		if s == string(a) {
			return a
		}
		texts = append(texts, string(a))
	}
	if s != "" {
		r.fail(CodeValue, n.place, "%q is none of %s", cut(s), strings.Join(texts, ", "))
	}
	return ""
}
