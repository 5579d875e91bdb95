package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A pattern is a regular expression of a constraint: an unanchored search over
// code points that takes time in proportion to the text.
type pattern struct {
	re   *regexp.Regexp
	size int // instructions
}

// cost returns the steps of a search. Each byte may have to pass every instruction;
// eight of them take as long as a step elsewhere.
func (p *pattern) cost(text string) int { return (len(text) + 1) * (1 + p.size/8) }

var (
	errPatternLong   = errors.New("it is too long")
	errPatternSize   = errors.New("with its repetitions counted out, it is too large")
	errPatternSyntax = errors.New("not in the syntax that ECMA-262 and RE2 have in common")
)

// parsePattern reads a pattern: ECMA-262 without lookaround and back references.
// The engine is RE2's; where the two give one syntax two meanings, translate
// writes what ECMA-262 means, and refuses what only RE2 has.
// It is refused if its program is larger than room.
func parsePattern(text string, room int) (*pattern, error) {
	if utf8.RuneCountInString(text) > maxPattern {
		return nil, errPatternLong
	}
	tree, expr, err := parseTree(text, false)
	if err != nil {
		return nil, err
	}
	size := programSize(tree)
	if size > room {
		return nil, errPatternSize
	}
	apart, _, err := parseTree(text, true)
	if err != nil {
		return nil, err
	}
	if err := checkAmbiguity(apart); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, errPatternSyntax
	}
	return &pattern{re: re, size: size}, nil
}

// parseTree returns a pattern as a tree, and in the syntax of package regexp.
func parseTree(text string, apart bool) (*syntax.Regexp, string, error) {
	t := translation{in: []rune(text), apart: apart}
	if !t.all() {
		return nil, "", errPatternSyntax
	}
	tree, err := syntax.Parse(t.out.String(), syntax.Perl)
	if err != nil {
		if failed, ok := errors.AsType[*syntax.Error](err); ok { // without the expression, which is not the sender's
			return nil, "", fmt.Errorf("%w: %s", errPatternSyntax, failed.Code)
		}
		return nil, "", errPatternSyntax
	}
	return tree, t.out.String(), nil
}

// programSize returns about how many instructions an expression makes, and not
// fewer. The parser of package syntax keeps it below what an int holds.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCapture:
		size += 2
	case syntax.OpAlternate:
		size += len(re.Sub)
	case syntax.OpRepeat:
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		size = (size + 1) * max(times, 1)
	default:
		size++
	}
	return size
}

// What ECMA-262 means, for the inside of a class.
const (
	ecmaSpace    = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	ecmaNotSpace = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	ecmaNotNewline = `^\n\r\x{2028}\x{2029}`
)

// A translation turns ECMA-262 into the syntax of package regexp. Its methods
// return false for what cannot be translated.
type translation struct {
	in        []rune
	pos       int
	out       strings.Builder
	assertion bool // what was read last: it cannot be repeated
	apart     bool // each alternative captures, so that the parser does not make one of two
}

// peek returns the n-th rune from here, or -1.
func (t *translation) peek(n int) rune {
	if t.pos+n >= len(t.in) {
		return -1
	}
	return t.in[t.pos+n]
}

// has takes what comes next, if it is s.
func (t *translation) has(s string) bool {
	if !strings.HasPrefix(string(t.in[t.pos:min(len(t.in), t.pos+len(s))]), s) {
		return false
	}
	t.pos += len(s)
	return true
}

func (t *translation) all() bool {
	t.bracket("(")
	for t.pos < len(t.in) {
		c := t.in[t.pos]
		t.pos++
		ok, after := true, t.assertion
		t.assertion = false
		switch c {
		case '\\':
			ok = t.escape()
		case '[':
			ok = t.class()
		case '(':
			ok = t.group()
		case ')':
			t.bracket(")")
			t.out.WriteByte(')')
		case '|':
			t.bracket(")")
			t.out.WriteByte('|')
			t.bracket("(")
		case '{':
			ok = !after && t.count()
		case '*', '+', '?':
			ok = !after
			t.out.WriteRune(c)
		case '^', '$':
			t.assertion = true
			t.out.WriteRune(c)
		case '.':
			t.out.WriteString("[" + ecmaNotNewline + "]")
		default:
			t.out.WriteRune(c)
		}
		if !ok {
			return false
		}
	}
	t.bracket(")")
	return true
}

// bracket writes one that goes around an alternative.
func (t *translation) bracket(s string) {
	if t.apart {
		t.out.WriteString(s)
	}
}

// group opens a group. All groups capture, so that the parser leaves the repetition
// inside of (?:a+)+ where checkAmbiguity sees it.
func (t *translation) group() bool {
	t.out.WriteByte('(')
	t.bracket("(")
	if !t.has("?") || t.has(":") {
		return true
	}
	if !t.has("<") {
		return false // lookahead, flags
	}
	for start := t.pos; t.pos < len(t.in); t.pos++ {
		switch c := t.in[t.pos]; {
		case c == '>' && t.pos > start:
			t.pos++
			return true
		case c != '_' && !isLetter(c) && (t.pos == start || !isDigit(c)): // lookbehind, for one
			return false
		}
	}
	return false
}

// count reads {n}, {n,} or {n,m}; any other brace is a literal to some engines.
func (t *translation) count() bool {
	start := t.pos
	for isDigit(t.peek(0)) {
		t.pos++
	}
	if t.pos == start {
		return false
	}
	if t.has(",") {
		for isDigit(t.peek(0)) {
			t.pos++
		}
	}
	if !t.has("}") {
		return false
	}
	t.out.WriteString("{" + string(t.in[start:t.pos]))
	return true
}

// escape reads what follows a backslash outside a class.
func (t *translation) escape() bool {
	switch c := t.peek(0); c {
	case 's':
		t.out.WriteString("[" + ecmaSpace + "]")
	case 'S':
		t.out.WriteString("[^" + ecmaSpace + "]")
	case 'b', 'B':
		t.assertion = true
		t.out.WriteString(`\` + string(c))
	default:
		return t.set() || t.character()
	}
	t.pos++
	return true
}

// set reads an escape that stands for a set of characters in a class too.
func (t *translation) set() bool {
	switch c := t.peek(0); c {
	case 'd', 'D', 'w', 'W':
		t.out.WriteString(`\` + string(c))
	case 's':
		t.out.WriteString(ecmaSpace)
	case 'S':
		t.out.WriteString(ecmaNotSpace)
	case 'p', 'P':
		end := t.pos + 1
		for end < len(t.in) && (t.in[end] == '{' && end == t.pos+1 || isLetter(t.in[end]) || t.in[end] == '_') {
			end++
		}
		if end == len(t.in) || t.in[end] != '}' || end < t.pos+3 {
			return false
		}
		t.out.WriteString(`\` + string(t.in[t.pos:end+1]))
		t.pos = end
	default:
		return false
	}
	t.pos++
	return true
}

// character reads an escape that stands for one character.
func (t *translation) character() bool {
	c := t.peek(0)
	t.pos++
	switch {
	case c == 't' || c == 'n' || c == 'v' || c == 'f' || c == 'r':
		t.out.WriteString(`\` + string(c))
	case c == '0' && !isDigit(t.peek(0)):
		t.out.WriteString(`\x{0}`)
	case c == 'c' && isLetter(t.peek(0)):
		t.rune(t.peek(0) % 32)
		t.pos++
	case c == 'x':
		r, ok := t.hex(2)
		t.rune(r)
		return ok
	case c == 'u':
		return t.unicode()
	case c > 0 && c < utf8.RuneSelf && !isLetter(c) && !isDigit(c):
		t.rune(c)
	default:
		return false // unknown, or a back reference
	}
	return true
}

// unicode reads what follows \u. A surrogate counts only as half of a pair.
func (t *translation) unicode() bool {
	if t.has("{") {
		n := 0
		for t.peek(n) > 0 && t.peek(n) != '}' {
			n++
		}
		r, ok := t.hex(n)
		if !ok || !t.has("}") || !utf8.ValidRune(r) {
			return false
		}
		t.rune(r)
		return true
	}
	r, ok := t.hex(4)
	if ok && 0xd800 <= r && r < 0xdc00 && t.has(`\u`) {
		var low rune
		if low, ok = t.hex(4); low < 0xdc00 || low > 0xdfff {
			return false
		}
		r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
	}
	if !ok || !utf8.ValidRune(r) {
		return false
	}
	t.rune(r)
	return true
}

// hex reads n hexadecimal digits.
func (t *translation) hex(n int) (rune, bool) {
	if n > 6 || t.pos+n > len(t.in) {
		return 0, false
	}
	text := string(t.in[t.pos : t.pos+n])
	r, err := strconv.ParseUint(text, 16, 32)
	t.pos += n
	return rune(r), err == nil
}

func (t *translation) rune(r rune) { fmt.Fprintf(&t.out, `\x{%x}`, r) }

// class reads what follows an opening bracket.
func (t *translation) class() bool {
	t.out.WriteByte('[')
	if t.has("^") {
		t.out.WriteByte('^')
	}
	if t.peek(0) == ']' { // nothing to ECMA-262, a literal to RE2
		return false
	}
	const (
		free  = iota // what comes next may begin a range
		begun        // a dash would make a range of the last character
		open         // after that dash
	)
	state := free
	for t.pos < len(t.in) {
		c := t.in[t.pos]
		t.pos++
		switch {
		case c == ']':
			t.out.WriteByte(']')
			return true
		case c == '-' && state == begun && t.peek(0) != ']':
			t.out.WriteByte('-')
			state = open
			continue
		case c == '\\' && t.peek(0) == 'b': // not a word boundary here
			t.pos++
			t.rune('\b')
		case c == '\\':
			if t.set() {
				if state == open || t.peek(0) == '-' && t.peek(1) != ']' {
					return false // a range to or from a set
				}
				state = free
				continue
			}
			if !t.character() {
				return false
			}
		case c == '[' && t.peek(0) == ':': // a POSIX class to RE2
			return false
		default:
			t.rune(c)
		}
		if state == open {
			state = free
		} else {
			state = begun
		}
	}
	return false
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
func isDigit(r rune) bool  { return '0' <= r && r <= '9' }
