package arch

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

var (
	sentenceEndRE = regexp.MustCompile(`[.!]\s+|\n\s*\n|\n\|`)
	codeRE        = regexp.MustCompile("`([^`\n]+)`")
)

// checkMusts finds a MUST of SPEC.md whose sentence names neither a rule nor, as
// "(no rule: why)", a reason to have none.
func checkMusts(t *tree) []string {
	s, err := readSpec(t)
	if err != nil {
		return []string{err.Error()}
	}
	data, err := fs.ReadFile(t.fsys, "SPEC.md")
	if err != nil {
		return []string{err.Error()}
	}
	names := make(map[string]bool)
	for _, r := range s.rules {
		names[r.name] = true
	}
	var problems []string
	for _, sentence := range sentenceEndRE.Split(string(data), -1) {
		stated := strings.Contains(sentence, "(no rule: ") || strings.Contains(sentence, "RFC 2119")
		for _, m := range codeRE.FindAllStringSubmatch(sentence, -1) {
			stated = stated || names[m[1]]
		}
		if strings.Contains(sentence, "MUST") && !stated {
			problems = append(problems, fmt.Sprintf("SPEC.md: %q names no rule and no reason", strings.Join(strings.Fields(sentence), " ")))
		}
	}
	return problems
}

func TestMusts(t *testing.T) { verifySpec(t, checkMusts) }

func TestMustsFaults(t *testing.T) {
	spec := func(text string) map[string]string {
		return with(map[string]string{"SPEC.md": testSpec + "\n## 6. More\n\n" + text + "\n"})
	}
	verifyFaults(t, checkMusts, []faulty{
		{name: "named", src: spec("It MUST be small: `size`. It may be short.")},
		{name: "over two lines", src: spec("It MUST be\nsmall (`size`).")},
		{name: "reason", src: spec("A reader MUST NOT laugh (no rule: nobody sees it).")},
		{name: "key words", src: spec("MUST and MAY are those of RFC 2119.")},
		{name: "none", src: spec("It MUST be small."), want: []string{`"It MUST be small" names no rule`}},
		{name: "not a rule", src: spec("`It` MUST be small."), want: []string{"names no rule"}},
		{name: "rule of the next sentence", src: spec("It MUST be small. So is `size`."), want: []string{"names no rule"}},
		{name: "rule of the next row", src: spec("| a | MUST be |\n| b | `size` |"), want: []string{"names no rule"}},
	})
}
