package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Patterns whose ways to match some text grow exponentially with it.
var ambiguous = []string{
	`(a+)+`, `(a+)+$`, `^(a+)+$`, `(a*)*`, `(?:a+)+`, `(?:a*)*$`, `(?:(?:a+))+`, `(a+?)+?`, `(?<n>a+)+`, `(a+){2,}`, `(a{1,}){20,}`, `(a*){11,12}`,
	`(a|a)*`, `(a|a)*$`, `(a|aa)+`, `(a|b|ab)*`, `(a|a?)+`, `(ab|a|b)+c`, `([ab]|[bc])*`, `([ab]|b)*`, `(\w|\d)+$`, `(.|a)*`, `(a|b*)+`, `(b*|a)*`,
	`(\u{61}|a)*`, `([aA]|a)+`, `([Kk]|\u212a)*([Kk]|k)*`, `(ab|ab)+`, `(abc|abd|abc)*`, `(x|(a|a)y)*`, `((a|a)y)*`,
	`([a-z]+)*`, `(\w+\s?)*`, `^(\w+\s*)+$`, `^(\s*\w+\s*)*$`, `(x+x+)+y`, `(.*)*`, `(.*,?)*`, `(.*a){12}`, `(.*a){9,}`, `^(([a-z])+.)+[A-Z]([a-z])+$`,
	`^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$`, // of an e-mail library
	`(a?b?)*`, `(a?a)*`, `(aa?)+`, `(a*b*)*`, `(a?a?)+`, `(a{1,2})*`, `(a{1,10})+`, `(a{2}|a{3})*`, `(a{0,2}b?)*`, `(aa|aaa)*`, `(aba|ab|a)*`,
	`(a|bab|ab)*b`, `x(y(z(a|aa)*)*)?`, `((a|b)*c|a)*`, `([^"]|"[^"]*)*`, `(^a+|b)*`, `(\ba+)*`, `(a+$)+`,
	// Ways to take nothing.
	`((|)a)*`, `((b?)?a)*`, `((b?){0,3}a)*`, `((b?)*a)*`, `((b?)+a)*`, `(a(|))*`, `(()*a)*`, `(a(b?){2,})*`, `(a(b|)+c)*`,
	// Counts.
	`(a{1,10}){1,10}`, `^(a{1,10}){1,10}$`, `(a{0,11}){0,11}$`, `(a+){0,10}`, `(a+){10}`, `(a{1,5}){25}`, `(a?){25}a{25}`, `((a{1,5}){1,5}){1,5}`, `((a+){3}){5}`, `(\s*){20}`,
	`(\w+\s?){1,20}`, `(a|a){10}`, `((a|aa){2}){5}`, `(x{2}(a|a){3}){4}`,
}

// Patterns that look like them.
var unambiguous = []string{
	`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`, // a category (SPEC §3.6)
	`^([A-Z][a-z]+ )+$`, `^(\d{3},)*\d{3}$`, `([a-z]+\.)*x`, `^(?:[A-Z]{3}-)*[A-Z]{3}$`,
	`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`, // semver.org
	`^[^@]+@[^@.]+(\.[^@.]+)+$`, `^[\w.+-]+@([\w-]+\.)+[A-Za-z]{2,}$`, `^[^\s@]+@[^\s@]+\.[^\s@]+$`,
	`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`, `^P(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$`,
	`^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`,
	`^urn:[a-z0-9][a-z0-9-]{0,31}:([A-Za-z0-9()+,\-.:=@;$_!*']|%[0-9A-Fa-f]{2})+$`, `^urn:concordia(:[a-z0-9_-]+)+$`, `^did:[a-z0-9]+(:[\w.%-]+)+$`,
	`^[^,]*(,[^,]*)*$`, `^("([^"]|"")*"|[^,"]*)(,("([^"]|"")*"|[^,"]*))*$`, `^\s*\w+\s*(,\s*\w+\s*)*$`, `^(\w+\s+)*\w+$`, `^(\w+, ?)*\w+$`,
	`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$`, `^(\d{1,3}\.){3}\d{1,3}$`, `^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$`, `^([0-9A-F]{2}:){5}[0-9A-F]{2}$`, `^(\/[^/]+)+\/?$`, `^(\/([^/~]|~[01])*)*$`,
	`^"([^"\\]|\\.)*"$`, `([^"]|"[^"]*")*`, `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`, `^\d{1,3}(,\d{3})*(\.\d\d)?$`, `^[a-z]+([A-Z][a-z]*)*$`, `^([a-z]+(-[a-z]+)*\/)*$`, `^(a|b|cd)*e?$`,
	`(\s*,)*`, `([^"]*"x)*`, `(ab+|ac)*`, `(a{0,30}b)+`, `(x(y+z)?)+`, `((a{2,}b)c)*`, `(a{40})*`, `(a{2})+`, `((a{2}){3})*`, `(\p{Lu}\p{Ll}*)+`, `(\p{L}+\P{L})*`, `([aA]+[bB])*`,
	`(a?)+`, `(a?)*`, `(a|)*`, `(|a|b)+`, `(a?|b)*`, `(a*b)*`, `(ba*)*`, `(b?a)*`, `(b|ba)*`, `(ab|ba)*`, `()*`, `(^)+`, `(()|())*`, `((a?)?)*`, `[^\s\S]*`,
	`(a+){2}$`, `(a+)?`, `(a+){0,9}`, `a{0,500}`, `([a-z]{2}){1,500}`, `^([a-z0-9]{1,8}\.){1,9}[a-z]+$`, `(\d{4} ){4}`, `(\d{4} ?){4}`, `(\d{3}-?){12}`, `(a{1,3}){1,3}`,
	// Powers of the length, and of the pattern.
	`a*a*a*$`, `(a+)(a+)$`, `.*.*=.*`, `\s+$`, `(ab)*(ab)*`, `(a|a)(a|a)(a|a)`, `a?a?a?a?aaaa`,
}

func TestPatternAmbiguity(t *testing.T) {
	for _, text := range ambiguous {
		if _, err := parsePattern(text, maxProgram); !errors.Is(err, errPatternAmbiguous) {
			t.Errorf("parsePattern(%s) = %v, want errPatternAmbiguous", text, err)
		}
	}
	for _, text := range unambiguous {
		if _, err := parsePattern(text, maxProgram); err != nil {
			t.Errorf("parsePattern(%s) = %v", text, err)
		}
	}
}

// costly are patterns that take many steps to decide on, of up to size instructions.
func costly(size int) map[string]string {
	var words, small, folded, optional []string
	for i := range min(size/3, 80) {
		words = append(words, string([]rune{rune('!' + i%7 + 0x100), rune(0x200 + i)}))
	}
	for i := range min(size/8, 24) {
		small = append(small, fmt.Sprintf("[a-%c]z%c", 'b'+i, 'A'+i))
	}
	for i := range min(size/3, 60) {
		folded = append(folded, string(rune(0x300+i))+"?")
	}
	for i := range min(size/3, 50) {
		optional = append(optional, "a?"+string(rune(0x400+i)))
	}
	return map[string]string{
		"words":        "(" + strings.Join(words, "|") + ")*",
		"overlapping":  "(" + strings.Join(small, "|") + ")*",
		"all optional": "(" + strings.Join(folded, "") + "x)*",
		"optional":     "(" + strings.Join(optional, "") + ")*",
		"long words":   fmt.Sprintf("(a{0,%d}b|a{0,%d}c)*", size/6, size/6),
		"short words":  fmt.Sprintf("(a[ab]{%d}c|b[ab]{%d}d)*", size/6, size/6),
		"window":       fmt.Sprintf("([ab]{%d}c|[ab]{0,%d}ad)*", size/6, size/6),
		"sets":         "(" + strings.Repeat(`\p{L}`, min(size, 25)) + strings.Repeat(`\P{L}`, min(size, 24)) + ")*",
		"many sets":    `(\p{Lu}\p{Ll}|\p{Lt}\p{Lm}|\p{Lo}\p{Nd}|\p{Nl}\p{No}|\p{Pc}\p{Pd}|\p{Ps}\p{Pe}|\p{Pi}\p{Pf}|\p{Po}\p{Sm}|\p{Sc}\p{Sk}|\p{So}\p{Zs}|\p{Mn}\p{Mc}|\p{Cc}\p{Cf})*`,
		"empty":        fmt.Sprintf("(x{0,%d}y?)*", min(size/4, 1000)),
		"ladder":       fmt.Sprintf("(a([ab]?c){%d}d)*", size/7),
		"deep":         strings.Repeat("(", 60) + "a" + strings.Repeat("b)*", 60),
		"starts":       fmt.Sprintf("([ab]*a[ab]{%d}c)*", size/6),
		"many starts":  fmt.Sprintf("([ab]*a([ab]c?){%d}d)*", size/8),
		"alike":        strings.Repeat("(a|bc)*", 36),
	}
}

// TestPatternUndecided: what is too large to decide on is refused, whichever it is.
func TestPatternUndecided(t *testing.T) {
	for text, want := range map[string]error{
		`([ab]*a[ab]{300}c)*`: nil,
		`([ab]*a[ab]{700}c)*`: errPatternUndecided,
		`([ab]*a[ab]{300}c)*x([ab]*a[ab]{300}c)*y([ab]*a[ab]{300}c)*`: errPatternUndecided, // the steps of all loops
		`([ab]*a[ab]{700})*`: errPatternAmbiguous,
	} {
		if _, err := parsePattern(text, maxProgram); !errors.Is(err, want) {
			t.Errorf("parsePattern(%s) = %v, want %v", text, err, want)
		}
	}
}

// TestPatternAmbiguityCost: whatever the pattern is, the decision takes a bounded time.
func TestPatternAmbiguityCost(t *testing.T) {
	for name, text := range costly(maxProgram) {
		bounded(t, name, func() {
			if _, err := parsePattern(text, maxProgram); err != nil && !errors.Is(err, errPatternUndecided) && !errors.Is(err, errPatternAmbiguous) {
				t.Errorf("parsePattern(%s) = %v", text, err)
			}
		})
	}
}
