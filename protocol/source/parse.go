package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concordia-node/concordia/protocol"
	"github.com/concordia-node/concordia/wire"
)

// The limits of a text, fragments included.
const (
	MaxSize    = 1 << 20 // bytes
	maxNesting = 200     // choices and recursions inside one another
	maxInclude = 16      // fragments inside one another
)

// A term is one atom of a protocol.
type term struct {
	kind     termKind
	at       int // offset
	end      int
	text     *text
	by       protocol.Role
	branches []arm  // of a choice; a plain action is a choice of one
	name     string // of a rec or a variable
	body     []term // of a rec or an include
}

type termKind byte

const (
	choice termKind = iota
	recursion
	variable
	skip
	include
)

// An arm is one branch of a choice.
type arm struct {
	label string
	at    int
	then  []term
}

func (t *term) fault(code Code, format string, args ...any) *Error {
	return t.text.fault(code, t.at, fmt.Sprintf(format, args...))
}

// A text is a source that knows where its lines begin.
type text struct {
	name, content string
	lines         []int
	last          struct{ at, column int } // where a place was asked for last: the next is near
	read          protocol.Place           // likewise, by line and column
	rest          string                   // of the line from there
}

func newText(name, content string) *text {
	t := &text{name: name, content: content, lines: []int{0}}
	t.last.column = 1
	for i := range len(content) {
		if content[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// place returns the line and column of an offset.
func (t *text) place(at int) protocol.Place {
	line, exact := slices.BinarySearch(t.lines, at)
	if !exact {
		line--
	}
	begin, column := t.lines[line], 1
	switch last := t.last; {
	case last.at < begin:
		column += utf8.RuneCountInString(t.content[begin:at])
	case last.at <= at:
		column = last.column + utf8.RuneCountInString(t.content[last.at:at])
	case line+1 == len(t.lines) || last.at < t.lines[line+1]:
		column = last.column - utf8.RuneCountInString(t.content[at:last.at])
	default:
		column += utf8.RuneCountInString(t.content[begin:at])
	}
	t.last.at, t.last.column = at, column
	return protocol.Place{Line: line + 1, Column: column}
}

func (t *text) fault(code Code, at int, message string) *Error {
	place := t.place(at)
	return &Error{Code: code, Name: t.name, Place: place, Message: message, Text: t.line(place.Line)}
}

// line returns a line from 1, or "".
func (t *text) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	line, _, _ := strings.Cut(t.content[t.lines[n-1]:], "\n")
	return strings.TrimSuffix(line, "\r")
}

// A parser reads the grammar
//
//	protocol = atom ["." protocol]
//	atom     = "!" act | "?" act | "rec" ID "." protocol | "end" | ID | "@" ID
//	act      = ID | "{" branch {"," branch} "}"
//	branch   = ID ["." protocol]
//
// where rec and end are words of the language only at the beginning of an atom, and
// ID is letters, digits, "_" and "-", or, for a label, a JSON string.
type parser struct {
	*text
	pos     int
	opts    *Options
	left    *int     // bytes that may still be read
	opened  []string // fragments that are being read
	nesting int
}

func (p *parser) fail(code Code, at int, message string) error { return p.fault(code, at, message) }

// space skips white space and comments.
func (p *parser) space() error {
	for p.pos < len(p.content) {
		switch p.content[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '#':
			if p.opts.Strict {
				return p.fail(CodeExtension, p.pos, "comments are not in the strict grammar")
			}
			n := strings.IndexByte(p.content[p.pos:], '\n')
			if n < 0 {
				n = len(p.content) - p.pos
			}
			p.pos += n
		default:
			return nil
		}
	}
	return nil
}

// peek returns the next byte after white space, or 0.
func (p *parser) peek() (byte, error) {
	if err := p.space(); err != nil || p.pos == len(p.content) {
		return 0, err
	}
	return p.content[p.pos], nil
}

// take reads a byte if it is next.
func (p *parser) take(c byte) (bool, error) {
	next, err := p.peek()
	if err != nil || next != c || p.pos == len(p.content) {
		return false, err
	}
	p.pos++
	return true, nil
}

// found says what stands at the position, for messages.
func (p *parser) found() string {
	if p.pos == len(p.content) {
		return "the text ends"
	}
	r, _ := utf8.DecodeRuneInString(p.content[p.pos:])
	return "there is " + wire.Text(string(r)).Canonical()
}

// id reads an identifier.
func (p *parser) id(what string) (string, int, error) {
	if err := p.space(); err != nil {
		return "", 0, err
	}
	begin := p.pos
	for p.pos < len(p.content) {
		r, size := utf8.DecodeRuneInString(p.content[p.pos:])
		if !isIDRune(r) {
			break
		}
		p.pos += size
	}
	if p.pos == begin {
		return "", begin, p.fail(CodeSyntax, begin, what+" is missing; "+p.found())
	}
	return p.content[begin:p.pos], begin, nil
}

func isIDRune(r rune) bool {
	return r == '_' || r == '-' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

func isID(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !isIDRune(r) }) < 0
}

// label reads an identifier or a quoted label.
func (p *parser) label() (string, int, error) {
	c, err := p.peek()
	if err != nil || c != '"' {
		if err != nil {
			return "", 0, err
		}
		return p.id("a label")
	}
	begin := p.pos
	if p.opts.Strict {
		return "", begin, p.fail(CodeExtension, begin, "quoted labels are not in the strict grammar")
	}
	for p.pos++; p.pos < len(p.content); p.pos++ {
		switch p.content[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			v, err := wire.Parse([]byte(p.content[begin:p.pos]), wire.Limits{Size: 1024, Depth: 1})
			if err != nil || v.Text() == "" {
				return "", begin, p.fail(CodeSyntax, begin, "a quoted label is a JSON string that is neither empty nor long")
			}
			return v.Text(), begin, nil
		case '\n':
			return "", begin, p.fail(CodeSyntax, begin, "a quoted label ends on its line")
		}
	}
	p.pos = min(p.pos, len(p.content))
	return "", begin, p.fail(CodeSyntax, begin, "a quoted label has no end")
}

// sequence reads a protocol.
func (p *parser) sequence() ([]term, error) {
	if p.nesting++; p.nesting > maxNesting {
		return nil, p.fail(CodeLimit, p.pos, "choices and recursions nest too deep")
	}
	defer func() { p.nesting-- }()
	var list []term
	for {
		t, err := p.atom()
		if err != nil {
			return nil, err
		}
		t.end = p.pos
		list = append(list, t)
		if more, err := p.take('.'); err != nil || !more {
			return list, err
		}
	}
}

func (p *parser) atom() (term, error) {
	c, err := p.peek()
	if err != nil {
		return term{}, err
	}
	t := term{at: p.pos, text: p.text}
	switch c {
	case '!', '?':
		p.pos++
		t.by = p.opts.role(c)
		return p.act(t)
	case '@':
		return p.include(t)
	}
	word, at, err := p.id("an action, a recursion, a variable or \"end\"")
	if err != nil {
		return t, err
	}
	switch word {
	case "end":
		t.kind = skip
	case "rec":
		t.kind = recursion
		if t.name, _, err = p.id("the variable of a recursion"); err != nil {
			return t, err
		}
		if dot, err := p.take('.'); err != nil || !dot {
			if err == nil {
				err = p.fail(CodeSyntax, p.pos, "after the variable of a recursion comes \".\"; "+p.found())
			}
			return t, err
		}
		t.body, err = p.sequence()
	default:
		t.kind, t.name, t.at = variable, word, at
	}
	return t, err
}

// act reads what comes after a polarity.
func (p *parser) act(t term) (term, error) {
	braced, err := p.take('{')
	if err != nil {
		return t, err
	}
	seen := map[string]bool{}
	for {
		label, at, err := p.label()
		if err != nil {
			return t, err
		}
		if seen[label] {
			return t, p.fail(CodeDuplicate, at, "the choice has the branch "+wire.Text(cut(label)).Canonical()+" already")
		}
		seen[label] = true
		a := arm{label: label, at: at}
		if braced {
			more, err := p.take('.')
			if err != nil {
				return t, err
			}
			if more {
				if a.then, err = p.sequence(); err != nil {
					return t, err
				}
			}
		}
		t.branches = append(t.branches, a)
		if !braced {
			return t, nil
		}
		if comma, err := p.take(','); err != nil {
			return t, err
		} else if comma {
			continue
		}
		if closed, err := p.take('}'); err != nil || closed {
			return t, err
		}
		return t, p.fail(CodeSyntax, p.pos, "a branch is followed by \",\" or \"}\"; "+p.found())
	}
}

// include reads a fragment in the place of its name.
func (p *parser) include(t term) (term, error) {
	at := p.pos
	if p.opts.Strict {
		return t, p.fail(CodeExtension, at, "fragments are not in the strict grammar")
	}
	p.pos++
	name, _, err := p.id("the name of a fragment")
	if err != nil {
		return t, err
	}
	for _, open := range p.opened {
		if open == name {
			return t, p.fail(CodeInclude, at, "the fragment @"+cut(name)+" includes itself")
		}
	}
	if p.opts.Include == nil {
		return t, p.fail(CodeInclude, at, "there are no fragments here")
	}
	content, err := p.opts.Include(name)
	if err != nil {
		return t, p.fail(CodeInclude, at, "the fragment @"+cut(name)+" is not there: "+err.Error())
	}
	if *p.left -= len(content); *p.left < 0 || len(p.opened) >= maxInclude {
		return t, p.fail(CodeLimit, at, "the protocol is too large with its fragments")
	}
	inner := &parser{
		text: newText("@"+name, content), opts: p.opts, left: p.left, nesting: p.nesting,
		opened: append(p.opened[:len(p.opened):len(p.opened)], name),
	}
	t.kind, t.name = include, name
	t.body, err = inner.whole()
	return t, err
}

// whole reads a protocol and the end of the text.
func (p *parser) whole() ([]term, error) {
	if !utf8.ValidString(p.content) {
		return nil, p.fail(CodeSyntax, 0, "the text is not UTF-8")
	}
	list, err := p.sequence()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(p.content) {
		return nil, p.fail(CodeSyntax, p.pos, "after the protocol "+p.found())
	}
	return list, nil
}
