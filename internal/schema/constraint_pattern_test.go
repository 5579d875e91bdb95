package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
)

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern     string
		match, miss []string
	}{
		{`b`, []string{"b", "abc", "\nb\n"}, []string{"", "B"}},
		{``, []string{"", "a"}, nil},
		{`^abc$`, []string{"abc"}, []string{"abc\n", "\nabc", "aabc", "abc\r"}},
		{`^$`, []string{""}, []string{"\n", "a"}},
		{`^a|b$`, []string{"ax", "xb"}, []string{"xa", "bx"}},
		{`^.$`, []string{"a", "é", "💩", "\v", "\u0085"}, []string{"", "ab", "\n", "\r", "\u2028", "\u2029"}},
		{`^\d$`, []string{"0", "9"}, []string{"a", "٣", "৪"}},
		{`^\D$`, []string{"a", "٣"}, []string{"0"}},
		{`^\w$`, []string{"a", "Z", "_", "7"}, []string{"é", "-"}},
		{`^\W$`, []string{"é", "-"}, []string{"a", "_"}},
		{`^\s$`, []string{" ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\u1680", "\u2000", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff"},
			[]string{"a", "", "\u0085", "\u200b", "\u180e", "\x1c"}},
		{`^\S+$`, []string{"a", "\u0085", "\x1c", "💩", "\U0010ffff", "\x00"}, []string{"a b", "a\u00a0b", "a\vb", "\ufeff", "\u2028"}},
		{`^[\s]$`, []string{"\u00a0", "\v"}, []string{"a"}},
		{`^[^\s]$`, []string{"a", "\u0085"}, []string{"\u00a0", "\v"}},
		{`^[\S]$`, []string{"a", "!", "\u0085", "\u009f", "\u00a1", "\u202e", "\ufefe", "\uff00", "\U0010ffff", "\x00", "\x08", "\x0e", "\x1f"}, []string{" ", "\t", "\r", "\u00a0", "\ufeff", "\u2005"}},
		{`^[^\S]$`, []string{" ", "\u3000"}, []string{"a"}},
		{`^[\s\S]$`, []string{" ", "\n", "a"}, []string{""}},
		{`^[\w.-]+$`, []string{"a-b.c"}, []string{"a b"}},
		{`^[a-c]$`, []string{"a", "b", "c"}, []string{"-", "d"}},
		{`^[-a]$`, []string{"-", "a"}, []string{"b"}},
		{`^[a-]$`, []string{"-", "a"}, []string{"b"}},
		{`^[+--]$`, []string{"+", ",", "-"}, []string{"."}},
		{`^[--0]$`, []string{"-", ".", "/", "0"}, []string{"1"}},
		{`^[a-c-e]$`, []string{"a", "b", "-", "e"}, []string{"d"}},
		{`^[^-]$`, []string{"a"}, []string{"-"}},
		{`^[.*+?()|{}$[]$`, []string{".", "*", "$", "[", "{"}, []string{"a", "]", "\\"}},
		{`^[\]\\\-^]$`, []string{"]", "\\", "-", "^"}, []string{"a"}},
		{`^[&&~~]$`, []string{"&", "~"}, []string{"a"}},
		{`^[\b]$`, []string{"\b"}, []string{"b", ""}},
		{`\bcat\b`, []string{"a cat.", "cat"}, []string{"cats", "_cat"}},
		{`a\Bb`, []string{"ab"}, []string{"a b"}},
		{`^\t\n\v\f\r\0$`, []string{"\t\n\v\f\r\x00"}, []string{"tnvfr0"}},
		{`^\cC\cc\x41\u0042\u{43}\u{1f4a9}\ud83d\udca9$`, []string{"\x03\x03ABC💩💩"}, []string{"cCcc"}},
		{`^[\x41\u{1f4a9}-\u{1f4ab}\cJ]$`, []string{"A", "\U0001f4aa", "\n"}, []string{"x"}},
		{`^\/\.\*\+\?\(\)\[\]\{\}\|\^\$\\\-$`, []string{`/.*+?()[]{}|^$\-`}, nil},
		{`^a{2}$`, []string{"aa"}, []string{"a", "aaa"}},
		{`^a{2,}$`, []string{"aa", "aaaaa"}, []string{"a"}},
		{`^a{1,3}?$`, []string{"a", "aaa"}, []string{"", "aaaa"}},
		{`^(?:ab)+$`, []string{"abab"}, []string{"aba"}},
		{`^(?<year>\d{4})-(?<m_1>\d\d)$`, []string{"2026-11"}, []string{"2026-1"}},
		{`^a*?b+?c??$`, []string{"b", "aabbc"}, []string{"a"}},
		{`^\p{L}\P{L}\p{Lu}$`, []string{"é1É"}, []string{"111"}},
		{`^\p{Letter}[^\p{Lu}]$`, []string{"aa"}, []string{"aA"}},
		{`]}`, []string{"]}"}, []string{"}"}},
		{`^(a|ab)(c|bcd)$`, []string{"abcd", "ac"}, []string{"abc d"}},
		{`^([a-z0-9]{1,8}\.){1,9}[a-z]+$`, []string{"a.b.c"}, []string{"a..b"}},
		{`^(([a-z]{2}){1,500})$`, []string{"abcd"}, []string{"abc"}},
		{`^💩$`, []string{"💩"}, []string{"💩💩"}},
	}
	for _, test := range tests {
		p, err := parsePattern(test.pattern, maxProgram)
		if err != nil {
			t.Errorf("parsePattern(%s) = %v", test.pattern, err)
			continue
		}
		for _, text := range test.match {
			if !p.re.MatchString(text) {
				t.Errorf("%s does not match %q", test.pattern, text)
			}
		}
		for _, text := range test.miss {
			if p.re.MatchString(text) {
				t.Errorf("%s matches %q", test.pattern, text)
			}
		}
	}
}

func TestPatternRefused(t *testing.T) {
	syntaxes := []string{
		`(`, `)`, `[`, `[a`, `a**`, `*a`, `+`, `?`, `a{2}{3}`, `a{3,2}`, `a{1001}`, `(a{100}){100}`, `\`, `[\`, `[z-a]`, `[a-\d]`, `[\d-z]`, `[\s-\S]`,
		// RE2 alone.
		`(?i)a`, `(?i:a)`, `(?s).`, `(?P<a>b)`, `\Aa`, `a\z`, `\Z`, `\Qa*\E`, `\pL`, `\PL`, `\C`, `\a`, `[[:alpha:]]`, `[]a]`, `[^]a]`, `[]`, `[^]`, `\x{41}`, `\07`, `\12`,
		// Perl, Python or the ECMA of browsers.
		`{`, `a{`, `a{,3}`, `a{x}`, `{2}a{`, `a{1`, `a{1,`, `a++`, `^*`, `a$+`, `\b?`, `\B{2}`, `\_a\G`, `\h`, `\R`,
		// ECMA-262 alone.
		`(?=a)`, `(?!a)`, `(?<=a)b`, `(?<!a)b`, `(a)\1`, `(?<n>a)\k<n>`, `(?<1>a)`, `(?<>a)`, `(?<a`, `(?`, `(?:`, `\p{Script=Greek}`, `\p{Nothing}`, `\p{`, `\p{}`, `\p{L`,
		`\u12`, `\uzzzz`, `\ud83d`, `\ud83d\u0041`, `\udca9`, `\u{110000}`, `\u{}`, `\u{1`, `\u{1111111}`, `\x4`, `\xzz`, `\c1`, `\c`, `\é`,
		"a(?#comment)", `\u+123`, `\x+1`, `\u{+1}`, `\u{d800}`,
	}
	for _, text := range syntaxes {
		if _, err := parsePattern(text, maxProgram); !errors.Is(err, errPatternSyntax) {
			t.Errorf("parsePattern(%s) = %v, want errPatternSyntax", text, err)
		}
	}
}

// TestPatternSize keeps the estimate above what is compiled, and the cap at it.
func TestPatternSize(t *testing.T) {
	for _, text := range []string{`abc`, `(a|b|cd)*e?`, `^[^b]{3,900}c$`, `(a{2}b{2,5}){7}`, `((a|b)?c){100}`, `\bx{0,1000}`, `(a|bc|def){40,}`, `a|`, `()`, `(|a){9}`} {
		p, err := parsePattern(text, maxProgram)
		if err != nil {
			t.Fatalf("parsePattern(%s) = %v", text, err)
		}
		if _, err := parsePattern(text, p.size); err != nil {
			t.Errorf("parsePattern(%s) with as much room as it takes: %v", text, err)
		}
		if _, err := parsePattern(text, p.size-1); !errors.Is(err, errPatternSize) {
			t.Errorf("parsePattern(%s) with too little room: %v, want errPatternSize", text, err)
		}
		if n := compiledSize(t, text); n > p.size+3 { // the match and the ends of the capture around all
			t.Errorf("%s compiles to %d instructions, more than %d", text, n, p.size)
		}
	}
	half := fmt.Sprintf(`{"pattern":"a{%d}"}`, 990)
	if _, err := ParseConstraint(`{"allOf":` + many(4, half) + `}`); misfitAt(t, err) != "/allOf/2/pattern" || !errors.Is(err, errPatternSize) {
		t.Errorf("four patterns of half the room each: %v, want errPatternSize for the third", err)
	}
}

func compiledSize(t *testing.T, text string) int {
	t.Helper()
	tr := translation{in: []rune(text)}
	if !tr.all() {
		t.Fatal(text)
	}
	tree, err := syntax.Parse(tr.out.String(), syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return len(prog.Inst)
}

// TestPatternErrorIsShort: what is wrong with a pattern is said without it.
func TestPatternErrorIsShort(t *testing.T) {
	_, err := ParseConstraint(`{"pattern":"secret` + strings.Repeat("(", 100) + `"}`)
	if err == nil || len(err.Error()) > 200 || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
